/* SPDX-License-Identifier: MIT */
/*
 * A server elsewhere: its address, the key for it, and a connection to it.
 *
 * The address is http[s]://HOST[:PORT][/PREFIX]; a proxy in front of the server may put
 * PREFIX before its paths. The environment has the rest:
 *
 *   OD_SERVER_KEY_FILE   a file whose first line is the key, read for each connection
 *   OD_SERVER_KEY        the key itself, if there is no file
 *   OD_CA                authorities that may sign the server's certificate, else those
 *                        of net/trust.h
 *   OD_SERVER_INSECURE   1: the key may go to other machines without TLS
 *   https_proxy …        as http/url.h has it
 */
#ifndef OD_IPC_REMOTE_H
#define OD_IPC_REMOTE_H

#include "base/buf.h"
#include "base/err.h"
#include "http/dial.h"
#include "http/url.h"

#define REMOTE_PROTOCOL "od.local.v1"
#define REMOTE_PATH     "/local"
#define REMOTE_ID_FIELD "Od-Server"

enum {
    REMOTE_URL_MAX = 1000,
    REMOTE_KEY_MAX = 8192,
    REMOTE_FIELDS_MAX = REMOTE_KEY_MAX + 1024
};

/* Returns whether this is an address of the network, and neither a name nor a path. */
bool remote_is(const char *where);

/* `at` and prefix are slices of text: not to be copied. */
struct remote {
    char text[REMOTE_URL_MAX + 1];
    struct url at;
    struct str prefix; /* without a slash at its end */
    struct buf key;    /* empty: none */
    struct proxy proxy;
    bool proxied;
    struct tls_client *tls; /* owned; NULL: http */
};

/*
 * Reads the address and the environment, and the authorities' certificates for https.
 * Returns -1 and sets *e: INVALID, the address; DENIED, the key would go out in the
 * clear; or what a file has. r may be released after either.
 */
int remote_open(struct remote *r, const char *where, struct err *e);
void remote_release(struct remote *r);
/* Appends PREFIX and path, which begins with a slash. */
void remote_target(const struct remote *r, const char *path, struct buf *out);
/* Appends the fields that each request has: the key, and who asks. */
void remote_fields(const struct remote *r, struct buf *out);
/* As dial_start, with buffers of these sizes for the stream, on_done and owner. */
struct dial *
remote_dial(const struct remote *r, struct loop *l, size_t in_max, size_t out_max,
            void (*on_done)(struct dial *d, struct stream *s, const struct err *e),
            void *owner, struct err *e);
/*
 * In on_done of a dial that failed: sets *e to a message for people, which tells how to
 * trust a refused certificate. Returns true if another try may succeed.
 */
bool remote_dial_failed(const struct remote *r, const struct dial *d,
                        const struct err *why, struct err *e);
/*
 * The same for an answer with this status. to: its Location; body: the beginning of its
 * body, a JSON error of od's or anything else.
 */
bool remote_refused(const struct remote *r, int status, struct str to, struct str body,
                    struct err *e);

#endif
