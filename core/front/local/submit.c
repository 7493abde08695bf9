/* SPDX-License-Identifier: MIT */
/*
 * Actions whose result is all that the command line shows: {"do": "submit", "verb": KIND,
 * "args": {…}} submits that action, and its extras are the answer. A client that goes
 * leaves the action alone.
 */
#include "front/local/own.h"

static void on_done(struct action_ask *q, const struct json *observation,
                    const struct err *e)
{
    struct conn *c = container_of(q, struct conn, submit);
    const struct json *extras = json_get(observation, "extras");
    if (!observation) {
        local_send_error(c, e);
        return;
    }
    struct json *r = local_ok();
    if (extras)
        json_put(r, "result", json_copy(extras));
    local_send_result(c, r);
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
    struct json *m = action_message(verb.p, args ? json_copy(args) : json_object());
    if (id.n)
        json_put_str(m, "client_id", id);
    c->submit.done = on_done;
    return action_ask_do(&c->submit, c->en->actions, m,
                         str_eq(verb, STR("fence_allow")) ? "od fence" : "od checkpoint",
                         e);
}
