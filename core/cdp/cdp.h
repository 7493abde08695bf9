/* SPDX-License-Identifier: MIT */
/*
 * The DevTools protocol over a pair of pipes, or a WebSocket, for a process that does one
 * thing at a time: a call is sent and waited for, and what happens meanwhile comes as
 * events.
 *
 * In a pipe each message is JSON and a zero byte (Chromium, --remote-debugging-pipe). One
 * connection carries all targets: a session's id says whose message it is
 * (Target.attachToTarget with flatten). The peer is hostile: a message has at most
 * LIMIT_CDP_MESSAGE bytes, and what nobody asked for is dropped.
 */
#ifndef OD_CDP_CDP_H
#define OD_CDP_CDP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "os/halt.h"

enum { CDP_PENDING_MAX = 64, CDP_OUT_MAX = 32 << 20 };

/* It may send, but not wait. */
typedef void cdp_event_fn(void *owner, struct str session, struct str method,
                          const struct json *params);

struct cdp_pending {
    int id;             /* 0: a free place */
    bool big;           /* the answer is wanted as text */
    bool unwanted;      /* a big one that nobody waits for: its text is not looked at */
    bool of_page;       /* it is not the browser's own */
    struct json *reply; /* owned; NULL: not there yet */
    struct buf text;    /* owned: of a big one, as it came; n 0: not there yet */
};

struct cdp {
    int from, to;          /* owned; -1: none */
    struct halt *stop;     /* borrowed: ends turns early, or the connection; NULL: none */
    struct cdp_link *link; /* owned: the WebSocket; NULL: the pipes */
    struct buf in, out;
    int last_id;
    struct cdp_pending pending[CDP_PENDING_MAX];
    cdp_event_fn *on_event;
    /* After each turn, for what events ask for: it may wait. NULL: nothing. */
    void (*on_turn)(void *owner);
    bool turning; /* it runs */
    void *owner;
    bool ended;
    struct err why; /* it ended */
    /* Pages answer nothing while this is set (a dialog is open): to wait for one of their
     * answers fails with BUSY. */
    bool held;
};

/* Takes both descriptors and makes them non-blocking; stop is NULL. */
void cdp_open(struct cdp *c, int from, int to, cdp_event_fn *on_event, void *owner);
/*
 * Connects an opened one without descriptors: ws://HOST:PORT/devtools/browser/…, or
 * http://HOST:PORT, which is asked for that path (GET /json/version); wss and https too,
 * and proxies as the environment has them. -1 with e: nobody is there, it is no browser,
 * or end_ms came.
 */
int cdp_dial(struct cdp *c, const char *address, int64_t end_ms, struct err *e);
void cdp_close(struct cdp *c);
/* Neither side speaks any more: what waits fails with that. The first reason stays. */
void cdp_end(struct cdp *c, enum err_code code, const char *text);

/*
 * Queues a call; session "" is the browser's own. Takes params, NULL is fine. Its id
 * for cdp_wait, or -1: ended, too many that wait, or the queue is full.
 */
int cdp_send(struct cdp *c, struct str session, const char *method, struct json *take);
/* The same, and its answer is dropped. */
void cdp_tell(struct cdp *c, struct str session, const char *method, struct json *take);
/*
 * Waits for a call's answer until clock_ms() is end_ms. The answer, the caller's, with
 * the member "result"; NULL with e: TIMEOUT; BUSY: c->held; GONE if the connection ended;
 * INVALID with the peer's own words.
 */
struct json *cdp_wait(struct cdp *c, int id, int64_t end_ms, struct err *e);
/*
 * The same for an answer of megabytes, which is not made a tree: all of its message,
 * for base/jsontext.h. 0, and out, initialised, has it in place of what it had.
 */
int cdp_send_big(struct cdp *c, struct str session, const char *method,
                 struct json *take);
int cdp_wait_big(struct cdp *c, int id, int64_t end_ms, struct buf *out, struct err *e);
/* Is its answer there? Then cdp_wait has it at once. */
bool cdp_answered(const struct cdp *c, int id);
/* cdp_send and cdp_wait. */
struct json *cdp_call(struct cdp *c, struct str session, const char *method,
                      struct json *take, int64_t end_ms, struct err *e);
/*
 * Waits for something to happen. 1: it did; 0: end_ms came, or stop has it that what is
 * under way is over; -1: it ended, c->why. However much happens, end_ms comes.
 */
int cdp_turn(struct cdp *c, int64_t end_ms);
/* What a turn does with bytes that came. */
void cdp_take(struct cdp *c, struct str bytes);

#endif
