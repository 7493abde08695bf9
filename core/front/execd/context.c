/* SPDX-License-Identifier: MIT */
/*
 * Contexts of /code: each is a kernel for one language, named by the context's id; for
 * bash without a kernelspec, it is a session of the server. The kernel starts with the
 * first cell. The keeper holds the contexts for the next worker.
 */
#include "front/execd/own.h"

#include "action/outside.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "kernel/kernel.h"
#include "setup/sandbox.h"
#include "shell/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "execd/k/";

static const struct state_field kept[] = {STATE_ROW(struct execd_context, language),
                                         STATE_ROW(struct execd_context, spec),
                                         STATE_ROW(struct execd_context, cwd),
                                         STATE_ROW(struct execd_context, standing),
                                         {.name = NULL}};

static void keep(const struct execd_context *c)
{
    state_keep(c->f->en, prefix, c->id, kept, c);
}

static struct execd_context *add(struct execd *f, struct str id, struct str language,
                                 struct str spec, struct str cwd)
{
    struct execd_context *c = xnew(struct execd_context);
    c->f = f;
    snprintf(c->id, sizeof(c->id), "%.*s", STR_ARG(id));
    snprintf(c->language, sizeof(c->language), "%.*s", STR_ARG(language));
    snprintf(c->spec, sizeof(c->spec), "%.*s", STR_ARG(spec));
    c->cwd = xstrndup(cwd.p, cwd.n);
    list_add_tail(&f->contexts, &c->node);
    f->ncontexts++;
    return c;
}

struct execd_context *execd_context_find(const struct execd *f, struct str id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->contexts) {
        struct execd_context *c = list_entry(it, struct execd_context, node);
        if (str_eq(id, str_of(c->id)))
            return c;
    }
    return NULL;
}

/* ---- making one ---- */

static bool is_one_of(struct str word, const char *const *list)
{
    while (*list && !str_eq(word, str_of(*list)))
        list++;
    return *list != NULL;
}

static int fail_language(struct str language, struct err *e)
{
    static const char *const known[] = {"python", "java", "javascript", "typescript",
                                        "go",     "bash", NULL};
    if (is_one_of(language, known))
        return err_set(e, ERR_NOTFOUND,
                       "language runtime server not configured, please check your image "
                       "runtime");
    return err_set(e, ERR_NOTFOUND, "unknown language: %.*s",
                   (int)(language.n < 100 ? language.n : 100), language.p);
}

/* cwd "": the directory of sessions. Returns NULL and sets *e on failure. */
static struct execd_context *make(struct execd *f, struct str language, struct str cwd,
                                  bool standing, struct err *e)
{
    char id[EXECD_UUID + 1];
    struct execd_context *c = NULL;
    if (f->ncontexts >= EXECD_CONTEXTS_MAX) {
        err_set(e, ERR_LIMIT, "%d contexts are open: delete one", EXECD_CONTEXTS_MAX);
        return NULL;
    }
    if (cwd.n == 0)
        cwd = str_of(sandbox_cwd(f->en->sandbox, STR("main")));
    struct json *all = kernel_overview(f->en, cwd);
    const struct json *spec = kernel_spec_of(json_get(all, "specs"), language);
    if (spec || str_eq(language, STR("bash"))) {
        execd_uuid(id);
        c = add(f, str_of(id), language, json_str(spec, "name", ""), cwd);
        c->standing = standing;
        keep(c);
    } else {
        fail_language(language, e);
    }
    json_free(all);
    return c;
}

struct execd_context *execd_context_of(struct execd *f, struct str language,
                                       struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->contexts) {
        struct execd_context *c = list_entry(it, struct execd_context, node);
        if (c->standing && str_eq(language, str_of(c->language)))
            return c;
    }
    return make(f, language, STR(""), true, e);
}

/* ---- its kernel ---- */

/* Does an action on the context's kernel or shell. A failure is only logged. */
static void act(struct execd_context *c, const char *name, struct json *take_args)
{
    struct json *message = json_object();
    struct action_order o = {.source = EXECD_SOURCE, .session = str_of(c->id)};
    struct err e = ERR_INIT;
    json_put_z(message, "action", name);
    json_put(message, "args", take_args);
    struct action *a = action_open(c->f->en->actions, message, &o, &e);
    if (a)
        action_go(a);
    else
        log_warn("execd: %s of the context %s: %s", name, c->id, e.text);
}

bool execd_context_interrupt(struct execd *f, struct str id)
{
    struct execd_context *c = execd_context_find(f, id);
    struct json *args = json_object();
    if (c && !c->spec[0] && session_find(f->en, str_of(c->id))) {
        json_put_z(args, "signal", "INT");
        json_put_bool(args, "tree", true); /* also the shell while it runs no program */
        act(c, "signal", args);
    } else if (c && c->spec[0] && kernel_lookup(f->en, str_of(c->id))) {
        json_put_z(args, "kernel", c->id);
        act(c, "interrupt_kernel", args);
    } else {
        json_free(args);
    }
    return c != NULL;
}

static void end_shell(const struct execd_context *c, struct session *s)
{
    struct outside_order o = {.kind = "kill",
                              .session = str_of(c->id),
                              .source = EXECD_SOURCE,
                              .uid = getuid(),
                              .pid = getpid()};
    struct action *a;
    uint64_t end;
    outside_open(c->f->en->actions, &o, &a, &end);
    session_kill(s, SIGHUP, 0, true, NULL, NULL);
    if (a)
        outside_end(a, STR(""), NULL);
}

static void context_free(void *p)
{
    struct execd_context *c = p;
    free(c->cwd);
    free(c);
}

static void remove_context(struct execd_context *c)
{
    struct session *s = c->spec[0] ? NULL : session_find(c->f->en, str_of(c->id));
    if (s) {
        end_shell(c, s);
    } else if (c->spec[0] && kernel_lookup(c->f->en, str_of(c->id))) {
        struct json *args = json_object();
        json_put_z(args, "kernel", c->id);
        act(c, "close_kernel", args);
    }
    state_drop(c->f->en, prefix, c->id);
    list_del(&c->node);
    c->f->ncontexts--;
    loop_bury(c->f->en->loop, c, context_free);
}

/* ---- routes ---- */

static struct json *about(const struct execd_context *c)
{
    struct json *j = json_object();
    json_put_z(j, "id", c->id);
    json_put_z(j, "language", c->language);
    return j;
}

void execd_post_context(struct req *r)
{
    struct execd *f = req_arg(r);
    struct json *body = execd_body(r, false, false);
    struct buf dir = BUF_INIT(8 << 10);
    struct err e = ERR_INIT;
    struct stat st;
    engine_touch(f->en);
    if (!body)
        return;
    struct str cwd = json_str(body, "cwd", ""), language = json_str(body, "language", "");
    struct execd_context *c = NULL;
    if (language.n == 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "invalid request, validation error language is required");
    } else if (cwd.n && execd_path(f, NULL, cwd, &dir, &e) < 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY", "%s", e.text);
    } else if (cwd.n && (stat(buf_z(&dir), &st) < 0 || !S_ISDIR(st.st_mode))) {
        execd_say(r, 500, "RUNTIME_ERROR",
                  "error creating code context. working directory does not exist: %s",
                  buf_z(&dir));
    } else if (!(c = make(f, language, buf_str(&dir), false, &e))) {
        execd_say(r, 500, "RUNTIME_ERROR", "error creating code context. %s", e.text);
    } else {
        struct json *j = about(c);
        if (cwd.n)
            json_put_z(j, "cwd", c->cwd);
        execd_json(r, 200, j);
    }
    buf_release(&dir);
    json_free(body);
}

static void unknown(struct req *r)
{
    execd_say(r, 404, "CONTEXT_NOT_FOUND", "context %.*s not found",
              (int)(req_param(r, "id").n < 100 ? req_param(r, "id").n : 100),
              req_param(r, "id").p);
}

void execd_get_contexts(struct req *r)
{
    static const char *const without[] = {"command", "background-command", "sql", NULL};
    struct execd *f = req_arg(r);
    struct buf language = BUF_INIT(256);
    struct json *all = json_array();
    struct list *it, *tmp;
    req_query(r, "language", &language);
    list_each (it, tmp, &f->contexts) {
        const struct execd_context *c = list_entry(it, struct execd_context, node);
        if (language.n == 0 || str_eq(buf_str(&language), str_of(c->language)))
            json_push(all, about(c));
    }
    if (is_one_of(buf_str(&language), without)) {
        execd_say(r, 500, "RUNTIME_ERROR", "unsupported language: %s", buf_z(&language));
        json_free(all);
    } else {
        execd_json(r, 200, all);
    }
    buf_release(&language);
}

void execd_delete_contexts(struct req *r)
{
    struct execd *f = req_arg(r);
    struct buf language = BUF_INIT(256);
    struct list *it, *tmp;
    if (req_query(r, "language", &language) <= 0 || language.n == 0) {
        execd_say(r, 400, "MISSING_QUERY", "missing query parameter 'language'");
        buf_release(&language);
        return;
    }
    list_each (it, tmp, &f->contexts) {
        struct execd_context *c = list_entry(it, struct execd_context, node);
        if (str_eq(buf_str(&language), str_of(c->language)))
            remove_context(c);
    }
    buf_release(&language);
    execd_ok(r);
}

void execd_get_context(struct req *r)
{
    struct execd_context *c = execd_context_find(req_arg(r), req_param(r, "id"));
    if (c)
        execd_json(r, 200, about(c));
    else
        unknown(r);
}

void execd_delete_context(struct req *r)
{
    struct execd_context *c = execd_context_find(req_arg(r), req_param(r, "id"));
    if (c) {
        remove_context(c);
        execd_ok(r);
    } else {
        unknown(r);
    }
}

static void load_one(void *arg, struct str id, struct json *j)
{
    state_read(kept, add(arg, id, STR(""), STR(""), STR("/")), j);
}

void execd_contexts_load(struct execd *f) { state_each(f->en, prefix, load_one, f); }
