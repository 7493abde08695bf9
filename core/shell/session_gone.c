/* SPDX-License-Identifier: MIT */
/* The end of a shell: its command ends, or is run again by the next one. */
#include "shell/session_own.h"

#include "base/limits.h"
#include "shell/spool.h"

#include <stdio.h>
#include <sys/wait.h>

/* Appends the end of what the shell printed since its start, as one line. */
static void add_words(struct session *s, struct err *e)
{
    char bytes[512], text[sizeof(bytes) + 1];
    const struct keep_stream *o = session_out(s);
    uint64_t at = s->start.born;
    size_t have = 0, keep;
    struct mark m;
    if (!s->proc.keeper)
        return;
    if (o->offset - at > sizeof(bytes))
        at = o->offset - sizeof(bytes);
    struct str rest = str_n(bytes,
                            spool_read(s->proc.spool[0], o, &at, bytes, sizeof(bytes)));
    while (rest.n > 0) {
        bool mark = shell_mark(&s->sh, rest, &m, &keep);
        for (size_t i = 0; i < (mark ? m.at : rest.n); i++) {
            bool space = (unsigned char)rest.p[i] <= ' ' || rest.p[i] == 127;
            if (!space || (have > 0 && text[have - 1] != ' '))
                text[have++] = space ? ' ' : rest.p[i];
        }
        rest = mark ? str_sub(rest, m.at + m.len, rest.n) : str_n(NULL, 0);
    }
    struct str words = str_trim(str_n(text, have));
    size_t used = strlen(e->text);
    if (words.n > 0 && used < sizeof(e->text))
        snprintf(e->text + used, sizeof(e->text) - used, "; it said: %.*s",
                 STR_ARG(words));
}

/* Every shell that was started for this command ended before it began. */
static void fail_waiters(struct session *s, int code)
{
    struct err e = ERR_INIT;
    struct list *it, *tmp;
    err_set(&e, ERR_GONE,
            "the shell %s ended %u times before it began the command, at last with "
            "status %d; choose another one with --shell",
            s->sh.path, s->start.tries, code);
    add_words(s, &e);
    session_first_try(s);
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        op->r.state = OP_FAILED;
        op->r.err = e;
        op->r.to = op->cursor = s->scan.at;
        op_settle(op);
    }
    session_set_untold(s, OP_NOTHING);
    session_watch_ended(s, true, &e);
}

void session_gone_told(struct session *s)
{
    s->gone.fresh = FRESH_NO;
    s->gone.why[0] = 0;
}

void session_gone_because(struct session *s, const char *why)
{
    snprintf(s->gone.why, sizeof(s->gone.why), "od ended it, as %s", why);
}

bool session_run_again(struct session *s)
{
    if (!s->gone.rerun)
        return false;
    s->gone.rerun = false;
    session_to(s, SESSION_TYPED);
    session_retype(s);
    return true;
}

void session_no_rerun(struct session *s)
{
    if (!s->gone.rerun)
        return;
    s->gone.rerun = false;
    session_end_command(s, s->scan.at, s->gone.status);
    session_tell_over(s, true);
}

/* Handles a shell that never reached its prompt: starts one without rc files, once. */
static void not_started(struct session *s, int code, const struct err *failed)
{
    session_to(s, SESSION_NONE);
    if (s->start.rc == RC_READ && !failed) { /* an rc file that execs, exits or hangs */
        session_leave_rc(s);
        session_next(s);
        return;
    }
    struct err e = ERR_INIT;
    if (failed)
        e = *failed;
    else if (s->start.late)
        err_set(&e, ERR_TIMEOUT,
                "the shell %s did not reach its prompt within %d s, even without its "
                "rc files, and was ended; choose bash or a POSIX sh with --shell",
                s->sh.path, LIMIT_START_MS / 1000);
    else
        err_set(&e, ERR_GONE,
                "the shell %s ended at its start with status %d, even without its rc "
                "files; choose bash or a POSIX sh with --shell",
                s->sh.path, code);
    if (!failed)
        add_words(s, &e);
    if (s->gone.rerun) { /* the fresh shell ended too */
        s->gone.rerun = false;
        session_end_command(s, s->scan.at, code);
        session_answer_waiters(s, OP_SHELL_ENDED);
        session_watch_ended(s, true, &e);
    }
    session_fail_queue(s, &e);
    session_kill_step(s);
}

/*
 * The shell ended with code. Ends its command, or starts a shell that runs the command if
 * it never began.
 */
static void end_or_rerun(struct session *s, int code)
{
    s->gone.rerun = !s->cmd.started && s->run.text.n > 0 && !session_kill_ends(s);
    bool hopeless = s->gone.rerun && s->start.tries >= STARTS_MAX;
    if (s->gone.rerun && s->start.tries + 1 == STARTS_MAX)
        session_leave_rc(s);
    if (hopeless) {
        s->gone.rerun = false;
        session_end_command(s, s->scan.at, code);
        fail_waiters(s, code);
        return;
    }
    if (s->gone.rerun) {
        session_start(s);
        if (s->state == SESSION_NONE)
            s->gone.rerun = false;
    }
    if (!s->gone.rerun) {
        session_end_command(s, s->scan.at, code);
        session_tell_over(s, true);
    }
}

static void shell_gone(struct session *s, const struct err *failed)
{
    int status = s->proc.r.status;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    bool running = session_busy(s) && !s->cmd.ended;
    session_no_prompt_comes(s);
    session_no_start_limit(s);
    session_healthy(s);
    session_released(s);
    timer_stop(&s->look.timer);
    timer_stop(&s->env.timer);
    session_tty_gone(s);
    if (s->state == SESSION_STARTING || failed) {
        not_started(s, code, failed);
        return;
    }
    if (running)
        session_missed_start(s);
    s->gone.fresh = session_take_left(s) ? FRESH_EXIT : FRESH_IDLE;
    s->gone.status = code;
    s->gone.rerun = false;
    session_to(s, SESSION_NONE);
    if (running)
        end_or_rerun(s, code);
    struct list *it, *tmp;
    list_each (it, tmp, &s->tty.viewers) {
        struct op *op = list_entry(it, struct op, node);
        op->r.state = OP_SHELL_ENDED;
        op->r.exit = code;
        op->r.to = s->scan.at;
        op_settle(op);
    }
    session_save(s);
    session_kill_step(s);
    if (s->state == SESSION_NONE)
        session_next(s);
}

void session_shell_lost(struct session *s)
{
    enum { STATUS = 1 }; /* the shell's own is not known any more */
    bool running = session_busy(s) && !s->cmd.ended;
    if (s->state != SESSION_STARTING) {
        s->gone.fresh = FRESH_IDLE;
        s->gone.status = STATUS;
    }
    session_to(s, SESSION_NONE);
    session_tty_gone(s);
    if (!running)
        return;
    session_end_command(s, s->scan.at, STATUS);
    session_keep_answer(s, true);
    session_set_untold(s, OP_SHELL_ENDED);
}

static void on_exit_grace(struct timer *t)
{
    struct session *s = container_of(t, struct session, gone.grace);
    shell_gone(s, NULL);
}

void session_shell_exit(struct session *s)
{
    if (s->state == SESSION_NONE)
        return;
    if (s->proc.r.flags & KEEP_P_FAILED) {
        struct err e = ERR_INIT;
        if (s->proc.r.step == 2)
            err_sys(&e, s->proc.r.errnum, "cannot start a shell in %s", s->report.cwd);
        else
            err_sys(&e, s->proc.r.errnum, "cannot start the shell %s", s->sh.path);
        shell_gone(s, &e);
    } else if (session_out(s)->eof) {
        timer_stop(&s->gone.grace);
        shell_gone(s, NULL);
    } else if (s->proc.r.flags & KEEP_P_HELD) {
        timer_stop(&s->gone.grace); /* callers have not received all output yet */
    } else if (!timer_active(&s->gone.grace)) {
        timer_begin(s->en->loop, &s->gone.grace, EXIT_GRACE_MS, on_exit_grace);
    }
}
