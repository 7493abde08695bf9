/* SPDX-License-Identifier: MIT */
/*
 * Questions to the kernel's tables of sockets, by sock_diag(7). gVisor, an emulator, a
 * seccomp profile or an old kernel may refuse them, and the answers are about the network
 * namespace of this process.
 */
#ifndef OD_OS_SOCKDIAG_H
#define OD_OS_SOCKDIAG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sockdiag_header { /* struct nlmsghdr */
    uint32_t len;
    uint16_t type, flags;
    uint32_t seq, pid;
};

/*
 * Asks about one socket; q is a message of n bytes that begins with a header, whose
 * members are set here. Returns 0 if an answer of at least size bytes came, and copies
 * those; -1 with errno (ENOENT: no such socket).
 */
int sockdiag_ask(struct sockdiag_header *q, size_t n, void *out, size_t size);
/* Returns the inode of the socket at the other end of a UNIX socket; 0: unknown. */
uint64_t sockdiag_unix_peer(uint64_t inode);

#endif
