/* SPDX-License-Identifier: MIT */
/* The end of a command, by its mark or without one, and the end of the shell. */
#include "engine/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/spool.h"

#include <signal.h>
#include <sys/wait.h>

/* ---- of a command ---- */

static void remember(struct session *s, bool shell_ended)
{
    const struct command *c = &s->cmd;
    struct done *d = &s->done[s->done_next++ % DONE_KEPT];
    memcpy(d->id, c->id, sizeof(d->id));
    d->seq = c->seq;
    d->from = c->from;
    d->to = c->to;
    d->status = c->status;
    d->shell_ended = shell_ended;
    d->duration_ms = c->duration_ms;
}

void session_forget_feed(struct session *s)
{
    if (s->feeding)
        hold_forget(&s->feed);
    s->feeding = false;
}

static void answer_waiters(struct session *s, enum op_state state)
{
    struct list *it, *tmp;
    s->untold = state;
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->settled)
            continue;
        if (s->dropped[0])
            op_note(op, "dropped_input", s->dropped, 0, 0);
        session_tell_end(s, op, state);
        op->r.to = s->cmd.to;
        if (op->cursor == UINT64_MAX)
            op->cursor = op->r.from = s->cmd.from;
        s->seen = s->cmd.to;
        s->idle_bytes = 0;
        op_settle(op);
    }
    s->dropped[0] = 0;
}

void session_acknowledge(struct session *s, enum shell_line how)
{
    struct buf ack = BUF_INIT(64);
    shell_line(&ack, &s->sh, how, s->cmd.seq);
    /* A P answers one that asks; after the others comes the next command's S. */
    hold_write_quietly(&s->proc, buf_str(&ack), STR(""), STR(""));
    buf_release(&ack);
}

/* The shell drops input until it hears that its end was heard. */
static void acknowledge(struct session *s, enum shell_line how)
{
    if (s->ack_due && s->sh.pty && (how == LINE_ACK_ASK || !session_held(s)))
        session_acknowledge(s, how);
    /* A held shell only answers what it is asked. */
    s->ack_due = how == LINE_ACK_ASK && s->sh.kind == SHELL_POSIX;
}

/* The command is over and its shell is (or soon will be) at its prompt. */
void session_command_over(struct session *s)
{
    timer_stop(&s->prompt);
    timer_stop(&s->look);
    s->wait_prompt = false;
    remember(s, false);
    answer_waiters(s, OP_ENDED);
    s->state = SESSION_IDLE;
    s->en->idle_since_ms = clock_ms();
    acknowledge(s, LINE_ACK);
    session_next(s);
    session_sync_prompt(s);
    if (s->state == SESSION_IDLE)
        session_env_later(
            s); /* stores the state too; until then it is found again by search */
    session_kill_step(s);
}

void session_over_again(struct session *s)
{
    s->ack_due = true;
    session_command_over(s);
}

static void on_prompt_late(struct timer *t)
{
    session_command_over(container_of(t, struct session, prompt));
}

void session_end_command(struct session *s, uint64_t to, int status)
{
    struct command *c = &s->cmd;
    c->ended = true;
    s->installs = 0;
    s->unproved.kind = 0;
    c->to = to;
    if (!c->started || c->from > to)
        c->from = to;
    c->status = status & 0xff;
    c->duration_ms = clock_ms() - c->since_ms;
    if (!list_empty(&s->viewers) && c->to > c->from)
        s->bare[s->bares_next++ % BARES] = (struct skip){c->from, c->to};
    session_forget_feed(s);
    session_read_records(s);
    s->noise_from = strpbrk(s->flags, "xv") ? to : 0;
    TRACE(TRACE_SESSION, "session %s: %llu ended with %d", s->name,
          (unsigned long long)c->seq, c->status);
}

/* The end of the output before the trace of our own code, if there is one. */
static uint64_t before_trace(struct session *s, uint64_t end)
{
    char bytes[4096];
    uint64_t from = end - s->cmd.from > sizeof(bytes) ? end - sizeof(bytes) : s->cmd.from;
    uint64_t at = from;
    size_t n = spool_read(s->proc.spool[0], session_out(s), &at, bytes,
                          (size_t)(end - from));
    return at == from && n == end - from ? from + shell_trace(&s->sh, str_n(bytes, n))
                                         : end;
}

void session_take_end(struct session *s, const struct mark *m, uint64_t at)
{
    if (!s->run_traced && strchr(s->flags, 'x') && s->cmd.started)
        at = before_trace(s, at);
    session_end_command(s, at, m->status);
    session_restore_tty(s);
    s->ack_due = true;
    if (s->sh.pty && s->cmd.fed) {
        /* What was typed and not read is known at the prompt only. */
        s->wait_prompt = true;
        acknowledge(s, LINE_ACK_ASK);
        timer_begin(s->en->loop, &s->prompt, PROMPT_WAIT_MS, on_prompt_late);
    } else {
        session_command_over(s);
    }
}

void session_believe(struct session *s)
{
    struct mark m = s->unproved;
    s->unproved.kind = 0;
    session_take_end(s, &m, s->unproved_at);
}

bool session_end_by_record(struct session *s)
{
    const struct keep_stream *o = session_out(s);
    struct command *c = &s->cmd;
    bool lost = o->gaps > 0 && o->gap[o->gaps - 1].to > c->typed_at;
    session_read_records(s);
    if (!lost || s->record_seq != c->seq || s->scanned < o->offset)
        return false;
    if (!c->started) {
        c->started = true;
        c->from = c->typed_at;
    }
    struct mark m = {.kind = 'E', .seq = c->seq, .status = s->record_status};
    session_take_end(s, &m, s->scanned);
    return true;
}

/* ---- of the shell ---- */

static void shell_gone(struct session *s, const struct err *failed)
{
    int status = s->proc.r.status;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    bool running = session_busy(s) && !s->cmd.ended;
    timer_stop(&s->start);
    timer_stop(&s->look);
    timer_stop(&s->prompt);
    timer_stop(&s->env_timer);
    s->attached_mode = s->prompt_on = false;
    s->echo_at = 0;
    session_switched(s);
    if (s->state == SESSION_STARTING) {
        s->state = SESSION_NONE;
        if (s->with_rc && !failed) { /* an rc file that execs, exits or hangs */
            s->with_rc = false;
            s->lost_rc = true;
            session_next(s);
            return;
        }
        struct err e = ERR_INIT;
        if (failed)
            e = *failed;
        else if (s->start_late)
            err_set(&e, ERR_TIMEOUT,
                    "the shell %s came to no prompt within %d s and was ended, without "
                    "its rc files too; choose bash or a POSIX sh with --shell",
                    s->sh.path, LIMIT_START_MS / 1000);
        else
            err_set(&e, ERR_GONE,
                    "the shell %s ended at its start with status %d, without its rc "
                    "files too; choose bash or a POSIX sh with --shell",
                    s->sh.path, code);
        if (s->rerun) { /* the fresh shell ended too */
            s->rerun = false;
            session_end_command(s, s->scanned, code);
            answer_waiters(s, OP_SHELL_ENDED);
        }
        session_fail_queue(s, &e);
        session_kill_step(s);
        return;
    }
    s->fresh = true;
    s->fresh_status = code;
    s->state = SESSION_NONE;
    s->rerun = running && !s->cmd.started && s->text.n > 0;
    if (s->rerun) {
        session_start(s);
        if (s->state == SESSION_NONE)
            s->rerun = false;
    }
    if (running && !s->rerun) {
        session_end_command(s, s->scanned, code);
        s->cmd.status = code;
        remember(s, true);
        answer_waiters(s, OP_SHELL_ENDED);
    }
    struct list *it, *tmp;
    list_each (it, tmp, &s->viewers) {
        struct op *op = list_entry(it, struct op, node);
        op->r.state = OP_SHELL_ENDED;
        op->r.exit = code;
        op->r.to = s->scanned;
        op_settle(op);
    }
    session_save(s);
    session_kill_step(s);
    if (s->state == SESSION_NONE)
        session_next(s);
}

static void on_exit_grace(struct timer *t)
{
    struct session *s = container_of(t, struct session, exit_timer);
    shell_gone(s, NULL);
}

/* Exit and everything drained, or exit and a grace: something holds the tty. */
void session_shell_exit(struct session *s)
{
    if (s->state == SESSION_NONE)
        return;
    if (s->proc.r.flags & KEEP_P_FAILED) {
        struct err e = ERR_INIT;
        if (s->proc.r.step == 2)
            err_sys(&e, s->proc.r.errnum, "cannot start a shell in %s", s->cwd);
        else
            err_sys(&e, s->proc.r.errnum, "cannot start the shell %s", s->sh.path);
        s->state = SESSION_STARTING;
        shell_gone(s, &e);
    } else if (session_out(s)->eof) {
        timer_stop(&s->exit_timer);
        shell_gone(s, NULL);
    } else if (!timer_active(&s->exit_timer)) {
        timer_begin(s->en->loop, &s->exit_timer, EXIT_GRACE_MS, on_exit_grace);
    }
}
