/* SPDX-License-Identifier: MIT */
/*
 * The packing child of archive.h: a walk by descriptors, so that a folder that
 * is moved or replaced by a link meanwhile leads nowhere else.
 */
#include "base/mime.h"
#include "file/archive_own.h"
#include "file/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 256,      /* a descriptor each */
    UNKNOWN_MAX = 1 << 20 /* bytes read of a file whose size is given as 0 */
};

struct zip_walk {
    const struct job_child *child;
    const struct archive_zip_job *job;
    struct zip_writer *w;
    struct archive_count count;
    char path[ZIP_NAME_MAX + 2]; /* of the current entry, relative to the folder */
    size_t path_n;
    char block[ARCHIVE_BLOCK];
};

static int put(void *arg, struct str bytes, struct err *e)
{
    const struct job_child *c = arg;
    return job_put(c, bytes) < 0 ? err_sys(e, errno, "cannot send the archive") : 0;
}

/* Records of the central directory go to a file without a name, best on a disk. */
static int open_spill(void)
{
    static const char *const places[] = {"/var/tmp", "/tmp"};
    for (int i = 0; i < 2; i++) {
        int fd = open(places[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
    }
    return memfd_create("od-zip", MFD_CLOEXEC);
}

static struct zip_meta meta_of(const struct zip_walk *z, const struct stat *st)
{
    return (struct zip_meta){.name = str_n(z->path, z->path_n),
                             .mode = st->st_mode,
                             .mtime = st->st_mtime,
                             .size = (uint64_t)st->st_size};
}

/* Fills the block; only at the end of the file it gets less. Returns -1 with errno. */
static ssize_t fill(struct zip_walk *z, int fd, uint64_t most)
{
    size_t want = most < sizeof(z->block) ? (size_t)most : sizeof(z->block), have = 0;
    while (have < want) {
        ssize_t n = read(fd, z->block + have, want - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return have ? (ssize_t)have : -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* Adds one open file, by the name in z->path. Returns -1 if the archive cannot go on. */
static int add_file(struct zip_walk *z, int fd, const struct stat *st, struct err *e)
{
    uint64_t left = st->st_size > 0 ? (uint64_t)st->st_size : UNKNOWN_MAX;
    ssize_t n = fill(z, fd, left);
    if (n < 0) {
        archive_warn(&z->count, "cannot read %s: %s", z->path, strerror(errno));
        return 0;
    }
    struct zip_meta m = meta_of(z, st);
    if (z->job->level > 0 && n > 0 &&
        !mime_is_packed(mime_of(m.name, str_n(z->block, (size_t)n))))
        m.level = z->job->level;
    if (zip_begin(z->w, &m, e) < 0)
        return -1;
    while (n > 0) {
        if (zip_add(z->w, str_n(z->block, (size_t)n), e) < 0)
            return -1;
        archive_tell(&z->count, 0, (uint64_t)n, false);
        left -= (uint64_t)n;
        n = left ? fill(z, fd, left) : 0;
    }
    if (n < 0)
        archive_warn(&z->count, "%s is cut off: %s", z->path, strerror(errno));
    archive_tell(&z->count, 1, 0, false);
    return zip_end(z->w, e);
}

static int walk(struct zip_walk *z, int fd, const struct stat *st, int depth,
                struct err *e);

static int enter_folder(struct zip_walk *z, int dir, const char *name,
                        const struct stat *parent, int depth, struct err *e)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        archive_warn(&z->count, "cannot open %s: %s", z->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return 0;
    }
    if ((st.st_dev != parent->st_dev && files_invented(fd)) ||
        z->path_n >= ZIP_NAME_MAX) {
        close(fd);
        return 0;
    }
    z->path[z->path_n++] = '/';
    z->path[z->path_n] = 0;
    if (z->job->folders) {
        struct zip_meta m = meta_of(z, &st);
        if (zip_begin(z->w, &m, e) < 0 || zip_end(z->w, e) < 0) {
            close(fd);
            return -1;
        }
    }
    return walk(z, fd, &st, depth + 1, e);
}

/* Looked at before it is opened, and again after, because it may be another then. */
static int enter_file(struct zip_walk *z, int dir, const char *name, struct err *e)
{
    struct stat st;
    if (fstatat(dir, name, &st, 0) < 0) {
        archive_warn(&z->count, "cannot open %s: %s", z->path, strerror(errno));
        return 0;
    }
    const struct stat *skip = &z->job->skip;
    bool skipped = skip->st_ino && st.st_ino == skip->st_ino && st.st_dev == skip->st_dev;
    if (!S_ISREG(st.st_mode) || skipped)
        return 0;
    int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        archive_warn(&z->count, "cannot open %s: %s", z->path, strerror(errno));
        return 0;
    }
    int rc = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        rc = add_file(z, fd, &st, e);
    close(fd);
    return rc;
}

static int enter(struct zip_walk *z, int dir, const char *name, const struct stat *parent,
                 int depth, struct err *e)
{
    struct stat st;
    size_t n = strlen(name), before = z->path_n;
    if (before + n > ZIP_NAME_MAX) {
        archive_warn(&z->count, "%s has a name of more than %d bytes", z->path,
                     ZIP_NAME_MAX);
        return 0;
    }
    memcpy(z->path + before, name, n + 1);
    z->path_n = before + n;
    int rc = 0;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        archive_warn(&z->count, "cannot open %s: %s", z->path, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        rc = enter_file(z, dir, name, e);
    else if (depth == DEPTH_MAX)
        archive_warn(&z->count, "%s is more than %d folders deep", z->path, DEPTH_MAX);
    else
        rc = enter_folder(z, dir, name, parent, depth, e);
    z->path_n = before;
    z->path[before] = 0;
    return rc;
}

/* Takes fd. */
static int walk(struct zip_walk *z, int fd, const struct stat *st, int depth,
                struct err *e)
{
    ASSERT(fd >= 0);
    DIR *d = fdopendir(fd);
    if (!d) {
        archive_warn(&z->count, "cannot list %s: %s", z->path, strerror(errno));
        close(fd);
        return 0;
    }
    int rc = 0;
    struct dirent *x;
    while (rc == 0 && (errno = 0, x = readdir(d))) {
        if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
            rc = enter(z, fd, x->d_name, st, depth, e);
    }
    if (rc == 0 && errno)
        archive_warn(&z->count, "cannot list all of %s: %s", z->path, strerror(errno));
    closedir(d);
    return rc;
}

int archive_zip_child(void *arg, const struct job_child *c, struct err *e)
{
    const struct archive_zip_job *job = arg;
    struct zip_walk *z = calloc(1, sizeof(*z));
    if (!z)
        return err_set(e, ERR_LIMIT, "cannot make an archive: no memory");
    z->child = c;
    z->job = job;
    z->count.child = c;
    z->w = zip_writer_new(put, (void *)(uintptr_t)c, open_spill());
    int fd = c->fds[ARCHIVE_PATH], rc;
    if (S_ISDIR(job->st.st_mode)) {
        rc = walk(z, fd, &job->st, 0, e);
    } else {
        z->path_n = strlen(job->name);
        memcpy(z->path, job->name, z->path_n + 1);
        rc = add_file(z, fd, &job->st, e);
    }
    if (rc == 0)
        rc = zip_finish(z->w, e);
    archive_tell(&z->count, 0, 0, true);
    return rc;
}
