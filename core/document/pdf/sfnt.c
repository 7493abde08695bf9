/* SPDX-License-Identifier: MIT */
/*
 * Characters of the glyphs of a TrueType or OpenType font program, for fonts whose codes
 * are numbers of glyphs, without other information: "cmap" in reverse, and the names in
 * "post". Tables are those of the OpenType specification.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"
#include "text/glyph.h"

#include <stdlib.h>

enum {
    STEPS_MAX = 1 << 18, /* codes that are read; a font has no more */
    MAC_NAMES = 258      /* of "post", in a fixed order */
};

struct sfnt {
    struct str s;
    uint32_t *chars; /* of glyphs */
    size_t n;
    size_t steps; /* left */
};

static uint32_t u16(struct str s, size_t at)
{
    if (at + 2 > s.n)
        return 0;
    return (uint32_t)((unsigned char)s.p[at] << 8 | (unsigned char)s.p[at + 1]);
}

static uint32_t u32(struct str s, size_t at) { return u16(s, at) << 16 | u16(s, at + 2); }

static struct str table(struct str s, const char *tag)
{
    size_t n = u16(s, 4);
    for (size_t i = 0; i < n; i++) {
        size_t at = 12 + 16 * i;
        if (str_eq(str_sub(s, at, 4), str_of(tag)))
            return str_sub(s, u32(s, at + 8), u32(s, at + 12));
    }
    return str_n(NULL, 0);
}

static void take(struct sfnt *f, uint32_t glyph, uint32_t c)
{
    if (glyph && glyph < f->n && !f->chars[glyph] && c >= ' ' &&
        (c < 0xe000 || c > 0xf8ff) && c <= 0x10ffff)
        f->chars[glyph] = c;
}

/* Format 4: segments, whose glyphs are at a fixed distance or in a list. */
static void read_segments(struct sfnt *f, struct str s)
{
    size_t n = u16(s, 6) / 2;
    for (size_t i = 0; i < n; i++) {
        uint32_t to = u16(s, 14 + 2 * i), from = u16(s, 16 + 2 * (n + i));
        uint32_t delta = u16(s, 16 + 2 * (2 * n + i));
        size_t where = 16 + 2 * (3 * n + i);
        uint32_t list = u16(s, where);
        for (uint32_t c = from; c <= to && c != 0xffff && f->steps; c++, f->steps--) {
            uint32_t glyph = list ? u16(s, where + list + 2 * (c - from)) : c;
            take(f, glyph || !list ? (glyph + delta) & 0xffff : 0, c);
        }
    }
}

/* Format 12: groups of codes and glyphs that go up together. */
static void read_groups(struct sfnt *f, struct str s)
{
    size_t n = u32(s, 12);
    for (size_t i = 0; i < n && 16 + 12 * i < s.n && f->steps; i++, f->steps--) {
        size_t at = 16 + 12 * i;
        uint32_t from = u32(s, at), to = u32(s, at + 4), glyph = u32(s, at + 8);
        for (uint32_t c = from; c <= to && f->steps; c++, f->steps--)
            take(f, glyph + (c - from), c);
    }
}

static void read_cmap(struct sfnt *f, struct str s)
{
    size_t n = u16(s, 2);
    for (size_t i = 0; i < n && f->steps; i++, f->steps--) {
        uint32_t platform = u16(s, 4 + 8 * i), encoding = u16(s, 6 + 8 * i);
        struct str sub = str_sub(s, u32(s, 8 + 8 * i), s.n);
        bool unicode = platform == 0 || (platform == 3 && encoding != 0);
        if (unicode && u16(sub, 0) == 4)
            read_segments(f, sub);
        else if (unicode && u16(sub, 0) == 12)
            read_groups(f, sub);
    }
}

uint32_t pdf_glyph_char(struct str name)
{
    static const char *const joined[] = {"ff", "fi", "fl", "ffi", "ffl"};
    char text[32];
    uint32_t c;
    struct str s = str_n(text, glyph_text(name, text, sizeof(text)));
    if (s.n && utf8_decode(s, &c) == (int)s.n)
        return c;
    for (size_t i = 0; i < sizeof(joined) / sizeof(*joined); i++) {
        if (str_eq(s, str_of(joined[i])))
            return 0xfb00 + (uint32_t)i;
    }
    return 0;
}

/* Version 2: a number for each glyph, of a name in Mac order or of those below. */
static void read_post(struct sfnt *f, struct str s)
{
    size_t n = u16(s, 32), at = 34 + 2 * n;
    struct str names = str_sub(s, at, s.n);
    if (u32(s, 0) != 0x20000)
        return;
    for (size_t i = 0; i < n; i++) {
        uint32_t name = u16(s, 34 + 2 * i);
        if (name >= 3 && name < 98)
            take(f, (uint32_t)i, ' ' + (name - 3));
        else if (name >= 98 && name < 226)
            take(f, (uint32_t)i, glyph_base_char(GLYPH_MAC, name - 98 + 128));
    }
    uint32_t *chars = calloc(n ? n : 1, sizeof(*chars)); /* of the names below */
    size_t count = 0;
    for (; chars && names.n && count < n; count++) {
        size_t length = (unsigned char)names.p[0];
        chars[count] = pdf_glyph_char(str_sub(names, 1, length));
        names = str_sub(names, 1 + length, names.n);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t name = u16(s, 34 + 2 * i);
        if (name >= MAC_NAMES && name - MAC_NAMES < count)
            take(f, (uint32_t)i, chars[name - MAC_NAMES]);
    }
    free(chars);
}

bool pdf_is_sfnt(struct str s)
{
    return u32(s, 0) == 0x10000 || str_starts(s, STR("true")) ||
           str_starts(s, STR("OTTO"));
}

void pdf_sfnt_chars(struct str program, uint32_t *chars, size_t n)
{
    struct sfnt f = {.s = program, .chars = chars, .n = n, .steps = STEPS_MAX};
    read_cmap(&f, table(program, "cmap"));
    read_post(&f, table(program, "post"));
}
