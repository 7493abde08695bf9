/* SPDX-License-Identifier: MIT */
/*
 * Glyphs to words, and words in the order of reading to lines of text. A word ends
 * where there is room for a blank, whether one is drawn or not (most programs only
 * move), and where the letters get smaller or leave the base line. Accents that are drawn
 * over a letter, as with fonts of TeX, become one letter with it.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* Parts of the font's size. */
#define WORD_GAP   0.1f  /* a gap to the right of this size is a blank */
#define BACK_GAP   0.2f  /* to the left: something else begins */
#define LINE_SHIFT 0.05f /* up or down: something else begins */
#define SIZE_SHIFT 0.05f /* as well */
#define SLANT      0.01f /* of the square: what a glyph of a slanted text covers */
#define SAME_PLACE 0.12f /* drawn twice, to look bold */

enum { TWICE_LOOK = 128 }; /* glyphs: a line of letters, drawn again */

struct pdf_words {
    const struct pdf_page *page;
    struct buf list; /* of struct pdf_word, in the order of drawing */
    struct buf text;
    struct pdf_glyph seen[TWICE_LOOK]; /* the last ones */
    size_t seen_n;
    bool blank;            /* a blank was drawn since the last glyph */
    struct pdf_glyph last; /* the last one of the text; n: its bytes in the text */
    struct pdf_glyph held; /* an accent that waits for a letter; n = 0: none */
};

static float larger(float a, float b) { return a > b ? a : b; }
static float smaller(float a, float b) { return a < b ? a : b; }

static int turn_of(const struct pdf_glyph *g)
{
    if (fabsf(g->dx) >= fabsf(g->dy))
        return g->dx >= 0 ? 0 : 2;
    return g->dy > 0 ? 1 : 3;
}

/* Returns where a glyph begins and ends after it is turned to run to the right. */
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

static bool drawn_twice(struct pdf_words *p, const struct pdf_glyph *g)
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

/* ---- glyphs to words ---- */

static struct pdf_word *last_word(const struct pdf_words *p)
{
    size_t n = p->list.n / sizeof(struct pdf_word);
    return n ? (struct pdf_word *)(void *)p->list.p + n - 1 : NULL;
}

/* Whether a glyph of a slanted text begins where the last one ends. */
PDF_SMALL static bool slants_on(const struct pdf_glyph *last, const struct pdf_glyph *g)
{
    return fabsf(g->dx * g->dy) > SLANT * g->size * g->size && last->n &&
           fabsf(last->x + last->dx - g->x) + fabsf(last->y + last->dy - g->y) <=
               WORD_GAP * g->size;
}

static bool goes_on(const struct pdf_word *w, const struct pdf_word *next)
{
    float least = smaller(w->size, next->size), gap = next->x0 - w->x1;
    return w->turn == next->turn && !next->blank &&
           fabsf(next->y - w->y) <= LINE_SHIFT * least &&
           fabsf(next->size - w->size) <= SIZE_SHIFT * least && gap <= WORD_GAP * least &&
           gap >= -BACK_GAP * least;
}

static bool is_east_asian(char c) { return (unsigned char)c >= 0xe3; /* U+3000 on */ }

/*
 * East Asian text may be drawn letter below letter, as text that runs down the page.
 * Returns whether such a letter is below the last one; then that one runs down, too.
 */
PDF_SMALL static bool runs_down(struct pdf_words *p, const struct pdf_glyph *g)
{
    struct pdf_word *w = last_word(p);
    struct pdf_glyph *o = &p->last;
    if (!w || !o->n || !is_east_asian(p->text.p[p->text.n - o->n]) ||
        fabsf(o->x - g->x) > SAME_PLACE * g->size ||
        fabsf(o->y - g->size - g->y) > SAME_PLACE * g->size)
        return false;
    if (w->turn == 0 && w->n == o->n) {
        o->dx = 0;
        o->dy = -o->size;
        w->turn = (uint8_t)turn_of(o);
        place(o, w->turn, &w->x0, &w->x1, &w->y);
    }
    return true;
}

/* Adds a glyph with its text, which may differ from the glyph's own. */
static int add_letter(struct pdf_words *p, const struct pdf_glyph *glyph, struct str s)
{
    struct pdf_glyph turned = *glyph, *g = &turned;
    if (is_east_asian(*s.p) && runs_down(p, g)) {
        g->dx = 0;
        g->dy = -g->size;
    }
    struct pdf_word new = {.size = g->size,
                           .turn = (uint8_t)turn_of(g),
                           .seq = (uint32_t)(p->list.n / sizeof(new)),
                           .at = (uint32_t)p->text.n,
                           .n = (uint32_t)s.n,
                           .blank = p->blank,
                           .letter = isalnum((unsigned char)*s.p) || *s.p & 0x80};
    place(g, new.turn, &new.x0, &new.x1, &new.y);
    struct pdf_word *last = last_word(p);
    bool on = last && (goes_on(last, &new) || (!p->blank && slants_on(&p->last, g)));
    p->blank = false;
    p->last = *g;
    p->last.n = (uint32_t)s.n;
    if (buf_adds(&p->text, s) < 0)
        return -1;
    if (!on) {
        new.before = !last ? PDF_JOINED
                     : fabsf(new.y - last->y) > larger(new.size, last->size) / 2
                         ? PDF_NEW_LINE
                         : PDF_BLANK;
        return buf_add(&p->list, &new, sizeof(new));
    }
    last->n += (uint32_t)s.n;
    last->letter = false;
    last->x1 = larger(last->x1, new.x1);
    return 0;
}

static struct str text_of(const struct pdf_words *p, const struct pdf_glyph *g)
{
    return str_sub(buf_str(&p->page->text), g->at, g->n);
}

/* Whether the middle of the accent is over the letter. */
PDF_SMALL static bool upon(const struct pdf_glyph *accent, const struct pdf_glyph *letter)
{
    float a0, a1, ay, x0, x1, y;
    int turn = turn_of(letter);
    if (turn_of(accent) != turn || letter->size <= 0)
        return false;
    place(accent, turn, &a0, &a1, &ay);
    place(letter, turn, &x0, &x1, &y);
    float middle = (a0 + a1) / 2;
    return middle > x0 && middle < x1 && fabsf(ay - y) < letter->size;
}

/* Puts an accent on a letter. Returns 0 if they cannot be combined. */
PDF_SMALL static size_t accented(struct str letter, struct str accent, char out[8])
{
    uint32_t base, mark;
    if (letter.n == 0 || utf8_decode(letter, &base) != (int)letter.n ||
        utf8_decode(accent, &mark) < 1)
        return 0;
    return pdf_put_accent(base, pdf_accent(mark), out);
}

/* Adds the waiting accent as a character of its own, since no letter came. */
PDF_SMALL static int add_held(struct pdf_words *p)
{
    struct pdf_glyph g = p->held;
    p->held.n = 0;
    return add_letter(p, &g, text_of(p, &g));
}

static int let_go(struct pdf_words *p) { return p->held.n ? add_held(p) : 0; }

static bool is_accent(struct str s)
{
    uint32_t c;
    return s.n && utf8_decode(s, &c) == (int)s.n && pdf_accent(c);
}

/* Adds an accent, which is drawn after its letter or before it. */
PDF_SMALL static int add_accent(struct pdf_words *p, const struct pdf_glyph *g,
                                struct str s)
{
    char both[8];
    if (let_go(p) < 0)
        return -1;
    if (last_word(p) && p->last.n && upon(g, &p->last)) {
        struct str letter = str_sub(buf_str(&p->text), p->text.n - p->last.n, p->last.n);
        size_t n = accented(letter, s, both);
        if (n) {
            struct pdf_word *w = last_word(p);
            buf_truncate(&p->text, p->text.n - p->last.n);
            w->n += (uint32_t)n - p->last.n;
            p->last.n = (uint32_t)n;
            return buf_add(&p->text, both, n);
        }
    }
    p->held = *g;
    return 0;
}

static int add_glyph(struct pdf_words *p, const struct pdf_glyph *g)
{
    struct str s = text_of(p, g);
    char both[8];
    size_t n;
    if (blank(s)) {
        int rc = let_go(p);
        p->blank = true;
        return rc;
    }
    if (drawn_twice(p, g))
        return 0;
    if (is_accent(s))
        return add_accent(p, g, s);
    if (p->held.n && upon(&p->held, g) &&
        (n = accented(s, text_of(p, &p->held), both)) > 0) {
        p->held.n = 0;
        return add_letter(p, g, str_n(both, n));
    }
    return let_go(p) < 0 ? -1 : add_letter(p, g, s);
}

/* ---- out ---- */

/* A small letter, or a part of a character that is not ASCII. */
static bool lower(char c) { return (c >= 'a' && c <= 'z') || c & 0x80; }

/*
 * Drops the hyphens at the end of a line if they divide a word, of which `next` is the
 * rest: -, U+2010 and U+00AD. Returns whether they did.
 */
PDF_SMALL static bool undivide(struct buf *out, size_t from, struct str next)
{
    struct str s = str_sub(buf_str(out), from, out->n);
    size_t n = s.n;
    for (;;) {
        if (str_ends(s, STR("-")))
            s.n--;
        else if (str_ends(s, STR("\u2010")))
            s.n -= 3;
        else if (str_ends(s, STR("\u00ad")))
            s.n -= 2;
        else
            break;
    }
    bool was = s.n < n && s.n > 1 && lower(s.p[s.n - 1]) && next.n > 1 && lower(*next.p);
    if (was)
        buf_truncate(out, from + s.n);
    return was;
}

static int put_lines(const struct buf *text, const struct buf *list, struct buf *out)
{
    const struct pdf_word *w = (const struct pdf_word *)(const void *)list->p;
    struct buf line = BUF_INIT(PDF_STREAM_MAX);
    size_t n = list->n / sizeof(*w), from = out->n;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n;) {
        struct str first = str_sub(buf_str(text), w[i].at, w[i].n);
        if (i && !undivide(out, from, first))
            rc = buf_addc(out, '\n');
        buf_reset(&line);
        do {
            if (line.n && rc == 0 && w[i].before == PDF_BLANK)
                rc = buf_addc(&line, ' ');
            if (rc == 0)
                rc = buf_adds(&line, str_sub(buf_str(text), w[i].at, w[i].n));
            i++;
        } while (i < n && w[i].before != PDF_NEW_LINE);
        if (rc == 0)
            rc = pdf_put_line(out, buf_str(&line));
    }
    buf_release(&line);
    return rc;
}

int pdf_page_lines(struct pdf *d, const struct pdf_page *page, struct buf *out)
{
    struct pdf_words p = {.page = page};
    struct buf sorted = BUF_INIT(PDF_STREAM_MAX);
    size_t n = page->glyphs.n / sizeof(struct pdf_glyph);
    buf_init(&p.list, PDF_STREAM_MAX);
    buf_init(&p.text, PDF_STREAM_MAX);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct pdf_glyph g;
        memcpy(&g, page->glyphs.p + i * sizeof(g), sizeof(g));
        rc = add_glyph(&p, &g);
    }
    if (rc == 0)
        rc = let_go(&p);
    if (rc == 0)
        rc = pdf_arrange(d, (struct pdf_word *)(void *)p.list.p,
                         p.list.n / sizeof(struct pdf_word), &sorted);
    if (rc == 0)
        rc = put_lines(&p.text, &sorted, out);
    if (rc == 0 && n)
        rc = buf_addc(out, '\n');
    buf_release(&p.list);
    buf_release(&p.text);
    buf_release(&sorted);
    return rc;
}
