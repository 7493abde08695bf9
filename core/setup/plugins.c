/* SPDX-License-Identifier: MIT */
/*
 * Setting plugins up, one after the other:
 *
 *   WAITING ── known already ──▶ CHECKING ── all succeed ──▶ CACHED
 *      │                            │ one fails
 *      └──────────▶ INSTALLING ◀────┘
 *                       │ status 0
 *                       ▼
 *                    CHECKING ── all succeed ──▶ INSTALLED
 *
 * and from both to FAILED. Each step is a process at the keeper, named after plugin
 * and step, and the step is stored before its process starts: the next worker finds
 * the process, or starts it, and knows how much of its output was reported.
 */
#include "setup/plugins.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "engine/part.h"
#include "os/file.h"
#include "setup/cachedir.h"
#include "setup/sh/plugin_run.sh.h"
#include "setup/sh/plugin_shell.sh.h"
#include "shell/process.h"
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENV_MAX = 32 << 10, /* of what all of them add to sessions' environment */
    FILE_MAX = 64 << 10,
    LINE_LEN = 4096,
    KILL_AFTER_MS = 2000,
    KEY_LEN = 2 * HASH_SHA256_SIZE
};

enum plugins_state { WAITING, INSTALLING, CHECKING, INSTALLED, CACHED, FAILED };
static const char *const state_names[] = {"waiting",   "installing", "checking",
                                          "installed", "cached",     "failed"};

struct plugin {
    const char *name, *dir, *shell, *hash; /* borrowed from spec */
    const struct json *spec;               /* borrowed */
    bool bin;
    enum plugins_state state;
    bool cached; /* the checks are for an earlier success */
    int check;   /* the number of the check that runs */
    int64_t began_ms;
    uint64_t told; /* output before this offset was reported */
    char *problem; /* owned; NULL: none */
};

struct plugins {
    struct engine *en;
    struct json *list; /* owned */
    struct plugin of[PLUGINS_MAX];
    int n, at; /* at: the plugin whose turn it is */
    char user[64];
    uid_t uid;
    gid_t gid;
    struct buf env;          /* owned: variables of ready plugins; NAME=VALUE, NUL */
    struct buf found;        /* owned: variables of the plugin at work */
    struct buf line;         /* owned: output that has no newline yet */
    struct process *process; /* borrowed: the step's */
    struct op *op;           /* borrowed: its reader */
    struct timer limit;
    bool late;
    struct task next; /* handles the step's end, outside of its callbacks */
    struct op_result end;
    plugins_event_fn *event;
    void *event_arg;
    void (*done)(void *arg);
    void *done_arg;
    struct list waits; /* struct plugins_wait, borrowed */
};

static void turn(struct plugins *p);

/* ---- reporting ---- */

static const char *sandbox(const struct plugins *p)
{
    static char host[65];
    const char *name = env_get(p->en->env, "OPENHANDS_SESSION_ID");
    if (name && *name)
        return name;
    if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
        snprintf(host, sizeof(host), "this machine");
    return host;
}

static void to_log(const char *plugin, const char *kind, struct str text)
{
    if (strcmp(kind, "failed") == 0)
        log_error("%.*s", STR_ARG(text));
    else if (strcmp(kind, "output") == 0)
        log_info("plugin %s: %.*s", plugin, STR_ARG(text));
    else
        log_info("plugin %s: %s%s%.*s", plugin, kind, text.n ? ", " : "", STR_ARG(text));
}

static void tell(struct plugins *p, const char *kind, struct str text)
{
    const char *name = p->of[p->at].name;
    to_log(name, kind, text);
    if (p->event)
        p->event(p->event_arg, name, kind, text);
}

/* ---- what is kept ---- */

static void key_of(int i, char key[32]) { snprintf(key, 32, "plugin/%d", i); }

static void save(struct plugins *p)
{
    struct plugin *g = &p->of[p->at];
    struct json *j = json_object();
    struct buf text = BUF_INIT(4096);
    char key[32];
    json_put_z(j, "name", g->name);
    json_put_int(j, "state", g->state);
    json_put_bool(j, "cached", g->cached);
    json_put_int(j, "check", g->check);
    json_put_int(j, "began_ms", g->began_ms);
    json_put_int(j, "told", (int64_t)g->told);
    if (g->problem)
        json_put_z(j, "problem", g->problem);
    json_print(&text, j);
    key_of(p->at, key);
    keeper_client_put(p->en->keeper, str_of(key), buf_str(&text));
    buf_release(&text);
    json_free(j);
}

static void load_one(struct plugins *p, int i)
{
    struct plugin *g = &p->of[i];
    struct err e = ERR_INIT;
    char key[32];
    key_of(i, key);
    struct buf *text = map_get(&p->en->states, str_of(key));
    struct json *j = text ? json_parse(buf_str(text), &e) : NULL;
    int64_t state = json_int(j, "state", -1);
    if (state >= WAITING && state <= FAILED) {
        g->state = (enum plugins_state)state;
        g->cached = json_bool(j, "cached", false);
        g->check = (int)json_int(j, "check", 0);
        g->began_ms = json_int(j, "began_ms", 0);
        g->told = (uint64_t)json_int(j, "told", 0);
        struct str why = json_str(j, "problem", "");
        if (why.n > 0) {
            free(g->problem);
            g->problem = xstrndup(why.p, why.n);
        }
    }
    json_free(j);
}

void plugins_load(struct plugins *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n; i++)
        load_one(p, i);
    struct buf *env = map_get(&p->en->states, STR("plugins/env"));
    if (env && buf_adds(&p->env, buf_str(env)) == 0)
        engine_env_add(p->en, buf_str(&p->env));
}

/* ---- earlier successes ---- */

/* Hash of what a success depends on: folder, user, variables of plugins before it. */
static void success_key(const struct plugins *p, char out[KEY_LEN + 1])
{
    struct hash h;
    uint8_t sum[HASH_SHA256_SIZE];
    hash_begin_sha256(&h);
    hash_add(&h, str_n("od plugin 1", 12));
    hash_add(&h, str_of(p->of[p->at].hash));
    hash_add(&h, str_of(p->of[p->at].dir));
    hash_add(&h, str_n(p->user, strlen(p->user) + 1));
    hash_add(&h, buf_str(&p->env));
    hash_end(&h, sum);
    for (int i = 0; i < HASH_SHA256_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

/*
 * Gets the folder of successes: next to the state, or in the cache. Returns false if
 * there is none.
 */
static bool success_dir(const struct plugins *p, bool in_cache, char out[300])
{
    if (in_cache) {
        snprintf(out, 300, "%s/plugins", p->en->cache_dir);
        return p->en->cache_dir[0];
    }
    const char *slash = strrchr(p->en->state_dir, '/');
    snprintf(out, 300, "%.*s/plugins", (int)(slash ? slash - p->en->state_dir : 0),
             p->en->state_dir);
    return slash != NULL;
}

/* Reads a small regular file that uid owns. Returns -1 if it is not such a file. */
static int take_file(const char *path, uid_t uid, struct buf *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), r = -1;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid &&
        st.st_size <= FILE_MAX) {
        char *at = buf_reserve(out, FILE_MAX);
        ssize_t n = at ? read(fd, at, FILE_MAX) : -1;
        r = n < 0 ? -1 : 0;
        buf_commit(out, n > 0 ? (size_t)n : 0);
    }
    close(fd);
    return r;
}

/* Fills found. A success in the cache counts only if checks can confirm it here. */
static bool find_success(struct plugins *p)
{
    char key[KEY_LEN + 1], dir[300], path[400];
    bool checked = json_count(json_get(p->of[p->at].spec, "checks")) > 0;
    success_key(p, key);
    for (int i = 0; i < (checked ? 2 : 1); i++) {
        buf_reset(&p->found);
        if (!success_dir(p, i == 1, dir))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, key);
        if (take_file(path, p->en->uid, &p->found) == 0)
            return true;
    }
    buf_reset(&p->found);
    return false;
}

static void keep_success(const struct plugins *p)
{
    char key[KEY_LEN + 1], dir[300], path[400], temp[420];
    success_key(p, key);
    for (int i = 0; i < 2; i++) {
        if (!success_dir(p, i == 1, dir) || (mkdir(dir, 0700) < 0 && errno != EEXIST))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, key);
        snprintf(temp, sizeof(temp), "%s.%ld", path, (long)getpid());
        int fd = file_make(AT_FDCWD, temp, O_WRONLY | O_TRUNC, 0600);
        if (fd < 0)
            continue;
        bool whole = write(fd, buf_z(&p->found), p->found.n) == (ssize_t)p->found.n;
        close(fd);
        if (!whole || rename(temp, path) < 0)
            unlink(temp);
    }
}

/* ---- environment ---- */

static int add_variable(struct buf *out, const char *name, struct str value)
{
    size_t before = out->n;
    if (buf_addf(out, "%s=%.*s", name, STR_ARG(value)) == 0 && buf_addc(out, 0) == 0)
        return 0;
    buf_truncate(out, before);
    return -1;
}

/* Variables of plugin.json, and PATH with bin in front: for setup.sh and sessions. */
static void own_variables(const struct plugins *p, struct buf *out)
{
    const struct plugin *g = &p->of[p->at];
    const char *path = env_get(p->en->env, "PATH");
    for (struct json *v = json_first(json_get(g->spec, "environment")); v;
         v = json_next(v)) {
        struct str s = json_str_value(v, "");
        if (str_starts(s, STR("PATH=")))
            path = NULL;
        buf_adds(out, s);
        buf_addc(out, 0);
    }
    if (g->bin && path) {
        buf_addf(out, "PATH=%s/bin:%s", g->dir, path);
        buf_addc(out, 0);
    }
}

/* Whether it is a variable of the login, which plugins cannot change. */
static bool of_login(struct str entry)
{
    static const char *const names[] = {"HOME=", "USER=", "LOGNAME=", "SHELL=", "TERM="};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_starts(entry, str_of(names[i])))
            return true;
    }
    return false;
}

/* Adds the variables that setup.sh exported and that are new or changed to found. */
static void keep_new(struct plugins *p, struct str all)
{
    for (size_t at = 0; at < all.n;) {
        struct str entry = str_of(all.p + at);
        char name[256];
        at += entry.n + 1;
        long eq = str_chr(entry, '=');
        if (eq <= 0 || (size_t)eq >= sizeof(name) || of_login(entry))
            continue;
        memcpy(name, entry.p, (size_t)eq);
        name[eq] = 0;
        const char *was = env_get(p->en->env, name);
        struct str value = str_sub(entry, (size_t)eq + 1, entry.n);
        if ((!was || !str_eq(str_of(was), value)) &&
            add_variable(&p->found, name, value) < 0)
            log_warn("plugin %s: no room for its variable %s: all have %d bytes",
                     p->of[p->at].name, name, ENV_MAX);
    }
}

static void work_dir(const struct plugins *p, char out[300])
{
    snprintf(out, 300, "%s/p/%s", p->en->state_dir, p->of[p->at].name);
}

/* Makes a folder of the user for the exports of setup.sh. */
static int make_work_dir(const struct plugins *p, struct err *e)
{
    char dir[300];
    if (!p->en->state_dir[0])
        return 0;
    snprintf(dir, sizeof(dir), "%s/p", p->en->state_dir);
    if (mkdir(dir, 0711) < 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make %s", dir);
    work_dir(p, dir);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make %s", dir);
    if (p->uid != p->en->uid && lchown(dir, p->uid, p->gid) < 0)
        return err_sys(e, errno, "cannot give %s to uid %u", dir, (unsigned)p->uid);
    return 0;
}

/* Called after setup.sh, and by a worker that takes over between it and the checks. */
static void take_exports(struct plugins *p)
{
    char dir[300], path[310];
    struct buf text = BUF_INIT(FILE_MAX), all = BUF_INIT(FILE_MAX);
    buf_reset(&p->found);
    own_variables(p, &p->found);
    work_dir(p, dir);
    snprintf(path, sizeof(path), "%s/env", dir);
    if (p->en->state_dir[0] && take_file(path, p->uid, &text) == 0) {
        if (shell_parse_env(&all, buf_str(&text)) == 0)
            keep_new(p, buf_str(&all));
        else
            log_warn("plugin %s: its exports cannot be read, or are too long",
                     p->of[p->at].name);
    }
    buf_release(&text);
    buf_release(&all);
}

/* ---- the processes ---- */

static void step_name(const struct plugins *p, char out[40])
{
    const struct plugin *g = &p->of[p->at];
    if (g->state == INSTALLING)
        snprintf(out, 40, "plugin-%s", g->name);
    else
        snprintf(out, 40, "check-%s-%d", g->name, g->check);
}

static char *check_text(const struct plugins *p)
{
    const struct plugin *g = &p->of[p->at];
    struct json *c = json_first(json_get(g->spec, "checks"));
    for (int i = 0; c && i < g->check; i++)
        c = json_next(c);
    struct str s = json_str_value(c, "");
    return xstrndup(s.p, s.n);
}

static struct process *start_step(struct plugins *p, struct err *e)
{
    struct plugin *g = &p->of[p->at];
    char name[40], memory[24], sh[] = "sh", c[] = "-c", exports[320] = "", dir[300];
    char *code = g->state == CHECKING ? check_text(p) : NULL;
    struct buf env = BUF_INIT(2 * ENV_MAX);
    step_name(p, name);
    work_dir(p, dir);
    snprintf(exports, sizeof(exports), "%s/env", dir);
    unlink(g->state == INSTALLING ? exports : "");
    snprintf(memory, sizeof(memory), "%lld",
             (long long)json_int(g->spec, "memory_mb", 0) * 1024);
    char *program = g->shell[0] && g->state == INSTALLING ? (char *)(uintptr_t)g->shell
                                                          : sh;
    const char *text = code ? code : g->shell[0] ? plugin_shell_sh : plugin_run_sh;
    char *argv[] = {program, c, (char *)(uintptr_t)text, sh, code ? NULL : memory, NULL};
    add_variable(&env, "OD_PLUGIN", str_of(g->name));
    /* Otherwise a session that the setup itself uses would wait for the setup. */
    add_variable(&env, "OD_OP", str_of(PLUGIN_CALLER));
    add_variable(&env, "OD_PLUGIN_EXPORTS",
                 str_of(p->en->state_dir[0] ? exports : "/dev/null"));
    if (g->state == INSTALLING)
        own_variables(p, &env);
    else
        buf_adds(&env, buf_str(&p->found));
    struct process_opts o = {.name = str_of(name),
                             .cwd = str_of(g->dir),
                             .user = str_of(p->user),
                             .env = buf_str(&env),
                             .argv = argv};
    struct process *made = process_start(p->en, &o, e);
    buf_release(&env);
    free(code);
    return made;
}

static void tell_line(struct plugins *p)
{
    struct str text = buf_str(&p->line);
    if (text.n > 0 && text.p[text.n - 1] == '\r')
        text.n--;
    tell(p, "output", text);
    buf_reset(&p->line);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct plugins *p = op->owner;
    (void)stream;
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] == '\n' || p->line.n == LINE_LEN)
            tell_line(p);
        if (bytes.p[i] != '\n')
            buf_addc(&p->line, bytes.p[i]);
    }
    p->of[p->at].told = offset + bytes.n - p->line.n;
    save(p);
    return bytes.n;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct plugins *p = op->owner;
    (void)from;
    (void)to;
    if (text && kind == NOTE_GAP)
        tell(p, "output", str_of(text));
}

static void on_done(struct op *op)
{
    struct plugins *p = op->owner;
    p->end = op->r;
    p->op = NULL;
    task_defer(p->en->loop, &p->next);
}

static const struct op_sink sink = {
    .output = on_output, .note = on_note, .done = on_done};

static void on_kill(struct timer *t)
{
    struct plugins *p = container_of(t, struct plugins, limit);
    struct err e = ERR_INIT;
    if (p->process)
        process_signal(p->process, SIGKILL, true, &e);
}

static void on_limit(struct timer *t)
{
    struct plugins *p = container_of(t, struct plugins, limit);
    struct err e = ERR_INIT;
    p->late = true;
    if (p->process)
        process_signal(p->process, SIGTERM, true, &e);
    timer_begin(p->en->loop, t, KILL_AFTER_MS, on_kill);
}

static int64_t seconds_of(const struct plugin *g)
{
    return json_int(g->spec, "seconds", 120);
}

/* Reads the output of the step's process, and waits for its end. */
static void follow(struct plugins *p)
{
    struct plugin *g = &p->of[p->at];
    int64_t left = g->began_ms + seconds_of(g) * 1000 - clock_wall_ms();
    p->late = false;
    buf_reset(&p->line);
    p->op = op_new(OP_LOGS, &sink, p);
    p->op->stream = true;
    p->op->cursor = g->told;
    timer_begin(p->en->loop, &p->limit, left > 0 ? left : 0, on_limit);
    process_wait(p->process, p->op);
}

/* ---- steps ---- */

static void fail(struct plugins *p, const char *why)
{
    struct plugin *g = &p->of[p->at];
    struct buf b = BUF_INIT(1024);
    buf_addf(&b, "Failed to install %s on %.100s: %.700s", g->name, sandbox(p), why);
    free(g->problem);
    g->problem = xstrdup(buf_z(&b));
    g->state = FAILED;
    save(p);
    tell(p, "failed", buf_str(&b));
    buf_release(&b);
    p->at++;
    turn(p);
}

static void begin_step(struct plugins *p, enum plugins_state state, int check)
{
    struct plugin *g = &p->of[p->at];
    struct err e = ERR_INIT;
    char name[40];
    g->state = state;
    g->check = check;
    g->told = 0;
    g->began_ms = clock_wall_ms();
    step_name(p, name);
    /* A process of an earlier try: its name is free when it is forgotten. */
    struct process *old = process_find(p->en, str_of(name));
    if (old && process_ended(old))
        process_free(old);
    save(p);
    if (make_work_dir(p, &e) < 0 || !(p->process = start_step(p, &e)))
        fail(p, e.text);
    else
        follow(p);
}

static void installed(struct plugins *p)
{
    struct plugin *g = &p->of[p->at];
    g->state = g->cached ? CACHED : INSTALLED;
    if (!g->cached)
        keep_success(p);
    if (buf_adds(&p->env, buf_str(&p->found)) < 0)
        log_warn("plugin %s: no room for its variables: all have %d bytes", g->name,
                 ENV_MAX);
    else
        engine_env_add(p->en, buf_str(&p->found));
    keeper_client_put(p->en->keeper, STR("plugins/env"), buf_str(&p->env));
    save(p);
    tell(p, state_names[g->state], STR(""));
    p->at++;
    turn(p);
}

static void next_check(struct plugins *p, int check)
{
    if (check < json_count(json_get(p->of[p->at].spec, "checks")))
        begin_step(p, CHECKING, check);
    else
        installed(p);
}

static void install(struct plugins *p)
{
    p->of[p->at].cached = false;
    tell(p, "started", STR(""));
    begin_step(p, INSTALLING, 0);
}

/* Why the step's process failed; "": it succeeded. */
static void how_it_ended(const struct plugins *p, struct buf *out)
{
    const struct plugin *g = &p->of[p->at];
    char *check = g->state == CHECKING ? check_text(p) : NULL;
    const struct op_result *r = &p->end;
    const char *what = check ? "its check" : "setup.sh";
    if (r->state == OP_FAILED)
        buf_addf(out, "%s", r->err.text);
    else if (p->late)
        buf_addf(out, "%s did not end within %lld s", what, (long long)seconds_of(g));
    else if (r->signo)
        buf_addf(out, "%s was ended by signal %d", what, r->signo);
    else if (r->exit)
        buf_addf(out, "%s ended with status %d", what, r->exit);
    if (out->n > 0 && check)
        buf_addf(out, ": %.200s", check);
    else if (out->n > 0 && r->state != OP_FAILED)
        buf_addf(out, "; exec -p plugin-%s --logs shows what it said", g->name);
    free(check);
}

static void on_next(struct task *t)
{
    struct plugins *p = container_of(t, struct plugins, next);
    struct plugin *g = &p->of[p->at];
    struct buf why = BUF_INIT(1024);
    if (p->end.state == OP_FAILED && p->end.err.code == ERR_CANCELLED)
        return; /* the server ends */
    timer_stop(&p->limit);
    if (p->line.n > 0)
        tell_line(p);
    how_it_ended(p, &why);
    if (g->state == CHECKING && p->process)
        process_free(p->process);
    p->process = NULL;
    if (why.n > 0 && g->state == CHECKING && g->cached)
        install(p);
    else if (why.n > 0)
        fail(p, buf_z(&why));
    else if (g->state == INSTALLING) {
        take_exports(p);
        next_check(p, 0);
    } else {
        next_check(p, g->check + 1);
    }
    buf_release(&why);
}

/* Continues a step that an earlier worker began. */
static void go_on(struct plugins *p)
{
    struct plugin *g = &p->of[p->at];
    char name[40];
    if (g->state == CHECKING && g->cached && !find_success(p)) {
        install(p);
        return;
    }
    if (g->state == CHECKING && !g->cached)
        take_exports(p);
    step_name(p, name);
    p->process = process_find(p->en, str_of(name));
    if (p->process)
        follow(p);
    else
        begin_step(p, g->state, g->check);
}

static void wake_all(struct plugins *p)
{
    while (!list_empty(&p->waits)) {
        struct plugins_wait *w = list_first(&p->waits, struct plugins_wait, node);
        list_del(&w->node);
        w->ready(w);
    }
}

static void turn(struct plugins *p)
{
    while (p->at < p->n && p->of[p->at].state >= INSTALLED)
        p->at++;
    if (p->at == p->n) {
        void (*done)(void *arg) = p->done;
        p->done = NULL;
        if (done)
            done(p->done_arg);
        wake_all(p);
        return;
    }
    struct plugin *g = &p->of[p->at];
    struct str why = json_str(g->spec, "problem", "");
    if (g->state != WAITING) {
        go_on(p);
    } else if (json_bool(g->spec, "known", false)) {
        g->state = INSTALLED;
        turn(p);
    } else if (why.n > 0) {
        fail(p, why.p);
    } else if (find_success(p)) {
        g->cached = true;
        next_check(p, 0);
    } else {
        install(p);
    }
}

/* ---- life ---- */

struct plugins *plugins_open(struct engine *en, const struct json *list)
{
    if (json_count(list) == 0)
        return NULL;
    struct plugins *p = xnew(struct plugins);
    struct buf text = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    p->en = en;
    json_print(&text, list);
    p->list = json_parse(buf_str(&text), &e);
    buf_release(&text);
    for (struct json *j = json_first(p->list); j && p->n < PLUGINS_MAX;
         j = json_next(j)) {
        p->of[p->n++] = (struct plugin){.name = json_str(j, "name", "").p,
                                        .dir = json_str(j, "dir", "").p,
                                        .shell = json_str(j, "shell", "").p,
                                        .hash = json_str(j, "hash", "").p,
                                        .bin = json_bool(j, "bin", false),
                                        .spec = j};
    }
    buf_init(&p->env, ENV_MAX);
    buf_init(&p->found, FILE_MAX);
    buf_init(&p->line, LINE_LEN + 1);
    list_init(&p->waits);
    task_init(&p->next, on_next);
    return p;
}

void plugins_listen(struct plugins *p, plugins_event_fn *fn, void *arg)
{
    if (!p)
        return;
    p->event = fn;
    p->event_arg = arg;
}

void plugins_start(struct plugins *p, struct str user, void (*done)(void *arg), void *arg)
{
    struct buf login = BUF_INIT(4096);
    struct err e = ERR_INIT;
    if (!p) {
        done(arg);
        return;
    }
    ASSERT(done && !p->done); /* called once */
    p->done = done;
    p->done_arg = arg;
    snprintf(p->user, sizeof(p->user), "%.*s", STR_ARG(user));
    p->uid = p->en->uid;
    p->gid = p->en->gid;
    if (user.n > 0 && engine_user(p->en, user, &p->uid, &p->gid, &login, &e) < 0)
        log_warn("%s", e.text); /* each setup fails with that when it starts */
    buf_release(&login);
    turn(p);
}

bool plugins_busy(const struct plugins *p) { return p && p->at < p->n; }

void plugins_await(struct plugins *p, struct plugins_wait *w,
                   void (*ready)(struct plugins_wait *w))
{
    plugins_unwait(w);
    w->ready = ready;
    list_add_tail(&p->waits, &w->node);
}

void plugins_unwait(struct plugins_wait *w)
{
    if (w->node.next)
        list_del(&w->node);
}

/* The server ends: ends all waits. p may be NULL. */
static void plugins_cancel(struct plugins *p)
{
    if (p)
        wake_all(p);
}

const char *plugins_problem(const struct plugins *p)
{
    for (int i = 0; p && i < p->n; i++) {
        if (p->of[i].problem)
            return p->of[i].problem;
    }
    return NULL;
}

bool plugins_has(const struct plugins *p, struct str name)
{
    for (int i = 0; p && i < p->n; i++) {
        if (str_eq(name, str_of(p->of[i].name)))
            return true;
    }
    return false;
}

struct json *plugins_json(const struct plugins *p)
{
    struct json *list = json_array();
    for (int i = 0; p && i < p->n; i++) {
        struct json *j = json_object();
        json_put_z(j, "name", p->of[i].name);
        json_put_z(j, "state", state_names[p->of[i].state]);
        if (p->of[i].problem)
            json_put_z(j, "problem", p->of[i].problem);
        json_push(list, j);
    }
    return list;
}

/* ---- as a part of the engine ---- */

static const struct option_row rows[] = {
    {.name = "plugins",
     .type = OPTION_WORDS,
     .value = "DIR|NAME…",
     .env = "OD_PLUGINS",
     .max = PLUGINS_MAX,
     .about = "run the setup.sh of these folders (written with a slash) before the "
              "first session; the names agent_skills, jupyter and vscode are accepted "
              "and need no setup"},
    {.name = "plugin-timeout",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "INIT_PLUGIN_TIMEOUT",
     .dflt = "120",
     .about = "end a setup after this long, unless its plugin.json has a limit"},
    {.name = NULL},
};

static bool is_known(const char *name)
{
    static const char *const known[] = {"agent_skills", "jupyter", "vscode"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i]) == 0)
            return true;
    }
    return false;
}

/* Reads the folders while relative names are still relative to the caller's directory. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    struct json *list[PLUGINS_MAX];
    int64_t seconds = json_int(*own, "plugin_timeout", 0) / 1000;
    size_t n = 0;
    (void)given;
    for (struct json *v = json_first(json_get(*own, "plugins")); v; v = json_next(v)) {
        const char *name = json_str_value(v, "").p;
        if (!is_known(name) && !strchr(name, '/')) {
            while (n > 0)
                json_free(list[--n]);
            return err_set(e, ERR_NOTFOUND,
                           "Plugin %.200s not found; --plugins takes folders, written "
                           "with a slash (./NAME), and agent_skills, jupyter and vscode",
                           name);
        }
        list[n++] = is_known(name) ? plugin_known(name)
                                   : plugin_read(name, seconds < 1 ? 1 : seconds);
    }
    json_free(*own);
    *own = plugins_sort(list, n);
    return 0;
}

static const struct option_table options_plugins = {
    .heading = "Plugins", .section = "plugins", .rows = rows, .prepare = prepare};

static void configure(struct engine *en, const struct json *options)
{
    en->plugins = plugins_open(en, json_get(options, "plugins"));
}

static void load(struct engine *en) { plugins_load(en->plugins); }

static void cancel(struct engine *en) { plugins_cancel(en->plugins); }

static void add_format(struct buf *out) { buf_addz(out, "plugins 1"); }

const struct part part_plugins = {
    .options = &options_plugins,
    .key = "plugins/",
    .claims = "plugin/",
    .format = add_format,
    .configure = configure,
    .load = load,
    .cancel = cancel,
};
