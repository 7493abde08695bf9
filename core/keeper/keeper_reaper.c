/* SPDX-License-Identifier: MIT */
/* The reapers: one per uid, the parent of its programs. */
#include "keeper/keeper_own.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "keeper/reaper.h"
#include "os/self.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Gives it the rules that came after the start, if there are any. */
static void give_rules(struct keeper *k, struct reaper *mi)
{
    const struct keeper_state *s = map_get(&k->states, STR(KEEP_RULES_KEY));
    struct keep_msg m = {.h = {.type = KEEP_M_RULES}};
    if (!s)
        return;
    m.body = str_n(s->value, s->n);
    if (keep_send(mi->w.fd, &m) < 0)
        log_warn("the reaper of uid %u does not get the rules of the network: %m",
                 (unsigned)mi->uid);
}

struct reaper *reaper_for(struct keeper *k, uid_t uid, gid_t gid)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->reapers) {
        struct reaper *mi = list_entry(it, struct reaper, node);
        if (mi->uid == uid && mi->gid == gid)
            return mi;
    }
    int pair[2];
    if (keep_pair(pair) < 0)
        return NULL;
    char words[6][24];
    snprintf(words[0], sizeof(words[0]), "%ld", (long)uid);
    snprintf(words[1], sizeof(words[1]), "%ld", (long)gid);
    snprintf(words[2], sizeof(words[2]), "%ld", k->nofile);
    snprintf(words[3], sizeof(words[3]), "%d", k->oom);
    snprintf(words[4], sizeof(words[4]), "-1");
    snprintf(words[5], sizeof(words[5]), "-1");
    char *argv[] = {(char *)(uintptr_t)k->conf->reaper,
                    words[0],
                    words[1],
                    words[2],
                    words[3],
                    words[4],
                    words[5],
                    NULL};
    pid_t pid = fork();
    if (pid == 0) {
        spawn_reset_signals();
        /* A command below it gets our terminal, which is that of our session. */
        if (!k->conf->command || k->conf->fence < 0)
            setsid();
        /* Without its fence, a reaper must not run. */
        int fence = k->conf->fence < 0 ? -1 : fcntl(k->conf->fence, F_DUPFD, 4);
        int reach = k->conf->reach < 0 ? -1 : fcntl(k->conf->reach, F_DUPFD, 4);
        if ((fence < 0 && k->conf->fence >= 0) || (reach < 0 && k->conf->reach >= 0) ||
            dup2(pair[1], 3) < 0)
            _exit(127);
        snprintf(words[4], sizeof(words[4]), "%d", fence);
        snprintf(words[5], sizeof(words[5]), "%d", reach);
        self_exec(k->conf->self, argv, k->conf->reaper_env);
        _exit(127);
    }
    int saved = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        errno = saved;
        return NULL;
    }
    struct reaper *mi = xnew(struct reaper);
    mi->uid = uid;
    mi->gid = gid;
    mi->pid = pid;
    mi->w = (struct watch){.kind = WATCH_REAPER, .fd = pair[0]};
    list_add_tail(&k->reapers, &mi->node);
    watch_set(k, &mi->w, EPOLLIN);
    give_rules(k, mi);
    return mi;
}

void reapers_rules(struct keeper *k)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->reapers)
        give_rules(k, list_entry(it, struct reaper, node));
}

/* A reaper is gone. Its shells are ours now; starts it had not reported failed. */
static void reaper_lost(struct keeper *k, struct reaper *mi)
{
    if (!k->stopping)
        log_warn("the reaper of uid %u ended; its shells go on", (unsigned)mi->uid);
    struct list *it, *tmp;
    list_each (it, tmp, &k->procs) {
        struct keeper_proc *p = list_entry(it, struct keeper_proc, node);
        if (p->uid == mi->uid && !(p->p.flags & (KEEP_P_STARTED | KEEP_P_FAILED)))
            proc_failed(k, p, ESRCH, SPAWN_FORK);
    }
    if (k->command_by == mi)
        command_spawned(k, 0, SPAWN_FORK, ESRCH);
    worker_unanswered(k, mi->uid, mi->gid);
    list_del(&mi->node);
    watch_close(k, &mi->w);
    free(mi);
}

void reaper_message(struct keeper *k, struct reaper *mi)
{
    struct keep_msg m;
    int r = keep_recv(mi->w.fd, &m, k->space);
    if (r == 0) {
        reaper_lost(k, mi);
        return;
    }
    if (r < 0)
        return;
    struct keeper_proc *p = proc_by_id(k, m.h.id);
    if (m.h.type == KEEP_M_BELOW)
        mi->below = (pid_t)m.h.a;
    else if (m.h.type == KEEP_M_REFUSED)
        worker_refused(k, m.body);
    else if (m.h.type == KEEP_M_ANSWER)
        worker_answer(k, m.h.id, m.body, 0);
    else if (m.h.id == COMMAND_ID && m.h.type == KEEP_M_SPAWNED)
        command_spawned(k, (pid_t)m.h.a, (int)m.h.flags, (int)m.h.b);
    else if (m.h.id == COMMAND_ID && m.h.type == KEEP_M_EXIT)
        command_reaped(k, (pid_t)m.h.a, (int)m.h.b);
    else if (p && m.h.type == KEEP_M_SPAWNED && m.h.a == 0)
        proc_failed(k, p, (int)m.h.b, (int)m.h.flags);
    else if (p && m.h.type == KEEP_M_SPAWNED) {
        p->p.flags |= KEEP_P_STARTED;
        p->p.pid = (int32_t)m.h.a;
        proc_mark(k, p);
    } else if (p && m.h.type == KEEP_M_EXIT)
        proc_exited(k, p, (int)m.h.b);
    keep_release(&m);
}
