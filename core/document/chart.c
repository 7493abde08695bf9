/* SPDX-License-Identifier: MIT */
/*
 * Charts of office files (ECMA-376, part 1, 21.2): the values that the file stores with
 * them, as a table: a row of categories, then a row for each series, after its name.
 */
#include "document/package.h"
#include "document/xml.h"

enum { POINTS_MAX = 65536, ROW_MAX = 4 << 20 };

struct chart {
    struct xml x;
    struct buf *out;
    struct buf title, name, row, above; /* above: the categories that were put last */
    bool markdown, in_series, in_title, in_value, in_name, other_level, plot;
    size_t rows, at; /* at: points in the row */
};

static int put_row(struct chart *c, struct str name, struct str cells)
{
    struct buf all = BUF_INIT(ROW_MAX + 4096);
    struct str title = str_trim(buf_str(&c->title));
    buf_adds(&all, name);
    int rc = buf_adds(&all, cells);
    if (c->rows == 0)
        buf_addf(c->out, "Chart:%s%.*s\n%s", title.n ? " " : "", STR_ARG(title),
                 c->markdown ? "\n" : "");
    if (rc == 0 && c->markdown)
        rc = docread_row(c->out, buf_str(&all), c->rows == 0);
    else if (rc == 0)
        rc = buf_adds(c->out, buf_str(&all)) < 0 ? -1 : buf_addc(c->out, '\n');
    c->rows++;
    buf_release(&all);
    return rc;
}

/* Fills the row with empty cells up to the next point. */
static int begin_point(struct chart *c)
{
    uint64_t i = xml_attr_number(&c->x, "idx", c->at);
    int rc = 0;
    for (; rc == 0 && c->at <= i && c->at < POINTS_MAX; c->at++)
        rc = buf_addc(&c->row, '\t');
    return rc;
}

static int open(struct chart *c)
{
    const struct xml *x = &c->x;
    if (xml_is(x, "ser")) {
        c->in_series = true;
        buf_reset(&c->name);
    } else if (xml_is(x, "plotArea")) {
        c->plot = true; /* titles in it are those of axes */
    } else if (xml_is(x, "title") && !c->plot) {
        c->in_title = true;
    } else if (xml_is(x, "tx")) {
        c->in_name = c->in_series;
    } else if (xml_is(x, "cat") || xml_is(x, "xVal") || xml_is(x, "val") ||
               xml_is(x, "yVal") || xml_is(x, "bubbleSize")) {
        buf_reset(&c->row);
        c->at = 0;
        c->other_level = false;
    } else if (xml_is(x, "pt") && c->in_series && !c->in_name && !c->other_level) {
        return begin_point(c);
    }
    c->in_value = c->in_series && xml_is(x, "v") && !c->other_level;
    return 0;
}

static int close_element(struct chart *c)
{
    const struct xml *x = &c->x;
    bool values = xml_is(x, "val") || xml_is(x, "yVal");
    c->in_value = false;
    if (xml_is(x, "ser"))
        c->in_series = false;
    else if (xml_is(x, "title"))
        c->in_title = false;
    else if (xml_is(x, "tx"))
        c->in_name = false;
    else if (xml_is(x, "lvl"))
        c->other_level = true; /* only the innermost is shown */
    else if (values || xml_is(x, "bubbleSize"))
        return c->in_series && c->row.n
                   ? put_row(c, values ? buf_str(&c->name) : STR("size"),
                             buf_str(&c->row))
                   : 0;
    else if ((xml_is(x, "cat") || xml_is(x, "xVal")) && c->row.n &&
             !str_eq(buf_str(&c->row), buf_str(&c->above))) {
        buf_reset(&c->above);
        buf_adds(&c->above, buf_str(&c->row));
        return put_row(c, STR(""), buf_str(&c->row));
    }
    return 0;
}

/* Appends a text as a cell: without tabs and ends of lines. */
static int put_cell(struct chart *c, struct buf *to)
{
    size_t from = to->n;
    int rc = xml_text(&c->x, to);
    for (size_t i = from; i < to->n; i++) {
        if (strchr("\t\r\n", to->p[i]))
            to->p[i] = ' ';
    }
    return rc;
}

/* Reads the part whose id an attribute of the element has; false if there is none. */
static bool read_part(struct package *p, const struct xml *x, const char *attr,
                      struct str rels, struct str from, struct buf *part)
{
    struct buf id = BUF_INIT(4096);
    bool read = xml_attr_prefixed(x, attr, &id) &&
                package_follow(p, rels, from, buf_str(&id), "", part);
    buf_release(&id);
    return read;
}

int docread_stand_in(const struct xml *x, struct buf *out)
{
    struct buf text = BUF_INIT(4096);
    int rc = xml_attr(x, "descr", &text) && text.n
                 ? buf_addf(out, "[Image: %s]", buf_z(&text))
                 : 0;
    buf_release(&text);
    return rc;
}

int docread_diagram(struct package *p, const struct xml *x, struct str rels,
                    struct str from, struct buf *out)
{
    struct buf part = BUF_INIT(PACKAGE_PART_MAX);
    struct xml d = XML_INIT(STR(""));
    enum xml_kind k;
    bool text = false, any = false;
    int rc = 0;
    if (read_part(p, x, "dm", rels, from, &part))
        d.s = buf_str(&part);
    while (rc == 0 && (k = xml_next(&d)) != XML_END && k != XML_BAD) {
        if (k == XML_TEXT && text) {
            rc = any ? 0 : buf_addz(out, "- ");
            rc |= xml_text(&d, out);
            any = true;
        } else if (k == XML_CLOSE && xml_is(&d, "p")) {
            rc = any ? buf_addc(out, '\n') : 0;
            any = false;
        }
        text = k == XML_OPEN && xml_is(&d, "t");
    }
    buf_release(&part);
    return rc;
}

int docread_chart(struct package *p, const struct xml *x, struct str rels,
                  struct str from, bool markdown, struct buf *out)
{
    struct buf part = BUF_INIT(PACKAGE_PART_MAX);
    struct chart c = {.out = out, .markdown = markdown};
    enum xml_kind k;
    int rc = 0;
    buf_init(&c.title, 4096);
    buf_init(&c.name, 4096);
    buf_init(&c.row, ROW_MAX);
    buf_init(&c.above, ROW_MAX);
    if (read_part(p, x, "id", rels, from, &part))
        c.x = (struct xml)XML_INIT(buf_str(&part));
    while (rc == 0 && (k = xml_next(&c.x)) != XML_END && k != XML_BAD) {
        if (k == XML_OPEN)
            rc = open(&c);
        else if (k == XML_CLOSE)
            rc = close_element(&c);
        else if (c.in_value)
            rc = put_cell(&c, c.in_name ? &c.name : &c.row);
        else if (c.in_title && xml_is(&c.x, "t"))
            rc = put_cell(&c, &c.title);
    }
    if (buf_full(&c.title) || buf_full(&c.name) || buf_full(&c.row))
        rc = 0; /* a chart with more than that is cut off */
    if (rc == 0 && c.rows)
        rc = buf_addc(out, '\n');
    buf_release(&part);
    buf_release(&c.title);
    buf_release(&c.name);
    buf_release(&c.row);
    buf_release(&c.above);
    return rc;
}
