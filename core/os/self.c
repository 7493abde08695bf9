/* SPDX-License-Identifier: MIT */
/* Running our own binary again. */
#include "os/self.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *exec_path(void)
{
    return (const char *)(uintptr_t)getauxval(AT_EXECFN);
}

int self_open(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && exec_path())
        fd = open(exec_path(), O_RDONLY | O_CLOEXEC);
    return fd;
}

void self_exec(int fd, char *const argv[], char *const envp[])
{
    /* AT_EMPTY_PATH; refused by kernels before 3.19 and by some sandboxes. */
    syscall(SYS_execveat, fd, "", argv, envp, 0x1000);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    execve(path, argv, envp);
    if (exec_path())
        execve(exec_path(), argv, envp);
}
