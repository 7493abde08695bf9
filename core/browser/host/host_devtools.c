/* SPDX-License-Identifier: MIT */
/* The connections of DevTools clients: host_devtools.h. */
#include "base/clock.h"
#include "base/xalloc.h"
#include "browser/host/host_devtools_own.h"
#include "net/addr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    READ_AT_ONCE = 64 << 10,
    PIPE_LOW = 1 << 20, /* while more waits for Chromium, no client is read */
    EVENTS = 16,        /* of epoll at once: others come with the next turn */
    KEPT = 256 << 10    /* bytes of memory that an empty buffer keeps */
};

struct browser *devtools_browser(const struct host *h)
{
    return h->b && !h->b->cdp.ended && !h->b->guest ? h->b : NULL;
}

/* Changes what epoll reports of fd; have: what it reports; 0: nothing. */
static void watch(struct host *h, int fd, unsigned *have, unsigned want)
{
    struct epoll_event ev = {.events = want, .data.fd = fd};
    if (*have == want)
        return;
    epoll_ctl(h->screen.watch,
              !want   ? EPOLL_CTL_DEL
              : *have ? EPOLL_CTL_MOD
                      : EPOLL_CTL_ADD,
              fd, &ev);
    *have = want;
}

/* ---- out ---- */

static void shrink(struct buf *b, size_t max)
{
    if (b->n > 0 || b->cap + b->skip <= KEPT)
        return;
    buf_release(b);
    buf_init(b, max);
}

static void flush(struct devtools_client *c)
{
    while (c->fd >= 0 && c->out.n > 0) {
        ssize_t n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL);
        if (n > 0)
            buf_consume(&c->out, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            break;
        else if (n == 0 || errno != EINTR)
            devtools_end(c, NULL);
    }
    shrink(&c->out, DEVTOOLS_OUT_MAX);
}

/* Sends as much of a message as the socket takes, if nothing waits, without a copy. */
static size_t send_now(struct devtools_client *c, struct str first, struct str second)
{
    struct iovec parts[] = {
        {(char *)first.p, first.n}, {(char *)second.p, second.n}, {(char *)"", 1}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 3};
    ssize_t n = c->out.n == 0 ? sendmsg(c->fd, &m, MSG_NOSIGNAL) : 0;
    return n > 0 ? (size_t)n : 0; /* a failure is found by flush */
}

void devtools_put(struct devtools_client *c, struct str first, struct str second)
{
    if (c->fd < 0)
        return;
    if (buf_room(&c->out) < first.n + second.n + 1) {
        devtools_end(c, NULL); /* the other end finds that its own buffers are full */
        return;
    }
    size_t n = send_now(c, first, second), all = first.n + second.n;
    if (n > all)
        return;
    buf_adds(&c->out, str_sub(first, n, first.n));
    buf_adds(&c->out, str_sub(second, n > first.n ? n - first.n : 0, second.n));
    buf_addc(&c->out, '\0');
    if (buf_full(&c->out))
        devtools_end(c, NULL); /* out of memory */
    else
        flush(c);
}

void devtools_end(struct devtools_client *c, const char *why)
{
    if (c->fd < 0)
        return;
    if (why)
        devtools_put(c, STR("!"), str_of(why));
    if (c->fd < 0)
        return;
    watch(c->h, c->fd, &c->watched, 0);
    close(c->fd);
    c->fd = -1;
    buf_release(&c->in);
    buf_release(&c->out);
    enum devtools_state was = c->state;
    c->state = DEVTOOLS_LEFT;
    c->done = was == DEVTOOLS_NEW;
    if (was == DEVTOOLS_OPEN || c->browser[0])
        devtools_detach(c); /* before, the answer to devtools_attach does it */
}

/* ---- in ---- */

static bool pipe_is_full(const struct host *h)
{
    const struct browser *b = devtools_browser(h);
    return b && b->cdp.out.n > PIPE_LOW;
}

/* Handles whole messages as long as Chromium reads. */
static void take_messages(struct devtools_client *c)
{
    while (c->fd >= 0 && !pipe_is_full(c->h)) {
        const char *from = c->in.p + c->scanned;
        const char *zero = c->in.n > c->scanned ? memchr(from, 0, c->in.n - c->scanned)
                                                : NULL;
        if (!zero) {
            c->scanned = c->in.n;
            return;
        }
        size_t n = (size_t)(zero - c->in.p);
        devtools_take(c, str_n(c->in.p, n));
        if (c->fd < 0)
            return;
        buf_consume(&c->in, n + 1);
        c->scanned = 0;
    }
}

static void read_some(struct devtools_client *c)
{
    if (c->fd < 0 || !c->ready || pipe_is_full(c->h))
        return;
    c->ready = false;
    char *p = buf_room(&c->in) >= READ_AT_ONCE ? buf_reserve(&c->in, READ_AT_ONCE) : NULL;
    if (!p) {
        devtools_end(c, "a message of the client is longer than 30 MiB");
        return;
    }
    ssize_t n = recv(c->fd, p, READ_AT_ONCE, 0);
    if (n > 0)
        buf_commit(&c->in, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        devtools_end(c, NULL);
}

static void accept_some(struct host *h)
{
    struct host_devtools *d = &h->devtools;
    for (int i = 0; i < 4; i++) {
        int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        struct devtools_client *c = xnew(struct devtools_client);
        c->h = h;
        c->fd = fd;
        c->number = ++d->number;
        buf_init(&c->in, DEVTOOLS_MESSAGE_MAX + READ_AT_ONCE);
        buf_init(&c->out, DEVTOOLS_OUT_MAX);
        buf_init(&c->downloads, 8 << 10);
        list_init(&c->contexts);
        unsigned n = 0;
        struct list *it, *tmp;
        list_each (it, tmp, &d->clients)
            n++;
        list_add_tail(&d->clients, &c->node);
        if (n >= DEVTOOLS_CLIENTS_MAX)
            devtools_end(c, "too many DevTools clients use this browser: close one");
    }
}

/* ---- life ---- */

void host_devtools_open(struct host *h)
{
    struct host_devtools *d = &h->devtools;
    struct buf path = BUF_INIT(PATH_MAX);
    struct addr a;
    struct err e = ERR_INIT;
    list_init(&d->clients);
    map_init(&d->sessions);
    map_init(&d->pages);
    d->listener = d->timer = d->to = -1;
    buf_addf(&path, "unix:%s/" HOST_DEVTOOLS_SOCKET, h->dir);
    if (h->dir[0] && h->screen.watch >= 0 && addr_parse(&a, buf_str(&path), &e) == 0) {
        unsigned have = 0;
        d->listener = addr_listen(&a, &e);
        d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (d->listener >= 0)
            watch(h, d->listener, &have, EPOLLIN);
        have = 0;
        if (d->timer >= 0)
            watch(h, d->timer, &have, EPOLLIN);
    }
    buf_release(&path);
}

void devtools_wait(struct host *h, int ms)
{
    struct itimerspec t = {
        .it_value = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L}};
    if (h->devtools.timer >= 0)
        timerfd_settime(h->devtools.timer, 0, &t, NULL);
}

static void client_free(struct devtools_client *c)
{
    list_del(&c->node);
    buf_release(&c->downloads);
    devtools_forget(c->h, c);
    while (!list_empty(&c->contexts)) {
        struct devtools_context *x = list_first(&c->contexts, struct devtools_context,
                                                node);
        list_del(&x->node);
        free(x);
    }
    free(c);
}

/* The browser that the clients had is gone. */
static void end_all(struct host *h, const char *why)
{
    struct list *it, *tmp;
    list_each (it, tmp, &h->devtools.clients) {
        struct devtools_client *c = list_entry(it, struct devtools_client, node);
        if (c->state == DEVTOOLS_NEW)
            continue;
        devtools_end(c, why);
        client_free(c);
    }
    devtools_forget(h, NULL);
    h->devtools.to = -1;
    h->devtools.asked = false;
    h->devtools.active[0] = '\0';
}

void host_devtools_close(struct host *h)
{
    struct host_devtools *d = &h->devtools;
    end_all(h, "the browser was closed");
    while (!list_empty(&d->clients)) {
        struct devtools_client *c = list_first(&d->clients, struct devtools_client, node);
        devtools_end(c, "the browser was closed");
        client_free(c);
    }
    if (d->listener >= 0)
        close(d->listener);
    if (d->timer >= 0)
        close(d->timer);
    d->listener = d->timer = -1;
    map_release(&d->sessions);
    map_release(&d->pages);
}

static void watch_all(struct host *h)
{
    struct host_devtools *d = &h->devtools;
    struct browser *b = devtools_browser(h);
    struct list *it, *tmp;
    unsigned have = d->to >= 0 ? EPOLLOUT : 0;
    bool full = pipe_is_full(h);
    list_each (it, tmp, &d->clients) {
        struct devtools_client *c = list_entry(it, struct devtools_client, node);
        if (c->fd >= 0)
            watch(h, c->fd, &c->watched,
                  (full ? 0 : EPOLLIN) | (c->out.n > 0 ? EPOLLOUT : 0));
    }
    if (b) {
        bool waits = b->cdp.out.n > 0 && !list_empty(&d->clients);
        watch(h, b->cdp.to, &have, waits ? EPOLLOUT : 0);
        d->to = waits ? b->cdp.to : -1;
    }
}

/* Accepts clients, and notes which of them can be read. */
static void look(struct host *h, bool *late)
{
    struct host_devtools *d = &h->devtools;
    struct epoll_event ev[EVENTS];
    int n = epoll_wait(h->screen.watch, ev, EVENTS, 0);
    struct list *it, *tmp;
    uint64_t ticks;
    for (int i = 0; i < n; i++) {
        if (ev[i].data.fd == d->listener)
            accept_some(h);
        else if (ev[i].data.fd == d->timer)
            *late = read(d->timer, &ticks, sizeof(ticks)) > 0;
        list_each (it, tmp, &d->clients) {
            struct devtools_client *c = list_entry(it, struct devtools_client, node);
            c->ready |= c->fd == ev[i].data.fd && (ev[i].events & ~(unsigned)EPOLLOUT);
        }
    }
}

void host_devtools_turn(struct host *h)
{
    struct host_devtools *d = &h->devtools;
    struct browser *b = devtools_browser(h);
    struct list *it, *tmp;
    bool late = false;
    if (d->listener < 0)
        return;
    if (b && b->cdp.on_text != devtools_hear) { /* another Chromium */
        end_all(h, "the browser was started again");
        b->cdp.on_text = devtools_hear;
        b->cdp.text_owner = h;
    } else if (!b) {
        end_all(h, h->b ? "the browser has ended" : "no browser runs any more");
    }
    if (!h->screen.quiet)
        look(h, &late);
    if (b) {
        cdp_flush(&b->cdp);
        devtools_restore(h);
    }
    list_each (it, tmp, &d->clients) {
        struct devtools_client *c = list_entry(it, struct devtools_client, node);
        flush(c);
        read_some(c);
        take_messages(c);
        if (c->fd >= 0)
            shrink(&c->in, DEVTOOLS_MESSAGE_MAX + READ_AT_ONCE);
        if (c->done)
            client_free(c);
    }
    int ms = late && b ? devtools_let_run(h) : 0;
    if (ms > 0)
        devtools_wait(h, ms);
    watch_all(h);
}
