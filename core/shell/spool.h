/* SPDX-License-Identifier: MIT */
/*
 * Raw output on disk, readable by offset for as long as the budget holds it.
 *
 * A spool is a ring in a file: byte N of a stream lies at N modulo the size.
 * The keeper writes it and may overwrite bytes while they are read: before that, it
 * stores the new oldest offset after the ring, so that a reader can check. This room
 * makes the files and reads them.
 */
#ifndef OD_SHELL_SPOOL_H
#define OD_SHELL_SPOOL_H

#include "base/buf.h"
#include "base/err.h"
#include "keeper/keepmsg.h"

struct engine;

/*
 * Makes an empty spool file in dir (NULL: in memory), mode 0600. Returns the
 * descriptor, which the caller owns, or -1 and sets *e.
 */
int spool_make(const char *dir, const char *name, struct err *e);
/*
 * The same in the state directory, for *bytes; in memory if there is no such directory or
 * its disk is full, and then *bytes is lowered.
 */
int spool_new(struct engine *en, const char *file, uint64_t *bytes, struct err *e);
/* Removes the file; open descriptors stay valid. */
void spool_remove(const char *dir, const char *name);

/* The oldest offset that is still there. */
uint64_t spool_start(const struct keep_stream *s);
/*
 * Reads at most n bytes from offset *from on. If the byte there was overwritten or lies
 * in a gap, raises *from to the next one that exists. Returns the count; 0 at the end.
 */
size_t spool_read(int fd, const struct keep_stream *s, uint64_t *from, char *p, size_t n);

/*
 * Finds the last switch to a terminal's second screen ('h') or back from it ('l') that
 * begins between `oldest` and `end`, which are not far apart. Returns its kind, and its
 * offset in *where; 0 if there is none.
 */
char spool_screen(int fd, const struct keep_stream *s, uint64_t oldest, uint64_t end,
                  uint64_t *where);

struct spool_range {
    uint64_t from, to; /* to 0: there is none */
};

enum { EXCERPT_GONE = KEEP_GAPS + 4 };

/* The ends of a range, as they are in the spool. Owned by the caller, who releases it. */
struct spool_excerpt {
    struct buf head, tail;       /* owned */
    struct spool_range left_out; /* lies between both and was not read */
    /*
     * Ranges of head and tail that are lost, oldest first. If there are more than fit,
     * the last one spans the rest.
     */
    struct spool_range gone[EXCERPT_GONE];
    unsigned ngone;
};

/*
 * Reads the first `head` and the last `tail` bytes of the output from … to; all of it,
 * as the head, if it is not longer than both. The caller releases out.
 */
void spool_excerpt(int fd, const struct keep_stream *s, uint64_t from, uint64_t to,
                   size_t head, size_t tail, struct spool_excerpt *out);
void spool_excerpt_release(struct spool_excerpt *x);

#endif
