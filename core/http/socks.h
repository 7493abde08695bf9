/* SPDX-License-Identifier: MIT */
/*
 * The server's side of SOCKS 5 (RFC 1928) as far as a browser needs it: no
 * authentication, CONNECT, to names and addresses. Parsers of bytes, and the answers.
 */
#ifndef OD_HTTP_SOCKS_H
#define OD_HTTP_SOCKS_H

#include "base/buf.h"

/* Of a reply (6). */
enum socks_reply {
    SOCKS_OK,
    SOCKS_FAILED,      /* in another way */
    SOCKS_DENIED,      /* by the ruleset */
    SOCKS_NETUNREACH,  /* no way to the network */
    SOCKS_HOSTUNREACH, /* nor to the host, or there is none of that name */
    SOCKS_REFUSED,     /* nothing listens */
    SOCKS_LATE,        /* TTL expired: there was no answer */
    SOCKS_NO_COMMAND,  /* a command other than CONNECT */
    SOCKS_NO_ADDRESS_TYPE
};

/* What the longest greeting, and request, have. */
enum { SOCKS_GREETING_MAX = 257, SOCKS_REQUEST_MAX = 262 };

struct socks_request {
    char host[256]; /* a name, or an address without brackets */
    uint16_t port;
    enum socks_reply refusal; /* not SOCKS_OK: it is answered with that, host is "" */
};

/*
 * The first bytes (3). 1: all of it, *used of them, and *open: no authentication is
 * among what is offered; 0: more is to come; -1: that is no SOCKS 5.
 */
int socks_greeting(struct str in, size_t *used, bool *open);
/* What follows (4): 1, 0, -1 as above. */
int socks_request(struct str in, size_t *used, struct socks_request *out);

/* The answers; -1: out is full. */
int socks_choose(struct buf *out, bool open);
int socks_answer(struct buf *out, enum socks_reply reply);

#endif
