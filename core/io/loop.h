/* SPDX-License-Identifier: MIT */
/*
 * The event loop: epoll, timers, deferred work, burials. One per process.
 *
 * A turn: descriptors (each handler does a bounded amount of work), timers that
 * are due, deferred tasks, burials. Objects are freed at the end of the turn
 * only, so none disappears while a handler uses it. Handlers get the embedded
 * node and find their owner by container_of.
 */
#ifndef OD_IO_LOOP_H
#define OD_IO_LOOP_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct io;
struct timer;
struct task;

typedef void io_fn(struct io *io, uint32_t events); /* EPOLLIN … */
typedef void timer_fn(struct timer *t);
typedef void task_fn(struct task *t);

/* A watched descriptor; embedded in its owner, which owns the descriptor. */
struct io {
    struct loop *loop;
    int fd; /* -1: not in use */
    uint32_t events;
    io_fn *fn;
};

/* A deadline; embedded. Starting a started one moves it. */
struct timer {
    struct loop *loop; /* NULL: not started */
    int64_t at_us;
    unsigned slot; /* in the heap */
    timer_fn *fn;
};

/* Work for the end of this turn; embedded. Deferring twice runs it once. */
struct task {
    struct list node;
    task_fn *fn;
};

struct loop *loop_new(void); /* NULL with errno */
void loop_free(struct loop *l);
/* Turns until loop_stop. 0, or -1 with errno when epoll failed. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Watches fd, non-blocking already. 0, or -1 with errno. */
int io_start(struct loop *l, struct io *io, int fd, uint32_t events, io_fn *fn);
void io_set(struct io *io, uint32_t events);
/* `to` watches the descriptor instead of `from`, also for events of this turn. */
void io_move(struct io *to, struct io *from);
/* Must be called before the descriptor is closed. Idempotent. */
void io_stop(struct io *io);

/* Calls fn once, ms milliseconds from now. */
void timer_begin(struct loop *l, struct timer *t, int64_t ms, timer_fn *fn);
void timer_stop(struct timer *t); /* idempotent */
static inline bool timer_active(const struct timer *t) { return t->loop != NULL; }

void task_init(struct task *t, task_fn *fn);
void task_defer(struct loop *l, struct task *t);
void task_cancel(struct task *t);

/* Calls fn(p) when the turn is over. */
void loop_bury(struct loop *l, void *p, void (*fn)(void *p));

#endif
