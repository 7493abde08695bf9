/* SPDX-License-Identifier: MIT */
/*
 * The finished text of a terminal: both ends are kept, the middle is counted.
 * For this room only.
 *
 * The text grows at its end, one piece after another: a piece is a line with
 * its newline, or a part of a very long line. The newest bytes lie in a window
 * from which the last lines can be taken back, because a program may still go
 * up and write there; what falls out of the window goes to the head until that
 * is full, and is then forgotten. Only whole pieces fall out, and only when a
 * piece ends, so the result does not depend on how the input was split.
 *
 * Each piece has the range of the input that made it. Both ends of these ranges
 * never decrease from piece to piece, so the range of what was left out is known
 * from the two pieces at its borders.
 */
#ifndef OD_TERM_TEXT_H
#define OD_TERM_TEXT_H

#include "term/term.h"

/* Bytes before the tail that can be taken back: 1,024 lines of 128. */
#define TEXT_BACK (128u << 10)

struct text_piece {
    uint64_t pos;      /* of its first byte in the whole text */
    uint64_t from, to; /* the input that made it */
    uint64_t line;     /* its line, counted from 0 */
    bool starts;       /* the line's first piece */
    bool same;         /* byte i of it is byte from + i of the input */
};

/* Pieces at which the head may end: the last that begins in it, and the last
 * that is a line and begins in its second half. */
struct text_border {
    struct text_piece last, line;
    bool has_last, has_line;
};

/* Embedded in struct line_model; owns its three memories. */
struct text {
    size_t head_max, tail_max, keep_lines;
    struct buf head; /* the first bytes of what fell out of the window */
    struct text_border border;

    struct buf win; /* finished pieces, then the bytes of the unfinished one */
    uint64_t base;  /* text position of win.p[0] */
    size_t cur;     /* where in win the unfinished piece begins */
    struct text_piece *piece;
    size_t pieces, pieces_cap;

    uint64_t line;    /* number of the line that the unfinished piece is of */
    bool starts;      /* it is that line's first piece */
    uint64_t last_to; /* of the piece before the unfinished one: the greatest `to` */
    uint64_t gone_to; /* of the last piece that fell out of the window */
    bool held;        /* between text_mark and text_undo */
};

void text_init(struct text *t, const struct term_opts *o);
void text_release(struct text *t);

/* The unfinished piece: adds bytes to it, returns them, cuts it to n bytes. */
void text_add(struct text *t, const char *p, size_t n);
struct str text_cur(const struct text *t);
void text_cur_truncate(struct text *t, size_t n);

/* Ends it, with a newline or in the middle of a line. */
void text_end(struct text *t, uint64_t from, uint64_t to, bool same,
              bool newline);
/*
 * Takes the last line back: it becomes the unfinished piece, without its
 * newline, and *out gets its range. The unfinished piece must be empty, and the
 * first of its line. Returns false if there is no such line, it was too long, or
 * it left the window.
 */
bool text_take_back(struct text *t, struct text_piece *out);

/*
 * text_mark begins changes that are only shown and then removed with text_undo:
 * nothing falls out of the window in between. The bytes that the unfinished
 * piece had before must still be there at the end.
 */
struct text_mark {
    size_t n, cur, pieces;
    uint64_t line, last_to;
    bool starts;
};
struct text_mark text_mark(struct text *t);
void text_undo(struct text *t, const struct text_mark *m);

/* As term_text. `open` has the input of the unfinished piece. */
int text_show(struct text *t, const struct text_piece *open, struct buf *out,
              struct term_text *info,
              void (*marker)(struct buf *out, const struct term_text *info,
                             void *arg),
              void *arg);

#endif
