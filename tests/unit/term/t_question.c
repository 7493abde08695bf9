/* SPDX-License-Identifier: MIT */
#include "term/question.h"

#include "t.h"

/* Whole, and cut at each place. */
static bool seen(struct str text)
{
    struct question_scan whole = {0};
    bool was = question_seen(&whole, text);
    for (size_t cut = 0; cut <= text.n; cut++) {
        struct question_scan q = {0};
        bool first = question_seen(&q, str_sub(text, 0, cut));
        bool second = question_seen(&q, str_sub(text, cut, text.n));
        CHECK((first || second) == was);
    }
    return was;
}

TEST(questions)
{
    static const struct str asked[] = {
        STR("\033[6n"), STR("\033[?6n"), STR("x\033[c"), STR("\033[>0c"), STR("\033[=c"),
        STR("\033[?25$p"), STR("\033[4$p"), STR("\033[>q"), STR("\033[18t"),
        STR("\033]10;?\a"), STR("\033]11;?\033\\"), STR("\033P+q544e\033\\"),
        STR("\033P$qm\033\\"), STR("\033]0;half\033[6n"), STR("\033[31\033[6n")};
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
        CHECK(seen(asked[i]));
}

TEST(others)
{
    static const struct str not[] = {
        STR(""), STR("plain text\n"), STR("[6n"), STR("\033[31m"), STR("\033[2 q"),
        STR("\033[!p"), STR("\033]0;title\a"), STR("\033[6\030n"), STR("\033(B"),
        STR("\033]10;?\030"), STR("\033[?25h\033[H\033[J")};
    for (size_t i = 0; i < sizeof(not) / sizeof(not[0]); i++)
        CHECK(!seen(not[i]));
}

T_MAIN
