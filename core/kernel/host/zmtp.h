/* SPDX-License-Identifier: MIT */
/*
 * ZMTP 3 (ZeroMQ RFC 23), NULL mechanism, the connecting side of DEALER, SUB and REQ, as
 * a client of a Jupyter kernel needs it.
 *
 * We greet as 3.0 and subscribe by a message, which peers of 3.0 and 3.1 both know (RFC
 * 23 "Subscriptions"). Messages sent before the greeting is over wait in the stream's
 * buffer; if the peer does not speak ZMTP, the connection ends with a reason.
 */
#ifndef OD_KERNEL_HOST_ZMTP_H
#define OD_KERNEL_HOST_ZMTP_H

#include "base/err.h"
#include "base/limits.h"
#include "io/stream.h"

enum { ZMTP_PARTS_MAX = 64, ZMTP_IDENTITY_MAX = 64 };

enum zmtp_role {
    ZMTP_DEALER, /* sends and receives messages as they are */
    ZMTP_SUB,    /* subscribes to everything; receives */
    ZMTP_REQ     /* an empty part is put before a message and taken off an answer */
};

/*
 * Bytes that wait for the peer. Above ZMTP_FULL, the sender of requests is asked to send
 * no more; what it had sent has room up to ZMTP_QUEUE: companion_send's 24 MiB, a
 * line that was read in part, and a cell.
 */
enum { ZMTP_FULL = LIMIT_ZMTP_OUT / 2, ZMTP_QUEUE = 5 * LIMIT_ZMTP_OUT };

struct zmtp;

/* Each may release the connection. */
struct zmtp_events {
    void (*on_ready)(struct zmtp *z); /* greeted and subscribed; may be NULL */
    /* A whole message; parts are valid until the callback returns or releases. */
    void (*on_message)(struct zmtp *z, const struct str *parts, int n);
    /* After a refused zmtp_send, or when fewer than ZMTP_FULL bytes wait again; may be
     * NULL. */
    void (*on_room)(struct zmtp *z);
    /* Called once, as the last, never from within a call. */
    void (*on_end)(struct zmtp *z, const struct err *e);
};

/* Embedded in its owner. */
struct zmtp {
    struct stream s;
    const struct zmtp_events *ev;
    enum zmtp_role role;
    char identity[ZMTP_IDENTITY_MAX + 1];
    size_t message_max;
    struct buf msg; /* the parts so far, concatenated */
    size_t part[ZMTP_PARTS_MAX];
    int parts;
    uint64_t left; /* of the frame that is being read */
    uint8_t flags; /* its flags */
    uint8_t state;
};

/*
 * z is zeroed, or was released. Takes fd, a connected socket (or one that connects),
 * non-blocking. identity: DEALER's, at most ZMTP_IDENTITY_MAX bytes, "" for none.
 * message_max: a longer message ends the connection (ERR_LIMIT). Returns 0; -1 with
 * errno, and then fd is still the caller's.
 */
int zmtp_start(struct zmtp *z, struct loop *l, int fd, enum zmtp_role role,
               const char *identity, size_t message_max, const struct zmtp_events *ev);
/* Queues a whole message. Returns -1, with nothing queued, if there is no room for it. */
int zmtp_send(struct zmtp *z, const struct str *parts, int n);
/*
 * Only in on_message: moves the memory of the message's parts into the caller's empty
 * buffer.
 */
void zmtp_take(struct zmtp *z, struct buf *to);
/* Pause and resume receiving. */
void zmtp_pause(struct zmtp *z);
void zmtp_resume(struct zmtp *z);
/* Closes the connection. Idempotent; does nothing to one that is zeroed. */
void zmtp_release(struct zmtp *z);

#endif
