/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics: the metrics of the engine's parts and the front-ends (base/metrics.h).
 * Totals begin at 0 in each worker.
 */
#include "front/events/own.h"

#include "base/metrics.h"

#include <fcntl.h>
#include <unistd.h>

/* Returns the bytes of memory that the worker uses now; 0 if that is unknown. */
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
    uint64_t behind = 0, next = eventlog_next(actions_log(ev->actions));
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
    metrics_counter(&out, "messages_sent_total", "Messages to subscribers.", s->sent);
    metrics_counter(&out, "messages_sent_bytes_total", "Their bytes.", s->sent_bytes);
    metrics_counter(&out, "output_bytes_total",
                    "Output of commands that subscribers got.", s->delta_bytes);
    put_links(&out, ev);
    metrics_gauge(&out, "resident_memory_bytes", "Of the worker.", resident());
    if (ev->fronts)
        fronts_metrics(ev->fronts, &out);
    req_answer_take(r, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}
