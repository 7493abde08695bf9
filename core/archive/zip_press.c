/* SPDX-License-Identifier: MIT */
#include "archive/zip_press.h"

#include "base/xalloc.h"

#include <stdlib.h>
#include <zlib.h>

struct zip_press {
    z_stream in, out; /* unpacking, packing */
    bool has_in, has_out;
};

struct zip_press *zip_press_new(void) { return xnew(struct zip_press); }

void zip_press_free(struct zip_press *z)
{
    if (!z)
        return;
    if (z->has_in)
        inflateEnd(&z->in);
    if (z->has_out)
        deflateEnd(&z->out);
    free(z);
}

size_t zip_press_pack(struct zip_press *z, struct str bytes, void *out, size_t n)
{
    z_stream *s = &z->out;
    if (!z->has_out &&
        deflateInit2(s, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        xalloc_failed(sizeof(*z));
    z->has_out = true;
    deflateReset(s);
    s->next_in = (unsigned char *)(uintptr_t)bytes.p;
    s->avail_in = (unsigned)bytes.n;
    s->next_out = out;
    s->avail_out = (unsigned)n;
    return deflate(s, Z_FINISH) == Z_STREAM_END ? n - s->avail_out : 0;
}

int zip_press_unpack(struct zip_press *z, struct str packed, void *out, size_t n)
{
    z_stream *s = &z->in;
    if (!z->has_in && inflateInit2(s, -MAX_WBITS) != Z_OK)
        xalloc_failed(sizeof(*z));
    z->has_in = true;
    inflateReset(s);
    s->next_in = (unsigned char *)(uintptr_t)packed.p;
    s->avail_in = (unsigned)packed.n;
    s->next_out = out;
    s->avail_out = (unsigned)n;
    return inflate(s, Z_FINISH) == Z_STREAM_END && s->avail_out == 0 ? 0 : -1;
}
