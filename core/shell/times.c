/* SPDX-License-Identifier: MIT */
#include "shell/times.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "shell/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct times_word {
    uint64_t offset;
    uint64_t what; /* milliseconds since 1970, or SIZE and rows << 16 | columns */
};

#define SIZE ((uint64_t)1 << 63)
enum { BLOCK = 256 };

static off_t place(unsigned i) { return (off_t)i * (off_t)sizeof(struct times_word); }

static bool put(int fd, unsigned i, const struct times_word *e, unsigned n)
{
    ssize_t size = (ssize_t)(n * sizeof(*e));
    return pwrite(fd, e, (size_t)size, place(i)) == size;
}

/*
 * Drops what is before start, and every second entry of the rest; sizes stay unless they
 * are very many.
 */
static void thin(struct times *t, uint64_t start)
{
    struct times_word in[BLOCK];
    struct times_word before = {0};
    unsigned kept = 0, sizes = 0;
    for (unsigned i = 0; i < t->n; i++) {
        if (i % BLOCK == 0 &&
            pread(t->fd, in, sizeof(in), place(i)) < (ssize_t)sizeof(*in))
            break;
        struct times_word e = in[i % BLOCK];
        bool size = before.what & SIZE && sizes < TIMES_MAX / 4;
        if (i > 0 && (size || (i % 2 && e.offset > start))) {
            sizes += size;
            put(t->fd, kept++, &before, 1);
        }
        before = e;
    }
    put(t->fd, kept++, &before, 1);
    t->n = kept;
    t->gap_ms *= 2;
    if (ftruncate(t->fd, place(kept)) < 0)
        t->gap_ms *= 2; /* a reader skips the rest */
}

static void add(struct times *t, uint64_t what, uint64_t start)
{
    struct times_word e = {t->at, what};
    if (t->fd < 0)
        return;
    if (t->n >= TIMES_MAX)
        thin(t, start);
    t->n += put(t->fd, t->n, &e, 1);
}

void times_open(struct times *t, struct engine *en, const char *file, bool fresh,
                uint64_t at, int rows, int cols)
{
    char dir[sizeof(en->state_dir) + 8], path[sizeof(dir) + 128];
    *t = (struct times){.fd = -1, .gap_ms = TIMES_GAP_MS, .at = at};
    if (!en->state_dir[0]) {
        t->fd = spool_make(NULL, file, NULL);
    } else if (engine_state_folder(en, "spool", 0700, dir, sizeof(dir), NULL) == 0) {
        snprintf(path, sizeof(path), "%s/%s", dir, file);
        t->fd = open(path,
                     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (fresh ? O_TRUNC : 0),
                     0600);
    }
    if (t->fd < 0)
        return;
    off_t end = lseek(t->fd, 0, SEEK_END);
    t->n = end > 0 ? (unsigned)(end / (off_t)sizeof(struct times_word)) : 0;
    if (t->n > 0)
        return;
    add(t, (uint64_t)clock_wall_ms(), 0);
    if (rows > 0)
        times_size(t, rows, cols);
}

void times_close(struct times *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

void times_output(struct times *t, uint64_t offset, uint64_t start)
{
    if (t->fd < 0 || offset <= t->at)
        return;
    int64_t now = clock_wall_ms();
    if (now < t->last_ms || now - t->last_ms >= t->gap_ms) {
        add(t, (uint64_t)now, start);
        t->last_ms = now;
    }
    t->at = offset;
}

void times_size(struct times *t, int rows, int cols)
{
    add(t, SIZE | (uint64_t)rows << 16 | (uint64_t)cols, 0);
}

bool times_next(int fd, unsigned *i, struct times_entry *out)
{
    struct times_word e;
    if (fd < 0 || pread(fd, &e, sizeof(e), place(*i)) != (ssize_t)sizeof(e))
        return false;
    ++*i;
    *out = (struct times_entry){.offset = e.offset};
    if (e.what & SIZE) {
        out->rows = (int)(e.what >> 16 & 0xffff);
        out->cols = (int)(e.what & 0xffff);
    } else {
        out->ms = (int64_t)e.what;
    }
    return true;
}

int64_t times_created_us(int fd)
{
    struct times_entry first;
    unsigned zero = 0;
    return times_next(fd, &zero, &first) && first.offset == 0 ? first.ms * 1000 : 0;
}
