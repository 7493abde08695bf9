/* SPDX-License-Identifier: MIT */
/*
 * The request that od sends to a backend, and what the answer means: RFC 6455 section 4.1
 * with redirects (RFC 9110 15.4). It has no connection; it only makes and reads text.
 *
 * A redirect is followed only to the same host, at most ASK_HOPS_MAX times in a try,
 * never from TLS to none, and without TLS only to the same port: the token is meant for
 * one host. Any other redirect is an error, which names its address.
 */
#ifndef OD_FRONT_CONNECT_ASK_H
#define OD_FRONT_CONNECT_ASK_H

#include "base/json.h"
#include "http/http.h"
#include "http/url.h"
#include "http/ws_hello.h"

#define ASK_PROTOCOL "od.events.v1"

enum { ASK_HOPS_MAX = 5, ASK_URL_MAX = 4096, ASK_FIELDS_MAX = 8192 };

/* How a try or a link ended. connect.h's metrics and status have the names. */
enum connect_outcome {
    CONNECT_LOCAL,        /* a local file: CA, certificate, key, token; descriptors */
    CONNECT_NO_ADDRESS,   /* the name has none, or name servers do not answer */
    CONNECT_UNREACHABLE,  /* nothing listens or answers there */
    CONNECT_PROXY,        /* the proxy did not connect us */
    CONNECT_TLS,          /* dates, name, issuer, versions, … */
    CONNECT_SILENT,       /* connected, but no answer in time */
    CONNECT_REFUSED,      /* 401, 403 */
    CONNECT_NOT_FOUND,    /* 404, 410 */
    CONNECT_BUSY,         /* 408, 429, 5xx: perhaps later */
    CONNECT_REDIRECT,     /* a redirect that is not followed */
    CONNECT_NO_WEBSOCKET, /* another status, such as 426; a wrong handshake */
    CONNECT_GARBAGE,      /* no HTTP, no frames, no JSON, no {"since"} */
    CONNECT_FUTURE,       /* {"since"} with an id that does not exist yet */
    CONNECT_CLOSED,       /* the backend sent Close */
    CONNECT_CUT,          /* the connection ended without a Close */
    CONNECT_DEAD,         /* no sign of life */
    CONNECT_OUTCOMES
};
/* "no-address", "tls", … */
const char *connect_outcome_name(enum connect_outcome o);

/* The address of the next request. Do not copy it: `at` has slices of `text`. */
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

/*
 * Begins with the given URL: ws, wss, http or https. Returns -1 and sets *e: INVALID,
 * LIMIT.
 */
int ask_begin(struct ask *a, struct str url, struct err *e);
/*
 * Appends the fields of the request, with a new key. token is sent as Authorization:
 * Bearer (RFC 6750); "": none. more: further fields, whole lines. Returns -1 and sets *e:
 * LIMIT.
 */
int ask_fields(struct ask *a, const char *user_agent, struct str token, struct str more,
               struct buf *out, struct err *e);
/*
 * Judges the head of the answer. body: its beginning, for error texts. Returns 1 if the
 * WebSocket is open; 0 after a redirect: send the request to the address that a now has;
 * -1 and sets *r on an error.
 */
int ask_judge(struct ask *a, const struct http_head *h, struct str body,
              struct ask_result *r);
/* Appends scheme, host and port, the only parts of a URL that may be shown. */
void ask_print(const struct ask *a, struct buf *out);

/* ---- checks of options ---- */

/*
 * Checks a header "Name: value" and appends it to out as a line. Returns -1 and sets *e,
 * which has the name, never the value.
 */
int ask_add_line(struct buf *out, struct str line, struct err *e);
/*
 * Whether secrets may be sent to this address: with TLS, or to this machine. proxied: a
 * proxy gets them. Returns -1 and sets *e: DENIED.
 */
int ask_allow_secret(const struct ask *a, bool proxied, struct err *e);

#endif
