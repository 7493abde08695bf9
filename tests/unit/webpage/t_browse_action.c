/* SPDX-License-Identifier: MIT */
/* The action language: which texts are calls, arguments, their errors. */
#include "webpage/browse_action.h"

#include "t.h"

/* The calls as name(repr, name=repr); joined by a space, or the error. */
static const char *seen(struct str text)
{
    static struct buf out = BUF_INIT(1 << 20);
    struct browse_text t;
    struct err e = ERR_INIT, why = ERR_INIT;
    buf_reset(&out);
    buf_addz(&out, "");
    if (browse_parse(&t, text, &e, &why) < 0 && t.n == 0)
        buf_addf(&out, "%s | %s", e.text, why.text);
    for (size_t i = 0; i < t.n; i++) {
        buf_addf(&out, "%s%.*s(", i ? " " : "", STR_ARG(t.calls[i].name));
        for (const struct browse_value *v = t.calls[i].args; v; v = v->next) {
            buf_addf(&out, "%s%.*s%s", v == t.calls[i].args ? "" : ", ", STR_ARG(v->name),
                     v->name.n ? "=" : "");
            browse_repr(&out, v);
        }
        buf_addz(&out, ")");
    }
    browse_text_release(&t);
    return buf_z(&out);
}
#define SEEN(text, want) CHECK_STR(seen(STR(text)), want)
#define NOTHING(text, why) \
    CHECK_STR(seen(STR(text)), "ValueError: Received an empty action. | " why)

TEST(calls_are_searched_for)
{
    SEEN("click('a')", "click('a')");
    SEEN("page.keyboard.press('PageDown')", "press('PageDown')");
    SEEN("x = click('a')", "click('a')");
    SEEN("First ```click('12')``` then.", "click('12')");
    SEEN("a(1)b(2);c(3)", "a(1) b(2) c(3)");
    SEEN("a(b('c'))", "b('c')");
    SEEN("if click('a'): noop()", "click('a') noop()");
    SEEN("click ( 'a' , )", "click('a')");
    SEEN("a(x=1,)", "a(x=1)");
    SEEN("a(1, x='y', z=[1])", "a(1, x='y', z=[1])");
    SEEN("cl\xc3\xa9('a')", "cl\xc3\xa9('a')");
    SEEN("# click('a')\nnoop()", "noop()");
    SEEN("goto('http://x/#frag')", "goto('http://x/#frag')");
    SEEN("click( # which\n 'a')", "click('a')");
}

TEST(what_is_no_call_says_why)
{
    NOTHING("", "there is no call like click('12') in the text");
    NOTHING("no calls here", "there is no call like click('12') in the text");
    NOTHING("# click('a')", "there is no call like click('12') in the text");
    NOTHING("click(a51)", "line 1, column 10: a word without quotes is not a value");
    NOTHING("click(\"12\"",
            "line 1, column 11: a comma or ) is missing after an argument");
    NOTHING("a(x=1, 2)",
            "line 1, column 8: an argument without a name follows one with a name");
    NOTHING("say('unclosed)", "line 1, column 15: a text is not closed in its line");
    NOTHING("\nclick('a', \"17\" screen\")",
            "line 2, column 17: a comma or ) is missing after an argument");
    NOTHING("a('x' 'y')", "line 1, column 7: a comma or ) is missing after an argument");
    NOTHING("a(r'x')", "line 1, column 4: a word without quotes is not a value");
    NOTHING("a(0x10)", "line 1, column 4: a comma or ) is missing after an argument");
    NOTHING("a(1_000)", "line 1, column 4: a comma or ) is missing after an argument");
    NOTHING("a(inf)", "line 1, column 6: a word without quotes is not a value");
    NOTHING("a('\\xZZ')", "line 1, column 6: an escape needs more hexadecimal digits");
    NOTHING("a(4.e999)", "line 1, column 9: a number is too large");
    NOTHING("a({1: 2})", "line 1, column 4: a key should be a text in quotes");
    NOTHING("a('x\ny')", "line 1, column 5: a text is not closed in its line");
    CHECK(strstr(seen(STR("a(- 5)")), "column 4: a value is missing here"));
    CHECK(strstr(seen(STR("a(,)")), "column 3: a value is missing here"));
}

TEST(values)
{
    SEEN("a(1, -2, +3, 1.5, .5, 5., 1e3, -2.5E-1)",
         "a(1, -2, 3, 1.5, 0.5, 5.0, 1000.0, -0.25)");
    SEEN("a(True, False, None)", "a(True, False, None)");
    SEEN("a([], [1, 'b', [2]], (1), (), {'k': 'v', 'l': [1]})",
         "a([], [1, 'b', [2]], (1,), (), {'k': 'v', 'l': [1]})");
    SEEN("a(\"it's\", 'say \"x\"', 'both \\' and \"')",
         "a(\"it's\", 'say \"x\"', 'both \\' and \"')");
    SEEN("a('''x\ny''', \"\"\"q\"r\"\"\")", "a('x\\ny', 'q\"r')");
    SEEN("a('\\x41\\u00e9\\101\\q\\\\\\\nz')", "a('A\xc3\xa9"
                                               "A\\\\q\\\\z')");
    SEEN("a('\\ud800\\U0001F600\\N{DASH}')",
         "a('\xef\xbf\xbd\xf0\x9f\x98\x80\\\\N{DASH}')");
    SEEN("a('\xff')", "a('\xef\xbf\xbd')");
    SEEN("a('\\0\\377')", "a('\\x00\xc3\xbf')");
}

static const char *bound(const char *text)
{
    static struct err e;
    struct err why = ERR_INIT;
    struct browse_text t;
    struct browse_bound b;
    e = (struct err)ERR_INIT;
    if (browse_parse(&t, str_of(text), &e, &why) == 0)
        browse_bind(&b, &t.calls[0], &e);
    browse_text_release(&t);
    return e.text;
}

TEST(arguments_are_bound_as_python_binds_them)
{
    CHECK_STR(bound("click('1')"), "");
    CHECK_STR(bound("click(bid='1', modifiers=['Alt'])"), "");
    CHECK_STR(bound("foo('1')"), "NameError: Invalid action type 'foo'.");
    CHECK_STR(bound("click()"),
              "TypeError: click() missing 1 required positional argument: 'bid'");
    CHECK_STR(bound("fill()"),
              "TypeError: fill() missing 2 required positional arguments: "
              "'bid' and 'value'");
    CHECK_STR(bound("scroll_at()"),
              "TypeError: scroll_at() missing 4 required positional arguments: "
              "'x', 'y', 'dx', and 'dy'");
    CHECK_STR(bound("goto('a', 'b')"),
              "TypeError: goto() takes 1 positional argument but 2 were given");
    CHECK_STR(bound("go_back(1)"),
              "TypeError: go_back() takes 0 positional arguments but 1 was given");
    CHECK_STR(
        bound("click('1', 'left', [], 4)"),
        "TypeError: click() takes from 1 to 3 positional arguments but 4 were given");
    CHECK_STR(bound("click('1', x=2)"),
              "TypeError: click() got an unexpected keyword argument 'x'");
    CHECK_STR(bound("click('1', bid='2')"),
              "TypeError: click() got multiple values for argument 'bid'");
    CHECK_STR(bound("mouse_move(y=None, x=None)"), "");
    CHECK_STR(bound("click(None)"), "ValueError: expected a string, got None");
    CHECK_STR(bound("click(42.7)"), "ValueError: expected a string, got 42.7");
    CHECK_STR(bound("click([42, 'a', True, None])"),
              "ValueError: expected a string, got [42, 'a', True, None]");
    CHECK_STR(bound("drag_and_drop('1', {'k': 'aaa'})"),
              "ValueError: expected a string, got {'k': 'aaa'}");
}

/* What a wait_for waits for, or its error. */
static const char *wanted(const char *text)
{
    static char out[600];
    struct err e = ERR_INIT, why = ERR_INIT;
    struct browse_text t;
    struct browse_bound b;
    struct browse_wanted w;
    CHECK_INT(browse_parse(&t, str_of(text), &e, &why), 0);
    if (browse_bind(&b, &t.calls[0], &e) < 0 || browse_wanted(&w, &b, &e) < 0)
        snprintf(out, sizeof(out), "%s", e.text);
    else
        snprintf(out, sizeof(out), "%.*s|%.*s|%.*s|%.*s|%d", STR_ARG(w.any),
                 STR_ARG(w.text), STR_ARG(w.bid), STR_ARG(w.selector), w.ms);
    browse_text_release(&t);
    return out;
}

TEST(what_is_waited_for)
{
    CHECK_STR(wanted("wait_for('a')"), "a||||10000");
    CHECK_STR(wanted("wait_for('a', 5)"), "a||||5");
    CHECK_STR(wanted("wait_for(text='a', ms=1.5)"), "|a|||1");
    CHECK_STR(wanted("wait_for(bid='a', ms=None)"), "||a||10000");
    CHECK_STR(wanted("wait_for(selector='a', ms=1e9)"), "|||a|100000");
    CHECK_STR(wanted("wait_for(selector='a', ms=-1)"), "|||a|0");
    CHECK_STR(wanted("wait_for()"),
              "TypeError: wait_for() takes 1 of what, text, bid and selector but 0 were "
              "given");
    CHECK_STR(wanted("wait_for('a', text='b')"),
              "TypeError: wait_for() takes 1 of what, text, bid and selector but 2 were "
              "given");
    CHECK_STR(wanted("wait_for(5)"), "ValueError: expected a string, got 5");
    CHECK_STR(wanted("wait_for('')"), "ValueError: expected a string, got ''");
    CHECK_STR(wanted("wait_for('a', 'b')"), "ValueError: expected a number, got 'b'");
}

TEST(names_are_known_before_anything_is_bound)
{
    struct browse_text t;
    struct err e = ERR_INIT, why = ERR_INIT;
    CHECK_INT(browse_parse(&t, STR("click('1')\nnope()"), &e, &why), -1);
    CHECK_STR(e.text, "NameError: Invalid action type 'nope'.");
    CHECK_STR(why.text, "byte 11: there is no action nope");
    browse_text_release(&t);
    CHECK_INT(browse_parse(&t, STR("noop() goto('u')"), &e, &why), 0);
    CHECK_INT(t.n, 2);
    CHECK_INT(t.calls[1].what, BROWSE_GOTO);
    CHECK_INT(t.calls[1].at, 7);
    browse_text_release(&t);
}

TEST(elements_named_by_role_and_name)
{
    struct str role, name;
    CHECK(browse_split_named(STR(" button \"Save \"all\"\""), &role, &name));
    CHECK_MEM(role.p, role.n, "button");
    CHECK_MEM(name.p, name.n, "Save \"all\"");
    CHECK(browse_split_named(STR("menu-item  'x'"), &role, &name));
    CHECK_MEM(name.p, name.n, "x");
    static const char *const others[] = {"",        "12",          "button",   "button ",
                                         "\"Save\"", "button \"",   "a \"b",   "a \"\"",
                                         "a \"b'",  "Save \"it\"", "aA \"b\""};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CHECK(!browse_split_named(str_of(others[i]), &role, &name));
}

TEST(hostile_texts_end)
{
    enum { N = 200000 };
    static char text[N];
    static const char *const parts[] = {"a('",    "((((", "a([[",   "aaaa", "a(\"\"\"",
                                        "{'a':[", "'''",  "a(1,a(", "#",    "\\"};
    for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
        size_t m = strlen(parts[k]);
        for (size_t i = 0; i < N; i++)
            text[i] = parts[k][i % m];
        CHECK(strstr(seen(str_n(text, N)), "empty action"));
    }
    for (size_t i = 0; i < N; i++)
        text[i] = "a()"[i % 3];
    struct browse_text t;
    struct err e = ERR_INIT, why = ERR_INIT;
    CHECK_INT(browse_parse(&t, str_n(text, N), &e, &why), -1);
    CHECK_STR(why.text, "there are more than 256 calls");
    browse_text_release(&t);
    static char long_text[BROWSE_TEXT_MAX + 1];
    CHECK_INT(browse_parse(&t, str_n(long_text, sizeof(long_text)), &e, &why), -1);
    CHECK_STR(e.text, "ValueError: Received an action of 1048577 bytes.");
    browse_text_release(&t);
}

T_MAIN
