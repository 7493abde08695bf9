/* SPDX-License-Identifier: MIT */
/*
 * V0's run_ipython: a cell in the Python kernel of its session, which is started if
 * --plugins names jupyter.
 */
#include "front/v0/own.h"

#include "base/xalloc.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_MS = 120000 };

static struct kernel *kernel_of(struct v0_shell *sh, struct err *e)
{
    struct actions *all = sh->v->en->actions;
    struct str name = str_of(sh->name);
    struct kernel *k = action_kernel(all, name, false, e);
    if (k)
        return k;
    *e = (struct err)ERR_INIT;
    snprintf(sh->kernel_cwd, sizeof(sh->kernel_cwd), "%s", v0_cwd(sh));
    return action_kernel(all, name, true, e);
}

void v0_cell_warm(struct v0 *v)
{
    struct err e = ERR_INIT;
    if (plugins_has(v->en->plugins, STR("jupyter")))
        kernel_of(v->main, &e);
}

/* ---- its output ---- */

static void on_output(void *owner, struct str type, const struct json *content)
{
    struct v0_call *a = owner;
    cell_text_add(a->said, type, content);
    if (a->held)
        action_cell_said(&a->tell, type, content);
}

static void on_input(void *owner, struct str prompt, bool password)
{
    struct v0_call *a = owner;
    action_cell_asks(&a->tell, prompt, password);
}

static void on_input_answer(void *owner, struct str text)
{
    struct v0_call *a = owner;
    if (a->cell)
        cell_answer(a->cell, text);
}

static void add_extra(struct v0_call *a, struct buf *text, const char *interpreter)
{
    while (text->n && (unsigned char)text->p[text->n - 1] <= ' ')
        text->n--;
    if (json_bool(a->a.args, "include_extra", true))
        buf_addf(
            text,
            "\n[Jupyter current working directory: %s]\n[Jupyter Python interpreter: %s]",
            v0_cwd(a->sh), interpreter);
}

static void answer(struct v0_call *a, struct str content, const struct json *images)
{
    struct buf out = BUF_INIT(ANSWER_MAX);
    if (v0_put_cell(&out, json_str(a->a.args, "code", ""), content, images) < 0) {
        buf_release(&out);
        v0_answer_internal(a, "the cell's output is longer than an answer can be");
        return;
    }
    v0_answer(a, 200, &out);
}

static void on_done(void *owner, const struct cell_result *r)
{
    struct v0_call *a = owner;
    struct err e = ERR_INIT;
    struct kernel *k = kernel_of(a->sh, &e);
    struct buf text = BUF_INIT(TEXT_MAX + (16 << 10)); /* and notes about it */
    struct json *images = a->said->images;
    double seconds = a->a.has_timeout ? a->a.timeout : DEFAULT_MS / 1000;
    action_cell_over(&a->tell);
    if (r->end == CELL_TIMEOUT) {
        /* OpenHands' marker; the output before it is kept. */
        buf_adds(&text, buf_str(&a->said->text));
        if (text.n && text.p[text.n - 1] != '\n')
            buf_addc(&text, '\n');
        buf_addz(&text, "[Execution timed out (");
        v0_float(&text, seconds);
        buf_addz(&text, " seconds).]");
        images = NULL;
    } else if (a->said->text.n == 0 && a->said->other.n)
        buf_adds(&text, buf_str(&a->said->other));
    else if (a->said->text.n == 0 && !r->err.code && !images)
        buf_addz(&text, "[Code executed successfully with no output]");
    else
        buf_adds(&text, buf_str(&a->said->text));
    if (r->err.code)
        buf_addf(&text, "%s%s", text.n ? "\n" : "", r->err.text);
    if (a->said->lost)
        buf_addf(&text, "\n[%zu bytes of output did not fit and are gone]",
                 a->said->lost);
    add_extra(a, &text, k ? kernel_interpreter(k) : "");
    answer(a, buf_str(&text), images);
    cell_text_release(a->said);
    free(a->said);
    a->said = NULL;
    a->cell = NULL;
    buf_release(&text);
}

void v0_cell_cancel(struct v0_call *a)
{
    if (cell_runs(a->cell)) {
        struct err e = ERR_INIT;
        kernel_interrupt(
            action_kernel(a->v->en->actions, str_of(a->sh->name), false, &e));
        return;
    }
    cell_drop(a->cell);
    a->cell = NULL;
    cell_text_release(a->said);
    free(a->said);
    a->said = NULL;
    v0_answer_error(a, STR("The action was cancelled before it began"));
}

/* A cell cannot ask for input: over HTTP, nobody could answer. */
static const struct cell_events mute = {on_output, NULL, NULL, on_done, NULL};
static const struct cell_events asking = {on_output, NULL, on_input, on_done, NULL};

/* Passes the shell's directory, and nothing else, to the kernel if it has changed. */
static int push_cwd(struct v0_shell *sh, struct kernel *k, struct err *e)
{
    const char *cwd = v0_cwd(sh);
    if (strcmp(cwd, sh->kernel_cwd) == 0)
        return 0;
    struct buf code = BUF_INIT(32 << 10);
    buf_addz(&code, "import os; os.chdir(");
    json_quote(&code, str_of(cwd));
    buf_addz(&code, ")");
    struct cell_opts o = {.id = "", .code = buf_str(&code), .silent = true};
    struct cell *c = kernel_run(k, &o, NULL, NULL, e);
    buf_release(&code);
    if (c)
        snprintf(sh->kernel_cwd, sizeof(sh->kernel_cwd), "%s", cwd);
    return c ? 0 : -1;
}

void v0_cell(struct v0_call *a)
{
    struct err e = ERR_INIT;
    char id[LIMIT_ID + 1];
    if (!plugins_has(a->v->en->plugins, STR("jupyter"))) {
        if (a->held)
            v0_answer_error(
                a, STR("run_ipython is not served: od serve was started without "
                       "--plugins jupyter; the action cell needs no plugin"));
        else
            v0_answer_internal(
                a, "JupyterRequirement not found. Unable to run IPython action.");
        return;
    }
    struct kernel *k = kernel_of(a->sh, &e);
    v0_id(a, id);
    struct cell_opts o = {.id = id,
                          .code = json_str(a->a.args, "code", ""),
                          .timeout_ms = a->a.has_timeout ? (int64_t)(a->a.timeout * 1000)
                                                         : DEFAULT_MS};
    const struct cell_events *ev = a->held ? &asking : &mute;
    a->said = xnew(struct cell_text);
    cell_text_init(a->said, TEXT_MAX);
    if (a->held)
        action_cell_begin(&a->tell, a->act->all, a->act->id, a->act->session,
                          on_input_answer, a);
    if (k && push_cwd(a->sh, k, &e) == 0)
        a->cell = kernel_run(k, &o, ev, a, &e);
    if (!a->cell) {
        struct buf text = BUF_INIT(8192);
        cell_text_release(a->said);
        free(a->said);
        a->said = NULL;
        buf_addf(&text, "cannot run the cell: %s", e.text);
        v0_answer_error(a, buf_str(&text));
        buf_release(&text);
    }
}
