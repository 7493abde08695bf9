/* SPDX-License-Identifier: MIT */
/* Slices: searching and cutting stay inside, numbers are whole or refused. */
#include "base/str.h"

#include "t.h"

TEST(equality_is_by_bytes_and_length)
{
    CHECK(str_eq(STR("ab"), str_of("ab")));
    CHECK(!str_eq(STR("ab"), STR("abc")));
    CHECK(!str_eq(STR("ab"), STR("aB")));
    CHECK(str_eq(STR("a\0b"), str_n("a\0b", 3)));
    CHECK(!str_eq(STR("a\0b"), STR("a\0c")));
    CHECK(str_eq(str_n(NULL, 0), STR("")));
    CHECK_INT(str_of(NULL).n, 0);
}

TEST(beginnings_and_ends)
{
    CHECK(str_starts(STR("hello"), STR("he")));
    CHECK(str_starts(STR("hello"), STR("")));
    CHECK(!str_starts(STR("he"), STR("hello")));
    CHECK(!str_starts(STR("hello"), STR("el")));
    CHECK(str_ends(STR("hello"), STR("lo")));
    CHECK(str_ends(STR("hello"), STR("hello")));
    CHECK(str_ends(str_n(NULL, 0), STR("")));
    CHECK(!str_ends(STR("lo"), STR("hello")));
    CHECK(!str_ends(STR("hello"), STR("ll")));
}

TEST(a_part_is_clamped)
{
    struct str s = STR("abcdef");
    CHECK(str_eq(str_sub(s, 2, 3), STR("cde")));
    CHECK(str_eq(str_sub(s, 4, SIZE_MAX), STR("ef")));
    CHECK_INT(str_sub(s, 6, 1).n, 0);
    CHECK(str_sub(s, SIZE_MAX, SIZE_MAX).p == s.p + 6);
    CHECK_INT(str_sub(str_n(NULL, 0), 5, 5).n, 0);
}

TEST(finding)
{
    CHECK_INT(str_find(STR("hello"), STR("l")), 2);
    CHECK_INT(str_find(STR("hello"), STR("lo")), 3);
    CHECK_INT(str_find(STR("hello"), STR("hello")), 0);
    CHECK_INT(str_find(STR("hello"), STR("hellos")), -1);
    CHECK_INT(str_find(STR("hello"), STR("")), 0);
    CHECK_INT(str_find(str_n(NULL, 0), STR("")), 0);
    CHECK_INT(str_find(str_n(NULL, 0), STR("x")), -1);
    CHECK_INT(str_find(STR("aaab"), STR("aab")), 1);
    CHECK_INT(str_find(STR("a\0b\0c"), STR("\0c")), 3);
    CHECK_INT(str_find(str_n("abcd", 3), STR("cd")), -1);
    CHECK_INT(str_chr(STR("a\0b"), '\0'), 1);
    CHECK_INT(str_chr(STR("ab"), '\0'), -1);
    CHECK_INT(str_chr(str_n(NULL, 0), 'a'), -1);
}

TEST(count)
{
    char bytes[64];
    CHECK_INT(str_count(STR(""), 'a'), 0);
    CHECK_INT(str_count(str_n(NULL, 0), 'a'), 0);
    CHECK_INT(str_count(STR("\0\1\0\1\0\1\0\1\0"), 0), 5);
    CHECK_INT(str_count(STR("\n\x0b\n\x8a\n\x09\xff\n"), '\n'), 4);
    /* At every place, among the bytes that are next to it and far from it. */
    for (int other = 0; other < 256; other++) {
        for (size_t at = 0; other != '\n' && at < sizeof(bytes); at++) {
            memset(bytes, other, sizeof(bytes));
            bytes[at] = bytes[sizeof(bytes) - 1] = '\n';
            size_t n = at == sizeof(bytes) - 1 ? 1 : 2;
            CHECK_INT(str_count(str_n(bytes, sizeof(bytes)), '\n'), n);
            CHECK_INT(str_count(str_n(bytes + 1, at), '\n'), at > 0);
        }
    }
    memset(bytes, 0xff, sizeof(bytes));
    CHECK_INT(str_count(str_n(bytes, sizeof(bytes)), '\xff'), sizeof(bytes));
}

TEST(trimming)
{
    CHECK(str_eq(str_trim(STR(" \t a b\r\n")), STR("a b")));
    CHECK(str_eq(str_trim(STR("a")), STR("a")));
    CHECK_INT(str_trim(STR(" \n\t ")).n, 0);
    CHECK_INT(str_trim(str_n(NULL, 0)).n, 0);
    CHECK(str_eq(str_trim(STR("\va\f")), STR("\va\f")));
}

TEST(cutting_at_a_separator)
{
    struct str rest = STR("a,,b");
    CHECK(str_eq(str_cut(&rest, ','), STR("a")));
    CHECK(str_eq(str_cut(&rest, ','), STR("")));
    CHECK(str_eq(str_cut(&rest, ','), STR("b")));
    CHECK_INT(rest.n, 0);
    CHECK_INT(str_cut(&rest, ',').n, 0);
    rest = STR("last,");
    CHECK(str_eq(str_cut(&rest, ','), STR("last")));
    CHECK_INT(rest.n, 0);
}

TEST(unsigned_numbers_are_whole_slices)
{
    uint64_t v = 7;
    CHECK(str_to_u64(STR("0"), &v) == 0 && v == 0);
    CHECK(str_to_u64(STR("0042"), &v) == 0 && v == 42);
    CHECK(str_to_u64(STR("18446744073709551615"), &v) == 0 && v == UINT64_MAX);
    static const char *const bad[] = {
        "", "18446744073709551616", "99999999999999999999", "184467440737095516150",
        "-1", "+1", " 1", "1 ", "1a", "0x10", "1.0",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        v = 7;
        if (str_to_u64(str_of(bad[i]), &v) != -1 || v != 7)
            T_FAIL("\"%s\" was taken, or *out changed", bad[i]);
    }
    CHECK(str_to_u64(str_n("123", 2), &v) == 0 && v == 12);
}

TEST(signed_numbers_reach_both_ends)
{
    int64_t v = 7;
    CHECK(str_to_i64(STR("-0"), &v) == 0 && v == 0);
    CHECK(str_to_i64(STR("+5"), &v) == 0 && v == 5);
    CHECK(str_to_i64(STR("9223372036854775807"), &v) == 0 && v == INT64_MAX);
    CHECK(str_to_i64(STR("-9223372036854775808"), &v) == 0 && v == INT64_MIN);
    static const char *const bad[] = {
        "", "-", "+", "--1", "+-1", "- 1", "9223372036854775808", "-9223372036854775809",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        v = 7;
        if (str_to_i64(str_of(bad[i]), &v) != -1 || v != 7)
            T_FAIL("\"%s\" was taken, or *out changed", bad[i]);
    }
}

TEST(durations)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        {"5", 5000}, {"0", 0}, {"0.25", 250}, {"250ms", 250}, {"8h", 8 * 3600000},
        {"1.5m", 90000}, {"2s", 2000}, {".5", 500}, {"1.0005s", 1001},
        /* never rounded down to "no limit" */
        {"0.0001", 1}, {"0.5ms", 1}, {"0.00000000000001", 1},
        {"0.999999999", 1000}, {"0.1h", 360000}, {"315360000", 315360000000},
        {"87600h", 315360000000},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        int64_t ms = -1;
        if (str_to_ms(str_of(good[i].text), &ms) != 0 || ms != good[i].ms)
            T_FAIL("%s gave %lld", good[i].text, (long long)ms);
    }
    static const char *const bad[] = {
        "", "s", "ms", ".", "1.", ".s", "-1", "+1", "1 s", " 1", "1.2.3", "1d",
        "1sm", "1e3", "315360000.001", "87601h", "99999999999999999999999", "0.5x",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        int64_t ms = 7;
        if (str_to_ms(str_of(bad[i]), &ms) != -1 || ms != 7)
            T_FAIL("\"%s\" was taken, or *out changed", bad[i]);
    }
}

T_MAIN
