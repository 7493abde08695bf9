/* SPDX-License-Identifier: MIT */
/* Commands and words as tmux prints them: see parse.h. */
#include "front/tmux/lang/args.h"
#include "front/tmux/lang/parse.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>

void tmux_escape(struct buf *out, struct str text, bool double_quotes)
{
    static const char from[] = "\a\b\f\v\r\n\t", to[] = "abfvrnt";
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        uint32_t cp;
        int n = utf8_decode(str_sub(text, i, text.n), &cp);
        const char *known = c ? memchr(from, c, sizeof(from) - 1) : NULL;
        bool variable = c == '$' && i + 1 < text.n &&
                        (isalpha((unsigned char)text.p[i + 1]) || text.p[i + 1] == '_' ||
                         text.p[i + 1] == '{');
        if (n > 1) {
            buf_add(out, text.p + i, (size_t)n);
            i += (size_t)n - 1;
        } else if (known)
            buf_addf(out, "\\%c", to[known - from]);
        else if (c == '\\' || variable || (c == '"' && double_quotes))
            buf_addf(out, "\\%c", c);
        else if (c >= ' ' && c < 0x7f)
            buf_addc(out, c);
        else
            buf_addf(out, "\\%03o", (unsigned char)c);
    }
}

static bool has_any(struct str s, const char *set)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] && strchr(set, s.p[i]))
            return true;
    return false;
}

void tmux_quote(struct buf *out, struct str word)
{
    char quote = has_any(word, " #';${}%") ? '"' : has_any(word, "\"") ? '\'' : 0;
    if (word.n == 0)
        buf_addz(out, "''");
    else if (word.n == 1 && word.p[0] != ' ' && (quote || word.p[0] == '~'))
        buf_addf(out, "\\%c", word.p[0]);
    else {
        if (quote)
            buf_addc(out, quote);
        else if (word.p[0] == '~')
            buf_addc(out, '\\');
        tmux_escape(out, word, quote == '"');
        if (quote)
            buf_addc(out, quote);
    }
}

/* What a text in braces is printed from. */
struct print {
    struct buf *out;
    const struct tmux_spec *table;
    size_t n;
    const struct tmux_parse_ops *ops;
    void *ctx;
    int depth;
};

static void print_list(const struct print *p, const struct tmux_commands *c);

static void print_word(const struct print *p, struct str word, bool braces)
{
    struct tmux_commands inner = {0};
    struct buf why = BUF_INIT(PARSE_ERROR_MAX);
    if (!braces || p->depth > PARSE_DEPTH_MAX) {
        tmux_quote(p->out, word);
        return;
    }
    struct print deeper = *p;
    deeper.depth++;
    buf_addz(p->out, "{ ");
    if (tmux_parse(&inner, word, NULL, 0, p->ops, p->ctx, &why) == 0)
        print_list(&deeper, &inner);
    buf_addz(p->out, " }");
    tmux_commands_release(&inner);
    buf_release(&why);
}

/* Options without a value first, then the others, each in the order of their letters. */
static void print_args(const struct print *p, const struct tmux_args *a, uint64_t braces)
{
    bool any = false;
    for (int letter = 1; letter < 128; letter++) {
        for (int i = 0; i < a->flags; i++) {
            if (a->flag[i].letter != letter || a->flag[i].value.p)
                continue;
            buf_addz(p->out, any ? "" : " -");
            buf_addc(p->out, (char)letter);
            any = true;
        }
    }
    for (int letter = 1; letter < 128; letter++) {
        for (int i = 0; i < a->flags; i++) {
            if (a->flag[i].letter != letter || !a->flag[i].value.p)
                continue;
            buf_addf(p->out, " -%c ", letter);
            tmux_quote(p->out, a->flag[i].value);
        }
    }
    for (int i = 0; i < a->words; i++) {
        int at = a->first + i;
        buf_addc(p->out, ' ');
        print_word(p, tmux_args_word(a, i), at < 64 && (braces >> at & 1));
    }
}

static void print_command(const struct print *p, const struct tmux_command *c)
{
    struct tmux_args *a = malloc(sizeof(*a)); /* 6 KB: not on the stack, for the depth */
    const struct tmux_spec *spec = tmux_spec_find(p->table, p->n, str_of(c->argv[0]),
                                                  NULL);
    if (a && spec && tmux_args_parse(a, spec, c->argc, c->argv, NULL) == 0) {
        buf_addz(p->out, spec->name);
        print_args(p, a, c->braces);
    } else {
        for (int i = 0; i < c->argc; i++) {
            buf_addz(p->out, i ? " " : "");
            print_word(p, str_of(c->argv[i]), i < 64 && (c->braces >> i & 1));
        }
    }
    free(a);
}

static void print_list(const struct print *p, const struct tmux_commands *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (i)
            buf_addz(p->out,
                     c->command[i].group == c->command[i - 1].group ? " ; " : " ;; ");
        print_command(p, &c->command[i]);
    }
}

void tmux_commands_print(struct buf *out, const struct tmux_commands *c,
                         const struct tmux_spec *table, size_t n,
                         const struct tmux_parse_ops *ops, void *ctx)
{
    struct print p = {out, table, n, ops, ctx, 0};
    print_list(&p, c);
}
