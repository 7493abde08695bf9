/* SPDX-License-Identifier: MIT */
/*
 * The keeper's loop. Read it from the bottom: keeper_run() waits on one epoll
 * for four kinds of descriptors (signals, the worker, minders, programs'
 * output and input) and on at most three deadlines (restart, kill, upgrade).
 * keeper_upgrade.c gives the worker another file, keeper_command.c runs the
 * image's own program.
 *
 * Everything that the worker must hear about a program is one record, struct
 * keep_proc: whenever it changes, the whole record is sent, at most KEEP_AHEAD
 * of them unacknowledged, so a flood costs the worker no more messages than it
 * can digest, and a full socket only means "later". A new worker gets the same
 * records with the descriptors attached.
 */
#include "os/keeper_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "os/minder.h"
#include "os/procfs.h"
#include "os/self.h"
#include "os/sig.h"
#include "os/spawn.h"
#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    INPUT_MAX = 256 << 10, /* input held for one program that does not read */
    TTY_READ = 1024,       /* a read shorter than this has emptied a tty or pipe */
    PAUSE_MIN_MS = 100,    /* between restarts of a worker that crashes */
    PAUSE_MAX_MS = 10000
};

struct proc;
struct stream {
    struct watch w; /* owns the descriptor */
    struct proc *owner;
    int spool;     /* owned */
    uint64_t told; /* see give_up_oldest */
    struct keep_stream s;
};

struct proc {
    struct list node, dirty; /* in keeper.procs; in keeper.dirty when a record is due */
    struct keep_proc p;
    struct stream out[2];
    struct watch in; /* owns the descriptor unless the PTY's master */
    int slave;       /* owned; a PTY's other side, so that it never hangs up early */
    char *pending;   /* owned; input that the program has not taken yet */
    size_t pending_n;
    bool close_in;  /* close the input when pending is written */
    unsigned ahead; /* records sent and not acknowledged */
    bool handed;    /* this worker has its descriptors */
    uid_t uid;
};

struct state {
    char *value; /* owned */
    size_t n;
    bool handed;
};

struct held {
    struct list node;
    char *name; /* owned */
    int fd;     /* owned */
    bool handed;
};

struct minder {
    struct list node;
    struct watch w;
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

/* ---- watching ---- */

void watch_set(struct keeper *k, struct watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};
    if (w->fd < 0 || w->events == events)
        return;
    int op = w->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    if (epoll_ctl(k->epoll, op, w->fd, &e) < 0)
        log_error("cannot watch descriptor %d: %m", w->fd);
    w->events = events;
}

void watch_close(struct keeper *k, struct watch *w)
{
    if (w->fd < 0)
        return;
    watch_set(k, w, 0);
    close(w->fd);
    w->fd = -1;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- records to the worker ---- */

static void mark(struct keeper *k, struct proc *p)
{
    if (list_empty(&p->dirty))
        list_add_tail(&k->dirty, &p->dirty);
}

/* false: the worker's socket is full, or it has not got the program yet. */
static bool send_record(struct keeper *k, struct proc *p, bool with_fds)
{
    p->p.input_pending = p->pending_n;
    for (int i = 0; i < 2; i++)
        p->p.out[i] = p->out[i].s;
    struct keep_msg m = {.h = {.type = KEEP_PROC, .id = p->p.id},
                         .body = str_n(&p->p, sizeof(p->p))};
    if (with_fds) {
        m.h.flags = KEEP_ALL;
        /* A pipe's writing end stays here: a copy would keep it from ending. */
        bool pty = (p->p.kind & KEEP_PTY) != 0;
        int fds[] = {pty ? p->in.fd : -1, p->out[0].spool, p->out[1].spool};
        for (int i = 0; i < 3; i++) {
            if (fds[i] >= 0) {
                m.h.a |= 1u << i;
                m.fds[m.nfds++] = fds[i];
            }
        }
    }
    if (keep_send(k->worker.fd, &m) < 0)
        return false;
    p->ahead++;
    return true;
}

static bool send_state(struct keeper *k, struct str key, struct state *s)
{
    struct keep_msg m = {
        .h = {.type = KEEP_STATE}, .key = key, .value = str_n(s->value, s->n)};
    return keep_send(k->worker.fd, &m) == 0;
}

/* Everything that a new worker has not got yet, as far as its socket takes it. */
static bool hand_over(struct keeper *k)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->helds) {
        struct held *h = list_entry(it, struct held, node);
        struct keep_msg m = {
            .h = {.type = KEEP_HELD}, .body = str_of(h->name), .fds = {h->fd}, .nfds = 1};
        if (!h->handed && keep_send(k->worker.fd, &m) < 0)
            return false;
        h->handed = true;
    }
    list_each (it, tmp, &k->procs) {
        struct proc *p = list_entry(it, struct proc, node);
        if (!p->handed && !send_record(k, p, true))
            return false;
        p->handed = true;
    }
    struct str key;
    void *value;
    for (void *e = NULL; (e = map_next(&k->states, e, &key, &value));) {
        struct state *s = value;
        if (!s->handed && !send_state(k, key, s))
            return false;
        s->handed = true;
    }
    struct keep_msg ready = {.h = {.type = KEEP_READY}};
    if (!k->ready_sent && keep_send(k->worker.fd, &ready) < 0)
        return false;
    k->ready_sent = true;
    return true;
}

static void pump(struct keeper *k)
{
    if (k->worker.fd < 0)
        return;
    bool room = k->ready_sent || hand_over(k);
    struct list *it, *tmp;
    list_each (it, tmp, &k->dirty) {
        struct proc *p = list_entry(it, struct proc, dirty);
        if (!room)
            break;
        if (!p->handed || p->ahead >= KEEP_AHEAD)
            continue;
        room = send_record(k, p, false);
        if (room)
            list_del(&p->dirty);
    }
    room = room && upgrade_tell(k);
    watch_set(k, &k->worker, room ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

/* ---- programs ---- */

static struct proc *proc_by_id(struct keeper *k, uint64_t id)
{
    return map_get(&k->ids, str_n(&id, sizeof(id)));
}

static void proc_drop(struct keeper *k, struct proc *p)
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
    mark(k, p);
}

/* From the program into its spool: a bounded amount, the rest next turn. */
static void move_output(struct keeper *k, struct proc *p, struct stream *t)
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
            mark(k, p);
        if (n > 0) /* short: that was all for now */
            return;
        if (n < 0 && (why == EAGAIN || why == EINTR))
            return;
        stream_end(k, p, t); /* end of file, or EIO of a terminal hung up */
        return;
    }
    mark(k, p);
}

static void input_close(struct keeper *k, struct proc *p)
{
    p->close_in = false;
    if (!(p->p.kind & KEEP_PTY))
        watch_close(k, &p->in);
}

static void write_input(struct keeper *k, struct proc *p)
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
        mark(k, p);
    bool wait = p->pending_n > 0 && p->in.fd >= 0;
    if (p->p.kind & KEEP_PTY)
        watch_set(k, &p->out[0].w, wait ? EPOLLIN | EPOLLOUT : EPOLLIN);
    else
        watch_set(k, &p->in, wait ? EPOLLOUT : 0);
}

/* The worker has dealt with that many records. */
static void seen(struct proc *p, uint64_t records)
{
    p->ahead -= records < p->ahead ? (unsigned)records : p->ahead;
}

static void take_input(struct keeper *k, struct proc *p, struct keep_msg *m)
{
    seen(p, m->h.b);
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
    write_input(k, p);
    mark(k, p);
    if ((m->h.flags & KEEP_QUIET) && p->pending_n == 0 && !due)
        list_del(&p->dirty);
}

/* The main process is gone: what it wrote is drained, the terminal may hang up. */
static void proc_exited(struct keeper *k, struct proc *p, int status)
{
    p->p.flags |= KEEP_P_EXITED;
    p->p.status = status;
    close_fd(&p->slave);
    mark(k, p);
}

static void exited_pid(struct keeper *k, pid_t pid, int status)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->procs) {
        struct proc *p = list_entry(it, struct proc, node);
        if ((p->p.flags & KEEP_P_STARTED) && !(p->p.flags & KEEP_P_EXITED) &&
            p->p.pid == pid)
            proc_exited(k, p, status);
    }
}

/* ---- minders ---- */

static struct minder *minder_for(struct keeper *k, uid_t uid, gid_t gid)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->minders) {
        struct minder *mi = list_entry(it, struct minder, node);
        if (mi->uid == uid && mi->gid == gid)
            return mi;
    }
    int pair[2];
    if (keep_pair(pair) < 0)
        return NULL;
    char words[4][24];
    snprintf(words[0], sizeof(words[0]), "%ld", (long)uid);
    snprintf(words[1], sizeof(words[1]), "%ld", (long)gid);
    snprintf(words[2], sizeof(words[2]), "%ld", k->nofile);
    snprintf(words[3], sizeof(words[3]), "%d", k->oom);
    char *argv[] = {
        (char *)(uintptr_t)k->conf->minder, words[0], words[1], words[2], words[3], NULL};
    pid_t pid = fork();
    if (pid == 0) {
        spawn_reset_signals();
        setsid();
        if (dup2(pair[1], 3) < 0)
            _exit(127);
        self_exec(k->conf->self, argv, k->conf->minder_env);
        _exit(127);
    }
    int saved = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        errno = saved;
        return NULL;
    }
    struct minder *mi = xnew(struct minder);
    mi->uid = uid;
    mi->gid = gid;
    mi->pid = pid;
    mi->w = (struct watch){.kind = WATCH_MINDER, .fd = pair[0]};
    list_add_tail(&k->minders, &mi->node);
    watch_set(k, &mi->w, EPOLLIN);
    return mi;
}

static void proc_failed(struct keeper *k, struct proc *p, int errnum, int step)
{
    p->p.flags |= KEEP_P_FAILED;
    p->p.errnum = errnum;
    p->p.step = step;
    close_fd(&p->slave);
    mark(k, p);
}

/* A minder is gone. Its shells are ours now; starts it had not reported failed. */
static void minder_lost(struct keeper *k, struct minder *mi)
{
    if (!k->stopping)
        log_warn("the minder of uid %u ended; its shells go on", (unsigned)mi->uid);
    struct list *it, *tmp;
    list_each (it, tmp, &k->procs) {
        struct proc *p = list_entry(it, struct proc, node);
        if (p->uid == mi->uid && !(p->p.flags & (KEEP_P_STARTED | KEEP_P_FAILED)))
            proc_failed(k, p, ESRCH, SPAWN_FORK);
    }
    list_del(&mi->node);
    watch_close(k, &mi->w);
    free(mi);
}

/* Passes an answer on. The worker asks again when it does not come. */
static void answer(struct keeper *k, uint64_t token, struct str body, int errnum)
{
    struct keep_msg m = {.h = {.type = KEEP_ANSWER, .id = token, .a = (uint64_t)errnum},
                         .body = body};
    if (k->worker.fd >= 0 && k->ready_sent)
        keep_send(k->worker.fd, &m);
}

static void from_minder(struct keeper *k, struct minder *mi)
{
    struct keep_msg m;
    int r = keep_recv(mi->w.fd, &m, k->space);
    if (r == 0) {
        minder_lost(k, mi);
        return;
    }
    if (r < 0)
        return;
    struct proc *p = proc_by_id(k, m.h.id);
    if (m.h.type == KEEP_M_ANSWER)
        answer(k, m.h.id, m.body, 0);
    else if (p && m.h.type == KEEP_M_SPAWNED && m.h.a == 0)
        proc_failed(k, p, (int)m.h.b, (int)m.h.flags);
    else if (p && m.h.type == KEEP_M_SPAWNED) {
        p->p.flags |= KEEP_P_STARTED;
        p->p.pid = (int32_t)m.h.a;
        mark(k, p);
    } else if (p && m.h.type == KEEP_M_EXIT)
        proc_exited(k, p, (int)m.h.b);
    keep_close_fds(&m);
}

/* ---- requests of the worker ---- */

static int take_fd(struct keep_msg *m, int *next)
{
    if (*next >= m->nfds)
        return -1;
    int fd = m->fds[*next];
    m->fds[(*next)++] = -1;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

static void do_spawn(struct keeper *k, struct keep_msg *m)
{
    bool pty = (m->h.flags & KEEP_PTY) != 0;
    bool bare = (m->h.flags & KEEP_BARE) != 0;
    int childs = bare ? 0 : pty ? 1 : 3, next = childs;
    int ours = bare || pty ? (pty ? 2 : 1)
                           : 2 + !!(m->h.flags & KEEP_IN) + 2 * !!(m->h.flags & KEEP_ERR);
    if (proc_by_id(k, m->h.id))
        return;
    struct proc *p = xnew(struct proc);
    list_init(&p->dirty);
    p->uid = (uid_t)(uint32_t)m->h.a;
    p->p.id = m->h.id;
    p->p.kind = m->h.flags & (KEEP_PTY | KEEP_IN | KEEP_ERR | KEEP_BARE);
    p->handed = true; /* this worker made the descriptors itself */
    p->slave = -1;
    p->in = (struct watch){.kind = WATCH_IN, .fd = -1};
    if (!pty && (m->h.flags & KEEP_IN))
        p->in.fd = take_fd(m, &next);
    for (int i = 0; i < 2; i++) {
        struct stream *t = &p->out[i];
        t->w = (struct watch){.kind = WATCH_OUT, .fd = -1};
        t->spool = -1;
        t->owner = p;
        t->s.cap = (uint64_t)(m->h.kib ? m->h.kib : 1) << 10;
        t->s.eof = 1;
        t->s.offset = i == 0 ? m->h.b : 0;
        if (bare || (i == 1 && !(m->h.flags & KEEP_ERR)))
            continue;
        t->w.fd = take_fd(m, &next);
        t->spool = take_fd(m, &next);
        t->s.eof = t->w.fd < 0;
    }
    if (pty)
        p->in.fd = p->out[0].w.fd;
    map_put(&k->ids, str_n(&p->p.id, sizeof(p->p.id)), p);
    list_add_tail(&k->procs, &p->node);
    if (m->nfds < childs + ours) { /* they did not fit under our limit */
        proc_failed(k, p, EMFILE, SPAWN_FORK);
        return;
    }
    if (bare)
        return;

    struct minder *mi = minder_for(k, p->uid, (gid_t)(m->h.a >> 32));
    struct keep_msg to = {.h = {.type = KEEP_M_SPAWN, .id = m->h.id, .flags = m->h.flags},
                          .body = m->body,
                          .nfds = childs};
    memcpy(to.fds, m->fds, sizeof(int) * (size_t)childs);
    if (!mi || keep_send(mi->w.fd, &to) < 0) {
        proc_failed(k, p, errno, SPAWN_FORK);
        return;
    }
    if (pty) {
        p->slave = m->fds[0];
        m->fds[0] = -1;
    }
    for (int i = 0; i < 2; i++)
        watch_set(k, &p->out[i].w, EPOLLIN);
}

static void store(struct keeper *k, struct str key, struct str value)
{
    struct state *s = map_get(&k->states, key);
    size_t before = s ? s->n : 0;
    if (value.n == 0) {
        map_del(&k->states, key);
        if (s)
            free(s->value);
        free(s);
    } else if (k->states_n - before + value.n > LIMIT_BLOBS_MAX) {
        log_error("no room for the state of %.*s (%zu bytes)", STR_ARG(key), value.n);
        return;
    } else {
        if (!s) {
            s = xnew(struct state);
            map_put(&k->states, key, s);
        }
        if (s->n < value.n)
            s->value = xrealloc(s->value, value.n, 1);
        memcpy(s->value, value.p, value.n);
        s->n = value.n;
        s->handed = true;
    }
    k->states_n += value.n - before;
}

static void hold(struct keeper *k, struct keep_msg *m)
{
    int next = 0;
    struct held *h = xnew(struct held);
    h->name = xstrndup(m->body.p, m->body.n);
    h->fd = take_fd(m, &next);
    h->handed = true;
    list_add_tail(&k->helds, &h->node);
}

static void stop(struct keeper *k, int64_t grace_ms);
static void send_drain(struct keeper *k);

/* One message; false: there is none, or the worker is gone. */
static bool from_worker(struct keeper *k)
{
    struct keep_msg m;
    int r = keep_recv(k->worker.fd, &m, k->space);
    if (r == 0) {
        watch_close(k, &k->worker); /* its exit is reported by SIGCHLD */
        return false;
    }
    if (r < 0)
        return errno == EBADMSG;
    if (m.key.n > 0)
        store(k, m.key, m.value);
    struct proc *p = proc_by_id(k, m.h.id);
    switch (m.h.type) {
    case KEEP_SPAWN:
        do_spawn(k, &m);
        break;
    case KEEP_WRITE:
        if (p)
            take_input(k, p, &m);
        break;
    case KEEP_CLOSE:
        if (p) {
            p->close_in = true;
            write_input(k, p);
        }
        break;
    case KEEP_SEEN:
        if (p)
            seen(p, m.h.a);
        break;
    case KEEP_FORGET:
        if (p)
            proc_drop(k, p);
        break;
    case KEEP_MIND: {
        struct minder *mi = minder_for(k, (uid_t)(uint32_t)m.h.a, (gid_t)(m.h.a >> 32));
        struct keep_msg to = {.h = {.type = KEEP_M_REQUEST, .id = m.h.id},
                              .body = m.body};
        if (!mi || keep_send(mi->w.fd, &to) < 0)
            answer(k, m.h.id, str_n(NULL, 0), errno);
        break;
    }
    case KEEP_HOLD:
        if (m.nfds > 0)
            hold(k, &m);
        break;
    case KEEP_SERVING:
        k->serving = true;
        upgrade_serving(k);
        if (k->kill_at && !k->stopping) /* the end came before it did */
            send_drain(k);
        break;
    case KEEP_UPGRADE: {
        int next = 0;
        upgrade_ask(k, m.h.id, take_fd(&m, &next), (int)m.h.a, m.body);
        break;
    }
    case KEEP_STOP:
        k->leaving = true;
        stop(k, (int64_t)m.h.a);
        break;
    default:
        break;
    }
    for (int i = 0; i < m.nfds; i++) {
        if (m.fds[i] >= 0)
            close(m.fds[i]);
    }
    return true;
}

/* ---- the worker's life ---- */

void keeper_start_worker(struct keeper *k)
{
    k->restart_at = 0;
    int pair[2];
    pid_t pid = -1;
    if (keep_pair(pair) == 0) {
        pid = fork();
        if (pid == 0) {
            spawn_reset_signals();
            if (dup2(pair[1], 3) < 0)
                _exit(127);
            if (k->file == k->conf->self)
                self_exec(k->file, k->conf->worker, k->conf->worker_env);
            else
                self_exec_other(k->file, k->conf->worker, k->conf->worker_env);
            _exit(127);
        }
        close(pair[1]);
    }
    if (pid < 0) {
        k->restart_at = clock_ms() + PAUSE_MAX_MS;
        log_error("cannot start the worker: %m; trying again in %d s",
                  PAUSE_MAX_MS / 1000);
        return;
    }
    k->worker_pid = pid;
    k->worker_since = clock_ms();
    k->worker = (struct watch){.kind = WATCH_WORKER, .fd = pair[0]};
    k->ready_sent = k->serving = false;
    watch_set(k, &k->worker, EPOLLIN);

    struct list *it, *tmp;
    list_each (it, tmp, &k->helds)
        list_entry(it, struct held, node)->handed = false;
    list_each (it, tmp, &k->procs) {
        struct proc *p = list_entry(it, struct proc, node);
        p->handed = false;
        p->ahead = 0;
    }
    void *value;
    struct str key;
    for (void *e = NULL; (e = map_next(&k->states, e, &key, &value));)
        ((struct state *)value)->handed = false;
}

/*
 * A worker that was serving and was killed from outside comes back at once. One
 * that crashes comes back at once too, then after growing pauses, so that a
 * request which kills it cannot eat the machine.
 */
static void worker_died(struct keeper *k, int status)
{
    int64_t lived = clock_ms() - k->worker_since;
    /* What it sent before it died is done all the same. */
    while (k->worker.fd >= 0 && from_worker(k))
        ;
    watch_close(k, &k->worker);
    k->worker_pid = 0;
    if (k->stopping)
        return;
    if (k->kill_at) { /* there is nobody to drain any more */
        stop(k, LIMIT_GRACE_MS);
        return;
    }
    bool killed = k->serving && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (upgrade_worker_died(k, killed, lived))
        return;
    int wait = killed || lived >= KEEPER_HEALTHY_MS ? 0 : k->pause;
    if (lived >= KEEPER_HEALTHY_MS)
        k->pause = 0;
    if (!killed) {
        k->pause = k->pause * 2 < PAUSE_MIN_MS ? PAUSE_MIN_MS : k->pause * 2;
        if (k->pause > PAUSE_MAX_MS)
            k->pause = PAUSE_MAX_MS;
    }
    char how[64];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof(how), "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
    log_warn("the worker %s after %.3f s; starting it again in %d ms", how,
             (double)lived / 1000, wait);
    if (wait == 0)
        keeper_start_worker(k);
    else
        k->restart_at = clock_ms() + wait;
}

/* ---- the end ---- */

/* Shells, processes and strangers; the minders end with us. */
/* One that has ended and is not reaped yet is not counted by tree_count either. */
static bool is_alive(pid_t pid)
{
    struct procfs_stat s;
    return pid > 0 && procfs_stat(pid, &s) == 0 && !procfs_dead(&s);
}

static bool anybody_left(struct keeper *k)
{
    struct list *it, *tmp;
    int n = tree_count(getpid(), NULL), ours = is_alive(k->worker_pid);
    if (k->command.pid > 0)
        return true;
    list_each (it, tmp, &k->minders)
        ours += is_alive(list_entry(it, struct minder, node)->pid);
    if (n >= 0)
        return n > ours;
    list_each (it, tmp, &k->procs) {
        struct proc *p = list_entry(it, struct proc, node);
        if ((p->p.flags & KEEP_P_STARTED) && !(p->p.flags & KEEP_P_EXITED))
            return true;
    }
    return false;
}

/*
 * Each minder signals what is below it, since it has the right uid; we what is
 * below us, orphans among it. The minders and the worker ignore all but KILL.
 */
static void signal_all(struct keeper *k, int sig)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->minders) {
        struct minder *mi = list_entry(it, struct minder, node);
        struct minder_request q = {
            .verb = MINDER_SIGNAL_TREE, .pid = mi->pid, .sig = sig};
        struct keep_msg m = {.h = {.type = KEEP_M_REQUEST}, .body = str_n(&q, sizeof(q))};
        keep_send(mi->w.fd, &m);
    }
    /* The command ends by TERM, as where there is no od: to many HUP means else. */
    bool spare = sig == SIGHUP && k->command.pid > 0;
    struct tree_result r = {0};
    if (!spare)
        tree_signal(getpid(), NULL, sig, false, &r);
    if (r.no_proc && k->command.pid > 0)
        kill(k->command.pid, sig);
    list_each (it, tmp, &k->procs) {
        struct proc *p = list_entry(it, struct proc, node);
        if ((p->p.flags & KEEP_P_STARTED) && !(p->p.flags & KEEP_P_EXITED))
            kill(-p->p.pid, sig);
    }
    if (getpid() == 1 && !spare)
        kill(-1, sig);
}

/* Hang-up and TERM to everything, KILL after the grace. */
static void stop(struct keeper *k, int64_t grace_ms)
{
    if (k->stopping)
        return;
    k->stopping = true;
    k->kill_at = clock_ms() + grace_ms;
    log_info("stopping; what remains is killed in %lld ms", (long long)grace_ms);
    signal_all(k, SIGHUP); /* what an interactive shell ends by */
    signal_all(k, SIGTERM);
}

static void send_drain(struct keeper *k)
{
    struct keep_msg m = {.h = {.type = KEEP_SIGNAL, .a = SIGTERM}};
    keep_send(k->worker.fd, &m);
}

void keeper_drain(struct keeper *k, bool wait)
{
    if (k->kill_at)
        return;
    if (!k->serving && (!wait || k->worker_pid == 0)) { /* nobody to drain */
        stop(k, LIMIT_GRACE_MS);
        return;
    }
    /* The worker answers those who wait, then says KEEP_STOP. */
    k->kill_at = clock_ms() + LIMIT_DRAIN_MS + LIMIT_GRACE_MS / 2;
    if (k->serving)
        send_drain(k);
}

/* ---- signals, and the loop ---- */

static void reap(struct keeper *k)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == k->worker_pid)
            worker_died(k, status);
        else if (!upgrade_reaped(k, pid, status) && !command_reaped(k, pid, status))
            exited_pid(k, pid, status); /* a lost minder's shell, or a stranger */
    }
}

/* TERM and the like, with no command to take it. */
static void asked_to_end(struct keeper *k)
{
    if (k->kill_at)
        stop(k, LIMIT_GRACE_MS); /* asked twice */
    else
        keeper_drain(k, false);
}

static void on_signals(struct keeper *k)
{
    int sig;
    while ((sig = sig_next(k->signals.fd)) > 0) {
        struct keep_msg m = {.h = {.type = KEEP_SIGNAL, .a = (uint64_t)sig}};
        if (sig == SIGCHLD)
            reap(k);
        else if (command_signal(k, sig))
            continue;
        else if (sig == SIGTERM || sig == SIGINT || sig == SIGQUIT)
            asked_to_end(k);
        else if (sig == SIGHUP)
            upgrade_by_signal(k);
        else if (k->worker.fd >= 0)
            keep_send(k->worker.fd, &m);
    }
}

static int next_timeout(const struct keeper *k)
{
    int64_t at = k->restart_at;
    if (k->kill_at && (!at || k->kill_at < at))
        at = k->kill_at;
    if (k->upgrade.deadline && (!at || k->upgrade.deadline < at))
        at = k->upgrade.deadline;
    if (!at)
        return -1;
    int64_t left = at - clock_ms();
    return left < 0 ? 0 : (int)left;
}

static void on_event(struct keeper *k, struct watch *w, uint32_t events)
{
    switch (w->kind) {
    case WATCH_SIGNALS:
        on_signals(k);
        break;
    case WATCH_WORKER:
        if (events & ~(uint32_t)EPOLLOUT)
            from_worker(k);
        break;
    case WATCH_MINDER:
        from_minder(k, container_of(w, struct minder, w));
        break;
    case WATCH_OUT: {
        struct stream *t = container_of(w, struct stream, w);
        if (events & EPOLLOUT)
            write_input(k, t->owner);
        if (events & ~(uint32_t)EPOLLOUT)
            move_output(k, t->owner, t);
        break;
    }
    case WATCH_IN:
        write_input(k, container_of(w, struct proc, in));
        break;
    case WATCH_COMMAND:
        command_reported(k);
        break;
    }
}

/* A deadline passed. False when it is time to go, whoever is left. */
static bool on_deadline(struct keeper *k)
{
    int64_t now = clock_ms();
    if (k->restart_at && now >= k->restart_at)
        keeper_start_worker(k);
    if (k->upgrade.deadline && now >= k->upgrade.deadline)
        upgrade_deadline(k);
    if (!k->kill_at || now < k->kill_at)
        return true;
    if (!k->stopping) { /* the worker was asked to drain and did not */
        stop(k, LIMIT_GRACE_MS);
        return true;
    }
    if (k->killed)
        return false;
    k->killed = true;
    k->kill_at = now + LIMIT_GRACE_MS;
    signal_all(k, SIGKILL);
    if (k->worker_pid > 0)
        kill(k->worker_pid, SIGKILL);
    return true;
}

/* What children get back: the limits and the score from before we changed them. */
static void prepare_self(struct keeper *k)
{
    struct rlimit r;
    k->nofile = -1;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        k->nofile = (long)r.rlim_cur;
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char text[16] = "0";
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0) {
        k->oom = (int)strtol(text, NULL, 10);
        /* Refused without CAP_SYS_RESOURCE: then we are like anybody else. */
        ssize_t ignored = pwrite(fd, "-1000", 5, 0);
        (void)ignored;
    }
    if (fd >= 0)
        close(fd);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* Our memory holds keys and environments; children share our uid. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int keeper_run(const struct keeper_config *c)
{
    struct keeper *k = xnew(struct keeper);
    k->conf = c;
    list_init(&k->procs);
    list_init(&k->dirty);
    list_init(&k->helds);
    list_init(&k->minders);
    map_init(&k->ids);
    map_init(&k->states);
    k->worker.fd = -1;
    prepare_self(k);
    upgrade_init(k);
    command_init(k);
    int wanted[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
    k->signals = (struct watch){.kind = WATCH_SIGNALS,
                                .fd = sig_open(wanted, c->command ? 7 : 6)};
    signal(SIGPIPE, SIG_IGN);
    k->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (k->epoll < 0 || k->signals.fd < 0) {
        log_error("cannot start: %m");
        return 1;
    }
    watch_set(k, &k->signals, EPOLLIN);
    if (c->state_key.n > 0)
        store(k, c->state_key, c->state);
    for (int i = 0; i < c->nlisteners; i++) {
        struct held *h = xnew(struct held);
        h->name = xstrdup(c->listeners[i].name);
        h->fd = c->listeners[i].fd;
        list_add_tail(&k->helds, &h->node);
    }
    if (c->command)
        command_start(k);
    if (!k->stopping)
        keeper_start_worker(k);

    /*
     * One event a turn: epoll rotates its ready list, so nobody starves, and
     * what an event closes cannot be referred to by the next one.
     */
    for (;;) {
        pump(k);
        if (k->stopping && !anybody_left(k)) {
            if (k->worker_pid == 0)
                break;
            if (!k->leaving) /* nobody will tell it that it is over */
                kill(k->worker_pid, SIGKILL);
        }
        struct epoll_event e;
        int n = epoll_wait(k->epoll, &e, 1, next_timeout(k));
        if (n < 0 && errno != EINTR) {
            log_error("epoll_wait: %m");
            return 1;
        }
        if (n > 0)
            on_event(k, e.data.ptr, e.events);
        if (!on_deadline(k))
            break;
    }
    log_info("stopped");
    return k->status;
}
