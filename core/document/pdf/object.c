/* SPDX-License-Identifier: MIT */
/* The syntax of PDF objects (7.2, 7.3), for files, content and CMaps alike. */
#include "document/pdf/own.h"

#include <math.h>

enum { ITEMS = 8 };

bool pdf_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0;
}

static bool is_delimiter(char c)
{
    switch (c) {
    case '(':
    case ')':
    case '<':
    case '>':
    case '[':
    case ']':
    case '{':
    case '}':
    case '/':
    case '%':
        return true;
    default:
        return false;
    }
}

bool pdf_is_word(struct pdf_obj o, const char *word)
{
    return o.type == PDF_WORD && str_eq(o.s, str_of(word));
}

void pdf_skip_space(struct pdf_lex *l)
{
    while (l->at < l->s.n) {
        char c = l->s.p[l->at];
        if (c == '%') {
            while (l->at < l->s.n && l->s.p[l->at] != '\n' && l->s.p[l->at] != '\r')
                l->at++;
        } else if (pdf_is_space(c)) {
            l->at++;
        } else {
            return;
        }
    }
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- numbers, words, names ---- */

/* Reads digits, signs and a point, in any order, as damaged files have them. */
static struct pdf_obj number(struct str s)
{
    double value = 0, part = 0;
    bool negative = false, point = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '-' && i == 0) {
            negative = true;
        } else if (c == '.' && !point) {
            point = true;
            part = 1;
        } else if (c >= '0' && c <= '9') {
            value = value * 10 + (c - '0');
            part *= 10;
        } else if (c == '.' || (c == '-' && i > 1)) {
            break;
        }
    }
    if (point)
        value /= part;
    value = negative ? -value : value;
    if (point || fabs(value) > 9e15)
        return (struct pdf_obj){.type = PDF_REAL, .r = value};
    return (struct pdf_obj){.type = PDF_INT, .i = (int64_t)value};
}

static bool is_number(struct str s)
{
    bool digit = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c >= '0' && c <= '9')
            digit = true;
        else if (c != '.' && c != '-' && (c != '+' || i))
            return false;
    }
    return digit || (s.n == 1 && (s.p[0] == '-' || s.p[0] == '.'));
}

static struct str regular(struct pdf_lex *l)
{
    size_t from = l->at;
    while (l->at < l->s.n && !pdf_is_space(l->s.p[l->at]) && !is_delimiter(l->s.p[l->at]))
        l->at++;
    return str_sub(l->s, from, l->at - from);
}

/* 7.3.10: after a number, " 0 R" makes it a reference. */
static bool take_ref(struct pdf_lex *l)
{
    struct str s = l->s;
    size_t at = l->at;
    while (at < s.n && pdf_is_space(s.p[at]))
        at++;
    size_t digits = at;
    while (at < s.n && at - digits < 6 && s.p[at] >= '0' && s.p[at] <= '9')
        at++;
    if (at == digits || at >= s.n || !pdf_is_space(s.p[at]))
        return false;
    while (at < s.n && pdf_is_space(s.p[at]))
        at++;
    if (at >= s.n || s.p[at] != 'R')
        return false;
    at++;
    if (at < s.n && !pdf_is_space(s.p[at]) && !is_delimiter(s.p[at]))
        return false;
    l->at = at;
    return true;
}

static struct pdf_obj word(struct pdf_lex *l)
{
    struct str s = regular(l);
    if (!s.n) { /* a brace, or a parenthesis that nothing opened */
        s = str_sub(l->s, l->at, 1);
        l->at++;
    }
    if (is_number(s)) {
        struct pdf_obj o = number(s);
        if (l->refs && o.type == PDF_INT && o.i >= 0 && o.i < PDF_OBJECTS_MAX &&
            take_ref(l))
            return (struct pdf_obj){.type = PDF_REF, .ref = (uint32_t)o.i};
        return o;
    }
    if (str_eq(s, STR("true")) || str_eq(s, STR("false")))
        return (struct pdf_obj){.type = PDF_BOOL, .flag = s.n == 4};
    if (str_eq(s, STR("null")))
        return (struct pdf_obj){.type = PDF_NULL};
    return (struct pdf_obj){.type = PDF_WORD, .s = s};
}

/* 7.3.5: #41 is A. Copied only if there is one. */
static struct pdf_obj name(struct pdf_lex *l)
{
    l->at++;
    struct str s = regular(l);
    if (str_chr(s, '#') >= 0) {
        char *p = arena_copy(l->a, s);
        size_t n = 0;
        for (size_t i = 0; p && i < s.n; i++) {
            bool escaped = s.p[i] == '#' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 &&
                           hex(s.p[i + 2]) >= 0;
            p[n++] = escaped ? (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2])) : s.p[i];
            i += escaped ? 2 : 0;
        }
        s = str_n(p, n);
    }
    return (struct pdf_obj){.type = PDF_NAME, .s = s};
}

/* ---- strings (7.3.4) ---- */

/* Reads what follows a backslash. Returns the character, or -1 if there is none. */
static int escape(struct pdf_lex *l)
{
    char c = l->at < l->s.n ? l->s.p[l->at++] : '\n';
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case '\r':
        if (l->at < l->s.n && l->s.p[l->at] == '\n')
            l->at++;
        return -1;
    case '\n':
        return -1;
    default:
        break;
    }
    if (c < '0' || c > '7')
        return (unsigned char)c;
    int value = c - '0';
    for (int i = 0; i < 2 && l->at < l->s.n; i++) {
        c = l->s.p[l->at];
        if (c < '0' || c > '7')
            break;
        value = value * 8 + c - '0';
        l->at++;
    }
    return value & 255;
}

/* Reads up to the closing parenthesis, and copies the bytes to `to` unless it is NULL. */
static size_t literal(struct pdf_lex *l, char *to)
{
    size_t n = 0;
    int depth = 1;
    while (l->at < l->s.n) {
        int c = (unsigned char)l->s.p[l->at++];
        if (c == ')' && --depth == 0)
            break;
        if (c == '(')
            depth++;
        else if (c == '\\')
            c = escape(l);
        if (c >= 0 && to)
            to[n] = (char)c;
        n += c >= 0;
    }
    return n;
}

static struct pdf_obj literal_string(struct pdf_lex *l)
{
    size_t from = ++l->at;
    size_t n = literal(l, NULL);
    struct str s = str_sub(l->s, from, n);
    /* A string without escapes is a slice of the file. */
    if (n && memchr(s.p, '\\', n)) {
        char *p = arena_get(l->a, n);
        l->at = from;
        literal(l, p);
        s = str_n(p, p ? n : 0);
    }
    return (struct pdf_obj){.type = PDF_STRING, .s = s};
}

static struct pdf_obj hex_string(struct pdf_lex *l)
{
    size_t from = ++l->at;
    const char *end = memchr(l->s.p + from, '>', l->s.n - from);
    size_t to = end ? (size_t)(end - l->s.p) : l->s.n;
    l->at = end ? to + 1 : to;
    char *p = arena_get(l->a, (to - from) / 2 + 1);
    size_t digits = 0;
    for (size_t i = from; p && i < to; i++) {
        int v = hex(l->s.p[i]);
        if (v < 0)
            continue;
        p[digits / 2] |= (char)(digits % 2 ? v : v << 4);
        digits++;
    }
    return (struct pdf_obj){.type = PDF_STRING, .s = {p, (digits + 1) / 2}};
}

/* ---- arrays and dictionaries ---- */

static struct pdf_obj parse(struct pdf_lex *l, int depth);

/* Reads objects up to the closing bracket; *n is their number. */
static struct pdf_obj *items(struct pdf_lex *l, int depth, size_t *n)
{
    size_t room = ITEMS;
    struct pdf_obj *item = arena_get(l->a, room * sizeof(*item));
    *n = 0;
    while (item) {
        struct pdf_obj o = parse(l, depth + 1);
        if (o.type == PDF_END || o.type == PDF_CLOSE)
            break;
        if (pdf_is_word(o, "endobj") || pdf_is_word(o, "stream")) {
            l->at -= o.s.n;
            break;
        }
        if (o.type == PDF_WORD)
            continue;
        if (*n == room) {
            struct pdf_obj *more = arena_get(l->a, 2 * room * sizeof(*item));
            if (!more)
                break;
            item = memcpy(more, item, room * sizeof(*item));
            room *= 2;
        }
        item[(*n)++] = o;
    }
    return item;
}

static struct pdf_obj array(struct pdf_lex *l, int depth)
{
    l->at++;
    struct pdf_array *a = arena_get(l->a, sizeof(*a));
    if (!a)
        return (struct pdf_obj){.type = PDF_END};
    a->item = items(l, depth, &a->n);
    return (struct pdf_obj){.type = PDF_ARRAY, .array = a};
}

static struct pdf_obj dict(struct pdf_lex *l, int depth)
{
    l->at += 2;
    size_t n = 0, pairs = 0;
    struct pdf_dict *d = arena_get(l->a, sizeof(*d));
    struct pdf_obj *item = items(l, depth, &n);
    struct pdf_pair *pair = d ? arena_get(l->a, (n / 2 + 1) * sizeof(*pair)) : NULL;
    if (!pair)
        return (struct pdf_obj){.type = PDF_END};
    for (size_t i = 0; i + 1 < n;) {
        if (item[i].type != PDF_NAME) {
            i++;
            continue;
        }
        pair[pairs++] = (struct pdf_pair){item[i].s, item[i + 1]};
        i += 2;
    }
    *d = (struct pdf_dict){pairs, pair};
    return (struct pdf_obj){.type = PDF_DICT, .dict = d};
}

static struct pdf_obj parse(struct pdf_lex *l, int depth)
{
    pdf_skip_space(l);
    if (l->at >= l->s.n || depth > PDF_DEPTH_MAX || !pdf_work(l->d, 1))
        return (struct pdf_obj){.type = PDF_END};
    char c = l->s.p[l->at];
    char next = l->at + 1 < l->s.n ? l->s.p[l->at + 1] : 0;
    if (c == '/')
        return name(l);
    if (c == '(' || (c == '<' && next != '<')) {
        struct pdf_obj o = c == '(' ? literal_string(l) : hex_string(l);
        if (l->encrypted)
            o.s = pdf_decrypt_string(l->d, l->a, o.s, l->number, l->generation);
        return o;
    }
    if (c == '<')
        return dict(l, depth);
    if (c == '[')
        return array(l, depth);
    if (c == ']' || c == '>') {
        l->at += c == '>' && next == '>' ? 2 : 1;
        return (struct pdf_obj){.type = PDF_CLOSE};
    }
    return word(l);
}

struct pdf_obj pdf_parse(struct pdf_lex *l) { return parse(l, 0); }

/* ---- looking ---- */

struct pdf_obj pdf_get_raw(struct pdf_obj o, const char *key)
{
    const struct pdf_dict *d = o.type == PDF_DICT     ? o.dict
                               : o.type == PDF_STREAM ? &o.stream->dict
                                                      : NULL;
    struct str k = str_of(key);
    for (size_t i = 0; d && i < d->n; i++) {
        if (str_eq(d->pair[i].key, k))
            return d->pair[i].value;
    }
    return (struct pdf_obj){.type = PDF_NULL};
}

struct pdf_obj pdf_get(struct pdf *d, struct pdf_obj o, const char *key)
{
    return pdf_resolve(d, pdf_get_raw(o, key));
}

size_t pdf_count(struct pdf_obj array)
{
    return array.type == PDF_ARRAY ? array.array->n : 0;
}

struct pdf_obj pdf_item(struct pdf *d, struct pdf_obj array, size_t i)
{
    if (i >= pdf_count(array))
        return (struct pdf_obj){.type = PDF_NULL};
    return pdf_resolve(d, array.array->item[i]);
}

bool pdf_is_name(struct pdf_obj o, const char *name)
{
    return o.type == PDF_NAME && str_eq(o.s, str_of(name));
}

bool pdf_number(struct pdf_obj o, double *out)
{
    if (o.type == PDF_INT)
        *out = (double)o.i;
    else if (o.type == PDF_REAL && isfinite(o.r))
        *out = o.r;
    else
        return false;
    return true;
}

int64_t pdf_int(struct pdf_obj o, int64_t dflt)
{
    double value;
    if (o.type == PDF_INT)
        return o.i;
    return pdf_number(o, &value) && fabs(value) < 1e15 ? (int64_t)value : dflt;
}
