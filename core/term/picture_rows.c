/* SPDX-License-Identifier: MIT */
/* Rows of a picture in a form that can be kept, and the state of the terminal. */
#include "term/picture_own.h"

#include "base/utf8.h"

#include <string.h>

#define RIGHT_HALF UINT32_MAX

/* A pen of a row's form. */
struct form_pen {
    unsigned attr, fg, bg;
};

static unsigned colour_of(const VTermColor *c)
{
    if (VTERM_COLOR_IS_DEFAULT_FG(c) || VTERM_COLOR_IS_DEFAULT_BG(c))
        return PICTURE_NO_COLOUR;
    if (VTERM_COLOR_IS_RGB(c))
        return PICTURE_RGB | (unsigned)c->rgb.red << 16 | (unsigned)c->rgb.green << 8 |
               c->rgb.blue;
    unsigned n = c->indexed.idx;
    return n < 8 ? n : n < 16 ? n - 8 + 90 : PICTURE_256 | n;
}

static struct form_pen pen_of(const VTermScreenCell *c, bool reversed)
{
    const VTermScreenCellAttrs *a = &c->attrs;
    unsigned attr = 0;
    attr |= a->bold ? PICTURE_BOLD : 0;
    attr |= a->font & PIC_FAINT ? PICTURE_FAINT : 0;
    attr |= a->underline == VTERM_UNDERLINE_SINGLE ? PICTURE_UNDER : 0;
    attr |= a->underline == VTERM_UNDERLINE_DOUBLE ? PICTURE_UNDER_2 : 0;
    attr |= a->underline == VTERM_UNDERLINE_CURLY ? PICTURE_UNDER_3 : 0;
    attr |= a->blink ? PICTURE_BLINK : 0;
    attr |= a->reverse ^ (reversed ? 1U : 0U) ? PICTURE_REVERSE : 0;
    attr |= a->conceal ? PICTURE_HIDDEN : 0;
    attr |= a->italic ? PICTURE_ITALIC : 0;
    attr |= a->strike ? PICTURE_STRIKE : 0;
    attr |= a->font & PIC_OVER ? PICTURE_OVER : 0;
    return (struct form_pen){attr, colour_of(&c->fg), colour_of(&c->bg)};
}

static bool is_unused(const VTermScreenCell *c)
{
    return c->chars[0] == 0 && VTERM_COLOR_IS_DEFAULT_BG(&c->bg);
}

/* cell(x) is at cells + x. */
static void put_form(struct buf *out, const VTermScreenCell *cell, int cols,
                     bool reversed)
{
    struct form_pen pen = {0, PICTURE_NO_COLOUR, PICTURE_NO_COLOUR};
    while (cols > 0 && is_unused(&cell[cols - 1]))
        cols--;
    for (int x = 0; x < cols; x++) {
        const VTermScreenCell *c = &cell[x];
        if (c->chars[0] == RIGHT_HALF)
            continue;
        struct form_pen now = pen_of(c, reversed);
        if (c->chars[0] == 0) { /* erased: only its background shows */
            now.attr = 0;
            now.fg = PICTURE_NO_COLOUR;
        }
        if (memcmp(&now, &pen, sizeof(pen)) != 0)
            buf_addf(out, "\033%x;%x;%xm", now.attr, now.fg, now.bg);
        pen = now;
        char utf8[4 * VTERM_MAX_CHARS_PER_CELL];
        size_t n = 0;
        if (c->chars[0] == 0)
            utf8[n++] = ' ';
        for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && c->chars[i]; i++)
            n += (size_t)utf8_encode(c->chars[i], utf8 + n);
        buf_add(out, utf8, n);
    }
}

static int on_push(int cols, const VTermScreenCell *cells, void *arg)
{
    struct picture *p = arg;
    struct buf form = BUF_INIT(SIZE_MAX);
    if (!p->ev || !p->ev->row || p->alt)
        return 1;
    /* libvterm has moved the marks of wrapped rows before: row 0 is the next one. */
    bool wrapped = vterm_state_get_lineinfo(p->state, 0)->continuation;
    put_form(&form, cells, cols, p->m.reverse);
    p->ev->row(p->ev_arg, buf_str(&form), wrapped);
    buf_release(&form);
    return 1;
}

void picture_watch(struct picture *p, const struct picture_events *ev, void *arg)
{
    static const VTermScreenCallbacks calls = {.sb_pushline = on_push};
    p->ev = ev;
    p->ev_arg = arg;
    vterm_screen_set_callbacks(p->cells, ev ? &calls : NULL, p);
}

void picture_row(struct picture *p, int y, bool beneath, struct buf *out, bool *wrapped)
{
    VTermScreenCell cell[PICTURE_SIDE_MAX];
    size_t cols = (size_t)p->cols;
    *wrapped = false;
    if (y < 0 || y >= p->rows)
        return;
    if (beneath && p->under) {
        *wrapped = y + 1 < p->rows && p->under_joined[y + 1];
        put_form(out, p->under + (size_t)y * cols, p->cols, false);
        return;
    }
    for (int x = 0; x < p->cols; x++)
        vterm_screen_get_cell(p->cells, (VTermPos){y, x}, &cell[x]);
    *wrapped = y + 1 < p->rows && vterm_state_get_lineinfo(p->state, y + 1)->continuation;
    put_form(out, cell, p->cols, p->m.reverse);
}

void pic_leave_all(struct picture *p)
{
    struct buf form = BUF_INIT(SIZE_MAX);
    int last = 0;
    bool wrapped;
    if (p->alt || !p->ev->row)
        return;
    for (int y = 0; y < p->rows; y++) {
        buf_reset(&form);
        picture_row(p, y, false, &form, &wrapped);
        last = form.n > 0 ? y + 1 : last;
    }
    for (int y = 0; y < last; y++) {
        buf_reset(&form);
        picture_row(p, y, false, &form, &wrapped);
        p->ev->row(p->ev_arg, buf_str(&form), wrapped && y + 1 < last);
    }
    buf_release(&form);
}

/* ---- lines that pass through ---- */

enum { TAB = 8 };

/*
 * The length of the line at the beginning of s, with its CR and LF, if it is ASCII, tabs
 * included, and fits the row; else 0.
 */
static size_t plain_line(struct str s, int cols)
{
    size_t n = 0, col = 0, most = (size_t)cols;
    for (; n < s.n && col <= most; n++) {
        if (s.p[n] >= 0x20 && s.p[n] < 0x7f)
            col++;
        else if (s.p[n] == '\t' && (col + TAB) / TAB * TAB < most)
            col = (col + TAB) / TAB * TAB;
        else
            break;
    }
    bool ends = n + 2 <= s.n && s.p[n] == '\r' && s.p[n + 1] == '\n';
    return ends && col <= most ? n + 2 : 0;
}

/* Its form: the cells that tabs pass are blank. */
static void report_line(struct picture *p, struct str line, struct buf *form)
{
    size_t col = 0;
    buf_reset(form);
    for (size_t i = 0; i < line.n; i++) {
        size_t to = line.p[i] == '\t' ? (col + TAB) / TAB * TAB : col;
        if (line.p[i] != '\t') {
            while (form->n < col)
                buf_addc(form, ' ');
            buf_addc(form, line.p[i]);
            to++;
        }
        col = to;
    }
    p->ev->row(p->ev_arg, buf_str(form), false);
}

/* Would a line of ASCII that is written on an empty last row be its form? */
static bool lines_are_forms(struct picture *p)
{
    bool whole = p->m.top == 0 && p->m.bottom == p->rows - 1;
    if (!p->ev || !p->ev->row || p->alt || !picture_whole(p) || !whole || p->m.insert ||
        p->m.reverse || p->set[p->shift] == '0' || p->tabs_moved || p->rows == 1 ||
        pic_place(p).row != p->rows - 1)
        return false;
    struct pic_pen pen = pic_pen_of(p);
    return !pen.bold && !pen.italic && !pen.blink && !pen.reverse && !pen.conceal &&
           !pen.strike && pen.underline == 0 && pen.font == 0 &&
           VTERM_COLOR_IS_DEFAULT_FG(&pen.fg) && VTERM_COLOR_IS_DEFAULT_BG(&pen.bg);
}

size_t pic_pass_lines(struct picture *p, struct str bytes, size_t *seen)
{
    size_t at = 0, n, lines = 0, rows = (size_t)p->rows, first = 0;
    struct buf form = BUF_INIT(SIZE_MAX), plain = BUF_INIT(SIZE_MAX);
    const struct picture_events *ev = p->ev;
    bool wrapped;
    *seen = 0;
    if (!lines_are_forms(p))
        return 0;
    for (; (n = plain_line(str_sub(bytes, at, bytes.n), p->cols)) > 0; at += n)
        lines++;
    *seen = at;
    if (lines < 3 * rows)
        return 0;
    /* The first one ends what is in the last row, which is empty after that. */
    first = plain_line(bytes, p->cols);
    picture_feed(p, str_sub(bytes, 0, first), &plain);
    for (int y = 0; y + 1 < p->rows; y++) {
        buf_reset(&form);
        picture_row(p, y, false, &form, &wrapped);
        ev->row(p->ev_arg, buf_str(&form), wrapped);
    }
    for (lines -= rows; lines > 0; lines--, first += n) {
        n = plain_line(str_sub(bytes, first, bytes.n), p->cols);
        report_line(p, str_sub(bytes, first, n - 2), &form);
    }
    /* The others push out rows that were reported above. */
    p->ev = NULL;
    picture_feed(p, str_sub(bytes, first, at - first), &plain);
    p->ev = ev;
    buf_release(&form);
    buf_release(&plain);
    return at;
}

void picture_report(struct picture *p, struct picture_state *out)
{
    VTermPos pos = pic_place(p);
    const struct pic_modes *m = &p->m;
    *out = (struct picture_state){
        .row = pos.row,
        .col = p->phantom ? p->cols : pos.col,
        .top = m->top,
        .bottom = m->bottom,
        .alt = p->alt,
        .cursor_keys = m->cursor_keys,
        .keypad = m->keypad,
        .insert = m->insert,
        .origin = m->origin,
        .no_wrap = m->no_wrap,
        .hidden = m->hidden,
        .paste = m->paste,
        .newline = m->newline,
        .saved_row = p->saved[0].there ? p->saved[0].pos.row : 0,
        .saved_col = p->saved[0].there ? p->saved[0].pos.col : 0,
        .mouse = m->mouse,
        .protocol = m->protocol,
        .steady = m->steady,
        .shape = m->shape == VTERM_PROP_CURSORSHAPE_BLOCK       ? 0
                 : m->shape == VTERM_PROP_CURSORSHAPE_UNDERLINE ? 1
                                                                : 2,
        .title = p->title,
    };
}

bool picture_whole(const struct picture *p)
{
    return p->at == PIC_GROUND && p->utf8_n == 0;
}

bool picture_tab(const struct picture *p, int x)
{
    return x >= 0 && x < p->cols && p->tab[x];
}

void picture_reset(struct picture *p)
{
    struct buf out = BUF_INIT(SIZE_MAX);
    p->at = PIC_GROUND;
    p->utf8_n = 0;
    picture_feed(p, STR("\033c"), &out);
    buf_release(&out);
}
