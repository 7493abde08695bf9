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
 * Each try that fails and each link that ends has one name (connect_outcome), for
 * the log and the metrics, and a sentence. It owns its connection and link and
 * nothing of the events. A new worker begins with DIAL.
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
 * options: the JSON that od serve stored; what is needed of it is copied. NULL: it names
 * no backend.
 */
struct connect *connect_open(struct engine *en, struct events *events,
                             const struct json *options);
/* Takes up what the worker before left, before engine_resume. NULL is fine, as below. */
void connect_load(struct connect *c);
/* Dials. */
void connect_start(struct connect *c);
/* Says goodbye to the backend, and is gone when the turn is over. */
void connect_close(struct connect *c);

/* Appends Prometheus' lines, each metric with HELP and TYPE; nothing when out is full. */
void connect_metrics(const struct connect *c, struct buf *out);
/*
 * {"backend","state","links","tries","last":{"outcome","error","ago_ms"}, "next_ms"}; the
 * caller's. Returns NULL if there is none.
 */
struct json *connect_status(const struct connect *c);

#endif
