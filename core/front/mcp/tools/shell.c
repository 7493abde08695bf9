/* SPDX-License-Identifier: MIT */
/*
 * The tool `shell`: a run with `until` input that does not queue behind others
 * (action/until.c). Its command goes on after the call, unless the call was cancelled.
 */
#include "front/mcp/tools/ran.h"

#include "base/clock.h"
#include "base/words.h"
#include "base/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static const struct param_list takes = {
    .about =
        "Run a command in a persistent bash session on this computer: directory, "
        "variables "
        "and jobs stay for the next call. Answers when the command ends, when it waits "
        "for "
        "input (seen in the kernel; reply with shell_input), or after wait_s seconds. It "
        "is not stopped then: start servers and long builds here and follow them with "
        "shell_input. While one session is busy, use another name in `session`. Long "
        "output is shown as first and last lines; the last line of the answer gives exit "
        "status or state, and how to get the rest. For files prefer read, search, edit.",
    .params = (const struct param[]){
        {.name = "command",
         .type = PARAM_STRING,
         .required = true,
         .about = "Shell text, run verbatim; several lines and here-documents are fine."},
        {.name = "session",
         .type = PARAM_STRING,
         .about = "Session name, default \"main\"; a new name makes a new shell."},
        {.name = "wait_s",
         .type = PARAM_INT,
         .ranged = true,
         .max = 600,
         .about = "Seconds to wait, default 30, at most 600; 0 returns at once."},
        {0}}};

/* ---- the command ---- */

/*
 * Returns the kind of JSON if the text is JSON, as other tools take their arguments; NULL
 * if it may be a command.
 */
static const char *json_kind(struct str command)
{
    struct err e = ERR_INIT;
    struct str s = str_trim(command);
    struct json *j = s.n && (s.p[0] == '[' || s.p[0] == '{') ? json_parse(s, &e) : NULL;
    const char *kind = json_is_array(j) ? "list" : json_is_object(j) ? "object" : NULL;
    json_free(j);
    return kind;
}

/* Puts the argument cwd of other tools before the command, as a cd that stays. */
static void put_command(struct buf *out, const struct json *args)
{
    struct str cwd = json_str(args, "cwd", ""), command = json_str(args, "command", "");
    if (cwd.n > 0) {
        buf_addz(out, "cd -- ");
        words_quote(out, cwd);
        buf_addz(out, " && {\n");
        buf_adds(out, command);
        buf_addz(out, "\n}");
    } else {
        buf_adds(out, command);
    }
}

/* ---- a session that is busy ---- */

static void fail_busy(struct tool_call *c, bool waits)
{
    struct ran *r = c->own;
    struct session *s = session_find(c->en, str_of(r->session));
    struct buf text = BUF_INIT(TOOL_ERROR_MAX), program = BUF_INIT(256);
    char id[LIMIT_ID + 1], other[8] = "2";
    uint64_t command = s ? ran_newest(s, id) : 0;
    if (s)
        ran_program(s, &program);
    ran_other(c->en, other);
    buf_addf(&text, "session %s is busy: ", r->session);
    put_program(&text, buf_z(&program));
    if (command)
        buf_addf(&text, " (command %llu)", (unsigned long long)command);
    buf_addf(&text, " %s; your command was not run. ",
             waits ? "waits for input" : "still runs");
    if (waits) {
        buf_addz(&text, "Leave it with ");
        put_leave(&text, r->session, buf_z(&program));
        buf_addf(&text, ", or use session=\"%s\".", other);
    } else {
        buf_addz(&text, "Wait for it with shell_input");
        put_session(&text, r->session);
        buf_addz(&text, ", stop it with shell_input");
        put_session(&text, r->session);
        buf_addf(&text, " key=\"C-c\", or use session=\"%s\".", other);
    }
    struct json *j = json_object();
    json_put_z(j, "state", "busy");
    json_put_z(j, "session", r->session);
    struct tool_result res = {.text = buf_str(&text), .failed = true, .object = j};
    ran_free(c);
    tool_end(c, &res);
    buf_release(&text);
    buf_release(&program);
}

/* ---- the call ---- */

/* Beginning of the shell room's error about an image without a shell. */
#define NO_SHELL "this image has no shell"

static void on_run(struct tool_call *c, const struct json *event, const struct err *e)
{
    struct ran *r = c->own;
    struct session *s = session_find(c->en, str_of(r->session));
    bool refused = e && (e->code == ERR_BUSY || e->code == ERR_TIMEOUT);
    struct buf not_ready = BUF_INIT(200), no_shell = BUF_INIT(200);
    buf_addz(&no_shell,
             "no shell here: bash, sh, ash, dash and ksh are not in this image. "
             "Programs are run by the tool process; without it: od mcp "
             "--tools process");
    buf_addz(&not_ready, "this computer is still being set up; your command was not run. "
                         "Call again, with a longer wait_s.");
    if (event) {
        ran_answer(c, event);
    } else if (refused && s && session_busy(s)) {
        fail_busy(c, e->code == ERR_BUSY);
    } else if (e->code == ERR_CANCELLED && !timer_active(&r->late)) {
        ran_fail(c, &not_ready);
    } else if (e->code == ERR_NOTFOUND && str_starts(str_of(e->text), STR(NO_SHELL))) {
        ran_fail(c, &no_shell);
    } else {
        ran_fail_as(c, e);
    }
    buf_release(&not_ready);
    buf_release(&no_shell);
}

/* Ends the call while the sandbox is still being set up. */
static void on_late(struct timer *t)
{
    struct ran *r = container_of(t, struct ran, late);
    struct action *a = actions_find(r->c->actions, r->c->action);
    struct err e = ERR_INIT;
    if (a && !a->begun)
        actions_cancel(r->c->actions, a->id, &e);
}

/* Notes the present directory, so that a change of it can be reported. */
static void note_directory(struct ran *r)
{
    struct tool_call *c = r->c;
    struct told *t = told_of(c->fronts, r->session);
    const struct session *s = session_find(c->en, str_of(r->session));
    const char *cwd = s ? session_cwd(s)
                        : sandbox_cwd(c->en->sandbox, str_of(r->session));
    if (!t->cwd[0] && cwd)
        snprintf(t->cwd, sizeof(t->cwd), "%s", cwd);
}

static void run(struct tool_call *c, struct str command)
{
    struct ran *r = c->own;
    struct json *m = json_object(), *args = json_object();
    json_put_str(args, "command", command);
    json_put_z(args, "until", "input");
    json_put_z(args, "busy", "fail");
    json_put_z(m, "action", "run");
    json_put(m, "args", args);
    json_put_num(m, "timeout", ran_timeout(c));
    timer_begin(c->en->loop, &r->late, (int64_t)(ran_timeout(c) * 1000), on_late);
    tool_act(c, 0, str_of(r->session), m, on_run);
}

static void start(struct tool_call *c)
{
    struct str command = json_str(c->args, "command", "");
    const char *kind = json_kind(command);
    struct err e = ERR_INIT;
    if (kind) {
        err_set(&e, ERR_INVALID, "command is shell text; this is a JSON %s", kind);
        tool_fail(c, &e);
        return;
    }
    if (json_bool(c->args, "is_input", false)) {
        json_put_str(c->args, "text", command);
        input_begin(c);
        return;
    }
    if (!ran_new(c, "main"))
        return;
    note_directory(c->own);
    struct buf text = BUF_INIT(LIMIT_COMMAND_MAX + 8192);
    put_command(&text, c->args);
    run(c, buf_str(&text));
    buf_release(&text);
}

/* ---- cancellation ---- */

/* The end of a cancelled command: INT first, then stronger signals. */
struct ending {
    struct engine *en;
    char session[ACTION_SESSION_MAX + 1];
    char id[LIMIT_ID + 1];
    struct timer timer;
};

static void ending_free(void *p) { free(p); }

static void on_ending(struct timer *t)
{
    struct ending *x = container_of(t, struct ending, timer);
    struct session *s = session_find(x->en, str_of(x->session));
    if (s && session_running(s, x->id))
        session_kill(s, SIGTERM, LIMIT_GRACE_MS, false, NULL, NULL);
    loop_bury(x->en->loop, x, ending_free);
}

static void interrupt(struct engine *en, struct session *s, const char *id)
{
    struct err e = ERR_INIT;
    struct ending *x = xnew(struct ending);
    x->en = en;
    snprintf(x->session, sizeof(x->session), "%s", session_name(s));
    snprintf(x->id, sizeof(x->id), "%s", id);
    session_signal_tree(s, SIGINT, &e);
    timer_begin(en->loop, &x->timer, LIMIT_GRACE_MS, on_ending);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    struct ran *r = c->own;
    const struct action *a = actions_find(c->actions, c->action);
    struct session *s = session_find(c->en, str_of(r->session));
    struct err e = ERR_INIT;
    if (r->input) {
        input_stop(c, why);
        return;
    }
    bool runs = a && s && session_running(s, a->command);
    bool waits = a && (!a->begun || (s && session_queued(s, a->command)));
    if (why == TOOL_CANCELLED && runs) {
        interrupt(c->en, s, a->command);
    } else if ((why == TOOL_CANCELLED && a) || (why == TOOL_TIMED_OUT && waits)) {
        actions_cancel(c->actions, c->action, &e); /* it must not run later */
    } else if (a || r->event) {
        struct told *t = told_of(c->fronts, r->session);
        t->command = c->action;
        t->to = t->line = 0;
        t->left = true;
        if (a)
            snprintf(t->id, sizeof(t->id), "%s", a->command);
        else if (s)
            ran_newest(s, t->id);
        told_keep(c->fronts, r->session);
    }
    ran_free(c);
}

const struct tool tool_shell = {
    .name = "shell",
    .title = "Run a command",
    .takes = &takes,
    .also = "cmd=command script=command session_id=session shell_id=session "
            "timeout=wait_s timeout_ms=wait_s yield_time_ms=wait_s "
            "run_in_background=wait_s is_background=wait_s cwd=cwd workdir=cwd "
            "dir_path=cwd is_input=is_input description=description",
    .destructive = true,
    .open_world = true,
    .always_load = true,
    .output = RUN_OBJECT,
    .start = start,
    .stop = stop,
    .progress = ran_progress};
