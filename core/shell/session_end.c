/* SPDX-License-Identifier: MIT */
/* The end of a command, by its mark or without one. */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "shell/spool.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- of a command ---- */

/*
 * Returns a waiter that is not settled; NULL if all are. The search begins again after
 * each one, because settling it may drop others.
 */
static struct op *unsettled(struct session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (!op->settled && !op->done)
            return op;
    }
    return NULL;
}

void session_answer_waiters(struct session *s, enum op_state state)
{
    session_set_untold(s, state);
    for (struct op *op; (op = unsettled(s));) {
        if (s->report.dropped[0])
            op_note(op, NOTE_DROPPED_INPUT, s->report.dropped, 0, 0);
        session_tell_end(s, op, state);
        op->r.to = s->cmd.to;
        if (op->cursor == UINT64_MAX)
            op->cursor = op->r.from = s->cmd.from;
        session_seen(s, s->cmd.to);
        op_settle(op);
    }
    session_dropped_told(s);
}

static void session_acknowledge(struct session *s, enum shell_line how)
{
    struct buf ack = BUF_INIT(64);
    shell_line(&ack, &s->sh, how, s->cmd.seq);
    /* LINE_ACK_ASK is answered by P; after other lines the next mark is S. */
    keeper_client_write_quietly(&s->proc, buf_str(&ack), STR(""), STR(""));
    buf_release(&ack);
}

bool session_held(const struct session *s)
{
    return s->sh.kind == SHELL_POSIX ? s->sh.pty && !session_prompts(s)
                                     : s->end.held != 0;
}

void session_released(struct session *s) { s->end.held = 0; }

/* Does bash offer to be held after this command, and is that of use? */
static bool offers_hold(const struct session *s)
{
    const char *flags = s->report.flags;
    return s->sh.kind != SHELL_POSIX && s->report.end_seq == s->cmd.seq &&
           strchr(flags, '+') && !strpbrk(flags, "v" FLAGS_LOUD) && !s->tty.attached;
}

/* Holds the shell after the command, or acknowledges the end. */
static void acknowledge_or_hold(struct session *s)
{
    s->end.held = offers_hold(s) ? s->cmd.seq : 0;
    if (!session_held(s))
        session_acknowledge(s, LINE_ACK);
}

void session_tell_over(struct session *s, bool shell_ended)
{
    session_keep_answer(s, shell_ended);
    session_answer_waiters(s, shell_ended ? OP_SHELL_ENDED : OP_ENDED);
    session_watch_ended(s, shell_ended, NULL);
}

/* The command is over and its shell is (or soon will be) at its prompt. */
void session_command_over(struct session *s)
{
    /* A bash that was asked for its prompt reads on; another shell only answers P. */
    bool due = s->end.step == END_HEARD ||
               (s->end.step == END_AT_PROMPT && s->sh.kind == SHELL_POSIX);
    timer_stop(&s->end.prompt);
    timer_stop(&s->look.timer);
    s->end.step = END_NONE;
    session_tell_over(s, false);
    session_to(s, SESSION_IDLE);
    s->en->idle_since_ms = clock_ms();
    if (due && s->sh.pty)
        acknowledge_or_hold(s);
    session_next(s);
    session_sync_prompt(s);
    if (s->state == SESSION_IDLE) /* stores the state too; until then a search finds it */
        session_env_later(s);
    session_kill_step(s);
}

void session_over_again(struct session *s)
{
    s->end.step = END_HEARD;
    s->end.asked = s->cmd.fed ? s->cmd.seq : 0;
    session_command_over(s);
}

bool session_asked_prompt(struct session *s, uint64_t seq)
{
    if (!s->end.asked || s->end.asked != seq)
        return false;
    s->end.asked = 0;
    return true;
}

static void on_prompt_late(struct timer *t)
{
    session_command_over(container_of(t, struct session, end.prompt));
}

void session_missed_start(struct session *s)
{
    const struct command *c = &s->cmd;
    if (c->started || c->ended || c->seq == 0 || s->scan.unread <= c->typed_at)
        return;
    session_command_began(s, c->typed_at);
    session_command_runs(s);
}

void session_end_command(struct session *s, uint64_t to, int status)
{
    const struct command *c = &s->cmd;
    session_missed_start(s);
    session_command_ended(s, to, status);
    session_repaired(s);
    s->end.proof = PROOF_NOTHING;
    session_add_bare(s, c->from, c->to);
    session_input_ends(s);
    session_ask_ends(s);
    if (s->report.end_seq != c->seq)
        session_read_records(s);
    session_check_output(s);
    session_noise_from(s, strpbrk(s->report.flags, "v" FLAGS_LOUD) ? to : 0);
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
    if (!s->run.traced && strchr(s->report.flags, 'x') && s->cmd.started)
        at = before_trace(s, at);
    session_end_command(s, at, m->status);
    session_no_trouble(s);
    session_restore_tty(s);
    s->end.step = END_HEARD;
    if (s->sh.pty && s->cmd.fed) {
        /* Only the prompt shows which part of the typed input was not read. */
        s->end.step = END_AT_PROMPT;
        s->end.asked = s->cmd.seq;
        session_acknowledge(s, LINE_ACK_ASK);
        timer_begin(s->en->loop, &s->end.prompt, PROMPT_WAIT_MS, on_prompt_late);
    } else {
        session_command_over(s);
    }
}

void session_doubt(struct session *s, const struct mark *m, uint64_t at)
{
    s->end.unproved = *m;
    s->end.unproved_at = at;
    s->end.proof = s->sh.pty ? PROOF_WITHHELD : PROOF_SHOWN;
    session_look_later(s, 1);
}

void session_show_unproved(struct session *s)
{
    if (s->end.proof != PROOF_WITHHELD)
        return;
    s->end.proof = PROOF_SHOWN;
    session_pump_waiters(s);
}

void session_believe(struct session *s)
{
    struct mark m = s->end.unproved;
    s->end.proof = PROOF_NOTHING;
    session_take_end(s, &m, s->end.unproved_at);
}

bool session_end_by_record(struct session *s)
{
    const struct keep_stream *o = session_out(s);
    const struct command *c = &s->cmd;
    bool lost = o->gaps > 0 && o->gap[o->gaps - 1].to > c->typed_at;
    session_read_records(s);
    if (!lost || s->report.seq != c->seq || s->scan.at < o->offset)
        return false;
    if (!c->started)
        session_command_began(s, c->typed_at);
    struct mark m = {.kind = 'E', .seq = c->seq, .status = s->report.status};
    session_take_end(s, &m, s->scan.at);
    return true;
}

bool session_end_is_recorded(const struct session *s)
{
    return s->cmd.seq != 0 && s->report.end_seq == s->cmd.seq;
}

void session_abandon_command(struct session *s)
{
    struct err e = ERR_INIT;
    if (s->cmd.seq == 0 || (s->cmd.ended && s->end.step != END_AT_PROMPT))
        return;
    err_set(&e, ERR_GONE, "session %s was ended", s->name);
    session_command_cut(s);
    s->end.step = END_NONE;
    session_watch_ended(s, true, s->cmd.started ? NULL : &e);
}

void session_no_prompt_comes(struct session *s)
{
    if (s->end.step != END_AT_PROMPT)
        return;
    timer_stop(&s->end.prompt);
    s->end.step = END_NONE;
    session_tell_over(s, false);
}
