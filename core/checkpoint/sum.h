/* SPDX-License-Identifier: MIT */
/*
 * The SHA-256 of a content, which is its name in the store; every byte of a tree goes
 * through it.
 */
#ifndef OD_CHECKPOINT_SUM_H
#define OD_CHECKPOINT_SUM_H

#include "base/buf.h"

enum { SUM_SIZE = 32 };

struct content_sum {
    uint8_t b[SUM_SIZE];
};

void sum_of(struct str bytes, struct content_sum *out);
static inline bool sum_eq(const struct content_sum *a, const struct content_sum *b)
{
    return memcmp(a->b, b->b, SUM_SIZE) == 0;
}
/* From 64 hex digits. Returns 0, or -1 if they are not. */
int sum_parse(struct str hex, struct content_sum *out);

#endif
