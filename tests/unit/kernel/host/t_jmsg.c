/* SPDX-License-Identifier: MIT */
/* Jupyter messages: signed as others sign, refused when they are not, made clean. */
#include "kernel/host/jmsg.h"

#include "t.h"

static const struct jmsg message = {
    {"{\"a\":1}", 7}, {"{}", 2}, {"{}", 2}, {"{\"b\":2}", 7}, NULL, 0};

/* printf '{"a":1}{}{}{"b":2}' | openssl dgst -sha256 -hmac key */
#define SIGNATURE "0206f42f4ae2a48f6054ab91271f90c100f7022f55fb1f23de6377624d533752"

TEST(a_message_is_signed)
{
    char sig[JMSG_SIGNATURE + 1];
    struct str parts[JMSG_PARTS];
    jmsg_sign(&message, STR("key"), sig, parts);
    CHECK_MEM(parts[0].p, parts[0].n, "<IDS|MSG>");
    CHECK_STR(sig, SIGNATURE);
    CHECK_MEM(parts[1].p, parts[1].n, SIGNATURE);
    CHECK_MEM(parts[5].p, parts[5].n, "{\"b\":2}");
    jmsg_sign(&message, STR(""), sig, parts);
    CHECK_INT(parts[1].n, 0);
}

TEST(what_comes_before_and_after_is_passed_over)
{
    char sig[JMSG_SIGNATURE + 1];
    struct str p[JMSG_PARTS + 3] = {STR("id"), STR("stream.stdout")};
    struct jmsg m;
    struct err e = ERR_INIT;
    jmsg_sign(&message, STR("key"), sig, p + 2);
    p[JMSG_PARTS + 2] = STR("a buffer");
    for (int skip = 0; skip < 3; skip++) {
        CHECK_INT(jmsg_parse(p + skip, JMSG_PARTS + 3 - skip, STR("key"), &m, &e), 0);
        CHECK_MEM(m.header.p, m.header.n, "{\"a\":1}");
        CHECK_MEM(m.content.p, m.content.n, "{\"b\":2}");
    }
}

TEST(what_is_not_of_this_key_is_denied)
{
    char sig[JMSG_SIGNATURE + 1];
    struct str p[JMSG_PARTS];
    struct jmsg m;
    jmsg_sign(&message, STR("key"), sig, p);
    struct str good[JMSG_PARTS];
    memcpy(good, p, sizeof(p));
    for (int i = 1; i < JMSG_PARTS; i++) {
        struct err e = ERR_INIT;
        memcpy(p, good, sizeof(p));
        p[i] = i == 1 ? STR("00") : STR("{\"c\":3}");
        CHECK_INT(jmsg_parse(p, JMSG_PARTS, STR("key"), &m, &e), -1);
        CHECK_INT(e.code, ERR_DENIED);
    }
    struct err e = ERR_INIT;
    CHECK_INT(jmsg_parse(good, JMSG_PARTS, STR("Key"), &m, &e), -1);
    CHECK_INT(e.code, ERR_DENIED);
    CHECK_INT(jmsg_parse(good, JMSG_PARTS, STR(""), &m, &e), 0);
}

TEST(what_is_no_message_is_invalid)
{
    struct str p[] = {STR("a"),  STR("<IDS|MSG>"), STR(""),
                      STR("{}"), STR("{}"),        STR("{}")};
    struct jmsg m;
    struct err e = ERR_INIT;
    CHECK_INT(jmsg_parse(p, 6, STR(""), &m, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(jmsg_parse(p, 1, STR(""), &m, &e), -1);
    CHECK_INT(jmsg_parse(p, 0, STR(""), &m, &e), -1);
    CHECK_STR(e.text, "a kernel's message has no <IDS|MSG>");
}

static void cleaned(const char *given, size_t n, const char *want)
{
    char text[200];
    memcpy(text, given, n);
    jmsg_clean(text, n);
    text[n] = 0;
    CHECK_STR(text, want);
    CHECK_INT(strlen(want), n);
}
#define CLEANED(given, want) cleaned(given, sizeof(given) - 1, want)

TEST(json_is_made_fit_for_a_line)
{
    CLEANED("", "");
    CLEANED("{\"a\": \"b\"}", "{\"a\": \"b\"}");
    CLEANED("{\n\t\"a\":\r1}", "{  \"a\": 1}");
    CLEANED("\"\\u0000\"", "\"\\ufffd\"");
    CLEANED("\"\\\\u0000\"", "\"\\\\u0000\"");
    CLEANED("\"\\u00000\\uD83C\\uDF88\"", "\"\\ufffd0\\uD83C\\uDF88\"");
    CLEANED("\"\\ud83c\"", "\"\\ufffd\"");
    CLEANED("\"\\udf88\\ud83c\"", "\"\\ufffd\\ufffd\"");
    CLEANED("\"\\ud83cx\\udf88\"", "\"\\ufffdx\\ufffd\"");
    CLEANED("\"\\ud83c\\n\"", "\"\\ufffd\\n\"");
    CLEANED("\"\\u00zz\"", "\"\\u00zz\"");
    CLEANED("a\\", "a\\");
    CLEANED("a\\\nb\\\xff", "a\\ b\\?");
    CLEANED("a\\u12", "a\\u12");
    CLEANED("gr\xc3\xbc\xc3", "gr\xc3\xbc?");
    CLEANED("\xff\xfe\xed\xa0\x80", "?????");
    CLEANED("a\0b", "a b");
}

static void stream_is(const char *content, const char *name, const char *text)
{
    struct str n, t;
    CHECK(jmsg_stream(str_of(content), &n, &t));
    CHECK(str_eq(n, str_of(name)));
    CHECK(str_eq(t, str_of(text)));
}

TEST(a_stream_is_taken_apart_as_it_lies)
{
    struct str n, t;
    stream_is("{\"name\":\"stdout\",\"text\":\"a\\n\"}", "stdout", "a\\n");
    stream_is(" { \"text\" : \"\\\"\\\\\" , \"x\" : \"\",\"name\":\"e\" } \n", "e",
              "\\\"\\\\");
    static const char *const others[] = {"",
                                         "{}",
                                         "[]",
                                         "{\"name\":1,\"text\":\"a\"}",
                                         "{\"text\":\"a\"",
                                         "{\"text\":\"a",
                                         "{\"text\":\"a\\\"}",
                                         "{\"text\" \"a\"}",
                                         "{\"text\":\"a\"} x",
                                         "{\"text\":\"a\",}"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        CHECK(!jmsg_stream(str_of(others[i]), &n, &t));
}

TEST(a_text_is_cut_between_characters)
{
    CHECK_INT(jmsg_cut(STR("short"), 12), 5);
    CHECK_INT(jmsg_cut(STR(""), 12), 0);
    CHECK_INT(jmsg_cut(STR("0123456789abcdef"), 12), 12);
    CHECK_INT(jmsg_cut(STR("0123456789a\\n45"), 12), 11);
    CHECK_INT(jmsg_cut(STR("0123456789\\n345"), 12), 12);
    CHECK_INT(jmsg_cut(STR("0123456789\\\\\\n5"), 12), 12);
    CHECK_INT(jmsg_cut(STR("012345678\\\\\\n5"), 12), 11);
    CHECK_INT(jmsg_cut(STR("0123456\\u00e9abc"), 12), 7);
    CHECK_INT(jmsg_cut(STR("012345\\u00e9abc"), 12), 12);
    CHECK_INT(jmsg_cut(STR("01\\uD83C\\uDF88abc"), 12), 2);
    CHECK_INT(jmsg_cut(STR("01\\u083C\\uDF88abc"), 12), 8);
    CHECK_INT(jmsg_cut(STR("\\ud83c\\udf88abc"), 12), 12);
    CHECK_INT(jmsg_cut(STR("0123456789\xf0\x9f\x8e\x88"), 12), 10);
    CHECK_INT(jmsg_cut(STR("0123456789a\xc3\xbc"), 12), 11);
    CHECK_INT(jmsg_cut(STR("0123456789\xc3\xbcx"), 12), 12);
}

T_MAIN
