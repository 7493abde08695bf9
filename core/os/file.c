/* SPDX-License-Identifier: MIT */
/*
 * A file is examined before it is opened, because opening a device can have an effect,
 * and again after, because it may be another file by then.
 */
#include "os/file.h"
#include "os/landlock.h"
#include "os/within.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int file_reserve(int fd, off_t at, size_t n)
{
    static char zeros[4096]; /* not constant: those would be in the file */
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, at, (off_t)n) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
    while (n > 0) {
        ssize_t r = pwrite(fd, zeros, n < sizeof(zeros) ? n : sizeof(zeros), at);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return errno = r < 0 ? errno : EIO, -1;
        at += r;
        n -= (size_t)r;
    }
    return 0;
}

int file_fail(struct err *e, int errnum, const char *verb, const char *path)
{
    err_sys(e, errnum, "cannot %s %s", verb, path);
    if (!e)
        return -1;
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        e->code = ERR_NOTFOUND;
        break;
    case EISDIR:
        e->code = ERR_INVALID;
        break;
    case EACCES:
    case EPERM:
    case EROFS:
        e->code = ERR_DENIED;
        break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
        e->code = ERR_LIMIT;
        break;
    default:
        e->code = ERR_IO;
    }
    return -1;
}

int file_check_kind(mode_t mode, const char *verb, const char *path, struct err *e)
{
    if (S_ISREG(mode))
        return 0;
    if (S_ISDIR(mode))
        return file_fail(e, EISDIR, verb, path);
    const char *what = S_ISFIFO(mode)   ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    return err_set(e, ERR_UNSUPPORTED,
                   "cannot %s %s: it is %s; only regular files can be", verb, path, what);
}

/* ---- reading ---- */

static int open_regular(const char *path, struct stat *st, struct err *e)
{
    if (stat(path, st) < 0)
        return file_fail(e, errno, "read", path);
    if (file_check_kind(st->st_mode, "read", path, e) < 0)
        return -1;
    int fd = within_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (fd < 0) {
        file_fail(e, errno, "read", path);
        if (e && within_ruleset() >= 0)
            landlock_explain(e);
        return -1;
    }
    if (fstat(fd, st) == 0 && file_check_kind(st->st_mode, "read", path, e) == 0)
        return fd;
    close(fd);
    return -1;
}

static int too_large(const char *path, size_t max, struct err *e)
{
    return err_set(e, ERR_LIMIT, "cannot read %s: it is larger than %zu bytes", path,
                   max);
}

/* Reads fd to its end; `size` is the number of bytes to expect. */
static int read_all(int fd, const char *path, size_t size, size_t max, struct buf *out,
                    struct err *e)
{
    size_t before = out->n;
    for (;;) {
        size_t have = out->n - before;
        /* One byte beyond the maximum shows that the file is longer. */
        size_t want = have < size ? size - have : 64 << 10;
        want = want < max - have ? want : max - have;
        char extra = 0;
        char *to = want > 0 ? buf_reserve(out, want) : &extra;
        if (!to)
            return file_fail(e, ENOMEM, "read", path);
        ssize_t n = read(fd, to, want > 0 ? want : 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_fail(e, errno, "read", path);
        if (n == 0)
            return 0;
        if (want == 0)
            return too_large(path, max, e);
        buf_commit(out, (size_t)n);
    }
}

int file_read(const char *path, size_t max, struct buf *out, struct err *e)
{
    struct stat st;
    int fd = open_regular(path, &st, e);
    if (fd < 0)
        return -1;
    size_t before = out->n;
    int rc;
    if (st.st_size > 0 && (uint64_t)st.st_size > max)
        rc = too_large(path, max, e);
    else
        rc = read_all(fd, path, (size_t)st.st_size, max, out, e);
    if (rc < 0)
        buf_truncate(out, before);
    close(fd);
    return rc;
}

bool file_is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_uid == geteuid();
}

/* Opens what is there. Returns -1 with errno, EEXIST if it is not ours. */
static int open_ours(int dir, const char *path, int flags)
{
    struct stat st;
    if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    int fd = file_is_ours(&st) ? openat(dir, path, flags) : (errno = EEXIST, -1);
    if (fd < 0 || (fstat(fd, &st) == 0 && file_is_ours(&st)))
        return fd;
    close(fd);
    return errno = EEXIST, -1;
}

int file_make(int dir, const char *path, int flags, mode_t mode)
{
    int look = (flags & ~O_TRUNC) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(dir, path, look | O_CREAT | O_EXCL, mode);
    if (fd < 0 && errno == EEXIST && !(flags & O_EXCL)) {
        fd = open_ours(dir, path, look);
        if (fd >= 0 && (flags & O_TRUNC) && ftruncate(fd, 0) < 0) {
            int errnum = errno;
            close(fd);
            return errno = errnum, -1;
        }
    }
    if (fd >= 0)
        fcntl(fd, F_SETFL, flags & O_APPEND);
    return fd;
}

int file_write_all(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
    return 0;
}

bool file_is_in(const char *path, const char *folder)
{
    size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0);
}

bool file_entry_is_folder(int fd, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

int file_of_text(const char *name, struct str text)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd >= 0 && file_write_all(fd, text) < 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}
