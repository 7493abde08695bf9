/* SPDX-License-Identifier: MIT */
/* Sessions: a path of a notebook, console or file, with its kernel. */
#include "front/jupyter/own.h"

#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS_MAX = 64 };

static struct nb_session *session_of(struct list *it)
{
    return list_entry(it, struct nb_session, node);
}

void nb_session_free(struct nb_session *s)
{
    json_free(s->about);
    free(s);
}

struct json *nb_session_json(const struct jupyter *f, const struct nb_session *s)
{
    struct json *j = json_object();
    const struct kernel *k = kernel_lookup(f->en, str_of(s->kernel));
    json_put_z(j, "id", s->id);
    json_put_str(j, "path", json_str(s->about, "path", ""));
    json_put_str(j, "name", json_str(s->about, "name", ""));
    json_put_str(j, "type", json_str(s->about, "type", "notebook"));
    if (k)
        json_put(j, "kernel", nb_kernel_json(k));
    else
        json_put_null(j, "kernel");
    if (str_eq(json_str(s->about, "type", ""), STR("notebook"))) {
        struct json *old = json_object();
        json_put_str(old, "path", json_str(s->about, "path", ""));
        json_put_str(old, "name", json_str(s->about, "name", ""));
        json_put(j, "notebook", old);
    }
    return j;
}

/* Forgets those whose kernels are closed. */
static void tidy(struct jupyter *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->sessions) {
        struct nb_session *s = session_of(it);
        if (kernel_lookup(f->en, str_of(s->kernel)))
            continue;
        list_del(&s->node);
        nb_session_free(s);
    }
}

void nb_sessions_forget(struct jupyter *f, const char *kernel)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->sessions) {
        struct nb_session *s = session_of(it);
        if (strcmp(s->kernel, kernel) != 0)
            continue;
        list_del(&s->node);
        nb_session_free(s);
    }
    nb_save_later(f);
}

void nb_get_sessions(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct json *j = json_array();
    struct list *it, *tmp;
    tidy(f);
    list_each (it, tmp, &f->sessions)
        json_push(j, nb_session_json(f, session_of(it)));
    nb_json(r, 200, j);
}

static void take_text(struct nb_session *s, const struct json *q, const char *name)
{
    if (json_is_string(json_get(q, name)))
        json_put_str(s->about, name, json_str(q, name, ""));
}

static void take_texts(struct nb_session *s, const struct json *q)
{
    take_text(s, q, "path");
    take_text(s, q, "name");
    take_text(s, q, "type");
}

static struct nb_session *by_path(struct jupyter *f, struct str path)
{
    struct list *it, *tmp;
    tidy(f);
    list_each (it, tmp, &f->sessions) {
        if (str_eq(json_str(session_of(it)->about, "path", ""), path))
            return session_of(it);
    }
    return NULL;
}

static unsigned count(const struct jupyter *f)
{
    struct list *it, *tmp;
    unsigned n = 0;
    list_each (it, tmp, &f->sessions)
        n++;
    return n;
}

static void created(struct req *r, const struct nb_session *s)
{
    nb_location(r, "/api/sessions/", s->id);
    nb_json(r, 201, nb_session_json(req_arg(r), s));
}

static void post(struct req *r, const struct json *q)
{
    struct jupyter *f = req_arg(r);
    const struct json *kernel = json_get(q, "kernel");
    struct str path = json_str(q, "path", ""), id = json_str(kernel, "id", "");
    struct nb_session *s = by_path(f, path);
    if (!json_is_string(json_get(q, "path"))) {
        nb_fail(r, 400, "Missing field in JSON data: path");
    } else if (!json_is_string(json_get(q, "type"))) {
        nb_fail(r, 400, "Missing field in JSON data: type");
    } else if (s) {
        created(r, s);
    } else if (path.n > PATH_MAX) {
        nb_failf(r, 400, "The path has more than %d bytes", PATH_MAX);
    } else if (count(f) >= SESSIONS_MAX) {
        nb_failf(r, 429, "There are %d sessions already: delete one", SESSIONS_MAX);
    } else if (id.n && !kernel_lookup(f->en, id)) {
        nb_failf(r, 404, "Kernel does not exist: %.*s", (int)(id.n < 80 ? id.n : 80),
                 id.p);
    } else {
        s = xnew(struct nb_session);
        s->about = json_object();
        nb_uuid(s->id);
        json_put_z(s->about, "name", "");
        take_texts(s, q);
        if (!id.n) {
            nb_start(r, kernel, path, s);
            return;
        }
        snprintf(s->kernel, sizeof(s->kernel), "%.*s", STR_ARG(id));
        list_add_tail(&f->sessions, &s->node);
        nb_save_later(f);
        created(r, s);
    }
}

void nb_post_sessions(struct req *r)
{
    struct json *q = nb_body(r);
    if (q)
        post(r, q);
    json_free(q);
}

/* Returns the one that r names; NULL after answering 404. */
static struct nb_session *named(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct str id = req_param(r, "id");
    struct list *it, *tmp;
    tidy(f);
    list_each (it, tmp, &f->sessions) {
        if (str_eq(str_of(session_of(it)->id), id))
            return session_of(it);
    }
    nb_failf(r, 404, "Session not found: session_id='%.*s'", (int)(id.n < 80 ? id.n : 80),
             id.p);
    return NULL;
}

void nb_get_session(struct req *r)
{
    const struct nb_session *s = named(r);
    if (s)
        nb_json(r, 200, nb_session_json(req_arg(r), s));
}

/* Another kernel, by its id; a session never starts one here. */
static bool take_kernel(struct req *r, struct nb_session *s, const struct json *kernel)
{
    struct jupyter *f = req_arg(r);
    struct str id = json_str(kernel, "id", ""), name = json_str(kernel, "name", "");
    if (!json_is_object(kernel) || (id.n == 0 && name.n == 0))
        return true;
    if (id.n == 0) {
        nb_fail(r, 400,
                "od does not start a kernel by PATCH: start one by POST /api/kernels and "
                "send its id");
        return false;
    }
    if (!kernel_lookup(f->en, id)) {
        nb_failf(r, 404, "Kernel does not exist: %.*s", (int)(id.n < 80 ? id.n : 80),
                 id.p);
        return false;
    }
    snprintf(s->kernel, sizeof(s->kernel), "%.*s", STR_ARG(id));
    return true;
}

void nb_patch_session(struct req *r)
{
    struct nb_session *s = named(r);
    struct json *q = s ? nb_body(r) : NULL;
    if (q && take_kernel(r, s, json_get(q, "kernel"))) {
        take_texts(s, q);
        nb_save_later(req_arg(r));
        nb_json(r, 200, nb_session_json(req_arg(r), s));
    }
    json_free(q);
}

void nb_delete_session(struct req *r)
{
    struct jupyter *f = req_arg(r);
    const struct nb_session *s = named(r);
    struct err e = ERR_INIT;
    char kernel[COMPANION_NAME + 1];
    if (!s)
        return;
    memcpy(kernel, s->kernel, sizeof(kernel));
    if (nb_act(f, kernel, &action_close_kernel, &e) < 0) {
        nb_fail(r, err_words(e.code)->http, e.text);
        return;
    }
    nb_sessions_forget(f, kernel);
    req_answer(r, 204, NULL, STR(""));
}
