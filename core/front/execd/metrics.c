/* SPDX-License-Identifier: MIT */
/*
 * /metrics: processors and memory of the machine, as /proc reports them. Measuring the
 * processors takes LOOK_MS.
 */
#include "front/execd/own.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "os/machine.h"

#include <stdlib.h>

enum { LOOK_MS = 250, WATCH_MS = 2000, MIB = 1 << 20 };

struct execd_metrics {
    struct execd *f;
    struct req *req;
    struct machine before;
    struct timer timer;
    bool watch;
};

static void put(struct buf *b, struct execd_metrics *m)
{
    struct machine now;
    machine_measure(&now);
    buf_addf(b, "{\"cpu_count\":%u,\"cpu_used_pct\":%.2f,\"mem_total_mib\":%.2f,",
             now.cpus, machine_busy(&m->before, &now), (double)now.mem_total / MIB);
    buf_addf(b, "\"mem_used_mib\":%.2f,\"timestamp\":%lld}",
             (double)(now.mem_total - now.mem_available) / MIB,
             (long long)clock_wall_ms());
    m->before = now;
}

static void bury(struct execd_metrics *m)
{
    timer_stop(&m->timer);
    loop_bury(m->f->en->loop, m, free);
}

static void on_time(struct timer *t)
{
    struct execd_metrics *m = container_of(t, struct execd_metrics, timer);
    struct buf b = BUF_INIT(1024);
    put(&b, m);
    if (m->watch) {
        buf_addz(&b, "\n\n");
        req_send(m->req,
                 buf_str(&b)); /* a client that does not read misses some reports */
        buf_release(&b);
        timer_begin(m->f->en->loop, t, WATCH_MS, on_time);
    } else {
        req_answer_take(m->req, 200, "application/json; charset=utf-8", &b);
        bury(m);
    }
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    bury(owner);
}

static void start(struct req *r, bool watch)
{
    struct execd_metrics *m = xnew(struct execd_metrics);
    m->f = req_arg(r);
    m->req = r;
    m->watch = watch;
    machine_measure(&m->before);
    req_own(r, m, on_gone);
    if (watch) {
        req_header_add(r, "Cache-Control", "no-cache");
        req_begin(r, 200, "text/event-stream", -1);
    }
    timer_begin(m->f->en->loop, &m->timer, LOOK_MS, on_time);
}

void execd_get_metrics(struct req *r) { start(r, false); }
void execd_watch_metrics(struct req *r) { start(r, true); }
