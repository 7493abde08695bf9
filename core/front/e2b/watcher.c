/* SPDX-License-Identifier: MIT */
/*
 * Watchers, which clients poll: CreateWatcher, GetWatcherEvents, RemoveWatcher.
 *
 * A watcher outlives the worker. The keeper holds two states of each: its path and
 * options, as "e2b/w/ID", and the first KEPT_MAX bytes of the events that were not polled
 * yet, as "e2b/q/ID". The next worker starts the helper again, and the next poll reports
 * a gap.
 */
#include "front/e2b/own.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

enum { KEPT_MAX = 64 << 10 };

static const char record_prefix[] = "e2b/w/";

static void put(const struct e2b_watch *w, char kind, struct str state)
{
    char key[48];
    int n = snprintf(key, sizeof(key), "e2b/%c/%s", kind, w->id);
    keeper_client_put(w->f->en->keeper, str_n(key, (size_t)n), state);
}

static const struct state_field kept[] = {
    STATE_ROW_AS("user", struct e2b_watch, user_name),
    STATE_ROW(struct e2b_watch, recursive),
    STATE_ROW(struct e2b_watch, entries),
    {.name = NULL}};

static void keep_record(const struct e2b_watch *w)
{
    struct json *j = state_json(kept, w);
    json_put_str(j, "path", buf_str(&w->path));
    state_put(w->f->en, record_prefix, w->id, j);
    json_free(j);
}

/* ---- from one worker to the next ---- */

static void load_one(void *arg, struct str id, struct json *j)
{
    struct e2b_watch *w = e2b_watch_new(arg);
    char key[48];
    snprintf(w->id, sizeof(w->id), "%.*s", STR_ARG(id));
    state_read(kept, w, j);
    buf_adds(&w->path, json_str(j, "path", ""));
    int n = snprintf(key, sizeof(key), "e2b/q/%s", w->id);
    const struct buf *queue = map_get(&w->f->en->states, str_n(key, (size_t)n));
    if (queue)
        buf_adds(&w->queue, buf_str(queue));
    w->kept = w->queue.n;
}

void e2b_watchers_load(struct e2b *f)
{
    state_each(f->en, record_prefix, load_one, f);
}

void e2b_watchers_start(struct e2b *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->watches) {
        struct e2b_watch *w = list_entry(it, struct e2b_watch, node);
        struct err e = ERR_INIT;
        if (e2b_user(f, str_of(w->user_name), &w->user, &e) < 0 ||
            e2b_watch_start(w, true, &e) < 0)
            e2b_watcher_ended(w, &e);
    }
}

/* ---- CreateWatcher ---- */

static void on_creator_gone(struct req *r, void *owner)
{
    struct e2b_watch *w = owner;
    (void)r;
    w->req = NULL;
    e2b_watch_forget(w);
}

void e2b_fs_create_watcher(struct req *r)
{
    struct e2b_watch *w = e2b_watch_open(r, false);
    if (!w)
        return;
    w->id[0] = 'w';
    random_hex(w->id + 1, 20);
    w->req = r;
    req_own(r, w, on_creator_gone);
}

static void answer_creator(struct e2b_watch *w)
{
    struct buf b = BUF_INIT(128);
    struct req *r = w->req;
    w->req = NULL;
    keep_record(w);
    buf_addf(&b, "{\"watcherId\":\"%s\"}", w->id);
    e2b_rpc_answer(r, &b);
}

/* ---- what the helper reports ---- */

void e2b_watcher_changed(struct e2b_watch *w)
{
    if (w->req)
        answer_creator(w);
    if (w->queue.n == w->kept || w->kept == KEPT_MAX)
        return;
    /* Whole lines only. */
    struct str part = str_sub(buf_str(&w->queue), 0, KEPT_MAX);
    while (part.n > 0 && part.p[part.n - 1] != '\n')
        part.n--;
    put(w, 'q', part);
    w->kept = part.n < w->queue.n ? KEPT_MAX : part.n;
}

void e2b_watcher_ended(struct e2b_watch *w, const struct err *e)
{
    if (w->req) {
        struct req *r = w->req;
        w->req = NULL;
        e2b_rpc_refuse(r, e);
        e2b_watch_forget(w);
        return;
    }
    if (e->code)
        log_warn("%s is no longer watched: %s", buf_z(&w->path), e->text);
    w->gap = "the directory is no longer watched: it was removed or moved, or cannot be "
             "read";
}

/* ---- GetWatcherEvents, RemoveWatcher ---- */

static struct e2b_watch *find(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    struct str id = STR("");
    struct list *it, *tmp;
    struct json *m = e2b_rpc_read(r);
    struct e2b_watch *found = NULL;
    engine_touch(f->en);
    if (!m)
        return NULL;
    if (e2b_rpc_str(m, "watcherId", "watcher_id", &id, &e) < 0) {
        e2b_rpc_refuse(r, &e);
        json_free(m);
        return NULL;
    }
    list_each (it, tmp, &f->watches) {
        struct e2b_watch *w = list_entry(it, struct e2b_watch, node);
        if (w->id[0] && str_eq(id, str_of(w->id)))
            found = w;
    }
    json_free(m);
    if (!found)
        e2b_rpc_fail(r, "not_found", "there is no watcher with this id");
    return found;
}

/* The keeper's events are removed after the answer: if the worker is killed in between,
 * events are repeated, and none is lost. */
void e2b_fs_get_watcher_events(struct req *r)
{
    struct e2b_watch *w = find(r);
    if (!w)
        return;
    struct buf b = BUF_INIT(E2B_WATCH_QUEUE_MAX + 1024);
    struct str rest = buf_str(&w->queue);
    buf_addz(&b, rest.n ? "{\"events\":[" : "{");
    while (rest.n > 0) {
        buf_adds(&b, str_cut(&rest, '\n'));
        buf_addz(&b, rest.n ? "," : "]");
    }
    if (w->gap) {
        buf_addz(&b, w->queue.n ? "," : "");
        e2b_watch_put_gap(&b, w);
    }
    buf_addc(&b, '}');
    e2b_rpc_answer(r, &b);
    if (w->kept)
        put(w, 'q', STR(""));
    buf_reset(&w->queue);
    w->kept = 0;
    w->gap = NULL;
}

void e2b_fs_remove_watcher(struct req *r)
{
    struct e2b_watch *w = find(r);
    if (!w)
        return;
    put(w, 'w', STR(""));
    put(w, 'q', STR(""));
    e2b_watch_forget(w);
    e2b_rpc_answer_nothing(r);
}
