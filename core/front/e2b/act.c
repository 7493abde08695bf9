/* SPDX-License-Identifier: MIT */
/* Actions whose observation answers a request. */
#include "front/e2b/own.h"

#include "base/xalloc.h"

#include <stdlib.h>

int e2b_act(struct e2b *f, struct action_ask *q, const char *name, struct json *args,
            struct err *e)
{
    struct action_order o = {.source = E2B_SOURCE};
    return action_ask(q, f->actions, action_message(name, args), &o, e);
}

/* ---- answered with {} ---- */

struct e2b_waiting {
    struct action_ask ask;
    struct e2b *f;
    struct req *req;
};

static void on_acted(struct action_ask *q, const struct json *observation,
                     const struct err *e)
{
    struct e2b_waiting *w = container_of(q, struct e2b_waiting, ask);
    if (observation)
        e2b_rpc_answer_nothing(w->req);
    else
        e2b_rpc_refuse(w->req, e);
    loop_bury(w->f->en->loop, w, free);
}

static void on_gone(struct req *r, void *owner)
{
    struct e2b_waiting *w = owner;
    (void)r;
    action_ask_drop(&w->ask);
    loop_bury(w->f->en->loop, w, free);
}

void e2b_act_answer(struct e2b *f, struct req *r, const char *name, struct json *args)
{
    struct err e = ERR_INIT;
    struct e2b_waiting *w = xnew(struct e2b_waiting);
    *w = (struct e2b_waiting){.ask.done = on_acted, .f = f, .req = r};
    req_own(r, w, on_gone);
    if (e2b_act(f, &w->ask, name, args, &e) < 0)
        on_acted(&w->ask, NULL, &e);
}
