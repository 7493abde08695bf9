/* SPDX-License-Identifier: MIT */
/* Arrangements by name: see layout.h. */
#include "front/tmux/lang/layout_own.h"

#include "front/tmux/lang/args.h"

static const char *const names[LAYOUT_PRESETS] = {
    [LAYOUT_EVEN_HORIZONTAL] = "even-horizontal",
    [LAYOUT_EVEN_VERTICAL] = "even-vertical",
    [LAYOUT_MAIN_HORIZONTAL] = "main-horizontal",
    [LAYOUT_MAIN_HORIZONTAL_MIRRORED] = "main-horizontal-mirrored",
    [LAYOUT_MAIN_VERTICAL] = "main-vertical",
    [LAYOUT_MAIN_VERTICAL_MIRRORED] = "main-vertical-mirrored",
    [LAYOUT_TILED] = "tiled"};

/* What an arrangement is made from. */
struct layout_set {
    struct tmux_layout *l;
    const unsigned *panes;
    size_t n;
    unsigned sx, sy; /* of the window */
    const struct tmux_layout_options *o;
};

int tmux_layout_preset_find(struct str name)
{
    int found = -1, n = 0;
    for (int i = 0; i < LAYOUT_PRESETS; i++) {
        struct str whole = str_of(names[i]);
        bool later = i == LAYOUT_MAIN_HORIZONTAL_MIRRORED ||
                     i == LAYOUT_MAIN_VERTICAL_MIRRORED;
        if (later ? !str_eq(whole, name) : !str_starts(whole, name))
            continue;
        found = i;
        n++;
    }
    return n == 1 ? found : -1;
}

const char *tmux_layout_preset_name(enum tmux_layout_preset preset)
{
    return names[preset];
}

static struct tmux_cell *new_root(const struct layout_set *s, enum tmux_layout_kind kind,
                                  unsigned sx, unsigned sy)
{
    cell_free(s->l->root);
    struct tmux_cell *root = s->l->root = cell_new(NULL);
    root->kind = kind;
    root->sx = sx;
    root->sy = sy;
    return root;
}

static unsigned at_least(unsigned n, unsigned least) { return n < least ? least : n; }

/* What n panes side by side need, with their borders. */
static unsigned needed(size_t n) { return (unsigned)n * (LAYOUT_PANE_MIN + 1) - 1; }

static void put_panes(struct tmux_cell *row, const unsigned *panes, size_t n, unsigned sx,
                      unsigned sy)
{
    for (size_t i = 0; i < n; i++)
        cell_put(row, LAYOUT_PANE, sx, sy)->pane = panes[i];
}

static void set_even(const struct layout_set *s, enum tmux_layout_kind along)
{
    bool across = along == LAYOUT_LEFTRIGHT;
    struct tmux_cell *root = new_root(s, along,
                                      across ? at_least(s->sx, needed(s->n)) : s->sx,
                                      across ? s->sy : at_least(s->sy, needed(s->n)));
    put_panes(root, s->panes, s->n, s->sx, s->sy);
    layout_even(s->l, root);
}

/* An option: cells or N% of all, or otherwise `none`. */
static unsigned size_of(struct str text, unsigned all, unsigned none)
{
    int64_t n;
    const char *cause;
    if (!text.n || tmux_percentage(text, 0, all, all, &n, &cause) < 0)
        return none;
    return (unsigned)n;
}

/* Divides `all`, without the border, between the main pane and the others. */
static void divide(unsigned all, struct str main_text, unsigned main_default,
                   struct str other_text, unsigned *main, unsigned *other)
{
    *main = size_of(main_text, all, main_default);
    if (*main + LAYOUT_PANE_MIN >= all) {
        *main = all <= LAYOUT_PANE_MIN * 2 ? LAYOUT_PANE_MIN : all - LAYOUT_PANE_MIN;
        *other = LAYOUT_PANE_MIN;
        return;
    }
    *other = size_of(other_text, all, 0);
    if (*other == 0 || *other > all || all - *other < *main)
        *other = all - *main;
    else
        *main = all - *other;
}

/* The first pane, and the others in a row beside it. along: of the two. */
static void set_main(const struct layout_set *s, enum tmux_layout_kind along,
                     bool mirrored)
{
    bool across = along == LAYOUT_LEFTRIGHT;
    unsigned first, rest, length = needed(s->n - 1);
    if (across)
        divide(s->sx ? s->sx - 1 : 0, s->o->main_pane_width, 80, s->o->other_pane_width,
               &first, &rest);
    else
        divide(s->sy ? s->sy - 1 : 0, s->o->main_pane_height, 24, s->o->other_pane_height,
               &first, &rest);
    length = at_least(length, across ? s->sy : s->sx);
    unsigned sx = across ? first + rest + 1 : length;
    unsigned sy = across ? length : first + rest + 1;
    struct tmux_cell *root = new_root(s, along, sx, sy);
    for (int i = 0; i < 2; i++) {
        bool is_main = (i == 0) != mirrored;
        unsigned part = is_main ? first : rest;
        struct tmux_cell *c = cell_put(root, LAYOUT_PANE, across ? part : sx,
                                       across ? sy : part);
        if (is_main || s->n == 2) {
            c->pane = s->panes[is_main ? 0 : 1];
            continue;
        }
        c->kind = across ? LAYOUT_TOPBOTTOM : LAYOUT_LEFTRIGHT;
        put_panes(c, s->panes + 1, s->n - 1, across ? rest : LAYOUT_PANE_MIN,
                  across ? LAYOUT_PANE_MIN : rest);
        layout_even(s->l, c);
    }
}

static void set_tiled(const struct layout_set *s)
{
    unsigned n = (unsigned)s->n, rows = 1, columns = 1, at = 0;
    while (rows * columns < n) {
        rows++;
        columns += rows * columns < n;
    }
    unsigned width = s->sx < columns ? 0 : (s->sx - (columns - 1)) / columns;
    unsigned height = s->sy < rows ? 0 : (s->sy - (rows - 1)) / rows;
    width = at_least(width, LAYOUT_PANE_MIN);
    height = at_least(height, LAYOUT_PANE_MIN);
    struct tmux_cell *root = new_root(s, LAYOUT_TOPBOTTOM,
                                      at_least(s->sx, (width + 1) * columns - 1),
                                      at_least(s->sy, (height + 1) * rows - 1));
    while (at < n) {
        unsigned here = n - at < columns ? n - at : columns;
        struct tmux_cell *row = cell_put(root, LAYOUT_PANE, s->sx, height);
        if (here == 1) {
            row->pane = s->panes[at++];
            continue;
        }
        row->kind = LAYOUT_LEFTRIGHT;
        put_panes(row, s->panes + at, here, width, height);
        at += here;
        unsigned used = here * (width + 1) - 1;
        if (s->sx > used)
            layout_adjust(s->l, row->last, LAYOUT_LEFTRIGHT, (int)(s->sx - used));
    }
    unsigned used = rows * height + rows - 1;
    if (s->sy > used)
        layout_adjust(s->l, root->last, LAYOUT_TOPBOTTOM, (int)(s->sy - used));
}

void tmux_layout_preset(struct tmux_layout *l, enum tmux_layout_preset preset,
                        const unsigned *panes, size_t n,
                        const struct tmux_layout_options *o)
{
    static const struct tmux_layout_options none;
    if (n < 2 || !l->root)
        return;
    struct layout_set s = {l, panes, n, l->root->sx, l->root->sy, o ? o : &none};
    switch (preset) {
    case LAYOUT_EVEN_HORIZONTAL:
    case LAYOUT_EVEN_VERTICAL:
        set_even(&s,
                 preset == LAYOUT_EVEN_VERTICAL ? LAYOUT_TOPBOTTOM : LAYOUT_LEFTRIGHT);
        break;
    case LAYOUT_MAIN_HORIZONTAL:
    case LAYOUT_MAIN_HORIZONTAL_MIRRORED:
        set_main(&s, LAYOUT_TOPBOTTOM, preset == LAYOUT_MAIN_HORIZONTAL_MIRRORED);
        break;
    case LAYOUT_MAIN_VERTICAL:
    case LAYOUT_MAIN_VERTICAL_MIRRORED:
        set_main(&s, LAYOUT_LEFTRIGHT, preset == LAYOUT_MAIN_VERTICAL_MIRRORED);
        break;
    case LAYOUT_TILED:
    case LAYOUT_PRESETS:
        set_tiled(&s);
        break;
    }
    layout_place(l);
}
