/* SPDX-License-Identifier: MIT */
/*
 * Groups: many actions of one peer at once. One write puts all of them into the log, then
 * each begins; one more write puts the observations of those that ended at once.
 *
 *   actions_send … ─▶ actions_commit: write ─▶ begin each ─▶ write ─▶ watchers
 *
 * An action is in the log before it begins, and an observation before anybody learns of
 * it, as without a group. If a group cannot be written as a whole, its lines are written
 * one by one, so that each is refused, or makes room, for itself.
 *
 * Observations of `brief` kinds wait in the second group. They are written before
 * anything else is appended to the log and before an action of another kind begins, so
 * no code but this file sees an action that has ended and has no observation yet.
 */
#include "action/own.h"

/* Adds a line and its action. Returns false if they do not fit. */
static bool add(struct group *g, struct action *a, struct str line)
{
    if (g->n == GROUP_MAX || line.n > GROUP_BYTES - g->text.n)
        return false;
    if (buf_adds(&g->text, line) < 0)
        return false;
    g->a[g->n] = a;
    g->end[g->n++] = g->text.n;
    return true;
}

/*
 * Moves the actions out of the group, and returns how many they are. Their lines borrow
 * from g->text, which the caller empties.
 */
static unsigned take(struct group *g, struct action *a[GROUP_MAX],
                     struct str line[GROUP_MAX])
{
    unsigned n = g->n;
    for (unsigned i = 0; i < n; i++) {
        size_t from = i ? g->end[i - 1] : 0;
        a[i] = g->a[i];
        line[i] = str_n(g->text.p + from, g->end[i] - from);
    }
    g->n = 0;
    return n;
}

/* ---- the actions ---- */

bool group_add(struct actions *all, struct action *a, struct str line)
{
    return add(&all->joined, a, line);
}

bool group_has(const struct actions *all, struct str client_id)
{
    for (unsigned i = 0; i < all->joined.n && client_id.n > 0; i++) {
        const char *other = all->joined.a[i]->client_id;
        if (other && str_eq(client_id, str_of(other)))
            return true;
    }
    return false;
}

/*
 * Writes the lines of the group to the log, at once or else each by itself, and calls
 * written for each action with the id of its event; 0: the log refused it, with e.
 */
static void write_group(struct actions *all, struct group *g,
                        void (*written)(struct action *a, uint64_t id,
                                        const struct err *e))
{
    struct action *a[GROUP_MAX];
    struct str line[GROUP_MAX];
    if (g->n == 0)
        return;
    unsigned n = take(g, a, line);
    uint64_t first = n > 1 ? eventlog_append_all(all->log, line, n) : 0;
    for (unsigned i = 0; i < n; i++) {
        struct err e = ERR_INIT;
        uint64_t id = first ? first + i : log_write(all, line[i], &e);
        written(a[i], id, &e);
    }
    buf_reset(&g->text);
}

static void go(struct action *a, uint64_t id, const struct err *e)
{
    struct actions *all = a->all;
    if (!id) {
        order_refused(a, e);
        return;
    }
    all->beginning = a;
    order_go(a, id);
    all->beginning = NULL;
}

void actions_commit(struct actions *all)
{
    write_group(all, &all->joined, go);
    group_write_ends(all);
}

/* ---- their observations ---- */

bool group_hold_end(struct action *a, const struct action_result *r)
{
    struct actions *all = a->all;
    struct err e = ERR_INIT;
    if (a != all->beginning || !a->kind->brief)
        return false;
    ASSERT(!a->repeats && !a->in_turn && !a->running && !a->placed && !a->noting);
    struct buf *b = log_begin(all, ANSWER_MAX);
    bool failed = log_put_end(b, a, r);
    bool held = log_mask(all, b, &e) == 0 && add(&all->ended, a, buf_str(b));
    all->stats.errors += held && failed;
    log_done(all);
    return held;
}

void group_write_ends(struct actions *all)
{
    write_group(all, &all->ended, action_ended);
}
