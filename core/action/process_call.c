/* SPDX-License-Identifier: MIT */
/* One process and its follower (process.h). */
#include "action/process.h"

static void on_process(struct action_watch *w, const struct action *a, struct process *p)
{
    struct process_call *c = container_of(w, struct process_call, ask.watch);
    if (a->id != c->ask.id)
        return;
    process_call_drop(c);
    c->started(c, p);
}

static void on_done(struct action_ask *q, const struct json *observation,
                    const struct err *e)
{
    struct process_call *c = container_of(q, struct process_call, ask);
    struct err why = *e;
    if (observation)
        err_set(&why, ERR_INTERNAL, "the process was not started");
    c->failed(c, &why);
}

int process_call(struct process_call *c, struct actions *all, const char *source,
                 struct json *take_args, const char *key, struct err *e)
{
    struct action_order o = {.source = source, .key = key};
    struct action *a = action_open(all, action_message("process", take_args), &o, e);
    if (!a)
        return -1;
    memcpy(c->key, a->key, sizeof(c->key));
    c->ask.done = on_done;
    c->ask.watch.process = on_process;
    action_ask_follow(&c->ask, all, a->id);
    action_go(a);
    return 0;
}

void process_call_drop(struct process_call *c) { action_ask_drop(&c->ask); }
