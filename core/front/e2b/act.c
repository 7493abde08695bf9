/* SPDX-License-Identifier: MIT */
/* Actions whose observation answers a request. */
#include "front/e2b/own.h"

#include "action/log.h"
#include "base/xalloc.h"

#include <stdlib.h>

struct e2b_act {
    struct list node; /* in e2b.acts */
    struct e2b *f;
    uint64_t cause;
    e2b_acted *fn; /* NULL: the owner was released */
    void *owner;
};

static void act_free(struct e2b_act *x)
{
    list_del(&x->node);
    loop_bury(x->f->en->loop, x, free);
}

void e2b_act_drop(struct e2b_act *x) { x->fn = NULL; }

void e2b_act_ended(struct e2b *f, uint64_t cause, uint64_t end, const struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->acts) {
        struct e2b_act *x = list_entry(it, struct e2b_act, node);
        struct err why = ERR_INIT;
        if (x->cause != cause)
            continue;
        struct json *j = actions_observation(f->actions, end, e, &why);
        if (x->fn)
            x->fn(x->owner, json_get(j, "extras"), &why);
        json_free(j);
        act_free(x);
        return;
    }
}

struct e2b_act *e2b_act(struct e2b *f, const char *name, struct json *args, e2b_acted *fn,
                        void *owner)
{
    struct err e = ERR_INIT;
    struct action_order o = {.source = E2B_SOURCE};
    struct json *m = json_object();
    json_put_z(m, "action", name);
    json_put(m, "args", args);
    struct action *a = action_open(f->actions, m, &o, &e);
    if (!a) {
        fn(owner, NULL, &e);
        return NULL;
    }
    struct e2b_act *x = xnew(struct e2b_act);
    *x = (struct e2b_act){.f = f, .cause = a->id, .fn = fn, .owner = owner};
    list_add_tail(&f->acts, &x->node);
    uint64_t id = a->id;
    action_go(a);
    struct list *it, *tmp;
    list_each (it, tmp, &f->acts) {
        if (list_entry(it, struct e2b_act, node)->cause == id)
            return x;
    }
    return NULL;
}

/* ---- answered with {} ---- */

struct e2b_waiting {
    struct e2b *f;
    struct req *req; /* NULL: the client has disconnected */
};

static void on_acted(void *owner, const struct json *extras, const struct err *e)
{
    struct e2b_waiting *w = owner;
    (void)extras;
    if (w->req && e->code)
        e2b_rpc_refuse(w->req, e);
    else if (w->req)
        e2b_rpc_answer_nothing(w->req);
    loop_bury(w->f->en->loop, w, free);
}

static void on_gone(struct req *r, void *owner)
{
    struct e2b_waiting *w = owner;
    (void)r;
    w->req = NULL;
}

void e2b_act_answer(struct e2b *f, struct req *r, const char *name, struct json *args)
{
    struct e2b_waiting *w = xnew(struct e2b_waiting);
    *w = (struct e2b_waiting){.f = f, .req = r};
    req_own(r, w, on_gone);
    e2b_act(f, name, args, on_acted, w);
}
