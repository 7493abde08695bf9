/* SPDX-License-Identifier: MIT */
/*
 * Cells over the local socket. The output of a cell is a stream of lines with offsets. A
 * client that lost its connection repeats the request with the same id and skips what it
 * has.
 */
#include "front/local/own.h"

#include "action/follow.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "ipc/frame.h"
#include "kernel/cell_rich.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"

#include <stdlib.h>

enum { SAID_MAX = 64 << 10 }; /* bytes of its text in the log */
enum { QUESTION_MS = 30000 }; /* many kernels never answer an unknown question */

struct cell_call {
    struct conn *c;
    struct cell *cell;   /* borrowed; NULL: it has ended */
    struct buf lines;    /* not sent yet */
    uint64_t at;         /* offset of lines in all output of the cell */
    uint64_t skip;       /* bytes that the client has */
    struct json *result; /* owned; to be sent after lines */
    bool held;
    bool question;    /* it runs no code, so there is nothing to interrupt */
    struct kernel *k; /* borrowed; valid while cell is */
    char id[LIMIT_ID + 1];
    struct buf said;            /* the part of its text for the log */
    struct cell_rich rich;      /* what is more than text, for the log */
    bool more;                  /* there is something */
    const struct kernel *about; /* borrowed; sent with the result; NULL: not wanted */
};

static void call_free(struct cell_call *q)
{
    buf_release(&q->lines);
    buf_release(&q->said);
    cell_rich_release(&q->rich);
    json_free(q->result);
    free(q);
}

static void send_lines(struct cell_call *q)
{
    struct conn *c = q->c;
    while (q->lines.n && c->stream.out.n < LOCAL_QUEUED_MAX) {
        size_t n = q->lines.n < 64 << 10 ? q->lines.n : 64 << 10;
        size_t over = q->at < q->skip ? (size_t)(q->skip - q->at) : 0;
        if (over < n && frame_add_bytes(&c->stream.out, 'O', q->at + over,
                                        str_n(q->lines.p + over, n - over)) < 0)
            break;
        q->at += n;
        buf_consume(&q->lines, n);
        stream_flush(&c->stream);
    }
    if (q->lines.n) {
        stream_want_room(&c->stream);
        q->held = q->cell != NULL;
        if (q->cell)
            cell_hold(q->cell, true);
    } else if (q->result) {
        struct json *r = q->result;
        q->result = NULL;
        c->cell = NULL;
        call_free(q);
        local_send_result(c, r);
    } else if (q->cell && q->held) {
        q->held = false;
        cell_hold(q->cell, false);
    }
}

void local_cell_room(struct conn *c) { send_lines(c->cell); }

static void on_output(void *owner, struct str type, const struct json *content)
{
    struct cell_call *q = owner;
    const struct json *data = json_get(content, "data");
    size_t at = q->lines.n;
    if (!buf_full(&q->said))
        cell_text_of(&q->said, type, content);
    for (const struct json *v = json_first(data); v; v = json_next(v))
        q->more |= strcmp(json_name(v), "text/plain") != 0;
    cell_rich_add(&q->rich, type, content);
    if (buf_addz(&q->lines, "{\"type\":") < 0 || json_quote(&q->lines, type) < 0 ||
        buf_addz(&q->lines, ",\"content\":") < 0 || json_print(&q->lines, content) < 0 ||
        buf_addz(&q->lines, "}\n") < 0) {
        buf_truncate(&q->lines, at);
        buf_resume(&q->lines);
        buf_addz(&q->lines, "{\"type\":\"note\",\"content\":{\"text\":\"a message of the "
                            "kernel is too long, and was left out\"}}\n");
    }
    if (at == 0)
        send_lines(q);
}

/* There is always room: no line is read while others wait to be sent. */
static void on_text(void *owner, struct str piece)
{
    struct cell_call *q = owner;
    bool first = q->lines.n == 0;
    buf_adds(&q->lines, piece);
    BUG_ON(buf_full(&q->lines));
    if (first)
        send_lines(q);
}

static void on_input(void *owner, struct str prompt, bool password)
{
    struct cell_call *q = owner;
    struct json *j = json_object();
    json_put_z(j, "note", "input");
    json_put_str(j, "prompt", prompt);
    json_put_bool(j, "password", password);
    local_send_json(q->c, 'N', j);
    json_free(j);
}

static void end_action(struct cell_call *q, const struct cell_result *r)
{
    struct json *extras = follow_cell_end(r);
    if (buf_full(&q->said)) {
        json_put_bool(extras, "cut", true);
        buf_resume(&q->said);
    }
    if (q->more) {
        int dropped;
        json_put(extras, "outputs", cell_rich_take(&q->rich, &dropped));
    }
    local_end(q->c, buf_str(&q->said), extras);
}

static void on_done(void *owner, const struct cell_result *r)
{
    struct cell_call *q = owner;
    struct json *j = local_ok();
    json_put_z(j, "end", cell_end_name(r->end));
    json_put_bool(j, "stuck", r->stuck);
    json_put_int(j, "count", r->count);
    json_put_int(j, "duration_ms", r->duration_ms);
    if (r->renewed)
        json_put_bool(j, "renewed", true);
    if (r->err.code) {
        json_put_z(j, "code", err_name(r->err.code));
        json_put_z(j, "why", r->err.text);
    }
    if (q->about)
        json_put(j, "kernel", kernel_json(q->about));
    q->cell = NULL;
    q->result = j;
    end_action(q, r);
    send_lines(q);
}

static void on_cancel(void *owner)
{
    struct conn *c = owner;
    struct cell_call *q = c->cell;
    if (cell_runs(q->cell) && !q->question) {
        kernel_interrupt(q->k);
        return;
    }
    cell_drop(q->cell);
    c->cell = NULL;
    call_free(q);
    local_cancelled(c, "The cell was cancelled before it began");
}

static const struct cell_events asking = {on_output, on_text, on_input, on_done, NULL};
static const struct cell_events mute = {on_output, on_text, NULL, on_done, NULL};

static struct kernel *kernel_of(struct conn *c, const struct json *j, struct err *e)
{
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
    struct kernel_opts o = {.kernel = json_str(j, "spec", ""),
                            .choice = json_str(j, "choice", ""),
                            .cwd = json_str(j, "cwd", ""),
                            .user = json_str(j, "user", "")};
    struct str name = json_str(j, "kernel", "");
    struct kernel *k = NULL;
    if (env_put_json(&env, json_get(j, "env"), e) == 0) {
        o.env = buf_str(&env);
        k = kernel_open(c->en, name.n ? name : STR("python"), &o, e);
    }
    buf_release(&env);
    return k;
}

/* Opens the action. If another connection opened it before, this one will end it. */
static void open_cell(struct conn *c, const struct kernel *k, const struct json *j)
{
    static const char *const names[] = {
        "spec", "choice", "cwd", "user", "silent", "question", "ask", "timeout_ms", NULL};
    struct json *args = json_object();
    json_put_z(args, "kernel", kernel_name(k));
    outside_put_text(c->en->actions, args, "code", json_str(j, "code", ""));
    local_put(args, j, names);
    local_put_env(args, j);
    enum outside_state state = local_open(c, "cell", j, "main", args);
    struct action *a = local_action(c);
    if (a && state == OUTSIDE_AGAIN)
        follow_stop(a);
}

int local_cell(struct conn *c, const struct json *j, struct err *e)
{
    struct kernel *k = kernel_of(c, j, e);
    char id[LIMIT_ID + 1] = "";
    struct str given = json_str(j, "id", "");
    if (!k)
        return -1;
    for (size_t i = 0; given.n <= LIMIT_ID && i < given.n; i++) {
        if (given.p[i] < '!' || given.p[i] > '~' || given.p[i] == '"' ||
            given.p[i] == '\\')
            return err_set(e, ERR_INVALID, "an id has no spaces, quotes and backslashes");
        id[i] = given.p[i];
    }
    open_cell(c, k, j);
    struct cell_call *q = xnew(struct cell_call);
    int64_t from = json_int(j, "output_from", 0);
    q->c = c;
    q->skip = from > 0 ? (uint64_t)from : 0;
    q->k = k;
    memcpy(q->id, id, sizeof(q->id));
    buf_init(&q->lines, 2 * (size_t)LIMIT_KERNEL_MESSAGE);
    buf_init(&q->said, SAID_MAX);
    cell_rich_init(&q->rich);
    struct cell_opts o = {
        .id = id,
        .code = json_str(j, "code", ""),
        .silent = json_bool(j, "silent", false),
        .history = json_bool(j, "history", true),
        .question = json_has(j, "question") ? json_str(j, "question", "").p : NULL,
        .at = json_int(j, "at", -1),
        .timeout_ms = json_int(j, "timeout_ms", 0)};
    if (o.question && o.timeout_ms == 0)
        o.timeout_ms = QUESTION_MS;
    q->about = json_bool(j, "verbose", false) ? k : NULL;
    q->cell = kernel_run(k, &o, json_bool(j, "ask", false) ? &asking : &mute, q, e);
    if (!q->cell) {
        local_end_failed(c, e);
        call_free(q);
        return -1;
    }
    c->cell = q;
    q->question = o.question != NULL;
    local_on_cancel(c, on_cancel);
    return 0;
}

void local_cell_answer(struct conn *c, const struct json *j)
{
    if (c->cell->cell && json_has(j, "answer"))
        cell_answer(c->cell->cell, json_str(j, "answer", ""));
}

void local_cell_drop(struct conn *c)
{
    struct cell_call *q = c->cell;
    struct action *a = local_action(c);
    bool runs = q->cell && cell_runs(q->cell);
    c->cell = NULL;
    if (q->cell)
        cell_drop(q->cell);
    if (a && runs)
        follow_cell(a, q->k, q->id);
    else
        local_end_left(c);
    call_free(q);
}

int local_kernel(struct conn *c, const struct json *j, struct err *e)
{
    struct str name = json_str(j, "kernel", ""), verb = json_str(j, "verb", "");
    struct kernel *k = kernel_lookup(c->en, name.n ? name : STR("python"));
    if (!k)
        return err_set(e, ERR_NOTFOUND, "there is no kernel %.*s", STR_ARG(name));
    if (!str_eq(verb, STR("interrupt")) && !str_eq(verb, STR("restart")) &&
        !str_eq(verb, STR("close")))
        return err_set(e, ERR_INVALID, "verb is interrupt, restart or close");
    struct json *args = json_object();
    json_put_z(args, "kernel", kernel_name(k));
    json_put_str(args, "verb", verb);
    if (local_open(c, "kernel", j, "main", args) == OUTSIDE_OVER)
        return local_again(c, e);
    if (str_eq(verb, STR("interrupt")))
        kernel_interrupt(k);
    else if (str_eq(verb, STR("restart")))
        kernel_restart(k);
    else
        kernel_close(k);
    return local_done(c, 0, NULL, e);
}

int local_kernels(struct conn *c, const struct json *j, struct err *e)
{
    struct json *r = kernel_overview(c->en, json_str(j, "cwd", ""));
    (void)e;
    json_put_bool(r, "ok", true);
    local_send_result(c, r);
    return 0;
}
