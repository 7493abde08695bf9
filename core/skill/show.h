/* SPDX-License-Identifier: MIT */
/* Lines with their numbers, the form of a text, and sizes, as models are told them. */
#ifndef OD_SKILL_SHOW_H
#define OD_SKILL_SHOW_H

#include "base/buf.h"

#include <stdint.h>

/* Lines of a text on their way to out, as NUMBER, tab, line. */
struct numbering {
    struct buf *out;
    int64_t line, from, end,
        last;                /* at hand, first, behind the last, put last (0: none) */
    size_t max;              /* of out */
    size_t line_at, text_at; /* in out: where the line at hand begins */
    uint64_t bytes;          /* of it */
    bool open;               /* it has begun */
    bool full;               /* lines are left out for lack of room */
};

/* count lines from line `from` on, at most max bytes of them, but one in any case. */
void numbering_begin(struct numbering *s, struct buf *out, int64_t from, int64_t count,
                     size_t max);
/* The next bytes of the text, from its first one on; false: no more are wanted. */
bool numbering_feed(struct numbering *s, struct str bytes);
void numbering_end(struct numbering *s);
/* A negative offset counts from the end; behind the end the last lines are meant. */
void show_range(int64_t *offset, int64_t *limit, int64_t total);

/* Lines by their ends and beginnings, counted. Zeroed first. */
struct form {
    size_t lf, crlf, tabs, spaces;
};
void form_look(struct form *f, struct str text);
const char *form_eol(const struct form *f);    /* "lf", "crlf", "mixed" */
const char *form_indent(const struct form *f); /* NULL: none */
/* Appends "; …" for what a reader does not see. */
void form_tell(const struct form *f, struct buf *state);

enum { SIZE_WORDS = 24 };
void size_words(uint64_t bytes, char out[SIZE_WORDS]);

#endif
