/* SPDX-License-Identifier: MIT */
/*
 * Rich Text Format 1.9.1: groups, control words and text, read once from the beginning.
 * The text is Markdown as far as it has headings, links and tables. Notes and comments
 * are marked [^1] in the text and follow it, as do headers and footers. The file is
 * hostile: groups are a stack with a limit, and a number counts only within bounds.
 */
#include "document/own.h"

#include "base/utf8.h"
#include "text/charset.h"
#include "text/webcharset.h"

#include <stdlib.h>
#include <strings.h>

enum {
    GROUPS_MAX = 512,
    FONTS_MAX = 4096,
    WORD_MAX = 32,
    NUMBER_MAX = 1 << 20,
    LEVELS = 9,
    URL_MAX = 4096
};

/* Where the text of a group goes. TABLES are those of fonts and styles. */
enum rtf_place {
    HERE,
    NOWHERE,
    TABLES,
    INSTRUCTION,
    AUTHOR,
    NOTE,
    COMMENT,
    HEADER,
    FOOTER
};

struct rtf_group {
    uint8_t place;
    bool starred; /* it began with \* */
    bool first;   /* nothing was read in it yet */
    bool hidden, deleted;
    bool list;       /* a mark of a list: its tab is a blank */
    uint8_t skipped; /* characters after \u that stand in for it */
    uint8_t charset; /* of the font */
    uint16_t font;   /* the font that is used or described */
    uint16_t style;  /* the style that is */
    const char *end; /* appended where the group ends, or NULL */
    bool link;       /* has the text of a field */
    bool in_table;   /* the paragraph is, as far as the group says */
    int8_t outline;  /* level of the heading, from 0; -1: it is not one */
};

struct rtf {
    struct str s;
    size_t at;
    struct buf *out;
    struct buf para;   /* text of the paragraph */
    struct buf row;    /* of the table, separated by tabs */
    struct buf raw;    /* bytes of the font's character set that wait */
    struct buf notes;  /* that follow the text */
    struct buf ends;   /* headers and footers */
    struct buf author; /* of the next comment */
    struct buf url;    /* of the field */
    struct buf kept;   /* the paragraph that a note, header or footer interrupts */
    struct rtf_group stack[GROUPS_MAX];
    size_t depth;
    size_t lost;                 /* groups that are open beyond the limit */
    uint8_t charsets[FONTS_MAX]; /* of the fonts */
    uint8_t levels[FONTS_MAX];   /* of the styles: those of headings, from 1 */
    int codepage;
    int skip;      /* characters that stand in for one that was read */
    uint32_t high; /* the first half of a surrogate pair, or 0 */
    size_t rows, notes_n;
    bool marked;                   /* a mark of hidden text is open */
    bool full;                     /* text was lost */
    size_t url_from;               /* where the text of the link begins */
    struct charset_tables *tables; /* owned; NULL until they are needed */
};

static struct rtf_group *top(struct rtf *r) { return &r->stack[r->depth]; }

/* ---- characters ---- */

/* Returns the code page of a font's \fcharset. */
static int codepage_of(const struct rtf *r, uint8_t charset)
{
    static const struct {
        uint8_t charset;
        int page;
    } known[] = {{128, 932},  {129, 949},  {134, 936},  {136, 950},  {161, 1253},
                 {162, 1254}, {163, 1258}, {177, 1255}, {178, 1256}, {186, 1257},
                 {204, 1251}, {222, 874},  {238, 1250}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (known[i].charset == charset)
            return known[i].page;
    }
    return r->codepage;
}

static int wide_set(int page)
{
    return page == 932   ? CHARSET_SHIFT_JIS
           : page == 936 ? CHARSET_GBK
           : page == 949 ? CHARSET_EUC_KR
           : page == 950 ? CHARSET_BIG5
                         : -1;
}

static void put_code(struct buf *out, uint32_t c)
{
    char z[4];
    c = c == 0xf0b7 || c == 0xf0a7 ? 0x2022 : c; /* dots of symbol fonts */
    buf_add(out, z, (size_t)utf8_encode(c, z));
}

/* Empties a buffer; that it was full is kept. */
static void drop(struct rtf *r, struct buf *b)
{
    r->full = r->full || buf_full(b);
    buf_reset(b);
}

/* Appends the bytes that wait, as UTF-8. */
static void flush_raw(struct rtf *r)
{
    int page = codepage_of(r, top(r)->charset), set = wide_set(page);
    char unknown[40], name[32]; /* of the character set */
    if (r->raw.n == 0)
        return;
    if (set >= 0 && !r->tables)
        r->tables = charset_open();
    if (set >= 0 && r->tables) {
        for (struct str s = buf_str(&r->raw); s.n;) {
            uint32_t c = 0;
            size_t n = charset_next(r->tables, (enum charset)set, s, &c);
            put_code(&r->para, c ? c : 0xfffd);
            s = str_sub(s, n, s.n);
        }
    } else {
        buf_fill(name, sizeof(name),
                 page == 65001   ? "utf-8"
                 : page == 10000 ? "macintosh"
                 : page < 874    ? "cp%d"
                                 : "windows-%d",
                 page);
        webcharset_read(buf_str(&r->raw), str_of(name), false, &r->para, unknown);
    }
    drop(r, &r->raw);
}

static void end_mark(struct rtf *r)
{
    flush_raw(r);
    buf_addz(&r->para, r->marked ? "]" : "");
    r->marked = false;
}

/* Prepares for text of the group. Returns false if it is not shown. */
static bool begin_text(struct rtf *r)
{
    const struct rtf_group *g = top(r);
    if (r->lost || g->deleted || (g->place != HERE && g->place < NOTE))
        return false;
    if (g->hidden != r->marked) {
        end_mark(r);
        r->marked = g->hidden;
        buf_addz(&r->para, g->hidden ? "[hidden: " : "");
    }
    return true;
}

/* Takes a byte of text. */
static void put_byte(struct rtf *r, char c)
{
    struct buf *aside = top(r)->place == INSTRUCTION ? &r->url
                        : top(r)->place == AUTHOR    ? &r->author
                                                     : NULL;
    if (r->skip > 0) {
        r->skip--;
        return;
    }
    if (aside && !r->lost)
        buf_addc(aside, c);
    const char *name = r->s.p + r->at - 1;
    if (top(r)->place == TABLES && r->s.n - r->at > 8 &&
        strncasecmp(name, "heading ", 8) == 0 && name[8] > '0' && name[8] <= '9' &&
        name[9] == ';')
        r->levels[top(r)->style] = (uint8_t)(name[8] - '0');
    if (!begin_text(r))
        return;
    bool wide = wide_set(codepage_of(r, top(r)->charset)) >= 0;
    if ((unsigned char)c >= 0x80 || (wide && r->raw.n)) {
        buf_addc(&r->raw, c);
    } else {
        flush_raw(r);
        buf_addc(&r->para, c);
    }
}

static void put_char(struct rtf *r, uint32_t c)
{
    if (!begin_text(r))
        return;
    flush_raw(r);
    put_code(&r->para, c);
}

/* Takes \u: a unit of UTF-16, signed. */
static void put_unicode(struct rtf *r, int n)
{
    uint32_t c = (uint32_t)(n < 0 ? n + 0x10000 : n), high = r->high;
    r->high = 0;
    r->skip = top(r)->skipped;
    if (c >= 0xd800 && c < 0xdc00) {
        r->high = c;
        return;
    }
    if (c >= 0xdc00 && c < 0xe000)
        c = high ? 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00) : 0xfffd;
    if (c && c <= 0x10ffff)
        put_char(r, c);
}

/* ---- paragraphs and tables ---- */

/* Separates a table from what follows it. */
static void end_table(struct rtf *r)
{
    buf_addz(r->out, r->rows ? "\n" : "");
    r->rows = 0;
}

static void end_paragraph(struct rtf *r)
{
    end_mark(r);
    struct str s = str_trim(buf_str(&r->para));
    if (s.n) {
        end_table(r);
        int level = top(r)->outline;
        if (level >= 0)
            buf_addz(r->out, "###### " + (5 - (level < 5 ? level : 5)));
        buf_adds(r->out, s);
        buf_addz(r->out, "\n\n");
    }
    drop(r, &r->para);
}

static void end_cell(struct rtf *r)
{
    end_mark(r);
    struct str s = str_trim(buf_str(&r->para));
    for (size_t i = 0; i < s.n; i++)
        buf_addc(&r->row, strchr("\t\r\n", s.p[i]) ? ' ' : s.p[i]);
    buf_addc(&r->row, '\t');
    drop(r, &r->para);
}

static void end_row(struct rtf *r)
{
    while (r->row.n && r->row.p[r->row.n - 1] == '\t')
        buf_truncate(&r->row, r->row.n - 1);
    if (r->row.n)
        docread_row(r->out, buf_str(&r->row), r->rows++ == 0);
    drop(r, &r->row);
}

static void new_line(struct rtf *r)
{
    if (!begin_text(r))
        return;
    if (top(r)->in_table || top(r)->place >= NOTE)
        put_byte(r, ' ');
    else
        end_paragraph(r);
}

/* ---- what interrupts the text ---- */

static void swap_paragraph(struct rtf *r)
{
    struct buf swap = r->kept;
    r->kept = r->para;
    r->para = swap;
}

/* Begins a note, comment, header or footer: it has a paragraph of its own. */
static void begin_aside(struct rtf *r, enum rtf_place place)
{
    bool inner = false; /* in another one, or in what is skipped */
    for (size_t i = 0; i <= r->depth; i++)
        inner = inner || r->stack[i].place != HERE;
    top(r)->place = inner ? NOWHERE : (uint8_t)place;
    if (inner)
        return;
    end_mark(r);
    top(r)->hidden = false;
    if (place == NOTE || place == COMMENT)
        buf_addf(&r->para, "[^%zu]", ++r->notes_n);
    swap_paragraph(r);
}

static void end_aside(struct rtf *r, enum rtf_place place)
{
    struct buf *out = place >= HEADER ? &r->ends : &r->notes;
    size_t from = out->n;
    end_mark(r);
    struct str s = str_trim(buf_str(&r->para)), by = str_trim(buf_str(&r->author));
    if (place >= HEADER)
        buf_addz(out, place == HEADER ? "[Header] " : "[Footer] ");
    else
        buf_addf(out, "[^%zu]: ", r->notes_n);
    if (place == COMMENT)
        buf_addf(out, "Comment%s%.*s: ", by.n ? " by " : "", STR_ARG(by));
    buf_adds(out, s);
    buf_addz(out, "\n\n");
    if (place >= HEADER && (!s.n || str_find(str_sub(buf_str(out), 0, from),
                                             str_sub(buf_str(out), from, out->n)) >= 0))
        buf_truncate(out, from);
    buf_reset(&r->author);
    drop(r, &r->para);
    swap_paragraph(r);
}

/* Begins the text of a field; a link if its instruction is HYPERLINK "…". */
static void begin_result(struct rtf *r)
{
    struct str s = str_trim(buf_str(&r->url)), word = str_cut(&s, '"');
    struct str url = str_cut(&s, '"');
    struct rtf_group *g = top(r);
    g->link = str_starts(word, STR("HYPERLINK")) && url.n && !buf_full(&r->url) &&
              str_find(word, STR("\\l")) < 0 && g->place == HERE && begin_text(r);
    if (g->link) {
        flush_raw(r);
        buf_addc(&r->para, '[');
        r->url_from = r->para.n;
    }
}

static void end_link(struct rtf *r)
{
    struct str s = buf_str(&r->url);
    end_mark(r);
    str_cut(&s, '"');
    s = str_cut(&s, '"');
    if (r->para.n == r->url_from)
        buf_truncate(&r->para, r->para.n - 1);
    else if (r->para.n > r->url_from)
        buf_addf(&r->para, "](%.*s)", STR_ARG(s));
}

/* ---- groups ---- */

static void begin_group(struct rtf *r)
{
    if (r->lost || r->depth + 1 == GROUPS_MAX) {
        r->lost++;
        return;
    }
    struct rtf_group *g = &r->stack[r->depth + 1];
    *g = r->stack[r->depth++];
    g->starred = g->link = false;
    g->first = true;
    g->end = NULL;
    r->skip = 0;
}

static void end_group(struct rtf *r)
{
    const struct rtf_group *g = top(r);
    r->skip = 0;
    if (r->lost || r->depth == 0) {
        r->lost -= r->lost > 0;
        return;
    }
    flush_raw(r);
    if (g->link)
        end_link(r);
    if (g->end && begin_text(r))
        buf_addz(&r->para, g->end);
    if (g->place >= NOTE && g[-1].place == HERE)
        end_aside(r, g->place);
    if (--r->depth == 0)
        r->stack[0].outline = g->outline; /* the last paragraph may have no end */
}

/* ---- control words ---- */

/*
 * The words that are read: a letter for what they do, and a number for it.
 * P the group goes to a place; A the same, with a paragraph of its own; c a character;
 * p a paragraph ends; e a cell; r a row; n a cell or row of a table in a cell; d the
 * paragraph's look is forgotten; s its style; t it is in a table; o its level; l the
 * letters' look is forgotten; v they are hidden; x deleted; U how many stand in for a \u;
 * u that; f the font; F its character set; a the code page; C a code page by name; R a
 * field's result; L the mark of a list; m a part of a formula; k a group that is text
 * even if it is starred.
 */
static const char words[] =
    "\1par\2p\1sect\2p\1page\2p\1line\2c10\1tab\2c9\1cell\2e\1row\2r\1nestcell\2n"
    "\1nestrow\2n\1pard\2d\1intbl\2t\1outlinelevel\2o\1plain\2l\1v\2v\1deleted\2x"
    "\1uc\2U\1u\2u\1f\2f\1fcharset\2F\1ansicpg\2a\1mac\2C10000\1pc\2C866\1emdash\2c8212"
    "\1endash\2c8211\1bullet\2c8226\1lquote\2c8216\1rquote\2c8217\1ldblquote\2c8220"
    "\1rdblquote\2c8221\1emspace\2c32\1enspace\2c32\1fonttbl\2P2\1colortbl\2P1"
    "\1stylesheet\2P2\1s\2s\1info\2P1\1pict\2P1\1objdata\2P1\1nonshppict\2P1"
    "\1shprslt\2P1\1sp\2P1\1do\2P1\1xe\2P1\1tc\2P1\1fldinst\2P3\1fldrslt\2R"
    "\1footnote\2A5\1annotation\2A6\1atnauthor\2P4\1header\2A7\1headerl\2A7"
    "\1headerr\2A7\1headerf\2A7\1footer\2A8\1footerl\2A8\1footerr\2A8\1footerf\2A8"
    "\1listtext\2L\1pntext\2L\1shpinst\2k\1shptxt\2k\1moMath\2k\1moMathPara\2k"
    "\1mmathPict\2P1\1mctrlPr\2P1\1mdegHide\2P1\1md\2m0\1mbegChr\2P1\1mendChr\2P1"
    "\1mnum\2m0\1mden\2m1\1msup\2m2\1msub\2m3\1mrad\2m4\1";

_Static_assert(NOWHERE == 1 && TABLES == 2 && INSTRUCTION == 3 && AUTHOR == 4 &&
                   NOTE == 5 && COMMENT == 6 && HEADER == 7 && FOOTER == 8,
               "the words have these numbers");

static const char marks[][4] = {"(", "/(", "^(", "_(", "√"};

/* Takes a control word: what it does, its number there, and its own; has: it has one. */
static void take_word(struct rtf *r, char does, int n, int own, bool has)
{
    struct rtf_group *g = top(r);
    switch (does) {
    case 'P':
        if (g->place == HERE || g->place >= NOTE)
            g->place = (uint8_t)n;
        if (g->place == INSTRUCTION)
            buf_reset(&r->url);
        break;
    case 'A':
        begin_aside(r, (enum rtf_place)n);
        break;
    case 'c':
        put_char(r, g->list && n == '\t' ? ' ' : (uint32_t)n);
        break;
    case 'p':
        new_line(r);
        break;
    case 'e':
        if (g->place == HERE)
            end_cell(r);
        break;
    case 'r':
        if (g->place == HERE)
            end_row(r);
        break;
    case 'n':
        put_char(r, ' ');
        break;
    case 'd':
        g->in_table = false;
        g->outline = -1;
        break;
    case 't':
        g->in_table = true;
        break;
    case 'o':
        g->outline = own >= 0 && own < LEVELS ? (int8_t)own : -1;
        if (g->place == TABLES)
            r->levels[g->style] = (uint8_t)(g->outline + 1);
        break;
    case 's':
        g->style = own >= 0 && own < FONTS_MAX ? (uint16_t)own : 0;
        g->outline = (int8_t)(r->levels[g->style] - 1);
        break;
    case 'l':
        g->hidden = false;
        break;
    case 'v':
        g->hidden = !has || own;
        break;
    case 'x':
        g->deleted = !has || own;
        break;
    case 'U':
        g->skipped = own >= 0 && own < 256 ? (uint8_t)own : 1;
        break;
    case 'u':
        put_unicode(r, own);
        break;
    case 'f':
        flush_raw(r);
        g->font = own >= 0 && own < FONTS_MAX ? (uint16_t)own : 0;
        g->charset = r->charsets[g->font];
        break;
    case 'F':
        if (g->place == TABLES)
            r->charsets[g->font] = (uint8_t)own;
        break;
    case 'a':
        r->codepage = own;
        break;
    case 'C':
        r->codepage = n;
        break;
    case 'R':
        begin_result(r);
        break;
    case 'L':
        g->list = true;
        break;
    case 'm':
        if (begin_text(r)) {
            flush_raw(r);
            buf_addz(&r->para, marks[n]);
            g->end = n < 4 ? ")" : NULL;
        }
        break;
    default: /* a destination that is not known */
        if (!does && g->starred)
            g->place = NOWHERE;
        break;
    }
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes a backslash and one character that is not a letter. */
static void take_symbol(struct rtf *r, char c)
{
    struct str next = str_sub(r->s, r->at, 2);
    if (c == '\'' && next.n == 2 && hex(next.p[0]) >= 0 && hex(next.p[1]) >= 0) {
        r->at += 2;
        put_byte(r, (char)(hex(next.p[0]) << 4 | hex(next.p[1])));
    } else if (c == '*') {
        top(r)->starred = top(r)->first;
    } else if (c == '~' || c == '\t') {
        put_char(r, ' ');
    } else if (c == '_') {
        put_char(r, '-');
    } else if (c == '\n' || c == '\r') {
        new_line(r);
    } else if (strchr("\\{}", c)) {
        put_byte(r, c);
    }
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads digits. Returns their number, at most about NUMBER_MAX. */
static int digits(const char **p, const char *end)
{
    int n = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p)
        n = n < NUMBER_MAX ? n * 10 + (**p - '0') : n;
    return n;
}

/* Reads what follows a backslash. */
static void take_control(struct rtf *r)
{
    const char *p = r->s.p + r->at, *end = r->s.p + r->s.n, *from = p;
    if (p == end)
        return;
    if (!is_letter(*p)) {
        r->at++;
        take_symbol(r, *p);
        return;
    }
    while (p < end && p - from < WORD_MAX && is_letter(*p))
        p++;
    struct str name = str_n(from, (size_t)(p - from));
    bool negative = end - p > 1 && *p == '-' && p[1] >= '0' && p[1] <= '9';
    p += negative;
    from = p;
    int own = digits(&p, end);
    bool has = p > from;
    p += p < end && *p == ' ';
    r->at = (size_t)(p - r->s.p);
    if (str_eq(name, STR("bin"))) { /* bytes of a picture */
        r->at += own < end - p ? (size_t)own : (size_t)(end - p);
        return;
    }
    const char *word = docread_word(words, name), *number = *word ? word + 1 : word;
    if (!r->lost && (*word || top(r)->first))
        take_word(r, *word, digits(&number, number + 6), negative ? -own : own, has);
    top(r)->first = false;
}

static void read_all(struct rtf *r)
{
    while (r->at < r->s.n) {
        char c = r->s.p[r->at++];
        if (c == '{')
            begin_group(r);
        else if (c == '}')
            end_group(r);
        else if (c == '\\')
            take_control(r);
        else if (c != '\r' && c != '\n' && c != 0)
            put_byte(r, c);
    }
    r->lost = 0;
    while (r->depth > 0) /* a file that is cut off */
        end_group(r);
    end_row(r);
    end_paragraph(r);
    end_table(r);
    buf_adds(r->out, buf_str(&r->notes));
    buf_adds(r->out, buf_str(&r->ends));
}

int docread_rtf(struct str bytes, struct buf *out, struct err *e)
{
    if (!str_starts(bytes, STR("{\\rtf")))
        return err_set(e, ERR_INVALID, "it does not begin with {\\rtf");
    struct rtf *r = calloc(1, sizeof(*r));
    if (!r)
        return err_set(e, ERR_LIMIT, "there is no memory for its text");
    struct buf *all[] = {&r->para, &r->row,  &r->raw,    &r->notes,
                         &r->ends, &r->kept, &r->author, &r->url};
    r->s = bytes;
    r->out = out;
    r->codepage = 1252;
    r->stack[0].outline = -1;
    r->stack[0].skipped = 1;
    for (size_t i = 0; i < 8; i++)
        buf_init(all[i], i < 6 ? DOCREAD_TEXT_MAX : URL_MAX);
    read_all(r);
    bool full = r->full || buf_full(out) || buf_full(&r->notes) || buf_full(&r->ends);
    for (size_t i = 0; i < 8; i++)
        buf_release(all[i]);
    charset_close(r->tables);
    free(r);
    return full ? docread_too_long(out, e) : 0;
}
