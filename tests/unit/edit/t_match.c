/* SPDX-License-Identifier: MIT */
/*
 * Texts that are not in a file byte for byte: which forms are bent, and into what; what
 * is never bent; which lines are shown instead, and where the mark stands.
 */
#include "edit/match.h"

#include "t.h"

static struct match_bent bent;

/* What the file is with the place replaced; "" if the text is not bent. */
static const char *bend(const char *text, const char *old, const char *new)
{
    static char out[4000];
    bent = (struct match_bent){.how = MATCH_EXACT};
    out[0] = '\0';
    if (!match_bend(str_of(text), str_of(old), str_of(new), 1 << 20, &bent))
        return out;
    CHECK(bent.from <= bent.to && bent.to <= strlen(text));
    snprintf(out, sizeof(out), "%.*s%s%s", (int)bent.from, text, buf_z(&bent.text),
             text + bent.to);
    buf_release(&bent.text);
    return out;
}

#define IS_BENT(wanted_how, wanted_words, want, ...) \
    do { \
        CHECK_STR(bend(__VA_ARGS__), want); \
        CHECK_STR(match_name(bent.how), wanted_how); \
        CHECK_STR(bent.words, wanted_words); \
    } while (0)

TEST(pasted_line_numbers)
{
    IS_BENT("numbers", "line numbers taken off", "a\nX\nd\n", "a\nb\nc\nd\n",
            "2\tb\n3\tc", "2\tX");
    IS_BENT("numbers", "line numbers taken off", "a\nX\n", "a\nb\n", "     2\tb\n",
            "X\n");
    IS_BENT("numbers", "line numbers taken off", "a\n\tX\n", "a\n\tb\n", "2\t\tb", "\tX");
    /* Not on every line: then they are text. */
    CHECK_STR(bend("a\nb\nc\n", "2\tb\nc", "X"), "");
    CHECK_STR(bend("b\nb\n", "2\tb", "X"), "");
}

TEST(blanks_at_line_ends)
{
    IS_BENT("trailing", "blanks at line ends not compared", "X\nc\n", "a  \nb\t\nc\n",
            "a\nb", "X");
    IS_BENT("trailing", "blanks at line ends not compared", "X\nc\n", "a\nb\nc\n",
            "a \nb \n", "X\n");
    /* A part of the first and of the last line. */
    IS_BENT("trailing", "blanks at line ends not compared", "f(X) {\n",
            "f(one, \n  two) {\n", "one,\n  two", "X");
    IS_BENT("trailing", "line numbers taken off; blanks at line ends not compared", "X\n",
            "a \nb\n", "1\ta\n2\tb\n", "X\n");
}

TEST(indentation)
{
    IS_BENT("indent", "tabs put for spaces in both strings",
            "def f():\n\tif x:\n\t\treturn 2\n\t\t\tdeep\n",
            "def f():\n\tif x:\n\t\treturn 1\n", "    if x:\n        return 1",
            "    if x:\n        return 2\n            deep");
    IS_BENT("indent", "spaces put for tabs in both strings", "  if x:\n    y\n      z\n",
            "  if x:\n    x\n", "\tif x:\n\t\tx\n", "\tif x:\n\t\ty\n\t\t\tz\n");
    IS_BENT("indent", "4 spaces put before each line of both strings",
            "class A:\n    def f():\n        two\n\n            three\n",
            "class A:\n    def f():\n        one\n", "def f():\n    one\n",
            "def f():\n    two\n\n        three\n");
    IS_BENT("indent", "2 spaces taken off each line of both strings", "a\n  c\nd\n",
            "a\n  b\n", "  a\n    b\n", "  a\n    c\n  d\n");
    /* Of several runs each is one of the file's, though no rule makes them. */
    IS_BENT("indent", "the file's indentation put in both strings", "\ta\n\t  c\n",
            "\ta\n\t  b\n", "  a\n      b\n", "  a\n      c\n");
    /* A run that no rule knows. */
    CHECK_STR(bend("\ta\n\t  b\n", "  a\n      b\n", "  a\n   c\n"), "");
    /* One run cannot be two. */
    CHECK_STR(bend("\ta\n\t\tb\n", "  a\n  b\n", "  a\n  c\n"), "");
    CHECK_STR(bend("  a\n    b\n", "    a\n  b\n", "x"), "");
}

TEST(words_are_never_bent)
{
    CHECK_STR(bend("say(\"x\")\n", "say(\xe2\x80\x9cx\xe2\x80\x9d)", "y"), "");
    CHECK_STR(bend("return self.cfg\n", "  return self.config", "y"), "");
    CHECK_STR(bend("a\n", "  \n", "y"), "");
    CHECK_STR(bend("a\n", "", "y"), "");
    CHECK_STR(bend("", "a", "y"), "");
    /* At two places: which one is meant is not known. */
    CHECK_STR(bend("\ta\n\tb\n\ta\n\tb\n", "  a\n  b\n", "  c\n"), "");
    CHECK_STR(bend("a \nb\na\t\nb\n", "a\nb\n", "c\n"), "");
}

/* A file that makes each comparison long ends in time, as not there. */
TEST(a_long_comparison_ends)
{
    struct buf text = BUF_INIT(8 << 20), old = BUF_INIT(1 << 20);
    for (int i = 0; i < 1000000; i++)
        buf_addz(&text, " x\n");
    for (int i = 0; i < 15000; i++)
        buf_addz(&old, "x\n");
    buf_addz(&old, "y\n");
    CHECK(!match_bend(buf_str(&text), buf_str(&old), STR("z"), 1 << 20, &bent));
    struct match_near n;
    CHECK(match_nearest(buf_str(&text), buf_str(&old), &n));
    CHECK_INT(n.line, 1);
    buf_release(&text);
    buf_release(&old);
}

static const char *shown(const char *text, const char *old)
{
    static char out[8000];
    struct match_near n;
    struct buf b = BUF_INIT(1 << 20);
    out[0] = '\0';
    if (match_nearest(str_of(text), str_of(old), &n))
        match_show(&b, str_of(text), &n, "old_string");
    snprintf(out, sizeof(out), "%s", buf_z(&b));
    buf_release(&b);
    return out;
}

TEST(the_nearest_lines)
{
    CHECK_STR(shown("a = 1\n\t\treturn self.cfg.port\nb = 2\n",
                    "    return self.config.port"),
              "2\t\t\treturn self.cfg.port\n"
              " \t\t\t             ^ file: self.cfg   old_string: self.config\n");
    /* Only the form differs, and no rule knows it. */
    CHECK_STR(shown("\ta\n\t\tb\n", "  a\n  b\n"),
              "1\t\ta\n \t^ file: 1 tab   old_string: 2 spaces\n");
    CHECK_STR(shown("a = 1\n\t\treturn self.cfg.port\nb = 2\n",
                    "\t\treturn self.config.port"),
              "2\t\t\treturn self.cfg.port\n"
              " \t\t\t             ^ file: self.cfg   old_string: self.config\n");
    /* By the lines that are equal; all up to the difference are shown. */
    CHECK_STR(shown("x()\none()\ntwo()\nthree()\nfour()\n",
                    "one()\ntwo()\nThree()\nfour()"),
              "2\tone()\n3\ttwo()\n4\tthree()\n \t^ file: three   old_string: Three\n");
    CHECK_STR(shown("if a {\n  b\n}\n", "if a {\n  b;\n}\n"),
              "1\tif a {\n2\t  b\n \t   ^ file: end of line   old_string: b;\n");
    CHECK_STR(shown("say(\"x\")\n", "say(\xe2\x80\x9cx\xe2\x80\x9d)"),
              "1\tsay(\"x\")\n \t    ^ file: \"   old_string: \xe2\x80\x9c\n");
    CHECK_STR(shown("\xc3\xa4\xc3\xa4 = one\n", "\xc3\xa4\xc3\xa4 = two"),
              "1\t\xc3\xa4\xc3\xa4 = one\n \t     ^ file: one   old_string: two\n");
    /* The text begins where another line of it is like one of the file's. */
    CHECK_STR(shown("one\na long line that is told apart\n",
                    "zzz\na long line that is told apart!\n"),
              "1\tone\n \t^ file: one   old_string: zzz\n");
    CHECK_STR(shown("alpha\nbeta\n", "0123456789"), "");
    CHECK_STR(shown("", "x"), "");
}

T_MAIN
