/* SPDX-License-Identifier: MIT */
/*
 * The output of one command on one connection: delta events, with the offsets of its
 * bytes in the spool of its session.
 *
 * A flow is an op that follows the command in parallel with the op that runs it, at the
 * connection's own pace: output without room stays in the spool. On this connection the
 * observation of the command waits until the flow has sent all output. If the command
 * ends first, the rest of its output is read from the spool, too.
 *
 * A link gets the output of each command whose action was sent on it, unless the
 * observation is older than the link. If a command began before the link's first event,
 * its output comes from then on, or from the offset that the link asked for.
 */
#include "front/events/own.h"

#include "action/background.h"
#include "base/limits.h"
#include "base/xalloc.h"
#include "front/events/delta.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>

struct flow {
    struct list node;
    struct events_link *k;
    struct op *op; /* borrowed; NULL: it has ended */
    uint64_t cause;
    uint64_t at;                 /* the next byte to be sent */
    uint64_t to;                 /* where its output ends, once that is known */
    bool ends;                   /* `to` is known */
    bool bounded;                /* the op does not end by itself at `to` */
    bool after;                  /* follows the action's observation */
    uint64_t lost_from, lost_to; /* to be reported; lost_to 0: nothing */
    uint64_t left_at;            /* the offset of bytes that were not sent yet, */
    size_t left;                 /* and their number */
    char session[ACTION_SESSION_MAX + 1];
};

/* ---- messages ---- */

static bool send_delta(struct flow *f, uint64_t from, uint64_t to, struct str bytes,
                       bool gap)
{
    struct buf b = BUF_INIT(DELTA_TEXT_MAX);
    delta_put(&b, f->k->ev->actions,
              &(struct delta_of){.cause = f->cause,
                                 .session = f->session,
                                 .from = from,
                                 .to = to,
                                 .gap = gap,
                                 .after = f->after,
                                 .base64 = f->k->base64},
              bytes);
    bool sent = link_send(f->k, buf_str(&b), 0);
    buf_release(&b);
    if (sent) {
        f->at = to;
        f->k->ev->stats.deltas++;
        f->k->ev->stats.delta_bytes += to - from;
    }
    return sent;
}

static bool tell_lost(struct flow *f)
{
    if (f->lost_to == 0)
        return true;
    if (!send_delta(f, f->lost_from, f->lost_to, STR(""), true))
        return false;
    f->lost_to = 0;
    return true;
}

/* ---- the sink ---- */

static void flow_ended(struct flow *f)
{
    f->op = NULL;
    link_pump_later(f->k);
}

/* Ends the op, as all output up to `to` was sent. */
static void flow_done(struct flow *f)
{
    struct op *op = f->op;
    flow_ended(f);
    if (op)
        op_drop(op);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct flow *f = op->owner;
    size_t used = 0;
    (void)stream;
    if (f->k->full || !tell_lost(f))
        return 0;
    bool capped = f->ends && f->bounded && offset + bytes.n >= f->to;
    if (capped)
        bytes.n = offset < f->to ? (size_t)(f->to - offset) : 0;
    bool last = (f->ends && offset + bytes.n >= f->to) ||
                (op->settled && offset + bytes.n >= op->r.to);
    /* If the same bytes come again, none have followed. If none can follow, they are sent
     * as they are, even as part of a character. */
    bool again = offset == f->left_at && bytes.n == f->left;
    last |= again && (f->ends || op->settled);
    while (used < bytes.n) {
        struct str rest = str_sub(bytes, used, bytes.n);
        size_t n = delta_piece(f->k->ev->actions, rest, f->k->base64, last);
        if (n == 0 ||
            !send_delta(f, offset + used, offset + used + n, str_sub(rest, 0, n), false))
            break;
        used += n;
    }
    f->left_at = offset + used;
    f->left = bytes.n - used;
    if (used == bytes.n && capped)
        flow_done(f);
    else if (f->left && (used || !again) && !f->k->full && !op->done)
        task_defer(f->k->ev->en->loop, &op->pump); /* more bytes may follow */
    return used;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct flow *f = op->owner;
    (void)text;
    if (kind != NOTE_GAP || to <= f->at)
        return;
    if (f->ends && to > f->to)
        to = f->to;
    if (f->lost_to == 0)
        f->lost_from = from > f->at ? from : f->at;
    f->lost_to = to;
    if (!f->k->full)
        tell_lost(f);
}

static void on_done(struct op *op) { flow_ended(op->owner); }

static const struct op_sink sink = {
    .output = on_output, .note = on_note, .done = on_done};

/* ---- beginning ---- */

static struct flow *find_flow(const struct events_link *k, uint64_t cause)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->flows) {
        struct flow *f = list_entry(it, struct flow, node);
        if (f->cause == cause)
            return f;
    }
    return NULL;
}

static struct flow *flow_new(struct events_link *k, uint64_t cause, struct str session,
                             uint64_t at)
{
    struct flow *f = xnew(struct flow);
    f->k = k;
    f->cause = cause;
    f->at = at;
    if (session.n <= ACTION_SESSION_MAX)
        memcpy(f->session, session.p, session.n);
    list_add_tail(&k->flows, &f->node);
    k->nflows++;
    return f;
}

static void flow_free(struct flow *f)
{
    list_del(&f->node);
    f->k->nflows--;
    if (f->op)
        op_drop(f->op);
    loop_bury(f->k->ev->en->loop, f, free);
}

/* Follows a running command, by its id. */
static void look_along(struct flow *f, struct session *s, const char *command)
{
    struct op *op = op_new(OP_RUN, &sink, f);
    snprintf(op->id, sizeof(op->id), "%s", command);
    op->stream = op->filter = true;
    op->output_from = f->at;
    f->op = op;
    session_run(s, op);
}

/* Reads the output from f->at to f->to out of the spool; a part that is gone is lost. */
static void look_back(struct flow *f)
{
    struct session *s = session_find(f->k->ev->en, str_of(f->session));
    struct session_view v = {0};
    if (s)
        session_view(s, &v);
    if (!v.stream || v.stream->offset < f->to) { /* a new shell, or none */
        f->lost_from = f->lost_to ? f->lost_from : f->at;
        f->lost_to = f->to;
        return;
    }
    f->bounded = true;
    f->op = op_new(OP_LOGS, &sink, f);
    f->op->stream = f->op->filter = true;
    f->op->cursor = f->op->r.from = f->at;
    session_wait(s, f->op);
}

static const struct resume *resume_of(const struct events_link *k, uint64_t cause)
{
    for (unsigned i = 0; i < k->nresumes; i++) {
        if (k->resumes[i].cause == cause)
            return &k->resumes[i];
    }
    return NULL;
}

void flow_begin(struct events_link *k, const struct action *a)
{
    struct session *s = session_find(k->ev->en, str_of(a->session));
    const struct resume *r = resume_of(k, a->id);
    if (!s || k->nflows >= FLOWS_MAX || find_flow(k, a->id) ||
        !session_running(s, a->command))
        return;
    uint64_t at = r && r->offset > a->from ? r->offset : a->from;
    if (!r && a->id <= k->since) { /* an earlier link had its beginning */
        struct session_view v;
        session_view(s, &v);
        at = v.scanned > at ? v.scanned : at;
    }
    look_along(flow_new(k, a->id, str_of(a->session), at), s, a->command);
}

/* Begins to send what a command writes after its observation, which this link has got. */
static void background_begin(struct events_link *k, const struct background *t)
{
    struct session *s = session_find(k->ev->en, str_of(t->session));
    const struct resume *r = resume_of(k, t->cause);
    if (!s || t->end >= k->cursor.next || k->nflows >= FLOWS_MAX ||
        find_flow(k, t->cause) || !session_running(s, t->command))
        return;
    uint64_t at = r && r->offset > t->from ? r->offset : t->from;
    if (!r && t->end <= k->since) {
        struct session_view v;
        session_view(s, &v);
        at = v.scanned > at ? v.scanned : at;
    }
    struct flow *f = flow_new(k, t->cause, str_of(t->session), at);
    f->after = true;
    look_along(f, s, t->command);
}

void flows_join(struct events_link *k)
{
    for (const struct background *t = NULL; (t = backgrounds_next(k->ev->actions, t));)
        background_begin(k, t);
    for (struct action *a = NULL; (a = actions_next(k->ev->actions, a));) {
        if (a->running && a->id && a->id < k->cursor.next)
            flow_begin(k, a);
    }
}

void flows_begin(struct events *ev)
{
    struct list *it, *tmp;
    list_each (it, tmp, &ev->links) {
        struct events_link *k = list_entry(it, struct events_link, node);
        if (k->begun && k->joined && !k->over)
            flows_join(k);
    }
}

/* ---- the end ---- */

/*
 * Whether the link wants the output of this command, none of which was sent yet. Sets *at
 * to where it begins.
 */
static bool wanted(const struct events_link *k, const struct event_members *end,
                   uint64_t *at)
{
    const struct resume *r = resume_of(k, end->cause);
    *at = r && r->offset > end->from ? r->offset : end->from;
    return r || (end->cause > k->since && end->id >= k->live);
}

bool flow_over(struct events_link *k, const struct event_members *end)
{
    struct flow *f = find_flow(k, end->cause);
    uint64_t at;
    if (!end->has_output)
        return true;
    if (!f) {
        if (!wanted(k, end, &at) || at >= end->to)
            return true;
        f = flow_new(k, end->cause, end->session, at);
        f->after = end->ended;
    }
    if (!f->ends) {
        f->ends = true;
        f->to = end->to;
        if (f->op) {
            f->op->r.to = f->to;
            op_settle(f->op);
        }
        if (f->op)
            op_pump(f->op); /* it may have settled by itself before */
    }
    if (f->op || !tell_lost(f))
        return false;
    if (f->at < f->to && !f->bounded) {
        look_back(f);
        if (f->op || !tell_lost(f))
            return false;
    }
    if (f->at < f->to && f->bounded) { /* its session has ended */
        f->lost_from = f->at;
        f->lost_to = f->to;
        if (!tell_lost(f))
            return false;
    }
    return true;
}

void flow_end(struct events_link *k, uint64_t cause)
{
    struct flow *f = find_flow(k, cause);
    if (f)
        flow_free(f);
}

void flows_pump(struct events_link *k)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->flows) {
        struct flow *f = list_entry(it, struct flow, node);
        if (!k->full && tell_lost(f) && f->op)
            op_pump(f->op);
    }
}

void flows_close(struct events_link *k)
{
    struct list *it, *tmp;
    list_each (it, tmp, &k->flows)
        flow_free(list_entry(it, struct flow, node));
}
