/* SPDX-License-Identifier: MIT */
/* Dial-out as a front-end of od serve (front/front.h): it has no routes. */
#include "front/front.h"

#include "front/connect/connect.h"

static void *open_connect(struct fronts *all, const struct json *options)
{
    return connect_open(fronts_engine(all), fronts_find(all, "events"), options);
}

static void load(void *f) { connect_load(f); }
static void start(void *f) { connect_start(f); }

static void close_connect(void *f, bool another)
{
    (void)another;
    connect_close(f);
}

static void metrics(const void *f, struct buf *out) { connect_metrics(f, out); }
static struct json *status(const void *f) { return connect_status(f); }

static const char *const claims[] = {"connect/", NULL};

const struct front front_connect = {
    .name = "connect",
    .options = &connect_options,
    .claims = claims,
    .open = open_connect,
    .load = load,
    .start = start,
    .close = close_connect,
    .metrics = metrics,
    .status = status,
};
