/* SPDX-License-Identifier: MIT */
/*
 * HTML to text, tag by tag without a tree (HTML standard, 13.2.5, as far as text needs
 * it). White space becomes one blank, blocks begin lines, tabs separate the cells of a
 * table, scripts and styles are left out.
 */
#include "document/math.h"
#include "document/own.h"
#include "text/glyph.h"

enum { TAG_MAX = 16, ENTITY_MAX = 16 };

struct html {
    struct str s;
    size_t at, from; /* from: where the text begins in out */
    struct buf *out;
    int pre;
    bool space;  /* blanks were seen, and nothing since */
    int newline; /* line ends that are due */
    bool item;   /* the mark of a list's item was just written */
};

struct tag {
    char name[TAG_MAX];
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

/*
 * Finds the letter of a name that is a glyph's name with another ending (13.5, Latin and
 * Greek).
 */
static size_t letter(struct str name, char *out, size_t room)
{
    static const struct {
        const char *html, *glyph;
    } endings[] = {{"uml", "dieresis"},
                   {"circ", "circumflex"},
                   {"cedil", "cedilla"},
                   {"slash", "slash"},
                   {"lig", ""}};
    char glyph[32];
    struct buf b = BUF_INIT(sizeof(glyph) - 1);
    size_t n = 0;
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        struct str ending = str_of(endings[i].html);
        if (name.n > ending.n && name.n < 10 && str_ends(name, ending)) {
            buf_addf(&b, "%.*s%s", (int)(name.n - ending.n), name.p, endings[i].glyph);
            n = glyph_text(buf_str(&b), out, room);
            buf_release(&b);
            return n;
        }
    }
    return name.n > 1 ? glyph_text(name, out, room) : 0;
}

static bool entity(struct str name, struct buf *out)
{
    /* clang-format off */
    static const char some[] =
        "\1nbsp\2 \1mdash\2—\1ndash\2–\1hellip\2…\1lsquo\2‘\1rsquo\2’\1ldquo\2“"
        "\1rdquo\2”\1bull\2•\1middot\2·\1laquo\2«\1raquo\2»\1copy\2©\1reg\2®\1trade\2™"
        "\1times\2×\1deg\2°\1plusmn\2±\1le\2≤\1ge\2≥\1ne\2≠\1larr\2←\1rarr\2→\1uarr\2↑"
        "\1darr\2↓\1sect\2§\1para\2¶\1pound\2£\1iexcl\2¡\1iquest\2¿\1szlig\2ß"
        "\1frac12\2½\1frac14\2¼\1sup2\2²\1sup3\2³\1not\2¬\1thinsp\2 \1ensp\2 \1emsp\2 "
        "\1shy\2\1zwj\2\1zwnj\2\1infin\2∞\1minus\2−\1check\2✓\1hearts\2♥\1dash\2‐"
        "\1prime\2′\1";
    /* clang-format on */
    char text[16];
    if (xml_entity(name, out))
        return true;
    const char *found = docread_word(some, name);
    if (found[-1] == 2) /* it is there, maybe without a text */
        return buf_add(out, found, strcspn(found, "\1")) == 0;
    size_t n = letter(name, text, sizeof(text));
    return n && buf_add(out, text, n) == 0;
}

/* Takes one character, or an entity. */
static int take_char(struct html *h)
{
    struct str rest = str_sub(h->s, h->at, ENTITY_MAX);
    if (*rest.p == '&') {
        char text[8];
        struct buf b = BUF_INIT(sizeof(text));
        long end = str_chr(rest, ';');
        bool known = end > 1 && entity(str_sub(rest, 1, (size_t)end - 1), &b);
        int rc = 0;
        if (known) {
            h->at += (size_t)end + 1;
            if (str_eq(buf_str(&b), STR(" ")) && !h->pre)
                h->space = true;
            else
                rc = put(h, buf_str(&b));
            buf_release(&b);
            return rc;
        }
        buf_release(&b);
    }
    h->at++;
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
        "\1address\2b\1article\2b\1aside\2b\1body\2b\1caption\2b\1center\2b\1dd\2b"
        "\1details\2b\1div\2b\1dl\2b\1dt\2b\1fieldset\2b\1figcaption\2b\1figure\2b"
        "\1footer\2b\1form\2b\1header\2b\1html\2b\1legend\2b\1li\2b\1main\2b\1nav\2b"
        "\1ol\2b\1option\2b\1section\2b\1summary\2b\1table\2b\1tbody\2b\1tfoot\2b"
        "\1thead\2b\1title\2b\1tr\2b\1ul\2b\1p\2p\1h1\2p\1h2\2p\1h3\2p\1h4\2p\1h5\2p"
        "\1h6\2p\1hr\2p\1blockquote\2p\1pre\2p\1script\2h\1style\2h\1template\2h"
        "\1svg\2h\1noscript\2h\1";
    return *docread_word(tags, str_of(name));
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
    char quote = 0;
    for (; at < h->s.n && (quote || h->s.p[at] != '>'); at++) {
        char c = h->s.p[at];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if ((c == '"' || c == '\'') && h->s.p[at - 1] == '=')
            quote = c;
    }
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

static int open_tag(struct html *h, const struct tag *t, size_t from)
{
    if (strcmp(t->name, "math") == 0)
        return put_math(h, from);
    if (kind_of(t->name) == 'h') {
        char end[TAG_MAX + 2] = "</";
        memcpy(end + 2, t->name, sizeof(t->name));
        skip_to(h, end);
    } else if (strcmp(t->name, "br") == 0) {
        h->newline++;
        h->space = false;
    } else if (strcmp(t->name, "li") == 0) {
        want_lines(h, 1);
        int rc = put(h, STR("- "));
        h->item = true;
        return rc;
    } else if (strcmp(t->name, "pre") == 0) {
        want_lines(h, 2);
        h->pre++;
    } else if (strcmp(t->name, "td") == 0 || strcmp(t->name, "th") == 0) {
        h->space = false;
        return h->newline ? 0 : put(h, STR("\t"));
    } else if (kind_of(t->name) == 'p') {
        want_lines(h, 2);
    } else if (kind_of(t->name) == 'b') {
        want_lines(h, 1);
    }
    return 0;
}

static void close_tag(struct html *h, const struct tag *t)
{
    if (strcmp(t->name, "pre") == 0 && h->pre > 0)
        h->pre--;
    if (kind_of(t->name) == 'p')
        want_lines(h, 2);
    else if (kind_of(t->name) == 'b')
        want_lines(h, 1);
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

int docread_html(struct str bytes, struct buf *out, struct err *e)
{
    struct html h = {.s = bytes, .from = out->n, .out = out};
    int rc = 0;
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
    return rc < 0 ? docread_too_long(out, e) : 0;
}
