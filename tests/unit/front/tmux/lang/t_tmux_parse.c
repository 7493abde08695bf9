/* SPDX-License-Identifier: MIT */
/*
 * The command language: what list-keys of tmux 3.3a prints for a binding to a text, and
 * what source-file says about texts that are none.
 */
#include "front/tmux/lang/args.h"
#include "front/tmux/lang/parse.h"

#include "t.h"

struct row {
    const char *text, *want;
};

static const struct tmux_spec specs[] = {
    {"bind-key", "bind", "nrN:T:", 1, -1, ""},
    {"confirm-before", "confirm", "bp:t:", 1, 1, ""},
    {"display-message", "display", "ac:d:INpt:F:v", 0, 1, ""},
    {"display-panes", "displayp", "bd:Nt:", 0, 1, ""},
    {"if-shell", "if", "bFt:", 2, 3, ""},
    {"kill-pane", "killp", "at:", 0, 0, ""},
    {"new-session", "new", "Ac:dDe:EF:f:n:Ps:t:x:Xy:", 0, -1, ""},
    {"new-window", "neww", "abc:de:F:kn:PSt:", 0, -1, ""},
    {"rename-session", "rename", "t:", 1, 1, ""},
    {"rename-window", "renamew", "t:", 1, 1, ""},
    {"run-shell", "run", "bd:Ct:", 0, 1, ""},
    {"send-keys", "send", "FHlMN:Rt:X", 0, -1, ""},
    {"set-option", "set", "aFgopqst:uUw", 1, 2, ""},
    {"split-window", "splitw", "bc:de:fF:hIl:p:Pt:vZ", 0, -1, ""},
};
enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

static bool variable(void *ctx, struct str name, struct buf *out)
{
    (void)ctx;
    return str_eq(name, STR("FOO")) && buf_addz(out, "val w") == 0;
}

static bool home(void *ctx, struct str user, struct buf *out)
{
    (void)ctx;
    return user.n == 0 && buf_addz(out, "/home/u") == 0;
}

static bool condition(void *ctx, struct str format)
{
    (void)ctx;
    return str_eq(format, STR("1"));
}

static int check(void *ctx, const struct tmux_command *c, struct buf *why)
{
    struct tmux_args a;
    const struct tmux_spec *spec = tmux_spec_find(specs, SPECS, str_of(c->argv[0]), why);
    (void)ctx;
    return spec ? tmux_args_parse(&a, spec, c->argc, c->argv, why) : -1;
}

static const struct tmux_parse_ops ops = {
    .variable = variable, .home = home, .condition = condition, .check = check};

static void parsed(struct buf *out, const char *text, unsigned line, const char *file)
{
    struct tmux_commands all = {0};
    struct buf why = BUF_INIT(PARSE_ERROR_MAX);
    if (tmux_parse(&all, str_of(text), file, line, &ops, NULL, &why) == 0)
        tmux_commands_print(out, &all, specs, SPECS, &ops, NULL);
    else
        buf_adds(out, buf_str(&why));
    buf_release(&why);
    tmux_commands_release(&all);
}

static void check_row(const struct row *r, const char *file)
{
    struct buf out = BUF_INIT(1 << 16);
    parsed(&out, r->text, 1, file);
    if (strcmp(buf_z(&out), r->want) != 0)
        T_FAIL("%s: %s, not %s", r->text, buf_z(&out), r->want);
    buf_release(&out);
}

TEST(as_tmux)
{
    static const struct row rows[] = {
        {"display-message a", "display-message a"},
        {"display -p \"a b\" ; neww -d", "display-message -p \"a b\" ; new-window -d"},
        {"display 'a\"b'", "display-message 'a\"b'"},
        {"display \"a'b\"", "display-message \"a'b\""},
        {"display a\\ b", "display-message \"a b\""},
        {"display \"a\\tb\\n\\033[1m\\u00e9\"",
         "display-message a\\tb\\n\\033[1m\xc3\xa9"},
        {"display $FOO", "display-message \"val w\""},
        {"display \"$FOO-${FOO}x\"", "display-message \"val w-val wx\""},
        {"display '$FOO'", "display-message \"\\$FOO\""},
        {"display $BAR", "display-message ''"},
        {"display \"<$BAR>\"", "display-message <>"},
        {"display ~", "display-message /home/u"},
        {"display ~/x", "display-message /home/u/x"},
        {"display \"~\"", "display-message /home/u"},
        {"display a~", "display-message a~"},
        {"display a # comment", "display-message a"},
        {"display a#b", "display-message \"a#b\""},
        {"display \"a#{b}\"", "display-message \"a#{b}\""},
        {"display '#{?x,a,b}'", "display-message \"#{?x,a,b}\""},
        {"if -F 1 { display a } { display b }",
         "if-shell -F 1 { display-message a } { display-message b }"},
        {"if -F \"#{==:a,b}\" { display \"x ; y\" ; neww }",
         "if-shell -F \"#{==:a,b}\" { display-message \"x ; y\" ; new-window }"},
        {"new -d -s x -x 80 -y24 -e A=b -e C=d",
         "new-session -d -e A=b -e C=d -s x -x 80 -y 24"},
        {"new -ds x", "new-session -d -s x"},
        {"send -l -- -x", "send-keys -l -x"},
        {"send -- -", "send-keys -"},
        {"send a b c Enter", "send-keys a b c Enter"},
        {"send \"\"", "send-keys ''"},
        {"send ';'", "send-keys \\;"},
        {"send \\;", "send-keys \\;"},
        {"send \"{\"", "send-keys \\{"},
        {"send a;send b", "send-keys a ; send-keys b"},
        {"send a; send b", "send-keys a ; send-keys b"},
        {"send a ;send b", "send-keys a ; send-keys b"},
        {"display a\\\nb", "display-message ab"},
        {"display \"a\nb\"", "display-message a\\nb"},
        {"display a\ndisplay b", "display-message a ;; display-message b"},
        {"display a ; display b\ndisplay c",
         "display-message a ; display-message b ;; display-message c"},
        {"run -b \"echo $FOO\"", "run-shell -b \"echo val w\""},
        {"set -g @x y", "set-option -g @x y"},
        {"set -g status-left \"#S \\\"q\\\"\"",
         "set-option -g status-left \"#S \\\"q\\\"\""},
        {"bind -n F1 { display a ; display b }",
         "bind-key -n F1 { display-message a ; display-message b }"},
        {"neww -n \"%\"", "new-window -n \\%"},
        {"neww -n %%", "new-window -n \"%%\""},
        {"neww \"\\101\\x\"", "new-window Ax"},
        {"neww \"\\e[0m\"", "new-window \\033[0m"},
        {"neww \\$FOO", "new-window \"\\$FOO\""},
        {"neww \"\\$FOO\"", "new-window \"\\$FOO\""},
        {"neww a'b c'\"d e\"f", "new-window \"ab cd ef\""},
        {"neww -n'a b'", "new-window -n \"a b\""},
        {"neww -k -n x -d", "new-window -dk -n x"},
        {"splitw -hl 50% -b", "split-window -bh -l \"50%\""},
        {"splitw -h -l50% -b", "split-window -bh -l \"50%\""},
        {"renamew \xc3\xa9", "rename-window \xc3\xa9"},
        {"confirm -p \"sure?\" kill-pane", "confirm-before -p sure? kill-pane"},
        {"displayp", "display-panes"},
        {"if -F 1 { if -F 0 { display a } }",
         "if-shell -F 1 { if-shell -F 0 { display-message a } }"},
        {"%if 1\ndisplay a\n%else\ndisplay b\n%endif", "display-message a"},
        {"%if 0\ndisplay a\n%elif 1\ndisplay c\n%else\ndisplay b\n%endif",
         "display-message c"},
        {"\n\n  display a\n\n", "display-message a"},
        {"display \"\\\"\" \n", "display-message \\\""},
        {"set -g @x \"a;b\"", "set-option -g @x \"a;b\""},
        {"set -g @x a\\;b", "set-option -g @x \"a;b\""},
        {"send '\\'", "send-keys \\\\"},
        {"send \"\\\\\"", "send-keys \\\\"},
        {"neww \"a \\\n b\"", "new-window \"a  b\""},
        {"neww /bin/sh -c \"exit 3\"", "new-window /bin/sh -c \"exit 3\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i], NULL);
}

TEST(errors)
{
    static const struct row rows[] = {
        {"nosuch", "p.conf:1: unknown command: nosuch"},
        {"display -Z", "p.conf:1: command display-message: unknown flag -Z"},
        {"display a b c",
         "p.conf:1: command display-message: too many arguments (need at most 1)"},
        {"if -F 1 {", "p.conf:2: syntax error"},
        {"display a } ", "p.conf:1: syntax error"},
        {"; display a", "p.conf:1: syntax error"},
        {"%if 1\ndisplay a", "p.conf:3: syntax error"},
        {"%endif", "p.conf:1: syntax error"},
        {"%else", "p.conf:1: syntax error"},
        {"display \"\\u12\"", "p.conf:1: invalid \\u argument"},
        {"kill-pane x",
         "p.conf:1: command kill-pane: too many arguments (need at most 0)"},
        {"set -g", "p.conf:1: command set-option: too few arguments (need at least 1)"},
        {"ren",
         "p.conf:1: ambiguous command: ren, could be: rename-session, rename-window"},
        {"killp -9", "p.conf:1: command kill-pane: unknown flag -9"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s\n", rows[i].text);
        check_row(&(struct row){text, rows[i].want}, "p.conf");
    }
}

/* The words of a command line: only `;` at their ends is special. */
TEST(words)
{
    static const char *const words[] = {"send", "a b",  "$FOO", ";", "neww;", "set",
                                        "@x",   "a\\;", "~",    "{", "#{x}",  NULL};
    struct tmux_commands all = {0};
    struct buf why = BUF_INIT(PARSE_ERROR_MAX);
    int argc = (int)(sizeof(words) / sizeof(words[0])) - 1;
    CHECK_INT(tmux_parse_words(&all, argc, (char *const *)(uintptr_t)words,
                               &(struct tmux_parse_ops){0}, NULL, &why),
              0);
    CHECK_INT(all.n, 3);
    CHECK_INT(all.command[0].argc, 3);
    CHECK_STR(all.command[0].argv[2], "$FOO");
    CHECK_STR(all.command[1].argv[0], "neww");
    CHECK_INT(all.command[1].argc, 1);
    CHECK_INT(all.command[2].argc, 6);
    CHECK_STR(all.command[2].argv[2], "a;");
    CHECK_STR(all.command[2].argv[3], "~");
    CHECK_STR(all.command[2].argv[5], "#{x}");
    tmux_commands_release(&all);
    buf_release(&why);
}

TEST(quotes)
{
    static const struct row rows[] = {{"", "''"},
                                      {"a", "a"},
                                      {"a b", "\"a b\""},
                                      {"#x", "\"#x\""},
                                      {"it's", "\"it's\""},
                                      {"a\"b", "'a\"b'"},
                                      {"$HOME", "\"\\$HOME\""},
                                      {"$1", "\"$1\""},
                                      {"~", "\\~"},
                                      {"~a", "\\~a"},
                                      {"a~", "a~"},
                                      {"%", "\\%"},
                                      {"%1", "\"%1\""},
                                      {"{", "\\{"},
                                      {"a{b", "\"a{b\""},
                                      {"\\", "\\\\"},
                                      {"a\tb", "a\\tb"},
                                      {"\033", "\\033"},
                                      {"\"", "\\\""},
                                      {" ", "\" \""},
                                      {"\xff", "\\377"},
                                      {"\xc3\xbc", "\xc3\xbc"},
                                      {"a;b", "\"a;b\""},
                                      {"a'b\"c", "\"a'b\\\"c\""}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = BUF_INIT(4096);
        tmux_quote(&out, str_of(rows[i].text));
        CHECK_STR(buf_z(&out), rows[i].want);
        buf_release(&out);
    }
}

/* A text over a limit is an error, and leaves no commands. */
TEST(limits)
{
    struct tmux_commands all = {0};
    struct buf text = BUF_INIT(1 << 20), why = BUF_INIT(PARSE_ERROR_MAX);
    for (int i = 0; i < PARSE_DEPTH_MAX * 4; i++)
        buf_addz(&text, "if -F 1 {");
    CHECK_INT(tmux_parse(&all, buf_str(&text), NULL, 1, &ops, NULL, &why), -1);
    CHECK(why.n > 0);
    CHECK_INT(all.n, 0);
    buf_reset(&text);
    for (int i = 0; i < PARSE_DEPTH_MAX * 4; i++)
        buf_addz(&text, "%if 1\n");
    buf_reset(&why);
    CHECK_INT(tmux_parse(&all, buf_str(&text), NULL, 1, &ops, NULL, &why), -1);
    CHECK_INT(all.n, 0);
    buf_release(&text);
    buf_release(&why);
    tmux_commands_release(&all);
}

T_MAIN
