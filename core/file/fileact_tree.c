/* SPDX-License-Identifier: MIT */
/*
 * Trees. They are walked by descriptors, without following links, so that a folder that
 * is moved or replaced meanwhile leads nowhere else.
 */
#include "base/xalloc.h"
#include "file/fileact_own.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* ---- removing ---- */

/* Where we came from; a tree may be deeper than there are descriptors. */
struct above {
    char *name; /* owned: of the folder that we are in, in the one above */
    dev_t dev;  /* of the one above */
    ino_t ino;
};

struct removal {
    struct fa *f;
    int fd; /* the folder we are in */
    dev_t dev;
    struct above *v;
    size_t n, cap;
};

/*
 * Removes from the folder all that is not a folder. Returns 1 and a folder in it as name;
 * 0: it is empty.
 */
static int remove_files(struct removal *r, char name[NAME_MAX + 1], const char *path,
                        struct err *e)
{
    int fd = openat(r->fd, ".", FOLDER), rc = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *x;
    if (!d) {
        rc = fa_fail(e, errno, "list a folder below", path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, x = readdir(d))) {
        if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0)
            continue;
        if (unlinkat(r->fd, x->d_name, 0) == 0) {
            r->f->files++;
        } else if (errno == EISDIR || errno == EPERM) {
            struct stat st;
            int why = errno;
            if (fstatat(r->fd, x->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISDIR(st.st_mode)) {
                snprintf(name, NAME_MAX + 1, "%s", x->d_name);
                rc = 1;
            } else {
                rc = fa_fail(e, why, "remove all of", path);
            }
        } else if (errno != ENOENT) {
            rc = fa_fail(e, errno, "remove all of", path);
        }
    }
    if (rc == 0 && errno)
        rc = fa_fail(e, errno, "list a folder below", path);
    closedir(d);
    return rc;
}

static int go_down(struct removal *r, const char *name, const char *path, struct err *e)
{
    struct stat here, st;
    int fd = openat(r->fd, name, FOLDER);
    if (fd < 0 || fstat(fd, &st) < 0 || fstat(r->fd, &here) < 0) {
        if (fd >= 0)
            close(fd);
        return fa_fail(e, errno, "enter a folder below", path);
    }
    if (st.st_dev != r->dev) {
        close(fd);
        return err_set(e, ERR_BUSY,
                       "cannot remove %.200s: %.100s in it is another file system", path,
                       name);
    }
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        r->v = xrealloc(r->v, r->cap, sizeof(*r->v));
    }
    r->v[r->n++] = (struct above){xstrdup(name), here.st_dev, here.st_ino};
    close(r->fd);
    r->fd = fd;
    return 0;
}

static int go_up(struct removal *r, const char *path, struct err *e)
{
    struct above *a = &r->v[r->n - 1];
    struct stat st;
    int fd = openat(r->fd, "..", FOLDER);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != a->dev || st.st_ino != a->ino) {
        if (fd >= 0)
            close(fd);
        return err_set(e, ERR_BUSY, "cannot remove %.200s: it was moved meanwhile", path);
    }
    close(r->fd);
    r->fd = fd;
    if (unlinkat(fd, a->name, AT_REMOVEDIR) < 0 && errno != ENOENT && errno != ENOTEMPTY)
        return fa_fail(e, errno, "remove a folder of", path);
    r->f->files++;
    free(a->name);
    r->n--;
    return 0;
}

static int remove_folder(struct fa *f, const char *path, struct err *e)
{
    struct removal r = {.f = f, .fd = open(path, FOLDER)};
    struct stat st;
    char name[NAME_MAX + 1];
    int rc = r.fd < 0 || fstat(r.fd, &st) < 0 ? fa_fail(e, errno, "remove", path) : 0;
    r.dev = rc == 0 ? st.st_dev : 0;
    while (rc == 0) {
        rc = remove_files(&r, name, path, e);
        if (rc > 0)
            rc = go_down(&r, name, path, e);
        else if (rc == 0 && r.n > 0)
            rc = go_up(&r, path, e);
        else
            break;
    }
    while (r.n > 0)
        free(r.v[--r.n].name);
    free(r.v);
    if (r.fd >= 0)
        close(r.fd);
    if (rc == 0 && rmdir(path) < 0)
        rc = fa_fail(e, errno, "remove", path);
    f->files += rc == 0;
    return rc;
}

int fa_remove_tree(struct fa *f, const char *path, struct err *e)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return fa_fail(e, errno, "remove", path);
    if (S_ISDIR(st.st_mode))
        return remove_folder(f, path, e);
    if (unlink(path) < 0)
        return fa_fail(e, errno, "remove", path);
    f->files++;
    return 0;
}

/* ---- copying ---- */

/* Copies the bytes from..to. Returns -1 with errno. */
static int copy_range(struct fa *f, int in, int out, off_t from, off_t to)
{
    if (lseek(in, from, SEEK_SET) < 0 || lseek(out, from, SEEK_SET) < 0)
        return -1;
    while (from < to) {
        size_t want = to - from < (off_t)sizeof(f->block) ? (size_t)(to - from)
                                                          : sizeof(f->block);
        ssize_t n = read(in, f->block, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || file_write_all(out, str_n(f->block, (size_t)n)) < 0)
            return -1;
        if (n == 0)
            return 0; /* it has become shorter */
        from += n;
        f->bytes += (uint64_t)n;
    }
    return 0;
}

/* Copies all bytes; a hole in the file is a hole in the copy. */
static int copy_bytes(struct fa *f, int in, int out, off_t size)
{
    off_t at = 0;
    while (at < size) {
        off_t data = lseek(in, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        off_t hole = data < 0 ? size : lseek(in, data, SEEK_HOLE);
        data = data < 0 ? at : data;
        if (hole < 0 || hole > size)
            hole = size;
        if (copy_range(f, in, out, data, hole) < 0)
            return -1;
        at = hole;
    }
    return ftruncate(out, size);
}

static void copy_times(int fd, const struct stat *st)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    futimens(fd, times);
}

static int copy_node(struct fa *f, int from, const char *name, int to, const char *as,
                     int depth, struct err *e);

static int copy_file(struct fa *f, int from, const char *name, int to, const char *as,
                     struct err *e)
{
    struct stat st;
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), out = -1;
    int rc = 0;
    if (in < 0 || fstat(in, &st) < 0)
        rc = fa_fail(e, errno, "read", name);
    else if (!S_ISREG(st.st_mode))
        rc = fa_fail(e, EINVAL, "copy", name);
    else if ((out = openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
        rc = fa_fail(e, errno, "write a copy of", name);
    else if (copy_bytes(f, in, out, st.st_size) < 0 || fchmod(out, st.st_mode & 0777) < 0)
        rc = fa_fail(e, errno, "copy", name);
    if (rc == 0)
        copy_times(out, &st);
    if (out >= 0 && close(out) < 0 && rc == 0)
        rc = fa_fail(e, errno, "copy", name);
    if (in >= 0)
        close(in);
    f->files += rc == 0;
    return rc;
}

static int copy_link(struct fa *f, int from, const char *name, int to, const char *as,
                     struct err *e)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
    if (n >= 0)
        target[n] = 0;
    if (n < 0 || symlinkat(target, to, as) < 0)
        return fa_fail(e, errno, "copy the link", name);
    f->files++;
    return 0;
}

static int copy_folder(struct fa *f, int from, const char *name, int to, const char *as,
                       int depth, struct err *e)
{
    struct fa_names names = {0};
    struct stat st;
    int in = -1, list = -1, out = -1, rc = 0;
    if (depth == FA_DEPTH)
        return err_set(e, ERR_LIMIT,
                       "cannot copy %.200s: it is more than %d folders deep", name,
                       FA_DEPTH);
    if ((in = openat(from, name, FOLDER)) < 0 || fstat(in, &st) < 0 ||
        (list = openat(in, ".", FOLDER)) < 0)
        rc = fa_fail(e, errno, "read the folder", name);
    else if (mkdirat(to, as, 0700) < 0 || (out = openat(to, as, FOLDER)) < 0)
        rc = fa_fail(e, errno, "make a copy of", name);
    if (rc == 0)
        rc = fa_names(&names, list, name, e);
    else if (list >= 0)
        close(list);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        rc = copy_node(f, in, names.v[i], out, names.v[i], depth + 1, e);
    fa_names_free(&names);
    if (rc == 0 && fchmod(out, st.st_mode & 0777) < 0)
        rc = fa_fail(e, errno, "copy", name);
    if (rc == 0)
        copy_times(out, &st);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    f->files += rc == 0;
    return rc;
}

static int copy_node(struct fa *f, int from, const char *name, int to, const char *as,
                     int depth, struct err *e)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return fa_fail(e, errno, "copy", name);
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return copy_file(f, from, name, to, as, e);
    case S_IFLNK:
        return copy_link(f, from, name, to, as, e);
    case S_IFDIR:
        return copy_folder(f, from, name, to, as, depth, e);
    default:
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot copy %.200s: it is a pipe, a socket or a device", name);
    }
}

int fa_copy_tree(struct fa *f, const char *from, const char *to, struct err *e)
{
    return copy_node(f, AT_FDCWD, from, AT_FDCWD, to, 0, e);
}
