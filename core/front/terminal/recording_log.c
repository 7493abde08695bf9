/* SPDX-License-Identifier: MIT */
/* The commands of a session, from the log of actions. */
#include "front/terminal/recording_own.h"

#include "action/action.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "eventlog/line.h"

#include <stdlib.h>

enum {
    PART = 64 << 10,
    WAITING_MAX = 4096,
    RAISES_MAX = 8 /* for the end of an action that has ended since the recording began */
};

typedef void line_fn(struct recorded_log *g, struct str line,
                     const struct event_members *l, int64_t us);

void recorded_open(struct recorded_log *g)
{
    list_init(&g->waiting);
    list_init(&g->ready);
    buf_init(&g->lines, LIMIT_EVENT_MAX + (128 << 10));
    g->end = actions_next_id(g->all);
    g->at.next = g->action ? g->action : 1;
}

void recorded_drop(struct recorded *c)
{
    list_del(&c->node);
    free(c);
}

static void drop_all(struct list *of)
{
    while (!list_empty(of))
        recorded_drop(list_first(of, struct recorded, node));
}

void recorded_release(struct recorded_log *g)
{
    drop_all(&g->waiting);
    drop_all(&g->ready);
    buf_release(&g->lines);
}

struct recorded *recorded_first(struct recorded_log *g)
{
    return list_empty(&g->ready) ? NULL : list_first(&g->ready, struct recorded, node);
}

/* Calls fn for the session's events of the next part. Returns true at the end, which a
 * part may go beyond: what it has is not read again. */
static bool each(struct recorded_log *g, line_fn *fn)
{
    buf_reset(&g->lines);
    if (g->at.next >= g->end ||
        eventlog_read(actions_log(g->all), &g->at, &g->lines, PART, NULL) <= 0)
        return true;
    for (struct str s = buf_str(&g->lines); s.n > 0;) {
        struct str line = str_cut(&s, '\n');
        struct event_line head;
        struct event_members l;
        event_members(line, &l);
        if (l.kind != EVENT_OTHER && event_head(line, &head) &&
            str_eq(l.session, str_of(g->session)))
            fn(g, line, &l, event_stamp_us(head.stamp.p));
    }
    return g->at.next >= g->end;
}

/* ---- the first pass ---- */

static void scan(struct recorded_log *g, struct str line, const struct event_members *l,
                 int64_t us)
{
    (void)line;
    if (l->kind == EVENT_ACTION) {
        g->start_us = l->id == g->action ? us : g->start_us;
        if (g->process && g->first == 0 && us >= g->created_us)
            g->first = l->id;
        return;
    }
    /* Of an earlier session of this name, whose offsets are others. */
    if (!l->has_output || us < g->created_us)
        return;
    if (g->first == 0 || l->to < g->last_to)
        g->first = l->cause;
    g->last_to = l->to;
    if (l->cause == g->action && !g->started) {
        g->started = true;
        g->start = l->from;
    }
}

bool recorded_scan(struct recorded_log *g) { return each(g, scan); }

int recorded_begin(struct recorded_log *g, struct err *e)
{
    const struct action *a = g->action ? actions_find(g->all, g->action) : NULL;
    if (a && a->running && !g->started) {
        g->started = true;
        g->start = a->from;
    }
    if (g->action && (!g->started || !g->start_us))
        return err_set(e, ERR_NOTFOUND,
                       "action %llu has no output in session %s; od events lists actions",
                       (unsigned long long)g->action, g->session);
    /* A running command may be older than the first that has ended. */
    g->at = (struct event_cursor){.next = g->action ? g->action : g->first};
    for (a = NULL; !g->action && (a = actions_next(g->all, a));) {
        if (a->id && a->running && (g->at.next == 0 || a->id < g->at.next))
            g->at.next = a->id;
    }
    if (g->at.next == 0)
        g->at.next = g->end;
    return 0;
}

/* ---- the second pass ---- */

static void add_action(struct recorded_log *g, struct str line, uint64_t id, int64_t us)
{
    struct json *j = json_parse(line, NULL);
    const struct json *args = json_get(j, "args");
    const struct json *text = json_get(args, g->process ? "data" : "command");
    if (str_eq(json_str(j, "action", ""), g->process ? STR("input") : STR("run")) &&
        json_is_string(text)) {
        struct str rest = str_trim(json_str_value(text, ""));
        struct str line1 = str_cut(&rest, '\n'), first = str_cut(&line1, '\r');
        struct recorded *c = xnew(struct recorded);
        *c = (struct recorded){
            .id = id, .begin_us = us, .command = true, .typed = g->process};
        size_t n = utf8_cut(first, first.n < RECORDED_TEXT ? first.n : RECORDED_TEXT);
        c->input = json_bool(args, "is_input", false);
        c->more = n < first.n || line1.n > 0 || rest.n > 0;
        if (n > 0)
            memcpy(c->text, first.p, n);
        list_add_tail(c->typed ? &g->ready : &g->waiting, &c->node);
        if (c->typed && (us < g->created_us || (unsigned char)c->text[0] < ' ')) {
            recorded_drop(c); /* of an earlier one, or a key */
        } else if (!c->typed && ++g->nwaiting > WAITING_MAX) {
            recorded_drop(list_first(&g->waiting, struct recorded, node));
            g->nwaiting--;
        }
    }
    json_free(j);
}

static struct recorded *take_waiting(struct recorded_log *g, uint64_t id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &g->waiting) {
        struct recorded *c = list_entry(it, struct recorded, node);
        if (c->id != id)
            continue;
        list_del(&c->node);
        g->nwaiting--;
        return c;
    }
    return NULL;
}

static void take(struct recorded_log *g, struct str line, const struct event_members *l,
                 int64_t us)
{
    if (l->kind == EVENT_ACTION) {
        add_action(g, line, l->id, us);
        return;
    }
    struct recorded *c = take_waiting(g, l->cause);
    if (!l->has_output || us < g->created_us) {
        free(c);
        return;
    }
    if (!c) {
        c = xnew(struct recorded);
        *c = (struct recorded){.begun = true};
    }
    c->from = l->from;
    c->to = l->to;
    c->end_us = us;
    list_add_tail(&g->ready, &c->node);
}

bool recorded_read(struct recorded_log *g)
{
    struct list *it, *tmp;
    bool ended = false;
    if (!each(g, take))
        return false;
    list_each (it, tmp, &g->waiting) {
        struct recorded *c = list_entry(it, struct recorded, node);
        const struct action *a = actions_find(g->all, c->id);
        ended = ended || !a;
        if (!a || !a->running)
            continue;
        c->from = a->from;
        c->to = UINT64_MAX;
        list_del(&c->node);
        g->nwaiting--;
        list_add_tail(&g->ready, &c->node);
    }
    if (ended && g->raised < RAISES_MAX) {
        g->raised++;
        g->end = actions_next_id(g->all);
        return false;
    }
    return true;
}
