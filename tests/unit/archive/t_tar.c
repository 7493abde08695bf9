/* SPDX-License-Identifier: MIT */
/* Tar: what is written is read again; headers of all kinds; damage of every kind. */
#include "archive/tar_read.h"
#include "archive/tar_write.h"
#include "archive/zip_gz.h"
#include "t.h"

/* An archive in memory, given in pieces of `step` bytes. */
struct memory {
    struct str bytes;
    size_t at, step;
    uint64_t skipped;
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
    m->skipped += n;
    m->at = n > m->bytes.n - m->at ? m->bytes.n : m->at + n;
    return 0;
}

/* All entries as text; the last line is "end" or the error. */
static void list(struct str bytes, size_t step, bool skip, struct buf *out)
{
    struct memory m = {.bytes = bytes, .step = step};
    struct tar_source source = {memory_read, skip ? memory_skip : NULL, &m};
    struct tar_reader *r = tar_reader_new(&source);
    struct tar_entry x;
    struct err e = ERR_INIT;
    int rc;
    while ((rc = tar_next(r, &x, &e)) > 0) {
        buf_addf(out, "%s>%s %d %llu %o %llu:%llu %lld ", x.name.p, x.link.p, x.type,
                 (unsigned long long)x.size, x.mode, (unsigned long long)x.uid,
                 (unsigned long long)x.gid, (long long)x.mtime);
        char data[7];
        ssize_t n = 0;
        while (!skip && !x.sparse && (n = tar_read(r, data, sizeof(data), &e)) > 0)
            buf_addf(out, "%.*s", (int)n, data);
        buf_addf(out, "%s\n", n < 0 ? " !" : "");
        CHECK_INT(strlen(x.name.p), x.name.n);
    }
    buf_addf(out, "%s", rc < 0 ? e.text : "end");
    tar_reader_free(r);
}

static const char *listed(const struct buf *b)
{
    static struct buf out = BUF_INIT(1 << 20);
    buf_reset(&out);
    list(buf_str(b), 4096, false, &out);
    return buf_z(&out);
}

/* A header by hand; the sum is set. size: as it is in the field. */
static void add_raw(struct buf *b, char type, const char *name, const char *size,
                    const char *magic)
{
    uint8_t h[TAR_BLOCK] = {0};
    unsigned sum = 0;
    memcpy(h, name, strlen(name));
    memcpy(h + 100, "0000644", 7);
    memcpy(h + 124, size, strlen(size));
    memset(h + 148, ' ', 8);
    h[156] = (uint8_t)type;
    memcpy(h + 257, magic, 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
    CHECK_INT(buf_add(b, h, sizeof(h)), 0);
}

static void add_data(struct buf *b, struct str s)
{
    static const char zeroes[TAR_BLOCK];
    buf_adds(b, s);
    buf_add(b, zeroes, tar_padding(s.n));
}

/* A header about the next one. */
static void add_meta(struct buf *b, char type, struct str s)
{
    char size[16];
    snprintf(size, sizeof(size), "%011zo", s.n);
    add_raw(b, type, "meta", size,
            "ustar\0"
            "00");
    add_data(b, s);
}

TEST(written_is_read_again)
{
    struct buf b = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    struct tar_entry dir = {.name = STR("a"), .type = TAR_FOLDER, .mode = 01777};
    struct tar_entry file = {
        .name = STR("a/b"), .mode = 0640, .uid = 7, .gid = 8, .mtime = 9};
    struct tar_entry link = {
        .name = STR("a/c"), .link = STR("../x"), .type = TAR_SYMLINK};
    CHECK_INT(tar_add_header(&b, &dir, &e), 0);
    CHECK_INT(tar_add_file(&b, &file, STR("0123456789"), &e), 0);
    CHECK_INT(tar_add_header(&b, &link, &e), 0);
    CHECK_INT(tar_add_end(&b, &e), 0);
    CHECK_INT(b.n, 512 * 6);
    CHECK_STR(listed(&b), "a/> 5 0 1777 0:0 0 \n"
                          "a/b> 0 10 640 7:8 9 0123456789\n"
                          "a/c>../x 2 0 0 0:0 0 \nend");
    buf_release(&b);
}

TEST(long_names_and_large_numbers)
{
    struct buf b = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
    char part[121], deep[600];
    memset(part, 'p', 120);
    part[120] = 0;
    /* One that is cut at a slash, one that cannot be, one that is too long for that. */
    snprintf(deep, sizeof(deep), "%s/%s/%s", part, part, part);
    const char *names[] = {"%s/name", "%s", deep};
    for (int i = 0; i < 3; i++) {
        char name[700];
        snprintf(name, sizeof(name), i < 2 ? (i ? "%s" : "%s/name") : "%s",
                 i < 2 ? part : names[2]);
        struct tar_entry x = {.name = str_of(name),
                              .link = str_of(i ? deep : ""),
                              .type = i ? TAR_HARD : TAR_FILE,
                              .uid = 5000000000,
                              .gid = 3000000,
                              .mtime = i ? -5 : 99999999999};
        CHECK_INT(tar_add_header(&b, &x, NULL), 0);
        buf_addf(&want, "%s>%s %d 0 0 5000000000:3000000 %lld \n", name, i ? deep : "",
                 i ? 1 : 0, i ? -5LL : 99999999999LL);
    }
    struct tar_entry big = {.name = STR("big"), .size = 20ull << 30};
    CHECK_INT(tar_add_header(&b, &big, NULL), 0);
    buf_addf(&want, "big> 0 21474836480 0 0:0 0 \n");
    list(buf_str(&b), 100, true, &out);
    CHECK(str_starts(buf_str(&out), buf_str(&want)));
    CHECK(str_find(buf_str(&out), STR("is cut off, in or after big")) > 0);
    buf_release(&b);
    buf_release(&out);
    buf_release(&want);
}

/* A record's length counts its own digits: 999 and one more are 1,003. */
TEST(records_of_every_length)
{
    char link[1100];
    for (size_t n = 95; n < sizeof(link); n++) {
        struct buf b = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
        memset(link, 'l', n);
        struct tar_entry x = {
            .name = STR("n"), .link = str_n(link, n), .type = TAR_SYMLINK};
        CHECK_INT(tar_add_header(&b, &x, NULL), 0);
        buf_addf(&want, "n>%.*s 2 0 0 0:0 0 \nend", (int)n, link);
        CHECK_STR(listed(&b), buf_z(&want));
        buf_release(&b);
        buf_release(&want);
    }
}

TEST(gnu_headers)
{
    struct buf b = BUF_INIT(1 << 20);
    add_meta(&b, 'L', str_n("long/name\0", 10));
    add_meta(&b, 'K', str_n("target\0", 7));
    add_raw(&b, '2', "short", "0", "ustar  \0");
    /* 2^33 in base 256 would not fit in octal; here it is 3. */
    add_raw(&b, '0', "n", "", "ustar  \0");
    uint8_t *h = (uint8_t *)b.p + b.n - TAR_BLOCK;
    h[124] = 0x80;
    h[135] = 3;
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
    add_data(&b, STR("abc"));
    add_raw(&b, 'V', "label", "0", "ustar  \0");
    add_raw(&b, '0', "old-folder/", "0", "\0\0\0\0\0\0\0\0");
    CHECK_STR(listed(&b), "long/name>target 2 0 644 0:0 0 \n"
                          "n> 0 3 644 0:0 0 abc\n"
                          "old-folder/> 5 0 644 0:0 0 \nend");
    buf_release(&b);
}

TEST(pax_headers)
{
    struct buf b = BUF_INIT(1 << 20);
    add_meta(&b, 'g', STR("9 uid=44\n12 path=all\n"));
    add_meta(&b, 'x', STR("11 path=me\n9 size=2\n19 mtime=-1.5000000\n9 gid=7x\n"));
    add_raw(&b, '0', "n", "0",
            "ustar\0"
            "00");
    CHECK_STR(listed(&b), "the tar archive has a damaged pax header");
    buf_reset(&b);
    add_meta(&b, 'g', STR("10 uid=44\n12 path=all\n"));
    add_meta(&b, 'x', STR("11 path=me\n9 size=2\n14 mtime=-1.5\n"));
    add_raw(&b, '0', "n", "7777",
            "ustar\0"
            "00");
    add_data(&b, STR("xy"));
    add_raw(&b, '0', "n", "0",
            "ustar\0"
            "00");
    add_meta(&b, 'x', STR("8 path=\n"));
    add_raw(&b, '0', "n", "0",
            "ustar\0"
            "00");
    CHECK_STR(listed(&b), "me> 0 2 644 44:0 -2 xy\n"
                          "all> 0 0 644 44:0 0 \n"
                          "all> 0 0 644 44:0 0 \nend");
    buf_release(&b);
}

TEST(bad_pax_headers)
{
    static const char *const bad[] = {"5 a=b",        "99 a=b\n",    "x a=b\n",  "6 a=bc",
                                      "6 abcd\n",     "7 uid=x\n",   " 5 a=b\n", "3 =\n",
                                      "11 mtime=a\n", "10 size=-1\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct buf b = BUF_INIT(1 << 20);
        add_meta(&b, 'x', str_of(bad[i]));
        add_raw(&b, '0', "n", "0",
                "ustar\0"
                "00");
        if (strncmp(listed(&b), "the tar archive has a ", 22) != 0)
            T_FAIL("%s: %s", bad[i], listed(&b));
        buf_release(&b);
    }
}

TEST(limits_and_tricks)
{
    struct buf b = BUF_INIT(4 << 20), big = BUF_INIT(4 << 20);
    add_raw(&b, 'x', "n", "77777777777",
            "ustar\0"
            "00");
    CHECK_STR(listed(&b),
              "the tar archive has a header of 8589934591 bytes: at most 1048064");
    buf_reset(&b);
    for (int i = 0; i < 5000; i++)
        buf_addc(&big, 'n');
    add_meta(&b, 'L', buf_str(&big));
    CHECK_STR(listed(&b), "the tar archive has a name of 5000 bytes: at most 4096");
    buf_reset(&b);
    add_meta(&b, 'x', str_n("12 path=a\0b\n", 12));
    CHECK_STR(listed(&b), "the tar archive has a name with a NUL in it");
    buf_reset(&b);
    add_raw(&b, '0', "", "0",
            "ustar\0"
            "00");
    CHECK_STR(listed(&b), "the tar archive has an entry without a name");
    buf_reset(&b);
    add_raw(&b, '0', "n", "8",
            "ustar\0"
            "00");
    CHECK_STR(listed(&b), "the tar archive has no proper size for n");
    buf_reset(&b);
    add_meta(&b, 'x', STR("11 path=me\n"));
    CHECK_STR(listed(&b), "the tar archive ends after a header without its entry");
    add_raw(&b, '0', "n", "0",
            "ustar\0"
            "00");
    b.p[b.n - 300] ^= 1;
    CHECK_STR(listed(&b), "no tar header at byte 1024: its sum is wrong");
    buf_reset(&b);
    CHECK_INT(tar_add_end(&b, NULL), 0);
    b.p[700] = 'x';
    CHECK_STR(listed(&b), "the tar archive goes on after its end, at byte 512");
    buf_release(&b);
    buf_release(&big);
}

TEST(holes_are_passed_over)
{
    struct buf b = BUF_INIT(1 << 20);
    static const char zeroes[TAR_BLOCK];
    add_raw(&b, 'S', "holes", "3", "ustar  \0");
    b.p[b.n - TAR_BLOCK + 482] = 1; /* one more block of its map */
    unsigned sum = 0;
    uint8_t *h = (uint8_t *)b.p + b.n - TAR_BLOCK;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
    buf_add(&b, zeroes, TAR_BLOCK);
    add_data(&b, STR("abc"));
    add_raw(&b, '0', "after", "0", "ustar  \0");
    CHECK_STR(listed(&b), "holes> 0 3 644 0:0 0 \nafter> 0 0 644 0:0 0 \nend");
    buf_release(&b);
}

/* Cut anywhere, in pieces of any size: an error that says so, or all up to a block's end.
 */
TEST(cut_off_anywhere)
{
    struct buf b = BUF_INIT(1 << 20), small = BUF_INIT(1 << 20),
               large = BUF_INIT(1 << 20);
    struct tar_entry file = {.name = STR("f"), .mode = 0644, .uid = 99999999};
    CHECK_INT(tar_add_file(&b, &file, STR("0123456789"), NULL), 0);
    CHECK_INT(tar_add_file(&b, &file, STR(""), NULL), 0);
    CHECK_INT(tar_add_end(&b, NULL), 0);
    for (size_t n = 0; n <= b.n; n++) {
        buf_reset(&small);
        buf_reset(&large);
        list(str_sub(buf_str(&b), 0, n), 1, false, &small);
        list(str_sub(buf_str(&b), 0, n), 4096, false, &large);
        CHECK_STR(buf_z(&small), buf_z(&large));
        bool whole = str_ends(buf_str(&small), STR("end"));
        bool at_entry = n == 0 || n == 2048 || n == 3584 || n == 4096 || n == 4608;
        if (whole != at_entry)
            T_FAIL("%zu bytes: %s", n, buf_z(&small));
    }
    buf_release(&b);
    buf_release(&small);
    buf_release(&large);
}

TEST(names_that_cannot_be_written)
{
    struct buf b = BUF_INIT(1 << 20), tight = BUF_INIT(600);
    struct err e = ERR_INIT;
    struct tar_entry x = {.name = STR("")};
    CHECK_INT(tar_add_header(&b, &x, &e), -1);
    x.name = str_n("a\0b", 3);
    CHECK_INT(tar_add_header(&b, &x, &e), -1);
    CHECK_INT(b.n, 0);
    x.name = STR("a");
    CHECK_INT(tar_add_header(&tight, &x, &e), 0);
    CHECK_INT(tar_add_file(&tight, &x, STR("b"), &e), -1);
    CHECK_INT(tight.n, 512);
    buf_release(&b);
    buf_release(&tight);
}

/* ---- gzip ---- */

static ssize_t packed_read(void *arg, void *p, size_t n, struct err *e)
{
    return memory_read(arg, p, n, e);
}

static const char *unpacked(struct str packed, size_t step)
{
    static struct buf out = BUF_INIT(1 << 20);
    struct memory m = {.bytes = packed, .step = step};
    struct err e = ERR_INIT;
    struct gunzip *g = gunzip_new(packed_read, &m, &e);
    char block[100];
    ssize_t n;
    buf_reset(&out);
    while ((n = gunzip_read(g, block, sizeof(block), &e)) > 0)
        CHECK_INT(buf_add(&out, block, (size_t)n), 0);
    if (n < 0)
        buf_addf(&out, "!%s", e.text);
    gunzip_free(g);
    return buf_z(&out);
}

TEST(gzip_both_ways)
{
    struct buf b = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    CHECK_INT(gzip_add(&b, STR("hello, "), &e), 0);
    size_t first = b.n;
    CHECK_INT(gzip_add(&b, STR("world"), &e), 0);
    CHECK_INT(gzip_add(&again, STR("hello, "), &e), 0);
    CHECK(str_eq(str_sub(buf_str(&b), 0, first), buf_str(&again)));
    CHECK_STR(unpacked(buf_str(&b), 1), "hello, world");
    CHECK_STR(unpacked(buf_str(&b), 4096), "hello, world");
    CHECK_STR(unpacked(str_sub(buf_str(&b), 0, b.n - 1), 4096),
              "hello, world!the gzip data is cut off");
    buf_add(&b, "\0\0\0", 3);
    CHECK_STR(unpacked(buf_str(&b), 2), "hello, world");
    buf_add(&b, "x", 1);
    CHECK_STR(unpacked(buf_str(&b), 4096), "hello, world!the gzip data is cut off");
    b.p[first + 14] ^= 0x55;
    CHECK(strstr(unpacked(buf_str(&b), 4096), "!the gzip data is damaged"));
    CHECK_STR(unpacked(STR(""), 1), "!the gzip data is cut off");
    buf_release(&b);
    buf_release(&again);
}

/* All that came before the cut is given, however small the reader's pieces are. */
TEST(gzip_cut_in_a_run)
{
    struct buf b = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    char run[1000], block[1000];
    memset(run, 'a', sizeof(run));
    CHECK_INT(gzip_add(&b, str_n(run, sizeof(run)), &e), 0);
    for (size_t cut = 1; cut < b.n; cut++) {
        struct str packed = str_sub(buf_str(&b), 0, b.n - cut);
        struct memory m = {.bytes = packed, .step = 4096};
        struct gunzip *g = gunzip_new(packed_read, &m, &e);
        ssize_t n = gunzip_read(g, block, sizeof(block), &e);
        size_t whole = n < 0 ? 0 : (size_t)n;
        gunzip_free(g);
        const char *pieces = unpacked(packed, 4096);
        CHECK_INT(strcspn(pieces, "!"), whole);
        CHECK_STR(pieces + whole, "!the gzip data is cut off");
    }
    buf_release(&b);
}

T_MAIN
