/* SPDX-License-Identifier: MIT */
/* The end of a command, by its mark or without one, and the end of the shell. */
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
    s->untold = session_sets_up(s) ? OP_NOTHING : state;
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->settled)
            continue;
        if (s->dropped[0])
            op_note(op, NOTE_DROPPED_INPUT, s->dropped, 0, 0);
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

/* It is kept that the command has ended, and all who want to know are told. */
static void over(struct session *s, bool shell_ended)
{
    remember(s, shell_ended);
    answer_waiters(s, shell_ended ? OP_SHELL_ENDED : OP_ENDED);
    session_watch_ended(s, shell_ended, NULL);
}

/* The command is over and its shell is (or soon will be) at its prompt. */
void session_command_over(struct session *s)
{
    timer_stop(&s->prompt);
    timer_stop(&s->look);
    s->wait_prompt = false;
    over(s, false);
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

/* The file behind a descriptor of the shell. False: a terminal, or it has no path. */
static bool file_of(const struct session *s, int fd, char *to, size_t size)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)s->proc.r.pid, fd);
    ssize_t n = readlink(path, to, size - 1);
    to[n > 0 ? n : 0] = 0;
    return to[0] == '/' && !str_starts(str_of(to), STR("/dev/tty")) &&
           !str_starts(str_of(to), STR("/dev/pts/")) &&
           str_find(str_of(to), str_of(s->sh.dir)) < 0;
}

/* After `exec >FILE` nothing of what follows comes here: reported once. */
static void check_output(struct session *s)
{
    enum { ASIDE = 10, ASIDE_MAX = 20 };
    bool was = s->output_away;
    s->output_away = s->sh.pty && strchr(s->flags, '@');
    if (was || !s->output_away)
        return;
    char to[200], text[300];
    /* While it writes its mark, the shell keeps the descriptor aside, from 10 on. */
    bool file = file_of(s, STDOUT_FILENO, to, sizeof(to));
    for (int fd = ASIDE_MAX; !file && fd >= ASIDE; fd--)
        file = file_of(s, fd, to, sizeof(to));
    snprintf(text, sizeof(text),
             "the output of this shell now goes %s%s: exec >/dev/tty brings it back",
             file ? "to " : "elsewhere", file ? to : "");
    session_notify(&s->waiters, NOTE_OUTPUT, text);
}

void session_missed_start(struct session *s)
{
    struct command *c = &s->cmd;
    if (c->started || c->ended || c->seq == 0 || s->unread <= c->typed_at)
        return;
    c->started = true;
    c->from = c->typed_at;
    buf_release(&s->text);
}

void session_end_command(struct session *s, uint64_t to, int status)
{
    struct command *c = &s->cmd;
    session_missed_start(s);
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
    check_output(s);
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
    if (!s->late)
        s->troubles = 0;
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

/* Appends the last of what the shell wrote since its start, in one line. */
static void add_words(struct session *s, struct err *e)
{
    char bytes[512], text[sizeof(bytes) + 1];
    const struct keep_stream *o = session_out(s);
    uint64_t at = s->born;
    size_t have = 0, keep;
    struct mark m;
    if (!s->proc.hold)
        return;
    if (o->offset - at > sizeof(bytes))
        at = o->offset - sizeof(bytes);
    struct str rest = str_n(
        bytes, spool_read(s->proc.spool[0], o, &at, bytes, sizeof(bytes)));
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
            s->sh.path, s->starts, code);
    add_words(s, &e);
    s->starts = 0;
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        op->r.state = OP_FAILED;
        op->r.err = e;
        op->r.to = op->cursor = s->scanned;
        op_settle(op);
    }
    s->untold = OP_NOTHING;
    session_watch_ended(s, true, &e);
}

static void shell_gone(struct session *s, const struct err *failed)
{
    int status = s->proc.r.status;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    bool running = session_busy(s) && !s->cmd.ended;
    if (s->wait_prompt) { /* it has ended, and the prompt after it never comes */
        s->wait_prompt = false;
        over(s, false);
    }
    timer_stop(&s->start);
    timer_stop(&s->look);
    timer_stop(&s->prompt);
    timer_stop(&s->env_timer);
    s->attached_mode = s->prompt_on = s->condemned = false;
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
        if (!failed)
            add_words(s, &e);
        if (s->rerun) { /* the fresh shell ended too */
            s->rerun = false;
            session_end_command(s, s->scanned, code);
            answer_waiters(s, OP_SHELL_ENDED);
            session_watch_ended(s, true, &e);
        }
        session_fail_queue(s, &e);
        session_kill_step(s);
        return;
    }
    if (running)
        session_missed_start(s);
    s->fresh = session_take_left(s) ? FRESH_EXIT : FRESH_IDLE;
    s->fresh_status = code;
    s->state = SESSION_NONE;
    s->rerun = running && !s->cmd.started && s->text.n > 0;
    bool hopeless = s->rerun && s->starts >= STARTS_MAX;
    if (s->rerun && s->with_rc && s->starts + 1 == STARTS_MAX) {
        s->with_rc = false;
        s->lost_rc = true;
    }
    if (hopeless) {
        s->rerun = false;
        session_end_command(s, s->scanned, code);
        fail_waiters(s, code);
    } else if (s->rerun) {
        session_start(s);
        if (s->state == SESSION_NONE)
            s->rerun = false;
    }
    if (running && !s->rerun && !hopeless) {
        session_end_command(s, s->scanned, code);
        s->cmd.status = code;
        over(s, true);
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

void session_shell_lost(struct session *s)
{
    enum { STATUS = 1 }; /* the shell's own is not known any more */
    bool running = session_busy(s) && !s->cmd.ended;
    s->fresh = s->state == SESSION_STARTING ? s->fresh : FRESH_IDLE;
    s->fresh_status = s->state == SESSION_STARTING ? s->fresh_status : STATUS;
    s->state = SESSION_NONE;
    s->attached_mode = s->prompt_on = s->switching = false;
    if (!running)
        return;
    session_end_command(s, s->scanned, STATUS);
    remember(s, true);
    s->untold = OP_SHELL_ENDED;
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
    } else if (s->proc.r.flags & KEEP_P_HELD) {
        timer_stop(&s->exit_timer); /* its callers are not that far yet */
    } else if (!timer_active(&s->exit_timer)) {
        timer_begin(s->en->loop, &s->exit_timer, EXIT_GRACE_MS, on_exit_grace);
    }
}
