/* SPDX-License-Identifier: MIT */
/*
 * Differences: what a unified diff looks like, that changes make the one text out
 * of the other, and that there are no fewer, by counting in another way.
 */
#include "text/diff.h"

#include "t.h"

/* ---- as text ---- */

static void check_text(const char *old, const char *new, const char *want)
{
    struct buf out = BUF_INIT(1 << 20);
    CHECK_INT(diff_unified(&out, str_of(old), str_of(new), STR("/w/a")), 0);
    CHECK_STR(buf_z(&out), want);
    buf_release(&out);
}

#define HEAD "--- /w/a\n+++ /w/a\n"

TEST(as_text)
{
    check_text("", "", "");
    check_text("a\n", "a\n", "");
    check_text("one\n", "uno\n", HEAD "@@ -1 +1 @@\n-one\n+uno");
    check_text("one", "uno", HEAD "@@ -1 +1 @@\n-one\n+uno");
    check_text("", "a\nb\n", HEAD "@@ -0,0 +1,2 @@\n+a\n+b");
    check_text("", "a", HEAD "@@ -1 +1 @@\n-\n+a");
    check_text("a\nb\n", "", HEAD "@@ -1,2 +0,0 @@\n-a\n-b");
    check_text("a\nb\nc\nd\ne\n", "a\nB\nc\ne\nf\n",
               HEAD "@@ -2 +2 @@\n-b\n+B\n@@ -4 +3,0 @@\n-d\n@@ -5,0 +5 @@\n+f");
    check_text("a", "a\n", HEAD "@@ -1,0 +2 @@\n+");
    check_text("a\nb", "a\nb\nc", HEAD "@@ -2,0 +3 @@\n+c");
    check_text("x\na\n", "x\nb \t\r\n", HEAD "@@ -2 +2 @@\n-a\n+b");
    check_text("a\n", "a \n", HEAD "@@ -1 +1 @@\n-a\n+a");
    check_text("\n\n", "\n", HEAD "@@ -3 +2,0 @@\n-");
}

TEST(a_full_buffer_is_unchanged)
{
    for (size_t max = 4; max < 60; max++) {
        struct buf out = BUF_INIT(max);
        CHECK_INT(buf_addz(&out, "kept"), 0);
        int rc = diff_unified(&out, STR("one\ntwo\n"), STR("one\n2\n"), STR("n"));
        CHECK_INT(rc, out.n > 4 ? 0 : -1);
        CHECK(max < 45 || rc == 0);
        buf_release(&out);
    }
}

/* ---- what changes do ---- */

struct applied {
    struct str old, new; /* what was not passed over yet */
    size_t old_at, new_at, changes, hunks;
};

static struct str take(struct str *rest)
{
    CHECK(rest->p);
    long n = str_chr(*rest, '\n');
    struct str is = str_sub(*rest, 0, n < 0 ? rest->n : (size_t)n);
    *rest = n < 0 ? str_n(NULL, 0) : str_sub(*rest, (size_t)n + 1, rest->n);
    return is;
}

static void pass_same(struct applied *a, size_t old_to)
{
    for (; a->old_at < old_to; a->old_at++, a->new_at++)
        CHECK(str_eq(take(&a->old), take(&a->new)));
}

static void apply(void *arg, const struct diff_hunk *h)
{
    struct applied *a = arg;
    CHECK(h->old_n + h->new_n > 0);
    CHECK(a->hunks == 0 || h->old_at > a->old_at);
    CHECK(h->old_at >= a->old_at && h->old_at - a->old_at == h->new_at - a->new_at);
    pass_same(a, h->old_at);
    for (size_t i = 0; i < h->old_n; i++)
        take(&a->old);
    for (size_t i = 0; i < h->new_n; i++)
        take(&a->new);
    a->old_at += h->old_n;
    a->new_at += h->new_n;
    a->changes += h->old_n + h->new_n;
    a->hunks++;
}

/* The changes there are; *whole: as diff_lines has it. */
static size_t changes(struct str old, struct str new, bool *whole)
{
    struct applied a = {.old = old.p ? old : STR(""), .new = new.p ? new : STR("")};
    *whole = diff_lines(old, new, apply, &a);
    while (a.old.p && a.new.p)
        CHECK(str_eq(take(&a.old), take(&a.new)));
    CHECK(!a.old.p && !a.new.p);
    return a.changes;
}

enum { LINES = 40 };

/* By a table of all pairs: lines are letters. */
static size_t fewest(const char *a, size_t n, const char *b, size_t m)
{
    static size_t t[LINES + 1][LINES + 1];
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0)
                t[i][j] = i + j;
            else if (a[i - 1] == b[j - 1])
                t[i][j] = t[i - 1][j - 1];
            else
                t[i][j] = 1 + (t[i - 1][j] < t[i][j - 1] ? t[i - 1][j] : t[i][j - 1]);
        }
    }
    return t[n][m];
}

static uint32_t chance(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Letters with a newline between two of them. */
static struct str spread(const char *letters, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = letters[i];
        out[2 * i + 1] = '\n';
    }
    return str_n(out, n > 0 ? 2 * n - 1 : 0);
}

TEST(none_fewer)
{
    uint32_t seed = 1;
    for (int round = 0; round < 60000; round++) {
        char a[LINES], b[LINES], x[2 * LINES], y[2 * LINES];
        uint32_t letters = 1 + chance(&seed, 6);
        size_t n = 1 + chance(&seed, LINES), m = 1 + chance(&seed, LINES);
        for (size_t i = 0; i < n; i++)
            a[i] = (char)('a' + chance(&seed, letters));
        for (size_t i = 0; i < m; i++)
            b[i] = i < n && chance(&seed, 3) ? a[i]
                                             : (char)('a' + chance(&seed, letters));
        bool whole;
        size_t got = changes(spread(a, n, x), spread(b, m, y), &whole);
        CHECK(whole);
        CHECK_INT(got, fewest(a, n, b, m));
    }
}

TEST(nothing_and_something)
{
    bool whole;
    CHECK_INT(changes(str_n(NULL, 0), str_n(NULL, 0), &whole), 0);
    CHECK_INT(changes(str_n(NULL, 0), STR("a"), &whole), 2);
    CHECK_INT(changes(STR("a\n"), str_n(NULL, 0), &whole), 1);
    CHECK_INT(changes(STR("\n\n\n"), STR("\n"), &whole), 2);
}

/* ---- large and hostile ---- */

enum { LARGE = 10 << 20 };

static char *fill(uint32_t seed, size_t size, uint32_t letters)
{
    char *p = malloc(size);
    CHECK(p);
    for (size_t i = 0; i < size; i++)
        p[i] = i % 2 ? '\n' : (char)('!' + chance(&seed, letters));
    return p;
}

TEST(one_change_in_much)
{
    char *a = fill(1, LARGE, 90), *b = fill(1, LARGE, 90);
    b[LARGE / 2] = '~' + 1;
    bool whole;
    CHECK_INT(changes(str_n(a, LARGE), str_n(b, LARGE), &whole), 2);
    CHECK(whole);
    free(a);
    free(b);
}

/* Nothing alike, or by chance only: given up soon, and still right. */
TEST(too_much_is_one_change)
{
    static const size_t sizes[] = {20000, 300000, LARGE};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t letters = 2; letters <= 90; letters += 44) {
            char *a = fill(1, sizes[i], letters), *b = fill(2, sizes[i], letters);
            bool whole;
            size_t got = changes(str_n(a, sizes[i]), str_n(b, sizes[i]), &whole);
            CHECK(got <= sizes[i] + 2);
            CHECK(!whole || sizes[i] < LARGE);
            free(a);
            free(b);
        }
    }
}

T_MAIN
