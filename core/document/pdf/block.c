/* SPDX-License-Identifier: MIT */
/*
 * Makes blocks of words, and lines in them. A block grows from its top word by lines that
 * are as close as lines of one text, and by the words next to those.
 */
#include "document/pdf/layout.h"

#include <math.h>
#include <stdlib.h>

/* Parts of the font's size. */
#define LINES_APART 1.5f  /* from base line to base line, at most */
#define ONE_LINE    0.5f  /* up or down, and still in the same line */
#define BESIDE      0.7f  /* from the block's edge to a word of its lines */
#define BESIDE_FEW  1.0f  /* the same for a few words only */
#define SAME_SIZE   0.05f /* of the sizes of two lines */
#define FEW_SIZE    0.2f
#define INNER_SIZE  0.6f
#define ON_BASE     0.05f /* up or down, and still on the base line */
#define SMALL       0.86f /* of the block's size: an index, or a number on a root sign */
#define ONE_BASE    0.3f
#define INDEX_SHIFT 0.65f
#define WORD_GAP    0.1f /* a gap to the right of this size is a blank */
#define APART       0.6f /* letters with a larger gap are of different words */
#define WIDER       0.2f /* how much wider a blank is than a gap between such letters */

enum {
    FEW = 3,
    NONE = UINT32_MAX,
    STEPS_PER_WORD = 1000, /* pages take up to 200, some drawings 900 */
    STEPS_PER_WORK = 8,    /* one of them is little work */
    SPACED_LEAST = 3       /* letters of a line that may be apart for looks */
};

/* ---- words to blocks ---- */

static int by_height(const void *a, const void *b)
{
    const struct pdf_word *p = a, *q = b;
    if (p->turn != q->turn)
        return p->turn < q->turn ? -1 : 1;
    if (p->y != q->y)
        return p->y > q->y ? -1 : 1;
    if (p->x0 != q->x0)
        return p->x0 < q->x0 ? -1 : 1;
    return p->seq < q->seq ? -1 : p->seq > q->seq;
}

/* Returns the first word of that turn that is not higher than y. */
static size_t at_height(const struct layout *a, int turn, float y)
{
    size_t low = 0, high = a->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct pdf_word *w = &a->w[mid];
        if (w->turn < turn || (w->turn == turn && w->y > y))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void take(struct layout *a, struct block *b, struct pdf_word *w)
{
    w->block = (uint32_t)(b - a->block);
    b->n++;
    b->x0 = smaller(b->x0, w->x0);
    b->x1 = larger(b->x1, w->x1);
    b->top = larger(b->top, w->y);
    b->low = smaller(b->low, w->y);
}

enum near { LINE_NEAR, AMONG_LINES, LEFT_OF, RIGHT_OF };

static bool is_near(const struct block *b, const struct pdf_word *w, enum near how)
{
    float s = b->size, other = fabsf(w->size - s);
    switch (how) {
    case LINE_NEAR:
        return other <= SAME_SIZE * s && w->x0 < b->x1 && w->x1 > b->x0;
    case AMONG_LINES:
        return other <= INNER_SIZE * s && w->x0 < b->x1 + BESIDE * s &&
               w->x1 > b->x0 - BESIDE * s;
    case LEFT_OF:
        return other <= FEW_SIZE * s && w->x1 <= b->x0 && w->x1 > b->x0 - BESIDE_FEW * s;
    default:
        return other <= FEW_SIZE * s && w->x0 >= b->x1 && w->x0 < b->x1 + BESIDE_FEW * s;
    }
}

/* Takes up to `most` words that are near, none if there are more. Returns how many. */
static size_t take_near(struct layout *a, struct block *b, enum near how, float slack,
                        size_t most)
{
    size_t from = at_height(a, b->turn, b->top + slack * b->size), n = 0;
    float low = b->low - slack * b->size;
    for (int pass = most < SIZE_MAX ? 0 : 1; pass < 2; pass++) {
        n = 0;
        for (size_t i = from; i < a->n; i++) {
            struct pdf_word *w = &a->w[i];
            if (w->turn != b->turn || w->y < low)
                break;
            a->steps--;
            if (w->block != NONE || !is_near(b, w, how))
                continue;
            n++;
            if (pass)
                take(a, b, w);
        }
        if (n > most)
            return 0;
    }
    return n;
}

static void grow(struct layout *a, struct block *b)
{
    size_t more;
    do {
        more = take_near(a, b, LINE_NEAR, LINES_APART, SIZE_MAX);
        more += take_near(a, b, AMONG_LINES, ONE_LINE, SIZE_MAX);
        if (more)
            continue;
        more = take_near(a, b, LEFT_OF, 0, FEW);
        more += take_near(a, b, RIGHT_OF, 0, FEW);
    } while (more && a->steps > 0);
}

/* Returns the word that a block begins with: not an index, but the letters next to it. */
static struct pdf_word *seed(struct layout *a, size_t at)
{
    struct pdf_word *best = &a->w[at], *w = best;
    float low = w->y - w->size;
    for (size_t i = at + 1; i < a->n && a->w[i].turn == w->turn && a->w[i].y >= low;
         i++) {
        struct pdf_word *other = &a->w[i];
        float gap = larger(other->x0 - w->x1, w->x0 - other->x1);
        float above = w->y - other->y;
        a->steps--;
        if (other->block == NONE && gap < BESIDE * w->size && other->size > best->size &&
            above > ON_BASE * w->size && above < ONE_LINE * other->size)
            best = other;
    }
    return best;
}

static bool make_blocks(struct layout *a)
{
    for (size_t i = 0; i < a->n; i++)
        a->w[i].block = NONE;
    for (size_t i = 0; i < a->n; i++) {
        struct pdf_word *w = &a->w[i];
        if (w->block != NONE)
            continue;
        w = seed(a, i);
        if (a->blocks == a->room) {
            size_t room = a->room ? 2 * a->room : 64;
            struct block *more = realloc(a->block, room * sizeof(*more));
            if (!more)
                return false;
            a->block = more;
            a->room = room;
        }
        struct block *b = &a->block[a->blocks++];
        *b = (struct block){.x0 = w->x0,
                            .x1 = w->x1,
                            .top = w->y,
                            .low = w->y,
                            .size = w->size,
                            .turn = w->turn};
        take(a, b, w);
        grow(a, b);
        i -= a->w[i].block == NONE; /* the index belongs to another block */
        if (a->steps <= 0)
            return false;
    }
    return true;
}

/* ---- words of a block to lines ---- */

static int by_block(const void *a, const void *b)
{
    const struct pdf_word *p = a, *q = b;
    if (p->block != q->block)
        return p->block < q->block ? -1 : 1;
    return by_height(a, b);
}

static int by_line(const void *a, const void *b)
{
    const struct pdf_word *p = a, *q = b;
    if (p->line != q->line)
        return p->line > q->line ? -1 : 1;
    if (p->x0 != q->x0)
        return p->x0 < q->x0 ? -1 : 1;
    return p->seq < q->seq ? -1 : p->seq > q->seq;
}

/* Makes lines of words of full size at one height; `line` is their base line. */
static void main_lines(const struct block *b, struct pdf_word *w)
{
    float y = NAN;
    for (size_t i = 0; i < b->n; i++) {
        w[i].line = NAN;
        if (w[i].size < SMALL * b->size)
            continue;
        if (!(y - w[i].y <= ONE_BASE * w[i].size))
            y = w[i].y;
        w[i].line = y;
    }
}

/* Puts a small word into the nearest line. */
static void find_line(struct layout *a, const struct block *b, struct pdf_word *all,
                      size_t at)
{
    struct pdf_word *w = &all[at];
    float best = INDEX_SHIFT * b->size;
    for (int side = 0; side < 2; side++) {
        for (size_t i = at; side ? i > 0 : i + 1 < b->n;) {
            i = side ? i - 1 : i + 1;
            float away = fabsf(all[i].y - w->y);
            a->steps--;
            if (away > INDEX_SHIFT * b->size)
                break;
            if (isnan(all[i].line) || all[i].size < SMALL * b->size)
                continue;
            float gap = larger(w->x0 - all[i].x1, all[i].x0 - w->x1);
            if (gap > b->size || gap < -0.5f * b->size)
                continue;
            if (away < best) {
                best = away;
                w->line = all[i].line;
            }
        }
    }
}

/*
 * Joins the letters of a line that are apart for looks. Blanks between them are drawn, or
 * wider than the other gaps; a line without either is left as it is, unless the page
 * draws its blanks.
 */
static void join_letters(const struct layout *a, struct pdf_word *w, size_t n)
{
    size_t letters = 0;
    float least = APART * w->size;
    bool shown = a->blanks;
    for (size_t i = 0; i < n; i++) {
        float gap = i ? w[i].x0 - w[i - 1].x1 : least;
        letters += w[i].letter;
        least = gap > WORD_GAP * w->size ? smaller(least, gap) : least;
    }
    for (size_t i = 1; i < n; i++)
        shown = shown || w[i].x0 - w[i - 1].x1 > least + WIDER * w->size;
    if (!shown || letters < SPACED_LEAST || letters * 4 < n * 3)
        return;
    for (size_t i = 1; i < n; i++) {
        if (!w[i].blank && w[i].seq > w[i - 1].seq &&
            w[i].x0 - w[i - 1].x1 <= least + WIDER * w->size)
            w[i].before = PDF_JOINED;
    }
}

/* Whether a line begins with the raised number or star of a note. */
static bool is_mark(const struct pdf_word *w, const struct pdf_word *next)
{
    return w->size < SMALL * next->size && w->y > next->y + ON_BASE * next->size;
}

static void make_lines(struct layout *a, const struct block *b)
{
    struct pdf_word *w = a->w + b->at;
    main_lines(b, w);
    for (size_t i = 0; i < b->n; i++) {
        if (w[i].size < SMALL * b->size)
            find_line(a, b, w, i);
    }
    float y = NAN;
    for (size_t i = 0; i < b->n; i++) {
        if (!isnan(w[i].line))
            continue;
        if (!(y - w[i].y <= ONE_BASE * w[i].size))
            y = w[i].y;
        w[i].line = y;
    }
    qsort(w, b->n, sizeof(*w), by_line);
    for (size_t i = 0; i < b->n; i++) {
        float least = i ? smaller(w[i].size, w[i - 1].size) : 0;
        if (i == 0 || w[i].line != w[i - 1].line)
            w[i].before = PDF_NEW_LINE;
        else if (w[i].x0 - w[i - 1].x1 > WORD_GAP * least ||
                 (w[i].blank && w[i].seq == w[i - 1].seq + 1) ||
                 (w[i - 1].before == PDF_NEW_LINE && is_mark(&w[i - 1], &w[i])))
            w[i].before = PDF_BLANK;
        else
            w[i].before = PDF_JOINED;
    }
    for (size_t i = 0, to; i < b->n; i = to) {
        for (to = i + 1; to < b->n && w[to].before != PDF_NEW_LINE;)
            to++;
        join_letters(a, w + i, to - i);
    }
}

/* ---- all ---- */

static bool lay_out(struct layout *a)
{
    for (size_t i = 0; i < a->n; i++)
        a->blanks = a->blanks || a->w[i].blank;
    qsort(a->w, a->n, sizeof(*a->w), by_height);
    if (!make_blocks(a) || a->blocks > LAYOUT_BLOCKS_MAX)
        return false;
    qsort(a->w, a->n, sizeof(*a->w), by_block);
    size_t at = 0;
    for (size_t i = 0; i < a->blocks; i++) {
        a->block[i].at = at;
        at += a->block[i].n;
        make_lines(a, &a->block[i]);
    }
    layout_order(a);
    return true;
}

static int by_drawing(const void *a, const void *b)
{
    const struct pdf_word *p = a, *q = b;
    return p->seq < q->seq ? -1 : p->seq > q->seq;
}

/*
 * Appends a block; one that stands next to the end of the previous block goes on in its
 * line.
 */
static int put_block(const struct layout *a, size_t at, struct buf *out)
{
    const struct block *b = &a->block[a->order[at]];
    struct pdf_word *w = a->w + b->at;
    if (at) {
        const struct block *p = &a->block[a->order[at - 1]];
        const struct pdf_word *last = a->w + p->at + p->n - 1;
        if (last->turn == w->turn &&
            fabsf(last->line - w->line) <= LAYOUT_SAME_ROW * w->size && w->x0 >= last->x1)
            w->before = PDF_BLANK;
    }
    return buf_add(out, w, b->n * sizeof(*w));
}

int pdf_arrange(struct pdf *d, struct pdf_word *w, size_t n, struct buf *out)
{
    int64_t steps = STEPS_PER_WORD * (int64_t)(n + 1);
    struct layout a = {.w = w, .n = n, .steps = steps};
    int rc = 0;
    if (n && lay_out(&a)) {
        for (size_t i = 0; rc == 0 && i < a.ordered; i++)
            rc = put_block(&a, i, out);
    } else if (n) {
        qsort(w, n, sizeof(*w), by_drawing);
        rc = buf_add(out, w, n * sizeof(*w));
    }
    pdf_work(d, (steps - a.steps) / STEPS_PER_WORK);
    free(a.block);
    return rc;
}
