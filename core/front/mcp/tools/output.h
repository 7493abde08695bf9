/* SPDX-License-Identifier: MIT */
/*
 * Output of commands and cells as a model reads it: the text that a screen would show,
 * with progress bars folded and colours out (term/term.h), in numbered lines.
 *
 * "@17" is the output that is kept of the action 17 of the log: of a command, what its
 * session's spool still has, while it runs, too; else, and of a cell, what the log has.
 * It is read in pieces over several turns of the loop. What a cell that runs has printed
 * is there except for the last tenth of a second.
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
    uint64_t gone;      /* of those: not kept any more, they are missing in the text */
    struct str said;    /* of a cell: what it printed, as the log has it */
    const struct json *end; /* the observation, of a cell; NULL: not yet */
    bool goes_on;           /* more of it may come */
    bool bent;              /* it was not UTF-8 everywhere */
};

struct output; /* a reading that is under way */

/*
 * Reads the output of the action `id` and calls fn once: with the text, borrowed until
 * fn returns, or with NULL and e. fn may be called before output_read returns, which is
 * NULL then. The reading is freed when fn has returned.
 */
typedef void output_fn(void *arg, const struct output_text *t, const struct err *e);
struct output *output_read(struct engine *en, uint64_t id, output_fn *fn, void *arg);
/* Ends a reading; fn is not called. NULL is fine. */
void output_stop(struct output *o);

/* Is this path "@17", the name of kept output? *id is 17 then. */
bool output_named(struct str path, uint64_t *id);

/*
 * The lines from `from` (1 is the first; negative counts from the end, -1 is the last
 * one) on, at most `count` of them, with their newlines: borrowed from t. *first is the
 * number of the first of them and *n how many they are; 0 if there are none, or they are
 * among those left out.
 */
struct str output_lines(const struct output_text *t, int64_t from, uint64_t count,
                        uint64_t *first, uint64_t *n);

/* ---- what an answer shows ---- */

/* Output of one command, as far as nobody was shown it. */
struct output_new {
    const char *session;
    uint64_t begin;    /* where the command's output begins */
    uint64_t from, to; /* what is new of it */
    uint64_t line;     /* the number of the line that `from` is in; 0: 1 */
    bool ended;        /* the command has: a screen that it left open is not shown */
    size_t head, max;  /* bytes: of its beginning if it is longer than max; of all */
};

struct output_shown {
    struct str text;           /* lines; one that stands for those left out is in it */
    uint64_t cut_from, cut_to; /* the numbers of those; 0: there are none */
    uint64_t lines;            /* of the whole output up to here */
    uint64_t line;             /* the number of the line that comes next */
    uint64_t bytes, gone;      /* of what is new; of that, what is not kept any more */
    bool screen;               /* it is what a full screen program shows now */
    bool bent;                 /* as in output_text */
};

/*
 * Reads it over several turns and calls fn once; the text is borrowed until fn returns.
 * fn may be called before output_show returns, which is NULL then.
 */
typedef void output_shown_fn(void *arg, const struct output_shown *shown);
struct output_showing;
struct output_showing *output_show(struct engine *en, const struct output_new *what,
                                   output_shown_fn *fn, void *arg);
/* Ends it; fn is not called. NULL is fine. */
void output_show_stop(struct output_showing *o);
/* The same at once, of a text that is not in a spool, as that of a cell. */
void output_show_text(struct str text, const struct output_new *what, output_shown_fn *fn,
                      void *arg);

#endif
