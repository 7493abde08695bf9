/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events, text/event-stream, both sides (WHATWG HTML 9.2).
 *
 * Writing appends to a buffer. Reading is a struct sse that is fed the bytes of
 * a response as they come, cut anywhere, and hands out one event at a time.
 */
#ifndef OD_HTTP_SSE_H
#define OD_HTTP_SSE_H

#include "base/buf.h"

#include <stdint.h>

struct sse_event {
    struct str id;   /* writing, p NULL: none; reading: the last one that was set */
    struct str type; /* writing, p NULL: none; reading: "message" if none was */
    struct str data; /* UTF-8; its lines end in LF when it is read */
};

/* ---- writing: 0, or -1 with out unchanged ---- */

/*
 * CR LF and CR in data arrive as LF. -1: out is full, or id or type cannot be
 * said: they hold CR or LF, or id a NUL.
 */
int sse_add_event(struct buf *out, const struct sse_event *e);
/* What readers ignore; of no bytes, it keeps a connection busy. -1: out is full. */
int sse_add_comment(struct buf *out, struct str text);

/* ---- reading ---- */

struct sse {
    struct buf line; /* of which the end has not come */
    struct buf data, type, id, last_id;
    uint64_t retry_ms; /* what the peer asked for last */
    bool has_retry;
    bool begun;   /* a line has ended: no byte order mark is stripped any more */
    bool skip_lf; /* the last line ended in CR */
    bool told;    /* data and type belong to the event that was handed out */
};

/* event_max: bytes of a line, and of one event's data. */
void sse_init(struct sse *s, size_t event_max);
void sse_release(struct sse *s);
/*
 * Takes bytes from the front of *in. 1: *e is an event, valid until the next
 * call, and *in what is left; 0: all was taken; -1: a line or event is longer
 * than event_max, or there is no memory (end the connection).
 *
 * Invalid UTF-8 becomes U+FFFD. An event that the stream's end cuts off is
 * none (9.2.6): just release the reader.
 */
int sse_read(struct sse *s, struct str *in, struct sse_event *e);
/* For a Last-Event-ID header; empty when there was none. */
struct str sse_last_id(const struct sse *s);

#endif
