/* SPDX-License-Identifier: MIT */
/*
 * /pty: a shell on a terminal, or on pipes, with one client at a time on a WebSocket. The
 * first client starts the program, and the next one after its end starts it again. The
 * newest 1 MiB of output is kept in memory, by its offset in all output ever written. A
 * client gets the part that it lacks in one frame before `connected`.
 *
 *   to us    binary 0x00 bytes: input; text: stdin, signal, resize, ping
 *   from us  binary 0x01 output, 0x02 error output, 0x03 replay with its offset; text:
 *            connected, exit, error, pong
 *
 * A client that does not read blocks its program. The program outlives a killed worker:
 * the next worker reads the newest output again from the spool. A client that comes in
 * the meantime is connected when that is done.
 */
#include "front/execd/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"
#include "http/ws.h"
#include "http/ws_hello.h"
#include "os/sig.h"
#include "setup/sandbox.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RING = 1 << 20,
    FRAME = 32 << 10,
    MESSAGE_MAX = 1 << 20,
    OUT_MAX = 4 << 20,
    ROWS = 24,
    COLS = 80,
    TAKEN_OVER = 4001 /* code of the Close to a client that is replaced */
};

static const char prefix[] = "execd/p/";

struct execd_pty {
    struct list node; /* in execd.ptys */
    struct execd *f;
    char id[EXECD_UUID + 1];
    char *cwd, *command; /* owned; command NULL: a shell */
    struct buf ring;     /* owned: the newest output */
    uint64_t offset;     /* of all output */
    uint64_t base;       /* the part of it that earlier programs wrote */
    uint64_t known;      /* the previous worker may have sent output up to here */
    struct process_call call;
    struct op *op; /* borrowed from the process; NULL: nothing runs */
    char process[48];
    bool calling, tty, closed;
    struct execd_pty_client *client; /* NULL: no client is attached */
};

struct execd_pty_client {
    struct ws ws;
    struct execd_pty *p; /* NULL: it was replaced, or the session was removed */
    struct execd *f;
    uint64_t since;
    bool connected;
    struct buf input; /* owned: input for which the program had no room */
};

/* ---- its life ---- */

static struct execd_pty *find(const struct execd *f, struct str id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->ptys) {
        struct execd_pty *p = list_entry(it, struct execd_pty, node);
        if (str_eq(id, str_of(p->id)))
            return p;
    }
    return NULL;
}

static const struct state_field kept[] = {
    STATE_ROW(struct execd_pty, cwd),
    STATE_ROW(struct execd_pty, command),
    STATE_ROW(struct execd_pty, process),
    STATE_ROW(struct execd_pty, tty),
    STATE_ROW(struct execd_pty, base),
    STATE_ROW(struct execd_pty, offset),
    {.name = NULL}};

static void keep(const struct execd_pty *p)
{
    state_keep(p->f->en, prefix, p->id, kept, p);
}

static void pty_free(void *arg)
{
    struct execd_pty *p = arg;
    buf_release(&p->ring);
    free(p->cwd);
    free(p->command);
    free(p);
}

static void client_free(void *arg)
{
    struct execd_pty_client *c = arg;
    buf_release(&c->input);
    free(c);
}

/* ---- messages ---- */

static void say(struct execd_pty_client *c, struct json *take)
{
    struct buf b = BUF_INIT(4096);
    json_print(&b, take);
    json_free(take);
    ws_send(&c->ws, true, buf_str(&b));
    buf_release(&b);
}

static struct json *message(const char *type)
{
    struct json *j = json_object();
    json_put_z(j, "type", type);
    return j;
}

static void say_error(struct execd_pty_client *c, const char *code, const char *text)
{
    struct json *j = message("error");
    json_put_z(j, "error", text);
    json_put_z(j, "code", code);
    say(c, j);
}

/* Sends the output that the client lacks, and then `connected`. */
static void connect_client(struct execd_pty_client *c)
{
    struct execd_pty *p = c->p;
    uint64_t oldest = p->offset - p->ring.n;
    uint64_t from = c->since < oldest ? oldest : c->since;
    if (from < p->offset) {
        struct buf b = BUF_INIT(RING + 16);
        buf_addc(&b, 3);
        for (int i = 7; i >= 0; i--)
            buf_addc(&b, (char)(from >> (8 * i)));
        buf_adds(&b, str_sub(buf_str(&p->ring), (size_t)(from - oldest), p->ring.n));
        ws_send(&c->ws, false, buf_str(&b));
        buf_release(&b);
    }
    struct json *j = message("connected");
    json_put_z(j, "session_id", p->id);
    json_put_z(j, "mode", p->tty ? "pty" : "pipe");
    say(c, j);
    c->connected = true;
}

/* ---- the program ---- */

static void keep_output(struct execd_pty *p, struct str bytes)
{
    if (bytes.n >= RING) {
        buf_reset(&p->ring);
        buf_adds(&p->ring, str_sub(bytes, bytes.n - RING, RING));
    } else {
        if (p->ring.n + bytes.n > RING)
            buf_consume(&p->ring, p->ring.n + bytes.n - RING);
        buf_adds(&p->ring, bytes);
    }
    p->offset += bytes.n;
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct execd_pty *p = op->owner;
    struct execd_pty_client *c = p->client;
    size_t used = 0;
    (void)offset;
    while (used < bytes.n) {
        struct str piece = str_sub(bytes, used, FRAME);
        if (c && c->connected && ws_is_open(&c->ws)) {
            struct buf b = BUF_INIT(FRAME + 1);
            buf_addc(&b, (char)(1 + stream));
            buf_adds(&b, piece);
            bool sent = ws_send(&c->ws, false, buf_str(&b));
            buf_release(&b);
            if (!sent && ws_is_open(&c->ws))
                break; /* on_room continues */
        }
        keep_output(p, piece);
        used += piece.n;
        if (c && !c->connected && p->offset >= p->known)
            connect_client(c);
    }
    return used;
}

static void on_end(struct op *op)
{
    struct execd_pty *p = op->owner;
    struct execd_pty_client *c = p->client;
    p->op = NULL;
    p->known = 0;
    keep(p);
    if (!c)
        return;
    if (!c->connected && op->r.state != OP_FAILED)
        connect_client(c);
    if (op->r.state == OP_FAILED) {
        say_error(c, "START_FAILED", op->r.err.text);
        ws_close(&c->ws, WS_INTERNAL, STR("start failed"));
    } else {
        struct json *j = message("exit");
        json_put_int(j, "exit_code", op->r.signo ? -1 : op->r.exit);
        say(c, j);
        ws_close(&c->ws, WS_NORMAL, STR("process exited"));
    }
    p->client = NULL;
    c->p = NULL;
}

static void flush_input(struct execd_pty_client *c)
{
    struct process *x = c->p ? process_find(c->f->en, str_of(c->p->process)) : NULL;
    uint64_t at;
    if (!x || c->input.n == 0)
        return;
    size_t room = process_stdin_room(x, &at);
    struct str part = str_sub(buf_str(&c->input), 0, room);
    process_stdin(x, at, part, false);
    buf_consume(&c->input, part.n);
    if (c->input.n == 0)
        ws_resume(&c->ws);
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct execd_pty *p = op->owner;
    (void)text;
    if (kind == NOTE_WINDOW && p->client) {
        flush_input(p->client);
    } else if (kind == NOTE_GAP) { /* the ring has no gaps */
        buf_reset(&p->ring);
        p->offset += to - from;
    }
}

static const struct op_sink sink = {.output = on_output, .note = on_note, .done = on_end};

/* Reads the output of x, except the part that is older than the ring. */
static void follow(struct execd_pty *p, struct process *x)
{
    int fd;
    p->op = op_new(OP_WAIT, &sink, p);
    p->op->stream = p->op->caller = p->op->with_stdin = true;
    p->offset = p->known = p->base;
    for (int i = 0; i < 2; i++) {
        const struct keep_stream *s = process_stream(x, i, &fd);
        uint64_t end = s ? s->offset : 0, from = end > RING ? end - RING : 0;
        *(i ? &p->op->cursor_err : &p->op->cursor) = from;
        p->offset += from;
        p->known += end;
    }
    if (p->client && p->offset >= p->known)
        connect_client(p->client);
    process_wait(x, p->op);
}

static void on_started(struct process_call *call, struct process *x)
{
    struct execd_pty *p = container_of(call, struct execd_pty, call);
    p->calling = false;
    snprintf(p->process, sizeof(p->process), "%s", process_name(x));
    p->base = p->offset;
    follow(p, x);
    keep(p);
}

static void on_failed(struct process_call *call, const struct err *e)
{
    struct execd_pty *p = container_of(call, struct execd_pty, call);
    struct execd_pty_client *c = p->client;
    p->calling = false;
    if (!c)
        return;
    say_error(c, "START_FAILED", e->text);
    ws_close(&c->ws, WS_INTERNAL, STR("start failed"));
    p->client = NULL;
    c->p = NULL;
}

static void start(struct execd_pty *p, bool tty)
{
    char space[4096];
    bool is_bash;
    struct err e = ERR_INIT;
    struct json *args = json_object(), *argv = json_array();
    json_push_str(argv, str_of(execd_shell(p->f, space, &is_bash)));
    if (is_bash) {
        json_push_str(argv, STR("--norc"));
        json_push_str(argv, STR("--noprofile"));
    }
    if (p->command) {
        json_push_str(argv, STR("-c"));
        json_push_str(argv, str_of(p->command));
    }
    json_put(args, "argv", argv);
    json_put_z(args, "cwd", p->cwd);
    p->tty = tty;
    if (tty) {
        struct json *size = json_object();
        json_put_int(size, "rows", ROWS);
        json_put_int(size, "cols", COLS);
        json_put(args, "tty", size);
    } else {
        json_put_bool(args, "stdin", true);
    }
    p->call = (struct process_call){.started = on_started, .failed = on_failed};
    p->calling = true;
    if (process_call(&p->call, p->f->en->actions, EXECD_SOURCE, args, NULL, &e) < 0)
        on_failed(&p->call, &e);
}

/* ---- the client ---- */

static void take_input(struct execd_pty_client *c, struct str bytes)
{
    buf_adds(&c->input, bytes);
    flush_input(c);
    if (c->input.n > 0)
        ws_pause(&c->ws);
}

static void take_signal(struct execd_pty_client *c, struct str name)
{
    static const char *const known[] = {"SIGINT", "SIGTERM", "SIGKILL", "SIGQUIT",
                                        "SIGHUP"};
    struct process *x = process_find(c->f->en, str_of(c->p->process));
    struct err e = ERR_INIT;
    for (size_t i = 0; x && i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eq(name, str_of(known[i])))
            process_signal(x, sig_number(name, 0), false, &e);
    }
}

static void take_text(struct execd_pty_client *c, const struct json *j)
{
    struct str type = json_str(j, "type", "");
    struct process *x = process_find(c->f->en, str_of(c->p->process));
    int64_t rows = json_int(j, "rows", 0), cols = json_int(j, "cols", 0);
    struct err e = ERR_INIT;
    if (str_eq(type, STR("stdin")))
        take_input(c, json_str(j, "data", ""));
    else if (str_eq(type, STR("signal")))
        take_signal(c, json_str(j, "signal", ""));
    else if (str_eq(type, STR("ping")))
        say(c, message("pong"));
    else if (!str_eq(type, STR("resize")))
        say_error(c, "INVALID_FRAME", "unknown frame type");
    else if (x && rows > 0 && cols > 0 && rows < 10000 && cols < 10000)
        process_resize(x, (int)rows, (int)cols, &e);
}

static void on_message(struct ws *w, bool text, struct str bytes)
{
    struct execd_pty_client *c = container_of(w, struct execd_pty_client, ws);
    struct json *j = text && c->p ? json_parse(bytes, NULL) : NULL;
    if (!text && c->p && bytes.n > 1 && bytes.p[0] == 0)
        take_input(c, str_sub(bytes, 1, bytes.n));
    else if (json_is_object(j))
        take_text(c, j);
    json_free(j);
}

static void on_room(struct ws *w)
{
    struct execd_pty_client *c = container_of(w, struct execd_pty_client, ws);
    if (c->p && c->p->op)
        op_pump(c->p->op);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    struct execd_pty_client *c = container_of(w, struct execd_pty_client, ws);
    struct execd_pty *p = c->p;
    (void)code;
    (void)reason;
    if (p && p->client == c) {
        p->client = NULL;
        if (p->op)
            op_pump(p->op);
    }
    loop_bury(c->f->en->loop, c, client_free);
}

static bool query_is(const struct req *r, const char *name, const char *value)
{
    struct buf b = BUF_INIT(32);
    bool is = req_query(r, name, &b) > 0 && strcmp(buf_z(&b), value) == 0;
    buf_release(&b);
    return is;
}

static void on_nothing(struct stream *s) { (void)s; }
static void on_nobody(struct stream *s, int errnum)
{
    (void)s;
    (void)errnum;
}

static void attach(struct req *r, struct execd_pty *p, const char *accept)
{
    static const struct ws_events events = {
        .on_message = on_message, .on_room = on_room, .on_close = on_close};
    static const struct ws_opts opts = {.role = WS_SERVER, .message_max = MESSAGE_MAX};
    static const struct stream_events no_calls = {.on_data = on_nothing,
                                                  .on_end = on_nobody};
    struct execd_pty_client *c = xnew(struct execd_pty_client);
    struct stream s;
    struct buf since = BUF_INIT(32);
    bool tty = !query_is(r, "pty", "0");
    *c = (struct execd_pty_client){.p = p, .f = p->f, .input = BUF_INIT(2 * MESSAGE_MAX)};
    if (req_query(r, "since", &since) > 0)
        str_to_u64(buf_str(&since), &c->since);
    buf_release(&since);
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY", "the request cannot be upgraded");
        client_free(c);
        return;
    }
    s.in.max = 256 << 10;
    s.out.max = OUT_MAX;
    s.low = OUT_MAX / 4;
    ws_start(&c->ws, &s, &opts, &events);
    if (p->client) { /* it is replaced */
        struct execd_pty_client *old = p->client;
        old->p = NULL;
        ws_close(&old->ws, (enum ws_code)TAKEN_OVER, STR("TAKEN_OVER"));
    }
    p->client = c;
    if (p->op && p->offset >= p->known)
        connect_client(c);
    else if (p->op)
        op_pump(p->op);
    else if (!p->calling)
        start(p, tty);
}

void execd_get_pty_ws(struct req *r)
{
    struct execd *f = req_arg(r);
    struct execd_pty *p = find(f, req_param(r, "id"));
    char accept[WS_ACCEPT_SIZE];
    const char *chosen;
    struct err e = ERR_INIT;
    engine_touch(f->en);
    int status = ws_check_req(r, NULL, &chosen, accept, &e);
    if (!p)
        execd_say(r, 404, "CONTEXT_NOT_FOUND", "pty session not found");
    else if (p->client && (status || !query_is(r, "takeover", "1")))
        execd_say(r, 409, "ALREADY_CONNECTED",
                  "another client is already connected to pty session %s", p->id);
    else if (status)
        execd_say(r, status, "INVALID_REQUEST_BODY", "%s", e.text);
    else
        attach(r, p, accept);
}

/* ---- routes ---- */

static struct execd_pty *add(struct execd *f, struct str id, struct str cwd,
                             struct str command)
{
    struct execd_pty *p = xnew(struct execd_pty);
    *p = (struct execd_pty){.f = f, .ring = BUF_INIT(RING)};
    snprintf(p->id, sizeof(p->id), "%.*s", STR_ARG(id));
    p->cwd = xstrndup(cwd.p, cwd.n);
    p->command = command.n ? xstrndup(command.p, command.n) : NULL;
    list_add_tail(&f->ptys, &p->node);
    f->nptys++;
    return p;
}

void execd_post_pty(struct req *r)
{
    struct execd *f = req_arg(r);
    struct json *body = execd_body(r, false, true);
    struct buf dir = BUF_INIT(8 << 10);
    struct err e = ERR_INIT;
    engine_touch(f->en);
    if (!body)
        return;
    struct str cwd = json_str(body, "cwd", ""), command = json_str(body, "command", "");
    if (f->nptys >= EXECD_PTYS_MAX) {
        execd_say(r, 500, "RUNTIME_ERROR", "%d pty sessions are open: delete one",
                  EXECD_PTYS_MAX);
    } else if (cwd.n && execd_path(f, NULL, cwd, &dir, &e) < 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY", "%s", e.text);
    } else {
        char id[EXECD_UUID + 1];
        if (!cwd.n)
            buf_addz(&dir, sandbox_cwd(f->en->sandbox, STR("main")));
        execd_uuid(id);
        struct execd_pty *p = add(f, str_of(id), buf_str(&dir), command);
        keep(p);
        if (cwd.n)
            execd_make_folder(r, buf_str(&dir), p->id, 201);
        else
            execd_say_session(r, p->id, 201);
    }
    buf_release(&dir);
    json_free(body);
}

void execd_get_pty(struct req *r)
{
    struct execd_pty *p = find(req_arg(r), req_param(r, "id"));
    if (!p) {
        execd_say(r, 404, "CONTEXT_NOT_FOUND", "pty session not found");
        return;
    }
    struct json *j = json_object();
    json_put_z(j, "session_id", p->id);
    json_put_bool(j, "running", p->op != NULL || p->calling);
    /* This worker may not have read all of the output again yet. */
    uint64_t written = p->offset > p->known ? p->offset : p->known;
    json_put_int(j, "output_offset", (int64_t)written);
    execd_json(r, 200, j);
}

/* kill: the session ends; otherwise the next worker continues it. */
static void close_pty(struct execd_pty *p, bool kill)
{
    struct process *x = process_find(p->f->en, str_of(p->process));
    struct err e = ERR_INIT;
    process_call_drop(&p->call);
    if (x && p->op && kill)
        process_signal(x, SIGKILL, false, &e);
    if (kill)
        state_drop(p->f->en, prefix, p->id);
    if (p->op)
        op_drop(p->op);
    if (p->client) {
        p->client->p = NULL;
        ws_close(&p->client->ws, WS_GOING_AWAY,
                 kill ? STR("pty session deleted") : STR("the server restarts"));
    }
    list_del(&p->node);
    p->f->nptys--;
    loop_bury(p->f->en->loop, p, pty_free);
}

void execd_delete_pty(struct req *r)
{
    struct execd_pty *p = find(req_arg(r), req_param(r, "id"));
    if (p) {
        close_pty(p, true);
        execd_ok(r);
    } else {
        execd_say(r, 404, "CONTEXT_NOT_FOUND", "pty session not found");
    }
}

void execd_ptys_close(struct execd *f, bool another)
{
    while (!list_empty(&f->ptys))
        close_pty(list_first(&f->ptys, struct execd_pty, node), !another);
}

/* ---- a worker that takes over ---- */

static void load_one(void *arg, struct str id, struct json *j)
{
    struct execd_pty *p = add(arg, id, STR("/"), STR(""));
    p->tty = true;
    state_read(kept, p, j);
}

void execd_ptys_load(struct execd *f) { state_each(f->en, prefix, load_one, f); }

void execd_ptys_start(struct execd *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->ptys) {
        struct execd_pty *p = list_entry(it, struct execd_pty, node);
        struct process *x = process_find(f->en, str_of(p->process));
        if (x)
            follow(p, x);
    }
}
