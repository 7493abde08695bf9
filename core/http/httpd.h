/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/1.1 server: connections, routing, bodies, answers.
 *
 *   accept ─▶ HEAD ─▶ [BODY] ─▶ handler ─▶ answer ─▶ HEAD … (keep-alive)
 *               ▲                             │
 *               └─────────────────────────────┴─▶ LINGER ─▶ closed
 *
 * It knows no front-end: routes are tables of functions, and errors that are found here
 * are answered by a function of the front. A connection answers its
 * requests one after the other; while it answers, what the peer sends ahead
 * stays in a bounded buffer. One that waits is a few hundred bytes.
 *
 * A request is its handler's from `run` (or `body`) on until req_answer, req_end
 * or req_abort, or until `gone` was called: after that the pointer is not valid.
 */
#ifndef OD_HTTP_HTTPD_H
#define OD_HTTP_HTTPD_H

#include "http/http.h"
#include "io/stream.h"

#include <sys/types.h>

struct addr;
struct httpd;
struct param; /* base/param.h */
struct req;

enum {
    HTTP_GET = 1, /* HEAD too */
    HTTP_POST = 2,
    HTTP_PUT = 4,
    HTTP_DELETE = 8,
    HTTP_PATCH = 16
};

/* What a client may do: each right includes those before it. */
enum right {
    RIGHT_NONE, /* only what is open */
    RIGHT_VIEW, /* follow what happens */
    RIGHT_USE   /* everything */
};

struct route {
    unsigned methods;
    const char *path; /* "/x/{id}": one segment; a last segment of "*": the rest */
    /* The body is whole (req_body), at most body_max bytes. */
    void (*run)(struct req *r);
    size_t body_max;
    /* Instead of run: at the head; it takes the body by req_on_body. */
    void (*body)(struct req *r);
    /* Who may ask; the allow function decides by it (front/guard.c). */
    enum right right;    /* that is needed; not set: RIGHT_USE */
    bool open;           /* everybody may, without a key */
    bool key_in_message; /* a GET that opens a WebSocket, whose first message has the key
                          */
    /* For people and GET /openapi.json: what it does, a sentence without its end. */
    const char *about;
    const struct param *query; /* of the query, or of {NAME} in path; NULL: none */
    const char *takes, *gives; /* media types of body and answer; NULL: JSON */
    const char *schema;        /* the body's, by its name there; NULL: any object */
};

/* One front-end: its routes, and how it answers errors. */
struct http_front {
    const struct route *routes;
    size_t nroutes;
    /* Answers an error of this server: 400, 404, 405, 408, 413, 431, 500 … */
    void (*fail)(struct req *r, int status, const char *text);
    void *arg; /* req_arg */
    /* Without a right key fail gets 401, and names the scheme (RFC 6750 3); else 403. */
    bool challenge;
};

struct httpd_config {
    const struct http_front *const *fronts; /* looked through in this order */
    size_t nfronts;
    /* Before anything else is done. false: it has answered. May be NULL. */
    bool (*allow)(struct req *r, void *arg);
    /* The number of connections changed by 1 or -1. May be NULL. */
    void (*count)(void *arg, int change);
    void *arg;
    unsigned conns_max;                      /* 0: from the descriptor limit */
    int head_ms, body_ms, idle_ms, write_ms; /* 0: LIMIT_HTTP_… */
};

/* Copies the config; fronts and routes are borrowed forever. */
struct httpd *httpd_open(struct loop *l, const struct httpd_config *c);
/* Takes a listening socket, non-blocking, TCP or unix. 0, or -1 with errno. */
int httpd_listen(struct httpd *d, int fd);
/*
 * Puts a layer under the stream of a new connection and has ready called when it has
 * greeted, as tls_accept does. -1: the connection is to be closed.
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
 * Closes listeners and idle connections; each answer in flight is its
 * connection's last. fn is called once, when none is left.
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
/* The names of a method bit, as Allow has them: "GET, HEAD". NULL: there is no bit i. */
const char *http_method_names(unsigned i);
bool req_open(const struct req *r); /* the route is open */
/* The right that the route needs, RIGHT_NONE if it is open; without a route RIGHT_USE. */
enum right req_needs(const struct req *r);
/* What the sender of r may do: what the allow function has set, RIGHT_NONE before that.
 */
enum right req_right(const struct req *r);
void req_grant(struct req *r, enum right right);
/* The name of the listener that it came by; "": of none with a name. */
const char *req_at(const struct req *r);
/* The route is key_in_message, and r may open a WebSocket there. */
bool req_key_in_message(const struct req *r);
bool req_is_unix(const struct req *r);   /* came over a unix socket */
bool req_is_secure(const struct req *r); /* there is a layer under it */
/* The addresses of the peer's end and of ours. Returns 0, or -1 with errno. */
int req_ends(const struct req *r, struct addr *peer, struct addr *own);
/* The peer sends no more. It may be waiting for the answer, or be gone. */
bool req_half_closed(const struct req *r);
/* fn is called once when that is so, if it was not before; it may end r. */
void req_on_half_closed(struct req *r, void (*fn)(struct req *r, void *owner));
void *req_arg(const struct req *r);
/* The front whose route r has; NULL: it has none. */
const struct http_front *req_served_by(const struct req *r);
/* The fronts of the server that got r, in the order of their look-up. NULL: no more. */
const struct http_front *req_front(const struct req *r, size_t i);

/*
 * gone: the peer went before the answer was complete, or what it sent as the
 * body was wrong or late, which is answered here. Not called after req_answer,
 * req_end or req_abort.
 */
void req_own(struct req *r, void *owner, void (*gone)(struct req *r, void *owner));
/*
 * Once, after the answer: whole when the peer's side has acknowledged every
 * byte of it, which is known when the next request comes or the peer closes.
 * (Over a unix socket: when it was written.)
 */
void req_on_delivered(struct req *r, void (*fn)(void *owner, bool whole), void *owner);

/*
 * Tells of all answers of this server, of other connections too, that have
 * arrived by now.
 */
void req_settle(const struct req *r);

/* A streamed body: data returns how much it took; req_body_more asks again. */
void req_on_body(struct req *r,
                 size_t (*data)(struct req *r, struct str bytes, void *owner),
                 void (*end)(struct req *r, void *owner));
void req_body_more(struct req *r);

/* ---- the answer ---- */

/* name and value must be fit for a head; for values of peers see http.h. */
void req_header_add(struct req *r, const char *name, const char *value);
/* The answer to r is the last one of its connection. Before the answer begins. */
void req_close_after(struct req *r);
/* Whole. type NULL: no body is described (204). */
void req_answer(struct req *r, int status, const char *type, struct str body);
void req_answer_take(struct req *r, int status, const char *type, struct buf *take);
/* By pieces. length -1: not known, so it is chunked. */
void req_begin(struct req *r, int status, const char *type, int64_t length);
/* Returns how much was taken; less than all: on_room comes. */
size_t req_send(struct req *r, struct str bytes);
void req_on_room(struct req *r, void (*fn)(struct req *r, void *owner));
void req_end(struct req *r);
/* The rest is not available: the peer sees that the answer is not whole. */
void req_abort(struct req *r);
/*
 * A regular file from its beginning to its size now, or the range that was asked
 * for (RFC 9110 14), with ETag and Last-Modified. Takes fd.
 */
void req_answer_file(struct req *r, int fd, const char *type);
/*
 * Answers 101 with the fields that were added, and hands the connection over
 * (RFC 9110 7.8): it is `to`'s from here on, with what has come after the
 * request in to->in, and this server knows nothing of it any more: `count` says
 * that it went, a drain does not wait for it. Returns 0; -1 if r is not a GET, has a
 * body or is of HTTP/1.0: then it is still to be answered.
 */
int req_upgrade(struct req *r, const char *protocol, struct stream *to,
                const struct stream_events *ev);

#endif
