/* SPDX-License-Identifier: MIT */
/* gzip: see zip_gz.h. */
#include "archive/zip_gz.h"

#include "base/limits.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <zlib.h>

enum { BLOCK = 64 << 10, GZIP = 16 /* to windowBits: zlib.h */ };

struct gunzip {
    gunzip_read_fn *read;
    void *arg;
    z_stream z;
    bool between; /* after a member, maybe before another */
    bool damaged; /* an error after the bytes before it were returned */
    uint64_t unpacked;
    unsigned char in[BLOCK];
};

struct gunzip *gunzip_new(gunzip_read_fn *read, void *arg, struct err *e)
{
    struct gunzip *g = xnew(struct gunzip);
    g->read = read;
    g->arg = arg;
    if (inflateInit2(&g->z, GZIP + MAX_WBITS) == Z_OK)
        return g;
    free(g);
    err_set(e, ERR_LIMIT, "cannot unpack: no memory");
    return NULL;
}

void gunzip_free(struct gunzip *g)
{
    if (!g)
        return;
    inflateEnd(&g->z);
    free(g);
}

/* Returns 1 if there are packed bytes, 0 at the end, -1 and sets *e. */
static int refill(struct gunzip *g, struct err *e)
{
    if (g->z.avail_in)
        return 1;
    ssize_t n = g->read(g->arg, g->in, BLOCK, e);
    if (n < 0)
        return -1;
    g->z.next_in = g->in;
    g->z.avail_in = (unsigned)n;
    return n > 0;
}

/* Unpacks what there is. */
static void step(struct gunzip *g)
{
    if (g->between && *g->z.next_in == 0) {
        g->z.next_in++;
        g->z.avail_in--;
        return;
    }
    if (g->between)
        inflateReset(&g->z);
    int rc = inflate(&g->z, Z_NO_FLUSH);
    g->between = rc == Z_STREAM_END;
    g->damaged = rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR;
}

ssize_t gunzip_read(struct gunzip *g, void *p, size_t n, struct err *e)
{
    unsigned room = n < 1u << 30 ? (unsigned)n : 1u << 30;
    g->z.next_out = p;
    g->z.avail_out = room;
    while (room && g->z.avail_out == room && !g->damaged) {
        int more = refill(g, e);
        if (more == 0 && g->between)
            return 0;
        if (more < 0)
            return -1;
        step(g); /* zlib may still have output, without more packed bytes */
        if (more == 0 && g->z.avail_out == room && !g->damaged)
            return err_set(e, ERR_INVALID, "the gzip data is cut off");
    }
    if (g->damaged && g->z.avail_out == room)
        return err_set(e, ERR_INVALID, "the gzip data is damaged");
    g->unpacked += room - g->z.avail_out;
    if (g->unpacked >> 20 >= LIMIT_ZIP_TOTAL_MIB)
        return err_set(e, ERR_LIMIT, "the gzip data unpacks to more than %d MiB",
                       LIMIT_ZIP_TOTAL_MIB);
    return (ssize_t)(room - g->z.avail_out);
}

/* ---- writing ---- */

struct gzip {
    gzip_put_fn *put;
    void *arg;
    z_stream z;
    unsigned char out[BLOCK];
};

struct gzip *gzip_new(gzip_put_fn *put, void *arg, struct err *e)
{
    struct gzip *g = xnew(struct gzip);
    g->put = put;
    g->arg = arg;
    if (deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP + MAX_WBITS, 9,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return g;
    free(g);
    err_set(e, ERR_LIMIT, "cannot compress: no memory");
    return NULL;
}

void gzip_free(struct gzip *g)
{
    if (!g)
        return;
    deflateEnd(&g->z);
    free(g);
}

static int deflate_all(struct gzip *g, int flush, struct err *e)
{
    do {
        g->z.next_out = g->out;
        g->z.avail_out = BLOCK;
        deflate(&g->z, flush);
        struct str packed = str_n(g->out, BLOCK - g->z.avail_out);
        if (packed.n > 0 && g->put(g->arg, packed, e) < 0)
            return -1;
    } while (g->z.avail_out == 0);
    return 0;
}

int gzip_write(struct gzip *g, struct str plain, struct err *e)
{
    while (plain.n > 0) {
        struct str part = str_sub(plain, 0, 1 << 30);
        g->z.next_in = (unsigned char *)(uintptr_t)part.p;
        g->z.avail_in = (unsigned)part.n;
        if (deflate_all(g, Z_NO_FLUSH, e) < 0)
            return -1;
        plain = str_sub(plain, part.n, plain.n);
    }
    return 0;
}

int gzip_finish(struct gzip *g, struct err *e) { return deflate_all(g, Z_FINISH, e); }

int gzip_add(struct buf *out, struct str plain, struct err *e)
{
    z_stream z = {0};
    if (plain.n >= 1u << 30 ||
        deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP + MAX_WBITS, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(e, ERR_LIMIT, "cannot compress: no memory");
    size_t bound = deflateBound(&z, plain.n);
    char *p = buf_reserve(out, bound);
    int rc = Z_MEM_ERROR;
    if (p) {
        z.next_in = (unsigned char *)(uintptr_t)plain.p;
        z.avail_in = (unsigned)plain.n;
        z.next_out = (unsigned char *)p;
        z.avail_out = (unsigned)bound;
        rc = deflate(&z, Z_FINISH);
        buf_commit(out, rc == Z_STREAM_END ? bound - z.avail_out : 0);
    }
    deflateEnd(&z);
    return rc == Z_STREAM_END ? 0 : err_set(e, ERR_LIMIT, "cannot compress: no memory");
}
