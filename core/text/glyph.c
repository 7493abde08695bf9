/* SPDX-License-Identifier: MIT */
/*
 * Characters by their code in the encodings of ISO 32000-1, Annex D, and glyphs by their
 * name: those of the Adobe Glyph List that Latin, Greek and mathematical fonts have, and
 * those that fonts of TeX add. Code points have 16 bits.
 */
#include "text/glyph.h"

#include "archive/zip_text.h"
#include "base/utf8.h"
#include "text/glyph_own.h"

#include <stdlib.h>

enum { PARTS_MAX = 8, FIRST = 32 };

ZIP_TABLES(glyph)

uint32_t glyph_base_char(enum glyph_base base, unsigned code)
{
    static const uint16_t *const tables[] = {[GLYPH_STANDARD] = glyph_standard,
                                             [GLYPH_WIN] = glyph_win,
                                             [GLYPH_MAC] = glyph_mac,
                                             [GLYPH_SYMBOL] = glyph_symbol,
                                             [GLYPH_DINGBATS] = glyph_dingbats};
    glyph_unpack();
    return code < FIRST || code > 255 ? 0 : tables[base][code - FIRST];
}

struct str glyph_cff_string(unsigned sid)
{
    glyph_unpack();
    struct str rest = str_of(glyph_cff_strings), name = {NULL, 0};
    for (unsigned i = 0; i < sid; i++)
        name = str_cut(&rest, ' ');
    return name;
}

/* ---- names ---- */

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct glyph *)row)->name);
}

static uint32_t listed(struct str name)
{
    char key[GLYPH_NAME_ROOM] = "";
    if (name.n == 0 || name.n >= sizeof(key) || memchr(name.p, 0, name.n))
        return 0;
    memcpy(key, name.p, name.n);
    glyph_unpack();
    const struct glyph *g =
        bsearch(key, glyph_list, GLYPH_LISTED, sizeof(*glyph_list), by_name);
    return g ? g->cp : 0;
}

static uint32_t digits(struct str s, unsigned base)
{
    uint32_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : 99;
        if (d >= base || v > 0x10ffff)
            return 0;
        v = v * base + d;
    }
    return v;
}

/* uni0041, u1F600 (Adobe Glyph List Specification, 2), afii10017. */
static uint32_t numbered(struct str name)
{
    if (str_starts(name, STR("uni")) && name.n == 7)
        return digits(str_sub(name, 3, 4), 16);
    if (str_starts(name, STR("u")) && name.n >= 5 && name.n <= 7)
        return digits(str_sub(name, 1, 6), 16);
    if (!str_starts(name, STR("afii100")) || name.n != 9)
        return 0;
    uint32_t n = digits(str_sub(name, 7, 2), 10);
    uint32_t low = n >= 65 ? n - 65 : n - 17, from = n >= 65 ? 0x430 : 0x410;
    if (n < 17 || (n > 49 && n < 65) || n > 97)
        return 0;
    if (low == 6) /* io follows ie */
        return n >= 65 ? 0x451 : 0x401;
    return from + (low > 6 ? low - 1 : low);
}

/* Cuts off the size of a sign, as TeX's extension font names it. */
static struct str without_size(struct str name)
{
    static const char *const sizes[] = {"big", "Big", "bigg", "Bigg", "display", "text"};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct str size = str_of(sizes[i]);
        if (str_ends(name, size))
            return str_sub(name, 0, name.n - size.n);
    }
    return name;
}

static uint32_t one(struct str name)
{
    uint32_t cp = listed(name);
    if (!cp)
        cp = numbered(name);
    return cp ? cp : listed(without_size(name));
}

/* Fonts that Type 3 programs make: g65, a65, C65 are code 65 (not of any standard). */
static uint32_t by_code(struct str name)
{
    if (name.n < 2 || name.n > 4 || !memchr("aAcCgGB", name.p[0], 7))
        return 0;
    uint32_t code = digits(str_sub(name, 1, 3), 10);
    return code >= FIRST && code < 127 ? code : 0;
}

static size_t add(char *out, size_t n, size_t room, uint32_t cp)
{
    char c[4];
    if (!cp || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return n;
    size_t len = (size_t)utf8_encode(cp, c);
    if (len > room - n)
        return n;
    memcpy(out + n, c, len);
    return n + len;
}

size_t glyph_text(struct str name, char *out, size_t n)
{
    size_t have = 0;
    struct str whole = name, rest = str_cut(&name, '.');
    for (int i = 0; i < PARTS_MAX && rest.n; i++) {
        struct str part = str_cut(&rest, '_');
        /* uni00660066 is two of them */
        bool several = str_starts(part, STR("uni")) && part.n > 7 && part.n % 4 == 3;
        for (size_t at = 3; several && at < part.n; at += 4)
            have = add(out, have, n, digits(str_sub(part, at, 4), 16));
        if (!several)
            have = add(out, have, n, one(part));
    }
    return have ? have : add(out, 0, n, by_code(whole));
}
