/* SPDX-License-Identifier: MIT */
/*
 * Growable bytes with a maximum.
 *
 * Invariants: n <= cap <= max + 1; p is never NULL after the first add and
 * p[n] is always 0, so that a buffer of text can be passed to libc; embedded
 * zeros are allowed. No buffer is unbounded: the maximum is given when it is
 * made, and an add that would pass it fails and changes nothing.
 */
#ifndef OD_BASE_BUF_H
#define OD_BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>

struct buf {
    char *p;     /* owned, but see skip: free it with buf_release only */
    size_t n;    /* bytes in use */
    size_t cap;  /* bytes allocated from p on */
    size_t max;  /* adds beyond it fail */
    size_t skip; /* bytes allocated before p: consumed ones */
};

#define BUF_INIT(maximum) {.max = (maximum)}

void buf_init(struct buf *b, size_t max);
/* Frees the memory; the buffer is empty and may be used again. */
void buf_release(struct buf *b);
/* Empties it and keeps the memory. */
void buf_reset(struct buf *b);

/*
 * All adds: 0, or -1 with the buffer unchanged (maximum, or no memory). What is
 * added must not lie in the buffer itself.
 */
int buf_add(struct buf *b, const void *p, size_t n);
int buf_adds(struct buf *b, struct str s);
int buf_addz(struct buf *b, const char *z);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int buf_addv(struct buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/*
 * Room for n more bytes at the returned place, then buf_commit what was used
 * (0 as well, if anything was written there). NULL when that would pass the
 * maximum, or without memory.
 */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);
/* Bytes that can still be added before the maximum. */
size_t buf_room(const struct buf *b);

/* Drops n bytes from the front (n <= b->n); cheap, so parse and drop freely. */
void buf_consume(struct buf *b, size_t n);
/* Shortens to n bytes (n <= b->n). */
void buf_truncate(struct buf *b, size_t n);
/* The memory, never NULL, which the caller frees; the buffer is empty after. */
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
