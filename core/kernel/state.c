/* SPDX-License-Identifier: MIT */
/* The state of kernels and cells at the keeper, and how the next worker resumes them. */
#include "kernel/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct state_field kept[] = {
    STATE_ROW(struct kernel, opts),
    STATE_ROW(struct kernel, about),
    STATE_ROW(struct kernel, state),
    STATE_ROW(struct kernel, fresh),
    STATE_ROW_AS("process", struct kernel, host.process_name),
    STATE_ROW_AS("at", struct kernel, host.reader.begin),
    STATE_ROW_AS("step", struct kernel, host.step),
    {.name = NULL},
};

static const struct state_field kept_record[] = {
    STATE_ROW(struct record, id),
    STATE_ROW(struct record, from),
    STATE_ROW(struct record, to),
    STATE_ROW(struct record, in),
    STATE_ROW(struct record, len),
    STATE_ROW_AS("begun", struct record, begun_ms),
    STATE_ROW_AS("timeout", struct record, timeout_ms),
    STATE_ROW(struct record, end),
    {.name = NULL},
};

/* Called twice for each cell. */
void kernel_save_and_ask(struct kernel *k, struct str line)
{
    struct buf b = BUF_INIT(LIMIT_BLOB_MAX);
    task_cancel(&k->keep);
    buf_addc(&b, '{');
    state_print(&b, kept, k);
    buf_addz(&b, ",\"cells\":[");
    for (int i = 0; i < k->nrecords; i++) {
        buf_addz(&b, i ? ",{" : "{");
        state_print(&b, kept_record, &k->records[i]);
        buf_addc(&b, '}');
    }
    buf_addz(&b, "]}");
    companion_store(&k->host, buf_full(&b) ? STR("") : buf_str(&b), line);
    buf_release(&b);
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
    state_read(kept, k, j);
    for (struct json *o = json_first(json_get(j, "cells")); o; o = json_next(o))
        state_read(kept_record, kernel_record_add(k), o);
    json_free(j);
    companion_resume(&k->host);
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
    companion_follow(&k->host, k->host.reader.begin);
}
