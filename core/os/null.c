/* SPDX-License-Identifier: MIT */
/* Without the device: an empty, sealed file in memory, else a pipe. */
#include "os/null.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool is_null(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

bool null_there(void)
{
    struct stat st;
    return stat("/dev/null", &st) == 0 && is_null(&st);
}

static int open_device(void)
{
    struct stat st;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (fstat(fd, &st) == 0 && is_null(&st) && fcntl(fd, F_SETFL, 0) == 0))
        return fd;
    close(fd);
    return -1;
}

int null_open(void)
{
    int p[2], fd = open_device();
    if (fd >= 0)
        return fd;
    fd = memfd_create("null", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0) {
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_SEAL);
        return fd;
    }
    if (pipe2(p, O_CLOEXEC) < 0)
        return -1;
    close(p[1]);
    return p[0];
}

int null_fill(void)
{
    for (int i = 0; i <= 2; i++) {
        if (fcntl(i, F_GETFD) >= 0)
            continue;
        int fd = null_open();
        if (fd < 0 || (fd != i && dup2(fd, i) < 0))
            return -1;
        if (fd == i)
            fcntl(i, F_SETFD, 0);
        else
            close(fd);
    }
    return 0;
}
