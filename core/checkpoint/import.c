/* SPDX-License-Identifier: MIT */
/*
 * A tar archive as a checkpoint: what export.c writes comes back, and any other archive
 * becomes what its headers say. Nothing is unpacked: contents go to the store as they
 * come, and the entries of each folder are in memory until the archive ends. Then hard
 * links get the files that they name, and folders become manifests, the deepest first.
 *
 * Names are refused that are absolute, have "..", are there twice, or are below something
 * that is not a folder. Folders that no header describes are made.
 */
#include "archive/tar_read.h"
#include "archive/zip_gz.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "checkpoint/acl.h"
#include "checkpoint/levels.h"
#include "checkpoint/own.h"
#include "checkpoint/xattr.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The gap of a hard link, as long as its target is the name of its file. */
#define LINK_OPEN GAP_FAILED

enum {
    NAME_BYTES = 255,
    XATTRS = 1000,            /* of a file */
    FOLDER_COST = 256,        /* bytes of memory, besides its name */
    MEMORY_MAX = MANIFEST_MAX /* bytes of all entries */
};

/* Entries of one folder, by where they begin. */
struct import_folder {
    struct import_folder *above; /* NULL: the root */
    uint32_t number;
    unsigned depth;
    struct file_node x;
    char *name, *xattrs; /* owned: what x points to; xattrs NULL: none */
    bool described;
    struct buf entries;
    uint32_t *at; /* owned */
    size_t n, cap;
};

struct importing {
    struct store *s;
    struct tar_reader *t;
    struct gunzip *gz; /* NULL: the archive is not packed */
    int in;
    char first[2]; /* bytes that were read to see whether it is */
    size_t first_n, first_at;
    struct map by_name; /* struct import_folder: number of the one above, and name */
    struct import_folder **v; /* owned; those above come first */
    size_t n, cap;
    struct import_link {
        struct import_folder *in;
        uint32_t at;
    } * links; /* owned, in their order */
    size_t links_n, links_cap;
    size_t memory;
    uint64_t inode;
    struct scanned count;
    struct buf space, entry, xattrs, key, acls[2];
};

/* ---- bytes ---- */

static ssize_t read_input(void *arg, void *p, size_t n, struct err *e)
{
    struct importing *x = arg;
    ssize_t got;
    if (x->first_at < x->first_n) {
        *(char *)p = x->first[x->first_at++];
        return 1;
    }
    do {
        got = read(x->in, p, n);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? err_sys(e, errno, "cannot read the archive") : got;
}

static ssize_t read_plain(void *arg, void *p, size_t n, struct err *e)
{
    struct importing *x = arg;
    return x->gz ? gunzip_read(x->gz, p, n, e) : read_input(x, p, n, e);
}

static ssize_t read_file(void *arg, void *p, size_t n, struct err *e)
{
    return tar_read(((struct importing *)arg)->t, p, n, e);
}

static int begin(struct importing *x, struct err *e)
{
    const struct tar_source source = {.read = read_plain, .arg = x};
    while (x->first_n < 2) {
        ssize_t n = read_input(x, x->first + x->first_n, 1, e);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        x->first_at = ++x->first_n;
    }
    x->first_at = 0;
    if (x->first_n == 2 && memcmp(x->first, "\x1f\x8b", 2) == 0 &&
        !(x->gz = gunzip_new(read_input, x, e)))
        return -1;
    x->t = tar_reader_new(&source);
    return 0;
}

/* ---- folders ---- */

static int remember(struct importing *x, size_t bytes, struct err *e)
{
    x->memory += bytes;
    return x->memory > MEMORY_MAX
               ? err_set(e, ERR_LIMIT, "the archive has too many files")
               : 0;
}

static struct import_folder *add_folder(struct importing *x, struct import_folder *above,
                                        struct str name)
{
    struct import_folder *f = xnew(struct import_folder);
    f->above = above;
    f->depth = above ? above->depth + 1 : 0;
    f->name = xstrndup(name.p, name.n);
    f->number = (uint32_t)x->n;
    f->x = (struct file_node){.name = str_n(f->name, name.n),
                              .type = ENTRY_FOLDER,
                              .racy = true,
                              .mode = 0755,
                              .uid = geteuid(),
                              .gid = getegid(),
                              .mtime = {clock_wall_ms() / 1000, 0},
                              .ino = ++x->inode};
    buf_init(&f->entries, MANIFEST_MAX);
    if (x->n == x->cap)
        x->v = xrealloc(x->v, x->cap = x->cap ? 2 * x->cap : 64,
                        sizeof(struct import_folder *));
    return x->v[x->n++] = f;
}

/* The folder in this one; make: if it is not there. NULL: it is not; or sets *e. */
static struct import_folder *folder_in(struct importing *x, struct import_folder *at,
                                       struct str name, bool make, struct err *e)
{
    buf_reset(&x->key);
    buf_add(&x->key, &at->number, sizeof(at->number));
    buf_adds(&x->key, name);
    struct import_folder *f = map_get(&x->by_name, buf_str(&x->key));
    if (f || !make || remember(x, FOLDER_COST + name.n, e) < 0)
        return f;
    if (at->depth == LEVELS_MAX) {
        err_set(e, ERR_LIMIT, "the archive has more than %d levels of folders",
                LEVELS_MAX);
        return NULL;
    }
    f = add_folder(x, at, name);
    map_put(&x->by_name, buf_str(&x->key), f);
    return f;
}

/*
 * Finds the folder of a path, and the name in it, "" for the root. Returns NULL: with *e
 * set, the path is not allowed; without, the folder is missing, and make is false.
 */
static struct import_folder *find(struct importing *x, struct str path, bool make,
                                  struct str *last, struct err *e)
{
    struct import_folder *at = x->v[0];
    struct str all = path, name;
    *last = STR("");
    if (str_starts(path, STR("/"))) {
        err_set(e, ERR_DENIED, "%.200s in the archive is an absolute name", all.p);
        return NULL;
    }
    while (path.n > 0) {
        name = str_cut(&path, '/');
        if (name.n == 0 || str_eq(name, STR(".")))
            continue;
        if (str_eq(name, STR("..")) || name.n > NAME_BYTES) {
            err_set(e, ERR_DENIED,
                    name.n > 2 ? "%.200s in the archive has a name that is too long"
                               : "%.200s in the archive leads out of its folder",
                    all.p);
            return NULL;
        }
        if (last->n && !(at = folder_in(x, at, *last, make, e)))
            return NULL;
        *last = name;
    }
    return at;
}

/* Appends an entry to the folder, not yet to its list. Returns where it is. */
static uint32_t write_entry(struct importing *x, struct import_folder *f,
                            const struct file_node *y)
{
    uint32_t at = (uint32_t)f->entries.n;
    buf_reset(&x->entry);
    entry_write(&x->entry, y);
    buf_adds(&f->entries, buf_str(&x->entry));
    return at;
}

static int add_entry(struct importing *x, struct import_folder *f,
                     const struct file_node *y, struct err *e)
{
    uint32_t at = write_entry(x, f, y);
    if (f->n == f->cap)
        f->at = xrealloc(f->at, f->cap = f->cap ? 2 * f->cap : 8, sizeof(*f->at));
    f->at[f->n++] = at;
    return remember(x, f->entries.n - at + sizeof(at), e);
}

static struct file_node entry_at(const struct import_folder *f, uint32_t at)
{
    struct str rest = str_sub(buf_str(&f->entries), at, f->entries.n);
    struct file_node y;
    entry_read(&rest, &y, NULL);
    return y;
}

static int compare(struct str a, struct str b)
{
    int r = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return r ? r : (a.n > b.n) - (a.n < b.n);
}

static int by_name(const void *a, const void *b, void *folder)
{
    return compare(entry_at(folder, *(const uint32_t *)a).name,
                   entry_at(folder, *(const uint32_t *)b).name);
}

/* Sorts them. Returns -1 and sets *e if a name is there twice. */
static int sort(struct import_folder *f, struct err *e)
{
    if (f->n)
        qsort_r(f->at, f->n, sizeof(*f->at), by_name, f);
    for (size_t i = 1; i < f->n; i++)
        if (by_name(&f->at[i - 1], &f->at[i], f) == 0) {
            struct str name = entry_at(f, f->at[i]).name;
            return err_set(e, ERR_INVALID,
                           "the archive has %.*s twice in %.200s, or has files below it "
                           "and it is not a folder",
                           STR_ARG(name), f->name);
        }
    return 0;
}

/* Where the entry of this name is in the sorted list; NULL if it is missing. */
static uint32_t *entry_find(const struct import_folder *f, struct str name)
{
    size_t from = 0, to = f->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = compare(entry_at(f, f->at[middle]).name, name);
        if (order == 0)
            return &f->at[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* ---- headers ---- */

/* "-0.5" is -1 and half a second. */
static struct moment moment_of(struct str value, int64_t whole)
{
    struct moment t = {.s = whole};
    struct str rest = value;
    bool before = str_starts(value, STR("-"));
    str_cut(&rest, '.');
    for (size_t i = 0, ten = 100000000; i < rest.n && ten; i++, ten /= 10)
        t.ns += rest.p[i] >= '0' && rest.p[i] <= '9'
                    ? (uint32_t)(rest.p[i] - '0') * (uint32_t)ten
                    : 0;
    if (before && t.ns)
        t.ns = 1000000000 - t.ns;
    else if (before && rest.n)
        t.s++; /* the reader has rounded down */
    return t;
}

struct import_pair {
    struct str name, value;
};

static int by_pair(const void *a, const void *b)
{
    return compare(((const struct import_pair *)a)->name,
                   ((const struct import_pair *)b)->name);
}

/* Undoes what key_of of export.c does, in place. */
static struct str name_of_key(char *p, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        bool coded = i + 2 < n && p[i] == '%' &&
                     (memcmp(p + i, "%3D", 3) == 0 || memcmp(p + i, "%25", 3) == 0);
        p[to++] = !coded ? p[i] : p[i + 1] == '3' ? '=' : '%';
        i += coded ? 2 : 0;
    }
    return str_n(p, to);
}

/* What the records have beyond names and numbers: attributes, fractions, holes. */
static int take_records(struct importing *x, const struct tar_entry *t,
                        struct file_node *y, struct str *holes, struct err *e)
{
    static const char xattr[] = "SCHILY.xattr.", acl[] = "SCHILY.acl.",
                      mark[] = EXPORT_HOLES " ";
    struct import_pair all[XATTRS];
    struct buf *acls = x->acls;
    struct str rest = t->records, key, value;
    size_t n = 0;
    while (tar_record(&rest, &key, &value) > 0) {
        if (str_eq(key, STR("mtime"))) {
            y->mtime = moment_of(value, t->mtime);
        } else if (str_eq(key, STR("comment")) && str_starts(value, str_of(mark))) {
            *holes = str_sub(value, sizeof(mark) - 1, value.n);
        } else if (str_starts(key, str_of(xattr))) {
            key = str_sub(key, sizeof(xattr) - 1, key.n);
            if (n == XATTRS)
                return err_set(e, ERR_LIMIT, "it has more than %d attributes", XATTRS);
            key = name_of_key((char *)(uintptr_t)key.p, key.n);
            all[n++] = (struct import_pair){key, value};
        } else if (str_starts(key, str_of(acl)) && n + 2 < XATTRS) {
            /* "access", or "default": of what is made in the folder */
            bool dflt = str_eq(str_sub(key, sizeof(acl) - 1, key.n), STR("default"));
            buf_reset(&acls[dflt]);
            if (acl_read(&acls[dflt], value, e) < 0)
                return -1;
            all[n++] = (struct import_pair){dflt ? STR("system.posix_acl_default")
                                                 : STR("system.posix_acl_access"),
                                            buf_str(&acls[dflt])};
        }
    }
    if (n)
        qsort(all, n, sizeof(*all), by_pair);
    buf_reset(&x->xattrs);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || by_pair(&all[i], &all[i + 1]) != 0)
            if (xattr_add(&x->xattrs, all[i].name, all[i].value) < 0)
                return err_set(e, ERR_INVALID, "its attribute %.*s cannot be kept",
                               all[i].name.n > 100 ? 100 : (int)all[i].name.n,
                               all[i].name.p);
    y->xattrs = buf_str(&x->xattrs);
    return 0;
}

/* Fills in all but the name. Returns -1 and sets *e. */
static int take_header(struct importing *x, const struct tar_entry *t,
                       struct file_node *y, struct err *e)
{
    static const enum entry_type types[] = {
        [TAR_FILE] = ENTRY_FILE,          [TAR_HARD] = ENTRY_LINK,
        [TAR_SYMLINK] = ENTRY_LINK,       [TAR_CHAR] = ENTRY_CHAR,
        [TAR_BLOCK_DEVICE] = ENTRY_BLOCK, [TAR_FOLDER] = ENTRY_FOLDER,
        [TAR_FIFO] = ENTRY_FIFO};
    struct str holes = STR("");
    if (t->type == TAR_OTHER || t->sparse)
        return err_set(e, ERR_UNSUPPORTED,
                       t->sparse ? "it is a sparse file of GNU tar"
                                 : "it is of a type that no standard has");
    *y = (struct file_node){.type = types[t->type],
                            .racy = true,
                            .mode = t->mode,
                            .uid = (uint32_t)t->uid,
                            .gid = (uint32_t)t->gid,
                            .mtime = {t->mtime, 0},
                            .ino = ++x->inode,
                            .device = makedev(t->major, t->minor)};
    if (t->uid >= UINT32_MAX || t->gid >= UINT32_MAX)
        return err_set(e, ERR_INVALID, "no user or group has such a number");
    if (t->type == TAR_HARD || t->type == TAR_SYMLINK) {
        y->target = t->link;
        y->gap = t->type == TAR_HARD ? LINK_OPEN : GAP_NONE;
        if (!t->link.n)
            return err_set(e, ERR_INVALID, "it is a link to nothing");
    }
    if (take_records(x, t, y, &holes, e) < 0)
        return -1;
    y->size = y->type == ENTRY_FILE ? t->size : 0;
    const struct content_stream in = {read_file, x, y->size, holes};
    return content_put_stream(x->s, &in, &x->space, &y->content, e);
}

static void describe(struct import_folder *f, const struct file_node *y)
{
    struct file_node was = f->x;
    free(f->xattrs);
    f->xattrs = xstrndup(y->xattrs.p, y->xattrs.n);
    f->x = *y;
    f->x.name = was.name;
    f->x.xattrs = str_n(f->xattrs, y->xattrs.n);
}

static int take_entry(struct importing *x, const struct tar_entry *t, struct err *e)
{
    struct file_node y;
    struct err why = ERR_INIT;
    struct str last;
    struct import_folder *f = find(x, t->name, true, &last, e);
    if (!f)
        return -1;
    if (take_header(x, t, &y, &why) < 0)
        return err_set(e, why.code, "cannot take %.200s of the archive: %s", t->name.p,
                       why.text);
    if (y.type == ENTRY_FOLDER) {
        if (last.n && !(f = folder_in(x, f, last, true, e)))
            return -1;
        describe(f, &y);
        return remember(x, y.xattrs.n, e);
    }
    if (!last.n)
        return err_set(e, ERR_INVALID, "%.200s in the archive is its root, and no folder",
                       t->name.p);
    y.name = last;
    if (y.gap == LINK_OPEN) {
        if (x->links_n == x->links_cap)
            x->links = xrealloc(x->links,
                                x->links_cap = x->links_cap ? 2 * x->links_cap : 64,
                                sizeof(*x->links));
        x->links[x->links_n++] = (struct import_link){f, (uint32_t)f->entries.n};
    }
    return add_entry(x, f, &y, e);
}

/* ---- the end ---- */

static int resolve(struct importing *x, const struct import_link *k, struct err *e)
{
    struct file_node y = entry_at(k->in, k->at), is;
    struct str last;
    struct import_folder *f = find(x, y.target, false, &last, e);
    uint32_t *to = f ? entry_find(f, last) : NULL;
    if (to)
        is = entry_at(f, *to);
    if (e->code)
        return -1;
    if (!to || is.gap == LINK_OPEN)
        return err_set(e, ERR_INVALID,
                       "%.*s in the archive is a link to %.*s, a file that it has not",
                       STR_ARG(y.name), y.target.n > 200 ? 200 : (int)y.target.n,
                       y.target.p);
    if (!is.shared) {
        is.shared = true;
        is.dev = 1;
        *to = write_entry(x, f, &is);
        is = entry_at(f, *to);
    }
    y = entry_at(k->in, k->at);
    uint32_t *own = entry_find(k->in, y.name);
    is.name = y.name;
    *own = write_entry(x, k->in, &is);
    return 0;
}

/* Puts the folder's manifest, which is whole. */
static int put_folder(struct importing *x, struct import_folder *f,
                      struct content_ref *out, struct err *e)
{
    struct buf all = BUF_INIT(MANIFEST_MAX);
    int rc = sort(f, e);
    for (size_t i = 0; rc == 0 && i < f->n; i++) {
        struct str rest = str_sub(buf_str(&f->entries), f->at[i], f->entries.n), raw;
        struct file_node y;
        entry_read(&rest, &y, &raw);
        buf_adds(&all, raw);
        x->count.files += y.type == ENTRY_FILE;
        x->count.folders += y.type == ENTRY_FOLDER;
        x->count.others += y.type != ENTRY_FILE && y.type != ENTRY_FOLDER;
        x->count.bytes += y.size;
    }
    if (rc == 0)
        rc = buf_full(&all) ? err_set(e, ERR_LIMIT, "a folder has too many files")
                            : content_put(x->s, buf_str(&all), out, e);
    buf_release(&all);
    buf_release(&f->entries);
    return rc;
}

static int put_trees(struct importing *x, size_t trees, struct content_ref *out,
                     struct err *e)
{
    struct import_folder *top = x->v[0];
    for (size_t i = x->n; i-- > 1;) {
        struct import_folder *f = x->v[i];
        if (put_folder(x, f, &f->x.content, e) < 0 ||
            add_entry(x, f->above, &f->x, e) < 0)
            return -1;
    }
    if (trees == 1) {
        if (put_folder(x, top, &top->x.content, e) < 0)
            return -1;
        top = add_folder(x, NULL, STR(""));
        return add_entry(x, top, &x->v[0]->x, e) < 0 ? -1 : put_folder(x, top, out, e);
    }
    if (sort(top, e) < 0)
        return -1;
    for (size_t i = 0; i < trees; i++) {
        char name[16];
        buf_fill(name, sizeof(name), "%zu", 10 + i);
        uint32_t *at = entry_find(top, str_of(name));
        if (!at || entry_at(top, *at).type != ENTRY_FOLDER || top->n != trees)
            return err_set(e, ERR_INVALID,
                           "the archive is not one of %zu folders, as export writes it",
                           trees);
    }
    return put_folder(x, top, out, e);
}

static int read_all(struct importing *x, struct err *e)
{
    struct tar_entry t;
    int more = begin(x, e) < 0 ? -1 : 1;
    while (more > 0 && (more = tar_next(x->t, &t, e)) > 0)
        if (take_entry(x, &t, e) < 0)
            return -1;
    if (more == 0 && !tar_is_whole(x->t))
        return err_set(e, ERR_INVALID, "the tar archive is cut off: its end is missing");
    /* The sum of a packed archive is at its end. */
    char rest[512];
    while (more == 0 && x->gz &&
           (more = (int)gunzip_read(x->gz, rest, sizeof(rest), e)) > 0)
        more = 0;
    return more;
}

static int import(struct importing *x, size_t trees, struct content_ref *out,
                  struct err *e)
{
    if (read_all(x, e) < 0)
        return -1;
    for (size_t i = 0; i < x->n; i++)
        if (sort(x->v[i], e) < 0)
            return -1;
    for (size_t i = 0; i < x->links_n; i++)
        if (resolve(x, &x->links[i], e) < 0)
            return -1;
    return put_trees(x, trees, out, e);
}

static void release(struct importing *x)
{
    for (size_t i = 0; i < x->n; i++) {
        buf_release(&x->v[i]->entries);
        free(x->v[i]->at);
        free(x->v[i]->name);
        free(x->v[i]->xattrs);
        free(x->v[i]);
    }
    free(x->v);
    free(x->links);
    map_release(&x->by_name);
    tar_reader_free(x->t);
    gunzip_free(x->gz);
    buf_release(&x->space);
    buf_release(&x->entry);
    buf_release(&x->xattrs);
    buf_release(&x->key);
    buf_release(&x->acls[0]);
    buf_release(&x->acls[1]);
}

/*
 * The archive as a file: one that comes by a pipe is read first, so that a slow sender
 * keeps nobody from the store. Returns -1 and sets *e.
 */
static int whole_input(const struct checkpoint_call *q, struct err *e)
{
    struct stat st;
    char block[1 << 16];
    ssize_t n;
    if (fstat(q->input, &st) == 0 && S_ISREG(st.st_mode))
        return fcntl(q->input, F_DUPFD_CLOEXEC, 0);
    struct store *s = store_open(q->store, false, e);
    int fd = s ? openat(store_folder(s), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    if (s && fd < 0)
        fd = file_of_text("od-archive", STR("")); /* a file system without such files */
    store_close(s);
    while (fd >= 0 && (n = read(q->input, block, sizeof(block))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || file_write_all(fd, str_n(block, (size_t)n)) < 0) {
            close(fd);
            fd = -1;
        }
    }
    if (fd < 0 && !e->code)
        err_sys(e, errno, "cannot read the archive into the store");
    else if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

struct json *do_import(const struct checkpoint_call *q, struct err *e)
{
    struct importing x = {.in = whole_input(q, e),
                          .space = BUF_INIT(MANIFEST_MAX),
                          .entry = BUF_INIT(MANIFEST_MAX),
                          .xattrs = BUF_INIT(XATTR_MAX),
                          .key = BUF_INIT(NAME_BYTES + sizeof(uint32_t)),
                          .acls = {BUF_INIT(XATTR_MAX), BUF_INIT(XATTR_MAX)}};
    struct trees t = {0};
    struct content_ref tree;
    struct json *r = NULL, *out = NULL;
    map_init(&x.by_name);
    add_folder(&x, NULL, STR("10"));
    x.s = x.in >= 0 ? call_store(q, true, e) : NULL;
    if (x.s && trees_of_call(q, &t, e) == 0 && import(&x, t.n, &tree, e) == 0 &&
        store_commit(x.s, false, e) == 0)
        r = record_make(q, x.s, &t, &tree, &x.count, "import", e);
    if (r)
        out = record_shown(r);
    json_free(r);
    trees_release(&t);
    release(&x);
    store_close(x.s);
    if (x.in >= 0)
        close(x.in);
    return out;
}
