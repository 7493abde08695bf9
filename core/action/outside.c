/* SPDX-License-Identifier: MIT */
/* Actions that their front-end does itself: how they are logged, and how they end. */
#include "action/follow.h"
#include "action/outside_own.h"

#include "base/enc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "browser/browsing.h"
#include "kernel/kernel.h"
#include "shell/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT "exec:" /* before the id of the request, in client_id */

static void outside_free(struct outside *x)
{
    task_cancel(&x->end);
    timer_stop(&x->back);
    if (x->op)
        op_drop(x->op);
    if (x->cell)
        cell_drop(x->cell);
    if (x->browse)
        browsing_drop(x->browse);
    buf_release(&x->text);
    json_free(x->extras);
    free(x);
}

static void discard(struct action *a) { outside_free(a->own); }

void outside_on_cancel(struct action *a, outside_stop *stop, void *owner)
{
    struct outside *x = a->own;
    if (!stop && x->owner != owner)
        return;
    x->stop = stop;
    x->owner = stop ? owner : NULL;
}

/* Without a stop function, the front-end's work goes on. */
static bool cancel(struct action *a)
{
    struct outside *x = a->own;
    if (x->ending || (strcmp(a->kind->name, "run") == 0 && run_cancel(a)))
        return true;
    if (x->stop) {
        x->stop(x->owner);
        return true;
    }
    outside_free(x);
    a->own = NULL;
    return false;
}

/* The front-end has read their arguments. */
static const struct param_list takes = {.about = "Is done by the front-end that asked"};

static const struct action_kind kinds[] = {
#define OUTSIDE(word) \
    {.name = #word, .takes = &takes, .discard = discard, .cancel = cancel},
#include "action/actions.def"
};

const struct action_kind *outside_kind(struct str name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_eq(name, str_of(kinds[i].name)))
            return &kinds[i];
    }
    return NULL;
}

struct action *outside_find(const struct actions *all, const char *key)
{
    for (struct action *a = NULL; (a = actions_next(all, a));) {
        if (strcmp(a->key, key) == 0)
            return a;
    }
    return NULL;
}

/* ---- ends ---- */

/* Ends an action in this turn of the loop: no caller has to be answered first. */
static void outside_end_now(struct outside *x)
{
    struct action *a = x->a;
    struct action_result r = {0};
    if (x->e.code)
        r.error = &x->e;
    else if (x->ended)
        run_result(x, &r);
    r.has_exit = !x->e.code && (x->ended || x->ran);
    r.exit_code = x->seen.exit;
    r.text = buf_str(&x->text);
    r.extras = x->extras;
    a->own = NULL;
    action_end_as(a, &r);
    outside_free(x);
}

static void on_end(struct task *t)
{
    outside_end_now(container_of(t, struct outside, end));
}

/* Returns NULL if it ends already: two connections may have named it. */
static struct outside *ending(struct action *a)
{
    struct outside *x = a->own;
    if (x->ending)
        return NULL;
    x->ending = true;
    timer_stop(&x->back);
    task_defer(a->all->en->loop, &x->end);
    return x;
}

void outside_end(struct action *a, struct str text, struct json *take)
{
    struct outside *x = ending(a);
    ASSERT(take != a->message && take != a->args);
    ASSERT(!take || json_is_object(take));
    if (!x) {
        json_free(take);
        return;
    }
    buf_adds(&x->text, text);
    x->extras = take;
}

void outside_fail(struct action *a, const struct err *e)
{
    struct outside *x = ending(a);
    if (x)
        x->e = *e;
}

/* ---- into the log ---- */

void outside_put_sum(struct json *args, struct str text)
{
    uint8_t sum[HASH_SHA256_SIZE];
    struct buf hex = BUF_INIT(2 * sizeof(sum));
    hash_sha256(text, sum);
    enc_hex(&hex, str_n((const char *)sum, sizeof(sum)));
    json_put_int(args, "bytes", (int64_t)text.n);
    json_put_str(args, "sha256", buf_str(&hex));
    buf_release(&hex);
}

void outside_put_text(const struct actions *all, struct json *args, const char *name,
                      struct str text)
{
    if (all->terse)
        outside_put_sum(args, text);
    else
        json_put_str(args, name, text);
}

void outside_put_json(const struct actions *all, struct json *args, const char *name,
                      const struct json *value, struct str text)
{
    if (all->terse)
        outside_put_text(all, args, name, text);
    else
        json_put(args, name, json_copy(value));
}

static bool is_key(struct str id)
{
    for (size_t i = 0; i < id.n; i++) {
        if (!strchr("0123456789abcdef", id.p[i]) || !id.p[i])
            return false;
    }
    return id.n == ACTION_KEY;
}

static struct outside *outside_new(struct actions *all)
{
    struct outside *x = xnew(struct outside);
    (void)all;
    task_init(&x->end, on_end);
    buf_init(&x->text, LIMIT_EVENT_MAX);
    return x;
}

static struct json *message_of(const struct outside_order *o)
{
    struct json *m = json_object();
    json_put_int(m, "uid", o->uid);
    json_put_int(m, "pid", o->pid);
    json_put_z(m, "action", o->kind);
    json_put(m, "args", o->args ? o->args : json_object());
    return m;
}

enum outside_state outside_open(struct actions *all, const struct outside_order *o,
                                struct action **a, uint64_t *end)
{
    struct err e = ERR_INIT;
    struct buf client = BUF_INIT(ACTION_CLIENT_MAX);
    struct str session = str_sub(o->session, 0, ACTION_SESSION_MAX);
    bool named = o->id.n > 0 && o->id.n < ACTION_CLIENT_MAX - sizeof(CLIENT) &&
                 utf8_valid(o->id);
    if (named) {
        buf_addz(&client, CLIENT);
        buf_adds(&client, o->id);
    }
    struct known *k = named ? known_find(all, 'c', buf_str(&client)) : NULL;
    *a = k ? actions_find(all, k->id) : NULL;
    *end = k ? k->end : 0;
    if (k) {
        json_free(o->args);
        buf_release(&client);
        all->stats.repeated++;
        if (*a)
            timer_stop(&((struct outside *)(*a)->own)->back);
        return *a ? OUTSIDE_AGAIN : OUTSIDE_OVER;
    }
    struct outside *x = outside_new(all);
    struct action_order order = {.source = o->source ? o->source : ACTION_SOURCE_EXEC,
                                 .kind = outside_kind(str_of(o->kind)),
                                 .session = session.n ? session : STR("main"),
                                 .client_id = buf_str(&client),
                                 .key = is_key(o->id) ? o->id.p : NULL,
                                 .must = true,
                                 .own = x};
    BUG_ON(!order.kind);
    *a = action_open(all, message_of(o), &order, &e);
    BUG_ON(!*a);
    x->a = *a;
    (*a)->begun = true;
    (*a)->args = json_get((*a)->message, "args");
    buf_release(&client);
    return OUTSIDE_NEW;
}

/* ---- after a restart ---- */

static void fail(struct action *a, const char *text)
{
    struct outside *x = a->own;
    err_set(&x->e, ERR_GONE, "%s", text);
    outside_end_now(x);
}

static void on_back(struct timer *t)
{
    fail(container_of(t, struct outside, back)->a,
         "The server was restarted before this action ended, and its caller did not come "
         "back; how much of it was done cannot be known");
}

void outside_await(struct action *a)
{
    struct outside *x = a->own;
    timer_begin(a->all->en->loop, &x->back, OUTSIDE_BACK_MS, on_back);
}

void outside_resume(struct action *a, bool new_server, bool whole)
{
    struct outside *x = outside_new(a->all);
    struct str client = str_of(a->client_id ? a->client_id : "");
    a->own = x;
    a->begun = true;
    a->args = json_get(a->message, "args");
    x->a = a;
    if (str_starts(client, STR(CLIENT)) && client.n - strlen(CLIENT) <= LIMIT_ID)
        memcpy(a->command, client.p + strlen(CLIENT), client.n - strlen(CLIENT) + 1);
    struct process *p = process_by_call(a->all->en, a->command);
    if (strcmp(a->kind->name, "run") == 0)
        run_resume(a, new_server, whole);
    else if (strcmp(a->kind->name, "process") == 0 && p)
        follow_process(a, p);
    else if (!new_server && follow_known(a))
        return;
    else if (new_server)
        fail(a, "The server ended before this action was done; how much of it was done "
                "cannot be known");
    else
        outside_await(a);
}
