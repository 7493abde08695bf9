/* SPDX-License-Identifier: MIT */
/*
 * BashInterruptAction: C-c, n_retry times, each for `timeout` seconds. A program that
 * ignores it is killed with everything it started, as users of the client expect: then
 * the next output begins with a shell's message about a killed job.
 */
#include "front/swerex/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KILL_MS = 3000, END_MS = 6000, RETRIES_MAX = 1000 };

/* The message of an interactive shell about the end of job 1, with as much of the command
 * as it shows. */
static void say_killed(struct swerex_run *x)
{
    struct buf b = BUF_INIT(1024);
    struct session *shell = swerex_shell(x->s);
    struct json *j = shell ? session_json(shell) : NULL;
    struct str command = str_trim(json_str(j, "command", ""));
    buf_addf(&b, "[1]+  Killed                  %.*s\n", (int)utf8_cut(command, 500),
             command.p ? command.p : "");
    json_free(j);
    free(x->s->said);
    x->s->said = xstrdup(buf_z(&b));
    buf_release(&b);
}

static void on_end_late(struct timer *t)
{
    struct swerex_run *x = container_of(t, struct swerex_run, timer);
    swerex_raisef(x->req, "pexpect.exceptions.TIMEOUT", "Failed to interrupt session");
    swerex_run_free(x);
}

/* KILL was not enough: the shell itself does not return to its prompt. */
static void on_kill_late(struct timer *t)
{
    struct swerex_run *x = container_of(t, struct swerex_run, timer);
    struct session *shell = swerex_shell(x->s);
    timer_begin(x->w->en->loop, t, END_MS, on_end_late);
    if (shell)
        session_kill(shell, SIGKILL, 0, false, NULL, NULL);
}

static void kill_it(struct swerex_run *x)
{
    struct json *args = json_object();
    struct err e = ERR_INIT;
    json_put_z(args, "signal", "KILL");
    json_put_bool(args, "tree", true);
    x->killed = true;
    say_killed(x);
    timer_begin(x->w->en->loop, &x->timer, KILL_MS, on_kill_late);
    swerex_act(x->s, "signal", args, &e);
}

static void on_late(struct timer *t);

static void try_again(struct swerex_run *x)
{
    struct json *args;
    struct err e = ERR_INIT;
    if (x->tries-- <= 0) {
        kill_it(x);
        return;
    }
    args = json_object();
    json_put_z(args, "key", "C-c");
    timer_begin(x->w->en->loop, &x->timer, (int64_t)(x->timeout * 1000) + 1, on_late);
    swerex_act(x->s, "key", args, &e); /* if it is over by now, its op is done soon */
}

static void on_late(struct timer *t)
{
    try_again(container_of(t, struct swerex_run, timer));
}

static void answer(struct swerex_run *x, uint64_t to)
{
    struct swerex_seen o = {.has_exit = true, .expect = SWEREX_PROMPT};
    struct swerex_text t;
    struct swerex_session *s = x->s;
    char *said = x->killed ? s->said : NULL;
    swerex_text_init(&t, x->w, s->engine);
    if (x->killed) { /* for this output, and the next one */
        s->said = NULL;
        buf_addz(&t.said, said);
    }
    if (x->typed) {
        swerex_text_range(&t, x->from, to);
        s->command[0] = 0;
        s->interactive = false;
    } else {
        swerex_run_unread(x, &t);
    }
    s->said = said ? said : s->said;
    swerex_session_keep(s);
    swerex_observe(x->req, &t, &o);
    swerex_run_free(x);
}

void swerex_interrupted(struct swerex_run *x, const struct op_result *r)
{
    if (r->state == OP_FAILED) {
        swerex_raise_err(x->req, &r->err);
        swerex_run_free(x);
    } else {
        answer(x, r->to);
    }
}

void swerex_interrupt(struct swerex_run *x, const struct json *args)
{
    struct swerex_session *s = x->s;
    char id[LIMIT_ID + 1];
    uint64_t from;
    double timeout = json_num(args, "timeout", 0.2);
    int64_t tries = json_int(args, "n_retry", 3);
    x->timeout = timeout < 0                      ? 0
                 : timeout < SWEREX_TIMEOUT_MAX_S ? timeout
                                                  : SWEREX_TIMEOUT_MAX_S;
    x->tries = (int)(tries < 0 ? 0 : tries < RETRIES_MAX ? tries : RETRIES_MAX);
    if (!swerex_running(s, id, &from)) {
        answer(x, 0);
        return;
    }
    bool known = strcmp(id, s->command) == 0;
    x->typed = true;
    memcpy(x->runs, id, sizeof(x->runs));
    x->from = known && s->cursor > from ? s->cursor : from;
    swerex_run_follow(x, 0);
    try_again(x);
}
