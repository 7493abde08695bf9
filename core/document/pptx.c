/* SPDX-License-Identifier: MIT */
/*
 * PowerPoint: slides in the order of the presentation (ECMA-376, part 1, 19.2.1.34),
 * the text of each shape in the slide's order. As parse_pptx prints it, a shape without
 * text is an empty line; the rows of tables are lines, tabs separate their cells.
 * Markdown has a comment before each slide, its title as a heading, and links. The
 * speaker's notes follow a slide; a chart is the table of its values.
 */
#include "document/math.h"
#include "document/package.h"
#include "document/xml.h"

enum { SLIDES_MAX = 20000 };

struct slide {
    struct xml x;
    struct buf *out;
    struct buf shape;
    struct package *p;
    struct str name, rels; /* of the slide */
    size_t skip;           /* depth around an element that is skipped; 0: none */
    bool markdown, in_text, in_shape, in_table, title;
    bool notes; /* a page of notes: only its text is shown (19.7.10) */
    bool body;
    size_t rows;       /* of the table */
    size_t paragraphs; /* of the shape, or the cell */
    struct buf *link;  /* target of the run's link; empty: it has none */
};

static int put_shape(struct slide *s)
{
    int rc = s->title && s->markdown ? buf_addz(s->out, "# ") : 0;
    if (rc == 0)
        rc = buf_adds(s->out, buf_str(&s->shape));
    return rc < 0 ? rc : buf_addc(s->out, '\n');
}

static int line(struct slide *s)
{
    int rc = 0;
    if (s->notes && !s->body)
        ;
    else if (s->markdown && s->in_table)
        rc = docread_row(s->out, buf_str(&s->shape), s->rows++ == 0);
    else if (!s->markdown || s->shape.n > 0)
        rc = put_shape(s);
    buf_reset(&s->shape);
    s->paragraphs = 0;
    s->title = false;
    return rc;
}

/* ECMA-376, part 1, 19.7.10 */
static void take_placeholder(struct slide *s)
{
    const struct xml *x = &s->x;
    s->title = xml_attr_is(x, "type", "title") || xml_attr_is(x, "type", "ctrTitle");
    s->body = xml_attr_is(x, "type", "body");
}

static int mark_hidden(struct slide *s)
{
    bool hidden = xml_attr_is(&s->x, "show", "0") || xml_attr_is(&s->x, "show", "false");
    return hidden ? buf_addz(s->out, "[hidden slide]\n") : 0;
}

/* Begins a link (21.1.2.3.5), unless it leads to a slide. */
static int begin_link(struct slide *s)
{
    struct buf id = BUF_INIT(64);
    bool found = xml_attr_prefixed(&s->x, "id", &id) && id.n &&
                 package_target(s->rels, s->name, buf_str(&id), "", s->link);
    buf_release(&id);
    if (found && str_chr(buf_str(s->link), ':') >= 0)
        return buf_addc(&s->shape, '[');
    buf_reset(s->link);
    return 0;
}

static int open(struct slide *s)
{
    const struct xml *x = &s->x;
    if (xml_is(x, "sp")) {
        s->in_shape = true;
        buf_reset(&s->shape);
        s->paragraphs = 0;
        s->body = false;
    } else if (xml_is(x, "ph")) {
        take_placeholder(s);
    } else if (xml_is(x, "oMath") && (s->in_shape || s->in_table)) {
        return math_line(&s->x, &s->shape);
    } else if (xml_is(x, "chart") && !s->notes) {
        return docread_chart(s->p, x, s->rels, s->name, s->markdown, s->out);
    } else if (xml_is(x, "relIds") && !s->notes) {
        return docread_diagram(s->p, x, s->rels, s->name, s->out);
    } else if (xml_is(x, "cNvPr") && s->markdown && !s->notes) {
        size_t from = s->out->n;
        int rc = docread_stand_in(x, s->out);
        return rc < 0 || s->out->n == from ? rc : buf_addc(s->out, '\n');
    } else if (xml_is(x, "sld")) {
        return mark_hidden(s);
    } else if (xml_is(x, "Fallback")) {
        s->skip = x->depth; /* says the same as what it stands in for */
    } else if (xml_is(x, "tbl")) {
        s->in_table = true;
        s->rows = 0;
        buf_reset(&s->shape);
    } else if (xml_is(x, "tc")) {
        s->paragraphs = 0;
    } else if (xml_is(x, "t")) {
        s->in_text = true;
    } else if (xml_is(x, "hlinkClick") && s->markdown && s->paragraphs && !s->notes) {
        return begin_link(s);
    } else if (xml_is(x, "br")) {
        return buf_addc(&s->shape, s->in_table ? ' ' : '\n');
    } else if (xml_is(x, "p") && s->paragraphs++) {
        return buf_addc(&s->shape, s->in_table ? ' ' : '\n');
    }
    return 0;
}

static int close_element(struct slide *s)
{
    const struct xml *x = &s->x;
    if (xml_is(x, "t")) {
        s->in_text = false;
    } else if (s->link->n && (xml_is(x, "r") || xml_is(x, "fld"))) {
        int rc = buf_addf(&s->shape, "](%s)", buf_z(s->link));
        buf_reset(s->link);
        return rc;
    } else if (s->link->n && xml_is(x, "endParaRPr")) { /* a link of no text */
        buf_truncate(&s->shape, s->shape.n - 1);
        buf_reset(s->link);
    } else if (xml_is(x, "sp") && s->in_shape) {
        s->in_shape = false;
        return line(s);
    } else if (xml_is(x, "tc")) {
        return buf_addc(&s->shape, '\t');
    } else if (xml_is(x, "tr") && s->in_table) {
        while (s->shape.n && s->shape.p[s->shape.n - 1] == '\t')
            buf_truncate(&s->shape, s->shape.n - 1);
        return line(s);
    } else if (xml_is(x, "tbl")) {
        s->in_table = false;
    }
    return 0;
}

/* Takes one piece of the slide. */
static int step(struct slide *s, enum xml_kind k)
{
    if (s->skip) {
        if (k == XML_CLOSE && s->x.depth < s->skip)
            s->skip = 0;
        return 0;
    }
    if (k == XML_TEXT)
        return s->in_text && (s->in_shape || s->in_table) ? xml_text(&s->x, &s->shape)
                                                          : 0;
    return k == XML_OPEN ? open(s) : close_element(s);
}

static int read_slide(struct slide *s, struct str part, struct err *e)
{
    enum xml_kind k;
    int rc = 0;
    s->x = (struct xml)XML_INIT(part);
    buf_init(&s->shape, DOCREAD_TEXT_MAX);
    while (rc == 0 && (k = xml_next(&s->x)) != XML_END) {
        if (k == XML_BAD) {
            buf_release(&s->shape);
            return err_set(e, ERR_INVALID, "it is damaged: a slide is cut off");
        }
        rc = step(s, k);
    }
    buf_release(&s->shape);
    return rc < 0 ? docread_too_long(s->out, e) : 0;
}

/* ---- the presentation ---- */

struct presentation {
    struct package p;
    bool markdown;
    struct buf name, main, rels, part, id, target;
    struct buf slide_rels;
};

/* Appends the speaker's notes of the slide r->target, if there are any. */
static int read_notes(struct presentation *r, struct buf *out, struct err *e)
{
    struct buf text = BUF_INIT(DOCREAD_TEXT_MAX);
    struct slide s = {
        .out = &text, .p = &r->p, .link = &r->id, .markdown = true, .notes = true};
    int rc = 0;
    if (package_follow(&r->p, buf_str(&r->slide_rels), buf_str(&r->target), STR(""),
                       "/notesSlide", &r->part))
        rc = read_slide(&s, buf_str(&r->part), e);
    struct str notes = str_trim(buf_str(&text));
    if (rc == 0 && notes.n &&
        buf_addf(out, r->markdown ? "\n### Notes\n\n%.*s\n" : "Notes: %.*s\n",
                 STR_ARG(notes)) < 0)
        rc = docread_too_long(out, e);
    buf_release(&text);
    return rc;
}

static int read_slides(struct presentation *r, struct buf *out, struct err *e)
{
    struct xml x = XML_INIT(buf_str(&r->main));
    enum xml_kind k;
    size_t n = 0;
    while ((k = xml_next(&x)) != XML_END) {
        if (k == XML_BAD)
            return err_set(e, ERR_INVALID,
                           "it is damaged: its list of slides is cut off");
        if (k != XML_OPEN || !xml_is(&x, "sldId"))
            continue;
        if (n == SLIDES_MAX)
            return err_set(e, ERR_LIMIT, "it has more than %d slides", SLIDES_MAX);
        buf_reset(&r->id);
        if (!xml_attr_prefixed(&x, "id", &r->id) ||
            !package_target(buf_str(&r->rels), buf_str(&r->name), buf_str(&r->id), "",
                            &r->target))
            return err_set(e, ERR_INVALID, "slide %zu is missing", n + 1);
        if (package_read(&r->p, buf_str(&r->target), &r->part, e) < 0)
            return -1;
        n++;
        if (buf_addf(out,
                     r->markdown ? "%s<!-- Slide number: %zu -->\n"
                                 : "%s@@ Slide %zu @@\n",
                     r->markdown && n > 1 ? "\n" : "", n) < 0)
            return docread_too_long(out, e);
        package_rels(&r->p, buf_str(&r->target), &r->slide_rels);
        buf_reset(&r->id);
        struct slide s = {.out = out,
                          .p = &r->p,
                          .link = &r->id,
                          .name = buf_str(&r->target),
                          .rels = buf_str(&r->slide_rels),
                          .markdown = r->markdown};
        if (read_slide(&s, buf_str(&r->part), e) < 0 || read_notes(r, out, e) < 0)
            return -1;
    }
    /* parse_pptx prints an empty line if there are no lines. */
    return n || buf_addc(out, '\n') == 0 ? 0 : docread_too_long(out, e);
}

int docread_pptx(int fd, bool markdown, struct buf *out, struct err *e)
{
    struct presentation r = {.p = PACKAGE_INIT(fd), .markdown = markdown};
    struct buf *parts[] = {&r.main, &r.rels, &r.part};
    struct buf *names[] = {&r.name, &r.id, &r.target};
    for (size_t i = 0; i < 3; i++) {
        buf_init(parts[i], PACKAGE_PART_MAX);
        buf_init(names[i], 4096);
    }
    buf_init(&r.slide_rels, PACKAGE_PART_MAX);
    int rc = package_main(&r.p, "ppt/presentation.xml", &r.name, &r.main, &r.rels, e);
    if (rc == 0)
        rc = read_slides(&r, out, e);
    buf_release(&r.slide_rels);
    for (size_t i = 0; i < 3; i++) {
        buf_release(parts[i]);
        buf_release(names[i]);
    }
    return rc;
}
