/* SPDX-License-Identifier: MIT */
/*
 * Standard input of processes: SendInput, StreamInput, CloseStdin. Bytes that the program
 * does not read yet wait in their request, which is answered when all of them are
 * written. The requests to one process write one after the other.
 */
#include "front/e2b/own.h"

#include "base/xalloc.h"
#include "front/e2b/envelope.h"
#include "shell/op.h"
#include "shell/process.h"

#include <stdlib.h>

enum { WAITING_MAX = 64 /* requests to one process */ };

struct e2b_input {
    struct list node; /* in the process's inputs */
    struct e2b *f;
    struct e2b_process *x; /* NULL: not known yet, or no longer kept */
    struct req *req;
    struct buf bytes; /* owned: decoded, not written yet */
    bool eof;         /* end the input after these bytes */
    struct op *op;    /* reports room, and the end of the process */
    /* For StreamInput: */
    bool stream, ended;
    struct buf frames; /* owned: envelopes that were received */
};

static void input_free(void *p)
{
    struct e2b_input *in = p;
    buf_release(&in->bytes);
    buf_release(&in->frames);
    free(in);
}

/* The request writes no more, so the next one may write. */
static void pass_on(struct e2b_input *in)
{
    struct list *all = &in->x->inputs;
    if (list_empty(&in->node))
        return;
    list_del(&in->node);
    if (!list_empty(all)) {
        struct e2b_input *next = list_first(all, struct e2b_input, node);
        op_note(next->op, NOTE_WINDOW, NULL, 0, 0);
    }
}

static void leave(struct e2b_input *in)
{
    if (in->x)
        pass_on(in);
    if (in->op)
        op_drop(in->op);
    in->x = NULL;
    in->op = NULL;
    in->req = NULL;
    loop_bury(in->f->en->loop, in, input_free);
}

static void fail(struct e2b_input *in, const char *code, const char *text)
{
    struct req *r = in->req;
    bool stream = in->stream;
    leave(in);
    if (stream)
        e2b_rpc_stream_refuse(r, code, text);
    else
        e2b_rpc_fail(r, code, text);
}

static void succeed(struct e2b_input *in)
{
    struct req *r = in->req;
    bool stream = in->stream;
    leave(in);
    if (stream) {
        struct buf b = BUF_INIT(64);
        envelope_put(&b, 0, STR("{}"));
        envelope_put(&b, ENVELOPE_END, STR("{}"));
        req_answer_take(r, 200, "application/connect+json", &b);
    } else {
        e2b_rpc_answer_nothing(r);
    }
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    leave(owner);
}

/* If it is this request's turn, writes as much as fits now. Returns true if everything is
 * written. */
static bool write_some(struct e2b_input *in)
{
    struct process *p = process_find(in->f->en, str_of(in->x->name));
    uint64_t at;
    if (list_empty(&in->node))
        list_add_tail(&in->x->inputs, &in->node);
    if (!p || in->x->inputs.next != &in->node)
        return false;
    size_t room = process_stdin_room(p, &at);
    struct str part = str_sub(buf_str(&in->bytes), 0, room);
    bool all = part.n == in->bytes.n;
    if (part.n > 0 || in->eof)
        process_stdin(p, at, part, all && in->eof);
    buf_consume(&in->bytes, part.n);
    if (all)
        pass_on(in);
    return all;
}

static void stream_on(struct e2b_input *in);

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct e2b_input *in = op->owner;
    (void)text, (void)from, (void)to;
    if (kind != NOTE_WINDOW || list_empty(&in->node))
        return;
    if (in->stream)
        stream_on(in);
    else if (write_some(in))
        succeed(in);
}

static void on_done(struct op *op)
{
    struct e2b_input *in = op->owner;
    in->op = NULL;
    fail(in, "not_found", "the process ended before it read its input");
}

static void attach(struct e2b_input *in, struct e2b_process *x, struct process *p)
{
    static const struct op_sink sink = {.note = on_note, .done = on_done};
    in->x = x;
    in->op = op_new(OP_WAIT, &sink, in);
    in->op->with_stdin = true;
    process_wait(p, in->op);
}

void e2b_inputs_forget(struct e2b_process *x)
{
    while (!list_empty(&x->inputs)) /* usually none: their ops end before */
        fail(list_first(&x->inputs, struct e2b_input, node), "not_found",
             "the process is no longer kept");
}

/* ---- checks ---- */

static const char *refused(const struct e2b_process *x, bool tty)
{
    struct list *it, *tmp;
    unsigned n = 0;
    list_each (it, tmp, &x->inputs)
        n++;
    return tty != x->tty
               ? (x->tty ? "the process has a terminal: send pty and not stdin"
                         : "the process has no terminal: send stdin and not pty")
           : !x->tty && !x->has_stdin ? "the process was started without standard input"
           : !x->tty && x->closed     ? "the standard input of the process is closed"
           : n >= WAITING_MAX         ? "too many requests wait to write to the process"
                                      : NULL;
}

/* Decodes {"stdin": base64} or {"pty": base64}. */
static int decode(const struct json *input, struct buf *out, bool *tty, struct err *e)
{
    bool any = e2b_rpc_get(input, "stdin", NULL) != NULL;
    *tty = e2b_rpc_get(input, "pty", NULL) != NULL;
    if (!json_is_object(input) || any == *tty)
        return err_set(e, ERR_UNSUPPORTED, "input must be {\"stdin\"} or {\"pty\"}");
    return e2b_rpc_bytes(input, *tty ? "pty" : "stdin", out, e);
}

/* ---- SendInput, CloseStdin ---- */

static struct e2b_input *input_new(struct e2b *f, struct req *r)
{
    struct e2b_input *in = xnew(struct e2b_input);
    *in = (struct e2b_input){.f = f, .req = r};
    list_init(&in->node);
    buf_init(&in->bytes, ENVELOPE_MAX);
    buf_init(&in->frames, ENVELOPE_MAX + ENVELOPE_HEAD);
    return in;
}

static void begin(struct req *r, bool eof)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    struct process *p;
    const char *code = NULL, *why = NULL;
    struct json *m = e2b_rpc_read(r);
    bool tty = false;
    engine_touch(f->en);
    if (!m)
        return;
    struct e2b_input *in = input_new(f, r);
    struct e2b_process *x = e2b_process_find(f, m, false, &p, &code, &e);
    in->eof = eof;
    if (x && !eof && decode(e2b_rpc_get(m, "input", NULL), &in->bytes, &tty, &e) < 0)
        code = e2b_rpc_code(e.code);
    else if (x && eof && x->tty)
        why = "the process has a terminal, which ends input at Ctrl-D (0x04)";
    else if (x && eof && x->closed)
        eof = false; /* it is closed already */
    else if (x)
        why = refused(x, tty);
    json_free(m);
    if (e.code || why) {
        input_free(in);
        e2b_rpc_fail(r, why ? "failed_precondition" : code, why ? why : e.text);
    } else if (in->eof && !eof) {
        input_free(in);
        e2b_rpc_answer_nothing(r);
    } else {
        req_own(r, in, on_gone);
        x->closed = x->closed || eof;
        attach(in, x, p);
        if (write_some(in))
            succeed(in);
    }
}

void e2b_process_send_input(struct req *r) { begin(r, false); }
void e2b_process_close_stdin(struct req *r) { begin(r, true); }

/* ---- StreamInput ---- */

/* Takes one message of the stream. Returns -1 if the request was answered. */
static int take_message(struct e2b_input *in, struct str text)
{
    struct err e = ERR_INIT;
    struct process *p;
    const char *code = "invalid_argument", *why = NULL;
    bool tty = false;
    struct json *m = json_parse(text, &e);
    const struct json *start = e2b_rpc_get(m, "start", NULL),
                      *data = e2b_rpc_get(m, "data", NULL);
    if (m && !in->x && !start) {
        code = "invalid_argument";
        why = "the first message must be start, with the process";
    } else if (m && start && in->x) {
        why = "only the first message may be start";
    } else if (m && start) {
        struct e2b_process *x = e2b_process_find(in->f, start, false, &p, &code, &e);
        if (x)
            attach(in, x, p);
    } else if (m && data) {
        if (decode(e2b_rpc_get(data, "input", NULL), &in->bytes, &tty, &e) < 0)
            code = e2b_rpc_code(e.code);
        else if ((why = refused(in->x, tty)))
            code = "failed_precondition";
    }
    json_free(m);
    if (!why && !e.code)
        return 0;
    req_close_after(in->req);
    fail(in, code, why ? why : e.text);
    return -1;
}

/* Handles the next message. Returns 1; 0 if there is none; -1 if r was answered. */
static int next_message(struct e2b_input *in)
{
    struct err e = ERR_INIT;
    struct str rest = buf_str(&in->frames), text;
    int got = envelope_cut(&rest, &text, &e);
    if (got < 0) {
        req_close_after(in->req);
        fail(in, e2b_rpc_code(e.code), e.text);
    }
    if (got <= 0)
        return got;
    if (take_message(in, text) < 0)
        return -1;
    buf_consume(&in->frames, in->frames.n - rest.n);
    return 1;
}

/* Writes messages until one has to wait for room, or more input is needed. */
static void stream_on(struct e2b_input *in)
{
    int got;
    do {
        if (in->bytes.n > 0 && !write_some(in))
            return;
        got = next_message(in);
    } while (got > 0);
    if (got < 0)
        return;
    if (!in->ended)
        req_body_more(in->req);
    else if (in->frames.n > 0)
        fail(in, "invalid_argument", "protocol error: an envelope is cut short");
    else if (!in->x)
        fail(in, "unimplemented", "the request has no message");
    else
        succeed(in);
}

static size_t on_body(struct req *r, struct str bytes, void *owner)
{
    struct e2b_input *in = owner;
    (void)r;
    if (in->bytes.n > 0)
        return 0; /* stream_on takes more later */
    struct str part = str_sub(bytes, 0, buf_room(&in->frames));
    buf_adds(&in->frames, part);
    stream_on(in);
    return part.n;
}

static void on_body_end(struct req *r, void *owner)
{
    struct e2b_input *in = owner;
    (void)r;
    in->ended = true;
    if (in->bytes.n == 0)
        stream_on(in);
}

void e2b_process_stream_input(struct req *r)
{
    struct e2b *f = req_arg(r);
    engine_touch(f->en);
    if (!e2b_rpc_stream_head(r))
        return;
    struct e2b_input *in = input_new(f, r);
    in->stream = true;
    req_own(r, in, on_gone);
    req_on_body(r, on_body, on_body_end);
}
