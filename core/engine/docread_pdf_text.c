/* SPDX-License-Identifier: MIT */
/*
 * Glyphs to lines. Nearly every program writes a page in the order in which it is
 * read, so glyphs stay in the order in which they are drawn as long as that makes
 * sense: along a base line, then to a line below, or to the top of a column. Where
 * it does not (a program that draws font by font, or fields last), the pieces are
 * put in order by where they stand.
 *
 * A word ends where there is room for a blank, whether one is drawn or not: most
 * programs only move.
 */
#include "engine/docread_pdf.h"

#include <math.h>
#include <stdlib.h>

/* Parts of the font's size. */
#define WORD_GAP   0.1f  /* to the right: a blank is here */
#define BACK_GAP   0.6f  /* to the left: something else begins */
#define LINE_SHIFT 0.5f  /* up or down, and still the same line: an index */
#define COLUMN_GAP 1.5f  /* to the right: may be another column */
#define SAME_PLACE 0.12f /* drawn twice, to look bold */
#define ABOVE      0.7f

enum { PIECES_MAX = 4000, TWICE_LOOK = 8 };

/* A run of words on one base line, turned so that it goes to the right. */
struct piece {
    float x0, x1, y, size;
    size_t at, n; /* bytes of the text */
    int turn;     /* quarters of a circle */
    bool joined;  /* goes on on the line of the piece before, to the right */
    bool taken;
};

struct pieces {
    struct pdf *d;
    const struct pdf_page *page;
    struct buf list; /* of struct piece */
    struct buf text;
    struct pdf_glyph seen[TWICE_LOOK]; /* the last ones */
    size_t seen_n;
};

static float larger(float a, float b) { return a > b ? a : b; }
static float smaller(float a, float b) { return a < b ? a : b; }

static int turn_of(const struct pdf_glyph *g)
{
    if (fabsf(g->dx) >= fabsf(g->dy))
        return g->dx >= 0 ? 0 : 2;
    return g->dy > 0 ? 1 : 3;
}

/* The glyph as if it were written to the right: where it begins and ends. */
static void place(const struct pdf_glyph *g, int turn, float *x0, float *x1, float *y)
{
    switch (turn) {
    case 1:
        *x0 = g->y;
        *x1 = g->y + g->dy;
        *y = -g->x;
        break;
    case 2:
        *x0 = -g->x;
        *x1 = -(g->x + g->dx);
        *y = -g->y;
        break;
    case 3:
        *x0 = -g->y;
        *x1 = -(g->y + g->dy);
        *y = g->x;
        break;
    default:
        *x0 = g->x;
        *x1 = g->x + g->dx;
        *y = g->y;
        break;
    }
}

static size_t count(const struct pieces *p) { return p->list.n / sizeof(struct piece); }

static struct piece *piece(const struct pieces *p, size_t i)
{
    return (struct piece *)(void *)p->list.p + i;
}

static bool blank(struct str s)
{
    if (str_eq(s, STR("\xc2\xa0")))
        return true;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r' && s.p[i] != '\n')
            return false;
    }
    return true;
}

static bool drawn_twice(struct pieces *p, const struct pdf_glyph *g)
{
    struct str s = str_sub(buf_str(&p->page->text), g->at, g->n);
    for (size_t i = 0; i < p->seen_n && i < TWICE_LOOK; i++) {
        const struct pdf_glyph *o = &p->seen[i];
        if (fabsf(o->x - g->x) < SAME_PLACE * g->size &&
            fabsf(o->y - g->y) < SAME_PLACE * g->size &&
            str_eq(s, str_sub(buf_str(&p->page->text), o->at, o->n)))
            return true;
    }
    p->seen[p->seen_n++ % TWICE_LOOK] = *g;
    return false;
}

/* ---- glyphs to pieces ---- */

enum follows { NEW_LINE, NEW_PIECE, NEW_WORD, SAME_WORD };

static enum follows follows(const struct piece *last, float x0, float y, float size,
                            int turn)
{
    float most = larger(size, last->size), least = smaller(size, last->size);
    float gap = x0 - last->x1;
    if (turn != last->turn || fabsf(y - last->y) > LINE_SHIFT * most)
        return NEW_LINE;
    if (gap < -BACK_GAP * most)
        return NEW_LINE;
    if (gap > COLUMN_GAP * most)
        return NEW_PIECE;
    return gap > WORD_GAP * least ? NEW_WORD : SAME_WORD;
}

static int begin_piece(struct pieces *p, float x0, float y, float size, int turn,
                       bool joined)
{
    struct piece new = {.x0 = x0,
                        .x1 = x0,
                        .y = y,
                        .size = size,
                        .at = p->text.n,
                        .turn = turn,
                        .joined = joined};
    return buf_add(&p->list, &new, sizeof(new));
}

static int add_glyph(struct pieces *p, const struct pdf_glyph *g, bool *space)
{
    struct str s = str_sub(buf_str(&p->page->text), g->at, g->n);
    float x0, x1, y;
    int turn = turn_of(g);
    place(g, turn, &x0, &x1, &y);
    if (blank(s)) {
        *space = true;
        return 0;
    }
    if (drawn_twice(p, g))
        return 0;
    struct piece *last = count(p) ? piece(p, count(p) - 1) : NULL;
    enum follows how = last ? follows(last, x0, y, g->size, turn) : NEW_LINE;
    if (how <= NEW_PIECE) {
        if (begin_piece(p, x0, y, g->size, turn, how == NEW_PIECE) < 0)
            return -1;
    } else if (how == NEW_WORD || *space) {
        if (buf_addc(&p->text, ' ') < 0)
            return -1;
    }
    *space = false;
    last = piece(p, count(p) - 1);
    if (buf_adds(&p->text, s) < 0)
        return -1;
    last->n = p->text.n - last->at;
    last->x1 = x1;
    if (g->size > last->size) { /* the base line is that of the larger letters */
        last->size = g->size;
        last->y = y;
    }
    return 0;
}

/* ---- order ---- */

/*
 * Does the page's own order make sense? Lines go down; what goes up begins another
 * column, to the right of what was, or is rare.
 */
static bool in_order(const struct pieces *p)
{
    size_t lines = 0, jumps = 0;
    const struct piece *before = NULL;
    for (size_t i = 0; i < count(p); i++) {
        const struct piece *x = piece(p, i);
        if (x->joined)
            continue;
        if (before && before->turn == x->turn) {
            bool up = x->y > before->y + ABOVE * x->size;
            bool beside = fabsf(x->y - before->y) <= ABOVE * x->size;
            lines++;
            jumps += (up && x->x0 < before->x1) || (beside && x->x1 < before->x0);
        }
        before = x;
    }
    return jumps * 8 <= lines + 8;
}

/* From top to bottom, and on one line from left to right. */
static int by_place(const void *a, const void *b)
{
    const struct piece *p = a, *q = b;
    if (p->turn != q->turn)
        return p->turn < q->turn ? -1 : 1;
    if (p->y != q->y)
        return p->y > q->y ? -1 : 1;
    return p->x0 < q->x0 ? -1 : p->x0 > q->x0;
}

/* Pieces of nearly one height become a line of them. */
static void join_lines(struct pieces *p)
{
    size_t n = count(p);
    for (size_t i = 0; i < n;) {
        struct piece *first = piece(p, i);
        size_t to = i + 1;
        while (to < n && piece(p, to)->turn == first->turn &&
               first->y - piece(p, to)->y <= LINE_SHIFT * piece(p, to)->size)
            to++;
        for (size_t k = i; k < to; k++)
            piece(p, k)->y = first->y;
        qsort(first, to - i, sizeof(*first), by_place);
        for (size_t k = i; k < to; k++)
            piece(p, k)->joined = k > i;
        i = to;
    }
}

static void put_in_order(struct pieces *p)
{
    if (count(p) == 0 || in_order(p))
        return;
    qsort(p->list.p, count(p), sizeof(struct piece), by_place);
    join_lines(p);
}

/* ---- out ---- */

static bool lower(char c) { return c >= 'a' && c <= 'z'; }

/* A word that is divided at the end of a line is one. */
static bool divided(const struct buf *out, size_t from, struct str next)
{
    return out->n > from + 2 && out->p[out->n - 1] == '-' && lower(out->p[out->n - 2]) &&
           next.n > 1 && lower(next.p[0]);
}

static int put_lines(const struct pieces *p, struct buf *out, size_t from)
{
    struct buf line = BUF_INIT(PDF_STREAM_MAX);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count(p);) {
        struct str first = str_sub(buf_str(&p->text), piece(p, i)->at, piece(p, i)->n);
        if (i && divided(out, from, first))
            buf_truncate(out, out->n - 1);
        else if (i)
            rc = buf_addc(out, '\n');
        buf_reset(&line);
        do {
            const struct piece *x = piece(p, i++);
            if (line.n && rc == 0)
                rc = buf_addc(&line, ' ');
            if (rc == 0)
                rc = buf_adds(&line, str_sub(buf_str(&p->text), x->at, x->n));
        } while (i < count(p) && piece(p, i)->joined);
        if (rc == 0)
            rc = pdf_put_line(out, buf_str(&line));
    }
    buf_release(&line);
    return rc;
}

int pdf_page_lines(struct pdf *d, const struct pdf_page *page, struct buf *out)
{
    struct pieces p = {.d = d, .page = page};
    size_t n = page->glyphs.n / sizeof(struct pdf_glyph), from = out->n;
    buf_init(&p.list, PDF_STREAM_MAX);
    buf_init(&p.text, PDF_STREAM_MAX);
    bool space = false;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct pdf_glyph g;
        memcpy(&g, page->glyphs.p + i * sizeof(g), sizeof(g));
        rc = add_glyph(&p, &g, &space);
    }
    if (rc == 0)
        put_in_order(&p);
    if (rc == 0)
        rc = put_lines(&p, out, from);
    if (rc == 0 && n)
        rc = buf_addc(out, '\n');
    buf_release(&p.list);
    buf_release(&p.text);
    return rc;
}
