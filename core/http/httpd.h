/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/1.1 server: connections, routing, bodies, answers.
 *
 *   accept ─▶ HEAD ─▶ [BODY] ─▶ handler ─▶ answer ─▶ HEAD … (keep-alive)
 *               ▲                             │
 *               └─────────────────────────────┴─▶ LINGER ─▶ closed
 *
 * It knows no front-end: routes are tables of functions, and errors that are found here
 * are answered by a function of the front. A connection answers its requests one after
 * the other; meanwhile, bytes that the peer sends ahead stay in a bounded buffer. A
 * waiting connection takes a few hundred bytes.
 *
 * A request belongs to its handler from `run` (or `body`) until req_answer, req_end or
 * req_abort, or until `gone` was called; after that the pointer is invalid.
 */
#ifndef OD_HTTP_HTTPD_H
#define OD_HTTP_HTTPD_H

#include "http/http.h"
#include "io/stream.h"

#include <sys/types.h>

struct addr;
struct httpd;
struct member; /* base/member.h */
struct param;  /* base/param.h */
struct req;

enum {
    HTTP_GET = 1, /* HEAD too */
    HTTP_POST = 2,
    HTTP_PUT = 4,
    HTTP_DELETE = 8,
    HTTP_PATCH = 16,
    HTTP_OPTIONS = 32 /* for routes that answer OPTIONS themselves */
};

/* What a client may do: each right includes those before it. */
enum right {
    RIGHT_NONE,  /* only what is open */
    RIGHT_VIEW,  /* follow what happens */
    RIGHT_SETUP, /* give a new server its keys */
    RIGHT_USE    /* everything */
};

/* An answer of a route, as data for GET /openapi.json. Borrowed forever. */
struct route_answer {
    int status;         /* 0 ends a list */
    const char *type;   /* media type; NULL: JSON; "": there is no body */
    const char *about;  /* when it is sent, a sentence without its period; NULL: "Done" */
    const char *schema; /* name of the body's schema there; NULL: see value */
    const struct member *value; /* the members of the body; NULL: any value */
};

struct route {
    unsigned methods;
    const char *path; /* "/x/{id}": one segment; a last segment of "*": the rest */
    /* Called when the body (req_body) is complete, at most body_max bytes. */
    void (*run)(struct req *r);
    size_t body_max;
    /* Instead of run: called after the head; it takes the body by req_on_body. */
    void (*body)(struct req *r);
    /* The right that a request needs; the allow function judges it (access/access.h). */
    enum right right; /* not set: RIGHT_USE */
    unsigned marks;   /* which proofs count here: ROUTE_… of access/door.h */
    /* For people and GET /openapi.json: what it does, a sentence without its period. */
    const char *about;
    const struct param *query; /* of the query, or of {NAME} in path; NULL: none */
    const char *takes, *gives; /* media types of body and answer; NULL: JSON */
    const char *schema;        /* name of the body's schema there; NULL: any object */
    const struct route_answer *answers; /* other than errors; NULL: 200 with gives */
};

/* One front-end: its routes, and how it answers errors. */
struct http_front {
    const struct route *routes;
    size_t nroutes;
    /* Answers an error of this server: 400, 404, 405, 408, 413, 431, 500 … */
    void (*fail)(struct req *r, int status, const char *text);
    void *arg; /* req_arg */
    /* Without a valid key fail gets 401, and names the scheme (RFC 6750 3). Otherwise the
     * status is 403; at native listeners it is in the words of V0. */
    bool challenge;
    /* For GET /openapi.json: the name of the schema of fail's answer; NULL: "Error". */
    const char *error;
};

struct httpd_config {
    const struct http_front *const *fronts; /* searched in this order */
    size_t nfronts;
    /* Called before anything else is done. Returns false after it has answered. May be
     * NULL. */
    bool (*allow)(struct req *r, void *arg);
    /* r became the stream to, by req_upgrade. May be NULL. */
    void (*upgraded)(struct req *r, struct stream *to, void *arg);
    /* The number of connections changed by 1 or -1. May be NULL. */
    void (*count)(void *arg, int change);
    void *arg;
    /* "/box/17": removed from a request's path that begins with it and a slash, also in
     * req_head; NULL: none. Borrowed for the server's life. */
    const char *prefix;
    unsigned conns_max;                      /* 0: from the descriptor limit */
    int head_ms, body_ms, idle_ms, write_ms; /* 0: LIMIT_HTTP_… */
};

/* Copies the config; fronts and routes are borrowed forever. */
struct httpd *httpd_open(struct loop *l, const struct httpd_config *c);
/* Takes a listening socket, non-blocking, TCP or unix. Returns 0, or -1 with errno. */
int httpd_listen(struct httpd *d, int fd);
/*
 * Puts a layer under the stream of a new connection, which calls ready after its
 * handshake, as tls_accept does. Returns -1 if the connection must be closed.
 */
typedef int (*httpd_under_fn)(struct stream *s, void (*ready)(struct stream *s),
                              void *arg);
/*
 * The same, for connections with a layer under them (under NULL: without one). at: the
 * listener's name for req_at, borrowed for as long as d lives; may be NULL.
 */
int httpd_listen_under(struct httpd *d, int fd, const char *at, httpd_under_fn under,
                       void *arg);
/*
 * Closes listeners and idle connections; a connection with an unfinished answer is
 * closed after it. fn is called once, when no connection is left.
 */
void httpd_drain(struct httpd *d, void (*fn)(void *arg), void *arg);
/* Closes everything now; `gone` of each request is called. */
void httpd_close(struct httpd *d);

/* ---- the request ---- */

struct str req_method(const struct req *r);
int req_query(const struct req *r, const char *name, struct buf *out); /* http_query */
/* The first field of that name; p NULL: none. "Host": see http_head.host. */
struct str req_header(const struct req *r, const char *name);
const struct http_head *req_head(const struct req *r);
struct str req_param(const struct req *r, const char *name); /* "{name}" or "*" */
struct str req_body(const struct req *r);
/* Returns the names of method bit i for Allow: "GET, HEAD"; NULL if there is no bit i. */
const char *http_method_names(unsigned i);
/* Its route; NULL: there is none for this path and method. */
const struct route *req_route(const struct req *r);
/* The right that the route needs; without a route RIGHT_USE. */
enum right req_needs(const struct req *r);
/* The right of the sender of r, as set by the allow function; RIGHT_NONE before that. */
enum right req_right(const struct req *r);
/* The name of the key that this right comes from; "": from none. */
const char *req_key(const struct req *r);
/* The name of its listener; "": it has none. */
const char *req_at(const struct req *r);
/* Which of these marks the route has; 0 without a route. */
unsigned req_marks(const struct req *r, unsigned marks);
/* Whether r asks for a WebSocket (RFC 6455 4.1). */
bool req_opens_websocket(const struct req *r);
bool req_is_unix(const struct req *r);   /* came over a unix socket */
bool req_is_secure(const struct req *r); /* over TLS */
/* Gets the addresses of both ends. Returns 0, or -1 with errno. */
int req_ends(const struct req *r, struct addr *peer, struct addr *own);
/* Whether the peer sends no more: it may wait for the answer, or be gone. */
bool req_half_closed(const struct req *r);
/* fn is called once when that becomes so; it may end r. */
void req_on_half_closed(struct req *r, void (*fn)(struct req *r, void *owner));
void *req_arg(const struct req *r);
/* The front of r's route; NULL if r has no route. */
const struct http_front *req_served_by(const struct req *r);
/* Front number i of r's server, in their order; NULL after the last. */
const struct http_front *req_front(const struct req *r, size_t i);

/*
 * gone: the peer left before the answer was complete, or its body was malformed or late,
 * which is answered here. Not called after req_answer, req_end or req_abort.
 */
void req_own(struct req *r, void *owner, void (*gone)(struct req *r, void *owner));
/*
 * fn is called once, after the answer; whole: the peer's kernel has acknowledged every
 * byte, which is known when the next request comes or the peer closes. (On a unix
 * socket: when it was written.)
 */
void req_on_delivered(struct req *r, void (*fn)(void *owner, bool whole), void *owner);

/*
 * Calls these functions for all answers of this server, of other connections, too, that
 * have arrived by now.
 */
void req_settle(const struct req *r);

/*
 * For a streamed body: data returns how much it took; req_body_more delivers the rest
 * again.
 */
void req_on_body(struct req *r,
                 size_t (*data)(struct req *r, struct str bytes, void *owner),
                 void (*end)(struct req *r, void *owner));
void req_body_more(struct req *r);

/* ---- the answer ---- */

/* name and value must be valid in a head; for values of peers see http.h. */
void req_header_add(struct req *r, const char *name, const char *value);
/*
 * Sets the words of the status line, instead of those of the status; borrowed until the
 * answer begins. Clients that drop the body of an error show these.
 */
void req_reason(struct req *r, const char *text);
/* Makes the answer to r the last one of its connection. Call it before the answer. */
void req_close_after(struct req *r);
/* Answers with a whole body. type NULL: without Content-Type (204). */
void req_answer(struct req *r, int status, const char *type, struct str body);
void req_answer_take(struct req *r, int status, const char *type, struct buf *take);
/* Begins an answer in pieces. length -1: unknown, so it is chunked. */
void req_begin(struct req *r, int status, const char *type, int64_t length);
/* Returns how much was taken; if not all, on_room follows. */
size_t req_send(struct req *r, struct str bytes);
void req_on_room(struct req *r, void (*fn)(struct req *r, void *owner));
void req_end(struct req *r);
/* The rest is not available: the peer sees that the answer is incomplete. */
void req_abort(struct req *r);
/*
 * Answers with a regular file up to its current size, or the requested range (RFC 9110
 * 14), with ETag and Last-Modified; 304 or 412 if a precondition of the request requires
 * it (http/precondition.h). Takes fd.
 */
void req_answer_file(struct req *r, int fd, const char *type);
/*
 * Answers 101 with the added fields and moves the connection to `to` (RFC 9110 7.8),
 * with the bytes after the request in to->in. The server no longer counts it, and a
 * drain does not wait for it. Returns 0; -1 if r is not a GET, has a body or is
 * HTTP/1.0: then r must still be answered.
 */
int req_upgrade(struct req *r, const char *protocol, struct stream *to,
                const struct stream_events *ev);

#endif
