/* SPDX-License-Identifier: MIT */
/* Names, options and arguments of commands, with the errors of tmux 3.3a. */
#include "front/tmux/lang/args.h"

#include "t.h"

static const struct tmux_spec specs[] = {
    {"new-session", "new", "Ac:dDe:EF:f:n:Ps:t:x:Xy:", 0, -1, "[-d]"},
    {"new-window", "neww", "abc:de:F:kn:PSt:", 0, -1, "[-d]"},
    {"rename-session", "rename", "t:", 1, 1, "[-t target-session] new-name"},
    {"rename-window", "renamew", "t:", 1, 1, "[-t target-window] new-name"},
    {"send-keys", "send", "FHlMN:Rt:X", 0, -1, "key ..."},
    {"kill-pane", "killp", "at:", 0, 0, "[-a] [-t target-pane]"},
    {"optional", NULL, "a::bn:", 0, 2, ""},
};
enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

static void check_find(const char *typed, const char *want, const char *error)
{
    struct buf why = BUF_INIT(4096);
    const struct tmux_spec *spec = tmux_spec_find(specs, SPECS, str_of(typed), &why);
    CHECK_STR(spec ? spec->name : "", want);
    CHECK_STR(buf_z(&why), error);
    CHECK(tmux_spec_find(specs, SPECS, str_of(typed), NULL) == spec);
    buf_release(&why);
}

TEST(names)
{
    check_find("new-session", "new-session", "");
    check_find("new", "new-session", "");
    check_find("neww", "new-window", "");
    check_find("new-w", "new-window", "");
    check_find("rename", "rename-session", "");
    check_find("k", "kill-pane", "");
    check_find("ren", "",
               "ambiguous command: ren, could be: rename-session, rename-window");
    check_find("nosuch", "", "unknown command: nosuch");
    check_find("kill-panes", "", "unknown command: kill-panes");
    check_find("New", "", "unknown command: New");
}

struct row {
    const char *argv[8]; /* [0] is the name of the command */
    const char *want;
};

/* "flags | words", each option as -X=value; or the error. */
static void show(struct buf *out, const char *const *argv)
{
    struct tmux_args a;
    int argc = 0;
    const struct tmux_spec *spec = tmux_spec_find(specs, SPECS, str_of(argv[0]), NULL);
    while (argv[argc])
        argc++;
    if (tmux_args_parse(&a, spec, argc, (char *const *)(uintptr_t)argv, out) < 0)
        return;
    for (int i = 0; i < a.flags; i++) {
        buf_addf(out, "-%c", a.flag[i].letter);
        if (a.flag[i].value.p)
            buf_addf(out, "=%.*s", STR_ARG(a.flag[i].value));
        buf_addc(out, ' ');
    }
    buf_addc(out, '|');
    for (int i = 0; i < a.words; i++)
        buf_addf(out, " %s", a.word[i]);
    CHECK_INT(a.first + a.words, argc);
    CHECK(!a.word[a.words]);
}

TEST(options)
{
    static const struct row rows[] = {
        {{"new", "-d", "-s", "x", "-x80", "cmd", NULL}, "-d -s=x -x=80 | cmd"},
        {{"new", "-ds", "x", NULL}, "-d -s=x |"},
        {{"new", "-dsx", NULL}, "-d -s=x |"},
        {{"new", "-e", "A=b", "-e", "C=d", NULL}, "-e=A=b -e=C=d |"},
        {{"new", "--", "-d", NULL}, "| -d"},
        {{"new", "a", "-d", NULL}, "| a -d"},
        {{"send", "-", "a", NULL}, "| - a"},
        {{"send", "-l", "--", "--", NULL}, "-l | --"},
        {{"send", "", NULL}, "| "},
        {{"send", "-N", "", "x", NULL}, "-N= | x"},
        {{"killp", "-Z", NULL}, "command kill-pane: unknown flag -Z"},
        {{"killp", "-9", NULL}, "command kill-pane: unknown flag -9"},
        {{"killp", "-a~", NULL}, "command kill-pane: invalid flag -~"},
        {{"killp", "x", NULL}, "command kill-pane: too many arguments (need at most 0)"},
        {{"renamew", NULL}, "command rename-window: too few arguments (need at least 1)"},
        {{"killp", "-?", NULL}, "usage: kill-pane [-a] [-t target-pane]"},
        {{"killp", "-t", NULL}, "-t |"},
        {{"optional", "-a", "x", NULL}, "-a=x |"},
        {{"optional", "-a", "-b", NULL}, "-a -b |"},
        {{"optional", "-ax", NULL}, "-a=x |"},
        {{"optional", "-a", NULL}, "-a |"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = BUF_INIT(4096);
        show(&out, rows[i].argv);
        CHECK_STR(buf_z(&out), rows[i].want);
        buf_release(&out);
    }
}

TEST(values)
{
    static const char *const argv[] = {"new", "-e", "A=b", "-dd", "-e", "C=d", "w", NULL};
    struct tmux_args a;
    struct str value;
    int at = 0;
    CHECK_INT(tmux_args_parse(&a, &specs[0], 7, (char *const *)(uintptr_t)argv, NULL), 0);
    CHECK_INT(tmux_args_has(&a, 'd'), 2);
    CHECK_INT(tmux_args_has(&a, 'x'), 0);
    CHECK(str_eq(tmux_args_get(&a, 'e'), STR("C=d")));
    CHECK(!tmux_args_get(&a, 'd').p);
    CHECK(tmux_args_next(&a, 'e', &at, &value) && str_eq(value, STR("A=b")));
    CHECK(tmux_args_next(&a, 'e', &at, &value) && str_eq(value, STR("C=d")));
    CHECK(!tmux_args_next(&a, 'e', &at, &value));
    CHECK(str_eq(tmux_args_word(&a, 0), STR("w")));
    CHECK(!tmux_args_word(&a, 1).p);
}

TEST(too_many_options)
{
    char word[ARGS_FLAGS_MAX + 3];
    const char *const argv[] = {"killp", word, NULL};
    struct tmux_args a;
    struct buf why = BUF_INIT(4096);
    memset(word, 'a', sizeof(word));
    word[0] = '-';
    word[sizeof(word) - 1] = '\0';
    CHECK_INT(tmux_args_parse(&a, &specs[5], 2, (char *const *)(uintptr_t)argv, &why),
              -1);
    CHECK(why.n > 0);
    buf_release(&why);
}

static void check_number(const char *text, int64_t want, const char *error)
{
    int64_t n = -99;
    const char *cause = "";
    int rc = tmux_number(str_of(text), -5, 100, &n, &cause);
    CHECK_INT(rc, error ? -1 : 0);
    if (error)
        CHECK_STR(cause, error);
    else
        CHECK_INT(n, want);
}

TEST(numbers)
{
    check_number("0", 0, NULL);
    check_number("007", 7, NULL);
    check_number(" +7", 7, NULL);
    check_number("-5", -5, NULL);
    check_number("100", 100, NULL);
    check_number("-6", 0, "too small");
    check_number("101", 0, "too large");
    check_number("99999999999999999999999", 0, "too large");
    check_number("-99999999999999999999999", 0, "too small");
    check_number("", 0, "invalid");
    check_number("-", 0, "invalid");
    check_number("7 ", 0, "invalid");
    check_number("0x7", 0, "invalid");
}

TEST(percentages)
{
    int64_t n = -1;
    const char *cause = NULL;
    CHECK_INT(tmux_percentage(STR("50%"), 0, 100, 81, &n, &cause), 0);
    CHECK_INT(n, 40);
    CHECK_INT(tmux_percentage(STR("7"), 0, 100, 81, &n, &cause), 0);
    CHECK_INT(n, 7);
    CHECK_INT(tmux_percentage(STR("101%"), 0, 100, 81, &n, &cause), -1);
    CHECK_STR(cause, "too large");
    CHECK_INT(tmux_percentage(STR("x%"), 0, 100, 81, &n, &cause), -1);
    CHECK_STR(cause, "invalid");
    CHECK_INT(tmux_percentage(STR(""), 0, 100, 81, &n, &cause), -1);
    CHECK_STR(cause, "empty");
    CHECK_INT(tmux_percentage(STR("%"), 0, 100, 81, &n, &cause), -1);
}

T_MAIN
