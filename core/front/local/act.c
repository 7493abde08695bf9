/* SPDX-License-Identifier: MIT */
/*
 * The action of a request in the event log (action/outside.h). A connection holds the key
 * of the action, not the action itself, which may end before the request does.
 */
#include "front/local/own.h"

#include "action/log.h"
#include "action/run.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "front/local/act.h"

#include <string.h>

enum outside_state local_open(struct conn *c, const char *kind, const struct json *q,
                              const char *session, struct json *take)
{
    struct outside_order o = {.kind = kind,
                              .session = str_of(session),
                              .id = json_str(q, "id", ""),
                              .uid = c->uid,
                              .pid = c->pid,
                              .args = take};
    struct action *a;
    enum outside_state state = outside_open(c->en->actions, &o, &a, &c->observed);
    c->act[0] = 0;
    if (a)
        memcpy(c->act, a->key, sizeof(c->act));
    return state;
}

struct action *local_action(struct conn *c)
{
    return c->act[0] ? outside_find(c->en->actions, c->act) : NULL;
}

/* Returns the action, which the caller ends, and clears the connection's key. */
static struct action *take_action(struct conn *c)
{
    struct action *a = local_action(c);
    c->act[0] = 0;
    return a;
}

void local_end(struct conn *c, struct str text, struct json *take)
{
    struct action *a = take_action(c);
    if (a)
        outside_end(a, text, take);
    else
        json_free(take);
}

void local_end_failed(struct conn *c, const struct err *e)
{
    struct action *a = take_action(c);
    if (a)
        outside_fail(a, e);
}

void local_on_cancel(struct conn *c, outside_stop *stop)
{
    struct action *a = local_action(c);
    if (a)
        outside_on_cancel(a, stop, c);
}

void local_cancelled(struct conn *c, const char *text)
{
    struct err e = ERR_INIT;
    err_set(&e, ERR_CANCELLED, "%s", text);
    local_end_failed(c, &e);
    local_send_error(c, &e);
}

void local_end_left(struct conn *c)
{
    struct err e = ERR_INIT;
    err_set(&e, ERR_CANCELLED, "The caller disconnected before the end");
    local_end_failed(c, &e);
}

int local_done(struct conn *c, int r, struct json *take, const struct err *e)
{
    struct json *answer = r < 0 ? NULL : local_ok();
    if (r < 0) {
        local_end_failed(c, e);
        json_free(take);
        return -1;
    }
    for (struct json *v = json_first(take); v; v = json_next(v))
        json_put(answer, json_name(v), json_copy(v));
    local_end(c, STR(""), take);
    local_send_result(c, answer);
    return 0;
}

int local_again(struct conn *c, struct err *e)
{
    static const struct err gone = {.code = ERR_GONE,
                                    .text = "this was done, and is not done again; its "
                                            "result is no longer in the event log"};
    struct json *j = actions_observation(c->en->actions, c->observed, &gone, e);
    if (!j)
        return -1;
    struct json *answer = local_ok();
    for (struct json *v = json_first(json_get(j, "extras")); v; v = json_next(v))
        json_put(answer, json_name(v), json_copy(v));
    local_send_result(c, answer);
    json_free(j);
    return 0;
}

/* ---- the log's entry of a request ---- */

void local_put(struct json *args, const struct json *q, const char *const names[])
{
    for (size_t i = 0; names[i]; i++) {
        const struct json *v = json_get(q, names[i]);
        bool no = !v || json_is_null(v) ||
                  (json_is_bool(v) && !json_bool(q, names[i], false));
        if (!no)
            json_put(args, names[i], json_copy(v));
    }
}

void local_cut(struct buf *out, struct str text)
{
    if (text.n <= RUN_HEAD + RUN_TAIL) {
        buf_adds(out, text);
        return;
    }
    size_t head = utf8_cut(text, RUN_HEAD), tail = text.n - RUN_TAIL;
    while (tail < text.n && (text.p[tail] & 0xc0) == 0x80)
        tail++;
    buf_adds(out, str_sub(text, 0, head));
    buf_addf(out, "\n[... %zu bytes left out ...]\n", tail - head);
    buf_adds(out, str_sub(text, tail, text.n));
}

void local_put_env(struct json *args, const struct json *q)
{
    const struct json *env = json_get(q, "env");
    struct json *names = json_array();
    for (struct json *v = json_first(env); v; v = json_next(v))
        json_push_str(names, str_of(json_name(v)));
    if (json_count(names) > 0)
        json_put(args, "env", names);
    else
        json_free(names);
}
