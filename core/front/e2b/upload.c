/* SPDX-License-Identifier: MIT */
/*
 * POST /files: one file as application/octet-stream, or the parts named `file` of a form.
 * A helper with the user's rights collects each file next to its final place, and puts it
 * there when it is complete. The answer lists the files. An upload is one action in the
 * log, with the arguments of its first file; its observation has all of them.
 */
#include "front/e2b/own.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "http/http.h"
#include "http/multipart.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    FEED = 16 << 10, /* bytes of a form that are read at once */
    HELPERS_MAX = 4, /* that may still finish while the next part is received */
    ANSWER_MAX = 8 << 20,
    LOG_MAX = 512 << 10 /* bytes of the list of files in the log */
};

struct e2b_part {
    struct list node; /* in its upload's parts, in their order */
    struct e2b_upload *u;
    struct fileact *helper; /* NULL: it has ended */
    bool over;              /* its input was ended */
    struct buf path;        /* owned */
    struct buf result;      /* owned: the helper's result, a JSON object */
};

struct e2b_upload {
    struct e2b *f;
    struct req *req; /* NULL: the client has disconnected */
    struct sandbox_place user;
    struct buf path; /* owned: from the query; empty: none */
    bool gzip;
    struct json *attributes; /* owned */
    struct multipart *form;  /* owned; NULL: the body is the file */
    struct list parts;
    struct e2b_part *part; /* the part being received; NULL: none */
    unsigned helpers;      /* running helpers */
    bool ended;            /* the body has ended */
    struct err e;          /* the first error */
    struct files_log log;  /* begins with the first part */
};

static void upload_free(void *p)
{
    struct e2b_upload *u = p;
    while (!list_empty(&u->parts)) {
        struct e2b_part *x = list_first(&u->parts, struct e2b_part, node);
        list_del(&x->node);
        buf_release(&x->path);
        buf_release(&x->result);
        free(x);
    }
    multipart_free(u->form);
    json_free(u->attributes);
    buf_release(&u->path);
    free(u);
}

static void cancel_all(struct e2b_upload *u)
{
    struct list *it, *tmp;
    list_each (it, tmp, &u->parts) {
        struct e2b_part *x = list_entry(it, struct e2b_part, node);
        if (x->helper)
            fileact_cancel(x->helper);
        x->helper = NULL;
    }
}

static void bury(struct e2b_upload *u)
{
    struct err e;
    cancel_all(u);
    u->req = NULL;
    err_set(&e, ERR_CANCELLED, "the client closed the connection before the end");
    files_log_end(&u->log, STR(""), &e);
    loop_bury(u->f->en->loop, u, upload_free);
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    bury(owner);
}

/* ---- the answer ---- */

static void put_part(struct buf *b, const struct e2b_upload *u, const struct e2b_part *x)
{
    static const struct str prefix = STR(E2B_METADATA);
    const struct json *v = json_first(u->attributes);
    buf_addz(b, b->n > 1 ? ",{\"path\":" : "{\"path\":");
    json_quote(b, buf_str(&x->path));
    buf_addz(b, ",\"name\":");
    json_quote(b, e2b_base_name(buf_str(&x->path)));
    buf_addz(b, ",\"type\":\"file\"");
    for (bool first = true; v; v = json_next(v), first = false) {
        buf_addz(b, first ? ",\"metadata\":{" : ",");
        json_quote(b, str_of(json_name(v) + prefix.n));
        buf_addc(b, ':');
        json_quote(b, json_str_value(v, ""));
        if (!json_next(v))
            buf_addc(b, '}');
    }
    buf_addc(b, '}');
}

/*
 * Ends the action with {"files":[…]}, or with the number of files if they are too many.
 */
static void end_log(struct e2b_upload *u)
{
    struct list *it, *tmp;
    struct buf b = BUF_INIT(LOG_MAX);
    size_t n = 0;
    list_each (it, tmp, &u->parts) {
        buf_addz(&b, n++ ? "," : "{\"files\":[");
        buf_adds(&b, buf_str(&list_entry(it, struct e2b_part, node)->result));
    }
    buf_addz(&b, "]}");
    if (buf_full(&b)) {
        buf_reset(&b);
        buf_addf(&b, "{\"count\":%zu}", n);
    }
    files_log_end(&u->log, buf_str(&b), NULL);
    buf_release(&b);
}

/* Answers when the body and all helpers have ended, or one has failed. */
static void maybe_answer(struct e2b_upload *u)
{
    struct list *it, *tmp;
    struct buf b = BUF_INIT(ANSWER_MAX);
    if (!u->req || (!u->e.code && (!u->ended || u->helpers > 0)))
        return;
    if (u->e.code) {
        struct req *r = u->req;
        struct err e = u->e;
        if (!u->ended)
            req_close_after(r);
        files_log_end(&u->log, STR(""), &e);
        bury(u);
        e2b_refuse_file(r, &e);
        return;
    }
    buf_addc(&b, '[');
    list_each (it, tmp, &u->parts)
        put_part(&b, u, list_entry(it, struct e2b_part, node));
    buf_addc(&b, ']');
    end_log(u);
    req_answer_take(u->req, 200, "application/json; charset=utf-8", &b);
    bury(u);
}

static void on_cancel(void *owner)
{
    struct e2b_upload *u = owner;
    if (!u->e.code)
        err_set(&u->e, ERR_CANCELLED, "the action was cancelled");
    maybe_answer(u);
}

/* ---- one file ---- */

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct e2b_part *x = arg;
    struct e2b_upload *u = x->u;
    buf_adds(&x->result, str_trim(result));
    x->helper = NULL;
    u->helpers--;
    if (e->code && !u->e.code)
        u->e = *e;
    if (u->req && !u->ended)
        req_body_more(u->req);
    maybe_answer(u);
}

static void on_room(void *arg)
{
    struct e2b_part *x = arg;
    if (x->u->req)
        req_body_more(x->u->req);
}

static struct json *args_of(const struct e2b_upload *u, const struct e2b_part *x)
{
    struct json *args = json_object();
    json_put_str(args, "path", buf_str(&x->path));
    json_put_int(args, "mode", 0666); /* less the umask */
    json_put_bool(args, "keep", true);
    json_put_bool(args, "parents", true);
    json_put_bool(args, "gzip", u->gzip);
    if (json_count(u->attributes) > 0)
        json_put(args, "attributes", json_copy(u->attributes));
    return args;
}

static bool twice(const struct e2b_upload *u, struct str path)
{
    struct list *it, *tmp;
    list_each (it, tmp, &u->parts) {
        if (str_eq(buf_str(&list_entry(it, struct e2b_part, node)->path), path))
            return true;
    }
    return false;
}

static int begin_part(struct e2b_upload *u, struct str path, struct err *e)
{
    static const struct fileact_events events = {.room = on_room, .done = on_done};
    char token[33];
    if (twice(u, path))
        return err_set(e, ERR_INVALID, "an upload has two files for %.300s", path.p);
    struct e2b_part *x = xnew(struct e2b_part);
    x->u = u;
    buf_init(&x->path, 8192);
    buf_adds(&x->path, path);
    buf_init(&x->result, 16 << 10);
    list_add_tail(&u->parts, &x->node);
    struct json *args = args_of(u, x);
    random_hex(token, 32);
    struct files_ask q = {.verb = "receive",
                          .args = args,
                          .place = &u->user,
                          .token = token,
                          .input = true};
    int rc = fileact_check("receive", args, true, false, e);
    if (rc == 0 && !u->log.all)
        files_log_begin(&u->log, u->f->actions, E2B_SOURCE, STR(""), "receive", args,
                        on_cancel, u);
    if (rc == 0)
        rc = files_start(u->f->actions, &q, &events, x, &x->helper, e);
    json_free(args);
    u->part = rc == 0 ? x : NULL;
    u->helpers += rc == 0;
    return rc;
}

/* Files whose bytes are all there come to their places. */
static void end_parts(struct e2b_upload *u)
{
    struct list *it, *tmp;
    u->part = NULL;
    list_each (it, tmp, &u->parts) {
        struct e2b_part *x = list_entry(it, struct e2b_part, node);
        if (x->helper && !x->over)
            fileact_end_input(x->helper);
        x->over = true;
    }
}

/* ---- the parts of a form ---- */

static int on_part(void *arg, const struct multipart_part *p)
{
    struct e2b_upload *u = arg;
    struct buf path = BUF_INIT(8192);
    int rc = 0;
    u->part = NULL;
    if (!str_eq(p->name, STR("file")))
        return 0;
    if (u->path.n > 0)
        buf_adds(&path, buf_str(&u->path));
    else if (p->filename.n == 0)
        rc = err_set(&u->e, ERR_INVALID,
                     "a part has no file name, and the query no path");
    else
        rc = e2b_path(u->f, &u->user, p->filename, &path, &u->e);
    if (rc == 0)
        rc = begin_part(u, buf_str(&path), &u->e);
    buf_release(&path);
    return rc;
}

/* on_body passes at most as many bytes as there is room for. */
static int on_part_data(void *arg, struct str bytes)
{
    struct e2b_upload *u = arg;
    if (u->part && u->part->helper && fileact_write(u->part->helper, bytes) < 0)
        return err_set(&u->e, ERR_INTERNAL, "an upload has no room for %zu bytes",
                       bytes.n);
    return 0;
}

/* No file comes to its place before the whole form is known to be right, as long as there
 * are helpers to wait with. */
static int on_part_end(void *arg)
{
    struct e2b_upload *u = arg;
    u->part = NULL;
    if (u->helpers >= HELPERS_MAX)
        end_parts(u);
    return 0;
}

static const struct multipart_events form_events = {on_part, on_part_data, on_part_end};

/* ---- the body ---- */

/* Returns the number of bytes that may be taken now. */
static size_t room(const struct e2b_upload *u)
{
    if (u->helpers > HELPERS_MAX || (u->form && !u->part && u->helpers == HELPERS_MAX))
        return 0;
    if (!u->part || !u->part->helper)
        return FEED;
    size_t n = fileact_room(u->part->helper);
    /* A form may hold back a few bytes and deliver them with the next ones. */
    return !u->form ? n : n > 2 * FEED ? FEED : 0;
}

/*
 * Offers a helper one byte more than it can take: it reports room only after a refusal.
 */
static void ask_for_room(struct e2b_upload *u, struct str rest)
{
    struct fileact *h = u->part ? u->part->helper : NULL;
    if (h && fileact_room(h) <= 2 * FEED)
        fileact_write(h, str_n(rest.p, fileact_room(h) + 1));
}

static size_t on_body(struct req *r, struct str bytes, void *owner)
{
    struct e2b_upload *u = owner;
    struct str rest = bytes;
    (void)r;
    while (rest.n > 0 && !u->e.code) {
        struct str part = str_sub(rest, 0, room(u));
        if (part.n == 0) {
            ask_for_room(u, rest);
            return bytes.n - rest.n;
        }
        if (u->form)
            multipart_feed(u->form, part, &u->e);
        else
            on_part_data(u, part);
        rest = str_sub(rest, part.n, rest.n);
    }
    maybe_answer(u);
    return bytes.n;
}

static void on_body_end(struct req *r, void *owner)
{
    struct e2b_upload *u = owner;
    (void)r;
    u->ended = true;
    if (u->form && !u->e.code)
        multipart_finish(u->form, &u->e);
    if (!u->e.code)
        end_parts(u);
    maybe_answer(u);
}

/* ---- beginning ---- */

/* Returns the attributes of the new files, from X-Metadata-KEY. */
static struct json *attributes_of(const struct req *r)
{
    static const struct str prefix = STR("x-metadata-");
    const struct http_head *h = req_head(r);
    struct json *j = json_object();
    for (int i = 0; i < h->nfields; i++) {
        struct str name = h->fields[i].name;
        char key[256] = E2B_METADATA;
        size_t at = sizeof(E2B_METADATA) - 1;
        if (name.n <= prefix.n || strncasecmp(name.p, prefix.p, prefix.n) != 0 ||
            name.n - prefix.n + at >= sizeof(key))
            continue;
        for (size_t k = prefix.n; k < name.n; k++) {
            char c = name.p[k];
            key[at++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        json_put_str(j, key, h->fields[i].value);
    }
    return j;
}

static bool is_type(struct str given, const char *type)
{
    struct str name = str_trim(str_cut(&given, ';'));
    return name.n == strlen(type) && strncasecmp(name.p, type, name.n) == 0;
}

void e2b_post_files(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    struct str type = req_header(r, "Content-Type");
    struct str coding = req_header(r, "Content-Encoding");
    bool form = is_type(type, "multipart/form-data"), gzip = str_eq(coding, STR("gzip"));
    struct e2b_upload *u = xnew(struct e2b_upload);
    *u = (struct e2b_upload){.f = f, .req = r, .gzip = gzip};
    list_init(&u->parts);
    buf_init(&u->path, 8192);
    engine_touch(f->en);
    if (e2b_files_query(f, r, &u->user, &u->path, &e) < 0) {
        upload_free(u);
        return;
    }
    if (form)
        u->form = multipart_new(type, &form_events, u, &e);
    else if (!is_type(type, "application/octet-stream"))
        err_set(&e, ERR_INVALID,
                "the body must be multipart/form-data or application/octet-stream");
    else if (u->path.n == 0)
        err_set(&e, ERR_INVALID, "the query has no path");
    if (!e.code && coding.n > 0 && !str_eq(coding, STR("identity")) && (!gzip || form))
        err_set(
            &e, ERR_UNSUPPORTED,
            "Content-Encoding %.*s is not accepted here: send the bytes as they are%s",
            (int)(coding.n < 40 ? coding.n : 40), coding.p,
            form ? "" : ", or packed by gzip");
    u->attributes = attributes_of(r);
    if (!e.code && !form)
        begin_part(u, buf_str(&u->path), &e);
    if (e.code) {
        files_log_end(&u->log, STR(""), &e);
        upload_free(u);
        e2b_refuse_file(r, &e);
        return;
    }
    req_own(r, u, on_gone);
    req_on_body(r, on_body, on_body_end);
}
