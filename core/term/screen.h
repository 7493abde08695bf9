/* SPDX-License-Identifier: MIT */
/*
 * A screen that is addressed by row and column: libvterm, which only
 * screen.c sees. For this room only.
 *
 * What is written to it must be tokens that term.c has parsed: whole
 * characters of valid UTF-8, controls, and sequences with small numbers, so
 * libvterm's own parser never meets a peer's bytes. Colours, titles and
 * questions to the terminal are left out before.
 *
 * Rows that scroll off the top of the primary screen are handed to `line` at
 * once; rows that were wrapped are put together again.
 */
#ifndef OD_TERM_SCREEN_H
#define OD_TERM_SCREEN_H

#include "term/term.h"

struct screen; /* opaque */

/*
 * Called with a line's bytes, or with newline false a part of one; `from` is
 * where the input begins that made it.
 */
typedef void screen_line_fn(void *arg, struct str bytes, uint64_t from,
                            bool newline);

/*
 * Sizes are clamped. `from` is where the input of its first content begins.
 * line NULL: what scrolls off is lost.
 */
struct screen *screen_new(int rows, int cols, uint64_t from,
                          screen_line_fn *line, void *arg);
void screen_free(struct screen *s);

/* `at` is the input offset after what is written. */
void screen_write(struct screen *s, struct str token, uint64_t at);
/* To the alternate screen and back. */
void screen_alt(struct screen *s, bool on);
/* DECSTBM: 1-based rows, 0 for the screen's first or last. */
void screen_region(struct screen *s, long top, long bottom);

/* Gets the cursor, from 0, and how many rows have scrolled off so far. */
void screen_where(const struct screen *s, int *row, int *col, uint64_t *gone);
/* Returns the number of columns that can be written before the row's last one. */
size_t screen_room(const struct screen *s);
/* Returns whether the cursor is on the last row, and a line feed would scroll all. */
bool screen_at_end(const struct screen *s);

/*
 * Calls line for every line down to the cursor's row, or to the last one that is
 * not blank. The last call has newline false if that is the cursor's row.
 */
void screen_each(struct screen *s, screen_line_fn *line, void *arg);

#endif
