/* SPDX-License-Identifier: MIT */
/*
 * process.Process: the list of processes, start, connect, signals, size.
 *
 * A process is one of the engine's, started by the action `process`. This file keeps its
 * tag and the message that started it, and stores them at the keeper for the next worker.
 */
#include "front/e2b/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "shell/process.h"
#include "shell/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAG_MAX = 256 };

static const char state_prefix[] = "e2b/p/";

/* ---- the records ---- */

static void forget(struct e2b_process *x)
{
    state_drop(x->f->en, state_prefix, x->name);
    e2b_listeners_forget(x);
    e2b_inputs_forget(x);
    list_del(&x->node);
    x->f->nprocesses--;
    json_free(x->config);
    free(x->tag);
    loop_bury(x->f->en->loop, x, free);
}

/* Forgets the processes that the engine no longer keeps. */
static void prune(struct e2b *f)
{
    struct list *it, *tmp;
    if (f->nprocesses <= LIMIT_PROCS_MAX)
        return;
    list_each (it, tmp, &f->processes) {
        struct e2b_process *x = list_entry(it, struct e2b_process, node);
        if (!process_find(f->en, str_of(x->name)))
            forget(x);
    }
}

static struct e2b_process *add(struct e2b *f, struct str name)
{
    struct e2b_process *x = xnew(struct e2b_process);
    x->f = f;
    snprintf(x->name, sizeof(x->name), "%.*s", STR_ARG(name));
    list_init(&x->inputs);
    list_add_tail(f->processes.next, &x->node);
    f->nprocesses++;
    return x;
}

static const struct state_field kept[] = {
    STATE_ROW(struct e2b_process, tag),
    STATE_ROW(struct e2b_process, tty),
    STATE_ROW_AS("stdin", struct e2b_process, has_stdin),
    STATE_ROW(struct e2b_process, closed),
    STATE_ROW(struct e2b_process, config),
    {.name = NULL}};

/* Stores the record, without its configuration if it is too long for a state. */
static void keep(const struct e2b_process *x)
{
    struct json *j = state_json(kept, x);
    if (!state_put(x->f->en, state_prefix, x->name, j)) {
        json_free(json_take(j, "config"));
        state_put(x->f->en, state_prefix, x->name, j);
    }
    json_free(j);
}

static void load_one(void *arg, struct str name, struct json *j)
{
    struct e2b_process *x = add(arg, name);
    state_read(kept, x, j);
    if (!x->config)
        x->config = json_object();
}

void e2b_processes_load(struct e2b *f) { state_each(f->en, state_prefix, load_one, f); }

/* ---- selectors ---- */

static bool selected(const struct e2b_process *x, const struct process *p, uint64_t pid,
                     struct str tag)
{
    if (pid > 0)
        return (uint64_t)process_pid(p) == pid;
    return x->tag && str_eq(tag, str_of(x->tag));
}

static struct e2b_process *search(struct e2b *f, uint64_t pid, struct str tag, bool ended,
                                  struct process **p)
{
    struct e2b_process *found = NULL;
    struct list *it, *tmp;
    list_each (it, tmp, &f->processes) {
        struct e2b_process *x = list_entry(it, struct e2b_process, node);
        struct process *q = process_find(f->en, str_of(x->name));
        if (!q || !selected(x, q, pid, tag) || (process_ended(q) && (!ended || found)))
            continue;
        found = x;
        *p = q;
        if (!process_ended(q))
            return x;
    }
    return found;
}

struct e2b_process *e2b_process_find(struct e2b *f, const struct json *m, bool ended,
                                     struct process **p, const char **code, struct err *e)
{
    const struct json *selector = e2b_rpc_get(m, "process", NULL);
    struct str tag = {NULL, 0};
    uint64_t pid = 0;
    *code = "invalid_argument";
    if (selector && !json_is_object(selector)) {
        err_set(e, ERR_INVALID, "process must be {\"pid\": NUMBER} or {\"tag\": TEXT}");
        return NULL;
    }
    if (e2b_rpc_uint(selector, "pid", UINT32_MAX, &pid, e) < 0 ||
        e2b_rpc_str(selector, "tag", NULL, &tag, e) < 0)
        return NULL;
    if (!pid && !tag.p) {
        *code = "unimplemented";
        err_set(e, ERR_UNSUPPORTED, "process must select one by pid or tag");
        return NULL;
    }
    struct e2b_process *x = search(f, pid, tag, ended, p);
    if (x)
        return x;
    *code = "not_found";
    if (pid)
        err_set(e, ERR_NOTFOUND, "process with pid %llu not found",
                (unsigned long long)pid);
    else
        err_set(e, ERR_NOTFOUND, "process with tag %.*s not found",
                (int)(tag.n < 100 ? tag.n : 100), tag.p);
    return NULL;
}

/* Reads the message of a unary request and the running process that it selects. */
static struct e2b_process *unary(struct req *r, struct json **m, struct process **p)
{
    const char *code;
    struct err e = ERR_INIT;
    struct e2b *f = req_arg(r);
    struct e2b_process *x = NULL;
    engine_touch(f->en);
    if (!(*m = e2b_rpc_read(r)))
        return NULL;
    if (!(x = e2b_process_find(f, *m, false, p, &code, &e))) {
        e2b_rpc_fail(r, code, e.text);
        json_free(*m);
    }
    return x;
}

/* ---- List, SendSignal, Update ---- */

void e2b_process_list(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct json *m = e2b_rpc_read(r);
    struct buf b = BUF_INIT(8 << 20);
    struct list *it, *tmp;
    bool any = false;
    engine_touch(f->en);
    if (!m)
        return;
    list_each (it, tmp, &f->processes) {
        const struct e2b_process *x = list_entry(it, struct e2b_process, node);
        const struct process *p = process_find(f->en, str_of(x->name));
        if (!p || process_ended(p) || process_pid(p) <= 0)
            continue;
        buf_addz(&b, any ? ",{\"config\":" : "{\"processes\":[{\"config\":");
        any = true;
        json_print(&b, x->config);
        buf_addf(&b, ",\"pid\":%d", (int)process_pid(p));
        if (x->tag) {
            buf_addz(&b, ",\"tag\":");
            json_quote(&b, str_of(x->tag));
        }
        buf_addc(&b, '}');
    }
    buf_addz(&b, any ? "]}" : "{}");
    e2b_rpc_answer(r, &b);
    json_free(m);
}

/* Returns the signal in m: an enum of ProtoJSON, a name or a number. */
static int signal_of(const struct json *m, const char **code, struct err *e)
{
    const struct json *v = e2b_rpc_get(m, "signal", NULL);
    struct str name = json_str_value(v, "");
    int64_t n = json_int_value(v, 0);
    if (str_eq(name, STR("SIGNAL_SIGTERM")) || n == SIGTERM)
        return SIGTERM;
    if (str_eq(name, STR("SIGNAL_SIGKILL")) || n == SIGKILL)
        return SIGKILL;
    bool known = !v || json_is_number(v) || str_eq(name, STR("SIGNAL_UNSPECIFIED"));
    *code = known ? "unimplemented" : "invalid_argument";
    err_set(e, ERR_INVALID, "signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL");
    return 0;
}

/* Sends the signal to the whole group; KILL also to descendants in other groups, such as
 * the jobs of a terminal. */
void e2b_process_send_signal(struct req *r)
{
    struct err e = ERR_INIT;
    const char *code;
    struct json *m;
    struct process *p;
    struct e2b_process *x = unary(r, &m, &p);
    if (!x)
        return;
    int signo = signal_of(m, &code, &e);
    if (!signo) {
        e2b_rpc_fail(r, code, e.text);
    } else {
        struct json *args = json_object();
        json_put_z(args, "process", x->name);
        json_put_int(args, "signal", signo);
        json_put_bool(args, "tree", signo == SIGKILL);
        e2b_act_answer(x->f, r, "signal", args);
    }
    json_free(m);
}

/* Reads {"size": {"cols", "rows"}}. *any: whether m has it. */
static int size_of(const struct json *m, bool *any, uint64_t *rows, uint64_t *cols,
                   struct err *e)
{
    const struct json *pty = e2b_rpc_get(m, "pty", NULL),
                      *size = e2b_rpc_get(pty, "size", NULL);
    *any = pty != NULL;
    if (!pty)
        return 0;
    if (!json_is_object(pty) || (size && !json_is_object(size)))
        return err_set(e, ERR_INVALID, "pty must be {\"size\": {\"cols\", \"rows\"}}");
    *rows = 24;
    *cols = 80;
    if (e2b_rpc_uint(size, "rows", UINT16_MAX, rows, e) < 0 ||
        e2b_rpc_uint(size, "cols", UINT16_MAX, cols, e) < 0)
        return -1;
    *rows = *rows ? *rows : 24;
    *cols = *cols ? *cols : 80;
    return 0;
}

void e2b_process_update(struct req *r)
{
    struct err e = ERR_INIT;
    struct json *m;
    struct process *p;
    struct e2b_process *x = unary(r, &m, &p);
    uint64_t rows, cols;
    bool any;
    if (!x)
        return;
    if (size_of(m, &any, &rows, &cols, &e) < 0) {
        e2b_rpc_refuse(r, &e);
    } else if (!any) {
        e2b_rpc_answer_nothing(r);
    } else if (!x->tty) {
        e2b_rpc_fail(r, "failed_precondition", "the process has no terminal");
    } else {
        struct json *args = json_object();
        json_put_z(args, "process", x->name);
        json_put_int(args, "rows", (int64_t)rows);
        json_put_int(args, "cols", (int64_t)cols);
        e2b_act_answer(x->f, r, "resize", args);
    }
    json_free(m);
}

/* ---- Start ---- */

struct e2b_start {
    struct e2b *f;
    struct sandbox_place user;
    char user_name[E2B_USER_MAX + 1];
    const struct json *process; /* the member `process` of the message */
    struct str cmd, tag;
    struct buf cwd;
    bool has_stdin, tty;
    uint64_t rows, cols;
    int64_t limit_ms;
};

static int check_strings(const struct json *v, bool object, const char *name,
                         struct err *e)
{
    bool good = !v || (object ? json_is_object(v) : json_is_array(v));
    for (const struct json *x = json_first(v); x && good; x = json_next(x))
        good = json_is_string(x) &&
               (!object || (json_name(x)[0] && !strchr(json_name(x), '=')));
    return good ? 0
                : err_set(e, ERR_INVALID, "process.%s must be %s", name,
                          object ? "an object of names and strings"
                                 : "an array of strings");
}

static int read_start(struct e2b_start *s, const struct json *m, struct err *e)
{
    struct str cwd = STR("");
    struct stat st;
    s->process = e2b_rpc_get(m, "process", NULL);
    s->has_stdin = true;
    if (!json_is_object(s->process))
        return err_set(e, ERR_INVALID, "process must be an object");
    if (e2b_rpc_str(s->process, "cmd", NULL, &s->cmd, e) < 0 ||
        e2b_rpc_str(s->process, "cwd", NULL, &cwd, e) < 0 ||
        e2b_rpc_str(m, "tag", NULL, &s->tag, e) < 0 ||
        e2b_rpc_bool(m, "stdin", NULL, &s->has_stdin, e) < 0 ||
        size_of(m, &s->tty, &s->rows, &s->cols, e) < 0 ||
        check_strings(e2b_rpc_get(s->process, "args", NULL), false, "args", e) < 0 ||
        check_strings(e2b_rpc_get(s->process, "envs", NULL), true, "envs", e) < 0)
        return -1;
    if (s->cmd.n == 0)
        return err_set(e, ERR_INVALID, "process.cmd is missing: the program to run");
    if (s->tag.n > TAG_MAX)
        return err_set(e, ERR_INVALID, "tag has at most %d bytes", TAG_MAX);
    if (e2b_path(s->f, &s->user, cwd, &s->cwd, e) < 0)
        return -1;
    bool there = stat(buf_z(&s->cwd), &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
    if (!there && cwd.n == 0 &&
        !s->f->workdir[0]) { /* the home of the user does not exist */
        buf_reset(&s->cwd);
        buf_addc(&s->cwd, '/');
    } else if (!there) {
        return err_set(e, ERR_INVALID, "cwd '%.300s' does not exist", buf_z(&s->cwd));
    }
    return 0;
}

/*
 * Adds the program. SDKs run all commands by /bin/bash; in an image without it, the shell
 * of the image gets the same arguments.
 */
static void put_program(const struct e2b_start *s, struct json *argv)
{
    struct shell sh = {.kind = SHELL_POSIX};
    struct err e = ERR_INIT;
    bool bash = str_eq(s->cmd, STR("/bin/bash")) || str_eq(s->cmd, STR("/bin/sh"));
    if (bash && access(s->cmd.p, X_OK) < 0 &&
        shell_find(&sh, NULL, env_get(s->f->en->env, "PATH"), "/", &e) == 0)
        json_push_str(argv, str_of(sh.path));
    else
        json_push_str(argv, s->cmd);
}

static void merge(struct json *env, const struct json *more)
{
    for (const struct json *v = json_first(more); v; v = json_next(v))
        json_put(env, json_name(v), json_copy(v));
}

/* Returns the arguments of the action `process`. */
static struct json *args_of(const struct e2b_start *s, const char *name)
{
    struct json *args = json_object(), *argv = json_array();
    struct json *env = json_copy(s->f->env);
    const struct json *v = json_first(e2b_rpc_get(s->process, "args", NULL));
    put_program(s, argv);
    for (; v; v = json_next(v))
        json_push_str(argv, json_str_value(v, ""));
    merge(env, e2b_rpc_get(s->process, "envs", NULL));
    json_put(args, "argv", argv);
    json_put_z(args, "name", name);
    json_put_str(args, "cwd", buf_str(&s->cwd));
    if (s->user_name[0] || s->f->default_user[0])
        json_put_z(args, "user", s->user_name[0] ? s->user_name : s->f->default_user);
    json_put(args, "env", env);
    json_put_bool(args, "stdin", s->has_stdin && !s->tty);
    if (s->tty) {
        struct json *tty = json_object();
        json_put_int(tty, "rows", (int64_t)s->rows);
        json_put_int(tty, "cols", (int64_t)s->cols);
        json_put(args, "tty", tty);
    }
    if (s->limit_ms > 0)
        json_put_num(args, "timeout", (double)s->limit_ms / 1000);
    return args;
}

static struct e2b_process *record(const struct e2b_start *s, const char *name)
{
    struct e2b_process *x = add(s->f, str_of(name));
    struct json *args = json_array(), *envs = json_object();
    x->tag = s->tag.n ? xstrndup(s->tag.p, s->tag.n) : NULL;
    x->tty = s->tty;
    x->has_stdin = s->has_stdin;
    x->config = json_object();
    json_put_str(x->config, "cmd", s->cmd);
    for (const struct json *v = json_first(e2b_rpc_get(s->process, "args", NULL)); v;
         v = json_next(v))
        json_push_str(args, json_str_value(v, ""));
    merge(envs, e2b_rpc_get(s->process, "envs", NULL));
    json_put(x->config, "args", args);
    json_put(x->config, "envs", envs);
    json_put_str(x->config, "cwd", buf_str(&s->cwd));
    return x;
}

/* Submits the action. If the process cannot be started, the stream ends. */
static void run(struct e2b_start *s, struct req *r)
{
    struct err e = ERR_INIT;
    char name[sizeof(((struct e2b_process *)0)->name)] = "e2b-";
    struct action_order o = {.source = E2B_SOURCE};
    struct json *m = json_object();
    random_hex(name + 4, 12);
    prune(s->f);
    json_put_z(m, "action", "process");
    json_put(m, "args", args_of(s, name));
    struct action *a = action_open(s->f->actions, m, &o, &e);
    if (!a) {
        e2b_rpc_stream_refuse(r, e2b_rpc_code(e.code), e.text);
        return;
    }
    struct e2b_process *x = record(s, name);
    keep(x);
    e2b_listen(x, r, a->id, s->limit_ms);
    action_go(a);
}

void e2b_process_start(struct req *r)
{
    struct err e = ERR_INIT;
    struct e2b_start s = {.f = req_arg(r), .cwd = BUF_INIT(8192)};
    struct json *m = e2b_rpc_stream_read(r);
    engine_touch(s.f->en);
    if (!m)
        return;
    if (e2b_rpc_user(s.f, r, s.user_name, &s.user, &e) < 0)
        e2b_rpc_stream_refuse(
            r, e.code == ERR_INVALID ? "invalid_argument" : "unauthenticated", e.text);
    else if (e2b_rpc_timeout(r, &s.limit_ms, &e) < 0 || read_start(&s, m, &e) < 0)
        e2b_rpc_stream_refuse(r, e2b_rpc_code(e.code), e.text);
    else
        run(&s, r);
    buf_release(&s.cwd);
    json_free(m);
}

/* ---- Connect ---- */

/*
 * Finds where the output begins: at the bytes of Od-Offset: OUTPUT,ERROR. Without it, at
 * the first byte that was not sent to any listener; at the present end, if the process
 * has a listener.
 */
static void offsets(const struct e2b_process *x, const struct process *p,
                    const struct req *r, uint64_t from[2])
{
    struct str given = req_header(r, "Od-Offset");
    for (int i = 0; i < 2; i++) {
        int fd;
        const struct keep_stream *s = process_stream(p, i, &fd);
        uint64_t end = s ? s->offset : 0, n;
        struct str part = str_trim(str_cut(&given, ','));
        from[i] = x->listeners && !process_ended(p) ? end : x->sent[i];
        if (part.n > 0 && str_to_u64(part, &n) == 0)
            from[i] = n;
        from[i] = from[i] < end ? from[i] : end;
    }
}

void e2b_process_connect(struct req *r)
{
    struct err e = ERR_INIT;
    const char *code;
    char begins[64];
    uint64_t from[2];
    struct e2b *f = req_arg(r);
    struct process *p;
    struct json *m = e2b_rpc_stream_read(r);
    engine_touch(f->en);
    if (!m)
        return;
    struct e2b_process *x = e2b_process_find(f, m, true, &p, &code, &e);
    json_free(m);
    if (!x) {
        e2b_rpc_stream_refuse(r, code, e.text);
        return;
    }
    offsets(x, p, r, from);
    snprintf(begins, sizeof(begins), "%llu,%llu", (unsigned long long)from[0],
             (unsigned long long)from[1]);
    req_header_add(r, "Od-Offset", begins);
    e2b_listener_follow(e2b_listen(x, r, 0, 0), p, from);
}
