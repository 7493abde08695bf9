/* SPDX-License-Identifier: MIT */
#include "front/tmux/target.h"

#include "base/xalloc.h"
#include "front/tmux/lang/target.h"
#include "front/tmux/model.h"
#include "front/tmux/pane.h"
#include "front/tmux/request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- the best of several ---- */

static bool is_better(const struct tm_session *s, const struct tm_session *than,
                      unsigned flags)
{
    if (!than)
        return true;
    if ((flags & CMD_PREFER_UNATTACHED) && (than->clients > 0) != (s->clients > 0))
        return s->clients == 0;
    return s->active_us > than->active_us;
}

static struct tm_session *best_session(const struct tmux *t, const struct tm_window *with,
                                       unsigned flags)
{
    struct tm_session *best = NULL, *s;
    for (unsigned i = 0; (s = session_sorted(t, i)); i++) {
        if ((!with || link_of(s, with)) && is_better(s, best, flags))
            best = s;
    }
    return best;
}

void target_complete(struct tm_place *x)
{
    if (x->p && !x->w)
        x->w = x->p->w;
    if (x->w && !x->s)
        x->s = best_session(x->w->t, x->w, 0);
    if (x->s && !x->l)
        x->l = x->w ? link_of(x->s, x->w) : x->s->link;
    if (x->l && !x->w)
        x->w = x->l->w;
    if (x->w && !x->p)
        x->p = x->w->pane;
    x->index = x->l ? x->l->index : -1;
}

bool target_current(struct tmux_client *c, unsigned flags, struct tm_place *out)
{
    struct tmux *t = c->t;
    const struct env_var *v = env_find(&c->env, STR("TMUX_PANE"));
    char tty[64];
    struct list *it, *tmp;
    *out = (struct tm_place){.index = -1};
    out->s = c->session;
    list_each (it, tmp, &t->panes) {
        struct tm_pane *p = list_entry(it, struct tm_pane, node);
        if (out->s || out->p || !c->tty || !c->tty[0])
            break;
        pane_tty(p, tty, sizeof(tty));
        if (strcmp(tty, c->tty) == 0)
            out->p = p;
    }
    if (!out->s && !out->p && v && v->value && v->value[0] == '%')
        out->p = pane_by_id(t, (unsigned)strtoul(v->value + 1, NULL, 10));
    /* As in tmux, a pane leads to a session alone, whose current window and active pane
     * may be others. */
    if (out->p)
        out->s = best_session(t, out->p->w, flags);
    if (!out->s)
        out->s = best_session(t, NULL, flags);
    out->p = NULL;
    target_complete(out);
    return out->s != NULL;
}

/* ---- sessions ---- */

struct tmux_client *target_client(const struct tmux *t, const char *name)
{
    struct list *it, *tmp;
    list_each (it, tmp, &((struct tmux *)(uintptr_t)t)->clients) {
        struct tmux_client *c = list_entry(it, struct tmux_client, node);
        const char *tty = c->tty ? c->tty : "";
        size_t n = strlen(name);
        bool colon = n > 0 && name[n - 1] == ':';
        if (!c->session)
            continue;
        if (strcmp(c->name, name) == 0 || strcmp(tty, name) == 0 ||
            (strncmp(tty, "/dev/", 5) == 0 && strcmp(tty + 5, name) == 0) ||
            (colon && strncmp(c->name, name, n - 1) == 0 && !c->name[n - 1]))
            return c;
    }
    return NULL;
}

/* ---- the objects, as lang/target.h sees them ---- */

static bool view_session(void *ctx, size_t i, struct target_session *out)
{
    struct tm_session *s = session_sorted(ctx, (unsigned)i);
    if (s)
        *out = (struct target_session){s,          s->id,        str_of(s->name),
                                       s->clients, s->active_us, s->made};
    return s != NULL;
}

static bool view_link(void *ctx, void *session, size_t i, struct target_link *out)
{
    struct tm_session *s = session;
    struct list *it, *tmp;
    (void)ctx;
    list_each (it, tmp, &s->links) {
        struct tm_link *l = list_entry(it, struct tm_link, node);
        if (i-- > 0)
            continue;
        window_auto_name(l->w);
        *out = (struct target_link){l, l->w, l->index, l->w->id, str_of(l->w->name)};
        return true;
    }
    return false;
}

static bool view_pane(void *ctx, void *window, size_t i, struct target_pane *out)
{
    struct tm_window *w = window;
    struct list *it, *tmp;
    (void)ctx;
    list_each (it, tmp, &w->panes) {
        struct tm_pane *p = list_entry(it, struct tm_pane, sibling);
        if (i-- > 0)
            continue;
        *out = (struct target_pane){.pane = p,
                                    .id = p->id,
                                    .index = pane_index(p),
                                    .x = (unsigned)p->x,
                                    .y = (unsigned)p->y,
                                    .sx = (unsigned)p->cols,
                                    .sy = (unsigned)p->rows,
                                    .visible = !w->zoomed || w->zoomed == p,
                                    .recent = p->active_point};
        return true;
    }
    return false;
}

static void *view_current(void *ctx, void *session)
{
    (void)ctx;
    return ((struct tm_session *)session)->link;
}

static void *view_last(void *ctx, void *session, size_t i)
{
    struct tm_session *s = session;
    struct list *it, *tmp;
    (void)ctx;
    list_each (it, tmp, &s->stack) {
        if (i-- == 0)
            return list_entry(it, struct tm_link, stacked);
    }
    return NULL;
}

static void *view_active(void *ctx, void *window)
{
    (void)ctx;
    return ((struct tm_window *)window)->pane;
}

static void *view_last_pane(void *ctx, void *window)
{
    struct tm_window *w = window;
    (void)ctx;
    return w->stack.next == &w->stack ? NULL
                                      : list_first(&w->stack, struct tm_pane, stacked);
}

static void view_size(void *ctx, void *window, unsigned *sx, unsigned *sy)
{
    const struct tm_window *w = window;
    (void)ctx;
    *sx = (unsigned)w->cols;
    *sy = (unsigned)w->rows;
}

static void *view_client(void *ctx, struct str name)
{
    char *z = xstrndup(name.p, name.n);
    struct tmux_client *c = target_client(ctx, z);
    free(z);
    return c ? c->session : NULL;
}

static struct target_state state_of(const struct tm_place *x)
{
    return (struct target_state){x->s, x->l, x->w, x->p, x->index};
}

int tm_target(struct tmux *t, const struct tm_place *from, const char *text, char type,
              unsigned flags, struct tm_place *out, struct buf *why)
{
    struct target_view v = {.ctx = t,
                            .session = view_session,
                            .link = view_link,
                            .pane = view_pane,
                            .current_link = view_current,
                            .last_link = view_last,
                            .active_pane = view_active,
                            .last_pane = view_last_pane,
                            .size = view_size,
                            .client = view_client};
    struct tm_place mark = {.p = t->marked};
    struct target_state found = {0}, at = {.index = -1}, marked;
    target_complete(&mark);
    marked = state_of(&mark);
    if (from)
        at = state_of(from);
    unsigned how = (flags & CMD_INDEX ? TARGET_WINDOW_INDEX : 0U) |
                   (flags & CMD_PREFER_UNATTACHED ? TARGET_PREFER_UNATTACHED : 0U);
    enum target_type kind = type == 's'   ? TARGET_SESSION
                            : type == 'w' ? TARGET_WINDOW
                                          : TARGET_PANE;
    int r = target_find(&found, text ? str_of(text) : (struct str){NULL, 0}, kind, how,
                        &at, t->marked ? &marked : NULL, NULL, &v, why);
    *out = (struct tm_place){found.session, found.link, found.window, found.pane,
                             found.index};
    if (r < 0 && (flags & CMD_PARTLY))
        out->w = out->l ? out->l->w : NULL;
    else if (r < 0 && (flags & CMD_MAYBE))
        target_complete(out);
    else if (r < 0)
        *out = (struct tm_place){.index = -1};
    else if (!(flags & CMD_INDEX))
        out->index = out->l ? out->l->index : -1;
    return r;
}

int target_resolve(struct tm_item *it)
{
    struct tmux *t = it->c->t;
    const struct tm_command *cmd = it->cmd;
    struct buf why = BUF_INIT(TM_NAME_MAX * 2);
    struct tm_place current = it->current;
    if (!current.s || current.s->ended)
        target_current(it->c, cmd->flags, &current);
    it->current = current;
    int r = 0;
    if (cmd->source) {
        struct tm_place from = current;
        if (cmd->flags & CMD_SOURCE_MARK && t->marked) {
            from = (struct tm_place){.p = t->marked};
            target_complete(&from);
        }
        r = tm_target(t, &from, args_get(&it->args, 's'), cmd->source, 0, &it->source,
                      &why);
    }
    const char *text = args_get(&it->args, 't');
    if (r == 0 && cmd->target)
        r = tm_target(t, &current, text, cmd->target, cmd->flags, &it->target, &why);
    if (r < 0 && (cmd->flags & CMD_MAYBE))
        r = 0;
    if (r < 0)
        tm_fail(it, "%s", buf_z(&why));
    buf_release(&why);
    return r;
}
