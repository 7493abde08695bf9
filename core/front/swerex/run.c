/* SPDX-License-Identifier: MIT */
/*
 * POST /run_in_session: a command of a session, or text for the program that runs there.
 *
 *   a command ─▶ bash -n, if it may be wrong ─▶ the action run ─▶ its observation
 *   text      ─▶ the action input ─▶ an op that follows the output
 *
 * A command that arrives while an interactive program is about to end is typed into the
 * program; if that ends without reading it, it runs as a command.
 *
 * The client's X-Request-ID identifies an action, so a repeated request gets the same
 * command, also from the next worker. An op that follows the output next to the action
 * searches for `expect`; when a pattern matches, the client is answered, and the action
 * goes on. When a time limit ends, the exception has the output so far, and the command
 * goes on, too: its further output is in a later answer.
 */
#include "front/swerex/own.h"

#include "action/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "front/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMED = 8, /* "swerex:" */
    ERROR_MSG_MAX = 64 << 10
};

static const struct model_field bash_fields[] = {
    {.name = "action_type", .type = MODEL_LITERAL, .choices = "bash", .required = true},
    {.name = "command", .type = MODEL_STRING, .required = true},
    {.name = "session", .type = MODEL_STRING},
    {.name = "timeout", .type = MODEL_NUMBER, .nullable = true},
    {.name = "is_interactive_command", .type = MODEL_BOOL},
    {.name = "is_interactive_quit", .type = MODEL_BOOL},
    {.name = "check", .type = MODEL_LITERAL, .choices = "silent raise ignore"},
    {.name = "error_msg", .type = MODEL_STRING},
    {.name = "expect", .type = MODEL_STRINGS},
    {.name = NULL}};
static const struct model_field interrupt_fields[] = {
    {.name = "action_type",
     .type = MODEL_LITERAL,
     .choices = "bash_interrupt",
     .required = true},
    {.name = "session", .type = MODEL_STRING},
    {.name = "timeout", .type = MODEL_NUMBER},
    {.name = "n_retry", .type = MODEL_INT},
    {.name = "expect", .type = MODEL_STRINGS},
    {.name = NULL}};
static const struct model bash_model = {.fields = bash_fields};
static const struct model interrupt_model = {.fields = interrupt_fields};
static const struct swerex_tag action_tags[] = {
    {"bash", &bash_model}, {"bash_interrupt", &interrupt_model}, {NULL, NULL}};

/* ---- life ---- */

static void run_release(void *p)
{
    struct swerex_run *x = p;
    swerex_expect_free(x->expect);
    buf_release(&x->command);
    buf_release(&x->error_msg);
    buf_release(&x->problem);
    free(x);
}

void swerex_run_free(struct swerex_run *x)
{
    list_del(&x->node);
    if (x->op)
        op_drop(x->op);
    if (x->syntax)
        job_cancel(x->syntax);
    if (x->awaits)
        list_del(&x->ready.node);
    timer_stop(&x->timer);
    task_cancel(&x->step);
    loop_bury(x->w->en->loop, x, run_release);
}

/* The client disconnected. The session is still made, and a command goes on. */
static void on_gone(struct req *r, void *owner)
{
    struct swerex_run *x = owner;
    (void)r;
    x->req = NULL;
    if (x->mode == RUN_CREATE)
        return;
    swerex_run_leave(x, x->from, x->mode == RUN_INTERACTIVE);
    swerex_run_free(x);
}

/* The client closed its connection: clients of this protocol never close one side
 * only. */
static void on_closed(struct req *r, void *owner)
{
    on_gone(r, owner);
    req_abort(r);
}

static void on_step(struct task *t)
{
    swerex_run_matched(container_of(t, struct swerex_run, step));
}

struct swerex_run *swerex_run_new(struct req *r, struct swerex_session *s,
                                  enum swerex_mode mode)
{
    struct swerex_run *x = xnew(struct swerex_run);
    x->w = s->w;
    x->s = s;
    x->req = r;
    x->mode = mode;
    x->matched = SWEREX_NO_MATCH;
    buf_init(&x->command, LIMIT_COMMAND_MAX);
    buf_init(&x->error_msg, ERROR_MSG_MAX);
    buf_init(&x->problem, ERROR_MSG_MAX);
    swerex_id(r, x->id);
    task_init(&x->step, on_step);
    list_add_tail(&s->w->runs, &x->node);
    req_own(r, x, on_gone);
    req_on_half_closed(r, on_closed);
    return x;
}

void swerex_runs_end(struct swerex *w, const struct swerex_session *s,
                     const char *class_path, const char *message)
{
    struct list *it, *tmp;
    list_each (it, tmp, &w->runs) {
        struct swerex_run *x = list_entry(it, struct swerex_run, node);
        if (x->s != s)
            continue;
        if (x->req)
            swerex_raisef(x->req, class_path, "%s", message);
        swerex_run_free(x);
    }
}

/* ---- running commands ---- */

bool swerex_running(const struct swerex_session *s, char id[LIMIT_ID + 1], uint64_t *from)
{
    struct session *shell = swerex_shell(s);
    const char *call = shell ? session_call(shell, STR("")) : NULL;
    struct command_seen seen;
    if (!shell || !session_busy(shell) || !call || !session_running(shell, call))
        return false;
    *from = session_command(shell, call, &seen) ? seen.from : 0;
    if (call != id)
        snprintf(id, LIMIT_ID + 1, "%s", call);
    return true;
}

/* ---- results from the engine ---- */

static void over(struct swerex_run *x, uint64_t end)
{
    struct err e = ERR_INIT;
    struct json *j = actions_observation(x->w->actions, end, NULL, &e);
    const struct json *output = json_get(j, "output");
    uint64_t from = (uint64_t)json_int(output, "from", 0),
             to = (uint64_t)json_int(output, "to", 0);
    x->action = 0;
    if (!j)
        swerex_run_fail(x, &e);
    else if (json_has(j, "waiting"))
        swerex_run_late(x, from, to);
    else
        swerex_run_finish(x, (int)json_int(j, "exit_code", 0), from, to);
    json_free(j);
}

static struct swerex_run *by_action(const struct swerex *w, uint64_t id)
{
    for (const struct list *it = w->runs.next; it != &w->runs; it = it->next) {
        struct swerex_run *x = list_entry(it, struct swerex_run, node);
        if (x->action == id)
            return x;
    }
    return NULL;
}

/* The startup files of a new session take too long. */
static void on_create_late(struct timer *t)
{
    swerex_created(container_of(t, struct swerex_run, timer), NULL, true);
}

void swerex_run_started(struct swerex *w, const struct action *a)
{
    struct list *it, *tmp;
    list_each (it, tmp, &w->runs) {
        struct swerex_run *x = list_entry(it, struct swerex_run, node);
        if (x->action != a->id)
            continue;
        x->from = a->from;
        memcpy(x->runs, a->command, sizeof(x->runs));
        if (x->mode == RUN_CREATE) /* its shell exists from now on */
            timer_begin(w->en->loop, &x->timer, (int64_t)(x->timeout * 1000) + 1,
                        on_create_late);
        if (x->expect && !x->op && x->matched == SWEREX_NO_MATCH)
            swerex_run_follow(x, 0);
    }
}

static bool goes_on(const struct swerex_run *x)
{
    struct session *shell = swerex_shell(x->s);
    return shell && session_running(shell, x->runs);
}

void swerex_run_ended(struct swerex *w, uint64_t cause, uint64_t end, const struct err *e)
{
    struct swerex_run *x;
    while ((x = by_action(w, cause))) {
        if (!end) {
            swerex_run_fail(x, e);
        } else if (x->op && !goes_on(x)) { /* the session may have more output */
            x->end = end;
            x->action = 0;
        } else {
            over(x, end);
        }
    }
}

/* ---- following ---- */

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct swerex_run *x = op->owner;
    struct err e = ERR_INIT;
    (void)stream;
    if (x->matched != SWEREX_NO_MATCH || !x->expect)
        return bytes.n;
    x->matched = swerex_expect_feed(x->expect, offset, bytes, &x->match, &e);
    if (x->matched == SWEREX_NO_MATCH)
        return bytes.n;
    buf_addz(&x->problem, e.text);
    task_defer(x->w->en->loop, &x->step);
    return bytes.n;
}

static void submit(struct swerex_run *x);

/* Does this NOTE_DROPPED_INPUT have the first line of x's command? */
static bool is_dropped(const struct swerex_run *x, struct str note)
{
    struct str command = buf_str(&x->command), line = str_cut(&command, '\n');
    struct str dropped = str_sub(note, sizeof(NOTE_DROPPED_TEXT) - 1, note.n);
    return dropped.n > 0 && str_starts(line, dropped);
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct swerex_run *x = op->owner;
    (void)from;
    (void)to;
    if (kind == NOTE_DROPPED_INPUT && x->typed && is_dropped(x, str_of(text)))
        x->unread = true;
}

static void on_done(struct op *op)
{
    struct swerex_run *x = op->owner;
    const struct op_result *r = &op->r;
    x->op = NULL;
    if (x->matched == SWEREX_HARD ||
        (x->matched != SWEREX_NO_MATCH && x->mode != RUN_PLAIN))
        return; /* answered by on_step */
    if (x->mode == RUN_INTERRUPT) {
        swerex_interrupted(x, r);
    } else if (!x->typed) {
        if (x->end)
            over(x, x->end);
    } else if (r->state == OP_FAILED) {
        swerex_run_fail(x, &r->err);
    } else if (r->state == OP_RUNNING) {
        swerex_run_late(x, x->from, r->to);
    } else if (x->unread && x->mode == RUN_PLAIN) {
        task_cancel(&x->step);
        x->typed = x->unread = false;
        x->matched = SWEREX_NO_MATCH;
        x->runs[0] = 0;
        submit(x);
    } else {
        task_cancel(&x->step);
        swerex_run_finish(x, r->exit, x->from, r->to);
    }
}

static const struct op_sink sink = {
    .output = on_output, .note = on_note, .done = on_done};

void swerex_run_follow(struct swerex_run *x, int64_t timeout_ms)
{
    struct session *shell = swerex_shell(x->s);
    x->op = op_new(OP_WAIT, &sink, x);
    x->op->stream = true;
    x->op->output_from = x->from;
    x->op->timeout_ms = timeout_ms;
    session_wait(shell, x->op);
}

/* ---- requests ---- */

static struct json *message_of(const struct swerex_session *s, const char *action,
                               struct json *take_args)
{
    struct json *m = json_object();
    json_put_z(m, "action", action);
    json_put(m, "args", take_args);
    json_put_z(m, "session", s->engine);
    return m;
}

int swerex_act(const struct swerex_session *s, const char *action, struct json *take_args,
               struct err *e)
{
    struct json *m = message_of(s, action, take_args);
    struct action_taken t;
    int rc = actions_do(s->w->actions, m, ACTION_SOURCE_SWEREX, &t, e);
    if (rc == 0 && t.end && actions_check_end(&t, e) == 0) {
        json_free(actions_observation(s->w->actions, t.end, NULL, e));
        rc = e->code ? -1 : 0;
    }
    return rc;
}

static void submit(struct swerex_run *x)
{
    char name[NAMED + SWEREX_ID_MAX + 1];
    struct json *args = json_object();
    struct err e = ERR_INIT;
    struct action_taken t;
    json_put_str(args, "command", buf_str(&x->command));
    json_put_z(args, "until", "end");
    json_put_z(args, "busy", "fail");
    struct json *m = message_of(x->s, "run", args);
    snprintf(name, sizeof(name), "swerex:%s", x->id);
    if (x->id[0] && x->mode != RUN_CREATE)
        json_put_z(m, "client_id", name);
    if (x->timeout > 0 && x->mode != RUN_CREATE)
        json_put_num(m, "timeout", x->timeout);
    int rc = actions_do(x->w->actions, m, ACTION_SOURCE_SWEREX, &t, &e);
    if (rc == 0 && t.end)
        rc = actions_check_end(&t, &e);
    if (rc < 0) {
        swerex_run_fail(x, &e);
    } else if (t.end) {
        over(x, t.end);
    } else {
        const struct action *a = actions_find(x->w->actions, t.id);
        x->action = t.id;
        if (a && a->running)
            swerex_run_started(x->w, a);
    }
}

void swerex_run_start(struct swerex_run *x) { submit(x); }

/* Types a line for the running program, whose output from `from` on was in no answer
 * yet. */
static void type(struct swerex_run *x, uint64_t from)
{
    struct json *args = json_object();
    struct err e = ERR_INIT;
    struct buf line = BUF_INIT(LIMIT_COMMAND_MAX + 1);
    buf_adds(&line, buf_str(&x->command));
    buf_addc(&line, '\n');
    json_put_str(args, "text", buf_str(&line));
    buf_release(&line);
    x->typed = true;
    x->from = from;
    if (swerex_act(x->s, "input", args, &e) < 0)
        swerex_run_fail(x, &e);
    else
        swerex_run_follow(x, x->timeout > 0 ? (int64_t)(x->timeout * 1000) + 1 : 0);
}

static void begin(struct swerex_run *x)
{
    struct swerex_session *s = x->s;
    char id[LIMIT_ID + 1];
    uint64_t from;
    bool runs = swerex_running(s, id, &from);
    bool known = runs && strcmp(id, s->command) == 0;
    if (runs && (x->mode != RUN_PLAIN || (known && s->interactive))) {
        memcpy(x->runs, id, sizeof(x->runs));
        type(x, known && s->cursor > from ? s->cursor : from);
    } else if (x->mode == RUN_PLAIN && swerex_may_be_wrong(buf_str(&x->command))) {
        swerex_check_syntax(x);
    } else {
        submit(x);
    }
}

static void run(struct req *r, struct swerex_session *s, const struct json *j,
                struct swerex_expect *take_expect)
{
    bool interactive = json_bool(j, "is_interactive_command", false);
    bool quit = json_bool(j, "is_interactive_quit", false);
    struct str check = json_str(j, "check", "raise"),
               command = json_str(j, "command", "");
    struct swerex_run *x = swerex_run_new(r, s,
                                          interactive ? RUN_INTERACTIVE
                                          : quit      ? RUN_QUIT
                                                      : RUN_PLAIN);
    x->check = str_eq(check, STR("silent"))   ? CHECK_SILENT
               : str_eq(check, STR("ignore")) ? CHECK_IGNORE
                                              : CHECK_RAISE;
    x->expect = take_expect;
    x->timeout = json_num(j, "timeout", 0);
    if (json_is_number(json_get(j, "timeout")) && x->timeout < 0.001)
        x->timeout = 0.001;
    if (x->timeout > SWEREX_TIMEOUT_MAX_S)
        x->timeout = SWEREX_TIMEOUT_MAX_S;
    buf_adds(&x->error_msg, json_str(j, "error_msg", ""));
    /* An empty line runs nothing; the status after it is 0. */
    buf_adds(&x->command,
             x->mode == RUN_PLAIN && str_trim(command).n == 0 ? STR(":") : command);
    begin(x);
}

static void act(struct req *r, const struct json *j, size_t which)
{
    struct swerex_session *s = swerex_session_of(r, json_str(j, "session", "default"));
    const struct json *list = json_get(j, "expect");
    struct err e = ERR_INIT;
    struct swerex_expect *x = NULL;
    if (!s)
        return;
    if (json_bool(j, "is_interactive_command", false) &&
        json_bool(j, "is_interactive_quit", false)) {
        swerex_raisef(r, "builtins.AssertionError",
                      "Cannot set both is_interactive_command and is_interactive_quit");
        return;
    }
    if (json_count(list) > 0 && !(x = swerex_expect_new(list, &e))) {
        swerex_raisef(r, "re.error", "%s", e.text);
    } else if (which == 0) {
        run(r, s, j, x);
    } else {
        struct swerex_run *i = swerex_run_new(r, s, RUN_INTERRUPT);
        i->expect = x;
        swerex_interrupt(i, j);
    }
}

void swerex_run_in_session(struct req *r)
{
    size_t which;
    struct json *j = swerex_tagged(r, "action_type", action_tags, &which);
    if (j)
        act(r, j, which);
    json_free(j);
}
