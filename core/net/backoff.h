/* SPDX-License-Identifier: MIT */
/*
 * How long to wait before the next try: a random time between zero and a bound that
 * doubles with each try, so that the clients of a lost server do not all reconnect at
 * once.
 */
#ifndef OD_NET_BACKOFF_H
#define OD_NET_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t first_ms; /* the bound of the first wait; more than 0 */
    int64_t most_ms;  /* the highest bound */
    unsigned tries;   /* since the last reset */
};

/* Returns the milliseconds to wait, and counts a try. */
int64_t backoff_next(struct backoff *b);
/* The bound that the next backoff_next would use. */
int64_t backoff_bound(const struct backoff *b);
/* Called after a success. */
void backoff_reset(struct backoff *b);

#endif
