/* SPDX-License-Identifier: MIT */
/*
 *   DIAL ─▶ ASK ─▶ JOINED ─▶ over
 *     └──────┴─ '!' ─────────▶ over
 *
 * The client's end is watched from the beginning: a client that goes takes its relay with
 * it.
 */
#include "ipc/relay.h"

#include "http/httpc.h"
#include "http/ws_hello.h"
#include "http/ws_pair.h"
#include "ipc/frame.h"
#include "ipc/remote.h"

#include <signal.h>

enum { ASK_MS = 10000, FAR_IN = 256 << 10, FAR_OUT = 1 << 20, ID_MAX = 64 };

struct relay {
    struct loop *loop;
    struct remote remote;
    const char *id;
    char key[WS_KEY_SIZE];
    struct dial *dial;
    struct httpc http;
    bool asking, joined;
    struct stream near;
    struct ws_pair pair;
};

static void over(struct relay *r)
{
    if (r->dial)
        dial_cancel(r->dial);
    r->dial = NULL;
    if (r->asking)
        httpc_release(&r->http);
    r->asking = false;
    stream_close(&r->near);
    loop_stop(r->loop);
}

/* ---- the client ---- */

static void say(struct relay *r, char type, struct json *take)
{
    frame_add_json(&r->near.out, type, take);
    json_free(take);
    stream_flush(&r->near);
}

static void fail(struct relay *r, const struct err *e, bool again)
{
    struct json *j = json_object();
    json_put_z(j, "code", err_name(e->code));
    json_put_z(j, "text", e->text);
    json_put_bool(j, "again", again);
    say(r, '!', j);
    over(r);
}

static void on_near_data(struct stream *s) { (void)s; }

static void on_near_end(struct stream *s, int errnum)
{
    (void)errnum;
    over(container_of(s, struct relay, near));
}

static const struct stream_events near_calls = {.on_data = on_near_data,
                                                .on_end = on_near_end};

/* ---- JOINED ---- */

static void on_over(struct ws_pair *p, int code, struct str reason)
{
    (void)code;
    (void)reason;
    loop_stop(container_of(p, struct relay, pair)->loop);
}

static void on_far_data(struct stream *s) { (void)s; }

static void on_far_end(struct stream *s, int errnum)
{
    (void)s;
    (void)errnum;
}

/* For the moment between two owners. */
static const struct stream_events far_calls = {.on_data = on_far_data,
                                               .on_end = on_far_end};

static void join(struct relay *r)
{
    struct stream far;
    struct json *j = json_object();
    json_put_str(j, "server", http_field(&r->http.head, REMOTE_ID_FIELD));
    say(r, '+', j);
    httpc_leave(&r->http, &far, &far_calls);
    r->asking = false;
    r->joined = true;
    ws_pair_start(&r->pair, &far, WS_CLIENT, &r->near, on_over);
}

/* ---- ASK ---- */

static void judge(struct relay *r, struct str body)
{
    const struct http_head *h = &r->http.head;
    struct err e = ERR_INIT;
    if (h->status != 101) {
        bool again = remote_refused(&r->remote, h->status, http_field(h, "Location"),
                                    body, &e);
        fail(r, &e, again);
        return;
    }
    struct buf connection = BUF_INIT(HTTP_LINE_MAX), extensions = BUF_INIT(HTTP_LINE_MAX);
    http_joined(h, "Connection", &connection);
    http_joined(h, "Sec-WebSocket-Extensions", &extensions);
    struct ws_hello hello = {.upgrade = http_field(h, "Upgrade"),
                             .connection = buf_str(&connection),
                             .accept = http_field(h, "Sec-WebSocket-Accept"),
                             .protocol = http_field(h, "Sec-WebSocket-Protocol"),
                             .extensions = buf_str(&extensions)};
    struct str id = http_field(h, REMOTE_ID_FIELD);
    struct err why = ERR_INIT;
    int rc = ws_check_answer(h->status, &hello, r->key, STR(REMOTE_PROTOCOL), &why);
    if (rc == 0 &&
        (!str_eq(hello.protocol, STR(REMOTE_PROTOCOL)) || id.n == 0 || id.n > ID_MAX))
        rc = err_set(&why, ERR_INVALID, "its answer is not that of " REMOTE_PROTOCOL);
    buf_release(&connection);
    buf_release(&extensions);
    if (rc == 0) {
        join(r);
        return;
    }
    err_set(&e, ERR_INVALID,
            "the server at %.150s is not an od server, or one of another "
            "version: %.200s",
            r->remote.text, why.text);
    fail(r, &e, false);
}

/* Its first piece is enough for people. */
static size_t on_body(struct httpc *h, struct str piece)
{
    judge(container_of(h, struct relay, http), piece);
    return piece.n;
}

static void on_answer(struct httpc *h, const struct err *e)
{
    struct relay *r = container_of(h, struct relay, http);
    struct err why;
    if (!e) {
        judge(r, STR(""));
        return;
    }
    bool again = e->code != ERR_INVALID && e->code != ERR_LIMIT;
    err_set(&why, e->code, "the server at %.150s does not answer as HTTP: %.250s",
            r->remote.text, e->text);
    fail(r, again ? e : &why, again);
}

static const struct httpc_events http_calls = {.on_body = on_body, .on_done = on_answer};

static void ask(struct relay *r, struct stream *s)
{
    struct buf fields = BUF_INIT(REMOTE_FIELDS_MAX + 1024), target = BUF_INIT(2048);
    struct err e = ERR_INIT;
    remote_target(&r->remote, REMOTE_PATH, &target);
    if (r->id)
        buf_addf(&target, "?server=%s", r->id);
    ws_new_key(r->key);
    ws_add_request(&fields, r->key, STR(REMOTE_PROTOCOL));
    remote_fields(&r->remote, &fields);
    r->asking = true;
    httpc_start(&r->http, s, ASK_MS, &http_calls);
    struct httpc_request q = {.method = "GET",
                              .target = buf_str(&target),
                              .host = r->remote.at.authority,
                              .fields = buf_str(&fields)};
    int rc = httpc_send(&r->http, &q, &e);
    buf_release(&fields);
    buf_release(&target);
    if (rc < 0)
        fail(r, &e, false);
}

/* ---- DIAL ---- */

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct relay *r = dial_owner(d);
    struct err why;
    r->dial = NULL;
    if (s) {
        ask(r, s);
        return;
    }
    bool again = remote_dial_failed(&r->remote, d, e, &why);
    fail(r, &why, again);
}

/* Returns false if it has failed. */
static bool begin(struct relay *r, const char *where)
{
    struct err e = ERR_INIT;
    if (remote_open(&r->remote, where, &e) == 0)
        r->dial = remote_dial(&r->remote, r->loop, FAR_IN, FAR_OUT, on_dialled, r, &e);
    if (!r->dial)
        fail(r, &e, false);
    return r->dial != NULL;
}

int relay_run(int fd, const char *where, const char *id)
{
    struct relay r = {.loop = loop_new(), .id = id};
    signal(SIGPIPE, SIG_IGN);
    if (!r.loop ||
        stream_open(&r.near, r.loop, fd, WS_PAIR_MESSAGE, WS_PAIR_OUT, &near_calls) < 0)
        return 1;
    int rc = begin(&r, where) ? loop_run(r.loop) : 0;
    if (r.joined)
        ws_pair_release(&r.pair);
    remote_release(&r.remote);
    loop_free(r.loop);
    return rc < 0;
}
