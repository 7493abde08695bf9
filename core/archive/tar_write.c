/* SPDX-License-Identifier: MIT */
/* The writing side of tar: see tar_write.h. */
#include "archive/tar_write.h"

#include "base/log.h"

#include <stdio.h>

enum { OCTAL_8 = 07777777, RECORD_MAX = 2 * TAR_NAME_MAX + 512 };
#define OCTAL_12 077777777777ull

static char type_char(enum tar_type type)
{
    static const char chars[] = {
        [TAR_FILE] = '0', [TAR_HARD] = '1',         [TAR_SYMLINK] = '2',
        [TAR_CHAR] = '3', [TAR_BLOCK_DEVICE] = '4', [TAR_FOLDER] = '5',
        [TAR_FIFO] = '6', [TAR_OTHER] = '0'};
    return chars[type];
}

/* ---- pax records ---- */

static int digits(size_t n) { return n < 10 ? 1 : 1 + digits(n / 10); }

/* "LENGTH KEY=VALUE\n": the length counts its own digits. */
static void add_record(struct buf *b, const char *key, struct str value)
{
    size_t bare = strlen(key) + value.n + 3, n = bare + (size_t)digits(bare);
    if (digits(n) > digits(bare))
        n = bare + (size_t)digits(n);
    BUG_ON(buf_addf(b, "%zu %s=", n, key) < 0 || buf_adds(b, value) < 0 ||
           buf_addc(b, '\n') < 0);
}

static void add_number(struct buf *b, const char *key, int64_t v)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)v);
    add_record(b, key, str_of(text));
}

static void add_records(struct buf *b, const struct tar_entry *x, struct str name,
                        bool name_fits)
{
    if (!name_fits)
        add_record(b, "path", name);
    if (x->link.n > 100)
        add_record(b, "linkpath", x->link);
    if (x->size > OCTAL_12)
        add_number(b, "size", (int64_t)x->size);
    if (x->uid > OCTAL_8)
        add_number(b, "uid", (int64_t)x->uid);
    if (x->gid > OCTAL_8)
        add_number(b, "gid", (int64_t)x->gid);
    if (x->mtime < 0 || x->mtime > (int64_t)OCTAL_12)
        add_number(b, "mtime", x->mtime);
}

/* ---- headers ---- */

/*
 * Returns where the name is cut into prefix and name, which a slash joins; -1 if nowhere.
 */
static long cut_at(struct str name)
{
    if (name.n <= 100)
        return 0;
    for (size_t i = name.n < 156 ? name.n - 1 : 155; i > 0; i--) {
        if (name.p[i] == '/' && name.n - i - 1 <= 100 && name.n - i - 1 > 0)
            return (long)i;
    }
    return -1;
}

static void put_octal(uint8_t *at, size_t n, uint64_t v, uint64_t max)
{
    char text[24];
    snprintf(text, sizeof(text), "%0*llo", (int)n - 1,
             (unsigned long long)(v > max ? 0 : v));
    memcpy(at, text, n);
}

static void put_text(uint8_t *at, size_t n, struct str s)
{
    if (s.n)
        memcpy(at, s.p, s.n < n ? s.n : n);
}

static int add_block(struct buf *out, const struct tar_entry *x, char type,
                     struct str name, long cut)
{
    uint8_t h[TAR_BLOCK] = {0};
    unsigned sum = 0;
    put_text(h, 100, cut > 0 ? str_sub(name, (size_t)cut + 1, name.n) : name);
    if (cut > 0)
        put_text(h + 345, 155, str_sub(name, 0, (size_t)cut));
    put_octal(h + 100, 8, x->mode & 07777, OCTAL_8);
    put_octal(h + 108, 8, x->uid, OCTAL_8);
    put_octal(h + 116, 8, x->gid, OCTAL_8);
    put_octal(h + 124, 12, x->size, OCTAL_12);
    put_octal(h + 136, 12, x->mtime < 0 ? 0 : (uint64_t)x->mtime, OCTAL_12);
    memset(h + 148, ' ', 8);
    h[156] = (uint8_t)type;
    put_text(h + 157, 100, x->link);
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    put_octal(h + 329, 8, x->major, OCTAL_8);
    put_octal(h + 337, 8, x->minor, OCTAL_8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += h[i];
    put_octal(h + 148, 7, sum, OCTAL_8); /* then a NUL and a blank */
    return buf_add(out, h, sizeof(h));
}

static int full(struct buf *out, size_t before, struct err *e)
{
    buf_truncate(out, before);
    return err_set(e, ERR_LIMIT, "a tar archive of more than %zu bytes", out->max);
}

static int add_zeroes(struct buf *out, size_t n)
{
    static char zeroes[2 * TAR_BLOCK]; /* not constant: those would be in the file */
    return buf_add(out, zeroes, n);
}

int tar_add_header(struct buf *out, const struct tar_entry *x, struct err *e)
{
    struct buf name = BUF_INIT(TAR_NAME_MAX + 1),
               records = BUF_INIT(RECORD_MAX + x->records.n);
    size_t before = out->n;
    int rc = 0;
    if (!x->name.n || memchr(x->name.p, 0, x->name.n) || x->name.n > TAR_NAME_MAX ||
        x->link.n > TAR_NAME_MAX || (x->link.n && memchr(x->link.p, 0, x->link.n)))
        return err_set(e, ERR_INVALID, "a name that cannot be in a tar archive");
    buf_adds(&name, x->name);
    if (x->type == TAR_FOLDER && !str_ends(x->name, STR("/")))
        buf_addc(&name, '/');
    long cut = cut_at(buf_str(&name));
    add_records(&records, x, buf_str(&name), cut >= 0);
    buf_adds(&records, x->records);
    if (buf_full(&records)) {
        buf_release(&records);
        buf_release(&name);
        return err_set(e, ERR_LIMIT, "a file has too many attributes for a tar archive");
    }
    if (records.n) {
        struct tar_entry meta = {.size = records.n, .mode = 0644};
        if (add_block(out, &meta, 'x', STR("PaxHeader"), 0) < 0 ||
            buf_adds(out, buf_str(&records)) < 0 ||
            add_zeroes(out, tar_padding(records.n)) < 0)
            rc = full(out, before, e);
    }
    if (rc == 0 && add_block(out, x, type_char(x->type), buf_str(&name), cut) < 0)
        rc = full(out, before, e);
    buf_release(&records);
    buf_release(&name);
    return rc;
}

int tar_add_file(struct buf *out, const struct tar_entry *x, struct str data,
                 struct err *e)
{
    struct tar_entry file = *x;
    size_t before = out->n;
    file.size = data.n;
    if (tar_add_header(out, &file, e) < 0)
        return -1;
    if (buf_adds(out, data) < 0 || add_zeroes(out, tar_padding(data.n)) < 0)
        return full(out, before, e);
    return 0;
}

int tar_add_end(struct buf *out, struct err *e)
{
    return add_zeroes(out, 2 * TAR_BLOCK) < 0 ? full(out, out->n, e) : 0;
}
