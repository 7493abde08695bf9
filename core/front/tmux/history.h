/* SPDX-License-Identifier: MIT */
/*
 * The rows that have left a pane's screen, in a file: what they cost is disk, and in
 * memory eight bytes for each HISTORY_STEP rows.
 *
 * A row has the form of term/picture.h, then LF, or CR if the next row continues it. Rows
 * have numbers, from 0; the oldest ones are dropped when there are more than the limit.
 * What is in the file after a checkpoint is written again, the same, by the next worker,
 * which feeds the screen from the checkpoint on.
 */
#ifndef OD_FRONT_TMUX_HISTORY_H
#define OD_FRONT_TMUX_HISTORY_H

#include "base/buf.h"
#include "base/err.h"

enum { HISTORY_STEP = 1024, HISTORY_CHUNK = 128 << 10 };

struct history {
    int fd, index;   /* owned; the rows, and where each HISTORY_STEP of them begins */
    uint64_t bytes;  /* of all rows, with those in `late` */
    uint64_t rows;   /* ever added: the number of the next one */
    uint64_t first;  /* the oldest that is kept */
    uint64_t holes;  /* the file has no blocks before this offset */
    uint64_t limit;  /* of rows; 0: none is kept */
    struct buf late; /* owned; rows that are not written yet */
    uint64_t *mark;  /* owned; mark[i]: the offset of row i * HISTORY_STEP */
    size_t marks, marks_cap;
};

/* The place of a checkpoint. */
struct history_place {
    uint64_t bytes, rows, first;
};

/*
 * Opens the files NAME.rows and NAME.index in dir, which are made if they are not there
 * (dir NULL: in memory), at this place; all 0: empty. Returns -1 and sets *e if that is
 * not possible; then nothing is kept.
 */
int history_open(struct history *h, const char *dir, const char *name,
                 const struct history_place *at, uint64_t limit, struct err *e);
void history_close(struct history *h);
/* Removes the files. */
void history_remove(const char *dir, const char *name);

void history_add(struct history *h, struct str form, bool wrapped);
/* Removes the newest row. Returns false if there is none. */
bool history_pop(struct history *h, struct buf *form, bool *wrapped);
/* Forgets all rows. */
void history_clear(struct history *h);
/* Writes what is late, and returns the place for a checkpoint. */
struct history_place history_save(struct history *h);
static inline uint64_t history_count(const struct history *h)
{
    return h->rows - h->first;
}

/* Reads rows one after the other. */
struct history_reader {
    struct history *h;
    uint64_t row, at; /* of the next one; at: its offset */
    struct buf chunk; /* owned */
    size_t used;
};
/* row: the first to be read, from h->first on. */
void history_read(struct history_reader *r, struct history *h, uint64_t row);
/* Gets the next row; form is valid until the next call. Returns false at the end. */
bool history_next(struct history_reader *r, struct str *form, bool *wrapped);
void history_read_end(struct history_reader *r);

#endif
