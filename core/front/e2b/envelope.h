/* SPDX-License-Identifier: MIT */
/*
 * Envelopes of Connect's streams: one byte of flags, four bytes of length, most
 * significant first, then the message (connectrpc.com/docs/protocol, "Streaming RPCs").
 */
#ifndef OD_FRONT_E2B_ENVELOPE_H
#define OD_FRONT_E2B_ENVELOPE_H

#include "base/buf.h"
#include "base/err.h"

enum {
    ENVELOPE_HEAD = 5,
    ENVELOPE_MAX = 8 << 20, /* bytes of the longest accepted message */
    ENVELOPE_END = 2        /* flag of the last frame of an answer */
};

/*
 * Cuts the first message off *in. Returns 1 and sets *message, which borrows from in; 0
 * if more bytes are needed; -1 and sets *e: LIMIT if it is longer than ENVELOPE_MAX,
 * INVALID if it is compressed or has an unknown flag.
 */
int envelope_cut(struct str *in, struct str *message, struct err *e);
/* Appends a frame. Returns -1 if out is full. */
int envelope_put(struct buf *out, unsigned flags, struct str message);

#endif
