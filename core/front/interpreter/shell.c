/* SPDX-License-Identifier: MIT */
/*
 * Contexts of bash without a kernelspec: each is a session of the server, which keeps
 * variables and directory. Each execution is an action `run`, whose output is read from
 * the session while it runs. A session has one terminal, so error output is part of it.
 *
 *   the action starts ─▶ an op reads output ─▶ the action ends ─▶ the rest ─▶ last line
 */
#include "front/interpreter/own.h"

#include "action/outside.h"
#include "base/utf8.h"
#include "front/e2b/e2b.h"
#include "shell/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void session_name_of(char out[ACTION_SESSION_MAX + 1], const struct context *c)
{
    if (c->shells)
        snprintf(out, ACTION_SESSION_MAX + 1, "%s.%u", c->id, c->shells % 1000);
    else
        snprintf(out, ACTION_SESSION_MAX + 1, "%s", c->id);
}

/* ---- its commands ---- */

/*
 * Opens an action. silent: it is not an execution, so cancel_orphans does not interrupt
 * it. The log lacks its text, which has values of variables.
 */
static struct action *open_run(struct context *c, const char *session, struct str command,
                               bool silent, struct err *e)
{
    struct json *message = json_object(), *args = json_object();
    struct action_order o = {.source = ACTION_SOURCE_INTERPRETER,
                             .kind = &action_run_until,
                             .session = str_of(session)};
    json_put_str(args, "command", command);
    json_put_z(args, "until", "end");
    json_put_bool(args, "silent", silent);
    json_put_z(message, "action", "run");
    json_put(message, "args", args);
    return action_open(c->f->actions, message, &o, e);
}

uint64_t shell_run(struct context *c, struct str code, bool silent,
                   struct cell_follower *follower, struct err *e)
{
    struct interpreter *f = c->f;
    char name[ACTION_SESSION_MAX + 1];
    struct buf first = BUF_INIT(LIMIT_COMMAND_MAX);
    struct action *a = NULL;
    session_name_of(name, c);
    if (!session_find(f->en, str_of(name)))
        code_shell(&first, c->cwd, f->e2b ? e2b_env(f->e2b) : NULL);
    if (first.n > 0 && code.n > 0 && (a = open_run(c, name, buf_str(&first), true, e)))
        action_go(a);
    if (first.n == 0 || code.n == 0 || a) /* an empty first execution is `first` alone */
        a = open_run(c, name, first.n > 0 && code.n == 0 ? buf_str(&first) : code, silent,
                     e);
    buf_release(&first);
    if (!a)
        return 0;
    uint64_t id = a->id;
    if (follower)
        action_cell_follow(f->actions, id, follower);
    action_go(a);
    return id;
}

void shell_restart(struct context *c)
{
    char name[ACTION_SESSION_MAX + 1];
    session_name_of(name, c);
    struct session *s = session_find(c->f->en, str_of(name));
    struct action *a;
    uint64_t end;
    c->shells++; /* a new name, so nothing waits for the end of the old session */
    c->count = 0;
    contexts_save(c->f);
    if (!s)
        return;
    struct outside_order o = {.kind = "kill",
                              .session = str_of(name),
                              .source = ACTION_SOURCE_INTERPRETER,
                              .uid = getuid(),
                              .pid = getpid()};
    outside_open(c->f->actions, &o, &a, &end);
    session_kill(s, SIGHUP, 0, true, NULL, NULL);
    if (a)
        outside_end(a, STR(""), NULL);
}

/* ---- its output ---- */

/*
 * Adds a line for complete text. It comes from a terminal, so its lines end in CR and LF.
 */
static void put_text(struct execution *x, bool all)
{
    size_t n = all ? x->raw.n : utf8_cut(buf_str(&x->raw), x->raw.n);
    struct buf text = BUF_INIT(SHELL_PIECE);
    struct json *content = json_object();
    if (!all && n > 0 && x->raw.p[n - 1] == '\r')
        n--;
    for (size_t i = 0; i < n; i++) {
        if (x->raw.p[i] != '\r' || i + 1 == x->raw.n || x->raw.p[i + 1] != '\n')
            buf_addc(&text, x->raw.p[i]);
    }
    json_put_z(content, "name", "stdout");
    json_put_str(content, "text", buf_str(&text));
    if (text.n > 0)
        line_message(&x->out, STR("stream"), content);
    json_free(content);
    buf_consume(&x->raw, n);
    buf_release(&text);
}

/* Takes all bytes, unless the caller is slow; then shell_pump continues. */
static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct execution *x = op->owner;
    size_t used = 0;
    (void)stream;
    while (!x->held && used < bytes.n) {
        struct str piece = str_sub(bytes, used, SHELL_PIECE - x->raw.n);
        buf_adds(&x->raw, piece);
        used += piece.n;
        x->at = offset + used;
        put_text(x, false);
        execution_flush(x);
    }
    return used;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct execution *x = op->owner;
    char note[120];
    (void)text;
    if (kind != NOTE_GAP)
        return;
    snprintf(note, sizeof(note), "the output from byte %llu to %llu is lost",
             (unsigned long long)from, (unsigned long long)to);
    line_note(&x->out, note);
    x->at = to > x->at ? to : x->at;
}

static void finish(struct execution *x)
{
    char status[16];
    put_text(x, true);
    snprintf(status, sizeof(status), "%d", x->exit);
    if (x->exit != 0)
        execution_error(x, "ExitCode", str_of(status));
    struct context *c = context_find(x->f, str_of(x->context));
    if (x->shell_over &&
        c) /* the next shell gets the directory and the variables again */
        shell_restart(c);
    execution_end(x);
}

static void on_done(struct op *op)
{
    struct execution *x = op->owner;
    x->op = NULL;
    if (x->over)
        finish(x);
}

static const struct op_sink sink = {
    .output = on_output, .note = on_note, .done = on_done};

static void look(struct execution *x, struct session *s, struct op *op)
{
    op->stream = op->filter = true;
    x->op = op;
    if (op->kind == OP_LOGS)
        session_wait(s, op);
    else
        session_run(s, op);
}

void shell_started(struct execution *x, const struct action *a)
{
    struct session *s = session_find(x->f->en, str_of(a->session));
    struct context *c = context_find(x->f, str_of(x->context));
    if (!s || !c || x->op || a->kind != &action_run_until)
        return;
    execution_begun(x, ++c->count);
    contexts_save(x->f);
    x->at = a->from;
    if (!session_running(s, a->command))
        return;
    struct op *op = op_new(OP_RUN, &sink, x);
    snprintf(op->id, sizeof(op->id), "%s", a->command);
    op->output_from = a->from;
    look(x, s, op);
}

void shell_ended(struct execution *x, const struct action_result *result)
{
    struct context *c = context_find(x->f, str_of(x->context));
    char name[ACTION_SESSION_MAX + 1];
    x->over = true;
    x->exit = result->exit_code;
    x->at = x->at > result->from ? x->at : result->from;
    x->shell_over = json_bool(result->extras, "shell_ended", false);
    if (x->op) /* the op reads to the end */
        return;
    if (c)
        session_name_of(name, c);
    struct session *s = c ? session_find(x->f->en, str_of(name)) : NULL;
    if (!s || x->at >= result->to) {
        finish(x);
        return;
    }
    struct op *op = op_new(OP_LOGS, &sink, x);
    op->cursor = op->r.from = x->at;
    op->limit = result->to;
    look(x, s, op);
}

void shell_pump(struct execution *x)
{
    if (x->op)
        op_pump(x->op);
}

void shell_leave(struct execution *x)
{
    if (x->op)
        op_drop(x->op);
    x->op = NULL;
}
