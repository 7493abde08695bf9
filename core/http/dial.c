/* SPDX-License-Identifier: MIT */
/*
 * A connection in steps:
 *
 *   RESOLVE ─▶ CONNECT ─▶ [TUNNEL] ─▶ [GREET] ─▶ OVER
 *      └──────────┴──────────┴──────────┴── failed, late, cancelled ──▶ OVER
 *
 * With both a proxy and `allow`, RESOLVE is done twice: for the host, whose address is
 * then sent to the proxy, and for the proxy.
 */
#include "http/dial.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "http/httpc.h"
#include "io/job.h"
#include "net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { HOST_MAX = 256 };
enum dial_state {
    RESOLVE = DIAL_RESOLVE,
    CONNECT = DIAL_CONNECT,
    TUNNEL = DIAL_TUNNEL,
    GREET = DIAL_GREET,
    OVER
};

/* One address under way. */
struct attempt {
    struct io io;
    struct dial *d;
};

struct dial {
    struct loop *loop;
    struct dial_spec spec;
    char host[HOST_MAX];           /* the host to connect to */
    char peer[HOST_MAX];           /* the host of the connection: that, or the proxy */
    uint16_t port;                 /* of peer */
    char target[INET6_ADDRSTRLEN]; /* the address sent to the proxy; "": host */
    int errnum;
    enum tls_fault fault;
    struct proxy proxy;
    enum dial_state state, last; /* last: before OVER */
    struct job *job;
    struct task begin;
    struct timer late, next;
    struct addr addrs[DIAL_ADDRESSES_MAX];
    struct attempt attempts[DIAL_ADDRESSES_MAX];
    unsigned addrs_n, tried, failed;
    struct stream s;
    struct httpc http;
    bool has_stream, has_http;
    bool older; /* TLS by tls_connect_older */
    struct err e;
};

/* ---- ends ---- */

static void close_attempt(struct attempt *a)
{
    int fd = a->io.fd;
    if (fd < 0)
        return;
    io_stop(&a->io);
    a->io.fd = -1;
    close(fd);
}

static void stop_attempts(struct dial *d)
{
    timer_stop(&d->next);
    for (unsigned i = 0; i < d->tried; i++)
        close_attempt(&d->attempts[i]);
}

static void release(struct dial *d)
{
    d->state = OVER;
    stop_attempts(d);
    timer_stop(&d->late);
    task_cancel(&d->begin);
    if (d->job)
        job_cancel(d->job);
    d->job = NULL;
    if (d->has_http)
        httpc_release(&d->http);
    if (d->has_stream)
        stream_close(&d->s);
    loop_bury(d->loop, d, free);
}

/* Fails the dial for the reason in d->e. */
static void fail(struct dial *d)
{
    if (d->state == OVER)
        return;
    d->last = d->state;
    d->state = OVER;
    d->spec.on_done(d, NULL, &d->e);
    release(d);
}

static void succeed(struct dial *d)
{
    ASSERT(d->state != OVER); /* on_done is called once */
    timer_stop(&d->late);
    d->last = d->state;
    d->state = OVER;
    d->spec.on_done(d, &d->s, NULL);
    release(d);
}

static void on_late(struct timer *t)
{
    static const char *const doing[] = {
        [RESOLVE] = "its address was not found",
        [CONNECT] = "it did not answer",
        [TUNNEL] = "the proxy has not connected us",
        [GREET] = "the TLS handshake was not finished",
        [OVER] = "",
    };
    struct dial *d = container_of(t, struct dial, late);
    err_set(&d->e, ERR_TIMEOUT, "cannot connect to %s:%u: %s within %d ms", d->host,
            d->spec.port, doing[d->state], d->spec.timeout_ms);
    fail(d);
}

/* ---- TLS ---- */

static void start_connecting(struct dial *d);

/* Connects again from the beginning, the tunnel included. */
static void connect_again(struct dial *d)
{
    d->older = true;
    d->has_stream = false;
    stream_close(&d->s);
    stop_attempts(d);
    d->tried = d->failed = 0;
    start_connecting(d);
}

static void on_end(struct stream *s, int errnum)
{
    struct dial *d = container_of(s, struct dial, s);
    const struct err *e = stream_error(s);
    if (tls_wants_older(s)) {
        connect_again(d);
        return;
    }
    d->fault = tls_fault(s);
    if (e)
        d->e = *e;
    else
        err_sys(&d->e, errnum ? errnum : ECONNRESET, "cannot connect to %s:%u", d->host,
                d->spec.port);
    fail(d);
}

static void on_data(struct stream *s) { (void)s; }

static const struct stream_events stream_calls = {.on_data = on_data, .on_end = on_end};

static void on_greeted(struct stream *s) { succeed(container_of(s, struct dial, s)); }

static void greet(struct dial *d)
{
    d->state = GREET;
    if (!d->spec.tls) {
        succeed(d);
        return;
    }
    /* A TLS server does not send first, so these bytes are the proxy's own. */
    if (d->s.in.n > 0) {
        err_set(&d->e, ERR_INVALID,
                "cannot reach %s:%u through the proxy %s:%u: there are bytes behind its "
                "answer",
                d->host, d->spec.port, d->peer, d->port);
        fail(d);
        return;
    }
    int rc = (d->older ? tls_connect_older : tls_connect)(
        d->spec.tls, &d->s, d->host, d->spec.timeout_ms, on_greeted, &d->e);
    if (rc < 0)
        fail(d);
}

/* ---- a tunnel through a proxy ---- */

static const char *advice(int status)
{
    if (status == 407)
        return "; it wants a name and a password: http://NAME:PASSWORD@HOST in the "
               "proxy's variable";
    if (status == 403)
        return "; it does not allow that host or port";
    return "";
}

static void on_tunnel(struct httpc *c, const struct err *e)
{
    struct dial *d = container_of(c, struct dial, http);
    int status = c->head.status;
    if (e) {
        err_set(&d->e, e->code, "cannot reach %s:%u through the proxy %s:%u: %s", d->host,
                d->spec.port, d->peer, d->port, e->text);
        fail(d);
    } else if (status < 200 || status > 299) {
        err_set(&d->e, ERR_DENIED, "the proxy %s:%u refused to connect to %s:%u: %d%s",
                d->peer, d->port, d->host, d->spec.port, status, advice(status));
        fail(d);
    } else {
        httpc_leave(&d->http, &d->s, &stream_calls);
        d->has_stream = true;
        greet(d);
    }
}

static const struct httpc_events http_calls = {.on_done = on_tunnel};

static void ask_proxy(struct dial *d)
{
    struct buf target = BUF_INIT(HOST_MAX + 16), fields = BUF_INIT(1024);
    const char *host = d->target[0] ? d->target : d->host;
    bool v6 = strchr(host, ':') != NULL;
    buf_addf(&target, "%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "", d->spec.port);
    if (d->proxy.auth[0])
        httpc_add_field(&fields, "Proxy-Authorization", str_of(d->proxy.auth));
    d->state = TUNNEL;
    d->has_stream = false;
    d->has_http = true;
    httpc_start(&d->http, &d->s, d->spec.timeout_ms, &http_calls);
    struct httpc_request q = {.method = "CONNECT",
                              .target = buf_str(&target),
                              .host = buf_str(&target),
                              .fields = buf_str(&fields)};
    int rc = httpc_send(&d->http, &q, &d->e);
    buf_release(&target);
    buf_release(&fields);
    if (rc < 0)
        fail(d);
}

/* ---- connections ---- */

static void try_next(struct dial *d);

static void connected(struct dial *d, struct attempt *a)
{
    int fd = a->io.fd, on = 1;
    io_stop(&a->io);
    a->io.fd = -1;
    stop_attempts(d);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (stream_open(&d->s, d->loop, fd, d->spec.in_max, d->spec.out_max, &stream_calls) <
        0) {
        err_sys(&d->e, errno, "cannot watch the connection to %s:%u", d->peer, d->port);
        close(fd);
        fail(d);
        return;
    }
    d->has_stream = true;
    if (d->spec.proxy)
        ask_proxy(d);
    else
        greet(d);
}

/* Counts a failed attempt, for the reason in d->e, and tries the next address. */
static void try_others(struct dial *d)
{
    if (++d->failed == d->addrs_n)
        fail(d);
    else
        try_next(d);
}

static void attempt_failed(struct dial *d, const struct addr *a, int why)
{
    struct buf text = BUF_INIT(ADDR_TEXT_MAX);
    addr_print(a, &text);
    d->errnum = why;
    const char *whom = d->spec.proxy ? "the proxy " : "";
    if (why == ECONNREFUSED)
        err_set(&d->e, ERR_GONE, "cannot connect to %s%s: nothing listens at %s", whom,
                d->peer, buf_z(&text));
    else
        err_sys(&d->e, why, "cannot connect to %s%s at %s", whom, d->peer, buf_z(&text));
    buf_release(&text);
    try_others(d);
}

/* The address of a proxy is not judged; the one sent to the proxy was. */
static bool is_allowed(struct dial *d, const struct addr *a)
{
    struct buf text = BUF_INIT(ADDR_TEXT_MAX);
    if (!d->spec.allow || d->target[0] ||
        d->spec.allow(d->spec.owner, (const struct sockaddr *)&a->ss))
        return true;
    addr_print(a, &text);
    err_set(&d->e, ERR_DENIED, "cannot connect to %s: its address %s is denied", d->host,
            buf_z(&text));
    buf_release(&text);
    return false;
}

static void on_attempt(struct io *io, uint32_t events)
{
    struct attempt *a = container_of(io, struct attempt, io);
    struct dial *d = a->d;
    int why = 0;
    socklen_t n = sizeof(why);
    (void)events;
    if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
        why = errno;
    if (why == 0) {
        connected(d, a);
        return;
    }
    close_attempt(a);
    attempt_failed(d, &d->addrs[a - d->attempts], why);
}

static void on_next(struct timer *t) { try_next(container_of(t, struct dial, next)); }

static void try_next(struct dial *d)
{
    if (d->tried == d->addrs_n)
        return;
    const struct addr *to = &d->addrs[d->tried];
    struct attempt *a = &d->attempts[d->tried++];
    *a = (struct attempt){.d = d, .io.fd = -1};
    if (!is_allowed(d, to)) {
        try_others(d);
        return;
    }
    int fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&to->ss, to->len);
    if (rc < 0 && fd >= 0 && errno == EINPROGRESS)
        rc = 0;
    if (rc == 0)
        rc = io_start(d->loop, &a->io, fd, EPOLLOUT, on_attempt);
    if (rc < 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        a->io.fd = -1;
        attempt_failed(d, to, why);
        return;
    }
    timer_begin(d->loop, &d->next, DIAL_NEXT_MS, on_next);
}

static void start_connecting(struct dial *d)
{
    d->state = CONNECT;
    try_next(d);
}

/* ---- addresses ---- */

static void add_address(struct dial *d, const struct sockaddr *sa, size_t n)
{
    if (d->addrs_n == DIAL_ADDRESSES_MAX || n > sizeof(d->addrs[0].ss))
        return;
    struct addr *a = &d->addrs[d->addrs_n++];
    *a = (struct addr){.len = (socklen_t)n};
    memcpy(&a->ss, sa, n);
}

static bool add_literal(struct dial *d, const char *host)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(d->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(d->port)};
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        add_address(d, (struct sockaddr *)&v4, sizeof(v4));
    else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
        add_address(d, (struct sockaddr *)&v6, sizeof(v6));
    return d->addrs_n > 0;
}

/* Runs in the job. */
static int look_up(void *arg, const struct job_child *c, struct err *e)
{
    const struct dial *d = arg;
    struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[8];
    snprintf(port, sizeof(port), "%u", d->port);
    int rc = getaddrinfo(d->peer, port, &want, &found);
    if (rc == EAI_NONAME || rc == EAI_NODATA)
        return err_set(e, ERR_NOTFOUND, "cannot connect to %s: there is no such name",
                       d->peer);
    if (rc == EAI_AGAIN)
        return err_set(e, ERR_IO,
                       "cannot connect to %s: the name servers of this machine "
                       "(/etc/resolv.conf) do not answer",
                       d->peer);
    if (rc != 0)
        return err_set(e, ERR_IO, "cannot find the address of %s: %s", d->peer,
                       gai_strerror(rc));
    for (struct addrinfo *a = found; a; a = a->ai_next) {
        struct addr one = {.len = a->ai_addrlen};
        memcpy(&one.ss, a->ai_addr, a->ai_addrlen);
        if (job_put(c, str_n(&one, sizeof(one))) < 0)
            return err_sys(e, errno, "cannot tell the address of %s", d->peer);
    }
    freeaddrinfo(found);
    return 0;
}

static void on_addresses(struct job *j, struct buf *in)
{
    struct dial *d = job_owner(j);
    struct addr one;
    while (in->n >= sizeof(one)) {
        memcpy(&one, in->p, sizeof(one));
        add_address(d, (struct sockaddr *)&one.ss, one.len);
        buf_consume(in, sizeof(one));
    }
}

static void find_addresses(struct dial *d);

static bool is_judging(const struct dial *d)
{
    return d->spec.proxy && d->spec.allow && !d->target[0];
}

/*
 * These are addresses of the host: the proxy gets an allowed one, and is resolved next.
 */
static void choose_target(struct dial *d)
{
    unsigned i = 0;
    while (i < d->addrs_n && !is_allowed(d, &d->addrs[i]))
        i++;
    if (i == d->addrs_n) {
        fail(d);
        return;
    }
    const struct sockaddr_storage *ss = &d->addrs[i].ss;
    inet_ntop(ss->ss_family,
              ss->ss_family == AF_INET
                  ? (const void *)&((const struct sockaddr_in *)ss)->sin_addr
                  : (const void *)&((const struct sockaddr_in6 *)ss)->sin6_addr,
              d->target, sizeof(d->target));
    memcpy(d->peer, d->proxy.host, HOST_MAX);
    d->port = d->proxy.port;
    d->addrs_n = 0;
    find_addresses(d);
}

static void have_addresses(struct dial *d)
{
    if (is_judging(d))
        choose_target(d);
    else
        start_connecting(d);
}

static void on_looked_up(struct job *j, const struct err *e)
{
    struct dial *d = job_owner(j);
    d->job = NULL;
    if (e->code == ERR_NONE && d->addrs_n > 0) {
        have_addresses(d);
        return;
    }
    d->e = *e;
    if (e->code == ERR_NONE)
        err_set(&d->e, ERR_NOTFOUND, "cannot connect to %s: it has no address", d->peer);
    else if (is_judging(d))
        err_set(&d->e, e->code,
                "%.350s (some addresses are denied, so it is looked up here and not by "
                "the proxy)",
                e->text);
    fail(d);
}

static const struct job_events job_calls = {.on_data = on_addresses,
                                            .on_done = on_looked_up};

static void find_addresses(struct dial *d)
{
    bool local = strcmp(d->peer, "localhost") == 0; /* RFC 6761 6.3 */
    if (add_literal(d, local ? "127.0.0.1" : d->peer)) {
        if (local)
            add_literal(d, "::1");
        have_addresses(d);
        return;
    }
    struct job_spec spec = {.what = "looking up a name",
                            .fn = look_up,
                            .arg = d,
                            .ev = &job_calls,
                            .owner = d};
    d->job = job_start(d->loop, &spec, &d->e);
    if (!d->job)
        fail(d);
}

static void on_begin(struct task *t)
{
    find_addresses(container_of(t, struct dial, begin));
}

/* ---- from outside ---- */

struct dial *dial_start(struct loop *l, const struct dial_spec *spec, struct err *e)
{
    if (spec->host.n == 0 || spec->host.n >= HOST_MAX || !spec->port ||
        memchr(spec->host.p, 0, spec->host.n)) {
        err_set(e, ERR_INVALID,
                "cannot connect to \"%.*s\" port %u: that is not an address",
                (int)(spec->host.n < 200 ? spec->host.n : 200), spec->host.p, spec->port);
        return NULL;
    }
    struct dial *d = xnew(struct dial);
    d->loop = l;
    d->spec = *spec;
    if (d->spec.timeout_ms <= 0)
        d->spec.timeout_ms = LIMIT_DIAL_MS;
    memcpy(d->host, spec->host.p, spec->host.n);
    if (spec->proxy) {
        d->proxy = *spec->proxy;
        d->spec.proxy = &d->proxy;
    }
    bool direct = !d->spec.proxy || is_judging(d);
    memcpy(d->peer, direct ? d->host : d->proxy.host, HOST_MAX);
    d->port = direct ? spec->port : d->proxy.port;
    task_init(&d->begin, on_begin);
    task_defer(l, &d->begin);
    timer_begin(l, &d->late, d->spec.timeout_ms, on_late);
    return d;
}

void *dial_owner(const struct dial *d) { return d->spec.owner; }

enum dial_step dial_step(const struct dial *d) { return (enum dial_step)d->last; }

int dial_errno(const struct dial *d) { return d->errnum; }

enum tls_fault dial_fault(const struct dial *d) { return d->fault; }

void dial_cancel(struct dial *d)
{
    if (d->state != OVER)
        release(d);
}
