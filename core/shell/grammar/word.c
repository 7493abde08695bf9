/* SPDX-License-Identifier: MIT */
/*
 * Words of bash: quotes, expansions, here documents, assignments. A word ends at
 * a blank or an operator, and may have whole commands in it.
 */
#include "shell/grammar/own.h"

#include <ctype.h>

static void fail_at(struct grammar_scan *s, size_t at)
{
    if (!s->bad)
        s->bad_at = at;
    s->bad = true;
    s->at = s->text.n;
}

void scan_fail(struct grammar_scan *s) { fail_at(s, s->at); }

void scan_cut_off(struct grammar_scan *s)
{
    s->more = s->more || !s->bad;
    scan_fail(s);
}

void scan_refuse(struct grammar_scan *s)
{
    s->more = s->more && s->bad;
    fail_at(s, SIZE_MAX);
}

void scan_line_end(struct grammar_scan *s)
{
    s->more = s->more || (!s->bad && scan_cur(s) == END);
}

void scan_beyond(struct grammar_scan *s, enum beyond what)
{
    if (s->beyond == B_NONE)
        s->beyond = what;
}

void scan_enter(struct grammar_scan *s)
{
    if (++s->depth > V0_SCAN_DEPTH)
        scan_refuse(s);
}

void scan_leave(struct grammar_scan *s) { s->depth--; }

int scan_cur(struct grammar_scan *s)
{
    const char *p = s->text.p;
    while (s->at + 1 < s->text.n && p[s->at] == '\\' && p[s->at + 1] == '\n')
        s->at += 2;
    return s->at < s->text.n ? (unsigned char)p[s->at] : END;
}

int scan_ahead(struct grammar_scan *s)
{
    size_t at = s->at;
    int c = scan_cur(s) == END ? END : (s->at++, scan_cur(s));
    s->at = at;
    return c;
}

bool scan_take(struct grammar_scan *s, int c)
{
    if (scan_cur(s) != c)
        return false;
    s->at++;
    return true;
}

void scan_want(struct grammar_scan *s, int c)
{
    if (!scan_take(s, c))
        scan_fail(s);
}

bool scan_is_break(int c)
{
    return c == END || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' ||
           c == '|' || c == '(' || c == ')' || c == '<' || c == '>';
}

void scan_blanks(struct grammar_scan *s)
{
    while (scan_take(s, ' ') || scan_take(s, '\t'))
        ;
    if (scan_cur(s) != '#')
        return;
    const char *end = memchr(s->text.p + s->at, '\n', s->text.n - s->at);
    s->at = end ? (size_t)(end - s->text.p) : s->text.n;
    s->comment = !end;
}

/* ---- here documents ---- */

/*
 * Reads a line, which a backslash may join to the next. True: it is the
 * delimiter. In a substitution, bash also ends at a line that begins with the
 * delimiter and has the `)`, with a warning: that is bad here.
 */
static bool here_line(struct grammar_scan *s, const struct here *h)
{
    const char *p = s->text.p;
    size_t same = 0, n = 0;
    bool closes = false;
    while (h->tabs && s->at < s->text.n && p[s->at] == '\t')
        s->at++;
    while (s->at < s->text.n && p[s->at] != '\n') {
        bool slash = p[s->at] == '\\' && s->at + 1 < s->text.n && !h->quoted;
        if (slash && p[s->at + 1] == '\n') {
            s->at += 2;
            continue;
        }
        for (int left = slash ? 2 : 1; left > 0; left--, s->at++, n++) {
            if (n < h->n && same == n && p[s->at] == h->delim[n])
                same++;
            closes = closes || p[s->at] == ')';
        }
    }
    if (same == h->n && n == h->n)
        return true;
    if (same == h->n && closes && s->substitutions)
        scan_refuse(s);
    return false;
}

static void here_read(struct grammar_scan *s, const struct here *h)
{
    for (;;) {
        if (s->at >= s->text.n) {
            scan_cut_off(s);
            return;
        }
        bool last = here_line(s, h);
        if (s->at < s->text.n)
            s->at++;
        if (last)
            return;
    }
}

/* Passes over the newline here and the documents that it begins. */
static void newline(struct grammar_scan *s)
{
    s->at++;
    for (int i = s->base; i < s->heres && !s->bad; i++)
        here_read(s, &s->here[i]);
    s->heres = s->base;
}

void scan_newlines(struct grammar_scan *s)
{
    for (scan_blanks(s); scan_cur(s) == '\n'; scan_blanks(s))
        newline(s);
    scan_line_end(s);
}

/* The delimiter that is spelt from..to, without its quotes. */
void scan_document(struct grammar_scan *s, size_t from, size_t to, bool tabs)
{
    if (s->heres == HERES_MAX || s->bad) {
        scan_refuse(s);
        return;
    }
    struct here *h = &s->here[s->heres++];
    *h = (struct here){.tabs = tabs};
    char in = 0;
    for (size_t i = from; i < to; i++) {
        char c = s->text.p[i], next = i + 1 < to ? s->text.p[i + 1] : 0;
        if (in == 0 && c == '$' && (next == '\'' || next == '"')) {
            scan_refuse(s);
            return;
        }
        bool quote = (c == '\'' || c == '"') && (in == 0 || in == c);
        bool escape = c == '\\' && in != '\'' && (in == 0 || strchr("$`\"\\\n", next));
        h->quoted = h->quoted || quote || (escape && next != '\n');
        if (quote) {
            in = in ? 0 : c;
            continue;
        }
        if (escape) {
            i++;
            if (next == '\n')
                continue;
            c = next;
        }
        if (h->n == DELIM_MAX) {
            scan_refuse(s);
            return;
        }
        h->delim[h->n++] = c;
    }
    if (h->quoted)
        scan_beyond(s, B_DOCUMENT);
}

/* ---- quotes and expansions ---- */

/* What a backslash keeps from meaning anything. */
static void escaped(struct grammar_scan *s) { s->at += s->at + 1 < s->text.n ? 2 : 1; }

/* Whether a substitution could begin in what the quotes hold, which is in no command. */
static bool is_odd(struct str quoted)
{
    for (size_t i = 0; i < quoted.n; i++) {
        char c = quoted.p[i], next = i + 1 < quoted.n ? quoted.p[i + 1] : 0;
        if (c == '`' || (next == '(' && strchr("$<>", c)) || (c == '$' && next == '['))
            return true;
    }
    return false;
}

static void single_quoted(struct grammar_scan *s)
{
    const char *from = s->text.p + s->at + 1;
    const char *end = memchr(from, '\'', s->text.n - s->at - 1);
    if (!end) {
        scan_cut_off(s);
        return;
    }
    if (is_odd(str_n(from, (size_t)(end - from))))
        s->odd |= ODD_SINGLE;
    s->at = (size_t)(end - s->text.p) + 1;
}

/* $'…', at the quote; and `…`, inside of which nothing else counts. Returns that. */
static struct str until(struct grammar_scan *s, char quote)
{
    const char *p = s->text.p;
    size_t from = s->at + 1;
    for (s->at++; s->at < s->text.n && p[s->at] != quote;)
        s->at += p[s->at] == '\\' ? 2 : 1;
    if (s->at < s->text.n)
        return str_n(p + from, s->at++ - from);
    scan_cut_off(s);
    return STR("");
}

static void ansi_quoted(struct grammar_scan *s)
{
    if (is_odd(until(s, '\'')))
        s->odd |= ODD_SINGLE;
}

/* The commands in it are looked at only for what may be beyond the other parser. */
static void backquoted(struct grammar_scan *s)
{
    struct grammar_scan in = {.text = until(s, '`')};
    if (s->bad)
        return;
    scan_all(&in);
    if (in.beyond != B_NONE)
        scan_beyond(s, in.beyond);
    else if (in.bad || memchr(in.text.p, '`', in.text.n))
        scan_beyond(s, B_QUOTES);
}

static void expansion(struct grammar_scan *s, bool quoted);

static void double_quoted(struct grammar_scan *s)
{
    s->at++;
    for (;;) {
        int c = scan_cur(s);
        if ((c == '<' || c == '>') && scan_ahead(s) == '(')
            s->odd |= ODD_DOUBLE;
        if (c == END)
            scan_cut_off(s);
        else if (c == '\\')
            escaped(s);
        else if (c == '`')
            backquoted(s);
        else if (c == '$')
            expansion(s, true);
        else
            s->at++;
        if (c == END || c == '"')
            return;
    }
}

/* What begins alike wherever it stands: a quotation, an expansion. false: neither. */
static bool plain_part(struct grammar_scan *s, int c)
{
    switch (c) {
    case '\\':
        escaped(s);
        return true;
    case '\'':
        single_quoted(s);
        return true;
    case '"':
        double_quoted(s);
        return true;
    case '`':
        backquoted(s);
        return true;
    case '$':
        expansion(s, false);
        return true;
    }
    return false;
}

void scan_pair(struct grammar_scan *s, int open, int close)
{
    int count = 1, semicolons = 0;
    scan_enter(s);
    while (count > 0) {
        int c = scan_cur(s);
        if (c == END) {
            scan_cut_off(s);
            break;
        }
        if (!plain_part(s, c)) {
            count += c == close ? -1 : c == open && open != '{';
            semicolons += c == ';' && count == 1;
            s->at++;
        }
    }
    s->semicolons = semicolons;
    scan_leave(s);
}

/* Behind $( or <(, up to and with the ): commands, none of which is fine too. */
static void substitution(struct grammar_scan *s)
{
    int base = s->base;
    scan_enter(s);
    s->base = s->heres;
    s->substitutions++;
    scan_newlines(s);
    s->joined = scan_cur(s) == ')';
    if (!s->joined)
        scan_commands(s);
    if (s->joined)
        scan_beyond(s, B_LIST);
    scan_blanks(s);
    scan_want(s, ')');
    s->late = s->late || s->heres > s->base;
    s->substitutions--;
    s->base = base;
    scan_leave(s);
}

/* At a $, in double quotes or not. */
static void expansion(struct grammar_scan *s, bool quoted)
{
    int next = scan_ahead(s);
    scan_take(s, '$');
    if (next == '(') {
        scan_take(s, '(');
        /* Whatever `((` is, bash only looks for the matching parenthesis. */
        if (scan_cur(s) == '(') {
            scan_beyond(s, B_EXPANSION);
            scan_pair(s, '(', ')');
        } else {
            substitution(s);
        }
    } else if (next == '{') {
        scan_take(s, '{');
        scan_pair(s, '{', '}');
    } else if (next == '[') {
        scan_take(s, '[');
        scan_beyond(s, B_EXPANSION);
        scan_pair(s, '[', ']');
    } else if (next == '\'' && !quoted) {
        scan_cur(s);
        ansi_quoted(s);
    } else if (next == '$') {
        scan_take(s, '$'); /* $$, which begins nothing */
    }
}

/* ---- words ---- */

/* How far a word has come to be an assignment. */
enum stage {
    S_NAME,
    S_SUBSCRIPT, /* in one that was not passed over at once */
    S_NAMED,
    S_PLUS,
    S_EQUALS, /* just now: a ( begins an array */
    S_NONE
};

static enum stage step(enum stage stage, int c, bool first)
{
    switch (stage) {
    case S_NAME:
        if (c == '_' || isalpha(c) || (isdigit(c) && !first))
            return S_NAME;
        if (first)
            return S_NONE;
        return c == '=' ? S_EQUALS : c == '+' ? S_PLUS : c == '[' ? S_SUBSCRIPT : S_NONE;
    case S_SUBSCRIPT:
        return c == ']' ? S_NAMED : S_SUBSCRIPT;
    case S_NAMED:
        return c == '=' ? S_EQUALS : c == '+' ? S_PLUS : S_NONE;
    case S_PLUS:
        return c == '=' ? S_EQUALS : S_NONE;
    default:
        return S_NONE;
    }
}

/* At the ( of a=(…). Words only, over any number of lines. */
static void array(struct grammar_scan *s)
{
    struct word w;
    scan_enter(s);
    scan_beyond(s, B_ARRAY);
    s->at++;
    for (scan_newlines(s); scan_cur(s) != ')' && !s->bad; scan_newlines(s))
        if (!scan_word(s, &w, W_ARRAY))
            scan_fail(s);
    scan_want(s, ')');
    scan_leave(s);
}

/* A part that is more than a plain byte; false: there is none here. */
static bool word_part(struct grammar_scan *s, int c, int last, enum stage stage,
                      int flags)
{
    bool first = last == END;
    if (plain_part(s, c))
        return true;
    if ((c == '<' || c == '>') && scan_ahead(s) == '(') {
        scan_take(s, c);
        scan_take(s, '(');
        substitution(s);
    } else if (c == '(' && stage == S_EQUALS && (flags & (W_COMMAND | W_ASSIGNS))) {
        array(s);
    } else if (c == '(' && ((flags & W_REGEX) || (last > 0 && strchr("?*+@!", last)))) {
        scan_beyond(s, B_PATTERN);
        s->at++;
        scan_pair(s, '(', ')');
    } else if (c == '[' && ((stage == S_NAME && !first && (flags & W_COMMAND)) ||
                            (first && (flags & W_ARRAY)))) {
        s->at++;
        scan_pair(s, '[', ']');
    } else {
        return false;
    }
    return true;
}

bool scan_word(struct grammar_scan *s, struct word *w, int flags)
{
    enum stage stage = S_NAME;
    int last = END; /* the plain byte before, 0 for another part, END at first */
    int odd = s->odd;
    s->odd = 0;
    scan_cur(s);
    *w = (struct word){.from = s->at};
    for (;;) {
        int c = scan_cur(s);
        if (c == END)
            break;
        if (word_part(s, c, last, stage, flags)) {
            bool subscript = c == '[' && stage == S_NAME && last != END;
            stage = subscript ? S_NAMED : S_NONE;
            w->n = KEY_MAX;
            last = 0;
            continue;
        }
        if (scan_is_break(c) && !(c == '|' && (flags & W_REGEX)))
            break;
        if (c == '#' && s->substitutions)
            scan_beyond(s, B_HASH);
        stage = step(stage, c, last == END);
        w->assigns = w->assigns || stage == S_EQUALS;
        if (w->n < KEY_MAX)
            w->lit[w->n++] = (char)c;
        last = c;
        s->at++;
    }
    w->to = s->at;
    bool word = !s->bad && w->to > w->from && last != END;
    if (word && s->odd) {
        char first = s->text.p[w->from], end = s->text.p[w->to - 1];
        if (((s->odd & ODD_SINGLE) && (first != '\'' || end != '\'')) ||
            ((s->odd & ODD_DOUBLE) && first != '"'))
            scan_beyond(s, B_QUOTES);
    }
    s->odd = odd;
    return word;
}

struct str scan_plain(const struct word *w)
{
    return str_n(w->lit, w->n < KEY_MAX ? w->n : 0);
}

bool scan_is_descriptor(struct grammar_scan *s, const struct word *w)
{
    const char *p = s->text.p;
    size_t digits = 0, letters = 0;
    int c = scan_cur(s);
    if (c != '<' && c != '>')
        return false;
    for (size_t i = w->from; i < w->to; i++) {
        unsigned char b = (unsigned char)p[i];
        digits += isdigit(b) != 0;
        letters += isalnum(b) || b == '_';
    }
    size_t n = w->to - w->from;
    return digits == n ||
           (n > 2 && p[w->from] == '{' && p[w->to - 1] == '}' && letters == n - 2);
}

bool scan_argument(struct grammar_scan *s, struct word *w, int flags)
{
    return scan_word(s, w, flags) && !scan_is_descriptor(s, w);
}
