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

/* What answers a key (4.2.2, 5.4). -1: it is not 16 bytes in base64. */
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
 * Server: is the request a handshake? 0 and the value of Sec-WebSocket-Accept;
 * else the status to answer and e: 400, or 426, with which the answer names
 * WS_VERSION in Sec-WebSocket-Version (4.2.2 4), and "websocket" in Upgrade
 * (RFC 9110 15.5.22). The method (GET) was checked by the caller's routes.
 */
int ws_check_request(const struct ws_hello *q, char accept[WS_ACCEPT_SIZE],
                     struct err *e);
/*
 * The first of the client's protocols that is in known (ends with NULL); p NULL:
 * none. Names are compared exactly (4.1 10).
 */
struct str ws_choose(struct str offered, const char *const *known);

/*
 * Both of r, a request whose route opens a WebSocket. 0: accept is set, and *chosen is
 * one of known, borrowed, or NULL. Else the status to answer and e; the fields that such
 * an answer names are added to r.
 */
int ws_check_req(struct req *r, const char *const *known, const char **chosen,
                 char accept[WS_ACCEPT_SIZE], struct err *e);

/* Client: a random key. */
void ws_new_key(char out[WS_KEY_SIZE]);
/*
 * The fields of a request, each line ended: Upgrade, Connection,
 * Sec-WebSocket-Version, -Key, and -Protocol if `offered` (a list) is not
 * empty. -1: out is full, and unchanged.
 */
int ws_add_request(struct buf *out, const char *key, struct str offered);
/*
 * Is this, with its status, the answer to key and to what was offered? 0; -1:
 * close the connection (4.1). An extension or a protocol that was not offered
 * is not.
 */
int ws_check_answer(int status, const struct ws_hello *a, const char *key,
                    struct str offered, struct err *e);

#endif
