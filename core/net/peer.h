/* SPDX-License-Identifier: MIT */
/*
 * The process at the other end of a unix socket.
 *
 * The name of a socket in a directory is protected by the directory. An abstract name
 * belongs to the network namespace, which the containers of a pod share: a process in
 * there may connect to it, or listen there first, and uid 0 of another container looks
 * like root. At both ends of an abstract socket the peer must therefore have exactly the
 * expected uid and be in the same PID and mount namespace.
 */
#ifndef OD_NET_PEER_H
#define OD_NET_PEER_H

#include "base/err.h"

#include <sys/types.h>

/*
 * Checks the peer of fd, a connected unix socket. If the socket is in a directory, the
 * peer must be uid or root. If it is abstract, the peer must be uid, have a PID in our
 * PID namespace, and have our mount namespace, as /proc shows them; without a /proc the
 * PID decides alone. *pid, if not NULL, is the peer's; for a server, that of the process
 * that began to listen. Returns 0; -1 and sets *e: DENIED, with the reason; others: the
 * peer is unknown.
 */
int peer_check(int fd, uid_t uid, pid_t *pid, struct err *e);

/*
 * Returns the inode of our mount namespace, which is part of abstract names, so that
 * servers in other containers have other names; 0 if unknown.
 */
ino_t peer_mount_namespace(void);

#endif
