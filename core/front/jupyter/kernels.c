/* SPDX-License-Identifier: MIT */
/* All kernels of the server, also those that agents started: a kernel's name is its id.
 */
#include "front/jupyter/own.h"

#include "base/clock.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A request that is answered when its kernel has run its first, empty cell. */
struct start {
    struct jupyter *f;
    struct req *r; /* borrowed; NULL: the client is gone */
    char kernel[COMPANION_NAME + 1];
    struct nb_session *session; /* owned; NULL: r is about the kernel */
    int status;
    struct cell_follower follower;
};

struct json *nb_kernel_json(const struct kernel *k)
{
    struct kernel_activity a = kernel_activity(k);
    struct json *j = json_object();
    char date[25];
    clock_iso(a.active_ms, date);
    json_put_z(j, "id", kernel_name(k));
    json_put_str(j, "name", a.spec);
    json_put_z(j, "last_activity", date);
    json_put_z(j, "execution_state", a.doing);
    json_put_int(j, "connections", a.listeners);
    return j;
}

struct kernel *nb_kernel_of(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct str id = req_param(r, "id");
    struct kernel *k = kernel_lookup(f->en, id);
    if (!k)
        nb_failf(r, 404, "Kernel does not exist: %.*s", (int)(id.n < 80 ? id.n : 80),
                 id.p);
    return k;
}

/* ---- actions ---- */

struct action *nb_open_act(struct jupyter *f, const char *kernel,
                           const struct action_kind *kind, struct json *take_args,
                           struct err *e)
{
    struct action_order o = {
        .source = ACTION_SOURCE_JUPYTER, .kind = kind, .session = str_of(kernel)};
    json_put_z(take_args, "kernel", kernel);
    if (action_check(kind, take_args, e) < 0) {
        json_free(take_args);
        return NULL;
    }
    struct json *message = json_object();
    json_put_z(message, "action", kind->name);
    json_put(message, "args", take_args);
    return action_open(f->en->actions, message, &o, e);
}

int nb_act(struct jupyter *f, const char *kernel, const struct action_kind *kind,
           struct err *e)
{
    struct action *a = nb_open_act(f, kernel, kind, json_object(), e);
    if (!a)
        return -1;
    action_go(a);
    return 0;
}

static void start_free(struct start *s)
{
    action_cell_unfollow(&s->follower);
    if (s->session)
        nb_session_free(s->session);
    free(s);
}

static void answer(struct start *s, const struct kernel *k)
{
    struct nb_session *n = s->session;
    if (n) {
        list_add_tail(&s->f->sessions, &n->node);
        s->session = NULL;
        nb_save_later(s->f);
    }
    if (s->status == 201)
        nb_tell_kernel(s->f, "start", s->kernel);
    if (s->r && s->status == 201)
        nb_location(s->r, n ? "/api/sessions/" : "/api/kernels/", n ? n->id : s->kernel);
    if (s->r)
        nb_json(s->r, s->status, n ? nb_session_json(s->f, n) : nb_kernel_json(k));
}

static void on_ended(struct cell_follower *follower, const struct action_result *result)
{
    struct start *s = container_of(follower, struct start, follower);
    struct str end = json_str(result->extras, "end", "");
    struct str why = json_str(result->extras, "why", "it ended");
    struct kernel *k = kernel_lookup(s->f->en, str_of(s->kernel));
    bool ran = !result->error && k && !str_eq(end, STR("died")) &&
               !str_eq(end, STR("failed"));
    if (ran)
        answer(s, k);
    else if (s->r)
        nb_failf(s->r, 500, "The kernel does not run: %s",
                 result->error ? result->error->text : why.p);
    start_free(s);
}

static void on_gone(struct req *r, void *owner)
{
    struct start *s = owner;
    (void)r;
    s->r = NULL;
}

/* An empty cell, whose end shows that the kernel runs. */
static void wait_for(struct req *r, const char *kernel, struct json *take_args,
                     struct nb_session *session, int status)
{
    struct jupyter *f = req_arg(r);
    struct err e = ERR_INIT;
    struct start *s = xnew(struct start);
    *s = (struct start){.f = f,
                        .r = r,
                        .session = session,
                        .status = status,
                        .follower = {.ended = on_ended}};
    list_init(&s->follower.node);
    snprintf(s->kernel, sizeof(s->kernel), "%s", kernel);
    json_put_z(take_args, "code", "");
    json_put_bool(take_args, "silent", true);
    struct action *a = nb_open_act(f, kernel, &action_cell, take_args, &e);
    if (!a) {
        start_free(s);
        nb_fail(r, err_words(e.code)->http, e.text);
        return;
    }
    action_cell_follow(f->en->actions, a->id, &s->follower);
    req_own(r, s, on_gone);
    action_go(a);
}

/* ---- starting ---- */

/* Appends the folder of path below the root, or the nearest one above it there. */
static void put_folder(const struct jupyter *f, struct str path, struct buf *out)
{
    const char *root = nb_root(f);
    struct stat st;
    buf_addz(out, root);
    for (struct str rest = path, one; rest.n;) {
        one = str_cut(&rest, '/');
        if (str_eq(one, STR("..")) || str_chr(one, 0) >= 0)
            break;
        if (one.n == 0)
            continue;
        size_t before = out->n;
        buf_addc(out, '/');
        buf_adds(out, one);
        if (buf_full(out) || stat(buf_z(out), &st) < 0 || !S_ISDIR(st.st_mode)) {
            buf_truncate(out, before);
            break;
        }
    }
}

/* Is it one that a path, a header and a log can have as it is? */
static bool is_id(struct str id)
{
    bool ok = id.n > 0 && id.n <= COMPANION_NAME && id.p[0] != '.';
    for (size_t i = 0; i < id.n; i++)
        ok = ok && (isalnum((unsigned char)id.p[i]) || memchr("-_.", id.p[i], 3));
    return ok;
}

void nb_start(struct req *r, const struct json *q, struct str path, struct nb_session *s)
{
    struct jupyter *f = req_arg(r);
    struct buf spec = BUF_INIT(256), cwd = BUF_INIT(PATH_MAX);
    struct str given = json_str(q, "kernel_id", "");
    char id[COMPANION_NAME + 1];
    struct err e = ERR_INIT;
    nb_uuid(id);
    if (nb_spec_name(f, json_str(q, "name", ""), &spec, &e) < 0) {
        nb_fail(r, 404, e.text);
    } else if (given.n && !is_id(given)) {
        nb_failf(r, 400,
                 "kernel_id must have at most %d letters, digits, dashes, dots and "
                 "underscores",
                 COMPANION_NAME);
    } else if (given.n && kernel_lookup(f->en, given)) {
        nb_failf(r, 409, "Kernel exists already: %.*s", STR_ARG(given));
    } else {
        struct json *args = json_object(), *env = json_get(q, "env");
        if (given.n)
            snprintf(id, sizeof(id), "%.*s", STR_ARG(given));
        put_folder(f, path, &cwd);
        json_put_str(args, "spec", buf_str(&spec));
        json_put_str(args, "cwd", buf_str(&cwd));
        if (json_is_object(env))
            json_put(args, "env", json_copy(env));
        if (s)
            snprintf(s->kernel, sizeof(s->kernel), "%s", id);
        wait_for(r, id, args, s, 201);
        s = NULL;
    }
    if (s)
        nb_session_free(s);
    buf_release(&spec);
    buf_release(&cwd);
}

/* ---- routes ---- */

void nb_get_kernels(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct json *j = json_array();
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&f->en->kernels, it, &key, &value));)
        json_push(j, nb_kernel_json(value));
    nb_json(r, 200, j);
}

void nb_post_kernels(struct req *r)
{
    struct json *q = nb_body(r);
    if (q)
        nb_start(r, q, json_str(q, "path", ""), NULL);
    json_free(q);
}

void nb_get_kernel(struct req *r)
{
    const struct kernel *k = nb_kernel_of(r);
    if (k)
        nb_json(r, 200, nb_kernel_json(k));
}

/* Does an action on the kernel of r, and answers 204. */
static void act(struct req *r, const struct action_kind *kind)
{
    struct jupyter *f = req_arg(r);
    const struct kernel *k = nb_kernel_of(r);
    struct err e = ERR_INIT;
    char name[COMPANION_NAME + 1];
    if (!k)
        return;
    memcpy(name, kernel_name(k), sizeof(name));
    if (nb_act(f, name, kind, &e) == 0 && kind == &action_close_kernel)
        nb_sessions_forget(f, name);
    if (!e.code)
        nb_tell_kernel(f, kind == &action_close_kernel ? "shutdown" : "interrupt", name);
    if (e.code)
        nb_fail(r, err_words(e.code)->http, e.text);
    else
        req_answer(r, 204, NULL, STR(""));
}

void nb_delete_kernel(struct req *r) { act(r, &action_close_kernel); }
void nb_interrupt(struct req *r) { act(r, &action_interrupt_kernel); }

void nb_restart(struct req *r)
{
    struct jupyter *f = req_arg(r);
    const struct kernel *k = nb_kernel_of(r);
    struct err e = ERR_INIT;
    if (k && nb_act(f, kernel_name(k), &action_restart_kernel, &e) < 0)
        nb_fail(r, err_words(e.code)->http, e.text);
    else if (k)
        nb_tell_kernel(f, "restart", kernel_name(k));
    if (k && !e.code)
        wait_for(r, kernel_name(k), json_object(), NULL, 200);
}
