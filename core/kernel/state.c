/* SPDX-License-Identifier: MIT */
/* Kernels and cells in the keeper's memory: what a worker that takes over must know. */
#include "kernel/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_record(struct record *r)
{
    char text[KERNEL_RECORD_TEXT];
    snprintf(text, sizeof(text),
             "{\"id\":\"%s\",\"from\":%llu,\"to\":%llu,\"in\":%llu,\"len\":%llu,"
             "\"begun\":%lld,\"timeout\":%lld,\"end\":%d}",
             r->id, (unsigned long long)r->from, (unsigned long long)r->to,
             (unsigned long long)r->in, (unsigned long long)r->len,
             (long long)r->begun_ms, (long long)r->timeout_ms, (int)r->end);
    memcpy(r->text, text, sizeof(r->text));
}

/* Twice a cell, so without a tree, and what has not changed is not printed anew. */
static int print_state(struct kernel *k)
{
    struct buf *b = &k->kept;
    buf_reset(b);
    buf_addz(b, "{\"opts\":");
    json_print(b, k->opts);
    buf_addz(b, ",\"process\":");
    json_quote(b, str_of(k->host));
    buf_addf(b, ",\"state\":%d,\"fresh\":%s,\"at\":%llu,\"step\":%llu", (int)k->state,
             k->fresh ? "true" : "false", (unsigned long long)k->reader.begin,
             (unsigned long long)k->step);
    if (k->about) {
        buf_addz(b, ",\"about\":");
        json_print(b, k->about);
    }
    buf_addz(b, ",\"cells\":[");
    for (int i = 0; i < k->nrecords; i++) {
        if (!k->records[i].text[0])
            print_record(&k->records[i]);
        buf_addz(b, i ? "," : "");
        buf_addz(b, k->records[i].text);
    }
    buf_addz(b, "]}");
    return buf_full(b) ? -1 : 0;
}

static void save(struct kernel *k, struct str line)
{
    struct buf key = BUF_INIT(128);
    buf_addf(&key, "jupyter/%s", k->name);
    task_cancel(&k->keep);
    if (print_state(k) < 0) {
        log_error("the state of the kernel %s is too large to be kept", k->name);
        kernel_send_line(k, line);
    } else if (line.n)
        process_ask(k->process, line, buf_str(&key), buf_str(&k->kept));
    else
        hold_put(k->en->hold, buf_str(&key), buf_str(&k->kept));
    buf_release(&key);
}

void kernel_save(struct kernel *k) { save(k, STR("")); }

void kernel_on_keep(struct task *t) { kernel_save(container_of(t, struct kernel, keep)); }

void kernel_save_and_ask(struct kernel *k, struct str line) { save(k, line); }

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
    struct json *j = json_parse_kept(state, &e);
    if (!j) {
        log_error("kernel %.*s: its state is unreadable: %s", STR_ARG(name), e.text);
        return;
    }
    struct kernel *k = kernel_make(en, name);
    struct buf b = BUF_INIT(KERNEL_OPTS_MAX);
    json_free(k->opts);
    k->opts = json_print(&b, json_get(j, "opts")) == 0
                  ? json_parse_kept(buf_str(&b), &(struct err){0})
                  : json_object();
    buf_reset(&b);
    if (json_has(j, "about") && json_print(&b, json_get(j, "about")) == 0)
        k->about = json_parse_kept(buf_str(&b), &(struct err){0});
    buf_release(&b);
    k->state = (enum kernel_state)json_int(j, "state", KERNEL_STARTING);
    k->fresh = json_bool(j, "fresh", false);
    k->step = (uint64_t)json_int(j, "step", KERNEL_SEEN_STEP);
    snprintf(k->host, sizeof(k->host), "%.*s", STR_ARG(json_str(j, "process", "")));
    k->process = process_find(en, str_of(k->host));
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
