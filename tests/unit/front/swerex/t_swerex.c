/* SPDX-License-Identifier: MIT */
/* Texts of SWE-ReX's routes: output without control sequences, Python's words, patterns.
 */
#include "t.h"

#include "front/swerex/own.h"

#include "base/utf8.h"

#include <stdlib.h>

/* ---- output ---- */

static const char *cleaned(struct str text, size_t step)
{
    static char out[400];
    struct buf b = BUF_INIT(sizeof(out) - 1), hold = {.max = 0};
    for (size_t at = 0; at < text.n; at += step)
        swerex_clean(&hold, str_sub(text, at, step), false, &b);
    swerex_clean(&hold, STR(""), true, &b);
    snprintf(out, sizeof(out), "%s", buf_z(&b));
    buf_release(&b);
    buf_release(&hold);
    return out;
}

#define CLEANED(text, wanted) \
    do { \
        for (size_t step = 1; step <= sizeof(text); step++) \
            CHECK_STR(cleaned(STR(text), step), wanted); \
    } while (0)

TEST(output_is_the_same_in_pieces_of_any_size)
{
    CLEANED("plain\n", "plain\n");
    CLEANED("\033[31mred\033[0m\033[K\r\n", "red\n");
    CLEANED("a\rb\r\n\r\n\rc\r", "a\rb\n\n\rc\r");
    CLEANED("a\r\033[K\nb\r\033[Kc", "a\nb\rc");
    CLEANED("\033]0;a title\007x\033]0;other\033\\y", "xy");
    CLEANED("\033]0;cut", "ut"); /* its end never comes: as any other sequence */
    CLEANED("\033(B\033", "\033(B\033");
    CLEANED("\033[12;3", "\033[12;3");
    CLEANED("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CLEANED("\xff\xc3(\xe2\x82", "\\xff\\xc3(\\xe2\\x82");
}

/* ---- words ---- */

static const char *repr(struct str text)
{
    static char out[200];
    struct buf b = BUF_INIT(sizeof(out) - 1);
    swerex_put_repr(&b, text);
    snprintf(out, sizeof(out), "%s", buf_z(&b));
    buf_release(&b);
    return out;
}

TEST(a_string_as_repr_writes_it)
{
    CHECK_STR(repr(STR("")), "''");
    CHECK_STR(repr(STR("it's")), "\"it's\"");
    CHECK_STR(repr(STR("it's \"so\"")), "'it\\'s \"so\"'");
    CHECK_STR(repr(STR("a\\b\n\t\r\x01\x7f")), "'a\\\\b\\n\\t\\r\\x01\\x7f'");
    CHECK_STR(repr(STR("\xc3\xa9\xc2\xa0\xe2\x80\xa8")), "'\xc3\xa9\\xa0\\u2028'");
}

static const char *floating(double v)
{
    static char out[60];
    struct buf b = BUF_INIT(sizeof(out) - 1);
    swerex_put_float(&b, v);
    snprintf(out, sizeof(out), "%s", buf_z(&b));
    buf_release(&b);
    return out;
}

TEST(a_number_as_a_float)
{
    CHECK_STR(floating(5), "5.0");
    CHECK_STR(floating(0.1), "0.1");
    CHECK_STR(floating(180), "180.0");
    CHECK_STR(floating(0.25), "0.25");
    CHECK_STR(floating(0.0001), "0.0001");
    CHECK_STR(floating(1e22), "1e+22");
    CHECK_STR(floating(1.0 / 3), "0.3333333333333333");
}

TEST(a_json_string_keeps_every_byte)
{
    struct buf b = BUF_INIT(100);
    swerex_put_json(&b, STR("a\"\\\n\x01\0\xc3\xa9"));
    CHECK_STR(buf_z(&b), "a\\\"\\\\\\n\\u0001\\u0000\xc3\xa9");
    buf_release(&b);
}

/* ---- may bash parse it? ---- */

TEST(plain_words_need_no_bash)
{
    static const char *const plain[] = {
        "true",         "ls -la /tmp", "echo 'a (b' \"c\"", "a && b || c; d | e",
        "a\nb\n",       "a;",          "echo if then",      "cat x.y | wc -l",
        "  make -j2  ", "a=b c",       "git show",          "pip install a==1"};
    static const char *const asked[] = {
        "(a",      "echo $x", "a &",   "if true",   "a &&",   "| a",    "a\n| b", "; a",
        "a ; ; b", "'a",      "\"a",   "\"$a\"",    "a > b",  "a\\",    "{ a",    "# a",
        "!a",      "a &&\nb", "while", "a || && b", "a ;; b", "time a", "a\n; b"};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (swerex_may_be_wrong(str_of(plain[i])))
            T_FAIL("\"%s\" is asked about", plain[i]);
    }
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        if (!swerex_may_be_wrong(str_of(asked[i])))
            T_FAIL("\"%s\" is not asked about", asked[i]);
    }
}

/* ---- patterns ---- */

/* "INDEX from-to" of the first match of list in text, by pieces of step bytes. */
static const char *expected(const char *list, struct str text, size_t step)
{
    static char out[80];
    struct err e = ERR_INIT;
    struct json *j = json_parse(str_of(list), &e);
    struct swerex_expect *x = swerex_expect_new(j, &e);
    struct spool_range range = {0, 0};
    int found = x ? -1 : -3;
    for (size_t at = 0; found == -1 && at < text.n; at += step)
        found = swerex_expect_feed(x, 100 + at, str_sub(text, at, step), &range, &e);
    if (found >= 0)
        snprintf(out, sizeof(out), "%d %d-%d", found, (int)range.from - 100,
                 (int)range.to - 100);
    else
        snprintf(out, sizeof(out), "%d", found);
    swerex_expect_free(x);
    json_free(j);
    return out;
}

TEST(a_pattern_is_found_over_pieces)
{
    for (size_t step = 1; step < 20; step++) {
        CHECK_STR(expected("[\">>> \"]", STR("a\n>>> "), step), "0 2-6");
        CHECK_STR(expected("[\"b\\r\\n\"]", STR("a\nb\nc"), step), "0 2-4");
        CHECK_STR(expected("[\"b\\r\\n\"]", STR("a\r\nb\r\nc"), step), "0 3-6");
        CHECK_STR(expected("[\"\\u20ac.\"]", STR("\xff\xc3\xa9\xe2\x82\xacx"), step),
                  "0 3-7");
        CHECK_STR(expected("[\"x\"]", STR("abc"), step), "-1");
    }
    CHECK_STR(expected("[\"cd\",\"bc\",\"b\"]", STR("abcd"), 4), "1 1-3");
    CHECK_STR(expected("[\"(\"]", STR("("), 1), "-3");
}

TEST(a_window_that_moves_on_keeps_offsets)
{
    static char text[400000];
    memset(text, 'x', sizeof(text));
    for (size_t i = 79; i < sizeof(text); i += 80)
        text[i] = '\n';
    memcpy(text + 390000, "needle", 6);
    CHECK_STR(expected("[\"nee.le\"]", str_n(text, sizeof(text)), 10007),
              "0 390000-390006");
    CHECK_STR(expected("[\"nee.le\"]", str_n(text, sizeof(text)), sizeof(text)),
              "0 390000-390006");
}

T_MAIN
