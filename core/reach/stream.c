/* SPDX-License-Identifier: MIT */
/* TCP: sockets are made, bound, connected and made to listen here, on our copy. */
#include "reach/own.h"

#include "reach/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

enum { TYPE_MASK = 0xf };

void do_socket(struct supervisor *s, struct reach_listener *l,
               const struct notify_call *c)
{
    int family = (int)c->arg[0], type = (int)c->arg[1], protocol = (int)c->arg[2];
    if ((type & TYPE_MASK) == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP)) {
        int errnum = datagram_open(s, l, c);
        if (errnum)
            notify_answer(l->fd, c->id, 0, errnum);
        return;
    }
    if ((type & TYPE_MASK) != SOCK_STREAM || (protocol != 0 && protocol != IPPROTO_TCP)) {
        char text[60];
        snprintf(text, sizeof(text), "a socket of type %d and protocol %d",
                 type & TYPE_MASK, protocol);
        refuse(s, (pid_t)c->pid, "socket", text, 0, "only TCP and UDP pass the fence");
        notify_answer(l->fd, c->id, 0,
                      (type & TYPE_MASK) == SOCK_RAW ? EPERM : EPROTONOSUPPORT);
        return;
    }
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | (type & SOCK_NONBLOCK),
                    protocol);
    if (fd < 0) {
        notify_answer(l->fd, c->id, 0, errno);
        return;
    }
    struct sock *k = sock_new(s, fd, family, true);
    if (notify_give(l->fd, c->id, fd, -1, (type & SOCK_CLOEXEC) != 0) >= 0)
        return;
    notify_answer(l->fd, c->id, 0, errno); /* EMFILE; or the caller is gone */
    sock_free(s, k);
}

/* The program has its socket for itself from now on. */
static void settle(struct supervisor *s, struct sock *k, bool connected)
{
    if (connected) {
        s->settled[s->settleds] = k->inode;
        s->settleds = (s->settleds + 1) % SETTLED_MAX;
    }
    sock_free(s, k);
}

static bool is_settled(const struct supervisor *s, uint64_t inode)
{
    for (unsigned i = 0; i < SETTLED_MAX; i++) {
        if (inode && s->settled[i] == inode)
            return true;
    }
    return false;
}

int64_t time_limit_ms(int fd, int option)
{
    struct timeval t = {0};
    socklen_t n = sizeof(t);
    if (getsockopt(fd, SOL_SOCKET, option, &t, &n) < 0)
        return 0;
    return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

/* Is it connected? -1: it failed, or has not begun. */
static bool is_connected(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof(a);
    return getpeername(fd, (struct sockaddr *)&a, &n) == 0;
}

void connect_ready(struct supervisor *s, struct sock *k)
{
    int error = 0;
    socklen_t n = sizeof(error);
    k->connecting = false;
    epoll_ctl(s->epoll, EPOLL_CTL_DEL, k->fd, NULL);
    if (k->wait.at) {
        getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &error, &n);
        /* One whose call was interrupted asks again. */
        if (wait_answer(s, k, 0, error) && error == 0)
            settle(s, k, true);
    } else if (is_connected(k->fd)) {
        settle(s, k, true); /* its error is the program's to read */
    }
}

/* what: the connection is to be opened; NULL: it is the program's own. */
static void start_connect(struct supervisor *s, struct reach_listener *l,
                          const struct notify_call *c, struct sock *k,
                          const struct where *to, const struct reach_opened *what)
{
    struct sockaddr_storage a;
    socklen_t n = where_to(to, k->family, &a);
    int flags = fcntl(k->fd, F_GETFL);
    bool blocks = !(flags & O_NONBLOCK);
    if (n == 0) {
        notify_answer(l->fd, c->id, 0, ENETUNREACH);
        return;
    }
    if (blocks)
        fcntl(k->fd, F_SETFL, flags | O_NONBLOCK);
    int r = connect(k->fd, (struct sockaddr *)&a, n), errnum = r < 0 ? errno : 0;
    if (blocks)
        fcntl(k->fd, F_SETFL, flags);
    if (what && (errnum == 0 || errnum == EINPROGRESS))
        open_expect(s, k->fd, what);
    if (errnum == EISCONN) { /* the answer of an interrupted call was lost */
        struct sockaddr_storage b;
        socklen_t m = sizeof(b);
        struct where is;
        if (getpeername(k->fd, (struct sockaddr *)&b, &m) == 0 &&
            where_from(&is, &b, m) == 0 && where_same(&is, to))
            errnum = blocks ? 0 : EISCONN;
    }
    if (errnum == EINPROGRESS || (errnum == EALREADY && blocks)) {
        k->connecting = true;
        watch(s, k->fd, &k->ready, EPOLLOUT, true);
        if (blocks)
            wait_set(s, k, l, c, time_limit_ms(k->fd, SO_SNDTIMEO));
        else
            notify_answer(l->fd, c->id, 0, EINPROGRESS);
        return;
    }
    if (notify_answer(l->fd, c->id, 0, errnum) && (errnum == 0 || errnum == EISCONN))
        settle(s, k, true);
}

void do_connect(struct supervisor *s, struct reach_listener *l,
                const struct notify_call *c)
{
    struct sockaddr_storage a;
    struct where seen, real;
    uint64_t inode = notify_inode((pid_t)c->pid, (int)c->arg[0]);
    struct sock *k = sock_find(s, inode);
    if (!k && !is_settled(s, inode)) {
        /* A unix socket, or what the kernel refuses: Landlock gives no port. */
        notify_go_on(l->fd, c->id);
        return;
    }
    int errnum = where_read(c, c->arg[1], (uint64_t)(int64_t)(int32_t)c->arg[2], &a);
    if (!notify_waits(l->fd, c->id))
        return;
    if (errnum) {
        notify_answer(l->fd, c->id, 0, errnum);
        return;
    }
    if (k && !k->stream) {
        datagram_connect(s, l, c, k);
        return;
    }
    if (a.ss_family == AF_UNSPEC) {
        notify_go_on(l->fd, c->id);
        return;
    }
    if (!k) {
        notify_answer(l->fd, c->id, 0, EISCONN);
        return;
    }
    if (where_from(&seen, &a, (socklen_t)c->arg[2]) < 0) {
        notify_answer(l->fd, c->id, 0, EAFNOSUPPORT);
        return;
    }
    if (k->connecting) {
        if (fcntl(k->fd, F_GETFL) & O_NONBLOCK)
            notify_answer(l->fd, c->id, 0, EALREADY);
        else
            wait_set(s, k, l, c, time_limit_ms(k->fd, SO_SNDTIMEO));
        return;
    }
    if (!judge(s, c, "connect", &seen, &real)) {
        notify_answer(l->fd, c->id, 0, EACCES);
        return;
    }
    struct reach_opened what;
    bool opens = open_wanted(s, &seen, &real, (pid_t)c->pid, &what);
    if (opens && open_front(s, &real) < 0) {
        notify_answer(l->fd, c->id, 0, errno);
        return;
    }
    start_connect(s, l, c, k, &real, opens ? &what : NULL);
}

static int bind_to(struct sock *k, const struct where *to)
{
    struct sockaddr_storage a;
    socklen_t n = where_to(to, k->family, &a);
    if (n == 0)
        return EAFNOSUPPORT;
    return bind(k->fd, (struct sockaddr *)&a, n) < 0 ? errno : 0;
}

static bool may_listen(struct supervisor *s, const struct notify_call *c, unsigned port)
{
    char text[40], rule[40];
    if (port == 0 || reach_listen(s->rules, port))
        return true;
    snprintf(text, sizeof(text), "port %u", port);
    snprintf(rule, sizeof(rule), "listen %u", port);
    return refuse_rule(s, (pid_t)c->pid, "listen", text, 0,
                       "no listen rule allows this port", rule);
}

void do_bind(struct supervisor *s, struct reach_listener *l, const struct notify_call *c)
{
    struct sockaddr_storage a;
    struct where to;
    struct sock *k = sock_find(s, notify_inode((pid_t)c->pid, (int)c->arg[0]));
    if (!k) {
        notify_go_on(l->fd, c->id);
        return;
    }
    int errnum = where_read(c, c->arg[1], (uint64_t)(int64_t)(int32_t)c->arg[2], &a);
    if (!notify_waits(l->fd, c->id))
        return;
    if (!errnum && where_from(&to, &a, (socklen_t)c->arg[2]) < 0)
        errnum = a.ss_family == AF_UNSPEC ? EAFNOSUPPORT : EINVAL;
    if (!errnum && !may_listen(s, c, to.port))
        errnum = EACCES;
    if (!errnum && !k->stream) {
        datagram_bind(s, l, c, k, &to);
        return;
    }
    if (!errnum)
        errnum = bind_to(k, &to);
    if (errnum == EADDRINUSE) { /* perhaps by our copy of one that is closed */
        sweep(s, 0);
        errnum = bind_to(k, &to);
    }
    notify_answer(l->fd, c->id, 0, errnum);
}

/* Is it a unix socket? proc_pid_net(5) */
static bool is_unix(pid_t pid, uint64_t inode)
{
    char path[64], line[512], end[32];
    bool is = false;
    snprintf(path, sizeof(path), "/proc/%d/net/unix", (int)pid);
    snprintf(end, sizeof(end), " %llu", (unsigned long long)inode);
    FILE *f = fopen(path, "re");
    while (f && !is && fgets(line, sizeof(line), f)) {
        const char *at = strstr(line, end);
        is = at && (at[strlen(end)] == ' ' || at[strlen(end)] == '\n');
    }
    if (f)
        fclose(f);
    return is;
}

void do_listen(struct supervisor *s, struct reach_listener *l,
               const struct notify_call *c)
{
    struct sockaddr_storage a;
    struct where at;
    socklen_t n = sizeof(a);
    uint64_t inode = notify_inode((pid_t)c->pid, (int)c->arg[0]);
    struct sock *k = sock_find(s, inode);
    if (!k) {
        /* One that was connected and is no more would get a port that nobody judged. */
        if (reach_limits_listen(s->rules) && !is_unix((pid_t)c->pid, inode))
            notify_answer(l->fd, c->id, 0, EACCES);
        else
            notify_go_on(l->fd, c->id);
        return;
    }
    if (!k->stream) {
        notify_answer(l->fd, c->id, 0, EOPNOTSUPP);
        return;
    }
    if (listen(k->fd, (int)c->arg[1]) < 0) {
        notify_answer(l->fd, c->id, 0, errno);
        return;
    }
    if (getsockname(k->fd, (struct sockaddr *)&a, &n) == 0 &&
        where_from(&at, &a, n) == 0 && !may_listen(s, c, at.port)) {
        shutdown(k->fd, SHUT_RD); /* ends listening */
        notify_answer(l->fd, c->id, 0, EACCES);
        return;
    }
    if (notify_answer(l->fd, c->id, 0, 0))
        settle(s, k, false);
}
