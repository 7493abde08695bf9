/* SPDX-License-Identifier: MIT */
/*
 * Ending what runs in a session, in rounds: the signal, then KILL, then the shell too.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "os/procfs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    RECHECK_MS = 20,
    ROUNDS_MAX = 5,
    AFTER_KILL_MS = 500,
    BEGIN_MS = 2000,  /* for the shell to begin the command that was typed */
    ANSWER_MS = 30000 /* for the reaper: each file of /proc may take a while */
};

struct killing {
    struct list node;
    struct session *s; /* borrowed */
    pid_t pid;         /* the shell, and its tag, as they were */
    char tag[9];
    uint64_t seq;      /* the command that is to end, and when it began: */
    int64_t since_ms;  /* a command that a person types has no seq of its own */
    uint64_t from, to; /* see struct tree_of */
    pid_t group;       /* in the foreground when it was last signalled */
    int sig, rounds, found;
    int64_t grace_ms, wait_ms, next_at;
    bool ran; /* a command was running when it began */
    bool end, no_proc, asked;
    bool signals; /* the reaper is signalling */
    session_killed_fn *fn;
    void *arg;
    struct timer timer;
};

static void on_kill_timer(struct timer *t);

/* The shell as the root of its tree; 0: it is gone, and only the tag finds processes. */
static pid_t kill_root(const struct killing *k)
{
    const struct session *s = k->s;
    bool there = s->state != SESSION_NONE && s->proc.r.pid == k->pid &&
                 !(s->proc.r.flags & KEEP_P_EXITED);
    return there ? k->pid : 0;
}

/* The group in the foreground of its terminal; 0: unknown, or none. */
static pid_t foreground(const struct killing *k)
{
    return kill_root(k) && k->s->sh.pty ? session_in_front(k->s) : 0;
}

/* Does the command that is to end still run? */
static bool kill_runs(const struct killing *k)
{
    const struct session *s = k->s;
    return kill_root(k) && session_busy(s) && s->cmd.seq == k->seq &&
           s->cmd.since_ms == k->since_ms;
}

static bool kill_over(const struct killing *k)
{
    return k->end ? kill_root(k) == 0 : !kill_runs(k);
}

/* Bounds by start time: processes that begin after the command's end are not its own. */
static void kill_bounds(struct killing *k)
{
    const struct session *s = k->s;
    if (k->end || k->to || kill_runs(k))
        return;
    bool next = session_busy(s);
    k->to = procfs_ticks(next ? clock_ms() - s->cmd.since_ms : 0);
}

static void kill_ask(struct killing *k, enum reaper_verb verb, int sig, bool root,
                     keeper_client_answer_fn *fn)
{
    struct session *s = k->s;
    kill_bounds(k);
    struct reaper_request q = {
        .verb = verb, .pid = kill_root(k), .sig = sig, .root = root};
    if (!root && !k->end) {
        q.from = k->from;
        q.to = k->to;
        q.group = kill_runs(k) && k->group != k->pid ? k->group : 0;
    }
    memcpy(q.tag, k->tag, sizeof(k->tag));
    k->asked = true;
    k->signals = verb == REAPER_SIGNAL_TREE;
    timer_begin(s->en->loop, &k->timer, ANSWER_MS, on_kill_timer);
    keeper_client_ask(s->en->keeper, s->uid, s->gid, &q, fn, k);
}

/*
 * The reaper lists processes more than once, so it could find those of a command that
 * begins meanwhile; starts in ticks are too coarse to tell them apart.
 */
bool session_kill_signals(const struct session *s)
{
    const struct list *it;
    for (it = s->kill.list.next; it != &s->kill.list; it = it->next) {
        if (list_entry(it, const struct killing, node)->signals)
            return true;
    }
    return false;
}

bool session_kill_ends(const struct session *s)
{
    const struct list *it;
    for (it = s->kill.list.next; it != &s->kill.list; it = it->next) {
        const struct killing *k = list_entry(it, struct killing, node);
        if (k->ran && k->seq == s->cmd.seq)
            return true;
    }
    return false;
}

static void kill_finish(struct killing *k)
{
    struct session *s = k->s;
    bool held = k->signals;
    const struct session_killed r = {.found = k->found,
                                     .no_proc = k->no_proc,
                                     .late = k->asked,
                                     .ended = s->state == SESSION_NONE};
    timer_stop(&k->timer);
    keeper_client_ask_cancel(s->en->keeper, k);
    list_del(&k->node);
    if (k->ran && kill_over(k))
        s->kill.told_seq = k->seq;
    if (k->fn)
        k->fn(k->arg, &r);
    bool forget = k->end && list_empty(&s->kill.list);
    free(k);
    if (forget)
        session_free(s);
    else if (held)
        session_next(s);
}

/* Had the shell just been given its command, with no process below it yet? */
static bool kill_too_early(const struct killing *k)
{
    return k->rounds == 1 && k->found == 0 && !k->no_proc;
}

static void kill_again_later(struct killing *k)
{
    int64_t left = k->next_at - clock_ms();
    k->wait_ms = k->wait_ms ? k->wait_ms * 2 : RECHECK_MS;
    timer_begin(k->s->en->loop, &k->timer, left < k->wait_ms ? left : k->wait_ms,
                on_kill_timer);
}

/* The reaper counted what is left; none means that the kill is done. */
static void on_count(void *arg, const struct reaper_answer *a, int errnum)
{
    struct killing *k = arg;
    k->asked = false;
    if ((errnum || a->tree.found <= 0) && kill_over(k))
        kill_finish(k);
    else
        kill_again_later(k);
}

static void on_tree(void *arg, const struct reaper_answer *a, int errnum)
{
    struct killing *k = arg;
    struct session *s = k->s;
    k->asked = k->signals = false;
    if (!errnum && k->rounds == 1)
        k->found = a->tree.found;
    k->no_proc = k->no_proc || a->tree.no_proc;
    if (k->wait_ms == 0) /* the round's first: what it reached has its time from now on */
        k->next_at = clock_ms() + (k->rounds == 1 ? k->grace_ms : AFTER_KILL_MS);
    if (kill_over(k))
        kill_ask(k, REAPER_COUNT_TREE, 0, false, on_count);
    else
        kill_again_later(k);
    session_next(s);
}

/* Not a shell that has reported the end of the command, if its mark is on the way. */
static void interrupt_group(struct killing *k, pid_t group)
{
    struct session *s = k->s;
    session_read_records(s);
    if (s->state == SESSION_HUMAN || !session_end_is_recorded(s))
        session_signal_group(s, group, SIGINT);
}

/* Interrupts what the shell goes on with: the next turn of a loop, the rest of a list. */
static void interrupt_next(struct killing *k)
{
    pid_t group = foreground(k);
    if (group && group != k->group)
        interrupt_group(k, group);
}

static void kill_round(struct killing *k, int sig, bool root)
{
    k->rounds++;
    k->wait_ms = 0;
    k->group = foreground(k);
    /*
     * The shell first: it then ends the loop or the list of the dying child, or a loop
     * that has no child.
     */
    if (!root && k->group && kill_runs(k))
        interrupt_group(k, k->pid);
    kill_ask(k, REAPER_SIGNAL_TREE, sig, root, on_tree);
}

/* The session changed: counts what is left for each kill that is over. */
void session_kill_step(struct session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->kill.list) {
        struct killing *k = list_entry(it, struct killing, node);
        if (kill_over(k) && !k->asked && k->rounds > 0)
            kill_ask(k, REAPER_COUNT_TREE, 0, false, on_count);
    }
}

static void kill_recheck(struct killing *k)
{
    if (kill_over(k)) {
        kill_ask(k, REAPER_COUNT_TREE, 0, false, on_count);
    } else if (kill_too_early(k)) {
        kill_ask(k, REAPER_SIGNAL_TREE, k->sig, k->end, on_tree);
    } else {
        if (!k->end)
            interrupt_next(k);
        kill_again_later(k);
    }
}

/*
 * A recheck, or the next round: KILL to the tree, then to the shell too. While the reaper
 * has not answered, nothing more is asked of it: it would be done after the answer to our
 * caller, perhaps to a shell that is idle then.
 */
static void on_kill_timer(struct timer *t)
{
    struct killing *k = container_of(t, struct killing, timer);
    if (k->asked) {
        kill_finish(k);
    } else if (clock_ms() < k->next_at) {
        kill_recheck(k);
    } else if (k->rounds == ROUNDS_MAX) {
        kill_finish(k);
    } else {
        kill_round(k, SIGKILL,
                   kill_root(k) && !kill_over(k) && (k->rounds >= 2 || k->end));
    }
}

int session_signal_tree(struct session *s, int sig, struct err *e)
{
    int waits = session_signal_waits(s, sig, e);
    if (waits)
        return waits < 0 ? -1 : 0;
    pid_t group = session_in_front(s);
    struct reaper_request q = {.verb = REAPER_SIGNAL_TREE,
                               .pid = s->proc.r.pid,
                               .sig = sig,
                               .from = procfs_ticks(clock_ms() - s->cmd.since_ms + 1),
                               .to = procfs_ticks(0) + 1, /* not the next command */
                               .group = group != s->proc.r.pid ? group : 0};
    memcpy(q.tag, s->sh.tag, sizeof(s->sh.tag));
    if (sig == SIGINT)
        session_interrupts(s, q.group ? q.group : s->proc.r.pid);
    session_signal_group(s, s->proc.r.pid, SIGINT);
    keeper_client_ask(s->en->keeper, s->uid, s->gid, &q, NULL, NULL);
    return 0;
}

static void kill_begin(struct killing *k)
{
    k->pid = k->s->proc.r.pid;
    if (k->end) /* what a closing terminal does */
        session_signal_group(k->s, k->pid, SIGHUP);
    kill_round(k, k->sig, k->end);
}

static void on_kill_begin(struct timer *t)
{
    struct killing *k = container_of(t, struct killing, timer);
    bool over = k->ran && (!session_busy(k->s) || k->s->cmd.seq != k->seq);
    if (k->s->state == SESSION_NONE || over)
        kill_finish(k);
    else
        kill_begin(k);
}

/*
 * How long it waits for the command to begin; 0: no longer. A shell that is interrupted
 * while it reads the typed line may drop that, and some do not tell.
 */
static int64_t kill_waits_ms(const struct killing *k)
{
    int64_t left = k->next_at - clock_ms();
    return k->s->state == SESSION_TYPED && !k->end && left > 0 ? left : 0;
}

void session_kill_started(struct session *s)
{
    struct list *it, *tmp;
    if (s->state != SESSION_NONE && !(s->proc.r.flags & KEEP_P_STARTED))
        return;
    list_each (it, tmp, &s->kill.list) {
        struct killing *k = list_entry(it, struct killing, node);
        if (k->rounds == 0)
            timer_begin(s->en->loop, &k->timer, kill_waits_ms(k), on_kill_begin);
    }
}

void session_kill(struct session *s, int sig, int64_t grace_ms, bool end,
                  session_killed_fn *fn, void *arg)
{
    session_no_rerun(s);
    struct killing *k = xnew(struct killing);
    *k = (struct killing){.sig = sig,
                          .grace_ms = grace_ms > 0 ? grace_ms : 1,
                          .seq = s->cmd.seq,
                          .since_ms = s->cmd.since_ms,
                          .ran = session_busy(s),
                          .next_at = clock_ms() + BEGIN_MS,
                          .end = end,
                          .fn = fn,
                          .arg = arg,
                          .s = s};
    memcpy(k->tag, s->sh.tag, sizeof(k->tag));
    list_add_tail(&s->kill.list, &k->node);
    engine_touch(s->en);
    if (s->state == SESSION_NONE) {
        kill_finish(k);
        return;
    }
    if (session_busy(s)) /* a millisecond more: both times were rounded down */
        k->from = procfs_ticks(clock_ms() - s->cmd.since_ms + 1);
    else
        k->to = procfs_ticks(0) + 1;
    /* The reaper's answer, which has the pid, may come after output of the command. */
    if (!(s->proc.r.flags & KEEP_P_STARTED))
        return;
    if (kill_waits_ms(k))
        session_kill_started(s);
    else
        kill_begin(k);
}
