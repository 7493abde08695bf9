/* SPDX-License-Identifier: MIT */
/*
 * Type 0 fonts (ISO 32000-1, 9.7): codes of several bytes, numbers of characters in a
 * collection (CID), widths by these.
 *
 * Without ToUnicode, the text is the code itself if the CMap is one of a character set;
 * else the character of the glyph in the font program, if that has names or a table of
 * characters; else that of the number in Adobe's collection.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"
#include "text/charset.h"

#include <stdlib.h>

enum { WIDTHS_MAX = 1 << 20, GLYPHS = 65536, NO_CID = UINT32_MAX };

/* ---- codes ---- */

/* The codes of character sets come last, in the order of enum charset. */
enum pdf_codes { IDENTITY, UNKNOWN, UTF16, UTF8, UTF32, SETS };

#define SET(x) (SETS + CHARSET_##x)

/* Predefined CMaps (table 118) by a part of their names, special ones first. */
static const struct {
    char part[11];
    uint8_t codes;  /* enum pdf_codes */
    uint16_t space; /* the CID of the blank; the rest of ASCII follows; 0: unknown */
} known[] = {
    {"UCS2", UTF16, 1},
    {"UTF16", UTF16, 1},
    {"UTF8", UTF8, 1},
    {"UTF32", UTF32, 1},
    {"GBKp-EUC", SET(GBK), 1},
    {"GBpc-EUC", SET(GBK), 1},
    {"GBT", UNKNOWN, 0},
    {"GBK", SET(GBK), 813},
    {"GB-EUC", SET(GBK), 813},
    {"90msp-RKSJ", SET(SHIFT_JIS), 1},
    {"90pv-RKSJ", SET(SHIFT_JIS), 1},
    {"83pv-RKSJ", SET(SHIFT_JIS), 1},
    {"RKSJ", SET(SHIFT_JIS), 231},
    {"KSC-EUC", SET(EUC_KR), 8094},
    {"KSCms", SET(EUC_KR), 1},
    {"KSCpc", SET(EUC_KR), 1},
    {"ETen-B5", SET(BIG5), 13648},
    {"B5", SET(BIG5), 1},
    {"CNS", UNKNOWN, 0},
    {"Hojo", UNKNOWN, 0},
    {"EUC", SET(EUC_JP), 231},
};

static void read_codes(struct pdf *d, struct pdf_font *f, struct pdf_obj encoding)
{
    f->space = 0;
    if (encoding.type == PDF_STREAM)
        f->codes = pdf_cmap_of(d, encoding);
    if (encoding.type != PDF_NAME)
        return;
    f->vertical = str_ends(encoding.s, STR("-V")) || str_eq(encoding.s, STR("V"));
    f->kind = str_starts(encoding.s, STR("Identity")) ? IDENTITY : UNKNOWN;
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

static size_t next_of_set(const struct pdf_font *f, struct str s, uint32_t *code)
{
    uint32_t c;
    size_t n = charset_next(f->tables, (enum charset)(f->kind - SETS), s, &c);
    *code = 0;
    for (size_t i = 0; i < n; i++)
        *code = *code << 8 | (unsigned char)s.p[i];
    return n;
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
    if (f->tables && f->kind >= SETS)
        return next_of_set(f, s, code);
    if (s.n == 1)
        return 1;
    if (f->kind == UTF16)
        return next_utf16(s, code);
    *code = first << 8 | (unsigned char)s.p[1];
    if (f->kind != UTF32 || s.n < 4)
        return 2;
    *code = *code << 16 | (uint32_t)((unsigned char)s.p[2] << 8 | (unsigned char)s.p[3]);
    return 4;
}

/* Returns the CID of a code, which has its width; NO_CID if it is not known. */
static uint32_t cid_of(const struct pdf_font *f, uint32_t code)
{
    uint32_t cid = 0;
    if (f->codes)
        return pdf_cmap_cid(f->codes, code, &cid) ? cid : 0;
    if (f->kind == IDENTITY)
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

/* Keeps characters by CID; a map (9.7.4.3) gives the glyph of a CID. */
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

/* Reads the characters of glyphs from the embedded font program. */
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

static uint32_t of_set(const struct pdf_font *f, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    uint32_t c;
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (n || code >> shift || shift == 0)
            bytes[n++] = (char)(code >> shift);
    }
    return charset_next(f->tables, (enum charset)(f->kind - SETS), str_n(bytes, n), &c) ==
                   n
               ? c
               : 0;
}

void pdf_wide_text(const struct pdf_font *f, uint32_t code, struct buf *out)
{
    char u[4];
    uint32_t c = 0, cid = cid_of(f, code);
    if (f->kind == UTF16 || f->kind == UTF8 || f->kind == UTF32)
        c = code;
    else if (f->kind >= SETS)
        c = f->tables ? of_set(f, code) : 0;
    else if (f->chars && cid < f->chars_n && f->chars[cid])
        c = f->chars[cid];
    else if (f->tables && f->kind == IDENTITY && f->collection >= 0)
        c = charset_of_cid(f->tables, f->collection, cid);
    if (c && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff))
        buf_add(out, u, (size_t)utf8_encode(c, u));
}

/* ---- all ---- */

void pdf_wide_read(struct pdf *d, struct pdf_font *f, struct pdf_obj font)
{
    struct pdf_obj cid = pdf_item(d, pdf_get(d, font, "DescendantFonts"), 0);
    read_wide_widths(d, f, cid);
    read_codes(d, f, pdf_get(d, font, "Encoding"));
    struct pdf_obj info = pdf_get(d, cid, "CIDSystemInfo");
    struct pdf_obj ordering = pdf_get(d, info, "Ordering");
    f->collection = -1;
    if (ordering.type == PDF_STRING)
        f->collection = charset_collection(ordering.s);
    if (f->kind >= SETS || (!f->to_unicode && f->collection >= 0)) {
        if (!d->charsets)
            d->charsets = charset_open();
        f->tables = d->charsets;
    }
    if (!f->to_unicode && f->kind == IDENTITY)
        read_chars(d, f, cid);
}
