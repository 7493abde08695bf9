/* SPDX-License-Identifier: MIT */
/*
 * The tool `sessions`: a line for each shell, kernel and browser. A helper reads their
 * listening ports from /proc, since a read there may block.
 */
#include "front/mcp/tools/ran.h"

#include "action/cell.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "browser/browsing.h"
#include "io/job.h"
#include "kernel/kernel.h"
#include "os/listening.h"
#include "os/procfs.h"

#include <stdio.h>
#include <stdlib.h>

enum { ANCESTORS = 64, PORTS_TEXT = 16 << 10 };

static const struct param_list takes = {
    .about = "List shells, running commands, kernels and the browser, and what each is "
             "doing or waiting for.",
    .params = (const struct param[]){{0}}};

/* ---- the helper: listening ports ---- */

/*
 * Returns pid if it is one of the shells, else its nearest ancestor that is; 0 if none
 * is.
 */
static long shell_of(pid_t pid, struct str shells)
{
    struct procfs_stat p;
    for (int i = 0; pid > 1 && i < ANCESTORS; i++) {
        char word[32];
        int n = snprintf(word, sizeof(word), " %ld ", (long)pid);
        if (str_find(shells, str_n(word, (size_t)n)) >= 0)
            return pid;
        if (procfs_stat(pid, &p) < 0)
            break;
        pid = p.ppid;
    }
    return 0;
}

/* arg: the shells' pids, each between blanks. Writes "PID PORT" lines. */
static int find_ports(void *arg, const struct job_child *c, struct err *e)
{
    struct listening all[LISTENING_MAX];
    struct str shells = str_of(arg);
    size_t n = listening(all);
    (void)e;
    for (size_t i = 0; i < n; i++) {
        char line[64];
        long shell = shell_of(all[i].pid, shells);
        int len = snprintf(line, sizeof(line), "%ld %u\n", shell, all[i].port);
        if (shell > 0)
            job_put(c, str_n(line, (size_t)len));
    }
    return 0;
}

/* ---- lines ---- */

struct listing {
    struct tool_call *c; /* the owner of this */
    struct job *job;     /* NULL: not started, or over */
    struct buf ports;    /* owned: what it wrote */
    struct buf text;     /* owned */
    struct json *list;   /* owned, until the end */
    unsigned n;
};

static void line_of(struct listing *l, const char *name, const char *kind)
{
    struct json *j = json_object();
    buf_addf(&l->text, "%-8s ", name);
    json_put_z(j, "name", name);
    json_put_z(j, "kind", kind);
    json_push(l->list, j);
    l->n++;
}

static struct json *newest(struct listing *l)
{
    struct json *last = NULL;
    for (struct json *j = json_first(l->list); j; j = json_next(j))
        last = j;
    return last;
}

static void put_ports(struct listing *l, int64_t pid)
{
    struct str rest = buf_str(&l->ports);
    struct json *list = json_array();
    while (rest.n > 0) {
        struct str port = str_cut(&rest, '\n'), shell = str_cut(&port, ' ');
        uint64_t n, p;
        bool known = false;
        if (str_to_u64(shell, &n) < 0 || str_to_u64(port, &p) < 0 || (int64_t)n != pid)
            continue;
        for (struct json *j = json_first(list); j; j = json_next(j))
            known = known || json_int_value(j, 0) == (int64_t)p;
        if (known)
            continue;
        buf_addf(&l->text, json_count(list) ? ", %llu" : ", listening on %llu",
                 (unsigned long long)p);
        json_push_int(list, (int64_t)p);
    }
    if (json_count(list) > 0)
        json_put(newest(l), "listening", list);
    else
        json_free(list);
}

static void put_busy(struct listing *l, struct session *s, const struct json *j,
                     uint64_t command)
{
    struct look look;
    struct str head = json_str(j, "command", "");
    bool waits = session_looked(s, &look) && look.state == LOOK_YES;
    json_put_z(newest(l), "state", waits ? "waiting" : "running");
    json_put_str(newest(l), "program", head);
    if (waits) {
        buf_addz(&l->text, "waiting for input: ");
        put_program(&l->text, look.comm);
    } else {
        buf_addz(&l->text, "running ");
        put_seconds(&l->text, json_int(j, "running_ms", 0));
        buf_addf(&l->text, ": %.*s", head.n > 80 ? 80 : (int)head.n, head.p);
    }
    if (command)
        buf_addf(&l->text, " (command %llu)", (unsigned long long)command);
    put_ports(l, json_int(j, "pid", 0));
    if (command)
        buf_addf(&l->text, ", output @%llu", (unsigned long long)command);
}

static void put_shell(struct listing *l, struct session *s)
{
    struct json *j = session_json(s);
    char id[LIMIT_ID + 1];
    struct command_seen seen;
    line_of(l, session_name(s), "shell");
    uint64_t command = ran_newest(s, id);
    if (command)
        json_put_int(newest(l), "command", (int64_t)command);
    json_put_z(newest(l), "cwd", session_cwd(s));
    if (session_busy(s)) {
        put_busy(l, s, j, command);
    } else {
        json_put_z(newest(l), "state", "idle");
        buf_addf(&l->text, "idle in %s", session_cwd(s));
        if (command && session_command(s, id, &seen) && seen.ended)
            buf_addf(&l->text, ", last: command %llu exit %d",
                     (unsigned long long)command, seen.exit);
        put_ports(l, json_int(j, "pid", 0));
    }
    buf_addc(&l->text, '\n');
    json_free(j);
}

/* Returns the cell that runs in the kernel of that name. */
static const struct action *cell_in(const struct listing *l, const char *kernel)
{
    for (struct action *a = NULL; (a = actions_next(l->c->actions, a));) {
        bool main = strcmp(kernel, "python") == 0 && strcmp(a->session, "main") == 0;
        if (a->kind == &action_cell && a->begun &&
            (main || strcmp(a->session, kernel) == 0))
            return a;
    }
    return NULL;
}

static bool asking(const struct actions *all, uint64_t id)
{
    const struct action_cell *cell = action_cell_find(all, id);
    return cell && cell->asks;
}

static void put_kernel(struct listing *l, const struct kernel *k)
{
    struct json *j = kernel_json(k);
    const struct action *a = cell_in(l, kernel_name(k));
    bool asks = a && asking(l->c->actions, a->id);
    line_of(l, kernel_name(k), "kernel");
    json_put_z(newest(l), "state", asks ? "waiting" : a ? "running" : "idle");
    if (a) {
        json_put_int(newest(l), "command", (int64_t)a->id);
        buf_addf(&l->text, "%s: cell %llu\n", asks ? "waiting for input" : "running",
                 (unsigned long long)a->id);
    } else {
        struct str display = json_str(j, "display", "");
        buf_addf(&l->text, "idle, %.*s\n", display.n > 60 ? 60 : (int)display.n,
                 display.n ? display.p : "");
    }
    json_free(j);
}

static void put_browser(struct listing *l, const char *name, const struct browsing *b)
{
    struct json *j = browsing_json(b);
    struct str url = json_str(j, "url", ""), title = json_str(j, "title", "");
    line_of(l, name, "browser");
    json_put_str(newest(l), "state", json_str(j, "state", ""));
    json_put_str(newest(l), "program", url);
    buf_addf(&l->text, "%.*s", url.n > 300 ? 300 : (int)url.n, url.n ? url.p : "");
    if (title.n > 0)
        buf_addf(&l->text, " \"%.*s\"", title.n > 80 ? 80 : (int)title.n, title.p);
    if (url.n == 0)
        buf_addz(&l->text, "no page yet");
    buf_addc(&l->text, '\n');
    json_free(j);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Calls fn for each name of the map, in order. */
static void in_order(struct listing *l, const struct map *m,
                     void (*fn)(struct listing *l, const char *name, void *value))
{
    const char **names = xcalloc(m->count + 1, sizeof(*names));
    size_t n = 0;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(m, it, &key, &value));)
        names[n++] = xstrndup(key.p, key.n);
    qsort(names, n, sizeof(*names), by_name);
    for (size_t i = 0; i < n; i++) {
        value = map_get(m, str_of(names[i]));
        if (value)
            fn(l, names[i], value);
        free((char *)(uintptr_t)names[i]);
    }
    free(names);
}

static void on_shell(struct listing *l, const char *name, void *value)
{
    (void)name;
    if (!session_never_was(value))
        put_shell(l, value);
}

static void on_kernel(struct listing *l, const char *name, void *value)
{
    (void)name;
    put_kernel(l, value);
}

static void on_browser(struct listing *l, const char *name, void *value)
{
    put_browser(l, name, value);
}

/* ---- the call ---- */

static void listing_free(struct listing *l)
{
    if (l->job)
        job_cancel(l->job);
    buf_release(&l->ports);
    buf_release(&l->text);
    json_free(l->list);
    l->c->own = NULL;
    free(l);
}

static void answer(struct listing *l)
{
    struct tool_call *c = l->c;
    struct json *object = json_object();
    struct buf state = BUF_INIT(200);
    in_order(l, &c->en->sessions, on_shell);
    in_order(l, &c->en->kernels, on_kernel);
    in_order(l, &c->en->browsers, on_browser);
    sessions_line(&state, l->n);
    json_put(object, "sessions", l->list);
    l->list = NULL;
    struct tool_result r = {
        .text = buf_str(&l->text), .state = buf_str(&state), .object = object};
    tool_end(c, &r);
    buf_release(&state);
    listing_free(l);
}

static void on_data(struct job *j, struct buf *in)
{
    struct listing *l = job_owner(j);
    if (in->n <= buf_room(&l->ports))
        buf_adds(&l->ports, buf_str(in));
    buf_consume(in, in->n);
}

/* Ends the call. The answer has no ports if they could not be read. */
static void on_done(struct job *j, const struct err *e)
{
    struct listing *l = job_owner(j);
    (void)e;
    l->job = NULL;
    answer(l);
}

static const struct job_events events = {.on_data = on_data, .on_done = on_done};

static void put_pid(struct listing *l, const char *name, void *value)
{
    struct json *j = session_json(value);
    (void)name;
    if (json_int(j, "pid", 0) > 0)
        buf_addf(&l->text, " %lld ", (long long)json_int(j, "pid", 0));
    json_free(j);
}

static void start(struct tool_call *c)
{
    struct err e = ERR_INIT;
    struct listing *l = xnew(struct listing);
    l->c = c;
    l->list = json_array();
    c->own = l;
    buf_init(&l->ports, PORTS_TEXT);
    buf_init(&l->text, TOOL_ANSWER_MAX);
    in_order(l, &c->en->sessions, put_pid);
    struct job_spec spec = {.what = "reading the listening ports",
                            .fn = find_ports,
                            .arg = (void *)(uintptr_t)buf_z(&l->text),
                            .ev = &events,
                            .owner = l};
    l->job = l->text.n ? job_start(c->en->loop, &spec, &e) : NULL;
    buf_reset(&l->text);
    if (!l->job)
        answer(l);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    (void)why;
    listing_free(c->own);
}

const struct tool tool_sessions = {.name = "sessions",
                                   .title = "List sessions",
                                   .takes = &takes,
                                   .read_only = true,
                                   .idempotent = true,
                                   .output = "{\"sessions\":{\"type\":\"array\"}}",
                                   .start = start,
                                   .stop = stop};
