/* SPDX-License-Identifier: MIT */
/*
 * The skills of skill/skill.h as an action: {"name": …, "args": {…}, "lint": bool}. The
 * window and the history of edits are those that the command line and a kernel have.
 * A token names the call, so that after a restart nothing is done twice.
 */
#include "action/native.h"

#include "base/xalloc.h"
#include "skill/skill.h"

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

static const struct param_list takes = {
    .about = "Calls a skill: windows onto files, edits, searches, documents",
    .params = (const struct param[]){{.name = "name",
                                      .type = PARAM_STRING,
                                      .required = true,
                                      .about = "The skill; GET /skills lists them"},
                                     {.name = "args",
                                      .type = PARAM_OBJECT,
                                      .dflt = "{}",
                                      .about = "The skill's own arguments"},
                                     {.name = "lint",
                                      .type = PARAM_BOOL,
                                      .dflt = "false",
                                      .about = "Whether an edit that breaks the code "
                                               "is refused"},
                                     {0}},
    .example = "{\"name\":\"open_file\",\"args\":{\"path\":\"README.md\"}}"};

/* The names that are known. */
static void refine(struct json *schema)
{
    struct json *name = json_get(json_get(schema, "properties"), "name");
    struct json *names = json_array();
    for (const struct skill *s = skill_next(NULL); s; s = skill_next(s))
        json_push_str(names, str_of(s->name));
    json_put(name, "enum", names);
}

static int check(const struct json *args, struct err *e)
{
    return find(args, e) ? 0 : -1;
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
    if (!json_is_object(json_get(n->args, "args")))
        json_put(n->args, "args", json_object());
    if (s && native_place(n, &r->place, &e) == 0) {
        struct skill_call q = {.skill = s,
                               .args = json_get(n->args, "args"),
                               .cwd = r->place.cwd,
                               .home = r->place.home,
                               .token = n->key,
                               .edits = edits_of(en),
                               .windows = skill_windows_of(en),
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

const struct native_kind native_skill = {.name = "skill",
                                         .takes = &takes,
                                         .check = check,
                                         .refine = refine,
                                         .start = start,
                                         .cancel = cancel};
