/* SPDX-License-Identifier: MIT */
#include "front/tmux/history.h"

#include "base/log.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOLE = 1 << 20 }; /* blocks are given back in such pieces */

/* ---- files ---- */

static int open_one(const char *dir, const char *name, const char *ending, struct err *e)
{
    char path[512];
    if (!dir) {
        int fd = memfd_create("od-history", MFD_CLOEXEC);
        return fd >= 0 ? fd : err_sys(e, errno, "cannot make a file in memory");
    }
    if (!buf_fill(path, sizeof(path), "%s/%s.%s", dir, name, ending))
        return err_set(e, ERR_LIMIT, "the name of a history is too long");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 ? fd : err_sys(e, errno, "cannot open %s", path);
}

static void put_mark(struct history *h)
{
    if (h->marks == h->marks_cap) {
        h->marks_cap = h->marks_cap ? h->marks_cap * 2 : 16;
        h->mark = xrealloc(h->mark, h->marks_cap, sizeof(*h->mark));
    }
    h->mark[h->marks++] = h->bytes;
}

static bool load_marks(struct history *h)
{
    size_t n = (size_t)((h->rows + HISTORY_STEP - 1) / HISTORY_STEP);
    h->mark = xcalloc(n + 16, sizeof(*h->mark));
    h->marks_cap = n + 16;
    h->marks = n;
    ssize_t want = (ssize_t)(n * sizeof(*h->mark));
    return pread(h->index, h->mark, (size_t)want, 0) == want;
}

int history_open(struct history *h, const char *dir, const char *name,
                 const struct history_place *at, uint64_t limit, struct err *e)
{
    *h = (struct history){
        .fd = -1, .index = -1, .limit = limit, .late = BUF_INIT(SIZE_MAX)};
    h->fd = open_one(dir, name, "rows", e);
    h->index = h->fd >= 0 ? open_one(dir, name, "index", e) : -1;
    if (h->index < 0)
        return -1;
    struct stat st;
    h->bytes = at->bytes;
    h->rows = at->rows;
    h->first = at->first;
    if (fstat(h->fd, &st) < 0 || (uint64_t)st.st_size < at->bytes || !load_marks(h)) {
        h->bytes = h->rows = h->first = 0;
        h->marks = 0;
        err_set(e, ERR_GONE, "the rows of %s are not in its file any more", name);
    }
    if (ftruncate(h->fd, (off_t)h->bytes) < 0)
        log_debug("cannot shorten a history: %m");
    return 0;
}

void history_close(struct history *h)
{
    if (h->fd >= 0)
        close(h->fd);
    if (h->index >= 0)
        close(h->index);
    h->fd = h->index = -1;
    buf_release(&h->late);
    free(h->mark);
    h->mark = NULL;
    h->marks = h->marks_cap = 0;
}

void history_remove(const char *dir, const char *name)
{
    static const char *const endings[] = {"rows", "index"};
    char path[512];
    for (int i = 0; dir && i < 2; i++) {
        if (buf_fill(path, sizeof(path), "%s/%s.%s", dir, name, endings[i]))
            unlink(path);
    }
}

/* ---- rows ---- */

static void write_late(struct history *h)
{
    size_t done = 0;
    uint64_t at = h->bytes - h->late.n;
    while (done < h->late.n) {
        ssize_t n = pwrite(h->fd, h->late.p + done, h->late.n - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done < h->late.n) {
        /* A full disk: what does not fit is forgotten, with what was before it. */
        log_warn("tmux: the rows that left a screen cannot be kept: %m");
        h->first = h->rows;
    }
    buf_reset(&h->late);
}

/* As tmux: when the limit is reached, a tenth is dropped at once. */
static void drop_oldest(struct history *h)
{
    uint64_t n = h->limit / 10 ? h->limit / 10 : 1;
    h->first += n;
    if (h->first > h->rows)
        h->first = h->rows;
    size_t mark = (size_t)(h->first / HISTORY_STEP);
    uint64_t at = mark < h->marks ? h->mark[mark] : 0;
    if (at < h->holes + HOLE)
        return;
    if (fallocate(h->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)h->holes,
                  (off_t)(at - h->holes)) < 0)
        log_debug("the space of old rows cannot be given back: %m");
    h->holes = at;
}

void history_add(struct history *h, struct str form, bool wrapped)
{
    if (h->limit == 0 || h->fd < 0)
        return;
    if (history_count(h) >= h->limit)
        drop_oldest(h);
    if (h->rows % HISTORY_STEP == 0) {
        put_mark(h);
        if (pwrite(h->index, &h->bytes, sizeof(h->bytes),
                   (off_t)((h->marks - 1) * sizeof(h->bytes))) < 0)
            log_debug("the index of a history cannot be written: %m");
    }
    buf_adds(&h->late, form);
    buf_addc(&h->late, wrapped ? '\r' : '\n');
    h->bytes += form.n + 1;
    h->rows++;
    if (h->late.n >= HISTORY_CHUNK)
        write_late(h);
}

struct history_place history_save(struct history *h)
{
    if (h->fd >= 0 && h->late.n > 0)
        write_late(h);
    return (struct history_place){h->bytes, h->rows, h->first};
}

void history_clear(struct history *h)
{
    if (h->fd < 0)
        return;
    buf_reset(&h->late);
    h->bytes = h->rows = h->first = h->holes = 0;
    h->marks = 0;
    if (ftruncate(h->fd, 0) < 0)
        log_debug("cannot empty a history: %m");
}

bool history_pop(struct history *h, struct buf *form, bool *wrapped)
{
    struct history_reader r;
    struct str s;
    if (history_count(h) == 0 || h->fd < 0)
        return false;
    history_read(&r, h, h->rows - 1);
    bool got = history_next(&r, &s, wrapped);
    if (got) {
        buf_adds(form, s);
        h->bytes -= s.n + 1;
        h->rows--;
        h->marks = (size_t)((h->rows + HISTORY_STEP - 1) / HISTORY_STEP);
    }
    history_read_end(&r);
    return got;
}

/* ---- reading ---- */

static bool fill(struct history_reader *r)
{
    buf_consume(&r->chunk, r->used);
    r->used = 0;
    char *p = buf_reserve(&r->chunk, HISTORY_CHUNK);
    uint64_t end = r->at + r->chunk.n;
    size_t want = r->h->bytes - end < HISTORY_CHUNK ? (size_t)(r->h->bytes - end)
                                                    : HISTORY_CHUNK;
    ssize_t n = p && want ? pread(r->h->fd, p, want, (off_t)end) : 0;
    buf_commit(&r->chunk, n > 0 ? (size_t)n : 0);
    return n > 0;
}

void history_read(struct history_reader *r, struct history *h, uint64_t row)
{
    history_save(h);
    *r = (struct history_reader){.h = h, .chunk = BUF_INIT(SIZE_MAX)};
    if (row < h->first)
        row = h->first;
    r->row = h->rows;
    r->at = h->bytes;
    if (row >= h->rows)
        return;
    size_t mark = (size_t)(row / HISTORY_STEP);
    struct str form;
    bool wrapped;
    r->row = (uint64_t)mark * HISTORY_STEP;
    r->at = h->mark[mark];
    while (r->row < row && history_next(r, &form, &wrapped))
        continue;
}

bool history_next(struct history_reader *r, struct str *form, bool *wrapped)
{
    size_t seen = 0;
    if (r->row >= r->h->rows)
        return false;
    for (;;) {
        struct str s = str_sub(buf_str(&r->chunk), r->used, SIZE_MAX);
        size_t i = seen;
        while (i < s.n && s.p[i] != '\n' && s.p[i] != '\r')
            i++;
        if (i < s.n) {
            *form = str_n(s.p, i);
            *wrapped = s.p[i] == '\r';
            r->used += i + 1;
            r->at += i + 1;
            r->row++;
            return true;
        }
        seen = i;
        if (!fill(r))
            return false;
    }
}

void history_read_end(struct history_reader *r) { buf_release(&r->chunk); }
