/* SPDX-License-Identifier: MIT */
/*
 * Writes events of the log to the stream. The id of event N is N-0, and Redis refuses an
 * id that is not above the last one. So an event can be sent again, and is in the stream
 * only once.
 *
 * If the server refused an event and then accepted a later one, the stream would have a
 * hole that nothing can fill. So only one batch is on the way at a time, in MULTI and
 * EXEC: all of it is accepted or nothing. An event makes the stream only if it is known
 * not to exist (otherwise NOMKSTREAM), so that the removal of the stream is noticed.
 */
#include "front/bus/own.h"

#include "base/clock.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

/* ---- the window ---- */

static bool has_room(const struct publish *p, size_t bytes)
{
    return p->n < WINDOW_EVENTS && (p->n == 0 || p->bytes + bytes <= WINDOW_BYTES);
}

static void push(struct publish *p, uint64_t id, size_t bytes)
{
    p->window[(p->first + p->n++) % WINDOW_EVENTS] = (struct sent){
        .id = id, .bytes = (uint32_t)bytes};
    p->bytes += bytes;
}

static void pop_acked(struct publish *p)
{
    while (p->n > 0 && p->window[p->first].id <= p->acked) {
        p->bytes -= p->window[p->first].bytes;
        p->first = (p->first + 1) % WINDOW_EVENTS;
        p->n--;
    }
}

uint64_t publish_backlog(const struct bus *b)
{
    const struct publish *p = &b->out;
    return p->published > p->acked ? p->published - p->acked : 0;
}

uint64_t publish_waiting(const struct bus *b)
{
    uint64_t next = actions_next_id(b->en->actions);
    return next > b->out.published + 1 ? next - 1 - b->out.published : 0;
}

/* ---- commands ---- */

static void ask(struct publish *p, enum bus_asked what)
{
    BUG_ON(p->nasked == sizeof(p->asked) / sizeof(*p->asked));
    p->asked[p->nasked++] = what;
}

static void put_add(struct bus *b, struct buf *out, const struct batch_line *line)
{
    char id[32];
    struct str key = str_of(b->events_key);
    int n = snprintf(id, sizeof(id), "%llu-0", (unsigned long long)line->id);
    struct str at = str_n(id, (size_t)n);
    if (b->out.exists)
        wire_put(out, WIRE_WORDS(STR("XADD"), key, STR("NOMKSTREAM"), at, STR("e"),
                                 line->text));
    else
        wire_put(out, WIRE_WORDS(STR("XADD"), key, at, STR("e"), line->text));
}

/* Removes events from the stream that the backend has acknowledged. */
static void trim(struct bus *b)
{
    struct publish *p = &b->out;
    uint64_t upto = p->acked < p->published ? p->acked : p->published;
    char id[32];
    for (unsigned i = 0; i < p->nasked; i++) {
        if (p->asked[i] == ASKED_TRIM)
            return;
    }
    if (upto <= p->trimmed)
        return;
    p->trimmed = upto;
    int n = snprintf(id, sizeof(id), "%llu-0", (unsigned long long)upto + 1);
    ask(p, ASKED_TRIM);
    wire_ask(&b->wire, WIRE_WORDS(STR("XTRIM"), str_of(b->events_key), STR("MINID"),
                                  str_n(id, (size_t)n)));
    wire_expect(&b->wire, DEAD_MS);
}

static void on_alive(struct timer *t)
{
    struct bus *b = container_of(t, struct bus, out.alive);
    struct publish *p = &b->out;
    char now[24], key[KEY_MAX];
    for (unsigned i = 0; i < p->nasked; i++) {
        if (p->asked[i] == ASKED_ALIVE) /* the wire's own time limit runs */
            return;
    }
    ask(p, ASKED_ALIVE);
    int n = snprintf(now, sizeof(now), "%lld", (long long)clock_wall_ms());
    snprintf(key, sizeof(key), "%s:{%.2s}:sandboxes", b->given.where.prefix, b->sandbox);
    if (b->given.no_index)
        wire_ask(&b->wire, WIRE_WORDS(STR("PING")));
    else
        wire_ask(&b->wire, WIRE_WORDS(STR("ZADD"), str_of(key), str_n(now, (size_t)n),
                                      str_of(b->sandbox)));
    wire_expect(&b->wire, DEAD_MS);
}

void publish_delta(struct bus *b, struct str text)
{
    ask(&b->out, ASKED_DELTA);
    wire_ask(&b->wire, WIRE_WORDS(STR("SPUBLISH"), str_of(b->delta_key), text));
    wire_expect(&b->wire, DEAD_MS);
}

/* ---- from the log ---- */

/* The events that a reading of the log adds to the next batch. */
struct gather {
    struct buf text; /* its XADD commands */
    size_t bytes;    /* of its events */
    size_t seen;     /* bytes of the log that were read */
};

/* Returns whether there may be more for the same batch. */
static bool gather_line(struct bus *b, struct gather *g, const struct batch_line *line)
{
    struct publish *p = &b->out;
    unsigned most = p->one || !p->exists ? 1 : BATCH_EVENTS;
    bool there = line->id <= p->found;
    if (!has_room(p, line->text.n) ||
        (!there && p->batch > 0 &&
         (p->batch == most || g->bytes + line->text.n > BATCH_BYTES)))
        return false;
    push(p, line->id, line->text.n);
    p->cursor.next = line->id + 1;
    if (there)
        return true;
    put_add(b, &g->text, line);
    g->bytes += line->text.n;
    p->batch++;
    p->batch_last = line->id;
    return true;
}

static bool gather_lines(struct bus *b, struct gather *g)
{
    struct publish *p = &b->out;
    const struct batch_line *line;
    for (unsigned i = 0; (line = actions_batch_line(b->en->actions, i)); i++) {
        if (line->id < p->cursor.next)
            continue;
        bool known = p->cursor.next <= p->found;
        if (known &&
            line->id > p->found) { /* a gap across `found`: only its end is new */
            p->cursor = (struct event_cursor){.next = p->found + 1};
            return true;
        }
        if (!gather_line(b, g, line)) {
            p->cursor.segment = p->cursor.offset = 0;
            return false;
        }
    }
    p->cursor = actions_batch_after(b->en->actions);
    return true;
}

static void send_batch(struct bus *b, const struct gather *g)
{
    struct publish *p = &b->out;
    bool several = p->batch > 1;
    p->replies = 0;
    buf_reset(&p->refusal);
    ask(p, several ? ASKED_BATCH : ASKED_ADD);
    if (several)
        wire_add(&b->wire, WIRE_WORDS(STR("MULTI")));
    buf_adds(&b->wire.s.out, buf_str(&g->text));
    if (several)
        wire_add(&b->wire, WIRE_WORDS(STR("EXEC")));
    wire_send(&b->wire);
    wire_expect(&b->wire, DEAD_MS);
    p->events += p->batch;
    p->event_bytes += g->bytes;
}

static void pump(struct bus *b)
{
    struct publish *p = &b->out;
    struct gather g = {.text = BUF_INIT(2 * LIMIT_EVENT_MAX + 2 * BATCH_BYTES)};
    if (b->state != BUS_UP || p->batch > 0)
        return;
    while (actions_batch(b->en->actions, &p->cursor)) {
        g.seen += actions_batch_bytes(b->en->actions);
        if (!gather_lines(b, &g))
            break;
        if (g.seen > LIMIT_READ_PER_TURN) {
            task_defer(b->en->loop, &p->pump);
            break;
        }
    }
    if (p->batch > 0)
        send_batch(b, &g);
    buf_release(&g.text);
}

static void on_pump(struct task *t) { pump(container_of(t, struct bus, out.pump)); }

static void on_wake(struct event_sub *s) { pump(container_of(s, struct bus, out.sub)); }

/* ---- replies ---- */

/* Handles the reply to one XADD. Returns whether the event is in the stream. */
static bool took(struct bus *b, const struct reply *r)
{
    if (r->kind == REPLY_STRING)
        return true;
    if (str_starts(reply_text(r),
                   STR("ERR The ID specified in XADD is equal or smaller"))) {
        b->out.duplicates++;
        return true;
    }
    if (r->kind == REPLY_NIL)
        bus_fail_text(b, BUS_LOST, ERR_GONE, "the stream of events was removed");
    else if (r->kind == REPLY_ERROR)
        bus_refused(b, &b->wire, "XADD", r);
    else
        wire_garbage(&b->wire, "XADD");
    return false;
}

static void batch_done(struct bus *b)
{
    struct publish *p = &b->out;
    p->published = p->batch_last > p->published ? p->batch_last : p->published;
    p->exists = true;
    p->batch = 0;
    trim(b);
    bus_check_flushed(b);
    task_defer(b->en->loop, &p->pump);
}

/*
 * Handles the replies to MULTI and to each command in it; then the one to EXEC, which has
 * the results of the commands.
 */
static void on_batch(struct bus *b, const struct reply *r)
{
    struct publish *p = &b->out;
    if (++p->replies < p->batch + 2) {
        if (r->kind == REPLY_ERROR && p->refusal.n == 0)
            buf_adds(&p->refusal, str_sub(reply_text(r), 0, p->refusal.max));
        else if (r->kind != REPLY_ERROR && r->kind != REPLY_STATUS)
            wire_garbage(&b->wire, "MULTI");
        return;
    }
    p->nasked--;
    memmove(p->asked, p->asked + 1, p->nasked * sizeof(*p->asked));
    struct reply first = {.kind = REPLY_ERROR, .text = buf_str(&p->refusal)};
    if (p->refusal.n > 0) {
        bus_refused(b, &b->wire, "XADD", &first);
        return;
    }
    if (r->kind == REPLY_ERROR) {
        bus_refused(b, &b->wire, "EXEC", r);
        return;
    }
    if (r->kind != REPLY_LIST || r->n != p->batch) {
        wire_garbage(&b->wire, "EXEC");
        return;
    }
    for (const struct reply *m = r->first; m; m = m->next) {
        if (!took(b, m))
            return;
    }
    batch_done(b);
}

void publish_reply(struct bus *b, const struct reply *r)
{
    struct publish *p = &b->out;
    if (p->nasked == 0) {
        wire_garbage(&b->wire, "nothing");
        return;
    }
    enum bus_asked what = p->asked[0];
    wire_expect(&b->wire, DEAD_MS);
    if (what == ASKED_BATCH) {
        on_batch(b, r);
    } else {
        p->nasked--;
        memmove(p->asked, p->asked + 1, p->nasked * sizeof(*p->asked));
        if (what == ASKED_ADD) {
            if (took(b, r))
                batch_done(b);
        } else if (what == ASKED_DELTA) {
            deltas_reply(b, r);
        } else if (r->kind == REPLY_ERROR) {
            bus_refused(b, &b->wire,
                        what == ASKED_TRIM  ? "XTRIM"
                        : b->given.no_index ? "PING"
                                            : "ZADD",
                        r);
        } else if (what == ASKED_TRIM) {
            trim(b);
        } else {
            timer_begin(b->en->loop, &p->alive, ALIVE_MS, on_alive);
        }
    }
    if (b->state == BUS_UP && p->nasked == 0)
        wire_expect(&b->wire, 0);
}

/* ---- acknowledgements ---- */

int publish_ack(struct bus *b, uint64_t n, struct err *e)
{
    struct publish *p = &b->out;
    uint64_t next = actions_next_id(b->en->actions);
    if (n >= next)
        return err_set(
            e, ERR_NOTFOUND,
            "there is no event %llu yet to be acknowledged: the last one is %llu",
            (unsigned long long)n, (unsigned long long)next - 1);
    if (n <= p->acked)
        return 0;
    p->acked = n;
    /* The backend may have events from elsewhere, or from before the stream was lost. */
    if (p->cursor.next <= n)
        p->cursor = (struct event_cursor){.next = n + 1};
    pop_acked(p);
    events_ack(b->events, &p->acks, n);
    if (b->state == BUS_UP) {
        trim(b);
        task_defer(b->en->loop, &p->pump);
    }
    return 0;
}

/* ---- life ---- */

void publish_init(struct bus *b)
{
    struct publish *p = &b->out;
    list_init(&p->sub.node);
    task_init(&p->pump, on_pump);
    buf_init(&p->refusal, 256);
}

void publish_begin(struct bus *b, uint64_t found, uint64_t first)
{
    struct publish *p = &b->out;
    uint64_t acked = first > 0 ? first - 1 : found;
    if (found < p->acked || acked > p->acked) /* the stream is lost, or was trimmed */
        p->acked = acked;
    p->found = p->published = found;
    p->trimmed = acked;
    p->exists = found > 0;
    p->first = p->n = p->batch = p->nasked = 0;
    p->bytes = 0;
    p->cursor = (struct event_cursor){.next = p->acked + 1};
    eventlog_subscribe(actions_log(b->en->actions), &p->sub, on_wake);
    on_alive(&p->alive);
    deltas_begin(b);
    trim(b);
    task_defer(b->en->loop, &p->pump);
    bus_check_flushed(b);
}

void publish_end(struct bus *b)
{
    struct publish *p = &b->out;
    eventlog_unsubscribe(&p->sub);
    task_cancel(&p->pump);
    timer_stop(&p->alive);
    deltas_end(b);
    p->batch = p->nasked = 0;
}
