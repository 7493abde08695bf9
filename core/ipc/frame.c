/* SPDX-License-Identifier: MIT */
/*
 * Frames of the local channel: only lengths and offsets; frame.h has their
 * meaning. Parsing copies nothing and keeps no state, so a caller may pass the
 * same beginning again with more bytes after it.
 */
#include "ipc/frame.h"

static void put_le(char *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (char)(v >> (8 * i) & 0xff);
}

static uint64_t get_le(const char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return v;
}

int frame_parse(struct str in, struct frame *f, size_t *used)
{
    if (in.n < 4)
        return 0;
    size_t n = (size_t)get_le(in.p, 4);
    if (n > FRAME_MAX)
        return -1;
    if (in.n < FRAME_HEAD + n)
        return 0;
    f->type = in.p[4];
    f->payload = str_sub(in, FRAME_HEAD, n);
    *used = FRAME_HEAD + n;
    return 1;
}

int frame_bytes(struct str payload, uint64_t *offset, struct str *bytes)
{
    if (payload.n < 8)
        return -1;
    *offset = get_le(payload.p, 8);
    *bytes = str_sub(payload, 8, payload.n);
    return 0;
}

/* A head and n bytes of room after it, not committed. NULL: they do not fit. */
static char *begin(struct buf *out, char type, size_t n)
{
    /* A queue: it has room again later, and is not marked as full. */
    if (n > FRAME_MAX || FRAME_HEAD + n > buf_room(out))
        return NULL;
    char *to = buf_reserve(out, FRAME_HEAD + n);
    if (!to)
        return NULL;
    put_le(to, n, 4);
    to[4] = type;
    return to + FRAME_HEAD;
}

int frame_add(struct buf *out, char type, struct str payload)
{
    char *to = begin(out, type, payload.n);
    if (!to)
        return -1;
    if (payload.n)
        memcpy(to, payload.p, payload.n);
    buf_commit(out, FRAME_HEAD + payload.n);
    return 0;
}

int frame_add_bytes(struct buf *out, char type, uint64_t offset, struct str bytes)
{
    char *to = bytes.n > FRAME_MAX ? NULL : begin(out, type, 8 + bytes.n);
    if (!to)
        return -1;
    put_le(to, offset, 8);
    if (bytes.n)
        memcpy(to + 8, bytes.p, bytes.n);
    buf_commit(out, FRAME_HEAD + 8 + bytes.n);
    return 0;
}

int frame_add_u64(struct buf *out, char type, uint64_t v)
{
    return frame_add_bytes(out, type, v, str_n(NULL, 0));
}

int frame_add_json(struct buf *out, char type, const struct json *j)
{
    /* The length is set after printing, when it is known. */
    size_t before = out->n;
    if (buf_full(out))
        return -1;
    if (frame_add(out, type, str_n(NULL, 0)) == 0 && json_print(out, j) == 0) {
        size_t n = out->n - before - FRAME_HEAD;
        if (n <= FRAME_MAX) {
            put_le(out->p + before, n, 4);
            return 0;
        }
    }
    buf_truncate(out, before);
    buf_resume(out);
    return -1;
}
