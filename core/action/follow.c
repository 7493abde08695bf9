/* SPDX-License-Identifier: MIT */
#include "action/follow.h"

#include "action/outside_own.h"
#include "action/process.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "browser/browsing.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"
#include "shell/process.h"
#include "shell/spool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_MAX = 64 << 10 }; /* bytes of a cell's output in the log */

/* ---- cells ---- */

static void on_said(void *owner, struct str type, const struct json *content)
{
    struct outside *x = owner;
    if (x->text.n < SAID_MAX)
        cell_text_of(&x->text, type, content);
}

static void on_text(void *owner, struct str piece)
{
    (void)owner;
    (void)piece;
}

struct json *follow_cell_end(const struct cell_result *r)
{
    struct json *j = json_object();
    json_put_z(j, "end", cell_end_name(r->end));
    json_put_int(j, "count", r->count);
    json_put_int(j, "duration_ms", r->duration_ms);
    if (r->err.code) {
        json_put_z(j, "code", err_name(r->err.code));
        json_put_z(j, "why", r->err.text);
    }
    return j;
}

static void on_cell_done(void *owner, const struct cell_result *r)
{
    struct outside *x = owner;
    struct json *extras = follow_cell_end(r);
    if (x->text.n > SAID_MAX) {
        buf_truncate(&x->text, utf8_cut(buf_str(&x->text), SAID_MAX));
        json_put_bool(extras, "cut", true);
    }
    x->cell = NULL;
    outside_end(x->a, STR(""), extras);
}

static struct kernel *kernel_of(const struct action *a)
{
    return kernel_lookup(a->all->en, json_str(a->args, "kernel", ""));
}

static void stop_cell(void *owner)
{
    const struct outside *x = owner;
    struct kernel *k = kernel_of(x->a);
    if (k)
        kernel_interrupt(k);
}

void follow_cell(struct action *a, struct kernel *k, const char *id)
{
    static const struct cell_events mute = {on_said, on_text, NULL, on_cell_done, NULL};
    struct outside *x = a->own;
    struct err e = ERR_INIT;
    struct cell_opts o = {.id = id, .at = -1};
    x->cell = kernel_run(k, &o, &mute, x, &e);
    if (x->cell)
        outside_on_cancel(a, stop_cell, x);
    else
        outside_fail(a, &e);
}

/* ---- browsers ---- */

static void on_browsed(void *owner, const struct json *answer, const struct err *e)
{
    struct outside *x = owner;
    (void)answer;
    x->browse = NULL;
    if (e)
        outside_fail(x->a, e);
    else
        outside_end(x->a, STR(""), NULL);
}

static void stop_browse(void *owner)
{
    const struct outside *x = owner;
    browsing_cancel(x->browse);
}

void follow_browse(struct action *a, struct browsing *b, const char *id)
{
    struct outside *x = a->own;
    struct err e = ERR_INIT;
    struct json *nothing = json_object();
    struct browsing_ask q = {.id = id, .what = nothing};
    x->browse = browsing_ask(b, &q, on_browsed, x, &e);
    if (x->browse)
        outside_on_cancel(a, stop_browse, x);
    else
        outside_fail(a, &e);
    json_free(nothing);
}

/* ---- both ---- */

bool follow_known(struct action *a)
{
    struct kernel *k = strcmp(a->kind->name, "cell") == 0 ? kernel_of(a) : NULL;
    struct browsing *b = strcmp(a->kind->name, "browse") == 0
                             ? browsing_lookup(a->all->en, str_of(a->session))
                             : NULL;
    if (k && kernel_knows(k, a->command))
        follow_cell(a, k, a->command);
    else if (b && browsing_knows(b, a->command))
        follow_browse(a, b, a->command);
    else
        return false;
    return true;
}

void follow_stop(struct action *a)
{
    struct outside *x = a->own;
    if (x->cell)
        cell_drop(x->cell);
    if (x->browse)
        browsing_drop(x->browse);
    x->cell = NULL;
    x->browse = NULL;
    buf_truncate(&x->text, 0);
    outside_on_cancel(a, NULL, x);
}

/* ---- processes ---- */

static void on_done(struct op *op)
{
    struct outside *x = op->owner;
    struct process *p = op->process;
    x->op = NULL;
    if (op->r.state == OP_FAILED) {
        outside_fail(x->a, &op->r.err);
        return;
    }
    struct json *extras = json_object();
    json_put_z(extras, "process", process_name(p));
    run_put_end(extras, op->r.duration_ms, op->r.signo, false);
    process_put_outputs(x->a->all, p, &x->text, extras);
    x->ran = true;
    x->seen.exit = op->r.exit;
    outside_end(x->a, STR(""), extras);
}

static const struct op_sink sink = {.done = on_done};

static void on_still_there(struct timer *t)
{
    struct outside *x = container_of(t, struct outside, back);
    struct err e = ERR_INIT;
    process_signal(x->op->process, SIGKILL, true, &e);
}

static void stop_process(void *owner)
{
    struct outside *x = owner;
    struct err e = ERR_INIT;
    process_signal(x->op->process, SIGTERM, true, &e);
    timer_begin(x->a->all->en->loop, &x->back, LIMIT_GRACE_MS, on_still_there);
}

void follow_process(struct action *a, struct process *p)
{
    struct outside *x = a->own;
    timer_stop(&x->back);
    if (x->op || x->ending)
        return;
    x->op = op_new(OP_WAIT, &sink, x);
    outside_on_cancel(a, stop_process, x);
    process_wait(p, x->op);
}
