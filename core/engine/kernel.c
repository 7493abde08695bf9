/* SPDX-License-Identifier: MIT */
/*
 * Kernels and cells. Two kinds of readers go over a host's output: the kernel's
 * own takes the host's lines, and each cell's, from where it began, takes the
 * messages that answer it.
 *
 *   cell: WAITING --its turn--> RUNNING --reply and idle--> (LATE) --> done
 *         RUNNING --time limit--> interrupted --> done, or stuck after STUCK_MS
 */
#include "engine/kernel.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/kernel_find.h"
#include "engine/process.h"
#include "engine/skill_python.h"
#include "os/self.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RECORDS = 16,
    /* What a cell's programs wrote may come after its end: through a pipe, or as
       ipykernel has it, which passes it on every 200 ms. */
    LATE_MS = 40,
    LATE_JUPYTER_MS = 300,
    SEEN_STEP = 256 << 10,
    STUCK_MS = 8000, /* after the interrupt of a time limit */
    /* Without anything of a cell, for the second of the two signs of its end: what
       lies between them may be 100 MB, on a machine that is busy. */
    HALF_MS = 15000,
    LAST_WORDS = 400,
    OPTS_MAX = LIMIT_BLOB_MAX / 2,
    LINE_MAX_BYTES = LIMIT_KERNEL_MESSAGE + (1 << 20)
};

/* A cell that was sent; kept at the keeper. */
struct record {
    char id[OP_ID_MAX + 1];
    uint64_t from, to; /* in the host's output; to 0: not over */
    uint64_t in, len;  /* in its input */
    int64_t begun_ms, timeout_ms;
    enum cell_end end;
};

/* Lines of the host's output. */
struct reader {
    struct op *op; /* borrowed; NULL: not reading */
    struct buf line;
    uint64_t at; /* of the next byte */
    bool skipping;
};

struct kernel {
    struct engine *en;
    char *name;
    struct json *opts;  /* {kernel, choice, cwd, user}: how it was asked for */
    struct json *about; /* what the host told last of starting, and ready */
    enum kernel_state state;
    struct err why;          /* of DEAD and FAILED */
    struct process *process; /* NULL: none */
    struct reader reader;
    uint64_t seen;     /* what the host was told that is read */
    uint64_t step;     /* it is told again after so much: less than its window */
    struct list cells; /* the first one may be RUNNING */
    struct record records[RECORDS];
    int nrecords;
    struct task pump;
    struct task fall; /* cells are to fail, for k->why */
    bool fall_all;    /* those that wait too */
    bool fresh;       /* it has started, and its first cell was not run */
    bool leaving;     /* the cell before said that the kernel will end */
};

enum cell_step { WAITING, RUNNING, REPLAYED, LATE };

struct cell {
    struct list node;
    struct kernel *k;
    const struct cell_events *ev; /* NULL: nobody listens */
    void *owner;
    char id[OP_ID_MAX + 1];
    struct buf code;
    bool silent, history, held;
    const char *question; /* of questions[]; NULL: it is run */
    int64_t at;           /* its cursor */
    bool replied, idle, failed, timed_out, lively;
    bool halfway;     /* one of replied and idle, and limit waits for the other */
    uint64_t half_at; /* how far the reader was then */
    enum cell_step step;
    int64_t timeout_ms, begun_ms, count;
    uint64_t to;        /* REPLAYED: where it ended */
    struct json *asked; /* header of the input_request that waits */
    struct timer limit;
    struct task start;
    struct reader reader;
};

static void pump_later(struct kernel *k) { task_defer(k->en->loop, &k->pump); }

/* ---- states ---- */

static void save(struct kernel *k)
{
    struct json *j = json_object(), *list = json_array();
    struct buf line = BUF_INIT(LIMIT_BLOB_MAX), key = BUF_INIT(128),
               opts = BUF_INIT(OPTS_MAX);
    json_print(&opts, k->opts);
    json_put(j, "opts", json_parse(buf_str(&opts), &(struct err){0}));
    json_put_z(j, "process", k->process ? process_name(k->process) : "");
    json_put_int(j, "state", k->state);
    json_put_bool(j, "fresh", k->fresh);
    json_put_int(j, "at", (int64_t)(k->reader.at - k->reader.line.n));
    json_put_int(j, "step", (int64_t)k->step);
    opts.n = 0;
    if (k->about && json_print(&opts, k->about) == 0)
        json_put(j, "about", json_parse(buf_str(&opts), &(struct err){0}));
    for (int i = 0; i < k->nrecords; i++) {
        const struct record *r = &k->records[i];
        struct json *o = json_object();
        json_put_z(o, "id", r->id);
        json_put_int(o, "from", (int64_t)r->from);
        json_put_int(o, "to", (int64_t)r->to);
        json_put_int(o, "in", (int64_t)r->in);
        json_put_int(o, "len", (int64_t)r->len);
        json_put_int(o, "begun", r->begun_ms);
        json_put_int(o, "timeout", r->timeout_ms);
        json_put_int(o, "end", r->end);
        json_push(list, o);
    }
    json_put(j, "cells", list);
    buf_addf(&key, "jupyter/%s", k->name);
    if (json_print(&line, j) == 0)
        hold_put(k->en->hold, buf_str(&key), buf_str(&line));
    buf_release(&line);
    buf_release(&key);
    buf_release(&opts);
    json_free(j);
}

static struct record *record_of(struct kernel *k, const char *id)
{
    for (int i = k->nrecords - 1; id[0] && i >= 0; i--) {
        if (strcmp(k->records[i].id, id) == 0)
            return &k->records[i];
    }
    return NULL;
}

static struct record *record_add(struct kernel *k)
{
    if (k->nrecords == RECORDS) {
        memmove(k->records, k->records + 1, sizeof(k->records) - sizeof(k->records[0]));
        k->nrecords--;
    }
    k->records[k->nrecords] = (struct record){0};
    return &k->records[k->nrecords++];
}

/* ---- readers ---- */

typedef void line_fn(void *arg, struct str line, uint64_t end);

/* Cuts bytes into lines; fn may end the reader. */
static void feed(struct reader *r, struct str bytes, line_fn *fn, void *arg)
{
    while (bytes.n && r->op) {
        long nl = str_chr(bytes, '\n');
        size_t n = nl < 0 ? bytes.n : (size_t)nl;
        if (!r->skipping && buf_add(&r->line, bytes.p, n) < 0)
            r->skipping = true;
        r->at += n + (nl >= 0);
        bytes = str_sub(bytes, n + (nl >= 0), bytes.n);
        if (nl < 0)
            break;
        if (!r->skipping)
            fn(arg, buf_str(&r->line), r->at);
        r->skipping = false;
        if (r->line.cap > 1 << 20)
            buf_release(&r->line);
        else
            buf_reset(&r->line);
    }
}

static void reader_stop(struct reader *r)
{
    if (r->op)
        op_drop(r->op);
    r->op = NULL;
    buf_release(&r->line);
    r->skipping = false;
}

static void reader_start(struct reader *r, struct process *p, const struct op_sink *sink,
                         void *owner, uint64_t from)
{
    reader_stop(r);
    buf_init(&r->line, LINE_MAX_BYTES);
    r->at = from;
    r->op = op_new(OP_LOGS, sink, owner);
    r->op->stream = true;
    r->op->cursor = from;
    r->op->limit = UINT64_MAX;
    process_wait(p, r->op);
}

/* ---- cells ---- */

static void send_line(struct kernel *k, struct str line)
{
    uint64_t at;
    if (!k->process)
        return;
    process_stdin_room(k->process, &at);
    process_stdin(k->process, at, line, false);
}

static struct cell *first(struct kernel *k)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->cells) {
        struct cell *c = list_entry(it, struct cell, node);
        if (c->step != REPLAYED)
            return c;
    }
    return NULL;
}

/* The host goes on when its lines were read, by the kernel and the cell that runs. */
static void tell_seen(struct kernel *k)
{
    uint64_t at = k->reader.at;
    struct cell *c = first(k);
    char line[64];
    if (c && c->reader.op && c->reader.at < at)
        at = c->reader.at;
    if (at < k->seen + k->step)
        return;
    k->seen = at;
    snprintf(line, sizeof(line), "{\"host\":\"read\",\"to\":%llu}\n",
             (unsigned long long)at);
    send_line(k, str_of(line));
}

static void bury_cell(void *p)
{
    struct cell *c = p;
    buf_release(&c->code);
    json_free(c->asked);
    free(c);
}

static void cell_over(struct cell *c, struct cell_result *r)
{
    struct kernel *k = c->k;
    struct record *rec = record_of(k, c->id);
    bool ran = c->step != WAITING && c->step != REPLAYED;
    r->count = c->count;
    r->duration_ms = c->begun_ms ? clock_wall_ms() - c->begun_ms : 0;
    timer_stop(&c->limit);
    task_cancel(&c->start);
    if (rec && ran && rec->to == 0) {
        rec->to = c->reader.op ? c->reader.at : rec->from;
        rec->end = r->end;
    }
    reader_stop(&c->reader);
    list_del(&c->node);
    if (c->ev)
        c->ev->on_done(c->owner, r);
    loop_bury(k->en->loop, c, bury_cell);
    if (ran)
        save(k);
    tell_seen(k); /* it may have been the one that was behind */
    k->en->idle_since_ms = clock_ms();
    pump_later(k);
}

static void cell_done(struct cell *c)
{
    struct cell_result r = {.end = c->timed_out ? CELL_TIMEOUT
                                   : c->failed  ? CELL_ERROR
                                                : CELL_OK};
    cell_over(c, &r);
}

static void cell_fail(struct cell *c, enum cell_end end, const struct err *e)
{
    struct cell_result r = {.end = end, .err = *e};
    cell_over(c, &r);
}

static void on_limit(struct timer *t);

static void cell_maybe_done(struct cell *c)
{
    if (c->step == REPLAYED || (!c->replied && !c->idle))
        return;
    if (!c->replied || !c->idle) {
        if (!c->halfway) {
            c->half_at = c->reader.at;
            timer_begin(c->k->en->loop, &c->limit, HALF_MS, on_limit);
        }
        c->halfway = true;
        return;
    }
    if (!c->lively) {
        cell_done(c);
        return;
    }
    c->step = LATE;
    bool own = json_bool(c->k->about, "embedded", false) ||
               !str_eq(json_str(c->k->about, "language", ""), STR("python"));
    timer_begin(c->k->en->loop, &c->limit, own ? LATE_MS : LATE_JUPYTER_MS, on_limit);
}

static void tell(struct cell *c, struct str type, const struct json *content)
{
    if (c->ev)
        c->ev->on_output(c->owner, type, content);
}

static void note(struct cell *c, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, "text", text);
    tell(c, STR("note"), j);
    json_free(j);
}

static void on_payload(struct cell *c, const struct json *reply)
{
    for (struct json *p = json_first(json_get(reply, "payload")); p; p = json_next(p)) {
        struct str source = json_str(p, "source", "");
        if (str_eq(source, STR("page")))
            tell(c, STR("page"), json_get(p, "data"));
        else if (str_eq(source, STR("ask_exit")) && !json_bool(p, "keepkernel", false))
            c->k->leaving = true;
    }
}

static void on_answer(struct cell *c, struct str channel, struct str type,
                      const struct json *m)
{
    const struct json *content = json_get(m, "content");
    if (str_eq(type, STR("status"))) {
        c->idle = c->idle ||
                  str_eq(json_str(content, "execution_state", ""), STR("idle"));
    } else if (str_eq(type, STR("execute_reply"))) {
        c->replied = true;
        c->failed = !str_eq(json_str(content, "status", "ok"), STR("ok"));
        c->count = json_int(content, "execution_count", c->count);
        on_payload(c, content);
    } else if (c->question && str_eq(channel, STR("shell"))) {
        c->replied = true;
        c->failed = !str_eq(json_str(content, "status", "ok"), STR("ok"));
        tell(c, type, content);
    } else if (str_eq(type, STR("input_request")) && str_eq(channel, STR("stdin"))) {
        struct buf b = BUF_INIT(64 << 10);
        json_free(c->asked);
        c->asked = json_print(&b, json_get(m, "header")) == 0
                       ? json_parse(buf_str(&b), &(struct err){0})
                       : NULL;
        buf_release(&b);
        if (c->ev && c->ev->on_input)
            c->ev->on_input(c->owner, json_str(content, "prompt", ""),
                            json_bool(content, "password", false));
    } else if (str_eq(channel, STR("iopub")) && !str_eq(type, STR("execute_input")))
        tell(c, type, content);
}

static void on_cell_line(void *arg, struct str line, uint64_t end)
{
    struct cell *c = arg;
    struct err e = ERR_INIT;
    bool host = str_starts(line, STR("{\"host\":"));
    if (c->step == REPLAYED && end > c->to)
        return;
    if (!host && str_find(str_sub(line, 0, 8192), str_of(c->id)) < 0)
        return;
    struct json *m = json_parse(line, &e);
    if (!m) {
        log_warn("kernel %s: a line is unreadable: %s", c->k->name, e.text);
        note(c, "a message of the kernel cannot be read, and was left out");
        return;
    }
    if (host) {
        struct str what = json_str(m, "host", "");
        if (str_eq(what, STR("note")) || str_eq(what, STR("gap")) ||
            str_eq(what, STR("stuck")) || str_eq(what, STR("heart")))
            tell(c, STR("note"), m);
    } else if (str_eq(json_str(json_get(m, "parent_header"), "msg_id", ""),
                      str_of(c->id))) {
        on_answer(c, json_str(m, "channel", ""),
                  json_str(json_get(m, "header"), "msg_type", ""), m);
        if (c->reader.op)
            cell_maybe_done(c);
    }
    json_free(m);
}

/* All that it had said is told again; now how it ended. */
static void replay_over(struct cell *c)
{
    const struct record *r = record_of(c->k, c->id);
    struct cell_result result = {.end = r ? r->end : CELL_OK};
    if (result.end == CELL_DIED)
        err_set(&result.err, ERR_GONE, "the kernel %s ended in the middle of the cell",
                c->k->name);
    cell_over(c, &result);
}

static size_t on_cell_output(struct op *op, int stream, uint64_t at, struct str bytes)
{
    struct cell *c = op->owner;
    if (c->held)
        return 0;
    if (stream == 0 && at + bytes.n > c->reader.at)
        feed(&c->reader,
             str_sub(bytes, at < c->reader.at ? (size_t)(c->reader.at - at) : 0, bytes.n),
             on_cell_line, c);
    if (c->step == REPLAYED && c->reader.op && c->reader.at >= c->to)
        replay_over(c);
    else
        tell_seen(c->k);
    return bytes.n;
}

static void on_cell_note(struct op *op, const char *kind, const char *text, uint64_t from,
                         uint64_t to)
{
    struct cell *c = op->owner;
    (void)from;
    if (strcmp(kind, "gap") != 0)
        return;
    note(c, text);
    c->reader.at = to;
    buf_reset(&c->reader.line);
    c->reader.skipping = true;
}

static void on_cell_end(struct op *op)
{
    struct cell *c = op->owner;
    struct err e = ERR_INIT;
    c->reader.op = NULL;
    err_set(&e, ERR_GONE, "the process beside the kernel %s ended", c->k->name);
    cell_fail(c, CELL_DIED, &e);
}

static const struct op_sink cell_sink = {on_cell_output, on_cell_note, on_cell_end};

static void on_start(struct task *t)
{
    struct cell *c = container_of(t, struct cell, start);
    struct kernel *k = c->k;
    const struct record *r = record_of(k, c->id);
    c->replied = c->idle = c->failed = c->halfway = false;
    if (c->step == LATE) { /* its last part is told once more */
        timer_stop(&c->limit);
        c->step = RUNNING;
    }
    if (c->step == REPLAYED && (!r || r->to <= r->from))
        replay_over(c);
    else if (r && k->process)
        reader_start(&c->reader, k->process, &cell_sink, c, r->from);
}

/* ---- to the host ---- */

static int put_member(struct buf *b, const char *name, struct str value)
{
    buf_addf(b, ",\"%s\":", name);
    return json_quote(b, value);
}

static const char *const questions[] = {"complete", "inspect", "is_complete", "history"};

/* Characters of valid UTF-8. */
static int64_t length_of(struct str s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* The content of a message: a cell to be run, or a question. */
static int add_content(struct buf *b, const struct cell *c)
{
    struct str code = buf_str(&c->code);
    if (c->question && strcmp(c->question, "history") == 0)
        return buf_addz(b, "\"hist_access_type\":\"range\",\"session\":0,\"start\":1,"
                           "\"stop\":null,\"raw\":true,\"output\":false");
    if (c->question)
        buf_addf(b, "\"cursor_pos\":%lld,\"detail_level\":0",
                 (long long)(c->at < 0 || c->at > length_of(code) ? length_of(code)
                                                                  : c->at));
    else
        buf_addf(b,
                 "\"silent\":%s,\"store_history\":%s,\"allow_stdin\":%s,"
                 "\"stop_on_error\":false,\"user_expressions\":{}",
                 c->silent ? "true" : "false", c->history ? "true" : "false",
                 c->ev && c->ev->on_input ? "true" : "false");
    return put_member(b, "code", code);
}

/* Programs of their own may say something after the kernel has said that it is done. */
static bool is_lively(struct str code)
{
    static const char *const signs[] = {"system", "subprocess", "popen",
                                        "Popen",  "write(1",    "write(2",
                                        "ctypes", "fork",       "spawn"};
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
        if (str_find(code, str_of(signs[i])) >= 0)
            return true;
    }
    return false;
}

static int cell_send(struct cell *c, struct err *e)
{
    struct kernel *k = c->k;
    struct buf b = BUF_INIT(LIMIT_ZMTP_OUT);
    char date[25];
    uint64_t in;
    size_t room = process_stdin_room(k->process, &in);
    c->begun_ms = clock_wall_ms();
    clock_iso(c->begun_ms, date);
    int r = buf_addf(&b,
                     "{\"channel\":\"shell\",\"header\":{\"msg_id\":\"%s\",\"msg_type\":"
                     "\"%s_request\",\"session\":\"od\",\"username\":\"od\",\"date\":"
                     "\"%s\",\"version\":\"5.3\"},\"parent_header\":{},\"metadata\":{},"
                     "\"content\":{",
                     c->id, c->question ? c->question : "execute", date);
    r |= add_content(&b, c) | buf_addz(&b, "}}\n");
    if (r == 0 && b.n > room)
        r = err_set(e, ERR_LIMIT,
                    "the cell has %zu bytes as a message, and the kernel's input "
                    "takes %zu now",
                    b.n, room);
    if (r == 0) {
        struct record *rec = record_add(k);
        memcpy(rec->id, c->id, sizeof(rec->id));
        rec->from = process_output(k->process);
        rec->in = in;
        rec->len = b.n;
        rec->begun_ms = c->begun_ms;
        rec->timeout_ms = c->timeout_ms;
        c->lively = !c->question && is_lively(buf_str(&c->code));
        save(k);
        process_stdin(k->process, in, buf_str(&b), false);
    }
    buf_release(&b);
    return r;
}

static struct cell *cell_make(struct kernel *k, struct str code)
{
    struct cell *c = xnew(struct cell);
    c->k = k;
    buf_init(&c->code, LIMIT_COMMAND_MAX);
    task_init(&c->start, on_start);
    buf_adds(&c->code, code);
    return c;
}

/* ---- the kernel ---- */

static void start_host(struct kernel *k);

/* What was asked for at each start goes before the cells that wait: c, if nothing. */
static struct cell *first_cell(struct kernel *k, struct cell *c)
{
    struct str init = json_str(k->opts, "init", "");
    k->fresh = false;
    if (init.n == 0)
        return c;
    struct cell *own = cell_make(k, init);
    own->silent = true;
    random_hex(own->id, 32);
    list_add_tail(k->cells.next, &own->node); /* before the first */
    return own;
}

static void on_pump(struct task *t)
{
    struct kernel *k = container_of(t, struct kernel, pump);
    struct err e = ERR_INIT;
    struct cell *c = first(k);
    if (!c || c->step != WAITING || k->leaving || k->fall_all)
        return;
    if (!k->process || process_ended(k->process)) {
        start_host(k);
        return;
    }
    if (k->state == KERNEL_DEAD || k->state == KERNEL_FAILED) {
        k->state = KERNEL_STARTING;
        send_line(k, STR("{\"host\":\"restart\"}\n"));
    }
    if (k->state != KERNEL_READY)
        return;
    if (k->fresh)
        c = first_cell(k, c);
    if (cell_send(c, &e) < 0) {
        cell_fail(c, CELL_FAILED, &e);
        return;
    }
    c->step = RUNNING;
    if (c->timeout_ms > 0 && !c->question)
        timer_begin(k->en->loop, &c->limit, c->timeout_ms, on_limit);
    on_start(&c->start);
}

/* A connection broke, or a kernel is wrong: what should have come is lost. */
static void half_over(struct cell *c)
{
    if (c->held || c->reader.at != c->half_at) {
        c->half_at = c->reader.at;
        timer_begin(c->k->en->loop, &c->limit, HALF_MS, on_limit);
        return;
    }
    c->failed = c->failed || !c->replied;
    if (!c->question)
        note(c, c->replied
                    ? "the kernel has not said that the cell is over: the last of its "
                      "output may be missing"
                    : "the kernel has not said how the cell ended");
    cell_done(c);
}

static void on_limit(struct timer *t)
{
    struct cell *c = container_of(t, struct cell, limit);
    if (c->step == LATE) {
        cell_done(c);
    } else if (c->halfway) {
        half_over(c);
    } else if (c->question) {
        c->timed_out = true;
        cell_done(c);
    } else if (!c->timed_out) {
        c->timed_out = true;
        kernel_interrupt(c->k);
        timer_begin(c->k->en->loop, t, STUCK_MS, on_limit);
    } else {
        struct cell_result r = {.end = CELL_TIMEOUT, .stuck = true};
        cell_over(c, &r);
        /* It still is busy, and would keep all that follow from running. */
        kernel_restart(c->k);
    }
}

static void fail_cells(struct kernel *k, bool waiting_too)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->cells) {
        struct cell *c = list_entry(it, struct cell, node);
        if (c->step == REPLAYED || (c->step == WAITING && !waiting_too))
            continue;
        cell_fail(c, c->step == WAITING ? CELL_FAILED : CELL_DIED, &k->why);
    }
}

static void on_fall(struct task *t)
{
    struct kernel *k = container_of(t, struct kernel, fall);
    fail_cells(k, k->fall_all);
    k->fall_all = false;
    /* There is no such kernel: nothing of it is to be kept. */
    if (k->state == KERNEL_FAILED && !k->process && !k->about && list_empty(&k->cells))
        kernel_close(k);
    else
        pump_later(k);
}

/* Not at once: what calls is one of the readers, and others end with their cells. */
static void fail_later(struct kernel *k, bool waiting_too)
{
    k->fall_all = k->fall_all || waiting_too;
    task_defer(k->en->loop, &k->fall);
}

/* The last of what a kernel said: whole lines, where there are any. */
static struct str last_words(const struct json *m)
{
    struct str said = json_str(m, "stderr", "");
    if (said.n <= LAST_WORDS)
        return said;
    said = str_sub(said, said.n - LAST_WORDS, said.n);
    long nl = str_chr(said, '\n');
    return str_sub(said, nl < 0 ? 0 : (size_t)nl + 1, said.n);
}

static void on_dead(struct kernel *k, const struct json *m)
{
    struct str said = last_words(m);
    int64_t signo = json_int(m, "signal", 0);
    k->state = KERNEL_DEAD;
    if (signo)
        err_set(&k->why, ERR_GONE, "the kernel %s was ended by signal %lld (%s)%s%.*s",
                k->name, (long long)signo, strsignal((int)signo),
                said.n ? "; it said last: " : "", STR_ARG(said));
    else
        err_set(&k->why, ERR_GONE, "the kernel %s ended with status %lld%s%.*s", k->name,
                (long long)json_int(m, "exit", 0), said.n ? "; it said last: " : "",
                STR_ARG(said));
    k->leaving = false;
    fail_later(k, false);
}

static void on_host_line(void *arg, struct str line, uint64_t end)
{
    struct kernel *k = arg;
    struct err e = ERR_INIT;
    (void)end;
    if (!str_starts(line, STR("{\"host\":")))
        return;
    struct json *m = json_parse(line, &e);
    struct str what = json_str(m, "host", "");
    if (str_eq(what, STR("starting"))) {
        k->state = KERNEL_STARTING;
        json_free(k->about);
        k->about = m;
        return;
    }
    if (str_eq(what, STR("ready"))) {
        k->state = KERNEL_READY;
        k->fresh = true;
        if (k->about) {
            json_put_int(k->about, "pid", json_int(m, "pid", 0));
            json_put_int(k->about, "start_ms", json_int(m, "start_ms", 0));
        }
    } else if (str_eq(what, STR("dead"))) {
        on_dead(k, m);
    } else if (str_eq(what, STR("failed"))) {
        struct str said = last_words(m);
        k->state = KERNEL_FAILED;
        err_set(&k->why, (enum err_code)json_int(m, "code", ERR_GONE), "%.*s%s%.*s",
                STR_ARG(json_str(m, "error", "")), said.n ? "; it said last: " : "",
                STR_ARG(said));
        fail_later(k, true);
    } else if (str_eq(what, STR("note")) || str_eq(what, STR("stuck")) ||
               str_eq(what, STR("gap")) || str_eq(what, STR("heart"))) {
        struct str text = json_str(m, "text", "");
        if (k->about && json_has(m, "silent"))
            json_put_bool(k->about, "silent", json_bool(m, "silent", false));
        log_info("kernel %s: %.*s", k->name, STR_ARG(text));
    }
    json_free(m);
    save(k);
    pump_later(k);
}

static size_t on_host_output(struct op *op, int stream, uint64_t at, struct str bytes)
{
    struct kernel *k = op->owner;
    (void)at;
    if (stream == 0)
        feed(&k->reader, bytes, on_host_line, k);
    tell_seen(k);
    return bytes.n;
}

static void on_host_note(struct op *op, const char *kind, const char *text, uint64_t from,
                         uint64_t to)
{
    struct kernel *k = op->owner;
    (void)text;
    (void)from;
    if (strcmp(kind, "gap") != 0)
        return;
    k->reader.at = to;
    buf_reset(&k->reader.line);
    k->reader.skipping = true;
}

static void on_host_end(struct op *op)
{
    struct kernel *k = op->owner;
    k->reader.op = NULL;
    k->process = NULL;
    if (k->state != KERNEL_FAILED) {
        k->state = KERNEL_FAILED;
        err_set(&k->why, ERR_GONE, "the process beside the kernel %s ended%s%s", k->name,
                op->r.err.code ? ": " : "", op->r.err.code ? op->r.err.text : "");
    }
    k->leaving = false;
    fail_later(k, true);
    save(k);
}

static const struct op_sink host_sink = {on_host_output, on_host_note, on_host_end};

static void start_host(struct kernel *k)
{
    struct engine *en = k->en;
    struct json *given = json_object();
    struct buf options = BUF_INIT(4096), name = BUF_INIT(64);
    char self[PATH_MAX] = "/proc/self/exe", unique[13];
    json_put_str(given, "kernel", json_str(k->opts, "kernel", ""));
    json_put_str(given, "choice", json_str(k->opts, "choice", "any"));
    /* Three fourths of the spool of its output, which is half of what a stream gets. */
    uint64_t window = engine_spool_bytes(en) / 8 * 3;
    k->step = window / 2 < SEEN_STEP ? window / 2 : SEEN_STEP;
    json_put_int(given, "window", (int64_t)window);
    json_print(&options, given);
    json_free(given);
    random_hex(unique, 12);
    buf_addf(&name, "kernel-%.20s-%s", k->name, unique);
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
    for (struct json *v = json_first(json_get(k->opts, "env")); v; v = json_next(v)) {
        buf_adds(&env, json_str_value(v, ""));
        buf_addc(&env, 0);
    }
    skill_python_env(en, &env);
    if (access(self, X_OK) < 0)
        self_path(self, sizeof(self));
    char word[] = "od-kernel", *argv[] = {word, (char *)buf_z(&options), NULL};
    struct process_opts po = {.name = buf_str(&name),
                              .cwd = json_str(k->opts, "cwd", ""),
                              .user = json_str(k->opts, "user", ""),
                              .env = buf_str(&env),
                              .argv = argv,
                              .program = self,
                              .with_stdin = true};
    k->state = KERNEL_STARTING;
    k->nrecords = 0;
    k->seen = 0;
    k->process = process_start(en, &po, &k->why);
    if (k->process) {
        reader_start(&k->reader, k->process, &host_sink, k, 0);
        save(k);
    } else {
        k->state = KERNEL_FAILED;
        fail_cells(k, true);
    }
    buf_release(&options);
    buf_release(&name);
    buf_release(&env);
}

static struct kernel *kernel_make(struct engine *en, struct str name)
{
    struct kernel *k = xnew(struct kernel);
    k->en = en;
    k->name = xstrndup(name.p, name.n);
    k->opts = json_object();
    list_init(&k->cells);
    task_init(&k->pump, on_pump);
    task_init(&k->fall, on_fall);
    map_put(&en->kernels, name, k);
    return k;
}

struct kernel *kernel_lookup(struct engine *en, struct str name)
{
    return map_get(&en->kernels, name);
}

struct kernel *kernel_open(struct engine *en, struct str name,
                           const struct kernel_opts *o, struct err *e)
{
    struct kernel *k = kernel_lookup(en, name);
    if (k)
        return k;
    if (name.n == 0 || name.n > 40 || memchr(name.p, '/', name.n)) {
        err_set(e, ERR_INVALID, "a kernel's name has 1 to 40 bytes and no slash");
        return NULL;
    }
    if (en->kernels.count >= LIMIT_KERNELS_MAX) {
        err_set(e, ERR_LIMIT, "%d kernels run already: close one", LIMIT_KERNELS_MAX);
        return NULL;
    }
    k = kernel_make(en, name);
    json_put_str(k->opts, "kernel", o->kernel);
    json_put_str(k->opts, "choice", o->choice.n ? o->choice : STR("any"));
    json_put_str(k->opts, "cwd", o->cwd);
    json_put_str(k->opts, "user", o->user);
    json_put_str(k->opts, "init", o->init);
    struct json *env = json_array();
    for (struct str rest = o->env; rest.n;)
        json_push_str(env, str_cut(&rest, 0));
    json_put(k->opts, "env", env);
    start_host(k);
    if (k->state == KERNEL_FAILED) {
        *e = k->why;
        kernel_close(k);
        return NULL;
    }
    return k;
}

/* The clock went on while there was no worker. */
static void resume_limit(struct cell *c, int64_t timeout_ms)
{
    int64_t left = c->begun_ms + timeout_ms - clock_wall_ms();
    c->timeout_ms = timeout_ms;
    if (timeout_ms > 0)
        timer_begin(c->k->en->loop, &c->limit, left > 0 ? left : 0, on_limit);
}

void kernel_resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(state, &e);
    if (!j) {
        log_error("kernel %.*s: its state is unreadable: %s", STR_ARG(name), e.text);
        return;
    }
    struct kernel *k = kernel_make(en, name);
    struct buf b = BUF_INIT(OPTS_MAX);
    json_free(k->opts);
    k->opts = json_print(&b, json_get(j, "opts")) == 0
                  ? json_parse(buf_str(&b), &(struct err){0})
                  : json_object();
    buf_reset(&b);
    if (json_has(j, "about") && json_print(&b, json_get(j, "about")) == 0)
        k->about = json_parse(buf_str(&b), &(struct err){0});
    buf_release(&b);
    k->state = (enum kernel_state)json_int(j, "state", KERNEL_STARTING);
    k->fresh = json_bool(j, "fresh", false);
    k->step = (uint64_t)json_int(j, "step", SEEN_STEP);
    k->process = process_find(en, json_str(j, "process", ""));
    for (struct json *o = json_first(json_get(j, "cells")); o; o = json_next(o)) {
        struct record *r = record_add(k);
        snprintf(r->id, sizeof(r->id), "%.*s", STR_ARG(json_str(o, "id", "")));
        r->from = (uint64_t)json_int(o, "from", 0);
        r->to = (uint64_t)json_int(o, "to", 0);
        r->in = (uint64_t)json_int(o, "in", 0);
        r->len = (uint64_t)json_int(o, "len", 0);
        r->begun_ms = json_int(o, "begun", 0);
        r->timeout_ms = json_int(o, "timeout", 0);
        r->end = (enum cell_end)json_int(o, "end", CELL_OK);
    }
    uint64_t at = (uint64_t)json_int(j, "at", 0);
    json_free(j);
    if (!k->process) {
        k->state = KERNEL_FAILED;
        err_set(&k->why, ERR_GONE, "the process beside the kernel %s is gone", k->name);
        return;
    }
    struct record *last = k->nrecords ? &k->records[k->nrecords - 1] : NULL;
    if (last && last->to == 0) {
        struct cell *c = cell_make(k, STR(""));
        uint64_t in;
        c->step = RUNNING;
        c->begun_ms = last->begun_ms;
        c->lively = true;
        memcpy(c->id, last->id, sizeof(c->id));
        list_add_tail(&k->cells, &c->node);
        process_stdin_room(k->process, &in);
        /* The worker was killed before it had written all of it: it never runs. */
        if (in < last->in + last->len) {
            if (in > last->in)
                send_line(k, STR("\n"));
            k->nrecords--;
            list_del(&c->node);
            free(c);
        } else {
            resume_limit(c, last->timeout_ms);
            task_defer(en->loop, &c->start);
        }
    }
    reader_start(&k->reader, k->process, &host_sink, k, at);
}

static void bury_kernel(void *p)
{
    struct kernel *k = p;
    free(k->name);
    json_free(k->opts);
    json_free(k->about);
    free(k);
}

void kernel_close(struct kernel *k)
{
    struct engine *en = k->en;
    struct buf key = BUF_INIT(128);
    if (!k->why.code)
        err_set(&k->why, ERR_CANCELLED, "the kernel %s was closed", k->name);
    fail_cells(k, true);
    reader_stop(&k->reader);
    if (k->process && !process_ended(k->process)) {
        uint64_t at;
        process_stdin_room(k->process, &at);
        process_stdin(k->process, at, STR(""), true);
    }
    buf_addf(&key, "jupyter/%s", k->name);
    hold_put(en->hold, buf_str(&key), STR(""));
    buf_release(&key);
    task_cancel(&k->pump);
    task_cancel(&k->fall);
    map_del(&en->kernels, str_of(k->name));
    loop_bury(en->loop, k, bury_kernel);
}

void kernel_cancel_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->kernels, it, &key, &value));) {
        struct kernel *k = value;
        err_set(&k->why, ERR_CANCELLED, "the server was stopped");
        fail_cells(k, true);
    }
}

/* ---- running ---- */

static struct cell *cell_by_id(struct kernel *k, const char *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->cells) {
        struct cell *c = list_entry(it, struct cell, node);
        if (id[0] && strcmp(c->id, id) == 0)
            return c;
    }
    return NULL;
}

static int waiting(struct kernel *k)
{
    int n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &k->cells)
        n++;
    return n;
}

struct cell *kernel_run(struct kernel *k, const struct cell_opts *o,
                        const struct cell_events *ev, void *owner, struct err *e)
{
    struct cell *c = cell_by_id(k, o->id);
    struct record *r = record_of(k, o->id);
    engine_touch(k->en);
    if (c) {
        c->ev = ev;
        c->owner = owner;
        if (c->step == RUNNING || c->step == LATE)
            task_defer(k->en->loop, &c->start); /* from its beginning */
        if (c->timeout_ms == 0 && o->timeout_ms > 0 && c->step == RUNNING)
            timer_begin(k->en->loop, &c->limit, o->timeout_ms, on_limit);
        return c;
    }
    if (waiting(k) >= LIMIT_QUEUE_MAX) {
        err_set(e, ERR_LIMIT, "%d cells wait for the kernel %s already", LIMIT_QUEUE_MAX,
                k->name);
        return NULL;
    }
    if (o->code.n > LIMIT_COMMAND_MAX) {
        err_set(e, ERR_LIMIT, "a cell has at most %d bytes", LIMIT_COMMAND_MAX);
        return NULL;
    }
    const char *question = NULL;
    for (size_t i = 0; o->question && i < sizeof(questions) / sizeof(*questions); i++) {
        if (strcmp(o->question, questions[i]) == 0)
            question = questions[i];
    }
    if (o->question && !question) {
        err_set(e, ERR_INVALID, "a kernel is asked one of " KERNEL_QUESTIONS);
        return NULL;
    }
    c = cell_make(k, o->code);
    c->question = question;
    c->at = o->at;
    c->ev = ev;
    c->owner = owner;
    c->silent = o->silent;
    c->history = o->history;
    c->timeout_ms = o->timeout_ms;
    if (o->id[0])
        snprintf(c->id, sizeof(c->id), "%s", o->id);
    else
        random_hex(c->id, 32);
    list_add_tail(&k->cells, &c->node);
    if (question && o->timeout_ms > 0) /* from now on: it may wait for its turn, too */
        timer_begin(k->en->loop, &c->limit, o->timeout_ms, on_limit);
    if (r && r->to) {
        c->step = REPLAYED;
        c->to = r->to;
        c->begun_ms = r->begun_ms;
        task_defer(k->en->loop, &c->start);
    } else
        pump_later(k);
    return c;
}

void cell_hold(struct cell *c, bool hold)
{
    c->held = hold;
    if (!hold && c->reader.op)
        op_pump(c->reader.op);
}

void cell_answer(struct cell *c, struct str text)
{
    struct buf b = BUF_INIT(LIMIT_COMMAND_MAX), h = BUF_INIT(64 << 10);
    if (!c->asked || c->step != RUNNING)
        goto out;
    char id[33];
    random_hex(id, 32);
    json_print(&h, c->asked);
    buf_addf(&b,
             "{\"channel\":\"stdin\",\"header\":{\"msg_id\":\"%s\",\"msg_type\":"
             "\"input_reply\",\"session\":\"od\",\"username\":\"od\",\"date\":"
             "\"2000-01-01T00:00:00Z\",\"version\":\"5.3\"},\"parent_header\":%s,"
             "\"metadata\":{},\"content\":{\"status\":\"ok\"",
             id, buf_z(&h));
    put_member(&b, "value", text);
    if (buf_addz(&b, "}}\n") == 0)
        send_line(c->k, buf_str(&b));
    json_free(c->asked);
    c->asked = NULL;
out:
    buf_release(&b);
    buf_release(&h);
}

void cell_drop(struct cell *c)
{
    c->ev = NULL;
    c->held = false;
    if (c->step == RUNNING || c->step == LATE) {
        cell_hold(c, false);
        return;
    }
    reader_stop(&c->reader);
    task_cancel(&c->start);
    list_del(&c->node);
    loop_bury(c->k->en->loop, c, bury_cell);
}

bool cell_runs(const struct cell *c) { return c->step == RUNNING || c->step == LATE; }

void cell_cancel(struct cell *c)
{
    if (cell_runs(c) && !c->question)
        kernel_interrupt(c->k);
    cell_drop(c);
}

const char *cell_end_name(enum cell_end end)
{
    static const char *const names[] = {"ok", "error", "timeout", "died", "failed"};
    return names[end];
}

void kernel_interrupt(struct kernel *k)
{
    send_line(k, STR("{\"host\":\"interrupt\"}\n"));
}

void kernel_restart(struct kernel *k)
{
    err_set(&k->why, ERR_CANCELLED, "the kernel %s was restarted", k->name);
    fail_cells(k, true);
    k->leaving = false;
    if (!k->process || process_ended(k->process)) {
        start_host(k);
        return;
    }
    k->state = KERNEL_STARTING;
    send_line(k, STR("{\"host\":\"restart\"}\n"));
    save(k);
}

enum kernel_state kernel_state(const struct kernel *k) { return k->state; }
const char *kernel_name(const struct kernel *k) { return k->name; }

const char *kernel_interpreter(const struct kernel *k)
{
    struct str s = json_str(k->about, "interpreter", "");
    return s.p; /* of a parsed string: it ends in a zero */
}

struct json *kernel_json(const struct kernel *k)
{
    static const char *const states[] = {"starting", "ready", "dead", "failed"};
    static const char *const members[] = {"kernel", "display", "language", "where",
                                          "interpreter"};
    struct json *j = json_object();
    struct cell *c = first((struct kernel *)k);
    json_put_z(j, "name", k->name);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        json_put_str(j, members[i], json_str(k->about, members[i], ""));
    json_put_bool(j, "embedded", json_bool(k->about, "embedded", false));
    json_put_z(j, "state", states[k->state]);
    json_put_bool(j, "silent", json_bool(k->about, "silent", false));
    json_put_int(j, "pid", json_int(k->about, "pid", 0));
    json_put_int(j, "start_ms", json_int(k->about, "start_ms", 0));
    json_put_bool(j, "busy", c && c->step != WAITING);
    if (k->state == KERNEL_DEAD || k->state == KERNEL_FAILED)
        json_put_z(j, "why", k->why.text);
    return j;
}

struct json *kernel_overview(struct engine *en, struct str cwd)
{
    struct json *r = json_object(), *running = json_array(), *specs = json_array();
    struct kernel_list l;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->kernels, it, &key, &value));)
        json_push(running, kernel_json(value));
    kernel_find(&l, en->env, cwd.n ? cwd.p : NULL);
    for (int i = 0; i < l.n; i++) {
        struct json *s = json_object();
        json_put_z(s, "name", l.v[i].name);
        json_put_z(s, "display", l.v[i].display);
        json_put_z(s, "language", l.v[i].language);
        json_put_z(s, "where", l.v[i].where);
        json_put_bool(s, "embedded", l.v[i].embedded);
        json_push(specs, s);
    }
    json_put(r, "kernels", running);
    json_put(r, "specs", specs);
    json_put_str(r, "notes_on_specs", buf_str(&l.notes));
    kernel_list_release(&l);
    return r;
}
