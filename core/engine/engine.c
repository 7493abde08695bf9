/* SPDX-License-Identifier: MIT */
/* The root of the engine. */
#include "engine/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/browsing.h"
#include "engine/cachedir.h"
#include "engine/edit.h"
#include "engine/kernel.h"
#include "engine/plugins.h"
#include "engine/process.h"
#include "engine/session.h"
#include "engine/skill.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void on_idle_timer(struct timer *t)
{
    struct engine *en = container_of(t, struct engine, idle_timer);
    bool busy = en->clients > 0;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        busy = busy || session_busy(value);
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));)
        busy = busy || !process_ended(value);
    int64_t left = en->idle_since_ms + en->idle_exit_ms - clock_ms();
    if (!busy && left <= 0) {
        log_info("nothing happened for %lld s, ending",
                 (long long)(en->idle_exit_ms / 1000));
        engine_stop(en, LIMIT_GRACE_MS);
        return;
    }
    timer_begin(en->loop, t, busy || left < 1000 ? 60000 : left, on_idle_timer);
}

void engine_touch(struct engine *en) { en->idle_since_ms = clock_ms(); }

int engine_open(struct engine *en, struct loop *l, struct err *e)
{
    (void)e;
    *en = (struct engine){.loop = l,
                          .uid = geteuid(),
                          .gid = getegid(),
                          .next_process = 1,
                          .started_ms = clock_ms()};
    en->spare = open("/", O_PATH | O_CLOEXEC);
    map_init(&en->sessions);
    map_init(&en->processes);
    map_init(&en->kernels);
    map_init(&en->browsers);
    map_init(&en->states);
    engine_touch(en);
    return 0;
}

void engine_configure(struct engine *en, const struct json *o)
{
    struct str dir = json_str(o, "state_dir", ""), home = json_str(o, "cwd", "/");
    if (dir.n > 0 && dir.n < sizeof(en->state_dir))
        memcpy(en->state_dir, dir.p, dir.n + 1);
    if (home.n < sizeof(en->home))
        memcpy(en->home, home.p, home.n + 1);
    struct str at = json_str(o, "socket", "");
    if (at.n < sizeof(en->socket))
        memcpy(en->socket, at.p, at.n + 1);
    struct json *env = json_get(o, "env");
    en->env = xcalloc((size_t)json_count(env) + 1, sizeof(char *));
    size_t n = 0;
    for (struct json *v = json_first(env); v; v = json_next(v)) {
        struct str s = json_str_value(v, "");
        en->env[n++] = xstrndup(s.p, s.n);
    }
    struct str cache = json_str(o, "cache_dir", "");
    struct buf vars = BUF_INIT(2048);
    if (cache.n < sizeof(en->cache_dir))
        memcpy(en->cache_dir, cache.p, cache.n + 1);
    cachedir_variables(en->cache_dir, en->uid, en->gid, &vars);
    engine_env_add(en, buf_str(&vars));
    buf_release(&vars);
    en->plugins = plugins_open(en, json_get(o, "plugins"));
    en->idle_exit_ms = json_int(o, "idle_exit_ms", 0);
    if (en->idle_exit_ms > 0)
        timer_begin(en->loop, &en->idle_timer, en->idle_exit_ms, on_idle_timer);
}

struct edits *engine_edits(struct engine *en)
{
    char dir[sizeof(en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/edit", en->state_dir);
    if (!en->edits)
        en->edits = edits_new(en->state_dir[0] ? dir : NULL);
    return en->edits;
}

struct skill_windows *engine_windows(struct engine *en)
{
    char dir[sizeof(en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/window", en->state_dir);
    if (!en->windows)
        en->windows = skill_windows_new(en->state_dir[0] ? dir : NULL);
    return en->windows;
}

/* The first worker of a server says when that was; the next ones find it. */
static void resume_clock(struct engine *en)
{
    static const char key[] = "engine/started";
    char text[32];
    struct buf *b = map_get(&en->states, str_of(key));
    if (b && str_to_i64(buf_str(b), &en->started_ms) == 0)
        return;
    snprintf(text, sizeof(text), "%lld", (long long)en->started_ms);
    hold_put(en->hold, str_of(key), str_of(text));
}

void engine_format(struct buf *out)
{
    buf_addf(out, "keeper %d.%zu, minder %zu.%zu, session ", KEEP_VERSION,
             sizeof(struct keep_head) + sizeof(struct keep_proc),
             sizeof(struct minder_request), sizeof(struct minder_answer));
    session_format(out);
}

void engine_resume(struct engine *en)
{
    resume_clock(en);
    plugins_load(en->plugins);
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->states, it, &key, &value));) {
        struct str name = str_sub(key, 8, key.n), state = buf_str(value);
        if (str_starts(key, STR("session/")))
            session_resume(en, name, state);
        else if (str_starts(key, STR("process/")))
            process_resume(en, name, state);
        else
            continue;
        en->restarted = true;
    }
    for (void *it = NULL; (it = map_next(&en->states, it, &key, &value));) {
        if (str_starts(key, STR("jupyter/")))
            kernel_resume(en, str_sub(key, 8, key.n), buf_str(value));
        else if (str_starts(key, STR("browser/")))
            browsing_resume(en, str_sub(key, 8, key.n), buf_str(value));
    }
    browsing_resumed(en);
    hold_drop_unclaimed(en->hold);
    for (void *it = NULL; (it = map_next(&en->states, it, &key, &value));) {
        buf_release(value);
        free(value);
    }
    map_release(&en->states);
    map_init(&en->states);
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        session_catch_up(value);
}

static void on_leave(struct task *t)
{
    loop_stop(container_of(t, struct engine, leave)->loop);
}

void engine_stop(struct engine *en, int64_t grace_ms)
{
    if (en->stopping)
        return;
    en->stopping = true;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        session_cancel(value);
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));)
        process_cancel(value);
    kernel_cancel_all(en);
    browsing_cancel_all(en);
    plugins_cancel(en->plugins);
    hold_stop(en->hold, grace_ms);
    task_init(&en->leave, on_leave);
    task_defer(en->loop, &en->leave);
}

/*
 * A quarter of what is left, at most LIMIT_SPOOL_MAX: the first dozen streams
 * get the full size, thousands still fit. Ended processes give way first.
 */
uint64_t engine_spool_bytes(struct engine *en)
{
    enum { LEAST = 256 << 10, STEP = 1 << 10 };
    if (!en->state_dir[0])
        return LIMIT_SPOOL_MEMORY;
    for (;;) {
        uint64_t used = 0;
        struct str key;
        void *value;
        for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
            used += session_spool_bytes(value);
        for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));)
            used += process_spool_bytes(value);
        uint64_t left = used < LIMIT_SPOOL_TOTAL ? LIMIT_SPOOL_TOTAL - used : 0;
        if (left / 4 >= LIMIT_SPOOL_MAX)
            return LIMIT_SPOOL_MAX;
        if (process_forget_oldest(en))
            continue;
        return left / 4 < LEAST ? LEAST : left / 4 / STEP * STEP;
    }
}

const char *env_get(char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    }
    return NULL;
}

/* Replaces a variable of the same name, or appends. */
static void env_put(char **list, size_t *n, char *entry)
{
    const char *eq = strchr(entry, '=');
    if (!eq)
        return;
    size_t name = (size_t)(eq - entry) + 1;
    for (size_t i = 0; i < *n; i++) {
        if (strncmp(list[i], entry, name) == 0) {
            list[i] = entry;
            return;
        }
    }
    list[(*n)++] = entry;
}

char **engine_env(const struct engine *en, struct str extra, struct buf *space)
{
    size_t count = 0, n = 0;
    while (en->env[count])
        count++;
    for (size_t i = 0; i < extra.n; i++)
        count += extra.p[i] == 0;
    if (buf_adds(space, extra) < 0)
        return NULL;
    char **list = xcalloc(count + 1, sizeof(char *));
    for (char **e = en->env; *e; e++)
        env_put(list, &n, *e);
    for (size_t at = 0; at < space->n; at += strlen(space->p + at) + 1)
        env_put(list, &n, space->p + at);
    list[n] = NULL;
    return list;
}

void engine_env_add(struct engine *en, struct str extra)
{
    struct buf space = BUF_INIT(LIMIT_SPAWN_MAX);
    char **list = engine_env(en, extra, &space), **old = en->env;
    if (list) {
        for (char **v = list; *v; v++)
            *v = xstrdup(*v);
        en->env = list;
        for (char **v = old; *v; v++)
            free(*v);
        free(old);
    }
    buf_release(&space);
}

static void add_var(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, "%s=%s", name, value);
    buf_addc(out, 0);
}

static struct passwd *of_nameless(const struct user *u, struct passwd *space)
{
    *space = (struct passwd){.pw_name = (char *)(uintptr_t)u->name,
                             .pw_uid = u->uid,
                             .pw_gid = u->gid,
                             .pw_dir = (char *)(uintptr_t)u->home,
                             .pw_shell = (char *)(uintptr_t)u->shell};
    return space;
}

int engine_user(const struct engine *en, struct str name, uid_t *uid, gid_t *gid,
                struct buf *extra, struct err *e)
{
    char z[64];
    if (name.n >= sizeof(z))
        return err_set(e, ERR_INVALID, "a user's name has at most %zu letters",
                       sizeof(z) - 1);
    memcpy(z, name.p, name.n);
    z[name.n] = 0;
    uint64_t number;
    bool numeric = str_to_u64(name, &number) == 0 && number < 0xffffffffu;
    errno = 0;
    struct passwd *pw = numeric ? getpwuid((uid_t)number) : getpwnam(z), spare;
    if (!pw && name.n > 0 && strcmp(en->nameless.name, z) == 0 && !en->nameless.listed)
        pw = of_nameless(&en->nameless, &spare);
    if (!pw && !numeric)
        return err_set(e, ERR_NOTFOUND,
                       "cannot run as %s: the image's /etc/passwd has no "
                       "such user; a number works without it",
                       z);
    *uid = pw ? pw->pw_uid : (uid_t)number;
    *gid = pw ? pw->pw_gid : (gid_t)number;
    if (*uid != en->uid && en->uid != 0)
        return err_set(e, ERR_DENIED,
                       "cannot run as %s: the server is uid %u and not root", z,
                       (unsigned)en->uid);
    if (pw) {
        add_var(extra, "USER", pw->pw_name);
        add_var(extra, "LOGNAME", pw->pw_name);
        add_var(extra, "HOME", pw->pw_dir);
        if (pw->pw_shell && pw->pw_shell[0])
            add_var(extra, "SHELL", pw->pw_shell);
    }
    cachedir_variables(en->cache_dir, *uid, *gid, extra);
    return 0;
}
