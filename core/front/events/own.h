/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   events.c       the front-end: its links, its routes, its keys
 *   link.c         one connection
 *   flow.c         the output of one command on one connection
 *   delta.c        a piece of it as a message
 *   http.c         the routes of events   files_http.c   those of files and skills
 *   metrics.c      GET /metrics           openapi.c      GET /openapi.json
 *   client_http.c  GET /client.py, /client.ts
 */
#ifndef OD_FRONT_EVENTS_OWN_H
#define OD_FRONT_EVENTS_OWN_H

#include "action/action.h"
#include "action/log.h"
#include "eventlog/eventlog.h"
#include "eventlog/line.h"
#include "front/events/events.h"
#include "front/logins.h"
#include "http/ws.h"
#include "shell/op.h"

enum {
    MESSAGE_MAX = ACTION_BYTES_MAX, /* of a peer */
    SAY_MAX = 64 << 10,             /* answers that a peer does not read */
    REPEATS_MAX = 64,               /* observations that were asked for again */
    RESUMES_MAX = 16,               /* commands whose output a link goes on with */
    FLOWS_MAX = 64 /* commands at once on one link, others come with their end */
};

struct events_stats {
    uint64_t deltas, delta_bytes, sent, sent_bytes, links;
};

struct events {
    struct engine *en;
    struct actions *actions; /* the engine's */
    struct fronts *fronts;   /* borrowed */
    struct keys *keys;
    struct logins *logins;
    struct http_front front, files;
    struct action_watch watch;
    struct list links;   /* struct events_link */
    struct list readers; /* struct events_reader: those that have acknowledged */
    struct list waits;   /* who waits for an observation by HTTP */
    struct task flows;   /* a command began */
    struct events_stats stats;
    unsigned without_key; /* links whose key has not come yet */
    unsigned watching;    /* GET /files/watch that are open */
    bool closed;
};

/* ---- link.c ---- */

struct resume {
    uint64_t cause, offset;
};

struct events_link {
    struct list node;
    struct events *ev;
    struct event_sub sub;
    struct ws ws;    /* or */
    struct req *req; /* an event stream over HTTP: borrowed; NULL: a WebSocket */
    struct buf rest; /* of it: what had no room */
    struct event_cursor cursor;
    uint64_t since; /* where it began */
    uint64_t live;  /* the id that came next then */
    struct events_reader reader;
    struct list flows;
    unsigned nflows;
    struct resume resumes[RESUMES_MAX];
    unsigned nresumes;
    struct buf say;                /* lines that are sent first */
    uint64_t repeats[REPEATS_MAX]; /* then these events again, marked as known */
    unsigned nrepeats;
    bool joined; /* flows of what runs already are there */
    bool begun, full, with_key, base64, over;
    enum right right;   /* of the peer; RIGHT_NONE: of a backend that we dialled, all */
    struct guest guest; /* for its key */
    struct timer key;   /* the time for it */
    struct task pump;
    void (*on_since)(void *arg, uint64_t since, const struct err *e);
    void (*on_gone)(void *arg, int code, struct str reason);
    void *arg;
};

/* id 0: it is not in the log. Returns false if there is no room now. */
bool link_send(struct events_link *k, struct str text, uint64_t id);
void link_pump_later(struct events_link *k);
/* An event stream over HTTP: takes the request. */
struct events_link *link_open_sse(struct events *ev, struct req *take,
                                  const struct events_link_opts *o);
void link_resume(struct events_link *k, uint64_t cause, uint64_t offset);
/* Returns -1 and sets *e if since is an id from the future. */
int events_check_since(const struct events *ev, uint64_t since, struct err *e);
/* To all links: something is not available from the log. */
void links_error(struct events *ev, const struct err *e, uint64_t cause);

/* ---- flow.c ---- */

/* Output of running commands, for all links that want it. */
void flows_begin(struct events *ev);
/* The same for one link and one command whose action was just sent. */
void flow_begin(struct events_link *k, const struct action *a);
/*
 * May the observation of a command be sent? Its output comes first. It may be asked
 * again, when the observation found no room: what was sent is remembered until flow_end.
 * The event `ended` is one, too.
 */
bool flow_over(struct events_link *k, const struct event_look *end);
/* The observation was sent. */
void flow_end(struct events_link *k, uint64_t cause);
/* There is room again. */
void flows_pump(struct events_link *k);
void flows_close(struct events_link *k);
/* Those that run and began before the link's first event: from here on. */
void flows_join(struct events_link *k);

/* ---- http.c ---- */

/* Without an arg. */
extern const struct http_front events_bare_front, events_bare_files;
void events_http_fail(struct req *r, int status, const char *text);
/* The error as JSON, with the status of its code. */
void events_http_refuse(struct req *r, const struct err *e);
/*
 * An action of a route of its own, whose answer is what the observation has in extras,
 * with content if there is any, or the error; without wait its id. Takes the action.
 */
void events_http_act(struct events *ev, struct req *r, struct json *take, bool wait);
void events_metrics(struct req *r);
/* ---- client_http.c ---- */
void events_client_python(struct req *r);
void events_client_typescript(struct req *r);
/* An action has its observation: the HTTP request that waits for it is answered. */
void waits_end(struct events *ev, uint64_t cause, uint64_t end);
void waits_fail(struct events *ev, uint64_t cause, const struct err *e);
/* An error as JSON: {"error":{"code":…,"message":…}}; client_id: with quotes, or n 0. */
void events_put_error(struct buf *out, const struct err *e, struct str client_id);

#endif
