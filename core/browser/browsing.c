/* SPDX-License-Identifier: MIT */
/*
 * Browsers and calls. One reader goes over a host's output, line by line; the line that
 * has the id of the call that runs is its answer.
 */
#include "browser/browsing_own.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "os/self.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 97 << 20, /* of an answer; the host cuts before that */
    SEEN_STEP = 64 << 10,
    PLACE_MAX = 4096, /* of a URL and a title that are kept for lists */
};

const char browsing_stem[] = "od-browser-";
const char *const browsing_kept[] = {"mode", "downloads", "cdp",  "task",
                                     "kept", "cwd",       "user", NULL};

/* A host that was told to end, and is killed if it does not. */
struct browsing_ending {
    struct engine *en;
    char name[BROWSING_NAME + 1];
    struct timer timer;
};

static void on_idle(struct timer *t);

/* ---- ends of processes ---- */

static void on_ending(struct timer *t)
{
    struct browsing_ending *x = container_of(t, struct browsing_ending, timer);
    struct process *p = process_find(x->en, str_of(x->name));
    struct err e = ERR_INIT;
    if (p && !process_ended(p))
        process_signal(p, SIGKILL, true, &e);
    free(x);
}

void browsing_end_process(struct engine *en, struct process *p)
{
    struct err e = ERR_INIT;
    struct browsing_ending *x;
    uint64_t at;
    if (process_ended(p))
        return;
    process_stdin_room(p, &at);
    process_stdin(p, at, STR(""), true);
    process_signal(p, SIGTERM, false, &e);
    x = xnew(struct browsing_ending);
    x->en = en;
    snprintf(x->name, sizeof(x->name), "%s", process_name(p));
    timer_begin(en->loop, &x->timer, LIMIT_GRACE_MS, on_ending);
}

static void leave_process(struct browsing *b)
{
    if (b->op)
        op_drop(b->op);
    if (b->process)
        browsing_end_process(b->en, b->process);
    b->op = NULL;
    b->process = NULL;
    buf_release(&b->line);
    b->skipping = false;
}

/* ---- calls ---- */

struct browsing_call *browsing_call_make(struct browsing *b, struct str id)
{
    struct browsing_call *c = xnew(struct browsing_call);
    c->b = b;
    snprintf(c->id, sizeof(c->id), "%.*s", STR_ARG(id));
    buf_init(&c->line, LIMIT_ZMTP_OUT);
    list_add_tail(&b->calls, &c->node);
    return c;
}

struct browsing_call *browsing_first(const struct browsing *b)
{
    return list_empty(&b->calls) ? NULL
                                 : list_first(&b->calls, struct browsing_call, node);
}

static void bury_call(void *p)
{
    struct browsing_call *c = p;
    buf_release(&c->line);
    free(c);
}

static void call_over(struct browsing_call *c, const struct json *answer,
                      const struct err *e)
{
    struct browsing *b = c->b;
    timer_stop(&c->limit);
    list_del(&c->node);
    if (c->step == RUNNING)
        b->used_ms = clock_wall_ms();
    b->en->idle_since_ms = clock_ms();
    if (c->done)
        c->done(c->owner, answer, answer ? NULL : e);
    loop_bury(b->en->loop, c, bury_call);
    task_defer(b->en->loop, &b->pump);
}

/* For b->why: the one that runs, or all. */
static void fail_calls(struct browsing *b, bool all)
{
    struct list *it, *tmp;
    list_each (it, tmp, &b->calls) {
        struct browsing_call *c = list_entry(it, struct browsing_call, node);
        if (all || c->step != WAITING)
            call_over(c, NULL, &b->why);
    }
}

static void on_fall(struct task *t)
{
    struct browsing *b = container_of(t, struct browsing, fall);
    fail_calls(b, false);
    browsing_save(b);
    task_defer(b->en->loop, &b->pump);
}

static void on_limit(struct timer *t)
{
    struct browsing_call *c = container_of(t, struct browsing_call, limit);
    struct browsing *b = c->b;
    struct err e = ERR_INIT;
    err_set(&e, c->cancelled ? ERR_CANCELLED : ERR_TIMEOUT,
            "%s, and the process beside the browser did not say so within %d s more: it "
            "was ended; the next call starts another",
            c->cancelled ? "the call was cancelled" : "the call's time is over",
            BROWSING_GRACE_MS / 1000);
    leave_process(b);
    call_over(c, NULL, &e);
    browsing_save(b);
}

void browsing_limit(struct browsing_call *c, int64_t left_ms)
{
    left_ms += BROWSING_GRACE_MS;
    timer_begin(c->b->en->loop, &c->limit, left_ms > 0 ? left_ms : 0, on_limit);
}

void browsing_idle(struct browsing *b, int64_t left_ms)
{
    timer_begin(b->en->loop, &b->idle, left_ms > 0 ? left_ms : 0, on_idle);
}

void browsing_set_place(char **place, struct str s)
{
    free(*place);
    *place = xstrndup(s.p, s.n < PLACE_MAX ? s.n : PLACE_MAX);
}

void browsing_remember(struct browsing *b, const char *id)
{
    if (strcmp(b->done[BROWSING_DONE - 1], id) == 0)
        return;
    memmove(b->done[0], b->done[1], sizeof(b->done) - sizeof(b->done[0]));
    snprintf(b->done[BROWSING_DONE - 1], sizeof(b->done[0]), "%s", id);
}

static void on_answer(struct browsing *b, struct browsing_call *c, const struct json *j)
{
    struct err e = ERR_INIT;
    struct str failed = json_str(j, "failed", "");
    browsing_remember(b, c->id);
    if (json_has(j, "task"))
        json_put_str(b->opts, "kept", json_str(j, "task", ""));
    if (failed.n) {
        err_set(&e, (enum err_code)json_int(j, "code", ERR_GONE), "%.*s",
                STR_ARG(failed));
        call_over(c, NULL, &e);
        return;
    }
    browsing_set_place(&b->url, json_str(j, "url", ""));
    browsing_set_place(&b->title, json_str(j, "title", ""));
    browsing_set_place(&b->mode, json_str(j, "mode", ""));
    call_over(c, j, NULL);
}

/* The id is the first member: what is not of the call that runs is not parsed. */
static void on_line(struct browsing *b, struct str line)
{
    struct browsing_call *c = browsing_first(b);
    struct err e = ERR_INIT;
    char head[LIMIT_ID + 16];
    snprintf(head, sizeof(head), "{\"id\":\"%s\"", c ? c->id : "");
    if (str_starts(line, STR("{\"dir\":"))) {
        struct json *j = json_parse(line, &e);
        snprintf(b->dir, sizeof(b->dir), "%.*s", STR_ARG(json_str(j, "dir", "")));
        json_free(j);
        return;
    }
    if (!c || c->step == WAITING || !str_starts(line, str_of(head)))
        return;
    struct json *j = json_parse(line, &e);
    if (j)
        on_answer(b, c, j);
    else
        call_over(c, NULL, &e);
    json_free(j);
    buf_reset(&b->line);
    browsing_save(b);
}

/* ---- the host ---- */

void browsing_send(struct browsing *b, struct str line)
{
    uint64_t at;
    if (!b->process)
        return;
    process_stdin_room(b->process, &at);
    process_stdin(b->process, at, line, false);
}

static void send_about(struct browsing *b, const char *what, const char *id)
{
    char line[LIMIT_ID + 24];
    snprintf(line, sizeof(line), "{\"%s\":\"%s\"}\n", what, id);
    browsing_send(b, str_of(line));
}

static void tell_seen(struct browsing *b)
{
    char line[48];
    if (b->at < b->seen + SEEN_STEP)
        return;
    b->seen = b->at;
    snprintf(line, sizeof(line), "{\"read\":%llu}\n", (unsigned long long)b->at);
    browsing_send(b, str_of(line));
}

static size_t on_output(struct op *op, int stream, uint64_t at, struct str bytes)
{
    struct browsing *b = op->owner;
    size_t all = bytes.n;
    (void)at;
    if (stream != 0)
        return all;
    while (bytes.n > 0 && b->op == op) {
        long nl = str_chr(bytes, '\n');
        size_t n = nl < 0 ? bytes.n : (size_t)nl;
        if (!b->skipping && buf_add(&b->line, bytes.p, n) < 0)
            b->skipping = true;
        b->at += n + (nl >= 0);
        bytes = str_sub(bytes, n + (nl >= 0), bytes.n);
        if (nl < 0)
            break;
        struct buf line = b->line;
        buf_init(&b->line, LINE_MAX_BYTES);
        if (!b->skipping)
            on_line(b, buf_str(&line));
        b->skipping = false;
        buf_release(&line);
    }
    if (b->op == op)
        tell_seen(b);
    return all;
}

/* What was lost may be the answer: the host has it still. */
static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct browsing *b = op->owner;
    struct browsing_call *c = browsing_first(b);
    (void)text;
    (void)from;
    if (kind != NOTE_GAP)
        return;
    b->at = to;
    buf_reset(&b->line);
    b->skipping = true;
    if (c && c->step != WAITING)
        send_about(b, "again", c->id);
}

static void on_end(struct op *op)
{
    struct browsing *b = op->owner;
    b->op = NULL;
    b->process = NULL;
    err_set(&b->why, ERR_GONE, "the process beside the browser %s ended%s%s", b->name,
            op->r.err.code ? ": " : "", op->r.err.code ? op->r.err.text : "");
    if (op->r.signo)
        err_set(&b->why, ERR_GONE,
                "the process beside the browser %s was ended by signal "
                "%d (%s)",
                b->name, op->r.signo, strsignal(op->r.signo));
    task_defer(b->en->loop, &b->fall);
}

static const struct op_sink sink = {
    .output = on_output, .note = on_note, .done = on_end};

void browsing_follow(struct browsing *b, uint64_t from)
{
    buf_init(&b->line, LINE_MAX_BYTES);
    b->skipping = false;
    b->at = b->seen = from;
    b->op = op_new(OP_LOGS, &sink, b);
    b->op->stream = true;
    b->op->cursor = from;
    b->op->limit = UINT64_MAX;
    process_wait(b->process, b->op);
}

static int start_host(struct browsing *b, struct err *e)
{
    struct engine *en = b->en;
    struct json *given = json_object();
    struct buf options = BUF_INIT(16 * PATH_MAX);
    char self[PATH_MAX] = "/proc/self/exe", name[sizeof(browsing_stem) + 16];
    json_put_str(given, "mode", json_str(b->opts, "mode", ""));
    json_put_str(given, "downloads", json_str(b->opts, "downloads", ""));
    json_put_str(given, "cdp", json_str(b->opts, "cdp", ""));
    json_put_str(given, "task", json_str(b->opts, "task", ""));
    json_put_str(given, "kept", json_str(b->opts, "kept", ""));
    json_put_z(given, "sweep", b->dir);
    json_put_int(given, "window", (int64_t)(process_spool_room(en, true) / 8));
    json_print(&options, given);
    json_free(given);
    memcpy(name, browsing_stem, sizeof(browsing_stem));
    random_hex(name + sizeof(browsing_stem) - 1, 12);
    if (access(self, X_OK) < 0)
        self_path(self, sizeof(self));
    char word[] = "od-browser", *argv[] = {word, (char *)buf_z(&options), NULL};
    struct process_opts po = {.name = str_of(name),
                              .cwd = json_str(b->opts, "cwd", ""),
                              .user = json_str(b->opts, "user", ""),
                              .argv = argv,
                              .program = self,
                              .with_stdin = true,
                              .whole = true};
    b->process = process_start(en, &po, e);
    buf_release(&options);
    if (!b->process)
        return -1;
    browsing_follow(b, 0);
    return 0;
}

static int call_send(struct browsing_call *c, struct err *e)
{
    struct browsing *b = c->b;
    size_t room = process_stdin_room(b->process, &c->in);
    c->len = c->line.n;
    if (c->len > room)
        return err_set(e, ERR_LIMIT,
                       "the actions have %zu bytes as a message, and the browser's input "
                       "takes %zu now",
                       c->line.n, room);
    c->step = RUNNING;
    c->begun_ms = clock_wall_ms();
    browsing_save(b);
    process_stdin(b->process, c->in, buf_str(&c->line), false);
    buf_release(&c->line);
    browsing_limit(c, c->timeout_ms);
    return 0;
}

static void on_pump(struct task *t)
{
    struct browsing *b = container_of(t, struct browsing, pump);
    struct browsing_call *c = browsing_first(b);
    struct err e = ERR_INIT;
    if (!c)
        browsing_idle(b, LIMIT_BROWSER_IDLE_MS);
    if (!c || c->step != WAITING)
        return;
    timer_stop(&b->idle);
    if (b->process && process_ended(b->process))
        leave_process(b);
    if ((!b->process && start_host(b, &e) < 0) || call_send(c, &e) < 0)
        call_over(c, NULL, &e);
}

/* ---- life ---- */

struct browsing *browsing_make(struct engine *en, struct str name)
{
    struct browsing *b = xnew(struct browsing);
    b->en = en;
    b->name = xstrndup(name.p, name.n);
    b->opts = json_object();
    b->used_ms = clock_wall_ms();
    list_init(&b->calls);
    task_init(&b->pump, on_pump);
    task_init(&b->fall, on_fall);
    map_put(&en->browsers, name, b);
    return b;
}

struct browsing *browsing_lookup(struct engine *en, struct str name)
{
    return map_get(&en->browsers, name);
}

struct browsing *browsing_open(struct engine *en, struct str name,
                               const struct browsing_opts *o, struct err *e)
{
    struct browsing *b = browsing_lookup(en, name);
    if (b)
        return b;
    if (name.n == 0 || name.n > BROWSING_NAME || memchr(name.p, '/', name.n)) {
        err_set(e, ERR_INVALID, "a browser's name has 1 to %d bytes and no slash",
                BROWSING_NAME);
        return NULL;
    }
    if (o->mode.n > 0 && !str_eq(o->mode, STR("text"))) {
        err_set(e, ERR_INVALID, "mode is text, or absent");
        return NULL;
    }
    if (en->browsers.count >= LIMIT_BROWSERS_MAX) {
        err_set(e, ERR_LIMIT, "%d browsers are open already: close one",
                LIMIT_BROWSERS_MAX);
        return NULL;
    }
    b = browsing_make(en, name);
    json_put_str(b->opts, "mode", o->mode);
    json_put_str(b->opts, "downloads", o->downloads);
    json_put_str(b->opts, "cdp", o->cdp);
    json_put_str(b->opts, "task", o->task);
    json_put_str(b->opts, "cwd", o->cwd);
    json_put_str(b->opts, "user", o->user);
    browsing_idle(b, LIMIT_BROWSER_IDLE_MS);
    return b;
}

const char *browsing_differs(const struct browsing *b, const struct browsing_opts *o)
{
    const struct {
        const char *name;
        struct str wanted;
    } all[] = {{"downloads", o->downloads}, {"cdp", o->cdp}};
    if (o->mode.n && !str_eq(o->mode, json_str(b->opts, "mode", "")) &&
        !(b->mode && str_eq(o->mode, str_of(b->mode))))
        return "text";
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].wanted.n &&
            !str_eq(all[i].wanted, json_str(b->opts, all[i].name, "")))
            return all[i].name;
    }
    return NULL;
}

static void bury_browsing(void *p)
{
    struct browsing *b = p;
    free(b->name);
    free(b->url);
    free(b->title);
    free(b->mode);
    json_free(b->opts);
    free(b);
}

void browsing_close(struct browsing *b)
{
    struct engine *en = b->en;
    err_set(&b->why, ERR_CANCELLED, "the browser %s was closed", b->name);
    fail_calls(b, true);
    leave_process(b);
    browsing_forget(b);
    timer_stop(&b->idle);
    task_cancel(&b->pump);
    task_cancel(&b->fall);
    map_del(&en->browsers, str_of(b->name));
    loop_bury(en->loop, b, bury_browsing);
}

static void on_idle(struct timer *t)
{
    struct browsing *b = container_of(t, struct browsing, idle);
    if (json_str(b->opts, "task", "").n)
        return; /* what was done of it would be lost */
    log_info("the browser %s was not used for %d s, and is closed", b->name,
             LIMIT_BROWSER_IDLE_MS / 1000);
    browsing_close(b);
}

void browsing_cancel_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->browsers, it, &key, &value));) {
        struct browsing *b = value;
        err_set(&b->why, ERR_CANCELLED, "the server was stopped");
        fail_calls(b, true);
    }
}

/* ---- asking ---- */

static struct browsing_call *find_call(struct browsing *b, const char *id, int *count)
{
    struct browsing_call *found = NULL;
    struct list *it, *tmp;
    *count = 0;
    list_each (it, tmp, &b->calls) {
        struct browsing_call *c = list_entry(it, struct browsing_call, node);
        found = id[0] && strcmp(c->id, id) == 0 ? c : found;
        (*count)++;
    }
    return found;
}

/* {"id":ID,"within":MS, and what is asked. -1: e */
static int put_request(struct buf *out, const struct browsing_call *c,
                       const struct json *what, struct err *e)
{
    size_t at;
    int rc = buf_addz(out, "{\"id\":");
    if (rc == 0)
        rc = json_quote(out, str_of(c->id));
    if (rc == 0)
        rc = buf_addf(out, ",\"within\":%lld", (long long)c->timeout_ms);
    at = out->n;
    if (rc == 0)
        rc = json_print(out, what);
    if (rc == 0) { /* {…} becomes ,…} */
        out->p[at] = ',';
        if (out->n == at + 2) {
            out->p[at] = '}';
            buf_truncate(out, at + 1);
        }
        rc = buf_addc(out, '\n');
    }
    return rc < 0 ? err_set(e, ERR_LIMIT, "the actions are too long") : 0;
}

/*
 * Was it answered before? Then the host has the answer, if that was the last one. 1: it
 * is to be asked for; 0: it is new; -1: e.
 */
static int ask_again(struct browsing *b, const char *id, bool alone, struct buf *out,
                     struct err *e)
{
    int i = BROWSING_DONE - 1;
    while (i >= 0 && (!id[0] || strcmp(b->done[i], id) != 0))
        i--;
    if (i < 0)
        return 0;
    if (i < BROWSING_DONE - 1 || !alone || !b->process || process_ended(b->process))
        return err_set(e, ERR_GONE,
                       "these actions were carried out before, and what was seen then is "
                       "not kept any more");
    buf_addf(out, "{\"again\":\"%s\"}\n", id);
    return 1;
}

struct browsing_call *browsing_ask(struct browsing *b, const struct browsing_ask *q,
                                   browsing_done_fn *done, void *owner, struct err *e)
{
    int count;
    struct browsing_call *c = find_call(b, q->id, &count);
    char id[33];
    engine_touch(b->en);
    if (c) {
        c->done = done;
        c->owner = owner;
        return c;
    }
    if (count >= LIMIT_QUEUE_MAX) {
        err_set(e, ERR_LIMIT, "%d calls wait for the browser %s already", LIMIT_QUEUE_MAX,
                b->name);
        return NULL;
    }
    random_hex(id, 32);
    c = browsing_call_make(b, str_of(q->id[0] ? q->id : id));
    c->done = done;
    c->owner = owner;
    c->timeout_ms = q->timeout_ms > 0 ? q->timeout_ms : BROWSING_TIME_MS;
    int again = ask_again(b, q->id, count == 0, &c->line, e);
    if (again < 0 || (!again && put_request(&c->line, c, q->what, e) < 0)) {
        list_del(&c->node);
        bury_call(c);
        return NULL;
    }
    task_defer(b->en->loop, &b->pump);
    return c;
}

bool browsing_knows(struct browsing *b, const char *id)
{
    int count;
    return find_call(b, id, &count) ||
           (id[0] && strcmp(b->done[BROWSING_DONE - 1], id) == 0);
}

void browsing_cancel(struct browsing_call *c)
{
    struct err e = ERR_INIT;
    if (c->step == WAITING) {
        err_set(&e, ERR_CANCELLED, "the call was cancelled before it began");
        call_over(c, NULL, &e);
    } else if (!c->cancelled) {
        c->cancelled = true;
        send_about(c->b, "cancel", c->id);
        browsing_limit(c, 0);
    }
}

bool browsing_runs(const struct browsing_call *c) { return c->step == RUNNING; }

void browsing_drop(struct browsing_call *c)
{
    c->done = NULL;
    if (c->step != WAITING)
        return;
    list_del(&c->node);
    loop_bury(c->b->en->loop, c, bury_call);
}

struct json *browsing_json(const struct browsing *b)
{
    struct json *j = json_object();
    const struct browsing_call *c = browsing_first(b);
    json_put_z(j, "name", b->name);
    json_put_z(j, "state", c ? "busy" : b->process ? "idle" : "closed");
    json_put_z(j, "mode", b->mode ? b->mode : "");
    json_put_z(j, "url", b->url ? b->url : "");
    json_put_z(j, "title", b->title ? b->title : "");
    json_put_int(j, "idle_ms", c ? 0 : clock_wall_ms() - b->used_ms);
    json_put_int(j, "pid", b->process ? process_pid(b->process) : 0);
    return j;
}
