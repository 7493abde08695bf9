/* SPDX-License-Identifier: MIT */
/* The event stream as a front-end of od serve (front/front.h). */
#include "front/front.h"

#include "action/events.h"
#include "base/log.h"

#include <stdlib.h>

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "fsync",
     .type = OPTION_TEXT,
     .value = "WHEN",
     .env = "OD_FSYNC",
     .dflt = "interval",
     .choices = "none interval always",
     .about = "events reach the disk: none, when the system likes; interval, within a "
              "second; always, before anything follows from them"},
    {.name = "events-size",
     .type = OPTION_INT,
     .value = "MIB",
     .env = "OD_EVENTS_SIZE",
     .member = "bytes",
     .unset = "256; 16 in memory",
     .min = 1,
     .max = 1 << 20,
     .unit = 1 << 20,
     .takes = "MiB, from 1 on",
     .about = "of the events that are kept; older ones go"},
    {.name = "events-age",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_EVENTS_AGE",
     .member = "age_ms",
     .unset = "forever",
     .about = "how long events are kept, as in 30, 0.5 or 48h"},
    {.name = "secret",
     .type = OPTION_LIST,
     .value = "NAME",
     .env = "OD_SECRETS",
     .member = "secrets",
     .max = 32,
     .about =
         "the value of this variable of the environment is not to be seen in events, "
         "any number of times (a list with commas in the environment)"},
    {.name = NULL},
};

/* The names of secrets become their values, which the worker's environment has not. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    struct json *values = json_array();
    (void)given;
    (void)e;
    for (struct json *v = json_first(json_get(*own, "secrets")); v; v = json_next(v)) {
        const char *name = json_str_value(v, "").p, *value = getenv(name);
        if (value && *value)
            json_push_str(values, str_of(value));
        else
            log_warn("there is no variable %s, so nothing of it is hidden", name);
    }
    json_put(*own, "secrets", values);
    return 0;
}

static const struct option_table options_events = {
    .heading = "Event stream", .section = "events", .rows = rows, .prepare = prepare};

/* ---- as a front-end ---- */

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
    .options = &options_events,
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
