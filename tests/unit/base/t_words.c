/* SPDX-License-Identifier: MIT */
/* Words of a command line, as a shell splits them. */
#include "base/words.h"

#include "t.h"

/* The words, each in <>; of an error, its text. */
static const char *split(const char *text)
{
    static struct buf out = BUF_INIT(4096);
    struct err e = ERR_INIT;
    int n;
    char **words = words_split(str_of(text), &n, &e);
    buf_reset(&out);
    if (!words)
        buf_addz(&out, e.text);
    if (!words)
        return buf_z(&out);
    for (int i = 0; i < n; i++)
        buf_addf(&out, "<%s>", words[i]);
    CHECK(words[n] == NULL);
    words_free(words);
    return buf_z(&out);
}

TEST(words)
{
    CHECK_STR(split(""), "");
    CHECK_STR(split(" \t\n "), "");
    CHECK_STR(split("-t 60"), "<-t><60>");
    CHECK_STR(split("  a\n b\t"), "<a><b>");
}

TEST(quotes_and_backslashes)
{
    CHECK_STR(split("--env 'A=a b' --cwd \"/x y\""), "<--env><A=a b><--cwd></x y>");
    CHECK_STR(split("''"), "<>");
    CHECK_STR(split("a'b'\"c\"d"), "<abcd>");
    CHECK_STR(split("a\\ b 'c\\d' \"\\\"\\e\\\\\""), "<a b><c\\d><\"\\e\\>");
    CHECK_STR(split("a\\\nb \"c\\\nd\""), "<ab><cd>");
}

TEST(nothing_is_expanded)
{
    CHECK_STR(split("$HOME * `id` $(id) \"$HOME\" ~ #x"),
              "<$HOME><*><`id`><$(id)><$HOME><~><#x>");
}

TEST(unfinished)
{
    CHECK_STR(split("a 'b"), "a quote (') is not closed");
    CHECK_STR(split("a \"b"), "a quote (\") is not closed");
    CHECK_STR(split("a\\"), "it ends in a backslash");
}

static const char *quoted(const char *text)
{
    static struct buf out = BUF_INIT(64);
    buf_reset(&out);
    CHECK_INT(words_quote(&out, str_of(text)), 0);
    return buf_z(&out);
}

TEST(one_word_in_quotes)
{
    CHECK_STR(quoted(""), "''");
    CHECK_STR(quoted("a b"), "'a b'");
    CHECK_STR(quoted("it's $HOME\n\\"), "'it'\\''s $HOME\n\\'");
    CHECK_STR(split(quoted("''")), "<''>");
    CHECK_STR(split(quoted("'a\" b'\\")), "<'a\" b'\\>");
}

TEST(a_word_without_room)
{
    struct buf out = BUF_INIT(7);
    CHECK_INT(words_quote(&out, STR("ab")), 0);
    CHECK_INT(words_quote(&out, STR("ab")), -1);
    CHECK(buf_full(&out));
    buf_release(&out);
}

T_MAIN
