/* SPDX-License-Identifier: MIT */
/* The file of a fence: what is read, and what is refused with its place. */
#include "fence/rules.h"

#include "t.h"

/* The rules as "do path line;…", or the error. Lives until the next call. */
static const char *rules_of(struct str text)
{
    static char out[4096];
    struct json *rules = json_array();
    struct err e = ERR_INIT;
    size_t n = 0;
    out[0] = 0;
    if (fence_parse(text, "f", "/home/u", rules, &e) < 0)
        snprintf(out, sizeof(out), "%s %s", err_name(e.code), e.text);
    else
        for (struct json *r = json_first(rules); r; r = json_next(r))
            n += (size_t)snprintf(out + n, sizeof(out) - n, "%s %s %d;",
                                  json_str(r, "do", "").p, json_str(r, "path", "").p,
                                  (int)json_int(r, "line", 0));
    json_free(rules);
    return out;
}

TEST(rules_are_read)
{
    static const struct {
        const char *text, *rules;
    } rows[] = {
        {"", ""},
        {"\n\n # only a comment\n\t\n", ""},
        {"write /a", "write /a 1;"},
        {"write /a /b\nhide /c\r\n", "write /a 1;write /b 1;hide /c 2;"},
        {"  read\t/a  # why\n", "read /a 1;"},
        {"write ~ ~/ ~/x", "write /home/u 1;write /home/u 1;write /home/u/x 1;"},
        {"write //a/./b//", "write /a/b 1;"},
        {"hide /", "hide / 1;"},
        {"write \"/a b\" \"~/c # d\"#x", "INVALID f, line 1, column 23: a blank was "
                                         "expected after the \""},
        {"write \"/a b\" \"~/c # d\" #x", "write /a b 1;write /home/u/c # d 1;"},
        {"write /a#b", "write /a#b 1;"},
        {"write /a~ /...", "write /a~ 1;write /... 1;"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_STR(rules_of(str_of(rows[i].text)), rows[i].rules);
}

TEST(errors_name_line_column_and_what_was_expected)
{
    static const struct {
        const char *text, *e;
    } rows[] = {
        {"write", "INVALID f, line 1, column 6: a path that begins with / or ~/ was "
                  "expected"},
        {"\nhide # x", "INVALID f, line 2, column 6: a path that begins with / or ~/ was "
                       "expected"},
        {"allow /a", "INVALID f, line 1, column 1: write, read or hide was expected"},
        {"Write /a", "INVALID f, line 1, column 1: write, read or hide was expected"},
        {"write /a b",
         "INVALID f, line 1, column 10: a path that begins with / or ~/ was "
         "expected"},
        {"write ./a", "INVALID f, line 1, column 7: a path that begins with / or ~/ was "
                      "expected"},
        {"write \"\"", "INVALID f, line 1, column 7: a path that begins with / or ~/ was "
                       "expected"},
        {"write \"/a",
         "INVALID f, line 1, column 7: a \" was expected at the end of this "
         "path"},
        {"write /a/../b", "INVALID f, line 1, column 7: a path without .. was expected"},
        {"write ~/..", "INVALID f, line 1, column 7: a path without .. was expected"},
        {"hide ~root", "INVALID f, line 1, column 6: ~ is the home of the sandbox's user "
                       "alone; write the path of another one from /"},
        {"hide /a\x01", "INVALID f, line 1, column 6: a path without control characters "
                        "was expected"},
        {"hide /\xff", "INVALID f, line 1, column 6: a path in UTF-8 was expected"},
        {"reach x.example",
         "UNSUPPORTED f, line 1, column 1: this version fences files "
         "only: it cannot enforce reach, listen and secret; remove the "
         "line"},
        {"write /a\n  listen 1-2", "UNSUPPORTED f, line 2, column 3: this version fences "
                                   "files only: it cannot enforce reach, listen and "
                                   "secret; remove the line"},
        {"secret", "UNSUPPORTED f, line 1, column 1: this version fences files only: it "
                   "cannot enforce reach, listen and secret; remove the line"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_STR(rules_of(str_of(rows[i].text)), rows[i].e);
    CHECK_STR(rules_of(str_n("hide /a\0b", 9)),
              "INVALID f, line 1, column 6: a path without control characters was "
              "expected");
}

TEST(lengths_are_limited)
{
    struct buf b = BUF_INIT(1 << 20);
    buf_addz(&b, "write /");
    for (int i = 0; i < 1022; i++)
        buf_addc(&b, 'x');
    CHECK(strncmp(rules_of(buf_str(&b)), "write /xxx", 10) == 0);
    buf_addc(&b, 'x');
    CHECK_STR(rules_of(buf_str(&b)),
              "LIMIT f, line 1, column 7: the path is longer than 1023 bytes");
    buf_reset(&b);
    for (int i = 0; i < 1001; i++)
        buf_addz(&b, "hide /x\n");
    CHECK_STR(rules_of(buf_str(&b)),
              "LIMIT f, line 1001, column 6: there are more than 1000 paths");
    buf_reset(&b);
    for (int i = 0; i <= FENCE_FILE_MAX; i++)
        buf_addc(&b, '\n');
    CHECK_STR(rules_of(buf_str(&b)), "LIMIT f is longer than 65536 bytes");
    buf_release(&b);
}

TEST(options_give_single_paths)
{
    struct json *rules = json_array();
    struct err e = ERR_INIT;
    CHECK(fence_add(STR("/a b/"), "write", "--fence-write", "", rules, &e) == 0);
    CHECK_STR(json_str(json_first(rules), "path", "").p, "/a b");
    CHECK_STR(json_str(json_first(rules), "option", "").p, "--fence-write");
    CHECK(fence_add(STR("a"), "write", "--fence-write", "", rules, &e) < 0);
    CHECK_STR(e.text, "--fence-write: a path that begins with / or ~/ was expected");
    CHECK(fence_add(STR("~/a"), "hide", "OD_FENCE_HIDE", "", rules, &e) < 0);
    CHECK_STR(e.text, "OD_FENCE_HIDE: the home of the sandbox's user is not known here; "
                      "write the path from /");
    CHECK_INT(json_count(rules), 1);
    json_free(rules);
}

T_MAIN
