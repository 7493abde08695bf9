/* SPDX-License-Identifier: MIT */
/* What the kernel says of the end of a process that is not our child. */
#include "os/sys.h"

#include "t.h"

#include <poll.h>

static int readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms);
}

TEST(a_process_that_ends_is_heard_of)
{
    int hold[2];
    CHECK_INT(pipe(hold), 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        char byte;
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) != 0);
    }
    int fd = sys_pidfd(pid);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        T_SKIP("no pidfds here");
    CHECK(fd >= 0);
    CHECK_INT(readable(fd, 0), 0);
    close(hold[0]);
    close(hold[1]);
    CHECK_INT(readable(fd, 10000), 1);
    CHECK_INT(t_reap(pid), 0);
    close(fd);
    CHECK_INT(sys_pidfd(pid), -1);
    CHECK_INT(errno, ESRCH);
}

T_MAIN
