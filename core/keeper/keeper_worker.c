/* SPDX-License-Identifier: MIT */
/*
 * The worker: what is sent to it, what it asks for, its starts and ends.
 *
 * All that the worker must know about a program is one record, struct
 * keep_proc. When it changes, the whole record is sent, with at most KEEP_AHEAD
 * unacknowledged: so the worker gets no more messages than it can handle, and a
 * full socket only delays them. A new worker gets the same records with the
 * descriptors attached.
 */
#include "keeper/keeper_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "os/self.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAUSE_MIN_MS = 100, /* between restarts of a worker that crashes */
    PAUSE_MAX_MS = 10000
};

/* ---- messages to it ---- */

/* false: the worker's socket is full, or it has not got the program yet. */
static bool send_record(struct keeper *k, struct keeper_proc *p, bool with_fds)
{
    p->p.input_pending = p->pending_n;
    p->told_input = p->p.input;
    p->p.flags &= ~(uint32_t)(KEEP_P_HELD | KEEP_P_FULL);
    for (int i = 0; i < 2; i++) {
        p->p.out[i] = p->out[i].s;
        if (!list_empty(&p->out[i].held))
            p->p.flags |= KEEP_P_HELD;
        if (p->out[i].full_at > p->out[i].from)
            p->p.flags |= KEEP_P_FULL;
    }
    struct keep_msg m = {.h = {.type = KEEP_PROC, .id = p->p.id},
                         .body = str_n(&p->p, sizeof(p->p))};
    if (with_fds) {
        m.h.flags = KEEP_ALL;
        /* Only we have a pipe's writing end: with a copy, the pipe would not end. */
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

static bool send_state(struct keeper *k, struct str key, struct keeper_state *s)
{
    struct keep_msg m = {
        .h = {.type = KEEP_STATE}, .key = key, .value = str_n(s->value, s->n)};
    return keep_send(k->worker.fd, &m) == 0;
}

/* Sends what a new worker does not have yet, as far as its socket takes it. */
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
        struct keeper_proc *p = list_entry(it, struct keeper_proc, node);
        if (!p->handed && !send_record(k, p, true))
            return false;
        p->handed = true;
    }
    struct str key;
    void *value;
    for (void *e = NULL; (e = map_next(&k->states, e, &key, &value));) {
        struct keeper_state *s = value;
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

/* Sends what came since the handover. False: the worker's socket is full. */
static bool tell_refused(struct keeper *k)
{
    struct str key;
    void *value;
    for (void *e = NULL; k->refused_due && (e = map_next(&k->states, e, &key, &value));) {
        struct keeper_state *s = value;
        if (!s->handed && !send_state(k, key, s))
            return false;
        s->handed = true;
    }
    k->refused_due = false;
    return true;
}

void worker_pump(struct keeper *k)
{
    if (k->worker.fd < 0)
        return;
    bool room = k->ready_sent || hand_over(k);
    struct list *it, *tmp;
    list_each (it, tmp, &k->dirty) {
        struct keeper_proc *p = list_entry(it, struct keeper_proc, dirty);
        if (!room)
            break;
        if (!p->handed || p->ahead >= KEEP_AHEAD)
            continue;
        room = send_record(k, p, false);
        if (room)
            list_del(&p->dirty);
    }
    room = room && tell_refused(k) && upgrade_tell(k);
    watch_set(k, &k->worker, room ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

/* It has room, as the worker has few questions at a time and a next worker has none. */
static void send_answer(struct keeper *k, const struct keep_msg *m)
{
    if (k->worker.fd >= 0 && k->ready_sent)
        keep_send(k->worker.fd, m);
}

void worker_answer(struct keeper *k, uint64_t token, struct str body, int errnum)
{
    struct keep_msg m = {.h = {.type = KEEP_ANSWER, .id = token, .a = (uint64_t)errnum},
                         .body = body};
    send_answer(k, &m);
}

void worker_unanswered(struct keeper *k, uid_t uid, gid_t gid)
{
    struct keep_msg m = {.h = {.type = KEEP_ANSWER,
                               .a = ESRCH,
                               .b = (uint64_t)uid | (uint64_t)gid << 32}};
    send_answer(k, &m);
}

void worker_refused(struct keeper *k, struct str what)
{
    char key[64];
    if (k->refused_kept >= KEEP_REFUSED_KEPT)
        return;
    snprintf(key, sizeof(key), KEEP_REFUSED_KEY "%llu", (unsigned long long)++k->refused);
    keeper_store(k, str_of(key), what);
    struct keeper_state *s = map_get(&k->states, str_of(key));
    if (!s)
        return;
    k->refused_kept++;
    s->handed = false;
    k->refused_due = true;
    worker_pump(k);
}

/* ---- its requests ---- */

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
    struct keeper_proc *p = xnew(struct keeper_proc);
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
        struct keeper_stream *t = &p->out[i];
        t->w = (struct watch){.kind = WATCH_OUT, .fd = -1};
        t->spool = -1;
        t->owner = p;
        t->flow = UINT64_MAX;
        t->whole = (m->h.flags & KEEP_WHOLE) != 0;
        list_init(&t->rich);
        list_init(&t->held);
        t->s.cap = (uint64_t)(m->h.kib ? m->h.kib : 1) << 10;
        t->s.eof = 1;
        t->s.offset = i == 0 ? m->h.b : 0;
        if (bare || (i == 1 && !(m->h.flags & KEEP_ERR)))
            continue;
        t->w.fd = take_fd(m, &next);
        t->spool = take_fd(m, &next);
        t->s.eof = t->w.fd < 0;
        stream_begin(k, t);
        if (m->h.flags & KEEP_AWAITED)
            stream_awaited(k, t);
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

    struct reaper *mi = reaper_for(k, p->uid, (gid_t)(m->h.a >> 32));
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

void keeper_store(struct keeper *k, struct str key, struct str value)
{
    struct keeper_state *s = map_get(&k->states, key);
    size_t before = s ? s->n : 0;
    if (value.n == 0) {
        if (s && str_starts(key, STR(KEEP_REFUSED_KEY)))
            k->refused_kept--;
        map_del(&k->states, key);
        if (s)
            free(s->value);
        free(s);
    } else if (k->states_n - before + value.n > LIMIT_BLOBS_MAX) {
        log_error("no room for the state of %.*s (%zu bytes)", STR_ARG(key), value.n);
        return;
    } else {
        if (!s) {
            s = xnew(struct keeper_state);
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

static void send_drain(struct keeper *k);

/* One message; false: there is none, or the worker is gone. */
bool worker_message(struct keeper *k)
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
        keeper_store(k, m.key, m.value);
    struct keeper_proc *p = proc_by_id(k, m.h.id);
    switch (m.h.type) {
    case KEEP_SPAWN:
        do_spawn(k, &m);
        break;
    case KEEP_WRITE:
        if (p && (m.h.flags & KEEP_AWAITED))
            stream_awaited(k, &p->out[0]);
        if (p)
            proc_take_input(k, p, &m);
        break;
    case KEEP_FLOW:
        if (p && m.h.b < 2)
            stream_flow(k, &p->out[m.h.b], m.h.a);
        break;
    case KEEP_CLOSE:
        if (p) {
            p->close_in = true;
            proc_write_input(k, p);
        }
        break;
    case KEEP_SEEN:
        if (p)
            proc_seen(p, m.h.a);
        break;
    case KEEP_FORGET:
        if (p)
            proc_drop(k, p);
        break;
    case KEEP_REAPER: {
        struct reaper *mi = reaper_for(k, (uid_t)(uint32_t)m.h.a, (gid_t)(m.h.a >> 32));
        struct keep_msg to = {.h = {.type = KEEP_M_REQUEST, .id = m.h.id},
                              .body = m.body};
        if (!mi || keep_send(mi->w.fd, &to) < 0)
            worker_answer(k, m.h.id, str_n(NULL, 0), errno);
        break;
    }
    case KEEP_RULES:
        reapers_rules(k);
        break;
    case KEEP_HOLD:
        if (m.nfds > 0)
            hold(k, &m);
        break;
    case KEEP_SERVING:
        k->serving = true;
        upgrade_serving(k);
        if (k->kill_at && !k->stopping) /* the end was requested before it served */
            send_drain(k);
        break;
    case KEEP_UPGRADE: {
        int next = 0;
        upgrade_ask(k, m.h.id, take_fd(&m, &next), (int)m.h.a, m.body);
        break;
    }
    case KEEP_STOP:
        k->leaving = true;
        keeper_stop(k, (int64_t)m.h.a);
        break;
    default:
        break;
    }
    keep_release(&m);
    return true;
}

/* ---- its life ---- */

void keeper_start_worker(struct keeper *k)
{
    k->restart_at = 0;
    int pair[2];
    pid_t pid = -1;
    if (keep_pair(pair) == 0) {
        pid = fork();
        int why = errno;
        if (pid == 0) {
            spawn_reset_signals();
            /* A worker ends when its keeper does, whatever it is doing then. */
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            if (dup2(pair[1], 3) < 0)
                _exit(127);
            if (k->file == k->conf->self)
                self_exec(k->file, k->conf->worker, k->conf->worker_env);
            else
                self_exec_other(k->file, k->conf->worker, k->conf->worker_env);
            _exit(127);
        }
        close(pair[1]);
        if (pid < 0)
            close(pair[0]);
        errno = why;
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
        struct keeper_proc *p = list_entry(it, struct keeper_proc, node);
        p->handed = false;
        p->ahead = 0;
        stream_left(k, &p->out[0]);
        stream_left(k, &p->out[1]);
    }
    void *value;
    struct str key;
    for (void *e = NULL; (e = map_next(&k->states, e, &key, &value));)
        ((struct keeper_state *)value)->handed = false;
}

/*
 * A worker that was serving and was killed from outside comes back at once. One
 * that crashes comes back at once too, then after growing pauses, so that a
 * request that crashes it cannot keep the machine busy.
 */
void worker_died(struct keeper *k, int status)
{
    int64_t lived = clock_ms() - k->worker_since;
    /* Messages that it sent before it died are still handled. */
    while (k->worker.fd >= 0 && worker_message(k))
        ;
    watch_close(k, &k->worker);
    k->worker_pid = 0;
    if (k->stopping)
        return;
    if (k->kill_at) { /* the worker that was to drain is gone */
        keeper_stop(k, LIMIT_GRACE_MS);
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

/*
 * No worker follows this one: what was held for the next is closed, so that a connection
 * that comes from now on is refused at once and does not wait in the queue of a listener.
 */
static void send_drain(struct keeper *k)
{
    struct keep_msg m = {.h = {.type = KEEP_SIGNAL, .a = SIGTERM}};
    struct list *it, *tmp;
    keep_send(k->worker.fd, &m);
    list_each (it, tmp, &k->helds) {
        struct held *h = list_entry(it, struct held, node);
        list_del(&h->node);
        close(h->fd);
        free(h->name);
        free(h);
    }
}

void keeper_drain(struct keeper *k, bool wait)
{
    if (k->kill_at)
        return;
    if (!k->serving && (!wait || k->worker_pid == 0)) { /* no worker to drain */
        keeper_stop(k, LIMIT_GRACE_MS);
        return;
    }
    /* The worker answers waiting requests, then sends KEEP_STOP. */
    k->kill_at = clock_ms() + LIMIT_DRAIN_MS + (int64_t)k->conf->flush_ms +
                 LIMIT_GRACE_MS / 2;
    if (k->serving)
        send_drain(k);
}
