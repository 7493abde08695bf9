/* SPDX-License-Identifier: MIT */
/*
 * Signals as a readable descriptor: signalfd, or a self-pipe where a sandbox
 * refuses it. A process has one set; children get the default actions back
 * through spawn_reset_signals.
 */
#ifndef OD_OS_SIG_H
#define OD_OS_SIG_H

#include "base/str.h"

#include <stdint.h>

/* Non-blocking, close-on-exec. -1 with errno. */
int sig_open(const int *signals, int count);
/*
 * For a program in the foreground: always a pipe, with one byte per signal. Signals that
 * the parent ignores (nohup, a background job) stay ignored, and a call that blocks is
 * interrupted. -1 with errno.
 */
int sig_pipe(const int *signals, int count);
/* The next signal number that arrived; 0: none. */
int sig_next(int fd);

/*
 * Returns the signal that text names (TERM, sigterm, 15), else the signal n; 0 if there
 * is no such signal.
 */
int sig_number(struct str text, int64_t n);

#endif
