/* SPDX-License-Identifier: MIT */
/*
 * Commands for programs: {"action":"run","args":{"command":…,"until":"end"}}. The
 * observation comes when the command has ended, waits for input, or is quiet. Next to the
 * content it has the exit code, or what the command waits for. Without `until` the action
 * is V0's.
 *
 * A command whose session has a program that waits for input fails without being run,
 * unless `busy` is wait. `busy` fail makes a separate kind, which is not in turn: it
 * enters its session's queue at once, where its timeout starts, and fails when that ends
 * first, too.
 */
#include "action/until.h"

#include "action/outside_own.h"
#include "action/background.h"

#include "base/limits.h"
#include "base/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUIET_MS = 2000 };

static const struct member waiting[] = {
    {.name = "state",
     .type = MEMBER_STRING,
     .choices = "no yes unknown probably",
     .about = "Whether it waits for input"},
    {.name = "program",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The program that waits"},
    {.name = "pid", .type = MEMBER_INT, .optional = true, .about = "Its process"},
    {.name = "how",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "How that was detected"},
    {.name = "hidden",
     .type = MEMBER_BOOL,
     .optional = true,
     .about = "What is typed is not shown, as for a password"},
    {0}};

const struct member until_beside[] = {{.name = "exit_code",
                                       .type = MEMBER_INT,
                                       .optional = true,
                                       .about = "If it has ended: its exit code"},
                                      {.name = "waiting",
                                       .type = MEMBER_OBJECT,
                                       .optional = true,
                                       .members = waiting,
                                       .about = "If it goes on: what it waits for"},
                                      {0}};

static const struct member extras_run[] = {UNTIL_EXTRAS, {0}};

static const struct member beside_ended[] = {{.name = "exit_code",
                                              .type = MEMBER_INT,
                                              .nullable = true,
                                              .about = "null: it is not known"},
                                             {0}};

static const struct member extras_ended[] = {UNTIL_ENDED, {0}};

static const struct observation gives[] = {
    {.name = "run",
     .beside = until_beside,
     .extras = extras_run,
     .about = "With until: how it ended, or what it waits for"},
    {.name = "ended",
     .notice = true,
     .beside = beside_ended,
     .extras = extras_ended,
     .about = "The end of a command whose observation came before"},
    {0}};

int until_check(struct str until, struct err *e)
{
    if (str_eq(until, STR("end")) || str_eq(until, STR("input")) ||
        str_eq(until, STR("quiet")))
        return 0;
    return err_set(e, ERR_INVALID, "until must be end, input or quiet, not \"%.*s\"",
                   (int)(until.n < 60 ? until.n : 60), until.n ? until.p : "");
}

/* Returns the argument that only V0's run has; NULL if there is none. */
static const char *theirs(const struct json *args)
{
    if (json_bool(args, "is_input", false))
        return "is_input";
    if (json_bool(args, "is_static", false))
        return "is_static";
    return json_is_string(json_get(args, "cwd")) ? "cwd" : NULL;
}

static int check(const struct json *args, struct err *e)
{
    struct str command = json_str(args, "command", "");
    const char *name = theirs(args);
    if (until_check(json_str(args, "until", ""), e) < 0)
        return -1;
    if (name)
        return err_set(e, ERR_INVALID,
                       "run has no argument %s with until: text for a program is the "
                       "action input, a command beside the shell the action process",
                       name);
    if (command.n > LIMIT_COMMAND_MAX)
        return err_set(e, ERR_LIMIT, "the command is longer than %d bytes",
                       LIMIT_COMMAND_MAX);
    return 0;
}

/* ---- the observation ---- */

static struct json *waiting_of(const struct action *a, const struct op_result *r)
{
    static const char *const states[] = {"no", "yes", "unknown", "probably"};
    const struct session *s = session_find(a->all->en, str_of(a->session));
    const struct look *l = &r->look;
    struct json *j = json_object();
    json_put_z(j, "state", states[r->looked ? l->state : LOOK_UNKNOWN]);
    if (r->looked && l->pid) {
        json_put_z(j, "program", l->comm);
        json_put_int(j, "pid", l->pid);
    }
    if (r->looked && l->how[0])
        json_put_z(j, "how", l->how);
    if (s && session_hides(s))
        json_put_bool(j, "hidden", true);
    return j;
}

uint64_t until_observe(struct action *a, const struct op_result *r, struct json *j)
{
    static const char *const whys[] = {"",      "timeout",  "quiet",
                                       "input", "detached", "cancelled"};
    struct buf text = BUF_INIT(LIMIT_EVENT_MAX);
    struct json *why = NULL;
    bool ended = r->state != OP_RUNNING;
    run_put_output(a->all, a->session, r->from, r->to, &text, j);
    run_put_end(j, r->duration_ms, ended ? r->signo : 0, r->state == OP_SHELL_ENDED);
    if (!ended) {
        why = waiting_of(a, r);
        json_put_z(j, "why", whys[r->why]);
    }
    if (r->refused)
        json_put(j, "refused", json_copy(r->refused));
    struct action_result result = {.text = buf_str(&text),
                                   .extras = j,
                                   .has_exit = ended,
                                   .exit_code = r->exit,
                                   .waiting = why,
                                   .has_output = true,
                                   .from = r->from,
                                   .to = r->to > r->from ? r->to : r->from};
    action_end_as(a, &result);
    json_free(j);
    json_free(why);
    buf_release(&text);
    return result.to;
}

static void observe(struct action *a, const struct op_result *r)
{
    struct actions *all = a->all;
    all->last_cause = 0;
    uint64_t to = until_observe(a, r, json_object());
    if (r->state == OP_RUNNING)
        background_add(a, all->last_cause == a->id ? all->last_end : a->id, to);
}

/* ---- its op ---- */

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct action *a = op->owner;
    (void)text;
    (void)from;
    if (kind == NOTE_STARTED)
        action_running(a, a->session, op->id, to);
    else if (kind == NOTE_WAITING || kind == NOTE_PROBABLY_WAITING)
        actions_check_waiting(a->all); /* those that it would block fail */
}

static void on_done(struct op *op)
{
    struct action *a = op->owner;
    a->own = NULL;
    if (op->r.state == OP_FAILED)
        action_fail(a, &op->r.err);
    else
        observe(a, &op->r);
}

static const struct op_sink sink = {.note = on_note, .done = on_done};

static int64_t milliseconds(const struct json *j, const char *name, int64_t dflt)
{
    double s = json_num(j, name, -1);
    return s < 0 ? dflt : (int64_t)(s * 1000);
}

int64_t until_timeout(const struct action *a)
{
    return milliseconds(a->message, "timeout", 0);
}

void until_limits(const struct action *a, struct str until, struct op *op)
{
    op->timeout_ms = until_timeout(a);
    op->return_on_input = str_eq(until, STR("input"));
    if (str_eq(until, STR("quiet"))) {
        op->idle_ms = milliseconds(a->args, "quiet", QUIET_MS);
        op->idle_ms = op->idle_ms > 0 ? op->idle_ms : 1;
    }
}

static struct session *session_of(const struct action *a, struct err *e)
{
    struct engine *en = a->all->en;
    struct str name = str_of(a->session);
    struct session *s = session_find(en, name);
    struct session_opts o = {.cwd = str_of(sandbox_cwd(en->sandbox, name)),
                             .user = sandbox_user(en->sandbox)};
    return s ? s : session_get(en, name, &o, e);
}

static void start(struct action *a)
{
    struct err e = ERR_INIT;
    struct session *s = session_of(a, &e);
    struct command_seen seen;
    if (!s) {
        action_fail(a, &e);
        return;
    }
    struct op *op = op_new(OP_RUN, &sink, a);
    action_call(a, op->id);
    buf_adds(&op->command, json_str(a->args, "command", ""));
    until_limits(a, json_str(a->args, "until", ""), op);
    op->fail_on_input = !run_waits(a);
    op->outlasts_start = !a->in_turn;
    a->own = op;
    memcpy(a->command, op->id, sizeof(a->command));
    if (session_command(s, op->id, &seen) && seen.began && !seen.ended)
        action_running(a, a->session, seen.id, seen.from);
    session_run(s, op);
}

static bool cancel(struct action *a)
{
    struct op *op = a->own;
    struct session *s = session_find(a->all->en, str_of(a->session));
    if (op && s && session_running(s, op->id)) {
        session_kill(s, SIGTERM, LIMIT_GRACE_MS, false, NULL, NULL);
        return true;
    }
    if (op)
        op_drop(op);
    a->own = NULL;
    return false;
}

/* Its session knows the command by its key. */
static bool begun(const struct action *a)
{
    char id[LIMIT_ID + 1];
    struct command_seen seen;
    struct session *s = session_find(a->all->en, str_of(a->session));
    action_call(a, id);
    return s && session_command(s, id, &seen);
}

const struct action_kind action_run_until = {.name = "run",
                                             .in_turn = true,
                                             .takes = &action_takes_run,
                                             .gives = gives,
                                             .check = check,
                                             .start = start,
                                             .cancel = cancel,
                                             .begun = begun};

const struct action_kind action_run_now = {.name = "run",
                                           .takes = &action_takes_run,
                                           .check = check,
                                           .start = start,
                                           .cancel = cancel,
                                           .begun = begun};
