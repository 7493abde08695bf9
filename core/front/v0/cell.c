/* SPDX-License-Identifier: MIT */
/*
 * V0's run_ipython: a cell in the Python kernel of its session, which is started
 * when --plugins names jupyter, as the reference has it (section 4).
 */
#include "front/v0/own.h"

#include "base/xalloc.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_MS = 120000 };

/* Escapes of IPython's have forms that clients do not know; our own kernel has none. */
static const char no_colours[] =
    "import sys\n"
    "if 'IPython.core' in sys.modules:\n"
    "    try:\n"
    "        get_ipython().run_line_magic('colors', 'nocolor')\n"
    "    except Exception:\n"
    "        pass\n";

static bool plugin(const struct v0 *v, struct str name)
{
    struct json *list = v->en->plugins ? plugins_json(v->en->plugins) : NULL;
    bool found = false;
    for (struct json *p = json_first(list); p; p = json_next(p))
        found = found || str_eq(json_str(p, "name", ""), name);
    json_free(list);
    return found;
}

/* Its name. */
static struct str name_of(const struct v0_shell *sh)
{
    return strcmp(sh->name, "main") == 0 ? STR("python") : str_of(sh->name);
}

static struct kernel *kernel_of(struct v0_shell *sh, struct err *e)
{
    struct v0 *v = sh->v;
    struct buf init = BUF_INIT(4096);
    buf_addz(&init, no_colours);
    if (plugin(v, STR("agent_skills")))
        buf_addz(&init,
                 "try:\n    from agentskills import *\nexcept ImportError:\n    pass\n");
    struct kernel *k = kernel_lookup(v->en, name_of(sh));
    if (!k) {
        struct kernel_opts o = {
            .cwd = str_of(v0_cwd(sh)), .user = v0_user(v), .init = buf_str(&init)};
        k = kernel_open(v->en, name_of(sh), &o, e);
        snprintf(sh->kernel_cwd, sizeof(sh->kernel_cwd), "%s", v0_cwd(sh));
    }
    buf_release(&init);
    return k;
}

struct kernel *v0_kernel(struct v0 *v, struct str session, bool make, struct err *e)
{
    struct v0_shell *sh = v0_shell_of(v, session);
    struct kernel *k = make ? kernel_of(sh, e) : kernel_lookup(v->en, name_of(sh));
    if (!k && !make)
        err_set(e, ERR_NOTFOUND, "there is no kernel %.*s", STR_ARG(name_of(sh)));
    return k;
}

struct kernel *v0_kernel_open(struct v0 *v, struct str session, struct str name,
                              const struct kernel_opts *o, struct err *e)
{
    struct kernel_opts mine = *o;
    mine.user = v0_user(v);
    if (mine.cwd.n == 0)
        mine.cwd = str_of(v0_cwd(v0_shell_of(v, session)));
    return kernel_open(v->en, name, &mine, e);
}

void v0_cell_warm(struct v0 *v)
{
    struct err e = ERR_INIT;
    if (plugin(v, STR("jupyter")))
        kernel_of(v->main, &e);
}

/* ---- what it says ---- */

static void on_output(void *owner, struct str type, const struct json *content)
{
    struct action *a = owner;
    const struct v0_log *log = &a->v->log;
    cell_text_add(a->said, type, content);
    if (a->held && log->said)
        log->said(log->arg, a->id, type, content);
}

static void on_input(void *owner, struct str prompt, bool password)
{
    struct action *a = owner;
    a->v->log.asks(a->v->log.arg, a->id, prompt, password);
}

void v0_cell_input(struct v0 *v, uint64_t id, struct str text)
{
    struct list *it, *tmp;
    list_each (it, tmp, &v->actions) {
        struct action *a = list_entry(it, struct action, node);
        if (a->id == id && a->cell)
            cell_answer(a->cell, text);
    }
}

static void add_extra(struct action *a, struct buf *text, const char *interpreter)
{
    while (text->n && (unsigned char)text->p[text->n - 1] <= ' ')
        text->n--;
    if (json_bool(a->a.args, "include_extra", true))
        buf_addf(
            text,
            "\n[Jupyter current working directory: %s]\n[Jupyter Python interpreter: %s]",
            v0_cwd(a->sh), interpreter);
}

static void answer(struct action *a, struct str content, const struct json *images)
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
    struct action *a = owner;
    struct err e = ERR_INIT;
    struct kernel *k = kernel_of(a->sh, &e);
    struct buf text = BUF_INIT(TEXT_MAX + (16 << 10)); /* and words about it */
    struct json *images = a->said->images;
    double seconds = a->a.has_timeout ? a->a.timeout : DEFAULT_MS / 1000;
    if (r->end == CELL_TIMEOUT) {
        /* The marker as upstream has it; what was printed before it is kept. */
        buf_adds(&text, buf_str(&a->said->text));
        if (text.n && text.p[text.n - 1] != '\n')
            buf_addc(&text, '\n');
        buf_addz(&text, "[Execution timed out (");
        v0_float(&text, seconds);
        buf_addz(&text, " seconds).]");
        images = NULL;
    } else if (a->said->text.n == 0 && !r->err.code)
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

void v0_cell_cancel(struct action *a)
{
    if (cell_runs(a->cell)) {
        kernel_interrupt(kernel_lookup(a->v->en, name_of(a->sh)));
        return;
    }
    cell_drop(a->cell);
    a->cell = NULL;
    cell_text_release(a->said);
    free(a->said);
    a->said = NULL;
    v0_answer_error(a, STR("The action was cancelled before it began"));
}

/* By HTTP nobody could answer. */
static const struct cell_events mute = {on_output, NULL, NULL, on_done};
static const struct cell_events asking = {on_output, NULL, on_input, on_done};

/* Only the shell's directory goes to the kernel, and only when it has changed. */
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

void v0_cell(struct action *a)
{
    struct err e = ERR_INIT;
    char id[LIMIT_ID + 1];
    if (!plugin(a->v, STR("jupyter"))) {
        v0_answer_internal(a,
                           "JupyterRequirement not found. Unable to run IPython action.");
        return;
    }
    struct kernel *k = kernel_of(a->sh, &e);
    v0_id(a, id);
    struct cell_opts o = {.id = id,
                          .code = json_str(a->a.args, "code", ""),
                          .timeout_ms = a->a.has_timeout ? (int64_t)(a->a.timeout * 1000)
                                                         : DEFAULT_MS};
    const struct cell_events *ev = a->held && a->v->log.asks ? &asking : &mute;
    a->said = xnew(struct cell_text);
    cell_text_init(a->said, TEXT_MAX);
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
