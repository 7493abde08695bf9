/* SPDX-License-Identifier: MIT */
/* JSON read where it lies: members, items, strings, numbers, and what is no JSON. */
#include "base/json.h"
#include "base/jsontext.h"

#include "t.h"

#define IS(s, text) CHECK_STR(t_text(s), text)

static const char *t_text(struct str s)
{
    static char z[200];
    snprintf(z, sizeof(z), "%.*s", STR_ARG(s));
    return z;
}

TEST(members)
{
    struct str text = STR(
        " {\"a\" : 1 ,\"b\":[1,{\"a\":2}],\"c\":\"x,\\\"}\",\"d\":true} ");
    struct str o = str_trim(text);
    IS(jsontext_get(o, STR("a")), "1");
    IS(jsontext_get(o, STR("b")), "[1,{\"a\":2}]");
    IS(jsontext_get(o, STR("c")), "\"x,\\\"}\"");
    IS(jsontext_get(o, STR("d")), "true");
    CHECK(jsontext_get(o, STR("e")).p == NULL);
    CHECK(jsontext_get(STR("[1]"), STR("a")).p == NULL);
}

TEST(items)
{
    struct str in = jsontext_inside(STR("[ 1, \"]\" ,[2,[3]], {} ]")), v;
    CHECK(jsontext_item(&in, &v));
    IS(v, "1");
    CHECK(jsontext_item(&in, &v));
    IS(v, "\"]\"");
    CHECK(jsontext_item(&in, &v));
    IS(v, "[2,[3]]");
    CHECK(jsontext_item(&in, &v));
    IS(v, "{}");
    CHECK(!jsontext_item(&in, &v));
    in = jsontext_inside(STR("[]"));
    CHECK(!jsontext_item(&in, &v));
    in = jsontext_inside(STR("7"));
    CHECK(!jsontext_item(&in, &v));
}

TEST(strings)
{
    struct buf b = BUF_INIT(100);
    CHECK_INT(jsontext_string(
                  &b, STR("\"a\\n\\\"\\\\\\/\\u00e9\\ud83d\\ude00\\u0000\\ud800z\"")),
              0);
    CHECK_STR(buf_z(&b), "a\n\"\\/\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbdz");
    buf_reset(&b);
    CHECK_INT(jsontext_string(&b, STR("\"\xff\\\"")), 0);
    CHECK_STR(buf_z(&b), "\xef\xbf\xbd");
    buf_reset(&b);
    CHECK_INT(jsontext_string(&b, STR("\"\\\xc3\xa9\\\xe2\\z\\\0\\u12\"")), 0);
    CHECK_STR(buf_z(&b), "\xc3\xa9\xef\xbf\xbdz\xef\xbf\xbdu12");
    CHECK_INT(jsontext_string(&b, STR("12")), -1);
    CHECK_INT(jsontext_string(&b, STR("\"")), -1);
    IS(jsontext_plain(STR("\"ab\"")), "ab");
    IS(jsontext_plain(STR("\"a\\n\"")), "");
    struct buf small = BUF_INIT(3);
    CHECK_INT(jsontext_string(&small, STR("\"abcd\"")), -1);
    buf_release(&small);
    buf_release(&b);
}

TEST(numbers)
{
    CHECK_INT(jsontext_int(STR("-12"), 5), -12);
    CHECK_INT(jsontext_int(STR("12.75"), 5), 12);
    CHECK_INT(jsontext_int(STR("1e3"), 5), 1000);
    CHECK_INT(jsontext_int(STR("9007199254740993"), 5), 5);
    CHECK_INT(jsontext_int(STR("\"12\""), 5), 5);
    CHECK_INT(jsontext_int(STR("null"), 5), 5);
    CHECK_INT(jsontext_int(STR(""), 5), 5);
    CHECK(jsontext_num(STR("0.5"), 0) == 0.5);
    CHECK(jsontext_num(STR("1e999"), 7) == 7);
    CHECK(jsontext_num(STR("0x10"), 7) == 7);
}

/* A slice never leaves its text, and the walk always ends. */
static size_t walk(struct str value, int depth)
{
    struct str in = jsontext_inside(value), name, v;
    size_t n = 1;
    bool object = value.n && value.p[0] == '{';
    while (object ? jsontext_member(&in, &name, &v) : jsontext_item(&in, &v)) {
        CHECK(v.p >= value.p && v.p + v.n <= value.p + value.n);
        n += depth < 20 ? walk(v, depth + 1) : 0;
    }
    return n;
}

TEST(what_is_no_json)
{
    static const char *const texts[] = {
        "[1 2]",        "[1,,2]", "{\"a\"}",  "{\"a\":}", "{a:1}",      "[\"x]",
        "{\"a\":\"b\\", "[[[[[[", "}}",       "[}",       "{\"a\":1]",  ":",
        "\"",           "\\",     "[\"\\\"]", "[\\]",     "{\"a\"::1}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct str s = str_of(texts[i]);
        for (size_t n = 0; n <= s.n; n++)
            CHECK(walk(str_sub(s, 0, n), 0) < 10);
    }
    struct str in = jsontext_inside(STR("[1 2]")), v;
    CHECK(jsontext_item(&in, &v));
    CHECK(!jsontext_item(&in, &v));
}

TEST(as_the_tree_has_it)
{
    static const char text[] =
        "{\"n\":[1,2.5,-3],\"s\":\"\\u0041\\t\",\"o\":{\"x\":null,\"y\":false}}";
    struct err e = ERR_INIT;
    struct json *j = json_parse(STR(text), &e);
    struct buf b = BUF_INIT(100);
    CHECK(j);
    CHECK_INT(jsontext_string(&b, jsontext_get(STR(text), STR("s"))), 0);
    CHECK(str_eq(buf_str(&b), json_str(j, "s", "")));
    CHECK_INT(walk(STR(text), 0), 9);
    buf_release(&b);
    json_free(j);
}

/* A backslash and a quote at every place of the eight bytes that are read at once. */
TEST(strings_of_all_lengths)
{
    for (int before = 0; before < 20; before++) {
        for (int after = 0; after < 20; after++) {
            char text[80];
            int n = snprintf(text, sizeof(text), "[\"%.*s\\\"%.*s\\\\\",7]", before,
                             "abcdefghijklmnopqrst", after, "[]{},:ABCDEFGHIJKLMN");
            struct str in = jsontext_inside(str_n(text, (size_t)n)), value;
            CHECK(jsontext_item(&in, &value));
            CHECK_INT(value.n, before + after + 6);
            CHECK(jsontext_item(&in, &value));
            CHECK(str_eq(value, STR("7")));
            CHECK(!jsontext_item(&in, &value));
        }
    }
}

T_MAIN

TEST(what_is_json)
{
    static const char *const good[] = {
        "{}", "[]", "0", "-0.5e+10", "\"\"", "null", " { \"a\" : [ true , false ] } ",
        "{\"a\":{\"b\":[[],{}]},\"c\":\"\\u00e9\\n\\\"\"}", "[1,2,3]"};
    static const char *const bad[] = {
        "", " ", "{", "}", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
        "01", "1.", ".5", "1e", "-", "+1", "nul", "truee", "\"", "\"\\x\"",
        "\"\\u12g4\"", "\"a\nb\"", "{}{}", "[1 2]", "{\"a\" 1}", "[}", "{]", "1,2",
        "{\"a\":1]", "[1}"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!jsontext_valid(str_of(good[i])))
            T_FAIL("%s is JSON", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (jsontext_valid(str_of(bad[i])))
            T_FAIL("%s is no JSON", bad[i]);
    char deep[2 * JSONTEXT_DEPTH + 2];
    memset(deep, '[', JSONTEXT_DEPTH + 1);
    memset(deep + JSONTEXT_DEPTH + 1, ']', JSONTEXT_DEPTH + 1);
    CHECK(!jsontext_valid(str_n(deep, sizeof(deep))));
    CHECK(jsontext_valid(str_n(deep + 1, sizeof(deep) - 2)));
}
