/* SPDX-License-Identifier: MIT */
/*
 * One request to an app:
 *
 *   DIAL ─▶ ASK ─▶ ANSWER ─▶ over          an answer, passed on as it comes
 *             └─▶ TUNNEL ─▶ over           101: bytes both ways, without a time limit
 *
 * 127.0.0.1 is tried first, then ::1. Neither side is read faster than the other one
 * accepts. When the client disconnects, its request to the app ends.
 */
#include "front/reverse_proxy/own.h"

#include "access/access.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/fronts.h"
#include "http/dial.h"
#include "net/addr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_MAX = 128 << 10, OUT_MAX = 256 << 10 };

struct app_request {
    struct list node; /* in reverse_proxy.all */
    struct reverse_proxy *p;
    struct req *req; /* NULL: gone, or answered */
    struct reverse_proxy_target to;
    struct buf path; /* owned: the memory of to.base and to.rest */
    uint64_t viewer; /* from rules.viewer */
    bool upgrade, v6;
    struct dial *dial;       /* NULL: not in DIAL */
    struct httpc http;       /* in ASK and ANSWER */
    bool asked, begun, sent; /* sent: the whole body of the request */
    bool piped;
    struct stream_pair pair; /* in TUNNEL */
};

static void reverse_proxy_free(void *arg)
{
    struct app_request *s = arg;
    buf_release(&s->path);
    free(s);
}

/* Closes everything that is open, except the request, which the caller owns if it is not
 * NULL. */
static void drop(struct app_request *s)
{
    if (s->dial)
        dial_cancel(s->dial);
    s->dial = NULL;
    if (s->asked)
        httpc_release(&s->http);
    if (s->piped)
        pair_release(&s->pair);
    s->asked = s->piped = false;
    list_del(&s->node);
    s->p->n--;
    loop_bury(s->p->en->loop, s, reverse_proxy_free);
}

static void fail(struct app_request *s, int status, const char *text)
{
    struct req *r = s->req;
    bool begun = s->begun;
    drop(s);
    if (!r)
        return;
    if (begun)
        req_abort(r);
    else
        s->p->rules->fail(r, status, text);
}

/* ---- the answer ---- */

static void on_head(struct httpc *c)
{
    struct app_request *s = container_of(c, struct app_request, http);
    const struct http_head *h = &c->head;
    if (h->status == 101)
        return;
    struct buf type = BUF_INIT(HTTP_LINE_MAX);
    struct str given = http_field(h, "Content-Type");
    buf_adds(&type, given);
    fields_back(s->p, s->req, &s->to, h);
    bool none = h->status == 204 || h->status == 304;
    int64_t length = h->has_length ? (int64_t)h->length : none ? 0 : -1;
    s->begun = true;
    req_begin(s->req, h->status, given.p ? buf_z(&type) : NULL, length);
    buf_release(&type);
}

static size_t on_body(struct httpc *c, struct str piece)
{
    struct app_request *s = container_of(c, struct app_request, http);
    return req_send(s->req, piece);
}

static void on_client_room(struct req *r, void *owner)
{
    struct app_request *s = owner;
    (void)r;
    httpc_more(&s->http);
}

static void on_tunnel_over(struct stream_pair *p)
{
    drop(container_of(p, struct app_request, pair));
}

static void tunnel(struct app_request *s)
{
    struct req *r = s->req;
    fields_back(s->p, r, &s->to, &s->http.head);
    if (req_upgrade(r, "websocket", &s->pair.a, &pair_events_a) < 0) {
        fail(s, 502, "The app answered as a WebSocket to a request that was not for one");
        return;
    }
    s->req = NULL;
    httpc_leave(&s->http, &s->pair.b, &pair_events_b);
    s->asked = false;
    s->piped = true;
    pair_start(&s->pair, on_tunnel_over);
}

static void on_answered(struct httpc *c, const struct err *e)
{
    struct app_request *s = container_of(c, struct app_request, http);
    if (e) {
        fail(s, 502, e->text);
    } else if (c->head.status == 101) {
        tunnel(s);
    } else {
        struct req *r = s->req;
        drop(s);
        req_end(r);
    }
}

static void on_app_room(struct httpc *c)
{
    req_body_more(container_of(c, struct app_request, http)->req);
}

static const struct httpc_events http_calls = {on_head, on_body, on_answered,
                                               on_app_room};

/* ---- the request ---- */

static size_t on_client_body(struct req *r, struct str bytes, void *owner)
{
    struct app_request *s = owner;
    (void)r;
    return s->asked ? httpc_put(&s->http, bytes) : 0;
}

static void on_client_end(struct req *r, void *owner)
{
    struct app_request *s = owner;
    (void)r;
    s->sent = true;
    if (s->asked && s->http.chunked)
        httpc_put_end(&s->http);
}

static void on_gone(struct req *r, void *owner)
{
    struct app_request *s = owner;
    (void)r;
    s->req = NULL;
    drop(s);
}

/* A browser that ends its side has left: otherwise the event stream of a closed tab would
 * count until its app writes. Programs may end their side and wait. */
static void on_half_closed(struct req *r, void *owner)
{
    drop(owner);
    req_abort(r);
}

static void ask(struct app_request *s, struct stream *up)
{
    const struct http_head *h = req_head(s->req);
    struct buf fields = BUF_INIT(HTTP_HEAD_MAX), method = BUF_INIT(64),
               target = BUF_INIT(HTTP_HEAD_MAX + 1);
    struct err e = ERR_INIT;
    char host[32];
    s->asked = true;
    httpc_start(&s->http, up, -1, &http_calls);
    snprintf(host, sizeof(host), "localhost:%u", s->to.port);
    buf_adds(&method, h->method);
    if (s->p->rules->keeps)
        buf_addf(&target, "%s/%u", s->p->rules->prefix, s->to.port);
    if (s->to.rest.n == 0 || s->to.rest.p[0] != '/')
        buf_addc(&target, '/'); /* for PREFIX/PORT alone */
    buf_adds(&target, s->to.rest);
    struct httpc_request q = {.method = buf_z(&method),
                              .target = buf_str(&target),
                              .host = str_of(host),
                              .streams = h->has_length && h->length > 0,
                              .chunked = h->chunked,
                              .length = h->length};
    int rc = fields_out(s->p, s->req, &s->to, s->upgrade, &fields);
    q.fields = buf_str(&fields);
    if (rc == 0)
        rc = httpc_send(&s->http, &q, &e);
    else
        err_set(&e, ERR_LIMIT, "the request's fields are longer than %d bytes",
                HTTP_HEAD_MAX);
    buf_release(&fields);
    buf_release(&method);
    buf_release(&target);
    if (rc < 0)
        fail(s, 431, e.text);
    else if (s->sent && s->http.chunked)
        httpc_put_end(&s->http);
    else
        req_body_more(s->req);
}

/* ---- DIAL ---- */

static void dial_next(struct app_request *s);

static void answer_absent(struct app_request *s)
{
    struct req *r = s->req;
    const struct reverse_proxy_rules *rules = s->p->rules;
    uint16_t port = s->to.port;
    char text[160];
    snprintf(text, sizeof(text),
             "Nothing listens at port %u of 127.0.0.1 or ::1 in this sandbox", port);
    drop(s);
    rules->absent(r, port, text);
}

static void on_dialled(struct dial *d, struct stream *up, const struct err *e)
{
    struct app_request *s = dial_owner(d);
    (void)e;
    s->dial = NULL;
    if (up) {
        ask(s, up);
    } else if (!s->v6) {
        s->v6 = true;
        dial_next(s);
    } else {
        answer_absent(s);
    }
}

static void dial_next(struct app_request *s)
{
    struct err e = ERR_INIT;
    struct dial_spec spec = {.host = str_of(s->v6 ? "::1" : "127.0.0.1"),
                             .port = s->to.port,
                             .timeout_ms = REVERSE_PROXY_CONNECT_MS,
                             .in_max = IN_MAX,
                             .out_max = OUT_MAX,
                             .on_done = on_dialled,
                             .owner = s};
    s->dial = dial_start(s->p->en->loop, &spec, &e);
    if (!s->dial)
        fail(s, 502, e.text);
}

bool reverse_proxy_is_ours(const struct fronts *fronts, uint16_t port)
{
    const struct json *list = json_get(fronts_about(fronts), "ports");
    for (const struct json *v = json_first(list); v; v = json_next(v)) {
        if (json_int_value(v, 0) == port)
            return true;
    }
    return false;
}

static bool wants_upgrade(const struct req *r)
{
    return str_eq(req_method(r), STR("GET")) &&
           http_has_token(req_header(r, "Upgrade"), "websocket") &&
           http_has_token(req_header(r, "Connection"), "upgrade");
}

static struct app_request *reverse_proxy_new(struct reverse_proxy *p, struct req *r,
                                             const struct reverse_proxy_target *to,
                                             uint64_t viewer)
{
    struct app_request *s = xnew(struct app_request);
    s->p = p;
    s->req = r;
    s->viewer = viewer;
    s->to = *to;
    s->upgrade = wants_upgrade(r);
    buf_init(&s->path, HTTP_HEAD_MAX);
    buf_adds(&s->path, to->base);
    buf_adds(&s->path, to->rest);
    s->to.base = str_sub(buf_str(&s->path), 0, to->base.n);
    s->to.rest = str_sub(buf_str(&s->path), to->base.n, to->rest.n);
    list_add_tail(&p->all, &s->node);
    p->n++;
    p->passed++;
    return s;
}

/* Returns the number of requests: of all logins if viewer is 0, else of that login. */
static unsigned count(const struct reverse_proxy *p, uint64_t viewer)
{
    const struct reverse_proxy *q = p;
    unsigned n = 0;
    do {
        struct list *it, *tmp;
        list_each (it, tmp, &q->all)
            n += viewer == 0 ||
                 list_entry(it, struct app_request, node)->viewer == viewer;
        q = q->next;
    } while (q != p);
    return n;
}

uint64_t reverse_proxy_viewer(const struct reverse_proxy *p, const struct req *r,
                              uint16_t port)
{
    return access_viewer(fronts_access(p->fronts), r, port);
}

void reverse_proxy_request(struct reverse_proxy *p, struct req *r,
                           const struct reverse_proxy_target *to)
{
    if (reverse_proxy_is_ours(p->fronts, to->port)) {
        p->rules->fail(r, 403, "This server itself listens at that port");
        return;
    }
    if (count(p, 0) >= REVERSE_PROXY_MAX) {
        p->refused++;
        p->rules->fail(r, 503, "Too many requests to apps at the same time");
        return;
    }
    uint64_t viewer = p->rules->viewer ? p->rules->viewer(p, r, to->port) : 0;
    if (viewer && count(p, viewer) >= REVERSE_PROXY_VIEWER_MAX) {
        p->refused++;
        p->rules->fail(r, 429,
                       "This login has 64 requests and WebSockets to apps at the "
                       "same time, and may have no more. Close some of the apps");
        return;
    }
    struct app_request *s = reverse_proxy_new(p, r, to, viewer);
    req_own(r, s, on_gone);
    req_on_room(r, on_client_room);
    req_on_body(r, on_client_body, on_client_end);
    if (viewer)
        req_on_half_closed(r, on_half_closed);
    dial_next(s);
}

void reverse_proxy_init(struct reverse_proxy *p, struct fronts *fronts,
                        const struct reverse_proxy_rules *rules)
{
    *p = (struct reverse_proxy){
        .rules = rules, .fronts = fronts, .en = fronts_engine(fronts)};
    p->next = p;
    list_init(&p->all);
}

void reverse_proxy_join(struct reverse_proxy *a, struct reverse_proxy *b)
{
    b->next = a->next;
    a->next = b;
}

void reverse_proxy_end(struct reverse_proxy *p)
{
    while (!list_empty(&p->all)) {
        struct app_request *s = list_first(&p->all, struct app_request, node);
        if (s->piped)
            drop(s);
        else
            fail(s, 503, "The server restarts");
    }
}
