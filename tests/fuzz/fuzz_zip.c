/* SPDX-License-Identifier: MIT */
/*
 * Zip archives of strangers: whatever the bytes are, the reader ends, keeps to
 * its limits, and gives the same in reads of one byte as in large ones. And of
 * the input as a file: packed and unpacked it is what it was.
 */
#include "archive/zip.h"
#include "base/buf.h"
#include "base/log.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { TOTAL = 1 << 20 };

static int file_of(struct str bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    BUG_ON(fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n);
    return fd;
}

/* One entry to out. -1: refused. */
static int read_entry(struct zip_reader *r, const struct zip_entry *x, size_t step,
                      struct buf *out, struct err *e)
{
    char block[5000];
    ssize_t n;
    uint64_t size = 0;
    if (zip_read_begin(r, e) < 0)
        return -1;
    while ((n = zip_read(r, block, step, e)) > 0) {
        BUG_ON((size_t)n > step);
        size += (uint64_t)n;
        BUG_ON(size > x->size || size > TOTAL);
        BUG_ON(buf_add(out, block, (size_t)n) < 0);
    }
    BUG_ON(n == 0 && size != x->size);
    return (int)n;
}

/* Names, contents and errors of all. */
static void read_all(int fd, size_t step, struct buf *out)
{
    struct zip_limits limits = {.entries = 1000, .total = TOTAL};
    struct zip_entry x;
    struct err e = ERR_INIT;
    struct zip_reader *r = zip_open(fd, &limits, &e);
    BUG_ON(!r && !e.text[0]);
    uint64_t seen = 0;
    while (r && zip_next(r, &x, &e) > 0) {
        seen++;
        BUG_ON(seen > zip_count(r) || seen > 1000);
        BUG_ON(!x.name.n || x.name.n > ZIP_NAME_MAX || memchr(x.name.p, 0, x.name.n));
        buf_addf(out, "%s %d\n", x.name.p, read_entry(r, &x, step, out, &e));
    }
    buf_addf(out, "%s\n", e.text);
    zip_close(r);
}

static void check_reader(struct str bytes)
{
    struct buf large = BUF_INIT(16 << 20), small = BUF_INIT(16 << 20);
    int fd = file_of(bytes);
    read_all(fd, 5000, &large);
    read_all(fd, 1, &small);
    /* What came before an error may differ by what was in the same read. */
    if (!str_eq(buf_str(&large), buf_str(&small)))
        BUG_ON(str_find(buf_str(&small), STR(" -1\n")) < 0);
    close(fd);
    buf_release(&large);
    buf_release(&small);
}

static int put(void *arg, struct str bytes, struct err *e)
{
    (void)e;
    return buf_adds(arg, bytes);
}

static void check_writer(struct str bytes)
{
    struct buf packed = BUF_INIT(64 << 20), got = BUF_INIT(64 << 20);
    struct zip_writer *w = zip_writer_new(put, &packed, -1);
    struct err e = ERR_INIT;
    int level = bytes.n ? (unsigned char)bytes.p[0] % 10 : 0;
    size_t cut = bytes.n > 1 ? (unsigned char)bytes.p[1] % bytes.n : 0;
    struct zip_meta m = {
        .name = STR("f"), .size = bytes.n % 2 ? 5ull << 30 : 0, .level = level};
    BUG_ON(zip_begin(w, &m, &e) < 0 || zip_add(w, str_sub(bytes, 0, cut), &e) < 0 ||
           zip_add(w, str_sub(bytes, cut, bytes.n), &e) < 0 || zip_end(w, &e) < 0 ||
           zip_finish(w, &e) < 0);
    zip_writer_free(w);
    int fd = file_of(buf_str(&packed));
    struct zip_entry x;
    struct zip_reader *r = zip_open(fd, NULL, &e);
    BUG_ON(!r || zip_next(r, &x, &e) != 1);
    if (bytes.n <= TOTAL)
        BUG_ON(read_entry(r, &x, 5000, &got, &e) < 0 || !str_eq(buf_str(&got), bytes));
    BUG_ON(zip_next(r, &x, &e) != 0);
    zip_close(r);
    close(fd);
    buf_release(&packed);
    buf_release(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    check_reader(str_n(data, n));
    check_writer(str_n(data, n));
    return 0;
}
