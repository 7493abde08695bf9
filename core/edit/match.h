/* SPDX-License-Identifier: MIT */
/*
 * Finds a text that does not occur in a file byte for byte: its place if only its form
 * differs, else the nearest lines.
 *
 * Forms are tried in this order, each in addition to the previous ones: line numbers that
 * were pasted along, blanks at line ends, indentation. Words are never changed: for a
 * text that differs in a letter the nearest lines are shown.
 */
#ifndef OD_EDIT_MATCH_H
#define OD_EDIT_MATCH_H

#include "base/buf.h"

enum {
    MATCH_STEPS = 64 << 20, /* bytes that are compared before a text counts as missing */
    MATCH_WORDS = 160,
    MATCH_LINES_MAX = 20000 /* lines of a text that is bent */
};

/* The last form that had to be bent. */
enum match_how { MATCH_EXACT, MATCH_EOL, MATCH_NUMBERS, MATCH_TRAILING, MATCH_INDENT };

/* "exact", "eol", "numbers", "trailing", "indent" */
const char *match_name(enum match_how how);

struct match_bent {
    enum match_how how;
    size_t from, to;         /* the replaced part of the file's text */
    struct buf text;         /* owned: the new text, bent in the same way */
    char words[MATCH_WORDS]; /* what was bent: "tabs put for spaces in both strings" */
};

/*
 * Finds the only place of text (with \n at line ends) where `old` fits after its form is
 * bent, and bends `new` in the same way. Returns true, and the caller releases out->text;
 * false if `old` fits nowhere or at several places, or `new` cannot be bent.
 */
bool match_bend(struct str text, struct str old, struct str new, size_t max,
                struct match_bent *out);

/* The lines of a text that are most similar to some others. */
struct match_near {
    int64_t line;           /* the first of them, from 1 */
    int64_t at;             /* the line with the first difference */
    struct str here, there; /* the line of the file, and the one of the text; borrowed */
    size_t here_at, there_at; /* bytes of each before the difference */
};

/* Returns false if no line is like one of old's. */
bool match_nearest(struct str text, struct str old, struct match_near *out);
/*
 * Appends the nearest lines, up to the one with the difference, as NUMBER, tab, line;
 * below it a mark, and what the file and the other text, called `name`, have there. Each
 * line ends in a newline.
 */
void match_show(struct buf *out, struct str text, const struct match_near *n,
                const char *name);

#endif
