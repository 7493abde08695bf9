/* SPDX-License-Identifier: MIT */
/* The programs: their output goes into spools, and their pending input is kept here. */
#include "keeper/keeper_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    INPUT_MAX = 256 << 10, /* input held for one program that does not read */
    QUIET_MAX = 16 << 10,  /* input that was taken without a record */
    LATE_MS = 250,         /* before output that the disk refused is written again */
    FULL_MS = 250,         /* a command is held back for a caller when the disk is full */
    TTY_READ = 1024        /* a read shorter than this has emptied a tty or pipe */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void proc_mark(struct keeper *k, struct keeper_proc *p)
{
    if (list_empty(&p->dirty))
        list_add_tail(&k->dirty, &p->dirty);
}

struct keeper_proc *proc_by_id(struct keeper *k, uint64_t id)
{
    return map_get(&k->ids, str_n(&id, sizeof(id)));
}

void proc_drop(struct keeper *k, struct keeper_proc *p)
{
    map_del(&k->ids, str_n(&p->p.id, sizeof(p->p.id)));
    list_del(&p->node);
    list_del(&p->dirty);
    bool pty = (p->p.kind & KEEP_PTY) != 0;
    if (pty && p->in.fd >= 0) {
        watch_set(k, &p->in, 0);
        p->in.fd = -1; /* the master, closed below */
    }
    watch_close(k, &p->in);
    for (int i = 0; i < 2; i++) {
        struct keeper_stream *t = &p->out[i];
        list_del(&t->rich);
        list_del(&t->held);
        k->spool_used -= t->spool >= 0 ? t->s.offset - t->from : 0;
        watch_close(k, &t->w);
        close_fd(&t->spool);
        free(t->late);
    }
    close_fd(&p->slave);
    free(p->pending);
    free(p);
}

static void gap_add(struct keep_stream *s, uint64_t from, uint64_t to)
{
    if (s->gaps && s->gap[s->gaps - 1].to == from) {
        s->gap[s->gaps - 1].to = to;
        return;
    }
    if (s->gaps == KEEP_GAPS) {
        s->gap[0].to = s->gap[1].to;
        memmove(&s->gap[1], &s->gap[2], sizeof(s->gap[0]) * (KEEP_GAPS - 2));
        s->gaps--;
    }
    s->gap[s->gaps].from = from;
    s->gap[s->gaps].to = to;
    s->gaps++;
}

/* Writes the number after the ring: bytes before that offset may be overwritten. */
static bool put_valid(struct keeper_stream *t, uint64_t valid)
{
    if (pwrite(t->spool, &valid, sizeof(valid), (off_t)t->s.cap) != sizeof(valid))
        return false;
    t->told = valid + t->s.cap;
    return true;
}

/*
 * Before a part of the ring is overwritten, the number after the ring is raised, by an
 * eighth of the ring, so that it is written rarely, but not beyond what a caller waits
 * for. t->told is the end of output that it allows. false: the disk did not take it.
 */
static bool give_up_oldest(struct keeper_stream *t, uint64_t end)
{
    if (end <= t->told)
        return true;
    uint64_t told = end + t->s.cap / 8;
    if (t->flow != UINT64_MAX && told > t->flow + t->s.cap)
        told = t->flow + t->s.cap < end ? end : t->flow + t->s.cap;
    if (told > t->s.cap)
        return put_valid(t, told - t->s.cap);
    if (!put_valid(t, 0))
        return false;
    t->told = told;
    return true;
}

/* ---- the budget of all spools ---- */

static uint64_t spool_total(const struct keeper *k)
{
    return k->conf->spool_total ? k->conf->spool_total : LIMIT_SPOOL_TOTAL;
}

static void punch(struct keeper_stream *t, uint64_t from, uint64_t to)
{
    while (from < to) {
        uint64_t at = from % t->s.cap, n = t->s.cap - at < to - from ? t->s.cap - at
                                                                      : to - from;
        /* A file system without holes keeps the space; the ring is overwritten later. */
        (void)fallocate(t->spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
                        (off_t)n);
        from += n;
    }
}

/* Drops at most the oldest `most` bytes. false: there are none to drop. */
static bool shorten(struct keeper *k, struct keeper_stream *t, uint64_t most)
{
    uint64_t to = t->s.offset - t->from > LIMIT_SPOOL_FLOOR
                      ? t->s.offset - LIMIT_SPOOL_FLOOR
                      : t->from;
    if (to > t->flow)
        to = t->flow;
    if (to > t->from + most)
        to = t->from + most;
    /* The number is raised first, unless it is high enough already. */
    if (to <= t->from || (to + t->s.cap > t->told && !put_valid(t, to)))
        return false;
    punch(t, t->from, to);
    k->spool_used -= to - t->from;
    t->from = to;
    return true;
}

static void make_room(struct keeper *k, uint64_t n)
{
    enum { STEP = 1 << 20 };
    struct list *it, *tmp;
    list_each (it, tmp, &k->rich) {
        struct keeper_stream *t = list_entry(it, struct keeper_stream, rich);
        while (k->spool_used + n > spool_total(k) && shorten(k, t, STEP))
            ;
        if (t->s.offset - t->from <= LIMIT_SPOOL_FLOOR)
            list_del(&t->rich);
        if (k->spool_used + n <= spool_total(k))
            return;
    }
}

/* Counts n bytes added to the spool. */
static void count_written(struct keeper *k, struct keeper_stream *t, uint64_t n)
{
    t->s.offset += n;
    k->spool_used += n;
    if (t->s.offset - t->from > t->s.cap) {
        k->spool_used -= t->s.offset - t->s.cap - t->from;
        t->from = t->s.offset - t->s.cap;
    }
    list_del(&t->rich);
    if (!t->whole && t->s.offset - t->from > LIMIT_SPOOL_FLOOR)
        list_add_tail(&k->rich, &t->rich);
}

void stream_begin(struct keeper *k, struct keeper_stream *t)
{
    uint64_t valid = 0, end = t->s.offset;
    t->from = end;
    if (t->spool < 0)
        return;
    if (end == 0) { /* so that the number has space when the disk is full */
        put_valid(t, 0);
        t->told = 0;
        return;
    }
    if (pread(t->spool, &valid, sizeof(valid), (off_t)t->s.cap) != sizeof(valid)) {
        put_valid(t, end); /* a new file: the older output was in another one */
        return;
    }
    if (valid > 0)
        t->told = valid + t->s.cap;
    t->from = end > t->s.cap && end - t->s.cap > valid ? end - t->s.cap : valid;
    if (t->from > end)
        t->from = end;
    t->s.offset = t->from;
    count_written(k, t, end - t->from);
}

/* ---- holding back ---- */

static void watch_output(struct keeper *k, struct keeper_stream *t)
{
    struct keeper_proc *p = t->owner;
    bool wait = (p->p.kind & KEEP_PTY) && t == &p->out[0] && p->pending_n > 0 &&
                p->in.fd >= 0;
    watch_set(k, &t->w,
              (list_empty(&t->held) ? EPOLLIN : 0u) | (wait ? EPOLLOUT : 0u));
}

/* Bytes that may be read now without overwriting what a caller waits for. */
static size_t room_for(struct keeper *k, struct keeper_stream *t)
{
    if (t->flow == UINT64_MAX)
        return KEEPER_CHUNK;
    uint64_t size = t->s.cap;
    if (k->spool_used + KEEPER_CHUNK > spool_total(k) && size > LIMIT_SPOOL_MEMORY)
        size = LIMIT_SPOOL_MEMORY; /* no other stream has output to drop */
    if (t->small && size > t->small)
        size = t->small;
    uint64_t behind = t->s.offset > t->flow ? t->s.offset - t->flow : 0;
    uint64_t room = behind < size ? size - behind : 0;
    return room < KEEPER_CHUNK ? (size_t)room : KEEPER_CHUNK;
}

/* How long a caller that takes nothing may hold the stream back; INT64_MAX: no limit. */
static int64_t patience(const struct keeper_stream *t)
{
    return t->small ? FULL_MS : t->whole && t->read ? INT64_MAX : LIMIT_HOLD_BACK_MS;
}

static void keeper_client_back(struct keeper *k, struct keeper_stream *t, int64_t ms)
{
    struct list *it, *tmp, *before = &k->held;
    t->held_until = ms == INT64_MAX ? ms : clock_ms() + ms;
    list_del(&t->held);
    list_each (it, tmp, &k->held) {
        if (list_entry(it, struct keeper_stream, held)->held_until > t->held_until) {
            before = it;
            break;
        }
    }
    list_add_tail(before, &t->held);
    watch_output(k, t);
    proc_mark(k, t->owner);
}

static void go_on(struct keeper *k, struct keeper_stream *t)
{
    list_del(&t->held);
    watch_output(k, t);
    proc_mark(k, t->owner);
}

void stream_flow(struct keeper *k, struct keeper_stream *t, uint64_t at)
{
    uint64_t valid = t->told > t->s.cap ? t->told - t->s.cap : 0;
    t->flow = at < valid ? valid : at;
    t->read = true;
    if (list_empty(&t->held) || t->late_n > 0)
        return;
    if (room_for(k, t) > 0)
        go_on(k, t);
    else
        keeper_client_back(k, t, patience(t));
}

void stream_left(struct keeper *k, struct keeper_stream *t)
{
    t->read = false;
    if (!list_empty(&t->held) && t->held_until == INT64_MAX)
        keeper_client_back(k, t, patience(t));
}

void stream_awaited(struct keeper *k, struct keeper_stream *t)
{
    if (t->flow != UINT64_MAX)
        return;
    t->small = 0; /* the disk may have room by now */
    stream_flow(k, t, t->s.offset);
}

/* ---- moving ---- */

enum { REPLACE_STEP = 16 << 10 };

/* The disk is full: the bytes that the spool has now bound what is kept for a caller. */
static void note_full(struct keeper_stream *t)
{
    uint64_t held = t->s.offset - t->from;
    t->full_at = t->s.offset + 1;
    if (t->small == 0 && held > 2 * REPLACE_STEP)
        t->small = held - REPLACE_STEP;
}

/*
 * On a full disk drops the oldest output for the newest, even if a caller waits for it.
 * false: there is none to drop.
 */
static bool replace_oldest(struct keeper *k, struct keeper_stream *t)
{
    uint64_t to = t->from + REPLACE_STEP;
    if (to > t->s.offset)
        to = t->s.offset;
    if (to <= t->from || (to + t->s.cap > t->told && !put_valid(t, to)))
        return false;
    if (to > t->flow && t->small > REPLACE_STEP) /* it would take less than that */
        t->small /= 2;
    punch(t, t->from, to);
    k->spool_used -= to - t->from;
    t->from = to;
    return true;
}

/*
 * Keeps bytes that the disk refused for a second try, before output is dropped or lost: a
 * shell's first mark may be in them. Only once per stream, so that output on a full disk
 * is not slow; always for a stream that is `whole`. false: this is the second try, or
 * there is no memory.
 */
static bool keep_late(struct keeper_stream *t, const char *p, size_t n, bool again)
{
    if (again || (t->refused && !t->whole) || !(t->late = malloc(n)))
        return false;
    t->refused = true;
    memcpy(t->late, p, n);
    t->late_n = n;
    return true;
}

/* Appends to the ring; what the disk does not take is kept, or becomes a gap. */
static void spool_write(struct keeper *k, struct keeper_stream *t, const char *p,
                        size_t n, bool again)
{
    while (n > 0) {
        size_t at = (size_t)(t->s.offset % t->s.cap);
        size_t piece = t->s.cap - at < n ? (size_t)(t->s.cap - at) : n;
        ssize_t done = -1;
        errno = ENOSPC;
        if (give_up_oldest(t, t->s.offset + piece))
            done = pwrite(t->spool, p, piece, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && keep_late(t, p, n, again))
            return;
        if (done < 0 && (errno == ENOSPC || errno == EDQUOT)) {
            note_full(t);
            if (replace_oldest(k, t))
                continue;
        }
        if (done <= 0) {
            gap_add(&t->s, t->s.offset, t->s.offset + piece);
            done = (ssize_t)piece;
        }
        count_written(k, t, (uint64_t)done);
        p += done;
        n -= (size_t)done;
    }
}

static void write_late(struct keeper *k, struct keeper_stream *t)
{
    char *p = t->late;
    size_t n = t->late_n;
    t->late = NULL;
    t->late_n = 0;
    spool_write(k, t, p, n, true);
    free(p);
}

void streams_deadline(struct keeper *k)
{
    while (!list_empty(&k->held)) {
        struct keeper_stream *t = list_first(&k->held, struct keeper_stream, held);
        if (t->held_until > clock_ms())
            return;
        if (t->late_n > 0)
            write_late(k, t);
        else
            t->flow = UINT64_MAX;
        go_on(k, t);
    }
}

static void stream_end(struct keeper *k, struct keeper_proc *p, struct keeper_stream *t)
{
    t->s.eof = 1;
    if ((p->p.kind & KEEP_PTY) && p->in.fd >= 0) {
        watch_set(k, &p->in, 0);
        p->in.fd = -1;
    }
    watch_close(k, &t->w);
    list_del(&t->held);
    proc_mark(k, p);
}

/* Moves a bounded amount of output into the spool; the rest follows in the next turn. */
void proc_move_output(struct keeper *k, struct keeper_proc *p, struct keeper_stream *t)
{
    size_t moved = 0;
    if (!list_empty(&t->held)) { /* hung up while held back: read later */
        watch_set(k, &t->w, 0);
        return;
    }
    while (moved < LIMIT_READ_PER_TURN) {
        if (k->spool_used + KEEPER_CHUNK > spool_total(k))
            make_room(k, KEEPER_CHUNK);
        size_t have = 0, most = room_for(k, t);
        ssize_t n = 0;
        if (most == 0) {
            keeper_client_back(k, t, patience(t));
            return;
        }
        /* A tty gives 4 KiB per read: several reads make one write. */
        do {
            n = read(t->w.fd, k->chunk + have, most - have);
            have += n > 0 ? (size_t)n : 0;
        } while (n >= TTY_READ && have < most);
        int why = errno;
        spool_write(k, t, k->chunk, have, false);
        if (t->late_n > 0) { /* the end of the output, too, is seen after that */
            keeper_client_back(k, t, LATE_MS);
            return;
        }
        moved += have;
        if (n >= TTY_READ)
            continue;
        if (moved) /* in this round, or in those before it */
            proc_mark(k, p);
        if (n > 0) /* short: that was all for now */
            return;
        if (n < 0 && (why == EAGAIN || why == EINTR))
            return;
        stream_end(k, p, t); /* end of file, or EIO of a terminal hung up */
        return;
    }
    proc_mark(k, p);
}

static void input_close(struct keeper *k, struct keeper_proc *p)
{
    p->close_in = false;
    if (!(p->p.kind & KEEP_PTY))
        watch_close(k, &p->in);
}

void proc_write_input(struct keeper *k, struct keeper_proc *p)
{
    bool moved = false;
    while (p->pending_n > 0 && p->in.fd >= 0) {
        ssize_t n = write(p->in.fd, p->pending, p->pending_n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) /* the input has no reader any more */
            n = (ssize_t)p->pending_n;
        p->pending_n -= (size_t)n;
        memmove(p->pending, p->pending + n, p->pending_n);
        moved = true;
    }
    if (p->pending_n == 0 && p->close_in)
        input_close(k, p);
    if (moved)
        proc_mark(k, p);
    bool wait = p->pending_n > 0 && p->in.fd >= 0;
    if (p->p.kind & KEEP_PTY)
        watch_output(k, &p->out[0]);
    else
        watch_set(k, &p->in, wait ? EPOLLOUT : 0);
}

/* The worker has handled that many records. */
void proc_seen(struct keeper_proc *p, uint64_t records)
{
    p->ahead -= records < p->ahead ? (unsigned)records : p->ahead;
}

void proc_take_input(struct keeper *k, struct keeper_proc *p, struct keep_msg *m)
{
    proc_seen(p, m->h.b);
    struct str bytes = m->body;
    if (m->h.a < p->p.input)
        bytes = str_sub(bytes, (size_t)(p->p.input - m->h.a), bytes.n);
    else if (m->h.a > p->p.input)
        bytes.n = 0;
    if (bytes.n > INPUT_MAX - p->pending_n)
        bytes.n = INPUT_MAX - p->pending_n; /* the worker keeps to the window */
    if (bytes.n > 0) {
        p->pending = xrealloc(p->pending, p->pending_n + bytes.n, 1);
        memcpy(p->pending + p->pending_n, bytes.p, bytes.n);
        p->pending_n += bytes.n;
        p->p.input += bytes.n;
    }
    bool due = !list_empty(&p->dirty);
    proc_write_input(k, p);
    proc_mark(k, p);
    /* Until a record says so, the worker takes what was pending at the last one, and all
     * that came since, for pending still, and sends less. */
    bool owed = p->p.input_pending + (p->p.input - p->told_input) > QUIET_MAX;
    if ((m->h.flags & KEEP_QUIET) && p->pending_n == 0 && !due && !owed)
        list_del(&p->dirty);
}

/* The main process is gone: its output is read to the end, the terminal may hang up. */
void proc_exited(struct keeper *k, struct keeper_proc *p, int status)
{
    p->p.flags |= KEEP_P_EXITED;
    p->p.status = status;
    close_fd(&p->slave);
    proc_mark(k, p);
}

void proc_exited_pid(struct keeper *k, pid_t pid, int status)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->procs) {
        struct keeper_proc *p = list_entry(it, struct keeper_proc, node);
        if ((p->p.flags & KEEP_P_STARTED) && !(p->p.flags & KEEP_P_EXITED) &&
            p->p.pid == pid)
            proc_exited(k, p, status);
    }
}

void proc_failed(struct keeper *k, struct keeper_proc *p, int errnum, int step)
{
    p->p.flags |= KEEP_P_FAILED;
    p->p.errnum = errnum;
    p->p.step = step;
    close_fd(&p->slave);
    proc_mark(k, p);
}
