/* SPDX-License-Identifier: MIT */
/*
 * Numbers of items and headings as a document shows them: "1.1", "(a)", "Article IV:".
 * The levels of a numbering are counted together.
 */
#ifndef OD_DOCUMENT_ITEMS_H
#define OD_DOCUMENT_ITEMS_H

#include "base/buf.h"

enum { ITEMS_LEVELS = 10 }; /* of OpenDocument; Word has 9 */

struct items {
    struct items_level {
        char format;      /* of items_number; '-' or 0: a dot */
        bool legal;       /* all numbers in the text have digits */
        bool again;       /* the next item has the first number */
        char after;       /* levels that begin this one again, and 1; 0: all above it */
        int start;        /* the first number */
        const char *text; /* "%1.%2" has numbers of two levels; NULL: none is shown */
    } levels[ITEMS_LEVELS];
    int numbers[ITEMS_LEVELS]; /* of the last item, and 1; 0: none since it began */
    struct items *counted;     /* borrowed: has the numbers; NULL: this one */
    const char *link;          /* borrowed: the style that has the levels, or NULL */
};

/* Appends n in one of the formats 1 a A i I, in 0: "01", in o: "1st"; nothing in _. */
void items_number(struct buf *out, char format, int n);
/*
 * Counts an item of a level, from 0. Appends its number and a blank, nothing if none is
 * shown, or "- ". Returns true if it was not "- ".
 */
bool items_next(struct items *l, int level, struct buf *out);

#endif
