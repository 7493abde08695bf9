/* SPDX-License-Identifier: MIT */
/* Requests: their heads, routes and bodies. */
#include "http/httpd_own.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "net/addr.h"

#include <stdlib.h>
#include <unistd.h>

enum { REQUESTS_PER_TURN = 16, POOL_MAX = 16 };

/* ---- requests ---- */

/* Makes an empty request; its head is left over from another one. */
static struct req *req_new(struct httpd *d)
{
    struct req *r;
    if (list_empty(&d->pool)) {
        r = xnew(struct req);
        buf_init(&r->text, HTTP_HEAD_MAX);
        buf_init(&r->path, HTTP_LINE_MAX);
        buf_init(&r->fields, HTTP_HEAD_MAX);
    } else {
        r = list_first(&d->pool, struct req, node);
        list_del(&r->node);
        d->pooled--;
    }
    struct buf text = r->text, path = r->path, fields = r->fields;
    memset(r, 0, offsetof(struct req, head));
    memset((char *)r + offsetof(struct req, text), 0,
           sizeof(*r) - offsetof(struct req, text));
    r->text = text;
    r->path = path;
    r->fields = fields;
    buf_reset(&r->text);
    buf_reset(&r->path);
    buf_reset(&r->fields);
    list_init(&r->node);
    r->fd = -1;
    return r;
}

void req_destroy(struct req *r)
{
    buf_release(&r->text);
    buf_release(&r->path);
    buf_release(&r->fields);
    free(r);
}

void req_free(struct httpd *d, struct req *r)
{
    if (r->conn)
        r->conn->req = NULL;
    buf_release(&r->body);
    if (r->fd >= 0)
        close(r->fd);
    free(r->receipt);
    r->receipt = NULL;
    r->fd = -1;
    if (d->pooled == POOL_MAX) {
        req_destroy(r);
        return;
    }
    /* At the front, as it may still be in the processor's cache. */
    list_add_tail(d->pool.next, &r->node);
    d->pooled++;
}

struct str req_method(const struct req *r) { return r->head.method; }
const struct http_head *req_head(const struct req *r) { return &r->head; }
struct str req_body(const struct req *r) { return buf_str(&r->body); }
const struct route *req_route(const struct req *r) { return r->route; }

enum right req_needs(const struct req *r)
{
    return r->route && r->route->right ? r->route->right : RIGHT_USE;
}

enum right req_right(const struct req *r) { return r->right; }
const char *req_key(const struct req *r) { return r->by.key; }
struct req_by *req_by(struct req *r) { return &r->by; }
int req_fd(const struct req *r) { return r->conn->stream.io.fd; }

void req_grant(struct req *r, enum right right, const struct req_by *by)
{
    uint64_t visit = r->by.visit;
    r->right = right;
    r->by = by ? *by : (struct req_by){.login = 0};
    r->by.visit = visit;
}

const char *req_at(const struct req *r) { return r->conn->at ? r->conn->at : ""; }

/*
 * RFC 6455 4.1: it is a GET. Of several Upgrade fields, the first one counts,
 * everywhere.
 */
bool req_opens_websocket(const struct req *r)
{
    return str_eq(r->head.method, STR("GET")) &&
           http_has_token(req_header(r, "Upgrade"), "websocket") &&
           http_has_token(req_header(r, "Connection"), "upgrade");
}

unsigned req_marks(const struct req *r, unsigned marks)
{
    return r->route ? r->route->marks & marks : 0;
}

bool req_is_unix(const struct req *r) { return r->conn->unix_peer; }
bool req_is_secure(const struct req *r) { return r->conn->stream.layer != NULL; }

int req_ends(const struct req *r, struct addr *peer, struct addr *own)
{
    int fd = r->conn->stream.io.fd;
    peer->len = sizeof(peer->ss);
    if (getpeername(fd, (struct sockaddr *)&peer->ss, &peer->len) < 0)
        return -1;
    return addr_of(fd, own);
}

bool req_half_closed(const struct req *r) { return r->conn->stream.eof; }
void req_on_half_closed(struct req *r, void (*fn)(struct req *r, void *owner))
{
    r->on_half_closed = fn;
}
void *req_arg(const struct req *r) { return r->front->arg; }
const struct http_front *req_served_by(const struct req *r)
{
    return r->route ? r->front : NULL;
}
const struct http_front *req_front(const struct req *r, size_t i)
{
    const struct httpd_config *c = &r->conn->d->c;
    return i < c->nfronts ? c->fronts[i] : NULL;
}

struct str req_header(const struct req *r, const char *name)
{
    return strcmp(name, "Host") == 0 ? r->head.host : http_field(&r->head, name);
}

int req_query(const struct req *r, const char *name, struct buf *out)
{
    return http_query(r->head.query, name, out);
}

struct str req_param(const struct req *r, const char *name)
{
    for (unsigned i = 0; i < r->nparams; i++) {
        if (str_eq(r->params[i].name, str_of(name)))
            return r->params[i].value;
    }
    return STR("");
}

void req_own(struct req *r, void *owner, void (*gone)(struct req *r, void *owner))
{
    r->owner = owner;
    r->gone = gone;
}

void req_fail(struct req *r, int status, const char *text)
{
    const struct http_front *f = r->front ? r->front : r->conn->d->c.fronts[0];
    f->fail(r, status, text);
}

/* Answers in place of the owner, whose `gone` is called. */
void req_give_up(struct req *r, int status, const char *text)
{
    void (*gone)(struct req *, void *) = r->gone;
    r->gone = NULL;
    r->on_data = NULL;
    r->close = r->discard = true;
    if (gone)
        gone(r, r->owner);
    req_fail(r, status, text);
}

/* ---- routes ---- */

/* Cuts what is before the next slash, which stays. */
static struct str segment(struct str *rest)
{
    long slash = str_chr(*rest, '/');
    struct str s = str_sub(*rest, 0, slash < 0 ? rest->n : (size_t)slash);
    *rest = str_sub(*rest, s.n, rest->n);
    return s;
}

static bool add_param(struct req *r, struct str name, struct str value)
{
    if (r->nparams == PARAMS_MAX)
        return false;
    r->params[r->nparams].name = name;
    r->params[r->nparams++].value = value;
    return true;
}

/* Both begin with a slash. A slash at the end adds an empty segment. */
static bool route_matches(struct req *r, struct str pattern, struct str path)
{
    r->nparams = 0;
    while (str_starts(pattern, STR("/")) && str_starts(path, STR("/"))) {
        pattern = str_sub(pattern, 1, pattern.n);
        path = str_sub(path, 1, path.n);
        if (str_eq(pattern, STR("*")))
            return add_param(r, pattern, path);
        struct str p = segment(&pattern), s = segment(&path);
        if (p.n > 2 && p.p[0] == '{'
                ? s.n == 0 || !add_param(r, str_sub(p, 1, p.n - 2), s)
                : !str_eq(p, s))
            return false;
    }
    return pattern.n == 0 && path.n == 0;
}

static unsigned method_bit(struct str m)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {{"GET", HTTP_GET},        {"HEAD", HTTP_GET},      {"POST", HTTP_POST},
                 {"PUT", HTTP_PUT},        {"DELETE", HTTP_DELETE}, {"PATCH", HTTP_PATCH},
                 {"OPTIONS", HTTP_OPTIONS}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eq(m, str_of(known[i].name)))
            return known[i].bit;
    }
    return 0;
}

/* Finds the route. Returns the methods of the path; 0 if there is no such path. */
static unsigned find_route(struct req *r)
{
    struct httpd *d = r->conn->d;
    struct str path = buf_str(&r->path);
    unsigned bit = method_bit(r->head.method), has = 0;
    for (size_t f = 0; f < d->c.nfronts; f++) {
        const struct http_front *front = d->c.fronts[f];
        for (size_t i = 0; i < front->nroutes; i++) {
            const struct route *t = &front->routes[i];
            if (!route_matches(r, str_of(t->path), path))
                continue;
            r->front = front;
            has |= t->methods;
            if (t->methods & bit) {
                r->route = t;
                return has;
            }
        }
    }
    r->nparams = 0;
    return has;
}

const char *http_method_names(unsigned i)
{
    static const char *const names[] = {"GET, HEAD", "POST", "PUT", "DELETE", "PATCH"};
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

static void allow_header(struct req *r, unsigned has)
{
    struct buf b = BUF_INIT(128);
    buf_addz(&b, "OPTIONS");
    for (unsigned i = 0; http_method_names(i); i++) {
        if (has & (1u << i))
            buf_addf(&b, ", %s", http_method_names(i));
    }
    req_header_add(r, "Allow", buf_z(&b));
    buf_release(&b);
}

/* ---- bodies ---- */

static bool has_body(const struct req *r) { return r->head.chunked || r->left > 0; }

static void want_body(struct req *r)
{
    struct httpd_conn *c = r->conn;
    conn_wait(c, WAIT_BODY);
    r->continued = true;
    if (r->head.expect && c->stream.in.n == 0)
        stream_write(&c->stream, STR("HTTP/1.1 100 Continue\r\n\r\n"));
}

/*
 * Calls a handler. One that returned without an answer and owns nothing that could still
 * answer has a fault: the peer would wait until it gives up.
 */
static void call(struct req *r, void (*handler)(struct req *r))
{
    struct httpd_conn *c = r->conn;
    handler(r);
    if (c->closed || c->req != r || r->begun || r->gone)
        return;
    log_error("http: the handler of %.*s %.60s gave no answer", (int)r->head.method.n,
              r->head.method.p, r->route->path);
    req_fail(r, 500, "The server has no answer to this request");
}

static void run(struct req *r)
{
    conn_wait(r->conn, WAIT_NONE);
    call(r, r->route->run);
}

/* Finds the next received piece of the body. Returns false if there is none now. */
static bool next_piece(struct req *r, struct str *piece, size_t *used)
{
    struct str in = buf_str(&r->conn->stream.in);
    if (!r->head.chunked) {
        *used = r->left < in.n ? (size_t)r->left : in.n;
        *piece = str_sub(in, 0, *used);
        return *used > 0;
    }
    if (http_chunk(&r->chunks, in, piece, used) < 0) {
        r->close = r->body_over = r->body_told = true;
        if (!r->begun)
            req_give_up(r, 400, "The request's chunked body is malformed");
        else if (!r->ended)
            conn_close(r->conn);
        return false;
    }
    return *used > 0 || r->chunks.state == CHUNK_DONE;
}

/*
 * Passes a piece to its reader. Returns how much was taken. An unwanted body is dropped,
 * up to DISCARD_MAX, so that the connection can be kept.
 */
static size_t give(struct req *r, struct str piece)
{
    if (r->discard) {
        r->discarded += piece.n;
        if (r->discarded > DISCARD_MAX)
            r->close = true;
        return piece.n;
    }
    if (r->on_data)
        return piece.n ? r->on_data(r, piece, r->owner) : 0;
    if (piece.n > r->route->body_max - r->body.n || buf_adds(&r->body, piece) < 0) {
        req_give_up(r, 413, "The request's body is larger than it may be here");
        return piece.n;
    }
    return piece.n;
}

/* Handles one piece. Returns false if there is none now, or nothing was taken. */
static bool feed_piece(struct httpd_conn *c, struct req *r)
{
    struct str piece;
    size_t used;
    if (!next_piece(r, &piece, &used))
        return false;
    size_t took = give(r, piece);
    if (c->closed)
        return false;
    if (!r->head.chunked) {
        used = took;
        r->left -= took;
    } else if (took < piece.n) {
        /* The rest of the chunk is parsed again next time. */
        r->chunks.state = CHUNK_DATA;
        r->chunks.left += piece.n - took;
        used -= piece.n - took;
    }
    buf_consume(&c->stream.in, used);
    r->body_over = r->head.chunked ? r->chunks.state == CHUNK_DONE : r->left == 0;
    /* The time limit is for the peer's sending; the reader of the body has none. */
    bool peers_turn = took == piece.n && !r->body_over && (!r->discard || r->ended);
    if (c->wait == WAIT_BODY || c->wait == WAIT_NONE)
        conn_wait(c, peers_turn ? WAIT_BODY : WAIT_NONE);
    return took == piece.n;
}

/* The peer sends no more, and the body is incomplete. */
static bool cut_short(const struct httpd_conn *c, const struct req *r)
{
    struct http_chunks chunks = r->chunks;
    struct str piece;
    size_t used = 0;
    if (!c->stream.eof || r->body_over)
        return false;
    if (r->head.chunked && http_chunk(&chunks, buf_str(&c->stream.in), &piece, &used) < 0)
        return false; /* malformed, which is reported when it is read */
    return r->head.chunked ? used == 0 : c->stream.in.n == 0;
}

/*
 * Passes on the received part of the body. The request may be gone afterwards: see
 * c->req.
 */
static void feed(struct httpd_conn *c)
{
    struct req *r = c->req;
    bool wanted = r->on_data || r->discard || !r->route || !r->route->body;
    if (r->feeding || !wanted)
        return;
    r->feeding = true;
    while (!r->body_over && !(r->discard && r->close)) {
        if (!feed_piece(c, r))
            break;
    }
    if (c->closed)
        return;
    r->feeding = false;
    if (cut_short(c, r)) {
        if (!r->ended) {
            conn_close(c);
            return;
        }
        r->close = true;
    }
    if (r->ended) {
        conn_answered(c);
    } else if (r->body_over && !r->body_told && !r->discard) {
        r->body_told = true;
        if (r->on_data)
            r->on_body_end(r, r->owner);
        else
            run(r);
    }
}

void req_on_body(struct req *r,
                 size_t (*data)(struct req *r, struct str bytes, void *owner),
                 void (*end)(struct req *r, void *owner))
{
    r->on_data = data;
    r->on_body_end = end;
    task_defer(r->conn->d->loop, &r->conn->next);
    if (has_body(r))
        want_body(r);
}

void req_body_more(struct req *r) { task_defer(r->conn->d->loop, &r->conn->next); }

/* ---- one request ---- */

/* A proxy may keep its own prefix in the path, or remove it. */
static void cut_prefix(struct req *r)
{
    struct str prefix = str_of(r->conn->d->c.prefix ? r->conn->d->c.prefix : "");
    struct str rest = str_sub(r->head.path, prefix.n, r->head.path.n);
    if (str_starts(r->head.path, prefix) && str_starts(rest, STR("/")))
        r->head.path = rest;
}

static void start(struct req *r)
{
    struct httpd_conn *c = r->conn;
    r->left = r->head.length;
    r->body_over = !has_body(r);
    cut_prefix(r);
    if (http_decode(&r->path, r->head.path, false) < 0) {
        req_fail(r, 400, "The request's path is malformed");
        return;
    }
    unsigned has = find_route(r);
    if (!str_eq(r->head.method, STR("GET")) &&
        http_has_token(req_header(r, "Upgrade"), "websocket")) {
        req_fail(r, 400, "A WebSocket begins with a GET, not with another method");
        return;
    }
    if (c->d->c.allow && !c->d->c.allow(r, c->d->c.arg))
        return;
    bool options = str_eq(r->head.method, STR("OPTIONS"));
    if (!r->route && (has || (options && str_eq(r->head.path, STR("*"))))) {
        allow_header(r, has);
        if (options)
            req_answer(r, 204, NULL, STR(""));
        else
            req_fail(r, method_bit(r->head.method) ? 405 : 501,
                     "The method is not one of this path");
        return;
    }
    if (!r->route) {
        req_fail(r, 404, "There is nothing at this path");
        return;
    }
    if (r->route->body) {
        call(r, r->route->body);
        return;
    }
    if (r->left > r->route->body_max && r->route->body_max > 0) {
        r->close = r->left > DISCARD_MAX;
        req_fail(r, 413, "The request's body is larger than it may be here");
        return;
    }
    if (r->body_over || r->route->body_max == 0) {
        r->body_told = true;
        r->discard = !r->body_over; /* a body without a meaning here is dropped */
        run(r);
        return;
    }
    buf_init(&r->body, r->route->body_max);
    if (r->left > 0 && r->left <= IN_MAX && (uint64_t)r->left <= r->route->body_max)
        buf_reserve(&r->body, (size_t)r->left);
    want_body(r);
    feed(c);
}

/* Answers a malformed request in the first front's words, and closes the connection. */
void conn_refuse(struct httpd_conn *c, const struct http_error *e)
{
    struct req *r = req_new(c->d);
    r->head = (struct http_head){.minor = 1};
    r->conn = c;
    c->req = r;
    r->body_over = r->body_told = r->close = true;
    conn_wait(c, WAIT_NONE);
    req_fail(r, e->status, e->why);
}

/*
 * Whether a complete or malformed head is possible now: a line has ended, or a limit is
 * exceeded. So input that comes byte by byte is not parsed at each byte.
 */
static bool worth_parsing(struct httpd_conn *c)
{
    struct str in = buf_str(&c->stream.in);
    struct str fresh = str_sub(in, c->parsed, in.n);
    bool first = c->parsed == 0;
    bool line = c->parsed <= HTTP_LINE_MAX && in.n > HTTP_LINE_MAX;
    c->parsed = in.n;
    return first || line || in.n > HTTP_HEAD_MAX || str_chr(fresh, '\n') >= 0 ||
           str_chr(fresh, '\r') >= 0;
}

/*
 * Takes the head at the beginning of the input. Returns false if it is incomplete, or
 * was refused.
 */
static bool next_head(struct httpd_conn *c)
{
    struct httpd *d = c->d;
    struct http_error e;
    struct buf *in = &c->stream.in;
    while (in->n >= 2 && c->parsed == 0 && in->p[0] == '\r' && in->p[1] == '\n')
        buf_consume(in, 2); /* RFC 9112 2.2 */
    if (in->n == 0)
        return false;
    size_t used;
    struct req *r = NULL;
    int got = 0;
    if (worth_parsing(c)) {
        r = req_new(d);
        got = http_parse_head(buf_str(in), &r->head, &used, &e);
    }
    if (got <= 0 && r)
        req_free(d, r);
    if (got < 0) {
        conn_refuse(c, &e);
    } else if (got == 0) {
        if (c->wait != WAIT_HEAD)
            conn_wait(c, WAIT_HEAD);
    } else {
        if (!list_empty(&c->receipts) && answer_unsent(c) == 0)
            answer_receipts(c, true);
        buf_add(&r->text, in->p, used);
        http_head_move(&r->head, str_n(in->p, used), r->text.p);
        buf_consume(in, used);
        c->parsed = 0;
        c->req = r;
        r->conn = c;
        conn_wait(c, WAIT_NONE);
        start(r);
    }
    return got > 0;
}

/* The peer does not read its answers, so no further request is handled for now. */
static bool must_wait(struct httpd_conn *c)
{
    if (c->stream.out.n <= OUT_MARK)
        return false;
    conn_wait(c, WAIT_WRITE);
    stream_want_room(&c->stream);
    return true;
}

/* Handles requests as long as they are complete and answered at once. */
void conn_process(struct httpd_conn *c)
{
    bool waits = false;
    for (int i = 0; !waits && !c->closed && !c->last; i++) {
        struct req *r = c->req;
        if (r)
            feed(c);
        if (c->closed || c->last || (r && c->req == r))
            break;
        if (i == REQUESTS_PER_TURN)
            task_defer(c->d->loop, &c->next);
        waits = i == REQUESTS_PER_TURN || must_wait(c);
        if (!waits && !next_head(c))
            break;
    }
    if (c->closed || c->last)
        return;
    if (c->stream.eof && !c->req && !waits)
        conn_finish(c); /* an incomplete head, or none; queued answers are still sent */
    else
        stream_resume(&c->stream); /* there may be room in it again */
}
