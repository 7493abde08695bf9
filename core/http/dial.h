/* SPDX-License-Identifier: MIT */
/*
 * From a name to a connected stream: its addresses (looked up in a job, since the
 * library's call blocks), a connection to the first one that answers, a tunnel through a
 * proxy if there is one (RFC 9110 9.3.6), and TLS if requested.
 *
 * Addresses are tried in the system's order, the next one when one fails or has not
 * answered for DIAL_NEXT_MS (a short form of RFC 8305); earlier attempts go on. One
 * deadline covers all of it.
 */
#ifndef OD_HTTP_DIAL_H
#define OD_HTTP_DIAL_H

#include "base/err.h"
#include "http/url.h"
#include "io/stream.h"
#include "net/tls.h"

#include <sys/socket.h>

enum { DIAL_NEXT_MS = 250, DIAL_ADDRESSES_MAX = 16 };

/* The steps of a connection. */
enum dial_step {
    DIAL_RESOLVE, /* its name to addresses */
    DIAL_CONNECT, /* to the host, or to the proxy */
    DIAL_TUNNEL,  /* the proxy's answer */
    DIAL_GREET    /* TLS */
};

struct dial;

struct dial_spec {
    struct str host; /* a name or an address, without brackets; at most 255 bytes */
    uint16_t port;
    struct tls_client *tls;    /* NULL: no TLS; must live until on_done */
    const struct proxy *proxy; /* NULL: none; copied */
    int timeout_ms;            /* 0: LIMIT_DIAL_MS */
    size_t in_max, out_max;    /* of the stream */
    /*
     * Whether an address may be connected to; NULL: all may. It is called for each
     * address of the host, so the name is looked up here even with a proxy, which gets
     * an allowed address; the proxy's own address is not judged. If none is allowed, the
     * call fails with DENIED.
     */
    bool (*allow)(void *owner, const struct sockaddr *sa);
    /*
     * Called once, never within dial_start. s: take it with stream_move before this
     * returns, as it is closed afterwards; its `in` may already have bytes. s NULL: e
     * has the reason. d is gone when this returns.
     */
    void (*on_done)(struct dial *d, struct stream *s, const struct err *e);
    void *owner;
};

/* Returns a dial, which the loop owns until on_done or dial_cancel; or NULL, sets *e. */
struct dial *dial_start(struct loop *l, const struct dial_spec *spec, struct err *e);
void *dial_owner(const struct dial *d);
/* In on_done: the step that failed, or the last one. */
enum dial_step dial_step(const struct dial *d);
/* In on_done: errno of the connection to the last address; 0: another step failed. */
int dial_errno(const struct dial *d);
/* In on_done: the fault of the certificate, if that is why it failed. */
enum tls_fault dial_fault(const struct dial *d);
/* No callback follows. */
void dial_cancel(struct dial *d);

#endif
