/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the command of a session, by any number of waits and any client:
 *
 *   {"action":"wait","args":{"until":"input","id":N,"from":OFFSET},"timeout":S}
 *
 * The observation is that of a run with `until`: how the command ended, or what it waits
 * for. If it has ended already, the observation comes at once. Cancelling a wait does not
 * end the command.
 *
 * If `id` names the action of a cell, the wait ends after that action, whose observation
 * has the result and precedes that of the wait in the log.
 */
#include "action/cell.h"
#include "action/log.h"
#include "action/until.h"
#include "base/limits.h"
#include "base/xalloc.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct param_list takes = {
    .about = "Waits for the running command of the session, and observes how it ended or "
             "what it "
             "waits for",
    .params =
        (const struct param[]){
            {.name = "until",
             .type = PARAM_STRING,
             .dflt = "\"end\"",
             .pattern = "^(end|input|quiet)$",
             .about = "When to observe it: end, at its end; input, also when it waits "
                      "for input; quiet, also when its output stops"},
            {.name = "quiet",
             .type = PARAM_NUMBER,
             .ranged = true,
             .max = UNTIL_QUIET_MAX_S,
             .dflt = "2",
             .about = "With until quiet: the seconds without output"},
            {.name = "id",
             .type = PARAM_INT,
             .ranged = true,
             .min = 1,
             .about = "The action of the command or cell; without it the one that runs "
                      "in the session, or ran last"},
            {.name = "from",
             .type = PARAM_INT,
             .ranged = true,
             .about = "The offset in the session's output where the observation's output "
                      "begins; without it that of the command"},
            {0}},
    .example = "{\"until\":\"input\"}"};

static const struct member wait_members[] = {
    {.name = "command",
     .type = MEMBER_INT,
     .optional = true,
     .about = "The id of the action whose command or cell it is"},
    UNTIL_EXTRAS,
    {0}};

static const struct observation gives[] = {
    {.name = "wait", .beside = until_beside, .extras = wait_members}, {0}};

static int check(const struct json *args, struct err *e)
{
    return until_check(json_str(args, "until", "end"), e);
}

/* ---- which command ---- */

/* Finds the id by which sessions know an action's command. Returns -1 and sets *e. */
static int command_of(struct actions *all, uint64_t action, char id[LIMIT_ID + 1],
                      struct err *e)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct event_members found = {0};
    const struct action *a = actions_find(all, action);
    id[0] = 0;
    if (a && a->command[0])
        memcpy(id, a->command, sizeof(a->command));
    else if (actions_line(all, action, &line) == 0)
        event_members(buf_str(&line), &found);
    if (found.kind == EVENT_ACTION && found.key.n == ACTION_KEY)
        snprintf(id, LIMIT_ID + 1, "act:%.*s:%llu", STR_ARG(found.key),
                 (unsigned long long)action);
    buf_release(&line);
    return id[0] ? 0
                 : err_set(e, ERR_NOTFOUND, "there is no action %llu in the log",
                           (unsigned long long)action);
}

/* Returns the id of the action of the command with this id; 0 if it has none. */
static uint64_t action_of(const struct actions *all, const char *id)
{
    struct str rest = str_of(id);
    uint64_t n = 0;
    for (struct action *a = NULL; (a = actions_next(all, a));) {
        if (id[0] && strcmp(a->command, id) == 0)
            return a->id;
    }
    if (str_eq(str_cut(&rest, ':'), STR("act")) && str_cut(&rest, ':').n == ACTION_KEY)
        str_to_u64(rest, &n);
    return n;
}

/* ---- its observation ---- */

struct waiting {
    struct action *a;      /* the owner of this */
    struct op *op;         /* borrowed from its session; NULL: it waits for a cell */
    char id[LIMIT_ID + 1]; /* of the command */
    uint64_t cell;         /* the action of the cell; 0: none */
    bool for_input;
    struct timer late;
};

static void waiting_free(void *p) { free(p); }

/* May be called from its own timer. */
static void drop(struct waiting *w)
{
    w->a->own = NULL;
    timer_stop(&w->late);
    loop_bury(w->a->all->en->loop, w, waiting_free);
}

static void observe(struct waiting *w, struct op_result *r, uint64_t begin)
{
    struct action *a = w->a;
    struct json *extras = json_object();
    int64_t from = json_int(a->args, "from", -1);
    uint64_t command = action_of(a->all, w->id);
    if (begin || from >= 0)
        r->from = from > (int64_t)begin ? (uint64_t)from : begin;
    if (r->from > r->to)
        r->from = r->to;
    if (command)
        json_put_int(extras, "command", (int64_t)command);
    drop(w);
    until_observe(a, r, extras);
}

static void observe_end(struct waiting *w, const struct command_seen *c)
{
    struct op_result r = {.state = c->shell_ended ? OP_SHELL_ENDED : OP_ENDED,
                          .exit = c->exit,
                          .signo = c->signo,
                          .seq = c->seq,
                          .from = c->from,
                          .to = c->to,
                          .duration_ms = c->duration_ms};
    observe(w, &r, c->from);
}

static void fail(struct waiting *w, const struct err *e)
{
    struct action *a = w->a;
    drop(w);
    action_fail(a, e);
}

/* ---- a cell ---- */

/* Ends the wait for a cell; why NULL: the cell has ended. */
static void observe_cell(struct waiting *w, const char *why)
{
    struct action *a = w->a;
    const struct action_cell *c = action_cell_find(a->all, w->cell);
    struct json *j = json_object();
    struct json *waiting = why ? json_object() : NULL;
    struct str prompt = c && c->asks ? buf_str(&c->prompt) : STR("");
    if (why)
        json_put_z(waiting, "state", c && c->asks ? "yes" : "no");
    if (why && c && c->asks && c->password)
        json_put_bool(waiting, "hidden", true);
    json_put_int(j, "command", (int64_t)w->cell);
    if (why)
        json_put_z(j, "why", why);
    struct action_result r = {.text = prompt, .extras = j, .waiting = waiting};
    drop(w);
    action_end_as(a, &r);
    json_free(j);
    json_free(waiting);
}

static struct waiting *next_for_cell(const struct actions *all, uint64_t cell, bool input)
{
    for (struct action *a = NULL; (a = actions_next(all, a));) {
        struct waiting *w = a->kind == &action_wait ? a->own : NULL;
        if (w && w->cell == cell && (!input || w->for_input))
            return w;
    }
    return NULL;
}

void wait_ended(struct actions *all, uint64_t id)
{
    for (struct waiting *w; (w = next_for_cell(all, id, false));)
        observe_cell(w, NULL);
}

void wait_cell_asks(struct actions *all, uint64_t id)
{
    for (struct waiting *w; (w = next_for_cell(all, id, true));)
        observe_cell(w, "input");
}

static void on_late(struct timer *t)
{
    observe_cell(container_of(t, struct waiting, late), "timeout");
}

/* Waits for the action of a cell, which may have ended already. */
static void wait_for_cell(struct waiting *w, uint64_t id)
{
    struct action *a = w->a;
    const struct action_cell *c = action_cell_find(a->all, id);
    int64_t ms = until_timeout(a);
    w->cell = id;
    w->for_input = str_eq(json_str(a->args, "until", "end"), STR("input"));
    if (!actions_find(a->all, id))
        observe_cell(w, NULL);
    else if (c && c->asks && w->for_input)
        observe_cell(w, "input");
    else if (ms > 0)
        timer_begin(a->all->en->loop, &w->late, ms, on_late);
}

/* Returns whether the action is a cell, or was one according to the log. */
static bool is_cell(struct actions *all, uint64_t id)
{
    const struct action *a = actions_find(all, id);
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    if (a)
        return a->kind == &action_cell;
    struct json *m = actions_line(all, id, &line) == 0 ? json_parse(buf_str(&line), &e)
                                                       : NULL;
    bool cell = str_eq(json_str(m, "action", ""), STR("cell"));
    json_free(m);
    buf_release(&line);
    return cell;
}

/* ---- the op ---- */

static void on_done(struct op *op)
{
    struct waiting *w = op->owner;
    struct session *s = op->session;
    struct command_seen seen;
    w->op = NULL;
    if (op->r.state == OP_FAILED) {
        fail(w, &op->r.err);
        return;
    }
    bool known = session_command(s, w->id, &seen);
    observe(w, &op->r, known ? seen.from : 0);
}

static const struct op_sink sink = {.done = on_done};

static void attach(struct waiting *w, struct session *s)
{
    struct action *a = w->a;
    w->op = op_new(OP_WAIT, &sink, w);
    until_limits(a, json_str(a->args, "until", "end"), w->op);
    session_wait(s, w->op);
}

/* ---- the action ---- */

/* Copies the id of the running command, which may have none, or of the last command. */
static void newest(const struct session *s, bool busy, char id[LIMIT_ID + 1])
{
    const char *call = busy ? session_now(s) : session_call(s, STR(""));
    if (call)
        snprintf(id, LIMIT_ID + 1, "%s", call);
}

static void start(struct action *a)
{
    struct err e = ERR_INIT;
    struct waiting *w = xnew(struct waiting);
    struct session *s = action_session(a, &e);
    uint64_t of = (uint64_t)json_int(a->args, "id", 0);
    struct command_seen seen;
    w->a = a;
    a->own = w;
    if (of && is_cell(a->all, of)) {
        wait_for_cell(w, of);
        return;
    }
    if (!s || (of && command_of(a->all, of, w->id, &e) < 0)) {
        fail(w, &e);
        return;
    }
    bool busy = session_busy(s);
    if (!of)
        newest(s, busy, w->id);
    const char *now = session_now(s);
    bool known = session_command(s, w->id, &seen);
    if (known && seen.ended) {
        observe_end(w, &seen);
    } else if (busy && (known || !of || (now && strcmp(now, w->id) == 0))) {
        attach(w, s);
    } else {
        err_set(&e, ERR_NOTFOUND,
                of ? "session %s does not know the command of that action"
                   : "nothing runs in session %s",
                a->session);
        fail(w, &e);
    }
}

static bool cancel(struct action *a)
{
    struct waiting *w = a->own;
    if (w->op)
        op_drop(w->op);
    drop(w);
    return false;
}

const struct action_kind action_wait = {.name = "wait",
                                        .at_once = true,
                                        .takes = &takes,
                                        .gives = gives,
                                        .check = check,
                                        .start = start,
                                        .cancel = cancel};
