/* SPDX-License-Identifier: MIT */
/*
 * Which user holds the other end of a TCP connection within this network namespace.
 *
 * SO_PEERCRED does not exist for TCP; the kernel's socket tables have the uid that a
 * socket was made with, and anybody may read them: by sock_diag(7), or where that netlink
 * family is missing (gVisor, seccomp), in /proc/net/tcp and tcp6.
 */
#ifndef OD_OS_TCPOWNER_H
#define OD_OS_TCPOWNER_H

#include <netinet/in.h>
#include <sys/types.h>

/*
 * Gets the uid of the socket with the address `at` and the peer `to`, as this process's
 * user namespace has it; an IPv6 socket may have the IPv4 addresses mapped. Returns 0; -1
 * with errno: ENOENT if no process of this network namespace holds such a socket (any
 * more), because a closed one has no owner. Blocks as long as /proc does: for helpers.
 */
int tcpowner_uid(const struct sockaddr_in *at, const struct sockaddr_in *to, uid_t *out);

/* One of the two ways, for tests. */
int tcpowner_by_netlink(const struct sockaddr_in *at, const struct sockaddr_in *to,
                        uid_t *out);
int tcpowner_by_proc(const struct sockaddr_in *at, const struct sockaddr_in *to,
                     uid_t *out);

#endif
