/* SPDX-License-Identifier: MIT */
/*
 * An entry is a byte of type and flags, a byte for the gap, and numbers of seven bits a
 * byte, low ones first; negative ones are folded (zigzag).
 */
#include "checkpoint/manifest.h"

enum { TYPE = 7, RACY = 8, SHARED = 16, XATTRS = 32, KIND = 6 };

const char *gap_words(enum gap g)
{
    static const char *const words[] = {
        [GAP_NONE] = "it is whole",
        [GAP_UNREADABLE] = "it may not be read",
        [GAP_CHANGING] = "it was written while it was read",
        [GAP_LARGE] = "it is larger than the limit",
        [GAP_MOUNT] = "another file system is mounted there",
        [GAP_DEEP] = "it is too many folders deep",
        [GAP_FAILED] = "the file system reported an error",
    };
    return g <= GAP_FAILED ? words[g] : words[GAP_FAILED];
}

const char *entry_type_name(enum entry_type t)
{
    static const char *const names[] = {
        [ENTRY_FILE] = "file",    [ENTRY_FOLDER] = "folder", [ENTRY_LINK] = "link",
        [ENTRY_FIFO] = "fifo",    [ENTRY_SOCKET] = "socket", [ENTRY_CHAR] = "device",
        [ENTRY_BLOCK] = "device",
    };
    return t >= ENTRY_FILE && t <= ENTRY_BLOCK ? names[t] : "unknown";
}

/* ---- numbers ---- */

static void put(struct buf *out, uint64_t v)
{
    uint8_t b[10];
    size_t n = 0;
    for (; v > 127; v >>= 7)
        b[n++] = (uint8_t)(v | 128);
    b[n++] = (uint8_t)v;
    buf_add(out, b, n);
}

static void put_str(struct buf *out, struct str s)
{
    put(out, s.n);
    buf_adds(out, s);
}

static void put_moment(struct buf *out, struct moment t)
{
    put(out, (uint64_t)t.s << 1 ^ (uint64_t)(t.s >> 63));
    put(out, t.ns);
}

static uint64_t get(struct str *s, bool *bad)
{
    uint64_t v = 0;
    const char *p = s->p, *end = p + s->n;
    for (unsigned i = 0; i < 64 && p < end; i += 7) {
        uint8_t c = (uint8_t)*p++;
        v |= (uint64_t)(c & 127) << i;
        if (c < 128) {
            *s = str_n(p, (size_t)(end - p));
            return v;
        }
    }
    *s = str_n(p, (size_t)(end - p));
    *bad = true;
    return 0;
}

static struct str get_str(struct str *s, bool *bad)
{
    uint64_t n = get(s, bad);
    struct str out = str_sub(*s, 0, n);
    if (out.n != n)
        *bad = true;
    *s = str_sub(*s, out.n, s->n);
    return out;
}

static struct moment get_moment(struct str *s, bool *bad)
{
    uint64_t v = get(s, bad);
    struct moment t = {.s = (int64_t)(v >> 1 ^ (0 - (v & 1)))};
    t.ns = (uint32_t)get(s, bad);
    return t;
}

/* ---- entries ---- */

static bool has_content(const struct file_node *x)
{
    return x->type == ENTRY_FILE || x->type == ENTRY_FOLDER;
}

void entry_write(struct buf *out, const struct file_node *x)
{
    unsigned flags = x->type | (x->racy ? RACY : 0) | (x->shared ? SHARED : 0) |
                     (x->xattrs.n ? XATTRS : 0) | x->content.kind << KIND;
    buf_addc(out, (char)flags);
    buf_addc(out, (char)x->gap);
    put_str(out, x->name);
    put(out, x->mode);
    put(out, x->uid);
    put(out, x->gid);
    put_moment(out, x->mtime);
    put_moment(out, x->ctime);
    put(out, x->ino);
    if (x->shared)
        put(out, x->dev);
    if (x->type == ENTRY_FILE)
        put(out, x->size);
    if (has_content(x) && x->content.kind != CONTENT_EMPTY)
        buf_add(out, &x->content.sum, SUM_SIZE);
    if (x->type == ENTRY_LINK)
        put_str(out, x->target);
    if (x->type == ENTRY_CHAR || x->type == ENTRY_BLOCK)
        put(out, x->device);
    if (x->xattrs.n)
        put_str(out, x->xattrs);
}

static bool name_is_good(struct str s)
{
    return s.n > 0 && s.n < 4096 && !memchr(s.p, '/', s.n) && !memchr(s.p, 0, s.n) &&
           !str_eq(s, STR(".")) && !str_eq(s, STR(".."));
}

int entry_read(struct str *rest, struct file_node *x, struct str *raw)
{
    struct str s = *rest;
    bool bad = false;
    *x = (struct file_node){0};
    if (s.n == 0)
        return 0;
    if (s.n < 2)
        return -1;
    unsigned flags = (uint8_t)s.p[0];
    x->type = flags & TYPE;
    x->racy = flags & RACY;
    x->shared = flags & SHARED;
    x->content.kind = flags >> KIND;
    x->gap = (uint8_t)s.p[1];
    s = str_sub(s, 2, s.n);
    x->name = get_str(&s, &bad);
    x->mode = (uint32_t)get(&s, &bad) & 07777;
    x->uid = (uint32_t)get(&s, &bad);
    x->gid = (uint32_t)get(&s, &bad);
    x->mtime = get_moment(&s, &bad);
    x->ctime = get_moment(&s, &bad);
    x->ino = get(&s, &bad);
    if (x->shared)
        x->dev = get(&s, &bad);
    if (x->type == ENTRY_FILE)
        x->size = get(&s, &bad);
    if (has_content(x) && x->content.kind != CONTENT_EMPTY) {
        if (s.n < SUM_SIZE)
            return -1;
        memcpy(&x->content.sum, s.p, SUM_SIZE);
        s = str_sub(s, SUM_SIZE, s.n);
    }
    if (x->type == ENTRY_LINK)
        x->target = get_str(&s, &bad);
    if (x->type == ENTRY_CHAR || x->type == ENTRY_BLOCK)
        x->device = get(&s, &bad);
    if (flags & XATTRS)
        x->xattrs = get_str(&s, &bad);
    if (bad || x->type == 0 || x->content.kind > CONTENT_LIST || x->gap > GAP_FAILED ||
        !name_is_good(x->name))
        return -1;
    if (raw)
        *raw = str_n(rest->p, rest->n - s.n);
    *rest = s;
    return 1;
}

unsigned entry_differs(const struct file_node *a, const struct file_node *b)
{
    unsigned d = 0;
    if (a->type != b->type)
        return DIFFERS_TYPE;
    if (a->type == ENTRY_FILE &&
        (a->size != b->size || !content_eq(&a->content, &b->content)))
        d |= DIFFERS_CONTENT;
    if (!str_eq(a->target, b->target) || a->device != b->device)
        d |= DIFFERS_CONTENT;
    if (a->mode != b->mode)
        d |= DIFFERS_MODE;
    if (a->uid != b->uid || a->gid != b->gid)
        d |= DIFFERS_OWNER;
    if (!moment_eq(a->mtime, b->mtime))
        d |= DIFFERS_TIME;
    if (!str_eq(a->xattrs, b->xattrs))
        d |= DIFFERS_XATTRS;
    return d;
}

/* ---- side by side ---- */

void merge_init(struct pairs_merge *m, struct str a, struct str b)
{
    *m = (struct pairs_merge){.a = a, .b = b};
    m->has_x = entry_read(&m->a, &m->x, NULL);
    m->has_y = entry_read(&m->b, &m->y, NULL);
}

static int order(struct str a, struct str b)
{
    int r = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return r ? r : (a.n > b.n) - (a.n < b.n);
}

int merge_next(struct pairs_merge *m, const struct file_node **x,
               const struct file_node **y, struct err *e)
{
    if (*x)
        m->has_x = entry_read(&m->a, &m->x, NULL);
    if (*y)
        m->has_y = entry_read(&m->b, &m->y, NULL);
    *x = *y = NULL;
    if (m->has_x < 0 || m->has_y < 0)
        return err_set(e, ERR_IO, "a folder in the store is damaged");
    if (!m->has_x && !m->has_y)
        return 0;
    int r = !m->has_x ? 1 : !m->has_y ? -1 : order(m->x.name, m->y.name);
    if (r <= 0)
        *x = &m->x;
    if (r >= 0)
        *y = &m->y;
    return 1;
}
