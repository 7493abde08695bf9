/* SPDX-License-Identifier: MIT */
/*
 * Streams of a process's events: start, data, end (process.Process Start and Connect).
 *
 *   STARTING ── the process has a number ─▶ start ─▶ data … ─▶ end ─▶ over
 *       └── it cannot be started: an error in the end frame
 *
 * Each listener reads the spool at its own pace, so that a slow one does not delay the
 * others, and delays the process only when the spool is full. A keepalive event with
 * "gap" reports lost output.
 */
#include "front/e2b/own.h"

#include "action/log.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/xalloc.h"
#include "shell/op.h"
#include "shell/process.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 32 << 10 }; /* bytes of output in one event, as envd's reads have */

struct e2b_listener {
    struct list node; /* in e2b.listeners */
    struct e2b *f;
    struct e2b_process *x; /* borrowed; NULL: the engine no longer keeps the process */
    uint64_t action;       /* the action that starts the process; 0: it runs already */
    int64_t limit_ms;
    struct e2b_rpc_stream out;
    struct op *op; /* of the process; NULL: not begun, or ended */
    bool started;  /* the start event was sent */
    bool moved;    /* the peer took output since the last call of on_moves */
};

static void forget(struct e2b_listener *l)
{
    list_del(&l->node);
    if (l->op)
        op_drop(l->op);
    l->op = NULL;
    if (l->x)
        l->x->listeners--;
    l->x = NULL;
    loop_bury(l->f->en->loop, l, free);
}

static void on_over(void *owner) { forget(owner); }

static void on_room(void *owner)
{
    struct e2b_listener *l = owner;
    if (l->op)
        op_pump(l->op);
}

/* ---- events ---- */

static void send_start(struct e2b_listener *l, const struct process *p)
{
    struct buf b = BUF_INIT(128);
    if (l->started || process_pid(p) <= 0 || !l->out.req)
        return;
    l->started = true;
    buf_addf(&b, "{\"event\":{\"start\":{\"pid\":%d}}}", (int)process_pid(p));
    e2b_rpc_stream_send(&l->out, buf_str(&b));
    buf_release(&b);
}

static void send_data(struct e2b_listener *l, int stream, uint64_t offset,
                      struct str bytes)
{
    static const char *const names[] = {"stdout", "stderr"};
    struct buf b = BUF_INIT(E2B_RPC_EVENT_MAX);
    buf_addf(&b, "{\"event\":{\"data\":{\"%s\":\"", l->x->tty ? "pty" : names[stream]);
    enc_base64(&b, bytes);
    buf_addz(&b, "\"}}}");
    if (offset + bytes.n > l->x->sent[stream])
        l->x->sent[stream] = offset + bytes.n;
    l->moved = true; /* only one frame waits: the peer took the previous one */
    e2b_rpc_stream_send(&l->out, buf_str(&b));
    buf_release(&b);
}

/* Takes all bytes unless the stream is full; only then on_room follows. */
static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct e2b_listener *l = op->owner;
    size_t n = 0;
    send_start(l, op->process);
    while (l->started && n < bytes.n && e2b_rpc_stream_room(&l->out)) {
        struct str piece = str_sub(bytes, n, PIECE);
        send_data(l, stream, offset + n, piece);
        n += piece.n;
    }
    return n;
}

static bool on_asked_room(struct op *op)
{
    const struct e2b_listener *l = op->owner;
    return e2b_rpc_stream_room(&l->out);
}

static bool on_moves(struct op *op)
{
    struct e2b_listener *l = op->owner;
    bool moved = l->moved;
    l->moved = false;
    return moved;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct e2b_listener *l = op->owner;
    struct buf b = BUF_INIT(1024);
    send_start(l, op->process); /* NOTE_WINDOW comes with each change of the process */
    if (kind == NOTE_GAP) {
        buf_addf(&b,
                 "{\"event\":{\"keepalive\":{},\"gap\":{\"from\":\"%llu\","
                 "\"to\":\"%llu\",\"message\":",
                 (unsigned long long)from, (unsigned long long)to);
        json_quote(&b, str_of(text));
        buf_addz(&b, "}}}");
        e2b_rpc_stream_send(&l->out, buf_str(&b));
    }
    buf_release(&b);
}

/* Appends the text of Go's os.ProcessState: "exit status 2", "signal: killed". */
static void put_status(struct buf *b, const struct op_result *r)
{
    if (!r->signo) {
        buf_addf(b, "exit status %d", r->exit);
        return;
    }
    const char *name = r->signo == SIGFPE ? "floating point exception"
                                          : strsignal(r->signo);
    size_t at = b->n + strlen("signal: ");
    buf_addf(b, "signal: %s", name);
    if (!buf_full(b))
        b->p[at] = (char)tolower((unsigned char)b->p[at]);
}

/* exitCode is present only if it is not 0, as in ProtoJSON. */
static void send_end(struct e2b_listener *l, const struct op_result *r)
{
    struct buf b = BUF_INIT(512), status = BUF_INIT(128);
    put_status(&status, r);
    buf_addz(&b, "{\"event\":{\"end\":{");
    if (r->signo || r->exit)
        buf_addf(&b, "\"exitCode\":%d,", r->signo ? -1 : r->exit);
    if (!r->signo)
        buf_addz(&b, "\"exited\":true,");
    buf_addf(&b, "\"status\":\"%s\"", buf_z(&status));
    if (r->signo || r->exit)
        buf_addf(&b, ",\"error\":\"%s\"", buf_z(&status));
    buf_addz(&b, "}}}");
    e2b_rpc_stream_send(&l->out, buf_str(&b));
    e2b_rpc_stream_end(&l->out, NULL, NULL);
    buf_release(&b);
    buf_release(&status);
}

/*
 * Reports a program that cannot be run in the same way as the shell by which envd starts
 * it.
 */
static void send_failure(struct e2b_listener *l, const struct op *op)
{
    struct op_result r = {.exit = op->r.exit};
    struct buf b = BUF_INIT(4096);
    if (!r.exit) {
        e2b_rpc_stream_end(&l->out, e2b_rpc_code(op->r.err.code), op->r.err.text);
        return;
    }
    if (!l->started) /* the process never had a number */
        e2b_rpc_stream_send(&l->out, STR("{\"event\":{\"start\":{}}}"));
    buf_addz(&b, "{\"event\":{\"data\":{\"stderr\":\"");
    enc_base64(&b, str_of(op->r.err.text));
    buf_addz(&b, "\"}}}");
    e2b_rpc_stream_send(&l->out, buf_str(&b));
    buf_release(&b);
    send_end(l, &r);
}

static void on_done(struct op *op)
{
    struct e2b_listener *l = op->owner;
    int64_t ran = clock_wall_ms() - process_since(op->process);
    bool killed = op->r.state == OP_ENDED && op->r.signo == SIGKILL;
    l->op = NULL;
    send_start(l, op->process);
    if (op->r.state == OP_FAILED)
        send_failure(l, op);
    else if (killed && l->limit_ms > 0 && ran >= l->limit_ms)
        e2b_rpc_stream_end(&l->out, "deadline_exceeded",
                           "the process was killed at the time limit of the request");
    else
        send_end(l, &op->r);
}

/* ---- life ---- */

struct e2b_listener *e2b_listen(struct e2b_process *x, struct req *r, uint64_t action,
                                int64_t limit_ms)
{
    struct e2b_listener *l = xnew(struct e2b_listener);
    *l = (struct e2b_listener){.f = x->f, .x = x, .action = action, .limit_ms = limit_ms};
    l->out = (struct e2b_rpc_stream){.loop = x->f->en->loop,
                                     .owner = l,
                                     .room = on_room,
                                     .over = on_over,
                                     .keep_ms = e2b_rpc_keepalive(r),
                                     .keepalive = "{\"event\":{\"keepalive\":{}}}"};
    x->listeners++;
    list_add_tail(&x->f->listeners, &l->node);
    e2b_rpc_stream_begin(&l->out, r);
    return l;
}

void e2b_listener_follow(struct e2b_listener *l, struct process *p,
                         const uint64_t from[2])
{
    static const struct op_sink sink = {on_output, on_note, on_done, on_moves,
                                        on_asked_room};
    struct op *op = op_new(OP_WAIT, &sink, l);
    op->stream = op->caller = op->with_stdin = true;
    op->cursor = from[0];
    op->cursor_err = from[1];
    l->op = op;
    process_wait(p, op);
    if (l->op)
        send_start(l, p);
}

void e2b_listeners_started(struct e2b *f, uint64_t action, struct process *p)
{
    static const uint64_t begin[2];
    struct list *it, *tmp;
    list_each (it, tmp, &f->listeners) {
        struct e2b_listener *l = list_entry(it, struct e2b_listener, node);
        if (l->action == action && !l->op && l->out.req)
            e2b_listener_follow(l, p, begin);
    }
}

void e2b_listeners_ended(struct e2b *f, uint64_t action, uint64_t end,
                         const struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->listeners) {
        struct e2b_listener *l = list_entry(it, struct e2b_listener, node);
        struct err why = ERR_INIT;
        if (l->action != action || l->op || l->started || !l->out.req || l->out.last)
            continue;
        struct json *j = actions_observation(f->actions, end, e, &why);
        if (j)
            err_set(&why, ERR_INTERNAL, "the process was not started");
        json_free(j);
        e2b_rpc_stream_end(&l->out, e2b_rpc_code(why.code), why.text);
    }
}

void e2b_listeners_forget(struct e2b_process *x)
{
    struct list *it, *tmp;
    list_each (it, tmp, &x->f->listeners) {
        struct e2b_listener *l = list_entry(it, struct e2b_listener, node);
        if (l->x == x)
            l->x = NULL;
    }
}

void e2b_listeners_close(struct e2b *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->listeners) {
        struct e2b_listener *l = list_entry(it, struct e2b_listener, node);
        e2b_rpc_stream_end(
            &l->out, "unavailable",
            "the server ends or is replaced; connect to the process again");
    }
}
