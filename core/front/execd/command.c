/* SPDX-License-Identifier: MIT */
/*
 * Commands: /command, and commands by /code. A command is the action `process`; its id is
 * the action's key. This file keeps what execd reports in addition to the process, and
 * stores it at the keeper for the next worker. A command goes on when its client
 * disconnects.
 */
#include "front/execd/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "os/file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KILL_MS = 3000, CONTENT_KEPT = 4 << 10, ENVS_MAX = 1 << 20 };

static const char prefix[] = "execd/c/";

/* ---- the records ---- */

static const struct state_field kept[] = {
    STATE_ROW(struct execd_command, process),
    STATE_ROW(struct execd_command, error),
    STATE_ROW(struct execd_command, background),
    STATE_ROW(struct execd_command, running),
    STATE_ROW(struct execd_command, has_exit),
    STATE_ROW(struct execd_command, exit),
    STATE_ROW(struct execd_command, started_ms),
    STATE_ROW(struct execd_command, finished_ms),
    STATE_ROW(struct execd_command, timeout_ms),
    {.name = NULL}};

static void keep(const struct execd_command *c)
{
    struct json *j = state_json(kept, c);
    json_put_str(j, "content", str_sub(str_of(c->content), 0, CONTENT_KEPT));
    state_put(c->f->en, prefix, c->id, j);
    json_free(j);
}

static void command_free(void *p)
{
    struct execd_command *c = p;
    free(c->content);
    free(c);
}

static void forget(struct execd_command *c)
{
    state_drop(c->f->en, prefix, c->id);
    process_call_drop(&c->call);
    timer_stop(&c->kill);
    if (c->op)
        op_drop(c->op);
    list_del(&c->node);
    c->f->ncommands--;
    loop_bury(c->f->en->loop, c, command_free);
}

static struct execd_command *add(struct execd *f, struct str id, struct str content)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->commands) {
        struct execd_command *old = list_entry(it, struct execd_command, node);
        if (f->ncommands < EXECD_COMMANDS_MAX)
            break;
        if (!old->running && !old->stream && list_empty(&old->enders))
            forget(old);
    }
    struct execd_command *c = xnew(struct execd_command);
    c->f = f;
    snprintf(c->id, sizeof(c->id), "%.*s", STR_ARG(id));
    c->content = xstrndup(content.p, content.n);
    c->started_ms = clock_wall_ms();
    c->running = true;
    list_init(&c->enders);
    list_add_tail(&f->commands, &c->node);
    f->ncommands++;
    return c;
}

static struct execd_command *find(const struct execd *f, struct str id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->commands) {
        struct execd_command *c = list_entry(it, struct execd_command, node);
        if (str_eq(id, str_of(c->id)))
            return c;
    }
    return NULL;
}

/* ---- its end ---- */

struct execd_ender {
    struct list node;
    struct req *req;
    struct execd *f;
};

static void answer_enders(struct execd_command *c)
{
    while (!list_empty(&c->enders)) {
        struct execd_ender *x = list_first(&c->enders, struct execd_ender, node);
        list_del(&x->node);
        execd_ok(x->req);
        loop_bury(c->f->en->loop, x, free);
    }
}

static void over(struct execd_command *c, const struct op_result *r)
{
    char text[48];
    c->running = false;
    c->finished_ms = clock_wall_ms();
    timer_stop(&c->kill);
    if (r->state == OP_FAILED) {
        snprintf(c->error, sizeof(c->error), "%.150s", r->err.text);
    } else {
        bool late = c->timeout_ms > 0 && r->signo == SIGKILL &&
                    r->duration_ms >= c->timeout_ms;
        c->has_exit = true;
        c->exit = r->signo ? -1 : r->exit;
        execd_end_text(r->exit, r->signo, text);
        if (late)
            snprintf(c->error, sizeof(c->error), "%s: timeout after %lld ms", text,
                     (long long)c->timeout_ms);
        else if (r->exit || r->signo)
            snprintf(c->error, sizeof(c->error), "%s", text);
    }
    keep(c);
    answer_enders(c);
}

static void on_end(struct op *op)
{
    struct execd_command *c = op->owner;
    c->op = NULL;
    over(c, &op->r);
}

static void wait_for(struct execd_command *c, struct process *p)
{
    static const struct op_sink sink = {.done = on_end};
    c->op = op_new(OP_WAIT, &sink, c);
    process_wait(p, c->op);
}

static void on_started(struct process_call *call, struct process *p)
{
    struct execd_command *c = container_of(call, struct execd_command, call);
    snprintf(c->process, sizeof(c->process), "%s", process_name(p));
    keep(c);
    wait_for(c, p);
    if (c->stream && c->background)
        execd_stream_complete(c->stream, 0);
    else if (c->stream)
        execd_stream_follow(c->stream, p);
    c->stream = NULL;
}

static void on_failed(struct process_call *call, const struct err *e)
{
    struct execd_command *c = container_of(call, struct execd_command, call);
    struct op_result r = {.state = OP_FAILED, .err = *e};
    struct execd_stream *s = c->stream;
    c->stream = NULL;
    over(c, &r);
    if (s)
        execd_stream_error(s, "CommandExecError", e->text, e->text, NULL);
}

/* The client has disconnected before its process was started. */
static void on_stream_gone(void *owner)
{
    struct execd_command *c = owner;
    c->stream = NULL;
}

/* ---- its start ---- */

/*
 * Adds the variables of the file EXECD_ENVS, which is read for each command: KEY=VALUE,
 * in which $NAME is expanded.
 */
static void put_envs(const struct execd *f, struct json *env)
{
    struct buf text = BUF_INIT(ENVS_MAX);
    struct err e = ERR_INIT;
    if (!f->envs[0] || file_read(f->envs, ENVS_MAX, &text, &e) < 0)
        return;
    struct str rest = buf_str(&text);
    while (rest.n > 0) {
        struct str line = str_trim(str_cut(&rest, '\n'));
        if (line.n == 0 || line.p[0] == '#' || str_chr(line, '=') <= 0)
            continue;
        struct str name = str_trim(str_cut(&line, '='));
        struct buf value = BUF_INIT(ENVS_MAX);
        char z[256];
        execd_expand(f, line, &value);
        snprintf(z, sizeof(z), "%.*s", STR_ARG(name));
        json_put_str(env, z, buf_str(&value));
        buf_release(&value);
    }
    buf_release(&text);
}

struct execd_want {
    struct str command, cwd;
    const struct json *envs, *uid, *gid;
    int64_t timeout_ms;
    bool background;
};

/* Returns the arguments of the action; NULL after refusing the request. */
static struct json *args_of(const struct execd *f, struct req *r,
                            const struct execd_want *w)
{
    char space[4096];
    bool is_bash;
    struct err e = ERR_INIT;
    struct stat st;
    struct buf cwd = BUF_INIT(8 << 10);
    if (w->cwd.n > 0 && execd_path(f, w->envs, w->cwd, &cwd, &e) < 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY", "invalid request, validation error %s",
                  e.text);
        buf_release(&cwd);
        return NULL;
    }
    if (w->cwd.n > 0 && (stat(buf_z(&cwd), &st) < 0 || !S_ISDIR(st.st_mode))) {
        execd_say(
            r, 400, "INVALID_REQUEST_BODY",
            "invalid request, validation error working directory does not exist: %s",
            buf_z(&cwd));
        buf_release(&cwd);
        return NULL;
    }
    struct json *args = json_object(), *argv = json_array(), *env = json_object();
    json_push_str(argv, str_of(execd_shell(f, space, &is_bash)));
    json_push_str(argv, STR("-c"));
    json_push_str(argv, w->command);
    json_put(args, "argv", argv);
    if (cwd.n > 0)
        json_put_str(args, "cwd", buf_str(&cwd));
    put_envs(f, env);
    for (struct json *v = json_first(w->envs); v; v = json_next(v))
        json_put_str(env, json_name(v), json_str_value(v, ""));
    if (json_count(env) > 0)
        json_put(args, "env", env);
    else
        json_free(env);
    if (w->uid) {
        char uid[24];
        snprintf(uid, sizeof(uid), "%lld", (long long)json_int_value(w->uid, 0));
        json_put_z(args, "user", uid);
    }
    if (w->timeout_ms > 0)
        json_put_num(args, "timeout", (double)w->timeout_ms / 1000);
    if (w->background)
        json_put_bool(args, "merge", true);
    buf_release(&cwd);
    return args;
}

static void run(struct req *r, const struct execd_want *w)
{
    struct execd *f = req_arg(r);
    struct json *args = args_of(f, r, w);
    struct err e = ERR_INIT;
    char id[EXECD_ID + 1];
    if (!args)
        return;
    random_hex(id, EXECD_ID);
    struct execd_command *c = add(f, str_of(id), w->command);
    struct execd_stream_opts o = {
        .id = id, .timeout_ms = w->timeout_ms, .gone = on_stream_gone, .owner = c};
    c->background = w->background;
    c->timeout_ms = w->timeout_ms;
    c->call.started = on_started;
    c->call.failed = on_failed;
    c->stream = execd_stream_open(f, r, &o);
    if (process_call(&c->call, f->en->actions, EXECD_SOURCE, args, id, &e) < 0)
        on_failed(&c->call, &e);
}

/* ---- routes ---- */

void execd_post_command(struct req *r)
{
    struct execd *f = req_arg(r);
    struct json *body = execd_body(r, false, false);
    engine_touch(f->en);
    if (!body)
        return;
    if (!execd_typed(r, body,
                     "s:command s:cwd b:background i:timeout u:uid u:gid m:envs")) {
        json_free(body);
        return;
    }
    struct execd_want w = {
        .command = json_str(body, "command", ""),
        .cwd = json_str(body, "cwd", ""),
        .envs = json_get(body, "envs"),
        .uid = json_is_number(json_get(body, "uid")) ? json_get(body, "uid") : NULL,
        .gid = json_is_number(json_get(body, "gid")) ? json_get(body, "gid") : NULL,
        .timeout_ms = json_int(body, "timeout", 0),
        .background = json_bool(body, "background", false)};
    const char *wrong = w.command.n == 0   ? "command is required"
                        : w.timeout_ms < 0 ? "timeout must not be negative"
                        : w.gid && !w.uid  ? "uid is required when gid is provided"
                                           : NULL;
    if (wrong)
        execd_say(r, 400, "INVALID_REQUEST_BODY", "invalid request, validation error %s",
                  wrong);
    else if (w.gid && json_int_value(w.gid, 0) != json_int_value(w.uid, 0))
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "gid is not supported: a program has the primary group of its user");
    else
        run(r, &w);
    json_free(body);
}

bool execd_run_code(struct req *r, struct str code, struct str language, struct str id)
{
    struct execd_want w = {.command = code,
                           .background = str_eq(language, STR("background-command"))};
    if (id.n > 0 ||
        (language.n > 0 && !str_eq(language, STR("command")) && !w.background))
        return false;
    run(r, &w);
    return true;
}

void execd_get_status(struct req *r)
{
    struct execd *f = req_arg(r);
    struct execd_command *c = find(f, req_param(r, "id"));
    struct buf b = BUF_INIT(8 << 20);
    if (!c) {
        execd_say(r, 404, "INVALID_REQUEST_BODY", "command not found: %.*s",
                  (int)(req_param(r, "id").n < 100 ? req_param(r, "id").n : 100),
                  req_param(r, "id").p);
        return;
    }
    buf_addf(&b, "{\"id\":\"%s\",\"content\":", c->id);
    execd_quote(&b, str_of(c->content));
    buf_addf(&b, ",\"running\":%s", c->running ? "true" : "false");
    if (c->has_exit)
        buf_addf(&b, ",\"exit_code\":%d", c->exit);
    if (c->error[0]) {
        buf_addz(&b, ",\"error\":");
        execd_quote(&b, str_of(c->error));
    }
    buf_addz(&b, ",\"started_at\":");
    execd_put_time(&b, (double)c->started_ms / 1000);
    if (!c->running) {
        buf_addz(&b, ",\"finished_at\":");
        execd_put_time(&b, (double)c->finished_ms / 1000);
    }
    buf_addc(&b, '}');
    req_answer_take(r, 200, "application/json; charset=utf-8", &b);
}

/* ---- logs ---- */

struct execd_logs {
    struct execd *f;
    struct req *req;
    struct op *op;
};

static size_t on_log(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct execd_logs *l = op->owner;
    (void)stream;
    (void)offset;
    return req_send(l->req, bytes);
}

static void on_log_end(struct op *op)
{
    struct execd_logs *l = op->owner;
    req_end(l->req);
    loop_bury(l->f->en->loop, l, free);
}

static void on_log_room(struct req *r, void *owner)
{
    (void)r;
    op_pump(((struct execd_logs *)owner)->op);
}

static void on_log_gone(struct req *r, void *owner)
{
    struct execd_logs *l = owner;
    (void)r;
    op_drop(l->op);
    loop_bury(l->f->en->loop, l, free);
}

void execd_get_logs(struct req *r)
{
    static const struct op_sink sink = {.output = on_log, .done = on_log_end};
    struct execd *f = req_arg(r);
    struct execd_command *c = find(f, req_param(r, "id"));
    struct process *p = c ? process_find(f->en, str_of(c->process)) : NULL;
    struct buf b = BUF_INIT(32);
    uint64_t cursor = 0;
    char text[24];
    int got = req_query(r, "cursor", &b);
    if (got > 0 && str_to_u64(buf_str(&b), &cursor) < 0)
        cursor = 0;
    buf_release(&b);
    if (!c || !c->background) {
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "command %.40s is not running in background", c ? c->id : "of that id");
        return;
    }
    uint64_t end = p ? process_output(p) : 0;
    cursor = cursor < end ? cursor : end;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)end);
    req_header_add(r, "EXECD-COMMANDS-TAIL-CURSOR", text);
    if (cursor == end) {
        req_answer(r, 200, "text/plain; charset=utf-8", STR(""));
        return;
    }
    struct execd_logs *l = xnew(struct execd_logs);
    *l = (struct execd_logs){.f = f, .req = r, .op = op_new(OP_LOGS, &sink, l)};
    req_own(r, l, on_log_gone);
    req_on_room(r, on_log_room);
    req_begin(r, 200, "text/plain; charset=utf-8", -1);
    l->op->stream = true;
    l->op->cursor = l->op->r.from = cursor;
    l->op->limit = end;
    process_wait(p, l->op);
}

/* ---- interrupts ---- */

static void on_kill(struct timer *t)
{
    struct execd_command *c = container_of(t, struct execd_command, kill);
    struct process *p = process_find(c->f->en, str_of(c->process));
    struct err e = ERR_INIT;
    if (p)
        process_signal(p, SIGKILL, false, &e);
}

static void on_ender_gone(struct req *r, void *owner)
{
    struct execd_ender *x = owner;
    (void)r;
    list_del(&x->node);
    loop_bury(x->f->en->loop, x, free);
}

void execd_delete_command(struct req *r)
{
    struct execd *f = req_arg(r);
    struct buf id = BUF_INIT(256);
    struct err e = ERR_INIT;
    int got = req_query(r, "id", &id);
    struct execd_command *c = got > 0 ? find(f, buf_str(&id)) : NULL;
    struct process *p = c ? process_find(f->en, str_of(c->process)) : NULL;
    if (got <= 0 || id.n == 0) {
        execd_say(r, 400, "MISSING_QUERY", "missing query parameter 'id'");
    } else if (execd_session_close(f, buf_str(&id)) ||
               execd_context_interrupt(f, buf_str(&id))) {
        execd_ok(r);
    } else if (!c) {
        execd_say(r, 500, "RUNTIME_ERROR",
                  "error interruptting code context. no such session");
    } else if (!c->running || !p || process_signal(p, SIGTERM, false, &e) < 0) {
        execd_say(r, 500, "RUNTIME_ERROR",
                  "error interruptting code context. command session ID is not running");
    } else {
        struct execd_ender *x = xnew(struct execd_ender);
        *x = (struct execd_ender){.req = r, .f = f};
        req_own(r, x, on_ender_gone);
        list_add_tail(&c->enders, &x->node);
        if (!timer_active(&c->kill))
            timer_begin(f->en->loop, &c->kill, KILL_MS, on_kill);
    }
    buf_release(&id);
}

/* ---- a worker that takes over ---- */

static void load_one(void *arg, struct str id, struct json *j)
{
    struct execd_command *c = add(arg, id, json_str(j, "content", ""));
    c->running = false;
    state_read(kept, c, j);
}

void execd_commands_load(struct execd *f) { state_each(f->en, prefix, load_one, f); }

void execd_commands_start(struct execd *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->commands) {
        struct execd_command *c = list_entry(it, struct execd_command, node);
        struct process *p = process_find(f->en, str_of(c->process));
        struct op_result r = {.state = OP_FAILED};
        if (!c->running)
            continue;
        if (p) {
            wait_for(c, p);
        } else {
            err_set(&r.err, ERR_GONE, "the server was restarted");
            over(c, &r);
        }
    }
}
