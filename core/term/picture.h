/* SPDX-License-Identifier: MIT */
/*
 * The current content of a terminal, and its painting on another one.
 *
 * A program's bytes go in; a plain form of them comes out, for the terminals of people
 * who watch, and for a libvterm of the same size. The plain form has no state that a
 * screen does not show: saved cursors, character sets, repeated characters and the mode
 * of a bare line feed are written out as cursor positions, colours and characters.
 * Strings other than titles are left out, numbers are small, text is valid UTF-8, and
 * nothing is cut within a character or a sequence. So two terminals show the same if one
 * got all of the plain form, and the other one a painted screen and then the rest of it.
 *
 * On the primary screen a line feed begins a new line even without a carriage return, as
 * sessions do not translate newlines; on the alternate screen it is a line feed.
 *
 * Memory: three cells for each place, about 110 bytes.
 */
#ifndef OD_TERM_PICTURE_H
#define OD_TERM_PICTURE_H

#include "base/buf.h"

#define PICTURE_ROWS_MAX 256
#define PICTURE_COLS_MAX 512
#define PICTURE_TITLE_MAX 256 /* bytes */

struct picture; /* opaque */

/* Sizes are clamped, to at least 2 columns. The caller frees it. */
struct picture *picture_new(int rows, int cols);
void picture_free(struct picture *p); /* NULL is fine */
void picture_size(const struct picture *p, int *rows, int *cols);

/*
 * Appends the plain form of bytes to out, at most PICTURE_GROWTH bytes for each. An
 * unfinished character or sequence waits for the next call.
 */
void picture_feed(struct picture *p, struct str bytes, struct buf *out);
enum { PICTURE_GROWTH = 2200 };
/*
 * The same for a terminal without a person: the plain form is left out, and the answers
 * to questions in bytes are appended to answers, at most PICTURE_ANSWER bytes for each.
 */
void picture_answer(struct picture *p, struct str bytes, struct buf *answers);
enum { PICTURE_ANSWER = 40 };
/*
 * Changes the size. Appends the sequences that a terminal of the new size must get after
 * the change: the position of the cursor, and that all rows scroll.
 */
void picture_resize(struct picture *p, int rows, int cols, struct buf *out);

/*
 * Finds the first part of a text that must not be shown. Returns false if there is none.
 */
typedef bool picture_secret_fn(void *arg, struct str text, size_t *at, size_t *n);
/*
 * Appends the bytes that reset a terminal of this size and make it show this picture.
 * Text that `secret` finds in a line, also a wrapped one, is painted as stars. secret
 * NULL: nothing is hidden.
 */
void picture_paint(struct picture *p, struct buf *out, picture_secret_fn *secret,
                   void *arg);

#endif
