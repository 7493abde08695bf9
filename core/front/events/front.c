/* SPDX-License-Identifier: MIT */
/* The event stream as a front-end of od serve (front/front.h). */
#include "front/front.h"

#include "front/events/events.h"

static void *open_events(struct fronts *all, const struct json *options)
{
    (void)options;
    return events_open(fronts_engine(all), fronts_access(all), all);
}

static const struct http_front *http(const void *f, unsigned i)
{
    return i == 0   ? events_front(f)
           : i == 1 ? events_files_front(f)
           : i == 2 ? events_checkpoints_front(f)
                    : NULL;
}

static void close_events(void *f, bool another)
{
    (void)another;
    events_close(f);
}

const struct front front_events = {
    .name = "events",
    .open = open_events,
    .http = http,
    .native = true,
    .close = close_events,
};
