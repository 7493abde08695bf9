/* SPDX-License-Identifier: MIT */
/*
 * A list has, for each piece, its length (8 bytes, low byte first) with the highest bit
 * set for a hole, and the name of its content unless it is one.
 */
#include "checkpoint/content.h"

#include <errno.h>
#include <unistd.h>

enum { LENGTH = 8, AVERAGE_BITS = 20, LANES = 4, LANE = 4096 /* bytes */ };
#define HOLE (UINT64_C(1) << 63)

/* ---- lists ---- */

static void list_add(struct buf *list, uint64_t n, const struct content_sum *sum)
{
    uint8_t b[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        b[i] = (uint8_t)((sum ? n : n | HOLE) >> (8 * i));
    buf_add(list, b, sizeof(b));
    if (sum)
        buf_add(list, sum, sizeof(*sum));
}

/* Cuts the next piece off. Returns 1; 0 at the end; -1 if the list is damaged. */
static int list_next(struct str *list, uint64_t *n, bool *hole, struct content_sum *sum)
{
    if (list->n == 0)
        return 0;
    if (list->n < LENGTH)
        return -1;
    *n = 0;
    for (int i = 0; i < LENGTH; i++)
        *n |= (uint64_t)(uint8_t)list->p[i] << (8 * i);
    *hole = *n & HOLE;
    *n &= ~HOLE;
    *list = str_sub(*list, LENGTH, list->n);
    if (*hole)
        return 1;
    if (list->n < SUM_SIZE)
        return -1;
    memcpy(sum, list->p, SUM_SIZE);
    *list = str_sub(*list, SUM_SIZE, list->n);
    return 1;
}

/* ---- where to cut ---- */

struct gear {
    uint64_t of[256];
};

/* SplitMix64: any table will do that is always the same. */
static void gear_init(struct gear *g)
{
    uint64_t x = 0x6f642063686b7074;
    for (int i = 0; i < 256; i++) {
        uint64_t z = x += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        g->of[i] = z ^ z >> 31;
    }
}

static inline uint64_t roll(const struct gear *g, uint64_t h, char c)
{
    return (h << 1) + g->of[(uint8_t)c];
}

static inline bool cuts(uint64_t h) { return !(h >> (64 - AVERAGE_BITS)); }

/*
 * Rolls h over the next LANES * LANE bytes, if there is no cut in them. Only the last 64
 * bytes count in the hash, so that parts of them are rolled side by side, which takes
 * half as long as one byte after another.
 */
static bool roll_uncut(const struct gear *g, const char *p, uint64_t *h)
{
    uint64_t v[LANES] = {*h};
    for (int k = 1; k < LANES; k++)
        for (int i = -64; i < 0; i++)
            v[k] = roll(g, v[k], p[k * LANE + i]);
    for (int i = 0; i < LANE; i++) {
#pragma GCC unroll 4
        for (int k = 0; k < LANES; k++)
            v[k] = roll(g, v[k], p[k * LANE + i]);
        if (cuts(v[0]) || cuts(v[1]) || cuts(v[2]) || cuts(v[3]))
            return false;
    }
    *h = v[LANES - 1];
    return true;
}

/* How many of these bytes make the next piece. last: no more follow. */
static size_t cut(const struct gear *g, struct str s, bool last)
{
    uint64_t h = 0;
    size_t most = s.n < CONTENT_MOST ? s.n : CONTENT_MOST, i = CONTENT_LEAST;
    while (i + LANES * LANE <= most && roll_uncut(g, s.p + i, &h))
        i += LANES * LANE;
    for (; i < most; i++) {
        h = roll(g, h, s.p[i]);
        if (cuts(h))
            return i + 1;
    }
    return s.n >= CONTENT_MOST || last ? most : 0;
}

/* ---- in ---- */

static int put_piece(struct store *s, struct str bytes, bool keep, struct buf *list,
                     struct err *e)
{
    struct content_sum sum;
    if (!keep)
        sum_of(bytes, &sum);
    else if (store_put(s, bytes, &sum, e) < 0)
        return -1;
    list_add(list, bytes.n, &sum);
    return 0;
}

static int put_list(struct store *s, struct buf *list, bool keep, struct content_ref *out,
                    struct err *e)
{
    out->kind = CONTENT_LIST;
    if (buf_full(list))
        return err_set(e, ERR_LIMIT, "a file has too many pieces");
    if (keep)
        return store_put(s, buf_str(list), &out->sum, e);
    sum_of(buf_str(list), &out->sum);
    return 0;
}

/* Where bytes come from: a file, or a stream if that is not NULL. */
struct content_source {
    int fd;
    const struct content_stream *in;
};

static ssize_t source_read(const struct content_source *from, char *p, size_t n,
                           uint64_t at, struct err *e)
{
    if (from->in)
        return from->in->read(from->in->arg, p, n, e);
    ssize_t got;
    do {
        got = pread(from->fd, p, n, (off_t)at);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? err_sys(e, errno, "cannot read") : got;
}

/* Reads more of [at, end) after what is in space, up to the largest piece. */
static int fill(const struct content_source *from, uint64_t *at, uint64_t end,
                struct buf *space, struct err *e)
{
    while (space->n < CONTENT_MOST && *at < end) {
        size_t want = CONTENT_MOST - space->n;
        if (want > end - *at)
            want = (size_t)(end - *at);
        char *p = buf_reserve(space, want);
        ssize_t n = p ? source_read(from, p, want, *at, e)
                      : err_sys(e, ENOMEM, "cannot read");
        if (n <= 0)
            return n < 0 ? 2 : 1;
        buf_commit(space, (size_t)n);
        *at += (uint64_t)n;
    }
    return 0;
}

/* Puts the pieces of [at, end), which has no holes. */
static int put_range(struct store *s, const struct gear *g,
                     const struct content_source *from, uint64_t at, uint64_t end,
                     bool keep, struct buf *space, struct buf *list, struct err *e)
{
    buf_reset(space);
    for (;;) {
        int rc = fill(from, &at, end, space, e);
        if (rc != 0)
            return rc;
        if (space->n == 0)
            return 0;
        size_t n = cut(g, buf_str(space), at == end);
        if (put_piece(s, str_n(space->p, n), keep, list, e) < 0)
            return -1;
        buf_consume(space, n);
    }
}

/* After lseek: the file system does not tell where holes are. */
static bool knows_no_holes(void)
{
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

static int cannot_read(struct err *e)
{
    err_sys(e, errno, "cannot find the holes of the file");
    return 2;
}

static int put_pieces(struct store *s, int fd, uint64_t size, bool holes, bool keep,
                      struct buf *space, struct buf *list, struct err *e)
{
    const struct content_source file = {.fd = fd};
    struct gear g;
    uint64_t at = 0;
    gear_init(&g);
    while (at < size) {
        off_t data = holes ? lseek(fd, (off_t)at, SEEK_DATA) : (off_t)at;
        if (data < 0 && knows_no_holes())
            data = (off_t)at, holes = false;
        else if (data < 0 && errno != ENXIO) /* no data follows */
            return cannot_read(e);
        uint64_t from = data < 0 || (uint64_t)data > size ? size : (uint64_t)data;
        if (from > at)
            list_add(list, from - at, NULL);
        off_t end = holes && from < size ? lseek(fd, (off_t)from, SEEK_HOLE)
                                         : (off_t)size;
        if (end < 0 && errno != ENXIO && !knows_no_holes())
            return cannot_read(e);
        at = end < 0 || (uint64_t)end > size ? size : (uint64_t)end;
        int rc = from < at ? put_range(s, &g, &file, from, at, keep, space, list, e) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

int content_put_file(struct store *s, int fd, uint64_t size, bool holes, bool keep,
                     struct buf *space, struct content_ref *out, struct err *e)
{
    const struct content_source file = {.fd = fd};
    struct buf list = BUF_INIT(STORE_OBJECT_MAX);
    uint64_t at = 0;
    int rc;
    *out = (struct content_ref){CONTENT_EMPTY, {{0}}};
    if (size == 0)
        return 0;
    buf_reset(space);
    /* Blocks that are missing may be yet to be allocated, or compressed. */
    if (holes) {
        off_t hole = lseek(fd, 0, SEEK_HOLE);
        if (hole < 0 && errno != ENXIO && !knows_no_holes())
            return cannot_read(e);
        holes = hole >= 0 && (uint64_t)hole < size;
    }
    if (size > CONTENT_WHOLE || holes) {
        rc = put_pieces(s, fd, size, holes, keep, space, &list, e);
        if (rc == 0)
            rc = put_list(s, &list, keep, out, e);
    } else {
        rc = fill(&file, &at, size, space, e);
        out->kind = CONTENT_ONE;
        if (rc == 0 && !keep)
            sum_of(buf_str(space), &out->sum);
        else if (rc == 0)
            rc = store_put(s, buf_str(space), &out->sum, e);
    }
    buf_release(&list);
    return rc;
}

/* Cuts the next hole off. Returns -1 if it is not between `at` and the file's end. */
static int next_hole(struct str *holes, uint64_t at, uint64_t size, uint64_t *from,
                     uint64_t *n)
{
    struct str length = str_cut(holes, ' '), offset = str_cut(&length, '+');
    return str_to_u64(offset, from) < 0 || str_to_u64(length, n) < 0 || *from < at ||
                   *n == 0 || *from > size || *n > size - *from
               ? -1
               : 0;
}

/* Reads n zeroes. Returns as fill. */
static int pass_hole(const struct content_source *from, uint64_t n, struct buf *space,
                     struct err *e)
{
    for (uint64_t at = 0; at < n;) {
        buf_reset(space);
        int rc = fill(from, &at, n, space, e);
        if (rc != 0)
            return rc;
        if (space->n &&
            (space->p[0] || memcmp(space->p, space->p + 1, space->n - 1) != 0))
            return err_set(e, ERR_INVALID, "a hole of the file has data");
    }
    return 0;
}

static int put_parts(struct store *s, const struct content_source *from,
                     struct buf *space, struct buf *list, struct err *e)
{
    struct str holes = from->in->holes;
    struct gear g;
    gear_init(&g);
    for (uint64_t at = 0, size = from->in->size; at < size;) {
        uint64_t hole = size, n = 0;
        if (holes.n && next_hole(&holes, at, size, &hole, &n) < 0)
            return err_set(e, ERR_INVALID, "the holes of the file are damaged");
        int rc = hole > at ? put_range(s, &g, from, at, hole, true, space, list, e) : 0;
        if (rc == 0)
            rc = pass_hole(from, n, space, e);
        if (rc != 0)
            return rc;
        if (n)
            list_add(list, n, NULL);
        at = hole + n;
    }
    return 0;
}

int content_put_stream(struct store *s, const struct content_stream *in,
                       struct buf *space, struct content_ref *out, struct err *e)
{
    const struct content_source from = {.in = in};
    struct buf list = BUF_INIT(STORE_OBJECT_MAX);
    uint64_t at = 0;
    int rc = 0;
    *out = (struct content_ref){CONTENT_EMPTY, {{0}}};
    buf_reset(space);
    if (in->size > CONTENT_WHOLE || in->holes.n) {
        rc = put_parts(s, &from, space, &list, e);
        if (rc == 0)
            rc = put_list(s, &list, true, out, e);
    } else if (in->size) {
        rc = fill(&from, &at, in->size, space, e);
        out->kind = CONTENT_ONE;
        if (rc == 0)
            rc = store_put(s, buf_str(space), &out->sum, e);
    }
    buf_release(&list);
    return rc == 1 ? err_set(e, ERR_INVALID, "the file ends early") : rc ? -1 : 0;
}

int content_put(struct store *s, struct str bytes, struct content_ref *out, struct err *e)
{
    struct buf list = BUF_INIT(STORE_OBJECT_MAX);
    struct gear g;
    int rc = 0;
    *out = (struct content_ref){bytes.n ? CONTENT_ONE : CONTENT_EMPTY, {{0}}};
    if (bytes.n <= CONTENT_WHOLE)
        return bytes.n ? store_put(s, bytes, &out->sum, e) : 0;
    gear_init(&g);
    while (rc == 0 && bytes.n > 0) {
        size_t n = cut(&g, bytes, true);
        rc = put_piece(s, str_sub(bytes, 0, n), true, &list, e);
        bytes = str_sub(bytes, n, bytes.n);
    }
    if (rc == 0)
        rc = put_list(s, &list, true, out, e);
    buf_release(&list);
    return rc;
}

/* ---- out ---- */

int content_each(struct store *s, const struct content_ref *c, content_fn *fn, void *arg,
                 struct err *e)
{
    struct buf list = BUF_INIT(STORE_OBJECT_MAX), piece = store_space(s);
    struct content_sum sum = c->sum;
    uint64_t n;
    bool hole = false;
    int rc = 0, next = 0;
    if (c->kind == CONTENT_ONE) {
        rc = store_get(s, &sum, &piece, e);
        if (rc == 0)
            rc = fn(arg, buf_str(&piece), e);
    } else if (c->kind == CONTENT_LIST) {
        rc = store_get(s, &sum, &list, e);
    }
    struct str rest = buf_str(&list);
    while (rc == 0 && (next = list_next(&rest, &n, &hole, &sum)) > 0) {
        buf_reset(&piece);
        if (!hole)
            rc = store_get(s, &sum, &piece, e);
        if (rc == 0)
            rc = fn(arg, hole ? str_n(NULL, n) : buf_str(&piece), e);
    }
    if (next < 0)
        rc = err_set(e, ERR_IO, "a list of pieces in the store is damaged");
    store_space_back(s, &piece);
    buf_release(&list);
    return rc;
}

static int append(void *arg, struct str piece, struct err *e)
{
    struct buf *out = arg;
    char *p = buf_reserve(out, piece.n);
    if (!p)
        return err_set(e, ERR_LIMIT, "a content is larger than %zu bytes", out->max);
    if (piece.p)
        memcpy(p, piece.p, piece.n);
    else
        memset(p, 0, piece.n);
    buf_commit(out, piece.n);
    return 0;
}

int content_get(struct store *s, const struct content_ref *c, struct buf *out,
                struct err *e)
{
    if (c->kind == CONTENT_ONE)
        return store_get(s, &c->sum, out, e);
    return content_each(s, c, append, out, e);
}

int content_names(struct store *s, const struct content_ref *c,
                  int (*fn)(void *arg, const struct content_sum *sum, struct err *e),
                  void *arg, struct err *e)
{
    struct buf list = BUF_INIT(STORE_OBJECT_MAX);
    struct content_sum sum = c->sum;
    uint64_t n;
    bool hole = false;
    int rc = c->kind == CONTENT_EMPTY ? 0 : fn(arg, &sum, e), next = 0;
    if (rc == 0 && c->kind == CONTENT_LIST)
        rc = store_get(s, &sum, &list, e);
    struct str rest = buf_str(&list);
    while (rc == 0 && (next = list_next(&rest, &n, &hole, &sum)) > 0)
        rc = hole ? 0 : fn(arg, &sum, e);
    if (next < 0)
        rc = err_set(e, ERR_IO, "a list of pieces in the store is damaged");
    buf_release(&list);
    return rc;
}

int content_holes(struct store *s, const struct content_ref *c, struct buf *out,
                  struct err *e)
{
    struct buf list = BUF_INIT(STORE_OBJECT_MAX);
    struct content_sum sum;
    uint64_t n, at = 0;
    bool hole = false;
    int rc = c->kind == CONTENT_LIST ? store_get(s, &c->sum, &list, e) : 0;
    struct str rest = buf_str(&list);
    for (; rc == 0 && list_next(&rest, &n, &hole, &sum) > 0; at += n)
        if (hole)
            buf_addf(out, "%s%llu+%llu", out->n ? " " : "", (unsigned long long)at,
                     (unsigned long long)n);
    buf_release(&list);
    return rc;
}

static int is_there(void *arg, const struct content_sum *sum, struct err *e)
{
    return store_has(arg, sum) ? 0 : err_set(e, ERR_NOTFOUND, "missing");
}

bool content_is_there(struct store *s, const struct content_ref *c)
{
    struct err e = ERR_INIT;
    if (c->kind == CONTENT_ONE)
        return store_has(s, &c->sum);
    return content_names(s, c, is_there, s, &e) == 0;
}
