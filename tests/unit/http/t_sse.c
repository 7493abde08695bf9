/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events: what is written reads back the same, and what others
 * write is understood as WHATWG HTML 9.2.6 says, however it is cut.
 */
#include "http/sse.h"

#include "t.h"

/* ---- writing ---- */

static void written(struct sse_event e, const char *want)
{
    struct buf b = BUF_INIT(1000);
    CHECK_INT(sse_add_event(&b, &e), 0);
    CHECK_STR(buf_z(&b), want);
    buf_release(&b);
}

TEST(an_event_is_its_fields_and_an_empty_line)
{
    written((struct sse_event){.data = STR("x")}, "data: x\n\n");
    written((struct sse_event){STR("7"), STR("note"), STR("a b")},
            "id: 7\nevent: note\ndata: a b\n\n");
    written((struct sse_event){STR(""), {0}, STR("")}, "id: \ndata: \n\n");
}

TEST(each_line_of_data_is_a_line)
{
    written((struct sse_event){.data = STR("a\nb\rc\r\nd\n")},
            "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
    written((struct sse_event){.data = STR("\r\n\n\r")},
            "data: \ndata: \ndata: \ndata: \n\n");
    written((struct sse_event){.data = STR(" :x")}, "data:  :x\n\n");
}

TEST(what_would_forge_a_line_is_refused)
{
    static const struct sse_event bad[] = {
        {{"a\nb", 3}, {0}, {"x", 1}}, {{"a\r", 2}, {0}, {"x", 1}},
        {{"a\0b", 3}, {0}, {"x", 1}}, {{0}, {"a\ndata: y", 9}, {"x", 1}},
        {{0}, {"\r", 1}, {"x", 1}},
    };
    struct buf b = BUF_INIT(1000);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_INT(sse_add_event(&b, &bad[i]), -1);
    CHECK_INT(b.n, 0);
    buf_release(&b);
}

TEST(comments)
{
    struct buf b = BUF_INIT(1000);
    CHECK_INT(sse_add_comment(&b, STR("")), 0);
    CHECK_INT(sse_add_comment(&b, STR("one\ndata: two")), 0);
    CHECK_STR(buf_z(&b), ":\n\n: one\n: data: two\n\n");
    buf_release(&b);
}

TEST(a_full_buffer_takes_no_part_of_it)
{
    struct sse_event e = {STR("id"), STR("type"), STR("one\ntwo")};
    for (size_t max = 2; max < 45; max++) {
        struct buf b = BUF_INIT(max);
        CHECK_INT(buf_addz(&b, "ab"), 0);
        if (sse_add_event(&b, &e) == 0)
            CHECK_STR(buf_z(&b), "abid: id\nevent: type\ndata: one\ndata: two\n\n");
        else
            CHECK_STR(buf_z(&b), "ab");
        CHECK((b.n > 2) == (max >= 42));
        buf_truncate(&b, 2);
        if (sse_add_comment(&b, STR("one\ntwo")) < 0)
            CHECK_STR(buf_z(&b), "ab");
        buf_release(&b);
    }
}

/* ---- reading ---- */

/* "type|id|data;" for each event of the text, fed `piece` bytes at a time. */
static const char *heard(struct str text, size_t piece)
{
    static struct buf log = BUF_INIT(100000);
    struct sse s;
    buf_reset(&log);
    sse_init(&s, 1000);
    while (text.n > 0) {
        /* A copy of its own, so that reading past it is seen. */
        size_t n = text.n < piece ? text.n : piece;
        char *copy = malloc(n);
        CHECK(copy != NULL);
        memcpy(copy, text.p, n);
        struct str in = str_n(copy, n);
        text = str_sub(text, n, text.n);
        struct sse_event e;
        int got;
        while ((got = sse_read(&s, &in, &e)) > 0)
            CHECK_INT(buf_addf(&log, "%.*s|%.*s|%.*s;", STR_ARG(e.type), STR_ARG(e.id),
                               STR_ARG(e.data)),
                      0);
        CHECK_INT(got, 0);
        CHECK_INT(in.n, 0);
        free(copy);
    }
    CHECK_INT(buf_addf(&log, "%.*s", STR_ARG(sse_last_id(&s))), 0);
    if (s.has_retry)
        CHECK_INT(buf_addf(&log, " %llu", (unsigned long long)s.retry_ms), 0);
    sse_release(&s);
    return buf_z(&log);
}

static void reads(struct str text, const char *want)
{
    for (size_t piece = 1; piece <= text.n; piece++)
        CHECK_STR(heard(text, piece), want);
}

TEST(the_examples_of_the_document)
{
    reads(STR("data: YHOO\ndata: +2\ndata: 10\n\n"), "message||YHOO\n+2\n10;");
    reads(STR(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
              "data:  third event\n"),
          "message|1|first event;message||second event;");
    reads(STR("data\n\ndata\ndata\n\ndata:"), "message||;message||\n;");
    reads(STR("data:test\n\ndata: test\n\n"), "message||test;message||test;");
}

TEST(lines_end_in_any_of_three_ways)
{
    reads(STR("data: a\r\rdata: b\r\n\r\ndata: c\n\ndata: d\r\n\rdata: e\r\n\n"),
          "message||a;message||b;message||c;message||d;message||e;");
    reads(STR("data: a\rdata: b\r\n\n"), "message||a\nb;");
    reads(STR("\n\n\r\r\r\n\r\ndata: a\n\n\n\n\r"), "message||a;");
}

TEST(a_byte_order_mark_is_passed_over_once_and_at_the_beginning_only)
{
    reads(STR("\xef\xbb\xbf"
              "data: a\n\n"),
          "message||a;");
    reads(STR("\xef\xbb\xbf\n"
              "data: a\n\n"),
          "message||a;");
    reads(STR("\xef\xbb\xbf\xef\xbb\xbf"
              "data: a\n\ndata: b\n\n"),
          "message||b;");
    reads(STR("data: a\n\n\xef\xbb\xbf"
              "data: b\n\n"),
          "message||a;");
    reads(STR("\xef\xbb"
              "data: a\n\n"),
          "");
}

TEST(types_and_ids)
{
    reads(STR("event: add\ndata: 1\n\ndata: 2\n\n"), "add||1;message||2;");
    reads(STR("event: add\nevent: mul\ndata: 1\n\n"), "mul||1;");
    reads(STR("event: add\nevent\ndata: 1\n\n"), "message||1;");
    reads(STR("event: add\n\ndata: 1\n\n"), "message||1;");
    reads(STR("id: 1\ndata: a\n\ndata: b\n\nid: 2\n\n"), "message|1|a;message|1|b;2");
    reads(STR("id: 1\ndata: a\n\nid\ndata: b\n\n"), "message|1|a;message||b;");
    reads(STR("id: 1\ndata: a\n\nid: 2\n"), "message|1|a;1");
    reads(STR("id: 1\nid: x\0y\ndata: a\n\n"), "message|1|a;1");
}

TEST(what_is_not_known_is_ignored)
{
    reads(STR("data : x\nDATA: x\n data: x\nfoo: bar\nfoo\n:data: x\n\ndata:y\n\n"),
          "message||y;");
    reads(STR("retry: 100\nretry: 1x\nretry: -5\nretry:\n\n"), " 100");
    reads(STR("retry:007\n"), " 7");
}

TEST(an_event_that_is_cut_off_is_none)
{
    reads(STR("data: a\n\nid: 2\ndata: b\n"), "message||a;");
    reads(STR("data: a\n\ndata: b"), "message||a;");
}

TEST(bytes_that_are_not_utf_8_are_replaced)
{
    reads(STR("data: a\xff"
              "b\xc3\n\n"),
          "message||a\xef\xbf\xbd"
          "b\xef\xbf\xbd;");
    reads(STR("data: \xe2\x82\xac\n\n"), "message||\xe2\x82\xac;");
}

static int feed(struct sse *s, size_t n, char c, struct sse_event *e)
{
    int got = 0;
    for (size_t i = 0; i < n && got == 0; i++) {
        struct str in = str_n(&c, 1);
        got = sse_read(s, &in, e);
    }
    return got;
}

TEST(nothing_grows_without_end)
{
    struct sse s;
    struct sse_event e;
    struct str in;

    sse_init(&s, 100);
    CHECK_INT(feed(&s, 100, ':', &e), 0);
    CHECK_INT(feed(&s, 1, ':', &e), -1);
    sse_release(&s);

    sse_init(&s, 100);
    char line[200];
    memset(line, 'x', sizeof(line));
    memcpy(line, "data: ", 6);
    line[101] = '\n'; /* 101 bytes and their end at once */
    in = str_n(line, 102);
    CHECK_INT(sse_read(&s, &in, &e), -1);
    sse_release(&s);

    sse_init(&s, 100);
    int got = 0, lines = 0;
    while (got == 0 && lines < 1000) {
        in = STR("data: 23456789\n");
        got = sse_read(&s, &in, &e);
        lines += got == 0;
    }
    CHECK_INT(got, -1);
    CHECK_INT(lines, 11);
    sse_release(&s);
}

TEST(what_is_written_is_read)
{
    static const char *const datas[] = {"",      "\n", "a",       "a\n\nb\n",
                                        " lead", ":x", "data: y", "\xef\xbb\xbf"};
    struct buf b = BUF_INIT(10000), want = BUF_INIT(10000);
    for (size_t i = 0; i < sizeof(datas) / sizeof(*datas); i++) {
        char id[10];
        snprintf(id, sizeof(id), "%zu", i);
        struct sse_event e = {str_of(id), STR(" t"), str_of(datas[i])};
        CHECK_INT(sse_add_comment(&b, STR("")), 0);
        CHECK_INT(sse_add_event(&b, &e), 0);
        CHECK_INT(buf_addf(&want, " t|%s|%s;", id, datas[i]), 0);
    }
    CHECK_INT(buf_addz(&want, "7"), 0);
    reads(buf_str(&b), buf_z(&want));
    buf_release(&b);
    buf_release(&want);
}

T_MAIN
