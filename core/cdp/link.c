/* SPDX-License-Identifier: MIT */
/*
 * The DevTools protocol over a WebSocket, with a text message for each of its messages,
 * and a loop that runs only during a wait.
 *
 *   asking    GET /json/version, if no path was given: the answer has the path
 *   greeting  the opening handshake
 *   open      messages
 */
#include "base/clock.h"
#include "base/limits.h"
#include "base/xalloc.h"
#include "cdp/own.h"
#include "http/dial.h"
#include "http/httpc.h"
#include "http/url.h"
#include "http/ws.h"
#include "http/ws_hello.h"
#include "net/tls.h"
#include "net/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
    TEXT_MAX = 2048,        /* bytes of an address */
    VERSION_MAX = 64 << 10, /* of the answer of /json/version */
    IN_MAX = 256 << 10,
    OUT_MAX = CDP_OUT_MAX + (64 << 10),
    /* The loop does not run between two calls, so silence has no meaning. */
    PATIENCE_MS = 1 << 30,
};

struct cdp_link {
    struct cdp *c;
    struct loop *loop;
    struct dial *dial;
    struct httpc http;
    struct ws ws;
    struct tls_client *tls;
    struct io stop[HALT_FDS];
    struct timer late;
    char text[TEXT_MAX + 1]; /* the address */
    struct url at;           /* in text */
    char path[TEXT_MAX + 1]; /* of the request */
    char key[WS_KEY_SIZE];
    struct buf body;
    enum { ASKING, GREETING, OPEN } state;
    bool moved, failed;
    struct err e; /* the reason if it failed before it was open */
};

static void wake(struct cdp_link *k)
{
    k->moved = true;
    loop_stop(k->loop);
}

static void fail(struct cdp_link *k, enum err_code code, const char *text)
{
    if (!k->failed)
        err_set(&k->e, code, "%s", text);
    k->failed = true;
    wake(k);
}

/* ---- messages ---- */

static void on_message(struct ws *w, bool text, struct str message)
{
    struct cdp_link *k = container_of(w, struct cdp_link, ws);
    struct buf whole = BUF_INIT(LIMIT_CDP_MESSAGE);
    (void)text;
    if (buf_adds(&whole, message) < 0)
        cdp_end(k->c, ERR_LIMIT, "the browser sent a message that is too long");
    else
        cdp_message(k->c, &whole);
    buf_release(&whole);
    wake(k);
}

static void on_room(struct ws *w)
{
    cdp_link_write(container_of(w, struct cdp_link, ws)->c);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    struct cdp_link *k = container_of(w, struct cdp_link, ws);
    char text[200];
    snprintf(text, sizeof(text), "the browser closed the connection (%d%s%.*s)", code,
             reason.n ? " " : "", (int)(reason.n > 120 ? 120 : reason.n),
             reason.n ? reason.p : "");
    if (code == WS_TOO_LONG)
        cdp_end(k->c, ERR_LIMIT, "the browser sent a message that is too long");
    else if (code == WS_PROTOCOL || code == WS_BAD_TEXT)
        cdp_end(k->c, ERR_INVALID, "the browser sent an invalid WebSocket message");
    else
        cdp_end(k->c, ERR_GONE,
                code == WS_LOST ? "the connection to the browser ended" : text);
    wake(k);
}

static const struct ws_events ws_calls = {
    .on_message = on_message, .on_room = on_room, .on_close = on_close};

void cdp_link_write(struct cdp *c)
{
    struct cdp_link *k = c->link;
    while (c->out.n > 0 && k->state == OPEN && !c->ended) {
        struct str all = buf_str(&c->out), one = str_cut(&all, '\0');
        if (!ws_send(&k->ws, true, one))
            return;
        buf_consume(&c->out, one.n + 1);
    }
}

/* ---- connecting ---- */

static int start_dial(struct cdp_link *k, struct err *e);

static size_t on_body(struct httpc *h, struct str piece)
{
    struct cdp_link *k = container_of(h, struct cdp_link, http);
    if (buf_adds(&k->body, piece) < 0)
        fail(k, ERR_LIMIT, "its answer is too long");
    return piece.n;
}

/* Takes only the path of the answer's address: host and port stay the given ones. */
static void take_version(struct cdp_link *k)
{
    struct err e = ERR_INIT;
    struct url u;
    struct json *j = json_parse(buf_str(&k->body), &e);
    struct str url = json_str(j, "webSocketDebuggerUrl", "");
    if (url.n == 0 || url.n > TEXT_MAX || url_parse(&u, url, &e) < 0) {
        fail(k, ERR_INVALID, "its /json/version names no webSocketDebuggerUrl");
    } else {
        snprintf(k->path, sizeof(k->path), "%.*s", STR_ARG(u.target));
        k->state = GREETING;
        if (start_dial(k, &e) < 0)
            fail(k, e.code, e.text);
    }
    json_free(j);
}

static void take_greeting(struct cdp_link *k)
{
    const struct http_head *h = &k->http.head;
    struct ws_opts opts = {.role = WS_CLIENT,
                           .message_max = LIMIT_CDP_MESSAGE,
                           .ping_ms = PATIENCE_MS,
                           .dead_ms = PATIENCE_MS};
    struct ws_hello hello = {.upgrade = http_field(h, "Upgrade"),
                             .connection = http_field(h, "Connection"),
                             .accept = http_field(h, "Sec-WebSocket-Accept"),
                             .protocol = http_field(h, "Sec-WebSocket-Protocol"),
                             .extensions = http_field(h, "Sec-WebSocket-Extensions")};
    struct err e = ERR_INIT;
    struct stream s;
    if (ws_check_answer(h->status, &hello, k->key, STR(""), &e) < 0) {
        fail(k, e.code, e.text);
        return;
    }
    httpc_leave(&k->http, &s, NULL);
    ws_start(&k->ws, &s, &opts, &ws_calls);
    k->state = OPEN;
    wake(k);
}

static void on_done(struct httpc *h, const struct err *e)
{
    struct cdp_link *k = container_of(h, struct cdp_link, http);
    char text[160];
    int status = k->http.head.status;
    snprintf(text, sizeof(text), "it answers %d%s%.100s", status, k->body.n ? ": " : "",
             buf_z(&k->body));
    if (e)
        fail(k, e->code, e->text);
    else if (k->failed)
        wake(k);
    else if (k->state == GREETING && status == 101)
        take_greeting(k);
    else if (status != 200 || k->state == GREETING)
        fail(k, status == 404 ? ERR_NOTFOUND : ERR_INVALID, text);
    else
        take_version(k);
}

static const struct httpc_events http_calls = {.on_body = on_body, .on_done = on_done};

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct cdp_link *k = dial_owner(d);
    struct buf fields = BUF_INIT(1024);
    struct err why = ERR_INIT;
    k->dial = NULL;
    if (!s) {
        fail(k, e->code, e->text);
        return;
    }
    httpc_release(&k->http);
    httpc_start(&k->http, s, 0, &http_calls);
    if (k->state == GREETING) {
        ws_new_key(k->key);
        ws_add_request(&fields, k->key, STR(""));
    }
    struct httpc_request q = {.method = "GET",
                              .target = str_of(k->path),
                              .host = k->at.authority,
                              .fields = buf_str(&fields)};
    buf_reset(&k->body);
    if (httpc_send(&k->http, &q, &why) < 0)
        fail(k, why.code, why.text);
    buf_release(&fields);
}

static int start_dial(struct cdp_link *k, struct err *e)
{
    struct proxy proxy;
    int has = url_proxy(&proxy, &k->at, getenv, e);
    if (has < 0)
        return -1;
    if (k->at.tls && !k->tls) {
        struct trust *t = trust_new(&(struct trust_where){0}, e);
        k->tls = t ? tls_client_new(t, NULL, e) : NULL;
        if (!k->tls)
            return -1;
    }
    struct dial_spec spec = {.host = k->at.host,
                             .port = k->at.port,
                             .tls = k->at.tls ? k->tls : NULL,
                             .proxy = has ? &proxy : NULL,
                             .in_max = IN_MAX,
                             .out_max = OUT_MAX,
                             .on_done = on_dialled,
                             .owner = k};
    k->dial = dial_start(k->loop, &spec, e);
    return k->dial ? 0 : -1;
}

/* ---- turns ---- */

static void on_late(struct timer *t)
{
    loop_stop(container_of(t, struct cdp_link, late)->loop);
}

static void on_word(struct cdp_link *k)
{
    halt_check(k->c->stop);
    if (k->c->stop->ended) {
        cdp_end(k->c, ERR_CANCELLED, "it was interrupted");
        fail(k, ERR_CANCELLED, "it was interrupted");
    } else if (k->c->stop->cut) {
        loop_stop(k->loop);
    }
}

static void on_stop(struct io *io, uint32_t events)
{
    (void)events;
    on_word(container_of(io, struct cdp_link, stop[0]));
}

static void on_stop_too(struct io *io, uint32_t events)
{
    (void)events;
    on_word(container_of(io, struct cdp_link, stop[1]));
}

static void watch_stop(struct cdp_link *k, bool on)
{
    static io_fn *const fn[HALT_FDS] = {on_stop, on_stop_too};
    for (int i = 0; i < HALT_FDS; i++) {
        if (!on)
            io_stop(&k->stop[i]);
        else if (k->c->stop && k->c->stop->fds[i] >= 0)
            io_start(k->loop, &k->stop[i], k->c->stop->fds[i], EPOLLIN, fn[i]);
    }
}

/*
 * Runs the loop until something happens, or end_ms. Returns false if the time has passed.
 */
static bool run(struct cdp_link *k, int64_t end_ms)
{
    int64_t left = halt_end(k->c->stop, end_ms) - clock_ms();
    k->moved = false;
    if (left < 0 || (k->c->stop && k->c->stop->cut))
        return false;
    watch_stop(k, true);
    timer_begin(k->loop, &k->late, left, on_late);
    if (loop_run(k->loop) < 0)
        cdp_end(k->c, ERR_INTERNAL, "the event loop failed");
    timer_stop(&k->late);
    watch_stop(k, false);
    return k->moved;
}

int cdp_link_turn(struct cdp *c, int64_t end_ms)
{
    cdp_link_write(c);
    if (c->ended)
        return -1;
    bool moved = run(c->link, end_ms);
    return c->ended ? -1 : moved;
}

void cdp_link_free(struct cdp_link *k)
{
    if (!k)
        return;
    if (k->dial)
        dial_cancel(k->dial);
    httpc_release(&k->http);
    ws_release(&k->ws);
    watch_stop(k, false);
    timer_stop(&k->late);
    tls_client_free(k->tls);
    loop_free(k->loop);
    buf_release(&k->body);
    free(k);
}

/* ---- from outside ---- */

static int set_address(struct cdp_link *k, const char *address, struct err *e)
{
    struct str s = str_of(address);
    if (s.n > TEXT_MAX)
        return err_set(e, ERR_LIMIT, "the address of a browser has at most %d bytes",
                       TEXT_MAX);
    memcpy(k->text, s.p, s.n);
    if (url_parse(&k->at, str_n(k->text, s.n), e) < 0)
        return -1;
    if (str_starts(k->at.target, STR("/devtools/page/")))
        return err_set(e, ERR_INVALID,
                       "%.300s is a page; the address of the browser is needed, as in "
                       "http://%.*s",
                       address, STR_ARG(k->at.authority));
    bool web = str_starts(s, STR("http"));
    k->state = web || str_eq(k->at.target, STR("/")) ? ASKING : GREETING;
    snprintf(k->path, sizeof(k->path), "%.*s", STR_ARG(k->at.target));
    if (k->state == ASKING)
        snprintf(k->path, sizeof(k->path), "/json/version");
    return 0;
}

int cdp_dial(struct cdp *c, const char *address, int64_t end_ms, struct err *e)
{
    struct cdp_link *k = xnew(struct cdp_link);
    struct err why = ERR_INIT;
    ASSERT(!c->link && c->from < 0 && c->to < 0); /* opened without descriptors */
    c->link = k;
    k->c = c;
    for (int i = 0; i < HALT_FDS; i++)
        k->stop[i].fd = -1;
    buf_init(&k->body, VERSION_MAX);
    if (!(k->loop = loop_new()))
        return err_sys(e, errno, "cannot make an event loop");
    if (set_address(k, address, e) < 0)
        return -1;
    if (start_dial(k, &why) < 0)
        fail(k, why.code, why.text);
    while (k->state != OPEN && !k->failed && !c->ended) {
        if (!run(k, end_ms))
            fail(k, ERR_TIMEOUT, "it does not answer");
    }
    return k->failed
               ? err_set(e, k->e.code == ERR_NOTFOUND ? ERR_GONE : k->e.code,
                         "cannot reach the browser at %.200s: %.250s", address, k->e.text)
               : 0;
}
