/* SPDX-License-Identifier: MIT */
/* Reading the rings that the keeper writes. */
#include "shell/spool.h"

#include "base/limits.h"
#include "base/log.h"
#include "engine/engine.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int spool_make(const char *dir, const char *name, struct err *e)
{
    int fd;
    if (!dir) {
        fd = memfd_create(name, MFD_CLOEXEC);
        if (fd < 0)
            err_sys(e, errno, "cannot keep output in memory: memfd_create");
        return fd;
    }
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        err_sys(e, errno, "cannot make the output file %s", path);
    return fd;
}

void spool_remove(const char *dir, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
}

uint64_t spool_start(const struct keep_stream *s)
{
    return s->cap && s->offset > s->cap ? s->offset - s->cap : 0;
}

/* Reads bytes at `at`, which may be overwritten meanwhile. */
static size_t read_ring(int fd, uint64_t cap, uint64_t at, char *p, size_t n)
{
    size_t got = 0;
    while (got < n) {
        uint64_t pos = (at + got) % cap;
        size_t piece = cap - pos < n - got ? (size_t)(cap - pos) : n - got;
        ssize_t r = pread(fd, p + got, piece, (off_t)pos);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    return got;
}

size_t spool_read(int fd, const struct keep_stream *s, uint64_t *from, char *p, size_t n)
{
    uint64_t at = *from, start = spool_start(s), valid = 0;
    for (unsigned again = 0;; again++) {
        uint64_t end = s->offset;
        if (at < start)
            at = start;
        for (uint32_t i = 0; i < s->gaps; i++) {
            if (at >= s->gap[i].from && at < s->gap[i].to)
                at = s->gap[i].to;
            else if (at < s->gap[i].from && s->gap[i].from < end)
                end = s->gap[i].from;
        }
        if (at >= end) {
            *from = at < s->offset ? at : s->offset;
            return 0;
        }
        size_t got = read_ring(fd, s->cap, at, p, n < end - at ? n : (size_t)(end - at));
        /* The writer goes on meanwhile, and stores first what it will overwrite. */
        if (pread(fd, &valid, sizeof(valid), (off_t)s->cap) != sizeof(valid))
            valid = 0;
        if (valid <= at) {
            *from = at;
            return got;
        }
        /* Overwritten again: skips ahead, but not beyond the end. */
        uint64_t left = s->offset > valid ? s->offset - valid : 0;
        start = valid + (again ? left / 16 : 0);
    }
}

static void add_gone(struct spool_excerpt *x, uint64_t from, uint64_t to)
{
    struct spool_range *last = x->ngone ? &x->gone[x->ngone - 1] : NULL;
    if (last && (last->to == from || x->ngone == EXCERPT_GONE))
        last->to = to;
    else
        x->gone[x->ngone++] = (struct spool_range){from, to};
}

static void read_part(int fd, const struct keep_stream *s, uint64_t from, uint64_t to,
                      struct buf *out, struct spool_excerpt *x)
{
    while (from < to) {
        uint64_t at = from;
        char *p = buf_reserve(out, (size_t)(to - from));
        size_t n = p ? spool_read(fd, s, &at, p, (size_t)(to - from)) : 0;
        if (n == 0 || at >= to) {
            add_gone(x, from, to);
            return;
        }
        if (at > from)
            add_gone(x, from, at);
        if (n > to - at)
            n = (size_t)(to - at);
        buf_commit(out, n);
        from = at + n;
    }
}

void spool_excerpt(int fd, const struct keep_stream *s, uint64_t from, uint64_t to,
                   size_t head, size_t tail, struct spool_excerpt *out)
{
    *out = (struct spool_excerpt){.head = BUF_INIT(head + tail), .tail = BUF_INIT(tail)};
    if (to <= from)
        return;
    if (to - from <= head + tail) {
        read_part(fd, s, from, to, &out->head, out);
        return;
    }
    out->left_out = (struct spool_range){from + head, to - tail};
    read_part(fd, s, from, from + head, &out->head, out);
    read_part(fd, s, to - tail, to, &out->tail, out);
}

void spool_excerpt_release(struct spool_excerpt *x)
{
    buf_release(&x->head);
    buf_release(&x->tail);
}

/*
 * Reserves room for the newest output and for the number after the ring, which the keeper
 * needs to overwrite old output. 0, also if reserving is not possible; -1: disk full.
 */
static int reserve(int fd, uint64_t cap, struct err *e)
{
    if ((file_reserve(fd, 0, KEEP_RESERVED) == 0 &&
         file_reserve(fd, (off_t)cap, sizeof(uint64_t)) == 0) ||
        (errno != ENOSPC && errno != EDQUOT))
        return 0;
    return err_sys(e, errno, "cannot reserve %d KiB of the state directory for output",
                   KEEP_RESERVED >> 10);
}

int spool_new(struct engine *en, const char *file, uint64_t *bytes, struct err *e)
{
    char dir[sizeof(en->state_dir) + 8];
    struct err why = ERR_INIT;
    if (engine_state_folder(en, "spool", 0700, dir, sizeof(dir), &why) == 0) {
        int fd = spool_make(dir, file, &why);
        if (fd >= 0 && reserve(fd, *bytes, &why) == 0)
            return fd;
        if (fd >= 0) {
            close(fd);
            spool_remove(dir, file);
        }
    }
    if (en->state_dir[0])
        log_warn("%s; its output is kept in memory", why.text);
    if (*bytes > LIMIT_SPOOL_MEMORY)
        *bytes = LIMIT_SPOOL_MEMORY;
    return spool_make(NULL, file, e);
}

/* ---- screens ---- */

/*
 * Returns 'h' or 'l' if s begins with a switch of the screen (xterm's 1049, 1047, 47);
 * else 0.
 */
static char screen_switch(struct str s)
{
    static const struct str words[] = {STR("\033[?1049"), STR("\033[?1047"),
                                       STR("\033[?47")};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct str rest = str_sub(s, words[i].n, 1);
        if (str_starts(s, words[i]) && rest.n && (rest.p[0] == 'h' || rest.p[0] == 'l'))
            return rest.p[0];
    }
    return 0;
}

char spool_screen(int fd, const struct keep_stream *s, uint64_t oldest, uint64_t end,
                  uint64_t *where)
{
    enum { SHARED = 16 }; /* bytes that two pieces have in common */
    char bytes[32 << 10];
    while (end > oldest) {
        uint64_t from = end - oldest > sizeof(bytes) ? end - sizeof(bytes) : oldest;
        uint64_t at = from;
        size_t n = spool_read(fd, s, &at, bytes, (size_t)(end - from));
        for (size_t i = at < end ? n : 0; i > 0; i--) {
            struct str rest = str_n(bytes + i - 1, n - i + 1);
            char kind = rest.p[0] == '\033' ? screen_switch(rest) : 0;
            *where = at + i - 1;
            if (kind)
                return kind;
        }
        end = from > oldest ? from + SHARED : oldest;
    }
    return 0;
}
