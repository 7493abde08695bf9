/* SPDX-License-Identifier: MIT */
/* Commands about panes. */
#include "front/tmux/cmds.h"

#include "base/xalloc.h"
#include "front/tmux/buffer.h"
#include "front/tmux/control.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"
#include "front/tmux/spawn.h"
#include "front/tmux/state.h"
#include "front/tmux/target.h"
#include "front/tmux/vars.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

/* N or N%, of whole. Returns -1 and sets *why if it is neither, or out of range. */
static int size_of(const char *text, int whole, const char **why)
{
    int64_t n;
    return tmux_percentage(str_of(text), 0, INT_MAX, whole, &n, why) < 0 ? -1 : (int)n;
}

/* -l or -p of a new pane; -1: not given. Returns -2 after an error message. */
static int new_size(struct tm_item *it, struct tm_pane *at, bool sideways,
                    const char *what)
{
    const struct tmux_args *a = &it->args;
    const char *text = args_get(a, 'l'), *part = args_get(a, 'p'), *why = NULL;
    bool full = args_has(a, 'f');
    int whole = sideways ? (full ? at->w->cols : at->cols)
                : full   ? at->w->rows
                         : at->rows;
    int n = -1;
    if (!text && !part)
        return -1;
    if (text) {
        n = size_of(text, whole, &why);
    } else {
        char form[32];
        snprintf(form, sizeof(form), "%.20s%%", part);
        n = size_of(form, whole, &why);
    }
    if (why)
        tm_fail(it, "%s%s", what, why);
    return why ? -2 : n;
}

enum tm_result cmd_split_window(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *at = it->target.p;
    struct tm_window *w = it->target.w;
    struct tm_session *s = it->target.s;
    bool sideways = args_has(a, 'h'), before = args_has(a, 'b');
    int size = new_size(it, at, sideways, "create pane failed: ");
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct spawn_request q;
    if (size == -2)
        return TM_ERROR;
    bool zoomed = window_unzoom(w) && args_has(a, 'Z');
    unsigned id = w->t->next_pane;
    struct tmux_layout_split how = {sideways, before, args_has(a, 'f'), size};
    const struct tmux_cell *cell = tmux_layout_split(&w->layout, at->id, id, how);
    if (!cell)
        return tm_fail(it, "no space for new pane");
    struct tm_pane *p = spawn_make_pane(w, s, (int)cell->sx, (int)cell->sy);
    p->x = (int)cell->xoff;
    p->y = (int)cell->yoff;
    if (args_has(a, 'f'))
        window_put_pane(w, p, NULL, before);
    else
        window_put_pane(w, p, at, before);
    spawn_read(&q, it, s);
    int r = spawn_pane(&q, p, &why);
    spawn_release(&q);
    if (r < 0) {
        window_drop_pane(p);
        tmux_layout_remove(&w->layout, p->id);
        pane_free(p);
        window_lay(w);
        tm_fail(it, "create pane failed: %s", buf_z(&why));
        buf_release(&why);
        return TM_ERROR;
    }
    window_lay(w);
    struct tm_place place = it->target;
    place.p = p;
    if (!args_has(a, 'd')) {
        window_use_pane(p);
        p->chosen = false;
        request_current(it, &place);
    }
    if (zoomed || args_has(a, 'Z'))
        window_zoom(w->pane);
    hook_run(w->t, "window-layout-changed", NULL, w, NULL);
    print_place(it, &place);
    return TM_DONE;
}

enum tm_result cmd_kill_pane(struct tm_item *it)
{
    struct tm_pane *keep = it->target.p;
    struct tm_window *w = it->target.w;
    struct list *i, *tmp;
    if (!args_has(&it->args, 'a')) {
        pane_kill(keep);
        return TM_DONE;
    }
    window_unzoom(w);
    list_each (i, tmp, &w->panes) {
        struct tm_pane *p = list_entry(i, struct tm_pane, sibling);
        if (p != keep)
            pane_kill(p);
    }
    return TM_DONE;
}

/* ---- select-pane ---- */

static void use(struct tm_item *it, struct tm_pane *p, bool stays_zoomed)
{
    bool zoomed = p->w->zoomed != NULL;
    if (p != p->w->pane && zoomed)
        window_unzoom(p->w);
    window_use_pane(p);
    if (zoomed && stays_zoomed)
        window_zoom(p);
    struct tm_place at = it->target;
    at.p = p;
    request_current(it, &at);
}

enum tm_result cmd_last_pane(struct tm_item *it)
{
    struct tm_window *w = it->target.w;
    struct tm_pane *p = w->stack.next == &w->stack
                            ? NULL
                            : list_first(&w->stack, struct tm_pane, stacked);
    if (!p && window_count(w) == 2)
        p = pane_beside(w->pane, 1);
    if (!p)
        return tm_fail(it, "no last pane");
    if (args_has(&it->args, 'e') || args_has(&it->args, 'd'))
        p->input_off = args_has(&it->args, 'd');
    else
        use(it, p, args_has(&it->args, 'Z'));
    state_changed(w->t);
    return TM_DONE;
}

enum tm_result cmd_select_pane(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *p = it->target.p;
    struct tmux *t = it->c->t;
    if (args_has(a, 'l'))
        return cmd_last_pane(it);
    if (args_has(a, 'm') || args_has(a, 'M')) {
        t->marked = args_has(a, 'M') || t->marked == p ? NULL : p;
        state_changed(t);
        return TM_DONE;
    }
    const char *side = args_has(a, 'L')   ? "{left-of}"
                       : args_has(a, 'R') ? "{right-of}"
                       : args_has(a, 'U') ? "{up-of}"
                       : args_has(a, 'D') ? "{down-of}"
                                          : NULL;
    if (side) {
        struct buf why = BUF_INIT(TM_NAME_MAX);
        struct tm_place at = it->target, other;
        bool zoomed = window_unzoom(p->w); /* else it has no neighbours */
        window_use_pane(p);
        if (tm_target(t, &at, side, 'p', 0, &other, &why) == 0)
            use(it, other.p, false);
        if (zoomed && args_has(a, 'Z'))
            window_zoom(p->w->pane);
        buf_release(&why);
        return TM_DONE;
    }
    if (args_has(a, 'P')) {
        struct buf why = BUF_INIT(TM_NAME_MAX);
        int r = opts_set(&p->opts, "window-style", args_get(a, 'P'), &why);
        if (r == 0)
            r = opts_set(&p->opts, "window-active-style", args_get(a, 'P'), &why);
        if (r < 0)
            tm_fail(it, "%s", buf_z(&why));
        buf_release(&why);
        if (r < 0)
            return TM_ERROR;
    }
    if (args_has(a, 'g')) {
        tm_print(it, "%s", opts_text(&p->opts, "window-style"));
        return TM_DONE;
    }
    if (args_has(a, 'e') || args_has(a, 'd')) {
        p->input_off = args_has(a, 'd');
        state_changed(t);
        return TM_DONE;
    }
    if (args_has(a, 'T')) {
        char *title = tm_expand(it, args_get(a, 'T'), &it->target);
        pane_set_title(p, title);
        free(title);
        return TM_DONE;
    }
    if (p != p->w->pane)
        use(it, p, args_has(a, 'Z'));
    return TM_DONE;
}

/* ---- moving panes ---- */

/* Exchanges the places of two panes in lists; layouts follow. */
static void swap_lists(struct tm_pane *a, struct tm_pane *b)
{
    struct tm_window *aw = a->w, *bw = b->w;
    struct list *after_a = a->sibling.next, *after_b = b->sibling.next;
    if (after_a == &b->sibling) { /* neighbours */
        list_del(&b->sibling);
        list_add_tail(&a->sibling, &b->sibling);
        return;
    }
    if (after_b == &a->sibling) {
        list_del(&a->sibling);
        list_add_tail(&b->sibling, &a->sibling);
        return;
    }
    list_del(&a->sibling);
    list_del(&b->sibling);
    list_add_tail(after_a, &b->sibling);
    list_add_tail(after_b, &a->sibling);
    a->w = bw;
    b->w = aw;
}

enum tm_result cmd_swap_pane(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *dst = it->target.p, *src = it->source.p;
    struct tm_window *dw = it->target.w, *sw = it->source.w;
    if (args_has(a, 'D') || args_has(a, 'U')) {
        src = pane_beside(dst, args_has(a, 'D') ? 1 : -1);
        sw = dw;
    }
    if (src == dst)
        return TM_DONE;
    bool zoomed = window_unzoom(dw) && args_has(a, 'Z');
    window_unzoom(sw);
    struct tmux_cell *sc = tmux_layout_find(&sw->layout, src->id);
    struct tmux_cell *dc = tmux_layout_find(&dw->layout, dst->id);
    struct tm_pane *sa = sw->pane, *da = dw->pane;
    swap_lists(src, dst);
    tmux_layout_swap(sc, dc);
    if (dw != sw) {
        list_del(&src->stacked);
        list_del(&dst->stacked);
        src->opts.parent = &dw->opts;
        dst->opts.parent = &sw->opts;
    }
    if (!args_has(a, 'd')) {
        if (dw != sw) {
            dw->pane = da == dst ? src : dw->pane;
            sw->pane = sa == src ? dst : sw->pane;
            window_use_pane(src);
            window_use_pane(dst);
        } else {
            window_use_pane(dst);
        }
    } else if (dw == sw) {
        if (da == src)
            window_use_pane(dst);
        if (dw->pane == dst)
            window_use_pane(src);
    } else {
        dw->pane = da == dst ? src : da;
        sw->pane = sa == src ? dst : sa;
        list_del(&dw->pane->stacked);
        list_del(&sw->pane->stacked);
    }
    window_lay(dw);
    if (sw != dw)
        window_lay(sw);
    if (zoomed)
        window_zoom(dw->pane);
    return TM_DONE;
}

enum tm_result cmd_join_pane(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *src = it->source.p, *dst = it->target.p;
    struct tm_window *sw = it->source.w, *dw = it->target.w;
    bool sideways = args_has(a, 'h'), before = args_has(a, 'b');
    if (src == dst)
        return tm_fail(it, "source and target panes must be different");
    window_unzoom(dw);
    window_unzoom(sw);
    int size = new_size(it, dst, sideways, "size ");
    if (size == -2)
        return TM_ERROR;
    struct tmux_layout_split how = {sideways, before, args_has(a, 'f'), size};
    struct buf old = BUF_INIT(1 << 20), why = BUF_INIT(1 << 10);
    if (sw == dw) { /* its old place must not count for the new one */
        window_put_layout(dw, false, &old);
        tmux_layout_remove(&dw->layout, src->id);
    }
    bool fits = tmux_layout_split(&dw->layout, dst->id, src->id, how) != NULL;
    if (!fits && sw == dw) {
        unsigned ids[LAYOUT_PANES_MAX];
        size_t n = 0;
        for (const struct tmux_cell *c = tmux_layout_first(&dw->layout); c;
             c = tmux_layout_next(c))
            ids[n++] = c->pane;
        tmux_layout_split(&dw->layout, ids[0], src->id,
                          (struct tmux_layout_split){.size = -1});
        window_take_layout(dw, buf_z(&old), &why);
    }
    buf_release(&old);
    buf_release(&why);
    if (!fits)
        return tm_fail(it, "create pane failed: pane too small");
    if (sw != dw)
        tmux_layout_remove(&sw->layout, src->id);
    window_drop_pane(src);
    src->opts.parent = &dw->opts;
    window_put_pane(dw, src, dst, before);
    if (sw != dw && !sw->pane)
        window_end(sw);
    else if (sw != dw)
        window_lay(sw);
    window_lay(dw);
    if (!args_has(a, 'd')) {
        window_use_pane(src);
        link_use(it->target.l);
    }
    hook_run(dw->t, "window-layout-changed", NULL, dw, NULL);
    return TM_DONE;
}

enum tm_result cmd_break_pane(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *p = it->source.p;
    struct tm_window *w = it->source.w;
    struct tm_session *dst = it->target.s;
    int index = it->target.index;
    const char *name = args_get(a, 'n'), *form = args_get(a, 'F');
    if (args_has(a, 'a') || args_has(a, 'b'))
        index = link_shuffle(dst, it->target.l ? it->target.l : dst->link,
                             args_has(a, 'b'));
    window_unzoom(w);
    struct tm_link *l = it->source.l;
    if (window_count(w) > 1) {
        if (index >= 0 && link_by_index(dst, index))
            return tm_fail(it, "index in use: %d", index);
        window_drop_pane(p);
        tmux_layout_remove(&w->layout, p->id);
        struct tm_window *nw = window_new(w->t, w->cols, w->rows);
        p->opts.parent = &nw->opts;
        window_put_pane(nw, p, NULL, false);
        tmux_layout_init(&nw->layout, (unsigned)nw->cols, (unsigned)nw->rows, p->id);
        struct buf auto_name = BUF_INIT(TM_NAME_MAX);
        pane_default_name(p, &auto_name);
        free(nw->name);
        nw->name = name ? tm_expand(it, name, &it->source) : buf_take(&auto_name);
        if (name)
            opts_set(&nw->opts, "automatic-rename", "off", NULL);
        buf_release(&auto_name);
        l = link_new(dst, nw, index);
        window_lay(w);
        window_lay(nw);
    } else {
        struct tm_session *from = l->s;
        struct tm_link *there = index >= 0 ? link_by_index(dst, index) : NULL;
        if (there)
            return tm_fail(it, "index in use: %d", index);
        struct tm_link *made = link_new(dst, w, index);
        if (name) {
            char *text = tm_expand(it, name, &it->source);
            window_set_name(w, text);
            opts_set(&w->opts, "automatic-rename", "off", NULL);
            free(text);
        }
        bool used = from->link == l;
        if (used && from == dst)
            link_use(made);
        link_end(l);
        l = made;
    }
    if (!args_has(a, 'd'))
        link_use(l);
    session_touch(dst);
    if (args_has(a, 'P')) {
        struct tm_place at = {.s = dst, .l = l, .w = l->w, .p = p, .index = l->index};
        char *line = tm_expand(
            it, form ? form : "#{session_name}:#{window_index}.#{pane_index}", &at);
        tm_print(it, "%s", line);
        free(line);
    }
    return TM_DONE;
}

enum tm_result cmd_resize_pane(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *p = it->target.p;
    struct tm_window *w = it->target.w;
    const char *why = NULL;
    int64_t by = 1;
    if (args_has(a, 'T')) {
        return TM_DONE; /* nothing is below the cursor that could be trimmed */
    }
    if (args_has(a, 'M'))
        return TM_DONE;
    if (args_has(a, 'Z')) {
        if (!window_unzoom(w))
            window_zoom(p);
        return TM_DONE;
    }
    window_unzoom(w);
    if (a->words > 0 && tmux_number(str_of(a->word[0]), 1, INT_MAX, &by, &why) < 0)
        return tm_fail(it, "adjustment %s", why);
    for (int i = 0; i < 2; i++) {
        const char *text = args_get(a, i ? 'y' : 'x');
        if (!text)
            continue;
        int n = size_of(text, i ? w->rows : w->cols, &why);
        if (why)
            return tm_fail(it, "%s %s", i ? "height" : "width", why);
        tmux_layout_resize_pane_to(&w->layout, p->id, i == 0, (unsigned)n);
    }
    if (args_has(a, 'L') || args_has(a, 'R'))
        tmux_layout_resize_pane(&w->layout, p->id, true,
                                args_has(a, 'L') ? -(int)by : (int)by, true);
    else if (args_has(a, 'U') || args_has(a, 'D'))
        tmux_layout_resize_pane(&w->layout, p->id, false,
                                args_has(a, 'U') ? -(int)by : (int)by, true);
    window_lay(w);
    return TM_DONE;
}

enum tm_result cmd_respawn_pane(struct tm_item *it)
{
    struct tm_pane *p = it->target.p;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct spawn_request q;
    char call[LIMIT_ID + 1];
    tm_call_id(it, call);
    if (!p->dead && !args_has(&it->args, 'k'))
        return tm_fail(it, "respawn pane failed: pane %s:%d.%d still active",
                       it->target.s->name, it->target.l->index, pane_index(p));
    spawn_read(&q, it, it->target.s);
    q.respawn = true;
    /* After a restart of the worker the program of this command may run already. */
    if (!pane_started_by(p, call))
        pane_stop(p);
    int r = spawn_pane(&q, p, &why);
    spawn_release(&q);
    if (r < 0)
        tm_fail(it, "respawn pane failed: %s", buf_z(&why));
    buf_release(&why);
    state_changed(p->t);
    return r < 0 ? TM_ERROR : TM_DONE;
}

enum tm_result cmd_pipe_pane(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *p = it->target.p;
    struct err e = ERR_INIT;
    char call[LIMIT_ID + 1];
    if (p->dead)
        return tm_fail(it, "target pane has exited");
    bool had = p->piped;
    if (had)
        pane_pipe_end(p);
    state_changed(p->t);
    if (a->words == 0 || !a->word[0][0] || (had && args_has(a, 'o')))
        return TM_DONE;
    int flags = args_has(a, 'I') ? PIPE_IN : 0;
    flags |= args_has(a, 'O') || !flags ? PIPE_OUT : 0;
    tm_call_id(it, call);
    char *command = tm_expand_times(it, a->word[0], &it->target);
    int r = pane_pipe(p, command, flags, NULL, call, &e);
    free(command);
    return r < 0 ? tm_fail(it, "%s", e.text) : TM_DONE;
}

/* ---- capture ---- */

static int64_t line_of(struct tm_pane *p, const char *text, bool start)
{
    const char *why;
    int64_t n, oldest = -(int64_t)history_count(&p->screen.history);
    if (!text)
        return start ? 0 : p->rows - 1;
    if (strcmp(text, "-") == 0)
        return start ? oldest : p->rows - 1;
    if (tmux_number(str_of(text), INT_MIN, SHRT_MAX, &n, &why) < 0)
        n = start ? 0 : p->rows - 1;
    return n < oldest ? oldest : n > p->rows - 1 ? p->rows - 1 : n;
}

/* As text into a buffer, or the part of a sequence that is not finished. */
enum tm_result cmd_capture_pane(struct tm_item *it)
{
    const struct tmux_args *a = &it->args;
    struct tm_pane *p = it->target.p;
    struct capture c;
    struct picture_state look;
    unsigned flags = (args_has(a, 'e') ? CAPTURE_CODES : 0U) |
                     (args_has(a, 'C') ? CAPTURE_OCTAL : 0U) |
                     (args_has(a, 'J') ? CAPTURE_JOIN : 0U) |
                     (args_has(a, 'N') ? CAPTURE_BLANKS : 0U);
    if (!p->screen.pic)
        return TM_DONE;
    picture_report(p->screen.pic, &look);
    if (args_has(a, 'a') && !look.alt) {
        if (!args_has(a, 'q'))
            return tm_fail(it, "no alternate screen");
        if (args_has(a, 'p'))
            tm_print(it, "%s", "");
        return TM_DONE;
    }
    flags |= args_has(a, 'a') ? CAPTURE_BENEATH : 0U;
    int64_t from = line_of(p, args_get(a, 'S'), true),
            to = line_of(p, args_get(a, 'E'), false);
    if (from > to) {
        int64_t swap = from;
        from = to;
        to = swap;
    }
    if (args_has(a, 'P')) {
        if (args_has(a, 'p'))
            tm_print(it, "%s", "");
        return TM_DONE;
    }
    capture_begin(&c, &p->screen, flags, from, to);
    if (args_has(a, 'p'))
        return tm_capture(it, &c) ? TM_DONE : TM_WAIT;
    struct buf text = BUF_INIT(TM_OUT_MAX);
    capture_some(&c, &text, TM_OUT_MAX);
    capture_end(&c);
    const char *name = args_get(a, 'b');
    struct buf why = BUF_INIT(TM_NAME_MAX);
    int r = buffer_put(it->c->t, name, buf_str(&text), &why);
    buf_release(&text);
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    return r < 0 ? TM_ERROR : TM_DONE;
}

enum tm_result cmd_clear_history(struct tm_item *it)
{
    struct tm_pane *p = it->target.p;
    if (p->screen.pic)
        screen_forget(&p->screen);
    return TM_DONE;
}
