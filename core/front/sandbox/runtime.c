/* SPDX-License-Identifier: MIT */
/*
 * The file routes of agent-sandbox's runtime: /upload, /download, /list, /exists. Errors
 * are {"message": text}.
 */
#include "front/sandbox/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/model/model.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_LEN = 4096 };

struct str sandbox_http_path(const struct req *r) { return req_param(r, "*"); }

int sandbox_http_ask(struct req *r, struct sandbox_http_ask *a, const char *verb,
                     const struct json *args, const struct transfer_words *words,
                     void *arg)
{
    struct sandbox_http *f = req_arg(r);
    struct err e = ERR_INIT;
    a->q = (struct transfer_ask){.en = f->en,
                                 .verb = verb,
                                 .args = args,
                                 .place = &a->place,
                                 .root = sandbox_http_base(f),
                                 .type = "application/octet-stream",
                                 .source = SANDBOX_SOURCE,
                                 .words = words,
                                 .arg = arg};
    if (sandbox_http_place(f, &a->place, &e) == 0)
        return 0;
    words->fail(r, arg, &e);
    return -1;
}

void sandbox_http_list(struct req *r, struct json *take_args, struct str head,
                       struct str tail, sandbox_http_entry_fn *put,
                       void (*fail)(struct req *, void *, const struct err *))
{
    struct sandbox_http *f = req_arg(r);
    struct sandbox_place place;
    struct err e = ERR_INIT;
    struct transfer_list q = {.en = f->en,
                              .place = &place,
                              .root = sandbox_http_base(f),
                              .type = "application/json",
                              .head = head,
                              .tail = tail,
                              .put = put,
                              .fail = fail};
    json_put_bool(take_args, "follow", true);
    if (sandbox_http_place(f, &place, &e) == 0) {
        transfer_list(r, take_args, &q);
    } else {
        json_free(take_args);
        fail(r, NULL, &e);
    }
}

/* ---- errors ---- */

/* missing: the text for NOTFOUND. */
static void refuse(struct req *r, const char *failed, const char *missing,
                   const struct err *e)
{
    char text[700];
    if (e->code == ERR_DENIED) {
        sandbox_http_say(r, 403, "Access denied");
    } else if (missing && (e->code == ERR_NOTFOUND || e->code == ERR_INVALID ||
                           e->code == ERR_UNSUPPORTED)) {
        sandbox_http_say(r, 404, missing);
    } else {
        snprintf(text, sizeof(text), "%s: %s", failed, e->text);
        /* Clients repeat a request that was answered with 5xx. */
        sandbox_http_say(r,
                         err_words(e->code)->http >= 500 && e->code != ERR_CANCELLED ? 400
                         : e->code == ERR_BUSY                                       ? 503
                                               : err_words(e->code)->http,
                         text);
    }
}

/* ---- upload ---- */

struct sandbox_http_upload {
    struct buf name; /* owned; n 0: no file yet */
    bool had;
};

static void upload_free(void *arg)
{
    struct sandbox_http_upload *u = arg;
    buf_release(&u->name);
    free(u);
}

static int on_part(void *arg, const struct multipart_part *p, struct json **args,
                   struct err *e)
{
    struct sandbox_http_upload *u = arg;
    if (u->had || !p->filename.p || !str_eq(p->name, STR("file")))
        return PART_SKIP;
    u->had = true;
    if (buf_adds(&u->name, p->filename) < 0 || p->filename.n == 0 ||
        p->filename.p[p->filename.n - 1] == '/')
        return err_set(e, ERR_INVALID,
                       "the file has no name, one longer than a path, or a folder's");
    *args = json_object();
    transfer_path(*args, "path", p->filename);
    json_put_int(*args, "mode", 0666);
    json_put_bool(*args, "keep", true);
    json_put_bool(*args, "parents", true);
    return PART_FILE;
}

static void on_uploaded(struct req *r, void *arg, struct str result)
{
    struct sandbox_http_upload *u = arg;
    struct buf text = BUF_INIT(NAME_LEN + 64);
    (void)result;
    buf_addf(&text, "File '%s' uploaded successfully.", buf_z(&u->name));
    sandbox_http_say(r, 200, buf_z(&text));
    buf_release(&text);
}

static void on_upload_failed(struct req *r, void *arg, const struct err *e)
{
    struct sandbox_http_upload *u = arg;
    struct json *errors = NULL;
    if (u->had || e->code != ERR_INVALID) {
        refuse(r, "File upload failed", NULL, e);
        return;
    }
    /* As FastAPI reports a body that is not a form, or lacks the part. */
    model_error(&errors, "missing", "body", "file", "Field required", NULL);
    model_refuse(r, errors);
}

/* The form is whole. */
static int on_form_end(void *arg, struct err *e)
{
    struct sandbox_http_upload *u = arg;
    return u->had ? 0 : err_set(e, ERR_INVALID, "the form has no part `file`");
}

void sandbox_http_post_upload(struct req *r)
{
    static const struct transfer_words words = {.done = on_uploaded,
                                                .fail = on_upload_failed};
    static const struct transfer_form form = {.part = on_part, .end = on_form_end};
    struct sandbox_http_upload *u = xnew(struct sandbox_http_upload);
    struct sandbox_http_ask a;
    buf_init(&u->name, NAME_LEN);
    if (sandbox_http_ask(r, &a, "receive_all", NULL, &words, u) < 0) {
        upload_free(u);
        return;
    }
    a.q.free = upload_free;
    transfer_form(r, &a.q, &form);
}

/* ---- download, list, exists ---- */

static void on_nothing(struct req *r, void *arg, struct str result)
{
    (void)arg;
    (void)result;
    sandbox_http_say(r, 200, "ok");
}

static void on_no_file(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    refuse(r, "File download failed", "File not found", e);
}

/* The name of a file in a field: printable, without quotes (RFC 6266). */
static void put_disposition(struct req *r, struct str path)
{
    char text[400], name[256];
    size_t n = 0, from = path.n;
    while (from > 0 && path.p[from - 1] != '/')
        from--;
    for (size_t i = from; i < path.n && n + 1 < sizeof(name); i++) {
        unsigned char c = (unsigned char)path.p[i];
        name[n++] = c < 0x20 || c > 0x7e || c == '"' || c == '\\' ? '_' : (char)c;
    }
    name[n] = 0;
    snprintf(text, sizeof(text), "attachment; filename=\"%s\"", name);
    req_header_add(r, "Content-Disposition", text);
}

static void on_head(struct req *r, void *arg, const struct json *about)
{
    (void)arg;
    (void)about;
    put_disposition(r, sandbox_http_path(r));
}

void sandbox_http_get_download(struct req *r)
{
    static const struct transfer_words words = {
        .done = on_nothing, .fail = on_no_file, .head = on_head};
    struct json *args = json_object();
    struct sandbox_http_ask a;
    transfer_path(args, "path", sandbox_http_path(r));
    transfer_range(r, args);
    if (sandbox_http_ask(r, &a, "send", args, &words, NULL) == 0)
        transfer_send(r, &a.q);
    json_free(args);
}

static bool put_entry(struct buf *out, const struct json *entry, void *arg)
{
    bool folder = str_eq(json_str(entry, "type", ""), STR("folder"));
    buf_addz(out, "{\"name\":");
    json_quote(out, json_str(entry, "path", ""));
    buf_addf(out, ",\"size\":%lld,\"type\":\"%s\",\"mod_time\":%.6f}",
             (long long)json_int(entry, "size", 0), folder ? "directory" : "file",
             json_num(entry, "mtime", 0));
    (void)arg;
    return true;
}

static void on_no_folder(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    refuse(r, "List files failed", "Path is not a directory", e);
}

void sandbox_http_get_list(struct req *r)
{
    struct json *args = json_object();
    transfer_path(args, "path", sandbox_http_path(r));
    sandbox_http_list(r, args, STR("["), STR("]"), put_entry, on_no_folder);
}

static void say_exists(struct req *r, bool exists)
{
    struct json *j = json_object();
    json_put_str(j, "path", sandbox_http_path(r));
    json_put_bool(j, "exists", exists);
    sandbox_http_answer(r, 200, j);
}

static void on_there(struct req *r, void *arg, struct str result)
{
    (void)arg;
    (void)result;
    say_exists(r, true);
}

static void on_not_there(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    if (e->code == ERR_NOTFOUND || e->code == ERR_INVALID)
        say_exists(r, false);
    else
        refuse(r, "Cannot look", NULL, e);
}

void sandbox_http_get_exists(struct req *r)
{
    static const struct transfer_words words = {.done = on_there, .fail = on_not_there};
    struct json *args = json_object();
    struct sandbox_http_ask a;
    transfer_path(args, "path", sandbox_http_path(r));
    if (sandbox_http_ask(r, &a, "stat", args, &words, NULL) == 0)
        transfer_look(r, &a.q);
    json_free(args);
}
