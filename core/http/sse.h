/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events, text/event-stream (WHATWG HTML 9.2): what a server writes. A call
 * appends to a buffer. It returns 0; or -1 with the buffer unchanged.
 */
#ifndef OD_HTTP_SSE_H
#define OD_HTTP_SSE_H

#include "base/buf.h"

struct sse_event {
    struct str id;   /* p NULL: none */
    struct str type; /* p NULL: none */
    struct str data; /* UTF-8 */
};

/*
 * CR LF and CR in data arrive as LF. Returns -1 if out is full, or if id or type cannot
 * be sent: they have a CR or LF, or id a NUL.
 */
int sse_add_event(struct buf *out, const struct sse_event *e);
/*
 * Appends a comment, which readers ignore; without text it keeps a connection busy.
 * Returns -1 if out is full.
 */
int sse_add_comment(struct buf *out, struct str text);

#endif
