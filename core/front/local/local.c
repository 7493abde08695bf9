/* SPDX-License-Identifier: MIT */
/*
 * The unix socket of `od exec` and the other applets: between the frames of ipc/frame.h
 * and the engine. A connection holds the state of one request and nothing else. Peers
 * must have the server's own uid or be root (net/peer.h). Others get only one result,
 * with the error DENIED.
 *
 * Requests come in frames. A table has the verbs. A verb either answers at once or hands
 * an op to the engine, whose sink writes frames at the connection's pace. The verbs of
 * each kind have a file: session.c, events.c, cell.c, browse.c, skill.c, mcp.c; they
 * share own.h.
 */
#include "front/local/own.h"

#include "front/terminal/recording.h"
#include "action/run.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "eventlog/eventlog.h"
#include "fence/fence.h"
#include "ipc/frame.h"
#include "net/peer.h"
#include "setup/plugins.h"
#include "shell/process.h"
#include "shell/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_PER_TURN = 32,
    COMMAND_NAME_MAX = 200,
    LATE_MS = 20 /* before a note is sent by itself that can wait for the result */
};

/* ---- answers ---- */

static void flush(struct conn *c)
{
    timer_stop(&c->late);
    task_cancel(&c->flush);
    stream_flush(&c->stream);
}

static void add_json(struct conn *c, char type, const struct json *j)
{
    if (frame_add_json(&c->stream.out, type, j) < 0) {
        static const char longer[] = "{\"ok\":false,\"error\":{\"code\":\"LIMIT\","
                                     "\"text\":\"the answer is larger than "
                                     "a connection can pass\"}}";
        log_warn("an answer is larger than a connection's buffer");
        /* A caller that waits for its result gets this one, or the end of the connection
         * if there is no room for it. */
        if (type == 'R' && frame_add(&c->stream.out, 'R', STR(longer)) < 0)
            stream_shutdown(&c->stream);
    }
}

void local_send_json(struct conn *c, char type, const struct json *j)
{
    add_json(c, type, j);
    task_defer(c->en->loop, &c->flush);
}

static void on_late(struct timer *t) { flush(container_of(t, struct conn, late)); }

void local_send_later(struct conn *c, const struct json *j)
{
    add_json(c, 'N', j);
    if (!timer_active(&c->late))
        timer_begin(c->en->loop, &c->late, LATE_MS, on_late);
}

static void next_request(struct conn *c);

/* Sends the result, which it takes. The connection is then free for the next request. */
void local_send_result(struct conn *c, struct json *take)
{
    ASSERT(take);
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

void local_send_failure(struct conn *c, const struct err *e, int exit)
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

void local_send_error(struct conn *c, const struct err *e)
{
    local_send_failure(c, e, 0);
}

bool local_send_text(struct conn *c, struct str text, size_t *sent)
{
    while (*sent < text.n && c->stream.out.n < LOCAL_QUEUED_MAX) {
        struct str part = str_sub(text, *sent, 64 << 10);
        if (frame_add_bytes(&c->stream.out, 'O', *sent, part) < 0)
            break;
        *sent += part.n;
        stream_flush(&c->stream);
    }
    if (*sent < text.n)
        stream_want_room(&c->stream);
    return *sent == text.n;
}

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

/* ---- the server ---- */

static struct json *sessions_json(struct engine *en)
{
    struct json *ss = json_array();
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        if (!session_never_was(value))
            json_push(ss, session_json(value));
    return ss;
}

static int do_list(struct conn *c, const struct json *q, struct err *e)
{
    (void)q;
    (void)e;
    struct json *j = local_ok(), *ss = sessions_json(c->en), *ps = json_array();
    struct str key;
    void *value;
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
    static const char *const words[] = {"name", "version", "socket"};
    const struct json *about = fronts_about(c->all);
    struct json *j = local_ok(), *addresses = json_array();
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        json_put_str(j, words[i], json_str(about, words[i], ""));
    for (struct json *v = json_first(json_get(about, "addresses")); v; v = json_next(v))
        json_push_str(addresses, json_str_value(v, ""));
    json_put(j, "addresses", addresses);
    json_put(j, "sessions", sessions_json(c->en));
    json_put_int(j, "pid", getppid());
    json_put_int(j, "worker", getpid());
    json_put_int(j, "uptime_ms", clock_ms() - c->en->started_ms);
    json_put_z(j, "state_dir", c->en->state_dir);
    if (c->en->fence)
        json_put(j, "fence", json_copy(c->en->fence));
    fronts_status(c->all, j);
    local_send_result(c, j);
    return 0;
}

static int do_keys(struct conn *c, const struct json *q, struct err *e)
{
    struct json *j = fronts_ask_keys(c->all, q, e);
    if (!j)
        return -1;
    json_put_bool(j, "ok", true);
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
 * If all goes well, this worker ends. The client then repeats the request to the next
 * worker, with the same id, by which the keeper recognises it.
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
    keeper_client_upgrade(c->en->keeper, token, fd, path, on_upgraded, c);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* ---- verbs ---- */

static const struct verb {
    const char *name;
    local_verb *run;
    bool begins; /* begins a program, which gets the plugins' variables */
} verbs[] = {
    {"run", local_run, true},          {"wait", local_wait, false},
    {"input", local_input, false},     {"signal", local_signal, false},
    {"kill", local_kill, false},       {"resize", local_resize, false},
    {"list", do_list, false},          {"logs", local_logs, false},
    {"attach", local_attach, true},    {"new", local_new, true},
    {"info", do_info, false},          {"stop", do_stop, false},
    {"upgrade", do_upgrade, false},    {"cell", local_cell, true},
    {"kernels", local_kernels, false}, {"kernel", local_kernel, false},
    {"browse", local_browse, true},    {"browsers", local_browsers, false},
    {"browser", local_browser, false}, {"events", local_events, false},
    {"skill", local_skill, false},     {"keys", do_keys, false},
    {"mcp", local_mcp, false},         {"submit", local_submit, false},
    {"tmux", local_tmux, false},       {"cast", local_cast, false},
    {"visit", local_visit, false},
};

#define COUNT(names) (sizeof(names) / sizeof((names)[0]))

static bool is_one(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* Checks the types of members. A wrong type is an error, never replaced by a default. */
static int check_types(const struct json *q, struct err *e)
{
    static const char *const strings[] = {
        "do",        "id",       "as",   "parent",   "session", "process",   "command",
        "command64", "cwd",      "user", "shell",    "name",    "data",      "data64",
        "on_input",  "term",     "path", "code",     "kernel",  "choice",    "verb",
        "spec",      "skill",    "home", "question", "mode",    "downloads", "cdp",
        "right",     "listener", "url",  "actions",  "visit"};
    static const char *const ints[] = {"timeout_ms", "idle_ms", "output_from", "rows",
                                       "cols",       "offset",  "limit",       "grace_ms",
                                       "op",         "v",       "since",       "at"};
    static const char *const bools[] = {"stdin", "no_wait", "detach", "text",   "enter",
                                        "eof",   "follow",  "end",    "silent", "history",
                                        "ask",   "lint",    "verbose"};
    struct str s;
    int64_t i;
    bool b;
    for (const struct json *v = json_first(q); v; v = json_next(v)) {
        const char *name = json_name(v);
        int r = 0;
        if (is_one(name, strings, COUNT(strings)))
            r = json_want_str(q, name, &s, e);
        else if (is_one(name, ints, COUNT(ints)))
            r = json_want_int(q, name, &i, e);
        else if (is_one(name, bools, COUNT(bools)))
            r = json_want_bool(q, name, &b, e);
        if (r < 0)
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
    timer_stop(&c->held_long);
    c->waited_ms = clock_ms() - c->held_at;
    answer(c, q, &e);
    task_defer(c->en->loop, &c->resume); /* for the frames of input after the request */
}

static void on_gate(struct gate_wait *w)
{
    struct conn *c = container_of(w, struct conn, gate);
    struct json *q = c->held;
    struct err e = ERR_INIT;
    c->held = NULL;
    answer(c, q, &e);
    task_defer(c->en->loop, &c->resume);
}

static void drop_held(struct conn *c)
{
    timer_stop(&c->held_long);
    plugins_unwait(&c->setup);
    gate_leave(&c->gate);
    json_free(c->held);
    c->held = NULL;
}

static void on_held_long(struct timer *t)
{
    struct conn *c = container_of(t, struct conn, held_long);
    struct err e = ERR_INIT;
    err_set(&e, ERR_TIMEOUT,
            "it was not begun: the plugins were still being set up at its time limit");
    drop_held(c);
    local_send_error(c, &e);
    task_defer(c->en->loop, &c->resume);
}

static void hold_request(struct conn *c, struct json *take)
{
    int64_t limit_ms = json_int(take, "timeout_ms", 0);
    c->held = take;
    c->held_at = clock_ms();
    if (limit_ms > 0)
        timer_begin(c->en->loop, &c->held_long, limit_ms, on_held_long);
    plugins_await(c->en->plugins, &c->setup, on_set_up);
    local_send_note(c, "queued", "the plugins are being set up; it begins after that");
}

/* NULL: there is none of that name. */
static const struct verb *verb_of(struct str name)
{
    for (size_t i = 0; i < COUNT(verbs); i++) {
        if (str_eq(name, str_of(verbs[i].name)))
            return &verbs[i];
    }
    return NULL;
}

/*
 * Whether the request must wait until the plugins are set up: it would begin a program,
 * its session does not exist yet, and it does not come from the setup itself.
 */
static bool must_wait(struct conn *c, const struct json *q, const struct verb *v)
{
    bool session = v->run == local_run || v->run == local_attach;
    return v->begins && !c->en->stopping && plugins_busy(c->en->plugins) &&
           !str_eq(json_str(q, "parent", ""), STR(PLUGIN_CALLER)) &&
           !(session && session_find(c->en, json_str(q, "session", "main")));
}

/* May a process or a skill begin? What a session or a kernel runs asks by itself. */
static bool passes_gate(struct conn *c, const struct json *q, const struct verb *v)
{
    struct buf words = BUF_INIT(LIMIT_COMMAND_MAX);
    struct gate_ask ask = {.kind = v->run == local_new ? GATE_COMMAND : GATE_FILES,
                           .id = json_str(q, "id", "").p};
    if ((v->run != local_new || process_by_call(c->en, ask.id)) && v->run != local_skill)
        return true;
    local_put_words(&words, q);
    ask.text = buf_str(&words);
    c->gate.go = on_gate;
    bool passed = gate_lets(c->en, &c->gate, &ask);
    buf_release(&words);
    if (passed)
        c->gate.passed = false; /* for the next request of the connection */
    return passed;
}

/* Takes q. If it is NULL, e is set. */
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
        const struct verb *v = verb_of(name);
        if (v && must_wait(c, q, v)) {
            hold_request(c, q);
            return;
        }
        if (v && !passes_gate(c, q, v)) {
            c->held = q;
            return;
        }
        r = v ? v->run(c, q, e)
              : err_set(e, ERR_INVALID, "there is no request %.*s",
                        name.n > 40 ? 40 : (int)name.n, name.p);
    }
    json_free(q);
    if (r < 0)
        local_send_error(c, e);
}

const char *local_command(const struct conn *c, const char *dflt)
{
    return c->as ? c->as : dflt;
}

/*
 * Reads the client's command name. It becomes part of one-line messages, so its length
 * and characters are limited.
 */
static void take_command(struct conn *c, const struct json *q)
{
    struct str as = json_str(q, "as", "");
    bool good = as.n > 0 && as.n <= COMMAND_NAME_MAX && utf8_valid(as);
    for (size_t i = 0; i < as.n && good; i++)
        good = (unsigned char)as.p[i] >= 0x20 && as.p[i] != 0x7f;
    free(c->as);
    c->as = good ? xstrndup(as.p, as.n) : NULL;
}

static void request(struct conn *c, struct str text)
{
    struct err e = ERR_INIT;
    struct json *q = json_parse(text, &e);
    c->busy = true;
    c->waited_ms = 0;
    c->act[0] = 0;
    take_command(c, q);
    answer(c, q, &e);
}

/* ---- frames ---- */

/* Passes input to the request's program. Returns false if there is no room yet. */
static bool input(struct conn *c, struct str payload)
{
    uint64_t offset, accepted = 0;
    struct str bytes;
    if (frame_bytes(payload, &offset, &bytes) < 0)
        return true;
    if (c->attached)
        return local_type(c, offset, bytes);
    struct op *op = c->op;
    if (c->held)
        return false;
    if (!op || op->settled)
        return true;
    if (op->queued)
        return false; /* not started: the frame stays in the buffer */
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

/* Takes the size of a terminal, or the answer to a question of a cell. */
static void resize(struct conn *c, struct str text)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(text, &e);
    if (j && c->cell)
        local_cell_answer(c, j);
    else if (j && c->browse)
        local_browse_say(c, j);
    else if (j && c->tmux)
        local_tmux_size(c, j);
    else if (j && c->attached)
        session_resize(c->attached, (int)json_int(j, "rows", 0),
                       (int)json_int(j, "cols", 0), &e);
    json_free(j);
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
    } else if (c->submit.id) {
        action_ask_drop(&c->submit);
    } else if (c->skill) {
        local_skill_drop(c);
        local_send_result(c, local_ok());
    } else if (c->mcp) {
        local_mcp_drop(c, false);
        local_send_result(c, local_ok());
    } else if (c->tmux) {
        local_tmux_drop(c);
        local_send_result(c, local_ok());
    } else if (c->cast) {
        local_cast_drop(c);
        local_send_result(c, local_ok());
    } else if (c->browse) {
        local_browse_drop(c);
        local_send_result(c, local_ok());
    } else if (c->visiting) {
        local_visit_drop(c);
        local_send_result(c, local_ok());
    } else if (c->attached && c->op) {
        struct session *s = c->attached;
        session_detach(s, c->op);
        local_attach_over(c, NULL);
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

/* Handles received frames, up to one that must wait. */
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
            return; /* the next request waits for the result of this one */
        bool line = f.type == 'I' && (c->mcp || c->tmux);
        if (f.type == 'I' && !line && !input(c, f.payload)) {
            /* Later frames have to wait, too; the peer's buffer fills. */
            return;
        }
        struct buf keep = BUF_INIT(FRAME_MAX);
        bool copy = f.type == 'Q' || f.type == 'Z' || line;
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
        else if (line && c->tmux)
            local_tmux_input(c, buf_str(&keep));
        else if (line && c->mcp)
            local_mcp_input(c, buf_str(&keep));
        buf_release(&keep);
    }
}

static void on_flush(struct task *t) { flush(container_of(t, struct conn, flush)); }

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
    else if (c->mcp)
        local_mcp_room(c);
    else if (c->tmux)
        local_tmux_room(c);
    else if (c->cast)
        recording_pump(c->cast);
    else if (c->browse)
        local_browse_room(c);
    else if (c->op)
        op_pump(c->op);
    if (c->reading)
        local_events_room(c);
}

static void conn_free(void *p)
{
    struct conn *c = p;
    json_free(c->notes);
    json_free(c->gaps);
    free(c->as);
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
    local_on_cancel(c, NULL);
    if (c->cell)
        local_cell_drop(c);
    else if (c->submit.id)
        action_ask_drop(&c->submit);
    else if (c->skill)
        local_skill_drop(c);
    else if (c->mcp)
        local_mcp_drop(c, false);
    else if (c->tmux)
        local_tmux_drop(c);
    else if (c->cast)
        local_cast_drop(c);
    else if (c->browse)
        local_browse_drop(c);
    else if (c->visiting)
        local_visit_drop(c);
    else if (c->attached && c->op) {
        session_detach(c->attached, c->op);
        local_attach_over(c, NULL);
    } else if (c->op) {
        op_drop(c->op);
        run_left(c->en->actions, c->act, NULL);
    }
    if (c->killing)
        local_kill_drop(c);
    eventlog_unsubscribe(&c->sub);
    if (c->upgrading)
        keeper_client_ask_cancel(c->en->keeper, c);
    c->en->clients--;
    c->front->conns--;
    engine_touch(c->en);
    task_cancel(&c->resume);
    task_cancel(&c->flush);
    timer_stop(&c->late);
    stream_close(&c->stream);
    loop_bury(c->en->loop, c, conn_free);
}

static const struct stream_events events = {on_data, on_room, on_end, NULL};

/*
 * Sends the reason. Without one the peer would take this for a lost connection and try
 * again.
 */
static void turn_away(int fd, const struct engine *en, const struct err *why)
{
    struct buf frame = BUF_INIT(4096);
    struct json *j = json_object(), *er = json_object();
    struct err e;
    err_set(&e, ERR_DENIED,
            "the server at %.200s is of uid %u and did not let this process in: %s",
            en->socket, (unsigned)en->uid, why->text);
    json_put_bool(j, "ok", false);
    json_put_z(er, "code", err_name(e.code));
    json_put_z(er, "text", e.text);
    json_put(j, "error", er);
    if (frame_add_json(&frame, 'R', j) == 0 &&
        send(fd, frame.p, frame.n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_debug("cannot send the reason to a refused peer: %m");
    json_free(j);
    buf_release(&frame);
}

/* Returns the peer of the socket, for the log. */
static struct ucred peer_of(int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t n = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        log_debug("cannot identify the peer of the socket: %m");
    return peer;
}

bool local_is_full(const struct local *l) { return l->conns >= LIMIT_CONNS_MAX; }

int local_serve(struct local *l, int fd, uid_t uid, pid_t pid)
{
    struct conn *c = xnew(struct conn);
    c->front = l;
    c->en = fronts_engine(l->all);
    c->all = l->all;
    c->uid = uid;
    c->pid = pid;
    list_init(&c->sub.node);
    task_init(&c->resume, on_resume);
    task_init(&c->flush, on_flush);
    if (stream_open(&c->stream, c->en->loop, fd, FRAME_MAX + FRAME_HEAD,
                    LIMIT_CONN_OUT_MAX, &events) < 0) {
        free(c);
        return -1;
    }
    c->stream.low = LOCAL_QUEUED_MAX / 2;
    l->conns++;
    c->en->clients++;
    engine_touch(c->en);
    return 0;
}

/*
 * Programs in the fence could leave it by the server: --upgrade runs any file, and events
 * have what is hidden from them.
 */
static bool is_fenced(const struct engine *en, pid_t pid, struct err *e)
{
    if (!en->fence || !fence_is_inside(pid, getppid(), getpid()))
        return false;
    err_set(e, ERR_DENIED,
            "programs within the fence of this server cannot use it; od itself can be "
            "used without it");
    return true;
}

static void on_accept(struct io *io, uint32_t ev)
{
    struct local *l = container_of(io, struct local, io);
    struct engine *en = fronts_engine(l->all);
    (void)ev;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                log_warn("cannot accept a connection: %m");
            return;
        }
        struct err e = ERR_INIT;
        bool many = local_is_full(l);
        pid_t pid = 0;
        if (many || peer_check(fd, en->uid, &pid, &e) < 0 || is_fenced(en, pid, &e)) {
            log_warn("a connection was refused: %s", many ? "too many" : e.text);
            if (!many)
                turn_away(fd, en, &e);
            close(fd);
            continue;
        }
        struct ucred peer = peer_of(fd);
        if (local_serve(l, fd, peer.uid, peer.pid) < 0)
            close(fd);
    }
}

static void *open_local(struct fronts *all, const struct json *options)
{
    struct local *l = xnew(struct local);
    (void)options;
    l->all = all;
    l->fd = -1;
    local_http_open(l);
    return l;
}

static bool take(void *f, struct str name, int fd)
{
    struct local *l = f;
    if (!str_eq(name, STR("local")) || l->fd >= 0)
        return false;
    l->fd = fd;
    return true;
}

static void load(void *f)
{
    struct local *l = f;
    local_id_load(fronts_engine(l->all), l->id);
}

static void start(void *f)
{
    struct local *l = f;
    struct loop *loop = fronts_engine(l->all)->loop;
    local_id_start(fronts_engine(l->all), l->id);
    if (l->fd < 0 || io_start(loop, &l->io, l->fd, EPOLLIN, on_accept) < 0)
        log_error("there is nothing to listen on");
}

/* If another worker follows, clients reconnect to it by themselves. */
static void close_local(void *f, bool another)
{
    struct local *l = f;
    if (another || l->fd < 0)
        return;
    io_stop(&l->io);
    close(l->fd);
    l->fd = -1;
}

static const char *const claims[] = {"local/", NULL};

const struct front front_local = {
    .name = "local",
    .claims = claims,
    .open = open_local,
    .http = local_http,
    .native = true,
    .take = take,
    .load = load,
    .start = start,
    .close = close_local,
};
