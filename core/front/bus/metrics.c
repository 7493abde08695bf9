/* SPDX-License-Identifier: MIT */
/* Metrics and status of the bus. */
#include "front/bus/own.h"

#include "base/clock.h"
#include "base/metrics.h"

void bus_metrics(const struct bus *b, struct buf *out)
{
    const struct publish *p = &b->out;
    const struct take *t = &b->in;
    metrics_gauge(out, "bus_up", "Whether the link to the bus is up.",
                  b->state == BUS_UP);
    metrics_counter(out, "bus_tries_total", "Tries to reach the bus.", b->tries);
    metrics_counter(out, "bus_links_total", "Links that were up.", b->links);
    metrics_gauge(out, "bus_published", "The last event that the bus has.",
                  (double)p->published);
    metrics_gauge(out, "bus_acked", "The last event that a backend acknowledged.",
                  (double)p->acked);
    metrics_gauge(out, "bus_backlog", "Events on the bus that no backend acknowledged.",
                  (double)publish_backlog(b));
    metrics_gauge(out, "bus_waiting", "Events in the log that are not on the bus yet.",
                  (double)publish_waiting(b));
    metrics_gauge(out, "bus_window_bytes", "Bytes of the events of od_bus_backlog.",
                  (double)p->bytes);
    metrics_counter(out, "bus_events_total", "Events that were sent.", p->events);
    metrics_counter(out, "bus_event_bytes_total", "Their bytes.", p->event_bytes);
    metrics_counter(out, "bus_duplicates_total", "Events that the bus had already.",
                    p->duplicates);
    metrics_counter(out, "bus_actions_total", "Actions taken from the bus.", t->actions);
    metrics_counter(out, "bus_repeated_total", "Actions that had been taken before.",
                    t->repeated);
    metrics_counter(out, "bus_refused_total", "Messages that were not actions.",
                    t->refused);
    metrics_counter(out, "bus_deltas_total", "Pieces of live output that were published.",
                    b->deltas.published);
    buf_addz(out, "# HELP od_bus_ends_total Tries that failed and links that ended.\n"
                  "# TYPE od_bus_ends_total counter\n");
    for (int o = 0; o < BUS_OUTCOMES; o++)
        buf_addf(out, "od_bus_ends_total{outcome=\"%s\"} %llu\n",
                 bus_outcome_name((enum bus_outcome)o), (unsigned long long)b->ends[o]);
}

static const char *state_name(enum bus_state s)
{
    switch (s) {
    case BUS_IDLE:
        return "idle";
    case BUS_WAITS:
        return "waiting";
    case BUS_ASKS:
    case BUS_DIALS:
        return "dialling";
    case BUS_UP:
        return "up";
    default:
        return "asking";
    }
}

struct json *bus_status(const struct bus *b)
{
    struct json *j = json_object(), *last;
    struct buf to = BUF_INIT(400);
    int64_t now = clock_ms();
    bus_print(b, &to);
    json_put_str(j, "server", buf_str(&to));
    json_put_z(j, "sandbox", b->sandbox);
    json_put_z(j, "state", state_name(b->state));
    json_put_int(j, "tries", (int64_t)b->tries);
    json_put_int(j, "links", (int64_t)b->links);
    json_put_int(j, "published", (int64_t)b->out.published);
    json_put_int(j, "acknowledged", (int64_t)b->out.acked);
    json_put_int(j, "backlog", (int64_t)publish_backlog(b));
    json_put_int(j, "waiting", (int64_t)publish_waiting(b));
    if (b->state == BUS_UP)
        json_put_int(j, "up_ms", now - b->up_ms);
    if (b->state == BUS_WAITS)
        json_put_int(j, "next_ms", b->next_ms > now ? b->next_ms - now : 0);
    if (b->error.code != ERR_NONE) {
        last = json_object();
        json_put_z(last, "outcome", bus_outcome_name(b->last));
        json_put_z(last, "error", b->error.text);
        json_put_int(last, "ago_ms", now - b->failed_ms);
        json_put(j, "last", last);
    }
    buf_release(&to);
    return j;
}
