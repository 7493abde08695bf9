/* SPDX-License-Identifier: MIT */
/* The root of the engine. */
#include "engine/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/xalloc.h"
#include "engine/part.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define each_part(p) \
    for (const struct part *const *at_ = engine_parts, *p; (p = *at_); at_++)

static void on_idle_timer(struct timer *t)
{
    struct engine *en = container_of(t, struct engine, idle_timer);
    bool busy = en->clients > 0;
    each_part(p) busy = busy || (p->busy && p->busy(en));
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
                          .disk_left = UINT64_MAX,
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
    ASSERT(!en->env); /* once */
    en->env = xcalloc((size_t)json_count(env) + 1, sizeof(char *));
    size_t n = 0;
    for (struct json *v = json_first(env); v; v = json_next(v)) {
        struct str s = json_str_value(v, "");
        en->env[n++] = xstrndup(s.p, s.n);
    }
    each_part(p)
    {
        if (p->configure)
            p->configure(en, o);
    }
    en->idle_exit_ms = json_int(o, "idle_exit_ms", 0);
    if (en->idle_exit_ms > 0)
        timer_begin(en->loop, &en->idle_timer, en->idle_exit_ms, on_idle_timer);
}

/* The first worker of a server stores its start time; the next workers read it. */
static void resume_clock(struct engine *en)
{
    static const char key[] = "engine/started";
    char text[32];
    struct buf *b = map_get(&en->states, str_of(key));
    if (b && str_to_i64(buf_str(b), &en->started_ms) == 0)
        return;
    snprintf(text, sizeof(text), "%lld", (long long)en->started_ms);
    keeper_client_put(en->keeper, str_of(key), str_of(text));
    en->first = true;
}

void engine_format(struct buf *out)
{
    buf_addf(out, "keeper %d.%zu, minder %zu.%zu", KEEP_VERSION,
             sizeof(struct keep_head) + sizeof(struct keep_proc),
             sizeof(struct reaper_request), sizeof(struct reaper_answer));
    each_part(p)
    {
        if (p->format) {
            buf_addz(out, ", ");
            p->format(out);
        }
    }
}

bool engine_claims(struct str prefix)
{
    bool claimed = str_eq(prefix, STR("engine/"));
    each_part(p) claimed = claimed || (p->key && str_eq(prefix, str_of(p->key))) ||
                           (p->claims && str_eq(prefix, str_of(p->claims)));
    return claimed;
}

bool engine_take(struct engine *en, struct str name, int fd)
{
    each_part(p)
    {
        if (p->take && p->take(en, name, fd))
            return true;
    }
    return false;
}

static void resume_part(struct engine *en, const struct part *p)
{
    struct str key, prefix = str_of(p->key);
    void *value;
    for (void *it = NULL; (it = map_next(&en->states, it, &key, &value));) {
        if (!str_starts(key, prefix))
            continue;
        p->resume(en, str_sub(key, prefix.n, key.n), buf_str(value));
        en->restarted = true;
    }
}

void engine_late_state(struct engine *en, struct str key, struct str value)
{
    each_part(p)
    {
        if (p->key && p->resume && str_starts(key, str_of(p->key)))
            p->resume(en, str_sub(key, strlen(p->key), key.n), value);
    }
}

void engine_resume(struct engine *en)
{
    resume_clock(en);
    each_part(p)
    {
        if (p->load)
            p->load(en);
    }
    each_part(p)
    {
        if (p->resume)
            resume_part(en, p);
    }
    each_part(p)
    {
        if (p->resumed)
            p->resumed(en);
    }
    keeper_client_drop_unclaimed(en->keeper);
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&en->states, it, &key, &value));) {
        buf_release(value);
        free(value);
    }
    map_release(&en->states);
    map_init(&en->states);
    en->resumed = true;
    each_part(p)
    {
        if (p->serve)
            p->serve(en);
    }
}

void engine_metrics(const struct engine *en, struct buf *out)
{
    metrics_gauge(out, "uptime_seconds",
                  "Since the server began, over restarts of its worker.",
                  (double)(clock_ms() - en->started_ms) / 1000);
    metrics_gauge(out, "connections", "HTTP connections and clients of the socket.",
                  (double)en->clients);
    each_part(p)
    {
        if (p->metrics)
            p->metrics(en, out);
    }
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
    each_part(p)
    {
        if (p->cancel)
            p->cancel(en);
    }
    keeper_client_stop(en->keeper, grace_ms);
    task_init(&en->leave, on_leave);
    task_defer(en->loop, &en->leave);
}

int engine_state_folder(struct engine *en, const char *name, unsigned mode, char *out,
                        size_t size, struct err *e)
{
    char *dir = en->state_dir;
    out[0] = 0;
    if (!dir[0])
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot make a folder: there is no state "
                       "directory; start it with serve --state-dir "
                       "DIR");
    snprintf(out, size, "%s/%s", dir, name);
    int r = mkdir(out, (mode_t)mode);
    if (r < 0 && errno == ENOENT) {
        log_warn("the state directory %s was removed; it is made again", dir);
        for (char *at = strchr(dir + 1, '/'); at; at = strchr(at + 1, '/')) {
            *at = 0;
            mkdir(dir, 0755);
            *at = '/';
        }
        mkdir(dir, en->uid == 0 ? 0711 : 0700);
        r = mkdir(out, (mode_t)mode);
    }
    return r < 0 && errno != EEXIST ? err_sys(e, errno, "cannot make %s", out) : 0;
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

/*
 * Replaces the variable of the same name, or appends one. places maps a name to its place
 * in the list, as there may be as many variables as the kernel takes.
 */
static void env_put(struct map *places, char **list, size_t *n, char *entry)
{
    const char *eq = strchr(entry, '=');
    if (!eq)
        return;
    struct str name = str_n(entry, (size_t)(eq - entry));
    char **at = map_get(places, name);
    if (at) {
        *at = entry;
        return;
    }
    list[*n] = entry;
    map_put(places, name, &list[(*n)++]);
}

static char **merge_env(char *const *base, struct str extra, struct buf *space)
{
    size_t count = 0, n = 0;
    while (base[count])
        count++;
    for (size_t i = 0; i < extra.n; i++)
        count += extra.p[i] == 0;
    if (buf_adds(space, extra) < 0)
        return NULL;
    char **list = xcalloc(count + 1, sizeof(char *));
    struct map places;
    map_init(&places);
    for (char *const *e = base; *e; e++)
        env_put(&places, list, &n, *e);
    for (size_t at = 0; at < space->n; at += strlen(space->p + at) + 1)
        env_put(&places, list, &n, space->p + at);
    list[n] = NULL;
    map_release(&places);
    return list;
}

char **engine_env(const struct engine *en, struct str extra, struct buf *space)
{
    return merge_env(en->env, extra, space);
}

char **env_list(struct str extra, struct buf *space)
{
    return merge_env((char *const[]){NULL}, extra, space);
}

int env_put_json(struct buf *out, const struct json *env, struct err *e)
{
    if (env && !json_is_null(env) && !json_is_object(env))
        return err_set(e, ERR_INVALID, "env must be an object of names and strings");
    for (const struct json *v = json_first(env); v; v = json_next(v)) {
        const char *name = json_name(v);
        struct str value = json_str_value(v, "");
        if (!json_is_string(v) || !name[0] || strchr(name, '='))
            return err_set(e, ERR_INVALID, "env must be an object of names and strings");
        buf_addf(out, "%s=%.*s", name, STR_ARG(value));
        if (buf_addc(out, 0) < 0)
            return err_set(e, ERR_LIMIT, "env is longer than %zu bytes", out->max);
    }
    return 0;
}

void engine_env_add(struct engine *en, struct str extra)
{
    struct buf space = BUF_INIT(LIMIT_SPAWN_MAX);
    char **list = engine_env(en, extra, &space), **old = en->env;
    BUG_ON(!list); /* extra is ours, and has a maximum far below */
    for (char **v = list; *v; v++)
        *v = xstrdup(*v);
    en->env = list;
    for (char **v = old; *v; v++)
        free(*v);
    free(old);
    buf_release(&space);
}

void engine_env_remove(struct engine *en, const char *name)
{
    size_t n = strlen(name);
    for (char **v = en->env; *v;) {
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=') {
            free(*v);
            for (char **to = v; (*to = to[1]); to++)
                continue;
        } else {
            v++;
        }
    }
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
    each_part(p)
    {
        if (p->variables)
            p->variables(en, *uid, *gid, extra);
    }
    return 0;
}
