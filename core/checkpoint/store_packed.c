/* SPDX-License-Identifier: MIT */
/*
 * Records of packs, as they go from one store to another. The numbers in their heads are
 * little endian, whatever the processors of the two.
 */
#include "checkpoint/store_own.h"

#include <endian.h>
#include <unistd.h>

static int add(struct buf *out, const struct content_sum *sum, uint32_t stored,
               uint32_t raw)
{
    const struct pack_head h = {htole32(HEAD_MAGIC), htole32(stored), htole32(raw), 0,
                                *sum};
    return buf_add(out, &h, sizeof(h));
}

int packed_ask(struct buf *out, const struct content_sum *sum)
{
    return add(out, sum, 0, 0);
}

int packed_get(struct store *s, const struct content_sum *sum, struct buf *out,
               struct err *e)
{
    struct pack *in;
    const struct store_place *p = packs_find(s, sum, &in);
    if (!p)
        return err_set(e, ERR_NOTFOUND, "a content is missing from the store");
    char *to = add(out, sum, p->stored, p->raw) == 0 ? buf_reserve(out, p->stored) : NULL;
    if (!to)
        return err_set(e, ERR_LIMIT, "a content of %u bytes is too large to be sent",
                       (unsigned)p->stored);
    if (pread(in->fd, to, p->stored, (off_t)p->at) != (ssize_t)p->stored)
        return err_set(e, ERR_IO, "a pack of the store is cut off");
    buf_commit(out, p->stored);
    return 0;
}

static int put(struct store *s, const struct pack_head *h, struct str bytes,
               struct err *e)
{
    struct content_sum sum;
    struct str raw = bytes;
    struct buf space = store_space(s);
    char *to = bytes.n < h->raw ? buf_reserve(&space, h->raw) : NULL;
    if (to && zip_press_unpack(s->z, bytes, to, h->raw) == 0)
        raw = str_n(to, h->raw);
    sum_of(raw, &sum);
    bool whole = raw.n == h->raw && sum_eq(&sum, &h->sum);
    store_space_back(s, &space);
    if (!whole)
        return err_set(e, ERR_INVALID, "a content is not that of its name");
    return store_has(s, &sum) ? 0 : writer_add(s, &sum, h->raw, bytes, e);
}

int packed_take(struct store *s, struct str *rest, struct content_sum *asked,
                struct err *e)
{
    struct pack_head h;
    if (rest->n == 0)
        return 0;
    if (rest->n >= sizeof(h)) {
        memcpy(&h, rest->p, sizeof(h));
        h.magic = le32toh(h.magic);
        h.stored = le32toh(h.stored);
        h.raw = le32toh(h.raw);
    }
    if (rest->n < sizeof(h) || h.magic != HEAD_MAGIC || h.stored > rest->n - sizeof(h) ||
        h.stored > h.raw || h.raw > STORE_OBJECT_MAX)
        return err_set(e, ERR_INVALID, "no head of a content, or it is cut off");
    struct str bytes = str_sub(*rest, sizeof(h), h.stored);
    *rest = str_sub(*rest, sizeof(h) + h.stored, rest->n);
    *asked = h.sum;
    if (h.raw == 0)
        return store_has(s, &h.sum) ? 2 : 3;
    return put(s, &h, bytes, e) < 0 ? -1 : 1;
}
