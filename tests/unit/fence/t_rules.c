/* SPDX-License-Identifier: MIT */
/* The file of a fence: what is read, and what is refused with its place. */
#include "fence/rules.h"

#include "t.h"

/* The rules as "do word line;…", or the error. Lives until the next call. */
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
        for (struct json *r = json_first(rules); r; r = json_next(r)) {
            struct buf word = BUF_INIT(FENCE_PATH_MAX);
            fence_print_word(r, &word);
            n += (size_t)snprintf(out + n, sizeof(out) - n, "%s %s %d;",
                                  json_str(r, "do", "").p, buf_z(&word),
                                  (int)json_int(r, "line", 0));
            CHECK(fence_is_network(r) != json_has(r, "path"));
            buf_release(&word);
        }
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
        {"reach Api.Example.org. *.mirror.Example *",
         "reach api.example.org 1;reach *.mirror.example 1;reach * 1;"},
        {"reach a.example:443 a_b-1.example:5000-5010 *:80 *.c.example:1-65535",
         "reach a.example:443 1;reach a_b-1.example:5000-5010 1;reach *:80 1;"
         "reach *.c.example 1;"},
        {"reach 10.0.0.0/8:5432 192.0.2.1 192.0.2.1/32:7-7 0.0.0.0/0",
         "reach 10.0.0.0/8:5432 1;reach 192.0.2.1 1;reach 192.0.2.1:7 1;"
         "reach 0.0.0.0/0 1;"},
        {"reach [2001:DB8::]/32:443 [::1] [::1]:80 [::]/0 [2001:db8:0:0::1]/128",
         "reach [2001:db8::]/32:443 1;reach [::1] 1;reach [::1]:80 1;reach [::]/0 1;"
         "reach [2001:db8::1] 1;"},
        {"reach [::ffff:10.0.0.1]:80 [::ffff:10.0.0.0]/104",
         "reach 10.0.0.1:80 1;reach 10.0.0.0/8 1;"},
        {"reach nothing", "reach nothing 1;"},
        {"reach \"nothing\" # x\nlisten nothing", "reach nothing 1;listen nothing 2;"},
        {"reach nothing\nreach a", "reach nothing 1;reach a 2;"},
        {"listen 1024-65535 80 7-7 \"9\"",
         "listen 1024-65535 1;listen 80 1;listen 7 1;listen 9 1;"},
        {"hide nothing", "INVALID f, line 1, column 6: a path that begins with / or ~/ "
                         "was expected"},
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
        {"allow /a", "INVALID f, line 1, column 1: write, read, hide, reach, listen or "
                     "secret was expected"},
        {"Write /a", "INVALID f, line 1, column 1: write, read, hide, reach, listen or "
                     "secret was expected"},
        {"write /a b",
         "INVALID f, line 1, column 10: a path that begins with / or ~/ was "
         "expected"},
        {"write ./a", "INVALID f, line 1, column 7: a path that begins with / or ~/ was "
                      "expected"},
        {"write \"\"", "INVALID f, line 1, column 7: a path that begins with / or ~/ was "
                       "expected"},
        {"write \"/a",
         "INVALID f, line 1, column 7: a \" was expected at the end of this "
         "word"},
        {"write /a/../b", "INVALID f, line 1, column 7: a path without .. was expected"},
        {"write ~/..", "INVALID f, line 1, column 7: a path without .. was expected"},
        {"hide ~root", "INVALID f, line 1, column 6: ~ is the home of the sandbox's user "
                       "alone; write the path of another one from /"},
        {"hide /a\x01", "INVALID f, line 1, column 6: a path without control characters "
                        "was expected"},
        {"hide /\xff", "INVALID f, line 1, column 6: a path in UTF-8 was expected"},
        {"secret", "INVALID f, line 1, column 7: the name of a variable was expected, as "
                   "CODE_TOKEN"},
        {"reach a.test nOthing", "INVALID f, line 1, column 14: the word nothing was "
                                 "expected in small letters; a host of that name needs a "
                                 "port"},
        {"reach nothing.",
         "INVALID f, line 1, column 7: the word nothing was expected in "
         "small letters; a host of that name needs a port"},
        {"secret A-B x.test", "INVALID f, line 1, column 8: the name of a variable was "
                              "expected, as CODE_TOKEN"},
        {"secret A from /x", "INVALID f, line 1, column 10: a DNS name was expected, as "
                             "code.example"},
        {"secret A *", "INVALID f, line 1, column 10: a DNS name was expected, as "
                       "code.example; TLS proves names"},
        {"secret A x.test 10.0.0.0/8", "INVALID f, line 1, column 17: a DNS name was "
                                       "expected, as code.example; TLS proves names"},
        {"secret A x.test from", "INVALID f, line 1, column 21: the path of a file was "
                                 "expected after from"},
        {"secret A x.test from y", "INVALID f, line 1, column 22: a path that begins "
                                   "with / or ~/ was expected"},
        {"secret A x.test in body", "INVALID f, line 1, column 20: the end of the line, "
                                    "or in bodies, was expected"},
        {"secret A x.test in bodies y", "INVALID f, line 1, column 27: the end of the "
                                        "line, or in bodies, was expected"},
        {"secret A x.test\nsecret A y.test",
         "INVALID f, line 2, column 8: this secret has a line already; one has all its "
         "hosts"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_STR(rules_of(str_of(rows[i].text)), rows[i].e);
    CHECK_STR(rules_of(str_n("hide /a\0b", 9)),
              "INVALID f, line 1, column 6: a path without control characters was "
              "expected");
}

TEST(errors_of_the_network_name_their_column)
{
    static const struct {
        const char *text;
        unsigned column;
        const char *expected;
    } rows[] = {
        {"reach", 6,
         "a name, an address, a network as 10.0.0.0/8, *, or the word nothing was "
         "expected"},
        {"listen # 80", 8, "a port, or the word nothing, was expected"},
        {"reach a nothing", 9, "the word nothing was expected alone in its line"},
        {"reach nothing a", 15, "the word nothing was expected alone in its line"},
        {"listen 1 nothing", 10, "the word nothing was expected alone in its line"},
        {"listen nothing nothing", 16, "the word nothing was expected alone in its line"},
        {"reach \"a", 7, "a \" was expected at the end of this word"},
        {"reach \"a\"b", 10, "a blank was expected after the \""},
        {"reach \"\"", 8,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach a..b", 7,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach .a", 7, "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach a.example..", 7,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach .", 7, "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach a,b", 7,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach \"a b\"", 8,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach a/24", 7,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach a.example/x", 7,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach :80", 7,
         "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach *a", 7, "* was expected alone, or as *. before a name"},
        {"reach *.", 7, "a name, an address, a network as 10.0.0.0/8, or * was expected"},
        {"reach **", 7, "* was expected alone, or as *. before a name"},
        {"reach a.*", 7, "* was expected alone, or as *. before a name"},
        {"reach *.*.a", 7, "* was expected alone, or as *. before a name"},
        {"reach a b\xc3\xbc", 10,
         "a name of letters, digits, -, _ and dots was expected; write others in their "
         "xn-- form"},
        {"reach https://a.example/", 7,
         "a name alone was expected, without https:// before it and without a path after "
         "it"},
        {"reach b https://a.example:443", 9,
         "a name alone was expected, without https:// before it and without a path after "
         "it"},
        {"reach 10.0.0", 7, "an IPv4 address of four numbers was expected, as 10.0.0.1"},
        {"reach 300.0.0.1", 7,
         "an IPv4 address of four numbers was expected, as 10.0.0.1"},
        {"reach 010.0.0.1", 7,
         "an IPv4 address of four numbers was expected, as 10.0.0.1"},
        {"reach 10.0.0.1.", 7,
         "an IPv4 address of four numbers was expected, as 10.0.0.1"},
        {"reach 7", 7, "an IPv4 address of four numbers was expected, as 10.0.0.1"},
        {"reach a.0x7F", 7, "an IPv4 address of four numbers was expected, as 10.0.0.1"},
        {"reach *.1", 7, "an IPv4 address of four numbers was expected, as 10.0.0.1"},
        {"reach 10.0.0.0/33", 16, "a length from 0 to 32 was expected"},
        {"reach 10.0.0.0/", 16, "a length from 0 to 32 was expected"},
        {"reach 10.0.0.0/-1", 16, "a length from 0 to 32 was expected"},
        {"reach 10.0.0.0/8/8", 16, "a length from 0 to 32 was expected"},
        {"reach 10.0.0.1/8", 7,
         "a network was expected: an address whose bits after the length are 0, as "
         "10.0.0.0/8"},
        {"reach 0.0.0.1/0", 7,
         "a network was expected: an address whose bits after the length are 0, as "
         "10.0.0.0/8"},
        {"reach [2001:db8::1]/32", 8,
         "a network was expected: an address whose bits after the length are 0, as "
         "10.0.0.0/8"},
        {"reach [2001:db8::]/129", 20, "a length from 0 to 128 was expected"},
        {"reach 2001:db8::1", 7,
         "an IPv6 address in brackets was expected, as [2001:db8::1]:443"},
        {"reach [2001:db8::1", 7, "a ] was expected after the address"},
        {"reach [2001:db8::1]443", 20,
         "/ with a length, or : with a port, was expected after the ]"},
        {"reach [2001:db8::g]", 8, "an IPv6 address was expected, as 2001:db8::1"},
        {"reach [fe80::1%eth0]", 8, "an IPv6 address was expected, as 2001:db8::1"},
        {"reach [10.0.0.1]", 8, "an IPv6 address was expected, as 2001:db8::1"},
        {"reach []", 8, "an IPv6 address was expected, as 2001:db8::1"},
        {"reach a:", 9, "a port from 1 to 65535 was expected"},
        {"reach a:0", 9, "a port from 1 to 65535 was expected"},
        {"reach a:65536", 9, "a port from 1 to 65535 was expected"},
        {"reach a:http", 9, "a port from 1 to 65535 was expected"},
        {"reach a:80-", 12, "a port from 1 to 65535 was expected"},
        {"reach a:80-65536", 12, "a port from 1 to 65535 was expected"},
        {"reach a:-80", 9, "a port from 1 to 65535 was expected"},
        {"reach a:1-2-3", 11, "a port from 1 to 65535 was expected"},
        {"reach a:81-80", 9, "a range with the lower port first was expected"},
        {"reach [::1]:0", 13, "a port from 1 to 65535 was expected"},
        {"listen 0", 8, "a port from 1 to 65535 was expected"},
        {"listen 80 99999", 11, "a port from 1 to 65535 was expected"},
        {"listen 80-79", 8, "a range with the lower port first was expected"},
        {"listen 80-", 11, "a port from 1 to 65535 was expected"},
        {"listen a:80", 8, "a port from 1 to 65535 was expected"},
        {"listen *", 8, "a port from 1 to 65535 was expected"},
        {"listen +80", 8, "a port from 1 to 65535 was expected"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char e[300];
        snprintf(e, sizeof(e), "INVALID f, line 1, column %u: %s", rows[i].column,
                 rows[i].expected);
        CHECK_STR(rules_of(str_of(rows[i].text)), e);
    }
    CHECK_STR(rules_of(str_n("reach a\0b", 9)),
              "INVALID f, line 1, column 7: a name, an address, a network as 10.0.0.0/8, "
              "or * was expected");
}

TEST(names_are_limited)
{
    struct buf b = BUF_INIT(1 << 14);
    static const char wrong[] = "INVALID f, line 1, column 7: a name, an address, a "
                                "network as 10.0.0.0/8, or * was expected";
    buf_addz(&b, "reach ");
    for (int i = 0; i < 63; i++)
        buf_addc(&b, 'x');
    CHECK(strncmp(rules_of(buf_str(&b)), "reach xxx", 9) == 0);
    buf_addc(&b, 'x');
    CHECK_STR(rules_of(buf_str(&b)), wrong);
    buf_reset(&b);
    buf_addz(&b, "reach a.");
    for (int i = 0; i < 125; i++)
        buf_addz(&b, "b.");
    buf_addc(&b, 'c');
    CHECK_INT(b.n - 6, 253);
    CHECK(strncmp(rules_of(buf_str(&b)), "reach a.b.", 10) == 0);
    buf_addc(&b, '.');
    CHECK(strncmp(rules_of(buf_str(&b)), "reach a.b.", 10) == 0);
    buf_truncate(&b, b.n - 1);
    buf_addc(&b, 'd');
    CHECK_STR(rules_of(buf_str(&b)), wrong);
    for (int i = 0; i < 5000; i++)
        buf_addc(&b, 'e');
    CHECK_STR(rules_of(buf_str(&b)),
              "INVALID f, line 1, column 7: a name of at most 253 bytes was expected");
    buf_release(&b);
}

TEST(rules_of_the_network_have_these_members)
{
    static const struct {
        const char *text, *json;
    } rows[] = {
        {"reach Api.example.org", "{\"do\":\"reach\",\"host\":\"api.example.org\","
                                  "\"from\":1,\"to\":65535,\"line\":1}"},
        {"reach [2001:db8::]/32:443", "{\"do\":\"reach\",\"host\":\"2001:db8::/32\","
                                      "\"from\":443,\"to\":443,\"line\":1}"},
        {"reach 10.0.0.0/8:1-2", "{\"do\":\"reach\",\"host\":\"10.0.0.0/8\",\"from\":1,"
                                 "\"to\":2,\"line\":1}"},
        {"listen 80", "{\"do\":\"listen\",\"from\":80,\"to\":80,\"line\":1}"},
        {"\nreach nothing", "{\"do\":\"reach\",\"nothing\":true,\"line\":2}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json *rules = json_array();
        struct buf out = BUF_INIT(1000);
        struct err e = ERR_INIT;
        CHECK(fence_parse(str_of(rows[i].text), "f", "", rules, &e) == 0);
        json_print(&out, json_first(rules));
        CHECK_STR(buf_z(&out), rows[i].json);
        buf_release(&out);
        json_free(rules);
    }
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
              "LIMIT f, line 1001, column 6: there are more than 1000 paths, hosts and "
              "ports");
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
    CHECK(fence_add(STR("A.example:80"), "reach", "--fence-reach", "", rules, &e) == 0);
    CHECK(fence_add(STR("nothing"), "listen", "OD_FENCE_LISTEN", "", rules, &e) == 0);
    CHECK_INT(json_count(rules), 3);
    CHECK(fence_add(STR("a:x"), "reach", "--fence-reach", "", rules, &e) < 0);
    CHECK_STR(e.text, "--fence-reach: a port from 1 to 65535 was expected");
    json_free(rules);
}

T_MAIN
