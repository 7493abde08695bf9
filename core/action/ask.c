/* SPDX-License-Identifier: MIT */
/* One action, and who waits for its observation (ask.h). */
#include "action/ask.h"

#include "action/log.h"

static void over(struct action_ask *q, uint64_t end, const struct err *lost)
{
    struct err e = ERR_INIT;
    struct json *j = actions_observation(q->all, end, lost, &e);
    action_ask_drop(q);
    q->done(q, j, &e);
    json_free(j);
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    struct action_ask *q = container_of(w, struct action_ask, watch);
    if (cause == q->id)
        over(q, end, e);
}

void action_ask_follow(struct action_ask *q, struct actions *all, uint64_t id)
{
    ASSERT(!q->id); /* one at a time */
    q->all = all;
    q->id = id;
    q->watch.ended = on_ended;
    actions_watch(all, &q->watch);
}

void action_ask_drop(struct action_ask *q)
{
    actions_unwatch(&q->watch);
    q->id = 0;
}

int action_ask(struct action_ask *q, struct actions *all, struct json *message,
               const struct action_order *o, struct err *e)
{
    struct action *a = action_open(all, message, o, e);
    if (!a)
        return -1;
    action_ask_follow(q, all, a->id);
    action_go(a);
    return 0;
}

int action_ask_do(struct action_ask *q, struct actions *all, struct json *message,
                  const char *source, struct err *e)
{
    struct action_taken t;
    if (actions_do(all, message, source, &t, e) < 0 || actions_check_end(&t, e) < 0)
        return -1;
    action_ask_follow(q, all, t.id);
    if (t.end)
        over(q, t.end, NULL);
    return 0;
}

struct json *action_message(const char *name, struct json *take_args)
{
    struct json *m = json_object();
    json_put_z(m, "action", name);
    json_put(m, "args", take_args);
    return m;
}
