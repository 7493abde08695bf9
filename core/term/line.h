/* SPDX-License-Identifier: MIT */
/*
 * The line model: the lines of a terminal without a right margin, of which the
 * last ones can still be written to. For this room only.
 *
 * It is in one of two states:
 *
 *   plain    the current line is bytes, the unfinished piece of the text, and
 *            the cursor is at its end (or, `home`, at its first column): what
 *            nearly all output needs, and then a line costs a copy;
 *   canvas   the current line, and lines above and below it as far as the
 *            cursor went, are rows of cells.
 *
 * plain → canvas: something is written elsewhere than at the end, or the
 * cursor goes there; rows above are taken back from the text when it goes up.
 * canvas → plain: a line feed on the last row finishes all rows, unless so
 *          many were taken back that it is better to wait for more lines.
 *
 * A terminal of `rows` rows shows the last lines, and the cursor cannot leave
 * that screen: `top` is the line at its top, and never decreases.
 */
#ifndef OD_TERM_LINE_H
#define OD_TERM_LINE_H

#include "term/row.h"
#include "term/text.h"

/* Embedded in struct term. */
struct line_model {
    struct text text;
    size_t rows, cols; /* of the tty, bounded */
    bool keep_tabs;

    uint64_t start, at; /* input offsets: see below */

    bool home;     /* plain: the cursor is at the first column */
    bool same;     /* plain: byte i of the line is byte from + i */
    uint64_t from; /* plain: where in the input the line begins */
    size_t seen, seen_columns; /* plain: the width of that many bytes of it */

    struct row *row; /* canvas: rows in use, then spare ones with their memory */
    size_t n, cap;   /* n is 0: plain */
    size_t x, y;
    size_t cells;    /* held by all rows, to bound them */
    size_t taken;    /* rows taken back minus new lines since then: see line_feed */

    uint64_t top;
    struct buf blanks; /* trailing ones, from line_show until line_show_end */
};

void line_init(struct line_model *m, const struct term_opts *o);
void line_release(struct line_model *m);

/* Before each call, `start` and `at` are set to the input that causes it. */
void line_print_ascii(struct line_model *m, const char *p, size_t n);
void line_print(struct line_model *m, uint32_t cp); /* of any width */
void line_feed(struct line_model *m);  /* to the start of the next line */
void line_index(struct line_model *m); /* to the next line, same column */
void line_return(struct line_model *m);
void line_tab(struct line_model *m);
void line_tab_back(struct line_model *m, size_t n);
/* Cursor moves; they stop at the edges of the screen. */
void line_left(struct line_model *m, size_t n);
void line_right(struct line_model *m, size_t n);
void line_column(struct line_model *m, size_t x);
void line_up(struct line_model *m, size_t n);
void line_down(struct line_model *m, size_t n);
bool line_at_top(const struct line_model *m);
/* Reads the cursor's position on the screen; line_goto sets it. */
void line_where(struct line_model *m, size_t *y, size_t *x);
void line_goto(struct line_model *m, size_t y, size_t x);
/* Erase: to the end of the line (0), from its start (1), all of it (2). */
void line_erase(struct line_model *m, int how);
void line_erase_below(struct line_model *m);
/* Blanks, deletes or inserts n cells at the cursor. */
void line_blank(struct line_model *m, size_t n);
void line_delete(struct line_model *m, size_t n);
void line_insert(struct line_model *m, size_t n);

/* Makes the last `rows` lines, or those that can still be edited, rows of a canvas. */
void line_open(struct line_model *m, size_t rows);
/* Forgets the rows: an empty line follows the text. */
void line_drop_rows(struct line_model *m);
/* Adds a line, or without newline a part of one, that a screen has made. Called
 * while there are no rows and the current line is empty. */
void line_add_done(struct line_model *m, struct str bytes, uint64_t from,
                   bool newline);
/*
 * Writes all rows to the text, until line_show_end takes them out again. *open is
 * the input of the line that is not finished.
 */
struct text_mark line_show(struct line_model *m, struct text_piece *open);
void line_show_end(struct line_model *m, const struct text_mark *mark);

#endif
