/* SPDX-License-Identifier: MIT */
/* The routes of commands, and the state that they share. */
#include "front/v1/bash.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/param.h"
#include "base/xalloc.h"
#include "front/v1/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_LEAST_MS = 60000 };

/* ---- handlers ---- */

static void start_command(struct req *r)
{
    struct v1 *v = v1_of(r);
    struct json *errors = NULL, *q = model_body(&bash_request, r, &errors);
    char id[BASH_ID + 1];
    if (!q) {
        model_refuse(r, errors);
        return;
    }
    v1_touch(v);
    uint64_t number = bash_do(v->bash, q, id);
    json_free(q);
    struct str text = bash_store_text(&v->bash->store, number);
    if (text.p)
        req_answer(r, 200, v1_json, text);
    else
        v1_unforeseen(r, "the event of the command cannot be read");
}

/* Removes all events. Running commands go on, and write new events. */
static void clear(struct req *r)
{
    struct bash_store *s = &v1_of(r)->bash->store;
    struct json *j = json_object();
    json_put_int(j, "cleared_count", (int64_t)bash_store_drop(s, bash_store_end(s)));
    v1_answer(r, 200, j);
}

/* ---- life ---- */

static void on_publish(struct task *t)
{
    bash_links_pump(container_of(t, struct bash, publish));
}

void bash_publish(struct bash *b) { task_defer(b->v->en->loop, &b->publish); }

static void on_sweep(struct timer *t)
{
    struct bash *b = container_of(t, struct bash, sweep);
    uint64_t age = (uint64_t)b->retention_ms * 1000;
    uint64_t now = (uint64_t)clock_wall_ms() * 1000, cut = now > age ? now - age : 0;
    size_t n = bash_store_drop(&b->store, bash_store_since(&b->store, cut));
    if (n > 0)
        log_info("v1: %zu old events of commands were removed", n);
    int64_t every = b->retention_ms / 2;
    timer_begin(b->v->en->loop, t, every > SWEEP_LEAST_MS ? every : SWEEP_LEAST_MS,
                on_sweep);
}

struct bash *bash_open(struct v1 *v, struct str dir, int64_t retention_ms)
{
    struct bash *b = xnew(struct bash);
    b->v = v;
    b->retention_ms = retention_ms;
    b->dir = xstrndup(dir.p, dir.n);
    list_init(&b->runs);
    list_init(&b->links);
    task_init(&b->publish, on_publish);
    return b;
}

void bash_load(struct bash *b)
{
    char path[V1_PATH_MAX];
    const char *state = b->v->en->state_dir;
    snprintf(path, sizeof(path), "%s%s", b->dir[0] ? b->dir : state,
             b->dir[0] || !state[0] ? "" : "/v1/bash_events");
    bash_store_open(&b->store, path);
    bash_runs_load(b);
}

void bash_start(struct bash *b)
{
    bash_runs_start(b);
    if (b->retention_ms > 0)
        on_sweep(&b->sweep);
}

void bash_close(struct bash *b, bool another)
{
    (void)another;
    bash_links_close(b);
}

void bash_metrics(const struct bash *b, struct buf *out)
{
    metrics_gauge(out, "v1_commands", "Running commands of the agent-server.", b->nruns);
    metrics_gauge(out, "v1_sockets", "WebSockets that get events of commands.",
                  b->nlinks);
    metrics_gauge(out, "v1_event_bytes", "Events of commands that are kept.",
                  (double)b->store.bytes);
}

/* ---- routes ---- */

static const struct param search_query[] = {
    {.name = "kind__eq",
     .type = PARAM_STRING,
     .choices = "BashCommand BashOutput",
     .about = "Only events of this kind"},
    {.name = "command_id__eq",
     .type = PARAM_STRING,
     .about = "Only outputs of this command"},
    {.name = "timestamp__gte", .type = PARAM_STRING, .about = "Not before this time"},
    {.name = "timestamp__lt", .type = PARAM_STRING, .about = "Before this time"},
    {.name = "order__gt", .type = PARAM_INT, .about = "Only outputs with a higher order"},
    {.name = "sort_order",
     .type = PARAM_STRING,
     .choices = "TIMESTAMP TIMESTAMP_DESC",
     .dflt = "\"TIMESTAMP\"",
     .about = "The oldest or the newest first"},
    {.name = "page_id",
     .type = PARAM_STRING,
     .about = "next_page_id of the previous page"},
    {.name = "limit",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .max = 100,
     .dflt = "100",
     .about = "The number of events at most"},
    {0}};

static const struct param event_query[] = {
    {.name = "event_id", .type = PARAM_STRING, .required = true, .about = "The event"},
    {0}};

static const struct param batch_query[] = {
    {.name = "event_ids",
     .type = PARAM_STRINGS,
     .about = "The events, if there is no body with an array of ids"},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_POST,
     .path = "/api/bash/start_bash_command",
     .run = start_command,
     .body_max = V1_BODY_MAX,
     .about = "Starts a command, and returns its BashCommand"},
    {.methods = HTTP_POST,
     .path = "/api/bash/execute_bash_command",
     .run = bash_execute,
     .body_max = V1_BODY_MAX,
     .about = "Runs a command to its end, and returns its output"},
    {.methods = HTTP_GET,
     .path = "/api/bash/bash_events/search",
     .run = bash_search,
     .right = RIGHT_VIEW,
     .query = search_query,
     .about = "A page of events"},
    {.methods = HTTP_GET,
     .path = "/api/bash/bash_events/",
     .run = bash_batch,
     .body_max = 64 << 10,
     .right = RIGHT_VIEW,
     .query = batch_query,
     .about = "Events by their ids"},
    {.methods = HTTP_GET,
     .path = "/api/bash/bash_events/{event_id}",
     .run = bash_get,
     .right = RIGHT_VIEW,
     .query = event_query,
     .about = "One event"},
    {.methods = HTTP_DELETE,
     .path = "/api/bash/bash_events",
     .run = clear,
     .about = "Removes all events"},
    {.methods = HTTP_GET,
     .path = "/sockets/bash-events",
     .run = bash_socket,
     .right = RIGHT_VIEW,
     .marks = ROUTE_MESSAGE,
     .about = "A WebSocket: sends events as they happen; accepts commands"},
};

const struct http_front v1_bash_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
