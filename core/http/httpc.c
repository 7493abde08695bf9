/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1, client side.
 *
 *   READY ─ httpc_send ─▶ HEAD ─▶ BODY ─▶ READY …
 *                          │ ▲ │
 *                          └─┘ └─▶ TUNNEL (101, or 2xx to CONNECT)
 *                          1xx
 *
 * CLOSED is the state after httpc_release, httpc_leave or a failure.
 */
#include "http/httpc.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

enum { CLOSED, READY, HEAD, BODY, TUNNEL };
enum { INTERIMS_MAX = 32 };
enum { CHUNK_FRAME = 40 }; /* bytes around a chunk, and of the last chunk */
enum { BY_LENGTH, BY_CHUNKS, BY_END }; /* how a body ends: RFC 9112 6.3 */

static void on_timer(struct timer *t);

/* ---- ends ---- */

static void shut(struct httpc *c)
{
    c->state = CLOSED;
    c->kept = false;
    timer_stop(&c->timer);
    task_cancel(&c->more);
    stream_close(&c->s);
}

/* Ends the request and the connection, for the reason in c->e. */
static void fail(struct httpc *c)
{
    ASSERT(c->state == HEAD || c->state == BODY); /* on_done is called once */
    shut(c);
    c->ev->on_done(c, &c->e);
}

static void malformed(struct httpc *c, const char *why)
{
    err_set(&c->e, ERR_INVALID, "cannot read the answer of %s: %s", c->host, why);
    fail(c);
}

/* The answer is whole. */
static void done(struct httpc *c, int next)
{
    ASSERT(c->state == HEAD || c->state == BODY || c->state == TUNNEL);
    c->state = (uint8_t)next;
    timer_stop(&c->timer);
    /* Unexpected bytes would be taken for the next answer: 9.2. */
    if (next == READY && (!c->kept || c->over || c->s.in.n > 0))
        shut(c);
    c->ev->on_done(c, NULL);
}

/* The peer has closed its side. */
static void ended(struct httpc *c)
{
    int errnum = c->s.errnum;
    if (c->state == BODY && c->body == BY_END && errnum == 0) {
        done(c, READY);
        return;
    }
    const struct err *tls = stream_error(&c->s);
    bool nothing = c->state == HEAD && c->s.in.n == 0 && c->text.n == 0;
    err_set(&c->e, nothing ? ERR_GONE : ERR_IO, "%s ended the connection %s%s%s", c->host,
            nothing ? "without an answer" : "within its answer", errnum ? ": " : "",
            tls      ? tls->text
            : errnum ? strerror(errnum)
                     : "");
    fail(c);
}

/* ---- the answer ---- */

static void begin_body(struct httpc *c)
{
    const struct http_head *h = &c->head;
    c->state = BODY;
    c->left = 0;
    c->chunks = (struct http_chunks){.state = CHUNK_SIZE};
    c->body = BY_LENGTH;
    if (c->bodiless || h->status == 204 || h->status == 304)
        return;
    if (h->chunked)
        c->body = BY_CHUNKS;
    else if (h->has_length)
        c->left = h->length;
    else
        c->body = BY_END;
    if (c->body == BY_END)
        c->kept = false;
}

/* Returns false if more bytes are needed, or nothing is left to do. */
static bool take_head(struct httpc *c)
{
    struct http_error e;
    size_t used;
    int got = http_parse_answer(buf_str(&c->s.in), &c->head, &used, &e);
    if (got < 0) {
        malformed(c, e.why);
        return false;
    }
    if (got == 0) {
        if (c->s.in.n == c->s.in.max)
            malformed(c, "its head is longer than the buffer");
        return false;
    }
    /* Parsed again in c->text, as the stream's bytes move. */
    buf_reset(&c->text);
    if (buf_add(&c->text, c->s.in.p, used) < 0 ||
        http_parse_answer(buf_str(&c->text), &c->head, &used, &e) <= 0) {
        malformed(c, "no memory for its head");
        return false;
    }
    buf_consume(&c->s.in, used);
    int status = c->head.status;
    if (status < 200 && status != 101) { /* RFC 9110 15.2: another one follows */
        if (++c->interims <= INTERIMS_MAX)
            return true;
        malformed(c, "it never comes, only interim ones");
        return false;
    }
    bool tunnel = status == 101 || (c->connect && status < 300);
    c->kept = c->head.keep_alive && !tunnel && c->to_put == 0;
    if (tunnel)
        c->state = TUNNEL;
    else
        begin_body(c);
    if (c->ev->on_head)
        c->ev->on_head(c);
    if (c->state != TUNNEL)
        return c->state == BODY;
    stream_pause(&c->s);
    done(c, TUNNEL);
    return false;
}

/* Gets the next piece of the body, *used bytes of in. Returns -1 if it is malformed. */
static int next_piece(struct httpc *c, struct str *piece, size_t *used)
{
    struct str in = buf_str(&c->s.in);
    if (c->body == BY_CHUNKS)
        return http_chunk(&c->chunks, in, piece, used);
    *used = c->body == BY_LENGTH && in.n > c->left ? (size_t)c->left : in.n;
    *piece = str_sub(in, 0, *used);
    return 0;
}

/* The part of a piece that the owner did not take is delivered again. */
static void put_back(struct httpc *c, size_t n)
{
    c->stalled = true;
    stream_pause(&c->s);
    if (c->body == BY_CHUNKS) {
        c->chunks.left += n;
        c->chunks.state = CHUNK_DATA;
    }
}

static bool take_body(struct httpc *c)
{
    struct str piece;
    size_t used;
    if (next_piece(c, &piece, &used) < 0) {
        malformed(c, "its chunked body is malformed");
        return false;
    }
    if (piece.n > 0 && c->ev->on_body) {
        size_t taken = c->ev->on_body(c, piece);
        if (c->state != BODY)
            return false;
        BUG_ON(taken > piece.n);
        if (taken < piece.n) {
            put_back(c, piece.n - taken);
            used = used - piece.n + taken;
        }
    }
    buf_consume(&c->s.in, used);
    if (c->body == BY_LENGTH)
        c->left -= used;
    bool whole = c->body == BY_LENGTH   ? c->left == 0
                 : c->body == BY_CHUNKS ? c->chunks.state == CHUNK_DONE
                                        : false;
    if (whole)
        done(c, READY);
    return !whole && used > 0 && !c->stalled;
}

static void take_all(struct httpc *c)
{
    bool more = true;
    while (more && !c->stalled && (c->state == HEAD || c->state == BODY))
        more = c->state == HEAD ? take_head(c) : take_body(c);
    if (c->state == READY && c->s.in.n > 0)
        shut(c);
    else if ((c->state == HEAD || c->state == BODY) && c->over && !c->stalled)
        ended(c);
}

/* ---- the stream's and the loop's calls ---- */

static void on_data(struct stream *s)
{
    struct httpc *c = container_of(s, struct httpc, s);
    c->heard_us = clock_us();
    take_all(c);
}

static void on_end(struct stream *s, int errnum)
{
    struct httpc *c = container_of(s, struct httpc, s);
    (void)errnum;
    c->over = true;
    if (c->state == READY)
        shut(c);
    else
        take_all(c);
}

static void on_room(struct stream *s)
{
    struct httpc *c = container_of(s, struct httpc, s);
    if (c->to_put > 0 && c->ev->on_room)
        c->ev->on_room(c);
}

static const struct stream_events stream_calls = {
    .on_data = on_data, .on_room = on_room, .on_end = on_end};

static void on_more(struct task *t)
{
    struct httpc *c = container_of(t, struct httpc, more);
    take_all(c);
    if (c->state != CLOSED && c->state != TUNNEL && !c->stalled)
        stream_resume(&c->s);
}

static void on_timer(struct timer *t)
{
    struct httpc *c = container_of(t, struct httpc, timer);
    int64_t now = clock_us();
    if (c->stalled || c->s.out.n < c->waiting)
        c->heard_us = now;
    c->waiting = c->s.out.n;
    int64_t silent = (now - c->heard_us) / 1000;
    if (silent < c->idle_ms) {
        timer_begin(c->s.io.loop, t, c->idle_ms - silent, on_timer);
        return;
    }
    err_set(&c->e, ERR_TIMEOUT, "nothing came from %s for %d ms", c->host, c->idle_ms);
    fail(c);
}

/* ---- the owner's calls ---- */

void httpc_start(struct httpc *c, struct stream *take, int idle_ms,
                 const struct httpc_events *ev)
{
    BUG_ON(take->io.fd < 0);
    ASSERT(take != &c->s);
    *c = (struct httpc){.ev = ev, .state = READY, .kept = true};
    c->idle_ms = idle_ms ? idle_ms : LIMIT_HTTPC_IDLE_MS;
    buf_init(&c->text, HTTP_HEAD_MAX);
    task_init(&c->more, on_more);
    c->over = take->ended;
    stream_move(&c->s, take, &stream_calls);
}

static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    }
    return s.n > 0;
}

int httpc_add_field(struct buf *out, const char *name, struct str value)
{
    size_t before = out->n;
    if (!is_visible(str_of(name)))
        return -1;
    for (size_t i = 0; i < value.n; i++) {
        unsigned char b = (unsigned char)value.p[i];
        if ((b < ' ' && b != '\t') || b == 0x7f)
            return -1;
    }
    if (buf_addf(out, "%s: ", name) < 0 || buf_adds(out, value) < 0 ||
        buf_addz(out, "\r\n") < 0) {
        buf_truncate(out, before);
        return -1;
    }
    return 0;
}

/* Appends a whole request, or nothing. Returns -1 if out is full. */
static int add_request(struct buf *out, const struct httpc_request *q)
{
    size_t before = out->n;
    bool has_body = q->body.p || q->streams || strcmp(q->method, "POST") == 0 ||
                    strcmp(q->method, "PUT") == 0 || strcmp(q->method, "PATCH") == 0;
    int rc = buf_addf(out, "%s %.*s HTTP/1.1\r\nHost: %.*s\r\n", q->method,
                      STR_ARG(q->target), STR_ARG(q->host));
    if (rc == 0 && q->chunked)
        rc = buf_addz(out, "Transfer-Encoding: chunked\r\n");
    else if (rc == 0 && has_body)
        rc = buf_addf(out, "Content-Length: %llu\r\n",
                      (unsigned long long)(q->streams ? q->length : q->body.n));
    if (rc == 0 && q->fields.n)
        rc = buf_adds(out, q->fields);
    if (rc == 0)
        rc = buf_addz(out, "\r\n");
    if (rc == 0 && q->body.n)
        rc = buf_adds(out, q->body);
    if (rc < 0) { /* out is a queue, which has room later */
        buf_truncate(out, before);
        buf_resume(out);
    }
    return rc;
}

int httpc_send(struct httpc *c, const struct httpc_request *q, struct err *e)
{
    if (c->state == HEAD || c->state == BODY)
        return err_set(e, ERR_BUSY, "cannot ask %s: an answer is under way", c->host);
    if (!httpc_is_kept(c))
        return err_set(e, ERR_GONE, "cannot ask %.*s: the connection is over",
                       STR_ARG(q->host));
    if (!is_visible(q->target) || !is_visible(q->host) || !is_visible(str_of(q->method)))
        return err_set(e, ERR_INVALID,
                       "cannot ask for \"%.*s\": a request's target and "
                       "host are visible ASCII without blanks",
                       STR_ARG(q->target));
    if (add_request(&c->s.out, q) < 0)
        return err_set(e, ERR_LIMIT,
                       "cannot ask %.*s: the request is longer than the "
                       "%zu bytes that can be queued",
                       STR_ARG(q->host), c->s.out.max);
    c->state = HEAD;
    c->connect = strcmp(q->method, "CONNECT") == 0;
    c->interims = 0;
    c->chunked = q->chunked;
    c->to_put = q->chunked ? UINT64_MAX : q->streams ? q->length : 0;
    c->bodiless = strcmp(q->method, "HEAD") == 0;
    buf_reset(&c->text);
    struct str host = str_sub(q->host, 0, sizeof(c->host) - 1);
    memcpy(c->host, host.p, host.n);
    c->host[host.n] = '\0';
    c->heard_us = clock_us();
    if (c->idle_ms > 0)
        timer_begin(c->s.io.loop, &c->timer, c->idle_ms, on_timer);
    stream_flush(&c->s);
    c->waiting = c->s.out.n;
    return 0;
}

size_t httpc_put(struct httpc *c, struct str piece)
{
    BUG_ON(piece.n > c->to_put);
    if (c->state != HEAD && c->state != BODY)
        return 0;
    if (c->s.out.n > c->s.low) {
        stream_want_room(&c->s);
        return 0;
    }
    size_t room = buf_room(&c->s.out), frame = c->chunked ? CHUNK_FRAME : 0;
    room = room > frame ? room - frame : 0;
    size_t n = piece.n < room ? piece.n : room;
    if (n > 0 && c->chunked)
        buf_addf(&c->s.out, "%zx\r\n", n);
    if (buf_add(&c->s.out, piece.p, n) < 0)
        n = 0;
    if (n > 0 && c->chunked)
        buf_addz(&c->s.out, "\r\n");
    c->to_put -= n;
    stream_flush(&c->s);
    if (n < piece.n)
        stream_want_room(&c->s);
    return n;
}

void httpc_put_end(struct httpc *c)
{
    ASSERT(c->chunked);
    if (c->state != HEAD && c->state != BODY)
        return;
    c->chunked = false;
    c->to_put = 0;
    buf_addz(&c->s.out, "0\r\n\r\n"); /* CHUNK_FRAME reserves room for it */
    stream_flush(&c->s);
}

void httpc_more(struct httpc *c)
{
    if (!c->stalled || c->state == CLOSED)
        return;
    c->stalled = false;
    c->heard_us = clock_us();
    task_defer(c->s.io.loop, &c->more);
}

bool httpc_is_kept(const struct httpc *c)
{
    return c->state == READY && c->kept && !c->over;
}

void httpc_leave(struct httpc *c, struct stream *to, const struct stream_events *ev)
{
    BUG_ON(c->state != TUNNEL);
    stream_move(to, &c->s, ev);
    httpc_release(c);
    stream_resume(to);
}

void httpc_release(struct httpc *c)
{
    if (c->state != CLOSED)
        shut(c);
    buf_release(&c->text);
}
