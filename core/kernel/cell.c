/* SPDX-License-Identifier: MIT */
/*
 * Cells.
 *
 *   cell: CALL_WAITING --its turn--> CALL_RUNNING --reply and idle--> (CALL_LATE) -->
 * done CALL_RUNNING --time limit--> interrupted --> done, or stuck after STUCK_MS
 */
#include "kernel/own.h"

#include "base/clock.h"
#include "base/jsontext.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Output of a cell's programs may come after its end: through a pipe, or from
       ipykernel, which passes it on every 200 ms. */
    LATE_MS = 40,
    LATE_JUPYTER_MS = 300,
    LATE_DENO_MS = 150, /* its output has a queue of its own, next to replies and idle */
    STUCK_MS = 8000,    /* after the interrupt of a time limit */
    START_MS = 2000,    /* what a kernel may take; shorter limits are for code */
    /* Time without output to wait for the second of the two signs of a cell's end: 100
       MB may lie between them, on a busy machine. */
    HALF_MS = 15000
};

/* ---- what answers it ---- */

static struct cell *cell_of(struct companion_call *call)
{
    return call ? container_of(call, struct cell, call) : NULL;
}

struct cell *kernel_first_cell(const struct kernel *k)
{
    return cell_of(companion_first(&k->host));
}

void kernel_tell_seen(struct kernel *k)
{
    uint64_t at = k->host.reader.at;
    struct cell *c = kernel_first_cell(k);
    if (c && c->reader.op && c->reader.at < at)
        at = c->reader.at;
    companion_read(&k->host, listeners_seen(k, at));
}

static void bury_cell(void *p)
{
    struct cell *c = p;
    buf_release(&c->code);
    json_free(c->asked);
    json_free(c->request);
    free(c);
}

bool cell_runs(const struct cell *c)
{
    return c->call.step == CALL_RUNNING || c->call.step == CALL_LATE;
}

bool cell_waits(const struct cell *c)
{
    const struct cell *first = kernel_first_cell(c->k);
    return c->call.step == CALL_WAITING && first && first != c && !first->before;
}

static void set_about(const struct cell *c, struct cell_result *r)
{
    r->count = c->count;
    r->leaves = c->leaves;
    r->renewed = c->renewed;
    r->duration_ms = c->call.begun_ms ? clock_wall_ms() - c->call.begun_ms : 0;
}

static void cell_over(struct cell *c, struct cell_result *r)
{
    struct kernel *k = c->k;
    struct record *rec = kernel_record_of(k, c->call.id);
    bool ran = c->call.step != CALL_WAITING && c->call.step != CALL_REPLAYED;
    set_about(c, r);
    ASSERT(!list_empty(&c->call.node)); /* on_done is called once */
    timer_stop(&c->call.limit);
    timer_stop(&c->unwaited);
    gate_leave(&c->gate);
    task_cancel(&c->start);
    if (rec && ran && rec->to == 0) {
        rec->to = c->reader.op ? c->reader.at : rec->from;
        rec->end = r->end;
    }
    line_reader_close(&c->reader);
    list_del(&c->call.node);
    if (c->ev)
        c->ev->on_done(c->owner, r);
    loop_bury(k->host.en->loop, c, bury_cell);
    /* Without this state, the next worker reads the end of the cell again. */
    if (ran)
        task_defer(k->host.en->loop, &k->keep);
    kernel_tell_seen(k); /* the cell's reader may have been the slowest */
    k->host.en->idle_since_ms = clock_ms();
    companion_turn_later(&k->host);
}

static void note(struct cell *c, const char *text);

static void cell_done(struct cell *c)
{
    struct cell_result r = {.end = c->timed_out ? CELL_TIMEOUT
                                   : c->failed  ? CELL_ERROR
                                                : CELL_OK};
    if (c->failed && !c->told && *c->why)
        note(c, c->why);
    if (c->leaves && c->k->leaving)
        companion_send(&c->k->host, STR("{\"host\":\"leave\"}\n"));
    cell_over(c, &r);
}

void cell_fail(struct cell *c, enum cell_end end, const struct err *e)
{
    struct cell_result r = {.end = end, .err = *e};
    cell_over(c, &r);
}

static void cell_maybe_done(struct cell *c)
{
    if (c->call.step == CALL_REPLAYED || (!c->replied && !c->idle))
        return;
    if (!c->replied || !c->idle) {
        if (!c->halfway) {
            c->half_at = c->reader.at;
            timer_begin(c->k->host.en->loop, &c->call.limit, HALF_MS, cell_on_limit);
        }
        c->halfway = true;
        return;
    }
    struct str language = json_str(c->k->about, "language", "");
    bool deno = str_eq(language, STR("typescript"));
    bool own = json_bool(c->k->about, "embedded", false) ||
               !str_eq(language, STR("python"));
    if (!c->lively && !deno) {
        cell_done(c);
        return;
    }
    c->call.step = CALL_LATE;
    timer_begin(c->k->host.en->loop, &c->call.limit,
                deno  ? LATE_DENO_MS
                : own ? LATE_MS
                      : LATE_JUPYTER_MS,
                cell_on_limit);
}

static void tell(struct cell *c, struct str type, const struct json *content)
{
    c->told = true;
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

/* Also when it is read once more, while the next process of the kernel runs. */
static void leave(struct cell *c)
{
    c->leaves = true;
    c->k->leaving = c->k->leaving ||
                    (c->call.step != CALL_REPLAYED && c->k->state == KERNEL_READY);
    note(c, "the kernel ended: " KERNEL_LEFT);
}

/* ---- it has not run, or does not end ---- */

void cell_begin_limit(struct cell *c, bool starts)
{
    int64_t ms = c->call.timeout_ms;
    bool is_short = ms < START_MS;
    if (ms <= 0 || c->question ||
        (timer_active(&c->call.limit) && (starts || !is_short)))
        return;
    timer_begin(c->k->host.en->loop, &c->call.limit, starts && is_short ? START_MS : ms,
                cell_on_limit);
}

void cell_stop_waiting(struct cell *c)
{
    struct cell_result r = {.end = CELL_ERROR};
    struct json *j = json_object(), *lines = json_array();
    json_put_z(j, "ename", "KeyboardInterrupt");
    json_put_z(j, "evalue", "");
    json_push_str(lines, STR("KeyboardInterrupt: the kernel was still starting, and the "
                             "cell has not run"));
    json_put(j, "traceback", lines);
    tell(c, STR("error"), j);
    json_free(j);
    cell_over(c, &r);
}

static int set_stuck(const struct cell *c, struct err *e)
{
    return err_set(e, ERR_BUSY,
                   "the kernel %s does not respond to interrupts, and still runs its "
                   "cell; a restart of the kernel ends that",
                   c->k->host.name);
}

/* Answers its caller and those that wait; the cell blocks the kernel until it ends. */
static void on_unwaited(struct timer *t)
{
    struct cell *c = container_of(t, struct cell, unwaited);
    struct cell_result r = {.end = CELL_ERROR, .stuck = true};
    struct list *it, *tmp;
    const struct cell_events *ev = c->ev;
    set_stuck(c, &r.err);
    set_about(c, &r);
    c->abandoned = true;
    c->ev = NULL;
    c->held = false;
    line_reader_pump(&c->reader);
    list_each (it, tmp, &c->k->host.calls) {
        struct cell *next = cell_of(list_entry(it, struct companion_call, node));
        if (next->call.step == CALL_WAITING)
            cell_fail(next, CELL_FAILED, &r.err);
    }
    if (ev)
        ev->on_done(c->owner, &r);
}

void cell_is_stuck(struct cell *c)
{
    if (!cell_runs(c) || c->timed_out) /* that ends it */
        return;
    c->stuck = true;
    if (!timer_active(&c->unwaited) && !c->abandoned)
        timer_begin(c->k->host.en->loop, &c->unwaited, STUCK_MS, on_unwaited);
}

static void on_payload(struct cell *c, const struct json *reply)
{
    for (struct json *p = json_first(json_get(reply, "payload")); p; p = json_next(p)) {
        struct str source = json_str(p, "source", "");
        if (str_eq(source, STR("page")))
            tell(c, STR("page"), json_get(p, "data"));
        else if (str_eq(source, STR("ask_exit")) && !json_bool(p, "keepkernel", false))
            leave(c);
    }
}

/* The kernel does the same with requests that wait there (messaging document, "Execution
 * results"). */
static void cell_stop(const struct cell *failed)
{
    struct list *it, *tmp;
    struct err e = ERR_INIT;
    if (!json_bool(json_get(failed->request, "content"), "stop_on_error", true))
        return;
    err_set(&e, ERR_CANCELLED, "an earlier cell failed");
    list_each (it, tmp, &failed->k->host.calls) {
        struct cell *c = cell_of(list_entry(it, struct companion_call, node));
        if (c->request && c->call.step == CALL_WAITING)
            cell_fail(c, CELL_FAILED, &e);
    }
}

/* Keeps why the cell failed, for one that says so only in its reply. */
static void keep_why(struct cell *c, const struct json *reply)
{
    struct str name = json_str(reply, "ename", "");
    if (str_starts(json_str(reply, "status", ""), STR("abort")))
        buf_fill(c->why, sizeof(c->why),
                 "the kernel has not run the cell: one just before it failed");
    else if (name.n)
        buf_fill(c->why, sizeof(c->why), "%.*s: %.*s", STR_ARG(name),
                 STR_ARG(json_str(reply, "evalue", "")));
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
        if (c->failed)
            keep_why(c, content);
        on_payload(c, content);
        if (c->failed && c->request && c->call.step != CALL_REPLAYED)
            cell_stop(c);
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
    } else if (str_eq(type, STR("execute_input"))) {
        if (c->ev && c->ev->on_begun)
            c->ev->on_begun(c->owner, json_int(content, "execution_count", 0));
    } else if (str_eq(channel, STR("iopub")))
        tell(c, type, content);
}

static void on_cell_line(void *arg, struct str line, uint64_t end)
{
    struct cell *c = arg;
    struct err e = ERR_INIT;
    bool host = str_starts(line, STR("{\"host\":"));
    if (c->call.step == CALL_REPLAYED && end > c->to)
        return;
    if (!host && str_find(str_sub(line, 0, LINE_HEAD), str_of(c->call.id)) < 0)
        return;
    struct json *m = json_parse(line, &e);
    if (!m) {
        log_warn("kernel %s: a line is unreadable: %s", c->k->host.name, e.text);
        note(c, "a message of the kernel cannot be read, and was left out");
        return;
    }
    if (host) {
        struct str what = json_str(m, "host", "");
        if (str_eq(what, STR("note")) || str_eq(what, STR("gap")) ||
            str_eq(what, STR("stuck")) || str_eq(what, STR("heart")))
            tell(c, STR("note"), m);
    } else if (str_eq(json_str(json_get(m, "parent_header"), "msg_id", ""),
                      str_of(c->call.id))) {
        on_answer(c, json_str(m, "channel", ""),
                  json_str(json_get(m, "header"), "msg_type", ""), m);
        if (c->reader.op)
            cell_maybe_done(c);
    }
    json_free(m);
}

static void tell_text(struct cell *c, struct str piece)
{
    c->told = true;
    if (c->ev && c->ev->on_text)
        c->ev->on_text(c->owner, piece);
}

/* Reads the beginning of a long line, if it is output of the cell. */
static bool is_output(const struct cell *c, struct str head, struct str *type,
                      struct str *content)
{
    struct str in = str_sub(head, 1, head.n), name, value, channel = STR(""),
               header = STR(""), parent = STR("");
    while (jsontext_member(&in, &name, &value) && !str_eq(name, STR("content"))) {
        if (str_eq(name, STR("channel")))
            channel = jsontext_plain(value);
        else if (str_eq(name, STR("header")))
            header = value;
        else if (str_eq(name, STR("parent_header")))
            parent = value;
    }
    if (!str_eq(name, STR("content")) || value.n == 0)
        return false;
    *type = jsontext_plain(jsontext_get(header, STR("msg_type")));
    *content = str_sub(head, (size_t)(value.p - head.p), head.n);
    return str_eq(channel, STR("iopub")) &&
           str_eq(jsontext_plain(jsontext_get(parent, STR("msg_id"))),
                  str_of(c->call.id)) &&
           type->n && !str_eq(*type, STR("status")) &&
           !str_eq(*type, STR("execute_input"));
}

/* The piece ends with the last brace of the line. */
static enum line_fate on_cell_head(void *arg, struct str head)
{
    struct cell *c = arg;
    struct str type, content;
    if (str_starts(head, STR("{\"host\":")))
        return LINE_WHOLE;
    if ((c->call.step == CALL_REPLAYED && c->reader.begin >= c->to) ||
        str_find(head, str_of(c->call.id)) < 0)
        return LINE_PASSED_OVER;
    if ((c->ev && !c->ev->on_text) || !is_output(c, head, &type, &content))
        return LINE_WHOLE;
    struct buf begin = BUF_INIT(2 * LINE_HEAD);
    buf_addz(&begin, "{\"type\":");
    json_quote(&begin, type);
    buf_addz(&begin, ",\"content\":");
    buf_adds(&begin, content);
    tell_text(c, buf_str(&begin));
    buf_release(&begin);
    return LINE_PARTS;
}

static void on_cell_part(void *arg, struct str bytes, bool ends)
{
    struct cell *c = arg;
    if (bytes.n)
        tell_text(c, bytes);
    if (ends)
        tell_text(c, STR("\n"));
}

/* All of its output was passed on again; its end follows. */
static void replay_over(struct cell *c)
{
    const struct record *r = kernel_record_of(c->k, c->call.id);
    struct cell_result result = {.end = r ? r->end : CELL_OK};
    if (result.end == CELL_DIED)
        err_set(&result.err, ERR_GONE, "the kernel %s ended in the middle of the cell",
                c->k->host.name);
    cell_over(c, &result);
}

/*
 * No output is wanted after a caller reconnected, until cell_start reads from the
 * beginning.
 */
static bool on_cell_wanted(void *arg)
{
    const struct cell *c = arg;
    return !c->held && list_empty(&c->start.node);
}

static void on_cell_read(void *arg)
{
    struct cell *c = arg;
    if (c->call.step == CALL_REPLAYED && c->reader.at >= c->to)
        replay_over(c);
    else
        kernel_tell_seen(c->k);
}

static void on_cell_gap(void *arg, const char *text) { note(arg, text); }

static void on_cell_end(void *arg, const struct op_result *r)
{
    struct cell *c = arg;
    struct err e = ERR_INIT;
    (void)r;
    err_set(&e, ERR_GONE, "the process of the kernel %s ended", c->k->host.name);
    cell_fail(c, CELL_DIED, &e);
}

static const struct line_calls cell_lines = {.line = on_cell_line,
                                             .head = on_cell_head,
                                             .part = on_cell_part,
                                             .wanted = on_cell_wanted,
                                             .read = on_cell_read,
                                             .gap = on_cell_gap,
                                             .end = on_cell_end};

void cell_start(struct task *t)
{
    struct cell *c = container_of(t, struct cell, start);
    struct kernel *k = c->k;
    const struct record *r = kernel_record_of(k, c->call.id);
    c->replied = c->idle = c->failed = c->halfway = c->told = false;
    if (c->call.step == CALL_LATE) { /* its last part is delivered again */
        timer_stop(&c->call.limit);
        c->call.step = CALL_RUNNING;
    }
    if (c->call.step == CALL_REPLAYED && (!r || r->to <= r->from))
        replay_over(c);
    else if (r && k->host.process)
        line_reader_open(&c->reader, k->host.process, r->from, &cell_lines, c);
}

/* A connection broke, or the kernel has a fault: the other sign of the end is lost. */
static void half_over(struct cell *c)
{
    if (c->held || c->reader.at != c->half_at) {
        c->half_at = c->reader.at;
        timer_begin(c->k->host.en->loop, &c->call.limit, HALF_MS, cell_on_limit);
        return;
    }
    c->failed = c->failed || !c->replied;
    if (!c->question)
        note(c, c->replied
                    ? "the kernel has not reported the end of the cell: the last of its "
                      "output may be missing"
                    : "the kernel has not reported how the cell ended");
    cell_done(c);
}

void cell_on_limit(struct timer *t)
{
    struct cell *c = container_of(t, struct cell, call.limit);
    /* A caller reconnected in this turn: it gets all output before the end. */
    if (!list_empty(&c->start.node) && (c->call.step == CALL_LATE || c->halfway))
        return;
    if (c->call.step == CALL_LATE) {
        cell_done(c);
    } else if (c->halfway) {
        half_over(c);
    } else if (c->question) {
        c->timed_out = true;
        cell_done(c);
    } else if (c->call.step == CALL_WAITING) {
        struct cell_result r = {.end = CELL_TIMEOUT};
        err_set(&r.err, ERR_TIMEOUT,
                "the kernel %s was still starting, and the cell has not run",
                c->k->host.name);
        cell_over(c, &r);
    } else if (!c->timed_out) {
        c->timed_out = true;
        timer_stop(&c->unwaited);
        kernel_interrupt(c->k);
        timer_begin(c->k->host.en->loop, t, STUCK_MS, cell_on_limit);
    } else {
        struct cell_result r = {.end = CELL_TIMEOUT, .stuck = true};
        cell_over(c, &r);
        /* The kernel is still busy, and would block all following cells. */
        kernel_restart(c->k);
        c->k->renewed = true; /* its callers did not ask for that */
    }
}

struct cell *cell_make(struct kernel *k, struct str code)
{
    struct cell *c = xnew(struct cell);
    c->k = k;
    buf_init(&c->code, code.n); /* cell_send limits it as a message */
    task_init(&c->start, cell_start);
    buf_adds(&c->code, code);
    return c;
}

/* ---- for its caller ---- */

static const char *const questions[] = {"complete", "inspect", "is_complete", "history"};

bool kernel_knows(struct kernel *k, const char *id)
{
    return companion_find(&k->host, id) || kernel_record_of(k, id);
}

struct cell *kernel_run(struct kernel *k, const struct cell_opts *o,
                        const struct cell_events *ev, void *owner, struct err *e)
{
    struct cell *c = cell_of(companion_find(&k->host, o->id));
    struct record *r = kernel_record_of(k, o->id);
    const struct cell *first = kernel_first_cell(k);
    engine_touch(k->host.en);
    if (first && first->stuck && (!c || c->abandoned)) {
        set_stuck(first, e);
        return NULL;
    }
    if (c) {
        c->ev = ev;
        c->owner = owner;
        if (c->call.step == CALL_RUNNING || c->call.step == CALL_LATE)
            task_defer(k->host.en->loop, &c->start); /* from its beginning */
        if (c->call.timeout_ms == 0 && o->timeout_ms > 0 && c->call.step == CALL_RUNNING)
            timer_begin(k->host.en->loop, &c->call.limit, o->timeout_ms, cell_on_limit);
        return c;
    }
    if (companion_check_queue(&k->host, e) < 0)
        return NULL;
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
    c->request = o->request ? json_copy(o->request) : NULL;
    c->call.timeout_ms = o->timeout_ms;
    companion_add(&k->host, &c->call, o->id);
    if (question && o->timeout_ms > 0) /* from now on: it may wait for its turn, too */
        timer_begin(k->host.en->loop, &c->call.limit, o->timeout_ms, cell_on_limit);
    if (r && r->to) {
        c->call.step = CALL_REPLAYED;
        c->to = r->to;
        c->call.begun_ms = r->begun_ms;
        task_defer(k->host.en->loop, &c->start);
    } else
        companion_turn_later(&k->host);
    return c;
}

void cell_hold(struct cell *c, bool hold)
{
    c->held = hold;
    if (!hold)
        line_reader_pump(&c->reader);
}

void cell_drop(struct cell *c)
{
    c->ev = NULL;
    c->held = false;
    if (c->call.step == CALL_RUNNING || c->call.step == CALL_LATE) {
        cell_hold(c, false);
        return;
    }
    line_reader_close(&c->reader);
    gate_leave(&c->gate);
    task_cancel(&c->start);
    list_del(&c->call.node);
    loop_bury(c->k->host.en->loop, c, bury_cell);
}

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
