/* SPDX-License-Identifier: MIT */
/*
 * WebSocket frames and connections, both roles (RFC 6455), no extensions.
 *
 * A struct ws is embedded in its owner and begins with a stream whose handshake
 * is over (ws_hello.h), which it takes. Its memory must live to the end of
 * the turn in which on_close or ws_release was.
 *
 *   open     messages go both ways
 *   closing  we sent Close; messages are dropped until the peer's Close
 *   leaving  the closing handshake is over, or the peer broke it: bytes are ignored until
 *            the end of the stream
 *   closed   on_close was called, or ws_release
 *
 * Incoming: on_message gets whole messages, text is valid UTF-8, and nothing beyond
 * message_max is stored. A breach of the protocol closes with 1002, invalid text with
 * 1007, a message that is too long with 1009. Outgoing: frames are collected and written
 * once at the end of the turn.
 *
 * Silence: after ping_ms without a byte the peer is pinged, again each ping_ms;
 * after dead_ms the connection counts as lost. A peer that reads slowly is alive; so is
 * one whose messages are not read here (ws_pause).
 */
#ifndef OD_HTTP_WS_H
#define OD_HTTP_WS_H

#include "io/stream.h"

struct ws;

/* Status codes of RFC 6455 section 7.4.1 and IANA's registry that we use. */
enum ws_code {
    WS_NORMAL = 1000,
    WS_GOING_AWAY = 1001,
    WS_PROTOCOL = 1002,
    WS_UNSUPPORTED = 1003,
    WS_NO_CODE = 1005, /* the peer's Close had none; never sent */
    WS_LOST = 1006,    /* ended without a Close; never sent */
    WS_BAD_TEXT = 1007,
    WS_POLICY = 1008,
    WS_TOO_LONG = 1009,
    WS_INTERNAL = 1011,
    WS_AGAIN_LATER = 1013
};

enum ws_role { WS_SERVER, WS_CLIENT };

#define WS_CONTROL_MAX 125  /* payload of a control frame, section 5.5 */
#define WS_REASON_MAX  123  /* and of that, after the code of a Close */
#define WS_IN_MIN      256  /* the least in_max of a stream */
#define WS_OUT_MIN     1024 /* and its out_max */

struct ws_opts {
    enum ws_role role;
    size_t message_max;             /* bytes of one incoming message */
    int ping_ms, dead_ms, close_ms; /* 0: LIMIT_WS_… */
};

/* Each callback may call anything here, ws_release included. */
struct ws_events {
    /* A whole message, valid until the callback returns or releases. */
    void (*on_message)(struct ws *w, bool text, struct str message);
    /* After a refused ws_send: try again. May be NULL. */
    void (*on_room)(struct ws *w);
    /*
     * Called once, as the last, never from within a call. code: the peer's
     * (WS_NO_CODE if it gave none), ours if the peer broke the protocol, or WS_LOST.
     */
    void (*on_close)(struct ws *w, int code, struct str reason);
    /* After on_message, when all messages that were read were passed on. May be NULL. */
    void (*on_taken)(struct ws *w);
};

struct ws {
    struct stream s;
    const struct ws_events *ev;
    struct ws_opts opts;
    struct buf msg;   /* of a message that came in pieces */
    size_t checked;   /* bytes of msg known to be UTF-8 */
    uint64_t left;    /* payload bytes of the current data frame to come */
    int64_t heard_us; /* last sign of life */
    size_t queued;      /* bytes ever queued */
    size_t waits, gone; /* of these at the last tick: not taken by the peer, and taken */
    struct timer timer;    /* open: silence; closing and leaving: the deadline */
    struct task turn;      /* writes, and goes on with what has been read */
    int code;              /* of on_close */
    uint8_t state, opcode; /* of the message in the making; 0: none */
    uint8_t mask[4];       /* turned to the next payload byte */
    bool fin, paused, again, refused, pong_due, told;
    uint8_t note_n, keys_n;
    char note[WS_CONTROL_MAX]; /* open: the ping to answer; later: the reason */
    uint8_t keys[64];          /* random bytes for masks (client) */
};

/*
 * Takes the stream, which is then closed for its owner. Bytes that it has already read
 * are processed at the end of this turn.
 */
void ws_start(struct ws *w, struct stream *take, const struct ws_opts *opts,
              const struct ws_events *ev);
/* Messages after the current one may have message_max bytes. */
void ws_set_max(struct ws *w, size_t message_max);
/*
 * Queues a message; text must be valid UTF-8. Returns false if nothing was queued:
 * the stream holds more than its `low` mark, and on_room follows; or the connection
 * is not open any more. A message longer than ws_send_max is never taken, and no
 * on_room follows for it.
 */
bool ws_send(struct ws *w, bool text, struct str message);
size_t ws_send_max(const struct ws *w);
/* Returns the bytes that are queued and were not yet passed to the kernel. */
size_t ws_queued(const struct ws *w);
/*
 * Starts the closing handshake after what is queued; on_close follows after
 * close_ms at the latest. reason is cut at WS_REASON_MAX, between characters.
 * Does nothing if w is not open.
 */
void ws_close(struct ws *w, enum ws_code code, struct str reason);
bool ws_is_open(const struct ws *w);
/*
 * Reads nothing and calls no on_message until ws_resume. If the peer hangs up meanwhile,
 * its unread messages are lost.
 */
void ws_pause(struct ws *w);
void ws_resume(struct ws *w);
/*
 * Cuts the connection; no callback follows. Idempotent; does nothing after on_close,
 * or if w is all zeros.
 */
void ws_release(struct ws *w);

#endif
