/* SPDX-License-Identifier: MIT */
/*
 * HTML to tokens: HTML standard, 13.2.5. Text comes in runs up to the next tag; a run
 * without references and carriage returns is a slice of the page.
 */
#include "html/own.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool is_letter(char c)
{
    c = lower(c);
    return c >= 'a' && c <= 'z';
}

/* ---- names ---- */

static const struct {
    char name[11];
    uint8_t flags;
} tags[] = {
#define PLAIN          HTML_IS_PLAIN
#define SPECIAL        HTML_IS_SPECIAL
#define FORMAT         HTML_IS_FORMAT
#define SCOPE          HTML_IS_SCOPE
#define VOID           HTML_IS_VOID
#define BLOCK          HTML_IS_BLOCK
#define HEAD           HTML_IS_HEAD
#define RAW            HTML_IS_RAW
#define TEXT           HTML_IS_TEXT
#define X(name, flags) {#name, flags},
    HTML_TAGS(X)
#undef X
};

enum { TAGS = sizeof(tags) / sizeof(*tags) };

unsigned html_flags(enum html_tag tag)
{
    return tag > HTML_OTHER && tag < HTML_NOTE ? tags[tag - HTML_OTHER - 1].flags : 0;
}

enum html_tag html_tag_of(struct str name)
{
    size_t low = 0, high = TAGS;
    while (low < high) {
        size_t mid = (low + high) / 2;
        struct str have = str_of(tags[mid].name);
        size_t n = have.n < name.n ? have.n : name.n;
        int c = memcmp(name.p, have.p, n);
        c = c ? c : (name.n > have.n) - (name.n < have.n);
        if (c == 0)
            return (enum html_tag)(HTML_OTHER + 1 + mid);
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return HTML_OTHER;
}

/* ---- text ---- */

enum {
    REFS = 1, /* references are read */
    ATTR = 2, /* within a value */
    NULS = 4, /* U+0000 is kept for the tree to decide; else it becomes U+FFFD */
};

static bool is_as_it_stands(struct str s, unsigned how)
{
    return !memchr(s.p, '\r', s.n) && !((how & REFS) && memchr(s.p, '&', s.n)) &&
           ((how & NULS) || !memchr(s.p, '\0', s.n));
}

/*
 * Sets *out to s with its references resolved and line ends as LF. Returns false if the
 * arena is full.
 */
static bool cooked(struct html_tokens *t, struct str s, unsigned how, struct str *out)
{
    *out = s;
    if (s.n == 0 || is_as_it_stands(s, how))
        return true;
    /* The text of a reference is at most a byte or two longer than the reference. */
    size_t nuls = how & NULS ? 0 : str_count(s, '\0');
    char *p = arena_get(t->a, (s.n + nuls) * 2 + 8);
    if (!p)
        return false;
    size_t n = 0;
    char text[16];
    struct buf b = BUF_INIT(sizeof(text) - 1);
    for (size_t i = 0; i < s.n;) {
        size_t used = (how & REFS) && s.p[i] == '&'
                          ? html_entity(str_sub(s, i, s.n), how & ATTR, &b)
                          : 0;
        if (used) {
            memcpy(p + n, b.p, b.n);
            n += b.n;
            buf_reset(&b);
            i += used;
            continue;
        }
        char c = s.p[i++];
        if (c == '\r') {
            c = '\n';
            i += i < s.n && s.p[i] == '\n';
        }
        if (c || (how & NULS)) {
            p[n++] = c;
        } else {
            memcpy(p + n, "\xEF\xBF\xBD", 3);
            n += 3;
        }
    }
    buf_release(&b);
    *out = str_n(p, n);
    return true;
}

/* A name in small letters. */
static bool lowered(struct html_tokens *t, struct str s, struct str *out)
{
    if (!cooked(t, s, 0, out))
        return false;
    s = *out;
    size_t i = 0;
    while (i < s.n && lower(s.p[i]) == s.p[i])
        i++;
    if (i == s.n)
        return true;
    char *p = arena_get(t->a, s.n);
    if (!p)
        return false;
    for (i = 0; i < s.n; i++)
        p[i] = lower(s.p[i]);
    *out = str_n(p, s.n);
    return true;
}

/* ---- tags ---- */

static void pass_blanks(struct html_tokens *t)
{
    while (t->at < t->s.n && is_blank(t->s.p[t->at]))
        t->at++;
}

/* Takes what comes before one of these characters, or the rest of the page. */
static struct str take_until(struct html_tokens *t, const char *stops)
{
    size_t from = t->at;
    while (t->at < t->s.n && !(t->s.p[t->at] && strchr(stops, t->s.p[t->at])))
        t->at++;
    return str_sub(t->s, from, t->at - from);
}

static struct str take_value(struct html_tokens *t)
{
    pass_blanks(t);
    char c = t->at < t->s.n ? t->s.p[t->at] : '\0';
    if (c != '"' && c != '\'')
        return take_until(t, " \t\n\r\f>");
    t->at++;
    struct str value = take_until(t, c == '"' ? "\"" : "'");
    t->at += t->at < t->s.n;
    return value;
}

static bool take_attr(struct html_tokens *t, struct html_token *out, unsigned *count,
                      struct html_attr ***end)
{
    struct str name, value = STR("");
    size_t from = t->at;
    t->at++; /* a `=` in the first place is part of the name */
    take_until(t, " \t\n\r\f/>=");
    name = str_sub(t->s, from, t->at - from);
    pass_blanks(t);
    if (t->at < t->s.n && t->s.p[t->at] == '=') {
        t->at++;
        value = take_value(t);
    }
    if (*count >= HTML_ATTRS_MAX)
        return true;
    if (!lowered(t, name, &name))
        return false;
    for (struct html_attr *a = out->attrs; a; a = a->next) {
        if (str_eq(a->name, name))
            return true;
    }
    struct html_attr *a = arena_get(t->a, sizeof(*a));
    if (!a || !cooked(t, value, REFS | ATTR, &value))
        return false;
    *a = (struct html_attr){.name = name, .value = value};
    **end = a;
    *end = &a->next;
    ++*count;
    return true;
}

/*
 * Reads a tag, from its name on. A tag that is cut off by the end of the page is dropped.
 */
static bool take_tag(struct html_tokens *t, struct html_token *out, enum html_kind kind)
{
    unsigned count = 0;
    struct html_attr **end = &out->attrs;
    *out = (struct html_token){.kind = kind};
    if (!lowered(t, take_until(t, " \t\n\r\f/>"), &out->text))
        return false;
    out->tag = html_tag_of(out->text);
    for (;;) {
        pass_blanks(t);
        if (t->at >= t->s.n) {
            *out = (struct html_token){.kind = HTML_END_OF_FILE};
            return true;
        }
        char c = t->s.p[t->at];
        if (c == '>') {
            t->at++;
            return true;
        }
        if (c == '/') {
            t->at++;
            out->closed = t->at < t->s.n && t->s.p[t->at] == '>';
        } else if (!take_attr(t, out, &count, &end)) {
            return false;
        }
    }
}

/* ---- comments, declarations ---- */

/* Makes a comment token. Returns true if comments are wanted. */
static bool put_comment(struct html_tokens *t, struct html_token *out, struct str text,
                        bool *ok)
{
    if (!t->notes)
        return false;
    *out = (struct html_token){.kind = HTML_COMMENT};
    *ok = cooked(t, text, 0, &out->text);
    return true;
}

/* Reads invalid markup as a comment, up to the next `>`. */
static bool take_bogus(struct html_tokens *t, struct html_token *out, bool *ok)
{
    struct str text = take_until(t, ">");
    t->at += t->at < t->s.n;
    return put_comment(t, out, text, ok);
}

/* 13.2.5.43 and on: "<!-->" and "<!--->" are complete, "--!>" is an end too. */
static bool take_comment(struct html_tokens *t, struct html_token *out, bool *ok)
{
    struct str rest = str_sub(t->s, t->at, t->s.n);
    if (str_starts(rest, STR(">")) || str_starts(rest, STR("->"))) {
        t->at += rest.p[0] == '>' ? 1 : 2;
        return put_comment(t, out, STR(""), ok);
    }
    for (size_t i = 0; i + 2 < rest.n; i++) {
        if (rest.p[i] != '-' || rest.p[i + 1] != '-')
            continue;
        bool mark = rest.p[i + 2] == '!';
        if (i + 2 + mark < rest.n && rest.p[i + 2 + mark] == '>') {
            t->at += i + 3 + mark;
            return put_comment(t, out, str_sub(rest, 0, i), ok);
        }
    }
    t->at = t->s.n;
    /* The page ends within the comment, or within the end of the comment. */
    if (str_ends(rest, STR("--!")))
        rest.n -= 3;
    else if (str_ends(rest, STR("--")))
        rest.n -= 2;
    else if (str_ends(rest, STR("-")))
        rest.n -= 1;
    return put_comment(t, out, rest, ok);
}

/* ---- doctypes: 13.2.5.53 and on ---- */

static bool takes_word(struct html_tokens *t, const char *word)
{
    struct str s = str_sub(t->s, t->at, strlen(word));
    if (s.n < strlen(word))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (lower(s.p[i]) != word[i])
            return false;
    }
    t->at += s.n;
    return true;
}

static char here(const struct html_tokens *t)
{
    return t->at < t->s.n ? t->s.p[t->at] : '\0';
}

/* Reads a quoted identifier. Returns false if there is none, or it has no end. */
static bool take_id(struct html_tokens *t, struct str *id, bool *ok)
{
    pass_blanks(t);
    char quote = here(t);
    if (quote != '"' && quote != '\'')
        return false;
    t->at++;
    struct str text = take_until(t, quote == '"' ? "\">" : "'>");
    *ok = *ok && cooked(t, text, 0, id);
    if (here(t) != quote)
        return false;
    t->at++;
    return true;
}

/*
 * Reads what follows the name. Returns false if the page is in quirks mode in any case.
 */
static bool take_ids(struct html_tokens *t, struct html_doctype *d, bool *ok)
{
    pass_blanks(t);
    if (here(t) == '>')
        return true;
    if (takes_word(t, "public")) {
        if (!take_id(t, &d->public_id, ok))
            return false;
        pass_blanks(t);
        if (here(t) == '>')
            return true;
    } else if (!takes_word(t, "system")) {
        return false;
    }
    if (!take_id(t, &d->system_id, ok))
        return false;
    pass_blanks(t);
    return t->at < t->s.n;
}

static void take_doctype(struct html_tokens *t, struct html_token *out, bool *ok)
{
    *out = (struct html_token){.kind = HTML_DOCTYPE};
    pass_blanks(t);
    *ok = lowered(t, take_until(t, " \t\n\r\f>"), &out->text);
    out->doctype.force_quirks = !take_ids(t, &out->doctype, ok) || out->text.n == 0;
    take_until(t, ">");
    t->at += t->at < t->s.n;
}

/* ---- content that is text ---- */

/* Whether s begins with name (in small letters) and the name ends there. */
static bool is_name(struct str s, struct str name)
{
    if (s.n < name.n)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        if (lower(s.p[i]) != name.p[i])
            return false;
    }
    return s.n > name.n &&
           (is_blank(s.p[name.n]) || s.p[name.n] == '/' || s.p[name.n] == '>');
}

/*
 * Returns where the content ends. A script in a comment in a script has an end tag of its
 * own (13.2.5.27).
 */
static size_t raw_end(const struct html_tokens *t)
{
    bool script = str_eq(t->raw, STR("script"));
    int depth = 0;
    for (size_t i = t->at; i < t->s.n; i++) {
        struct str s = str_sub(t->s, i, t->s.n);
        if (*s.p == '-' && depth && str_starts(s, STR("-->")))
            depth = 0;
        if (*s.p != '<')
            continue;
        if (s.n > 2 && s.p[1] == '/' && is_name(str_sub(s, 2, s.n), t->raw)) {
            if (depth < 2)
                return i;
            depth = 1;
        } else if (script && depth == 0 && str_starts(s, STR("<!--"))) {
            depth = 1;
        } else if (script && depth == 1 && is_name(str_sub(s, 1, s.n), t->raw)) {
            depth = 2;
        }
    }
    return t->s.n;
}

bool html_token_ends(struct html_tokens *t, enum html_tag tag, struct str name)
{
    if (!t->endless[tag]) {
        t->raw = name;
        t->endless[tag] = raw_end(t) == t->s.n;
        t->raw = (struct str){0};
    }
    return !t->endless[tag];
}

static bool take_chars(struct html_tokens *t, struct html_token *out, size_t end,
                       unsigned how)
{
    *out = (struct html_token){.kind = HTML_CHARS};
    struct str s = str_sub(t->s, t->at, end - t->at);
    t->at = end;
    return cooked(t, s, how, &out->text);
}

/* ---- all of it ---- */

/* Reads what follows "<!". Returns true if out has a token. */
static bool take_declaration(struct html_tokens *t, struct html_token *out, bool *ok)
{
    struct str rest = str_sub(t->s, t->at, t->s.n);
    if (str_starts(rest, STR("--"))) {
        t->at += 2;
        return take_comment(t, out, ok);
    }
    if (takes_word(t, "doctype")) {
        take_doctype(t, out, ok);
        return true;
    }
    if (!t->cdata || !str_starts(rest, STR("[CDATA[")))
        return take_bogus(t, out, ok);
    t->at += 7;
    long n = str_find(str_sub(t->s, t->at, t->s.n), STR("]]>"));
    size_t end = n < 0 ? t->s.n : t->at + (size_t)n;
    *ok = take_chars(t, out, end, NULS);
    t->at = n < 0 ? end : end + 3;
    return true;
}

/* Reads what begins at a `<`. Returns true if out has a token; else it was skipped. */
static bool take_markup(struct html_tokens *t, struct html_token *out, bool *ok)
{
    struct str s = str_sub(t->s, t->at, 3);
    if (s.n > 1 && is_letter(s.p[1])) {
        t->at++;
        *ok = take_tag(t, out, HTML_START);
        return true;
    }
    if (s.n > 2 && s.p[1] == '/' && is_letter(s.p[2])) {
        t->at += 2;
        *ok = take_tag(t, out, HTML_END);
        return true;
    }
    t->at += s.p[1] == '?' ? 1 : 2; /* the question mark is part of the comment */
    if (s.p[1] == '!')
        return take_declaration(t, out, ok);
    if (s.p[1] == '/' && s.p[2] == '>') {
        t->at++;
        return false;
    }
    return take_bogus(t, out, ok);
}

static bool is_markup(struct str s)
{
    if (s.n < 2)
        return false;
    return is_letter(s.p[1]) || s.p[1] == '!' || s.p[1] == '?' ||
           (s.p[1] == '/' && s.n > 2);
}

static size_t text_end(const struct html_tokens *t)
{
    for (size_t i = t->at; i < t->s.n;) {
        const char *p = memchr(t->s.p + i, '<', t->s.n - i);
        if (!p)
            break;
        i = (size_t)(p - t->s.p);
        if (is_markup(str_sub(t->s, i, 3)))
            return i;
        i++;
    }
    return t->s.n;
}

bool html_token(struct html_tokens *t, struct html_token *out)
{
    *out = (struct html_token){.kind = HTML_END_OF_FILE};
    if (t->raw.p) {
        size_t end = t->rest ? t->s.n : raw_end(t);
        unsigned how = t->raw_refs ? REFS : 0;
        bool some = end > t->at;
        t->raw = (struct str){0};
        if (some)
            return take_chars(t, out, end, how);
    }
    while (t->at < t->s.n) {
        bool ok = true;
        size_t end = text_end(t);
        if (end > t->at)
            return take_chars(t, out, end, REFS | NULS);
        if (take_markup(t, out, &ok))
            return ok;
    }
    return true;
}
