/* SPDX-License-Identifier: MIT */
#include "archive/zip_text.h"

#include <zlib.h>

enum { STEP = 16 << 10, GZIP_ONLY = 16 + MAX_WBITS };

int zip_text(struct buf *out, struct str gz)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)gz.p, .avail_in = (uInt)gz.n};
    int r = inflateInit2(&z, GZIP_ONLY);
    while (r == Z_OK) {
        size_t room = buf_room(out) < STEP ? buf_room(out) : STEP;
        z.next_out = room > 0 ? (Bytef *)buf_reserve(out, room) : NULL;
        if (!z.next_out)
            break;
        z.avail_out = (uInt)room;
        r = inflate(&z, Z_NO_FLUSH);
        buf_commit(out, room - z.avail_out);
        if (z.avail_in == 0 && z.avail_out > 0 && r == Z_OK)
            break;
    }
    inflateEnd(&z);
    return r == Z_STREAM_END && z.avail_in == 0 ? 0 : -1;
}
