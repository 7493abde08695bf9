/* SPDX-License-Identifier: MIT */
/*
 * Bytes that become one or more files: POST /write_file and POST /upload.
 *
 *   body ─▶ a helper ─▶ a staged file ─▶ action `move` or `extract` ─▶ answer
 *
 * The bytes are not in the log, and a worker may die. So they are staged first, in the
 * state directory or in that of temporary files; then an action moves them to their
 * place, which is logged, runs once and is finished by the next worker. A note at the
 * keeper names the staged file, so that it is removed when no action uses it any more.
 */
#include "front/swerex/own.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/state.h"
#include "front/model/model.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "swerex" /* in the state directory */

enum { STAGE_MODE = 0600, PATH_LIMIT = 4095 };

static const struct model_field write_fields[] = {
    {.name = "path", .type = MODEL_STRING, .required = true},
    {.name = "content", .type = MODEL_STRING, .required = true},
    {.name = NULL}};
static const struct model write_model = {.fields = write_fields};

/* ---- life ---- */

static void release(void *arg)
{
    struct swerex_put *p = arg;
    buf_release(&p->path);
    json_free(p->body);
    free(p);
}

void swerex_put_free(struct swerex_put *p)
{
    ASSERT(!p->f);
    if (unlink(p->stage) < 0 && errno != ENOENT)
        log_warn("swerex: cannot remove %s: %m", p->stage);
    state_drop(p->w->en, SWEREX_STAGED, p->token);
    list_del(&p->node);
    action_ask_drop(&p->ask);
    loop_bury(p->w->en->loop, p, release);
}

/* The client disconnected. Bytes that have arrived completely are still stored. */
static void on_gone(struct req *r, void *owner)
{
    (void)r;
    ((struct swerex_put *)owner)->req = NULL;
}

static struct swerex_put *put_new(struct swerex *w, struct str token, struct str stage)
{
    struct swerex_put *p = xnew(struct swerex_put);
    p->w = w;
    snprintf(p->token, sizeof(p->token), "%.*s", STR_ARG(token));
    snprintf(p->stage, sizeof(p->stage), "%.*s", STR_ARG(stage));
    buf_init(&p->path, PATH_LIMIT);
    list_add_tail(&w->puts, &p->node);
    return p;
}

/* Writes the folder of staged files to out. The helper, which may run as another user,
 * must be able to enter it. */
static void stage_folder(struct swerex *w, bool as_user, char out[SWEREX_FOLDER_MAX])
{
    const char *temp = env_get(w->en->env, "TMPDIR");
    struct err e = ERR_INIT;
    if (!as_user &&
        engine_state_folder(w->en, FOLDER, 0700, out, SWEREX_FOLDER_MAX, &e) == 0)
        return;
    if (!temp || temp[0] != '/' || strlen(temp) >= SWEREX_FOLDER_MAX)
        temp = "/tmp";
    snprintf(out, SWEREX_FOLDER_MAX, "%s", temp);
}

struct swerex_put *swerex_put_new(struct req *r, struct err *e)
{
    struct swerex *w = req_arg(r);
    struct sandbox_place place;
    char token[SWEREX_TOKEN + 1], dir[SWEREX_FOLDER_MAX], stage[SWEREX_STAGE_MAX];
    engine_touch(w->en);
    if (sandbox_place(w->en->sandbox, STR("main"), &place, e) < 0)
        return NULL;
    random_hex(token, SWEREX_TOKEN);
    stage_folder(w, place.as_user, dir);
    snprintf(stage, sizeof(stage), "%s/.od-swerex-%s", dir, token);
    struct swerex_put *p = put_new(w, str_of(token), str_of(stage));
    p->place = place;
    state_put_text(w->en, SWEREX_STAGED, p->token, str_of(p->stage));
    return p;
}

void swerex_put_own(struct swerex_put *p, struct req *r)
{
    p->req = r;
    swerex_id(r, p->id);
    req_own(r, p, on_gone);
}

struct json *swerex_put_args(const struct swerex_put *p)
{
    struct json *args = json_object();
    json_put_z(args, "path", p->stage);
    json_put_int(args, "mode", STAGE_MODE);
    return args;
}

/* ---- the action ---- */

static void raise_not_done(struct swerex_put *p, const struct err *e)
{
    struct req *r = p->req;
    p->req = NULL;
    if (!r)
        return;
    if (p->unzip && e->code == ERR_INVALID)
        swerex_raisef(r, "zipfile.BadZipFile", "File is not a zip file");
    else
        swerex_raise_file(r, e, buf_str(&p->path));
}

/* Raises e for its client, and frees p. */
static void swerex_put_fail(struct swerex_put *p, const struct err *e)
{
    raise_not_done(p, e);
    swerex_put_free(p);
}

static void on_done(struct action_ask *q, const struct json *observation,
                    const struct err *e)
{
    struct swerex_put *p = container_of(q, struct swerex_put, ask);
    struct req *r = p->req;
    if (!observation) {
        swerex_put_fail(p, e);
        return;
    }
    p->req = NULL;
    if (r)
        swerex_answer_z(r, "{}");
    swerex_put_free(p);
}

static struct json *message_of(const struct swerex_put *p)
{
    struct json *m = json_object(), *args = json_object();
    char name[SWEREX_ID_MAX + 20];
    struct str path = p->path.n ? buf_str(&p->path) : STR(".");
    json_put_z(args, p->unzip ? "path" : "from", p->stage);
    json_put_str(args, "to", path);
    json_put_bool(args, "overwrite", true);
    json_put_bool(args, "parents", true);
    if (p->unzip) {
        json_put_z(args, "format", "zip");
        json_put_int(args, "max_bytes", (int64_t)LIMIT_ZIP_TOTAL_MIB << 20);
    } else {
        json_put_bool(args, "keep", true);
    }
    if (p->name)
        json_put_z(args, "name", p->name);
    json_put_z(m, "action", p->unzip ? "extract" : "move");
    json_put(m, "args", args);
    snprintf(name, sizeof(name), "swerex:%s", p->id);
    if (p->id[0])
        json_put_z(m, "client_id", name);
    return m;
}

void swerex_put_go(struct swerex_put *p)
{
    struct err e = ERR_INIT;
    p->ask.done = on_done;
    if (action_ask_do(&p->ask, p->w->actions, message_of(p), ACTION_SOURCE_SWEREX, &e) <
        0)
        swerex_put_fail(p, &e);
}

/* ---- the next worker ---- */

/* Returns the id of the action that uses a staged file; 0 if none does. */
static uint64_t user_of(const struct swerex *w, struct str stage)
{
    for (const struct action *a = NULL; (a = actions_next(w->actions, a));) {
        if (str_eq(json_str(a->args, "from", ""), stage) ||
            str_eq(json_str(a->args, "path", ""), stage))
            return a->id;
    }
    return 0;
}

static void load_one(void *arg, struct str id, struct str stage)
{
    put_new(arg, id, stage);
}

void swerex_puts_load(struct swerex *w)
{
    state_each_text(w->en, SWEREX_STAGED, load_one, w);
}

static bool is_staged(const struct swerex *w, const char *name)
{
    for (const struct list *it = w->puts.next; it != &w->puts; it = it->next) {
        if (str_ends(str_of(list_entry(it, struct swerex_put, node)->stage),
                     str_of(name)))
            return true;
    }
    return false;
}

/* Removes files that helpers were writing when they were killed with the worker. */
static void remove_halves(struct swerex *w)
{
    char dir[SWEREX_FOLDER_MAX];
    snprintf(dir, sizeof(dir), "%s/" FOLDER, w->en->state_dir);
    DIR *d = w->en->state_dir[0] ? opendir(dir) : NULL;
    struct dirent *f;
    while (d && (f = readdir(d))) {
        if (strncmp(f->d_name, ".od-", 4) == 0 && !is_staged(w, f->d_name))
            unlinkat(dirfd(d), f->d_name, 0);
    }
    if (d)
        closedir(d);
}

void swerex_puts_start(struct swerex *w)
{
    struct list *it, *tmp;
    remove_halves(w);
    list_each (it, tmp, &w->puts) {
        struct swerex_put *p = list_entry(it, struct swerex_put, node);
        uint64_t action = user_of(w, str_of(p->stage));
        p->ask.done = on_done;
        if (action)
            action_ask_follow(&p->ask, w->actions, action);
        else
            swerex_put_free(p);
    }
}

/* ---- write_file ---- */

static void feed(struct swerex_put *p)
{
    struct str rest = str_sub(json_str(p->body, "content", ""), p->sent, SIZE_MAX);
    while (p->f && rest.n > 0) {
        size_t room = fileact_room(p->f), n = rest.n < room ? rest.n : room;
        if (n == 0) {
            fileact_want_room(p->f);
            return;
        }
        if (fileact_write(p->f, str_sub(rest, 0, n)) < 0)
            return;
        p->sent += n;
        rest = str_sub(rest, n, rest.n);
    }
    if (p->f && !p->whole) {
        p->whole = true;
        fileact_end_input(p->f);
    }
}

static void on_room(void *arg)
{
    struct swerex_put *p = arg;
    if (!p->whole)
        feed(p);
}

static void on_staged(void *arg, struct str result, const struct err *e)
{
    struct swerex_put *p = arg;
    (void)result;
    p->f = NULL;
    if (e->code)
        swerex_put_fail(p, e);
    else
        swerex_put_go(p);
}

static int stage(struct swerex_put *p, struct err *e)
{
    static const struct fileact_events events = {.room = on_room, .done = on_staged};
    struct json *args = swerex_put_args(p);
    char token[SWEREX_TOKEN + 1];
    random_hex(token, SWEREX_TOKEN);
    struct files_ask q = {.verb = "receive",
                          .args = args,
                          .place = &p->place,
                          .token = token,
                          .input = true};
    int rc = fileact_check(q.verb, args, true, false, e);
    if (rc == 0)
        rc = files_start(p->w->actions, &q, &events, p, &p->f, e);
    json_free(args);
    return rc;
}

void swerex_write_file(struct req *r)
{
    struct json *j = swerex_body(r, &write_model);
    struct str path = json_str(j, "path", "");
    struct err e = ERR_INIT;
    struct swerex_put *p = NULL;
    if (!j)
        return;
    if (path.n == 0 || path.n >= PATH_LIMIT)
        swerex_raise_errno(r, path.n ? ENAMETOOLONG : ENOENT, path);
    else if (!(p = swerex_put_new(r, &e)))
        swerex_raise_err(r, &e);
    if (!p) {
        json_free(j);
        return;
    }
    p->body = j;
    buf_adds(&p->path, path);
    swerex_put_own(p, r);
    if (stage(p, &e) < 0)
        swerex_put_fail(p, &e);
    else
        feed(p);
}
