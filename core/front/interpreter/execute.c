/* SPDX-License-Identifier: MIT */
/*
 * POST /execute: one cell of a context as an action, and its output as lines.
 *
 *   [set the variables] ─▶ the cell ─▶ [reset them]     actions, in the kernel's queue
 *                             └─▶ lines ─▶ the caller, one by one
 *
 * When the caller disconnects, its cell is interrupted. When the worker is killed, the
 * cell goes on without a caller, and the next execution in its context interrupts it. The
 * output of a cell whose caller does not read waits in its spool.
 */
#include "front/interpreter/own.h"

#include "base/xalloc.h"
#include "front/e2b/e2b.h"
#include "front/model/model.h"

#include <stdlib.h>
#include <string.h>

enum { OUT_MAX = LIMIT_KERNEL_MESSAGE, CODE_MAX = 2 * ENV_MAX };

/* ---- lines to the caller ---- */

static void execution_free(struct execution *x)
{
    shell_leave(x);
    timer_stop(&x->keepalive);
    action_cell_unfollow(&x->follower);
    buf_release(&x->out);
    buf_release(&x->raw);
    list_del(&x->node);
    free(x);
}

static void on_keepalive(struct timer *t);

void execution_flush(struct execution *x)
{
    while (x->out.n > 0) {
        size_t n = req_send(x->r, buf_str(&x->out));
        if (n == 0)
            break;
        buf_consume(&x->out, n);
    }
    bool hold = x->out.n > 0;
    if (!hold && x->ended) {
        struct req *r = x->r;
        execution_free(x);
        req_end(r);
        return;
    }
    if (!x->ended)
        timer_begin(x->f->en->loop, &x->keepalive, KEEPALIVE_MS, on_keepalive);
    if (hold != x->held) {
        x->held = hold;
        action_cell_hold(x->f->actions, x->id, hold);
        if (!hold)
            shell_pump(x);
    }
}

static void on_room(struct req *r, void *owner)
{
    (void)r;
    execution_flush(owner);
}

static void on_keepalive(struct timer *t)
{
    struct execution *x = container_of(t, struct execution, keepalive);
    if (x->out.n == 0)
        line_type(&x->out, "keepalive");
    execution_flush(x);
}

void execution_error(struct execution *x, const char *name, struct str value)
{
    if (!x->failed)
        line_error(&x->out, name, value);
    x->failed = true;
}

/* ---- the cell ---- */

static struct execution *execution_of(struct cell_follower *f)
{
    return container_of(f, struct execution, follower);
}

void execution_begun(struct execution *x, int64_t count)
{
    if (x->counted)
        return;
    x->counted = true;
    line_count(&x->out, count);
    if (x->id)
        execution_flush(x);
}

static void on_begun(struct cell_follower *f, int64_t count)
{
    execution_begun(execution_of(f), count);
}

static void on_said(struct cell_follower *f, struct str type, const struct json *content)
{
    struct execution *x = execution_of(f);
    bool error = str_eq(type, STR("error"));
    if (error && x->failed)
        return;
    x->failed = x->failed || error;
    if (line_message(&x->out, type, content) < 0)
        line_note(&x->out, "a message of the kernel is too long for a line, and is "
                           "missing");
    execution_flush(x);
}

/* Sends how the cell ended, unless the kernel has reported an error. */
static void put_end(struct execution *x, const struct action_result *result)
{
    struct str end = json_str(result->extras, "end", "");
    struct str why = json_str(result->extras, "why",
                              "the kernel reports that the cell failed");
    if (x->restarting)
        execution_error(x, "ContextRestarting", STR("Context was restarted"));
    else if (result->error && result->error->code == ERR_CANCELLED)
        execution_error(x, "ExecutionAborted", str_of(result->error->text));
    else if (result->error)
        execution_error(x, "UnexpectedEndOfExecution", str_of(result->error->text));
    else if (str_eq(end, STR("error")))
        execution_error(x, "ExecutionError", why);
    else if (!str_eq(end, STR("ok")))
        execution_error(x, "UnexpectedEndOfExecution", why);
}

void execution_end(struct execution *x)
{
    line_type(&x->out, "end_of_execution");
    x->ended = true;
    timer_stop(&x->keepalive);
    if (x->id) /* otherwise run_cell has not returned yet */
        execution_flush(x);
}

static void on_ended(struct cell_follower *f, const struct action_result *result)
{
    struct execution *x = execution_of(f);
    bool shell = result->has_output && !x->restarting;
    if (!shell)
        put_end(x, result);
    if (shell || x->op)
        shell_ended(x, result);
    else
        execution_end(x);
}

uint64_t run_cell(struct context *c, struct str code, bool silent,
                  struct cell_follower *follower, struct err *e)
{
    struct interpreter *f = c->f;
    if (!c->spec[0])
        return shell_run(c, code, silent, follower, e);
    struct json *message = json_object(), *args = json_object();
    struct action_order o = {.source = ACTION_SOURCE_INTERPRETER,
                             .kind = &action_cell,
                             .session = str_of(c->id)};
    json_put_str(args, "code", code);
    json_put_z(args, "kernel", c->id);
    json_put_bool(args, "silent", silent);
    if (!kernel_lookup(f->en, str_of(c->id))) {
        struct buf init = BUF_INIT(64 << 10);
        code_init(&init, c->code);
        json_put_z(args, "spec", c->spec);
        json_put_z(args, "cwd", c->cwd);
        json_put_str(args, "init", buf_str(&init));
        if (f->e2b)
            json_put(args, "env", json_copy(e2b_env(f->e2b)));
        buf_release(&init);
    }
    json_put_z(message, "action", "cell");
    json_put(message, "args", args);
    struct action *a = action_open(f->actions, message, &o, e);
    if (!a)
        return 0;
    uint64_t id = a->id;
    if (follower)
        action_cell_follow(f->actions, id, follower);
    action_go(a);
    return id;
}

/* ---- the caller ---- */

static void on_gone(struct req *r, void *owner)
{
    struct execution *x = owner;
    struct err e = ERR_INIT;
    struct actions *all = x->f->actions;
    uint64_t id = x->ended ? 0 : x->id;
    (void)r;
    execution_free(x);
    if (id)
        actions_cancel(all, id, &e);
}

/* The client has ended its side. Sends a line to find out whether it still reads. */
static void on_half_closed(struct req *r, void *owner)
{
    struct execution *x = owner;
    (void)r;
    if (x->out.n == 0 && !x->ended)
        line_type(&x->out, "keepalive");
    execution_flush(x);
}

struct execution *execution_by_action(const struct interpreter *f, uint64_t id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->runs) {
        struct execution *x = list_entry(it, struct execution, node);
        if (x->id == id)
            return x;
    }
    return NULL;
}

/* Interrupts the cells of the context whose callers were connected to a killed worker. */
static void cancel_orphans(const struct context *c)
{
    struct actions *all = c->f->actions;
    struct err e = ERR_INIT;
    for (struct action *a = NULL, *next = actions_next(all, NULL); (a = next);) {
        next = actions_next(all, a);
        if (a->resumed && !execution_by_action(c->f, a->id) &&
            str_starts(str_of(a->session), str_of(c->id)) &&
            !json_bool(a->args, "silent", false) && a->source &&
            strcmp(a->source, ACTION_SOURCE_INTERPRETER) == 0)
            actions_cancel(all, a->id, &e);
    }
}

void runs_restarting(struct interpreter *f, const struct context *c)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->runs) {
        struct execution *x = list_entry(it, struct execution, node);
        if (strcmp(x->context, c->id) == 0)
            x->restarting = true;
    }
}

/* ---- the request ---- */

static const struct model_field fields[] = {
    {.name = "code", .type = MODEL_STRING, .required = true},
    {.name = "context_id", .type = MODEL_STRING, .nullable = true},
    {.name = "language", .type = MODEL_STRING, .nullable = true},
    {.name = "env_vars", .type = MODEL_MAP, .nullable = true},
    {.name = NULL},
};
static const struct model model = {.fields = fields};

/* Returns the context that the request names; NULL after answering the request. */
static struct context *context_asked(struct req *r, const struct json *q)
{
    struct interpreter *f = req_arg(r);
    struct str id = json_str(q, "context_id", ""), word = json_str(q, "language", "");
    struct err e = ERR_INIT;
    char language[LANGUAGE_MAX + 1];
    bool has_id = json_is_string(json_get(q, "context_id"));
    if (has_id && json_is_string(json_get(q, "language"))) {
        interpreter_fail(r, 400, "Only one of context_id or language can be provided");
        return NULL;
    }
    contexts_stand(f);
    struct context *c = has_id ? context_find(f, id) : NULL;
    if (has_id && !c)
        interpreter_unknown(r, id);
    if (has_id)
        return c;
    context_language(language, word);
    c = context_of(f, language, &e);
    if (!c) {
        struct buf b = BUF_INIT(4096);
        buf_addf(&b, "Failed to create context: %s", e.text);
        interpreter_fail(r, 500, buf_z(&b));
        buf_release(&b);
    }
    return c;
}

/* Writes the cells that set and reset variables. Returns -1 after answering r. */
static int read_env(struct req *r, const struct context *c, const struct json *env,
                    struct buf *set, struct buf *unset)
{
    if (json_count(env) == 0)
        return 0;
    for (const struct json *v = json_first(env); v; v = json_next(v)) {
        if (!code_is_name(c->code, json_name(v))) {
            interpreter_fail(r, 400,
                             "The name of a variable is empty or has a =, or is "
                             "not valid in the shell");
            return -1;
        }
    }
    if (!code_set(set, c->code, env) || !code_unset(unset, c->code, env)) {
        interpreter_fail(r, 400, "env_vars are not supported for this language");
        return -1;
    }
    if (buf_full(set)) {
        interpreter_fail(r, 413, "env_vars are too long");
        return -1;
    }
    return 0;
}

static void execute(struct req *r, struct context *c, const struct json *q)
{
    struct interpreter *f = c->f;
    struct err e = ERR_INIT;
    struct buf set = BUF_INIT(CODE_MAX), unset = BUF_INIT(CODE_MAX);
    if (read_env(r, c, json_get(q, "env_vars"), &set, &unset) < 0)
        goto out;
    cancel_orphans(c);
    struct execution *x = xnew(struct execution);
    *x = (struct execution){
        .f = f,
        .r = r,
        .follower = {.begun = on_begun, .said = on_said, .ended = on_ended}};
    memcpy(x->context, c->id, sizeof(x->context));
    buf_init(&x->out, OUT_MAX);
    buf_init(&x->raw, SHELL_PIECE);
    list_init(&x->follower.node);
    list_add_tail(&f->runs, &x->node);
    if (set.n > 0 && !run_cell(c, buf_str(&set), true, NULL, &e))
        goto fail;
    x->id = run_cell(c, json_str(q, "code", ""), false, &x->follower, &e);
    if (!x->id)
        goto fail;
    if (unset.n > 0)
        run_cell(c, buf_str(&unset), true, NULL, &e);
    req_own(r, x, on_gone);
    req_on_room(r, on_room);
    req_on_half_closed(r, on_half_closed);
    req_begin(r, 200, "application/x-ndjson", -1);
    execution_flush(x);
    goto out;
fail:
    execution_free(x);
    interpreter_fail(r, err_words(e.code)->http, e.text);
out:
    buf_release(&set);
    buf_release(&unset);
}

void interpreter_execute(struct req *r)
{
    struct interpreter *f = req_arg(r);
    struct json *errors = NULL;
    struct json *q = model_body(&model, r, &errors);
    engine_touch(f->en);
    struct context *c = q ? context_asked(r, q) : NULL;
    if (c)
        execute(r, c, q);
    else if (!q)
        model_refuse(r, errors);
    json_free(q);
}
