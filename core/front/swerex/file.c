/* SPDX-License-Identifier: MIT */
/*
 * POST /read_file: a text file as Python's open() reads it, with each line end as \n. A
 * helper reads, decodes and quotes it, so a large file, a slow disk or a dead mount
 * delays no other request. The action `send` is in the log; the bytes are not.
 */
#include "front/swerex/own.h"

#include "action/outside.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "file/files.h"
#include "front/model/model.h"
#include "os/file.h"
#include "text/webcharset.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, CLASS_MAX = 60, READ_MEMORY = 1 << 30, READ_NICE = 5 };

static const struct model_field read_fields[] = {
    {.name = "path", .type = MODEL_STRING, .required = true},
    {.name = "encoding", .type = MODEL_STRING, .nullable = true},
    {.name = "errors", .type = MODEL_STRING, .nullable = true},
    {.name = NULL}};
static const struct model read_model = {.fields = read_fields};

/* ---- decoding ---- */

enum charset_kind { IS_UTF8, IS_ASCII, IS_LATIN1, IS_OTHER };

/* Finds an encoding by Python's names: case does not matter, and - and _ are the same. */
static enum charset_kind kind_of(struct str name)
{
    static const struct {
        const char *name;
        enum charset_kind kind;
    } known[] = {{"utf-8", IS_UTF8},     {"utf8", IS_UTF8},
                 {"u8", IS_UTF8},        {"ascii", IS_ASCII},
                 {"us-ascii", IS_ASCII}, {"latin-1", IS_LATIN1},
                 {"latin1", IS_LATIN1},  {"iso-8859-1", IS_LATIN1},
                 {"l1", IS_LATIN1},      {"iso8859-1", IS_LATIN1}};
    char plain[40] = "";
    for (size_t i = 0; i < name.n && i + 1 < sizeof(plain); i++)
        plain[i] = name.p[i] == '_' ? '-' : name.p[i];
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcasecmp(plain, known[i].name) == 0)
            return known[i].kind;
    }
    return IS_OTHER;
}

struct decode {
    const struct job_child *c;
    struct err *e;
    enum charset_kind kind;
    struct str errors; /* "strict", … */
    struct buf *out;
};

/* Makes the helper end with an exception of this class, with a message in *e. Returns
 * -1. */
__attribute__((format(printf, 3, 4))) static int
raise_as(const struct decode *d, const char *class_path, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    d->e->code = ERR_INVALID;
    vsnprintf(d->e->text, sizeof(d->e->text), format, ap);
    va_end(ap);
    job_note(d->c, str_of(class_path));
    return -1;
}

/* Handles the invalid byte c at offset `at`. Returns -1 if that raises an exception. */
static int bad_byte(const struct decode *d, unsigned char c, size_t at, const char *why)
{
    if (str_eq(d->errors, STR("ignore")))
        return 0;
    if (str_eq(d->errors, STR("replace")))
        return buf_addz(d->out, "\xEF\xBF\xBD");
    if (str_eq(d->errors, STR("backslashreplace")))
        return buf_addf(d->out, "\\x%02x", c);
    if (str_eq(d->errors, STR("strict")))
        return raise_as(d, "builtins.UnicodeDecodeError",
                        "'%s' codec can't decode byte 0x%02x in position %zu: %s",
                        d->kind == IS_UTF8 ? "utf-8" : "ascii", c, at, why);
    return raise_as(d, "builtins.LookupError", "unknown error handler name '%.*s'",
                    (int)utf8_cut(d->errors, 60), d->errors.p);
}

static int decode_utf8(const struct decode *d, struct str s)
{
    for (size_t i = 0; i < s.n;) {
        size_t plain = i;
        uint32_t c;
        int n = 1;
        while (i < s.n &&
               (n = (unsigned char)s.p[i] < 0x80 ? 1
                                                 : utf8_decode(str_sub(s, i, 4), &c)) > 0)
            i += (size_t)n;
        buf_adds(d->out, str_sub(s, plain, i - plain));
        if (i >= s.n)
            break;
        unsigned char b = (unsigned char)s.p[i];
        const char *why = n == 0                  ? "unexpected end of data"
                          : b >= 0xc2 && b < 0xf5 ? "invalid continuation byte"
                                                  : "invalid start byte";
        size_t bad = utf8_bad(str_sub(s, i, s.n));
        bool each = str_eq(d->errors, STR("backslashreplace"));
        for (size_t k = 0; k < (each ? bad : 1); k++) {
            if (bad_byte(d, (unsigned char)s.p[i + k], i + k, why) < 0)
                return -1;
        }
        i += bad;
    }
    return 0;
}

static int decode_bytes(const struct decode *d, struct str s)
{
    char two[4];
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < 0x80)
            buf_addc(d->out, (char)c);
        else if (d->kind == IS_LATIN1)
            buf_add(d->out, two, (size_t)utf8_encode(c, two));
        else if (bad_byte(d, c, i, "ordinal not in range(128)") < 0)
            return -1;
    }
    return 0;
}

static int decode_other(const struct decode *d, struct str s, struct str name)
{
    struct buf header = BUF_INIT(200);
    char unknown[40];
    buf_addf(&header, "text/plain; charset=%.*s", (int)(name.n < 60 ? name.n : 60),
             name.p);
    int rc = webcharset_read(s, buf_str(&header), false, d->out, unknown);
    buf_release(&header);
    if (rc != 1)
        return rc;
    return raise_as(d, "builtins.LookupError", "unknown encoding: %.*s",
                    (int)utf8_cut(name, 60), name.p);
}

/* ---- the helper ---- */

struct read_job {
    const char *path;
    struct str encoding, errors;
};

static int decode(const struct read_job *q, const struct job_child *c, struct str bytes,
                  struct buf *out, struct err *e)
{
    struct decode d = {c, e, kind_of(q->encoding), q->errors, out};
    if (d.kind == IS_UTF8)
        return decode_utf8(&d, bytes);
    if (d.kind == IS_OTHER)
        return decode_other(&d, bytes, q->encoding);
    return decode_bytes(&d, bytes);
}

/* Runs in the helper. The answer goes to c->out once the whole file is known to be
 * valid. */
static int read_and_quote(void *arg, const struct job_child *c, struct err *e)
{
    const struct read_job *q = arg;
    struct buf bytes = BUF_INIT(FILE_MAX), text = BUF_INIT(4 * (size_t)FILE_MAX),
               out = BUF_INIT(7 * (size_t)FILE_MAX);
    if (file_read(q->path, FILE_MAX, &bytes, e) < 0 ||
        decode(q, c, buf_str(&bytes), &text, e) < 0)
        return -1;
    buf_release(&bytes);
    files_newlines(&text);
    buf_addz(&out, "{\"content\":\"");
    swerex_put_json(&out, buf_str(&text));
    buf_addz(&out, "\"}");
    if (buf_full(&text) || buf_full(&out))
        return err_set(e, ERR_LIMIT, "cannot read %.200s: its text is too long", q->path);
    return job_put(c, buf_str(&out)) < 0 ? err_sys(e, errno, "cannot hand over the text")
                                         : 0;
}

/* ---- the request ---- */

struct swerex_read {
    struct list node; /* in swerex.reads */
    struct swerex *w;
    struct req *req;             /* NULL: gone */
    struct job *job;             /* borrowed; NULL: it is over */
    struct buf path;             /* owned: as in the request */
    struct buf text;             /* owned: the answer, if it is short enough to be kept */
    char class_path[CLASS_MAX];  /* of the exception; "": by the error */
    char action[ACTION_KEY + 1]; /* its key; "": not in the log */
    uint64_t size;               /* bytes of the answer */
    bool begun;
};

static void read_release(void *arg)
{
    struct swerex_read *x = arg;
    buf_release(&x->path);
    buf_release(&x->text);
    free(x);
}

/* Ends the action; e NULL: it was done. */
static void close_action(struct swerex_read *x, const struct err *e)
{
    struct action *a = x->action[0] ? outside_find(x->w->actions, x->action) : NULL;
    if (!a)
        return;
    outside_on_cancel(a, NULL, x);
    if (e) {
        outside_fail(a, e);
    } else {
        struct json *extras = json_object();
        json_put_int(extras, "bytes", (int64_t)x->size);
        outside_end(a, STR(""), extras);
    }
}

static void read_free(struct swerex_read *x)
{
    if (x->job)
        job_cancel(x->job);
    list_del(&x->node);
    loop_bury(x->w->en->loop, x, read_release);
}

static void on_gone(struct req *r, void *owner)
{
    struct swerex_read *x = owner;
    struct err e;
    (void)r;
    err_set(&e, ERR_CANCELLED, "the client closed its connection");
    close_action(x, &e);
    read_free(x);
}

/* POST …/cancel of the action. */
static void on_cancel(void *owner)
{
    struct swerex_read *x = owner;
    struct err e;
    err_set(&e, ERR_CANCELLED, "the action was cancelled");
    close_action(x, &e);
    if (x->begun)
        req_abort(x->req);
    else
        swerex_raise_err(x->req, &e);
    read_free(x);
}

static void on_class(struct job *j, struct str note)
{
    struct swerex_read *x = job_owner(j);
    snprintf(x->class_path, sizeof(x->class_path), "%.*s", STR_ARG(note));
}

/* Keeps a short answer for a repeated request; sends a longer one as it arrives. */
static void on_data(struct job *j, struct buf *in)
{
    struct swerex_read *x = job_owner(j);
    if (!x->begun && buf_room(&x->text) >= in->n) {
        x->size += in->n;
        buf_adds(&x->text, buf_str(in));
        buf_consume(in, in->n);
        return;
    }
    if (!x->begun) {
        req_begin(x->req, 200, "application/json", -1);
        x->begun = true;
    }
    buf_consume(&x->text, req_send(x->req, buf_str(&x->text)));
    if (x->text.n == 0) {
        size_t n = req_send(x->req, buf_str(in));
        x->size += n;
        buf_consume(in, n);
    }
    if (in->n > 0)
        job_pause(j);
}

static void on_room(struct req *r, void *owner)
{
    struct swerex_read *x = owner;
    (void)r;
    if (x->job)
        job_resume(x->job);
}

static void on_done(struct job *j, const struct err *e)
{
    struct swerex_read *x = job_owner(j);
    x->job = NULL;
    close_action(x, e->code ? e : NULL);
    if (x->begun && e->code)
        req_abort(x->req);
    else if (x->begun)
        req_end(x->req);
    else if (e->code && x->class_path[0])
        swerex_raise(x->req, x->class_path, str_of(e->text), NULL);
    else if (e->code)
        swerex_raise_file(x->req, e, buf_str(&x->path));
    else
        swerex_answer(x->req, 200, &x->text);
    read_free(x);
}

/* Does the action with this key belong to another request of this worker? */
static bool is_read(const struct swerex *w, const char *key)
{
    for (const struct list *it = w->reads.next; it != &w->reads; it = it->next) {
        if (strcmp(list_entry(it, struct swerex_read, node)->action, key) == 0)
            return true;
    }
    return false;
}

/*
 * Opens the action. A repeated request takes over the action of the previous worker; if
 * that is over, or belongs to another request, it reads again without an action.
 */
static void open_action(struct swerex_read *x, struct str path)
{
    char id[SWEREX_ID_MAX + 1], name[SWEREX_ID_MAX + 8];
    struct json *args = json_object();
    struct action *a;
    uint64_t end;
    swerex_id(x->req, id);
    json_put_str(args, "path", path);
    snprintf(name, sizeof(name), "swerex:%s", id);
    struct outside_order o = {.kind = "send",
                              .id = id[0] ? str_of(name) : STR(""),
                              .source = ACTION_SOURCE_SWEREX,
                              .uid = geteuid(),
                              .args = args};
    outside_open(x->w->actions, &o, &a, &end);
    if (!a || is_read(x->w, a->key))
        return;
    snprintf(x->action, sizeof(x->action), "%s", a->key);
    outside_on_cancel(a, on_cancel, x);
}

static int start(struct swerex_read *x, const struct json *j, struct err *e)
{
    static const struct job_events events = {
        .on_data = on_data, .on_note = on_class, .on_done = on_done};
    struct sandbox_place place;
    const char *path = buf_z(&x->path);
    struct read_job q = {.path = path,
                         .encoding = json_str(j, "encoding", "utf-8"),
                         .errors = json_str(j, "errors", "strict")};
    if (sandbox_place(x->w->en->sandbox, STR("main"), &place, e) < 0)
        return -1;
    struct job_spec s = {.what = "reading a file",
                         .fn = read_and_quote,
                         .arg = &q,
                         .memory = READ_MEMORY,
                         .nice = READ_NICE,
                         .as_user = place.as_user,
                         .uid = place.uid,
                         .gid = place.gid,
                         .groups = place.groups,
                         .groups_n = place.groups_n,
                         .cwd = path[0] == '/' ? NULL : place.cwd,
                         .ev = &events,
                         .owner = x};
    x->job = job_start(x->w->en->loop, &s, e);
    return x->job ? 0 : -1;
}

void swerex_read_file(struct req *r)
{
    struct json *j = swerex_body(r, &read_model);
    struct str path = json_str(j, "path", "");
    struct err e = ERR_INIT;
    if (!j)
        return;
    struct swerex_read *x = xnew(struct swerex_read);
    x->w = req_arg(r);
    x->req = r;
    list_add_tail(&x->w->reads, &x->node);
    buf_init(&x->path, SWEREX_BODY_MAX);
    buf_init(&x->text, SWEREX_KEPT_MAX);
    buf_adds(&x->path, path);
    req_own(r, x, on_gone);
    req_on_room(r, on_room);
    open_action(x, path);
    if (start(x, j, &e) < 0) {
        close_action(x, &e);
        swerex_raise_err(r, &e);
        read_free(x);
    }
    json_free(j);
}
