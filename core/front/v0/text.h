/* SPDX-License-Identifier: MIT */
/*
 * The texts of OpenHands V0: observations and errors as JSON, and the sentences
 * that clients, tests and prompts match (events/observation, runtime/utils/bash.py).
 * Pure functions: they append to a buffer and own nothing.
 *
 * Functions that return int return 0, or -1 if the buffer is full, which is then
 * unchanged. Texts may be any bytes; in JSON, those that are not UTF-8 become U+FFFD.
 */
#ifndef OD_FRONT_V0_TEXT_H
#define OD_FRONT_V0_TEXT_H

#include "base/buf.h"
#include "base/json.h"
#include "shell/grammar/grammar.h"

/* Characters of content that a client does not cut again. */
#define V0_CONTENT_MAX 30000

/* ---- sentences ---- */

extern const struct str v0_hint;         /* what to do about a running command */
extern const struct str v0_prefix_below; /* for every later answer about a command */
extern const struct str v0_no_command;   /* content: "" with nothing running */
extern const struct str v0_no_program;   /* content: input with nothing running */
extern const struct str v0_binary_file;  /* content of the error about a binary file */
extern const struct str v0_no_browser;   /* content of the error without a browser */

/* letter: of the special key that was sent, or 0. */
int v0_suffix_completed(struct buf *out, int exit_code, char letter);
int v0_suffix_no_change(struct buf *out, int64_t seconds);
int v0_suffix_timed_out(struct buf *out, double seconds);
int v0_suffix_refused(struct buf *out, struct str command);
int v0_prefix_truncated(struct buf *out, size_t lines);
/*
 * Appends the content of the refusal of several commands, cut like any content. all: the
 * number of commands; pieces has the first n.
 */
int v0_refuse_commands(struct buf *out, const struct v0_piece *pieces, size_t n,
                       size_t all);

/* Appends a float as Python's repr does: 1.0, 2.5, 0.1, 1e+16, 1e-05, inf, nan. */
int v0_float(struct buf *out, double v);

/*
 * Appends the text; if it has more than V0_CONTENT_MAX characters, a line replaces its
 * middle, so that head, line and tail together have V0_CONTENT_MAX at most.
 */
int v0_truncate(struct buf *out, struct str text);

/* ---- keys ---- */

/*
 * Is text a special key, `C-x` with exactly three characters? Then sets *byte, which is
 * sent without Enter, and *letter, its upper-case name in answers.
 */
bool v0_special_key(struct str text, char *byte, char *letter);
/*
 * Returns the bytes of a key by its name in tmux (Up, Enter, Escape, F1, …), in any case;
 * if app, cursor keys have the bytes of application mode. Empty if text is not such a
 * name: it is then plain text.
 */
struct str v0_key(struct str text, bool app);

/* ---- observations ---- */

/* A str whose p is NULL is null in JSON. */
struct v0_metadata {
    int exit_code; /* -1 while it is not known, as the next member */
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

/* What a browser shows; all borrowed. A NULL str is null, NULL JSON its empty form. */
struct v0_page {
    struct str trigger;       /* browse or browse_interactive */
    struct str url, focused;  /* focused: a bid */
    struct str action, error; /* error "": none */
    struct str body;          /* the tree, or the page's text */
    bool bare;                /* the content is the body alone */
    struct str shot, marks;   /* base64 of a PNG; "": none */
    struct str saved;         /* the picture's path */
    const struct json *tabs;  /* [{url}] */
    int active;
    const struct json *notes;           /* [text], shown in the content */
    const struct json *axtree, *extras; /* for return_axtree */
};
/* Appends the text about the page for an agent. */
int v0_put_page(struct buf *out, const struct v0_page *p);
/* Appends the observation of an action that downloaded a file. */
int v0_put_download(struct buf *out, struct str action, struct str path);
int v0_put_error_observation(struct buf *out, struct str content);

/*
 * Appends the body of an HTTP error: for 422 the one with `errors`, else the text as the
 * detail.
 */
int v0_put_error(struct buf *out, int status, struct str text);

#endif
