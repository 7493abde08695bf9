/* SPDX-License-Identifier: MIT */
/*
 * TLS in either role, for peers of other make:
 *
 *   tls_peer serve CERT KEY [CA]     listens on a free port of 127.0.0.1, prints
 *                                    it, says back what comes, ends with its input
 *   tls_peer get CA HOST PORT [PROXY-PORT [CERT KEY]]
 *                                    asks for / by HTTP, prints what TLS is spoken and
 *                                    the answer's body, or why not; 0: whole
 *
 * PROXY-PORT is one of 127.0.0.1, 0: none. CA "plain": without TLS.
 */
#include "base/xalloc.h"
#include "http/dial.h"
#include "http/httpc.h"
#include "net/addr.h"
#include "net/tls.h"
#include "net/trust.h"
#include "tls_seen.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_MAX = 256 << 10, OUT_MAX = 256 << 10 };

static struct loop *loop;
static int status = 1;

/* ---- serve ---- */

static struct tls_server *server;

static void echo(struct stream *s)
{
    size_t n = s->in.n < stream_room(s) ? s->in.n : stream_room(s);
    struct str some = {s->in.p, n};
    stream_write(s, some);
    buf_consume(&s->in, n);
    if (s->in.n > 0) {
        stream_pause(s);
        stream_want_room(s);
    }
}

static void echo_room(struct stream *s)
{
    echo(s);
    if (s->in.n == 0)
        stream_resume(s);
}

static void echo_end(struct stream *s, int errnum)
{
    const struct err *e = stream_error(s);
    fprintf(stderr, "%s\n", e ? e->text : errnum ? strerror(errnum) : "end");
    stream_close(s);
    loop_bury(loop, s, free);
}

static const struct stream_events echo_calls = {
    .on_data = echo, .on_room = echo_room, .on_end = echo_end};

static void on_accept(struct io *io, uint32_t events)
{
    (void)events;
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct stream *s = xnew(struct stream);
    if (stream_open(s, loop, fd, IN_MAX, OUT_MAX, &echo_calls) < 0) {
        perror("tls_peer");
        exit(1);
    }
    tls_accept(server, s, 0, NULL);
}

static void on_stdin(struct io *io, uint32_t events)
{
    char bytes[4096];
    (void)events;
    if (read(io->fd, bytes, sizeof(bytes)) <= 0)
        loop_stop(loop);
}

static int serve(char **argv)
{
    static struct io listener, input;
    struct err e = ERR_INIT;
    struct addr a;
    struct tls_files f = {argv[2], argv[3], argv[3] ? argv[4] : NULL};
    server = tls_server_new(&f, &e);
    int fd = server && addr_parse(&a, STR("127.0.0.1:0"), &e) == 0 ? addr_listen(&a, &e)
                                                                   : -1;
    if (fd < 0) {
        fprintf(stderr, "tls_peer: %s\n", e.text);
        return 1;
    }
    addr_of(fd, &a);
    struct buf text = BUF_INIT(ADDR_TEXT_MAX);
    addr_print(&a, &text);
    printf("%s\n", strchr(buf_z(&text), ':') + 1);
    fflush(stdout);
    buf_release(&text);
    fcntl(0, F_SETFL, O_NONBLOCK);
    if (io_start(loop, &listener, fd, EPOLLIN, on_accept) < 0 ||
        io_start(loop, &input, 0, EPOLLIN, on_stdin) < 0)
        return 1;
    return loop_run(loop);
}

/* ---- get ---- */

static struct httpc http;

static size_t on_body(struct httpc *c, struct str piece)
{
    (void)c;
    return fwrite(piece.p, 1, piece.n, stdout);
}

static void on_answer(struct httpc *c, const struct err *e)
{
    (void)c;
    if (e)
        fprintf(stderr, "%s\n", e->text);
    status = e ? 1 : 0;
    loop_stop(loop);
}

static const struct httpc_events http_calls = {.on_body = on_body, .on_done = on_answer};

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct err why = ERR_INIT;
    struct buf text = BUF_INIT(500);
    if (!s) {
        fprintf(stderr, "%s\n", e->text);
        loop_stop(loop);
        return;
    }
    tls_seen_cipher(s, &text);
    printf("%s\n", buf_z(&text));
    buf_release(&text);
    httpc_start(&http, s, 0, &http_calls);
    struct httpc_request q = {
        .method = "GET", .target = STR("/"), .host = str_of(dial_owner(d))};
    if (httpc_send(&http, &q, &why) < 0)
        loop_stop(loop);
}

static int get(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct proxy proxy = {.host = "127.0.0.1"};
    uint64_t port = 0, proxy_port = 0;
    struct tls_client *client = NULL;
    str_to_u64(str_of(argv[4]), &port);
    if (argc > 5)
        str_to_u64(str_of(argv[5]), &proxy_port);
    proxy.port = (uint16_t)proxy_port;
    if (strcmp(argv[2], "plain") != 0) {
        struct trust_where where = {.ca = *argv[2] ? argv[2] : NULL};
        struct tls_files own = {.cert = argc > 7 ? argv[6] : NULL,
                                .key = argc > 7 ? argv[7] : NULL};
        struct trust *trust = trust_new(&where, &e);
        client = trust ? tls_client_new(trust, &own, &e) : NULL;
    }
    struct dial_spec spec = {.host = str_of(argv[3]),
                             .port = (uint16_t)port,
                             .tls = client,
                             .proxy = proxy_port ? &proxy : NULL,
                             .in_max = IN_MAX,
                             .out_max = OUT_MAX,
                             .on_done = on_dialled,
                             .owner = argv[3]};
    if (e.code == ERR_NONE && dial_start(loop, &spec, &e))
        loop_run(loop);
    else
        fprintf(stderr, "%s\n", e.text);
    httpc_release(&http);
    tls_client_free(client);
    return status;
}

int main(int argc, char **argv)
{
    loop = loop_new();
    if (!loop || argc < 4 || (strcmp(argv[1], "get") == 0 && argc < 5)) {
        fprintf(stderr, "usage: tls_peer serve CERT KEY [CA] | get CA HOST PORT "
                        "[PROXY-PORT [CERT KEY]]\n");
        return 2;
    }
    return strcmp(argv[1], "get") == 0 ? get(argc, argv) : serve(argv);
}
