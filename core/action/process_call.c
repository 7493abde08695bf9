/* SPDX-License-Identifier: MIT */
/* One process and its follower (process.h). */
#include "action/process.h"

#include "action/log.h"

static struct process_call *call_of(struct action_watch *w)
{
    return container_of(w, struct process_call, watch);
}

static void on_process(struct action_watch *w, const struct action *a, struct process *p)
{
    struct process_call *c = call_of(w);
    if (a->id != c->id)
        return;
    process_call_drop(c);
    c->started(c, p);
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    struct process_call *c = call_of(w);
    struct err why = ERR_INIT;
    if (cause != c->id)
        return;
    struct json *j = actions_observation(c->all, end, e, &why);
    if (j)
        err_set(&why, ERR_INTERNAL, "the process was not started");
    json_free(j);
    process_call_drop(c);
    c->failed(c, &why);
}

int process_call(struct process_call *c, struct actions *all, const char *source,
                 struct json *take_args, const char *key, struct err *e)
{
    struct action_order o = {.source = source, .key = key};
    struct json *m = json_object();
    json_put_z(m, "action", "process");
    json_put(m, "args", take_args);
    struct action *a = action_open(all, m, &o, e);
    if (!a)
        return -1;
    c->all = all;
    c->id = a->id;
    memcpy(c->key, a->key, sizeof(c->key));
    c->watch.process = on_process;
    c->watch.ended = on_ended;
    actions_watch(all, &c->watch);
    action_go(a);
    return 0;
}

void process_call_drop(struct process_call *c) { actions_unwatch(&c->watch); }
