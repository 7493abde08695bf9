/* SPDX-License-Identifier: MIT */
/*
 * The tool `events`: the log of actions and observations, a line each, and a wait for the
 * next. It reads a piece in each turn of the loop.
 *
 *   READ ──all there is, and something of it──▶ answer
 *     └──nothing──▶ WAIT for an event, or wait_s ──▶ READ ──▶ answer
 */
#include "action/log.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "eventlog/line.h"
#include "front/mcp/tools/skills.h"
#include "front/mcp/tools/state.h"

#include <stdlib.h>

enum {
    PIECE = 256 << 10, /* bytes of the log that are read in one turn */
    LIMIT = 50,
    LIMIT_MOST = 500,
    LAST = 20, /* events that are shown by default */
    TEXT_SHOWN = 160
};

static const struct param_list takes = {
    .about = "The log of all that was done on this computer, by any client: actions and "
             "how they ended, a line each, oldest first. With wait_s it waits for the "
             "next event.",
    .params = (const struct param[]){
        {.name = "since",
         .type = PARAM_INT,
         .about = "Events after this number; negative: so many of the newest. Default "
                  "-20."},
        {.name = "limit",
         .type = PARAM_INT,
         .ranged = true,
         .min = 1,
         .max = LIMIT_MOST,
         .about = "Events shown, default 50."},
        {.name = "wait_s",
         .type = PARAM_INT,
         .ranged = true,
         .max = 600,
         .about = "Seconds to wait if there is none yet, default 0."},
        {0}}};

struct reading_events {
    struct tool_call *c; /* the owner of this */
    struct event_sub sub;
    struct event_cursor at;
    struct task step;
    struct timer late;
    struct buf text; /* owned */
    uint64_t since, first, last, shown;
    bool waits, full;
};

static void reading_free(struct tool_call *c)
{
    struct reading_events *r = c->own;
    eventlog_unsubscribe(&r->sub);
    task_cancel(&r->step);
    timer_stop(&r->late);
    buf_release(&r->text);
    free(r);
    c->own = NULL;
}

/* ---- lines ---- */

/* Returns what an action acts on: the first of these arguments that it has. */
static struct str about(const struct json *args)
{
    static const char *const names[] = {"command", "code", "text", "path",  "from",
                                        "url",     "name", "key",  "signal"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct str s = json_str(args, names[i], "");
        if (s.n > 0)
            return s;
    }
    return STR("");
}

static void put_event(struct buf *out, const struct json *m)
{
    struct str at = json_str(m, "timestamp", ""), action = json_str(m, "action", "");
    struct str session = json_str(m, "session", "main");
    long long cause = json_int(m, "cause", 0);
    const struct json *extras = json_get(m, "extras");
    buf_addf(out, "%lld\t", (long long)json_int(m, "id", 0));
    put_plain(out, at.n >= 19 ? str_sub(at, 11, 8) : at, 19);
    buf_addc(out, ' ');
    put_plain(out, session, ACTION_SESSION_MAX);
    buf_addc(out, ' ');
    if (action.n > 0) {
        put_plain(out, action, TEXT_SHOWN);
        struct str what = about(json_get(m, "args"));
        if (what.n > 0)
            buf_addz(out, ": ");
        put_plain(out, what, TEXT_SHOWN);
    } else {
        struct str kind = json_str(m, "observation", ""),
                   text = json_str(m, "content", "");
        if (cause)
            buf_addf(out, "end of %lld: ", cause);
        put_plain(out, kind, TEXT_SHOWN);
        if (json_has(m, "exit_code"))
            buf_addf(out, ", exit %lld", (long long)json_int(m, "exit_code", 0));
        struct str more = text.n ? text : about(extras);
        if (more.n > 0)
            buf_addz(out, ": ");
        put_plain(out, str_trim(more), TEXT_SHOWN);
    }
    buf_addc(out, '\n');
}

/* ---- the answer ---- */

static void answer(struct reading_events *r)
{
    struct tool_call *c = r->c;
    struct buf state = BUF_INIT(STATE_MAX);
    uint64_t newest = actions_next_id(c->actions) - 1;
    struct json *object = json_object();
    json_put_int(object, "first", (int64_t)r->first);
    json_put_int(object, "last", (int64_t)r->last);
    json_put_int(object, "newest", (int64_t)newest);
    json_put_int(object, "shown", (int64_t)r->shown);
    struct events_line l = {.first = r->first,
                            .last = r->last,
                            .since = r->since,
                            .newest = newest,
                            .waited_ms = r->waits ? clock_wall_ms() - c->since_ms : 0};
    events_line(&state, &l);
    struct buf text = r->text;
    buf_init(&r->text, 0);
    struct tool_result res = {
        .text = buf_str(&text), .state = buf_str(&state), .object = object};
    reading_free(c);
    tool_end(c, &res);
    buf_release(&text);
    buf_release(&state);
}

static void take(struct reading_events *r, struct str line, uint64_t id)
{
    struct err e = ERR_INIT;
    struct buf one = BUF_INIT(8 << 10);
    struct json *m = json_parse(line, &e);
    bool room = true;
    if (m && id > r->since) {
        put_event(&one, m);
        room = r->shown == 0 || r->text.n + one.n <= tool_room(r->c);
        if (room) {
            buf_adds(&r->text, buf_str(&one));
            r->first = r->first ? r->first : id;
            r->last = id;
            r->shown++;
        }
    }
    r->full = !room || r->shown >= (uint64_t)json_int(r->c->args, "limit", LIMIT);
    json_free(m);
    buf_release(&one);
}

/* Returns whether there may be more. */
static bool read_piece(struct reading_events *r)
{
    struct buf lines = BUF_INIT(PIECE + LIMIT_EVENT_MAX);
    struct event_line line;
    long n = eventlog_read(actions_log(r->c->actions), &r->at, &lines, PIECE, NULL);
    struct str rest = buf_str(&lines);
    while (n > 0 && !r->full && rest.n > 0 &&
           event_line(rest, &line) == EVENT_LINE_GOOD) {
        take(r, str_sub(rest, 0, line.n), line.id);
        rest = str_sub(rest, line.n, rest.n);
    }
    buf_release(&lines);
    return n > 0;
}

static void on_wake(struct event_sub *s)
{
    struct reading_events *r = container_of(s, struct reading_events, sub);
    task_defer(r->c->en->loop, &r->step);
}

static void on_late(struct timer *t)
{
    answer(container_of(t, struct reading_events, late));
}

static void on_step(struct task *t)
{
    struct reading_events *r = container_of(t, struct reading_events, step);
    bool more = read_piece(r) && !r->full;
    if (more)
        task_defer(r->c->en->loop, &r->step);
    else if (r->shown > 0 || !r->waits)
        answer(r);
}

static void start(struct tool_call *c)
{
    struct reading_events *r = xnew(struct reading_events);
    int64_t since = json_int(c->args, "since", -LAST),
            wait = json_int(c->args, "wait_s", 0);
    uint64_t next = actions_next_id(c->actions);
    *r = (struct reading_events){.c = c, .waits = wait > 0};
    buf_init(&r->text, 2 * TOOL_ANSWER_MAX);
    task_init(&r->step, on_step);
    c->own = r;
    if (since < 0)
        since = (uint64_t)-since < next ? (int64_t)next - 1 + since : 0;
    r->since = (uint64_t)since;
    r->at.next = r->since + 1;
    eventlog_subscribe(actions_log(c->actions), &r->sub, on_wake);
    if (wait > 0)
        timer_begin(c->en->loop, &r->late, wait * 1000, on_late);
    task_defer(c->en->loop, &r->step);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    (void)why;
    reading_free(c);
}

const struct tool tool_events = {
    .name = "events",
    .title = "Read the log",
    .takes = &takes,
    .set = "events",
    .also = "from=since offset=since after=since timeout=wait_s timeout_ms=wait_s",
    .read_only = true,
    .output = "{\"first\":{\"type\":\"integer\"},\"last\":{\"type\":\"integer\"},"
              "\"newest\":{\"type\":\"integer\"},\"shown\":{\"type\":\"integer\"}}",
    .start = start,
    .stop = stop};
