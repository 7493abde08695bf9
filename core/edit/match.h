/* SPDX-License-Identifier: MIT */
/*
 * A text that an agent believes to be in a file, and is not there byte for byte: where
 * it is meant, if only its form differs, and which lines are nearest, if it does not.
 *
 * Forms are tried in this order, each on top of the ones before: line numbers that were
 * pasted along, blanks at line ends, indentation. Words are never bent: a text that
 * differs in a letter is only shown.
 */
#ifndef OD_EDIT_MATCH_H
#define OD_EDIT_MATCH_H

#include "base/buf.h"

enum {
    MATCH_STEPS =
        64 << 20, /* bytes that are compared before a text counts as not there */
    MATCH_WORDS = 160,
    MATCH_LINES_MAX = 20000 /* lines of a text that is bent */
};

/* Which form differed; the last one that was needed. */
enum match_how { MATCH_EXACT, MATCH_EOL, MATCH_NUMBERS, MATCH_TRAILING, MATCH_INDENT };

/* "exact", "eol", "numbers", "trailing", "indent" */
const char *match_name(enum match_how how);

struct match_bent {
    enum match_how how;
    size_t from, to;         /* of the file's text: what is replaced */
    struct buf text;         /* owned: what comes there, bent in the same way */
    char words[MATCH_WORDS]; /* what was bent: "tabs put for spaces in both strings" */
};

/*
 * Finds the one place of text (with \n at line ends) where `old` fits when its form is
 * bent, and bends `new` alike. Returns true, and the caller releases out->text; false:
 * it fits nowhere, at several places, or `new` cannot be bent.
 */
bool match_bend(struct str text, struct str old, struct str new, size_t max,
                struct match_bent *out);

/* The lines of a text that are most like some others. */
struct match_near {
    int64_t line;             /* the first of them, from 1 */
    int64_t at;               /* the line with the first difference */
    struct str here, there;   /* that line, and the one it is compared with; borrowed */
    size_t here_at, there_at; /* bytes of each before the difference */
};

/* Returns false if no line is like one of old's. */
bool match_nearest(struct str text, struct str old, struct match_near *out);
/*
 * Appends the nearest lines, up to the one with the difference, as NUMBER, tab, line;
 * below it a mark, and what stands there in the file and in the other text, called
 * `name`. Each line ends in a newline.
 */
void match_show(struct buf *out, struct str text, const struct match_near *n,
                const char *name);

#endif
