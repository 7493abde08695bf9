/* SPDX-License-Identifier: MIT */
/*
 * A list of addresses that are not connected to, as people write it: networks with
 * commas between them, "10.0.0.0/8,::1", and "local" for all that is not public.
 *
 * Addresses are judged and no names: whatever a name leads to is judged when it is
 * connected to. What means the same to the kernel is the same here: ::ffff:10.0.0.1 is
 * 10.0.0.1, and so is 64:ff9b::10.0.0.1 (RFC 6052, 2.1); 0.0.0.0 and :: are this
 * machine's loopback addresses.
 */
#ifndef OD_NET_DENIED_H
#define OD_NET_DENIED_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/socket.h>

enum { DENIED_MAX = 64 };

/* 16 bytes, IPv4 as ::ffff:a.b.c.d. */
struct denied_net {
    unsigned char bytes[16];
    unsigned bits;
};

struct denied {
    struct denied_net nets[DENIED_MAX];
    unsigned n; /* 0: everything is allowed */
};

/*
 * Adds what the text has; spaces around commas are fine. -1: INVALID: the sentence
 * quotes what is no network; LIMIT: there are more than DENIED_MAX.
 */
int denied_parse(struct denied *d, struct str text, struct err *e);
/* Addresses of other families than IPv4 and IPv6 are in no list. */
bool denied_has(const struct denied *d, const struct sockaddr *sa);

#endif
