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
#include "access/access.h"
#include "http/ws.h"
#include "shell/op.h"

enum {
    MESSAGE_MAX = ACTION_BYTES_MAX, /* of a peer */
    SAY_MAX = 64 << 10,             /* bytes of answers that a peer has not read */
    REPEATS_MAX = 64,               /* observations that were requested again */
    RESUMES_MAX = 16,               /* commands whose output a link continues */
    FLOWS_MAX = 64 /* commands at once on one link; output of others comes at their end */
};

struct events_stats {
    uint64_t deltas, delta_bytes, sent, sent_bytes, links;
};

struct events {
    struct engine *en;
    struct actions *actions; /* the engine's */
    struct fronts *fronts;   /* borrowed */
    struct access *access;
    struct http_front front, files, checkpoints;
    struct action_watch watch;
    struct list links;   /* struct events_link */
    struct list readers; /* struct events_reader: those that have acknowledged */
    struct list waits;   /* HTTP requests that wait for an observation */
    struct task flows;   /* runs after a command began */
    struct events_stats stats;
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
    struct action_sender sender;
    struct ws ws;    /* or */
    struct req *req; /* an event stream over HTTP: borrowed; NULL: a WebSocket */
    struct buf rest; /* the part of an event stream that had no room */
    struct event_cursor cursor;
    uint64_t since; /* the link began after this event */
    uint64_t live;  /* the next id at that time */
    struct events_reader reader;
    struct list flows;
    unsigned nflows;
    struct resume resumes[RESUMES_MAX];
    unsigned nresumes;
    struct buf say;                /* lines that are sent first */
    uint64_t repeats[REPEATS_MAX]; /* then these events again, marked as known */
    unsigned nrepeats;
    bool joined; /* flows of running commands were begun */
    bool begun, full, with_key, base64, over;
    enum right right;   /* of the peer; RIGHT_NONE: all, for a backend that we dialled */
    struct guest guest; /* the peer, for the check of its key */
    struct timer key;   /* time limit for the key */
    struct task pump;
    void (*on_since)(void *arg, uint64_t since, const struct err *e);
    void (*on_gone)(void *arg, int code, struct str reason);
    void *arg;
};

/*
 * Sends a message. id 0: it is not an event of the log. Returns false if there is no room
 * now.
 */
bool link_send(struct events_link *k, struct str text, uint64_t id);
void link_pump_later(struct events_link *k);
/* Opens an event stream over HTTP. Takes the request. */
struct events_link *link_open_sse(struct events *ev, struct req *take,
                                  const struct events_link_opts *o);
void link_resume(struct events_link *k, uint64_t cause, uint64_t offset);
/* Returns -1 and sets *e if there is no event with this id yet. */
int events_check_since(const struct events *ev, uint64_t since, struct err *e);
/* Sends an error to all links: an event could not be logged. */
void links_error(struct events *ev, const struct err *e, uint64_t cause);

/* ---- flow.c ---- */

/* Begins flows of all running commands, on all links that want them. */
void flows_begin(struct events *ev);
/* The same for one link and one command, whose action was just sent. */
void flow_begin(struct events_link *k, const struct action *a);
/*
 * Whether the observation of a command, or the event `ended`, may be sent: its output
 * comes first. It may be called again if the observation found no room: what was sent is
 * remembered until flow_end.
 */
bool flow_over(struct events_link *k, const struct event_members *end);
/* Called when the observation was sent. */
void flow_end(struct events_link *k, uint64_t cause);
/* Continues flows when there is room again. */
void flows_pump(struct events_link *k);
void flows_close(struct events_link *k);
/*
 * Begins flows of the running commands that began before the link's first event, from
 * here on.
 */
void flows_join(struct events_link *k);

/* ---- http.c ---- */

/* The routes without an arg. */
extern const struct http_front events_bare_front, events_bare_files,
    events_bare_checkpoints;
void events_http_fail(struct req *r, int status, const char *text);
/* Answers with the error as JSON, with the status of its code. */
void events_http_refuse(struct req *r, const struct err *e);
/*
 * Does an action that has a route of its own. Answers with the observation's extras, and
 * content if there is any, or with the error; without wait, with the action's id. Takes
 * the action.
 */
void events_http_act(struct events *ev, struct req *r, struct json *take, bool wait);
void events_metrics(struct req *r);

/* ---- files_http.c, also for checkpoints_http.c ---- */

/* Returns the arguments with these n names in the query; NULL: it was refused. */
struct json *events_http_query(struct req *r, const char *const names[], size_t n);
/* Returns the body as an object, {} if there is none; NULL: it was refused. */
struct json *events_http_body(struct req *r);
/* Does the action in the session that the query names, as events_http_act. */
void events_http_verb(struct req *r, const char *action, struct json *take_args,
                      bool wait);

/* ---- client_http.c ---- */
void events_client_python(struct req *r);
void events_client_typescript(struct req *r);
/* An action has its observation: answers the HTTP request that waits for it. */
void waits_end(struct events *ev, uint64_t cause, uint64_t end);
void waits_fail(struct events *ev, uint64_t cause, const struct err *e);
/*
 * Appends an error as JSON: {"error":{"code":…,"message":…}}. client_id: with quotes, or
 * empty.
 */
void events_put_error(struct buf *out, const struct err *e, struct str client_id);

#endif
