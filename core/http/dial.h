/* SPDX-License-Identifier: MIT */
/*
 * From a name to a stream that is ready: its addresses (looked up in a job, the
 * library's call blocks), a connection to the first that answers, a tunnel
 * through a proxy if there is one (RFC 9110 9.3.6), TLS if it is wanted.
 *
 * Addresses are tried in the order that the system gives, the next one when one
 * fails or has not answered for DIAL_NEXT_MS (RFC 8305, in short); those before
 * go on. All of it has one deadline.
 */
#ifndef OD_HTTP_DIAL_H
#define OD_HTTP_DIAL_H

#include "base/err.h"
#include "http/url.h"
#include "io/stream.h"
#include "net/tls.h"

#include <sys/socket.h>

enum { DIAL_NEXT_MS = 250, DIAL_ADDRESSES_MAX = 16 };

/* How far it came. */
enum dial_step {
    DIAL_RESOLVE, /* its name to addresses */
    DIAL_CONNECT, /* of it, or of the proxy */
    DIAL_TUNNEL,  /* the proxy's answer */
    DIAL_GREET    /* TLS */
};

struct dial;

struct dial_spec {
    struct str host; /* a name or an address, without brackets; at most 255 bytes */
    uint16_t port;
    struct tls_client *tls;    /* NULL: plain; to live until on_done */
    const struct proxy *proxy; /* NULL: none; copied */
    int timeout_ms;            /* 0: LIMIT_DIAL_MS */
    size_t in_max, out_max;    /* of the stream */
    /*
     * May it be connected to? Asked of each address of the host, whose names are then
     * looked up here even if there is a proxy: it is asked for an address that was
     * allowed, and its own is not judged. NULL: to all. What is not allowed fails with
     * DENIED.
     */
    bool (*allow)(void *owner, const struct sockaddr *sa);
    /*
     * Once, never within dial_start. s: to be taken with stream_move before this
     * returns, it is closed after; its `in` can hold bytes already. NULL: e says
     * why. d is gone when this returns.
     */
    void (*on_done)(struct dial *d, struct stream *s, const struct err *e);
    void *owner;
};

/* The loop owns it until on_done or dial_cancel. NULL with e: nothing runs. */
struct dial *dial_start(struct loop *l, const struct dial_spec *spec, struct err *e);
void *dial_owner(const struct dial *d);
/* In on_done: the step that failed, or was the last. */
enum dial_step dial_step(const struct dial *d);
/* In on_done: why the last address could not be connected to; 0: it was another step. */
int dial_errno(const struct dial *d);
/* In on_done: what was wrong with the certificate, where that is why it failed. */
enum tls_fault dial_fault(const struct dial *d);
/* No callback follows. */
void dial_cancel(struct dial *d);

#endif
