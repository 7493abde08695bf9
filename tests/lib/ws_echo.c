/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket that says back what it is told, in either role, for peers of
 * other make:
 *
 *   ws_echo serve [NAME=VALUE ...]          listens on a free port of 127.0.0.1,
 *                                           prints it, ends with its input
 *   ws_echo connect PORT TARGET [NAME=...]  one connection; prints how it ended
 *
 * message_max, ping_ms, dead_ms and close_ms are as in ws.h. The message
 * "close CODE REASON" is answered by a Close, "fill N" by N bytes 'x', and
 * protocol "echo" is spoken if it is offered.
 */
#include "base/log.h"
#include "base/xalloc.h"
#include "http/httpc.h"
#include "http/ws.h"
#include "http/ws_hello.h"
#include "net/addr.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { IN_MAX = 256 << 10, OUT_MAX = 64 << 20 };

/* A connection: HTTP first, then the WebSocket. */
struct peer {
    struct stream http; /* server: up to the handshake */
    struct httpc client;
    struct ws ws;
    struct buf later; /* messages that did not fit yet */
    bool later_text;
    char key[WS_KEY_SIZE];
};

static struct loop *loop;
static struct ws_opts opts;
static bool is_client;
static const char *const protocols[] = {"echo", NULL};

static void bury(struct peer *p)
{
    ws_release(&p->ws);
    buf_release(&p->later);
    if (is_client)
        loop_stop(loop);
    loop_bury(loop, p, free);
}

/* ---- the WebSocket ---- */

/* "WORD NUMBER REST" */
static bool is_order(struct str m, const char *word, uint64_t *n, struct str *rest)
{
    *rest = m;
    return str_eq(str_cut(rest, ' '), str_of(word)) &&
           str_to_u64(str_cut(rest, ' '), n) == 0;
}

static void say(struct peer *p, bool text, struct str m)
{
    if (ws_send(&p->ws, text, m) || !ws_is_open(&p->ws))
        return;
    buf_reset(&p->later);
    p->later_text = text;
    if (buf_adds(&p->later, m) < 0 || m.n > ws_send_max(&p->ws))
        ws_close(&p->ws, WS_TOO_LONG, STR("the answer is too long"));
    else
        ws_pause(&p->ws);
}

static void on_message(struct ws *w, bool text, struct str m)
{
    struct peer *p = container_of(w, struct peer, ws);
    uint64_t n;
    struct str rest;
    if (is_order(m, "close", &n, &rest)) {
        ws_close(w, (enum ws_code)n, rest);
    } else if (is_order(m, "fill", &n, &rest)) {
        struct buf b = BUF_INIT(OUT_MAX);
        char *to = n < OUT_MAX ? buf_reserve(&b, n) : NULL;
        if (to) {
            memset(to, 'x', n);
            buf_commit(&b, n);
        }
        say(p, true, buf_str(&b));
        buf_release(&b);
    } else {
        say(p, text, m);
    }
}

static void on_room(struct ws *w)
{
    struct peer *p = container_of(w, struct peer, ws);
    if (!ws_send(w, p->later_text, buf_str(&p->later)))
        return;
    buf_release(&p->later);
    ws_resume(w);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    if (is_client)
        printf("closed %d %.*s\n", code, STR_ARG(reason));
    bury(container_of(w, struct peer, ws));
}

static const struct ws_events ws_calls = {
    .on_message = on_message, .on_room = on_room, .on_close = on_close};

/* ---- server ---- */

static void answer(struct stream *s, const struct http_head *h)
{
    char accept[WS_ACCEPT_SIZE];
    struct err e = ERR_INIT;
    struct ws_hello q = {.upgrade = http_field(h, "Upgrade"),
                         .connection = http_field(h, "Connection"),
                         .key = http_field(h, "Sec-WebSocket-Key"),
                         .version = http_field(h, "Sec-WebSocket-Version"),
                         .protocol = http_field(h, "Sec-WebSocket-Protocol")};
    struct str chosen = ws_choose(q.protocol, protocols);
    int status = ws_check_request(&q, accept, &e);
    if (status) {
        buf_addf(&s->out,
                 "HTTP/1.1 %d No\r\nConnection: close\r\nContent-Length: %zu\r\n"
                 "Sec-WebSocket-Version: " WS_VERSION "\r\n\r\n%s",
                 status, strlen(e.text), e.text);
        stream_shutdown(s);
        return;
    }
    buf_addf(&s->out,
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
             "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
             accept);
    if (chosen.p)
        buf_addf(&s->out, "Sec-WebSocket-Protocol: %.*s\r\n", STR_ARG(chosen));
    buf_addz(&s->out, "\r\n");
}

static void on_request(struct stream *s)
{
    struct peer *p = container_of(s, struct peer, http);
    static struct http_head head;
    struct http_error e;
    size_t used;
    int got = http_parse_head(buf_str(&s->in), &head, &used, &e);
    if (got == 0)
        return;
    if (got > 0)
        answer(s, &head);
    if (got > 0 && !s->last_words) {
        buf_consume(&s->in, used);
        ws_start(&p->ws, s, &opts, &ws_calls);
        return;
    }
    stream_shutdown(s);
    buf_reset(&s->in);
}

static void on_http_end(struct stream *s, int errnum)
{
    (void)errnum;
    struct peer *p = container_of(s, struct peer, http);
    stream_close(s);
    bury(p);
}

static const struct stream_events http_calls = {.on_data = on_request,
                                                .on_end = on_http_end};

static void on_caller(struct io *io, uint32_t events)
{
    (void)events;
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct peer *p = xnew(struct peer);
    buf_init(&p->later, OUT_MAX);
    if (stream_open(&p->http, loop, fd, IN_MAX, OUT_MAX, &http_calls) < 0)
        abort();
}

static void on_input(struct io *io, uint32_t events)
{
    (void)events;
    char c;
    if (read(io->fd, &c, 1) == 0)
        loop_stop(loop);
}

static int serve(void)
{
    struct addr a;
    struct io listener = {.fd = -1}, input = {.fd = -1};
    struct buf name = BUF_INIT(ADDR_TEXT_MAX);
    struct err e = ERR_INIT;
    if (addr_parse(&a, STR("127.0.0.1:0"), &e) < 0)
        return 1;
    int fd = addr_listen(&a, &e);
    if (fd < 0 || addr_of(fd, &a) < 0 ||
        io_start(loop, &listener, fd, EPOLLIN, on_caller) < 0 ||
        io_start(loop, &input, 0, EPOLLIN, on_input) < 0) {
        fprintf(stderr, "ws_echo: %s\n", e.text);
        return 1;
    }
    addr_print(&a, &name);
    printf("%s\n", buf_z(&name));
    fflush(stdout);
    return loop_run(loop);
}

/* ---- client ---- */

static void on_answer(struct httpc *c, const struct err *failed)
{
    struct peer *p = container_of(c, struct peer, client);
    struct err e = failed ? *failed : (struct err)ERR_INIT;
    const struct http_head *h = &c->head;
    struct ws_hello a = {.upgrade = http_field(h, "Upgrade"),
                         .connection = http_field(h, "Connection"),
                         .accept = http_field(h, "Sec-WebSocket-Accept"),
                         .protocol = http_field(h, "Sec-WebSocket-Protocol"),
                         .extensions = http_field(h, "Sec-WebSocket-Extensions")};
    if (failed || ws_check_answer(h->status, &a, p->key, STR("echo"), &e) < 0) {
        printf("failed %s\n", e.text);
        httpc_release(c);
        bury(p);
        return;
    }
    static const struct stream_events nothing;
    httpc_leave(c, &p->http, &nothing);
    ws_start(&p->ws, &p->http, &opts, &ws_calls);
}

static const struct httpc_events client_calls = {.on_done = on_answer};

static int dial(const char *port, const char *target)
{
    struct peer *p = xnew(struct peer);
    struct buf fields = BUF_INIT(4096);
    struct addr a;
    struct err e = ERR_INIT;
    buf_init(&p->later, OUT_MAX);
    if (addr_parse(&a, str_of(port), &e) < 0) {
        fprintf(stderr, "ws_echo: %s\n", e.text);
        return 1;
    }
    int fd = socket(a.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a.ss, a.len) < 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
        stream_open(&p->http, loop, fd, IN_MAX, OUT_MAX, &http_calls) < 0) {
        perror("ws_echo");
        return 1;
    }
    ws_new_key(p->key);
    ws_add_request(&fields, p->key, STR("echo"));
    struct httpc_request q = {.method = "GET",
                              .target = str_of(target),
                              .host = STR("localhost"),
                              .fields = buf_str(&fields)};
    httpc_start(&p->client, &p->http, 0, &client_calls);
    int rc = httpc_send(&p->client, &q, &e) < 0 ? 1 : loop_run(loop);
    buf_release(&fields);
    return rc;
}

static void option(const char *arg)
{
    struct str value = str_of(arg), name = str_cut(&value, '=');
    uint64_t n = 0;
    str_to_u64(value, &n);
    if (str_eq(name, STR("message_max")))
        opts.message_max = n;
    else if (str_eq(name, STR("ping_ms")))
        opts.ping_ms = (int)n;
    else if (str_eq(name, STR("dead_ms")))
        opts.dead_ms = (int)n;
    else if (str_eq(name, STR("close_ms")))
        opts.close_ms = (int)n;
}

int main(int argc, char **argv)
{
    is_client = argc > 3 && strcmp(argv[1], "connect") == 0;
    if (!is_client && (argc < 2 || strcmp(argv[1], "serve") != 0)) {
        fprintf(stderr, "usage: ws_echo serve|connect PORT TARGET [NAME=VALUE ...]\n");
        return 2;
    }
    opts = (struct ws_opts){.role = is_client ? WS_CLIENT : WS_SERVER,
                            .message_max = 16 << 20};
    for (int i = is_client ? 4 : 2; i < argc; i++)
        option(argv[i]);
    loop = loop_new();
    if (!loop)
        return 1;
    return is_client ? dial(argv[2], argv[3]) : serve();
}
