/* SPDX-License-Identifier: MIT */
/*
 * A list of denied addresses, as people write it: networks separated by commas,
 * "10.0.0.0/8,::1", and "local" for all that are not public.
 *
 * Addresses are checked, not names: that of a name is checked when it is connected to.
 * Forms that are equal for the kernel are equal here: ::ffff:10.0.0.1 is 10.0.0.1,
 * and so is 64:ff9b::10.0.0.1 (RFC 6052, 2.1); 0.0.0.0 and :: are this machine's
 * loopback addresses.
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
 * Adds the networks of a text; spaces around commas are fine. Returns -1 and sets *e:
 * INVALID, which quotes the malformed network; LIMIT, there are more than DENIED_MAX.
 */
int denied_parse(struct denied *d, struct str text, struct err *e);
/* Returns whether an address is in the list; only IPv4 and IPv6 addresses can be. */
bool denied_has(const struct denied *d, const struct sockaddr *sa);

#endif
