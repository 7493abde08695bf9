/* SPDX-License-Identifier: MIT */
#include "archive/zip_text.h"

#include "base/log.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <zlib.h>

enum { STEP = 16 << 10, GZIP_ONLY = 16 + MAX_WBITS };

static voidpf allocate(voidpf arg, uInt count, uInt size)
{
    (void)arg;
    return xcalloc(count, size);
}

static void deallocate(voidpf arg, voidpf p)
{
    (void)arg;
    free(p);
}

static z_stream stream_of(struct str gz)
{
    return (z_stream){.next_in = (Bytef *)(uintptr_t)gz.p,
                      .avail_in = (uInt)gz.n,
                      .zalloc = allocate,
                      .zfree = deallocate};
}

void zip_text(struct buf *out, struct str gz)
{
    z_stream z = stream_of(gz);
    int r = inflateInit2(&z, GZIP_ONLY);
    while (r == Z_OK) {
        size_t room = buf_room(out) < STEP ? buf_room(out) : STEP;
        BUG_ON(room == 0);
        z.next_out = (Bytef *)buf_reserve(out, room);
        if (!z.next_out)
            xalloc_failed(out->n + room);
        z.avail_out = (uInt)room;
        r = inflate(&z, Z_NO_FLUSH);
        buf_commit(out, room - z.avail_out);
        BUG_ON(r == Z_OK && z.avail_in == 0 && z.avail_out > 0);
    }
    BUG_ON(r != Z_STREAM_END || z.avail_in > 0);
    inflateEnd(&z);
}

void zip_text_to(char *to, const char *end, struct str gz)
{
    z_stream z = stream_of(gz);
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)(end - to);
    int r = inflateInit2(&z, GZIP_ONLY);
    /* To finish at once needs no window. */
    if (r == Z_OK)
        r = inflate(&z, Z_FINISH);
    BUG_ON(r != Z_STREAM_END || z.avail_in > 0 || z.avail_out > 0);
    inflateEnd(&z);
}
