/* SPDX-License-Identifier: MIT */
/* Numbered lines, the form of a text, and sizes, for models. */
#ifndef OD_SKILL_SHOW_H
#define OD_SKILL_SHOW_H

#include "base/buf.h"

#include <stdint.h>

/* Appends lines of a text to out, as NUMBER, tab, line. */
struct numbering {
    struct buf *out;
    int64_t line, from, end,
        last;                /* current, first, after the last, printed last (0: none) */
    size_t max;              /* of out */
    size_t line_at, text_at; /* in out: where the current line begins */
    uint64_t bytes;          /* of it */
    bool whole;              /* there is no limit of lines: up to SKILL_LINES */
    bool open;               /* it has begun */
    bool full;               /* lines were left out for lack of room, or of SKILL_LINES */
};

/*
 * count lines from line `from` on, at most max bytes, but at least one line; INT64_MAX:
 * all, up to SKILL_LINES.
 */
void numbering_begin(struct numbering *s, struct buf *out, int64_t from, int64_t count,
                     size_t max);
/*
 * Takes the next bytes of the text, from its first one on. Returns false if no more are
 * needed.
 */
bool numbering_feed(struct numbering *s, struct str bytes);
void numbering_end(struct numbering *s);
/* A negative offset counts from the end; beyond the end, it means the last lines. */
void show_range(int64_t *offset, int64_t *limit, int64_t total);

/* Counts lines by their ends and beginnings. Zeroed first. */
struct form {
    size_t lf, crlf, tabs, spaces;
};
void form_count(struct form *f, struct str text);
const char *form_eol(const struct form *f);    /* "lf", "crlf", "mixed" */
const char *form_indent(const struct form *f); /* NULL: none */
/* Appends "; …" with properties that a reader does not see. */
void form_tell(const struct form *f, struct buf *state);

enum { SIZE_WORDS = 24 };
void size_words(uint64_t bytes, char out[SIZE_WORDS]);

#endif
