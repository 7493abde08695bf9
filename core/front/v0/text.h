/* SPDX-License-Identifier: MIT */
/*
 * The texts of OpenHands V0: observations and errors as JSON, and the sentences
 * that clients, tests and prompts match (events/observation, runtime/utils/bash.py).
 * Pure functions: they append to a buffer and own nothing.
 *
 * All that return int: 0, or -1 with the buffer as it was: it was full. Texts
 * may be any bytes; in JSON what is not UTF-8 becomes U+FFFD.
 */
#ifndef OD_FRONT_V0_TEXT_H
#define OD_FRONT_V0_TEXT_H

#include "base/buf.h"
#include "base/json.h"
#include "shell/grammar/grammar.h"

/* Characters of content that a client takes without cutting it again. */
#define V0_CONTENT_MAX 30000

/* ---- sentences ---- */

extern const struct str v0_hint;         /* what to do about a running command */
extern const struct str v0_prefix_below; /* of every later answer of a command */
extern const struct str v0_no_command;   /* content: "" with nothing running */
extern const struct str v0_no_program;   /* content: input with nothing running */
extern const struct str v0_binary_file;  /* content of the error about one */
extern const struct str v0_no_browser;   /* content of the error without one */

/* `letter` of the special key that was sent, or 0. */
int v0_suffix_completed(struct buf *out, int exit_code, char letter);
int v0_suffix_no_change(struct buf *out, int64_t seconds);
int v0_suffix_timed_out(struct buf *out, double seconds);
int v0_suffix_refused(struct buf *out, struct str command);
int v0_prefix_truncated(struct buf *out, size_t lines);
/*
 * Content of the refusal of several commands; shortened as any content. `all`
 * is how many there are, of which `n` are at hand.
 */
int v0_refuse_commands(struct buf *out, const struct v0_piece *pieces, size_t n,
                       size_t all);

/* A float as Python's repr has it: 1.0, 2.5, 0.1, 1e+16, 1e-05, inf, nan. */
int v0_float(struct buf *out, double v);

/*
 * The text, without its middle when it has more than V0_CONTENT_MAX characters:
 * then a line says so, and head, line and tail together have not more.
 */
int v0_truncate(struct buf *out, struct str text);

/* ---- keys ---- */

/*
 * `C-x`, exactly three characters: a special key, which is sent as *byte and
 * without Enter. *letter is how it is named afterwards, upper case.
 */
bool v0_special_key(struct str text, char *byte, char *letter);
/*
 * The bytes of a key that tmux has a name for (Up, Enter, Escape, F1, …), in any
 * case of letters; of cursor keys those of application mode when `app`. Empty:
 * no such name, so the text is text.
 */
struct str v0_key(struct str text, bool app);

/* ---- observations ---- */

/* A str whose p is NULL is null in JSON. */
struct v0_metadata {
    int exit_code; /* -1 while it is not known, as the next */
    int64_t pid;
    struct str username, hostname, working_dir, py_interpreter_path;
    struct str prefix, suffix;
};

int v0_put_run(struct buf *out, struct str command, struct str content, bool hidden,
               const struct v0_metadata *m);
int v0_put_read(struct buf *out, struct str path, bool aci, struct str content);
int v0_put_write(struct buf *out, struct str path);
/* images: an array of data URLs; NULL: none. */
int v0_put_cell(struct buf *out, struct str code, struct str content,
                const struct json *images);

/* What a browser shows; all borrowed. NULL of a str is null, of JSON its empty form. */
struct v0_page {
    struct str trigger;       /* browse or browse_interactive */
    struct str url, focused;  /* focused: a bid */
    struct str action, error; /* error "": it went well */
    struct str body;          /* the tree, or the page's text */
    bool bare;                /* the body is all of the content */
    struct str shot, marks;   /* base64 of a PNG; "": none */
    struct str saved;         /* the picture's path */
    const struct json *tabs;  /* [{url}] */
    int active;
    const struct json *notes;           /* [text], told in the content */
    const struct json *axtree, *extras; /* what return_axtree asks for */
};
/* The text that an agent gets of it. */
int v0_put_page(struct buf *out, const struct v0_page *p);
/* An action that ended with a file. */
int v0_put_download(struct buf *out, struct str action, struct str path);
int v0_put_error_observation(struct buf *out, struct str content);

/*
 * The body of an HTTP error: of 422 the one with `errors`, else the text as the
 * detail.
 */
int v0_put_error(struct buf *out, int status, struct str text);

#endif
