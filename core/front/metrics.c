/* SPDX-License-Identifier: MIT */
#include "front/metrics.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "engine/process.h"
#include "engine/session.h"

#include <fcntl.h>
#include <unistd.h>

enum { METRICS_MAX = 256 << 10 };

struct metrics {
    struct engine *en;
    void (*add)(void *arg, struct buf *out);
    void *arg;
    struct http_front front;
};

void metrics_add(struct buf *out, const char *name, enum metrics_kind kind,
                 const char *help, double value)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name,
             kind == METRIC_GAUGE ? "gauge" : "counter", name, value);
}

/* Pages that are ours and in memory; 0 without /proc. */
static double resident(void)
{
    char text[128];
    uint64_t pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    if (fd >= 0)
        close(fd);
    struct str rest = str_n(text, n > 0 ? (size_t)n : 0);
    str_cut(&rest, ' ');
    str_to_u64(str_cut(&rest, ' '), &pages);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void add_engine(const struct engine *en, struct buf *out)
{
    struct str key;
    void *value;
    unsigned busy = 0, running = 0;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &key, &value));)
        busy += session_busy(value);
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));)
        running += !process_ended(value);
    metrics_add(out, "od_uptime_seconds", METRIC_GAUGE,
                "Since the server began, whichever worker it has.",
                (double)(clock_ms() - en->started_ms) / 1000);
    metrics_add(out, "od_sessions", METRIC_GAUGE, "Sessions alive.",
                (double)en->sessions.count);
    metrics_add(out, "od_sessions_busy", METRIC_GAUGE, "Of them, with a command.", busy);
    metrics_add(out, "od_processes", METRIC_GAUGE, "Processes known, ended ones too.",
                (double)en->processes.count);
    metrics_add(out, "od_processes_running", METRIC_GAUGE, "Of them, running.", running);
    metrics_add(out, "od_clients", METRIC_GAUGE,
                "Connections of clients, the link to the backend too.", en->clients);
    metrics_add(out, "od_worker_restarted", METRIC_GAUGE,
                "1: this worker took over from another one.", en->restarted);
    metrics_add(out, "od_worker_memory_bytes", METRIC_GAUGE,
                "Memory of the worker that is resident.", resident());
}

static void get_metrics(struct req *r)
{
    struct metrics *m = req_arg(r);
    struct buf out = BUF_INIT(METRICS_MAX);
    add_engine(m->en, &out);
    m->add(m->arg, &out);
    req_answer_take(r, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}

static const struct route routes[] = {
    {HTTP_GET, "/metrics", get_metrics, 0, NULL, false}};

static void fail(struct req *r, int status, const char *text)
{
    req_answer(r, status, "text/plain; charset=utf-8", str_of(text));
}

struct metrics *metrics_open(struct engine *en, void (*add)(void *arg, struct buf *out),
                             void *arg)
{
    struct metrics *m = xnew(struct metrics);
    m->en = en;
    m->add = add;
    m->arg = arg;
    m->front = (struct http_front){.prefix = "",
                                   .routes = routes,
                                   .nroutes = sizeof(routes) / sizeof(routes[0]),
                                   .fail = fail,
                                   .arg = m};
    return m;
}

const struct http_front *metrics_front(struct metrics *m) { return &m->front; }
