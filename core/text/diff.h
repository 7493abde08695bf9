/* SPDX-License-Identifier: MIT */
/*
 * The changes between two texts, by lines.
 *
 * Newlines separate lines: a text that ends in one has an empty last line, and the
 * empty text is one empty line. So a last line is the same with and without its
 * newline.
 *
 * The fewest changes (Myers, "An O(ND) Difference Algorithm and Its Variations",
 * 1986, section 4b, in memory that is linear in the changed part), if that takes at
 * most DIFF_STEPS; the part that is not compared by then is reported as one change.
 */
#ifndef OD_TEXT_DIFF_H
#define OD_TEXT_DIFF_H

#include "base/buf.h"

enum {
    DIFF_STEPS = 4 << 20,    /* some 20 ms */
    DIFF_LINES_MAX = 400000, /* between the first and the last change, of both texts */
};

/* old_n lines from line old_at on, from 0, became new_n lines; not both are 0. */
struct diff_hunk {
    size_t old_at, old_n, new_at, new_n;
};

typedef void diff_fn(void *arg, const struct diff_hunk *h);

/*
 * Calls fn for every change, from the first to the last; between two changes is at
 * least one equal line. Returns true if the changes are the fewest; false if DIFF_STEPS
 * was reached, and some equal lines are reported as changed.
 */
bool diff_lines(struct str old, struct str new, diff_fn *fn, void *arg);

/*
 * Appends a unified diff without context: two lines with the name, and for each
 * change @@ -a,b +c,d @@ and its lines. White space at the end of lines is left
 * out, and there is no newline after the last one; for equal texts nothing is
 * appended. Returns -1 if out is full, and unchanged.
 */
int diff_unified(struct buf *out, struct str old, struct str new, struct str name);

#endif
