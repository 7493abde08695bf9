/* SPDX-License-Identifier: MIT */
#include "os/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int pty_resize(int master, int rows, int cols)
{
    struct winsize w = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    return ioctl(master, TIOCSWINSZ, &w);
}

/* The other side, also where /dev/pts is another mount than the one of the master. */
static int open_slave(int master)
{
    int unlocked = 0, slave = -1, n;
    if (ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        return -1;
#ifdef TIOCGPTPEER
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
#endif
    if (slave < 0 && ioctl(master, TIOCGPTN, &n) == 0) {
        char path[32];
        snprintf(path, sizeof(path), "/dev/pts/%d", n);
        slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    return slave;
}

int pty_open(int fds[2], int rows, int cols, const struct termios *modes, uid_t uid)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0)
        return -1;
    int slave = open_slave(master);
    if (slave < 0) {
        int why = errno;
        close(master);
        errno = why;
        return -1;
    }
    if (modes)
        tcsetattr(slave, TCSANOW, modes);
    pty_resize(master, rows, cols);
    /* Where this fails, the user's programs have it open nevertheless. */
    int given = uid != geteuid() ? fchown(slave, uid, (gid_t)-1) : 0;
    (void)given;
    fds[0] = master;
    fds[1] = slave;
    return 0;
}

bool pty_has_groups(int master)
{
    pid_t group;
    return ioctl(master, TIOCGPGRP, &group) == 0 || errno != ENOTTY;
}

/* Does the end of input reach a program here? Another terminal is asked, once. */
static bool ends_reach(void)
{
    static enum { UNKNOWN, REACH, LOST } known;
    int fds[2];
    if (known == UNKNOWN && pty_open(fds, 1, 1, NULL, geteuid()) == 0) {
        struct pollfd p = {.fd = fds[1], .events = POLLIN};
        bool lost = write(fds[0], "\004", 1) == 1 && poll(&p, 1, 100) == 0;
        close(fds[0]);
        close(fds[1]);
        known = lost ? LOST : REACH;
    }
    return known != LOST;
}

int pty_can_end(int master, struct err *e)
{
    struct termios t;
    if (pty_has_groups(master) || tcgetattr(master, &t) < 0 || !(t.c_lflag & ICANON) ||
        ends_reach())
        return 0;
    return err_set(e, ERR_UNSUPPORTED,
                   "the end of input does not reach programs on this system's terminals; "
                   "end the program, or give it its input by a pipe");
}

bool pty_hides(int master)
{
    struct termios t;
    return master >= 0 && tcgetattr(master, &t) == 0 && (t.c_lflag & ICANON) &&
           !(t.c_lflag & ECHO);
}
