/* SPDX-License-Identifier: MIT */
/*
 * HTML to text, tag by tag without a tree (HTML standard, 13.2.5, as far as text needs
 * it), from any character set that pages have. White space becomes one blank, blocks
 * begin lines, tabs separate the cells of a table, scripts and styles are left out.
 */
#include "document/items.h"
#include "document/math.h"
#include "document/own.h"
#include "html/html.h"
#include "text/webcharset.h"

#include <ctype.h>

enum { TAG_MAX = 16, ENTITY_MAX = 40, LISTS_MAX = 32 };

struct html {
    struct str s;
    size_t at, from; /* from: where the text begins in out */
    struct buf *out;
    bool markdown; /* headings and items are as in Markdown */
    int pre;
    bool space;  /* blanks were seen, and nothing since */
    int newline; /* line ends that are due */
    bool item;   /* the mark of a list's item was just written */
    size_t lists, count[LISTS_MAX]; /* that are open; their next numbers, 0: dots */
    char format[LISTS_MAX];         /* of items_number */
};

struct tag {
    char name[TAG_MAX];
    struct xml attrs; /* has the attributes only */
    bool closing;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* ---- writing ---- */

static void want_lines(struct html *h, int n)
{
    h->newline = h->newline > n ? h->newline : n;
    h->space = false;
}

static int begin_text(struct html *h)
{
    int rc = 0;
    if (h->out->n > h->from && !h->item) {
        for (; rc == 0 && h->newline; h->newline--)
            rc = buf_addc(h->out, '\n');
        if (rc == 0 && h->space && !is_space(h->out->p[h->out->n - 1]))
            rc = buf_addc(h->out, ' ');
    }
    h->newline = 0;
    h->space = false;
    h->item = false;
    return rc;
}

static int put(struct html *h, struct str s)
{
    int rc = begin_text(h);
    return rc < 0 ? rc : buf_adds(h->out, s);
}

/* ---- characters ---- */

/* Takes one character, or a reference to one. */
static int take_char(struct html *h)
{
    struct str rest = str_sub(h->s, h->at, ENTITY_MAX);
    char text[16];
    struct buf b = BUF_INIT(sizeof(text));
    size_t n = *rest.p == '&' ? html_entity(rest, false, &b) : 0;
    int rc = 0;
    h->at += n ? n : 1;
    if (str_eq(buf_str(&b), STR("\u00a0")) && !h->pre)
        h->space = true;
    else if (n && !str_eq(buf_str(&b), STR("\u00ad")))
        rc = put(h, buf_str(&b));
    buf_release(&b);
    if (n)
        return rc;
    if (!is_space(*rest.p))
        return put(h, str_n(rest.p, 1));
    if (h->pre)
        return *rest.p == '\r' ? 0 : put(h, str_n(rest.p, 1));
    h->space = true;
    return 0;
}

/* ---- tags ---- */

/*
 * What an element is: b, a block; p, with an empty line before and after it; h: its
 * content, up to its end tag, is not text.
 */
static char kind_of(const char *name)
{
    static const char tags[] =
        "\1body\2b\1caption\2b\1dd\2b\1dt\2b\1form\2b\1html\2b\1legend\2b\1li\2b"
        "\1option\2b\1table\2b\1tbody\2b\1tfoot\2b\1thead\2b\1title\2b\1tr\2b\1p\2p"
        "\1h1\2p\1h2\2p\1h3\2p\1h4\2p\1h5\2p\1h6\2p\1hr\2p\1blockquote\2p\1pre\2p"
        "\1script\2h\1style\2h\1template\2h\1svg\2h\1noscript\2h\1";
    const char *found = docread_word(tags, str_of(name));
    bool block = html_flags(html_tag_of(str_of(name))) & HTML_IS_BLOCK & ~HTML_IS_SPECIAL;
    return *found ? *found : block ? 'b' : 0;
}

/* Reads what follows "<". Returns false if it is not a tag. */
static bool read_tag(struct html *h, struct tag *t)
{
    size_t at = h->at + 1;
    *t = (struct tag){.closing = at < h->s.n && h->s.p[at] == '/'};
    at += t->closing;
    size_t n = 0;
    while (at < h->s.n && n + 1 < TAG_MAX) {
        char c = lower(h->s.p[at]);
        if (!(c >= 'a' && c <= 'z') && !(n && c >= '0' && c <= '9'))
            break;
        t->name[n++] = c;
        at++;
    }
    if (n == 0)
        return false;
    size_t from = at;
    char quote = 0;
    for (; at < h->s.n && (quote || h->s.p[at] != '>'); at++) {
        char c = h->s.p[at];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if ((c == '"' || c == '\'') && h->s.p[at - 1] == '=')
            quote = c;
    }
    t->attrs.attrs = str_sub(h->s, from, at - from);
    h->at = at < h->s.n ? at + 1 : at;
    return true;
}

static void skip_to(struct html *h, const char *end)
{
    size_t n = strlen(end);
    for (; h->at + n <= h->s.n; h->at++) {
        size_t i = 0;
        while (i < n && lower(h->s.p[h->at + i]) == end[i])
            i++;
        if (i == n)
            return;
    }
    h->at = h->s.n;
}

/* Appends the formula whose tag begins at `from`, as far as it is XML. */
static int put_math(struct html *h, size_t from)
{
    struct xml x = XML_INIT(str_sub(h->s, from, h->s.n));
    int rc = begin_text(h);
    if (rc < 0 || xml_next(&x) != XML_OPEN)
        return rc;
    h->at = from;
    rc = math_line(&x, h->out);
    h->at += x.at;
    return rc;
}

static bool is_list(const struct tag *t)
{
    return (*t->name == 'o' || *t->name == 'u') && strcmp(t->name + 1, "l") == 0;
}

/* Appends the dot or number of an item. */
static int put_item_mark(struct html *h, const struct tag *t)
{
    bool known = h->lists && h->lists <= LISTS_MAX;
    size_t i = known ? h->lists - 1 : 0;
    want_lines(h, 1);
    begin_text(h);
    if (h->markdown)
        buf_addf(h->out, "%*s", 3 * (int)i, "");
    h->item = true;
    if (!known || !h->count[i])
        return buf_addz(h->out, "- ");
    h->count[i] = xml_attr_number(&t->attrs, "value", h->count[i]);
    items_number(h->out, h->format[i], (int)h->count[i]++);
    return buf_addz(h->out, ". ");
}

/* Appends what a picture shows. */
static int put_picture(struct html *h, const struct tag *t)
{
    struct buf alt = BUF_INIT(4096);
    int rc = 0;
    if (xml_attr(&t->attrs, "alt", &alt) && alt.n && (rc = begin_text(h)) == 0)
        rc = buf_addf(h->out, "[Image: %.*s]", STR_ARG(buf_str(&alt)));
    buf_release(&alt);
    return rc;
}

/* Begins a list: its items have dots, or numbers in a format. */
static void begin_list(struct html *h, const struct tag *t)
{
    struct buf type = BUF_INIT(64);
    xml_attr(&t->attrs, "type", &type);
    h->format[h->lists - 1] = type.n ? *type.p : '1';
    h->count[h->lists - 1] = *t->name == 'o' ? xml_attr_number(&t->attrs, "start", 1) : 0;
    buf_release(&type);
}

static int open_tag(struct html *h, const struct tag *t, size_t from)
{
    char kind = kind_of(t->name);
    if (strcmp(t->name, "math") == 0)
        return put_math(h, from);
    if (kind == 'h') {
        char end[TAG_MAX + 2] = "</";
        memcpy(end + 2, t->name, sizeof(t->name));
        skip_to(h, end);
    } else if (strcmp(t->name, "br") == 0) {
        h->newline++;
        h->space = false;
    } else if (strcmp(t->name, "li") == 0) {
        return put_item_mark(h, t);
    } else if (strcmp(t->name, "img") == 0) {
        return put_picture(h, t);
    } else if (strcmp(t->name, "td") == 0 || strcmp(t->name, "th") == 0) {
        h->space = false;
        return h->newline ? 0 : put(h, STR("\t"));
    } else if (kind == 'p') {
        want_lines(h, 2);
        h->pre += strcmp(t->name, "pre") == 0;
        if (h->markdown && *t->name == 'h' && isdigit((unsigned char)t->name[1])) {
            put(h, str_of("###### " + ('6' - t->name[1])));
            h->item = true;
        }
    } else if (kind == 'b') {
        want_lines(h, 1);
    } else if (strcmp(t->name, "input") == 0 &&
               xml_attr_is(&t->attrs, "type", "checkbox")) {
        struct buf value = BUF_INIT(64);
        bool checked = xml_attr(&t->attrs, "checked", &value);
        buf_release(&value);
        return put(h, checked ? STR("☒ ") : STR("☐ "));
    }
    if (is_list(t) && ++h->lists <= LISTS_MAX)
        begin_list(h, t);
    return 0;
}

static void close_tag(struct html *h, const struct tag *t)
{
    char kind = kind_of(t->name);
    if (strcmp(t->name, "pre") == 0 && h->pre > 0)
        h->pre--;
    h->lists -= is_list(t) && h->lists;
    if (kind == 'p' || kind == 'b')
        want_lines(h, kind == 'p' ? 2 : 1);
}

/* Skips a comment or declaration. Returns true if there was one. */
static bool skip_comment(struct html *h)
{
    struct str rest = str_sub(h->s, h->at, 4);
    if (str_starts(rest, STR("<!--"))) {
        h->at += 4;
        skip_to(h, "-->");
        h->at = h->at + 3 < h->s.n ? h->at + 3 : h->s.n;
        return true;
    }
    if (rest.n < 2 || (rest.p[1] != '!' && rest.p[1] != '?'))
        return false;
    skip_to(h, ">");
    h->at = h->at < h->s.n ? h->at + 1 : h->at;
    return true;
}

int docread_html(struct str bytes, bool markdown, struct buf *out, struct err *e)
{
    struct buf utf8 = BUF_INIT(DOCREAD_FILE_MAX);
    char unknown[40];
    int rc = webcharset_read(bytes, STR(""), true, &utf8, unknown);
    struct html h = {
        .s = buf_str(&utf8), .from = out->n, .out = out, .markdown = markdown};
    while (rc == 0 && h.at < h.s.n) {
        struct tag t;
        size_t from = h.at;
        if (h.s.p[h.at] != '<')
            rc = take_char(&h);
        else if (skip_comment(&h))
            continue;
        else if (!read_tag(&h, &t))
            rc = take_char(&h);
        else if (t.closing)
            close_tag(&h, &t);
        else
            rc = open_tag(&h, &t, from);
    }
    if (rc == 0 && out->n > h.from)
        rc = buf_addc(out, '\n');
    buf_release(&utf8);
    return rc < 0 ? docread_too_long(out, e) : 0;
}
