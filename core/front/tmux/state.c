/* SPDX-License-Identifier: MIT */
/*
 * All of it is one JSON object under the key tmux/state, stored in one message after each
 * command that changed something, with the number of commands that requests have done.
 * Buffers have states of their own.
 */
#include "front/tmux/state.h"

#include "base/enc.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STATE_MAX = 7 << 20,
    DONE_MAX = 64,         /* requests that are remembered */
    DONE_TEXT = 64 << 10,  /* bytes of output of one */
    BUFFER_PIECE = 4 << 20 /* bytes of a buffer in one state */
};

void state_changed(struct tmux *t)
{
    t->dirty = true;
    if (!t->resuming)
        task_defer(t->en->loop, &t->after);
}

static uint64_t state_number(struct tmux *t, const char *key)
{
    const struct buf *value = map_get(&t->en->states, str_of(key));
    uint64_t n = 0;
    if (value)
        str_to_u64(buf_str(value), &n);
    return n;
}

/* ---- what requests have done ---- */

uint64_t done_find(struct tmux *t, const char *id, struct buf *out, struct buf *err,
                   int *exit)
{
    const struct json *j = id[0] ? json_get(t->done, id) : NULL;
    if (!j)
        return 0;
    buf_adds(out, json_str(j, "out", ""));
    buf_adds(err, json_str(j, "err", ""));
    *exit = (int)json_int(j, "exit", 0);
    return (uint64_t)json_int(j, "n", 0);
}

void done_note(struct tmux_client *c, uint64_t steps)
{
    struct tmux *t = c->t;
    if (!c->id[0])
        return;
    struct json *j = json_object();
    json_put_int(j, "n", (int64_t)steps);
    json_put_int(j, "exit", c->exit);
    /* Output that was taken is known to the client, which drops it when it comes again.
     */
    if (c->out[0].at == 0 && c->out[0].buf.n <= DONE_TEXT)
        json_put_str(j, "out", buf_str(&c->out[0].buf));
    if (c->out[1].at == 0 && c->out[1].buf.n <= DONE_TEXT)
        json_put_str(j, "err", buf_str(&c->out[1].buf));
    struct json *had = json_take(t->done, c->id);
    json_free(had);
    json_put(t->done, c->id, j);
    while (json_count(t->done) > DONE_MAX)
        json_drop(t->done, json_first(t->done));
}

void done_state(struct tmux *t, struct buf *key, struct buf *value)
{
    buf_addz(key, "tmux/done");
    json_print(value, t->done);
}

static struct json *entry(struct tmux_client *c)
{
    if (!json_has(c->t->done, c->id))
        done_note(c, c->step);
    return json_get(c->t->done, c->id);
}

void typed_state(struct tm_item *it, uint64_t which, uint64_t at, struct buf *key,
                 struct buf *value)
{
    struct json *j = it->c->id[0] ? entry(it->c) : NULL;
    if (j && it->depth == 0) {
        json_put_int(j, "typing", (int64_t)it->c->step);
        json_put_int(j, "which", (int64_t)which);
        json_put_int(j, "at", (int64_t)at);
    }
    done_state(it->c->t, key, value);
}

void typed_before(struct tm_item *it, uint64_t *which, uint64_t *at)
{
    const struct json *j = it->c->id[0] ? json_get(it->c->t->done, it->c->id) : NULL;
    if (!j || it->depth > 0 || json_int(j, "typing", -1) != (int64_t)it->c->step)
        return;
    *which = (uint64_t)json_int(j, "which", 0);
    *at = (uint64_t)json_int(j, "at", 0);
}

void input_state(struct tmux_client *c, uint64_t at, struct buf *key, struct buf *value)
{
    struct json *j = c->id[0] ? entry(c) : NULL;
    if (j)
        json_put_int(j, "input", (int64_t)at);
    done_state(c->t, key, value);
}

uint64_t input_before(struct tmux *t, const char *id)
{
    return (uint64_t)json_int(json_get(t->done, id), "input", 0);
}

/* ---- out ---- */

static struct json *pack_links(struct tm_session *s)
{
    struct json *all = json_array();
    struct list *it, *tmp;
    list_each (it, tmp, &s->links) {
        const struct tm_link *l = list_entry(it, struct tm_link, node);
        struct json *j = json_object();
        json_put_int(j, "w", l->w->id);
        json_put_int(j, "i", l->index);
        if (l->bell)
            json_put_bool(j, "bell", true);
        json_push(all, j);
    }
    return all;
}

static struct json *pack_session(struct tm_session *s)
{
    struct json *j = json_object(), *stack = json_array();
    struct list *it, *tmp;
    json_put_int(j, "id", s->id);
    json_put_z(j, "name", s->name);
    json_put_z(j, "cwd", s->cwd);
    if (s->group)
        json_put_z(j, "group", s->group);
    json_put_int(j, "made", s->made);
    json_put_int(j, "active", s->active_us);
    json_put_int(j, "attached", s->attached_at);
    json_put(j, "links", pack_links(s));
    json_put_int(j, "link", s->link ? s->link->index : -1);
    list_each (it, tmp, &s->stack)
        json_push_int(stack, list_entry(it, struct tm_link, stacked)->index);
    json_put(j, "stack", stack);
    json_put(j, "opts", opts_pack(&s->opts, OPTION_SESSION));
    json_put(j, "env", env_pack(&s->env));
    return j;
}

static struct json *pack_pane(struct tm_pane *p)
{
    struct json *j = json_object();
    json_put_int(j, "id", p->id);
    json_put_z(j, "title", p->title ? p->title : "");
    json_put_z(j, "cwd", p->cwd ? p->cwd : "");
    json_put_z(j, "shell", p->shell ? p->shell : "/bin/sh");
    json_put(j, "argv", p->argv ? json_copy(p->argv) : json_array());
    json_put_int(j, "cols", p->cols);
    json_put_int(j, "rows", p->rows);
    json_put_int(j, "x", p->x);
    json_put_int(j, "y", p->y);
    json_put_int(j, "runs", p->runs);
    json_put_int(j, "point", p->active_point);
    json_put_bool(j, "dead", p->dead);
    json_put_bool(j, "off", p->input_off);
    json_put_int(j, "status", p->status);
    json_put_int(j, "signo", p->signo);
    json_put_int(j, "dead_at", p->dead_at);
    json_put_int(j, "limit", (int64_t)p->limit);
    if (p->piped) {
        json_put_bool(j, "piped", true);
        json_put_int(j, "pipe_from", (int64_t)p->pipe_from);
        json_put_int(j, "pipe_flags", p->pipe_flags);
    }
    json_put_int(j, "pipes", p->pipes);
    json_put(j, "opts", opts_pack(&p->opts, OPTION_PANE));
    return j;
}

static struct json *pack_window(struct tm_window *w)
{
    struct json *j = json_object(), *panes = json_array(), *stack = json_array();
    struct list *it, *tmp;
    struct buf layout = BUF_INIT(STATE_MAX);
    json_put_int(j, "id", w->id);
    json_put_z(j, "name", w->name);
    json_put_int(j, "cols", w->cols);
    json_put_int(j, "rows", w->rows);
    json_put_int(j, "made", w->made);
    json_put_int(j, "active", w->active_us);
    json_put_int(j, "preset", w->last_layout);
    json_put_int(j, "mcols", w->manual_cols);
    json_put_int(j, "mrows", w->manual_rows);
    list_each (it, tmp, &w->panes)
        json_push(panes, pack_pane(list_entry(it, struct tm_pane, sibling)));
    json_put(j, "panes", panes);
    json_put_int(j, "pane", w->pane ? (int64_t)w->pane->id : -1);
    list_each (it, tmp, &w->stack)
        json_push_int(stack, list_entry(it, struct tm_pane, stacked)->id);
    json_put(j, "stack", stack);
    window_put_layout(w, false, &layout);
    json_put_str(j, "layout", buf_str(&layout));
    if (w->zoomed) {
        json_put_int(j, "zoom", w->zoomed->id);
    }
    if (w->old_layout)
        json_put_z(j, "old", w->old_layout);
    json_put(j, "opts", opts_pack(&w->opts, OPTION_WINDOW));
    buf_release(&layout);
    return j;
}

void state_store(struct tmux *t)
{
    struct json *j = json_object(), *ss = json_array(), *ws = json_array(),
                *chs = json_array();
    struct buf b = BUF_INIT(STATE_MAX);
    struct list *it, *tmp;
    t->dirty = false;
    json_put_int(j, "s", t->next_session);
    json_put_int(j, "w", t->next_window);
    json_put_int(j, "p", t->next_pane);
    json_put_int(j, "b", t->next_buffer);
    json_put_int(j, "started", t->started);
    json_put_z(j, "socket", t->socket);
    json_put_bool(j, "configured", t->configured);
    json_put(j, "env", env_pack(&t->env));
    if (!t->globals) { /* they are long, and change seldom */
        t->globals = json_object();
        json_put(t->globals, "server", opts_pack(&t->server, OPTION_SERVER));
        json_put(t->globals, "session", opts_pack(&t->global, OPTION_SESSION));
        json_put(t->globals, "window", opts_pack(&t->global_w, OPTION_WINDOW));
    }
    json_put(j, "globals", json_copy(t->globals));
    list_each (it, tmp, &t->sessions)
        json_push(ss, pack_session(list_entry(it, struct tm_session, node)));
    json_put(j, "sessions", ss);
    list_each (it, tmp, &t->windows) {
        struct tm_window *w = list_entry(it, struct tm_window, node);
        if (!w->ended)
            json_push(ws, pack_window(w));
    }
    json_put(j, "windows", ws);
    list_each (it, tmp, &t->channels) {
        const struct tm_channel *ch = list_entry(it, struct tm_channel, node);
        struct json *x = json_object();
        json_put_z(x, "name", ch->name);
        json_put_bool(x, "woken", ch->woken);
        json_put_bool(x, "locked", ch->locked);
        json_push(chs, x);
    }
    json_put(j, "channels", chs);
    if (t->marked)
        json_put_int(j, "marked", t->marked->id);
    json_put(j, "done", json_copy(t->done));
    if (json_print(&b, j) < 0)
        log_error("tmux: the state of all sessions is longer than %d bytes", STATE_MAX);
    else
        hold_put(t->en->hold, STR("tmux/state"), buf_str(&b));
    json_free(j);
    buf_release(&b);
}

/* ---- buffers ---- */

void state_put_buffer(struct tmux *t, struct tm_buffer *b, bool gone)
{
    char key[64];
    size_t at = 0;
    for (unsigned i = 0; i == 0 || (!gone && at < b->n) || (b->stored && i < b->pieces);
         i++) {
        struct buf value = BUF_INIT(KEEP_FAR_MAX);
        struct json *j = json_object();
        struct buf data = BUF_INIT(SIZE_MAX);
        snprintf(key, sizeof(key), "tmux/buffer/%llu/%u", (unsigned long long)b->order,
                 i);
        if (!gone && (i == 0 || at < b->n)) {
            struct str piece = str_sub(str_n(b->data, b->n), at, BUFFER_PIECE);
            enc_base64(&data, piece);
            json_put_z(j, "name", b->name);
            json_put_bool(j, "auto", b->automatic);
            json_put_int(j, "made", b->made);
            json_put_str(j, "data", buf_str(&data));
            json_print(&value, j);
            at += piece.n;
        }
        hold_put(t->en->hold, str_of(key), buf_str(&value));
        json_free(j);
        buf_release(&data);
        buf_release(&value);
    }
    b->pieces = (unsigned)((b->n + BUFFER_PIECE - 1) / BUFFER_PIECE);
    b->stored = !gone;
}

static struct tm_buffer *buffer_of(struct tmux *t, uint64_t order)
{
    struct list *it, *tmp, *at = &t->buffers;
    list_each (it, tmp, &t->buffers) {
        struct tm_buffer *b = list_entry(it, struct tm_buffer, node);
        if (b->order == order)
            return b;
        if (b->order < order && at == &t->buffers)
            at = it;
    }
    struct tm_buffer *b = xnew(struct tm_buffer);
    b->order = order;
    b->stored = true;
    list_add_tail(at, &b->node);
    return b;
}

/* The pieces come in no order: room for each is made as it comes. */
static void load_buffer(struct tmux *t, struct str name, struct str value)
{
    struct json *j = json_parse_kept(value, NULL);
    struct str rest = name, order = str_cut(&rest, '/');
    uint64_t n = 0, i = 0;
    struct buf data = BUF_INIT(SIZE_MAX);
    if (!j || str_to_u64(order, &n) < 0 || str_to_u64(rest, &i) < 0 ||
        dec_base64(&data, json_str(j, "data", "")) < 0) {
        json_free(j);
        return;
    }
    struct tm_buffer *b = buffer_of(t, n);
    size_t end = (size_t)i * BUFFER_PIECE + data.n;
    if (!b->name)
        b->name = xstrdup(json_str(j, "name", "").p);
    b->automatic = json_bool(j, "auto", false);
    b->made = json_int(j, "made", 0);
    if (end > b->n) {
        b->data = xrealloc(b->data, end + 1, 1);
        b->n = end;
    }
    if (data.n > 0)
        memcpy(b->data + i * BUFFER_PIECE, data.p, data.n);
    b->data[b->n] = 0;
    b->pieces = (unsigned)((b->n + BUFFER_PIECE - 1) / BUFFER_PIECE);
    if (n >= t->next_order)
        t->next_order = n + 1;
    buf_release(&data);
    json_free(j);
}

/* ---- in ---- */

static char *text_of(const struct json *j, const char *name)
{
    struct str s = json_str(j, name, "");
    return xstrndup(s.p, s.n);
}

static void load_pane(struct tmux *t, struct tm_window *w, const struct json *j)
{
    struct tm_pane *p = pane_new(w, (unsigned)json_int(j, "id", 0),
                                 (int)json_int(j, "cols", 80),
                                 (int)json_int(j, "rows", 24));
    list_add_tail(&w->panes, &p->sibling);
    p->title = text_of(j, "title");
    p->cwd = text_of(j, "cwd");
    p->shell = text_of(j, "shell");
    p->argv = json_copy(json_get(j, "argv"));
    p->x = (int)json_int(j, "x", 0);
    p->y = (int)json_int(j, "y", 0);
    p->runs = (unsigned)json_int(j, "runs", 1);
    p->active_point = (unsigned)json_int(j, "point", 0);
    if (p->active_point > t->last_point)
        t->last_point = p->active_point;
    p->dead = json_bool(j, "dead", false);
    p->input_off = json_bool(j, "off", false);
    p->status = (int)json_int(j, "status", 0);
    p->signo = (int)json_int(j, "signo", 0);
    p->dead_at = json_int(j, "dead_at", 0);
    p->limit = (uint64_t)json_int(j, "limit", 0);
    p->piped = json_bool(j, "piped", false);
    p->pipe_from = (uint64_t)json_int(j, "pipe_from", 0);
    p->pipe_flags = (int)json_int(j, "pipe_flags", 0);
    p->pipes = (unsigned)json_int(j, "pipes", 0);
    opts_unpack(&p->opts, json_get(j, "opts"));
    char key[48];
    snprintf(key, sizeof(key), "tmux/answered/%u", p->id);
    p->answered = state_number(t, key);
    snprintf(key, sizeof(key), "tmux/piped/%u", p->id);
    p->pipe_taken = state_number(t, key);
}

static void load_window(struct tmux *t, const struct json *j)
{
    struct tm_window *w = window_new(t, (int)json_int(j, "cols", 80),
                                     (int)json_int(j, "rows", 24));
    free(w->name);
    w->id = (unsigned)json_int(j, "id", 0);
    w->name = text_of(j, "name");
    w->made = json_int(j, "made", 0);
    w->active_us = json_int(j, "active", 0);
    w->last_layout = (int)json_int(j, "preset", -1);
    w->manual_cols = (int)json_int(j, "mcols", 0);
    w->manual_rows = (int)json_int(j, "mrows", 0);
    opts_unpack(&w->opts, json_get(j, "opts"));
    for (const struct json *v = json_first(json_get(j, "panes")); v; v = json_next(v))
        load_pane(t, w, v);
    w->pane = pane_by_id(t, (unsigned)json_int(j, "pane", 0));
    for (const struct json *v = json_first(json_get(j, "stack")); v; v = json_next(v)) {
        struct tm_pane *p = pane_by_id(t, (unsigned)json_int_value(v, 0));
        if (p)
            list_add_tail(&w->stack, &p->stacked);
    }
    if (json_has(j, "old"))
        w->old_layout = text_of(j, "old");
    struct buf why = BUF_INIT(1 << 10);
    struct tm_pane *first = w->panes.next == &w->panes
                                ? NULL
                                : list_first(&w->panes, struct tm_pane, sibling);
    if (first)
        tmux_layout_init(&w->layout, (unsigned)w->cols, (unsigned)w->rows, first->id);
    if (window_take_layout(w, json_str(j, "layout", "").p, &why) < 0)
        log_error("tmux: the layout of window @%u is lost: %s", w->id, buf_z(&why));
    buf_release(&why);
    if (json_has(j, "zoom"))
        w->zoomed = pane_by_id(t, (unsigned)json_int(j, "zoom", 0));
}

static void load_session(struct tmux *t, const struct json *j)
{
    struct str name = json_str(j, "name", ""), cwd = json_str(j, "cwd", "/");
    struct tm_session *s = session_new(t, name.p, cwd.p);
    s->id = (unsigned)json_int(j, "id", 0);
    s->made = json_int(j, "made", 0);
    s->active_us = json_int(j, "active", 0);
    s->attached_at = json_int(j, "attached", 0);
    if (json_has(j, "group"))
        s->group = text_of(j, "group");
    opts_unpack(&s->opts, json_get(j, "opts"));
    env_unpack(&s->env, json_get(j, "env"));
    for (const struct json *v = json_first(json_get(j, "links")); v; v = json_next(v)) {
        struct tm_window *w = window_by_id(t, (unsigned)json_int(v, "w", 0));
        struct tm_link *l = w ? link_new(s, w, (int)json_int(v, "i", 0)) : NULL;
        if (l)
            l->bell = json_bool(v, "bell", false);
    }
    for (const struct json *v = json_first(json_get(j, "stack")); v; v = json_next(v)) {
        struct tm_link *l = link_by_index(s, (int)json_int_value(v, -1));
        if (l)
            list_add_tail(&s->stack, &l->stacked);
    }
    s->link = link_by_index(s, (int)json_int(j, "link", -1));
    if (!s->link && !list_empty(&s->links))
        s->link = list_first(&s->links, struct tm_link, node);
}

/* A request may have done more than the whole state knows: a key that was typed. */
static void merge_done(struct tmux *t, struct str text)
{
    struct json *late = json_parse_kept(text, NULL);
    for (const struct json *v = json_first(late); v; v = json_next(v)) {
        const struct json *had = json_get(t->done, json_name(v));
        if (!had || json_int(had, "n", 0) <= json_int(v, "n", 0))
            json_put(t->done, json_name(v), json_copy(v));
    }
    json_free(late);
}

static void load_all(struct tmux *t, const struct json *j)
{
    snprintf(t->socket, sizeof(t->socket), "%s", json_str(j, "socket", "").p);
    t->configured = json_bool(j, "configured", false);
    t->started = json_int(j, "started", t->started);
    env_release(&t->env);
    env_unpack(&t->env, json_get(j, "env"));
    const struct json *globals = json_get(j, "globals");
    opts_unpack(&t->server, json_get(globals, "server"));
    opts_unpack(&t->global, json_get(globals, "session"));
    opts_unpack(&t->global_w, json_get(globals, "window"));
    for (const struct json *v = json_first(json_get(j, "windows")); v; v = json_next(v))
        load_window(t, v);
    for (const struct json *v = json_first(json_get(j, "sessions")); v; v = json_next(v))
        load_session(t, v);
    for (const struct json *v = json_first(json_get(j, "channels")); v;
         v = json_next(v)) {
        struct tm_channel *ch = xnew(struct tm_channel);
        ch->name = text_of(v, "name");
        ch->woken = json_bool(v, "woken", false);
        ch->locked = json_bool(v, "locked", false);
        list_add_tail(&t->channels, &ch->node);
    }
    if (json_has(j, "marked"))
        t->marked = pane_by_id(t, (unsigned)json_int(j, "marked", 0));
    if (json_is_object(json_get(j, "done"))) {
        json_free(t->done);
        t->done = json_copy(json_get(j, "done"));
    }
    t->next_session = (unsigned)json_int(j, "s", 0);
    t->next_window = (unsigned)json_int(j, "w", 0);
    t->next_pane = (unsigned)json_int(j, "p", 0);
    t->next_buffer = (unsigned)json_int(j, "b", 0);
}

void state_load(struct tmux *t)
{
    const struct buf *all = map_get(&t->en->states, STR("tmux/state"));
    const struct buf *done = map_get(&t->en->states, STR("tmux/done"));
    struct err e = ERR_INIT;
    struct str key;
    void *value;
    struct json *j = all ? json_parse_kept(buf_str(all), &e) : NULL;
    if (all && !j)
        log_error("tmux: its state is unreadable: %s", e.text);
    t->resuming = true;
    if (j)
        load_all(t, j);
    if (done)
        merge_done(t, buf_str(done));
    for (void *it = NULL; (it = map_next(&t->en->states, it, &key, &value));) {
        if (str_starts(key, STR("tmux/buffer/")))
            load_buffer(t, str_sub(key, strlen("tmux/buffer/"), key.n), buf_str(value));
    }
    json_free(j);
    t->resuming = false;
}
