/* SPDX-License-Identifier: MIT */
/*
 * /api/contents and /files: the files below the root. A helper finds what there is and
 * what a change takes (contents_find.c); the change is then made by the actions of
 * everybody's files, which are in the log: `receive` for a saved file, and mkdir, copy,
 * move, remove.
 *
 *   request ─▶ look ─▶ the answer
 *                   └▶ receive ─▶ actions ─▶ look for the new model ─▶ the answer
 *
 * Changes wait for each other, so that names are free when they are used, and a hash that
 * was compared is still the file's. A change that has begun goes on if its client leaves.
 */
#include "front/jupyter/own.h"

#include "action/files.h"
#include "action/ask.h"
#include "base/clock.h"
#include "base/mime.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/transfer/transfer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_MAX = 1 << 20 };

struct nb_work {
    struct list node; /* in jupyter.works, if it is a change; the first one goes on */
    struct jupyter *f;
    struct req *r; /* NULL: the client has left, or has its answer */
    struct nb_ask ask;
    struct sandbox_place place;
    struct job *job;      /* borrowed; NULL: none */
    struct fileact *file; /* borrowed; NULL: none */
    struct files_log log;
    struct json *head; /* owned: what the helper found; NULL: not yet */
    struct err error;  /* of the change */
    struct action_ask doing;
    bool change, whole, sends;
};

static void begin(struct nb_work *w);
static void next(struct nb_work *w);

static struct nb_work *work_of(struct list *it)
{
    return list_entry(it, struct nb_work, node);
}

/* ---- its life ---- */

static void work_free(void *p)
{
    struct nb_work *w = p;
    json_free(w->head);
    free(w);
}

static void finish(struct nb_work *w)
{
    struct list *all = &w->f->works;
    bool first = w->change && !list_empty(all) && work_of(all->next) == w;
    if (w->change)
        list_del(&w->node);
    action_ask_drop(&w->doing);
    loop_bury(w->f->en->loop, w, work_free);
    if (first && !list_empty(all))
        begin(work_of(all->next));
}

static void fail(struct nb_work *w, const struct err *e)
{
    struct req *r = w->r;
    w->r = NULL;
    if (r && w->sends)
        req_abort(r);
    else if (r)
        nb_fail(r, err_words(e->code)->http, e->text);
    finish(w);
}

static void on_gone(struct req *r, void *owner)
{
    struct nb_work *w = owner;
    (void)r;
    w->r = NULL;
    if (w->change && (w->doing.id || w->file || w->head))
        return; /* it goes on */
    if (w->job)
        job_cancel(w->job);
    w->job = NULL;
    finish(w);
}

/* ---- the answer ---- */

void nb_put_path(struct buf *out, struct str path)
{
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        buf_addf(out, isalnum(c) || (c && strchr("-_.~/", c)) ? "%c" : "%%%02X", c);
    }
}

static void put_location(struct req *r, const char *api, const char *more)
{
    const struct jupyter *f = req_arg(r);
    struct buf b = BUF_INIT(4 * PATH_MAX);
    buf_addf(&b, "%s/api/contents/", f->base);
    nb_put_path(&b, str_of(api));
    buf_addz(&b, more);
    req_header_add(r, "Location", buf_z(&b));
    buf_release(&b);
}

/* The helper's bytes follow. */
static void begin_answer(struct nb_work *w)
{
    char date[32];
    struct str path = json_str(w->head, "path", "");
    int status = w->ask.status ? w->ask.status : (int)json_int(w->head, "status", 200);
    bool made = w->ask.status != 0;
    if (json_has(w->head, "mtime")) {
        http_date(date, (time_t)json_int(w->head, "mtime", 0));
        req_header_add(w->r, "Last-Modified", date);
    }
    if (made)
        put_location(w->r, w->ask.verb == NB_CHECKED ? w->ask.path : path.p,
                     w->ask.verb == NB_CHECKED ? "/checkpoints/checkpoint" : "");
    w->sends = true;
    req_begin(w->r, status,
              w->ask.verb == NB_PAGE ? "text/html; charset=utf-8" : "application/json",
              -1);
}

/* Tells who listens to events that it is done. now: where it is now; "": as it was. */
static void tell(struct nb_work *w, struct str now)
{
    static const char *const actions[] = {[NB_GET] = "get",
                                          [NB_PUT] = "save",
                                          [NB_POST] = "save",
                                          [NB_PATCH] = "rename",
                                          [NB_DELETE] = "delete"};
    enum { KINDS = sizeof(actions) / sizeof(actions[0]) };
    const char *action = (unsigned)w->ask.verb < KINDS ? actions[w->ask.verb] : NULL,
               *path = w->ask.path + (w->ask.path[0] == '/');
    struct err e = ERR_INIT;
    if (!action || list_empty(&w->f->waiters))
        return;
    struct json *j = json_object(), *body = w->ask.verb == NB_POST && w->r
                                                ? json_parse(w->ask.body, &e)
                                                : NULL;
    struct str from = json_str(body, "copy_from", "");
    if (w->ask.verb == NB_PATCH)
        from = str_of(path);
    json_put_z(j, "action", from.n && w->ask.verb == NB_POST ? "copy" : action);
    json_put_str(j, "path", now.n ? now : str_of(path));
    if (from.n)
        json_put_str(j, "source_path", from);
    nb_tell(w->f, "contents_service", j);
    json_free(body);
}

/* Looks at what there is now, for the answer. */
static void look_again(struct nb_work *w)
{
    struct json *head = w->head;
    bool check = json_has(head, "check");
    struct str path = json_str(head, check ? "check" : "then", "");
    tell(w, check ? STR("") : path);
    w->ask = (struct nb_ask){.verb = check ? NB_CHECKED : NB_GET,
                             .status = (int)json_int(head, "status", 200)};
    snprintf(w->ask.root, sizeof(w->ask.root), "%s", w->place.cwd);
    snprintf(w->ask.path, sizeof(w->ask.path), "%s", path.p);
    json_free(head);
    w->head = NULL;
    w->change = false; /* it is made: the next one may begin */
    list_del(&w->node);
    if (!list_empty(&w->f->works))
        begin(work_of(w->f->works.next));
    begin(w);
}

/* ---- the change ---- */

static void on_received(void *arg, struct str result, const struct err *e)
{
    struct nb_work *w = arg;
    w->file = NULL;
    w->error = *e;
    files_log_end(&w->log, str_trim(result), e);
    if (w->whole)
        next(w);
    else if (w->job)
        job_resume(w->job); /* what is left is dropped */
}

static void on_room(void *arg)
{
    struct nb_work *w = arg;
    if (w->job)
        job_resume(w->job);
}

static void stop(void *owner)
{
    struct nb_work *w = owner;
    struct err e;
    err_set(&e, ERR_CANCELLED, "the file was not saved: the action was cancelled");
    if (w->file)
        fileact_cancel(w->file);
    w->file = NULL;
    w->error = e;
    files_log_end(&w->log, STR(""), &e);
    if (w->whole)
        next(w);
    else if (w->job)
        job_resume(w->job);
}

static void receive(struct nb_work *w, const struct json *args)
{
    static const struct fileact_events calls = {.room = on_room, .done = on_received};
    char token[17];
    struct files_ask q = {.verb = "receive",
                          .args = args,
                          .place = &w->place,
                          .token = token,
                          .input = true};
    random_hex(token, 16);
    files_log_begin(&w->log, w->f->en->actions, ACTION_SOURCE_JUPYTER, STR(""), q.verb,
                    args, stop, w);
    if (files_start(w->f->en->actions, &q, &calls, w, &w->file, &w->error) < 0)
        files_log_end(&w->log, STR(""), &w->error);
}

static void on_acted(struct action_ask *q, const struct json *observation,
                     const struct err *e)
{
    struct nb_work *w = container_of(q, struct nb_work, doing);
    (void)observation;
    w->error = *e;
    next(w);
}

/* Does the next action, or answers. */
static void next(struct nb_work *w)
{
    struct action_order o = {.source = ACTION_SOURCE_JUPYTER};
    struct json *steps = json_get(w->head, "do"), *step = json_first(steps);
    if (w->error.code) {
        fail(w, &w->error);
    } else if (step) {
        struct json *m = json_copy(step);
        json_drop(steps, step);
        w->doing.done = on_acted;
        if (action_ask(&w->doing, w->f->en->actions, m, &o, &w->error) < 0)
            fail(w, &w->error);
    } else if (!w->r) {
        finish(w);
    } else if (json_has(w->head, "then") || json_has(w->head, "check")) {
        look_again(w);
    } else {
        struct req *r = w->r;
        tell(w, STR(""));
        w->r = NULL;
        req_answer(r, (int)json_int(w->head, "status", 204), NULL, STR(""));
        finish(w);
    }
}

/* ---- the helper ---- */

/* Reads the head. Returns false if it is not whole yet. */
static bool take_head(struct nb_work *w, struct buf *in)
{
    long nl = str_chr(buf_str(in), '\n');
    if (nl < 0)
        return false;
    w->head = json_parse(str_sub(buf_str(in), 0, (size_t)nl), &w->error);
    buf_consume(in, (size_t)nl + 1);
    struct json *args = json_get(w->head, "receive");
    if (json_has(w->head, "message")) {
        struct req *r = w->r;
        struct json *j = json_object();
        w->r = NULL;
        json_put_str(j, "message", json_str(w->head, "message", ""));
        if (json_has(w->head, "reason"))
            json_put_str(j, "reason", json_str(w->head, "reason", ""));
        else
            json_put_null(j, "reason");
        nb_json(r, (int)json_int(w->head, "status", 500), j);
    } else if (args) {
        receive(w, args);
    } else if (w->head && !json_first(json_get(w->head, "do")) &&
               !json_has(w->head, "then") && json_int(w->head, "status", 0) != 204) {
        begin_answer(w);
    }
    return w->head != NULL;
}

static void on_data(struct job *j, struct buf *in)
{
    struct nb_work *w = job_owner(j);
    if (!w->head && !take_head(w, in))
        return;
    if (w->sends && w->r) {
        buf_consume(in, req_send(w->r, buf_str(in)));
    } else if (w->file) {
        struct str part = str_sub(buf_str(in), 0, fileact_room(w->file));
        fileact_write(w->file, part);
        buf_consume(in, part.n);
        if (in->n)
            fileact_want_room(w->file);
    } else {
        buf_consume(in, in->n);
    }
}

static void on_done(struct job *j, const struct err *e)
{
    struct nb_work *w = job_owner(j);
    struct req *r = w->r;
    w->job = NULL;
    w->whole = true;
    if (e->code || !w->head) {
        if (w->file)
            fileact_cancel(w->file);
        w->file = NULL;
        w->error = *e;
        if (!e->code)
            err_set(&w->error, ERR_INTERNAL, "the helper found nothing");
        files_log_end(&w->log, STR(""), &w->error);
        fail(w, &w->error);
    } else if (json_has(w->head, "message")) {
        finish(w); /* refused */
    } else if (w->sends) {
        if (w->ask.verb == NB_GET && !w->ask.status)
            tell(w, STR(""));
        w->r = NULL;
        if (r)
            req_end(r);
        finish(w);
    } else if (w->file) {
        fileact_end_input(w->file);
    } else {
        next(w);
    }
}

static void on_answer_room(struct req *r, void *owner)
{
    struct nb_work *w = owner;
    (void)r;
    if (w->job)
        job_resume(w->job);
}

static void begin(struct nb_work *w)
{
    static const struct job_events events = {.on_data = on_data, .on_done = on_done};
    struct job_spec spec = {.what = "looking at files",
                            .fn = nb_find,
                            .arg = &w->ask,
                            .as_user = w->place.as_user,
                            .uid = w->place.uid,
                            .gid = w->place.gid,
                            .groups = w->place.groups,
                            .groups_n = w->place.groups_n,
                            .ev = &events,
                            .owner = w};
    struct err e = ERR_INIT;
    w->whole = false;
    w->job = job_start(w->f->en->loop, &spec, &e);
    w->ask.body = STR(""); /* the helper has a copy */
    if (!w->job)
        fail(w, &e);
}

/* ---- requests ---- */

static bool query_of(struct req *r, const char *name, char *out, size_t max)
{
    struct buf b = BUF_INIT(256);
    int got = req_query(r, name, &b);
    snprintf(out, max, "%s", got > 0 ? buf_z(&b) : "");
    buf_release(&b);
    return got >= 0;
}

static bool one_of(struct req *r, const char *what, const char *value,
                   const char *const *known)
{
    for (; *known; known++) {
        if (strcmp(value, *known) == 0)
            return true;
    }
    nb_failf(r, 400, "%s '%.80s' is invalid", what, value);
    return false;
}

static bool take_query(struct req *r, struct nb_ask *a)
{
    static const char *const types[] = {"", "directory", "file", "notebook", NULL};
    static const char *const formats[] = {"", "text", "base64", NULL};
    static const char *const flags[] = {"", "0", "1", NULL};
    char content[8], hash[8];
    query_of(r, "type", a->type, sizeof(a->type));
    query_of(r, "format", a->format, sizeof(a->format));
    query_of(r, "content", content, sizeof(content));
    query_of(r, "hash", hash, sizeof(hash));
    a->content = content[0] != '0';
    a->hash = hash[0] == '1';
    return one_of(r, "Type", a->type, types) && one_of(r, "Format", a->format, formats) &&
           one_of(r, "Content", content, flags) && one_of(r, "Hash", hash, flags);
}

/* Cuts "/checkpoints" and "/checkpoints/ID" off the path. */
static bool take_checkpoint(struct nb_ask *a)
{
    static const char word[] = "/checkpoints";
    char *last = NULL;
    for (char *at = a->path; (at = strstr(at, word)); at++)
        last = at;
    char *id = last ? last + sizeof(word) - 1 : NULL;
    if (!id || (*id && (*id != '/' || strchr(id + 1, '/'))))
        return false;
    snprintf(a->id, sizeof(a->id), "%s", *id ? id + 1 : "");
    *last = 0;
    return true;
}

static int verb_of(struct req *r, struct nb_ask *a)
{
    static const struct {
        const char *method;
        int plain, all, one; /* of a path, its checkpoints, one of them; -1: none */
    } rows[] = {{"GET", NB_GET, NB_CHECKS, -1}, {"HEAD", NB_GET, NB_CHECKS, -1},
                {"PUT", NB_PUT, -1, -1},        {"POST", NB_POST, NB_CHECK, NB_RESTORE},
                {"PATCH", NB_PATCH, -1, -1},    {"DELETE", NB_DELETE, -1, NB_UNCHECK}};
    bool check = take_checkpoint(a);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_eq(req_method(r), str_of(rows[i].method)))
            return !check ? rows[i].plain : a->id[0] ? rows[i].one : rows[i].all;
    }
    return -1;
}

const char *nb_root(const struct jupyter *f)
{
    return f->root ? f->root : sandbox_cwd(f->en->sandbox, STR(""));
}

int nb_place(const struct jupyter *f, struct sandbox_place *out, struct err *e)
{
    int rc = sandbox_place(f->en->sandbox, STR(""), out, e);
    snprintf(out->cwd, sizeof(out->cwd), "%s", nb_root(f));
    return rc;
}

static void refuse_early(struct req *r, struct nb_work *w, const struct err *e)
{
    if (e)
        nb_fail(r, err_words(e->code)->http, e->text);
    free(w);
}

static void start(struct nb_work *w)
{
    struct list *all = &w->f->works;
    engine_touch(w->f->en);
    req_own(w->r, w, on_gone);
    req_on_room(w->r, on_answer_room);
    bool waits = w->change && !list_empty(all);
    if (w->change)
        list_add_tail(all, &w->node);
    if (!waits)
        begin(w);
}

void nb_contents(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct nb_work *w = xnew(struct nb_work);
    struct str path = req_param(r, "*");
    struct err e = ERR_INIT;
    w->f = f;
    w->r = r;
    list_init(&w->node);
    if (str_chr(path, 0) >= 0 ||
        !buf_fill(w->ask.path, sizeof(w->ask.path), "/%.*s", STR_ARG(path))) {
        nb_fail(r, 404, "The path is too long");
        refuse_early(r, w, NULL);
        return;
    }
    int verb = verb_of(r, &w->ask);
    if (verb < 0 || nb_place(f, &w->place, &e) < 0) {
        if (verb < 0)
            nb_fail(r, 405, "Method Not Allowed");
        refuse_early(r, w, e.code ? &e : NULL);
        return;
    }
    w->ask.verb = (enum nb_verb)verb;
    w->ask.body = str_trim(req_body(r));
    snprintf(w->ask.root, sizeof(w->ask.root), "%s", w->place.cwd);
    if (verb == NB_GET && !take_query(r, &w->ask)) {
        refuse_early(r, w, NULL);
        return;
    }
    w->change = verb != NB_GET && verb != NB_CHECKS;
    start(w);
}

void nb_ask_helper(struct req *r, const struct nb_ask *ask)
{
    struct jupyter *f = req_arg(r);
    struct nb_work *w = xnew(struct nb_work);
    struct err e = ERR_INIT;
    *w = (struct nb_work){.f = f, .r = r, .ask = *ask};
    list_init(&w->node);
    if (nb_place(f, &w->place, &e) < 0)
        refuse_early(r, w, &e);
    else
        start(w);
}

/* ---- /files ---- */

static void on_no_file(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    if (e->code == ERR_INVALID || e->code == ERR_UNSUPPORTED)
        nb_fail(r, 403, "It is not a file");
    else
        nb_fail(r, err_words(e->code)->http, e->text);
}

static void on_file(struct req *r, void *arg, const struct json *about)
{
    char date[32];
    (void)arg;
    http_date(date, (time_t)json_int(about, "mtime", 0));
    req_header_add(r, "Last-Modified", date);
    req_header_add(r, "Cache-Control", "no-cache");
    req_header_add(r, "X-Content-Type-Options", "nosniff");
    req_header_add(r, "Content-Security-Policy",
                   "frame-ancestors 'self'; sandbox allow-scripts");
}

static const char *media_type(const char *path)
{
    const char *type = mime_of_name(str_of(path));
    if (str_ends(str_of(path), STR(".ipynb")))
        return "application/x-ipynb+json";
    if (type && strcmp(type, "text/plain") == 0)
        return "text/plain; charset=UTF-8";
    return type ? type : "application/octet-stream";
}

static void attach(struct req *r, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct buf b = BUF_INIT(4096);
    buf_addz(&b, "attachment; filename*=utf-8''"); /* RFC 8187 */
    for (const char *c = name; *c; c++)
        buf_addf(&b, isalnum((unsigned char)*c) || strchr("-_.", *c) ? "%c" : "%%%02X",
                 (unsigned char)*c);
    req_header_add(r, "Content-Disposition", buf_z(&b));
    buf_release(&b);
}

void nb_send_file(struct req *r, const char *root, struct str path, const char *source)
{
    static const struct transfer_words words = {.fail = on_no_file, .head = on_file};
    struct jupyter *f = req_arg(r);
    struct sandbox_place place;
    struct err e = ERR_INIT;
    char api[PATH_MAX];
    bool hidden;
    if (nb_path(path, api, &hidden) < 0 || hidden) {
        nb_fail(r, 404, "Not Found");
        return;
    }
    if (nb_place(f, &place, &e) < 0) {
        nb_fail(r, err_words(e.code)->http, e.text);
        return;
    }
    snprintf(place.cwd, sizeof(place.cwd), "%s", root);
    struct json *args = json_object();
    transfer_path(args, "path", str_of(api[0] ? api : "."));
    json_put_bool(args, "head", str_eq(req_method(r), STR("HEAD")));
    transfer_range(r, args);
    transfer_send(r, &(struct transfer_ask){.en = f->en,
                                            .verb = "send",
                                            .args = args,
                                            .place = &place,
                                            .type = media_type(api),
                                            .source = source,
                                            .words = &words});
    json_free(args);
}

void nb_files(struct req *r)
{
    struct str path = req_param(r, "*");
    char download[8];
    query_of(r, "download", download, sizeof(download));
    if (download[0] || str_ends(path, STR(".ipynb")))
        attach(r, path.p);
    nb_send_file(r, nb_root(req_arg(r)), path, ACTION_SOURCE_JUPYTER);
}
