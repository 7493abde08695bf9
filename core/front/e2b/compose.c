/* SPDX-License-Identifier: MIT */
/*
 * POST /files/compose: files that were uploaded in parts become one, and the parts are
 * removed. It is the action `join`, with the rights of the user that the body names.
 */
#include "front/e2b/own.h"

#include "base/xalloc.h"

#include <stdlib.h>

struct e2b_compose {
    struct e2b *f;
    struct req *req;
    struct action_ask ask;
    struct buf to; /* owned */
};

static void compose_free(void *p)
{
    struct e2b_compose *c = p;
    buf_release(&c->to);
    free(c);
}

static void on_joined(struct action_ask *q, const struct json *observation,
                      const struct err *e)
{
    struct e2b_compose *c = container_of(q, struct e2b_compose, ask);
    struct buf b = BUF_INIT(64 << 10);
    if (!observation) {
        e2b_refuse_file(c->req, e);
    } else {
        buf_addz(&b, "{\"path\":");
        json_quote(&b, buf_str(&c->to));
        buf_addz(&b, ",\"name\":");
        json_quote(&b, e2b_base_name(buf_str(&c->to)));
        buf_addz(&b, ",\"type\":\"file\"}");
        req_answer_take(c->req, 200, "application/json", &b);
    }
    loop_bury(c->f->en->loop, c, compose_free);
}

/* The action goes on when the client disconnects. */
static void on_gone(struct req *r, void *owner)
{
    struct e2b_compose *c = owner;
    (void)r;
    action_ask_drop(&c->ask);
    loop_bury(c->f->en->loop, c, compose_free);
}

static int add_path(const struct e2b *f, const struct sandbox_place *user,
                    struct json *paths, struct str given, struct err *e)
{
    struct buf path = BUF_INIT(8192);
    int rc = given.n == 0 ? err_set(e, ERR_INVALID, "a path in source_paths is empty")
                          : e2b_path(f, user, given, &path, e);
    if (rc == 0)
        json_push_str(paths, buf_str(&path));
    buf_release(&path);
    return rc;
}

/* Returns the arguments of the action; NULL and sets *e and *status. */
static struct json *read_compose(const struct e2b *f, const struct json *m,
                                 struct buf *to, int *status, struct err *e)
{
    const struct json *sources = json_get(m, "source_paths");
    struct str destination = STR(""), username = STR("");
    struct sandbox_place user;
    struct json *paths = json_array(), *args = NULL;
    *status = 400;
    if (!json_is_array(sources) || json_count(sources) == 0)
        err_set(e, ERR_INVALID, "source_paths must be an array of paths, not empty");
    else if (e2b_rpc_str(m, "destination", NULL, &destination, e) == 0 &&
             destination.n == 0)
        err_set(e, ERR_INVALID, "destination is required");
    if (!e->code && e2b_rpc_str(m, "username", NULL, &username, e) == 0 &&
        e2b_user(f, username, &user, e) < 0)
        *status = 401;
    if (!e->code)
        e2b_path(f, &user, destination, to, e);
    for (const struct json *v = json_first(sources); v && !e->code; v = json_next(v)) {
        if (json_is_string(v))
            add_path(f, &user, paths, json_str_value(v, ""), e);
        else
            err_set(e, ERR_INVALID, "source_paths must be an array of strings");
    }
    if (!e->code) {
        args = json_object();
        json_put(args, "from", paths);
        json_put_str(args, "to", buf_str(to));
        json_put_bool(args, "overwrite", true);
        json_put_bool(args, "parents", true);
        if (username.n > 0 || f->default_user[0])
            json_put_str(args, "user", username.n ? username : str_of(f->default_user));
    } else {
        json_free(paths);
    }
    return args;
}

void e2b_post_compose(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    int status = 400;
    struct e2b_compose *c = xnew(struct e2b_compose);
    struct json *m = json_parse(req_body(r), &e), *args = NULL;
    engine_touch(f->en);
    *c = (struct e2b_compose){.f = f, .req = r, .ask.done = on_joined};
    buf_init(&c->to, 8192);
    if (m)
        args = read_compose(f, m, &c->to, &status, &e);
    json_free(m);
    if (!args) {
        compose_free(c);
        e2b_fail(r, status, e.text);
        return;
    }
    req_own(r, c, on_gone);
    if (e2b_act(f, &c->ask, "join", args, &e) < 0)
        on_joined(&c->ask, NULL, &e);
}
