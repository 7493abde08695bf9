/* SPDX-License-Identifier: MIT */
/*
 * POST /code: a cell of a context is the action `cell`, and the messages of its kernel
 * become an event stream. In a shell of bash it is the action `run`, whose output an op
 * reads in parallel. Cells of one context run one after the other. A cell goes on when
 * its client disconnects.
 */
#include "front/execd/own.h"

#include "action/cell.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/words.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "kernel/kernel.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 64 << 10, FIRST_MAX = 16 << 10 };

struct execd_code {
    struct list node; /* in execd.codes */
    struct execd *f;
    struct execd_stream *stream; /* borrowed until it ends or its client disconnects */
    struct cell_follower follower;
    uint64_t id; /* of the action */
    bool failed, held;
    /* For a shell: */
    char session[EXECD_UUID + 1];
    struct op *op;  /* borrowed from the session; NULL: no output is read */
    struct buf raw; /* owned: output that may end in half a character */
    uint64_t at;    /* the output before this offset was read */
    bool over;      /* the action has ended: */
    int exit;
    int64_t begun_ms, ms;
};

static void code_free(void *p)
{
    struct execd_code *x = p;
    buf_release(&x->raw);
    free(x);
}

static void bury(struct execd_code *x)
{
    action_cell_unfollow(&x->follower);
    if (x->op)
        op_drop(x->op);
    x->op = NULL;
    list_del(&x->node);
    loop_bury(x->f->en->loop, x, code_free);
}

/* Holds the cell while the client does not read. */
static void flow(struct execd_code *x)
{
    bool hold = execd_stream_waits(x->stream);
    if (hold == x->held)
        return;
    x->held = hold;
    action_cell_hold(x->f->en->actions, x->id, hold);
}

static void raise(struct execd_code *x, const char *name, struct str value)
{
    struct json *traceback = json_array();
    json_push_str(traceback, value);
    if (!x->failed)
        execd_stream_raised(x->stream, str_of(name), value, traceback);
    x->failed = true;
    json_free(traceback);
}

static void complete(struct execd_code *x)
{
    struct execd_stream *s = x->stream;
    int64_t ms = x->ms;
    bury(x);
    execd_stream_complete(s, ms);
}

/* ---- messages of a kernel ---- */

static void on_begun(struct cell_follower *w, int64_t count)
{
    (void)w;
    (void)count;
}

static void on_said(struct cell_follower *w, struct str type, const struct json *content)
{
    struct execd_code *x = container_of(w, struct execd_code, follower);
    struct execd_stream *s = x->stream;
    if (str_eq(type, STR("stream"))) {
        bool err = str_eq(json_str(content, "name", ""), STR("stderr"));
        execd_stream_say(s, err ? "stderr" : "stdout", json_str(content, "text", ""));
    } else if (str_eq(type, STR("execute_result"))) {
        execd_stream_result(s, json_int(content, "execution_count", 0),
                            json_get(content, "data"));
    } else if (str_eq(type, STR("error")) && !x->failed) {
        x->failed = true;
        execd_stream_raised(s, json_str(content, "ename", ""),
                            json_str(content, "evalue", ""),
                            json_get(content, "traceback"));
    } else if (str_eq(type, STR("page"))) {
        execd_stream_say(s, "stdout", json_str(content, "text/plain", ""));
    } else if (str_eq(type, STR("note"))) {
        execd_stream_say(s, "stderr", json_str(content, "text", ""));
    }
    flow(x);
}

/* Sends how the cell ended, unless the kernel has reported an error. */
static void put_end(struct execd_code *x, const struct action_result *result)
{
    struct str end = json_str(result->extras, "end", "");
    struct str why = json_str(result->extras, "why",
                              "the kernel reports that the cell failed");
    x->ms = json_int(result->extras, "duration_ms", 0);
    if (result->error)
        raise(x, "CodeExecError", str_of(result->error->text));
    else if (!result->has_output && !str_eq(end, STR("ok")))
        raise(x, "CodeExecError", why);
}

/* ---- output of a shell ---- */

/* Sends complete text; the lines of a terminal end in CR and LF. */
static void put_text(struct execd_code *x, bool all)
{
    size_t n = all ? x->raw.n : utf8_cut(buf_str(&x->raw), x->raw.n);
    struct buf text = BUF_INIT(PIECE);
    if (!all && n > 0 && x->raw.p[n - 1] == '\r')
        n--;
    for (size_t i = 0; i < n; i++) {
        if (x->raw.p[i] != '\r' || i + 1 == x->raw.n || x->raw.p[i + 1] != '\n')
            buf_addc(&text, x->raw.p[i]);
    }
    execd_stream_say(x->stream, "stdout", buf_str(&text));
    buf_consume(&x->raw, n);
    buf_release(&text);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct execd_code *x = op->owner;
    size_t used = 0;
    (void)stream;
    while (used < bytes.n && !execd_stream_waits(x->stream)) {
        struct str piece = str_sub(bytes, used, PIECE - x->raw.n);
        buf_adds(&x->raw, piece);
        used += piece.n;
        x->at = offset + used;
        put_text(x, false);
    }
    return used;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct execd_code *x = op->owner;
    char note[100];
    (void)text;
    if (kind != NOTE_GAP)
        return;
    snprintf(note, sizeof(note), "[%llu bytes of output are not kept]\n",
             (unsigned long long)(to - from));
    execd_stream_say(x->stream, "stderr", str_of(note));
    x->at = to > x->at ? to : x->at;
}

static void finish(struct execd_code *x)
{
    char value[16], trace[48];
    put_text(x, true);
    x->ms = clock_ms() - x->begun_ms;
    if (x->exit != 0 && !x->failed) {
        struct execd_stream *s = x->stream;
        snprintf(value, sizeof(value), "%d", x->exit);
        execd_end_text(x->exit, 0, trace);
        bury(x);
        execd_stream_error(s, "CommandExecError", value, trace, NULL);
        return;
    }
    complete(x);
}

static void on_done(struct op *op)
{
    struct execd_code *x = op->owner;
    x->op = NULL;
    if (x->over)
        finish(x);
}

static const struct op_sink sink = {
    .output = on_output, .note = on_note, .done = on_done};

/* The command runs: begins to read its output. */
static void on_running(struct action_watch *w, const struct action *a)
{
    struct execd *f = container_of(w, struct execd, watch);
    struct session *s = session_find(f->en, str_of(a->session));
    struct list *it, *tmp;
    list_each (it, tmp, &f->codes) {
        struct execd_code *x = list_entry(it, struct execd_code, node);
        if (x->id != a->id || x->op || !s || a->kind != &action_run_until)
            continue;
        x->at = a->from;
        if (!session_running(s, a->command))
            return;
        x->op = op_new(OP_RUN, &sink, x);
        snprintf(x->op->id, sizeof(x->op->id), "%s", a->command);
        x->op->output_from = a->from;
        x->op->stream = x->op->filter = true;
        session_run(s, x->op);
        return;
    }
}

static void shell_ended(struct execd_code *x, const struct action_result *result)
{
    struct session *s = session_find(x->f->en, str_of(x->session));
    x->over = true;
    x->exit = result->exit_code;
    x->at = x->at > result->from ? x->at : result->from;
    if (x->op) /* the op reads to the end */
        return;
    if (!s || x->at >= result->to) {
        finish(x);
        return;
    }
    x->op = op_new(OP_LOGS, &sink, x);
    x->op->cursor = x->op->r.from = x->at;
    x->op->limit = result->to;
    x->op->stream = x->op->filter = true;
    session_wait(s, x->op);
}

static void on_ended(struct cell_follower *w, const struct action_result *result)
{
    struct execd_code *x = container_of(w, struct execd_code, follower);
    list_init(&w->node);
    put_end(x, result);
    if (x->session[0])
        shell_ended(x, result);
    else
        complete(x);
}

/* ---- the action ---- */

static struct action *open_cell(struct execd_context *c, struct str code, struct err *e)
{
    struct json *message = json_object(), *args = json_object();
    struct action_order o = {
        .source = EXECD_SOURCE, .kind = &action_cell, .session = str_of(c->id)};
    json_put_str(args, "code", code);
    json_put_z(args, "kernel", c->id);
    if (!kernel_lookup(c->f->en, str_of(c->id))) {
        json_put_z(args, "spec", c->spec);
        json_put_z(args, "cwd", c->cwd);
    }
    json_put_z(message, "action", "cell");
    json_put(message, "args", args);
    return action_open(c->f->en->actions, message, &o, e);
}

static struct action *open_run(struct execd_context *c, struct str command, struct err *e)
{
    struct json *message = json_object(), *args = json_object();
    struct action_order o = {
        .source = EXECD_SOURCE, .kind = &action_run_until, .session = str_of(c->id)};
    json_put_str(args, "command", command);
    json_put_z(args, "until", "end");
    json_put_z(message, "action", "run");
    json_put(message, "args", args);
    return action_open(c->f->en->actions, message, &o, e);
}

/* Makes a new shell begin in the directory of its context. */
static int enter(struct execd_context *c, struct err *e)
{
    struct buf b = BUF_INIT(FIRST_MAX);
    buf_addz(&b, "cd -- ");
    words_quote(&b, str_of(c->cwd));
    struct action *a = open_run(c, buf_str(&b), e);
    buf_release(&b);
    if (!a)
        return -1;
    action_go(a);
    return 0;
}

static void on_room(void *owner)
{
    struct execd_code *x = owner;
    flow(x);
    if (x->op)
        op_pump(x->op);
}

static void on_gone(void *owner) { bury(owner); }

static void start(struct req *r, struct execd_context *c, struct str code)
{
    struct execd *f = c->f;
    struct err e = ERR_INIT;
    bool shell = !c->spec[0];
    struct action *a = NULL;
    if (!shell)
        a = open_cell(c, code, &e);
    else if (session_find(f->en, str_of(c->id)) || enter(c, &e) == 0)
        a = open_run(c, code, &e);
    if (!a) {
        execd_say(r, 500, "RUNTIME_ERROR", "error running codes %s", e.text);
        return;
    }
    struct execd_code *x = xnew(struct execd_code);
    struct execd_stream_opts o = {
        .id = c->id, .gone = on_gone, .room = on_room, .owner = x};
    *x = (struct execd_code){
        .f = f,
        .id = a->id,
        .begun_ms = clock_ms(),
        .follower = {.begun = on_begun, .said = on_said, .ended = on_ended}};
    buf_init(&x->raw, PIECE);
    if (shell)
        snprintf(x->session, sizeof(x->session), "%s", c->id);
    list_add_tail(&f->codes, &x->node);
    x->stream = execd_stream_open(f, r, &o);
    action_cell_follow(f->en->actions, x->id, &x->follower);
    action_go(a);
}

void execd_post_code(struct req *r)
{
    struct execd *f = req_arg(r);
    struct json *body = execd_body(r, false, false);
    struct err e = ERR_INIT;
    engine_touch(f->en);
    if (!body)
        return;
    const struct json *context = json_get(body, "context");
    struct str id = json_str(context, "id", ""), code = json_str(body, "code", "");
    struct str language = json_str(context, "language", "");
    struct execd_context *c = NULL;
    if (code.n == 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "invalid request, validation error code is required");
    } else if (!execd_run_code(r, code, language, id)) {
        c = id.n ? execd_context_find(f, id) : execd_context_of(f, language, &e);
        if (c)
            start(r, c, code);
        else
            execd_say(r, 500, "RUNTIME_ERROR", "error running codes %s",
                      id.n ? "context not found" : e.text);
    }
    json_free(body);
}

void execd_codes_init(struct execd *f)
{
    list_init(&f->contexts);
    list_init(&f->codes);
    f->watch.started = on_running;
}
