/* SPDX-License-Identifier: MIT */
/*
 * Bash's grammar (parse.y of bash 5.2, as its manual describes it), read once
 * from left to right. There is no table of tokens: whether `if`, `{` or a
 * newline means anything depends on where it stands, so each function reads one
 * construct, and a word is only looked at as a keyword where a command may begin.
 *
 * Failing sets `bad` and moves to the end of the text, so that every loop ends.
 * What fails is not told: such a text is one command, and bash will say it.
 */
#include "front/v0_scan.h"

#include <ctype.h>

/* As bash: more here documents on one line are an error there too. */
#define HERES_MAX 16
/* No delimiter that somebody types is longer; one that is makes the text bad. */
#define DELIM_MAX 120
/* Letters of the longest keyword, and one to see that a word is longer. */
#define KEY_MAX 9
/* `((` may turn out to be two subshells, read again: this often in all. */
#define AGAIN_MAX 16

struct here {
    char delim[DELIM_MAX];
    size_t n;
    bool tabs;   /* <<-: leading tabs do not count */
    bool quoted; /* the body is taken as it is, backslashes too */
};

struct scan {
    struct str text;
    size_t at;
    bool bad;
    /* A keyword may follow without a separator: the last one was one. */
    bool key_ok;
    int depth;
    int substitutions; /* $( and <( around this place */
    size_t again;      /* bytes that were read twice */
    size_t key_end;    /* where the keyword ends that key() saw */
    int semicolons;    /* in the parentheses that pair() read last */
    /* Documents begun and not yet read; those of this substitution from base on. */
    struct here here[HERES_MAX];
    int heres, base;
};

enum { END = -1 };

static void commands(struct scan *s);

static void fail(struct scan *s)
{
    s->bad = true;
    s->at = s->text.n;
}

static void enter(struct scan *s)
{
    if (++s->depth > V0_SCAN_DEPTH)
        fail(s);
}

static void leave(struct scan *s) { s->depth--; }

/* The byte here, behind what a backslash joins; END at the end. */
static int cur(struct scan *s)
{
    const char *p = s->text.p;
    while (s->at + 1 < s->text.n && p[s->at] == '\\' && p[s->at + 1] == '\n')
        s->at += 2;
    return s->at < s->text.n ? (unsigned char)p[s->at] : END;
}

/* The byte behind the one here. */
static int ahead(struct scan *s)
{
    size_t at = s->at;
    int c = cur(s) == END ? END : (s->at++, cur(s));
    s->at = at;
    return c;
}

/* Passes over c, if it is here. */
static bool take(struct scan *s, int c)
{
    if (cur(s) != c)
        return false;
    s->at++;
    return true;
}

static void want(struct scan *s, int c)
{
    if (!take(s, c))
        fail(s);
}

/* Ends a word. */
static bool is_break(int c)
{
    return c == END || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' ||
           c == '|' || c == '(' || c == ')' || c == '<' || c == '>';
}

/* Blanks and a comment, up to the end of the line. */
static void blanks(struct scan *s)
{
    while (take(s, ' ') || take(s, '\t'))
        ;
    if (cur(s) != '#')
        return;
    const char *end = memchr(s->text.p + s->at, '\n', s->text.n - s->at);
    s->at = end ? (size_t)(end - s->text.p) : s->text.n;
}

/* ---- here documents ---- */

/*
 * Reads a line, which a backslash may join to the next. True: it is the
 * delimiter. In a substitution, bash also ends at a line that begins with the
 * delimiter and has the `)`, with a warning: that is bad here.
 */
static bool here_line(struct scan *s, const struct here *h)
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
        for (int i = 0; i <= slash; i++, s->at++, n++) {
            if (n < h->n && same == n && p[s->at] == h->delim[n])
                same++;
            closes = closes || p[s->at] == ')';
        }
    }
    if (same == h->n && n == h->n)
        return true;
    if (same == h->n && closes && s->substitutions)
        fail(s);
    return false;
}

static void here_read(struct scan *s, const struct here *h)
{
    for (;;) {
        if (s->at >= s->text.n) {
            fail(s);
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
static void newline(struct scan *s)
{
    s->at++;
    for (int i = s->base; i < s->heres && !s->bad; i++)
        here_read(s, &s->here[i]);
    s->heres = s->base;
}

static void newlines(struct scan *s)
{
    for (blanks(s); cur(s) == '\n'; blanks(s))
        newline(s);
}

/* The delimiter that is spelt from..to, without its quotes. */
static void here_add(struct scan *s, size_t from, size_t to, bool tabs)
{
    if (s->heres == HERES_MAX || s->bad) {
        fail(s);
        return;
    }
    struct here *h = &s->here[s->heres++];
    *h = (struct here){.tabs = tabs};
    char in = 0;
    for (size_t i = from; i < to; i++) {
        char c = s->text.p[i], next = i + 1 < to ? s->text.p[i + 1] : 0;
        if (in == 0 && c == '$' && (next == '\'' || next == '"')) {
            fail(s);
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
            fail(s);
            return;
        }
        h->delim[h->n++] = c;
    }
}

/* ---- quotes and expansions ---- */

/* What a backslash keeps from meaning anything. */
static void escaped(struct scan *s) { s->at += s->at + 1 < s->text.n ? 2 : 1; }

static void single_quoted(struct scan *s)
{
    const char *from = s->text.p + s->at + 1;
    const char *end = memchr(from, '\'', s->text.n - s->at - 1);
    if (end)
        s->at = (size_t)(end - s->text.p) + 1;
    else
        fail(s);
}

/* $'…', at the quote; and `…`, inside of which nothing else counts. */
static void until(struct scan *s, char quote)
{
    const char *p = s->text.p;
    for (s->at++; s->at < s->text.n && p[s->at] != quote;)
        s->at += p[s->at] == '\\' ? 2 : 1;
    if (s->at < s->text.n)
        s->at++;
    else
        fail(s);
}

static void expansion(struct scan *s, bool quoted);

static void double_quoted(struct scan *s)
{
    s->at++;
    for (;;) {
        int c = cur(s);
        if (c == END)
            fail(s);
        else if (c == '\\')
            escaped(s);
        else if (c == '`')
            until(s, '`');
        else if (c == '$')
            expansion(s, true);
        else
            s->at++;
        if (c == END || c == '"')
            return;
    }
}

/*
 * Behind an opening bracket, up to and with its closing one. Brackets in one
 * another count, except in ${…}, which ends at the first }.
 */
static void pair(struct scan *s, int open, int close)
{
    int count = 1, semicolons = 0;
    enter(s);
    while (count > 0) {
        int c = cur(s);
        if (c == END) {
            fail(s);
            break;
        }
        if (c == '\\') {
            escaped(s);
        } else if (c == '\'') {
            single_quoted(s);
        } else if (c == '"') {
            double_quoted(s);
        } else if (c == '`') {
            until(s, '`');
        } else if (c == '$') {
            expansion(s, false);
        } else {
            count += c == close ? -1 : c == open && open != '{';
            semicolons += c == ';' && count == 1;
            s->at++;
        }
    }
    s->semicolons = semicolons;
    leave(s);
}

/* Behind $( or <(, up to and with the ): commands, none of which is fine too. */
static void substitution(struct scan *s)
{
    int base = s->base;
    enter(s);
    s->base = s->heres;
    s->substitutions++;
    newlines(s);
    if (cur(s) != ')')
        commands(s);
    blanks(s);
    want(s, ')');
    if (s->heres > s->base)
        fail(s); /* a document was begun and has no body in here */
    s->substitutions--;
    s->base = base;
    leave(s);
}

/* At a $, in double quotes or not. */
static void expansion(struct scan *s, bool quoted)
{
    int next = ahead(s);
    take(s, '$');
    if (next == '(') {
        take(s, '(');
        /* Whatever `((` is, bash only looks for the matching parenthesis. */
        if (cur(s) == '(')
            pair(s, '(', ')');
        else
            substitution(s);
    } else if (next == '{') {
        take(s, '{');
        pair(s, '{', '}');
    } else if (next == '[') {
        take(s, '[');
        pair(s, '[', ']');
    } else if (next == '\'' && !quoted) {
        cur(s);
        until(s, '\'');
    } else if (next == '$') {
        take(s, '$'); /* $$, which begins nothing */
    }
}

/* ---- words ---- */

enum {
    W_COMMAND = 1, /* where a command begins: assignments, with subscripts */
    W_ASSIGNS = 2, /* an argument of declare and its like: a=(…) too */
    W_ARRAY = 4,   /* in a=(…): [subscript]=… */
    W_REGEX = 8,   /* right of =~: ( and | are part of it */
};

struct word {
    size_t from, to;
    char lit[KEY_MAX]; /* what it says, when it is short and plain */
    size_t n;          /* bytes of it; KEY_MAX: long, or not plain */
    bool assigns;      /* NAME=, NAME+=, NAME[…]= at its beginning */
};

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

static bool word(struct scan *s, struct word *w, int flags);

/* At the ( of a=(…). Words only, over any number of lines. */
static void array(struct scan *s)
{
    struct word w;
    enter(s);
    s->at++;
    for (newlines(s); cur(s) != ')' && !s->bad; newlines(s))
        if (!word(s, &w, W_ARRAY))
            fail(s);
    want(s, ')');
    leave(s);
}

/* A part that is more than a plain byte; false: there is none here. */
static bool word_part(struct scan *s, int c, int last, enum stage stage, int flags)
{
    bool first = last == END;
    if (c == '\\') {
        escaped(s);
    } else if (c == '\'') {
        single_quoted(s);
    } else if (c == '"') {
        double_quoted(s);
    } else if (c == '`') {
        until(s, '`');
    } else if (c == '$') {
        expansion(s, false);
    } else if ((c == '<' || c == '>') && ahead(s) == '(') {
        take(s, c);
        take(s, '(');
        substitution(s);
    } else if (c == '(' && stage == S_EQUALS && (flags & (W_COMMAND | W_ASSIGNS))) {
        array(s);
    } else if (c == '(' && ((flags & W_REGEX) || (last > 0 && strchr("?*+@!", last)))) {
        s->at++;
        pair(s, '(', ')');
    } else if (c == '[' && ((stage == S_NAME && !first && (flags & W_COMMAND)) ||
                            (first && (flags & W_ARRAY)))) {
        s->at++;
        pair(s, '[', ']');
    } else {
        return false;
    }
    return true;
}

/* A word, if one is here: *w says what it is. */
static bool word(struct scan *s, struct word *w, int flags)
{
    enum stage stage = S_NAME;
    int last = END; /* the plain byte before, 0 for another part, END at first */
    cur(s);
    *w = (struct word){.from = s->at};
    for (;;) {
        int c = cur(s);
        if (c == END)
            break;
        if (word_part(s, c, last, stage, flags)) {
            bool subscript = c == '[' && stage == S_NAME && last != END;
            stage = subscript ? S_NAMED : S_NONE;
            w->n = KEY_MAX;
            last = 0;
            continue;
        }
        if (is_break(c) && !(c == '|' && (flags & W_REGEX)))
            break;
        stage = step(stage, c, last == END);
        w->assigns = w->assigns || stage == S_EQUALS;
        if (w->n < KEY_MAX)
            w->lit[w->n++] = (char)c;
        last = c;
        s->at++;
    }
    w->to = s->at;
    return !s->bad && w->to > w->from && last != END;
}

/* The word as text, empty when it is not a short plain one. */
static struct str plain(const struct word *w)
{
    return str_n(w->lit, w->n < KEY_MAX ? w->n : 0);
}

/* 2 or {fd}, when a redirection follows at once. */
static bool is_descriptor(struct scan *s, const struct word *w)
{
    const char *p = s->text.p;
    size_t digits = 0, letters = 0;
    int c = cur(s);
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

/* A word, and not what is before a redirection. */
static bool argument(struct scan *s, struct word *w, int flags)
{
    return word(s, w, flags) && !is_descriptor(s, w);
}

/* ---- keywords ---- */

enum key {
    K_NONE,
    K_IF,
    K_THEN,
    K_ELIF,
    K_ELSE,
    K_FI,
    K_FOR,
    K_SELECT,
    K_WHILE,
    K_UNTIL,
    K_IN,
    K_DO,
    K_DONE,
    K_CASE,
    K_ESAC,
    K_FUNCTION,
    K_COPROC,
    K_TIME,
    K_NOT,
    K_OPEN,
    K_CLOSE,
    K_TEST,
    K_TESTED
};

static const struct str keys[] = {
    [K_NONE] = {"", 0},         [K_IF] = {"if", 2},
    [K_THEN] = {"then", 4},     [K_ELIF] = {"elif", 4},
    [K_ELSE] = {"else", 4},     [K_FI] = {"fi", 2},
    [K_FOR] = {"for", 3},       [K_SELECT] = {"select", 6},
    [K_WHILE] = {"while", 5},   [K_UNTIL] = {"until", 5},
    [K_IN] = {"in", 2},         [K_DO] = {"do", 2},
    [K_DONE] = {"done", 4},     [K_CASE] = {"case", 4},
    [K_ESAC] = {"esac", 4},     [K_FUNCTION] = {"function", 8},
    [K_COPROC] = {"coproc", 6}, [K_TIME] = {"time", 4},
    [K_NOT] = {"!", 1},         [K_OPEN] = {"{", 1},
    [K_CLOSE] = {"}", 1},       [K_TEST] = {"[[", 2},
    [K_TESTED] = {"]]", 2},
};

/* The short plain word that is here, or nothing; key_end is behind it. */
static struct str look(struct scan *s, char lit[KEY_MAX])
{
    size_t n = 0;
    blanks(s);
    size_t at = s->at;
    while (n < KEY_MAX && !is_break(cur(s)))
        lit[n++] = s->text.p[s->at++];
    s->key_end = s->at;
    bool pattern = n == 1 && lit[0] == '!' && cur(s) == '(';
    s->at = at;
    return str_n(lit, n == KEY_MAX || pattern ? 0 : n);
}

static enum key key(struct scan *s)
{
    char lit[KEY_MAX];
    struct str is = look(s, lit);
    for (int k = K_IF; is.n > 0 && k <= K_TESTED; k++)
        if (str_eq(is, keys[k]))
            return (enum key)k;
    return K_NONE;
}

static bool take_key(struct scan *s, enum key k)
{
    if (key(s) != k)
        return false;
    s->at = s->key_end;
    s->key_ok = true;
    return true;
}

/* A keyword that ends what the last list was in. */
static void want_key(struct scan *s, enum key k)
{
    if (!s->key_ok || !take_key(s, k))
        fail(s);
}

/* ---- redirections ---- */

/* Whether one is here, with nothing before its operator. */
static bool at_redirection(struct scan *s)
{
    int c = cur(s), next = ahead(s);
    return ((c == '<' || c == '>') && next != '(') || (c == '&' && next == '>');
}

/* The operator, and the word behind it. */
static void redirect(struct scan *s)
{
    bool document = false, tabs = false;
    if (take(s, '&')) {
        take(s, '>');
        take(s, '>');
    } else if (take(s, '<')) {
        if (take(s, '<')) {
            document = !take(s, '<');
            tabs = document && take(s, '-');
        } else if (!take(s, '&')) {
            take(s, '>');
        }
    } else {
        take(s, '>');
        if (!take(s, '>') && !take(s, '&'))
            take(s, '|');
    }
    struct word w;
    blanks(s);
    if (!argument(s, &w, 0))
        fail(s);
    else if (document)
        here_add(s, w.from, w.to, tabs);
}

/* Those behind a compound command. */
static void redirections(struct scan *s)
{
    for (blanks(s);; blanks(s)) {
        struct word w;
        size_t at = s->at;
        if (isdigit(cur(s)) || cur(s) == '{') {
            if (!word(s, &w, 0) || !is_descriptor(s, &w)) {
                if (!s->bad)
                    s->at = at;
                return;
            }
        } else if (!at_redirection(s)) {
            return;
        }
        redirect(s);
        s->key_ok = false;
    }
}

/* ---- [[ … ]] ---- */

static void condition(struct scan *s);

static bool is_unary(struct str op)
{
    return op.n == 2 && op.p[0] == '-' && strchr("abcdefghknoprstuvwxzGLNORS", op.p[1]);
}

static bool is_binary(struct str op)
{
    static const char *const ops[] = {"=",   "==",  "!=",  "=~",  "-nt", "-ot", "-ef",
                                      "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (str_eq(op, str_of(ops[i])))
            return true;
    return false;
}

static void operand(struct scan *s, int flags)
{
    struct word w;
    blanks(s);
    if (key(s) == K_TESTED || !argument(s, &w, flags))
        fail(s);
}

/* A word, a unary or a binary test; newlines are for between tests only. */
static void test(struct scan *s)
{
    struct word w, op;
    if (key(s) == K_TESTED || !argument(s, &w, 0)) {
        fail(s);
        return;
    }
    if (is_unary(plain(&w))) {
        operand(s, 0);
        return;
    }
    blanks(s);
    int c = cur(s);
    if (c == ')' || c == '&' || c == '|' || key(s) == K_TESTED)
        return;
    if ((c == '<' || c == '>') && ahead(s) != '(') {
        s->at++;
        operand(s, 0);
    } else if (argument(s, &op, 0) && is_binary(plain(&op))) {
        operand(s, str_eq(plain(&op), STR("=~")) ? W_REGEX : 0);
    } else {
        fail(s);
    }
}

static void term(struct scan *s)
{
    for (newlines(s); take_key(s, K_NOT); newlines(s))
        ;
    if (take(s, '(')) {
        enter(s);
        condition(s);
        want(s, ')');
        leave(s);
    } else {
        test(s);
    }
    newlines(s);
}

static void condition(struct scan *s)
{
    for (;;) {
        term(s);
        int c = cur(s);
        if ((c != '&' && c != '|') || ahead(s) != c)
            return;
        take(s, c);
        take(s, c);
    }
}

/* ---- compound commands ---- */

static void group(struct scan *s, enum key end)
{
    commands(s);
    want_key(s, end);
}

/* `do …; done`, or for some also `{ …; }`. */
static void body(struct scan *s, bool braces)
{
    newlines(s);
    if (braces && take_key(s, K_OPEN)) {
        group(s, K_CLOSE);
    } else if (take_key(s, K_DO)) {
        group(s, K_DONE);
    } else {
        fail(s);
    }
}

static void if_command(struct scan *s)
{
    do {
        commands(s);
        want_key(s, K_THEN);
        commands(s);
    } while (s->key_ok && take_key(s, K_ELIF));
    if (s->key_ok && take_key(s, K_ELSE))
        commands(s);
    want_key(s, K_FI);
}

/* Behind `for`: ((a; b; c)), with `;` and newlines as may be. */
static void for_arithmetic(struct scan *s)
{
    take(s, '(');
    take(s, '(');
    pair(s, '(', ')');
    if (s->semicolons != 2)
        fail(s);
    want(s, ')');
    blanks(s);
    take(s, ';');
    body(s, true);
}

static void for_command(struct scan *s, bool select)
{
    struct word w;
    blanks(s);
    if (cur(s) == '(' && ahead(s) == '(' && !select) {
        for_arithmetic(s);
        return;
    }
    if (!argument(s, &w, 0)) {
        fail(s);
        return;
    }
    blanks(s);
    if (take(s, ';')) {
        body(s, true);
        return;
    }
    newlines(s);
    if (take_key(s, K_IN)) {
        for (blanks(s); argument(s, &w, 0); blanks(s))
            ;
        if (!take(s, ';') && cur(s) != '\n')
            fail(s);
    }
    body(s, true);
}

/* `;;`, `;&`, `;;&`. */
static bool at_clause_end(struct scan *s)
{
    return cur(s) == ';' && (ahead(s) == ';' || ahead(s) == '&');
}

static void patterns(struct scan *s)
{
    struct word w;
    do {
        blanks(s);
        if (!argument(s, &w, 0))
            fail(s);
        blanks(s);
    } while (take(s, '|'));
    want(s, ')');
}

static void case_command(struct scan *s)
{
    struct word w;
    blanks(s);
    if (!argument(s, &w, 0))
        fail(s);
    newlines(s);
    if (!take_key(s, K_IN))
        fail(s);
    for (newlines(s); !s->bad; newlines(s)) {
        if (take_key(s, K_ESAC))
            return;
        take(s, '(');
        patterns(s);
        newlines(s);
        s->key_ok = true;
        if (!at_clause_end(s) && key(s) != K_ESAC)
            commands(s);
        blanks(s);
        if (!at_clause_end(s)) {
            want_key(s, K_ESAC);
            return;
        }
        take(s, ';');
        take(s, ';');
        take(s, '&');
    }
}

/* (( … )), if it ends in both parentheses; else what follows is a subshell. */
static bool arithmetic(struct scan *s)
{
    size_t from = s->at;
    take(s, '(');
    if (!take(s, '(')) {
        s->at = from;
        return false;
    }
    pair(s, '(', ')');
    if (s->bad || take(s, ')'))
        return true;
    s->again += s->at - from;
    s->at = from;
    if (s->again / AGAIN_MAX > s->text.n)
        fail(s);
    return false;
}

static void subshell(struct scan *s)
{
    take(s, '(');
    commands(s);
    blanks(s);
    want(s, ')');
}

static void while_command(struct scan *s)
{
    commands(s);
    if (!s->key_ok)
        fail(s);
    body(s, false);
}

static void test_command(struct scan *s)
{
    condition(s);
    if (!take_key(s, K_TESTED))
        fail(s);
}

/* The command that the keyword begins, which was passed over. */
static void keyword_command(struct scan *s, enum key k)
{
    switch (k) {
    case K_OPEN:
        group(s, K_CLOSE);
        break;
    case K_IF:
        if_command(s);
        break;
    case K_FOR:
    case K_SELECT:
        for_command(s, k == K_SELECT);
        break;
    case K_WHILE:
    case K_UNTIL:
        while_command(s);
        break;
    case K_CASE:
        case_command(s);
        break;
    default:
        test_command(s);
    }
}

static bool begins_compound(enum key k)
{
    return k == K_OPEN || k == K_IF || k == K_FOR || k == K_SELECT || k == K_WHILE ||
           k == K_UNTIL || k == K_CASE || k == K_TEST;
}

/* One of those that have an end of their own; false: none is here. */
static bool compound(struct scan *s)
{
    enum key k = key(s);
    if (cur(s) != '(' && !begins_compound(k))
        return false;
    enter(s);
    if (k != K_NONE) {
        take_key(s, k);
        keyword_command(s, k);
    } else if (!arithmetic(s)) {
        subshell(s);
    }
    leave(s);
    s->key_ok = true;
    redirections(s);
    return true;
}

/* Behind a function's name and what says that it is one. */
static void function_body(struct scan *s)
{
    newlines(s);
    if (!compound(s))
        fail(s);
}

static void function_command(struct scan *s)
{
    struct word w;
    blanks(s);
    if (!argument(s, &w, 0))
        fail(s);
    blanks(s);
    if (cur(s) == '(') {
        size_t at = s->at;
        s->at++;
        blanks(s);
        if (!take(s, ')'))
            s->at = s->bad ? s->at : at; /* the body is a subshell */
    }
    function_body(s);
}

/* ---- commands ---- */

static bool takes_arrays(struct str name)
{
    static const char *const names[] = {"alias", "declare", "eval",     "export",
                                        "let",   "local",   "readonly", "typeset"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_eq(name, str_of(names[i])))
            return true;
    return false;
}

/*
 * Assignments, redirections and words; or NAME() and its body. `first` is a word
 * that was read already, or NULL.
 */
static void simple(struct scan *s, const struct word *first)
{
    size_t parts = 0;
    int flags = W_COMMAND;
    for (;; parts++) {
        struct word w;
        bool again = parts == 0 && first;
        if (again)
            w = *first;
        else
            blanks(s);
        if (!again && at_redirection(s)) {
            redirect(s);
            continue;
        }
        if (!again && !word(s, &w, flags))
            break;
        if (is_descriptor(s, &w)) {
            redirect(s);
            continue;
        }
        if ((flags & W_COMMAND) && w.assigns)
            continue;
        blanks(s);
        if (parts == 0 && take(s, '(')) {
            blanks(s);
            want(s, ')');
            function_body(s);
            return;
        }
        if (flags & W_COMMAND)
            flags = takes_arrays(plain(&w)) ? W_ASSIGNS : 0;
    }
    if (parts == 0)
        fail(s);
    s->key_ok = false;
}

/* `coproc COMMAND`, or `coproc NAME` and a compound one. */
static void coprocess(struct scan *s)
{
    struct word w;
    if (compound(s))
        return;
    bool named = word(s, &w, W_COMMAND);
    if (named && is_break(cur(s)) && !at_redirection(s) && compound(s))
        return;
    simple(s, named ? &w : NULL);
}

static void command(struct scan *s)
{
    if (s->bad || compound(s))
        return;
    switch (key(s)) {
    case K_FUNCTION:
        take_key(s, K_FUNCTION);
        function_command(s);
        break;
    case K_COPROC:
        take_key(s, K_COPROC);
        coprocess(s);
        break;
    case K_NONE:
    case K_TIME: /* no keyword behind a | */
        simple(s, NULL);
        break;
    default:
        fail(s); /* one that ends something, or belongs into it */
    }
}

/* Passes over the word, if it is here. */
static void take_option(struct scan *s, struct str option)
{
    char lit[KEY_MAX];
    if (str_eq(look(s, lit), option))
        s->at = s->key_end;
}

/* `!` and `time [-p] [--]`, in any number; true: no command need follow. */
static bool prefixes(struct scan *s)
{
    bool any = false;
    for (;; any = true) {
        if (take_key(s, K_NOT))
            continue;
        if (!take_key(s, K_TIME))
            break;
        take_option(s, STR("-p"));
        take_option(s, STR("--"));
    }
    blanks(s);
    int c = cur(s);
    return any && (c == END || c == '\n' || c == ';');
}

static void pipeline(struct scan *s)
{
    if (prefixes(s))
        return;
    for (;;) {
        command(s);
        blanks(s);
        if (cur(s) != '|' || ahead(s) == '|')
            return;
        take(s, '|');
        take(s, '&');
        newlines(s);
    }
}

/* Pipelines joined by && and ||. */
static void and_or(struct scan *s)
{
    for (;;) {
        pipeline(s);
        blanks(s);
        int c = cur(s);
        if ((c != '&' && c != '|') || ahead(s) != c)
            return;
        take(s, c);
        take(s, c);
        newlines(s);
    }
}

/* Whether commands(), behind a separator, has come to its end. */
static bool at_list_end(struct scan *s)
{
    if (cur(s) == END || cur(s) == ')' || at_clause_end(s))
        return true;
    switch (key(s)) {
    case K_THEN:
    case K_ELIF:
    case K_ELSE:
    case K_FI:
    case K_DO:
    case K_DONE:
    case K_ESAC:
    case K_CLOSE:
        return true;
    default:
        return false;
    }
}

/* At least one command, and as many as there are; what ends them is the caller's. */
static void commands(struct scan *s)
{
    newlines(s);
    do {
        and_or(s);
        int c = cur(s);
        if (c == '\n') {
            newlines(s);
        } else if ((c == ';' || c == '&') && !at_clause_end(s)) {
            s->at++;
            newlines(s);
        } else {
            return;
        }
        s->key_ok = true;
    } while (!s->bad && !at_list_end(s));
}

/* What bash reads before it runs anything: commands up to the end of a line. */
static void complete_command(struct scan *s)
{
    for (;;) {
        and_or(s);
        int c = cur(s);
        if (c == END || c == '\n')
            return;
        if ((c != ';' && c != '&') || at_clause_end(s)) {
            fail(s);
            return;
        }
        s->at++;
        blanks(s);
        if (cur(s) == END || cur(s) == '\n')
            return;
    }
}

size_t v0_scan(struct str text, struct v0_piece *out, size_t max)
{
    struct scan s = {.text = text};
    size_t count = 0, from = 0;
    for (newlines(&s); cur(&s) != END; newlines(&s)) {
        if (count > 0 && count <= max)
            out[count - 1].text = str_sub(text, from, s.at - from);
        from = count > 0 ? s.at : 0;
        count++;
        complete_command(&s);
    }
    if (s.bad || s.heres > 0 || count <= 1) {
        count = 1;
        from = 0;
    }
    if (count <= max)
        out[count - 1].text = str_sub(text, from, text.n);
    return count;
}
