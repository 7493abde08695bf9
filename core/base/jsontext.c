/* SPDX-License-Identifier: MIT */
#include "base/jsontext.h"

#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 63 };

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_blanks(struct str *s)
{
    while (s->n > 0 && is_blank(s->p[0]))
        *s = str_sub(*s, 1, s->n);
}

/* Not 0 if one of the bytes of x is c. */
static uint64_t has_byte(uint64_t x, unsigned char c)
{
    const uint64_t ones = 0x0101010101010101;
    x ^= ones * c;
    return (x - ones) & ~x & (ones << 7);
}

/*
 * Bytes of the string that s begins with, quotes included; all of s if it has no end.
 * Most of a long message is read here, several times: eight bytes at once.
 */
static size_t string_size(struct str s)
{
    for (size_t i = 1; i < s.n; i++) {
        uint64_t eight;
        for (; s.n - i >= sizeof(eight); i += sizeof(eight)) {
            memcpy(&eight, s.p + i, sizeof(eight));
            if (has_byte(eight, '"') | has_byte(eight, '\\'))
                break;
        }
        while (i < s.n && s.p[i] != '"' && s.p[i] != '\\')
            i++;
        if (i < s.n && s.p[i] == '"')
            return i + 1;
        i++; /* the escaped byte too */
    }
    return s.n;
}

/* Bytes of the object or array that s begins with. */
static size_t group_size(struct str s)
{
    size_t depth = 0, i = 0;
    while (i < s.n) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"') {
            i += string_size((struct str){s.p + i, s.n - i});
            continue;
        }
        i++;
        c |= 0x20; /* '[' becomes '{', and ']' '}' */
        if (c == '{')
            depth++;
        else if (c == '}' && --depth == 0)
            return i;
    }
    return s.n;
}

static size_t word_size(struct str s)
{
    size_t i = 0;
    while (i < s.n && !is_blank(s.p[i]) && !strchr(",:]}", s.p[i]))
        i++;
    return i;
}

/* Cuts the value that s begins with off s. */
static struct str take_value(struct str *s)
{
    skip_blanks(s);
    char c = s->n ? s->p[0] : ',';
    size_t n = c == '"'               ? string_size(*s)
               : c == '{' || c == '[' ? group_size(*s)
                                      : word_size(*s);
    struct str value = str_sub(*s, 0, n);
    *s = str_sub(*s, n, s->n);
    skip_blanks(s);
    return value;
}

struct str jsontext_inside(struct str value)
{
    bool group = value.n >= 2 && ((value.p[0] == '{' && value.p[value.n - 1] == '}') ||
                                  (value.p[0] == '[' && value.p[value.n - 1] == ']'));
    return group ? str_sub(value, 1, value.n - 2) : STR("");
}

/* Skips the comma after a value. Anything else there ends the iteration. */
static void skip_comma(struct str *s)
{
    *s = s->n > 0 && s->p[0] == ',' ? str_sub(*s, 1, s->n) : STR("");
}

bool jsontext_item(struct str *inside, struct str *value)
{
    *value = take_value(inside);
    skip_comma(inside);
    return value->n > 0;
}

bool jsontext_member(struct str *inside, struct str *name, struct str *value)
{
    *value = STR("");
    *name = take_value(inside);
    if (name->n < 2 || name->p[0] != '"' || name->p[name->n - 1] != '"' ||
        inside->n == 0 || inside->p[0] != ':')
        return false;
    *name = str_sub(*name, 1, name->n - 2);
    *inside = str_sub(*inside, 1, inside->n);
    return jsontext_item(inside, value);
}

struct str jsontext_get(struct str object, struct str name)
{
    struct str inside = object.n && object.p[0] == '{' ? jsontext_inside(object)
                                                       : STR("");
    struct str found, value;
    while (jsontext_member(&inside, &found, &value)) {
        if (str_eq(found, name))
            return value;
    }
    return (struct str){0};
}

/* ---- strings ---- */

/* Returns the four digits of \uXXXX at the beginning of s; -1 if there are none. */
static long unit(struct str s)
{
    long v = 0;
    if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        int c = tolower((unsigned char)s.p[i]);
        if (!isxdigit(c))
            return -1;
        v = v * 16 + (isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    return v;
}

/*
 * Appends the character of the escape at the beginning of s, and sets *n to its length.
 * Of an escape that JSON does not have, only the backslash is dropped.
 */
static int add_escape(struct buf *out, struct str s, size_t *n)
{
    static const char from[] = "nrtbf\"\\/", to[] = "\n\r\t\b\f\"\\/";
    long u = unit(s), low = u >= 0 ? unit(str_sub(s, 6, s.n)) : -1;
    char z[4];
    *n = 6;
    if (u < 0) {
        const char *at = s.n > 1 ? memchr(from, s.p[1], sizeof(from) - 1) : NULL;
        *n = at ? 2 : 1;
        return at ? buf_addc(out, to[at - from]) : 0;
    }
    if (u >= 0xd800 && u < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
        u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
        *n = 12;
    } else if (u == 0 || (u >= 0xd800 && u < 0xe000)) {
        u = 0xfffd;
    }
    return buf_add(out, z, (size_t)utf8_encode((uint32_t)u, z));
}

int jsontext_string(struct buf *out, struct str value)
{
    if (value.n < 2 || value.p[0] != '"' || value.p[value.n - 1] != '"')
        return -1;
    value = str_sub(value, 1, value.n - 2);
    while (value.n > 0) {
        long slash = str_chr(value, '\\');
        size_t n = slash < 0 ? value.n : (size_t)slash;
        if (utf8_repair(out, str_sub(value, 0, n), true) < 0)
            return -1;
        value = str_sub(value, n, value.n);
        if (value.n > 0) {
            if (add_escape(out, value, &n) < 0)
                return -1;
            value = str_sub(value, n, value.n);
        }
    }
    return 0;
}

struct str jsontext_plain(struct str value)
{
    if (value.n < 2 || value.p[0] != '"' || value.p[value.n - 1] != '"')
        return STR("");
    value = str_sub(value, 1, value.n - 2);
    return str_chr(value, '\\') < 0 ? value : STR("");
}

/* ---- numbers ---- */

double jsontext_num(struct str value, double dflt)
{
    char z[NUMBER_MAX + 1], *end = z;
    if (value.n == 0 || value.n > NUMBER_MAX)
        return dflt;
    memcpy(z, value.p, value.n);
    z[value.n] = '\0';
    /* strtod also takes a leading +, hexadecimal and names, which JSON does not have. */
    if (z[0] == '+' || strspn(z, "0123456789+-.eE") != value.n)
        return dflt;
    double v = strtod(z, &end);
    return *end == '\0' && isfinite(v) ? v : dflt;
}

int64_t jsontext_int(struct str value, int64_t dflt)
{
    int64_t whole;
    if (str_to_i64(value, &whole) < 0) {
        double v = jsontext_num(value, NAN);
        if (!(v > -9007199254740992.0 && v < 9007199254740992.0))
            return dflt;
        whole = (int64_t)v;
    }
    return whole > -(1LL << 53) && whole < 1LL << 53 ? whole : dflt;
}

/* ---- validity ---- */

static size_t digits_at(struct str s, size_t i)
{
    size_t from = i;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return i - from;
}

/* Returns the end of the number at i; 0 if there is none. */
static size_t number_end(struct str s, size_t i)
{
    i += s.p[i] == '-';
    size_t n = digits_at(s, i);
    if (n == 0 || (n > 1 && s.p[i] == '0'))
        return 0;
    i += n;
    if (i < s.n && s.p[i] == '.') {
        if ((n = digits_at(s, i + 1)) == 0)
            return 0;
        i += n + 1;
    }
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        i += i < s.n && (s.p[i] == '+' || s.p[i] == '-');
        if ((n = digits_at(s, i)) == 0)
            return 0;
        i += n;
    }
    return i;
}

/* Returns the end of the string at i; 0 if there is none. */
static size_t string_end(struct str s, size_t i)
{
    if (i >= s.n || s.p[i] != '"')
        return 0;
    for (i++; i < s.n && (unsigned char)s.p[i] >= 0x20; i++) {
        if (s.p[i] == '"')
            return i + 1;
        if (s.p[i] != '\\')
            continue;
        if (++i >= s.n || !strchr("\"\\/bfnrtu", s.p[i]) || s.p[i] == 0)
            return 0;
        for (int hex = s.p[i] == 'u' ? 4 : 0; hex > 0; hex--) {
            if (++i >= s.n || !s.p[i] || !strchr("0123456789abcdefABCDEF", s.p[i]))
                return 0;
        }
    }
    return 0;
}

static size_t blanks_end(struct str s, size_t i)
{
    while (i < s.n && s.p[i] && strchr(" \t\n\r", s.p[i]))
        i++;
    return i;
}

/* Returns the end of the value at i, not an array or object; 0 if there is none. */
static size_t simple_end(struct str s, size_t i)
{
    static const char *const words[] = {"true", "false", "null"};
    if (s.p[i] == '"')
        return string_end(s, i);
    for (int w = 0; w < 3; w++) {
        if (str_starts(str_sub(s, i, s.n), str_of(words[w])))
            return i + strlen(words[w]);
    }
    return number_end(s, i);
}

bool jsontext_valid(struct str s)
{
    char inside[JSONTEXT_DEPTH]; /* the brackets that are open */
    int depth = 0;
    bool value = true, first = false; /* one is due; none came since the bracket */
    for (size_t i = blanks_end(s, 0);; i = blanks_end(s, i)) {
        if (i >= s.n)
            return depth == 0 && !value;
        char c = s.p[i];
        if (depth > 0 && (c == '}' || c == ']') && (first || !value)) {
            if (inside[--depth] != c)
                return false;
            i++;
            value = first = false;
            continue;
        }
        if (!value) { /* after a value */
            if (depth == 0 || c != ',')
                return false;
            i = blanks_end(s, i + 1);
            value = true;
        }
        if (depth > 0 && inside[depth - 1] == '}') {
            i = blanks_end(s, string_end(s, i));
            if (i == 0 || i >= s.n || s.p[i] != ':')
                return false;
            i = blanks_end(s, i + 1);
        }
        if (i >= s.n)
            return false;
        first = s.p[i] == '{' || s.p[i] == '[';
        if (first) {
            if (depth == JSONTEXT_DEPTH)
                return false;
            inside[depth++] = s.p[i] == '{' ? '}' : ']';
            i++;
            continue;
        }
        if ((i = simple_end(s, i)) == 0)
            return false;
        value = false;
    }
}
