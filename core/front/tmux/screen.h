/* SPDX-License-Identifier: MIT */
/*
 * The screen of a pane and the rows that have left it, fed from the spool of its program.
 * Both can be kept: a checkpoint in a file says at which byte of the spool they are, and
 * the next worker feeds the rest.
 */
#ifndef OD_FRONT_TMUX_SCREEN_H
#define OD_FRONT_TMUX_SCREEN_H

#include "base/json.h"
#include "front/tmux/history.h"
#include "term/picture.h"

struct pane_screen {
    struct picture *pic; /* owned */
    struct history history;
    uint64_t at;       /* bytes of the spool that were fed */
    uint64_t saved_at; /* those of the newest checkpoint */
    uint64_t asked;    /* bytes of answers to its questions so far */
    uint64_t bells;
    char *dir, *name; /* owned; where the files are; dir NULL: in memory */
    struct buf plain; /* owned; what picture_feed writes */
    const struct pane_screen_calls *calls;
    void *arg;
};

struct pane_screen_calls {
    /* The program has asked; the last bytes of all its answers, n by now, are to be typed
     * once. */
    void (*asked)(void *arg, uint64_t n, struct str answer);
    void (*rung)(void *arg);
};

/*
 * Makes the screen; limit: rows of history. again: goes on from its checkpoint, if there
 * is one, and else from byte 0 of the spool. calls may be NULL.
 */
void screen_open(struct pane_screen *s, const char *dir, const char *name, int rows,
                 int cols, uint64_t limit, bool again,
                 const struct pane_screen_calls *calls, void *arg);
/* remove: also its files. */
void screen_close(struct pane_screen *s, bool remove);
void screen_feed(struct pane_screen *s, uint64_t offset, struct str bytes);
/* Writes a checkpoint if more than `bytes` were fed since the last one. */
void screen_keep(struct pane_screen *s, uint64_t bytes);
void screen_size(struct pane_screen *s, int rows, int cols);
/* As a new one; its history stays. For another program from the start of its spool. */
void screen_restart(struct pane_screen *s);

/* Forgets the rows that have left it. */
void screen_forget(struct pane_screen *s);
/* Writes on it what is not of the program; the next worker finds it there. */
void screen_draw(struct pane_screen *s, struct str bytes);
/* As a terminal that is reset; what has left stays. */
void screen_clear(struct pane_screen *s);

/* ---- what is to be seen ---- */

enum capture_flags {
    CAPTURE_CODES = 1,   /* colours and attributes as escape sequences */
    CAPTURE_OCTAL = 2,   /* bytes of no character as \NNN */
    CAPTURE_JOIN = 4,    /* without a newline where a row is continued */
    CAPTURE_BLANKS = 8,  /* trailing blanks stay */
    CAPTURE_BENEATH = 16 /* the primary screen beneath the alternate one */
};
/* Rows from…to are being written; row 0 is the first of the screen, -1 the newest that
 * left it. */
struct capture {
    struct pane_screen *s;
    unsigned flags;
    int64_t next, last;
    struct history_reader rows; /* in use while next < 0 */
    bool reading;
    unsigned attr, fg, bg; /* the pen that was written last */
    struct buf row;        /* owned */
};
void capture_begin(struct capture *c, struct pane_screen *s, unsigned flags, int64_t from,
                   int64_t to);
/* Appends rows until out has `most` bytes more, or all is written. Returns whether rows
 * are left. */
bool capture_some(struct capture *c, struct buf *out, size_t most);
void capture_end(struct capture *c);

#endif
