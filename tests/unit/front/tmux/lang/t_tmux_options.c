/* SPDX-License-Identifier: MIT */
/* Options: set-option and show-options, whose answers tmux 3.3a gave. */
#include "front/tmux/lang/options.h"

#include "base/option.h" /* both can be included */

#include "t.h"

/* flags begin with `?` for show-options; value NULL: none was given. */
struct row {
    const char *flags, *name, *value, *want;
};

static struct tmux_options server, session_g, window_g, session, window, pane;

static void begin(void)
{
    tmux_options_init_defaults(&server, OPTION_SERVER);
    tmux_options_init_defaults(&session_g, OPTION_SESSION);
    tmux_options_init_defaults(&window_g, OPTION_WINDOW);
    tmux_options_init(&session, &session_g);
    tmux_options_init(&window, &window_g);
    tmux_options_init(&pane, &window);
}

static void end(void)
{
    tmux_options_release(&pane);
    tmux_options_release(&window);
    tmux_options_release(&session);
    tmux_options_release(&window_g);
    tmux_options_release(&session_g);
    tmux_options_release(&server);
}

/* The set that tmux takes for these flags and this option. */
static struct tmux_options *pick(const char *flags, const struct tmux_option *option)
{
    unsigned scope = strchr(flags, 's')   ? OPTION_SERVER
                     : strchr(flags, 'p') ? OPTION_PANE
                     : strchr(flags, 'w') ? OPTION_WINDOW
                                          : OPTION_SESSION;
    bool global = strchr(flags, 'g');
    if (option) {
        unsigned all = option->scope;
        scope = all & OPTION_SERVER                         ? OPTION_SERVER
                : all & OPTION_SESSION                      ? OPTION_SESSION
                : all & OPTION_PANE && scope == OPTION_PANE ? OPTION_PANE
                                                            : OPTION_WINDOW;
    }
    return scope == OPTION_SERVER    ? &server
           : scope == OPTION_SESSION ? (global ? &session_g : &session)
           : scope == OPTION_PANE    ? &pane
           : global                  ? &window_g
                                     : &window;
}

static void run(const struct row *r, struct buf *out)
{
    struct tmux_option_name name;
    struct buf why = BUF_INIT(4096);
    struct str value = {r->value, r->value ? strlen(r->value) : 0};
    int rc = tmux_option_find(&name, str_of(r->name), &why);
    struct tmux_options *o = pick(r->flags, rc == 0 ? name.option : NULL);
    if (rc == 0 && r->flags[0] == '?') {
        struct tmux_option_show how = {.values = strchr(r->flags, 'v'),
                                       .inherited = strchr(r->flags, 'A')};
        if (!tmux_options_show_one(o, &name, how, out) && !name.option)
            buf_addf(out, "invalid option: %s\n", r->name);
    } else if (rc == 0) {
        struct tmux_option_set how = {.append = strchr(r->flags, 'a'),
                                      .only_new = strchr(r->flags, 'o'),
                                      .unset = strchr(r->flags, 'u')};
        rc = tmux_options_set(o, &name, value, how, &why);
    }
    if (rc < 0)
        buf_addf(out, "%s\n", buf_z(&why));
    buf_release(&why);
}

static void check_rows(const struct row *rows, size_t n)
{
    begin();
    for (size_t i = 0; i < n; i++) {
        struct buf out = BUF_INIT(1 << 16);
        run(&rows[i], &out);
        if (strcmp(buf_z(&out), rows[i].want) != 0)
            T_FAIL("row %zu, -%s %s %s: %s, not %s", i, rows[i].flags, rows[i].name,
                   rows[i].value ? rows[i].value : "", buf_z(&out), rows[i].want);
        buf_release(&out);
    }
    end();
}

TEST(names)
{
    static const struct row rows[] = {
        {"?g", "mouse", NULL, "mouse off\n"},
        {"?g", "mous", NULL, "mouse off\n"},
        {"?g", "stat", NULL, "ambiguous option: stat\n"},
        {"?g", "s", NULL, "ambiguous option: s\n"},
        {"?g", "nosuch", NULL, "invalid option: nosuch\n"},
        {"?g", "", NULL, "ambiguous option: \n"},
        {"?g", "@nosuch", NULL, "invalid option: @nosuch\n"},
        {"?g", "update-environment[1]", NULL, "update-environment[1] KRB5CCNAME\n"},
        {"?g", "update-environment[99]", NULL, "update-environment[99] ''\n"},
        {"?g", "update-environment[x]", NULL,
         "ambiguous option: update-environment[x]\n"},
        {"?g", "update-environment[]", NULL, "ambiguous option: update-environment[]\n"},
        {"?g", "update-environment[-1]", NULL,
         "ambiguous option: update-environment[-1]\n"},
        {"?g", "update-environment[1", NULL, "ambiguous option: update-environment[1\n"},
        {"?g", "mode-style[1]", NULL, "mode-style[1] bg=yellow,fg=black\n"},
        {"?gv", "status-bg", NULL, "default\n"},
        {"?", "status-bg", NULL, ""},
        {"?A", "status-bg", NULL, "status-bg* default\n"},
        {"?", "update-environment", NULL, ""},
        {"?s", "mouse", NULL, ""},
        {"?w", "buffer-limit", NULL, "buffer-limit 50\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(flags)
{
    static const struct row rows[] = {
        {"g", "mouse", "on", ""},
        {"?g", "mouse", NULL, "mouse on\n"},
        {"g", "mouse", "maybe", "bad value: maybe\n"},
        {"g", "mouse", NULL, ""},
        {"?g", "mouse", NULL, "mouse off\n"},
        {"g", "mouse", "", ""},
        {"?g", "mouse", NULL, "mouse on\n"},
        {"g", "mouse", "YES", ""},
        {"?g", "mouse", NULL, "mouse on\n"},
        {"g", "mouse", "0", ""},
        {"?g", "mouse", NULL, "mouse off\n"},
        {"", "mouse", NULL, ""},
        {"?", "mouse", NULL, "mouse on\n"},
        {"u", "mouse", NULL, ""},
        {"?", "mouse", NULL, ""},
        {"?A", "mouse", NULL, "mouse* off\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(choices)
{
    static const struct row rows[] = {
        {"g", "status", "3", ""},
        {"?g", "status", NULL, "status 3\n"},
        {"g", "status", NULL, ""},
        {"?g", "status", NULL, "status 3\n"},
        {"g", "status", "on", ""},
        {"g", "status", NULL, ""},
        {"?g", "status", NULL, "status off\n"},
        {"g", "status", "6", "unknown value: 6\n"},
        {"g", "status", "", "unknown value: \n"},
        {"g", "bell-action", "none", ""},
        {"?g", "bell-action", NULL, "bell-action none\n"},
        {"", "visual-bell", "both", ""},
        {"?", "visual-bell", NULL, "visual-bell both\n"},
        {"w", "window-size", "smallest", ""},
        {"?w", "window-size", NULL, "window-size smallest\n"},
        {"p", "remain-on-exit", "failed", ""},
        {"?p", "remain-on-exit", NULL, "remain-on-exit failed\n"},
        {"?w", "remain-on-exit", NULL, ""},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(numbers)
{
    static const struct row rows[] = {
        {"g", "base-index", "007", ""},
        {"?g", "base-index", NULL, "base-index 7\n"},
        {"g", "base-index", " +7", ""},
        {"?g", "base-index", NULL, "base-index 7\n"},
        {"g", "base-index", "-1", "value is too small: -1\n"},
        {"g", "base-index", "x", "value is invalid: x\n"},
        {"g", "base-index", "", "value is invalid: \n"},
        {"g", "base-index", NULL, "empty value\n"},
        {"g", "base-index", "2147483647", ""},
        {"g", "base-index", "2147483648", "value is too large: 2147483648\n"},
        {"g", "repeat-time", "32768", "value is too large: 32768\n"},
        {"g", "display-panes-time", "0", "value is too small: 0\n"},
        {"g", "pane-base-index", "65536", "value is too large: 65536\n"},
        {"g", "history-limit", "10000000", ""},
        {"?g", "history-limit", NULL, "history-limit 10000000\n"},
        {"gu", "history-limit", NULL, ""},
        {"?g", "history-limit", NULL, "history-limit 2000\n"},
        {"g", "history-limit", "99999999999999999999",
         "value is too large: 99999999999999999999\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(keys_and_colours)
{
    static const struct row rows[] = {
        {"g", "prefix", "c-a", ""},
        {"?g", "prefix", NULL, "prefix C-a\n"},
        {"g", "prefix", "M-Left", ""},
        {"?g", "prefix", NULL, "prefix M-Left\n"},
        {"g", "prefix", "FOO", "bad key: FOO\n"},
        {"g", "prefix", "", "bad key: \n"},
        {"g", "prefix2", "None", ""},
        {"?g", "prefix2", NULL, "prefix2 None\n"},
        {"g", "status-bg", "COLOUR200", ""},
        {"?g", "status-bg", NULL, "status-bg colour200\n"},
        {"g", "status-bg", "#AABBCC", ""},
        {"?g", "status-bg", NULL, "status-bg #aabbcc\n"},
        {"g", "status-bg", "grey50", ""},
        {"?g", "status-bg", NULL, "status-bg #7f7f7f\n"},
        {"g", "status-bg", "greyish", ""},
        {"?g", "status-bg", NULL, "status-bg #bebebe\n"},
        {"g", "status-bg", "Grey5", "bad colour: Grey5\n"},
        {"g", "status-bg", "BrightRed", ""},
        {"?g", "status-bg", NULL, "status-bg brightred\n"},
        {"g", "status-bg", "94", ""},
        {"?g", "status-bg", NULL, "status-bg brightblue\n"},
        {"g", "status-bg", "8", "bad colour: 8\n"},
        {"g", "status-bg", "none", "bad colour: none\n"},
        {"g", "status-bg", "colour256", "bad colour: colour256\n"},
        {"g", "status-bg", "dodgerblue", ""},
        {"?g", "status-bg", NULL, "status-bg #1e90ff\n"},
        {"?gw", "cursor-colour", NULL, "cursor-colour none\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(texts)
{
    static const struct row rows[] = {
        {"g", "default-size", "8", "value is invalid: 8\n"},
        {"g", "default-size", "100x50", ""},
        {"?g", "default-size", NULL, "default-size 100x50\n"},
        {"ga", "status-left", "xx", ""},
        {"?g", "status-left", NULL, "status-left \"[#{session_name}] xx\"\n"},
        {"a", "status-left", "own", ""},
        {"?", "status-left", NULL, "status-left own\n"},
        {"a", "status-left", "+", ""},
        {"?", "status-left", NULL, "status-left own+\n"},
        {"gu", "status-left", NULL, ""},
        {"?g", "status-left", NULL, "status-left \"[#{session_name}] \"\n"},
        {"o", "status-left", "new", "already set: status-left\n"},
        {"go", "word-separators", "new", "already set: word-separators\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(styles)
{
    static const struct row rows[] = {
        {"g", "message-style", "foo", "invalid style: foo\n"},
        {"ga", "message-style", "bold", ""},
        {"?g", "message-style", NULL, "message-style bg=yellow,fg=black,bold\n"},
        {"ga", "message-style", "zz", "invalid style: bg=yellow,fg=black,bold,zz\n"},
        {"g", "message-style", "fg=red,bg=colour5 italics", ""},
        {"?g", "message-style", NULL, "message-style \"fg=red,bg=colour5 italics\"\n"},
        {"g", "message-style", "#{x}zz", ""},
        {"?g", "message-style", NULL, "message-style \"#{x}zz\"\n"},
        {"g", "message-style", "", ""},
        {"?g", "message-style", NULL, "message-style ''\n"},
        {"g", "message-style", "bold||dim", ""},
        {"g", "message-style", "bold|", "invalid style: bold|\n"},
        {"g", "message-style", "nodefault", ""},
        {"g", "message-style", "noattr", "invalid style: noattr\n"},
        {"g", "message-style", "us=red", "invalid style: us=red\n"},
        {"g", "message-style", "range=foo", ""},
        {"g", "message-style", "range=window", "invalid style: range=window\n"},
        {"g", "message-style", "range=window|3", ""},
        {"g", "message-style", "range=left|3", "invalid style: range=left|3\n"},
        {"g", "message-style", "list=off", "invalid style: list=off\n"},
        {"g", "message-style", "align=absolute-centre", ""},
        {"g", "message-style", "fill=zz", "invalid style: fill=zz\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(arrays)
{
    static const struct row rows[] = {
        {"g", "update-environment", "a b,c", ""},
        {"?g", "update-environment", NULL,
         "update-environment[0] a\nupdate-environment[1] b\nupdate-environment[2] c\n"},
        {"ga", "update-environment", "d", ""},
        {"?gv", "update-environment", NULL, "a\nb\nc\nd\n"},
        {"gu", "update-environment[1]", NULL, ""},
        {"?g", "update-environment", NULL,
         "update-environment[0] a\nupdate-environment[2] c\nupdate-environment[3] d\n"},
        {"ga", "update-environment", "e", ""},
        {"?g", "update-environment", NULL,
         "update-environment[0] a\nupdate-environment[1] e\nupdate-environment[2] "
         "c\nupdate-environment[3] d\n"},
        {"ga", "update-environment[7]", "f", ""},
        {"ga", "update-environment[7]", "g", ""},
        {"?g", "update-environment[7]", NULL, "update-environment[7] fg\n"},
        {"g", "update-environment", "", ""},
        {"?g", "update-environment", NULL, "update-environment\n"},
        {"?gv", "update-environment", NULL, ""},
        {"gu", "update-environment", NULL, ""},
        {"?g", "update-environment[7]", NULL, "update-environment[7] XAUTHORITY\n"},
        {"", "update-environment[3]", "X", ""},
        {"?", "update-environment", NULL, "update-environment[3] X\n"},
        {"g", "mouse[1]", "on", "not an array: mouse[1]\n"},
        {"g", "pane-colours", "red,blue", ""},
        {"?gw", "pane-colours", NULL, "pane-colours[0] red\npane-colours[1] blue\n"},
        {"gw", "pane-colours[4]", "zz", "bad colour: zz\n"},
        {"gw", "pane-colours[9]", "green", ""},
        {"?gw", "pane-colours", NULL,
         "pane-colours[0] red\npane-colours[1] blue\npane-colours[9] green\n"},
        {"g", "command-alias", "a=b c,d=e", ""},
        {"?g", "command-alias", NULL,
         "command-alias[0] \"a=b c\"\ncommand-alias[1] d=e\n"},
        {"go", "command-alias[0]", "x", "already set: command-alias[0]\n"},
        {"go", "command-alias[5]", "x", ""},
        {"?g", "command-alias", NULL,
         "command-alias[0] \"a=b c\"\ncommand-alias[1] d=e\ncommand-alias[5] x\n"},
        {"g", "user-keys", NULL, "empty value\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(users)
{
    static const struct row rows[] = {
        {"", "@a", "", ""},
        {"?", "@a", NULL, "@a ''\n"},
        {"", "@b", "it's", ""},
        {"?", "@b", NULL, "@b \"it's\"\n"},
        {"", "@a", "a\"b", ""},
        {"?", "@a", NULL, "@a 'a\"b'\n"},
        {"", "@a", "$HOME", ""},
        {"?", "@a", NULL, "@a \"\\$HOME\"\n"},
        {"", "@a", "$1", ""},
        {"?", "@a", NULL, "@a \"$1\"\n"},
        {"", "@a", "~", ""},
        {"?", "@a", NULL, "@a \\~\n"},
        {"", "@a", "a\011b\nc\\", ""},
        {"?", "@a", NULL, "@a a\\tb\\nc\\\\\n"},
        {"", "@a", "\xc3\xbc", ""},
        {"?", "@a", NULL, "@a \xc3\xbc\n"},
        {"", "@a", "\xffx", ""},
        {"?", "@a", NULL, "@a \\377x\n"},
        {"", "@a", "%", ""},
        {"?", "@a", NULL, "@a \\%\n"},
        {"", "@a", "a{b", ""},
        {"?", "@a", NULL, "@a \"a{b\"\n"},
        {"", "@a", "${x} \"q\"", ""},
        {"?", "@a", NULL, "@a \"\\${x} \\\"q\\\"\"\n"},
        {"?v", "@a", NULL, "${x} \"q\"\n"},
        {"a", "@a", "+", ""},
        {"?", "@a", NULL, "@a \"\\${x} \\\"q\\\"+\"\n"},
        {"o", "@a", "x", "already set: @a\n"},
        {"", "@0", "zero", ""},
        {"?", "@0", NULL, "@0 zero\n"},
        {"", "@x", NULL, "empty value\n"},
        {"", "@x[1]", "y", "not an array: @x[1]\n"},
        {"u", "@a", NULL, ""},
        {"?", "@a", NULL, "invalid option: @a\n"},
        {"u", "@nosuch", NULL, ""},
        {"g", "@b", "global", ""},
        {"u", "@b", NULL, ""},
        {"?A", "@b", NULL, "@b* global\n"},
        {"?", "@b", NULL, "invalid option: @b\n"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(values)
{
    long index = -1;
    struct str item;
    begin();
    CHECK_INT(tmux_options_number(&session, STR("history-limit"), -1), 2000);
    CHECK_INT(tmux_options_number(&session, STR("status"), -1), 1);
    CHECK_INT(tmux_options_number(&pane, STR("remain-on-exit"), -1), 0);
    CHECK_INT(tmux_options_number(&session, STR("prefix"), -1), -1);
    CHECK_INT(tmux_options_number(&session, STR("nosuch"), -7), -7);
    CHECK(!tmux_options_on(&session, STR("mouse")));
    CHECK(tmux_options_on(&pane, STR("alternate-screen")));
    CHECK(str_eq(tmux_options_get(&session, STR("prefix")), STR("C-b")));
    CHECK(!tmux_options_get(&session, STR("buffer-limit")).p); /* of the server */
    CHECK(tmux_options_get(&session, STR("update-environment")).p);
    CHECK(str_eq(tmux_options_get(&session, STR("update-environment[1]")),
                 STR("KRB5CCNAME")));
    CHECK(tmux_options_item(&session, STR("update-environment"), 7, &index, &item));
    CHECK_INT(index, 7);
    CHECK(str_eq(item, STR("XAUTHORITY")));
    CHECK(!tmux_options_item(&session, STR("update-environment"), 8, &index, &item));
    CHECK(tmux_options_own(&session_g, STR("prefix")));
    CHECK(!tmux_options_own(&session, STR("prefix")));
    end();
}

TEST(in_formats)
{
    struct buf out = BUF_INIT(4096);
    begin();
    CHECK(tmux_options_format(&session, STR("mouse"), &out));
    CHECK_STR(buf_z(&out), "0");
    buf_reset(&out);
    CHECK(tmux_options_format(&session, STR("status"), &out));
    CHECK_STR(buf_z(&out), "on");
    buf_reset(&out);
    CHECK(tmux_options_format(&session, STR("update-environment"), &out));
    CHECK_STR(buf_z(&out), "DISPLAY KRB5CCNAME SSH_ASKPASS SSH_AUTH_SOCK SSH_AGENT_PID "
                           "SSH_CONNECTION WINDOWID XAUTHORITY");
    CHECK(!tmux_options_format(&session, STR("mous"), &out));
    CHECK(!tmux_options_format(&session, STR("@x"), &out));
    CHECK(!tmux_options_format(&session, STR(""), &out));
    buf_release(&out);
    end();
}

static int check_hook(void *ctx, const struct tmux_option *option, struct str value,
                      struct buf *out, struct buf *why)
{
    ++*(int *)ctx;
    CHECK_STR(option->name, "after-new-window");
    if (str_eq(value, STR("bad")))
        return buf_addz(why, "unknown command: bad") < 0 ? 0 : -1;
    buf_addz(out, "new-window ; ");
    return buf_adds(out, value);
}

TEST(hooks)
{
    int asked = 0;
    struct tmux_option_set how = {.append = true, .check = check_hook, .ctx = &asked};
    struct tmux_option_name name;
    struct buf out = BUF_INIT(4096), why = BUF_INIT(4096);
    begin();
    CHECK_INT(tmux_option_find(&name, STR("after-new-w"), &why), 0);
    CHECK(name.option->hook);
    CHECK_INT(tmux_options_set(&session_g, &name, STR("a, b"), how, &why), 0);
    CHECK_INT(tmux_options_set(&session_g, &name, STR("c"), how, &why), 0);
    CHECK_INT(tmux_options_set(&session_g, &name, STR("bad"), how, &why), -1);
    CHECK_STR(buf_z(&why), "unknown command: bad");
    CHECK_INT(asked, 3);
    tmux_options_show_one(&session_g, &name, (struct tmux_option_show){0}, &out);
    tmux_options_show_one(&session_g, &name, (struct tmux_option_show){.quoted = true},
                          &out);
    CHECK_STR(buf_z(&out), "after-new-window[0] new-window ; a, b\n"
                           "after-new-window[1] new-window ; c\n"
                           "after-new-window[0] \"new-window ; a, b\"\n"
                           "after-new-window[1] \"new-window ; c\"\n");
    buf_release(&out);
    buf_release(&why);
    end();
}

static size_t lines(const struct tmux_options *o, enum tmux_option_scope scope,
                    struct tmux_option_show how)
{
    struct buf out = BUF_INIT(1 << 16);
    tmux_options_show(o, scope, how, &out);
    size_t n = str_count(buf_str(&out), '\n');
    buf_release(&out);
    return n;
}

/* As many as tmux 3.3a shows for -s, -g, -gH, -gw, show-hooks -g, -A, -Aw and -Ap. */
TEST(all)
{
    static const struct tmux_option_show plain = {0}, hooks = {.hooks = true},
                                         inherited = {.inherited = true},
                                         only = {.only_hooks = true};
    begin();
    CHECK_INT(lines(&server, OPTION_SERVER, plain), 24);
    CHECK_INT(lines(&session_g, OPTION_SESSION, plain), 55);
    CHECK_INT(lines(&session_g, OPTION_SESSION, hooks), 109);
    CHECK_INT(lines(&session_g, OPTION_SESSION, only), 54);
    CHECK_INT(lines(&window_g, OPTION_WINDOW, plain), 51);
    CHECK_INT(lines(&session, OPTION_SESSION, plain), 0);
    CHECK_INT(lines(&window, OPTION_WINDOW, inherited), 51);
    CHECK_INT(lines(&pane, OPTION_PANE, inherited), 13);
    end();
}

TEST(limits)
{
    struct tmux_option_name name;
    struct tmux_option_set how = {.append = true};
    char typed[32];
    int rc = 0, n = 0;
    begin();
    for (; rc == 0 && n <= OPTION_USER_MAX; n += rc == 0) {
        snprintf(typed, sizeof(typed), "@%d", n);
        CHECK_INT(tmux_option_find(&name, str_of(typed), NULL), 0);
        rc = tmux_options_set(&session, &name, STR("x"), how, NULL);
    }
    CHECK_INT(n, OPTION_USER_MAX);
    CHECK_INT(tmux_option_find(&name, STR("user-keys"), NULL), 0);
    for (rc = 0, n = 0; rc == 0 && n <= OPTION_ITEMS_MAX; n += rc == 0)
        rc = tmux_options_set(&server, &name, STR("x"), how, NULL);
    CHECK_INT(n, OPTION_ITEMS_MAX);
    CHECK_INT(tmux_option_find(&name, STR("@0"), NULL), 0);
    char *big = calloc(1, OPTION_VALUE_MAX);
    memset(big, 'x', OPTION_VALUE_MAX);
    CHECK_INT(tmux_options_set(&session, &name, str_n(big, OPTION_VALUE_MAX), how, NULL),
              -1);
    CHECK(str_eq(tmux_options_get(&session, STR("@0")), STR("x")));
    free(big);
    end();
}

T_MAIN
