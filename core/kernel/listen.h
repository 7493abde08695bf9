/* SPDX-License-Identifier: MIT */
/*
 * Listeners of a kernel: each gets every message that its host prints, from an offset of
 * the host's output on. Messages that are not taken wait in the keeper's spool. A
 * listener that takes none for LIMIT_HOLD_BACK_MS no longer holds the kernel back, and
 * loses those that the spool has no room for.
 */
#ifndef OD_KERNEL_LISTEN_H
#define OD_KERNEL_LISTEN_H

#include "companion/lines.h"
#include "kernel/kernel.h"

struct kernel_listener;

#define KERNEL_NOW UINT64_MAX

/* Each call may end the listener by kernel_unlisten. */
struct kernel_ears {
    /*
     * A message: {"channel", "header", "parent_header", "metadata", "content"[,
     * "buffers"]}, as text.
     */
    void (*message)(struct kernel_listener *l, struct str line);
    /* Is a message wanted of which this is the beginning? Only asked for long ones. */
    bool (*wanted)(struct kernel_listener *l, struct str head);
    /*
     * starting, ready, failed; ended: its process ended, and nobody asked for that; dead:
     * it is not started again; gap: messages were lost; long: one had more than
     * LIMIT_JUPYTER_OUT bytes; full: the kernel does not read, and gets no more
     * messages; room: it gets more; closed: the last call.
     */
    void (*host)(struct kernel_listener *l, const char *what);
    /* Called after each piece of output. */
    void (*read)(struct kernel_listener *l);
};

/* Embedded in its owner, zeroed at first. */
struct kernel_listener {
    struct list node;
    struct kernel *k; /* NULL: it does not listen */
    const struct kernel_ears *ears;
    struct line_reader reader;
    struct buf line;     /* of a long message */
    struct timer passed; /* it holds the kernel back until then */
    bool held, ignored;
};

/*
 * Begins to listen. from: an offset of the output of the kernel's process, as
 * kernel_listener_at gives it; KERNEL_NOW: its end. A dead kernel is started again.
 */
void kernel_listen(struct kernel_listener *l, struct kernel *k, uint64_t from,
                   const struct kernel_ears *ears);
/* Idempotent. */
void kernel_unlisten(struct kernel_listener *l);
/* Pauses (hold) or continues the calls. */
void kernel_listener_hold(struct kernel_listener *l, bool hold);
/* The offset after the last whole message. */
uint64_t kernel_listener_at(const struct kernel_listener *l);
/* The name of the process that this offset is about; "": there is none. */
const char *kernel_process(const struct kernel *k);

/*
 * Sends a message, a line with its newline, to the kernel, at once and without a place in
 * its queue of cells. Returns -1 and sets *e (LIMIT, GONE).
 */
int kernel_tell(struct kernel *k, struct str line, struct err *e);
/* Whether messages wait until the host or the kernel takes them; `room` comes then. */
bool kernel_is_full(const struct kernel *k);

struct kernel_activity {
    const char *doing; /* starting, busy, idle, dead */
    int64_t active_ms; /* wall clock of its last message */
    int listeners;
    struct str spec; /* its kernelspec, borrowed */
};
struct kernel_activity kernel_activity(const struct kernel *k);

#endif
