/* SPDX-License-Identifier: MIT */
/*
 * A shell that does not report the ends of its commands, or does not take the next one.
 * Our code is installed again, as the next generation; a shell that is busy with
 * something else before it reads a command (PROMPT_COMMAND, a trap) is interrupted. When
 * neither helps, or two commands in a row needed it, a fresh shell takes over.
 */
#include "shell/session_own.h"

#include "base/limits.h"
#include "base/log.h"

#include <signal.h>
#include <stdio.h>

enum { TROUBLES_MAX = 2 };

/* Background jobs live on, as they do after an exit. */
static void end_shell(struct session *s, const char *why)
{
    pid_t group = session_in_front(s);
    if (s->repair.health == HEALTH_CONDEMNED)
        return;
    s->repair.health = HEALTH_CONDEMNED;
    timer_stop(&s->repair.limit);
    session_no_start_limit(s);
    session_gone_because(s, why);
    log_warn("session %s: the shell is ended, as %s", s->name, why);
    /* The shell first: else it continues when the foreground program has ended. */
    session_signal_group(s, s->proc.r.pid, SIGKILL);
    if (group != s->proc.r.pid)
        session_signal_group(s, group, SIGKILL);
}

void session_trouble(struct session *s)
{
    if (++s->repair.troubles >= TROUBLES_MAX)
        end_shell(s, "two commands in a row disturbed the code that reports their ends");
}

void session_install(struct session *s)
{
    if (++s->repair.installs > INSTALLS_MAX) {
        end_shell(s, "the code that reports the ends of its commands cannot be "
                     "installed");
        return;
    }
    s->repair.installing = true;
    session_next_code(s);
    session_say(s, LINE_INSTALL);
    if (s->repair.installs == 1)
        session_notify(&s->run.waiters, NOTE_REINSTALLED,
                       "the code that reports the ends of commands was disturbed, by "
                       "this command or the previous one; it was installed again");
}

void session_retype(struct session *s)
{
    struct err e = ERR_INIT;
    if (s->sh.kind == SHELL_POSIX &&
        (s->run.text.n == 0 || session_put_command(s, s->cmd.seq, &e) < 0)) {
        end_shell(s, "its command could not be typed again");
        return;
    }
    session_command_retyped(s);
    session_say(s, session_run_line(s, s->input.feeding, false));
    session_limit_typed(s);
}

static void on_late(struct timer *t)
{
    struct session *s = container_of(t, struct session, repair.limit);
    if (s->state != SESSION_TYPED || !(s->proc.r.flags & KEEP_P_STARTED))
        return;
    if (s->repair.health != HEALTH_GOOD || ++s->repair.troubles >= TROUBLES_MAX) {
        end_shell(s, "it did not get to the next command: PROMPT_COMMAND or a trap does "
                     "not end");
        return;
    }
    s->repair.health = HEALTH_INTERRUPTED;
    session_notify(
        &s->run.waiters, NOTE_SHELL,
        "the shell does not get to this command: PROMPT_COMMAND or a trap does not "
        "end; it is interrupted");
    session_signal_group(s, session_in_front(s), SIGINT);
    timer_begin(s->en->loop, t, LIMIT_TYPED_MS / 2, on_late);
}

void session_limit_typed(struct session *s)
{
    if (s->repair.health == HEALTH_INTERRUPTED)
        s->repair.health = HEALTH_GOOD;
    timer_begin(s->en->loop, &s->repair.limit, LIMIT_TYPED_MS, on_late);
}

void session_no_typed_limit(struct session *s) { timer_stop(&s->repair.limit); }
void session_installed(struct session *s) { s->repair.installing = false; }
void session_repaired(struct session *s) { s->repair.installs = 0; }

void session_no_trouble(struct session *s)
{
    if (s->repair.health == HEALTH_GOOD)
        s->repair.troubles = 0;
}

void session_healthy(struct session *s)
{
    timer_stop(&s->repair.limit);
    s->repair.health = HEALTH_GOOD;
}

void session_nothing_to_repair(struct session *s)
{
    s->repair.troubles = s->repair.installs = 0;
    s->repair.installing = false;
}
