/* SPDX-License-Identifier: MIT */
/*
 * Sessions: how they are made, listed and freed.
 *
 * Other files have the rest: session_run.c gives commands to the shell and lets callers
 * wait, session_marks.c finds out from the spool what the shell does, session_end.c
 * ends commands and session_gone.c shells. The remaining files are _start, _tty, _state,
 * _records, _look, _env, _input, _kill, _repair and _command. session_own.h lists which
 * part of struct session belongs to which file.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "shell/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

const char *session_name(const struct session *s) { return s->name; }
struct engine *session_engine(const struct session *s) { return s->en; }
const char *session_cwd(const struct session *s) { return s->report.cwd; }
const char *session_path(const struct session *s) { return s->report.path; }
pid_t session_pid(const struct session *s) { return s->proc.r.pid; }

void session_refused(struct session *s, const char *sentence)
{
    enum { KEPT = 8 };
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (!op->r.refused)
            op->r.refused = json_array();
        if (json_count(op->r.refused) < KEPT)
            json_push_str(op->r.refused, str_of(sentence));
    }
    session_notify(&s->run.waiters, NOTE_FENCE, sentence);
}

pid_t session_last_background(const struct session *s)
{
    return s->report.last_background;
}

uid_t session_uid(const struct session *s) { return s->uid; }

bool session_busy(const struct session *s)
{
    return s->state == SESSION_TYPED || s->state == SESSION_RUNNING ||
           s->state == SESSION_HUMAN;
}

/* Where each state leads. A session that is taken up begins in any of them. */
void session_to(struct session *s, enum session_state to)
{
    static const unsigned next[] = {
        [SESSION_NONE] = 1 << SESSION_STARTING,
        [SESSION_STARTING] = 1 << SESSION_IDLE,
        [SESSION_IDLE] = 1 << SESSION_TYPED | 1 << SESSION_HUMAN,
        [SESSION_TYPED] = 1 << SESSION_RUNNING | 1 << SESSION_IDLE,
        [SESSION_RUNNING] = 1 << SESSION_IDLE,
        [SESSION_HUMAN] = 1 << SESSION_IDLE,
    };
    ASSERT(to == s->state || to == SESSION_NONE || next[s->state] & 1u << to);
    s->state = to;
    session_notify(&s->tty.watchers, NOTE_STATE, NULL);
}

void session_view(const struct session *s, struct session_view *v)
{
    v->stream = s->proc.keeper ? session_out(s) : NULL;
    v->fd = s->proc.spool[0];
    v->scanned = s->scan.at;
    v->view = s->scan.at;
    if (session_switching(s) && s->tty.switch_at < v->view)
        v->view = s->tty.switch_at;
    if (s->tty.echo_at && s->tty.echo_at < v->view)
        v->view = s->tty.echo_at;
    v->command = s->cmd.ended                     ? s->cmd.to
                 : s->end.proof == PROOF_WITHHELD ? s->end.unproved_at
                                                  : s->scan.at;
    v->shell = &s->sh;
    v->disk_full = (s->proc.r.flags & KEEP_P_FULL) != 0;
}

uint64_t session_skip(const struct session *s, uint64_t at, uint64_t *next)
{
    *next = UINT64_MAX;
    for (int i = 0; i < SKIPS; i++) {
        const struct skip *k = &s->scan.skips[i];
        if (k->to > at && k->from <= at)
            return k->to;
        if (k->to > k->from && k->from > at && k->from < *next)
            *next = k->from;
    }
    return 0;
}

/* The i-th range of bare output, oldest first; i = BARES: the running command's. */
static struct skip bare_range(const struct session *s, unsigned i)
{
    const struct command *c = &s->cmd;
    struct termios t;
    if (i < BARES)
        return s->tty.bare[(s->tty.bares_next + i) % BARES];
    if (!c->started || c->ended || s->state != SESSION_RUNNING)
        return (struct skip){0, 0};
    /* A program that left canonical mode moves the cursor itself. */
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

void session_notify(struct list *ops, enum note_kind kind, const char *text)
{
    struct list *it, *tmp;
    list_each (it, tmp, ops)
        op_note(list_entry(it, struct op, node), kind, text, 0, 0);
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
    json_put_z(j, "cwd", s->report.cwd);
    json_put_z(j, "path", s->report.path);
    if (s->report.last_background)
        json_put_int(j, "last_background", s->report.last_background);
    json_put_int(j, "op", (int64_t)s->cmd.seq);
    if (session_busy(s)) {
        json_put_z(j, "command",
                   s->state == SESSION_HUMAN ? "(typed by somebody)" : s->cmd.head);
        json_put_int(j, "running_ms", clock_ms() - s->cmd.since_ms);
    }
    json_put_bool(j, "untold", session_untold(s));
    int n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &((struct session *)(uintptr_t)s)->tty.viewers)
        n++;
    json_put_int(j, "attached", n);
    json_put_int(j, "output", (int64_t)s->scan.at);
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
    s->run.untold = OP_NOTHING;
    s->tty.rows = ROWS;
    s->tty.cols = COLS;
    s->proc = (struct proc){.in = -1, .spool = {-1, -1}, .changed = session_changed};
    s->times.fd = -1;
    s->input.feed.changed = session_feed_changed;
    buf_init(&s->given.env, LIMIT_SPAWN_MAX);
    buf_init(&s->env.vars, ENV_MAX);
    buf_init(&s->env.text, 4 * ENV_MAX); /* quotes at most double a value */
    buf_init(&s->input.early, EARLY_MAX);
    buf_init(&s->run.text, LIMIT_COMMAND_MAX);
    s->report.fd = -1;
    s->report.cwd = xstrdup("");
    s->report.path = xstrdup("");
    s->look.quiet_since_ms = clock_ms();
    struct list *lists[] = {&s->run.queue, &s->run.waiters, &s->tty.viewers, &s->run.logs,
                            &s->kill.list, &s->tty.watchers};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        list_init(lists[i]);
    task_init(&s->scan.task, session_on_scan);
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

void session_keep(char **text, struct str s)
{
    struct str some = str_sub(s, 0, SESSION_TEXT_MAX - 1);
    if (str_eq(some, str_of(*text)))
        return;
    free(*text);
    *text = xstrndup(some.p, some.n);
}

bool session_never_was(const struct session *s)
{
    const struct list *lists[] = {&s->run.queue, &s->run.waiters, &s->tty.viewers,
                                  &s->run.logs, &s->kill.list, &s->tty.watchers};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (!list_empty(lists[i]))
            return false;
    }
    return s->state == SESSION_NONE && !s->start.lived;
}

struct session *session_get(struct engine *en, struct str name,
                            const struct session_opts *o, struct err *e)
{
    struct session *s = session_find(en, name);
    if (s && !session_never_was(s))
        return s;
    if (s)
        session_free(s);
    if (!good_name(name)) {
        err_set(e, ERR_INVALID,
                "a session's name is 1 to 40 letters, digits and . _ - :, "
                "not beginning with . or -");
        return NULL;
    }
    if (en->sessions.count >= LIMIT_SESSIONS_MAX) {
        err_set(e, ERR_LIMIT,
                "there are %d sessions already; end one with exec -s NAME --kill --end",
                LIMIT_SESSIONS_MAX);
        return NULL;
    }
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
    uid_t uid = en->uid;
    gid_t gid = en->gid;
    if (o->user.n > 0 && engine_user(en, o->user, &uid, &gid, &env, e) < 0) {
        buf_release(&env);
        return NULL;
    }
    buf_adds(&env, o->env);
    if (buf_full(&env)) {
        err_set(e, ERR_LIMIT, "the environment is longer than %d bytes", LIMIT_SPAWN_MAX);
        buf_release(&env);
        return NULL;
    }
    s = session_make(en, name);
    s->uid = uid;
    s->gid = gid;
    s->given.env = env;
    session_set_cwd(s, o->cwd.n ? o->cwd : str_of(en->home));
    session_copy(s->given.shell, sizeof(s->given.shell), o->shell);
    session_copy(s->given.user, sizeof(s->given.user), o->user);
    session_first_path(s);
    s->sh.same_env = o->same_env;
    if (o->rows > 0 && o->cols > 0) {
        s->tty.rows = o->rows;
        s->tty.cols = o->cols;
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
    buf_release(&s->given.env);
    buf_release(&s->env.vars);
    buf_release(&s->env.text);
    free(s->report.cwd);
    free(s->report.path);
    buf_release(&s->input.early);
    buf_release(&s->run.text);
    free(s->name);
    free(s);
}

static void remove_files(struct session *s)
{
    static const char *const names[] = {"c", "h", "q", "r", "p", "e",
                                        "i", "o", "t", "x", "n"};
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
    snprintf(file, sizeof(file), TIMES_FILE, s->name);
    spool_remove(path, file);
}

static void drop_all(struct session *s, enum err_code code, const char *why)
{
    struct list *lists[] = {&s->run.queue, &s->run.waiters, &s->tty.viewers,
                            &s->run.logs, &s->tty.watchers};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        drop_list(lists[i], code, why);
}

void session_cancel(struct session *s)
{
    drop_all(s, ERR_CANCELLED, "ends: the server was stopped");
}

uint64_t session_spool_bytes(const struct session *s)
{
    const struct keep_stream *o = session_out(s);
    if (!s->proc.keeper)
        return 0;
    return o->offset < o->cap ? o->offset : o->cap;
}

int session_times(const struct session *s) { return s->times.fd; }

void session_free(struct session *s)
{
    drop_all(s, ERR_GONE, "was ended");
    session_abandon_command(s);
    struct timer *timers[] = {&s->look.timer, &s->start.limit, &s->repair.limit,
                              &s->env.timer,  &s->end.prompt,  &s->gone.grace,
                              &s->tty.timer,  &s->run.flow,   &s->input.interrupts,
                              &s->env.gather};
    for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
        timer_stop(timers[i]);
    task_cancel(&s->scan.task);
    session_ask_ends(s);
    session_env_done(s);
    session_forget_feed(s);
    keeper_client_ask_cancel(s->en->keeper, s);
    keeper_client_forget(&s->proc);
    session_drop_records(s);
    times_close(&s->times);
    remove_files(s);
    struct buf key = BUF_INIT(128);
    session_key_name(s, &key);
    keeper_client_put(s->en->keeper, buf_str(&key), STR(""));
    buf_reset(&key);
    buf_addf(&key, "environ/%s", s->name);
    keeper_client_put(s->en->keeper, buf_str(&key), STR(""));
    buf_release(&key);
    map_del(&s->en->sessions, str_of(s->name));
    loop_bury(s->en->loop, s, session_bury);
}
