/* SPDX-License-Identifier: MIT */
/* The inside of a struct picture: picture.c parses, picture_do.c executes what was
 * parsed, picture_answer.c answers, picture_rows.c reads rows, picture_paint.c paints. */
#ifndef OD_TERM_PICTURE_OWN_H
#define OD_TERM_PICTURE_OWN_H

#include "term/picture.h"

#include <vterm.h>

enum {
    PIC_PARAMS = 32,
    PIC_NUMBER_MAX = 9999,
    PIC_CLUSTER = 4 * VTERM_MAX_CHARS_PER_CELL,
    /* libvterm has no faint and no overlined text: bits of its font stand for them */
    PIC_FAINT = 1,
    PIC_OVER = 2
};

struct pic_pen {
    VTermColor fg, bg;
    bool bold, italic, blink, reverse, conceal, strike;
    int underline, font;
};

/* DECSC: of each screen. */
struct pic_saved {
    bool there, origin;
    VTermPos pos;
    struct pic_pen pen;
    char set[4];
    int shift;
};

/* Modes that libvterm does not report. */
struct pic_modes {
    bool newline, insert, cursor_keys, keypad, no_wrap, origin, reverse, hidden, steady;
    bool paste, focus;
    int shape;    /* VTERM_PROP_CURSORSHAPE_… */
    int mouse;    /* 0, 1000, 1002, 1003 */
    int protocol; /* 0, 1005, 1006, 1015 */
    int top, bottom; /* the region, from 0; both included */
};

struct picture {
    VTerm *vt; /* owned, with what follows */
    VTermState *state;
    VTermScreen *cells;
    int rows, cols, most_rows, most_cols;

    /* The parser. */
    enum { PIC_GROUND, PIC_ESCAPE, PIC_DESIGNATE, PIC_SEQUENCE, PIC_STRING,
           PIC_STRING_ESC } at;
    char utf8[4];
    size_t utf8_n;
    char leader, intermediate;
    bool bad; /* the sequence is malformed: it is left out */
    int param[PIC_PARAMS];   /* -1: not given */
    bool sub[PIC_PARAMS];    /* it follows a colon */
    int params;
    char kind;               /* of the string: ']', or another */
    char string[PICTURE_TITLE_MAX + 4];
    size_t string_n;

    /* What goes out. */
    struct buf *out;  /* of the caller; in a call only */
    struct buf *answers; /* the same; NULL: questions are not answered */
    struct buf model; /* owned: not yet passed to libvterm */
    struct buf text;  /* owned: a run of characters */
    size_t last_at;   /* where its last character begins */
    bool after_cr;

    /* The newest character, for marks and repetition; n 0: it is not the last input. */
    char cluster[PIC_CLUSTER];
    size_t cluster_n;
    unsigned cluster_chars;
    int cluster_width;
    VTermPos cluster_pos;
    const struct picture_events *ev; /* borrowed; NULL: none */
    void *ev_arg;
    bool phantom; /* the next character is the first of the next row */

    bool alt;
    VTermScreenCell *under; /* owned: the primary screen while alt; rows * cols */
    bool *under_joined;     /* owned: its rows that continue the row above */
    struct pic_saved saved[2];
    char set[4];
    int shift;
    int font;
    struct pic_modes m;
    bool tab[PICTURE_SIDE_MAX], tabs_moved;
    char title[PICTURE_TITLE_MAX + 1];
};

/* ---- picture_do.c ---- */
/* Columns of a character in libvterm; utf8_width is more exact for some. */
int pic_width(uint32_t cp);
void pic_char(struct picture *p, uint32_t cp);
void pic_text_done(struct picture *p);
void pic_control(struct picture *p, char c);
void pic_escape(struct picture *p, char c);
void pic_designate(struct picture *p, char which, char c);
void pic_sequence(struct picture *p, char c);
void pic_string(struct picture *p);
/* Passes `model` to libvterm. pic_place does the same and returns where its cursor is. */
void pic_flush(struct picture *p);
VTermPos pic_place(struct picture *p);
/* Copies the primary screen, which libvterm shows now. */
void pic_read_under(struct picture *p);
/* Moves the cursor, in libvterm and on the watchers' terminals. */
void pic_go(struct picture *p, VTermPos pos);
void pic_no_modes(struct picture *p);
void pic_no_tabs(struct picture *p, int from);
struct pic_pen pic_pen_of(const struct picture *p);

/* ---- picture_answer.c ---- */
/* A sequence, or a string that a BEL or ST ended, was parsed: answers it if it asks. */
void pic_answer_sequence(struct picture *p, char c);
void pic_answer_string(struct picture *p, bool bell);

/* ---- picture_rows.c ---- */
/*
 * Takes lines at the beginning of bytes that enter an ordinary screen at the bottom and,
 * but for the last ones, leave it at the top: libvterm would move all rows for each.
 * Returns how many bytes were taken; 0: libvterm has to see the first *seen ones, at
 * least.
 */
size_t pic_pass_lines(struct picture *p, struct str bytes, size_t *seen);
/* The screen is about to be cleared as a whole: its rows leave at the top. */
void pic_leave_all(struct picture *p);

/* ---- picture_paint.c ---- */
/* Sets all of the pen; model: in libvterm's way. */
void pic_put_pen(struct buf *out, const struct pic_pen *pen, bool model);
/* Paints the alternate screen's cells, which libvterm has lost, in libvterm only. */
void pic_paint_again(struct picture *p, const VTermScreenCell *cell, const bool *joined);

#endif
