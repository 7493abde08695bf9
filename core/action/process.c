/* SPDX-License-Identifier: MIT */
/*
 * Processes outside of sessions:
 *
 *   {"action":"process","args":{"argv":["make","-j8"],"timeout":600}}
 *
 * The process knows the action by its key, so a worker that takes over follows it, or
 * starts it if it had not been started. At its timeout the process group gets
 * timeout_signal, and KILL 1 s later. The log has the names of env without the values, so
 * an action with env whose process was not started before a restart ends with an error.
 */
#include "action/process.h"

#include "action/outside_own.h"
#include "action/own.h"
#include "action/until.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "os/pty.h"
#include "os/sig.h"
#include "setup/sandbox.h"
#include "shell/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { KILL_AFTER_MS = 1000, TIMEOUT_MAX_S = 30 * 86400 };

static const struct param_list takes = {
    .about = "Runs a program outside of sessions, and observes how it ended",
    .params =
        (const struct param[]){
            {.name = "argv",
             .type = PARAM_STRINGS,
             .about = "The program and its arguments"},
            {.name = "command",
             .type = PARAM_STRING,
             .about = "Instead of argv: a command line for sh"},
            {.name = "name",
             .type = PARAM_STRING,
             .about = "The name of the process; without it p1, p2, …"},
            {.name = "cwd",
             .type = PARAM_STRING,
             .about = "The directory it starts in; without it that of the session"},
            {.name = "user",
             .type = PARAM_STRING,
             .about = "The user it runs as; without it that of the sandbox"},
            {.name = "env",
             .type = PARAM_OBJECT,
             .about = "Names and values of environment variables. The log has only the "
                      "names"},
            {.name = "env_only",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Whether env is all of its environment"},
            {.name = "stdin",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Whether it has standard input, from the actions input and eof; "
                      "otherwise /dev/null"},
            {.name = "tty",
             .type = PARAM_OBJECT,
             .about = "A terminal of {\"rows\":N,\"cols\":N}, for its input and output"},
            {.name = "merge",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Whether its error output goes into its output"},
            {.name = "until",
             .type = PARAM_STRING,
             .choices = "exit eof",
             .dflt = "\"exit\"",
             .about = "When it is observed: exit, at its exit; eof, when also no program "
                      "that it started holds its output open"},
            {.name = "timeout",
             .type = PARAM_NUMBER,
             .ranged = true,
             .max = TIMEOUT_MAX_S,
             .dflt = "0",
             .about = "The seconds after which its process group is killed; 0: no limit"},
            {.name = "timeout_signal",
             .type = PARAM_STRING,
             .choices = "KILL TERM INT",
             .dflt = "\"KILL\"",
             .about = "The signal it gets then; one second later it gets KILL"},
            {0}},
    .rule = "{\"oneOf\":[{\"required\":[\"argv\"],\"properties\":{\"argv\":{\"type\":"
            "\"array\",\"minItems\":1,\"prefixItems\":[{\"minLength\":1}]}}},"
            "{\"required\":[\"command\"],\"properties\":{\"command\":{\"type\":"
            "\"string\"}}}],\"allOf\":[{\"properties\":{"
            "\"env\":{\"propertyNames\":{\"pattern\":\"^[^=]+$\"},"
            "\"additionalProperties\":{\"type\":\"string\"}},"
            "\"tty\":{\"required\":[\"rows\",\"cols\"],\"properties\":{"
            "\"rows\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000},"
            "\"cols\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000}}}}}]}",
    .example = "{\"argv\":[\"uname\",\"-a\"]}"};

static const struct member error_output[] = {
    {.name = "content", .type = MEMBER_STRING, .about = "The text"},
    {.name = "left_out",
     .type = MEMBER_PAIRS,
     .optional = true,
     .about = "Offsets of what content leaves out between its beginning and its end"},
    {.name = "gone",
     .type = MEMBER_PAIRS,
     .optional = true,
     .about = "Offsets of what is no longer kept"},
    {0}};

static const struct member beside[] = {
    {.name = "exit_code", .type = MEMBER_INT, .about = "Its exit status"}, {0}};

static const struct member process_members[] = {
    {.name = "process", .type = MEMBER_STRING, .about = "The name of the process"},
    UNTIL_ENDED,
    {.name = "timed_out",
     .type = MEMBER_BOOL,
     .optional = true,
     .about = "It was stopped by its timeout"},
    {.name = "stderr",
     .type = MEMBER_OBJECT,
     .optional = true,
     .members = error_output,
     .about = "Its error output, if there is any"},
    {0}};

static const struct observation gives[] = {
    {.name = "process", .beside = beside, .extras = process_members}, {0}};

/* The process of an action, until the action ends. */
struct process_run {
    struct action *a; /* which owns this */
    struct op *op;    /* borrowed from the process */
    struct timer limit;
    bool warned;    /* it got timeout_signal */
    bool timed_out; /* it was stopped by its timeout */
};

static int check_tty(const struct json *tty, struct err *e)
{
    int64_t rows = json_int(tty, "rows", 0), cols = json_int(tty, "cols", 0);
    if (rows >= 1 && cols >= 1 && rows <= PTY_SIDE_MAX && cols <= PTY_SIDE_MAX)
        return 0;
    return err_set(e, ERR_INVALID,
                   "tty must be {\"rows\":N,\"cols\":N} with numbers from 1 to %d",
                   PTY_SIDE_MAX);
}

static int check(const struct json *args, struct err *e)
{
    const struct json *argv = json_get(args, "argv"), *tty = json_get(args, "tty");
    bool has_argv = json_is_array(argv);
    if (has_argv == json_is_string(json_get(args, "command")))
        return err_set(e, ERR_INVALID, "process takes argv or command%s",
                       has_argv ? ", and not both" : "");
    if (has_argv && json_str_value(json_first(argv), "").n == 0)
        return err_set(e, ERR_INVALID, "argv must begin with the name of a program");
    for (const struct json *v = json_first(json_get(args, "env")); v; v = json_next(v)) {
        if (!json_is_string(v) || !json_name(v)[0] || strchr(json_name(v), '='))
            return err_set(e, ERR_INVALID, "env must be an object of names and strings");
    }
    return json_is_object(tty) ? check_tty(tty, e) : 0;
}

/*
 * Returns the process of this action; NULL if it has not started, or is forgotten.
 * Borrowed; the process is kept for longer than the action.
 */
static struct process *process_of_action(const struct action *a)
{
    char id[LIMIT_ID + 1];
    action_call(a, id);
    return process_by_call(a->all->en, id);
}

/* ---- its end ---- */

static void put_stream(const struct actions *all, const struct process *p, int i,
                       struct buf *text, struct json *extras)
{
    int fd;
    const struct keep_stream *s = process_stream(p, i, &fd);
    if (s && s->offset > 0)
        run_put_stream(all, fd, s, 0, s->offset, text, extras);
}

void process_put_outputs(const struct actions *all, const struct process *p,
                         struct buf *text, struct json *extras)
{
    struct json *other = json_object();
    struct buf more = BUF_INIT(LIMIT_EVENT_MAX);
    put_stream(all, p, 0, text, extras);
    put_stream(all, p, 1, &more, other);
    if (more.n > 0) {
        json_put_str(other, "content", buf_str(&more));
        json_put(extras, "stderr", other);
    } else {
        json_free(other);
    }
    buf_release(&more);
}

static void running_free(void *r) { free(r); }

/* May be called from its own timer. */
static void drop(struct process_run *r)
{
    timer_stop(&r->limit);
    r->a->own = NULL;
    loop_bury(r->a->all->en->loop, r, running_free);
}

static void observe(struct action *a, const struct process *p, const struct op_result *r,
                    bool timed_out)
{
    struct buf text = BUF_INIT(LIMIT_EVENT_MAX);
    struct json *j = json_object();
    json_put_z(j, "process", process_name(p));
    run_put_end(j, r->duration_ms, r->signo, false);
    if (timed_out)
        json_put_bool(j, "timed_out", true);
    process_put_outputs(a->all, p, &text, j);
    struct action_result result = {
        .text = buf_str(&text), .extras = j, .has_exit = true, .exit_code = r->exit};
    action_end_as(a, &result);
    json_free(j);
    buf_release(&text);
}

static void on_done(struct op *op)
{
    struct process_run *r = op->owner;
    struct action *a = r->a;
    bool timed_out = r->timed_out;
    drop(r);
    if (op->r.state == OP_FAILED)
        action_fail(a, &op->r.err);
    else
        observe(a, op->process, &op->r, timed_out);
}

/* ---- its time limit ---- */

static void stop_with(struct process_run *r, int signo, bool tree)
{
    struct process *p = r->op->process;
    struct err e = ERR_INIT;
    if (process_signal(p, signo, tree, &e) < 0)
        process_let_go(p); /* it exited: only its children hold the output */
}

static int timeout_signal(const struct action *a)
{
    return sig_number(json_str(a->args, "timeout_signal", "KILL"), 0);
}

static void on_limit(struct timer *t)
{
    struct process_run *r = container_of(t, struct process_run, limit);
    int signo = r->warned ? SIGKILL : timeout_signal(r->a);
    r->warned = true;
    if (signo != SIGKILL)
        timer_begin(r->a->all->en->loop, t, KILL_AFTER_MS, on_limit);
    stop_with(r, signo, false);
}

static void on_timeout(struct timer *t)
{
    struct process_run *r = container_of(t, struct process_run, limit);
    r->timed_out = true;
    on_limit(t);
}

static void on_cancel_late(struct timer *t)
{
    stop_with(container_of(t, struct process_run, limit), SIGKILL, true);
}

static bool cancel(struct action *a)
{
    struct process_run *r = a->own;
    if (!r)
        return false;
    timer_begin(a->all->en->loop, &r->limit, LIMIT_GRACE_MS, on_cancel_late);
    stop_with(r, SIGTERM, true);
    return true;
}

static void begin_limit(struct process_run *r, const struct process *p)
{
    double s = json_num(r->a->args, "timeout", 0);
    int64_t left = (int64_t)(s * 1000) - (clock_wall_ms() - process_since(p));
    if (s > 0)
        timer_begin(r->a->all->en->loop, &r->limit, left > 0 ? left : 1, on_timeout);
}

/* ---- its start ---- */

static char **argv_of(const struct json *args)
{
    const struct json *list = json_get(args, "argv");
    char **argv = xcalloc((size_t)json_count(list) + 4, sizeof(char *));
    size_t n = 0;
    for (const struct json *v = json_first(list); v; v = json_next(v)) {
        struct str s = json_str_value(v, "");
        argv[n++] = xstrndup(s.p, s.n);
    }
    if (n == 0) {
        struct str command = json_str(args, "command", "");
        argv[n++] = xstrdup("sh");
        argv[n++] = xstrdup("-c");
        argv[n++] = xstrndup(command.p, command.n);
    }
    return argv;
}

static void argv_free(char **argv)
{
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    free(argv);
}

/* Makes an absolute path: a relative one begins at the session's directory. */
static void cwd_of(const struct action *a, struct buf *out)
{
    struct str cwd = json_str(a->args, "cwd", "");
    if (cwd.n == 0 || cwd.p[0] != '/')
        buf_addz(out, sandbox_cwd(a->all->en->sandbox, str_of(a->session)));
    if (cwd.n > 0 && cwd.p[0] != '/')
        buf_addc(out, '/');
    buf_adds(out, cwd);
}

static struct process *start_process(const struct action *a, const char *id,
                                     struct err *e)
{
    struct engine *en = a->all->en;
    const struct json *tty = json_get(a->args, "tty");
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX), cwd = BUF_INIT(LIMIT_SPAWN_MAX);
    struct str user = json_str(a->args, "user", "");
    char **argv = argv_of(a->args);
    struct process *p = NULL;
    cwd_of(a, &cwd);
    if (env_put_json(&env, json_get(a->args, "env"), e) == 0) {
        struct process_opts o = {.name = json_str(a->args, "name", ""),
                                 .cwd = buf_str(&cwd),
                                 .user = user.n ? user : sandbox_user(en->sandbox),
                                 .env = buf_str(&env),
                                 .env_only = json_bool(a->args, "env_only", false),
                                 .argv = argv,
                                 .call = id,
                                 .with_stdin = json_bool(a->args, "stdin", false),
                                 .merge = json_bool(a->args, "merge", false),
                                 .until_eof = str_eq(json_str(a->args, "until", ""),
                                                     STR("eof")),
                                 .rows = (int)json_int(tty, "rows", 0),
                                 .cols = (int)json_int(tty, "cols", 0)};
        p = process_start(en, &o, e);
    }
    argv_free(argv);
    buf_release(&env);
    buf_release(&cwd);
    return p;
}

static void start(struct action *a)
{
    static const struct op_sink sink = {.done = on_done};
    struct err e = ERR_INIT;
    char id[LIMIT_ID + 1];
    action_call(a, id);
    struct process *p = process_by_call(a->all->en, id);
    if (!p)
        p = start_process(a, id, &e);
    if (!p) {
        action_fail(a, &e);
        return;
    }
    struct process_run *r = xnew(struct process_run);
    *r = (struct process_run){.a = a};
    a->own = r;
    begin_limit(r, p);
    r->op = op_new(OP_WAIT, &sink, r);
    actions_tell_process(a, p);
    process_wait(p, r->op);
}

static bool begun(const struct action *a) { return process_of_action(a) != NULL; }

const struct action_kind action_process = {.name = "process",
                                           .takes = &takes,
                                           .gives = gives,
                                           .check = check,
                                           .start = start,
                                           .cancel = cancel,
                                           .begun = begun};
