/* SPDX-License-Identifier: MIT */
/*
 * The bus writes events of this sandbox to a stream of a Redis server, and takes actions
 * from another one (README.md has the keys, the commands and what happens when they
 * fail).
 */
#ifndef OD_FRONT_BUS_BUS_H
#define OD_FRONT_BUS_BUS_H

#include "base/json.h"
#include "engine/engine.h"
#include "front/events/events.h"

struct option_table; /* base/option.h */
struct bus;

/* The options of od serve about the bus (options.c). */
extern const struct option_table bus_options;

/*
 * options: the JSON that od serve stored; the needed parts are copied. Returns NULL if
 * there is no bus.
 */
struct bus *bus_open(struct engine *en, struct events *events,
                     const struct json *options);
/* Reads the state that the previous worker left. Call before engine_resume. */
void bus_load(struct bus *b);
void bus_start(struct bus *b);
/* Closes the connections at once and for good, because another worker follows. */
void bus_close(struct bus *b);
/*
 * Called when the server ends: no more actions begin. Calls fn once, when Redis has every
 * event of the log, or after LIMIT_BUS_FLUSH_MS.
 */
void bus_flush(struct bus *b, void (*fn)(void *arg), void *arg);

/* Appends lines for Prometheus, each metric with HELP and TYPE. */
void bus_metrics(const struct bus *b, struct buf *out);
/*
 * {"server","sandbox","state","tries","links","published","acknowledged","backlog",
 * "waiting", "up_ms" or "next_ms", "last":{"outcome","error","ago_ms"}}; the caller owns
 * it.
 */
struct json *bus_status(const struct bus *b);

#endif
