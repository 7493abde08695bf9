/* SPDX-License-Identifier: MIT */
/*
 * What is inside streams of a PDF, without the pains of its table of objects: CMaps,
 * font programs, content of a page. The first byte chooses.
 */
#include "base/log.h"
#include "document/pdf/own.h"
#include "text/glyph.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void cmap(struct pdf *d, struct str s)
{
    struct pdf_cmap *m = pdf_cmap_read(d, s);
    struct buf out = BUF_INIT(1 << 16);
    for (uint32_t code = 0; m && code < 512; code++) {
        uint32_t cid;
        pdf_cmap_text(m, code * 131, &out);
        pdf_cmap_cid(m, code * 131, &cid);
    }
    for (struct str rest = s; m && rest.n;) {
        uint32_t code;
        size_t took = pdf_cmap_next(m, rest, &code);
        BUG_ON(took < 1 || took > rest.n);
        rest = str_sub(rest, took, rest.n);
    }
    buf_release(&out);
}

static void program(struct str s, void (*read)(struct str, struct str[256]))
{
    struct str names[256] = {{NULL, 0}};
    char text[32];
    read(s, names);
    for (int i = 0; i < 256; i++)
        BUG_ON(names[i].n && glyph_text(names[i], text, sizeof(text)) > sizeof(text));
}

static struct pdf_obj parsed(struct pdf *d, const char *text)
{
    struct pdf_lex l = {.d = d, .a = &d->arena, .s = str_of(text)};
    return pdf_parse(&l);
}

/* The content is drawn with a font, and may draw itself. */
static void content(struct pdf *d, struct str s)
{
    struct pdf_stream form = {.raw = s};
    struct pdf_pair fonts = {STR("F"), parsed(d, "<</Subtype/Type1/BaseFont/Courier>>")};
    struct pdf_pair forms = {STR("X"), {.type = PDF_STREAM, .stream = &form}};
    struct pdf_dict font = {1, &fonts}, object = {1, &forms};
    struct pdf_pair kinds[] = {{STR("Font"), {.type = PDF_DICT, .dict = &font}},
                               {STR("XObject"), {.type = PDF_DICT, .dict = &object}}};
    struct pdf_dict all = {2, kinds};
    struct pdf_pair subtype = {STR("Subtype"), {.type = PDF_NAME, .s = STR("Form")}};
    form.dict = (struct pdf_dict){1, &subtype};
    struct pdf_pair contents = {STR("Contents"), {.type = PDF_STREAM, .stream = &form}};
    struct pdf_dict page = {1, &contents};
    struct pdf_font *list = NULL;
    struct pdf_page p = {.pictures = false};
    buf_init(&p.glyphs, 1 << 22);
    buf_init(&p.text, 1 << 22);
    pdf_page_read(d, (struct pdf_obj){.type = PDF_DICT, .dict = &page},
                  (struct pdf_obj){.type = PDF_DICT, .dict = &all},
                  (struct pdf_box){0, 0, 600, 800}, &list, &p);
    struct buf out = BUF_INIT(1 << 22);
    pdf_page_lines(d, &p, &out);
    buf_release(&out);
    buf_release(&p.glyphs);
    buf_release(&p.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct pdf d = {.work = 200000, .unpack = 1 << 20};
    arena_init(&d.arena, 8 << 20);
    struct str s = str_n(data + 1, n ? n - 1 : 0);
    switch (n ? data[0] & 3 : 4) {
    case 0:
        cmap(&d, s);
        break;
    case 1:
        program(s, pdf_builtin_type1);
        break;
    case 2:
        program(s, pdf_builtin_cff);
        break;
    case 3:
        content(&d, s);
        break;
    default:
        break;
    }
    pdf_close(&d);
    return 0;
}
