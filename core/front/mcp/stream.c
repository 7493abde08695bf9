/* SPDX-License-Identifier: MIT */
/*
 * Messages on their way to a client, in the order of their numbers.
 *
 *   put ─▶ events ─▶ the request that reads them, as JSON or as an event stream
 *              └─ of a session: kept for GET with Last-Event-ID until MCP_GRACE_MS
 *                 after the last answer was delivered
 *
 * The number of an event is the time in milliseconds, and at least the previous number
 * plus one. So the next worker's numbers are greater than any that a client has seen.
 *
 * A full stream drops notifications, the oldest first. It keeps answers, at most one for
 * each call.
 */
#include "front/mcp/own.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "http/sse.h"

#include <stdio.h>
#include <stdlib.h>

struct mcp_event {
    struct list node;
    uint64_t number;
    bool answer;
    int64_t sent_ms; /* on a link: when it was sent; 0: not yet */
    size_t n;
    char text[];
};

static const char json_type[] = "application/json";

static struct mcp_event *event_at(const struct list *node)
{
    return list_entry(node, struct mcp_event, node);
}

static void event_free(struct mcp_stream *t, struct mcp_event *v)
{
    list_del(&v->node);
    t->bytes -= v->n;
    t->nevents--;
    free(v);
}

/* ---- the connection ---- */

static void connection_over(struct mcp_stream *t)
{
    t->req = NULL;
    t->begun = false;
    timer_stop(&t->slow);
    buf_release(&t->rest);
}

/* Whether no client can ask for the stream again. */
static bool is_lost(const struct mcp_stream *t) { return !t->session && !t->req; }

static void on_gone(struct req *r, void *owner)
{
    struct mcp_stream *t = owner;
    (void)r;
    connection_over(t);
    if (t->session)
        return;
    /* In the modern era, closing the connection cancels the request. */
    mcp_calls_stop(t->m, NULL, t, TOOL_CANCELLED);
    mcp_stream_free(t);
}

static void on_half_closed(struct req *r, void *owner)
{
    struct mcp_stream *t = owner;
    (void)r;
    mcp_stream_detach(t);
    on_gone(NULL, t);
}

static void on_room(struct req *r, void *owner)
{
    (void)r;
    mcp_stream_pump(owner);
}

void mcp_stream_read(struct mcp_stream *t, struct req *r)
{
    ASSERT(!t->req && r); /* one reader at a time */
    t->req = r;
    t->begun = false;
    t->open_ms = clock_ms();
    req_own(r, t, on_gone);
    if (!t->session)
        req_on_half_closed(r, on_half_closed);
}

struct mcp_stream *mcp_stream_new(struct mcp *m, struct mcp_session *s, struct req *req)
{
    struct mcp_stream *t = xnew(struct mcp_stream);
    *t = (struct mcp_stream){.m = m, .session = s};
    random_hex(t->name, MCP_STREAM);
    list_init(&t->events);
    list_init(&t->kept);
    list_add_tail(s ? &s->streams : &m->streams, &t->node);
    if (req)
        mcp_stream_read(t, req);
    mcp_tick(m);
    return t;
}

void mcp_stream_free(struct mcp_stream *t)
{
    if (t->session && t->session->standing == t)
        t->session->standing = NULL;
    mcp_stream_detach(t);
    mcp_pendings_stop(t->m, t);
    mcp_listeners_stop(t->m, NULL, t, NULL);
    mcp_kept_drop(t->m, t);
    while (!list_empty(&t->events))
        event_free(t, event_at(t->events.next));
    list_del(&t->node);
    loop_bury(t->m->en->loop, t, free);
}

void mcp_stream_detach(struct mcp_stream *t)
{
    struct req *r = t->req;
    bool begun = t->begun;
    connection_over(t);
    if (r && begun)
        req_end(r);
    else if (r)
        req_abort(r);
}

/* ---- as JSON ---- */

/*
 * Sends the answers as JSON. All requests have their answer, and there are no other
 * messages.
 */
static void answer_json(struct mcp_stream *t)
{
    struct buf b = BUF_INIT(MCP_ANSWER_BYTES + 2);
    struct list *it, *tmp;
    struct req *r = t->req;
    bool any = false;
    if (t->batch)
        buf_addc(&b, '[');
    list_each (it, tmp, &t->events) {
        const struct mcp_event *v = event_at(it);
        if (!v->answer)
            continue;
        if (t->batch && b.n > 1)
            buf_addc(&b, ',');
        buf_add(&b, v->text, v->n);
        any = true;
    }
    if (t->batch)
        buf_addc(&b, ']');
    connection_over(t);
    if (!any)
        req_answer(r, 202, NULL, STR(""));
    else
        req_answer_take(r, t->status ? t->status : 200, json_type, &b);
    buf_release(&b);
    mcp_stream_free(t);
}

/* ---- as an event stream ---- */

/* resumed: the client has the priming event, or a later one. */
static void begin(struct mcp_stream *t, bool resumed)
{
    struct buf b = BUF_INIT(256);
    char id[48];
    timer_stop(&t->slow);
    t->begun = true;
    req_header_add(t->req, "Cache-Control", "no-cache");
    req_header_add(t->req, "X-Accel-Buffering", "no");
    req_begin(t->req, 200, "text/event-stream", -1);
    /* A priming event, so that a client can resume a stream without events; clients of
     * older revisions cannot read an event without data. */
    if (t->session && t->ids && t->session->revision >= MCP_2025_11_25 && !resumed &&
        !t->standing) {
        snprintf(id, sizeof(id), "%s-0", t->name);
        buf_addf(&b, "id: %s\nretry: %d\ndata: \n\n", id, MCP_RETRY_MS);
    } else {
        sse_add_comment(&b, STR("")); /* sends the head */
    }
    buf_init(&t->rest, MCP_ANSWER_BYTES + 4096);
    buf_adds(&t->rest, buf_str(&b));
    buf_release(&b);
}

/* Sends the rest. Returns true if nothing waits for room. */
static bool flush(struct mcp_stream *t)
{
    if (t->rest.n > 0)
        buf_consume(&t->rest, req_send(t->req, buf_str(&t->rest)));
    if (t->rest.n > 0)
        req_on_room(t->req, on_room);
    return t->rest.n == 0;
}

static void on_delivered(void *owner, bool whole)
{
    struct mcp_delivery *d = owner;
    if (d->stream && whole)
        d->stream->over_ms = clock_ms();
    if (d->stream)
        d->stream->delivery = NULL;
    free(d);
}

/* Ends the stream after its last answer was sent. */
static void finish(struct mcp_stream *t)
{
    struct req *r = t->req;
    if (t->session) {
        struct mcp_delivery *d = xnew(struct mcp_delivery);
        if (t->delivery)
            t->delivery->stream = NULL;
        d->stream = t;
        t->delivery = d;
        req_on_delivered(r, on_delivered, d);
    }
    connection_over(t);
    req_end(r);
    if (!t->session)
        mcp_stream_free(t);
}

static void put_event(struct mcp_stream *t, const struct mcp_event *v)
{
    char id[48];
    struct sse_event e = {.data = str_n(v->text, v->n)};
    int n = snprintf(id, sizeof(id), "%s-%llu", t->standing ? "standing" : t->name,
                     (unsigned long long)v->number);
    if (t->ids)
        e.id = str_n(id, (size_t)n);
    buf_release(&t->rest);
    buf_init(&t->rest, 2 * v->n + 256);
    sse_add_event(&t->rest, &e);
}

/*
 * Sends the events of a link. Answers are kept for a while, for a client that reconnects
 * without them.
 */
static void pump_lines(struct mcp_stream *t)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->events) {
        struct mcp_event *v = event_at(it);
        if (v->number < t->sent)
            continue;
        if (!mcp_link_send(t->link, v->number, str_n(v->text, v->n)))
            return;
        t->sent = v->number + v->n + 1;
        v->sent_ms = clock_ms();
        if (!v->answer)
            event_free(t, v);
    }
}

/* Frees events that a link's client received long ago. */
static void forget_lines(struct mcp_stream *t, int64_t now)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->events) {
        struct mcp_event *v = event_at(it);
        if (!v->sent_ms || (now - v->sent_ms < MCP_GRACE_MS &&
                            t->nevents <= MCP_LINES_KEPT && t->bytes <= MCP_RING_BYTES))
            continue;
        mcp_kept_drop_answer(t->m, t, v->number);
        event_free(t, v);
    }
}

void mcp_stream_pump(struct mcp_stream *t)
{
    struct list *it, *tmp;
    if (t->link)
        pump_lines(t);
    if (!t->req || !t->begun || !flush(t))
        return;
    list_each (it, tmp, &t->events) {
        struct mcp_event *v = event_at(it);
        if (v->number <= t->sent)
            continue;
        put_event(t, v);
        t->sent = v->number;
        if (!t->session || t->standing)
            event_free(t, v);
        if (!flush(t))
            return;
    }
    if (t->waiting == 0 && !t->standing)
        finish(t);
}

bool mcp_stream_waits(const struct mcp_stream *t, uint64_t number)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->events) {
        if (event_at(it)->number == number)
            return true; /* a sent one is freed */
    }
    return false;
}

static void on_slow(struct timer *timer)
{
    struct mcp_stream *t = container_of(timer, struct mcp_stream, slow);
    begin(t, false);
    mcp_stream_pump(t);
}

/* ---- new messages ---- */

/* Drops notifications to make room, the oldest first. */
static void make_room(struct mcp_stream *t)
{
    struct list *it, *tmp;
    unsigned most = t->standing && !t->req ? MCP_UNREAD_MAX : MCP_RING_EVENTS;
    list_each (it, tmp, &t->events) {
        if (t->bytes <= MCP_RING_BYTES && t->nevents < most)
            return;
        if (!event_at(it)->answer)
            event_free(t, event_at(it));
    }
}

void mcp_stream_put_numbered(struct mcp_stream *t, struct str message, bool answer,
                             uint64_t number)
{
    struct mcp_event *v = xcalloc(1, sizeof(*v) + message.n);
    make_room(t);
    struct list *at = t->events.prev;
    list_init(&v->node);
    v->number = number;
    t->last = number > t->last ? number : t->last;
    t->next = number + message.n + 1 > t->next ? number + message.n + 1 : t->next;
    v->answer = answer;
    v->n = message.n;
    memcpy(v->text, message.p, message.n);
    while (at != &t->events && event_at(at)->number > number)
        at = at->prev;
    list_add_tail(at->next, &v->node);
    t->bytes += v->n;
    t->nevents++;
    t->waiting -= answer;
    t->done_ms = clock_ms();
}

uint64_t mcp_stream_number(const struct mcp_stream *t)
{
    if (t->link)
        return t->next;
    uint64_t now = (uint64_t)clock_wall_ms();
    return now > t->last ? now : t->last + 1;
}

void mcp_stream_put(struct mcp_stream *t, struct str message, bool answer)
{
    if (is_lost(t))
        return;
    mcp_stream_put_numbered(t, message, answer, mcp_stream_number(t));
    if (t->link) {
        mcp_stream_pump(t);
        forget_lines(t, clock_ms());
    }
    if (!t->settled || !t->req)
        return;
    if (!t->begun && t->waiting > 0 && t->sse)
        begin(t, false);
    if (!t->begun && t->waiting == 0)
        answer_json(t);
    else
        mcp_stream_pump(t);
}

void mcp_stream_settle(struct mcp_stream *t)
{
    t->settled = true;
    if (t->waiting == 0 && !t->standing) {
        answer_json(t);
    } else if (t->sse && (t->session || t->nevents > 0 || t->standing)) {
        begin(t, false);
        mcp_stream_pump(t);
    } else if (t->sse) {
        timer_begin(t->m->en->loop, &t->slow, MCP_SLOW_MS, on_slow);
    }
}

void mcp_stream_withdraw(struct mcp_stream *t)
{
    ASSERT(t->waiting > 0); /* a request is cancelled only once */
    t->waiting--;
    if (t->waiting > 0 || !t->req || !t->settled)
        return;
    if (t->begun)
        mcp_stream_pump(t);
    else
        answer_json(t);
}

void mcp_stream_resume(struct mcp_stream *t, struct req *req, uint64_t since)
{
    if (t->req)
        mcp_stream_detach(t);
    mcp_stream_read(t, req);
    t->sent = since;
    t->sse = t->ids = t->settled = true;
    begin(t, true);
    mcp_stream_pump(t);
}

void mcp_stream_tick(struct mcp_stream *t, int64_t now)
{
    struct buf b = BUF_INIT(16);
    if (t->link) {
        forget_lines(t, now);
        return;
    }
    if (t->req && t->begun && t->rest.n == 0 && now - t->open_ms >= MCP_COMMENT_MS) {
        t->open_ms = now;
        sse_add_comment(&b, STR(""));
        req_send(t->req, buf_str(&b));
    }
    buf_release(&b);
    if (t->session && !t->standing && t->waiting == 0 && !t->req &&
        (t->over_ms ? now - t->over_ms > MCP_GRACE_MS : now - t->done_ms > MCP_LOST_MS))
        mcp_stream_free(t);
}
