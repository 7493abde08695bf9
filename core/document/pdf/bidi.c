/* SPDX-License-Identifier: MIT */
/*
 * Puts lines of Hebrew and Arabic in reading order: a page has them in visual order, the
 * last letter first. Unicode's UAX 9 cannot be reversed exactly, so this is simpler: runs
 * of one direction, and blanks and signs belong to the run around them.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

enum { CHARS_MAX = 4096 }; /* of a line that is reordered; longer ones stay */

enum bidi_side { NEUTRAL, LEFT, RIGHT };

static enum bidi_side side_of(uint32_t c)
{
    if ((c >= 0x660 && c <= 0x669) || (c >= 0x6f0 && c <= 0x6f9))
        return LEFT; /* digits */
    if ((c >= 0x590 && c <= 0x8ff) || (c >= 0xfb1d && c <= 0xfdff) ||
        (c >= 0xfe70 && c <= 0xfefc))
        return RIGHT;
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
        c >= 0xc0)
        return c >= 0x2000 && c < 0x2c00 ? NEUTRAL : LEFT;
    return NEUTRAL;
}

struct turned {
    uint32_t c[CHARS_MAX];
    uint8_t side[CHARS_MAX];
    size_t n, left, right;
};

static bool read_line(struct turned *t, struct str s)
{
    while (s.n) {
        uint32_t c;
        int n = utf8_decode(s, &c);
        if (n < 1 || t->n == CHARS_MAX)
            return false;
        t->side[t->n] = (uint8_t)side_of(c);
        t->left += t->side[t->n] == LEFT;
        t->right += t->side[t->n] == RIGHT;
        t->c[t->n++] = c;
        s = str_sub(s, (size_t)n, s.n);
    }
    return true;
}

/* Neutral characters take the direction of both sides, or else of the line. */
static void fill_neutral(struct turned *t, enum bidi_side base)
{
    for (size_t i = 0; i < t->n;) {
        size_t to = i;
        while (to < t->n && t->side[to] == NEUTRAL)
            to++;
        enum bidi_side before = i ? (enum bidi_side)t->side[i - 1] : base;
        enum bidi_side after = to < t->n ? (enum bidi_side)t->side[to] : base;
        for (; i < to; i++)
            t->side[i] = (uint8_t)(before == after ? before : base);
        i = to == i && i < t->n ? i + 1 : to;
    }
}

static uint32_t mirrored(uint32_t c)
{
    static const char pairs[] = "()[]{}<>";
    for (size_t i = 0; i + 1 < sizeof(pairs); i++) {
        if (c == (unsigned char)pairs[i])
            return (unsigned char)pairs[i ^ 1];
    }
    return c == 0xab ? 0xbb : c == 0xbb ? 0xab : c;
}

static int put(struct buf *out, uint32_t c)
{
    char u[4];
    return buf_add(out, u, (size_t)utf8_encode(c, u));
}

static int put_run(const struct turned *t, size_t from, size_t to, struct buf *out)
{
    int rc = 0;
    for (size_t i = from; rc == 0 && i < to; i++)
        rc = t->side[from] == RIGHT ? put(out, mirrored(t->c[to - 1 - (i - from)]))
                                    : put(out, t->c[i]);
    return rc;
}

static int put_runs(const struct turned *t, bool backward, struct buf *out)
{
    int rc = 0;
    for (size_t done = 0; rc == 0 && done < t->n;) {
        size_t from = backward ? t->n - done - 1 : done, to = from + 1;
        if (backward) {
            while (from > 0 && t->side[from - 1] == t->side[to - 1])
                from--;
        } else {
            while (to < t->n && t->side[to] == t->side[from])
                to++;
        }
        rc = put_run(t, from, to, out);
        done += to - from;
    }
    return rc;
}

static int turn(struct buf *out, struct str line)
{
    struct turned NOT_ZEROED t;
    t.n = t.left = t.right = 0;
    if (!read_line(&t, line) || t.right == 0)
        return buf_adds(out, line);
    enum bidi_side base = t.right >= t.left ? RIGHT : LEFT;
    fill_neutral(&t, base);
    return put_runs(&t, base == RIGHT, out);
}

/* Looks for the first bytes of U+0590 to U+08FF, and of U+F000 on. */
static bool may_turn(struct str line)
{
    for (size_t i = 0; i < line.n; i++) {
        unsigned char c = (unsigned char)line.p[i];
        if ((c >= 0xd6 && c <= 0xdf) || c == 0xe0 || c == 0xef)
            return true;
    }
    return false;
}

int pdf_put_line(struct buf *out, struct str line)
{
    return may_turn(line) ? turn(out, line) : buf_adds(out, line);
}
