/* SPDX-License-Identifier: MIT */
/* Calls that only read files. They are not actions and not in the log. */
#include "front/e2b/own.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/xalloc.h"

#include <stdlib.h>

struct e2b_read {
    struct e2b *f;
    struct fileact *helper;
    e2b_done *fn;
    void *owner;
};

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct e2b_read *k = arg;
    struct err why = *e;
    struct json *facts = e->code ? NULL : json_parse(str_trim(result), &why);
    k->fn(k->owner, facts, &why);
    json_free(facts);
    loop_bury(k->f->en->loop, k, free);
}

void e2b_read_drop(struct e2b_read *k)
{
    fileact_cancel(k->helper);
    loop_bury(k->f->en->loop, k, free);
}

struct e2b_read *e2b_read(struct e2b *f, const struct sandbox_place *user,
                          const char *verb, struct json *args, e2b_done *fn, void *owner)
{
    static const struct fileact_events events = {.done = on_done};
    struct err e = ERR_INIT;
    char token[33];
    struct e2b_read *k = xnew(struct e2b_read);
    *k = (struct e2b_read){.f = f, .fn = fn, .owner = owner};
    random_hex(token, 32);
    struct files_ask q = {.verb = verb, .args = args, .place = user, .token = token};
    int rc = fileact_check(verb, args, false, false, &e);
    if (rc == 0)
        rc = files_start(f->actions, &q, &events, k, &k->helper, &e);
    json_free(args);
    if (rc == 0)
        return k;
    free(k);
    fn(owner, NULL, &e);
    return NULL;
}
