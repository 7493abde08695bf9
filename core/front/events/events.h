/* SPDX-License-Identifier: MIT */
/*
 * The event stream: clients follow the log of actions and observations, and send actions
 * (README.md describes the protocol).
 *
 * A link is one connection, of either role: a cursor into the log, and one into the
 * output of each command that runs. A slow peer needs no more memory; it catches up from
 * the disk.
 */
#ifndef OD_FRONT_EVENTS_EVENTS_H
#define OD_FRONT_EVENTS_EVENTS_H

#include "base/json.h"
#include "base/list.h"
#include "engine/engine.h"
#include "front/front.h"
#include "access/keys.h"
#include "http/httpd.h"
#include "http/ws.h"

#define EVENTS_PROTOCOL "od.events.v1" /* Sec-WebSocket-Protocol */

struct events;
struct events_link;

/*
 * access judges the key of WebSockets that were opened without one; its keys are
 * never in the log. all is for GET /metrics; NULL: there are no other front-ends. All are
 * borrowed. Never returns NULL.
 */
struct events *events_open(struct engine *en, struct access *access,
                           struct fronts *all);
/* Returns the routes; ev NULL: without an arg, only to list them. */
const struct http_front *events_front(const struct events *ev);
/* The same for the routes of files and skills (FILES.md). */
const struct http_front *events_files_front(const struct events *ev);
const struct http_front *events_checkpoints_front(const struct events *ev);
/* Closes the links, because this worker ends. */
void events_close(struct events *ev);

struct events_link_opts {
    struct str hello; /* sent first; empty: the hello for peers that connect to us */
    bool wait_since;  /* nothing is replayed before the peer sends {"since":N} */
    uint64_t since;   /* otherwise: events after this one are replayed */
    bool with_key;    /* the peer must first send {"api_key":…} or {"page":…} */
    enum right right; /* otherwise the peer's right; RIGHT_NONE: all, since we dialled */
    const struct guest *guest; /* the peer of a listener, copied; NULL: we dialled */
    bool base64;               /* output is sent as its exact bytes */
    int ping_ms, dead_ms;      /* as in ws_opts; 0: the defaults of limits.h */
    /*
     * Called once, with wait_since: e is NULL if the peer has sent the id. It is INVALID
     * if the peer has sent something else, or NOTFOUND if the id does not exist; the peer
     * got an error, and the caller closes the link. May be NULL.
     */
    void (*on_since)(void *arg, uint64_t since, const struct err *e);
    /*
     * Called once, when the connection has ended, except by events_link_close. code: as
     * in ws.h. The link is then no longer valid. May be NULL.
     */
    void (*on_gone)(void *arg, int code, struct str reason);
    void *arg;
};

/*
 * Opens a link on a WebSocket after its handshake. Takes the stream, whose output buffer
 * must hold at least EVENTS_LINK_OUT bytes. Never returns NULL.
 */
struct events_link *events_link_open(struct events *ev, struct stream *take,
                                     enum ws_role role,
                                     const struct events_link_opts *opts);
/* Closes the link; on_gone is not called. NULL is fine. */
void events_link_close(struct events_link *link, enum ws_code code, struct str reason);
/* Returns the id up to which the peer has acknowledged events; 0: none. */
uint64_t events_link_acked(const struct events_link *link);

/*
 * A reader of the log that acknowledges events, as links do. The log may drop events that
 * all readers have acknowledged (eventlog_trim). Embedded in its owner, zeroed.
 */
struct events_reader {
    struct list node;
    uint64_t acked; /* 0: nothing yet; the log then does not wait for it */
};
/*
 * The reader has all events up to this one, which must exist. The first call adds it to
 * the readers.
 */
void events_ack(struct events *ev, struct events_reader *reader, uint64_t upto);
/*
 * The log no longer waits for this reader. Idempotent; does nothing if it was never
 * added.
 */
void events_ack_leave(struct events_reader *reader);

/* A stream's buffers for a link (stream_open). */
enum { EVENTS_LINK_IN = 64 << 10, EVENTS_LINK_OUT = 4 << 20 };

#endif
