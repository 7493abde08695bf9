/* SPDX-License-Identifier: MIT */
/* tool_cut: what of a long text is shown. */
#include "front/mcp/tools/tool.h"

#include "base/utf8.h"

#include "t.h"

static struct buf out;
static uint64_t from, to;
static bool bent;

static const char *cut(struct str text, size_t head, size_t max)
{
    buf_release(&out);
    buf_init(&out, 1 << 20);
    bent = false;
    tool_cut(&out, text, head, max, &from, &to, &bent);
    return buf_z(&out);
}

TEST(fits)
{
    CHECK_STR(cut(STR(""), 10, 100), "");
    CHECK_STR(cut(STR("a\nb"), 10, 100), "a\nb");
    CHECK_STR(cut(STR("a\nb\n"), 0, 100), "a\nb\n");
    CHECK_INT(from, 0);
    CHECK_INT(to, 0);
    CHECK(!bent);
}

TEST(middle)
{
    struct buf text = BUF_INIT(1 << 20);
    for (int i = 1; i <= 1000; i++)
        buf_addf(&text, "line %d\n", i);
    const char *shown = cut(buf_str(&text), 30, 100);
    CHECK(strncmp(shown, "line 1\nline 2\nline 3\nline 4\n[... lines 5-", 41) == 0);
    CHECK_INT(from, 5);
    CHECK_STR(strrchr(shown, '['),
              "[... lines 5-993 of 1000 left out ...]\nline 994\nline 995\nline 996\n"
              "line 997\nline 998\nline 999\nline 1000\n");
    CHECK_INT(to, 993);
    buf_release(&text);
}

TEST(only_the_beginning)
{
    CHECK_STR(cut(STR("one\ntwo\nthree\nfour"), 0, 10), "one\ntwo\n");
    CHECK_INT(from, 3);
    CHECK_INT(to, 4);
}

TEST(an_unfinished_last_line)
{
    CHECK_STR(cut(STR("1\n2\n3\n4\n5"), 2, 6),
              "1\n[... lines 2-3 of 5 left out ...]\n4\n5");
    CHECK_INT(to, 3);
}

TEST(long_lines)
{
    struct buf text = BUF_INIT(1 << 20);
    for (int i = 0; i < 3000; i++)
        buf_addz(&text, "\xc3\xa9");
    buf_addz(&text, "\nnext\n");
    const char *shown = cut(buf_str(&text), 4000, 16000);
    CHECK(strstr(shown, "\xc3\xa9\xe2\x80\xa6 [+4000 bytes]\nnext\n") != NULL);
    CHECK_INT(from, 0);
    CHECK(!bent);
    buf_release(&text);
}

TEST(bytes_that_are_no_text)
{
    CHECK_STR(cut(STR("a\xff\nb\n"), 10, 100), "a\xef\xbf\xbd\nb\n");
    CHECK(bent);
    cut(str_n("a\0b\n", 4), 10, 100);
    CHECK(bent && utf8_valid(buf_str(&out)) && !memchr(out.p, 0, out.n));
}

T_MAIN
