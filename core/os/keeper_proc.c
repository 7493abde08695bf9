/* SPDX-License-Identifier: MIT */
/* The programs: what they write goes into spools, what they are to read waits here. */
#include "os/keeper_own.h"

#include "base/limits.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    INPUT_MAX = 256 << 10, /* input held for one program that does not read */
    TTY_READ = 1024        /* a read shorter than this has emptied a tty or pipe */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void proc_mark(struct keeper *k, struct proc *p)
{
    if (list_empty(&p->dirty))
        list_add_tail(&k->dirty, &p->dirty);
}

struct proc *proc_by_id(struct keeper *k, uint64_t id)
{
    return map_get(&k->ids, str_n(&id, sizeof(id)));
}

void proc_drop(struct keeper *k, struct proc *p)
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
        watch_close(k, &p->out[i].w);
        close_fd(&p->out[i].spool);
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

/*
 * Before a part of the ring is overwritten, the number behind it says so: what
 * is older than that is not to be believed. Told an eighth of the ring ahead, so
 * that it is written rarely. false: the disk did not take it.
 */
static bool give_up_oldest(struct stream *t, uint64_t end)
{
    if (end <= t->told)
        return true;
    uint64_t told = end + t->s.cap / 8, valid = told > t->s.cap ? told - t->s.cap : 0;
    if (pwrite(t->spool, &valid, sizeof(valid), (off_t)t->s.cap) != sizeof(valid))
        return false;
    t->told = told;
    return true;
}

/* Appends to the ring; what the disk does not take becomes a gap. */
static void spool_write(struct stream *t, const char *p, size_t n)
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
        if (done <= 0) {
            gap_add(&t->s, t->s.offset, t->s.offset + piece);
            done = (ssize_t)piece;
        }
        t->s.offset += (uint64_t)done;
        p += done;
        n -= (size_t)done;
    }
}

static void stream_end(struct keeper *k, struct proc *p, struct stream *t)
{
    t->s.eof = 1;
    if ((p->p.kind & KEEP_PTY) && p->in.fd >= 0) {
        watch_set(k, &p->in, 0);
        p->in.fd = -1;
    }
    watch_close(k, &t->w);
    proc_mark(k, p);
}

/* From the program into its spool: a bounded amount, the rest next turn. */
void proc_move_output(struct keeper *k, struct proc *p, struct stream *t)
{
    size_t moved = 0;
    while (moved < LIMIT_READ_PER_TURN) {
        size_t have = 0;
        ssize_t n = 0;
        /* A tty gives 4 KiB a read: gather, so that the disk sees few writes. */
        do {
            n = read(t->w.fd, k->chunk + have, KEEPER_CHUNK - have);
            have += n > 0 ? (size_t)n : 0;
        } while (n >= TTY_READ && have < KEEPER_CHUNK);
        int why = errno;
        spool_write(t, k->chunk, have);
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

static void input_close(struct keeper *k, struct proc *p)
{
    p->close_in = false;
    if (!(p->p.kind & KEEP_PTY))
        watch_close(k, &p->in);
}

void proc_write_input(struct keeper *k, struct proc *p)
{
    bool moved = false;
    while (p->pending_n > 0 && p->in.fd >= 0) {
        ssize_t n = write(p->in.fd, p->pending, p->pending_n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) /* nobody will ever read it */
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
        watch_set(k, &p->out[0].w, wait ? EPOLLIN | EPOLLOUT : EPOLLIN);
    else
        watch_set(k, &p->in, wait ? EPOLLOUT : 0);
}

/* The worker has dealt with that many records. */
void proc_seen(struct proc *p, uint64_t records)
{
    p->ahead -= records < p->ahead ? (unsigned)records : p->ahead;
}

void proc_take_input(struct keeper *k, struct proc *p, struct keep_msg *m)
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
    if ((m->h.flags & KEEP_QUIET) && p->pending_n == 0 && !due)
        list_del(&p->dirty);
}

/* The main process is gone: what it wrote is drained, the terminal may hang up. */
void proc_exited(struct keeper *k, struct proc *p, int status)
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
        struct proc *p = list_entry(it, struct proc, node);
        if ((p->p.flags & KEEP_P_STARTED) && !(p->p.flags & KEEP_P_EXITED) &&
            p->p.pid == pid)
            proc_exited(k, p, status);
    }
}

void proc_failed(struct keeper *k, struct proc *p, int errnum, int step)
{
    p->p.flags |= KEEP_P_FAILED;
    p->p.errnum = errnum;
    p->p.step = step;
    close_fd(&p->slave);
    proc_mark(k, p);
}
