/* SPDX-License-Identifier: MIT */
/*
 * Word: paragraphs (ECMA-376, part 1, 17.3) with a mark each, as parse_docx counts them:
 * only those directly in the body. The text of tables and boxes comes between them
 * without a mark: a table's rows are lines, tabs separate its cells. Markdown has no
 * marks, but headings and items of lists, with their numbers, and tables. Notes and
 * comments are marked [^1] in the text and follow it, as do headers and footers.
 */
#include "document/math.h"
#include "document/package.h"
#include "document/style.h"
#include "document/xml.h"

#include "base/utf8.h"

#include <stdlib.h>

enum {
    NOTES_MAX = 65536,
    HEADERS_MAX = 256,
    ID_MAX = 64,
    COLUMNS_MAX = 63 /* of a table; Word's */
};

#define ASIDE SIZE_MAX /* a body's depth: no paragraph of this part is directly in it */

struct docx {
    struct xml x;
    struct package *p;
    struct str name;   /* of the main part */
    struct buf rels;   /* its relationships */
    struct map notes;  /* their numbers by kind and id: "f2" */
    uintptr_t notes_n; /* that the text refers to */
    struct buf *out;
    struct buf text;  /* of the paragraph */
    struct buf aside; /* text without a mark */
    size_t body;      /* depth of its elements; 0: not reached yet */
    size_t paragraphs;
    int nested; /* paragraphs that are open */
    int cells, skip;
    size_t span; /* columns of the cell (17.4.17) */
    bool in_text;
    bool markdown;
    char in_look;           /* what is skipped, as in elements; 0: nothing of it counts */
    bool hidden;            /* the run is not shown (17.3.2.41) */
    struct buf *hidden_in;  /* where a mark of hidden text is open; NULL: nowhere */
    bool in_check, checked; /* of a form's check box (17.16.7) */
    struct docx_styles styles;
    struct docx_paragraph paragraph[2]; /* of the paragraph, and of one in a box in it */
    int above[LIST_LEVELS]; /* levels of the previous item, and of those it is in */
    int listed;             /* how many; 0: the previous paragraph was not an item */
    size_t rows;            /* of the table */
    const char *link;       /* borrowed; NULL: none is open */
    size_t link_from;       /* where its text begins, in the current buffer */
};

/*
 * Elements, and what is done where they open: the cases of open(). The text of '-' is a
 * repetition, or is not text of the document; 'l' and 'P' are properties.
 */
static const char elements[] =
    "\1t\2T\1r\2r\1p\2p\1rPr\2l\1pPr\2P\1tc\2c\1tbl\2t\1tab\2\t\1ptab\2\t\1br\2n"
    "\1cr\2n\1hyperlink\2h\1gridSpan\2S\1gridBefore\2B\1body\2b\1Fallback\2-"
    "\1instrText\2-\1del\2-\1moveFrom\2-\1rt\2-\1noBreakHyphen\2y\1oMath\2m"
    "\1footnoteReference\2f\1endnoteReference\2e\1commentReference\2C\1sym\2s"
    "\1chart\2g\1relIds\2g\1docPr\2d\1checkBox\2k\1default\2K\1checked\2K"
    "\1altChunk\2a\1";

static struct buf *current(struct docx *d)
{
    return d->nested > 1 || d->cells ? &d->aside : &d->text;
}

/* That the text is full is seen by the adds after it. */
static void end_hidden(struct docx *d)
{
    if (d->hidden_in)
        buf_addc(d->hidden_in, ']');
    d->hidden_in = NULL;
}

/* Appends what the walk is at, with a mark if it is hidden. */
static int put_text(struct docx *d)
{
    struct buf *out = current(d);
    if (!d->hidden || d->hidden_in != out)
        end_hidden(d);
    if (d->hidden && !d->hidden_in) {
        buf_addz(out, "[hidden: ");
        d->hidden_in = out;
    }
    return xml_text(&d->x, out);
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

/* Appends the dot or number of an item or heading, where its properties end. */
static int put_item_mark(struct docx *d)
{
    const struct docx_paragraph *p = &d->paragraph[d->nested > 1];
    struct buf *out = current(d);
    size_t from = out->n;
    if (d->markdown && p->item &&
        !items_next(p->list, p->level > 0 ? p->level - 1 : 0, out) && p->heading > 0)
        buf_truncate(out, from);
    return 0;
}

/*
 * Indents an item by three columns for each item that it is in; a document may leave
 * levels out.
 */
static int indent(struct docx *d)
{
    int level = d->paragraph[0].level;
    while (d->listed > 0 && d->above[d->listed - 1] >= level)
        d->listed--;
    int columns = 3 * d->listed;
    d->above[d->listed++] = level;
    return buf_addf(d->out, "%*s", columns, "");
}

/* Appends a paragraph without a mark; nothing if it is empty. */
static int put_markdown(struct docx *d)
{
    struct str text = str_trim(buf_str(&d->text));
    int heading = d->paragraph[0].heading;
    bool item = d->paragraph[0].item && heading <= 0;
    if (text.n == 0 || (item && str_eq(text, STR("-"))))
        return 0;
    if (d->listed && !item && buf_addc(d->out, '\n') < 0)
        return -1;
    d->listed = item ? d->listed : 0;
    int rc = item          ? indent(d)
             : heading > 0 ? buf_addz(d->out, "###### " + (6 - heading))
                           : 0;
    if (rc == 0)
        rc = buf_adds(d->out, text);
    return rc < 0 ? rc : buf_addz(d->out, item ? "\n" : "\n\n");
}

static int end_paragraph(struct docx *d)
{
    end_hidden(d);
    d->nested--;
    if (d->cells || d->nested > 0)
        return buf_addc(&d->aside, d->cells ? ' ' : '\n');
    bool marked = d->x.depth == d->body;
    if (!marked && d->markdown && d->paragraph[0].heading > 0 && d->body != ASIDE)
        marked = flush_aside(d) == 0; /* a heading that something holds */
    if (!marked) {
        int rc = buf_adds(&d->aside, buf_str(&d->text));
        buf_reset(&d->text);
        return rc < 0 ? rc : buf_addc(&d->aside, '\n');
    }
    int rc = d->markdown ? put_markdown(d) : put_marked(d);
    buf_reset(&d->text);
    return rc < 0 ? rc : flush_aside(d);
}

static size_t columns(const struct xml *x)
{
    return (size_t)(xml_attr_number(x, "val", 1) % (COLUMNS_MAX + 1));
}

static int put_tabs(struct docx *d, size_t n)
{
    int rc = 0;
    for (; rc == 0 && n > 0; n--)
        rc = buf_addc(&d->aside, '\t');
    return rc;
}

static int end_cell(struct docx *d)
{
    while (d->aside.n && d->aside.p[d->aside.n - 1] == ' ')
        buf_truncate(&d->aside, d->aside.n - 1);
    return d->markdown && d->cells ? buf_addc(&d->aside, ' ')
                                   : put_tabs(d, d->cells ? 1 : d->span);
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

/* Whether an element that may have a value says yes (17.17.4). */
static bool is_on(const struct xml *x)
{
    return !xml_attr_is(x, "val", "0") && !xml_attr_is(x, "val", "off") &&
           !xml_attr_is(x, "val", "false");
}

/* 17.3.3.30: fonts of symbols have their own characters, and some of them are boxes. */
static int put_symbol(struct docx *d)
{
    static const char known[] =
        "\001111\2☐\001168\2☐\001253\2☒\001254\2☑\001252\2✓\001251\2✗\001183\2•"
        "\001224\2→\001223\2←\1";
    struct buf code = BUF_INIT(ID_MAX);
    unsigned long c = xml_attr(&d->x, "char", &code) ? strtoul(buf_z(&code), NULL, 16)
                                                     : 0;
    char z[4];
    buf_reset(&code);
    buf_addi(&code, c >= 0xf000 ? (int64_t)c - 0xf000 : (int64_t)c);
    const char *text = docread_word(known, buf_str(&code));
    buf_release(&code);
    if (*text)
        return buf_add(current(d), text, 3);
    if (c < ' ' || c > 0x10ffff || (c >= 0xd800 && c < 0xf900))
        return c ? buf_addz(current(d), "\xef\xbf\xbd") : 0;
    return buf_add(current(d), z, (size_t)utf8_encode((uint32_t)c, z));
}

/* Makes the key of a note from its kind, 'f', 'e' or 'c', and the attribute id. */
static bool note_key(const struct xml *x, char kind, struct buf *key)
{
    buf_reset(key);
    return buf_addc(key, kind) == 0 && xml_attr(x, "id", key);
}

static int put_note_mark(struct docx *d, char kind)
{
    struct buf key = BUF_INIT(ID_MAX);
    uintptr_t n = 0;
    if (note_key(&d->x, kind, &key)) {
        n = (uintptr_t)map_get(&d->notes, buf_str(&key));
        if (!n && d->notes_n < NOTES_MAX) {
            n = ++d->notes_n;
            map_put(&d->notes, buf_str(&key), (void *)n);
        }
    }
    buf_release(&key);
    if (!n)
        return 0;
    end_hidden(d);
    return buf_addf(current(d), "[^%zu]", (size_t)n);
}

static int put_chart(struct docx *d)
{
    struct buf *out = &d->aside;
    if (out->n && out->p[out->n - 1] != '\n')
        buf_addc(out, '\n');
    if (xml_is(&d->x, "relIds"))
        return docread_diagram(d->p, &d->x, buf_str(&d->rels), d->name, out);
    return docread_chart(d->p, &d->x, buf_str(&d->rels), d->name, d->markdown, out);
}

/* Appends a part in another format (17.17.2.1). */
static int put_chunk(struct docx *d)
{
    struct buf id = BUF_INIT(ID_MAX), part = BUF_INIT(PACKAGE_PART_MAX);
    struct err none = ERR_INIT;
    int rc = 0;
    if (xml_attr_prefixed(&d->x, "id", &id) &&
        package_follow(d->p, buf_str(&d->rels), d->name, buf_str(&id), "", &part)) {
        struct str s = buf_str(&part);
        long html = str_find(s, STR("<html"));
        rc = str_starts(s, STR("PK"))
                 ? buf_addz(&d->aside, "[a file in this one is not shown]")
             : str_starts(s, STR("{\\rtf")) ? docread_rtf(s, &d->aside, &none)
             : html >= 0 ? docread_html(str_sub(s, (size_t)html, s.n), d->markdown,
                                        &d->aside, &none)
                         : buf_adds(&d->aside, s);
    }
    buf_release(&id);
    buf_release(&part);
    return rc;
}

static int open(struct docx *d)
{
    const struct xml *x = &d->x;
    char is = *docread_word(elements, x->name);
    switch (is) {
    case 'b':
        d->body = x->depth;
        break;
    case '-':
    case 'l':
    case 'P':
        d->skip = (int)x->depth;
        d->in_look = is;
        break;
    case 'p':
        d->paragraph[d->nested++ > 0] = (struct docx_paragraph){0};
        break;
    case 'r':
        d->hidden = false;
        break;
    case 'T':
        d->in_text = true;
        break;
    case '\t':
        return buf_addc(current(d), d->markdown && d->cells ? ' ' : is);
    case 'n':
        return buf_addc(current(d), d->cells ? ' ' : '\n');
    case 'y':
        return buf_addc(current(d), '-');
    case 'c':
        d->span = d->cells++ ? d->span : 1;
        break;
    case 't':
        d->rows = d->cells ? d->rows : 0;
        break;
    case 'S':
        d->span = d->cells == 1 ? columns(x) : d->span;
        break;
    case 'B':
        return put_tabs(d, d->cells ? 0 : columns(x));
    case 'h':
        return d->markdown && d->nested && d->body != ASIDE ? begin_link(d) : 0;
    case 'f':
    case 'e':
    case 'C':
        return put_note_mark(d, (char)(is | 0x20));
    case 's':
        return put_symbol(d);
    case 'm':
        return math_line(&d->x, current(d));
    case 'g':
        return d->cells || d->body == ASIDE ? 0 : put_chart(d);
    case 'd':
        return docread_stand_in(x, current(d));
    case 'a':
        return d->cells ? 0 : put_chunk(d);
    case 'k':
        d->in_check = true;
        break;
    case 'K':
        d->checked = d->in_check ? is_on(x) : d->checked;
        break;
    default:
        break;
    }
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
    } else if (xml_is(x, "checkBox") && d->in_check) {
        bool checked = d->checked;
        d->in_check = d->checked = false;
        return buf_addz(current(d), checked ? "☒" : "☐");
    } else if (x->depth == d->body) { /* a table, or what holds several things */
        return flush_aside(d);
    }
    return 0;
}

/* Takes one piece of the part. */
static int step(struct docx *d, enum xml_kind k)
{
    if (d->skip) {
        if (k == XML_CLOSE && d->x.depth < (size_t)d->skip) {
            d->skip = 0;
            return d->in_look == 'P' ? put_item_mark(d) : 0;
        }
        if (k == XML_OPEN && d->in_look == 'P')
            docx_styles_take(&d->styles, &d->x, &d->paragraph[d->nested > 1]);
        else if (k == XML_OPEN && xml_is(&d->x, "rPrChange"))
            d->in_look = 0;
        else if (k == XML_OPEN && d->in_look == 'l' && xml_is(&d->x, "vanish"))
            d->hidden = is_on(&d->x);
        return 0;
    }
    if (k == XML_TEXT)
        return d->in_text && d->nested ? put_text(d) : 0;
    return k == XML_OPEN ? open(d) : close_element(d);
}

static int walk(struct docx *d, struct err *e)
{
    int rc = 0;
    enum xml_kind k;
    while (rc == 0 && (k = xml_next(&d->x)) != XML_END) {
        if (k == XML_BAD)
            return err_set(e, ERR_INVALID, "it is damaged: its text is cut off");
        rc = step(d, k);
    }
    return rc < 0 ? docread_too_long(d->out, e) : 0;
}

/* ---- notes, headers and footers ---- */

/* Appends what was read aside after the words of its kind, unless that was said before.
 */
static int put_note(struct docx *d, struct str words, bool once, size_t from)
{
    struct str text = str_trim(buf_str(&d->aside));
    struct buf all = BUF_INIT(DOCREAD_TEXT_MAX);
    buf_adds(&all, words);
    buf_adds(&all, text);
    int rc = buf_addz(&all, "\n\n");
    if (rc == 0 && text.n &&
        (!once || str_find(str_sub(buf_str(d->out), from, d->out->n), buf_str(&all)) < 0))
        rc = buf_adds(d->out, buf_str(&all));
    buf_reset(&d->aside);
    buf_release(&all);
    return rc;
}

/* Sets the words before a note: its number, and who wrote a comment. Empty: not shown. */
static void note_words(struct docx *d, char kind, struct buf *words)
{
    struct buf key = BUF_INIT(ID_MAX), author = BUF_INIT(1024);
    buf_reset(words);
    buf_reset(&d->aside);
    void *n = note_key(&d->x, kind, &key) ? map_get(&d->notes, buf_str(&key)) : NULL;
    if (n)
        buf_addf(words, "[^%zu]: ", (size_t)(uintptr_t)n);
    if (n && kind == 'c' && xml_attr(&d->x, "author", &author))
        buf_addf(words, "Comment by %s: ", buf_z(&author));
    else if (n && kind == 'c')
        buf_addz(words, "Comment: ");
    buf_release(&key);
    buf_release(&author);
}

/*
 * Walks a part with text of its own. kind is that of its notes; 0: the part is a header
 * or footer, which begins with `words`. What is damaged there ends it.
 */
static int read_aside(struct docx *d, struct str part, char kind, const char *words,
                      size_t from)
{
    const char *note = kind == 'f' ? "footnote" : kind == 'e' ? "endnote" : "comment";
    struct buf before = BUF_INIT(2048);
    enum xml_kind k;
    int rc = 0;
    d->x = (struct xml)XML_INIT(part);
    d->nested = d->cells = d->skip = 0;
    d->in_text = d->in_check = false;
    d->hidden_in = NULL;
    d->link = NULL;
    d->body = ASIDE;
    buf_reset(&d->aside);
    buf_reset(&d->text);
    while (rc == 0 && (k = xml_next(&d->x)) != XML_END && k != XML_BAD) {
        if (kind && k == XML_OPEN && xml_is(&d->x, note))
            note_words(d, kind, &before);
        else if (kind && k == XML_CLOSE && xml_is(&d->x, note))
            rc = before.n ? put_note(d, buf_str(&before), false, from) : 0;
        else
            rc = step(d, k);
    }
    if (rc == 0 && !kind)
        rc = put_note(d, str_of(words), true, from);
    buf_release(&before);
    return rc;
}

/* Appends the notes of a kind, if the text refers to any. */
static int read_notes(struct docx *d, char kind, const char *type, struct buf *part,
                      size_t from)
{
    return d->notes_n &&
                   package_follow(d->p, buf_str(&d->rels), d->name, STR(""), type, part)
               ? read_aside(d, buf_str(part), kind, "", from)
               : 0;
}

/* Appends headers and footers, each text once. */
static int read_headers(struct docx *d, struct buf *part, size_t from)
{
    struct xml x = XML_INIT(buf_str(&d->rels));
    struct buf type = BUF_INIT(4096), id = BUF_INIT(4096);
    int rc = 0, n = 0;
    while (rc == 0 && n < HEADERS_MAX && xml_open(&x)) {
        buf_reset(&type);
        buf_reset(&id);
        if (!xml_attr(&x, "Type", &type) || !xml_attr(&x, "Id", &id))
            continue;
        bool header = str_ends(buf_str(&type), STR("/header"));
        if (!header && !str_ends(buf_str(&type), STR("/footer")))
            continue;
        n++;
        if (package_follow(d->p, buf_str(&d->rels), d->name, buf_str(&id), "", part))
            rc = read_aside(d, buf_str(part), 0, header ? "[Header] " : "[Footer] ",
                            from);
    }
    buf_release(&type);
    buf_release(&id);
    return rc;
}

static int read_asides(struct docx *d, struct buf *part)
{
    size_t from = d->out->n;
    if (d->listed)
        buf_addc(d->out, '\n');
    d->listed = 0;
    int rc = read_notes(d, 'f', "/footnotes", part, from);
    rc |= read_notes(d, 'e', "/endnotes", part, from);
    rc |= read_notes(d, 'c', "/comments", part, from);
    rc |= read_headers(d, part, from);
    if (d->out->n == from + 1)
        buf_truncate(d->out, from); /* nothing followed the list */
    return rc;
}

int docread_docx(int fd, bool markdown, struct buf *out, struct err *e)
{
    struct package p = PACKAGE_INIT(fd);
    struct buf part = BUF_INIT(PACKAGE_PART_MAX), name = BUF_INIT(4096);
    struct docx d = {.out = out, .markdown = markdown, .p = &p};
    buf_init(&d.text, DOCREAD_TEXT_MAX);
    buf_init(&d.aside, DOCREAD_TEXT_MAX);
    buf_init(&d.rels, PACKAGE_PART_MAX);
    map_init(&d.notes);
    docx_styles_init(&d.styles);
    int rc = package_main(&p, "word/document.xml", &name, &part, &d.rels, e);
    d.name = buf_str(&name);
    if (rc == 0 && markdown)
        docx_styles_read(&d.styles, &p, d.name, buf_str(&d.rels));
    if (rc == 0) {
        d.x = (struct xml)XML_INIT(buf_str(&part));
        rc = walk(&d, e);
    }
    if (rc == 0 && !d.body)
        rc = err_set(e, ERR_INVALID, "it has no body of a Word document");
    if (rc == 0 &&
        (flush_aside(&d) < 0 || read_asides(&d, &part) < 0 || buf_addc(out, '\n') < 0))
        rc = docread_too_long(out, e);
    buf_release(&part);
    buf_release(&name);
    buf_release(&d.text);
    buf_release(&d.aside);
    buf_release(&d.rels);
    map_release(&d.notes);
    docx_styles_release(&d.styles);
    return rc;
}
