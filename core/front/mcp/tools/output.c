/* SPDX-License-Identifier: MIT */
/*
 * Kept output by its number. The bytes come from the spool of a session; of commands no
 * longer in it, and of cells, from observations in the log.
 *
 *   LOOK ──it runs, or ended lately──▶ FEED ──▶ fn
 *     └──▶ LOG: searches the observation ──▶ FEED
 */
#include "front/mcp/tools/output.h"

#include "action/log.h"
#include "base/xalloc.h"
#include "eventlog/line.h"
#include "front/mcp/tools/render.h"
#include "shell/session.h"
#include "shell/spool.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LOG_PIECE = 256 << 10, /* bytes of the log that are read in one turn */
    CELL_SAID = 1 << 20    /* bytes of a cell's output in the log */
};

/* ---- which output it is ---- */

struct output {
    struct engine *en;
    uint64_t id;
    output_fn *fn;
    void *arg;
    struct task step;
    struct event_cursor at; /* LOG: the next event to read */
    uint64_t log_to;
    char session[ACTION_SESSION_MAX + 1];
    bool ranged, observed, ended;
    uint64_t from, to;
    struct json *end; /* owned: the observation; NULL: there is none yet */
    struct buf said;  /* owned: the text of its observations */
    struct buf cell;  /* owned: the output of a cell that has no observation yet */
    struct render r;
    bool feeding, over;
};

static void output_free(void *p)
{
    struct output *o = p;
    term_free(o->r.term);
    json_free(o->end);
    buf_release(&o->said);
    buf_release(&o->cell);
    free(o);
}

static void leave(struct output *o)
{
    task_cancel(&o->step);
    o->over = true;
    loop_bury(o->en->loop, o, output_free);
}

void output_stop(struct output *o)
{
    if (!o)
        return;
    o->fn = NULL;
    leave(o);
}

static void fail(struct output *o, const struct err *e)
{
    o->fn(o->arg, NULL, e);
    leave(o);
}

static struct str said(const struct output *o)
{
    return buf_str(o->observed ? &o->said : &o->cell);
}

struct seam {
    size_t at;      /* where the tail begins in the text */
    uint64_t lines; /* lines that are left out */
};

/* Writes nothing between head and tail, which are passed separately. */
static void on_seam(struct buf *out, const struct term_text *info, void *arg)
{
    struct seam *s = arg;
    s->at = out->n;
    s->lines = info->cut_lines;
}

static void tell(struct output *o)
{
    struct buf text = BUF_INIT(OUTPUT_HEAD + OUTPUT_TAIL + (1 << 20));
    struct term_text info = {0};
    struct seam seam = {0};
    term_text(o->r.term, &text, &info, on_seam, &seam);
    struct str all = buf_str(&text);
    bool cut = info.cut_bytes > 0;
    struct output_text t = {.id = o->id,
                            .head = cut ? str_sub(all, 0, seam.at) : all,
                            .said = o->ranged ? STR("") : said(o),
                            .end = o->end,
                            .lines = info.lines,
                            .bytes = o->r.bytes,
                            .gone = o->r.gone,
                            .goes_on = !o->ended,
                            .bent = render_bent(&o->r, all)};
    if (cut) {
        t.tail = str_sub(all, seam.at, all.n);
        t.tail_line = str_count(t.head, '\n') + 1 + seam.lines;
    }
    o->fn(o->arg, &t, NULL);
    buf_release(&text);
}

static void feed(struct output *o)
{
    if (!o->feeding) {
        o->feeding = true;
        render_init(&o->r, o->from, o->to, OUTPUT_HEAD, OUTPUT_TAIL);
        if (!o->ranged)
            render_feed(&o->r, said(o));
    }
    if (o->ranged && !render_step(&o->r, o->en, o->session)) {
        task_defer(o->en->loop, &o->step);
        return;
    }
    tell(o);
    leave(o);
}

/* Whether the session still remembers the command of this id. */
static bool lately(struct output *o, const char *command)
{
    struct session *s = session_find(o->en, str_of(o->session));
    struct command_seen c;
    struct session_view v;
    if (!s || !session_command(s, command, &c) || !c.began)
        return false;
    render_view(o->en, o->session, &v);
    o->from = c.from;
    o->to = c.ended ? c.to : v.command > c.from ? v.command : c.from;
    o->ended = c.ended;
    o->ranged = true;
    return true;
}

/* ---- the observations in the log ---- */

/* Whether the beginning of that output is still in the spool. */
static bool kept(const struct output *o)
{
    struct session_view v;
    return render_view(o->en, o->session, &v) && spool_start(v.stream) <= o->from;
}

/* Takes a piece of a cell's output. A worker that takes over begins again at 0. */
static void take_cell(struct output *o, struct str line)
{
    struct err e = ERR_INIT;
    struct json *m = json_parse(line, &e);
    const struct json *extras = json_get(m, "extras");
    uint64_t from = (uint64_t)json_int(extras, "from", 0);
    if ((uint64_t)json_int(extras, "id", 0) == o->id) {
        if (from < o->cell.n)
            buf_truncate(&o->cell, (size_t)from);
        buf_adds(&o->cell, json_str(m, "content", ""));
    }
    json_free(m);
}

static void take_line(struct output *o, struct str line)
{
    static const struct str cell = STR("\"observation\":\"cell_output\"");
    struct event_members l;
    struct err e = ERR_INIT;
    event_members(line, &l);
    if (l.kind == EVENT_OTHER && str_find(str_sub(line, 0, 160), cell) > 0)
        take_cell(o, line);
    if (l.kind != EVENT_END || l.cause != o->id)
        return;
    struct json *m = json_parse(line, &e);
    struct str session = json_str(m, "session", "");
    if (l.has_output && session.n <= ACTION_SESSION_MAX) {
        memcpy(o->session, session.p, session.n);
        o->session[session.n] = 0;
        o->from = o->observed ? o->from : l.from;
        o->to = l.to;
        o->ranged = true;
    }
    buf_adds(&o->said, json_str(m, "content", ""));
    o->ended = l.ended || !json_has(m, "waiting");
    o->observed = true;
    json_free(o->end);
    o->end = m;
}

static void look_in_log(struct output *o)
{
    struct buf lines = BUF_INIT(LOG_PIECE + LIMIT_EVENT_MAX);
    struct event_line line;
    long n = eventlog_read(actions_log(o->en->actions), &o->at, &lines, LOG_PIECE, NULL);
    struct str rest = buf_str(&lines);
    while (n > 0 && !(o->observed && o->ended) && rest.n > 0 &&
           event_line(rest, &line) == EVENT_LINE_GOOD) {
        take_line(o, str_sub(rest, 0, line.n));
        rest = str_sub(rest, line.n, rest.n);
    }
    buf_release(&lines);
    bool more = n > 0 && o->at.next < o->log_to && !(o->observed && o->ended);
    if (more) {
        task_defer(o->en->loop, &o->step);
        return;
    }
    o->ranged = o->ranged && kept(o);
    feed(o);
}

static void on_step(struct task *t)
{
    struct output *o = container_of(t, struct output, step);
    if (o->feeding)
        feed(o);
    else
        look_in_log(o);
}

/* Finds the action in the log: its session and the id of its command. */
static int find_action(struct output *o, char command[LIMIT_ID + 1], struct err *e)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct event_members l = {0};
    const struct action *a = actions_find(o->en->actions, o->id);
    if (actions_line(o->en->actions, o->id, &line) == 0)
        event_members(buf_str(&line), &l);
    if (l.kind == EVENT_ACTION) {
        struct str session = l.session;
        if (session.n > 1 && session.p[0] == '"')
            session = str_sub(session, 1, session.n - 2);
        if (session.n <= ACTION_SESSION_MAX)
            memcpy(o->session, session.p, session.n);
        if (a && a->command[0])
            memcpy(command, a->command, sizeof(a->command));
        else
            snprintf(command, LIMIT_ID + 1, "act:%.*s:%llu", STR_ARG(l.key),
                     (unsigned long long)o->id);
    }
    buf_release(&line);
    return l.kind == EVENT_ACTION
               ? 0
               : err_set(e, ERR_NOTFOUND, "there is no command or cell %llu",
                         (unsigned long long)o->id);
}

struct output *output_read(struct engine *en, uint64_t id, output_fn *fn, void *arg)
{
    struct err e = ERR_INIT;
    char command[LIMIT_ID + 1] = "";
    struct output *o = xnew(struct output);
    *o = (struct output){.en = en, .id = id, .fn = fn, .arg = arg};
    o->at.next = id + 1;
    buf_init(&o->said, 2 * LIMIT_EVENT_MAX);
    buf_init(&o->cell, CELL_SAID);
    task_init(&o->step, on_step);
    o->log_to = actions_next_id(en->actions);
    if (find_action(o, command, &e) < 0)
        fail(o, &e);
    else if (lately(o, command))
        feed(o);
    else
        look_in_log(o);
    return o->over ? NULL : o;
}

/* ---- lines ---- */

bool output_named(struct str path, uint64_t *id)
{
    return path.n > 1 && path.p[0] == '@' &&
           str_to_u64(str_sub(path, 1, path.n), id) == 0 && *id > 0;
}

/* Returns at most count lines of text, from line number skip (0: the first) on. */
static struct str some_lines(struct str text, uint64_t skip, uint64_t count, uint64_t *n)
{
    size_t at = 0, end;
    for (; skip > 0 && at < text.n; skip--) {
        long nl = str_chr(str_sub(text, at, text.n), '\n');
        at = nl < 0 ? text.n : at + (size_t)nl + 1;
    }
    for (end = at, *n = 0; *n < count && end < text.n; ++*n) {
        long nl = str_chr(str_sub(text, end, text.n), '\n');
        end = nl < 0 ? text.n : end + (size_t)nl + 1;
    }
    return str_sub(text, at, end - at);
}

struct str output_lines(const struct output_text *t, int64_t from, uint64_t count,
                        uint64_t *first, uint64_t *n)
{
    uint64_t at = from > 0 ? (uint64_t)from : 1;
    if (from < 0)
        at = (uint64_t)-from < t->lines ? t->lines - (uint64_t)-from + 1 : 1;
    bool tail = t->tail_line && at >= t->tail_line;
    struct str s = some_lines(tail ? t->tail : t->head, at - (tail ? t->tail_line : 1),
                              count, n);
    *first = *n ? at : 0;
    return s;
}
