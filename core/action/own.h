/* SPDX-License-Identifier: MIT */
/*
 * Inside the event stream: what the files of this room and of front/events share.
 *
 *   events.c    the log: what is written to it, found in it, kept next to it
 *   line.c      the beginning of an event's line; secrets
 *   act.c       actions of peers, and what became of them after a restart
 *   native.c    actions that are not V0's, by their table
 *   describe.c  every action with its parameters, for help and schemas
 *   input.c     of those: cancel, input, key, eof, signal, resize
 *   cell.c      what a cell sends while it runs
 *   files.c     actions on files
 *   skill.c     skills as actions
 *   metrics.c   GET /metrics
 *   front/events/link.c   one connection
 *   front/events/flow.c   the output of one command on one connection
 *   front/events/http.c, files_http.c   the routes
 */
#ifndef OD_ACTION_OWN_H
#define OD_ACTION_OWN_H

#include "action/events.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/map.h"
#include "eventlog/eventlog.h"
#include "eventlog/line.h"
#include "shell/op.h"

enum {
    ACTIONS_MAX = 1024,  /* without an observation yet */
    KNOWN_MAX = 8192,    /* actions that are known by name */
    KNOWN_BACK = 16384,  /* events that are looked through for such */
    CLIENT_ID_MAX = 128, /* bytes of a client_id */
    SECRETS_MAX = 64,    /* values */
    SECRET_MIN = 4,      /* bytes of one: shorter ones are everywhere */
    SECRET_MAX = 8192,
    SECRETS_BYTES = LIMIT_BLOB_MAX - 256, /* of all as JSON: the keeper has them too */
    EVENTS_KEY = 32,                      /* hex digits of an action's own name */
    CUT_STRING = 64 << 10, /* a longer string of an event that is too long is cut */
    MESSAGE_MAX = 1 << 20, /* of a peer, as LIMIT_EVENT_MAX */
    BATCH = 64 << 10,      /* of events read at once */
    SAY_MAX = 64 << 10,    /* answers that a peer does not read */
    REPEATS_MAX = 64,      /* observations that were asked for again */
    RESUMES_MAX = 16,      /* commands whose output a link goes on with */
    DELTA_MAX = 16 << 10,  /* bytes of output in one message */
    FLOWS_MAX = 64         /* commands at once on one link, others come with their end */
};

/* An action that can be asked for again: by its client_id, or the key of its body. */
struct known {
    struct list node; /* the oldest first */
    uint64_t id, end; /* end 0: it has no observation yet */
    char *name;       /* owned: "c/CLIENT_ID" or "k/KEY" */
};

/* An action without an observation. */
struct pending {
    struct list node; /* by id */
    uint64_t id;
    struct known *known; /* NULL: it has no name */
    char session[V0_SESSION_MAX + 1];
    char command[LIMIT_ID + 1]; /* started: the id of what runs */
    char *client_id;             /* owned; NULL: none */
    uint64_t from;               /* where its output began */
    int64_t since_ms;
    bool started;
};

struct events_stats {
    uint64_t actions, observations, errors, refused;
    uint64_t commands, command_ms, deltas, delta_bytes, sent, sent_bytes;
    uint64_t links, duplicates;
};

/* How an event's line begins, which is always the same way. */
struct event_look {
    uint64_t id;
    enum { LOOK_OTHER, LOOK_ACTION, LOOK_END } kind;
    struct str key;       /* ACTION: 32 digits */
    uint64_t cause;       /* END */
    struct str session;   /* as it is in JSON, which for a session's name is itself */
    struct str client_id; /* with its quotes; n 0: none */
    bool has_output;      /* END, with from and to */
    uint64_t from, to;
};

/* A line of the batch, without its newline. */
struct batch_line {
    struct str text; /* borrowed from the batch, as is what look says */
    uint64_t id;
    struct event_look look;
};

struct events {
    struct engine *en;
    struct v0 *v0;
    struct keys *keys;
    struct http_front front, files;
    struct eventlog *log;
    struct eventlog_opts opts;
    struct list links; /* struct events_link */
    struct list waits; /* who waits for an observation by HTTP */
    struct list pendings;
    unsigned npendings;
    struct list natives; /* struct native, owned */
    struct list cells;   /* struct events_cell: those that run */
    struct map places;   /* by key: a directory, owned; of the worker before */
    struct map names;    /* struct known, by name */
    struct map ends;     /* struct known without an end, by "ID" */
    struct list knowns;
    unsigned nknowns;
    bool indexed;                    /* names has what the log had when we came */
    uint64_t indexed_to;             /* events before that are looked through on need */
    struct str secrets[SECRETS_MAX]; /* owned: as they are in JSON, without quotes */
    struct str plain[SECRETS_MAX];   /* owned: the same as they are */
    unsigned nsecrets;
    size_t secret_bytes; /* of them, and one for each */
    struct buf batch;    /* lines that several links read at once */
    uint64_t batch_from, batch_next;
    struct event_cursor batch_after;
    struct batch_line *lines; /* owned: those of the batch that anybody looked at */
    unsigned nlines, lines_max;
    size_t lines_end;  /* bytes of the batch that they are */
    struct task keep;  /* what is pending is to be stored */
    struct task flows; /* a command began */
    struct events_stats stats;
    unsigned without_key; /* links whose key has not come yet */
    uint64_t starts;               /* of workers, of this server */
    uint64_t last_cause, last_end; /* the newest observation */
    bool closed;
    void (*add_metrics)(void *arg, struct buf *out); /* NULL: nobody's */
    void *metrics_arg;
};

/* ---- line.c ---- */

void events_look(struct str line, struct event_look *out);
/* Replaces secrets inside of the strings of a JSON text. The number of them. */
unsigned events_mask(const struct events *ev, struct buf *text);
/*
 * Output in pieces: how many bytes at the end of s may be the beginning of a secret that
 * goes on in the next piece. 0: none.
 */
size_t events_secret_tail(const struct events *ev, struct str s);
/* 1: it is new; 0: it was known; -1: e, see events_secret. */
int events_add_secret(struct events *ev, struct str value, struct err *e);
/* A JSON string, with its quotes, as what it says. -1: it is none. */
int events_unquote(struct str token, struct buf *out);
/* Cuts the long strings in it, so that it fits an event. */
void events_shorten(struct json *j, size_t most);

/* ---- events.c ---- */

/* Appends, masked. 0: e. */
uint64_t events_append(struct events *ev, struct buf *object, struct err *e);
/* The line of an event, with its newline. -1: it is not there, or not any more. */
int events_line(struct events *ev, uint64_t id, struct buf *out);
/* The lines from c on, shared by who reads the same. false: none now. */
bool events_batch(struct events *ev, const struct event_cursor *c);
/* The line i of those, looked at once for all links; NULL: there are no more. */
const struct batch_line *events_batch_line(struct events *ev, unsigned i);
struct pending *events_pending(struct events *ev, uint64_t id);
struct pending *events_pend(struct events *ev, uint64_t id, struct str session,
                            struct str client_id, struct known *known);
struct known *events_known(struct events *ev, char kind, struct str name);
struct known *events_know(struct events *ev, char kind, struct str name, uint64_t id);
/*
 * The observation: what its object says behind the head, "…}" without the brace that
 * opens it.
 */
void events_end(struct events *ev, struct pending *take, const struct v0_end *x);
void events_end_text(struct events *ev, struct pending *take, const char *kind,
                     const char *text);
/* extras is a JSON object; what is too long for an event is cut. */
void events_end_as(struct events *ev, struct pending *take, const char *kind,
                   struct str text, struct str extras);
void events_end_err(struct events *ev, struct pending *take, const struct err *e);

/* ---- act.c ---- */

struct events_taken {
    uint64_t id, end; /* end 0: not yet; id: it is over, without an observation */
    bool again;       /* it had been asked before */
};

/* An action of a peer. 0; or -1: e, nothing was logged and nothing runs. */
int events_act(struct events *ev, const struct json *message, struct events_taken *out,
               struct err *e);
/* Returns -1 and sets *e if it is over and its observation is not in the log. */
int events_check_end(const struct events_taken *t, struct err *e);
void events_act_again(struct events *ev, uint64_t id, bool new_server);
uint64_t events_on_begin(void *arg, const struct json *event, const char *key,
                         bool unique);
void events_on_started(void *arg, uint64_t id, const char *session, const char *command,
                       uint64_t from);
void events_on_end(void *arg, const struct v0_end *x);
void events_on_ready(void *arg);

/* ---- cell.c ---- */

/* What a run_ipython says and asks (v0.h). */
void events_on_said(void *arg, uint64_t id, struct str type, const struct json *content);
void events_on_asks(void *arg, uint64_t id, struct str prompt, bool password);
/* The action has ended: before its observation. */
void events_cell_ended(struct events *ev, uint64_t id);

/* ---- front/events/link.c ---- */

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
    uint64_t acked;
    struct list flows;
    unsigned nflows;
    struct resume resumes[RESUMES_MAX];
    unsigned nresumes;
    struct buf say;                /* lines that are sent first */
    uint64_t repeats[REPEATS_MAX]; /* then these events, in what says they are known */
    unsigned nrepeats;
    bool joined; /* flows of what runs already are there */
    bool begun, full, with_key, base64, over;
    struct timer key; /* the time for it */
    struct task pump;
    void (*on_since)(void *arg, uint64_t since, const struct err *e);
    void (*on_gone)(void *arg, int code, struct str reason);
    void *arg;
};

/* id 0: it is none of the log's. false: no room now. */
bool link_send(struct events_link *k, struct str text, uint64_t id);
void link_pump_later(struct events_link *k);
/* An event stream over HTTP: takes the request. */
struct events_link *link_open_sse(struct events *ev, struct req *take,
                                  const struct events_link_opts *o);
void link_resume(struct events_link *k, uint64_t cause, uint64_t offset);
/* Everything from since on, now. -1: e, it is an id from the future. */
int link_begin(struct events_link *k, uint64_t since, struct err *e);
int events_check_since(const struct events *ev, uint64_t since, struct err *e);
/* To all links: something cannot be had from the log. */
void links_error(struct events *ev, const struct err *e, uint64_t cause);

/* ---- front/events/flow.c ---- */

/* Output of running commands, for all links that want it. */
void flows_begin(struct events *ev);
/* The same for one link and one command whose action was just sent. */
void flow_begin(struct events_link *k, const struct pending *p);
/*
 * May the observation of a command be sent? Its output comes first. It may be asked
 * again, when the observation found no room: what was sent is remembered until flow_end.
 */
bool flow_over(struct events_link *k, const struct event_look *end);
/* The observation was sent. */
void flow_end(struct events_link *k, uint64_t cause);
/* There is room again. */
void flows_pump(struct events_link *k);
void flows_close(struct events_link *k);
/* Those that run and began before the link's first event: from here on. */
void flows_join(struct events_link *k);

/* ---- front/events/http.c ---- */

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
/* An action has its observation: whoever waited for it by HTTP is answered. */
void waits_end(struct events *ev, uint64_t cause, uint64_t end);
void waits_fail(struct events *ev, uint64_t cause, const struct err *e);
/* An error as JSON: {"error":{"code":…,"message":…}}; client_id: with quotes, or n 0. */
void events_put_error(struct buf *out, const struct err *e, struct str client_id);

#endif
