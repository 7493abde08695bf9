/* SPDX-License-Identifier: MIT */
#include "document/xml.h"

#include "base/utf8.h"

enum { ENTITY_MAX = 12 };

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static struct str local(struct str name)
{
    long colon = str_chr(name, ':');
    return colon < 0 ? name : str_sub(name, (size_t)colon + 1, name.n);
}

/* ---- characters ---- */

static uint32_t number(struct str s)
{
    unsigned base = 10;
    uint32_t v = 0;
    if (s.n && (*s.p == 'x' || *s.p == 'X')) {
        base = 16;
        s = str_sub(s, 1, s.n);
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned d = c >= '0' && c <= '9' ? (unsigned)(c - '0')
                     : (c | 32) >= 'a' && (c | 32) <= 'f'
                         ? (unsigned)((c | 32) - 'a') + 10
                         : 99;
        if (d >= base || v > 0x10ffff)
            return 0;
        v = v * base + d;
    }
    return v;
}

bool xml_entity(struct str name, struct buf *out)
{
    static const struct {
        const char *name;
        char c;
    } five[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < sizeof(five) / sizeof(*five); i++) {
        if (str_eq(name, str_of(five[i].name)))
            return buf_addc(out, five[i].c) == 0;
    }
    if (name.n < 2 || *name.p != '#')
        return false;
    char c[4];
    uint32_t cp = number(str_sub(name, 1, name.n));
    if (cp == 0 || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return false;
    return buf_add(out, c, (size_t)utf8_encode(cp, c)) == 0;
}

static int resolve(struct str s, struct buf *out)
{
    while (s.n) {
        long amp = str_chr(s, '&');
        size_t n = amp < 0 ? s.n : (size_t)amp;
        if (buf_adds(out, str_sub(s, 0, n)) < 0)
            return -1;
        s = str_sub(s, n, s.n);
        if (!s.n)
            break;
        long end = str_chr(str_sub(s, 0, ENTITY_MAX), ';');
        if (end > 1 && xml_entity(str_sub(s, 1, (size_t)end - 1), out)) {
            s = str_sub(s, (size_t)end + 1, s.n);
        } else {
            if (buf_addc(out, '&') < 0)
                return -1;
            s = str_sub(s, 1, s.n);
        }
    }
    return 0;
}

bool xml_open(struct xml *x)
{
    enum xml_kind k;
    while ((k = xml_next(x)) != XML_END && k != XML_BAD) {
        if (k == XML_OPEN)
            return true;
    }
    return false;
}

int xml_text(const struct xml *x, struct buf *out)
{
    return x->raw ? buf_adds(out, x->text) : resolve(x->text, out);
}

/* ---- pieces ---- */

/* Skips everything up to and with `end`. Returns false if it is missing. */
static bool skip_past(struct xml *x, struct str end)
{
    struct str rest = str_sub(x->s, x->at, x->s.n);
    const char *p = rest.n >= end.n ? memmem(rest.p, rest.n, end.p, end.n) : NULL;
    if (p)
        x->at += (size_t)(p - rest.p) + end.n;
    return p != NULL;
}

/* Skips <!DOCTYPE … [ … ] >. */
static bool skip_declaration(struct xml *x)
{
    int depth = 0;
    for (; x->at < x->s.n; x->at++) {
        char c = x->s.p[x->at];
        depth += (c == '[') - (c == ']');
        if (c == '>' && depth <= 0) {
            x->at++;
            return true;
        }
    }
    return false;
}

/* Returns where a tag ends: at a > that is not in quotes. */
static size_t tag_end(struct str s, size_t at)
{
    char quote = 0;
    for (; at < s.n; at++) {
        char c = s.p[at];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>')
            break;
    }
    return at;
}

static enum xml_kind tag(struct xml *x)
{
    bool closing = x->at + 1 < x->s.n && x->s.p[x->at + 1] == '/';
    size_t from = x->at + 1 + closing, end = tag_end(x->s, from);
    if (end >= x->s.n)
        return XML_BAD;
    struct str body = str_sub(x->s, from, end - from);
    x->at = end + 1;
    if (!closing && body.n && body.p[body.n - 1] == '/') {
        x->close = true;
        body.n--;
    }
    size_t n = 0;
    while (n < body.n && !is_space(body.p[n]))
        n++;
    x->name = local(str_sub(body, 0, n));
    x->attrs = str_sub(body, n, body.n);
    if (!closing) {
        x->depth++;
        return XML_OPEN;
    }
    if (x->depth == 0)
        return XML_BAD;
    x->depth--;
    return XML_CLOSE;
}

static enum xml_kind text(struct xml *x)
{
    struct str rest = str_sub(x->s, x->at, x->s.n);
    long n = str_chr(rest, '<');
    x->text = n < 0 ? rest : str_sub(rest, 0, (size_t)n);
    x->raw = false;
    x->at += x->text.n;
    return XML_TEXT;
}

static enum xml_kind cdata(struct xml *x)
{
    size_t from = x->at + 9;
    if (!skip_past(x, STR("]]>")))
        return XML_BAD;
    x->text = x->at < from + 3 ? str_n(NULL, 0) : str_sub(x->s, from, x->at - 3 - from);
    x->raw = true;
    return XML_TEXT;
}

enum xml_kind xml_next(struct xml *x)
{
    if (x->close) {
        x->close = false;
        x->depth--;
        return XML_CLOSE;
    }
    while (x->at < x->s.n) {
        struct str rest = str_sub(x->s, x->at, x->s.n);
        if (*rest.p != '<')
            return text(x);
        if (str_starts(rest, STR("<![CDATA[")))
            return cdata(x);
        bool ok = true;
        if (str_starts(rest, STR("<!--")))
            ok = skip_past(x, STR("-->"));
        else if (str_starts(rest, STR("<?")))
            ok = skip_past(x, STR("?>"));
        else if (str_starts(rest, STR("<!")))
            ok = skip_declaration(x);
        else
            return tag(x);
        if (!ok)
            return XML_BAD;
    }
    return x->depth ? XML_BAD : XML_END;
}

bool xml_is(const struct xml *x, const char *name)
{
    return str_eq(x->name, str_of(name));
}

/* ---- attributes ---- */

static bool attribute(const struct xml *x, struct str wanted, bool prefixed,
                      struct buf *out)
{
    struct str s = x->attrs;
    for (size_t at = 0; at < s.n;) {
        while (at < s.n && is_space(s.p[at]))
            at++;
        size_t from = at;
        while (at < s.n && s.p[at] != '=' && !is_space(s.p[at]))
            at++;
        struct str name = str_sub(s, from, at - from);
        while (at < s.n && is_space(s.p[at]))
            at++;
        if (at + 1 >= s.n)
            return false;
        if (s.p[at] != '=')
            continue; /* HTML: no value, and below no quotes */
        do
            at++;
        while (at < s.n && is_space(s.p[at]));
        char quote = at < s.n && (s.p[at] == '"' || s.p[at] == '\'') ? s.p[at++] : 0;
        size_t value = at;
        while (at < s.n && (quote ? s.p[at] != quote : !is_space(s.p[at])))
            at++;
        if (str_eq(local(name), wanted) && (!prefixed || name.n > wanted.n))
            return resolve(str_sub(s, value, at - value), out) == 0;
        at++;
    }
    return false;
}

bool xml_attr(const struct xml *x, const char *name, struct buf *out)
{
    return attribute(x, str_of(name), false, out);
}

bool xml_attr_prefixed(const struct xml *x, const char *name, struct buf *out)
{
    return attribute(x, str_of(name), true, out);
}

bool xml_attr_is(const struct xml *x, const char *name, const char *value)
{
    struct buf b = BUF_INIT(4096);
    bool same = xml_attr(x, name, &b) && str_eq(buf_str(&b), str_of(value));
    buf_release(&b);
    return same;
}

uint64_t xml_attr_number(const struct xml *x, const char *name, uint64_t dflt)
{
    struct buf b = BUF_INIT(64);
    uint64_t n = dflt;
    if (xml_attr(x, name, &b))
        str_to_u64(buf_str(&b), &n);
    buf_release(&b);
    return n;
}
