/* SPDX-License-Identifier: MIT */
/*
 * Word: paragraphs (ECMA-376, part 1, 17.3) with a mark each, as parse_docx counts them:
 * only those directly in the body. The text of tables and boxes comes between them
 * without a mark: a table's rows are lines, tabs separate its cells. Markdown has no
 * marks, but headings, items of lists and tables.
 */
#include "document/package.h"
#include "document/style.h"
#include "document/xml.h"

struct docx {
    struct xml x;
    struct buf *out;
    struct buf text;  /* of the paragraph */
    struct buf aside; /* text without a mark */
    size_t body;      /* depth of its elements; 0: not reached yet */
    size_t paragraphs;
    int nested; /* paragraphs that are open */
    int cells, skip;
    bool in_text;
    bool markdown;
    struct docx_styles styles;
    struct docx_look look;  /* of the paragraph */
    int above[LIST_LEVELS]; /* levels of the previous item, and of those it is in */
    int listed;             /* how many; 0: the previous paragraph was not an item */
    size_t rows;            /* of the table */
    const char *link;       /* borrowed; NULL: none is open */
    size_t link_from;       /* where its text begins, in the current buffer */
};

static bool is_any(const struct xml *x, const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (xml_is(x, names[i]))
            return true;
    }
    return false;
}

/* Elements whose text is a repetition, or is not text of the document. */
static bool is_skipped(const struct xml *x)
{
    static const char *const names[] = {"Fallback", "instrText", "del",
                                        "moveFrom", "rPr",       "pPr"};
    return is_any(x, names, sizeof(names) / sizeof(*names));
}

static struct buf *current(struct docx *d)
{
    return d->nested > 1 || d->cells ? &d->aside : &d->text;
}

static int flush_aside(struct docx *d)
{
    int rc = 0;
    while (d->aside.n && d->aside.p[d->aside.n - 1] == '\n')
        buf_truncate(&d->aside, d->aside.n - 1);
    if (d->aside.n) {
        rc = buf_addz(d->out, d->listed ? "\n" : "");
        d->listed = 0;
    }
    if (d->aside.n && rc == 0) {
        rc = buf_adds(d->out, buf_str(&d->aside));
        if (rc == 0)
            rc = buf_addz(d->out, "\n\n");
    }
    buf_reset(&d->aside);
    return rc;
}

static int put_marked(struct docx *d)
{
    int rc = buf_addf(d->out, "@@ Page %zu @@\n", ++d->paragraphs);
    if (rc == 0)
        rc = buf_adds(d->out, buf_str(&d->text));
    return rc < 0 ? rc : buf_addz(d->out, "\n\n");
}

/*
 * Appends the dot or number of an item, indented by three columns for each item that it
 * is in; a document may leave levels out.
 */
static int put_item_mark(struct docx *d)
{
    int level = d->look.level, n = docx_list_next(d->look.list, level);
    while (d->listed > 0 && d->above[d->listed - 1] >= level)
        d->listed--;
    int indent = 3 * d->listed;
    d->above[d->listed++] = level;
    return n ? buf_addf(d->out, "%*s%d. ", indent, "", n)
             : buf_addf(d->out, "%*s- ", indent, "");
}

/* Appends a paragraph without a mark; nothing if it is empty. */
static int put_markdown(struct docx *d)
{
    static const char *const heads[] = {"",      "# ",     "## ",    "### ",
                                        "#### ", "##### ", "###### "};
    struct str text = str_trim(buf_str(&d->text));
    bool item = d->look.item && d->look.heading <= 0;
    if (text.n == 0)
        return 0;
    if (d->listed && !item && buf_addc(d->out, '\n') < 0)
        return -1;
    d->listed = item ? d->listed : 0;
    int rc = item                  ? put_item_mark(d)
             : d->look.heading > 0 ? buf_addz(d->out, heads[d->look.heading])
                                   : 0;
    if (rc == 0)
        rc = buf_adds(d->out, text);
    return rc < 0 ? rc : buf_addz(d->out, item ? "\n" : "\n\n");
}

static int end_paragraph(struct docx *d)
{
    d->nested--;
    if (d->cells || d->nested > 0)
        return buf_addc(&d->aside, d->cells ? ' ' : '\n');
    bool marked = d->x.depth == d->body;
    if (!marked) {
        int rc = buf_adds(&d->aside, buf_str(&d->text));
        buf_reset(&d->text);
        return rc < 0 ? rc : buf_addc(&d->aside, '\n');
    }
    int rc = d->markdown ? put_markdown(d) : put_marked(d);
    buf_reset(&d->text);
    return rc < 0 ? rc : flush_aside(d);
}

static int end_cell(struct docx *d)
{
    while (d->aside.n && d->aside.p[d->aside.n - 1] == ' ')
        buf_truncate(&d->aside, d->aside.n - 1);
    return buf_addc(&d->aside, d->markdown && d->cells ? ' ' : '\t');
}

/* Makes the text after the last newline a row. */
static int row_as_markdown(struct docx *d)
{
    struct buf row = BUF_INIT(DOCREAD_TEXT_MAX);
    size_t from = d->aside.n;
    while (from > 0 && d->aside.p[from - 1] != '\n')
        from--;
    int rc = buf_adds(&row, str_sub(buf_str(&d->aside), from, d->aside.n));
    buf_truncate(&d->aside, from);
    if (rc == 0)
        rc = docread_row(&d->aside, buf_str(&row), d->rows++ == 0);
    buf_release(&row);
    return rc;
}

static int end_row(struct docx *d)
{
    while (d->aside.n && d->aside.p[d->aside.n - 1] == '\t')
        buf_truncate(&d->aside, d->aside.n - 1);
    if (!d->markdown)
        return buf_addc(&d->aside, '\n');
    return d->cells ? buf_addc(&d->aside, ' ') : row_as_markdown(d);
}

static int begin_link(struct docx *d)
{
    d->link = docx_styles_link(&d->styles, &d->x);
    int rc = d->link ? buf_addc(current(d), '[') : 0;
    d->link_from = current(d)->n;
    return rc;
}

static int end_link(struct docx *d)
{
    struct buf *out = current(d);
    const char *to = d->link;
    d->link = NULL;
    if (!to || out->n < d->link_from)
        return 0;
    if (out->n > d->link_from)
        return buf_addf(out, strpbrk(to, " ()") ? "](<%s>)" : "](%s)", to);
    buf_truncate(out, out->n - 1);
    return 0;
}

static int open(struct docx *d)
{
    const struct xml *x = &d->x;
    if (xml_is(x, "body"))
        d->body = x->depth;
    else if (is_skipped(x))
        d->skip = (int)x->depth;
    else if (xml_is(x, "p") && d->nested++ == 0)
        d->look = (struct docx_look){0};
    else if (xml_is(x, "tc"))
        d->cells++;
    else if (xml_is(x, "tbl") && !d->cells)
        d->rows = 0;
    else if (xml_is(x, "hyperlink") && d->markdown && d->nested)
        return begin_link(d);
    else if (xml_is(x, "t"))
        d->in_text = true;
    else if (xml_is(x, "tab"))
        return buf_addc(current(d), d->markdown && d->cells ? ' ' : '\t');
    else if (xml_is(x, "br") || xml_is(x, "cr"))
        return buf_addc(current(d), d->cells ? ' ' : '\n');
    else if (xml_is(x, "noBreakHyphen"))
        return buf_addc(current(d), '-');
    return 0;
}

static int close_element(struct docx *d)
{
    const struct xml *x = &d->x;
    if (xml_is(x, "t")) {
        d->in_text = false;
    } else if (xml_is(x, "p") && d->nested > 0) {
        return end_paragraph(d);
    } else if (xml_is(x, "tc") && d->cells > 0) {
        d->cells--;
        return end_cell(d);
    } else if (xml_is(x, "hyperlink")) {
        return end_link(d);
    } else if (xml_is(x, "tr")) {
        return end_row(d);
    } else if (x->depth == d->body) { /* a table, or what holds several things */
        return flush_aside(d);
    }
    return 0;
}

static int walk(struct docx *d, struct err *e)
{
    int rc = 0;
    enum xml_kind k;
    while (rc == 0 && (k = xml_next(&d->x)) != XML_END) {
        if (k == XML_BAD)
            return err_set(e, ERR_INVALID, "it is damaged: its text is cut off");
        if (d->skip) {
            if (k == XML_CLOSE && d->x.depth < (size_t)d->skip)
                d->skip = 0;
            else if (k == XML_OPEN && d->nested == 1 && !d->cells)
                docx_styles_look(&d->styles, &d->x, &d->look);
        } else if (k == XML_OPEN) {
            rc = open(d);
        } else if (k == XML_CLOSE) {
            rc = close_element(d);
        } else if (d->in_text && d->nested) {
            rc = xml_text(&d->x, current(d));
        }
    }
    return rc < 0 ? docread_too_long(d->out, e) : 0;
}

int docread_docx(int fd, bool markdown, struct buf *out, struct err *e)
{
    struct package p = PACKAGE_INIT(fd);
    struct buf part = BUF_INIT(PACKAGE_PART_MAX), name = BUF_INIT(4096);
    struct docx d = {.out = out, .markdown = markdown};
    buf_init(&d.text, DOCREAD_TEXT_MAX);
    buf_init(&d.aside, DOCREAD_TEXT_MAX);
    docx_styles_init(&d.styles);
    int rc = package_read(&p, STR("_rels/.rels"), &part, e);
    if (rc == 0 &&
        !package_target(buf_str(&part), STR(""), STR(""), "/officeDocument", &name))
        buf_addz(&name, "word/document.xml");
    if (rc == 0 && markdown)
        docx_styles_read(&d.styles, &p, buf_str(&name), &part);
    if (rc == 0)
        rc = package_read(&p, buf_str(&name), &part, e);
    if (rc == 0) {
        d.x = (struct xml)XML_INIT(buf_str(&part));
        rc = walk(&d, e);
    }
    if (rc == 0 && !d.body)
        rc = err_set(e, ERR_INVALID, "it has no body of a Word document");
    if (rc == 0 && (flush_aside(&d) < 0 || buf_addc(out, '\n') < 0))
        rc = docread_too_long(out, e);
    buf_release(&part);
    buf_release(&name);
    buf_release(&d.text);
    buf_release(&d.aside);
    docx_styles_release(&d.styles);
    return rc;
}
