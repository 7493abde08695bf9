/* SPDX-License-Identifier: MIT */
/*
 * One connection to a Redis server: it is dialled and authenticated; then commands go out
 * and replies come in.
 *
 *   DIAL ─▶ HELLO ─▶ AUTH ─▶ SELECT ─▶ OPEN      (AUTH: servers before Redis 6, and
 *                                                   sentinels with a password)
 *
 * It ends once, with an outcome and a sentence, or by wire_close; then it may dial again.
 */
#ifndef OD_FRONT_BUS_WIRE_H
#define OD_FRONT_BUS_WIRE_H

#include "base/err.h"
#include "front/bus/outcome.h"
#include "front/bus/reply.h"
#include "front/bus/where.h"
#include "io/stream.h"
#include "net/tls.h"

struct dial;
struct wire;

struct wire_calls {
    void (*open)(struct wire *w);
    /* Called for each reply, in the order of commands; r is valid until this returns. */
    void (*reply)(struct wire *w, const struct reply *r);
    /* Called when the connection is closed, at most once for each wire_dial; e is valid
     * until this returns. */
    void (*gone)(struct wire *w, enum bus_outcome o, const struct err *e);
};

enum wire_state { WIRE_CLOSED, WIRE_DIAL, WIRE_HELLO, WIRE_AUTH, WIRE_SELECT, WIRE_OPEN };

/* Embedded in its owner, zeroed. */
struct wire {
    struct loop *loop; /* borrowed, as is calls */
    const struct wire_calls *calls;
    enum wire_state state;
    struct dial *dial;
    struct tls_client *tls;  /* owned; NULL: plain */
    struct stream s;         /* after DIAL */
    struct replies *replies; /* owned, after DIAL */
    struct timer timer;
    int timeout_ms;
    /* The credentials, and the name of this client: borrowed until the connection is
     * open. */
    struct str user, password, name; /* user and password: may be empty */
    unsigned db;
    bool bare; /* a sentinel: no HELLO and no database */
};

/* Takes tls. open or gone reports the result, never within this call. */
void wire_dial(struct wire *w, const struct bus_host *at, struct tls_client *take);
/* Closes it; no call follows. Idempotent. */
void wire_close(struct wire *w);
/* Closes it and calls gone. Returns at once if it is closed. */
void wire_fail(struct wire *w, enum bus_outcome o, const struct err *e);
/* The same after an error reply; what: the command. */
void wire_refused(struct wire *w, const char *what, const struct reply *r);
/* The same after a reply that does not fit the command. */
void wire_garbage(struct wire *w, const char *what);

/*
 * Appends a command of n words. Nothing is sent before wire_send, so that several
 * commands go out together.
 */
void wire_add(struct wire *w, const struct str *words, size_t n);
/* Adds one command and sends it. */
void wire_ask(struct wire *w, const struct str *words, size_t n);
void wire_send(struct wire *w);
/*
 * Sets the time within which a reply must come; otherwise the server counts as dead. 0:
 * no reply is expected.
 */
void wire_expect(struct wire *w, int ms);

#define WIRE_WORDS(...) \
    (const struct str[]){__VA_ARGS__}, \
        sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)

/* Appends a command to out in the form of the protocol. */
void wire_put(struct buf *out, const struct str *words, size_t n);

#endif
