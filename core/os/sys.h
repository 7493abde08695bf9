/* SPDX-License-Identifier: MIT */
/* System calls that musl has no function for. */
#ifndef OD_OS_SYS_H
#define OD_OS_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A descriptor that is readable when the process has ended (pidfd_open(2), Linux
 * 5.3), closed on exec. -1 with errno. ESRCH: there is no such process; ENOSYS or EPERM:
 * the kernel does not have this call, or a seccomp filter refuses it.
 */
int sys_pidfd(pid_t pid);

/*
 * Reads entries of a folder (getdents64(2)) into n bytes at p, which is aligned for
 * them. Returns the number of bytes, 0 at the end, -1 with errno.
 */
struct sys_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size; /* of this entry: the next one begins after it */
    uint8_t type;  /* DT_REG, …, DT_UNKNOWN */
    char name[];   /* terminated */
};
ssize_t sys_entries(int fd, void *p, size_t n);

/*
 * For memory shared by processes (futex(2)): waits while *word is value, and may return
 * without a reason; wakes at most n waiting processes.
 */
void sys_wait_word(const uint32_t *word, uint32_t value);
void sys_wake_word(const uint32_t *word, int n);

#endif
