/* SPDX-License-Identifier: MIT */
/*
 * The request that od sends to a backend, and what the answer means: RFC 6455 section
 * 4.1 with redirects (RFC 9110 15.4). It has no connection: it only makes and reads text.
 *
 * A redirect is followed to the same host only, at most ASK_HOPS_MAX times a try,
 * never from TLS to none, and without TLS to the same port only: the token is only for
 * the host that it was given for. Any other redirect is an error that names it.
 */
#ifndef OD_FRONT_CONNECT_ASK_H
#define OD_FRONT_CONNECT_ASK_H

#include "base/json.h"
#include "http/http.h"
#include "http/url.h"
#include "http/ws_hello.h"

#define ASK_PROTOCOL "od.events.v1"

enum {
    ASK_HOPS_MAX = 5,
    ASK_URL_MAX = 4096,
    ASK_FIELDS_MAX = 8192
};

/* How a try, or a link, ended. The names are in connect.h's metrics and status. */
enum connect_outcome {
    CONNECT_LOCAL,        /* a file of ours: CA, certificate, key, token; descriptors */
    CONNECT_NO_ADDRESS,   /* the name has none, or name servers do not answer */
    CONNECT_UNREACHABLE,  /* nothing listens or answers there */
    CONNECT_PROXY,        /* the proxy did not connect us */
    CONNECT_TLS,          /* dates, name, issuer, versions, … */
    CONNECT_SILENT,       /* connected, and then no answer in time */
    CONNECT_REFUSED,      /* 401, 403 */
    CONNECT_NOT_FOUND,    /* 404, 410 */
    CONNECT_BUSY,         /* 408, 429, 5xx: later, perhaps */
    CONNECT_REDIRECT,     /* to a place that is not followed */
    CONNECT_NO_WEBSOCKET, /* another status, 426 among them; a false handshake */
    CONNECT_GARBAGE,      /* no HTTP, no frames, no JSON, no {"since"} */
    CONNECT_FUTURE,       /* {"since"} of events that do not exist yet */
    CONNECT_CLOSED,       /* the backend sent Close */
    CONNECT_CUT,          /* it ended without a Close */
    CONNECT_DEAD,         /* no sign of life */
    CONNECT_OUTCOMES
};
/* "no-address", "tls", … */
const char *connect_outcome_name(enum connect_outcome o);

/* Where to ask. `at` is slices of `text`: not to be copied. */
struct ask {
    char text[ASK_URL_MAX + 1];
    struct url at;
    char key[WS_KEY_SIZE];
    unsigned hops;
};

struct ask_result {
    enum connect_outcome outcome;
    int64_t later_ms; /* Retry-After (RFC 9110 10.2.3), 0: none */
    struct err e;
};

/* The URL that was given: ws, wss, http or https. -1: INVALID, LIMIT. */
int ask_begin(struct ask *a, struct str url, struct err *e);
/*
 * The fields of the request, with a new key. user_agent, token ("": none; else as
 * Authorization: Bearer, RFC 6750) and more, whole lines. -1: LIMIT.
 */
int ask_fields(struct ask *a, const char *user_agent, struct str token, struct str more,
               struct buf *out, struct err *e);
/*
 * Judges the head of the answer, with the beginning of its body for error texts. Returns
 * 1 if the WebSocket is open, 0 if the request goes to the address that a has now, -1 and
 * sets *r on an error.
 */
int ask_judge(struct ask *a, const struct http_head *h, struct str body,
              struct ask_result *r);
/* Scheme, host and port: all of a URL that may be shown. */
void ask_print(const struct ask *a, struct buf *out);

/* ---- what may be asked ---- */

/*
 * Is a line "Name: value" fit to be sent? Appends it to out with its end. -1: the
 * sentence names the line's name, never its value.
 */
int ask_add_line(struct buf *out, struct str line, struct err *e);
/*
 * May secrets go there? Not without TLS, but to this machine. proxied: a proxy
 * sees it. -1: DENIED.
 */
int ask_allow_secret(const struct ask *a, bool proxied, struct err *e);

#endif
