/* SPDX-License-Identifier: MIT */
/*
 * Where an event log is kept.
 *
 * A folder has VERSION, lock (which holds the counts of refused events too: a
 * file that exists can be overwritten on a full disk), and the segments. In
 * memory all of it is one file without a name: a page with version and counts,
 * then one slot per segment, each as long as a segment can become. Slots are never
 * used again; a dropped one becomes a hole and takes no space.
 */
#include "eventlog/own.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_TEXT "od event log 1\n"
#define NAME_END     ".jsonl"

enum { PAGE = 4096, ID_DIGITS = 20, MEMORY_SEGMENTS = 16, SEGMENT_LEAST = 4096 };

const char *segment_name(const struct eventlog *l, const struct segment *s,
                         char out[SEGMENT_NAME_MAX])
{
    if (l->dir < 0)
        snprintf(out, SEGMENT_NAME_MAX, "memory");
    else
        snprintf(out, SEGMENT_NAME_MAX, "%020llu" NAME_END, (unsigned long long)s->first);
    return out;
}

static struct segment *add_segment(struct eventlog *l, struct segment s)
{
    if (l->segs == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->seg = xrealloc(l->seg, l->cap, sizeof(*l->seg));
    }
    l->bytes += s.bytes;
    l->seg[l->segs++] = s;
    return newest(l);
}

static ssize_t read_at(int fd, char *p, size_t n, uint64_t at)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = pread(fd, p + got, n - got, (off_t)(at + got));
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -1;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

/* ---- counts ---- */

#define COUNTS "refused %020llu told %020llu\n"

static off_t counts_at(const struct eventlog *l) { return l->dir < 0 ? COUNTS_AT : 0; }

void counts_save(const struct eventlog *l)
{
    char text[64];
    int n = snprintf(text, sizeof(text), COUNTS, (unsigned long long)l->refused,
                     (unsigned long long)l->told);
    if (pwrite(l->file, text, (size_t)n, counts_at(l)) != n)
        log_debug("%s: the count of refused events is not on disk: %m", l->name);
}

/* Writes the counts to a new file, so that they have space when the disk is full. */
static void counts_load(struct eventlog *l)
{
    char text[64];
    ssize_t n = read_at(l->file, text, sizeof(text), (uint64_t)counts_at(l));
    struct str s = str_n(text, n > 0 ? (size_t)n : 0);
    if (str_to_u64(str_sub(s, 8, ID_DIGITS), &l->refused) < 0 ||
        str_to_u64(str_sub(s, 34, ID_DIGITS), &l->told) < 0 || l->told > l->refused) {
        l->refused = l->told = 0;
        counts_save(l);
    }
}

/* ---- segments ---- */

static int open_segment(const struct eventlog *l, const struct segment *s, int flags)
{
    char name[SEGMENT_NAME_MAX];
    return openat(l->dir, segment_name(l, s, name), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Closes the least recently used segments, if many are open. */
static void close_some(struct eventlog *l)
{
    for (;;) {
        struct segment *oldest = NULL;
        unsigned open = 0;
        for (size_t i = 0; i + 1 < l->segs; i++) {
            struct segment *s = &l->seg[i];
            if (s->fd < 0 || s->dirty)
                continue;
            open++;
            if (!oldest || s->used < oldest->used)
                oldest = s;
        }
        if (open < SEGMENTS_OPEN)
            return;
        close(oldest->fd);
        oldest->fd = -1;
    }
}

/* Returns the segment's descriptor, opened if necessary; -1 with errno. */
static int segment_fd(struct eventlog *l, struct segment *s)
{
    s->used = ++l->clock;
    if (s->fd < 0) {
        close_some(l);
        s->fd = open_segment(l, s, O_RDONLY);
    }
    return s->fd;
}

ssize_t segment_read(struct eventlog *l, struct segment *s, uint64_t at, char *p,
                     size_t n)
{
    int fd = segment_fd(l, s);
    if (fd < 0)
        return -1;
    if (n > s->bytes - at)
        n = (size_t)(s->bytes - at);
    return read_at(fd, p, n, s->base + at);
}

void segment_cut(struct eventlog *l)
{
    struct segment *s = newest(l);
    l->ragged = ftruncate(s->fd, (off_t)(s->base + s->bytes)) < 0;
    l->room = 0; /* what was reserved is free, too */
}

int segment_begin(struct eventlog *l, struct err *e)
{
    struct segment s = {.first = l->next, .last_us = l->last_us, .fd = l->file};
    if (l->dir < 0) {
        s.base = l->segs ? newest(l)->base + l->stride : PAGE;
    } else {
        s.fd = open_segment(l, &s, O_RDWR | O_CREAT | O_EXCL);
        if (s.fd < 0) {
            char name[SEGMENT_NAME_MAX];
            return err_sys(e, errno, "cannot make %s/%s for events", l->name,
                           segment_name(l, &s, name));
        }
        if (l->segs > 0 && reserve_begin(l, s.fd) < 0) {
            char name[SEGMENT_NAME_MAX];
            err_sys(e, errno, "cannot make %s/%s for events", l->name,
                    segment_name(l, &s, name));
            unlinkat(l->dir, segment_name(l, &s, name), 0);
            close(s.fd);
            return -1;
        }
        if (l->segs > 0 && l->room > 0)
            segment_cut(l);
        close_some(l);
        l->dir_dirty = true;
    }
    l->room = 0;
    add_segment(l, s);
    l->roll_at = l->segment_bytes;
    l->roll_us = l->max_age_us ? wall_us() + l->max_age_us / 4 : INT64_MAX;
    return 0;
}

void segment_drop(struct eventlog *l)
{
    struct segment *s = &l->seg[0];
    char name[SEGMENT_NAME_MAX];
    int r;
    if (l->dir < 0)
        r = fallocate(l->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)s->base,
                      (off_t)l->stride);
    else
        r = unlinkat(l->dir, segment_name(l, s, name), 0);
    if (r < 0 && errno != ENOENT)
        log_warn("events %llu to %llu in %s are not kept any longer, but their room is "
                 "not free: %m",
                 (unsigned long long)s->first, (unsigned long long)s[1].first - 1,
                 l->name);
    if (l->dir >= 0 && s->fd >= 0)
        close(s->fd);
    l->bytes -= s->bytes;
    memmove(s, s + 1, --l->segs * sizeof(*s));
}

/* ---- opening ---- */

/* Reads the newest segment, for the end of its last line and the next id. */
static int recover(struct eventlog *l, struct err *e)
{
    struct segment *s = newest(l);
    struct log_walk w = {.due = s->first};
    char name[SEGMENT_NAME_MAX];
    if (segment_walk(l, s, &w, UINT64_MAX) < 0)
        return err_sys(e, errno, "cannot read events from %s/%s", l->name,
                       segment_name(l, s, name));
    l->bytes -= s->bytes - w.offset;
    s->bytes = w.offset;
    l->next = w.due;
    /* A new segment has no events: use the time of the previous one. */
    if (!w.stamp[0] && l->segs > 1) {
        w = (struct log_walk){.due = s[-1].first};
        if (segment_walk(l, s - 1, &w, UINT64_MAX) < 0)
            w.stamp[0] = 0;
    }
    int64_t us = w.stamp[0] ? event_stamp_us(w.stamp) : 0;
    l->last_us = us > 0 ? us : 0;
    event_stamp(l->stamp, l->last_us);
    return 0;
}

static int recover_and_cut(struct eventlog *l, struct err *e)
{
    struct segment *s = newest(l);
    uint64_t had = s->bytes;
    char name[SEGMENT_NAME_MAX];
    if (recover(l, e) < 0)
        return -1;
    if (had > s->bytes) {
        log_warn("%s/%s ended in %llu bytes that are not an event; they were cut off",
                 l->name, segment_name(l, s, name), (unsigned long long)(had - s->bytes));
        segment_cut(l);
    }
    return 0;
}

static bool is_segment(const char *name, uint64_t *first)
{
    struct str s = str_of(name);
    return s.n == ID_DIGITS + sizeof(NAME_END) - 1 && str_ends(s, STR(NAME_END)) &&
           str_to_u64(str_sub(s, 0, ID_DIGITS), first) == 0 && *first > 0;
}

static int by_first(const void *a, const void *b)
{
    uint64_t x = ((const struct segment *)a)->first;
    uint64_t y = ((const struct segment *)b)->first;
    return x < y ? -1 : x > y;
}

/*
 * Lists segments by name. *others: whether there is a file that no log has. Returns -1
 * with errno.
 */
static int list_segments(struct eventlog *l, bool *others)
{
    int fd = openat(l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *ent;
    l->segs = 0;
    l->bytes = 0;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while ((ent = readdir(d))) {
        struct segment s = {.fd = -1};
        struct stat st;
        if (!is_segment(ent->d_name, &s.first)) {
            *others = *others || (ent->d_name[0] != '.' && strcmp(ent->d_name, "lock"));
            continue;
        }
        if (fstatat(l->dir, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        s.bytes = (uint64_t)st.st_size;
        s.last_us = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
        add_segment(l, s);
    }
    closedir(d);
    if (l->segs)
        qsort(l->seg, l->segs, sizeof(*l->seg), by_first);
    return 0;
}

/*
 * Returns 1 for our version; 0 if the folder has no log yet; -1 and sets *e. Changes
 * nothing.
 */
static int check_version(struct eventlog *l, struct err *e)
{
    char text[64];
    bool others = false;
    int fd = openat(l->dir, "VERSION", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return err_sys(e, errno, "cannot read %s/VERSION", l->name);
    ssize_t n = fd < 0 ? 0 : read_at(fd, text, sizeof(text), 0);
    if (fd >= 0)
        close(fd);
    struct str got = str_n(text, n > 0 ? (size_t)n : 0);
    if (str_eq(got, STR(VERSION_TEXT)))
        return 1;
    got = str_trim(str_cut(&got, '\n'));
    if (got.n > 0)
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot use the events in %s: they are of another version (%.*s, "
                       "not %.*s); move the folder away, or use another state directory",
                       l->name, STR_ARG(got), (int)sizeof(VERSION_TEXT) - 2,
                       VERSION_TEXT);
    if (list_segments(l, &others) < 0)
        return err_sys(e, errno, "cannot list %s", l->name);
    bool newborn = fd >= 0; /* a power cut came before VERSION was on the disk */
    for (size_t i = 0; i < l->segs; i++)
        newborn = newborn && l->seg[i].bytes == 0;
    if ((l->segs && !newborn) || (others && fd < 0))
        return err_set(
            e, ERR_UNSUPPORTED,
            "cannot keep events in %s: it has files and no VERSION that states "
            "they are an event log; move it away, or use another directory",
            l->name);
    return 0;
}

/* The disk may take 5 ms and more, so sync.c does the rest, before any event's bytes. */
static int write_version(struct eventlog *l, struct err *e)
{
    const size_t n = sizeof(VERSION_TEXT) - 1;
    int fd = openat(l->dir, ".VERSION", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, VERSION_TEXT, n) == (ssize_t)n &&
              renameat(l->dir, ".VERSION", l->dir, "VERSION") == 0;
    if (!ok)
        err_sys(e, errno, "cannot keep events in %s", l->name);
    if (ok && l->sync != EVENTLOG_SYNC_NONE)
        l->version = fd;
    else if (fd >= 0)
        close(fd);
    return ok ? 0 : -1;
}

/*
 * A lock of fcntl, not flock: a child forked just before the worker was killed
 * would keep a lock of flock, and so keep the next worker out.
 */
static int lock_folder(struct eventlog *l, struct err *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    l->file = openat(l->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (l->file < 0)
        return err_sys(e, errno, "cannot open %s/lock", l->name);
    if (fcntl(l->file, F_SETLK, &lock) == 0)
        return 0;
    if (errno != EAGAIN && errno != EACCES)
        return err_sys(e, errno, "cannot lock %s/lock", l->name);
    fcntl(l->file, F_GETLK, &lock);
    return err_set(e, ERR_BUSY,
                   "cannot write events to %s: process %ld does; end it, or use another "
                   "state directory",
                   l->name, (long)lock.l_pid);
}

static int open_folder(struct eventlog *l, const struct eventlog_opts *o, struct err *e)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const char *path = o->dir;
    l->dir = open(path, flags);
    if (l->dir < 0 && errno == ENOENT && mkdir(path, 0700) == 0)
        l->dir = open(path, flags);
    if (l->dir < 0)
        return err_sys(e, errno, "cannot keep events in %s", path);
    int version = check_version(l, e);
    if (version < 0 || lock_folder(l, e) < 0 || (version == 0 && write_version(l, e) < 0))
        return -1;
    bool others = false;
    if (list_segments(l, &others) < 0)
        return err_sys(e, errno, "cannot list %s", path);
    counts_load(l);
    l->reserve = reserve_size(l->dir, o->reserve);
    if (l->segs == 0)
        return segment_begin(l, e);
    struct segment *s = newest(l);
    s->fd = open_segment(l, s, O_RDWR);
    if (s->fd < 0) {
        char name[SEGMENT_NAME_MAX];
        return err_sys(e, errno, "cannot open %s/%s", path, segment_name(l, s, name));
    }
    return recover_and_cut(l, e);
}

/* ---- memory ---- */

/* Version, then the stride, on one page. */
#define MEMORY_TEXT VERSION_TEXT "stride %020llu\n"

static int make_memory(struct eventlog *l, struct err *e)
{
    char text[COUNTS_AT];
    l->file = memfd_create("od-events", MFD_CLOEXEC);
    int n = snprintf(text, sizeof(text), MEMORY_TEXT, (unsigned long long)l->stride);
    if (l->file < 0 || pwrite(l->file, text, (size_t)n, 0) != n)
        return err_sys(e, errno, "cannot keep events in memory");
    counts_save(l);
    return segment_begin(l, e);
}

/* The slot's segment, if there is an event at its beginning. */
static bool slot_segment(struct eventlog *l, uint64_t slot, struct segment *s)
{
    char text[EVENT_HEAD_MAX];
    struct event_line line;
    s->fd = l->file;
    s->base = PAGE + slot * l->stride;
    ssize_t n = read_at(l->file, text, sizeof(text), s->base);
    if (n <= 0 || !event_head(str_n(text, (size_t)n), &line))
        return false;
    s->first = line.id;
    return true;
}

/*
 * Takes the log of an earlier worker. The slots in use are the last ones; only the very
 * last may begin with a torn line.
 */
static int reopen_memory(struct eventlog *l, struct err *e)
{
    char text[COUNTS_AT];
    struct stat st;
    ssize_t n = read_at(l->file, text, sizeof(text), 0);
    struct str head = str_n(text, n > 0 ? (size_t)n : 0);
    const size_t version = sizeof(VERSION_TEXT) - 1;
    if (!str_starts(head, STR(VERSION_TEXT)) || fstat(l->file, &st) < 0 ||
        str_to_u64(str_sub(head, version + 7, ID_DIGITS), &l->stride) < 0 ||
        l->stride < PAGE + LIMIT_EVENT_MAX || l->stride > INT32_MAX)
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot use the events in memory: they are of another version");
    l->segment_bytes = l->stride - LIMIT_EVENT_MAX - PAGE;
    counts_load(l);
    uint64_t end = (uint64_t)st.st_size;
    uint64_t slots = end > PAGE ? (end - PAGE + l->stride - 1) / l->stride : 0;
    struct segment s = {0};
    uint64_t first = slots;
    while (first > 0 && (slot_segment(l, first - 1, &s) || first == slots))
        first--;
    for (; first < slots && slot_segment(l, first, &s) && s.first >= l->next; first++) {
        off_t hole = lseek(l->file, (off_t)s.base, SEEK_HOLE);
        s.bytes = end - s.base < l->stride ? end - s.base : l->stride;
        if (hole > 0 && (uint64_t)hole - s.base < s.bytes)
            s.bytes = (uint64_t)hole - s.base;
        add_segment(l, s);
        if (recover(l, e) < 0)
            return -1;
        newest(l)->last_us = l->last_us;
    }
    if (l->segs == 0 && segment_begin(l, e) < 0)
        return -1;
    segment_cut(l);
    return 0;
}

int file_open(struct eventlog *l, const struct eventlog_opts *o, struct err *e)
{
    bool folder = o->dir != NULL;
    l->dir = -1;
    l->file = folder ? -1 : o->memory_fd;
    l->name = xstrdup(folder ? o->dir : "memory");
    l->total_bytes = o->total_bytes ? o->total_bytes
                     : folder       ? LIMIT_EVENTS_TOTAL
                                    : LIMIT_EVENTS_MEMORY;
    l->segment_bytes = o->segment_bytes ? o->segment_bytes
                       : folder         ? LIMIT_EVENT_SEGMENT
                                        : l->total_bytes / MEMORY_SEGMENTS;
    if (l->segment_bytes < SEGMENT_LEAST)
        l->segment_bytes = SEGMENT_LEAST;
    if (l->segment_bytes < l->total_bytes / 4096)
        l->segment_bytes = l->total_bytes / 4096;
    l->stride = (l->segment_bytes + LIMIT_EVENT_MAX + 2 * PAGE - 1) / PAGE * PAGE;
    l->next = 1;
    l->roll_at = l->segment_bytes;
    l->roll_us = l->max_age_us ? wall_us() + l->max_age_us / 4 : INT64_MAX;
    event_stamp(l->stamp, 0);
    if (folder)
        return open_folder(l, o, e);
    return l->file < 0 ? make_memory(l, e) : reopen_memory(l, e);
}

void file_close(struct eventlog *l)
{
    for (size_t i = 0; i < l->segs && l->dir >= 0; i++) {
        if (l->seg[i].fd >= 0)
            close(l->seg[i].fd);
    }
    if (l->version > 0)
        close(l->version);
    reserve_close(l);
    if (l->file >= 0)
        close(l->file);
    if (l->dir >= 0)
        close(l->dir);
    free(l->seg);
    free(l->name);
}
