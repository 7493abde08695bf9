/* SPDX-License-Identifier: MIT */
/* Calls of the kernel by number. */
#include "os/sys.h"

#include <sys/syscall.h>
#include <unistd.h>

int sys_pidfd(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
