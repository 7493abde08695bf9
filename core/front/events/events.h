/* SPDX-License-Identifier: MIT */
/*
 * The event stream: clients follow the log of actions and observations, and send actions
 * (README.md describes the protocol).
 *
 * A link is one connection, of either role: a cursor into the log, and one into the
 * output of each command that runs. A slow peer costs no more memory; it catches up from
 * the disk.
 */
#ifndef OD_FRONT_EVENTS_EVENTS_H
#define OD_FRONT_EVENTS_EVENTS_H

#include "base/json.h"
#include "base/list.h"
#include "engine/engine.h"
#include "front/front.h"
#include "front/keys.h"
#include "http/httpd.h"
#include "http/ws.h"

#define EVENTS_PROTOCOL "od.events.v1" /* Sec-WebSocket-Protocol */

struct events;
struct events_link;

/*
 * keys and logins are borrowed: for WebSockets that were opened without a key. Keys are
 * kept out of the log. all is borrowed, for GET /metrics; NULL: there are no other
 * front-ends. Never returns NULL.
 */
struct events *events_open(struct engine *en, struct keys *keys, struct logins *logins,
                           struct fronts *all);
/* ev NULL: the same without an arg, to list the routes. */
const struct http_front *events_front(const struct events *ev);
/* The same, of its routes to files and skills (FILES.md). */
const struct http_front *events_files_front(const struct events *ev);
/* Closes the links: this worker ends. */
void events_close(struct events *ev);

struct events_link_opts {
    struct str hello; /* sent first, whole; empty: that for peers that dial us */
    bool wait_since;  /* nothing is replayed before the peer sends {"since":N} */
    uint64_t since;   /* else: events after this one */
    bool with_key;    /* the peer must first send {"api_key":…} or {"page":…} */
    enum right right; /* else what it may do; RIGHT_NONE: all, since we dialled */
    const struct guest *guest; /* who came by a listener; NULL: nobody, copied */
    bool base64;               /* output as its exact bytes */
    int ping_ms, dead_ms;      /* as ws_opts; 0: the limits' */
    /*
     * Once, with wait_since: the peer has sent it, and e is NULL; or it has sent
     * something else (INVALID) or an id that does not exist (NOTFOUND) and got an error;
     * the caller then closes the link. May be NULL.
     */
    void (*on_since)(void *arg, uint64_t since, const struct err *e);
    /*
     * Once, when the connection is over, except by events_link_close. code: as in ws.h.
     * The link is not valid after it. May be NULL.
     */
    void (*on_gone)(void *arg, int code, struct str reason);
    void *arg;
};

/*
 * Events over a WebSocket whose handshake is over: takes the stream, which must hold
 * at least EVENTS_LINK_OUT bytes to be written. Never NULL.
 */
struct events_link *events_link_open(struct events *ev, struct stream *take,
                                     enum ws_role role,
                                     const struct events_link_opts *opts);
/* Closes the link; on_gone is not called. NULL is fine. */
void events_link_close(struct events_link *link, enum ws_code code, struct str reason);
/* The id up to which the peer has acknowledged; 0: nothing. */
uint64_t events_link_acked(const struct events_link *link);

/*
 * Another reader of the log that acknowledges events, as links do: the log may let go of
 * what all of them have acknowledged (eventlog_trim). Embedded in its owner, zeroed.
 */
struct events_reader {
    struct list node;
    uint64_t acked; /* 0: nothing yet; it then holds nobody up */
};
/* It has all events up to this one, which exists. Joins the others the first time. */
void events_ack(struct events *ev, struct events_reader *reader, uint64_t upto);
/* It does not count any more. Idempotent; nothing for one that never joined. */
void events_ack_leave(struct events_reader *reader);

/* A stream's buffers for a link (stream_open). */
enum { EVENTS_LINK_IN = 64 << 10, EVENTS_LINK_OUT = 4 << 20 };

#endif
