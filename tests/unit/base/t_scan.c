/* SPDX-License-Identifier: MIT */
/*
 * Finding bytes: every place and every length against a search that is plainly right.
 */
#include "base/scan.h"

#include "t.h"

static long slowly(struct str hay, struct str text, size_t from, bool fold)
{
    for (size_t i = from; i + text.n <= hay.n; i++) {
        if (scan_same(str_sub(hay, i, text.n), text, fold))
            return (long)i;
    }
    return -1;
}

static unsigned seed = 1;
static unsigned next(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return seed / 65536 % below;
}

TEST(found_where_it_is)
{
    static const char letters[] = "abAB \n@`[{";
    for (int round = 0; round < 5000; round++) {
        char text[8];
        /* Exactly as long as needed, so that reading beyond is seen. */
        size_t n = next(70), m = 1 + next(5);
        char *hay = malloc(n ? n : 1);
        for (size_t i = 0; i < n; i++)
            hay[i] = letters[next(sizeof(letters) - 1)];
        for (size_t i = 0; i < m; i++)
            text[i] = letters[next(sizeof(letters) - 1)];
        bool fold = next(2);
        struct str h = str_n(hay, n), t = str_n(text, m);
        struct scan s;
        scan_init(&s, t, fold);
        for (size_t from = 0; from <= n; from += 1 + next(9))
            CHECK_INT(scan_find(&s, h, from), slowly(h, t, from, fold));
        free(hay);
    }
}

TEST(letters_only_are_folded)
{
    struct scan s;
    scan_init(&s, STR("[a"), true);
    CHECK_INT(scan_find(&s, STR("xxxxxxxxxxxxxxxxxxxx{A{a[A"), 0), 24);
    CHECK_INT(scan_find(&s, STR("{A"), 0), -1);
    scan_init(&s, STR("\xc3\x84"), true);
    CHECK_INT(scan_find(&s, STR("xxxxxxxxxxxxxxxxxxxxxx\xc3\xa4\xc3\x84"), 0), 24);
}

TEST(counted)
{
    static char many[100000];
    for (size_t i = 0; i < sizeof(many); i++)
        many[i] = i % 3 ? 'x' : '\n';
    for (size_t n = 0; n < 100; n++)
        CHECK_INT(scan_count(str_n(many, n), '\n'), (n + 2) / 3);
    CHECK_INT(scan_count(str_n(many, sizeof(many)), '\n'), 33334);
    CHECK_INT(scan_count(str_n(many, sizeof(many)), 'y'), 0);
    memset(many, '\n', sizeof(many));
    CHECK_INT(scan_count(str_n(many, sizeof(many)), '\n'), 100000);
}

TEST(lines)
{
    struct str s = STR("ab\n\ncd");
    CHECK_INT(line_start_of(s, 0), 0);
    CHECK_INT(line_start_of(s, 2), 0);
    CHECK_INT(line_start_of(s, 3), 3);
    CHECK_INT(line_start_of(s, 5), 4);
    CHECK_INT(line_end_of(s, 0), 2);
    CHECK_INT(line_end_of(s, 2), 2);
    CHECK_INT(line_end_of(s, 3), 3);
    CHECK_INT(line_end_of(s, 4), 6);
    CHECK_INT(line_end_of(s, 6), 6);
}

TEST(high_bytes)
{
    char text[50];
    memset(text, 'a', sizeof(text));
    CHECK(!scan_has_high(str_n(text, sizeof(text))));
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = '\x80';
        CHECK(scan_has_high(str_n(text, sizeof(text))));
        CHECK(!scan_has_high(str_n(text, i)));
        text[i] = 'a';
    }
}

TEST(what_stands_for_itself_in_a_json_string)
{
    for (size_t n = 0; n < 50; n++) {
        /* As long as needed, so that reading beyond is seen. */
        char *p = malloc(n ? n : 1);
        memset(p, 'a', n);
        CHECK_INT(scan_unescaped(str_n(p, n)), n);
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                bool plain = c >= ' ' && c < 128 && c != '"' && c != '\\';
                p[at] = (char)c;
                CHECK_INT(scan_unescaped(str_n(p, n)), plain ? n : at);
            }
            p[at] = 'a';
        }
        free(p);
    }
}

T_MAIN
