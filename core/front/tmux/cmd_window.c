/* SPDX-License-Identifier: MIT */
/* Commands about windows. */
#include "front/tmux/cmds.h"

#include "base/xalloc.h"
#include "front/tmux/control.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/spawn.h"
#include "front/tmux/state.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_FORMAT "#{session_name}:#{window_index}.#{pane_index}"

void print_place(struct tm_item *it, const struct tm_place *at)
{
    const char *form = args_get(&it->args, 'F');
    if (!args_has(&it->args, 'P'))
        return;
    char *line = tm_expand(it, form ? form : PLACE_FORMAT, at);
    tm_print(it, "%s", line);
    free(line);
}

enum tm_result cmd_new_window(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_session *s = it->target.s;
    struct tm_link *l = it->target.l;
    int index = it->target.index;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct spawn_request q;
    const char *name = args_get(a, 'n');
    struct list *i, *tmp;
    if (args_has(a, 'S') && name && index < 0) {
        struct tm_link *found = NULL;
        list_each (i, tmp, &s->links) {
            struct tm_link *x = list_entry(i, struct tm_link, node);
            window_auto_name(x->w);
            if (strcmp(x->w->name, name) == 0 && found)
                return tm_fail(it, "multiple windows named %s", name);
            found = strcmp(x->w->name, name) == 0 ? x : found;
        }
        if (found && !args_has(a, 'd'))
            link_use(found);
        if (found)
            return TM_DONE;
    }
    if (args_has(a, 'a') || args_has(a, 'b'))
        index = link_shuffle(s, l ? l : s->link, args_has(a, 'b'));
    spawn_read(&q, it, s);
    q.name = name;
    struct tm_link *made = spawn_window(&q, index, args_has(a, 'k'), !args_has(a, 'd'),
                                        &why);
    spawn_release(&q);
    if (!made) {
        tm_fail(it, "create window failed: %s", buf_z(&why));
        buf_release(&why);
        return TM_ERROR;
    }
    struct tm_place at = {
        .l = made, .s = s, .w = made->w, .p = made->w->pane, .index = made->index};
    if (!args_has(a, 'd'))
        request_current(it, &at);
    session_touch(s);
    print_place(it, &at);
    return TM_DONE;
}

enum tm_result cmd_kill_window(struct tm_item *it)
{
    struct tm_session *s = it->target.s;
    struct tm_window *w = it->target.w;
    struct list *i, *tmp;
    if (!args_has(&it->args, 'a')) {
        window_end(w);
        return TM_DONE;
    }
    list_each (i, tmp, &s->links) {
        struct tm_link *l = list_entry(i, struct tm_link, node);
        if (l->w && l->w != w)
            window_end(l->w);
    }
    if (opts_number(&s->opts, "renumber-windows"))
        session_renumber(s);
    return TM_DONE;
}

/* unlink-window, which tmux lets end the window only with -k. */
enum tm_result cmd_unlink_window(struct tm_item *it)
{
    struct tm_session *s = it->target.s;
    struct tm_window *w = it->target.w;
    unsigned here = 0;
    struct list *i, *tmp;
    list_each (i, tmp, &s->t->sessions) {
        const struct tm_session *o = list_entry(i, struct tm_session, node);
        here += s->group && o->group && strcmp(o->group, s->group) == 0;
    }
    if (!args_has(&it->args, 'k') && w->links <= (here ? here : 1))
        return tm_fail(it, "window only linked to one session");
    struct tm_link *l = it->target.l;
    if (!link_end(l) && opts_number(&s->opts, "renumber-windows"))
        session_renumber(s);
    if (!s->ended)
        session_touch(s);
    return TM_DONE;
}

static enum tm_result select_beside(struct tm_item *it, int by, bool alert)
{
    struct tm_session *s = it->target.s;
    struct tm_link *l = link_beside(s->link, by, alert);
    if (!l)
        return tm_fail(it, "no %s window", by > 0 ? "next" : "previous");
    link_use(l);
    return TM_DONE;
}

static enum tm_result select_last(struct tm_item *it)
{
    struct tm_link *l = link_last(it->target.s);
    if (!l)
        return tm_fail(it, "no last window");
    link_use(l);
    return TM_DONE;
}

enum tm_result cmd_next_window(struct tm_item *it)
{
    bool next = it->cmd->name[0] == 'n';
    return select_beside(it, next ? 1 : -1, args_has(&it->args, 'a'));
}

enum tm_result cmd_last_window(struct tm_item *it) { return select_last(it); }

enum tm_result cmd_select_window(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    if (args_has(a, 'n') || args_has(a, 'p') || args_has(a, 'l')) {
        return args_has(a, 'n')   ? select_beside(it, 1, false)
               : args_has(a, 'p') ? select_beside(it, -1, false)
                                  : select_last(it);
    }
    if (args_has(a, 'T') && it->target.l == it->target.s->link)
        return select_last(it);
    link_use(it->target.l);
    struct tm_place at = it->target;
    request_current(it, &at);
    return TM_DONE;
}

enum tm_result cmd_rename_window(struct tm_item *it)
{
    char *name = tm_expand(it, it->args.word[0], &it->target);
    window_set_name(it->target.w, name);
    opts_set(&it->target.w->opts, "automatic-rename", "off", NULL);
    free(name);
    return TM_DONE;
}

/* ---- move and link ---- */

void link_move(struct tm_link *l, int index)
{
    struct tm_session *s = l->s;
    struct list *at = s->links.next;
    list_del(&l->node);
    l->index = index;
    at = s->links.next;
    while (at != &s->links && list_entry(at, struct tm_link, node)->index < index)
        at = at->next;
    list_add_tail(at, &l->node);
    state_changed(s->t);
}

/* Links src's window at the place of the target. Returns -1 and appends to why. */
static int link_to(struct tm_item *it, struct tm_link *src, struct tm_session *dst,
                   int index, bool kill, bool select, struct buf *why)
{
    struct tm_link *there = index >= 0 ? link_by_index(dst, index) : NULL;
    if (src->s != dst && src->s->group && dst->group &&
        strcmp(src->s->group, dst->group) == 0) {
        buf_addz(why, "sessions are grouped");
        return -1;
    }
    if (there && there->w == src->w) {
        buf_addf(why, "same index: %d", index);
        return -1;
    }
    if (there && !kill) {
        buf_addf(why, "index in use: %d", index);
        return -1;
    }
    if (there && there == dst->link)
        select = true;
    struct tm_link *l = link_new(dst, src->w, -1);
    if (there)
        link_end(there);
    if (index >= 0)
        link_move(l, index);
    if (select)
        link_use(l);
    session_touch(dst);
    (void)it;
    return 0;
}

enum tm_result cmd_move_window(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tmux *t = it->c->t;
    bool moves = it->cmd->name[0] == 'm';
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct tm_place dst;
    if (args_has(a, 'r')) {
        if (tm_target(t, &it->current, args_get(a, 't'), 's', 0, &dst, &why) < 0) {
            tm_fail(it, "%s", buf_z(&why));
            buf_release(&why);
            return TM_ERROR;
        }
        session_renumber(dst.s);
        return TM_DONE;
    }
    dst = it->target;
    struct tm_link *src = it->source.l;
    struct tm_session *from = src->s;
    int index = dst.index;
    if (args_has(a, 'a') || args_has(a, 'b'))
        index = link_shuffle(dst.s, dst.l ? dst.l : dst.s->link, args_has(a, 'b'));
    if (link_to(it, src, dst.s, index, args_has(a, 'k'), !args_has(a, 'd'), &why) < 0) {
        tm_fail(it, "%s", buf_z(&why));
        buf_release(&why);
        return TM_ERROR;
    }
    if (moves) {
        if (!link_end(src))
            session_touch(from);
    }
    if (!from->ended && opts_number(&from->opts, "renumber-windows"))
        session_renumber(from);
    return TM_DONE;
}

enum tm_result cmd_swap_window(struct tm_item *it)
{
    struct tm_link *src = it->source.l, *dst = it->target.l;
    if (src->s != dst->s && src->s->group && dst->s->group &&
        strcmp(src->s->group, dst->s->group) == 0)
        return tm_fail(it, "can't move window, sessions are grouped");
    if (src->w == dst->w)
        return TM_DONE;
    struct tm_window *w = src->w;
    src->w = dst->w;
    dst->w = w;
    if (args_has(&it->args, 'd')) {
        link_use(dst);
        if (src->s != dst->s)
            link_use(src);
    }
    session_touch(src->s);
    if (src->s != dst->s)
        session_touch(dst->s);
    return TM_DONE;
}

/* ---- sizes and layouts ---- */

enum tm_result cmd_resize_window(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_window *w = it->target.w;
    const char *why;
    int64_t by = 1, n;
    int cols = w->cols, rows = w->rows;
    if (a->words > 0 && tmux_number(str_of(a->word[0]), 1, INT_MAX, &by, &why) < 0)
        return tm_fail(it, "adjustment %s", why);
    for (int i = 0; i < 2; i++) {
        const char *text = args_get(a, i ? 'y' : 'x');
        if (!text)
            continue;
        if (tmux_number(str_of(text), 1, TM_SIDE_MAX, &n, &why) < 0)
            return tm_fail(it, "%s %s", i ? "height" : "width", why);
        *(i ? &rows : &cols) = (int)n;
    }
    if (args_has(a, 'L'))
        cols = cols > by ? cols - (int)by : cols;
    else if (args_has(a, 'R'))
        cols += (int)by;
    else if (args_has(a, 'U'))
        rows = rows > by ? rows - (int)by : rows;
    else if (args_has(a, 'D'))
        rows += (int)by;
    if (args_has(a, 'A') || args_has(a, 'a'))
        window_default_size(w->t, it->target.s, &cols, &rows);
    cols = cols > TM_SIDE_MAX ? TM_SIDE_MAX : cols;
    rows = rows > TM_SIDE_MAX ? TM_SIDE_MAX : rows;
    opts_set(&w->opts, "window-size", "manual", NULL);
    window_resize(w, cols, rows);
    state_changed(w->t);
    return TM_DONE;
}

/* The panes take each other's places. */
enum tm_result cmd_rotate_window(struct tm_item *it)
{
    struct tm_window *w = it->target.w;
    struct list *head = &w->panes;
    bool zoomed = w->zoomed != NULL;
    window_unzoom(w);
    if (window_count(w) > 1) {
        struct tm_pane *used = w->pane;
        bool down = args_has(&it->args, 'D');
        struct tm_pane *next = pane_beside(used, down ? -1 : 1);
        size_t n;
        struct list *moved = down ? head->prev : head->next;
        list_del(moved);
        list_add_tail(down ? head->next : head, moved);
        unsigned *ids = window_ids(w, &n);
        struct tmux_cell *c = tmux_layout_first(&w->layout);
        for (size_t i = 0; i < n && c; i++, c = tmux_layout_next(c))
            c->pane = ids[i]; /* the places stay, the panes move on */
        free(ids);
        window_lay(w);
        window_use_pane(next);
    }
    if (zoomed)
        window_zoom(w->pane);
    return TM_DONE;
}

static void keep_layout(struct tm_window *w)
{
    struct buf b = BUF_INIT(1 << 20);
    window_put_layout(w, false, &b);
    free(w->old_layout);
    w->old_layout = buf_take(&b);
}

static void use_preset(struct tm_window *w, int which)
{
    size_t n;
    unsigned *ids = window_ids(w, &n);
    struct tmux_layout_options o = {
        .main_pane_width = tmux_options_get(&w->opts, STR("main-pane-width")),
        .main_pane_height = tmux_options_get(&w->opts, STR("main-pane-height")),
        .other_pane_width = tmux_options_get(&w->opts, STR("other-pane-width")),
        .other_pane_height = tmux_options_get(&w->opts, STR("other-pane-height")),
    };
    if (n > 1)
        tmux_layout_preset(&w->layout, (enum tmux_layout_preset)which, ids, n, &o);
    free(ids);
    w->last_layout = which;
    window_fit(w);
    window_lay(w);
}

/* The presets that next-layout goes through are those of tmux 3.3a. */
static int next_preset(int which, int by)
{
    static const int order[] = {LAYOUT_EVEN_HORIZONTAL, LAYOUT_EVEN_VERTICAL,
                                LAYOUT_MAIN_HORIZONTAL, LAYOUT_MAIN_VERTICAL,
                                LAYOUT_TILED};
    int at = -1;
    for (int i = 0; i < 5; i++)
        at = order[i] == which ? i : at;
    return at < 0 ? order[by > 0 ? 0 : 4] : order[(at + by + 5) % 5];
}

static enum tm_result step_layout(struct tm_item *it, bool next)
{
    struct tm_window *w = it->target.w;
    window_unzoom(w);
    keep_layout(w);
    use_preset(w, next_preset(w->last_layout, next ? 1 : -1));
    return TM_DONE;
}

enum tm_result cmd_next_layout(struct tm_item *it)
{
    return step_layout(it, it->cmd->name[0] == 'n');
}

enum tm_result cmd_select_layout(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_window *w = it->target.w;
    struct tm_pane *p = it->target.p;
    char *old = w->old_layout ? xstrdup(w->old_layout) : NULL;
    const char *name = a->words > 0 ? a->word[0] : NULL;
    enum tm_result r = TM_DONE;
    if (args_has(a, 'n') || args_has(a, 'p')) {
        free(old);
        return step_layout(it, args_has(a, 'n'));
    }
    window_unzoom(w);
    keep_layout(w);
    int which = name ? tmux_layout_preset_find(str_of(name)) : w->last_layout;
    struct buf why = BUF_INIT(1 << 10);
    if (args_has(a, 'E')) {
        tmux_layout_spread(&w->layout, p->id);
        window_lay(w);
    } else if (args_has(a, 'o')) {
        if (old && window_take_layout(w, old, &why) == 0)
            window_lay(w);
    } else if (which >= 0) {
        use_preset(w, which);
    } else if (name && window_take_layout(w, name, &why) < 0) {
        r = tm_fail(it, "%s: %s", buf_z(&why), name);
    } else if (name) {
        window_fit(w);
        window_lay(w);
    }
    buf_release(&why);
    free(old);
    return r;
}

enum tm_result cmd_respawn_window(struct tm_item *it)
{
    struct tm_window *w = it->target.w;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct spawn_request q;
    struct list *i, *tmp;
    list_each (i, tmp, &w->panes) {
        const struct tm_pane *p = list_entry(i, struct tm_pane, sibling);
        if (!p->dead && !args_has(&it->args, 'k'))
            return tm_fail(it, "respawn window failed: window %s:%d still active",
                           it->target.s->name, it->target.l->index);
    }
    struct tm_pane *first = list_first(&w->panes, struct tm_pane, sibling);
    window_unzoom(w);
    list_each (i, tmp, &w->panes) {
        struct tm_pane *p = list_entry(i, struct tm_pane, sibling);
        if (p == first)
            continue;
        window_drop_pane(p);
        tmux_layout_remove(&w->layout, p->id);
        pane_free(p);
    }
    pane_stop(first);
    window_lay(w);
    spawn_read(&q, it, it->target.s);
    q.respawn = true;
    int r = spawn_pane(&q, first, &why);
    spawn_release(&q);
    if (r < 0)
        tm_fail(it, "respawn window failed: %s", buf_z(&why));
    buf_release(&why);
    state_changed(w->t);
    return r < 0 ? TM_ERROR : TM_DONE;
}
