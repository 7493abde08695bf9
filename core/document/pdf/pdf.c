/* SPDX-License-Identifier: MIT */
/* Pages in their order, each with its mark; after its text the fields of forms, notes and
 * links of the page. */
#include "document/pdf/own.h"
#include "document/pdf/pdf.h"

#include "text/webcharset.h"

enum {
    PAGE_WORK = 256,
    MUTE_PART = 100, /* a few missing signs are not reported */
    PARENTS_MAX = 8
};

struct pages {
    struct pdf *d;
    struct buf *out;
    struct pdf_font *fonts;
    struct pdf_page page;
    bool markdown;
    size_t n;      /* pages seen */
    bool letters;  /* some page had text */
    bool pictures; /* or a picture */
    int rc;
};

/* The attributes that pages inherit (7.7.3.4). */
struct inherited {
    struct pdf_obj resources, box;
};

static struct pdf_box box_of(struct pdf *d, struct pdf_obj o)
{
    double v[4] = {0, 0, 612, 792};
    double got[4];
    bool all = true;
    for (size_t i = 0; i < 4; i++)
        all = pdf_number(pdf_item(d, o, i), &got[i]) && all;
    if (all)
        memcpy(v, got, sizeof(v));
    bool left = v[0] < v[2], low = v[1] < v[3];
    return (struct pdf_box){v[left ? 0 : 2], v[low ? 1 : 3], v[left ? 2 : 0],
                            v[low ? 3 : 1]};
}

static void trim(struct buf *out, size_t from)
{
    while (out->n > from && (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == ' '))
        buf_truncate(out, out->n - 1);
}

/* ---- fields, notes and links (12.5, 12.7) ---- */

/* Returns what an annotation has, or the field that it is part of. */
static struct pdf_obj of_field(struct pdf *d, const struct pdf_obj *o, const char *key)
{
    struct pdf_obj at = *o, value = pdf_get(d, at, key);
    for (int i = 0; value.type == PDF_NULL && i < PARENTS_MAX; i++) {
        at = pdf_get(d, at, "Parent");
        value = pdf_get(d, at, key);
    }
    return value;
}

static bool is(struct pages *p, const struct pdf_obj *o, const char *key,
               const char *name)
{
    return pdf_is_name(of_field(p->d, o, key), name);
}

/*
 * Appends a text string (7.9.2.2) or name, or the last one of an array. Returns the
 * number of bytes.
 */
static size_t put_value(struct pages *p, struct pdf_obj value)
{
    char unknown[40];
    size_t from = p->out->n;
    if (value.type == PDF_ARRAY)
        value = pdf_item(p->d, value, pdf_count(value) - 1);
    if (value.type == PDF_STRING)
        webcharset_read(value.s, STR("windows-1252"), false, p->out, unknown);
    else if (value.type == PDF_NAME)
        buf_adds(p->out, value.s);
    return p->out->n - from;
}

/* The same of what it has. */
static size_t put(struct pages *p, const struct pdf_obj *o, const char *key)
{
    return put_value(p, of_field(p->d, o, key));
}

/* Appends which choice of its field a radio button is (12.7.5.2.4). */
static void put_choice(struct pages *p, const struct pdf_obj *o)
{
    enum { RADIO = 1 << 15 };
    struct pdf_obj looks = pdf_get(p->d, pdf_get(p->d, *o, "AP"), "N");
    if (!(pdf_int(of_field(p->d, o, "Ff"), 0) & RADIO) || looks.type != PDF_DICT)
        return;
    for (size_t i = 0; i < looks.dict->n; i++) {
        struct str key = looks.dict->pair[i].key;
        uint64_t index = 0;
        if (str_eq(key, STR("Off")))
            continue;
        buf_addz(p->out, ": ");
        /* With Opt, names are numbers of its texts. */
        if (str_to_u64(key, &index) < 0 ||
            !put_value(p, pdf_item(p->d, of_field(p->d, o, "Opt"), (size_t)index)))
            buf_adds(p->out, key);
        return;
    }
}

/* Appends one in brackets; `page`: where the text of the page begins. */
static void put_annotation(struct pages *p, struct pdf_obj o, size_t page)
{
    struct buf *out = p->out;
    size_t from = out->n, n;
    bool field = is(p, &o, "Subtype", "Widget");
    buf_addc(out, '[');
    if (field && is(p, &o, "FT", "Btn")) {
        buf_addz(out, is(p, &o, "AS", "Off") ? "☐ " : "☒ ");
        n = put(p, &o, "T");
        put_choice(p, &o);
    } else if (is(p, &o, "Subtype", "Link")) {
        struct pdf_obj action = pdf_get(p->d, o, "A");
        n = put(p, &action, "URI");
        struct str all = buf_str(out);
        if (str_find(str_sub(all, page, from - page), str_sub(all, from + 1, n)) >= 0)
            n = 0; /* the text says the same */
    } else {
        put(p, &o, field ? "T" : "Subtype");
        buf_addz(out, ": ");
        n = put(p, &o, field ? "V" : "Contents");
    }
    if (n && !is(p, &o, "Subtype", "Popup"))
        buf_addz(out, "]\n");
    else
        buf_truncate(out, from);
}

static void put_annotations(struct pages *p, struct pdf_obj page, size_t from)
{
    struct pdf_obj all = pdf_get(p->d, page, "Annots");
    buf_addc(p->out, '\n');
    for (size_t i = 0; i < pdf_count(all); i++) {
        if (!pdf_work(p->d, PAGE_WORK + (int64_t)((p->out->n - from) >> 4)))
            return;
        put_annotation(p, pdf_item(p->d, all, i), from);
    }
}

static void read_page(struct pages *p, struct pdf_obj page, const struct inherited *in)
{
    p->n++;
    buf_reset(&p->page.glyphs);
    buf_reset(&p->page.text);
    p->page.pictures = false;
    pdf_page_read(p->d, page, in->resources, box_of(p->d, in->box), &p->fonts, &p->page);
    p->letters = p->letters || p->page.text.n > 0;
    p->pictures = p->pictures || p->page.pictures;
    p->rc = buf_addf(
        p->out, p->markdown ? "<!-- Page number: %zu -->\n" : "@@ Page %zu @@\n", p->n);
    size_t from = p->out->n;
    if (p->rc == 0)
        p->rc = pdf_page_lines(p->d, &p->page, p->out);
    trim(p->out, from);
    put_annotations(p, page, from);
    trim(p->out, from);
    if (p->rc == 0)
        p->rc = buf_addz(p->out, "\n\n");
}

static void walk(struct pages *p, struct pdf_obj ref, struct inherited in, int depth)
{
    struct pdf *d = p->d;
    if (depth > PDF_DEPTH_MAX || p->rc < 0 || d->err.code || !pdf_work(d, PAGE_WORK))
        return;
    /* A node that contains itself is skipped. */
    struct pdf_entry *x = ref.type == PDF_REF && ref.ref < d->entries ? &d->entry[ref.ref]
                                                                      : NULL;
    struct pdf_obj node = pdf_resolve(d, ref);
    if (node.type != PDF_DICT || (x && x->busy))
        return;
    struct pdf_obj resources = pdf_get(d, node, "Resources");
    struct pdf_obj box = pdf_get(d, node, "MediaBox");
    if (resources.type == PDF_DICT)
        in.resources = resources;
    if (box.type == PDF_ARRAY)
        in.box = box;
    struct pdf_obj kids = pdf_get(d, node, "Kids");
    if (kids.type != PDF_ARRAY) {
        read_page(p, node, &in);
        return;
    }
    if (x)
        d->entry[ref.ref].busy = true;
    for (size_t i = 0; i < pdf_count(kids); i++)
        walk(p, kids.array->item[i], in, depth + 1);
    if (x)
        d->entry[ref.ref].busy = false;
}

/* Appends a note on what could not be read. */
static int say_missing(const struct pages *p)
{
    if (p->letters && p->page.mute > p->page.drawn / MUTE_PART)
        return buf_addf(p->out,
                        "[%zu characters are missing above: their fonts do not say which "
                        "ones they are.]\n",
                        p->page.mute);
    if (p->letters)
        return 0;
    if (p->page.mute)
        return buf_addz(p->out, "[The fonts of this file do not say which characters "
                                "they draw: it needs character recognition, or a model "
                                "that sees.]\n");
    if (p->n == 0)
        return buf_addz(p->out, "[There are no pages in this file.]\n");
    if (p->pictures)
        return buf_addz(
            p->out, "[There is no text in this file: its pages are pictures, as of a "
                    "scan. They need character recognition, or a model that sees.]\n");
    return buf_addz(p->out, "[There is no text on the pages of this file.]\n");
}

static int too_long(const struct buf *out, struct err *e)
{
    return err_set(e, ERR_LIMIT, "its text is longer than %zu MiB", out->max >> 20);
}

int docread_pdf(struct str bytes, bool markdown, struct buf *out, struct err *e)
{
    struct pdf d;
    struct pages p = {.d = &d, .out = out, .markdown = markdown};
    size_t before = out->n;
    buf_init(&p.page.glyphs, PDF_STREAM_MAX);
    buf_init(&p.page.text, PDF_STREAM_MAX / 4);
    if (pdf_open(&d, bytes) == 0) {
        struct pdf_obj root = pdf_get(&d, d.trailer, "Root");
        walk(&p, pdf_get_raw(root, "Pages"), (struct inherited){.box = {PDF_NULL}}, 0);
        trim(out, before);
        if (p.rc == 0 && out->n > before)
            p.rc = buf_addc(out, '\n');
        if (p.rc == 0)
            p.rc = say_missing(&p);
    }
    if (!d.err.code && d.arena.full)
        err_set(&d.err, ERR_LIMIT, "its objects take more than %d MiB of memory",
                PDF_PACKED_MAX >> 20);
    *e = d.err;
    int rc = d.err.code ? -1 : p.rc < 0 ? too_long(out, e) : 0;
    if (rc < 0)
        buf_truncate(out, before);
    buf_release(&p.page.glyphs);
    buf_release(&p.page.text);
    pdf_close(&d);
    return rc;
}
