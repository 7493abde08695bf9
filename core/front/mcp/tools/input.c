/* SPDX-License-Identifier: MIT */
/*
 * The tool `shell_input`: sends text, keys and a signal to the running command of a
 * session, each as an action, and then waits for it. In a session that runs a cell, it
 * does the same with the cell.
 */
#include "front/mcp/tools/ran.h"

#include "action/cell.h"
#include "action/log.h"
#include "base/utf8.h"
#include "term/termkey.h"

#include <stdio.h>
#include <strings.h>

static const struct param_list takes = {
    .about =
        "Type into the program that runs in a session, press keys, signal it, or, with "
        "none of these, wait for it. Answers with new output only, and at once when the "
        "program ends or waits for input again: no polling, no sleep. Also answers "
        "input() of python.",
    .params = (const struct param[]){
        {.name = "session",
         .type = PARAM_STRING,
         .about = "Session name, default \"main\"."},
        {.name = "text", .type = PARAM_STRING, .about = "Typed, then Enter."},
        {.name = "enter",
         .type = PARAM_BOOL,
         .about = "false: no Enter after text. Default true."},
        {.name = "key",
         .type = PARAM_STRING,
         .about = "Keys separated by spaces, such as C-c C-d Up Tab Esc Enter q"},
        {.name = "signal",
         .type = PARAM_STRING,
         .choices = "INT TERM KILL",
         .about = "To the running command and all its children."},
        RAN_WAIT,
        {0}}};

/* ---- keys ---- */

/* Returns termkey's name for a key by the name that models use. */
static struct str key_name(struct str key)
{
    static const char *const others[][2] = {
        {"Esc", "Escape"},     {"Return", "Enter"},   {"Del", "Delete"},
        {"PgUp", "PageUp"},    {"PgDn", "PageDown"},  {"ArrowUp", "Up"},
        {"ArrowDown", "Down"}, {"ArrowLeft", "Left"}, {"ArrowRight", "Right"},
        {"Ctrl-C", "C-c"},     {"Ctrl+C", "C-c"},     {"^C", "C-c"},
        {"Ctrl-D", "C-d"},     {"Ctrl+D", "C-d"},     {"^D", "C-d"},
        {"Ctrl-Z", "C-z"},     {"Ctrl+Z", "C-z"},     {"Ins", "Insert"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (key.n == strlen(others[i][0]) && strncasecmp(key.p, others[i][0], key.n) == 0)
            return str_of(others[i][1]);
    }
    return key;
}

static bool is_key(struct str key)
{
    char bytes[TERMKEY_MAX];
    uint32_t cp;
    return termkey(bytes, key_name(key), false) > 0 ||
           utf8_decode(key, &cp) == (int)key.n;
}

static int check_keys(struct str keys, struct err *e)
{
    unsigned n = 0;
    while (keys.n > 0) {
        struct str key = str_cut(&keys, ' ');
        if (key.n == 0)
            continue;
        if (!is_key(key))
            return err_set(e, ERR_INVALID,
                           "there is no key %.*s. Keys are single characters, C-x, M-x, "
                           "Up, Down, Left, Right, Home, End, PageUp, PageDown, Enter, "
                           "Tab, BTab, Esc, Space, Backspace, Insert, Delete, F1 to F12; "
                           "for words use text.",
                           (int)(key.n < 40 ? key.n : 40), key.p);
        if (++n > RAN_KEYS_MAX)
            return err_set(e, ERR_LIMIT,
                           "at most %d keys in one call; for words use text.",
                           RAN_KEYS_MAX);
    }
    return 0;
}

/* ---- the target ---- */

/* Returns the cell that runs in a session; 0 if there is none. */
static uint64_t running_cell(const struct actions *all, const char *session)
{
    for (struct action *a = NULL; (a = actions_next(all, a));) {
        if (a->kind == &action_cell && a->begun && strcmp(a->session, session) == 0)
            return a->id;
    }
    return 0;
}

static bool types(const struct tool_call *c)
{
    return json_has(c->args, "text") || json_has(c->args, "key") ||
           json_has(c->args, "signal");
}

static void put_sessions(struct buf *out, struct engine *en)
{
    struct str name;
    void *value;
    bool any = false;
    for (void *it = NULL; (it = map_next(&en->sessions, it, &name, &value));) {
        struct session *s = value;
        struct look l;
        struct buf program = BUF_INIT(256);
        buf_addf(out, "%s%.*s", any ? ", " : "", STR_ARG(name));
        any = true;
        if (session_busy(s)) {
            ran_program(s, &program);
            buf_addz(out, " (");
            put_program(out, buf_z(&program));
            buf_addz(out, session_looked(s, &l) && l.state == LOOK_YES ? ", waiting)"
                                                                       : ", running)");
        }
        buf_release(&program);
    }
    if (!any)
        buf_addz(out, "none; shell makes one");
}

static void fail_no_session(struct tool_call *c)
{
    struct ran *r = c->own;
    struct buf text = BUF_INIT(TOOL_ERROR_MAX);
    buf_addf(&text, "no session %s; there are: ", r->session);
    put_sessions(&text, c->en);
    ran_fail(c, &text);
    buf_release(&text);
}

static void fail_nothing_runs(struct tool_call *c, struct session *s)
{
    struct ran *r = c->own;
    struct buf text = BUF_INIT(TOOL_ERROR_MAX);
    struct command_seen seen;
    char id[LIMIT_ID + 1] = "", key[ACTION_SESSION_MAX + 3];
    uint64_t command = s ? ran_newest(s, id) : 0;
    const struct told *t = told_of(c->fronts, cell_told(r, key));
    buf_addf(&text, "nothing runs in %s", r->session);
    if (s && command && session_command(s, id, &seen) && seen.ended)
        buf_addf(&text, " (command %llu ended with exit %d)", (unsigned long long)command,
                 seen.exit);
    else if (!s && t->command)
        buf_addf(&text, " (cell %llu has ended)", (unsigned long long)t->command);
    buf_addz(&text, s ? "; to run a command use shell" : "; to run code use python");
    ran_fail(c, &text);
    buf_release(&text);
}

/* ---- steps ---- */

static void next(struct tool_call *c);

static void on_typed(struct tool_call *c, const struct json *event, const struct err *e)
{
    struct ran *r = c->own;
    if (!event && e->code == ERR_NOTFOUND && r->step > 1) {
        r->keys = STR(""); /* earlier text or keys have ended it */
        r->text_done = r->signal_done = true;
    } else if (!event && e->code == ERR_NOTFOUND) {
        fail_nothing_runs(c, session_find(c->en, str_of(r->session)));
        return;
    } else if (!event) {
        ran_fail_as(c, e);
        return;
    }
    next(c);
}

static void act(struct tool_call *c, const char *action, struct json *args)
{
    struct ran *r = c->own;
    struct json *m = json_object();
    json_put_z(m, "action", action);
    json_put(m, "args", args);
    tool_act(c, r->step++, str_of(r->session), m, on_typed);
}

/* Keeps input out of the log if the program does not echo it. */
static void hide(struct tool_call *c, struct str text)
{
    struct ran *r = c->own;
    struct session *s = session_find(c->en, str_of(r->session));
    struct err e = ERR_INIT;
    if (r->cell ? action_cell_hides(c->actions, r->cell) : s && session_hides(s))
        actions_secret(c->actions, text, &e);
}

static void type_text(struct tool_call *c)
{
    struct ran *r = c->own;
    struct str text = json_str(c->args, "text", "");
    struct json *args = json_object();
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    hide(c, text);
    buf_adds(&b, text);
    if (r->cell)
        json_put_int(args, "id", (int64_t)r->cell);
    else if (json_bool(c->args, "enter", true))
        buf_addc(&b, '\r');
    json_put_str(args, "text", buf_str(&b));
    buf_release(&b);
    act(c, "input", args);
}

/* A cell accepts only lines and interrupts. */
static void press_for_cell(struct tool_call *c, struct str key)
{
    struct ran *r = c->own;
    struct json *args = json_object();
    struct buf text = BUF_INIT(400);
    if (str_eq(key, STR("C-c"))) {
        act(c, "interrupt_kernel", args);
    } else if (str_eq(key, STR("Enter"))) {
        json_put_int(args, "id", (int64_t)r->cell);
        json_put_z(args, "text", "");
        act(c, "input", args);
    } else {
        json_free(args);
        buf_addz(&text, "a cell takes text and the keys C-c and Enter. Send text, or run "
                        "a program with keys in shell.");
        ran_fail(c, &text);
    }
    buf_release(&text);
}

static void press(struct tool_call *c)
{
    struct ran *r = c->own;
    struct str key = STR("");
    while (key.n == 0 && r->keys.n > 0)
        key = str_cut(&r->keys, ' ');
    if (key.n == 0) {
        next(c);
        return;
    }
    if (r->cell) {
        press_for_cell(c, key_name(key));
        return;
    }
    struct json *args = json_object();
    json_put_str(args, "key", key_name(key));
    act(c, "key", args);
}

static void send_signal(struct tool_call *c)
{
    struct ran *r = c->own;
    struct str name = json_str(c->args, "signal", "");
    struct json *args = json_object();
    if (r->cell) {
        act(c, str_eq(name, STR("INT")) ? "interrupt_kernel" : "restart_kernel", args);
        return;
    }
    json_put_str(args, "signal", name);
    json_put_bool(args, "tree", true);
    act(c, "signal", args);
}

static void on_wait(struct tool_call *c, const struct json *event, const struct err *e)
{
    struct ran *r = c->own;
    if (event)
        ran_answer(c, event);
    else if (e->code == ERR_NOTFOUND)
        fail_nothing_runs(c, session_find(c->en, str_of(r->session)));
    else
        ran_fail_as(c, e);
}

static void wait_for_shell(struct tool_call *c)
{
    struct ran *r = c->own;
    struct session *s = session_find(c->en, str_of(r->session));
    char id[LIMIT_ID + 1];
    ran_wait(c, s ? ran_newest(s, id) : 0, on_wait);
}

static void next(struct tool_call *c)
{
    struct ran *r = c->own;
    if (!r->text_done && json_has(c->args, "text")) {
        r->text_done = true;
        type_text(c);
    } else if (r->keys.n > 0) {
        press(c);
    } else if (!r->signal_done && json_has(c->args, "signal")) {
        r->signal_done = true;
        send_signal(c);
    } else if (r->cell) {
        cell_wait(c);
    } else {
        wait_for_shell(c);
    }
}

/* ---- the call ---- */

/*
 * Finds the running command. When a call is started again, its input may have ended it
 * already.
 */
static bool find_what(struct tool_call *c)
{
    struct ran *r = c->own;
    struct session *s = session_find(c->en, str_of(r->session));
    char key[ACTION_SESSION_MAX + 3];
    const struct told *t = told_of(c->fronts, cell_told(r, key));
    bool busy = s && session_busy(s);
    if (!busy)
        r->cell = running_cell(c->actions, r->session);
    if (!busy && !r->cell && !s && t->command && (c->resumed || !types(c)))
        r->cell = t->command;
    if (busy || r->cell || (s && (c->resumed || !types(c))))
        return true;
    if (!s && !t->command)
        fail_no_session(c);
    else
        fail_nothing_runs(c, s);
    return false;
}

void input_begin(struct tool_call *c)
{
    struct ran *r = ran_new(c, "main");
    struct err e = ERR_INIT;
    if (!r)
        return;
    r->input = true;
    r->keys = json_str(c->args, "key", "");
    if (check_keys(r->keys, &e) < 0)
        ran_fail_as(c, &e);
    else if (find_what(c))
        next(c);
}

/* Ends the wait; the running command goes on. */
void input_stop(struct tool_call *c, enum tool_stop why)
{
    struct ran *r = c->own;
    struct err e = ERR_INIT;
    char key[ACTION_SESSION_MAX + 3];
    const char *name = r->cell ? cell_told(r, key) : r->session;
    if (c->action && actions_find(c->actions, c->action))
        actions_cancel(c->actions, c->action, &e);
    if (why != TOOL_CANCELLED) {
        told_of(c->fronts, name)->left = true;
        told_keep(c->fronts, name);
    }
    ran_free(c);
}

const struct tool tool_shell_input = {
    .name = "shell_input",
    .title = "Type or wait",
    .takes = &takes,
    .also = "session_id=session shell_id=session chars=text stdin=text input=text "
            "value=text keys=key timeout=wait_s timeout_ms=wait_s yield_time_ms=wait_s",
    .destructive = true,
    .open_world = true,
    .always_load = true,
    .output = RUN_OBJECT,
    .start = input_begin,
    .stop = input_stop,
    .progress = ran_progress};
