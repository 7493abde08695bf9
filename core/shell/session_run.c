/* SPDX-License-Identifier: MIT */
/*
 * Commands are given to the shell one after the other; callers wait for them, in the
 * queue and beside the one that runs.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "shell/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- running ---- */

static void copy_head(char *out, size_t size, struct str text)
{
    struct str line = str_trim(text);
    long nl = str_chr(line, '\n');
    if (nl >= 0)
        line.n = (size_t)nl;
    if (line.n >= size)
        line.n = utf8_cut(line, size - 1);
    memcpy(out, line.p, line.n);
    out[line.n] = 0;
}

void session_feed_changed(struct proc *p)
{
    struct session *s = container_of(p, struct session, feed);
    struct list *it, *tmp;
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->with_stdin)
            op_note(op, NOTE_WINDOW, NULL, s->feed.r.input, 0);
    }
}

static int open_feed(struct session *s, struct err *e)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/i", s->sh.dir);
    if (session_make_fifo(s, "i") < 0)
        return err_sys(e, errno, "cannot make %s for the command's input", path);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot open %s", path);
    s->feed.changed = session_feed_changed;
    hold_input_only(s->en->hold, &s->feed, fd);
    s->feed.uid = s->uid;
    s->feeding = true;
    s->feed_eof = false;
    return 0;
}

/* The file with the command, in the words of this generation. */
int session_put_command(struct session *s, uint64_t seq, struct err *e)
{
    struct buf file = BUF_INIT(LIMIT_COMMAND_MAX * 4 + 4096);
    int r = shell_command_file(&file, &s->sh, seq, buf_str(&s->text));
    if (r < 0)
        err_set(e, ERR_LIMIT, "the command is too long: at most %d bytes",
                LIMIT_COMMAND_MAX);
    else
        r = session_put_file(s, "c", buf_str(&file), e);
    buf_release(&file);
    return r;
}

static void attach_op(struct session *s, struct op *op);

static enum shell_line run_line(const struct session *s)
{
    if (!s->sh.pty)
        return LINE_RUN_NULL;
    bool editing = s->sh.kind != SHELL_POSIX && strchr(s->flags, '!');
    if (!editing)
        return LINE_RUN;
    return strchr(s->flags, 'x') ? LINE_RUN_KEY_X : LINE_RUN_KEY;
}

/* The command before ended when its caller had left: its answer was lost so far. */
static void tell_untold(struct session *s, struct op *op)
{
    const struct command *c = &s->cmd;
    char text[800];
    uint64_t from = s->seen > c->from ? s->seen : c->from;
    if (s->untold != OP_ENDED && s->untold != OP_SHELL_ENDED)
        return;
    if (s->killed_seq == c->seq)
        return;
    snprintf(text, sizeof(text),
             "nobody waited for the command before, which ended with status %d: %s; its "
             "output: %s -s %s --logs --offset %llu --limit %llu",
             c->status, c->head, op_command(op), s->name, (unsigned long long)from,
             (unsigned long long)(c->to > from ? c->to - from : 0));
    op_note(op, NOTE_UNTOLD, text, from, c->to);
}

static void begin(struct session *s, struct op *op)
{
    struct err e = ERR_INIT;
    if (memchr(buf_z(&op->command), 0, op->command.n)) {
        err_set(&e, ERR_INVALID, "the command holds a NUL byte, which no shell can take");
    } else if (buf_reset(&s->text), buf_adds(&s->text, buf_str(&op->command)) < 0) {
        err_set(&e, ERR_LIMIT, "there is no memory for the command of %zu bytes",
                op->command.n);
    } else if (session_put_command(s, s->seq + 1, &e) == 0 &&
                   (!op->with_stdin || open_feed(s, &e) == 0)) {
        tell_untold(s, op);
        struct command *c = &s->cmd;
        *c = (struct command){.seq = ++s->seq,
                              .typed_at = s->scanned,
                              .since_ms = clock_ms(),
                              .wall_ms = clock_wall_ms(),
                              .reads = shell_text_reads(buf_str(&op->command))};
        if (op->own)
            s->own_seq = c->seq;
        memcpy(c->id, op->id, sizeof(c->id));
        memcpy(c->parent, op->parent, sizeof(c->parent));
        copy_head(c->head, sizeof(c->head), buf_str(&op->command));
        buf_release(&op->command);
        s->state = SESSION_TYPED;
        s->untold = OP_NOTHING;
        s->partial = 0;
        s->looked = false;
        s->probes = 0;
        struct buf line = BUF_INIT(1024);
        enum shell_line how = op->with_stdin ? LINE_RUN_FIFO : run_line(s);
        s->run_traced = how != LINE_RUN_KEY;
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
    for (unsigned i = 0; op->id[0] && i < DONE_KEPT; i++) {
        const struct done *d = &s->done[i];
        if (strcmp(d->id, op->id) != 0)
            continue;
        op->r = (struct op_result){.state = d->shell_ended ? OP_SHELL_ENDED : OP_ENDED,
                                   .exit = d->status,
                                   .signo = session_signal_of(d->status),
                                   .seq = d->seq,
                                   .from = d->from,
                                   .to = d->to,
                                   .duration_ms = d->duration_ms};
        op->cursor = d->from;
        list_add_tail(&s->waiters, &op->node);
        op_settle(op);
        return true;
    }
    return false;
}

void session_next(struct session *s)
{
    if (s->state == SESSION_IDLE)
        session_empty_records(s);
    while (s->state == SESSION_IDLE && !s->condemned && !list_empty(&s->queue)) {
        struct op *op = list_first(&s->queue, struct op, node);
        if (s->prompt_on || s->switching) { /* no command at a person's prompt */
            session_sync_prompt(s);
            return;
        }
        list_del(&op->node);
        op->queued = false;
        if (!answer_done(s, op)) /* asked again while its command was ending */
            begin(s, op);
    }
    if (s->state == SESSION_NONE && !list_empty(&s->queue))
        session_start(s);
}

/* ---- waiting ---- */

static void result_of(struct session *s, struct op *op, enum op_state state)
{
    op->r.state = state;
    op->r.seq = s->cmd.seq;
    op->r.from = op->r.from ? op->r.from : s->cmd.from;
    op->r.duration_ms = clock_ms() - s->cmd.since_ms;
    op->r.look = s->last_look;
    op->r.looked = s->looked;
}

/* Fills in how the last command ended. */
void session_tell_end(struct session *s, struct op *op, enum op_state state)
{
    int status = s->cmd.status;
    result_of(s, op, state);
    op->r.exit = status;
    op->r.signo = session_signal_of(status);
    op->r.duration_ms = s->cmd.duration_ms;
    op->r.looked = false;
    if (op->owner)
        s->untold = OP_NOTHING;
}

/* Ends the wait, not the command. */
void session_stop_waiting(struct session *s, struct op *op, enum op_why why)
{
    if (op->settled)
        return;
    result_of(s, op, OP_RUNNING);
    op->r.why = why;
    op->r.to = op->queued ? op->cursor : s->scanned;
    if (op->queued) { /* it never began, and now never will */
        op->r.state = OP_FAILED;
        if (why == OP_INPUT)
            err_set(&op->r.err, ERR_BUSY,
                    "session %s is busy with: %s, and %s waits for input; the command "
                    "was not run",
                    s->name, s->cmd.head,
                    s->last_look.comm[0] ? s->last_look.comm : "it");
        else if (session_busy(s))
            err_set(&op->r.err, ERR_TIMEOUT,
                    "session %s was busy all the time with: %s; the command was not run",
                    s->name, s->cmd.head[0] ? s->cmd.head : "what somebody typed there");
        else
            err_set(&op->r.err, ERR_TIMEOUT,
                    "the shell of session %s was not ready in time; the command was not "
                    "run: give it more with -t",
                    s->name);
    } else {
        s->seen = op->r.to;
        s->idle_bytes = 0;
        session_save(s); /* what was answered is not answered again */
    }
    op_settle(op);
}

static void on_hard(struct timer *t)
{
    struct op *op = container_of(t, struct op, hard);
    session_stop_waiting(op->session, op, OP_TIMEOUT);
}

static void on_idle(struct timer *t)
{
    struct op *op = container_of(t, struct op, idle);
    session_stop_waiting(op->session, op, OP_IDLE);
}

static void on_flow(struct timer *t)
{
    struct session *s = container_of(t, struct session, flow);
    if (op_any_moves(&s->waiters))
        hold_flow_again(&s->proc, 0);
    session_flow(s);
}

void session_flow(struct session *s)
{
    uint64_t least = HOLD_NOBODY, at;
    struct list *it, *tmp;
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->done || !op->owner)
            continue;
        if (least > s->scanned) /* for the marks, whoever waits */
            least = s->scanned;
        if (op_holds(op, 0, &at) && at < least)
            least = at;
    }
    if (hold_flow(&s->proc, 0, least) && !timer_active(&s->flow))
        timer_begin(s->en->loop, &s->flow, FLOW_LOOK_MS, on_flow);
}

static void attach_op(struct session *s, struct op *op)
{
    list_del(&op->node);
    list_add_tail(&s->waiters, &op->node);
    op->queued = false;
    op->r.seq = s->cmd.seq;
    if (s->cmd.started)
        op->cursor = op->r.from = op->kind == OP_WAIT && s->seen > s->cmd.from
                                      ? s->seen
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

bool session_in_chain(const struct session *s, const char *parent)
{
    char name[LIMIT_ID + 1];
    /* SESSION/SEQ of the caller; then who that one was called by, and so on. */
    for (int depth = 0; parent && *parent && depth < 16; depth++) {
        const char *slash = strrchr(parent, '/');
        size_t n = slash ? (size_t)(slash - parent) : strlen(parent);
        if (n >= sizeof(name))
            return false;
        memcpy(name, parent, n);
        name[n] = 0;
        const struct session *c = session_find(s->en, str_of(name));
        /* Without a number, see same_env, it is whatever runs there. */
        uint64_t seq = slash ? strtoull(slash + 1, NULL, 10) : c ? c->cmd.seq : 0;
        if (!c || c->cmd.seq != seq || c->cmd.ended)
            return false;
        if (c == s)
            return true;
        parent = c->cmd.parent;
    }
    return false;
}

bool session_busy(const struct session *s)
{
    return s->state == SESSION_TYPED || s->state == SESSION_RUNNING ||
           s->state == SESSION_HUMAN;
}

bool session_running(const struct session *s, const char *id)
{
    return session_busy(s) && !s->cmd.ended && strcmp(s->cmd.id, id) == 0;
}

uid_t session_uid(const struct session *s) { return s->uid; }

bool session_sets_up(const struct session *s)
{
    return s->own_seq && s->own_seq == s->cmd.seq && s->state != SESSION_HUMAN;
}

/*
 * What a caller can do about a session that is busy. Only for one that has a command
 * line, which the others have not.
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
    op->session = s;
    op->queued = true;
    engine_touch(s->en);
    if (answer_done(s, op))
        return;
    if (op->id[0] && strcmp(op->id, s->cmd.id) == 0 && s->cmd.seq &&
        (!s->cmd.ended || s->wait_prompt)) {
        if (op->timeout_ms > 0)
            timer_begin(s->en->loop, &op->hard, op->timeout_ms, on_hard);
        attach_op(s, op);
        return;
    }
    list_add_tail(&s->queue, &op->node);
    struct err e = ERR_INIT;
    unsigned waiting = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &s->queue)
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

/* An offset that lies inside a mark moves behind it. */
static uint64_t past_mark(struct session *s, uint64_t offset)
{
    char bytes[256];
    struct mark m;
    size_t keep;
    uint64_t from = offset > sizeof(bytes) / 2 ? offset - sizeof(bytes) / 2 : 0,
             at = from;
    if (!s->proc.hold)
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
    op->session = s;
    engine_touch(s->en);
    if (op->kind == OP_LOGS) {
        op->cursor = past_mark(s, op->cursor);
        list_add_tail(&s->logs, &op->node);
        if (op->limit != UINT64_MAX) {
            op->r.to = op->limit < s->scanned ? op->limit : s->scanned;
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
    list_add_tail(&s->waiters, &op->node);
    op->filter = op->skip_noise = true;
    op->cursor = op->r.from = s->seen;
    op->r.state = OP_NOTHING;
    if (s->untold == OP_ENDED || s->untold == OP_SHELL_ENDED)
        session_tell_end(s, op, s->untold);
    s->untold = OP_NOTHING;
    op->r.to = s->seen = s->scanned;
    s->idle_bytes = 0;
    op_settle(op);
}

void session_quiet_again(struct session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        op->told_input = false;
        if (op->idle_ms > 0 && !op->settled)
            timer_begin(s->en->loop, &op->idle, op->idle_ms, on_idle);
    }
    s->looked = s->told_feed = false;
    s->quiet_since_ms = clock_ms();
    if (session_busy(s) && !(list_empty(&s->waiters) && list_empty(&s->queue)))
        session_look_later(s, LOOK_FIRST_MS);
}
