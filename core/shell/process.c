/* SPDX-License-Identifier: MIT */
/* Plain processes. */
#include "shell/process.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "engine/state.h"
#include "os/null.h"
#include "os/pty.h"
#include "os/spawn.h"
#include "shell/session.h"
#include "shell/spool.h"
#include "shell/times.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { EXIT_GRACE_MS = 300, FLOW_LOOK_MS = 1000 };

#define TIMES_FILE "times-process-%s"

struct process {
    struct engine *en;
    char *name;
    char *head; /* what runs, for lists */
    char *cwd;
    struct times times; /* of its output; fd -1 without a terminal */
    struct proc proc;
    char call[LIMIT_ID + 1];
    bool ended;
    int64_t wall_ms, ended_ms;
    uid_t uid;
    gid_t gid;
    struct list ops;
    struct timer grace;
    struct timer flow; /* a caller is far behind: does it take bytes? */
    bool whole, until_eof;
    /* The newest input of an action, and its first byte's offset in the input. */
    char input_id[LIMIT_ID + 1];
    uint64_t input_at;
    int due; /* a signal that came before it was started; 0: none */
    bool due_tree;
};

struct engine *process_engine(const struct process *p) { return p->en; }
const char *process_name(const struct process *p) { return p->name; }
bool process_ended(const struct process *p) { return p->ended; }
uint64_t process_output(const struct process *p) { return p->proc.r.out[0].offset; }
pid_t process_pid(const struct process *p) { return p->proc.r.pid; }
int64_t process_since(const struct process *p) { return p->wall_ms; }

bool process_has_tty(const struct process *p) { return (p->proc.r.kind & KEEP_PTY) != 0; }

int process_terminal(const struct process *p)
{
    return process_has_tty(p) ? p->proc.in : -1;
}

const struct keep_stream *process_stream(const struct process *p, int i, int *fd)
{
    *fd = p->proc.spool[i];
    return *fd >= 0 ? &p->proc.r.out[i] : NULL;
}

bool process_disk_full(const struct process *p)
{
    return (p->proc.r.flags & KEEP_P_FULL) != 0;
}

static const struct state_field kept[] = {
    STATE_ROW(struct process, head),    STATE_ROW(struct process, cwd),
    STATE_ROW(struct process, call),    STATE_ROW(struct process, wall_ms),
    STATE_ROW(struct process, uid),     STATE_ROW(struct process, gid),
    STATE_ROW(struct process, whole),   STATE_ROW(struct process, until_eof),
    STATE_ROW_AS("input", struct process, input_id),
    STATE_ROW(struct process, input_at), {.name = NULL}};

/* The key and the value of its state at the keeper; id: its program's number there. */
static void pack(const struct process *p, uint64_t id, struct buf *key, struct buf *value)
{
    struct json *j = state_json(kept, p);
    json_put_int(j, "proc", (int64_t)id);
    buf_addf(key, "process/%s", p->name);
    json_print(value, j);
    json_free(j);
}

/* ---- ends ---- */

static int exit_code(const struct process *p, int *signo)
{
    int status = p->proc.r.status;
    *signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return *signo ? 128 + *signo : WEXITSTATUS(status);
}

static void answer(struct process *p, struct op *op)
{
    const struct keep_proc *r = &p->proc.r;
    op->r.to = r->out[0].offset;
    op->r.seq = r->id;
    op->r.duration_ms = (p->ended ? p->ended_ms : clock_wall_ms()) - p->wall_ms;
    if (r->flags & KEEP_P_FAILED) {
        op->r.state = OP_FAILED;
        op->r.exit = r->step != SPAWN_EXEC ? 0 : r->errnum == ENOENT ? 127 : 126;
        if (r->step == SPAWN_CWD)
            err_sys(&op->r.err, r->errnum, "cannot start %s in %s", p->head, p->cwd);
        else
            err_sys(&op->r.err, r->errnum, "cannot run %s", p->head);
    } else {
        op->r.state = OP_ENDED;
        op->r.exit = exit_code(p, &op->r.signo);
    }
    op_settle(op);
}

static struct op *first_unsettled(const struct process *p)
{
    for (struct list *it = p->ops.next; it != &p->ops; it = it->next) {
        struct op *op = list_entry(it, struct op, node);
        if (!op->settled)
            return op;
    }
    return NULL;
}

static void process_over(struct process *p)
{
    if (p->ended)
        return;
    p->ended = true;
    p->ended_ms = clock_wall_ms();
    p->en->idle_since_ms = clock_ms();
    timer_stop(&p->grace);
    /* An answer may drop other ops of the list: each time it is looked at again. */
    for (struct op *op; (op = first_unsettled(p));)
        answer(p, op);
}

static void on_grace(struct timer *t)
{
    process_over(container_of(t, struct process, grace));
}

/* ---- signals ---- */

static void send_signal(struct process *p, int sig, bool tree)
{
    struct reaper_request q = {.verb = tree ? REAPER_SIGNAL_TREE : REAPER_SIGNAL_GROUP,
                               .pid = p->proc.r.pid,
                               .sig = sig,
                               .root = 1};
    keeper_client_ask(p->en->keeper, p->uid, p->gid, &q, NULL, NULL);
}

static void send_due(struct process *p)
{
    if (p->due && (p->proc.r.flags & KEEP_P_STARTED)) {
        send_signal(p, p->due, p->due_tree);
        p->due = 0;
    }
}

int process_signal(struct process *p, int sig, bool tree, struct err *e)
{
    if (p->ended || (p->proc.r.flags & KEEP_P_EXITED))
        return err_set(e, ERR_NOTFOUND, "process %s has ended", p->name);
    if (p->proc.r.flags & KEEP_P_STARTED) {
        send_signal(p, sig, tree);
    } else {
        p->due = sig;
        p->due_tree = tree;
    }
    return 0;
}

static bool outputs_ended(const struct keep_proc *r)
{
    return r->out[0].eof && (r->out[1].eof || !(r->kind & KEEP_ERR));
}

static void on_changed(struct proc *proc)
{
    struct process *p = container_of(proc, struct process, proc);
    const struct keep_proc *r = &proc->r;
    struct list *it, *tmp;
    send_due(p);
    times_output(&p->times, r->out[0].offset, spool_start(&r->out[0]));
    list_each (it, tmp, &p->ops) {
        struct op *op = list_entry(it, struct op, node);
        if (op->with_stdin)
            op_note(op, NOTE_WINDOW, NULL, r->input, 0);
        if (op->idle_ms > 0 && timer_active(&op->idle) && op->cursor != r->out[0].offset)
            timer_begin(p->en->loop, &op->idle, op->idle_ms, op->idle.fn);
        if (op->detach && !op->settled && (r->flags & KEEP_P_STARTED)) {
            op->r.state = OP_RUNNING;
            op->r.why = OP_DETACHED;
            op->r.seq = r->id;
            op_settle(op);
            continue;
        }
        op_pump(op);
    }
    if ((r->flags & KEEP_P_HELD) && list_empty(&p->ops))
        process_flow(p); /* it has no caller */
    if (r->flags & KEEP_P_FAILED)
        process_over(p);
    else if ((r->flags & KEEP_P_EXITED) && outputs_ended(r))
        process_over(p);
    else if ((r->flags & KEEP_P_HELD) || p->until_eof)
        timer_stop(&p->grace); /* callers have not received all output yet */
    else if ((r->flags & KEEP_P_EXITED) && !p->ended && !timer_active(&p->grace))
        timer_begin(p->en->loop, &p->grace, EXIT_GRACE_MS, on_grace);
}

/* ---- waiting ---- */

static void on_flow(struct timer *t)
{
    struct process *p = container_of(t, struct process, flow);
    if (op_any_moves(&p->ops)) {
        keeper_client_flow_again(&p->proc, 0);
        keeper_client_flow_again(&p->proc, 1);
    }
    process_flow(p);
}

void process_flow(struct process *p)
{
    bool far = false;
    for (int i = 0; i < 2; i++) {
        uint64_t least = HOLD_NOBODY, at;
        uint64_t room = process_disk_full(p) ? 0 : p->proc.r.out[i].cap / 2;
        struct list *it, *tmp;
        list_each (it, tmp, &p->ops) {
            if (op_holds(list_entry(it, struct op, node), i, room, &at) && at < least)
                least = at;
        }
        if (p->proc.spool[i] >= 0)
            far |= keeper_client_flow(&p->proc, i, least);
    }
    if (far && !timer_active(&p->flow))
        timer_begin(p->en->loop, &p->flow, FLOW_LOOK_MS, on_flow);
}

static void stop_waiting(struct op *op, enum op_why why)
{
    if (op->settled)
        return;
    op->r.state = OP_RUNNING;
    op->r.why = why;
    op->r.seq = op->process->proc.r.id;
    op->r.to = op->process->proc.r.out[0].offset;
    op->r.duration_ms = clock_wall_ms() - op->process->wall_ms;
    op_settle(op);
}

static void on_hard(struct timer *t)
{
    stop_waiting(container_of(t, struct op, hard), OP_TIMEOUT);
}
static void on_idle(struct timer *t)
{
    stop_waiting(container_of(t, struct op, idle), OP_IDLE);
}

void process_wait(struct process *p, struct op *op)
{
    ASSERT(!op->session && !op->process && !op->done);
    op->process = p;
    list_add_tail(&p->ops, &op->node);
    engine_touch(p->en);
    if (p->ended && op->limit == UINT64_MAX) {
        answer(p, op);
        return;
    }
    if (op->limit != UINT64_MAX) {
        uint64_t end = p->proc.r.out[op->stderr_only].offset;
        op->r.state = OP_ENDED;
        op->r.to = op->limit < end ? op->limit : end;
        op_settle(op);
        return;
    }
    if (op->timeout_ms > 0)
        timer_begin(p->en->loop, &op->hard, op->timeout_ms, on_hard);
    if (op->idle_ms > 0)
        timer_begin(p->en->loop, &op->idle, op->idle_ms, on_idle);
    if (op->detach && (p->proc.r.flags & KEEP_P_STARTED))
        stop_waiting(op, OP_DETACHED);
    else
        op_pump(op);
}

size_t process_stdin_room(const struct process *p, uint64_t *accepted)
{
    *accepted = p->proc.sent;
    return p->proc.keeper && (p->proc.r.kind & (KEEP_IN | KEEP_PTY))
               ? keeper_client_room(&p->proc)
               : 0;
}

void process_stdin(struct process *p, uint64_t offset, struct str bytes, bool eof)
{
    if (offset < p->proc.sent)
        bytes = str_sub(bytes, (size_t)(p->proc.sent - offset), bytes.n);
    while (bytes.n > 0) {
        size_t n = bytes.n < 64 << 10 ? bytes.n : 64 << 10;
        keeper_client_write(&p->proc, str_n(bytes.p, n), STR(""), STR(""));
        bytes = str_sub(bytes, n, bytes.n);
    }
    if (eof)
        keeper_client_close_input(&p->proc);
}

void process_ask(struct process *p, struct str bytes, struct str key, struct str value)
{
    if (bytes.n + key.n + value.n <= LIMIT_BLOB_MAX) {
        keeper_client_write_quietly(&p->proc, bytes, key, value);
        return;
    }
    keeper_client_put(p->en->keeper, key, value);
    process_stdin(p, p->proc.sent, bytes, false);
}

/* The state that remembers an input must be at the keeper with its first byte. */
static void keep_input(struct process *p, const char *id, struct str bytes)
{
    struct buf key = BUF_INIT(128), state = BUF_INIT(LIMIT_BLOB_MAX);
    snprintf(p->input_id, sizeof(p->input_id), "%s", id);
    p->input_at = p->proc.sent;
    pack(p, p->proc.r.id, &key, &state);
    size_t first = bytes.n < 16 << 10 ? bytes.n : 16 << 10;
    keeper_client_write(&p->proc, str_sub(bytes, 0, first), buf_str(&key),
                        buf_str(&state));
    buf_release(&key);
    buf_release(&state);
}

int process_input(struct process *p, const char *id, struct str bytes, bool eof,
                  struct err *e)
{
    struct termios t;
    bool tty = process_has_tty(p);
    char end = 4;
    if (p->ended || (p->proc.r.flags & KEEP_P_EXITED))
        return err_set(e, ERR_NOTFOUND, "process %s has ended", p->name);
    if (!tty && !(p->proc.r.kind & KEEP_IN))
        return err_set(e, ERR_INVALID, "process %s was started without standard input",
                       p->name);
    if (tty && eof && pty_can_end(p->proc.in, e) < 0)
        return -1;
    if (tty && eof && tcgetattr(p->proc.in, &t) == 0 && t.c_cc[VEOF])
        end = (char)t.c_cc[VEOF];
    if (tty && eof)
        bytes = str_n(&end, 1);
    if (strcmp(p->input_id, id) != 0) {
        size_t room = keeper_client_room(&p->proc);
        if (bytes.n > room)
            return err_set(e, ERR_LIMIT,
                           "process %s takes %zu bytes of input now, and these are %zu: "
                           "nothing was sent; send them in parts, or in a file",
                           p->name, room, bytes.n);
        keep_input(p, id, bytes);
    }
    process_stdin(p, p->input_at, bytes, eof && !tty);
    return 0;
}

int process_resize(struct process *p, int rows, int cols, struct err *e)
{
    if (!process_has_tty(p) || p->proc.in < 0)
        return err_set(e, ERR_INVALID, "process %s has no terminal", p->name);
    if (rows < 1 || cols < 1 || rows > PTY_SIDE_MAX || cols > PTY_SIDE_MAX)
        return err_set(e, ERR_INVALID, "a terminal has 1 to %d rows and columns",
                       PTY_SIDE_MAX);
    if (pty_resize(p->proc.in, rows, cols) < 0)
        return err_sys(e, errno, "cannot set the size of process %s's terminal", p->name);
    times_size(&p->times, rows, cols);
    return 0;
}

void process_let_go(struct process *p)
{
    p->until_eof = false;
    on_changed(&p->proc);
}

/* ---- life ---- */

static struct process *process_make(struct engine *en, struct str name)
{
    struct process *p = xnew(struct process);
    p->en = en;
    p->name = xstrndup(name.p, name.n);
    p->proc = (struct proc){.in = -1, .spool = {-1, -1}, .changed = on_changed};
    p->times.fd = -1;
    p->uid = en->uid;
    p->gid = en->gid;
    p->wall_ms = clock_wall_ms();
    list_init(&p->ops);
    map_put(&en->processes, name, p);
    return p;
}

struct process *process_find(struct engine *en, struct str name)
{
    return map_get(&en->processes, name);
}

struct process *process_by_call(struct engine *en, const char *id)
{
    struct str key;
    void *value;
    for (void *it = NULL; id[0] && (it = map_next(&en->processes, it, &key, &value));) {
        struct process *p = value;
        if (strcmp(p->call, id) == 0)
            return p;
    }
    return NULL;
}

bool process_forget_oldest(struct engine *en)
{
    struct process *oldest = NULL;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));) {
        struct process *p = value;
        if (p->ended && list_empty(&p->ops) &&
            (!oldest || p->ended_ms < oldest->ended_ms))
            oldest = p;
    }
    if (!oldest)
        return false;
    process_free(oldest);
    return true;
}

/* Bytes of its spools that only it may use; 0 unless it was started as whole. */
static uint64_t reserved(const struct process *p)
{
    return p->whole ? p->proc.r.out[0].cap + p->proc.r.out[1].cap : 0;
}

uint64_t process_spool_room(struct engine *en, bool whole)
{
    enum { LEAST = 256 << 10, STEP = 1 << 10 };
    uint64_t used = 0;
    struct str key;
    void *value;
    if (!en->state_dir[0])
        return LIMIT_SPOOL_MEMORY;
    for (void *it = NULL; whole && (it = map_next(&en->processes, it, &key, &value));)
        used += reserved(value);
    uint64_t left = used < LIMIT_SPOOL_TOTAL ? LIMIT_SPOOL_TOTAL - used : 0;
    if (left / 4 >= LIMIT_SPOOL_MAX)
        return LIMIT_SPOOL_MAX;
    return left / 4 < LEAST ? LEAST : left / 4 / STEP * STEP;
}

uint64_t process_spool_bytes(const struct process *p)
{
    uint64_t all = 0;
    for (int i = 0; i < 2; i++) {
        const struct keep_stream *s = &p->proc.r.out[i];
        all += s->offset < s->cap ? s->offset : s->cap;
    }
    return all;
}

void process_cancel(struct process *p)
{
    struct list *it, *tmp;
    list_each (it, tmp, &p->ops) {
        struct op *op = list_entry(it, struct op, node);
        op->r.state = OP_FAILED;
        op->r.to = op->cursor;
        err_set(&op->r.err, ERR_CANCELLED, "the server was stopped");
        op_settle(op);
    }
}

static void describe(struct process *p, char *const *argv)
{
    struct buf b = BUF_INIT(240);
    for (int i = 0; argv[i]; i++) {
        if (buf_addf(&b, i ? " %s" : "%s", argv[i]) < 0)
            break;
    }
    p->head = xstrdup(buf_z(&b)[0] ? buf_z(&b) : argv[0]);
    buf_release(&b);
}

static void close_them(const int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

/* The descriptors of a process until keeper_client_spawn takes them. Owned; -1: none. */
struct process_ends {
    int in[2], out[2], er[2], spool[2];
};

static int open_spools(const struct process *p, const struct process_opts *o,
                       struct process_ends *x, uint64_t *size, struct err *e)
{
    bool both = !o->merge && !o->rows;
    char file[96];
    *size = process_spool_room(p->en, o->whole) / (both ? 2048 : 1024) * 1024;
    snprintf(file, sizeof(file), "process-%s.out", p->name);
    x->spool[0] = spool_new(p->en, file, size, e);
    if (x->spool[0] < 0)
        return -1;
    snprintf(file, sizeof(file), "process-%s.err", p->name);
    if (both)
        x->spool[1] = spool_new(p->en, file, size, e);
    return both && x->spool[1] < 0 ? -1 : 0;
}

static int open_ends(const struct process *p, const struct process_opts *o,
                     struct process_ends *x, struct keeper_client_spawn *sp,
                     struct err *e)
{
    if (o->rows) {
        int fds[2];
        if (pty_open(fds, o->rows, o->cols, NULL, p->uid) < 0)
            return err_sys(
                e, errno,
                "cannot open a terminal for %s (without one it can run on pipes)",
                p->head);
        x->in[0] = fds[1];
        x->in[1] = fds[0];
        sp->kind = KEEP_PTY;
        sp->child[0] = fds[1];
        sp->in = sp->out[0] = fds[0];
        return 0;
    }
    if (o->with_stdin ? pipe2(x->in, O_CLOEXEC) < 0 : (x->in[0] = null_open()) < 0)
        return err_sys(e, errno, "cannot make a pipe");
    if (pipe2(x->out, O_CLOEXEC) < 0 || (!o->merge && pipe2(x->er, O_CLOEXEC) < 0))
        return err_sys(e, errno, "cannot make a pipe");
    sp->kind = (o->merge ? 0 : KEEP_ERR) | (o->with_stdin ? KEEP_IN : 0);
    sp->child[0] = x->in[0];
    sp->child[1] = x->out[1];
    sp->child[2] = o->merge ? x->out[1] : x->er[1];
    sp->in = x->in[1];
    sp->out[0] = x->out[0];
    sp->out[1] = x->er[0];
    return 0;
}

/* login: the variables of its user. */
static int spawn(struct process *p, const struct process_opts *o, struct str login,
                 struct err *e)
{
    struct engine *en = p->en;
    struct process_ends x = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    struct keeper_client_spawn sp = {.program = o->program ? o->program : o->argv[0],
                                     .cwd = p->cwd,
                                     .argv = o->argv,
                                     .uid = p->uid,
                                     .gid = p->gid,
                                     .in = -1,
                                     .out = {-1, -1},
                                     .child = {-1, -1, -1},
                                     .whole = o->whole};
    struct buf extra = BUF_INIT(LIMIT_SPAWN_MAX), envs = BUF_INIT(LIMIT_SPAWN_MAX * 2);
    struct buf key = BUF_INIT(128), state = BUF_INIT(LIMIT_BLOB_MAX);
    char **env = NULL;
    int r = -1;
    if (!o->env_only)
        buf_adds(&extra, login);
    if (buf_adds(&extra, o->env) == 0)
        env = o->env_only ? env_list(buf_str(&extra), &envs)
                          : engine_env(en, buf_str(&extra), &envs);
    if (!env) {
        err_set(e, ERR_LIMIT, "the environment is longer than %d bytes", LIMIT_SPAWN_MAX);
    } else if (open_ends(p, o, &x, &sp, e) == 0 &&
               open_spools(p, o, &x, &sp.spool_bytes, e) == 0) {
        pack(p, keeper_client_next_id(en->keeper), &key, &state);
        sp.envp = env;
        sp.spool[0] = x.spool[0];
        sp.spool[1] = x.spool[1];
        sp.key = buf_str(&key);
        sp.value = buf_str(&state);
        r = keeper_client_spawn(en->keeper, &p->proc, &sp, e);
        /* keeper_client_spawn took these, also on failure. */
        x.in[1] = x.out[0] = x.er[0] = x.spool[0] = x.spool[1] = -1;
    }
    close_them(x.in, 2);
    close_them(x.out, 2);
    close_them(x.er, 2);
    close_them(x.spool, 2);
    free(env);
    buf_release(&extra);
    buf_release(&envs);
    buf_release(&key);
    buf_release(&state);
    return r;
}

/* Programs with a terminal have times of their output. */
static void open_times(struct process *p, bool fresh, int rows, int cols)
{
    char file[96];
    snprintf(file, sizeof(file), TIMES_FILE, p->name);
    times_open(&p->times, p->en, file, fresh, p->proc.r.out[0].offset, rows, cols);
}

int process_times(const struct process *p) { return p->times.fd; }

struct process *process_start(struct engine *en, const struct process_opts *o,
                              struct err *e)
{
    char number[24];
    struct str name = o->name;
    if (name.n == 0) {
        do {
            snprintf(number, sizeof(number), "p%llu",
                     (unsigned long long)en->next_process++);
        } while (process_find(en, str_of(number)));
        name = str_of(number);
    }
    struct process *old = process_find(en, name);
    if (old && !old->ended) {
        err_set(e, ERR_EXISTS, "a process named %.*s is running", STR_ARG(name));
        return NULL;
    }
    if (name.n > PROCESS_NAME || memchr(name.p, '/', name.n)) {
        err_set(e, ERR_INVALID, "a process's name has at most %d bytes and no slash",
                PROCESS_NAME);
        return NULL;
    }
    if (old)
        process_free(old);
    if (en->processes.count >= LIMIT_PROCS_MAX && !process_forget_oldest(en)) {
        err_set(e, ERR_LIMIT, "%d processes run already", LIMIT_PROCS_MAX);
        return NULL;
    }

    uid_t uid = en->uid;
    gid_t gid = en->gid;
    struct buf login = BUF_INIT(LIMIT_SPAWN_MAX);
    struct process *p = NULL;
    if (o->user.n == 0 || engine_user(en, o->user, &uid, &gid, &login, e) == 0) {
        p = process_make(en, name);
        p->uid = uid;
        p->gid = gid;
        p->whole = o->whole;
        p->until_eof = o->until_eof;
        if (o->rows)
            open_times(p, true, o->rows, o->cols);
        describe(p, o->argv);
        p->cwd = o->cwd.n ? xstrndup(o->cwd.p, o->cwd.n) : xstrdup(en->home);
        snprintf(p->call, sizeof(p->call), "%s", o->call ? o->call : "");
        if (spawn(p, o, buf_str(&login), e) < 0) {
            process_free(p);
            p = NULL;
        }
    }
    buf_release(&login);
    return p;
}

void process_resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse_kept(state, &e);
    if (!j) {
        log_error("process %.*s: its state is unreadable: %s", STR_ARG(name), e.text);
        return;
    }
    struct process *p = process_make(en, name);
    state_read(kept, p, j);
    uint64_t number;
    if (name.n > 1 && name.p[0] == 'p' &&
        str_to_u64(str_sub(name, 1, name.n), &number) == 0 && number >= en->next_process)
        en->next_process = number + 1;
    uint64_t id = (uint64_t)json_int(j, "proc", 0);
    json_free(j);
    if (keeper_client_claim(en->keeper, &p->proc, id) < 0) {
        process_free(p);
        return;
    }
    p->proc.changed = on_changed;
    if (process_has_tty(p))
        open_times(p, false, 0, 0);
    on_changed(&p->proc);
}

struct json *process_json(const struct process *p)
{
    struct json *j = json_object();
    int signo, code = exit_code(p, &signo);
    json_put_z(j, "name", p->name);
    json_put_z(j, "command", p->head);
    json_put_z(j, "cwd", p->cwd);
    json_put_z(j, "state", p->ended ? "ended" : "running");
    if (p->proc.r.flags & KEEP_P_STARTED)
        json_put_int(j, "pid", p->proc.r.pid);
    if (p->ended && !(p->proc.r.flags & KEEP_P_FAILED))
        json_put_int(j, "exit", code);
    json_put_int(j, "running_ms",
                 (p->ended ? p->ended_ms : clock_wall_ms()) - p->wall_ms);
    json_put_int(j, "output", (int64_t)p->proc.r.out[0].offset);
    json_put_int(j, "error_output", (int64_t)p->proc.r.out[1].offset);
    return j;
}

static void process_bury(void *arg)
{
    struct process *p = arg;
    free(p->name);
    free(p->head);
    free(p->cwd);
    free(p);
}

void process_free(struct process *p)
{
    char dir[220], file[96];
    timer_stop(&p->grace);
    for (struct op *op; (op = first_unsettled(p));) {
        op->r.state = OP_FAILED;
        err_set(&op->r.err, ERR_GONE, "process %s was forgotten", p->name);
        op->r.to = 0;
        op_settle(op);
    }
    timer_stop(&p->flow);
    keeper_client_forget(&p->proc);
    snprintf(dir, sizeof(dir), "%s/spool", p->en->state_dir);
    snprintf(file, sizeof(file), "process-%s.out", p->name);
    spool_remove(dir, file);
    snprintf(file, sizeof(file), "process-%s.err", p->name);
    spool_remove(dir, file);
    snprintf(file, sizeof(file), TIMES_FILE, p->name);
    spool_remove(dir, file);
    times_close(&p->times);
    struct buf key = BUF_INIT(128);
    buf_addf(&key, "process/%s", p->name);
    keeper_client_put(p->en->keeper, buf_str(&key), STR(""));
    buf_release(&key);
    map_del(&p->en->processes, str_of(p->name));
    loop_bury(p->en->loop, p, process_bury);
}

/* ---- as a part of the engine ---- */

static bool any_runs(const struct engine *en)
{
    struct str key;
    void *value;
    bool runs = false;
    for (void *it = NULL; !runs && (it = map_next(&en->processes, it, &key, &value));)
        runs = !process_ended(value);
    return runs;
}

static void cancel_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));)
        process_cancel(value);
}

static void add_metrics(const struct engine *en, struct buf *out)
{
    struct str key;
    void *value;
    unsigned running = 0;
    double spool = 0;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        spool += (double)session_spool_bytes(value);
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));) {
        running += !process_ended(value);
        spool += (double)process_spool_bytes(value);
    }
    metrics_gauge(out, "processes", "Plain processes that run.", running);
    metrics_gauge(out, "spool_bytes", "Output kept of sessions and processes.", spool);
}

static void add_format(struct buf *out) { buf_addz(out, "process 1"); }

const struct part part_process = {
    .key = "process/",
    .format = add_format,
    .resume = process_resume,
    .busy = any_runs,
    .cancel = cancel_all,
    .metrics = add_metrics,
};
