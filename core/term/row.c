/* SPDX-License-Identifier: MIT */
/* Rows of cells: see row.h. */
#include "term/row.h"

#include "base/utf8.h"
#include "base/xalloc.h"
#include "term/term.h"

static bool is_joined(const struct term_cell *c) { return c->ch[0] >= CELL_TAB; }

static bool is_blank(const struct term_cell *c)
{
    return (c->ch[0] == 0 || c->ch[0] == ' ' || c->ch[0] == '\t' ||
            c->ch[0] == CELL_TAB) && c->ch[1] == 0;
}

bool row_reserve(struct row *r, size_t n, size_t *cells)
{
    if (n <= r->cap)
        return true;
    size_t cap = n < 64 ? 64 : n < TERM_LINE_MAX / 2 ? n * 2 : n;
    if (n > TERM_LINE_MAX || *cells + cap - r->cap > CELLS_MAX)
        return false;
    r->cell = xrealloc(r->cell, cap, sizeof(*r->cell));
    *cells += cap - r->cap;
    r->cap = cap;
    return true;
}

bool row_extend(struct row *r, size_t n, size_t *cells)
{
    if (!row_reserve(r, n, cells))
        return false;
    for (; r->n < n; r->n++)
        cell_set(&r->cell[r->n], 0);
    return true;
}

void row_split_at(struct row *r, size_t x)
{
    if (!r->joined || x >= r->n || !is_joined(&r->cell[x]))
        return;
    size_t a = x, b = x;
    while (a > 0 && is_joined(&r->cell[a]))
        a--;
    while (b < r->n && is_joined(&r->cell[b]))
        b++;
    for (; a < b; a++)
        cell_set(&r->cell[a], 0);
}

void row_split(struct row *r, size_t x, size_t end)
{
    row_split_at(r, x);
    row_split_at(r, end);
}

void row_cut(struct row *r, size_t n)
{
    if (n < r->n) {
        row_split_at(r, n);
        r->n = n;
    }
    if (r->n == 0)
        r->joined = false;
}

void row_mark(struct row *r, size_t x, uint32_t cp)
{
    if (x == 0 || x > r->n)
        return;
    struct term_cell *c = &r->cell[x - 1];
    if (c->ch[0] == CELL_WIDE)
        c--;
    if (c->ch[0] == 0 || c->ch[0] == CELL_TAB || c->ch[0] == '\t')
        return;
    for (size_t i = 1; i < CELL_CHARS; i++) {
        if (c->ch[i])
            continue;
        c->ch[i] = cp;
        if (i + 1 < CELL_CHARS)
            c->ch[i + 1] = 0;
        return;
    }
}

size_t row_tab_stop(size_t x)
{
    return (x / TAB_WIDTH + 1) * TAB_WIDTH;
}

size_t row_tab(struct row *r, size_t x, size_t *cells)
{
    size_t stop = row_tab_stop(x);
    if (!row_extend(r, stop, cells))
        return x; /* TERM_LINE_MAX */
    cell_set(&r->cell[x], '\t');
    for (size_t i = x + 1; i < stop; i++)
        cell_set(&r->cell[i], CELL_TAB);
    r->joined = true;
    return stop;
}

bool row_load(struct row *r, struct str s, size_t *cells)
{
    size_t x = 0;
    if (!row_reserve(r, s.n < TERM_LINE_MAX ? s.n : TERM_LINE_MAX, cells))
        return false;
    for (size_t i = 0; i < s.n;) {
        uint32_t cp = (unsigned char)s.p[i];
        if (cp == '\t') {
            x = row_tab(r, x, cells);
            i++;
            continue;
        }
        int len = cp < 0x80 ? 1 : utf8_decode(str_sub(s, i, 4), &cp);
        int width = utf8_width(cp);
        i += (size_t)len;
        if (width == 0) {
            row_mark(r, x, cp);
            continue;
        }
        if (!row_extend(r, x + (size_t)width, cells))
            return false;
        cell_set(&r->cell[x], cp);
        if (width == 2) {
            cell_set(&r->cell[x + 1], CELL_WIDE);
            r->joined = true;
        }
        x += (size_t)width;
    }
    return true;
}

size_t row_used(const struct row *r, size_t least)
{
    size_t n = r->n;
    while (n > 0 && (r->cell[n - 1].ch[0] == 0 ||
                     (n > least && is_blank(&r->cell[n - 1]))))
        n--;
    return n;
}

void row_bytes(const struct row *r, size_t least, struct buf *out)
{
    size_t n = row_used(r, least);
    for (size_t x = 0; x < n;) {
        char *p = buf_reserve(out, 256);
        if (!p)
            xalloc_failed(256);
        char *q = p;
        for (; x < n && q - p < 256 - 4 * CELL_CHARS; x++) {
            const struct term_cell *c = &r->cell[x];
            if (is_joined(c))
                continue;
            if (c->ch[0] < 0x80 && c->ch[1] == 0) {
                *q++ = c->ch[0] ? (char)c->ch[0] : ' ';
                continue;
            }
            for (size_t i = 0; i < CELL_CHARS && c->ch[i]; i++)
                q += utf8_encode(c->ch[i], q);
        }
        buf_commit(out, (size_t)(q - p));
    }
}
