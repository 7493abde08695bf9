/* SPDX-License-Identifier: MIT */
/*
 * The routes of checkpoints. Each does one action (checkpoint/checkpoint.h), with the
 * rights of a key that may do everything: a diff may show what a watcher may not read.
 *
 *   GET /checkpoints             checkpoints
 *   GET /checkpoints/{id}        the same, of one
 *   POST /checkpoints            checkpoint
 *   POST /checkpoints/changes, rollback, drop   (checkpoint_drop)
 *   POST /checkpoints/contents   contents that another server sends; not in the log
 *   POST /checkpoints/import     checkpoint_import, which makes a checkpoint of them
 */
#include "front/events/own.h"

#include "action/checkpoint.h"
#include "base/param.h"
#include "base/xalloc.h"

#include <stdlib.h>

enum { BODY_MAX = 256 << 10, CONTENTS_MAX = 12 << 20 };

#define SESSION \
    { \
        .name = "session", .type = PARAM_STRING, .dflt = "\"main\"", \
        .about = "The session whose user and directory count" \
    }

static void get_list(struct req *r)
{
    struct json *args = events_http_query(r, (const char *const[]){"limit"}, 1);
    if (args)
        events_http_verb(r, "checkpoints", args, true);
}

static void get_one(struct req *r)
{
    struct err e = ERR_INIT;
    uint64_t id;
    if (str_to_u64(req_param(r, "id"), &id) < 0 || id == 0 || id >> 53) {
        err_set(&e, ERR_NOTFOUND, "a checkpoint has a number");
        events_http_refuse(r, &e);
        return;
    }
    struct json *args = json_object();
    json_put_int(args, "id", (int64_t)id);
    events_http_verb(r, "checkpoints", args, true);
}

static void post_body(struct req *r, const char *action)
{
    struct json *args = events_http_body(r);
    if (args)
        events_http_verb(r, action, args, true);
}

static void post_checkpoint(struct req *r) { post_body(r, "checkpoint"); }
static void post_changes(struct req *r) { post_body(r, "changes"); }
static void post_rollback(struct req *r) { post_body(r, "rollback"); }
static void post_drop(struct req *r) { post_body(r, "checkpoint_drop"); }

static void post_import(struct req *r) { post_body(r, "checkpoint_import"); }

/* ---- contents ---- */

struct contents {
    struct req *req;
    struct checkpointing *call;
};

static void contents_done(void *arg, struct str result, const struct err *e)
{
    struct contents *c = arg;
    if (e)
        events_http_refuse(c->req, e);
    else
        req_answer(c->req, 200, "application/json", result);
    free(c);
}

static void contents_gone(struct req *r, void *owner)
{
    struct contents *c = owner;
    (void)r;
    checkpoint_contents_cancel(c->call);
    free(c);
}

static void post_contents(struct req *r)
{
    struct events *ev = req_arg(r);
    struct contents *c = xnew(struct contents);
    struct err e = ERR_INIT;
    engine_touch(ev->en);
    c->req = r;
    c->call = checkpoint_contents(ev->actions, req_body(r), contents_done, c, &e);
    if (c->call) {
        req_own(r, c, contents_gone);
    } else {
        events_http_refuse(r, &e);
        free(c);
    }
}

/* ---- routes ---- */

static const struct param list_query[] = {{.name = "limit",
                                           .type = PARAM_INT,
                                           .ranged = true,
                                           .min = 1,
                                           .max = 1000,
                                           .dflt = "100",
                                           .about = "How many, the newest first"},
                                          SESSION,
                                          {0}};
static const struct param one_query[] = {
    {.name = "id", .type = PARAM_INT, .about = "Its number"}, SESSION, {0}};
static const struct param session_query[] = {SESSION, {0}};

#define ANSWERS(name, text, of) \
    static const struct route_answer name[] = { \
        {.status = 200, .about = text, .schema = of}, {0}}
ANSWERS(list_answers, "The checkpoints", "checkpoints_result");
ANSWERS(made_answers, "The checkpoint", "checkpoint_result");
ANSWERS(changes_answers, "The changes", "changes_result");
ANSWERS(rollback_answers, "What was changed, or would be", "rollback_result");
ANSWERS(import_answers, "The checkpoint", "checkpoint_import_result");
ANSWERS(drop_answers, "What was removed", "checkpoint_drop_result");

static const struct route_answer contents_answers[] = {
    {.status = 200,
     .about = "Which are missing",
     .value = &(const struct member){.type = MEMBER_OBJECT,
                                     .members = checkpoint_contents_gives}},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/checkpoints",
     .run = get_list,
     .marks = ROUTE_PAGE,
     .about = "Lists the checkpoints",
     .query = list_query,
     .answers = list_answers},
    {.methods = HTTP_POST,
     .path = "/checkpoints",
     .run = post_checkpoint,
     .marks = ROUTE_PAGE,
     .body_max = BODY_MAX,
     .about = "Keeps what all files of a folder are",
     .query = session_query,
     .schema = "checkpoint_arguments",
     .answers = made_answers},
    {.methods = HTTP_POST,
     .path = "/checkpoints/changes",
     .run = post_changes,
     .marks = ROUTE_PAGE,
     .body_max = BODY_MAX,
     .about = "Lists what differs from a checkpoint",
     .query = session_query,
     .schema = "changes_arguments",
     .answers = changes_answers},
    {.methods = HTTP_POST,
     .path = "/checkpoints/rollback",
     .run = post_rollback,
     .marks = ROUTE_PAGE,
     .body_max = BODY_MAX,
     .about = "Makes files what they were in a checkpoint",
     .query = session_query,
     .schema = "rollback_arguments",
     .answers = rollback_answers},
    {.methods = HTTP_POST,
     .path = "/checkpoints/drop",
     .run = post_drop,
     .marks = ROUTE_PAGE,
     .body_max = BODY_MAX,
     .about = "Removes checkpoints",
     .query = session_query,
     .schema = "checkpoint_drop_arguments",
     .answers = drop_answers},
    {.methods = HTTP_POST,
     .path = "/checkpoints/contents",
     .run = post_contents,
     .body_max = CONTENTS_MAX,
     .about = "Takes contents of a checkpoint of another server, and reports those that "
              "are missing",
     .takes = "application/octet-stream",
     .answers = contents_answers},
    {.methods = HTTP_POST,
     .path = "/checkpoints/import",
     .run = post_import,
     .body_max = BODY_MAX,
     .about = "Makes a checkpoint of contents that were sent, when all are there",
     .query = session_query,
     .schema = "checkpoint_import_arguments",
     .answers = import_answers},
    {.methods = HTTP_GET,
     .path = "/checkpoints/{id}",
     .run = get_one,
     .marks = ROUTE_PAGE,
     .about = "Shows one checkpoint, and the files that are not whole in it",
     .query = one_query,
     .answers = list_answers},
};
const struct http_front events_bare_checkpoints = {.routes = routes,
                                                   .nroutes = sizeof(routes) /
                                                              sizeof(routes[0]),
                                                   .fail = events_http_fail};
