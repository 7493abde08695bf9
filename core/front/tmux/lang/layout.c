/* SPDX-License-Identifier: MIT */
/*
 * The tree of cells: see layout.h. A change of a size goes down the tree: cells side by
 * side share it, one unit each in turn, cells in the other direction all get it. tmux
 * gives unit by unit; here each child's share is computed at once, so that the time
 * depends on the number of cells alone.
 */
#include "front/tmux/lang/layout_own.h"

#include "base/xalloc.h"

#include <limits.h>
#include <stdlib.h>

/* --- cells ---------------------------------------------------------------------- */

struct tmux_cell *cell_new(struct tmux_cell *parent)
{
    struct tmux_cell *c = xnew(struct tmux_cell);
    c->parent = parent;
    return c;
}

/* Puts c into its parent, after `at` or, if at is NULL, first. */
static void insert(struct tmux_cell *c, struct tmux_cell *at)
{
    struct tmux_cell *parent = c->parent;
    c->prev = at;
    c->next = at ? at->next : parent->first;
    if (c->prev)
        c->prev->next = c;
    else
        parent->first = c;
    if (c->next)
        c->next->prev = c;
    else
        parent->last = c;
}

static void take_out(struct tmux_cell *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        c->parent->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        c->parent->last = c->prev;
    c->next = c->prev = NULL;
}

/* Puts c, which is nowhere, where old is; old is then nowhere. */
static void put_instead(struct tmux_layout *l, struct tmux_cell *c, struct tmux_cell *old)
{
    struct tmux_cell *at = old->prev;
    c->parent = old->parent;
    if (!c->parent) {
        l->root = c;
        return;
    }
    take_out(old);
    insert(c, at);
}

struct tmux_cell *cell_put(struct tmux_cell *parent, enum tmux_layout_kind kind,
                           unsigned sx, unsigned sy)
{
    struct tmux_cell *c = cell_new(parent);
    c->kind = kind;
    c->sx = sx;
    c->sy = sy;
    insert(c, parent->last);
    return c;
}

void cell_free(struct tmux_cell *c)
{
    struct tmux_cell *top = c;
    while (c) { /* no recursion: leaves first */
        struct tmux_cell *up = c == top ? NULL : c->parent;
        if (c->first) {
            c = c->first;
            continue;
        }
        if (up)
            take_out(c);
        free(c);
        c = up;
    }
}

/* The first leaf below c, or c itself. */
static struct tmux_cell *first_leaf(struct tmux_cell *c)
{
    while (c && c->first)
        c = c->first;
    return c;
}

size_t cell_leaves(const struct tmux_cell *c)
{
    size_t n = 0;
    if (!c->first)
        return 1;
    for (const struct tmux_cell *k = c->first; k; k = k->next)
        n += cell_leaves(k);
    return n;
}

void tmux_layout_init(struct tmux_layout *l, unsigned sx, unsigned sy, unsigned pane)
{
    l->root = cell_new(NULL);
    l->root->sx = sx;
    l->root->sy = sy;
    l->root->pane = pane;
}

void tmux_layout_release(struct tmux_layout *l)
{
    cell_free(l->root);
    l->root = NULL;
}

struct tmux_cell *tmux_layout_first(const struct tmux_layout *l)
{
    return first_leaf(l->root);
}

struct tmux_cell *tmux_layout_next(const struct tmux_cell *c)
{
    while (c && !c->next)
        c = c->parent;
    return c ? first_leaf(c->next) : NULL;
}

struct tmux_cell *tmux_layout_find(const struct tmux_layout *l, unsigned pane)
{
    struct tmux_cell *c = tmux_layout_first(l);
    while (c && c->pane != pane)
        c = tmux_layout_next(c);
    return c;
}

size_t tmux_layout_count(const struct tmux_layout *l)
{
    return l->root ? cell_leaves(l->root) : 0;
}

void tmux_layout_swap(struct tmux_cell *a, struct tmux_cell *b)
{
    unsigned pane = a->pane;
    a->pane = b->pane;
    b->pane = pane;
}

/* --- places --------------------------------------------------------------------- */

/* Whether a cell has the line of a title: those at the upper, or the lower, edge. */
static bool has_title(const struct tmux_layout *l, const struct tmux_cell *c)
{
    if (l->border == LAYOUT_BORDER_OFF)
        return false;
    for (; c->parent; c = c->parent) {
        const struct tmux_cell *edge = l->border == LAYOUT_BORDER_TOP ? c->parent->first
                                                                      : c->parent->last;
        if (c->parent->kind == LAYOUT_TOPBOTTOM && c != edge)
            return false;
    }
    return true;
}

struct tmux_layout_area tmux_layout_area(const struct tmux_layout *l,
                                         const struct tmux_cell *leaf)
{
    struct tmux_layout_area a = {leaf->xoff, leaf->yoff, leaf->sx, leaf->sy};
    if (has_title(l, leaf)) {
        a.y += l->border == LAYOUT_BORDER_TOP;
        a.sy -= a.sy > 1;
    }
    a.sx += a.sx == 0;
    a.sy += a.sy == 0;
    return a;
}

static void place(struct tmux_cell *c)
{
    unsigned x = c->xoff, y = c->yoff;
    for (struct tmux_cell *k = c->first; k; k = k->next) {
        k->xoff = x;
        k->yoff = y;
        place(k);
        if (c->kind == LAYOUT_LEFTRIGHT)
            x += k->sx + 1;
        else
            y += k->sy + 1;
    }
}

void layout_place(struct tmux_layout *l)
{
    if (!l->root)
        return;
    l->root->xoff = l->root->yoff = 0;
    place(l->root);
}

/* --- sizes ---------------------------------------------------------------------- */

unsigned layout_spare(const struct tmux_layout *l, const struct tmux_cell *c,
                      enum tmux_layout_kind along)
{
    unsigned sum = 0, least = UINT_MAX;
    if (!c->first) {
        unsigned size = along == LAYOUT_LEFTRIGHT ? c->sx : c->sy;
        unsigned need = LAYOUT_PANE_MIN + (along == LAYOUT_TOPBOTTOM && has_title(l, c));
        return size > need ? size - need : 0;
    }
    for (const struct tmux_cell *k = c->first; k; k = k->next) {
        unsigned spare = layout_spare(l, k, along);
        sum += spare;
        least = spare < least ? spare : least;
    }
    return c->kind == along ? sum : least;
}

/* As `times` changes by one unit: of children side by side the first has it all. */
static void grow_by_ones(struct tmux_cell *c, enum tmux_layout_kind along, unsigned times)
{
    *cell_size(c, along) += times;
    for (struct tmux_cell *k = c->first; k; k = k->next) {
        grow_by_ones(k, along, times);
        if (c->kind == along)
            return;
    }
}

static void shrink_by_ones(const struct tmux_layout *l, struct tmux_cell *c,
                           enum tmux_layout_kind along, unsigned times)
{
    *cell_size(c, along) -= times;
    for (struct tmux_cell *k = c->first; k && times; k = k->next) {
        unsigned share = c->kind == along ? layout_spare(l, k, along) : times;
        share = share < times ? share : times;
        shrink_by_ones(l, k, along, share);
        times -= c->kind == along ? share : 0;
    }
}

static size_t children(const struct tmux_cell *c)
{
    size_t n = 0;
    for (const struct tmux_cell *k = c->first; k; k = k->next)
        n++;
    return n;
}

static void grow_in_turn(struct tmux_cell *c, enum tmux_layout_kind along,
                         unsigned change)
{
    unsigned n = (unsigned)children(c), i = 0;
    for (struct tmux_cell *k = c->first; k; k = k->next, i++)
        grow_by_ones(k, along, change / n + (i < change % n));
}

/*
 * Takes `change` from the children, one unit each in turn from those that have any.
 * Whole turns are taken at once, as many as the one with the least has.
 */
static void shrink_in_turn(const struct tmux_layout *l, struct tmux_cell *c,
                           enum tmux_layout_kind along, unsigned change)
{
    size_t n = children(c), active = 1, i;
    unsigned *spare = xcalloc(n * 2, sizeof(*spare)), *share = spare + n;
    struct tmux_cell *k;
    for (k = c->first, i = 0; k; k = k->next, i++)
        spare[i] = layout_spare(l, k, along);
    while (change && active) {
        unsigned least = UINT_MAX;
        for (i = 0, active = 0; i < n; i++) {
            active += spare[i] > 0;
            least = spare[i] && spare[i] < least ? spare[i] : least;
        }
        unsigned turns = active ? (unsigned)(change / active) : 0;
        turns = turns < least ? turns : least;
        for (i = 0; i < n && change && active; i++) {
            unsigned by = turns ? turns : 1;
            if (!spare[i])
                continue;
            spare[i] -= by;
            share[i] += by;
            change -= by;
        }
    }
    for (k = c->first, i = 0; k; k = k->next, i++)
        shrink_by_ones(l, k, along, share[i]);
    free(spare);
}

void layout_adjust(const struct tmux_layout *l, struct tmux_cell *c,
                   enum tmux_layout_kind along, int change)
{
    *cell_size(c, along) += (unsigned)change;
    if (!c->first)
        return;
    if (c->kind == along && change > 0)
        grow_in_turn(c, along, (unsigned)change);
    else if (c->kind == along)
        shrink_in_turn(l, c, along, (unsigned)-change);
    else
        for (struct tmux_cell *k = c->first; k; k = k->next)
            layout_adjust(l, k, along, change);
}

static void resize_along(struct tmux_layout *l, enum tmux_layout_kind along,
                         unsigned size)
{
    int change = (int)size - (int)*cell_size(l->root, along);
    int spare = (int)layout_spare(l, l->root, along);
    layout_adjust(l, l->root, along, change < -spare ? -spare : change);
}

void tmux_layout_resize(struct tmux_layout *l, unsigned sx, unsigned sy)
{
    if (!l->root)
        return;
    resize_along(l, LAYOUT_LEFTRIGHT, sx);
    resize_along(l, LAYOUT_TOPBOTTOM, sy);
    layout_place(l);
}

/* --- resize-pane ---------------------------------------------------------------- */

/* The cell above or of a pane that has neighbours along a direction; NULL: none. */
static struct tmux_cell *row_of(const struct tmux_layout *l, unsigned pane,
                                enum tmux_layout_kind along)
{
    struct tmux_cell *c = tmux_layout_find(l, pane);
    while (c && c->parent && c->parent->kind != along)
        c = c->parent;
    return c && c->parent ? c : NULL;
}

/* Moves up to `change` to c from a cell after it, else before it. Returns how much. */
static unsigned grow(struct tmux_layout *l, struct tmux_cell *c,
                     enum tmux_layout_kind along, unsigned change, bool opposite)
{
    unsigned spare = 0;
    struct tmux_cell *from = c->next;
    while (from && (spare = layout_spare(l, from, along)) == 0)
        from = from->next;
    if (!from && opposite) {
        from = c->prev;
        while (from && (spare = layout_spare(l, from, along)) == 0)
            from = from->prev;
    }
    if (!from)
        return 0;
    spare = spare < change ? spare : change;
    layout_adjust(l, c, along, (int)spare);
    layout_adjust(l, from, along, -(int)spare);
    return spare;
}

/* Moves up to `change` from c, or a cell before it, to the next one. */
static unsigned shrink(struct tmux_layout *l, struct tmux_cell *c,
                       enum tmux_layout_kind along, unsigned change)
{
    unsigned spare = 0;
    struct tmux_cell *from = c, *to = c->next;
    while (from && (spare = layout_spare(l, from, along)) == 0)
        from = from->prev;
    if (!from || !to)
        return 0;
    spare = spare < change ? spare : change;
    layout_adjust(l, to, along, (int)spare);
    layout_adjust(l, from, along, -(int)spare);
    return spare;
}

void tmux_layout_resize_pane(struct tmux_layout *l, unsigned pane, bool horizontal,
                             int change, bool opposite)
{
    enum tmux_layout_kind along = horizontal ? LAYOUT_LEFTRIGHT : LAYOUT_TOPBOTTOM;
    struct tmux_cell *c = row_of(l, pane, along);
    unsigned left = change < 0 ? 0U - (unsigned)change : (unsigned)change, moved = 1;
    if (!c)
        return;
    if (!c->next)
        c = c->prev;
    for (; c && left && moved; left -= moved)
        moved = change > 0 ? grow(l, c, along, left, opposite)
                           : shrink(l, c, along, left);
    layout_place(l);
}

void tmux_layout_resize_pane_to(struct tmux_layout *l, unsigned pane, bool horizontal,
                                unsigned size)
{
    enum tmux_layout_kind along = horizontal ? LAYOUT_LEFTRIGHT : LAYOUT_TOPBOTTOM;
    struct tmux_cell *c = row_of(l, pane, along);
    if (!c)
        return;
    size += !horizontal && has_title(l, tmux_layout_find(l, pane));
    int change = (int)size - (int)*cell_size(c, along);
    tmux_layout_resize_pane(l, pane, horizontal, c->next ? change : -change, true);
}

/* --- equal sizes ---------------------------------------------------------------- */

/* The sizes that the n children of a cell get: `each`, and the last one the rest. */
static bool even_sizes(const struct tmux_layout *l, const struct tmux_cell *parent,
                       unsigned *each, unsigned *rest)
{
    unsigned n = (unsigned)children(parent);
    unsigned size = parent->kind == LAYOUT_LEFTRIGHT ? parent->sx : parent->sy;
    size -= parent->kind == LAYOUT_TOPBOTTOM && has_title(l, parent);
    if (n < 2 || size < n - 1 || (size - (n - 1)) / n == 0)
        return false;
    *each = (size - (n - 1)) / n;
    *rest = size - (*each + 1) * (n - 1);
    return true;
}

bool layout_even(const struct tmux_layout *l, struct tmux_cell *parent)
{
    enum tmux_layout_kind along = parent->kind;
    unsigned each, rest;
    bool changed = false;
    if (!parent->first || !even_sizes(l, parent, &each, &rest))
        return false;
    for (int check = 1; check >= 0; check--) { /* all fit, or none is changed */
        for (struct tmux_cell *k = parent->first; k; k = k->next) {
            int size = (int)(k->next ? each : rest);
            size += along == LAYOUT_TOPBOTTOM && has_title(l, k);
            int change = size - (int)*cell_size(k, along);
            if (check && k->first && -change > (int)layout_spare(l, k, along))
                return false;
            if (check || !change)
                continue;
            layout_adjust(l, k, along, change);
            changed = true;
        }
    }
    return changed;
}

void tmux_layout_spread(struct tmux_layout *l, unsigned pane)
{
    struct tmux_cell *c = tmux_layout_find(l, pane);
    for (c = c ? c->parent : NULL; c && !layout_even(l, c);)
        c = c->parent;
    layout_place(l);
}

/* --- ends ----------------------------------------------------------------------- */

void layout_destroy(struct tmux_layout *l, struct tmux_cell *c)
{
    struct tmux_cell *parent = c->parent, *other = c->prev ? c->prev : c->next;
    if (!parent) {
        cell_free(c);
        l->root = NULL;
        return;
    }
    if (other)
        layout_adjust(l, other, parent->kind, (int)*cell_size(c, parent->kind) + 1);
    take_out(c);
    cell_free(c);
    if (!parent->first) {
        layout_destroy(l, parent);
    } else if (parent->first == parent->last) {
        c = parent->first;
        take_out(c);
        put_instead(l, c, parent);
        free(parent);
    }
}

void tmux_layout_remove(struct tmux_layout *l, unsigned pane)
{
    struct tmux_cell *c = tmux_layout_find(l, pane);
    if (!c)
        return;
    layout_destroy(l, c);
    layout_place(l);
}

/* --- splits --------------------------------------------------------------------- */

/*
 * The size of a child when its parent, which had `before`, gets `size`: in proportion,
 * but such that the `left` children from this one on have room in `room`.
 */
static unsigned in_proportion(const struct tmux_layout *l, struct tmux_cell *c,
                              enum tmux_layout_kind along, unsigned before, unsigned size,
                              unsigned left, unsigned room)
{
    unsigned have = *cell_size(c, along), need = (LAYOUT_PANE_MIN + 1) * (left - 1);
    if (left == 1)
        return room;
    unsigned least = have - layout_spare(l, c, along);
    need = least > need ? least : need;
    unsigned most = room - need, now = before ? have * size / before : have;
    now = now > most ? most : now;
    return now < LAYOUT_PANE_MIN ? LAYOUT_PANE_MIN : now;
}

/* Would a cell have room for its panes if it had another size along a direction? */
static bool has_room(const struct tmux_layout *l, struct tmux_cell *c,
                     enum tmux_layout_kind along, unsigned size)
{
    unsigned n = (unsigned)children(c), room = size, left = n;
    if (!c->first)
        return size >= LAYOUT_PANE_MIN;
    if (c->kind == along && size < n * 2 - 1)
        return false;
    for (struct tmux_cell *k = c->first; k; k = k->next, left--) {
        unsigned now = size;
        if (c->kind == along) {
            now = in_proportion(l, k, along, *cell_size(c, along), size, left, room);
            if (left == 1 ? now > room : now >= room)
                return false;
            room -= left == 1 ? 0 : now + 1;
        } else if (!k->first)
            continue;
        if (!has_room(l, k, along, now))
            return false;
    }
    return true;
}

/* Fits the children into a cell whose size was changed. */
static void fit_children(const struct tmux_layout *l, struct tmux_cell *c)
{
    enum tmux_layout_kind along = c->kind;
    enum tmux_layout_kind across = along == LAYOUT_LEFTRIGHT ? LAYOUT_TOPBOTTOM
                                                             : LAYOUT_LEFTRIGHT;
    unsigned left = (unsigned)children(c), before = left - 1, size, room;
    if (!c->first)
        return;
    size = room = *cell_size(c, along);
    for (struct tmux_cell *k = c->first; k; k = k->next)
        before += *cell_size(k, along);
    for (struct tmux_cell *k = c->first; k; k = k->next, left--) {
        unsigned now = in_proportion(l, k, along, before, size, left, room);
        now = now > LAYOUT_WINDOW_MAX ? LAYOUT_PANE_MIN : now; /* there was no room */
        *cell_size(k, along) = now;
        *cell_size(k, across) = *cell_size(c, across);
        room -= now + 1;
        fit_children(l, k);
    }
}

/* A new leaf in a new parent that takes the place of c. */
static struct tmux_cell *put_parent(struct tmux_layout *l, struct tmux_cell *c,
                                    enum tmux_layout_kind along, bool before)
{
    struct tmux_cell *parent = cell_new(NULL), *new;
    parent->kind = along;
    parent->sx = c->sx;
    parent->sy = c->sy;
    put_instead(l, parent, c);
    c->parent = parent;
    insert(c, NULL);
    new = cell_new(parent);
    insert(new, before ? NULL : c);
    return new;
}

struct tmux_cell *tmux_layout_split(struct tmux_layout *l, unsigned pane,
                                    unsigned new_pane, struct tmux_layout_split how)
{
    enum tmux_layout_kind along = how.horizontal ? LAYOUT_LEFTRIGHT : LAYOUT_TOPBOTTOM;
    struct tmux_cell *c = how.full ? l->root : tmux_layout_find(l, pane), *new;
    if (!c || tmux_layout_count(l) >= LAYOUT_PANES_MAX)
        return NULL;
    unsigned sx = c->sx, sy = c->sy, all = *cell_size(c, along);
    unsigned need = LAYOUT_PANE_MIN * 2 + 1 + (!how.horizontal && has_title(l, c));
    if (all < need)
        return NULL;
    /* In tmux a new pane before one that is too small for it gets the least. */
    unsigned second = how.size < 0 ? (all + 1) / 2 - 1
                      : how.before ? all - (unsigned)how.size - 1
                                   : (unsigned)how.size;
    second = second < LAYOUT_PANE_MIN ? LAYOUT_PANE_MIN : second;
    second = second > all - 2 ? all - 2 : second;
    unsigned old_size = how.before ? second : all - 1 - second;
    unsigned new_size = all - 1 - old_size;
    if (how.full && !has_room(l, c, along, old_size))
        return NULL;
    *cell_size(c, along) = old_size;
    if (c->parent && c->parent->kind == along) {
        new = cell_new(c->parent);
        insert(new, how.before ? c->prev : c);
    } else if (how.full && c->first && c->kind == along) {
        fit_children(l, c);
        *cell_size(c, along) = all;
        new = cell_new(c);
        insert(new, how.before ? NULL : c->last);
    } else {
        *cell_size(c, along) = all;
        new = put_parent(l, c, along, how.before);
        *cell_size(c, along) = old_size;
        if (how.full)
            fit_children(l, c);
    }
    new->sx = how.horizontal ? new_size : sx;
    new->sy = how.horizontal ? sy : new_size;
    new->pane = new_pane;
    layout_place(l);
    return new;
}
