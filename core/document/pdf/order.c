/* SPDX-License-Identifier: MIT */
/*
 * Blocks in reading order, after T. M. Breuel, "High Performance Document Layout
 * Analysis" (2003): of two blocks above each other the upper one comes first; of two next
 * to each other the left one, except if a block that spans both stands between them in
 * height. Rows of tables are found first, and each is then one block.
 */
#include "document/pdf/layout.h"

#include <math.h>
#include <stdlib.h>

/* Parts of the font's size. */
#define ABOVE_BASE 0.75f
#define BELOW_BASE 0.2f

enum {
    COLUMN_LINES = 6 /* lines of a block that is text in columns, not a cell */
};

/*
 * The block's place after the page is turned so that most of its text runs to the right.
 */
static struct area box_of(const struct block *b, int turn)
{
    float x0 = b->x0, x1 = b->x1;
    float y0 = b->low - BELOW_BASE * b->size, y1 = b->top + ABOVE_BASE * b->size;
    switch ((b->turn - turn) & 3) {
    case 1:
        return (struct area){-y1, x0, -y0, x1};
    case 2:
        return (struct area){-x1, -y1, -x0, -y0};
    case 3:
        return (struct area){y0, -x1, y1, -x0};
    default:
        return (struct area){x0, y0, x1, y1};
    }
}

static bool over(const struct area *p, const struct area *q)
{
    return p->x0 < q->x1 && q->x0 < p->x1;
}

/*
 * ---- rows ----
 *
 * Cells of a table are read row by row. Blocks whose first lines are at one height
 * are a row if there is another such row next to it, of which two cells at least
 * are in the same columns, and no cell of the upper one reaches into the lower one.
 */

struct order_row {
    size_t from, n; /* of `sorted` */
    float low;      /* where its cells end */
    bool joined;
};

static int by_top(const void *x, const void *y)
{
    const struct block *p = *(struct block *const *)x, *q = *(struct block *const *)y;
    float tops = p->box.y1 - q->box.y1;
    if (tops != 0)
        return tops > 0 ? -1 : 1;
    return p->box.x0 < q->box.x0 ? -1 : p->box.x0 > q->box.x0;
}

static int by_left(const void *x, const void *y)
{
    const struct block *p = *(struct block *const *)x, *q = *(struct block *const *)y;
    return p->box.x0 < q->box.x0 ? -1 : p->box.x0 > q->box.x0;
}

static float first_base(const struct block *b)
{
    return b->box.y1 - ABOVE_BASE * b->size;
}

/* About how many lines it has. */
static float lines_of(const struct block *b) { return 1 + (b->top - b->low) / b->size; }

static size_t cells_above(struct block **sorted, const struct order_row *p,
                          const struct order_row *q)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t found = 0;
        for (size_t k = 0; k < q->n; k++)
            found += over(&sorted[p->from + i]->box, &sorted[q->from + k]->box);
        n += found == 1;
    }
    return n;
}

static size_t make_rows(struct block **sorted, size_t n, struct order_row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < n;) {
        struct order_row r = {.from = i, .low = sorted[i]->box.y0};
        float base = first_base(sorted[i]);
        for (; i < n &&
               fabsf(base - first_base(sorted[i])) <= LAYOUT_SAME_ROW * sorted[i]->size;
             i++) {
            r.n++;
            r.low = smaller(r.low, sorted[i]->box.y0);
        }
        if (r.n == 0)
            break;
        qsort(sorted + r.from, r.n, sizeof(*sorted), by_left);
        rows[count++] = r;
    }
    return count;
}

/* Gives each cell of a row the box of the whole row. */
static void join_row(struct block **sorted, const struct order_row *r)
{
    struct area all = sorted[r->from]->box;
    for (size_t i = 1; i < r->n; i++) {
        const struct area *b = &sorted[r->from + i]->box;
        all = (struct area){smaller(all.x0, b->x0), smaller(all.y0, b->y0),
                            larger(all.x1, b->x1), larger(all.y1, b->y1)};
    }
    for (size_t i = 0; i < r->n; i++) {
        sorted[r->from + i]->row = (uint32_t)r->from + 1;
        sorted[r->from + i]->cell = (uint32_t)i;
        sorted[r->from + i]->box = all;
    }
}

/* Whether a row stands by itself: each of its cells is one line. */
static bool one_line(struct block **sorted, const struct order_row *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += lines_of(sorted[r->from + i]) < 2;
    return r->n > 1 && n == r->n;
}

/* Whether p and q belong to columns of much text that stand next to each other. */
static bool in_columns(struct layout *a, const struct block *p, const struct block *q)
{
    for (size_t i = 0; i < a->blocks; i++) {
        const struct block *left = &a->block[i];
        if (lines_of(left) < COLUMN_LINES || !over(&left->box, &p->box) ||
            over(&left->box, &q->box))
            continue;
        for (size_t k = 0; k < a->blocks; k++) {
            const struct block *right = &a->block[k];
            if (lines_of(right) >= COLUMN_LINES && over(&right->box, &q->box) &&
                left->box.x1 < right->box.x0 && left->box.y0 < right->box.y1 &&
                right->box.y0 < left->box.y1)
                return true;
        }
        a->steps -= (int64_t)a->blocks;
    }
    return false;
}

static void find_rows(struct layout *a, struct block **sorted, struct order_row *rows)
{
    for (size_t i = 0; i < a->blocks; i++)
        sorted[i] = &a->block[i];
    qsort(sorted, a->blocks, sizeof(*sorted), by_top);
    size_t n = make_rows(sorted, a->blocks, rows);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct order_row *p = &rows[i], *q = p + 1;
        if (p->n < 2 || q->n < 2 || p->low < first_base(sorted[q->from]) ||
            cells_above(sorted, p, q) < 2)
            continue;
        rows[i].joined = rows[i + 1].joined = true;
    }
    for (size_t i = 0; i < n; i++) {
        const struct order_row *r = &rows[i];
        rows[i].joined = (r->joined || one_line(sorted, r)) &&
                         !in_columns(a, sorted[r->from], sorted[r->from + r->n - 1]);
    }
    for (size_t i = 0; i < n; i++) {
        if (rows[i].joined)
            join_row(sorted, &rows[i]);
    }
}

static bool beside(const struct area *p, const struct area *q)
{
    return p->y0 < q->y1 && q->y0 < p->y1;
}

/*
 * Whether p and q, one above the other, are in no columns: nothing stands next to the one
 * and above or below the other. So stand a title in the middle and the first heading.
 */
static bool alone(struct layout *a, const struct block *p, const struct block *q)
{
    bool found = beside(&p->box, &q->box);
    a->steps -= (int64_t)a->blocks;
    for (size_t i = 0; i < a->blocks && !found; i++) {
        const struct area *r = &a->block[i].box;
        found = (beside(r, &p->box) && over(r, &q->box)) ||
                (beside(r, &q->box) && over(r, &p->box));
    }
    return !found;
}

/*
 * Whether p is read before q. A block that spans both begins at the left one, or in the
 * space next to it.
 */
static bool comes_before(struct layout *a, const struct block *p, const struct block *q)
{
    if (p->row && p->row == q->row)
        return p->cell < q->cell;
    if (over(&p->box, &q->box) || alone(a, p, q))
        return p->box.y1 > q->box.y1;
    if (p->box.x0 > q->box.x0 || (a->steps -= (int64_t)a->blocks) < 0)
        return false;
    float high = larger(p->box.y1, q->box.y1), low = smaller(p->box.y0, q->box.y0);
    for (size_t i = 0; i < a->blocks; i++) {
        const struct block *r = &a->block[i];
        if (r != p && r != q && r->box.y1 < high && r->box.y0 > low &&
            r->box.x0 < (p->box.x1 + q->box.x0) / 2 && over(&r->box, &q->box))
            return false;
    }
    return true;
}

static void visit(struct layout *a, struct block *b)
{
    b->done = true;
    for (size_t i = 0; i < a->blocks; i++) {
        struct block *p = &a->block[i];
        if (!p->done && comes_before(a, p, b))
            visit(a, p);
    }
    a->order[a->ordered++] = (uint32_t)(b - a->block);
}

static int main_turn(const struct layout *a)
{
    size_t count[4] = {0};
    int best = 0;
    for (size_t i = 0; i < a->n; i++)
        count[a->w[i].turn]++;
    for (int i = 1; i < 4; i++)
        best = count[i] > count[best] ? i : best;
    return best;
}

void layout_order(struct layout *a)
{
    int turn = main_turn(a);
    for (size_t i = 0; i < a->blocks; i++)
        a->block[i].box = box_of(&a->block[i], turn);
    struct block *sorted[LAYOUT_BLOCKS_MAX];
    struct order_row rows[LAYOUT_BLOCKS_MAX];
    find_rows(a, sorted, rows);
    for (size_t i = 0; i < a->blocks; i++) {
        if (!a->block[i].done)
            visit(a, &a->block[i]);
    }
}
