/* SPDX-License-Identifier: MIT */
/* Actions for a request, one after the other. */
#include "front/execd/own.h"

#include "action/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdlib.h>

struct execd_acts {
    struct list node; /* in execd.acts */
    struct execd *f;
    struct req *req; /* NULL: the client has disconnected; all actions are still done */
    struct json *steps;   /* owned: the remaining steps */
    struct json *results; /* owned */
    uint64_t cause;       /* the current action */
    int at;
    bool missing; /* its NOTFOUND is not an error */
    execd_acted *done;
    void *arg;
    void (*free_arg)(void *arg);
};

struct json *execd_step(struct json *steps, const char *action)
{
    struct json *step = json_object(), *args = json_object();
    json_put_z(step, "action", action);
    json_put(step, "args", args);
    json_push(steps, step);
    return args;
}

static void acts_free(void *p)
{
    struct execd_acts *x = p;
    if (x->free_arg)
        x->free_arg(x->arg);
    json_free(x->steps);
    json_free(x->results);
    free(x);
}

static void finish(struct execd_acts *x, const struct err *e)
{
    struct req *r = x->req;
    x->req = NULL;
    ASSERT(!list_empty(&x->node)); /* done is called once */
    list_del(&x->node);
    if (r)
        x->done(r, x->results, e, x->at - 1, x->arg);
    loop_bury(x->f->en->loop, x, acts_free);
}

static void next(struct execd_acts *x)
{
    struct err e = ERR_INIT;
    struct action_order o = {.source = EXECD_SOURCE};
    struct json *step = json_first(x->steps);
    if (!step) {
        finish(x, NULL);
        return;
    }
    struct json *m = json_object();
    json_put_str(m, "action", json_str(step, "action", ""));
    x->missing = json_bool(step, "missing", false);
    json_put(m, "args", json_take(step, "args"));
    json_drop(x->steps, step);
    x->at++;
    struct action *a = action_open(x->f->en->actions, m, &o, &e);
    if (!a) {
        finish(x, &e);
        return;
    }
    x->cause = a->id;
    action_go(a);
}

static void observed(struct execd_acts *x, uint64_t end, const struct err *lost)
{
    struct err e = ERR_INIT;
    struct json *j = actions_observation(x->f->en->actions, end, lost, &e);
    struct json *extras = json_take(j, "extras");
    json_push(x->results, extras ? extras : json_object());
    json_free(j);
    if (e.code && !(x->missing && e.code == ERR_NOTFOUND))
        finish(x, &e);
    else
        next(x);
}

void execd_acts_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                      const struct err *e)
{
    struct execd *f = container_of(w, struct execd, watch);
    struct list *it, *tmp;
    list_each (it, tmp, &f->acts) {
        struct execd_acts *x = list_entry(it, struct execd_acts, node);
        if (x->cause == cause) {
            observed(x, end, e);
            return;
        }
    }
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    ((struct execd_acts *)owner)->req = NULL;
}

void execd_act(struct req *r, struct json *take_steps, execd_acted *done, void *arg,
               void (*free_arg)(void *arg))
{
    struct execd *f = req_arg(r);
    struct execd_acts *x = xnew(struct execd_acts);
    *x = (struct execd_acts){.f = f,
                             .req = r,
                             .steps = take_steps,
                             .results = json_array(),
                             .done = done,
                             .arg = arg,
                             .free_arg = free_arg};
    engine_touch(f->en);
    list_add_tail(&f->acts, &x->node);
    req_own(r, x, on_gone);
    next(x);
}
