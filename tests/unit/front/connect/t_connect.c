/* SPDX-License-Identifier: MIT */
/*
 * Dial-out against a backend of this program, which does as each case says, and with
 * a link of this program in place of the events' own: how every try ends, by name,
 * that the next one follows, and that it can be stopped at every step.
 */
#include "action/log.h"
#include "engine/part.h"
#include "front/connect/connect.h"

#include "t.h"

extern const struct part part_action;

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct loop *loop;
static struct engine en;
static struct connect *dialler;
static char text[20000]; /* of the metrics */

/* ---- the events, in short ---- */

struct events_link {
    struct stream s;
    struct events_link_opts opts;
    struct buf heard;
    bool open;
};

static struct events_link the_link;
static int links_opened, links_closed;
static char hello[9000];

static void link_data(struct stream *s)
{
    CHECK_INT(buf_adds(&the_link.heard, buf_str(&s->in)), 0);
    buf_reset(&s->in);
}

static void link_gone(int code, const char *reason)
{
    the_link.open = false;
    buf_release(&the_link.heard);
    stream_close(&the_link.s);
    the_link.opts.on_gone(the_link.opts.arg, code, str_of(reason));
}

static void link_end(struct stream *s, int errnum)
{
    (void)errnum;
    CHECK(s == &the_link.s);
    link_gone(WS_LOST, "");
}

static const struct stream_events link_calls = {.on_data = link_data, .on_end = link_end};

struct events_link *events_link_open(struct events *ev, struct stream *take,
                                     enum ws_role role,
                                     const struct events_link_opts *opts)
{
    CHECK(!ev && !the_link.open && role == WS_CLIENT && opts->wait_since);
    CHECK(opts->hello.n < sizeof(hello));
    memcpy(hello, opts->hello.p, opts->hello.n + 1);
    the_link.opts = *opts;
    the_link.open = true;
    links_opened++;
    buf_init(&the_link.heard, 10000);
    stream_move(&the_link.s, take, &link_calls);
    if (the_link.s.in.n > 0)
        link_data(&the_link.s);
    return &the_link;
}

void events_link_close(struct events_link *link, enum ws_code code, struct str reason)
{
    (void)code;
    CHECK(reason.n <= WS_REASON_MAX);
    if (!link)
        return;
    CHECK(link == &the_link && link->open);
    link->open = false;
    links_closed++;
    buf_release(&link->heard);
    stream_close(&link->s);
}

uint64_t events_link_acked(const struct events_link *link) { return link ? 17 : 0; }
/* ---- a backend: one connection at a time, which is answered as told ---- */

static struct backend {
    struct io listener, io;
    int port, taken;
    struct buf heard;
    const char *answer; /* to a whole head; "101": the handshake; NULL: nothing */
    bool hang_up;       /* after the answer, or instead of one */
} backend;

static void end_talk(void)
{
    int fd = backend.io.fd;
    if (fd < 0)
        return;
    io_stop(&backend.io);
    close(fd);
    backend.io.fd = -1;
}

static void say(const char *z)
{
    CHECK_INT(write(backend.io.fd, z, strlen(z)), (ssize_t)strlen(z));
}

static void shake_hands(void)
{
    char accept[WS_ACCEPT_SIZE], answer[400];
    struct str heard = buf_str(&backend.heard);
    long at = str_find(heard, STR("Sec-WebSocket-Key: "));
    CHECK(at > 0);
    CHECK_INT(ws_accept_key(str_sub(heard, (size_t)at + 19, WS_KEY_SIZE - 1), accept), 0);
    snprintf(answer, sizeof(answer),
             "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
             "Sec-WebSocket-Accept: %s\r\n\r\nfirst",
             accept);
    say(answer);
}

static void backend_data(struct io *io, uint32_t why)
{
    char some[4000];
    (void)why;
    ssize_t n = read(io->fd, some, sizeof(some));
    if (n <= 0) {
        end_talk();
        return;
    }
    CHECK_INT(buf_add(&backend.heard, some, (size_t)n), 0);
    if (!str_ends(buf_str(&backend.heard), STR("\r\n\r\n")))
        return;
    if (backend.answer && strcmp(backend.answer, "101") == 0)
        shake_hands();
    else if (backend.answer)
        say(backend.answer);
    if (backend.hang_up)
        end_talk();
}

static void backend_accept(struct io *io, uint32_t why)
{
    (void)why;
    end_talk();
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(fd >= 0);
    buf_reset(&backend.heard);
    backend.taken++;
    CHECK_INT(io_start(loop, &backend.io, fd, EPOLLIN, backend_data), 0);
}

static void listen_here(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    CHECK(bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 9) == 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    backend.port = ntohs(at.sin_port);
    CHECK_INT(io_start(loop, &backend.listener, fd, EPOLLIN, backend_accept), 0);
}

/* ---- a case ---- */

static void on_held(void *arg, struct str name, int fd)
{
    (void)arg;
    (void)name;
    close(fd);
}

static void on_state(void *arg, struct str key, struct str value)
{
    (void)arg;
    (void)key;
    (void)value;
}

static void on_ready(void *arg) { (void)arg; }

static void on_signal(void *arg, int signo)
{
    (void)arg;
    (void)signo;
}

static const struct keeper_client_events keeper_client_calls = {on_held, on_state,
                                                                on_ready, on_signal};

static void begin(void)
{
    int keeper[2];
    CHECK_INT(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, keeper), 0);
    loop = loop_new();
    CHECK(loop && engine_open(&en, loop, NULL) == 0);
    en.keeper = keeper_client_open(loop, keeper[0], &keeper_client_calls, NULL);
    CHECK(en.keeper != NULL);
    struct json *none = json_object();
    part_action.configure(&en, none);
    part_action.load(&en);
    json_free(none);
    backend = (struct backend){.io.fd = -1, .listener.fd = -1};
    buf_init(&backend.heard, 100000);
    listen_here();
}

/* Does the log hide this word? */
static bool is_hidden(const char *word)
{
    struct buf b = BUF_INIT(200);
    buf_addf(&b, "{\"text\":\"%s\"}", word);
    unsigned n = actions_mask(en.actions, &b);
    buf_release(&b);
    return n == 1;
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

static int ends(const char *outcome)
{
    char line[100];
    struct buf b = BUF_INIT(sizeof(text) - 1);
    connect_metrics(dialler, &b);
    memcpy(text, buf_z(&b), b.n + 1);
    buf_release(&b);
    snprintf(line, sizeof(line), "outcome=\"%s\"} ", outcome);
    const char *at = strstr(text, line);
    CHECK(at != NULL);
    return (int)strtol(at + strlen(line), NULL, 10);
}

static const char *status(const char *name)
{
    static char out[600];
    struct json *j = connect_status(dialler), *last = json_get(j, "last");
    struct str s = json_str(json_has(j, name) ? j : last, name, "");
    CHECK(s.n < sizeof(out));
    memcpy(out, s.p, s.n + 1);
    json_free(j);
    return out;
}

#define UNTIL(cond) \
    do { \
        for (int64_t t_end = t_now_ms() + T_WAIT_MS; !(cond); turn_once()) \
            if (t_now_ms() > t_end) \
                T_FAIL("never came true: %s; %s", #cond, status("error")); \
    } while (0)

static struct json *options(const char *path)
{
    struct json *o = json_object();
    char url[200];
    snprintf(url, sizeof(url), "ws://127.0.0.1:%d%s", backend.port, path);
    json_put_z(o, "url", url);
    json_put_int(o, "wait_ms", 20);
    json_put_int(o, "timeout_ms", 5000);
    return o;
}

/* Takes o. */
static void start(struct json *o)
{
    struct json *all = json_object();
    json_put(all, "connect", o);
    json_put_z(all, "version", "1.2.3");
    dialler = connect_open(&en, NULL, all);
    json_free(all);
    connect_load(dialler);
    connect_start(dialler);
}

static void finish(void)
{
    connect_close(dialler);
    CHECK(!the_link.open);
    CHECK_INT(en.clients, 0);
    for (int i = 0; i < 5; i++) /* who had knocked already */
        turn_once();
    int tries = backend.taken;
    for (int i = 0; i < 20; i++)
        turn_once();
    CHECK_INT(backend.taken, tries);
    end_talk();
    buf_release(&backend.heard);
    buf_init(&backend.heard, 100000);
}

static void come_up(void)
{
    UNTIL(the_link.open);
    CHECK_STR(status("state"), "hello");
    the_link.opts.on_since(the_link.opts.arg, 7, NULL);
    CHECK_STR(status("state"), "up");
    CHECK_INT(en.clients, 1);
}

TEST(no_url_is_no_dial_out)
{
    begin();
    struct json *none = json_object();
    CHECK(connect_open(&en, NULL, none) == NULL);
    json_free(none);
    connect_load(NULL);
    connect_start(NULL);
    connect_close(NULL);
    CHECK(connect_status(NULL) == NULL);
    struct buf b = BUF_INIT(100);
    connect_metrics(NULL, &b);
    CHECK_INT(b.n, 0);
}

TEST(a_link_comes_up_and_again_when_it_is_lost)
{
    begin();
    struct json *o = options("/x?y=1");
    json_put_z(o, "fields", "X-One: 1\r\n");
    json_put_z(o, "token", "token");
    backend.answer = "101";
    start(o);
    CHECK(is_hidden("token"));
    UNTIL(the_link.open);
    CHECK(strstr(buf_z(&backend.heard), "GET /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:"));
    CHECK(strstr(buf_z(&backend.heard), "\r\nX-One: 1\r\n"));
    CHECK(strstr(buf_z(&backend.heard), "\r\nAuthorization: Bearer token\r\n"));
    CHECK(strstr(buf_z(&backend.heard), "\r\nUser-Agent: od/1.2.3\r\n"));
    CHECK(strstr(hello, "\"protocol\":\"od.events.v1\""));
    CHECK(strstr(hello, "\"version\":\"1.2.3\",\"next\":1,"));
    UNTIL(the_link.heard.n == 5); /* what came right behind the head */
    CHECK_STR(buf_z(&the_link.heard), "first");
    char before[sizeof(hello)];
    memcpy(before, hello, sizeof(before));
    for (int i = 0; i < 5; i++) {
        come_up();
        CHECK_INT(links_opened, i + 1);
        end_talk();
        UNTIL(!the_link.open);
        CHECK_INT(en.clients, 0);
        CHECK_INT(ends("cut"), i + 1);
    }
    CHECK_STR(hello, before);
    come_up();
    CHECK(ends("cut") == 5 && strstr(text, "\nod_connect_up 1\n"));
    CHECK(strstr(text, "\nod_connect_links_total 6\n"));
    CHECK(strstr(text, "\nod_connect_acked 17\n"));
    finish();
    CHECK_INT(links_closed, 1);
}

static void check_gone(int code, const char *reason, const char *outcome)
{
    come_up();
    link_gone(code, reason);
    CHECK_STR(status("outcome"), outcome);
    if (!strstr(status("error"), reason))
        T_FAIL("\"%s\" has not \"%s\"", status("error"), reason);
}

TEST(how_a_link_ends_has_a_name)
{
    begin();
    backend.answer = "101";
    start(options("/"));
    check_gone(WS_NORMAL, "bye", "closed");
    check_gone(WS_NO_CODE, "", "closed");
    check_gone(4001, "replaced", "closed");
    check_gone(WS_LOST, "the peer fell silent and answered no ping", "dead");
    check_gone(WS_LOST, "", "cut");
    check_gone(WS_PROTOCOL, "a masked frame", "garbage");
    check_gone(WS_BAD_TEXT, "", "garbage");
    check_gone(WS_TOO_LONG, "", "garbage");
    check_gone(WS_POLICY, "since", "closed");
    finish();
}

static void check_answer(const char *answer, bool hang_up, const char *outcome,
                         const char *says)
{
    backend.answer = answer;
    backend.hang_up = hang_up;
    struct json *o = options("/");
    json_put_int(o, "timeout_ms", 300);
    start(o);
    UNTIL(ends(outcome) >= 2); /* and it goes on */
    CHECK_STR(status("outcome"), outcome);
    if (!strstr(status("error"), says))
        T_FAIL("\"%s\" has not \"%s\"", status("error"), says);
    CHECK_INT(links_opened, 0);
    finish();
}

TEST(an_answer_that_lets_nobody_in)
{
    begin();
    check_answer("HTTP/1.1 401 x\r\nContent-Length: 3\r\n\r\nwhy", false, "refused",
                 "its answer: why");
    check_answer("HTTP/1.1 403 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno!\r\n",
                 false, "refused", "(403 Forbidden); its answer: no!");
    check_answer("HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", false, "not-found",
                 "path");
    check_answer("HTTP/1.1 503 x\r\nConnection: close\r\n\r\n", true, "busy", "503");
    check_answer("HTTP/1.1 426 x\r\nContent-Length: 0\r\n\r\n", false, "no-websocket",
                 "426");
    check_answer("HTTP/1.1 101 x\r\n\r\n", false, "no-websocket", "Upgrade");
    check_answer(
        "HTTP/1.1 302 x\r\nLocation: ws://other.test/\r\nContent-Length: 0\r\n\r\n",
        false, "redirect", "ws://other.test, which is another host");
    check_answer("HTTP/1.1 307 x\r\nLocation: /again\r\nContent-Length: 2\r\n\r\nxx",
                 false, "redirect", "too many times");
}

TEST(an_answer_that_is_none)
{
    begin();
    check_answer("SSH-2.0-OpenSSH_9\r\n", false, "garbage", "cannot read the answer");
    check_answer("HTTP/1.1 101 x\r\nno colon\r\n\r\n", false, "garbage", "");
    check_answer("HTTP/1.1 401 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                 false, "garbage", "");
    check_answer("HTTP/1.1 404 x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", false,
                 "garbage", "chunked");
    check_answer(NULL, true, "cut", "without an answer");
    check_answer("HTTP/1.1 10", true, "cut", "within its answer");
    check_answer("HTTP/1.1 404 x\r\nContent-Length: 10\r\n\r\n", true, "cut",
                 "within its answer");
}

TEST(an_answer_that_never_ends)
{
    begin();
    check_answer(NULL, false, "silent", "has not answered for 300 ms");
    check_answer("HTTP/1.1 101 x\r\nUpgrade: web", false, "silent", "has not answered");
    check_answer("HTTP/1.1 404 x\r\nContent-Length: 10\r\n\r\n", false, "silent", "");
}

TEST(a_backend_that_never_says_since)
{
    begin();
    struct json *o = options("/");
    json_put_int(o, "timeout_ms", 200);
    backend.answer = "101";
    start(o);
    UNTIL(ends("silent") >= 2);
    CHECK(strstr(status("error"), "has not sent {\"since\":N} for 200 ms"));
    CHECK(links_closed >= 2);
    finish();
}

static void check_since(enum err_code code, const char *outcome)
{
    struct err e = ERR_INIT;
    UNTIL(the_link.open);
    err_set(&e, code, "some words");
    the_link.opts.on_since(the_link.opts.arg, 0, &e);
    CHECK(!the_link.open);
    CHECK_STR(status("outcome"), outcome);
    CHECK(strstr(status("error"), "some words"));
    CHECK_INT(en.clients, 0);
}

TEST(a_backend_that_says_something_else)
{
    begin();
    backend.answer = "101";
    start(options("/"));
    check_since(ERR_NOTFOUND, "future-id");
    check_since(ERR_INVALID, "garbage");
    check_since(ERR_UNSUPPORTED, "garbage");
    come_up();
    finish();
}

TEST(nobody_listens)
{
    begin();
    struct json *o = options("/");
    int fd = backend.listener.fd;
    io_stop(&backend.listener);
    close(fd);
    start(o);
    UNTIL(ends("unreachable") >= 3);
    CHECK(strstr(status("error"), "nothing listens at 127.0.0.1:"));
    finish();
}

TEST(through_a_proxy)
{
    begin();
    for (int i = 0; i < 2; i++) {
        struct json *o = options("/"), *p = json_object();
        json_put_z(p, "host", "127.0.0.1");
        json_put_int(p, "port", backend.port);
        json_put_z(p, "auth", "Basic eDp5");
        json_put(o, "proxy_ws", p);
        json_put_z(o, "url", "ws://backend.test:99/");
        backend.answer = i ? "HTTP/1.1 407 x\r\nContent-Length: 0\r\n\r\n"
                           : "HTTP/1.1 403 x\r\nContent-Length: 0\r\n\r\n";
        start(o);
        UNTIL(ends("proxy") >= 2);
        CHECK(strstr(buf_z(&backend.heard), "CONNECT backend.test:99 HTTP/1.1\r\n"));
        CHECK(strstr(buf_z(&backend.heard), "Proxy-Authorization: Basic eDp5\r\n"));
        CHECK(strstr(status("error"), i ? "NAME:PASSWORD" : "does not allow"));
        finish();
    }
}

TEST(files_of_ours_that_are_not_there)
{
    begin();
    struct json *o = options("/");
    json_put_z(o, "url", "wss://127.0.0.1:1/");
    json_put_z(o, "ca", "/nonexistent/ca.pem");
    start(o);
    UNTIL(ends("local") >= 2);
    CHECK(strstr(status("error"), "/nonexistent/ca.pem"));
    finish();
}

static void write_token(const char *token, char path[300])
{
    snprintf(path, 300, "%s/token", t_dir());
    FILE *f = fopen(path, "w");
    CHECK(f && fprintf(f, "%s\n", token) > 0 && fclose(f) == 0);
}

TEST(a_token_is_read_again_for_each_try)
{
    char path[300];
    begin();
    write_token("second", path);
    struct json *o = options("/");
    json_put_z(o, "token", "first");
    json_put_z(o, "token_file", path);
    backend.answer = "HTTP/1.1 401 x\r\nContent-Length: 0\r\n\r\n";
    start(o);
    UNTIL(strstr(buf_z(&backend.heard), "Bearer second\r\n"));
    CHECK(is_hidden("second"));
    write_token("third", path);
    UNTIL(strstr(buf_z(&backend.heard), "Bearer third\r\n"));
    unlink(path);
    int tries = backend.taken;
    UNTIL(backend.taken > tries + 1 && backend.heard.n > 0);
    UNTIL(strstr(buf_z(&backend.heard), "Bearer third\r\n"));
    finish();
}

TEST(later_is_when_the_backend_says)
{
    begin();
    backend.answer = "HTTP/1.1 503 x\r\nRetry-After: 100\r\nContent-Length: 0\r\n\r\n";
    start(options("/"));
    UNTIL(ends("busy") == 1);
    struct json *j = connect_status(dialler);
    CHECK(json_int(j, "next_ms", 0) > 50000);
    json_free(j);
    finish();
}

TEST(it_can_be_stopped_at_every_step)
{
    static const char *const steps[] = {"dialling", "asking", "hello", "up", "waiting"};
    begin();
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct json *o = options("/");
        backend.answer = i == 1   ? NULL
                         : i == 4 ? "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n"
                                  : "101";
        json_put_int(o, "wait_ms", 100000);
        start(o);
        if (i == 3)
            come_up();
        UNTIL(strcmp(status("state"), steps[i]) == 0);
        finish();
    }
}

T_MAIN
