/* SPDX-License-Identifier: MIT */
/*
 * Commands are given to the shell one after the other. Callers wait in the queue for
 * their turn, or for the running command.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "shell/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- running ---- */

int session_put_command(struct session *s, uint64_t seq, struct err *e)
{
    struct buf file = BUF_INIT(LIMIT_COMMAND_MAX * 4 + 4096);
    int r = shell_command_file(&file, &s->sh, seq, buf_str(&s->run.text));
    if (r < 0)
        err_set(e, ERR_LIMIT, "the command is too long: at most %d bytes",
                LIMIT_COMMAND_MAX);
    else
        r = session_put_file(s, "c", buf_str(&file), e);
    buf_release(&file);
    return r;
}

static void attach_op(struct session *s, struct op *op);

enum shell_line session_run_line(const struct session *s, bool fifo, bool key)
{
    bool loud = strpbrk(s->report.flags, FLAGS_LOUD) ||
                shell_text_traces(buf_str(&s->run.text));
    enum shell_line how = fifo         ? LINE_RUN_FIFO
                          : !s->sh.pty ? LINE_RUN_NULL
                          : key        ? LINE_RUN_KEY
                                       : LINE_RUN;
    return loud && s->sh.kind != SHELL_POSIX ? how + (LINE_RUN_LOUD - LINE_RUN) : how;
}

/* The previous command ended after its caller had left: tells the next caller. */
static void tell_untold(struct session *s, struct op *op)
{
    const struct command *c = &s->cmd;
    char text[800];
    uint64_t from = s->run.seen > c->from ? s->run.seen : c->from;
    if (s->run.untold == OP_NOTHING)
        return;
    if (s->kill.told_seq == c->seq)
        return;
    snprintf(text, sizeof(text),
             "nobody waited for the previous command, which ended with status %d: %s; "
             "its output: %s -s %s --logs --offset %llu --limit %llu",
             c->status, c->head, op_command(op), s->name, (unsigned long long)from,
             (unsigned long long)(c->to > from ? c->to - from : 0));
    op_note(op, NOTE_UNTOLD, text, from, c->to);
}

static void begin(struct session *s, struct op *op)
{
    struct err e = ERR_INIT;
    if (memchr(buf_z(&op->command), 0, op->command.n)) {
        err_set(&e, ERR_INVALID, "the command holds a NUL byte, which no shell can take");
    } else if (buf_reset(&s->run.text),
               buf_adds(&s->run.text, buf_str(&op->command)) < 0) {
        err_set(&e, ERR_LIMIT, "there is no memory for the command of %zu bytes",
                op->command.n);
    } else if (session_put_command(s, s->run.seq + 1, &e) == 0 &&
               (!op->with_stdin || session_open_feed(s, &e) == 0)) {
        tell_untold(s, op);
        s->run.seq++;
        session_new_command(s, op);
        if (op->own)
            s->run.own_seq = s->run.seq;
        buf_release(&op->command);
        session_to(s, SESSION_TYPED);
        s->run.untold = OP_NOTHING;
        session_input_begins(s);
        session_look_begins(s);
        struct buf line = BUF_INIT(1024);
        enum shell_line how = session_run_line(s, op->with_stdin, session_edits(s));
        s->run.traced = s->sh.kind != SHELL_POSIX && how != LINE_RUN_KEY;
        s->run.shown = how >= LINE_RUN_LOUD || strchr(s->report.flags, 'v');
        session_add_line(s, &line, how);
        session_store_command(s, buf_str(&line), !op->detach && op->owner);
        buf_release(&line);
        session_limit_typed(s);
        attach_op(s, op);
        return;
    }
    op->r.state = OP_FAILED;
    op->r.err = e;
    op_settle(op);
}

static bool answer_done(struct session *s, struct op *op)
{
    const struct answer *d = session_answer(s, op->id);
    if (!d)
        return false;
    op->r = (struct op_result){.state = d->shell_ended ? OP_SHELL_ENDED : OP_ENDED,
                               .exit = d->status,
                               .signo = session_signal_of(d->status),
                               .seq = d->seq,
                               .from = d->from,
                               .to = d->to,
                               .duration_ms = d->duration_ms};
    op->cursor = d->from;
    list_add_tail(&s->run.waiters, &op->node);
    op_settle(op);
    return true;
}

static void on_gate(struct gate_wait *w)
{
    session_next(container_of(w, struct op, gate)->session);
}

/* May the command begin? Not asked for the server's own, and for repeated ones. */
static bool passes_gate(struct session *s, struct op *op)
{
    const struct gate_ask q = {.kind = GATE_COMMAND,
                               .id = op->id,
                               .text = buf_str(&op->command),
                               .session = str_of(s->name)};
    if (op->own || session_answer(s, op->id))
        return true;
    op->gate.go = on_gate;
    return gate_lets(s->en, &op->gate, &q);
}

void session_next(struct session *s)
{
    if (s->state == SESSION_IDLE)
        session_empty_records(s);
    while (s->state == SESSION_IDLE && s->repair.health != HEALTH_CONDEMNED &&
           !list_empty(&s->run.queue) && !session_kill_signals(s)) {
        struct op *op = list_first(&s->run.queue, struct op, node);
        if (s->tty.prompt != PROMPT_OFF) { /* no command at a person's prompt */
            session_sync_prompt(s);
            return;
        }
        if (!passes_gate(s, op))
            return;
        list_del(&op->node);
        op->queued = false;
        if (!answer_done(s, op)) /* repeated while its command was ending */
            begin(s, op);
    }
    if (s->state == SESSION_NONE && !list_empty(&s->run.queue))
        session_start(s);
}

/* ---- waiting ---- */

void session_seen(struct session *s, uint64_t upto)
{
    s->run.seen = upto;
    s->run.idle_bytes = 0;
}

void session_no_idle(struct session *s) { s->run.idle_bytes = 0; }

void session_idle_line(struct session *s) { s->run.idle_line = s->run.idle_step = 0; }

void session_add_idle(struct session *s, struct str output)
{
    /* "[1]+  Done", "[1] + Done" */
    static const char *const form[] = {"[",   "0123456789", "0123456789]",
                                       " +-", " +-",        " "};
    enum { ABOUT_JOBS = sizeof(form) / sizeof(form[0]), ANOTHER };
    for (; output.n > 0 && s->run.idle_step != ABOUT_JOBS;
         output = str_sub(output, 1, output.n)) {
        char c = output.p[0];
        s->run.idle_bytes++;
        s->run.idle_line++;
        if (c == '\n')
            session_idle_line(s);
        else if (s->run.idle_step == ANOTHER || !c || !strchr(form[s->run.idle_step], c))
            s->run.idle_step = ANOTHER;
        else if (!strchr("0123456789", c) || s->run.idle_step == 1)
            s->run.idle_step++;
        if (s->run.idle_step == ABOUT_JOBS)
            s->run.idle_bytes -= s->run.idle_line;
    }
}

void session_command_runs(struct session *s) { buf_release(&s->run.text); }

bool session_untold(const struct session *s)
{
    return !session_busy(s) && s->run.untold != OP_NOTHING;
}

void session_set_untold(struct session *s, enum op_state how)
{
    s->run.untold = session_sets_up(s) ? OP_NOTHING : how;
}

static void result_of(struct session *s, struct op *op, enum op_state state)
{
    op->r.state = state;
    op->r.seq = s->cmd.seq;
    op->r.from = op->r.from ? op->r.from : s->cmd.from;
    op->r.duration_ms = clock_ms() - s->cmd.since_ms;
    op->r.look = s->look.last;
    op->r.looked = s->look.known;
}

void session_tell_end(struct session *s, struct op *op, enum op_state state)
{
    int status = s->cmd.status;
    result_of(s, op, state);
    op->r.exit = status;
    op->r.signo = session_signal_of(status);
    op->r.duration_ms = s->cmd.duration_ms;
    op->r.looked = false;
    if (op->owner)
        s->run.untold = OP_NOTHING;
}

/* Ends the wait, not the command. */
void session_stop_waiting(struct session *s, struct op *op, enum op_why why)
{
    if (op->settled)
        return;
    result_of(s, op, OP_RUNNING);
    op->r.why = why;
    op->r.to = op->queued ? op->cursor : s->scan.at;
    if (op->queued) { /* it never began, and now never will */
        op->r.state = OP_FAILED;
        if (why == OP_INPUT)
            err_set(&op->r.err, ERR_BUSY,
                    "session %s is busy with: %s, and %s waits for input; the command "
                    "was not run: type what it asks for, end it with C-c, or use "
                    "another session",
                    s->name, s->cmd.head,
                    s->look.last.comm[0] ? s->look.last.comm : "it");
        else if (session_busy(s))
            err_set(&op->r.err, ERR_TIMEOUT,
                    "session %s was busy all the time with: %s; the command was not run",
                    s->name, s->cmd.head[0] ? s->cmd.head : "what somebody typed there");
        else
            err_set(&op->r.err, ERR_TIMEOUT,
                    "the shell of session %s was not ready in time; the command was not "
                    "run: give it more time with -t",
                    s->name);
    } else {
        session_seen(s, op->r.to);
        session_save(s); /* so that the next worker does not answer it again */
    }
    op_settle(op);
}

static void on_hard(struct timer *t)
{
    struct op *op = container_of(t, struct op, hard);
    struct session *s = op->session;
    /* Its shell is starting, within LIMIT_START_MS, and runs nothing else. */
    if (op->queued && op->outlasts_start && !session_busy(s) &&
        list_first(&s->run.queue, struct op, node) == op)
        timer_begin(s->en->loop, t, op->timeout_ms, on_hard);
    else
        session_stop_waiting(s, op, OP_TIMEOUT);
}

static void on_idle(struct timer *t)
{
    struct op *op = container_of(t, struct op, idle);
    session_stop_waiting(op->session, op, OP_IDLE);
}

static void on_flow(struct timer *t)
{
    struct session *s = container_of(t, struct session, run.flow);
    if (op_any_moves(&s->run.waiters))
        keeper_client_flow_again(&s->proc, 0);
    session_flow(s);
}

void session_flow(struct session *s)
{
    uint64_t least = HOLD_NOBODY, at;
    uint64_t room = s->proc.r.flags & KEEP_P_FULL ? 0 : s->proc.r.out[0].cap / 2;
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->done || !op->owner)
            continue;
        if (least > s->scan.at) /* the search for marks needs these bytes, too */
            least = s->scan.at;
        if (op_holds(op, 0, room, &at) && at < least)
            least = at;
    }
    if (keeper_client_flow(&s->proc, 0, least) && !timer_active(&s->run.flow))
        timer_begin(s->en->loop, &s->run.flow, FLOW_LOOK_MS, on_flow);
}

static void attach_op(struct session *s, struct op *op)
{
    list_del(&op->node);
    list_add_tail(&s->run.waiters, &op->node);
    op->queued = false;
    op->r.seq = s->cmd.seq;
    op->skip_exit = s->run.shown;
    if (s->cmd.started)
        op->cursor = op->r.from = op->kind == OP_WAIT && s->run.seen > s->cmd.from
                                      ? s->run.seen
                                      : s->cmd.from;
    else
        op->cursor = UINT64_MAX; /* set by the start mark */
    if (op->idle_ms > 0)
        timer_begin(s->en->loop, &op->idle, op->idle_ms, on_idle);
    if (op->detach)
        session_stop_waiting(s, op, OP_DETACHED);
    else
        session_look_later(s, LOOK_FIRST_MS);
    if (!op->done && s->cmd.started)
        op_pump(op);
}

bool session_sets_up(const struct session *s)
{
    return s->run.own_seq && s->run.own_seq == s->cmd.seq && s->state != SESSION_HUMAN;
}

const struct op *session_comes_next(const struct session *s)
{
    if (session_busy(s) && !session_sets_up(s))
        return NULL;
    for (const struct list *it = s->run.queue.next; it != &s->run.queue; it = it->next) {
        const struct op *op = list_entry(it, struct op, node);
        if (!op->own)
            return op;
    }
    return NULL;
}

/*
 * What a caller can do about a busy session, as a hint. Only for callers that use a
 * command line; "" for others.
 */
static const char *busy_hint(const struct session *s, const struct op *op, char *text,
                             size_t size)
{
    text[0] = 0;
    if (op->as)
        snprintf(text, size,
                 "; type to it: %s -s %s --input TEXT or --key KEYS; end it: --kill; run "
                 "elsewhere: -s OTHER%s",
                 op->as, s->name, op->no_wait ? "" : "; do not wait: --no-wait");
    return text;
}

void session_run(struct session *s, struct op *op)
{
    char hint[420];
    ASSERT(op->kind == OP_RUN && !op->session && !op->process && !op->done);
    op->session = s;
    op->queued = true;
    engine_touch(s->en);
    if (answer_done(s, op))
        return;
    if (op->id[0] && strcmp(op->id, s->cmd.id) == 0 && s->cmd.seq &&
        (!s->cmd.ended || s->end.step == END_AT_PROMPT)) {
        if (op->timeout_ms > 0)
            timer_begin(s->en->loop, &op->hard, op->timeout_ms, on_hard);
        attach_op(s, op);
        return;
    }
    list_add_tail(&s->run.queue, &op->node);
    struct err e = ERR_INIT;
    unsigned waiting = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.queue)
        waiting++;
    if (session_busy(s) && session_in_chain(s, op->parent))
        err_set(&e, ERR_BUSY,
                "session %s is running the command that calls it, so waiting would "
                "never end; use another session: %s -s OTHER",
                s->name, op_command(op));
    else if (session_busy(s) && op->no_wait && !session_sets_up(s))
        err_set(&e, ERR_BUSY, "session %s is busy with: %s%s", s->name, s->cmd.head,
                busy_hint(s, op, hint, sizeof(hint)));
    else if (waiting > LIMIT_QUEUE_MAX)
        err_set(&e, ERR_LIMIT, "session %s has %d callers waiting already", s->name,
                LIMIT_QUEUE_MAX);
    if (e.code) {
        op->r.state = OP_FAILED;
        op->r.err = e;
        op_settle(op);
        return;
    }
    if (op->timeout_ms > 0)
        timer_begin(s->en->loop, &op->hard, op->timeout_ms, on_hard);
    if (session_busy(s) && !session_sets_up(s)) {
        char text[700];
        snprintf(text, sizeof(text), "waiting for session %s, which is busy with: %s%s",
                 s->name, s->cmd.head[0] ? s->cmd.head : "what somebody typed there",
                 busy_hint(s, op, hint, sizeof(hint)));
        op_note(op, NOTE_QUEUED, text, 0, 0);
    }
    if (session_busy(s))
        session_look_later(s, LOOK_FIRST_MS);
    session_next(s);
}

/* The offset, or the end of the mark in which it lies. */
static uint64_t past_mark(struct session *s, uint64_t offset)
{
    char bytes[256];
    struct mark m;
    size_t keep;
    uint64_t from = offset > sizeof(bytes) / 2 ? offset - sizeof(bytes) / 2 : 0,
             at = from;
    if (!s->proc.keeper)
        return offset;
    size_t n = spool_read(s->proc.spool[0], session_out(s), &at, bytes, sizeof(bytes));
    for (size_t i = 0; at == from && i < n; i += m.at + m.len) {
        if (!shell_mark(&s->sh, str_n(bytes + i, n - i), &m, &keep) ||
            from + i + m.at >= offset)
            break;
        if (from + i + m.at + m.len > offset)
            return from + i + m.at + m.len;
    }
    return offset;
}

void session_wait(struct session *s, struct op *op)
{
    ASSERT((op->kind == OP_WAIT || op->kind == OP_LOGS) && !op->session && !op->process);
    op->session = s;
    engine_touch(s->en);
    if (op->kind == OP_LOGS) {
        op->cursor = past_mark(s, op->cursor);
        list_add_tail(&s->run.logs, &op->node);
        if (op->limit != UINT64_MAX) {
            op->r.to = op->limit < s->scan.at ? op->limit : s->scan.at;
            op_settle(op);
        } else {
            op_pump(op);
        }
        return;
    }
    if (op->timeout_ms > 0)
        timer_begin(s->en->loop, &op->hard, op->timeout_ms, on_hard);
    if (session_busy(s)) {
        attach_op(s, op);
        return;
    }
    list_add_tail(&s->run.waiters, &op->node);
    op->filter = op->skip_noise = true;
    op->cursor = op->r.from = s->run.seen;
    op->r.state = OP_NOTHING;
    if (s->run.untold != OP_NOTHING)
        session_tell_end(s, op, s->run.untold);
    s->run.untold = OP_NOTHING;
    op->r.to = s->scan.at;
    session_seen(s, op->r.to);
    op_settle(op);
}

void session_quiet_again(struct session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        op->told_input = op->told_input && s->look.redraw.told;
        if (op->idle_ms > 0 && !op->settled)
            timer_begin(s->en->loop, &op->idle, op->idle_ms, on_idle);
    }
    session_look_quiet(s);
    if (session_busy(s) && !(list_empty(&s->run.waiters) && list_empty(&s->run.queue) &&
                             list_empty(&s->tty.watchers)))
        session_look_soon(s);
}
