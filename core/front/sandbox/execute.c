/* SPDX-License-Identifier: MIT */
/*
 * POST /execute: {"command"} ─▶ {"stdout", "stderr", "exit_code"}
 *
 * The command is split into words as a shell does, and run without a shell, as the action
 * `process`. The answer begins when the process has ended; its spools are sent as fast as
 * the client reads. If the command fails to run, the status is 200 with exit_code 1,
 * since clients repeat a request that was answered with 5xx. If the client disconnects,
 * the process goes on until its time limit.
 */
#include "front/sandbox/own.h"

#include "action/process.h"
#include "base/utf8.h"
#include "base/words.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/model/model.h"
#include "shell/op.h"
#include "shell/process.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 32 << 10, QUOTED = 6 * PIECE + 1024 };

struct sandbox_http_execute {
    struct list node; /* in sandbox_http.executes */
    struct sandbox_http *f;
    struct req *req; /* NULL: gone, or answered */
    struct process_call call;
    struct process *p; /* borrowed, while op is there */
    struct op *op;     /* borrowed from it: the wait, then a reader of each output */
    int stream;        /* the one that is read */
    int exit;
    bool timed_out;
    struct buf out; /* owned: the part of the answer that has not been sent */
};

static void execute_free(void *p)
{
    struct sandbox_http_execute *x = p;
    buf_release(&x->out);
    free(x);
}

static void bury(struct sandbox_http_execute *x)
{
    process_call_drop(&x->call);
    if (x->op)
        op_drop(x->op);
    list_del(&x->node);
    loop_bury(x->f->en->loop, x, execute_free);
}

/* ---- the answer ---- */

/* Sends x->out. Returns false if some of it is left. */
static bool push(struct sandbox_http_execute *x)
{
    size_t n = x->req ? req_send(x->req, buf_str(&x->out)) : x->out.n;
    buf_consume(&x->out, n);
    return x->out.n == 0;
}

/* Appends s as the inside of a JSON string. */
static void put_text(struct sandbox_http_execute *x, struct str s)
{
    struct buf quoted = BUF_INIT(QUOTED);
    json_quote(&quoted, s);
    buf_adds(&x->out, str_sub(buf_str(&quoted), 1, quoted.n - 2));
    buf_release(&quoted);
}

static void finish(struct sandbox_http_execute *x)
{
    if (x->timed_out) {
        char text[160];
        snprintf(text, sizeof(text),
                 "Failed to execute command: it timed out after %lld seconds and was "
                 "killed\n",
                 (long long)x->f->timeout_ms / 1000);
        put_text(x, str_of(text));
    }
    buf_addf(&x->out, "\",\"exit_code\":%d}", x->exit);
    push(x);
    req_end(x->req);
    x->req = NULL;
    bury(x);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct sandbox_http_execute *x = op->owner;
    bool last = offset + bytes.n >= op->limit;
    size_t used = 0;
    (void)stream;
    while (used < bytes.n) {
        struct str piece = str_sub(bytes, used, PIECE);
        size_t whole = utf8_cut(piece, piece.n);
        if (!push(x))
            return used; /* continues in on_room */
        /* An incomplete character waits for its rest, unless this is the end. */
        if (used + piece.n < bytes.n || !last)
            piece.n = whole;
        if (piece.n == 0)
            break;
        put_text(x, piece);
        used += piece.n;
    }
    push(x);
    if (used < bytes.n)
        task_defer(x->f->en->loop, &op->pump);
    return used;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct sandbox_http_execute *x = op->owner;
    char note[100];
    (void)text;
    if (kind != NOTE_GAP)
        return;
    snprintf(note, sizeof(note), "\n[%llu bytes of output are not kept]\n",
             (unsigned long long)(to - from));
    put_text(x, str_of(note));
}

static void read_output(struct sandbox_http_execute *x);

static void on_read(struct op *op)
{
    struct sandbox_http_execute *x = op->owner;
    x->op = NULL;
    if (x->stream++ == 0) {
        buf_addz(&x->out, "\",\"stderr\":\"");
        read_output(x);
    } else {
        finish(x);
    }
}

static void read_output(struct sandbox_http_execute *x)
{
    static const struct op_sink sink = {
        .output = on_output, .note = on_note, .done = on_read};
    int fd;
    const struct keep_stream *s = process_stream(x->p, x->stream, &fd);
    x->op = op_new(OP_LOGS, &sink, x);
    x->op->stream = true;
    x->op->stderr_only = x->stream == 1;
    x->op->limit = s ? s->offset : 0;
    process_wait(x->p, x->op);
}

static void begin_answer(struct sandbox_http_execute *x)
{
    req_begin(x->req, 200, "application/json", -1);
    buf_addz(&x->out, "{\"stdout\":\"");
    read_output(x);
}

static void answer_failure(struct req *r, const struct err *e)
{
    struct json *j = json_object();
    struct buf text = BUF_INIT(2048);
    buf_addf(&text, "Failed to execute command: %s", e->text);
    json_put_z(j, "stdout", "");
    json_put_str(j, "stderr", buf_str(&text));
    json_put_int(j, "exit_code", 1);
    buf_release(&text);
    sandbox_http_answer(r, 200, j);
}

static void fail(struct sandbox_http_execute *x, const struct err *e)
{
    struct req *r = x->req;
    x->req = NULL;
    answer_failure(r, e);
    bury(x);
}

/* ---- the process ---- */

static void on_ended(struct op *op)
{
    struct sandbox_http_execute *x = op->owner;
    x->op = NULL;
    if (op->r.state == OP_FAILED) {
        fail(x, &op->r.err);
        return;
    }
    x->exit = op->r.signo ? -op->r.signo : op->r.exit;
    x->timed_out = x->f->timeout_ms > 0 && op->r.duration_ms >= x->f->timeout_ms &&
                   op->r.signo == 9;
    if (x->timed_out)
        x->exit = 1;
    begin_answer(x);
}

static void on_started(struct process_call *c, struct process *p)
{
    static const struct op_sink sink = {.done = on_ended};
    struct sandbox_http_execute *x = container_of(c, struct sandbox_http_execute, call);
    x->p = p;
    x->op = op_new(OP_WAIT, &sink, x);
    process_wait(p, x->op);
}

static void on_failed(struct process_call *c, const struct err *e)
{
    fail(container_of(c, struct sandbox_http_execute, call), e);
}

/* ---- the request ---- */

static void on_room(struct req *r, void *owner)
{
    struct sandbox_http_execute *x = owner;
    (void)r;
    if (push(x) && x->op)
        op_pump(x->op);
}

static void on_gone(struct req *r, void *owner)
{
    struct sandbox_http_execute *x = owner;
    (void)r;
    x->req = NULL;
    bury(x);
}

/* Returns NULL and sets *e if the command has no word or cannot be split. */
static struct json *args_of(const struct sandbox_http *f, struct str command,
                            struct err *e)
{
    int n = 0;
    char **words = words_split(command, &n, e);
    struct json *args = NULL;
    if (words && n == 0) {
        err_set(e, ERR_INVALID, "the command has no word");
    } else if (words) {
        struct json *argv = json_array();
        args = json_object();
        for (int i = 0; i < n; i++)
            json_push_str(argv, str_of(words[i]));
        json_put(args, "argv", argv);
        json_put_z(args, "cwd", sandbox_http_base(f));
        if (f->timeout_ms > 0)
            json_put_num(args, "timeout", (double)f->timeout_ms / 1000);
    }
    words_free(words);
    return args;
}

void sandbox_http_post_execute(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "command", .type = MODEL_STRING, .required = true}, {0}};
    static const struct model model = {.fields = fields};
    struct sandbox_http *f = req_arg(r);
    struct json *errors = NULL, *body = model_body(&model, r, &errors);
    struct err e = ERR_INIT;
    engine_touch(f->en);
    if (!body) {
        model_refuse(r, errors);
        return;
    }
    struct json *args = args_of(f, json_str(body, "command", ""), &e);
    json_free(body);
    if (!args) {
        answer_failure(r, &e);
        return;
    }
    struct sandbox_http_execute *x = xnew(struct sandbox_http_execute);
    *x = (struct sandbox_http_execute){.f = f, .req = r, .out = BUF_INIT(2 * QUOTED)};
    x->call.started = on_started;
    x->call.failed = on_failed;
    list_add_tail(&f->executes, &x->node);
    req_own(r, x, on_gone);
    req_on_room(r, on_room);
    if (process_call(&x->call, f->en->actions, SANDBOX_SOURCE, args, NULL, &e) < 0)
        fail(x, &e);
}
