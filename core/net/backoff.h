/* SPDX-License-Identifier: MIT */
/*
 * How long to wait before the next try: a time drawn evenly from zero to a bound
 * that doubles with each try, so that those who lost the same server do not all
 * come back at once.
 */
#ifndef OD_NET_BACKOFF_H
#define OD_NET_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t first_ms; /* the bound of the first wait; more than 0 */
    int64_t most_ms;  /* the bound of all */
    unsigned tries;   /* since the last reset */
};

/* Milliseconds to wait; counts a try. */
int64_t backoff_next(struct backoff *b);
/* The bound of the next one, which backoff_next would draw from. */
int64_t backoff_bound(const struct backoff *b);
/* It worked. */
void backoff_reset(struct backoff *b);

#endif
