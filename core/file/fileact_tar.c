/* SPDX-License-Identifier: MIT */
/*
 * Tar, both ways. Input is hostile: a name or a link that leads out, and a device are
 * errors, and no link is ever followed. A link's target may go up, only at its
 * beginning, and at most to the folder that is unpacked: then it stays inside, whatever
 * other links do.
 */
#include "archive/tar_write.h"
#include "archive/zip_gz.h"
#include "base/xalloc.h"
#include "file/fileact_own.h"
#include "os/file.h"
#include "text/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* ---- writing ---- */

struct writing {
    struct fa *f;
    int out;
    struct gzip *gz; /* NULL: as it is */
    const struct fa_tar_rules *rules;
    size_t root; /* the bytes of name before the part relative to the folder */
    struct buf head, name;
};

static int put_out(void *arg, struct str bytes, struct err *e)
{
    struct writing *w = arg;
    return file_write_all(w->out, bytes) < 0
               ? err_sys(e, errno, "cannot write the archive")
               : 0;
}

static int put(struct writing *w, struct str bytes, struct err *e)
{
    return w->gz ? gzip_write(w->gz, bytes, e) : put_out(w, bytes, e);
}

static int put_header(struct writing *w, const struct stat *st, enum tar_type type,
                      struct str link, struct err *e)
{
    struct tar_entry x = {.name = buf_str(&w->name),
                          .link = link,
                          .type = type,
                          .size = type == TAR_FILE ? (uint64_t)st->st_size : 0,
                          .mode = st->st_mode & 07777,
                          .uid = st->st_uid,
                          .gid = st->st_gid,
                          .mtime = st->st_mtime};
    buf_reset(&w->head);
    return tar_add_header(&w->head, &x, e) < 0 ? -1 : put(w, buf_str(&w->head), e);
}

/* The size in the header, even if the file has another one now. */
static int put_file(struct writing *w, int fd, const struct stat *st, struct err *e)
{
    uint64_t left = (uint64_t)st->st_size;
    char *block = w->f->block;
    if (put_header(w, st, TAR_FILE, STR(""), e) < 0)
        return -1;
    while (left > 0) {
        size_t want = left < FA_BLOCK ? (size_t)left : FA_BLOCK;
        ssize_t n = read(fd, block, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            fa_warn(w->f, "%s is cut off", buf_z(&w->name));
            memset(block, 0, want);
            n = (ssize_t)want;
        }
        if (put(w, str_n(block, (size_t)n), e) < 0)
            return -1;
        left -= (uint64_t)n;
        w->f->bytes += (uint64_t)n;
    }
    memset(block, 0, TAR_BLOCK);
    w->f->files++;
    return put(w, str_n(block, tar_padding((uint64_t)st->st_size)), e);
}

/* ---- omitted entries ---- */

/*
 * Whether a path is a file in a .git that may hold a secret. Refs and objects are not
 * such files: they may have any name.
 */
static bool is_secret(struct str path)
{
    static const char *const names[] = {"config", "config.worktree", "credentials",
                                        ".git-credentials", "FETCH_HEAD"};
    bool git = false;
    while (path.n > 0) {
        struct str part = str_cut(&path, '/');
        if (git && (str_eq(part, STR("refs")) || str_eq(part, STR("objects"))))
            return false;
        if (git && str_eq(part, STR("logs")))
            return true;
        for (size_t i = 0; git && path.n == 0 && i < 5; i++) {
            if (str_eq(part, str_of(names[i])))
                return true;
        }
        git = git || str_eq(part, STR(".git"));
    }
    return false;
}

static bool is_left_out(const struct writing *w, const struct stat *st)
{
    const struct fa_tar_rules *r = w->rules;
    struct str path = str_sub(buf_str(&w->name), w->root, w->name.n);
    if ((r->no_links && S_ISLNK(st->st_mode)) || (r->no_secrets && is_secret(path)))
        return true;
    return r->ignore && ignore_match(r->ignore, path, S_ISDIR(st->st_mode)) == IGNORE_YES;
}

/* ---- entries ---- */

static int put_node(struct writing *w, int dir, const char *name, int depth,
                    struct err *e);

/* Takes fd. */
static int put_below(struct writing *w, int fd, int depth, struct err *e)
{
    ASSERT(fd >= 0);
    struct fa_names names = {0};
    struct err why = ERR_INIT;
    int list = openat(fd, ".", FOLDER), rc = 0;
    if (list < 0 || fa_names(&names, list, buf_z(&w->name), &why) < 0)
        fa_warn(w->f, "%s is left out: it cannot be listed", buf_z(&w->name));
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        size_t before = w->name.n;
        buf_addz(&w->name, names.v[i]);
        rc = put_node(w, fd, names.v[i], depth, e);
        buf_truncate(&w->name, before);
    }
    fa_names_free(&names);
    close(fd);
    return rc;
}

static int put_folder(struct writing *w, int dir, const char *name, int depth,
                      const struct stat *st, struct err *e)
{
    int fd = depth < FA_DEPTH ? openat(dir, name, FOLDER) : -1;
    if (fd < 0) {
        fa_warn(w->f, "%s is left out: it cannot be entered", buf_z(&w->name));
        return 0;
    }
    if (buf_addc(&w->name, '/') < 0 || put_header(w, st, TAR_FOLDER, STR(""), e) < 0) {
        close(fd);
        return -1;
    }
    return put_below(w, fd, depth + 1, e);
}

static int put_link(struct writing *w, int dir, const char *name, const struct stat *st,
                    struct err *e)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir, name, target, sizeof(target));
    if (n < 0) {
        fa_warn(w->f, "%s is left out: it cannot be read", buf_z(&w->name));
        return 0;
    }
    w->f->files++;
    return put_header(w, st, TAR_SYMLINK, str_n(target, (size_t)n), e);
}

static int put_regular(struct writing *w, int dir, const char *name, struct err *e)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        fa_warn(w->f, "%s is left out: it cannot be read", buf_z(&w->name));
    else if (!w->rules->skip || st.st_ino != w->rules->skip->st_ino ||
             st.st_dev != w->rules->skip->st_dev)
        rc = put_file(w, fd, &st, e);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int put_node(struct writing *w, int dir, const char *name, int depth,
                    struct err *e)
{
    struct stat st;
    if (w->name.n > TAR_NAME_MAX || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        fa_warn(w->f, "%.200s is left out: its name is too long, or it is gone", name);
        return 0;
    }
    if (is_left_out(w, &st))
        return 0;
    if (S_ISDIR(st.st_mode))
        return put_folder(w, dir, name, depth, &st, e);
    if (S_ISLNK(st.st_mode))
        return put_link(w, dir, name, &st, e);
    return S_ISREG(st.st_mode) ? put_regular(w, dir, name, e) : 0;
}

/* The folder that all names begin with, if one is wanted. */
static int put_root(struct writing *w, const struct stat *st, struct err *e)
{
    if (!w->rules->root)
        return 0;
    buf_addf(&w->name, "%s/", w->rules->root);
    w->root = w->name.n;
    return put_header(w, st, TAR_FOLDER, STR(""), e);
}

int fa_tar_write(struct fa *f, int fd, const char *path, int out, bool gzip,
                 const struct fa_tar_rules *rules, struct err *e)
{
    struct writing w = {.f = f,
                        .out = out,
                        .rules = rules,
                        .head = BUF_INIT(64 << 10),
                        .name = BUF_INIT(2 * TAR_NAME_MAX)};
    struct stat st;
    int rc = 0, keep;
    if (gzip && !(w.gz = gzip_new(put_out, &w, e)))
        return -1;
    if (fstat(fd, &st) < 0) {
        rc = fa_fail(e, errno, "read", path);
    } else if (S_ISDIR(st.st_mode)) {
        keep = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (keep < 0)
            rc = fa_fail(e, errno, "read", path);
        else if (put_root(&w, &st, e) < 0)
            rc = (close(keep), -1);
        else
            rc = put_below(&w, keep, 0, e);
    } else {
        const char *slash = strrchr(path, '/');
        buf_addz(&w.name, slash ? slash + 1 : path);
        rc = put_file(&w, fd, &st, e);
    }
    buf_reset(&w.head);
    if (rc == 0 && rules->last)
        rc = rules->last(f, rules, &w.head, e);
    if (rc == 0 && (tar_add_end(&w.head, e) < 0 || put(&w, buf_str(&w.head), e) < 0 ||
                    (w.gz && gzip_finish(w.gz, e) < 0)))
        rc = -1;
    gzip_free(w.gz);
    buf_release(&w.head);
    buf_release(&w.name);
    return rc;
}

/* ---- reading ---- */

/* A folder gets its mode when nothing more is made in it. */
struct dressed {
    char *name;
    mode_t mode;
    int64_t mtime;
};

struct tar_reading {
    struct fa *f;
    int in, root;
    struct gunzip *gz; /* NULL: as it is */
    uint64_t packed, plain;
    const struct fa_limits *limits;
    struct dressed *v;
    size_t n, cap;
    mode_t umask;
};

static ssize_t read_in(void *arg, void *p, size_t n, struct err *e)
{
    struct tar_reading *r = arg;
    ssize_t got;
    do {
        got = read(r->in, p, n);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_sys(e, errno, "cannot read the archive");
    r->packed += (uint64_t)got;
    return got;
}

static ssize_t read_plain(void *arg, void *p, size_t n, struct err *e)
{
    struct tar_reading *r = arg;
    ssize_t got = r->gz ? gunzip_read(r->gz, p, n, e) : read_in(r, p, n, e);
    if (got <= 0)
        return got;
    r->plain += (uint64_t)got;
    return fa_check_size(r->limits, r->plain, r->packed, e) < 0 ? -1 : got;
}

/*
 * Gets the name without empty parts and dots. Returns -1 and sets *e if it leads out, or
 * is empty.
 */
static int clean(struct str name, char out[TAR_NAME_MAX + 1], struct err *e)
{
    struct str rest = name;
    size_t n = 0;
    bool outside = str_starts(name, STR("/"));
    while (rest.n > 0) {
        struct str part = str_cut(&rest, '/');
        outside = outside || str_eq(part, STR(".."));
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (n)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    out[n] = 0;
    return outside ? err_set(e, ERR_DENIED, "%.*s leads out of the folder",
                             (int)(name.n < 200 ? name.n : 200), name.p)
                   : 0;
}

/* Does a link in a folder that many folders deep stay inside? */
static bool stays_inside(struct str target, size_t depth)
{
    bool down = false;
    if (str_starts(target, STR("/")))
        return false;
    while (target.n > 0) {
        struct str part = str_cut(&target, '/');
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (!str_eq(part, STR("..")))
            down = true;
        else if (down || depth-- == 0)
            return false;
    }
    return true;
}

static size_t depth_of(const char *name)
{
    size_t n = 0;
    for (; *name; name++)
        n += *name == '/';
    return n;
}

/*
 * The folder that `name` is in, made where it is missing; *last is the rest. Returns -1
 * and sets *e.
 */
static int enter(struct tar_reading *r, const char *name, const char **last,
                 struct err *e)
{
    int dir = fcntl(r->root, F_DUPFD_CLOEXEC, 0);
    const char *slash;
    while (dir >= 0 && (slash = strchr(name, '/'))) {
        char part[TAR_NAME_MAX + 1];
        memcpy(part, name, (size_t)(slash - name));
        part[slash - name] = 0;
        int next = openat(dir, part, FOLDER);
        if (next < 0 && errno == ENOENT && mkdirat(dir, part, 0777) == 0)
            next = openat(dir, part, FOLDER);
        int why = errno;
        close(dir);
        errno = why;
        dir = next;
        name = slash + 1;
    }
    *last = name;
    if (dir < 0 && (errno == ELOOP || errno == ENOTDIR))
        return err_set(e, ERR_DENIED,
                       "the archive has an entry below a link, or below something that "
                       "is not a folder");
    return dir < 0 ? fa_fail(e, errno, "enter the folder of", name) : dir;
}

static int make_folder(struct tar_reading *r, int dir, const char *name, const char *path,
                       const struct tar_entry *x, struct err *e)
{
    struct stat st;
    if (mkdirat(dir, name, 0777) < 0 &&
        (errno != EEXIST || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
         !S_ISDIR(st.st_mode)))
        return fa_fail(e, errno, "make the folder", path);
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        r->v = xrealloc(r->v, r->cap, sizeof(*r->v));
    }
    r->v[r->n++] = (struct dressed){xstrdup(path), x->mode, x->mtime};
    return 0;
}

static void set_time(int dir, const char *name, int64_t mtime)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = mtime}};
    utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
}

static int make_file(struct tar_reading *r, struct tar_reader *t, int dir,
                     const char *name, const struct tar_entry *x, struct err *e)
{
    mode_t mode = x->mode & 0777 & ~r->umask;
    int64_t mtime = x->mtime;
    unlinkat(dir, name, 0);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    ssize_t n = 0;
    int rc = fd < 0 ? fa_fail(e, errno, "make", name) : 0;
    while (rc == 0 && (n = tar_read(t, r->f->block, FA_BLOCK, e)) > 0) {
        r->f->bytes += (uint64_t)n;
        if (fa_check_size(r->limits, r->f->bytes, UINT64_MAX, e) < 0)
            rc = -1;
        else if (file_write_all(fd, str_n(r->f->block, (size_t)n)) < 0)
            rc = fa_fail(e, errno, "write", name);
    }
    if (n < 0)
        rc = -1;
    if (rc == 0 && fchmod(fd, mode) < 0)
        rc = fa_fail(e, errno, "set the mode of", name);
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = fa_fail(e, errno, "write", name);
    if (rc == 0)
        set_time(dir, name, mtime);
    return rc;
}

static int make_symlink(int dir, const char *name, const char *path,
                        const struct tar_entry *x, struct err *e)
{
    if (!stays_inside(x->link, depth_of(path)))
        return err_set(e, ERR_DENIED,
                       "the link %.150s leads out of the folder, to %.150s", path,
                       x->link.p);
    unlinkat(dir, name, 0);
    return symlinkat(x->link.p, dir, name) < 0 ? fa_fail(e, errno, "make the link", path)
                                               : 0;
}

/* Another name of a file that was unpacked before. */
static int make_hard(struct tar_reading *r, int dir, const char *name,
                     const struct tar_entry *x, struct err *e)
{
    char target[TAR_NAME_MAX + 1];
    const char *last;
    struct stat st;
    if (clean(x->link, target, e) < 0)
        return -1;
    int from = enter(r, target, &last, e), rc = 0;
    if (from < 0)
        return -1;
    if (fstatat(from, last, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        rc = err_set(e, ERR_INVALID, "the archive links to %.200s, which is not in it",
                     target);
    else if ((unlinkat(dir, name, 0), linkat(from, last, dir, name, 0)) < 0)
        rc = fa_fail(e, errno, "make the link", name);
    close(from);
    return rc;
}

static int make_entry(struct tar_reading *r, struct tar_reader *t,
                      const struct tar_entry *x, struct err *e)
{
    char path[TAR_NAME_MAX + 1];
    const char *last;
    if (clean(x->name, path, e) < 0)
        return -1;
    if (x->sparse)
        return err_set(e, ERR_UNSUPPORTED, "%.200s is a sparse file of GNU tar", path);
    if (x->type == TAR_CHAR || x->type == TAR_BLOCK_DEVICE || x->type == TAR_FIFO)
        return err_set(e, ERR_DENIED, "%.200s is a device or a pipe", path);
    if (x->type == TAR_OTHER || path[0] == 0)
        return 0;
    int dir = enter(r, path, &last, e), rc;
    if (dir < 0)
        return -1;
    if (x->type == TAR_FOLDER)
        rc = make_folder(r, dir, last, path, x, e);
    else if (x->type == TAR_SYMLINK)
        rc = make_symlink(dir, last, path, x, e);
    else if (x->type == TAR_HARD)
        rc = make_hard(r, dir, last, x, e);
    else
        rc = make_file(r, t, dir, last, x, e);
    close(dir);
    return rc;
}

/* The last ones first: a folder's content is written before its mode is set. */
static void dress(struct tar_reading *r)
{
    struct err e = ERR_INIT;
    while (r->n > 0) {
        struct dressed *d = &r->v[--r->n];
        const char *last;
        int dir = enter(r, d->name, &last, &e);
        int fd = dir < 0 ? -1 : openat(dir, last, FOLDER);
        /* Its own user keeps the right to go on with it. */
        if (fd >= 0) {
            fchmod(fd, (d->mode & 0777 & ~r->umask) | 0700);
            set_time(dir, last, d->mtime);
            close(fd);
        }
        if (dir >= 0)
            close(dir);
        free(d->name);
    }
    free(r->v);
}

int fa_tar_read(struct fa *f, int in, bool gzip, int dir, const struct fa_limits *l,
                struct err *e)
{
    struct tar_reading r = {
        .f = f, .in = in, .root = dir, .limits = l, .umask = umask(0)};
    struct tar_source source = {.read = read_plain, .arg = &r};
    struct tar_entry x;
    int rc;
    umask(r.umask);
    if (gzip && !(r.gz = gunzip_new(read_in, &r, e)))
        return -1;
    struct tar_reader *t = tar_reader_new(&source);
    while ((rc = tar_next(t, &x, e)) > 0) {
        if (++f->files > l->files)
            rc = err_set(e, ERR_LIMIT, "the archive has more than %llu entries",
                         (unsigned long long)l->files);
        else
            rc = make_entry(&r, t, &x, e);
        if (rc < 0)
            break;
    }
    dress(&r);
    tar_reader_free(t);
    gunzip_free(r.gz);
    return rc;
}
