/* SPDX-License-Identifier: MIT */
/* Sessions and their links to windows. */
#include "front/tmux/model.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "front/tmux/lang/parse.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

struct tm_session *session_by_name(const struct tmux *t, struct str name)
{
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tmux *)(uintptr_t)t)->sessions) {
        struct tm_session *s = list_entry(it, struct tm_session, node);
        if (str_eq(str_of(s->name), name))
            return s;
    }
    return NULL;
}

struct tm_session *session_by_id(const struct tmux *t, unsigned id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tmux *)(uintptr_t)t)->sessions) {
        struct tm_session *s = list_entry(it, struct tm_session, node);
        if (s->id == id)
            return s;
    }
    return NULL;
}

struct tm_window *window_by_id(const struct tmux *t, unsigned id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tmux *)(uintptr_t)t)->windows) {
        struct tm_window *w = list_entry(it, struct tm_window, node);
        if (w->id == id && !w->ended)
            return w;
    }
    return NULL;
}

struct tm_pane *pane_by_id(const struct tmux *t, unsigned id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tmux *)(uintptr_t)t)->panes) {
        struct tm_pane *p = list_entry(it, struct tm_pane, node);
        if (p->id == id && !p->freed)
            return p;
    }
    return NULL;
}

struct tm_session *session_sorted(const struct tmux *t, unsigned i)
{
    struct tm_session *last = NULL;
    for (unsigned k = 0; k <= i; k++) {
        struct tm_session *best = NULL;
        struct list *it, *tmp;
        list_each (it, tmp, &((struct tmux *)(uintptr_t)t)->sessions) {
            struct tm_session *s = list_entry(it, struct tm_session, node);
            if ((!last || strcmp(s->name, last->name) > 0) &&
                (!best || strcmp(s->name, best->name) < 0))
                best = s;
        }
        if (!best)
            return NULL;
        last = best;
    }
    return last;
}

struct tm_link *link_by_index(const struct tm_session *s, int index)
{
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tm_session *)(uintptr_t)s)->links) {
        struct tm_link *l = list_entry(it, struct tm_link, node);
        if (l->index == index)
            return l;
    }
    return NULL;
}

struct tm_link *link_of(const struct tm_session *s, const struct tm_window *w)
{
    struct list *it, *tmp;
    if (s->link && s->link->w == w)
        return s->link;
    list_each (it, tmp, &((struct tm_session *)(uintptr_t)s)->links) {
        struct tm_link *l = list_entry(it, struct tm_link, node);
        if (l->w == w)
            return l;
    }
    return NULL;
}

struct tm_session *session_of(const struct tm_window *w)
{
    struct list *it, *tmp;
    list_each (it, tmp, &w->t->sessions) {
        struct tm_session *s = list_entry(it, struct tm_session, node);
        if (link_of(s, w))
            return s;
    }
    return NULL;
}

unsigned session_count(const struct tm_session *s)
{
    unsigned n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tm_session *)(uintptr_t)s)->links)
        n++;
    return n;
}

/* ---- sessions ---- */

char *session_clean_name(const char *name)
{
    if (!*name)
        return NULL;
    struct buf b = BUF_INIT(SIZE_MAX);
    char *copy = xstrdup(name);
    for (char *p = copy; *p; p++) {
        if (*p == ':' || *p == '.')
            *p = '_';
    }
    tmux_escape(&b, str_of(copy), false);
    free(copy);
    return buf_take(&b);
}

struct tm_session *session_new(struct tmux *t, const char *name, const char *cwd)
{
    struct tm_session *s = xnew(struct tm_session);
    s->t = t;
    s->id = t->next_session++;
    s->name = xstrdup(name);
    s->cwd = xstrdup(cwd);
    s->made = clock_wall_ms() / 1000;
    s->active_us = clock_wall_ms() * 1000;
    list_init(&s->links);
    list_init(&s->stack);
    tmux_options_init(&s->opts, &t->global);
    list_add_tail(&t->sessions, &s->node);
    state_changed(t);
    return s;
}

static void bury_session(void *arg)
{
    struct tm_session *s = arg;
    free(s->name);
    free(s->cwd);
    free(s->group);
    free(s);
}

static void bury(void *p) { free(p); }

static void link_drop(struct tm_link *l)
{
    struct tm_window *w = l->w;
    list_del(&l->node);
    list_del(&l->stacked);
    w->links--;
    l->w = NULL;
    loop_bury(w->t->en->loop, l, bury);
    if (w->links == 0)
        window_end(w);
}

void session_end(struct tm_session *s)
{
    struct tmux *t = s->t;
    struct list *it, *tmp;
    if (s->ended)
        return;
    s->ended = true;
    list_del(&s->node);
    request_session_gone(s);
    hook_run(t, "session-closed", s, NULL, NULL);
    s->link = NULL;
    list_each (it, tmp, &s->links)
        link_drop(list_entry(it, struct tm_link, node));
    tmux_options_release(&s->opts);
    env_release(&s->env);
    loop_bury(t->en->loop, s, bury_session);
    state_changed(t);
    model_check_end(t);
}

/* ---- links ---- */

static int next_index(const struct tm_session *s)
{
    int index = (int)opts_number(&((struct tm_session *)(uintptr_t)s)->opts,
                                 "base-index");
    while (link_by_index(s, index))
        index++;
    return index;
}

struct tm_link *link_new(struct tm_session *s, struct tm_window *w, int index)
{
    if (index < 0)
        index = next_index(s);
    else if (link_by_index(s, index))
        return NULL;
    struct tm_link *l = xnew(struct tm_link);
    l->s = s;
    l->w = w;
    l->index = index;
    w->links++;
    list_init(&l->stacked);
    struct list *at = s->links.next;
    while (at != &s->links && list_entry(at, struct tm_link, node)->index < index)
        at = at->next;
    list_add_tail(at, &l->node);
    state_changed(s->t);
    return l;
}

void link_use(struct tm_link *l)
{
    struct tm_session *s = l->s;
    if (s->link == l)
        return;
    if (s->link) {
        list_del(&s->link->stacked);
        list_add_tail(s->stack.next, &s->link->stacked); /* at the head */
    }
    list_del(&l->stacked);
    s->link = l;
    l->bell = l->activity = l->silence = false;
    state_changed(s->t);
    hook_run(s->t, "session-window-changed", s, l->w, NULL);
}

struct tm_link *link_last(const struct tm_session *s)
{
    struct list *first = s->stack.next;
    return first == &s->stack ? NULL : list_entry(first, struct tm_link, stacked);
}

struct tm_link *link_beside(struct tm_link *l, int by, bool alert)
{
    struct list *head = &l->s->links, *at = &l->node;
    for (;;) {
        at = by > 0 ? at->next : at->prev;
        if (at == head)
            at = by > 0 ? at->next : at->prev;
        struct tm_link *x = list_entry(at, struct tm_link, node);
        if (x == l)
            return NULL;
        if (!alert || x->bell || x->activity || x->silence)
            return x;
    }
}

bool link_end(struct tm_link *l)
{
    struct tm_session *s = l->s;
    struct tm_window *w = l->w;
    if (s->link == l) {
        struct tm_link *other = link_last(s);
        if (!other)
            other = link_beside(l, -1, false);
        s->link = NULL;
        if (other) {
            list_del(&other->stacked);
            s->link = other;
            other->bell = other->activity = other->silence = false;
        }
    }
    hook_run(s->t, "window-unlinked", s, w, NULL);
    link_drop(l);
    state_changed(s->t);
    if (!list_empty(&s->links)) {
        return false;
    }
    session_end(s);
    return true;
}

int link_shuffle(struct tm_session *s, struct tm_link *l, bool before)
{
    int index = before ? l->index : l->index + 1, last = index;
    while (link_by_index(s, last))
        last++;
    for (; last > index; last--) {
        struct tm_link *x = link_by_index(s, last - 1);
        x->index = last; /* their order stays */
    }
    return index;
}

void session_renumber(struct tm_session *s)
{
    struct list *it, *tmp;
    int index = (int)opts_number(&s->opts, "base-index");
    list_each (it, tmp, &s->links)
        list_entry(it, struct tm_link, node)->index = index++;
    state_changed(s->t);
}

/* ---- groups ---- */

static void copy_links(struct tm_session *from, struct tm_session *to)
{
    struct list *it, *tmp;
    struct tm_window *current = to->link ? to->link->w : NULL;
    int index = to->link ? to->link->index : -1;
    list_each (it, tmp, &from->links)
        list_entry(it, struct tm_link, node)->w->links++;
    to->link = NULL;
    list_each (it, tmp, &to->links)
        link_drop(list_entry(it, struct tm_link, node));
    list_each (it, tmp, &from->links) {
        struct tm_link *l = list_entry(it, struct tm_link, node);
        struct tm_link *copy = link_new(to, l->w, l->index);
        l->w->links--;
        if (l->w == current && l->index == index)
            to->link = copy;
    }
    if (!to->link)
        to->link = link_by_index(to, index);
    if (!to->link)
        to->link = link_by_index(to, from->link ? from->link->index : 0);
    if (!to->link && !list_empty(&to->links))
        to->link = list_first(&to->links, struct tm_link, node);
}

void session_sync_group(struct tm_session *s)
{
    struct list *it, *tmp;
    if (!s->group)
        return;
    list_each (it, tmp, &s->t->sessions) {
        struct tm_session *o = list_entry(it, struct tm_session, node);
        if (o != s && o->group && strcmp(o->group, s->group) == 0) {
            copy_links(o, s);
            return;
        }
    }
}

void session_touch(struct tm_session *s)
{
    struct list *it, *tmp;
    state_changed(s->t);
    if (!s->group || s->ended)
        return;
    list_each (it, tmp, &s->t->sessions) {
        struct tm_session *o = list_entry(it, struct tm_session, node);
        if (o != s && o->group && strcmp(o->group, s->group) == 0)
            copy_links(s, o);
    }
}

/* ---- the end ---- */

static bool may_end(const struct tmux *t)
{
    return t->own && !t->ending && !t->resuming && list_empty(&t->sessions) &&
           opts_number(&t->server, "exit-empty") && t->en->sessions.count == 0;
}

/* A client that came since then may have made a session, or be about to. */
static void on_end(struct timer *timer)
{
    struct tmux *t = container_of(timer, struct tmux, end);
    if (may_end(t) && !request_any(t))
        front_tmux_end(t);
}

void model_check_end(struct tmux *t)
{
    if (!may_end(t))
        return;
    request_wake_all(t);
    if (request_any(t))
        return; /* asked again when the last request has ended */
    timer_begin(t->en->loop, &t->end, 0, on_end);
}
