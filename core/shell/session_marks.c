/* SPDX-License-Identifier: MIT */
/*
 * The state machine of session.h over marks found in the spool: on_mark() and the exit of
 * the shell are the only ways to learn what happens inside it.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/scratch.h"
#include "shell/spool.h"

#include <signal.h>
#include <stdio.h>

static void add_skip(struct session *s, uint64_t from, uint64_t to)
{
    if (to > from)
        s->scan.skips[s->scan.skips_next++ % SKIPS] = (struct skip){from, to};
}

void session_noise_from(struct session *s, uint64_t from) { s->scan.noise_from = from; }

static void on_start_mark(struct session *s, uint64_t begin_of_output)
{
    const struct command *c = &s->cmd;
    session_no_typed_limit(s);
    session_command_runs(s);
    session_command_began(s, begin_of_output);
    session_ask_begins(s, begin_of_output);
    session_env_known(s);
    session_first_try(s);
    session_look_runs(s);
    if (s->scan.noise_from) { /* the trace (set -x, -v) of our own lines */
        add_skip(s, s->scan.noise_from, begin_of_output);
        s->scan.noise_from = 0;
        session_no_idle(s);
    }
    session_to(s, SESSION_RUNNING);
    if (s->tty.attached)
        session_set_echo(s);
    session_feed_early(s);
    session_interrupt_early(s);
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->cursor == UINT64_MAX)
            op->cursor = op->r.from = begin_of_output;
        op_note(op, NOTE_STARTED, NULL, c->seq, begin_of_output);
        if (s->run.idle_bytes && !op->settled) {
            char text[400];
            snprintf(text, sizeof(text),
                     "%llu bytes of output came from background jobs since the last "
                     "answer; see %s -s %s --logs --offset %llu",
                     (unsigned long long)s->run.idle_bytes, op_command(op), s->name,
                     (unsigned long long)s->run.seen);
            op_note(op, NOTE_BACKGROUND, text, s->run.seen, begin_of_output);
        }
        if (s->gone.fresh && !op->settled) {
            char again[400 + sizeof(s->env.lost)];
            snprintf(again, sizeof(again),
                     "the shell of session %s had ended (status %d%s%s); this is a fresh "
                     "one in the directory and with the exported variables of %s%s%s",
                     s->name, s->gone.status, s->gone.why[0] ? ": " : "", s->gone.why,
                     s->gone.fresh == FRESH_EXIT ? "its exit" : "its last idle moment",
                     s->env.lost[0] ? "; " : "", s->env.lost);
            op_note(op, NOTE_FRESH_SHELL, again, 0, 0);
        }
        if (s->start.rc == RC_LEFT_OUT) {
            char text[200];
            snprintf(text, sizeof(text),
                     "this shell was started without the rc files: with them it ran no "
                     "command");
            if (s->start.slow)
                snprintf(text, sizeof(text),
                         "this shell was started without the rc files: %s had not ended "
                         "after %d s",
                         s->start.slow, LIMIT_START_MS / 1000);
            op_note(op, NOTE_SHELL, text, 0, 0);
        }
        if (!s->sh.pty)
            op_note(op, NOTE_SHELL, "there is no terminal; this shell runs on pipes", 0,
                    0);
    }
    session_gone_told(s);
    session_rc_told(s);
    session_no_idle(s);
    session_watch_began(s);
}

static void on_end_mark(struct session *s, const struct mark *m, uint64_t at)
{
    session_read_records(s);
    if (s->report.end_seq != m->seq || s->report.end_status != m->status) {
        session_doubt(s, m, at);
        return;
    }
    session_take_end(s, m, at);
}

/* A person's command has ended, or it was our own line, which is read now. */
static void human_over(struct session *s)
{
    session_to(s, SESSION_IDLE);
    if (session_switching(s))
        session_switch_again(s);
    session_next(s);
    session_sync_prompt(s);
}

void session_answer_switch(struct session *s, uint64_t end_of_mark)
{
    session_switched(s);
    session_restore_tty(s); /* before the shell continues */
    session_echo_from(s, end_of_mark);
    if (s->state == SESSION_HUMAN) /* it was our own line that was read */
        session_to(s, SESSION_IDLE);
    struct buf ack = BUF_INIT(64);
    if (!session_held(s))
        shell_line(&ack, &s->sh, session_prompts(s) ? LINE_ACK_SHOWN : LINE_ACK,
                   s->cmd.seq);
    session_store(s, buf_str(&ack)); /* so that it is typed once */
    buf_release(&ack);
    session_tell_keys(s); /* what a person types comes after the ack */
    if (s->state == SESSION_IDLE) {
        human_over(s);
        if (s->state == SESSION_IDLE && !session_switching(s))
            session_env_later(s);
    }
}

static void on_human_mark(struct session *s)
{
    if (s->state != SESSION_IDLE)
        return;
    session_to(s, SESSION_HUMAN);
    session_human_command(s);
    if (!session_switching(s))
        session_save(s);
}

static void on_prompt_mark(struct session *s, const struct mark *m, uint64_t at)
{
    const struct command *c = &s->cmd;
    bool asked = session_asked_prompt(s, m->seq);
    if (s->end.step == END_AT_PROMPT) {
        session_read_records(s);
        session_command_over(s);
    } else if (s->state == SESSION_HUMAN) {
        session_read_records(s);
        human_over(s);
    } else if ((s->state == SESSION_RUNNING || s->state == SESSION_TYPED) &&
               m->seq == c->seq && !c->ended) {
        /* The shell interrupted or dropped the line: no end mark comes. */
        if (!c->started) { /* it ran, but our code around it was taken away */
            session_command_began(s, c->typed_at);
            session_install(s);
        }
        /* Or the record could not be written: the output ends at the mark. */
        bool unproved = s->end.proof && s->end.unproved.status == m->status;
        session_end_command(s, unproved ? s->end.unproved_at : at, m->status);
        if (s->sh.kind == SHELL_POSIX)
            session_restore_tty(s); /* in bash, readline is at work already */
        session_hold(s);
        session_command_over(s);
    } else if (s->state == SESSION_TYPED && m->seq < c->seq && !asked &&
               !s->repair.installing) {
        session_install(s); /* our line was read, and did not run */
    }
}

static void on_install_mark(struct session *s, const struct mark *m, uint64_t at)
{
    const struct command *c = &s->cmd;
    if (s->state == SESSION_STARTING) {
        session_started(s);
        session_to(s, SESSION_IDLE);
        session_first_flags(s);
        session_seen(s, at); /* output of rc files belongs to no command */
        session_save(s);
        session_env_later(s);
        session_attach_mode(s, !list_empty(&s->tty.viewers));
        if (!session_run_again(s))
            session_next(s);
        return;
    }
    session_installed(s);
    session_no_idle(s); /* what the disturbed code printed */
    session_no_prompt(s);
    if (!session_busy(s) || c->ended)
        return;
    if (c->started || m->seq >= c->seq) {
        session_end_command(s, at, m->status);
        session_trouble(s);
        session_command_over(s);
    } else {
        session_retype(s);
    }
}

static void on_mark(struct session *s, const struct mark *m, uint64_t at)
{
    const struct command *c = &s->cmd;
    TRACE(TRACE_SESSION, "session %s: mark %c %llu at %llu in state %d", s->name, m->kind,
          (unsigned long long)m->seq, (unsigned long long)at, (int)s->state);
    session_idle_line(s);
    switch (m->kind) {
    case 'S':
        if (s->state == SESSION_TYPED && m->seq == c->seq)
            on_start_mark(s, at + m->len);
        break;
    case 'E':
        if ((s->state == SESSION_RUNNING || s->state == SESSION_TYPED) &&
            m->seq == c->seq && !c->ended)
            on_end_mark(s, m, at);
        break;
    case 'P':
        on_prompt_mark(s, m, at);
        break;
    case 'I':
        if (m->gen == s->sh.gen)
            on_install_mark(s, m, at);
        break;
    case 'A':
        if (!session_switch_overtaken(s, (unsigned)m->status, at + m->len))
            session_answer_switch(s, at + m->len);
        break;
    case 'H':
        on_human_mark(s);
        break;
    case 'U':
        session_no_idle(s); /* what the hooks printed is not that of jobs */
        break;
    }
}

static void pump_list(struct list *ops)
{
    struct list *it, *tmp;
    list_each (it, tmp, ops)
        op_pump(list_entry(it, struct op, node));
}

void session_pump_waiters(struct session *s) { pump_list(&s->run.waiters); }

/* Searches new output for marks: a bounded piece a turn. */
static void scan(struct session *s)
{
    char *chunk = scratch_take();
    size_t budget = LIMIT_READ_PER_TURN;
    const struct keep_stream *o = session_out(s);
    uint64_t before = s->scan.at, left_at = 0;
    struct str left = {0}; /* the rest of the chunk, after a mark */
    bool more = false;
    while (s->scan.at < o->offset && s->proc.keeper) {
        if (budget == 0) {
            more = true;
            break;
        }
        uint64_t at = s->scan.at;
        bool rest = left.n > 0 && left_at == at;
        size_t n = rest ? left.n
                        : spool_read(s->proc.spool[0], o, &at, chunk, SCRATCH);
        if (n == 0)
            at = o->offset; /* lost to the disk or the budget */
        if (at > s->scan.at)
            s->scan.unread = at;
        s->scan.at = at;
        struct mark m;
        size_t keep = 0;
        struct str bytes = rest ? left : str_n(chunk, n);
        /* The keeper may read what jobs printed after the next command was typed. */
        bool idle = (s->state == SESSION_IDLE || s->state == SESSION_TYPED) &&
                    !s->tty.attached;
        if (shell_mark(&s->sh, bytes, &m, &keep)) {
            s->scan.at = left_at = at + m.at + m.len;
            left = str_sub(bytes, m.at + m.len, bytes.n);
            if (idle)
                session_add_idle(s, str_sub(bytes, 0, m.at));
            uint64_t upto = at + m.at;
            session_ask_scan(s, str_sub(bytes, 0, m.at));
            on_mark(s, &m, upto);
            budget -= m.at < budget ? m.at : budget;
        } else {
            s->scan.at = at + keep;
            left.n = 0;
            session_ask_scan(s, str_sub(bytes, 0, keep));
            if (idle)
                session_add_idle(s, str_sub(bytes, 0, keep));
            budget -= keep < budget ? keep : budget;
            if (keep == 0 && n < SCRATCH && !rest)
                break; /* the beginning of a mark: wait for the rest */
        }
    }
    scratch_give(chunk);
    /* The next worker goes on from there: what lies before may be gone by then. */
    if (s->proc.keeper && s->scan.at - s->kept.scanned > o->cap / STORED_PARTS)
        session_save(s);
    if (s->scan.at != before) {
        session_look_for_echo(s);
        session_ask_answer(s);
        pump_list(&s->run.waiters);
        pump_list(&s->tty.viewers);
        pump_list(&s->tty.watchers);
        pump_list(&s->run.logs);
        session_quiet_again(s);
    }
    session_flow(s);
    if (more)
        task_defer(s->en->loop, &s->scan.task);
    else if (s->proc.keeper && (s->proc.r.flags & (KEEP_P_EXITED | KEEP_P_FAILED)))
        session_shell_exit(s);
}

void session_on_scan(struct task *t) { scan(container_of(t, struct session, scan.task)); }

void session_catch_up(struct session *s)
{
    for (int turns = LIMIT_SPOOL_MAX / LIMIT_READ_PER_TURN;
         turns > 0 && !list_empty(&s->scan.task.node); turns--) {
        task_cancel(&s->scan.task);
        scan(s);
    }
}

void session_changed(struct proc *p)
{
    struct session *s = container_of(p, struct session, proc);
    if (s->kill.list.next != &s->kill.list && (p->r.flags & KEEP_P_EXITED))
        TRACE(TRACE_SESSION, "session %s: shell exited under a kill", s->name);
    times_output(&s->times, p->r.out[0].offset, spool_start(&p->r.out[0]));
    scan(s);
    session_interrupt_early(s);
    session_kill_started(s);
    struct list *it, *tmp;
    list_each (it, tmp, &s->tty.viewers)
        op_note(list_entry(it, struct op, node), NOTE_WINDOW, NULL, p->r.input, 0);
}
