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
#include "engine/state.h"
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

/* ---- what is kept of each thing, besides what it refers to ---- */

static const struct state_field kept[] = {
    STATE_ROW_AS("s", struct tmux, next_session),
    STATE_ROW_AS("w", struct tmux, next_window),
    STATE_ROW_AS("p", struct tmux, next_pane),
    STATE_ROW_AS("b", struct tmux, next_buffer),
    STATE_ROW(struct tmux, started),
    STATE_ROW(struct tmux, socket),
    STATE_ROW(struct tmux, configured),
    STATE_ROW(struct tmux, done),
    {.name = NULL},
};

static const struct state_field kept_session[] = {
    STATE_ROW(struct tm_session, id),
    STATE_ROW(struct tm_session, name),
    STATE_ROW(struct tm_session, cwd),
    STATE_ROW(struct tm_session, group),
    STATE_ROW(struct tm_session, made),
    STATE_ROW_AS("active", struct tm_session, active_us),
    STATE_ROW_AS("attached", struct tm_session, attached_at),
    {.name = NULL},
};

static const struct state_field kept_link[] = {
    STATE_ROW_AS("i", struct tm_link, index),
    STATE_ROW(struct tm_link, bell),
    {.name = NULL},
};

static const struct state_field kept_window[] = {
    STATE_ROW(struct tm_window, id),
    STATE_ROW(struct tm_window, name),
    STATE_ROW(struct tm_window, cols),
    STATE_ROW(struct tm_window, rows),
    STATE_ROW_AS("active", struct tm_window, active_us),
    STATE_ROW_AS("preset", struct tm_window, last_layout),
    STATE_ROW_AS("old", struct tm_window, old_layout),
    {.name = NULL},
};

static const struct state_field kept_pane[] = {
    STATE_ROW(struct tm_pane, id),
    STATE_ROW(struct tm_pane, cwd),
    STATE_ROW(struct tm_pane, shell),
    STATE_ROW(struct tm_pane, argv),
    STATE_ROW(struct tm_pane, cols),
    STATE_ROW(struct tm_pane, rows),
    STATE_ROW(struct tm_pane, x),
    STATE_ROW(struct tm_pane, y),
    STATE_ROW(struct tm_pane, runs),
    STATE_ROW_AS("point", struct tm_pane, active_point),
    STATE_ROW(struct tm_pane, dead),
    STATE_ROW_AS("off", struct tm_pane, input_off),
    STATE_ROW(struct tm_pane, status),
    STATE_ROW(struct tm_pane, signo),
    STATE_ROW(struct tm_pane, dead_at),
    STATE_ROW(struct tm_pane, limit),
    STATE_ROW(struct tm_pane, rung),
    STATE_ROW(struct tm_pane, piped),
    STATE_ROW(struct tm_pane, pipe_from),
    STATE_ROW(struct tm_pane, pipe_flags),
    STATE_ROW(struct tm_pane, pipes),
    {.name = NULL},
};

static const struct state_field kept_channel[] = {
    STATE_ROW(struct tm_channel, name),
    STATE_ROW(struct tm_channel, woken),
    STATE_ROW(struct tm_channel, locked),
    {.name = NULL},
};

static const struct state_field kept_buffer[] = {
    STATE_ROW(struct tm_buffer, name),
    STATE_ROW_AS("auto", struct tm_buffer, automatic),
    STATE_ROW(struct tm_buffer, made),
    {.name = NULL},
};

/* ---- out ---- */

static struct json *pack_links(struct tm_session *s)
{
    struct json *all = json_array();
    struct list *it, *tmp;
    list_each (it, tmp, &s->links) {
        const struct tm_link *l = list_entry(it, struct tm_link, node);
        struct json *j = state_json(kept_link, l);
        json_put_int(j, "w", l->w->id);
        json_push(all, j);
    }
    return all;
}

static struct json *pack_session(struct tm_session *s)
{
    struct json *j = state_json(kept_session, s), *stack = json_array();
    struct list *it, *tmp;
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
    struct json *j = state_json(kept_pane, p);
    json_put(j, "opts", opts_pack(&p->opts, OPTION_PANE));
    return j;
}

static struct json *pack_window(struct tm_window *w)
{
    struct json *j = state_json(kept_window, w), *panes = json_array(),
                *stack = json_array();
    struct list *it, *tmp;
    struct buf layout = BUF_INIT(STATE_MAX);
    list_each (it, tmp, &w->panes)
        json_push(panes, pack_pane(list_entry(it, struct tm_pane, sibling)));
    json_put(j, "panes", panes);
    json_put_int(j, "pane", w->pane ? (int64_t)w->pane->id : -1);
    list_each (it, tmp, &w->stack)
        json_push_int(stack, list_entry(it, struct tm_pane, stacked)->id);
    json_put(j, "stack", stack);
    window_put_layout(w, false, &layout);
    json_put_str(j, "layout", buf_str(&layout));
    if (w->zoomed)
        json_put_int(j, "zoom", w->zoomed->id);
    json_put(j, "opts", opts_pack(&w->opts, OPTION_WINDOW));
    buf_release(&layout);
    return j;
}

void state_store(struct tmux *t)
{
    struct json *j = state_json(kept, t), *ss = json_array(), *ws = json_array(),
                *chs = json_array();
    struct buf b = BUF_INIT(STATE_MAX);
    struct list *it, *tmp;
    t->dirty = false;
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
    list_each (it, tmp, &t->channels)
        json_push(chs, state_json(kept_channel, list_entry(it, struct tm_channel, node)));
    json_put(j, "channels", chs);
    if (t->marked)
        json_put_int(j, "marked", t->marked->id);
    if (json_print(&b, j) < 0)
        log_error("tmux: the state of all sessions is longer than %d bytes", STATE_MAX);
    else
        keeper_client_put(t->en->keeper, STR("tmux/state"), buf_str(&b));
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
        struct json *j = state_json(kept_buffer, b);
        struct buf data = BUF_INIT(SIZE_MAX);
        snprintf(key, sizeof(key), "tmux/buffer/%llu/%u", (unsigned long long)b->order,
                 i);
        if (!gone && (i == 0 || at < b->n)) {
            struct str piece = str_sub(str_n(b->data, b->n), at, BUFFER_PIECE);
            enc_base64(&data, piece);
            json_put_str(j, "data", buf_str(&data));
            json_print(&value, j);
            at += piece.n;
        }
        keeper_client_put(t->en->keeper, str_of(key), buf_str(&value));
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
static void load_buffer(void *arg, struct str name, struct str value)
{
    struct tmux *t = arg;
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
    state_read(kept_buffer, b, j);
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

static void load_pane(struct tmux *t, struct tm_window *w, struct json *j)
{
    struct tm_pane *p = pane_new(w, 0, 80, 24);
    list_add_tail(&w->panes, &p->sibling);
    state_read(kept_pane, p, j);
    if (p->active_point > t->last_point)
        t->last_point = p->active_point;
    opts_unpack(&p->opts, json_get(j, "opts"));
    char key[48];
    snprintf(key, sizeof(key), "tmux/answered/%u", p->id);
    p->answered = state_number(t, key);
    snprintf(key, sizeof(key), "tmux/piped/%u", p->id);
    p->pipe_taken = state_number(t, key);
}

static void load_window(struct tmux *t, struct json *j)
{
    struct tm_window *w = window_new(t, 80, 24);
    state_read(kept_window, w, j);
    opts_unpack(&w->opts, json_get(j, "opts"));
    for (struct json *v = json_first(json_get(j, "panes")); v; v = json_next(v))
        load_pane(t, w, v);
    w->pane = pane_by_id(t, (unsigned)json_int(j, "pane", 0));
    for (const struct json *v = json_first(json_get(j, "stack")); v; v = json_next(v)) {
        struct tm_pane *p = pane_by_id(t, (unsigned)json_int_value(v, 0));
        if (p)
            list_add_tail(&w->stack, &p->stacked);
    }
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

static void load_session(struct tmux *t, struct json *j)
{
    struct tm_session *s = session_new(t, "", "/");
    state_read(kept_session, s, j);
    opts_unpack(&s->opts, json_get(j, "opts"));
    env_unpack(&s->env, json_get(j, "env"));
    for (struct json *v = json_first(json_get(j, "links")); v; v = json_next(v)) {
        struct tm_window *w = window_by_id(t, (unsigned)json_int(v, "w", 0));
        struct tm_link *l = w ? link_new(s, w, (int)json_int(v, "i", 0)) : NULL;
        if (l)
            state_read(kept_link, l, v);
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

static void load_all(struct tmux *t, struct json *j)
{
    env_release(&t->env);
    env_unpack(&t->env, json_get(j, "env"));
    const struct json *globals = json_get(j, "globals");
    opts_unpack(&t->server, json_get(globals, "server"));
    opts_unpack(&t->global, json_get(globals, "session"));
    opts_unpack(&t->global_w, json_get(globals, "window"));
    for (struct json *v = json_first(json_get(j, "windows")); v; v = json_next(v))
        load_window(t, v);
    for (struct json *v = json_first(json_get(j, "sessions")); v; v = json_next(v))
        load_session(t, v);
    for (struct json *v = json_first(json_get(j, "channels")); v; v = json_next(v)) {
        struct tm_channel *ch = xnew(struct tm_channel);
        state_read(kept_channel, ch, v);
        list_add_tail(&t->channels, &ch->node);
    }
    if (json_has(j, "marked"))
        t->marked = pane_by_id(t, (unsigned)json_int(j, "marked", 0));
    state_read(kept, t, j); /* after the sessions and windows, which take numbers */
}

void state_load(struct tmux *t)
{
    const struct buf *all = map_get(&t->en->states, STR("tmux/state"));
    const struct buf *done = map_get(&t->en->states, STR("tmux/done"));
    struct err e = ERR_INIT;
    struct json *j = all ? json_parse_kept(buf_str(all), &e) : NULL;
    if (all && !j)
        log_error("tmux: its state is unreadable: %s", e.text);
    t->resuming = true;
    if (j)
        load_all(t, j);
    if (done)
        merge_done(t, buf_str(done));
    state_each_text(t->en, "tmux/buffer/", load_buffer, t);
    json_free(j);
    t->resuming = false;
}
