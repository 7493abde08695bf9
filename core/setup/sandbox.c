/* SPDX-License-Identifier: MIT */
#include "setup/sandbox.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "engine/part.h"
#include "setup/plugins.h"
#include "setup/users.h"
#include "shell/session.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sandbox {
    struct engine *en;
    char dir[4096], user[64], group[64];
    int64_t user_id;
    bool su, warm, named; /* named: --username was given */
    bool ready;
    char problem[512]; /* "": none */
    struct list waits; /* struct sandbox_wait */
};

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "username",
     .type = OPTION_TEXT,
     .value = "NAME",
     .env = "OD_USERNAME",
     .unset = "the server's own user",
     .about = "run OpenHands' sessions as this user, who is added if the image has "
              "none of that name (root only)"},
    {.name = "user-id",
     .type = OPTION_INT,
     .value = "NUMBER",
     .env = "OD_USER_ID",
     .dflt = "1000",
     .max = 0xfffffffe,
     .takes = "a number",
     .about = "give this uid to a user that --username adds"},
    {.name = "group",
     .type = OPTION_TEXT,
     .value = "GROUP",
     .env = "SANDBOX_GROUP_ID",
     .dflt = "root",
     .about = "give --working-dir to this group"},
    {.name = "su-to-user",
     .type = OPTION_TOGGLE,
     .env = "SU_TO_USER",
     .member = "su",
     .dflt = "yes",
     .about = "run sessions as --username"},
    {.name = NULL},
};

/*
 * OpenHands does not prepare the user that runs the server already, except for two fixed
 * names (action_execution_server, init_user_and_working_directory).
 */
static bool is_wanted(const char *name)
{
    const char *own = getenv("USER");
    bool known = strcmp(name, "root") == 0 || strcmp(name, "openhands") == 0;
    return known || !own || strcmp(name, own) != 0;
}

/* Adds the member warm: prepare before the first request. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    const char *user = option_text(given, "username");
    (void)e;
    json_put_bool(*own, "warm", user || option_text(given, "PORT"));
    if (user && !is_wanted(user))
        json_drop(*own, json_get(*own, "username"));
    return 0;
}

static const struct option_table options_sandbox = {
    .heading = "Sandbox", .section = "sandbox", .rows = rows, .prepare = prepare};

static void keep(char *out, size_t size, struct str s)
{
    if (s.n < size)
        memcpy(out, s.p, s.n + 1);
}

static void configure(struct engine *en, const struct json *options)
{
    const struct json *o = json_get(options, "sandbox");
    struct sandbox *b = xnew(struct sandbox);
    b->en = en;
    b->user_id = json_int(o, "user_id", 1000);
    b->su = json_bool(o, "su", true);
    b->warm = json_bool(o, "warm", false);
    keep(b->dir, sizeof(b->dir), str_of(en->home));
    keep(b->user, sizeof(b->user), json_str(o, "username", ""));
    keep(b->group, sizeof(b->group), json_str(o, "group", "root"));
    b->named = b->user[0];
    list_init(&b->waits);
    en->sandbox = b;
}

/* ---- preparation ---- */

/* Sessions begin with what plugins have set up. */
static void on_set_up(void *arg)
{
    struct sandbox *b = arg;
    ASSERT(!b->ready); /* called once */
    b->ready = true;
    while (!list_empty(&b->waits)) {
        struct sandbox_wait *w = list_first(&b->waits, struct sandbox_wait, node);
        list_del(&w->node);
        w->ready(w);
    }
}

static void serve(struct engine *en)
{
    struct sandbox *b = en->sandbox;
    struct err e = ERR_INIT;
    if (b->warm || b->named) {
        struct users_spec spec = {
            .name = b->user, .uid = (uid_t)b->user_id, .group = b->group, .dir = b->dir};
        if (users_prepare(&spec, b->named ? &en->nameless : NULL, &e) < 0) {
            log_error("%s", e.text);
            snprintf(b->problem, sizeof(b->problem), "%s", e.text);
        }
    }
    plugins_start(en->plugins, sandbox_user(b), on_set_up, b);
}

bool sandbox_ready(const struct sandbox *b) { return b->ready; }

void sandbox_await(struct sandbox *b, struct sandbox_wait *w,
                   void (*ready)(struct sandbox_wait *w))
{
    w->ready = ready;
    if (b->ready)
        ready(w);
    else
        list_add_tail(&b->waits, &w->node);
}

const char *sandbox_problem(const struct sandbox *b)
{
    return b->problem[0] ? b->problem : plugins_problem(b->en->plugins);
}

/* ---- where and who ---- */

bool sandbox_warm(const struct sandbox *b) { return b->warm; }

const char *sandbox_cwd(const struct sandbox *b, struct str session)
{
    const struct session *s = session_find(b->en, session);
    const char *cwd = s ? session_cwd(s) : "";
    return *cwd ? cwd : b->dir[0] ? b->dir : b->en->home;
}

struct str sandbox_user(const struct sandbox *b)
{
    return b->su && b->named && b->en->uid == 0 ? str_of(b->user) : STR("");
}

/* The group of a user, and the others that it is in. */
static void set_groups(const struct engine *en, struct sandbox_place *p)
{
    struct passwd *pw = getpwuid(p->uid);
    const struct user *bare = &en->nameless;
    int n = SANDBOX_GROUPS_MAX;
    p->gid = pw ? pw->pw_gid : bare->name[0] && bare->uid == p->uid ? bare->gid : p->uid;
    if (pw)
        snprintf(p->home, sizeof(p->home), "%s", pw->pw_dir);
    if (!pw || getgrouplist(pw->pw_name, p->gid, p->groups, &n) < 0)
        n = 0;
    p->groups_n = (size_t)n;
    if (n == 0)
        p->groups[p->groups_n++] = p->gid;
}

int sandbox_place(const struct sandbox *b, struct str session, struct sandbox_place *p,
                  struct err *e)
{
    const struct engine *en = b->en;
    const struct session *s = session_find(b->en, session);
    struct buf login = BUF_INIT(LIMIT_SPAWN_MAX);
    struct str user = sandbox_user(b);
    int rc = 0;
    *p = (struct sandbox_place){.uid = en->uid, .gid = en->gid};
    snprintf(p->cwd, sizeof(p->cwd), "%s", sandbox_cwd(b, session));
    snprintf(p->home, sizeof(p->home), "%s", en->home);
    if (s)
        p->uid = session_uid(s);
    else if (user.n > 0)
        rc = engine_user(en, user, &p->uid, &p->gid, &login, e);
    p->as_user = rc == 0 && en->uid == 0 && p->uid != en->uid;
    if (p->as_user)
        set_groups(en, p);
    buf_release(&login);
    return rc;
}

int sandbox_place_of(const struct sandbox *b, struct str user, struct sandbox_place *p,
                     struct err *e)
{
    const struct engine *en = b->en;
    struct buf login = BUF_INIT(LIMIT_SPAWN_MAX);
    int rc = 0;
    user = user.n > 0 ? user : sandbox_user(b);
    const char *home = user.n > 0 ? NULL : env_get(en->env, "HOME");
    *p = (struct sandbox_place){.uid = en->uid, .gid = en->gid};
    if (user.n > 0)
        rc = engine_user(en, user, &p->uid, &p->gid, &login, e);
    struct passwd *pw = home ? NULL : getpwuid(p->uid);
    snprintf(p->home, sizeof(p->home), "%s", home ? home : pw ? pw->pw_dir : "/");
    p->as_user = rc == 0 && en->uid == 0 && p->uid != en->uid;
    if (p->as_user)
        set_groups(en, p);
    snprintf(p->cwd, sizeof(p->cwd), "%s", p->home);
    buf_release(&login);
    return rc;
}

const struct part part_sandbox = {
    .options = &options_sandbox, .configure = configure, .serve = serve};
