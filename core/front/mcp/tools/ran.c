/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/ran.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "shell/spool.h"
#include "term/term.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    STATE_ROOM = 700, /* bytes of an answer for its state line and notes */
    LAST_LINE = 1024  /* bytes of output in which the last line is searched */
};

/* ---- life ---- */

struct ran *ran_new(struct tool_call *c, const char *session)
{
    struct str name = json_str(c->args, "session", session);
    struct ran *r = xnew(struct ran);
    r->c = c;
    c->own = r;
    buf_init(&r->text, TOOL_ANSWER_MAX);
    if (name.n > 0 && name.n <= ACTION_SESSION_MAX) {
        memcpy(r->session, name.p, name.n);
        return r;
    }
    struct err e = ERR_INIT;
    err_set(&e, ERR_INVALID, "the name of a session is at most %d letters long",
            ACTION_SESSION_MAX);
    ran_fail_as(c, &e);
    return NULL;
}

void ran_free(struct tool_call *c)
{
    struct ran *r = c->own;
    if (!r)
        return;
    timer_stop(&r->late);
    output_show_stop(r->showing);
    output_stop(r->reading);
    json_free(r->event);
    buf_release(&r->text);
    free(r);
    c->own = NULL;
}

void ran_fail(struct tool_call *c, const struct buf *text)
{
    struct tool_result res = {.text = buf_str(text), .failed = true};
    ran_free(c);
    tool_end(c, &res);
}

void ran_fail_as(struct tool_call *c, const struct err *e)
{
    ran_free(c);
    tool_fail(c, e);
}

double ran_timeout(const struct tool_call *c)
{
    int64_t s = json_int(c->args, "wait_s", TOOL_WAIT_S);
    return s > 0 ? (double)s : RAN_AT_ONCE_MS / 1000.0;
}

void ran_wait(struct tool_call *c, uint64_t action, tool_observed *fn)
{
    struct ran *r = c->own;
    struct json *m = json_object(), *args = json_object();
    json_put_z(args, "until", "input");
    if (action)
        json_put_int(args, "id", (int64_t)action);
    json_put_z(m, "action", "wait");
    json_put(m, "args", args);
    json_put_num(m, "timeout", ran_timeout(c));
    tool_act(c, r->step++, str_of(r->session), m, fn);
}

/* ---- sessions ---- */

void ran_other(struct engine *en, char name[8])
{
    for (int i = 2; i < 1000; i++) {
        snprintf(name, 8, "%d", i);
        if (!session_find(en, str_of(name)))
            return;
    }
}

uint64_t ran_newest(struct session *s, char id[LIMIT_ID + 1])
{
    const char *call = session_call(s, STR(""));
    struct str rest = str_of(call ? call : "");
    uint64_t n = 0;
    id[0] = 0;
    if (!call || (session_busy(s) && !session_running(s, call)))
        return 0;
    snprintf(id, LIMIT_ID + 1, "%s", call);
    if (str_eq(str_cut(&rest, ':'), STR("act")) && str_cut(&rest, ':').n == ACTION_KEY)
        str_to_u64(rest, &n);
    return n;
}

void ran_program(const struct session *s, struct buf *out)
{
    struct look l;
    struct json *j = session_json(s);
    struct str head = json_str(j, "command", "");
    if (session_looked(s, &l) && l.pid && l.comm[0])
        buf_addz(out, l.comm);
    else
        buf_adds(out, str_cut(&head, ' '));
    json_free(j);
}

/* ---- the state line ---- */

static struct json *waiting_object(const struct json *w, bool hidden)
{
    struct json *j = json_object();
    json_put_int(j, "pid", json_int(w, "pid", 0));
    json_put_str(j, "program", json_str(w, "program", ""));
    json_put_str(j, "how", json_str(w, "how", ""));
    json_put_bool(j, "echo", !hidden);
    return j;
}

static enum run_state state_of(const struct json *event)
{
    struct str w = json_str(json_get(event, "waiting"), "state", "");
    if (!json_has(event, "waiting"))
        return RUN_ENDED;
    return str_eq(w, STR("yes"))        ? RUN_WAITING
           : str_eq(w, STR("probably")) ? RUN_MAYBE
                                        : RUN_RUNNING;
}

/* Members of the result object that are the same in every state. */
static struct json *object_of(const struct ran *r, const struct run_line *l,
                              const struct output_shown *shown)
{
    static const char *const states[] = {"ended", "waiting", "maybe_waiting", "running"};
    struct json *j = json_object();
    json_put_z(j, "state", states[l->state]);
    json_put_z(j, "session", r->session);
    if (r->command)
        json_put_int(j, "command", (int64_t)r->command);
    json_put_num(j, "seconds",
                 (double)json_int(json_get(r->event, "extras"), "duration_ms", 0) / 1000);
    json_put_int(j, "lines", (int64_t)shown->lines);
    json_put_int(j, "bytes", (int64_t)(r->to - r->begin));
    json_put(j, "shown", json_array());
    return j;
}

static void put_range(struct json *list, uint64_t from, uint64_t to)
{
    struct json *one = json_array();
    if (to < from) {
        json_free(one);
        return;
    }
    json_push_int(one, (int64_t)from);
    json_push_int(one, (int64_t)to);
    json_push(list, one);
}

/* Returns the directory if it differs from the last one reported. */
static const char *new_directory(const struct ran *r, struct told *t)
{
    const struct session *s = session_find(r->c->en, str_of(r->session));
    const char *cwd = s ? session_cwd(s) : "";
    if (!cwd[0] || strcmp(cwd, t->cwd) == 0)
        return NULL;
    bool first = !t->cwd[0];
    snprintf(t->cwd, sizeof(t->cwd), "%s", cwd);
    return first ? NULL : t->cwd;
}

static void fill_waiting(struct ran *r, struct run_line *l, struct buf *program,
                         struct buf *how)
{
    const struct json *w = json_get(r->event, "waiting");
    struct session *s = session_find(r->c->en, str_of(r->session));
    buf_adds(program, json_str(w, "program", ""));
    if (program->n == 0 && s)
        ran_program(s, program);
    buf_adds(how, json_str(w, "how", ""));
    l->program = buf_z(program);
    l->how = buf_z(how);
    l->pid = (int)json_int(w, "pid", 0);
    l->hidden = json_bool(w, "hidden", false);
    l->quiet_ms = s ? session_quiet_ms(s) : 0;
    l->ms = json_int(json_get(r->event, "extras"), "duration_ms", 0);
    if (r->input)
        l->waited_ms = clock_wall_ms() - r->c->since_ms;
}

static void fill_ended(struct ran *r, struct run_line *l, struct told *t)
{
    const struct json *x = json_get(r->event, "extras");
    l->exit = (int)json_int(r->event, "exit_code", 0);
    l->signo = (int)json_int(x, "signal", 0);
    l->shell_ended = json_bool(x, "shell_ended", false);
    l->ms = json_int(x, "duration_ms", 0);
    l->cwd = l->shell_ended ? NULL : new_directory(r, t);
}

/* What the fence refused its programs, of which the first ones say enough. */
static void put_refused(const struct json *event, struct buf *text)
{
    enum { SENTENCES = 3 };
    const struct json *x = json_first(json_get(json_get(event, "extras"), "refused"));
    for (int i = 0; x && i < SENTENCES; x = json_next(x), i++)
        buf_addf(text, "[%.400s]\n", json_str_value(x, "").p);
}

static void put_answer(struct ran *r, const struct run_line *l,
                       const struct output_shown *shown)
{
    struct tool_call *c = r->c;
    struct buf state = BUF_INIT(4096), signal = BUF_INIT(32);
    struct json *j = object_of(r, l, shown), *list = json_get(j, "shown");
    uint64_t first = r->from > r->begin && told_of(c->fronts, r->session)->line
                         ? told_of(c->fronts, r->session)->line
                         : 1;
    put_range(list, first, shown->cut_from ? shown->cut_from - 1 : shown->lines);
    if (shown->cut_to)
        put_range(list, shown->cut_to + 1, shown->lines);
    if (l->state == RUN_ENDED) {
        json_put_int(j, "exit_code", l->exit);
        put_signal(&signal, l->signo);
        if (l->signo)
            json_put_str(j, "signal", buf_str(&signal));
        struct session *s = session_find(c->en, str_of(r->session));
        if (s)
            json_put_z(j, "cwd", session_cwd(s));
    } else {
        json_put(j, "waiting", waiting_object(json_get(r->event, "waiting"), l->hidden));
    }
    run_line(&state, l);
    struct buf text = BUF_INIT(2 * TOOL_ANSWER_MAX);
    buf_adds(&text, buf_str(&r->text));
    if (!r->input || str_trim(shown->text).n > 0) /* a screen that was closed is blank */
        buf_adds(&text, shown->text);
    put_refused(r->event, &text);
    if (text.n == 0 && r->input)
        buf_addz(&text, "(no new output)\n");
    struct tool_result res = {
        .text = buf_str(&text), .state = buf_str(&state), .object = j};
    ran_free(c);
    tool_end(c, &res);
    buf_release(&text);
    buf_release(&state);
    buf_release(&signal);
}

static void on_shown(void *arg, const struct output_shown *shown)
{
    struct ran *r = arg;
    struct tool_call *c = r->c;
    struct told *t = told_of(c->fronts, r->session);
    struct buf program = BUF_INIT(256), how = BUF_INIT(256);
    char other[8] = "2";
    struct run_line l = {.state = state_of(r->event),
                         .session = r->session,
                         .other = other,
                         .command = r->command,
                         .input = r->input,
                         .program = "",
                         .how = "",
                         .screen = shown->screen,
                         .empty = r->to == r->begin,
                         .lines = shown->lines,
                         .cut_from = shown->cut_from,
                         .gone = shown->gone,
                         .bent = shown->bent};
    r->showing = NULL;
    ran_other(c->en, other);
    if (l.state == RUN_ENDED)
        fill_ended(r, &l, t);
    else
        fill_waiting(r, &l, &program, &how);
    uint64_t line = shown->line;
    struct told next = {.command = r->command, .to = r->to, .line = line};
    struct session *s = session_find(c->en, str_of(r->session));
    if (s)
        ran_newest(s, next.id);
    memcpy(next.cwd, t->cwd, sizeof(next.cwd));
    struct fronts *fronts = c->fronts;
    char session[sizeof(r->session)];
    memcpy(session, r->session, sizeof(session));
    put_answer(r, &l, shown);
    *t = next;
    told_keep(fronts, session);
    buf_release(&program);
    buf_release(&how);
}

/* ---- output that was not shown ---- */

static void show_own(struct ran *r)
{
    struct tool_call *c = r->c;
    const struct told *t = told_of(c->fronts, r->session);
    bool same = t->command == r->command && t->to >= r->begin;
    size_t max = c->client.answer_max > STATE_ROOM + r->text.n
                     ? c->client.answer_max - STATE_ROOM - r->text.n
                     : 0;
    max = max > 1000 ? max : 1000;
    r->from = same ? t->to : r->begin;
    r->to = r->to > r->from ? r->to : r->from;
    struct output_new what = {.session = r->session,
                              .begin = r->begin,
                              .from = r->from,
                              .to = r->to,
                              .line = same ? t->line : 1,
                              .ended = state_of(r->event) == RUN_ENDED,
                              .head = max / 4,
                              .max = max};
    struct output_showing *o = output_show(c->en, &what, on_shown, r);
    if (o)
        r->showing = o;
}

static void on_left_shown(void *arg, const struct output_shown *shown)
{
    struct ran *r = arg;
    r->showing = NULL;
    buf_adds(&r->text, shown->text);
    if (r->text.n > 0 && r->text.p[r->text.n - 1] != '\n')
        buf_addc(&r->text, '\n');
    show_own(r);
}

/* Begins the answer with the one about an earlier command, which the client never got. */
static void show_left(struct ran *r)
{
    struct tool_call *c = r->c;
    struct told *t = told_of(c->fronts, r->session);
    struct session *s = session_find(c->en, str_of(r->session));
    struct command_seen seen;
    bool left = t->left && t->command;
    t->left = false;
    if (!left) {
        show_own(r);
    } else if (t->command == r->command) {
        buf_addf(&r->text, "[command %llu, begun before]\n",
                 (unsigned long long)t->command);
        show_own(r);
    } else if (s && session_command(s, t->id, &seen) && seen.ended) {
        size_t max = c->client.answer_max / 2;
        uint64_t from = t->to > seen.from ? t->to : seen.from;
        struct output_new what = {.session = r->session,
                                  .begin = seen.from,
                                  .from = from < seen.to ? from : seen.to,
                                  .to = seen.to,
                                  .line = t->to > seen.from ? t->line : 1,
                                  .ended = true,
                                  .head = max / 4,
                                  .max = max};
        buf_addf(&r->text, "[command %llu, begun before, exit %d in ",
                 (unsigned long long)t->command, seen.exit);
        put_seconds(&r->text, seen.duration_ms);
        buf_addz(&r->text, "]\n");
        struct output_showing *o = output_show(c->en, &what, on_left_shown, r);
        if (o)
            r->showing = o;
    } else {
        show_own(r);
    }
}

void ran_answer(struct tool_call *c, const struct json *event)
{
    struct ran *r = c->own;
    const struct json *out = json_get(event, "output"), *x = json_get(event, "extras");
    r->event = json_copy(event);
    r->begin = (uint64_t)json_int(out, "from", 0);
    r->to = (uint64_t)json_int(out, "to", 0);
    r->command = (uint64_t)json_int(x, "command", r->input ? 0 : (int64_t)c->action);
    show_left(r);
}

/* ---- progress ---- */

static void put_last_line(struct buf *line, const struct session *s, uint64_t begin)
{
    struct session_view v;
    char bytes[LAST_LINE];
    struct buf text = BUF_INIT(4 * LAST_LINE);
    const struct term_opts o = {.tail = 4 * LAST_LINE};
    session_view(s, &v);
    uint64_t end = v.command, at = end > begin + LAST_LINE ? end - LAST_LINE : begin;
    if (!v.stream || end <= begin)
        return;
    size_t n = spool_read(v.fd, v.stream, &at, bytes, (size_t)(end - at));
    struct term *t = term_new(&o);
    term_feed(t, str_n(bytes, n));
    term_text(t, &text, NULL, NULL, NULL);
    struct str rest = str_trim(buf_str(&text)), last = rest;
    for (long nl; (nl = str_chr(last, '\n')) >= 0;)
        last = str_sub(last, (size_t)nl + 1, last.n);
    buf_adds(line, str_sub(last, 0, utf8_cut(last, 100)));
    term_free(t);
    buf_release(&text);
}

void ran_progress(const struct tool_call *c, struct buf *line)
{
    const struct ran *r = c->own;
    struct session *s = r ? session_find(c->en, str_of(r->session)) : NULL;
    struct command_seen seen;
    char id[LIMIT_ID + 1];
    struct look l;
    if (!s || !session_busy(s))
        return;
    if (session_looked(s, &l) && l.state == LOOK_YES) {
        buf_addz(line, "waits for input");
        return;
    }
    ran_newest(s, id);
    if (session_command(s, id, &seen) && seen.began && !seen.ended)
        put_last_line(line, s, seen.from);
}
