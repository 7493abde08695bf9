/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one file, out and in, for transfers that may be cut and go on.
 *
 * send    a line of JSON about the file, then its bytes from an offset on
 * receive the bytes of a file, which are collected beside its place as .od-TOKEN and put
 *         there in one step when the last one is there. What is there already stays when
 *         the transfer is cut: the same TOKEN goes on behind it.
 * received how much of that there is.
 *
 * Where a transfer goes on, the sender's bytes before are the same, so that a helper
 * which was not yet ended writes nothing but what is there.
 */
#include "file/fileact_own.h"

#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SPLICE = 1 << 20, PIPE = 1 << 20 };

static int open_file(const char *path, struct stat *st, struct err *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fa_fail(e, errno, "read", path);
    int rc = fstat(fd, st) < 0 ? fa_fail(e, errno, "read", path)
                               : file_check_kind(st->st_mode, "read", path, e);
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

/*
 * Moves up to most bytes, through memory where splice(2) does not work. Returns how many;
 * 0: the end; -1 with errno.
 */
static ssize_t move(struct fa *f, int from, int to, uint64_t most, bool *by_memory)
{
    size_t want = most < SPLICE ? (size_t)most : SPLICE;
    ssize_t n;
    if (!*by_memory) {
        do
            n = splice(from, NULL, to, NULL, want, SPLICE_F_MOVE);
        while (n < 0 && errno == EINTR);
        if (n >= 0 || (errno != EINVAL && errno != ENOSYS))
            return n;
        *by_memory = true;
    }
    want = want < FA_BLOCK ? want : FA_BLOCK;
    do
        n = read(from, f->block, want);
    while (n < 0 && errno == EINTR);
    if (n > 0 && fa_write_all(to, str_n(f->block, (size_t)n)) < 0)
        return -1;
    return n;
}

/* ---- send ---- */

static int put_about(struct fa *f, const struct stat *st, const char *etag, uint64_t from)
{
    struct buf line = BUF_INIT(1024);
    buf_addf(&line, "{\"size\":%llu,\"mode\":\"%04o\",\"etag\":\"%s\",\"from\":%llu}\n",
             (unsigned long long)st->st_size, (unsigned)(st->st_mode & 07777), etag,
             (unsigned long long)from);
    int rc = job_put(f->c, buf_str(&line));
    buf_release(&line);
    return rc;
}

int fa_send(struct fa *f, struct err *e)
{
    char path[PATH_MAX], etag[64];
    struct stat st;
    uint64_t from = 0;
    bool by_memory = false;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    int fd = open_file(path, &st, e);
    if (fd < 0)
        return -1;
    snprintf(etag, sizeof(etag), "%llx-%llx-%llx", (unsigned long long)st.st_ino,
             (unsigned long long)st.st_size,
             (unsigned long long)st.st_mtim.tv_sec * 1000000000ull +
                 (unsigned long long)st.st_mtim.tv_nsec);
    struct str same = fa_str(f, "etag", "");
    if (same.n == 0 || str_eq(same, str_of(etag)))
        from = (uint64_t)fa_int(f, "offset", 0);
    int rc = put_about(f, &st, etag, from);
    uint64_t left = from < (uint64_t)st.st_size ? (uint64_t)st.st_size - from : 0;
    if (fa_bool(f, "head"))
        left = 0;
    if (rc == 0 && from > 0 && lseek(fd, (off_t)from, SEEK_SET) < 0)
        rc = -1;
    fcntl(f->c->out, F_SETPIPE_SZ, PIPE); /* fewer turns; the default works as well */
    while (rc == 0 && left > 0) {
        ssize_t n = move(f, fd, f->c->out, left, &by_memory);
        if (n <= 0)
            rc = n < 0 ? -1 : (errno = ENODATA, -1);
        else
            left -= (uint64_t)n;
    }
    if (rc < 0)
        fa_fail(e, errno, "send", path);
    close(fd);
    return rc;
}

/* ---- receive ---- */

/* Where it shall be: in a folder by its name, at the end of a link where that leads to.
 */
static int find_place(const struct fa *f, char path[PATH_MAX], struct err *e)
{
    char full[PATH_MAX];
    struct stat st;
    struct str name = fa_str(f, "name", "");
    size_t n = strlen(path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && name.n > 0) {
        if (str_chr(name, '/') >= 0 || n + name.n + 2 > PATH_MAX)
            return err_set(e, ERR_INVALID, "the name of the file is no name in a folder");
        snprintf(path + n, PATH_MAX - n, "/%.*s", STR_ARG(name));
    }
    if (stat(path, &st) < 0)
        return 0;
    if (file_check_kind(st.st_mode, "replace", path, e) < 0)
        return -1;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, full))
        snprintf(path, PATH_MAX, "%s", full);
    return 0;
}

/* The bytes from the offset on. *size: what there is then. */
static int collect(struct fa *f, const char *path, const char *part, uint64_t *size,
                   struct err *e)
{
    uint64_t at = (uint64_t)fa_int(f, "offset", 0);
    bool by_memory = false;
    struct stat st;
    int fd = open(part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fa_fail(e, errno, "write", path);
    int rc = 0;
    if (at > (uint64_t)st.st_size)
        rc = err_set(e, ERR_BUSY, "cannot go on at byte %llu of %.200s: it has %llu",
                     (unsigned long long)at, part, (unsigned long long)st.st_size);
    if (rc == 0 && lseek(fd, (off_t)at, SEEK_SET) < 0)
        rc = fa_fail(e, errno, "write", part);
    fcntl(f->c->in, F_SETPIPE_SZ, PIPE);
    for (ssize_t n = 1; rc == 0 && n > 0;) {
        n = move(f, f->c->in, fd, SPLICE, &by_memory);
        if (n < 0)
            rc = fa_fail(e, errno, "write", part);
        at += n > 0 ? (uint64_t)n : 0;
    }
    *size = at;
    close(fd);
    return rc;
}

/* Where the bytes under a token are, beside path. */
static int find_part(const struct fa *f, const char *path, char part[PATH_MAX + 64],
                     struct err *e)
{
    struct str token = fa_str(f, "token", "");
    const char *slash = strrchr(path, '/');
    bool good = token.n > 0 && token.n <= FILEACT_TOKEN_MAX;
    for (size_t i = 0; i < token.n && good; i++)
        good = strchr("0123456789abcdef", token.p[i]);
    if (!good)
        return err_set(e, ERR_INVALID, "token has 1 to %d digits and letters a to f",
                       FILEACT_TOKEN_MAX);
    snprintf(part, PATH_MAX + 64, "%.*s.od-%.*s", (int)(slash - path) + 1, path,
             STR_ARG(token));
    return 0;
}

int fa_received(struct fa *f, struct err *e)
{
    char path[PATH_MAX], part[PATH_MAX + 64];
    struct stat st;
    if (fa_path(f, "path", path, e) < 0 || find_place(f, path, e) < 0 ||
        find_part(f, path, part, e) < 0)
        return -1;
    bool there = lstat(part, &st) == 0 && S_ISREG(st.st_mode);
    buf_addf(&f->out, "\"size\":%llu", there ? (unsigned long long)st.st_size : 0);
    return 0;
}

int fa_receive(struct fa *f, struct err *e)
{
    char path[PATH_MAX], part[PATH_MAX + 64];
    struct str token = fa_str(f, "token", "");
    uint64_t size, whole = (uint64_t)fa_int(f, "size", 0);
    unsigned mode = (unsigned)json_int(f->q->args, "mode", 0644);
    struct fa_stage s;
    if (fa_path(f, "path", path, e) < 0 || find_place(f, path, e) < 0)
        return -1;
    if (token.n == 0) {
        if (fa_stage_beside(f, &s, path, e) < 0)
            return -1;
        snprintf(part, sizeof(part), "%s", s.part);
    } else if (find_part(f, path, part, e) < 0) { /* not swept away when it is cut */
        return -1;
    }
    if (collect(f, path, part, &size, e) < 0)
        return -1;
    if (token.n > 0 && size != whole)
        return err_set(e, ERR_IO, "only %llu of the %llu bytes of %.200s came",
                       (unsigned long long)size, (unsigned long long)whole, path);
    if (token.n > 0 && truncate(part, (off_t)size) < 0)
        return fa_fail(e, errno, "write", part);
    if (chmod(part, (mode_t)mode & 07777) < 0)
        return fa_fail(e, errno, "set the mode of", part);
    if (fa_place(part, path, true, e) < 0)
        return -1;
    fa_put_path(&f->out, "path", str_of(path));
    buf_addf(&f->out, ",\"size\":%llu,\"mode\":\"%04o\"", (unsigned long long)size,
             mode & 07777);
    return 0;
}
