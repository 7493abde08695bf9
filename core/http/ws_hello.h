/* SPDX-License-Identifier: MIT */
/*
 * The opening handshake of WebSocket (RFC 6455 section 4), both roles, as
 * checks and values; the messages themselves are HTTP's.
 */
#ifndef OD_HTTP_WS_HELLO_H
#define OD_HTTP_WS_HELLO_H

#include "base/buf.h"
#include "base/err.h"

struct req; /* http/httpd.h */

#define WS_VERSION     "13"
#define WS_KEY_SIZE    25 /* 16 bytes in base64, and a terminator */
#define WS_ACCEPT_SIZE 29 /* 20 bytes in base64, and a terminator */

/* Computes the answer to a key (4.2.2, 5.4). Returns -1 if key is not 16 bytes in
 * base64. */
int ws_accept_key(struct str key, char out[WS_ACCEPT_SIZE]);

/* Fields of a request or an answer; those that may come more than once, joined. */
struct ws_hello {
    struct str upgrade, connection;
    struct str key, version; /* Sec-WebSocket-…, of a request */
    struct str accept;       /* of an answer */
    struct str protocol;     /* of a request a list, of an answer one name */
    struct str extensions;   /* of an answer; p NULL: none */
};

/*
 * Server: is the request a handshake? Returns 0 and sets accept to the value of
 * Sec-WebSocket-Accept; else returns the status to answer and sets *e: 400, or 426,
 * with which the answer names WS_VERSION in Sec-WebSocket-Version (4.2.2 4), and
 * "websocket" in Upgrade (RFC 9110 15.5.22). The caller's routes checked the method
 * (GET).
 */
int ws_check_request(const struct ws_hello *q, char accept[WS_ACCEPT_SIZE],
                     struct err *e);
/*
 * Returns the first of the client's protocols that is in known (ends with NULL); p is
 * NULL if there is none. Names are compared exactly (4.1 10).
 */
struct str ws_choose(struct str offered, const char *const *known);

/*
 * Does both for r, a request whose route opens a WebSocket. Returns 0 and sets accept
 * and *chosen, which is one of known, borrowed, or NULL. Else returns the status to
 * answer, sets *e, and adds the fields of such an answer to r.
 */
int ws_check_req(struct req *r, const char *const *known, const char **chosen,
                 char accept[WS_ACCEPT_SIZE], struct err *e);

/* Client: a random key. */
void ws_new_key(char out[WS_KEY_SIZE]);
/*
 * Appends the fields of a request, each line ended: Upgrade, Connection,
 * Sec-WebSocket-Version, -Key, and -Protocol if `offered` (a list) is not
 * empty. Returns -1 if out is full, and unchanged.
 */
int ws_add_request(struct buf *out, const char *key, struct str offered);
/*
 * Client: is this, with its status, the answer to key and to the offered protocols?
 * Returns 0; or -1 and sets *e, and the connection must be closed (4.1). An answer with
 * an extension, or with a protocol that was not offered, is an error.
 */
int ws_check_answer(int status, const struct ws_hello *a, const char *key,
                    struct str offered, struct err *e);

#endif
