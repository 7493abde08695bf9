/* SPDX-License-Identifier: MIT */
/*
 * tmux's command language: see parse.h. A text is read by recursive descent; then each
 * command's alias is replaced, and the caller checks it. So a syntax error anywhere comes
 * before an unknown command, and nothing of a text with an error is kept.
 */
#include "front/tmux/lang/parse.h"

#include "base/xalloc.h"
#include "front/tmux/lang/lex_own.h"

#include <stdlib.h>

struct command_parser {
    struct lex lex;
    enum lex_token token;
    struct tmux_commands list;
    const char *file;
    const struct tmux_parse_ops *ops;
    void *ctx;
    struct buf *why;
    struct buf bad;    /* error of the commands in braces, ... */
    size_t bad_at;     /* ... and the number of the command that has them */
    int depth, *total; /* total: levels of braces and aliases around this text */
    bool active;       /* not in a branch of %if that is left out */
};

static int parse_text(struct tmux_commands *out, struct str text, const char *file,
                      unsigned line, const struct tmux_parse_ops *ops, void *ctx,
                      struct buf *why, int *total);
static int statements(struct command_parser *p);
static int commands(struct command_parser *p);

static int complain(struct command_parser *p, const char *why)
{
    if (p->file)
        buf_addf(p->why, "%s:%u: ", p->file, p->lex.line);
    buf_addz(p->why, why);
    return -1;
}

static int syntax(struct command_parser *p)
{
    char text[64];
    if (p->token != LEX_ERROR || !p->lex.error)
        return complain(p, "syntax error");
    if (!p->lex.letter)
        return complain(p, p->lex.error);
    /* the only error with a letter */
    buf_fill(text, sizeof(text), "invalid \\%c argument", p->lex.letter);
    return complain(p, text);
}

static void next(struct command_parser *p) { p->token = lex_next(&p->lex); }

static void command_release(struct tmux_command *c)
{
    for (int i = 0; i < c->argc; i++)
        free(c->argv[i]);
    free(c->argv);
    *c = (struct tmux_command){0};
}

static void command_word(struct tmux_command *c, struct str word)
{
    if (!c->argv || ((c->argc + 1) & c->argc) == 0)
        c->argv = xrealloc(c->argv, 2 * (size_t)c->argc + 2, sizeof(*c->argv));
    c->argv[c->argc++] = xstrndup(word.n ? word.p : "", word.n);
    c->argv[c->argc] = NULL;
}

static void commands_add(struct tmux_commands *list, struct tmux_command *take)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 8;
        list->command = xrealloc(list->command, list->cap, sizeof(*list->command));
    }
    list->words += (size_t)take->argc;
    list->command[list->n++] = *take;
    *take = (struct tmux_command){0};
}

void tmux_commands_release(struct tmux_commands *c)
{
    for (size_t i = 0; i < c->n; i++)
        command_release(&c->command[i]);
    free(c->command);
    *c = (struct tmux_commands){0};
}

/* --- one command ------------------------------------------------------------ */

static void assign(struct command_parser *p, bool hidden)
{
    struct str value = buf_str(&p->lex.word), name = str_cut(&value, '=');
    if (p->active && p->ops->assign)
        p->ops->assign(p->ctx, name, value, hidden);
}

/* A text in braces, from after `{` to its `}`; it becomes one word of c. */
static int braces(struct command_parser *p, struct tmux_command *c)
{
    struct tmux_commands outer = p->list, inner = {0};
    size_t from = p->lex.at;
    struct buf why = BUF_INIT(PARSE_ERROR_MAX);
    if (++p->depth + *p->total > PARSE_DEPTH_MAX)
        return complain(p, "too many levels");
    p->list = (struct tmux_commands){0};
    next(p);
    int rc = statements(p);
    inner = p->list;
    p->list = outer;
    p->depth--;
    if (rc == 0 && p->token != LEX_CLOSE)
        rc = syntax(p);
    if (rc == 0) {
        struct str text = str_sub(buf_str(&p->lex.clean), from, p->lex.from - from);
        if (c->argc < 64)
            c->braces |= UINT64_C(1) << c->argc;
        command_word(c, str_trim(text));
        for (size_t i = 0; p->active && !p->bad.n && i < inner.n; i++) {
            struct tmux_command *one = &inner.command[i];
            if (!p->ops->check || p->ops->check(p->ctx, one, &why) == 0)
                continue;
            p->bad_at = outer.n;
            if (p->file)
                buf_addf(&p->bad, "%s:%u: ", p->file, one->line);
            buf_adds(&p->bad, buf_str(&why));
        }
        next(p);
    }
    buf_release(&why);
    tmux_commands_release(&inner);
    return rc;
}

static int command(struct command_parser *p)
{
    struct tmux_command c = {0};
    int rc = 0;
    if (p->token == LEX_EQUALS) {
        assign(p, false);
        next(p);
        if (p->token != LEX_WORD)
            return p->token == LEX_EQUALS ? syntax(p) : 0;
    }
    if (p->token != LEX_WORD)
        return syntax(p);
    while (rc == 0) {
        if (p->token == LEX_WORD || (p->token == LEX_EQUALS && c.argc)) {
            command_word(&c, buf_str(&p->lex.word));
            c.line = p->lex.line;
            next(p);
        } else if (p->token == LEX_OPEN && c.argc)
            rc = braces(p, &c);
        else
            break;
        if (p->list.words + (size_t)c.argc > PARSE_WORDS_MAX)
            rc = complain(p, "too many words");
    }
    c.line = p->lex.line;
    if (rc == 0 && p->active)
        commands_add(&p->list, &c);
    command_release(&c);
    return rc;
}

/* --- conditions --------------------------------------------------------------- */

/* The format after %if and %elif. Returns whether it is true, or -1. */
static int condition(struct command_parser *p, bool wanted)
{
    next(p);
    if (p->token != LEX_FORMAT && p->token != LEX_WORD)
        return syntax(p);
    int is = wanted && p->ops->condition &&
             p->ops->condition(p->ctx, buf_str(&p->lex.word));
    next(p);
    return is;
}

static int branch(struct command_parser *p, bool lines)
{
    if (!lines)
        return commands(p);
    if (p->token != LEX_NEWLINE)
        return syntax(p);
    next(p);
    if (p->token == LEX_ELIF || p->token == LEX_ELSE || p->token == LEX_ENDIF)
        return syntax(p); /* tmux wants a line here, if an empty one */
    return statements(p);
}

/*
 * From %if to %endif, either over lines, which only the beginning of a line may be, or
 * within one. Returns 1 after lines.
 */
static int conditional(struct command_parser *p, bool first_of_line)
{
    bool outer = p->active, done = false, lines = false, last = false;
    if (++p->depth + *p->total > PARSE_DEPTH_MAX)
        return complain(p, "too many levels");
    for (bool first = true;; first = false) {
        int is = last ? !done : condition(p, outer && !done);
        if (is < 0)
            return -1;
        if (first)
            lines = first_of_line && p->token == LEX_NEWLINE;
        p->active = outer && is && !done;
        done = done || is;
        int rc = branch(p, lines);
        p->active = outer;
        if (rc < 0)
            return -1;
        if (p->token == LEX_ENDIF)
            break;
        if (last || (p->token != LEX_ELIF && p->token != LEX_ELSE))
            return syntax(p);
        last = p->token == LEX_ELSE;
        if (last)
            next(p);
    }
    next(p);
    p->depth--;
    return lines;
}

/* --- lists -------------------------------------------------------------------- */

/* Commands of one line, joined by `;`. */
static int commands(struct command_parser *p)
{
    for (bool first = true;; first = false) {
        if (p->token == LEX_IF) {
            int rc = conditional(p, first);
            if (rc != 0)
                return rc < 0 ? -1 : 0;
        } else if (first || p->token == LEX_WORD || p->token == LEX_EQUALS) {
            if (command(p) < 0)
                return -1;
        }
        if (p->token != LEX_SEMICOLON)
            return 0;
        next(p);
    }
}

static bool ends(enum lex_token t)
{
    return t == LEX_END || t == LEX_CLOSE || t == LEX_ELIF || t == LEX_ELSE ||
           t == LEX_ENDIF;
}

/* Lines, up to what ends them. */
static int statements(struct command_parser *p)
{
    while (!ends(p->token)) {
        if (p->token == LEX_HIDDEN) {
            next(p);
            if (p->token != LEX_EQUALS)
                return syntax(p);
            assign(p, true);
            next(p);
        } else if (p->token != LEX_NEWLINE && commands(p) < 0)
            return -1;
        if (p->token == LEX_CLOSE)
            return 0;
        if (p->token != LEX_NEWLINE)
            return syntax(p);
        next(p);
    }
    return 0;
}

/* --- building ----------------------------------------------------------------- */

/* Replaces a command by those that its alias stands for. Returns 1, 0 for no alias. */
static int expand(struct command_parser *p, struct tmux_commands *out,
                  struct tmux_command *c)
{
    struct buf text = BUF_INIT(PARSE_TEXT_MAX);
    struct tmux_commands more = {0};
    struct tmux_parse_ops ops = *p->ops;
    int rc = 0, total = p->depth + *p->total + 1;
    ops.alias = NULL; /* an alias in an alias is a command's name */
    ops.check = NULL;
    if (p->ops->alias && p->ops->alias(p->ctx, str_of(c->argv[0]), &text))
        rc = parse_text(&more, buf_str(&text), p->file, c->line, &ops, p->ctx, p->why,
                        &total) < 0
                 ? -1
                 : 1;
    buf_release(&text);
    if (rc <= 0)
        return rc;
    for (size_t i = 0; i < more.n; i++) {
        struct tmux_command *one = &more.command[i];
        one->line = c->line;
        for (int k = 1; i + 1 == more.n && k < c->argc; k++) {
            if (k < 64 && one->argc < 64 && (c->braces >> k & 1))
                one->braces |= UINT64_C(1) << one->argc;
            command_word(one, str_of(c->argv[k]));
        }
        commands_add(out, one);
    }
    tmux_commands_release(&more);
    command_release(c);
    return 1;
}

static int check(struct command_parser *p, const struct tmux_command *c)
{
    struct buf why = BUF_INIT(PARSE_ERROR_MAX);
    int rc = p->ops->check ? p->ops->check(p->ctx, c, &why) : 0;
    if (rc < 0) {
        if (p->file)
            buf_addf(p->why, "%s:%u: ", p->file, c->line);
        buf_adds(p->why, buf_str(&why));
    }
    buf_release(&why);
    return rc;
}

/* Appends the parser's commands to out, aliases replaced and all checked. */
static int build(struct command_parser *p, struct tmux_commands *out)
{
    struct tmux_commands built = {0};
    unsigned group = out->n ? out->command[out->n - 1].group + 1 : 0, before = 0;
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < p->list.n; i++) {
        unsigned line = p->list.command[i].line;
        size_t n = built.n;
        if (p->bad.n && p->bad_at == i) {
            buf_adds(p->why, buf_str(&p->bad));
            rc = -1;
            break;
        }
        group += i && line != before;
        before = line;
        rc = expand(p, &built, &p->list.command[i]);
        if (rc == 0)
            commands_add(&built, &p->list.command[i]);
        for (; rc >= 0 && n < built.n; n++) {
            built.command[n].group = group;
            rc = check(p, &built.command[n]) < 0 ? -1 : rc;
        }
    }
    for (size_t i = 0; rc >= 0 && i < built.n; i++)
        commands_add(out, &built.command[i]);
    tmux_commands_release(&built);
    return rc < 0 ? -1 : 0;
}

static int parse_text(struct tmux_commands *out, struct str text, const char *file,
                      unsigned line, const struct tmux_parse_ops *ops, void *ctx,
                      struct buf *why, int *total)
{
    struct command_parser p = {
        .file = file, .ops = ops, .ctx = ctx, .why = why, .total = total};
    p.active = true;
    p.bad = (struct buf)BUF_INIT(2 * PARSE_ERROR_MAX);
    if (*total > PARSE_DEPTH_MAX) {
        buf_addz(why, "too many levels");
        return -1;
    }
    if (lex_init(&p.lex, text, line, ops, ctx) < 0) {
        buf_addz(why, "text is too long");
        return -1;
    }
    next(&p);
    int rc = statements(&p);
    if (rc == 0 && p.token != LEX_END)
        rc = syntax(&p);
    p.depth = 0;
    if (rc == 0)
        rc = build(&p, out);
    lex_release(&p.lex);
    tmux_commands_release(&p.list);
    buf_release(&p.bad);
    return rc;
}

int tmux_parse(struct tmux_commands *out, struct str text, const char *file,
               unsigned line, const struct tmux_parse_ops *ops, void *ctx,
               struct buf *why)
{
    int total = 0;
    return parse_text(out, text, file, line, ops, ctx, why, &total);
}

int tmux_parse_words(struct tmux_commands *out, int argc, char *const *argv,
                     const struct tmux_parse_ops *ops, void *ctx, struct buf *why)
{
    struct tmux_command c = {0};
    int total = 0;
    struct command_parser p = {.ops = ops, .ctx = ctx, .why = why, .total = &total};
    for (int i = 0; i < argc; i++) {
        struct str word = str_of(argv[i]);
        bool end = false, semicolon = false;
        if (word.n && word.p[word.n - 1] == ';') {
            word.n--;
            semicolon = word.n && word.p[word.n - 1] == '\\';
            end = !semicolon;
        }
        if (semicolon) {
            struct buf copy = BUF_INIT(PARSE_TEXT_MAX);
            buf_add(&copy, word.p, word.n - 1);
            buf_addc(&copy, ';');
            command_word(&c, buf_str(&copy));
            buf_release(&copy);
        } else if (!end || word.n)
            command_word(&c, word);
        if ((end || i + 1 == argc) && c.argc)
            commands_add(&p.list, &c);
    }
    int rc = build(&p, out);
    command_release(&c);
    tmux_commands_release(&p.list);
    return rc;
}
