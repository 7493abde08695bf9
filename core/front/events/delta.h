/* SPDX-License-Identifier: MIT */
/* A piece of the output of a running command, as a message (README.md: "Deltas"). */
#ifndef OD_FRONT_EVENTS_DELTA_H
#define OD_FRONT_EVENTS_DELTA_H

#include "action/action.h"

enum {
    DELTA_MAX = 16 << 10,                 /* bytes of output in one message */
    DELTA_TEXT_MAX = 8 * DELTA_MAX + 1024 /* of the message */
};

struct delta_of {
    uint64_t cause; /* the action */
    const char *session;
    uint64_t from, to; /* offsets in the session's output */
    bool gap;          /* this range is lost: there are no bytes */
    bool after;        /* the action has its observation */
    bool base64;       /* exact bytes; else secrets are replaced */
};

/*
 * Bytes of one message from the front of what is there. Returns 0 at half a character, or
 * what may be half a secret, until it is known how it goes on; last: nothing follows.
 */
size_t delta_piece(const struct actions *all, struct str bytes, bool base64, bool last);
/* Appends the message; at most DELTA_TEXT_MAX bytes for DELTA_MAX of output. */
void delta_put(struct buf *out, const struct actions *all, const struct delta_of *d,
               struct str bytes);

#endif
