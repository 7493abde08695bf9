/* SPDX-License-Identifier: MIT */
/*
 * The tool `process`: a program without a shell and a terminal, with separate standard
 * and error output. Like those of od exec --new (action/outside.h), its requests are in
 * the log, by the call's key, so a worker that takes over repeats nothing.
 *
 *   start ─▶ the sandbox is ready ─▶ begun, or found by its name ─▶ input, signal
 *         ─▶ waits ─▶ outputs, one after the other ─▶ answer
 */
#include "shell/process.h"

#include "action/follow.h"
#include "action/outside.h"
#include "base/clock.h"
#include "base/words.h"
#include "base/xalloc.h"
#include "front/mcp/tools/output.h"
#include "front/mcp/tools/state.h"
#include "front/mcp/tools/told.h"
#include "front/mcp/tools/tool.h"
#include "setup/sandbox.h"
#include "shell/spool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHOWN_BYTES = 1 << 20, STATE_ROOM = 700, AT_ONCE_MS = 200 };

static const struct param_list takes = {
    .about = "Run a program without a shell or a terminal: standard output and error "
             "output come separately, and its words are not interpreted. Answers at its "
             "end, or after wait_s: then it goes on, and name waits for it, sends it "
             "input or a signal. For everything else use shell.",
    .params = (const struct param[]){
        {.name = "command",
         .type = PARAM_STRING,
         .about =
             "Program and arguments, with quotes as in a shell; nothing is expanded."},
        {.name = "name",
         .type = PARAM_STRING,
         .about = "Name of a running process, or for a new one."},
        {.name = "stdin",
         .type = PARAM_TEXT,
         .about = "Standard input. For a new process it ends after this."},
        {.name = "signal",
         .type = PARAM_STRING,
         .choices = "INT TERM KILL",
         .about = "To the process and all its descendants."},
        {.name = "wait_s",
         .type = PARAM_INT,
         .ranged = true,
         .max = 600,
         .about = "Seconds to wait, default 30; 0 returns at once."},
        {0}}};

struct proc_call {
    struct tool_call *c; /* the owner of this */
    struct sandbox_wait ready;
    struct gate_wait gate;
    bool awaits;   /* the sandbox */
    struct op *op; /* borrowed from the process; NULL: no wait */
    char name[LIMIT_ID + 1];
    bool fresh;      /* this call began it */
    struct buf text; /* owned: the answer */
    struct process_line line;
    int stream; /* the output that is being read for the answer */
    uint64_t to[2], from[2];
    uint64_t lines[2];
};

static void proc_free(struct tool_call *c)
{
    struct proc_call *p = c->own;
    if (p->awaits)
        list_del(&p->ready.node);
    gate_leave(&p->gate);
    if (p->op)
        op_drop(p->op);
    buf_release(&p->text);
    free(p);
    c->own = NULL;
}

static void fail(struct tool_call *c, const struct err *e)
{
    proc_free(c);
    tool_fail(c, e);
}

/* ---- the answer ---- */

/* Returns how much of an output was reported: the record "o/NAME" or "e/NAME". */
static struct told *told_of_output(const struct proc_call *p, int i, char key[80])
{
    snprintf(key, 80, "%c/%s", i ? 'e' : 'o', p->name);
    return told_of(p->c->fronts, key);
}

static void on_text(void *arg, const struct output_shown *shown)
{
    struct proc_call *p = arg;
    p->lines[p->stream] = shown->lines;
    p->line.cut = p->line.cut || shown->cut_from;
    if (shown->text.n == 0)
        return;
    if (p->stream == 1)
        buf_addz(&p->text, "stderr:\n");
    buf_adds(&p->text, shown->text);
    if (!str_ends(shown->text, STR("\n")))
        buf_addc(&p->text, '\n');
}

/* Appends the new part of one output. */
static void put_output(struct proc_call *p, struct process *x, int i)
{
    int fd;
    const struct keep_stream *k = process_stream(x, i, &fd);
    char key[80];
    struct told *t = told_of_output(p, i, key);
    struct buf bytes = BUF_INIT(SHOWN_BYTES);
    uint64_t end = k ? k->offset : 0, at = p->fresh ? 0 : t->to;
    size_t max = (p->c->client.answer_max - STATE_ROOM) / 2;
    if (end - at > SHOWN_BYTES) { /* of very long output, the end is shown */
        at = end - SHOWN_BYTES;
        p->line.cut = true;
    }
    char piece[16 << 10];
    while (at < end) {
        size_t n = spool_read(fd, k, &at, piece, sizeof(piece));
        if (n == 0)
            break;
        buf_adds(&bytes, str_n(piece, n));
        at += n;
    }
    struct output_new what = {.session = p->name,
                              .line = p->fresh ? 1 : t->line,
                              .ended = true,
                              .head = max / 4,
                              .max = max};
    p->stream = i;
    output_show_text(buf_str(&bytes), &what, on_text, p);
    t->to = end;
    t->line = p->lines[i] + 1;
    told_keep(p->c->fronts, key);
    buf_release(&bytes);
}

static struct json *object_of(const struct proc_call *p)
{
    struct json *j = json_object();
    json_put_z(j, "state", p->line.ended ? "ended" : "running");
    json_put_z(j, "process", p->name);
    if (p->line.ended)
        json_put_int(j, "exit_code", p->line.exit);
    if (p->line.signo)
        json_put_int(j, "signal", p->line.signo);
    json_put_num(j, "seconds", (double)p->line.ms / 1000);
    return j;
}

static void answer(struct proc_call *p, const struct op_result *r)
{
    struct tool_call *c = p->c;
    struct process *x = process_find(c->en, str_of(p->name));
    struct buf state = BUF_INIT(STATE_MAX);
    p->line.ended = r->state == OP_ENDED;
    p->line.name = p->name;
    p->line.exit = r->exit;
    p->line.signo = r->signo;
    p->line.ms = r->duration_ms;
    p->line.waited_ms = p->fresh ? 0 : clock_wall_ms() - c->since_ms;
    p->line.action = p->fresh ? c->action : 0;
    for (int i = 0; i < 2 && x; i++)
        put_output(p, x, i);
    p->line.out = p->lines[0];
    p->line.err = p->lines[1];
    process_line(&state, &p->line);
    struct tool_result res = {.state = buf_str(&state), .object = object_of(p)};
    struct buf text = p->text;
    buf_init(&p->text, 0);
    res.text = buf_str(&text);
    proc_free(c);
    tool_end(c, &res);
    buf_release(&text);
    buf_release(&state);
}

/* ---- steps ---- */

static void on_waited(struct op *op)
{
    struct proc_call *p = op->owner;
    struct op_result r = op->r;
    p->op = NULL;
    if (r.state == OP_FAILED)
        fail(p->c, &r.err);
    else
        answer(p, &r);
}

static void wait_for(struct proc_call *p, struct process *x)
{
    static const struct op_sink sink = {.done = on_waited};
    int64_t s = json_int(p->c->args, "wait_s", TOOL_WAIT_S);
    p->op = op_new(OP_WAIT, &sink, p);
    p->op->timeout_ms = s > 0 ? s * 1000 : AT_ONCE_MS;
    process_wait(x, p->op);
}

/* Logs an action that is done at once. Returns whether it must still be done. */
static bool note(struct proc_call *p, unsigned step, const char *kind, struct json *args,
                 struct action **a)
{
    char id[ACTION_KEY + 24];
    uint64_t end;
    snprintf(id, sizeof(id), "mcp:%s:%u", p->c->key, step);
    struct outside_order o = {.kind = kind,
                              .id = str_of(id),
                              .source = ACTION_SOURCE_MCP,
                              .uid = geteuid(),
                              .args = args};
    enum outside_state s = outside_open(p->c->actions, &o, a, &end);
    if (*a)
        p->c->action = (*a)->id;
    return s != OUTSIDE_OVER && *a;
}

static int send_input(struct proc_call *p, struct process *x, struct err *e)
{
    struct str text = json_str(p->c->args, "stdin", "");
    struct json *args = json_object();
    struct action *a;
    uint64_t at;
    json_put_z(args, "process", p->name);
    json_put_int(args, "bytes", (int64_t)text.n);
    if (!note(p, 1, "input", args, &a))
        return 0;
    size_t room = process_stdin_room(x, &at);
    if (text.n > room) {
        err_set(e, ERR_LIMIT,
                "%s takes %zu bytes now, and these are %zu: nothing was sent; send them "
                "in parts, or by a file",
                p->name, room, text.n);
        outside_fail(a, e);
        return -1;
    }
    process_stdin(x, at, text, p->fresh);
    outside_end(a, STR(""), NULL);
    return 0;
}

static int send_signal(struct proc_call *p, struct process *x, struct err *e)
{
    struct str name = json_str(p->c->args, "signal", "");
    int signo = str_eq(name, STR("INT"))    ? SIGINT
                : str_eq(name, STR("TERM")) ? SIGTERM
                                            : SIGKILL;
    struct json *args = json_object();
    struct action *a;
    json_put_z(args, "process", p->name);
    json_put_str(args, "signal", name);
    if (!note(p, 2, "signal", args, &a))
        return 0;
    int rc = process_signal(x, signo, true, e);
    if (rc < 0)
        outside_fail(a, e);
    else
        outside_end(a, STR(""), NULL);
    return rc;
}

/* Begins the process, or finds the one that this call began in another worker. */
static struct process *begin(struct proc_call *p, struct err *e)
{
    struct tool_call *c = p->c;
    char id[ACTION_KEY + 24];
    struct action *a;
    struct json *args = json_object();
    int n;
    snprintf(id, sizeof(id), "mcp:%s:0", c->key);
    char **argv = words_split(json_str(c->args, "command", ""), &n, e);
    p->fresh = true;
    if (!argv || n == 0) {
        if (argv)
            err_set(e, ERR_INVALID, "command is empty");
        words_free(argv);
        json_free(args);
        return NULL;
    }
    outside_put_text(c->actions, args, "command", json_str(c->args, "command", ""));
    note(p, 0, "process", args, &a);
    struct process *x = process_by_call(c->en, id);
    struct process_opts o = {.name = json_str(c->args, "name", ""),
                             .cwd = str_of(sandbox_cwd(c->en->sandbox, STR("main"))),
                             .argv = argv,
                             .call = id,
                             .with_stdin = json_has(c->args, "stdin")};
    if (!x && a)
        x = process_start(c->en, &o, e);
    else if (!x)
        err_set(e, ERR_GONE, "its output is no longer kept");
    words_free(argv);
    if (!x && a)
        outside_fail(a, e);
    else if (a)
        follow_process(a, x);
    return x;
}

static void put_names(struct buf *out, const struct engine *en)
{
    struct str name;
    void *value;
    const char *comma = "";
    for (void *it = NULL; (it = map_next(&en->processes, it, &name, &value));) {
        buf_addf(out, "%s%.*s", comma, STR_ARG(name));
        comma = ", ";
    }
    if (!comma[0])
        buf_addz(out, "none");
}

static struct process *named(struct proc_call *p, struct err *e)
{
    struct str name = json_str(p->c->args, "name", "");
    struct process *x = process_find(p->c->en, name);
    struct buf names = BUF_INIT(400);
    if (name.n == 0) {
        err_set(e, ERR_INVALID,
                "command or name is missing; process needs {command, "
                "stdin?, wait_s?} or {name, stdin?, signal?, wait_s?}");
    } else if (!x) {
        put_names(&names, p->c->en);
        err_set(e, ERR_NOTFOUND, "no process %.*s; there are: %s",
                name.n > 60 ? 60 : (int)name.n, name.p, buf_z(&names));
    }
    buf_release(&names);
    return x;
}

static void go(struct proc_call *p)
{
    struct tool_call *c = p->c;
    struct err e = ERR_INIT;
    struct process *x = json_has(c->args, "command") ? begin(p, &e) : named(p, &e);
    if (!x) {
        fail(c, &e);
        return;
    }
    uint64_t action = c->action;
    snprintf(p->name, sizeof(p->name), "%s", process_name(x));
    if (process_ended(x) && !p->fresh &&
        (json_has(c->args, "stdin") || json_has(c->args, "signal"))) {
        err_set(&e, ERR_INVALID, "%s has ended; name alone shows how", p->name);
        fail(c, &e);
        return;
    }
    if ((json_has(c->args, "stdin") && send_input(p, x, &e) < 0) ||
        (json_has(c->args, "signal") && send_signal(p, x, &e) < 0)) {
        fail(c, &e);
        return;
    }
    c->action = action;
    wait_for(p, x);
}

static void on_gate(struct gate_wait *w) { go(container_of(w, struct proc_call, gate)); }

static void on_ready(struct sandbox_wait *w)
{
    struct proc_call *p = container_of(w, struct proc_call, ready);
    struct tool_call *c = p->c;
    char id[ACTION_KEY + 24];
    const struct gate_ask q = {.kind = GATE_COMMAND,
                               .id = id,
                               .text = json_str(c->args, "command", ""),
                               .session = STR("main")};
    p->awaits = false;
    p->gate.go = on_gate;
    snprintf(id, sizeof(id), "mcp:%s:0", c->key);
    if (!json_has(c->args, "command") || process_by_call(c->en, id) ||
        gate_lets(c->en, &p->gate, &q))
        go(p);
}

static void start(struct tool_call *c)
{
    struct proc_call *p = xnew(struct proc_call);
    *p = (struct proc_call){.c = c, .awaits = true};
    buf_init(&p->text, 2 * TOOL_ANSWER_MAX);
    c->own = p;
    sandbox_await(c->en->sandbox, &p->ready, on_ready);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    const struct proc_call *p = c->own;
    struct err e = ERR_INIT;
    bool cancels = why == TOOL_CANCELLED && p->fresh && c->action;
    proc_free(c);
    if (cancels && actions_find(c->actions, c->action))
        actions_cancel(c->actions, c->action, &e);
}

static void progress(const struct tool_call *c, struct buf *line)
{
    const struct proc_call *p = c->own;
    const struct process *x = p ? process_find(c->en, str_of(p->name)) : NULL;
    if (x)
        buf_addf(line, "%s, %llu bytes of output", p->name,
                 (unsigned long long)process_output(x));
}

const struct tool tool_process = {
    .name = "process",
    .title = "Run a program",
    .takes = &takes,
    .set = "process",
    .also = "cmd=command argv=command process=name session=name input=stdin text=stdin "
            "timeout=wait_s timeout_ms=wait_s yield_time_ms=wait_s",
    .destructive = true,
    .open_world = true,
    .output = "{\"state\":{\"type\":\"string\"},\"process\":{\"type\":\"string\"},"
              "\"exit_code\":{\"type\":\"integer\"},\"signal\":{\"type\":\"integer\"},"
              "\"seconds\":{\"type\":\"number\"}}",
    .start = start,
    .stop = stop,
    .progress = progress};
