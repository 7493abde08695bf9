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
    bool after;        /* comes after the action's observation */
    bool base64;       /* exact bytes; otherwise text, with secrets replaced */
};

/*
 * Returns how many bytes, from the front, the next message has. It is 0 if only a part of
 * a character is there, or what may be the beginning of a secret; more bytes must come
 * first. last: no bytes follow.
 */
size_t delta_piece(const struct actions *all, struct str bytes, bool base64, bool last);
/* Appends the message; at most DELTA_TEXT_MAX bytes for DELTA_MAX of output. */
void delta_put(struct buf *out, const struct actions *all, const struct delta_of *d,
               struct str bytes);

#endif
