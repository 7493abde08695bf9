/* SPDX-License-Identifier: MIT */
#include "os/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same on all processors since Linux 5.13. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

enum {
    ASK_VERSION = 1,
    PATH_BENEATH = 1,
    TRUNCATE_ABI = 3,
    IOCTL_ABI = 5,
    REFER_ABI = 2
};

/* struct landlock_ruleset_attr as of ABI 6; older kernels take members that they do not
 * know if these are 0. */
struct ruleset_attr {
    uint64_t files, net, scoped;
};
enum { SCOPE_ABSTRACT_SOCKET = 1 << 0, SCOPE_SIGNAL = 1 << 1 };

struct beneath_attr {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

int landlock_abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, ASK_VERSION);
}

uint32_t landlock_rights(int abi)
{
    uint32_t rights = LANDLOCK_REFER - 1;
    if (abi >= REFER_ABI)
        rights |= LANDLOCK_REFER;
    if (abi >= TRUNCATE_ABI)
        rights |= LANDLOCK_TRUNCATE;
    if (abi >= IOCTL_ABI)
        rights |= LANDLOCK_IOCTL_DEV;
    return abi < 1 ? 0 : rights;
}

int landlock_ruleset(uint32_t rights, uint32_t net)
{
    struct ruleset_attr a = {rights, net, 0};
    return (int)syscall(SYS_landlock_create_ruleset, &a, sizeof(a), 0);
}

int landlock_scope(void)
{
    struct ruleset_attr a = {0, 0, SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &a, sizeof(a), 0);
    int rc = fd < 0 ? -1 : landlock_restrict(fd), why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return rc;
}

int landlock_add(int ruleset, int fd, uint32_t rights)
{
    enum {
        OF_FILES = LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE |
                   LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV
    };
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    if (!S_ISDIR(st.st_mode))
        rights &= OF_FILES;
    if (!rights) /* the kernel refuses a rule that gives nothing */
        return 0;
    struct beneath_attr a = {rights, fd};
    return (int)syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &a, 0);
}

int landlock_restrict(int ruleset)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

void landlock_explain(struct err *e)
{
    size_t n = strlen(e->text);
    if (e->code == ERR_DENIED)
        snprintf(e->text + n, sizeof(e->text) - n,
                 "; the server has a fence, see od serve --status");
}
