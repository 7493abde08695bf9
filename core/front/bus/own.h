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
 *   look.c     metrics, status       options.c  the options of od serve
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
    BLOCK_MS = 10000,       /* of it, until the next one */
    ALIVE_MS = 10000,       /* between two signs of life */
    DEAD_MS = 3 * ALIVE_MS,
    DEAF_MS = 1000,  /* between two deltas that nobody listens to */
    DELTAS_MAX = 64, /* commands at once; output of others is not published */
    KEY_MAX = BUS_NAME_MAX + 64
};

enum bus_state {
    BUS_IDLE,
    BUS_WAITS, /* for the next try */
    BUS_ASKS,  /* a sentinel, for the master */
    BUS_DIALS, /* until the server has let us in */
    BUS_SETUP_ROLE,
    BUS_SETUP_HELLO,
    BUS_SETUP_STREAM,
    BUS_SETUP_GROUP,
    BUS_SETUP_MULTI, /* two replies */
    BUS_UP
};

/* Of one event that is in the stream, or on the way. */
struct sent {
    uint64_t id;
    uint32_t bytes;
};

/* What replies on the main connection are to, in order. */
enum bus_asked { ASKED_ADD, ASKED_BATCH, ASKED_TRIM, ASKED_ALIVE, ASKED_DELTA };

struct publish {
    struct event_sub sub;
    struct task pump;
    struct timer alive;
    struct event_cursor cursor;
    struct events_reader acks;         /* of the log's readers */
    struct sent window[WINDOW_EVENTS]; /* a ring */
    unsigned first, n;
    uint64_t bytes;
    uint64_t found, oldest; /* in the stream when the link came up: the last id, and the
                               first (0: none) */
    uint64_t published;     /* the last id that the server has */
    uint64_t acked, trimmed;
    bool exists;             /* the stream is there: an event does not make it again */
    bool one;                /* the user may not use MULTI: events go one by one */
    unsigned batch, replies; /* on the way, and how many of its replies have come */
    uint64_t batch_last;
    struct buf refusal; /* of a command in the batch */
    enum bus_asked asked[8];
    unsigned nasked;
    uint64_t events, event_bytes, duplicates; /* of this worker */
};

struct take {
    struct wire wire;
    struct action_watch watch;
    bool pending;  /* what was delivered and not acknowledged is read first */
    bool held;     /* until an action ends */
    unsigned acks; /* replies of XACK that are to come before that of XREADGROUP */
    uint64_t actions, repeated, refused;
};

struct deltas {
    struct list list; /* struct delta: a command */
    unsigned n;
    struct action_watch watch;
    struct task join;
    struct timer deaf;  /* runs: nobody listens, so output is dropped */
    bool busy;          /* one is on the way */
    bool refused;       /* the server takes none on this link */
    bool from_now;      /* the link is new: what has been is not published */
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
    unsigned host;      /* the next try's, of given.where */
    struct bus_host at; /* the server of this try */
    unsigned hops;      /* MOVED, since the last link */
    struct wire wire;
    struct publish out;
    struct take in;
    struct deltas deltas;
    struct timer wait;
    struct backoff backoff;
    int64_t up_ms, next_ms;

    void (*flushed)(void *arg); /* NULL: the server does not end */
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
/* The same, with a sentence of a constant. */
void bus_fail_text(struct bus *b, enum bus_outcome o, enum err_code code,
                   const char *text);
/* An error of either connection: MOVED is followed. */
void bus_refused(struct bus *b, struct wire *w, const char *what, const struct reply *r);
/* Appends where it goes: scheme, host, port. */
void bus_print(const struct bus *b, struct buf *out);
/* Dials the server of this try with w. Returns -1 if it cannot, and the try has ended. */
int bus_dial(struct bus *b, struct wire *w);
/* If the server ends and Redis has all: reports it. */
void bus_check_flushed(struct bus *b);

/* ---- publish.c ---- */

void publish_init(struct bus *b);
/*
 * The link is up. found: the last id in the stream, 0: there is none; first: the oldest
 * one in it, 0: it is empty.
 */
void publish_begin(struct bus *b, uint64_t found, uint64_t first);
void publish_end(struct bus *b);
/* A reply on the main connection. */
void publish_reply(struct bus *b, const struct reply *r);
/* The backend has all up to n. Returns -1 and sets *e: NOTFOUND, there is no such event.
 */
int publish_ack(struct bus *b, uint64_t n, struct err *e);
/* Published and not acknowledged; and in the log, and not published. */
uint64_t publish_backlog(const struct bus *b);
uint64_t publish_waiting(const struct bus *b);

/* Sends text to the channel of deltas, now: one at a time. deltas_reply follows. */
void publish_delta(struct bus *b, struct str text);

/* ---- deltas.c ---- */

/* The first call begins to watch actions. All do nothing without --bus-deltas. */
void deltas_begin(struct bus *b);
void deltas_end(struct bus *b);
/* The reply to publish_delta. */
void deltas_reply(struct bus *b, const struct reply *r);

/* ---- take.c ---- */

void take_init(struct bus *b);
void take_begin(struct bus *b);
void take_end(struct bus *b);

#endif
