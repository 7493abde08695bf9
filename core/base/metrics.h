/* SPDX-License-Identifier: MIT */
/*
 * Numbers for GET /metrics, in the text form of Prometheus (exposition format 0.0.4).
 * Each call appends HELP, TYPE and the value of od_NAME; nothing to a full buffer.
 */
#ifndef OD_BASE_METRICS_H
#define OD_BASE_METRICS_H

#include "base/buf.h"

/* A value that goes up and down. */
void metrics_gauge(struct buf *out, const char *name, const char *help, double value);
/* One that only grows while this worker lives. */
void metrics_counter(struct buf *out, const char *name, const char *help, uint64_t value);

#endif
