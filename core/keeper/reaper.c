/* SPDX-License-Identifier: MIT */
/*
 * The reaper's loop: requests from the keeper, reports of starts, deaths.
 *
 * A start is reported when exec has succeeded or failed, which may take long on a
 * slow disk: pending reports are polled together with the other descriptors.
 */
#include "keeper/reaper.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "keeper/keepmsg.h"
#include "keeper/supervise.h"
#include "os/landlock.h"
#include "os/sig.h"
#include "os/spawn.h"
#include "reach/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEEPER_FD = 3, STARTS_MAX = 32 };

struct child {
    struct list node;
    uint64_t id;
    pid_t pid;
    int report;  /* owned; -1: the start is settled */
    bool exited; /* died before its start was settled */
    bool shell;  /* leads a session's terminal: only we notice that it stops */
    int status;
};

struct reaper_self {
    struct list children;
    int signals; /* readable when SIGCHLD came */
    int fence;   /* owned; the ruleset of what it starts; -1: none */
    int link;    /* owned; to its supervisor; -1: there is none */
    bool files;  /* programs get the filter for files, too */
    char space[sizeof(struct keep_head) + KEEP_DATA];
};

int reaper_spawn_body(struct buf *out, const char *program, const char *cwd,
                      char *const *argv, char *const *envp)
{
    struct reaper_spawn head = {0, 0};
    while (argv[head.argc])
        head.argc++;
    while (envp[head.envc])
        head.envc++;
    if (buf_add(out, &head, sizeof(head)) < 0 ||
        buf_add(out, program, strlen(program) + 1) < 0 ||
        buf_add(out, cwd ? cwd : "", cwd ? strlen(cwd) + 1 : 1) < 0)
        return -1;
    for (uint32_t i = 0; i < head.argc + head.envc; i++) {
        const char *s = i < head.argc ? argv[i] : envp[i - head.argc];
        if (buf_add(out, s, strlen(s) + 1) < 0)
            return -1;
    }
    return 0;
}

/* An exit must not be lost. */
static void tell(const struct keep_msg *m) { keep_tell(KEEPER_FD, m); }

static void tell_start(uint64_t id, pid_t pid, int errnum, int step)
{
    struct keep_msg m = {.h = {.type = KEEP_M_SPAWNED,
                               .id = id,
                               .a = (uint64_t)pid,
                               .b = (uint64_t)errnum,
                               .flags = (uint32_t)step}};
    tell(&m);
}

static void tell_exit(const struct child *c)
{
    struct keep_msg m = {.h = {.type = KEEP_M_EXIT,
                               .id = c->id,
                               .a = (uint64_t)c->pid,
                               .b = (uint64_t)(uint32_t)c->status}};
    tell(&m);
}

static void child_free(struct child *c)
{
    list_del(&c->node);
    if (c->report >= 0)
        close(c->report);
    free(c);
}

/* The next NUL-terminated string of a body, or NULL when there is none. */
static char *next_string(struct str *rest)
{
    char *end = rest->n ? memchr(rest->p, 0, rest->n) : NULL;
    if (!end)
        return NULL;
    char *s = (char *)(uintptr_t)rest->p;
    *rest = str_sub(*rest, (size_t)(end - s) + 1, rest->n);
    return s;
}

int reaper_spawn_parse(struct str body, struct reaper_program *out)
{
    struct reaper_spawn head;
    *out = (struct reaper_program){0};
    if (body.n < sizeof(head))
        return -1;
    memcpy(&head, body.p, sizeof(head));
    struct str rest = str_sub(body, sizeof(head), body.n);
    out->program = next_string(&rest);
    out->cwd = next_string(&rest);
    size_t words = (size_t)head.argc + head.envc;
    if (!out->cwd || words > rest.n)
        return -1;
    out->argv = xcalloc(words + 2, sizeof(char *));
    out->envp = out->argv + head.argc + 1;
    for (size_t i = 0; i < words; i++) {
        char *s = next_string(&rest);
        if (!s)
            return -1;
        if (i < head.argc)
            out->argv[i] = s;
        else
            out->envp[i - head.argc] = s;
    }
    return 0;
}

/* In the child: its calls are decided by the supervisor; we get the listener by the
 * report. */
static int submit(int report)
{
    int listener = notify_install(false);
    return listener < 0 ? -1 : notify_pass(report, "L", 1, listener);
}
static int submit_files(int report)
{
    int listener = notify_install(true);
    return listener < 0 ? -1 : notify_pass(report, "L", 1, listener);
}

static void do_spawn(struct reaper_self *mi, struct keep_msg *m)
{
    struct reaper_program p;
    int need = (m->h.flags & KEEP_PTY) ? 1 : 3;
    if (m->nfds < need) {
        tell_start(m->h.id, 0, EMFILE, SPAWN_FORK);
        return;
    }
    bool whole = reaper_spawn_parse(m->body, &p) == 0;
    struct spawn s = {.path = p.program,
                      .argv = p.argv,
                      .envp = p.envp,
                      .cwd = whole && *p.cwd ? p.cwd : NULL,
                      .tty = (m->h.flags & KEEP_PTY) != 0,
                      .subreaper = !(m->h.flags & KEEP_FRONT),
                      .in_front = (m->h.flags & KEEP_FRONT) != 0,
                      .fence = mi->fence >= 0 ? &mi->fence : NULL,
                      .before = mi->link < 0 ? NULL
                                : mi->files  ? submit_files
                                             : submit};
    for (int i = 0; i < 3; i++)
        s.fds[i] = m->fds[need == 1 ? 0 : i];
    pid_t pid;
    int report;
    if (!whole)
        tell_start(m->h.id, 0, EINVAL, SPAWN_EXEC);
    else if (spawn_start(&s, &pid, &report) < 0)
        tell_start(m->h.id, 0, errno, SPAWN_FORK);
    else {
        struct child *c = xnew(struct child);
        c->id = m->h.id;
        c->pid = pid;
        c->report = report;
        c->shell = s.tty;
        fcntl(report, F_SETFL, O_NONBLOCK);
        list_add_tail(&mi->children, &c->node);
    }
    free(p.argv);
}

static void do_request(struct keep_msg *m)
{
    struct reaper_request q;
    struct reaper_answer a = {0};
    if (m->body.n == sizeof(q)) {
        memcpy(&q, m->body.p, sizeof(q));
        q.tag[sizeof(q.tag) - 1] = 0;
        struct tree_of of = {.root = q.pid,
                             .tag = q.tag[0] ? q.tag : NULL,
                             .from = q.from,
                             .to = q.to,
                             .group = q.group};
        a.verb = q.verb;
        if (q.verb == REAPER_LOOK)
            look_at(q.pid, q.from, q.root != 0, &a.look);
        else if (q.verb == REAPER_SIGNAL_TREE)
            tree_signal(&of, q.sig, q.root != 0, &a.tree);
        else if (q.verb == REAPER_COUNT_TREE)
            a.tree.found = tree_count(&of);
        else if (q.verb == REAPER_SIGNAL_GROUP && kill(-q.pid, q.sig) < 0)
            a.errnum = errno;
    }
    struct keep_msg out = {.h = {.type = KEEP_M_ANSWER, .id = m->h.id},
                           .body = str_n(&a, sizeof(a))};
    tell(&out);
}

/* Reports the result of a start, once; then an exit that came before it. */
static void settle(struct reaper_self *mi, struct child *c)
{
    struct spawn_failure f;
    int listener = -1;
    ssize_t n = mi->link >= 0 ? notify_take(c->report, &f, sizeof(f), &listener)
                              : read(c->report, &f, sizeof(f));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (listener >= 0) {
        struct keep_msg m = {
            .h = {.type = KEEP_M_LISTENER}, .fds = {listener}, .nfds = 1};
        keep_tell(mi->link, &m);
        close(listener);
        settle(mi, c);
        return;
    }
    close(c->report);
    c->report = -1;
    if (n == (ssize_t)sizeof(f)) {
        /* The start failed in our forked child, which is ending: it is only reaped. */
        tell_start(c->id, 0, f.errnum, f.step);
        c->id = 0;
        if (c->exited)
            child_free(c);
        return;
    }
    tell_start(c->id, c->pid, 0, 0);
    if (c->exited) {
        tell_exit(c);
        child_free(c);
    }
}

/* Continues a stopped shell (`suspend`): it has no shell above it for `fg`. */
static void go_on(const struct child *c, int sig)
{
    if (c->shell && sig != SIGTTIN && sig != SIGTTOU)
        kill(-c->pid, SIGCONT);
}

static void reap(struct reaper_self *mi)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        struct list *it, *tmp;
        list_each (it, tmp, &mi->children) {
            struct child *c = list_entry(it, struct child, node);
            if (c->pid != pid)
                continue;
            if (WIFSTOPPED(status)) {
                go_on(c, WSTOPSIG(status));
                break;
            }
            c->exited = true;
            c->status = status;
            if (c->report >= 0)
                settle(mi, c); /* the pipe is at its end: the writer is dead */
            else if (c->id == 0)
                child_free(c);
            else {
                tell_exit(c);
                child_free(c);
            }
            break;
        }
    }
}

/* One message; false when the keeper is gone. */
static bool serve_keeper(struct reaper_self *mi)
{
    struct keep_msg m;
    int r = keep_recv(KEEPER_FD, &m, mi->space);
    if (r == 0)
        return false;
    if (r < 0)
        return errno == EAGAIN || errno == EBADMSG;
    if (m.h.type == KEEP_M_SPAWN)
        do_spawn(mi, &m);
    else if (m.h.type == KEEP_M_REQUEST)
        do_request(&m);
    else if (m.h.type == KEEP_M_RULES && mi->link >= 0)
        keep_tell(mi->link, &(struct keep_msg){.h.type = KEEP_M_RULES, .body = m.body});
    keep_release(&m);
    return true;
}

static void become(uid_t uid, gid_t gid, long nofile, int oom)
{
    spawn_give_limits(nofile, oom);
    if (getuid() != uid || getgid() != gid) {
        struct passwd *pw = getpwuid(uid);
        int groups = pw ? initgroups(pw->pw_name, gid) : setgroups(1, &gid);
        if (groups < 0 || setgid(gid) < 0 || setuid(uid) < 0) {
            log_error("cannot become uid %u: %m", (unsigned)uid);
            _exit(1);
        }
        /* Changing uid made us undumpable, and so our children unreadable. */
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    }
}

/* Reaps children that have ended. False: there is no child left. */
static bool reap_any(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid == 0;
}

/*
 * The keeper was killed: its terminals are closed, and no client can reach the programs
 * here. Sends HUP and TERM to all of them, KILL after the grace.
 */
static void end_all(struct reaper_self *mi)
{
    const struct tree_of ours = {.root = getpid()};
    struct tree_result r;
    if (!reap_any())
        return;
    log_warn("the keeper is gone; what it ran is ended");
    tree_signal(&ours, SIGHUP, false, &r);
    tree_signal(&ours, SIGTERM, false, &r);
    int64_t at = clock_ms() + LIMIT_GRACE_MS;
    for (bool killed = false; reap_any();) {
        int64_t left = at - clock_ms();
        struct pollfd p = {.fd = mi->signals, .events = POLLIN};
        if (left > 0) {
            poll(&p, 1, (int)left);
            while (sig_next(mi->signals) > 0)
                ;
        } else if (killed) {
            return; /* what remains cannot be killed: it hangs in the kernel */
        } else {
            killed = true;
            at = clock_ms() + LIMIT_GRACE_MS;
            tree_signal(&ours, SIGKILL, false, &r);
        }
    }
}

int reaper_main(uid_t uid, gid_t gid, long nofile, int oom, int fence, int reach)
{
    static struct reaper_self one; /* it ends with its process */
    struct reaper_self *mi = &one;
    become(uid, gid, nofile, oom);
    signal(SIGPIPE, SIG_IGN);
    for (int s = SIGHUP; s <= SIGTERM; s++) {
        if (s == SIGHUP || s == SIGINT || s == SIGQUIT || s == SIGTERM)
            signal(s, SIG_IGN); /* the reaper ends when the keeper does */
    }
    mi->link = reach < 0 ? -1 : supervise(KEEPER_FD, reach, &mi->files);
    if (reach >= 0 && mi->link < 0) {
        log_error("cannot read the rules of the network; no program is started");
        return 1;
    }
    struct keep_msg below = {.h = {.type = KEEP_M_BELOW, .a = (uint64_t)getpid()}};
    if (mi->link >= 0)
        tell(&below);
    /* Processes that a shell leaves behind stay below us, and end with the keeper. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* Continues a stopped reaper when the keeper ends, so that it notices. */
    prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
    list_init(&mi->children);
    mi->fence = fence;
    if (fence >= 0) {
        fcntl(fence, F_SETFD, FD_CLOEXEC);
        landlock_scope(); /* fence_lacks says where a kernel cannot */
    }
    int wanted[] = {SIGCHLD};
    mi->signals = sig_open(wanted, 1);
    if (mi->signals < 0)
        return 1;

    for (;;) {
        struct pollfd p[3 + STARTS_MAX];
        struct child *who[3 + STARTS_MAX];
        nfds_t n = 3;
        p[1] = (struct pollfd){.fd = mi->signals, .events = POLLIN};
        struct list *it, *tmp;
        list_each (it, tmp, &mi->children) {
            struct child *c = list_entry(it, struct child, node);
            if (c->report < 0 || n == 3 + STARTS_MAX)
                continue;
            who[n] = c;
            p[n++] = (struct pollfd){.fd = c->report, .events = POLLIN};
        }
        /* With many starts pending the next one waits in the socket. */
        bool full = n == 3 + STARTS_MAX;
        p[0] = (struct pollfd){.fd = full ? -1 : KEEPER_FD, .events = POLLIN};
        p[2] = (struct pollfd){.fd = mi->link}; /* only that it is over */
        if (poll(p, n, -1) < 0 && errno != EINTR)
            return 1;
        if (p[2].revents) {
            log_error("the supervisor of the network is gone");
            return 1;
        }
        for (nfds_t i = 3; i < n; i++) {
            if (p[i].revents)
                settle(mi, who[i]);
        }
        if (p[1].revents) {
            while (sig_next(mi->signals) > 0)
                ;
            reap(mi);
        }
        if (p[0].revents && !serve_keeper(mi)) {
            end_all(mi);
            return 0;
        }
    }
}
