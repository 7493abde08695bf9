/* SPDX-License-Identifier: MIT */
/* Calls of the kernel by number. */
#include "os/sys.h"

#include <sys/syscall.h>
#include <unistd.h>

/* of linux/futex.h, which musl does not have */
enum { WAIT = 0, WAKE = 1 };

int sys_pidfd(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

ssize_t sys_entries(int fd, void *p, size_t n)
{
    return (ssize_t)syscall(SYS_getdents64, fd, p, n);
}

void sys_wait_word(const uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, WAIT, value, NULL, NULL, 0);
}

void sys_wake_word(const uint32_t *word, int n)
{
    syscall(SYS_futex, word, WAKE, n, NULL, NULL, 0);
}
