/* SPDX-License-Identifier: MIT */
/*
 * What ends the waiting of a process that does one thing at a time: the time of what is
 * under way, or a word from outside about that (a cut) or about all of it (the end).
 */
#ifndef OD_OS_HALT_H
#define OD_OS_HALT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum { HALT_FDS = 2 };

struct halt {
    int fds[HALT_FDS]; /* borrowed; look is called when one is readable; -1: none */
    void (*look)(struct halt *h); /* reads them, and sets cut and ended; NULL: ended */
    int64_t end_ms; /* clock_ms() at which what is under way is over; 0: it has time */
    bool cut;       /* what is under way is to end */
    bool ended;     /* all is */
};

/* NULL, as in all of these, halts nothing. Is what is under way over? */
bool halt_over(const struct halt *h);
/* The sooner of end_ms and its own. */
int64_t halt_end(const struct halt *h, int64_t end_ms);
/* One of its descriptors is readable. */
void halt_look(struct halt *h);
/*
 * Waits for at most two descriptors until end_ms. 1: one of them has revents; 0: end_ms
 * came, or what is under way is over; -1: all is. Without time it waits for nothing.
 */
int halt_poll(struct halt *h, struct pollfd fds[2], int64_t end_ms);

#endif
