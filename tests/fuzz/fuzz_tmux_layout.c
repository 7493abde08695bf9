/* SPDX-License-Identifier: MIT */
/*
 * Layouts: the first line is operations of three bytes, what follows is a layout string.
 * After each of them every pane is there once, each cell lies within its parent and
 * beside its neighbour, and what is printed is applied again as the same.
 */
#include "base/log.h"
#include "front/tmux/lang/layout.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PANES = 40, STEPS = 60 };

static unsigned next_pane;

static void check_cell(const struct tmux_cell *c)
{
    unsigned at = c->kind == LAYOUT_LEFTRIGHT ? c->xoff : c->yoff;
    if (!c->first)
        return;
    BUG_ON(c->kind == LAYOUT_PANE);
    for (const struct tmux_cell *k = c->first; k; k = k->next) {
        BUG_ON(k->parent != c || (k->next ? k->next->prev != k : c->last != k));
        if (c->kind == LAYOUT_LEFTRIGHT) {
            BUG_ON(k->xoff != at || k->yoff != c->yoff);
            at += k->sx + 1;
        } else {
            BUG_ON(k->yoff != at || k->xoff != c->xoff);
            at += k->sy + 1;
        }
        check_cell(k);
    }
}

static size_t list(const struct tmux_layout *l, unsigned *panes)
{
    size_t n = 0;
    for (struct tmux_cell *c = tmux_layout_first(l); c; c = tmux_layout_next(c)) {
        for (size_t i = 0; i < n; i++)
            BUG_ON(panes[i] == c->pane);
        BUG_ON(n == PANES || tmux_layout_find(l, c->pane) != c);
        struct tmux_layout_area a = tmux_layout_area(l, c);
        BUG_ON(a.sx < 1 || a.sy < 1);
        panes[n++] = c->pane;
    }
    BUG_ON(n != tmux_layout_count(l));
    return n;
}

static void check(const struct tmux_layout *l)
{
    unsigned panes[PANES];
    size_t n = list(l, panes);
    if (n > 0)
        check_cell(l->root);
}

/* Whether children fill their parents: not where a window is too small for its panes. */
static bool filled(const struct tmux_cell *c)
{
    uint64_t used = 0;
    bool good = true;
    for (const struct tmux_cell *k = c->first; k; k = k->next) {
        bool beside = c->kind == LAYOUT_LEFTRIGHT;
        used += (beside ? k->sx : k->sy) + 1;
        good = good && filled(k) && (beside ? k->sy == c->sy : k->sx == c->sx);
    }
    return good && (!c->first || used - 1 == (c->kind == LAYOUT_LEFTRIGHT ? c->sx : c->sy));
}

static void again(const struct tmux_layout *l)
{
    unsigned panes[PANES];
    size_t n = list(l, panes);
    struct tmux_layout other = {.border = l->border};
    struct buf a = BUF_INIT(1 << 16), b = BUF_INIT(1 << 16), why = BUF_INIT(4096);
    if (n == 0)
        return;
    tmux_layout_init(&other, 80, 24, 0);
    tmux_layout_print(l, &a);
    if (tmux_layout_apply(&other, buf_str(&a), panes, n, &why) == 0) {
        check(&other);
        tmux_layout_print(&other, &b);
        BUG_ON(filled(l->root) && !str_eq(buf_str(&a), buf_str(&b)));
    } else {
        BUG_ON(why.n == 0 || filled(l->root));
        tmux_layout_print(&other, &b);
        BUG_ON(!str_eq(buf_str(&b), STR("b25d,80x24,0,0,0")));
    }
    tmux_layout_release(&other);
    buf_release(&a);
    buf_release(&b);
    buf_release(&why);
}

static void preset(struct tmux_layout *l, unsigned which, unsigned size)
{
    unsigned panes[PANES];
    char width[16];
    snprintf(width, sizeof(width), size % 2 ? "%u" : "%u%%", size);
    struct tmux_layout_options o = {.main_pane_width = str_of(width),
                                    .other_pane_height = str_of(width)};
    tmux_layout_preset(l, (enum tmux_layout_preset)(which % LAYOUT_PRESETS), panes,
                       list(l, panes), &o);
}

static void step(struct tmux_layout *l, const uint8_t *op)
{
    unsigned panes[PANES];
    size_t n = list(l, panes);
    unsigned pane = panes[op[1] % n], other = panes[op[2] % n];
    int size = op[2];
    switch (op[0] % 9) {
    case 0:
    case 1: {
        struct tmux_layout_split how = {op[0] & 16, op[0] & 32, op[0] & 64,
                                        size == 255 ? -1 : size};
        if (n < PANES && tmux_layout_split(l, pane, next_pane, how))
            next_pane++;
        break;
    }
    case 2:
        if (n > 1)
            tmux_layout_remove(l, pane);
        break;
    case 3:
        tmux_layout_swap(tmux_layout_find(l, pane), tmux_layout_find(l, other));
        break;
    case 4:
        tmux_layout_resize(l, op[1] + 1u, op[2] + 1u);
        break;
    case 5:
        tmux_layout_resize_pane(l, pane, op[0] & 16, size - 128, op[0] & 32);
        break;
    case 6:
        tmux_layout_resize_pane_to(l, pane, op[0] & 16, (unsigned)size);
        break;
    case 7:
        tmux_layout_spread(l, pane);
        break;
    case 8:
        preset(l, op[1], op[2]);
        break;
    default:
        break;
    }
}

/* The text as it is, and with its right checksum in front. */
static void apply(struct tmux_layout *l, struct str text)
{
    static const unsigned panes[PANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct buf whole = BUF_INIT(1 << 16), why = BUF_INIT(4096);
    unsigned sum = 0;
    for (size_t i = 0; i < text.n; i++)
        sum = ((sum >> 1 | (sum & 1) << 15) + (unsigned)(signed char)text.p[i]) & 0xffff;
    buf_addf(&whole, "%04x,", sum);
    buf_adds(&whole, text);
    for (size_t n = 0; n <= 10; n++) {
        buf_reset(&why);
        if (tmux_layout_apply(l, buf_str(&whole), panes, n, &why) == 0) {
            BUG_ON(tmux_layout_count(l) != n);
            check(l);
            again(l);
        } else {
            BUG_ON(why.n == 0);
        }
        if (tmux_layout_apply(l, text, panes, n, NULL) == 0)
            check(l);
    }
    tmux_layout_preset_find(text);
    buf_release(&whole);
    buf_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n(data, n), ops = str_cut(&text, '\n');
    struct tmux_layout l = {0};
    if (ops.n < 3)
        return 0;
    const uint8_t *op = data;
    tmux_layout_init(&l, op[0] + 1u, op[1] + 1u, 0);
    l.border = (enum tmux_layout_border)(op[2] % 3);
    next_pane = 1;
    for (size_t i = 3; i + 3 <= ops.n && i < 3 * STEPS; i += 3) {
        step(&l, op + i);
        check(&l);
        again(&l);
    }
    apply(&l, text);
    tmux_layout_release(&l);
    return 0;
}
