/* SPDX-License-Identifier: MIT */
/* The event stream as a front-end of od serve (front/front.h). */
#include "front/front.h"

#include "action/events.h"

static void add_metrics(void *arg, struct buf *out) { fronts_metrics(arg, out); }

static void *open_events(struct fronts *all, const struct json *options)
{
    struct events *ev = events_open(fronts_engine(all), fronts_find(all, "v0"),
                                    fronts_keys(all), json_get(options, "events"));
    events_add_metrics(ev, add_metrics, all);
    return ev;
}

static const struct http_front *http(const void *f, unsigned i)
{
    return i == 0 ? events_front(f) : i == 1 ? events_files_front(f) : NULL;
}

static bool take(void *f, struct str name, int fd)
{
    if (!str_eq(name, STR("events")))
        return false;
    events_take(f, fd);
    return true;
}

static void format(struct buf *out) { buf_addz(out, "events 1"); }
static void load(void *f) { events_load(f); }
static void start(void *f) { events_start(f); }

static void close_events(void *f, bool another)
{
    (void)another;
    events_close(f);
}

static const char *const claims[] = {"events/", "native/", NULL};

const struct front front_events = {
    .name = "events",
    .claims = claims,
    .format = format,
    .open = open_events,
    .http = http,
    .native = true,
    .take = take,
    .load = load,
    .start = start,
    .close = close_events,
};
