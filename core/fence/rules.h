/* SPDX-License-Identifier: MIT */
/*
 * The file of a fence: what programs may write, read, never see, reach, and use without
 * having it.
 *
 *   # everything else can be read, and not written
 *   write  /workspace /tmp ~/.cache
 *   hide   ~/.ssh ~/.aws "/run/my secrets"
 *   reach  api.example.org *.mirror.example:443 10.0.0.0/8:5432 [2001:db8::]/32
 *   listen 1024-65535 80
 *   secret CODE_TOKEN code.example *.code.example:8443 from /run/secrets/code in bodies
 *
 * A line has a word and at least one path, host or port, with blanks between. A path
 * begins with / or ~/ (the home of the sandbox's user), or is ~; quotes hold a word with
 * blanks or a #. What follows a # at the beginning of a word is a comment. `read` limits
 * what can be read to its paths and those of `write`. Of two paths, one in the other, the
 * longer one counts.
 *
 * `secret` has the name of an environment variable, at least one DNS name (port 443, if
 * none is given), and after them, in this order, `from` with the path of the file that
 * has the value, without which that is the value of the variable where the server is
 * started, and `in bodies`.
 *
 * Hosts and ports are those of reach/words.h. `reach nothing` and `listen nothing` stand
 * alone in their line; they give nothing, and limit as other lines of their kind do.
 */
#ifndef OD_FENCE_RULES_H
#define OD_FENCE_RULES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>

enum {
    FENCE_FILE_MAX = 64 << 10, /* bytes */
    FENCE_PATHS_MAX = 1000,    /* with hosts and ports */
    FENCE_PATH_MAX = 1023      /* bytes */
};

/*
 * Appends the rules of text to out, an array of
 *
 *   {"do": "write" | "read" | "hide", "path": "/x", "line": 3}
 *   {"do": "reach", "host": "10.0.0.0/8", "from": 1, "to": 65535, "line": 3}
 *   {"do": "listen", "from": 1024, "to": 65535, "line": 3}
 *   {"do": "reach" | "listen", "nothing": true, "line": 3}
 *   {"do": "secret", "name": "CODE_TOKEN", "host": "code.example", "from": 443,
 *    "to": 443, "file": "/run/secrets/code", "bodies": true, "line": 3}, one for each
 *    host; "file" and "bodies" are there if the line has them
 *
 * with paths from the root, without ".", empty parts and a slash at the end, and hosts in
 * the form of reach_host_print. name: of the file, for messages; home: for ~, "" if
 * unknown. Returns 0, or -1 and sets *e: INVALID, with name, line, column and what was
 * expected; LIMIT.
 */
int fence_parse(struct str text, const char *name, const char *home, struct json *out,
                struct err *e);
/*
 * The same for one word of an option, or with "secret" for what follows that word in a
 * line; source: "--fence-write", which the rule has as "option" instead of "line".
 */
int fence_add(struct str word, const char *what, const char *source, const char *home,
              struct json *out, struct err *e);
/* Is a rule for the network, reach, listen or secret? Such a one has no path. */
bool fence_is_network(const struct json *rule);
/* Appends what follows the first word of a rule, as a file has it, without quotes. */
void fence_print_word(const struct json *rule, struct buf *out);

#endif
