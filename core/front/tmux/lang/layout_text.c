/* SPDX-License-Identifier: MIT */
/*
 * Layout strings: a checksum of four hexadecimal digits, a comma, and the root cell; a
 * cell is WxH,X,Y and then ,PANE or its children in {} (side by side) or [] (above one
 * another).
 */
#include "front/tmux/lang/layout_own.h"

#include <ctype.h>

enum { SUM_BYTES = 5 /* "b25d," */, CELLS_MAX = LAYOUT_PANES_MAX * 2 };

/* --- to a text ------------------------------------------------------------------ */

static unsigned checksum(struct str s)
{
    unsigned sum = 0;
    for (size_t i = 0; i < s.n; i++) {
        sum = (sum >> 1 | (sum & 1) << 15) + (unsigned)(signed char)s.p[i];
        sum &= 0xffff;
    }
    return sum;
}

static void print_cell(const struct tmux_cell *c, struct buf *out)
{
    buf_addf(out, "%ux%u,%u,%u", c->sx, c->sy, c->xoff, c->yoff);
    if (!c->first) {
        buf_addf(out, ",%u", c->pane);
        return;
    }
    for (const struct tmux_cell *k = c->first; k; k = k->next) {
        buf_addc(out, k->prev ? ',' : c->kind == LAYOUT_LEFTRIGHT ? '{' : '[');
        print_cell(k, out);
    }
    buf_addc(out, c->kind == LAYOUT_LEFTRIGHT ? '}' : ']');
}

void tmux_layout_print(const struct tmux_layout *l, struct buf *out)
{
    if (!l->root)
        return;
    size_t at = out->n;
    buf_addz(out, "0000,");
    print_cell(l->root, out);
    if (buf_full(out))
        return;
    char sum[SUM_BYTES];
    buf_fill(sum, sizeof(sum), "%04x",
             checksum(str_sub(buf_str(out), at + SUM_BYTES, out->n)));
    memcpy(out->p + at, sum, SUM_BYTES - 1);
}

/* --- from a text ---------------------------------------------------------------- */

/* What is left of a text, and how many cells it may still have. */
struct reader {
    struct str rest;
    size_t cells;
};

static char peek(const struct reader *r) { return r->rest.n ? r->rest.p[0] : '\0'; }

static bool take_char(struct reader *r, char c)
{
    if (peek(r) != c || !r->rest.n)
        return false;
    r->rest = str_sub(r->rest, 1, r->rest.n);
    return true;
}

static bool take_number(struct reader *r, unsigned *out)
{
    size_t n = 0;
    uint64_t v;
    while (n < r->rest.n && isdigit((unsigned char)r->rest.p[n]))
        n++;
    if (str_to_u64(str_sub(r->rest, 0, n), &v) < 0 || v > UINT32_MAX)
        return false;
    *out = (unsigned)v;
    r->rest = str_sub(r->rest, n, r->rest.n);
    return true;
}

/* The number of a pane, which is left out of account; a comma and a cell are left. */
static void skip_pane(struct reader *r)
{
    struct reader ahead = *r;
    unsigned pane;
    if (!take_char(&ahead, ','))
        return;
    take_number(&ahead, &pane);
    if (peek(&ahead) != 'x')
        *r = ahead;
}

/* Fills in a cell and its children. Returns false if the text is not one. */
static bool read_cell(struct reader *r, struct tmux_cell *c)
{
    if (r->cells-- == 0 || !take_number(r, &c->sx) || !take_char(r, 'x') ||
        !take_number(r, &c->sy) || !take_char(r, ',') || !take_number(r, &c->xoff) ||
        !take_char(r, ',') || !take_number(r, &c->yoff))
        return false;
    if (c->sx > LAYOUT_WINDOW_MAX || c->sy > LAYOUT_WINDOW_MAX)
        return false;
    skip_pane(r);
    char next = peek(r);
    if (next != '{' && next != '[')
        return next == ',' || next == '}' || next == ']' || !r->rest.n;
    c->kind = next == '{' ? LAYOUT_LEFTRIGHT : LAYOUT_TOPBOTTOM;
    do {
        r->rest = str_sub(r->rest, 1, r->rest.n);
        if (!read_cell(r, cell_put(c, LAYOUT_PANE, 0, 0)))
            return false;
    } while (peek(r) == ',');
    return take_char(r, next == '{' ? '}' : ']');
}

/* Whether children fill their parents. */
static bool fits(const struct tmux_cell *c)
{
    uint64_t used = 0;
    if (!c->first)
        return true;
    for (const struct tmux_cell *k = c->first; k; k = k->next) {
        bool across = c->kind == LAYOUT_LEFTRIGHT;
        if ((across ? k->sy != c->sy : k->sx != c->sx) || !fits(k))
            return false;
        used += (across ? k->sx : k->sy) + 1;
    }
    return used - 1 == (c->kind == LAYOUT_LEFTRIGHT ? c->sx : c->sy);
}

/* The root is as large as its children, whatever the text says. */
static void fix_root(struct tmux_cell *root)
{
    unsigned along = 0, across = 0;
    if (!root->first)
        return;
    for (struct tmux_cell *k = root->first; k; k = k->next) {
        along += *cell_size(k, root->kind) + 1;
        across = root->kind == LAYOUT_LEFTRIGHT ? k->sy : k->sx;
    }
    root->sx = root->kind == LAYOUT_LEFTRIGHT ? along - 1 : across;
    root->sy = root->kind == LAYOUT_LEFTRIGHT ? across : along - 1;
}

/* "b25d,": as scanf(3) reads "%hx,", whose comma does not count. */
static bool take_checksum(struct reader *r, unsigned *sum)
{
    size_t n = 0;
    *sum = 0;
    for (; n < r->rest.n && isxdigit((unsigned char)r->rest.p[n]); n++) {
        char c = r->rest.p[n];
        *sum = *sum << 4 |
               (unsigned)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
        *sum &= 0xffff;
    }
    if (n == 0 || r->rest.n < SUM_BYTES)
        return false;
    r->rest = str_sub(r->rest, SUM_BYTES, r->rest.n);
    return true;
}

static int refuse(struct tmux_layout *l, struct buf *cause, const char *why)
{
    tmux_layout_release(l);
    if (cause)
        buf_addz(cause, why);
    return -1;
}

int tmux_layout_apply(struct tmux_layout *l, struct str text, const unsigned *panes,
                      size_t n, struct buf *cause)
{
    struct tmux_layout new = {.border = l->border};
    struct reader r = {text, CELLS_MAX};
    unsigned sum;
    if (!take_checksum(&r, &sum) || sum != checksum(r.rest))
        return refuse(&new, cause, "invalid layout");
    new.root = cell_new(NULL);
    if (!read_cell(&r, new.root) || r.rest.n)
        return refuse(&new, cause, "invalid layout");
    size_t cells = cell_leaves(new.root);
    if (n > cells || n == 0) {
        if (cause)
            buf_addf(cause, "have %zu panes but need %zu", n, cells);
        return refuse(&new, NULL, "");
    }
    for (; cells > n; cells--) {
        struct tmux_cell *c = new.root;
        while (c->last)
            c = c->last;
        layout_destroy(&new, c);
    }
    fix_root(new.root);
    if (!fits(new.root))
        return refuse(&new, cause, "size mismatch after applying layout");
    size_t i = 0;
    for (struct tmux_cell *c = tmux_layout_first(&new); c; c = tmux_layout_next(c))
        c->pane = panes[i++];
    layout_place(&new);
    tmux_layout_release(l);
    l->root = new.root;
    return 0;
}
