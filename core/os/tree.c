/* SPDX-License-Identifier: MIT */
/*
 * Signalling everything that a shell started.
 *
 * Each round lists all processes and picks those that descend from the root;
 * the rest is about races. A process can fork between being listed and being
 * signalled, and its child is then below the root, too (a subreaper),
 * so rounds go on until one shows no new process. A process that forks faster
 * than we list could escape, so before a KILL all are stopped: a fork that
 * sees the pending stop is undone by the kernel, and a stopped process neither
 * forks nor ends, so a round in which all are stopped is complete.
 * A process that forks its successor and ends lives for some 100 µs, so those
 * rounds follow the lists of children, which is quicker than all of /proc.
 *
 * The cost of a list of all of /proc grows with all processes of the machine, and
 * many servers that end at once each make several. So the lists of children are
 * tried first if there is no tag: for the first round of signals (the last round
 * always lists all of /proc), and for a count that nothing has disturbed.
 *
 * Numbers are remembered together with the time the process began, because
 * the number alone may be another process in the next round.
 */
#include "os/tree.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "os/procfs.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS_MAX    16
#define STAND_MS      100 /* for the root, and for all, to stand still */
#define TRIES_MAX     4
#define PROCS_MAX     65536 /* of the whole machine; about 5 MB for a moment */
#define ANCESTORS_MAX 64
#define PID_LIMIT     (1 << 22) /* the kernel's own, 64 bits */

struct tree_member {
    pid_t pid;
    uint64_t start;
};

struct process_tree {
    struct tree_of of;
    bool root_lives;        /* it was in the last list */
    struct procfs_list all; /* owned; every process, of the last round */
    size_t *order;          /* owned; of those, what belongs; parents first */
    size_t n;
    bool *belongs;            /* owned; one for each in all */
    struct tree_member *seen; /* owned; signalled in some round */
    size_t seen_n, seen_cap;
    pid_t above[ANCESTORS_MAX]; /* parents of a process that was orphaned */
    size_t above_n;
    struct tree_result *out;
};

static void tree_release(struct process_tree *t)
{
    procfs_release(&t->all);
    free(t->order);
    free(t->belongs);
    free(t->seen);
}

static bool is_above(const struct process_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->above_n; i++)
        if (t->above[i] == pid)
            return true;
    return false;
}

static bool in_time(const struct process_tree *t, const struct procfs_stat *p)
{
    return p->start >= t->of.from && (!t->of.to || p->start < t->of.to);
}

/*
 * Removes processes that did not begin between from and to. If starts are not real times
 * (root's would be after its command's), all stay.
 */
static void drop_others(struct process_tree *t)
{
    const struct procfs_stat *root = t->n > 0 ? &t->all.v[t->order[0]] : NULL;
    if ((!t->of.from && !t->of.to) || !root || !root->start ||
        (t->of.from && root->start > t->of.from))
        return;
    size_t kept = 1;
    for (size_t k = 1; k < t->n; k++) {
        const struct procfs_stat *p = &t->all.v[t->order[k]];
        bool stays = (t->of.group && p->pgrp == t->of.group) ||
                     (p->ppid == root->pid && in_time(t, p));
        for (size_t i = 1; i < kept && !stays; i++)
            stays = t->all.v[t->order[i]].pid == p->ppid;
        t->belongs[t->order[k]] = stays;
        if (stays)
            t->order[kept++] = t->order[k];
    }
    t->n = kept;
}

/* A process and its parents, up to the first one. */
static void add_above(struct process_tree *t, pid_t pid)
{
    bool more = true;
    while (more && pid > 0 && !is_above(t, pid) && t->above_n < ANCESTORS_MAX) {
        t->above[t->above_n++] = pid;
        more = false;
        for (size_t i = 0; i < t->all.n && !more; i++) {
            if (t->all.v[i].pid == pid) {
                pid = t->all.v[i].ppid;
                more = true;
            }
        }
    }
}

/* Adds a process of the list and everything below it. */
static void add_below(struct process_tree *t, size_t index)
{
    size_t done = t->n;
    t->belongs[index] = true;
    t->order[t->n++] = index;
    for (; done < t->n; done++) {
        pid_t parent = t->all.v[t->order[done]].pid;
        for (size_t i = 0; i < t->all.n; i++) {
            if (t->all.v[i].ppid == parent && !t->belongs[i]) {
                t->belongs[i] = true;
                t->order[t->n++] = i;
            }
        }
    }
}

/*
 * Adds orphans that a subreaper or the first process took because the shell was gone.
 * They are children of processes above the root, so that the environment of other
 * processes need not be read.
 */
static void add_tagged(struct process_tree *t)
{
    t->above_n = 0;
    add_above(t, getpid());
    for (size_t i = 0; i < t->all.n; i++)
        if (t->all.v[i].pid == t->of.root)
            add_above(t, t->all.v[i].ppid);
    for (size_t i = 0; i < t->all.n; i++) {
        const struct procfs_stat *p = &t->all.v[i];
        if (!t->belongs[i] && p->pid != t->of.root && !procfs_dead(p) && in_time(t, p) &&
            !is_above(t, p->pid) && (p->ppid == 1 || is_above(t, p->ppid)) &&
            procfs_environ_has(p->pid, STR("OD_SESSION_TAG"), str_of(t->of.tag)) == 1)
            add_below(t, i);
    }
}

static void tree_empty(struct process_tree *t)
{
    t->order = xrealloc(t->order, t->all.n, sizeof(*t->order));
    t->belongs = xrealloc(t->belongs, t->all.n, sizeof(*t->belongs));
    memset(t->belongs, 0, t->all.n * sizeof(*t->belongs));
    t->n = 0;
}

/* Makes a new list. Returns -1 if there is no /proc. */
static int tree_list(struct process_tree *t)
{
    if (procfs_all(&t->all, PROCS_MAX) < 0 && errno != E2BIG)
        return -1;
    tree_empty(t);
    for (size_t i = 0; i < t->all.n; i++)
        if (t->all.v[i].pid == t->of.root)
            add_below(t, i);
    t->root_lives = t->n > 0;
    drop_others(t);
    if (t->of.tag)
        add_tagged(t);
    return 0;
}

static bool tree_noted(const struct process_tree *t, const struct procfs_stat *p)
{
    for (size_t i = 0; i < t->seen_n; i++)
        if (t->seen[i].pid == p->pid && t->seen[i].start == p->start)
            return true;
    return false;
}

/* Notes a process; false when it was noted before. */
static bool tree_note(struct process_tree *t, const struct procfs_stat *p)
{
    if (tree_noted(t, p))
        return false;
    if (t->seen_n == t->seen_cap) {
        t->seen_cap = t->seen_cap ? t->seen_cap * 2 : 64;
        t->seen = xrealloc(t->seen, t->seen_cap, sizeof(*t->seen));
    }
    t->seen[t->seen_n++] = (struct tree_member){p->pid, p->start};
    return true;
}

static void count_signal(struct tree_result *out, int rc)
{
    out->found += rc == 0 || errno == EPERM;
    out->denied += rc != 0 && errno == EPERM;
}

/* A new list, quicker: only of what is below the root. */
static int tree_list_below(struct process_tree *t)
{
    if (procfs_below(&t->all, t->of.root, PROCS_MAX) < 0 && errno != E2BIG)
        return -1;
    tree_empty(t);
    for (size_t i = 0; i < t->all.n; i++)
        t->order[i] = i;
    t->n = t->all.n;
    drop_others(t);
    return 0;
}

/* Stops all in the list. Returns whether all of them were stopped already. */
static bool stop_listed(struct process_tree *t)
{
    bool still = !t->all.missed;
    for (size_t k = 0; k < t->n; k++) {
        const struct procfs_stat *p = &t->all.v[t->order[k]];
        /* We may be in the list ourselves, and must run on. */
        if (procfs_dead(p) || p->state == 'T' || p->state == 't' || p->pid == getpid())
            continue;
        if (kill(p->pid, SIGSTOP) == 0 || errno == ESRCH)
            still = false;
    }
    return still;
}

/*
 * Stops the root before its descendants: a shell in wait() would be notified
 * of stopped children and treat that as their end. A root that cannot stop now, or a
 * tracer's that does not let it (PRoot), delays us for STAND_MS at most.
 */
static void stop_root(pid_t root)
{
    struct procfs_stat p;
    if (root <= 1 || root == getpid() || procfs_stat(root, &p) < 0 ||
        kill(root, SIGSTOP) < 0)
        return;
    for (int64_t end = clock_ms() + STAND_MS; clock_ms() < end;) {
        if (procfs_stat(root, &p) < 0 || procfs_dead(&p) || p.state == 'T' ||
            p.state == 't')
            return;
        sched_yield();
    }
}

/*
 * Stops all of them. Two rounds without news are needed, because a process may
 * end between the reading of its new parent's children and of its own. One
 * that cannot stop now (in the kernel) delays us for STAND_MS at most, or ROUNDS_MAX
 * rounds where those take longer.
 */
static int stop_all(struct process_tree *t)
{
    int quiet = 0;
    int64_t end = clock_ms() + STAND_MS;
    for (int round = 0; quiet < 2 && (round <= ROUNDS_MAX || clock_ms() < end); round++) {
        if (tree_list_below(t) < 0)
            return -1;
        quiet = stop_listed(t) ? quiet + 1 : 0;
        if (round > ROUNDS_MAX)
            sched_yield();
    }
    for (int round = 0; round < ROUNDS_MAX && t->of.tag; round++) {
        if (tree_list(t) < 0)
            return -1;
        if (stop_listed(t))
            break;
    }
    return 0;
}

/* Signals the new ones in the list. Returns how many. */
static size_t signal_new(struct process_tree *t, int sig, bool with_root, bool wake)
{
    size_t fresh = 0;
    for (size_t k = 0; k < t->n; k++) {
        const struct procfs_stat *p = &t->all.v[t->order[k]];
        bool is_root = p->pid == t->of.root;
        if (procfs_dead(p) || (is_root && !with_root) || !tree_note(t, p))
            continue;
        int rc = kill(p->pid, sig);
        if (!is_root)
            count_signal(t->out, rc);
        if (wake && p->state == 'T')
            kill(p->pid, SIGCONT);
        fresh++;
    }
    return fresh;
}

/*
 * Signals until a list of all of /proc shows no new process. Returns -1 if there is no
 * /proc.
 */
static int signal_rounds(struct process_tree *t, int sig, bool with_root, bool wake)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        bool quick = round == 0 && !t->of.tag;
        if ((quick ? tree_list_below(t) : tree_list(t)) < 0)
            return -1;
        if (signal_new(t, sig, with_root, wake) == 0 && !quick)
            break;
    }
    return 0;
}

/*
 * Without /proc: signals all processes in the root's session, found by getsid
 * of every possible number, in a third of a second. A process that began a
 * session of its own is not found.
 */
static void signal_session(pid_t root, int sig, bool with_root, struct tree_result *out)
{
    out->no_proc = true;
    if (root <= 1)
        return;
    bool leads = getsid(root) == root; /* else the session is not its own */
    pid_t self = getpid();
    for (pid_t pid = 2; pid < PID_LIMIT && leads; pid++)
        if (pid != root && pid != self && getsid(pid) == root)
            count_signal(out, kill(pid, sig));
    if (with_root)
        kill(root, sig);
}

/* Whether a process below the root was not signalled yet. */
static bool somebody_new(const struct process_tree *t)
{
    for (size_t k = 0; k < t->n; k++) {
        const struct procfs_stat *p = &t->all.v[t->order[k]];
        if (!procfs_dead(p) && p->pid != t->of.root && !tree_noted(t, p))
            return true;
    }
    return false;
}

/* KILL, the root last: while it lives, orphans come to it. */
static int kill_all(struct process_tree *t, bool with_root)
{
    bool more = true;
    stop_root(t->of.root);
    for (int i = 0; i < TRIES_MAX && more; i++) {
        if (stop_all(t) < 0 || signal_rounds(t, SIGKILL, false, false) < 0) {
            if (t->of.root > 1)
                kill(t->of.root, SIGCONT);
            return -1;
        }
        more = tree_list_below(t) == 0 && somebody_new(t);
    }
    if (t->root_lives)
        kill(t->of.root, with_root ? SIGKILL : SIGCONT);
    return 0;
}

void tree_signal(const struct tree_of *of, int sig, bool with_root,
                 struct tree_result *out)
{
    struct process_tree t = {.of = *of, .out = out};
    bool job_control = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
                       sig == SIGTTOU || sig == SIGCONT || sig == 0;
    *out = (struct tree_result){0};
    int rc = sig == SIGKILL ? kill_all(&t, with_root)
                            : signal_rounds(&t, sig, with_root, !job_control);
    if (rc < 0)
        signal_session(of->root, sig, with_root, out);
    tree_release(&t);
}

/*
 * Whether a list by children is empty only if no process is left. An orphan may get a
 * parent whose children were read already, and a child that is reaped may hide the next
 * one; both need the end of a process of the list, which is then dead in the list,
 * missed, or counted itself.
 */
static bool is_settled(const struct process_tree *t)
{
    for (size_t i = 0; i < t->all.n; i++)
        if (procfs_dead(&t->all.v[i]))
            return false;
    return t->all.n > 0 && !t->all.missed;
}

int tree_count(const struct tree_of *of)
{
    struct process_tree t = {.of = *of};
    int n = -1;
    if ((!of->tag && tree_list_below(&t) == 0 && is_settled(&t)) || tree_list(&t) == 0) {
        n = 0;
        for (size_t k = 0; k < t.n; k++) {
            const struct procfs_stat *p = &t.all.v[t.order[k]];
            n += !procfs_dead(p) && p->pid != of->root;
        }
    }
    tree_release(&t);
    return n;
}
