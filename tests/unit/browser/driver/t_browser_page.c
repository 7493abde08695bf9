/* SPDX-License-Identifier: MIT */
/* Long texts in pages: where they are cut, what is said, and nothing is lost. */
#include "browser/driver/page.h"

#include "t.h"

static struct buf b = BUF_INIT(1 << 16);

static const char *cut(const char *text, size_t size, int page, int pages)
{
    buf_reset(&b);
    buf_addz(&b, text);
    CHECK_INT(browser_page_cut(&b, size, page), pages);
    return buf_z(&b);
}

TEST(one_page)
{
    CHECK_STR(cut("a\nb\n", 0, 1, 1), "a\nb\n");
    CHECK_STR(cut("a\nb\n", 4, 1, 1), "a\nb\n");
    CHECK_STR(cut("a\nb\n", 100, 0, 1), "a\nb\n");
    CHECK_STR(cut("", 100, 1, 1), "");
    CHECK_STR(cut("", 0, 2, 1), "[there is no page 2, the last one is page 1]");
}

TEST(pages_of_lines)
{
    static const char text[] = "one\ntwo\nthree\nfour\n";
    CHECK_STR(cut(text, 9, 1, 3),
              "one\ntwo\n[page 1 of 3, 19 bytes in all; it goes on with page 2]");
    CHECK_STR(cut(text, 9, 2, 3),
              "three\n[page 2 of 3, 19 bytes in all; it goes on with page 3]");
    CHECK_STR(cut(text, 9, 3, 3), "four\n[page 3, the last one; 19 bytes in all]");
    CHECK_STR(cut(text, 9, 4, 3), "[there is no page 4, the last one is page 3]");
}

TEST(long_lines_and_characters)
{
    CHECK_STR(cut("abcdefgh", 3, 1, 3),
              "abc\n[page 1 of 3, 8 bytes in all; it goes on with page 2]");
    CHECK_STR(cut("a\xc3\xa9\xc3\xa9\xc3\xa9", 4, 1, 2),
              "a\xc3\xa9\n[page 1 of 2, 7 bytes in all; it goes on with page 2]");
    CHECK_STR(cut("a\xc3\xa9\xc3\xa9\xc3\xa9", 4, 2, 2),
              "\xc3\xa9\xc3\xa9\n[page 2, the last one; 7 bytes in all]");
    /* A newline in the first half of a page does not end it. */
    CHECK_STR(cut("a\nbcdefghij", 8, 1, 2),
              "a\nbcdefg\n[page 1 of 2, 11 bytes in all; it goes on with page 2]");
}

TEST(nothing_is_lost)
{
    char text[600];
    for (size_t size = 1; size < 40; size++) {
        struct buf whole = BUF_INIT(1 << 16);
        unsigned x = (unsigned)size;
        for (size_t i = 0; i + 1 < sizeof(text); i++, x = x * 1103515245 + 12345)
            text[i] = (x >> 16) % 7 == 0 ? '\n' : (char)('a' + (x >> 16) % 26);
        text[sizeof(text) - 1] = '\0';
        buf_addz(&b, text);
        buf_reset(&b);
        buf_addz(&b, text);
        int pages = browser_page_cut(&b, size, 1);
        CHECK(pages >= (int)((sizeof(text) - 1) / size));
        for (int p = 1; p <= pages; p++) {
            struct str s = str_of(cut(text, size, p, pages));
            long mark = str_find(s, STR("[page "));
            CHECK(mark >= 0 && (size_t)mark <= size + 1);
            for (long i = 0; i < mark; i++)
                if (s.p[i] != '\n')
                    buf_addc(&whole, s.p[i]);
        }
        size_t at = 0;
        for (size_t i = 0; text[i]; i++) {
            if (text[i] != '\n')
                CHECK(at < whole.n && whole.p[at++] == text[i]);
        }
        CHECK_INT(at, whole.n);
        buf_release(&whole);
    }
}

TEST(page_of_a_byte)
{
    struct str text = STR("one\ntwo\nthree\nfour\n"), part;
    CHECK_INT(browser_page_of(text, 9, 2, &part), 3);
    CHECK(str_eq(part, STR("three\n")));
    CHECK_INT(browser_page_of(text, 9, 4, &part), 3);
    CHECK_INT(part.n, 0);
    CHECK_INT(browser_page_at(text, 9, 0), 1);
    CHECK_INT(browser_page_at(text, 9, 7), 1);
    CHECK_INT(browser_page_at(text, 9, 8), 2);
    CHECK_INT(browser_page_at(text, 9, 18), 3);
    CHECK_INT(browser_page_at(text, 0, 18), 1);
}

T_MAIN
