/* SPDX-License-Identifier: MIT */
/* The table of kinds, and the life of an action: its turn, its end, its restart. */
#include "action/until.h"

#include "action/checkpoint.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>

static const struct action_kind *const kinds[] = {
#define ACTION(name) &action_##name,
#include "action/actions.def"
};

const struct action_kind *action_kind_at(size_t i)
{
    return i < sizeof(kinds) / sizeof(kinds[0]) ? kinds[i] : NULL;
}

const struct action_kind *action_kind(struct str name)
{
    const struct action_kind *k;
    for (size_t i = 0; (k = action_kind_at(i)); i++) {
        if (str_eq(name, str_of(k->name)))
            return k;
    }
    return NULL;
}

const struct action_kind *action_kind_of(const struct json *message)
{
    const struct action_kind *k = action_kind(json_str(message, "action", ""));
    const struct json *args = json_get(message, "args"), *v = json_get(args, "until");
    if (k != &action_run || !v || json_is_null(v))
        return k;
    return str_eq(json_str(args, "busy", ""), STR("fail")) ? &action_run_now
                                                           : &action_run_until;
}

int action_check(const struct action_kind *k, const struct json *args, struct err *e)
{
    if (args && !json_is_object(args))
        return err_set(e, ERR_INVALID, "args must be an object");
    if (params_check(k->name, k->takes, args, NULL, e) < 0)
        return -1;
    return k->check ? k->check(args, e) : 0;
}

/* ---- one action ---- */

struct action *action_new(struct actions *all, const struct action_kind *k,
                          struct json *message, struct str session)
{
    struct action *a = all->nspares > 0 ? all->spares[--all->nspares]
                                        : xnew(struct action);
    BUG_ON(session.n > ACTION_SESSION_MAX);
    ASSERT(json_is_object(message));
    *a = (struct action){.all = all,
                         .kind = k,
                         .message = message,
                         .args = json_get(message, "args"),
                         .in_turn = k->in_turn,
                         .since_ms = clock_ms()};
    memcpy(a->session, session.p, session.n);
    list_init(&a->node);
    list_init(&a->turn);
    return a;
}

void action_forget(struct action *a)
{
    ASSERT(list_empty(&a->node));
    json_free(a->message);
    a->message = a->args = NULL;
}

static void action_free(void *p)
{
    struct action *a = p;
    struct actions *all = a->all;
    json_free(a->message);
    free(a->client_id);
    if (XALLOC_REUSE && all->nspares < GROUP_MAX)
        all->spares[all->nspares++] = a;
    else
        free(a);
}

void action_discard(struct action *a)
{
    if (a->own && a->kind->discard)
        a->kind->discard(a);
    action_free(a);
}

void action_enter(struct action *a, uint64_t id)
{
    struct actions *all = a->all;
    a->id = id;
    list_add_tail(&all->list, &a->node);
    all->stats.pending += id > 0 && !a->repeats;
    task_defer(all->en->loop, &all->keep);
}

struct action *actions_next(const struct actions *all, const struct action *a)
{
    const struct list *next = a ? a->node.next : all->list.next;
    return next == &all->list ? NULL : list_entry(next, struct action, node);
}

struct action *actions_find(const struct actions *all, uint64_t id)
{
    for (struct action *a = NULL; id && (a = actions_next(all, a));) {
        if (a->id == id)
            return a;
    }
    return NULL;
}

/* ---- its turn ---- */

/*
 * Returns the action that is in turn in the same session and has begun, or waits at the
 * gate only; NULL if there is none.
 */
static struct action *ahead(const struct action *a)
{
    bool older = true;
    for (struct action *b = NULL; (b = actions_next(a->all, b));) {
        older = older && b != a;
        if (b->in_turn && (b->begun || (older && gate_waits(&b->gate))) &&
            strcmp(a->session, b->session) == 0)
            return b;
    }
    return NULL;
}

bool run_waits(const struct action *a)
{
    return str_eq(json_str(a->args, "busy", ""), STR("wait"));
}

/*
 * Whether a, a command, would wait for one that waits for input. It begins out of turn
 * then, so that its session refuses it at once.
 */
static bool is_blocked(const struct action *a)
{
    const struct session *s = session_find(a->all->en, str_of(a->session));
    struct look l;
    return (a->kind == &action_run || (a->kind == &action_run_until && !run_waits(a))) &&
           s && session_looked(s, &l) &&
           (l.state == LOOK_YES || l.state == LOOK_PROBABLY);
}

static bool may_begin(struct action *a)
{
    if (a->kind->at_once)
        return true;
    if (!sandbox_ready(a->all->en->sandbox))
        return false;
    struct action *b = a->in_turn ? ahead(a) : NULL;
    if (b && b->begun && b->kind->yield)
        b->kind->yield(b, a);
    if (b && ahead(a))
        return is_blocked(a);
    return checkpoint_lets(a);
}

static void begin(struct action *a)
{
    list_del(&a->turn);
    a->begun = true;
    if (!a->kind->brief)
        group_write_ends(a->all);
    a->kind->start(a);
}

/* Begins at most one, because an action that begins may remove others from the list. */
static bool begin_one(struct actions *all)
{
    struct list *it, *tmp;
    list_each (it, tmp, &all->turns) {
        struct action *a = list_entry(it, struct action, turn);
        if (may_begin(a)) {
            begin(a);
            return true;
        }
    }
    return false;
}

void actions_turn(struct actions *all)
{
    while (begin_one(all))
        ;
}

void actions_check_waiting(struct actions *all) { task_defer(all->en->loop, &all->turn); }

void action_go(struct action *a)
{
    ASSERT(a->node.next && !list_empty(&a->node) && !a->begun); /* opened only */
    if (!a->kind->foreign && !json_is_object(json_get(a->message, "args")))
        json_put(a->message, "args", json_object());
    a->args = json_get(a->message, "args");
    list_add_tail(&a->all->turns, &a->turn);
    actions_turn(a->all);
}

/* ---- watchers ---- */

void actions_watch(struct actions *all, struct action_watch *w)
{
    w->all = all;
    list_add_tail(&all->watches, &w->node);
}

void actions_unwatch(struct action_watch *w)
{
    if (!w->node.next || list_empty(&w->node))
        return;
    for (struct watch_round *r = w->all->rounds; r; r = r->outer) {
        if (r->next == &w->node)
            r->next = w->node.next;
    }
    list_del(&w->node);
}

static struct action_watch *round_next(struct actions *all, struct watch_round *r)
{
    struct list *n = r->next;
    if (n == &all->watches) {
        all->rounds = r->outer;
        return NULL;
    }
    r->next = n->next;
    return list_entry(n, struct action_watch, node);
}

static struct action_watch *round_begin(struct actions *all, struct watch_round *r)
{
    *r = (struct watch_round){.next = all->watches.next, .outer = all->rounds};
    all->rounds = r;
    return round_next(all, r);
}

static void tell_ended(struct actions *all, uint64_t cause, uint64_t end,
                       const struct err *e)
{
    struct watch_round r;
    for (struct action_watch *w = round_begin(all, &r); w; w = round_next(all, &r)) {
        if (w->ended)
            w->ended(w, cause, end, e);
    }
}

/* Calls the watchers of a, whose observation is `end`, or was refused with e. */
static void announce(const struct action *a, uint64_t end, const struct err *e)
{
    struct actions *all = a->all;
    all->stats.observations += end > 0;
    known_end(all, a->id, end ? end : a->id);
    all->stats.pending--;
    if (!end)
        log_error("%s", e->text);
    tell_ended(all, a->id, end, e);
    wait_ended(all, a->id);
    all->last_cause = a->id; /* set last: the ends of waits set it, too */
    all->last_end = end;
}

/* Writes the observation of a, which has left the list, and calls the watchers. */
static void write_end(struct action *a, const struct action_result *r)
{
    struct actions *all = a->all;
    struct err e = ERR_INIT;
    if (a->running) {
        all->stats.commands++;
        all->stats.command_ms += (uint64_t)(clock_ms() - a->since_ms);
    }
    group_write_ends(all); /* which may use the buffer of log_begin */
    struct buf *b = log_begin(all, ANSWER_MAX);
    all->stats.errors += log_put_end(b, a, r);
    uint64_t end = log_append(all, b, &e);
    log_done(all);
    announce(a, end, &e);
}

void action_ended(struct action *a, uint64_t end, const struct err *e)
{
    struct actions *all = a->all;
    announce(a, end, e);
    task_defer(all->en->loop, &all->keep);
    if (a == all->beginning) /* its kind has not returned yet */
        loop_bury(all->en->loop, a, action_free);
    else
        action_free(a);
}

void action_end_as(struct action *a, const struct action_result *r)
{
    struct actions *all = a->all;
    BUG_ON(list_empty(&a->node)); /* once for each action */
    list_del(&a->node);
    list_del(&a->turn);
    gate_leave(&a->gate);
    checkpoint_ended(all);
    if (group_hold_end(a, r))
        return;
    if (a->id && !a->repeats)
        write_end(a, r);
    if (a->id)
        cell_follower_end(all, a->id, r);
    place_forget(a);
    task_defer(all->en->loop, &all->keep);
    if (a->in_turn)
        task_defer(all->en->loop, &all->turn);
    loop_bury(all->en->loop, a, action_free);
}

void action_end(struct action *a, struct str text, struct json *take)
{
    struct action_result r = {.text = text, .extras = take};
    action_end_as(a, &r);
    json_free(take);
}

void action_end_printed(struct action *a, struct str text, struct str extras)
{
    struct action_result r = {.text = text, .printed = extras};
    action_end_as(a, &r);
}

void action_fail(struct action *a, const struct err *e)
{
    struct action_result r = {.error = e};
    action_end_as(a, &r);
}

int actions_cancel(struct actions *all, uint64_t id, struct err *e)
{
    struct action *a = actions_find(all, id);
    if (!a)
        return err_set(e, ERR_NOTFOUND, "action %llu has ended", (unsigned long long)id);
    if ((a->begun || a->kind->foreign) && a->kind->cancel && a->kind->cancel(a))
        return 0;
    struct err why = {.code = ERR_CANCELLED};
    snprintf(why.text, sizeof(why.text), "The action was cancelled%s",
             a->begun ? "" : " before it began");
    action_fail(a, &why);
    return 0;
}

/* ---- while it runs ---- */

void actions_set_foreign(struct actions *all, void *front) { all->foreign = front; }
void *actions_foreign(const struct actions *all) { return all->foreign; }

void action_running(struct action *a, const char *session, const char *command,
                    uint64_t from)
{
    struct watch_round r;
    if (a->running)
        return;
    a->running = true;
    a->from = from;
    if (session != a->session)
        buf_fill(a->session, sizeof(a->session), "%s", session);
    if (command != a->command)
        buf_fill(a->command, sizeof(a->command), "%s", command);
    for (struct action_watch *w = round_begin(a->all, &r); w;
         w = round_next(a->all, &r)) {
        if (w->started)
            w->started(w, a);
    }
}

void actions_tell_trail(struct actions *all)
{
    struct watch_round r;
    for (struct action_watch *w = round_begin(all, &r); w; w = round_next(all, &r)) {
        if (w->backgrounded)
            w->backgrounded(w);
    }
}

void actions_tell_process(const struct action *a, struct process *p)
{
    struct watch_round r;
    for (struct action_watch *w = round_begin(a->all, &r); w;
         w = round_next(a->all, &r)) {
        if (w->process)
            w->process(w, a, p);
    }
}

int actions_note(struct actions *all, const struct json *event, struct err *e)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    json_print(&b, event);
    uint64_t id = log_append(all, &b, e);
    buf_release(&b);
    return id ? 0 : -1;
}

int action_tell(struct action *a, struct buf *object, struct err *e)
{
    return log_append(a->all, object, e) ? 0 : -1;
}

int actions_tell(struct actions *all, struct buf *object, struct err *e)
{
    return log_append(all, object, e) ? 0 : -1;
}

void action_waits(struct action *a, const char *driver)
{
    struct buf b = BUF_INIT(8192);
    struct err e = ERR_INIT;
    buf_addz(&b, "{\"observation\":\"waits\",\"session\":");
    json_quote(&b, str_of(a->session));
    buf_addz(&b, ",\"content\":\"A person drives the browser; the action goes on when "
                 "it is given back\",\"extras\":{\"of\":\"browser\",\"viewer\":");
    json_quote(&b, str_of(driver));
    buf_addf(&b, ",\"action\":%llu}}", (unsigned long long)a->id);
    action_tell(a, &b, &e);
    buf_release(&b);
}

/* ---- after a restart ---- */

void action_call(const struct action *a, char id[LIMIT_ID + 1])
{
    snprintf(id, LIMIT_ID + 1, "act:%s:%llu", a->key, (unsigned long long)a->id);
}

bool action_typed(const struct action *a)
{
    char prefix[ACTION_KEY + 8];
    const struct session *s = session_find(a->all->en, str_of(a->session));
    snprintf(prefix, sizeof(prefix), "act:%s:", a->key);
    return s && session_input_call(s, str_of(prefix));
}

enum action_resume action_resume_unknown(const struct action *a)
{
    (void)a;
    return ACTION_UNKNOWN;
}

void action_resume(struct action *a)
{
    struct err e = {.code = ERR_GONE};
    a->resumed = true;
    switch (a->kind->resume ? a->kind->resume(a) : ACTION_RESUME) {
    case ACTION_RESUME:
        action_go(a);
        return;
    case ACTION_DONE:
        action_end(a, STR(""), NULL);
        return;
    case ACTION_UNKNOWN:
        snprintf(e.text, sizeof(e.text),
                 "The server was restarted during this action; whether it was done "
                 "cannot be known");
        action_fail(a, &e);
        return;
    case ACTION_INTERRUPTED:
        snprintf(e.text, sizeof(e.text),
                 "The server was restarted before this action was done, so it was "
                 "interrupted and not applied");
        action_fail(a, &e);
        return;
    }
}
