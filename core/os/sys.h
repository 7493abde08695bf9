/* SPDX-License-Identifier: MIT */
/* Calls of the kernel that no libc of ours has a function for. */
#ifndef OD_OS_SYS_H
#define OD_OS_SYS_H

#include <sys/types.h>

/*
 * A descriptor that is readable when the process has ended (pidfd_open(2), Linux
 * 5.3), closed on exec. -1 with errno: ESRCH: there is none such; ENOSYS or EPERM:
 * this kernel or its seccomp filter has no such thing.
 */
int sys_pidfd(pid_t pid);

#endif
