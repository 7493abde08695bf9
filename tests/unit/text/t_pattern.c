/* SPDX-License-Identifier: MIT */
/*
 * Which lines match: by what is known of regular expressions, and by comparison of
 * what the automaton lets through with what the matcher says of each line alone.
 */
#define T_LIMIT_S 60
#include "base/buf.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "text/automaton.h"
#include "text/pattern.h"

#include "t.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { FIXED = 1, FOLD = 2 };

/* The numbers of the lines that match: "1 3". Lines in exactly as many bytes. */
static const char *lines_of(const char *pattern, int how, struct str text)
{
    static char out[4000];
    struct err e = ERR_INIT;
    struct str line;
    size_t from = 0, n = 0;
    int rc;
    struct pattern *p = pattern_new(str_of(pattern), how & FIXED, how & FOLD, &e);
    if (!p) {
        snprintf(out, sizeof(out), "%s", e.text);
        return out;
    }
    char *copy = malloc(text.n ? text.n : 1);
    memcpy(copy, text.p, text.n);
    struct str exact = str_n(copy, text.n);
    out[0] = '\0';
    while ((rc = pattern_next(p, exact, from, &line, &e)) > 0) {
        size_t number = 1 + scan_count(str_n(copy, (size_t)(line.p - copy)), '\n');
        n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%zu", n ? " " : "", number);
        from = (size_t)(line.p - copy) + line.n + 1;
    }
    if (rc < 0)
        snprintf(out, sizeof(out), "%s", e.text);
    pattern_free(p);
    free(copy);
    return out;
}

#define IS(pattern, how, text, want) CHECK_STR(lines_of(pattern, how, STR(text)), want)

TEST(fixed)
{
    IS("b", FIXED, "a\nb\nab\n", "2 3");
    IS("b", FIXED, "a\nB\nab", "3");
    IS("b", FIXED | FOLD, "a\nB\nab", "2 3");
    IS("a.c", FIXED, "abc\na.c\n", "2");
    IS("", FIXED, "a\n\nb", "1 2 3");
    IS("", FIXED, "", "");
    IS("a\nb", FIXED, "a\nb\n", "");
    IS("x", FIXED, "xxxxx\nxx", "1 2");
    IS("\xc3\xa9", FIXED, "caf\xc3\xa9\ncafe\n", "1");
    IS("CAF\xc3\x89", FIXED | FOLD, "caf\xc3\xa9\ncafe\n", "1");
    IS("(\xc3\x89", FIXED | FOLD, "(\xc3\xa9\n", "1");
    IS("k", FIXED | FOLD, "K\n\xe2\x84\xaa\n", "1");
}

TEST(expressions)
{
    IS("a.c", 0,
       "abc\nac\na\nc\na\xc3\xa9"
       "c\n",
       "1 5");
    IS("^a", 0, "ba\nab\n\n", "2");
    IS("a$", 0, "ba\nab\na", "1 3");
    IS("^$", 0, "a\n\nb\n", "2");
    IS("$", 0, "a\n\nb", "1 2 3");
    IS("^", 0, "a\n\nb\n", "1 2 3");
    IS("a*", 0, "b\n\n", "1 2");
    IS("a|b", 0, "c\nb\na\n", "2 3");
    IS("(ab)+c", 0, "abc\nababc\nac\nc\n", "1 2");
    IS("a{2,3}b", 0, "ab\naab\naaaab\n", "2 3");
    IS("^a{2,3}b", 0, "ab\naab\naaaab\n", "2");
    IS("^a{0}b", 0, "b\nab\n", "1");
    IS("(x{2}){2}", 0, "xxx\nxxxx\n", "2");
    IS("[^a]b", 0,
       "ab\nb\ncb\n\xc3\xa9"
       "b\n",
       "3 4");
    IS("[[:digit:]]+\\s\\w", 0, "1 a\n1a\n12\tb\n", "1 3");
    IS("\\d+\\.\\d", 0, "1.2\n1x2\n", "1");
    IS("a\\nb", 0, "a\nb\n", "");
    IS("[^b]*c", 0, "a\nc\n", "2");
    IS("[a\xc3\xa9]y", 0, "\xc3\xa9y\nay\n\xc3\xa8y\n", "1 2");
    IS("\\x41\\x{42}", 0, "AB\n", "1");
    IS("[\\]-]x", 0, "]x\n-x\n\\x\n", "1 2");
    IS("\\Qa.b\\E.", 0, "a.bc\naxbc\n", "1");
    IS("x2\\E?", 0, "x\na\n", "1");
    IS("x2\\Q\\E?", 0, "x\na\n", "1");
    IS("a{,2}b", 0, "xb\n", "1");
    IS("^a{\t0, 2\t}b", 0, "b\naab\na{\t0, 2\t}b\n", "1 2");
    IS("a{x", 0, "a{x\n", "1");
}

TEST(what_the_automaton_leaves_to_the_matcher)
{
    IS("\\bfoo\\b", 0, "foobar\na foo.\n", "2");
    IS("(a)\\1", 0, "ab\naa\n", "2");
    IS("foo(?!bar)", 0, "foobar\nfoobaz\n", "2");
    IS("(?<=x)foo", 0, "afoo\nxfoo\n", "2");
    IS("(?<n>a)b\\k<n>", 0, "abb\naba\n", "2");
    IS("(?P<n>a)b", 0, "ab\n", "1");
    IS("a++a", 0, "aaa\n", "");
    IS("\\p{Lu}x", 0, "\xc3\x89x\nex\n", "1");
    IS("^.{3}$", 0, "caf\ncaf\xc3\xa9\n\xc3\xa9\xc3\xa9\xc3\xa9\n", "1 3");
    IS("(?i)foo", 0, "FOO\n", "1");
    IS("(?x) f o o", 0, "foo\n", "1");
    IS("(*UTF)foo", 0, "foo\n", "1");
    IS("\\Afoo\\z", 0, "xfoo\nfoo\n", "2");
    IS("a\\Kb", 0, "ab\n", "1");
}

TEST(either_case)
{
    IS("FoO", FOLD, "fOo\nbar\n", "1");
    IS("[a-c]X", FOLD, "Bx\ndx\n", "1");
    IS("[^A]x", FOLD, "ax\nbx\n", "2");
    IS("\xc3\x89t\xc3\xa9", FOLD, "\xc3\xa9T\xc3\x89\n", "1");
    IS("ks", FOLD, "KS\nK\xc5\xbf\n", "1");
}

/* Most lines have "_": its search is given up after some of them, and nothing is lost. */
TEST(a_text_that_most_lines_have)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 1; i <= 6000; i++) {
        bool hit = i == 3 || i == 1500 || i == 5998;
        CHECK(buf_addf(&text, i % 7 ? "a_%d%s\n" : "b%d%s\n", i, hit ? "_X" : "") == 0);
    }
    CHECK(buf_add(&text, "a_6001_X", 8) == 0);
    CHECK_STR(lines_of("a_[0-9]+_[X-Z]$", 0, buf_str(&text)), "3 1500 5998 6001");
    CHECK_STR(lines_of("_[0-9]+_[X-Z]\\b", 0, buf_str(&text)), "3 1500 5998 6001");
    buf_release(&text);
}

/* Bytes that are no UTF-8 are one character each, and what is around them matches. */
TEST(bytes_of_other_encodings)
{
    IS("caf", 0, "caf\xe9 au lait\n", "1");
    IS("caf.", 0, "caf\xe9 au lait\n", "1");
    IS("caf[^ ] ", 0, "caf\xe9 au lait\n", "1");
    IS("caf\\x{e9}", 0, "caf\xe9 au lait\n", "");
    IS("f\\x{fffd}", 0, "caf\xe9 au lait\n", "1");
    IS("au.lait", 0, "caf\xe9 au lait\n", "1");
    IS("[^x]au", 0,
       "caf\xe9 au lait\n\xe9"
       "au\n",
       "1 2");
    /* pcre2's own way with these read beyond the line. */
    IS("A(?<=(\\D\\Di)?<=(\\D\\Di))", 0,
       "$'(\xfc"
       "A|\\",
       "");
}

TEST(zeros_are_bytes)
{
    IS("b", FIXED, "a\0b\n", "1");
    IS("a.b", 0, "a\0b\n", "1");
}

TEST(what_is_no_expression)
{
    IS("(", 0, "",
       "\"(\" is not a regular expression: missing closing parenthesis at "
       "offset 1");
    IS("[a", 0, "",
       "\"[a\" is not a regular expression: missing terminating ] for "
       "character class at offset 2");
    /* Before the quantifier or after it: as the version of pcre2 has it. */
    CHECK(strstr(lines_of("*a", 0, STR("")),
                 "\"*a\" is not a regular expression: quantifier does not follow a "
                 "repeatable item at offset "));
    static char text[PATTERN_MAX + 2];
    memset(text, 'a', sizeof(text) - 1);
    IS(text, 0, "", "the pattern has 65537 bytes; at most 65536 are taken");
    CHECK(strstr(lines_of("\xff(", 0, STR("")), "UTF-8 error") != NULL);
}

/* Lines are as long as they like; none of these is an hour. */
TEST(patterns_that_never_end_elsewhere)
{
    static char line[200000];
    memset(line, 'a', sizeof(line));
    struct str text = str_n(line, sizeof(line));
    CHECK_STR(lines_of("(a+)+$", 0, text), "1");
    CHECK_STR(lines_of("(a+)+b", 0, text), "");
    CHECK_STR(lines_of("^(a|aa)+c$", 0, text), "");
    CHECK_STR(lines_of("(a*)*b", 0, text), "");
    CHECK_STR(lines_of("(.*)(.*)(.*)(.*)x", 0, text), "");
    CHECK_STR(lines_of("(a?){100}a{100}z", 0, text), "");
    CHECK(strstr(lines_of("(a+)+\\bX?(?=b)", 0, str_n(line, 5000)), "too many steps"));
    CHECK(strstr(lines_of("(a+)+\\1b?(?=c)", 0, str_n(line, 5000)), "too many steps"));
}

TEST(large_expressions)
{
    CHECK(strstr(lines_of("((a{1000}){1000}){1000}", 0, STR("a\n")),
                 "\"((a{1000}){1000}){1000}\" is not a regular expression: regular "
                 "expression is too large at offset "));
    IS("(a{100}){20}b", 0, "ab\n", "");
    /* More states than are kept: they are forgotten, and made again. */
    static char text[60000];
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = "ab"[i * i / 7 % 2];
    text[sizeof(text) - 1] = '\n';
    CHECK_STR(lines_of("a[ab]{14}c", 0, str_n(text, sizeof(text))), "");
    text[sizeof(text) - 2] = 'c';
    text[sizeof(text) - 17] = 'a';
    CHECK_STR(lines_of("a[ab]{14}c", 0, str_n(text, sizeof(text))), "1");
}

/* ---- the automaton against the matcher ---- */

static unsigned seed = 7;
static unsigned next(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return seed / 65536 % below;
}

static bool matcher_says(pcre2_code *code, struct str line)
{
    pcre2_match_data *d = pcre2_match_data_create(1, NULL);
    struct buf valid = BUF_INIT(4000);
    utf8_repair(&valid, line, false);
    int rc = pcre2_match(code, (PCRE2_SPTR)buf_z(&valid), valid.n, 0, 0, d, NULL);
    buf_release(&valid);
    pcre2_match_data_free(d);
    return rc >= 0;
}

static void compare(const char *pattern, bool fold, struct str text)
{
    int why;
    PCRE2_SIZE at;
    char want[4000] = "";
    pattern_tables();
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    pcre2_set_compile_extra_options(c, PCRE2_EXTRA_CASELESS_RESTRICT);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | (fold ? PCRE2_CASELESS : 0), &why, &at,
                                     c);
    pcre2_compile_context_free(c);
    if (!code)
        return;
    struct str rest = text;
    for (int number = 1; rest.n; number++) {
        if (matcher_says(code, str_cut(&rest, '\n')))
            snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%d",
                     want[0] ? " " : "", number);
    }
    pcre2_code_free(code);
    const char *got = lines_of(pattern, fold ? FOLD : 0, text);
    if (strcmp(got, want) != 0)
        T_FAIL("\"%s\"%s: lines %s, not %s, of \"%.*s\"", pattern, fold ? " (fold)" : "",
               got, want, STR_ARG(text));
}

TEST(the_same_lines_as_the_matcher_alone)
{
    static const char *const parts[] = {
        "a",           "b",       "B",        ".",      "[ab]", "[^a]", "\\w",  "\\s",
        "\\D",         "^",       "$",        "(",      ")",    "|",    "*",    "+",
        "?",           "{2}",     "{1,}",     "{0,2}",  "ab",   "\\b",  "(?:",  "(?=",
        "(?!",         "(a)\\1",  "\xc3\xa9", "x{2,3}", "\\.",  "[b-]", "(?i)", "\\d",
        "[[:alpha:]]", "\\Qa\\E", "\\n",      "*?",     "+?",   "++"};
    static const char *const bits[] = {"a",        "b",    "B", "\n", " ",  "x",
                                       "\xc3\xa9", "\xe9", "1", "ab", "aa", "\n\n",
                                       ".",        "-",    "A", "n"};
    for (int round = 0; round < 6000; round++) {
        char pattern[100] = "", text[200] = "";
        for (unsigned n = 1 + next(7); n > 0; n--)
            strcat(pattern, parts[next(sizeof(parts) / sizeof(*parts))]);
        for (unsigned n = next(25); n > 0; n--)
            strcat(text, bits[next(sizeof(bits) / sizeof(*bits))]);
        compare(pattern, next(3) == 0, str_of(text));
    }
}

/* "AT:TEXT" of the first match, "-" without one, "!" if it took too many steps. */
static const char *found_in(const char *pattern, const char *text, size_t from)
{
    static char out[100];
    struct err e = ERR_INIT;
    struct str match;
    struct pattern *p = pattern_new_across(str_of(pattern), &e);
    int rc = p ? pattern_find(p, str_of(text), from, &match, &e) : -2;
    if (rc > 0)
        snprintf(out, sizeof(out), "%zu:%.*s", (size_t)(match.p - text), STR_ARG(match));
    else
        snprintf(out, sizeof(out), "%s", rc == 0 ? "-" : rc == -2 ? "?" : "!");
    pattern_free(p);
    return out;
}

TEST(a_match_may_span_lines)
{
    CHECK_STR(found_in("a.*c", "xa\nb\nc\n", 0), "1:a\nb\nc");
    CHECK_STR(found_in(">>> ", "1\n>>> 2\n>>> ", 0), "2:>>> ");
    CHECK_STR(found_in(">>> ", "1\n>>> 2\n>>> ", 3), "8:>>> ");
    CHECK_STR(found_in("b", "aaa", 0), "-");
    CHECK_STR(found_in("$", "ab", 0), "2:");
    CHECK_STR(found_in("\\w+", "- \xc3\xa9t\xc3\xa9.", 0), "2:\xc3\xa9t\xc3\xa9");
    CHECK_STR(found_in("(", "", 0), "?");
}

TEST(places_after_the_first_piece_are_tried_and_steps_are_bounded)
{
    static char text[70001];
    memset(text, 'a', 70000);
    memcpy(text + 69000, "needle", 6);
    CHECK_STR(found_in("needle", text, 0), "69000:needle");
    memset(text, 'a', 70000);
    CHECK_STR(found_in("(a+)+b", text, 0), "-"); /* there is no b */
    text[69999] = 'b';
    CHECK_STR(found_in("(a|aa)+$c", text, 0), "-");
    CHECK_STR(found_in("(a|aa)+(?=cb|db)", text, 0), "!");
}

T_MAIN
