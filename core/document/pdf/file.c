/* SPDX-License-Identifier: MIT */
/* Objects of a file by their number, read when they are needed. */
#include "document/pdf/own.h"

#include "text/charset.h"

#include <stdlib.h>

enum {
    RESOLVE_MAX = 32,
    WORK_FREE = 8 << 20, /* steps that any file may take: a fraction of a second */
    WORK_PER_BYTE = 40,
    UNPACK_FREE = 128 << 20, /* bytes that any file may unpack to */
    UNPACK_RATIO = 40,
    HEAD = 1024 /* %PDF- may stand this far after the beginning (Annex H.3) */
};

bool pdf_work(struct pdf *d, int64_t n)
{
    d->work -= n;
    if (d->work >= 0)
        return true;
    if (!d->err.code)
        err_set(&d->err, ERR_LIMIT, "it takes more steps than a document of its size");
    return false;
}

/* ---- one object of the file ---- */

/*
 * 7.3.8: the stream's bytes, after the line with the word. /Length is often wrong: it is
 * used only if endstream follows.
 */
static struct str stream_bytes(struct pdf *d, struct pdf_lex *l, struct pdf_obj dict)
{
    struct str s = l->s;
    size_t at = l->at;
    if (at < s.n && s.p[at] == '\r')
        at++;
    if (at < s.n && s.p[at] == '\n')
        at++;
    int64_t n = pdf_int(pdf_get(d, dict, "Length"), -1);
    if (n >= 0 && (uint64_t)n <= s.n - at) {
        struct pdf_lex end = {.d = d, .a = l->a, .s = s, .at = at + (size_t)n};
        pdf_skip_space(&end);
        if (str_starts(str_sub(s, end.at, 9), STR("endstream")) ||
            str_starts(str_sub(s, end.at, 6), STR("endobj")))
            return str_sub(s, at, (size_t)n);
    }
    struct str rest = str_sub(s, at, s.n);
    if (!pdf_work(d, (int64_t)(rest.n >> 10)))
        return str_sub(s, at, 0);
    const char *end = rest.n ? memmem(rest.p, rest.n, "endstream", 9) : NULL;
    if (!end)
        end = rest.n ? memmem(rest.p, rest.n, "endobj", 6) : NULL;
    return end ? str_sub(rest, 0, (size_t)(end - rest.p)) : rest;
}

bool pdf_object_at(struct pdf *d, uint64_t at, uint32_t *number, struct pdf_obj *o)
{
    struct pdf_lex l = {.d = d, .a = &d->arena, .s = d->file, .at = (size_t)at};
    if (at >= d->file.n)
        return false;
    struct pdf_obj num = pdf_parse(&l), gen = pdf_parse(&l), word = pdf_parse(&l);
    if (num.type != PDF_INT || gen.type != PDF_INT || !pdf_is_word(word, "obj"))
        return false;
    if (num.i < 0 || num.i >= PDF_OBJECTS_MAX || (*number && num.i != *number))
        return false;
    *number = (uint32_t)num.i;
    l.refs = true;
    l.encrypted = d->crypt != NULL;
    l.number = *number;
    l.generation = (uint32_t)gen.i;
    *o = pdf_parse(&l);
    if (o->type == PDF_WORD || o->type == PDF_CLOSE || o->type == PDF_END)
        *o = (struct pdf_obj){.type = PDF_NULL};
    if (o->type != PDF_DICT)
        return true;
    size_t behind = l.at;
    if (!pdf_is_word(pdf_parse(&l), "stream")) {
        l.at = behind;
        return true;
    }
    struct pdf_stream *s = arena_get(&d->arena, sizeof(*s));
    if (!s)
        return false;
    s->dict = *o->dict;
    s->raw = stream_bytes(d, &l, *o);
    s->number = *number;
    s->generation = l.generation;
    s->encrypted = !pdf_is_name(pdf_get_raw(*o, "Type"), "XRef");
    *o = (struct pdf_obj){.type = PDF_STREAM, .stream = s};
    return true;
}

/* ---- object streams (7.5.7) ---- */

struct pdf_pack {
    struct str bytes;
    size_t n;
    uint32_t *number;
    size_t *at;
};

static struct pdf_pack *unpack(struct pdf *d, struct pdf_stream *s)
{
    struct pdf_obj self = {.type = PDF_STREAM, .stream = s};
    int64_t n = pdf_int(pdf_get(d, self, "N"), 0);
    int64_t first = pdf_int(pdf_get(d, self, "First"), 0);
    struct buf b = BUF_INIT(PDF_STREAM_MAX);
    struct pdf_pack *p = arena_get(&d->arena, sizeof(*p));
    s->pack = p;
    if (!p || pdf_unpack(d, s, &b) < 0 || first < 0 || (uint64_t)first > b.n || n < 0)
        goto out;
    p->bytes = str_n(arena_copy(&d->arena, buf_str(&b)), b.n);
    /* Every number takes at least two digits, and blanks. */
    if ((uint64_t)n > (uint64_t)first / 2)
        n = first / 2;
    p->number = arena_get(&d->arena, (size_t)n * sizeof(*p->number));
    p->at = arena_get(&d->arena, (size_t)n * sizeof(*p->at));
    if (!p->bytes.p || !p->number || !p->at)
        goto out;
    struct pdf_lex l = {.d = d, .a = &d->arena, .s = str_sub(p->bytes, 0, (size_t)first)};
    for (; p->n < (size_t)n; p->n++) {
        struct pdf_obj number = pdf_parse(&l), at = pdf_parse(&l);
        if (number.type != PDF_INT || at.type != PDF_INT || at.i < 0)
            break;
        p->number[p->n] = (uint32_t)number.i;
        p->at[p->n] = (size_t)first + (size_t)at.i;
    }
out:
    buf_release(&b);
    return p;
}

static struct pdf_obj packed(struct pdf *d, struct pdf_entry x, uint32_t number)
{
    struct pdf_obj null = {.type = PDF_NULL};
    struct pdf_obj stream = pdf_resolve(d, (struct pdf_obj){.type = PDF_REF,
                                                            .ref = (uint32_t)x.at});
    if (stream.type != PDF_STREAM)
        return null;
    struct pdf_pack *p = stream.stream->pack;
    if (!p)
        p = unpack(d, stream.stream);
    size_t i = x.index;
    if (!p || p->n == 0)
        return null;
    /* The table is only a hint: the numbers in the stream decide. */
    if (i >= p->n || p->number[i] != number) {
        for (i = 0; i < p->n && p->number[i] != number; i++)
            ;
        if (!pdf_work(d, (int64_t)i))
            return null;
    }
    if (i >= p->n || p->at[i] >= p->bytes.n)
        return null;
    struct pdf_lex l = {
        .d = d, .a = &d->arena, .s = p->bytes, .at = p->at[i], .refs = true};
    struct pdf_obj o = pdf_parse(&l);
    return o.type >= PDF_WORD ? null : o;
}

/* ---- by number ---- */

static struct pdf_obj load(struct pdf *d, uint32_t number)
{
    struct pdf_obj o = {.type = PDF_NULL};
    struct pdf_entry x = d->entry[number];
    uint32_t wanted = number;
    if (x.where == PDF_PACKED)
        return packed(d, x, number);
    if (x.where != PDF_AT || pdf_object_at(d, x.at, &wanted, &o))
        return o;
    /* The table is wrong: the objects are found by searching the file. */
    if (d->rebuilt)
        return (struct pdf_obj){.type = PDF_NULL};
    pdf_rebuild(d);
    wanted = number;
    if (d->entry[number].where == PDF_AT &&
        pdf_object_at(d, d->entry[number].at, &wanted, &o))
        return o;
    return (struct pdf_obj){.type = PDF_NULL};
}

static struct pdf_obj fetch(struct pdf *d, uint32_t number)
{
    struct pdf_obj o = {.type = PDF_NULL};
    if (number >= d->entries || d->err.code)
        return o;
    struct pdf_entry *x = &d->entry[number];
    if (x->value)
        return *x->value;
    if (x->busy || x->where == PDF_NOWHERE || !pdf_work(d, 1))
        return o;
    x->busy = true;
    o = load(d, number);
    x = &d->entry[number]; /* the table may have grown */
    x->busy = false;
    x->value = arena_get(&d->arena, sizeof(*x->value));
    if (x->value)
        *x->value = o;
    return o;
}

struct pdf_obj pdf_resolve(struct pdf *d, struct pdf_obj o)
{
    for (int i = 0; o.type == PDF_REF; i++) {
        if (i == RESOLVE_MAX)
            return (struct pdf_obj){.type = PDF_NULL};
        o = fetch(d, o.ref);
    }
    return o;
}

/* ---- the whole ---- */

static bool has_pages(struct pdf *d)
{
    struct pdf_obj root = pdf_get(d, d->trailer, "Root");
    return pdf_get(d, pdf_get(d, root, "Pages"), "Kids").type == PDF_ARRAY;
}

int pdf_open(struct pdf *d, struct str file)
{
    *d = (struct pdf){.work = WORK_FREE + WORK_PER_BYTE * (int64_t)file.n,
                      .unpack = UNPACK_FREE + UNPACK_RATIO * (int64_t)file.n};
    arena_init(&d->arena, PDF_PACKED_MAX);
    long head = str_find(str_sub(file, 0, HEAD), STR("%PDF-"));
    if (head < 0)
        return err_set(&d->err, ERR_INVALID, "it does not begin with %%PDF-");
    d->file = str_sub(file, (size_t)head, file.n);
    if (pdf_read_xref(d) < 0 || pdf_crypt_open(d) < 0 || !has_pages(d))
        pdf_rebuild(d);
    if (d->err.code || pdf_crypt_open(d) < 0)
        return -1;
    if (!has_pages(d))
        return err_set(&d->err, ERR_INVALID,
                       "it is damaged or cut off: no pages can be found");
    return 0;
}

void pdf_close(struct pdf *d)
{
    free(d->entry);
    charset_close(d->charsets);
    arena_release(&d->arena);
}
