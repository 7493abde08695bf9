/* SPDX-License-Identifier: MIT */
/*
 * Requests in frames. One table of verbs; a verb either answers at once or
 * hands an op to the engine, whose sink writes frames as the connection takes
 * them: output that does not fit stays in the spool, and op_pump is called when
 * there is room again.
 */
#include "front/local_own.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/eventlog.h"
#include "engine/plugins.h"
#include "engine/process.h"
#include "engine/session.h"
#include "front/events.h"
#include "front/http.h"
#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS_PER_TURN = 32 };

struct local {
    struct io io;
    struct engine *en;
    struct http *http;
    unsigned conns;
};

/* ---- answers ---- */

void local_send_json(struct conn *c, char type, const struct json *j)
{
    if (frame_add_json(&c->stream.out, type, j) < 0)
        log_warn("an answer is larger than a connection's buffer");
    task_defer(c->en->loop, &c->flush);
}

static void next_request(struct conn *c);

/* Takes the result; the connection is free for the next request. */
void local_send_result(struct conn *c, struct json *take)
{
    if (!c->closed)
        local_send_json(c, 'R', take);
    json_free(take);
    json_free(c->notes);
    json_free(c->gaps);
    c->notes = c->gaps = NULL;
    c->busy = false;
    c->op = NULL;
    c->attached = NULL;
    if (!c->closed)
        next_request(c);
}

struct json *local_ok(void)
{
    struct json *j = json_object();
    json_put_bool(j, "ok", true);
    return j;
}

/* exit: what the caller's own status should be, as a shell has it; 0: none. */
static void send_failure(struct conn *c, const struct err *e, int exit)
{
    struct json *j = json_object(), *er = json_object();
    json_put_bool(j, "ok", false);
    json_put_z(er, "code", err_name(e->code));
    json_put_z(er, "text", e->text);
    if (exit)
        json_put_int(er, "exit", exit);
    json_put(j, "error", er);
    local_send_result(c, j);
}

void local_send_error(struct conn *c, const struct err *e) { send_failure(c, e, 0); }

void local_send_note(struct conn *c, const char *kind, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, "note", kind);
    json_put_z(j, "text", text);
    local_send_json(c, 'N', j);
    if (!c->notes)
        c->notes = json_array();
    json_push(c->notes, j);
}

/* ---- the sink of an op ---- */

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct conn *c = op->owner;
    /* Far below the maximum: notes and the result are never put off. */
    if (c->closed)
        return 0;
    if (c->stream.out.n > LOCAL_QUEUED_MAX) {
        stream_want_room(&c->stream);
        return 0;
    }
    frame_add_bytes(&c->stream.out, stream ? 'E' : 'O', offset, bytes);
    task_defer(c->en->loop, &c->flush);
    return bytes.n;
}

static void on_note(struct op *op, const char *kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct conn *c = op->owner;
    if (strcmp(kind, "window") == 0) {
        frame_add_u64(&c->stream.out, 'W', from);
        task_defer(c->en->loop, &c->flush);
        task_defer(c->en->loop, &c->resume); /* input that waited for room */
    } else if (strcmp(kind, "started") == 0) {
        struct json *j = json_object();
        json_put_z(j, "note", kind);
        json_put_int(j, "op", (int64_t)from);
        json_put_int(j, "from", (int64_t)to);
        local_send_json(c, 'N', j);
        json_free(j);
        task_defer(c->en->loop, &c->resume);
    } else if (strcmp(kind, "gap") == 0) {
        if (!c->gaps)
            c->gaps = json_array();
        struct json *g = json_array();
        json_push_int(g, (int64_t)from);
        json_push_int(g, (int64_t)to);
        json_push(c->gaps, g);
        local_send_note(c, kind, text);
    } else {
        local_send_note(c, kind, text);
    }
}

static void put_look(struct json *j, const struct look *l)
{
    static const char *const states[] = {"no", "yes", "unknown"};
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
    uint64_t from, to;
};

static void cut_marker(struct buf *out, const struct term_text *t, void *arg)
{
    struct cut *cut = arg;
    const struct op *op = cut->op;
    cut->from = op->r.from + t->cut_from;
    cut->to = op->r.from + t->cut_to + op->skipped;
    buf_addf(out,
             "[... %llu lines, %llu bytes left out; od exec %s%s --logs --offset %llu "
             "--limit %llu shows them ...]",
             (unsigned long long)t->cut_lines, (unsigned long long)t->cut_bytes,
             op->session ? "-s " : "",
             op->session ? session_name(op->session) : process_name(op->process),
             (unsigned long long)cut->from, (unsigned long long)(cut->to - cut->from));
}

static void put_text(struct json *j, struct op *op)
{
    struct buf text = BUF_INIT(4 << 20);
    struct term_text info = {0};
    struct cut cut = {.op = op};
    term_text(op->term, &text, &info, cut_marker, &cut);
    json_put_str(j, "output", buf_str(&text));
    if (info.cut_bytes) {
        struct json *c = json_object();
        json_put_int(c, "from", (int64_t)cut.from);
        json_put_int(c, "to", (int64_t)cut.to);
        json_put_int(c, "bytes", (int64_t)info.cut_bytes);
        json_put_int(c, "lines", (int64_t)info.cut_lines);
        json_put(j, "cut", c);
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
    if (op->term)
        put_text(j, op);
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

static void on_done(struct op *op)
{
    struct conn *c = op->owner;
    if (op->r.state == OP_FAILED)
        send_failure(c, &op->r.err, op->r.exit);
    else
        local_send_result(c, result_json(c, op));
}

static const struct op_sink sink = {on_output, on_note, on_done};

/* ---- requests ---- */

static void want_text(struct op *op, const struct json *q)
{
    if (!json_bool(q, "text", false))
        return;
    struct term_opts o = {.head = LIMIT_TEXT_HEAD,
                          .tail = LIMIT_TEXT_TAIL,
                          .keep_tabs = true,
                          .rows = (int)json_int(q, "rows", 50),
                          .cols = (int)json_int(q, "cols", 200)};
    op->term = term_new(&o);
}

static struct op *make_op(struct conn *c, enum op_kind kind, const struct json *q)
{
    struct op *op = op_new(kind, &sink, c);
    struct str id = json_str(q, "id", ""), parent = json_str(q, "parent", "");
    if (id.n <= OP_ID_MAX)
        memcpy(op->id, id.p, id.n);
    if (parent.n <= OP_ID_MAX)
        memcpy(op->parent, parent.p, parent.n);
    op->timeout_ms = json_int(q, "timeout_ms", 0);
    op->idle_ms = json_int(q, "idle_ms", 0);
    op->stream = json_bool(q, "stream", false);
    op->with_stdin = json_bool(q, "stdin", false);
    op->no_wait = json_bool(q, "no_wait", false);
    op->detach = json_bool(q, "detach", false);
    op->return_on_input = str_eq(json_str(q, "on_input", "report"), STR("return"));
    int64_t from = json_int(q, "output_from", 0);
    op->output_from = from > 0 ? (uint64_t)from : 0;
    want_text(op, q);
    c->op = op;
    return op;
}

/* {"NAME": "VALUE"} as NAME=VALUE strings. */
int local_env(const struct json *q, struct buf *out, struct err *e)
{
    struct json *env = json_get(q, "env");
    for (struct json *v = json_first(env); v; v = json_next(v)) {
        struct str value = json_str_value(v, "");
        const char *name = json_name(v);
        if (!json_is_object(env) || !name || !*name || strchr(name, '='))
            return err_set(e, ERR_INVALID, "env must be an object of names and strings");
        if (buf_addf(out, "%s=%.*s", name, STR_ARG(value)) < 0 || buf_addc(out, 0) < 0)
            return err_set(e, ERR_LIMIT, "env is longer than %d bytes", LIMIT_SPAWN_MAX);
    }
    return 0;
}

static struct session *session_of(struct conn *c, const struct json *q, bool make,
                                  struct err *e)
{
    struct str name = json_str(q, "session", "main");
    struct session *s = session_find(c->en, name);
    if (s)
        return s;
    if (!make) {
        err_set(e, ERR_NOTFOUND, "there is no session %.*s", STR_ARG(name));
        return NULL;
    }
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
    struct session_opts o = {.cwd = json_str(q, "cwd", ""),
                             .user = json_str(q, "user", ""),
                             .shell = json_str(q, "shell", ""),
                             .rows = (int)json_int(q, "rows", 0),
                             .cols = (int)json_int(q, "cols", 0)};
    if (local_env(q, &env, e) == 0) {
        o.env = buf_str(&env);
        s = session_get(c->en, name, &o, e);
    }
    buf_release(&env);
    return s;
}

/* What a request is about: the process that it names, else its session. */
struct target {
    struct process *process; /* one of the two, borrowed */
    struct session *session;
};

static int find_target(struct conn *c, const struct json *q, struct target *t,
                       struct err *e)
{
    struct str name = json_str(q, "process", "");
    *t = (struct target){.process = name.n ? process_find(c->en, name) : NULL};
    if (name.n && !t->process)
        return err_set(e, ERR_NOTFOUND, "there is no process %.*s", STR_ARG(name));
    if (!t->process)
        t->session = session_of(c, q, false, e);
    return t->process || t->session ? 0 : -1;
}

static int do_run(struct conn *c, const struct json *q, struct err *e)
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
                       "the command is no base64, or longer than %d bytes",
                       LIMIT_COMMAND_MAX);
    }
    struct session *s = session_of(c, q, true, e);
    if (s) {
        struct op *op = make_op(c, OP_RUN, q);
        buf_adds(&op->command, buf_str(&bytes));
        session_run(s, op);
    }
    buf_release(&bytes);
    return s ? 0 : -1;
}

static int do_wait(struct conn *c, const struct json *q, struct err *e)
{
    char parent[OP_ID_MAX + 1] = "";
    struct str caller = json_str(q, "parent", "");
    if (caller.n <= OP_ID_MAX)
        memcpy(parent, caller.p, caller.n);
    struct target t;
    if (find_target(c, q, &t, e) < 0)
        return -1;
    if (t.process) {
        process_wait(t.process, make_op(c, OP_WAIT, q));
        return 0;
    }
    struct session *s = t.session;
    if (session_busy(s) && session_in_chain(s, parent))
        return err_set(e, ERR_BUSY,
                       "session %s is running the command that asks, so waiting for it "
                       "would never end",
                       session_name(s));
    session_wait(s, make_op(c, OP_WAIT, q));
    return 0;
}

static int do_new(struct conn *c, const struct json *q, struct err *e)
{
    struct str id = json_str(q, "id", "");
    char call[OP_ID_MAX + 1] = "";
    if (id.n <= OP_ID_MAX)
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
                                 .with_stdin = json_bool(q, "stdin", false)};
        if (i == 0)
            err_set(e, ERR_INVALID, "new needs argv or a command");
        else if (local_env(q, &env, e) == 0) {
            o.env = buf_str(&env);
            p = process_start(c->en, &o, e);
        }
        for (i = 0; argv[i]; i++)
            free(argv[i]);
        free(argv);
        buf_release(&env);
        if (!p)
            return -1;
        process_set_call(p, call);
    }
    struct json *note = json_object();
    json_put_z(note, "note", "started");
    json_put_z(note, "process", process_name(p));
    local_send_json(c, 'N', note);
    json_free(note);
    process_wait(p, make_op(c, OP_WAIT, q));
    return 0;
}

static int do_logs(struct conn *c, const struct json *q, struct err *e)
{
    struct target t;
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

static int do_attach(struct conn *c, const struct json *q, struct err *e)
{
    struct session *s = session_of(c, q, true, e);
    if (!s)
        return -1;
    struct op *op = make_op(c, OP_VIEW, q);
    int rows = (int)json_int(q, "rows", 0), cols = (int)json_int(q, "cols", 0);
    if (rows > 0 && cols > 0)
        session_resize(s, rows, cols, e);
    c->attached = s;
    session_attach(s, op);
    return 0;
}

static int do_input(struct conn *c, const struct json *q, struct err *e)
{
    struct session *s = session_of(c, q, false, e);
    if (!s)
        return -1;
    struct buf bytes = BUF_INIT(LIMIT_COMMAND_MAX);
    struct str data = json_str(q, "data", ""), data64 = json_str(q, "data64", "");
    int r = 0;
    if (data64.n > 0 ? dec_base64(&bytes, data64) < 0 : buf_adds(&bytes, data) < 0)
        r = err_set(e, ERR_INVALID, "the input is no base64, or longer than %d bytes",
                    LIMIT_COMMAND_MAX);
    if (r == 0 && json_bool(q, "enter", false))
        buf_addc(&bytes, '\r');
    if (r == 0 && bytes.n > 0)
        r = session_input(s, buf_str(&bytes), e);
    for (struct json *k = json_first(json_get(q, "keys")); r == 0 && k; k = json_next(k))
        r = session_key(s, json_str_value(k, ""), e);
    if (r == 0 && json_bool(q, "eof", false))
        r = session_eof(s, e);
    buf_release(&bytes);
    if (r == 0)
        local_send_result(c, local_ok());
    return r;
}

static int signal_number(const struct json *q, int dflt, struct err *e)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT},
                 {"KILL", SIGKILL}, {"USR1", SIGUSR1},   {"USR2", SIGUSR2},
                 {"TERM", SIGTERM}, {"CONT", SIGCONT},   {"STOP", SIGSTOP},
                 {"TSTP", SIGTSTP}, {"WINCH", SIGWINCH}, {"ALRM", SIGALRM},
                 {"PIPE", SIGPIPE}, {"ABRT", SIGABRT}};
    struct json *v = json_get(q, "signal");
    if (!v || json_is_null(v))
        return dflt;
    if (json_is_number(v)) {
        int64_t n = json_int_value(v, 0);
        if (n > 0 && n < _NSIG)
            return (int)n;
    }
    struct str s = json_str_value(v, "");
    uint64_t n;
    if (str_to_u64(s, &n) == 0 && n > 0 && n < _NSIG)
        return (int)n;
    if (s.n > 3 && strncasecmp(s.p, "SIG", 3) == 0)
        s = str_sub(s, 3, s.n);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (s.n == strlen(names[i].name) && strncasecmp(s.p, names[i].name, s.n) == 0)
            return names[i].number;
    }
    return err_set(e, ERR_INVALID, "there is no signal %.*s", STR_ARG(s));
}

static int do_signal(struct conn *c, const struct json *q, struct err *e)
{
    struct target t;
    int sig = signal_number(q, SIGTERM, e);
    if (sig < 0 || find_target(c, q, &t, e) < 0 ||
        (t.process
             ? process_signal(t.process, sig, false, e)
             : session_signal(t.session, sig, (uint64_t)json_int(q, "op", 0), e)) < 0)
        return -1;
    local_send_result(c, local_ok());
    return 0;
}

static void on_killed(void *arg, int found, bool no_proc, bool ended)
{
    struct conn *c = arg;
    struct json *j = local_ok();
    c->killing = NULL;
    json_put_int(j, "processes", found);
    json_put_bool(j, "ended", ended);
    if (no_proc)
        json_put_z(j, "text",
                   "there is no /proc: only the session and its groups were "
                   "signalled");
    local_send_result(c, j);
}

static int do_kill(struct conn *c, const struct json *q, struct err *e)
{
    struct target t;
    int sig = signal_number(q, SIGTERM, e);
    if (sig < 0 || find_target(c, q, &t, e) < 0)
        return -1;
    if (t.process) {
        if (json_bool(q, "end", false) && process_ended(t.process))
            process_free(t.process);
        else if (process_signal(t.process, sig, true, e) < 0)
            return -1;
        local_send_result(c, local_ok());
        return 0;
    }
    c->killing = t.session;
    session_kill(t.session, sig, json_int(q, "grace_ms", LIMIT_GRACE_MS),
                 json_bool(q, "end", false), on_killed, c);
    return 0;
}

static int do_resize(struct conn *c, const struct json *q, struct err *e)
{
    struct session *s = session_of(c, q, false, e);
    if (!s || session_resize(s, (int)json_int(q, "rows", 0), (int)json_int(q, "cols", 0),
                             e) < 0)
        return -1;
    local_send_result(c, local_ok());
    return 0;
}

static int do_list(struct conn *c, const struct json *q, struct err *e)
{
    (void)q;
    (void)e;
    struct json *j = local_ok(), *ss = json_array(), *ps = json_array();
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&c->en->sessions, it, &key, &value));)
        json_push(ss, session_json(value));
    for (void *it = NULL; (it = map_next(&c->en->processes, it, &key, &value));)
        json_push(ps, process_json(value));
    json_put(j, "sessions", ss);
    json_put(j, "processes", ps);
    local_send_result(c, j);
    return 0;
}

static int do_info(struct conn *c, const struct json *q, struct err *e)
{
    (void)q;
    (void)e;
    struct json *j = local_ok();
    json_put_int(j, "pid", getppid());
    json_put_int(j, "worker", getpid());
    json_put_int(j, "uptime_ms", clock_ms() - c->en->started_ms);
    json_put_z(j, "state_dir", c->en->state_dir);
    struct json *backend = c->http ? http_backend(c->http) : NULL;
    if (backend)
        json_put(j, "connect", backend);
    local_send_result(c, j);
    return 0;
}

static int do_stop(struct conn *c, const struct json *q, struct err *e)
{
    (void)e;
    local_send_result(c, local_ok());
    engine_stop(c->en, json_int(q, "grace_ms", LIMIT_GRACE_MS));
    return 0;
}

static void on_upgraded(void *arg, struct str why)
{
    struct conn *c = arg;
    struct err e = ERR_INIT;
    struct json *j = local_ok();
    c->upgrading = false;
    json_put_int(j, "worker", getpid());
    if (why.n == 0) {
        local_send_result(c, j);
        return;
    }
    json_free(j);
    err_set(&e, ERR_UNSUPPORTED, "%.*s", STR_ARG(why));
    local_send_error(c, &e);
}

/*
 * This worker ends if all goes well, and its client asks the next one with the
 * same id, which is how the keeper knows the request.
 */
static int do_upgrade(struct conn *c, const struct json *q, struct err *e)
{
    struct str path = json_str(q, "path", ""), id = json_str(q, "id", "");
    char name[4096], digits[17] = "";
    if (path.n == 0 || path.p[0] != '/' || path.n >= sizeof(name))
        return err_set(e, ERR_INVALID, "upgrade needs the absolute path of a file");
    memcpy(name, path.p, path.n + 1);
    memcpy(digits, id.p, id.n < 16 ? id.n : 16);
    uint64_t token = strtoull(digits, NULL, 16);
    if (token == 0)
        return err_set(e, ERR_INVALID, "upgrade needs an id, of hexadecimal digits");
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    c->upgrading = true;
    hold_upgrade(c->en->hold, token, fd, path, on_upgraded, c);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* ---- events ---- */

static struct eventlog *log_of(const struct conn *c)
{
    return c->http ? events_log(http_events(c->http)) : NULL;
}

static void read_events_on(struct conn *c)
{
    struct err e = ERR_INIT;
    struct buf lines = BUF_INIT(LIMIT_EVENT_MAX + LOCAL_QUEUED_MAX);
    long n = 1;
    while (c->stream.out.n <= LOCAL_QUEUED_MAX &&
           (n = eventlog_read(log_of(c), &c->cursor, &lines, LOCAL_QUEUED_MAX / 4, &e)) >
               0) {
        frame_add_bytes(&c->stream.out, 'O', c->cursor.next, buf_str(&lines));
        buf_reset(&lines);
    }
    buf_release(&lines);
    task_defer(c->en->loop, &c->flush);
    if (n > 0)
        stream_want_room(&c->stream);
    else if (n < 0 || !c->follow) {
        c->reading = false;
        eventlog_unsubscribe(&c->sub);
        if (n < 0)
            local_send_error(c, &e);
        else
            local_send_result(c, local_ok());
    }
}

static void on_events(struct event_sub *s)
{
    struct conn *c = container_of(s, struct conn, sub);
    if (c->stream.out.n <= LOCAL_QUEUED_MAX)
        read_events_on(c);
}

static int do_events(struct conn *c, const struct json *q, struct err *e)
{
    int64_t since = json_int(q, "since", 0);
    if (!log_of(c) || since < 0)
        return err_set(e, ERR_INVALID, "since must be the id of an event, or 0");
    if ((uint64_t)since >= eventlog_next(log_of(c)))
        return err_set(e, ERR_NOTFOUND,
                       "there is no event %lld yet: the last one is %llu",
                       (long long)since,
                       (unsigned long long)eventlog_next(log_of(c)) - 1);
    c->cursor = (struct event_cursor){.next = (uint64_t)since + 1};
    c->follow = json_bool(q, "follow", false);
    c->reading = true;
    eventlog_subscribe(log_of(c), &c->sub, on_events);
    read_events_on(c);
    return 0;
}

static const struct verb {
    const char *name;
    local_verb *run;
    bool begins; /* something that has the plugins' variables */
} verbs[] = {
    {"run", do_run, true},
    {"wait", do_wait, false},
    {"input", do_input, false},
    {"signal", do_signal, false},
    {"kill", do_kill, false},
    {"resize", do_resize, false},
    {"list", do_list, false},
    {"logs", do_logs, false},
    {"attach", do_attach, true},
    {"new", do_new, true},
    {"info", do_info, false},
    {"stop", do_stop, false},
    {"upgrade", do_upgrade, false},
    {"cell", local_cell, true},
    {"kernels", local_kernels, false},
    {"kernel", local_kernel, false},
    {"browse", local_browse, true},
    {"browsers", local_browsers, false},
    {"browser", local_browser, false},
    {"events", do_events, false},
    {"skill", local_skill, false},
};

/* Members by type: one of another type is an error and never a default. */
static int check_types(const struct json *q, struct err *e)
{
    static const char *const strings[] = {
        "do",    "id",   "parent",   "session", "process",   "command", "command64",
        "cwd",   "user", "shell",    "name",    "data",      "data64",  "on_input",
        "term",  "path", "code",     "kernel",  "choice",    "verb",    "spec",
        "skill", "home", "question", "mode",    "downloads", "cdp"};
    static const char *const ints[] = {"timeout_ms", "idle_ms", "output_from", "rows",
                                       "cols",       "offset",  "limit",       "grace_ms",
                                       "op",         "v",       "since",       "at"};
    static const char *const bools[] = {"stdin", "no_wait", "detach", "text",   "enter",
                                        "eof",   "follow",  "end",    "silent", "history",
                                        "ask",   "lint",    "verbose"};
    struct str s;
    int64_t i;
    bool b;
    for (size_t k = 0; k < sizeof(strings) / sizeof(strings[0]); k++) {
        if (json_want_str(q, strings[k], &s, e) < 0)
            return -1;
    }
    for (size_t k = 0; k < sizeof(ints) / sizeof(ints[0]); k++) {
        if (json_want_int(q, ints[k], &i, e) < 0)
            return -1;
    }
    for (size_t k = 0; k < sizeof(bools) / sizeof(bools[0]); k++) {
        if (json_want_bool(q, bools[k], &b, e) < 0)
            return -1;
    }
    struct json *env = json_get(q, "env");
    if (env && !json_is_null(env) && !json_is_object(env))
        return err_set(e, ERR_INVALID, "env must be an object of names and strings");
    for (struct json *v = json_first(env); v; v = json_next(v)) {
        const char *name = json_name(v);
        if (!json_is_string(v) || !name || !*name || strchr(name, '='))
            return err_set(e, ERR_INVALID, "env must be an object of names and strings");
    }
    return 0;
}

static void answer(struct conn *c, struct json *take, struct err *e);

static void on_set_up(struct plugins_wait *w)
{
    struct conn *c = container_of(w, struct conn, setup);
    struct json *q = c->held;
    struct err e = ERR_INIT;
    c->held = NULL;
    answer(c, q, &e);
    task_defer(c->en->loop, &c->resume); /* its input, which lay behind it */
}

static void hold_request(struct conn *c, struct json *take)
{
    c->held = take;
    plugins_await(c->en->plugins, &c->setup, on_set_up);
    local_send_note(c, "queued", "the plugins are being set up; it begins after that");
}

/*
 * What would begin before the plugins are set up waits for that, unless it exists
 * already, or it is the setup that asks.
 */
static bool must_wait(struct conn *c, const struct json *q, const struct verb *v)
{
    bool session = v->run == do_run || v->run == do_attach;
    return v->begins && !c->en->stopping && plugins_busy(c->en->plugins) &&
           !str_eq(json_str(q, "parent", ""), STR(PLUGIN_CALLER)) &&
           !(session && session_find(c->en, json_str(q, "session", "main")));
}

/* Takes q, which may be NULL: then e says why. */
static void answer(struct conn *c, struct json *q, struct err *e)
{
    int r = -1;
    if (q && json_int(q, "v", 0) != FRAME_VERSION)
        err_set(e, ERR_UNSUPPORTED,
                "this server speaks version %d of its protocol; use the "
                "od that started it",
                FRAME_VERSION);
    else if (q && c->en->stopping)
        err_set(e, ERR_CANCELLED, "the server is stopping");
    else if (q && !json_is_object(q))
        err_set(e, ERR_INVALID, "a request is a JSON object");
    else if (q && check_types(q, e) == 0) {
        struct str name = json_str(q, "do", "");
        err_set(e, ERR_INVALID, "there is no request %.*s",
                name.n > 40 ? 40 : (int)name.n, name.p);
        for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
            if (str_eq(name, str_of(verbs[i].name))) {
                e->code = ERR_NONE;
                if (must_wait(c, q, &verbs[i])) {
                    hold_request(c, q);
                    return;
                }
                r = verbs[i].run(c, q, e);
                break;
            }
        }
    }
    json_free(q);
    if (r < 0)
        local_send_error(c, e);
}

static void request(struct conn *c, struct str text)
{
    struct err e = ERR_INIT;
    c->busy = true;
    answer(c, json_parse(text, &e), &e);
}

/* ---- frames ---- */

/* Input for what the request runs. false: no room now, later. */
static bool input(struct conn *c, struct str payload)
{
    uint64_t offset, accepted = 0;
    struct str bytes;
    if (frame_bytes(payload, &offset, &bytes) < 0)
        return true;
    if (c->attached)
        return bytes.n == 0 || session_type(c->attached, bytes);
    struct op *op = c->op;
    if (c->held)
        return false;
    if (!op || op->settled)
        return true;
    if (op->queued)
        return false; /* not started: it stays where it is */
    bool eof = bytes.n == 0;
    size_t room = op->session ? session_stdin_room(op->session, op->id, &accepted)
                              : process_stdin_room(op->process, &accepted);
    if (bytes.n > room)
        return op->with_stdin ? false : true;
    if (op->session)
        session_stdin(op->session, offset, bytes, eof);
    else
        process_stdin(op->process, offset, bytes, eof);
    return true;
}

/* A terminal's size, or what a cell asked for. */
static void resize(struct conn *c, struct str text)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(text, &e);
    if (j && c->cell)
        local_cell_answer(c, j);
    else if (j && c->browse)
        local_browse_say(c, j);
    else if (j && c->attached)
        session_resize(c->attached, (int)json_int(j, "rows", 0),
                       (int)json_int(j, "cols", 0), &e);
    json_free(j);
}

static void drop_held(struct conn *c)
{
    plugins_unwait(&c->setup);
    json_free(c->held);
    c->held = NULL;
}

static void cancel(struct conn *c)
{
    if (c->held) {
        struct json *j = local_ok();
        json_put_z(j, "state", "none");
        drop_held(c);
        local_send_result(c, j);
    } else if (c->cell) {
        local_cell_drop(c);
        local_send_result(c, local_ok());
    } else if (c->skill) {
        local_skill_drop(c);
        local_send_result(c, local_ok());
    } else if (c->browse) {
        local_browse_drop(c);
        local_send_result(c, local_ok());
    } else if (c->attached && c->op) {
        struct session *s = c->attached;
        session_detach(s, c->op);
        local_send_result(c, local_ok());
    } else if (c->reading) {
        c->reading = false;
        eventlog_unsubscribe(&c->sub);
        local_send_result(c, local_ok());
    } else if (c->op && !c->op->settled) {
        struct op *op = c->op;
        op->r.state = op->queued ? OP_NOTHING : OP_RUNNING;
        op->r.why = OP_CANCELLED;
        op->r.to = op->cursor == UINT64_MAX ? 0 : op->cursor;
        op_settle(op);
    }
}

/* Frames that are there, up to one that must wait. */
static void next_request(struct conn *c)
{
    struct frame f;
    size_t used;
    int r;
    while (!c->closed && (r = frame_parse(buf_str(&c->stream.in), &f, &used)) != 0) {
        if (r < 0) {
            log_warn("a frame is longer than %u bytes, the connection is closed",
                     FRAME_MAX);
            c->stream.ev->on_end(&c->stream, 0);
            return;
        }
        if (f.type == 'Q' && c->busy)
            return; /* the next one waits for the result */
        if (f.type == 'I' && !input(c, f.payload)) {
            /* Nothing after it can be dealt with: the peer's own buffer fills. */
            return;
        }
        struct buf keep = BUF_INIT(FRAME_MAX);
        bool copy = f.type == 'Q' || f.type == 'Z';
        if (copy)
            buf_adds(&keep, f.payload);
        char type = f.type;
        buf_consume(&c->stream.in, used);
        if (type == 'Q')
            request(c, buf_str(&keep));
        else if (type == 'Z')
            resize(c, buf_str(&keep));
        else if (type == 'X')
            cancel(c);
        buf_release(&keep);
    }
}

static void on_flush(struct task *t)
{
    stream_flush(&container_of(t, struct conn, flush)->stream);
}

static void on_resume(struct task *t)
{
    next_request(container_of(t, struct conn, resume));
}

static void on_data(struct stream *st)
{
    next_request(container_of(st, struct conn, stream));
}

static void on_room(struct stream *st)
{
    struct conn *c = container_of(st, struct conn, stream);
    if (c->cell)
        local_cell_room(c);
    else if (c->skill)
        local_skill_room(c);
    else if (c->browse)
        local_browse_room(c);
    else if (c->op)
        op_pump(c->op);
    if (c->reading)
        read_events_on(c);
}

static void conn_free(void *p)
{
    struct conn *c = p;
    json_free(c->notes);
    json_free(c->gaps);
    free(c);
}

static void on_end(struct stream *st, int errnum)
{
    struct conn *c = container_of(st, struct conn, stream);
    (void)errnum;
    if (c->closed)
        return;
    c->closed = true;
    drop_held(c);
    if (c->cell)
        local_cell_drop(c);
    else if (c->skill)
        local_skill_drop(c);
    else if (c->browse)
        local_browse_drop(c);
    else if (c->attached && c->op)
        session_detach(c->attached, c->op);
    else if (c->op)
        op_drop(c->op);
    if (c->killing)
        session_kill_cancel(c->killing, c);
    eventlog_unsubscribe(&c->sub);
    if (c->upgrading)
        hold_ask_cancel(c->en->hold, c);
    c->en->clients--;
    c->front->conns--;
    engine_touch(c->en);
    task_cancel(&c->resume);
    task_cancel(&c->flush);
    stream_close(&c->stream);
    loop_bury(c->en->loop, c, conn_free);
}

static const struct stream_events events = {on_data, on_room, on_end, NULL};

static bool trusted(int fd, const struct engine *en)
{
    struct ucred u;
    socklen_t n = sizeof(u);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &n) == 0 &&
           (u.uid == en->uid || u.uid == 0);
}

static void on_accept(struct io *io, uint32_t ev)
{
    struct local *l = container_of(io, struct local, io);
    (void)ev;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                log_warn("cannot accept a connection: %m");
            return;
        }
        if (!trusted(fd, l->en) || l->conns >= LIMIT_CONNS_MAX) {
            log_warn("a connection was refused: %s",
                     l->conns >= LIMIT_CONNS_MAX ? "too many" : "another user");
            close(fd);
            continue;
        }
        struct conn *c = xnew(struct conn);
        c->front = l;
        c->en = l->en;
        c->http = l->http;
        list_init(&c->sub.node);
        task_init(&c->resume, on_resume);
        task_init(&c->flush, on_flush);
        if (stream_open(&c->stream, l->en->loop, fd, FRAME_MAX + FRAME_HEAD,
                        LIMIT_CONN_OUT_MAX, &events) < 0) {
            close(fd);
            free(c);
            continue;
        }
        c->stream.low = LOCAL_QUEUED_MAX / 2;
        l->conns++;
        l->en->clients++;
        engine_touch(l->en);
    }
}

struct local *local_open(struct engine *en, struct http *http, int fd)
{
    struct local *l = xnew(struct local);
    l->en = en;
    l->http = http;
    if (io_start(en->loop, &l->io, fd, EPOLLIN, on_accept) < 0) {
        free(l);
        return NULL;
    }
    return l;
}

void local_close(struct local *l)
{
    if (!l)
        return;
    int fd = l->io.fd;
    io_stop(&l->io);
    close(fd);
    free(l);
}
