/* SPDX-License-Identifier: MIT */
/*
 * Lines that are the same at both ends are skipped first, which leaves little of most
 * edits. The others get numbers, the same for equal lines. In a box (lines of one
 * text against lines of the other) the search goes from both corners at once until
 * the two meet: that place divides it into two smaller boxes. For each diagonal only
 * the farthest line is kept, so the memory is two rows.
 */
#include "text/diff.h"

#include "base/clock.h"
#include "base/map.h"

#include <stdlib.h>

/* The changed part of one text, in lines. */
struct diff_side {
    struct str text; /* the part */
    size_t before;   /* lines of the whole before it */
    size_t n;
    size_t *at;    /* owned: n + 1 offsets; the last is after any last newline */
    uint32_t *id;  /* owned: equal lines have equal ones */
    bool *changed; /* owned */
};

struct diff {
    struct diff_side old, new;
    /* owned: how far a path has come on diagonal k, at [k + middle] */
    int32_t *forth, *back;
    int32_t middle;
    size_t steps;
    bool whole; /* nothing was given up */
};

/* Lines [x, xn) of the old text against [y, yn) of the new one. */
struct diff_box {
    int32_t x, xn, y, yn;
};

/* ---- lines ---- */

/* Cuts the first line off *rest. Sets *more to whether another line follows. */
static struct str take_line(struct str *rest, bool *more)
{
    long n = str_chr(*rest, '\n');
    *more = n >= 0;
    struct str line = str_sub(*rest, 0, n < 0 ? rest->n : (size_t)n);
    *rest = str_sub(*rest, n < 0 ? rest->n : (size_t)n + 1, rest->n);
    return line;
}

static struct str take_last(struct str *rest, bool *more)
{
    size_t from = rest->n;
    while (from > 0 && rest->p[from - 1] != '\n')
        from--;
    *more = from > 0;
    struct str line = str_sub(*rest, from, rest->n);
    *rest = str_sub(*rest, 0, from > 0 ? from - 1 : 0);
    return line;
}

/* Bytes that are the same at the beginning of both. */
static size_t same_head(struct str a, struct str b)
{
    size_t most = a.n < b.n ? a.n : b.n, n = 0;
    while (most - n >= 8 && memcmp(a.p + n, b.p + n, 8) == 0)
        n += 8;
    while (n < most && a.p[n] == b.p[n])
        n++;
    return n;
}

static size_t same_tail(struct str a, struct str b)
{
    size_t most = a.n < b.n ? a.n : b.n, n = 0;
    while (most - n >= 8 && memcmp(a.p + (a.n - n - 8), b.p + (b.n - n - 8), 8) == 0)
        n += 8;
    while (n < most && a.p[a.n - n - 1] == b.p[b.n - n - 1])
        n++;
    return n;
}

/* Skips whole lines at the beginning that are the same. Returns how many. */
static size_t pass_head(struct str *a, struct str *b)
{
    size_t n = same_head(*a, *b);
    while (n > 0 && a->p[n - 1] != '\n')
        n--;
    size_t lines = str_count(str_sub(*a, 0, n), '\n');
    *a = str_sub(*a, n, a->n);
    *b = str_sub(*b, n, b->n);
    return lines;
}

static void pass_tail(struct str *a, struct str *b)
{
    size_t n = same_tail(*a, *b);
    long at = str_chr(str_sub(*a, a->n - n, n), '\n');
    if (at >= 0) {
        a->n -= n - (size_t)at;
        b->n -= n - (size_t)at;
    }
}

/*
 * Skips lines at both ends that are the same. Sets any[i] if lines of the text are left:
 * a text without bytes is one line.
 */
static void trim(struct diff_side *a, struct diff_side *b, bool any[2])
{
    any[0] = any[1] = true;
    a->before = b->before = pass_head(&a->text, &b->text);
    for (int end = 0; end < 2; end++) {
        if (end && any[0] && any[1])
            pass_tail(&a->text, &b->text);
        while (any[0] && any[1]) {
            struct str ra = a->text, rb = b->text;
            bool ma, mb;
            struct str la = end ? take_last(&ra, &ma) : take_line(&ra, &ma);
            struct str lb = end ? take_last(&rb, &mb) : take_line(&rb, &mb);
            if (!str_eq(la, lb))
                break;
            a->text = ra;
            b->text = rb;
            any[0] = ma;
            any[1] = mb;
            a->before += !end;
            b->before += !end;
        }
    }
}

static size_t count_lines(struct str text, bool any)
{
    return str_count(text, '\n') + any;
}

static struct str line(const struct diff_side *s, size_t i)
{
    return str_n(s->text.p + s->at[i], s->at[i + 1] - s->at[i] - 1);
}

static bool cut(struct diff_side *s)
{
    s->at = malloc((s->n + 1) * sizeof(*s->at));
    s->id = malloc((s->n + 1) * sizeof(*s->id));
    s->changed = calloc(s->n + 1, sizeof(*s->changed));
    if (!s->at || !s->id || !s->changed)
        return false;
    struct str rest = s->text;
    for (size_t i = 0; i < s->n; i++) {
        bool more;
        s->at[i] = s->text.n - rest.n;
        s->at[i + 1] = s->at[i] + take_line(&rest, &more).n + 1;
    }
    return true;
}

static void release(struct diff_side *s)
{
    free(s->at);
    free(s->id);
    free(s->changed);
}

/* Numbers from 1 on, in a table of our own: there may be many lines, all alike. */
static bool number(struct diff_side *a, struct diff_side *b)
{
    uint64_t seed[2];
    size_t slots = 16;
    struct {
        struct str line;
        uint32_t id;
    } * slot;
    while (slots < (a->n + b->n) * 2)
        slots *= 2;
    slot = calloc(slots, sizeof(*slot));
    if (!slot)
        return false;
    random_bytes(seed, sizeof(seed));
    uint32_t ids = 0;
    for (size_t i = 0; i < a->n + b->n; i++) {
        struct diff_side *s = i < a->n ? a : b;
        size_t at = i < a->n ? i : i - a->n;
        struct str is = line(s, at);
        size_t h = (size_t)map_hash(seed, is) & (slots - 1);
        while (slot[h].id && !str_eq(slot[h].line, is))
            h = (h + 1) & (slots - 1);
        if (!slot[h].id) {
            slot[h].line = is;
            slot[h].id = ++ids;
        }
        s->id[at] = slot[h].id;
    }
    free(slot);
    return true;
}

/* ---- the search ---- */

/* Returns how far diagonal k comes with one change more than its neighbours. */
static int32_t reach(const int32_t *v, int32_t k, int32_t changes)
{
    if (k == -changes || (k != changes && v[k - 1] < v[k + 1]))
        return v[k + 1];
    return v[k - 1] + 1;
}

/* One line more, from the top left corner or, back, from the bottom right one. */
static bool same(const struct diff *d, const struct diff_box *b, int32_t x, int32_t y,
                 bool back)
{
    if (x >= b->xn - b->x || y >= b->yn - b->y || x < 0 || y < 0)
        return false;
    if (back)
        return d->old.id[b->xn - 1 - x] == d->new.id[b->yn - 1 - y];
    return d->old.id[b->x + x] == d->new.id[b->y + y];
}

/*
 * Follows all diagonals with `changes` changes from one corner. Returns true if the two
 * searches have met, at *at_x, *at_y counted from that corner.
 */
static bool advance(struct diff *d, const struct diff_box *b, int32_t changes, bool back,
                    int32_t *at_x, int32_t *at_y)
{
    int32_t n = b->xn - b->x, m = b->yn - b->y, delta = n - m;
    int32_t *v = (back ? d->back : d->forth) + d->middle;
    const int32_t *other = (back ? d->forth : d->back) + d->middle;
    bool odd = delta & 1;
    int32_t theirs = back ? changes : changes - 1; /* what the other one has done */
    for (int32_t k = -changes; k <= changes; k += 2) {
        int32_t x = reach(v, k, changes), y = x - k;
        for (; same(d, b, x, y, back); x++, y++)
            d->steps++;
        d->steps++;
        v[k] = x;
        int32_t mirrored = delta - k;
        if (odd == back || mirrored < -theirs || mirrored > theirs || x > n || y > m ||
            y < 0 || other[mirrored] > n || x + other[mirrored] < n)
            continue;
        *at_x = x;
        *at_y = y;
        return true;
    }
    return false;
}

/* Finds a place on a shortest path. Returns false after too many steps. */
static bool meet(struct diff *d, const struct diff_box *b, int32_t *x, int32_t *y)
{
    int32_t n = b->xn - b->x, m = b->yn - b->y;
    d->forth[d->middle + 1] = d->back[d->middle + 1] = 0;
    for (int32_t changes = 0; changes <= (n + m + 1) / 2; changes++) {
        if (d->steps > DIFF_STEPS)
            return false;
        if (advance(d, b, changes, false, x, y)) {
            *x += b->x;
            *y += b->y;
            return true;
        }
        if (advance(d, b, changes, true, x, y)) {
            *x = b->xn - *x;
            *y = b->yn - *y;
            return true;
        }
    }
    return false;
}

static void mark(struct diff *d, const struct diff_box *b)
{
    for (int32_t i = b->x; i < b->xn; i++)
        d->old.changed[i] = true;
    for (int32_t i = b->y; i < b->yn; i++)
        d->new.changed[i] = true;
}

/* As deep as the number of changes can be halved. */
static void compare(struct diff *d, struct diff_box b)
{
    for (; b.x < b.xn && b.y < b.yn && d->old.id[b.x] == d->new.id[b.y]; b.x++)
        b.y++;
    for (; b.x < b.xn && b.y < b.yn && d->old.id[b.xn - 1] == d->new.id[b.yn - 1]; b.xn--)
        b.yn--;
    int32_t x, y;
    if (b.x == b.xn || b.y == b.yn) {
        mark(d, &b);
    } else if (!meet(d, &b, &x, &y) || (x == b.x && y == b.y) ||
               (x == b.xn && y == b.yn)) {
        d->whole = false;
        mark(d, &b);
    } else {
        compare(d, (struct diff_box){b.x, x, b.y, y});
        compare(d, (struct diff_box){x, b.xn, y, b.yn});
    }
}

/* ---- changes ---- */

static void tell(const struct diff *d, diff_fn *fn, void *arg)
{
    const struct diff_side *a = &d->old, *b = &d->new;
    size_t x = 0, y = 0;
    while (x < a->n || y < b->n) {
        struct diff_hunk h = {.old_at = a->before + x, .new_at = b->before + y};
        for (; x < a->n && a->changed[x]; x++)
            h.old_n++;
        for (; y < b->n && b->changed[y]; y++)
            h.new_n++;
        if (h.old_n + h.new_n > 0) {
            fn(arg, &h);
        } else {
            x++;
            y++;
        }
    }
}

static bool prepare(struct diff *d)
{
    size_t all = d->old.n + d->new.n, diagonals = 2 * (all + 2);
    if (all > DIFF_LINES_MAX)
        return false;
    d->forth = calloc(diagonals, sizeof(*d->forth));
    d->back = calloc(diagonals, sizeof(*d->back));
    d->middle = (int32_t)all + 1;
    return d->forth && d->back && cut(&d->old) && cut(&d->new) &&
           number(&d->old, &d->new);
}

bool diff_lines(struct str old, struct str new, diff_fn *fn, void *arg)
{
    struct diff d = {.old.text = old, .new.text = new, .whole = true};
    bool any[2];
    trim(&d.old, &d.new, any);
    d.old.n = count_lines(d.old.text, any[0]);
    d.new.n = count_lines(d.new.text, any[1]);
    if (d.old.n == 0 || d.new.n == 0 || !prepare(&d)) {
        struct diff_hunk h = {d.old.before, d.old.n, d.new.before, d.new.n};
        d.whole = d.old.n == 0 || d.new.n == 0;
        if (h.old_n + h.new_n > 0)
            fn(arg, &h);
    } else {
        compare(&d, (struct diff_box){0, (int32_t)d.old.n, 0, (int32_t)d.new.n});
        tell(&d, fn, arg);
    }
    release(&d.old);
    release(&d.new);
    free(d.forth);
    free(d.back);
    return d.whole;
}

/* ---- as text ---- */

struct unified {
    struct buf *out;
    struct str name, old, new; /* what of the texts was not passed over yet */
    size_t old_at, new_at;
    bool any, full;
};

static void put(struct unified *u, struct str s)
{
    u->full = u->full || buf_adds(u->out, s) < 0;
}

/* `n` lines from line `to` on, with a sign before each; *rest is at line *at. */
static void put_lines(struct unified *u, char sign, struct str *rest, size_t *at,
                      size_t to, size_t n)
{
    bool more;
    for (; *at < to + n && !u->full; ++*at) {
        struct str is = take_line(rest, &more);
        if (*at < to)
            continue;
        while (is.n > 0 && strchr(" \t\r\v\f", is.p[is.n - 1]) && is.p[is.n - 1])
            is.n--;
        u->full = u->full || buf_addc(u->out, '\n') < 0 || buf_addc(u->out, sign) < 0;
        put(u, is);
    }
}

/* Lines count from 1; an empty range has the number of the line before it. */
static void put_range(struct unified *u, char sign, size_t at, size_t n)
{
    int rc = n == 1 ? buf_addf(u->out, "%c%zu ", sign, at + 1)
                    : buf_addf(u->out, "%c%zu,%zu ", sign, at + (n > 0), n);
    u->full = u->full || rc < 0;
}

static void put_hunk(void *arg, const struct diff_hunk *h)
{
    struct unified *u = arg;
    if (!u->any) {
        put(u, STR("--- "));
        put(u, u->name);
        put(u, STR("\n+++ "));
        put(u, u->name);
    }
    u->any = true;
    put(u, STR("\n@@ "));
    put_range(u, '-', h->old_at, h->old_n);
    put_range(u, '+', h->new_at, h->new_n);
    put(u, STR("@@"));
    put_lines(u, '-', &u->old, &u->old_at, h->old_at, h->old_n);
    put_lines(u, '+', &u->new, &u->new_at, h->new_at, h->new_n);
}

int diff_unified(struct buf *out, struct str old, struct str new, struct str name)
{
    size_t before = out->n;
    struct unified u = {.out = out, .name = name, .old = old, .new = new};
    diff_lines(old, new, put_hunk, &u);
    if (!u.full)
        return 0;
    buf_truncate(out, before);
    return -1;
}
