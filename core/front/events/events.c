/* SPDX-License-Identifier: MIT */
#include "front/events/own.h"

#include "base/xalloc.h"

static void on_flows(struct task *t)
{
    flows_begin(container_of(t, struct events, flows));
}

static void on_started(struct action_watch *w, const struct action *a)
{
    struct events *ev = container_of(w, struct events, watch);
    (void)a;
    task_defer(ev->en->loop, &ev->flows);
}

static void on_backgrounded(struct action_watch *w)
{
    struct events *ev = container_of(w, struct events, watch);
    task_defer(ev->en->loop, &ev->flows);
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    struct events *ev = container_of(w, struct events, watch);
    if (end > 0) {
        waits_end(ev, cause, end);
        return;
    }
    links_error(ev, e, cause);
    waits_fail(ev, cause, e);
}

void events_ack(struct events *ev, struct events_reader *reader, uint64_t upto)
{
    uint64_t least = UINT64_MAX;
    struct list *it, *tmp;
    if (!reader->node.next)
        list_add_tail(&ev->readers, &reader->node);
    if (upto > reader->acked)
        reader->acked = upto;
    list_each (it, tmp, &ev->readers) {
        const struct events_reader *r = list_entry(it, struct events_reader, node);
        if (r->acked > 0 && r->acked < least)
            least = r->acked;
    }
    if (least != UINT64_MAX)
        eventlog_trim(actions_log(ev->actions), least);
}

void events_ack_leave(struct events_reader *reader)
{
    if (reader->node.next)
        list_del(&reader->node);
    reader->node.next = NULL;
}

struct events *events_open(struct engine *en, struct access *access, struct fronts *all)
{
    struct events *ev = xnew(struct events);
    *ev = (struct events){.en = en,
                          .actions = en->actions,
                          .fronts = all,
                          .access = access,
                          .front = events_bare_front,
                          .files = events_bare_files,
                          .checkpoints = events_bare_checkpoints,
                          .watch = {.started = on_started,
                                    .ended = on_ended,
                                    .backgrounded = on_backgrounded}};
    ev->front.arg = ev->files.arg = ev->checkpoints.arg = ev;
    list_init(&ev->links);
    list_init(&ev->readers);
    list_init(&ev->waits);
    task_init(&ev->flows, on_flows);
    actions_watch(ev->actions, &ev->watch);
    for (size_t i = 0; i < access->keys.n; i++)
        actions_own_secret(ev->actions, str_of(access->keys.v[i]),
                           "a key of this server");
    return ev;
}

const struct http_front *events_front(const struct events *ev)
{
    return ev ? &ev->front : &events_bare_front;
}

const struct http_front *events_files_front(const struct events *ev)
{
    return ev ? &ev->files : &events_bare_files;
}

const struct http_front *events_checkpoints_front(const struct events *ev)
{
    return ev ? &ev->checkpoints : &events_bare_checkpoints;
}

void events_close(struct events *ev)
{
    struct list *it, *tmp;
    if (ev->closed)
        return;
    ev->closed = true;
    list_each (it, tmp, &ev->links) {
        struct events_link *k = list_entry(it, struct events_link, node);
        if (!k->req)
            ws_close(&k->ws, WS_GOING_AWAY, STR("the server is being replaced or ends"));
    }
}
