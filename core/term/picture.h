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
#define PICTURE_SIDE_MAX 1024
#define PICTURE_TITLE_MAX 256 /* bytes */

struct picture; /* opaque */

/* Sizes are clamped, to at least 2 columns. The caller frees it. */
struct picture *picture_new(int rows, int cols);
/* The same with up to PICTURE_SIDE_MAX rows and columns. */
struct picture *picture_new_large(int rows, int cols);
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

/* ---- for a terminal of its own, whose rows are kept when they leave the screen ---- */

/*
 * What happens while a picture is fed; any may be NULL. A row has this form: characters
 * in UTF-8 up to the last cell that was written, and before each change of the pen, which
 * is plain at the beginning, ESC ATTRIBUTES;FOREGROUND;BACKGROUND m in hexadecimal
 * digits. Attributes are enum picture_attr. A colour is 0 to 7, 8 for none, 90 to 97,
 * 0x1000000 + the index of 256, or 0x2000000 + RGB.
 */
struct picture_events {
    /* A row of the primary screen leaves at the top; wrapped: the next continues it. */
    void (*row)(void *arg, struct str form, bool wrapped);
    /* ED 3: rows that have left are to be forgotten. */
    void (*forget)(void *arg);
    void (*rung)(void *arg); /* BEL */
};
enum picture_attr {
    PICTURE_BOLD = 1,
    PICTURE_FAINT = 2,
    PICTURE_UNDER = 4,
    PICTURE_BLINK = 8,
    PICTURE_REVERSE = 0x10,
    PICTURE_HIDDEN = 0x20,
    PICTURE_ITALIC = 0x40,
    PICTURE_STRIKE = 0x100,
    PICTURE_UNDER_2 = 0x200,
    PICTURE_UNDER_3 = 0x400,
    PICTURE_OVER = 0x2000
};
enum { PICTURE_NO_COLOUR = 8, PICTURE_256 = 0x1000000, PICTURE_RGB = 0x2000000 };
/*
 * Reports what happens from here on to ev, which is borrowed. A line feed is then only
 * that, as on a terminal whose program writes returns, and a cleared screen leaves at the
 * top.
 */
void picture_watch(struct picture *p, const struct picture_events *ev, void *arg);
/*
 * Appends the form of row y, from 0, of the screen that is shown, or of the primary
 * screen beneath it; *wrapped: the next row continues it.
 */
void picture_row(struct picture *p, int y, bool beneath, struct buf *out, bool *wrapped);
/* The state of the terminal. */
struct picture_state {
    int row, col, top, bottom; /* from 0; top and bottom: of the region, both included */
    bool alt, cursor_keys, keypad, insert, origin, no_wrap, hidden, paste, newline;
    int saved_row, saved_col; /* of the primary screen's cursor while alt */
    int mouse, protocol;      /* as in DECSET; 0: none */
    bool steady;
    int shape;         /* 0 block, 1 underline, 2 bar */
    const char *title; /* borrowed; "": none was set */
};
void picture_report(struct picture *p, struct picture_state *out);
/* Whether no character or sequence is unfinished. */
bool picture_whole(const struct picture *p);
/* Tab stops: whether there is one at column x. */
bool picture_tab(const struct picture *p, int x);
/* As ESC c: everything is as in a new picture, and the screen is blank. */
void picture_reset(struct picture *p);

#endif
