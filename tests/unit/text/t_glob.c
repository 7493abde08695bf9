/* SPDX-License-Identifier: MIT */
/* Shell patterns and .gitignore rules: tables of what fits and what does not. */
#include "text/glob.h"
#include "text/ignore.h"

#include "t.h"

struct row {
    const char *pattern, *path;
    bool fits;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (glob_match(str_of(rows[i].pattern), str_of(rows[i].path)) != rows[i].fits)
            T_FAIL("\"%s\" and \"%s\": not %s", rows[i].pattern, rows[i].path,
                   rows[i].fits ? "matched" : "kept apart");
    }
}
#define ROWS(...) \
    do { \
        static const struct row rows[] = {__VA_ARGS__}; \
        check_rows(rows, sizeof(rows) / sizeof(*rows)); \
    } while (0)

TEST(one_part)
{
    ROWS({"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "ab", false},
         {"*", "", true}, {"*", "abc", true}, {"*", "a/b", false}, {"*.c", "x.c", true},
         {"*.c", ".c", true}, {"*.c", "x.cc", false}, {"a*b*c", "aXbbYc", true},
         {"a*b*c", "aXbbY", false}, {"?", "a", true}, {"?", "", false}, {"?", "/", false},
         {"?", "\xc3\xa9", true}, {"??", "\xc3\xa9", false}, {"?", "\xff", true},
         {"a?c", "abc", true}, {"\\*", "*", true}, {"\\*", "a", false},
         {"\\", "\\", true}, {"a\\", "a\\", true}, {"***", "abc", true},
         {"a**", "abc", true}, {"a**c", "a/c", false});
}

TEST(brackets)
{
    ROWS({"[abc]", "b", true}, {"[abc]", "d", false}, {"[a-c]x", "bx", true},
         {"[!a-c]", "d", true}, {"[!a-c]", "b", false}, {"[^a]", "b", true},
         {"[]]", "]", true}, {"[!]]", "]", false}, {"[!]]", "a", true}, {"[", "[", true},
         {"[a", "[a", true}, {"[]", "[]", true}, {"[a-]", "-", true}, {"[-a]", "-", true},
         {"[\\]]", "]", true}, {"[[:alpha:]]", "q", true}, {"[[:alpha:]]", "1", false},
         {"[[:digit:]x]", "x", true}, {"[![:space:]]", " ", false},
         {"[[:what:]]", "w", false}, {"[!a]", "/", false}, {"[.-0]", "/", false},
         {"[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", true}, {"[a-\xc3\xa9]", "z", true},
         {"[z-a]", "b", false});
}

TEST(any_number_of_parts)
{
    ROWS({"**", "a", true}, {"**", "a/b/c", true}, {"**/a", "a", true},
         {"**/a", "x/y/a", true}, {"**/a", "x/ya", false}, {"a/**", "a/b/c", true},
         {"a/**", "a", false}, {"a/**", "a/", false}, {"a/**/b", "a/b", true},
         {"a/**/b", "a/x/y/b", true}, {"a/**/b", "a/xb", false},
         {"**/x*/**/y", "x1/a/x2/b/y", true}, {"**/*.c", "a/b.c", true},
         {"**/a/*/b", "a/a/x/b", true}, {"**/a/*/b", "a/x/y/b", false},
         {"**/**/a", "a", true}, {"*/b", "a/b", true}, {"*/b", "a/c/b", false},
         {"a*/**/c", "ab/x/c", true}, {"**foo", "foo", true}, {"**foo", "a/foo", false});
}

/* No star is tried against every place of every other one. */
TEST(no_pattern_takes_long)
{
    char pattern[GLOB_PATTERN_MAX], path[4000];
    for (size_t i = 0; i < sizeof(pattern); i += 2)
        memcpy(pattern + i, "a*", 2);
    memset(path, 'a', sizeof(path));
    path[sizeof(path) - 1] = 'b';
    CHECK(!glob_match(str_n(pattern, sizeof(pattern) - 2), str_n(path, 1000)));
    pattern[sizeof(pattern) - 1] = 'c';
    CHECK(!glob_match(str_n(pattern, sizeof(pattern)), str_n(path, sizeof(path))));
    for (size_t i = 0; i + 4 < sizeof(pattern); i += 4)
        memcpy(pattern + i, "**/x", 4);
    for (size_t i = 0; i < sizeof(path); i += 2)
        memcpy(path + i, "x/", 2);
    CHECK(!glob_match(str_n(pattern, 2000), str_n(path, sizeof(path))));
}

static const char *expanded(const char *pattern)
{
    static struct buf b = BUF_INIT(GLOB_ALTERNATIVES_MAX * GLOB_PATTERN_MAX);
    static struct err e;
    buf_reset(&b);
    if (glob_expand(str_of(pattern), &b, &e) < 0)
        return e.text;
    for (size_t i = 0; i < b.n; i++)
        b.p[i] = b.p[i] ? b.p[i] : '|';
    return buf_z(&b);
}

TEST(alternatives)
{
    CHECK_STR(expanded("a"), "a|");
    CHECK_STR(expanded(""), "|");
    CHECK_STR(expanded("*.{c,h}"), "*.c|*.h|");
    CHECK_STR(expanded("{a,b}{c,d}"), "ac|ad|bc|bd|");
    CHECK_STR(expanded("x{a,b{c,d}}"), "xa|xbc|xbd|");
    CHECK_STR(expanded("{,a}b"), "b|ab|");
    CHECK_STR(expanded("{a}"), "{a}|");
    CHECK_STR(expanded("{}"), "{}|");
    CHECK_STR(expanded("{a,b"), "{a,b|");
    CHECK_STR(expanded("a\\{b,c}"), "a\\{b,c}|");
    CHECK_STR(expanded("{a\\,b,c}"), "a\\,b|c|");
    CHECK_STR(expanded("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"),
              "the pattern has more than 256 alternatives");
    static char nested[GLOB_PATTERN_MAX];
    memset(nested, '{', 1300);
    for (size_t i = 1300; i < 1300 + 2 * 1300; i += 2)
        memcpy(nested + i, ",}", 2);
    CHECK(strstr(expanded(nested), "alternatives") != NULL);
}

/* ---- .gitignore ---- */

static char verdict(const char *rules, const char *path, bool folder)
{
    struct ignore *g = ignore_new(str_of(rules));
    enum ignore_verdict v = ignore_match(g, str_of(path), folder);
    ignore_free(g);
    return "?yn"[v];
}

TEST(rules)
{
    CHECK_INT(verdict("", "a", false), '?');
    CHECK_INT(verdict("# a\n\na\n", "a", false), 'y');
    CHECK_INT(verdict("a", "x/a", false), 'y');
    CHECK_INT(verdict("/a", "a", false), 'y');
    CHECK_INT(verdict("/a", "x/a", false), '?');
    CHECK_INT(verdict("x/a", "x/a", false), 'y');
    CHECK_INT(verdict("x/a", "y/x/a", false), '?');
    CHECK_INT(verdict("a/", "a", true), 'y');
    CHECK_INT(verdict("a/", "a", false), '?');
    CHECK_INT(verdict("a/", "x/a", true), 'y');
    CHECK_INT(verdict("*.o", "x/y.o", false), 'y');
    CHECK_INT(verdict("*.o\n!y.o", "x/y.o", false), 'n');
    CHECK_INT(verdict("!y.o\n*.o", "x/y.o", false), 'y');
    CHECK_INT(verdict("\\!y", "!y", false), 'y');
    CHECK_INT(verdict("\\#y", "#y", false), 'y');
    CHECK_INT(verdict("a  \n", "a", false), 'y');
    CHECK_INT(verdict("a\\ \n", "a ", false), 'y');
    CHECK_INT(verdict("a\r\nb\r\n", "b", false), 'y');
    CHECK_INT(verdict("\xef\xbb\xbf"
                      "a",
                      "a", false),
              'y');
    CHECK_INT(verdict("**/a/b", "x/a/b", false), 'y');
    CHECK_INT(verdict("a/**", "a/b/c", false), 'y');
    CHECK_INT(verdict("a/*", "a/b/c", false), '?');
    CHECK_INT(verdict("/", "a", true), '?');
    CHECK_INT(verdict("!\n!/\n", "a", true), '?');
    CHECK_INT(verdict("?[ab]", "xa", false), 'y');
    CHECK_INT(verdict("*", "anything", false), 'y');
}

TEST(too_many_rules_are_left_out)
{
    static char text[IGNORE_RULES_MAX * 2 + 3];
    for (size_t i = 0; i < IGNORE_RULES_MAX; i++)
        memcpy(text + 2 * i, "a\n", 2);
    text[2 * IGNORE_RULES_MAX] = 'b';
    CHECK_INT(verdict(text, "a", false), 'y');
    CHECK_INT(verdict(text, "b", false), '?');
    CHECK_INT(verdict(text + 2, "b", false), 'y');
}

T_MAIN
