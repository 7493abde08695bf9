/* SPDX-License-Identifier: MIT */
/*
 * A watched session. Its feed exists while somebody watches or drives: the picture is
 * made of the kept output when the first viewer connects, and shared by all.
 *
 * One person drives at a time. A driver is attached (session_attach), so that the shell
 * has a prompt and an echo; watching changes nothing.
 */
#include "front/terminal/prompts_own.h"

#include "action/control.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "shell/spool.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOLD_MS = 50, LAPSE_MS = 60000, PIECES_MAX = 4096 };

struct session *feed_session(const struct feed *f)
{
    return f->op ? session_find(f->t->en, str_of(f->session)) : NULL;
}

bool feed_ready(const struct feed *f)
{
    return f->at >= f->target || (f->left && f->left_at + f->left >= f->target);
}

static void say_all(struct feed *f, struct json *take)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->viewers)
        viewer_say(list_entry(it, struct watcher, node), json_copy(take));
    json_free(take);
}

/* ---- pieces ---- */

static void drop_piece(struct feed *f, struct piece *x)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->viewers) {
        struct watcher *v = list_entry(it, struct watcher, node);
        if (v->next == &x->node) {
            v->next = NULL;
            v->behind = true;
        }
    }
    list_del(&x->node);
    f->bytes -= sizeof(*x) + x->n;
    free(x);
}

static struct piece *add_piece(struct feed *f, struct str bytes, uint64_t end)
{
    struct piece *x = xcalloc(1, sizeof(*x) + bytes.n);
    struct list *it, *tmp;
    x->end = end;
    x->n = bytes.n;
    if (bytes.n > 0)
        memcpy(x->bytes, bytes.p, bytes.n);
    list_add_tail(&f->pieces, &x->node);
    f->bytes += sizeof(*x) + x->n;
    list_each (it, tmp, &f->viewers) {
        struct watcher *v = list_entry(it, struct watcher, node);
        if (v->live && !v->behind && !v->next)
            v->next = &x->node;
    }
    while (f->bytes > TERMINAL_WINDOW && f->pieces.next != &x->node)
        drop_piece(f, list_first(&f->pieces, struct piece, node));
    return x;
}

/* Uses the session's current size from here on. */
static void check_size(struct feed *f)
{
    struct session *s = feed_session(f);
    int rows, cols;
    if (!s)
        return;
    session_size(s, &rows, &cols);
    if (rows == f->rows && cols == f->cols)
        return;
    struct buf out = BUF_INIT(1 << 10);
    f->rows = rows;
    f->cols = cols;
    picture_resize(f->pic, rows, cols, &out);
    struct piece *x = add_piece(f, STR(""), f->at);
    x->kind = PIECE_SIZE;
    picture_size(f->pic, &x->rows, &x->cols);
    memcpy(x->by, f->size_by, sizeof(x->by));
    f->size_by[0] = 0;
    add_piece(f, buf_str(&out), f->at);
    buf_release(&out);
}

/* ---- the state of the session ---- */

/* pic may be NULL: the session has no viewers. */
static void put_state(const struct session *s, struct picture *pic, struct json *j)
{
    struct look look;
    struct picture_state state = {0};
    struct json *about = session_json(s);
    bool none = str_eq(json_str(about, "state", ""), STR("none"));
    bool waits = session_looked(s, &look) &&
                 (look.state == LOOK_YES || look.state == LOOK_PROBABLY);
    json_put_z(j, "state",
               none              ? "gone"
               : waits           ? "waiting"
               : session_busy(s) ? "busy"
                                 : "idle");
    if (waits && look.pid)
        json_put_int(j, "pid", look.pid);
    if (waits && look.comm[0])
        json_put_z(j, "program", look.comm);
    if (waits && session_hides(s))
        json_put_bool(j, "hidden", true);
    if (waits && pic)
        picture_report(pic, &state);
    if (state.alt)
        json_put_bool(j, "full_screen", true);
    json_free(about);
}

static int count_viewers(const struct feed *f)
{
    int n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &f->viewers)
        n++;
    return n;
}

static void check_viewers(struct feed *f)
{
    struct list *it, *tmp;
    int n = count_viewers(f);
    list_each (it, tmp, &f->viewers) {
        struct watcher *v = list_entry(it, struct watcher, node);
        if (v->viewers == n)
            continue;
        struct json *j = json_object();
        v->viewers = n;
        json_put_int(j, "viewers", n);
        viewer_say(v, j);
    }
}

static void check_state(struct feed *f)
{
    const struct session *s = feed_session(f);
    struct buf b = BUF_INIT(1 << 10);
    struct json *j = json_object();
    if (s)
        put_state(s, f->pic, j);
    json_print(&b, j);
    if (s && !str_eq(buf_str(&b), buf_str(&f->state))) {
        buf_reset(&f->state);
        buf_adds(&f->state, buf_str(&b));
        say_all(f, j);
    } else {
        json_free(j);
    }
    buf_release(&b);
}

/* ---- output ---- */

static void on_hold(struct timer *t)
{
    struct feed *f = container_of(t, struct feed, hold);
    f->release = f->left > 0;
    if (f->op)
        op_pump(f->op);
}

/* Paints the commands that begin at `upto` or before, after all output before that. */
static void paint_prompts(struct feed *f, uint64_t upto)
{
    struct buf out = BUF_INIT(1 << 20);
    uint64_t at = 0;
    while (!f->left && prompts_paint(f->prompts, f->t, f->pic, upto, &at, &out)) {
        f->at = at > f->at ? at : f->at;
        add_piece(f, buf_str(&out), f->at);
        buf_reset(&out);
    }
    buf_release(&out);
}

/* Output reached the place where returning viewers continue. */
static void at_split(struct feed *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->viewers) {
        struct watcher *v = list_entry(it, struct watcher, node);
        if (!v->live && v->since == f->split) {
            v->live = true;
            v->behind = false;
            v->sent = v->acked = f->split;
        }
    }
    f->split = 0;
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct feed *f = op->owner;
    struct buf out = BUF_INIT(64 << 20);
    struct session_view view;
    size_t most = bytes.n;
    (void)stream;
    paint_prompts(f, offset);
    /* Marks were left out at the split: these bytes are after it. */
    if (f->split && offset >= f->split)
        at_split(f);
    if (!f->left)
        check_size(f);
    if (bytes.n > TERMINAL_FRAME)
        bytes.n = TERMINAL_FRAME;
    if (f->split > offset && f->split < offset + bytes.n)
        bytes.n = (size_t)(f->split - offset);
    /* Bytes cut by a mark of the shell, or held back long enough, are complete. */
    bool again = f->left && offset == f->left_at && bytes.n == f->left;
    session_view(op->session, &view);
    bool last = (f->release && again) || offset + bytes.n == f->split ||
                (again && (view.view > offset + bytes.n || !session_busy(op->session)));
    size_t used = terminal_take(f->t, f->pic, bytes, last, &out);
    f->at = offset + used;
    f->left_at = f->at;
    f->left = used < bytes.n ? bytes.n - used : 0;
    /* The echo of a key is not the beginning of a program's output. */
    f->release = f->left == 1 && !again && f->typed && bytes.p[used] == f->typed;
    f->typed = 0;
    if (!f->left || f->release)
        timer_stop(&f->hold);
    if (out.n > 0)
        add_piece(f, buf_str(&out), f->at);
    else if (used > 0 && !list_empty(&f->pieces))
        list_entry(f->pieces.prev, struct piece, node)->end = f->at;
    buf_release(&out);
    if (f->split && f->at >= f->split)
        at_split(f);
    task_defer(f->t->en->loop, &f->task);
    if (f->left && !f->release && !timer_active(&f->hold) &&
        (f->leased || !session_busy(op->session)))
        timer_begin(f->t->en->loop, &f->hold, HOLD_MS, on_hold);
    if (used < most && (used > 0 || !again || f->release) && !op->done)
        task_defer(f->t->en->loop, &op->pump);
    return used;
}

/* Called before output and before marks that are left out: `at` is after both. Output
 * waits until the log was asked which commands it is of. */
static bool on_ask(struct op *op)
{
    struct feed *f = op->owner;
    task_defer(f->t->en->loop, &f->task);
    return prompts_ready(f->prompts);
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct feed *f = op->owner;
    (void)text;
    if (kind == NOTE_STATE)
        task_defer(f->t->en->loop, &f->task);
    if (kind != NOTE_GAP || to <= f->at)
        return;
    if (f->split && to >= f->split)
        at_split(f);
    prompts_skip(f->prompts, to);
    struct piece *x = add_piece(f, STR(""), to);
    x->kind = PIECE_GAP;
    x->from = from;
    f->at = to;
    task_defer(f->t->en->loop, &f->task);
}

static void on_done(struct op *op)
{
    struct feed *f = op->owner;
    struct list *it, *tmp;
    f->op = NULL;
    bool server = op->r.err.code == ERR_CANCELLED;
    list_each (it, tmp, &f->viewers) {
        struct watcher *v = list_entry(it, struct watcher, node);
        viewer_pump(v);
        viewer_bye(v, server ? "server" : "session", op->r.exit);
    }
}

static void on_task(struct task *task)
{
    struct feed *f = container_of(task, struct feed, task);
    struct list *it, *tmp;
    if (f->op && !prompts_ready(f->prompts)) {
        prompts_read(f->prompts);
        task_defer(f->t->en->loop, task);
        op_pump(f->op);
    }
    if (f->op)
        paint_prompts(f, f->op->cursor);
    if (f->op && !f->left && f->op->cursor > f->at)
        f->at = f->op->cursor;
    if (f->split && f->at >= f->split)
        at_split(f);
    if (feed_ready(f) && !f->left)
        check_size(f);
    /* A program may write faster than a picture is made: skip to the newest output. */
    if (feed_ready(f) && f->op)
        f->op->behind_max = TERMINAL_REBUILD;
    check_state(f);
    check_viewers(f);
    if (f->driver)
        viewer_typing(f->driver);
    list_each (it, tmp, &f->viewers)
        viewer_pump(list_entry(it, struct watcher, node));
}

/* ---- life ---- */

static struct feed *feed_find(const struct terminal *t, const char *session)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->feeds) {
        struct feed *f = list_entry(it, struct feed, node);
        if (f->op && strcmp(f->session, session) == 0)
            return f;
    }
    return NULL;
}

struct feed *feed_of(struct terminal *t, struct session *s, uint64_t since)
{
    static const struct op_sink sink = {
        .output = on_output, .note = on_note, .done = on_done, .room = on_ask};
    struct feed *f = feed_find(t, session_name(s));
    struct session_view view;
    if (f) {
        if (!feed_ready(f) && !f->split && since > f->at)
            f->split = since;
        return f;
    }
    f = xnew(struct feed);
    f->t = t;
    snprintf(f->session, sizeof(f->session), "%s", session_name(s));
    session_size(s, &f->rows, &f->cols);
    f->pic = picture_new(f->rows, f->cols);
    list_init(&f->pieces);
    list_init(&f->viewers);
    list_add_tail(&t->feeds, &f->node);
    task_init(&f->task, on_task);
    buf_init(&f->state, 1 << 10);
    session_catch_up(s);
    session_view(s, &view);
    f->first = view.stream ? spool_start(view.stream) : 0;
    if (view.view > TERMINAL_REBUILD && f->first < view.view - TERMINAL_REBUILD)
        f->first = view.view - TERMINAL_REBUILD;
    f->at = f->first;
    f->target = view.view;
    f->split = since > f->first && since <= f->target ? since : 0;
    f->prompts = xnew(struct prompts);
    prompts_open(f->prompts, s, f->first);
    f->op = op_new(OP_VIEW, &sink, f);
    f->op->cursor = f->first;
    session_observe(s, f->op);
    task_defer(t->en->loop, &f->task);
    return f;
}

static void feed_free(struct feed *f)
{
    if (f->attached) {
        struct session *s = feed_session(f);
        if (s)
            session_detach(s, f->attached);
        f->attached = NULL;
    }
    if (f->op)
        op_drop(f->op);
    f->op = NULL;
    while (!list_empty(&f->pieces))
        drop_piece(f, list_first(&f->pieces, struct piece, node));
    picture_free(f->pic);
    prompts_release(f->prompts);
    free(f->prompts);
    timer_stop(&f->hold);
    timer_stop(&f->lapse);
    task_cancel(&f->task);
    buf_release(&f->state);
    list_del(&f->node);
    loop_bury(f->t->en->loop, f, free);
}

void feed_join(struct feed *f, struct watcher *v)
{
    struct list *it, *tmp;
    list_add_tail(&f->viewers, &v->node);
    v->feed = f;
    v->behind = true;
    task_defer(f->t->en->loop, &f->task);
    if (v->since == UINT64_MAX)
        return;
    if (v->since == f->at && !f->left && feed_ready(f)) {
        v->behind = false;
    } else if (f->split == v->since && f->at < f->split) {
        return; /* the piece that begins there does not exist yet: see viewer_pump */
    }
    list_each (it, tmp, &f->pieces) {
        if (list_entry(it, struct piece, node)->end == v->since) {
            v->behind = false;
            v->next = it->next == &f->pieces ? NULL : it->next;
        }
    }
    v->live = !v->behind;
    v->sent = v->acked = v->since;
}

static void on_lapse(struct timer *t)
{
    struct feed *f = container_of(t, struct feed, lapse);
    feed_give_back(f, "lapse");
    if (list_empty(&f->viewers))
        feed_free(f);
}

static void put_driver(const struct feed *f, struct json *j)
{
    if (!f->leased) {
        json_put_null(j, "driver");
        return;
    }
    struct json *d = json_object();
    json_put_z(d, "id", f->driver_id);
    json_put_z(d, "name", f->driver_name);
    if (!f->driver)
        json_put_bool(d, "away", true);
    json_put(j, "driver", d);
}

static void say_driver(struct feed *f)
{
    struct json *j = json_object();
    put_driver(f, j);
    say_all(f, j);
}

void feed_leave(struct feed *f, struct watcher *v)
{
    list_del(&v->node);
    v->feed = NULL;
    if (f->driver == v) {
        f->driver = NULL;
        if (f->op && !f->t->closed) {
            timer_begin(f->t->en->loop, &f->lapse, LAPSE_MS, on_lapse);
            say_driver(f); /* away */
        } else {
            f->leased = false;
        }
    }
    if (list_empty(&f->viewers) && !f->leased)
        feed_free(f);
    else
        task_defer(f->t->en->loop, &f->task);
}

/* ---- who drives ---- */

static void note_control(struct feed *f, const char *viewer, const char *what, int rows,
                         int cols)
{
    struct json *extras = json_object();
    json_put_z(extras, "of", "terminal");
    json_put_bool(extras, "drives", f->leased);
    json_put_z(extras, "what", "terminal");
    json_put_z(extras, "how", what);
    if (rows) {
        json_put_int(extras, "rows", rows);
        json_put_int(extras, "cols", cols);
    }
    terminal_note(f, "control", viewer, extras);
    control_changed(f->t->en->actions, f->session, "terminal", viewer, f->leased);
}

static void on_attach_note(struct op *op, enum note_kind kind, const char *text,
                           uint64_t from, uint64_t to)
{
    struct feed *f = op->owner;
    (void)text;
    (void)from;
    (void)to;
    if ((kind == NOTE_KEYS || kind == NOTE_WINDOW) && f->driver)
        viewer_typing(f->driver);
}

/* Called when the shell or the session ended. */
static void on_attach_done(struct op *op)
{
    struct feed *f = op->owner;
    f->attached = NULL;
    feed_give_back(f, "shell");
}

int feed_drive(struct feed *f, struct watcher *v, bool steal, struct err *e)
{
    static const struct op_sink sink = {.note = on_attach_note, .done = on_attach_done};
    struct session *s = feed_session(f);
    if (!s)
        return err_set(e, ERR_NOTFOUND, "session %s is gone", f->session);
    bool back = f->leased && !f->driver && strcmp(f->token, v->token) == 0;
    if (f->driver == v)
        return 0;
    if (f->leased && !back && !steal)
        return err_set(e, ERR_BUSY, "%s drives session %s; take it with \"steal\"",
                       f->driver_name[0] ? f->driver_name : f->driver_id, f->session);
    if (f->driver)
        viewer_log_input(f->driver);
    timer_stop(&f->lapse);
    bool stolen = f->leased && !back;
    f->leased = true;
    f->driver = v;
    snprintf(f->driver_id, sizeof(f->driver_id), "%s", v->id);
    snprintf(f->driver_name, sizeof(f->driver_name), "%s", v->name);
    memcpy(f->token, v->token, sizeof(f->token));
    if (!f->attached) {
        f->attached = op_new(OP_VIEW, &sink, f);
        session_attach(s, f->attached);
    }
    note_control(f, v->name[0] ? v->name : v->id,
                 back     ? "back"
                 : stolen ? "steal"
                          : "take",
                 0, 0);
    say_driver(f);
    return 0;
}

void feed_give_back(struct feed *f, const char *what)
{
    struct session *s = feed_session(f);
    if (!f->leased)
        return;
    if (f->driver)
        viewer_log_input(f->driver);
    f->leased = false;
    f->driver = NULL;
    timer_stop(&f->lapse);
    if (f->attached && s)
        session_detach(s, f->attached);
    f->attached = NULL;
    note_control(f, f->driver_name[0] ? f->driver_name : f->driver_id, what, 0, 0);
    say_driver(f);
}

int feed_resize(struct feed *f, struct watcher *v, int rows, int cols, struct err *e)
{
    struct session *s = feed_session(f);
    if (!s)
        return err_set(e, ERR_NOTFOUND, "session %s is gone", f->session);
    snprintf(f->size_by, sizeof(f->size_by), "%s", v->id);
    if (session_resize(s, rows, cols, e) < 0)
        return -1;
    note_control(f, v->name[0] ? v->name : v->id, "resize", rows, cols);
    return 0;
}

static void put_cause(const struct terminal *t, const char *session, struct json *j)
{
    for (struct action *a = NULL; (a = actions_next(t->en->actions, a));) {
        if (a->running && a->id && strcmp(a->session, session) == 0)
            json_put_int(j, "cause", (int64_t)a->id);
    }
}

void feed_hello(struct feed *f, struct watcher *v, struct json *hello)
{
    const struct session *s = feed_session(f);
    struct session_view view = {0};
    int rows, cols;
    picture_size(f->pic, &rows, &cols);
    if (s)
        session_view(s, &view);
    json_put_z(hello, "session", f->session);
    json_put_int(hello, "rows", rows);
    json_put_int(hello, "cols", cols);
    json_put_int(hello, "from", view.stream ? (int64_t)spool_start(view.stream) : 0);
    json_put_int(hello, "next", (int64_t)view.view);
    if (s)
        put_state(s, f->pic, hello);
    put_cause(f->t, f->session, hello);
    put_driver(f, hello);
    v->viewers = count_viewers(f);
    json_put_int(hello, "viewers", v->viewers);
    json_put_z(hello, "id", v->id);
    json_put_z(hello, "resume", v->token);
}

struct json *feed_list(struct terminal *t)
{
    struct json *all = json_object(), *list = json_array();
    struct str name;
    void *value;
    for (void *it = NULL; (it = map_next(&t->en->sessions, it, &name, &value));) {
        const struct feed *f = feed_find(t, session_name(value));
        struct json *j = json_object();
        json_put_str(j, "session", name);
        put_state(value, f ? f->pic : NULL, j);
        put_cause(t, session_name(value), j);
        json_put_int(j, "viewers", f ? count_viewers(f) : 0);
        if (f)
            put_driver(f, j);
        json_push(list, j);
    }
    json_put(all, "sessions", list);
    return all;
}
