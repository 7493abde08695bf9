/* SPDX-License-Identifier: MIT */
#include "checkpoint/scan.h"

#include "base/xalloc.h"
#include "checkpoint/levels.h"
#include "checkpoint/xattr.h"
#include "os/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 3,                /* to read a file that is being written */
    TRY_AGAIN_MAX = 64 << 20, /* bytes of a file that is read more than once */
    GRAIN_NS = 20000000,      /* of the time of files: two ticks of a slow kernel */
    COARSE_NS = 2000000000,   /* of a file system without fractions of a second */
    NAMES_MAX = 1 << 30,
    ENTRIES = 64 << 10
};

struct scan_walk {
    struct tree_scan *q;
    struct levels l;
    uint64_t dev, mount;
    struct scan_frame *spare; /* owned: frames that were used, for the next folders */
    struct buf *space;        /* for a file's bytes */
    struct buf xattrs;        /* of an entry */
    char target[PATH_MAX];
};

/* What a folder needs while it is read. On the heap, since trees are deep. */
struct scan_frame {
    struct buf names, old, out;
    uint32_t *at; /* owned: where names begin, sorted; before each is its type */
    size_t n, cap;
    struct scan_frame *next; /* a spare one */
    struct str rest;         /* of old */
    struct file_node was;    /* the next one there */
    struct str was_raw;
    int has_was;
    struct scan_stat st;
};

static void gap(struct scan_walk *w, struct str name, struct file_node *x, enum gap why)
{
    x->gap = why;
    if (gap_is_empty(why))
        x->content = (struct content_ref){CONTENT_EMPTY, {{0}}};
    w->q->gaps++;
    if (w->q->watch)
        watch_check(w->q->watch);
    if (w->q->gap)
        w->q->gap(w->q->arg, levels_name(&w->l, name), why);
    if (w->q->gap)
        levels_unname(&w->l, name);
}

/* ---- names ---- */

static int by_name(const void *a, const void *b, void *names)
{
    return strcmp((char *)names + *(const uint32_t *)a,
                  (char *)names + *(const uint32_t *)b);
}

static int read_names(int fd, struct scan_frame *f, struct err *e)
{
    _Alignas(8) static char block[ENTRIES];
    for (;;) {
        ssize_t n = sys_entries(fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (f->n)
                qsort_r(f->at, f->n, sizeof(*f->at), by_name, f->names.p);
            return (int)n;
        }
        for (ssize_t i = 0; i < n;) {
            const struct sys_entry *x = (const void *)(block + i);
            i += x->size;
            if (strcmp(x->name, ".") == 0 || strcmp(x->name, "..") == 0)
                continue;
            if (f->n == f->cap)
                f->at = xrealloc(f->at, f->cap = f->cap ? 2 * f->cap : 64,
                                 sizeof(*f->at));
            f->at[f->n++] = (uint32_t)f->names.n;
            buf_add(&f->names, x->name, strlen(x->name) + 1);
        }
        if (buf_full(&f->names))
            return err_set(e, ERR_LIMIT, "a folder has too many files"), errno = EFBIG,
                                                                         -1;
    }
}

/* ---- what the previous checkpoint knows ---- */

static void was_load(struct scan_walk *w, struct scan_frame *f,
                     const struct content_ref *old)
{
    struct err e = ERR_INIT;
    if (old && content_get(w->q->s, old, &f->old, &e) < 0)
        buf_reset(&f->old);
    f->rest = buf_str(&f->old);
    f->has_was = entry_read(&f->rest, &f->was, &f->was_raw);
}

/* Finds the entry of this name; names come in their order. */
static const struct file_node *was_find(struct scan_frame *f, struct str name)
{
    while (f->has_was > 0) {
        size_t n = f->was.name.n < name.n ? f->was.name.n : name.n;
        int r = memcmp(f->was.name.p, name.p, n);
        if (r == 0)
            r = (f->was.name.n > name.n) - (f->was.name.n < name.n);
        if (r == 0)
            return &f->was;
        if (r > 0)
            return NULL;
        f->has_was = entry_read(&f->rest, &f->was, &f->was_raw);
    }
    return NULL;
}

static bool is_unchanged(struct scan_walk *w, const struct file_node *was,
                         const struct file_node *x)
{
    return was && !was->racy && was->gap == GAP_NONE && was->type == x->type &&
           was->ino == x->ino && moment_eq(was->ctime, x->ctime) &&
           moment_eq(was->mtime, x->mtime) && was->size == x->size &&
           was->mode == x->mode && was->uid == x->uid && was->gid == x->gid &&
           was->shared == x->shared && was->dev == x->dev && was->device == x->device &&
           (x->type != ENTRY_FILE || content_is_there(w->q->s, &was->content));
}

/* Could the file change after now without another ctime? */
static bool is_racy(const struct file_node *x)
{
    struct timespec now;
    int64_t grain = x->ctime.ns == 0 ? COARSE_NS : GRAIN_NS;
    clock_gettime(CLOCK_REALTIME, &now);
    if (x->ctime.s > now.tv_sec)
        return true;
    if (now.tv_sec - x->ctime.s > 10)
        return false;
    return (now.tv_sec - x->ctime.s) * 1000000000 + now.tv_nsec - x->ctime.ns <= grain;
}

/* The same of a file that is read, whose bytes programs may write without a time. */
static bool is_racy_file(const struct scan_walk *w, const struct file_node *x)
{
    const struct mapped *m = w->q->mapped;
    int64_t grain_ms = (x->ctime.ns == 0 ? COARSE_NS : GRAIN_NS) / 1000000;
    return is_racy(x) || mapped_has(m, x->ino) ||
           x->ctime.s * 1000 + x->ctime.ns / 1000000 + grain_ms >= m->at;
}

/* ---- entries ---- */

/* Reads xattrs and target of what is neither a file nor a folder. */
__attribute__((noinline)) static int read_special(struct scan_walk *w, int at,
                                                  const char *z, struct file_node *x)
{
    if (x->type == ENTRY_LINK) {
        ssize_t n = readlinkat(at, z, w->target, sizeof(w->target));
        if (n < 0)
            return -1;
        x->target = str_n(w->target, (size_t)n);
        return 0;
    }
    int fd = openat(at, z, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    buf_reset(&w->xattrs);
    int rc = xattr_read(fd, true, &w->xattrs);
    x->xattrs = buf_str(&w->xattrs);
    close(fd);
    return rc;
}

static int open_file(int at, const char *z)
{
    const int how = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(at, z, how | O_NOATIME);
    return fd < 0 && errno == EPERM ? openat(at, z, how) : fd;
}

/* Reads the open file until it does not change meanwhile. Returns -1 if the store fails.
 */
__attribute__((noinline)) static int read_file(struct scan_walk *w, int fd,
                                               struct str name, struct scan_stat *st,
                                               struct err *e)
{
    struct file_node *x = &st->x;
    for (int i = 1;; i++) {
        struct scan_stat now;
        struct err why = ERR_INIT;
        x->racy = is_racy_file(w, x);
        int rc = content_put_file(w->q->s, fd, x->size, st->blocks * 512 < x->size,
                                  !store_only_reads(w->q->s) || x->size <= w->q->stat_max,
                                  w->space, &x->content, &why);
        if (rc < 0) {
            *e = why;
            return -1;
        }
        if (rc == 2 || scan_stat(fd, "", &now) < 0) {
            gap(w, name, x, GAP_FAILED);
            return 0;
        }
        w->q->read++;
        if (rc == 0 && now.x.size == x->size && moment_eq(now.x.mtime, x->mtime) &&
            moment_eq(now.x.ctime, x->ctime))
            return 0;
        if (i == TRIES || x->size > TRY_AGAIN_MAX) {
            gap(w, name, x, rc == 0 ? GAP_CHANGING : GAP_FAILED);
            return 0;
        }
        now.mount = st->mount;
        *st = now;
    }
}

__attribute__((noinline)) static int put_file(struct scan_walk *w, int at, const char *z,
                                              struct str name, struct scan_stat *st,
                                              struct err *e)
{
    struct file_node *x = &st->x;
    struct scan_stat now;
    if (w->q->file_max && x->size > w->q->file_max) {
        gap(w, name, x, GAP_LARGE);
        return 0;
    }
    int fd = open_file(at, z);
    if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
        return 1; /* gone, or another kind of file by now */
    if (fd < 0) {
        gap(w, name, x, errno == EACCES || errno == EPERM ? GAP_UNREADABLE : GAP_FAILED);
        return 0;
    }
    if (scan_stat(fd, "", &now) < 0 || now.x.type != ENTRY_FILE) {
        close(fd);
        return 1;
    }
    *st = now;
    buf_reset(&w->xattrs);
    int rc = read_file(w, fd, name, st, e);
    if (rc == 0 && xattr_read(fd, false, &w->xattrs) < 0 && x->gap == GAP_NONE)
        gap(w, name, x, GAP_FAILED);
    x->xattrs = buf_str(&w->xattrs);
    close(fd);
    return rc;
}

static int put_folder(struct scan_walk *w, const struct content_ref *old,
                      struct content_ref *out, struct err *e);

static bool is_mount(const struct scan_walk *w, const struct scan_stat *st)
{
    if (st->mount && w->mount)
        return st->mount != w->mount;
    return st->x.type == ENTRY_FOLDER && st->dev != w->dev;
}

/*
 * Watches the folder that was entered. It may have changed since it was asked for, before
 * the watch could report that.
 */
static void watch_folder(struct scan_walk *w, struct scan_stat *st)
{
    struct scan_stat now;
    if (!w->q->watch)
        return;
    watch_enter(w->q->watch, levels_fd(&w->l), st->dev, st->x.ino);
    if (scan_stat(levels_fd(&w->l), "", &now) == 0)
        *st = now;
}

/* Takes the folder as it was, if nothing has changed in it and below. */
static bool take_folder(struct scan_walk *w, const struct scan_stat *st,
                        const struct file_node *was)
{
    struct watch_sums n;
    if (!w->q->watch || !is_unchanged(w, was, &st->x) ||
        !watch_take(w->q->watch, st->dev, st->x.ino, &n))
        return false;
    w->q->files += n.files, w->q->folders += n.folders;
    w->q->others += n.others, w->q->bytes += n.bytes;
    return true;
}

static int enter_folder(struct scan_walk *w, struct scan_frame *f, struct str name,
                        const struct file_node *was, struct err *e)
{
    struct file_node *x = &f->st.x;
    bool known = was && was->type == ENTRY_FOLDER;
    if (levels_enter(&w->l, name) < 0) {
        int why = errno;
        if (why == ENOENT || why == ENOTDIR)
            return 1;
        gap(w, name, x,
            why == EACCES || why == EPERM ? GAP_UNREADABLE
            : why == ELOOP                ? GAP_DEEP
                                          : GAP_FAILED);
        return 0;
    }
    struct content_ref content;
    watch_folder(w, &f->st);
    int rc = put_folder(w, known ? &was->content : NULL, &content, e);
    x->content = content;
    x->racy = is_racy(x);
    buf_reset(&w->xattrs);
    if (rc >= 0 && known && !was->racy && was->gap == GAP_NONE && was->ino == x->ino &&
        moment_eq(was->ctime, x->ctime))
        x->xattrs = was->xattrs;
    else if (rc == 0 && xattr_read(levels_fd(&w->l), false, &w->xattrs) < 0)
        rc = 1;
    else if (rc == 0)
        x->xattrs = buf_str(&w->xattrs);
    if (rc >= 0 && levels_leave(&w->l, e) < 0)
        return -1;
    if (rc == 1)
        gap(w, name, x, GAP_FAILED);
    return rc < 0 ? -1 : 0;
}

bool scan_skips(const struct tree_scan *q, struct str path, const struct scan_stat *st)
{
    if (str_starts(path, STR(SCAN_OURS)) && str_chr(path, '/') < 0)
        return true;
    for (size_t i = 0; i < sizeof(q->hidden) / sizeof(q->hidden[0]); i++)
        if (q->hidden[i].ino && st->x.ino == q->hidden[i].ino &&
            st->dev == q->hidden[i].dev)
            return true;
    return q->skip &&
           ignore_match(q->skip, path, st->x.type == ENTRY_FOLDER) == IGNORE_YES;
}

/* Returns 1 if it is gone, or outside the tree; -1 and sets *e. */
static int put_entry(struct scan_walk *w, struct scan_frame *f, const char *z,
                     struct err *e)
{
    struct str name = str_of(z);
    int at = levels_fd(&w->l);
    struct file_node *x = &f->st.x;
    if (scan_stat(at, z, &f->st) < 0) {
        if (errno == ENOENT)
            return 1;
        f->st = (struct scan_stat){.x = {.name = name, .type = ENTRY_FILE}};
        gap(w, name, x, GAP_FAILED);
        return 0;
    }
    bool skips = scan_skips(w->q, levels_name(&w->l, name), &f->st);
    levels_unname(&w->l, name);
    if (skips)
        return 1;
    const struct file_node *was = was_find(f, name);
    if (is_mount(w, &f->st)) {
        x->name = name;
        gap(w, name, x, GAP_MOUNT);
        return 0;
    }
    int rc = 0;
    if (x->type == ENTRY_FOLDER && take_folder(w, &f->st, was)) {
        *x = *was;
    } else if (x->type == ENTRY_FOLDER) {
        rc = enter_folder(w, f, name, was, e);
    } else if (is_unchanged(w, was, x) && !mapped_has(w->q->mapped, x->ino)) {
        *x = *was;
    } else if (x->type == ENTRY_FILE) {
        rc = put_file(w, at, z, name, &f->st, e);
    } else {
        x->racy = is_racy(x);
        if (read_special(w, at, z, x) < 0 && errno == ENOENT)
            return 1;
    }
    /* It is there, but another kind of file each time: named, not passed over. */
    if (rc == 1 && scan_stat(at, z, &f->st) == 0) {
        gap(w, name, x, GAP_FAILED);
        rc = 0;
    }
    if (rc == 0 && x->type == ENTRY_FILE) {
        w->q->files++;
        w->q->bytes += x->size;
    } else if (rc == 0 && x->type != ENTRY_FOLDER) {
        w->q->others++;
    }
    if (rc == 0 && w->q->watch)
        watch_entry(w->q->watch, x, was);
    x->name = name;
    return rc;
}

/* A folder's memory is used for the next one: to get it from the kernel costs more. */
static struct scan_frame *frame_new(struct scan_walk *w)
{
    struct scan_frame *f = w->spare;
    if (f) {
        w->spare = f->next;
        f->n = 0;
        buf_reset(&f->names);
        buf_reset(&f->old);
        buf_reset(&f->out);
        return f;
    }
    f = xnew(struct scan_frame);
    buf_init(&f->names, NAMES_MAX);
    buf_init(&f->old, MANIFEST_MAX);
    buf_init(&f->out, MANIFEST_MAX);
    return f;
}

static void frame_spare(struct scan_walk *w, struct scan_frame *f)
{
    f->next = w->spare;
    w->spare = f;
}

static void frame_free(struct scan_frame *f)
{
    buf_release(&f->names);
    buf_release(&f->old);
    buf_release(&f->out);
    free(f->at);
    free(f);
}

/* The folder that was entered has been read; n: what was counted before. */
static void watched(const struct tree_scan *q, const struct watch_sums *n)
{
    const struct watch_sums in = {q->files - n->files, q->folders - n->folders,
                                  q->others - n->others, q->bytes - n->bytes};
    if (q->watch)
        watch_leave(q->watch, &in);
}

/* Reads the current folder. Returns 1 if the file system fails; -1 if the store does. */
static int put_folder(struct scan_walk *w, const struct content_ref *old,
                      struct content_ref *out, struct err *e)
{
    struct scan_frame *f = frame_new(w);
    struct tree_scan *q = w->q;
    const struct watch_sums n = {q->files, q->folders++, q->others, q->bytes};
    *out = (struct content_ref){CONTENT_EMPTY, {{0}}};
    if (read_names(levels_fd(&w->l), f, e) < 0) {
        frame_spare(w, f);
        watched(q, &n);
        return 1;
    }
    was_load(w, f, old);
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < f->n; i++) {
        rc = put_entry(w, f, f->names.p + f->at[i], e);
        if (rc == 0)
            entry_write(&f->out, &f->st.x);
    }
    if (rc >= 0 && buf_full(&f->out))
        rc = err_set(e, ERR_LIMIT, "a folder has too many files");
    if (rc >= 0 && old && f->out.n && str_eq(buf_str(&f->out), buf_str(&f->old)))
        *out = *old;
    else if (rc >= 0)
        rc = content_put(w->q->s, buf_str(&f->out), out, e);
    frame_spare(w, f);
    watched(q, &n);
    return rc < 0 ? -1 : 0;
}

int scan_tree(struct tree_scan *q, struct file_node *root, struct buf *space,
              struct err *e)
{
    struct scan_walk *w = xnew(struct scan_walk);
    struct scan_stat st;
    w->q = q;
    w->space = space;
    buf_init(&w->xattrs, 4 * XATTR_MAX);
    if (levels_init(&w->l, q->root) < 0 || scan_stat(q->root, "", &st) < 0) {
        int why = errno;
        levels_release(&w->l);
        free(w);
        return err_sys(e, why, "cannot read the folder");
    }
    w->dev = st.dev;
    w->mount = st.mount;
    watch_folder(w, &st);
    lseek(q->root, 0, SEEK_SET); /* it may have been read before */
    *root = st.x;
    int rc = put_folder(w, q->last, &root->content, e);
    if (rc == 1)
        rc = err_set(e, ERR_DENIED, "cannot list the folder");
    /* The root's xattrs follow in the buffer of the caller. */
    buf_reset(space);
    if (rc == 0 && xattr_read(q->root, false, space) < 0)
        rc = err_sys(e, errno, "cannot read the folder's attributes");
    else if (rc == 0)
        root->xattrs = buf_str(space);
    for (struct scan_frame *f; (f = w->spare);) {
        w->spare = f->next;
        frame_free(f);
    }
    levels_release(&w->l);
    buf_release(&w->xattrs);
    free(w);
    return rc;
}
