/* SPDX-License-Identifier: MIT */
/*
 * Type 0 fonts (ISO 32000-1, 9.7): codes of several bytes, numbers of characters in a
 * collection (CID), widths by these.
 *
 * Without ToUnicode, text is what the code itself is, if the CMap is one of Unicode or
 * the code is ASCII; else that of the glyph in the font program, if that has names or
 * a table of characters. CMaps of other East Asian sets would need their tables: those
 * characters stay unknown, and are counted.
 */
#include "engine/docread_pdf.h"

#include "base/utf8.h"

#include <stdlib.h>

enum { WIDTHS_MAX = 1 << 20, GLYPHS = 65536, NO_CID = UINT32_MAX };

/* ---- codes ---- */

enum pdf_codes { TWO_BYTES, UTF16, UTF8, UTF32, EUC, FROM_81, RKSJ };

/* Predefined CMaps (table 118) by a part of their names, special ones first. */
static const struct {
    const char *part;
    uint8_t codes;  /* enum pdf_codes */
    uint16_t space; /* the CID of the blank; the rest of ASCII follows; 0: unknown */
} known[] = {
    {"UCS2", UTF16, 1},        {"UTF16", UTF16, 1},       {"UTF8", UTF8, 1},
    {"UTF32", UTF32, 1},       {"GBK2K", FROM_81, 813},   {"GBKp-EUC", FROM_81, 1},
    {"GBK-EUC", FROM_81, 813}, {"GBpc-EUC", EUC, 1},      {"GB-EUC", EUC, 813},
    {"90msp-RKSJ", RKSJ, 1},   {"90pv-RKSJ", RKSJ, 1},    {"83pv-RKSJ", RKSJ, 1},
    {"RKSJ", RKSJ, 231},       {"KSCms-UHC", FROM_81, 1}, {"KSCpc-EUC", EUC, 1},
    {"KSC-EUC", EUC, 8094},    {"ETenms-B5", FROM_81, 1}, {"ETen-B5", FROM_81, 13648},
    {"B5", FROM_81, 1},        {"EUC", EUC, 231},
};

static void read_codes(struct pdf *d, struct pdf_font *f, struct pdf_obj encoding)
{
    f->space = 0;
    if (encoding.type == PDF_STREAM)
        f->codes = pdf_cmap_of(d, encoding);
    if (encoding.type != PDF_NAME)
        return;
    f->vertical = str_ends(encoding.s, STR("-V")) || str_eq(encoding.s, STR("V"));
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (str_find(encoding.s, str_of(known[i].part)) >= 0) {
            f->kind = known[i].codes;
            f->space = known[i].space;
            return;
        }
    }
}

static size_t next_utf16(struct str s, uint32_t *code)
{
    *code = (uint32_t)((unsigned char)s.p[0] << 8 | (unsigned char)s.p[1]);
    if (*code < 0xd800 || *code >= 0xdc00 || s.n < 4)
        return 2;
    *code = 0x10000 + ((*code & 0x3ff) << 10) +
            ((uint32_t)((unsigned char)s.p[2] << 8 | (unsigned char)s.p[3]) & 0x3ff);
    return 4;
}

size_t pdf_wide_next(const struct pdf_font *f, struct str s, uint32_t *code)
{
    unsigned first = (unsigned char)s.p[0];
    if (f->codes && pdf_cmap_has_spaces(f->codes))
        return pdf_cmap_next(f->codes, s, code);
    *code = first;
    if (f->kind == UTF8) {
        int n = utf8_decode(s, code);
        return n < 1 ? 1 : (size_t)n;
    }
    if (s.n == 1 || (f->kind >= EUC && first < (f->kind == EUC ? 0xa1 : 0x81)) ||
        (f->kind == RKSJ && first >= 0xa0 && first < 0xe0))
        return 1;
    if (f->kind == UTF16)
        return next_utf16(s, code);
    *code = first << 8 | (unsigned char)s.p[1];
    if (f->kind != UTF32 || s.n < 4)
        return 2;
    *code = *code << 16 | (uint32_t)((unsigned char)s.p[2] << 8 | (unsigned char)s.p[3]);
    return 4;
}

/* The number of the character, by which it has its width; NO_CID: nobody knows. */
static uint32_t cid_of(const struct pdf_font *f, uint32_t code)
{
    uint32_t cid = 0;
    if (f->codes)
        return pdf_cmap_cid(f->codes, code, &cid) ? cid : 0;
    if (f->kind == TWO_BYTES)
        return code;
    return f->space && code >= ' ' && code < 127 ? f->space + code - ' ' : NO_CID;
}

/* ---- widths ---- */

static void add_width(struct pdf *d, struct pdf_font *f, size_t *room, struct pdf_width w)
{
    if (f->widths_n == *room) {
        size_t more = *room ? 2 * *room : 32;
        struct pdf_width *list = more <= WIDTHS_MAX
                                     ? arena_get(&d->arena, more * sizeof(*list))
                                     : NULL;
        if (!list)
            return;
        if (f->widths_n)
            memcpy(list, f->widths, f->widths_n * sizeof(*list));
        f->widths = list;
        *room = more;
    }
    f->widths[f->widths_n++] = w;
}

/* 9.7.4.3: "c [w w w]" and "from to w". */
static void read_wide_widths(struct pdf *d, struct pdf_font *f, struct pdf_obj cid)
{
    struct pdf_obj list = pdf_get(d, cid, "W");
    size_t room = 0, n = pdf_count(list);
    f->default_width = 1000;
    pdf_number(pdf_get(d, cid, "DW"), &f->default_width);
    for (size_t i = 0; i + 1 < n;) {
        uint32_t from = (uint32_t)pdf_int(pdf_item(d, list, i), 0);
        struct pdf_obj o = pdf_item(d, list, i + 1);
        struct pdf_width w = {.from = from};
        if (o.type == PDF_ARRAY) {
            w.to = from + (uint32_t)pdf_count(o) - 1;
            w.list = o.array;
            if (pdf_count(o))
                add_width(d, f, &room, w);
            i += 2;
        } else {
            w.to = (uint32_t)pdf_int(o, 0);
            if (!pdf_number(pdf_item(d, list, i + 2), &w.width))
                return;
            add_width(d, f, &room, w);
            i += 3;
        }
    }
}

double pdf_wide_width(struct pdf *d, const struct pdf_font *f, uint32_t code)
{
    uint32_t cid = cid_of(f, code);
    double width = f->default_width;
    for (size_t i = 0; i < f->widths_n; i++) {
        const struct pdf_width *w = &f->widths[i];
        if (cid < w->from || cid > w->to)
            continue;
        width = w->width;
        if (w->list)
            pdf_number(pdf_resolve(d, w->list->item[cid - w->from]), &width);
        break;
    }
    pdf_work(d, (int64_t)(f->widths_n >> 4));
    return width * f->scale;
}

/* ---- text ---- */

/* Keeps them by CID: where there is a map (9.7.4.3), the glyph of a CID is there. */
static void keep_chars(struct pdf *d, struct pdf_font *f, struct str map,
                       const uint32_t *chars)
{
    size_t n = map.n ? map.n / 2 : GLYPHS;
    while (!map.n && n > 0 && !chars[n - 1])
        n--;
    f->chars_n = n;
    f->chars = arena_get(&d->arena, n * sizeof(*f->chars));
    for (size_t i = 0; f->chars && i < n; i++) {
        size_t glyph = i;
        if (map.n)
            glyph = (size_t)((unsigned char)map.p[2 * i] << 8 |
                             (unsigned char)map.p[2 * i + 1]);
        f->chars[i] = chars[glyph];
    }
}

/* What the glyphs are, by the font program that is embedded. */
static void read_chars(struct pdf *d, struct pdf_font *f, struct pdf_obj cid)
{
    struct pdf_obj descriptor = pdf_get(d, cid, "FontDescriptor");
    struct pdf_obj file = pdf_get(d, descriptor, "FontFile2");
    struct pdf_obj map = pdf_get(d, cid, "CIDToGIDMap");
    struct buf b = BUF_INIT(PDF_PROGRAM_MAX), to_glyph = BUF_INIT(2 * GLYPHS);
    if (file.type != PDF_STREAM)
        file = pdf_get(d, descriptor, "FontFile3");
    uint32_t *chars = calloc(GLYPHS, sizeof(*chars));
    if (chars && file.type == PDF_STREAM && pdf_unpack(d, file.stream, &b) == 0) {
        if (pdf_is_sfnt(buf_str(&b)))
            pdf_sfnt_chars(buf_str(&b), chars, GLYPHS);
        else
            pdf_cff_chars(buf_str(&b), chars, GLYPHS);
        if (map.type == PDF_STREAM)
            pdf_unpack(d, map.stream, &to_glyph);
        keep_chars(d, f, buf_str(&to_glyph), chars);
    }
    free(chars);
    buf_release(&b);
    buf_release(&to_glyph);
}

void pdf_wide_text(const struct pdf_font *f, uint32_t code, struct buf *out)
{
    char u[4];
    uint32_t c = 0, cid = cid_of(f, code);
    if (f->kind == UTF16 || f->kind == UTF8 || f->kind == UTF32)
        c = code;
    else if (f->kind >= EUC)
        c = code < 128 ? code : f->kind == RKSJ && code < 256 ? 0xff61 + code - 0xa1 : 0;
    else if (f->chars && cid < f->chars_n)
        c = f->chars[cid];
    if (c && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff))
        buf_add(out, u, (size_t)utf8_encode(c, u));
}

/* ---- all ---- */

void pdf_wide_read(struct pdf *d, struct pdf_font *f, struct pdf_obj font)
{
    struct pdf_obj cid = pdf_item(d, pdf_get(d, font, "DescendantFonts"), 0);
    read_wide_widths(d, f, cid);
    read_codes(d, f, pdf_get(d, font, "Encoding"));
    if (!f->to_unicode && f->kind == TWO_BYTES)
        read_chars(d, f, cid);
}
