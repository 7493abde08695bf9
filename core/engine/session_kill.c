/* SPDX-License-Identifier: MIT */
/*
 * Ending what runs in a session, in rounds that grow harsher.
 */
#include "engine/session_own.h"

#include "base/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static void on_kill_timer(struct timer *t);

static void on_tree(void *arg, const struct minder_answer *a, int errnum)
{
    struct session *s = arg;
    struct list *it, *tmp;
    (void)errnum;
    list_each (it, tmp, &s->kills) {
        struct killing *k = list_entry(it, struct killing, node);
        k->found += k->rounds <= 1 ? a->tree.found : 0;
        k->no_proc = k->no_proc || a->tree.no_proc;
        k->asked = false;
    }
    session_kill_step(s);
}

static void kill_round(struct killing *k, int sig, bool root)
{
    struct session *s = k->s;
    struct minder_request q = {
        .verb = MINDER_SIGNAL_TREE, .pid = s->proc.r.pid, .sig = sig, .root = root};
    memcpy(q.tag, s->sh.tag, sizeof(s->sh.tag));
    k->rounds++;
    k->asked = true;
    hold_ask(s->en->hold, s->uid, s->gid, &q, on_tree, s);
    /* A loop of the shell itself has no child to die: interrupt it. */
    if (!root && session_busy(s) && (s->proc.r.flags & KEEP_P_STARTED)) {
        pid_t group = 0;
        if (s->proc.in >= 0 && ioctl(s->proc.in, TIOCGPGRP, &group) == 0 &&
            group == s->proc.r.pid)
            session_signal_group(s, group, SIGINT);
    }
}

static void kill_finish(struct killing *k)
{
    struct session *s = k->s;
    bool ended = s->state == SESSION_NONE;
    timer_stop(&k->timer);
    list_del(&k->node);
    if (k->fn)
        k->fn(k->arg, k->found, k->no_proc, ended);
    bool forget = k->end;
    free(k);
    if (forget && list_empty(&s->kills))
        session_free(s);
}

/* Looks whether the kills under way have reached what they wanted. */
void session_kill_step(struct session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->kills) {
        struct killing *k = list_entry(it, struct killing, node);
        bool over = k->end ? s->state == SESSION_NONE : !session_busy(s);
        if (over && !k->asked && k->rounds > 0) {
            bool last = k->end;
            kill_finish(k);
            if (last)
                return; /* the session is gone */
        }
    }
}

/* Rounds: the signal; KILL to the tree; KILL to the shell too. */
static void on_kill_timer(struct timer *t)
{
    struct killing *k = container_of(t, struct killing, timer);
    int sig = SIGKILL;
    bool root = k->rounds >= 2 || (k->end && k->rounds >= 1);
    if (k->rounds >= 5) {
        kill_finish(k);
        return;
    }
    timer_begin(k->s->en->loop, &k->timer, k->rounds >= 2 ? 500 : k->grace_ms,
                on_kill_timer);
    kill_round(k, sig, root);
}

void session_kill(struct session *s, int sig, int64_t grace_ms, bool end,
                  session_killed_fn *fn, void *arg)
{
    struct killing *k = xnew(struct killing);
    *k = (struct killing){
        .sig = sig, .grace_ms = grace_ms, .end = end, .fn = fn, .arg = arg, .s = s};
    list_add_tail(&s->kills, &k->node);
    engine_touch(s->en);
    if (s->state == SESSION_NONE || !(s->proc.r.flags & KEEP_P_STARTED)) {
        kill_finish(k);
        return;
    }
    timer_begin(s->en->loop, &k->timer, grace_ms, on_kill_timer);
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
