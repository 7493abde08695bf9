/* SPDX-License-Identifier: MIT */
/* The TCP ports on which programs of this machine listen, as /proc reports them. */
#ifndef OD_OS_LISTENING_H
#define OD_OS_LISTENING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LISTENING_MAX = 256, LISTENING_PROCESSES = 4000, LISTENING_FDS = 512 };

struct listening {
    uint16_t port;
    uint64_t inode; /* of the socket */
    pid_t pid;      /* of a process that holds it; 0: unknown, for lack of permission */
    char comm[16];  /* its program; "": unknown */
};

/*
 * The LISTENING_MAX lowest ports, in order, one entry a port. At most LISTENING_PROCESSES
 * processes and LISTENING_FDS descriptors of each are looked at. Returns the number of
 * entries.
 */
size_t listening(struct listening out[LISTENING_MAX]);

#endif
