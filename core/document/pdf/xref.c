/* SPDX-License-Identifier: MIT */
/*
 * Where the objects are: tables (7.5.4), streams (7.5.8), both (7.5.8.4), each
 * leading to the one before it; if they are damaged, the whole file is searched for "1 0
 * obj".
 */
#include "document/pdf/own.h"

#include <stdlib.h>

enum { SECTIONS_MAX = 1024, TAIL = 4096, ROOM = 1024, ENTRY_LEAST = 18 };

static struct pdf_entry *pdf_entry_make(struct pdf *d, uint64_t number)
{
    if (number >= PDF_OBJECTS_MAX)
        return NULL;
    if (number >= d->entries_room) {
        size_t room = d->entries_room ? d->entries_room : ROOM;
        while (room <= number)
            room *= 2;
        struct pdf_entry *more = realloc(d->entry, room * sizeof(*more));
        if (!more) {
            err_set(&d->err, ERR_LIMIT, "no memory for its table of objects");
            return NULL;
        }
        memset(more + d->entries_room, 0, (room - d->entries_room) * sizeof(*more));
        d->entry = more;
        d->entries_room = room;
    }
    if (number >= d->entries)
        d->entries = (size_t)number + 1;
    return &d->entry[number];
}

/* Sections are read from the newest to the oldest: the first entry of a number counts. */
static void note(struct pdf *d, uint64_t number, enum pdf_where where, uint64_t at,
                 uint32_t index)
{
    struct pdf_entry *x = pdf_entry_make(d, number);
    if (!x || x->where != PDF_NOWHERE)
        return;
    x->where = (uint8_t)where;
    x->at = at;
    x->index = index;
}

static void take_trailer(struct pdf *d, struct pdf_obj o)
{
    struct pdf_dict dict = o.type == PDF_STREAM ? o.stream->dict : *o.dict;
    if (d->trailer.type != PDF_NULL)
        return;
    struct pdf_dict *copy = arena_get(&d->arena, sizeof(*copy));
    if (!copy)
        return;
    *copy = dict;
    d->trailer = (struct pdf_obj){.type = PDF_DICT, .dict = copy};
}

/* ---- a table ---- */

/* "0000000016 00000 n" */
static bool entry_line(struct pdf_lex *l, uint64_t *at, char *kind)
{
    struct pdf_obj offset = pdf_parse(l), gen = pdf_parse(l), word = pdf_parse(l);
    if (offset.type != PDF_INT || gen.type != PDF_INT || word.type != PDF_WORD ||
        offset.i < 0 || word.s.n != 1)
        return false;
    *at = (uint64_t)offset.i;
    *kind = word.s.p[0];
    return true;
}

/* Reads what follows the word xref; sets *out to the trailer's dictionary. */
static bool read_table(struct pdf *d, struct pdf_lex *l, struct pdf_obj *out)
{
    for (;;) {
        struct pdf_obj first = pdf_parse(l);
        if (pdf_is_word(first, "trailer"))
            break;
        struct pdf_obj n = pdf_parse(l);
        if (first.type != PDF_INT || n.type != PDF_INT || first.i < 0 || n.i < 0)
            return false;
        for (int64_t i = 0; i < n.i; i++) {
            uint64_t at = 0;
            char kind = 0;
            if (l->s.n - l->at < ENTRY_LEAST || !entry_line(l, &at, &kind))
                return false;
            if (kind == 'n' && at > 0)
                note(d, (uint64_t)first.i + (uint64_t)i, PDF_AT, at, 0);
        }
    }
    l->refs = true;
    *out = pdf_parse(l);
    return out->type == PDF_DICT;
}

/* ---- a stream ---- */

static uint64_t field(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

struct columns {
    size_t w[3], n;
};

static bool read_columns(struct pdf *d, struct pdf_obj o, struct columns *c)
{
    struct pdf_obj w = pdf_get(d, o, "W");
    for (size_t i = 0; i < 3; i++) {
        int64_t n = pdf_int(pdf_item(d, w, i), -1);
        if (n < 0 || n > 8)
            return false;
        c->w[i] = (size_t)n;
        c->n += (size_t)n;
    }
    return c->n > 0;
}

static void note_row(struct pdf *d, const struct columns *c, const unsigned char *p,
                     uint64_t number)
{
    uint64_t kind = c->w[0] ? field(p, c->w[0]) : 1;
    uint64_t at = field(p + c->w[0], c->w[1]);
    uint64_t last = field(p + c->w[0] + c->w[1], c->w[2]);
    if (kind == 1)
        note(d, number, PDF_AT, at, 0);
    else if (kind == 2 && at < PDF_OBJECTS_MAX)
        note(d, number, PDF_PACKED, at, (uint32_t)last);
}

static bool read_stream(struct pdf *d, struct pdf_obj o)
{
    struct columns c = {.n = 0};
    struct buf b = BUF_INIT(PDF_STREAM_MAX);
    bool ok = o.type == PDF_STREAM && read_columns(d, o, &c) &&
              pdf_unpack(d, o.stream, &b) == 0;
    struct pdf_obj index = pdf_get(d, o, "Index");
    size_t sections = index.type == PDF_ARRAY ? pdf_count(index) / 2 : 1, at = 0;
    for (size_t i = 0; ok && i < sections; i++) {
        int64_t first = 0, n = pdf_int(pdf_get(d, o, "Size"), 0);
        if (index.type == PDF_ARRAY) {
            first = pdf_int(pdf_item(d, index, 2 * i), -1);
            n = pdf_int(pdf_item(d, index, 2 * i + 1), -1);
        }
        ok = first >= 0 && n >= 0;
        for (int64_t k = 0; ok && k < n && b.n - at >= c.n; k++, at += c.n)
            note_row(d, &c, (const unsigned char *)b.p + at,
                     (uint64_t)first + (uint64_t)k);
    }
    buf_release(&b);
    return ok;
}

/* ---- one after the other ---- */

/* Reads the section at an offset, and its dictionary. */
static bool read_section(struct pdf *d, uint64_t at, struct pdf_obj *dict)
{
    struct pdf_lex l = {.d = d, .a = &d->arena, .s = d->file, .at = (size_t)at};
    if (at >= d->file.n)
        return false;
    if (pdf_is_word(pdf_parse(&l), "xref"))
        return read_table(d, &l, dict);
    uint32_t number = 0;
    return pdf_object_at(d, at, &number, dict) && read_stream(d, *dict);
}

static int64_t last_section(struct pdf *d)
{
    struct str tail = d->file.n > TAIL ? str_sub(d->file, d->file.n - TAIL, TAIL)
                                       : d->file;
    const char *found = NULL;
    for (const char *p = tail.p;
         p && (p = memmem(p, tail.n - (size_t)(p - tail.p), "startxref", 9)); p++)
        found = p;
    if (!found)
        return -1;
    struct pdf_lex l = {.d = d, .a = &d->arena, .s = tail};
    l.at = (size_t)(found - tail.p) + 9;
    return pdf_int(pdf_parse(&l), -1);
}

int pdf_read_xref(struct pdf *d)
{
    int64_t at = last_section(d), seen[SECTIONS_MAX] = {0};
    for (int n = 0; at >= 0; n++) {
        struct pdf_obj dict = {.type = PDF_NULL};
        for (int i = 0; i < n; i++) {
            if (seen[i] == at) /* the previous section leads back here */
                return 0;
        }
        if (n == SECTIONS_MAX || !read_section(d, (uint64_t)at, &dict))
            return -1;
        seen[n] = at;
        take_trailer(d, dict);
        struct pdf_obj both = pdf_get_raw(dict, "XRefStm"), ignored;
        if (both.type == PDF_INT && both.i > 0)
            read_section(d, (uint64_t)both.i, &ignored);
        at = pdf_int(pdf_get_raw(dict, "Prev"), -1);
    }
    return d->trailer.type == PDF_DICT ? 0 : -1;
}

/* ---- without tables ---- */

/*
 * Returns where the digits before p (with blanks after them) begin; NULL if there are
 * none.
 */
static const char *digits_before(const char *from, const char *p, uint64_t *value)
{
    while (p > from && pdf_is_space(p[-1]))
        p--;
    const char *end = p;
    while (p > from && end - p < 10 && p[-1] >= '0' && p[-1] <= '9')
        p--;
    return str_to_u64(str_n(p, (size_t)(end - p)), value) == 0 ? p : NULL;
}

/* Notes an object if p is at "1 0 obj". A later one replaces an earlier one. */
static void found_object(struct pdf *d, const char *p)
{
    uint64_t gen = 0, number = 0;
    const char *from = d->file.p;
    const char *at = digits_before(from, p, &gen);
    if (!at || at == from || !pdf_is_space(at[-1]))
        return;
    at = digits_before(from, at, &number);
    struct pdf_entry *x = at ? pdf_entry_make(d, number) : NULL;
    if (!x)
        return;
    x->where = PDF_AT;
    x->at = (uint64_t)(at - from);
    if (!x->busy)
        x->value = NULL;
}

static void found_trailer(struct pdf *d, const char *p)
{
    struct pdf_lex l = {.d = d, .a = &d->arena, .s = d->file, .refs = true};
    l.at = (size_t)(p - d->file.p) + 7;
    struct pdf_obj o = pdf_parse(&l);
    if (o.type != PDF_DICT || (pdf_get_raw(o, "Root").type == PDF_NULL &&
                               pdf_get_raw(o, "Encrypt").type == PDF_NULL))
        return;
    d->trailer = o;
}

/* Notes objects of an object stream that are not elsewhere. */
static void found_pack(struct pdf *d, uint32_t number, struct pdf_obj o)
{
    struct buf b = BUF_INIT(PDF_STREAM_MAX);
    int64_t n = pdf_int(pdf_get(d, o, "N"), 0);
    if (pdf_unpack(d, o.stream, &b) == 0) {
        struct arena_mark mark = arena_mark(&d->arena);
        struct pdf_lex l = {.d = d, .a = &d->arena, .s = buf_str(&b)};
        for (int64_t i = 0; i < n; i++) {
            struct pdf_obj inner = pdf_parse(&l), at = pdf_parse(&l);
            if (inner.type != PDF_INT || at.type != PDF_INT || inner.i < 0)
                break;
            note(d, (uint64_t)inner.i, PDF_PACKED, number, (uint32_t)i);
        }
        arena_back(&d->arena, mark);
    }
    buf_release(&b);
}

/* Makes a trailer that leads to a catalog, if none was found. */
static void make_trailer(struct pdf *d, uint32_t catalog)
{
    struct pdf_dict *dict = arena_get(&d->arena, sizeof(*dict));
    struct pdf_pair *pair = arena_get(&d->arena, sizeof(*pair));
    if (!dict || !pair || d->trailer.type != PDF_NULL)
        return;
    pair->key = STR("Root");
    pair->value = (struct pdf_obj){.type = PDF_REF, .ref = catalog};
    *dict = (struct pdf_dict){1, pair};
    d->trailer = (struct pdf_obj){.type = PDF_DICT, .dict = dict};
}

/* Reads streams that hold objects, and a dictionary that can serve as the trailer. */
static void look_into(struct pdf *d, uint32_t number)
{
    struct str head = str_sub(d->file, (size_t)d->entry[number].at, 1024);
    struct pdf_obj o;
    bool pack = str_find(head, STR("/ObjStm")) >= 0;
    bool xref = str_find(head, STR("/XRef")) >= 0;
    bool catalog = str_find(head, STR("/Catalog")) >= 0;
    if ((!pack && !xref && !catalog) ||
        !pdf_object_at(d, d->entry[number].at, &number, &o))
        return;
    struct pdf_obj type = pdf_get(d, o, "Type");
    if (pdf_is_name(type, "ObjStm") && o.type == PDF_STREAM)
        found_pack(d, number, o);
    else if (pdf_is_name(type, "XRef"))
        take_trailer(d, o);
    else if (pdf_is_name(type, "Catalog"))
        make_trailer(d, number);
}

/* The catalog may be in a stream, so it is searched when all of those are known. */
static void find_catalog(struct pdf *d)
{
    for (size_t i = 0; i < d->entries && d->trailer.type == PDF_NULL; i++) {
        struct pdf_obj ref = {.type = PDF_REF, .ref = (uint32_t)i};
        if (d->entry[i].where != PDF_PACKED ||
            !pdf_is_name(pdf_get(d, pdf_resolve(d, ref), "Type"), "Catalog"))
            continue;
        make_trailer(d, (uint32_t)i);
    }
}

void pdf_rebuild(struct pdf *d)
{
    struct str s = d->file;
    if (d->rebuilt || !pdf_work(d, (int64_t)(s.n >> 4)))
        return;
    d->rebuilt = true;
    for (size_t i = 0; i < d->entries; i++) {
        d->entry[i].where = PDF_NOWHERE;
        if (!d->entry[i].busy)
            d->entry[i].value = NULL;
    }
    d->trailer = (struct pdf_obj){.type = PDF_NULL};
    const char *end = s.p + s.n;
    for (const char *p = s.p; (p = memmem(p, (size_t)(end - p), "obj", 3)); p += 3)
        found_object(d, p);
    for (const char *p = s.p; (p = memmem(p, (size_t)(end - p), "trailer", 7)); p += 7)
        found_trailer(d, p);
    size_t n = d->entries;
    if (d->trailer.type == PDF_DICT)
        pdf_crypt_open(d);
    for (size_t i = 0; i < n && !d->err.code; i++) {
        if (d->entry[i].where == PDF_AT)
            look_into(d, (uint32_t)i);
    }
    find_catalog(d);
}
