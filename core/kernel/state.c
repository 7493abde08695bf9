/* SPDX-License-Identifier: MIT */
/* The state of kernels and cells at the keeper, and how the next worker resumes them. */
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

/* Called twice for each cell: it builds no tree, and prints only records that changed. */
static int print_state(struct kernel *k)
{
    struct buf *b = &k->kept;
    buf_reset(b);
    buf_addz(b, "{\"opts\":");
    json_print(b, k->opts);
    buf_addz(b, ",\"process\":");
    json_quote(b, str_of(k->host.process_name));
    buf_addf(b, ",\"state\":%d,\"fresh\":%s,\"at\":%llu,\"step\":%llu", (int)k->state,
             k->fresh ? "true" : "false", (unsigned long long)k->host.reader.begin,
             (unsigned long long)k->host.step);
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

void kernel_save_and_ask(struct kernel *k, struct str line)
{
    task_cancel(&k->keep);
    bool fits = print_state(k) == 0;
    companion_store(&k->host, fits ? buf_str(&k->kept) : STR(""), line);
}

void kernel_save(struct kernel *k) { kernel_save_and_ask(k, STR("")); }

void kernel_on_keep(struct task *t) { kernel_save(container_of(t, struct kernel, keep)); }

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

/* The cell that ran: reads its output again, unless it never reached the host. */
static void resume_cell(struct kernel *k, const struct record *r)
{
    if (!companion_reached(&k->host, r->in, r->len)) {
        k->nrecords--;
        return;
    }
    struct cell *c = cell_make(k, STR(""));
    int64_t left = r->begun_ms + r->timeout_ms - clock_wall_ms();
    companion_add(&k->host, &c->call, r->id);
    c->call.step = CALL_RUNNING;
    c->call.begun_ms = r->begun_ms;
    c->call.timeout_ms = r->timeout_ms;
    c->lively = true;
    if (r->timeout_ms > 0)
        timer_begin(k->host.en->loop, &c->call.limit, left > 0 ? left : 0, cell_on_limit);
    task_defer(k->host.en->loop, &c->start);
}

void kernel_resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse_kept(state, &e);
    if (!j) {
        log_error("kernel %.*s: its state is unreadable: %s", STR_ARG(name), e.text);
        return;
    }
    ASSERT(!kernel_lookup(en, name)); /* once for each name */
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
    companion_resume(&k->host, json_str(j, "process", ""),
                     (uint64_t)json_int(j, "step", 0));
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
    if (companion_state(&k->host) == COMPANION_NONE) {
        k->state = KERNEL_FAILED;
        err_set(&k->host.why, ERR_GONE, "the process of the kernel %s is gone",
                k->host.name);
        return;
    }
    companion_send(&k->host, STR("\n")); /* ends a line that was sent in part */
    bool runs = k->nrecords && k->records[k->nrecords - 1].to == 0;
    k->doing = k->state != KERNEL_READY ? "starting" : runs ? "busy" : "idle";
    if (runs)
        resume_cell(k, &k->records[k->nrecords - 1]);
    companion_follow(&k->host, at);
}
