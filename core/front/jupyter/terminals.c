/* SPDX-License-Identifier: MIT */
/*
 * /api/terminals, and their WebSockets (terminado's "WebSocket protocol"): messages are
 * JSON arrays.
 *
 *   to us    ["stdin", TEXT], ["set_size", rows, columns, …]
 *   from us  ["setup", {}], ["stdout", TEXT], ["disconnect", 1]
 *
 * A terminal is a process of the server with a name that begins with PREFIX, started by
 * an action. The process is its whole state, so it outlives the worker. Each client has
 * an op, and begins with the newest output. A client that reads slowly blocks the
 * program.
 */
#include "front/jupyter/own.h"

#include "action/process.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "shell/op.h"
#include "shell/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "jupyter-tty-"

enum { TERMINALS_MAX = 64, REPLAY = 64 << 10, IN_MAX = 1 << 20, OUT_MAX = 4 << 20 };

/* A client. */
struct nb_screen {
    struct jupyter *f;
    struct ws ws;
    struct op *op; /* borrowed; NULL: the program has ended */
    char process[64];
    struct buf input; /* owned: for which the program had no room */
    struct buf cut;   /* owned: the beginning of a character */
};

/* A request that is answered when its program runs. */
struct nb_opening {
    struct process_call call;
    struct jupyter *f;
    struct req *r; /* NULL: the client has left */
};

/* ---- the list ---- */

static bool is_terminal(const struct process *p)
{
    return str_starts(str_of(process_name(p)), STR(PREFIX)) && !process_ended(p);
}

static struct json *describe(const struct process *p)
{
    struct json *j = json_object();
    char date[25];
    clock_iso(process_since(p), date);
    json_put_z(j, "name", process_name(p) + sizeof(PREFIX) - 1);
    json_put_z(j, "last_activity", date);
    return j;
}

/* Returns the one that r names; NULL after answering 404. */
static struct process *named(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct str name = req_param(r, "name");
    char whole[64];
    struct process *p = buf_fill(whole, sizeof(whole), PREFIX "%.*s", STR_ARG(name))
                            ? process_find(f->en, str_of(whole))
                            : NULL;
    if (p && is_terminal(p))
        return p;
    nb_failf(r, 404, "Terminal not found: %.*s", (int)(name.n < 80 ? name.n : 80),
             name.p);
    return NULL;
}

void nb_get_terminals(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct json *j = json_array();
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&f->en->processes, it, &key, &value));) {
        if (is_terminal(value))
            json_push(j, describe(value));
    }
    nb_json(r, 200, j);
}

void nb_get_terminal(struct req *r)
{
    const struct process *p = named(r);
    if (p)
        nb_json(r, 200, describe(p));
}

void nb_delete_terminal(struct req *r)
{
    struct process *p = named(r);
    struct err e = ERR_INIT;
    if (!p)
        return;
    process_signal(p, SIGKILL, true, &e);
    req_answer(r, 204, NULL, STR(""));
}

/* ---- a new one ---- */

static void opening_free(void *p) { free(p); }

static void on_started(struct process_call *c, struct process *p)
{
    struct nb_opening *o = container_of(c, struct nb_opening, call);
    if (o->r)
        nb_json(o->r, 200, describe(p));
    loop_bury(o->f->en->loop, o, opening_free);
}

static void on_failed(struct process_call *c, const struct err *e)
{
    struct nb_opening *o = container_of(c, struct nb_opening, call);
    if (o->r)
        nb_fail(o->r, err_words(e->code)->http, e->text);
    loop_bury(o->f->en->loop, o, opening_free);
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    ((struct nb_opening *)owner)->r = NULL;
}

/* The first number that no process has, also none that has ended. */
static bool free_name(const struct jupyter *f, char out[64])
{
    for (int i = 1; i <= TERMINALS_MAX; i++) {
        snprintf(out, 64, PREFIX "%d", i);
        struct process *p = process_find(f->en, str_of(out));
        if (p && process_ended(p)) {
            process_free(p);
            p = NULL;
        }
        if (!p)
            return true;
    }
    return false;
}

static struct json *program(const struct jupyter *f, const char *name, struct str cwd)
{
    struct json *args = json_object(), *size = json_object(), *env = json_object();
    char api[PATH_MAX];
    bool hidden;
    struct buf dir = BUF_INIT(2 * PATH_MAX);
    buf_addz(&dir, nb_root(f));
    if (cwd.n && nb_path(cwd, api, &hidden) == 0)
        buf_addf(&dir, "/%s", api);
    json_put_z(args, "name", name);
    json_put_z(args, "command",
               "[ -x \"$SHELL\" ] && exec \"$SHELL\" -l; "
               "command -v bash >/dev/null && exec bash -l; exec sh -l");
    json_put_z(args, "cwd", buf_z(&dir));
    json_put_int(size, "rows", 25);
    json_put_int(size, "cols", 80);
    json_put(args, "tty", size);
    json_put_z(env, "TERM", "xterm");
    json_put(args, "env", env);
    buf_release(&dir);
    return args;
}

void nb_post_terminals(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct json *q = nb_body(r);
    struct err e = ERR_INIT;
    char name[64];
    engine_touch(f->en);
    if (!q)
        return;
    if (!free_name(f, name)) {
        nb_failf(r, 429, "There are %d terminals already: delete one", TERMINALS_MAX);
    } else {
        struct nb_opening *o = xnew(struct nb_opening);
        *o = (struct nb_opening){
            .f = f, .r = r, .call = {.started = on_started, .failed = on_failed}};
        req_own(r, o, on_gone);
        if (process_call(&o->call, f->en->actions, ACTION_SOURCE_JUPYTER,
                         program(f, name, json_str(q, "cwd", "")), NULL, &e) < 0)
            on_failed(&o->call, &e);
    }
    json_free(q);
}

/* ---- to the client ---- */

/* Sends [kind, text]. Returns false if the socket has no room for it now. */
static bool say(struct nb_screen *c, const char *kind, struct str text)
{
    struct buf b = BUF_INIT(OUT_MAX);
    buf_addf(&b, "[\"%s\",", kind);
    json_quote(&b, text);
    buf_addc(&b, ']');
    bool sent = ws_send(&c->ws, true, buf_str(&b));
    buf_release(&b);
    return sent || !ws_is_open(&c->ws);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct nb_screen *c = op->owner;
    struct buf text = BUF_INIT(4 * (size_t)IN_MAX), whole = BUF_INIT(IN_MAX);
    (void)stream;
    (void)offset;
    bytes = str_sub(bytes, 0, 32 << 10);
    buf_adds(&whole, buf_str(&c->cut));
    buf_adds(&whole, bytes);
    size_t n = utf8_cut(buf_str(&whole), whole.n);
    utf8_repair(&text, str_sub(buf_str(&whole), 0, n), false);
    bool sent = !text.n || say(c, "stdout", buf_str(&text));
    if (sent) {
        buf_reset(&c->cut);
        buf_adds(&c->cut, str_sub(buf_str(&whole), n, whole.n));
    }
    buf_release(&whole);
    buf_release(&text);
    return sent ? bytes.n : 0;
}

static void on_end(struct op *op)
{
    struct nb_screen *c = op->owner;
    static const char over[] = "[\"disconnect\",1]";
    c->op = NULL;
    ws_send(&c->ws, true, STR(over));
    ws_close(&c->ws, WS_NORMAL, STR("the terminal has ended"));
}

static struct process *process_of(const struct nb_screen *c)
{
    return c->op ? process_find(c->f->en, str_of(c->process)) : NULL;
}

static void flush_input(struct nb_screen *c)
{
    struct process *p = process_of(c);
    uint64_t at;
    if (!p || c->input.n == 0)
        return;
    struct str part = str_sub(buf_str(&c->input), 0, process_stdin_room(p, &at));
    process_stdin(p, at, part, false);
    buf_consume(&c->input, part.n);
    if (c->input.n == 0)
        ws_resume(&c->ws);
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    (void)text;
    (void)from;
    (void)to;
    if (kind == NOTE_WINDOW)
        flush_input(op->owner);
}

static const struct op_sink sink = {.output = on_output, .note = on_note, .done = on_end};

/* ---- from the client ---- */

static void on_message(struct ws *w, bool is_text, struct str bytes)
{
    struct nb_screen *c = container_of(w, struct nb_screen, ws);
    struct process *p = process_of(c);
    struct json *j = is_text && p ? json_parse(bytes, NULL) : NULL, *one = json_first(j);
    struct str kind = json_str_value(one, "");
    struct err e = ERR_INIT;
    one = one ? json_next(one) : NULL;
    if (str_eq(kind, STR("stdin"))) {
        buf_adds(&c->input, json_str_value(one, ""));
        flush_input(c);
        if (c->input.n)
            ws_pause(&c->ws);
    } else if (one && str_eq(kind, STR("set_size"))) {
        int64_t rows = json_int_value(one, 0), cols = json_int_value(json_next(one), 0);
        if (rows > 0 && cols > 0 && rows < 10000 && cols < 10000)
            process_resize(p, (int)rows, (int)cols, &e);
    }
    json_free(j);
}

static void on_room(struct ws *w)
{
    struct nb_screen *c = container_of(w, struct nb_screen, ws);
    if (c->op)
        op_pump(c->op);
}

static void screen_free(void *p)
{
    struct nb_screen *c = p;
    buf_release(&c->input);
    buf_release(&c->cut);
    free(c);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    struct nb_screen *c = container_of(w, struct nb_screen, ws);
    (void)code;
    (void)reason;
    if (c->op)
        op_drop(c->op);
    loop_bury(c->f->en->loop, c, screen_free);
}

/* Begins with the newest output of p. */
static void follow(struct nb_screen *c, struct process *p)
{
    int fd;
    const struct keep_stream *s = process_stream(p, 0, &fd);
    c->op = op_new(OP_WAIT, &sink, c);
    c->op->stream = c->op->caller = c->op->with_stdin = true;
    c->op->cursor = s && s->offset > REPLAY ? s->offset - REPLAY : 0;
    process_wait(p, c->op);
}

void nb_get_terminal_ws(struct req *r)
{
    static const struct ws_events events = {
        .on_message = on_message, .on_room = on_room, .on_close = on_close};
    static const struct ws_opts opts = {.role = WS_SERVER, .message_max = IN_MAX};
    struct process *p = named(r);
    struct stream s;
    if (!p || nb_upgrade(r, &s, OUT_MAX) < 0)
        return;
    struct nb_screen *c = xnew(struct nb_screen);
    *c = (struct nb_screen){
        .f = req_arg(r), .input = BUF_INIT(2 * (size_t)IN_MAX), .cut = BUF_INIT(16)};
    snprintf(c->process, sizeof(c->process), "%s", process_name(p));
    ws_start(&c->ws, &s, &opts, &events);
    ws_send(&c->ws, true, STR("[\"setup\",{}]"));
    follow(c, p);
}
