/* SPDX-License-Identifier: MIT */
/*
 * Vectors are the compiler's own type, so that every processor has them. The whole text
 * is compared only where both rare bytes are at their places.
 */
#include "base/scan.h"

typedef unsigned char vec __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t pair __attribute__((vector_size(16)));

enum { STEP = sizeof(vec) };

static unsigned char lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }

/* How common a byte is in sources and texts: 0 is rare. */
static int commonness(unsigned char c)
{
    static const char order[] = " etaoinsrlcdupmfhg_.-/()=;:,*\"'>0{}1<\tbvykwxSETACRIN2";
    const char *at = c ? strchr(order, lower(c)) : NULL;
    return at ? (int)(sizeof(order) - (size_t)(at - order)) : c >= 128 ? 2 : 1;
}

void scan_init(struct scan *s, struct str text, bool fold)
{
    *s = (struct scan){.text = text, .fold = fold};
    for (size_t i = 1; i < text.n; i++) {
        if (commonness((unsigned char)text.p[i]) <
            commonness((unsigned char)text.p[s->first]))
            s->first = i;
    }
    s->second = s->first ? 0 : text.n - 1;
    for (size_t i = 0; i < text.n; i++) {
        if (i != s->first && text.p[i] != text.p[s->first] &&
            commonness((unsigned char)text.p[i]) <
                commonness((unsigned char)text.p[s->second]))
            s->second = i;
    }
}

bool scan_same(struct str a, struct str b, bool fold)
{
    if (!fold)
        return str_eq(a, b);
    for (size_t i = 0; i < a.n; i++) {
        if (lower((unsigned char)a.p[i]) != lower((unsigned char)b.p[i]))
            return false;
    }
    return true;
}

static bool is_letter(unsigned char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

static vec all(unsigned char c) { return (vec){0} + c; }

static bool any(vec v)
{
    pair p = (pair)v;
    return (p[0] | p[1]) != 0;
}

static bool at(const struct scan *s, struct str hay, size_t i)
{
    return scan_same(str_n(hay.p + i, s->text.n), s->text, s->fold);
}

/* Searches byte by byte between from and to, at most hay.n - text.n + 1. */
static long find_slow(const struct scan *s, struct str hay, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (at(s, hay, i))
            return (long)i;
    }
    return -1;
}

long scan_find(const struct scan *s, struct str hay, size_t from)
{
    if (from > hay.n || hay.n - from < s->text.n)
        return -1;
    unsigned char c1 = (unsigned char)s->text.p[s->first];
    unsigned char c2 = (unsigned char)s->text.p[s->second];
    vec f1 = all(s->fold && is_letter(c1) ? 32 : 0), w1 = all(c1) | f1;
    vec f2 = all(s->fold && is_letter(c2) ? 32 : 0), w2 = all(c2) | f2;
    size_t end = hay.n - s->text.n + 1, i = from;
    const char *p1 = hay.p + s->first, *p2 = hay.p + s->second;
    for (; i + STEP <= end; i += STEP) {
        vec a = *(const vec *)(p1 + i) | f1, b = *(const vec *)(p2 + i) | f2;
        vec hit = (vec)((a == w1) & (b == w2));
        if (!any(hit))
            continue;
        for (size_t k = 0; k < STEP; k++) {
            if (hit[k] && at(s, hay, i + k))
                return (long)(i + k);
        }
    }
    return find_slow(s, hay, i, end);
}

size_t scan_count(struct str hay, char byte)
{
    size_t n = 0, i = 0;
    while (i + STEP <= hay.n) {
        vec sum = {0};
        for (int k = 0; k < 255 && i + STEP <= hay.n; k++, i += STEP)
            sum -= (vec)(*(const vec *)(hay.p + i) == all((unsigned char)byte));
        for (size_t k = 0; k < STEP; k++)
            n += sum[k];
    }
    for (; i < hay.n; i++)
        n += hay.p[i] == byte;
    return n;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

size_t scan_unescaped(struct str s)
{
    size_t i = 0;
    for (; i + STEP <= s.n; i += STEP) {
        vec v = *(const vec *)(s.p + i);
        if (any((vec)((v - 0x20 > all(0x5f)) | (v == all('"')) | (v == all('\\')))))
            break;
    }
    while (i < s.n && is_plain((unsigned char)s.p[i]))
        i++;
    return i;
}

size_t line_start_of(struct str text, size_t at_byte)
{
    const char *p = at_byte ? memrchr(text.p, '\n', at_byte) : NULL;
    return p ? (size_t)(p - text.p) + 1 : 0;
}

size_t line_end_of(struct str text, size_t at_byte)
{
    const char *p = at_byte < text.n ? memchr(text.p + at_byte, '\n', text.n - at_byte)
                                     : NULL;
    return p ? (size_t)(p - text.p) : text.n;
}

bool scan_has_high(struct str text)
{
    size_t i = 0;
    for (; i + STEP <= text.n; i += STEP) {
        if (any(*(const vec *)(text.p + i) & all(128)))
            return true;
    }
    for (; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 128)
            return true;
    }
    return false;
}
