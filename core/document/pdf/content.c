/* SPDX-License-Identifier: MIT */
/*
 * A page's content: operators of text (9.3, 9.4), of the graphics state (8.4) and forms
 * (8.10). Everything else is skipped. The result is the glyphs and their places.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

enum {
    OPERANDS = 40,
    STATES_MAX = 64,
    FORMS_MAX = 16,
    CONTENTS_MAX = 65536,
    SCRATCH = 8 << 20,
    GLYPHS_MAX = 1 << 20 /* of one page */
};

/* a b c d e f of 8.3.3 */
struct matrix {
    double a, b, c, d, e, f;
};

static const struct matrix identity = {1, 0, 0, 1, 0, 0};

struct content_state {
    struct matrix ctm;
    const struct pdf_font *font;
    double size, char_space, word_space, scale, leading, rise;
};

struct content {
    struct pdf *d;
    struct pdf_page *page;
    struct pdf_font **fonts;
    struct pdf_box box;
    struct content_state now, saved[STATES_MAX];
    int depth, lost; /* saved states, and those that did not fit */
    struct matrix text, line;
    struct arena scratch;
    const struct pdf_stream *form[FORMS_MAX]; /* forms that are being drawn */
    int forms;
    int marked;      /* sections of marked content that are open */
    int actual;      /* the section whose text is given; 0: none */
    size_t actual_n; /* number of glyphs when it began */
    struct str actual_text;
    struct pdf_obj operand[OPERANDS];
    size_t n;
};

static struct matrix times(struct matrix m, struct matrix n)
{
    return (struct matrix){m.a * n.a + m.b * n.c,       m.a * n.b + m.b * n.d,
                           m.c * n.a + m.d * n.c,       m.c * n.b + m.d * n.d,
                           m.e * n.a + m.f * n.c + n.e, m.e * n.b + m.f * n.d + n.f};
}

/* Length of a vector, with an error of a few hundredths; exact along the axes. */
static double length(double x, double y)
{
    x = fabs(x);
    y = fabs(y);
    return x > y ? x + 0.41 * y : y + 0.41 * x;
}

static double num(const struct content *c, size_t i)
{
    double v = 0;
    if (i < c->n)
        pdf_number(c->operand[i], &v);
    return v;
}

static struct matrix matrix_of(const struct content *c)
{
    return (struct matrix){num(c, 0), num(c, 1), num(c, 2),
                           num(c, 3), num(c, 4), num(c, 5)};
}

/* ---- showing text ---- */

static bool on_page(const struct content *c, double x, double y)
{
    const struct pdf_box *b = &c->box;
    return isfinite(x) && isfinite(y) && x >= b->x0 - 1 && x <= b->x1 + 1 &&
           y >= b->y0 - 1 && y <= b->y1 + 1;
}

static void add_glyph(struct content *c, struct matrix m, double width, size_t at)
{
    struct buf *glyphs = &c->page->glyphs;
    size_t n = c->page->text.n - at;
    const struct pdf_font *font = c->now.font;
    bool down = font && font->vertical;
    struct pdf_glyph g = {.x = (float)m.e,
                          .y = (float)m.f,
                          .dx = (float)(down ? -m.c : width * m.a),
                          .dy = (float)(down ? -m.d : width * m.b),
                          .size = (float)(length(m.c, m.d) * (font ? font->em : 1)),
                          .at = (uint32_t)at,
                          .n = (uint32_t)n};
    c->page->drawn++;
    c->page->mute += n == 0 && width > 0;
    if (n == 0 || !on_page(c, m.e, m.f) || glyphs->n / sizeof(g) >= GLYPHS_MAX ||
        !isfinite(g.dx) || !isfinite(g.dy) || !isfinite(g.size))
        buf_truncate(&c->page->text, at);
    else if (buf_add(glyphs, &g, sizeof(g)) < 0)
        buf_truncate(&c->page->text, at);
}

static void advance(struct content *c, double x, double y)
{
    c->text = times((struct matrix){1, 0, 0, 1, x, y}, c->text);
}

/* 9.4.4 */
static void show(struct content *c, struct str s)
{
    const struct content_state *t = &c->now;
    if (!t->font)
        return;
    struct matrix font = {t->size * t->scale, 0, 0, t->size, 0, t->rise};
    while (s.n && pdf_work(c->d, 1)) {
        uint32_t code = 0;
        size_t n = pdf_font_next(t->font, s, &code);
        double width = pdf_font_width(c->d, t->font, code);
        size_t at = c->page->text.n;
        pdf_font_text(t->font, code, &c->page->text);
        add_glyph(c, times(font, times(c->text, t->ctm)), width, at);
        double space = t->char_space + (n == 1 && code == ' ' ? t->word_space : 0);
        if (t->font->vertical)
            advance(c, 0, -t->size + space);
        else
            advance(c, (width * t->size + space) * t->scale, 0);
        s = str_sub(s, n, s.n);
    }
}

/* TJ: strings, and numbers that move back by thousandths. */
static void show_array(struct content *c, struct pdf_obj array)
{
    for (size_t i = 0; i < pdf_count(array); i++) {
        struct pdf_obj o = array.array->item[i];
        double by = 0;
        if (o.type == PDF_STRING)
            show(c, o.s);
        else if (pdf_number(o, &by) && c->now.font && c->now.font->vertical)
            advance(c, 0, -by / 1000 * c->now.size);
        else
            advance(c, -by / 1000 * c->now.size * c->now.scale, 0);
    }
}

static void next_line(struct content *c, double x, double y)
{
    c->line = times((struct matrix){1, 0, 0, 1, x, y}, c->line);
    c->text = c->line;
}

static void show_operand(struct content *c)
{
    if (c->n && c->operand[c->n - 1].type == PDF_STRING)
        show(c, c->operand[c->n - 1].s);
}

/* ---- marked content whose text is said (14.9.4) ---- */

static void begin_marked(struct content *c, struct pdf_obj resources)
{
    c->marked++;
    if (c->actual || c->n < 2)
        return;
    struct pdf_obj props = c->operand[1];
    if (props.type == PDF_NAME) {
        char key[128] = "";
        if (props.s.n >= sizeof(key))
            return;
        memcpy(key, props.s.p, props.s.n);
        props = pdf_get(c->d, pdf_get(c->d, resources, "Properties"), key);
    }
    struct pdf_obj text = pdf_get(c->d, props, "ActualText");
    if (text.type != PDF_STRING)
        return;
    c->actual = c->marked;
    c->actual_n = c->page->glyphs.n;
    c->actual_text = str_n(malloc(text.s.n ? text.s.n : 1), text.s.n);
    if (c->actual_text.p)
        memcpy((char *)(uintptr_t)c->actual_text.p, text.s.p, text.s.n);
    else
        c->actual_text.n = 0;
}

/* 7.9.2.2: UTF-16 with a mark, or nearly Latin-1. */
static void put_text(struct buf *out, struct str s)
{
    char u[4];
    bool wide = str_starts(s, STR("\xfe\xff"));
    for (size_t i = wide ? 2 : 0; i + wide < s.n; i += wide ? 2 : 1) {
        uint32_t cp = (unsigned char)s.p[i];
        if (wide)
            cp = cp << 8 | (unsigned char)s.p[i + 1];
        if (wide && cp >= 0xd800 && cp < 0xdc00 && i + 3 < s.n) {
            uint32_t low = (uint32_t)((unsigned char)s.p[i + 2] << 8 |
                                      (unsigned char)s.p[i + 3]);
            cp = 0x10000 + ((cp & 0x3ff) << 10) + (low & 0x3ff);
            i += 2;
        }
        if (cp && (cp < 0xd800 || cp > 0xdfff))
            buf_add(out, u, (size_t)utf8_encode(cp, u));
    }
}

/* Replaces the glyphs drawn since its start by one, with that text. */
static void end_marked(struct content *c)
{
    struct buf *glyphs = &c->page->glyphs;
    if (c->marked == 0)
        return;
    if (c->actual == c->marked) {
        c->actual = 0;
        if (glyphs->n > c->actual_n) {
            struct pdf_glyph first, last;
            memcpy(&first, glyphs->p + c->actual_n, sizeof(first));
            memcpy(&last, glyphs->p + glyphs->n - sizeof(last), sizeof(last));
            first.dx = last.x + last.dx - first.x;
            first.dy = last.y + last.dy - first.y;
            first.at = (uint32_t)c->page->text.n;
            put_text(&c->page->text, c->actual_text);
            first.n = (uint32_t)(c->page->text.n - first.at);
            buf_truncate(glyphs, c->actual_n);
            if (first.n)
                buf_add(glyphs, &first, sizeof(first));
        }
        free((char *)(uintptr_t)c->actual_text.p);
        c->actual_text = str_n(NULL, 0);
    }
    c->marked--;
}

/* ---- fonts and forms ---- */

static struct pdf_obj resource(struct content *c, struct pdf_obj resources,
                               const char *kind, struct pdf_obj name)
{
    struct pdf_obj all = pdf_get(c->d, resources, kind);
    const struct pdf_dict *d = all.type == PDF_DICT ? all.dict : NULL;
    for (size_t i = 0; d && name.type == PDF_NAME && i < d->n; i++) {
        if (str_eq(d->pair[i].key, name.s))
            return pdf_resolve(c->d, d->pair[i].value);
    }
    return (struct pdf_obj){.type = PDF_NULL};
}

static void set_font(struct content *c, struct pdf_obj font)
{
    c->now.font = NULL;
    if (font.type != PDF_DICT)
        return;
    struct pdf_font *f = *c->fonts;
    int64_t steps = 0;
    for (; f && f->key != font.dict; f = f->next)
        steps++;
    if (!pdf_work(c->d, steps))
        return;
    if (!f && (f = pdf_font_new(c->d, font)) != NULL) {
        f->next = *c->fonts;
        *c->fonts = f;
    }
    c->now.font = f;
}

static void run(struct content *c, struct str text, struct pdf_obj resources);

static void push(struct content *c)
{
    if (c->depth < STATES_MAX)
        c->saved[c->depth++] = c->now;
    else
        c->lost++;
}

static void pop(struct content *c)
{
    if (c->lost)
        c->lost--;
    else if (c->depth)
        c->now = c->saved[--c->depth];
}

/* A form that draws itself is not drawn again. */
static bool may_draw(const struct content *c, const struct pdf_stream *form)
{
    for (int i = 0; i < c->forms; i++) {
        if (c->form[i] == form)
            return false;
    }
    return c->forms < FORMS_MAX;
}

static void draw_form(struct content *c, struct pdf_obj form, struct pdf_obj outer)
{
    struct pdf_obj m = pdf_get(c->d, form, "Matrix");
    struct pdf_obj resources = pdf_get(c->d, form, "Resources");
    struct buf b = BUF_INIT(PDF_STREAM_MAX);
    double v[6] = {1, 0, 0, 1, 0, 0};
    for (size_t i = 0; i < 6; i++)
        pdf_number(pdf_item(c->d, m, i), &v[i]);
    if (may_draw(c, form.stream) && pdf_unpack(c->d, form.stream, &b) == 0) {
        struct content_state before = c->now;
        struct matrix text = c->text, line = c->line;
        int depth = c->depth;
        c->form[c->forms++] = form.stream;
        c->now.ctm = times((struct matrix){v[0], v[1], v[2], v[3], v[4], v[5]},
                           c->now.ctm);
        run(c, buf_str(&b), resources.type == PDF_DICT ? resources : outer);
        c->forms--;
        c->depth = c->depth > depth ? depth : c->depth;
        c->now = before;
        c->text = text;
        c->line = line;
    }
    buf_release(&b);
}

static void draw(struct content *c, struct pdf_obj resources)
{
    struct pdf_obj o = c->n ? resource(c, resources, "XObject", c->operand[0])
                            : (struct pdf_obj){.type = PDF_NULL};
    if (o.type != PDF_STREAM)
        return;
    if (pdf_is_name(pdf_get(c->d, o, "Subtype"), "Image"))
        c->page->pictures = true;
    else if (pdf_is_name(pdf_get(c->d, o, "Subtype"), "Form"))
        draw_form(c, o, resources);
}

static void extended_state(struct content *c, struct pdf_obj resources)
{
    struct pdf_obj gs = c->n ? resource(c, resources, "ExtGState", c->operand[0])
                             : (struct pdf_obj){.type = PDF_NULL};
    struct pdf_obj font = pdf_get(c->d, gs, "Font");
    if (font.type != PDF_ARRAY)
        return;
    set_font(c, pdf_item(c->d, font, 0));
    pdf_number(pdf_item(c->d, font, 1), &c->now.size);
}

/* 8.9.7: from ID to EI, which stands between blanks. */
static void skip_picture(struct content *c, struct pdf_lex *l)
{
    c->page->pictures = true;
    struct str s = l->s;
    for (size_t i = l->at + 1; i + 1 < s.n; i++) {
        const char *p = memchr(s.p + i, 'E', s.n - i - 1);
        if (!p)
            break;
        i = (size_t)(p - s.p);
        if (s.p[i + 1] == 'I' && pdf_is_space(s.p[i - 1]) &&
            (i + 2 == s.n || pdf_is_space(s.p[i + 2]))) {
            l->at = i + 2;
            return;
        }
    }
    l->at = s.n;
}

/* ---- operators ---- */

#define OP(a, b) ((unsigned char)(a) << 8 | (unsigned char)(b))

static void text_operator(struct content *c, int op, struct pdf_obj resources)
{
    switch (op) {
    case OP('B', 'T'):
        c->text = c->line = identity;
        break;
    case OP('T', 'f'):
        set_font(c, c->n ? resource(c, resources, "Font", c->operand[0])
                         : (struct pdf_obj){.type = PDF_NULL});
        c->now.size = num(c, 1);
        break;
    case OP('T', 'c'):
        c->now.char_space = num(c, 0);
        break;
    case OP('T', 'w'):
        c->now.word_space = num(c, 0);
        break;
    case OP('T', 'z'):
        c->now.scale = num(c, 0) / 100;
        break;
    case OP('T', 'L'):
        c->now.leading = num(c, 0);
        break;
    case OP('T', 's'):
        c->now.rise = num(c, 0);
        break;
    case OP('T', 'D'):
        c->now.leading = -num(c, 1);
        next_line(c, num(c, 0), num(c, 1));
        break;
    case OP('T', 'd'):
        next_line(c, num(c, 0), num(c, 1));
        break;
    case OP('T', 'm'):
        c->text = c->line = matrix_of(c);
        break;
    case OP('T', '*'):
        next_line(c, 0, -c->now.leading);
        break;
    case OP('T', 'j'):
        show_operand(c);
        break;
    case OP('T', 'J'):
        if (c->n)
            show_array(c, c->operand[c->n - 1]);
        break;
    default:
        break;
    }
}

static void operate(struct content *c, struct str word, struct pdf_lex *l,
                    struct pdf_obj resources)
{
    int op = word.n == 2 ? OP(word.p[0], word.p[1]) : word.n == 1 ? word.p[0] : 0;
    switch (op) {
    case 'q':
        push(c);
        break;
    case 'Q':
        pop(c);
        break;
    case OP('c', 'm'):
        c->now.ctm = times(matrix_of(c), c->now.ctm);
        break;
    case '\'':
        next_line(c, 0, -c->now.leading);
        show_operand(c);
        break;
    case '"':
        c->now.word_space = num(c, 0);
        c->now.char_space = num(c, 1);
        next_line(c, 0, -c->now.leading);
        show_operand(c);
        break;
    case OP('D', 'o'):
        draw(c, resources);
        break;
    case OP('g', 's'):
        extended_state(c, resources);
        break;
    case OP('I', 'D'):
        skip_picture(c, l);
        break;
    default:
        if (str_eq(word, STR("BDC")))
            begin_marked(c, resources);
        else if (str_eq(word, STR("BMC")))
            c->marked++;
        else if (str_eq(word, STR("EMC")))
            end_marked(c);
        else
            text_operator(c, op, resources);
        break;
    }
}

static void run(struct content *c, struct str text, struct pdf_obj resources)
{
    struct pdf_lex l = {.d = c->d, .a = &c->scratch, .s = text};
    struct arena_mark mark = arena_mark(&c->scratch);
    c->n = 0;
    while (!c->d->err.code) {
        struct pdf_obj o = pdf_parse(&l);
        if (o.type == PDF_END)
            break;
        if (o.type == PDF_CLOSE)
            continue;
        if (o.type != PDF_WORD) {
            if (c->n == OPERANDS)
                memmove(c->operand, c->operand + 1, --c->n * sizeof(*c->operand));
            c->operand[c->n++] = o;
            continue;
        }
        operate(c, o.s, &l, resources);
        c->n = 0;
        arena_back(&c->scratch, mark);
    }
}

/* 7.8.2: joins several streams, with a blank between. */
static void contents(struct pdf *d, struct pdf_obj o, struct buf *out)
{
    size_t n = o.type == PDF_ARRAY ? pdf_count(o) : 1;
    for (size_t i = 0; i < n && i < CONTENTS_MAX && !d->err.code; i++) {
        struct pdf_obj part = o.type == PDF_ARRAY ? pdf_item(d, o, i) : o;
        if (part.type == PDF_STREAM && pdf_work(d, 1))
            pdf_unpack(d, part.stream, out);
        buf_addc(out, '\n');
    }
}

void pdf_page_read(struct pdf *d, struct pdf_obj page, struct pdf_obj resources,
                   struct pdf_box box, struct pdf_font **fonts, struct pdf_page *p)
{
    struct buf b = BUF_INIT(PDF_STREAM_MAX);
    struct content *c = calloc(1, sizeof(*c));
    if (!c)
        return;
    c->d = d;
    c->page = p;
    c->fonts = fonts;
    c->box = box;
    c->now = (struct content_state){.ctm = identity, .scale = 1};
    c->text = c->line = identity;
    arena_init(&c->scratch, SCRATCH);
    contents(d, pdf_get(d, page, "Contents"), &b);
    run(c, buf_str(&b), resources);
    arena_release(&c->scratch);
    free((char *)(uintptr_t)c->actual_text.p);
    free(c);
    buf_release(&b);
}
