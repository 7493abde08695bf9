/* SPDX-License-Identifier: MIT */
/* Kernels: the process beside each, and what it says of it. */
#include "kernel/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "kernel/host/find.h"
#include "os/self.h"
#include "skill/python.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAST_WORDS = 400 };

/* ---- its turns ---- */

void kernel_pump_later(struct kernel *k) { task_defer(k->en->loop, &k->pump); }

void kernel_send_line(struct kernel *k, struct str line)
{
    uint64_t at;
    if (!k->process)
        return;
    process_stdin_room(k->process, &at);
    process_stdin(k->process, at, line, false);
}

static void start_host(struct kernel *k);

/* What was asked for at each start goes before the cells that wait: c, if nothing. */
static struct cell *cell_before(struct kernel *k, struct cell *c)
{
    struct str init = json_str(k->opts, "init", "");
    k->fresh = false;
    if (init.n == 0)
        return c;
    struct cell *own = cell_make(k, init);
    own->silent = true;
    random_hex(own->id, 32);
    list_add_tail(k->cells.next, &own->node); /* before the first */
    return own;
}

static void on_pump(struct task *t)
{
    struct kernel *k = container_of(t, struct kernel, pump);
    struct err e = ERR_INIT;
    struct cell *c = kernel_first_cell(k);
    if (!c || c->step != WAITING || k->leaving || k->fall_all)
        return;
    if (!k->process || process_ended(k->process)) {
        start_host(k);
        return;
    }
    if (k->state == KERNEL_DEAD || k->state == KERNEL_FAILED) {
        k->state = KERNEL_STARTING;
        kernel_send_line(k, STR("{\"host\":\"restart\"}\n"));
    }
    if (k->state != KERNEL_READY)
        return;
    if (k->fresh)
        c = cell_before(k, c);
    if (cell_send(c, &e) < 0) {
        cell_fail(c, CELL_FAILED, &e);
        return;
    }
    c->step = RUNNING;
    if (c->timeout_ms > 0 && !c->question)
        timer_begin(k->en->loop, &c->limit, c->timeout_ms, cell_on_limit);
    cell_start(&c->start);
}

/* ---- what its host says ---- */

static void on_fall(struct task *t)
{
    struct kernel *k = container_of(t, struct kernel, fall);
    kernel_fail_cells(k, k->fall_all);
    k->fall_all = false;
    /* There is no such kernel: nothing of it is to be kept. */
    if (k->state == KERNEL_FAILED && !k->process && !k->about && list_empty(&k->cells))
        kernel_close(k);
    else
        kernel_pump_later(k);
}

/* Not at once: what calls is one of the readers, and others end with their cells. */
static void fail_later(struct kernel *k, bool waiting_too)
{
    k->fall_all = k->fall_all || waiting_too;
    task_defer(k->en->loop, &k->fall);
}

/* The last of what a kernel said: whole lines, where there are any. */
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
    if (signo)
        err_set(&k->why, ERR_GONE, "the kernel %s was ended by signal %lld (%s)%s%.*s",
                k->name, (long long)signo, strsignal((int)signo),
                said.n ? "; it said last: " : "", STR_ARG(said));
    else
        err_set(&k->why, ERR_GONE, "the kernel %s ended with status %lld%s%.*s", k->name,
                (long long)json_int(m, "exit", 0), said.n ? "; it said last: " : "",
                STR_ARG(said));
    k->leaving = false;
    fail_later(k, false);
}

static void on_host_line(void *arg, struct str line, uint64_t end)
{
    struct kernel *k = arg;
    struct err e = ERR_INIT;
    (void)end;
    if (!str_starts(line, STR("{\"host\":")))
        return;
    struct json *m = json_parse(line, &e);
    struct str what = json_str(m, "host", "");
    if (str_eq(what, STR("starting"))) {
        k->state = KERNEL_STARTING;
        json_free(k->about);
        k->about = m;
        return;
    }
    if (str_eq(what, STR("ready"))) {
        k->state = KERNEL_READY;
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
        err_set(&k->why, (enum err_code)json_int(m, "code", ERR_GONE), "%.*s%s%.*s",
                STR_ARG(json_str(m, "error", "")), said.n ? "; it said last: " : "",
                STR_ARG(said));
        fail_later(k, true);
    } else if (str_eq(what, STR("note")) || str_eq(what, STR("stuck")) ||
               str_eq(what, STR("gap")) || str_eq(what, STR("heart"))) {
        struct str text = json_str(m, "text", "");
        if (k->about && json_has(m, "silent"))
            json_put_bool(k->about, "silent", json_bool(m, "silent", false));
        log_info("kernel %s: %.*s", k->name, STR_ARG(text));
    }
    json_free(m);
    kernel_save(k);
    kernel_pump_later(k);
}

/* Messages are for the cells' readers. */
static enum line_fate on_host_head(void *arg, struct str head)
{
    (void)arg;
    return str_starts(head, STR("{\"host\":")) ? LINE_WHOLE : LINE_PASSED_OVER;
}

static const struct reader_calls host_reader = {on_host_line, on_host_head, NULL};

static size_t on_host_output(struct op *op, int stream, uint64_t at, struct str bytes)
{
    struct kernel *k = op->owner;
    (void)at;
    if (stream == 0)
        reader_feed(&k->reader, bytes, &host_reader, k);
    kernel_tell_seen(k);
    return bytes.n;
}

static void on_host_note(struct op *op, enum note_kind kind, const char *text,
                         uint64_t from, uint64_t to)
{
    struct kernel *k = op->owner;
    (void)text;
    (void)from;
    if (kind == NOTE_GAP)
        reader_skip(&k->reader, to, &host_reader, k);
}

static void on_host_end(struct op *op)
{
    struct kernel *k = op->owner;
    k->reader.op = NULL;
    k->process = NULL;
    if (k->state != KERNEL_FAILED) {
        k->state = KERNEL_FAILED;
        err_set(&k->why, ERR_GONE, "the process beside the kernel %s ended%s%s", k->name,
                op->r.err.code ? ": " : "", op->r.err.code ? op->r.err.text : "");
    }
    k->leaving = false;
    fail_later(k, true);
    kernel_save(k);
}

const struct op_sink kernel_host_sink = {
    .output = on_host_output, .note = on_host_note, .done = on_host_end};

/* Where kernels keep what they compile of themselves: for the server's own user. */
static void put_keep(struct engine *en, struct json *options)
{
    char dir[sizeof(en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/kernels", en->state_dir);
    if (en->state_dir[0] && (mkdir(dir, 0700) == 0 || errno == EEXIST))
        json_put_z(options, "keep", dir);
}

static void start_host(struct kernel *k)
{
    struct engine *en = k->en;
    struct json *given = json_object();
    struct buf options = BUF_INIT(4096);
    char self[PATH_MAX] = "/proc/self/exe", unique[13];
    json_put_str(given, "kernel", json_str(k->opts, "kernel", ""));
    json_put_str(given, "choice", json_str(k->opts, "choice", "any"));
    /* Three fourths of the spool of its output, which is half of what a stream gets. */
    uint64_t window = process_spool_room(en, true) / 8 * 3;
    k->step = window / 2 < KERNEL_SEEN_STEP ? window / 2 : KERNEL_SEEN_STEP;
    json_put_int(given, "window", (int64_t)window);
    put_keep(en, given);
    json_print(&options, given);
    json_free(given);
    random_hex(unique, 12);
    snprintf(k->host, sizeof(k->host), "kernel-%.20s-%s", k->name, unique);
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
    for (struct json *v = json_first(json_get(k->opts, "env")); v; v = json_next(v)) {
        buf_adds(&env, json_str_value(v, ""));
        buf_addc(&env, 0);
    }
    skill_python_env(en, &env);
    if (access(self, X_OK) < 0)
        self_path(self, sizeof(self));
    char word[] = "od-kernel", *argv[] = {word, (char *)buf_z(&options), NULL};
    struct process_opts po = {.name = str_of(k->host),
                              .cwd = json_str(k->opts, "cwd", ""),
                              .user = json_str(k->opts, "user", ""),
                              .env = buf_str(&env),
                              .argv = argv,
                              .program = self,
                              .with_stdin = true,
                              .whole = true};
    k->state = KERNEL_STARTING;
    k->nrecords = 0;
    k->seen = 0;
    reader_stop(&k->reader);
    k->reader.at = k->reader.begin = 0;
    kernel_save(k); /* whose process it is, before there is one */
    k->process = process_start(en, &po, &k->why);
    if (k->process) {
        reader_start(&k->reader, k->process, &kernel_host_sink, k, 0);
    } else {
        k->host[0] = 0;
        k->state = KERNEL_FAILED;
        kernel_fail_cells(k, true);
        kernel_save(k);
    }
    buf_release(&options);
    buf_release(&env);
}

/* ---- life ---- */

struct kernel *kernel_make(struct engine *en, struct str name)
{
    struct kernel *k = xnew(struct kernel);
    k->en = en;
    k->name = xstrndup(name.p, name.n);
    k->opts = json_object();
    list_init(&k->cells);
    buf_init(&k->kept, LIMIT_BLOB_MAX);
    task_init(&k->keep, kernel_on_keep);
    task_init(&k->pump, on_pump);
    task_init(&k->fall, on_fall);
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
    if (name.n == 0 || name.n > 40 || memchr(name.p, '/', name.n)) {
        err_set(e, ERR_INVALID, "a kernel's name has 1 to 40 bytes and no slash");
        return NULL;
    }
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
        *e = k->why;
        kernel_close(k);
        return NULL;
    }
    return k;
}

static void bury_kernel(void *p)
{
    struct kernel *k = p;
    free(k->name);
    json_free(k->opts);
    json_free(k->about);
    buf_release(&k->kept);
    free(k);
}

void kernel_close(struct kernel *k)
{
    struct engine *en = k->en;
    struct buf key = BUF_INIT(128);
    if (!k->why.code)
        err_set(&k->why, ERR_CANCELLED, "the kernel %s was closed", k->name);
    kernel_fail_cells(k, true);
    reader_stop(&k->reader);
    if (k->process && !process_ended(k->process)) {
        uint64_t at;
        process_stdin_room(k->process, &at);
        process_stdin(k->process, at, STR(""), true);
    }
    buf_addf(&key, "jupyter/%s", k->name);
    hold_put(en->hold, buf_str(&key), STR(""));
    buf_release(&key);
    task_cancel(&k->keep);
    task_cancel(&k->pump);
    task_cancel(&k->fall);
    map_del(&en->kernels, str_of(k->name));
    loop_bury(en->loop, k, bury_kernel);
}

void kernel_cancel_all(struct engine *en)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->kernels, it, &key, &value));) {
        struct kernel *k = value;
        err_set(&k->why, ERR_CANCELLED, "the server was stopped");
        kernel_fail_cells(k, true);
    }
}

void kernel_interrupt(struct kernel *k)
{
    kernel_send_line(k, STR("{\"host\":\"interrupt\"}\n"));
}

void kernel_restart(struct kernel *k)
{
    err_set(&k->why, ERR_CANCELLED, "the kernel %s was restarted", k->name);
    kernel_fail_cells(k, true);
    k->leaving = false;
    if (!k->process || process_ended(k->process)) {
        start_host(k);
        return;
    }
    k->state = KERNEL_STARTING;
    kernel_send_line(k, STR("{\"host\":\"restart\"}\n"));
    kernel_save(k);
}

enum kernel_state kernel_state(const struct kernel *k) { return k->state; }

const char *kernel_name(const struct kernel *k) { return k->name; }

const char *kernel_interpreter(const struct kernel *k)
{
    struct str s = json_str(k->about, "interpreter", "");
    return s.p; /* of a parsed string: it ends in a zero */
}

struct json *kernel_json(const struct kernel *k)
{
    static const char *const states[] = {"starting", "ready", "dead", "failed"};
    static const char *const members[] = {"kernel", "display", "language", "where",
                                          "interpreter"};
    struct json *j = json_object();
    struct cell *c = kernel_first_cell((struct kernel *)k);
    json_put_z(j, "name", k->name);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        json_put_str(j, members[i], json_str(k->about, members[i], ""));
    json_put_bool(j, "embedded", json_bool(k->about, "embedded", false));
    json_put_z(j, "state", states[k->state]);
    json_put_bool(j, "silent", json_bool(k->about, "silent", false));
    json_put_int(j, "pid", json_int(k->about, "pid", 0));
    json_put_int(j, "start_ms", json_int(k->about, "start_ms", 0));
    json_put_bool(j, "busy", c && c->step != WAITING);
    if (k->state == KERNEL_DEAD || k->state == KERNEL_FAILED)
        json_put_z(j, "why", k->why.text);
    return j;
}

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

static void add_format(struct buf *out) { buf_addz(out, "kernel 1"); }

const struct part part_kernel = {
    .key = "jupyter/",
    .format = add_format,
    .resume = kernel_resume,
    .cancel = kernel_cancel_all,
};
