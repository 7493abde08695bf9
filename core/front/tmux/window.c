/* SPDX-License-Identifier: MIT */
/* Windows, their panes and layouts. */
#include "front/tmux/model.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "front/tmux/control.h"
#include "front/tmux/lang/parse.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

struct tm_window *window_new(struct tmux *t, int cols, int rows)
{
    struct tm_window *w = xnew(struct tm_window);
    w->t = t;
    w->id = t->next_window++;
    w->name = xstrdup("");
    w->cols = cols;
    w->rows = rows;
    w->last_layout = -1;
    w->active_us = clock_wall_ms() * 1000;
    list_init(&w->panes);
    list_init(&w->stack);
    tmux_options_init(&w->opts, &t->global_w);
    list_add_tail(&t->windows, &w->node);
    return w;
}

static void bury(void *arg)
{
    struct tm_window *w = arg;
    free(w->name);
    free(w->old_layout);
    free(w);
}

void window_end(struct tm_window *w)
{
    struct tmux *t = w->t;
    struct list *it, *tmp;
    if (w->ended)
        return;
    w->ended = true;
    w->links++; /* so that the last link does not come here again */
    list_each (it, tmp, &t->sessions) {
        struct tm_session *s = list_entry(it, struct tm_session, node);
        struct tm_link *l;
        bool over = false;
        while (!over && (l = link_of(s, w)))
            over = link_end(l);
        if (!over && opts_number(&s->opts, "renumber-windows"))
            session_renumber(s);
    }
    control_tell(t, "window-close", w);
    list_each (it, tmp, &w->panes) {
        struct tm_pane *p = list_entry(it, struct tm_pane, sibling);
        list_del(&p->sibling);
        pane_free(p);
    }
    w->pane = w->zoomed = NULL;
    tmux_layout_release(&w->layout);
    tmux_options_release(&w->opts);
    list_del(&w->node);
    loop_bury(t->en->loop, w, bury);
    state_changed(t);
}

/* ---- panes of a window ---- */

unsigned window_count(const struct tm_window *w)
{
    unsigned n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tm_window *)(uintptr_t)w)->panes)
        n++;
    return n;
}

int pane_index(const struct tm_pane *p)
{
    int n = (int)opts_number(&p->w->opts, "pane-base-index");
    struct list *it, *tmp;
    list_each (it, tmp, &p->w->panes) {
        if (list_entry(it, struct tm_pane, sibling) == p)
            return n;
        n++;
    }
    return -1;
}

struct tm_pane *pane_at(const struct tm_window *w, int index)
{
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tm_window *)(uintptr_t)w)->panes) {
        struct tm_pane *p = list_entry(it, struct tm_pane, sibling);
        if (pane_index(p) == index)
            return p;
    }
    return NULL;
}

struct tm_pane *pane_beside(const struct tm_pane *p, int by)
{
    struct list *head = &p->w->panes, *at = by > 0 ? p->sibling.next : p->sibling.prev;
    if (at == head)
        at = by > 0 ? at->next : at->prev;
    return list_entry(at, struct tm_pane, sibling);
}

void window_put_pane(struct tm_window *w, struct tm_pane *p, struct tm_pane *other,
                     bool before)
{
    struct list *at = &w->panes;
    if (other)
        at = before ? &other->sibling : other->sibling.next;
    else if (before)
        at = w->panes.next;
    list_add_tail(at, &p->sibling);
    p->w = w;
    if (!w->pane)
        w->pane = p;
    state_changed(w->t);
}

void window_drop_pane(struct tm_pane *p)
{
    struct tm_window *w = p->w;
    struct tm_pane *next = NULL;
    if (w->t->marked == p)
        w->t->marked = NULL;
    if (w->pane == p) {
        if (w->stack.next != &w->stack)
            next = list_first(&w->stack, struct tm_pane, stacked);
        else if (p->sibling.prev != &w->panes)
            next = list_entry(p->sibling.prev, struct tm_pane, sibling);
        else if (p->sibling.next != &w->panes)
            next = list_entry(p->sibling.next, struct tm_pane, sibling);
        w->pane = next;
        if (next) {
            list_del(&next->stacked);
            next->chosen = true;
        }
    }
    list_del(&p->stacked);
    list_del(&p->sibling);
    state_changed(w->t);
}

bool window_use_pane(struct tm_pane *p)
{
    struct tm_window *w = p->w;
    if (w->pane == p)
        return false;
    list_del(&p->stacked);
    if (w->pane) {
        list_del(&w->pane->stacked);
        list_add_tail(w->stack.next, &w->pane->stacked);
    }
    w->pane = p;
    p->chosen = true;
    p->active_point = ++w->t->last_point;
    state_changed(w->t);
    hook_run(w->t, "window-pane-changed", NULL, w, NULL);
    return true;
}

/* ---- names ---- */

static char *clean_name(const char *name)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    tmux_escape(&b, str_of(name), false);
    return buf_take(&b);
}

void window_set_name(struct tm_window *w, const char *name)
{
    free(w->name);
    w->name = clean_name(name);
    state_changed(w->t);
    control_tell(w->t, "window-renamed", w);
    hook_run(w->t, "window-renamed", NULL, w, NULL);
}

void window_auto_name(struct tm_window *w)
{
    struct buf name = BUF_INIT(TM_NAME_MAX);
    struct tm_vars v = {.t = w->t, .at = {.w = w, .p = w->pane, .index = -1}};
    if (!w->pane || !opts_number(&w->opts, "automatic-rename") || w->naming ||
        (pane_is_silent(w->pane) && w->pane->runs > 1))
        return;
    w->naming = true; /* the format may ask for the name */
    vars_expand(&v, opts_text(&w->opts, "automatic-rename-format"), &name);
    w->naming = false;
    char *clean = clean_name(buf_z(&name));
    if (name.n > 0 && strcmp(clean, w->name) != 0) {
        char *before = w->name;
        w->name = clean;
        clean = before;
    }
    free(clean);
    buf_release(&name);
}

/* ---- layouts ---- */

void window_lay(struct tm_window *w)
{
    for (struct tmux_cell *c = tmux_layout_first(&w->layout); c;
         c = tmux_layout_next(c)) {
        struct tm_pane *p = pane_by_id(w->t, c->pane);
        if (!p || p->w != w || p == w->zoomed)
            continue;
        p->x = (int)c->xoff;
        p->y = (int)c->yoff;
        pane_resize(p, (int)c->sx, (int)c->sy);
    }
    if (w->zoomed) {
        w->zoomed->x = w->zoomed->y = 0;
        pane_resize(w->zoomed, w->cols, w->rows);
    }
    state_changed(w->t);
    control_tell(w->t, "layout-change", w);
}

void window_put_layout(const struct tm_window *w, bool visible, struct buf *out)
{
    if (visible && w->zoomed) {
        struct tmux_layout one;
        tmux_layout_init(&one, (unsigned)w->cols, (unsigned)w->rows, w->zoomed->id);
        tmux_layout_print(&one, out);
        tmux_layout_release(&one);
    } else if (w->layout.root) {
        tmux_layout_print(&w->layout, out);
    }
}

/* The ids of the panes, in their order; the caller frees. */
unsigned *window_ids(const struct tm_window *w, size_t *n)
{
    unsigned *ids = xcalloc(window_count(w) + 1, sizeof(*ids));
    struct list *it, *tmp;
    *n = 0;
    list_each (it, tmp, &((struct tm_window *)(uintptr_t)w)->panes)
        ids[(*n)++] = list_entry(it, struct tm_pane, sibling)->id;
    return ids;
}

int window_take_layout(struct tm_window *w, const char *text, struct buf *why)
{
    size_t n;
    unsigned *ids = window_ids(w, &n);
    int r = tmux_layout_apply(&w->layout, str_of(text), ids, n, why);
    free(ids);
    return r;
}

/* The window is as large as its layout, which may need more than it had. */
void window_fit(struct tm_window *w)
{
    const struct tmux_cell *root = w->layout.root;
    if (!root)
        return;
    w->cols = (int)root->sx;
    w->rows = (int)root->sy;
}

void window_resize(struct tm_window *w, int cols, int rows)
{
    if (cols == w->cols && rows == w->rows)
        return;
    window_unzoom(w);
    tmux_layout_resize(&w->layout, (unsigned)cols, (unsigned)rows);
    w->cols = cols;
    w->rows = rows;
    if (w->layout.root && (int)w->layout.root->sx > cols)
        w->cols = (int)w->layout.root->sx;
    if (w->layout.root && (int)w->layout.root->sy > rows)
        w->rows = (int)w->layout.root->sy;
    window_lay(w);
    hook_run(w->t, "window-resized", NULL, w, NULL);
}

bool window_zoom(struct tm_pane *p)
{
    struct tm_window *w = p->w;
    if (w->zoomed || window_count(w) == 1)
        return false;
    if (w->pane != p)
        window_use_pane(p);
    w->zoomed = p;
    window_lay(w);
    return true;
}

bool window_unzoom(struct tm_window *w)
{
    if (!w->zoomed)
        return false;
    w->zoomed = NULL;
    window_lay(w);
    return true;
}

void window_default_size(const struct tmux *t, const struct tm_session *s, int *cols,
                         int *rows)
{
    const struct tmux_options *o = s ? &s->opts : &t->global;
    if (sscanf(opts_text((struct tmux_options *)(uintptr_t)o, "default-size"), "%dx%d",
               cols, rows) != 2) {
        *cols = 80;
        *rows = 24;
    }
    *cols = *cols < 1 ? 1 : *cols > TM_SIDE_MAX ? TM_SIDE_MAX : *cols;
    *rows = *rows < 1 ? 1 : *rows > TM_SIDE_MAX ? TM_SIDE_MAX : *rows;
}

/* ---- ends of panes ---- */

void pane_kill(struct tm_pane *p)
{
    struct tm_window *w = p->w;
    if (window_count(w) == 1) {
        window_end(w);
        return;
    }
    window_unzoom(w);
    window_drop_pane(p);
    tmux_layout_remove(&w->layout, p->id);
    pane_free(p);
    window_lay(w);
}

/* Draws the line of a dead pane at the bottom of its screen. */
static void draw_dead(struct tm_pane *p)
{
    struct buf text = BUF_INIT(TM_NAME_MAX), line = BUF_INIT(TM_NAME_MAX * 2);
    struct tm_vars v = {.t = p->t, .at = {.w = p->w, .p = p, .index = -1}, .times = true};
    target_complete(&v.at);
    vars_expand(&v, opts_text(&p->opts, "remain-on-exit-format"), &text);
    if (text.n > 0 && p->screen.pic) {
        buf_addf(&line, "\033[r\033[%d;1H\033[m\n\033[%d;1H%.*s", p->rows, p->rows,
                 (int)(text.n < (size_t)p->cols ? text.n : (size_t)p->cols), text.p);
        screen_draw(&p->screen, buf_str(&line));
    }
    buf_release(&text);
    buf_release(&line);
}

void model_pane_dead(struct tm_pane *p)
{
    struct tmux *t = p->t;
    int64_t remain = opts_number(&p->opts, "remain-on-exit");
    bool good = p->signo == 0 && p->status == 0;
    if (p->dead || p->freed)
        return;
    p->dead = true;
    p->dead_at = clock_wall_ms() / 1000;
    pane_pipe_end(p);
    if (remain == 1 || remain == 3 || (remain == 2 && !good)) {
        draw_dead(p);
        hook_run(t, "pane-died", NULL, p->w, p);
    } else {
        hook_run(t, "pane-exited", NULL, p->w, p);
        pane_kill(p);
    }
    state_changed(t);
    state_store(t);
}

/* ---- what a pane writes ---- */

void model_rung(struct tm_pane *p)
{
    struct list *it, *tmp;
    if (!opts_number(&p->w->opts, "monitor-bell"))
        return;
    list_each (it, tmp, &p->t->sessions) {
        struct tm_session *s = list_entry(it, struct tm_session, node);
        struct tm_link *l = link_of(s, p->w);
        if (!l || (l == s->link && s->clients > 0))
            continue;
        if (l != s->link)
            l->bell = true;
        hook_run(p->t, "alert-bell", s, p->w, NULL);
    }
}

static void check_activity(struct tm_window *w)
{
    struct list *it, *tmp;
    if (!opts_number(&w->opts, "monitor-activity"))
        return;
    list_each (it, tmp, &w->t->sessions) {
        struct tm_session *s = list_entry(it, struct tm_session, node);
        struct tm_link *l = link_of(s, w);
        if (!l || l->activity || l == s->link)
            continue;
        l->activity = true;
        hook_run(w->t, "alert-activity", s, w, NULL);
    }
}

void model_output(struct tm_pane *p, uint64_t offset, struct str bytes)
{
    p->w->active_us = clock_wall_ms() * 1000;
    check_activity(p->w);
    control_output(p, offset, bytes);
}
