/* SPDX-License-Identifier: MIT */
/*
 * V0's actions as kinds (action/action.h). action.c decodes their arguments, with V0's
 * own errors; the rows here are for people and for schemas.
 */
#include "front/v0/own.h"

#include "base/limits.h"
#include "base/param.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PARAMS(...) ((const struct param[]){__VA_ARGS__, {0}})
#define TEXT(param_name, sentence) \
    { \
        .name = param_name, .type = PARAM_STRING, .required = true, .about = sentence \
    }
#define SWITCH(param_name, sentence) \
    { \
        .name = param_name, .type = PARAM_BOOL, .dflt = "false", .about = sentence \
    }
/* Arguments that OpenHands' clients add to actions, and that od ignores
 * (events/serialization). */
#define SENT \
    "thought|security_risk|confirmation_state|is_confirmed|keep_prompt|task_completed|" \
    "translated_ipython_code|timestamp"
#define LINES \
    {.name = "start", \
     .type = PARAM_INT, \
     .dflt = "0", \
     .about = "The first line, counted from 0"}, \
    { \
        .name = "end", .type = PARAM_INT, .dflt = "-1", \
        .about = "The line after the last one; -1 is the end of the file" \
    }

#define OF_V0 "Without until, as in OpenHands' V0: "

const struct param_list action_takes_run = {
    .about = "Runs a command in the shell of the session",
    .params = PARAMS(
        TEXT("command", "The command"),
        {.name = "until",
         .type = PARAM_STRING,
         .pattern = "^(end|input|quiet)$",
         .about = "When to observe it: end, at its end; input, also when it waits for "
                  "input; quiet, also when its output stops; without it action and "
                  "observation are V0's"},
        {.name = "quiet",
         .type = PARAM_NUMBER,
         .ranged = true,
         .max = V0_QUIET_MAX,
         .dflt = "2",
         .about = "With until quiet: the seconds without output"},
        {.name = "busy",
         .type = PARAM_STRING,
         .choices = "wait fail",
         .about = "With until, if the session is busy: wait for its turn in any case; or "
                  "fail if the timeout ends first; without it wait, and fail if the "
                  "running command waits for input"},
        {.name = "silent",
         .type = PARAM_BOOL,
         .dflt = "false",
         .about = "With until: whether the log has only the command's length and sum"},
        SWITCH("is_input", OF_V0 "whether command is input for the running program; an "
                                 "empty command waits for more output"),
        SWITCH("blocking", OF_V0 "whether to wait while nothing is written"),
        SWITCH("is_static", OF_V0 "whether it runs in a shell of its own"),
        SWITCH("hidden", OF_V0 "whether content has the whole output"),
        {.name = "cwd",
         .type = PARAM_STRING,
         .about = OF_V0 "the directory of a command that is_static"}),
    .ignored = SENT,
    .rule = "{\"if\":{\"required\":[\"until\"],\"properties\":{\"until\":{\"type\":"
            "\"string\"}}},\"then\":{\"properties\":{\"is_input\":{\"enum\":[false,"
            "null]},\"is_static\":{\"enum\":[false,null]},\"cwd\":{\"type\":"
            "\"null\"}}}}",
    .example = "{\"command\":\"make -j8\",\"until\":\"input\"}"};
#define takes_run action_takes_run

static const struct param_list takes_read = {
    .about = "Reads a file, a picture or a document",
    .params = PARAMS(
        TEXT("path", "The file"), LINES,
        {.name = "impl_source",
         .type = PARAM_STRING,
         .dflt = "\"default\"",
         .about = "oh_aci for the output of the editor, with numbered lines"},
        {.name = "view_range",
         .type = PARAM_ANY,
         .about = "With oh_aci: an array of the first and the last line, "
                  "counted from 1; -1 is the end"}),
    .ignored = SENT,
    .example = "{\"path\":\"src/main.c\"}"};

static const struct param_list takes_write = {
    .about = "Writes a file, or replaces some of its lines",
    .params = PARAMS(TEXT("path", "The file"), TEXT("content", "Its text"), LINES),
    .ignored = SENT,
    .example = "{\"path\":\"notes.txt\",\"content\":\"text\\n\"}"};

#define EDITED(param_name, sentence) \
    { \
        .name = param_name, .type = PARAM_STRING, .about = sentence \
    }

static const struct param_list takes_edit = {
    .about = "Edits a file exactly, with undo",
    .params = PARAMS(
        TEXT("path", "The file, absolute"),
        {.name = "command",
         .type = PARAM_STRING,
         .about = "One of view, create, str_replace, insert and undo_edit"},
        EDITED("file_text", "For create: the text of the file"),
        EDITED("old_str", "For str_replace: the text to replace, which occurs once"),
        EDITED("new_str", "For str_replace and insert: the new text"),
        {.name = "insert_line",
         .type = PARAM_ANY,
         .about = "For insert: the number of the line after which to insert"},
        {.name = "view_range",
         .type = PARAM_ANY,
         .about = "For view: an array of the first and the last line, counted from 1"},
        {.name = "impl_source",
         .type = PARAM_STRING,
         .dflt = "\"oh_aci\"",
         .about = "oh_aci is the only editor that is served"}),
    .ignored = SENT "|content|start|end",
    .example = "{\"path\":\"/src/main.c\",\"command\":\"str_replace\",\"old_str\":\"a\","
               "\"new_str\":\"b\"}"};

static const struct param_list takes_run_ipython = {
    .about = "Runs code in the session's Jupyter kernel",
    .params = PARAMS(TEXT("code", "The code to run"),
                     {.name = "include_extra",
                      .type = PARAM_ANY,
                      .dflt = "true",
                      .about = "false: the text without the directory and interpreter"}),
    .ignored = SENT "|kernel_init_code",
    .example = "{\"code\":\"print(1)\"}"};

#define AXTREE \
    { \
        .name = "return_axtree", .type = PARAM_ANY, .dflt = "false", \
        .about = "true: the page's accessibility tree is in extras, too" \
    }

static const struct param_list takes_browse = {
    .about = "Opens a page in the browser",
    .params = PARAMS(TEXT("url", "The address of the page"), AXTREE),
    .ignored = SENT,
    .example = "{\"url\":\"https://example.org\"}"};

static const struct param_list takes_browse_interactive = {
    .about = "Acts on the browser's page",
    .params = PARAMS(TEXT("browser_actions", "Calls, a line each, as in click('12')"),
                     AXTREE),
    .ignored = SENT "|browsergym_send_msg_to_user",
    .example = "{\"browser_actions\":\"goto('https://example.org')\"}"};

/* ---- observations: text.c and edit.c write them ---- */

#define STRING(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_STRING, .about = sentence \
    }
#define STRING_OR_NULL(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_STRING, .nullable = true, .about = sentence \
    }
#define MEMBERS(...) ((const struct member[]){__VA_ARGS__, {0}})
#define ANY_OBJECT(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_OBJECT, .about = sentence \
    }
#define MESSAGE STRING("message", "What was done, in a sentence")
#define SUCCESS \
    { \
        .name = "success", .type = MEMBER_BOOL, .about = "Whether the command succeeded" \
    }
#define GIVES(word, beside_it, extra_members) \
    static const struct observation gives_##word[] = { \
        {.name = #word, .beside = beside_it, .extras = extra_members}, {0}}

static const struct member metadata[] = {
    {.name = "exit_code",
     .type = MEMBER_INT,
     .about = "The status; -1: the command goes on"},
    {.name = "pid", .type = MEMBER_INT, .about = "The process, or -1"},
    STRING_OR_NULL("username", "The user of the shell"),
    STRING_OR_NULL("hostname", "The name of the machine"),
    STRING_OR_NULL("working_dir", "The directory of the shell"),
    STRING_OR_NULL("py_interpreter_path", "The Python of the shell"),
    STRING("prefix", "Text before the output"),
    STRING("suffix", "Text after the output"),
    {0}};

static const struct member message[] = {MESSAGE, {0}};
static const struct member message_success[] = {MESSAGE, SUCCESS, {0}};

GIVES(run, message_success,
      MEMBERS(STRING("command", "The command"),
              {.name = "hidden", .type = MEMBER_BOOL, .about = "As in the action"},
              {.name = "metadata",
               .type = MEMBER_OBJECT,
               .members = metadata,
               .about = "How it ended, and where"}));
GIVES(run_ipython, message_success,
      MEMBERS(STRING("code", "The code"), {.name = "image_urls",
                                           .type = MEMBER_STRINGS,
                                           .nullable = true,
                                           .about = "Pictures, as data URLs"}));
GIVES(read, message,
      MEMBERS(STRING("path", "The file"), {.name = "impl_source",
                                           .type = MEMBER_STRING,
                                           .choices = "default oh_aci",
                                           .about = "Who wrote the content"}));
GIVES(write, message, MEMBERS(STRING("path", "The file")));
GIVES(edit, message,
      MEMBERS(STRING("path", "The file"),
              {.name = "prev_exist", .type = MEMBER_BOOL, .about = "false"},
              {.name = "old_content", .type = MEMBER_ANY, .about = "old_str, as given"},
              {.name = "new_content", .type = MEMBER_ANY, .about = "new_str, as given"},
              STRING("impl_source", "oh_aci"), STRING("diff", "What changed"),
              {.name = "_diff_cache", .type = MEMBER_ANY, .about = "null"}));

static const struct member page[] = {
    STRING("url", "The address of the page"),
    STRING("trigger_by_action", "The action"),
    STRING("screenshot", "A picture of the page, as a data URL; empty: none"),
    STRING_OR_NULL("screenshot_path", "Where it is saved"),
    STRING("set_of_marks", "The same with the elements marked"),
    {.name = "error", .type = MEMBER_BOOL, .about = "Whether something went wrong"},
    {.name = "goal_image_urls", .type = MEMBER_STRINGS, .about = "Empty"},
    {.name = "open_pages_urls", .type = MEMBER_STRINGS, .about = "The open tabs"},
    {.name = "active_page_index",
     .type = MEMBER_INT,
     .about = "The index of the active tab"},
    ANY_OBJECT("dom_object", "Empty"),
    ANY_OBJECT("axtree_object", "With return_axtree: the accessibility tree"),
    ANY_OBJECT("extra_element_properties", "With return_axtree: where elements are"),
    STRING("last_browser_action", "What was done"),
    STRING("last_browser_action_error", "What went wrong"),
    STRING("focused_element_bid", "Which element has the focus"),
    {.name = "filter_visible_only", .type = MEMBER_BOOL, .about = "false"},
    {0}};

/* A page, or a file that the page downloaded. */
static const struct observation gives_browse[] = {
    {.name = "browse", .beside = message, .extras = page},
    {.name = "download",
     .beside = message,
     .extras = MEMBERS(STRING("file_path", "Where the file is")),
     .about = "The action downloaded a file"},
    {0}};
#define gives_browse_interactive gives_browse

/* ---- the life of an action ---- */

bool v0_in_turn(const struct v0_action *a)
{
    return a->kind == V0_RUN && !a->run.is_static;
}

static int check_session(const struct v0 *v, struct str name, struct err *e)
{
    if (map_get(&v->shells, name) || v->shells.count < LIMIT_SESSIONS_MAX)
        return 0;
    return err_set(e, ERR_LIMIT, "there have been %d sessions already",
                   LIMIT_SESSIONS_MAX);
}

/* For an action that did not arrive by V0's route, or that an earlier worker received. */
static int prepare(struct action *act, struct err *e)
{
    static const struct str before = STR("Internal server error: ");
    struct v0 *v = actions_foreign(act->all);
    struct v0_action decoded;
    if (v0_action_decode_event(act->message, &decoded, e) < 0 ||
        check_session(v, str_of(act->session), e) < 0) {
        if (str_starts(str_of(e->text), before))
            memmove(e->text, e->text + before.n, strlen(e->text + before.n) + 1);
        return -1;
    }
    struct v0_shell *sh = v0_shell_of(v, str_of(act->session));
    struct v0_call *a = v0_call_new(sh, &decoded, act->key);
    a->act = act;
    a->held = !act->source || strcmp(act->source, ACTION_SOURCE_V0) != 0;
    a->a.unique = a->a.unique || a->held; /* its key is */
    act->own = a;
    act->in_turn = v0_in_turn(&decoded);
    return 0;
}

static void discard(struct action *act) { v0_call_free(act->own); }
static void start(struct action *act) { v0_begin(act->own); }

static void yield(struct action *act, const struct action *next)
{
    if (next->kind == &action_run)
        v0_yield(act->own, next->own);
}

static bool cancel(struct action *act)
{
    struct v0_call *a = act->own;
    if (!act->begun || (a->op && a->op->queued)) { /* or waits for a shell that starts or
                                                    * is busy */
        if (a->op)
            op_drop(a->op);
        v0_answer_error(a, STR("The action was cancelled before it began"));
    } else if (a->a.kind == V0_RUN && a->session && session_busy(a->session)) {
        session_kill(a->session, SIGTERM, LIMIT_GRACE_MS, false, NULL, NULL);
    } else if (a->cell) {
        v0_cell_cancel(a);
    } else if (a->browse) {
        v0_browse_cancel(a);
    }
    return true;
}

/* Does its session know the action by its key: a command, or input for one? */
static bool begun(const struct action *act)
{
    const struct v0 *v = actions_foreign(act->all);
    struct session *s = session_find(v->en, str_of(act->session));
    char prefix[KEY_LEN + 8];
    snprintf(prefix, sizeof(prefix), "v0:%s:", act->key);
    return s &&
           (session_call(s, str_of(prefix)) || session_input_call(s, str_of(prefix)));
}

static bool unshown(const struct action *act)
{
    const struct v0 *v = actions_foreign(act->all);
    const struct session *s = session_find(v->en, str_of(act->session));
    return json_bool(act->args, "is_input", false) && s && session_hides(s);
}

#define KIND(word, turn) \
    const struct action_kind action_##word = {.name = #word, \
                                              .foreign = true, \
                                              .in_turn = turn, \
                                              .takes = &takes_##word, \
                                              .gives = gives_##word, \
                                              .prepare = prepare, \
                                              .discard = discard, \
                                              .start = start, \
                                              .yield = yield, \
                                              .cancel = cancel, \
                                              .begun = begun, \
                                              .unshown = unshown};

KIND(run, true)
KIND(run_ipython, false)
KIND(read, false)
KIND(write, false)
KIND(edit, false)
KIND(browse, false)
KIND(browse_interactive, false)
