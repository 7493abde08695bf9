/* SPDX-License-Identifier: MIT */
/*
 * The tool `files`: the actions on files (file/fileact.h), whole or not at all, and a
 * wait for a change, which is the action watch until the first change.
 */
#include "action/log.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "eventlog/line.h"
#include "front/mcp/tools/skills.h"
#include "front/mcp/tools/state.h"

#include <stdlib.h>

enum { PIECE = 256 << 10, MORE_MS = 300, WATCH_S = 30, CHANGES_SHOWN = 200 };

static const struct param_list takes = {
    .about = "Copy, move, remove, pack or unpack files and folders, whole or not at all, "
             "or make a folder; or wait until something changes below one (watch). Paths "
             "are as for read.",
    .params = (const struct param[]){
        {.name = "action",
         .type = PARAM_STRING,
         .required = true,
         .choices = "copy move remove mkdir pack unpack watch",
         .about = "What to do."},
        {.name = "path",
         .type = PARAM_STRING,
         .required = true,
         .about = "File or folder; for unpack, the archive."},
        {.name = "to",
         .type = PARAM_STRING,
         .about = "New name, not the folder that it goes into; for pack, the archive "
                  "(.zip, .tar, .tar.gz); for unpack, the folder."},
        {.name = "overwrite",
         .type = PARAM_BOOL,
         .about = "Replace what is there. Default false."},
        {.name = "recursive",
         .type = PARAM_BOOL,
         .about = "remove, watch: with all below it. Default false."},
        {.name = "wait_s",
         .type = PARAM_INT,
         .ranged = true,
         .max = 600,
         .about = "watch: seconds to wait, default 30."},
        {0}}};

static const struct {
    const char *name, *action; /* the tool's name, and that of the action room */
    const char *done;          /* for the state line */
    bool to;                   /* it needs `to` */
} acts[] = {
    {"copy", "copy", "copied", true},       {"move", "move", "moved", true},
    {"remove", "remove", "removed", false}, {"mkdir", "mkdir", "made", false},
    {"pack", "archive", "packed", true},    {"unpack", "extract", "unpacked", true},
    {"watch", "watch", "watched", false},
};

static unsigned act_of(const struct tool_call *c)
{
    unsigned i = 0;
    while (!str_eq(json_str(c->args, "action", ""), str_of(acts[i].name)))
        i++;
    return i;
}

/* ---- one act ---- */

static void on_done(struct tool_call *c, const struct json *event, const struct err *e)
{
    const struct json *x = json_get(event, "extras");
    struct buf state = BUF_INIT(STATE_MAX);
    if (!event) {
        tool_fail(c, e);
        return;
    }
    struct files_line l = {.done = acts[act_of(c)].done,
                           .path = json_str(c->args, "path", ""),
                           .to = json_str(c->args, "to", ""),
                           .n = json_int(x, "copied", -1),
                           .bytes = json_int(x, "bytes", json_int(x, "size", -1))};
    if (l.n < 0)
        l.n = json_int(x, "removed", json_int(x, "files", -1));
    l.there = json_has(x, "created") && !json_bool(x, "created", true);
    files_line(&state, &l);
    for (const struct json *w = json_first(json_get(x, "warnings")); w;
         w = json_next(w)) {
        buf_addc(&c->notes, '(');
        put_plain(&c->notes, json_str_value(w, ""), 300);
        buf_addz(&c->notes, ")\n");
    }
    struct tool_result r = {.state = buf_str(&state), .object = json_copy(x)};
    tool_end(c, &r);
    buf_release(&state);
}

/* ---- watch ---- */

struct watching {
    struct tool_call *c; /* the owner of this */
    struct event_sub sub;
    struct event_cursor at;
    struct task step;
    struct timer late, enough;
    struct buf text; /* owned */
    uint64_t changes;
};

static void watching_free(struct tool_call *c)
{
    struct watching *w = c->own;
    if (!w)
        return;
    eventlog_unsubscribe(&w->sub);
    task_cancel(&w->step);
    timer_stop(&w->late);
    timer_stop(&w->enough);
    buf_release(&w->text);
    free(w);
    c->own = NULL;
}

/* Ends the action when the call ends. */
static void unwatch(struct tool_call *c)
{
    struct err e = ERR_INIT;
    if (c->action && actions_find(c->actions, c->action))
        actions_cancel(c->actions, c->action, &e);
}

static void end_watch(struct watching *w, bool ended)
{
    struct tool_call *c = w->c;
    struct buf state = BUF_INIT(STATE_MAX), text = w->text;
    struct json *object = json_object();
    buf_init(&w->text, 0);
    json_put_int(object, "changes", (int64_t)w->changes);
    watch_line(&state, w->changes, clock_wall_ms() - c->since_ms, ended);
    watching_free(c);
    if (!ended)
        unwatch(c);
    struct tool_result r = {
        .text = buf_str(&text), .state = buf_str(&state), .object = object};
    tool_end(c, &r);
    buf_release(&text);
    buf_release(&state);
}

static void on_watch_end(struct tool_call *c, const struct json *event,
                         const struct err *e)
{
    if (event) {
        end_watch(c->own, true);
        return;
    }
    watching_free(c);
    tool_fail(c, e);
}

static void on_late(struct timer *t)
{
    end_watch(container_of(t, struct watching, late), false);
}

static void on_enough(struct timer *t)
{
    end_watch(container_of(t, struct watching, enough), false);
}

static void take_change(struct watching *w, struct str line)
{
    static const struct str mark = STR("\"observation\":\"file_change\"");
    struct err e = ERR_INIT;
    if (str_find(str_sub(line, 0, 160), mark) < 0)
        return;
    struct json *m = json_parse(line, &e);
    const struct json *x = json_get(m, "extras");
    struct str kind = json_str(x, "kind", "");
    bool ours = (uint64_t)json_int(x, "watch", 0) == w->c->action;
    if (ours && !str_eq(kind, STR("watching"))) {
        w->changes++;
        if (w->changes <= CHANGES_SHOWN) {
            put_plain(&w->text, kind, 40);
            buf_addc(&w->text, ' ');
            put_plain(&w->text, json_str(x, "path", ""), 1000);
            buf_addz(&w->text, json_bool(x, "folder", false) ? "/\n" : "\n");
        }
    }
    json_free(m);
}

/* Waits a short time after the first change for those that come with it. */
static void on_step(struct task *t)
{
    struct watching *w = container_of(t, struct watching, step);
    struct loop *loop = w->c->en->loop;
    struct buf lines = BUF_INIT(PIECE + LIMIT_EVENT_MAX);
    struct event_line line;
    long n = eventlog_read(actions_log(w->c->actions), &w->at, &lines, PIECE, NULL);
    struct str rest = buf_str(&lines);
    while (n > 0 && rest.n > 0 && event_line(rest, &line) == EVENT_LINE_GOOD) {
        take_change(w, str_sub(rest, 0, line.n));
        rest = str_sub(rest, line.n, rest.n);
    }
    buf_release(&lines);
    if (n > 0)
        task_defer(loop, &w->step);
    if (w->changes && !timer_active(&w->enough))
        timer_begin(loop, &w->enough, MORE_MS, on_enough);
}

static void on_wake(struct event_sub *s)
{
    struct watching *w = container_of(s, struct watching, sub);
    task_defer(w->c->en->loop, &w->step);
}

static void begin_watch(struct tool_call *c, struct json *message)
{
    struct watching *w = xnew(struct watching);
    *w = (struct watching){.c = c};
    buf_init(&w->text, TOOL_ANSWER_MAX);
    task_init(&w->step, on_step);
    c->own = w;
    tool_act(c, 0, STR("main"), message, on_watch_end);
    w->at.next = c->action + 1;
    eventlog_subscribe(actions_log(c->actions), &w->sub, on_wake);
    task_defer(c->en->loop, &w->step);
    timer_begin(c->en->loop, &w->late, json_int(c->args, "wait_s", WATCH_S) * 1000,
                on_late);
}

/* ---- the tool ---- */

static struct json *message_of(const struct tool_call *c, unsigned act)
{
    static const char from_to[] = "copy move";
    struct json *m = json_object(), *args = json_object();
    bool named = strstr(from_to, acts[act].name) != NULL;
    json_put_str(args, named ? "from" : "path", json_str(c->args, "path", ""));
    if (acts[act].to)
        json_put_str(args, "to", json_str(c->args, "to", ""));
    if (acts[act].to && json_bool(c->args, "overwrite", false))
        json_put_bool(args, "overwrite", true);
    if (json_bool(c->args, "recursive", false) &&
        (str_eq(str_of(acts[act].name), STR("remove")) ||
         str_eq(str_of(acts[act].name), STR("watch"))))
        json_put_bool(args, "recursive", true);
    json_put_z(m, "action", acts[act].action);
    json_put(m, "args", args);
    return m;
}

static void start(struct tool_call *c)
{
    unsigned act = act_of(c);
    if (acts[act].to && !json_has(c->args, "to")) {
        struct err e = ERR_INIT;
        err_set(&e, ERR_INVALID, "to is missing; %s needs {action, path, to}",
                acts[act].name);
        tool_fail(c, &e);
        return;
    }
    struct json *m = message_of(c, act);
    if (strcmp(acts[act].name, "watch") == 0)
        begin_watch(c, m);
    else
        tool_act(c, 0, STR("main"), m, on_done);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    bool watched = c->own != NULL;
    watching_free(c);
    if (watched || why == TOOL_CANCELLED)
        unwatch(c);
}

static void progress(const struct tool_call *c, struct buf *line)
{
    buf_adds(line, json_str(c->args, "action", ""));
    buf_addc(line, ' ');
    put_plain(line, json_str(c->args, "path", ""), 80);
}

const struct tool tool_files = {.name = "files",
                                .title = "Copy, move, pack or watch",
                                .takes = &takes,
                                .set = "files",
                                .also = TOOL_PATH_ALSO
                                " from=path source=path src=path destination=to dest=to "
                                "target=to timeout=wait_s timeout_ms=wait_s",
                                .destructive = true,
                                .start = start,
                                .stop = stop,
                                .progress = progress};
