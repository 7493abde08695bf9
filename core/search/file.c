/* SPDX-License-Identifier: MIT */
/*
 * Searches files: they are read in large blocks, cut at the last newline of each, and
 * searched while they are in the cache. Nothing is mapped: a file that becomes shorter
 * meanwhile would cause a signal.
 *
 * With `newest` a helper keeps twice as many hits as are wanted, sorts when it has that
 * many, and then skips files that are older than the last hit it keeps.
 */
#include "base/clock.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "search/own.h"
#include "text/glob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FLUSH_MS = 50,
    LINES_MAX = 96 << 10,
    GLOB_ROOM = GLOB_ALTERNATIVES_MAX * GLOB_PATTERN_MAX
};

struct search_candidate {
    int64_t mtime_ns;
    char *path; /* owned */
    uint32_t path_n;
};

struct search_newest {
    struct search_candidate *all; /* owned: twice `most` and one */
    size_t n, most;
    int64_t oldest; /* when full: older files are not wanted */
    bool full;
};

/* ---- hits ---- */

static int send_out(struct search_helper *w, struct err *e)
{
    if (w->out.n && job_put(w->child, buf_str(&w->out)) < 0)
        return err_sys(e, errno, "cannot send the hits");
    buf_reset(&w->out);
    w->sent_ms = clock_ms();
    return 0;
}

static int put_hit(struct search_helper *w, struct search_head h, struct str path,
                   struct err *e)
{
    h.path_n = (uint32_t)path.n;
    h.size = (uint32_t)(sizeof(h) + path.n + w->lines.n);
    if (buf_add(&w->out, &h, sizeof(h)) < 0 || buf_adds(&w->out, path) < 0 ||
        buf_adds(&w->out, buf_str(&w->lines)) < 0)
        return err_set(e, ERR_INTERNAL, "a hit of %u bytes is too large", h.size);
    w->kept += w->lines.n;
    buf_reset(&w->lines);
    return w->out.n >= SEARCH_OUT ? send_out(w, e) : 0;
}

/* ---- the newest ---- */

static int newest_first(const void *a, const void *b)
{
    const struct search_candidate *x = a, *y = b;
    if (x->mtime_ns != y->mtime_ns)
        return x->mtime_ns < y->mtime_ns ? 1 : -1;
    return strcmp(x->path, y->path);
}

static void drop_old(struct search_newest *t)
{
    qsort(t->all, t->n, sizeof(*t->all), newest_first);
    while (t->n > t->most)
        free(t->all[--t->n].path);
    t->full = t->n == t->most;
    if (t->full)
        t->oldest = t->all[t->n - 1].mtime_ns;
}

static void keep_newest(struct search_helper *w, int64_t mtime_ns)
{
    struct search_newest *t = w->newest;
    struct str path = buf_str(&w->path);
    t->all[t->n++] = (struct search_candidate){
        mtime_ns, xstrndup(path.p ? path.p : "", path.n), (uint32_t)path.n};
    if (t->n == 2 * t->most)
        drop_old(t);
}

static bool is_too_old(const struct search_helper *w, int64_t mtime_ns)
{
    return w->newest && w->newest->full && mtime_ns < w->newest->oldest;
}

int search_flush(struct search_helper *w, bool all, struct err *e)
{
    struct search_newest *t = w->newest;
    int rc = 0;
    if (!all && (!w->out.n || clock_ms() - w->sent_ms < FLUSH_MS))
        return 0;
    for (size_t i = 0; all && t && rc == 0 && i < t->n; i++)
        rc = put_hit(w, (struct search_head){.mtime_ns = t->all[i].mtime_ns, .first = 1},
                     str_n(t->all[i].path, t->all[i].path_n), e);
    return rc == 0 ? send_out(w, e) : rc;
}

/* ---- by name ---- */

static int64_t mtime_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

int search_hit_name(struct search_helper *w, int dir, const char *name, struct err *e)
{
    struct stat st;
    if (!w->newest)
        return put_hit(w, (struct search_head){.first = 1}, buf_str(&w->path), e);
    if (fstatat(dir, name, &st, w->spec->links ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (!is_too_old(w, mtime_of(&st)))
        keep_newest(w, mtime_of(&st));
    return 0;
}

/* ---- by lines ---- */

/* The file that is being searched. Offsets are into w->block. */
struct search_reading {
    int64_t mtime_ns;
    size_t have;     /* bytes in the block */
    size_t from;     /* not searched yet: the beginning of a line */
    size_t told;     /* lines before this offset are done */
    size_t counted;  /* newlines before this offset are counted in `number` */
    uint64_t number; /* of the line at counted, from 1 */
    unsigned behind; /* lines of context that are still due */
    struct search_head head;
    bool any; /* a hit of the file was added */
};

static uint64_t number_at(struct search_helper *w, struct search_reading *k, size_t at)
{
    if (at > k->counted) {
        k->number += scan_count(str_n(w->block + k->counted, at - k->counted), '\n');
        k->counted = at;
    }
    return k->number;
}

static int end_hit(struct search_helper *w, struct search_reading *k, struct err *e)
{
    k->head.first = !k->any;
    k->head.mtime_ns = k->mtime_ns;
    k->any = true;
    struct search_head h = k->head;
    k->head = (struct search_head){0};
    return put_hit(w, h, buf_str(&w->path), e);
}

/* Adds the line between start and end, unless there are enough lines. */
static int tell_line(struct search_helper *w, struct search_reading *k, size_t start,
                     size_t end, bool context, struct err *e)
{
    struct str text = str_n(w->block + start, end - start);
    size_t n = text.n > SEARCH_LINE_KEPT ? utf8_cut(text, SEARCH_LINE_KEPT) : text.n;
    if (w->kept + w->lines.n > SEARCH_KEPT_MAX) {
        k->head.dropped = 1;
        return 0;
    }
    struct search_line_head h = {.number = number_at(w, k, start),
                                 .n = (uint32_t)n,
                                 .context = context,
                                 .cut = n < text.n};
    buf_add(&w->lines, &h, sizeof(h));
    buf_add(&w->lines, text.p, n);
    return w->lines.n >= LINES_MAX ? end_hit(w, k, e) : 0;
}

/* Adds the context after the last match, up to the line that begins at `to`. */
static int tell_behind(struct search_helper *w, struct search_reading *k, size_t to,
                       struct err *e)
{
    while (k->behind > 0 && k->told < to) {
        size_t end = k->told + line_end_of(str_n(w->block + k->told, to - k->told), 0);
        if (tell_line(w, k, k->told, end, true, e) < 0)
            return -1;
        k->told = end + 1;
        k->behind--;
    }
    return 0;
}

/*
 * Returns the beginning of the n-th line before the one at `at`; stops at lines already
 * added.
 */
static size_t lines_before(const struct search_helper *w, const struct search_reading *k,
                           size_t at, unsigned n)
{
    for (; n > 0 && at > k->told; n--)
        at = line_start_of(str_n(w->block, at), at - 1);
    return at > k->told ? at : k->told;
}

static int tell_match(struct search_helper *w, struct search_reading *k, struct str line,
                      struct err *e)
{
    size_t start = (size_t)(line.p - w->block), end = start + line.n;
    if (tell_behind(w, k, start, e) < 0)
        return -1;
    for (size_t at = lines_before(w, k, start, w->spec->before); at < start;) {
        size_t stop = at + line_end_of(str_n(w->block + at, start - at), 0);
        if (tell_line(w, k, at, stop, true, e) < 0)
            return -1;
        at = stop + 1;
    }
    k->head.matches++;
    k->told = end + 1;
    k->behind = w->spec->after;
    return tell_line(w, k, start, end, false, e);
}

/* Searches the block up to `to`. Returns 1 if the file is done. */
static int search_block(struct search_helper *w, struct search_reading *k, size_t to,
                        struct err *e)
{
    struct str line;
    int rc;
    while ((rc = pattern_next(w->pattern, str_n(w->block, to), k->from, &line, e)) > 0) {
        if (w->spec->what == SEARCH_FILES) {
            k->any = true;
            if (w->newest)
                keep_newest(w, k->mtime_ns);
            else if (put_hit(w, (struct search_head){.first = 1}, buf_str(&w->path), e) <
                     0)
                return -1;
            return 1;
        }
        if (tell_match(w, k, line, e) < 0)
            return -1;
        k->from = (size_t)(line.p - w->block) + line.n + 1;
    }
    if (rc < 0)
        return -1;
    k->from = to;
    return tell_behind(w, k, to, e);
}

/* Drops what was searched from the block, except lines that may become context. */
static void shift(struct search_helper *w, struct search_reading *k)
{
    size_t keep = lines_before(w, k, k->from, w->spec->before);
    if (k->from - keep > SEARCH_LINE_MAX / 2)
        keep = k->from;
    if (w->spec->what == SEARCH_LINES)
        number_at(w, k, keep);
    memmove(w->block, w->block + keep, k->have - keep);
    k->have -= keep;
    k->from -= keep;
    k->told = k->told > keep ? k->told - keep : 0;
    k->counted = 0;
}

static ssize_t read_more(struct search_helper *w, struct search_reading *k, int fd)
{
    size_t room = SEARCH_LINE_MAX - k->have;
    ssize_t n;
    do
        n = read(fd, w->block + k->have, room < SEARCH_BLOCK ? room : SEARCH_BLOCK);
    while (n < 0 && errno == EINTR);
    k->have += n > 0 ? (size_t)n : 0;
    return n;
}

/*
 * Returns the end of the whole lines in the block: after the last newline, or all of it
 * if there is none.
 */
static size_t whole_lines(const struct search_helper *w, const struct search_reading *k,
                          bool end)
{
    if (end || k->have == k->from)
        return k->have;
    const char *p = memrchr(w->block + k->from, '\n', k->have - k->from);
    if (p)
        return (size_t)(p - w->block) + 1;
    return k->have == SEARCH_LINE_MAX ? k->have : k->from;
}

static int search_whole(struct search_helper *w, struct search_reading *k, int fd,
                        struct err *e)
{
    int rc = 0;
    for (bool first = true, end = false; rc == 0 && !end && !search_is_stopped(w);) {
        ssize_t n = read_more(w, k, fd);
        if (n < 0 && errno != EAGAIN)
            search_unread(w, "read", buf_str(&w->path), errno);
        end = n <= 0;
        size_t head = k->have < SEARCH_HEAD ? k->have : SEARCH_HEAD;
        if (first && !w->spec->binary && memchr(w->block, 0, head))
            return 0;
        if (first)
            search_count_file(w->shared);
        first = false;
        size_t to = whole_lines(w, k, end);
        if (to > k->from)
            rc = search_block(w, k, to, e);
        if (rc == 0 && !end)
            shift(w, k);
    }
    if (rc >= 0 && w->spec->what == SEARCH_LINES && (k->head.matches || w->lines.n))
        rc = end_hit(w, k, e);
    return rc < 0 ? -1 : 0;
}

static int search_file_open(struct search_helper *w, int fd, struct err *e)
{
    struct search_reading k = {.number = 1};
    struct stat st;
    if (w->newest) {
        if (fstat(fd, &st) < 0 || is_too_old(w, mtime_of(&st)))
            return 0;
        k.mtime_ns = mtime_of(&st);
    }
    buf_reset(&w->lines);
    int rc = search_whole(w, &k, fd, e);
    if (rc < 0 && e->code == ERR_LIMIT) {
        struct err why = *e;
        err_set(e, ERR_LIMIT, "%.400s (in %.*s)", why.text,
                (int)(w->path.n > 100 ? 100 : w->path.n), buf_z(&w->path));
    }
    return rc;
}

/* A file may have become a pipe or a device since the folder was read. */
int search_file(struct search_helper *w, int dir, const char *name, struct err *e)
{
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(dir, name, w->spec->links ? flags : flags | O_NOFOLLOW);
    if (fd < 0) {
        /* It may have been removed, or replaced by a link, meanwhile. */
        if (errno != ENOENT && errno != ELOOP)
            search_unread(w, "open", buf_str(&w->path), errno);
        return 0;
    }
    int rc = search_file_open(w, fd, e);
    close(fd);
    return rc;
}

/* ---- the helper ---- */

static int expand_all(struct buf *out, struct str pattern, struct err *e)
{
    return pattern.n ? glob_expand(pattern, out, e) : 0;
}

static int open_root(struct search_helper *w, struct stat *st, struct err *e)
{
    const char *root = w->spec->root;
    if (stat(root, st) < 0)
        return err_sys(e, errno, "cannot search %.300s", root);
    bool file = S_ISREG(st->st_mode);
    bool may_be_file = w->spec->what != SEARCH_NAMES && !w->spec->folder;
    if (!(file && may_be_file) && (!S_ISDIR(st->st_mode) || w->spec->file))
        return err_set(e, ERR_NOTFOUND, "cannot search %.300s: it is not a %s", root,
                       w->spec->file ? "file"
                       : may_be_file ? "file or folder"
                                     : "folder");
    w->root = open(root, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
                             (file ? 0 : O_DIRECTORY));
    if (w->root < 0 || fstat(w->root, st) < 0)
        return err_sys(e, errno, "cannot search %.300s", root);
    w->root_dev = st->st_dev;
    return 0;
}

static void make_room(struct search_helper *w)
{
    const struct search_spec *q = w->spec;
    buf_init(&w->include, GLOB_ROOM);
    buf_init(&w->exclude, GLOB_ROOM);
    buf_init(&w->local, SEARCH_LOCAL);
    buf_init(&w->unit, 1 << 20);
    buf_init(&w->batch, SEARCH_BATCH * 256);
    buf_init(&w->path, SEARCH_PATH_MAX);
    buf_init(&w->out, SEARCH_OUT + SEARCH_HIT_MAX);
    buf_init(&w->lines, LINES_MAX + 2 * SEARCH_LINE_KEPT);
    map_init(&w->ignores);
    if (q->newest) {
        w->newest = xnew(struct search_newest);
        /* One more than wanted shows that there are more. */
        w->newest->most = q->files_max + 1;
        w->newest->all = xcalloc(2 * w->newest->most, sizeof(struct search_candidate));
    }
    if (q->what != SEARCH_NAMES)
        w->block = xcalloc(1, SEARCH_LINE_MAX);
}

int search_child(void *arg, const struct job_child *c, struct err *e)
{
    const struct search_job *job = arg;
    struct search_helper *w = xnew(struct search_helper);
    const struct search_spec *q = job->spec;
    struct stat st;
    w->spec = q;
    w->child = c;
    w->shared = job->shared;
    make_room(w);
    if (open_root(w, &st, e) < 0 || expand_all(&w->include, q->include, e) < 0 ||
        expand_all(&w->exclude, q->exclude, e) < 0)
        return -1;
    if (q->what != SEARCH_NAMES &&
        !(w->pattern = pattern_new(q->pattern, q->fixed, q->ignore_case, e)))
        return -1;
    if (S_ISDIR(st.st_mode))
        return search_walk(w, e);
    if (!job->first)
        return 0;
    return search_file_open(w, w->root, e) < 0 ? -1 : search_flush(w, true, e);
}
