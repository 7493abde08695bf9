/* SPDX-License-Identifier: MIT */
/*
 * Datagrams. A filter cannot see where sendmsg sends to, so programs have no internet
 * sockets of this type: they have one end of a unix pair, which poll, select, epoll and
 * dup take as any other, at a number where the filter asks us about each call
 * (reach/notify.h). What such a call does is done here on a real socket. What reaches
 * the other end by a way that was not asked about goes to the peer, as send does.
 *
 * In the pair, each datagram for the program is behind a struct where: its origin.
 */
#include "reach/own.h"

#include "reach/opened.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    DNS_PORT = 53,
    PIECES_MAX = 64, /* of one message; more is EMSGSIZE */
    OPTION_MAX = 256,
    BATCH_MAX = 32 /* messages that one sendmmsg sends */
};

/* struct user_msghdr of the kernel, on all processors. */
struct message {
    unsigned long name;
    int name_size;
    unsigned long pieces, count, control, control_size;
    unsigned flags;
};
struct datagram_piece {
    unsigned long base, size;
};
/* struct mmsghdr */
struct batched {
    struct message m;
    unsigned done;
};

/* Where a call wants its bytes, or has them. */
struct datagram_part {
    struct datagram_piece piece[PIECES_MAX];
    unsigned n;
    uint64_t name,
        name_size_at; /* of a receiving call: where the origin goes; 0: nowhere */
    uint64_t name_room;
    uint64_t message; /* address of the struct message; 0: none */
    int flags;
};

/* ---- making ---- */

/* A number of the program's that is free and ours to use. -1: there is none. */
static int free_number(struct supervisor *s, pid_t pid)
{
    char to[8];
    for (int i = 0; i < NOTIFY_COUNT; i++) {
        int at = NOTIFY_FROM + (int)(s->next_number++ % NOTIFY_COUNT);
        if (notify_link(pid, at, to, sizeof(to)) < 0)
            return errno == ENOENT ? at : -1;
    }
    return -1;
}

int datagram_open(struct supervisor *s, struct reach_listener *l,
                  const struct notify_call *c)
{
    int pair[2], type = (int)c->arg[1], at = free_number(s, (pid_t)c->pid);
    if (at < 0)
        return EMFILE;
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
        return errno;
    fcntl(pair[1], F_SETFL, O_NONBLOCK);
    if (type & SOCK_NONBLOCK)
        fcntl(pair[0], F_SETFL, O_NONBLOCK);
    struct sock *k = sock_new(s, pair[0], (int)c->arg[0], false);
    k->end = pair[1];
    watch(s, k->end, &k->end_ready, EPOLLIN, true);
    if (notify_give(l->fd, c->id, pair[0], at, (type & SOCK_CLOEXEC) != 0) >= 0)
        return 0;
    int errnum = errno == EBADF ? EMFILE : errno; /* beyond its RLIMIT_NOFILE */
    sock_free(s, k);
    return errnum;
}

/* The real socket, made when it is needed. -1 with errno. */
static int real_of(struct supervisor *s, struct sock *k)
{
    if (k->real >= 0)
        return k->real;
    k->real = socket(k->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (k->real >= 0)
        watch(s, k->real, &k->real_ready, k->stalled ? 0 : EPOLLIN, true);
    return k->real;
}

/* ---- for the program ---- */

static void take_again(struct supervisor *s, struct sock *k);

void datagram_push(struct supervisor *s, struct sock *k, const struct where *from,
                   const void *bytes, size_t n)
{
    struct iovec v[2] = {{(void *)(uintptr_t)from, sizeof(*from)},
                         {(void *)(uintptr_t)bytes, n}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    /* A full queue loses it, as datagrams are lost. */
    sendmsg(k->end, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (k->wait.at)
        take_again(s, k);
}

/* The origin as the program knows it: the address that it sent to. */
static void as_seen(const struct sock *k, struct where *from)
{
    for (unsigned i = 0; i < sizeof(k->sent) / sizeof(k->sent[0]); i++) {
        if (where_same(&k->sent[i].real, from)) {
            *from = k->sent[i].seen;
            return;
        }
    }
}

static bool has_room(const struct sock *k)
{
    int queued = 0;
    return ioctl(k->fd, FIONREAD, &queued) < 0 || queued == 0;
}

void datagram_real_ready(struct supervisor *s, struct sock *k)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof(a);
    struct where from;
    if (!has_room(k)) { /* what follows waits in the kernel */
        k->stalled = true;
        watch(s, k->real, &k->real_ready, 0, false);
        return;
    }
    ssize_t n = recvfrom(k->real, s->space, DATAGRAM_MAX, MSG_DONTWAIT,
                         (struct sockaddr *)&a, &size);
    if (n < 0 || where_from(&from, &a, size) < 0)
        return;
    if (k->has_peer && !where_same(&from, &k->peer_real))
        return;
    as_seen(k, &from);
    datagram_push(s, k, &from, s->space, (size_t)n);
}

/* ---- sending ---- */

static void remember(struct sock *k, const struct where *seen, const struct where *real)
{
    unsigned max = sizeof(k->sent) / sizeof(k->sent[0]);
    if (where_same(seen, real))
        return;
    for (unsigned i = 0; i < max; i++) {
        if (where_same(&k->sent[i].seen, seen))
            return;
    }
    k->sent[k->sents % max].seen = *seen;
    k->sent[k->sents % max].real = *real;
    k->sents++;
}

static bool is_question(struct supervisor *s, const struct where *to)
{
    return to->port == DNS_PORT && reach_limits(s->rules) &&
           (!where_is_loopback(to) || names_is_server(to->a));
}

/* Sends n bytes of s->space. Returns 0 or an errno. */
static int send_to(struct supervisor *s, const struct notify_call *c, struct sock *k,
                   const struct where *to, size_t n)
{
    struct sockaddr_storage a;
    struct where real;
    struct reach_opened what;
    /* Without a line of reach, only what a secret needs is answered here. */
    if (is_question(s, to) ||
        (to->port == DNS_PORT && !reach_limits(s->rules) &&
         reach_has_secrets(s->rules, 0) && names_opens(s->names, s->space, n))) {
        struct names_asker who = {k->inode, *to, (int)c->pid};
        names_ask(s->names, &who, s->space, n);
        return 0;
    }
    if (!judge(s, c, "send", to, &real))
        return EACCES;
    /* QUIC: the program then tries TCP. A connect alone is how resolvers sort addresses.
     */
    if (open_wanted(s, to, &real, (pid_t)c->pid, &what)) {
        refuse(s, what.pid, "send", what.name, what.port,
               "a host that gets a secret is reached by TCP alone; HTTP/3 is not opened");
        return EACCES;
    }
    socklen_t size = where_to(&real, k->family, &a);
    int fd = real_of(s, k);
    if (fd < 0)
        return errno;
    if (size == 0)
        return ENETUNREACH;
    remember(k, to, &real);
    if (sendto(fd, s->space, n, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&a,
               size) >= 0)
        return 0;
    return errno == EAGAIN ? ENOBUFS : errno;
}

void datagram_end_ready(struct supervisor *s, struct sock *k)
{
    const struct notify_call nobody = {.pid = 0};
    ssize_t n = recv(k->end, s->space, DATAGRAM_MAX, MSG_DONTWAIT);
    if (n >= 0 && k->has_peer)
        send_to(s, &nobody, k, &k->peer, (size_t)n);
}

/* ---- what a call describes ---- */

static int read_message(const struct notify_call *c, uint64_t from,
                        struct datagram_part *t)
{
    struct message m;
    pid_t pid = (pid_t)c->pid;
    if (!notify_read(pid, from, &m, sizeof(m)))
        return EFAULT;
    if (m.count > PIECES_MAX)
        return EMSGSIZE;
    if (!notify_read(pid, m.pieces, t->piece, sizeof(t->piece[0]) * m.count))
        return EFAULT;
    t->n = (unsigned)m.count;
    t->name = m.name;
    t->name_room = m.name && m.name_size > 0 ? (uint64_t)m.name_size : 0;
    t->message = from;
    return 0;
}

static void one_piece(struct datagram_part *t, uint64_t base, uint64_t size)
{
    t->piece[0] = (struct datagram_piece){(unsigned long)base, (unsigned long)size};
    t->n = 1;
}

/* Gathers the bytes into s->space. Returns their number, or -1 and *errnum. */
static long gather(struct supervisor *s, const struct notify_call *c,
                   const struct datagram_part *t, int *errnum)
{
    size_t n = 0;
    for (unsigned i = 0; i < t->n; i++) {
        if (t->piece[i].size > DATAGRAM_MAX - n) {
            *errnum = EMSGSIZE;
            return -1;
        }
        if (!notify_read((pid_t)c->pid, t->piece[i].base, s->space + n,
                         t->piece[i].size)) {
            *errnum = EFAULT;
            return -1;
        }
        n += t->piece[i].size;
    }
    return (long)n;
}

/* Sends one message. Returns its size, or -1 and *errnum. */
static long send_one(struct supervisor *s, struct reach_listener *l,
                     const struct notify_call *c, struct sock *k,
                     const struct datagram_part *t, int *errnum)
{
    struct sockaddr_storage a;
    struct where to = k->peer;
    if (t->name) {
        *errnum = where_read(c, t->name, t->name_room, &a);
        if (*errnum == 0 && where_from(&to, &a, (socklen_t)t->name_room) < 0)
            *errnum = EAFNOSUPPORT;
        if (*errnum)
            return -1;
    } else if (!k->has_peer) {
        *errnum = EDESTADDRREQ;
        return -1;
    }
    long n = gather(s, c, t, errnum);
    if (n < 0)
        return -1;
    *errnum = notify_waits(l->fd, c->id) ? send_to(s, c, k, &to, (size_t)n) : EINTR;
    return *errnum ? -1 : n;
}

static void send_call(struct supervisor *s, struct reach_listener *l,
                      const struct notify_call *c, struct sock *k,
                      struct datagram_part *t)
{
    int errnum = 0;
    long n = send_one(s, l, c, k, t, &errnum);
    notify_answer(l->fd, c->id, n, n < 0 ? errnum : 0);
}

static void send_batch(struct supervisor *s, struct reach_listener *l,
                       const struct notify_call *c, struct sock *k)
{
    uint64_t at = c->arg[1];
    unsigned count = (unsigned)c->arg[2], i = 0;
    int errnum = 0;
    for (; i < count && i < BATCH_MAX; i++, at += sizeof(struct batched)) {
        struct datagram_part t = {0};
        errnum = read_message(c, at, &t);
        long n = errnum ? -1 : send_one(s, l, c, k, &t, &errnum);
        unsigned done = (unsigned)n;
        if (n < 0 || !notify_write((pid_t)c->pid, at + offsetof(struct batched, done),
                                   &done, sizeof(done)))
            break;
    }
    notify_answer(l->fd, c->id, i, i == 0 && count > 0 ? errnum : 0);
}

/* ---- receiving ---- */

/* Puts the origin where the call wants it. */
static bool write_name(const struct notify_call *c, const struct datagram_part *t,
                       int family, const struct where *from)
{
    struct sockaddr_storage a;
    pid_t pid = (pid_t)c->pid;
    uint32_t size = where_to(from, family, &a);
    uint64_t room = t->name_room;
    if (t->name && !notify_write(pid, t->name, &a, size < room ? size : (size_t)room))
        return false;
    if (t->name && t->name_size_at)
        return notify_write(pid, t->name_size_at, &size, sizeof(size));
    return true;
}

/* Completes the struct message of recvmsg. */
static bool write_message(const struct notify_call *c, const struct datagram_part *t,
                          int family, bool cut)
{
    struct message m;
    pid_t pid = (pid_t)c->pid;
    if (!t->message)
        return true;
    if (!notify_read(pid, t->message, &m, sizeof(m)))
        return false;
    m.name_size = !t->name            ? 0
                  : family == AF_INET ? (int)sizeof(struct sockaddr_in)
                                      : (int)sizeof(struct sockaddr_in6);
    m.control_size = 0;
    m.flags = cut ? MSG_TRUNC : 0;
    return notify_write(pid, t->message, &m, sizeof(m));
}

/* Spreads n bytes over the pieces. Returns how many fit, or -1. */
static long scatter(const struct notify_call *c, const struct datagram_part *t,
                    const char *bytes, size_t n)
{
    size_t done = 0;
    for (unsigned i = 0; i < t->n && done < n; i++) {
        size_t part = t->piece[i].size < n - done ? t->piece[i].size : n - done;
        if (!notify_write((pid_t)c->pid, t->piece[i].base, bytes + done, part))
            return -1;
        done += part;
    }
    return (long)done;
}

static int describe(const struct notify_call *c, struct datagram_part *t, bool sends);

/* Takes one datagram. Returns its size for the answer; -1 and *errnum, EAGAIN: none. */
static long receive_one(struct supervisor *s, const struct notify_call *c, struct sock *k,
                        const struct datagram_part *t, int *errnum)
{
    struct where from;
    ssize_t n = recv(k->fd, s->space, sizeof(s->space),
                     MSG_DONTWAIT | (t->flags & MSG_PEEK));
    *errnum = EAGAIN;
    if (n < (ssize_t)sizeof(from))
        return -1;
    if (k->stalled && !(t->flags & MSG_PEEK)) {
        k->stalled = false;
        watch(s, k->real, &k->real_ready, EPOLLIN, false);
    }
    memcpy(&from, s->space, sizeof(from));
    size_t size = (size_t)n - sizeof(from);
    long done = scatter(c, t, s->space + sizeof(from), size);
    *errnum = EFAULT;
    if (done < 0 || !write_name(c, t, k->family, &from) ||
        !write_message(c, t, k->family, (size_t)done < size))
        return -1;
    return t->flags & MSG_TRUNC ? (long)size : done;
}

static bool may_wait(const struct sock *k, const struct datagram_part *t)
{
    return !(t->flags & MSG_DONTWAIT) && !(fcntl(k->fd, F_GETFL) & O_NONBLOCK);
}

static void receive_call(struct supervisor *s, struct reach_listener *l,
                         const struct notify_call *c, struct sock *k,
                         const struct datagram_part *t)
{
    int errnum = 0;
    long n = receive_one(s, c, k, t, &errnum);
    if (n < 0 && errnum == EAGAIN && may_wait(k, t))
        wait_set(s, k, l, c, time_limit_ms(k->fd, SO_RCVTIMEO));
    else
        notify_answer(l->fd, c->id, n, n < 0 ? errnum : 0);
}

/* One message is enough for an answer, and the caller may ask for the next. */
static void receive_batch(struct supervisor *s, struct reach_listener *l,
                          const struct notify_call *c, struct sock *k)
{
    struct datagram_part t = {0};
    int errnum = read_message(c, c->arg[1], &t);
    t.flags = (int)c->arg[3];
    long n = errnum ? -1 : receive_one(s, c, k, &t, &errnum);
    unsigned done = (unsigned)n;
    if (n >= 0 && !notify_write((pid_t)c->pid, c->arg[1] + offsetof(struct batched, done),
                                &done, sizeof(done)))
        errnum = EFAULT, n = -1;
    if (n < 0 && errnum == EAGAIN && may_wait(k, &t))
        wait_set(s, k, l, c, time_limit_ms(k->fd, SO_RCVTIMEO));
    else
        notify_answer(l->fd, c->id, 1, n < 0 ? errnum : 0);
}

static void take_again(struct supervisor *s, struct sock *k)
{
    struct reach_listener *l = k->wait.at;
    struct notify_call c = k->wait.call;
    struct datagram_part t = {0};
    int errnum;
    wait_clear(s, k);
    if (!notify_waits(l->fd, c.id)) /* it was interrupted; the datagram stays */
        return;
    if (c.nr == SYS_recvmmsg) {
        receive_batch(s, l, &c, k);
        return;
    }
    errnum = describe(&c, &t, false);
    if (errnum)
        notify_answer(l->fd, c.id, 0, errnum);
    else
        receive_call(s, l, &c, k, &t);
}

void datagram_timeout(struct supervisor *s, struct sock *k)
{
    wait_answer(s, k, 0, EAGAIN);
}

/* ---- addresses ---- */

void datagram_connect(struct supervisor *s, struct reach_listener *l,
                      const struct notify_call *c, struct sock *k)
{
    struct sockaddr_storage a;
    struct where to, real;
    int errnum = where_read(c, c->arg[1], (uint64_t)(int64_t)(int32_t)c->arg[2], &a);
    if (!errnum && a.ss_family == AF_UNSPEC) {
        k->has_peer = false;
        notify_answer(l->fd, c->id, 0, 0);
        return;
    }
    if (!errnum && where_from(&to, &a, (socklen_t)c->arg[2]) < 0)
        errnum = EAFNOSUPPORT;
    real = to;
    if (!errnum && !is_question(s, &to) && !judge(s, c, "send", &to, &real))
        errnum = EACCES;
    if (!errnum && !where_to(&real, k->family, &a))
        errnum = ENETUNREACH;
    if (!errnum) {
        k->has_peer = true;
        k->peer = to;
        k->peer_real = real;
    }
    notify_answer(l->fd, c->id, 0, errnum);
}

void datagram_bind(struct supervisor *s, struct reach_listener *l,
                   const struct notify_call *c, struct sock *k, const struct where *to)
{
    struct sockaddr_storage a;
    socklen_t n = where_to(to, k->family, &a);
    int fd = real_of(s, k), errnum = fd < 0 ? errno : n == 0 ? EAFNOSUPPORT : 0;
    if (!errnum && bind(fd, (struct sockaddr *)&a, n) < 0)
        errnum = errno;
    if (errnum == EADDRINUSE) {
        sweep(s, 0);
        errnum = bind(fd, (struct sockaddr *)&a, n) < 0 ? errno : 0;
    }
    notify_answer(l->fd, c->id, 0, errnum);
}

/* From which address datagrams to the peer go. */
static void source_of(const struct sock *k, struct where *out)
{
    struct sockaddr_storage a;
    socklen_t n = where_to(&k->peer_real, k->family, &a), size = sizeof(a);
    int fd = socket(k->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, n) == 0 &&
        getsockname(fd, (struct sockaddr *)&a, &size) == 0)
        where_from(out, &a, size);
    if (fd >= 0)
        close(fd);
}

static int own_name(const struct sock *k, struct where *out)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof(a);
    memset(out, 0, sizeof(*out));
    if (k->family == AF_INET)
        out->a[10] = out->a[11] = 0xff;
    if (k->real >= 0 && getsockname(k->real, (struct sockaddr *)&a, &n) == 0)
        where_from(out, &a, n);
    if (k->has_peer) {
        unsigned port = out->port;
        source_of(k, out);
        if (port)
            out->port = port;
    }
    return 0;
}

static void name_call(struct reach_listener *l, const struct notify_call *c,
                      struct sock *k)
{
    struct where w = k->peer;
    struct datagram_part t = {.name = c->arg[1], .name_size_at = c->arg[2]};
    uint32_t room = 0;
    int errnum = 0;
    if (c->nr == SYS_getsockname)
        own_name(k, &w);
    else if (!k->has_peer)
        errnum = ENOTCONN;
    if (!errnum && !notify_read((pid_t)c->pid, c->arg[2], &room, sizeof(room)))
        errnum = EFAULT;
    t.name_room = room;
    if (!errnum && !write_name(c, &t, k->family, &w))
        errnum = EFAULT;
    notify_answer(l->fd, c->id, 0, errnum);
}

/* ---- options ---- */

/* Which socket has the option: the program waits on its end of the pair. */
static int option_fd(struct supervisor *s, struct sock *k, int level, int name)
{
    bool waits = level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO);
    return waits ? k->fd : real_of(s, k);
}

static int get_option(struct supervisor *s, const struct notify_call *c, struct sock *k)
{
    char value[OPTION_MAX] = {0};
    uint32_t room = 0;
    pid_t pid = (pid_t)c->pid;
    int level = (int)c->arg[1], name = (int)c->arg[2], fd = option_fd(s, k, level, name);
    if (fd < 0)
        return errno;
    if (!notify_read(pid, c->arg[4], &room, sizeof(room)))
        return EFAULT;
    socklen_t n = room < sizeof(value) ? room : sizeof(value);
    if (getsockopt(fd, level, name, value, &n) < 0)
        return errno;
    room = n;
    return notify_write(pid, c->arg[3], value, n) &&
                   notify_write(pid, c->arg[4], &room, sizeof(room))
               ? 0
               : EFAULT;
}

static int set_option(struct supervisor *s, const struct notify_call *c, struct sock *k)
{
    char value[OPTION_MAX];
    int level = (int)c->arg[1], name = (int)c->arg[2], fd = option_fd(s, k, level, name);
    uint32_t n = (uint32_t)c->arg[4];
    if (fd < 0)
        return errno;
    if (n > sizeof(value))
        return EINVAL;
    if (!notify_read((pid_t)c->pid, c->arg[3], value, n))
        return EFAULT;
    return setsockopt(fd, level, name, value, n) < 0 ? errno : 0;
}

/* ---- a call ---- */

/* Reads what a call of one message describes. Returns 0 or an errno. */
static int describe(const struct notify_call *c, struct datagram_part *t, bool sends)
{
    uint32_t room = 0;
    switch (c->nr) {
    case SYS_read:
    case SYS_write:
        one_piece(t, c->arg[1], c->arg[2]);
        return 0;
    case SYS_sendmsg:
    case SYS_recvmsg:
        t->flags = (int)c->arg[2];
        return read_message(c, c->arg[1], t);
    default: /* sendto, recvfrom, and send and recv, whose last arguments are not there */
        one_piece(t, c->arg[1], c->arg[2]);
        t->flags = (int)c->arg[3];
#ifdef SYS_send
        if (c->nr == SYS_send || c->nr == SYS_recv)
            return 0;
#endif
        t->name = c->arg[4];
        t->name_room = (uint64_t)(int64_t)(int32_t)c->arg[5];
        if (sends || !t->name)
            return 0;
        t->name_size_at = c->arg[5];
        if (!notify_read((pid_t)c->pid, c->arg[5], &room, sizeof(room)))
            return EFAULT;
        t->name_room = room;
        return 0;
    }
}

static bool is_sending(int nr)
{
#ifdef SYS_send
    if (nr == SYS_send)
        return true;
#endif
    return nr == SYS_write || nr == SYS_sendto || nr == SYS_sendmsg;
}

void datagram_call(struct supervisor *s, struct reach_listener *l,
                   const struct notify_call *c)
{
    struct datagram_part t = {0};
    struct sock *k = sock_find(s, notify_inode((pid_t)c->pid, (int)c->arg[0]));
    if (c->nr == SYS_setsockopt &&
        notify_refuses_option((int)c->arg[1], (int)c->arg[2])) {
        notify_answer(l->fd, c->id, 0, ENOPROTOOPT);
        return;
    }
    if (!k || k->stream) {
        notify_go_on(l->fd, c->id);
        return;
    }
    switch (c->nr) {
    case SYS_getsockname:
    case SYS_getpeername:
        name_call(l, c, k);
        return;
    case SYS_getsockopt:
        notify_answer(l->fd, c->id, 0, get_option(s, c, k));
        return;
    case SYS_setsockopt:
        notify_answer(l->fd, c->id, 0, set_option(s, c, k));
        return;
    case SYS_sendmmsg:
        send_batch(s, l, c, k);
        return;
#ifdef SYS_recvmmsg_time64
    case SYS_recvmmsg_time64:
#endif
    case SYS_recvmmsg:
        receive_batch(s, l, c, k);
        return;
    default:
        break;
    }
    bool sends = is_sending(c->nr);
    int errnum = describe(c, &t, sends);
    if (errnum)
        notify_answer(l->fd, c->id, 0, errnum);
    else if (sends)
        send_call(s, l, c, k, &t);
    else
        receive_call(s, l, c, k, &t);
}
