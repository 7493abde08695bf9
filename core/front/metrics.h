/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics: what the server does, as Prometheus reads it (its text format, version
 * 0.0.4). Counters begin anew with each worker, which Prometheus expects of them.
 */
#ifndef OD_FRONT_METRICS_H
#define OD_FRONT_METRICS_H

#include "base/buf.h"
#include "engine/engine.h"
#include "proto/httpd.h"

struct metrics;

/* add: appends the numbers of others, whole lines, with arg. */
struct metrics *metrics_open(struct engine *en, void (*add)(void *arg, struct buf *out),
                             void *arg);
const struct http_front *metrics_front(struct metrics *m);

enum metrics_kind { METRIC_GAUGE, METRIC_COUNTER };
/* One number with its HELP and TYPE; nothing when out is full. */
void metrics_add(struct buf *out, const char *name, enum metrics_kind kind,
                 const char *help, double value);

#endif
