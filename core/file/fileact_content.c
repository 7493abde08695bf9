/* SPDX-License-Identifier: MIT */
/*
 * send of fileact.h: a line of JSON about the file, then its bytes, or a part of them;
 * and send_lines: some of its lines.
 */
#include "file/fileact_own.h"

#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SPLICE = 1 << 20 };

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

ssize_t fa_move_bytes(struct fa *f, int from, int to, uint64_t most, bool *by_memory)
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
    if (n > 0 && file_write_all(to, str_n(f->block, (size_t)n)) < 0)
        return -1;
    return n;
}

/* ---- send ---- */

static int put_about(struct fa *f, const struct stat *st, const char *etag, uint64_t from,
                     uint64_t length)
{
    struct buf line = BUF_INIT(1024);
    buf_addf(&line, "{\"size\":%llu,\"mode\":\"%04o\",\"etag\":\"%s\",\"mtime\":%lld,",
             (unsigned long long)st->st_size, (unsigned)(st->st_mode & 07777), etag,
             (long long)st->st_mtim.tv_sec);
    buf_addf(&line, "\"from\":%llu,\"length\":%llu}\n", (unsigned long long)from,
             (unsigned long long)length);
    int rc = job_put(f->c, buf_str(&line));
    buf_release(&line);
    return rc;
}

/* The range of the file to send: returns the number of bytes, and sets *from. */
static uint64_t range_of(const struct fa *f, const struct stat *st, const char *etag,
                         uint64_t *from)
{
    struct str same = fa_str(f, "etag", "");
    uint64_t size = (uint64_t)st->st_size,
             most = (uint64_t)fa_int(f, "length", INT64_MAX);
    uint64_t suffix = (uint64_t)fa_int(f, "suffix", 0);
    *from = 0;
    if (same.n > 0 && !str_eq(same, str_of(etag)))
        return size;
    *from = suffix ? size - (suffix < size ? suffix : size)
                   : (uint64_t)fa_int(f, "offset", 0);
    uint64_t left = *from < size ? size - *from : 0;
    return left < most ? left : most;
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
    uint64_t left = range_of(f, &st, etag, &from);
    int rc = put_about(f, &st, etag, from, left);
    if (fa_bool(f, "head"))
        left = 0;
    if (rc == 0 && from > 0 && lseek(fd, (off_t)from, SEEK_SET) < 0)
        rc = -1;
    fcntl(f->c->out, F_SETPIPE_SZ, FA_PIPE); /* fewer turns; the default works as well */
    while (rc == 0 && left > 0) {
        ssize_t n = fa_move_bytes(f, fd, f->c->out, left, &by_memory);
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

/* ---- send_lines ---- */

/*
 * Moves the lines first to last of a block to its beginning, joined with LF. *line: the
 * number of the line that the block begins in; *ends: the newline before it is not sent
 * yet. Returns the number of bytes.
 */
static size_t pick_lines(char *block, size_t n, int64_t first, int64_t last,
                         int64_t *line, bool *ends)
{
    size_t used = 0;
    for (size_t i = 0; i < n && *line <= last; i++) {
        char c = block[i];
        if (*ends)
            block[used++] = '\n'; /* the byte before it was not kept: there is room */
        *ends = false;
        if (c != '\n') {
            if (*line >= first)
                block[used++] = c;
            continue;
        }
        *ends = *line >= first && *line < last;
        (*line)++;
    }
    return used;
}

int fa_send_lines(struct fa *f, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    int64_t first = fa_int(f, "offset", 1), count = fa_int(f, "limit", INT64_MAX);
    int64_t last = count < INT64_MAX - first ? first + count - 1 : INT64_MAX, line = 1;
    bool ends = false;
    ssize_t n = 1;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    int fd = open_file(path, &st, e);
    if (fd < 0)
        return -1;
    while (n > 0 && line <= last) {
        /* The newline of the block before may come first. */
        char *block = f->block;
        bool held = ends;
        n = read(fd, block + 1, FA_BLOCK - 1);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        if (n <= 0)
            break;
        ends = false;
        size_t used = pick_lines(block + 1, (size_t)n, first, last, &line, &ends);
        block[0] = '\n';
        if (file_write_all(f->c->out, str_n(block + !held, used + held)) < 0)
            n = -1;
    }
    if (n < 0)
        fa_fail(e, errno, "send", path);
    close(fd);
    return n < 0 ? -1 : 0;
}
