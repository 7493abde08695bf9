/* SPDX-License-Identifier: MIT */
/*
 * Borrowed slices: searching, cutting, and numbers that must be the whole
 * slice. Nothing here allocates, and nothing reads past the length.
 */
#include "base/str.h"

/* Ten years of 365 days, in milliseconds. */
#define MS_MAX (INT64_C(10) * 365 * 24 * 3600 * 1000)

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n &&
           str_eq(str_sub(s, s.n - suffix.n, suffix.n), suffix);
}

long str_find(struct str hay, struct str needle)
{
    if (needle.n == 0)
        return 0;
    if (needle.n > hay.n)
        return -1;
    const char *at = memmem(hay.p, hay.n, needle.p, needle.n);
    return at ? at - hay.p : -1;
}

long str_chr(struct str hay, char c)
{
    const char *at = hay.n ? memchr(hay.p, c, hay.n) : NULL;
    return at ? at - hay.p : -1;
}

size_t str_count(struct str s, char c)
{
    const uint64_t ones = UINT64_MAX / 255, low = ones * 0x7f;
    size_t n = 0, i = 0;
    for (; s.n - i >= 8; i += 8) {
        uint64_t w;
        memcpy(&w, s.p + i, 8);
        w ^= ones * (unsigned char)c;
        /* The high bit of each byte that is zero now; then their sum, in the top byte. */
        w = ~(((w & low) + low) | w | low);
        n += (size_t)((w >> 7) * ones >> 56);
    }
    for (; i < s.n; i++)
        n += s.p[i] == c;
    return n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

struct str str_cut(struct str *rest, char sep)
{
    struct str all = *rest;
    long at = str_chr(all, sep);
    if (at < 0) {
        *rest = str_sub(all, all.n, 0);
        return all;
    }
    *rest = str_sub(all, (size_t)at + 1, all.n);
    return str_sub(all, 0, (size_t)at);
}

int str_to_u64(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.n == 0)
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
        unsigned digit = (unsigned)(s.p[i] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return -1;
        v = v * 10 + digit;
    }
    *out = v;
    return 0;
}

int str_to_i64(struct str s, int64_t *out)
{
    bool minus = s.n > 0 && s.p[0] == '-';
    if (s.n > 0 && (minus || s.p[0] == '+'))
        s = str_sub(s, 1, s.n);
    uint64_t v;
    if (str_to_u64(s, &v) < 0 || v > (uint64_t)INT64_MAX + minus)
        return -1;
    if (minus && v > 0)
        *out = -(int64_t)(v - 1) - 1; /* -v would not fit for the smallest */
    else
        *out = (int64_t)v;
    return 0;
}

size_t str_from_u64(char out[STR_U64_MAX], uint64_t v)
{
    char text[STR_U64_MAX];
    size_t at = sizeof(text);
    do {
        text[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    memcpy(out, text + at, sizeof(text) - at);
    return sizeof(text) - at;
}

/* Cuts the unit off s. Returns the milliseconds of one unit. */
static int64_t cut_unit(struct str *s)
{
    static const struct {
        struct str name;
        int64_t ms;
    } units[] = { /* "ms" is seen before "s" */
        {{"ms", 2}, 1}, {{"s", 1}, 1000}, {{"m", 1}, 60000}, {{"h", 1}, 3600000},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (str_ends(*s, units[i].name)) {
            s->n -= units[i].name.n;
            return units[i].ms;
        }
    }
    return 1000;
}

/* Gets the digits after the point in 1e-9ths, rounded up. Returns -1 if one is none. */
static int parse_fraction(struct str s, int64_t *out)
{
    int64_t v = 0, more = 0;
    for (size_t i = 0; i < s.n || i < 9; i++) {
        char c = i < s.n ? s.p[i] : '0';
        if (c < '0' || c > '9')
            return -1;
        if (i < 9)
            v = v * 10 + (c - '0');
        else if (c != '0')
            more = 1;
    }
    *out = v + more;
    return 0;
}

int str_to_ms(struct str s, int64_t *out_ms)
{
    int64_t unit = cut_unit(&s);
    bool point = str_chr(s, '.') >= 0;
    struct str whole = str_cut(&s, '.');
    if (whole.n + s.n == 0 || (point && s.n == 0))
        return -1;
    uint64_t v = 0;
    int64_t fraction;
    if (whole.n > 0 && str_to_u64(whole, &v) < 0)
        return -1;
    if (parse_fraction(s, &fraction) < 0 || v > (uint64_t)(MS_MAX / unit))
        return -1;
    int64_t ms = (int64_t)v * unit + (fraction * unit + 999999999) / 1000000000;
    if (ms > MS_MAX)
        return -1;
    *out_ms = ms;
    return 0;
}
