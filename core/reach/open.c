/* SPDX-License-Identifier: MIT */
/*
 * Connections to hosts that get a secret. The program's socket is connected to a listener
 * of ours on loopback instead, and the connection that is accepted there goes to the
 * proxy (reach/opened.h), which connects to the host. The listener takes nobody else's:
 * each is known by the port that it comes from.
 */
#include "reach/own.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "os/self.h"
#include "os/spawn.h"
#include "reach/address.h"
#include "reach/opened.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EXPECTED_MAX = 256, BACKLOG = 1024 };

struct opener {
    struct ready front_ready, proxy_ready;
    int rules;       /* owned; for the proxy */
    int front;       /* owned; the listener; -1: not needed yet */
    int proxy;       /* owned; the socket to it; -1: it does not run */
    unsigned port;   /* of front */
    unsigned oldest; /* of expected */
    struct {
        unsigned from; /* the port; 0: none */
        struct reach_opened what;
    } expected[EXPECTED_MAX];
};

void open_init(struct supervisor *s, int rules)
{
    if (!reach_has_secrets(s->rules, 0)) {
        close(rules);
        return;
    }
    s->opener = xnew(struct opener);
    s->opener->front_ready.kind = READY_FRONT;
    s->opener->proxy_ready.kind = READY_PROXY;
    s->opener->rules = rules;
    s->opener->front = s->opener->proxy = -1;
}

/* ---- which ones ---- */

bool open_wanted(struct supervisor *s, const struct where *seen, const struct where *real,
                 pid_t pid, struct reach_opened *what)
{
    unsigned char a[16];
    if (!s->opener || !reach_has_secrets(s->rules, real->port))
        return false;
    memset(what, 0, sizeof(*what));
    const char *name = names_meaning(s->names, seen->a, a);
    if (name)
        snprintf(what->name, sizeof(what->name), "%s", name);
    else if (!names_opened_in_hosts(s->rules, real->a, real->port, what->name))
        return false;
    what->pid = pid;
    what->port = real->port;
    return reach_opens(s->rules, str_of(what->name), real->port);
}

/* ---- the proxy ---- */

static void proxy_lost(struct supervisor *s)
{
    struct opener *o = s->opener;
    epoll_ctl(s->epoll, EPOLL_CTL_DEL, o->proxy, NULL);
    close(o->proxy);
    o->proxy = -1;
}

static int start_proxy(struct supervisor *s)
{
    static char name[] = "od-secret-proxy";
    struct opener *o = s->opener;
    char *argv[] = {name, NULL}, *envp[] = {NULL};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    pid_t pid = spawn_copy((int[]){pair[1], o->rules}, 2);
    if (pid == 0) {
        self_exec(self_open(), argv, envp);
        _exit(127);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return -1;
    }
    o->proxy = pair[0];
    watch(s, o->proxy, &o->proxy_ready, EPOLLIN, true);
    return 0;
}

/* Gives it a connection. One that ended is started again, once. */
static void hand_over(struct supervisor *s, const struct reach_opened *what, int fd)
{
    struct opener *o = s->opener;
    for (int i = 0; i < 2; i++) {
        if (o->proxy < 0 && start_proxy(s) < 0)
            break;
        if (notify_pass(o->proxy, what, sizeof(*what), fd) == 0)
            return;
        if (errno == EAGAIN)
            break;
        proxy_lost(s);
    }
    refuse(s, what->pid, "connect", what->name, what->port,
           "the process that puts secrets in cannot take it");
}

void open_proxy_ready(struct supervisor *s)
{
    struct opener *o = s->opener;
    struct reach_opened_refused r;
    ssize_t n = recv(o->proxy, &r, sizeof(r), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != sizeof(r)) {
        proxy_lost(s);
        return;
    }
    r.what.name[sizeof(r.what.name) - 1] = 0;
    r.why[sizeof(r.why) - 1] = 0;
    refuse(s, r.what.pid, "secret", r.what.name, r.what.port, r.why);
}

/* ---- the listener ---- */

static int make_front(struct supervisor *s)
{
    struct opener *o = s->opener;
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof(a);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (s->owns == OWN_MAX || bind(fd, (struct sockaddr *)&a, n) < 0 ||
        listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
        close(fd);
        return -1;
    }
    o->front = fd;
    o->port = ntohs(a.sin_port);
    s->own[s->owns++] = o->port;
    watch(s, fd, &o->front_ready, EPOLLIN, true);
    return 0;
}

int open_front(struct supervisor *s, struct where *to)
{
    static const unsigned char loopback[4] = {127, 0, 0, 1};
    if (s->opener->front < 0 && make_front(s) < 0)
        return -1;
    address_of_ipv4(to->a, loopback);
    to->port = s->opener->port;
    return 0;
}

void open_expect(struct supervisor *s, int fd, const struct reach_opened *what)
{
    struct opener *o = s->opener;
    struct sockaddr_storage a;
    struct where from;
    socklen_t n = sizeof(a);
    if (getsockname(fd, (struct sockaddr *)&a, &n) < 0 || where_from(&from, &a, n) < 0)
        return;
    for (unsigned i = 0; i < EXPECTED_MAX; i++) {
        if (o->expected[i].from == from.port) /* of a connection that never came */
            o->expected[i].from = 0;
    }
    o->expected[o->oldest].from = from.port;
    o->expected[o->oldest].what = *what;
    o->oldest = (o->oldest + 1) % EXPECTED_MAX;
}

void open_front_ready(struct supervisor *s)
{
    struct opener *o = s->opener;
    struct sockaddr_storage a;
    struct where from;
    socklen_t n = sizeof(a);
    int fd = accept4(o->front, (struct sockaddr *)&a, &n, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    for (unsigned i = 0; where_from(&from, &a, n) == 0 && i < EXPECTED_MAX; i++) {
        if (!from.port || o->expected[i].from != from.port)
            continue;
        o->expected[i].from = 0;
        hand_over(s, &o->expected[i].what, fd);
        break;
    }
    close(fd);
}
