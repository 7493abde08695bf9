/* SPDX-License-Identifier: MIT */
/*
 * Painting: cells as the characters and sequences that make them, then the modes.
 *
 * A wide character has two cells, and a program may have left one half of it. Such a half
 * is made as the program made it: by a wide character whose other half is overwritten.
 */
#include "term/picture_own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

#define RIGHT_HALF UINT32_MAX
#define IDEOGRAPHIC_SPACE "\xe3\x80\x80"

/* One screen, and the state of its painting. */
struct canvas {
    const struct picture *p;
    const VTermScreenCell *cell;
    const bool *joined;
    bool *hide;   /* owned: cells of secrets */
    struct buf *out;
    bool model;
    bool reverse; /* the cells were read while the screen was reversed */
    struct pic_pen pen; /* that was set last */
    bool pen_known;
    bool wraps; /* the next character is the first of its row, after a full row */
};

/* ---- pens ---- */

static void put_colour(struct buf *out, const VTermColor *c, bool back)
{
    int base = back ? 40 : 30;
    if (VTERM_COLOR_IS_RGB(c) && !VTERM_COLOR_IS_DEFAULT_FG(c) &&
        !VTERM_COLOR_IS_DEFAULT_BG(c))
        buf_addf(out, ";%d;2;%d;%d;%d", base + 8, c->rgb.red, c->rgb.green, c->rgb.blue);
    else if (VTERM_COLOR_IS_DEFAULT_FG(c) || VTERM_COLOR_IS_DEFAULT_BG(c))
        return;
    else if (c->indexed.idx < 8)
        buf_addf(out, ";%d", base + c->indexed.idx);
    else
        buf_addf(out, ";%d;5;%d", base + 8, c->indexed.idx);
}

void pic_put_pen(struct buf *out, const struct pic_pen *pen, bool model)
{
    buf_addz(out, "\033[0");
    buf_addz(out, pen->bold ? ";1" : "");
    buf_addz(out, pen->italic ? ";3" : "");
    buf_addz(out, pen->blink ? ";5" : "");
    buf_addz(out, pen->reverse ? ";7" : "");
    buf_addz(out, pen->conceal ? ";8" : "");
    buf_addz(out, pen->strike ? ";9" : "");
    if (model && pen->font)
        buf_addf(out, ";%d", 10 + pen->font);
    if (!model && pen->font & PIC_FAINT)
        buf_addz(out, ";2");
    if (!model && pen->font & PIC_OVER)
        buf_addz(out, ";53");
    if (pen->underline == VTERM_UNDERLINE_SINGLE)
        buf_addz(out, ";4");
    else if (pen->underline == VTERM_UNDERLINE_DOUBLE)
        buf_addz(out, ";21");
    buf_addz(out, "m");
    if (pen->underline == VTERM_UNDERLINE_CURLY)
        buf_addz(out, "\033[4:3m");
    struct buf colours = BUF_INIT(64);
    put_colour(&colours, &pen->fg, false);
    put_colour(&colours, &pen->bg, true);
    if (colours.n > 0)
        buf_addf(out, "\033[%sm", buf_z(&colours) + 1);
    buf_release(&colours);
}

static bool same_pen(const struct pic_pen *a, const struct pic_pen *b)
{
    return a->bold == b->bold && a->italic == b->italic && a->blink == b->blink &&
           a->reverse == b->reverse && a->conceal == b->conceal &&
           a->strike == b->strike && a->underline == b->underline &&
           a->font == b->font && vterm_color_is_equal(&a->fg, &b->fg) &&
           vterm_color_is_equal(&a->bg, &b->bg);
}

static struct pic_pen pen_of_cell(const struct canvas *v, const VTermScreenCell *c)
{
    return (struct pic_pen){
        .fg = c->fg,
        .bg = c->bg,
        .bold = c->attrs.bold,
        .italic = c->attrs.italic,
        .blink = c->attrs.blink,
        .reverse = c->attrs.reverse ^ v->reverse,
        .conceal = c->attrs.conceal,
        .strike = c->attrs.strike,
        .underline = c->attrs.underline,
        .font = c->attrs.font,
    };
}

static void use_pen(struct canvas *v, const struct pic_pen *pen)
{
    if (v->pen_known && same_pen(&v->pen, pen))
        return;
    pic_put_pen(v->out, pen, v->model);
    v->pen = *pen;
    v->pen_known = true;
}

/* ---- cells ---- */

static const VTermScreenCell *cell_at(const struct canvas *v, int y, int x)
{
    return &v->cell[(size_t)y * (size_t)v->p->cols + (size_t)x];
}

static int width_of(const VTermScreenCell *c)
{
    return c->chars[0] != 0 && c->chars[0] != RIGHT_HALF && pic_width(c->chars[0]) == 2
               ? 2
               : 1;
}

static bool is_right_half(const struct canvas *v, int y, int x)
{
    return x < v->p->cols && cell_at(v, y, x)->chars[0] == RIGHT_HALF;
}

/* Whether it is a right half without its left half. */
static bool is_orphan(const struct canvas *v, int y, int x)
{
    return is_right_half(v, y, x) && (x == 0 || width_of(cell_at(v, y, x - 1)) == 1);
}

/* Returns where the adjacent left halves begin that reach up to the last column. */
static int cut_from(const struct canvas *v, int y)
{
    int x = v->p->cols;
    while (x > 1 && width_of(cell_at(v, y, x - 1)) == 2)
        x--;
    return x;
}

static bool is_printed(const VTermScreenCell *c)
{
    return c->chars[0] != 0 && c->chars[0] != RIGHT_HALF;
}

static bool is_plain_blank(const VTermScreenCell *c)
{
    return c->chars[0] == 0 && VTERM_COLOR_IS_DEFAULT_FG(&c->fg) &&
           VTERM_COLOR_IS_DEFAULT_BG(&c->bg);
}

static void go(struct canvas *v, int y, int x)
{
    buf_addf(v->out, "\033[%d;%dH", y + 1, x + 1);
}

static void print_cell(struct canvas *v, int y, int x)
{
    const VTermScreenCell *c = cell_at(v, y, x);
    struct pic_pen pen = pen_of_cell(v, c);
    use_pen(v, &pen);
    if (v->hide && v->hide[(size_t)y * (size_t)v->p->cols + (size_t)x]) {
        buf_addz(v->out, width_of(c) == 2 ? "**" : "*");
        return;
    }
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && c->chars[i]; i++) {
        char utf8[4];
        buf_add(v->out, utf8, (size_t)utf8_encode(c->chars[i], utf8));
    }
}

/* The halves of wide characters that stand alone. Returns whether there are any. */
static bool halves(struct canvas *v, int y, bool *dirty)
{
    int cols = v->p->cols;
    bool any = false;
    for (int x = 0; x < cols && !any; x++)
        any = is_orphan(v, y, x);
    int cut = cut_from(v, y);
    any |= cut < cols;
    if (!any || !dirty)
        return any;
    struct pic_pen none = {0};
    vterm_state_get_default_colors(v->p->state, &none.fg, &none.bg);
    use_pen(v, &none);
    if (is_right_half(v, y, 0)) {
        go(v, y, 0);
        buf_addz(v->out, IDEOGRAPHIC_SPACE);
        go(v, y, 0);
        buf_addz(v->out, "\033[P");
    }
    if (cut < cols) {
        for (int x = cut; x < cols; x++) {
            go(v, y, x - 1);
            print_cell(v, y, x);
        }
        go(v, y, cut - 1);
        buf_addz(v->out, "\033[@");
        dirty[cut - 1] = true;
    }
    use_pen(v, &none);
    for (int x = cols - 1; x > 0; x--) {
        if (!is_orphan(v, y, x))
            continue;
        go(v, y, x - 1);
        buf_addz(v->out, IDEOGRAPHIC_SPACE);
        dirty[x - 1] = true;
    }
    return true;
}

static void paint_row(struct canvas *v, int y, bool *dirty)
{
    const struct picture *p = v->p;
    int cols = p->cols, rows = p->rows, cut = cut_from(v, y);
    bool here = v->wraps; /* the cursor is at x */
    memset(dirty, 0, (size_t)cols);
    if (!v->wraps)
        halves(v, y, dirty);
    bool goes_on = y + 1 < rows && v->joined[y + 1] && is_printed(cell_at(v, y + 1, 0)) &&
                   !halves(v, y + 1, NULL);
    for (int x = 0; x < cols;) {
        const VTermScreenCell *c = cell_at(v, y, x);
        int wide = width_of(c);
        if (c->chars[0] == RIGHT_HALF || x >= cut ||
            (is_plain_blank(c) && !dirty[x])) {
            here = false;
            x++;
            continue;
        }
        if (!here)
            go(v, y, x);
        here = false;
        if (c->chars[0] == 0) {
            struct pic_pen pen = {.fg = c->fg, .bg = c->bg};
            use_pen(v, &pen);
            buf_addz(v->out, "\033[X");
            x++;
            continue;
        }
        bool last = x + wide == cols && (wide == 1 || is_right_half(v, y, x + 1));
        if (last && goes_on)
            buf_addz(v->out, "\033[?7h");
        print_cell(v, y, x);
        if (v->wraps)
            buf_addz(v->out, "\033[?7l");
        v->wraps = last && goes_on;
        if (wide == 2 && !is_right_half(v, y, x + 1)) {
            dirty[x + 1] = true;
            x++;
        } else {
            x += wide;
            here = x < cols;
        }
    }
}

/* ---- secrets ---- */

/* Replaces secrets in the rows from y to end, which are one line. */
static void hide_line(struct canvas *v, int y, int end, picture_secret_fn *secret,
                      void *arg)
{
    size_t cols = (size_t)v->p->cols, first = (size_t)y * cols, last = (size_t)end * cols;
    struct buf text = BUF_INIT(SIZE_MAX);
    size_t *cell = xcalloc((last - first) * 4 * VTERM_MAX_CHARS_PER_CELL + 1,
                           sizeof(*cell));
    for (size_t i = first; i < last; i++) {
        const VTermScreenCell *c = &v->cell[i];
        size_t begin = text.n;
        if (c->chars[0] == RIGHT_HALF)
            continue;
        if (c->chars[0] == 0)
            buf_addc(&text, ' ');
        for (int k = 0; k < VTERM_MAX_CHARS_PER_CELL && c->chars[k]; k++) {
            char utf8[4];
            buf_add(&text, utf8, (size_t)utf8_encode(c->chars[k], utf8));
        }
        while (begin < text.n)
            cell[begin++] = i;
    }
    size_t from = 0, at, n;
    while (from < text.n &&
           secret(arg, str_sub(buf_str(&text), from, text.n), &at, &n)) {
        for (size_t i = from + at; i < from + at + n; i++)
            v->hide[cell[i]] = true;
        from += at + n;
    }
    buf_release(&text);
    free(cell);
}

static void hide_all(struct canvas *v, picture_secret_fn *secret, void *arg)
{
    int rows = v->p->rows, y = 0;
    while (y < rows) {
        int end = y + 1;
        while (end < rows && v->joined[end])
            end++;
        hide_line(v, y, end, secret, arg);
        y = end;
    }
}

static void paint_cells(struct canvas *v, picture_secret_fn *secret, void *arg)
{
    const struct picture *p = v->p;
    bool *dirty = xcalloc((size_t)p->cols + 1, sizeof(*dirty));
    v->hide = secret ? xcalloc((size_t)p->rows * (size_t)p->cols, sizeof(*v->hide))
                     : NULL;
    v->pen_known = v->wraps = false;
    if (secret)
        hide_all(v, secret, arg);
    for (int y = 0; y < p->rows; y++)
        paint_row(v, y, dirty);
    free(dirty);
}

/* ---- the rest ---- */

static void put_mode(struct buf *out, bool wanted, const char *sequence)
{
    if (wanted)
        buf_addz(out, sequence);
}

/* v: the screen that is shown. All is as after a reset, except the wrapping. */
static void paint_state(struct canvas *v)
{
    struct picture *p = (struct picture *)(uintptr_t)v->p;
    const struct pic_modes *m = &p->m;
    struct buf *out = v->out;
    VTermPos pos = pic_place(p);
    struct pic_pen pen = pic_pen_of(p);
    int top = m->origin ? m->top : 0;
    if (m->top > 0 || m->bottom < p->rows - 1)
        buf_addf(out, "\033[%d;%dr", m->top + 1, m->bottom + 1);
    put_mode(out, m->origin, "\033[?6h");
    buf_addf(out, "\033[%d;%dH", pos.row - top + 1, pos.col + 1);
    buf_addz(out, "\033[?7h");
    if (p->phantom && is_printed(cell_at(v, pos.row, pos.col)))
        print_cell(v, pos.row, pos.col);
    pic_put_pen(out, &pen, v->model);
    put_mode(out, m->no_wrap, "\033[?7l");
    put_mode(out, m->insert, "\033[4h");
    put_mode(out, m->cursor_keys, "\033[?1h");
    put_mode(out, m->keypad, "\033=");
    put_mode(out, m->reverse, "\033[?5h");
    put_mode(out, m->paste, "\033[?2004h");
    put_mode(out, m->focus, "\033[?1004h");
    if (m->mouse)
        buf_addf(out, "\033[?%dh", m->mouse);
    if (m->protocol)
        buf_addf(out, "\033[?%dh", m->protocol);
    int shape = m->shape == VTERM_PROP_CURSORSHAPE_BLOCK       ? 1
                : m->shape == VTERM_PROP_CURSORSHAPE_UNDERLINE ? 3
                                                               : 5;
    buf_addf(out, "\033[%d q", shape + m->steady);
    put_mode(out, m->hidden, "\033[?25l");
}

static void paint_tabs(const struct picture *p, struct buf *out)
{
    if (!p->tabs_moved)
        return;
    buf_addz(out, "\033[3g");
    for (int x = 0; x < p->cols; x++) {
        if (p->tab[x])
            buf_addf(out, "\033[1;%dH\033H", x + 1);
    }
}

void pic_paint_again(struct picture *p, const VTermScreenCell *cell, const bool *joined)
{
    struct buf out = BUF_INIT(SIZE_MAX), state = BUF_INIT(SIZE_MAX);
    struct canvas v = {.p = p,
                       .cell = cell,
                       .joined = joined,
                       .model = true,
                       .reverse = p->m.reverse};
    v.out = &state;
    paint_state(&v);
    v.out = &out;
    buf_addz(&out, "\033[r\033[?6l\033[4l\033[?7l\033[?5l\033[m");
    paint_cells(&v, NULL, NULL);
    buf_adds(&out, buf_str(&state));
    vterm_input_write(p->vt, out.p, out.n);
    buf_release(&out);
    buf_release(&state);
}

void picture_paint(struct picture *p, struct buf *out, picture_secret_fn *secret,
                   void *arg)
{
    size_t rows = (size_t)p->rows, cols = (size_t)p->cols, at, n;
    VTermScreenCell *cell = xcalloc(rows * cols, sizeof(*cell));
    bool *joined = xcalloc(rows, sizeof(*joined));
    for (int y = 0; y < p->rows; y++) {
        joined[y] = vterm_state_get_lineinfo(p->state, y)->continuation;
        for (int x = 0; x < p->cols; x++)
            vterm_screen_get_cell(p->cells, (VTermPos){y, x},
                                  &cell[(size_t)y * cols + (size_t)x]);
    }
    struct canvas v = {.p = p, .out = out};
    buf_addz(out, "\033[?1047l\033[?5l\033c");
    paint_tabs(p, out);
    buf_addz(out, "\033[?7l");
    if (p->alt) {
        v.cell = p->under;
        v.joined = p->under_joined;
        paint_cells(&v, secret, arg);
        free(v.hide);
        buf_addz(out, "\033[m\033[?1047h");
    }
    v.cell = cell;
    v.joined = joined;
    v.reverse = p->m.reverse;
    paint_cells(&v, secret, arg);
    paint_state(&v);
    bool hidden = secret && secret(arg, str_of(p->title), &at, &n);
    buf_addf(out, "\033]2;%s\a", hidden ? "" : p->title);
    free(v.hide);
    free(cell);
    free(joined);
}
