/* SPDX-License-Identifier: MIT */
/*
 * The skills of engine/skill.h as an action: {"name": …, "args": {…}, "lint": bool}. The
 * window and the history of edits are those that the command line and a kernel have.
 * A token names the call, so that after a restart nothing is done twice.
 */
#include "front/events_native.h"

#include "base/xalloc.h"
#include "engine/skill.h"

#include <stdlib.h>

struct running {
    struct native *n;
    struct skill_run *run;
    struct v0_place place; /* the call borrows from it */
};

static const struct skill *find(const struct json *args, struct err *e)
{
    struct str name = json_str(args, "name", "");
    const struct skill *s = skill_find(name);
    if (!s)
        err_set(e, ERR_NOTFOUND, "there is no skill %.*s; GET /skills lists them",
                name.n > 60 ? 60 : (int)name.n, name.n ? name.p : "");
    return s;
}

static int check(const struct json *args, struct err *e)
{
    const struct json *own = json_get(args, "args");
    bool lint;
    if (own && !json_is_object(own))
        return err_set(e, ERR_INVALID, "args of a skill must be an object");
    return json_want_bool(args, "lint", &lint, e) < 0 || !find(args, e) ? -1 : 0;
}

static void on_done(void *arg, struct str text, bool failed)
{
    struct running *r = arg;
    struct native *n = r->n;
    free(r);
    n->own = NULL;
    native_end(n, text, failed ? STR("{\"failed\":true}") : STR("{\"failed\":false}"));
}

static void start(struct native *n)
{
    struct err e = ERR_INIT;
    struct running *r = xnew(struct running);
    struct engine *en = n->ev->en;
    const struct skill *s = find(n->args, &e);
    if (!json_get(n->args, "args"))
        json_put(n->args, "args", json_object());
    if (s && native_place(n, &r->place, &e) == 0) {
        struct skill_call q = {.skill = s,
                               .args = json_get(n->args, "args"),
                               .cwd = r->place.cwd,
                               .home = r->place.home,
                               .token = n->key,
                               .edits = engine_edits(en),
                               .windows = engine_windows(en),
                               .session = n->session,
                               .engine = en,
                               .lint = json_bool(n->args, "lint", false),
                               .as_user = r->place.as_user,
                               .uid = r->place.uid,
                               .gid = r->place.gid,
                               .groups = r->place.groups,
                               .groups_n = r->place.groups_n,
                               .loop = en->loop};
        r->n = n;
        r->run = skill_start(&q, on_done, r, &e);
    }
    if (r->run) {
        n->own = r;
    } else {
        free(r);
        native_fail(n, &e);
    }
}

static void cancel(struct native *n)
{
    struct running *r = n->own;
    if (r)
        skill_cancel(r->run);
    free(r);
    n->own = NULL;
}

const struct native_kind native_skill = {
    .name = "skill", .check = check, .start = start, .cancel = cancel};
