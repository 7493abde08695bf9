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

/*
 * What a text is for a terminal, bit by bit: a run of `#`, a style, or a character. Two
 * `#` are shown as one. The last one of a run is the beginning of a style if `[` follows
 * and their number is odd.
 */
struct unit {
    size_t n;       /* bytes; 0: the text ends in a style without an end */
    size_t columns; /* of hashes: how many are shown */
    bool style, hashes, dropped;
};

static struct unit unit_at(struct str s)
{
    struct unit u = {.n = 1};
    uint32_t cp;
    size_t hashes = 0;
    while (hashes < s.n && s.p[hashes] == '#')
        hashes++;
    bool bracket = hashes < s.n && s.p[hashes] == '[';
    if (hashes == 1 && bracket) {
        long end = format_skip(str_sub(s, 2, s.n), "]");
        u.style = true;
        u.n = end < 0 ? 0 : (size_t)end + 3;
        return u;
    }
    if (hashes) {
        u.hashes = true;
        u.n = hashes - (bracket && hashes % 2);
        u.columns = bracket ? hashes / 2 : (hashes + 1) / 2;
        return u;
    }
    int n = utf8_decode(s, &cp);
    u.dropped = n <= 0 || cp < 32 || cp == 127;
    if (n > 0)
        u.n = (size_t)n;
    if (!u.dropped)
        u.columns = (size_t)utf8_width(cp);
    return u;
}

size_t tmux_format_width(struct str s)
{
    size_t width = 0;
    struct unit u;
    for (; s.n; s = str_sub(s, u.n, s.n)) {
        u = unit_at(s);
        if (!u.n)
            return 0;
        width += u.columns;
    }
    return width;
}

/* A run of hashes that is `columns` wide: one alone, else two for each column. */
static void add_hashes(struct buf *out, const struct unit *u, size_t columns)
{
    for (size_t i = 0; columns && i < (u->n == 1 ? 1 : 2 * columns); i++)
        buf_addc(out, '#');
}

static void trim_left(struct buf *out, struct str s, size_t limit)
{
    struct unit u;
    for (size_t at = 0; s.n && at < limit; s = str_sub(s, u.n, s.n)) {
        u = unit_at(s);
        if (!u.n)
            break;
        if (u.hashes) {
            size_t room = limit - at;
            u.columns = u.columns < room ? u.columns : room;
            add_hashes(out, &u, u.columns);
        } else if (!u.dropped && at + u.columns <= limit)
            buf_add(out, s.p, u.n);
        at += u.columns;
    }
}

static void trim_right(struct buf *out, struct str s, size_t limit)
{
    size_t all = tmux_format_width(s);
    struct unit u;
    if (all <= limit) {
        buf_adds(out, s);
        return;
    }
    for (size_t at = 0; s.n; s = str_sub(s, u.n, s.n)) {
        u = unit_at(s);
        if (!u.n)
            break;
        size_t past = all - limit > at ? all - limit - at : 0; /* to leave out */
        if (u.hashes)
            add_hashes(out, &u, u.columns > past ? u.columns - past : 0);
        else if (u.style || (!u.dropped && !past))
            buf_add(out, s.p, u.n);
        at += u.columns;
    }
}

void format_trim(struct buf *out, struct str s, int64_t limit)
{
    if (limit > 0)
        trim_left(out, s, (size_t)limit);
    else
        trim_right(out, s, (size_t)-limit);
}

/* Columns of all characters; `#` and styles are not special there. */
static int64_t plain_width(struct str s)
{
    int64_t width = 0;
    uint32_t cp;
    while (s.n) {
        int n = utf8_decode(s, &cp);
        if (n > 0 && cp >= 32 && cp != 127)
            width += utf8_width(cp);
        s = str_sub(s, n > 0 ? (size_t)n : 1, s.n);
    }
    return width;
}

void format_pad(struct buf *out, struct str s, int64_t width)
{
    int64_t have = plain_width(s), want = width < 0 ? -width : width;
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

/* A group that is empty is its digit, as in tmux. */
static void add_groups(struct buf *out, struct str with, const char *at,
                       const regmatch_t *m)
{
    for (size_t i = 0; i < with.n; i++) {
        bool escaped = with.p[i] == '\\' && i + 1 < with.n;
        char c = with.p[i += escaped];
        const regmatch_t *g = escaped && c >= '0' && c <= '9' ? &m[c - '0'] : NULL;
        if (g && g->rm_so != g->rm_eo)
            buf_add(out, at + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
        else
            buf_addc(out, c);
    }
}

void format_substitute(struct buf *out, struct str s, struct str pattern, struct str with,
                       bool fold)
{
    regex_t r;
    regmatch_t m[GROUPS];
    size_t last = 0, at = 0;
    bool empty = false, anchored = pattern.n && pattern.p[0] == '^';
    if (!s.n || !compile(&r, pattern, fold ? REG_ICASE : 0)) {
        buf_adds(out, s);
        return;
    }
    char *z = xstrndup(s.p, s.n);
    size_t n = strlen(z);
    while (at <= n && !buf_full(out)) {
        if (regexec(&r, z + at, GROUPS, m, 0) != 0) {
            buf_add(out, z + at, n - at);
            break;
        }
        size_t from = at + (size_t)m[0].rm_so, to = at + (size_t)m[0].rm_eo;
        buf_add(out, z + last, from - last);
        last = to;
        /* An empty match counts where the one before it was empty, too, or elsewhere. */
        bool counts = empty || from != at || to != from;
        if (counts)
            add_groups(out, with, z + at, m);
        at = counts ? to : to + 1;
        empty = !counts;
        if (anchored) {
            buf_add(out, z + (at < n ? at : n), at < n ? n - at : 0);
            break;
        }
    }
    free(z);
    regfree(&r);
}

/* --- times -------------------------------------------------------------------- */

/* Appends the format; a % that begins no conversion is doubled, and so written. */
static void put_known(struct buf *out, struct str text)
{
    static const char known[] = "aAbBcCdDeFgGhHIjmMnprRsStTuUVwWxXyYzZ%";
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '%') {
            size_t at = i + 1;
            while (at < text.n && strchr("_-0+^#123456789EO", text.p[at]) && text.p[at])
                at++;
            bool is = at < text.n && text.p[at] && strchr(known, text.p[at]);
            buf_addz(out, is ? "%" : "%%");
            if (is && text.p[i + 1] == '%') {
                buf_addc(out, '%');
                i++;
            }
            continue;
        }
        buf_addc(out, text.p[i]);
    }
}

/* The format is the user's own, and strftime(3) has a bound. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
int format_strftime(struct buf *out, struct str text, int64_t now)
{
    char bytes[TIME_BYTES];
    struct tm tm;
    time_t t = (time_t)now;
    if (text.n >= TIME_BYTES || !localtime_r(&t, &tm))
        return -1;
    struct buf z = BUF_INIT(2 * TIME_BYTES);
    put_known(&z, text);
    size_t n = strftime(bytes, sizeof(bytes), buf_z(&z), &tm);
    buf_release(&z);
    buf_add(out, bytes, n);
    return n || !text.n ? 0 : -1;
}
#pragma GCC diagnostic pop

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
    if (s.n >= sizeof(z))
        return false;
    memcpy(z, s.n ? s.p : "", s.n);
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
    buf_addf(out, "%.*f", digits, fraction ? v : whole(v));
    return true;
}
