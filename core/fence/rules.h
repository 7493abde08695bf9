/* SPDX-License-Identifier: MIT */
/*
 * The file of a fence: what programs may write, read, and never see.
 *
 *   # everything else can be read, and not written
 *   write  /workspace /tmp ~/.cache
 *   hide   ~/.ssh ~/.aws "/run/my secrets"
 *
 * A line has a word and at least one path, with blanks between. A path begins with / or
 * ~/ (the home of the sandbox's user), or is ~; quotes hold one with blanks or a #. What
 * follows a # at the beginning of a word is a comment. `read` limits what can be read to
 * its paths and those of `write`. Of two paths, one in the other, the longer one counts.
 */
#ifndef OD_FENCE_RULES_H
#define OD_FENCE_RULES_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

enum {
    FENCE_FILE_MAX = 64 << 10, /* bytes */
    FENCE_PATHS_MAX = 1000,
    FENCE_PATH_MAX = 1023 /* bytes */
};

/*
 * Appends the rules of text to out, an array of
 *
 *   {"do": "write" | "read" | "hide", "path": "/x", "line": 3}
 *
 * with paths from the root, without ".", empty parts and a slash at the end. name: of the
 * file, for messages; home: for ~, "" if unknown. Returns 0, or -1 and sets *e: INVALID,
 * with name, line, column and what was expected; UNSUPPORTED, the same for a line of a
 * kind that this version cannot enforce.
 */
int fence_parse(struct str text, const char *name, const char *home, struct json *out,
                struct err *e);
/* The same for one path of an option; source: "--fence-write". */
int fence_add(struct str path, const char *what, const char *source, const char *home,
              struct json *out, struct err *e);

#endif
