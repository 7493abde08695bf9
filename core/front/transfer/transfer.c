/* SPDX-License-Identifier: MIT */
#include "front/transfer/own.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "http/precondition.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- its life ---- */

static void transfer_free(void *p)
{
    struct transfer_call *t = p;
    if (t->free)
        t->free(t->arg);
    body_free(t->body);
    free(t);
}

void transfer_bury(struct transfer_call *t)
{
    struct err e;
    err_set(&e, ERR_CANCELLED, "the client closed the connection before the end");
    files_log_end(&t->log, STR(""), &e);
    loop_bury(t->loop, t, transfer_free);
}

void transfer_fail(struct transfer_call *t, const struct err *e)
{
    struct req *r = t->req;
    ASSERT(r); /* one answer for each request */
    t->req = NULL;
    files_log_end(&t->log, STR(""), e);
    t->words->fail(r, t->arg, e);
    transfer_bury(t);
}

void transfer_done(struct transfer_call *t, struct str result)
{
    struct req *r = t->req;
    ASSERT(r); /* one answer for each request */
    t->req = NULL;
    t->words->done(r, t->arg, result);
    transfer_bury(t);
}

static void on_gone(struct req *r, void *owner)
{
    struct transfer_call *t = owner;
    (void)r;
    t->req = NULL;
    if (body_gone(t))
        return;
    if (t->f)
        fileact_cancel(t->f);
    transfer_bury(t);
}

struct transfer_call *transfer_new(struct req *r, const struct transfer_ask *q)
{
    struct transfer_call *t = xnew(struct transfer_call);
    *t = (struct transfer_call){.loop = q->en->loop,
                                .req = r,
                                .words = q->words,
                                .type = q->type,
                                .arg = q->arg,
                                .free = q->free};
    req_own(r, t, on_gone);
    engine_touch(q->en);
    return t;
}

/* ---- the helper ---- */

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct transfer_call *t = arg;
    ASSERT(t->f); /* once */
    t->f = NULL;
    files_log_end(&t->log, str_trim(result), e);
    if (t->over || body_ended(t, result, e)) {
        if (t->over)
            transfer_bury(t);
    } else if (t->begun) {
        if (e->code)
            req_abort(t->req);
        else
            req_end(t->req);
        transfer_bury(t);
    } else if (e->code) {
        transfer_fail(t, e);
    } else {
        transfer_done(t, str_trim(result));
    }
}

/* Answers with something other than the file; the helper's bytes are dropped. */
static void answer_instead(struct transfer_call *t, const struct err *e, uint64_t size)
{
    struct req *r = t->req;
    t->req = NULL;
    t->over = true;
    if (e || !t->words->unsatisfied)
        t->words->fail(r, t->arg, e);
    else
        t->words->unsatisfied(r, t->arg, size);
}

/* The client has this file already (RFC 9110 13.1). */
static void say_unchanged(struct transfer_call *t, const struct json *about)
{
    struct req *r = t->req;
    if (t->words->head)
        t->words->head(r, t->arg, about);
    t->req = NULL;
    t->over = true;
    req_answer(r, 304, NULL, STR(""));
}

static void begin_file(struct transfer_call *t, const struct json *about, int64_t size)
{
    char text[96], etag[80];
    int64_t from = json_int(about, "from", 0), n = json_int(about, "length", 0);
    struct err e;
    bool part = from > 0 || n < size, head = str_eq(req_method(t->req), STR("HEAD"));
    snprintf(etag, sizeof(etag), "\"%.60s\"", json_str(about, "etag", "").p);
    if (http_precondition(req_head(t->req), etag, json_int(about, "mtime", 0)) == 304) {
        req_header_add(t->req, "ETag", etag);
        say_unchanged(t, about);
        return;
    }
    if (from > 0 && from >= size) {
        snprintf(text, sizeof(text), "bytes */%lld", (long long)size);
        req_header_add(t->req, "Content-Range", text);
        err_set(&e, ERR_INVALID, "the file has no such range: it has %lld bytes",
                (long long)size);
        answer_instead(t, t->words->unsatisfied ? NULL : &e, (uint64_t)size);
        return;
    }
    if (part) {
        snprintf(text, sizeof(text), "bytes %lld-%lld/%lld", (long long)from,
                 (long long)(from + n) - 1, (long long)size);
        req_header_add(t->req, "Content-Range", text);
    }
    req_header_add(t->req, "Accept-Ranges", "bytes");
    req_header_add(t->req, "ETag", etag);
    if (t->words->head)
        t->words->head(t->req, t->arg, about);
    t->begun = true;
    req_begin(t->req, part ? 206 : 200, t->type, n);
    if (head) {
        req_end(t->req);
        t->req = NULL;
        t->over = true;
    }
}

/* Begins the answer from the line about the file. Returns the length of the line. */
static size_t begin_send(struct transfer_call *t, struct str bytes)
{
    struct str rest = bytes, line = str_cut(&rest, '\n');
    struct json *about = line.n < bytes.n ? json_parse(line, NULL) : NULL;
    int64_t size = json_int(about, "size", -1);
    struct err e;
    if (size < 0) {
        err_set(&e, ERR_IO, "the helper did not report what it sends");
        answer_instead(t, &e, 0);
    } else {
        begin_file(t, about, size);
    }
    json_free(about);
    return size < 0 ? bytes.n : line.n + 1;
}

static size_t on_data(void *arg, struct str bytes)
{
    struct transfer_call *t = arg;
    size_t head = 0;
    if (!t->begun && !t->over) {
        if (t->sends)
            head = begin_send(t, bytes);
        else
            req_begin(t->req, 200, t->type, -1);
        t->begun = true;
    }
    if (t->over)
        return bytes.n;
    return head + req_send(t->req, str_sub(bytes, head, bytes.n));
}

static void on_room(struct req *r, void *owner)
{
    struct transfer_call *t = owner;
    (void)r;
    if (t->f)
        fileact_resume(t->f);
}

static void on_input_room(void *arg) { body_room(arg); }

static void on_cancel(void *owner)
{
    struct transfer_call *t = owner;
    struct err e;
    err_set(&e, ERR_CANCELLED, "the action was cancelled");
    if (body_cancel(t, &e))
        return;
    if (t->f)
        fileact_cancel(t->f);
    t->f = NULL;
    files_log_end(&t->log, STR(""), &e);
    if (t->req && !t->begun) {
        transfer_fail(t, &e);
        return;
    }
    if (t->req)
        req_abort(t->req);
    transfer_bury(t);
}

int transfer_start(struct transfer_call *t, const struct transfer_ask *q,
                   const struct json *args, bool input, bool output, struct err *e)
{
    static const struct fileact_events events = {
        .data = on_data, .room = on_input_room, .done = on_done};
    char token[TRANSFER_TOKEN + 1];
    struct files_ask ask = {.verb = q->verb,
                            .args = q->args,
                            .place = q->place,
                            .root = q->root,
                            .token = token,
                            .input = input,
                            .output = output};
    random_hex(token, TRANSFER_TOKEN);
    if (fileact_check(q->verb, q->args, input, output, e) < 0)
        return -1;
    if (!sandbox_ready(q->en->sandbox))
        return err_set(e, ERR_BUSY,
                       "the sandbox is not ready yet; GET /ready reports its progress");
    files_log_begin(&t->log, q->en->actions, q->source, STR(""), q->verb, args, on_cancel,
                    t);
    return files_start(q->en->actions, &ask, &events, t, &t->f, e);
}

/* ---- reading about files, and sending them ---- */

static void start(struct req *r, const struct transfer_ask *q, bool output)
{
    struct err e = ERR_INIT;
    struct transfer_call *t = transfer_new(r, q);
    t->sends = output && strcmp(q->verb, "send") == 0;
    if (output)
        req_on_room(r, on_room);
    if (transfer_start(t, q, q->args, false, output, &e) < 0)
        transfer_fail(t, &e);
}

void transfer_look(struct req *r, const struct transfer_ask *q) { start(r, q, false); }
void transfer_send(struct req *r, const struct transfer_ask *q) { start(r, q, true); }

void transfer_path(struct json *args, const char *name, struct str path)
{
    char base64[64];
    json_put_str(args, name, path);
    if (utf8_valid(path))
        return;
    struct buf b = BUF_INIT(2 * path.n + 8);
    snprintf(base64, sizeof(base64), "%s_base64", name);
    enc_base64(&b, path);
    json_put_str(args, base64, buf_str(&b));
    buf_release(&b);
}

/* Reads bytes=FROM-, bytes=FROM-TO or bytes=-SUFFIX. Returns -1 if s is none of these. */
static int read_range(struct str s, struct json *args)
{
    struct str to = s, from = str_cut(&to, '-');
    uint64_t a = 0, b = 0;
    if (from.n == s.n) /* no dash */
        return -1;
    from = str_trim(from);
    to = str_trim(to);
    if ((from.n > 0 && str_to_u64(from, &a) < 0) ||
        (to.n > 0 && str_to_u64(to, &b) < 0) || (from.n == 0 && to.n == 0) ||
        a >= (uint64_t)1 << 53 || (from.n && to.n && b < a))
        return -1;
    b = b < (uint64_t)1 << 52 ? b : (uint64_t)1 << 52;
    if (from.n == 0 && b > 0)
        json_put_int(args, "suffix", (int64_t)b);
    else if (from.n == 0)
        json_put_int(args, "offset", (int64_t)1 << 52); /* no bytes: not satisfiable */
    else
        json_put_int(args, "offset", (int64_t)a);
    if (from.n > 0 && to.n > 0)
        json_put_int(args, "length", (int64_t)(b >= a ? b - a + 1 : 1));
    return 1;
}

int transfer_range(const struct req *r, struct json *args)
{
    struct str range = req_header(r, "Range"), same = req_header(r, "If-Range");
    if (!range.p)
        return 0;
    if (!str_starts(range, STR("bytes=")))
        return -1;
    struct str rest = str_sub(range, 6, range.n), first = str_trim(str_cut(&rest, ','));
    if (read_range(first, args) < 0)
        return -1;
    if (same.n >= 2 && same.p[0] == '"')
        json_put_str(args, "etag", str_sub(same, 1, same.n - 2));
    else if (same.n > 0)
        json_put_z(args, "etag", "-"); /* a date: the file may have changed */
    return 1;
}
