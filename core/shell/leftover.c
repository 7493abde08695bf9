/* SPDX-License-Identifier: MIT */
/*
 * Processes that an earlier server left behind when it was killed together with the
 * parents of its shells. The first worker of a server starts one helper process, which
 * finds session processes with this server's OD_SOCKET that do not run below its keeper,
 * except ancestors of the server, and logs each of them.
 */
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "engine/part.h"
#include "io/job.h"
#include "os/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PROCS_MAX = 65536,
    REPORTED_MAX = 20,
    DEPTH_MAX = 256,
    LOOK_AFTER_MS = 1000 /* the first commands do not share the processor with it */
};

struct look_for {
    const char *socket;
    pid_t keeper;
};

static pid_t parent_of(const struct procfs_list *l, pid_t pid)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].pid == pid)
            return l->v[i].ppid;
    }
    return 0;
}

static bool is_below(const struct procfs_list *l, pid_t pid, pid_t root)
{
    for (int depth = 0; pid > 0 && depth < DEPTH_MAX; depth++) {
        if (pid == root)
            return true;
        pid = parent_of(l, pid);
    }
    return false;
}

static int in_helper(void *arg, const struct job_child *c, struct err *e)
{
    const struct look_for *w = arg;
    struct procfs_list l = {0};
    int found = 0;
    (void)e;
    procfs_all(&l, PROCS_MAX);
    for (size_t i = 0; i < l.n; i++) {
        const struct procfs_stat *p = &l.v[i];
        if (procfs_dead(p) ||
            procfs_environ_has(p->pid, STR("OD_SOCKET"), str_of(w->socket)) != 1 ||
            procfs_environ_has(p->pid, STR("OD_SESSION"), str_n(NULL, 0)) != 1 ||
            is_below(&l, p->pid, w->keeper) || is_below(&l, w->keeper, p->pid))
            continue;
        char text[64];
        if (found++ >= REPORTED_MAX)
            continue;
        snprintf(text, sizeof(text), "%s (pid %d)", p->comm, (int)p->pid);
        job_note(c, str_of(text));
    }
    if (found > REPORTED_MAX) {
        char more[64];
        snprintf(more, sizeof(more), "%d more", found - REPORTED_MAX);
        job_note(c, str_of(more));
    }
    procfs_release(&l);
    return 0;
}

static void on_note(struct job *j, struct str note)
{
    (void)j;
    log_warn("left behind by an earlier server, and still running: %.*s", STR_ARG(note));
}

static void on_done(struct job *j, const struct err *e)
{
    (void)j;
    if (e->code)
        log_debug("cannot look for processes left behind: %s", e->text);
}

static const struct job_events events = {.on_note = on_note, .on_done = on_done};

/* Owned by the loop until it fires. */
struct later {
    struct timer timer;
    struct engine *en; /* borrowed */
};

static void look(struct timer *t)
{
    struct later *later = container_of(t, struct later, timer);
    struct engine *en = later->en;
    struct look_for w = {en->socket, getppid()};
    struct job_spec spec = {.what = "looking for processes left behind",
                            .fn = in_helper,
                            .arg = &w,
                            .unfenced = true, /* it looks at programs of others */
                            .ev = &events};
    struct err e = ERR_INIT;
    if (!job_start(en->loop, &spec, &e))
        log_debug("%s", e.text);
    loop_bury(en->loop, later, free);
}

static void look_later(struct engine *en)
{
    if (!en->first || !en->socket[0])
        return;
    struct later *later = xnew(struct later);
    later->en = en;
    timer_begin(en->loop, &later->timer, LOOK_AFTER_MS, look);
}

const struct part part_leftover = {.serve = look_later};
