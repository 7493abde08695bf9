/* SPDX-License-Identifier: MIT */
/*
 * Excel: the sheets in the order of the workbook (ECMA-376, part 1, 18.2.20), each a
 * heading and a table whose first row is its head. Cells have the values that the file
 * stores, formulas are not computed; numbers that are shown as dates become dates. A
 * formula without a stored value is shown itself: =A1+B1. Links, headers, footers and
 * comments follow their sheet.
 */
#include "document/package.h"
#include "document/xml.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    SHEETS_MAX = 10000,
    COLUMNS_MAX = 16384, /* of Excel */
    FORMATS_MAX = 65536, /* of Excel: most cell formats */
    CELL_MAX = 1 << 20,  /* Excel: 32,767 characters */
    ROWS_MAX = 1 << 20,  /* of Excel */
    SHARED_MAX = 256     /* formulas of a sheet that several cells share */
};

/* A formula that other cells refer to (18.3.1.40). */
struct xlsx_shared {
    char *text; /* owned; NULL: unknown */
    size_t column, row;
};

struct book {
    struct package p;
    struct buf *out;
    struct buf name, main, rels; /* the workbook's name, text and relationships */
    struct buf part, id, target;
    struct buf strings; /* all shared ones, each with a zero at its end */
    struct buf begins;  /* where: size_t */
    struct buf shown;   /* of each cell format: an enum xlsx_shown */
    struct buf formula; /* of the cell */
    struct xlsx_shared shared[SHARED_MAX]; /* of the sheet */
    bool from_1904;                        /* what day 0 is */
};

static int damaged(struct err *e, const char *what)
{
    return err_set(e, ERR_INVALID, "it is damaged: %s", what);
}

/* Reads the part of that type into b->part. Returns 1 if there is none. */
static int read_related(struct book *b, const char *type, struct err *e)
{
    if (!package_target(buf_str(&b->rels), buf_str(&b->name), STR(""), type, &b->target))
        return 1;
    int rc = package_read(&b->p, buf_str(&b->target), &b->part, e);
    if (rc == 0 || e->code != ERR_NOTFOUND)
        return rc;
    *e = (struct err)ERR_INIT; /* some programs refer to a part that they do not write */
    return 1;
}

/* ---- shared strings (18.4) ---- */

static int read_strings(struct book *b, struct err *e)
{
    int rc = read_related(b, "/sharedStrings", e);
    if (rc)
        return rc < 0 ? -1 : 0;
    struct xml x = XML_INIT(buf_str(&b->part));
    enum xml_kind k;
    bool text = false, skip = false;
    while (rc == 0 && (k = xml_next(&x)) != XML_END) {
        if (k == XML_BAD)
            return damaged(e, "its texts are cut off");
        if (k == XML_TEXT)
            rc = text ? xml_text(&x, &b->strings) : 0;
        else if (xml_is(&x, "rPh")) /* how it is pronounced */
            skip = k == XML_OPEN;
        else if (k == XML_OPEN && xml_is(&x, "si"))
            rc = buf_add(&b->begins, &b->strings.n, sizeof(b->strings.n));
        else if (k == XML_CLOSE && xml_is(&x, "si"))
            rc = buf_addc(&b->strings, 0);
        else
            text = k == XML_OPEN && xml_is(&x, "t") && !skip;
    }
    return rc < 0 ? docread_too_long(&b->strings, e) : 0;
}

static struct str shared_string(const struct book *b, uint64_t i)
{
    size_t at;
    if (i >= b->begins.n / sizeof(at))
        return STR("");
    memcpy(&at, b->begins.p + i * sizeof(at), sizeof(at));
    return str_of(b->strings.p + at);
}

/* ---- formats of numbers (18.8) ---- */

enum xlsx_shown { AS_NUMBER, AS_DATE, AS_DURATION };

/* Finds a year, month, day or hour in a format code, without quotes and colours. */
static enum xlsx_shown shown_by_code(struct str code)
{
    enum xlsx_shown as = AS_NUMBER;
    for (size_t i = 0; i < code.n; i++) {
        char c = code.p[i];
        if (c == '[' && i + 1 < code.n && strchr("hHmMsS", code.p[i + 1]) &&
            i + 2 < code.n && strchr("hHmMsS]", code.p[i + 2]))
            return AS_DURATION; /* [h]:mm: 25 hours are not a day and an hour */
        if (c == '\\' || c == '_' || c == '*')
            i++;
        else if (c == '"' || c == '[')
            while (++i < code.n && code.p[i] != (c == '[' ? ']' : c))
                continue;
        else if (strchr("yYmMdDhH", c))
            as = AS_DATE;
    }
    return as;
}

/* 18.8.30: those that need no code. */
static enum xlsx_shown shown_by_id(uint64_t id)
{
    return id == 46                                         ? AS_DURATION
           : (id >= 14 && id <= 22) || id == 45 || id == 47 ? AS_DATE
                                                            : AS_NUMBER;
}

/* Keeps one byte for each format code of the file and for each cell format. */
static int read_formats(struct book *b, struct err *e)
{
    int rc = read_related(b, "/styles", e);
    if (rc)
        return rc < 0 ? -1 : 0;
    struct xml x = XML_INIT(buf_str(&b->part));
    struct buf code = BUF_INIT(CELL_MAX);
    char *own = calloc(FORMATS_MAX, 1);
    enum xml_kind k;
    bool cells = false;
    while (own && rc == 0 && (k = xml_next(&x)) != XML_END && k != XML_BAD) {
        if (xml_is(&x, "cellXfs") && k != XML_TEXT)
            cells = k == XML_OPEN;
        if (k != XML_OPEN)
            continue;
        uint64_t id = xml_attr_number(&x, "numFmtId", 0) % FORMATS_MAX;
        buf_reset(&code);
        if (xml_is(&x, "numFmt") && xml_attr(&x, "formatCode", &code))
            own[id] = (char)shown_by_code(buf_str(&code));
        else if (cells && xml_is(&x, "xf"))
            rc = buf_addc(&b->shown, own[id] ? own[id] : (char)shown_by_id(id));
    }
    if (!own || rc < 0)
        rc = err_set(e, ERR_LIMIT, "there is no room for its formats");
    buf_release(&code);
    free(own);
    return rc;
}

enum { DAYS_1900 = 25569, DAYS_1904 = 24107, DAY_S = 86400 }; /* to 1970 */

/* 18.17.4.1: days since the end of 1899, or since 1904; less than one is a time. */
static int put_date(const struct book *b, double serial, struct buf *out)
{
    bool leap = !b->from_1904 && serial < 60; /* 1900 had no 29 February */
    double days = serial - (b->from_1904 ? DAYS_1904 : DAYS_1900) + leap;
    time_t t = (time_t)(days * DAY_S + (days < 0 ? -0.5 : 0.5));
    struct tm tm;
    if (!gmtime_r(&t, &tm))
        return -1;
    int rc = serial < 1 ? 0
                        : buf_addf(out, "%04d-%02d-%02d", tm.tm_year + 1900,
                                   tm.tm_mon + 1, tm.tm_mday);
    if (rc == 0 && (serial < 1 || t % DAY_S))
        rc = buf_addf(out, "%s%02d:%02d:%02d", serial < 1 ? "" : " ", tm.tm_hour,
                      tm.tm_min, tm.tm_sec);
    return rc;
}

static int put_duration(double days, struct buf *out)
{
    long long s = (long long)(days * DAY_S + 0.5);
    return buf_addf(out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

/* ---- cells (18.3.1.4) ---- */

struct sheet {
    struct xml x;
    struct book *b;
    struct buf row;   /* separated by tabs */
    struct buf value; /* of the cell */
    char type;        /* the first letter of t, 'S' for "str", 'n' without one */
    uint64_t style;
    size_t column, next, at; /* of the cell, of the next one, end of the row */
    size_t rows;             /* that were put */
    bool in_value, phonetic;
    bool in_formula, valued; /* valued: the cell has a value, which may be empty */
    uint64_t shared;         /* the number of its shared formula; UINT64_MAX: none */
    size_t row_n;            /* number of the row, from 1 */
};

/* "BC23" is column 54; a cell without a name is in the next one. */
static size_t column_of(const struct xml *x, size_t next)
{
    struct buf name = BUF_INIT(64);
    size_t n = 0;
    if (xml_attr(x, "r", &name))
        for (size_t i = 0; i < name.n && name.p[i] >= 'A' && name.p[i] <= 'Z'; i++)
            n = n < COLUMNS_MAX ? n * 26 + (size_t)(name.p[i] - 'A') + 1 : n;
    buf_release(&name);
    return n > next && n <= COLUMNS_MAX ? n - 1 : next;
}

static void open_cell(struct sheet *s)
{
    struct buf type = BUF_INIT(64);
    s->type = 'n';
    if (xml_attr(&s->x, "t", &type) && type.n > 0)
        s->type = str_eq(buf_str(&type), STR("str")) ? 'S' : type.p[0];
    s->style = xml_attr_number(&s->x, "s", UINT64_MAX);
    s->column = column_of(&s->x, s->next);
    s->next = s->column + 1;
    s->shared = UINT64_MAX;
    s->valued = false;
    buf_reset(&s->value);
    buf_reset(&s->b->formula);
    buf_release(&type);
}

enum { ESCAPE = 7 };

/*
 * 22.9.2.19: "_x000D_" is a character by its number. Returns -1 if s does not begin with
 * one.
 */
static long escaped(struct str s)
{
    char digits[5] = "", *end;
    if (s.n < ESCAPE || s.p[0] != '_' || s.p[1] != 'x' || s.p[6] != '_')
        return -1;
    memcpy(digits, s.p + 2, 4);
    long c = isxdigit((unsigned char)*digits) ? strtol(digits, &end, 16) : -1;
    return c < 0 || *end ? -1 : c;
}

/* Replaces newlines and tabs, which would begin another row or cell. */
static int put_flat(struct buf *out, struct str text)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < text.n; i++) {
        long c = text.p[i] == '_' ? escaped(str_sub(text, i, text.n)) : -1;
        char z[4];
        if (c >= ' ')
            rc = buf_add(out, z,
                         (size_t)utf8_encode(c >> 11 == 0x1b ? 0xfffd : (uint32_t)c, z));
        else
            rc = buf_addc(out, c >= 0 || strchr("\t\r\n", text.p[i]) ? ' ' : text.p[i]);
        i += c >= 0 ? ESCAPE - 1 : 0;
    }
    return rc;
}

/* The file has 17 digits of a binary fraction: 39.299999999999997 is shown as 39.3. */
static int put_short(struct buf *out, double v, struct str as_it_is)
{
    char text[32];
    for (int digits = 15; digits < 17 && as_it_is.n > 16; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (!(strtod(text, NULL) < v) && !(strtod(text, NULL) > v))
            return buf_addz(out, text);
    }
    return put_flat(out, as_it_is);
}

static int put_number(struct sheet *s)
{
    const struct book *b = s->b;
    char *end;
    double v = strtod(buf_z(&s->value), &end);
    bool number = end > s->value.p && !*end;
    bool date = number && v >= 0 && v < 3e6; /* the year 9999 */
    char as = date && s->style < b->shown.n ? b->shown.p[s->style] : AS_NUMBER;
    if (as == AS_DATE)
        return put_date(b, v, &s->row);
    if (as == AS_DURATION)
        return put_duration(v, &s->row);
    return number ? put_short(&s->row, v, buf_str(&s->value))
                  : put_flat(&s->row, buf_str(&s->value));
}

/* ---- formulas (18.17) ---- */

/*
 * Reads a reference such as $B$3 at the beginning of s. Returns its length; 0 if there is
 * none.
 */
static size_t take_reference(struct str s, size_t at[2], bool fixed[2])
{
    size_t i = 0, from;
    at[0] = at[1] = 0;
    fixed[0] = i < s.n && s.p[i] == '$';
    i += fixed[0];
    for (from = i; i < s.n && i - from < 4 && s.p[i] >= 'A' && s.p[i] <= 'Z'; i++)
        at[0] = at[0] * 26 + (size_t)(s.p[i] - 'A') + 1;
    if (i == from || at[0] > COLUMNS_MAX)
        return 0;
    fixed[1] = i < s.n && s.p[i] == '$';
    i += fixed[1];
    for (from = i; i < s.n && i - from < 8 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        at[1] = at[1] * 10 + (size_t)(s.p[i] - '0');
    bool ends = i >= s.n || (s.p[i] != '(' && s.p[i] != '_' && s.p[i] != '.' &&
                             !isalnum((unsigned char)s.p[i]));
    return i > from && ends && at[1] > 0 ? i : 0;
}

static int put_reference(struct buf *out, const size_t at[2], const bool fixed[2])
{
    char letters[8];
    size_t n = 0;
    for (size_t c = at[0]; c > 0 && n < sizeof(letters); c = (c - 1) / 26)
        letters[n++] = (char)('A' + (c - 1) % 26);
    int rc = fixed[0] ? buf_addc(out, '$') : 0;
    while (rc == 0 && n > 0)
        rc = buf_addc(out, letters[--n]);
    return rc < 0 ? rc : buf_addf(out, "%s%zu", fixed[1] ? "$" : "", at[1]);
}

/* Appends a formula as another cell has it: its references are moved by that much. */
static int put_moved(struct buf *out, struct str s, size_t right, size_t down)
{
    int rc = 0;
    char quote = 0;
    bool word = false; /* within a name */
    for (size_t i = 0, n; rc == 0 && i < s.n; i += n) {
        size_t at[2];
        bool fixed[2];
        char c = s.p[i];
        n = quote || word ? 0 : take_reference(str_sub(s, i, s.n), at, fixed);
        if (n) {
            at[0] += fixed[0] ? 0 : right;
            at[1] += fixed[1] ? 0 : down;
            rc = put_reference(out, at, fixed);
            continue;
        }
        n = 1;
        quote = quote ? (c == quote ? 0 : quote) : c == '"' || c == '\'' ? c : 0;
        word = isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
        rc = buf_addc(out, c);
    }
    return rc;
}

/* Sets the formula of the cell to that which it shares, moved to its place. */
static void take_shared(struct sheet *s)
{
    struct book *b = s->b;
    struct xlsx_shared *x = s->shared < SHARED_MAX ? &b->shared[s->shared] : NULL;
    if (x && b->formula.n) {
        free(x->text);
        *x = (struct xlsx_shared){
            .text = strdup(buf_z(&b->formula)), .column = s->column, .row = s->row_n};
    } else if (x && x->text && s->column >= x->column && s->row_n >= x->row) {
        put_moved(&b->formula, str_of(x->text), s->column - x->column, s->row_n - x->row);
    }
}

/* Makes the formula of a cell without a value its text. */
static void show_formula(struct sheet *s)
{
    if (s->type == 'S' && s->valued) /* the value is an empty text */
        return;
    buf_addc(&s->value, '=');
    buf_adds(&s->value, buf_str(&s->b->formula));
    s->type = 'S';
}

static int close_cell(struct sheet *s)
{
    uint64_t i;
    int rc = 0;
    take_shared(s);
    if (s->value.n == 0 && s->b->formula.n)
        show_formula(s);
    if (s->value.n == 0)
        return 0;
    for (; rc == 0 && s->at < s->column; s->at++)
        rc = buf_addc(&s->row, '\t');
    if (rc < 0)
        return rc;
    if (s->type == 's')
        return str_to_u64(str_trim(buf_str(&s->value)), &i) < 0
                   ? 0
                   : put_flat(&s->row, shared_string(s->b, i));
    if (s->type == 'b')
        return buf_addz(&s->row, s->value.p[0] == '1' ? "TRUE" : "FALSE");
    return s->type == 'n' ? put_number(s) : put_flat(&s->row, buf_str(&s->value));
}

static void open(struct sheet *s)
{
    const struct xml *x = &s->x;
    if (xml_is(x, "row")) {
        buf_reset(&s->row);
        s->at = s->next = 0;
        s->row_n = xml_attr_number(x, "r", s->row_n + 1) % (ROWS_MAX + 1);
    } else if (xml_is(x, "c")) {
        open_cell(s);
    } else if (xml_is(x, "rPh")) {
        s->phonetic = true;
    } else if (xml_is(x, "f")) {
        s->in_formula = true;
        s->shared = xml_attr_number(x, "si", UINT64_MAX);
    } else {
        s->in_value = xml_is(x, "v") || (xml_is(x, "t") && !s->phonetic);
        s->valued = s->valued || s->in_value;
    }
}

static int close_element(struct sheet *s)
{
    const struct xml *x = &s->x;
    s->in_value = s->in_formula = false;
    if (xml_is(x, "rPh"))
        s->phonetic = false;
    else if (xml_is(x, "c"))
        return close_cell(s);
    else if (xml_is(x, "row") && s->row.n > 0)
        return docread_row(s->b->out, buf_str(&s->row), s->rows++ == 0);
    return 0;
}

static int read_sheet(struct book *b, struct err *e)
{
    struct sheet s = {.x = XML_INIT(buf_str(&b->part)), .b = b};
    enum xml_kind k;
    int rc = 0;
    buf_init(&s.row, DOCREAD_TEXT_MAX);
    buf_init(&s.value, CELL_MAX);
    while (rc == 0 && (k = xml_next(&s.x)) != XML_END && k != XML_BAD) {
        if (k == XML_OPEN)
            open(&s);
        else if (k == XML_CLOSE)
            rc = close_element(&s);
        else if (s.in_value || s.in_formula)
            rc = xml_text(&s.x, s.in_value ? &s.value : &b->formula);
    }
    buf_release(&s.row);
    buf_release(&s.value);
    for (size_t i = 0; i < SHARED_MAX; i++) {
        free(b->shared[i].text);
        b->shared[i].text = NULL;
    }
    if (rc < 0)
        return docread_too_long(b->out, e);
    return k == XML_BAD ? damaged(e, "a sheet is cut off") : 0;
}

/* Appends a header or footer without its codes (18.3.1.46); tabs separate its parts. */
static void put_header(struct buf *out, const char *words, struct str s)
{
    buf_addz(out, words);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c != '&') {
            buf_addc(out, (unsigned char)c < ' ' ? ' ' : c);
            continue;
        }
        c = ++i < s.n ? s.p[i] : 0;
        if (c == '&' || c == 'C' || c == 'R')
            buf_addc(out, c == '&' ? c : '\t');
        else if (c == 'K') /* a colour */
            i += 6;
        while (c == '"' && ++i < s.n && s.p[i] != '"') /* a font */
            continue;
        while (isdigit((unsigned char)c) && i + 1 < s.n &&
               isdigit((unsigned char)s.p[i + 1]))
            i++;
    }
    buf_addc(out, '\n');
}

/* Appends the targets of links of a sheet, its headers and footers. */
static void put_links(struct book *b, struct str sheet, struct str rels)
{
    struct xml x = XML_INIT(buf_str(&b->part));
    const char *header = NULL;
    enum xml_kind k;
    while ((k = xml_next(&x)) != XML_END && k != XML_BAD) {
        buf_reset(&b->id);
        buf_reset(&b->formula);
        if (k == XML_TEXT && header && xml_text(&x, &b->formula) == 0)
            put_header(b->out, header, buf_str(&b->formula));
        header = NULL;
        if (k != XML_OPEN)
            continue;
        if (*x.name.p != 'h') /* headerFooter has them */
            header = str_ends(x.name, STR("Header"))   ? "\n[Header] "
                     : str_ends(x.name, STR("Footer")) ? "\n[Footer] "
                                                       : NULL;
        if (xml_is(&x, "hyperlink") && xml_attr_prefixed(&x, "id", &b->id) &&
            package_target(rels, sheet, buf_str(&b->id), "", &b->target)) {
            buf_addz(b->out, "\nLink at ");
            xml_attr(&x, "ref", b->out);
            buf_addf(b->out, ": %s\n", buf_z(&b->target));
        }
    }
}

/*
 * Appends what a sheet has beside its cells: links, headers and comments (18.7). Its part
 * is b->part, with the name b->target.
 */
static int put_others(struct book *b, struct err *e)
{
    struct buf sheet = BUF_INIT(4096), rels = BUF_INIT(PACKAGE_PART_MAX);
    buf_adds(&sheet, buf_str(&b->target));
    package_rels(&b->p, buf_str(&sheet), &rels);
    put_links(b, buf_str(&sheet), buf_str(&rels));
    buf_reset(&b->part);
    package_follow(&b->p, buf_str(&rels), buf_str(&sheet), STR(""), "/comments",
                   &b->part);
    struct xml x = XML_INIT(buf_str(&b->part));
    enum xml_kind k;
    bool text = false;
    while ((k = xml_next(&x)) != XML_END && k != XML_BAD) {
        if (k == XML_OPEN && xml_is(&x, "comment")) {
            buf_addz(b->out, "\nComment at ");
            xml_attr(&x, "ref", b->out);
            buf_addz(b->out, ": ");
        } else if (k == XML_CLOSE && xml_is(&x, "comment")) {
            buf_addc(b->out, '\n');
        } else if (k == XML_TEXT && text) {
            buf_reset(&b->formula);
            xml_text(&x, &b->formula);
            put_flat(b->out, buf_str(&b->formula));
        }
        text = k == XML_OPEN && xml_is(&x, "t");
    }
    buf_release(&sheet);
    buf_release(&rels);
    return buf_full(b->out) ? docread_too_long(b->out, e) : 0;
}

/* ---- the workbook ---- */

static int put_sheet(struct book *b, const struct xml *x, size_t n, struct err *e)
{
    struct buf name = BUF_INIT(4096);
    int rc = buf_addz(b->out, n ? "\n## " : "## ");
    buf_reset(&b->id);
    if (rc == 0 && xml_attr(x, "name", &name))
        rc = put_flat(b->out, buf_str(&name));
    buf_release(&name);
    bool hidden = xml_attr_is(x, "state", "hidden") ||
                  xml_attr_is(x, "state", "veryHidden");
    if (rc < 0 || buf_addz(b->out, hidden ? " (hidden)\n\n" : "\n\n") < 0)
        return docread_too_long(b->out, e);
    if (!xml_attr_prefixed(x, "id", &b->id) ||
        !package_target(buf_str(&b->rels), buf_str(&b->name), buf_str(&b->id), "",
                        &b->target))
        return damaged(e, "a sheet is missing");
    return package_read(&b->p, buf_str(&b->target), &b->part, e) < 0 ||
                   read_sheet(b, e) < 0
               ? -1
               : put_others(b, e);
}

static int read_sheets(struct book *b, struct err *e)
{
    struct xml x = XML_INIT(buf_str(&b->main));
    enum xml_kind k;
    size_t n = 0;
    while ((k = xml_next(&x)) != XML_END) {
        if (k == XML_BAD)
            return damaged(e, "its list of sheets is cut off");
        if (k != XML_OPEN || !xml_is(&x, "sheet"))
            continue;
        if (n == SHEETS_MAX)
            return err_set(e, ERR_LIMIT, "it has more than %d sheets", SHEETS_MAX);
        if (put_sheet(b, &x, n++, e) < 0)
            return -1;
    }
    return n ? 0 : err_set(e, ERR_INVALID, "it has no sheets of an Excel workbook");
}

/* 18.2.28: date1904 */
static bool is_from_1904(struct str workbook)
{
    struct xml x = XML_INIT(workbook);
    bool found = false;
    while (!found && xml_open(&x))
        found = xml_is(&x, "workbookPr") &&
                (xml_attr_is(&x, "date1904", "1") || xml_attr_is(&x, "date1904", "true"));
    return found;
}

static int read_all(struct book *b, struct err *e)
{
    if (package_main(&b->p, "xl/workbook.xml", &b->name, &b->main, &b->rels, e) < 0)
        return -1;
    if (str_ends(buf_str(&b->name), STR(".bin")))
        return err_set(e, ERR_UNSUPPORTED,
                       "it is Excel's binary format (.xlsb): save it again as .xlsx");
    b->from_1904 = is_from_1904(buf_str(&b->main));
    return read_strings(b, e) < 0 || read_formats(b, e) < 0 ? -1 : read_sheets(b, e);
}

int docread_xlsx(int fd, struct buf *out, struct err *e)
{
    struct book b = {.p = PACKAGE_INIT(fd), .out = out};
    struct buf *large[] = {&b.main, &b.rels, &b.part, &b.strings, &b.begins, &b.shown};
    struct buf *small[] = {&b.name, &b.id, &b.target};
    for (size_t i = 0; i < 6; i++)
        buf_init(large[i], PACKAGE_PART_MAX);
    for (size_t i = 0; i < 3; i++)
        buf_init(small[i], 4096);
    buf_init(&b.formula, CELL_MAX);
    int rc = read_all(&b, e);
    buf_release(&b.formula);
    for (size_t i = 0; i < 6; i++)
        buf_release(large[i]);
    for (size_t i = 0; i < 3; i++)
        buf_release(small[i]);
    return rc;
}
