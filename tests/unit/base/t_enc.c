/* SPDX-License-Identifier: MIT */
/* Base64 and hex: RFC 4648's vectors, round trips, and what is refused. */
#include "base/enc.h"

#include "t.h"

TEST(vectors_of_rfc_4648)
{
    static const char *const v[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
        struct buf b = BUF_INIT(100);
        CHECK_INT(enc_base64(&b, str_of(v[i][0])), 0);
        CHECK_STR(buf_z(&b), v[i][1]);
        buf_reset(&b);
        CHECK_INT(dec_base64(&b, str_of(v[i][1])), 0);
        CHECK_STR(buf_z(&b), v[i][0]);
        buf_release(&b);
    }
}

TEST(every_byte_goes_there_and_back_at_every_length)
{
    char in[300];
    for (int i = 0; i < 300; i++)
        in[i] = (char)(i * 7 + (i >> 8));
    for (size_t n = 0; n <= sizeof(in); n++) {
        struct buf t = BUF_INIT(1000), b = BUF_INIT(1000);
        CHECK_INT(enc_base64(&t, str_n(in, n)), 0);
        CHECK_INT(t.n, (n + 2) / 3 * 4);
        CHECK_INT(dec_base64(&b, buf_str(&t)), 0);
        CHECK(str_eq(buf_str(&b), str_n(in, n)));
        buf_release(&t);
        buf_release(&b);
    }
    struct buf b = BUF_INIT(100);
    CHECK_INT(dec_base64(&b, STR("+/+/")), 0);
    CHECK_MEM(b.p, b.n, "\xfb\xff\xbf");
    buf_release(&b);
}

TEST(malformed_base64_is_refused_and_adds_nothing)
{
    static const char *const bad[] = {
        "Z", "Zg", "Zg=", "Zg===", "=", "==", "===", "====", "Z===", "Zg==Zg==",
        "Zm9v\n", "Zm 9v", "Zm9-", "Zm9_", "Zg=v", "Z=g=", "Zm9vYg=", "\xc3\xa9zz",
        "Zh==", "Zm9=", /* bits that no encoder sets */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct buf b = BUF_INIT(100);
        buf_addz(&b, "kept");
        if (dec_base64(&b, str_of(bad[i])) != -1)
            T_FAIL("\"%s\" was taken", bad[i]);
        CHECK_MEM(b.p, b.n, "kept");
        CHECK_INT(b.p[4], 0);
        buf_release(&b);
    }
    struct buf b = BUF_INIT(100);
    CHECK_INT(dec_base64(&b, STR("Zm\0v")), -1);
    buf_release(&b);
}

TEST(a_full_buffer_is_left_alone)
{
    struct buf b = BUF_INIT(5);
    CHECK_INT(enc_base64(&b, STR("abcd")), -1);
    CHECK(buf_full(&b));
    buf_reset(&b);
    CHECK_INT(enc_hex(&b, STR("abc")), -1);
    CHECK(buf_full(&b));
    buf_reset(&b);
    CHECK_INT(dec_base64(&b, STR("Zm9vYmFy")), -1);
    CHECK(buf_full(&b));
    CHECK_INT(b.n, 0);
    buf_reset(&b);
    CHECK_INT(enc_base64(&b, STR("abc")), 0);
    CHECK_INT(dec_base64(&b, STR("Zm9v")), -1);
    CHECK_STR(buf_z(&b), "YWJj");
    buf_release(&b);
}

TEST(hex)
{
    struct buf b = BUF_INIT(100);
    CHECK_INT(enc_hex(&b, STR("\x00\x0f\xf0\xff" "A")), 0);
    CHECK_STR(buf_z(&b), "000ff0ff41");
    CHECK_INT(enc_hex(&b, str_n(NULL, 0)), 0);
    CHECK_INT(b.n, 10);
    buf_release(&b);
}

T_MAIN
