/* SPDX-License-Identifier: MIT */
/*
 * What characters, controls and sequences do: each goes to libvterm and to the watchers'
 * terminals in one of a few forms. See picture.h for what the forms have in common.
 */
#include "term/own.h"
#include "term/picture_own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUN_MAX = 4096, SGR_PIECE = 8 };

/* Not in libvterm's header: what it counts by, which its screen must be painted by. */
int vterm_unicode_width(uint32_t cp);

int pic_width(uint32_t cp)
{
    int n = vterm_unicode_width(cp);
    return n < 0 ? 1 : n;
}

/* ---- out ---- */

static void add(struct picture *p, const char *z)
{
    buf_addz(p->out, z);
    buf_addz(&p->model, z);
}

__attribute__((format(printf, 2, 3)))
static void addf(struct picture *p, const char *fmt, ...)
{
    char token[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(token, sizeof(token), fmt, ap);
    va_end(ap);
    add(p, token);
}

void pic_flush(struct picture *p)
{
    if (p->model.n > 0)
        vterm_input_write(p->vt, p->model.p, p->model.n);
    buf_reset(&p->model);
}

VTermPos pic_place(struct picture *p)
{
    VTermPos pos;
    pic_flush(p);
    vterm_state_get_cursorpos(p->state, &pos);
    return pos;
}

static void write_now(struct picture *p, struct str s)
{
    if (s.n > 0)
        vterm_input_write(p->vt, s.p, s.n);
}

void pic_go(struct picture *p, VTermPos pos)
{
    int row = pos.row - (p->m.origin ? p->m.top : 0);
    addf(p, "\033[%d;%dH", row < 0 ? 1 : row + 1, pos.col + 1);
    p->phantom = false;
}

static void go_home(struct picture *p)
{
    pic_go(p, (VTermPos){p->m.origin ? p->m.top : 0, 0});
}

/* Terminals differ in how they treat a cursor that is after the end of its row. */
static void settle(struct picture *p)
{
    if (p->phantom)
        pic_go(p, pic_place(p));
    p->cluster_n = 0;
}

/* ---- text ---- */

static void add_cluster(struct picture *p, uint32_t cp)
{
    char utf8[4];
    size_t n = (size_t)utf8_encode(cp, utf8);
    memcpy(p->cluster + p->cluster_n, utf8, n);
    p->cluster_n += n;
    p->cluster_chars++;
    buf_add(&p->text, utf8, n);
}

/* A mark joins the character before it, which is printed again if it was printed. */
static void mark(struct picture *p, uint32_t cp)
{
    if (p->cluster_n == 0 || p->cluster_chars == VTERM_MAX_CHARS_PER_CELL ||
        (p->text.n == 0 && p->m.insert))
        return;
    if (p->text.n == 0) {
        pic_go(p, p->cluster_pos);
        p->last_at = 0;
        buf_add(&p->text, p->cluster, p->cluster_n);
    }
    add_cluster(p, cp);
}

void pic_char(struct picture *p, uint32_t cp)
{
    if (p->set[p->shift] == '0' && cp < 0x80)
        cp = act_drawing((unsigned char)cp);
    int width = pic_width(cp);
    if (width == 0) {
        mark(p, cp);
        return;
    }
    if (p->text.n > RUN_MAX)
        pic_text_done(p);
    p->last_at = p->text.n;
    p->cluster_n = p->cluster_chars = 0;
    p->cluster_width = width;
    add_cluster(p, cp);
}

void pic_text_done(struct picture *p)
{
    struct str s = buf_str(&p->text);
    if (s.n == 0)
        return;
    p->after_cr = false;
    buf_adds(p->out, s);
    VTermPos before = pic_place(p);
    if (!p->phantom && before.col + (int)s.n < p->cols - 1) {
        /* Each character has at least as many bytes as columns, or is a wide one. */
        write_now(p, s);
        p->cluster_pos = pic_place(p);
        p->cluster_pos.col -= p->cluster_width;
    } else {
        write_now(p, str_sub(s, 0, p->last_at));
        before = pic_place(p);
        write_now(p, str_sub(s, p->last_at, s.n));
        VTermPos now = pic_place(p);
        bool stays = now.col == 0 || (now.col == before.col && now.row == before.row);
        p->phantom = stays && !p->m.no_wrap;
        p->cluster_pos = now;
        p->cluster_pos.col -= stays ? 0 : p->cluster_width;
    }
    if (p->cluster_pos.col < 0)
        p->cluster_n = 0;
    buf_reset(&p->text);
}

/* ---- pens, and what is saved ---- */

struct pic_pen pic_pen_of(const struct picture *p)
{
    VTermValue v[VTERM_N_ATTRS] = {{0}};
    for (int i = 1; i < VTERM_N_ATTRS; i++)
        vterm_state_get_penattr(p->state, (VTermAttr)i, &v[i]);
    return (struct pic_pen){
        .fg = v[VTERM_ATTR_FOREGROUND].color,
        .bg = v[VTERM_ATTR_BACKGROUND].color,
        .bold = v[VTERM_ATTR_BOLD].boolean,
        .italic = v[VTERM_ATTR_ITALIC].boolean,
        .blink = v[VTERM_ATTR_BLINK].boolean,
        .reverse = v[VTERM_ATTR_REVERSE].boolean,
        .conceal = v[VTERM_ATTR_CONCEAL].boolean,
        .strike = v[VTERM_ATTR_STRIKE].boolean,
        .underline = v[VTERM_ATTR_UNDERLINE].number,
        .font = v[VTERM_ATTR_FONT].number,
    };
}

static void save(struct picture *p)
{
    struct pic_saved *s = &p->saved[p->alt];
    s->there = true;
    s->pos = pic_place(p);
    s->pen = pic_pen_of(p);
    s->origin = p->m.origin;
    s->shift = p->shift;
    memcpy(s->set, p->set, sizeof(s->set));
}

static void no_pen(struct picture *p)
{
    add(p, "\033[m");
    p->font = 0;
}

static void set_origin(struct picture *p, bool on)
{
    p->m.origin = on;
    add(p, on ? "\033[?6h" : "\033[?6l");
}

static void restore(struct picture *p)
{
    const struct pic_saved *s = &p->saved[p->alt];
    settle(p);
    set_origin(p, s->there && s->origin);
    if (!s->there) {
        go_home(p);
        no_pen(p);
        memset(p->set, 0, sizeof(p->set));
        p->shift = 0;
        return;
    }
    pic_go(p, (VTermPos){s->pos.row < p->rows ? s->pos.row : p->rows - 1,
                         s->pos.col < p->cols ? s->pos.col : p->cols - 1});
    pic_put_pen(p->out, &s->pen, false);
    pic_put_pen(&p->model, &s->pen, true);
    p->font = s->pen.font;
    memcpy(p->set, s->set, sizeof(p->set));
    p->shift = s->shift;
}

/* ---- screens and modes ---- */

void pic_no_modes(struct picture *p)
{
    p->m = (struct pic_modes){.bottom = p->rows - 1,
                              .shape = VTERM_PROP_CURSORSHAPE_BLOCK};
}

void pic_no_tabs(struct picture *p, int from)
{
    for (int i = from; i < PICTURE_SIDE_MAX; i++)
        p->tab[i] = i % 8 == 0;
    p->tabs_moved &= from > 0;
}

void pic_read_under(struct picture *p)
{
    size_t cols = (size_t)p->cols, rows = (size_t)p->rows;
    free(p->under);
    free(p->under_joined);
    p->under = xcalloc(rows * cols, sizeof(*p->under));
    p->under_joined = xcalloc(rows, sizeof(*p->under_joined));
    for (int y = 0; y < p->rows; y++) {
        p->under_joined[y] = vterm_state_get_lineinfo(p->state, y)->continuation;
        for (int x = 0; x < p->cols; x++) {
            VTermScreenCell *c = &p->under[(size_t)y * cols + (size_t)x];
            vterm_screen_get_cell(p->cells, (VTermPos){y, x}, c);
            c->attrs.reverse ^= p->m.reverse;
        }
    }
}

/* All rows scroll on both: in some terminals each screen has a region of its own. */
static void all_scroll(struct picture *p)
{
    VTermPos pos = pic_place(p);
    p->m.top = 0;
    p->m.bottom = p->rows - 1;
    add(p, "\033[r");
    pic_go(p, pos);
}

static void to_alt(struct picture *p, bool on)
{
    if (on == p->alt)
        return;
    settle(p);
    all_scroll(p);
    pic_flush(p);
    if (on) {
        vterm_screen_enable_altscreen(p->cells, 1); /* 40 bytes a cell: when it is used */
        pic_read_under(p);
    }
    add(p, on ? "\033[?1047h" : "\033[?1047l");
    pic_flush(p);
    p->alt = on;
    p->saved[1].there = false;
    if (!on) {
        free(p->under);
        free(p->under_joined);
        p->under = NULL;
        p->under_joined = NULL;
    }
}

static void simple(struct picture *p, bool *mode, bool value, int n, bool on)
{
    *mode = value;
    addf(p, "\033[?%d%c", n, on ? 'h' : 'l');
}

static void private_mode(struct picture *p, int n, bool on)
{
    struct pic_modes *m = &p->m;
    switch (n) {
    case 1: simple(p, &m->cursor_keys, on, n, on); break;
    case 5:
        pic_flush(p); /* rows that leave before it are reported by the old mode */
        simple(p, &m->reverse, on, n, on);
        break;
    case 6:
        settle(p);
        set_origin(p, on);
        go_home(p);
        break;
    case 7:
        settle(p);
        simple(p, &m->no_wrap, !on, n, on);
        break;
    case 12: simple(p, &m->steady, !on, n, on); break;
    case 25: simple(p, &m->hidden, !on, n, on); break;
    case 47:
    case 1047: to_alt(p, on); break;
    case 1048: on ? save(p) : restore(p); break;
    case 1049:
        if (on && !p->alt)
            save(p);
        to_alt(p, on);
        if (!on)
            restore(p);
        break;
    case 1000:
    case 1002:
    case 1003:
        m->mouse = on ? n : 0;
        addf(p, "\033[?%d%c", n, on ? 'h' : 'l');
        break;
    case 1004: simple(p, &m->focus, on, n, on); break;
    case 1005:
    case 1006:
    case 1015:
        m->protocol = on ? n : 0;
        addf(p, "\033[?%d%c", n, on ? 'h' : 'l');
        break;
    case 2004: simple(p, &m->paste, on, n, on); break;
    }
}

static void mode(struct picture *p, int n, bool on)
{
    if (n == 20)
        p->m.newline = on;
    if (n != 4)
        return;
    settle(p);
    p->m.insert = on;
    add(p, on ? "\033[4h" : "\033[4l");
}

static void reset(struct picture *p)
{
    to_alt(p, false);
    pic_flush(p);
    add(p, "\033[?5l\033c\033[1 q");
    pic_no_modes(p);
    pic_no_tabs(p, 0);
    memset(p->set, 0, sizeof(p->set));
    memset(p->saved, 0, sizeof(p->saved));
    p->shift = p->font = 0;
    p->phantom = false;
}

static void soft_reset(struct picture *p)
{
    settle(p);
    VTermPos pos = pic_place(p);
    add(p, "\033[4l\033[?1l\033>\033[?6l\033[r\033[?25h\033[?7h");
    p->m.insert = p->m.cursor_keys = p->m.keypad = p->m.origin = false;
    p->m.hidden = p->m.no_wrap = false;
    p->m.top = 0;
    p->m.bottom = p->rows - 1;
    p->saved[p->alt].there = false;
    memset(p->set, 0, sizeof(p->set));
    p->shift = 0;
    pic_go(p, pos);
    no_pen(p);
}

/* ---- controls and escapes ---- */

void pic_control(struct picture *p, char c)
{
    bool after_cr = p->after_cr;
    p->after_cr = false;
    switch (c) {
    case '\a':
        buf_addc(p->out, c);
        if (p->ev && p->ev->rung)
            p->ev->rung(p->ev_arg);
        break;
    case '\b':
        settle(p);
        add(p, "\b");
        break;
    case '\t':
        settle(p);
        add(p, "\t");
        break;
    case '\n':
    case '\v':
    case '\f':
        settle(p);
        add(p, !after_cr && ((!p->alt && !p->ev) || p->m.newline) ? "\r\n" : "\n");
        break;
    case '\r':
        settle(p);
        add(p, "\r");
        p->after_cr = true;
        break;
    case 14:
    case 15: p->shift = c == 14; break;
    }
}

void pic_escape(struct picture *p, char c)
{
    switch (c) {
    case '7': save(p); break;
    case '8': restore(p); break;
    case 'D':
    case 'E':
    case 'M':
        settle(p);
        addf(p, "\033%c", c);
        break;
    case 'H':
        settle(p);
        p->tab[pic_place(p).col] = p->tabs_moved = true;
        add(p, "\033H");
        break;
    case 'c': reset(p); break;
    case '=':
    case '>':
        p->m.keypad = c == '=';
        addf(p, "\033%c", c);
        break;
    case 'n': p->shift = 2; break;
    case 'o': p->shift = 3; break;
    }
}

void pic_designate(struct picture *p, char which, char c)
{
    if (which >= '(' && which <= '+')
        p->set[which - '('] = c == '0' ? '0' : 0;
    if (which != '#' || c != '8')
        return;
    settle(p);
    add(p, "\033#8");
    go_home(p);
}

void pic_string(struct picture *p)
{
    const char *s = p->string;
    if (p->kind != ']' || p->string_n < 2 || s[0] < '0' || s[0] > '2' || s[1] != ';')
        return;
    struct str title = str_n(s + 2, p->string_n - 2);
    title.n = utf8_cut(title, title.n < PICTURE_TITLE_MAX ? title.n : PICTURE_TITLE_MAX);
    for (size_t i = 0; i < title.n; i++) {
        if ((unsigned char)title.p[i] < 0x20 || title.p[i] == 0x7f)
            return;
    }
    if (!utf8_valid(title) || s[0] == '1')
        return;
    memcpy(p->title, title.p, title.n);
    p->title[title.n] = 0;
    buf_addf(p->out, "\033]2;%s\a", p->title);
}

/* ---- colours ---- */

struct sgr {
    struct buf view, model;
    int n; /* numbers in them */
};

static void sgr_add(struct sgr *g, const char *view, const char *model)
{
    buf_addf(&g->view, "%s%s", g->view.n ? ";" : "", view);
    buf_addf(&g->model, "%s%s", g->model.n ? ";" : "", model);
    g->n++;
}

static void sgr_end(struct picture *p, struct sgr *g)
{
    if (g->n > 0) {
        buf_addf(p->out, "\033[%sm", buf_z(&g->view));
        buf_addf(&p->model, "\033[%sm", buf_z(&g->model));
    }
    buf_reset(&g->view);
    buf_reset(&g->model);
    g->n = 0;
}

static int number(const struct picture *p, int i)
{
    return i < p->params && p->param[i] > 0 ? p->param[i] : 0;
}

/* A colour from parameter i on. Returns the index of its last one. */
static int sgr_colour(const struct picture *p, int i, struct sgr *g)
{
    char text[64] = "";
    int which = number(p, i), last = i, end = i + 1;
    bool subs = end < p->params && p->sub[end];
    int kind = number(p, i + 1);
    while (subs && end < p->params && p->sub[end])
        end++;
    if (kind == 5) {
        last = i + 2;
        snprintf(text, sizeof(text), "%d;5;%d", which, number(p, last) & 255);
    } else if (kind == 2) {
        int at = i + 2 + (subs && end - i > 5); /* a colour space may come first */
        last = at + 2;
        snprintf(text, sizeof(text), "%d;2;%d;%d;%d", which, number(p, at) & 255,
                 number(p, at + 1) & 255, number(p, at + 2) & 255);
    } else {
        last = i + 1;
    }
    if (text[0] && which != 58)
        sgr_add(g, text, text);
    return subs ? end - 1 : last;
}

/* Faint and overlined, as a font of the model. */
static void sgr_font(struct picture *p, struct sgr *g, const char *view, int font)
{
    char model[16];
    p->font = font;
    snprintf(model, sizeof(model), "%s%d", strcmp(view, "22") == 0 ? "22;" : "",
             10 + font);
    sgr_add(g, view, model);
}

static int sgr_one(struct picture *p, int i, struct sgr *g)
{
    static const char plain[] = {1, 3, 5, 7, 8, 9, 21, 23, 24, 25, 27, 28, 29};
    char text[16];
    int n = number(p, i), next = i;
    if (i + 1 < p->params && p->sub[i + 1] && n != 38 && n != 48 && n != 58) {
        for (next = i + 1; next + 1 < p->params && p->sub[next + 1];)
            next++;
        int style = number(p, i + 1);
        if (n == 4)
            sgr_add(g, style == 0 ? "24" : style == 2 ? "21" : style == 3 ? "4:3" : "4",
                    style == 0 ? "24" : style == 2 ? "21" : style == 3 ? "4:3" : "4");
        return next;
    }
    snprintf(text, sizeof(text), "%d", n);
    if (n == 0) {
        p->font = 0;
        sgr_add(g, "0", "0");
    } else if (n == 2) {
        sgr_font(p, g, "2", p->font | PIC_FAINT);
    } else if (n == 22) {
        sgr_font(p, g, "22", p->font & ~PIC_FAINT);
    } else if (n == 53 || n == 55) {
        sgr_font(p, g, text, n == 53 ? p->font | PIC_OVER : p->font & ~PIC_OVER);
    } else if (n == 38 || n == 48 || n == 58) {
        return sgr_colour(p, i, g);
    } else if (n == 4 || n == 6 || memchr(plain, n, sizeof(plain)) ||
               (n >= 30 && n <= 49) || (n >= 90 && n <= 107)) {
        snprintf(text, sizeof(text), "%d", n == 6 ? 5 : n);
        sgr_add(g, text, text);
    }
    return i;
}

static void colours(struct picture *p)
{
    struct sgr g = {.view = BUF_INIT(4096), .model = BUF_INIT(4096)};
    p->cluster_n = 0;
    if (p->params == 0) {
        no_pen(p);
        return;
    }
    for (int i = 0; i < p->params; i++) {
        i = sgr_one(p, i, &g);
        if (g.n >= SGR_PIECE / 2)
            sgr_end(p, &g);
    }
    sgr_end(p, &g);
    buf_release(&g.view);
    buf_release(&g.model);
}

/* ---- sequences ---- */

/* A count: 1 if it is not given. */
static int count(const struct picture *p, int i)
{
    int n = number(p, i);
    return n > 0 ? n : 1;
}

static void repeat(struct picture *p)
{
    uint32_t cp;
    struct str s = str_n(p->cluster, p->cluster_n);
    if (s.n == 0 || utf8_decode(s, &cp) <= 0)
        return;
    char set = p->set[p->shift];
    p->set[p->shift] = 0; /* the cluster is translated already */
    for (int i = 0, n = count(p, 0); i < n && i < p->cols; i++)
        pic_char(p, cp);
    pic_text_done(p);
    p->set[p->shift] = set;
}

static void region(struct picture *p)
{
    int top = count(p, 0), bottom = number(p, 1);
    if (bottom == 0 || bottom > p->rows)
        bottom = p->rows;
    if (top >= bottom && p->rows > 1)
        return;
    settle(p);
    p->m.top = p->rows > 1 ? top - 1 : 0;
    p->m.bottom = bottom - 1;
    addf(p, "\033[%d;%dr", p->m.top + 1, bottom);
    go_home(p);
}

static void clear_tabs(struct picture *p)
{
    int n = number(p, 0);
    if (n != 0 && n != 3)
        return;
    settle(p);
    if (n == 3)
        memset(p->tab, 0, sizeof(p->tab));
    else
        p->tab[pic_place(p).col] = false;
    p->tabs_moved = true;
    addf(p, "\033[%dg", n);
}

static void shape(struct picture *p)
{
    static const int shapes[] = {
        VTERM_PROP_CURSORSHAPE_BLOCK, VTERM_PROP_CURSORSHAPE_UNDERLINE,
        VTERM_PROP_CURSORSHAPE_BAR_LEFT};
    int n = count(p, 0);
    if (n > 6)
        return;
    p->m.shape = shapes[(n - 1) / 2];
    p->m.steady = n % 2 == 0;
    addf(p, "\033[%d q", n);
}

/* Questions to the terminal: the terminal of the person who drives answers them. */
static void question(struct picture *p, char c)
{
    int n = number(p, 0);
    if (c == 'c' && n == 0)
        buf_addz(p->out, p->leader == '>' ? "\033[>c" : "\033[c");
    else if (c == 'n' && (n == 5 || n == 6))
        buf_addf(p->out, "\033[%s%dn", p->leader ? "?" : "", n);
}

/* ED, before it is done. */
static void clears(struct picture *p)
{
    int n = number(p, 0);
    VTermPos pos = pic_place(p);
    if (n == 3 && p->ev->forget)
        p->ev->forget(p->ev_arg);
    if (n == 2 || (n == 0 && pos.row == 0 && pos.col == 0))
        pic_leave_all(p);
}

static void moves(struct picture *p, char c)
{
    settle(p);
    if (c == 'J' && p->ev && !p->leader)
        clears(p);
    if (c == 'H' || c == 'f')
        addf(p, "\033[%d;%dH", count(p, 0), count(p, 1));
    else if (c == 'J' || c == 'K')
        addf(p, "\033[%d%c", number(p, 0), c);
    else if (c == 'S' && p->ev) /* one by one: each row that leaves is reported */
        for (int n = count(p, 0) < p->rows ? count(p, 0) : p->rows; n > 0; n--)
            add(p, "\033[S"), pic_flush(p);
    else
        addf(p, "\033[%d%c", count(p, 0), c);
    if (c == 'L' || c == 'M')
        add(p, "\r"); /* as on a VT102; not all terminals do it by themselves */
}

static void private_sequence(struct picture *p, char c)
{
    if (p->intermediate)
        return;
    if (p->leader == '>' && c == 'c')
        question(p, c);
    if (p->leader != '?')
        return;
    if (c == 'n')
        question(p, c);
    else if ((c == 'J' && number(p, 0) < 3) || (c == 'K' && number(p, 0) < 3))
        moves(p, c);
    for (int i = 0; (c == 'h' || c == 'l') && i < p->params; i++)
        private_mode(p, number(p, i), c == 'h');
}

void pic_sequence(struct picture *p, char c)
{
    p->after_cr = false;
    if (p->leader) {
        private_sequence(p, c);
        return;
    }
    if (p->intermediate) {
        if (p->intermediate == ' ' && c == 'q')
            shape(p);
        else if (p->intermediate == '!' && c == 'p')
            soft_reset(p);
        return;
    }
    switch (c) {
    case 'b': repeat(p); break;
    case 'c':
    case 'n': question(p, c); break;
    case 'g': clear_tabs(p); break;
    case 'h':
    case 'l':
        for (int i = 0; i < p->params; i++)
            mode(p, number(p, i), c == 'h');
        break;
    case 'm': colours(p); break;
    case 'r': region(p); break;
    case 's':
    case 'u':
        if (p->params == 0)
            c == 's' ? save(p) : restore(p);
        break;
    case 'J':
        if (number(p, 0) <= 3)
            moves(p, c);
        break;
    case 'K':
        if (number(p, 0) <= 2)
            moves(p, c);
        break;
    case 'T':
        if (p->params <= 1)
            moves(p, c);
        break;
    default:
        if (strchr("@ABCDEFGHILMPSXZ`adef", c))
            moves(p, c);
    }
}
