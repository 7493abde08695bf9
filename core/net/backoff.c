/* SPDX-License-Identifier: MIT */
/* Waits between tries. */
#include "net/backoff.h"

#include "base/clock.h"

int64_t backoff_bound(const struct backoff *b)
{
    int64_t bound = b->first_ms;
    for (unsigned i = 0; i < b->tries && bound < b->most_ms; i++)
        bound = bound > b->most_ms / 2 ? b->most_ms : bound * 2;
    return bound < b->most_ms ? bound : b->most_ms;
}

int64_t backoff_next(struct backoff *b)
{
    uint64_t r;
    int64_t bound = backoff_bound(b);
    random_bytes(&r, sizeof(r));
    if (b->tries < UINT32_MAX)
        b->tries++;
    return (int64_t)(r % ((uint64_t)bound + 1));
}

void backoff_reset(struct backoff *b) { b->tries = 0; }
