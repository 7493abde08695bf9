/* SPDX-License-Identifier: MIT */
/*
 * A command from its request to its last event.
 *
 *   bash_do ─▶ state at the keeper ─▶ BashCommand ─▶ action `process`
 *                                                       │ its process was started
 *   last BashOutput, state removed ◀── exit and EOF ◀── op with all output
 *
 * Output is collected, and becomes an event when a stream has more than BASH_CHUNK
 * characters; while a WebSocket is open, also from time to time. Before an event is
 * written, the state stores where the output after it begins: a worker that takes over
 * checks whether the event exists.
 */
#include "front/v1/bash.h"

#include "action/log.h"
#include "action/process.h"
#include "base/clock.h"
#include "base/jsontext.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/state.h"
#include "front/v1/own.h"
#include "shell/op.h"
#include "shell/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RAW_MAX = 8 << 20,  /* bytes of one stream: a chunk of 4-byte characters, and a
                         * piece */
    NOTE_MAX = 4 << 10, /* bytes of the server's notes about the output */
    STREAM_MS = 1000,   /* a command that ends earlier has one event */
    STREAM_LEAST_MS = 100,
    STREAM_MOST_MS = 2000,
    TIMEOUT_DEFAULT_S = 300,
    TIMEOUT_MOST_S = 30 * 86400
};

static const char start_failed[] = "Error executing command: ";

struct bash_stream {
    struct buf raw; /* output that is in no event yet */
    size_t scanned; /* bytes of raw whose characters were counted */
    size_t chars;
    uint64_t from; /* offset of raw in the process' output */
    uint64_t next; /* the same after the event that is about to be written */
};

struct bash_run {
    struct list node; /* in bash.runs */
    struct bash *b;
    char id[BASH_ID + 1];
    uint64_t action;   /* its id in the log; 0: unknown */
    int64_t timeout_s; /* 0 or less: it expires at once */
    struct op *op;     /* borrowed from the process; NULL: it has not started */
    bool begun;        /* its process was started, perhaps by an earlier worker */
    struct bash_stream s[2];
    struct buf note;
    int64_t order; /* of the next event */
    int64_t since_ms;
    struct timer stream;
    struct task tidy;
    struct list waits;
};

const struct model bash_request = {
    .fields = (const struct model_field[]){
        {.name = "command", .type = MODEL_STRING, .required = true},
        {.name = "cwd", .type = MODEL_STRING, .nullable = true},
        {.name = "timeout", .type = MODEL_INT},
        {.name = NULL}}};

/* ---- state ---- */

static const char prefix[] = "v1/c/";

static const struct state_field kept[] = {
    STATE_ROW(struct bash_run, order),
    STATE_ROW(struct bash_run, begun),
    STATE_ROW(struct bash_run, action),
    STATE_ROW_AS("timeout", struct bash_run, timeout_s),
    STATE_ROW(struct bash_run, s[0].from),
    STATE_ROW(struct bash_run, s[0].next),
    STATE_ROW(struct bash_run, s[1].from),
    STATE_ROW(struct bash_run, s[1].next),
    {.name = NULL},
};

/* Stores the state; n0, n1: bytes of the streams that an event takes which is about to be
 * written. */
static void keep(struct bash_run *run, size_t n0, size_t n1)
{
    run->s[0].next = run->s[0].from + n0;
    run->s[1].next = run->s[1].from + n1;
    state_keep(run->b->v->en, prefix, run->id, kept, run);
}

/* ---- events ---- */

/* A random UUID (RFC 9562 5.4). */
static void new_id(char id[BASH_ID + 1])
{
    random_hex(id, BASH_ID);
    id[12] = '4';
    id[16] = "89ab"[id[16] & 3];
}

static void put_text(struct buf *b, const char *name, struct str text)
{
    buf_addf(b, "\"%s\":", name);
    if (text.n > 0)
        json_quote(b, text);
    else
        buf_addz(b, "null");
    buf_addc(b, ',');
}

/* Writes a BashOutput. exit NULL: the command goes on. */
static uint64_t write_output(struct bash_run *run, const int *code, struct str out,
                             struct str err)
{
    struct bash_store *s = &run->b->store;
    struct buf b = BUF_INIT(BASH_TEXT_MAX);
    char id[BASH_ID + 1], time[32];
    uint64_t us = bash_store_now(s);
    new_id(id);
    bash_time(us, time);
    buf_addf(&b, "{\"id\":\"%s\",\"timestamp\":\"%s\",\"command_id\":\"%s\",", id, time,
             run->id);
    buf_addf(&b, "\"order\":%lld,\"exit_code\":", (long long)run->order);
    if (code)
        buf_addf(&b, "%d,", *code);
    else
        buf_addz(&b, "null,");
    put_text(&b, "stdout", out);
    put_text(&b, "stderr", err);
    buf_addz(&b, "\"kind\":\"BashOutput\"}");
    uint64_t number = bash_store_add(s, BASH_OUTPUT, us, id, run->id, run->order,
                                     buf_str(&b));
    buf_release(&b);
    run->order++;
    bash_publish(run->b);
    return number;
}

/* Removes the first n bytes of a stream, which are in an event now. */
static void written(struct bash_stream *s, size_t n, size_t chars)
{
    buf_consume(&s->raw, n);
    s->scanned = s->scanned > n ? s->scanned - n : 0;
    s->chars -= chars;
    s->from += n;
}

/* ---- output ---- */

/*
 * Counts at most `most` characters of text from *at on, and moves *at after them. An
 * incomplete character at the end is not counted.
 */
static size_t count_chars(struct str text, size_t *at, size_t most)
{
    size_t chars = 0;
    while (chars < most && *at < text.n) {
        uint32_t cp;
        struct str rest = str_sub(text, *at, text.n);
        int n = (unsigned char)*rest.p < 0x80 ? 1 : utf8_decode(rest, &cp);
        if (n == 0)
            break;
        *at += n > 0 ? (size_t)n : utf8_bad(rest);
        chars++;
    }
    return chars;
}

/* Makes an event of exactly BASH_CHUNK characters of a stream that has more. */
static void cut_chunk(struct bash_run *run, int i)
{
    struct bash_stream *s = &run->s[i];
    struct str raw = buf_str(&s->raw), none = STR("");
    size_t n = 0;
    count_chars(raw, &n, BASH_CHUNK);
    keep(run, i == 0 ? n : 0, i == 1 ? n : 0);
    struct str chunk = str_sub(raw, 0, n);
    write_output(run, NULL, i == 0 ? chunk : none, i == 1 ? chunk : none);
    written(s, n, BASH_CHUNK);
}

/* Makes an event of all output so far, without an incomplete character at its end. */
static void cut_all(struct bash_run *run)
{
    struct str part[2];
    for (int i = 0; i < 2; i++) {
        struct str raw = buf_str(&run->s[i].raw);
        part[i] = str_sub(raw, 0, utf8_cut(raw, raw.n));
    }
    if (part[0].n + part[1].n == 0)
        return;
    keep(run, part[0].n, part[1].n);
    write_output(run, NULL, part[0], part[1]);
    for (int i = 0; i < 2; i++)
        written(&run->s[i], part[i].n, run->s[i].chars);
    for (int i = 0; i < 2; i++)
        run->s[i].scanned = run->s[i].chars = 0;
}

static void on_stream(struct timer *t)
{
    struct bash_run *run = container_of(t, struct bash_run, stream);
    if (run->b->nlinks > 0)
        cut_all(run);
}

/* A WebSocket is open: schedules an event for the output so far, less often the longer
 * the command runs. */
static void stream_later(struct bash_run *run)
{
    int64_t age = clock_ms() - run->since_ms, wait = age / 20;
    if (run->b->nlinks == 0 || timer_active(&run->stream))
        return;
    if (wait < STREAM_LEAST_MS)
        wait = STREAM_LEAST_MS;
    if (wait > STREAM_MOST_MS)
        wait = STREAM_MOST_MS;
    if (age + wait < STREAM_MS)
        wait = STREAM_MS - age;
    timer_begin(run->b->v->en->loop, &run->stream, wait, on_stream);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct bash_run *run = op->owner;
    struct bash_stream *s = &run->s[stream == 1];
    if (offset != s->from + s->raw.n) { /* a gap, which on_note reports */
        cut_all(run);
        buf_reset(&s->raw);
        s->scanned = s->chars = 0;
        s->from = offset;
    }
    buf_adds(&s->raw, bytes);
    s->chars += count_chars(buf_str(&s->raw), &s->scanned, SIZE_MAX);
    while (s->chars > BASH_CHUNK)
        cut_chunk(run, stream == 1);
    stream_later(run);
    return bytes.n;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct bash_run *run = op->owner;
    (void)from;
    (void)to;
    if (kind == NOTE_GAP && text && run->note.n + strlen(text) + 2 < NOTE_MAX)
        buf_addf(&run->note, "%s\n", text);
}

/* ---- the end ---- */

static void run_free(void *p)
{
    struct bash_run *run = p;
    for (int i = 0; i < 2; i++)
        buf_release(&run->s[i].raw);
    buf_release(&run->note);
    free(run);
}

static struct process *process_of(const struct bash_run *run)
{
    char name[BASH_ID + 8];
    snprintf(name, sizeof(name), "v1-%s", run->id);
    return process_find(run->b->v->en, str_of(name));
}

/* Its output is in events: the process and its spool are no longer needed. */
static void on_tidy(struct task *t)
{
    struct bash_run *run = container_of(t, struct bash_run, tidy);
    struct process *p = process_of(run);
    if (p && process_ended(p))
        process_free(p);
    loop_bury(run->b->v->en->loop, run, run_free);
}

/* The command is over; last: the number of its last event. */
static void run_over(struct bash_run *run, uint64_t last)
{
    struct bash *b = run->b;
    state_drop(run->b->v->en, prefix, run->id);
    timer_stop(&run->stream);
    list_del(&run->node);
    b->nruns--;
    while (!list_empty(&run->waits)) {
        struct bash_wait *w = list_first(&run->waits, struct bash_wait, node);
        list_del(&w->node);
        w->ended(w, last);
    }
    task_defer(b->v->en->loop, &run->tidy); /* the action's own op ends in this turn */
}

/* Writes the last event. more: text to add to the error output. */
static void finish(struct bash_run *run, int code, const char *more)
{
    struct buf err = BUF_INIT(RAW_MAX + NOTE_MAX);
    struct bash_stream *s = run->s;
    keep(run, s[0].raw.n, s[1].raw.n);
    buf_adds(&err, buf_str(&s[1].raw));
    if (run->note.n + strlen(more) > 0 && err.n > 0 && err.p[err.n - 1] != '\n')
        buf_addc(&err, '\n');
    buf_adds(&err, buf_str(&run->note));
    buf_addz(&err, more);
    run_over(run, write_output(run, &code, buf_str(&s[0].raw), buf_str(&err)));
    buf_release(&err);
}

static void fail(struct bash_run *run, const char *why)
{
    struct buf text = BUF_INIT(2048);
    /* Not the command itself, which logs must not contain. */
    log_error("v1: Error executing bash command %s", run->id);
    buf_addf(&text, "%s%s", start_failed, why);
    finish(run, -1, buf_z(&text));
    buf_release(&text);
}

static int64_t limit_ms(const struct bash_run *run)
{
    return run->timeout_s > 0 ? run->timeout_s * 1000 : 1;
}

static void on_done(struct op *op)
{
    struct bash_run *run = op->owner;
    const struct op_result *r = &op->r;
    char text[80];
    run->op = NULL;
    if (r->state == OP_FAILED) {
        fail(run, r->err.text);
        return;
    }
    if (r->duration_ms + 1 >= limit_ms(run)) {
        log_info("v1: Command timed out: %s", run->id);
        snprintf(text, sizeof(text), "Command timed out after %lld seconds",
                 (long long)run->timeout_s);
        finish(run, -1, text);
        return;
    }
    finish(run, r->signo ? -r->signo : r->exit, "");
}

/* ---- the start ---- */

static struct bash_run *run_new(struct bash *b, const char *id)
{
    struct bash_run *run = xnew(struct bash_run);
    run->b = b;
    run->since_ms = clock_ms();
    snprintf(run->id, sizeof(run->id), "%s", id);
    for (int i = 0; i < 2; i++)
        buf_init(&run->s[i].raw, RAW_MAX);
    buf_init(&run->note, NOTE_MAX);
    list_init(&run->waits);
    task_init(&run->tidy, on_tidy);
    list_add_tail(&b->runs, &run->node);
    b->nruns++;
    return run;
}

struct bash_run *bash_find_run(const struct bash *b, const char *id)
{
    for (struct list *it = b->runs.next; it != &b->runs; it = it->next) {
        struct bash_run *run = list_entry(it, struct bash_run, node);
        if (strcmp(run->id, id) == 0)
            return run;
    }
    return NULL;
}

bool bash_is_silent(const struct bash_run *run) { return run->order == 0; }

void bash_wait_end(struct bash_run *run, struct bash_wait *w)
{
    list_add_tail(&run->waits, &w->node);
}

void bash_wait_stop(struct bash_wait *w)
{
    if (w->node.next)
        list_del(&w->node);
}

/* Follows all output from the end of the last event on. */
static void attach(struct bash_run *run, struct process *p)
{
    static const struct op_sink sink = {
        .output = on_output, .note = on_note, .done = on_done};
    if (run->op)
        return;
    run->op = op_new(OP_WAIT, &sink, run);
    run->op->stream = true;
    run->op->caller = true;
    run->op->cursor = run->s[0].from;
    run->op->cursor_err = run->s[1].from;
    if (!run->begun) {
        run->begun = true;
        keep(run, 0, 0);
    }
    process_wait(p, run->op);
}

static void on_process(struct action_watch *w, const struct action *a, struct process *p)
{
    struct bash *b = container_of(w, struct bash, watch);
    struct bash_run *run = bash_find_run(b, a->key);
    if (run)
        attach(run, p);
}

/* Appends why the action failed, from its observation. */
static void put_reason(struct bash *b, uint64_t end, const struct err *e, struct buf *out)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    if (end && actions_line(b->v->en->actions, end, &line) == 0)
        jsontext_string(out, jsontext_get(str_trim(buf_str(&line)), STR("content")));
    if (out->n == 0)
        buf_addz(out, e && e->text[0] ? e->text : "it could not be started");
    buf_release(&line);
}

/* Sets *last to the last output event of the command with event `number`. Returns false
 * if it has none. */
static bool last_output(const struct bash *b, uint64_t number, uint64_t *last)
{
    uint8_t command[BASH_ID / 2];
    bool found = false;
    memcpy(command, bash_store_at(&b->store, number)->id, sizeof(command));
    while (++number < bash_store_end(&b->store)) {
        const struct bash_event *e = bash_store_at(&b->store, number);
        if (e->kind == BASH_OUTPUT && memcmp(e->command, command, sizeof(command)) == 0) {
            *last = number;
            found = true;
        }
    }
    return found;
}

static bool is_last(struct bash *b, uint64_t number)
{
    struct str text = bash_store_text(&b->store, number);
    return text.p && !str_eq(jsontext_get(text, STR("exit_code")), STR("null"));
}

/*
 * The keeper was killed, and its processes and states are lost. A command still has its
 * action in the log, which ends while the engine resumes, and its events.
 */
static void end_lost(struct bash *b, uint64_t action)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX), key = BUF_INIT(BASH_ID);
    uint64_t number, last;
    if (actions_line(b->v->en->actions, action, &line) == 0)
        jsontext_string(&key, jsontext_get(str_trim(buf_str(&line)), STR("key")));
    char id[BASH_ID + 1] = "";
    snprintf(id, sizeof(id), "%.*s", STR_ARG(buf_str(&key)));
    buf_release(&line);
    buf_release(&key);
    if (bash_find_run(b, id) || !bash_store_find(&b->store, id, &number))
        return;
    bool wrote = last_output(b, number, &last);
    if (wrote && is_last(b, last))
        return;
    struct bash_run *run = run_new(b, id);
    run->order = wrote ? bash_store_order(&b->store, last) + 1 : 0;
    if (wrote)
        fail(run, "the server was killed, and the command with it; what the command "
                  "wrote after the previous event is lost");
    else
        fail(run, "the server was killed, and the command with it; all that the command "
                  "wrote is lost");
}

/* The action ended without a process. */
static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    struct bash *b = container_of(w, struct bash, watch);
    struct list *it, *tmp;
    if (b->resumes)
        end_lost(b, cause);
    list_each (it, tmp, &b->runs) {
        struct bash_run *run = list_entry(it, struct bash_run, node);
        struct buf why = BUF_INIT(1024);
        if (run->action != cause || cause == 0 || run->op)
            continue;
        put_reason(b, end, e, &why);
        fail(run, buf_z(&why));
        buf_release(&why);
    }
}

/* Returns the action that runs it. command and cwd: as in the request. */
static struct json *order_of(const struct bash_run *run, struct str command,
                             struct str cwd)
{
    struct json *m = json_object(), *args = json_object(), *argv = json_array();
    char name[BASH_ID + 8];
    int64_t ms = limit_ms(run), most = (int64_t)TIMEOUT_MOST_S * 1000;
    snprintf(name, sizeof(name), "v1-%s", run->id);
    json_push_str(argv, STR("/bin/sh"));
    json_push_str(argv, STR("-c"));
    json_push_str(argv, command);
    json_put(args, "argv", argv);
    json_put_z(args, "name", name);
    if (cwd.n > 0)
        json_put_str(args, "cwd", cwd);
    if (ms <= most)
        json_put_num(args, "timeout", (double)ms / 1000);
    json_put_z(args, "timeout_signal", "TERM");
    json_put_z(m, "action", "process");
    json_put(m, "args", args);
    return m;
}

static void begin(struct bash_run *run, struct str command, struct str cwd)
{
    struct err e = ERR_INIT;
    struct action_order o = {.source = ACTION_SOURCE_V1, .key = run->id};
    struct action *a = action_open(run->b->v->en->actions, order_of(run, command, cwd),
                                   &o, &e);
    if (!a) {
        fail(run, e.text);
        return;
    }
    run->action = a->id;
    keep(run, 0, 0);
    action_go(a);
}

/* Writes a BashCommand. */
static void put_command(const struct bash_run *run, uint64_t us, struct str command,
                        const struct json *cwd, struct buf *b)
{
    char time[32];
    bash_time(us, time);
    buf_addz(b, "{\"command\":");
    json_quote(b, command);
    buf_addz(b, ",\"cwd\":");
    if (json_is_string(cwd))
        json_quote(b, json_str_value(cwd, ""));
    else
        buf_addz(b, "null");
    buf_addf(b, ",\"timeout\":%lld,\"id\":\"%s\",\"timestamp\":\"%s\",",
             (long long)run->timeout_s, run->id, time);
    buf_addz(b, "\"kind\":\"BashCommand\"}");
}

uint64_t bash_do(struct bash *b, const struct json *request, char id[BASH_ID + 1])
{
    struct str command = json_str(request, "command", "");
    const struct json *cwd = json_get(request, "cwd");
    struct buf text = BUF_INIT(BASH_TEXT_MAX);
    new_id(id);
    struct bash_run *run = run_new(b, id);
    uint64_t us = bash_store_now(&b->store);
    run->timeout_s = json_int(request, "timeout", TIMEOUT_DEFAULT_S);
    put_command(run, us, command, cwd, &text);
    keep(run, 0, 0);
    uint64_t number = bash_store_add(&b->store, BASH_COMMAND, us, id, id, 0,
                                     buf_str(&text));
    buf_release(&text);
    bash_publish(b);
    begin(run, command, json_str_value(cwd, ""));
    return number;
}

/* ---- the next worker ---- */

/* Sets *number to that of the command's output with this order. Returns false if there is
 * none. */
static bool find_output(struct bash *b, const char *id, int64_t order, uint64_t *number)
{
    if (!bash_store_find(&b->store, id, number))
        return false;
    const struct bash_event *e = bash_store_at(&b->store, *number);
    uint8_t command[sizeof(e->command)];
    memcpy(command, e->id, sizeof(command));
    while (++*number < bash_store_end(&b->store)) {
        e = bash_store_at(&b->store, *number);
        if (e->kind == BASH_OUTPUT && memcmp(e->command, command, sizeof(command)) == 0 &&
            bash_store_order(&b->store, *number) == order)
            return true;
    }
    return false;
}

static void load_run(void *arg, struct str id, struct json *j)
{
    struct bash *b = arg;
    char text[BASH_ID + 1];
    uint64_t number;
    if (id.n != BASH_ID)
        return;
    snprintf(text, sizeof(text), "%.*s", STR_ARG(id));
    struct bash_run *run = run_new(b, text);
    state_read(kept, run, j);
    bool wrote = find_output(b, text, run->order, &number);
    for (int i = 0; wrote && i < 2; i++)
        run->s[i].from = run->s[i].next;
    run->order += wrote;
    struct str event = wrote ? bash_store_text(&b->store, number) : STR("");
    if (wrote && !str_eq(jsontext_get(event, STR("exit_code")), STR("null")))
        run_over(run, number); /* it was the last one */
}

void bash_runs_load(struct bash *b)
{
    b->resumes = true;
    b->watch.process = on_process;
    b->watch.ended = on_ended;
    actions_watch(b->v->en->actions, &b->watch);
    state_each(b->v->en, prefix, load_run, b);
}

static bool has_action(const struct bash *b, const char *key)
{
    const struct actions *all = b->v->en->actions;
    for (const struct action *a = NULL; (a = actions_next(all, a));) {
        if (strcmp(a->key, key) == 0)
            return true;
    }
    return false;
}

/* Starts a requested command that the previous worker did not start. */
static void begin_again(struct bash_run *run)
{
    uint64_t number;
    struct err e = ERR_INIT;
    struct bash_store *s = &run->b->store;
    struct str text = STR("");
    if (bash_store_find(s, run->id, &number))
        text = bash_store_text(s, number);
    struct json *event = text.n ? json_parse(text, &e) : NULL;
    if (event)
        begin(run, json_str(event, "command", ""), json_str(event, "cwd", ""));
    else
        fail(run, "the server was restarted before the command began");
    json_free(event);
}

void bash_runs_start(struct bash *b)
{
    struct list *it, *tmp;
    b->resumes = false;
    list_each (it, tmp, &b->runs) {
        struct bash_run *run = list_entry(it, struct bash_run, node);
        struct process *p = process_of(run);
        if (run->op)
            continue;
        if (p)
            attach(run, p);
        else if (has_action(b, run->id))
            continue; /* on_process or on_ended continues */
        else if (run->begun)
            fail(run,
                 "the server was restarted, and the end of the command is not known");
        else
            begin_again(run);
    }
}
