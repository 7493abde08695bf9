/* SPDX-License-Identifier: MIT */
/*
 * Formats: display-message -p of tmux 3.3a said what each becomes, with the sessions a
 * (windows zero, of two panes, and one) and bb (window "b w"), and options @e … @self.
 */
#include "front/tmux/lang/format.h"

#include "t.h"

#include <locale.h>

struct row {
    const char *format, *want;
};

struct place {
    int session, window, pane;
};

static const char *const sessions[] = {"a", "bb"};
static const char *const windows[2][2] = {{"zero", "one"}, {"b w", NULL}};
static const int panes[2][2] = {{2, 1}, {1, 0}};

static const struct {
    const char *name, *value;
} values[] = {{"@e", ""},
              {"@o", "1"},
              {"@z", "0"},
              {"@t", "abcabc"},
              {"@u", "\xc3\xa4\xc3\xb6\xc3\xbc\xe6\x97\xa5\xe6\x9c\xac"},
              {"@s", "a b"},
              {"@p", "/usr/lib/x.y"},
              {"@f", "#{session_name}"},
              {"@n", "42"},
              {"@m", "-7"},
              {"@c", "a,b"},
              {"@st", "#[fg=red]red#[default]x"},
              {"@d", "1700000000"},
              {"@q", "it's $x \"q\" (a)"},
              {"@h", "##x"},
              {"@self", "#{E:@self}x"},
              {"@x1", "(a{1,900}){1,900}"},
              {"@x2", "(((a{1,100}){1,100}){1,100})"},
              {"@x3", "a{1,2000}"},
              {"@bomb", "#{E:@bomb}#{E:@bomb}"},
              {"@grows", "#{E:@grows}#{E:@grows}xxxxxxxxxx"},
              {"@much", "#{s/./0123456789012345678901234567/:@grow}#{E:@much}#{E:@much}"}};

static unsigned long asked; /* how often a value was asked for */

static bool var(void *ctx, struct str name, struct buf *out)
{
    const struct place *p = ctx;
    asked++;
    if (str_eq(name, STR("@grow"))) {
        for (int i = 0; i < 1000; i++)
            buf_addz(out, "0123456789");
        return true;
    }
    if (str_eq(name, STR("session_name")))
        return buf_addz(out, sessions[p->session]) == 0;
    if (str_eq(name, STR("window_name")))
        return buf_addz(out, windows[p->session][p->window]) == 0;
    if (str_eq(name, STR("window_index")))
        return buf_addi(out, p->window) == 0;
    if (str_eq(name, STR("pane_index")))
        return buf_addi(out, p->pane) == 0;
    if (str_eq(name, STR("pane_id")))
        return buf_addf(out, "%%%d", p->session ? 3 : p->window ? 2 : p->pane) == 0;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (str_eq(name, str_of(values[i].name)))
            return buf_addz(out, values[i].value) == 0;
    return false;
}

/* A place for each kind: a loop in a loop of its own kind is not in the rows. */
static void *each(void *ctx, enum tmux_loop kind, struct str sort, size_t i, bool *active)
{
    static struct place now[3];
    const struct place *p = ctx;
    CHECK(sort.n == 0 && kind != LOOP_CLIENTS);
    struct place next = *p;
    size_t n = kind == LOOP_PANES      ? (size_t)panes[p->session][p->window]
               : kind == LOOP_SESSIONS ? 2
               : p->session            ? 1
                                       : 2;
    if (i >= n)
        return NULL;
    *active = i == 0;
    if (kind == LOOP_SESSIONS)
        next = (struct place){.session = (int)i};
    else if (kind == LOOP_WINDOWS)
        next = (struct place){.session = p->session, .window = (int)i};
    else
        next.pane = (int)i;
    now[kind] = next;
    return &now[kind];
}

static bool is_name(void *ctx, bool session, struct str name)
{
    const struct place *p = ctx;
    for (int i = 0; i < 2; i++) {
        const char *z = session ? sessions[i] : windows[p->session][i];
        if (z && str_eq(name, str_of(z)))
            return true;
    }
    return false;
}

static bool run_shell(void *ctx, struct str command, struct buf *out)
{
    (void)ctx;
    buf_addc(out, '<');
    buf_adds(out, command);
    return buf_addc(out, '>') == 0;
}

static void expand(struct buf *out, const char *format)
{
    static const struct tmux_format_ops ops = {
        .var = var, .each = each, .name = is_name, .shell = run_shell};
    struct place p = {0, 0, 0};
    setlocale(LC_CTYPE, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    struct tmux_format_how how = {
        .ops = &ops, .ctx = &p, .now = 1795831200, .strftime = true};
    tmux_format(out, str_of(format), &how);
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf out = BUF_INIT(FORMAT_OUT_MAX);
        expand(&out, rows[i].format);
        if (strcmp(buf_z(&out), rows[i].want) != 0)
            T_FAIL("%s: %s, not %s", rows[i].format, buf_z(&out), rows[i].want);
        buf_release(&out);
    }
}

TEST(variables)
{
    static const struct row rows[] = {
        {"#{session_name}", "a"},
        {"#S:#I.#P", "a:0.0"},
        {"#{@t}", "abcabc"},
        {"#{nosuch}|", "|"},
        {"#{@f}", "#{session_name}"},
        {"x#{@t}y", "xabcabcy"},
        {"#{@u}", "\xc3\xa4\xc3\xb6\xc3\xbc\xe6\x97\xa5\xe6\x9c\xac"},
        {"#W", "zero"},
        {"#D", "%0"},
        {"#{window_index}#{pane_index}", "00"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(escapes)
{
    static const struct row rows[] = {
        {"##", "#"},           {"###", "##"},         {"#", "#"},
        {"#a", "#a"},          {"#}", "}"},           {"#,", ","},
        {"####", "##"},        {"#[x", "#[x"},        {"#[fg=red]x", "#[fg=red]x"},
        {"##[x]", "##[x]"},    {"###[x]", "###[x]"},  {"#{l:##}", "##"},
        {"#{l:#{x}}", "#{x}"}, {"#{l:a#,b}", "a#,b"}, {"%%", "%"},
        {"a%%b", "a%b"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(broken)
{
    static const struct row rows[] = {
        {"a#{", "a"},
        {"a#{@t", "a"},
        {"a#{@t}#{b", "aabcabc"},
        {"#{}|", "|"},
        {"#{:}|", "|"},
        {"#{::x}|", "|"},
        {"#{?1,2}|", ""},
        {"#{?@n,2}|", ""},
        {"#{==:a}|", ""},
        {"#{m}|", "|"},
        {"#{s/a/b:@t}x", "bbcbbcx"},
        {"#{=3", ""},
        {"#{s/x}/c/:@t}", "/c/:@t}"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(conditions)
{
    static const struct row rows[] = {
        {"#{?@o,yes,no}", "yes"},   {"#{?@z,yes,no}", "no"},
        {"#{?@e,yes,no}", "no"},    {"#{?nosuch,yes,no}", "no"},
        {"#{?1,a,b}", "b"},         {"#{?0,a,b}", "b"},
        {"#{?,a,b}", "b"},          {"#{?#S,a,b}", "a"},
        {"#{?#{@e},a,b}", "b"},     {"#{?#{@t},#{@t},x}", "abcabc"},
        {"#{?a#,b,c,d}", "c"},      {"#{?@o,#{?@z,a,b},c}", "b"},
        {"#{?#{==:a,a},y,n}", "y"}, {"#{?@n  ,a,b}", "b"},
        {"#{?##,a,b}", "a"},        {"#{?@o,a#,b,c}", "a,b"},
        {"#{?@o,#{@c},c}", "a,b"},  {"#{?%%,a,b}", "b"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(comparisons)
{
    static const struct row rows[] = {
        {"#{==:a,a}", "1"},          {"#{==:a,b}", "0"},         {"#{!=:a,b}", "1"},
        {"#{==:#{@t},abcabc}", "1"}, {"#{<:a,b}", "1"},          {"#{>:a,b}", "0"},
        {"#{<=:a,a}", "1"},          {"#{>=:a,b}", "0"},         {"#{<:10,9}", "1"},
        {"#{||:1,0}", "1"},          {"#{||:,}", "0"},           {"#{&&:1,0}", "0"},
        {"#{&&:1,x}", "1"},          {"#{&&:#{@o},#{@n}}", "1"}, {"#{m:a*,abc}", "1"},
        {"#{m:[ab]?,bc}", "1"},      {"#{m:A*,abc}", "0"},       {"#{m/i:A*,abc}", "1"},
        {"#{m/r:^a.c$,abc}", "1"},   {"#{m/r:^A,abc}", "0"},     {"#{m/ri:^A,abc}", "1"},
        {"#{m/r:[,abc}", "0"},       {"#{m/z:a*,abc}", "1"},     {"#{m:*,}", "1"},
        {"#{==:#{==:1,1},1}", "1"},  {"#{==:,}", "1"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(numbers)
{
    static const struct row rows[] = {
        {"#{e|+:1,2}", "3"},
        {"#{e|-:1,2}", "-1"},
        {"#{e|*:6,7}", "42"},
        {"#{e|/:7,2}", "3"},
        {"#{e|/|f:7,2}", "3.50"},
        {"#{e|/|f|4:7,3}", "2.3333"},
        {"#{e|m:7,3}", "1"},
        {"#{e|%%:7,3}", "1"},
        {"#{e|m:-7,3}", "-1"},
        {"#{e|==:1,1}", "1"},
        {"#{e|!=:1,1}", "0"},
        {"#{e|<:1,2}", "1"},
        {"#{e|>=:1,2}", "0"},
        {"#{e|+||2:1,2}", "3.00"},
        {"#{e|+:x,1}|", "|"},
        {"#{e|+:,1}", "1"},
        {"#{e|+: 1,2}", "3"},
        {"#{e|+:1 ,2}|", "|"},
        {"#{e|+:0x10,1}", "17"},
        {"#{e|+:1e3,1}", "1001"},
        {"#{e|/:1,0}", "-9223372036854775808"},
        {"#{e|/|f:1,0}", "inf"},
        {"#{e|+:#{@n},#{@m}}", "35"},
        {"#{e|?:1,2}|", "|"},
        {"#{e|+:1,2,3}|", "|"},
        {"#{e|+|f:1.25,1.5}", "2.75"},
        {"#{e|+:1.75,1.75}", "2"},
        {"#{e:1,2}|", "|"},
        {"#{e|+:9223372036854775807,1}", "-9223372036854775808"},
        {"#{e|<=|f:1}|", "|"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(limits)
{
    static const struct row rows[] = {
        {"#{=3:@t}", "abc"},
        {"#{=-3:@t}", "abc"},
        {"#{=0:@t}", "abcabc"},
        {"#{=x:@t}", "abcabc"},
        {"#{=/3/..:@t}", "abc.."},
        {"#{=/-3/..:@t}", "..abc"},
        {"#{=|9|..:@t}", "abcabc"},
        {"#{=/3:@t}|", "abc|"},
        {"#{=3:@u}", "\xc3\xa4\xc3\xb6\xc3\xbc"},
        {"#{=4:@u}", "\xc3\xa4\xc3\xb6\xc3\xbc"},
        {"#{=5:@u}", "\xc3\xa4\xc3\xb6\xc3\xbc\xe6\x97\xa5"},
        {"#{=-3:@u}", "\xe6\x9c\xac"},
        {"#{=-4:@u}", "\xe6\x97\xa5\xe6\x9c\xac"},
        {"#{=1:@st}|", "#[fg=red]r|"},
        {"#{=3:@st}|", "#[fg=red]red|"},
        {"#{=-1:@st}|", "#[fg=red]#[default]x|"},
        {"#{=-3:@st}|", "#[fg=red]ed#[default]x|"},
        {"#{=1:@h}|", "##|"},
        {"#{=-1:@h}|", "x|"},
        {"#{=-2:@h}|", "##x|"},
        {"#{=#{@o}:@t}", "=1:@t"},
        {"#{=3;p5:@t}|", "abc  |"},
        {"#{p8:@t}|", "abcabc  |"},
        {"#{p-8:@t}|", "  abcabc|"},
        {"#{p3:@t}|", "abcabc|"},
        {"#{p0:@t}|", "abcabc|"},
        {"#{p6:@h}|", "##x   |"},
        {"#{p9:@st}|", "#[fg=red]red#[default]x|"},
        {"#{p12:@u}|", "\xc3\xa4\xc3\xb6\xc3\xbc\xe6\x97\xa5\xe6\x9c\xac     |"},
        {"#{p-12:@u}|", "     \xc3\xa4\xc3\xb6\xc3\xbc\xe6\x97\xa5\xe6\x9c\xac|"},
        {"#{n:@t}", "6"},
        {"#{n:@u}", "12"},
        {"#{w:@u}", "7"},
        {"#{w:@st}", "4"},
        {"#{w:@h}", "2"},
        {"#{w:##x}", "0"},
        {"#{n:}", "0"},
        {"#{n;w:@t}", "1"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(substitutes)
{
    static const struct row rows[] = {
        {"#{s/a/x/:@t}", "xbcxbc"},
        {"#{s/A/x/:@t}", "abcabc"},
        {"#{s/A/x/i:@t}", "xbcxbc"},
        {"#{s/(a)(b)/<\\2\\1>/:@t}", "<ba>c<ba>c"},
        {"#{s/a/\\1/:@t}", "1bc1bc"},
        {"#{s/(x*)a/[\\1]/:@t}", "[1]bc[1]bc"},
        {"#{s/x*/-/:@t}", "a-b-c-a-b-c-"},
        {"#{s/b*/-/:@t}", "a-c-a-c-"},
        {"#{s/^/z/:@t}", "bcabc"},
        {"#{s/$/z/:@t}", "abcabcz"},
        {"#{s/^a/z/:@t}", "zbcabc"},
        {"#{s/^x*/y/:@t}", "bcabc"},
        {"#{s/./&/:@t}", "&&&&&&"},
        {"#{s/[/z/:@t}", "abcabc"},
        {"#{s/a//:@t}", "bcbc"},
        {"#{s|a|b|:@t}", "bbcbbc"},
        {"#{s,a,x,:@t}", "xbcxbc"},
        {"#{s/a/#,/:@t}", ",bc,bc"},
        {"#{s/a/x/;s/b/y/:@t}", "xycxyc"},
        {"#{s/a/x/;=3:@t}", "xbc"},
        {"#{s/a/#{@n}/:@t}", "42bc42bc"},
        {"#{s/#{@e}/x/:@t}", "axbxcxaxbxcx"},
        {"#{s/\xc3\xbc/u/:@u}", "\xc3\xa4\xc3\xb6u\xe6\x97\xa5\xe6\x9c\xac"},
        {"#{s/./x/:@u}", "xxxxx"},
        {"#{s/a/b/:@e}|", "|"},
        {"#{s/c|$/Z/:@t}", "abZabZ"},
        {"#{s/(b|)/[\\1]/:@t}", "a[b]c[1]a[b]c[1]"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(paths_and_quotes)
{
    static const struct row rows[] = {
        {"#{b:@p}", "x.y"},
        {"#{d:@p}", "/usr/lib"},
        {"#{b:@e}", "."},
        {"#{d:@e}", "."},
        {"#{b:@t}", "abcabc"},
        {"#{d:@t}", "."},
        {"#{b:nosuch}|", "|"},
        {"#{d:nosuch}|", "|"},
        {"#{b;=3:@p}", "x.y"},
        {"#{q:@q}", "it\\'s\\ \\$x\\ \\\"q\\\"\\ \\(a\\)"},
        {"#{q/e:@q}", "it's $x \"q\" (a)"},
        {"#{q/h:@st}", "##[fg=red]red##[default]x"},
        {"#{q:@e}|", "|"},
        {"#{t:@d}", "Tue Nov 14 22:13:20 2023"},
        {"#{t/f/%%Y:@n}", "2026"},
        {"#{t:@n}", "Thu Jan  1 00:00:42 1970"},
        {"#{t:@m}|", "|"},
        {"#{t:@e}|", "|"},
        {"#{t:@t}|", "|"},
        {"#{E:@f}", "a"},
        {"#{T:@f}", "a"},
        {"#{E:@t}", "abcabc"},
        {"#{E:#{@f}}", "a"},
        {"#{E:@self}", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
        {"#{a:65}", "A"},
        {"#{a:31}|", "|"},
        {"#{a:x}|", "|"},
        {"#{a:#{@n}}", "*"},
        {"#{c:red}", "800000"},
        {"#{c:colour200}", "ff00d7"},
        {"#{c:#00ff00}|", "00ff00|"},
        {"#{c:@n}|", "|"},
        {"#{c:default}|", "|"},
        {"#{c:grey50}", "7f7f7f"},
        {"#{N:zero}", "1"},
        {"#{N:x}", "0"},
        {"#{N/s:bb}", "1"},
        {"#{N/s:x}", "0"},
        {"#{N/w:b w}", "0"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(loops)
{
    static const struct row rows[] = {
        {"#{S:#S }", "a bb "},
        {"#{W:#W }", "zero one "},
        {"#{W:#W ,<#W> }", "<zero> one "},
        {"#{P:#D }", "%0 %1 "},
        {"#{P:#D ,[#D] }", "[%0] %1 "},
        {"#{S:#{W:#{P:#D,<#D>}}}", "<%0>%1<%2><%3>"},
        {"#{S:#S#{W:#W,(#W)}}", "a(zero)onebb(b w)"},
        {"#{W:}|", "|"},
        {"#{P:a,b,c}", "b,ca"},
        {"#{S:#{?@o,#S,}}", "abb"},
        {"#{W:#{P:#I.#P }}", "0.0 0.1 1.0 "},
        {"#{=5:#{S:#S,}}|", "a,bb,|"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Of tmux after 3.3a. */
TEST(later_modifiers)
{
    static const struct row rows[] = {{"#{!:@e}", "0"},        {"#{!:}", "1"},
                                      {"#{!!:x}", "1"},        {"#{!:#{@z}}", "1"},
                                      {"#{R:ab,3}", "ababab"}, {"#{R:ab,0}|", "|"},
                                      {"#{R:#{@n},2}", "4242"}};
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(commands)
{
    static const struct row rows[] = {
        {"#(date)", "<date>"},
        {"#(echo (a) b)c", "<echo (a) b>c"},
        {"#(echo #{@t})", "<echo abcabc>"},
        {"#(date", ""},
        {"#{?@o,#(x),}", "<x>"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(times)
{
    static const struct row rows[] = {
        {"%Y-%m-%d", "2026-11-28"},
        {"%H:%M", "02:00"},
        {"#{t/p:@d}", "Nov23"},
        {"#{t/f/%%Y:@d}", "2026"}, /* strftime of the whole comes first, as in tmux */
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* 2^100 expansions, and deep nesting: bounded, whatever is left out. */
TEST(bombs)
{
    struct buf out = BUF_INIT(FORMAT_OUT_MAX), deep = BUF_INIT(1 << 20);
    expand(&out, "#{E:@bomb}");
    CHECK_INT(out.n, 0);
    for (int i = 0; i < 20000; i++)
        buf_addz(&deep, "#{?1,");
    expand(&out, buf_z(&deep));
    for (int i = 0; i < 20000; i++)
        buf_addz(&deep, ",}");
    buf_reset(&out);
    expand(&out, buf_z(&deep));
    CHECK_INT(out.n, 0);
    buf_release(&deep);
    buf_release(&out);
}

/* The work of an expansion is bounded, not only the number of its steps: a byte of a value
 * counts, and more so where a pattern is tried on it. */
TEST(bombs_of_long_values)
{
    struct buf out = BUF_INIT(FORMAT_OUT_MAX);
    expand(&out, "#{E:@grows}");
    CHECK(out.n < FORMAT_STEPS_MAX * 16UL);
    asked = 0;
    buf_reset(&out);
    expand(&out, "#{E:@much}");
    CHECK(asked < 100);
    buf_release(&out);
}

TEST(patterns_that_explode)
{
    static const struct row rows[] = {
        {"#{s/#{@x1}/x/:@t}", "abcabc"},
        {"#{m/r:#{@x2},a}", "0"},
        {"#{m/r:#{@x3},a}", "0"},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

TEST(truth)
{
    CHECK(!tmux_format_true(STR("")));
    CHECK(!tmux_format_true(STR("0")));
    CHECK(tmux_format_true(STR("00")));
    CHECK(tmux_format_true(STR("no")));
}

T_MAIN
