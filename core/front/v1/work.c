/* SPDX-License-Identifier: MIT */
/* Requests that wait for a helper or an action (work.h). */
#include "front/v1/work.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "os/remove.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { TOKEN = 32 };

/* ---- life ---- */

static void free_work(void *p)
{
    struct work *w = p;
    json_free(w->query);
    free(w);
}

void work_end(struct work *w)
{
    if (w->ended)
        return;
    w->ended = true;
    w->req = NULL;
    action_ask_drop(&w->ask);
    if (w->drop)
        w->drop(w);
    loop_bury(w->v->en->loop, w, free_work);
}

static void on_gone(struct req *r, void *owner)
{
    struct work *w = owner;
    (void)r;
    if (w->file)
        fileact_cancel(w->file);
    if (w->git)
        git_cancel(w->git);
    work_end(w);
}

static void on_room(struct req *r, void *owner)
{
    struct work *w = owner;
    (void)r;
    if (w->file)
        fileact_resume(w->file);
    if (w->git)
        git_resume(w->git);
}

/* Returns -1 after refusing r. */
static int take_path(struct req *r, const struct json *query, bool absolute,
                     const struct sandbox_place *place, char out[V1_PATH_MAX])
{
    struct str path = json_str(query, "path", "");
    bool full = path.n > 0 && path.p[0] == '/';
    out[0] = 0;
    if (!json_has(query, "path"))
        return 0;
    if (absolute && !full) {
        v1_detail(r, 400, "Path must be absolute");
        return -1;
    }
    int n = snprintf(out, V1_PATH_MAX, "%s%s%.*s", full ? "" : place->cwd,
                     full ? "" : "/", STR_ARG(path));
    if (n < V1_PATH_MAX)
        return 0;
    v1_detail(r, 400, "Path is longer than a path can be");
    return -1;
}

struct work *work_new(struct req *r, const struct model *m, bool absolute)
{
    struct v1 *v = v1_of(r);
    struct err e = ERR_INIT;
    struct json *errors = NULL, *query = m ? model_query(m, r, &errors) : NULL;
    v1_touch(v);
    engine_touch(v->en);
    if (m && !query) {
        model_refuse(r, errors);
        return NULL;
    }
    struct work *w = xnew(struct work);
    *w = (struct work){.v = v, .req = r, .query = query};
    if (!sandbox_ready(v->en->sandbox)) {
        v1_broken(r, 503, "the sandbox is not ready yet");
    } else if (sandbox_place(v->en->sandbox, STR("main"), &w->place, &e) < 0) {
        v1_broken(r, 500, e.text);
    } else if (take_path(r, query, absolute, &w->place, w->path) == 0) {
        req_own(r, w, on_gone);
        return w;
    }
    free_work(w);
    return NULL;
}

/* ---- bytes for the client ---- */

static size_t on_data(void *arg, struct str bytes)
{
    struct work *w = arg;
    if (!w->begun) {
        w->begun = true;
        req_on_room(w->req, on_room);
        req_begin(w->req, 200, w->type, -1);
    }
    return req_send(w->req, bytes);
}

void work_sent(struct work *w, const struct err *e)
{
    if (e->code && w->begun) {
        log_error("v1: %s: %s", w->path, e->text);
        req_abort(w->req);
    } else {
        if (!w->begun)
            req_begin(w->req, 200, w->type, -1);
        req_end(w->req);
    }
    work_end(w);
}

/* ---- a helper for files ---- */

static void on_file_done(void *arg, struct str result, const struct err *e)
{
    struct work *w = arg;
    struct err bad = ERR_INIT;
    struct json *j = NULL;
    ASSERT(w->file); /* once */
    w->file = NULL;
    if (!e->code && !w->type && !(j = json_parse(str_trim(result), &bad)))
        e = &bad;
    w->then(w, j, e);
    json_free(j);
}

void work_file(struct work *w, const char *verb, struct json *args, work_then *then)
{
    static const struct fileact_events looks = {.done = on_file_done};
    static const struct fileact_events sends = {.data = on_data, .done = on_file_done};
    struct err e = ERR_INIT;
    char token[TOKEN + 1];
    random_hex(token, TOKEN);
    struct files_ask q = {.verb = verb,
                          .args = args,
                          .place = &w->place,
                          .token = token,
                          .output = w->type};
    ASSERT(!w->file && !w->git && !w->ask.id); /* then is called once, before the next */
    w->then = then;
    int rc = fileact_check(verb, args, false, q.output, &e);
    if (rc == 0)
        rc = files_start(w->v->en->actions, &q, w->type ? &sends : &looks, w, &w->file,
                         &e);
    json_free(args);
    if (rc < 0)
        then(w, NULL, &e);
}

/* ---- git ---- */

static void on_git_done(void *arg, const struct json *result, const struct err *e)
{
    struct work *w = arg;
    ASSERT(w->git); /* once */
    w->git = NULL;
    w->then(w, result, e);
}

const char *work_home(const struct work *w)
{
    const char *home = env_get(w->v->en->env, "HOME");
    return w->place.as_user || !home || home[0] != '/' ? w->place.home : home;
}

/* Returns the environment of the user's programs, with the user's HOME. */
static char **make_env(struct work *w, struct buf *space)
{
    struct buf extra = BUF_INIT(V1_PATH_MAX + 8);
    buf_addf(&extra, "HOME=%s%c", work_home(w), 0);
    char **env = engine_env(w->v->en, buf_str(&extra), space);
    buf_release(&extra);
    return env;
}

void work_git(struct work *w, struct git_ask *q, work_then *then)
{
    static const struct git_events events = {.data = on_data, .done = on_git_done};
    struct buf space = BUF_INIT(LIMIT_SPAWN_MAX);
    struct err e = ERR_INIT;
    char **env = make_env(w, &space);
    ASSERT(!w->file && !w->git && !w->ask.id); /* then is called once, before the next */
    w->then = then;
    q->env = env;
    q->as_user = w->place.as_user;
    q->uid = w->place.uid;
    q->gid = w->place.gid;
    q->groups = w->place.groups;
    q->groups_n = w->place.groups_n;
    if (!env)
        err_set(&e, ERR_LIMIT, "the environment is too long for git");
    else
        w->git = git_start(w->v->en->loop, q, &events, w, &e);
    free(env);
    buf_release(&space);
    if (!w->git)
        then(w, NULL, &e);
}

/* ---- actions ---- */

static void on_acted(struct action_ask *q, const struct json *observation,
                     const struct err *e)
{
    struct work *w = container_of(q, struct work, ask);
    w->then(w, json_get(observation, "extras"), e);
}

void work_act(struct work *w, const char *action, struct json *args, work_then *then)
{
    struct action_order o = {.source = ACTION_SOURCE_V1};
    struct err e = ERR_INIT;
    ASSERT(!w->file && !w->git && !w->ask.id); /* then is called once, before the next */
    w->then = then;
    w->ask.done = on_acted;
    if (action_ask(&w->ask, w->v->en->actions, action_message(action, args), &o, &e) < 0)
        then(w, NULL, &e);
}

/* Files of patches are left by a killed worker; otherwise their helpers remove them. */
void work_start(const struct engine *en)
{
    char dir[sizeof(en->state_dir) + sizeof(WORK_SCRATCH) + 1];
    snprintf(dir, sizeof(dir), "%s/" WORK_SCRATCH, en->state_dir);
    if (en->state_dir[0])
        remove_tree(dir);
}

/* ---- answers ---- */

void work_answer(struct work *w, struct json *take)
{
    v1_answer(w->req, 200, take);
    work_end(w);
}

void work_detail(struct work *w, int status, const char *fmt, ...)
{
    struct buf b = BUF_INIT(16 << 10);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&b, fmt, ap);
    va_end(ap);
    v1_detail(w->req, status, buf_z(&b));
    buf_release(&b);
    work_end(w);
}

void work_broken(struct work *w, const char *prefix, const struct err *e)
{
    struct buf b = BUF_INIT(16 << 10);
    buf_addf(&b, "%s: ", prefix);
    work_errno(&b, w->path, e);
    v1_broken(w->req, 500, buf_z(&b));
    buf_release(&b);
    work_end(w);
}

/* ---- texts ---- */

static void put_errno(struct buf *out, int n, const char *path)
{
    buf_addf(out, "[Errno %d] %s: '%s'", n, strerror(n), path);
}

/* Is the first existing path above this one a file? Writes that to out. */
static bool parent_is_file(const char *path, char out[V1_PATH_MAX])
{
    struct stat st;
    size_t n = strlen(path);
    if (n >= V1_PATH_MAX)
        return false;
    memcpy(out, path, n + 1);
    for (char *slash; (slash = strrchr(out, '/')) && slash != out;) {
        *slash = 0;
        if (lstat(out, &st) == 0)
            return stat(out, &st) == 0 && !S_ISDIR(st.st_mode);
    }
    return false;
}

void work_errno(struct buf *out, const char *path, const struct err *e)
{
    char above[V1_PATH_MAX];
    struct stat st;
    if (e->code == ERR_INVALID && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        put_errno(out, EISDIR, path);
    else if (parent_is_file(path, above))
        put_errno(out, EEXIST, above);
    else if (e->code == ERR_DENIED)
        put_errno(out, EACCES, path);
    else if (e->code == ERR_NOTFOUND)
        put_errno(out, ENOENT, path);
    else
        buf_addz(out, e->text);
}

const char *work_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : "root";
}

void work_quote(struct buf *out, struct str text, const char *safe)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                     (c >= 'A' && c <= 'Z') || (c && strchr("_.-~", c)) ||
                     (c && strchr(safe, c));
        buf_addf(out, plain ? "%c" : "%%%02X", c);
    }
}

void work_attachment(struct req *r, const char *name)
{
    struct buf b = BUF_INIT(4 * V1_PATH_MAX), quoted = BUF_INIT(4 * V1_PATH_MAX);
    work_quote(&quoted, str_of(name), "");
    if (strcmp(buf_z(&quoted), name) == 0)
        buf_addf(&b, "attachment; filename=\"%s\"", name);
    else
        buf_addf(&b, "attachment; filename*=utf-8''%s", buf_z(&quoted));
    req_header_add(r, "Content-Disposition", buf_z(&b));
    buf_release(&b);
    buf_release(&quoted);
}
