/* SPDX-License-Identifier: MIT */
/* Listening sockets and new connections: their number, and their layer. */
#include "http/httpd_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_PER_TURN = 64,
    TOO_MANY_MAX = 64, /* connections over the budget that get a refusal */
    ACCEPT_AGAIN_MS = 500
};

/* ---- accepting ---- */

/*
 * Sets options of a listener, which its connections inherit: small writes are sent at
 * once, and a peer whose machine is gone is noticed within minutes even if nothing is
 * sent, as while a command runs. Returns whether it is a unix socket.
 */
static bool tune(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof(a);
    int on = 1, idle_s = 60, every_s = 15, times = 4;
    getsockname(fd, (struct sockaddr *)&a, &n);
    if (a.ss_family == AF_UNIX)
        return true;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
    return false;
}

/* When there is no room for a new connection, closes the one that waited longest. */
static bool make_room(struct httpd *d)
{
    if (d->nconns < d->c.conns_max)
        return true;
    if (list_empty(&d->waits[WAIT_IDLE]))
        return false;
    conn_close(list_first(&d->waits[WAIT_IDLE], struct httpd_conn, queue));
    return true;
}

static const char full[] =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
    "Content-Length: 0\r\n\r\n";

/* Bytes that the peer has already sent would reset the answer if they were not read. */
static void turn_away_gently(struct httpd *d, int fd, const struct listener *l)
{
    struct httpd_conn *c = conn_open(d, fd, l);
    if (!c)
        close(fd);
    if (!c || c->closed)
        return;
    stream_write(&c->stream, STR(full));
    conn_finish(c);
}

static void turn_away(const struct listener *l, int fd)
{
    if (!l->under && send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        log_debug("a connection too many could not be told so: %m");
    close(fd);
}

static void accept_all(struct httpd *d)
{
    struct list *it, *tmp;
    list_each (it, tmp, &d->listeners)
        io_set(&list_entry(it, struct listener, node)->io, EPOLLIN);
}

static void on_again(struct timer *t)
{
    accept_all(container_of(t, struct httpd, again));
}

/* No descriptor is left: the spare one is used to refuse the peer. */
static void without_fds(struct httpd *d, struct listener *l)
{
    if (d->spare >= 0)
        close(d->spare);
    int fd = accept4(l->io.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        turn_away(l, fd);
    d->spare = open("/", O_PATH | O_CLOEXEC);
    if (fd < 0) {
        io_set(&l->io, 0);
        timer_begin(d->loop, &d->again, ACCEPT_AGAIN_MS, on_again);
    }
    if (!d->complained)
        log_warn("no descriptor is left for another HTTP connection: raise the limit of "
                 "open files (ulimit -n)");
    d->complained = true;
}

/*
 * The number of handshakes is limited. Above it, one that takes long is ended, so that
 * unfinished handshakes keep nobody out; else the next client waits.
 */
static bool may_greet(struct httpd *d, struct listener *l)
{
    if (!l->under || d->greeting < LIMIT_TLS_GREETING)
        return true;
    struct httpd_conn *oldest = list_first(&d->waits[WAIT_GREET], struct httpd_conn,
                                           queue);
    if (clock_ms() - oldest->since_ms >= LIMIT_TLS_PATIENCE_MS) {
        conn_close(oldest);
        return true;
    }
    io_set(&l->io, 0);
    timer_begin(d->loop, &d->again, ACCEPT_AGAIN_MS, on_again);
    return false;
}

static void on_accept(struct io *io, uint32_t ev)
{
    struct listener *l = container_of(io, struct listener, io);
    struct httpd *d = l->d;
    (void)ev;
    for (int i = 0; i < ACCEPTS_PER_TURN && may_greet(d, l); i++) {
        int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                without_fds(d, l);
            else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                log_warn("cannot accept a connection: %m");
            return;
        }
        if (!make_room(d)) {
            if (d->nconns < d->c.conns_max + TOO_MANY_MAX)
                turn_away_gently(d, fd, l);
            else
                turn_away(l, fd);
            continue;
        }
        d->complained = false;
        if (!conn_open(d, fd, l)) {
            log_warn("cannot serve a connection: %m");
            close(fd);
        }
    }
}

int httpd_listen(struct httpd *d, int fd)
{
    return httpd_listen_under(d, fd, NULL, NULL, NULL);
}

int httpd_listen_under(struct httpd *d, int fd, const char *at, httpd_under_fn under,
                       void *arg)
{
    struct listener *l = xnew(struct listener);
    ASSERT(fd >= 0);
    l->d = d;
    l->at = at;
    l->under = under;
    l->arg = arg;
    l->unix_peer = tune(fd);
    if (io_start(d->loop, &l->io, fd, EPOLLIN, on_accept) < 0) {
        free(l);
        return -1;
    }
    list_add_tail(&d->listeners, &l->node);
    return 0;
}

/* ---- life ---- */

void accept_close(struct httpd *d)
{
    while (!list_empty(&d->listeners)) {
        struct listener *l = list_first(&d->listeners, struct listener, node);
        int fd = l->io.fd;
        io_stop(&l->io);
        close(fd);
        list_del(&l->node);
        free(l);
    }
}

/* A connection is gone: accepts the next, or completes the drain. */
void accept_on_paused(struct task *t)
{
    struct httpd *d = container_of(t, struct httpd, paused);
    accept_all(d);
    if (d->draining && d->nconns == 0 && d->drained) {
        void (*fn)(void *) = d->drained;
        d->drained = NULL;
        fn(d->drained_arg);
    }
}
