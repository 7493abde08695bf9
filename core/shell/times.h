/* SPDX-License-Identifier: MIT */
/*
 * When output came, and at which size of the terminal: a small file next to a spool.
 *
 * It is a list of 16-byte entries, each one an offset of the output with a time or a size
 * that holds from there on. A worker appends them as it gets to know of output, so they
 * outlive it. At most TIMES_MAX entries: then those of output that is gone and every
 * second one of the others are dropped, so that old output has coarser times. A disk
 * without room costs times only. A worker that dies while it drops entries leaves some
 * twice: a reader skips entries whose offset decreases.
 */
#ifndef OD_SHELL_TIMES_H
#define OD_SHELL_TIMES_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

enum { TIMES_MAX = 32768, TIMES_GAP_MS = 10 };

/* Embedded in the owner of the spool. */
struct times {
    int fd;          /* owned; -1: no times are kept */
    unsigned n;      /* entries */
    int64_t gap_ms;  /* between two times, at least */
    int64_t last_ms; /* the newest time */
    uint64_t at;     /* output before this offset has its time */
};

/*
 * Opens the file for output that is at this offset now; fresh: the spool is new, so an
 * old file is emptied. Without a state directory the times are in memory, and end with
 * this worker; if the file cannot be opened, this worker keeps none. *t must be closed or
 * have fd -1.
 */
void times_open(struct times *t, struct engine *en, const char *file, bool fresh,
                uint64_t at, int rows, int cols);
void times_close(struct times *t);
/* The output has reached this offset; start: the oldest byte that is still kept. */
void times_output(struct times *t, uint64_t offset, uint64_t start);
void times_size(struct times *t, int rows, int cols);

struct times_entry {
    uint64_t offset;
    int64_t ms;     /* since 1970; 0: it is a size */
    int rows, cols; /* 0: it is a time */
};
/* Reads entry *i and moves on. Returns false after the last. */
bool times_next(int fd, unsigned *i, struct times_entry *out);
/* When the spool was made, in microseconds since 1970; 0: that is not known. */
int64_t times_created_us(int fd);

#endif
