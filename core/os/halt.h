/* SPDX-License-Identifier: MIT */
/*
 * When a process that does one task at a time stops waiting: at the deadline of its task,
 * or when a message from outside cuts the task off or ends the process.
 */
#ifndef OD_OS_HALT_H
#define OD_OS_HALT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum { HALT_FDS = 2 };

struct halt {
    int fds[HALT_FDS]; /* borrowed; check is called when one is readable; -1: none */
    void (*check)(struct halt *h); /* reads fds, sets cut and ended; NULL: sets ended */
    int64_t end_ms; /* deadline of the task, as clock_ms(); 0: none */
    bool cut;       /* the task is to end */
    bool ended;     /* the process is to end */
};

/* Returns whether the task is over. NULL, allowed except in halt_check, never halts. */
bool halt_over(const struct halt *h);
/* The earlier of end_ms and the task's deadline. */
int64_t halt_end(const struct halt *h, int64_t end_ms);
/* To be called when one of h->fds is readable. */
void halt_check(struct halt *h);
/*
 * Waits for two descriptors (-1: none) until end_ms. Returns 1 if one of them has
 * revents, 0 at end_ms or when the task is over, -1 when the process is to end.
 */
int halt_poll(struct halt *h, struct pollfd fds[2], int64_t end_ms);

#endif
