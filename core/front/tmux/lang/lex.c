/* SPDX-License-Identifier: MIT */
/*
 * Words of tmux's command language: see lex_own.h. Where tmux(1) leaves something open,
 * this does what tmux 3.3a was seen to do: spaces at the beginning of a line within
 * quotes are dropped, `~` counts at the beginning of a word and of its quotes, and a
 * quote that is not closed ends with the text.
 */
#include "front/tmux/lang/lex_own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <stdlib.h>

enum { EOT = -1, NAME_MAX_BYTES = 1024, WORD_MAX_BYTES = PARSE_TEXT_MAX };
enum quote { START, NONE, SINGLE, DOUBLE };

/* An odd number of backslashes before a newline: the last one and the newline go. */
int lex_init(struct lex *l, struct str text, unsigned line,
             const struct tmux_parse_ops *ops, void *ctx)
{
    size_t cap = 0;
    *l = (struct lex){.clean = BUF_INIT(PARSE_TEXT_MAX),
                      .word = BUF_INIT(WORD_MAX_BYTES)};
    l->line = line ? line : 1;
    l->ops = ops;
    l->ctx = ctx;
    for (size_t i = 0; i < text.n;) {
        const char *slash = memchr(text.p + i, '\\', text.n - i);
        size_t run = slash ? (size_t)(slash - text.p) : text.n, n = 0;
        buf_add(&l->clean, text.p + i, run - i);
        while (run + n < text.n && text.p[run + n] == '\\')
            n++;
        bool joined = n % 2 == 1 && run + n < text.n && text.p[run + n] == '\n';
        buf_add(&l->clean, text.p + run, n - joined);
        if (joined && l->join_count == cap) {
            cap = cap ? 2 * cap : 16;
            l->joins = xrealloc(l->joins, cap, sizeof(*l->joins));
        }
        if (joined)
            l->joins[l->join_count++] = l->clean.n;
        i = run + n + joined;
    }
    if (!buf_full(&l->clean))
        return 0;
    lex_release(l);
    return -1;
}

void lex_release(struct lex *l)
{
    buf_release(&l->clean);
    buf_release(&l->word);
    free(l->joins);
    l->joins = NULL;
}

static int look(const struct lex *l)
{
    return l->at < l->clean.n ? (unsigned char)l->clean.p[l->at] : EOT;
}

static int take(struct lex *l)
{
    for (; l->join < l->join_count && l->joins[l->join] <= l->at; l->join++)
        l->line++;
    if (l->at < l->clean.n)
        return (unsigned char)l->clean.p[l->at++];
    return EOT;
}

static bool name_char(int c, bool first)
{
    if (c == '=' || (first && isdigit(c)))
        return false;
    return c < 0x80 && (isalnum(c) || c == '_');
}

static bool fail(struct lex *l, const char *why, char letter)
{
    l->error = why;
    l->letter = letter;
    return false;
}

/* \uXXXX, \UXXXXXXXX */
static bool take_unicode(struct lex *l, char letter)
{
    int n = letter == 'u' ? 4 : 8;
    uint32_t v = 0;
    char bytes[4];
    for (int i = 0; i < n; i++) {
        int c = take(l);
        if (c == EOT || c == '\n')
            return false;
        if (!isxdigit(c))
            return fail(l, "invalid \\%c argument", letter);
        v = v * 16 + (uint32_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    if (v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return fail(l, "invalid \\%c argument", letter);
    buf_add(&l->word, bytes, (size_t)utf8_encode(v, bytes));
    return true;
}

static bool take_escape(struct lex *l)
{
    static const char from[] = "abefsvrnt", to[] = "\a\b\033\f \v\r\n\t";
    int c = take(l);
    if (c == EOT)
        return false;
    if (c >= '4' && c <= '7')
        return fail(l, "invalid octal escape", 0);
    if (c >= '0' && c <= '3') {
        int second = take(l), third = second == EOT ? EOT : take(l);
        if (second < '0' || second > '7' || third < '0' || third > '7')
            return fail(l, "invalid octal escape", 0);
        buf_addc(&l->word, (char)((c - '0') * 64 + (second - '0') * 8 + third - '0'));
        return true;
    }
    if (c == 'u' || c == 'U')
        return take_unicode(l, (char)c);
    const char *known = memchr(from, c, sizeof(from) - 1);
    buf_addc(&l->word, known ? to[known - from] : (char)c);
    return true;
}

static bool take_variable(struct lex *l)
{
    char name[NAME_MAX_BYTES];
    size_t n = 0;
    bool braces = look(l) == '{';
    if (!braces && (look(l) == EOT || !name_char(look(l), true))) {
        buf_addc(&l->word, '$');
        return true;
    }
    if (braces)
        take(l);
    while (look(l) != EOT && name_char(look(l), false)) {
        if (n == sizeof(name))
            return fail(l, "environment variable is too long", 0);
        name[n++] = (char)take(l);
    }
    if (braces && take(l) != '}')
        return fail(l, "invalid environment variable", 0);
    if (l->ops->variable)
        l->ops->variable(l->ctx, str_n(name, n), &l->word);
    return true;
}

static bool take_home(struct lex *l)
{
    char name[NAME_MAX_BYTES];
    size_t n = 0;
    for (int c; (c = look(l)) != EOT && !strchr("/ \t\n\"'", c ? c : 'x'); take(l)) {
        if (n == sizeof(name))
            return fail(l, "user name is too long", 0);
        name[n++] = (char)c;
    }
    return l->ops->home && l->ops->home(l->ctx, str_n(name, n), &l->word);
}

/* After a newline within quotes: blanks are dropped, and so is a comment. */
static void skip_indent(struct lex *l)
{
    while (look(l) == ' ' || look(l) == '\t')
        take(l);
    int next = l->at + 1 < l->clean.n ? (unsigned char)l->clean.p[l->at + 1] : EOT;
    if (look(l) != '#' || (next > 0 && strchr(",#{}:", next)))
        return;
    while (look(l) != '\n' && look(l) != EOT)
        take(l);
}

static bool take_word(struct lex *l)
{
    enum quote state = NONE, last = START;
    for (;;) {
        int c = look(l);
        bool ok = true;
        if (c == EOT)
            return true;
        if (state == NONE && strchr(" \t\n;}", c ? c : 'x'))
            return true;
        take(l);
        if (state != NONE && c == '\n') {
            buf_addc(&l->word, '\n'); /* not counted as a line, as in tmux */
            skip_indent(l);
        } else if (c == '\\' && state != SINGLE)
            ok = take_escape(l);
        else if (c == '~' && last != state && state != SINGLE)
            ok = take_home(l);
        else if (c == '$' && state != SINGLE)
            ok = take_variable(l);
        else if (c == '\'' && state != DOUBLE) {
            last = state;
            state = state == NONE ? SINGLE : NONE;
            continue;
        } else if (c == '"' && state != SINGLE) {
            last = state;
            state = state == NONE ? DOUBLE : NONE;
            continue;
        } else
            buf_addc(&l->word, (char)c);
        if (!ok || buf_full(&l->word))
            return false;
        last = state;
    }
}

/* NAME=value, also where the name was quoted. */
static bool is_assignment(struct str word)
{
    size_t n = 0;
    while (n < word.n && name_char((unsigned char)word.p[n], n == 0))
        n++;
    return n > 0 && n < word.n && word.p[n] == '=';
}

static enum lex_token take_percent(struct lex *l)
{
    static const struct {
        const char *name;
        enum lex_token token;
    } known[] = {{"%hidden", LEX_HIDDEN},
                 {"%if", LEX_IF},
                 {"%elif", LEX_ELIF},
                 {"%else", LEX_ELSE},
                 {"%endif", LEX_ENDIF}};
    bool number = true;
    buf_addc(&l->word, '%');
    for (int c; (c = look(l)) != EOT && !strchr(" \t\n", c ? c : 'x'); take(l)) {
        buf_addc(&l->word, (char)c);
        number = number && (c == '%' || isdigit(c));
    }
    if (number)
        return LEX_WORD;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!str_eq(buf_str(&l->word), str_of(known[i].name)))
            continue;
        l->condition = true;
        return known[i].token;
    }
    return LEX_ERROR;
}

/* #{…} with its nested braces. */
static enum lex_token take_format(struct lex *l)
{
    int depth = 1;
    take(l);
    buf_addz(&l->word, "#{");
    for (;;) {
        int c = take(l);
        if (c == EOT || c == '\n')
            return LEX_ERROR;
        buf_addc(&l->word, (char)c);
        if (c == '#' && look(l) == '{') {
            depth++;
            buf_addc(&l->word, (char)take(l));
        } else if (c == '}' && --depth == 0)
            return LEX_FORMAT;
    }
}

static enum lex_token newline(struct lex *l)
{
    l->newline = true;
    l->condition = false;
    return LEX_NEWLINE;
}

enum lex_token lex_next(struct lex *l)
{
    buf_reset(&l->word);
    if (l->ended)
        return LEX_END;
    l->line += l->newline;
    l->newline = false;
    while (look(l) == ' ' || look(l) == '\t' ||
           (look(l) == '\r' && l->at + 1 < l->clean.n && l->clean.p[l->at + 1] == '\n'))
        take(l);
    l->from = l->at;
    int c = take(l);
    switch (c) {
    case EOT:
        l->ended = true;
        return newline(l);
    case '\n':
        return newline(l);
    case ';':
        return LEX_SEMICOLON;
    case '{':
        l->condition = false;
        return LEX_OPEN;
    case '}':
        return LEX_CLOSE;
    case '%':
        return take_percent(l);
    case '#':
        if (look(l) == '{' && l->condition)
            return take_format(l);
        while (look(l) != '\n' && look(l) != EOT)
            take(l);
        if (take(l) == EOT)
            l->ended = true;
        return newline(l);
    default:
        l->at--;
        if (!take_word(l))
            return LEX_ERROR;
        return is_assignment(buf_str(&l->word)) ? LEX_EQUALS : LEX_WORD;
    }
}
