/* SPDX-License-Identifier: MIT */
/*
 * The keeper's loop. Read it from the bottom: keeper_run() waits on one epoll
 * for four kinds of descriptors (signals, the worker, reapers, programs'
 * output and input) and on at most four deadlines (restart, kill, upgrade, and of
 * the streams that are held back).
 *
 * The other files: keeper_proc.c moves output and input of programs,
 * keeper_reaper.c talks to the reapers, keeper_worker.c to the worker,
 * keeper_upgrade.c changes the worker's file, keeper_command.c runs the image's
 * own program. They share keeper_own.h.
 */
#include "keeper/keeper_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "keeper/reaper.h"
#include "os/procfs.h"
#include "os/sig.h"
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

/* ---- the end ---- */

/* False for a process that has ended and is not reaped yet, as in tree_count. */
static bool is_alive(pid_t pid)
{
    struct procfs_stat s;
    return pid > 0 && procfs_stat(pid, &s) == 0 && !procfs_dead(&s);
}

/* Does any program run below the keeper, apart from the worker and the reapers? */
static bool anybody_left(struct keeper *k)
{
    struct list *it, *tmp;
    int n = tree_count(&(struct tree_of){.root = getpid()}),
        ours = is_alive(k->worker_pid);
    if (k->command.pid > 0 || k->command_by)
        return true;
    list_each (it, tmp, &k->reapers) {
        struct reaper *mi = list_entry(it, struct reaper, node);
        ours += is_alive(mi->pid) + is_alive(mi->below);
    }
    if (n >= 0)
        return n > ours;
    list_each (it, tmp, &k->procs) {
        struct keeper_proc *p = list_entry(it, struct keeper_proc, node);
        if ((p->p.flags & KEEP_P_STARTED) && !(p->p.flags & KEEP_P_EXITED))
            return true;
    }
    return false;
}

/*
 * Each reaper signals the processes below it, since it has the right uid; we
 * signal those below us, with orphans. Reapers and worker ignore all but KILL.
 */
static void signal_all(struct keeper *k, int sig)
{
    struct list *it, *tmp;
    /* The command gets TERM, as without od: HUP means something else to many programs. */
    bool spare = sig == SIGHUP && k->command.pid > 0;
    list_each (it, tmp, &k->reapers) {
        struct reaper *mi = list_entry(it, struct reaper, node);
        if (spare && k->conf->fence >= 0 && mi->uid == getuid())
            continue; /* the command is below it; its shells get the signal from us */
        struct reaper_request q = {.verb = REAPER_SIGNAL_TREE,
                                   .pid = mi->below ? mi->below : mi->pid,
                                   .sig = sig};
        struct keep_msg m = {.h = {.type = KEEP_M_REQUEST}, .body = str_n(&q, sizeof(q))};
        keep_send(mi->w.fd, &m);
    }
    struct tree_result r = {0};
    if (!spare)
        tree_signal(&(struct tree_of){.root = getpid()}, sig, false, &r);
    if (r.no_proc && k->command.pid > 0)
        kill(k->command.pid, sig);
    list_each (it, tmp, &k->procs) {
        struct keeper_proc *p = list_entry(it, struct keeper_proc, node);
        if ((p->p.flags & KEEP_P_STARTED) && !(p->p.flags & KEEP_P_EXITED))
            kill(-p->p.pid, sig);
    }
    if (getpid() == 1 && !spare)
        kill(-1, sig);
}

/* Hang-up and TERM to everything, KILL after the grace. */
void keeper_stop(struct keeper *k, int64_t grace_ms)
{
    if (k->stopping)
        return;
    k->stopping = true;
    k->kill_at = clock_ms() + grace_ms;
    log_info("stopping; what remains is killed in %lld ms", (long long)grace_ms);
    signal_all(k, SIGHUP); /* an interactive shell ignores TERM */
    signal_all(k, SIGTERM);
}

/* ---- signals, and the loop ---- */

/*
 * Continues a worker or reaper that was stopped, as programs of its uid can do. Otherwise
 * everything that needs it would wait until it is continued.
 */
static void child_stopped(struct keeper *k, pid_t pid, int sig)
{
    const char *who = pid == k->worker_pid ? "worker" : NULL;
    struct list *it, *tmp;
    list_each (it, tmp, &k->reapers) {
        if (list_entry(it, struct reaper, node)->pid == pid)
            who = "reaper";
    }
    if (!who)
        return;
    if (kill(pid, SIGCONT) < 0)
        log_error("the %s (pid %d) was stopped by signal %d and cannot be continued: %m",
                  who, (int)pid, sig);
    else
        log_warn("the %s (pid %d) was stopped by signal %d; it is continued", who,
                 (int)pid, sig);
}

static void reap(struct keeper *k)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(status))
            child_stopped(k, pid, WSTOPSIG(status));
        else if (pid == k->worker_pid)
            worker_died(k, status);
        else if (!upgrade_reaped(k, pid, status) && !command_reaped(k, pid, status))
            proc_exited_pid(k, pid, status); /* a lost reaper's shell, or a stranger */
    }
}

/* TERM or INT, without a command to pass it on to. */
static void asked_to_end(struct keeper *k)
{
    if (k->kill_at)
        keeper_stop(k, LIMIT_GRACE_MS); /* asked twice */
    else
        keeper_drain(k, k->ready_sent); /* its word that it serves may be on the way */
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
    if (!list_empty(&k->held)) {
        int64_t until = list_first(&k->held, struct keeper_stream, held)->held_until;
        if (until != INT64_MAX && (!at || until < at))
            at = until;
    }
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
            worker_message(k);
        break;
    case WATCH_REAPER:
        reaper_message(k, container_of(w, struct reaper, w));
        break;
    case WATCH_OUT: {
        struct keeper_stream *t = container_of(w, struct keeper_stream, w);
        if (events & EPOLLOUT)
            proc_write_input(k, t->owner);
        if (events & ~(uint32_t)EPOLLOUT)
            proc_move_output(k, t->owner, t);
        break;
    }
    case WATCH_IN:
        proc_write_input(k, container_of(w, struct keeper_proc, in));
        break;
    case WATCH_COMMAND:
        command_reported(k);
        break;
    }
}

/* A deadline passed. False when the keeper is to exit, even if processes are left. */
static bool on_deadline(struct keeper *k)
{
    int64_t now = clock_ms();
    if (k->restart_at && now >= k->restart_at)
        keeper_start_worker(k);
    if (k->upgrade.deadline && now >= k->upgrade.deadline)
        upgrade_deadline(k);
    streams_deadline(k);
    if (!k->kill_at || now < k->kill_at)
        return true;
    if (!k->stopping) { /* the worker was asked to drain and did not */
        keeper_stop(k, LIMIT_GRACE_MS);
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

/* Sets our limits and score, and remembers the old ones, which children get. */
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
        /* Refused without CAP_SYS_RESOURCE: then the score stays as it is. */
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
    list_init(&k->reapers);
    list_init(&k->rich);
    list_init(&k->held);
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
        keeper_store(k, c->state_key, c->state);
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
     * One event per turn: epoll rotates its ready list, so none starves, and no
     * other event can refer to what this one closes.
     */
    for (;;) {
        worker_pump(k);
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
