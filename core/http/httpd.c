/* SPDX-License-Identifier: MIT */
/*
 * Connections: their bytes, their time limits and their ends. Its other files are
 * httpd_accept.c, httpd_request.c and httpd_answer.c; they share httpd_own.h.
 */
#include "http/httpd_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "net/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FDS_LEFT = 128,    /* descriptors reserved for others */
    REFUSALS_SAID = 10 /* logged in one second */
};

/* ---- time limits ---- */

static void on_timer(struct timer *t);

/* When the first connection of all queues is due; -1 if the queues are empty. */
static int64_t next_due(const struct httpd *d)
{
    int64_t due = -1;
    for (int w = WAIT_IDLE; w < WAITS; w++) {
        if (list_empty(&d->waits[w]))
            continue;
        const struct httpd_conn *c = list_first(&d->waits[w], struct httpd_conn, queue);
        int64_t at = c->since_ms + d->wait_ms[w];
        due = due < 0 || at < due ? at : due;
    }
    return due;
}

void conn_wait(struct httpd_conn *c, enum httpd_wait w)
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
    /* One timer for all: it may fire too early, so it need not be moved each time. */
    int64_t due = c->since_ms + d->wait_ms[w];
    if (!timer_active(&d->timer) || d->timer.at_us > due * 1000)
        timer_begin(d->loop, &d->timer, d->wait_ms[w], on_timer);
}

static void time_out(struct httpd_conn *c)
{
    static const struct http_error late = {408,
                                           "The request's head did not come in time"};
    struct req *r = c->req;
    if (c->wait == WAIT_HEAD && !r) {
        conn_refuse(c, &late);
    } else if (c->wait == WAIT_BODY && r && !r->begun) {
        req_give_up(r, 408, "The request's body did not come in time");
    } else if (c->wait == WAIT_WRITE && answer_unsent(c) < c->unsent) {
        conn_wait(c, WAIT_WRITE); /* slow, but not stuck */
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
            struct httpd_conn *c = list_first(&d->waits[w], struct httpd_conn, queue);
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

/* ---- the end of an answer, and of a connection ---- */

/*
 * After the last answer was sent: half-closes and reads on, so that no reset overtakes
 * the answer (RFC 9112 9.6).
 */
static void linger(struct httpd_conn *c)
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

void conn_finish(struct httpd_conn *c)
{
    c->last = true;
    buf_release(&c->stream.in);
    stream_resume(&c->stream);
    linger(c);
}

void conn_answered(struct httpd_conn *c)
{
    struct req *r = c->req;
    if (c->closed || !r || !r->ended || r->feeding)
        return;
    if (!r->body_over && !r->close) {
        /* The rest of the body is read and dropped before the next request. */
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
        conn_finish(c);
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

void conn_close(struct httpd_conn *c)
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
    struct httpd_conn *c = container_of(s, struct httpd_conn, stream);
    if (!c->last) {
        conn_process(c);
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
    struct httpd_conn *c = container_of(s, struct httpd_conn, stream);
    if (c->wait == WAIT_WRITE)
        conn_wait(c, WAIT_NONE);
    if (c->last) {
        linger(c);
    } else if (c->req) {
        answer_room(c);
    } else if (c->d->draining && s->in.n == 0) {
        conn_finish(c);
    } else {
        if (c->wait == WAIT_NONE)
            conn_wait(c, WAIT_IDLE);
        conn_process(c);
    }
}

static void on_eof(struct stream *s)
{
    struct httpd_conn *c = container_of(s, struct httpd_conn, stream);
    struct req *r = c->req;
    if (r && !r->ended && r->on_half_closed)
        r->on_half_closed(r, r->owner);
    if (c->wait == WAIT_LINGER)
        conn_close(c);
    else if (!c->closed)
        conn_process(c);
}

/* The layer (TLS) is ready for data. */
static void on_greeted(struct stream *s)
{
    struct httpd_conn *c = container_of(s, struct httpd_conn, stream);
    if (c->d->greeting >= LIMIT_TLS_GREETING)
        task_defer(c->d->loop, &c->d->paused);
    if (c->wait == WAIT_GREET)
        conn_wait(c, WAIT_IDLE);
}

/*
 * Logs peers that the layer refused; only a few each second, so that a scan cannot fill
 * the log.
 */
static void say_refused(struct httpd_conn *c, const struct err *e)
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
    /* A connection that the peer ends may only be a health check. */
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
 * A refused client has sent more by then. Unread bytes would reset the connection, and
 * the alert with the reason would be lost, so they are read and dropped.
 */
static void on_end(struct stream *s, int errnum)
{
    struct httpd_conn *c = container_of(s, struct httpd_conn, stream);
    const struct err *e = stream_error(s);
    bool greeted = !s->layer || s->layer->ready;
    if (e && !greeted)
        say_refused(c, e);
    if (!greeted && errnum == EPROTO && !c->last) {
        stream_bare(s);
        conn_finish(c);
    } else {
        conn_close(c);
    }
}

static const struct stream_events events = {on_data, on_room, on_end, on_eof};

/* ---- a new connection ---- */

static void on_next(struct task *t)
{
    conn_process(container_of(t, struct httpd_conn, next));
}

struct httpd_conn *conn_open(struct httpd *d, int fd, const struct listener *l)
{
    struct httpd_conn *c = xnew(struct httpd_conn);
    ASSERT(fd >= 0);
    c->d = d;
    c->at = l->at;
    c->unix_peer = l->unix_peer;
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
    conn_wait(c, l->under ? WAIT_GREET : WAIT_IDLE);
    if (l->under && l->under(&c->stream, on_greeted, l->arg) < 0)
        conn_close(c);
    return c;
}

/* ---- life ---- */

static unsigned conns_of_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur < 2 * FDS_LEFT)
        return FDS_LEFT / 2;
    return r.rlim_cur - FDS_LEFT > LIMIT_HTTP_CONNS ? LIMIT_HTTP_CONNS
                                                    : (unsigned)r.rlim_cur - FDS_LEFT;
}

/* ---- without memory ---- */

static struct list all_of_process = LIST_INIT(all_of_process);

/*
 * This process ends, and another one goes on with what was logged. Each request without
 * a byte of an answer gets one, where no layer has to encrypt it.
 */
static void last_words(void)
{
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\n"
        "Content-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
        "{\"error\":\"the server has no more memory for this request and starts its worker "
        "again; an action that is in the log goes on: look there before you repeat "
        "it\"}\n";
    struct list *of, *it, *tmp, *next;
    list_each (of, next, &all_of_process) {
        struct httpd *d = list_entry(of, struct httpd, node);
        list_each (it, tmp, &d->conns) {
            struct httpd_conn *c = list_entry(it, struct httpd_conn, node);
            int fd = c->stream.io.fd;
            if (!c->req || c->req->begun || c->stream.layer || c->stream.out.n > 0)
                continue;
            if (send(fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
                shutdown(fd, SHUT_WR);
        }
    }
}

struct httpd *httpd_open(struct loop *l, const struct httpd_config *c)
{
    struct httpd *d = xnew(struct httpd);
    list_add_tail(&all_of_process, &d->node);
    xalloc_last_words(last_words);
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
    d->wait_ms[WAIT_GREET] = LIMIT_TLS_HANDSHAKE_MS + LINGER_MS; /* the layer's first */
    task_init(&d->paused, accept_on_paused);
    d->spare = open("/", O_PATH | O_CLOEXEC);
    return d;
}

void httpd_drain(struct httpd *d, void (*fn)(void *arg), void *arg)
{
    struct list *it, *tmp;
    ASSERT(!d->draining && fn);
    d->draining = true;
    d->drained = fn;
    d->drained_arg = arg;
    accept_close(d);
    list_each (it, tmp, &d->conns) {
        struct httpd_conn *c = list_entry(it, struct httpd_conn, node);
        if (!c->req && !c->last && c->stream.in.n == 0 && c->stream.out.n == 0)
            conn_close(c);
    }
    task_defer(d->loop, &d->paused);
}

void httpd_drop(struct httpd *d, bool (*match)(struct req *r, void *arg), void *arg)
{
    struct list *it = d->conns.next;
    while (it != &d->conns) {
        struct httpd_conn *c = list_entry(it, struct httpd_conn, node);
        it = it->next;
        if (c->req && match(c->req, arg)) {
            conn_close(c);
            it = d->conns.next; /* its gone may have closed others */
        }
    }
}

void httpd_close(struct httpd *d)
{
    accept_close(d);
    while (!list_empty(&d->conns))
        conn_close(list_first(&d->conns, struct httpd_conn, node));
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
    list_del(&d->node);
    free((void *)(uintptr_t)d->c.fronts);
    free(d);
}
