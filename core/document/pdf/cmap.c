/* SPDX-License-Identifier: MIT */
/*
 * CMaps (9.7.5, 9.10.3): ranges of codes, sorted. Their syntax is PostScript, but few
 * programs write them, in few ways: reading the operators and their operands is enough.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"
#include "text/glyph.h"

#include <stdlib.h>

enum { SPACES_MAX = 64, STACK = 3, RANGES_ROOM = 64 };

struct cmap_range {
    uint32_t from, to;
    uint32_t order;   /* of two that overlap, the later one counts */
    uint32_t cid;     /* of cidrange */
    struct str utf16; /* of bfrange: text of the first code; its last unit counts up */
};

struct space {
    uint32_t from, to;
    size_t n; /* bytes */
};

struct pdf_cmap {
    struct cmap_range *range;
    size_t n, room;
    struct space space[SPACES_MAX];
    size_t spaces;
};

static uint32_t code_of(struct str s)
{
    uint32_t v = 0;
    for (size_t i = 0; i < s.n; i++)
        v = v << 8 | (unsigned char)s.p[i];
    return v;
}

static void add(struct pdf *d, struct pdf_cmap *m, struct cmap_range r)
{
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : RANGES_ROOM;
        struct cmap_range *more = arena_get(&d->arena, room * sizeof(*more));
        if (!more)
            return;
        if (m->n)
            memcpy(more, m->range, m->n * sizeof(*more));
        m->range = more;
        m->room = room;
    }
    r.order = (uint32_t)m->n;
    if (r.from <= r.to)
        m->range[m->n++] = r;
}

/* ---- reading ---- */

static struct str kept(struct pdf *d, struct str s)
{
    const char *p = arena_copy(&d->arena, s);
    return str_n(p, p ? s.n : 0);
}

/* Returns a value of a bfchar or bfrange: bytes of UTF-16, or a glyph's name. */
static struct str value(struct pdf *d, struct pdf_obj o)
{
    if (o.type == PDF_STRING)
        return kept(d, o.s);
    char text[32];
    size_t n = o.type == PDF_NAME ? glyph_text(o.s, text, sizeof(text)) : 0;
    uint32_t cp = 0;
    if (n == 0 || utf8_decode(str_n(text, n), &cp) < 1 || cp > 0xffff)
        return str_n(NULL, 0);
    char two[] = {(char)(cp >> 8), (char)cp};
    return kept(d, str_n(two, 2));
}

static void take_char(struct pdf *d, struct pdf_cmap *m, const struct pdf_obj *o,
                      bool cid)
{
    uint32_t code = code_of(o[0].s);
    struct cmap_range r = {.from = code, .to = code};
    if (cid)
        r.cid = (uint32_t)pdf_int(o[1], 0);
    else
        r.utf16 = value(d, o[1]);
    add(d, m, r);
}

static void take_range(struct pdf *d, struct pdf_cmap *m, const struct pdf_obj *o,
                       bool cid)
{
    struct cmap_range r = {.from = code_of(o[0].s), .to = code_of(o[1].s)};
    if (o[2].type == PDF_ARRAY) {
        for (size_t i = 0; i < pdf_count(o[2]) && r.from <= r.to - i; i++) {
            uint32_t code = r.from + (uint32_t)i;
            add(d, m,
                (struct cmap_range){
                    .from = code, .to = code, .utf16 = value(d, pdf_item(d, o[2], i))});
            if (code == r.to)
                break;
        }
        return;
    }
    if (cid)
        r.cid = (uint32_t)pdf_int(o[2], 0);
    else
        r.utf16 = value(d, o[2]);
    add(d, m, r);
}

static void take_space(struct pdf_cmap *m, const struct pdf_obj *o)
{
    if (m->spaces < SPACES_MAX && o[0].s.n >= 1 && o[0].s.n <= 4)
        m->space[m->spaces++] = (struct space){code_of(o[0].s), code_of(o[1].s),
                                               o[0].s.n};
}

/* Sections between begin… and end…; the number of objects that make a row. */
enum section { NONE, BFCHAR, BFRANGE, CIDCHAR, CIDRANGE, SPACE };

static enum section section_of(struct str word)
{
    static const struct {
        const char *word;
        enum section section;
    } words[] = {{"beginbfchar", BFCHAR},
                 {"beginbfrange", BFRANGE},
                 {"begincidchar", CIDCHAR},
                 {"begincidrange", CIDRANGE},
                 {"begincodespacerange", SPACE}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq(word, str_of(words[i].word)))
            return words[i].section;
    }
    return NONE;
}

static void take(struct pdf *d, struct pdf_cmap *m, enum section s, struct pdf_obj *row)
{
    bool range = s == BFRANGE || s == CIDRANGE;
    if (row[0].type != PDF_STRING || ((range || s == SPACE) && row[1].type != PDF_STRING))
        return;
    if (s == SPACE)
        take_space(m, row);
    else if (range)
        take_range(d, m, row, s == CIDRANGE);
    else
        take_char(d, m, row, s == CIDCHAR);
}

static int by_code(const void *a, const void *b)
{
    const struct cmap_range *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

struct pdf_cmap *pdf_cmap_read(struct pdf *d, struct str text)
{
    struct pdf_cmap *m = arena_get(&d->arena, sizeof(*m));
    struct arena scratch;
    arena_init(&scratch, 1 << 20);
    struct pdf_lex l = {.d = d, .a = &scratch, .s = text};
    enum section section = NONE;
    struct pdf_obj row[STACK];
    size_t have = 0;
    while (m && l.at < text.n) {
        struct pdf_obj o = pdf_parse(&l);
        if (o.type == PDF_END)
            break;
        if (o.type == PDF_WORD) {
            section = section_of(o.s);
            have = 0;
        } else if (section != NONE) {
            row[have++] = o;
            bool range = section == BFRANGE || section == CIDRANGE;
            if (have == (range ? 3 : 2)) {
                take(d, m, section, row);
                have = 0;
            }
        }
        if (have == 0)
            arena_release(&scratch);
    }
    arena_release(&scratch);
    if (m && m->n)
        qsort(m->range, m->n, sizeof(*m->range), by_code);
    return m;
}

/* ---- asking ---- */

/* Finds the last range that begins at or before the code, if it includes it. */
static const struct cmap_range *find(const struct pdf_cmap *m, uint32_t code)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (m->range[mid].from <= code)
            low = mid + 1;
        else
            high = mid;
    }
    /* A long range may contain short ones. */
    for (size_t i = low, tries = 0; i-- > 0 && tries < 8; tries++) {
        if (m->range[i].to >= code)
            return &m->range[i];
    }
    return NULL;
}

static void put(struct buf *out, uint32_t cp)
{
    char c[4];
    if (cp && cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff))
        buf_add(out, c, (size_t)utf8_encode(cp, c));
}

bool pdf_cmap_text(const struct pdf_cmap *m, uint32_t code, struct buf *out)
{
    const struct cmap_range *r = find(m, code);
    if (!r || !r->utf16.n)
        return false;
    size_t before = out->n;
    const unsigned char *p = (const unsigned char *)r->utf16.p;
    size_t n = r->utf16.n;
    if (n == 1)
        put(out, p[0] + (code - r->from));
    for (size_t i = 0; i + 1 < n; i += 2) {
        uint32_t cp = (uint32_t)(p[i] << 8 | p[i + 1]);
        if (cp >= 0xd800 && cp < 0xdc00 && i + 3 < n) {
            cp = 0x10000 + ((cp & 0x3ff) << 10) +
                 ((uint32_t)(p[i + 2] << 8 | p[i + 3]) & 0x3ff);
            i += 2;
        }
        if (i + 2 >= n || (n % 2 && i + 3 >= n))
            cp += code - r->from;
        put(out, cp);
    }
    return out->n > before;
}

bool pdf_cmap_cid(const struct pdf_cmap *m, uint32_t code, uint32_t *cid)
{
    const struct cmap_range *r = find(m, code);
    if (r)
        *cid = r->cid + (code - r->from);
    return r != NULL;
}

bool pdf_cmap_has_spaces(const struct pdf_cmap *m) { return m->spaces > 0; }

/* 9.7.6.2: every byte lies between those of the range's ends. */
static bool in_space(const struct space *s, uint32_t code)
{
    for (size_t i = 0; i < s->n; i++) {
        unsigned shift = (unsigned)(8 * i);
        uint32_t c = code >> shift & 255;
        if (c < (s->from >> shift & 255) || c > (s->to >> shift & 255))
            return false;
    }
    return true;
}

size_t pdf_cmap_next(const struct pdf_cmap *m, struct str s, uint32_t *code)
{
    size_t least = 4;
    for (size_t n = 1; n <= 4 && n <= s.n; n++) {
        *code = code_of(str_sub(s, 0, n));
        for (size_t i = 0; i < m->spaces; i++) {
            if (m->space[i].n == n && in_space(&m->space[i], *code))
                return n;
        }
    }
    for (size_t i = 0; i < m->spaces; i++)
        least = m->space[i].n < least ? m->space[i].n : least;
    if (least > s.n)
        least = s.n;
    *code = code_of(str_sub(s, 0, least));
    return least;
}
