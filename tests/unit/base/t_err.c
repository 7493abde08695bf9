/* SPDX-License-Identifier: MIT */
/* Errors: the sentence fits, keeps its reason, and codes survive a round trip. */
#include "base/err.h"
#include "base/utf8.h"

#include "t.h"

TEST(setting_returns_minus_one_and_fills)
{
    struct err e = ERR_INIT;
    CHECK_INT(err_set(&e, ERR_BUSY, "session %s is busy", "main"), -1);
    CHECK_INT(e.code, ERR_BUSY);
    CHECK_STR(e.text, "session main is busy");
    CHECK_INT(err_set(NULL, ERR_BUSY, "%s", "nobody"), -1);
    CHECK_INT(err_sys(NULL, ENOENT, "%s", "nobody"), -1);
}

TEST(a_system_error_ends_in_its_reason)
{
    struct err e = ERR_INIT;
    CHECK_INT(err_sys(&e, ENOSPC, "cannot write %s", "a.txt"), -1);
    CHECK_STR(e.text, "cannot write a.txt: No space left on device");
    CHECK_INT(e.code, ERR_LIMIT);
    err_sys(&e, 99999, "odd");
    CHECK(strncmp(e.text, "odd: ", 5) == 0 && e.text[5]);
    CHECK_INT(e.code, ERR_IO);
}

/* Every length around the edge, with a character of three bytes across it. */
TEST(a_long_sentence_is_cut_between_characters)
{
    char name[600];
    static const char end[] = ": No space left on device";
    for (size_t pad = 0; pad < 3; pad++) {
        for (size_t n = 450; n < sizeof(name); n++) {
            struct err e = ERR_INIT;
            size_t at = pad;
            memset(name, 'a', pad);
            for (; at + 3 < n; at += 3)
                memcpy(name + at, "\xe2\x82\xac", 3);
            name[at] = '\0';

            err_sys(&e, ENOSPC, "%s", name);
            size_t len = strlen(e.text);
            CHECK(len < sizeof(e.text));
            CHECK_STR(e.text + len - (sizeof(end) - 1), end);
            CHECK(utf8_valid(str_of(e.text)));
            bool whole = at + sizeof(end) <= sizeof(e.text);
            CHECK_INT(strncmp(e.text, name, at) == 0, whole);
            CHECK_INT(strstr(e.text, "...: No space") != NULL, !whole);

            err_set(&e, ERR_INVALID, "%s", name);
            CHECK(utf8_valid(str_of(e.text)));
            CHECK_INT(strcmp(e.text, name) == 0, at < sizeof(e.text));
            CHECK_INT(strstr(e.text, "...") != NULL, at >= sizeof(e.text));
            CHECK(strlen(e.text) > 500 || at < sizeof(e.text));
        }
    }
}

TEST(names_go_there_and_back)
{
    for (int i = 0; i < ERR_COUNT; i++)
        CHECK_INT(err_from_name(err_name((enum err_code)i)), i);
    CHECK_STR(err_name(ERR_UNSUPPORTED), "UNSUPPORTED");
    CHECK_INT(err_from_name("no such name"), ERR_INTERNAL);
    CHECK_INT(err_from_name(""), ERR_INTERNAL);
    CHECK_STR(err_name((enum err_code)99), "INTERNAL");
    CHECK_STR(err_name((enum err_code) - 1), "INTERNAL");
}

TEST(each_code_has_its_words_in_every_protocol)
{
    for (int i = ERR_NONE + 1; i < ERR_COUNT; i++) {
        const struct err_words *w = err_words((enum err_code)i);
        CHECK_STR(w->name, err_name((enum err_code)i));
        CHECK(w->http >= 400 && w->http < 600);
        CHECK(w->jsonrpc <= -32000 && w->jsonrpc >= -32603);
        CHECK(w->exit > 0 && w->exit < 126);
        CHECK(w->connect[0] && w->sentence[0]);
        for (int j = ERR_NONE + 1; j < i; j++)
            CHECK(err_words((enum err_code)j)->jsonrpc != w->jsonrpc);
    }
    CHECK_INT(err_words(ERR_INVALID)->jsonrpc, -32602);
    CHECK_INT(err_words(ERR_LIMIT)->http, 507);
    CHECK_INT(err_words(ERR_TIMEOUT)->exit, 124);
    CHECK_STR(err_words(ERR_CANCELLED)->connect, "canceled");
    CHECK_INT(err_words(ERR_NONE)->http, 500);
    CHECK_INT(err_words((enum err_code)99)->http, 500);
}

TEST(what_users_meet_has_a_code_of_its_own)
{
    CHECK_INT(err_from_errno(ENOENT), ERR_NOTFOUND);
    CHECK_INT(err_from_errno(ENOTDIR), ERR_INVALID);
    CHECK_INT(err_from_errno(EACCES), ERR_DENIED);
    CHECK_INT(err_from_errno(EAGAIN), ERR_LIMIT); /* fork refused */
    CHECK_INT(err_from_errno(EMFILE), ERR_LIMIT);
    CHECK_INT(err_from_errno(ENOSYS), ERR_UNSUPPORTED);
    CHECK_INT(err_from_errno(EPIPE), ERR_GONE);
    CHECK_INT(err_from_errno(EEXIST), ERR_EXISTS);
    CHECK_INT(err_from_errno(EIO), ERR_IO);
}

T_MAIN
