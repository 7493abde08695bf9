/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   front.c     the front-end: options, life, what the keeper has
 *   http.c      POST, GET and DELETE /mcp: which era, session, headers
 *   session.c   sessions of the legacy era
 *   link.c      the local socket, for `od mcp`
 *   stream.c    messages on their way to a client, kept until they are delivered
 *   modern.c    requests without a session, and their headers
 *   method.c    what a request asks for, and the answer
 *   table.c     which methods and resources there are
 *   list.c      lists in pages
 *   pending.c   requests that are answered in a later turn
 *   resource.c  resources: reading, listing     file.c, kept_output.c, screen.c,
 *   events.c    the kinds of them
 *   complete.c  values of the arguments of their templates
 *   subscribe.c who is told of changes          folder.c   changes of files
 *   tell.c      log messages for clients
 *   call.c      tools/call: one tool at work    result.c  its answer
 *   kept.c      calls at the keeper, and in the next worker
 *   tools.c     which tools a client gets; they are the room front/mcp/tools
 *   told.c      what was told of each session's command
 *   rpc.c       messages; it knows nothing of the rest
 *
 * A request comes in by HTTP or by the local socket, and its answer goes to a stream. A
 * stream of a session outlives its connection and the worker; one without a session is
 * its connection.
 */
#ifndef OD_FRONT_MCP_OWN_H
#define OD_FRONT_MCP_OWN_H

#include "action/action.h"
#include "base/map.h"
#include "eventlog/eventlog.h"
#include "front/front.h"
#include "front/mcp/link.h"
#include "front/mcp/rpc.h"
#include "front/mcp/tools/tool.h"

enum {
    MCP_MESSAGE_MAX = 4 << 20, /* bytes of one from a client */
    MCP_BATCH_MAX = 100,       /* messages of a batch */
    MCP_ANSWER_BYTES = 8 << 20,
    MCP_SESSIONS_MAX = 1024,  /* more: the one that was idle longest goes */
    MCP_CALLS_MAX = 256,      /* at work, of all clients */
    MCP_RING_BYTES = 1 << 20, /* of a stream; notifications go, answers stay */
    MCP_RING_EVENTS = 512,
    MCP_LINES_KEPT = 64,       /* answers of a link that its client may have had */
    MCP_KEPT_BYTES = 16 << 20, /* at the keeper, of all calls */
    MCP_GRACE_MS = 300000,     /* how long a delivered answer is kept */
    MCP_LOST_MS = 3600000,     /* and one that nobody fetches */
    MCP_GONE_MS = 300000,      /* od mcp that lost its connection comes back sooner */
    MCP_IDLE_MS = 86400000,    /* a session without a request for so long ends */
    MCP_RETRY_MS = 1000,       /* a client shall reconnect after */
    MCP_COMMENT_MS = 15000,    /* comment lines on quiet streams */
    MCP_PROGRESS_MS = 5000,
    MCP_SLOW_MS = 5000, /* an answer without a session is a stream after that */
    MCP_ID = 32,        /* hex digits of a session's id */
    MCP_STREAM = 8,     /* of a stream's name */
    MCP_CLIENT_MAX = 64,
    MCP_TOOLS_MAX = 128,
    MCP_UNREAD_MAX = 64,     /* notifications of a session whose stream nobody reads */
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

/* What a client gets: by od serve's options, the query of /mcp or od mcp's options. */
struct mcp_wish {
    bool tools[MCP_TOOLS_MAX]; /* by place in the table */
    bool structured;
    bool here;          /* the client is on this machine */
    int64_t answer;     /* bytes of text; 0: by the client's name */
    int64_t max_wait_s; /* 0: the same */
};

/* ---- stream.c ---- */

/* Outlives a stream that is freed before its last bytes arrived. */
struct mcp_delivery {
    struct mcp_stream *stream; /* NULL: it was freed */
};

struct mcp_stream {
    struct list node; /* in session.streams, or mcp.streams of those without one */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    char name[MCP_STREAM + 1];
    struct list events; /* owned, the oldest first */
    size_t bytes;
    unsigned nevents, waiting; /* requests without an answer yet */
    uint64_t last, sent;       /* numbers: the newest event; the newest sent */
    struct req *req;           /* who reads it now; NULL: nobody */
    struct mcp_link *link;     /* borrowed: it is lines of the local socket; or NULL */
    uint64_t next;             /* of it: the offset of the next event */
    struct mcp_delivery *delivery;
    struct list kept; /* struct mcp_kept, owned */
    struct buf rest;  /* the event that has no room yet */
    bool begun;       /* req is an event stream */
    bool sse;         /* its client takes event streams */
    bool ids;         /* events have ids: they can be resumed */
    bool batch;       /* the answer is an array */
    bool standing;    /* the session's own, of GET */
    bool settled;
    int status;      /* of HTTP, as JSON; 0: 200 */
    int64_t over_ms; /* when the last answer was delivered; 0: not yet */
    int64_t done_ms; /* when the newest event came */
    int64_t open_ms; /* of clock_ms: the last comment line, or the beginning */
    struct timer slow;
};

/* A new one. Takes req, which may be NULL; s may be NULL. */
struct mcp_stream *mcp_stream_new(struct mcp *m, struct mcp_session *s, struct req *req);
/* A request reads a new stream from here on. Takes it. */
void mcp_stream_read(struct mcp_stream *t, struct req *req);
/* Queues and sends a message. answer: it is the answer of one of its requests. */
void mcp_stream_put(struct mcp_stream *t, struct str message, bool answer);
/* The number that an event gets now; and an event that has its number. */
uint64_t mcp_stream_number(const struct mcp_stream *t);
void mcp_stream_put_numbered(struct mcp_stream *t, struct str message, bool answer,
                             uint64_t number);
/*
 * All of the client's message was looked at: what has all its answers is answered as
 * JSON, else an event stream begins, if its client can follow one.
 */
void mcp_stream_settle(struct mcp_stream *t);
/* Sends what there is, as far as there is room. */
void mcp_stream_pump(struct mcp_stream *t);
/* Does the notification of this number still wait to be sent? */
bool mcp_stream_waits(const struct mcp_stream *t, uint64_t number);
/* One request of it gets no answer: it was cancelled. */
void mcp_stream_withdraw(struct mcp_stream *t);
/* A client follows it again, from the event after `since`. Takes req. */
void mcp_stream_resume(struct mcp_stream *t, struct req *req, uint64_t since);
/* Ends the connection that reads it; what was not sent is kept. */
void mcp_stream_detach(struct mcp_stream *t);
void mcp_stream_free(struct mcp_stream *t);
/* Comment lines, and what was delivered long ago. Called now and then. */
void mcp_stream_tick(struct mcp_stream *t, int64_t now);

/* ---- session.c ---- */

struct mcp_session {
    struct list node; /* in mcp.sessions */
    struct mcp *m;
    char id[MCP_ID + 1];
    char credential[65];
    enum mcp_revision revision;
    char client[MCP_CLIENT_MAX + 1];
    int level; /* of logging: the least that is sent; -1: none */
    struct mcp_wish wish;
    struct list streams; /* owned */
    struct mcp_stream *standing;
    bool lines;            /* it is of od mcp */
    struct mcp_link *link; /* owned, of lines; or NULL */
    bool again;            /* a worker before had it */
    int64_t used_ms;
};

struct mcp_session *mcp_session_new(struct mcp *m, const char *credential);
/* The same with an id that its client gave. */
struct mcp_session *mcp_session_named(struct mcp *m, const char *credential,
                                      struct str id);
/* NULL: there is none of that id and credential. */
struct mcp_session *mcp_session_find(struct mcp *m, struct str id,
                                     const char *credential);
struct mcp_session *mcp_session_by_id(const struct mcp *m, struct str id);
/* NULL: it has none of that name. */
struct mcp_stream *mcp_session_stream(const struct mcp_session *s, struct str name);
/* The same, made if it is not there. */
struct mcp_stream *mcp_session_stream_made(struct mcp_session *s, struct str name);
/* Where notifications that belong to no request go: never NULL. */
struct mcp_stream *mcp_session_own_stream(struct mcp_session *s);
/* Its calls end as TOOL_LEFT, its streams too. */
void mcp_session_free(struct mcp_session *s);
/* What the next worker has to know of it. */
void mcp_session_keep(struct mcp_session *s);
/* Takes up what mcp_session_keep stored. */
void mcp_session_load(struct mcp *m, struct str id, struct str state);
/* Those of which nobody has heard for long. */
void mcp_sessions_expire(struct mcp *m);

/* ---- link.c ---- */

#define MCP_LINE_STREAM "lines---" /* the name of the one stream of a link's session */

struct mcp_link {
    struct mcp *m;
    struct mcp_session *session;
    struct mcp_stream *out;
    struct buf in;              /* from in_from on: what is not a whole line yet */
    uint64_t in_from, accepted; /* offsets of input */
    bool part_kept;             /* some of `in` is at the keeper */
    bool skips;                 /* the rest of a line that is too long */
    bool closed;
    int64_t lost_ms;                  /* when its connection went */
    const struct mcp_link_events *ev; /* NULL: nobody is connected */
    void *arg;
};

struct mcp_link *mcp_link_new(struct mcp_session *s);
/* With its session. */
void mcp_link_free(struct mcp_link *l);
/* Sends a message at that offset. false: not now. */
bool mcp_link_send(struct mcp_link *l, uint64_t number, struct str message);
/* Takes up a message that was not whole. */
void mcp_link_load(struct mcp *m, struct str id, struct str state);
/* Reads {"tools", "structured", "here", "answer_bytes", "max_wait"}. 0; -1 and *e. */
int mcp_wish_read(struct mcp_wish *w, const struct json *q, struct err *e);

/* ---- method.c ---- */

/* One request being dealt with. */
struct mcp_ask {
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;
    enum mcp_revision revision;
    const struct mcp_wish *wish;
    const char *credential;
    char client[MCP_CLIENT_MAX + 1]; /* its name */
    const struct rpc *in;
    int status; /* of HTTP for an error, of the modern era; 0: 200 */
};

/* Answers the request, or begins what does. */
void mcp_method(struct mcp_ask *a);
/* A request of a session, whose answer goes to out. */
void mcp_take_request(struct mcp_session *s, struct mcp_stream *out,
                      const struct rpc *in);
/* Is the modern request one of a revision and client that can be answered? Else it is. */
bool mcp_modern_check(struct mcp_ask *a);
/* One message of a session; out gets the answer. */
void mcp_take_message(struct mcp_session *s, struct mcp_stream *out,
                      const struct json *message);
/* A notification of a session; one of modern HTTP has no effect. */
void mcp_notified(struct mcp *m, struct mcp_session *s, const struct rpc *in);
/* The answer. Takes result. */
void mcp_result(struct mcp_ask *a, struct json *result);
void mcp_error(struct mcp_ask *a, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with its text and data, which may be NULL. Takes data. */
void mcp_fail(struct mcp_ask *a, int code, struct str text, struct json *data);
/* initialize: the session's revision, client and wish. */
void mcp_session_begin(struct mcp_session *s, const struct rpc *in);
/* Copies a client's name. */
void mcp_client_name(char out[MCP_CLIENT_MAX + 1], const struct json *info);

/* Adds how long the result may be cached, if the revision has that. */
void mcp_put_cacheable(const struct mcp_ask *a, struct json *result, int64_t ttl_ms);
/* A level of log messages, 0 (debug) to 7 (emergency), by its name. -1: there is none. */
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
/* Number i of the methods; NULL: there are no more. Of one name the first counts. */
const struct mcp_method *mcp_method_at(size_t i);
/* Those of this server (method.c), and how many. */
extern const struct mcp_method mcp_methods[];
extern const size_t mcp_methods_n;

struct mcp_sub;

/* A kind of resources: those whose URIs begin with `prefix`. */
struct mcp_resource {
    const char *prefix;
    const char *pattern;      /* the URI template; NULL: none is told */
    const char *name, *about; /* of the template */
    const char *type;         /* mimeType of all of them; NULL: it varies */
    const char *arguments;    /* the template's variables, with blanks between */
    /* Adds those that are listed. NULL: none. */
    void (*list)(struct mcp *m, struct json *list);
    /* Answers with the contents of uri, now or later. */
    void (*read)(struct mcp_ask *a, struct str uri);
    /* Answers with values of the variable that begin with `value`: mcp_complete_result.
     * NULL: there are none to propose. */
    void (*complete)(struct mcp_ask *a, struct str variable, struct str value);
    /*
     * Begins to follow changes of s->uri: calls mcp_sub_ready, now or later, and then
     * mcp_sub_changed; mcp_sub_lost when it cannot go on. Returns -1 and sets *e if it
     * cannot begin. NULL: changes are not told.
     */
    int (*watch)(struct mcp_sub *s, struct err *e);
    /* Ends that, also of one that is not ready. NULL: nothing to do. */
    void (*unwatch)(struct mcp_sub *s);
};
/* Number i of the kinds; NULL: there are no more. */
const struct mcp_resource *mcp_resource_at(size_t i);
extern const struct mcp_resource mcp_resource_file, mcp_resource_output,
    mcp_resource_screen, mcp_resource_events;

/* ---- list.c ---- */

/*
 * Answers with a page of a list, which is the member `name` of the result. items: objects
 * in order, taken; their member `key` is unlike all others'. sorted: they are in the
 * order of the bytes of key, so that a cursor holds when its item has gone.
 */
void mcp_page(struct mcp_ask *a, const char *name, const char *key, bool sorted,
              struct json *items, int64_t ttl_ms);

/* ---- pending.c ---- */

/* A request whose answer comes in a later turn, and which is no call of a tool. */
struct mcp_pending {
    struct list node; /* in mcp.pendings */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;
    struct json *id; /* owned */
    enum mcp_revision revision;
    char *uri; /* owned: the resource that it is about; "": none */
    void *own; /* the method's */
    /* Nobody waits any more: ends what was begun, and frees own. */
    void (*stop)(struct mcp_pending *p);
};

/* NULL: too many wait already, and the request is answered with that. */
struct mcp_pending *mcp_pending_new(struct mcp_ask *a, struct str uri, void *own,
                                    void (*stop)(struct mcp_pending *p));
/* Its answers; p is freed, own is not. Takes result. */
void mcp_pending_result(struct mcp_pending *p, struct json *result);
void mcp_pending_fail(struct mcp_pending *p, const struct err *e);
/* Frees it without an answer. */
void mcp_pending_free(struct mcp_pending *p);
/* Stops those whose answers go to t. */
void mcp_pendings_stop(struct mcp *m, const struct mcp_stream *t);
/* Stops the request of this id. Returns false if there is none. */
bool mcp_pending_cancel(struct mcp *m, const struct mcp_session *s,
                        const struct json *id);

/* ---- resource.c ---- */

void mcp_read_resource(struct mcp_ask *a);
void mcp_list_resources(struct mcp_ask *a);
void mcp_list_templates(struct mcp_ask *a);
/* The kind that a URI belongs to; NULL: none. */
const struct mcp_resource *mcp_resource_of(struct str uri);
/*
 * A result of resources/read: bytes as text of that type, or as a blob if they are none.
 * meta: taken, the contents' _meta; NULL: none. The caller's.
 */
struct json *mcp_contents(enum mcp_revision revision, struct str uri, const char *type,
                          struct str bytes, struct json *meta);
/* Answers with an error about a resource: that it is not there, or e. */
void mcp_resource_fail(struct mcp_ask *a, struct str uri, const struct err *e);
/* Adds an item of resources/list; about and type may be NULL. */
void mcp_resource_put(struct json *list, struct str uri, struct str name,
                      const char *about, const char *type);
/* Names of sessions that begin with prefix, sorted; the caller's. */
struct json *mcp_session_names(const struct mcp *m, struct str prefix);

/* ---- complete.c ---- */

/* completion/complete of the arguments of templates. */
void mcp_complete(struct mcp_ask *a);
/* A result of it: the first 100 of values, an array, taken. total: how many there are, at
 * least; more: it may be more than that. The caller's. */
struct json *mcp_complete_result(struct json *values, size_t total, bool more);

/* ---- subscribe.c ---- */

/*
 * Who is told of changes: a session by resources/subscribe, or a request
 * subscriptions/listen, on a connection of its own or on a local socket.
 */
struct mcp_listener {
    struct list node; /* in mcp.listeners */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;      /* its connection; NULL: as its session has it */
    struct json *id;             /* owned: of subscriptions/listen; NULL: not that */
    struct list subs;            /* owned */
    unsigned nsubs;
    bool opening;      /* of subscriptions/listen: more may be added to subs */
    bool acknowledged; /* of that: its first message was sent */
};

/* One resource that a listener subscribes to. */
struct mcp_sub {
    struct list node; /* in listener.subs */
    struct mcp_listener *listener;
    const struct mcp_resource *kind;
    char *uri;     /* owned */
    bool ready;    /* changes are followed */
    bool dirty;    /* it changed since the last update */
    uint64_t told; /* the number of that */
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
/* again: it may go on changing without a word for up to MCP_CALM_MS. */
void mcp_sub_changed(struct mcp_sub *s, bool again);
/* Ends and frees it. */
void mcp_sub_lost(struct mcp_sub *s, const struct err *e);
/* All of a kind changed. */
void mcp_subs_changed(struct mcp *m, const struct mcp_resource *kind);
/* Somebody reads the session's stream: updates that waited for that go out. */
void mcp_listeners_read(struct mcp *m, const struct mcp_session *s);
/* Those of a session, a stream, or a session and a request; others are NULL. */
void mcp_listeners_stop(struct mcp *m, const struct mcp_session *s,
                        const struct mcp_stream *t, const struct json *id);
/* This worker ends: subscriptions/listen is answered, except on a local socket that the
 * next worker, if there is another, goes on with. */
void mcp_listeners_end(struct mcp *m, bool another);
/* What the next worker has to know of a session's, as members of j; and back. */
void mcp_listeners_keep(const struct mcp_session *s, struct json *j);
void mcp_listeners_load(struct mcp_session *s, const struct json *j);
/* Follows what mcp_listeners_load made; what changed meanwhile is not known. */
void mcp_listeners_start(struct mcp *m);

/* ---- folder.c ---- */

/*
 * Follows changes of the entry `name` of a folder for s. Returns -1 and sets *e if no
 * more folders can be watched.
 */
int mcp_folder_add(struct mcp_sub *s, const char *path, struct str name, struct err *e);
void mcp_folder_leave(struct mcp_sub *s);
/*
 * The path of a file:// URI, which has at most that many bytes. Returns -1 and sets *e if
 * the URI has none.
 */
int mcp_file_path(struct str uri, struct buf *path, struct err *e);
/*
 * The real path of a folder, below the working directory or that itself. Returns -1 and
 * sets *e: DENIED, it is elsewhere, NOTFOUND.
 */
int mcp_folder_real(const struct mcp *m, const char *path, char out[4096], struct err *e);

/* ---- tell.c ---- */

enum { /* levels of log messages that this server has */
       MCP_INFO = 1,
       MCP_WARNING = 3,
       MCP_ERROR = 4
};

/* Sends a log message to one session, if it wants that level; s NULL: to all. */
void mcp_tell(struct mcp *m, struct mcp_session *s, int level, const char *logger,
              const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same on the stream of a call, for who follows just that. */
void mcp_call_tell(struct mcp_call *k, int level, const char *logger, struct str text);
/* Tells on the stream of a modern call what an observation says that is worth it. */
void mcp_call_observed(struct mcp_call *k, const struct json *event);
/* Follows the log of events from here on. */
void mcp_tell_start(struct mcp *m);
void mcp_tell_stop(struct mcp *m);

/* ---- modern.c ---- */

/* A request of the modern era by HTTP. Takes r. */
void mcp_ask_modern(struct mcp *m, struct req *r, const struct rpc *in,
                    const struct mcp_wish *wish, const char *credential, bool sse);

/* ---- call.c ---- */

struct mcp_call {
    struct tool_call c;
    struct list node; /* in mcp.calls */
    struct mcp *m;
    struct mcp_session *session; /* NULL: none */
    struct mcp_stream *out;
    struct json *id, *token; /* owned; token NULL: no progress is wanted */
    enum mcp_revision revision;
    int level; /* of log messages on its stream: the least that is sent; -1: none */
    bool structured, over;
    bool waits;   /* for the end of a step */
    bool stepped; /* it ended, or could not begin: err */
    uint64_t end; /* the event with the observation; 0: err says why there is none */
    struct err err;
    tool_observed *fn;
    struct task step;
    struct timer progress;
    int64_t told_ms; /* the last progress, of clock_ms */
    double told;
    struct mcp_kept *kept; /* at the keeper; NULL: not */
};

/* tools/call. */
void mcp_call_begin(struct mcp_ask *a);
/* Starts one that mcp_call_load made. */
void mcp_call_start(struct mcp_call *k);
/* The call of that request; NULL: none. */
struct mcp_call *mcp_call_find(struct mcp *m, const struct mcp_session *s,
                               const struct json *id);
void mcp_call_stop(struct mcp_call *k, enum tool_stop why);
/* All calls whose answers go to t, or that belong to s; either may be NULL. */
void mcp_calls_stop(struct mcp *m, const struct mcp_session *s,
                    const struct mcp_stream *t, enum tool_stop why);
/* An action ended, as in struct action_watch. */
void mcp_calls_ended(struct mcp *m, uint64_t cause, uint64_t end, const struct err *e);
/* Frees it, at the end of the turn; nothing of it is called any more. */
void mcp_call_free(struct mcp_call *k);
struct mcp_call *mcp_call_new(struct mcp *m, struct mcp_session *s,
                              struct mcp_stream *out);

/* ---- kept.c ---- */

/* A call of a stream, or its answer, at the keeper. */
struct mcp_kept {
    struct list node; /* in stream.kept */
    char key[ACTION_KEY + 1];
    uint64_t number; /* of the event with the answer; 0: it is at work */
    struct json *id; /* owned: the request's */
    size_t bytes;
};

void mcp_call_keep(struct mcp_call *k);
/* Its answer takes its place. */
void mcp_answer_keep(struct mcp_call *k, uint64_t number, struct str answer);
/* Was this request of the stream taken already? */
bool mcp_kept_has(const struct mcp_stream *t, const struct json *id);
/* NULL is fine. */
void mcp_kept_free(struct mcp *m, struct mcp_kept *p);
/* All of a stream. */
void mcp_kept_drop(struct mcp *m, struct mcp_stream *t);
/* That with the answer of this number. */
void mcp_kept_drop_answer(struct mcp *m, struct mcp_stream *t, uint64_t number);
/* What mcp_call_keep or mcp_answer_keep stored; mcp_call_start follows. */
void mcp_call_load(struct mcp *m, struct str key, struct str state);

/* ---- result.c ---- */

/* Appends the answer of a call. Takes r->object. */
void mcp_put_tool_result(struct buf *out, const struct mcp_call *k,
                         struct tool_result *r);
/* What every result of the modern era has. */
void mcp_put_modern(const struct mcp *m, struct json *result);

/* ---- tools.c ---- */

/* Sets the tools of a list of names and sets with commas. Returns 0; -1 and sets *e. */
int mcp_wish_tools(struct mcp_wish *w, struct str list, struct err *e);
/* The tool of that name among those wished for; NULL: none. */
const struct tool *mcp_tool(const struct mcp_wish *w, struct str name);
/* The result of tools/list, the caller's. */
struct json *mcp_tools_list(const struct mcp_wish *w);

/* ---- front.c ---- */

struct mcp {
    struct engine *en;
    struct actions *actions;
    struct fronts *fronts;
    struct http_front front;
    struct action_watch watch;
    struct list sessions, streams, calls, pendings, listeners, folders;
    struct map by_id; /* sessions */
    struct map tolds; /* by a shell's session: struct told, owned */
    unsigned nsessions, ncalls, npendings, nsubs, nfolders;
    struct event_sub log_sub;
    struct event_cursor log_at; /* what log messages were made from */
    struct task log_step;
    size_t kept; /* bytes at the keeper */
    struct mcp_wish wish;
    struct timer tick;
    bool closed;
    uint64_t served; /* requests */
};

#define MCP_SERVER "od-computer" /* serverInfo.name: "od" is another product's */

extern const struct http_front mcp_bare_front;
const char *mcp_version(const struct mcp *m);
/* The timer of streams and sessions runs while there are some. */
void mcp_tick(struct mcp *m);

#endif
