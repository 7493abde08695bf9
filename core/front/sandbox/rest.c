/* SPDX-License-Identifier: MIT */
/*
 * The REST half of sandboxd (packages/sandboxd/spec/filesystem/v1/filesystem.yaml):
 *
 *   GET, HEAD  /v1/files/{path}   a file (ranges, too), or {"path","entries"} of a folder
 *   PUT        /v1/files/{path}   the body, or the part `file` of a form; ?mode=0644
 *   DELETE     /v1/files/{path}   ?recursive=true; for the served folder itself, its
 *                                 contents
 *
 * Errors are {"code","message"}. A repeated request does no harm: PUT stores the same
 * file again, and the second DELETE answers 404.
 */
#include "front/sandbox/own.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- errors ---- */

static void say(struct req *r, int status, const char *code, const char *message)
{
    struct json *j = json_object();
    json_put_z(j, "code", code);
    json_put_z(j, "message", message);
    sandbox_http_answer(r, status, j);
}

void sandbox_http_rest_fail(struct req *r, int status, const char *text)
{
    say(r, status,
        status == 404                    ? "NOT_FOUND"
        : status == 401 || status == 403 ? "PERMISSION_DENIED"
        : status == 503                  ? "UNAVAILABLE"
        : status >= 500                  ? "INTERNAL"
                                         : "INVALID_ARGUMENT",
        text);
}

static void on_fail(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    if (e->code == ERR_NOTFOUND)
        say(r, 404, "NOT_FOUND", "path does not exist within the sandbox");
    else if (e->code == ERR_DENIED)
        say(r, 403, "PERMISSION_DENIED", e->text);
    else if (e->code == ERR_EXISTS)
        say(r, 409, "CONFLICT",
            "directory is not empty; pass recursive=true to remove it");
    else if (e->code == ERR_BUSY)
        say(r, 503, "UNAVAILABLE", e->text);
    else if (e->code == ERR_IO)
        say(r, 500, "INTERNAL", e->text);
    else
        say(r, 400, "INVALID_ARGUMENT", e->text);
}

/* Called if a part of the path is a file, or the served folder is missing. */
static void on_put_fail(struct req *r, void *arg, const struct err *e)
{
    if (e->code == ERR_NOTFOUND)
        say(r, 400, "INVALID_ARGUMENT", e->text);
    else
        on_fail(r, arg, e);
}

static void on_done(struct req *r, void *arg, struct str result)
{
    (void)arg;
    (void)result;
    req_answer(r, 204, NULL, STR(""));
}

/* ---- GET ---- */

static bool put_entry(struct buf *out, const struct json *entry, void *arg)
{
    bool folder = str_eq(json_str(entry, "type", ""), STR("folder"));
    time_t at = (time_t)json_num(entry, "mtime", 0);
    char when[40];
    struct tm tm;
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
    buf_addz(out, "{\"name\":");
    json_quote(out, json_str(entry, "path", ""));
    buf_addf(out,
             ",\"size\":%lld,\"type\":\"%s\",\"modified_at\":\"%s\",\"mode\":\"0%.3s\"}",
             (long long)json_int(entry, "size", 0), folder ? "directory" : "file", when,
             json_str(entry, "mode", "0000").p + 1);
    (void)arg;
    return true;
}

static void list(struct req *r)
{
    struct json *args = json_object();
    struct buf head = BUF_INIT(8 << 10);
    struct str path = sandbox_http_path(r);
    transfer_path(args, "path", path);
    buf_addz(&head, "{\"path\":");
    struct buf shown = BUF_INIT(8 << 10);
    if (path.n == 0 || path.p[0] != '/')
        buf_addc(&shown, '/');
    buf_adds(&shown, path);
    json_quote(&head, buf_str(&shown));
    buf_addz(&head, ",\"entries\":[");
    sandbox_http_list(r, args, buf_str(&head), STR("]}"), put_entry, on_fail);
    buf_release(&shown);
    buf_release(&head);
}

static void on_no_file(struct req *r, void *arg, const struct err *e)
{
    if (e->code == ERR_INVALID)
        list(r); /* a folder; or list reports what is wrong with the path */
    else
        on_fail(r, arg, e);
}

static void on_head(struct req *r, void *arg, const struct json *about)
{
    char date[32];
    (void)arg;
    http_date(date, (time_t)json_int(about, "mtime", 0));
    req_header_add(r, "Last-Modified", date);
}

static void on_unsatisfied(struct req *r, void *arg, uint64_t size)
{
    (void)arg;
    (void)size;
    say(r, 416, "INVALID_ARGUMENT", "the file has no such range");
}

void sandbox_http_rest_get(struct req *r)
{
    static const struct transfer_words words = {.done = on_done,
                                                .fail = on_no_file,
                                                .head = on_head,
                                                .unsatisfied = on_unsatisfied};
    struct json *args = json_object();
    struct sandbox_http_ask a;
    transfer_path(args, "path", sandbox_http_path(r));
    json_put_bool(args, "head", str_eq(req_method(r), STR("HEAD")));
    if (transfer_range(r, args) < 0)
        on_unsatisfied(r, NULL, 0);
    else if (sandbox_http_ask(r, &a, "send", args, &words, NULL) == 0)
        transfer_send(r, &a.q);
    json_free(args);
}

/* ---- PUT ---- */

/* Reads ?mode=0644. Returns -1 after answering if it is not a mode. */
static int read_mode(struct req *r, int64_t *mode)
{
    struct buf b = BUF_INIT(16);
    int got = req_query(r, "mode", &b);
    bool good = b.n == 4 && b.p[0] == '0';
    *mode = got > 0 && b.n > 0 ? 0 : 0644;
    for (size_t i = 0; i < b.n && good; i++) {
        good = b.p[i] >= '0' && b.p[i] <= '7';
        *mode = *mode * 8 + b.p[i] - '0';
    }
    buf_release(&b);
    if (good || (got >= 0 && *mode == 0644))
        return 0;
    say(r, 400, "INVALID_ARGUMENT", "mode must match ^0[0-7]{3}$");
    return -1;
}

struct sandbox_http_put {
    struct json *args; /* owned: of the file */
    bool had;
};

static void put_free(void *arg)
{
    struct sandbox_http_put *p = arg;
    json_free(p->args);
    free(p);
}

static int on_part(void *arg, const struct multipart_part *part, struct json **args,
                   struct err *e)
{
    struct sandbox_http_put *p = arg;
    (void)e;
    if (p->had || !str_eq(part->name, STR("file")))
        return PART_SKIP;
    p->had = true;
    *args = json_copy(p->args);
    return PART_FILE;
}

static int on_form_end(void *arg, struct err *e)
{
    struct sandbox_http_put *p = arg;
    return p->had ? 0
                  : err_set(e, ERR_INVALID,
                            "multipart body is missing the required \"file\" part");
}

static bool is_form(const struct req *r)
{
    struct str type = req_header(r, "Content-Type"), first = str_cut(&type, ';');
    first = str_trim(first);
    return first.n == 19 && strncasecmp(first.p, "multipart/form-data", 19) == 0;
}

void sandbox_http_rest_put(struct req *r)
{
    static const struct transfer_words words = {.done = on_done, .fail = on_put_fail};
    static const struct transfer_form form = {.part = on_part, .end = on_form_end};
    struct sandbox_http_put *p;
    struct sandbox_http_ask a;
    int64_t mode;
    if (read_mode(r, &mode) < 0)
        return;
    p = xnew(struct sandbox_http_put);
    p->args = json_object();
    transfer_path(p->args, "path", sandbox_http_path(r));
    json_put_int(p->args, "mode", mode);
    json_put_bool(p->args, "parents", true);
    json_put_bool(p->args, "sync", true);
    if (sandbox_http_ask(r, &a, "receive", p->args, &words, p) < 0) {
        put_free(p);
        return;
    }
    a.q.free = put_free;
    if (is_form(r))
        transfer_form(r, &a.q, &form);
    else
        transfer_take(r, &a.q);
}

/* ---- DELETE ---- */

/* Reads a bool as Go's strconv.ParseBool does. Returns -1 if it is not one. */
static int read_bool(struct req *r, const char *name)
{
    static const char *const words[2][6] = {{"0", "f", "F", "false", "False", "FALSE"},
                                            {"1", "t", "T", "true", "True", "TRUE"}};
    struct buf b = BUF_INIT(16);
    int got = req_query(r, name, &b), value = got == 0 || (got > 0 && b.n == 0) ? 0 : -1;
    for (int i = 0; got > 0 && i < 12; i++) {
        if (strcmp(buf_z(&b), words[i / 6][i % 6]) == 0)
            value = i / 6;
    }
    buf_release(&b);
    return value;
}

void sandbox_http_rest_delete(struct req *r)
{
    static const struct transfer_words words = {.done = on_done, .fail = on_fail};
    struct json *args = json_object();
    struct sandbox_http_ask a;
    int recursive = read_bool(r, "recursive");
    transfer_path(args, "path", sandbox_http_path(r));
    json_put_bool(args, "recursive", recursive > 0);
    json_put_bool(args, "contents", true);
    if (recursive < 0)
        say(r, 400, "INVALID_ARGUMENT", "recursive must be a boolean");
    else if (sandbox_http_ask(r, &a, "remove", args, &words, NULL) == 0)
        transfer_look(r, &a.q);
    json_free(args);
}

/* ---- the server ---- */

void sandbox_http_rest_health(struct req *r)
{
    const struct sandbox_http *f = req_arg(r);
    if (f->closed) {
        say(r, 503, "UNAVAILABLE", "sandboxd is shutting down");
        return;
    }
    struct json *j = json_object();
    json_put_z(j, "status", "ok");
    json_put_int(j, "uptime_seconds", (clock_ms() - f->en->started_ms) / 1000);
    sandbox_http_answer(r, 200, j);
}

void sandbox_http_rest_metadata(struct req *r)
{
    const struct sandbox_http *f = req_arg(r);
    struct json *j = json_object();
    json_put(j, "env", json_copy(f->env));
    sandbox_http_answer(r, 200, j);
}
