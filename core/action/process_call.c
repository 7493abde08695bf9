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

/* Sets *e to the error of the observation `end`. */
static void read_error(struct actions *all, uint64_t end, struct err *e)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct json *j = actions_line(all, end, &line) == 0 ? json_parse(buf_str(&line), e)
                                                        : NULL;
    struct str why = json_str(j, "content", "the process was not started");
    err_set(e, err_from_name(json_str(json_get(j, "extras"), "code", "INTERNAL").p),
            "%.*s", why.n > 500 ? 500 : (int)why.n, why.p);
    json_free(j);
    buf_release(&line);
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    struct process_call *c = call_of(w);
    struct err why = ERR_INIT;
    if (cause != c->id)
        return;
    if (end || !e)
        read_error(c->all, end, &why);
    else
        why = *e;
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
