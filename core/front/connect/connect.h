/* SPDX-License-Identifier: MIT */
/*
 * Dial-out: od connects to its backend and keeps the event stream to it open, for
 * sandboxes that cannot be reached from outside (the protocol: front/connect/README.md).
 *
 *   DIAL ─▶ ASK ─▶ HELLO ─▶ UP       one try: a connection (TLS, proxy), a
 *     │  ▲──┘│       │      │        WebSocket's handshake with redirects, our hello
 *     ▼      ▼       ▼      ▼        and the backend's {"since":N}
 *   WAIT ◄──────────────────┘        then again, forever; nothing is lost meanwhile,
 *                                    since events are in the log
 *
 * The end of each try and link has a name (connect_outcome), for the log and the metrics,
 * and a sentence. struct connect owns its connection and link, not the events. A new
 * worker begins with DIAL.
 */
#ifndef OD_FRONT_CONNECT_CONNECT_H
#define OD_FRONT_CONNECT_CONNECT_H

#include "front/events/events.h"
#include "base/json.h"
#include "engine/engine.h"
#include "front/connect/ask.h"

struct option_table; /* base/option.h */

struct connect;

/* The options of od serve about the backend (front/connect/options.c). */
extern const struct option_table connect_options;

/*
 * Opens dial-out. options: the JSON that od serve stored; the needed parts are copied.
 * Returns NULL if they name no backend.
 */
struct connect *connect_open(struct engine *en, struct events *events,
                             const struct json *options);
/*
 * Reads the state that the previous worker left. Call before engine_resume. NULL is fine,
 * as below.
 */
void connect_load(struct connect *c);
/* Begins to dial. */
void connect_start(struct connect *c);
/* Closes the link with a Close; c is freed at the end of the turn. */
void connect_close(struct connect *c);

/* Appends lines for Prometheus, each metric with HELP and TYPE; none if out is full. */
void connect_metrics(const struct connect *c, struct buf *out);
/*
 * Returns {"backend","state","links","tries","last":{"outcome","error","ago_ms"},
 * "next_ms"}, which the caller owns; NULL if there is no backend.
 */
struct json *connect_status(const struct connect *c);

#endif
