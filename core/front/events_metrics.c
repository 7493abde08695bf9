/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics: what there is and was, in the text form of Prometheus (exposition
 * format 0.0.4). Totals are this worker's, and begin at 0 with it.
 */
#include "front/events_own.h"

#include "base/clock.h"
#include "engine/process.h"
#include "engine/session.h"

#include <fcntl.h>
#include <unistd.h>

static void put(struct buf *out, const char *name, const char *kind, const char *help,
                double value)
{
    buf_addf(out, "# HELP od_%s %s\n# TYPE od_%s %s\nod_%s %.17g\n", name, help, name,
             kind, name, value);
}

static void gauge(struct buf *out, const char *name, const char *help, double value)
{
    put(out, name, "gauge", help, value);
}

static void counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
    put(out, name, "counter", help, (double)value);
}

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

static void put_engine(struct buf *out, const struct engine *en)
{
    struct str key;
    void *value;
    unsigned busy = 0, running = 0;
    double spool = 0;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));) {
        busy += session_busy(value);
        spool += (double)session_spool_bytes(value);
    }
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));) {
        running += !process_ended(value);
        spool += (double)process_spool_bytes(value);
    }
    gauge(out, "uptime_seconds", "Since the server began, over restarts of its worker.",
          (double)(clock_ms() - en->started_ms) / 1000);
    gauge(out, "sessions", "Shells that are there.", (double)en->sessions.count);
    gauge(out, "sessions_busy", "Shells in which something runs.", busy);
    gauge(out, "processes", "Plain processes that run.", running);
    gauge(out, "spool_bytes", "Reserved for the output of sessions and processes.",
          spool);
    gauge(out, "connections", "HTTP connections and clients of the socket.",
          (double)en->clients);
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
    gauge(out, "subscribers", "Connections that follow the events.", links);
    gauge(out, "subscribers_queued_bytes", "On their way to subscribers.", queued);
    gauge(out, "subscribers_lag_events", "By which the slowest one is behind.",
          (double)behind);
}

void events_metrics(struct req *r)
{
    struct events *ev = req_arg(r);
    const struct events_stats *s = &ev->stats;
    struct buf out = BUF_INIT(64 << 10);
    put_engine(&out, ev->en);
    counter(&out, "worker_starts_total", "Workers of this server so far.", ev->starts);
    counter(&out, "actions_total", "Actions that were taken.", s->actions);
    counter(&out, "actions_repeated_total", "Actions that were asked again.",
            s->duplicates);
    gauge(&out, "actions_pending", "Actions without an observation.", ev->npendings);
    counter(&out, "observations_total", "Observations that were written.",
            s->observations);
    counter(&out, "action_errors_total", "Actions that could not be done.", s->errors);
    buf_addf(&out,
             "# HELP od_command_duration_seconds From a command's action to its "
             "observation.\n"
             "# TYPE od_command_duration_seconds summary\n"
             "od_command_duration_seconds_sum %.3f\n"
             "od_command_duration_seconds_count %llu\n",
             (double)s->command_ms / 1000, (unsigned long long)s->commands);
    gauge(&out, "events_first_id", "The oldest event that is kept.",
          (double)eventlog_first(ev->log));
    gauge(&out, "events_next_id", "The id of the next event.",
          (double)eventlog_next(ev->log));
    gauge(&out, "events_in_memory", "1: there is no disk for them.",
          eventlog_memory_fd(ev->log) >= 0);
    counter(&out, "events_refused_total", "Events that could not be written.",
            s->refused);
    counter(&out, "messages_sent_total", "Messages to subscribers.", s->sent);
    counter(&out, "messages_sent_bytes_total", "Their bytes.", s->sent_bytes);
    counter(&out, "output_bytes_total", "Output of commands that subscribers got.",
            s->delta_bytes);
    put_links(&out, ev);
    gauge(&out, "resident_memory_bytes", "Of the worker.", resident());
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
