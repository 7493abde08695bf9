/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events: the bytes of each event and comment (WHATWG HTML 9.2.5).
 */
#include "http/sse.h"

#include "t.h"

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
    written((struct sse_event){.data = STR("\xef\xbb\xbf")}, "data: \xef\xbb\xbf\n\n");
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

T_MAIN
