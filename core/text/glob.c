/* SPDX-License-Identifier: MIT */
/*
 * One pass with two places to go back to: the last * within this part of the path, and
 * the last **. An earlier one is never needed again, because the later one can take the
 * same characters; so the time is not exponential.
 */
#include "text/glob.h"

#include "base/utf8.h"

#include <ctype.h>

/* ---- one character ---- */

static uint32_t take(struct str s, size_t *at)
{
    uint32_t cp;
    int n = utf8_decode(str_sub(s, *at, s.n), &cp);
    if (n <= 0) {
        cp = 0x110000 + (unsigned char)s.p[*at];
        n = 1;
    }
    *at += (size_t)n;
    return cp;
}

static bool in_named_class(struct str name, uint32_t c)
{
    static const struct {
        const char *name;
        int (*has)(int);
    } classes[] = {{"alpha", isalpha}, {"digit", isdigit},   {"alnum", isalnum},
                   {"upper", isupper}, {"lower", islower},   {"space", isspace},
                   {"punct", ispunct}, {"xdigit", isxdigit}, {"blank", isblank}};
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        if (str_eq(name, str_of(classes[i].name)))
            return c < 128 && classes[i].has((int)c);
    }
    return false;
}

/* The end of the bracket that begins at `at`, or 0: it is not closed. */
static size_t bracket_end(struct str p, size_t at)
{
    size_t i = at + 1;
    if (i < p.n && (p.p[i] == '!' || p.p[i] == '^'))
        i++;
    for (size_t first = i; i < p.n; i++) {
        if (p.p[i] == ']' && i > first)
            return i;
        if (p.p[i] == '\\')
            i++;
        else if (p.p[i] == '[' && i + 1 < p.n && p.p[i + 1] == ':') {
            long n = str_find(str_sub(p, i, p.n), STR(":]"));
            i += n > 0 ? (size_t)n + 1 : 0;
        }
    }
    return 0;
}

static uint32_t member(struct str p, size_t *i)
{
    if (p.p[*i] == '\\' && *i + 1 < p.n)
        (*i)++;
    return take(p, i);
}

/* Whether the bracket between at and end has c. */
static bool in_bracket(struct str p, size_t at, size_t end, uint32_t c)
{
    size_t i = at + 1;
    bool negated = p.p[i] == '!' || p.p[i] == '^', found = false;
    struct str inner = str_sub(p, 0, end);
    for (i += negated; i < end;) {
        if (p.p[i] == '[' && p.p[i + 1] == ':') {
            long n = str_find(str_sub(inner, i, end), STR(":]"));
            if (n > 0) {
                found |= in_named_class(str_sub(p, i + 2, (size_t)n - 2), c);
                i += (size_t)n + 2;
                continue;
            }
        }
        uint32_t low = member(inner, &i), high = low;
        if (i + 1 < end && p.p[i] == '-') {
            i++;
            high = member(inner, &i);
        }
        found |= c >= low && c <= high;
    }
    return found != negated;
}

/* One character of the path against one of the pattern; moves both. */
static bool match_one(struct str p, size_t *pi, struct str s, size_t *si)
{
    char c = p.p[*pi];
    if (c == '?' || c == '[') {
        size_t end = c == '[' ? bracket_end(p, *pi) : *pi;
        size_t next = *si;
        uint32_t cp = take(s, &next);
        if (end || c == '?') {
            if (cp == '/' || (c == '[' && !in_bracket(p, *pi, end, cp)))
                return false;
            *pi = end + 1;
            *si = next;
            return true;
        }
    }
    size_t escape = c == '\\' && *pi + 1 < p.n;
    if (p.p[*pi + escape] != s.p[*si])
        return false;
    *pi += 1 + escape;
    *si += 1;
    return true;
}

/* ---- the whole ---- */

/* Whether a part that is ** begins at i; *behind is the place after it and its slash. */
static bool is_any_parts(struct str p, size_t i, size_t *behind)
{
    if (i + 1 >= p.n || p.p[i] != '*' || p.p[i + 1] != '*' || (i && p.p[i - 1] != '/'))
        return false;
    if (i + 2 < p.n && p.p[i + 2] != '/')
        return false;
    *behind = i + 2 < p.n ? i + 3 : i + 2;
    return true;
}

struct glob_mark {
    size_t pi, si; /* to be tried next, pi being after a star; pi 0: none */
    bool set;
};

bool glob_match(struct str p, struct str s)
{
    struct glob_mark star = {0}, parts = {0};
    size_t pi = 0, si = 0, behind;
    for (;;) {
        if (pi < p.n && is_any_parts(p, pi, &behind)) {
            if (behind == p.n)
                return p.p[p.n - 1] == '/' || si < s.n;
            parts = (struct glob_mark){behind, si, true};
            star.set = false;
            pi = behind;
        } else if (pi < p.n && p.p[pi] == '*') {
            star = (struct glob_mark){++pi, si, true};
        } else if (pi == p.n && si == s.n) {
            return true;
        } else if (pi < p.n && si < s.n && match_one(p, &pi, s, &si)) {
            continue;
        } else if (star.set && star.si < s.n && s.p[star.si] != '/') {
            take(s, &star.si);
            pi = star.pi;
            si = star.si;
        } else if (parts.set) {
            long slash = str_chr(str_sub(s, parts.si, s.n), '/');
            if (slash < 0)
                return false;
            parts.si += (size_t)slash + 1;
            pi = parts.pi;
            si = parts.si;
            star.set = false;
        } else {
            return false;
        }
    }
}

bool glob_is_plain(struct str pattern)
{
    for (size_t i = 0; i < pattern.n; i++) {
        if (strchr("*?[{\\", pattern.p[i]) || !pattern.p[i])
            return false;
    }
    return true;
}

/* ---- alternatives ---- */

struct brace {
    size_t open, close;
};

/* The first pair of braces that has a comma or another pair in it. */
static bool find_brace(struct str p, struct brace *b)
{
    size_t depth = 0;
    bool comma = false;
    for (size_t i = 0; i < p.n; i++) {
        if (p.p[i] == '\\') {
            i++;
        } else if (p.p[i] == '{') {
            if (depth++ == 0) {
                b->open = i;
                comma = false;
            }
        } else if (p.p[i] == ',' && depth == 1) {
            comma = true;
        } else if (p.p[i] == '}' && depth > 0 && --depth == 0 && comma) {
            b->close = i;
            return true;
        }
    }
    return false;
}

/* The end of the alternative that begins at `from`. */
static size_t alternative_end(struct str p, size_t from, size_t close)
{
    size_t depth = 0, i = from;
    for (; i < close; i++) {
        if (p.p[i] == '\\')
            i++;
        else if (p.p[i] == '{')
            depth++;
        else if (p.p[i] == '}' && depth)
            depth--;
        else if (p.p[i] == ',' && !depth)
            break;
    }
    return i < close ? i : close;
}

static int expand(struct str p, struct buf *out, int *made, struct err *e)
{
    struct brace b = {0};
    if (!find_brace(p, &b)) {
        if (++*made > GLOB_ALTERNATIVES_MAX || buf_adds(out, p) < 0 ||
            buf_addc(out, '\0') < 0)
            return err_set(e, ERR_LIMIT, "the pattern has more than %d alternatives",
                           GLOB_ALTERNATIVES_MAX);
        return 0;
    }
    struct buf one = BUF_INIT(GLOB_PATTERN_MAX);
    int rc = 0;
    for (size_t from = b.open + 1; rc == 0 && from <= b.close;) {
        size_t end = alternative_end(p, from, b.close);
        buf_reset(&one);
        if (buf_adds(&one, str_sub(p, 0, b.open)) < 0 ||
            buf_adds(&one, str_sub(p, from, end - from)) < 0 ||
            buf_adds(&one, str_sub(p, b.close + 1, p.n)) < 0)
            rc = err_set(e, ERR_LIMIT, "the pattern is too long");
        else
            rc = expand(buf_str(&one), out, made, e);
        from = end + 1;
    }
    buf_release(&one);
    return rc;
}

int glob_expand(struct str pattern, struct buf *out, struct err *e)
{
    int made = 0;
    if (pattern.n > GLOB_PATTERN_MAX)
        return err_set(e, ERR_LIMIT, "the pattern has more than %d bytes",
                       GLOB_PATTERN_MAX);
    if (memchr(pattern.p ? pattern.p : "", 0, pattern.n))
        return err_set(e, ERR_INVALID, "the pattern has a zero byte");
    return expand(pattern, out, &made, e);
}
