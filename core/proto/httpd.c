/* SPDX-License-Identifier: MIT */
/* Connections: accepting, reading, routing, bodies, time limits. */
#include "proto/httpd_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "net/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_PER_TURN = 64,
    REQUESTS_PER_TURN = 16,
    POOL_MAX = 16,
    FDS_LEFT = 128,    /* descriptors that are for others */
    TOO_MANY_MAX = 64, /* connections over the budget, while they are told so */
    ACCEPT_AGAIN_MS = 500,
    REFUSALS_SAID = 10 /* in the log, of a second */
};

/* ---- time limits ---- */

static void on_timer(struct timer *t);

/* When the first connection of all queues is due; -1: none is in one. */
static int64_t next_due(const struct httpd *d)
{
    int64_t due = -1;
    for (int w = WAIT_IDLE; w < WAITS; w++) {
        if (list_empty(&d->waits[w]))
            continue;
        const struct conn *c = list_first(&d->waits[w], struct conn, queue);
        int64_t at = c->since_ms + d->wait_ms[w];
        due = due < 0 || at < due ? at : due;
    }
    return due;
}

void conn_wait(struct conn *c, enum wait w)
{
    struct httpd *d = c->d;
    list_del(&c->queue);
    d->greeting += (unsigned)(w == WAIT_GREET) - (unsigned)(c->wait == WAIT_GREET);
    c->wait = w;
    if (w == WAIT_NONE)
        return;
    c->since_ms = clock_ms();
    if (w == WAIT_WRITE)
        c->unsent = answer_unsent(c);
    list_add_tail(&d->waits[w], &c->queue);
    /* One timer for all: it comes too early rather than being moved each time. */
    int64_t due = c->since_ms + d->wait_ms[w];
    if (!timer_active(&d->timer) || d->timer.at_us > due * 1000)
        timer_begin(d->loop, &d->timer, d->wait_ms[w], on_timer);
}

static void refuse(struct conn *c, const struct http_error *e);
static void give_up(struct req *r, int status, const char *text);

static void time_out(struct conn *c)
{
    static const struct http_error late = {408,
                                           "The request's head did not come in time"};
    struct req *r = c->req;
    if (c->wait == WAIT_HEAD && !r) {
        refuse(c, &late);
    } else if (c->wait == WAIT_BODY && r && !r->begun) {
        give_up(r, 408, "The request's body did not come in time");
    } else if (c->wait == WAIT_WRITE && answer_unsent(c) < c->unsent) {
        conn_wait(c, WAIT_WRITE); /* slow, and not stuck */
    } else {
        conn_close(c);
    }
}

static void on_timer(struct timer *t)
{
    struct httpd *d = container_of(t, struct httpd, timer);
    int64_t now = clock_ms();
    for (int w = WAIT_IDLE; w < WAITS; w++) {
        while (!list_empty(&d->waits[w])) {
            struct conn *c = list_first(&d->waits[w], struct conn, queue);
            if (c->since_ms + d->wait_ms[w] > now)
                break;
            list_del(&c->queue);
            time_out(c);
        }
    }
    int64_t due = next_due(d);
    if (due >= 0)
        timer_begin(d->loop, &d->timer, due > now ? due - now : 1, on_timer);
}

/* ---- requests ---- */

/* Belongs to nobody yet; what its head holds is of another request. */
static struct req *req_new(struct httpd *d)
{
    struct req *r;
    if (list_empty(&d->pool)) {
        r = xnew(struct req);
        buf_init(&r->text, HTTP_HEAD_MAX);
        buf_init(&r->path, HTTP_LINE_MAX);
        buf_init(&r->fields, 8 << 10);
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

static void req_destroy(struct req *r)
{
    buf_release(&r->text);
    buf_release(&r->path);
    buf_release(&r->fields);
    free(r);
}

static void req_free(struct httpd *d, struct req *r)
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
    /* At the front: the next one finds it in the processor's cache. */
    list_add_tail(d->pool.next, &r->node);
    d->pooled++;
}

struct str req_method(const struct req *r) { return r->head.method; }
struct str req_raw_query(const struct req *r) { return r->head.query; }
const struct http_head *req_head(const struct req *r) { return &r->head; }
struct str req_body(const struct req *r) { return buf_str(&r->body); }
bool req_open(const struct req *r) { return r->route && r->route->open; }
bool req_is_unix(const struct req *r) { return r->conn->unix_peer; }
bool req_is_secure(const struct req *r) { return r->conn->stream.layer != NULL; }
bool req_half_closed(const struct req *r) { return r->conn->stream.eof; }
void *req_arg(const struct req *r) { return r->front->arg; }
struct loop *req_loop(const struct req *r) { return r->conn->d->loop; }

struct str req_path(const struct req *r)
{
    struct str path = buf_str(&r->path);
    return r->front ? str_sub(path, strlen(r->front->prefix), path.n) : path;
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

/* An answer of ours in place of the owner's, who is told that it is too late. */
static void give_up(struct req *r, int status, const char *text)
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

/* Both begin with a slash. One at the end is a segment more, an empty one. */
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
    } known[] = {{"GET", HTTP_GET}, {"HEAD", HTTP_GET},      {"POST", HTTP_POST},
                 {"PUT", HTTP_PUT}, {"DELETE", HTTP_DELETE}, {"PATCH", HTTP_PATCH}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eq(m, str_of(known[i].name)))
            return known[i].bit;
    }
    return 0;
}

/* Finds the route. Returns the methods that the path has, 0: there is no such. */
static unsigned find_route(struct req *r)
{
    struct httpd *d = r->conn->d;
    struct str path = buf_str(&r->path);
    unsigned bit = method_bit(r->head.method), has = 0;
    for (size_t f = 0; f < d->c.nfronts; f++) {
        const struct http_front *front = d->c.fronts[f];
        struct str prefix = str_of(front->prefix);
        struct str rest = str_sub(path, prefix.n, path.n);
        if (!str_starts(path, prefix) || (rest.n > 0 && rest.p[0] != '/'))
            continue;
        if (!r->front && prefix.n > 0)
            r->front = front; /* an error is told in its words */
        for (size_t i = 0; i < front->nroutes; i++) {
            const struct route *t = &front->routes[i];
            if (!route_matches(r, str_of(t->path), rest))
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

static void allow_header(struct req *r, unsigned has)
{
    static const char *const names[] = {"GET, HEAD", "POST", "PUT", "DELETE", "PATCH"};
    struct buf b = BUF_INIT(128);
    buf_addz(&b, "OPTIONS");
    for (int i = 0; i < 5; i++) {
        if (has & (1u << i))
            buf_addf(&b, ", %s", names[i]);
    }
    req_header_add(r, "Allow", buf_z(&b));
    buf_release(&b);
}

/* ---- bodies ---- */

static bool has_body(const struct req *r) { return r->head.chunked || r->left > 0; }

static void want_body(struct req *r)
{
    struct conn *c = r->conn;
    conn_wait(c, WAIT_BODY);
    r->continued = true;
    if (r->head.expect && c->stream.in.n == 0)
        stream_write(&c->stream, STR("HTTP/1.1 100 Continue\r\n\r\n"));
}

static void run(struct req *r)
{
    conn_wait(r->conn, WAIT_NONE);
    r->route->run(r);
}

/* A piece of body of what has come. false: no more for now. */
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
            give_up(r, 400, "The request's chunked body is malformed");
        else if (!r->ended)
            conn_close(r->conn);
        return false;
    }
    return *used > 0 || r->chunks.state == CHUNK_DONE;
}

/*
 * Gives a piece to whoever wants it. Returns how much of it was taken. What
 * nobody wants is read and dropped, so that the connection can be kept, up to
 * DISCARD_MAX.
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
        give_up(r, 413, "The request's body is larger than it may be here");
        return piece.n;
    }
    return piece.n;
}

/* One piece. false: there is no more of it now, or nobody takes it. */
static bool feed_piece(struct conn *c, struct req *r)
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
        /* The rest of the chunk again, next time. */
        r->chunks.state = CHUNK_DATA;
        r->chunks.left += piece.n - took;
        used -= piece.n - took;
    }
    buf_consume(&c->stream.in, used);
    r->body_over = r->head.chunked ? r->chunks.state == CHUNK_DONE : r->left == 0;
    /* The peer has time to send, and who takes the body as much as it needs. */
    bool peers_turn = took == piece.n && !r->body_over && (!r->discard || r->ended);
    if (c->wait == WAIT_BODY || c->wait == WAIT_NONE)
        conn_wait(c, peers_turn ? WAIT_BODY : WAIT_NONE);
    return took == piece.n;
}

/* The peer has said its last, and the body is not whole. */
static bool cut_short(const struct conn *c, const struct req *r)
{
    struct http_chunks chunks = r->chunks;
    struct str piece;
    size_t used = 0;
    if (!c->stream.eof || r->body_over)
        return false;
    if (r->head.chunked && http_chunk(&chunks, buf_str(&c->stream.in), &piece, &used) < 0)
        return false; /* malformed: that is found when it is taken */
    return r->head.chunked ? used == 0 : c->stream.in.n == 0;
}

/*
 * Moves what has come of the body. The request may be over and gone after it:
 * c->req says so.
 */
static void feed(struct conn *c)
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

static void start(struct req *r)
{
    struct conn *c = r->conn;
    r->left = r->head.length;
    r->body_over = !has_body(r);
    if (http_decode(&r->path, r->head.path, false) < 0) {
        req_fail(r, 400, "The request's path is malformed");
        return;
    }
    unsigned has = find_route(r);
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
        r->route->body(r);
        return;
    }
    if (r->left > r->route->body_max && r->route->body_max > 0) {
        r->close = r->left > DISCARD_MAX;
        req_fail(r, 413, "The request's body is larger than it may be here");
        return;
    }
    if (r->body_over || r->route->body_max == 0) {
        r->body_told = true;
        r->discard = !r->body_over; /* one that means nothing here is dropped */
        run(r);
        return;
    }
    buf_init(&r->body, r->route->body_max);
    if (r->left > 0 && r->left <= IN_MAX)
        buf_reserve(&r->body, (size_t)r->left);
    want_body(r);
    feed(c);
}

/* A request that cannot be read: answered in the first front's words, and closed. */
static void refuse(struct conn *c, const struct http_error *e)
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
 * Could there be a whole head now? It can, or be in error, if a line has ended or
 * a limit was passed: a peer that sends byte by byte is not parsed byte by byte.
 */
static bool worth_parsing(struct conn *c)
{
    struct str in = buf_str(&c->stream.in);
    struct str fresh = str_sub(in, c->parsed, in.n);
    bool first = c->parsed == 0;
    bool line = c->parsed <= HTTP_LINE_MAX && in.n > HTTP_LINE_MAX;
    c->parsed = in.n;
    return first || line || in.n > HTTP_HEAD_MAX || str_chr(fresh, '\n') >= 0 ||
           str_chr(fresh, '\r') >= 0;
}

/* The head at the beginning of what has come. false: not there, or refused. */
static bool next_head(struct conn *c)
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
        refuse(c, &e);
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

static void finish(struct conn *c);

/* The answers pile up, as the peer does not take them: it gets no more for now. */
static bool must_wait(struct conn *c)
{
    if (c->stream.out.n <= OUT_MARK)
        return false;
    conn_wait(c, WAIT_WRITE);
    stream_want_room(&c->stream);
    return true;
}

/* As many requests as have come, and are answered at once. */
static void process(struct conn *c)
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
        finish(c); /* half a head, or none; what was answered still goes out */
    else
        stream_resume(&c->stream); /* there may be room in it again */
}

static void on_next(struct task *t) { process(container_of(t, struct conn, next)); }

/* ---- the end of an answer, and of a connection ---- */

/*
 * When the last answer is out: half-closes and reads on, so that no reset
 * overtakes it (RFC 9112 9.6).
 */
static void linger(struct conn *c)
{
    stream_flush(&c->stream);
    if (c->stream.out.n > 0) {
        conn_wait(c, WAIT_WRITE); /* on_room comes back here */
        stream_want_room(&c->stream);
        return;
    }
    stream_shutdown(&c->stream);
    if (c->stream.eof) {
        conn_close(c);
        return;
    }
    c->lingers_ms = clock_ms();
    conn_wait(c, WAIT_LINGER);
}

static void finish(struct conn *c)
{
    c->last = true;
    buf_release(&c->stream.in);
    stream_resume(&c->stream);
    linger(c);
}

void conn_answered(struct conn *c)
{
    struct req *r = c->req;
    if (c->closed || !r || !r->ended || r->feeding)
        return;
    if (!r->body_over && !r->close) {
        /* The rest of the body goes by before the next request can be read. */
        r->discard = true;
        r->on_data = NULL;
        if (c->wait != WAIT_BODY)
            conn_wait(c, WAIT_BODY);
        task_defer(c->d->loop, &c->next);
        return;
    }
    bool last = r->close || c->d->draining;
    req_free(c->d, r);
    if (last) {
        finish(c);
        return;
    }
    if (c->stream.in.n == 0)
        buf_release(&c->stream.in); /* a connection that waits holds no memory */
    if (c->stream.out.n == 0)
        buf_release(&c->stream.out);
    conn_wait(c, c->stream.out.n > 0 ? WAIT_WRITE : WAIT_IDLE);
    if (c->stream.out.n > 0)
        stream_want_room(&c->stream);
    if (c->stream.in.n > 0 || c->stream.eof)
        task_defer(c->d->loop, &c->next);
}

static void conn_free(void *p) { free(p); }

void conn_close(struct conn *c)
{
    struct httpd *d = c->d;
    struct req *r = c->req;
    if (c->closed)
        return;
    bool whole = answer_whole(c);
    conn_wait(c, WAIT_NONE);
    c->closed = true;
    list_del(&c->node);
    task_cancel(&c->next);
    if (r) {
        void (*gone)(struct req *, void *) = r->gone;
        r->gone = NULL;
        if (gone)
            gone(r, r->owner);
        if (r->receipt) {
            list_add_tail(&c->receipts, &r->receipt->node);
            whole = false;
        }
        r->receipt = NULL;
        req_free(d, r);
    }
    stream_close(&c->stream);
    answer_receipts(c, whole);
    d->nconns--;
    if (d->c.count)
        d->c.count(d->c.arg, -1);
    loop_bury(d->loop, c, conn_free);
    task_defer(d->loop, &d->paused);
}

/* ---- the stream ---- */

static void on_data(struct stream *s)
{
    struct conn *c = container_of(s, struct conn, stream);
    if (!c->last) {
        process(c);
        return;
    }
    buf_release(&s->in);
    if (c->wait != WAIT_LINGER)
        return;
    if (clock_ms() - c->lingers_ms > LINGER_MAX_MS)
        conn_close(c);
    else
        conn_wait(c, WAIT_LINGER);
}

static void on_room(struct stream *s)
{
    struct conn *c = container_of(s, struct conn, stream);
    if (c->wait == WAIT_WRITE)
        conn_wait(c, WAIT_NONE);
    if (c->last) {
        linger(c);
    } else if (c->req) {
        answer_room(c);
    } else if (c->d->draining && s->in.n == 0) {
        finish(c);
    } else {
        if (c->wait == WAIT_NONE)
            conn_wait(c, WAIT_IDLE);
        process(c);
    }
}

static void on_eof(struct stream *s)
{
    struct conn *c = container_of(s, struct conn, stream);
    if (c->wait == WAIT_LINGER)
        conn_close(c);
    else
        process(c);
}

/* The layer is ready: bytes can pass. */
static void on_greeted(struct stream *s)
{
    struct conn *c = container_of(s, struct conn, stream);
    if (c->d->greeting >= LIMIT_TLS_GREETING)
        task_defer(c->d->loop, &c->d->paused);
    if (c->wait == WAIT_GREET)
        conn_wait(c, WAIT_IDLE);
}

/* Whom the layer did not let in. A few each second: who scans must not fill the log. */
static void say_refused(struct conn *c, const struct err *e)
{
    struct httpd *d = c->d;
    struct addr a = {.len = sizeof(a.ss)};
    struct buf who = BUF_INIT(ADDR_TEXT_MAX);
    int64_t now = clock_ms() / 1000;
    if (now != d->said_s) {
        if (d->held > 0)
            log_info("refused %u more connections", d->held);
        d->said_s = now;
        d->said = d->held = 0;
    }
    /* One that ends by itself may be no more than somebody who looks whether we live. */
    if (e->code == ERR_IO)
        return;
    if (d->said++ >= REFUSALS_SAID) {
        d->held++;
        return;
    }
    if (getpeername(c->stream.io.fd, (struct sockaddr *)&a.ss, &a.len) == 0)
        addr_print(&a, &who);
    log_warn("refused the connection of %s: %s", buf_z(&who), e->text);
    buf_release(&who);
}

/*
 * A client that was refused has sent more by then. What is not read would reset the
 * connection, and with it the alert that says why: so it is read, and dropped.
 */
static void on_end(struct stream *s, int errnum)
{
    struct conn *c = container_of(s, struct conn, stream);
    const struct err *e = stream_error(s);
    bool greeted = !s->layer || s->layer->ready;
    if (e && !greeted)
        say_refused(c, e);
    if (!greeted && errnum == EPROTO && !c->last) {
        stream_bare(s);
        finish(c);
    } else {
        conn_close(c);
    }
}

static const struct stream_events events = {on_data, on_room, on_end, on_eof};

/* ---- accepting ---- */

/* l NULL: it came by no listener. NULL with errno, and fd still the caller's. */
static struct conn *open_conn(struct httpd *d, int fd, bool unix_peer,
                              const struct listener *l)
{
    struct conn *c = xnew(struct conn);
    c->d = d;
    c->unix_peer = unix_peer;
    list_init(&c->queue);
    list_init(&c->receipts);
    list_init(&c->owing);
    task_init(&c->next, on_next);
    if (stream_open(&c->stream, d->loop, fd, IN_MAX, OUT_MAX, &events) < 0) {
        free(c);
        return NULL;
    }
    c->stream.low = OUT_MARK / 2;
    list_add_tail(&d->conns, &c->node);
    d->nconns++;
    if (d->c.count)
        d->c.count(d->c.arg, 1);
    conn_wait(c, l && l->under ? WAIT_GREET : WAIT_IDLE);
    if (l && l->under && l->under(&c->stream, on_greeted, l->arg) < 0)
        conn_close(c);
    return c;
}

/*
 * For connections, and for listeners, whose connections inherit it. Nothing waits
 * for more to be written; a peer whose machine has gone is found within minutes
 * although nothing is said to it, as while a command runs.
 */
static bool tune(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof(a);
    int on = 1, idle_s = 60, every_s = 15, times = 4;
    getsockname(fd, (struct sockaddr *)&a, &n);
    if (a.ss_family == AF_UNIX)
        return true;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
    return false;
}

int httpd_serve(struct httpd *d, int fd)
{
    return open_conn(d, fd, tune(fd), NULL) ? 0 : -1;
}

/* Who has waited longest goes, when somebody new comes and there is no room. */
static bool make_room(struct httpd *d)
{
    if (d->nconns < d->c.conns_max)
        return true;
    if (list_empty(&d->waits[WAIT_IDLE]))
        return false;
    conn_close(list_first(&d->waits[WAIT_IDLE], struct conn, queue));
    return true;
}

static const char full[] =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
    "Content-Length: 0\r\n\r\n";

/* What the peer has sent already would reset the answer, if it is not read. */
static void turn_away_gently(struct httpd *d, int fd, const struct listener *l)
{
    struct conn *c = open_conn(d, fd, l->unix_peer, l);
    if (!c)
        close(fd);
    if (!c || c->closed)
        return;
    stream_write(&c->stream, STR(full));
    finish(c);
}

static void turn_away(const struct listener *l, int fd)
{
    if (!l->under && send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        log_debug("a connection too many could not be told so: %m");
    close(fd);
}

static void accept_all(struct httpd *d)
{
    struct list *it, *tmp;
    list_each (it, tmp, &d->listeners)
        io_set(&list_entry(it, struct listener, node)->io, EPOLLIN);
}

static void on_again(struct timer *t)
{
    accept_all(container_of(t, struct httpd, again));
}

/* No descriptor is left: the spare one lets the peer be told. */
static void without_fds(struct httpd *d, struct listener *l)
{
    if (d->spare >= 0)
        close(d->spare);
    int fd = accept4(l->io.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        turn_away(l, fd);
    d->spare = open("/", O_PATH | O_CLOEXEC);
    if (fd < 0) {
        io_set(&l->io, 0);
        timer_begin(d->loop, &d->again, ACCEPT_AGAIN_MS, on_again);
    }
    if (!d->complained)
        log_warn("no descriptor is left for another HTTP connection: raise the limit of "
                 "open files (ulimit -n)");
    d->complained = true;
}

/*
 * So many handshakes at once and no more. Then one that takes long makes room, so that
 * who never finishes his keeps nobody out; else the next client waits.
 */
static bool may_greet(struct httpd *d, struct listener *l)
{
    if (!l->under || d->greeting < LIMIT_TLS_GREETING)
        return true;
    struct conn *oldest = list_first(&d->waits[WAIT_GREET], struct conn, queue);
    if (clock_ms() - oldest->since_ms >= LIMIT_TLS_PATIENCE_MS) {
        conn_close(oldest);
        return true;
    }
    io_set(&l->io, 0);
    timer_begin(d->loop, &d->again, ACCEPT_AGAIN_MS, on_again);
    return false;
}

static void on_accept(struct io *io, uint32_t ev)
{
    struct listener *l = container_of(io, struct listener, io);
    struct httpd *d = l->d;
    (void)ev;
    for (int i = 0; i < ACCEPTS_PER_TURN && may_greet(d, l); i++) {
        int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                without_fds(d, l);
            else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                log_warn("cannot accept a connection: %m");
            return;
        }
        if (!make_room(d)) {
            if (d->nconns < d->c.conns_max + TOO_MANY_MAX)
                turn_away_gently(d, fd, l);
            else
                turn_away(l, fd);
            continue;
        }
        d->complained = false;
        if (!open_conn(d, fd, l->unix_peer, l)) {
            log_warn("cannot serve a connection: %m");
            close(fd);
        }
    }
}

int httpd_listen(struct httpd *d, int fd)
{
    return httpd_listen_under(d, fd, NULL, NULL);
}

int httpd_listen_under(struct httpd *d, int fd, httpd_under_fn under, void *arg)
{
    struct listener *l = xnew(struct listener);
    l->d = d;
    l->under = under;
    l->arg = arg;
    l->unix_peer = tune(fd);
    if (io_start(d->loop, &l->io, fd, EPOLLIN, on_accept) < 0) {
        free(l);
        return -1;
    }
    list_add_tail(&d->listeners, &l->node);
    return 0;
}

/* ---- life ---- */

static void close_listeners(struct httpd *d)
{
    while (!list_empty(&d->listeners)) {
        struct listener *l = list_first(&d->listeners, struct listener, node);
        int fd = l->io.fd;
        io_stop(&l->io);
        close(fd);
        list_del(&l->node);
        free(l);
    }
}

/* A connection has gone: the next may come, or the drain is done. */
static void on_paused(struct task *t)
{
    struct httpd *d = container_of(t, struct httpd, paused);
    accept_all(d);
    if (d->draining && d->nconns == 0 && d->drained) {
        void (*fn)(void *) = d->drained;
        d->drained = NULL;
        fn(d->drained_arg);
    }
}

static unsigned conns_of_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur < 2 * FDS_LEFT)
        return FDS_LEFT / 2;
    return r.rlim_cur - FDS_LEFT > LIMIT_HTTP_CONNS ? LIMIT_HTTP_CONNS
                                                    : (unsigned)r.rlim_cur - FDS_LEFT;
}

struct httpd *httpd_open(struct loop *l, const struct httpd_config *c)
{
    struct httpd *d = xnew(struct httpd);
    d->loop = l;
    d->c = *c;
    struct http_front const **fronts = xcalloc(c->nfronts, sizeof(*fronts));
    memcpy(fronts, c->fronts, c->nfronts * sizeof(*fronts));
    d->c.fronts = fronts;
    if (d->c.conns_max == 0)
        d->c.conns_max = conns_of_limit();
    list_init(&d->listeners);
    list_init(&d->conns);
    list_init(&d->pool);
    list_init(&d->owing);
    for (int w = 0; w < WAITS; w++)
        list_init(&d->waits[w]);
    d->wait_ms[WAIT_IDLE] = c->idle_ms ? c->idle_ms : LIMIT_HTTP_IDLE_MS;
    d->wait_ms[WAIT_HEAD] = c->head_ms ? c->head_ms : LIMIT_HTTP_HEAD_MS;
    d->wait_ms[WAIT_BODY] = c->body_ms ? c->body_ms : LIMIT_HTTP_BODY_MS;
    d->wait_ms[WAIT_WRITE] = c->write_ms ? c->write_ms : LIMIT_HTTP_WRITE_MS;
    d->wait_ms[WAIT_LINGER] = LINGER_MS;
    d->wait_ms[WAIT_GREET] = LIMIT_TLS_HANDSHAKE_MS + LINGER_MS; /* its own comes first */
    task_init(&d->paused, on_paused);
    d->spare = open("/", O_PATH | O_CLOEXEC);
    return d;
}

void httpd_drain(struct httpd *d, void (*fn)(void *arg), void *arg)
{
    struct list *it, *tmp;
    d->draining = true;
    d->drained = fn;
    d->drained_arg = arg;
    close_listeners(d);
    list_each (it, tmp, &d->conns) {
        struct conn *c = list_entry(it, struct conn, node);
        if (!c->req && !c->last && c->stream.in.n == 0 && c->stream.out.n == 0)
            conn_close(c);
    }
    task_defer(d->loop, &d->paused);
}

void httpd_close(struct httpd *d)
{
    close_listeners(d);
    while (!list_empty(&d->conns))
        conn_close(list_first(&d->conns, struct conn, node));
    timer_stop(&d->timer);
    timer_stop(&d->again);
    task_cancel(&d->paused);
    while (!list_empty(&d->pool)) {
        struct req *r = list_first(&d->pool, struct req, node);
        list_del(&r->node);
        req_destroy(r);
    }
    if (d->spare >= 0)
        close(d->spare);
    free((void *)(uintptr_t)d->c.fronts);
    free(d);
}
