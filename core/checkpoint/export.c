/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint as a tar archive: pax (POSIX.1-2017), with fractions of seconds, and with
 * extended attributes as GNU tar and others write them (SCHILY.xattr.NAME). Holes become
 * zeroes, and a comment has their places for import.c. Sockets have no type in a tar, and
 * are left out.
 */
#include "archive/tar_write.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "checkpoint/own.h"
#include "checkpoint/xattr.h"
#include "os/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { RECORDS_MAX = 768 << 10, HOLES_MAX = 256 << 10, WRITE = 4096 };

struct exporting {
    struct store *s;
    int out;
    bool many;        /* names begin with the number of their folder */
    struct map first; /* of files with several names: the first one, owned */
    struct buf head, records, holes, name;
    uint64_t size; /* bytes of the file that is written */
};

/* Appends "LENGTH NAME=VALUE\n", where LENGTH counts itself. */
static void add_record(struct buf *out, struct str prefix, struct str name,
                       struct str value)
{
    size_t n = prefix.n + name.n + value.n + 3, digits = 1;
    for (size_t all = n + 1, ten = 10; all >= ten; all = n + ++digits)
        ten *= 10;
    buf_addf(out, "%zu ", n + digits);
    buf_adds(out, prefix);
    buf_adds(out, name);
    buf_addc(out, '=');
    buf_adds(out, value);
    buf_addc(out, '\n');
}

/* Times before 1970 count down: "-0.5" is -1 and half a second. */
static void add_time(struct buf *out, struct moment t)
{
    char time[48];
    bool before = t.s < 0;
    if (t.ns && buf_fill(time, sizeof(time), "%s%lld.%09u", before ? "-" : "",
                         before ? -(long long)(t.s + 1) : (long long)t.s,
                         before ? 1000000000 - t.ns : t.ns))
        add_record(out, STR(""), STR("mtime"), str_of(time));
}

/* A name ends at the first "=", so that is written as GNU tar does. */
static struct str key_of(struct exporting *x, struct str name)
{
    buf_reset(&x->name);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '=' || name.p[i] == '%')
            buf_addz(&x->name, name.p[i] == '=' ? "%3D" : "%25");
        else
            buf_addc(&x->name, name.p[i]);
    return buf_str(&x->name);
}

static int add_records(struct exporting *x, const struct file_node *y, struct err *e)
{
    struct str rest = y->xattrs, name, value;
    buf_reset(&x->records);
    buf_reset(&x->holes);
    buf_addz(&x->holes, EXPORT_HOLES);
    size_t before = x->holes.n;
    add_time(&x->records, y->mtime);
    while (xattr_next(&rest, &name, &value) > 0)
        add_record(&x->records, STR("SCHILY.xattr."), key_of(x, name), value);
    if (y->type == ENTRY_FILE && content_holes(x->s, &y->content, &x->holes, e) < 0)
        return -1;
    /* More of them than a header can have are zeroes. */
    if (x->holes.n > before && !buf_full(&x->holes))
        add_record(&x->records, STR(""), STR("comment"), buf_str(&x->holes));
    return 0;
}

static int put(struct exporting *x, struct str bytes, struct err *e)
{
    return file_write_all(x->out, bytes) < 0
               ? err_sys(e, errno, "cannot write the archive")
               : 0;
}

static int put_zeroes(struct exporting *x, uint64_t n, struct err *e)
{
    static char zeroes[WRITE]; /* not constant: then they are not in the file */
    for (; n > 0; n -= n < WRITE ? n : WRITE)
        if (put(x, str_n(zeroes, n < WRITE ? (size_t)n : WRITE), e) < 0)
            return -1;
    return 0;
}

static int put_piece(void *arg, struct str piece, struct err *e)
{
    struct exporting *x = arg;
    x->size += piece.n;
    return piece.p ? put(x, piece, e) : put_zeroes(x, piece.n, e);
}

/* The name under which the file was written; p NULL: this is its first one. */
static struct str first_name(struct exporting *x, const struct file_node *y,
                             struct str path)
{
    uint64_t key[2] = {y->dev, y->ino};
    if (!y->shared)
        return str_n(NULL, 0);
    char *name = map_get(&x->first, str_n(key, sizeof(key)));
    if (!name)
        map_put(&x->first, str_n(key, sizeof(key)), xstrndup(path.p, path.n));
    return str_of(name);
}

static int on_entry(void *arg, struct str path, const struct file_node *none,
                    const struct file_node *y, struct err *e)
{
    static const enum tar_type types[] = {
        [ENTRY_FILE] = TAR_FILE,         [ENTRY_FOLDER] = TAR_FOLDER,
        [ENTRY_LINK] = TAR_SYMLINK,      [ENTRY_FIFO] = TAR_FIFO,
        [ENTRY_SOCKET] = TAR_OTHER,      [ENTRY_CHAR] = TAR_CHAR,
        [ENTRY_BLOCK] = TAR_BLOCK_DEVICE};
    struct exporting *x = arg;
    struct str name = path;
    (void)none;
    if (!x->many)
        str_cut(&name, '/');
    if (name.n == 0)
        name = STR("./");
    if (y->type == ENTRY_SOCKET || gap_is_empty(y->gap))
        return 0;
    struct str same = y->type == ENTRY_FOLDER ? str_n(NULL, 0) : first_name(x, y, name);
    struct tar_entry t = {.name = name,
                          .link = same.p ? same : y->target,
                          .type = same.p ? TAR_HARD : types[y->type],
                          .size = same.p || y->type != ENTRY_FILE ? 0 : y->size,
                          .mode = y->mode,
                          .uid = y->uid,
                          .gid = y->gid,
                          .mtime = y->mtime.s,
                          .major = major(y->device),
                          .minor = minor(y->device)};
    if (!same.p && add_records(x, y, e) < 0)
        return -1;
    t.records = same.p ? STR("") : buf_str(&x->records);
    buf_reset(&x->head);
    if (tar_add_header(&x->head, &t, e) < 0 || put(x, buf_str(&x->head), e) < 0)
        return -1;
    if (t.size == 0)
        return 0;
    x->size = 0;
    if (content_each(x->s, &y->content, put_piece, x, e) < 0)
        return -1;
    if (x->size != t.size)
        return err_set(e, ERR_IO, "%.300s has another size than its entry", name.p);
    return put_zeroes(x, tar_padding(t.size), e);
}

int checkpoint_export(const struct checkpoint_call *q, int64_t id, int out, struct err *e)
{
    struct exporting x = {.out = out,
                          .head = BUF_INIT(2 << 20),
                          .records = BUF_INIT(RECORDS_MAX),
                          .holes = BUF_INIT(HOLES_MAX),
                          .name = BUF_INIT(RECORDS_MAX)};
    struct content_ref tree;
    struct pairs p = {.fn = on_entry, .arg = &x};
    struct json *record = NULL;
    struct str key;
    void *value;
    x.s = p.s = call_store(q, false, e);
    map_init(&x.first);
    int rc = -1;
    if (x.s && (record = record_read(x.s, id, e)) && call_may(q, record, e) == 0 &&
        record_tree(record, &tree, e) == 0) {
        x.many = json_count(json_get(record, "dirs")) > 1;
        rc = pairs_walk(&p, NULL, &tree, e);
    }
    buf_reset(&x.head);
    if (rc == 0 && (rc = tar_add_end(&x.head, e)) == 0)
        rc = put(&x, buf_str(&x.head), e);
    for (void *it = NULL; (it = map_next(&x.first, it, &key, &value));)
        free(value);
    map_release(&x.first);
    buf_release(&x.head);
    buf_release(&x.records);
    buf_release(&x.holes);
    buf_release(&x.name);
    json_free(record);
    store_close(x.s);
    return rc;
}
