/* SPDX-License-Identifier: MIT */
/*
 * The tool `python`: runs a cell in the kernel of a session, and waits for it. The cell
 * is an action outside of the call's steps, as its observation comes only at its end. Its
 * client_id finds it when the call is started again.
 */
#include "front/mcp/tools/ran.h"

#include "action/cell.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "front/mcp/tools/pictures.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRACEBACK_LINES = 20, STATE_ROOM = 900, ERROR_LINE_MAX = 16 << 10 };

static const struct param_list takes = {
    .about =
        "Run code in a Python that keeps its variables (a Jupyter kernel; !cmd and "
        "%magic "
        "work). Shows what is printed, the value of the last line, errors and pictures. "
        "Answers like shell: at the end, when input() waits (reply with shell_input on "
        "this "
        "session), or after wait_s.",
    .params = (const struct param[]){
        {.name = "code",
         .type = PARAM_STRING,
         .required = true,
         .about = "Code of one cell."},
        {.name = "session",
         .type = PARAM_STRING,
         .about = "Kernel session, default \"python\"."},
        {.name = "kernel",
         .type = PARAM_STRING,
         .about = "Other kernel for a new session, for example ir."},
        {.name = "restart", .type = PARAM_BOOL, .about = "Restart the kernel first."},
        RAN_WAIT,
        {0}}};

const char *cell_told(const struct ran *r, char name[ACTION_SESSION_MAX + 3])
{
    snprintf(name, ACTION_SESSION_MAX + 3, "k/%s", r->session);
    return name;
}

/* ---- text ---- */

/*
 * Shortens a traceback to its last lines. Appends the text before it to out, and returns
 * the part of text that follows it.
 */
static struct str last_of_traceback(struct buf *out, struct str text)
{
    static const struct str words[] = {STR("Traceback (most recent call last)"),
                                       STR("---------------------------------")};
    size_t begin = text.n, at, lines = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        long n = str_find(text, words[i]);
        if (n >= 0 && (size_t)n < begin)
            begin = (size_t)n;
    }
    if (begin == text.n)
        return text;
    for (at = text.n; at > begin && lines < TRACEBACK_LINES; lines++) {
        at--;
        while (at > begin && text.p[at - 1] != '\n')
            at--;
    }
    if (at <= begin)
        return text;
    buf_adds(out, str_sub(text, 0, begin));
    buf_addf(out, "[... %zu lines of the traceback left out ...]\n",
             str_count(str_sub(text, begin, at - begin), '\n'));
    return str_sub(text, at, text.n);
}

/* Appends the line of an error, such as "KeyError: 'x'"; said: the text of the cell. */
static void put_error_line(struct buf *out, const struct json *extras, struct str said)
{
    struct str name = json_str(extras, "ename", ""), why = json_str(extras, "why", ""),
               last = str_trim(why.n ? why : said),
               value = str_trim(json_str(extras, "evalue", ""));
    if (name.n) {
        value = str_cut(&value, '\n');
        buf_addf(out, "%.*s%s%.*s", STR_ARG(name), value.n ? ": " : "", STR_ARG(value));
        return;
    }
    for (long nl; (nl = str_chr(last, '\n')) >= 0;)
        last = str_sub(last, (size_t)nl + 1, last.n);
    buf_adds(out, str_sub(last, 0, utf8_cut(last, ERROR_LINE_MAX / 4)));
}

/* ---- the answer ---- */

struct cell_answer {
    struct ran *r;
    const struct output_text *t;
    bool waits;
};

static void put_state(struct buf *state, const struct cell_answer *a,
                      const struct output_shown *shown, struct str pictures)
{
    struct buf error = BUF_INIT(ERROR_LINE_MAX);
    const struct ran *r = a->r;
    const struct json *x = json_get(a->t->end, "extras");
    struct str end = json_str(x, "end", "");
    const struct action *begun = actions_find(r->c->actions, r->cell);
    int64_t waited = clock_wall_ms() - r->c->since_ms;
    struct cell_line l = {.session = r->session,
                          .cell = r->cell,
                          .ms = begun ? clock_ms() - begun->since_ms : waited,
                          .waited_ms = r->input ? waited : 0,
                          .lines = shown->lines,
                          .cut_from = shown->cut_from,
                          .pictures = pictures};
    if (!a->t->end) {
        l.state = a->waits ? CODE_WAITING : CODE_RUNNING;
        l.hidden = json_bool(json_get(r->event, "waiting"), "hidden", false);
    } else {
        l.state = str_eq(end, STR("ok"))      ? CODE_OK
                  : str_eq(end, STR("error")) ? CODE_RAISED
                                              : CODE_DIED;
        put_error_line(&error, x, a->t->said);
        l.error = buf_str(&error);
        l.why = json_str(x, "why", "");
        l.leaves = json_bool(x, "leaves", false);
        l.renewed = json_bool(x, "renewed", false);
        l.ms = json_int(x, "duration_ms", 0);
        l.empty = shown->bytes == 0 && json_count(json_get(x, "images")) == 0;
    }
    cell_line(state, &l);
    buf_release(&error);
}

static struct json *object_of(const struct cell_answer *a,
                              const struct output_shown *shown, unsigned pictures)
{
    const struct ran *r = a->r;
    const struct json *x = json_get(a->t->end, "extras");
    struct json *j = json_object(), *shown_list = json_array();
    struct str end = json_str(x, "end", "");
    json_put_z(j, "state", a->t->end ? "ended" : a->waits ? "waiting" : "running");
    json_put_z(j, "session", r->session);
    json_put_int(j, "command", (int64_t)r->cell);
    json_put_num(j, "seconds", (double)json_int(x, "duration_ms", 0) / 1000);
    json_put_int(j, "lines", (int64_t)shown->lines);
    json_put_int(j, "bytes", (int64_t)shown->bytes);
    json_put(j, "shown", shown_list);
    if (pictures)
        json_put_int(j, "pictures", pictures);
    if (a->t->end && !str_eq(end, STR("ok"))) {
        struct json *error = json_object();
        struct buf text = BUF_INIT(512), line = BUF_INIT(ERROR_LINE_MAX);
        put_error_line(&line, x, a->t->said);
        put_error(&text, buf_str(&line));
        buf_release(&line);
        struct str message = buf_str(&text), name = str_cut(&message, ':');
        json_put_str(error, "name", name);
        json_put_str(error, "message", str_trim(message));
        json_put(j, "error", error);
        buf_release(&text);
    }
    return j;
}

static void on_shown(void *arg, const struct output_shown *shown)
{
    struct cell_answer *a = arg;
    struct ran *r = a->r;
    struct tool_call *c = r->c;
    char key[ACTION_SESSION_MAX + 3];
    struct told *t = told_of(c->fronts, cell_told(r, key));
    struct buf text = BUF_INIT(2 * TOOL_ANSWER_MAX), state = BUF_INIT(STATE_MAX);
    struct pictures p;
    pictures_init(&p);
    const struct json *images = json_get(json_get(a->t->end, "extras"), "images");
    for (struct json *i = json_first(images); i; i = json_next(i))
        pictures_take(&p, c->en, str_of(r->session), r->cell, json_str_value(i, ""));
    put_state(&state, a, shown, buf_str(&p.said));
    buf_adds(&text, buf_str(&r->text));
    buf_adds(&text, shown->text);
    if (a->waits) { /* the prompt is not output of the cell */
        if (text.n > 0 && text.p[text.n - 1] != '\n')
            buf_addc(&text, '\n');
        buf_adds(&text, json_str(r->event, "content", ""));
    }
    if (text.n == 0 && r->input)
        buf_addz(&text, "(no new output)\n");
    t->command = r->cell;
    t->to = a->t->said.n;
    t->line = shown->line;
    t->left = false;
    told_keep(c->fronts, key);
    struct tool_result res = {.text = buf_str(&text),
                              .state = buf_str(&state),
                              .object = object_of(a, shown, p.n),
                              .npictures = p.n};
    memcpy(res.pictures, p.list, sizeof(p.list));
    r->reading = NULL; /* it ends after this returns */
    ran_free(c);
    tool_end(c, &res);
    pictures_release(&p);
    buf_release(&text);
    buf_release(&state);
}

/* Ends the call when the kernel could not be started. */
static void fail_kernel(struct tool_call *c, struct str why)
{
    struct ran *r = c->own;
    struct buf text = BUF_INIT(TOOL_ERROR_MAX), names = BUF_INIT(1000);
    struct json *all = kernel_overview(c->en, STR(""));
    for (struct json *k = json_first(json_get(all, "specs")); k; k = json_next(k))
        buf_addf(&names, "%s%.*s", names.n ? ", " : "",
                 STR_ARG(json_str(k, "name", "?")));
    if (names.n > 0)
        buf_addf(&text, "%.*s. Kernels here: %s.", STR_ARG(why), buf_z(&names));
    else
        buf_addz(&text, "no Python in this image; kernels found: none. shell: which "
                        "python3 node perl");
    r->reading = NULL;
    ran_fail(c, &text);
    json_free(all);
    buf_release(&names);
    buf_release(&text);
}

static void on_read(void *arg, const struct output_text *t, const struct err *e)
{
    struct ran *r = arg;
    struct tool_call *c = r->c;
    char key[ACTION_SESSION_MAX + 3];
    const struct told *told = told_of(c->fronts, cell_told(r, key));
    struct buf shown = BUF_INIT(LIMIT_EVENT_MAX * 2);
    r->reading = NULL;
    if (!t) {
        ran_fail_as(c, e);
        return;
    }
    if (str_eq(json_str(t->end, "observation", ""), STR("error"))) {
        fail_kernel(c, json_str(t->end, "content", ""));
        return;
    }
    const struct json *x = json_get(t->end, "extras");
    if (str_eq(json_str(x, "end", ""), STR("failed"))) { /* the cell never ran */
        fail_kernel(c, json_str(x, "why", ""));
        return;
    }
    bool same = told->command == r->cell && told->to <= t->said.n;
    size_t max = c->client.answer_max - STATE_ROOM;
    struct str text = str_sub(t->said, same ? (size_t)told->to : 0, t->said.n);
    struct output_new what = {.session = r->session,
                              .line = same ? told->line : 1,
                              .ended = t->end != NULL,
                              .head = max / 4,
                              .max = max};
    struct cell_answer a = {
        .r = r,
        .t = t,
        .waits = !t->end && str_eq(json_str(json_get(r->event, "waiting"), "state", ""),
                                   STR("yes"))};
    if (same && told->left)
        buf_addf(&r->text, "[cell %llu, begun before]\n", (unsigned long long)r->cell);
    if (str_eq(json_str(x, "end", ""), STR("error")))
        text = last_of_traceback(&shown, text);
    buf_adds(&shown, text);
    output_show_text(buf_str(&shown), &what, on_shown, &a);
    buf_release(&shown);
}

static void on_wait(struct tool_call *c, const struct json *event, const struct err *e)
{
    struct ran *r = c->own;
    if (!event) {
        ran_fail_as(c, e);
        return;
    }
    r->event = json_copy(event);
    struct output *o = output_read(c->en, r->cell, on_read, r);
    if (o)
        r->reading = o;
}

void cell_wait(struct tool_call *c)
{
    const struct ran *r = c->own;
    ran_wait(c, r->cell, on_wait);
}

/* ---- the call ---- */

static struct json *cell_message(const struct tool_call *c)
{
    const struct ran *r = c->own;
    struct str kernel = json_str(c->args, "kernel", "");
    struct json *m = json_object(), *args = json_object();
    char id[ACTION_KEY + 24];
    snprintf(id, sizeof(id), "mcp:%s:cell", c->key);
    json_put_str(args, "code", json_str(c->args, "code", ""));
    json_put_bool(args, "input", true);
    if (kernel.n > 0) {
        json_put_z(args, "kernel", r->session);
        json_put_str(args, "spec", kernel);
    }
    json_put_z(m, "action", "cell");
    json_put_z(m, "client_id", id);
    json_put_z(m, "session", r->session);
    json_put(m, "args", args);
    return m;
}

/* A cell behind one that waits for input would wait forever. */
static bool refuse_blocked(struct tool_call *c, uint64_t asking)
{
    struct ran *r = c->own;
    struct buf text = BUF_INIT(TOOL_ERROR_MAX);
    if (!asking)
        return false;
    buf_addf(&text, "kernel %s is busy: cell %llu waits for input; your cell was not "
                    "run. Answer it with shell_input",
             r->session, (unsigned long long)asking);
    put_session(&text, r->session);
    buf_addz(&text, " text=\"…\", or stop it with shell_input");
    put_session(&text, r->session);
    buf_addz(&text, " key=\"C-c\".");
    ran_fail(c, &text);
    buf_release(&text);
    return true;
}

static void run_cell(struct tool_call *c)
{
    struct ran *r = c->own;
    if (refuse_blocked(c, action_cell_asking(c->actions, str_of(r->session))))
        return;
    struct json *m = cell_message(c);
    struct action_taken t;
    struct err e = ERR_INIT;
    int rc = actions_do(c->actions, m, NULL, &t, &e);
    if (rc < 0) {
        ran_fail_as(c, &e);
        return;
    }
    r->cell = t.id;
    cell_wait(c);
}

/* Runs the cell after a restart, also if there was no kernel to restart. */
static void on_restarted(struct tool_call *c, const struct json *event,
                         const struct err *e)
{
    if (!event && e->code != ERR_NOTFOUND)
        ran_fail_as(c, e);
    else
        run_cell(c);
}

static void start(struct tool_call *c)
{
    struct ran *r = ran_new(c, "python");
    if (!r)
        return;
    if (!json_bool(c->args, "restart", false)) {
        run_cell(c);
        return;
    }
    struct json *m = json_object();
    json_put_z(m, "action", "restart_kernel");
    json_put(m, "args", json_object());
    tool_act(c, r->step++, str_of(r->session), m, on_restarted);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    struct ran *r = c->own;
    struct err e = ERR_INIT;
    char key[ACTION_SESSION_MAX + 3];
    struct told *t = told_of(c->fronts, cell_told(r, key));
    if (c->action && actions_find(c->actions, c->action))
        actions_cancel(c->actions, c->action, &e);
    const struct action *a = actions_find(c->actions, r->cell);
    const struct action_cell *cell = action_cell_find(c->actions, r->cell);
    bool waits = a && (!a->begun || (cell && cell->cell && cell_waits(cell->cell)));
    if (a && (why == TOOL_CANCELLED || (why == TOOL_TIMED_OUT && waits))) {
        actions_cancel(c->actions, r->cell, &e); /* its client no longer waits for it */
    } else if (r->cell) {
        t->command = r->cell;
        t->to = t->line = 0;
        t->left = true;
        told_keep(c->fronts, key);
    }
    ran_free(c);
}

static void progress(const struct tool_call *c, struct buf *line)
{
    const struct ran *r = c->own;
    if (r && r->cell)
        buf_addf(line, "cell %llu runs", (unsigned long long)r->cell);
}

const struct tool tool_python = {.name = "python",
                                 .title = "Run Python",
                                 .takes = &takes,
                                 .also = "source=code script=code session_id=session "
                                         "timeout=wait_s timeout_ms=wait_s "
                                         "yield_time_ms=wait_s",
                                 .destructive = true,
                                 .open_world = true,
                                 .start = start,
                                 .stop = stop,
                                 .progress = progress};
