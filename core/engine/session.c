/* SPDX-License-Identifier: MIT */
/*
 * Sessions: the state machine of session.h over marks found in the spool.
 *
 * Whatever happens inside the shell is seen through on_mark() and the exit of
 * the shell, nothing else. Around it, a file each: session_start.c, _tty.c,
 * _state.c, _look.c, _env.c, _input.c, _kill.c; they share session_own.h.
 */
#include "engine/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

const char *session_name(const struct session *s) { return s->name; }
struct engine *session_engine(const struct session *s) { return s->en; }
const char *session_cwd(const struct session *s) { return s->cwd; }
const char *session_path(const struct session *s) { return s->path; }
pid_t session_last_background(const struct session *s) { return s->last_background; }

bool session_untold(const struct session *s)
{
    return !session_busy(s) && (s->untold == OP_ENDED || s->untold == OP_SHELL_ENDED);
}

const char *session_call(const struct session *s, struct str prefix)
{
    if (s->cmd.id[0] && str_starts(str_of(s->cmd.id), prefix))
        return s->cmd.id;
    for (unsigned i = 0; i < DONE_KEPT; i++) {
        const struct done *d = &s->done[(s->done_next + DONE_KEPT - 1 - i) % DONE_KEPT];
        if (d->id[0] && str_starts(str_of(d->id), prefix))
            return d->id;
    }
    return NULL;
}

void session_view(const struct session *s, struct session_view *v)
{
    v->stream = s->proc.hold ? session_out(s) : NULL;
    v->fd = s->proc.spool[0];
    v->scanned = s->scanned;
    v->view = s->scanned;
    if (s->switching && s->switch_at < v->view)
        v->view = s->switch_at;
    if (s->echo_at && s->echo_at < v->view)
        v->view = s->echo_at;
    v->command = s->cmd.ended ? s->cmd.to : s->scanned;
    v->shell = &s->sh;
}

uint64_t session_skip(const struct session *s, uint64_t at, uint64_t *next)
{
    *next = UINT64_MAX;
    for (int i = 0; i < SKIPS; i++) {
        const struct skip *k = &s->skips[i];
        if (k->to > at && k->from <= at)
            return k->to;
        if (k->to > k->from && k->from > at && k->from < *next)
            *next = k->from;
    }
    return 0;
}

/* Those that are told of, oldest first; the running command's is not among them. */
static struct skip bare_range(const struct session *s, unsigned i)
{
    const struct command *c = &s->cmd;
    struct termios t;
    if (i < BARES)
        return s->bare[(s->bares_next + i) % BARES];
    if (!c->started || c->ended || s->state != SESSION_RUNNING)
        return (struct skip){0, 0};
    /* A program that took the terminal over says itself where lines begin. */
    bool lines = tcgetattr(s->proc.in, &t) < 0 || (t.c_lflag & ICANON);
    return (struct skip){c->from, lines ? UINT64_MAX : c->from};
}

bool session_bare(const struct session *s, uint64_t at, uint64_t *next)
{
    *next = UINT64_MAX;
    for (unsigned i = 0; i <= BARES; i++) {
        struct skip k = bare_range(s, i);
        if (k.to > at && k.from <= at) {
            *next = k.to;
            return true;
        }
        if (k.to > k.from && k.from > at && k.from < *next)
            *next = k.from;
    }
    return false;
}

static void add_skip(struct session *s, uint64_t from, uint64_t to)
{
    if (to > from)
        s->skips[s->skips_next++ % SKIPS] = (struct skip){from, to};
}

void session_notify(struct list *ops, const char *kind, const char *text)
{
    struct list *it, *tmp;
    list_each (it, tmp, ops)
        op_note(list_entry(it, struct op, node), kind, text, 0, 0);
}

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
            op_note(op, "window", NULL, s->feed.r.input, 0);
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
static int put_command(struct session *s, uint64_t seq, struct err *e)
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

static void begin(struct session *s, struct op *op)
{
    struct err e = ERR_INIT;
    if (memchr(buf_z(&op->command), 0, op->command.n)) {
        err_set(&e, ERR_INVALID, "the command holds a NUL byte, which no shell can take");
    } else if (buf_reset(&s->text), buf_adds(&s->text, buf_str(&op->command)),
               put_command(s, s->seq + 1, &e) == 0 &&
                   (!op->with_stdin || open_feed(s, &e) == 0)) {
        struct command *c = &s->cmd;
        *c = (struct command){.seq = ++s->seq,
                              .typed_at = s->scanned,
                              .since_ms = clock_ms(),
                              .wall_ms = clock_wall_ms(),
                              .reads = shell_text_reads(buf_str(&op->command))};
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
        session_store_quietly(s, buf_str(&line));
        buf_release(&line);
        attach_op(s, op);
        return;
    }
    op->r.state = OP_FAILED;
    op->r.err = e;
    op_settle(op);
}

static int signal_of(int status)
{
    return status > 128 && status < 128 + _NSIG ? status - 128 : 0;
}

static bool answer_done(struct session *s, struct op *op)
{
    for (unsigned i = 0; op->id[0] && i < DONE_KEPT; i++) {
        const struct done *d = &s->done[i];
        if (strcmp(d->id, op->id) != 0)
            continue;
        op->r = (struct op_result){.state = d->shell_ended ? OP_SHELL_ENDED : OP_ENDED,
                                   .exit = d->status,
                                   .signo = signal_of(d->status),
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
    while (s->state == SESSION_IDLE && !list_empty(&s->queue)) {
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
static void tell_end(struct session *s, struct op *op, enum op_state state)
{
    int status = s->cmd.status;
    result_of(s, op, state);
    op->r.exit = status;
    op->r.signo = signal_of(status);
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
        err_set(&op->r.err, ERR_TIMEOUT,
                "session %s was busy all the time with: %s; the command was not run",
                s->name, s->cmd.head);
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
    char name[OP_ID_MAX + 1];
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

void session_run(struct session *s, struct op *op)
{
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
                "never end; use another session: od exec -s NAME",
                s->name);
    else if (session_busy(s) && op->no_wait)
        err_set(&e, ERR_BUSY, "session %s is busy with: %s", s->name, s->cmd.head);
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
    if (session_busy(s)) {
        char text[256];
        snprintf(text, sizeof(text), "waiting for session %s, which is busy with: %s",
                 s->name, s->cmd.head[0] ? s->cmd.head : "what somebody typed there");
        op_note(op, "queued", text, 0, 0);
        session_look_later(s, LOOK_FIRST_MS);
    }
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
        tell_end(s, op, s->untold);
    s->untold = OP_NOTHING;
    op->r.to = s->seen = s->scanned;
    s->idle_bytes = 0;
    op_settle(op);
}

/* ---- ends ---- */

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

static void forget_feed(struct session *s)
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
        tell_end(s, op, state);
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
static void command_over(struct session *s)
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
    command_over(s);
}

static void on_prompt_late(struct timer *t)
{
    command_over(container_of(t, struct session, prompt));
}

static void end_command(struct session *s, uint64_t to, int status)
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
    forget_feed(s);
    session_read_records(s);
    s->noise_from = strpbrk(s->flags, "xv") ? to : 0;
    TRACE(TRACE_SESSION, "session %s: %llu ended with %d", s->name,
          (unsigned long long)c->seq, c->status);
}

/* ---- marks ---- */

/* It cannot be brought to run commands any more: a fresh one takes over. */
static void end_shell(struct session *s, const char *why)
{
    struct minder_request q = {
        .verb = MINDER_SIGNAL_TREE, .pid = s->proc.r.pid, .sig = SIGKILL, .root = 1};
    log_warn("session %s: the shell is ended: %s", s->name, why);
    hold_ask(s->en->hold, s->uid, s->gid, &q, NULL, NULL);
}

void session_install(struct session *s)
{
    if (++s->installs > INSTALLS_MAX) {
        end_shell(s, "what tells the ends of its commands cannot be put in place");
        return;
    }
    struct buf code = BUF_INIT(64 << 10);
    struct err e = ERR_INIT;
    s->sh.gen++;
    s->installing = true;
    shell_code(&code, &s->sh, s->seq > 0 && !s->cmd.started ? s->seq - 1 : s->seq, false,
               false);
    if (session_put_file(s, "p", buf_str(&code), &e) < 0)
        log_warn("session %s: %s", s->name, e.text);
    buf_release(&code);
    session_say(s, LINE_INSTALL);
    session_notify(
        &s->waiters, "reinstalled",
        "the command disturbed what tells its end; that was put in place again");
}

/* Types the command of s->cmd again: the file is still there. */
static void retype(struct session *s)
{
    struct err e = ERR_INIT;
    if (s->sh.kind == SHELL_POSIX &&
        (s->text.n == 0 || put_command(s, s->cmd.seq, &e) < 0)) {
        end_shell(s, "its command could not be given to it again");
        return;
    }
    s->cmd.typed_at = s->scanned;
    session_say(s, s->feeding ? LINE_RUN_FIFO : s->sh.pty ? LINE_RUN : LINE_RUN_NULL);
}

static void on_start_mark(struct session *s, uint64_t begin_of_output)
{
    struct command *c = &s->cmd;
    buf_release(&s->text);
    c->started = true;
    c->from = begin_of_output;
    if (s->noise_from) { /* what -x and -v showed of our own lines */
        add_skip(s, s->noise_from, begin_of_output);
        s->idle_bytes = s->noise_from = 0;
    }
    s->state = SESSION_RUNNING;
    if (s->attached_mode)
        session_set_echo(s);
    if (s->early.n > 0) {
        c->fed = true;
        session_store(s, buf_str(&s->early));
        buf_reset(&s->early);
    }
    if (s->feeding && s->feed_eof)
        hold_close_input(&s->feed);
    struct list *it, *tmp;
    char text[160];
    snprintf(text, sizeof(text),
             "%llu bytes of output came from background jobs since "
             "the last answer; see od exec -s %s --logs --offset %llu",
             (unsigned long long)s->idle_bytes, s->name, (unsigned long long)s->seen);
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->cursor == UINT64_MAX)
            op->cursor = op->r.from = begin_of_output;
        op_note(op, "started", NULL, c->seq, begin_of_output);
        if (s->idle_bytes && !op->settled)
            op_note(op, "background", text, s->seen, c->typed_at);
        if (s->fresh && !op->settled) {
            char again[200];
            snprintf(again, sizeof(again),
                     "the shell of session %s had ended (status %d); this is a fresh one "
                     "in the same directory with the environment of its last idle moment",
                     s->name, s->fresh_status);
            op_note(op, "fresh_shell", again, 0, 0);
        }
        if (s->lost_rc)
            op_note(op, "shell",
                    "the rc files did not finish in time; this shell was "
                    "started without them",
                    0, 0);
        if (!s->sh.pty)
            op_note(op, "shell", "no terminal could be had; this shell runs on pipes", 0,
                    0);
    }
    s->fresh = s->lost_rc = false;
    s->idle_bytes = 0;
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

static void take_end(struct session *s, const struct mark *m, uint64_t at)
{
    if (!s->run_traced && strchr(s->flags, 'x') && s->cmd.started)
        at = before_trace(s, at);
    end_command(s, at, m->status);
    session_restore_tty(s);
    s->ack_due = true;
    if (s->sh.pty && s->cmd.fed) {
        /* What was typed and not read is known at the prompt only. */
        s->wait_prompt = true;
        acknowledge(s, LINE_ACK_ASK);
        timer_begin(s->en->loop, &s->prompt, PROMPT_WAIT_MS, on_prompt_late);
    } else {
        command_over(s);
    }
}

static void on_end_mark(struct session *s, const struct mark *m, uint64_t at)
{
    session_read_records(s);
    if (s->end_seq != m->seq || s->end_status != m->status) {
        s->unproved = *m;
        s->unproved_at = at;
        session_look_later(s, 1);
        return;
    }
    take_end(s, m, at);
}

void session_believe(struct session *s)
{
    struct mark m = s->unproved;
    s->unproved.kind = 0;
    take_end(s, &m, s->unproved_at);
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
    take_end(s, &m, s->scanned);
    return true;
}

/* What a person ran has ended, or it was a line of ours that is read at last. */
static void human_over(struct session *s)
{
    s->state = SESSION_IDLE;
    if (s->switching)
        session_switch_again(s);
    session_next(s);
    session_sync_prompt(s);
}

/* The shell has its prompt, or none any more; its terminal is set before it goes on. */
static void on_switch_mark(struct session *s, uint64_t end_of_mark)
{
    session_switched(s);
    session_restore_tty(s);
    s->echo_at = s->prompt_on ? end_of_mark : 0;
    if (s->state == SESSION_HUMAN) /* it was our own line that was read */
        s->state = SESSION_IDLE;
    struct buf ack = BUF_INIT(64);
    if (!session_held(s))
        shell_line(&ack, &s->sh, LINE_ACK, s->cmd.seq);
    session_store(s, buf_str(&ack)); /* so that it is typed once */
    buf_release(&ack);
    if (s->state == SESSION_IDLE) {
        human_over(s);
        if (s->state == SESSION_IDLE && !s->switching)
            session_env_later(s);
    }
}

static void on_human_mark(struct session *s)
{
    if (s->state != SESSION_IDLE)
        return;
    s->state = SESSION_HUMAN;
    s->cmd.head[0] = 0;
    s->cmd.since_ms = clock_ms();
    if (!s->switching)
        session_save(s);
}

static void on_prompt_mark(struct session *s, const struct mark *m, uint64_t at)
{
    struct command *c = &s->cmd;
    if (s->wait_prompt) {
        session_read_records(s);
        command_over(s);
    } else if (s->state == SESSION_HUMAN) {
        session_read_records(s);
        human_over(s);
    } else if ((s->state == SESSION_RUNNING || s->state == SESSION_TYPED) &&
               m->seq == c->seq && !c->ended) {
        /* Interrupted, or thrown out of the line: no end mark comes. */
        if (!c->started) { /* it ran, but our code around it was taken away */
            c->started = true;
            c->from = c->typed_at;
            session_install(s);
        }
        end_command(s, at, m->status);
        if (s->sh.kind == SHELL_POSIX)
            session_restore_tty(s); /* readline would be at work already */
        session_hold(s);
        command_over(s);
    } else if (s->state == SESSION_TYPED && m->seq < c->seq && !s->installing) {
        session_install(s); /* our line was read, and did not run */
    }
}

/* The command that found its shell ending: its start mark never came, so it never ran. */
static void run_again(struct session *s)
{
    s->rerun = false;
    s->state = SESSION_TYPED;
    retype(s);
}

static void on_install_mark(struct session *s, const struct mark *m, uint64_t at)
{
    struct command *c = &s->cmd;
    if (s->state == SESSION_STARTING) {
        timer_stop(&s->start);
        s->state = SESSION_IDLE;
        memcpy(s->flags, "!", 2); /* a new bash edits lines */
        s->seen = at;             /* what rc files print is nobody's output */
        s->idle_bytes = 0;
        session_save(s);
        session_env_later(s);
        session_attach_mode(s, !list_empty(&s->viewers));
        if (s->rerun)
            run_again(s);
        else
            session_next(s);
        return;
    }
    s->prompt_on = false;
    s->installing = false;
    session_switched(s);
    if (!session_busy(s) || c->ended)
        return;
    if (c->started || m->seq >= c->seq) {
        end_command(s, at, m->status);
        command_over(s);
    } else {
        retype(s);
    }
}

static void on_mark(struct session *s, const struct mark *m, uint64_t at)
{
    struct command *c = &s->cmd;
    TRACE(TRACE_SESSION, "session %s: mark %c %llu at %llu in state %d", s->name, m->kind,
          (unsigned long long)m->seq, (unsigned long long)at, (int)s->state);
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
        on_switch_mark(s, at + m->len);
        break;
    case 'H':
        on_human_mark(s);
        break;
    }
}

static void pump_list(struct list *ops)
{
    struct list *it, *tmp;
    list_each (it, tmp, ops)
        op_pump(list_entry(it, struct op, node));
}

void session_quiet_again(struct session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->idle_ms > 0 && !op->settled)
            timer_begin(s->en->loop, &op->idle, op->idle_ms, on_idle);
    }
    s->looked = false;
    if (session_busy(s) && !(list_empty(&s->waiters) && list_empty(&s->queue)))
        session_look_later(s, LOOK_FIRST_MS);
}

static void on_shell_exit(struct session *s);

/* People see what comes when our own line is there whole, so that it can be left out. */
static void look_for_echo(struct session *s)
{
    char bytes[4096];
    uint64_t at = s->echo_at;
    size_t n = spool_read(s->proc.spool[0], session_out(s), &at, bytes, sizeof(bytes));
    size_t where, len = 0;
    if (s->scanned - s->echo_at < n)
        n = (size_t)(s->scanned - s->echo_at);
    if (at != s->echo_at || n == sizeof(bytes) ||
        (shell_echo(&s->sh, str_n(bytes, n), &where, &len) && len > 0))
        s->echo_at = 0;
}

/* Searches new output for marks: a bounded piece a turn. */
static void scan(struct session *s)
{
    NOT_ZEROED char chunk[64 << 10];
    size_t budget = LIMIT_READ_PER_TURN;
    const struct keep_stream *o = session_out(s);
    uint64_t before = s->scanned;
    bool more = false;
    while (s->scanned < o->offset && s->proc.hold) {
        if (budget == 0) {
            more = true;
            break;
        }
        uint64_t at = s->scanned;
        size_t n = spool_read(s->proc.spool[0], o, &at, chunk, sizeof(chunk));
        if (n == 0)
            at = o->offset; /* lost to the disk or the budget */
        s->scanned = at;
        struct mark m;
        size_t keep = 0;
        struct str bytes = str_n(chunk, n);
        bool idle = s->state == SESSION_IDLE && !s->attached_mode;
        if (shell_mark(&s->sh, bytes, &m, &keep)) {
            s->scanned = at + m.at + m.len;
            if (idle)
                s->idle_bytes += m.at;
            uint64_t upto = at + m.at;
            on_mark(s, &m, upto);
            budget -= m.at < budget ? m.at : budget;
        } else {
            s->scanned = at + keep;
            if (idle)
                s->idle_bytes += keep;
            budget -= keep < budget ? keep : budget;
            if (keep == 0 && n < sizeof(chunk))
                break; /* the beginning of a mark: wait for the rest */
        }
    }
    /* The next worker goes on from there: what lies before may be gone by then. */
    if (s->proc.hold && s->scanned - s->stored > o->cap / STORED_PARTS)
        session_save(s);
    if (s->scanned != before) {
        if (s->echo_at)
            look_for_echo(s);
        pump_list(&s->waiters);
        pump_list(&s->viewers);
        pump_list(&s->logs);
        session_quiet_again(s);
    }
    if (more)
        task_defer(s->en->loop, &s->scan);
    else if (s->proc.hold && (s->proc.r.flags & (KEEP_P_EXITED | KEEP_P_FAILED)))
        on_shell_exit(s);
}

static void on_scan(struct task *t) { scan(container_of(t, struct session, scan)); }

void session_catch_up(struct session *s)
{
    for (int turns = LIMIT_SPOOL_MAX / LIMIT_READ_PER_TURN;
         turns > 0 && !list_empty(&s->scan.node); turns--) {
        task_cancel(&s->scan);
        scan(s);
    }
}

void session_changed(struct proc *p)
{
    struct session *s = container_of(p, struct session, proc);
    if (s->kills.next != &s->kills && (p->r.flags & KEEP_P_EXITED))
        TRACE(TRACE_SESSION, "session %s: shell exited under a kill", s->name);
    scan(s);
    struct list *it, *tmp;
    list_each (it, tmp, &s->viewers)
        op_note(list_entry(it, struct op, node), "window", NULL, p->r.input, 0);
}

/* ---- the shell ended ---- */

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
        if (s->with_rc && !failed) { /* an rc file that execs or exits */
            s->with_rc = false;
            s->lost_rc = true;
            session_next(s);
            return;
        }
        struct err e = ERR_INIT;
        if (failed)
            e = *failed;
        else if (!s->lost_rc || s->proc.r.status)
            err_set(&e, ERR_GONE, "the shell %s ended at its start with status %d",
                    s->sh.path, code);
        if (s->lost_rc && !failed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            session_next(s);
            return;
        }
        if (s->rerun) { /* the fresh shell ended too */
            s->rerun = false;
            end_command(s, s->scanned, code);
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
        end_command(s, s->scanned, code);
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
static void on_shell_exit(struct session *s)
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

/* ---- lists ---- */

struct json *session_json(const struct session *s)
{
    static const char *const states[] = {"none",    "starting", "idle",
                                         "running", "running",  "running"};
    struct json *j = json_object();
    json_put_z(j, "name", s->name);
    json_put_z(j, "state", states[s->state]);
    json_put_z(j, "shell", s->sh.path);
    json_put_bool(j, "terminal", s->sh.pty);
    if (s->proc.r.flags & KEEP_P_STARTED && !(s->proc.r.flags & KEEP_P_EXITED))
        json_put_int(j, "pid", s->proc.r.pid);
    json_put_z(j, "cwd", s->cwd);
    json_put_z(j, "path", s->path);
    if (s->last_background)
        json_put_int(j, "last_background", s->last_background);
    json_put_int(j, "op", (int64_t)s->cmd.seq);
    if (session_busy(s)) {
        json_put_z(j, "command",
                   s->state == SESSION_HUMAN ? "(typed by somebody)" : s->cmd.head);
        json_put_int(j, "running_ms", clock_ms() - s->cmd.since_ms);
    }
    json_put_bool(j, "untold", session_untold(s));
    int n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &((struct session *)(uintptr_t)s)->viewers)
        n++;
    json_put_int(j, "attached", n);
    json_put_int(j, "output", (int64_t)s->scanned);
    return j;
}

/* ---- life ---- */

struct session *session_find(struct engine *en, struct str name)
{
    return map_get(&en->sessions, name);
}

static bool good_name(struct str name)
{
    if (name.n == 0 || name.n > 40 || name.p[0] == '.' || name.p[0] == '-')
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == ':'))
            return false;
    }
    return true;
}

struct session *session_make(struct engine *en, struct str name)
{
    struct session *s = xnew(struct session);
    s->en = en;
    s->name = xstrndup(name.p, name.n);
    s->uid = en->uid;
    s->gid = en->gid;
    s->untold = OP_NOTHING;
    s->rows = ROWS;
    s->cols = COLS;
    s->with_rc = true;
    s->proc = (struct proc){.in = -1, .spool = {-1, -1}, .changed = session_changed};
    s->feed.changed = session_feed_changed;
    buf_init(&s->opts_env, LIMIT_SPAWN_MAX);
    buf_init(&s->env, ENV_MAX);
    buf_init(&s->env_text, 2 * ENV_MAX);
    buf_init(&s->kept, LIMIT_BLOB_MAX);
    buf_init(&s->early, 64 << 10);
    buf_init(&s->text, LIMIT_COMMAND_MAX);
    s->record_fd = -1;
    struct list *lists[] = {&s->queue, &s->waiters, &s->viewers, &s->logs, &s->kills};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        list_init(lists[i]);
    task_init(&s->scan, on_scan);
    map_put(&en->sessions, name, s);
    return s;
}

void session_copy(char *out, size_t size, struct str s)
{
    size_t n = s.n < size - 1 ? s.n : size - 1;
    if (n > 0)
        memcpy(out, s.p, n);
    out[n] = 0;
}

struct session *session_get(struct engine *en, struct str name,
                            const struct session_opts *o, struct err *e)
{
    struct session *s = session_find(en, name);
    if (s)
        return s;
    if (!good_name(name)) {
        err_set(e, ERR_INVALID,
                "a session's name is 1 to 40 letters, digits and . _ - :, "
                "not beginning with . or -");
        return NULL;
    }
    if (en->sessions.count >= LIMIT_SESSIONS_MAX) {
        err_set(e, ERR_LIMIT,
                "there are %d sessions already; end one with od exec -s NAME "
                "--kill",
                LIMIT_SESSIONS_MAX);
        return NULL;
    }
    struct buf login = BUF_INIT(4096);
    uid_t uid = en->uid;
    gid_t gid = en->gid;
    if (o->user.n > 0 && engine_user(en, o->user, &uid, &gid, &login, e) < 0) {
        buf_release(&login);
        return NULL;
    }
    s = session_make(en, name);
    s->uid = uid;
    s->gid = gid;
    buf_adds(&s->opts_env, buf_str(&login));
    buf_adds(&s->opts_env, o->env);
    buf_release(&login);
    session_copy(s->cwd, sizeof(s->cwd), o->cwd.n ? o->cwd : str_of(en->home));
    session_copy(s->shell_wanted, sizeof(s->shell_wanted), o->shell);
    session_copy(s->user, sizeof(s->user), o->user);
    session_first_path(s);
    s->sh.same_env = o->same_env;
    if (o->rows > 0 && o->cols > 0) {
        s->rows = o->rows;
        s->cols = o->cols;
    }
    return s;
}

static void drop_list(struct list *ops, enum err_code code, const char *why)
{
    struct list *it, *tmp;
    list_each (it, tmp, ops) {
        struct op *op = list_entry(it, struct op, node);
        if (op->done)
            continue;
        op->r.state = OP_FAILED;
        op->r.to = op->cursor == UINT64_MAX ? 0 : op->cursor;
        err_set(&op->r.err, code, "session %s %s", op->session->name, why);
        op_settle(op);
    }
}

static void session_bury(void *p)
{
    struct session *s = p;
    buf_release(&s->opts_env);
    buf_release(&s->env);
    buf_release(&s->env_text);
    buf_release(&s->kept);
    buf_release(&s->early);
    buf_release(&s->text);
    free(s->name);
    free(s);
}

static void remove_files(struct session *s)
{
    static const char *const names[] = {"c", "r", "p", "e", "i", "o"};
    char path[300];
    for (size_t i = 0; s->sh.dir[0] && i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", s->sh.dir, names[i]);
        unlink(path);
    }
    if (s->sh.dir[0])
        rmdir(s->sh.dir);
    snprintf(path, sizeof(path), "%s/spool", s->en->state_dir);
    char file[96];
    snprintf(file, sizeof(file), "session-%s", s->name);
    spool_remove(path, file);
}

static void drop_all(struct session *s, enum err_code code, const char *why)
{
    struct list *lists[] = {&s->queue, &s->waiters, &s->viewers, &s->logs};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        drop_list(lists[i], code, why);
}

void session_cancel(struct session *s)
{
    drop_all(s, ERR_CANCELLED, "ends: the server was stopped");
}

uint64_t session_spool_bytes(const struct session *s)
{
    return s->proc.hold ? session_out(s)->cap : 0;
}

void session_free(struct session *s)
{
    drop_all(s, ERR_GONE, "was ended");
    struct timer *timers[] = {&s->look,   &s->start,      &s->env_timer,
                              &s->prompt, &s->exit_timer, &s->switch_timer};
    for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
        timer_stop(timers[i]);
    task_cancel(&s->scan);
    session_env_done(s);
    forget_feed(s);
    hold_ask_cancel(s->en->hold, s);
    hold_forget(&s->proc);
    if (s->record_fd >= 0)
        close(s->record_fd);
    remove_files(s);
    struct buf key = BUF_INIT(128);
    session_key_name(s, &key);
    hold_put(s->en->hold, buf_str(&key), STR(""));
    buf_reset(&key);
    buf_addf(&key, "environ/%s", s->name);
    hold_put(s->en->hold, buf_str(&key), STR(""));
    buf_release(&key);
    map_del(&s->en->sessions, str_of(s->name));
    loop_bury(s->en->loop, s, session_bury);
}
