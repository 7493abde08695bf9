/* SPDX-License-Identifier: MIT */
/*
 * A page as blocks: block.c makes them of words, order.c puts them in reading order. A
 * block is text that stands together: a paragraph, a column, the cells of a column of a
 * table, a label.
 */
#ifndef OD_DOCUMENT_PDF_LAYOUT_H
#define OD_DOCUMENT_PDF_LAYOUT_H

#include "document/pdf/own.h"

/* Parts of the font's size. */
#define LAYOUT_SAME_ROW 0.3f /* between the base lines of cells of one row */

enum { LAYOUT_BLOCKS_MAX = 400 /* of a page that is put in order: it takes n * n */ };

struct area {
    float x0, y0, x1, y1;
};

struct block {
    float x0, x1, top, low; /* of base lines, after its words are turned */
    float size;
    int turn;
    size_t at, n;       /* its words */
    struct area box;    /* after the page is turned for reading */
    uint32_t row, cell; /* of a table; row 0: none */
    bool done;
};

struct layout {
    struct pdf_word *w; /* borrowed; by turn and height, then by block */
    size_t n;
    bool blanks;         /* the page draws some between words */
    struct block *block; /* owned */
    size_t blocks, room;
    uint32_t order[LAYOUT_BLOCKS_MAX]; /* of blocks */
    size_t ordered;
    int64_t steps; /* left */
};

static inline float larger(float a, float b) { return a > b ? a : b; }
static inline float smaller(float a, float b) { return a < b ? a : b; }

/*
 * Fills `order`, for up to LAYOUT_BLOCKS_MAX blocks. When no steps are left, the rest
 * keeps its order.
 */
void layout_order(struct layout *a);

#endif
