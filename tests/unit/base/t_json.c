/* SPDX-License-Identifier: MIT */
/*
 * JSON: what RFC 8259 allows gets in and nothing else, values come out as they
 * went in, and wrong types are named.
 */
#include "base/json.h"
#include "base/utf8.h"

#include <math.h>

#include "t.h"

/* Parses and prints again; the text for a fault. */
static const char *round_trip(struct str text)
{
    static char out[70000];
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(sizeof(out) - 1);
    struct json *j = json_parse(text, &e);
    if (!j) {
        CHECK_INT(e.code, ERR_INVALID);
        snprintf(out, sizeof(out), "%s", e.text);
        return out;
    }
    CHECK_INT(json_print(&b, j), 0);
    memcpy(out, buf_z(&b), b.n + 1);
    CHECK_INT(strlen(out), b.n);
    json_free(j);
    buf_release(&b);
    return out;
}

TEST(good_texts_print_as_they_should)
{
    static const char *const same[] = {
        "null", "true", "false", "0", "-1", "{}", "[]", "\"\"", "[[[]],{}]", "1.5",
        "{\"a\":1,\"b\":[true,null,\"x\"]}", "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f/\"", "9007199254740991",
        "-9007199254740991", "1e+300", "0.1", "1.7976931348623157e+308",
        "0.30000000000000004", "123456789012345.6", "\"0\\\\u0000\"",
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        CHECK_STR(round_trip(str_of(same[i])), same[i]);
    static const char *const other[][2] = {
        {" { \"a\" :\t1 ,\r\n\"b\":[ ] } ", "{\"a\":1,\"b\":[]}"},
        {"\"\\u0041\\u00e9\\ud83d\\ude00\\/\"", "\"A\xc3\xa9\xf0\x9f\x98\x80/\""},
        {"1E2", "100"}, {"1.0", "1"}, {"-0", "0"}, {"1e-2", "0.01"},
        {"5e-324", "4.94065645841247e-324"},
        {"9007199254740992", "9007199254740992"}, {"1e15", "1000000000000000"},
    };
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        CHECK_STR(round_trip(str_of(other[i][0])), other[i][1]);
}

TEST(bad_texts_are_refused)
{
    static const struct str bad[] = {
        /* nothing, or not all of it */
        {"", 0}, {" \n", 2}, {"{", 1}, {"[", 1}, {"[1", 2}, {"{\"a\"", 4}, {"{\"a\":", 5},
        {"\"", 1}, {"\"a", 2}, {"\"\\", 2}, {"tru", 3}, {"[1,", 3}, {"\"\\u00", 5},
        /* brackets */
        {"[[]", 3}, {"{{}", 3}, {"]", 1}, {"[}", 2}, {"{]", 2}, {"[1}", 3}, {"[]]", 3},
        /* too much, or misplaced */
        {"1 2", 3}, {"{} {}", 5}, {"[1,]", 4}, {"[,1]", 4}, {"[1 2]", 5}, {"{,}", 3},
        {"{\"a\":1,}", 8}, {"{1:2}", 5}, {"{\"a\" 1}", 7}, {"[1:2]", 5}, {"{\"a\",1}", 7},
        {"truefalse", 9}, {"nullx", 5}, {"True", 4}, {"nul", 3}, {"NaN", 3},
        {"Infinity", 8}, {"-Infinity", 9}, {"// x\n1", 6}, {"'a'", 3}, {"{a:1}", 5},
        /* numbers */
        {"01", 2}, {"-", 1}, {"+1", 2}, {".5", 2}, {"1.", 2}, {"1.e5", 4}, {"1e", 2},
        {"1e+", 3}, {"0x10", 4}, {"-01", 3}, {"1-2", 3}, {"1.2.3", 5}, {"--1", 3},
        {"1e999", 5}, {"[-1e999]", 8}, {"1_000", 5},
        /* strings */
        {"\"\\u0000\"", 8}, {"\"a\\\\\\u0000\"", 11}, {"\"\\x41\"", 6},
        {"\"\\u12g4\"", 8}, {"\"\\u12\"", 6}, {"\"\\u000\"00\"", 9},
        {"\"\n\"", 3}, {"\"\t\"", 3}, {"\"\0\"", 3}, {"\"\x1f\"", 3},
        {"\"\\ud83d\"", 8}, {"\"\\ude00\"", 8}, {"\"\\ud83d\\u0041\"", 14},
        {"{\"\\u0000\":1}", 12}, {"\"\\U0041\"", 8},
        /* bytes that are not text, or no white space */
        {"\"\xff\"", 3}, {"\"\xe2\x82\"", 4}, {"\xff", 1}, {"1\0", 2}, {"\0001", 2},
        {"[\0" "1]", 4}, {"[\v1]", 4}, {"[\f1]", 4}, {"\xef\xbb\xbf{}", 5},
        {"[\xc2\xa0]", 4}, {"1\x7f", 2},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct json *j = json_parse(bad[i], NULL);
        if (j)
            T_FAIL("case %zu, %.*s, was taken", i, STR_ARG(bad[i]));
        const char *said = round_trip(bad[i]);
        if (strncmp(said, "invalid JSON", 12) != 0)
            T_FAIL("case %zu: %s", i, said);
    }
    CHECK_INT(json_parse(str_n(NULL, 0), NULL) == NULL, 1);
}

TEST(a_fault_says_where)
{
    CHECK_STR(round_trip(STR("{\"a\":01}")), "invalid JSON at byte 6: malformed number");
    CHECK_STR(round_trip(STR("[\"a\\u0000\"]")),
              "invalid JSON at byte 3: a string must not hold U+0000");
    CHECK(strstr(round_trip(STR("[1 2]")), "at byte 3"));
}

TEST(depth_and_size_are_bounded)
{
    char text[1000];
    for (int depth = 60; depth < 70; depth++) {
        for (int object = 0; object < 2; object++) {
            size_t n = 0;
            for (int i = 1; i < depth; i++)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
                                      object ? "{\"a\":" : "[");
            text[n++] = '[';
            text[n++] = ']';
            for (int i = 1; i < depth; i++)
                text[n++] = object ? '}' : ']';
            struct json *j = json_parse(str_n(text, n), NULL);
            CHECK_INT(j != NULL, depth <= JSON_DEPTH_MAX);
            json_free(j);
        }
    }
    /* A deep text is refused without recursion: this would need 100 MB of it. */
    size_t n = 1 << 20;
    char *deep = malloc(n);
    memset(deep, '[', n);
    CHECK(!json_parse(str_n(deep, n), NULL));
    /* 3 MB of empty arrays would become 200 MB of tree. */
    struct buf wide = BUF_INIT(8 << 20);
    buf_addc(&wide, '[');
    for (int i = 0; i < 1100000; i++)
        buf_addz(&wide, "[],");
    buf_addz(&wide, "0]");
    struct err e = ERR_INIT;
    CHECK(!json_parse(buf_str(&wide), &e));
    CHECK(strstr(e.text, "too many values"));
    buf_release(&wide);
    free(deep);
    /* Digits without end. */
    struct buf digits = BUF_INIT(100000);
    for (int i = 0; i < 50000; i++)
        buf_addc(&digits, '1');
    CHECK(!json_parse(buf_str(&digits), NULL));
    buf_release(&digits);
}

TEST(a_text_needs_no_terminator)
{
    static const char *const texts[] = {
        "[1,22]", "{\"a\":\"b\"}", "true", "123", "\"x\"",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        /* Exactly as large as the text, so that a reader beyond it is caught. */
        size_t n = strlen(texts[i]);
        for (size_t cut = 0; cut <= n; cut++) {
            char *p = malloc(cut ? cut : 1);
            memcpy(p, texts[i], cut);
            struct json *j = json_parse(str_n(p, cut), NULL);
            CHECK_INT(j != NULL, cut == n || (i == 3 && cut > 0));
            json_free(j);
            free(p);
        }
    }
}

TEST(members_with_defaults)
{
    struct json *j = json_parse(
        STR("{\"s\":\"x\",\"i\":-7,\"n\":1.5,\"b\":true,\"z\":null,"
            "\"big\":9007199254740992,\"S\":\"upper\",\"e\":\"\"}"),
        NULL);
    CHECK(j);
    CHECK_STR(json_str(j, "s", "d").p, "x");
    CHECK_STR(json_str(j, "S", "d").p, "upper");
    CHECK_STR(json_str(j, "i", "d").p, "d");
    CHECK_STR(json_str(j, "none", "d").p, "d");
    CHECK(json_str(j, "e", "d").p && json_str(j, "e", "d").n == 0);
    CHECK(!json_str(j, "none", NULL).p);
    CHECK_INT(json_int(j, "i", 3), -7);
    CHECK_INT(json_int(j, "n", 3), 3);
    CHECK_INT(json_int(j, "big", 3), 3);
    CHECK_INT(json_int(j, "s", 3), 3);
    CHECK(json_num(j, "n", 0) == 1.5);
    CHECK(json_num(j, "s", 2.5) == 2.5);
    CHECK(json_bool(j, "b", false));
    CHECK(json_bool(j, "i", true));
    CHECK(!json_bool(j, "z", false));
    CHECK(json_has(j, "z") && !json_has(j, "none"));
    CHECK(json_is_null(json_get(j, "z")) && json_is_bool(json_get(j, "b")));
    CHECK(json_is_number(json_get(j, "n")) && json_is_string(json_get(j, "s")));
    CHECK(!json_get(json_get(j, "s"), "s"));
    CHECK(!json_get(NULL, "s") && !json_is_object(NULL) && !json_is_null(NULL));
    CHECK_INT(json_int_value(NULL, 9), 9);
    json_free(j);
    json_free(NULL);
}

TEST(of_two_members_of_one_name_the_first_counts)
{
    struct json *j = json_parse(STR("{\"a\":1,\"A\":2,\"a\":3}"), NULL);
    CHECK_INT(json_int(j, "a", 0), 1);
    CHECK_INT(json_int(j, "A", 0), 2);
    json_free(j);
}

TEST(strict_members)
{
    struct json *j = json_parse(
        STR("{\"s\":\"x\",\"i\":5,\"n\":1.5,\"b\":false,\"z\":null,"
            "\"top\":9007199254740991,\"big\":9007199254740992,"
            "\"low\":-9007199254740992}"),
        NULL);
    struct err e = ERR_INIT;
    struct str s = STR("kept");
    int64_t i = 42;
    double d = 4.5;
    bool b = true;
    CHECK_INT(json_want_str(j, "none", &s, &e), 0);
    CHECK_INT(json_want_str(j, "z", &s, &e), 0);
    CHECK_INT(json_want_int(j, "z", &i, &e), 0);
    CHECK_INT(json_want_num(j, "z", &d, &e), 0);
    CHECK_INT(json_want_bool(j, "z", &b, &e), 0);
    CHECK(str_eq(s, STR("kept")) && i == 42 && d == 4.5 && b);

    CHECK_INT(json_want_str(j, "i", &s, &e), -1);
    CHECK_STR(e.text, "i must be a string");
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(json_want_int(j, "s", &i, &e), -1);
    CHECK_STR(e.text, "s must be a number");
    CHECK_INT(json_want_num(j, "b", &d, &e), -1);
    CHECK_STR(e.text, "b must be a number");
    CHECK_INT(json_want_bool(j, "i", &b, &e), -1);
    CHECK_STR(e.text, "i must be true or false");
    static const char *const inexact[] = {"n", "big", "low"};
    for (size_t k = 0; k < 3; k++) {
        CHECK_INT(json_want_int(j, inexact[k], &i, &e), -1);
        CHECK(strstr(e.text, "must be a whole number below 2^53"));
        CHECK_INT(json_want_int(j, inexact[k], &i, NULL), -1);
    }
    CHECK(str_eq(s, STR("kept")) && i == 42 && d == 4.5 && b);

    CHECK_INT(json_want_str(j, "s", &s, &e), 0);
    CHECK_INT(json_want_int(j, "i", &i, &e), 0);
    CHECK_INT(json_want_num(j, "n", &d, &e), 0);
    CHECK_INT(json_want_bool(j, "b", &b, &e), 0);
    CHECK(str_eq(s, STR("x")) && i == 5 && d == 1.5 && !b);
    CHECK_INT(json_want_int(j, "top", &i, &e), 0);
    CHECK_INT(i, 9007199254740991);
    json_free(j);
}

TEST(walking)
{
    struct json *j = json_parse(STR("{\"a\":[1,2,3],\"b\":4}"), NULL);
    struct json *a = json_first(j);
    CHECK_STR(json_name(a), "a");
    CHECK_STR(json_name(json_next(a)), "b");
    CHECK(!json_next(json_next(a)));
    CHECK_INT(json_count(j), 2);
    CHECK_INT(json_count(a), 3);
    int64_t sum = 0;
    for (const struct json *v = json_first(a); v; v = json_next(v)) {
        CHECK(!json_name(v));
        sum = sum * 10 + json_int_value(v, 0);
    }
    CHECK_INT(sum, 123);
    CHECK(!json_first(json_next(a)) && !json_first(NULL));
    CHECK_INT(json_count(NULL), 0);
    json_free(j);
}

TEST(building)
{
    struct json *o = json_object(), *a = json_array(), *in = json_object();
    json_put_str(o, "s", STR("x\0y\xff"));
    json_put_z(o, "z", "quote\"");
    json_put_int(o, "i", -9007199254740991);
    json_put_num(o, "n", 0.1);
    json_put_num(o, "inf", INFINITY);
    json_put_bool(o, "t", true);
    json_put_bool(o, "f", false);
    json_put_null(o, "0");
    json_push_str(a, str_n(NULL, 0));
    json_push_int(a, 7);
    json_put_int(in, "k", 1);
    json_push(a, in);
    json_put(o, "a", a);
    struct buf b = BUF_INIT(1000);
    CHECK_INT(json_print(&b, o), 0);
    CHECK_STR(buf_z(&b),
              "{\"s\":\"x\xef\xbf\xbdy\xef\xbf\xbd\",\"z\":\"quote\\\"\","
              "\"i\":-9007199254740991,\"n\":0.1,\"inf\":null,\"t\":true,\"f\":false,"
              "\"0\":null,\"a\":[\"\",7,{\"k\":1}]}");
    buf_release(&b);
    T_DIES(SIGABRT, json_put_int(json_array(), "x", 1));
    T_DIES(SIGABRT, json_push_int(json_object(), 1));
    json_free(o);
}

TEST(putting_a_name_again_replaces)
{
    struct json *o = json_object();
    json_put_int(o, "a", 1);
    json_put_int(o, "b", 2);
    json_put_z(o, "a", "new");
    CHECK_INT(json_count(o), 2);
    CHECK_STR(json_str(o, "a", "").p, "new");
    CHECK_INT(json_int(o, "b", 0), 2);
    json_free(o);
}

TEST(a_member_is_replaced_by_its_own_name)
{
    struct json *o = json_object();
    json_put_z(o, "a name that lies in the member", "old");
    json_put_z(o, json_name(json_first(o)), "new");
    CHECK_INT(json_count(o), 1);
    CHECK_STR(json_str(o, "a name that lies in the member", "").p, "new");
    json_free(o);
}

TEST(printing_into_a_full_buffer_adds_nothing)
{
    struct json *j = json_parse(
        STR("{\"a\":[1,\"two\\n\",true,1.5],\"b\":{\"c\":null}}"), NULL);
    struct buf whole = BUF_INIT(1000);
    CHECK_INT(json_print(&whole, j), 0);
    for (size_t max = 0; max <= whole.n + 2; max++) {
        struct buf b = BUF_INIT(max + 2);
        buf_addz(&b, "::");
        CHECK_INT(json_print(&b, j), max >= whole.n ? 0 : -1);
        CHECK_INT(b.n, max >= whole.n ? whole.n + 2 : 2);
        buf_release(&b);
    }
    buf_release(&whole);
    json_free(j);
}

TEST(quoting)
{
    struct buf b = BUF_INIT(1000);
    CHECK_INT(json_quote(&b, STR("a\"b\\c/\b\f\n\r\t\x01\x1f\x7f")), 0);
    CHECK_STR(buf_z(&b), "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    buf_reset(&b);
    CHECK_INT(json_quote(&b, str_n(NULL, 0)), 0);
    CHECK_STR(buf_z(&b), "\"\"");
    buf_release(&b);
    for (size_t max = 0; max < 9; max++) {
        buf_init(&b, max);
        CHECK_INT(json_quote(&b, STR("a\n\xffz")), -1);
        CHECK_INT(b.n, 0);
        buf_release(&b);
    }
}

/* Whatever the bytes, the quoted text parses, and to what repair makes of them. */
TEST(quoting_any_bytes_gives_their_repair)
{
    unsigned s = 7;
    for (int round = 0; round < 5000; round++) {
        char in[24];
        for (size_t i = 0; i < sizeof(in); i++) {
            s = s * 1103515245u + 12345u;
            unsigned r = s >> 8;
            unsigned lead = 0xe0 | (r >> 2 & 15), later = 0x80 | (r >> 2 & 0x3f);
            in[i] = (char)(r & 1 ? r >> 1 : r & 2 ? later : lead);
        }
        struct str bytes = str_n(in, s >> 16 & 15);
        struct buf q = BUF_INIT(1000), r = BUF_INIT(1000);
        CHECK_INT(json_quote(&q, bytes), 0);
        CHECK_INT(utf8_repair(&r, bytes, true), 0);
        struct err e = ERR_INIT;
        struct json *j = json_parse(buf_str(&q), &e);
        if (!j)
            T_FAIL("%s: %s", buf_z(&q), e.text);
        CHECK(str_eq(json_str_value(j, NULL), buf_str(&r)));
        json_free(j);
        buf_release(&q);
        buf_release(&r);
    }
}

/* ---- memory ---- */

/* A list of n short strings, some of which are longer than a slot of json.c. */
static struct json *strings(unsigned n)
{
    struct buf b = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    buf_addc(&b, '[');
    for (unsigned i = 0; i < n; i++)
        buf_addf(&b, "%s\"%0*u\"", i ? "," : "", (int)(i % 130), i);
    buf_addc(&b, ']');
    struct json *j = json_parse(buf_str(&b), &e);
    CHECK(j);
    buf_release(&b);
    return j;
}

static void check_strings(const struct json *j, unsigned n)
{
    unsigned i = 0;
    char want[140];
    for (const struct json *v = json_first(j); v; v = json_next(v), i++) {
        snprintf(want, sizeof(want), "%0*u", (int)(i % 130), i);
        CHECK_STR(json_str_value(v, "").p, want);
    }
    CHECK_INT(i, n);
}

TEST(trees_that_live_at_once_share_no_memory)
{
    struct json *trees[50] = {0};
    for (unsigned round = 0; round < 500; round++) {
        unsigned at = round * 7 % 50, n = round % 3 ? round % 13 : 300;
        if (trees[at])
            check_strings(trees[at], (unsigned)json_count(trees[at]));
        json_free(trees[at]);
        trees[at] = strings(n);
        check_strings(trees[at], n);
    }
    for (unsigned i = 0; i < 50; i++) {
        check_strings(trees[i], (unsigned)json_count(trees[i]));
        json_free(trees[i]);
    }
}

T_MAIN
