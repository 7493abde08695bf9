/* SPDX-License-Identifier: MIT */
/*
 * httpd_echo ADDRESS [NAME=VALUE ...]: the server of echo.h until its standard
 * input ends, then it drains. Prints where it listens. file=PATH is what /file
 * has; head_ms, body_ms, idle_ms, write_ms and conns are limits. With cert=FILE it
 * speaks TLS; key=FILE and ca=FILE belong to that.
 */
#include "echo.h"

#include "net/addr.h"
#include "net/tls.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

static struct echo echo;
static struct tls_files files;
static struct tls_server *tls; /* NULL: no TLS */

static void on_drained(void *arg) { loop_stop(arg); }

static void on_input(struct io *io, uint32_t events)
{
    char c;
    (void)events;
    if (read(io->fd, &c, 1) == 1)
        return;
    struct loop *l = io->loop;
    io_stop(io);
    httpd_drain(echo.httpd, on_drained, l);
}

static int put_tls(struct stream *s, void (*ready)(struct stream *s), void *arg)
{
    if (tls_accept(arg, s, 0, ready) < 0)
        return -1;
    tls_take_cut(s);
    return 0;
}

static int listen_on(int fd)
{
    if (!files.cert)
        return httpd_listen(echo.httpd, fd);
    tls = tls_server_later(&files);
    return httpd_listen_under(echo.httpd, fd, NULL, put_tls, tls);
}

static void option(struct httpd_config *c, const char **file, const char *arg)
{
    struct str value = str_of(arg), name = str_cut(&value, '=');
    uint64_t n = 0;
    str_to_u64(value, &n);
    if (str_eq(name, STR("file")))
        *file = value.p;
    else if (str_eq(name, STR("cert")))
        files.cert = value.p;
    else if (str_eq(name, STR("key")))
        files.key = value.p;
    else if (str_eq(name, STR("ca")))
        files.ca = value.p;
    else if (str_eq(name, STR("head_ms")))
        c->head_ms = (int)n;
    else if (str_eq(name, STR("body_ms")))
        c->body_ms = (int)n;
    else if (str_eq(name, STR("idle_ms")))
        c->idle_ms = (int)n;
    else if (str_eq(name, STR("write_ms")))
        c->write_ms = (int)n;
    else if (str_eq(name, STR("conns")))
        c->conns_max = (unsigned)n;
}

int main(int argc, char **argv)
{
    struct httpd_config c = {0};
    struct err e = ERR_INIT;
    struct addr a;
    struct buf where = BUF_INIT(ADDR_TEXT_MAX);
    struct io input;
    const char *file = NULL;
    if (argc < 2 || addr_parse(&a, str_of(argv[1]), &e) < 0) {
        fprintf(stderr, "httpd_echo: %s\n", argc < 2 ? "which address?" : e.text);
        return 2;
    }
    for (int i = 2; i < argc; i++)
        option(&c, &file, argv[i]);
    struct loop *l = loop_new();
    echo_open(&echo, l, c, file);
    int fd = addr_listen(&a, &e);
    if (fd < 0 || addr_of(fd, &a) < 0 || listen_on(fd) < 0 ||
        io_start(l, &input, 0, EPOLLIN, on_input) < 0) {
        fprintf(stderr, "httpd_echo: %s\n", e.code ? e.text : strerror(errno));
        return 1;
    }
    addr_print(&a, &where);
    printf("%s\n", buf_z(&where));
    fflush(stdout);
    buf_release(&where);
    int rc = loop_run(l) < 0;
    echo_close(&echo);
    tls_server_free(tls);
    loop_free(l);
    return rc;
}
