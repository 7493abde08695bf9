/* SPDX-License-Identifier: MIT */
/*
 * The process between a Chromium and the network: one loop, a connection in steps:
 *
 *   GREETING ─▶ REQUEST ─▶ DIALLING ─▶ COPYING ─▶ gone
 *       └───────────┴──────────┴── refused, late, left ──▶ gone
 *
 * A descriptor without work is removed from the loop: epoll reports a hang-up even if no
 * event was requested.
 */
#include "browser/driver/proxy.h"

#include "base/xalloc.h"
#include "http/dial.h"
#include "http/socks.h"
#include "io/loop.h"
#include "net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { HELLO_MS = 10000, AGAIN_MS = 200, ACCEPTS = 16, READ_AT_ONCE = 32 << 10 };

/* One side of a connection. */
struct side {
    struct io io;
    int fd;        /* owned; -1: none */
    struct buf in; /* read here, for the other side */
    bool ended;    /* nothing more will be read */
    bool shut;     /* nothing more will be written */
    struct tunnel *of;
};

struct tunnel {
    struct serving *by;
    enum { GREETING, REQUEST, DIALLING, COPYING, GONE } state;
    struct side client, server;
    struct timer late;
    struct dial *dial;
    struct socks_request request;
    char denied[ADDR_TEXT_MAX]; /* the first denied address; "": none */
};

struct serving {
    struct loop *loop;
    const struct denied *denied;
    struct denied near; /* addresses for which Chromium uses no proxy */
    struct io listener, news;
    int listener_fd, news_fd;
    struct timer again; /* to listen */
    unsigned tunnels;
};

/* ---- messages to the parent ---- */

/* Sends one message, which is lost if the parent has not read earlier ones. */
static void tell(const struct tunnel *t, const struct err *e)
{
    char message[sizeof(t->request.host) + sizeof(e->text) + 1];
    int n = snprintf(message, sizeof(message), "%c%s%c%s", '?', t->request.host, '\0',
                     e->text);
    message[0] = (char)e->code;
    send(t->by->news_fd, message, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- closing ---- */

static void on_listener(struct io *io, uint32_t events);
static void listen_again(struct serving *s);

static void close_side(struct side *s)
{
    io_stop(&s->io);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    buf_release(&s->in);
}

static void end_tunnel(struct tunnel *t)
{
    struct serving *s = t->by;
    if (t->state == GONE)
        return;
    t->state = GONE;
    timer_stop(&t->late);
    if (t->dial)
        dial_cancel(t->dial);
    t->dial = NULL;
    close_side(&t->client);
    close_side(&t->server);
    loop_bury(s->loop, t, free);
    s->tunnels--;
    listen_again(s);
}

/* The copied bytes are incomplete; a reset tells the other side so. */
static void break_tunnel(struct tunnel *t)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (t->client.fd >= 0)
        setsockopt(t->client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    if (t->server.fd >= 0)
        setsockopt(t->server.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    end_tunnel(t);
}

static void on_late(struct timer *t) { end_tunnel(container_of(t, struct tunnel, late)); }

/* ---- copying ---- */

static void on_side(struct io *io, uint32_t events);

static struct side *other(struct side *s)
{
    return s == &s->of->client ? &s->of->server : &s->of->client;
}

static void watch(struct side *s)
{
    uint32_t want = 0;
    if (s->fd < 0)
        return;
    if (!s->ended && buf_room(&s->in) > 0)
        want |= EPOLLIN;
    if (other(s)->in.n > 0 && s->of->state == COPYING)
        want |= EPOLLOUT;
    if (want == 0)
        io_stop(&s->io);
    else if (s->io.fd >= 0)
        io_set(&s->io, want);
    else if (io_start(s->of->by->loop, &s->io, s->fd, want, on_side) < 0)
        break_tunnel(s->of);
}

/* Returns -1 if the connection broke. */
static int read_side(struct side *s)
{
    size_t room = buf_room(&s->in);
    room = room < READ_AT_ONCE ? room : READ_AT_ONCE;
    char *p = s->ended || room == 0 ? NULL : buf_reserve(&s->in, room);
    if (!p)
        return 0;
    ssize_t n = read(s->fd, p, room);
    buf_commit(&s->in, n > 0 ? (size_t)n : 0);
    s->ended = n == 0;
    return n < 0 && errno != EAGAIN && errno != EINTR ? -1 : 0;
}

/*
 * Copies bytes to the other side, and then the end. Returns -1 if the connection broke.
 */
static int write_from(struct side *from, struct side *to)
{
    while (from->in.n > 0) {
        ssize_t n = send(to->fd, from->in.p, from->in.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        buf_consume(&from->in, (size_t)n);
    }
    if (from->ended && !to->shut) {
        to->shut = true;
        shutdown(to->fd, SHUT_WR);
    }
    return 0;
}

static void copy(struct tunnel *t)
{
    if (write_from(&t->client, &t->server) < 0 ||
        write_from(&t->server, &t->client) < 0) {
        break_tunnel(t);
    } else if (t->client.shut && t->server.shut) {
        end_tunnel(t);
    } else {
        watch(&t->client);
        if (t->state == COPYING)
            watch(&t->server);
    }
}

/* ---- connecting ---- */

/* The reply fits into the socket, as it is the first thing sent there. */
static void say(struct tunnel *t, struct buf *take)
{
    ssize_t ignored = send(t->client.fd, take->p, take->n, MSG_NOSIGNAL);
    (void)ignored;
    buf_release(take);
}

static void answer(struct tunnel *t, enum socks_reply reply)
{
    struct buf out = BUF_INIT(16);
    socks_answer(&out, reply);
    say(t, &out);
    if (reply != SOCKS_OK)
        end_tunnel(t);
}

static bool allow(void *owner, const struct sockaddr *sa)
{
    struct tunnel *t = owner;
    if (!denied_has(t->by->denied, sa))
        return true;
    struct addr a = {.len = sa->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                     : sizeof(struct sockaddr_in6)};
    struct buf text = BUF_INIT(sizeof(t->denied) - 1);
    memcpy(&a.ss, sa, a.len);
    addr_print(&a, &text);
    if (!t->denied[0])
        snprintf(t->denied, sizeof(t->denied), "%s", buf_z(&text));
    buf_release(&text);
    return false;
}

static enum socks_reply reply_of(const struct err *e, int errnum)
{
    if (e->code == ERR_TIMEOUT)
        return SOCKS_LATE;
    if (e->code == ERR_NOTFOUND || errnum == EHOSTUNREACH)
        return SOCKS_HOSTUNREACH;
    if (errnum == ENETUNREACH)
        return SOCKS_NETUNREACH;
    return errnum == ECONNREFUSED ? SOCKS_REFUSED : SOCKS_FAILED;
}

static void refuse(struct tunnel *t, const struct err *e, int errnum)
{
    struct err told = *e;
    if (t->denied[0]) {
        err_set(&told, ERR_DENIED,
                "cannot connect to %s: its address %s is denied (--deny, OD_BROWSE_DENY)",
                t->request.host, t->denied);
    } else if (e->code == ERR_DENIED) { /* by the rules of another proxy */
        told.code = ERR_IO;
    }
    tell(t, &told);
    answer(t, t->denied[0] ? SOCKS_DENIED : reply_of(e, errnum));
}

static void on_dialed(struct dial *d, struct stream *s, const struct err *e)
{
    struct tunnel *t = dial_owner(d);
    t->dial = NULL;
    if (!s) {
        refuse(t, e, dial_errno(d));
        return;
    }
    t->server.fd = fcntl(s->io.fd, F_DUPFD_CLOEXEC, 0);
    if (t->server.fd < 0 || buf_adds(&t->server.in, buf_str(&s->in)) < 0) {
        answer(t, SOCKS_FAILED);
        return;
    }
    t->state = COPYING;
    answer(t, SOCKS_OK);
    copy(t);
}

/* Names for this machine (RFC 6761 6.3). */
static bool is_localhost(struct str host)
{
    return str_eq(host, STR("localhost")) || str_ends(host, STR(".localhost")) ||
           str_eq(host, STR("localhost.")) || str_ends(host, STR(".localhost."));
}

/* Is host this machine, or a link-local address? */
static bool is_near(const struct serving *s, struct str host)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, host.p, &v4.sin_addr) == 1)
        return denied_has(&s->near, (struct sockaddr *)&v4);
    if (inet_pton(AF_INET6, host.p, &v6.sin6_addr) == 1)
        return denied_has(&s->near, (struct sockaddr *)&v6);
    return is_localhost(host);
}

/*
 * Finds the proxy of the environment: for the ports of http and https, the one of that
 * protocol. The protocol at other ports is unknown, so they get the proxy of https, else
 * of http.
 */
static int find_proxy(const struct tunnel *t, struct proxy *out, struct err *e)
{
    uint16_t port = t->request.port;
    struct url u = {.host = str_of(t->request.host), .port = port, .tls = port != 80};
    if (is_near(t->by, u.host))
        return 0;
    int has = url_proxy(out, &u, getenv, e);
    if (has != 0 || port == 80 || port == 443)
        return has;
    u.tls = false;
    return url_proxy(out, &u, getenv, e);
}

static void connect_to(struct tunnel *t)
{
    struct err e = ERR_INIT;
    struct proxy proxy;
    struct str host = str_of(t->request.host);
    int has = find_proxy(t, &proxy, &e);
    struct dial_spec spec = {.host = is_localhost(host) ? STR("localhost") : host,
                             .port = t->request.port,
                             .proxy = has > 0 ? &proxy : NULL,
                             .in_max = BROWSER_PROXY_BUFFER,
                             .out_max = BROWSER_PROXY_BUFFER,
                             .allow = allow,
                             .on_done = on_dialed,
                             .owner = t};
    timer_stop(&t->late);
    t->state = DIALLING;
    t->dial = has < 0 ? NULL : dial_start(t->by->loop, &spec, &e);
    if (!t->dial)
        refuse(t, &e, 0);
}

/* ---- requests ---- */

static void take_greeting(struct tunnel *t)
{
    struct buf out = BUF_INIT(2);
    size_t used = 0;
    bool open = false;
    int rc = socks_greeting(buf_str(&t->client.in), &used, &open);
    if (rc > 0) {
        buf_consume(&t->client.in, used);
        socks_choose(&out, open);
        say(t, &out);
        t->state = REQUEST;
    }
    if (rc < 0 || (rc > 0 && !open))
        end_tunnel(t);
}

static void take_request(struct tunnel *t)
{
    size_t used = 0;
    int rc = socks_request(buf_str(&t->client.in), &used, &t->request);
    if (rc < 0)
        end_tunnel(t);
    if (rc <= 0)
        return;
    buf_consume(&t->client.in, used);
    if (strcmp(t->request.host, BROWSER_PROXY_PROBE) == 0) {
        tell(t, &(struct err)ERR_INIT);
        t->request.refusal = SOCKS_HOSTUNREACH;
    }
    if (t->request.refusal != SOCKS_OK)
        answer(t, t->request.refusal);
    else
        connect_to(t);
}

static void on_side(struct io *io, uint32_t events)
{
    struct side *s = container_of(io, struct side, io);
    struct tunnel *t = s->of;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && read_side(s) < 0) {
        break_tunnel(t);
        return;
    }
    if (t->state == COPYING) {
        copy(t);
        return;
    }
    if (t->state == GREETING)
        take_greeting(t);
    if (t->state == REQUEST)
        take_request(t);
    if (t->state < COPYING && s->ended)
        end_tunnel(t); /* Chromium has closed it */
    else if (t->state < COPYING)
        watch(s);
}

/* ---- life ---- */

static void accept_one(struct serving *s, int fd)
{
    struct tunnel *t = xnew(struct tunnel);
    int on = 1;
    *t = (struct tunnel){.by = s,
                         .client = {.io.fd = -1, .fd = fd, .of = t},
                         .server = {.io.fd = -1, .fd = -1, .of = t}};
    buf_init(&t->client.in, BROWSER_PROXY_BUFFER);
    buf_init(&t->server.in, BROWSER_PROXY_BUFFER);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    s->tunnels++;
    timer_begin(s->loop, &t->late, HELLO_MS, on_late);
    watch(&t->client);
}

static void listen_again(struct serving *s)
{
    timer_stop(&s->again);
    if (s->listener.fd < 0)
        io_start(s->loop, &s->listener, s->listener_fd, EPOLLIN, on_listener);
}

static void on_again(struct timer *t)
{
    listen_again(container_of(t, struct serving, again));
}

/*
 * When full, or out of descriptors, accepting continues after a connection ends, or by a
 * timer.
 */
static void on_listener(struct io *io, uint32_t events)
{
    struct serving *s = container_of(io, struct serving, listener);
    int fd = -1;
    (void)events;
    for (int i = 0; i < ACCEPTS && s->tunnels < BROWSER_PROXY_CONNECTIONS; i++) {
        fd = accept4(s->listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            break;
        accept_one(s, fd);
    }
    bool full = s->tunnels == BROWSER_PROXY_CONNECTIONS;
    if (full || (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)) {
        io_stop(&s->listener);
        timer_begin(s->loop, &s->again, AGAIN_MS, on_again);
    }
}

/* The parent sends nothing here, so its end is closed: this process ends. */
static void on_news(struct io *io, uint32_t events)
{
    (void)events;
    loop_stop(io->loop);
}

void browser_proxy_serve(int listener, int news, const struct denied *d)
{
    struct serving s = {.loop = loop_new(),
                        .denied = d,
                        .listener.fd = -1,
                        .news.fd = -1,
                        .listener_fd = listener,
                        .news_fd = news};
    denied_parse(&s.near, STR("127.0.0.0/8,169.254.0.0/16,::1,fe80::/10"), NULL);
    if (s.loop && io_start(s.loop, &s.listener, listener, EPOLLIN, on_listener) == 0 &&
        io_start(s.loop, &s.news, news, EPOLLIN, on_news) == 0)
        loop_run(s.loop);
}
