/* SPDX-License-Identifier: MIT */
/*
 * GET /files: a file, or the requested range of it. A file of the server's own user is
 * sent directly to the socket. For another user, a helper with that user's rights reads
 * the file.
 */
#include "front/e2b/own.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/mime.h"
#include "base/xalloc.h"
#include "front/transfer/transfer.h"
#include "http/precondition.h"
#include "os/file.h"
#include "os/within.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct e2b_download {
    struct e2b *f;
    struct req *req;
    struct fileact *helper; /* NULL: it has ended */
    struct buf path;        /* owned */
    struct json *about;     /* owned: the helper's line about the file; NULL: not yet */
    bool ranged;            /* the request has a range */
    bool begun;             /* the head was sent */
};

/* ---- the head ---- */

/* Adds the file's name as Go's mime.FormatMediaType does: in quotes if it is not a token,
 * percent-encoded if it is not ASCII (RFC 8187). */
static void put_disposition(struct req *r, struct str name)
{
    static const char token[] = "!#$&+-.^_`|~";
    struct buf b = BUF_INIT(2048);
    bool plain = true, ascii = true;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                    (c >= 'a' && c <= 'z');
        plain = plain && (word || strchr(token, c));
        ascii = ascii && c >= ' ' && c < 0x7f;
    }
    buf_addz(&b, ascii ? "inline; filename=" : "inline; filename*=utf-8''");
    buf_addz(&b, ascii && !plain ? "\"" : "");
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (ascii)
            buf_addf(&b, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        else if (c < 0x7f &&
                 (strchr(token, c) || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                  (c >= 'a' && c <= 'z')) &&
                 c)
            buf_addc(&b, (char)c);
        else
            buf_addf(&b, "%%%02X", c);
    }
    buf_addz(&b, ascii && !plain ? "\"" : "");
    req_header_add(r, "Content-Disposition", buf_z(&b));
    req_header_add(r, "Vary", "Accept-Encoding");
    buf_release(&b);
}

static const char *type_of(struct str path, struct str head)
{
    const char *type = mime_of(path, head);
    return strcmp(type, "text/plain") == 0 ? "text/plain; charset=utf-8" : type;
}

/* ---- from the file itself ---- */

static void send_own(struct req *r, const char *path)
{
    struct stat st;
    char head[MIME_HEAD];
    struct err e = ERR_INIT;
    int fd = within_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        file_fail(&e, errno, "read", path);
    else
        file_check_kind(st.st_mode, "read", path, &e);
    if (e.code) {
        if (fd >= 0)
            close(fd);
        e2b_refuse_file(r, &e);
        return;
    }
    ssize_t n = pread(fd, head, sizeof(head), 0);
    put_disposition(r, e2b_base_name(str_of(path)));
    req_answer_file(r, fd, type_of(str_of(path), str_n(head, n > 0 ? (size_t)n : 0)));
}

/* ---- by a helper ---- */

static void download_free(void *p)
{
    struct e2b_download *d = p;
    buf_release(&d->path);
    json_free(d->about);
    free(d);
}

static void bury(struct e2b_download *d)
{
    if (d->helper)
        fileact_cancel(d->helper);
    d->helper = NULL;
    loop_bury(d->f->en->loop, d, download_free);
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    bury(owner);
}

static void on_room(struct req *r, void *owner)
{
    struct e2b_download *d = owner;
    (void)r;
    if (d->helper)
        fileact_resume(d->helper);
}

/* Answers 304, 412 or 416. Returns false, without an answer, if the file must be sent. */
static bool answer_without_it(struct e2b_download *d, const char *etag, time_t modified)
{
    char range[64];
    int64_t size = json_int(d->about, "size", 0), from = json_int(d->about, "from", 0);
    int status = http_precondition(req_head(d->req), etag, modified);
    if (!status && d->ranged && json_int(d->about, "length", 0) == 0 && from >= size) {
        snprintf(range, sizeof(range), "bytes */%lld", (long long)size);
        req_header_add(d->req, "Content-Range", range);
        status = 416;
    }
    if (status == 304)
        req_answer(d->req, 304, NULL, STR(""));
    else if (status)
        e2b_fail(d->req, status,
                 status == 416 ? "The file has no such range"
                               : "The file has changed: it does not match the request");
    return status != 0;
}

/* Begins the answer. head: the first bytes of the body. Returns false if it has none. */
static bool begin(struct e2b_download *d, struct str head)
{
    char text[96], etag[80], date[32];
    struct str path = buf_str(&d->path);
    int64_t from = json_int(d->about, "from", 0), n = json_int(d->about, "length", 0);
    time_t modified = (time_t)json_int(d->about, "mtime", 0);
    snprintf(etag, sizeof(etag), "\"%.60s\"", json_str(d->about, "etag", "").p);
    http_date(date, modified);
    bool part = d->ranged && http_if_range(req_head(d->req), etag, modified);
    put_disposition(d->req, e2b_base_name(path));
    req_header_add(d->req, "Accept-Ranges", "bytes");
    req_header_add(d->req, "ETag", etag);
    req_header_add(d->req, "Last-Modified", date);
    d->begun = true;
    if (answer_without_it(d, etag, modified))
        return false;
    snprintf(text, sizeof(text), "bytes %lld-%lld/%lld", (long long)from,
             (long long)(from + n - 1), (long long)json_int(d->about, "size", 0));
    if (part)
        req_header_add(d->req, "Content-Range", text);
    req_begin(d->req, part ? 206 : 200,
              type_of(path, from ? STR("\x01") : str_sub(head, 0, MIME_HEAD)), n);
    return true;
}

/* Takes the helper's output, whose first line is about the file. */
static size_t on_data(void *arg, struct str bytes)
{
    struct e2b_download *d = arg;
    size_t used = 0;
    if (!d->about) {
        long end = str_chr(bytes, '\n');
        if (end < 0)
            return 0;
        used = (size_t)end + 1;
        d->about = json_parse(str_sub(bytes, 0, used - 1), NULL);
    }
    struct str rest = str_sub(bytes, used, bytes.n);
    if (rest.n > 0 && !d->begun && !begin(d, rest)) {
        bury(d);
        return bytes.n;
    }
    return used + (rest.n ? req_send(d->req, rest) : 0);
}

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct e2b_download *d = arg;
    (void)result;
    d->helper = NULL;
    if (e->code && d->begun)
        req_abort(d->req);
    else if (e->code)
        e2b_refuse_file(d->req, e);
    else if (d->begun || begin(d, STR("")))
        req_end(d->req);
    bury(d);
}

static void send_as(struct e2b *f, struct req *r, const struct sandbox_place *user,
                    struct str path)
{
    static const struct fileact_events events = {.data = on_data, .done = on_done};
    struct err e = ERR_INIT;
    char token[33];
    struct e2b_download *d = xnew(struct e2b_download);
    struct json *args = json_object();
    *d = (struct e2b_download){.f = f, .req = r};
    buf_init(&d->path, 8192);
    buf_adds(&d->path, path);
    json_put_str(args, "path", path);
    bool head = str_eq(req_method(r), STR("HEAD"));
    json_put_bool(args, "head", head);
    d->ranged = !head && transfer_range(r, args) > 0;
    random_hex(token, 32);
    struct files_ask q = {
        .verb = "send", .args = args, .place = user, .token = token, .output = true};
    int rc = fileact_check("send", args, false, true, &e);
    if (rc == 0)
        rc = files_start(f->actions, &q, &events, d, &d->helper, &e);
    json_free(args);
    if (rc < 0) {
        download_free(d);
        e2b_refuse_file(r, &e);
        return;
    }
    req_own(r, d, on_gone);
    req_on_room(r, on_room);
}

void e2b_get_files(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    struct sandbox_place user;
    struct buf path = BUF_INIT(8192);
    engine_touch(f->en);
    if (e2b_files_query(f, r, &user, &path, &e) < 0)
        ;
    else if (path.n == 0)
        e2b_fail(r, 400, "the query has no path");
    else if (user.as_user)
        send_as(f, r, &user, buf_str(&path));
    else
        send_own(r, buf_z(&path));
    buf_release(&path);
}
