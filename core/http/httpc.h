/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/1.1 client: one connection, one request after the other (RFC 9112).
 *
 * A struct httpc is embedded in its owner and takes a connected stream. An answer is
 * delivered by on_head, on_body (as it arrives) and on_done; interim answers (1xx) are
 * skipped. It does not follow redirects, repeat requests or decode bodies; the owner may.
 * With a status of 101, or 2xx to CONNECT, the answer ends with its head, and the owner
 * can take the stream (httpc_leave).
 *
 * Everything is bounded: the head by http.h, the body by what the owner takes (reading
 * stops until it takes more), the time without a byte by idle_ms.
 */
#ifndef OD_HTTP_HTTPC_H
#define OD_HTTP_HTTPC_H

#include "base/err.h"
#include "http/http.h"
#include "io/stream.h"

struct httpc;

/* Each callback may call anything here, httpc_release included. */
struct httpc_events {
    /* c->head is valid until the next request. May be NULL. */
    void (*on_head)(struct httpc *c);
    /*
     * Takes a piece of the body and returns how much it took; httpc_more delivers the
     * rest again. NULL: the body is dropped.
     */
    size_t (*on_body)(struct httpc *c, struct str piece);
    /*
     * Called once for each request; the next one may be sent here. e NULL: the answer is
     * complete. Else GONE: the connection ended before the answer began (a kept
     * connection may have been too old); IO: it ended within the answer; TIMEOUT;
     * INVALID: this is not HTTP; LIMIT.
     */
    void (*on_done)(struct httpc *c, const struct err *e);
    /* httpc_put has room again. May be NULL. */
    void (*on_room)(struct httpc *c);
};

struct httpc_request {
    const char *method;
    struct str target; /* as it stands in the request line; CONNECT: HOST:PORT */
    struct str host;   /* of the Host field */
    struct str fields; /* more of them, made with httpc_add_field */
    struct str body;   /* p NULL: none */
    bool streams;      /* instead of body: length bytes through httpc_put */
    bool chunked;      /* the same without a length, up to httpc_put_end */
    uint64_t length;
};

struct httpc {
    struct stream s;
    const struct httpc_events *ev;
    int idle_ms;
    int64_t heard_us;
    struct timer timer;
    struct task more;
    struct buf text;       /* the head's bytes, which head points into */
    struct http_head head; /* of the answer */
    struct http_chunks chunks;
    uint64_t left;   /* of a body with a length */
    uint64_t to_put; /* of the request's */
    size_t waiting;  /* bytes that were unsent at the last look */
    struct err e;
    uint8_t state, body, interims;
    bool connect, bodiless, stalled, kept, over;
    bool chunked;   /* the request's body is */
    char host[128]; /* for errors */
};

/* Takes the stream. idle_ms 0: LIMIT_HTTPC_IDLE_MS; negative: no limit. */
void httpc_start(struct httpc *c, struct stream *take, int idle_ms,
                 const struct httpc_events *ev);
/*
 * Queues a request, with Host, and Content-Length if there is a body or the method
 * requires one. Returns -1 and sets *e: BUSY, the previous answer is not done; GONE, the
 * connection cannot be used again; LIMIT, it does not fit into the stream's out;
 * INVALID, the target, host or method has characters that cannot be sent.
 */
int httpc_send(struct httpc *c, const struct httpc_request *q, struct err *e);
/*
 * Queues bytes of a request that streams its body. Returns how many were taken; if not
 * all, on_room follows, or the answer has already arrived. More than length is a BUG.
 */
size_t httpc_put(struct httpc *c, struct str piece);
/* Ends a chunked request (RFC 9112 7.1). Once; nothing is put after it. */
void httpc_put_end(struct httpc *c);
/*
 * Appends a line for httpc_request.fields. Returns -1 if out is full, or the value
 * cannot be sent.
 */
int httpc_add_field(struct buf *out, const char *name, struct str value);
/* Called by the owner when on_body can take more. */
void httpc_more(struct httpc *c);
/* Whether the answer is done and another request may follow on this connection. */
bool httpc_is_kept(const struct httpc *c);
/*
 * After a 101, or a 2xx to CONNECT: moves the stream, with the bytes after the head, to
 * `to`. Call it in on_done, or at least in the same turn.
 */
void httpc_leave(struct httpc *c, struct stream *to, const struct stream_events *ev);
/* Cuts the connection; no callback follows. Idempotent, also when all zeros. */
void httpc_release(struct httpc *c);

#endif
