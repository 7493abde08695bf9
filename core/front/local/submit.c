/* SPDX-License-Identifier: MIT */
/*
 * Actions whose result is all that the command line shows: {"do": "submit", "verb": KIND,
 * "args": {…}} submits that action, and its extras are the answer. A client that goes
 * leaves the action alone.
 */
#include "front/local/own.h"

#include "action/log.h"
#include "base/limits.h"
#include "base/xalloc.h"

#include <stdlib.h>

struct submit_ask {
    struct conn *c;
    struct action_watch watch;
    uint64_t id;
};

void local_submit_drop(struct conn *c)
{
    actions_unwatch(&c->submit->watch);
    free(c->submit);
    c->submit = NULL;
}

static void answer(struct conn *c, uint64_t end, const struct err *lost)
{
    struct err e = ERR_INIT;
    struct json *j = actions_observation(c->en->actions, end, lost, &e);
    local_submit_drop(c);
    if (!j) {
        local_send_error(c, &e);
        return;
    }
    struct json *r = local_ok();
    json_put(r, "result", json_take(j, "extras"));
    local_send_result(c, r);
    json_free(j);
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    struct submit_ask *a = container_of(w, struct submit_ask, watch);
    if (cause == a->id)
        answer(a->c, end, e);
}

static bool is_verb(struct str verb)
{
    static const char *const verbs[] = {"checkpoint", "checkpoints",     "changes",
                                        "rollback",   "checkpoint_drop", "fence_allow"};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (str_eq(verb, str_of(verbs[i])))
            return true;
    return false;
}

int local_submit(struct conn *c, const struct json *q, struct err *e)
{
    struct str verb = json_str(q, "verb", ""), id = json_str(q, "id", "");
    const struct json *args = json_get(q, "args");
    if (!is_verb(verb))
        return err_set(e, ERR_INVALID, "submit needs the verb of an action");
    struct json *m = json_object();
    json_put_str(m, "action", verb);
    json_put(m, "args", args ? json_copy(args) : json_object());
    if (id.n)
        json_put_str(m, "client_id", id);
    struct submit_ask *a = xnew(struct submit_ask);
    struct action_taken taken;
    a->c = c;
    a->watch.ended = on_ended;
    c->submit = a;
    if (actions_do(c->en->actions, m,
                   str_eq(verb, STR("fence_allow")) ? "od fence" : "od checkpoint",
                   &taken, e) < 0) {
        local_submit_drop(c);
        return -1;
    }
    a->id = taken.id;
    if (taken.end)
        answer(c, taken.end == taken.id ? 0 : taken.end, NULL);
    else
        actions_watch(c->en->actions, &a->watch);
    return 0;
}
