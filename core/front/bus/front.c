/* SPDX-License-Identifier: MIT */
/* The bus as a front-end of od serve (front/front.h): it has no routes. */
#include "front/front.h"

#include "front/bus/bus.h"

static void *open_bus(struct fronts *all, const struct json *options)
{
    return bus_open(fronts_engine(all), fronts_find(all, "events"), options);
}

static void load(void *f) { bus_load(f); }
static void start(void *f) { bus_start(f); }

/* At the server's end, flush closes the bus. */
static void close_bus(void *f, bool another)
{
    if (another)
        bus_close(f);
}

static void flush(void *f, void (*fn)(void *arg), void *arg) { bus_flush(f, fn, arg); }
static void metrics(const void *f, struct buf *out) { bus_metrics(f, out); }
static struct json *status(const void *f) { return bus_status(f); }

const struct front front_bus = {
    .name = "bus",
    .options = &bus_options,
    .open = open_bus,
    .load = load,
    .start = start,
    .close = close_bus,
    .flush = flush,
    .metrics = metrics,
    .status = status,
};
