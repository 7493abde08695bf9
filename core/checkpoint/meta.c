/* SPDX-License-Identifier: MIT */
#include "checkpoint/meta.h"

#include "checkpoint/xattr.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINK = 40 };

static void keep(int *why, const char **what, const char *name)
{
    if (*why)
        return;
    *why = errno;
    *what = name;
}

static void times_of(const struct file_node *want, struct timespec out[2])
{
    out[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    out[1] = (struct timespec){.tv_sec = want->mtime.s, .tv_nsec = want->mtime.ns};
}

/* Attributes of users need the right to write, which a file's mode may not give. */
static int set_xattrs(int fd, const char *link, const struct file_node *want)
{
    if (xattr_write(fd, want->xattrs) == 0)
        return 0;
    if (errno != EACCES || chmod(link, want->mode | 0600) < 0)
        return -1;
    return xattr_write(fd, want->xattrs);
}

int meta_set(int fd, const struct file_node *want, unsigned differs, const char **what)
{
    char link[LINK];
    struct timespec times[2];
    int why = 0;
    buf_fill(link, sizeof(link), "/proc/self/fd/%d", fd);
    times_of(want, times);
    /* The owner first: a change of it takes the bits of set-uid and capabilities away. */
    if ((differs & DIFFERS_OWNER) &&
        fchownat(fd, "", want->uid, want->gid, AT_EMPTY_PATH) < 0)
        keep(&why, what, "owner");
    if ((differs & DIFFERS_XATTRS) && set_xattrs(fd, link, want) < 0)
        keep(&why, what, "attributes");
    if ((differs & (DIFFERS_MODE | DIFFERS_OWNER | DIFFERS_XATTRS)) &&
        chmod(link, want->mode) < 0)
        keep(&why, what, "mode");
    if (utimensat(AT_FDCWD, link, times, 0) < 0)
        keep(&why, what, "time");
    errno = why;
    return why ? -1 : 0;
}

int meta_set_link(int at, const char *name, const struct file_node *want,
                  unsigned differs, const char **what)
{
    struct timespec times[2];
    int why = 0;
    times_of(want, times);
    if ((differs & DIFFERS_OWNER) &&
        fchownat(at, name, want->uid, want->gid, AT_SYMLINK_NOFOLLOW) < 0)
        keep(&why, what, "owner");
    if (utimensat(at, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        keep(&why, what, "time");
    errno = why;
    return why ? -1 : 0;
}

void meta_open_up(int fd, uint32_t mode)
{
    if ((mode & 0700) != 0700)
        fchmod(fd, mode | 0700);
}
