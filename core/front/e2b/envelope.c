/* SPDX-License-Identifier: MIT */
#include "front/e2b/envelope.h"

int envelope_cut(struct str *in, struct str *message, struct err *e)
{
    const unsigned char *p = (const unsigned char *)in->p;
    if (in->n == 0)
        return 0;
    if (p[0] & 1)
        return err_set(
            e, ERR_INVALID,
            "protocol error: a message is compressed, and the request names no "
            "compression");
    if (p[0] != 0)
        return err_set(e, ERR_INVALID, "protocol error: an envelope has the flags %u",
                       (unsigned)p[0]);
    if (in->n < ENVELOPE_HEAD)
        return 0;
    size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (n > ENVELOPE_MAX)
        return err_set(e, ERR_LIMIT, "a message of %zu bytes is longer than %d", n,
                       ENVELOPE_MAX);
    if (in->n - ENVELOPE_HEAD < n)
        return 0;
    *message = str_sub(*in, ENVELOPE_HEAD, n);
    *in = str_sub(*in, ENVELOPE_HEAD + n, in->n);
    return 1;
}

int envelope_put(struct buf *out, unsigned flags, struct str message)
{
    size_t n = message.n;
    unsigned char head[ENVELOPE_HEAD] = {(unsigned char)flags, (unsigned char)(n >> 24),
                                         (unsigned char)(n >> 16),
                                         (unsigned char)(n >> 8), (unsigned char)n};
    if (n > UINT32_MAX || buf_room(out) < n + ENVELOPE_HEAD)
        return -1;
    buf_add(out, head, sizeof(head));
    return buf_adds(out, message);
}
