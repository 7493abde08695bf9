/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server by its bytes: the routes of tests/lib/echo.h in a child, raw
 * sockets here. What two servers could read differently is refused, whatever is
 * cut wherever it may be, and no answer is lost or told to be whole when it was.
 */
#include "echo.h"

#include "net/addr.h"

#include "t.h"
#include "t_kernel.h"

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- the server ---- */

static struct server {
    pid_t pid;
    int control; /* closing it is the order to drain */
    struct addr tcp, local;
} srv;

static struct httpd_config limits; /* set before start */
static const char *file_path;
static rlim_t files_max;

static struct echo echo;

static void on_drained(void *arg) { loop_stop(arg); }

static void on_control(struct io *io, uint32_t events)
{
    struct loop *l = io->loop;
    (void)events;
    io_stop(io);
    httpd_drain(echo.httpd, on_drained, l);
}

static void serve(int control, int tcp, int local)
{
    struct io io;
    struct loop *l = loop_new();
    echo_open(&echo, l, limits, file_path);
    if (httpd_listen(echo.httpd, tcp) < 0 || httpd_listen(echo.httpd, local) < 0 ||
        io_start(l, &io, control, EPOLLIN, on_control) < 0)
        _exit(1);
    if (files_max) {
        struct rlimit r = {files_max, files_max};
        setrlimit(RLIMIT_NOFILE, &r);
    }
    int rc = loop_run(l);
    echo_close(&echo);
    loop_free(l);
    close(control);
    exit(rc < 0);
}

static void start(void)
{
    int p[2];
    struct err e = ERR_INIT;
    struct buf path = BUF_INIT(300);
    buf_addf(&path, "unix:%s/sock", t_dir());
    CHECK_INT(pipe2(p, O_CLOEXEC), 0);
    CHECK_INT(addr_parse(&srv.tcp, STR("127.0.0.1:0"), &e), 0);
    CHECK_INT(addr_parse(&srv.local, buf_str(&path), &e), 0);
    int tcp = addr_listen(&srv.tcp, &e), local = addr_listen(&srv.local, &e);
    CHECK(tcp >= 0 && local >= 0);
    CHECK_INT(addr_of(tcp, &srv.tcp), 0);
    srv.pid = t_fork();
    if (srv.pid == 0) {
        close(p[1]);
        buf_release(&path);
        serve(p[0], tcp, local);
    }
    close(p[0]);
    close(tcp);
    close(local);
    buf_release(&path);
    srv.control = p[1];
}

static void finish(void)
{
    close(srv.control);
    CHECK_INT(t_reap(srv.pid), 0);
}

/* ---- the client ---- */

static int dial(const struct addr *a)
{
    int fd = socket(a->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&a->ss, a->len) < 0)
        T_FAIL("connect: %s", strerror(errno));
    return fd;
}

static int dial_tcp(void) { return dial(&srv.tcp); }
static int dial_local(void) { return dial(&srv.local); }

/* A connection that takes little at once. */
static int dial_narrow(void)
{
    int small = 4096, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    CHECK_INT(connect(fd, (const struct sockaddr *)&srv.tcp.ss, srv.tcp.len), 0);
    return fd;
}

static void say_n(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t some = send(fd, p, n, MSG_NOSIGNAL);
        if (some < 0)
            return; /* what it has said before hanging up is what counts */
        p += some;
        n -= (size_t)some;
    }
}

static void say(int fd, const char *text) { say_n(fd, text, strlen(text)); }

/* The server has read all of it: unix sockets count what is unread. */
static void is_read(int fd)
{
    int unread = 1;
    int64_t end = t_now_ms() + T_WAIT_MS;
    while (ioctl(fd, TIOCOUTQ, &unread) == 0 && unread > 0) {
        if (t_now_ms() > end)
            T_FAIL("%d bytes are not read", unread);
        sched_yield();
    }
}

static void dribble(int fd, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        say_n(fd, p + i, 1);
        is_read(fd);
    }
}

/* Closes at once, with a reset. */
static void hang_up(int fd)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
}

static bool readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

/* Everything up to the end, or to n bytes. -1: reset. */
static struct buf heard;
static int hear(int fd, size_t n)
{
    buf_release(&heard);
    buf_init(&heard, 64 << 20);
    while (heard.n < n) {
        char some[65536];
        size_t most = n - heard.n < sizeof(some) ? n - heard.n : sizeof(some);
        if (!readable(fd, T_WAIT_MS))
            T_FAIL("nothing more after: %.300s", buf_z(&heard));
        ssize_t got = read(fd, some, most);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        CHECK_INT(buf_add(&heard, some, (size_t)got), 0);
    }
    return 0;
}

static int hear_all(int fd) { return hear(fd, SIZE_MAX); }

/* One answer with a length; its body. */
static struct reply {
    int status;
    char head[8192];
    struct buf body;
} reply;

static void hear_head(int fd)
{
    size_t n = 0;
    while (n < 4 || memcmp(reply.head + n - 4, "\r\n\r\n", 4) != 0) {
        if (n == sizeof(reply.head) - 1)
            T_FAIL("a head without an end");
        if (!readable(fd, T_WAIT_MS) || read(fd, reply.head + n, 1) != 1)
            T_FAIL("no whole head: %.*s", (int)n, reply.head);
        n++;
    }
    reply.head[n] = 0;
    reply.status = (int)strtol(reply.head + strlen("HTTP/1.1 "), NULL, 10);
}

static void hear_body(int fd, size_t n)
{
    CHECK_INT(hear(fd, n), 0);
    CHECK_INT(heard.n, n);
    buf_release(&reply.body);
    reply.body = heard;
    heard = (struct buf){0};
}

static void hear_reply(int fd)
{
    static const char field[] = "Content-Length: ";
    hear_head(fd);
    const char *length = strstr(reply.head, field);
    hear_body(fd, length ? (size_t)strtol(length + strlen(field), NULL, 10) : 0);
}

/* The bytes of a chunked answer, whose framing is checked. false: cut off. */
static bool hear_chunks(int fd)
{
    struct buf all = BUF_INIT(64 << 20);
    for (;;) {
        char line[32];
        size_t n = 0;
        while (n < 2 || line[n - 2] != '\r' || line[n - 1] != '\n') {
            CHECK(n < sizeof(line) - 1);
            if (!readable(fd, T_WAIT_MS) || read(fd, line + n, 1) != 1) {
                buf_release(&all);
                return false;
            }
            n++;
        }
        line[n] = 0;
        size_t size = (size_t)strtol(line, NULL, 16);
        CHECK_INT(hear(fd, size + 2), 0);
        CHECK_INT(heard.n, size + 2);
        CHECK(memcmp(heard.p + size, "\r\n", 2) == 0);
        if (size == 0)
            break;
        buf_add(&all, heard.p, size);
    }
    buf_release(&reply.body);
    reply.body = all;
    return true;
}

static bool ended(int fd)
{
    char c;
    return readable(fd, T_WAIT_MS) && read(fd, &c, 1) == 0;
}

#define IS_BODY(text) CHECK_MEM(reply.body.p, reply.body.n, text)
#define HAS(text) \
    do { \
        if (!strstr(reply.head, text)) \
            T_FAIL("no %s in %s", text, reply.head); \
    } while (0)
#define HAS_NOT(text) CHECK(!strstr(reply.head, text))

/* On a connection of its own: the answer, whose connection is then closed. */
static void ask(const char *request)
{
    int fd = dial_tcp();
    say(fd, request);
    hear_reply(fd);
    close(fd);
}

static bool logged(const char *line)
{
    ask("GET /log HTTP/1.1\r\nHost: x\r\n\r\n");
    return reply.body.p && strstr(reply.body.p, line);
}

/* The same, asked over a connection that is there. */
static bool logged_to(int fd, const char *line)
{
    say(fd, "GET /log HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_reply(fd);
    return reply.body.p && strstr(reply.body.p, line);
}

static bool is_alphabet(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != (char)('a' + i % 26))
            return false;
    }
    return true;
}

/* ---- what is refused ---- */

#define GET    "GET /hello HTTP/1.1\r\n"
#define POST   "POST /echo HTTP/1.1\r\nHost: x\r\n"
#define HIDDEN "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
#define CHUNKS POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct wrong {
    int status;
    const char *bytes;
    size_t n;
} wrong[] = {
#define BAD(status, text) \
    { \
        status, text, sizeof(text) - 1 \
    }
    /* Two lengths, or one that is none (RFC 9112 6.3, 11.2) */
    BAD(400, POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD(400, POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    BAD(400, POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    BAD(400, POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    BAD(400, POST "Content-Length: 5, 5\r\n\r\nhello"),
    BAD(400, POST "Content-Length: +5\r\n\r\nhello"),
    BAD(400, POST "Content-Length: -5\r\n\r\nhello"),
    BAD(400, POST "Content-Length: 0x5\r\n\r\nhello"),
    BAD(400, POST "Content-Length: 5 5\r\n\r\nhello"),
    BAD(400, POST "Content-Length:\r\n\r\n"),
    BAD(400, POST "Content-Length: 18446744073709551616\r\n\r\n"),
    BAD(400, POST "Content-Length: 18446744073709551615\r\n\r\n"),
    BAD(501, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    BAD(501, POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    BAD(501, POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    BAD(501, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    BAD(501, POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    BAD(501, POST "Transfer-Encoding:\r\n\r\n"),
    BAD(400, POST "Transfer-Encoding: \x0b"
                  "chunked\r\n\r\n0\r\n\r\n"),
    BAD(400, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
    BAD(400, POST "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"),
    BAD(400, "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    /* Lines (2.2, 5.1, 5.2) */
    BAD(400, "GET /hello HTTP/1.1\nHost: x\n\n"),
    BAD(400, "GET /hello HTTP/1.1\r\nHost: x\n\r\n"),
    BAD(400, "GET /hello HTTP/1.1\rHost: x\r\n\r\n"),
    BAD(400, GET "Host: x\r\nA: b\rc\r\n\r\n"),
    BAD(400, GET "Host: x\r\n A: b\r\n\r\n"),
    BAD(400, GET "Host: x\r\nA: b\r\n\tc\r\n\r\n"),
    BAD(400, GET " Host: x\r\n\r\n"),
    BAD(400, GET "Host : x\r\n\r\n"),
    BAD(400, GET "Host: x\r\nContent-Length : 5\r\n\r\nhello"),
    BAD(400, GET "Host: x\r\nA\tb: c\r\n\r\n"),
    BAD(400, GET "Host: x\r\n: c\r\n\r\n"),
    BAD(400, GET "Host: x\r\nnothing\r\n\r\n"),
    BAD(400, GET "Host: x\r\nA: b\0c\r\n\r\n"),
    BAD(400, GET "Host: x\r\nA\0: b\r\n\r\n"),
    BAD(400, GET "Host: x\r\nA: \x01\r\n\r\n"),
    BAD(400, GET "Host: x\r\nA: \x7f\r\n\r\n"),
    BAD(400, GET "Host: x\r\n\xc3\xa4: b\r\n\r\n"),
    /* Host (3.2) */
    BAD(400, GET "\r\n"),
    BAD(400, GET "Host: x\r\nHost: x\r\n\r\n"),
    BAD(400, GET "Host: x, y\r\n\r\n"),
    BAD(400, GET "Host: x y\r\n\r\n"),
    BAD(400, GET "Host: x/y\r\n\r\n"),
    BAD(400, GET "Host: user@x\r\n\r\n"),
    BAD(400, GET "Host: x:port\r\n\r\n"),
    BAD(400, GET "Host: x:123456\r\n\r\n"),
    BAD(400, GET "Host: [::1\r\n\r\n"),
    BAD(400, GET "Host: [x]\r\n\r\n"),
    BAD(400, "GET http://x/hello HTTP/1.1\r\n\r\n"),
    BAD(400, "GET http:///hello HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET http://u@x/hello HTTP/1.1\r\nHost: x\r\n\r\n"),
    /* The request line (3) */
    BAD(400, "GET /hello\r\nHost: x\r\n\r\n"),
    BAD(400, "GET  /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hello  HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hello HTTP/1.1 \r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hel lo HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET\t/hello\tHTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hello http/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hello HTTP/1.1x\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hello HTTP/1.\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hello HTTP/11\r\nHost: x\r\n\r\n"),
    BAD(400, "G(T /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET hello HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET ?x HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET * HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /hello#x HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /h\x7f HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /h\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "GET /h\0 HTTP/1.1\r\nHost: x\r\n\r\n"),
    BAD(400, "\x16\x03\x01\x02"),
    BAD(400, "{}\r\n"),
    BAD(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    BAD(505, "GET /hello HTTP/2.0\r\nHost: x\r\n\r\n"),
    BAD(505, "GET /hello HTTP/0.9\r\nHost: x\r\n\r\n"),
    BAD(417, POST "Expect: 200-maybe\r\nContent-Length: 5\r\n\r\nhello"),
    /* Chunks (7.1) */
    BAD(400, CHUNKS "\r\n"),
    BAD(400, CHUNKS "g\r\n"),
    BAD(400, CHUNKS "-1\r\n"),
    BAD(400, CHUNKS "+1\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "0x1\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS " 1\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1 \r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1\r\nx\n0\r\n\r\n"),
    BAD(400, CHUNKS "1\r\nxy\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "10000000000000000\r\n"),
    BAD(400, CHUNKS "1;\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1;a=\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1;a=\"b\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1;a b\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1;a\n\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1;a\rb\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "1 a\r\nx\r\n0\r\n\r\n"),
    BAD(400, CHUNKS "0\r\nnothing\r\n\r\n"),
    BAD(400, CHUNKS "0\r\nA : b\r\n\r\n"),
    BAD(400, CHUNKS "0\r\nA: b\n\r\n"),
    BAD(400, "POST /sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
             "5\r\nhello\r\ng\r\n"),
    BAD(400, "POST /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
             "b\r\nhello hello\r\ng\r\n"),
};

/* One answer, of that status, and an end: nothing behind it was a request. */
static void is_refused(int fd, const struct wrong *w)
{
    char status[32];
    snprintf(status, sizeof(status), "HTTP/1.1 %d ", w->status);
    CHECK_INT(hear_all(fd), 0);
    if (!str_starts(buf_str(&heard), str_of(status)))
        T_FAIL("%s\nis answered by\n%s", w->bytes, buf_z(&heard));
    struct str after = str_sub(buf_str(&heard), 1, heard.n);
    if (str_find(after, STR("HTTP/1.1 ")) >= 0 ||
        !strstr(buf_z(&heard), "\r\nConnection: close\r\n"))
        T_FAIL("%s\nis not the end:\n%s", w->bytes, buf_z(&heard));
    close(fd);
}

TEST(what_could_be_read_in_two_ways_is_refused)
{
    start();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int fd = dial_tcp();
        struct buf b = BUF_INIT(1000);
        buf_add(&b, wrong[i].bytes, wrong[i].n);
        buf_addz(&b, HIDDEN HIDDEN);
        say_n(fd, b.p, b.n);
        shutdown(fd, SHUT_WR);
        buf_release(&b);
        is_refused(fd, &wrong[i]);
    }
    finish();
}

TEST(and_so_it_is_byte_by_byte)
{
    start();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int fd = dial_local();
        dribble(fd, wrong[i].bytes, wrong[i].n);
        say(fd, HIDDEN);
        shutdown(fd, SHUT_WR);
        is_refused(fd, &wrong[i]);
    }
    finish();
}

/* ---- what is not ---- */

static const struct good_request {
    const char *bytes;
    int status;
    const char *body;
} right[] = {
    {"\r\n\r\n" GET "Host: x\r\n\r\n", 200, "hello\n"},
    {GET "Host:\r\n\r\n", 200, "hello\n"},
    {GET "hOST:x:80\r\n\r\n", 200, "hello\n"},
    {GET "Host: [::1]:80\r\n\r\n", 200, "hello\n"},
    {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200, "hello\n"},
    {"GET /hello?x=y HTTP/1.7\r\nHost: x\r\n\r\n", 200, "hello\n"},
    {"GET /h%65llo HTTP/1.1\r\nHost: x\r\n\r\n", 200, "hello\n"},
    {"GET http://y HTTP/1.1\r\nHost: x\r\n\r\n", 200, "hello\n"},
    {"GET /two/hello HTTP/1.1\r\nHost: x\r\n\r\n", 200, "hello\n"},
    {"GET /header HTTP/1.1\r\nHost: x\r\nx-test:\t a  b \r\n\r\n", 200, "host=x x=a  b"},
    {"GET /header HTTP/1.1\r\nHost: x\r\nX-Test: \xff\r\n\r\n", 200, "host=x x=\xff"},
    {"GET http://y:1/header HTTP/1.1\r\nHost: x\r\n\r\n", 200, "host=y:1 x="},
    {"GET /params/1/%2e%20+ HTTP/1.1\r\nHost: x\r\n\r\n", 200, "a=1 b=. + rest=\n"},
    {"GET /rest/a/b/ HTTP/1.1\r\nHost: x\r\n\r\n", 200, "a= b= rest=a/b/\n"},
    {"GET /rest/ HTTP/1.1\r\nHost: x\r\n\r\n", 200, "a= b= rest=\n"},
    {"GET /query?a&x=b+%2b HTTP/1.1\r\nHost: x\r\n\r\n", 200, "1 b +"},
    {"GET /query?y HTTP/1.1\r\nHost: x\r\n\r\n", 200, "0 "},
    {"GET /query?x=%g HTTP/1.1\r\nHost: x\r\n\r\n", 200, "-1 "},
    {POST "Content-Length: 5\r\n\r\nhello", 200, "hello"},
    {POST "Content-Length: 0\r\n\r\n", 200, ""},
    {POST "\r\n", 200, ""},
    {CHUNKS "5\r\nhello\r\n0\r\n\r\n", 200, "hello"},
    {CHUNKS "0\r\n\r\n", 200, ""},
    {CHUNKS "1\r\nh\r\n00b;x\r\nello there!\r\n0;y=z\r\nA: b\r\nC: d\r\n\r\n", 200,
     "hello there!"},
    {CHUNKS "5 ; a = \"b;\\\"\" ;c\r\nhello\r\n0\r\n\r\n", 200, "hello"},
    {"POST /sink HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n"
     "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     200, "5 bytes, 0584f463\n"},
    {"POST /sink HTTP/1.1\r\nHost: x\r\n\r\n", 200, "0 bytes, 00000000\n"},
    {"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n"
     "abcdefghijklmnopqrst",
     200, "20 bytes, c777454a\n"},
    {"POST /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
     "9\r\nabcdefghi\r\nb\r\njklmnopqrst\r\n0\r\n\r\n",
     200, "20 bytes, c777454a\n"},
    {"GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, "hello\n"},
    {"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, "hello\n"},
    {"POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789", 200,
     "0123456789"},
    {"POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n0123456789a", 413,
     "413: The request's body is larger than it may be here\n"},
    {"POST /secret HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 403, "no\n"},
    {"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 404,
     "404: There is nothing at this path\n"},
    {"GET /hello/ HTTP/1.1\r\nHost: x\r\n\r\n", 404,
     "404: There is nothing at this path\n"},
    {"GET //hello HTTP/1.1\r\nHost: x\r\n\r\n", 404,
     "404: There is nothing at this path\n"},
    {"GET /params/1/ HTTP/1.1\r\nHost: x\r\n\r\n", 404,
     "404: There is nothing at this path\n"},
    {"GET /params/1/2/3 HTTP/1.1\r\nHost: x\r\n\r\n", 404,
     "404: There is nothing at this path\n"},
    {"GET /two/nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 404,
     "404: There is nothing at this path\n"},
    {"GET /twohello HTTP/1.1\r\nHost: x\r\n\r\n", 404,
     "404: There is nothing at this path\n"},
    {"GET /h%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400,
     "400: The request's path is malformed\n"},
    {"GET /h%6 HTTP/1.1\r\nHost: x\r\n\r\n", 400,
     "400: The request's path is malformed\n"},
    {"PUT /hello HTTP/1.1\r\nHost: x\r\n\r\n", 405,
     "405: The method is not one of this path\n"},
    {"BREW /hello HTTP/1.1\r\nHost: x\r\n\r\n", 501,
     "501: The method is not one of this path\n"},
    {"OPTIONS /hello HTTP/1.1\r\nHost: x\r\n\r\n", 204, ""},
    {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 204, ""},
    {"DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n", 204, ""},
};

static void is_answered(int fd, const struct good_request *w)
{
    hear_reply(fd);
    if (reply.status != w->status || !str_eq(buf_str(&reply.body), str_of(w->body)))
        T_FAIL("%s\nis answered by\n%s%s", w->bytes, reply.head, buf_z(&reply.body));
}

TEST(what_is_asked_right_is_answered_on_a_connection_that_stays)
{
    start();
    int fd = dial_tcp();
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        say(fd, right[i].bytes);
        is_answered(fd, &right[i]);
        HAS_NOT("Connection");
    }
    close(fd);
    finish();
}

TEST(and_so_it_is_in_one_go)
{
    start();
    int fd = dial_tcp();
    struct buf b = BUF_INIT(100000);
    size_t n = sizeof(right) / sizeof(right[0]);
    for (size_t i = 0; i < 3 * n; i++)
        buf_addz(&b, right[i % n].bytes);
    say_n(fd, b.p, b.n);
    for (size_t i = 0; i < 3 * n; i++)
        is_answered(fd, &right[i % n]);
    buf_release(&b);
    close(fd);
    finish();
}

TEST(and_byte_by_byte)
{
    start();
    int fd = dial_local();
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        dribble(fd, right[i].bytes, strlen(right[i].bytes));
        is_answered(fd, &right[i]);
    }
    close(fd);
    finish();
}

static void cut_once(const char *request, const char *body)
{
    size_t n = strlen(request);
    int fd = dial_local();
    for (size_t at = 1; at < n; at++) {
        say_n(fd, request, at);
        is_read(fd);
        say_n(fd, request + at, n - at);
        hear_head(fd);
        if (strstr(reply.head, "chunked"))
            CHECK(hear_chunks(fd));
        else
            hear_body(fd, strlen(body));
        CHECK_STR(buf_z(&reply.body), body);
    }
    close(fd);
}

TEST(chunks_may_be_cut_anywhere)
{
#define PARTS \
    " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" \
    "5;a=\"\\\"\"\r\nhello\r\n1\r\n \r\n06 ;b\r\nworld!\r\n0\r\nX: y\r\n\r\n"
    start();
    cut_once("POST /echo" PARTS, "hello world!");
    cut_once("POST /sink" PARTS, "12 bytes, f30c75dd\n");
    cut_once("POST /slow" PARTS, "12 bytes, f30c75dd\n");
    cut_once("POST /both" PARTS, "hello world!");
    finish();
}

/* ---- limits of a head ---- */

static int status_of(const struct buf *request)
{
    int fd = dial_tcp();
    say_n(fd, request->p, request->n);
    hear_head(fd);
    close(fd);
    return reply.status;
}

static void add_many(struct buf *b, char c, size_t n)
{
    char *p = buf_reserve(b, n);
    CHECK(p != NULL);
    memset(p, c, n);
    buf_commit(b, n);
}

static int with_line(size_t n, bool ended_line)
{
    struct buf b = BUF_INIT(1 << 20);
    buf_addz(&b, "GET /hello?");
    add_many(&b, 'x', n - strlen("GET /hello? HTTP/1.1"));
    buf_addz(&b, " HTTP/1.1");
    if (ended_line)
        buf_addz(&b, "\r\nHost: x\r\n\r\n");
    int status = status_of(&b);
    buf_release(&b);
    return status;
}

/* n bytes of head with a field of its own for each `each` of them. */
static int with_head(size_t n, size_t each)
{
    struct buf b = BUF_INIT(1 << 20);
    buf_addz(&b, "GET /hello HTTP/1.1\r\nHost: x\r\n");
    while (b.n + 2 < n) {
        size_t left = n - 2 - b.n, field = left < 2 * each ? left : each;
        buf_addz(&b, "A:");
        add_many(&b, 'x', field - 4);
        buf_addz(&b, "\r\n");
    }
    buf_addz(&b, "\r\n");
    CHECK_INT(b.n, n);
    int status = status_of(&b);
    buf_release(&b);
    return status;
}

static int with_fields(int n)
{
    struct buf b = BUF_INIT(1 << 20);
    buf_addz(&b, "GET /hello HTTP/1.1\r\nHost: x\r\n");
    for (int i = 1; i < n; i++)
        buf_addf(&b, "A%d: b\r\n", i);
    buf_addz(&b, "\r\n");
    int status = status_of(&b);
    buf_release(&b);
    return status;
}

TEST(heads_have_limits)
{
    start();
    CHECK_INT(with_line(HTTP_LINE_MAX, true), 200);
    CHECK_INT(with_line(HTTP_LINE_MAX + 1, true), 414);
    CHECK_INT(with_line(HTTP_LINE_MAX + 10, false), 414);
    CHECK_INT(with_line(200000, false), 414);
    CHECK_INT(with_head(HTTP_HEAD_MAX, 1000), 200);
    CHECK_INT(with_head(HTTP_HEAD_MAX + 1, 1000), 431);
    CHECK_INT(with_head(300000, 290000), 431);
    CHECK_INT(with_fields(HTTP_FIELDS_MAX), 200);
    CHECK_INT(with_fields(HTTP_FIELDS_MAX + 1), 431);
    finish();
}

/* ---- answers ---- */

TEST(an_answer_says_what_it_must)
{
    start();
    ask(HIDDEN);
    HAS("HTTP/1.1 200 OK\r\n");
    HAS("\r\nDate: ");
    HAS(" GMT\r\n");
    HAS("\r\nContent-Type: text/plain\r\n");
    HAS("\r\nContent-Length: 6\r\n");
    HAS_NOT("Server:");
    ask("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    HAS_NOT("Content-");
    ask("PUT /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    HAS("\r\nAllow: OPTIONS, GET, HEAD, DELETE\r\n");
    ask("OPTIONS /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    HAS("\r\nAllow: OPTIONS, POST, PUT\r\n");
    ask("GET /header HTTP/1.1\r\nHost: x\r\n\r\n");
    HAS("\r\nX-Back: 1  X-Forged: 2\r\n");
    finish();
}

TEST(head_has_no_body)
{
    start();
    int fd = dial_tcp();
    say(fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    HAS("Content-Length: 6\r\n");
    say(fd, "HEAD /stream/100 HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    HAS("Transfer-Encoding: chunked\r\n");
    say(fd, "HEAD /sized/100 HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    HAS("Content-Length: 100\r\n");
    say(fd, "HEAD /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    CHECK_INT(reply.status, 404);
    say(fd, HIDDEN);
    hear_reply(fd);
    IS_BODY("hello\n");
    close(fd);
    finish();
}

TEST(http_1_0)
{
    start();
    int fd = dial_tcp();
    say(fd, "GET /hello HTTP/1.0\r\n\r\n");
    hear_reply(fd);
    IS_BODY("hello\n");
    HAS("Connection: close\r\n");
    CHECK(ended(fd));
    close(fd);
    fd = dial_tcp();
    say(fd, "GET /hello HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    hear_reply(fd);
    HAS("Connection: keep-alive\r\n");
    say(fd, "GET /stream/100000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    hear_head(fd);
    HAS("Connection: close\r\n");
    HAS_NOT("chunked");
    CHECK_INT(hear_all(fd), 0);
    CHECK(heard.n == 100000 && is_alphabet(buf_str(&heard)));
    close(fd);
    finish();
}

TEST(close_is_what_it_says)
{
    start();
    int fd = dial_tcp();
    say(fd, GET "Host: x\r\nConnection: x, Close\r\n\r\n" HIDDEN);
    hear_reply(fd);
    HAS("Connection: close\r\n");
    CHECK(ended(fd));
    close(fd);
    finish();
}

static void hear_stream(const char *path, size_t n, bool sized)
{
    int fd = dial_tcp();
    struct buf b = BUF_INIT(200);
    buf_addf(&b, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    say_n(fd, b.p, b.n);
    hear_head(fd);
    if (sized)
        hear_body(fd, n);
    else
        CHECK(hear_chunks(fd));
    CHECK(reply.body.n == n && is_alphabet(buf_str(&reply.body)));
    say(fd, HIDDEN);
    hear_reply(fd);
    IS_BODY("hello\n");
    buf_release(&b);
    close(fd);
}

TEST(answers_by_pieces)
{
    start();
    hear_stream("/stream/0", 0, false);
    hear_stream("/stream/1", 1, false);
    hear_stream("/stream/3000000", 3000000, false);
    hear_stream("/sized/0", 0, true);
    hear_stream("/sized/3000000", 3000000, true);
    finish();
}

TEST(an_answer_that_breaks_off_is_seen_to)
{
    start();
    int fd = dial_tcp();
    say(fd, "GET /abort HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    CHECK(!hear_chunks(fd));
    close(fd);
    fd = dial_tcp();
    say(fd, "GET /abort HTTP/1.0\r\n\r\n");
    CHECK_INT(hear_all(fd), -1);
    CHECK_INT(errno, ECONNRESET);
    close(fd);
    fd = dial_tcp();
    say(fd, "GET /short HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    HAS("Content-Length: 10\r\n");
    CHECK_INT(hear_all(fd), 0);
    CHECK_MEM(heard.p, heard.n, "12345");
    close(fd);
    finish();
}

/* ---- files ---- */

static size_t make_file(size_t n)
{
    static char path[300];
    snprintf(path, sizeof(path), "%s/file", t_dir());
    FILE *f = fopen(path, "w");
    for (size_t i = 0; i < n; i++)
        putc('a' + (int)(i % 26), f);
    fclose(f);
    file_path = path;
    return n;
}

static void ask_range(const char *more)
{
    struct buf b = BUF_INIT(1000);
    buf_addf(&b, "GET /file HTTP/1.1\r\nHost: x\r\n%s\r\n", more);
    ask(buf_z(&b));
    buf_release(&b);
}

TEST(files_and_ranges)
{
    char line[200], etag[100], date[100];
    make_file(26);
    start();
    ask_range("");
    CHECK_INT(reply.status, 200);
    IS_BODY("abcdefghijklmnopqrstuvwxyz");
    HAS("Accept-Ranges: bytes\r\n");
    sscanf(strstr(reply.head, "ETag: "), "ETag: %99[^\r]", etag);
    sscanf(strstr(reply.head, "Last-Modified: "), "Last-Modified: %99[^\r]", date);
    ask_range("Range: bytes=0-0\r\n");
    CHECK_INT(reply.status, 206);
    IS_BODY("a");
    HAS("Content-Range: bytes 0-0/26\r\n");
    ask_range("Range: bytes=24-\r\n");
    IS_BODY("yz");
    ask_range("Range: bytes=20-1000\r\n");
    IS_BODY("uvwxyz");
    HAS("Content-Range: bytes 20-25/26\r\n");
    ask_range("Range: bytes=-3\r\n");
    IS_BODY("xyz");
    ask_range("Range: bytes=-100\r\n");
    CHECK_INT(reply.status, 206);
    CHECK_INT(reply.body.n, 26);
    ask_range("Range: bytes=26-\r\n");
    CHECK_INT(reply.status, 416);
    HAS("Content-Range: bytes */26\r\n");
    ask_range("Range: bytes=-0\r\n");
    CHECK_INT(reply.status, 416);
    static const char *const all[] = {"bytes=3-2", "bytes=0-1,3-4", "lines=1-2",
                                      "bytes=x",   "bytes=1-x",     "bytes"};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        snprintf(line, sizeof(line), "Range: %s\r\n", all[i]);
        ask_range(line);
        CHECK_INT(reply.status, 200);
        CHECK_INT(reply.body.n, 26);
    }
    snprintf(line, sizeof(line), "Range: bytes=1-2\r\nIf-Range: %s\r\n", etag);
    ask_range(line);
    CHECK_INT(reply.status, 206);
    snprintf(line, sizeof(line), "Range: bytes=1-2\r\nIf-Range: %s\r\n", date);
    ask_range(line);
    CHECK_INT(reply.status, 206);
    ask_range("Range: bytes=1-2\r\nIf-Range: \"other\"\r\n");
    CHECK_INT(reply.status, 200);
    int fd = dial_tcp();
    say(fd, "HEAD /file HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    HAS("Content-Length: 26\r\n");
    say(fd, HIDDEN);
    hear_reply(fd);
    IS_BODY("hello\n");
    close(fd);
    finish();
}

TEST(a_large_file_and_what_is_behind_it)
{
    size_t n = make_file(5000000);
    start();
    int fd = dial_tcp();
    for (int i = 0; i < 3; i++)
        say(fd, "GET /file HTTP/1.1\r\nHost: x\r\n\r\n" HIDDEN);
    for (int i = 0; i < 3; i++) {
        hear_reply(fd);
        CHECK(reply.body.n == n && is_alphabet(buf_str(&reply.body)));
        hear_reply(fd);
        IS_BODY("hello\n");
    }
    close(fd);
    finish();
}

TEST(a_file_that_is_empty_or_none)
{
    make_file(0);
    start();
    ask_range("");
    CHECK_INT(reply.status, 200);
    CHECK_INT(reply.body.n, 0);
    ask_range("Range: bytes=0-\r\n");
    CHECK_INT(reply.status, 416);
    CHECK_INT(unlink(file_path), 0);
    CHECK_INT(mkdir(file_path, 0700), 0);
    ask_range("");
    CHECK_INT(reply.status, 500);
    finish();
}

/* ---- bodies ---- */

TEST(a_body_is_asked_for)
{
    start();
    int fd = dial_tcp();
    say(fd, POST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    hear_head(fd);
    CHECK_STR(reply.head, "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, "hello");
    hear_reply(fd);
    IS_BODY("hello");
    say(fd, "POST /sink HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n"
            "Transfer-Encoding: chunked\r\n\r\n");
    hear_head(fd);
    CHECK_INT(reply.status, 100);
    say(fd, "5\r\nhello\r\n0\r\n\r\n");
    hear_reply(fd);
    IS_BODY("5 bytes, 05e918d2\n");
    /* One that has come already is not; one that is not wanted neither. */
    say(fd, POST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello");
    hear_reply(fd);
    CHECK_INT(reply.status, 200);
    say(fd, POST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n");
    hear_reply(fd);
    CHECK_INT(reply.status, 200);
    say(fd, "POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n"
            "Connection: keep-alive\r\n\r\nhello");
    hear_reply(fd);
    CHECK_INT(reply.status, 200);
    /* Whether it comes after such an answer is not known: an end. */
    say(fd, "POST /small HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            "Content-Length: 11\r\n\r\n");
    hear_reply(fd);
    CHECK_INT(reply.status, 413);
    HAS("Connection: close\r\n");
    CHECK(ended(fd));
    close(fd);
    finish();
}

TEST(a_body_too_large_is_read_as_far_as_it_helps)
{
    start();
    struct buf b = BUF_INIT(4 << 20);
    buf_addz(&b, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
    add_many(&b, 'x', 60000);
    buf_addz(&b, HIDDEN);
    int fd = dial_tcp();
    say_n(fd, b.p, b.n);
    hear_reply(fd);
    CHECK_INT(reply.status, 413);
    hear_reply(fd);
    IS_BODY("hello\n");
    close(fd);

    buf_reset(&b);
    buf_addz(&b, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n");
    add_many(&b, 'x', 500000);
    buf_addz(&b, HIDDEN);
    fd = dial_tcp();
    say_n(fd, b.p, b.n);
    CHECK_INT(hear_all(fd), 0);
    CHECK(str_starts(buf_str(&heard), STR("HTTP/1.1 413 ")));
    CHECK(!strstr(buf_z(&heard), "hello"));
    close(fd);

    buf_reset(&b);
    buf_addz(&b, "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "7a120\r\n");
    add_many(&b, 'x', 500000);
    buf_addz(&b, "\r\n0\r\n\r\n" HIDDEN);
    fd = dial_tcp();
    say_n(fd, b.p, b.n);
    CHECK_INT(hear_all(fd), 0);
    CHECK(str_starts(buf_str(&heard), STR("HTTP/1.1 413 ")));
    CHECK(!strstr(buf_z(&heard), "hello"));
    close(fd);
    buf_release(&b);
    finish();
}

/* Larger than all buffers on the way, at each kind of taker. */
static void send_large(const char *path, bool chunked, size_t n, const char *want)
{
    struct buf b = BUF_INIT(16 << 20);
    int fd = dial_tcp();
    buf_addf(&b, "POST %s HTTP/1.1\r\nHost: x\r\n", path);
    if (!chunked)
        buf_addf(&b, "Content-Length: %zu\r\n\r\n", n);
    else
        buf_addz(&b, "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < n; at += 1000) {
        if (chunked)
            buf_addz(&b, "3e8\r\n");
        for (size_t i = at; i < at + 1000; i++)
            buf_addc(&b, (char)('a' + i % 26));
        if (chunked)
            buf_addz(&b, "\r\n");
    }
    if (chunked)
        buf_addz(&b, "0\r\n\r\n");
    pid_t pid = t_fork();
    if (pid == 0) {
        say_n(fd, b.p, b.n);
        _exit(0);
    }
    hear_head(fd);
    CHECK_INT(reply.status, 200);
    if (want)
        hear_body(fd, strlen(want));
    else
        CHECK(hear_chunks(fd));
    if (want)
        CHECK_STR(buf_z(&reply.body), want);
    else
        CHECK(reply.body.n == n && is_alphabet(buf_str(&reply.body)));
    CHECK_INT(t_reap(pid), 0);
    buf_release(&b);
    close(fd);
}

TEST(large_bodies)
{
    start();
    send_large("/sink", false, 1000000, "1000000 bytes, cd5f63e0\n");
    send_large("/sink", true, 1000000, "1000000 bytes, cd5f63e0\n");
    send_large("/slow", false, 100000, "100000 bytes, b5a06c90\n");
    send_large("/slow", true, 100000, "100000 bytes, b5a06c90\n");
    send_large("/both", false, 1000000, NULL);
    send_large("/both", true, 1000000, NULL);
    finish();
}

TEST(a_body_that_nobody_takes_while_the_answer_is_awaited)
{
    start();
    struct buf b = BUF_INIT(4 << 20);
    int fd = dial_tcp();
    buf_addz(&b, "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    add_many(&b, 'x', 1000);
    say_n(fd, b.p, b.n);
    say(fd, HIDDEN);
    ask("GET /go HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_reply(fd);
    IS_BODY("waited\n");
    hear_reply(fd);
    IS_BODY("hello\n");
    close(fd);
    buf_release(&b);
    finish();
}

/* ---- order ---- */

TEST(a_hundred_in_one_go_are_answered_in_order)
{
    start();
    struct buf b = BUF_INIT(100000);
    for (int i = 0; i < 100; i++)
        buf_addf(&b, POST "Content-Length: 3\r\n\r\n%03d", i);
    int fd = dial_tcp();
    say_n(fd, b.p, b.n);
    for (int i = 0; i < 100; i++) {
        hear_reply(fd);
        CHECK_INT(reply.status, 200);
        CHECK_INT(strtol(buf_z(&reply.body), NULL, 10), i);
    }
    buf_release(&b);
    close(fd);
    finish();
}

TEST(who_waits_keeps_those_behind_it_waiting)
{
    start();
    int fd = dial_tcp();
    say(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n" HIDDEN);
    ask(HIDDEN);
    CHECK(!readable(fd, 20));
    ask("GET /go HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_reply(fd);
    IS_BODY("waited\n");
    hear_reply(fd);
    IS_BODY("hello\n");
    close(fd);
    finish();
}

/* Who asks for much and takes nothing is not answered without end. */
TEST(answers_do_not_pile_up)
{
    enum { MANY = 400, LARGE = 100000 };
    start();
    int fd = dial_tcp();
    struct buf b = BUF_INIT(64 << 20);
    for (int i = 0; i < MANY; i++) {
        buf_addf(&b, POST "Content-Length: %d\r\n\r\n", LARGE);
        add_many(&b, 'x', LARGE);
    }
    size_t sent = 0;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    while (sent < b.n && poll(&p, 1, 300) == 1) {
        ssize_t n = send(fd, b.p + sent, b.n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        CHECK(n > 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
    }
    CHECK(sent < b.n / 2);
    pid_t pid = t_fork();
    if (pid == 0) {
        say_n(fd, b.p + sent, b.n - sent);
        _exit(0);
    }
    for (int i = 0; i < MANY; i++) {
        hear_reply(fd);
        CHECK_INT(reply.status, 200);
        CHECK_INT(reply.body.n, LARGE);
    }
    CHECK_INT(t_reap(pid), 0);
    buf_release(&b);
    close(fd);
    finish();
}

/* ---- ends ---- */

TEST(a_peer_that_has_said_its_last_is_answered)
{
    start();
    int fd = dial_tcp();
    for (int i = 0; i < 40; i++)
        say(fd, HIDDEN);
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < 40; i++) {
        hear_reply(fd);
        IS_BODY("hello\n");
    }
    CHECK(ended(fd));
    close(fd);

    static const char *const large[] = {"/sized/6000000", "/echo", "/echo"};
    for (int i = 0; i < 3; i++) {
        struct buf b = BUF_INIT(4 << 20);
        size_t n = i == 0 ? 6000000 : 1000000;
        buf_addf(&b, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                 i == 0 ? "GET" : "POST", large[i], i == 0 ? (size_t)0 : n);
        for (size_t k = 0; i > 0 && k < n; k++)
            buf_addc(&b, (char)('a' + k % 26));
        fd = i == 2 ? dial_local() : dial_tcp();
        say_n(fd, b.p, b.n);
        shutdown(fd, SHUT_WR);
        hear_reply(fd);
        CHECK(reply.body.n == n && is_alphabet(buf_str(&reply.body)));
        CHECK(ended(fd));
        close(fd);
        buf_release(&b);
    }

    fd = dial_tcp();
    say(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(fd, SHUT_WR);
    ask(HIDDEN);
    ask("GET /go HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_reply(fd);
    IS_BODY("waited\n");
    CHECK(ended(fd));
    close(fd);
    finish();
}

TEST(half_a_request_is_none)
{
    static const char *const halves[] = {
        "GET /he",
        "GET /hello HTTP/1.1\r\nHost: x\r\n",
        POST "Content-Length: 5\r\n\r\nhell",
        CHUNKS "5\r\nhello\r\n0\r\n",
        CHUNKS "5\r\nhel",
        "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell",
        "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: "
        "50\r\n\r\nhellohellohellohello",
    };
    start();
    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        int fd = dial_tcp();
        say(fd, halves[i]);
        shutdown(fd, SHUT_WR);
        CHECK_INT(hear_all(fd), 0);
        CHECK_INT(heard.n, 0);
        close(fd);
    }
    T_WAIT(logged("gone\ngone\n")); /* of the two that had begun */
    finish();
}

TEST(who_owns_a_request_hears_that_its_peer_has_gone)
{
    start();
    int fd = dial_local();
    say(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    close(fd);
    T_WAIT(logged("waits\ngone\n"));
    fd = dial_tcp();
    say(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    hang_up(fd);
    T_WAIT(logged("gone\nwaits\ngone\n"));
    fd = dial_tcp();
    say(fd, "GET /stream/100000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_head(fd);
    close(fd);
    T_WAIT(logged("waits\ngone\ngone\nlost\n"));
    finish();
}

TEST(whether_an_answer_has_arrived)
{
    start();
    int fd = dial_tcp();
    say(fd, POST "Content-Length: 5\r\n\r\nhello");
    hear_reply(fd);
    CHECK(!logged("delivered"));
    say(fd, HIDDEN);
    hear_reply(fd);
    CHECK(logged("delivered\n"));
    say(fd, POST "Content-Length: 5\r\n\r\nhello");
    hear_reply(fd);
    close(fd);
    T_WAIT(logged("delivered\ndelivered\n"));
    fd = dial_tcp();
    say(fd, POST "Connection: close\r\nContent-Length: 5\r\n\r\nhello");
    CHECK_INT(hear_all(fd), 0);
    close(fd);
    T_WAIT(logged("delivered\ndelivered\ndelivered\n"));
    CHECK(!logged("lost"));
    fd = dial_tcp();
    say(fd, POST "Content-Length: 5\r\n\r\nhello");
    CHECK(readable(fd, T_WAIT_MS));
    hang_up(fd);
    T_WAIT(logged("lost\n"));
    fd = dial_local();
    say(fd, POST "Content-Length: 5\r\n\r\nhello");
    hear_reply(fd);
    close(fd);
    T_WAIT(logged("lost\ndelivered\n"));
    finish();
}

/* Takes 127.0.0.1 of the network namespace that we are in up or down. */
static void set_loopback(bool up)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_INT(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
    close(fd);
}

/* The peer acknowledged the answer and closed; our own end is not acknowledged yet. */
TEST(an_answer_has_arrived_before_the_end_of_the_connection_has)
{
    T_NEEDS(tcp_info);
    if (unshare(CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) < 0)
        T_SKIP("not allowed to make a network namespace");
    set_loopback(true);
    start();
    int fd = dial_tcp();
    say(fd, POST "Content-Length: 5\r\n\r\nhello");
    hear_reply(fd);
    CHECK(!logged("delivered"));
    kill(srv.pid, SIGSTOP);
    close(fd);
    set_loopback(false);
    kill(srv.pid, SIGCONT);
    fd = dial_local();
    T_WAIT(logged_to(fd, "delivered\n") || logged_to(fd, "lost\n"));
    CHECK(!logged_to(fd, "lost"));
    close(fd);
    finish();
}

TEST(a_connection_can_become_something_else)
{
    static const char hello[] = "GET /upgrade HTTP/1.1\r\nHost: x\r\n"
                                "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    start();
    int fd = dial_tcp();
    say(fd, HIDDEN);
    hear_reply(fd);
    struct buf b = BUF_INIT(1000);
    buf_addz(&b, hello);
    buf_addz(&b, "early, " HIDDEN);
    say_n(fd, b.p, b.n);
    hear_head(fd);
    CHECK_INT(reply.status, 101);
    HAS("\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Back: 1\r\n");
    hear_body(fd, strlen("early, " HIDDEN));
    IS_BODY("early, " HIDDEN);
    say(fd, "GET /");
    hear_body(fd, 5);
    IS_BODY("GET /");
    /* The server does not count it any more, nor wait for it. */
    close(fd);
    T_WAIT(logged("closed\n"));
    fd = dial_tcp();
    say(fd, "GET /upgrade HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    hear_reply(fd);
    CHECK_INT(reply.status, 400);
    say(fd, "GET /upgrade HTTP/1.0\r\n\r\n");
    hear_reply(fd);
    CHECK_INT(reply.status, 400);
    close(fd);
    fd = dial_local();
    dribble(fd, hello, strlen(hello));
    hear_head(fd);
    CHECK_INT(reply.status, 101);
    close(fd);
    T_WAIT(logged("closed\nclosed\n"));
    buf_release(&b);
    finish();
}

/* The end that was said before it is not the order that a receipt needs. */
TEST(an_answer_that_a_reset_took_has_not_arrived)
{
    enum { LARGE = 300000 };
    start();
    int fd = dial_narrow();
    struct buf b = BUF_INIT(2 << 20);
    buf_addf(&b, POST "Content-Length: %d\r\n\r\n", LARGE);
    add_many(&b, 'x', LARGE);
    buf_addz(&b, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    say_n(fd, b.p, b.n);
    shutdown(fd, SHUT_WR);
    T_WAIT(logged("waits\n"));
    hang_up(fd);
    T_WAIT(logged("gone\nlost\n"));
    buf_release(&b);
    finish();
}

/* ---- time ---- */

TEST(a_head_has_its_time)
{
    limits.head_ms = 60;
    start();
    int fd = dial_tcp();
    say(fd, "GET /hello HT");
    hear_reply(fd);
    CHECK_INT(reply.status, 408);
    HAS("Connection: close\r\n");
    CHECK(ended(fd));
    close(fd);
    /* However busily it comes: the time is that of all of it. */
    fd = dial_tcp();
    say(fd, GET);
    while (!readable(fd, 5))
        say(fd, "A: b\r\n");
    hear_reply(fd);
    CHECK_INT(reply.status, 408);
    close(fd);
    /* A connection that says nothing has said no half a request. */
    fd = dial_tcp();
    CHECK(!readable(fd, 150));
    say(fd, HIDDEN);
    hear_reply(fd);
    CHECK_INT(reply.status, 200);
    close(fd);
    finish();
}

TEST(a_body_has_its_time)
{
    limits.body_ms = 60;
    start();
    int fd = dial_tcp();
    say(fd, POST "Content-Length: 5\r\n\r\nhell");
    hear_reply(fd);
    CHECK_INT(reply.status, 408);
    CHECK(ended(fd));
    close(fd);
    fd = dial_tcp();
    say(fd, "POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell");
    CHECK(readable(fd, T_WAIT_MS));
    CHECK_INT(hear_all(fd), 0);
    CHECK(str_starts(buf_str(&heard), STR("HTTP/1.1 408 ")));
    CHECK(logged("gone\n"));
    close(fd);
    /* It is not the peer's fault when a command takes its time. */
    fd = dial_tcp();
    say(fd, "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell");
    CHECK(!readable(fd, 200));
    ask("GET /go HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_reply(fd);
    IS_BODY("waited\n");
    CHECK(ended(fd));
    close(fd);
    finish();
}

TEST(who_takes_a_body_has_all_the_time)
{
    limits.body_ms = 60;
    start();
    int fd = dial_tcp();
    say(fd, "POST /lazy HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello");
    T_WAIT(logged("waits\n"));
    CHECK(!readable(fd, 200));
    say(fd, "hello");
    ask("GET /go HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_reply(fd);
    IS_BODY("10 bytes, a448b340\n");
    close(fd);
    finish();
}

TEST(silence_has_its_time)
{
    limits.idle_ms = 1000; /* what is said at once comes before that */
    start();
    int fd = dial_tcp(), waits = dial_tcp();
    say(waits, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(ended(fd));
    close(fd);
    fd = dial_tcp();
    say(fd, HIDDEN);
    hear_reply(fd);
    CHECK(ended(fd));
    close(fd);
    CHECK(!readable(waits, 0));
    ask("GET /go HTTP/1.1\r\nHost: x\r\n\r\n");
    hear_reply(waits);
    close(waits);
    finish();
}

TEST(who_takes_nothing_is_left)
{
    limits.write_ms = 100;
    start();
    int fd = dial_tcp();
    say(fd, "GET /stream/100000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    T_WAIT(logged("gone\nlost\n"));
    close(fd);
    finish();
}

TEST(who_takes_it_slowly_is_not)
{
    enum { MANY = 12, LARGE = 1000000 };
    limits.write_ms = 1000;
    start();
    int fd = dial_narrow();
    struct buf b = BUF_INIT(2 << 20);
    buf_addf(&b, POST "Content-Length: %d\r\n\r\n", LARGE);
    add_many(&b, 'x', LARGE);
    pid_t pid = t_fork();
    if (pid == 0) {
        for (int i = 0; i < MANY; i++)
            say_n(fd, b.p, b.n);
        shutdown(fd, SHUT_WR);
        _exit(0);
    }
    size_t n = 0;
    ssize_t got = 1;
    for (int64_t from = t_now_ms(); got > 0;) {
        char some[4096];
        got = read(fd, some, sizeof(some));
        n += got > 0 ? (size_t)got : 0;
        /* For longer than the limit, then as fast as it goes. */
        if (t_now_ms() - from < 1600)
            t_pause_ms(5);
    }
    CHECK_INT(got, 0);
    CHECK(n > (size_t)MANY * LARGE);
    CHECK_INT(t_reap(pid), 0);
    buf_release(&b);
    close(fd);
    finish();
}

/* ---- too many ---- */

TEST(the_longest_idle_goes_for_a_new_one)
{
    int fd[5];
    limits.conns_max = 4;
    start();
    for (int i = 0; i < 4; i++) {
        fd[i] = dial_tcp();
        say(fd[i], HIDDEN);
        hear_reply(fd[i]);
    }
    say(fd[0], HIDDEN); /* now the second is */
    hear_reply(fd[0]);
    fd[4] = dial_tcp();
    say(fd[4], HIDDEN);
    hear_reply(fd[4]);
    CHECK_INT(reply.status, 200);
    CHECK(ended(fd[1]));
    for (int i = 0; i < 5; i++) {
        if (i == 1)
            continue;
        say(fd[i], HIDDEN);
        hear_reply(fd[i]);
        CHECK_INT(reply.status, 200);
    }
    for (int i = 0; i < 5; i++)
        close(fd[i]);
    finish();
}

TEST(when_all_are_busy_that_is_said)
{
    int fd[3];
    limits.conns_max = 3;
    start();
    for (int i = 0; i < 3; i++) {
        fd[i] = dial_local();
        say(fd[i], "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
        is_read(fd[i]);
    }
    /* Its request is there before it is let in: unread, it would be a reset. */
    kill(srv.pid, SIGSTOP);
    int more = dial_tcp();
    say(more, HIDDEN);
    kill(srv.pid, SIGCONT);
    CHECK_INT(hear_all(more), 0);
    CHECK(str_starts(buf_str(&heard), STR("HTTP/1.1 503 ")));
    close(more);
    close(fd[0]);
    /* There is room once the server has seen that one go. */
    for (int status = 0; status != 200; status = reply.status) {
        more = dial_tcp();
        say(more, "GET /go HTTP/1.1\r\nHost: x\r\n\r\n");
        hear_reply(more);
        close(more);
    }
    hear_reply(fd[1]);
    IS_BODY("waited\n");
    close(fd[1]);
    close(fd[2]);
    finish();
}

static int how_many_readable(const int *fd, int n)
{
    int readable_ones = 0;
    for (int i = 0; i < n; i++)
        readable_ones += readable(fd[i], 0);
    return readable_ones;
}

TEST(without_descriptors_it_goes_on)
{
    enum { MANY = 40 };
    int fd[MANY];
    limits.conns_max = 1000;
    files_max = 24;
    start();
    for (int i = 0; i < MANY; i++) {
        fd[i] = dial_tcp();
        say(fd[i], "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    T_WAIT(how_many_readable(fd, MANY) >= MANY - (int)files_max);
    for (int i = 0; i < MANY; i++)
        hang_up(fd[i]);
    int again = dial_tcp();
    say(again, HIDDEN);
    hear_reply(again);
    close(again);
    finish();
}

/* ---- drain ---- */

TEST(a_drain_ends_what_is_idle_and_waits_for_the_rest)
{
    start();
    int idle = dial_tcp(), kept = dial_tcp(), busy = dial_tcp(), go = dial_tcp();
    say(kept, HIDDEN);
    hear_reply(kept);
    say(busy, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    say(go, "GET /go HTTP/1.");
    ask(HIDDEN);
    close(srv.control);
    CHECK(ended(idle));
    CHECK(ended(kept));
    CHECK(!readable(busy, 20));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (const struct sockaddr *)&srv.tcp.ss, srv.tcp.len) < 0);
    close(fd);
    say(go, "1\r\nHost: x\r\n\r\n");
    hear_reply(go);
    HAS("Connection: close\r\n");
    CHECK(ended(go));
    hear_reply(busy);
    IS_BODY("waited\n");
    HAS("Connection: close\r\n");
    CHECK(ended(busy));
    close(idle);
    close(kept);
    close(busy);
    close(go);
    CHECK_INT(t_reap(srv.pid), 0);
}

TEST(a_drain_lets_an_answer_out)
{
    enum { LARGE = 1000000 };
    start();
    int fd = dial_local();
    struct buf b = BUF_INIT(2 << 20);
    buf_addf(&b, POST "Content-Length: %d\r\n\r\n", LARGE);
    add_many(&b, 'x', LARGE);
    say_n(fd, b.p, b.n);
    is_read(fd);
    CHECK(readable(fd, T_WAIT_MS));
    close(srv.control);
    hear_reply(fd);
    CHECK_INT(reply.body.n, LARGE);
    CHECK(ended(fd));
    close(fd);
    buf_release(&b);
    CHECK_INT(t_reap(srv.pid), 0);
}

static void is_told(int fd)
{
    CHECK_INT(hear_all(fd), 0);
    CHECK(str_starts(buf_str(&heard), STR("HTTP/1.1 503 ")));
    CHECK(str_find(buf_str(&heard), STR("\r\n\r\n{\"error\":\"the server has no more")) > 0);
    close(fd);
}

TEST(without_memory_who_waits_is_told)
{
    start();
    int waits = dial_local(), tcp = dial_tcp(), idle = dial_local(), begun = dial_narrow();
    say(waits, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    say(tcp, "POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx");
    say(begun, "GET /stream/9000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    hear_head(begun);
    is_read(waits);
    int asks = dial_local();
    say(asks, "GET /memory HTTP/1.1\r\nHost: a\r\n\r\n");
    is_told(asks);
    is_told(waits);
    is_told(tcp);
    CHECK_INT(hear_all(idle), 0);
    CHECK_INT(heard.n, 0);
    CHECK(hear_all(begun) < 0 || str_find(buf_str(&heard), STR("503")) < 0);
    close(idle);
    close(begun);
    close(srv.control);
    int status;
    CHECK_INT(waitpid(srv.pid, &status, 0), srv.pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

T_MAIN
