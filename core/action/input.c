/* SPDX-License-Identifier: MIT */
/*
 * Actions that reach a command while another action waits for it: cancel, input, key,
 * eof, signal, resize. Each is done at once, even if its session is busy.
 *
 *   {"action":"input","args":{"text":"yes\n"}}      or "base64"; "id": of a cell
 *   {"action":"key","args":{"key":"C-c"}}
 *   {"action":"eof"}
 *   {"action":"signal","args":{"signal":"INT"}}     a name or a number
 *   {"action":"resize","args":{"rows":50,"cols":200}}
 *   {"action":"cancel","args":{"id":N}}             an action: C-c, then harder
 *
 * With "process" in args, input, eof, signal and resize reach that process instead.
 */
#include "action/cell.h"
#include "action/own.h"

#include "base/enc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "os/pty.h"
#include "os/sig.h"
#include "shell/process.h"
#include "shell/session.h"

#include <stdio.h>

/* Ends the action, with e if rc is -1. */
static void end(struct action *a, int rc, const struct err *e)
{
    if (rc < 0)
        action_fail(a, e);
    else
        action_end(a, STR(""), NULL);
}

struct session *action_session(const struct action *a, struct err *e)
{
    struct session *s = session_find(a->all->en, str_of(a->session));
    if (!s)
        err_set(e, ERR_NOTFOUND, "there is no session %s, so nothing runs in it",
                a->session);
    return s;
}

/* The same. The next input gets the action's id, so that a restart does not repeat it. */
static struct session *want_typed(const struct action *a, struct err *e)
{
    char id[LIMIT_ID + 1];
    struct session *s = action_session(a, e);
    action_call(a, id);
    if (s)
        session_input_as(s, id);
    return s;
}

/* Input for a process is sent again: the process remembers what it got. */
static enum action_resume resume_typed(const struct action *a)
{
    return action_typed(a) ? ACTION_DONE : ACTION_RESUME;
}

/* ---- a process instead of the session ---- */

/* The row of `process`. */
#define PROCESS_ROW \
    { \
        .name = "process", .type = PARAM_STRING, \
        .about = "The name of a process to use instead of the session" \
    }

static bool names_process(const struct action *a)
{
    return json_is_string(json_get(a->args, "process"));
}

static struct process *process_named(const struct action *a, struct err *e)
{
    struct str name = json_str(a->args, "process", "");
    struct process *p = process_find(a->all->en, name);
    if (!p)
        err_set(e, ERR_NOTFOUND, "there is no process %.*s",
                name.n < 60 ? (int)name.n : 60, name.n ? name.p : "");
    return p;
}

static int input_process(const struct action *a, struct str bytes, bool eof,
                         struct err *e)
{
    char id[LIMIT_ID + 1];
    struct process *p = process_named(a, e);
    action_call(a, id);
    return p ? process_input(p, id, bytes, eof, e) : -1;
}

/* ---- input ---- */

static const struct param_list takes_input = {
    .about = "Types text into the session's terminal, or answers a cell's question",
    .params =
        (const struct param[]){
            {.name = "text",
             .type = PARAM_STRING,
             .about = "The text to type; a newline is the Enter key"},
            {.name = "base64",
             .type = PARAM_BASE64,
             .about = "The bytes to type, instead of text"},
            {.name = "id",
             .type = PARAM_INT,
             .ranged = true,
             .min = 1,
             .about = "The id of the cell to answer; without it the session's "
                      "command gets the text"},
            PROCESS_ROW,
            {0}},
    .rule = "{\"oneOf\":[{\"required\":[\"text\"]},{\"required\":[\"base64\"]}]}",
    .example = "{\"text\":\"yes\\n\"}"};

static int check_input(const struct json *args, struct err *e)
{
    if (json_has(args, "text") != json_has(args, "base64"))
        return 0;
    return err_set(e, ERR_INVALID, "input takes \"text\", or bytes as \"base64\"%s",
                   json_has(args, "text") ? ", not both" : "");
}

static int bytes_of(const struct json *args, struct buf *out, struct err *e)
{
    struct str base64 = json_str(args, "base64", "");
    if ((base64.n > 0 && dec_base64(out, base64) < 0) ||
        buf_adds(out, json_str(args, "text", "")) < 0)
        return err_set(e, ERR_LIMIT, "the input is longer than %zu bytes", out->max);
    return 0;
}

/* A cell's question says whether it is for a password, a program's by its terminal. */
static bool input_unshown(const struct action *a)
{
    int64_t id = json_int(a->args, "id", 0);
    if (names_process(a)) {
        struct err e = ERR_INIT;
        const struct process *p = process_named(a, &e);
        return p && pty_hides(process_terminal(p));
    }
    const struct session *s = session_find(a->all->en, str_of(a->session));
    return id > 0 ? action_cell_hides(a->all, (uint64_t)id) : s && session_hides(s);
}

static void start_input(struct action *a)
{
    struct err e = ERR_INIT;
    struct buf bytes = BUF_INIT(LIMIT_EVENT_MAX);
    int rc = bytes_of(a->args, &bytes, &e);
    if (rc == 0 && names_process(a)) {
        rc = input_process(a, buf_str(&bytes), false, &e);
    } else if (rc == 0 && json_int(a->args, "id", 0) > 0) {
        rc = action_cell_input(a->all, (uint64_t)json_int(a->args, "id", 0),
                               buf_str(&bytes), &e);
    } else if (rc == 0) {
        struct session *s = want_typed(a, &e);
        rc = s ? session_input(s, buf_str(&bytes), &e) : -1;
    }
    buf_release(&bytes);
    end(a, rc, &e);
}

const struct action_kind action_input = {.name = "input",
                                         .at_once = true,
                                         .takes = &takes_input,
                                         .check = check_input,
                                         .start = start_input,
                                         .resume = resume_typed,
                                         .begun = action_typed,
                                         .unshown = input_unshown};

/* ---- key, eof ---- */

static const struct param_list takes_key = {
    .about = "Presses a key in the session's terminal",
    .params =
        (const struct param[]){{.name = "key",
                                .type = PARAM_STRING,
                                .required = true,
                                .ranged = true,
                                .min = 1,
                                .about = "A key by its name in tmux, such as C-c or "
                                         "Up; other text is typed unchanged"},
                               {0}},
    .example = "{\"key\":\"C-c\"}"};

static void start_key(struct action *a)
{
    struct err e = ERR_INIT;
    struct session *s = want_typed(a, &e);
    end(a, s ? session_press(s, json_str(a->args, "key", ""), &e) : -1, &e);
}

const struct action_kind action_key = {.name = "key",
                                       .at_once = true,
                                       .takes = &takes_key,
                                       .start = start_key,
                                       .resume = resume_typed};

static const struct param_list takes_eof = {
    .about = "Ends the standard input of the program in the session's terminal",
    .params = (const struct param[]){PROCESS_ROW, {0}}};

static void start_eof(struct action *a)
{
    struct err e = ERR_INIT;
    if (names_process(a)) {
        end(a, input_process(a, STR(""), true, &e), &e);
        return;
    }
    struct session *s = want_typed(a, &e);
    end(a, s ? session_eof(s, &e) : -1, &e);
}

const struct action_kind action_eof = {.name = "eof",
                                       .at_once = true,
                                       .takes = &takes_eof,
                                       .start = start_eof,
                                       .resume = resume_typed};

/* ---- signal ---- */

static int signal_of(const struct json *v)
{
    return sig_number(json_str_value(v, ""), json_int_value(v, 0));
}

/* The names that sig_number knows, in letters of either case. */
#define SIGNAL_PATTERN \
    "^(([Ss][Ii][Gg])?([Hh][Uu][Pp]|[Ii][Nn][Tt]|[Qq][Uu][Ii][Tt]|[Kk][Ii][Ll][Ll]|" \
    "[Tt][Ee][Rr][Mm]|[Uu][Ss][Rr][12]|[Cc][Oo][Nn][Tt]|[Ss][Tt][Oo][Pp]|" \
    "[Tt][Ss][Tt][Pp]|[Aa][Ll][Rr][Mm]|[Ww][Ii][Nn][Cc][Hh]|[Pp][Ii][Pp][Ee]|" \
    "[Aa][Bb][Rr][Tt]|[Tt][Tt][Ii][Nn]|[Tt][Tt][Oo][Uu])|" \
    "0*([1-9]|[1-5][0-9]|6[0-4]))$"

static const struct param_list takes_signal = {
    .about = "Sends a signal to the foreground job of the session",
    .params =
        (const struct param[]){{.name = "signal",
                                .type = PARAM_NAME_OR_INT,
                                .required = true,
                                .ranged = true,
                                .min = 1,
                                .max = 64,
                                .pattern = SIGNAL_PATTERN,
                                .about = "The signal, such as INT, SIGTERM or 9"},
                               {.name = "tree",
                                .type = PARAM_BOOL,
                                .dflt = "false",
                                .about = "Send it to all processes of the command, not "
                                         "only to the foreground job"},
                               PROCESS_ROW,
                               {0}},
    .example = "{\"signal\":\"TERM\"}"};

static int check_signal(const struct json *args, struct err *e)
{
    struct str name = json_str(args, "signal", "");
    if (signal_of(json_get(args, "signal")))
        return 0;
    return err_set(e, ERR_INVALID,
                   "signal must be the name of a signal, such as INT or SIGTERM, or a "
                   "number from 1 to 64, not \"%.*s\"",
                   (int)utf8_cut(name, 60), name.n ? name.p : "");
}

static void start_signal(struct action *a)
{
    struct err e = ERR_INIT;
    int sig = signal_of(json_get(a->args, "signal"));
    if (names_process(a)) {
        struct process *p = process_named(a, &e);
        bool tree = json_bool(a->args, "tree", false);
        end(a, p ? process_signal(p, sig, tree, &e) : -1, &e);
        return;
    }
    struct session *s = action_session(a, &e);
    if (s && json_bool(a->args, "tree", false))
        end(a, session_signal_tree(s, sig, &e), &e);
    else
        end(a, s ? session_signal(s, sig, 0, &e) : -1, &e);
}

const struct action_kind action_signal = {.name = "signal",
                                          .at_once = true,
                                          .takes = &takes_signal,
                                          .check = check_signal,
                                          .start = start_signal,
                                          .resume = action_resume_unknown};

/* ---- resize ---- */

enum { SIDE_MAX = 10000 }; /* of a terminal */

static const struct param_list takes_resize = {
    .about = "Changes the size of the session's terminal",
    .params = (const struct param[]){{.name = "rows",
                                      .type = PARAM_INT,
                                      .required = true,
                                      .ranged = true,
                                      .min = 1,
                                      .max = SIDE_MAX,
                                      .about = "The height in lines"},
                                     {.name = "cols",
                                      .type = PARAM_INT,
                                      .required = true,
                                      .ranged = true,
                                      .min = 1,
                                      .max = SIDE_MAX,
                                      .about = "The width in columns"},
                                     PROCESS_ROW,
                                     {0}},
    .example = "{\"rows\":50,\"cols\":200}"};

static void start_resize(struct action *a)
{
    struct err e = ERR_INIT;
    int rows = (int)json_int(a->args, "rows", 0),
        cols = (int)json_int(a->args, "cols", 0);
    if (names_process(a)) {
        struct process *p = process_named(a, &e);
        end(a, p ? process_resize(p, rows, cols, &e) : -1, &e);
        return;
    }
    struct session *s = action_session(a, &e);
    end(a, s ? session_resize(s, rows, cols, &e) : -1, &e);
}

/* A restart may repeat it, which does no harm. */
const struct action_kind action_resize = {.name = "resize",
                                          .at_once = true,
                                          .brief = true,
                                          .takes = &takes_resize,
                                          .start = start_resize};

/* ---- cancel ---- */

static const struct param_list takes_cancel = {
    .about = "Stops another action, or removes it from the queue",
    .params = (const struct param[]){{.name = "id",
                                      .type = PARAM_INT,
                                      .required = true,
                                      .ranged = true,
                                      .min = 1,
                                      .about = "The id of the action"},
                                     {0}},
    .example = "{\"id\":1}"};

static void start_cancel(struct action *a)
{
    struct actions *all = a->all;
    struct err e = ERR_INIT;
    uint64_t id = (uint64_t)json_int(a->args, "id", 0);
    int rc = 0;
    if (id == a->id || !actions_find(all, id))
        rc = err_set(&e, ERR_NOTFOUND, "there is no unfinished action %llu",
                     (unsigned long long)id);
    else
        rc = actions_cancel(all, id, &e);
    end(a, rc, &e);
}

const struct action_kind action_cancel = {.name = "cancel",
                                          .at_once = true,
                                          .takes = &takes_cancel,
                                          .start = start_cancel,
                                          .resume = action_resume_unknown};
