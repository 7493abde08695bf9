/* SPDX-License-Identifier: MIT */
/*
 * Dialling to sockets of this machine: names and addresses, proxies that do as
 * they should and otherwise, deadlines, and cancelling at every step.
 */
#include "http/dial.h"

#include "net/trust.h"

#include "t.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct loop *loop;
static struct stream got;
static bool has_stream;
static int dones;
static enum dial_step step;
static struct err error;
static struct buf bytes;

static void on_data(struct stream *s)
{
    CHECK_INT(buf_adds(&bytes, buf_str(&s->in)), 0);
    buf_reset(&s->in);
}

static void on_end(struct stream *s, int errnum)
{
    (void)errnum;
    stream_close(s);
}

static const struct stream_events events = {.on_data = on_data, .on_end = on_end};

static void on_done(struct dial *d, struct stream *s, const struct err *e)
{
    CHECK(dial_owner(d) == &got);
    CHECK(!s == !!e);
    dones++;
    step = dial_step(d);
    if (e) {
        error = *e;
        dial_cancel(d);
        return;
    }
    stream_move(&got, s, &events);
    has_stream = true;
    if (got.in.n > 0)
        on_data(&got);
}

/* ---- a peer: one connection, which may be answered ---- */

static struct peer {
    struct io listener, io;
    int fd;
    struct buf heard;
    const char *answer; /* to the first bytes that end in an empty line */
    bool echo, ended;
} peer;

static void peer_data(struct io *io, uint32_t why)
{
    char some[2000];
    (void)why;
    ssize_t n = read(io->fd, some, sizeof(some));
    if (n <= 0) {
        peer.ended = true;
        io_set(io, 0);
        return;
    }
    CHECK_INT(buf_add(&peer.heard, some, (size_t)n), 0);
    if (peer.answer && str_ends(buf_str(&peer.heard), STR("\r\n\r\n"))) {
        CHECK(write(io->fd, peer.answer, strlen(peer.answer)) > 0);
        peer.answer = NULL;
    } else if (peer.echo) {
        CHECK_INT(write(io->fd, some, (size_t)n), n);
    }
}

static void peer_accept(struct io *io, uint32_t why)
{
    (void)why;
    peer.fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(peer.fd >= 0);
    CHECK_INT(io_start(loop, &peer.io, peer.fd, EPOLLIN, peer_data), 0);
}

/* The port, or 0 where there is no such family. */
static uint16_t listen_at(int family)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool six = family == AF_INET6;
    struct sockaddr *a = six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t n = six ? sizeof(v6) : sizeof(v4);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, a, n) < 0 || listen(fd, 5) < 0 || getsockname(fd, a, &n) < 0)
        return 0;
    CHECK_INT(io_start(loop, &peer.listener, fd, EPOLLIN, peer_accept), 0);
    return ntohs(six ? v6.sin6_port : v4.sin_port);
}

static void begin(void)
{
    loop = loop_new();
    CHECK(loop != NULL);
    peer = (struct peer){.fd = -1, .io.fd = -1, .listener.fd = -1};
    buf_init(&peer.heard, 100000);
    buf_init(&bytes, 100000);
}

static void on_turn(struct task *t)
{
    (void)t;
    loop_stop(loop);
}

static void turn_once(void)
{
    struct task t;
    task_init(&t, on_turn);
    task_defer(loop, &t);
    CHECK_INT(loop_run(loop), 0);
}

#define UNTIL(cond) \
    do { \
        for (int64_t t_end = t_now_ms() + T_WAIT_MS; !(cond); turn_once()) \
            if (t_now_ms() > t_end) \
                T_FAIL("never came true: %s; %s", #cond, error.text); \
    } while (0)

/* No helper is left, also none that is only to be waited for by the loop. */
static bool helpers_gone(void)
{
    siginfo_t si;
    return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static void finish(void)
{
    UNTIL(helpers_gone());
    if (has_stream)
        stream_close(&got);
    if (peer.fd >= 0) {
        io_stop(&peer.io);
        close(peer.fd);
    }
    if (peer.listener.fd >= 0) {
        int fd = peer.listener.fd;
        io_stop(&peer.listener);
        close(fd);
    }
    buf_release(&peer.heard);
    buf_release(&bytes);
    turn_once();
    turn_once();
    loop_free(loop);
}

static struct tls_client *tls; /* NULL: plain */

static struct dial *dial(const char *host, uint16_t port, const struct proxy *proxy,
                         int ms)
{
    struct err e = ERR_INIT;
    struct dial_spec spec = {.host = str_of(host),
                             .port = port,
                             .proxy = proxy,
                             .tls = tls,
                             .timeout_ms = ms,
                             .in_max = 10000,
                             .out_max = 10000,
                             .on_done = on_done,
                             .owner = &got};
    struct dial *d = dial_start(loop, &spec, &e);
    if (!d)
        T_FAIL("%s", e.text);
    CHECK_INT(dones, 0);
    return d;
}

static void check_error(enum err_code code, const char *says)
{
    UNTIL(dones);
    CHECK(!has_stream);
    CHECK_STR(err_name(error.code), err_name(code));
    if (!strstr(error.text, says))
        T_FAIL("\"%s\" has not \"%s\"", error.text, says);
    turn_once();
    CHECK_INT(dones, 1);
}

static void check_echo(void)
{
    int on = 0;
    socklen_t n = sizeof(on);
    UNTIL(dones);
    CHECK_STR(error.text, "");
    CHECK(has_stream);
    CHECK(getsockopt(got.io.fd, IPPROTO_TCP, TCP_NODELAY, &on, &n) == 0 && on);
    CHECK(getsockopt(got.io.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &n) == 0 && on);
    CHECK_INT(stream_write(&got, STR("hello")), 0);
    UNTIL(bytes.n == 5);
    CHECK_MEM(bytes.p, bytes.n, "hello");
}

/* ---- addresses ---- */

TEST(an_address)
{
    begin();
    peer.echo = true;
    dial("127.0.0.1", listen_at(AF_INET), NULL, 0);
    check_echo();
    CHECK_INT(step, DIAL_GREET);
    finish();
}

TEST(localhost_without_its_first_address)
{
    begin();
    peer.echo = true;
    uint16_t port = listen_at(AF_INET6);
    if (!port)
        T_SKIP("no IPv6 here");
    dial("localhost", port, NULL, 0);
    check_echo();
    finish();
}

TEST(a_name_that_is_looked_up)
{
    char name[256] = "";
    struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    gethostname(name, sizeof(name) - 1);
    if (getaddrinfo(name, NULL, &want, &found) != 0)
        T_SKIP("this machine's name has no address");
    begin();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t n = sizeof(any);
    CHECK(bind(fd, (struct sockaddr *)&any, n) == 0 && listen(fd, 5) == 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&any, &n), 0);
    CHECK_INT(io_start(loop, &peer.listener, fd, EPOLLIN, peer_accept), 0);
    peer.echo = true;
    dial(name, ntohs(any.sin_port), NULL, 0);
    check_echo();
    freeaddrinfo(found);
    finish();
}

TEST(nobody_listens)
{
    begin();
    uint16_t port = listen_at(AF_INET);
    int fd = peer.listener.fd;
    io_stop(&peer.listener);
    peer.listener.fd = -1;
    close(fd);
    dial("127.0.0.1", port, NULL, 0);
    check_error(ERR_GONE, "nothing listens at 127.0.0.1:");
    CHECK_INT(step, DIAL_CONNECT);
    finish();
}

TEST(what_is_no_address)
{
    struct err e = ERR_INIT;
    char name[400];
    memset(name, 'a', sizeof(name));
    struct dial_spec spec = {.host = str_n(name, 256), .port = 1};
    begin();
    CHECK(dial_start(loop, &spec, &e) == NULL);
    CHECK_INT(e.code, ERR_INVALID);
    spec.host.n = 0;
    CHECK(dial_start(loop, &spec, &e) == NULL);
    spec = (struct dial_spec){.host = STR("a\0b"), .port = 1};
    CHECK(dial_start(loop, &spec, &e) == NULL);
    spec = (struct dial_spec){.host = STR("a")};
    CHECK(dial_start(loop, &spec, &e) == NULL);
    finish();
}

TEST(a_name_that_nobody_has)
{
    begin();
    dial("a.name.invalid", 1, NULL, 0);
    UNTIL(dones);
    CHECK(!has_stream);
    CHECK_INT(step, DIAL_RESOLVE);
    finish();
}

TEST(cancelled_at_any_time)
{
    for (int turns = 0; turns < 8; turns++) {
        begin();
        struct dial *d = dial("a.name.invalid", 1, NULL, 0);
        for (int i = 0; i < turns && !dones; i++)
            turn_once();
        if (!dones)
            dial_cancel(d);
        int before = dones;
        turn_once();
        CHECK_INT(dones, before);
        dones = 0;
        finish();
    }
}

/* ---- proxies ---- */

static struct proxy proxy_here(const char *auth)
{
    struct proxy p = {.host = "127.0.0.1", .port = listen_at(AF_INET)};
    snprintf(p.auth, sizeof(p.auth), "%s", auth);
    return p;
}

TEST(a_proxy_is_asked_and_then_out_of_the_way)
{
    begin();
    struct proxy p = proxy_here("Basic eDp5");
    peer.answer = "HTTP/1.1 200 Connected\r\n\r\nfirst";
    peer.echo = true;
    dial("far.test", 443, &p, 0);
    UNTIL(dones);
    CHECK_STR(error.text, "");
    CHECK_STR(buf_z(&peer.heard),
              "CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n"
              "Proxy-Authorization: Basic eDp5\r\n\r\n");
    UNTIL(bytes.n == 5);
    CHECK_INT(stream_write(&got, STR("hello")), 0);
    UNTIL(bytes.n == 10);
    CHECK_MEM(bytes.p, bytes.n, "firsthello");
    finish();
}

static void begin_tls(void)
{
    struct err e = ERR_INIT;
    struct trust_where w = {0};
    struct trust *trust = trust_new(&w, &e);
    tls = trust ? tls_client_new(trust, NULL, &e) : NULL;
    if (!tls)
        T_FAIL("%s", e.text);
    begin();
}

TEST(a_handshake_through_a_proxy_is_cancelled)
{
    static const char asked[] =
        "CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n\r\n";
    begin_tls();
    struct proxy p = proxy_here("");
    peer.answer = "HTTP/1.1 200 Connected\r\n\r\n";
    struct dial *d = dial("far.test", 443, &p, 0);
    UNTIL(peer.heard.n > sizeof(asked));
    CHECK_MEM(peer.heard.p, sizeof(asked) - 1, asked);
    CHECK_INT(peer.heard.p[sizeof(asked) - 1], 0x16); /* a record of a handshake */
    dial_cancel(d);
    UNTIL(peer.ended);
    CHECK_INT(dones, 0);
    finish();
    tls_client_free(tls);
}

/* The peer accepts, and says nothing of TLS: the next address is not for that. */
TEST(an_address_that_is_connected_to_ends_the_search)
{
    begin_tls();
    uint16_t port = listen_at(AF_INET);
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                              .sin6_port = htons(port)};
    int second = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (second < 0 || bind(second, (struct sockaddr *)&v6, sizeof(v6)) < 0 ||
        listen(second, 5) < 0)
        T_SKIP("no IPv6 here, or not this port of it");
    dial("localhost", port, NULL, 2 * DIAL_NEXT_MS);
    check_error(ERR_TIMEOUT, "the TLS handshake was not finished");
    CHECK(accept(second, NULL, NULL) < 0 && errno == EAGAIN);
    close(second);
    finish();
    tls_client_free(tls);
}

TEST(a_proxy_that_says_more_than_its_answer)
{
    begin_tls();
    struct proxy p = proxy_here("");
    peer.answer = "HTTP/1.1 200 Connected\r\n\r\nfirst";
    dial("far.test", 443, &p, 0);
    check_error(ERR_INVALID, "there are bytes behind its answer");
    CHECK_INT(step, DIAL_GREET);
    UNTIL(peer.ended);
    finish();
    tls_client_free(tls);
}

static void check_proxy(const char *answer, enum err_code code, const char *says)
{
    begin();
    struct proxy p = proxy_here("");
    peer.answer = answer;
    dial("::2", 443, &p, 0);
    check_error(code, says);
    CHECK_INT(step, DIAL_TUNNEL);
    CHECK(strstr(buf_z(&peer.heard), "CONNECT [::2]:443 HTTP/1.1"));
    finish();
}

static unsigned judged; /* addresses */

/* 127.0.0.1 is one of those that are not. */
static bool allow(void *owner, const struct sockaddr *sa)
{
    CHECK(owner == &got);
    judged++;
    return sa->sa_family != AF_INET ||
           ((const struct sockaddr_in *)sa)->sin_addr.s_addr != htonl(INADDR_LOOPBACK);
}

static void dial_judged(const char *host, uint16_t port, const struct proxy *proxy)
{
    struct err e = ERR_INIT;
    struct dial_spec spec = {.host = str_of(host),
                             .port = port,
                             .proxy = proxy,
                             .in_max = 10000,
                             .out_max = 10000,
                             .allow = allow,
                             .on_done = on_done,
                             .owner = &got};
    if (!dial_start(loop, &spec, &e))
        T_FAIL("%s", e.text);
}

TEST(an_address_that_is_denied)
{
    begin();
    uint16_t port = listen_at(AF_INET);
    dial_judged("127.0.0.1", port, NULL);
    check_error(ERR_DENIED, "cannot connect to 127.0.0.1: its address 127.0.0.1:");
    CHECK(strstr(error.text, "is denied"));
    CHECK_INT(peer.fd, -1);
    CHECK_INT(judged, 1);
    finish();
}

TEST(the_next_address_is_taken_when_one_is_denied)
{
    begin();
    peer.echo = true;
    uint16_t port = listen_at(AF_INET6);
    if (!port)
        T_SKIP("no IPv6 here");
    dial_judged("localhost", port, NULL);
    check_echo();
    CHECK_INT(judged, 2);
    finish();
}

/* The proxy is at an address that is denied itself. */
TEST(a_proxy_is_asked_for_an_address_that_was_judged)
{
    begin();
    struct proxy p = proxy_here("");
    peer.answer = "HTTP/1.1 200 Connected\r\n\r\n";
    dial_judged("127.0.0.9", 80, &p);
    UNTIL(dones);
    CHECK_STR(error.text, "");
    CHECK_STR(buf_z(&peer.heard),
              "CONNECT 127.0.0.9:80 HTTP/1.1\r\nHost: 127.0.0.9:80\r\n\r\n");
    CHECK_INT(judged, 1);
    finish();
}

TEST(a_name_is_not_left_to_a_proxy_where_addresses_are_denied)
{
    begin();
    struct proxy p = proxy_here("");
    peer.answer = "HTTP/1.1 200 Connected\r\n\r\n";
    dial_judged("localhost", 443, &p); /* ::1 is allowed */
    UNTIL(dones);
    CHECK_STR(error.text, "");
    CHECK(str_starts(buf_str(&peer.heard), STR("CONNECT [::1]:443 HTTP/1.1\r\n")));
    CHECK_INT(judged, 2);
    finish();
}

TEST(a_proxy_is_not_asked_for_what_is_denied)
{
    begin();
    struct proxy p = proxy_here("");
    dial_judged("127.0.0.1", 443, &p);
    check_error(ERR_DENIED, "cannot connect to 127.0.0.1: its address 127.0.0.1:443 is");
    CHECK_INT(peer.fd, -1);
    finish();
}

TEST(a_name_that_only_the_proxy_may_know)
{
    begin();
    struct proxy p = proxy_here("");
    dial_judged("a.name.invalid", 443, &p);
    UNTIL(dones);
    CHECK(!has_stream);
    CHECK(strstr(error.text, "looked up here and not by the proxy"));
    CHECK_INT(peer.fd, -1);
    finish();
}

TEST(a_proxy_that_wants_a_password)
{
    check_proxy("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n", ERR_DENIED,
                "407; it wants a name and a password");
}
TEST(a_proxy_that_refuses)
{
    check_proxy("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", ERR_DENIED,
                "refused to connect to ::2:443: 403");
}
TEST(a_proxy_that_is_none)
{
    check_proxy("SSH-2.0-x\r\n\r\n", ERR_INVALID, "through the proxy 127.0.0.1:");
}

TEST(a_proxy_that_never_answers)
{
    begin();
    struct proxy p = proxy_here("");
    dial("far.test", 443, &p, 40);
    check_error(ERR_TIMEOUT, "far.test");
    finish();
}

T_MAIN
