/* SPDX-License-Identifier: MIT */
/*
 * Addresses to listen on, as people write them, without a name service:
 *
 *   3000             127.0.0.1:3000: a bare port is this machine's only
 *   127.0.0.1:3000   an IPv4 address; localhost:3000 is that one
 *   [::1]:3000       an IPv6 address in brackets; [::] takes IPv4 too
 *   unix:/path       a unix socket, for its owner only
 *   @name            an abstract unix socket, for this network namespace
 *
 * Port 0 is any free one; addr_of returns the one that was chosen.
 */
#ifndef OD_NET_ADDR_H
#define OD_NET_ADDR_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/socket.h>

#define ADDR_TEXT_MAX 160 /* bytes of the longest output of addr_print */

struct addr {
    struct sockaddr_storage ss;
    socklen_t len;
};

/*
 * Parses an address. Returns -1 and sets *e: INVALID, with the text and what was
 * expected.
 */
int addr_parse(struct addr *a, struct str text, struct err *e);

/*
 * Returns a listening, non-blocking, close-on-exec socket, which the caller owns. The
 * TCP port of a server that has just ended is usable at once; the file of a dead unix
 * socket is replaced, that of a live one is not. Returns -1 and sets *e (EXISTS: another
 * program listens there; DENIED; others); the text names the address and what to do.
 */
int addr_listen(const struct addr *a, struct err *e);

/* Gets the address that a socket is bound to. Returns -1 with errno. */
int addr_of(int fd, struct addr *out);

/* The port of a TCP address; 0 of a unix socket. */
unsigned addr_port(const struct addr *a);

/* Whether nobody outside this machine can reach it, as with unix sockets. */
bool addr_is_loopback(const struct addr *a);
bool addr_is_unix(const struct addr *a);

/* Appends the form that addr_parse takes, always with the host. */
void addr_print(const struct addr *a, struct buf *out);

#endif
