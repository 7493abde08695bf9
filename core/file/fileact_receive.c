/* SPDX-License-Identifier: MIT */
/*
 * Receives the bytes of files, in transfers that may be cut and continued.
 *
 * receive     the bytes of a file, which are collected next to its place as .od-TOKEN and
 *             put there in one step when the last one has arrived. Received bytes stay
 *             when the transfer is cut: the same TOKEN continues after them. With append
 *             they go to the end of the file, which is as before if the transfer is cut.
 * receive_all files one after the other, in frames (fileact.h). An input that ends within
 *             one is an error, and nothing of that file stays.
 * received    how much of a file has arrived under a token.
 *
 * When a transfer continues, the sender's earlier bytes are the same, so a previous
 * helper that has not ended yet can only write what the file already has.
 */
#include "file/fileact_own.h"

#include "archive/zip_gz.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { FRAME_HEAD = 8, FRAME_OBJECT_MAX = 64 << 10, FRAMES_END = -2 };

/* ---- frames ---- */

static int read_whole(int fd, char *p, size_t n)
{
    size_t have = 0;
    while (have < n) {
        ssize_t got = read(fd, p + have, n - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 || have > 0 ? -1 : FRAMES_END;
        have += (size_t)got;
    }
    return 0;
}

/* The length of the next frame; -1 and sets *e; FRAMES_END: the input has ended. */
static int64_t next_frame(const struct fa *f, struct err *e)
{
    char hex[FRAME_HEAD + 1] = "", *end;
    int rc = read_whole(f->c->in, hex, FRAME_HEAD);
    unsigned long n = rc == 0 ? strtoul(hex, &end, 16) : 0;
    if (rc == FRAMES_END)
        return rc;
    if (rc < 0 || *end)
        return err_set(e, ERR_CANCELLED, "the transfer was cut within a file");
    return (int64_t)n;
}

/* Returns the arguments of the next file; NULL, with e->code 0 if there is none. */
static struct json *next_object(const struct fa *f, struct err *e)
{
    struct json *j = NULL;
    struct buf b = BUF_INIT(FRAME_OBJECT_MAX);
    int64_t n = next_frame(f, e);
    char *p = n > 0 ? buf_reserve(&b, (size_t)n) : NULL;
    if (p && read_whole(f->c->in, p, (size_t)n) == 0) {
        buf_commit(&b, (size_t)n);
        j = json_parse(buf_str(&b), e);
    } else if (n >= 0) {
        err_set(e, ERR_CANCELLED, "the transfer was cut between two files");
    }
    buf_release(&b);
    return j;
}

/* ---- one file ---- */

/* Where it shall be: in a folder by its name, at the end of a link where that leads to.
 */
static int find_place(const struct fa *f, char path[PATH_MAX], struct err *e)
{
    char full[PATH_MAX];
    struct stat st;
    struct str name = fa_str(f, "name", "");
    size_t n = strlen(path);
    if (f->q->root) /* the path has no link */
        return lstat(path, &st) < 0 ? 0 : file_check_kind(st.st_mode, "replace", path, e);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && name.n > 0) {
        if (str_chr(name, '/') >= 0 || n + name.n + 2 > PATH_MAX)
            return err_set(e, ERR_INVALID,
                           "the name of the file has a slash or is too long");
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

/* Writes the frames of one file. Returns 0, or -1 and sets *e. */
static int collect_frames(struct fa *f, int fd, const char *part, uint64_t *at,
                          struct err *e)
{
    bool by_memory = false;
    int64_t left;
    while ((left = next_frame(f, e)) > 0) {
        while (left > 0) {
            ssize_t n = fa_move_bytes(f, f->c->in, fd, (uint64_t)left, &by_memory);
            if (n < 0)
                return fa_fail(e, errno, "write", part);
            if (n == 0)
                return err_set(e, ERR_CANCELLED, "the transfer was cut within a file");
            left -= n;
            *at += (uint64_t)n;
        }
    }
    return left == FRAMES_END
               ? err_set(e, ERR_CANCELLED, "the transfer was cut within a file")
               : (int)left;
}

static ssize_t read_packed(void *arg, void *p, size_t n, struct err *e)
{
    const struct fa *f = arg;
    ssize_t got;
    do
        got = read(f->c->in, p, n);
    while (got < 0 && errno == EINTR);
    return got < 0 ? err_sys(e, errno, "cannot read the packed bytes") : got;
}

/* Writes all that comes, unpacked. Returns 0, or -1 and sets *e. */
static int collect_packed(struct fa *f, int fd, const char *part, uint64_t *at,
                          struct err *e)
{
    struct gunzip *g = gunzip_new(read_packed, f, e);
    ssize_t n = 0;
    while (g && (n = gunzip_read(g, f->block, FA_BLOCK, e)) > 0) {
        *at += (uint64_t)n;
        if (file_write_all(fd, str_n(f->block, (size_t)n)) < 0) {
            n = fa_fail(e, errno, "write", part);
            break;
        }
    }
    int rc = g && n == 0 ? 0 : -1;
    gunzip_free(g);
    return rc;
}

/* Writes all that comes. Returns 0, or -1 and sets *e. */
static int collect_bytes(struct fa *f, int fd, const char *part, uint64_t *at,
                         struct err *e)
{
    bool by_memory = false;
    for (ssize_t n = 1; n > 0;) {
        n = fa_move_bytes(f, f->c->in, fd, UINT64_MAX, &by_memory);
        if (n < 0)
            return fa_fail(e, errno, "write", part);
        *at += (uint64_t)n;
    }
    return 0;
}

/* Opens the file of the transfer. Returns -1 and sets *e. */
static int open_part(const char *path, const char *part, struct err *e)
{
    int fd = file_make(AT_FDCWD, part, O_WRONLY, 0600);
    if (fd < 0 && errno == EEXIST)
        return err_set(e, ERR_EXISTS,
                       "cannot collect the file in %.200s: something else is there (a "
                       "link, a pipe, a second name or another owner); remove it, or use "
                       "another token",
                       part);
    return fd < 0 ? fa_fail(e, errno, "write", path) : fd;
}

/* Writes the bytes from the offset on. *size: the bytes that there are then. */
static int collect(struct fa *f, int fd, const char *part, bool framed, uint64_t *size,
                   struct err *e)
{
    uint64_t at = (uint64_t)fa_int(f, "offset", 0);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fa_fail(e, errno, "write", part);
    int rc = 0;
    if (at > (uint64_t)st.st_size)
        rc = err_set(e, ERR_BUSY, "cannot go on at byte %llu of %.200s: it has %llu",
                     (unsigned long long)at, part, (unsigned long long)st.st_size);
    if (rc == 0 && lseek(fd, (off_t)at, SEEK_SET) < 0)
        rc = fa_fail(e, errno, "write", part);
    fcntl(f->c->in, F_SETPIPE_SZ, FA_PIPE);
    if (rc == 0)
        rc = framed               ? collect_frames(f, fd, part, &at, e)
             : fa_bool(f, "gzip") ? collect_packed(f, fd, part, &at, e)
                                  : collect_bytes(f, fd, part, &at, e);
    if (rc == 0 && fa_bool(f, "sync") && fsync(fd) < 0)
        rc = fa_fail(e, errno, "write", part);
    *size = at;
    return rc;
}

/* Where the bytes under a token are, next to path. */
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
    bool there = lstat(part, &st) == 0 && file_is_ours(&st);
    buf_addf(&f->out, "\"size\":%llu", there ? (unsigned long long)st.st_size : 0);
    return 0;
}

/*
 * The mode of the file, and the owner of the one that it replaces. By its descriptor:
 * another file may have its name by now.
 */
static int dress(const struct fa *f, int fd, const char *part, const char *path,
                 mode_t *mode, struct err *e)
{
    struct stat st;
    *mode = (mode_t)json_int(f->q->args, "mode", 0644) & 07777;
    if (fa_bool(f, "keep")) {
        bool there = lstat(path, &st) == 0 && S_ISREG(st.st_mode);
        mode_t mask = umask(0);
        umask(mask);
        *mode = there ? st.st_mode & 07777 : *mode & ~mask;
        /* The owner may not be changeable; then the new file is ours. */
        if (there && fchown(fd, st.st_uid, st.st_gid) < 0)
            *mode &= 0777;
    }
    if (fa_give_file(f, fd, part, e) < 0)
        return -1;
    return fchmod(fd, *mode) < 0 ? fa_fail(e, errno, "set the mode of", part) : 0;
}

/* A file system may lack attributes: the transfer does not fail for that. */
static void set_attributes(const struct fa *f, int fd)
{
    const struct json *v = json_first(json_get(f->q->args, "attributes"));
    for (; v; v = json_next(v)) {
        struct str value = json_str_value(v, "");
        if (fsetxattr(fd, json_name(v), value.p, value.n, 0) < 0)
            fa_warn(f, "the attribute %.100s is not set: %s", json_name(v),
                    strerror(errno));
    }
}

/* The folder that the file is in is on the disk. */
static void sync_folder(const char *path)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%s", path);
    char *slash = strrchr(dir, '/');
    slash[slash == dir] = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* Receives all of it in the open file, with its mode and owner. */
static int fill(struct fa *f, int fd, const char *path, const char *part, bool framed,
                struct err *e)
{
    bool resumable = fa_str(f, "token", "").n > 0;
    uint64_t size = 0, whole = (uint64_t)fa_int(f, "size", 0);
    mode_t mode;
    if (collect(f, fd, part, framed, &size, e) < 0)
        return -1;
    if (!framed && !resumable && !job_input_whole(f->c))
        return err_set(e, ERR_CANCELLED, "the transfer of %.200s was cut", path);
    if (resumable && size != whole)
        return err_set(e, ERR_IO, "only %llu of the %llu bytes of %.200s came",
                       (unsigned long long)size, (unsigned long long)whole, path);
    if (resumable && ftruncate(fd, (off_t)size) < 0)
        return fa_fail(e, errno, "write", part);
    set_attributes(f, fd);
    if (dress(f, fd, part, path, &mode, e) < 0)
        return -1;
    fa_put_path(&f->out, "path", str_of(path));
    buf_addf(&f->out, ",\"size\":%llu,\"mode\":\"%04o\"", (unsigned long long)size,
             (unsigned)mode);
    return 0;
}

/* Writes all that comes at the end of the file. */
static int append(struct fa *f, const char *path, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    uint64_t size = (uint64_t)end;
    if (end < 0) {
        fa_fail(e, errno, "write", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int rc = collect_bytes(f, fd, path, &size, e);
    if (rc == 0 && !job_input_whole(f->c))
        rc = err_set(e, ERR_CANCELLED, "the transfer of %.200s was cut", path);
    if (rc < 0 && ftruncate(fd, end) < 0)
        fa_warn(f, "%.200s has a part of what was appended", path);
    close(fd);
    if (rc == 0) {
        fa_put_path(&f->out, "path", str_of(path));
        buf_addf(&f->out, ",\"size\":%llu", (unsigned long long)size);
    }
    return rc;
}

static int receive(struct fa *f, bool framed, struct err *e)
{
    char path[PATH_MAX], part[PATH_MAX + 64];
    struct fa_stage s;
    if (fa_path(f, "path", path, e) < 0 ||
        (fa_bool(f, "parents") && !f->q->root && fa_parents(path, e) < 0) ||
        find_place(f, path, e) < 0)
        return -1;
    if (fa_bool(f, "append") && !framed)
        return append(f, path, e);
    if (fa_str(f, "token", "").n == 0) {
        if (fa_stage_beside(f, &s, path, e) < 0)
            return -1;
        snprintf(part, sizeof(part), "%s", s.part);
    } else if (find_part(f, path, part, e) < 0) { /* not swept away when it is cut */
        return -1;
    }
    int fd = open_part(path, part, e);
    if (fd < 0)
        return -1;
    int rc = fill(f, fd, path, part, framed, e);
    close(fd);
    if (rc < 0 || fa_place(part, path, true, e) < 0)
        return -1;
    if (fa_bool(f, "sync"))
        sync_folder(path);
    return 0;
}

int fa_receive(struct fa *f, struct err *e) { return receive(f, false, e); }

int fa_receive_all(struct fa *f, struct err *e)
{
    struct fileact_spec one = *f->q;
    const struct fileact_spec *all = f->q;
    struct json *args;
    int rc = 0;
    buf_addz(&f->out, "\"files\":[");
    for (bool first = true; rc == 0 && (args = next_object(f, e)); first = false) {
        buf_addz(&f->out, first ? "{" : ",{");
        rc = fileact_check("receive", args, true, false, e);
        one.args = args;
        f->q = &one;
        if (rc == 0)
            rc = receive(f, true, e);
        f->q = all;
        buf_addz(&f->out, "}");
        json_free(args);
        if (rc == 0)
            f->part[0] = f->whole[0] = 0; /* in its place */
    }
    buf_addz(&f->out, "]");
    return e->code ? -1 : rc;
}
