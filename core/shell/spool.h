/* SPDX-License-Identifier: MIT */
/*
 * Raw output on disk, readable by offset for as long as the budget holds it.
 *
 * A spool is a ring in a file: byte N of a stream lies at N modulo the size.
 * The keeper writes it and may overwrite what is being read; behind the ring it
 * says first what it gives up, so that a reader knows. This is the reading side,
 * and the making of the files.
 */
#ifndef OD_SHELL_SPOOL_H
#define OD_SHELL_SPOOL_H

#include "base/buf.h"
#include "base/err.h"
#include "keeper/keepmsg.h"

struct engine;

/*
 * Makes an empty spool file in dir (NULL: in memory), mode 0600. Returns the
 * descriptor, or -1: what was tried and why it failed.
 */
int spool_make(const char *dir, const char *name, struct err *e);
/*
 * The same in the state directory, or in memory: of at most *bytes, which is lowered
 * where only memory can hold it, as on a full disk. Returns the descriptor, or -1 and
 * sets *e.
 */
int spool_new(struct engine *en, const char *file, uint64_t *bytes, struct err *e);
/* Removes the file; a descriptor that is open goes on. */
void spool_remove(const char *dir, const char *name);

/* The oldest offset that is still there. */
uint64_t spool_start(const struct keep_stream *s);
/*
 * Reads at most n bytes at offset from, which is raised to the first byte that
 * is there at or after it (an older one was overwritten, or lies in a gap).
 * Returns the count, 0 at the end. *from is where the bytes begin.
 */
size_t spool_read(int fd, const struct keep_stream *s, uint64_t *from, char *p, size_t n);

struct spool_range {
    uint64_t from, to; /* to 0: there is none */
};

enum { EXCERPT_GONE = KEEP_GAPS + 4 };

/* The ends of a range, as they are in the spool. Owned by the caller, who releases it. */
struct spool_excerpt {
    struct buf head, tail;       /* owned */
    struct spool_range left_out; /* lies between both and was not read */
    /*
     * What was to be read and is not there any more, oldest first. If there are more
     * ranges than these, the last one spans them and what lies between them.
     */
    struct spool_range gone[EXCERPT_GONE];
    unsigned ngone;
};

/*
 * The first `head` and the last `tail` bytes of the output from … to; all of it, as the
 * head, if it is no longer than both. Reads as much and no more. The caller releases it.
 */
void spool_excerpt(int fd, const struct keep_stream *s, uint64_t from, uint64_t to,
                   size_t head, size_t tail, struct spool_excerpt *out);
void spool_excerpt_release(struct spool_excerpt *x);

#endif
