/* SPDX-License-Identifier: MIT */
/*
 * OpenDocument: texts, spreadsheets and presentations (OASIS ODF 1.3, part 3), as
 * Markdown. Elements are walked by recursion up to a depth; deeper ones are left out. The
 * text goes to a buffer that the context names: the document's, that of the notes, which
 * follow the text, or that of the boxes of a paragraph, which follow it. Headers and
 * footers are in a part of their own, as are formulas and charts. Adds are not checked
 * one by one: buffers keep that they were full.
 */
#include "document/math.h"
#include "document/items.h"
#include "document/package.h"
#include "document/xml.h"

#include "base/map.h"

#include <ctype.h>

enum {
    DEPTH_MAX = 100,
    COLUMNS_MAX = 16384,
    ROWS_MAX = 1 << 20,
    BLANKS_MAX = 256,
    MEMORY = 16 << 20,
    KEY_MAX = 4096
};

enum { HIDDEN = 1 }; /* a bit of a style */

/* Where the walk is. */
struct odf_place {
    struct buf *out;
    int para, level, cells; /* paragraphs, lists and table cells that are open */
    struct items *list;     /* borrowed: of the list; NULL: dots */
    size_t first;           /* the number of the item; 0: the next one */
    bool pending;           /* the item's mark was not put yet */
    bool comment;           /* of which only the author was read */
    bool title, notes;      /* in a frame of titles; in a page of notes */
    size_t rows, empty;     /* of the table; cells of the row that were left out */
};

struct odf {
    struct xml x;
    struct package *p;
    struct arena memory;
    struct map styles; /* by family and name: "text/T1": bits; "list/L1": a numbering */
    struct items *outline; /* of headings; NULL: they have no numbers */
    struct map controls; /* text of form fields, by their ids */
    struct buf row, aside, notes, ends;
    struct odf_place at;
    size_t notes_n, slides, sheets;
    bool object;  /* in a part of its own */
    bool sheeted; /* a spreadsheet: tables have names */
};

/* Elements, and what is done with them: the cases of element(). */
static const char elements[] =
    "\1p\2p\1h\2h\1list\2l\1list-item\2i\1list-header\2i\1table\2t\1table-row\2r"
    "\1table-cell\2c\1covered-table-cell\2c\1note\2n\1annotation\2A\1creator\2u\1date\2d"
    "\1a\2a\1span\2s\1s\2S\1tab\2T\1line-break\2B\1math\2m\1object\2o\1frame\2f"
    "\1text-box\2x\1custom-shape\2x\1page\2g\1notes\2N\1control\2C\1checkbox\2K\1radio\2K"
    "\1text\2K\1textarea\2K\1formatted-text\2K\1combobox\2K\1style\2Y\1list-style\2L"
    "\1outline-style\2L"
    "\1hidden-text\2H\1section\2X\1header\2E\1header-left\2E\1header-first\2E\1footer\2F"
    "\1footer-left\2F\1footer-first\2F\1chart\2j\1title\2J\1axis\2-\1tracked-changes\2-"
    "\1ruby-text\2-\1note-citation\2-\1image\2-\1desc\2V\1object-ole\2-\1event-"
    "listeners\2-"
    "\1spreadsheet\2D\1content-validations\2-\1";

static void walk(struct odf *o, int depth);

/* ---- pieces ---- */

/* Moves on. Returns false after the end of the element that had the depth `inside`. */
static bool next(struct odf *o, size_t inside, enum xml_kind *k)
{
    *k = xml_next(&o->x);
    return *k != XML_END && *k != XML_BAD && o->x.depth >= inside;
}

static void skip(struct odf *o)
{
    size_t inside = o->x.depth;
    enum xml_kind k;
    while (next(o, inside, &k))
        continue;
}

static size_t number_of(const struct xml *x, const char *name, size_t dflt, size_t max)
{
    uint64_t n = xml_attr_number(x, name, dflt);
    return n > max ? max : (size_t)n;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Drops white space at the end. Returns false if nothing is left after `from`. */
static bool trim(struct buf *out, size_t from)
{
    while (out->n > from && is_blank(out->p[out->n - 1]))
        buf_truncate(out, out->n - 1);
    return out->n > from;
}

/* Makes what was added after `from` one line. */
static void flatten(struct buf *out, size_t from)
{
    for (size_t i = from; i < out->n; i++)
        out->p[i] = is_blank(out->p[i]) ? ' ' : out->p[i];
}

/* Ends what began at `from` by `end`; drops it if nothing came after `inner`. */
static void end_unless_empty(struct buf *out, size_t from, size_t inner, const char *end)
{
    if (trim(out, inner))
        buf_addz(out, end);
    else
        buf_truncate(out, from);
}

/* Begins a text that is not in the paragraph. The caller puts o->at back. */
static void aside(struct odf *o, struct buf *out)
{
    o->at = (struct odf_place){.out = out};
}

/* ---- styles (16) and form fields (13) ---- */

static uintptr_t style_of(struct odf *o, const char *family)
{
    struct buf key = BUF_INIT(KEY_MAX);
    uintptr_t style = 0;
    buf_addz(&key, family);
    if (xml_attr(&o->x, "style-name", &key))
        style = (uintptr_t)map_get(&o->styles, buf_str(&key));
    buf_release(&key);
    return style;
}

/* Reads a style up to its end. */
static void take_style(struct odf *o)
{
    struct xml *x = &o->x;
    struct buf key = BUF_INIT(KEY_MAX);
    size_t inside = x->depth;
    uintptr_t style = 0;
    enum xml_kind k;
    xml_attr(x, "family", &key);
    buf_addc(&key, '/');
    xml_attr(x, "name", &key);
    while (next(o, inside, &k)) {
        if (k == XML_OPEN &&
            (xml_attr_is(x, "display", "none") || xml_attr_is(x, "display", "false") ||
             xml_attr_is(x, "visibility", "hidden")))
            style |= HIDDEN;
    }
    if (style)
        map_put(&o->styles, buf_str(&key), (void *)style);
    buf_release(&key);
}

/* Reads a level of a list's style, or of headings (16.34, 19.880). */
static void take_level(struct odf *o, struct items_level *v, size_t level)
{
    struct xml *x = &o->x;
    struct buf text = BUF_INIT(KEY_MAX);
    bool dotted = !xml_is(x, "list-level-style-number") &&
                  !xml_is(x, "outline-level-style");
    xml_attr(x, "num-format", &text);
    v->format = dotted ? '-' : !text.n ? '_' : strchr("aAiI", *text.p) ? *text.p : '1';
    v->start = (int)number_of(x, "start-value", 1, ROWS_MAX);
    buf_reset(&text);
    if (level < ITEMS_LEVELS && xml_attr(x, "num-list-format", &text)) {
        size_t to = 1; /* LibreOffice's: %1%-%2% */
        for (size_t i = 1; i < text.n; i++) {
            if (text.p[i] != '%' || !isdigit((unsigned char)text.p[i - 1]))
                text.p[to++] = text.p[i];
        }
        buf_truncate(&text, to < text.n ? to : text.n);
    } else {
        xml_attr(x, "num-prefix", &text);
        for (size_t n = number_of(x, "display-levels", 1, level);
             n > 0 && v->format != '_'; n--)
            buf_addf(&text, n > 1 ? "%%%c." : "%%%c", (char)('1' + level - n));
        xml_attr(x, "num-suffix", &text);
    }
    v->text = arena_copy(&o->memory, str_n(buf_z(&text), text.n + 1));
    buf_release(&text);
}

/* Reads the levels of a list's style up to its end. */
static void take_list(struct odf *o, bool outline)
{
    struct items *l = arena_get(&o->memory, sizeof(*l));
    struct buf key = BUF_INIT(KEY_MAX);
    size_t inside = o->x.depth, level;
    enum xml_kind k;
    buf_addz(&key, "list/");
    xml_attr(&o->x, "name", &key);
    while (next(o, inside, &k)) {
        level = number_of(&o->x, "level", 0, ITEMS_LEVELS);
        if (l && level && k == XML_OPEN)
            take_level(o, &l->levels[level - 1], level);
    }
    if (outline)
        o->outline = l;
    else
        map_put(&o->styles, buf_str(&key), l);
    buf_release(&key);
}

static void take_control(struct odf *o)
{
    const struct xml *x = &o->x;
    struct buf id = BUF_INIT(KEY_MAX), text = BUF_INIT(KEY_MAX);
    bool box = xml_is(x, "checkbox") || xml_is(x, "radio");
    char *copy;
    if (box)
        buf_addz(&text, xml_attr_is(x, "current-state", "checked") ||
                                xml_attr_is(x, "current-selected", "true")
                            ? "☒ "
                            : "☐ ");
    if (box || (!xml_attr(x, "current-value", &text) && !xml_attr(x, "value", &text)))
        xml_attr(x, "label", &text);
    if (xml_attr(x, "id", &id) &&
        (copy = arena_copy(&o->memory, str_n(buf_z(&text), text.n + 1))) != NULL)
        map_put(&o->controls, buf_str(&id), copy);
    buf_release(&id);
    buf_release(&text);
}

static void put_control(struct odf *o)
{
    struct buf id = BUF_INIT(KEY_MAX);
    if (xml_attr(&o->x, "control", &id))
        buf_addz(o->at.out, map_get(&o->controls, buf_str(&id)));
    buf_release(&id);
}

/* ---- paragraphs, lists and notes (5, 6) ---- */

/* Appends a text with its white space as single blanks (6.1.2). */
static void put_text(struct odf *o)
{
    struct buf *out = o->at.out;
    size_t to = out->n;
    xml_text(&o->x, out);
    for (size_t i = to; i < out->n; i++) {
        bool blank = is_blank(out->p[i]);
        if (!blank || (to && !is_blank(out->p[to - 1])))
            out->p[to++] = blank ? ' ' : out->p[i];
    }
    buf_truncate(out, to);
}

static void hidden(struct odf *o, int depth)
{
    struct buf *out = o->at.out;
    size_t from = out->n;
    buf_addz(out, "[hidden: ");
    size_t inner = out->n;
    xml_attr(&o->x, "string-value", out);
    walk(o, depth);
    end_unless_empty(out, from, inner, o->at.para ? "]" : "]\n\n");
}

/* Appends what stood in boxes of the paragraph, or was drawn there. */
static void put_aside(struct odf *o)
{
    struct str s = str_trim(buf_str(&o->aside));
    if (s.n && o->at.out != &o->aside && !o->at.cells && !o->at.level && !o->at.para) {
        buf_adds(o->at.out, s);
        buf_addz(o->at.out, "\n\n");
        buf_truncate(&o->aside, 0);
    }
}

/* Begins a paragraph with the number of its item or heading, or a dot. */
static bool put_number(struct odf *o, size_t heading)
{
    struct odf_place *at = &o->at;
    struct items *l = at->pending ? at->list : o->outline;
    size_t level = at->pending ? (size_t)at->level : heading, from = at->out->n;
    if (!level || (!at->pending && !l) || xml_attr_is(&o->x, "is-list-header", "true"))
        return false;
    level = level < ITEMS_LEVELS ? level : ITEMS_LEVELS;
    if (l && at->pending && at->first)
        l->numbers[level - 1] = (int)at->first;
    bool numbered = items_next(l, (int)level - 1, at->out);
    if (!numbered && heading)
        buf_truncate(at->out, from);
    return numbered;
}

/* Appends a paragraph; heading: its level as one, from 1; 0: it is none. */
static void paragraph(struct odf *o, int depth, size_t heading)
{
    struct odf_place *at = &o->at;
    struct buf *out = at->out;
    size_t from = out->n;
    int indent = at->level > 0 && !heading ? 3 * (at->level - at->pending) : 0;
    if (at->comment)
        buf_addz(out, ": ");
    at->comment = false;
    buf_addf(out, "%*s", indent, "");
    if (at->title || heading)
        buf_addz(out, at->title ? "# " : &"###### "[heading < 6 ? 6 - heading : 0]);
    size_t inner = out->n;
    if (!put_number(o, heading))
        inner = out->n;
    at->para++;
    if (style_of(o, "paragraph/") & HIDDEN)
        hidden(o, depth);
    else
        walk(o, depth);
    at->para--;
    at->pending = at->pending && out->n == inner;
    end_unless_empty(out, from, inner,
                     (at->level && !heading) || at->para || at->cells ? "\n" : "\n\n");
    put_aside(o);
}

/* Appends the text that stands in for a picture (10.3.18). */
static void stand_in(struct odf *o, int depth)
{
    struct buf *out = o->at.out;
    size_t from = out->n;
    buf_addz(out, "[Image: ");
    size_t inner = out->n;
    o->at.para++;
    walk(o, depth);
    o->at.para--;
    end_unless_empty(out, from, inner, o->at.para ? "]" : "]\n\n");
}

static void list(struct odf *o, int depth)
{
    struct odf_place before = o->at;
    struct items *l = (struct items *)style_of(o, "list/");
    struct buf other = BUF_INIT(KEY_MAX);
    size_t from = o->at.out->n;
    if (l && l != before.list && !xml_attr(&o->x, "continue-list", &other) &&
        !xml_attr_is(&o->x, "continue-numbering", "true"))
        memset(l->numbers, 0, sizeof(l->numbers));
    buf_release(&other);
    o->at.list = l ? l : before.list;
    o->at.level++;
    o->at.pending = false;
    walk(o, depth);
    o->at = before;
    if (!before.level)
        end_unless_empty(o->at.out, from, from, "\n\n");
    put_aside(o);
}

static void item(struct odf *o, int depth)
{
    struct odf_place *at = &o->at;
    at->first = number_of(&o->x, "start-value", 0, ROWS_MAX);
    at->pending = xml_is(&o->x, "list-item");
    walk(o, depth);
    at->pending = false;
}

/* Marks a note or comment (6.3, 14.1), and puts its text to the others. */
static void note(struct odf *o, int depth, bool comment)
{
    struct odf_place before = o->at;
    buf_addf(before.out, "[^%zu]", ++o->notes_n);
    aside(o, &o->notes);
    buf_addf(&o->notes, comment ? "[^%zu]: Comment" : "[^%zu]: ", o->notes_n);
    o->at.comment = comment;
    walk(o, depth);
    trim(&o->notes, 0);
    buf_addz(&o->notes, "\n\n");
    o->at = before;
}

static void link(struct odf *o, int depth)
{
    struct buf to = BUF_INIT(KEY_MAX), *out = o->at.out;
    bool leads = xml_attr(&o->x, "href", &to) && to.n && *to.p != '#' && o->at.para;
    size_t from = out->n;
    buf_addz(out, leads ? "[" : "");
    size_t inner = out->n;
    walk(o, depth);
    if (leads && out->n == inner)
        buf_truncate(out, from);
    else if (leads)
        buf_addf(out, strpbrk(to.p, " ()") ? "](<%s>)" : "](%s)", to.p);
    buf_release(&to);
}

/* ---- tables (9) ---- */

/*
 * Appends the value of a cell that has no text (19.385), else its formula (19.642):
 * of:=[.A1]+[.B1] as =A1+B1.
 */
static void put_value(const struct xml *x, struct buf *out)
{
    static const char names[] =
        "value\0string-value\0date-value\0time-value\0boolean-value\0";
    size_t from = out->n, to = from;
    for (const char *name = names; *name; name += strlen(name) + 1) {
        if (xml_attr(x, name, out))
            return;
    }
    if (!xml_attr(x, "formula", out))
        return;
    long prefix = str_find(str_sub(buf_str(out), from, 8), STR(":="));
    for (size_t i = from + (prefix < 0 ? 0 : (size_t)prefix + 1); i < out->n; i++) {
        char c = out->p[i], after = i > from ? out->p[i - 1] : 0;
        if (c == '[' || c == ']' || (c == '.' && (after == '[' || after == ':')))
            continue;
        out->p[to++] = c;
    }
    /* The loop reads what it has passed only as the character before. */
    buf_truncate(out, to);
}

/* Appends a cell, as often as it is repeated. */
static void cell(struct odf *o, int depth)
{
    struct odf_place before = o->at;
    struct xml x = o->x;
    struct buf *out = before.out;
    size_t n = number_of(&x, "number-columns-repeated", 1, COLUMNS_MAX), from = out->n;
    for (size_t i = 0; i < before.empty; i++)
        buf_addc(out, before.cells ? ' ' : '\t');
    size_t inner = out->n;
    o->at.level = o->at.para = 0;
    o->at.cells++;
    walk(o, depth);
    o->at = before;
    if (!trim(out, inner))
        put_value(&x, out);
    flatten(out, inner);
    size_t length = out->n - inner;
    if (length == 0) {
        buf_truncate(out, from);
        o->at.empty = n + before.empty < COLUMNS_MAX ? n + before.empty : COLUMNS_MAX;
        return;
    }
    o->at.empty = 1;
    for (; n > 1; n--) {
        char *p = buf_reserve(out, length + 1);
        if (!p)
            return;
        *p = '\t';
        memcpy(p + 1, out->p + inner, length);
        buf_commit(out, length + 1);
    }
}

static void table_row(struct odf *o, int depth)
{
    struct odf_place *at = &o->at;
    struct buf *out = at->out;
    size_t n = number_of(&o->x, "number-rows-repeated", 1, ROWS_MAX);
    at->empty = 0;
    if (at->cells || out == &o->row) { /* of a table in a cell, or damaged */
        walk(o, depth);
        buf_addc(out, ' ');
        return;
    }
    buf_reset(&o->row);
    at->out = &o->row;
    walk(o, depth);
    at->out = out;
    for (; o->row.n && n > 0 && docread_row(out, buf_str(&o->row), at->rows == 0) == 0;
         n--)
        at->rows++;
    if (buf_full(&o->row))
        buf_reserve(out, out->max + 1); /* fails, so that this is an error */
}

static void table(struct odf *o, int depth)
{
    struct odf_place before = o->at;
    struct buf *out = before.out;
    bool named = o->sheeted && !o->object && !before.cells;
    if (named) {
        buf_addz(out, o->sheets++ ? "\n## " : "## ");
        size_t from = out->n;
        xml_attr(&o->x, "name", out);
        flatten(out, from);
        buf_addz(out, style_of(o, "table/") & HIDDEN ? " (hidden)\n\n" : "\n\n");
    }
    o->at.rows = 0;
    walk(o, depth);
    if (o->at.rows && !named)
        buf_addc(out, '\n');
    o->at = before;
    put_aside(o);
}

/* ---- objects: formulas and charts (10.4.6) ---- */

static void object(struct odf *o, int depth)
{
    struct buf part = BUF_INIT(PACKAGE_PART_MAX), name = BUF_INIT(KEY_MAX);
    struct err none = ERR_INIT;
    struct xml x = o->x;
    bool part_of_its_own = !o->object && xml_attr(&x, "href", &name);
    while (name.n && name.p[name.n - 1] == '/')
        buf_truncate(&name, name.n - 1);
    buf_addz(&name, "/content.xml");
    if (part_of_its_own &&
        package_read(o->p,
                     str_sub(buf_str(&name), strncmp(name.p, "./", 2) ? 0 : 2, name.n),
                     &part, &none) == 0) {
        o->object = true;
        o->x = (struct xml)XML_INIT(buf_str(&part));
        walk(o, depth);
        o->object = false;
        o->x = x;
    }
    buf_release(&part);
    buf_release(&name);
    walk(o, depth); /* a formula may be in place */
}

/* ---- pages (10.2.4) ---- */

static void slide(struct odf *o, int depth)
{
    struct buf *out = o->at.out;
    buf_addf(out, "%s<!-- Slide number: %zu -->\n", o->slides ? "\n" : "", o->slides + 1);
    o->slides++;
    if (style_of(o, "drawing-page/") & HIDDEN)
        buf_addz(out, "[hidden slide]\n");
    walk(o, depth);
    trim(out, 0);
    buf_addc(out, '\n');
}

static void speaker_notes(struct odf *o, int depth)
{
    struct odf_place before = o->at;
    size_t from = before.out->n;
    buf_addz(before.out, "### Notes\n\n");
    size_t inner = before.out->n;
    o->at.notes = true;
    walk(o, depth);
    o->at = before;
    end_unless_empty(before.out, from, inner, "\n");
}

static void frame(struct odf *o, int depth)
{
    struct odf_place before = o->at;
    o->at.title = xml_attr_is(&o->x, "class", "title");
    if (before.notes && !xml_attr_is(&o->x, "class", "notes"))
        skip(o); /* a number or date */
    else
        walk(o, depth);
    o->at.title = before.title;
    put_aside(o);
}

/* A header or footer (16.10, 16.11), each text once. */
static void page_end(struct odf *o, int depth, const char *name)
{
    struct odf_place before = o->at;
    struct buf *out = &o->ends;
    size_t from = out->n;
    buf_addz(out, name);
    size_t inner = out->n;
    aside(o, out);
    walk(o, depth);
    end_unless_empty(out, from, inner, "\n\n");
    if (str_find(str_sub(buf_str(out), 0, from), str_sub(buf_str(out), from, out->n)) >=
        0)
        buf_truncate(out, from);
    o->at = before;
}

/* Takes the element that was just opened, up to its end. */
static void element(struct odf *o, int depth)
{
    const struct xml *x = &o->x;
    struct odf_place before = o->at;
    struct buf *out = before.out;
    size_t level;
    switch (depth > DEPTH_MAX ? '-' : *docread_word(elements, x->name)) {
    case 'p':
        paragraph(o, depth, 0);
        return;
    case 'h':
        level = number_of(x, "outline-level", 1, ITEMS_LEVELS);
        paragraph(o, depth, level ? level : 1);
        return;
    case 'l':
        list(o, depth);
        return;
    case 'i':
        item(o, depth);
        return;
    case 't':
        table(o, depth);
        return;
    case 'r':
        table_row(o, depth);
        return;
    case 'c':
        cell(o, depth);
        return;
    case 'n':
        note(o, depth, false);
        return;
    case 'A':
        note(o, depth, true);
        return;
    case 'a':
        link(o, depth);
        return;
    case 'm':
        math_line(&o->x, out);
        return;
    case 'o':
        object(o, depth);
        return;
    case 'g':
        slide(o, depth);
        return;
    case 'N':
        speaker_notes(o, depth);
        return;
    case 'f':
        frame(o, depth);
        return;
    case 'E':
        page_end(o, depth, "[Header] ");
        return;
    case 'F':
        page_end(o, depth, "[Footer] ");
        return;
    case 'Y':
        take_style(o);
        return;
    case 'L':
        take_list(o, xml_is(x, "outline-style"));
        return;
    case 'H':
        hidden(o, depth);
        return;
    case 'V':
        stand_in(o, depth);
        return;
    case '-':
        skip(o);
        return;
    case 's':
        if (style_of(o, "text/") & HIDDEN) {
            hidden(o, depth);
            return;
        }
        break;
    case 'X':
        if (xml_attr_is(x, "display", "none")) {
            hidden(o, depth);
            return;
        }
        break;
    case 'd':
        if (before.comment) {
            skip(o);
            return;
        }
        break;
    case 'u':
        o->at.para += before.comment;
        buf_addz(out, before.comment ? " by " : "");
        break;
    case 'x':
    case 'j':
        if (before.para || o->object)
            aside(o, &o->aside);
        break;
    case 'J':
        if (!o->object) {
            skip(o);
            return;
        }
        buf_addz(out, "Chart: ");
        break;
    case 'S':
        buf_addf(out, "%*s", (int)number_of(x, "c", 1, BLANKS_MAX), "");
        break;
    case 'T':
        buf_addc(out, '\t');
        break;
    case 'B':
        buf_addc(out, '\n');
        break;
    case 'C':
        put_control(o);
        break;
    case 'K':
        take_control(o);
        break;
    case 'D':
        o->sheeted = true;
        break;
    default:
        break;
    }
    bool pending = o->at.pending, comment = o->at.comment;
    walk(o, depth);
    if (o->at.out == out) {
        pending = o->at.pending;
        comment = o->at.comment;
    }
    before.empty = o->at.empty;
    before.rows = o->at.rows;
    before.pending = pending;
    before.comment = comment;
    o->at = before;
}

/* Takes what is in the element that was just opened, up to its end. */
static void walk(struct odf *o, int depth)
{
    size_t inside = o->x.depth;
    enum xml_kind k;
    while (next(o, inside, &k)) {
        if (k == XML_TEXT && o->at.para)
            put_text(o);
        else if (k == XML_OPEN)
            element(o, depth + 1);
    }
}

static int read_all(struct odf *o, struct buf *out, struct err *e)
{
    struct buf part = BUF_INIT(PACKAGE_PART_MAX);
    struct err none = ERR_INIT;
    if (package_read(o->p, STR("META-INF/manifest.xml"), &part, &none) == 0 &&
        str_find(buf_str(&part), STR("encryption-data")) >= 0) {
        buf_release(&part);
        return err_set(e, ERR_UNSUPPORTED,
                       "it is encrypted: save it again without a password");
    }
    if (package_read(o->p, STR("styles.xml"), &part, &none) == 0) {
        o->x = (struct xml)XML_INIT(buf_str(&part));
        aside(o, &o->aside);
        walk(o, 0);
        buf_reset(&o->aside);
    }
    o->slides = o->notes_n = 0;
    buf_reset(&o->notes);
    int rc = package_read(o->p, STR("content.xml"), &part, e);
    if (rc == 0) {
        o->x = (struct xml)XML_INIT(buf_str(&part));
        aside(o, out);
        walk(o, 0);
        if (xml_next(&o->x) != XML_END)
            rc = err_set(e, ERR_INVALID, "it is damaged: its text is cut off");
        put_aside(o);
        buf_adds(out, buf_str(&o->notes));
        buf_adds(out, buf_str(&o->ends));
        if (buf_full(out) || buf_full(&o->aside) || buf_full(&o->notes) ||
            buf_full(&o->ends))
            rc = docread_too_long(out, e);
    }
    buf_release(&part);
    return rc;
}

int docread_odf(int fd, struct buf *out, struct err *e)
{
    struct package p = PACKAGE_INIT(fd);
    struct odf o = {.p = &p};
    struct buf *all[] = {&o.row, &o.aside, &o.notes, &o.ends};
    arena_init(&o.memory, MEMORY);
    map_init(&o.styles);
    map_init(&o.controls);
    for (size_t i = 0; i < 4; i++)
        buf_init(all[i], DOCREAD_TEXT_MAX);
    int rc = read_all(&o, out, e);
    for (size_t i = 0; i < 4; i++)
        buf_release(all[i]);
    map_release(&o.styles);
    map_release(&o.controls);
    arena_release(&o.memory);
    return rc;
}
