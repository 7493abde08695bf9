/* SPDX-License-Identifier: MIT */
/*
 * A row of character cells. For this room only.
 *
 * Cells exist only up to the last one that was written. A wide character and a
 * TAB have more than one, which belong together: before a part of one is
 * overwritten, the whole becomes blank (row_split). All rows of a terminal
 * share a budget, counted in *cells.
 */
#ifndef OD_TERM_ROW_H
#define OD_TERM_ROW_H

#include "base/buf.h"

#include <stdint.h>

#define CELLS_MAX (1u << 20)       /* the budget: 24 MB */
#define TAB_WIDTH 8
#define CELL_CHARS 6               /* a character and its marks, as libvterm */
#define CELL_WIDE UINT32_MAX       /* right half of the character before */
#define CELL_TAB (UINT32_MAX - 1)  /* rest of the TAB before */

struct term_cell {
    uint32_t ch[CELL_CHARS]; /* up to a 0; ch[0] is 0: nothing there */
};

struct row {
    struct term_cell *cell; /* owned */
    size_t n, cap;
    uint64_t from, to; /* the input that made it */
    bool joined;       /* has cells that belong together: CELL_WIDE, CELL_TAB */
};

static inline void cell_set(struct term_cell *c, uint32_t cp)
{
    c->ch[0] = cp;
    c->ch[1] = 0;
}

/* Makes room for n cells. Returns false if that is too long, or no budget is left. */
bool row_reserve(struct row *r, size_t n, size_t *cells);
/* The same, and blanks up to n. */
bool row_extend(struct row *r, size_t n, size_t *cells);
/* Fills an empty row from a line's bytes, valid UTF-8. */
bool row_load(struct row *r, struct str s, size_t *cells);
/* Returns the column after a TAB at x. row_tab writes one; r ends at or before x. */
size_t row_tab_stop(size_t x);
size_t row_tab(struct row *r, size_t x, size_t *cells);
/* Adds a mark to the character before x, if there is one and it has room. */
void row_mark(struct row *r, size_t x, uint32_t cp);

/*
 * Called before cells from x to end are written or moved: characters that are
 * only partly in them become blank. row_split_at does this at one border.
 */
void row_split(struct row *r, size_t x, size_t end);
void row_split_at(struct row *r, size_t x);
/* Cuts the row to n cells, if it has more. */
void row_cut(struct row *r, size_t n);

/* Returns the number of cells without trailing blanks; blanks before `least` that
 * were written count. row_bytes appends these cells. */
size_t row_used(const struct row *r, size_t least);
void row_bytes(const struct row *r, size_t least, struct buf *out);

#endif
