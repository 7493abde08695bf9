/* SPDX-License-Identifier: MIT */
/*
 * Fonts: the text of a code in a string, and its width.
 *
 * The text of a code comes from ToUnicode (9.10.2); else, for simple fonts, from
 * the glyph's name, which /Differences, a base encoding or the font program gives.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"
#include "text/glyph.h"

#include <ctype.h>
#include <math.h>

enum { GLYPH_TEXT = 32 };

static struct str kept(struct pdf *d, const char *p, size_t n)
{
    const char *copy = arena_copy(&d->arena, str_n(p, n));
    return str_n(copy, copy ? n : 0);
}

struct pdf_cmap *pdf_cmap_of(struct pdf *d, struct pdf_obj o)
{
    struct buf b = BUF_INIT(PDF_STREAM_MAX);
    struct pdf_cmap *m = NULL;
    if (o.type == PDF_STREAM && pdf_unpack(d, o.stream, &b) == 0)
        m = pdf_cmap_read(d, buf_str(&b));
    buf_release(&b);
    return m;
}

/* ---- simple fonts (9.6) ---- */

/* Removes the six letters and + that mark a part of a font. */
static struct str base_name(struct pdf *d, struct pdf_obj font)
{
    struct pdf_obj o = pdf_get(d, font, "BaseFont");
    struct str s = o.type == PDF_NAME ? o.s : str_n(NULL, 0);
    return s.n > 7 && s.p[6] == '+' ? str_sub(s, 7, s.n) : s;
}

static enum glyph_base base_of(struct pdf_obj encoding, enum glyph_base dflt)
{
    if (pdf_is_name(encoding, "WinAnsiEncoding"))
        return GLYPH_WIN;
    if (pdf_is_name(encoding, "MacRomanEncoding"))
        return GLYPH_MAC;
    if (pdf_is_name(encoding, "StandardEncoding"))
        return GLYPH_STANDARD;
    return dflt;
}

static enum glyph_base default_base(struct pdf *d, struct pdf_obj font)
{
    struct str name = base_name(d, font);
    if (str_starts(name, STR("Symbol")))
        return GLYPH_SYMBOL;
    if (str_starts(name, STR("ZapfDingbats")))
        return GLYPH_DINGBATS;
    return pdf_is_name(pdf_get(d, font, "Subtype"), "TrueType") ? GLYPH_WIN
                                                                : GLYPH_STANDARD;
}

static void put_name(struct pdf *d, struct pdf_font *f, unsigned code, struct str name)
{
    char text[GLYPH_TEXT];
    size_t n = glyph_text(name, text, sizeof(text));
    f->text[code] = n ? kept(d, text, n) : str_n(NULL, 0);
}

static void put_base(struct pdf *d, struct pdf_font *f, enum glyph_base base)
{
    for (unsigned code = 0; code < 256; code++) {
        char c[4];
        uint32_t cp = glyph_base_char(base, code);
        if (cp)
            f->text[code] = kept(d, c, (size_t)utf8_encode(cp, c));
    }
}

/* Takes the font program's own names for codes that have no other. */
static void put_builtin(struct pdf *d, struct pdf_font *f, struct pdf_obj descriptor)
{
    struct str names[256] = {{NULL, 0}};
    struct buf b = BUF_INIT(PDF_PROGRAM_MAX);
    struct pdf_obj type1 = pdf_get(d, descriptor, "FontFile");
    struct pdf_obj cff = pdf_get(d, descriptor, "FontFile3");
    if (type1.type == PDF_STREAM) {
        pdf_unpack(d, type1.stream, &b);
        pdf_builtin_type1(buf_str(&b), names);
    } else if (cff.type == PDF_STREAM) {
        pdf_unpack(d, cff.stream, &b);
        pdf_builtin_cff(buf_str(&b), names);
    }
    for (unsigned i = 0; i < 256; i++) {
        if (names[i].n)
            put_name(d, f, i, names[i]);
    }
    buf_release(&b);
}

/*
 * 9.6.5: the names of a Type 3 font are its own. If they are not names of glyphs ("BD",
 * "BE", "a16" of pdfTeX), its codes are the better text.
 */
static bool are_names(struct pdf *d, struct pdf_obj list)
{
    char text[GLYPH_TEXT];
    size_t names = 0, known = 0;
    for (size_t i = 0; i < pdf_count(list); i++) {
        struct pdf_obj o = pdf_item(d, list, i);
        if (o.type != PDF_NAME || str_eq(o.s, STR(".notdef")))
            continue;
        bool number = o.s.n > 1 && *o.s.p == 'a' && isdigit((unsigned char)o.s.p[1]);
        names++;
        known += !number && glyph_text(o.s, text, sizeof(text)) > 0;
    }
    return known * 2 >= names;
}

/* 9.6.6.1: a code, and names from it on. */
static void put_differences(struct pdf *d, struct pdf_font *f, struct pdf_obj list)
{
    int64_t code = 0;
    for (size_t i = 0; i < pdf_count(list); i++) {
        struct pdf_obj o = pdf_item(d, list, i);
        if (o.type == PDF_NAME && code >= 0 && code < 256)
            put_name(d, f, (unsigned)code++, o.s);
        else
            code = pdf_int(o, code);
    }
}

/*
 * Fonts of TeX that are pictures have the codes of Cork (T1), of which those from 192 on
 * are nearly Latin-1, of OT1 (other ligatures) or of TS1 (the dot of lists).
 */
static void put_tex(struct pdf *d, struct pdf_font *f)
{
    static const char from_11[] = "ff\0fi\0fl\0ffi\0ffl\0“\0”\0„\0«\0»\0–\0—\0\0\0ı\0"
                                  "ȷ\0ff\0fi\0fl\0ffi\0ffl";
    const char *s = from_11;
    put_base(d, f, GLYPH_WIN);
    for (unsigned code = 11; code < ' '; code++, s += strlen(s) + 1)
        f->text[code] = str_of(s);
    for (unsigned code = 128; code < 192; code++)
        f->text[code] = code == 136 ? STR("•") : str_n(NULL, 0);
}

static void read_encoding(struct pdf *d, struct pdf_font *f, struct pdf_obj font)
{
    struct pdf_obj encoding = pdf_get(d, font, "Encoding");
    struct pdf_obj base = encoding;
    if (encoding.type == PDF_DICT)
        base = pdf_get(d, encoding, "BaseEncoding");
    put_base(d, f, base_of(base, default_base(d, font)));
    if (base.type != PDF_NAME)
        put_builtin(d, f, pdf_get(d, font, "FontDescriptor"));
    struct pdf_obj differences = pdf_get(d, encoding, "Differences");
    if (!pdf_is_name(pdf_get(d, font, "Subtype"), "Type3") || are_names(d, differences))
        put_differences(d, f, differences);
    else
        put_tex(d, f);
}

static void read_widths(struct pdf *d, struct pdf_font *f, struct pdf_obj font)
{
    struct pdf_obj list = pdf_get(d, font, "Widths");
    struct pdf_obj descriptor = pdf_get(d, font, "FontDescriptor");
    int64_t first = pdf_int(pdf_get(d, font, "FirstChar"), 0);
    struct str name = base_name(d, font);
    double missing = 0;
    pdf_number(pdf_get(d, descriptor, "MissingWidth"), &missing);
    for (unsigned i = 0; i < 256; i++)
        f->width[i] = list.type == PDF_ARRAY ? missing
                                             : pdf_standard_width(name, f->text[i]);
    for (size_t i = 0; i < pdf_count(list) && i < 256; i++) {
        int64_t code = first + (int64_t)i;
        if (code >= 0 && code < 256)
            pdf_number(pdf_item(d, list, i), &f->width[code]);
    }
}

/*
 * 9.6.5: Type 3 fonts have a coordinate space of their own, and font sizes refer to it.
 * Letters are about half an em wide; if the widths are far from that, the em is computed
 * from them.
 */
static void read_scale(struct pdf *d, struct pdf_font *f, struct pdf_obj font)
{
    double a = 0.001, sum = 0;
    int n = 0;
    if (!pdf_is_name(pdf_get(d, font, "Subtype"), "Type3"))
        return;
    pdf_number(pdf_item(d, pdf_get(d, font, "FontMatrix"), 0), &a);
    f->scale = fabs(a) < 100 ? fabs(a) : 0.001;
    for (int i = 0; i < 256; i++) {
        sum += fabs(f->width[i]);
        n += fabs(f->width[i]) > 0;
    }
    double em = n ? 2 * sum / n * f->scale : 1;
    if (isfinite(em) && (em > 3 || (em > 0 && em < 0.3)))
        f->em = em;
}

/* ---- all ---- */

struct pdf_font *pdf_font_new(struct pdf *d, struct pdf_obj font)
{
    struct pdf_font *f = arena_get(&d->arena, sizeof(*f));
    if (!f)
        return NULL;
    f->key = font.type == PDF_DICT ? font.dict : NULL;
    f->scale = 0.001;
    f->em = 1;
    f->to_unicode = pdf_cmap_of(d, pdf_get(d, font, "ToUnicode"));
    if (pdf_is_name(pdf_get(d, font, "Subtype"), "Type0")) {
        f->wide = true;
        pdf_wide_read(d, f, font);
    } else {
        read_encoding(d, f, font);
        read_widths(d, f, font);
        read_scale(d, f, font);
    }
    return f;
}

size_t pdf_font_next(const struct pdf_font *f, struct str s, uint32_t *code)
{
    if (f->wide)
        return pdf_wide_next(f, s, code);
    *code = (unsigned char)s.p[0];
    return 1;
}

/* Replaces ligatures by their letters in the text from `from` on. */
static void spell(struct buf *out, size_t from)
{
    static const char *const letters[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
    const unsigned char *p = (const unsigned char *)out->p + from;
    if (out->n != from + 3 || p[0] != 0xef || p[1] != 0xac || p[2] < 0x80 || p[2] > 0x86)
        return;
    const char *text = letters[p[2] - 0x80];
    buf_truncate(out, from);
    buf_addz(out, text);
}

void pdf_font_text(const struct pdf_font *f, uint32_t code, struct buf *out)
{
    size_t from = out->n;
    if (f->to_unicode && pdf_cmap_text(f->to_unicode, code, out))
        ;
    else if (f->wide)
        pdf_wide_text(f, code, out);
    else
        buf_adds(out, f->text[code & 255]);
    spell(out, from);
}

double pdf_font_width(struct pdf *d, const struct pdf_font *f, uint32_t code)
{
    return f->wide ? pdf_wide_width(d, f, code) : f->width[code & 255] * f->scale;
}
