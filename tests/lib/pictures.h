/* SPDX-License-Identifier: MIT */
/*
 * Whether a painted screen is the screen: what a watcher who came in the middle shows, as
 * a libvterm has it, against one that got all of it, now and after the rest.
 */
#ifndef OD_TESTS_PICTURES_H
#define OD_TESTS_PICTURES_H

#include "base/xalloc.h"
#include "term/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <vterm.h>

struct watcher {
    VTerm *vt;
    VTermScreen *screen;
    VTermState *state;
    int rows, cols, props[VTERM_N_PROPS];
};

static int watcher_prop(VTermProp prop, VTermValue *val, void *user)
{
    struct watcher *w = user;
    if (vterm_get_prop_type(prop) == VTERM_VALUETYPE_BOOL)
        w->props[prop] = val->boolean;
    else if (vterm_get_prop_type(prop) == VTERM_VALUETYPE_INT)
        w->props[prop] = val->number;
    return 1;
}

static const VTermScreenCallbacks watcher_calls = {.settermprop = watcher_prop};

static void watcher_open(struct watcher *w, int rows, int cols)
{
    *w = (struct watcher){.rows = rows, .cols = cols, .vt = vterm_new(rows, cols)};
    vterm_set_utf8(w->vt, 1);
    w->state = vterm_obtain_state(w->vt);
    w->screen = vterm_obtain_screen(w->vt);
    vterm_screen_set_callbacks(w->screen, &watcher_calls, w);
    vterm_screen_enable_altscreen(w->screen, 1);
    vterm_screen_reset(w->screen, 1);
}

static void watcher_gets(struct watcher *w, struct str s)
{
    if (s.n > 0)
        vterm_input_write(w->vt, s.p, s.n);
}

static bool same_cells(const VTermScreenCell *a, const VTermScreenCell *b)
{
    if (a->chars[0] == UINT32_MAX && b->chars[0] == UINT32_MAX)
        return true; /* nothing shows its colours */
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL; i++) {
        if (a->chars[i] != b->chars[i])
            return false;
        if (a->chars[i] == 0)
            break;
    }
    return a->attrs.bold == b->attrs.bold && a->attrs.underline == b->attrs.underline &&
           a->attrs.italic == b->attrs.italic && a->attrs.blink == b->attrs.blink &&
           a->attrs.reverse == b->attrs.reverse &&
           a->attrs.conceal == b->attrs.conceal && a->attrs.strike == b->attrs.strike &&
           vterm_color_is_equal(&a->fg, &b->fg) && vterm_color_is_equal(&a->bg, &b->bg);
}

/* NULL, or where they differ, in words; static. */
static const char *watchers_differ(struct watcher *a, struct watcher *b)
{
    static char why[160];
    VTermPos at, bt;
    for (int y = 0; y < a->rows; y++) {
        for (int x = 0; x < a->cols; x++) {
            VTermScreenCell c = {0}, d = {0};
            vterm_screen_get_cell(a->screen, (VTermPos){y, x}, &c);
            vterm_screen_get_cell(b->screen, (VTermPos){y, x}, &d);
            if (!same_cells(&c, &d)) {
                snprintf(why, sizeof(why), "row %d column %d: U+%04X, not U+%04X", y, x,
                         d.chars[0], c.chars[0]);
                return why;
            }
        }
    }
    vterm_state_get_cursorpos(a->state, &at);
    vterm_state_get_cursorpos(b->state, &bt);
    if (at.row != bt.row || at.col != bt.col) {
        snprintf(why, sizeof(why), "cursor %d %d, not %d %d", bt.row, bt.col, at.row,
                 at.col);
        return why;
    }
    for (int i = 1; i < VTERM_N_ATTRS; i++) {
        VTermValue v = {0}, u = {0};
        vterm_state_get_penattr(a->state, (VTermAttr)i, &v);
        vterm_state_get_penattr(b->state, (VTermAttr)i, &u);
        bool colour = i == VTERM_ATTR_FOREGROUND || i == VTERM_ATTR_BACKGROUND;
        if (colour ? !vterm_color_is_equal(&v.color, &u.color) : v.number != u.number) {
            snprintf(why, sizeof(why), "attribute %d of the pen", i);
            return why;
        }
    }
    for (int i = 1; i < VTERM_N_PROPS; i++) {
        if (a->props[i] != b->props[i]) {
            snprintf(why, sizeof(why), "property %d: %d, not %d", i, b->props[i],
                     a->props[i]);
            return why;
        }
    }
    return NULL;
}

/* Writes what shows the modes that libvterm does not give back. */
static void watcher_probe(struct watcher *w)
{
    watcher_gets(w, STR("x\ty\r\nz\xcc\x81\033[5;5Hq\033[2Lr\n\n\n\n\n\n\n\n\n\n\n\ns"));
}

#endif
