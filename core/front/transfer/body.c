/* SPDX-License-Identifier: MIT */
/*
 * Bodies that become files. A whole body goes to its helper unchanged. A form is cut into
 * frames (file/fileact.h, receive_all): frames that the helper has no room for wait in
 * `out`, and no more of the body is read until it is empty.
 */
#include "front/transfer/own.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum {
    PIECE = 16 << 10,  /* bytes of the body, for the form's reader */
    OUT_MAX = 1 << 20, /* frames of one piece: of one byte each, at worst, and text
                        * parts */
    FRAME_HEAD = 8
};

struct transfer_body {
    struct transfer_call *t; /* which owns this */
    const struct transfer_form *form;
    struct multipart *parts; /* owned */
    struct sandbox_place place;
    struct transfer_ask ask; /* of the helper */
    char *root;              /* owned; NULL: none */
    struct buf out, text;
    enum transfer_part part;
    bool whole;   /* the whole body has arrived */
    bool stopped; /* the helper's input has been ended */
    struct err e; /* why the form is refused; its rest is skipped */
};

void body_free(struct transfer_body *b)
{
    if (!b)
        return;
    multipart_free(b->parts);
    free(b->root);
    buf_release(&b->out);
    buf_release(&b->text);
    free(b);
}

/* ---- whole bodies ---- */

static size_t on_bytes(struct req *r, struct str bytes, void *owner)
{
    struct transfer_call *t = owner;
    struct str rest = bytes;
    (void)r;
    while (t->f && rest.n > 0) {
        size_t room = fileact_room(t->f);
        struct str part = str_sub(rest, 0, room ? room : rest.n);
        if (fileact_write(t->f, part) < 0)
            return bytes.n - rest.n;
        rest = str_sub(rest, part.n, rest.n);
    }
    return bytes.n;
}

static void on_bytes_end(struct req *r, void *owner)
{
    struct transfer_call *t = owner;
    (void)r;
    if (t->f)
        fileact_end_input(t->f);
}

void transfer_take(struct req *r, const struct transfer_ask *q)
{
    struct err e = ERR_INIT;
    struct transfer_call *t = transfer_new(r, q);
    if (transfer_start(t, q, q->args, true, false, &e) < 0)
        transfer_fail(t, &e);
    else
        req_on_body(r, on_bytes, on_bytes_end);
}

/* ---- frames ---- */

/* Passes on as much as the helper has room for. */
static void flush(struct transfer_body *b)
{
    struct transfer_call *t = b->t;
    while (t->f && b->out.n > 0) {
        size_t room = fileact_room(t->f), n = b->out.n < room ? b->out.n : room;
        if (n == 0) { /* the helper refused nothing, so it would not report room */
            fileact_want_room(t->f);
            return;
        }
        if (fileact_write(t->f, str_n(b->out.p, n)) < 0)
            return;
        buf_consume(&b->out, n);
    }
    if (!t->f)
        buf_reset(&b->out);
}

static void put_frame(struct transfer_body *b, struct str bytes)
{
    buf_addf(&b->out, "%08x", (unsigned)bytes.n);
    buf_adds(&b->out, bytes);
}

/* The form has ended or is refused: the helper ends after the frames that it has. */
static void stop(struct transfer_body *b)
{
    if (b->t->f && !b->stopped && b->out.n == 0) {
        b->stopped = true;
        fileact_end_input(b->t->f);
    }
}

/* Answers when both the body and the helper have ended. */
static void answer(struct transfer_body *b)
{
    struct transfer_call *t = b->t;
    if (!b->whole || t->f || !t->req)
        return;
    if (b->e.code)
        transfer_fail(t, &b->e);
    else
        transfer_done(t, b->text.n ? buf_str(&b->text) : STR("{\"files\":[]}"));
}

static void refuse(struct transfer_body *b, const struct err *e)
{
    if (!b->e.code)
        b->e = *e;
    buf_reset(&b->out);
    stop(b);
}

/* ---- parts ---- */

static int on_file(struct transfer_body *b, struct json *args, struct err *e)
{
    struct buf text = BUF_INIT(TRANSFER_TEXT_MAX);
    int rc = 0;
    if (!b->t->f && transfer_start(b->t, &b->ask, args, true, false, e) < 0)
        rc = -1;
    if (rc == 0 && json_print(&text, args) < 0)
        rc = err_set(e, ERR_LIMIT, "the description of the file is longer than %d bytes",
                     TRANSFER_TEXT_MAX);
    if (rc == 0)
        put_frame(b, buf_str(&text));
    buf_release(&text);
    return rc;
}

static int on_part(void *arg, const struct multipart_part *p)
{
    struct transfer_body *b = arg;
    struct json *args = NULL;
    int kind = b->form->part(b->t->arg, p, &args, &b->e);
    b->part = kind < 0 ? PART_SKIP : (enum transfer_part)kind;
    buf_reset(&b->text);
    if (kind == PART_FILE)
        kind = on_file(b, args, &b->e);
    json_free(args);
    return kind < 0 ? -1 : 0;
}

static int on_data(void *arg, struct str bytes)
{
    struct transfer_body *b = arg;
    if (b->part == PART_FILE && bytes.n > 0)
        put_frame(b, bytes);
    if (b->part == PART_TEXT &&
        (b->text.n + bytes.n > TRANSFER_TEXT_MAX || buf_adds(&b->text, bytes) < 0))
        return err_set(&b->e, ERR_LIMIT, "a part of the form is longer than %d bytes",
                       TRANSFER_TEXT_MAX);
    return 0;
}

static int on_part_end(void *arg)
{
    struct transfer_body *b = arg;
    if (b->part == PART_FILE)
        put_frame(b, STR(""));
    if (b->part == PART_TEXT)
        return b->form->text(b->t->arg, buf_str(&b->text), &b->e);
    return 0;
}

static size_t on_form(struct req *r, struct str bytes, void *owner)
{
    struct transfer_call *t = owner;
    struct transfer_body *b = t->body;
    struct str rest = bytes;
    (void)r;
    while (!b->e.code && rest.n > 0) {
        flush(b);
        if (b->out.n > 0)
            return bytes.n - rest.n; /* continues in body_room */
        struct str piece = str_sub(rest, 0, PIECE);
        struct err e = ERR_INIT;
        if (multipart_feed(b->parts, piece, &e) < 0)
            refuse(b, &e);
        rest = str_sub(rest, piece.n, rest.n);
    }
    if (!b->e.code)
        flush(b);
    return bytes.n;
}

static void end_form(struct transfer_body *b)
{
    struct err e = ERR_INIT;
    if (!b->e.code && (multipart_finish(b->parts, &e) < 0 ||
                       (b->form->end && b->form->end(b->t->arg, &e) < 0)))
        refuse(b, &e);
    buf_reset(&b->text);
    b->whole = true;
    flush(b);
    stop(b);
    answer(b);
}

static void on_form_end(struct req *r, void *owner)
{
    struct transfer_call *t = owner;
    (void)r;
    end_form(t->body);
}

void body_room(struct transfer_call *t)
{
    struct transfer_body *b = t->body;
    if (!b) {
        if (t->req)
            req_body_more(t->req);
        return;
    }
    flush(b);
    if (b->whole || b->e.code || !t->req)
        stop(b);
    else if (b->out.n == 0)
        req_body_more(t->req);
}

bool body_ended(struct transfer_call *t, struct str result, const struct err *e)
{
    struct transfer_body *b = t->body;
    if (!b)
        return false;
    if (!t->req) {
        transfer_bury(t);
        return true;
    }
    buf_reset(&b->out);
    if (e->code) {
        if (!b->e.code)
            b->e = *e;
    } else if (b->whole) {
        buf_reset(&b->text);
        buf_adds(&b->text, str_trim(result));
    }
    if (b->whole)
        answer(b);
    else
        req_body_more(t->req); /* the rest is skipped */
    return true;
}

bool body_gone(struct transfer_call *t)
{
    struct transfer_body *b = t->body;
    if (!b)
        return false;
    buf_reset(&b->out);
    stop(b); /* the helper removes incomplete files */
    if (!t->f)
        transfer_bury(t);
    return true;
}

bool body_cancel(struct transfer_call *t, const struct err *e)
{
    if (t->body && !t->body->stopped)
        refuse(t->body, e);
    return t->body != NULL;
}

void transfer_form(struct req *r, const struct transfer_ask *q,
                   const struct transfer_form *form)
{
    static const struct multipart_events events = {on_part, on_data, on_part_end};
    struct transfer_call *t = transfer_new(r, q);
    struct transfer_body *b = xnew(struct transfer_body);
    struct err e = ERR_INIT;
    *b = (struct transfer_body){.t = t,
                                .form = form,
                                .ask = *q,
                                .place = *q->place,
                                .root = q->root ? xstrdup(q->root) : NULL,
                                .out = BUF_INIT(OUT_MAX),
                                .text = BUF_INIT(FILEACT_TEXT_MAX + (64 << 10))};
    b->ask.place = &b->place;
    b->ask.root = b->root;
    b->ask.verb = "receive_all";
    b->ask.args = NULL;
    t->body = b;
    b->parts = multipart_new(req_header(r, "Content-Type"), &events, b, &e);
    if (!b->parts)
        transfer_fail(t, &e);
    else
        req_on_body(r, on_form, on_form_end);
}
