/* SPDX-License-Identifier: MIT */
/*
 * PowerPoint: slides in the order of the presentation (ECMA-376, part 1, 19.2.1.34),
 * the text of each shape in the slide's order. As parse_pptx prints it, a shape without
 * text is an empty line; the rows of tables are lines, tabs separate their cells.
 * Markdown has a comment before each slide, and its title as a heading.
 */
#include "document/package.h"
#include "document/xml.h"

enum { SLIDES_MAX = 20000 };

struct slide {
    struct xml x;
    struct buf *out;
    struct buf shape;
    bool markdown, in_text, in_shape, in_table, title;
    size_t rows;       /* of the table */
    size_t paragraphs; /* of the shape, or the cell */
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
    if (s->markdown && s->in_table)
        rc = docread_row(s->out, buf_str(&s->shape), s->rows++ == 0);
    else if (!s->markdown || s->shape.n > 0)
        rc = put_shape(s);
    buf_reset(&s->shape);
    s->paragraphs = 0;
    s->title = false;
    return rc;
}

/* ECMA-376, part 1, 19.7.10 */
static bool is_title(const struct xml *x)
{
    struct buf type = BUF_INIT(64);
    bool title = xml_attr(x, "type", &type) && (str_eq(buf_str(&type), STR("title")) ||
                                                str_eq(buf_str(&type), STR("ctrTitle")));
    buf_release(&type);
    return title;
}

static int open(struct slide *s)
{
    const struct xml *x = &s->x;
    if (xml_is(x, "sp")) {
        s->in_shape = true;
        buf_reset(&s->shape);
        s->paragraphs = 0;
    } else if (xml_is(x, "ph")) {
        s->title = is_title(x);
    } else if (xml_is(x, "tbl")) {
        s->in_table = true;
        s->rows = 0;
        buf_reset(&s->shape);
    } else if (xml_is(x, "tc")) {
        s->paragraphs = 0;
    } else if (xml_is(x, "t")) {
        s->in_text = true;
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

static int read_slide(struct str part, bool markdown, struct buf *out, struct err *e)
{
    struct slide s = {.x = XML_INIT(part), .out = out, .markdown = markdown};
    enum xml_kind k;
    int rc = 0;
    buf_init(&s.shape, DOCREAD_TEXT_MAX);
    while (rc == 0 && (k = xml_next(&s.x)) != XML_END) {
        if (k == XML_BAD) {
            buf_release(&s.shape);
            return err_set(e, ERR_INVALID, "it is damaged: a slide is cut off");
        }
        if (k == XML_OPEN)
            rc = open(&s);
        else if (k == XML_CLOSE)
            rc = close_element(&s);
        else if (s.in_text && (s.in_shape || s.in_table))
            rc = xml_text(&s.x, &s.shape);
    }
    buf_release(&s.shape);
    return rc < 0 ? docread_too_long(out, e) : 0;
}

/* ---- the presentation ---- */

struct presentation {
    struct package p;
    bool markdown;
    struct buf name, main, rels, part, id, target;
};

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
        if (read_slide(buf_str(&r->part), r->markdown, out, e) < 0)
            return -1;
    }
    /* parse_pptx prints an empty line if there are no lines. */
    return n || buf_addc(out, '\n') == 0 ? 0 : docread_too_long(out, e);
}

static int read_all(struct presentation *r, struct buf *out, struct err *e)
{
    struct buf rels = BUF_INIT(4096 + 16);
    if (package_read(&r->p, STR("_rels/.rels"), &r->part, e) < 0)
        return -1;
    if (!package_target(buf_str(&r->part), STR(""), STR(""), "/officeDocument", &r->name))
        buf_addz(&r->name, "ppt/presentation.xml");
    int rc = package_read(&r->p, buf_str(&r->name), &r->main, e);
    if (rc == 0 && package_rels_name(buf_str(&r->name), &rels) < 0)
        rc = err_set(e, ERR_INVALID, "the name of its main part is too long");
    if (rc == 0)
        rc = package_read(&r->p, buf_str(&rels), &r->rels, e);
    buf_release(&rels);
    return rc < 0 ? -1 : read_slides(r, out, e);
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
    int rc = read_all(&r, out, e);
    for (size_t i = 0; i < 3; i++) {
        buf_release(parts[i]);
        buf_release(names[i]);
    }
    return rc;
}
