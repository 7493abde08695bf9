/* SPDX-License-Identifier: MIT */
/* What the files of this room share: see reverse_proxy.h. */
#ifndef OD_FRONT_REVERSE_PROXY_OWN_H
#define OD_FRONT_REVERSE_PROXY_OWN_H

#include "front/reverse_proxy/reverse_proxy.h"
#include "http/httpc.h"

/* ---- fields.c ---- */

/*
 * Appends the fields of r for the app: without hop-by-hop fields (RFC 9110 7.6.1), keys
 * and our cookies, with X-Forwarded-*. upgrade: keeps what an upgrade to a WebSocket
 * needs. Returns -1 if they do not fit.
 */
int fields_out(const struct reverse_proxy *p, const struct req *r,
               const struct reverse_proxy_target *t, bool upgrade, struct buf *out);
/*
 * Adds the fields of the app's answer to the answer of r: Location and Set-Cookie are
 * rewritten for PREFIX/PORT/, and our cookies' names are refused.
 */
void fields_back(const struct reverse_proxy *p, struct req *r,
                 const struct reverse_proxy_target *t, const struct http_head *h);

/* ---- sandbox.c ---- */

/* Returns true if reverse_proxy_sandbox decides about this field of an app's answer: then
 * the rest of the field, if any, has been added to r's answer. */
bool sandbox_takes(struct req *r, struct str name, struct str value);

/* ---- pair.c ---- */

/* Two streams, each getting what the other one reads, until both have ended. */
struct stream_pair {
    struct stream a, b;
    void (*on_over)(
        struct stream_pair *p); /* called once; p may be freed at the end of the turn */
};
/* The events for stream_move; the streams of a pair use these from pair_start on. */
extern const struct stream_events pair_events_a, pair_events_b;
/* Begins, after both streams were moved in; they may already have bytes to read. */
void pair_start(struct stream_pair *p, void (*on_over)(struct stream_pair *p));
/* Closes both; on_over is not called. Idempotent. */
void pair_release(struct stream_pair *p);

#endif
