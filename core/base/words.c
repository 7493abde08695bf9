/* SPDX-License-Identifier: MIT */
/* A command line's words; see words.h. */
#include "base/words.h"

#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/*
 * Appends the word at *text to out and moves *text after it. Returns 0, or what is not
 * complete: a quote that is not closed, or a backslash at the end.
 */
static char take_word(struct buf *out, struct str *text)
{
    char quote = 0;
    size_t i = 0;
    for (; i < text->n && (quote || !is_blank(text->p[i])); i++) {
        char c = text->p[i], next = i + 1 < text->n ? text->p[i + 1] : 0;
        bool escapes = c == '\\' && quote != '\'';
        if (escapes && quote == '"')
            escapes = next && strchr("\"\\$`\n", next);
        if (escapes && i + 1 == text->n)
            return '\\';
        if (escapes) {
            if (next != '\n')
                buf_addc(out, next);
            i++;
        } else if (c == quote) {
            quote = 0;
        } else if (!quote && (c == '\'' || c == '"')) {
            quote = c;
        } else {
            buf_addc(out, c);
        }
    }
    *text = str_sub(*text, i, text->n);
    return quote;
}

void words_free(char **words)
{
    for (char **w = words; w && *w; w++)
        free(*w);
    free(words);
}

char **words_split(struct str text, int *n, struct err *e)
{
    char **words = xcalloc(WORDS_MAX + 1, sizeof(*words)), missing = 0;
    *n = 0;
    for (;;) {
        while (text.n && is_blank(text.p[0]))
            text = str_sub(text, 1, text.n);
        if (!text.n || missing || *n == WORDS_MAX)
            break;
        struct buf word = BUF_INIT(text.n);
        missing = take_word(&word, &text);
        words[(*n)++] = buf_take(&word);
    }
    if (!missing && !text.n)
        return words;
    words_free(words);
    if (missing == '\\')
        err_set(e, ERR_INVALID, "it ends in a backslash");
    else if (missing)
        err_set(e, ERR_INVALID, "a quote (%c) is not closed", missing);
    else
        err_set(e, ERR_LIMIT, "it has more than %d words", WORDS_MAX);
    return NULL;
}

int words_quote(struct buf *out, struct str s)
{
    buf_addc(out, '\'');
    while (s.n > 0) {
        const char *quote = memchr(s.p, '\'', s.n);
        size_t n = quote ? (size_t)(quote - s.p) : s.n;
        buf_add(out, s.p, n);
        if (quote)
            buf_addz(out, "'\\''");
        s = str_sub(s, n + (quote ? 1 : 0), s.n);
    }
    return buf_addc(out, '\'');
}
