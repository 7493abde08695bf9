/* SPDX-License-Identifier: MIT */
/* The routes below /contexts. */
#include "front/interpreter/own.h"

#include "base/xalloc.h"
#include "front/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char json_type[] = "application/json";

/*
 * A request POST /contexts, until the kernel of the new context has run its first, empty
 * cell.
 */
struct creation {
    struct req *r;     /* borrowed */
    struct context *c; /* borrowed */
    struct cell_follower follower;
};

static void answer_context(struct req *r, const struct context *c)
{
    struct buf b = BUF_INIT(64 << 10);
    context_print(&b, c);
    req_answer_take(r, 200, json_type, &b);
}

static void fail_creation(struct req *r, const char *why)
{
    struct buf b = BUF_INIT(4096);
    buf_addf(&b, "Failed to create context: %s", why);
    interpreter_fail(r, 500, buf_z(&b));
    buf_release(&b);
}

void contexts_list(struct req *r)
{
    struct interpreter *f = req_arg(r);
    struct buf b = BUF_INIT(4 << 20);
    struct list *it, *tmp;
    contexts_stand(f);
    buf_addc(&b, '[');
    list_each (it, tmp, &f->contexts) {
        buf_addz(&b, b.n > 1 ? "," : "");
        context_print(&b, list_entry(it, struct context, node));
    }
    buf_addc(&b, ']');
    req_answer_take(r, 200, json_type, &b);
}

/* ---- POST /contexts ---- */

static struct creation *creation_of(struct cell_follower *f)
{
    return container_of(f, struct creation, follower);
}

static void on_ended(struct cell_follower *follower, const struct action_result *result)
{
    struct creation *n = creation_of(follower);
    struct str end = json_str(result->extras, "end", "");
    bool fails = result->has_output && !(result->has_exit && result->exit_code == 0);
    if (fails) {
        fail_creation(n->r, "its shell cannot enter the directory");
        context_remove(n->c);
    } else if (result->error || str_eq(end, STR("died")) || str_eq(end, STR("failed"))) {
        struct str why = json_str(result->extras, "why", "its kernel ended");
        fail_creation(n->r, result->error ? result->error->text : why.p);
        context_remove(n->c);
    } else {
        answer_context(n->r, n->c);
    }
    free(n);
}

/* Removes the context: nobody has its id, so it could never be used. */
static void on_gone(struct req *r, void *owner)
{
    struct creation *n = owner;
    (void)r;
    action_cell_unfollow(&n->follower);
    context_remove(n->c);
    free(n);
}

static const struct model_field creation_fields[] = {
    {.name = "language", .type = MODEL_STRING, .nullable = true},
    {.name = "cwd", .type = MODEL_STRING, .nullable = true},
    {.name = NULL},
};
static const struct model creation_model = {.fields = creation_fields};

static void create(struct req *r, const struct json *q)
{
    struct interpreter *f = req_arg(r);
    struct err e = ERR_INIT;
    char language[LANGUAGE_MAX + 1];
    context_language(language, json_str(q, "language", ""));
    contexts_stand(f);
    struct context *c = context_make(f, language, json_str(q, "cwd", ""), false, &e);
    if (!c && e.code == ERR_INVALID) {
        interpreter_fail(r, 500, "Failed to set working directory");
        return;
    }
    if (!c) {
        fail_creation(r, e.text);
        return;
    }
    struct creation *n = xnew(struct creation);
    *n = (struct creation){.r = r, .c = c, .follower = {.ended = on_ended}};
    req_own(r, n, on_gone);
    if (!run_cell(c, STR(""), true, &n->follower, &e)) {
        fail_creation(r, e.text);
        context_remove(c);
        free(n);
    }
}

void contexts_create(struct req *r)
{
    struct json *errors = NULL;
    struct json *q = model_body(&creation_model, r, &errors);
    if (q)
        create(r, q);
    else
        model_refuse(r, errors);
    json_free(q);
}

/* ---- one context ---- */

/* Returns the context that the request names; NULL after answering the request. */
static struct context *named(struct req *r)
{
    struct interpreter *f = req_arg(r);
    struct str id = req_param(r, "id");
    contexts_stand(f);
    struct context *c = context_find(f, id);
    if (!c)
        interpreter_unknown(r, id);
    return c;
}

void contexts_restart(struct req *r)
{
    struct context *c = named(r);
    struct err e = ERR_INIT;
    if (!c)
        return;
    runs_restarting(c->f, c);
    if (!c->spec[0])
        shell_restart(c);
    if (kernel_lookup(c->f->en, str_of(c->id)) &&
        context_act(c, &action_restart_kernel, &e) < 0)
        interpreter_fail(r, 500, e.text);
    else
        req_answer(r, 200, json_type, STR("null"));
}

void contexts_delete(struct req *r)
{
    struct context *c = named(r);
    if (!c)
        return;
    context_remove(c);
    req_answer(r, 200, json_type, STR("null"));
}
