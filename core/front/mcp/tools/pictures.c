/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/pictures.h"

#include "action/picture.h"
#include "base/enc.h"
#include "front/mcp/tools/state.h"

#include <stdio.h>
#include <string.h>

enum { SAID_MAX = 4096, BYTES_MAX = 1 << 20 };

void pictures_init(struct pictures *p)
{
    *p = (struct pictures){.n = 0};
    buf_init(&p->said, SAID_MAX);
}

void pictures_release(struct pictures *p) { buf_release(&p->said); }

/* Reads the size of a PNG from its first chunk (RFC 2083 section 11.2.2). */
static bool png_size(struct str bytes, unsigned *width, unsigned *height)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    if (bytes.n < 24 || memcmp(p, "\x89PNG\r\n\x1a\n", 8) != 0)
        return false;
    *width = *height = 0;
    for (int i = 16; i < 20; i++) {
        *width = *width << 8 | p[i];
        *height = *height << 8 | p[i + 4];
    }
    return true;
}

void pictures_take(struct pictures *p, struct engine *en, struct str session,
                   uint64_t cell, struct str url)
{
    static const char *const types[][2] = {
        {"image/png", "png"}, {"image/jpeg", "jpeg"}, {"image/gif", "gif"}};
    struct buf bytes = BUF_INIT(BYTES_MAX);
    struct str base64 = url, head = str_cut(&base64, ',');
    unsigned width, height;
    char path[PICTURE_PATH], name[64], number[16] = "";
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_find(head, str_of(types[i][0])) < 0 || dec_base64(&bytes, base64) < 0)
            continue;
        if (!png_size(buf_str(&bytes), &width, &height))
            width = height = 0;
        bool small = base64.n <= TOOL_PICTURE_MAX && p->n < TOOL_PICTURES;
        if (p->seen)
            snprintf(number, sizeof(number), "-%u", p->seen + 1);
        snprintf(name, sizeof(name), "cell-%llu%s.%s", (unsigned long long)cell, number,
                 types[i][1]);
        picture_keep(en, session, name, buf_str(&bytes), path);
        state_picture(&p->said, width, height, small, path);
        if (small)
            p->list[p->n++] = (struct tool_picture){base64, types[i][0]};
        p->seen++;
        break;
    }
    buf_release(&bytes);
}
