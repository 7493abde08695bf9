/* SPDX-License-Identifier: MIT */
/*
 * The DevTools protocol over a pair of pipes, or a WebSocket, for a process that may
 * block: it sends a call and waits for the answer; other messages that arrive meanwhile
 * become events.
 *
 * In a pipe each message is JSON and a zero byte (Chromium, --remote-debugging-pipe). One
 * connection carries all targets: the session id of a message names its target
 * (Target.attachToTarget with flatten). The peer is hostile: a message has at most
 * LIMIT_CDP_MESSAGE bytes, and answers without a call are dropped.
 *
 * Others may use the connection, too, each in sessions of its own (on_text, cdp_pass).
 */
#ifndef OD_CDP_CDP_H
#define OD_CDP_CDP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "os/halt.h"

enum { CDP_PENDING_MAX = 64, CDP_OUT_MAX = 32 << 20 };

/* Ids of our calls begin here: those of others on the same connection are smaller. */
enum { CDP_ID_FROM = 1 << 30 };

/*
 * Called with each message before anything else is done with it. Returns true if the
 * message belongs to another user of this connection. text is borrowed; cut: it was too
 * long, and text has only its first and its last CDP_END bytes.
 */
enum { CDP_END = 128 };
typedef bool cdp_text_fn(void *owner, struct str text, bool cut);

/* Called for each event; it may send, but not wait. Its arguments are borrowed. */
typedef void cdp_event_fn(void *owner, struct str session, struct str method,
                          const struct json *params);

struct cdp_pending {
    int id;             /* 0: a free place */
    bool big;           /* the answer is wanted as text */
    bool unwanted;      /* a big answer that has no waiting call: it is not parsed */
    bool of_page;       /* the call was to a page, not to the browser itself */
    struct json *reply; /* owned; NULL: not there yet */
    struct buf text;    /* owned: a big answer as received; n 0: not there yet */
};

struct cdp {
    int from, to;          /* owned; -1: none */
    struct halt *stop;     /* borrowed; can end a turn, or the connection; NULL: none */
    struct cdp_link *link; /* owned: the WebSocket; NULL: the pipes */
    struct buf in, out;
    int last_id;
    struct cdp_pending pending[CDP_PENDING_MAX];
    cdp_event_fn *on_event;
    /* Called after each turn for work that events caused; may wait. May be NULL. */
    void (*on_turn)(void *owner);
    bool turning; /* on_turn runs */
    void *owner;
    cdp_text_fn *on_text; /* NULL: only we use the connection */
    void *text_owner;
    bool cutting; /* the message is too long; its last bytes are kept in the end of in */
    bool ended;
    struct err why; /* the reason of ended */
    /* While this is set (a dialog is open), pages do not answer: waiting for an answer of
     * one fails with BUSY. */
    bool held;
};

/* Takes both descriptors and makes them non-blocking; stop is NULL. */
void cdp_open(struct cdp *c, int from, int to, cdp_event_fn *on_event, void *owner);
/*
 * Connects c, which was opened without descriptors, to ws://HOST:PORT/devtools/browser/…,
 * or to http://HOST:PORT, where GET /json/version has the socket's path; wss, https and
 * the proxies of the environment work, too. Returns -1 and sets *e if there is no server,
 * it is not a browser, or end_ms has passed.
 */
int cdp_dial(struct cdp *c, const char *address, int64_t end_ms, struct err *e);
void cdp_close(struct cdp *c);
/* Ends the connection: pending and later calls fail with this error; the first stays. */
void cdp_end(struct cdp *c, enum err_code code, const char *text);

/*
 * Queues a call; session "" is the browser itself. take: the params, or NULL. Returns the
 * id for cdp_wait; or -1: ended, too many calls are pending, or the queue is full.
 */
int cdp_send(struct cdp *c, struct str session, const char *method, struct json *take);
/* The same for a call whose answer is dropped. */
void cdp_tell(struct cdp *c, struct str session, const char *method, struct json *take);
/*
 * Queues a message of another user of the connection: text without its last brace, then
 * end. Returns -1 if it has no room, or the connection has ended.
 */
int cdp_pass(struct cdp *c, struct str text, struct str end);
/* Writes what is queued as far as the peer takes it. */
void cdp_flush(struct cdp *c);
/*
 * Waits for a call's answer until clock_ms() is end_ms. Returns the answer, with the
 * member "result"; the caller owns it. Returns NULL and sets *e: TIMEOUT; BUSY if
 * c->held; GONE if the connection ended; INVALID with the message of the peer.
 */
struct json *cdp_wait(struct cdp *c, int id, int64_t end_ms, struct err *e);
/*
 * The same for an answer of megabytes, which is not parsed into a tree: appends the whole
 * message to out, for base/jsontext.h. Returns 0, or -1 and sets *e.
 */
int cdp_send_big(struct cdp *c, struct str session, const char *method,
                 struct json *take);
int cdp_wait_big(struct cdp *c, int id, int64_t end_ms, struct buf *out, struct err *e);
/* The caller no longer waits for this answer; it is dropped when it arrives. */
void cdp_forget(struct cdp *c, int id);
/* Has the answer arrived, so that cdp_wait returns at once? */
bool cdp_answered(const struct cdp *c, int id);
/* cdp_send and cdp_wait. */
struct json *cdp_call(struct cdp *c, struct str session, const char *method,
                      struct json *take, int64_t end_ms, struct err *e);
/*
 * Waits for bytes of the peer and handles them. Returns 1 if there were some; 0 if end_ms
 * has passed, or stop ended the turn; -1 if the connection has ended, see c->why. Returns
 * at end_ms even if more bytes arrive.
 */
int cdp_turn(struct cdp *c, int64_t end_ms);
/* Handles bytes of the peer, as cdp_turn does. */
void cdp_take(struct cdp *c, struct str bytes);

#endif
