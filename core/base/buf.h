/* SPDX-License-Identifier: MIT */
/*
 * Growable bytes with a maximum.
 *
 * Invariants: n <= cap <= max + 1; p is never NULL after the first add and
 * p[n] is always 0, so that a buffer of text can be passed to libc; embedded
 * zeros are allowed. No buffer is unbounded: the maximum is given when it is
 * made, and an add that would pass it fails and changes nothing.
 *
 * A failed add marks the buffer as full: all later adds do nothing and fail too, so
 * that the bytes are always a beginning of what was added, with nothing left out in
 * the middle. Callers may ignore the results of adds and look at buf_full once, before
 * they use the bytes. Where there is no memory for 64 KiB or less the process aborts, as
 * in xalloc.h; for more, the add fails.
 *
 * A buffer that is a queue must not be marked: compare with
 * buf_room before the add.
 */
#ifndef OD_BASE_BUF_H
#define OD_BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

struct buf {
    char *p;     /* owned, but see skip: free it with buf_release only */
    size_t n;    /* bytes in use */
    size_t cap;  /* bytes allocated from p on */
    size_t max;  /* adds beyond it fail */
    size_t skip; /* bytes allocated before p: consumed ones */
    bool full;   /* read it with buf_full */
};

#define BUF_INIT(maximum) {.max = (maximum)}

void buf_init(struct buf *b, size_t max);
/* Frees the memory; the buffer is empty, without the mark, and may be used again. */
void buf_release(struct buf *b);
/* Empties it, clears the mark, and keeps the memory. */
void buf_reset(struct buf *b);

/* True if an add has failed since the buffer was made, reset, released or resumed. */
static inline bool buf_full(const struct buf *b)
{
    return b->full;
}
/* Clears the mark, for a caller that handles the failure: by a gap, or a shorter text. */
void buf_resume(struct buf *b);

/*
 * All adds return 0, or -1 with the bytes unchanged and the buffer marked as full (the
 * maximum is passed, there is no memory, or it was full before). What is added must not
 * lie in the buffer itself.
 */
int buf_add(struct buf *b, const void *p, size_t n);
int buf_adds(struct buf *b, struct str s);
int buf_addz(struct buf *b, const char *z);
int buf_addc(struct buf *b, char c);
int buf_addi(struct buf *b, int64_t v); /* in decimal */
int buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int buf_addv(struct buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/*
 * Formats a C string into an array, as buf_addf does. false: it does not fit, and out is
 * "".
 */
bool buf_fill(char *out, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Returns room for n more bytes; buf_commit then adds those that were used (also 0, if
 * anything was written there). Returns NULL and marks the buffer as full if an add of n
 * bytes would fail.
 */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);
/* Bytes that can still be added before the maximum. */
size_t buf_room(const struct buf *b);

/*
 * Drops n bytes from the front (n <= b->n); cheap, so parse and drop freely. A mark
 * stays.
 */
void buf_consume(struct buf *b, size_t n);
/* Shortens to n bytes (n <= b->n). A mark stays. */
void buf_truncate(struct buf *b, size_t n);
/* Returns the memory, never NULL; the caller frees it. b is then as after a release. */
char *buf_take(struct buf *b);

static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->p, b->n};
}
/* As a C string; "" when nothing was ever added. */
static inline const char *buf_z(const struct buf *b)
{
    return b->p ? b->p : "";
}

#endif
