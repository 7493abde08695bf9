/* SPDX-License-Identifier: MIT */
/*
 * epoll with a batch of events, a binary heap of timers.
 *
 * A handler may stop any other descriptor of the same batch: its event would
 * then point to something unwatched, perhaps closed. So while a batch is being
 * handled, io_stop blanks the events of that io that are still to come.
 */
#include "io/loop.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BATCH = 64 };

struct grave {
    void *p;
    void (*fn)(void *);
};

struct loop {
    int epoll;
    bool stopping;
    struct timer **heap; /* owned array of borrowed timers */
    unsigned timers, heap_cap;
    struct list tasks;
    struct grave *graves;
    unsigned buried, graves_cap;
    struct epoll_event batch[BATCH];
    int batch_n, batch_at;
};

struct loop *loop_new(void)
{
    struct loop *l = xnew(struct loop);
    list_init(&l->tasks);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll < 0) {
        free(l);
        return NULL;
    }
    return l;
}

static void bury_all(struct loop *l)
{
    /* A burial may bury more: the list grows while it is walked. */
    for (unsigned i = 0; i < l->buried; i++)
        l->graves[i].fn(l->graves[i].p);
    l->buried = 0;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    bury_all(l);
    close(l->epoll);
    free(l->heap);
    free(l->graves);
    free(l);
}

void loop_stop(struct loop *l) { l->stopping = true; }

void loop_bury(struct loop *l, void *p, void (*fn)(void *p))
{
    ASSERT(p && fn);
    if (l->buried == l->graves_cap) {
        l->graves_cap = l->graves_cap ? l->graves_cap * 2 : 16;
        l->graves = xrealloc(l->graves, l->graves_cap, sizeof(*l->graves));
    }
    l->graves[l->buried++] = (struct grave){p, fn};
}

/* ---- descriptors ---- */

int io_start(struct loop *l, struct io *io, int fd, uint32_t events, io_fn *fn)
{
    struct epoll_event e = {.events = events, .data.ptr = io};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
        return -1;
    *io = (struct io){.loop = l, .fd = fd, .events = events, .fn = fn};
    return 0;
}

void io_set(struct io *io, uint32_t events)
{
    if (io->fd < 0 || !io->loop || io->events == events)
        return;
    struct epoll_event e = {.events = events, .data.ptr = io};
    if (epoll_ctl(io->loop->epoll, EPOLL_CTL_MOD, io->fd, &e) < 0)
        log_error("cannot watch descriptor %d: %m", io->fd);
    io->events = events;
}

/* The events of this batch that are still to come go to another io, or nowhere. */
static void redirect(struct loop *l, const struct io *from, struct io *to)
{
    for (int i = l->batch_at; i < l->batch_n; i++) {
        if (l->batch[i].data.ptr == from)
            l->batch[i].data.ptr = to;
    }
}

void io_move(struct io *to, struct io *from)
{
    struct loop *l = from->loop;
    *to = *from;
    if (!l || from->fd < 0)
        return;
    struct epoll_event e = {.events = to->events, .data.ptr = to};
    if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, to->fd, &e) < 0)
        log_error("cannot watch descriptor %d: %m", to->fd);
    redirect(l, from, to);
    from->fd = -1;
    from->loop = NULL;
}

void io_stop(struct io *io)
{
    struct loop *l = io->loop;
    if (!l || io->fd < 0)
        return;
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, io->fd, NULL);
    redirect(l, io, NULL);
    io->fd = -1;
    io->loop = NULL;
}

/* ---- timers: a binary heap, earliest first ---- */

static void heap_put(struct loop *l, unsigned slot, struct timer *t)
{
    l->heap[slot] = t;
    t->slot = slot;
}

static void sift_up(struct loop *l, unsigned i, struct timer *t)
{
    while (i > 0 && l->heap[(i - 1) / 2]->at_us > t->at_us) {
        heap_put(l, i, l->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(l, i, t);
}

static void sift_down(struct loop *l, unsigned i, struct timer *t)
{
    for (;;) {
        unsigned c = 2 * i + 1;
        if (c >= l->timers)
            break;
        if (c + 1 < l->timers && l->heap[c + 1]->at_us < l->heap[c]->at_us)
            c++;
        if (l->heap[c]->at_us >= t->at_us)
            break;
        heap_put(l, i, l->heap[c]);
        i = c;
    }
    heap_put(l, i, t);
}

void timer_stop(struct timer *t)
{
    struct loop *l = t->loop;
    if (!l)
        return;
    ASSERT(t->slot < l->timers && l->heap[t->slot] == t); /* t was not copied */
    t->loop = NULL;
    struct timer *last = l->heap[--l->timers];
    if (last == t)
        return;
    sift_up(l, t->slot, last);
    sift_down(l, last->slot, last);
}

void timer_begin(struct loop *l, struct timer *t, int64_t ms, timer_fn *fn)
{
    ASSERT(fn);
    timer_stop(t);
    if (l->timers == l->heap_cap) {
        l->heap_cap = l->heap_cap ? l->heap_cap * 2 : 16;
        l->heap = xrealloc(l->heap, l->heap_cap, sizeof(*l->heap));
    }
    t->loop = l;
    t->fn = fn;
    t->at_us = clock_us() + ms * 1000;
    sift_up(l, l->timers++, t);
}

static void run_timers(struct loop *l)
{
    if (!l->timers)
        return;
    int64_t now = clock_us();
    /* Only those due now: a timer that starts itself again waits a turn. */
    while (l->timers && l->heap[0]->at_us <= now) {
        struct timer *t = l->heap[0];
        timer_stop(t);
        t->fn(t);
    }
}

static int timeout_ms(const struct loop *l)
{
    if (!list_empty(&l->tasks))
        return 0;
    if (!l->timers)
        return -1;
    int64_t us = l->heap[0]->at_us - clock_us();
    if (us <= 0)
        return 0;
    us = (us + 999) / 1000; /* up, so that it is due when we wake */
    return us > 86400000 ? 86400000 : (int)us;
}

/* ---- tasks ---- */

void task_init(struct task *t, task_fn *fn)
{
    list_init(&t->node);
    t->fn = fn;
}

void task_defer(struct loop *l, struct task *t)
{
    ASSERT(t->fn && t->node.next);
    if (list_empty(&t->node))
        list_add_tail(&l->tasks, &t->node);
}

void task_cancel(struct task *t) { list_del(&t->node); }

static void run_tasks(struct loop *l)
{
    /* Only those queued now; what they defer is for the next turn. */
    struct list now = LIST_INIT(now);
    if (list_empty(&l->tasks))
        return;
    now = l->tasks;
    now.next->prev = now.prev->next = &now;
    list_init(&l->tasks);
    while (!list_empty(&now)) {
        struct task *t = list_first(&now, struct task, node);
        list_del(&t->node);
        t->fn(t);
    }
}

int loop_run(struct loop *l)
{
    l->stopping = false;
    while (!l->stopping) {
        l->batch_at = 0;
        l->batch_n = 0;
        int n = epoll_wait(l->epoll, l->batch, BATCH, timeout_ms(l));
        if (n < 0 && errno != EINTR)
            return -1;
        l->batch_n = n < 0 ? 0 : n;
        while (l->batch_at < l->batch_n) {
            struct epoll_event *e = &l->batch[l->batch_at++];
            struct io *io = e->data.ptr;
            if (io)
                io->fn(io, e->events);
        }
        run_timers(l);
        run_tasks(l);
        bury_all(l);
    }
    return 0;
}
