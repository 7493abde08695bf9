/* SPDX-License-Identifier: MIT */
#include "checkpoint/sum.h"

#include "base/hash.h"

void sum_of(struct str bytes, struct content_sum *out) { hash_sha256(bytes, out->b); }

int sum_parse(struct str hex, struct content_sum *out)
{
    if (hex.n != 2 * SUM_SIZE)
        return -1;
    for (size_t i = 0; i < hex.n; i++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, hex.p[i]);
        if (!hex.p[i] || !at)
            return -1;
        out->b[i / 2] = (uint8_t)(out->b[i / 2] << 4 | (at - digits));
    }
    return 0;
}
