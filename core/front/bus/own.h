/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   bus.c      tries and links: WAIT ─▶ [SENTINEL ─▶] DIAL ─▶ SETUP ─▶ UP
 *   publish.c  events of the log to the stream, the window, acknowledgements
 *   take.c     actions of the other stream, on a connection of their own
 *   deltas.c   output of running commands, for whoever listens
 *   wire.c     one connection        reply.c    what the server answers
 *   where.c    the URL               outcome.c  names of ends
 *   metrics.c     metrics, status       options.c  the options of od serve
 */
#ifndef OD_FRONT_BUS_OWN_H
#define OD_FRONT_BUS_OWN_H

#include "action/action.h"
#include "action/log.h"
#include "eventlog/eventlog.h"
#include "front/backend/hello.h"
#include "front/bus/bus.h"
#include "front/bus/where.h"
#include "front/bus/wire.h"
#include "net/backoff.h"

enum {
    WINDOW_EVENTS = 1024,   /* published and not acknowledged */
    WINDOW_BYTES = 8 << 20, /* of them; a single event may be longer */
    BATCH_EVENTS = 128,     /* on the way to the server at once */
    BATCH_BYTES = 64 << 10, /* of them; a single event may be longer */
    ACTIONS_AT_ONCE = 64,   /* of one XREADGROUP */
    BLOCK_MS = 10000,       /* how long it waits for an action */
    ALIVE_MS = 10000,       /* between two signs of life */
    DEAD_MS = 3 * ALIVE_MS,
    DEAF_MS = 1000,  /* between two deltas while nobody listens */
    DELTAS_MAX = 64, /* commands at once; output of others is not published */
    KEY_MAX = BUS_NAME_MAX + 64
};

enum bus_state {
    BUS_IDLE,
    BUS_WAITS, /* for the next try */
    BUS_ASKS,  /* a sentinel, for the master */
    BUS_DIALS, /* until the server has accepted us */
    BUS_SETUP_ROLE,
    BUS_SETUP_HELLO,
    BUS_SETUP_STREAM,
    BUS_SETUP_GROUP,
    BUS_SETUP_MULTI, /* two replies */
    BUS_UP
};

/* An event that is in the stream or on the way. */
struct sent {
    uint64_t id;
    uint32_t bytes;
};

/* The commands whose replies come next on the main connection, in order. */
enum bus_asked { ASKED_ADD, ASKED_BATCH, ASKED_TRIM, ASKED_ALIVE, ASKED_DELTA };

struct publish {
    struct event_sub sub;
    struct task pump;
    struct timer alive;
    struct event_cursor cursor;
    struct events_reader acks;         /* this reader of the log */
    struct sent window[WINDOW_EVENTS]; /* a ring */
    unsigned first, n;
    uint64_t bytes;
    uint64_t found, oldest; /* when the link came up, the last id that was in the stream,
                               and the first one in it (0: none) */
    uint64_t published;     /* the last id that the server has */
    uint64_t acked, trimmed;
    bool exists;             /* the stream exists, and an event must not make it again */
    bool one;                /* the user may not use MULTI: events are sent one by one */
    unsigned batch, replies; /* events on the way; their replies that have come */
    uint64_t batch_last;
    struct buf refusal; /* of a command in the batch */
    enum bus_asked asked[8];
    unsigned nasked;
    uint64_t events, event_bytes, duplicates; /* of this worker */
};

struct take {
    struct wire wire;
    struct action_watch watch;
    bool pending;  /* messages that were delivered and not acknowledged are read first */
    bool held;     /* nothing is read until an action ends */
    unsigned acks; /* replies to XACK that come before that to XREADGROUP */
    uint64_t actions, repeated, refused;
};

struct deltas {
    struct list list; /* struct delta: a command */
    unsigned n;
    struct action_watch watch;
    struct task join;
    struct timer deaf;  /* runs while nobody listens; output is then dropped */
    bool busy;          /* a message is on the way */
    bool refused;       /* the server refuses deltas on this link */
    bool from_now;      /* the link is new: earlier output is not published */
    uint64_t published; /* of this worker */
};

struct bus_secret {
    char *file;      /* owned; "": none */
    struct buf text; /* the latest one that could be read */
};

struct bus_given {
    struct bus_where where;
    char *ca, *cert, *key, *sentinel_user; /* owned; "": none */
    struct bus_secret password, sentinel;
    bool insecure, no_index, deltas;
    int timeout_ms;
};

struct bus {
    struct engine *en; /* borrowed, as is events */
    struct events *events;
    char *version; /* owned */
    struct bus_given given;
    char sandbox[SANDBOX_ID_SIZE], known[SANDBOX_ID_SIZE];
    char client[SANDBOX_ID_SIZE + 8]; /* "od-ID" */
    char events_key[KEY_MAX], actions_key[KEY_MAX], delta_key[KEY_MAX];

    enum bus_state state;
    unsigned host;      /* index in given.where, for the next try */
    struct bus_host at; /* the server of this try */
    unsigned hops;      /* MOVED replies since the last link */
    struct wire wire;
    struct publish out;
    struct take in;
    struct deltas deltas;
    struct timer wait;
    struct backoff backoff;
    int64_t up_ms, next_ms;

    void (*flushed)(void *arg); /* NULL: the server is not ending */
    void *flushed_arg;
    struct timer flush;
    bool closed;

    uint64_t links, tries, ends[BUS_OUTCOMES];
    enum bus_outcome last;
    struct err error; /* of last; ERR_NONE: nothing failed yet */
    int64_t failed_ms, said_ms;
};

/* ---- bus.c ---- */

/* The link ends; the next try follows. e is copied. */
void bus_fail(struct bus *b, enum bus_outcome o, const struct err *e);
/* The same, with a constant sentence. */
void bus_fail_text(struct bus *b, enum bus_outcome o, enum err_code code,
                   const char *text);
/* Handles an error reply on either connection. Follows MOVED. */
void bus_refused(struct bus *b, struct wire *w, const char *what, const struct reply *r);
/* Appends the address of the bus: scheme, host, port. */
void bus_print(const struct bus *b, struct buf *out);
/* Dials the server of this try with w. Returns -1 if that failed, which ends the try. */
int bus_dial(struct bus *b, struct wire *w);
/* If the server is ending and Redis has all events, reports that. */
void bus_check_flushed(struct bus *b);

/* ---- publish.c ---- */

void publish_init(struct bus *b);
/*
 * Called when the link is up. found: the last id that was in the stream, 0: none; first:
 * the oldest id in it, 0: it is empty.
 */
void publish_begin(struct bus *b, uint64_t found, uint64_t first);
void publish_end(struct bus *b);
/* Handles a reply on the main connection. */
void publish_reply(struct bus *b, const struct reply *r);
/* The backend has all events up to n. Returns -1 and sets *e: NOTFOUND, no event n yet.
 */
int publish_ack(struct bus *b, uint64_t n, struct err *e);
/*
 * Return the number of events that are published and not acknowledged; and of those in
 * the log that are not published.
 */
uint64_t publish_backlog(const struct bus *b);
uint64_t publish_waiting(const struct bus *b);

/*
 * Sends text to the channel of deltas at once. deltas_reply follows; only one message is
 * on the way at a time.
 */
void publish_delta(struct bus *b, struct str text);

/* ---- deltas.c ---- */

/*
 * The first call begins to watch actions. All functions do nothing without --bus-deltas.
 */
void deltas_begin(struct bus *b);
void deltas_end(struct bus *b);
/* Handles the reply to publish_delta. */
void deltas_reply(struct bus *b, const struct reply *r);

/* ---- take.c ---- */

void take_init(struct bus *b);
void take_begin(struct bus *b);
void take_end(struct bus *b);

#endif
