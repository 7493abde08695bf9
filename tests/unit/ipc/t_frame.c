/* SPDX-License-Identifier: MIT */
/* Frames: bytes on the wire, splits at every place, limits at every edge. */
#include "ipc/frame.h"

#include "t.h"

TEST(the_bytes_are_those_of_the_header_comment)
{
    struct buf b = BUF_INIT(1000);
    CHECK_INT(frame_add(&b, 'X', str_n(NULL, 0)), 0);
    CHECK_MEM(b.p, b.n, "\0\0\0\0X");
    buf_reset(&b);
    CHECK_INT(frame_add(&b, 'Q', STR("{}")), 0);
    CHECK_MEM(b.p, b.n, "\2\0\0\0Q{}");
    buf_reset(&b);
    CHECK_INT(frame_add_bytes(&b, 'O', UINT64_C(0x1122334455667788), STR("a\0")), 0);
    CHECK_MEM(b.p, b.n, "\12\0\0\0O\x88\x77\x66\x55\x44\x33\x22\x11" "a\0");
    buf_reset(&b);
    CHECK_INT(frame_add_u64(&b, 'W', 258), 0);
    CHECK_MEM(b.p, b.n, "\10\0\0\0W\2\1\0\0\0\0\0\0");
    buf_release(&b);
}

TEST(a_frame_is_whole_only_with_its_last_byte)
{
    struct buf b = BUF_INIT(1000);
    struct json *j = json_object();
    json_put_z(j, "do", "list");
    CHECK_INT(frame_add_json(&b, 'Q', j), 0);
    size_t first = b.n;
    CHECK_INT(frame_add_bytes(&b, 'I', UINT64_MAX, STR("keys")), 0);
    CHECK_INT(frame_add(&b, 'X', STR("")), 0);

    struct frame f = {0};
    size_t used = 0;
    for (size_t n = 0; n < first; n++) {
        /* A copy of that size, so that a reader beyond it is caught. */
        char *p = malloc(n ? n : 1);
        memcpy(p, b.p, n);
        CHECK_INT(frame_parse(str_n(p, n), &f, &used), 0);
        free(p);
    }
    CHECK_INT(used, 0);
    CHECK_INT(frame_parse(buf_str(&b), &f, &used), 1);
    CHECK_INT(used, first);
    CHECK_INT(f.type, 'Q');
    CHECK(str_eq(f.payload, STR("{\"do\":\"list\"}")));
    buf_consume(&b, used);

    uint64_t offset = 0;
    struct str bytes;
    CHECK_INT(frame_parse(buf_str(&b), &f, &used), 1);
    CHECK_INT(f.type, 'I');
    CHECK_INT(frame_bytes(f.payload, &offset, &bytes), 0);
    CHECK(offset == UINT64_MAX);
    CHECK(str_eq(bytes, STR("keys")));
    buf_consume(&b, used);

    CHECK_INT(frame_parse(buf_str(&b), &f, &used), 1);
    CHECK(f.type == 'X' && f.payload.n == 0 && used == b.n);
    buf_release(&b);
    json_free(j);
}

TEST(byte_payloads_hold_an_offset)
{
    uint64_t offset = 5;
    struct str bytes = STR("kept");
    CHECK_INT(frame_bytes(STR("1234567"), &offset, &bytes), -1);
    CHECK_INT(frame_bytes(STR(""), &offset, &bytes), -1);
    CHECK(offset == 5 && bytes.n == 4);
    CHECK_INT(frame_bytes(STR("\1\0\0\0\0\0\0\0"), &offset, &bytes), 0);
    CHECK(offset == 1 && bytes.n == 0);
}

TEST(a_length_beyond_the_limit_is_refused_before_its_bytes_come)
{
    struct frame f;
    size_t used;
    CHECK_INT(frame_parse(STR("\1\0\x80\0O"), &f, &used), -1);
    CHECK_INT(frame_parse(STR("\xff\xff\xff\xff"), &f, &used), -1);
    CHECK_INT(frame_parse(STR("\0\0\x80\0O"), &f, &used), 0);
}

TEST(the_largest_payload_passes_and_one_more_does_not)
{
    struct buf b = BUF_INIT(FRAME_MAX + 100);
    char *big = calloc(1, FRAME_MAX + 1);
    struct frame f;
    size_t used;
    CHECK_INT(frame_add(&b, 'Q', str_n(big, FRAME_MAX)), 0);
    CHECK_INT(frame_parse(buf_str(&b), &f, &used), 1);
    CHECK_INT(f.payload.n, FRAME_MAX);
    buf_reset(&b);
    CHECK_INT(frame_add(&b, 'Q', str_n(big, FRAME_MAX + 1)), -1);
    CHECK_INT(frame_add_bytes(&b, 'O', 0, str_n(big, FRAME_MAX - 7)), -1);
    CHECK_INT(frame_add_bytes(&b, 'O', 0, str_n(big, SIZE_MAX - 4)), -1);
    CHECK_INT(b.n, 0);
    CHECK_INT(frame_add_bytes(&b, 'O', 0, str_n(big, FRAME_MAX - 8)), 0);
    buf_reset(&b);

    memset(big, 'j', FRAME_MAX);
    for (size_t over = 0; over < 2; over++) {
        struct json *j = json_array();
        json_push_str(j, str_n(big, FRAME_MAX - 4 + over)); /* ["…"] */
        CHECK_INT(frame_add_json(&b, 'Q', j), over ? -1 : 0);
        CHECK_INT(b.n, over ? 0 : FRAME_HEAD + FRAME_MAX);
        buf_reset(&b);
        json_free(j);
    }
    free(big);
    buf_release(&b);
}

TEST(a_full_buffer_is_left_alone)
{
    struct json *j = json_object();
    json_put_z(j, "a", "b");
    for (size_t max = 0; max < 14; max++) {
        struct buf b = BUF_INIT(max + 1);
        buf_addc(&b, '!');
        CHECK_INT(frame_add_json(&b, 'R', j), -1); /* needs 5 + 9 */
        CHECK_INT(frame_add(&b, 'R', STR("123456789")), -1);
        if (max < 13)
            CHECK_INT(frame_add_u64(&b, 'W', 1), -1);
        CHECK_MEM(b.p, b.n, "!");
        CHECK_INT(b.p[1], 0);
        buf_release(&b);
    }
    struct buf b = BUF_INIT(14);
    CHECK_INT(frame_add_json(&b, 'R', j), 0);
    CHECK_INT(b.n, 14);
    buf_release(&b);
    json_free(j);
}

T_MAIN
