/* SPDX-License-Identifier: MIT */
/* Calls of the kernel that no libc of ours has a function for. */
#ifndef OD_OS_SYS_H
#define OD_OS_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A descriptor that is readable when the process has ended (pidfd_open(2), Linux
 * 5.3), closed on exec. -1 with errno: ESRCH: there is none such; ENOSYS or EPERM:
 * this kernel or its seccomp filter has no such thing.
 */
int sys_pidfd(pid_t pid);

/*
 * Entries of a folder (getdents64(2)) into n bytes at p, which is aligned for
 * them: bytes, 0 at the end, -1 with errno.
 */
struct sys_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size; /* of this entry: the next one begins behind it */
    uint8_t type;  /* DT_REG, …, DT_UNKNOWN */
    char name[];   /* terminated */
};
ssize_t sys_entries(int fd, void *p, size_t n);

/*
 * Memory shared by processes: waits while *word is still value, or is woken for no
 * reason (futex(2)); wakes as many as n of those who wait.
 */
void sys_wait_word(const uint32_t *word, uint32_t value);
void sys_wake_word(const uint32_t *word, int n);

#endif
