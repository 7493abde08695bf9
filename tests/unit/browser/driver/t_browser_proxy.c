/* SPDX-License-Identifier: MIT */
/*
 * The process between a browser and the network: what it connects, what it refuses, how
 * bytes and ends go through it, and its own end.
 */
#include "browser/driver/proxy.h"

#include "base/err.h"
#include "os/spawn.h"
#include "t.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static pid_t proxy;
static int news;
static uint16_t proxy_port;

/* At a port of its own. */
static int listen_at(const char *address, uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(inet_pton(AF_INET, address, &a.sin_addr), 1);
    CHECK(bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 500) == 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void start(const char *list)
{
    static struct denied d;
    int pair[2], fd = listen_at("127.0.0.1", &proxy_port);
    CHECK_INT(denied_parse(&d, str_of(list), NULL), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    proxy = spawn_copy((int[]){fd, pair[1]}, 2);
    CHECK(proxy >= 0);
    if (proxy == 0) {
        browser_proxy_serve(3, 4, &d);
        _exit(7);
    }
    close(fd);
    close(pair[1]);
    news = pair[0];
}

static void begin(const char *list)
{
    static const char *const variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
                                            "all_proxy", "ALL_PROXY"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        unsetenv(variables[i]);
    start(list);
}

static void end(void)
{
    close(news);
    CHECK_INT(t_reap(proxy), 7 << 8);
}

/* Reads that wait for long are a failure. */
static void patient(int fd)
{
    struct timeval limit = {T_WAIT_MS / 1000, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    patient(fd);
    CHECK_INT(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

/* Says hello, and what it wants; the reply's code. */
static int ask(int fd, const char *host, uint16_t port)
{
    char request[300] = {5, 1, 0, 3, (char)strlen(host)}, reply[10];
    size_t n = 5 + strlen(host);
    memcpy(request + 5, host, strlen(host));
    request[n] = (char)(port >> 8);
    request[n + 1] = (char)port;
    CHECK_INT(write(fd, "\5\1\0", 3), 3);
    CHECK_INT(recv(fd, reply, 2, MSG_WAITALL), 2);
    CHECK(reply[0] == 5 && reply[1] == 0);
    CHECK_INT(write(fd, request, n + 2), n + 2);
    CHECK_INT(recv(fd, reply, 10, MSG_WAITALL), 10);
    CHECK_INT(reply[0], 5);
    return reply[1];
}

static int accept_from(int listener)
{
    patient(listener);
    int fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    patient(fd);
    return fd;
}

/* The next news: of that host. */
static void hears(enum err_code code, const char *host, const char *says)
{
    char message[600] = "";
    patient(news);
    ssize_t n = recv(news, message, sizeof(message) - 1, 0);
    CHECK(n > 1);
    CHECK_STR(err_name((enum err_code)message[0]), err_name(code));
    CHECK_STR(message + 1, host);
    if (!strstr(message + 2 + strlen(host), says))
        T_FAIL("\"%s\" has not \"%s\"", message + 2 + strlen(host), says);
}

static bool ended(int fd)
{
    char c;
    return recv(fd, &c, 1, 0) == 0;
}

TEST(what_is_allowed_goes_through)
{
    uint16_t port;
    char got[6] = "";
    begin("127.0.0.2");
    int listener = listen_at("127.0.0.3", &port), c = connect_to(proxy_port);
    CHECK_INT(ask(c, "127.0.0.3", port), 0);
    int s = accept_from(listener);
    CHECK_INT(write(c, "hello", 5), 5);
    CHECK_INT(recv(s, got, 5, MSG_WAITALL), 5);
    CHECK_STR(got, "hello");
    /* One half ends, the other goes on. */
    shutdown(c, SHUT_WR);
    CHECK(ended(s));
    CHECK_INT(write(s, "again", 5), 5);
    CHECK_INT(recv(c, got, 5, MSG_WAITALL), 5);
    CHECK_STR(got, "again");
    close(s);
    CHECK(ended(c));
    close(c);
    end();
}

TEST(what_is_denied_does_not)
{
    static const char *const hosts[] = {"127.0.0.1",  "localhost", "a.localhost",
                                        "localhost.", "0.0.0.0",   "::ffff:127.0.0.1",
                                        "127.1",      "0x7f.1",    "2130706433"};
    uint16_t port;
    begin("127.0.0.1,::1");
    int listener = listen_at("127.0.0.1", &port);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        int c = connect_to(proxy_port);
        CHECK_INT(ask(c, hosts[i], port), 2);
        CHECK(ended(c));
        close(c);
        hears(ERR_DENIED, hosts[i], "is denied");
    }
    struct pollfd p = {listener, POLLIN, 0};
    CHECK_INT(poll(&p, 1, 0), 0);
    end();
}

TEST(what_fails_says_how)
{
    uint16_t port;
    begin("127.0.0.2");
    close(listen_at("127.0.0.3", &port));
    int c = connect_to(proxy_port);
    CHECK_INT(ask(c, "127.0.0.3", port), 5);
    hears(ERR_GONE, "127.0.0.3", "nothing listens at 127.0.0.3:");
    close(c);
    end();
}

/* Names go to the environment's proxy as addresses, this machine's do not go at all. */
TEST(a_proxy_of_the_environment)
{
    uint16_t port, other;
    char url[64], got[200] = "";
    int listener = listen_at("127.0.0.3", &port), near = listen_at("127.0.0.4", &other);
    snprintf(url, sizeof(url), "http://127.0.0.3:%u", port);
    setenv("https_proxy", url, 1);
    unsetenv("no_proxy");
    unsetenv("NO_PROXY");
    start("192.0.2.1");
    int c = connect_to(proxy_port);
    CHECK_INT(ask(c, "192.0.2.1", 443), 2);
    hears(ERR_DENIED, "192.0.2.1", "192.0.2.1:443 is denied");
    close(c);
    c = connect_to(proxy_port);
    CHECK_INT(ask(c, "127.0.0.4", other), 0);
    close(accept_from(near));
    close(c);
    c = connect_to(proxy_port);
    CHECK_INT(write(c, "\5\1\0\5\1\0\1\xC0\0\2\2\1\xBB", 13), 13);
    int s = accept_from(listener);
    CHECK(recv(s, got, sizeof(got) - 1, 0) > 0);
    CHECK(str_starts(str_of(got), STR("CONNECT 192.0.2.2:443 HTTP/1.1\r\n")));
    close(s);
    close(c);
    end();
}

TEST(bytes_that_are_no_socks)
{
    static const char *const bad[] = {"GET / HTTP/1.1\r\n\r\n", "\4\1\0\x50", "\5\1\2"};
    begin("local");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char got[3];
        int c = connect_to(proxy_port);
        CHECK(write(c, bad[i], i == 1 ? 4 : strlen(bad[i])) > 0);
        ssize_t n = recv(c, got, sizeof(got), MSG_WAITALL);
        CHECK(n <= 0 || (n == 2 && got[0] == 5 && got[1] == (char)0xFF));
        close(c);
    }
    end();
}

/* Each side writes until it is held up, and then nothing of it is missing. */
TEST(a_slow_reader_holds_the_writer_up)
{
    enum { PIECE = 1 << 20 };
    static char piece[PIECE], got[PIECE];
    uint16_t port;
    begin("127.0.0.2");
    int listener = listen_at("127.0.0.3", &port), c = connect_to(proxy_port);
    CHECK_INT(ask(c, "127.0.0.3", port), 0);
    int s = accept_from(listener), sides[2][2] = {{c, s}, {s, c}};
    for (int way = 0; way < 2; way++) {
        size_t sent = 0, read = 0;
        ssize_t n;
        for (size_t i = 0; i < PIECE; i++)
            piece[i] = (char)(i % 251);
        while (sent < 256u << 20 && (n = send(sides[way][0], piece + sent % PIECE,
                                              PIECE - sent % PIECE, MSG_DONTWAIT)) > 0)
            sent += (size_t)n;
        CHECK(sent < 256u << 20);
        shutdown(sides[way][0], SHUT_WR);
        while ((n = recv(sides[way][1], got, PIECE, 0)) > 0) {
            for (ssize_t i = 0; i < n; i++)
                if (got[i] != piece[(read + (size_t)i) % PIECE])
                    T_FAIL("byte %zu is another", read + (size_t)i);
            read += (size_t)n;
        }
        CHECK_INT(n, 0);
        CHECK_INT(read, sent);
    }
    close(c);
    close(s);
    end();
}

/* What broke there breaks here: it must not look whole. */
TEST(a_break_is_no_end)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    uint16_t port;
    char byte;
    begin("127.0.0.2");
    int listener = listen_at("127.0.0.3", &port), c = connect_to(proxy_port);
    CHECK_INT(ask(c, "127.0.0.3", port), 0);
    int s = accept_from(listener);
    setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(s);
    CHECK_INT(recv(c, &byte, 1, 0), -1);
    CHECK_INT(errno, ECONNRESET);
    close(c);
    end();
}

TEST(more_than_it_takes_wait)
{
    static int fds[BROWSER_PROXY_CONNECTIONS + 8];
    uint16_t port;
    begin("127.0.0.2");
    int listener = listen_at("127.0.0.3", &port);
    int one = -1, s = -1;
    char got[2];
    for (int i = 0; i < BROWSER_PROXY_CONNECTIONS; i++) {
        fds[i] = connect_to(proxy_port);
        CHECK_INT(ask(fds[i], "127.0.0.3", port), 0);
        close(s);
        s = accept_from(listener);
    }
    one = connect_to(proxy_port);
    CHECK_INT(write(one, "\5\1\0", 3), 3);
    /* So the loop has turned, and would have seen it. */
    for (int i = 0; i < 3; i++) {
        CHECK_INT(write(fds[BROWSER_PROXY_CONNECTIONS - 1], "x", 1), 1);
        CHECK_INT(recv(s, got, 1, 0), 1);
    }
    CHECK_INT(recv(one, got, 2, MSG_DONTWAIT), -1);
    close(fds[0]);
    CHECK_INT(recv(one, got, 2, MSG_WAITALL), 2);
    for (int i = 1; i < BROWSER_PROXY_CONNECTIONS; i++)
        close(fds[i]);
    close(one);
    close(s);
    end();
}

TEST(who_asks_is_told)
{
    begin("local");
    int c = connect_to(proxy_port);
    CHECK_INT(ask(c, BROWSER_PROXY_PROBE, 80), 4);
    hears(ERR_NONE, BROWSER_PROXY_PROBE, "");
    close(c);
    end();
}

/* Nobody hears the news: they are lost, and connections go on. */
TEST(news_that_nobody_hears)
{
    begin("127.0.0.2");
    for (int i = 0; i < 1000; i++) {
        int c = connect_to(proxy_port);
        CHECK_INT(ask(c, "127.0.0.2", 80), 2);
        close(c);
    }
    hears(ERR_DENIED, "127.0.0.2", "127.0.0.2:80 is denied");
    end();
}

T_MAIN
