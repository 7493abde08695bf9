/* SPDX-License-Identifier: MIT */
/*
 * Ending what runs in a session, in rounds that grow harsher.
 */
#include "engine/session_own.h"

#include "base/clock.h"
#include "base/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum { RECHECK_MS = 20, ROUNDS_MAX = 5, AFTER_KILL_MS = 500 };

static void on_kill_timer(struct timer *t);

/* The shell as a root of its tree; 0 when it is gone, then only the tag tells. */
static pid_t kill_root(const struct killing *k)
{
    const struct session *s = k->s;
    bool there = s->state != SESSION_NONE && s->proc.r.pid == k->pid &&
                 !(s->proc.r.flags & KEEP_P_EXITED);
    return there ? k->pid : 0;
}

static void kill_ask(struct killing *k, enum minder_verb verb, int sig, bool root,
                     hold_answer_fn *fn)
{
    struct session *s = k->s;
    struct minder_request q = {
        .verb = verb, .pid = kill_root(k), .sig = sig, .root = root};
    memcpy(q.tag, k->tag, sizeof(k->tag));
    k->asked = true;
    hold_ask(s->en->hold, s->uid, s->gid, &q, fn, k);
}

static void kill_finish(struct killing *k)
{
    struct session *s = k->s;
    timer_stop(&k->timer);
    hold_ask_cancel(s->en->hold, k);
    list_del(&k->node);
    if (k->fn)
        k->fn(k->arg, k->found, k->no_proc, s->state == SESSION_NONE);
    bool forget = k->end && list_empty(&s->kills);
    free(k);
    if (forget)
        session_free(s);
}

static bool kill_over(const struct killing *k)
{
    return k->end ? kill_root(k) == 0 : !session_busy(k->s);
}

static void kill_again_later(struct killing *k)
{
    k->wait_ms = k->wait_ms ? k->wait_ms * 2 : RECHECK_MS;
    int64_t left = k->next_at - clock_ms();
    timer_begin(k->s->en->loop, &k->timer, left < k->wait_ms ? left : k->wait_ms,
                on_kill_timer);
}

/* Nothing ran yet below the shell, which had only just been given its command. */
static bool kill_too_early(const struct killing *k)
{
    return k->rounds == 1 && k->found == 0 && !k->no_proc;
}

/* What is left below the shell, or carries its tag: nothing, and it is done. */
static void on_count(void *arg, const struct minder_answer *a, int errnum)
{
    struct killing *k = arg;
    k->asked = false;
    if ((errnum || a->tree.found <= 0) && kill_over(k)) {
        kill_finish(k);
        return;
    }
    kill_again_later(k);
}

static void on_tree(void *arg, const struct minder_answer *a, int errnum)
{
    struct killing *k = arg;
    k->asked = false;
    if (!errnum && k->rounds == 1)
        k->found = a->tree.found;
    k->no_proc = k->no_proc || a->tree.no_proc;
    if (kill_over(k))
        kill_ask(k, MINDER_COUNT_TREE, 0, false, on_count);
    else if (kill_too_early(k))
        kill_again_later(k);
}

static void kill_round(struct killing *k, int sig, bool root)
{
    struct session *s = k->s;
    k->rounds++;
    k->wait_ms = 0;
    k->next_at = clock_ms() + (k->rounds == 1 ? k->grace_ms : AFTER_KILL_MS);
    timer_begin(s->en->loop, &k->timer, k->next_at - clock_ms(), on_kill_timer);
    kill_ask(k, MINDER_SIGNAL_TREE, sig, root, on_tree);
    /* A loop of the shell itself has no child to die: interrupt it. */
    pid_t group = 0;
    if (!root && session_busy(s) && kill_root(k) && s->proc.in >= 0 &&
        ioctl(s->proc.in, TIOCGPGRP, &group) == 0 && group == k->pid)
        session_signal_group(s, group, SIGINT);
}

/* The session changed: have the kills under way reached what they wanted? */
void session_kill_step(struct session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->kills) {
        struct killing *k = list_entry(it, struct killing, node);
        if (kill_over(k) && !k->asked && k->rounds > 0)
            kill_ask(k, MINDER_COUNT_TREE, 0, false, on_count);
    }
}

/* A recheck, or the next round: KILL to the tree, then to the shell too. */
static void on_kill_timer(struct timer *t)
{
    struct killing *k = container_of(t, struct killing, timer);
    if (clock_ms() < k->next_at) {
        if (!k->asked && kill_over(k))
            kill_ask(k, MINDER_COUNT_TREE, 0, false, on_count);
        else if (!k->asked && kill_too_early(k))
            kill_ask(k, MINDER_SIGNAL_TREE, k->sig, k->end, on_tree);
    } else if (k->rounds == ROUNDS_MAX) {
        kill_finish(k);
    } else {
        hold_ask_cancel(k->s->en->hold, k);
        kill_round(k, SIGKILL, kill_root(k) && (k->rounds >= 2 || k->end));
    }
}

void session_kill(struct session *s, int sig, int64_t grace_ms, bool end,
                  session_killed_fn *fn, void *arg)
{
    struct killing *k = xnew(struct killing);
    *k = (struct killing){.sig = sig,
                          .grace_ms = grace_ms > 0 ? grace_ms : 1,
                          .pid = s->proc.r.pid,
                          .end = end,
                          .fn = fn,
                          .arg = arg,
                          .s = s};
    memcpy(k->tag, s->sh.tag, sizeof(k->tag));
    list_add_tail(&s->kills, &k->node);
    engine_touch(s->en);
    if (s->state == SESSION_NONE || !(s->proc.r.flags & KEEP_P_STARTED)) {
        kill_finish(k);
        return;
    }
    if (end) /* what a closing terminal does */
        session_signal_group(s, s->proc.r.pid, SIGHUP);
    kill_round(k, sig, end);
}

void session_kill_cancel(struct session *s, void *arg)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->kills) {
        struct killing *k = list_entry(it, struct killing, node);
        if (k->arg == arg)
            k->fn = NULL;
    }
}
