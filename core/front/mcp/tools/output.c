/* SPDX-License-Identifier: MIT */
/*
 * Bytes of output go through a model of a terminal (term/term.h), a piece each turn of
 * the loop. The bytes come from the spool of a session; of what is not there any more,
 * and of cells, from observations in the log.
 *
 *   LOOK ──what runs, or ended lately──▶ FEED ──▶ told
 *     └──▶ LOG: looks for the observation ──▶ FEED
 */
#include "front/mcp/tools/output.h"

#include "action/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "eventlog/line.h"
#include "shell/session.h"
#include "shell/spool.h"
#include "term/term.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ROWS = 50, /* of the terminals of sessions */
    COLS = 200,
    PIECE = 128 << 10,     /* bytes that go through a model in one turn */
    LOG_PIECE = 256 << 10, /* bytes of the log that are read in one turn */
    LINE_MAX_SHOWN = 2000, /* bytes of a line in an answer */
    LOOK_BACK = 4 << 20,   /* bytes: a program that draws says so within these */
    CELL_SAID = 1 << 20    /* bytes of what a cell said, as the log has it */
};

static const char replaced[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* ---- through the model of a terminal ---- */

struct render {
    struct term *term; /* owned */
    uint64_t at, to;   /* of the spool */
    uint64_t bytes, gone;
    bool literal; /* the output itself has a U+FFFD */
};

static void render_init(struct render *r, uint64_t from, uint64_t to, size_t head,
                        size_t tail)
{
    const struct term_opts o = {
        .rows = ROWS, .cols = COLS, .head = head, .tail = tail, .keep_tabs = true};
    *r = (struct render){.term = term_new(&o), .at = from, .to = to};
}

static void render_feed(struct render *r, struct str bytes)
{
    r->literal = r->literal || str_find(bytes, STR(replaced)) >= 0;
    r->bytes += bytes.n;
    term_feed(r->term, bytes);
}

static bool view_of(struct engine *en, const char *session, struct session_view *v)
{
    const struct session *s = session_find(en, str_of(session));
    *v = (struct session_view){0};
    if (s)
        session_view(s, v);
    return v->stream != NULL;
}

/* One piece of the spool. Returns true when all of it went through. */
static bool render_step(struct render *r, struct engine *en, const char *session)
{
    char bytes[16 << 10];
    struct session_view v;
    if (!view_of(en, session, &v)) { /* it went with its session */
        r->gone += r->to - r->at;
        r->at = r->to;
    }
    for (size_t done = 0; r->at < r->to && done < PIECE;) {
        uint64_t at = r->at;
        size_t want = r->to - at < sizeof(bytes) ? (size_t)(r->to - at) : sizeof(bytes);
        size_t n = spool_read(v.fd, v.stream, &at, bytes, want);
        if (n == 0 || at >= r->to)
            at = r->to;
        r->gone += at - r->at;
        r->at = at;
        if (at == r->to)
            break;
        n = n < r->to - at ? n : (size_t)(r->to - at);
        render_feed(r, str_n(bytes, n));
        r->at += n;
        done += n;
    }
    return r->at >= r->to;
}

static bool render_bent(const struct render *r, struct str text)
{
    return !r->literal && str_find(text, STR(replaced)) >= 0;
}

/* ---- @N: which output it is ---- */

struct output {
    struct engine *en;
    uint64_t id;
    output_fn *fn;
    void *arg;
    struct task step;
    struct event_cursor at; /* LOG: where it reads on */
    uint64_t log_to;
    char session[ACTION_SESSION_MAX + 1];
    bool ranged, observed, ended;
    uint64_t from, to;
    struct json *end; /* owned: the observation; NULL: there is none yet */
    struct buf said;  /* owned: the contents of its observations */
    struct buf cell;  /* owned: what a cell without one has printed */
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
    uint64_t lines; /* that are left out */
};

/* Between head and tail nothing is written: both are told apart. */
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

/* Is the command that was known by this id one of those that its session remembers? */
static bool lately(struct output *o, const char *command)
{
    struct session *s = session_find(o->en, str_of(o->session));
    struct command_seen c;
    struct session_view v;
    if (!s || !session_command(s, command, &c) || !c.began)
        return false;
    view_of(o->en, o->session, &v);
    o->from = c.from;
    o->to = c.ended ? c.to : v.command > c.from ? v.command : c.from;
    o->ended = c.ended;
    o->ranged = true;
    return true;
}

/* ---- @N: the observations in the log ---- */

/* Is the beginning of that output still in the spool? */
static bool kept(const struct output *o)
{
    struct session_view v;
    return view_of(o->en, o->session, &v) && spool_start(v.stream) <= o->from;
}

/* A piece of what a cell prints. A worker that takes over begins again at 0. */
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
    struct event_look l;
    struct err e = ERR_INIT;
    event_look(line, &l);
    if (l.kind == LOOK_OTHER && str_find(str_sub(line, 0, 160), cell) > 0)
        take_cell(o, line);
    if (l.kind != LOOK_END || l.cause != o->id)
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

/* The action's line in the log: its session and the id of its command. */
static int find_action(struct output *o, char command[LIMIT_ID + 1], struct err *e)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct event_look l = {0};
    const struct action *a = actions_find(o->en->actions, o->id);
    if (actions_line(o->en->actions, o->id, &line) == 0)
        event_look(buf_str(&line), &l);
    if (l.kind == LOOK_ACTION) {
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
    return l.kind == LOOK_ACTION
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

/* At most count lines of text from its line number skip (0: the first) on. */
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

/* ---- what an answer shows ---- */

struct output_showing {
    struct engine *en;
    struct output_new what;
    char session[ACTION_SESSION_MAX + 1];
    struct task step;
    output_shown_fn *fn;
    void *arg;
    struct render r;
    bool screen, over;
};

static void showing_free(void *p)
{
    struct output_showing *o = p;
    term_free(o->r.term);
    free(o);
}

static void leave_showing(struct output_showing *o)
{
    task_cancel(&o->step);
    o->over = true;
    loop_bury(o->en->loop, o, showing_free);
}

void output_show_stop(struct output_showing *o)
{
    if (o)
        leave_showing(o);
}

struct left_out {
    uint64_t line, from, to;
};

static void on_left_out(struct buf *out, const struct term_text *info, void *arg)
{
    struct left_out *l = arg;
    l->from = l->line + str_count(buf_str(out), '\n');
    l->to = l->from + (info->cut_lines ? info->cut_lines - 1 : 0);
    buf_addf(out, "[... lines %llu-%llu of %llu left out ...]",
             (unsigned long long)l->from, (unsigned long long)l->to,
             (unsigned long long)(l->line - 1 + info->lines));
}

/* Lines that are too long are cut, so that one does not take the place of all. */
static void cut_lines(struct buf *out, struct str text)
{
    while (text.n > 0) {
        long nl = str_chr(text, '\n');
        struct str line = str_sub(text, 0, nl < 0 ? text.n : (size_t)nl + 1);
        size_t n = line.n > LINE_MAX_SHOWN ? utf8_cut(line, LINE_MAX_SHOWN) : line.n;
        buf_adds(out, str_sub(line, 0, n));
        if (n < line.n)
            buf_addf(out, "\xE2\x80\xA6 [+%zu bytes]%s", line.n - n - (nl >= 0),
                     nl >= 0 ? "\n" : "");
        text = str_sub(text, line.n, text.n);
    }
}

static void show(const struct render *r, const struct output_new *what, bool screen,
                 output_shown_fn *fn, void *arg)
{
    struct buf text = BUF_INIT(what->max + 512), out = BUF_INIT(2 * what->max + 1024);
    struct term_text info = {0};
    struct left_out left = {.line = what->line ? what->line : 1};
    term_text(r->term, &text, &info, on_left_out, &left);
    cut_lines(&out, buf_str(&text));
    struct str all = buf_str(&text);
    bool open = all.n > 0 && all.p[all.n - 1] != '\n';
    struct output_shown shown = {.text = buf_str(&out),
                                 .cut_from = left.from,
                                 .cut_to = left.to,
                                 .lines = left.line - 1 + info.lines,
                                 .line = left.line + info.lines - open,
                                 .bytes = r->bytes + r->gone,
                                 .gone = r->gone,
                                 .screen = screen || (info.alt_screen && !what->ended),
                                 .bent = render_bent(r, all)};
    fn(arg, &shown);
    buf_release(&text);
    buf_release(&out);
}

static void step_showing(struct output_showing *o)
{
    if (!render_step(&o->r, o->en, o->session)) {
        task_defer(o->en->loop, &o->step);
        return;
    }
    show(&o->r, &o->what, o->screen, o->fn, o->arg);
    leave_showing(o);
}

static void on_showing_step(struct task *t)
{
    step_showing(container_of(t, struct output_showing, step));
}

/* Is this a switch of the screen (xterm's 1049, 1047, 47)? 'h', 'l', or 0: it is none. */
static char screen_switch(struct str s)
{
    static const struct str words[] = {STR("\033[?1049"), STR("\033[?1047"),
                                       STR("\033[?47")};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct str rest = str_sub(s, words[i].n, 1);
        if (str_starts(s, words[i]) && rest.n && (rest.p[0] == 'h' || rest.p[0] == 'l'))
            return rest.p[0];
    }
    return 0;
}

/* The last such switch before `end`: its kind, and where it is. 0: there is none. */
static char last_switch(const struct output_showing *o, uint64_t end, uint64_t *where)
{
    enum { SHARED = 16 }; /* bytes that two pieces have in common */
    char bytes[32 << 10];
    struct session_view v;
    uint64_t oldest = end > LOOK_BACK ? end - LOOK_BACK : 0;
    oldest = oldest > o->what.begin ? oldest : o->what.begin;
    if (!view_of(o->en, o->session, &v))
        return 0;
    while (end > oldest) {
        uint64_t from = end - oldest > sizeof(bytes) ? end - sizeof(bytes) : oldest;
        uint64_t at = from;
        size_t n = spool_read(v.fd, v.stream, &at, bytes, (size_t)(end - from));
        for (size_t i = at < end ? n : 0; i > 0; i--) {
            struct str rest = str_n(bytes + i - 1, n - i + 1);
            char kind = rest.p[0] == '\033' ? screen_switch(rest) : 0;
            *where = at + i - 1;
            if (kind)
                return kind;
        }
        end = from > oldest ? from + SHARED : oldest;
    }
    return 0;
}

/*
 * A screen is shown from where it began. One that was left since the answer before is
 * not: what was drawn on it is no text.
 */
static void choose_range(struct output_showing *o)
{
    uint64_t where = 0, before = 0;
    char kind = last_switch(o, o->what.to, &where);
    o->screen = kind == 'h' && !o->what.ended;
    bool left = kind == 'l' && where >= o->what.from &&
                last_switch(o, where, &before) == 'h' && before < o->what.from;
    if (o->screen || left)
        o->what.from = where;
}

struct output_showing *output_show(struct engine *en, const struct output_new *what,
                                   output_shown_fn *fn, void *arg)
{
    struct output_showing *o = xnew(struct output_showing);
    *o = (struct output_showing){.en = en, .what = *what, .fn = fn, .arg = arg};
    snprintf(o->session, sizeof(o->session), "%s", what->session);
    task_init(&o->step, on_showing_step);
    choose_range(o);
    render_init(&o->r, o->what.from, o->what.to, what->head, what->max - what->head);
    step_showing(o);
    return o->over ? NULL : o;
}

void output_show_text(struct str text, const struct output_new *what, output_shown_fn *fn,
                      void *arg)
{
    struct render r;
    render_init(&r, 0, 0, what->head, what->max - what->head);
    render_feed(&r, text);
    show(&r, what, false, fn, arg);
    term_free(r.term);
}
