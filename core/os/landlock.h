/* SPDX-License-Identifier: MIT */
/*
 * Landlock, by system calls: musl has no functions for it.
 *
 * A ruleset is a descriptor. Rules are added to it by descriptors of files and folders; a
 * process that restricts itself by it, and every process that it starts, may from then on
 * use files only as the rules allow, as any user, root included. Nothing undoes that. A
 * file that was open before stays usable. From Linux:
 * Documentation/userspace-api/landlock.rst, and for the numbers
 * include/uapi/linux/landlock.h.
 */
#ifndef OD_OS_LANDLOCK_H
#define OD_OS_LANDLOCK_H

#include "base/err.h"

#include <stdint.h>

/* Rights of files. Those that a folder has hold for everything below it. */
enum landlock_right {
    LANDLOCK_EXECUTE = 1 << 0,
    LANDLOCK_WRITE_FILE = 1 << 1,
    LANDLOCK_READ_FILE = 1 << 2,
    LANDLOCK_READ_DIR = 1 << 3,
    LANDLOCK_REMOVE_DIR = 1 << 4,
    LANDLOCK_REMOVE_FILE = 1 << 5,
    LANDLOCK_MAKE_CHAR = 1 << 6,
    LANDLOCK_MAKE_DIR = 1 << 7,
    LANDLOCK_MAKE_REG = 1 << 8,
    LANDLOCK_MAKE_SOCK = 1 << 9,
    LANDLOCK_MAKE_FIFO = 1 << 10,
    LANDLOCK_MAKE_BLOCK = 1 << 11,
    LANDLOCK_MAKE_SYM = 1 << 12,
    LANDLOCK_REFER = 1 << 13,    /* Linux 5.19, ABI 2 */
    LANDLOCK_TRUNCATE = 1 << 14, /* Linux 6.2, ABI 3 */
    LANDLOCK_IOCTL_DEV = 1 << 15 /* Linux 6.10, ABI 5 */
};

/* The version of the kernel's interface, at least 1; -1 with errno if there is none. */
int landlock_abi(void);
/* All rights that a kernel of this version knows. */
uint32_t landlock_rights(int abi);
/* Rights of TCP ports, of Linux 6.7, ABI 4. */
enum landlock_net { LANDLOCK_BIND_TCP = 1 << 0, LANDLOCK_CONNECT_TCP = 1 << 1 };

/*
 * A ruleset that refuses `rights` wherever no rule gives them, and those of net (which
 * the kernel must know) for all ports. A close-on-exec descriptor, or -1 with errno.
 */
int landlock_ruleset(uint32_t rights, uint32_t net);
/*
 * From here on, this process and what it will start send signals only to each other, and
 * connect to abstract unix sockets of each other only. Returns 0, or -1 with errno:
 * EINVAL or E2BIG, the kernel cannot do that (before Linux 6.12, ABI 6).
 */
int landlock_scope(void);
/*
 * Gives rights to what fd names (O_PATH is enough); of a file that is not a folder, those
 * that folders alone can have are left out. Returns 0, or -1 with errno.
 */
int landlock_add(int ruleset, int fd, uint32_t rights);
/*
 * Restricts the calling thread and what it will start, and takes away what a set-user-ID
 * program would give it (PR_SET_NO_NEW_PRIVS). Only system calls: may be called between
 * fork and exec. Returns 0, or -1 with errno.
 */
int landlock_restrict(int ruleset);
/* Adds to an error DENIED of a restricted step that there is a fence. */
void landlock_explain(struct err *e);

#endif
