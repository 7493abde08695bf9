/* SPDX-License-Identifier: MIT */
/*
 * Publishes the output of running commands on a sharded channel. Each command has an op
 * that follows it in parallel with the op that runs it, and delays nothing. One message
 * is on the way at a time; later output stays in the spool. The server's reply has the
 * number of listeners. While there are none, output is dropped, and one message in
 * DEAF_MS checks whether there are any. The next message has the dropped range as a gap.
 */
#include "front/bus/own.h"

#include "action/background.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/events/delta.h"
#include "shell/op.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct delta {
    struct list node;
    struct bus *b;
    struct op *op; /* borrowed; NULL: it has ended */
    uint64_t cause, at;
    uint64_t lost_from, lost_to; /* to be reported; lost_to 0: nothing */
    uint64_t left_at;            /* the offset of bytes that were not sent yet, */
    size_t left;                 /* and their number */
    char session[ACTION_SESSION_MAX + 1];
};

static void delta_free(struct delta *d)
{
    struct op *op = d->op;
    d->op = NULL;
    list_del(&d->node);
    d->b->deltas.n--;
    if (op)
        op_drop(op);
    loop_bury(d->b->en->loop, d, free);
}

/* ---- the sink ---- */

static void publish(struct delta *d, uint64_t from, uint64_t to, struct str bytes)
{
    struct bus *b = d->b;
    struct buf text = BUF_INIT(DELTA_TEXT_MAX);
    delta_put(&text, b->en->actions,
              &(struct delta_of){.cause = d->cause,
                                 .session = d->session,
                                 .from = from,
                                 .to = to,
                                 .gap = bytes.n == 0},
              bytes);
    b->deltas.busy = true;
    b->deltas.published++;
    publish_delta(b, buf_str(&text));
    buf_release(&text);
    d->at = to;
}

/*
 * Publishes the dropped range first, if there is one. Returns false if other output has
 * to wait for that.
 */
static bool tell_lost(struct delta *d)
{
    if (d->lost_to == 0)
        return true;
    if (d->b->deltas.busy || timer_active(&d->b->deltas.deaf))
        return false;
    uint64_t to = d->lost_to;
    d->lost_to = 0;
    publish(d, d->lost_from, to, STR(""));
    return false;
}

static void lose(struct delta *d, uint64_t from, uint64_t to)
{
    if (to <= d->at)
        return;
    if (d->lost_to == 0)
        d->lost_from = from > d->at ? from : d->at;
    d->lost_to = to;
    d->at = to;
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct delta *d = op->owner;
    struct deltas *all = &d->b->deltas;
    (void)stream;
    if (all->busy)
        return 0;
    if (timer_active(&all->deaf)) {
        lose(d, offset, offset + bytes.n);
        return bytes.n;
    }
    if (!tell_lost(d))
        return 0;
    /* If the same bytes come again, none have followed. If none can follow, they are sent
     * as they are, even as part of a character. */
    bool again = offset == d->left_at && bytes.n == d->left;
    bool last = op->settled && (again || offset + bytes.n >= op->r.to);
    size_t n = delta_piece(d->b->en->actions, bytes, false, last);
    if (n > 0)
        publish(d, offset, offset + n, str_sub(bytes, 0, n));
    d->left_at = offset + n;
    d->left = bytes.n - n;
    if (n == 0 && !again && !op->done)
        task_defer(d->b->en->loop, &op->pump); /* more bytes may follow */
    return n;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    (void)text;
    if (kind == NOTE_GAP)
        lose(op->owner, from, to);
}

static void on_done(struct op *op)
{
    struct delta *d = op->owner;
    d->op = NULL;
    delta_free(d);
}

static const struct op_sink sink = {
    .output = on_output, .note = on_note, .done = on_done};

/* Publishes the next message, of another command if that has output. */
static void pump_all(struct bus *b)
{
    struct list *it, *tmp;
    list_each (it, tmp, &b->deltas.list) {
        struct delta *d = list_entry(it, struct delta, node);
        if (b->deltas.busy)
            return;
        if (tell_lost(d))
            op_pump(d->op);
        if (b->state != BUS_UP) /* all of them were freed */
            return;
        if (b->deltas.busy && d->op) {
            list_del(&d->node);
            list_add_tail(&b->deltas.list, &d->node);
        }
    }
}

static void on_hear(struct timer *t)
{
    pump_all(container_of(t, struct bus, deltas.deaf));
}

void deltas_reply(struct bus *b, const struct reply *r)
{
    b->deltas.busy = false;
    if (r->kind == REPLY_ERROR) { /* only deltas end */
        struct str text = reply_text(r);
        log_warn("bus: the server does not accept output of running commands: %.*s",
                 (int)(text.n < 100 ? text.n : 100), text.p);
        deltas_end(b);
        b->deltas.refused = true;
        return;
    }
    if (r->kind != REPLY_INT) {
        wire_garbage(&b->wire, "SPUBLISH");
        return;
    }
    if (r->number == 0)
        timer_begin(b->en->loop, &b->deltas.deaf, DEAF_MS, on_hear);
    pump_all(b);
}

/* ---- beginning ---- */

static bool is_known(const struct deltas *all, uint64_t cause)
{
    const struct list *it;
    for (it = all->list.next; it != &all->list; it = it->next) {
        if (list_entry(it, struct delta, node)->cause == cause)
            return true;
    }
    return false;
}

static void look_along(struct bus *b, uint64_t cause, const char *session,
                       const char *command, uint64_t from)
{
    struct session *s = session_find(b->en, str_of(session));
    if (!s || b->deltas.n >= DELTAS_MAX || is_known(&b->deltas, cause) ||
        !session_running(s, command))
        return;
    struct session_view v;
    session_view(s, &v);
    if (b->deltas.from_now && v.scanned > from)
        from = v.scanned;
    struct delta *d = xnew(struct delta);
    d->b = b;
    d->cause = cause;
    d->at = from;
    snprintf(d->session, sizeof(d->session), "%s", session);
    list_add_tail(&b->deltas.list, &d->node);
    b->deltas.n++;
    struct op *op = op_new(OP_RUN, &sink, d);
    snprintf(op->id, sizeof(op->id), "%s", command);
    op->stream = op->filter = true;
    op->output_from = from;
    d->op = op;
    session_run(s, op);
}

static void on_join(struct task *t)
{
    struct bus *b = container_of(t, struct bus, deltas.join);
    struct actions *all = b->en->actions;
    if (b->state != BUS_UP || b->deltas.refused)
        return;
    for (const struct background *i = NULL; (i = backgrounds_next(all, i));)
        look_along(b, i->cause, i->session, i->command, i->from);
    for (struct action *a = NULL; (a = actions_next(all, a));) {
        if (a->running && a->id)
            look_along(b, a->id, a->session, a->command, a->from);
    }
    b->deltas.from_now = false;
}

static void on_started(struct action_watch *w, const struct action *a)
{
    struct bus *b = container_of(w, struct bus, deltas.watch);
    (void)a;
    task_defer(b->en->loop, &b->deltas.join);
}

static void on_backgrounded(struct action_watch *w) { on_started(w, NULL); }

void deltas_begin(struct bus *b)
{
    struct deltas *all = &b->deltas;
    if (!b->given.deltas)
        return;
    if (!all->list.next) {
        list_init(&all->list);
        task_init(&all->join, on_join);
        all->watch.started = on_started;
        all->watch.backgrounded = on_backgrounded;
        actions_watch(b->en->actions, &all->watch);
    }
    all->refused = all->busy = false;
    all->from_now = true;
    task_defer(b->en->loop, &all->join);
}

void deltas_end(struct bus *b)
{
    struct deltas *all = &b->deltas;
    struct list *it, *tmp;
    if (!all->list.next)
        return;
    task_cancel(&all->join);
    timer_stop(&all->deaf);
    all->busy = false;
    list_each (it, tmp, &all->list)
        delta_free(list_entry(it, struct delta, node));
}
