/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics: what the parts of the engine, the log and the front-ends count
 * (base/metrics.h). Totals are this worker's, and begin at 0 with it.
 */
#include "action/own.h"

#include "base/metrics.h"

#include <fcntl.h>
#include <unistd.h>

/* Bytes of memory that the worker has now; 0: cannot be known. */
static double resident(void)
{
    char text[128];
    uint64_t pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    if (fd >= 0)
        close(fd);
    struct str s = str_n(text, n > 0 ? (size_t)n : 0);
    str_cut(&s, ' ');
    str_to_u64(str_cut(&s, ' '), &pages);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void put_links(struct buf *out, struct events *ev)
{
    struct list *it, *tmp;
    uint64_t behind = 0, next = eventlog_next(ev->log);
    double queued = 0, links = 0;
    list_each (it, tmp, &ev->links) {
        struct events_link *k = list_entry(it, struct events_link, node);
        uint64_t lag = k->begun && k->cursor.next < next ? next - k->cursor.next : 0;
        behind = lag > behind ? lag : behind;
        queued += (double)(k->req ? k->rest.n : ws_queued(&k->ws));
        links++;
    }
    metrics_gauge(out, "subscribers", "Connections that follow the events.", links);
    metrics_gauge(out, "subscribers_queued_bytes", "On their way to subscribers.",
                  queued);
    metrics_gauge(out, "subscribers_lag_events", "By which the slowest one is behind.",
                  (double)behind);
}

void events_metrics(struct req *r)
{
    struct events *ev = req_arg(r);
    const struct events_stats *s = &ev->stats;
    struct buf out = BUF_INIT(64 << 10);
    engine_metrics(ev->en, &out);
    metrics_counter(&out, "worker_starts_total", "Workers of this server so far.",
                    ev->starts);
    metrics_counter(&out, "actions_total", "Actions that were taken.", s->actions);
    metrics_counter(&out, "actions_repeated_total", "Actions that were asked again.",
                    s->duplicates);
    metrics_gauge(&out, "actions_pending", "Actions without an observation.",
                  ev->npendings);
    metrics_counter(&out, "observations_total", "Observations that were written.",
                    s->observations);
    metrics_counter(&out, "action_errors_total", "Actions that could not be done.",
                    s->errors);
    buf_addf(&out,
             "# HELP od_command_duration_seconds From a command's action to its "
             "observation.\n"
             "# TYPE od_command_duration_seconds summary\n"
             "od_command_duration_seconds_sum %.3f\n"
             "od_command_duration_seconds_count %llu\n",
             (double)s->command_ms / 1000, (unsigned long long)s->commands);
    metrics_gauge(&out, "events_first_id", "The oldest event that is kept.",
                  (double)eventlog_first(ev->log));
    metrics_gauge(&out, "events_next_id", "The id of the next event.",
                  (double)eventlog_next(ev->log));
    metrics_gauge(&out, "events_in_memory", "1: there is no disk for them.",
                  eventlog_memory_fd(ev->log) >= 0);
    metrics_counter(&out, "events_refused_total", "Events that could not be written.",
                    s->refused);
    metrics_counter(&out, "messages_sent_total", "Messages to subscribers.", s->sent);
    metrics_counter(&out, "messages_sent_bytes_total", "Their bytes.", s->sent_bytes);
    metrics_counter(&out, "output_bytes_total",
                    "Output of commands that subscribers got.", s->delta_bytes);
    put_links(&out, ev);
    metrics_gauge(&out, "resident_memory_bytes", "Of the worker.", resident());
    if (ev->add_metrics)
        ev->add_metrics(ev->metrics_arg, &out);
    req_answer_take(r, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}

void events_add_metrics(struct events *ev, void (*add)(void *arg, struct buf *out),
                        void *arg)
{
    ev->add_metrics = add;
    ev->metrics_arg = arg;
}
