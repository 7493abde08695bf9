/* SPDX-License-Identifier: MIT */
/*
 * Is the foreground job waiting for input from its terminal?
 *
 * The kernel shows for each thread the system call it is blocked in with its
 * arguments; the descriptors, the sets of select and poll and the watches of
 * an epoll show whether that call is about this terminal. The rules:
 *
 *   read of the terminal                                        YES
 *   select, poll or epoll on it, no time-out, and whatever else
 *     is in the set belongs to the same process (a self-pipe)   YES
 *   the same with a socket, a pipe to another process, a file
 *     watch, an armed timer                                     UNKNOWN
 *   the same with a time-out                                    UNKNOWN
 *   any of these while another thread of the process runs       UNKNOWN
 *   any of these by another thread than the main one, which
 *     waits for a time, a child; or while one is about the
 *     network                                                   UNKNOWN
 *   a process that also holds the master of another terminal:
 *     what the foreground of that terminal does (sudo, script)
 *   denied: a sure YES on a terminal below it (sudo)            YES
 *   denied else, or 32-bit code, or a ring                      UNKNOWN
 *   anything else                                               NO
 *
 * One YES decides; else one UNKNOWN does. The UNKNOWN rows cannot be decided.
 * A node program that listens for keys looks the same while it works (vite)
 * and while it asks (npm with a connection kept alive). A time-out of three
 * seconds is top, one of four is vim after a key, one of eight is node's REPL
 * until its garbage collector rests, and ten polls a second are a spinner or
 * the prompt of Python 3.13. vim and node drop theirs after that time, and the
 * next look is YES. The input of ssh is read on another machine.
 *
 * Where /proc does not show system calls (gVisor, an emulator), a process without
 * children that has a terminal as its input while everything below the shell sleeps may
 * wait for it: UNKNOWN, with LOOK_HINT_PERHAPS.
 *
 * A terminal multiplexer's server is not part of the foreground job or of the
 * session, but it reads the terminal: if the job itself gives no answer, such
 * daemons below the shell are looked at. A wide look takes every process into account.
 *
 * The non-obvious constraint: a terminal in a set proves nothing unless the set
 * is for reading (tail -f watches its output for errors), and a process runs on
 * while it is looked at. At every step it may have ended or gone on; then that
 * step finds nothing, and the next look is right again.
 */
#include "os/look.h"

#include "os/procfs.h"
#include "os/sockdiag.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PROCS_MAX 4096   /* below one shell; more: not looked at */
#define FDS_MAX 256      /* descriptors of one process that are looked at */
#define SET_MAX 1024     /* entries of one set */
#define DEPTH_MAX 4      /* terminals within terminals */
#define LONG_MS 3600000  /* a longer time-out counts as none */
#define NO_LIMIT (-1)
#define PTMX makedev(5, 2)
#define DEV_TTY makedev(5, 0)
#define PTS_MAJOR 136

/*
 * The system calls in which a program waits for input; each architecture has
 * its numbers, and newer ones lack the older calls. Where the set and the
 * time are among the arguments:
 */
struct wait_call {
    long number;
    enum { BY_READ, BY_SELECT, BY_POLL, BY_EPOLL, BY_RING, BY_RESTART } by;
    enum { TIME_NONE, TIME_MS, TIME_SPEC, TIME_VAL } time;
    int time_arg;
};
static const struct wait_call wait_calls[] = {
    {SYS_read, BY_READ, TIME_NONE, 0},
    {SYS_readv, BY_READ, TIME_NONE, 0},
    {SYS_splice, BY_READ, TIME_NONE, 0},
    {SYS_pselect6, BY_SELECT, TIME_SPEC, 4},
    {SYS_ppoll, BY_POLL, TIME_SPEC, 2},
    {SYS_epoll_pwait, BY_EPOLL, TIME_MS, 3},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, BY_EPOLL, TIME_SPEC, 3},
#endif
#ifdef SYS_io_uring_enter
    {SYS_io_uring_enter, BY_RING, TIME_NONE, 0},
#endif
#ifdef __x86_64__
    {SYS_select, BY_SELECT, TIME_VAL, 4},
    {SYS_poll, BY_POLL, TIME_MS, 2},
    {SYS_epoll_wait, BY_EPOLL, TIME_MS, 3},
    /* A poll or a sleep after SIGSTOP and SIGCONT. */
    {SYS_restart_syscall, BY_RESTART, TIME_MS, 2},
#endif
};

/* One thread, and the terminal in question. */
struct spot {
    pid_t pid, tid;
    dev_t tty;       /* the terminal that we ask about */
    dev_t own_tty;   /* what /dev/tty is to this process */
    uint64_t feed;   /* see look_at */
};

/* What a thread's system call waits for. */
struct look_waiting {
    const char *what;   /* "read of", "select on" …; NULL: for nothing of ours */
    int tty_fd;         /* the terminal's descriptor; -1: not in the set */
    bool doubtful;      /* it is in the set, but perhaps not for reading */
    bool denied, unclear;
    bool feed;          /* the feed is read, and nothing else */
    int64_t limit_ms;   /* its time-out, or NO_LIMIT */
    int other[SET_MAX]; /* what else is in the set */
    int others;
};

/* What was found; who is NULL if no single process decided. */
struct finding {
    enum look_state state;
    const struct procfs_stat *who;
    unsigned char hint; /* PERHAPS, SOURCES, KEYS or NONE */
    char how[96];
};

struct look_work {
    struct look *out;
    pid_t shell;
    uint64_t feed;
    const struct procfs_stat *feeder; /* the process that reads the feed; NULL: none */
    struct procfs_list procs; /* owned; everything below the shell */
    int threads_left;
    bool runs; /* something of the job is at work */
};

/* One YES decides, then one UNKNOWN, then a NO with a reason. */
static void finding_merge(struct finding *f, const struct finding *g)
{
    static const int weight[] = {[LOOK_NO] = 0, [LOOK_UNKNOWN] = 1, [LOOK_YES] = 2};
    int a = weight[f->state], b = weight[g->state];
    if (b > a || (b == a && !f->who && g->who))
        *f = *g;
}

/* A finding about one process in words. */
static void finding_set(struct finding *f, enum look_state state,
                        const struct procfs_stat *who, const char *a, const char *b)
{
    f->state = state;
    f->who = who;
    f->hint = LOOK_HINT_NONE;
    snprintf(f->how, sizeof(f->how), "%s%s", a, b);
}

static bool is_access(int errnum)
{
    return errnum == EPERM || errnum == EACCES;
}

static bool is_tty(const struct spot *s, const struct procfs_fd *f)
{
    return f->kind == PROCFS_DEVICE &&
           (f->rdev == s->tty || (f->rdev == DEV_TTY && s->own_tty == s->tty));
}

static void wait_add(struct look_waiting *w, const struct spot *s, int fd, bool doubtful);

/* The watches of an epoll descriptor that are about reading. */
static void wait_add_epoll(struct look_waiting *w, const struct spot *s, int epfd)
{
    char text[32768];
    long n = procfs_fdinfo(s->pid, s->tid, epfd, text, sizeof(text));
    if (n < 0) {
        w->denied |= is_access(errno);
        return;
    }
    if (n == (long)sizeof(text))
        w->unclear = true;
    struct str rest = str_of(text);
    int fd;
    uint32_t events;
    while (procfs_next_watch(&rest, &fd, &events)) {
        /*
         * Go's runtime registers each open descriptor for all events, its output
         * too, long before the program reads from it.
         */
        bool everything = (events & EPOLLOUT) && (events & EPOLLET);
        if (events & (EPOLLIN | EPOLLRDNORM))
            wait_add(w, s, fd, everything);
    }
}

/* Notes one member of a set. */
static void wait_add(struct look_waiting *w, const struct spot *s, int fd, bool doubtful)
{
    struct procfs_fd f;
    if (procfs_fd(s->pid, s->tid, fd, &f) < 0) {
        w->denied |= is_access(errno);
        return;
    }
    if (is_tty(s, &f)) {
        w->doubtful = doubtful && (w->tty_fd < 0 || w->doubtful);
        w->tty_fd = fd;
    } else if (w->others < SET_MAX) {
        w->feed = w->others == 0 && s->feed && f.kind == PROCFS_PIPE &&
                  f.inode == s->feed;
        w->other[w->others++] = fd;
    } else {
        w->unclear = true;
    }
}

/* Copies what a system call points to; a failure is noted in w. */
static bool wait_copy(struct look_waiting *w, const struct spot *s, uint64_t address,
                      void *out, size_t n)
{
    if (procfs_memory(s->tid, address, out, n) == 0)
        return true;
    if (is_access(errno))
        w->denied = true;
    else if (errno != ESRCH)
        w->unclear = true;
    return false;
}

static void wait_add_select(struct look_waiting *w, const struct spot *s,
                            const struct procfs_call *c)
{
    uint64_t words[SET_MAX / 64] = {0};
    int n = (int)c->arg[0];
    if (n <= 0 || c->arg[1] == 0)
        return;
    if (n > SET_MAX) {
        w->unclear = true;
        n = SET_MAX;
    }
    if (!wait_copy(w, s, c->arg[1], words, ((size_t)n + 63) / 64 * 8))
        return;
    for (int fd = 0; fd < n; fd++)
        if (words[fd / 64] >> fd % 64 & 1)
            wait_add(w, s, fd, false);
}

static void wait_add_poll(struct look_waiting *w, const struct spot *s,
                          const struct procfs_call *c)
{
    struct pollfd set[SET_MAX];
    uint64_t n = c->arg[1];
    if (n == 0 || c->arg[0] == 0)
        return;
    if (n > SET_MAX) {
        w->unclear = true;
        n = SET_MAX;
    }
    if (!wait_copy(w, s, c->arg[0], set, (size_t)n * sizeof(set[0])))
        return;
    for (uint64_t i = 0; i < n; i++)
        if (set[i].fd >= 0 && (set[i].events & (POLLIN | POLLRDNORM)))
            wait_add(w, s, set[i].fd, false);
}

/*
 * A restarted call has a new number and the old arguments. Only a poll has a
 * small number second and, first, the address of that many descriptors; a
 * sleep and a futex have not.
 */
static void wait_add_restart(struct look_waiting *w, const struct spot *s,
                             const struct procfs_call *c)
{
    if (c->arg[0] < 4096 || c->arg[1] == 0 || c->arg[1] > 64)
        return;
    wait_add_poll(w, s, c);
    if (w->tty_fd < 0)
        w->unclear = false;
}

/* The time-out of a call. */
static int64_t wait_limit(struct look_waiting *w, const struct spot *s,
                          const struct wait_call *how, const struct procfs_call *c)
{
    uint64_t arg = c->arg[how->time_arg];
    int64_t t[2];
    if (how->time == TIME_NONE)
        return NO_LIMIT;
    if (how->time == TIME_MS)
        return (int)arg < 0 ? NO_LIMIT : (int)arg;
    if (arg == 0 || !wait_copy(w, s, arg, t, sizeof(t)))
        return NO_LIMIT;
    if (t[0] > LONG_MS / 1000)
        return LONG_MS;
    return t[0] * 1000 + t[1] / (how->time == TIME_SPEC ? 1000000 : 1000);
}

/* Fills w with what the thread waits for. */
static void wait_read(struct look_waiting *w, const struct spot *s,
                      const struct procfs_call *c)
{
    w->what = NULL;
    w->tty_fd = -1;
    w->doubtful = w->denied = w->unclear = w->feed = false;
    w->limit_ms = NO_LIMIT;
    w->others = 0;
    const struct wait_call *how = NULL;
    for (size_t i = 0; i < sizeof(wait_calls) / sizeof(wait_calls[0]); i++)
        if (wait_calls[i].number == c->number)
            how = &wait_calls[i];
    if (!how)
        return;
    switch (how->by) {
    case BY_READ:
        w->what = "read of";
        wait_add(w, s, (int)c->arg[0], false);
        return;
    case BY_SELECT:
        w->what = "select on";
        wait_add_select(w, s, c);
        break;
    case BY_POLL:
        w->what = "poll of";
        wait_add_poll(w, s, c);
        break;
    case BY_RESTART:
        w->what = "poll of";
        wait_add_restart(w, s, c);
        break;
    case BY_EPOLL:
        w->what = "epoll on";
        wait_add_epoll(w, s, (int)c->arg[0]);
        break;
    case BY_RING:
        w->what = "io_uring, perhaps on";
        w->unclear = true;
        return;
    }
    /* An epoll descriptor in a set stands for what it watches. */
    for (int i = 0, n = w->others; i < n && w->tty_fd < 0; i++) {
        struct procfs_fd f;
        if (procfs_fd(s->pid, s->tid, w->other[i], &f) == 0 &&
            f.kind == PROCFS_EPOLL)
            wait_add_epoll(w, s, w->other[i]);
    }
    w->limit_ms = wait_limit(w, s, how, c);
    if (w->limit_ms >= LONG_MS)
        w->limit_ms = NO_LIMIT;
}

/* The open descriptors of a process. */
struct holdings {
    int n;
    int number[FDS_MAX];
    struct procfs_fd fd[FDS_MAX];
};

static void holdings_read(struct holdings *h, const struct spot *s)
{
    int numbers[FDS_MAX];
    int n = procfs_fds(s->pid, s->tid, numbers, FDS_MAX);
    h->n = 0;
    for (int i = 0; i < n; i++) {
        h->number[h->n] = numbers[i];
        if (procfs_fd(s->pid, s->tid, numbers[i], &h->fd[h->n]) == 0)
            h->n++;
    }
}

/* Whether a timer descriptor will fire; true if that cannot be read. */
static bool timer_armed(const struct spot *s, int fd)
{
    char text[512];
    return procfs_fdinfo(s->pid, s->tid, fd, text, sizeof(text)) < 0 ||
           str_find(str_of(text), STR("it_value: (0, 0)")) < 0;
}

static bool has_inode(const struct holdings *h, enum procfs_kind kind, uint64_t inode)
{
    bool has = false;
    for (int i = 0; i < h->n && !has; i++)
        has = h->fd[i].kind == kind && h->fd[i].inode == inode;
    return has;
}

/*
 * Whether h has the other end of f, a pipe or a UNIX socket. Both ends of a pipe have one
 * inode, and those of most pairs of sockets follow one another. *peer: what the kernel
 * answers about others; 0: not asked yet.
 */
static bool has_other_end(const struct holdings *h, const struct procfs_fd *f,
                          uint64_t *peer)
{
    if (f->kind != PROCFS_SOCKET)
        return has_inode(h, f->kind, f->inode);
    if (has_inode(h, f->kind, f->inode + 1) || has_inode(h, f->kind, f->inode - 1))
        return true;
    if (!*peer && !(*peer = sockdiag_unix_peer(f->inode)))
        *peer = UINT64_MAX; /* not asked again */
    return has_inode(h, f->kind, *peer);
}

/*
 * Whether anything but the process itself can make this descriptor readable. Event loops
 * wake themselves by self-pipes: both ends of a pipe in the process, or the two sockets
 * of a pair.
 */
static bool from_outside(const struct spot *s, const struct holdings *h, int fd)
{
    struct procfs_fd f;
    if (procfs_fd(s->pid, s->tid, fd, &f) < 0)
        return false;
    int ends = 0;
    uint64_t peer = 0;
    for (int i = 0; i < h->n; i++)
        ends += h->fd[i].kind == f.kind && h->fd[i].inode == f.inode;
    char kind[32];
    switch (f.kind) {
    case PROCFS_EVENT:
    case PROCFS_EPOLL:
        return false;
    case PROCFS_PIPE:
        return ends < 2;
    case PROCFS_TIMER:
        return timer_armed(s, fd);
    case PROCFS_SOCKET:
        return procfs_socket_kind(s->pid, s->tid, fd, kind, sizeof(kind)) < 0 ||
               strncmp(kind, "UNIX", 4) != 0 || !has_other_end(h, &f, &peer);
    case PROCFS_DEVICE:
    case PROCFS_OTHER:
        break;
    }
    return true;
}

/* One pass will do: parents come before their children. */
static bool descends(const struct look_work *l, pid_t pid, pid_t from)
{
    for (size_t i = l->procs.n; i-- > 0 && pid != from;) {
        if (l->procs.v[i].pid == pid)
            pid = l->procs.v[i].ppid;
    }
    return pid == from;
}

/* Is it a pipe or a socket by which programs of this machine talk? */
static bool is_local(const struct spot *s, int fd, struct procfs_fd *f)
{
    char kind[32];
    return procfs_fd(s->pid, s->tid, fd, f) == 0 &&
           (f->kind == PROCFS_PIPE ||
            (f->kind == PROCFS_SOCKET &&
             (procfs_socket_kind(s->pid, s->tid, fd, kind, sizeof(kind)) < 0 ||
              strncmp(kind, "UNIX", 4) == 0)));
}

/*
 * Does the thread wait for nothing but other threads, children, and what programs of this
 * machine write? Not for a time, and not for the network.
 */
static bool thread_idles(const struct spot *s)
{
    struct procfs_call c;
    struct look_waiting w;
    struct procfs_fd f;
    if (procfs_call(s->pid, s->tid, &c) < 0 || c.where != PROCFS_CALL)
        return false;
    if (c.number == SYS_futex || c.number == SYS_wait4 || c.number == SYS_waitid)
        return true;
    wait_read(&w, s, &c);
    if (!w.what || w.denied || w.unclear || w.limit_ms != NO_LIMIT)
        return false;
    for (int i = 0; i < w.others; i++)
        if (!is_local(s, w.other[i], &f) && f.kind != PROCFS_EVENT &&
            f.kind != PROCFS_EPOLL)
            return false;
    return true;
}

/*
 * Has a process below p the other end of f, and do all of them idle, as helpers do that
 * nothing is asked of?
 */
static bool helpers_idle(struct look_work *l, const struct spot *p,
                         const struct procfs_fd *f)
{
    bool found = false;
    uint64_t peer = 0;
    for (size_t i = 0; i < l->procs.n; i++) {
        const struct procfs_stat *q = &l->procs.v[i];
        if (q->pid == p->pid || procfs_dead(q) || !descends(l, q->pid, p->pid))
            continue;
        pid_t tids[LOOK_THREADS_MAX];
        struct spot s = {q->pid, q->pid, p->tty, q->tty, 0};
        struct holdings h;
        for (int n = procfs_threads(q->pid, tids, LOOK_THREADS_MAX); n-- > 0;) {
            s.tid = tids[n];
            if (l->threads_left-- <= 0 || !thread_idles(&s))
                return false;
        }
        s.tid = q->pid;
        holdings_read(&h, &s);
        found = found || has_other_end(&h, f, &peer);
    }
    return found;
}

/* Whether another program may write to it: a job may wait for one that still works. */
static bool from_program(struct look_work *l, const struct spot *s, int fd)
{
    struct procfs_fd f;
    char text[512];
    int64_t flags;
    if (!is_local(s, fd, &f))
        return false;
    /* A FIFO that it has opened for both (the flags are octal) is for messages. */
    return !(f.kind == PROCFS_PIPE &&
             procfs_fdinfo(s->pid, s->tid, fd, text, sizeof(text)) >= 0 &&
             procfs_field(str_of(text), STR("flags"), &flags) &&
             (flags % 10 & O_ACCMODE) == O_RDWR) &&
           !helpers_idle(l, s, &f);
}

/* Judges one thread that waits for the terminal, without the others. */
static void judge(struct look_work *l, struct finding *f, const struct procfs_stat *p,
                  const struct spot *s, const struct look_waiting *w,
                  const struct holdings *h)
{
    bool outside = false, program = false;
    for (int i = 0; i < w->others && !program; i++) {
        bool comes = from_outside(s, h, w->other[i]);
        outside = outside || comes;
        program = comes && from_program(l, s, w->other[i]);
    }
    if (w->limit_ms != NO_LIMIT) {
        char rest[64];
        snprintf(rest, sizeof(rest), " the terminal with a time-out of %lld ms",
                 (long long)w->limit_ms);
        finding_set(f, LOOK_UNKNOWN, p, w->what, rest);
    } else if (outside) {
        finding_set(f, LOOK_UNKNOWN, p, w->what, " the terminal and other sources");
    } else if (w->doubtful || w->unclear) {
        finding_set(f, LOOK_UNKNOWN, p, w->what, " the terminal among others");
    } else {
        finding_set(f, LOOK_YES, p, w->what, " the terminal");
    }
    if (f->state == LOOK_UNKNOWN && !program)
        f->hint = w->doubtful ? LOOK_HINT_KEYS
                  : outside   ? LOOK_HINT_SOURCES
                              : LOOK_HINT_PERHAPS;
}

static void look_group(struct look_work *l, struct finding *f, dev_t tty, pid_t group,
                       int depth);

/* The foreground group of a terminal, from any process on it; 0: there is none. */
static pid_t foreground_of(const struct procfs_list *procs, dev_t tty)
{
    for (size_t i = 0; i < procs->n; i++)
        if (procs->v[i].tty == tty)
            return procs->v[i].tpgid;
    return 0;
}

/*
 * Whether the process passes its input on to terminals of its own; then f is
 * the finding about those terminals.
 */
static bool look_behind(struct look_work *l, struct finding *f,
                        const struct procfs_stat *p, const struct spot *s,
                        const struct holdings *h, int depth)
{
    bool any = false;
    for (int i = 0; i < h->n; i++) {
        char text[512];
        int64_t index;
        if (h->fd[i].kind != PROCFS_DEVICE || h->fd[i].rdev != PTMX ||
            procfs_fdinfo(s->pid, s->tid, h->number[i], text, sizeof(text)) < 0 ||
            !procfs_field(str_of(text), STR("tty-index"), &index))
            continue;
        dev_t inner = makedev(PTS_MAJOR, (unsigned)index);
        pid_t group = inner == s->tty || inner == s->own_tty
                          ? 0 : foreground_of(&l->procs, inner);
        if (group <= 0)
            continue;
        struct finding g;
        finding_set(&g, LOOK_NO, p, "nobody reads the terminal behind ", p->comm);
        look_group(l, &g, inner, group, depth + 1);
        if (any && f->state != g.state)
            finding_set(&g, LOOK_UNKNOWN, p, "several terminals behind ", p->comm);
        *f = g;
        any = true;
    }
    return any;
}

/*
 * A process that the kernel does not show us may pass its input on to another terminal.
 * Its descriptors would prove that; a reader on a terminal below it proves it as well.
 */
static void look_denied(struct look_work *l, struct finding *f,
                        const struct procfs_stat *p, dev_t tty, int depth)
{
    l->out->denied = true;
    finding_set(f, LOOK_UNKNOWN, p, "not allowed to look into ", p->comm);
    for (size_t i = 0; i < l->procs.n && f->state != LOOK_YES; i++) {
        const struct procfs_stat *q = &l->procs.v[i];
        struct finding g;
        if (q->pid != q->session || q->tty == 0 || q->tty == tty || q->tpgid <= 0 ||
            !descends(l, q->pid, p->pid))
            continue;
        finding_set(&g, LOOK_NO, NULL, "", "");
        look_group(l, &g, q->tty, q->tpgid, depth + 1);
        if (g.state == LOOK_YES)
            *f = g;
    }
}

/* A thread that waits for the terminal: for itself, or to pass input on. */
static void look_wait(struct look_work *l, struct finding *f, const struct procfs_stat *p,
                      const struct spot *s, const struct look_waiting *w, int depth)
{
    struct holdings h = {.n = 0};
    bool is_shell = p->pid == l->shell;
    if (!is_shell || w->others > 0)
        holdings_read(&h, s);
    if (is_shell || !look_behind(l, f, p, s, &h, depth))
        judge(l, f, p, s, w, &h);
}

/* One thread. Returns whether it is running. */
static bool look_thread(struct look_work *l, struct finding *f,
                        const struct procfs_stat *p, pid_t tid, dev_t tty, int depth)
{
    struct spot s = {p->pid, tid, tty, p->tty, l->feed};
    struct procfs_call c;
    struct look_waiting w;
    finding_set(f, LOOK_NO, NULL, "", "");
    if (procfs_call(s.pid, s.tid, &c) < 0) {
        if (is_access(errno))
            look_denied(l, f, p, tty, depth);
        return false;
    }
    if (c.where != PROCFS_CALL)
        return c.where == PROCFS_RUNNING;
    if (c.sp >> 32 == 0) {
        /* The process uses another architecture's numbers of system calls. */
        finding_set(f, LOOK_UNKNOWN, p, "32-bit program ", p->comm);
        return false;
    }
    wait_read(&w, &s, &c);
    if (w.feed && w.tty_fd < 0 && !l->feeder)
        l->feeder = p;
    if (w.tty_fd >= 0) {
        if (p->pid == l->shell)
            l->out->shell_reads = l->out->shell_foreground;
        look_wait(l, f, p, &s, &w, depth);
    } else if (w.denied) {
        look_denied(l, f, p, tty, depth);
    } else if (w.unclear) {
        finding_set(f, LOOK_UNKNOWN, p, w.what, " what cannot be told");
    }
    return false;
}

/* Stopped, traced or dead: it would not read what is typed. */
static bool reads_nothing(const struct procfs_stat *p)
{
    return p->state == 'T' || p->state == 't' || procfs_dead(p);
}

/*
 * The thread that runs the program's main function: the first, or the one whose end that
 * waits for, as Java's launcher does. glibc's pthread_join compares the thread's number.
 */
static pid_t main_thread(pid_t pid, const pid_t *tids, int n)
{
    struct procfs_call c;
    if (procfs_call(pid, pid, &c) == 0 && c.where == PROCFS_CALL &&
        c.number == SYS_futex && c.arg[3] == 0)
        for (int i = 0; i < n; i++)
            if ((uint64_t)tids[i] == c.arg[2])
                return tids[i];
    return pid;
}

/*
 * Some programs start a thread that waits for commands, and work. Is this thread about
 * something else: the network, or, if it is the main one, about anything but other
 * threads?
 */
static bool thread_works(const struct spot *s, bool first)
{
    struct procfs_call c;
    struct look_waiting w;
    struct holdings h;
    struct procfs_fd f;
    if (procfs_call(s->pid, s->tid, &c) < 0 || c.where != PROCFS_CALL)
        return false;
    if (c.number == SYS_futex)
        return first && c.arg[3] != 0; /* a time */
    wait_read(&w, s, &c);
    /* An event loop often has a time-out; one that watches nothing sleeps. */
    bool works = first && (!w.what || w.others == 0);
    holdings_read(&h, s);
    for (int i = 0; i < w.others && !works; i++)
        works = from_outside(s, &h, w.other[i]) &&
                (first || (procfs_fd(s->pid, s->tid, w.other[i], &f) == 0 &&
                           f.kind == PROCFS_SOCKET));
#ifdef SYS_accept /* not on s390x */
    works = works || c.number == SYS_accept;
#endif
    return works || c.number == SYS_accept4;
}

static bool others_work(struct spot s, const pid_t *tids, int n, pid_t first)
{
    bool works = false;
    for (int i = 0; i < n && !works; i++) {
        s.tid = tids[i];
        works = thread_works(&s, s.tid == first);
    }
    return works;
}

static void look_process(struct look_work *l, struct finding *f,
                         const struct procfs_stat *p, dev_t tty, int depth)
{
    if (reads_nothing(p))
        return;
    pid_t tids[LOOK_THREADS_MAX] = {p->pid};
    int n = 1;
    if (p->threads > 1)
        n = procfs_threads(p->pid, tids, LOOK_THREADS_MAX);
    struct finding mine = {.state = LOOK_NO};
    bool runs = false, first_reads = false;
    struct spot s = {p->pid, p->pid, tty, p->tty, 0};
    pid_t first = n > 1 ? main_thread(p->pid, tids, n) : p->pid;
    for (int i = 0; i < n; i++) {
        struct finding g;
        if (l->threads_left-- <= 0) {
            finding_set(&g, LOOK_UNKNOWN, p, "too many threads", "");
            finding_merge(&mine, &g);
            break;
        }
        runs |= look_thread(l, &g, p, tids[i], tty, depth);
        first_reads |= tids[i] == first && g.state == LOOK_YES;
        finding_merge(&mine, &g);
    }
    l->runs = l->runs || runs;
    if (mine.state == LOOK_YES && mine.who == p &&
        (runs || (!first_reads && others_work(s, tids, n, first)))) {
        size_t used = strlen(mine.how);
        mine.state = LOOK_UNKNOWN;
        struct procfs_call c = {0};
        bool child = procfs_call(s.pid, s.tid, &c) == 0 &&
                     (c.number == SYS_wait4 || c.number == SYS_waitid);
        if (!runs && !child)
            mine.hint = LOOK_HINT_SOURCES;
        snprintf(mine.how + used, sizeof(mine.how) - used, " while a thread %s",
                 runs ? "runs" : "waits for more");
    }
    /* A process keeps its system call while it stops, also while it is woken for that. */
    struct procfs_stat now;
    if (mine.state == LOOK_YES && mine.who == p && procfs_stat(p->pid, &now) == 0 &&
        (reads_nothing(&now) || (n == 1 && now.state == 'R')))
        return;
    finding_merge(f, &mine);
}

/* Adds to f what the processes of a group on a terminal do. */
static void look_group(struct look_work *l, struct finding *f, dev_t tty, pid_t group,
                       int depth)
{
    if (depth > DEPTH_MAX) {
        struct finding g;
        finding_set(&g, LOOK_UNKNOWN, NULL, "too many terminals in each other", "");
        finding_merge(f, &g);
        return;
    }
    for (size_t i = 0; i < l->procs.n && f->state != LOOK_YES; i++) {
        const struct procfs_stat *p = &l->procs.v[i];
        if (p->tty == tty && p->pgrp == group)
            look_process(l, f, p, tty, depth);
    }
}

/*
 * Whether /proc shows our numbers of system calls: while we read our own file, it must
 * show a read. Under an emulator it does not, and some kernels lack the file. A process
 * that changed its uid and did not exec since may not be allowed to open its own file,
 * which does not mean false.
 */
static bool numbers_fit(void)
{
    struct procfs_call c;
    if (procfs_call(getpid(), getpid(), &c) < 0)
        return is_access(errno);
    return c.where == PROCFS_CALL && c.number == SYS_read;
}

/*
 * Daemons below the shell that read this terminal: only their YES counts for the job.
 * Other processes may have a terminal of the same number, in a devpts of their own.
 */
static void look_daemons(struct look_work *l, struct finding *f, dev_t tty)
{
    for (size_t i = 0; i < l->procs.n && f->state == LOOK_NO; i++) {
        struct finding g;
        finding_set(&g, LOOK_NO, NULL, "", "");
        const struct procfs_stat *p = &l->procs.v[i];
        if (p->tty == 0 && descends(l, p->pid, l->shell))
            look_process(l, &g, p, tty, 0);
        if (g.state == LOOK_YES)
            *f = g;
    }
}

/* Is its descriptor this terminal, and not one of that number in another devpts? */
static bool same_terminal(const struct spot *s, int fd)
{
    char theirs[64], ours[64];
    struct stat a, b;
    snprintf(theirs, sizeof(theirs), "/proc/%d/fd/%d", (int)s->pid, fd);
    snprintf(ours, sizeof(ours), "/dev/pts/%u", minor(s->tty));
    return stat(theirs, &a) == 0 && stat(ours, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/*
 * Programs that opened the terminal by its path and wait for it: gpg's agent, which an
 * earlier command started anywhere, has such a one ask for the passphrase.
 */
static void look_strangers(struct look_work *l, struct finding *f, dev_t tty)
{
    procfs_all(&l->procs, PROCS_MAX);
    for (size_t i = 0; i < l->procs.n && f->state == LOOK_NO; i++) {
        const struct procfs_stat *p = &l->procs.v[i];
        struct spot s = {p->pid, p->pid, tty, p->tty, 0};
        struct procfs_call c;
        struct look_waiting w;
        struct holdings h;
        struct finding g;
        if (p->tty == tty || reads_nothing(p) || procfs_call(s.pid, s.tid, &c) < 0 ||
            c.where != PROCFS_CALL)
            continue;
        wait_read(&w, &s, &c);
        if (w.tty_fd < 0 || !same_terminal(&s, w.tty_fd))
            continue;
        holdings_read(&h, &s);
        judge(l, &g, p, &s, &w, &h);
        *f = g;
    }
}

static bool has_group(const struct procfs_list *procs, pid_t group)
{
    for (size_t i = 0; i < procs->n; i++)
        if (procs->v[i].pgrp == group)
            return true;
    return false;
}

static void look_terminal(struct look_work *l, struct finding *f,
                          const struct procfs_stat *shell, bool wide)
{
    pid_t group = shell->tpgid;
    int rc = procfs_below(&l->procs, shell->pid, PROCS_MAX);
    /* A process that left the tree keeps its group: it need not be below the shell. */
    if (rc == 0 && !has_group(&l->procs, group))
        rc = procfs_all(&l->procs, PROCS_MAX);
    finding_set(f, LOOK_NO, NULL, "nothing in the foreground reads the terminal", "");
    look_group(l, f, shell->tty, group, 0);
    look_daemons(l, f, shell->tty);
    if (wide && f->state == LOOK_NO && !l->feeder)
        look_strangers(l, f, shell->tty);
    if (rc < 0 && f->state != LOOK_YES)
        finding_set(f, LOOK_UNKNOWN, NULL, "too many processes", "");
}

static bool has_child(const struct procfs_list *l, pid_t pid)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].ppid == pid && !procfs_dead(&l->v[i]))
            return true;
    return false;
}

/* Does one of its threads do anything but sleep? */
static bool is_at_work(const struct procfs_stat *p)
{
    pid_t tids[LOOK_THREADS_MAX];
    int n = p->threads > 1 ? procfs_threads(p->pid, tids, LOOK_THREADS_MAX) : 0;
    struct procfs_stat t;
    bool works = p->state != 'S';
    for (int i = 0; i < n && !works; i++)
        works = procfs_stat(tids[i], &t) == 0 && t.state != 'S';
    return works;
}

/* All that can be found out where /proc does not show system calls. */
static void look_asleep(struct look_work *l, struct finding *f, pid_t shell)
{
    struct procfs_fd in;
    finding_set(f, LOOK_UNKNOWN, NULL, "/proc does not show system calls", "");
    if (procfs_below(&l->procs, shell, PROCS_MAX) < 0)
        return;
    for (size_t i = 0; i < l->procs.n && !l->runs; i++) {
        const struct procfs_stat *p = &l->procs.v[i];
        if (reads_nothing(p))
            continue;
        l->runs = is_at_work(p);
        if (!has_child(&l->procs, p->pid) && procfs_fd(p->pid, p->pid, 0, &in) == 0 &&
            in.kind == PROCFS_DEVICE && major(in.rdev) == PTS_MAJOR) {
            finding_set(f, LOOK_UNKNOWN, p, "asleep, with the terminal as its input", "");
            f->hint = LOOK_HINT_PERHAPS;
        }
    }
}

void look_at(pid_t shell, uint64_t feed, bool wide, struct look *out)
{
    struct look_work l = {
        .out = out, .shell = shell, .feed = feed, .threads_left = LOOK_THREADS_MAX};
    struct finding f;
    struct procfs_stat s;
    *out = (struct look){.state = LOOK_UNKNOWN};
    finding_set(&f, LOOK_UNKNOWN, NULL, "", "");
    if (procfs_stat(shell, &s) < 0) {
        bool proc = access("/proc/self/stat", F_OK) == 0;
        finding_set(&f, LOOK_UNKNOWN, NULL, proc ? "no such process" : "no /proc", "");
    } else if (!numbers_fit()) { /* gVisor has no terminals in stat either */
        out->shell_foreground = s.pgrp == s.tpgid;
        look_asleep(&l, &f, shell);
    } else if (s.tty == 0 || s.tpgid <= 0) {
        finding_set(&f, LOOK_UNKNOWN, NULL, "no terminal", "");
    } else {
        out->shell_foreground = s.pgrp == s.tpgid;
        look_terminal(&l, &f, &s, wide);
    }
    out->state = f.state;
    if (f.state == LOOK_UNKNOWN && f.hint && !l.runs) {
        out->hint = f.hint;
    } else if (f.state != LOOK_YES && l.feeder) {
        out->hint = LOOK_HINT_FEED;
        f.who = l.feeder;
    }
    if (f.who) {
        out->pid = f.who->pid;
        memcpy(out->comm, f.who->comm, sizeof(out->comm));
    }
    memcpy(out->how, f.how, sizeof(out->how));
    procfs_release(&l.procs);
}
