/* SPDX-License-Identifier: MIT */
/* Sending and receiving the messages of keepmsg.h. */
#include "keeper/keepmsg.h"

#include "os/file.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MEMORY_TRIES = 100 }; /* of a message for which the kernel has no memory */

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

/* Key, value and body in a memfd. Returns -1 with errno if there is none. */
static int put_far(const struct keep_msg *m)
{
    int fd = memfd_create("od-message", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    const struct str parts[] = {m->key, m->value, m->body};
    for (int i = 0; i < 3; i++) {
        if (file_write_all(fd, parts[i]) < 0) {
            int why = errno;
            close(fd);
            errno = why;
            return -1;
        }
    }
    return fd;
}

/* The n bytes of such a memfd; the caller frees them. NULL with errno. */
static char *take_far(int fd, size_t n)
{
    char *p = malloc(n);
    size_t got = 0;
    while (p && got < n) {
        ssize_t r = pread(fd, p + got, n - got, (off_t)got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0) {
            free(p);
            errno = EBADMSG;
            return NULL;
        }
        got += (size_t)r;
    }
    return p;
}

/*
 * The kernel waits for memory itself before it refuses, so an immediate retry does not
 * spin. A message must not be lost for lack of memory: an exit is sent only once.
 */
static bool no_memory(int errnum) { return errnum == ENOBUFS || errnum == ENOMEM; }

int keep_send(int fd, const struct keep_msg *m)
{
    size_t data = m->key.n + m->value.n + m->body.n;
    if (data > KEEP_FAR_MAX || m->nfds > KEEP_FDS) {
        errno = EMSGSIZE;
        return -1;
    }
    int far = -1, fds[KEEP_FDS + 1], nfds = m->nfds;
    memcpy(fds, m->fds, sizeof(int) * (size_t)nfds);
    if (data > KEEP_DATA) {
        far = put_far(m);
        if (far < 0)
            return -1;
        fds[nfds++] = far;
    }
    struct keep_head h = m->h;
    h.flags = far < 0 ? h.flags & ~(uint32_t)KEEP_FAR : h.flags | KEEP_FAR;
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
        char space[CMSG_SPACE((KEEP_FDS + 1) * sizeof(int))];
    } control;
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = far < 0 ? 4 : 1};
    if (nfds > 0) {
        memset(&control, 0, sizeof(control));
        size_t bytes = (size_t)nfds * sizeof(int);
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(c), fds, bytes);
    }
    ssize_t n;
    int tries = 0;
    do {
        n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && (errno == EINTR || (no_memory(errno) && ++tries < MEMORY_TRIES)));
    int why = errno;
    if (far >= 0)
        close(far);
    errno = why;
    return n < 0 ? -1 : 0;
}

/*
 * Takes the descriptors of a message, even if the message is bad. Sets *far to the one
 * after the first KEEP_FDS, -1 if there is none.
 */
static void collect_fds(struct msghdr *msg, struct keep_msg *m, int *far)
{
    m->nfds = 0;
    *far = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = c->cmsg_len - CMSG_LEN(0);
        for (size_t i = 0; i + sizeof(int) <= bytes; i += sizeof(int)) {
            int got;
            memcpy(&got, (char *)CMSG_DATA(c) + i, sizeof(got));
            if (m->nfds < KEEP_FDS)
                m->fds[m->nfds++] = got;
            else if (*far < 0)
                *far = got;
            else
                close(got);
        }
    }
}

void keep_tell(int fd, const struct keep_msg *m)
{
    while (keep_send(fd, m) < 0) {
        if (errno != EAGAIN)
            return;
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        poll(&p, 1, -1);
    }
}

int keep_recv(int fd, struct keep_msg *m, void *space)
{
    struct iovec iov = {space, sizeof(struct keep_head) + KEEP_DATA};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE((KEEP_FDS + 1) * sizeof(int))];
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    ssize_t n;
    int resets = 0;
    /*
     * A peer that died with messages of ours unread is reported as ECONNRESET once,
     * before the messages that it had sent, which are still to be taken.
     */
    do {
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (n < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
    if (n < 0)
        return errno == ECONNRESET ? 0 : -1;
    if (n == 0)
        return 0;
    int far;
    m->far = NULL;
    collect_fds(&msg, m, &far);
    size_t got = (size_t)n;
    if (got >= sizeof(m->h))
        memcpy(&m->h, space, sizeof(m->h));
    bool no_room = false, is_far = got >= sizeof(m->h) && (m->h.flags & KEEP_FAR);
    if (is_far && far < 0 && m->nfds > 0)
        far = m->fds[--m->nfds];
    if ((msg.msg_flags & MSG_CTRUNC) || (far >= 0 && !is_far))
        keep_close_fds(m); /* no room for all of them: the message goes without */
    bool good = got >= sizeof(m->h) && !(msg.msg_flags & MSG_TRUNC) &&
                m->h.version == KEEP_VERSION;
    uint64_t data = good ? (uint64_t)m->h.key + m->h.value + m->h.body : 0;
    if (good && is_far && (msg.msg_flags & MSG_CTRUNC))
        m->h.key = m->h.value = m->h.body = 0;
    else if (good && is_far) {
        good = got == sizeof(m->h) && far >= 0 && data > KEEP_DATA &&
               data <= KEEP_FAR_MAX;
        m->far = good ? take_far(far, (size_t)data) : NULL;
        no_room = good && !m->far && errno == ENOMEM;
        good = m->far != NULL;
    } else
        good = good && data == got - sizeof(m->h);
    if (far >= 0)
        close(far);
    if (!good) {
        keep_close_fds(m);
        errno = no_room ? ENOMEM : EBADMSG;
        return -1;
    }
    const char *p = m->far ? m->far : (const char *)space + sizeof(m->h);
    m->key = str_n(p, m->h.key);
    m->value = str_n(p + m->h.key, m->h.value);
    m->body = str_n(p + m->h.key + m->h.value, m->h.body);
    return 1;
}

void keep_release(struct keep_msg *m)
{
    for (int i = 0; i < m->nfds; i++) {
        if (m->fds[i] >= 0)
            close(m->fds[i]);
    }
    m->nfds = 0;
    free(m->far);
    m->far = NULL;
}

void keep_close_fds(struct keep_msg *m)
{
    for (int i = 0; i < m->nfds; i++)
        close(m->fds[i]);
    m->nfds = 0;
}
