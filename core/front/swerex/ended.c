/* SPDX-License-Identifier: MIT */
/*
 * How a run ends for its client: with an observation, or an exception. Output of a
 * command that was in no answer is in the next one.
 */
#include "front/swerex/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_WAIT_MS = 1000, /* for the exit status after a match */
    QUOTED = 64 << 10    /* bytes of a command in a message */
};

/* ---- output that was in no answer ---- */

void swerex_run_leave(struct swerex_run *x, uint64_t cursor, bool interactive)
{
    struct swerex_session *s = x->s;
    if (!x->runs[0])
        return;
    memcpy(s->command, x->runs, sizeof(s->command));
    s->cursor = cursor;
    s->interactive = interactive;
    swerex_session_keep(s);
}

void swerex_run_unread(struct swerex_run *x, struct swerex_text *t)
{
    struct swerex_session *s = x->s;
    struct session *shell = swerex_shell(s);
    struct command_seen seen;
    bool kept = s->said || s->command[0];
    if (s->said)
        buf_addz(&t->said, s->said);
    free(s->said);
    s->said = NULL;
    if (s->command[0] && shell && session_command(shell, s->command, &seen)) {
        if (!seen.ended)
            return;
        swerex_text_range(t, s->cursor > seen.from ? s->cursor : seen.from, seen.to);
    }
    s->command[0] = 0;
    s->interactive = false;
    if (kept)
        swerex_session_keep(s);
}

/* ---- answers ---- */

static void put_quoted(struct buf *out, const struct buf *text)
{
    swerex_put_repr(out, str_sub(buf_str(text), 0, utf8_cut(buf_str(text), QUOTED)));
}

/* Output of an interactive program, without its echo of the command and blanks around. */
static struct str without_echo(struct str text, struct str command)
{
    text = str_trim(text);
    command = str_trim(command);
    if (command.n > 0 && str_starts(text, command))
        text = str_trim(str_sub(text, command.n, text.n));
    return text;
}

static void observe(struct swerex_run *x, struct swerex_text *t, struct swerex_seen *o)
{
    struct buf text = BUF_INIT(SWEREX_TEXT_MAX + (1 << 20));
    struct req *r = x->req;
    bool whole = x->mode == RUN_INTERACTIVE || x->mode == RUN_QUIT;
    if (whole) {
        o->has_exit = true;
        o->exit = 0;
        swerex_text_all(t, &text);
        swerex_observe_text(r, without_echo(buf_str(&text), buf_str(&x->command)), o);
        swerex_text_release(t);
    } else {
        swerex_observe(r, t, o);
    }
    buf_release(&text);
    swerex_run_free(x);
}

static void raise_non_zero(struct swerex_run *x, struct swerex_text *t, int exit)
{
    struct buf text = BUF_INIT(SWEREX_TEXT_MAX + (1 << 20)),
               message = BUF_INIT(SWEREX_MESSAGE_MAX);
    swerex_text_all(t, &text);
    if (x->error_msg.n > 0) {
        buf_adds(&message, buf_str(&x->error_msg));
        buf_addz(&message, ": ");
    }
    buf_addz(&message, "Command ");
    put_quoted(&message, &x->command);
    buf_addf(&message, " failed with exit code %d. Here is the output:\n", exit);
    swerex_put_repr(&message, buf_str(&text));
    swerex_raise(x->req, SWEREX_CLASS "NonZeroExitCodeError", buf_str(&message), NULL);
    swerex_text_release(t);
    buf_release(&text);
    buf_release(&message);
    swerex_run_free(x);
}

/* The exit status is not known, as the program goes on after the match. */
static void raise_no_exit(struct swerex_run *x)
{
    swerex_run_leave(x, x->match.to, false);
    swerex_raisef(x->req, SWEREX_CLASS "NoExitCodeError",
                  "timeout while getting exit code");
    swerex_run_free(x);
}

static void raise_late(struct swerex_run *x, struct swerex_text *t, const char *note)
{
    struct buf text = BUF_INIT(SWEREX_TEXT_MAX + (1 << 20)),
               message = BUF_INIT(SWEREX_MESSAGE_MAX);
    struct json *extra = json_object();
    swerex_text_all(t, &text);
    json_put_str(extra, "output", buf_str(&text));
    json_put_bool(extra, "session_alive", true);
    if (note)
        json_put_z(extra, "reason", note);
    buf_addz(&message, "timeout after ");
    if (x->timeout > 0)
        swerex_put_float(&message, x->timeout);
    else
        buf_addz(&message, "None");
    buf_addz(&message, " seconds while running command ");
    put_quoted(&message, &x->command);
    swerex_raise(x->req, SWEREX_CLASS "CommandTimeoutError", buf_str(&message), extra);
    swerex_text_release(t);
    buf_release(&text);
    buf_release(&message);
    swerex_run_free(x);
}

/* The command goes on; its output until `to` is in the exception. */
void swerex_run_late(struct swerex_run *x, uint64_t from, uint64_t to)
{
    struct swerex_text t;
    if (x->mode == RUN_CREATE) {
        swerex_created(x, NULL, true);
        return;
    }
    swerex_text_init(&t, x->w, x->s->engine);
    if (!x->typed)
        swerex_run_unread(x, &t);
    swerex_text_range(&t, from, to);
    swerex_run_leave(x, to, x->typed || x->mode == RUN_INTERACTIVE);
    raise_late(x, &t, NULL);
}

void swerex_run_fail(struct swerex_run *x, const struct err *e)
{
    struct swerex_text t;
    bool waits = e->code == ERR_TIMEOUT || e->code == ERR_BUSY;
    if (x->mode == RUN_CREATE) {
        swerex_created(x, e, false);
    } else if (waits) {
        swerex_text_init(&t, x->w, x->s->engine);
        raise_late(x, &t, e->text);
    } else {
        swerex_raise_err(x->req, e);
        swerex_run_free(x);
    }
}

/* The command that x waited for has ended. */
void swerex_run_finish(struct swerex_run *x, int exit, uint64_t from, uint64_t to)
{
    struct swerex_seen o = {
        .has_exit = x->check != CHECK_IGNORE, .exit = exit, .expect = SWEREX_PROMPT};
    struct swerex_text t;
    if (x->mode == RUN_CREATE) {
        swerex_created(x, NULL, false);
        return;
    }
    swerex_text_init(&t, x->w, x->s->engine);
    if (!x->typed)
        swerex_run_unread(x, &t);
    if (x->matched >= 0) {
        swerex_text_range(&t, from, x->match.from);
        swerex_text_range(&t, x->match.to, to);
        o.expect = swerex_expect_text(x->expect, x->matched);
    } else {
        swerex_text_range(&t, from, to);
    }
    if (x->typed) { /* its program has ended */
        x->s->command[0] = 0;
        x->s->interactive = false;
        swerex_session_keep(x->s);
    }
    if (x->mode == RUN_PLAIN && x->check == CHECK_RAISE && exit != 0)
        raise_non_zero(x, &t, exit);
    else
        observe(x, &t, &o);
}

static void answer_matched(struct swerex_run *x)
{
    struct swerex_seen o = {.has_exit = x->mode == RUN_INTERRUPT,
                            .expect = swerex_expect_text(x->expect, x->matched)};
    struct swerex_text t;
    swerex_text_init(&t, x->w, x->s->engine);
    if (!x->typed)
        swerex_run_unread(x, &t);
    swerex_text_range(&t, x->from, x->match.from);
    swerex_run_leave(x, x->match.to, true);
    observe(x, &t, &o);
}

static void on_exit_late(struct timer *t)
{
    struct swerex_run *x = container_of(t, struct swerex_run, timer);
    if (x->check == CHECK_RAISE)
        raise_no_exit(x);
    else
        answer_matched(x);
}

/* The search of the output ends; the command goes on. */
static void raise_hard(struct swerex_run *x)
{
    swerex_run_leave(x, x->from, x->typed || x->mode == RUN_INTERACTIVE);
    swerex_raisef(x->req, "re.error", "%s", buf_z(&x->problem));
    swerex_run_free(x);
}

void swerex_run_matched(struct swerex_run *x)
{
    bool wants_exit = x->mode == RUN_PLAIN && x->check != CHECK_IGNORE;
    if (x->matched == SWEREX_HARD) {
        raise_hard(x);
    } else if (wants_exit && x->typed && x->check == CHECK_RAISE) {
        raise_no_exit(x);
    } else if (wants_exit && !x->typed) {
        if (x->op)
            op_drop(x->op);
        x->op = NULL;
        timer_begin(x->w->en->loop, &x->timer, EXIT_WAIT_MS, on_exit_late);
    } else {
        answer_matched(x);
    }
}
