/* SPDX-License-Identifier: MIT */
/* Actions for a request, one after the other. */
#include "front/execd/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdlib.h>

struct execd_acts {
    struct action_ask ask;
    struct execd *f;
    struct req *req; /* NULL: the client has disconnected; all actions are still done */
    struct json *steps;   /* owned: the remaining steps */
    struct json *results; /* owned */
    int at;               /* the number of the current action, from 1 on */
    bool over;
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
    ASSERT(!x->over); /* done is called once */
    x->over = true;
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
    x->missing = json_bool(step, "missing", false);
    struct json *m = action_message(json_str(step, "action", "").p,
                                    json_take(step, "args"));
    json_drop(x->steps, step);
    x->at++;
    if (action_ask(&x->ask, x->f->en->actions, m, &o, &e) < 0)
        finish(x, &e);
}

static void on_done(struct action_ask *q, const struct json *observation,
                    const struct err *e)
{
    struct execd_acts *x = container_of(q, struct execd_acts, ask);
    const struct json *extras = json_get(observation, "extras");
    json_push(x->results, extras ? json_copy(extras) : json_object());
    if (e->code && !(x->missing && e->code == ERR_NOTFOUND))
        finish(x, e);
    else
        next(x);
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
    *x = (struct execd_acts){.ask.done = on_done,
                             .f = f,
                             .req = r,
                             .steps = take_steps,
                             .results = json_array(),
                             .done = done,
                             .arg = arg,
                             .free_arg = free_arg};
    engine_touch(f->en);
    req_own(r, x, on_gone);
    next(x);
}
