/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   front.c     the front-end: options, start and end, state at the keeper
 *   http.c      POST, GET and DELETE /mcp: which era, session, headers
 *   session.c   sessions of the legacy era
 *   link.c      the local socket, for `od mcp`
 *   stream.c    messages on their way to a client, kept until they are delivered
 *   modern.c    requests without a session, and their headers
 *   method.c    the methods and their answers
 *   table.c     the tables of methods and resources
 *   list.c      lists in pages
 *   pending.c   requests that are answered in a later turn
 *   resource.c  resources: reading, listing; file.c, kept_output.c, screen.c and
 *               events.c are their kinds
 *   complete.c  values of the arguments of their templates
 *   subscribe.c subscriptions to changes        folder.c   changes of files
 *   tell.c      log messages for clients
 *   call.c      tools/call: a running call      result.c   its answer
 *   kept.c      calls at the keeper, and in the next worker
 *   tools.c     which tools a client gets; the tools are in the room front/mcp/tools
 *   told.c      what was reported of each session's command
 *   rpc.c       messages; independent of the rest
 *
 * A request comes in by HTTP or by the local socket, and its answer goes to a stream. A
 * stream of a session outlives its connection and the worker; one without a session is
 * its connection.
 */
#ifndef OD_FRONT_MCP_OWN_H
#define OD_FRONT_MCP_OWN_H

#include "access/access.h"
#include "action/action.h"
#include "base/map.h"
#include "engine/state.h"
#include "eventlog/eventlog.h"
#include "front/front.h"
#include "front/mcp/link.h"
#include "front/mcp/rpc.h"
#include "front/mcp/tools/tool.h"

enum {
    MCP_BATCH_MAX = 100,       /* messages of a batch */
    MCP_ANSWER_BYTES = 8 << 20,
    MCP_SESSIONS_MAX = 1024,  /* above it, the one that was idle longest ends */
    MCP_CALLS_MAX = 256,      /* running, of all clients */
    MCP_RING_BYTES = 1 << 20, /* of a stream; notifications above it are dropped */
    MCP_RING_EVENTS = 512,
    MCP_LINES_KEPT = 64,       /* answers of a link that its client may have received */
    MCP_KEPT_BYTES = 16 << 20, /* at the keeper, of all calls */
    MCP_GRACE_MS = 300000,     /* how long a delivered answer is kept */
    MCP_LOST_MS = 3600000,     /* how long, if no client fetches it */
    MCP_GONE_MS = 300000,      /* od mcp reconnects sooner than that */
    MCP_IDLE_MS = 86400000,    /* a session without a request for this long ends */
    MCP_RETRY_MS = 1000,       /* time after which clients should reconnect */
    MCP_COMMENT_MS = 15000,    /* between comment lines on a quiet stream */
    MCP_PROGRESS_MS = 5000,
    MCP_SLOW_MS = 5000, /* after it, an answer without a session becomes a stream */
    MCP_ID = 32,        /* hex digits of a session's id */
    MCP_STREAM = 8,     /* of a stream's name */
    MCP_CLIENT_MAX = 64,
    MCP_TOOLS_MAX = 128,
    MCP_UNREAD_MAX = 64,     /* notifications of a session whose stream is not read */
    MCP_PAGE = 50,           /* items of a page of a list */
    MCP_SUBS_MAX = 64,       /* resources that one client subscribes to */
    MCP_SUBS_ALL_MAX = 1024, /* and all clients */
    MCP_LISTENS_MAX = 16,    /* subscriptions/listen on one local socket */
    MCP_FOLDERS_MAX = 32,    /* folders that are watched: a helper process each */
    MCP_PENDING_MAX = 64,    /* requests that wait for a helper or for output */
    MCP_CALM_MS = 1100 /* between two updates of a resource; more than the time in which
                          a helper leaves out repeated modifications */
};

struct mcp;
struct mcp_call;
struct mcp_session;

/* A client's settings: from od serve's options, the query of /mcp or od mcp's options. */
struct mcp_wish {
    bool tools[MCP_TOOLS_MAX]; /* by index in the table */
    bool structured;
    bool here;          /* the client is on this machine */
    int64_t answer;     /* bytes of text; 0: depends on the client's name */
    int64_t max_wait_s; /* 0: the same */
};

/* ---- stream.c ---- */

/* Outlives a stream that is freed before its last bytes were delivered. */
struct mcp_delivery {
    struct mcp_stream *stream; /* NULL: it was freed */
};

struct mcp_stream {
    struct list node; /* in session.streams, or in mcp.streams without a session */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    char name[MCP_STREAM + 1];
    struct list events; /* owned, the oldest first */
    size_t bytes;
    unsigned nevents, waiting; /* requests without an answer yet */
    uint64_t last, sent;       /* numbers: the newest event; the newest sent */
    struct req *req;           /* the request that reads it now; NULL: none */
    struct mcp_link
        *link;     /* borrowed: the stream is lines of the local socket; or NULL */
    uint64_t next; /* of the link: the offset of the next event */
    struct mcp_delivery *delivery;
    struct list kept; /* struct mcp_kept, owned */
    struct buf rest;  /* the event that did not fit yet */
    bool begun;       /* req is an event stream */
    bool sse;         /* its client accepts event streams */
    bool ids;         /* events have ids: they can be resumed */
    bool batch;       /* the answer is an array */
    bool standing;    /* the session's own, of GET */
    bool settled;
    int status;      /* HTTP status of a JSON answer; 0: 200 */
    int64_t over_ms; /* when the last answer was delivered; 0: not yet */
    int64_t done_ms; /* when the newest event came */
    int64_t open_ms; /* clock_ms() of the last comment line, or of the beginning */
    struct timer slow;
};

/* Makes a stream. Takes req, which may be NULL; s may be NULL. */
struct mcp_stream *mcp_stream_new(struct mcp *m, struct mcp_session *s, struct req *req);
/* Makes req read the new stream. Takes req. */
void mcp_stream_read(struct mcp_stream *t, struct req *req);
/* Queues and sends a message. answer: it answers one of the stream's requests. */
void mcp_stream_put(struct mcp_stream *t, struct str message, bool answer);
/*
 * Returns the number of the next event. mcp_stream_put_numbered adds an event with a
 * given number.
 */
uint64_t mcp_stream_number(const struct mcp_stream *t);
void mcp_stream_put_numbered(struct mcp_stream *t, struct str message, bool answer,
                             uint64_t number);
/*
 * Called when all of the client's message was handled. Sends the answers as JSON if all
 * of them are there; otherwise begins an event stream, if the client accepts one.
 */
void mcp_stream_settle(struct mcp_stream *t);
/* Sends queued events, as far as there is room. */
void mcp_stream_pump(struct mcp_stream *t);
/* Whether the notification of this number still waits to be sent. */
bool mcp_stream_waits(const struct mcp_stream *t, uint64_t number);
/* One request of the stream was cancelled and gets no answer. */
void mcp_stream_withdraw(struct mcp_stream *t);
/* Resumes the stream for a client, from the event after `since` on. Takes req. */
void mcp_stream_resume(struct mcp_stream *t, struct req *req, uint64_t since);
/* Ends the connection that reads the stream. Unsent events are kept. */
void mcp_stream_detach(struct mcp_stream *t);
void mcp_stream_free(struct mcp_stream *t);
/*
 * Called by the timer: sends comment lines, and frees events that were delivered long
 * ago.
 */
void mcp_stream_tick(struct mcp_stream *t, int64_t now);

/* ---- session.c ---- */

struct mcp_session {
    struct list node; /* in mcp.sessions */
    struct mcp *m;
    char id[MCP_ID + 1];
    char credential[65];
    enum mcp_revision revision;
    char client[MCP_CLIENT_MAX + 1];
    int level; /* lowest level of log messages that is sent; -1: none */
    struct mcp_wish wish;
    struct list streams; /* owned */
    struct mcp_stream *standing;
    bool lines;            /* it is a session of od mcp */
    struct mcp_link *link; /* owned, of lines; or NULL */
    bool resumed;          /* it comes from a previous worker */
    int64_t used_ms;
};

struct mcp_session *mcp_session_new(struct mcp *m, const char *credential);
/* The same with an id that the client chose. */
struct mcp_session *mcp_session_named(struct mcp *m, const char *credential,
                                      struct str id);
/* Ends the sessions that a key began. */
void mcp_sessions_end(struct mcp *m, const char *key);
/* Returns the session with that id and credential; NULL if there is none. */
struct mcp_session *mcp_session_find(struct mcp *m, struct str id,
                                     const char *credential);
struct mcp_session *mcp_session_by_id(const struct mcp *m, struct str id);
/* Returns the session's stream of that name; NULL if there is none. */
struct mcp_stream *mcp_session_stream(const struct mcp_session *s, struct str name);
/* The same, but makes the stream if it does not exist. */
struct mcp_stream *mcp_session_stream_made(struct mcp_session *s, struct str name);
/* Returns the stream for notifications that belong to no request. Never NULL. */
struct mcp_stream *mcp_session_own_stream(struct mcp_session *s);
/* Ends the session's calls as TOOL_LEFT, and its streams, and frees it. */
void mcp_session_free(struct mcp_session *s);
/* Stores at the keeper what the next worker needs of the session. */
void mcp_session_keep(struct mcp_session *s);
/* Restores what mcp_session_keep stored. */
void mcp_sessions_load(struct mcp *m);
/* Ends sessions that have had no request for MCP_IDLE_MS. */
void mcp_sessions_expire(struct mcp *m);

/* ---- link.c ---- */

#define MCP_LINE_STREAM "lines---" /* the name of the only stream of a link's session */

struct mcp_link {
    struct mcp *m;
    struct mcp_session *session;
    struct mcp_stream *out;
    struct buf in;              /* from in_from on: the incomplete line */
    uint64_t in_from, accepted; /* offsets of input */
    bool part_kept;             /* part of `in` is at the keeper */
    bool skips;                 /* skips the rest of a line that is too long */
    bool closed;
    int64_t lost_ms;                  /* when its connection was lost */
    const struct mcp_link_events *ev; /* NULL: no client is connected */
    void *arg;
};

struct mcp_link *mcp_link_new(struct mcp_session *s);
/* Frees the link of a session that ends. */
void mcp_link_free(struct mcp_link *l);
/* Sends a message at that offset. Returns false if there is no room now. */
bool mcp_link_send(struct mcp_link *l, uint64_t number, struct str message);
/* Restores incomplete messages. */
void mcp_links_load(struct mcp *m);

/* ---- method.c ---- */

/* A request that is being handled. */
struct mcp_ask {
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;
    enum mcp_revision revision;
    const struct mcp_wish *wish;
    const char *credential;
    char client[MCP_CLIENT_MAX + 1]; /* its name */
    const struct rpc *in;
    int status; /* HTTP status of an error, in the modern era; 0: 200 */
};

/* Answers the request, or begins the work that will answer it. */
void mcp_method(struct mcp_ask *a);
/* Takes a request of a session, whose answer goes to out. */
void mcp_take_request(struct mcp_session *s, struct mcp_stream *out,
                      const struct rpc *in);
/*
 * Checks the revision and client of a modern request. Returns false after answering it
 * with an error.
 */
bool mcp_modern_check(struct mcp_ask *a);
/* Takes one message of a session; out gets the answer. */
void mcp_take_message(struct mcp_session *s, struct mcp_stream *out,
                      const struct json *message);
/* Answers a request. Takes result. */
void mcp_result(struct mcp_ask *a, struct json *result);
void mcp_error(struct mcp_ask *a, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a text and data, which may be NULL. Takes data. */
void mcp_fail(struct mcp_ask *a, int code, struct str text, struct json *data);
/* Copies a client's name. */
void mcp_client_name(char out[MCP_CLIENT_MAX + 1], const struct json *info);

/* Adds how long the result may be cached, if the revision supports it. */
void mcp_put_cacheable(const struct mcp_ask *a, struct json *result, int64_t ttl_ms);
/*
 * Returns a level of log messages by its name, 0 (debug) to 7 (emergency); -1 if it is
 * unknown.
 */
int mcp_level(struct str name);
const char *mcp_level_name(int level);

/* ---- table.c ---- */

struct mcp_method {
    const char *name;
    void (*run)(struct mcp_ask *a);
    bool legacy, modern;
    /* The capability that a server with this method declares, and the option of it;
     * NULL: none. */
    const char *capability, *option;
};
/*
 * Returns method number i; NULL after the last. If two have one name, the first counts.
 */
const struct mcp_method *mcp_method_at(size_t i);
/* The methods of this server (method.c), and their number. */
extern const struct mcp_method mcp_methods[];
extern const size_t mcp_methods_n;

struct mcp_sub;

/* A kind of resources: those whose URIs begin with `prefix`. */
struct mcp_resource {
    const char *prefix;
    const char *pattern;      /* the URI template; NULL: it is not listed */
    const char *name, *about; /* of the template */
    const char *type;         /* mimeType of all of them; NULL: it varies */
    const char *arguments;    /* the template's variables, with blanks between */
    /* Adds the resources that are listed. NULL: none. */
    void (*list)(struct mcp *m, struct json *list);
    /* Answers with the contents of uri, now or later. */
    void (*read)(struct mcp_ask *a, struct str uri);
    /* Answers with values of the variable that begin with `value`, by
     * mcp_complete_result. NULL: no values are proposed. */
    void (*complete)(struct mcp_ask *a, struct str variable, struct str value);
    /*
     * Begins to follow changes of s->uri: calls mcp_sub_ready, now or later, and then
     * mcp_sub_changed; mcp_sub_lost when it cannot go on. Returns -1 and sets *e if it
     * cannot begin. NULL: changes are not reported.
     */
    int (*watch)(struct mcp_sub *s, struct err *e);
    /* Stops following, also before mcp_sub_ready. NULL: nothing to do. */
    void (*unwatch)(struct mcp_sub *s);
};
/* Returns kind number i; NULL after the last. */
const struct mcp_resource *mcp_resource_at(size_t i);
extern const struct mcp_resource mcp_resource_file, mcp_resource_output,
    mcp_resource_screen, mcp_resource_events;

/* ---- list.c ---- */

/*
 * Answers with a page of a list, which is the member `name` of the result. items: objects
 * in order, taken; the values of their member `key` are unique. sorted: they are in the
 * order of the bytes of key, so that a cursor stays valid when its item was removed.
 */
void mcp_page(struct mcp_ask *a, const char *name, const char *key, bool sorted,
              struct json *items, int64_t ttl_ms);

/* ---- pending.c ---- */

/* A request that is answered in a later turn, other than a tool call. */
struct mcp_pending {
    struct list node; /* in mcp.pendings */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;
    struct json *id; /* owned */
    enum mcp_revision revision;
    char *uri; /* owned: the URI of its resource; "": none */
    void *own; /* for the method's use */
    /* Called when the client no longer waits: ends what was begun, and frees own. */
    void (*stop)(struct mcp_pending *p);
};

/* Returns NULL, after answering the request with an error, if too many wait already. */
struct mcp_pending *mcp_pending_new(struct mcp_ask *a, struct str uri, void *own,
                                    void (*stop)(struct mcp_pending *p));
/* Answer the request and free p, but not p->own. Takes result. */
void mcp_pending_result(struct mcp_pending *p, struct json *result);
void mcp_pending_fail(struct mcp_pending *p, const struct err *e);
/* Stops the requests whose answers go to t. */
void mcp_pendings_stop(struct mcp *m, const struct mcp_stream *t);
/* Stops the request of this id. Returns false if there is none. */
bool mcp_pending_cancel(struct mcp *m, const struct mcp_session *s,
                        const struct json *id);

/* ---- resource.c ---- */

void mcp_read_resource(struct mcp_ask *a);
void mcp_list_resources(struct mcp_ask *a);
void mcp_list_templates(struct mcp_ask *a);
/* Returns the kind that a URI belongs to; NULL if there is none. */
const struct mcp_resource *mcp_resource_of(struct str uri);
/*
 * Makes a result of resources/read: bytes as text of that type, or as a blob if they are
 * not text. meta: taken, the contents' _meta; NULL: none. The caller owns it.
 */
struct json *mcp_contents(enum mcp_revision revision, struct str uri, const char *type,
                          struct str bytes, struct json *meta);
/* Answers with e, or with the error that the resource does not exist. */
void mcp_resource_fail(struct mcp_ask *a, struct str uri, const struct err *e);
/* Adds an item of resources/list; about and type may be NULL. */
void mcp_resource_put(struct json *list, struct str uri, struct str name,
                      const char *about, const char *type);
/* Returns the names of sessions that begin with prefix, sorted. The caller owns them. */
struct json *mcp_session_names(const struct mcp *m, struct str prefix);

/* ---- complete.c ---- */

/* completion/complete of the arguments of templates. */
void mcp_complete(struct mcp_ask *a);
/* Makes its result from the first 100 of values, an array, which it takes. total: the
 * number of values, at least; more: there may be more. The caller owns the result. */
struct json *mcp_complete_result(struct json *values, size_t total, bool more);

/* ---- subscribe.c ---- */

/*
 * A receiver of changes: a session after resources/subscribe, or a request
 * subscriptions/listen, on a connection of its own or on a local socket.
 */
struct mcp_listener {
    struct list node; /* in mcp.listeners */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;      /* its stream; NULL: that of its session */
    struct json *id;  /* owned: id of subscriptions/listen; NULL: it is not one */
    struct list subs; /* owned */
    unsigned nsubs;
    bool opening;      /* of subscriptions/listen: more may be added to subs */
    bool acknowledged; /* of subscriptions/listen: its first message was sent */
};

/* One resource that a listener subscribes to. */
struct mcp_sub {
    struct list node; /* in listener.subs */
    struct mcp_listener *listener;
    const struct mcp_resource *kind;
    char *uri;     /* owned */
    bool ready;    /* changes are followed */
    bool dirty;    /* it changed since the last update */
    uint64_t told; /* the number of that update */
    struct timer calm;
    struct mcp_pending *asker; /* resources/subscribe that waits for ready; or NULL */
    struct list near;          /* of a file: in folder.subs */
    struct mcp_folder *folder;
    char *name; /* owned: its name there */
};

void mcp_subscribe(struct mcp_ask *a);
void mcp_unsubscribe(struct mcp_ask *a);
void mcp_listen(struct mcp_ask *a);
void mcp_sub_ready(struct mcp_sub *s);
/*
 * Reports a change. again: it may go on changing without a report for up to MCP_CALM_MS.
 */
void mcp_sub_changed(struct mcp_sub *s, bool again);
/* Ends and frees a subscription that cannot go on. */
void mcp_sub_lost(struct mcp_sub *s, const struct err *e);
/* Reports that all resources of a kind changed. */
void mcp_subs_changed(struct mcp *m, const struct mcp_resource *kind);
/* Sends updates that waited for a reader of the session's stream. */
void mcp_listeners_read(struct mcp *m, const struct mcp_session *s);
/*
 * Stops the listeners of a session, of a stream, or of a session's request. Arguments
 * that do not apply are NULL.
 */
void mcp_listeners_stop(struct mcp *m, const struct mcp_session *s,
                        const struct mcp_stream *t, const struct json *id);
/* Called when this worker ends: answers subscriptions/listen, except on a local socket
 * that the next worker, if there is one (`another`), continues. */
void mcp_listeners_end(struct mcp *m, bool another);
/*
 * Store what the next worker needs of a session's listeners as members of j, and restore
 * it.
 */
void mcp_listeners_keep(const struct mcp_session *s, struct json *j);
void mcp_listeners_load(struct mcp_session *s, const struct json *j);
/* Starts the listeners that mcp_listeners_load made. Changes in between may be missed. */
void mcp_listeners_start(struct mcp *m);

/* ---- folder.c ---- */

/*
 * Follows changes of the entry `name` of a folder for s. Returns -1 and sets *e if no
 * more folders can be watched.
 */
int mcp_folder_add(struct mcp_sub *s, const char *path, struct str name, struct err *e);
void mcp_folder_leave(struct mcp_sub *s);
/*
 * Appends the path of a file:// URI, up to the buffer's maximum. Returns -1 and sets *e
 * if the URI has none.
 */
int mcp_file_path(struct str uri, struct buf *path, struct err *e);

/* ---- tell.c ---- */

enum { /* levels of log messages that this server has */
       MCP_INFO = 1,
       MCP_WARNING = 3,
       MCP_ERROR = 4
};

/* Sends a log message to one session, if it wants that level; s NULL: to all. */
void mcp_tell(struct mcp *m, struct mcp_session *s, int level, const char *logger,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same on the stream of a call, for a client that follows only this stream. */
void mcp_call_tell(struct mcp_call *k, int level, const char *logger, struct str text);
/* Sends the log message about an observation, if any, on the stream of a modern call. */
void mcp_call_observed(struct mcp_call *k, const struct json *event);
/* Follows the log of events from here on. */
void mcp_tell_start(struct mcp *m);
void mcp_tell_stop(struct mcp *m);

/* ---- modern.c ---- */

/* Handles a request of the modern era over HTTP. Takes r. */
void mcp_ask_modern(struct mcp *m, struct req *r, const struct rpc *in,
                    const struct mcp_wish *wish, const char *credential, bool sse);

/* ---- call.c ---- */

struct mcp_call {
    struct tool_call c;
    struct list node; /* in mcp.calls */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;
    struct json *id, *token; /* owned; token NULL: the client wants no progress */
    enum mcp_revision revision;
    int level; /* lowest level of log messages on its stream; -1: none */
    bool structured, over;
    bool waits;   /* for the end of a step */
    bool stepped; /* the step has ended; or could not begin, and err has the reason */
    uint64_t end; /* the event with the observation; 0: err has the reason */
    struct err err;
    tool_observed *fn;
    struct task step;
    struct timer progress;
    int64_t told_ms; /* clock_ms() of the last progress */
    double told;
    struct mcp_kept *kept; /* its entry at the keeper; NULL: none */
};

/* tools/call. */
void mcp_call_begin(struct mcp_ask *a);
/* Starts a call that mcp_calls_load made. */
void mcp_call_start(struct mcp_call *k);
/* Returns the call of that request; NULL if there is none. */
struct mcp_call *mcp_call_find(struct mcp *m, const struct mcp_session *s,
                               const struct json *id);
void mcp_call_stop(struct mcp_call *k, enum tool_stop why);
/* Stops all calls whose answers go to t, or that belong to s; either may be NULL. */
void mcp_calls_stop(struct mcp *m, const struct mcp_session *s,
                    const struct mcp_stream *t, enum tool_stop why);
/* Called when an action ended, as in struct action_watch. */
void mcp_calls_ended(struct mcp *m, uint64_t cause, uint64_t end, const struct err *e);
struct mcp_call *mcp_call_new(struct mcp *m, struct mcp_session *s,
                              struct mcp_stream *out);

/* ---- kept.c ---- */

/* A call of a stream, or its answer, at the keeper. */
struct mcp_kept {
    struct list node; /* in stream.kept */
    char key[ACTION_KEY + 1];
    uint64_t number; /* of the event with the answer; 0: the call is running */
    struct json *id; /* owned: the request's */
    size_t bytes;
};

void mcp_call_keep(struct mcp_call *k);
/* Replaces the call by its answer. */
void mcp_answer_keep(struct mcp_call *k, uint64_t number, struct str answer);
/* Whether this request of the stream was accepted before. */
bool mcp_kept_has(const struct mcp_stream *t, const struct json *id);
/* NULL is fine. */
void mcp_kept_free(struct mcp *m, struct mcp_kept *p);
/* Drops all entries of a stream. */
void mcp_kept_drop(struct mcp *m, struct mcp_stream *t);
/* Drops the entry whose answer has this number. */
void mcp_kept_drop_answer(struct mcp *m, struct mcp_stream *t, uint64_t number);
/* Restores what mcp_call_keep or mcp_answer_keep stored; mcp_call_start follows. */
void mcp_calls_load(struct mcp *m);

/* ---- result.c ---- */

/* Appends the answer of a call. Takes r->object. */
void mcp_put_tool_result(struct buf *out, const struct mcp_call *k,
                         struct tool_result *r);
/* Adds the members that every result of the modern era has. */
void mcp_put_modern(const struct mcp *m, struct json *result);

/* ---- tools.c ---- */

/*
 * Sets the tools from a list of names and sets, separated by commas. Returns 0; -1 and
 * sets *e.
 */
int mcp_wish_tools(struct mcp_wish *w, struct str list, struct err *e);
/* Returns the tool of that name among those of the wish; NULL if there is none. */
const struct tool *mcp_tool(const struct mcp_wish *w, struct str name);
/* Returns the result of tools/list. The caller owns it. */
struct json *mcp_tools_list(const struct mcp_wish *w);

/* ---- front.c ---- */

struct mcp {
    struct engine *en;
    struct actions *actions;
    struct fronts *fronts;
    struct http_front front;
    struct action_watch watch;
    struct access_watch keys;
    struct list sessions, streams, calls, pendings, listeners, folders;
    struct map by_id; /* sessions */
    struct map tolds; /* by a shell's session: struct told, owned */
    unsigned nsessions, ncalls, npendings, nsubs, nfolders;
    struct event_sub log_sub;
    struct event_cursor log_at; /* log messages were made up to here */
    struct task log_step;
    size_t kept; /* bytes at the keeper */
    struct mcp_wish wish;
    struct timer tick;
    bool closed;
    uint64_t served; /* requests */
};

#define MCP_SERVER "od-computer" /* serverInfo.name; "od" is another product's name */

extern const struct http_front mcp_bare_front;
const char *mcp_version(const struct mcp *m);
/* Starts the timer of streams and sessions, which runs while there are any. */
void mcp_tick(struct mcp *m);

#endif
