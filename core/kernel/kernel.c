/* SPDX-License-Identifier: MIT */
/* Kernels: their life, and the lines of their hosts. */
#include "kernel/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/scan.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "kernel/host/find.h"
#include "skill/python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAST_WORDS = 400, DEATHS_MAX = 5 };

/* ---- its turns ---- */

static void start_host(struct kernel *k);

/*
 * The cell that runs at each start goes before those that wait. Returns c if there is
 * none.
 */
static struct cell *cell_before(struct kernel *k, struct cell *c)
{
    struct str init = json_str(k->opts, "init", "");
    k->fresh = false;
    if (init.n == 0)
        return c;
    struct cell *own = cell_make(k, init);
    own->silent = own->before = true;
    companion_add(&k->host, &own->call, "");
    list_del(&own->call.node);
    list_add_tail(k->host.calls.next, &own->call.node); /* before the first */
    return own;
}

static struct kernel *kernel_of(struct companion *c)
{
    return container_of(c, struct kernel, host);
}

static void on_gate(struct gate_wait *w)
{
    companion_turn_later(&container_of(w, struct cell, gate)->k->host);
}

/* Questions change nothing. */
static bool passes_gate(struct kernel *k, struct cell *c)
{
    const struct gate_ask q = {
        .kind = GATE_CELL, .id = c->call.id, .text = buf_str(&c->code)};
    if (c->question)
        return true;
    c->gate.go = on_gate;
    return gate_lets(k->host.en, &c->gate, &q);
}

static void on_turn(struct companion *host)
{
    struct kernel *k = kernel_of(host);
    struct err e = ERR_INIT;
    struct cell *c = kernel_first_cell(k);
    if (!kernel_is_full(k))
        listeners_tell(k, "room");
    if (k->host.late.cap > 0)
        return; /* a turn follows */
    if (!c || c->call.step != CALL_WAITING)
        return;
    if (k->state != KERNEL_READY || k->leaving)
        cell_begin_limit(c, true);
    if (k->leaving || host->fall_all)
        return;
    if (companion_state(host) != COMPANION_RUNS) {
        start_host(k);
        return;
    }
    if (k->state == KERNEL_DEAD || k->state == KERNEL_FAILED) {
        k->state = KERNEL_STARTING;
        companion_send(host, STR("{\"host\":\"restart\"}\n"));
    }
    if (k->state != KERNEL_READY)
        return;
    if (!passes_gate(k, c))
        return;
    if (k->fresh)
        c = cell_before(k, c);
    if (cell_send(c, &e) < 0) {
        cell_fail(c, CELL_FAILED, &e);
        return;
    }
    if (!c->before && !c->question) {
        c->renewed = k->renewed;
        k->renewed = false;
    }
    c->call.step = CALL_RUNNING;
    cell_begin_limit(c, false);
    cell_start(&c->start);
}

/* ---- lines of the host ---- */

static void on_fail(struct companion_call *call, const struct err *why)
{
    cell_fail(container_of(call, struct cell, call),
              call->step == CALL_WAITING ? CELL_FAILED : CELL_DIED, why);
}

static void on_failed(struct companion *host)
{
    struct kernel *k = kernel_of(host);
    /* The host could not start: nothing of it is kept. */
    if (k->state == KERNEL_FAILED && companion_state(host) == COMPANION_NONE &&
        !k->about && list_empty(&host->calls))
        kernel_close(k);
    else
        companion_turn_later(host);
}

/* Returns the last lines of a kernel's error output; of a long line, its end. */
static struct str last_words(const struct json *m)
{
    struct str said = json_str(m, "stderr", "");
    if (said.n <= LAST_WORDS)
        return said;
    said = str_sub(said, said.n - LAST_WORDS, said.n);
    long nl = str_chr(said, '\n');
    return str_sub(said, nl < 0 ? 0 : (size_t)nl + 1, said.n);
}

static void on_dead(struct kernel *k, const struct json *m)
{
    struct str said = last_words(m);
    int64_t signo = json_int(m, "signal", 0);
    k->state = KERNEL_DEAD;
    k->doing = "dead";
    if (signo)
        err_set(&k->host.why, ERR_GONE,
                "the kernel %s was ended by signal %lld (%s)%s%.*s", k->host.name,
                (long long)signo, strsignal((int)signo),
                said.n ? "; its last output: " : "", STR_ARG(said));
    else
        err_set(&k->host.why, ERR_GONE, "the kernel %s ended with status %lld%s%.*s",
                k->host.name, (long long)json_int(m, "exit", 0),
                said.n ? "; its last output: " : "", STR_ARG(said));
    k->leaving = false;
    k->renewed = true;
    companion_fail_later(&k->host, false);
    if (!list_empty(&k->listeners) && k->deaths++ < DEATHS_MAX) {
        k->state = KERNEL_STARTING;
        companion_send(&k->host, STR("{\"host\":\"restart\"}\n"));
    } else
        listeners_tell(k, "dead");
}

static void on_host_line(void *arg, struct str line, uint64_t end)
{
    struct kernel *k = kernel_of(arg);
    struct err e = ERR_INIT;
    (void)end;
    if (!str_starts(line, STR("{\"host\":"))) {
        kernel_notice(k, line);
        return;
    }
    struct json *m = json_parse(line, &e);
    struct str what = json_str(m, "host", "");
    k->full = str_eq(what, STR("full"));
    if (k->full)
        listeners_tell(k, "full");
    if (str_eq(what, STR("starting"))) {
        k->state = KERNEL_STARTING;
        k->doing = "starting";
        json_free(k->about);
        k->about = m;
        return;
    }
    if (str_eq(what, STR("ready"))) {
        k->state = KERNEL_READY;
        k->doing = "idle";
        k->fresh = true;
        if (k->about) {
            json_put_int(k->about, "pid", json_int(m, "pid", 0));
            json_put_int(k->about, "start_ms", json_int(m, "start_ms", 0));
        }
    } else if (str_eq(what, STR("dead"))) {
        on_dead(k, m);
    } else if (str_eq(what, STR("failed"))) {
        struct str said = last_words(m);
        k->state = KERNEL_FAILED;
        k->doing = "dead";
        err_set(&k->host.why, (enum err_code)json_int(m, "code", ERR_GONE), "%.*s%s%.*s",
                STR_ARG(json_str(m, "error", "")), said.n ? "; its last output: " : "",
                STR_ARG(said));
        companion_fail_later(&k->host, true);
    } else if (str_eq(what, STR("note")) || str_eq(what, STR("stuck")) ||
               str_eq(what, STR("gap")) || str_eq(what, STR("heart"))) {
        struct str text = json_str(m, "text", "");
        if (k->about && json_has(m, "silent"))
            json_put_bool(k->about, "silent", json_bool(m, "silent", false));
        if (str_eq(what, STR("stuck")) && kernel_first_cell(k))
            cell_is_stuck(kernel_first_cell(k));
        log_info("kernel %s: %.*s", k->host.name, STR_ARG(text));
    }
    json_free(m);
    kernel_save(k);
    companion_turn_later(&k->host);
}

/* Messages are for the cells' readers. */
static enum line_fate on_host_head(void *arg, struct str head)
{
    kernel_notice(kernel_of(arg), head);
    return str_starts(head, STR("{\"host\":")) ? LINE_WHOLE : LINE_PASSED_OVER;
}

static void on_host_read(void *arg) { kernel_tell_seen(kernel_of(arg)); }

static void on_ended(struct companion *host, const struct err *why)
{
    struct kernel *k = kernel_of(host);
    if (k->state != KERNEL_FAILED) /* else the host has reported the reason */
        host->why = *why;
    k->state = KERNEL_FAILED;
    k->doing = "dead";
    k->leaving = k->full = false;
    k->renewed = k->about != NULL;
    companion_fail_later(host, true);
    kernel_save(k);
}

static void on_save(struct companion *host) { kernel_save(kernel_of(host)); }

static const struct companion_kind kind = {
    .noun = "kernel",
    .call = "cell",
    .program = "od-kernel",
    .stem = "kernel-",
    .key = "jupyter/",
    .read = "{\"host\":\"read\",\"to\":",
    .window = 3,
    .end_ms = 10000, /* the host gives the kernel 4 s, and left processes some more */
    .lines = {.line = on_host_line,
              .head = on_host_head,
              .read = on_host_read,
              .room = companion_room,
              .end = companion_over},
    .save = on_save,
    .turn = on_turn,
    .fail = on_fail,
    .ended = on_ended,
    .failed = on_failed,
};

/* The folder where kernels cache their compiled code: of the server's own user. */
static void put_keep(struct engine *en, struct json *options)
{
    char dir[sizeof(en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/kernels", en->state_dir);
    if (en->state_dir[0] && (mkdir(dir, 0700) == 0 || errno == EEXIST))
        json_put_z(options, "keep", dir);
}

static void start_host(struct kernel *k)
{
    struct engine *en = k->host.en;
    struct json *given = json_object();
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
    json_put_str(given, "kernel", json_str(k->opts, "kernel", ""));
    json_put_str(given, "choice", json_str(k->opts, "choice", "any"));
    put_keep(en, given);
    for (struct json *v = json_first(json_get(k->opts, "env")); v; v = json_next(v)) {
        buf_adds(&env, json_str_value(v, ""));
        buf_addc(&env, 0);
    }
    skill_python_env(en, &env);
    struct companion_start s = {.take_options = given,
                                .cwd = json_str(k->opts, "cwd", ""),
                                .user = json_str(k->opts, "user", ""),
                                .env = buf_str(&env)};
    k->state = KERNEL_STARTING;
    k->nrecords = 0;
    if (companion_start(&k->host, &s, &k->host.why) < 0) {
        k->state = KERNEL_FAILED;
        companion_fail(&k->host, true);
        kernel_save(k);
    } else
        listeners_begin(k);
    buf_release(&env);
}

/* ---- life ---- */

struct kernel *kernel_make(struct engine *en, struct str name)
{
    struct kernel *k = xnew(struct kernel);
    companion_init(&k->host, en, &kind, name);
    k->opts = json_object();
    task_init(&k->keep, kernel_on_keep);
    list_init(&k->listeners);
    k->doing = "starting";
    k->active_ms = clock_wall_ms();
    map_put(&en->kernels, name, k);
    return k;
}

struct kernel *kernel_lookup(struct engine *en, struct str name)
{
    return map_get(&en->kernels, name);
}

struct kernel *kernel_open(struct engine *en, struct str name,
                           const struct kernel_opts *o, struct err *e)
{
    struct kernel *k = kernel_lookup(en, name);
    if (k)
        return k;
    if (companion_check_name(&kind, name, e) < 0)
        return NULL;
    if (en->kernels.count >= LIMIT_KERNELS_MAX) {
        err_set(e, ERR_LIMIT, "%d kernels run already: close one", LIMIT_KERNELS_MAX);
        return NULL;
    }
    k = kernel_make(en, name);
    json_put_str(k->opts, "kernel", o->kernel);
    json_put_str(k->opts, "choice", o->choice.n ? o->choice : STR("any"));
    json_put_str(k->opts, "cwd", o->cwd);
    json_put_str(k->opts, "user", o->user);
    json_put_str(k->opts, "init", o->init);
    struct json *env = json_array();
    for (struct str rest = o->env; rest.n;)
        json_push_str(env, str_cut(&rest, 0));
    json_put(k->opts, "env", env);
    start_host(k);
    if (k->state == KERNEL_FAILED) {
        *e = k->host.why;
        kernel_close(k);
        return NULL;
    }
    return k;
}

static void bury_kernel(void *p)
{
    struct kernel *k = p;
    json_free(k->opts);
    json_free(k->about);
    free(k);
}

void kernel_close(struct kernel *k)
{
    struct engine *en = k->host.en;
    if (!k->host.why.code)
        err_set(&k->host.why, ERR_CANCELLED, "the kernel %s was closed", k->host.name);
    companion_close(&k->host);
    listeners_end(k);
    task_cancel(&k->keep);
    map_del(&en->kernels, str_of(k->host.name));
    loop_bury(en->loop, k, bury_kernel);
}

/* Ends the cells of all kernels when the server ends. */
static void kernel_cancel_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->kernels, it, &key, &value));) {
        struct kernel *k = value;
        err_set(&k->host.why, ERR_CANCELLED, "the server was stopped");
        companion_fail(&k->host, true);
    }
}

/* Returns the cell that waits for the start of the kernel; NULL if none does. */
static struct cell *cell_at_start(const struct kernel *k)
{
    struct cell *c = kernel_first_cell(k);
    if (c && c->before && c->call.node.next != &k->host.calls)
        c = container_of(list_entry(c->call.node.next, struct companion_call, node),
                         struct cell, call);
    else if (k->state == KERNEL_READY && !k->leaving)
        return NULL;
    return c && c->call.step == CALL_WAITING ? c : NULL;
}

void kernel_interrupt(struct kernel *k)
{
    struct cell *c = cell_at_start(k);
    if (c)
        cell_stop_waiting(c);
    if (k->state == KERNEL_READY)
        companion_send(&k->host, STR("{\"host\":\"interrupt\"}\n"));
}

void kernel_restart(struct kernel *k)
{
    err_set(&k->host.why, ERR_CANCELLED, "the kernel %s was restarted", k->host.name);
    companion_fail(&k->host, true);
    k->leaving = k->renewed = false;
    if (companion_state(&k->host) != COMPANION_RUNS) {
        start_host(k);
        return;
    }
    k->state = KERNEL_STARTING;
    companion_send(&k->host, STR("{\"host\":\"restart\"}\n"));
    kernel_save(k);
}

const char *kernel_name(const struct kernel *k) { return k->host.name; }

const char *kernel_interpreter(const struct kernel *k)
{
    struct str s = json_str(k->about, "interpreter", "");
    return s.p; /* a parsed string ends in a NUL */
}

struct json *kernel_json(const struct kernel *k)
{
    static const char *const states[] = {"starting", "ready", "dead", "failed"};
    static const char *const members[] = {"kernel", "display", "language", "where",
                                          "interpreter"};
    struct json *j = json_object();
    struct cell *c = kernel_first_cell(k);
    json_put_z(j, "name", k->host.name);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        json_put_str(j, members[i], json_str(k->about, members[i], ""));
    json_put_bool(j, "embedded", json_bool(k->about, "embedded", false));
    json_put_z(j, "state", states[k->state]);
    json_put_bool(j, "silent", json_bool(k->about, "silent", false));
    json_put_int(j, "pid", json_int(k->about, "pid", 0));
    json_put_int(j, "start_ms", json_int(k->about, "start_ms", 0));
    json_put_bool(j, "busy", c && c->call.step != CALL_WAITING);
    if (k->state == KERNEL_DEAD || k->state == KERNEL_FAILED)
        json_put_z(j, "why", k->host.why.text);
    return j;
}

#define TEXT(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_STRING, .about = sentence \
    }
#define EMBEDDED \
    { \
        .name = "embedded", .type = MEMBER_BOOL, .about = "Whether it is a part of od" \
    }

static const struct member kernel_members[] = {
    TEXT("name", "Its name"),
    TEXT("kernel", "Its kernelspec"),
    TEXT("display", "The kernelspec's name for people"),
    TEXT("language", "Its language"),
    TEXT("where", "Where the kernelspec is"),
    TEXT("interpreter", "Its program"),
    EMBEDDED,
    {.name = "state",
     .type = MEMBER_STRING,
     .choices = "starting ready dead failed",
     .about = "Its state"},
    {.name = "silent", .type = MEMBER_BOOL, .about = "It does not answer its heartbeat"},
    {.name = "pid", .type = MEMBER_INT, .about = "Its process; 0: none"},
    {.name = "start_ms", .type = MEMBER_INT, .about = "How long its start took"},
    {.name = "busy", .type = MEMBER_BOOL, .about = "Whether it runs a cell"},
    {.name = "why",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Why it is dead, or has failed"},
    {0}};

static const struct member spec_members[] = {TEXT("name", "Its name"),
                                             TEXT("display", "Its name for people"),
                                             TEXT("language", "Its language"),
                                             TEXT("where", "Where it is"),
                                             EMBEDDED,
                                             {0}};

const struct member kernel_overview_members[] = {{.name = "kernels",
                                                  .type = MEMBER_OBJECTS,
                                                  .members = kernel_members,
                                                  .about = "The running kernels"},
                                                 {.name = "specs",
                                                  .type = MEMBER_OBJECTS,
                                                  .members = spec_members,
                                                  .about = "Kernels that can run"},
                                                 TEXT("notes_on_specs",
                                                      "Why others cannot run"),
                                                 {0}};

struct json *kernel_overview(struct engine *en, struct str cwd)
{
    struct json *r = json_object(), *running = json_array(), *specs = json_array();
    struct kernel_list l;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->kernels, it, &key, &value));)
        json_push(running, kernel_json(value));
    kernel_find(&l, en->env, cwd.n ? cwd.p : NULL);
    for (int i = 0; i < l.n; i++) {
        struct json *s = json_object();
        json_put_z(s, "name", l.v[i].name);
        json_put_z(s, "display", l.v[i].display);
        json_put_z(s, "language", l.v[i].language);
        json_put_z(s, "where", l.v[i].where);
        json_put_bool(s, "embedded", l.v[i].embedded);
        json_push(specs, s);
    }
    json_put(r, "kernels", running);
    json_put(r, "specs", specs);
    json_put_str(r, "notes_on_specs", buf_str(&l.notes));
    kernel_list_release(&l);
    return r;
}

static const struct json *spec_named(const struct json *specs, struct str word)
{
    const struct json *found = NULL;
    for (const struct json *s = json_first(specs); s; s = json_next(s)) {
        struct str name = json_str(s, "name", ""), lang = json_str(s, "language", "");
        if (name.n == word.n && scan_same(name, word, true))
            return s;
        if (!found && lang.n == word.n && scan_same(lang, word, true))
            found = s;
    }
    return found;
}

const struct json *kernel_spec_of(const struct json *specs, struct str language)
{
    const struct json *s = spec_named(specs, language);
    if (!s && str_eq(language, STR("javascript")))
        s = spec_named(specs, STR("typescript"));
    if (!s && str_eq(language, STR("typescript")))
        s = spec_named(specs, STR("javascript"));
    return s;
}

static void add_format(struct buf *out) { buf_addz(out, "kernel 1"); }

const struct part part_kernel = {
    .key = "jupyter/",
    .format = add_format,
    .resume = kernel_resume,
    .cancel = kernel_cancel_all,
};
