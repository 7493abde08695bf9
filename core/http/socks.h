/* SPDX-License-Identifier: MIT */
/*
 * The server's side of SOCKS 5 (RFC 1928) as far as a browser needs it: no
 * authentication, CONNECT, to names and addresses. Parsers of bytes, and the answers.
 */
#ifndef OD_HTTP_SOCKS_H
#define OD_HTTP_SOCKS_H

#include "base/buf.h"

/* The codes of a reply (6). */
enum socks_reply {
    SOCKS_OK,
    SOCKS_FAILED,      /* in another way */
    SOCKS_DENIED,      /* by the ruleset */
    SOCKS_NETUNREACH,  /* the network is unreachable */
    SOCKS_HOSTUNREACH, /* the host is unreachable, or its name is unknown */
    SOCKS_REFUSED,     /* nothing listens */
    SOCKS_LATE,        /* TTL expired: there was no answer */
    SOCKS_NO_COMMAND,  /* a command other than CONNECT */
    SOCKS_NO_ADDRESS_TYPE
};

/* Bytes of the longest greeting and request. */
enum { SOCKS_GREETING_MAX = 257, SOCKS_REQUEST_MAX = 262 };

struct socks_request {
    char host[256]; /* a name, or an address without brackets */
    uint16_t port;
    enum socks_reply refusal; /* unless SOCKS_OK, it is the answer, and host is "" */
};

/*
 * Parses the greeting (3). Returns 1 if it is complete and *used bytes long; *open: "no
 * authentication" is among the offered methods. Returns 0 if more is needed, -1 if it is
 * not SOCKS 5.
 */
int socks_greeting(struct str in, size_t *used, bool *open);
/* Parses the request that follows (4). Returns as socks_greeting. */
int socks_request(struct str in, size_t *used, struct socks_request *out);

/* Append the answers. Return -1 if out is full. */
int socks_choose(struct buf *out, bool open);
int socks_answer(struct buf *out, enum socks_reply reply);

#endif
