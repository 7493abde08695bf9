/* SPDX-License-Identifier: MIT */
/*
 * The unpacking child of archive.h.
 *
 * A name is walked folder by folder with O_NOFOLLOW, so that no link, even one made
 * meanwhile, leads out of the destination; the folder of the previous file is kept
 * open, since the next one is mostly there too. A file is written in a folder of our
 * own at the destination and then moved to its place. On another file system, where a
 * move is not possible, it is written next to its place.
 */
#include "file/archive_own.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct unzip {
    const struct archive_unzip_job *job;
    struct zip_reader *r;
    struct archive_count count;
    int root, tmp; /* the destination; our folder in it */
    dev_t root_dev;
    int dir; /* the folder of `path`; may be root */
    dev_t dir_dev;
    gid_t dir_gid;
    bool dir_setgid;
    char path[ZIP_NAME_MAX + 1]; /* cleaned name of the entry */
    char dir_path[ZIP_NAME_MAX + 1];
    char tmp_name[64];
    mode_t umask;
    char block[ARCHIVE_BLOCK];
};

static void tmp_names(const char *token, char folder[64], char file[64])
{
    snprintf(folder, 64, ".od-unzip-%s", token);
    snprintf(file, 64, ".od-part-%s", token);
}

void archive_unzip_clean(int dir, const char *token)
{
    char folder[64], file[64];
    tmp_names(token, folder, file);
    int fd = openat(dir, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    unlinkat(fd, file, 0);
    close(fd);
    unlinkat(dir, folder, AT_REMOVEDIR);
}

/*
 * The name without what leads out or nowhere: empty parts, `.` and `..`. Strict:
 * -1 where that would change its meaning. An empty result is a name of nothing.
 */
static int clean_name(struct unzip *u, struct str name, struct err *e)
{
    struct str rest = name;
    size_t n = 0;
    bool outside = str_starts(name, STR("/"));
    while (rest.n > 0) {
        struct str part = str_cut(&rest, '/');
        if (str_eq(part, STR("..")))
            outside = true;
        else if (part.n && !str_eq(part, STR("."))) {
            if (n)
                u->path[n++] = '/';
            memcpy(u->path + n, part.p, part.n);
            n += part.n;
        }
    }
    u->path[n] = 0;
    if (outside && u->job->spec.strict)
        return err_set(e, ERR_DENIED, "%.*s leads out of the folder",
                       (int)(name.n < 200 ? name.n : 200), name.p);
    return 0;
}

/* ---- folders ---- */

static bool owned(const struct unzip *u)
{
    return u->job->spec.uid != (uid_t)-1 || u->job->spec.gid != (gid_t)-1;
}

/* Opens, or makes, the folder `name` in dir. */
static int step(struct unzip *u, int dir, const char *name, struct err *e)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags);
    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
            return err_sys(e, errno, "cannot make the folder of %.200s", u->path);
        fd = openat(dir, name, flags);
        if (fd >= 0 && owned(u) && fchown(fd, u->job->spec.uid, u->job->spec.gid) < 0) {
            int why = errno;
            close(fd);
            return err_sys(e, why, "cannot give away the folder of %.200s", u->path);
        }
    }
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return err_set(e, ERR_EXISTS,
                       "cannot unpack %.150s: %.100s exists there and is not a folder, "
                       "or is a link to one",
                       u->path, name);
    if (fd < 0)
        return err_sys(e, errno, "cannot open the folder of %.200s", u->path);
    return fd;
}

static void leave_dir(struct unzip *u)
{
    if (u->dir != u->root)
        close(u->dir);
    u->dir = u->root;
    u->dir_path[0] = 0;
}

/* Makes u->dir the folder of that (cleaned) path, below the destination. */
static int enter_dir(struct unzip *u, struct str path, struct err *e)
{
    if (str_eq(path, str_of(u->dir_path)))
        return 0;
    leave_dir(u);
    struct str rest = path;
    while (rest.n > 0) {
        struct str part = str_cut(&rest, '/');
        char name[ZIP_NAME_MAX + 1];
        memcpy(name, part.p, part.n);
        name[part.n] = 0;
        int fd = step(u, u->dir, name, e);
        if (u->dir != u->root)
            close(u->dir);
        u->dir = fd < 0 ? u->root : fd;
        if (fd < 0)
            return -1;
    }
    struct stat st;
    if (fstat(u->dir, &st) < 0)
        return err_sys(e, errno, "cannot look at the folder of %.200s", u->path);
    u->dir_dev = st.st_dev;
    u->dir_gid = st.st_gid;
    u->dir_setgid = st.st_mode & S_ISGID;
    memcpy(u->dir_path, path.p, path.n);
    u->dir_path[path.n] = 0;
    return 0;
}

/* ---- files ---- */

static int write_bytes(struct unzip *u, int fd, struct err *e)
{
    for (;;) {
        ssize_t n = zip_read(u->r, u->block, sizeof(u->block), e);
        if (n <= 0)
            return (int)n;
        if (file_write_all(fd, str_n(u->block, (size_t)n)) < 0)
            return err_sys(e, errno, "cannot write %.200s", u->path);
        archive_tell(&u->count, 0, (uint64_t)n, false);
    }
}

/* Owner, group of a set-gid folder, permissions. */
static int dress(struct unzip *u, int fd, const struct zip_entry *x, struct err *e)
{
    gid_t gid = u->job->spec.gid;
    if (gid == (gid_t)-1 && u->dir_setgid)
        gid = u->dir_gid;
    if ((u->job->spec.uid != (uid_t)-1 || gid != (gid_t)-1) &&
        fchown(fd, u->job->spec.uid, gid) < 0)
        return err_sys(e, errno, "cannot give away %.200s", u->path);
    if (u->job->spec.modes && x->mode && fchmod(fd, x->mode & 0777 & ~u->umask) < 0)
        return err_sys(e, errno, "cannot set the permissions of %.200s", u->path);
    return 0;
}

static int put_file(struct unzip *u, const struct zip_entry *x, const char *name,
                    struct err *e)
{
    int where = u->dir_dev == u->root_dev ? u->tmp : u->dir;
    int fd = openat(where, u->tmp_name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(e, errno, "cannot make %.200s", u->path);
    int rc = write_bytes(u, fd, e);
    if (rc == 0)
        rc = dress(u, fd, x, e);
    if (close(fd) < 0 && rc == 0)
        rc = err_sys(e, errno, "cannot write %.200s", u->path);
    if (rc == 0 && renameat(where, u->tmp_name, u->dir, name) < 0)
        rc = err_sys(e, errno, "cannot put %.200s in its place", u->path);
    if (rc < 0)
        unlinkat(where, u->tmp_name, 0);
    else
        archive_tell(&u->count, 1, 0, false);
    return rc;
}

static int unpack_entry(struct unzip *u, const struct zip_entry *x, struct err *e)
{
    if (clean_name(u, x->name, e) < 0)
        return -1;
    if (S_ISLNK(x->mode) && u->job->spec.strict)
        return err_set(e, ERR_DENIED, "%.200s is a link", u->path);
    struct str path = str_of(u->path);
    if (!path.n) {
        if (!x->folder)
            archive_warn(&u->count, "the name of an entry has only dots and slashes");
        return 0;
    }
    if (x->folder)
        return enter_dir(u, path, e);
    size_t slash = path.n;
    while (slash > 0 && path.p[slash - 1] != '/')
        slash--;
    if (enter_dir(u, str_sub(path, 0, slash ? slash - 1 : 0), e) < 0 ||
        zip_read_begin(u->r, e) < 0)
        return -1;
    return put_file(u, x, path.p + slash, e);
}

static int unpack_all(struct unzip *u, struct err *e)
{
    struct zip_entry x;
    int rc;
    while ((rc = zip_next(u->r, &x, e)) > 0) {
        if (unpack_entry(u, &x, e) < 0)
            return -1;
    }
    return rc;
}

/* Our own folder at the destination. */
static int open_tmp(struct unzip *u, struct err *e)
{
    char folder[64];
    struct stat st;
    tmp_names(u->job->token, folder, u->tmp_name);
    if (fstat(u->root, &st) < 0 || mkdirat(u->root, folder, 0700) < 0 ||
        (u->tmp = openat(u->root, folder,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return err_sys(e, errno, "cannot write to the folder");
    u->root_dev = u->dir_dev = st.st_dev;
    u->dir_gid = st.st_gid;
    u->dir_setgid = st.st_mode & S_ISGID;
    return 0;
}

int archive_unzip_child(void *arg, const struct job_child *c, struct err *e)
{
    struct unzip *u = calloc(1, sizeof(*u));
    if (!u)
        return err_set(e, ERR_LIMIT, "cannot unpack: no memory");
    u->job = arg;
    u->count.child = c;
    u->root = u->dir = c->fds[ARCHIVE_PATH];
    u->tmp = -1;
    u->umask = umask(0);
    umask(u->umask);
    u->r = zip_open(c->fds[ARCHIVE_FILE], &u->job->spec.limits, e);
    int rc = u->r && open_tmp(u, e) == 0 ? unpack_all(u, e) : -1;
    archive_unzip_clean(u->root, u->job->token);
    archive_tell(&u->count, 0, 0, true);
    return rc;
}
