/* SPDX-License-Identifier: MIT */
/*
 * A command line of tmux: as a text, what is printed of its commands is read again as the
 * same ones; as words, which NULs part, it gives commands of at least one word. Names and
 * options are checked with a small table, and each word becomes the bytes of a key.
 */
#include "base/log.h"
#include "front/tmux/lang/args.h"
#include "front/tmux/lang/keys.h"
#include "front/tmux/lang/parse.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct tmux_spec specs[] = {
    {"bind-key", "bind", "nrN:T:", 1, -1, ""},
    {"display-message", "display", "ac:d:INpt:F:v", 0, 1, ""},
    {"if-shell", "if", "bFt:", 2, 3, ""},
    {"new-session", "new", "Ac:dDe:EF:f:n:Ps:t:x:Xy:", 0, -1, ""},
    {"resize-pane", "resizep", "DLMRTt:Ux:y:Z", 0, 1, ""},
    {"send-keys", "send", "FHlMN:Rt:X", 0, -1, ""},
    {"send-prefix", NULL, "2t:", 0, 0, ""},
    {"set-option", "set", "aFgopqst:uUw", 1, 2, ""},
};
enum { SPECS = sizeof(specs) / sizeof(specs[0]), WORDS = 64 };

/*
 * What is printed does not mean the same, in tmux 3.3a and here: an option without its
 * value is a flag, so is a word with `-` after `--`; `~` in double quotes is a folder, a
 * backslash in single quotes itself.
 */
static bool lossy;

static bool variable(void *ctx, struct str name, struct buf *out)
{
    (void)ctx;
    return str_eq(name, STR("FOO")) && buf_addz(out, "val w;") == 0;
}

static bool home(void *ctx, struct str user, struct buf *out)
{
    (void)ctx;
    return user.n < 3 && buf_addz(out, "/home/u") == 0;
}

static bool condition(void *ctx, struct str format)
{
    (void)ctx;
    return format.n % 2;
}

static bool alias(void *ctx, struct str name, struct buf *out)
{
    (void)ctx;
    if (str_eq(name, STR("two")))
        return buf_addz(out, "send a ; send b") == 0;
    return str_eq(name, STR("loop")) && buf_addz(out, "loop x") == 0;
}

static int check(void *ctx, const struct tmux_command *c, struct buf *why)
{
    struct tmux_args a;
    const struct tmux_spec *spec = tmux_spec_find(specs, SPECS, str_of(c->argv[0]), why);
    (void)ctx;
    int rc = spec ? tmux_args_parse(&a, spec, c->argc, c->argv, why) : -1;
    BUG_ON(rc < 0 && why && why->n == 0);
    if (rc < 0)
        return -1;
    BUG_ON(a.words < spec->lower || (spec->upper >= 0 && a.words > spec->upper));
    BUG_ON(a.first + a.words > c->argc);
    for (int i = 0; i < a.flags; i++) {
        lossy |= strchr(spec->letters, a.flag[i].letter)[1] == ':' && !a.flag[i].value.p;
        lossy |= str_starts(a.flag[i].value, STR("~"));
    }
    for (int i = 0; i < c->argc; i++)
        lossy |= c->argv[i][0] == '~' || strchr(c->argv[i], '"');
    lossy |= a.words > 0 && a.word[0][0] == '-';
    struct str value;
    for (int at = 0; tmux_args_next(&a, 't', &at, &value);)
        BUG_ON(!value.p);
    return 0;
}

static const struct tmux_parse_ops ops = {.variable = variable,
                                          .home = home,
                                          .condition = condition,
                                          .alias = alias,
                                          .check = check};
/* What is printed has no variables, and no aliases. */
static const struct tmux_parse_ops plain = {.check = check};

static void check_commands(const struct tmux_commands *all)
{
    size_t words = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct tmux_command *c = &all->command[i];
        BUG_ON(c->argc < 1 || c->argv[c->argc]);
        words += (size_t)c->argc;
    }
    BUG_ON(words != all->words || words > PARSE_WORDS_MAX);
}

static void print(struct buf *out, const struct tmux_commands *all)
{
    tmux_commands_print(out, all, specs, SPECS, &plain, NULL);
}

static void text(struct str s)
{
    struct tmux_commands all = {0}, again = {0};
    struct buf why = BUF_INIT(PARSE_ERROR_MAX), out = BUF_INIT(16 << 20);
    struct buf other = BUF_INIT(16 << 20);
    lossy = false;
    int rc = tmux_parse(&all, s, "f", 1, &ops, NULL, &why);
    BUG_ON((rc < 0) != (why.n > 0) || (rc < 0 && all.n > 0));
    check_commands(&all);
    if (all.n == 1 && all.command[0].braces == 0 && !lossy) {
        print(&out, &all);
        buf_reset(&why);
        BUG_ON(tmux_parse(&again, buf_str(&out), NULL, 0, &plain, NULL, &why) < 0);
        print(&other, &again);
        BUG_ON(!str_eq(buf_str(&out), buf_str(&other)));
    } else {
        print(&out, &all);
    }
    tmux_commands_release(&all);
    tmux_commands_release(&again);
    buf_release(&why);
    buf_release(&out);
    buf_release(&other);
}

static void keys(struct str word)
{
    struct buf out = BUF_INIT(1 << 20), name = BUF_INIT(1 << 20);
    for (int i = 0; i < 8; i++) {
        struct tmux_key_mode mode = {i & 1, i & 2, i & 4};
        buf_reset(&out);
        tmux_key_word(&out, word, true, &mode);
        BUG_ON(word.n < 1000 && !str_eq(buf_str(&out), word));
        buf_reset(&out);
        tmux_key_word(&out, word, false, &mode);
    }
    tmux_key_hex(&out, word);
    tmux_key key = tmux_key_parse(word);
    if (key != TMUX_KEY_NONE) {
        tmux_key_print(&name, key);
        BUG_ON(name.n == 0);
    }
    int64_t number;
    const char *cause;
    if (tmux_number(word, -5, 500, &number, &cause) == 0)
        BUG_ON(number < -5 || number > 500);
    if (tmux_percentage(word, 0, 1000, 200, &number, &cause) == 0)
        BUG_ON(number < 0 || number > 1000);
    buf_release(&out);
    buf_release(&name);
}

static void words(struct str s)
{
    struct tmux_commands all = {0};
    struct buf why = BUF_INIT(PARSE_ERROR_MAX), copy = BUF_INIT(1 << 20);
    char *argv[WORDS + 1];
    int argc = 0;
    buf_adds(&copy, s);
    char *p = (char *)(uintptr_t)buf_z(&copy);
    for (size_t at = 0; at <= copy.n && argc < WORDS; at += strlen(p + at) + 1) {
        argv[argc++] = p + at;
        keys(str_of(p + at));
    }
    argv[argc] = NULL;
    int rc = tmux_parse_words(&all, argc, argv, &ops, NULL, &why);
    BUG_ON((rc < 0) != (why.n > 0) || (rc < 0 && all.n > 0));
    check_commands(&all);
    tmux_commands_release(&all);
    buf_release(&why);
    buf_release(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 0 && n < 1 << 20) {
        text(str_n(data, n));
        words(str_n(data, n));
    }
    return 0;
}
