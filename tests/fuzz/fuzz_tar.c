/* SPDX-License-Identifier: MIT */
/*
 * Tar archives and gzip files of strangers: whatever the bytes are, the readers end,
 * keep to their limits, and say the same when the bytes come one by one. What an
 * entry says of itself can be written, and is then read as it was.
 */
#include "archive/tar_read.h"
#include "archive/tar_write.h"
#include "archive/zip_gz.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { TOTAL = 1 << 20 };

struct memory {
    struct str bytes;
    size_t at, step;
};

static ssize_t memory_read(void *arg, void *p, size_t n, struct err *e)
{
    struct memory *m = arg;
    struct str s = str_sub(m->bytes, m->at, n < m->step ? n : m->step);
    (void)e;
    if (s.n)
        memcpy(p, s.p, s.n);
    m->at += s.n;
    return (ssize_t)s.n;
}

static int memory_skip(void *arg, uint64_t n, struct err *e)
{
    struct memory *m = arg;
    (void)e;
    m->at = n > m->bytes.n - m->at ? m->bytes.n : m->at + (size_t)n;
    return 0;
}

static bool same(const struct tar_entry *a, const struct tar_entry *b)
{
    return str_eq(a->link, b->link) && a->size == b->size && a->mode == b->mode &&
           a->uid == b->uid && a->gid == b->gid && a->mtime == b->mtime &&
           (str_eq(a->name, b->name) ||
            (a->type == TAR_FOLDER && str_starts(b->name, a->name)));
}

/* Numbers above 2^63 cannot be told of in any header. */
static void check_written(const struct tar_entry *x)
{
    struct buf b = BUF_INIT(64 << 10);
    struct tar_entry y;
    struct err e = ERR_INIT;
    if (x->uid > INT64_MAX || x->gid > INT64_MAX || x->type == TAR_OTHER ||
        (x->type == TAR_FILE && str_ends(x->name, STR("/"))) || x->mtime == INT64_MIN)
        return;
    BUG_ON(tar_add_header(&b, x, &e) < 0);
    struct memory m = {.bytes = buf_str(&b), .step = 4096};
    struct tar_source source = {memory_read, NULL, &m};
    struct tar_reader *r = tar_reader_new(&source);
    BUG_ON(tar_next(r, &y, &e) != 1 || !same(x, &y) || y.type != x->type);
    tar_reader_free(r);
    buf_release(&b);
}

static void read_all(struct str bytes, size_t step, bool skip, struct buf *out)
{
    struct memory m = {.bytes = bytes, .step = step};
    struct tar_source source = {memory_read, skip ? memory_skip : NULL, &m};
    struct tar_reader *r = tar_reader_new(&source);
    struct tar_entry x;
    struct err e = ERR_INIT;
    uint64_t last = 0;
    int rc;
    while ((rc = tar_next(r, &x, &e)) > 0) {
        BUG_ON(!x.name.n || x.name.n > TAR_NAME_MAX || memchr(x.name.p, 0, x.name.n) ||
               x.link.n > TAR_NAME_MAX || x.offset <= last);
        last = x.offset;
        buf_addf(out, "%s>%s %d %llu\n", x.name.p, x.link.p, x.type,
                 (unsigned long long)x.size);
        if (step > 1)
            check_written(&x);
        char block[300];
        uint64_t size = 0;
        ssize_t n = 0;
        while (!skip && !x.sparse && size < TOTAL &&
               (n = tar_read(r, block, sizeof(block), &e)) > 0)
            size += (uint64_t)n;
        BUG_ON(size > x.size);
    }
    buf_addf(out, "%s", rc < 0 ? e.text : "end");
    tar_reader_free(r);
}

static void unpack(struct str bytes, size_t step, struct buf *out)
{
    struct memory m = {.bytes = bytes, .step = step};
    struct err e = ERR_INIT;
    struct gunzip *g = gunzip_new(memory_read, &m, &e);
    char block[4096];
    ssize_t n = 0;
    while (out->n < TOTAL && (n = gunzip_read(g, block, sizeof(block), &e)) > 0)
        buf_add(out, block, (size_t)n);
    buf_addf(out, "%s", n < 0 ? e.text : "");
    gunzip_free(g);
}

/* Headers whose sums are right, so that what they say is looked at. */
static void fix_sums(uint8_t *p, size_t n)
{
    for (; n >= 512; p += 512, n -= 512) {
        unsigned sum = 0;
        if (memcmp(p + 257, "ustar", 5) != 0)
            continue;
        memset(p + 148, ' ', 8);
        for (int i = 0; i < 512; i++)
            sum += p[i];
        snprintf((char *)p + 148, 8, "%06o", sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf a = BUF_INIT(16 << 20), b = BUF_INIT(16 << 20);
    uint8_t *copy = xcalloc(1, n + 1);
    if (n)
        memcpy(copy, data, n);
    fix_sums(copy, n);
    struct str bytes = str_n(copy, n);
    read_all(bytes, 4096, false, &a);
    read_all(bytes, 1, false, &b);
    BUG_ON(!str_eq(buf_str(&a), buf_str(&b)));
    buf_reset(&b);
    read_all(bytes, 4096, true, &b);
    BUG_ON(!str_eq(buf_str(&a), buf_str(&b)));
    if (n > 2 && data[0] == 0x1f && data[1] == 0x8b) {
        buf_reset(&a);
        buf_reset(&b);
        unpack(bytes, 4096, &a);
        unpack(bytes, 1, &b);
        BUG_ON(!str_eq(buf_str(&a), buf_str(&b)) && a.n < TOTAL);
    }
    buf_release(&a);
    buf_release(&b);
    free(copy);
    return 0;
}
