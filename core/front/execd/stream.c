/* SPDX-License-Identifier: MIT */
/*
 * The event stream of a running program: JSON objects, each followed by two LF, without
 * `data:`. Output is sent line by line, without the ends of lines; an empty line is "\n".
 * A line longer than LINE_MAX is sent in several events. The stream ends with its last
 * event. While a client does not read, its program's output stays in the spool.
 */
#include "front/execd/own.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 4 << 10,
    LINE_MAX = 64 << 10,
    OUT_MAX = 2 << 20, /* events of one piece, and of two long lines */
    CODE_MAX = 2 * LIMIT_KERNEL_MESSAGE,
    STATE_MAX = 4 << 20,
    PING_MS = 3000
};

struct execd_stream {
    struct list node; /* in execd.streams */
    struct execd *f;
    struct req *req; /* NULL: disconnected, or answered */
    struct op *op;   /* borrowed; NULL: none */
    struct execd_stream_opts o;
    struct timer ping;
    struct buf out;     /* owned: events that had no room */
    struct buf line[2]; /* owned: lines whose end has not come */
    bool cr[2];         /* the last line ended in CR */
    bool ending;        /* the last event is in out */
};

static void stream_free(void *p)
{
    struct execd_stream *s = p;
    buf_release(&s->out);
    buf_release(&s->line[0]);
    buf_release(&s->line[1]);
    free(s);
}

static void bury(struct execd_stream *s)
{
    timer_stop(&s->ping);
    if (s->op)
        op_drop(s->op);
    s->op = NULL;
    list_del(&s->node);
    loop_bury(s->f->en->loop, s, stream_free);
}

/* Sends waiting events. Ends the stream after its last event, which may free s. Returns
 * false if some events are left. */
static bool push(struct execd_stream *s)
{
    buf_consume(&s->out, req_send(s->req, buf_str(&s->out)));
    if (s->out.n > 0)
        return false;
    if (s->ending) {
        struct req *r = s->req;
        s->req = NULL;
        req_end(r);
        bury(s);
    }
    return true;
}

/* ---- events ---- */

static void put_end(struct execd_stream *s)
{
    buf_addf(&s->out, "\"timestamp\":%lld", (long long)clock_wall_ms());
}

static void put_text(struct execd_stream *s, const char *type, struct str text)
{
    buf_addf(&s->out, "{\"type\":\"%s\",\"text\":", type);
    execd_quote(&s->out, text);
    buf_addc(&s->out, ',');
    put_end(s);
    buf_addz(&s->out, "}\n\n");
}

static void on_ping(struct timer *t)
{
    struct execd_stream *s = container_of(t, struct execd_stream, ping);
    timer_begin(s->f->en->loop, t, PING_MS, on_ping);
    if (s->out.n == 0) {
        put_text(s, "ping", STR("pong"));
        push(s);
    }
}

/* Sends the line, or the part of it that has come. */
static void put_line(struct execd_stream *s, int i)
{
    struct str line = buf_str(&s->line[i]);
    put_text(s, i ? "stderr" : "stdout", line.n ? line : STR("\n"));
    buf_reset(&s->line[i]);
}

static void feed(struct execd_stream *s, int i, struct str bytes)
{
    struct buf *line = &s->line[i];
    for (size_t k = 0; k < bytes.n; k++) {
        char c = bytes.p[k];
        bool again = c == '\n' && s->cr[i];
        s->cr[i] = c == '\r';
        if (again)
            continue;
        if (c == '\n' || c == '\r') {
            put_line(s, i);
            continue;
        }
        buf_addc(line, c);
        if (line->n >= LINE_MAX && utf8_cut(buf_str(line), line->n) == line->n)
            put_line(s, i);
    }
}

void execd_stream_complete(struct execd_stream *s, int64_t ms)
{
    buf_addz(&s->out, "{\"type\":\"execution_complete\",");
    if (ms > 0)
        buf_addf(&s->out, "\"execution_time\":%lld,", (long long)ms);
    put_end(s);
    buf_addz(&s->out, "}\n\n");
    s->ending = true;
    push(s);
}

static void put_error(struct execd_stream *s, struct str name, struct str value,
                      const struct json *traceback)
{
    buf_addz(&s->out, "{\"type\":\"error\",");
    put_end(s);
    buf_addz(&s->out, ",\"error\":{\"ename\":");
    execd_quote(&s->out, name);
    buf_addz(&s->out, ",\"evalue\":");
    execd_quote(&s->out, value);
    buf_addz(&s->out, ",\"traceback\":");
    execd_put_json(&s->out, traceback);
    buf_addz(&s->out, "}}\n\n");
}

void execd_stream_error(struct execd_stream *s, const char *name, const char *value,
                        const char *trace, const char *more)
{
    struct json *traceback = json_array();
    json_push_str(traceback, str_of(trace));
    if (more)
        json_push_str(traceback, str_of(more));
    put_error(s, str_of(name), str_of(value), traceback);
    json_free(traceback);
    s->ending = true;
    push(s);
}

/* ---- a cell ---- */

void execd_stream_say(struct execd_stream *s, const char *type, struct str text)
{
    while (text.n > 0) {
        struct str piece = str_sub(text, 0, LINE_MAX);
        size_t whole = piece.n < text.n ? utf8_cut(piece, piece.n) : piece.n;
        piece.n = whole ? whole : piece.n;
        put_text(s, type, piece);
        text = str_sub(text, piece.n, text.n);
    }
    push(s);
}

/* Leaves out a message that does not fit, and sends a note about it. */
static void check_room(struct execd_stream *s, size_t at)
{
    if (!buf_full(&s->out))
        return;
    buf_truncate(&s->out, at);
    buf_resume(&s->out);
    put_text(s, "stderr",
             STR("[a message of the kernel is too long, and was left out]\n"));
}

void execd_stream_result(struct execd_stream *s, int64_t count, const struct json *data)
{
    size_t at = s->out.n;
    bool more = false;
    buf_addf(&s->out, "{\"type\":\"execution_count\",\"execution_count\":%lld,",
             (long long)count);
    put_end(s);
    buf_addz(&s->out, "}\n\n{\"type\":\"result\",");
    put_end(s);
    buf_addz(&s->out, ",\"results\":{");
    for (const struct json *v = json_first(data); v; v = json_next(v)) {
        const char *mime = json_name(v);
        buf_addz(&s->out, more ? "," : "");
        execd_quote(&s->out,
                    strcmp(mime, "text/plain") == 0 ? STR("text") : str_of(mime));
        buf_addc(&s->out, ':');
        execd_put_json(&s->out, v);
        more = true;
    }
    buf_addz(&s->out, "}}\n\n");
    check_room(s, at);
    push(s);
}

void execd_stream_raised(struct execd_stream *s, struct str name, struct str value,
                         const struct json *traceback)
{
    struct json *none = json_array();
    put_text(s, "status", STR("error"));
    size_t at = s->out.n;
    put_error(s, name, value, json_is_array(traceback) ? traceback : none);
    json_free(none);
    check_room(s, at);
    push(s);
}

bool execd_stream_waits(const struct execd_stream *s) { return s->out.n > 0; }

/* ---- the program ---- */

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct execd_stream *s = op->owner;
    size_t used = 0;
    (void)offset;
    if (stream == 1 && s->o.state) {
        buf_adds(&s->line[1], bytes);
        return bytes.n;
    }
    while (used < bytes.n && push(s)) {
        struct str piece = str_sub(bytes, used, PIECE);
        feed(s, stream, piece);
        used += piece.n;
    }
    push(s);
    return used;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct execd_stream *s = op->owner;
    char note[100];
    (void)text;
    if (kind != NOTE_GAP)
        return;
    snprintf(note, sizeof(note), "[%llu bytes of output are not kept]",
             (unsigned long long)(to - from));
    put_text(s, "stderr", str_of(note));
}

static void on_end(struct op *op)
{
    struct execd_stream *s = op->owner;
    const struct op_result *r = &op->r;
    char value[16], trace[48], more[64];
    bool late = s->o.timeout_ms > 0 && r->signo == SIGKILL &&
                r->duration_ms >= s->o.timeout_ms;
    s->op = NULL;
    for (int i = 0; i < 2; i++) {
        if (s->line[i].n > 0 && !(i == 1 && s->o.state))
            put_line(s, i);
    }
    if (s->o.over)
        s->o.over(s->o.owner, r, s->o.state ? buf_str(&s->line[1]) : STR(""));
    s->o.gone = NULL;
    if (r->state == OP_FAILED) {
        execd_stream_error(s, "CommandExecError", r->err.text, r->err.text, NULL);
        return;
    }
    if (r->exit == 0 && !r->signo) {
        execd_stream_complete(s, r->duration_ms);
        return;
    }
    execd_end_text(r->exit, r->signo, trace);
    snprintf(value, sizeof(value), "%d", r->signo ? -1 : r->exit);
    snprintf(more, sizeof(more), "timeout after %lld ms", (long long)s->o.timeout_ms);
    execd_stream_error(s, "CommandExecError", value, trace, late ? more : NULL);
}

void execd_stream_follow(struct execd_stream *s, struct process *p)
{
    static const struct op_sink sink = {
        .output = on_output, .note = on_note, .done = on_end};
    s->op = op_new(OP_WAIT, &sink, s);
    s->op->stream = true;
    s->op->caller = true;
    process_wait(p, s->op);
}

/* ---- the request ---- */

static void on_room(struct req *r, void *owner)
{
    struct execd_stream *s = owner;
    (void)r;
    bool ending = s->ending;
    if (!push(s) || ending)
        return;
    if (s->op)
        op_pump(s->op);
    else if (s->o.room)
        s->o.room(s->o.owner);
}

static void on_gone(struct req *r, void *owner)
{
    struct execd_stream *s = owner;
    (void)r;
    s->req = NULL;
    if (s->o.gone)
        s->o.gone(s->o.owner);
    bury(s);
}

struct execd_stream *execd_stream_open(struct execd *f, struct req *r,
                                       const struct execd_stream_opts *o)
{
    struct execd_stream *s = xnew(struct execd_stream);
    *s = (struct execd_stream){
        .f = f, .req = r, .o = *o, .out = BUF_INIT(o->room ? CODE_MAX : OUT_MAX)};
    buf_init(&s->line[0], 2 * LINE_MAX);
    buf_init(&s->line[1], o->state ? STATE_MAX : 2 * LINE_MAX);
    list_add_tail(&f->streams, &s->node);
    req_own(r, s, on_gone);
    req_on_room(r, on_room);
    req_header_add(r, "Cache-Control", "no-cache");
    req_header_add(r, "X-Accel-Buffering", "no");
    req_begin(r, 200, "text/event-stream", -1);
    put_text(s, "init", str_of(o->id));
    put_text(s, "ping", STR("pong"));
    timer_begin(f->en->loop, &s->ping, PING_MS, on_ping);
    push(s);
    return s;
}
