/* SPDX-License-Identifier: MIT */
/*
 * The writing side of zip.h.
 *
 * Headers and compressed bytes are collected in `out` and written in blocks;
 * stored bytes are written directly. Sizes are 8 bytes wide in an entry that
 * announces 2 GiB or more: its local header, which is written before the bytes,
 * must state how wide the sizes after them are (4.3.9.2).
 */
#include "archive/zip.h"
#include "archive/zip_own.h"
#include "base/buf.h"
#include "base/crc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
    BLOCK = 64 << 10,
    KEPT_MAX = 64 << 20,   /* of the central directory, without a file for it */
    KEPT_SPILL = 256 << 10 /* with one */
};

struct zip_writer {
    zip_put_fn *put;
    void *arg;
    struct buf out;
    struct buf kept; /* the end of the central directory; the beginning is in spill */
    int spill;
    uint64_t spilled, offset, entries;
    z_stream z;
    bool z_ready;

    /* the entry that is open */
    struct zip_meta meta;
    struct buf name;
    uint64_t start, size, packed;
    uint32_t crc;
    bool open, wide;
};

struct zip_writer *zip_writer_new(zip_put_fn *put, void *arg, int spill)
{
    struct zip_writer *w = xnew(struct zip_writer);
    w->put = put;
    w->arg = arg;
    w->spill = spill;
    buf_init(&w->out, 2 * BLOCK);
    buf_init(&w->kept, KEPT_MAX);
    buf_init(&w->name, ZIP_NAME_MAX);
    return w;
}

void zip_writer_free(struct zip_writer *w)
{
    if (!w)
        return;
    if (w->z_ready)
        deflateEnd(&w->z);
    buf_release(&w->out);
    buf_release(&w->kept);
    buf_release(&w->name);
    free(w);
}

/* ---- bytes ---- */

static int flush(struct zip_writer *w, struct err *e)
{
    if (w->out.n && w->put(w->arg, buf_str(&w->out), e) < 0)
        return -1;
    buf_reset(&w->out);
    return 0;
}

static int put(struct zip_writer *w, struct str bytes, struct err *e)
{
    w->offset += bytes.n;
    if (w->out.n + bytes.n <= BLOCK)
        return buf_adds(&w->out, bytes) < 0 ? err_set(e, ERR_LIMIT, "out of memory") : 0;
    if (flush(w, e) < 0)
        return -1;
    if (bytes.n >= BLOCK / 4)
        return w->put(w->arg, bytes, e);
    return buf_adds(&w->out, bytes) < 0 ? err_set(e, ERR_LIMIT, "out of memory") : 0;
}

/* A record under construction. Records are small and their sizes ours. */
struct zip_record {
    uint8_t bytes[128];
    size_t n;
};

static void add(struct zip_record *r, uint64_t value, int width)
{
    BUG_ON(r->n + (size_t)width > sizeof(r->bytes));
    for (int i = 0; i < width; i++)
        r->bytes[r->n++] = (uint8_t)(value >> 8 * i);
}

static struct str str_of_record(const struct zip_record *r)
{
    return str_n(r->bytes, r->n);
}

static uint32_t in_32(uint64_t v) { return v >= ZIP_IN_32 ? ZIP_IN_32 : (uint32_t)v; }

/* 4.4.6: from 1980 on, two seconds apart; in UTC, as the exact time is in UT. */
static uint32_t dos_time(int64_t mtime)
{
    time_t t = (time_t)mtime;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || tm.tm_year < 80)
        return 1 << 21 | 1 << 16;
    if (tm.tm_year > 80 + 127)
        return 0xff9fbf7d;
    return (uint32_t)(tm.tm_year - 80) << 25 | (uint32_t)(tm.tm_mon + 1) << 21 |
           (uint32_t)tm.tm_mday << 16 | (uint32_t)tm.tm_hour << 11 |
           (uint32_t)tm.tm_min << 5 | (uint32_t)tm.tm_sec / 2;
}

/* The "UT" field: a 32-bit time, left out where it does not fit. */
static bool has_ut(const struct zip_writer *w)
{
    return w->meta.mtime >= 0 && w->meta.mtime <= INT32_MAX;
}

static void add_ut(const struct zip_writer *w, struct zip_record *r)
{
    if (!has_ut(w))
        return;
    add(r, ZIP_EXTRA_TIME, 2);
    add(r, 5, 2);
    add(r, 1, 1); /* the time of modification follows */
    add(r, (uint64_t)w->meta.mtime, 4);
}

static bool is_folder(const struct zip_writer *w)
{
    return str_ends(buf_str(&w->name), STR("/"));
}

static unsigned method_of(const struct zip_writer *w)
{
    return w->meta.level > 0 ? ZIP_DEFLATED : ZIP_STORED;
}

/* Version needed, flags, method, time: the same in both headers. */
static void add_common(const struct zip_writer *w, struct zip_record *r)
{
    unsigned flags = utf8_valid(buf_str(&w->name)) ? ZIP_FLAG_UTF8 : 0;
    if (!is_folder(w))
        flags |= ZIP_FLAG_DESCRIPTOR;
    add(r, w->wide || w->start >= ZIP_IN_32 ? 45 : 20, 2);
    add(r, flags, 2);
    add(r, method_of(w), 2);
    add(r, dos_time(w->meta.mtime), 4);
}

/* ---- entries ---- */

static int begin_deflate(struct zip_writer *w, struct err *e)
{
    int rc;
    if (!w->z_ready) {
        rc = deflateInit2(&w->z, w->meta.level, Z_DEFLATED, -MAX_WBITS, 8,
                          Z_DEFAULT_STRATEGY);
        w->z_ready = rc == Z_OK;
    } else {
        rc = deflateReset(&w->z);
        if (rc == Z_OK)
            rc = deflateParams(&w->z, w->meta.level, Z_DEFAULT_STRATEGY);
    }
    return rc == Z_OK ? 0 : err_set(e, ERR_LIMIT, "cannot begin to compress: no memory");
}

int zip_begin(struct zip_writer *w, const struct zip_meta *m, struct err *e)
{
    BUG_ON(w->open);
    buf_reset(&w->name);
    if (!m->name.n || buf_adds(&w->name, m->name) < 0)
        return err_set(e, ERR_LIMIT, "cannot add a name of %zu bytes: at most %d fit",
                       m->name.n, ZIP_NAME_MAX);
    w->meta = *m;
    if (is_folder(w))
        w->meta.level = 0;
    w->open = true;
    w->start = w->offset;
    w->size = w->packed = 0;
    w->crc = 0;
    w->wide = m->size >= 1u << 31;

    struct zip_record r = {.n = 0};
    add(&r, ZIP_LOCAL, 4);
    add_common(w, &r);
    add(&r, 0, 4); /* the checksum follows */
    add(&r, w->wide ? ZIP_IN_32 : 0, 4);
    add(&r, w->wide ? ZIP_IN_32 : 0, 4);
    add(&r, w->name.n, 2);
    add(&r, (w->wide ? 20 : 0) + (has_ut(w) ? 9 : 0), 2);
    if (put(w, str_of_record(&r), e) < 0 || put(w, buf_str(&w->name), e) < 0)
        return -1;
    r.n = 0;
    if (w->wide) {
        add(&r, ZIP_EXTRA_64, 2);
        add(&r, 16, 2);
        add(&r, 0, 8);
        add(&r, 0, 8);
    }
    add_ut(w, &r);
    if (put(w, str_of_record(&r), e) < 0)
        return -1;
    return w->meta.level > 0 ? begin_deflate(w, e) : 0;
}

static int deflate_some(struct zip_writer *w, struct str bytes, int how, struct err *e)
{
    unsigned char block[16 << 10];
    w->z.next_in = (unsigned char *)(uintptr_t)bytes.p;
    w->z.avail_in = (unsigned)bytes.n;
    do {
        w->z.next_out = block;
        w->z.avail_out = sizeof(block);
        BUG_ON(deflate(&w->z, how) == Z_STREAM_ERROR);
        size_t n = sizeof(block) - w->z.avail_out;
        w->packed += n;
        if (put(w, str_n(block, n), e) < 0)
            return -1;
    } while (w->z.avail_out == 0);
    return 0;
}

int zip_add(struct zip_writer *w, struct str bytes, struct err *e)
{
    BUG_ON(!w->open || is_folder(w));
    while (bytes.n > 0) {
        struct str some = str_sub(bytes, 0, 1 << 30); /* zlib counts in 32 bits */
        bytes = str_sub(bytes, some.n, bytes.n);
        w->size += some.n;
        w->crc = crc_add(w->crc, some);
        if (w->meta.level > 0) {
            if (deflate_some(w, some, Z_NO_FLUSH, e) < 0)
                return -1;
        } else {
            w->packed += some.n;
            if (put(w, some, e) < 0)
                return -1;
        }
    }
    return 0;
}

/* 4.3.12, kept until the end. */
static int keep_record(struct zip_writer *w, struct err *e)
{
    bool far = w->start >= ZIP_IN_32;
    struct zip_record r = {.n = 0}, x = {.n = 0};
    if (w->wide || far) {
        add(&x, ZIP_EXTRA_64, 2);
        add(&x, (w->wide ? 16 : 0) + (far ? 8 : 0), 2);
        if (w->wide) {
            add(&x, w->size, 8);
            add(&x, w->packed, 8);
        }
        if (far)
            add(&x, w->start, 8);
    }
    add_ut(w, &x);
    add(&r, ZIP_CENTRAL, 4);
    add(&r, ZIP_UNIX << 8 | 45, 2);
    add_common(w, &r);
    add(&r, w->crc, 4);
    add(&r, w->wide ? ZIP_IN_32 : w->packed, 4);
    add(&r, w->wide ? ZIP_IN_32 : w->size, 4);
    add(&r, w->name.n, 2);
    add(&r, x.n, 2);
    add(&r, 0, 2); /* comment */
    add(&r, 0, 2); /* disk */
    add(&r, 0, 2); /* binary or text: unknown */
    add(&r, (uint64_t)w->meta.mode << 16 | (is_folder(w) ? 0x10 : 0), 4);
    add(&r, in_32(w->start), 4);
    if (buf_adds(&w->kept, str_of_record(&r)) < 0 ||
        buf_adds(&w->kept, buf_str(&w->name)) < 0 ||
        buf_adds(&w->kept, str_of_record(&x)) < 0)
        return err_set(e, ERR_LIMIT, "too many files for one archive: %llu",
                       (unsigned long long)w->entries);
    w->entries++;
    return 0;
}

/* Moves the kept records into the spill file. */
static int spill(struct zip_writer *w, struct err *e)
{
    size_t at = 0;
    while (at < w->kept.n) {
        ssize_t n = pwrite(w->spill, w->kept.p + at, w->kept.n - at, (off_t)w->spilled);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "cannot keep the archive's directory aside");
        at += (size_t)n;
        w->spilled += (size_t)n;
    }
    buf_reset(&w->kept);
    return 0;
}

int zip_end(struct zip_writer *w, struct err *e)
{
    BUG_ON(!w->open);
    w->open = false;
    if (w->meta.level > 0 && deflate_some(w, STR(""), Z_FINISH, e) < 0)
        return -1;
    if (!w->wide && (w->size >= ZIP_IN_32 || w->packed >= ZIP_IN_32))
        return err_set(e, ERR_GONE, "%.200s grew past 4 GiB while it was read",
                       buf_z(&w->name));
    if (!is_folder(w)) {
        struct zip_record r = {.n = 0};
        int width = w->wide ? 8 : 4;
        add(&r, ZIP_DESCRIPTOR, 4);
        add(&r, w->crc, 4);
        add(&r, w->packed, width);
        add(&r, w->size, width);
        if (put(w, str_of_record(&r), e) < 0)
            return -1;
    }
    if (keep_record(w, e) < 0)
        return -1;
    return w->spill >= 0 && w->kept.n > KEPT_SPILL ? spill(w, e) : 0;
}

/* ---- the end ---- */

static int put_spilled(struct zip_writer *w, struct err *e)
{
    char block[16 << 10];
    for (uint64_t at = 0; at < w->spilled;) {
        ssize_t n = pread(w->spill, block, sizeof(block), (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(e, n < 0 ? errno : EIO, "cannot read the archive's directory");
        if ((uint64_t)n > w->spilled - at)
            n = (ssize_t)(w->spilled - at);
        if (put(w, str_n(block, (size_t)n), e) < 0)
            return -1;
        at += (uint64_t)n;
    }
    return 0;
}

/* 4.3.14, 4.3.15 */
static int put_end64(struct zip_writer *w, uint64_t at, uint64_t size, struct err *e)
{
    uint64_t here = w->offset;
    struct zip_record r = {.n = 0};
    add(&r, ZIP_END64, 4);
    add(&r, ZIP_END64_SIZE - 12, 8);
    add(&r, ZIP_UNIX << 8 | 45, 2);
    add(&r, 45, 2);
    add(&r, 0, 4);
    add(&r, 0, 4);
    add(&r, w->entries, 8);
    add(&r, w->entries, 8);
    add(&r, size, 8);
    add(&r, at, 8);
    add(&r, ZIP_LOCATOR64, 4);
    add(&r, 0, 4);
    add(&r, here, 8);
    add(&r, 1, 4);
    return put(w, str_of_record(&r), e);
}

int zip_finish(struct zip_writer *w, struct err *e)
{
    BUG_ON(w->open);
    uint64_t at = w->offset, size = w->spilled + w->kept.n;
    if (put_spilled(w, e) < 0 || put(w, buf_str(&w->kept), e) < 0)
        return -1;
    bool many = w->entries >= ZIP_IN_16;
    if ((many || at >= ZIP_IN_32 || size >= ZIP_IN_32) && put_end64(w, at, size, e) < 0)
        return -1;
    struct zip_record r = {.n = 0};
    add(&r, ZIP_END, 4);
    add(&r, 0, 4); /* disks */
    add(&r, many ? ZIP_IN_16 : w->entries, 2);
    add(&r, many ? ZIP_IN_16 : w->entries, 2);
    add(&r, in_32(size), 4);
    add(&r, in_32(at), 4);
    add(&r, 0, 2); /* comment */
    return put(w, str_of_record(&r), e) < 0 ? -1 : flush(w, e);
}
