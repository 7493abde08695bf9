/* SPDX-License-Identifier: MIT */
/*
 * Output of commands and cells as a model reads it: the text that a screen would show,
 * with progress bars folded and without colours (term/term.h), in numbered lines. "@17"
 * is the kept output of action 17 of the log: of a command, what its session's spool
 * still has, also while it runs; else, and of a cell, what the log has. It is read in
 * pieces over several turns of the loop. The output of a running cell lacks at most the
 * last tenth of a second.
 */
#ifndef OD_FRONT_MCP_TOOLS_OUTPUT_H
#define OD_FRONT_MCP_TOOLS_OUTPUT_H

#include "action/action.h"

enum {
    OUTPUT_HEAD = 8 << 20, /* bytes of text from its beginning */
    OUTPUT_TAIL = 8 << 20  /* and from its end, of a text that is longer than both */
};

/* Lines end with a newline; the last one may lack it. Valid UTF-8. */
struct output_text {
    uint64_t id;        /* of the action */
    struct str head;    /* from line 1 on */
    struct str tail;    /* its end; empty unless lines between both are left out */
    uint64_t tail_line; /* the number of the tail's first line; 0: there is no tail */
    uint64_t lines;     /* of the whole text */
    uint64_t bytes;     /* of the output, as it was written */
    uint64_t
        gone; /* of those: bytes that are no longer kept and are missing in the text */
    struct str said;        /* of a cell: its output in the log */
    const struct json *end; /* of a cell: its observation; NULL: not yet */
    bool goes_on;           /* more output may come */
    bool bent;              /* it has bytes that are not UTF-8 */
};

struct output; /* a reading in progress */

/*
 * Reads the output of the action `id` and calls fn once: with the text, borrowed until fn
 * returns, or with NULL and e. fn may be called before output_read returns, which then
 * returns NULL. The reading is freed when fn has returned.
 */
typedef void output_fn(void *arg, const struct output_text *t, const struct err *e);
struct output *output_read(struct engine *en, uint64_t id, output_fn *fn, void *arg);
/* Ends a reading; fn is not called. NULL is fine. */
void output_stop(struct output *o);

/* Whether this path is "@17", a name of kept output; sets *id to 17. */
bool output_named(struct str path, uint64_t *id);

/*
 * Returns at most `count` lines from `from` on (1 is the first; negative counts from the
 * end, -1 is the last one), with their newlines; borrowed from t. *first is the number of
 * the first of them and *n their count; 0 if there are none, or they are among those left
 * out.
 */
struct str output_lines(const struct output_text *t, int64_t from, uint64_t count,
                        uint64_t *first, uint64_t *n);

/* ---- what an answer shows ---- */

/* The part of a command's output that was not shown yet. */
struct output_new {
    const char *session;
    uint64_t begin;    /* where the command's output begins */
    uint64_t from, to; /* the new part of it */
    uint64_t line;     /* the number of the line that `from` is in; 0: 1 */
    bool ended;        /* the command ended: a screen that it left open is not shown */
    size_t head, max;  /* bytes: of its beginning, if it is longer than max; in all */
};

struct output_shown {
    struct str text;           /* lines, with one that stands for those left out */
    uint64_t cut_from, cut_to; /* the numbers of those left out; 0: none */
    uint64_t lines;            /* of the whole output up to here */
    uint64_t line;             /* the number of the line that comes next */
    uint64_t bytes, gone;      /* of the new part; of those, no longer kept */
    bool screen;               /* text is the screen of a full screen program */
    bool bent;                 /* as in output_text */
};

/*
 * Reads it over several turns and calls fn once; the text is borrowed until fn returns.
 * fn may be called before output_show returns, which then returns NULL.
 */
typedef void output_shown_fn(void *arg, const struct output_shown *shown);
struct output_showing;
struct output_showing *output_show(struct engine *en, const struct output_new *what,
                                   output_shown_fn *fn, void *arg);
/* Ends it; fn is not called. NULL is fine. */
void output_show_stop(struct output_showing *o);
/* The same at once for a text that is not in a spool, such as a cell's. */
void output_show_text(struct str text, const struct output_new *what, output_shown_fn *fn,
                      void *arg);

#endif
