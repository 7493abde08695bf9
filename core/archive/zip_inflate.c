/* SPDX-License-Identifier: MIT */
#include "archive/zip_inflate.h"

#include <limits.h>
#include <zlib.h>

enum { STEP_LEAST = 16 << 10, STEP_MOST = 1 << 20 };

/* Room for more: as much as came in, between the two steps and the maximum. */
static size_t step(const struct buf *out, size_t packed)
{
    size_t n = packed < STEP_LEAST ? STEP_LEAST : packed > STEP_MOST ? STEP_MOST : packed;
    return n < buf_room(out) ? n : buf_room(out);
}

/*
 * Returns 0 at the end of the stream; 1 if it is damaged or cut off; -1 if out is full.
 */
static int run(z_stream *z, struct buf *out, size_t packed)
{
    for (;;) {
        size_t n = step(out, packed);
        char *p = n ? buf_reserve(out, n) : NULL;
        if (!p)
            return -1;
        z->next_out = (unsigned char *)p;
        z->avail_out = (unsigned)n;
        int rc = inflate(z, Z_NO_FLUSH);
        buf_commit(out, n - z->avail_out);
        if (rc == Z_STREAM_END)
            return 0;
        if (rc == Z_MEM_ERROR)
            return -1;
        if (rc != Z_OK)
            return 1;
    }
}

static int try_bits(struct str packed, int bits, struct buf *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)packed.p,
                  .avail_in = packed.n < UINT_MAX ? (unsigned)packed.n : UINT_MAX};
    if (inflateInit2(&z, bits) != Z_OK)
        return -1;
    int rc = run(&z, out, packed.n);
    inflateEnd(&z);
    return rc;
}

int zip_inflate(struct str packed, struct buf *out)
{
    size_t before = out->n;
    int rc = try_bits(packed, MAX_WBITS, out);
    if (rc == 1 && out->n == before && packed.n > 2) {
        rc = try_bits(str_sub(packed, 2, packed.n), -MAX_WBITS, out);
        if (rc == 1 && out->n == before)
            rc = try_bits(packed, -MAX_WBITS, out);
    }
    return rc;
}
