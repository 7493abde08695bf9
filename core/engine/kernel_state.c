/* SPDX-License-Identifier: MIT */
/* Kernels and cells in the keeper's memory: what a worker that takes over must know. */
#include "engine/kernel_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kernel_save(struct kernel *k)
{
    struct json *j = json_object(), *list = json_array();
    struct buf line = BUF_INIT(LIMIT_BLOB_MAX), key = BUF_INIT(128),
               opts = BUF_INIT(KERNEL_OPTS_MAX);
    json_print(&opts, k->opts);
    json_put(j, "opts", json_parse(buf_str(&opts), &(struct err){0}));
    json_put_z(j, "process", k->process ? process_name(k->process) : "");
    json_put_int(j, "state", k->state);
    json_put_bool(j, "fresh", k->fresh);
    json_put_int(j, "at", (int64_t)k->reader.begin);
    json_put_int(j, "step", (int64_t)k->step);
    opts.n = 0;
    if (k->about && json_print(&opts, k->about) == 0)
        json_put(j, "about", json_parse(buf_str(&opts), &(struct err){0}));
    for (int i = 0; i < k->nrecords; i++) {
        const struct record *r = &k->records[i];
        struct json *o = json_object();
        json_put_z(o, "id", r->id);
        json_put_int(o, "from", (int64_t)r->from);
        json_put_int(o, "to", (int64_t)r->to);
        json_put_int(o, "in", (int64_t)r->in);
        json_put_int(o, "len", (int64_t)r->len);
        json_put_int(o, "begun", r->begun_ms);
        json_put_int(o, "timeout", r->timeout_ms);
        json_put_int(o, "end", r->end);
        json_push(list, o);
    }
    json_put(j, "cells", list);
    buf_addf(&key, "jupyter/%s", k->name);
    if (json_print(&line, j) == 0)
        hold_put(k->en->hold, buf_str(&key), buf_str(&line));
    buf_release(&line);
    buf_release(&key);
    buf_release(&opts);
    json_free(j);
}

struct record *kernel_record_of(struct kernel *k, const char *id)
{
    for (int i = k->nrecords - 1; id[0] && i >= 0; i--) {
        if (strcmp(k->records[i].id, id) == 0)
            return &k->records[i];
    }
    return NULL;
}

struct record *kernel_record_add(struct kernel *k)
{
    if (k->nrecords == KERNEL_RECORDS) {
        memmove(k->records, k->records + 1, sizeof(k->records) - sizeof(k->records[0]));
        k->nrecords--;
    }
    k->records[k->nrecords] = (struct record){0};
    return &k->records[k->nrecords++];
}

/* The clock went on while there was no worker. */
static void resume_limit(struct cell *c, int64_t timeout_ms)
{
    int64_t left = c->begun_ms + timeout_ms - clock_wall_ms();
    c->timeout_ms = timeout_ms;
    if (timeout_ms > 0)
        timer_begin(c->k->en->loop, &c->limit, left > 0 ? left : 0, cell_on_limit);
}

void kernel_resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(state, &e);
    if (!j) {
        log_error("kernel %.*s: its state is unreadable: %s", STR_ARG(name), e.text);
        return;
    }
    struct kernel *k = kernel_make(en, name);
    struct buf b = BUF_INIT(KERNEL_OPTS_MAX);
    json_free(k->opts);
    k->opts = json_print(&b, json_get(j, "opts")) == 0
                  ? json_parse(buf_str(&b), &(struct err){0})
                  : json_object();
    buf_reset(&b);
    if (json_has(j, "about") && json_print(&b, json_get(j, "about")) == 0)
        k->about = json_parse(buf_str(&b), &(struct err){0});
    buf_release(&b);
    k->state = (enum kernel_state)json_int(j, "state", KERNEL_STARTING);
    k->fresh = json_bool(j, "fresh", false);
    k->step = (uint64_t)json_int(j, "step", KERNEL_SEEN_STEP);
    k->process = process_find(en, json_str(j, "process", ""));
    for (struct json *o = json_first(json_get(j, "cells")); o; o = json_next(o)) {
        struct record *r = kernel_record_add(k);
        snprintf(r->id, sizeof(r->id), "%.*s", STR_ARG(json_str(o, "id", "")));
        r->from = (uint64_t)json_int(o, "from", 0);
        r->to = (uint64_t)json_int(o, "to", 0);
        r->in = (uint64_t)json_int(o, "in", 0);
        r->len = (uint64_t)json_int(o, "len", 0);
        r->begun_ms = json_int(o, "begun", 0);
        r->timeout_ms = json_int(o, "timeout", 0);
        r->end = (enum cell_end)json_int(o, "end", CELL_OK);
    }
    uint64_t at = (uint64_t)json_int(j, "at", 0);
    json_free(j);
    if (!k->process) {
        k->state = KERNEL_FAILED;
        err_set(&k->why, ERR_GONE, "the process beside the kernel %s is gone", k->name);
        return;
    }
    struct record *last = k->nrecords ? &k->records[k->nrecords - 1] : NULL;
    if (last && last->to == 0) {
        struct cell *c = cell_make(k, STR(""));
        uint64_t in;
        c->step = RUNNING;
        c->begun_ms = last->begun_ms;
        c->lively = true;
        memcpy(c->id, last->id, sizeof(c->id));
        list_add_tail(&k->cells, &c->node);
        process_stdin_room(k->process, &in);
        /* The worker was killed before it had written all of it: it never runs. */
        if (in < last->in + last->len) {
            if (in > last->in)
                kernel_send_line(k, STR("\n"));
            k->nrecords--;
            list_del(&c->node);
            free(c);
        } else {
            resume_limit(c, last->timeout_ms);
            task_defer(en->loop, &c->start);
        }
    }
    reader_start(&k->reader, k->process, &kernel_host_sink, k, at);
}
