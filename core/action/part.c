/* SPDX-License-Identifier: MIT */
/*
 * The start of a worker: opens the log, and takes up the actions that the previous worker
 * left unfinished.
 *
 * To find these actions, a new worker does not read the whole log: the keeper has a list
 * of them, and the id that was the next when the list was stored. Only the few events
 * from that id on are read.
 */
#include "action/outside_own.h"
#include "action/own.h"
#include "action/background.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "setup/plugins.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Segments of the log: dropping the oldest one drops at most this part of the log. Each
 * new worker reads the newest segment whole, so its size has a fixed maximum.
 */
enum { SEGMENTS = 16 };

static uint64_t segment_bytes(const struct json *o)
{
    uint64_t n = (uint64_t)json_int(o, "bytes", 0) / SEGMENTS;
    return n < LIMIT_EVENT_SEGMENT ? n : LIMIT_EVENT_SEGMENT;
}

static const char open_key[] = "events/open", starts_key[] = "events/starts";

/* ---- what has no observation yet ---- */

static void on_keep(struct task *t)
{
    struct actions *all = container_of(t, struct actions, keep);
    struct buf b = BUF_INIT(32 << 10);
    uint64_t next = eventlog_next(all->log);
    /* Not after each event: the next worker reads the events since the last list. */
    if (all->stored > 0 && next - all->stored < STORE_EVERY)
        return;
    all->stored = next;
    buf_addf(&b, "%llu", (unsigned long long)next);
    for (struct action *a = NULL; (a = actions_next(all, a));) {
        if (a->id && !a->repeats)
            buf_addf(&b, " %llu", (unsigned long long)a->id);
    }
    keeper_client_put(all->en->keeper, str_of(open_key), buf_str(&b));
    buf_release(&b);
}

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "fsync",
     .type = OPTION_TEXT,
     .value = "WHEN",
     .env = "OD_FSYNC",
     .dflt = "interval",
     .choices = "none interval always",
     .about = "write events to the disk: none, when the system decides; interval, "
              "within a second; always, before anything depends on them"},
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
     .about = "keep this many MiB of events, and remove older ones"},
    {.name = "events-age",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_EVENTS_AGE",
     .member = "age_ms",
     .unset = "forever",
     .about = "keep events for this long, such as 30, 0.5 or 48h"},
    {.name = "log-commands",
     .type = OPTION_TEXT,
     .value = "HOW",
     .env = "OD_LOG_COMMANDS",
     .member = "log_commands",
     .dflt = "text",
     .choices = "text none",
     .about = "show commands, cells and calls in events: text, in full; none, only "
              "their length and SHA-256 sum"},
    {.name = "secret",
     .type = OPTION_LIST,
     .value = "NAME",
     .env = "OD_SECRETS",
     .member = "secrets",
     .max = 32,
     .about = "hide the value of this environment variable in events; give the option "
              "once for each variable (in the environment: a list with commas)"},
    {.name = NULL},
};

/* Replaces names of secrets by their values: the worker does not have these variables. */
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
            log_warn("there is no variable %s, so there is no value to hide", name);
    }
    json_put(*own, "secrets", values);
    return 0;
}

static const struct option_table options_events = {
    .heading = "Event stream", .section = "events", .rows = rows, .prepare = prepare};

/* ---- life ---- */

static enum eventlog_sync sync_of(struct str word)
{
    return str_eq(word, STR("none"))     ? EVENTLOG_SYNC_NONE
           : str_eq(word, STR("always")) ? EVENTLOG_SYNC_ALWAYS
                                         : EVENTLOG_SYNC_INTERVAL;
}
static void on_ready(struct sandbox_wait *w)
{
    actions_turn(container_of(w, struct actions, ready));
}

static void on_turn(struct task *t)
{
    actions_turn(container_of(t, struct actions, turn));
}

static void configure(struct engine *en, const struct json *options)
{
    const struct json *o = json_get(options, "events");
    struct actions *all = xnew(struct actions);
    *all = (struct actions){.en = en,
                            .terse = str_eq(json_str(o, "log_commands", ""), STR("none")),
                            .opts = {.memory_fd = -1,
                                     .segment_bytes = segment_bytes(o),
                                     .total_bytes = (uint64_t)json_int(o, "bytes", 0),
                                     .max_age_ms = json_int(o, "age_ms", 0),
                                     .sync = sync_of(json_str(o, "fsync", "interval")),
                                     .reserve = LIMIT_EVENT_RESERVE,
                                     .drop_when_full = true}};
    list_init(&all->list);
    list_init(&all->turns);
    list_init(&all->watches);
    list_init(&all->cells);
    list_init(&all->followers);
    list_init(&all->backgrounds);
    list_init(&all->knowns);
    map_init(&all->names);
    map_init(&all->ends);
    map_init(&all->places);
    map_init(&all->holders);
    buf_init(&all->batch, LIMIT_EVENT_MAX + 2 * BATCH);
    buf_init(&all->joined.text, GROUP_BYTES);
    buf_init(&all->ended.text, GROUP_BYTES);
    task_init(&all->keep, on_keep);
    task_init(&all->turn, on_turn);
    for (struct json *v = json_first(json_get(o, "secrets")); v; v = json_next(v))
        actions_own_secret(all, json_str_value(v, ""), "a value of --secret");
    en->actions = all;
}

static bool take(struct engine *en, struct str name, int fd)
{
    if (!str_eq(name, STR("events")))
        return false;
    en->actions->opts.memory_fd = fd;
    return true;
}

static void count_start(struct actions *all)
{
    char text[24];
    struct buf *b = map_get(&all->en->states, str_of(starts_key));
    if (b)
        str_to_u64(buf_str(b), &all->stats.starts);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)++all->stats.starts);
    keeper_client_put(all->en->keeper, str_of(starts_key), str_of(text));
}

/* Plugins have no session and no action: an observation without a cause. */
static void on_plugin(void *arg, const char *plugin, const char *kind, struct str text)
{
    struct actions *all = arg;
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    buf_addz(&b, "{\"observation\":\"plugin\",\"content\":");
    json_quote(&b, text);
    buf_addz(&b, ",\"extras\":{\"plugin\":");
    json_quote(&b, str_of(plugin));
    buf_addf(&b, ",\"kind\":\"%s\"}}", kind);
    if (!log_append(all, &b, &e))
        log_warn("a message of plugin %s is not in the event log: %s", plugin, e.text);
    buf_release(&b);
}
static void load(struct engine *en)
{
    struct actions *all = en->actions;
    log_open(all);
    count_start(all);
    secrets_load(all);
    places_load(all);
    backgrounds_load(all);
    run_watch(all);
    all->indexed_to = eventlog_next(all->log);
    all->indexed = all->indexed_to == 1;
    plugins_listen(en->plugins, on_plugin, all);
    /* Copied, as the states are freed before this is read. */
    struct buf *b = map_get(&en->states, str_of(open_key));
    buf_init(&all->kept, LIMIT_BLOB_MAX);
    if (b)
        buf_adds(&all->kept, buf_str(b));
}

/* ---- what the previous worker left ---- */

/* Ids of unfinished actions, in ascending order. */
struct left {
    uint64_t *ids; /* owned */
    size_t n, max;
};

static void left_add(struct left *l, uint64_t id)
{
    if (l->n > 0 && l->ids[l->n - 1] >= id)
        return;
    if (l->n == l->max) {
        l->max = l->max ? 2 * l->max : 64;
        l->ids = xrealloc(l->ids, l->max, sizeof(*l->ids));
    }
    l->ids[l->n++] = id;
}

static void on_scanned(void *arg, struct str line)
{
    struct left *left = arg;
    struct event_members l;
    event_members(line, &l);
    if (l.kind == EVENT_ACTION)
        left_add(left, l.id);
    for (size_t i = 0; l.kind == EVENT_END && i < left->n; i++) {
        if (left->ids[i] == l.cause) {
            memmove(left->ids + i, left->ids + i + 1,
                    (--left->n - i) * sizeof(left->ids[0]));
            break;
        }
    }
}

static void serve(struct engine *en)
{
    struct actions *all = en->actions;
    struct left left = {0};
    struct str rest = buf_str(&all->kept);
    uint64_t next = eventlog_next(all->log), from = 0, id;
    bool new_server = rest.n == 0;
    if (str_to_u64(str_cut(&rest, ' '), &from) < 0)
        from = next > KNOWN_BACK ? next - KNOWN_BACK : 1;
    while (rest.n > 0) {
        if (str_to_u64(str_cut(&rest, ' '), &id) == 0)
            left_add(&left, id);
    }
    log_each(all, from, next, on_scanned, &left);
    buf_release(&all->kept);
    for (size_t i = 0; i < left.n; i++)
        order_again(all, left.ids[i], new_server);
    free(left.ids);
    backgrounds_loaded(all);
    places_loaded(all);
    task_defer(en->loop, &all->keep);
    sandbox_await(en->sandbox, &all->ready, on_ready);
}

static void metrics(const struct engine *en, struct buf *out)
{
    const struct actions *all = en->actions;
    const struct actions_stats *s = &all->stats;
    metrics_counter(out, "worker_starts_total", "Workers of this server so far.",
                    s->starts);
    metrics_counter(out, "actions_total", "Actions that were accepted.", s->actions);
    metrics_counter(out, "actions_repeated_total", "Actions that were repeated.",
                    s->repeated);
    metrics_gauge(out, "actions_pending", "Actions without an observation.", s->pending);
    metrics_counter(out, "observations_total", "Observations that were written.",
                    s->observations);
    metrics_counter(out, "action_errors_total", "Actions that failed.", s->errors);
    buf_addf(out,
             "# HELP od_command_duration_seconds From a command's action to its "
             "observation.\n"
             "# TYPE od_command_duration_seconds summary\n"
             "od_command_duration_seconds_sum %.3f\n"
             "od_command_duration_seconds_count %llu\n",
             (double)s->command_ms / 1000, (unsigned long long)s->commands);
    metrics_gauge(out, "events_first_id", "The oldest event that is kept.",
                  (double)eventlog_first(all->log));
    metrics_gauge(out, "events_next_id", "The id of the next event.",
                  (double)eventlog_next(all->log));
    metrics_gauge(out, "events_in_memory", "1: they are not on disk.",
                  eventlog_memory_fd(all->log) >= 0);
    metrics_counter(out, "events_refused_total", "Events that could not be written.",
                    s->refused);
}

static void format(struct buf *out) { buf_addz(out, "action 2"); }

const struct part part_action = {
    .key = "events/",
    .options = &options_events,
    .claims = "native/",
    .format = format,
    .configure = configure,
    .take = take,
    .load = load,
    .serve = serve,
    .metrics = metrics,
};
