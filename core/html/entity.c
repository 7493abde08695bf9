/* SPDX-License-Identifier: MIT */
/* Character references of HTML: HTML standard, 13.2.5.72 to 13.2.5.80, and 13.5. */
#include "html/html.h"

#include "archive/zip_text.h"
#include "base/utf8.h"
#include "html/entity_own.h"

#include <string.h>

ZIP_TABLES(entity)

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int hex_of(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns the character of a number (13.2.5.80): 128 to 159 are those of windows-1252. */
static uint32_t meant(uint32_t cp)
{
    static const uint16_t high[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026,
                                      0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
                                      0x0152, 0,      0x017D, 0,      0,      0x2018,
                                      0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                      0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,
                                      0x017E, 0x0178};
    if (cp == 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
        return 0xFFFD;
    if (cp >= 0x80 && cp < 0xA0 && high[cp - 0x80])
        return high[cp - 0x80];
    return cp;
}

static size_t number(struct str s, struct buf *out)
{
    size_t at = 2;
    uint32_t cp = 0;
    bool hex = s.n > 2 && (s.p[2] == 'x' || s.p[2] == 'X');
    at += hex;
    size_t from = at;
    for (; at < s.n; at++) {
        int digit = hex || is_digit(s.p[at]) ? hex_of(s.p[at]) : -1;
        if (digit < 0)
            break;
        if (cp <= 0x10FFFF)
            cp = cp * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (at == from)
        return 0;
    char text[4];
    buf_add(out, text, (size_t)utf8_encode(meant(cp), text));
    return at + (at < s.n && s.p[at] == ';');
}

/* Finds the longest of these names, without their first letter, with which s begins. */
static size_t best(const char *names, struct str s, struct str *text)
{
    size_t found = 0;
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, " !");
        const char *value = p + n + 1;
        size_t value_n = strcspn(value, "\1");
        bool here = n <= s.n && memcmp(p, s.p, n) == 0;
        bool whole = here && n < s.n && s.p[n] == ';';
        if (whole || (here && p[n] == '!' && n + 1 > found)) {
            *text = str_n(value, value_n);
            found = n + 1 + whole;
            if (whole)
                return found;
        }
        p = value + value_n + 1;
    }
    return found;
}

/* The names that begin with a letter. */
static const char *names_of(char letter)
{
    static uint16_t at[52];
    if (!at[1]) {
        entity_unpack();
        for (int i = 1; i < 52; i++)
            at[i] = (uint16_t)(at[i - 1] + strlen(html_entity_names + at[i - 1]) + 1);
    }
    return html_entity_names + at[letter >= 'a' ? letter - 'a' + 26 : letter - 'A'];
}

size_t html_entity(struct str s, bool attr, struct buf *out)
{
    if (s.n < 3)
        return 0;
    if (s.p[1] == '#')
        return number(s, out);
    if (!is_letter(s.p[1]))
        return 0;
    struct str text = {0};
    size_t n = best(names_of(s.p[1]), str_sub(s, 2, s.n), &text);
    if (!n)
        return 0;
    size_t end = n + 1;
    if (attr && s.p[end - 1] != ';' && end < s.n &&
        (s.p[end] == '=' || is_letter(s.p[end]) || is_digit(s.p[end])))
        return 0;
    buf_adds(out, text);
    return end;
}
