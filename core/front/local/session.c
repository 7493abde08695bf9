/* SPDX-License-Identifier: MIT */
/*
 * The verbs of sessions and processes, and the frames about an op. Output that does not
 * fit stays in the spool; op_pump is called when there is room again.
 */
#include "front/local/own.h"

#include "action/follow.h"
#include "action/run.h"
#include "base/enc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "ipc/frame.h"
#include "os/sig.h"
#include "shell/process.h"
#include "shell/session.h"
#include "shell/spool.h"
#include "term/termkey.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* ---- the sink of an op ---- */

static bool on_asked_room(struct op *op)
{
    struct conn *c = op->owner;
    /* The limit is far below the buffer's maximum, so notes and the result always fit. */
    if (c->closed)
        return false;
    if (c->stream.out.n <= LOCAL_QUEUED_MAX)
        return true;
    stream_want_room(&c->stream);
    return false;
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct conn *c = op->owner;
    if (!on_asked_room(op))
        return 0;
    if (frame_add_bytes(&c->stream.out, stream ? 'E' : 'O', offset, bytes) < 0) {
        stream_want_room(&c->stream);
        return 0;
    }
    task_defer(c->en->loop, &c->flush);
    return bytes.n;
}

static const char *const note_words[] = {
    [NOTE_STARTED] = "started",
    [NOTE_WINDOW] = "window",
    [NOTE_GAP] = "gap",
    [NOTE_QUEUED] = "queued",
    [NOTE_WAITING] = "waiting",
    [NOTE_PROBABLY_WAITING] = "probably_waiting",
    [NOTE_STDIN] = "stdin",
    [NOTE_UNTOLD] = "untold",
    [NOTE_BACKGROUND] = "background",
    [NOTE_DROPPED_INPUT] = "dropped_input",
    [NOTE_OUTPUT] = "output",
    [NOTE_CWD] = "cwd",
    [NOTE_SHELL] = "shell",
    [NOTE_FRESH_SHELL] = "fresh_shell",
    [NOTE_REINSTALLED] = "reinstalled",
    [NOTE_DISK] = "disk",
    [NOTE_FENCE] = "fence",
    [NOTE_KEYS] = "keys",
    [NOTE_STATE] = "state",
};
_Static_assert(sizeof(note_words) / sizeof(note_words[0]) == NOTE_KINDS,
               "each kind of note has a word");

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct conn *c = op->owner;
    if (kind == NOTE_WINDOW) {
        frame_add_u64(&c->stream.out, 'W', from);
        task_defer(c->en->loop, &c->flush);
        task_defer(c->en->loop, &c->resume); /* input that waited for room */
    } else if (kind == NOTE_KEYS) {
        task_defer(c->en->loop, &c->resume);
    } else if (kind == NOTE_STARTED) {
        struct json *j = json_object();
        json_put_z(j, "note", note_words[kind]);
        json_put_int(j, "op", (int64_t)from);
        json_put_int(j, "from", (int64_t)to);
        local_send_later(c, j);
        json_free(j);
        task_defer(c->en->loop, &c->resume);
    } else if (kind == NOTE_GAP) {
        if (!c->gaps)
            c->gaps = json_array();
        struct json *g = json_array();
        json_push_int(g, (int64_t)from);
        json_push_int(g, (int64_t)to);
        json_push(c->gaps, g);
        local_send_note(c, note_words[kind], text);
    } else {
        local_send_note(c, note_words[kind], text);
    }
}

static void put_look(struct json *j, const struct look *l)
{
    static const char *const states[] = {"no", "yes", "unknown", "probably"};
    struct json *w = json_object();
    json_put_z(w, "state", states[l->state]);
    json_put_z(w, "how", l->how);
    if (l->pid) {
        json_put_int(w, "pid", l->pid);
        json_put_z(w, "comm", l->comm);
    }
    json_put(j, "waiting", w);
}

struct cut {
    const struct op *op;
    uint64_t base;
    bool error; /* whether it is about a process's error output */
    uint64_t from, to;
};

static void cut_marker(struct buf *out, const struct term_text *t, void *arg)
{
    struct cut *cut = arg;
    const struct op *op = cut->op;
    cut->from = cut->base + t->cut_from;
    cut->to = cut->base + t->cut_to + op->skipped[cut->error || op->stderr_only];
    buf_addf(out,
             "[... %llu lines, %llu bytes left out; %s %s%s --logs%s --offset "
             "%llu --limit %llu shows them ...]",
             (unsigned long long)t->cut_lines, (unsigned long long)t->cut_bytes,
             op_command(op), op->session ? "-s " : "-p ",
             op->session ? session_name(op->session) : process_name(op->process),
             cut->error || op->stderr_only ? " --stderr" : "",
             (unsigned long long)cut->from, (unsigned long long)(cut->to - cut->from));
}

/* Renders, in place of the op's text, the output of its session from `from` on. */
static void render_from(struct op *op, const struct session_view *v, uint64_t from)
{
    const struct conn *c = op->owner;
    char bytes[16 << 10];
    term_free(op->term);
    op->term = term_new(&c->text);
    for (size_t n; from < op->r.to; from += n) {
        size_t room = op->r.to - from < sizeof(bytes) ? (size_t)(op->r.to - from)
                                                      : sizeof(bytes);
        n = spool_read(v->fd, v->stream, &from, bytes, room);
        if (n == 0)
            return;
        term_feed(op->term, str_n(bytes, n));
    }
}

/*
 * Finds the full screen of an op's session. If it was open before the op's output, the
 * text is the whole screen, or what follows its end: what was drawn of it meanwhile is
 * mostly blank. Returns where the text begins. Sets *full if a program shows one.
 */
static uint64_t find_screen(struct op *op, bool *full)
{
    enum { LOOK_BACK = 1 << 20 };
    struct session_view v;
    uint64_t from = op->r.from, where = 0, before = 0, oldest;
    bool runs = op->r.state == OP_RUNNING;
    if (!op->session || op->r.to < from || (!op->term && !runs))
        return from;
    session_view(op->session, &v);
    oldest = op->r.to > LOOK_BACK ? op->r.to - LOOK_BACK : 0;
    uint64_t own = from > oldest ? from : oldest;
    char kind = v.stream ? spool_screen(v.fd, v.stream, own, op->r.to, &where) : 0;
    if (v.stream && !kind && runs) /* what an ended one has left open does not matter */
        kind = spool_screen(v.fd, v.stream, oldest, own, &where);
    *full = kind == 'h' && runs;
    bool open = *full && where < from;
    bool closed = kind == 'l' && where >= from &&
                  spool_screen(v.fd, v.stream, oldest, where, &before) == 'h' &&
                  before < from;
    if (!op->term || (!open && !closed))
        return from;
    render_from(op, &v, where);
    return where;
}

/* Adds a stream of the op as text: "output" and "cut", or "stderr" and "stderr_cut". */
static void put_text(struct json *j, struct op *op, uint64_t base, bool error)
{
    struct buf text = BUF_INIT(4 << 20);
    struct term_text info = {0};
    struct cut cut = {.op = op, .base = base, .error = error};
    term_text(error ? op->term_err : op->term, &text, &info, cut_marker, &cut);
    json_put_str(j, error ? "stderr" : "output", buf_str(&text));
    if (info.cut_bytes) {
        struct json *c = json_object();
        json_put_int(c, "from", (int64_t)cut.from);
        json_put_int(c, "to", (int64_t)cut.to);
        json_put_int(c, "bytes", (int64_t)info.cut_bytes);
        json_put_int(c, "lines", (int64_t)info.cut_lines);
        json_put(j, error ? "stderr_cut" : "cut", c);
    }
    buf_release(&text);
}

static struct json *result_json(struct conn *c, struct op *op)
{
    static const char *const states[] = {"ended", "running", "shell_ended", "none",
                                         "failed"};
    static const char *const whys[] = {"",      "timeout",  "idle",
                                       "input", "detached", "cancelled"};
    const struct op_result *r = &op->r;
    struct json *j = local_ok();
    json_put_z(j, "state", states[r->state]);
    if (op->session) {
        json_put_z(j, "session", session_name(op->session));
        json_put_z(j, "cwd", session_cwd(op->session));
    } else {
        json_put_z(j, "process", process_name(op->process));
        if (process_pid(op->process) > 0)
            json_put_int(j, "pid", process_pid(op->process));
    }
    json_put_int(j, "op", (int64_t)r->seq);
    if (r->state == OP_RUNNING) {
        json_put_z(j, "why", whys[r->why]);
        if (r->looked)
            put_look(j, &r->look);
    }
    if (r->state == OP_ENDED || r->state == OP_SHELL_ENDED) {
        json_put_int(j, "exit", r->exit);
        if (r->signo)
            json_put_int(j, "signal", r->signo);
    }
    json_put_int(j, "duration_ms", r->duration_ms);
    json_put_int(j, "from", (int64_t)r->from);
    json_put_int(j, "to", (int64_t)r->to);
    bool full = false;
    uint64_t base = find_screen(op, &full);
    if (full)
        json_put_bool(j, "full_screen", true);
    if (op->term)
        put_text(j, op, base, false);
    if (op->term_err)
        put_text(j, op, r->from, true);
    if (c->notes) {
        json_put(j, "notes", c->notes);
        c->notes = NULL;
    }
    if (c->gaps) {
        json_put(j, "gaps", c->gaps);
        c->gaps = NULL;
    }
    return j;
}

/*
 * Cancels an op that waits for its turn, or detaches; the action stops a running command.
 */
static void on_cancel(void *owner)
{
    struct conn *c = owner;
    if (c->attached)
        session_detach(c->attached, c->op);
    else
        op_drop(c->op);
    c->attached = NULL;
    c->op = NULL;
    local_cancelled(c, "The action was cancelled");
}

static void on_done(struct op *op)
{
    struct conn *c = op->owner;
    local_on_cancel(c, NULL);
    if (op->kind == OP_VIEW)
        local_attach_over(c, &op->r);
    else if (op->r.state == OP_FAILED || op->r.state == OP_NOTHING)
        run_left(c->en->actions, c->act, &op->r.err);
    if (op->r.state == OP_FAILED)
        local_send_failure(c, &op->r.err, op->r.exit);
    else
        local_send_result(c, result_json(c, op));
}

/*
 * Whether the client takes output: its socket and our queue hold another amount than at
 * the last check.
 */
static bool on_moves(struct op *op)
{
    struct conn *c = op->owner;
    int waiting = 0;
    if (ioctl(c->stream.io.fd, TIOCOUTQ, &waiting) < 0)
        waiting = 0;
    size_t left = c->stream.out.n + (size_t)waiting;
    bool moves = left != c->left_before;
    c->left_before = left;
    return moves;
}

static const struct op_sink sink = {on_output, on_note, on_done, on_moves, on_asked_room};

/* ---- verbs ---- */

static struct term *new_term(struct conn *c, const struct json *q)
{
    if (!json_bool(q, "text", false))
        return NULL;
    int64_t most = json_int(q, "limit", 0);
    size_t all = most > 0 && most < LIMIT_TEXT_HEAD + LIMIT_TEXT_TAIL
                     ? (size_t)most
                     : LIMIT_TEXT_HEAD + LIMIT_TEXT_TAIL;
    c->text = (struct term_opts){.head = all / 4,
                                 .tail = all - all / 4,
                                 .keep_tabs = true,
                                 .rows = (int)json_int(q, "rows", 50),
                                 .cols = (int)json_int(q, "cols", 200)};
    return term_new(&c->text);
}

static struct op *make_op(struct conn *c, enum op_kind kind, const struct json *q)
{
    struct op *op = op_new(kind, &sink, c);
    struct str id = json_str(q, "id", ""), parent = json_str(q, "parent", "");
    if (id.n <= LIMIT_ID)
        memcpy(op->id, id.p, id.n);
    if (parent.n <= LIMIT_ID)
        memcpy(op->parent, parent.p, parent.n);
    op->as = c->as ? xstrdup(c->as) : NULL;
    op->timeout_ms = json_int(q, "timeout_ms", 0);
    if (op->timeout_ms > 0) /* 0 would mean no limit */
        op->timeout_ms = op->timeout_ms > c->waited_ms ? op->timeout_ms - c->waited_ms
                                                       : 1;
    op->idle_ms = json_int(q, "idle_ms", 0);
    op->stream = json_bool(q, "stream", false);
    op->caller = kind == OP_RUN || kind == OP_WAIT;
    op->with_stdin = json_bool(q, "stdin", false);
    op->no_wait = json_bool(q, "no_wait", false);
    op->detach = json_bool(q, "detach", false);
    op->return_on_input = str_eq(json_str(q, "on_input", "report"), STR("return"));
    int64_t from = json_int(q, "output_from", 0);
    op->output_from = from > 0 ? (uint64_t)from : 0;
    op->term = new_term(c, q);
    c->op = op;
    return op;
}

static struct session *session_of(struct conn *c, const struct json *q, bool make,
                                  struct err *e)
{
    struct str name = json_str(q, "session", "main");
    struct session *s = session_find(c->en, name);
    if (!make) {
        if (!s)
            err_set(e, ERR_NOTFOUND, "there is no session %.*s", STR_ARG(name));
        return s;
    }
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
    struct session_opts o = {.cwd = json_str(q, "cwd", ""),
                             .user = json_str(q, "user", ""),
                             .shell = json_str(q, "shell", ""),
                             .rows = (int)json_int(q, "rows", 0),
                             .cols = (int)json_int(q, "cols", 0)};
    s = NULL;
    if (env_put_json(&env, json_get(q, "env"), e) == 0) {
        o.env = buf_str(&env);
        s = session_get(c->en, name, &o, e);
    }
    buf_release(&env);
    return s;
}

/* The target of a request: the process that it names, otherwise its session. */
struct local_target {
    struct process *process; /* one of the two, borrowed */
    struct session *session;
};

static int find_target(struct conn *c, const struct json *q, struct local_target *t,
                       struct err *e)
{
    struct str name = json_str(q, "process", "");
    *t = (struct local_target){.process = name.n ? process_find(c->en, name) : NULL};
    if (name.n && !t->process)
        return err_set(e, ERR_NOTFOUND, "there is no process %.*s", STR_ARG(name));
    if (!t->process)
        t->session = session_of(c, q, false, e);
    return t->process || t->session ? 0 : -1;
}

/* Returns the arguments for the log, except the text of the command. */
static struct json *run_args(const struct json *q, const char *cwd)
{
    static const char *const names[] = {"user", "shell", "stdin", "parent",
                                        "rows", "cols",  NULL};
    struct json *args = json_object();
    json_put_z(args, "cwd", cwd);
    local_put(args, q, names);
    local_put_env(args, q);
    return args;
}

/*
 * Returns -1 and sets *e if the command has ended and its session no longer has the
 * result.
 */
static int open_run(struct conn *c, struct session *s, const struct json *q,
                    struct str command, struct err *e)
{
    struct json *args = run_args(q, session_cwd(s));
    struct command_seen seen;
    char id[LIMIT_ID + 1] = "";
    struct str given = json_str(q, "id", "");
    if (given.n <= LIMIT_ID)
        memcpy(id, given.p, given.n);
    if (utf8_valid(command))
        outside_put_text(c->en->actions, args, "command", command);
    else
        outside_put_text(c->en->actions, args, "command64", json_str(q, "command64", ""));
    if (local_open(c, "run", q, session_name(s), args) != OUTSIDE_OVER ||
        session_command(s, id, &seen))
        return 0;
    return err_set(e, ERR_GONE,
                   "this command has ended, and is not run again; %s -s %s --logs shows "
                   "the kept part of its output",
                   local_command(c, "od exec"), session_name(s));
}

int local_run(struct conn *c, const struct json *q, struct err *e)
{
    struct str command = STR(""), command64 = STR("");
    if (json_want_str(q, "command", &command, e) < 0 ||
        json_want_str(q, "command64", &command64, e) < 0)
        return -1;
    if (!json_is_string(json_get(q, "command")) &&
        !json_is_string(json_get(q, "command64")))
        return err_set(e, ERR_INVALID, "run needs a command");
    struct buf bytes = BUF_INIT(LIMIT_COMMAND_MAX);
    if (command64.n > 0 ? dec_base64(&bytes, command64) < 0
                        : buf_adds(&bytes, command) < 0) {
        buf_release(&bytes);
        return err_set(e, ERR_INVALID,
                       "the command is not base64, or longer than %d bytes",
                       LIMIT_COMMAND_MAX);
    }
    struct session *s = session_of(c, q, true, e);
    int r = s && open_run(c, s, q, buf_str(&bytes), e) == 0 ? 0 : -1;
    if (r == 0) {
        struct op *op = make_op(c, OP_RUN, q);
        struct action *a = local_action(c);
        buf_adds(&op->command, buf_str(&bytes));
        if (a)
            run_begins(a, op->id);
        local_on_cancel(c, on_cancel);
        session_run(s, op);
    }
    buf_release(&bytes);
    return r;
}

/* Waits for the end of a process. As text, the error output is separate, too. */
static void wait_process(struct conn *c, struct process *p, const struct json *q)
{
    struct op *op = make_op(c, OP_WAIT, q);
    op->term_err = new_term(c, q);
    process_wait(p, op);
}

int local_wait(struct conn *c, const struct json *q, struct err *e)
{
    char parent[LIMIT_ID + 1] = "";
    struct str caller = json_str(q, "parent", "");
    if (caller.n <= LIMIT_ID)
        memcpy(parent, caller.p, caller.n);
    struct local_target t;
    if (find_target(c, q, &t, e) < 0)
        return -1;
    if (t.process) {
        wait_process(c, t.process, q);
        return 0;
    }
    struct session *s = t.session;
    if (session_busy(s) && session_in_chain(s, parent))
        return err_set(e, ERR_BUSY,
                       "session %s is running the command that sends this request, so "
                       "waiting for it would never end",
                       session_name(s));
    session_wait(s, make_op(c, OP_WAIT, q));
    return 0;
}

void local_put_words(struct buf *out, const struct json *q)
{
    const struct json *v = json_first(json_get(q, "argv"));
    for (; v; v = json_next(v))
        buf_addf(out, "%s%.*s", out->n ? " " : "", STR_ARG(json_str_value(v, "")));
    if (!out->n)
        buf_adds(out, json_str(q, "command", ""));
}

static void open_new(struct conn *c, const struct json *q)
{
    static const char *const names[] = {"name", "cwd", "user", "stdin", NULL};
    struct json *args = json_object();
    struct buf words = BUF_INIT(LIMIT_COMMAND_MAX);
    local_put(args, q, names);
    local_put_env(args, q);
    local_put_words(&words, q);
    outside_put_text(c->en->actions, args, "command", buf_str(&words));
    buf_release(&words);
    local_open(c, "process", q, "main", args);
}

int local_new(struct conn *c, const struct json *q, struct err *e)
{
    struct str id = json_str(q, "id", "");
    char call[LIMIT_ID + 1] = "";
    if (id.n <= LIMIT_ID)
        memcpy(call, id.p, id.n);
    struct process *p = process_by_call(c->en, call);
    if (!p) {
        struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
        struct json *list = json_get(q, "argv");
        int n = json_count(list), i = 0;
        char **argv = xcalloc((size_t)n + 4, sizeof(char *));
        for (struct json *v = json_first(list); v; v = json_next(v)) {
            struct str s = json_str_value(v, "");
            argv[i++] = xstrndup(s.p, s.n);
        }
        struct str command = json_str(q, "command", "");
        if (i == 0 && command.n > 0) {
            argv[i++] = xstrdup("sh");
            argv[i++] = xstrdup("-c");
            argv[i++] = xstrndup(command.p, command.n);
        }
        struct process_opts o = {.name = json_str(q, "name", ""),
                                 .cwd = json_str(q, "cwd", ""),
                                 .user = json_str(q, "user", ""),
                                 .argv = argv,
                                 .call = call,
                                 .with_stdin = json_bool(q, "stdin", false)};
        if (i == 0)
            err_set(e, ERR_INVALID, "new needs argv or a command");
        else if (env_put_json(&env, json_get(q, "env"), e) == 0) {
            o.env = buf_str(&env);
            open_new(c, q);
            p = process_start(c->en, &o, e);
            if (!p)
                local_end_failed(c, e);
        }
        for (i = 0; argv[i]; i++)
            free(argv[i]);
        free(argv);
        buf_release(&env);
        if (!p)
            return -1;
    }
    struct action *a = local_action(c);
    if (a)
        follow_process(a, p);
    struct json *note = json_object();
    json_put_z(note, "note", "started");
    json_put_z(note, "process", process_name(p));
    local_send_json(c, 'N', note);
    json_free(note);
    wait_process(c, p, q);
    return 0;
}

int local_logs(struct conn *c, const struct json *q, struct err *e)
{
    struct local_target t;
    uint64_t end;
    bool err_stream = str_eq(json_str(q, "stream", ""), STR("err"));
    if (find_target(c, q, &t, e) < 0)
        return -1;
    struct session *s = t.session;
    if (t.process) {
        int fd;
        const struct keep_stream *k = process_stream(t.process, err_stream, &fd);
        end = k ? k->offset : 0;
    } else {
        struct session_view v;
        session_view(s, &v);
        end = v.scanned;
    }
    int64_t offset = json_int(q, "offset", 0), limit = json_int(q, "limit", -1);
    uint64_t from = offset >= 0               ? (uint64_t)offset
                    : (uint64_t)-offset < end ? end - (uint64_t)-offset
                                              : 0;
    struct op *op = make_op(c, OP_LOGS, q);
    op->stream = !op->term;
    op->filter = s != NULL;
    op->cursor = op->cursor_err = op->r.from = from;
    op->stderr_only = err_stream;
    op->output_from = 0;
    if (limit >= 0)
        op->limit = from + (uint64_t)limit;
    else if (!json_bool(q, "follow", false))
        op->limit = end;
    if (op->limit != UINT64_MAX)
        op->r.to = op->limit;
    if (s)
        session_wait(s, op);
    else
        process_wait(t.process, op);
    return 0;
}

void local_attach_over(struct conn *c, const struct op_result *r)
{
    struct json *extras = json_object();
    json_put_int(extras, "typed", (int64_t)c->typed);
    if (r && r->state == OP_FAILED) {
        json_free(extras);
        local_end_failed(c, &r->err);
        return;
    }
    if (r && r->state == OP_SHELL_ENDED)
        json_put_int(extras, "exit", r->exit);
    local_end(c, STR(""), extras);
}

/* Returns the record of the request's input, which earlier connections may have typed;
 * makes it if there is none, in place of the one that was used least recently. */
static struct local_typed *typed_of(struct local *l, const char *id)
{
    unsigned i = 0;
    while (i < LOCAL_TYPED_MAX - 1 && strcmp(l->typed[i].id, id) != 0)
        i++;
    struct local_typed t = l->typed[i];
    if (strcmp(t.id, id) != 0) {
        t = (struct local_typed){.to = 0};
        snprintf(t.id, sizeof(t.id), "%s", id);
    }
    memmove(l->typed + 1, l->typed, i * sizeof(t));
    l->typed[0] = t;
    return l->typed;
}

/*
 * A client that reconnects repeats the input that was not acknowledged. Keys that the
 * terminal has had already are skipped.
 */
bool local_type(struct conn *c, uint64_t offset, struct str bytes)
{
    struct local_typed once = {.to = offset};
    struct local_typed *t = c->typist[0] ? typed_of(c->front, c->typist) : &once;
    if (offset < t->to)
        bytes = str_sub(bytes, (size_t)(t->to - offset), bytes.n);
    if (bytes.n > 0) {
        if (!session_type(c->attached, bytes))
            return false;
        c->typed += bytes.n;
        t->to = (offset > t->to ? offset : t->to) + bytes.n;
    }
    frame_add_u64(&c->stream.out, 'W', t->to);
    task_defer(c->en->loop, &c->flush);
    return true;
}

int local_attach(struct conn *c, const struct json *q, struct err *e)
{
    struct session *s = session_of(c, q, true, e);
    if (!s)
        return -1;
    static const char *const names[] = {"rows", "cols", NULL};
    struct json *args = run_args(q, session_cwd(s));
    local_put(args, q, names);
    local_open(c, "attach", q, session_name(s), args);
    struct str id = json_str(q, "id", "");
    c->typed = 0;
    c->typist[0] = 0;
    if (id.n <= LIMIT_ID)
        memcpy(c->typist, id.p, id.n + 1);
    struct op *op = make_op(c, OP_VIEW, q);
    int rows = (int)json_int(q, "rows", 0), cols = (int)json_int(q, "cols", 0);
    if (rows > 0 && cols > 0)
        session_resize(s, rows, cols, e);
    c->attached = s;
    local_on_cancel(c, on_cancel);
    session_attach(s, op);
    return 0;
}

/*
 * While the terminal does not echo, as for a password, the log has only the number of
 * bytes that were typed.
 */
static enum outside_state open_input(struct conn *c, struct session *s,
                                     const struct json *q, struct str bytes)
{
    static const char *const names[] = {"keys", "eof", NULL};
    struct json *args = json_object();
    if (session_echoes(s)) {
        local_put(args, q, names);
        if (bytes.n > 0)
            json_put_str(args, "text", bytes);
    } else {
        struct json *named = json_array();
        char key[TERMKEY_MAX];
        size_t n = bytes.n;
        for (struct json *k = json_first(json_get(q, "keys")); k; k = json_next(k)) {
            struct str name = json_str_value(k, "");
            if (termkey(key, name, false) > 0)
                json_push_str(named, name);
            else
                n += name.n;
        }
        if (n > 0 || json_count(named) == 0)
            json_put_int(args, "bytes", (int64_t)n);
        if (json_count(named) > 0)
            json_put(args, "keys", named);
        else
            json_free(named);
        if (json_bool(q, "eof", false))
            json_put_bool(args, "eof", true);
    }
    return local_open(c, "input", q, session_name(s), args);
}

static int type_all(struct session *s, const struct json *q, struct str bytes,
                    struct err *e)
{
    int r = bytes.n > 0 ? session_input(s, bytes, e) : 0;
    for (struct json *k = json_first(json_get(q, "keys")); r == 0 && k; k = json_next(k))
        r = session_press(s, json_str_value(k, ""), e);
    return r == 0 && json_bool(q, "eof", false) ? session_eof(s, e) : r;
}

int local_input(struct conn *c, const struct json *q, struct err *e)
{
    struct session *s = session_of(c, q, false, e);
    if (!s)
        return -1;
    struct buf bytes = BUF_INIT(LIMIT_COMMAND_MAX);
    struct str data = json_str(q, "data", ""), data64 = json_str(q, "data64", "");
    struct str id = json_str(q, "id", "");
    int r = 0;
    if (data64.n > 0 ? dec_base64(&bytes, data64) < 0 : buf_adds(&bytes, data) < 0)
        r = err_set(e, ERR_INVALID, "the input is not base64, or longer than %d bytes",
                    LIMIT_COMMAND_MAX);
    if (r == 0 && json_bool(q, "enter", false))
        buf_addc(&bytes, '\r');
    enum outside_state state = r == 0 ? open_input(c, s, q, buf_str(&bytes))
                                      : OUTSIDE_NEW;
    if (r == 0 && state == OUTSIDE_OVER) {
        buf_release(&bytes);
        return local_again(c, e);
    }
    bool named = id.n > 0 && id.n <= LIMIT_ID;
    bool typed = named && state == OUTSIDE_AGAIN && session_input_call(s, id);
    if (r == 0 && named && !typed)
        session_input_as(s, id.p);
    if (r == 0 && !typed)
        r = type_all(s, q, buf_str(&bytes), e);
    buf_release(&bytes);
    return local_done(c, r, NULL, e);
}

static int signal_number(const struct json *q, int dflt, struct err *e)
{
    struct json *v = json_get(q, "signal");
    if (!v || json_is_null(v))
        return dflt;
    int sig = sig_number(json_str_value(v, ""), json_int_value(v, 0));
    if (sig)
        return sig;
    struct str s = json_str_value(v, "");
    return err_set(e, ERR_INVALID, "there is no signal %.*s", STR_ARG(s));
}

/* Logs the action under the target's session, or under "main" if that is a process. */
static enum outside_state open_target(struct conn *c, const char *kind,
                                      const struct json *q, const struct local_target *t)
{
    static const char *const names[] = {"signal", "op",   "end",     "grace_ms",
                                        "rows",   "cols", "process", NULL};
    struct json *args = json_object();
    local_put(args, q, names);
    return local_open(c, kind, q, t->session ? session_name(t->session) : "main", args);
}

int local_signal(struct conn *c, const struct json *q, struct err *e)
{
    struct local_target t;
    int sig = signal_number(q, SIGTERM, e);
    if (sig < 0 || find_target(c, q, &t, e) < 0)
        return -1;
    if (open_target(c, "signal", q, &t) == OUTSIDE_OVER)
        return local_again(c, e);
    int r = t.process ? process_signal(t.process, sig, false, e)
                      : session_signal(t.session, sig, (uint64_t)json_int(q, "op", 0), e);
    return local_done(c, r, NULL, e);
}

/* A kill in progress. It goes on when its caller disconnects. */
struct kill_ask {
    struct conn *c; /* NULL: it has disconnected */
    struct engine *en;
    char act[ACTION_KEY + 1];
};

static void on_killed(void *arg, const struct session_killed *r)
{
    struct kill_ask *k = arg;
    struct err e = ERR_INIT;
    struct json *j = json_object();
    if (r->late)
        err_set(&e, ERR_TIMEOUT,
                "cannot end what runs there: od-reaper, which signals its processes, has "
                "not answered in time, as where /proc hangs; try again");
    json_put_int(j, "processes", r->found);
    json_put_bool(j, "ended", r->ended);
    if (r->no_proc)
        json_put_z(j, "text",
                   "there is no /proc: only the session and its groups were "
                   "signalled");
    struct action *a = k->c ? NULL : outside_find(k->en->actions, k->act);
    if (k->c) {
        k->c->killing = NULL;
        if (local_done(k->c, e.code ? -1 : 0, j, &e) < 0)
            local_send_error(k->c, &e);
    } else if (a && !e.code) {
        outside_end(a, STR(""), j);
    } else {
        if (a)
            outside_fail(a, &e);
        json_free(j);
    }
    free(k);
}

void local_kill_drop(struct conn *c)
{
    c->killing->c = NULL;
    c->killing = NULL;
}

static int kill_process(struct conn *c, struct process *p, const struct json *q, int sig,
                        struct err *e)
{
    int r = 0;
    if (json_bool(q, "end", false) && process_ended(p))
        process_free(p);
    else
        r = process_signal(p, sig, true, e);
    return local_done(c, r, NULL, e);
}

int local_kill(struct conn *c, const struct json *q, struct err *e)
{
    struct local_target t;
    int sig = signal_number(q, SIGTERM, e);
    if (sig < 0 || find_target(c, q, &t, e) < 0)
        return -1;
    if (open_target(c, "kill", q, &t) == OUTSIDE_OVER)
        return local_again(c, e);
    if (t.process)
        return kill_process(c, t.process, q, sig, e);
    struct kill_ask *k = xnew(struct kill_ask);
    k->c = c;
    k->en = c->en;
    memcpy(k->act, c->act, sizeof(k->act));
    c->killing = k;
    session_kill(t.session, sig, json_int(q, "grace_ms", LIMIT_GRACE_MS),
                 json_bool(q, "end", false), on_killed, k);
    return 0;
}

int local_resize(struct conn *c, const struct json *q, struct err *e)
{
    struct local_target t = {.session = session_of(c, q, false, e)};
    if (!t.session)
        return -1;
    if (open_target(c, "resize", q, &t) == OUTSIDE_OVER)
        return local_again(c, e);
    int r = session_resize(t.session, (int)json_int(q, "rows", 0),
                           (int)json_int(q, "cols", 0), e);
    return local_done(c, r, NULL, e);
}
