/* SPDX-License-Identifier: MIT */
/*
 * The skills of skill/skill.h as an action: {"name": …, "args": {…}, "lint": bool}. It
 * shares window and history of edits with the command line and kernels. A token names the
 * call, so that a restart does not repeat it.
 */
#include "action/skill.h"

#include "action/own.h"
#include "base/xalloc.h"
#include "skill/skill.h"

#include <stdlib.h>

struct skill_running {
    struct action *a;
    struct skill_run *run;
    struct sandbox_place place; /* the call borrows from it */
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
    .about = "Calls a skill: views of files, edits, searches, documents",
    .params =
        (const struct param[]){{.name = "name",
                                .type = PARAM_STRING,
                                .required = true,
                                .about = "The skill; GET /skills lists them"},
                               {.name = "args",
                                .type = PARAM_OBJECT,
                                .dflt = "{}",
                                .about = "The skill's own arguments"},
                               {.name = "bytes",
                                .type = PARAM_INT,
                                .ranged = true,
                                .min = 100,
                                .max = SKILL_TEXT_MAX,
                                .about = "The maximum bytes of text that view and search "
                                         "show; default 16000"},
                               {.name = "lint",
                                .type = PARAM_BOOL,
                                .dflt = "false",
                                .about = "Whether an edit that breaks the code "
                                         "is refused"},
                               {0}},
    .example = "{\"name\":\"open_file\",\"args\":{\"path\":\"README.md\"}}"};

static const struct member picture_members[] = {
    {.name = "type", .type = MEMBER_STRING, .about = "Its media type"},
    {.name = "base64", .type = MEMBER_STRING, .about = "Its bytes"},
    {0}};

static const struct member skill_members[] = {
    {.name = "failed",
     .type = MEMBER_BOOL,
     .about = "It did not do what was asked; content has the reason"},
    {.name = "state",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "What happened, in one line"},
    {.name = "facts",
     .type = MEMBER_OBJECT,
     .optional = true,
     .about = "The same for programs, with members of the skill's own"},
    {.name = "picture",
     .type = MEMBER_OBJECT,
     .optional = true,
     .members = picture_members,
     .about = "The file, if it is a picture"},
    {0}};

static const struct observation gives[] = {{.name = "skill", .extras = skill_members},
                                           {0}};

/* Adds the names of the skills. */
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

static void on_done(void *arg, const struct skill_result *result)
{
    struct skill_running *r = arg;
    struct action *a = r->a;
    struct json *extras = json_object();
    json_put_bool(extras, "failed", result->failed);
    if (result->state.n > 0)
        json_put_str(extras, "state", result->state);
    if (result->facts)
        json_put(extras, "facts", json_copy(result->facts));
    if (result->picture.n > 0) {
        struct json *picture = json_object();
        json_put_z(picture, "type", result->picture_type);
        json_put_str(picture, "base64", result->picture);
        json_put(extras, "picture", picture);
    }
    free(r);
    a->own = NULL;
    action_end(a, result->text, extras);
}

uint64_t action_skill_files(const struct actions *all, uint64_t id)
{
    const struct action *a = actions_find(all, id);
    const struct skill_running *r = a && a->kind == &action_skill ? a->own : NULL;
    return r ? skill_files(r->run) : 0;
}

static void start(struct action *a)
{
    struct err e = ERR_INIT;
    struct skill_running *r = xnew(struct skill_running);
    struct engine *en = a->all->en;
    const struct skill *s = find(a->args, &e);
    if (!json_is_object(json_get(a->args, "args")))
        json_put(a->args, "args", json_object());
    if (s && action_place(a, &r->place, &e) == 0) {
        struct skill_call q = {.skill = s,
                               .args = json_get(a->args, "args"),
                               .cwd = r->place.cwd,
                               .home = r->place.home,
                               .token = a->key,
                               .edits = edits_of(en),
                               .windows = skill_windows_of(en),
                               .session = a->session,
                               .engine = en,
                               .bytes = (size_t)json_int(a->args, "bytes", 0),
                               .lint = json_bool(a->args, "lint", false),
                               .as_user = r->place.as_user,
                               .uid = r->place.uid,
                               .gid = r->place.gid,
                               .groups = r->place.groups,
                               .groups_n = r->place.groups_n,
                               .loop = en->loop};
        r->a = a;
        r->run = skill_start(&q, on_done, r, &e);
    }
    if (r->run) {
        a->own = r;
    } else {
        free(r);
        action_fail(a, &e);
    }
}

static bool cancel(struct action *a)
{
    struct skill_running *r = a->own;
    if (r)
        skill_cancel(r->run);
    free(r);
    a->own = NULL;
    return false;
}

const struct action_kind action_skill = {.name = "skill",
                                         .takes = &takes,
                                         .gives = gives,
                                         .check = check,
                                         .refine = refine,
                                         .start = start,
                                         .cancel = cancel};
