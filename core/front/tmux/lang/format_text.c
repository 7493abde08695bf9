/* SPDX-License-Identifier: MIT */
/* Texts and numbers of formats: see own.h. */
#include "front/tmux/lang/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <fnmatch.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <time.h>

enum { PATTERN_BYTES = 1024, REPEATS_MAX = 1000, GROUPS = 10, TIME_BYTES = 8192 };

/* --- columns ------------------------------------------------------------------ */

/* One unit at s: a style "#[…]", "##", or a character. Returns its bytes. */
static size_t unit(struct str s, unsigned *columns)
{
    uint32_t cp;
    *columns = 0;
    if (s.n > 1 && s.p[0] == '#' && s.p[1] == '[') {
        long end = str_chr(s, ']');
        return end < 0 ? s.n : (size_t)end + 1;
    }
    *columns = 1;
    if (s.n > 1 && s.p[0] == '#' && s.p[1] == '#')
        return 2;
    int n = utf8_decode(s, &cp);
    if (n <= 0) {
        *columns = 0;
        return n == 0 ? s.n : 1;
    }
    *columns = cp < 32 || cp == 127 ? 0 : (unsigned)utf8_width(cp);
    return (size_t)n;
}

size_t tmux_format_width(struct str s)
{
    size_t width = 0;
    unsigned columns;
    for (size_t i = 0; i < s.n;) {
        i += unit(str_sub(s, i, s.n), &columns);
        width += columns;
    }
    return width;
}

void format_trim(struct buf *out, struct str s, int64_t limit)
{
    size_t all = tmux_format_width(s), at = 0, n;
    size_t most = (size_t)(limit < 0 ? -limit : limit);
    size_t from = limit < 0 && all > most ? all - most : 0, to = limit < 0 ? all : most;
    unsigned columns;
    for (size_t i = 0; i < s.n; i += n) {
        n = unit(str_sub(s, i, s.n), &columns);
        bool style = s.p[i] == '#' && n > 1 && s.p[i + 1] == '[';
        if (style || (at >= from && at + columns <= to))
            buf_add(out, s.p + i, n);
        at += columns;
    }
}

void format_pad(struct buf *out, struct str s, int64_t width)
{
    int64_t have = (int64_t)tmux_format_width(s), want = width < 0 ? -width : width;
    if (width > 0)
        buf_adds(out, s);
    for (; have < want && !buf_full(out); have++)
        buf_addc(out, ' ');
    if (width < 0)
        buf_adds(out, s);
}

void format_quote(struct buf *out, struct str s, bool style)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (style && c == '#')
            buf_addc(out, '#');
        else if (!style && c && strchr("|&;<>()$`\\\"'*?[# =%", c))
            buf_addc(out, '\\');
        buf_addc(out, c);
    }
}

/* --- patterns ----------------------------------------------------------------- */

bool tmux_fnmatch(struct str pattern, struct str s, bool fold)
{
    char *p, *z;
    if (pattern.n > PATTERN_BYTES)
        return false;
    p = xstrndup(pattern.n ? pattern.p : "", pattern.n);
    z = xstrndup(s.n ? s.p : "", s.n);
    bool is = fnmatch(p, z, fold ? FNM_CASEFOLD : 0) == 0;
    free(p);
    free(z);
    return is;
}

/* A pattern whose compiled form is not much larger than its text. */
static bool compile(regex_t *r, struct str pattern, int flags)
{
    uint64_t product = 1;
    for (size_t i = 0; i < pattern.n; i++) {
        uint64_t most = 0, now = 0;
        if (pattern.p[i] != '{')
            continue;
        for (; i < pattern.n && pattern.p[i] != '}'; i++) {
            char c = pattern.p[i];
            now = c >= '0' && c <= '9' ? now * 10 + (uint64_t)(c - '0') : 0;
            most = now > most ? now : most;
            if (most > REPEATS_MAX)
                return false;
        }
        product *= most ? most : 1;
        if (product > REPEATS_MAX)
            return false;
    }
    if (pattern.n > PATTERN_BYTES)
        return false;
    char *z = xstrndup(pattern.n ? pattern.p : "", pattern.n);
    bool ok = regcomp(r, z, REG_EXTENDED | flags) == 0;
    free(z);
    return ok;
}

bool format_regex(struct str pattern, struct str s, bool fold)
{
    regex_t r;
    if (!compile(&r, pattern, REG_NOSUB | (fold ? REG_ICASE : 0)))
        return false;
    char *z = xstrndup(s.n ? s.p : "", s.n);
    bool is = regexec(&r, z, 0, NULL, 0) == 0;
    free(z);
    regfree(&r);
    return is;
}

static void add_groups(struct buf *out, struct str with, const char *at,
                       const regmatch_t *m)
{
    for (size_t i = 0; i < with.n; i++) {
        bool group = with.p[i] == '\\' && i + 1 < with.n && with.p[i + 1] >= '0' &&
                     with.p[i + 1] <= '9';
        if (with.p[i] == '\\' && i + 1 < with.n)
            i++;
        if (!group) {
            buf_addc(out, with.p[i]);
            continue;
        }
        const regmatch_t *g = &m[with.p[i] - '0'];
        if (g->rm_so >= 0)
            buf_add(out, at + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
    }
}

void format_substitute(struct buf *out, struct str s, struct str pattern, struct str with,
                       bool fold)
{
    regex_t r;
    regmatch_t m[GROUPS];
    size_t last = 0, at = 0;
    bool empty = false;
    if (!s.n || !compile(&r, pattern, fold ? REG_ICASE : 0)) {
        buf_adds(out, s);
        return;
    }
    char *z = xstrndup(s.p, s.n);
    size_t n = strlen(z);
    while (at <= n && !buf_full(out) && regexec(&r, z + at, GROUPS, m, 0) == 0) {
        size_t from = at + (size_t)m[0].rm_so, to = at + (size_t)m[0].rm_eo;
        buf_add(out, z + last, from - last);
        last = to;
        if (empty || from != last || m[0].rm_so != m[0].rm_eo || from == at) {
            bool move = m[0].rm_so != m[0].rm_eo;
            add_groups(out, with, z + at, m);
            if (!move && last < n)
                buf_addc(out, z[last++]);
            at = move ? to : to + 1;
            empty = false;
        }
        if (pattern.n && pattern.p[0] == '^')
            break;
    }
    if (last < n)
        buf_add(out, z + last, n - last);
    free(z);
    regfree(&r);
}

/* --- times -------------------------------------------------------------------- */

int format_strftime(struct buf *out, struct str text, int64_t now)
{
    char bytes[TIME_BYTES];
    struct tm tm;
    time_t t = (time_t)now;
    if (text.n >= TIME_BYTES || !localtime_r(&t, &tm))
        return -1;
    char *z = xstrndup(text.n ? text.p : "", text.n);
    size_t n = strftime(bytes, sizeof(bytes), z, &tm);
    free(z);
    buf_add(out, bytes, n);
    return n || !text.n ? 0 : -1;
}

void format_time(struct buf *out, int64_t t, int64_t now, bool pretty, struct str format)
{
    enum { DAY = 24 * 3600 };
    struct tm then, today;
    time_t a = (time_t)t, b = (time_t)now;
    int64_t age = now > t ? now - t : 0;
    if (!localtime_r(&a, &then) || !localtime_r(&b, &today))
        return;
    bool month = then.tm_year == today.tm_year && then.tm_mon == today.tm_mon;
    bool year = then.tm_year == today.tm_year ||
                (today.tm_year - then.tm_year == 1 && then.tm_mon > today.tm_mon);
    if (!pretty)
        format = format.n ? format : STR("%a %b %e %H:%M:%S %Y");
    else if (age < DAY)
        format = STR("%H:%M");
    else if (month || age < 28 * DAY)
        format = STR("%a%d");
    else
        format = year ? STR("%d%b") : STR("%h%y");
    format_strftime(out, format, t);
}

/* --- maths -------------------------------------------------------------------- */

static bool number(struct str s, double *out)
{
    char z[64], *end;
    if (s.n == 0 || s.n >= sizeof(z))
        return false;
    memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    *out = strtod(z, &end);
    return *end == '\0';
}

static double whole(double v)
{
    if (isnan(v) || v >= 0x1p63 || v < -0x1p63)
        return -0x1p63;
    return (double)(int64_t)v;
}

bool format_maths(struct buf *out, struct str op, bool fraction, int digits, struct str a,
                  struct str b)
{
    double x, y, v;
    if (!number(a, &x) || !number(b, &y))
        return false;
    if (!fraction) {
        x = whole(x);
        y = whole(y);
    }
    if (str_eq(op, STR("+")))
        v = x + y;
    else if (str_eq(op, STR("-")))
        v = x - y;
    else if (str_eq(op, STR("*")))
        v = x * y;
    else if (str_eq(op, STR("/")))
        v = x / y;
    else if (str_eq(op, STR("m")) || str_eq(op, STR("%")) || str_eq(op, STR("%%")))
        v = fmod(x, y);
    else if (str_eq(op, STR("==")))
        v = fabs(x - y) < 1e-9;
    else if (str_eq(op, STR("!=")))
        v = fabs(x - y) > 1e-9;
    else if (str_eq(op, STR("<")))
        v = x < y;
    else if (str_eq(op, STR(">")))
        v = x > y;
    else if (str_eq(op, STR("<=")))
        v = x <= y;
    else if (str_eq(op, STR(">=")))
        v = x >= y;
    else
        return false;
    buf_addf(out, "%.*f", fraction ? digits : 0, fraction ? v : whole(v));
    return true;
}
