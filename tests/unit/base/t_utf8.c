/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 against the definition: every character, every two-byte beginning, the
 * Unicode Standard's own examples of repair, and pieces against the whole.
 */
#include "base/utf8.h"

#include "t.h"

#define FFFD "\xef\xbf\xbd"

TEST(every_character_goes_there_and_back)
{
    for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
        if (cp >= 0xd800 && cp <= 0xdfff)
            continue;
        char out[4];
        uint32_t got = 0;
        int n = utf8_encode(cp, out);
        CHECK_INT(n, cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4);
        CHECK_INT(utf8_decode(str_n(out, (size_t)n), &got), n);
        CHECK_INT(got, cp);
        for (int part = 0; part < n; part++)
            CHECK_INT(utf8_decode(str_n(out, (size_t)part), &got), 0);
    }
}

/* Decoding by the book: length from the first byte, then value, then range. */
static int by_the_book(const unsigned char *p, uint32_t *cp)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = p[0] < 0x80           ? 1
            : (p[0] & 0xe0) == 0xc0 ? 2
            : (p[0] & 0xf0) == 0xe0 ? 3
            : (p[0] & 0xf8) == 0xf0 ? 4
                                    : 0;
    if (n == 0)
        return -1;
    uint32_t v = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return -1;
        v = v << 6 | (p[i] & 0x3f);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
        return -1;
    *cp = v;
    return n;
}

TEST(decoding_agrees_with_the_definition)
{
    static const unsigned char edge[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90,
                                         0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    enum { EDGES = sizeof(edge) };
    for (unsigned i = 0; i < 65536u * EDGES * EDGES; i++) {
        unsigned char s[4] = {(unsigned char)(i & 255), (unsigned char)(i >> 8 & 255),
                              edge[(i >> 16) % EDGES], edge[(i >> 16) / EDGES]};
        uint32_t a = 0, b = 0;
        int n = by_the_book(s, &a), m = utf8_decode(str_n(s, 4), &b);
        if (n != m || a != b)
            T_FAIL("%02x %02x %02x %02x: %d U+%04X, not %d U+%04X", s[0], s[1], s[2],
                   s[3], m, b, n, a);
    }
}

TEST(what_is_unfinished_and_what_is_hopeless)
{
    uint32_t cp;
    CHECK_INT(utf8_decode(STR(""), &cp), 0);
    CHECK_INT(utf8_decode(STR("\xe2\x82"), &cp), 0);
    CHECK_INT(utf8_decode(STR("\xf0\x9f\x98"), &cp), 0);
    CHECK_INT(utf8_decode(STR("\xe0\x80"), &cp), -1); /* can never be finished */
    CHECK_INT(utf8_decode(STR("\xed\xa0"), &cp), -1);
    CHECK_INT(utf8_decode(STR("\xf4\x90"), &cp), -1);
    CHECK_INT(utf8_decode(STR("\xc0"), &cp), -1);
    CHECK_INT(utf8_decode(STR("\x80"), &cp), -1);
    CHECK_INT(utf8_bad(STR("\xf0\x9f\x98")), 3);
    CHECK_INT(utf8_bad(STR("\xe2\x82" "A")), 2);
    CHECK_INT(utf8_bad(STR("\xe0\x80\x80")), 1);
}

TEST(validity)
{
    CHECK(utf8_valid(STR("")));
    CHECK(utf8_valid(STR("plain text that is longer than one word\0 and holds a zero")));
    CHECK(utf8_valid(STR("\xf0\x9f\x98\x80 \xe2\x82\xac \xc3\xa9")));
    CHECK(!utf8_valid(STR("plain text that is longer than one word \xff")));
    CHECK(!utf8_valid(STR("\xe2\x82")));
    /* A bad byte is seen at every place of a word. */
    for (size_t at = 0; at < 40; at++) {
        char s[40];
        memset(s, 'a', sizeof(s));
        s[at] = (char)0x80;
        CHECK(!utf8_valid(str_n(s, sizeof(s))));
    }
}

/* Core Specification, section 3.9, tables 3-8 to 3-11, and our two rules on NUL. */
TEST(repair_puts_one_mark_for_each_maximal_part)
{
    static const struct {
        struct str in;
        const char *out;
    } cases[] = {
        {{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 9},
         FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"},
        {{"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", 9},
         FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"},
        {{"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 9},
         FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B"},
        {{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9}, FFFD FFFD FFFD FFFD "A"},
        {{"caf\xc3\xa9 \xe2\x82", 8}, "caf\xc3\xa9 " FFFD},
        {{"", 0}, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct buf b = BUF_INIT(1000);
        CHECK_INT(utf8_repair(&b, cases[i].in, false), 0);
        CHECK_STR(buf_z(&b), cases[i].out);
        buf_release(&b);
    }
    struct buf b = BUF_INIT(1000);
    CHECK_INT(utf8_repair(&b, STR("12345678\0" "9\0"), false), 0);
    CHECK_MEM(b.p, b.n, "12345678\0" "9\0");
    buf_reset(&b);
    CHECK_INT(utf8_repair(&b, STR("12345678\0" "9\0"), true), 0);
    CHECK_MEM(b.p, b.n, "12345678" FFFD "9" FFFD);
    buf_release(&b);
}

TEST(a_zero_is_seen_at_every_place_of_a_word)
{
    for (size_t at = 0; at < 24; at++) {
        struct buf b = BUF_INIT(100);
        char s[24];
        memset(s, 'a', sizeof(s));
        s[at] = '\0';
        CHECK_INT(utf8_repair(&b, str_n(s, sizeof(s)), true), 0);
        CHECK_INT(b.n, 26);
        CHECK(memcmp(b.p + at, FFFD, 3) == 0);
        buf_release(&b);
    }
}

TEST(repair_into_a_full_buffer_adds_nothing)
{
    struct buf b = BUF_INIT(8);
    buf_addz(&b, "kept");
    CHECK_INT(utf8_repair(&b, STR("ab\xff"), false), -1);
    CHECK(buf_full(&b));
    buf_resume(&b);
    CHECK_INT(utf8_repair(&b, STR("abcde"), false), -1);
    CHECK(buf_full(&b));
    buf_resume(&b);
    CHECK_STR(buf_z(&b), "kept");
    CHECK_INT(utf8_repair(&b, STR("a\xff"), false), 0);
    CHECK_STR(buf_z(&b), "kepta" FFFD);
    buf_release(&b);
}

static unsigned rnd(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

/* Bytes that come near the rules more often than chance. */
static size_t awkward(unsigned *s, char *p, size_t size)
{
    static const unsigned char lead[] = {0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef,
                                         0xf0, 0xf1, 0xf4, 0xf5, 0xc0, 0xff};
    size_t n = rnd(s, (unsigned)size);
    for (size_t i = 0; i < n; i++) {
        unsigned kind = rnd(s, 8);
        p[i] = (char)(kind < 2   ? lead[rnd(s, sizeof(lead))]
                      : kind < 6 ? 0x80 + rnd(s, 64)
                                 : rnd(s, 128));
    }
    return n;
}

TEST(pieces_held_back_by_cut_repair_to_the_same_text)
{
    unsigned s = 1;
    for (int round = 0; round < 20000; round++) {
        char in[40], held[64];
        size_t n = awkward(&s, in, sizeof(in)), have = 0;
        struct buf whole = BUF_INIT(1000), parts = BUF_INIT(1000);
        utf8_repair(&whole, str_n(in, n), false);
        CHECK(utf8_valid(buf_str(&whole)));
        for (size_t at = 0; at < n;) {
            size_t k = 1 + rnd(&s, 5);
            k = k > n - at ? n - at : k;
            memcpy(held + have, in + at, k);
            have += k;
            at += k;
            size_t cut = utf8_cut(str_n(held, have), have);
            CHECK(have - cut <= 3);
            utf8_repair(&parts, str_n(held, cut), false);
            memmove(held, held + cut, have - cut);
            have -= cut;
        }
        utf8_repair(&parts, str_n(held, have), false);
        CHECK(str_eq(buf_str(&whole), buf_str(&parts)));
        buf_release(&whole);
        buf_release(&parts);
    }
}

TEST(a_cut_never_splits_and_never_goes_further_back_than_it_must)
{
    struct str s = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11};
    for (size_t n = 0; n < sizeof(want) / sizeof(*want); n++)
        CHECK_INT(utf8_cut(s, n), want[n]);
    CHECK_INT(utf8_cut(s, SIZE_MAX), 11);
    CHECK_INT(utf8_cut(STR(""), 5), 0);
    CHECK_INT(utf8_cut(STR("\xe2\x82"), 2), 0);
    /* Nothing to split in what is no text. */
    CHECK_INT(utf8_cut(STR("\x80\x80\x80\x80\x80"), 4), 4);
    CHECK_INT(utf8_cut(STR("\xe2\x82zz"), 2), 2);
    CHECK_INT(utf8_cut(STR("\xc0\x80"), 1), 1);
    CHECK_INT(utf8_cut(STR("\xf0\x80\x80\x80"), 2), 2);
}

TEST(widths)
{
    static const struct {
        uint32_t cp;
        int width;
    } cases[] = {
        {'a', 1}, {0xe9, 1}, {0x2500, 1}, {0x410, 1}, {0xad, 1}, {0xfffd, 1},
        {0x301, 0}, {0x200b, 0}, {0x200d, 0}, {0xfe0f, 0}, {0x20dd, 0}, {0x5b0, 0},
        {0x94d, 0}, {0x1161, 0}, {0xe0100, 0}, {0x1d167, 0},
        {0x1100, 2}, {0x3042, 2}, {0x4e00, 2}, {0x9fff, 2}, {0xac00, 2}, {0xd7a3, 2},
        {0xff21, 2}, {0xff71, 1}, {0x3000, 2}, {0x303f, 1}, {0x20000, 2}, {0x3fffd, 2},
        {0x1f600, 2}, {0x1f680, 2}, {0x2705, 2}, {0x231a, 2}, {0x1f1e6, 1}, {0x2713, 1},
        {0x1f9d1, 2}, {0x10ffff, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (utf8_width(cases[i].cp) != cases[i].width)
            T_FAIL("U+%04X is %d wide, not %d", cases[i].cp, utf8_width(cases[i].cp),
                   cases[i].width);
}

T_MAIN
