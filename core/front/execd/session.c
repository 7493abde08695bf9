/* SPDX-License-Identifier: MIT */
/*
 * Bash sessions: /session. As in execd each run is a shell of its own, which gets the
 * exported variables and the directory that the previous run left, and reports its own at
 * its end. The report goes through the error output, which only the script can write, so
 * that no part of it can get into the output. The command's error output goes to its
 * output.
 */
#include "front/execd/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/execd/session_run.sh.h"
#include "setup/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char prefix[] = "execd/s/";

struct execd_session {
    struct list node; /* in execd.sessions */
    struct execd *f;
    char id[EXECD_UUID + 1];
    char *cwd;        /* owned */
    struct json *env; /* owned: all exported variables; NULL: the server's */
    struct list runs; /* struct execd_session_run */
    bool closed;
};

struct execd_session_run {
    struct list node;
    struct execd_session *s;
    struct process_call call;
    struct execd_stream *stream; /* until its process is started */
    char process[48];
};

static const struct state_field kept[] = {
    STATE_ROW(struct execd_session, cwd),
    STATE_ROW(struct execd_session, env),
    {.name = NULL}};

static void keep(const struct execd_session *s)
{
    struct json *j = state_json(kept, s);
    if (!state_put(s->f->en, prefix, s->id, j)) {
        json_free(json_take(j, "env")); /* the next worker begins without it */
        state_put(s->f->en, prefix, s->id, j);
    }
    json_free(j);
}

static struct execd_session *add(struct execd *f, struct str id, struct str cwd)
{
    struct execd_session *s = xnew(struct execd_session);
    s->f = f;
    snprintf(s->id, sizeof(s->id), "%.*s", STR_ARG(id));
    s->cwd = xstrndup(cwd.p, cwd.n);
    list_init(&s->runs);
    list_add_tail(&f->sessions, &s->node);
    f->nsessions++;
    return s;
}

static struct execd_session *find(const struct execd *f, struct str id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->sessions) {
        struct execd_session *s = list_entry(it, struct execd_session, node);
        if (str_eq(id, str_of(s->id)))
            return s;
    }
    return NULL;
}

static void session_free(void *p)
{
    struct execd_session *s = p;
    free(s->cwd);
    json_free(s->env);
    free(s);
}

static void release(struct execd_session *s)
{
    if (s->closed && list_empty(&s->runs))
        loop_bury(s->f->en->loop, s, session_free);
}

/* ---- runs ---- */

static void run_over(struct execd_session_run *x)
{
    struct execd_session *s = x->s;
    process_call_drop(&x->call);
    list_del(&x->node);
    loop_bury(s->f->en->loop, x, free);
    release(s);
}

static void stop(struct execd_session_run *x)
{
    struct process *p = process_find(x->s->f->en, str_of(x->process));
    struct err e = ERR_INIT;
    if (p)
        process_signal(p, SIGKILL, false, &e);
}

/* Takes the script's report: NUL-terminated NAME=VALUE, then the directory. */
static void take_state(struct execd_session *s, struct str state)
{
    struct json *env = json_object();
    struct str cwd = {NULL, 0};
    bool whole = state.n > 0 && state.p[state.n - 1] == 0;
    while (state.n > 0) {
        struct str one = str_cut(&state, 0);
        if (one.n > 0 && one.p[0] == '/') {
            cwd = one;
            continue;
        }
        struct str value = one, name = str_cut(&value, '=');
        char z[256];
        if (name.n == one.n || name.n == 0 || name.n >= sizeof(z))
            continue;
        snprintf(z, sizeof(z), "%.*s", STR_ARG(name));
        if (strcmp(z, "SHLVL") != 0 && strcmp(z, "_") != 0)
            json_put_str(env, z, value);
    }
    if (whole && cwd.n > 0) {
        json_free(s->env);
        free(s->cwd);
        s->env = env;
        s->cwd = xstrndup(cwd.p, cwd.n);
        if (!s->closed)
            keep(s);
    } else {
        json_free(env);
    }
}

static void on_over(void *owner, const struct op_result *r, struct str state)
{
    struct execd_session_run *x = owner;
    if (r->state != OP_FAILED)
        take_state(x->s, state);
    run_over(x);
}

static void on_gone(void *owner)
{
    struct execd_session_run *x = owner;
    stop(x); /* as in execd */
    x->stream = NULL;
    run_over(x);
}

static void on_started(struct process_call *call, struct process *p)
{
    struct execd_session_run *x = container_of(call, struct execd_session_run, call);
    struct execd_stream *stream = x->stream;
    snprintf(x->process, sizeof(x->process), "%s", process_name(p));
    if (x->s->closed)
        stop(x);
    execd_stream_follow(stream, p);
}

static void on_failed(struct process_call *call, const struct err *e)
{
    struct execd_session_run *x = container_of(call, struct execd_session_run, call);
    struct execd_stream *stream = x->stream;
    run_over(x);
    execd_stream_error(stream, "CommandExecError", e->text, e->text, NULL);
}

static struct json *args_of(const struct execd_session *s, struct str command,
                            struct str cwd, int64_t timeout_ms)
{
    char space[4096];
    bool is_bash;
    struct json *args = json_object(), *argv = json_array();
    json_push_str(argv, str_of(execd_shell(s->f, space, &is_bash)));
    if (is_bash) {
        json_push_str(argv, STR("--noprofile"));
        json_push_str(argv, STR("--norc"));
    }
    json_push_str(argv, STR("-c"));
    json_push_str(argv, str_of(session_run_sh));
    json_push_str(argv, STR("bash"));
    json_push_str(argv, command);
    json_put(args, "argv", argv);
    json_put_str(args, "cwd", cwd);
    if (s->env) {
        json_put(args, "env", json_copy(s->env));
        json_put_bool(args, "env_only", true);
    }
    if (timeout_ms > 0)
        json_put_num(args, "timeout", (double)timeout_ms / 1000);
    return args;
}

void execd_post_run(struct req *r)
{
    struct execd *f = req_arg(r);
    struct execd_session *s = find(f, req_param(r, "id"));
    struct json *body = execd_body(r, false, false);
    struct err e = ERR_INIT;
    struct stat st;
    engine_touch(f->en);
    if (!body)
        return;
    if (!execd_typed(r, body, "s:command s:cwd i:timeout")) {
        json_free(body);
        return;
    }
    struct str command = json_str(body, "command", ""), cwd = json_str(body, "cwd", "");
    int64_t timeout_ms = json_int(body, "timeout", 0);
    struct buf dir = BUF_INIT(8 << 10);
    int rc = cwd.n ? execd_path(f, NULL, cwd, &dir, &e) : 0;
    if (command.n == 0 || timeout_ms < 0 || rc < 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY", "invalid request, validation error %s",
                  rc < 0      ? e.text
                  : command.n ? "timeout must not be negative"
                              : "command is required");
    } else if (cwd.n && (stat(buf_z(&dir), &st) < 0 || !S_ISDIR(st.st_mode))) {
        execd_say(
            r, 400, "INVALID_REQUEST_BODY",
            "invalid request, validation error working directory does not exist: %s",
            buf_z(&dir));
    } else if (!s) {
        execd_say(r, 500, "RUNTIME_ERROR", "error running in session. context not found");
    } else {
        struct execd_session_run *x = xnew(struct execd_session_run);
        struct execd_stream_opts o = {.id = s->id,
                                      .timeout_ms = timeout_ms,
                                      .state = true,
                                      .over = on_over,
                                      .gone = on_gone,
                                      .owner = x};
        struct json *args = args_of(s, command, cwd.n ? buf_str(&dir) : str_of(s->cwd),
                                    timeout_ms);
        x->s = s;
        x->call.started = on_started;
        x->call.failed = on_failed;
        list_add_tail(&s->runs, &x->node);
        x->stream = execd_stream_open(f, r, &o);
        if (process_call(&x->call, f->en->actions, EXECD_SOURCE, args, NULL, &e) < 0)
            on_failed(&x->call, &e);
    }
    buf_release(&dir);
    json_free(body);
}

/* ---- routes ---- */

void execd_post_session(struct req *r)
{
    struct execd *f = req_arg(r);
    struct json *body = execd_body(r, false, true);
    struct buf dir = BUF_INIT(8 << 10);
    struct err e = ERR_INIT;
    char id[EXECD_UUID + 1];
    engine_touch(f->en);
    if (!body)
        return;
    struct str cwd = json_str(body, "cwd", "");
    if (f->nsessions >= EXECD_SESSIONS_MAX) {
        execd_say(r, 500, "RUNTIME_ERROR", "%d sessions are open: delete one",
                  EXECD_SESSIONS_MAX);
    } else if (cwd.n && execd_path(f, NULL, cwd, &dir, &e) < 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY", "%s", e.text);
    } else {
        if (!cwd.n)
            buf_addz(&dir, sandbox_cwd(f->en->sandbox, STR("main")));
        execd_uuid(id);
        struct execd_session *s = add(f, str_of(id), buf_str(&dir));
        keep(s);
        if (cwd.n)
            execd_make_folder(r, buf_str(&dir), id, 200);
        else
            execd_say_session(r, id, 200);
    }
    buf_release(&dir);
    json_free(body);
}

bool execd_session_close(struct execd *f, struct str id)
{
    struct execd_session *s = find(f, id);
    struct list *it, *tmp;
    if (!s)
        return false;
    state_drop(s->f->en, prefix, s->id);
    s->closed = true;
    list_del(&s->node);
    f->nsessions--;
    list_each (it, tmp, &s->runs)
        stop(list_entry(it, struct execd_session_run, node));
    release(s);
    return true;
}

void execd_delete_session(struct req *r)
{
    struct execd *f = req_arg(r);
    if (execd_session_close(f, req_param(r, "id")))
        execd_ok(r);
    else
        execd_say(r, 404, "CONTEXT_NOT_FOUND", "session not found");
}

static void load_one(void *arg, struct str id, struct json *j)
{
    state_read(kept, add(arg, id, STR("/")), j);
}

void execd_sessions_load(struct execd *f) { state_each(f->en, prefix, load_one, f); }
