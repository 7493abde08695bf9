/* SPDX-License-Identifier: MIT */
/* Pseudo terminals: pty(7), ioctl_tty(2). */
#ifndef OD_OS_PTY_H
#define OD_OS_PTY_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

enum { PTY_SIDE_MAX = 10000 }; /* rows and columns of a terminal */

/*
 * Opens a terminal of this size: fds[0] is the master, which does not block, fds[1] the
 * slave, which belongs to uid afterwards if the caller may give it away. modes NULL:
 * those of the kernel. The caller owns both descriptors. Returns 0; -1 with errno.
 */
int pty_open(int fds[2], int rows, int cols, const struct termios *modes, uid_t uid);
/* Sets the size; the foreground job gets SIGWINCH. Returns 0; -1 with errno. */
int pty_resize(int master, int rows, int cols);

/*
 * Does the terminal know its foreground group? gVisor's of 2022 do not: then keys send no
 * signals either, whatever ISIG says.
 */
bool pty_has_groups(int master);
/*
 * Would a program that reads lines from the terminal get the end of its input? Gives 0,
 * or -1 with *e. Where it is not certain, another terminal is tried, once in a process,
 * for at most 100 ms.
 */
int pty_can_end(int master, struct err *e);
/* Does a program on this terminal, which echoes otherwise, read a line without echo? */
bool pty_hides(int master);

#endif
