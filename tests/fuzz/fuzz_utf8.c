/* SPDX-License-Identifier: MIT */
/*
 * Bytes that become text: the repair is valid, leaves valid text alone, agrees
 * with decoding one character after the other, and is the same when the bytes
 * come one by one and utf8_cut holds back what is unfinished.
 */
#include "base/log.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void by_character(struct buf *out, struct str s)
{
    while (s.n > 0) {
        uint32_t cp = 0xfffd;
        int got = utf8_decode(s, &cp);
        size_t used = got > 0 ? (size_t)got : utf8_bad(s);
        char enc[4];
        BUG_ON(used == 0 || used > s.n || used > 4);
        BUG_ON(got <= 0 && cp != 0xfffd);
        int width = utf8_width(cp);
        BUG_ON(width < 0 || width > 2);
        BUG_ON(buf_add(out, enc, (size_t)utf8_encode(cp, enc)) < 0);
        s = str_sub(s, used, s.n);
    }
}

static void by_byte(struct buf *out, struct str s)
{
    char held[8];
    size_t have = 0;
    for (size_t i = 0; i < s.n; i++) {
        BUG_ON(have > 3);
        held[have++] = s.p[i];
        size_t cut = utf8_cut(str_n(held, have), have);
        BUG_ON(utf8_repair(out, str_n(held, cut), false) < 0);
        memmove(held, held + cut, have - cut);
        have -= cut;
    }
    BUG_ON(utf8_repair(out, str_n(held, have), false) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = str_n(data, n);
    struct buf whole = BUF_INIT(SIZE_MAX), other = BUF_INIT(SIZE_MAX);
    BUG_ON(utf8_repair(&whole, s, false) < 0 || !utf8_valid(buf_str(&whole)));
    BUG_ON(utf8_valid(s) != str_eq(buf_str(&whole), s));

    by_character(&other, s);
    BUG_ON(!str_eq(buf_str(&whole), buf_str(&other)));
    buf_reset(&other);
    by_byte(&other, s);
    BUG_ON(!str_eq(buf_str(&whole), buf_str(&other)));

    /* A cut of valid text leaves two valid texts. */
    struct str text = buf_str(&whole);
    size_t cut = utf8_cut(text, n / 2);
    BUG_ON(cut > n / 2 || !utf8_valid(str_sub(text, 0, cut)) ||
           !utf8_valid(str_sub(text, cut, text.n)));

    buf_reset(&other);
    BUG_ON(utf8_repair(&other, s, true) < 0 || str_chr(buf_str(&other), '\0') >= 0);
    buf_release(&whole);
    buf_release(&other);
    return 0;
}
