/* SPDX-License-Identifier: MIT */
/* Sending and receiving the messages of keepmsg.h. */
#include "os/keepmsg.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int keep_pair(int fds[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   fds) < 0)
        return -1;
    /* The kernel grants what it may; a single message always fits the default. */
    int want = 1 << 20;
    for (int i = 0; i < 2; i++)
        setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &want, sizeof(want));
    return 0;
}

int keep_send(int fd, const struct keep_msg *m)
{
    if (m->key.n + m->value.n + m->body.n > KEEP_DATA || m->nfds > KEEP_FDS) {
        errno = EMSGSIZE;
        return -1;
    }
    struct keep_head h = m->h;
    h.version = KEEP_VERSION;
    h.key = (uint32_t)m->key.n;
    h.value = (uint32_t)m->value.n;
    h.body = (uint32_t)m->body.n;
    struct iovec iov[4] = {
        {&h, sizeof(h)},
        {(void *)(uintptr_t)m->key.p, m->key.n},
        {(void *)(uintptr_t)m->value.p, m->value.n},
        {(void *)(uintptr_t)m->body.p, m->body.n},
    };
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(KEEP_FDS * sizeof(int))];
    } control;
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 4};
    if (m->nfds > 0) {
        memset(&control, 0, sizeof(control));
        size_t bytes = (size_t)m->nfds * sizeof(int);
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(c), m->fds, bytes);
    }
    ssize_t n;
    do {
        n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}

/* The descriptors of a message, whatever else is wrong with it. */
static void collect_fds(struct msghdr *msg, struct keep_msg *m)
{
    m->nfds = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = c->cmsg_len - CMSG_LEN(0);
        for (size_t i = 0; i + sizeof(int) <= bytes; i += sizeof(int)) {
            int got;
            memcpy(&got, (char *)CMSG_DATA(c) + i, sizeof(got));
            if (m->nfds < KEEP_FDS)
                m->fds[m->nfds++] = got;
            else
                close(got);
        }
    }
}

int keep_recv(int fd, struct keep_msg *m, void *space)
{
    struct iovec iov = {space, sizeof(struct keep_head) + KEEP_DATA};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(KEEP_FDS * sizeof(int))];
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    ssize_t n;
    do {
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ECONNRESET ? 0 : -1;
    if (n == 0)
        return 0;
    collect_fds(&msg, m);
    size_t got = (size_t)n;
    if (got >= sizeof(m->h))
        memcpy(&m->h, space, sizeof(m->h));
    if (msg.msg_flags & MSG_CTRUNC)
        keep_close_fds(m); /* no room for all of them: the message goes without */
    if (got < sizeof(m->h) || (msg.msg_flags & MSG_TRUNC) ||
        m->h.version != KEEP_VERSION ||
        (uint64_t)m->h.key + m->h.value + m->h.body != got - sizeof(m->h)) {
        keep_close_fds(m);
        errno = EBADMSG;
        return -1;
    }
    const char *p = (const char *)space + sizeof(m->h);
    m->key = str_n(p, m->h.key);
    m->value = str_n(p + m->h.key, m->h.value);
    m->body = str_n(p + m->h.key + m->h.value, m->h.body);
    return 1;
}

void keep_close_fds(struct keep_msg *m)
{
    for (int i = 0; i < m->nfds; i++)
        close(m->fds[i]);
    m->nfds = 0;
}
