/* SPDX-License-Identifier: MIT */
/*
 * The encoding inside a font program: fonts of TeX, also after Ghostscript, often have no
 * other. Type 1: Adobe Type 1 Font Format, section 2.2; CFF: Adobe Technical Note 5176.
 */
#include "document/pdf/own.h"
#include "text/glyph.h"

enum {
    HEAD_MAX = 64 << 10,
    CFF_STANDARD = 391,
    NAMED_MAX = 8192 /* glyphs whose names are looked up */
};

/* ---- Type 1: "dup 65 /A put" in its clear text ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static struct str next_word(struct str *s)
{
    while (s->n && pdf_is_space(*s->p))
        *s = str_sub(*s, 1, s->n);
    size_t n = 0;
    while (n < s->n && !pdf_is_space(s->p[n]) && (n == 0 || s->p[n] != '/'))
        n++;
    struct str word = str_sub(*s, 0, n);
    *s = str_sub(*s, n, s->n);
    return word;
}

void pdf_builtin_type1(struct str program, struct str names[256])
{
    struct str s = str_sub(program, 0, HEAD_MAX);
    long at = str_find(s, STR("/Encoding"));
    if (at < 0)
        return;
    s = str_sub(s, (size_t)at + 9, s.n);
    long end = str_find(s, STR("eexec"));
    if (end >= 0)
        s.n = (size_t)end;
    while ((at = str_find(s, STR("dup"))) >= 0) {
        s = str_sub(s, (size_t)at + 3, s.n);
        struct str rest = s, number = next_word(&rest), name = next_word(&rest);
        uint64_t code = 0;
        if (number.n && is_digit(number.p[0]) && str_to_u64(number, &code) == 0 &&
            code < 256 && name.n > 1 && name.p[0] == '/')
            names[code] = str_sub(name, 1, name.n);
    }
}

/* ---- CFF ---- */

static unsigned u8(struct str s, size_t at)
{
    return at < s.n ? (unsigned char)s.p[at] : 0;
}

static unsigned u16(struct str s, size_t at) { return u8(s, at) << 8 | u8(s, at + 1); }

struct index {
    size_t n, width, offsets, data, end;
};

/* 5: reads an index. Returns false if it reaches beyond the program. */
static bool read_index(struct str s, size_t at, struct index *x)
{
    *x = (struct index){.n = u16(s, at), .end = at + 2};
    if (at + 2 > s.n)
        return false;
    if (!x->n)
        return true;
    x->width = u8(s, at + 2);
    x->offsets = at + 3;
    x->data = x->offsets + (x->n + 1) * x->width - 1;
    if (x->width < 1 || x->width > 4 || x->data >= s.n)
        return false;
    size_t last = 0;
    for (size_t i = 0; i < x->width; i++)
        last = last << 8 | u8(s, x->offsets + x->n * x->width + i);
    x->end = x->data + last;
    return last > 0 && x->end <= s.n;
}

static struct str index_item(struct str s, const struct index *x, size_t i)
{
    size_t at[2] = {0, 0};
    if (i >= x->n)
        return str_n(NULL, 0);
    for (size_t k = 0; k < 2; k++) {
        for (size_t b = 0; b < x->width; b++)
            at[k] = at[k] << 8 | u8(s, x->offsets + (i + k) * x->width + b);
    }
    if (at[0] < 1 || at[1] < at[0] || x->data + at[1] > s.n)
        return str_n(NULL, 0);
    return str_sub(s, x->data + at[0], at[1] - at[0]);
}

/* 4: reads one operand. Returns false if it is an operator. */
static bool operand(struct str d, size_t *at, long *value)
{
    unsigned b = u8(d, *at);
    if (b >= 32 && b <= 246) {
        *value = (long)b - 139;
        *at += 1;
    } else if (b >= 247 && b <= 250) {
        *value = (long)(b - 247) * 256 + (long)u8(d, *at + 1) + 108;
        *at += 2;
    } else if (b >= 251 && b <= 254) {
        *value = -(long)(b - 251) * 256 - (long)u8(d, *at + 1) - 108;
        *at += 2;
    } else if (b == 28) {
        *value = (int16_t)u16(d, *at + 1);
        *at += 3;
    } else if (b == 29) {
        *value = (int32_t)((uint32_t)u16(d, *at + 1) << 16 | u16(d, *at + 3));
        *at += 5;
    } else if (b == 30) { /* a real number: nibbles up to 15 */
        do
            *at += 1;
        while (*at < d.n && (u8(d, *at) & 15) != 15 && u8(d, *at) >> 4 != 15);
        *at += 1;
        *value = 0;
    } else {
        return false;
    }
    return true;
}

/* Returns the last operand before an operator of one byte. */
static long dict_value(struct str d, unsigned wanted, long dflt)
{
    long value = 0;
    for (size_t at = 0; at < d.n;) {
        if (operand(d, &at, &value))
            continue;
        unsigned op = u8(d, at);
        if (op == wanted)
            return value;
        at += op == 12 ? 2 : 1;
    }
    return dflt;
}

struct cff {
    struct str s;
    struct index strings;
    size_t charset; /* its offset; up to 2: one of the standard ones */
    size_t glyphs;
};

static struct str string_of(const struct cff *c, unsigned sid)
{
    if (sid >= CFF_STANDARD)
        return index_item(c->s, &c->strings, sid - CFF_STANDARD);
    return glyph_cff_string(sid);
}

/* 13: finds the string of a glyph in the ranges. */
static unsigned sid_of(const struct cff *c, size_t glyph)
{
    if (c->charset <= 2)
        return (unsigned)glyph; /* ISOAdobe */
    unsigned format = u8(c->s, c->charset);
    if (format == 0)
        return u16(c->s, c->charset + 1 + 2 * (glyph - 1));
    size_t at = c->charset + 1, first = 1, step = format == 1 ? 3 : 4;
    while (at + step <= c->s.n && first <= glyph) {
        unsigned left = format == 1 ? u8(c->s, at + 2) : u16(c->s, at + 2);
        if (glyph <= first + left)
            return u16(c->s, at) + (unsigned)(glyph - first);
        first += left + 1;
        at += step;
    }
    return 0;
}

/* 12 */
static void read_encoding(const struct cff *c, size_t at, struct str names[256])
{
    unsigned format = u8(c->s, at), n = u8(c->s, at + 1);
    size_t glyph = 1;
    at += 2;
    for (unsigned i = 0; i < n; i++) {
        unsigned first = u8(c->s, at), left = format & 127 ? u8(c->s, at + 1) : 0;
        at += format & 127 ? 2 : 1;
        for (unsigned k = 0; k <= left && first + k < 256; k++, glyph++) {
            if (glyph < c->glyphs)
                names[first + k] = string_of(c, sid_of(c, glyph));
        }
    }
    if (!(format & 128))
        return;
    n = u8(c->s, at++);
    for (unsigned i = 0; i < n; i++, at += 3)
        names[u8(c->s, at)] = string_of(c, u16(c->s, at + 1));
}

/* Opens a CFF program. Returns false if it is damaged. */
static bool open_cff(struct cff *c, struct str program, struct str *top)
{
    struct index fonts, tops, glyphs;
    *c = (struct cff){.s = program};
    if (!read_index(c->s, u8(c->s, 2), &fonts) || !read_index(c->s, fonts.end, &tops) ||
        !read_index(c->s, tops.end, &c->strings))
        return false;
    *top = index_item(c->s, &tops, 0);
    long charset = dict_value(*top, 15, 0), outlines = dict_value(*top, 17, 0);
    if (outlines <= 0 || charset < 0 || !read_index(c->s, (size_t)outlines, &glyphs))
        return false;
    c->charset = (size_t)charset;
    c->glyphs = glyphs.n;
    return true;
}

void pdf_builtin_cff(struct str program, struct str names[256])
{
    struct cff c;
    struct str top;
    if (!open_cff(&c, program, &top))
        return;
    long encoding = dict_value(top, 16, 0);
    /* 0 is Adobe's standard, which is what the caller has anyway. */
    if (encoding > 1)
        read_encoding(&c, (size_t)encoding, names);
}

/* 18: fonts of CIDs have no names, but ROS, which is the first operator. */
static bool has_names(struct str top)
{
    long value;
    size_t at = 0;
    while (at < top.n && operand(top, &at, &value))
        ;
    return u8(top, at) != 12 || u8(top, at + 1) != 30;
}

void pdf_cff_chars(struct str program, uint32_t *chars, size_t n)
{
    struct cff c;
    struct str top;
    if (!open_cff(&c, program, &top) || !has_names(top))
        return;
    for (size_t i = 1; i < n && i < c.glyphs && i < NAMED_MAX; i++)
        chars[i] = pdf_glyph_char(string_of(&c, sid_of(&c, i)));
}
