/* SPDX-License-Identifier: MIT */
/* SOCKS 5 as a server reads it. */
#include "http/socks.h"

#include "t.h"

#define BYTES(...) \
    str_n((const unsigned char[]){__VA_ARGS__}, \
          sizeof((const unsigned char[]){__VA_ARGS__}))

static struct socks_request got;
static size_t used;
static bool is_open;

static int greeting(struct str in)
{
    used = 0;
    is_open = false;
    return socks_greeting(in, &used, &is_open);
}

static int request(struct str in)
{
    used = 0;
    return socks_request(in, &used, &got);
}

/* Every beginning of it wants more. */
static void whole(struct str in, const char *host, uint16_t port)
{
    for (size_t n = 0; n < in.n; n++)
        CHECK_INT(request(str_sub(in, 0, n)), 0);
    CHECK_INT(request(in), 1);
    CHECK_INT(used, in.n);
    CHECK_INT(got.refusal, SOCKS_OK);
    CHECK_STR(got.host, host);
    CHECK_INT(got.port, port);
}

static void refused(struct str in, enum socks_reply why)
{
    CHECK_INT(request(in), 1);
    CHECK_INT(got.refusal, why);
    CHECK_INT(used, in.n);
    CHECK_STR(got.host, "");
}

TEST(greetings)
{
    CHECK_INT(greeting(STR("")), 0);
    CHECK_INT(greeting(BYTES(5)), 0);
    CHECK_INT(greeting(BYTES(5, 2, 2)), 0);
    CHECK_INT(greeting(BYTES(5, 1, 0)), 1);
    CHECK(is_open && used == 3);
    CHECK_INT(greeting(BYTES(5, 3, 2, 1, 0, 5)), 1);
    CHECK(is_open && used == 5);
    CHECK_INT(greeting(BYTES(5, 1, 2, 0)), 1);
    CHECK(!is_open && used == 3);
    CHECK_INT(greeting(BYTES(5, 0)), 1);
    CHECK(!is_open && used == 2);
    CHECK_INT(greeting(BYTES(4)), -1);
    CHECK_INT(greeting(STR("GET / HTTP/1.1\r\n\r\n")), -1);
}

TEST(requests)
{
    whole(BYTES(5, 1, 0, 1, 127, 0, 0, 1, 0x1F, 0x90), "127.0.0.1", 8080);
    whole(BYTES(5, 1, 0, 4, 0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1,
                0xBB),
          "2001:db8::9", 443);
    whole(BYTES(5, 1, 0, 3, 4, 'a', '.', 'b', 'c', 0, 80), "a.bc", 80);
    whole(BYTES(5, 1, 0, 3, 3, ':', ':', '1', 0xFF, 0xFF), "::1", 65535);
}

TEST(bytes_behind_a_request_are_left)
{
    CHECK_INT(request(BYTES(5, 1, 0, 3, 1, 'a', 0, 80, 'G', 'E', 'T')), 1);
    CHECK_INT(used, 8);
    CHECK_STR(got.host, "a");
}

TEST(the_longest_name)
{
    char in[SOCKS_REQUEST_MAX] = {5, 1, 0, 3, (char)255}, name[256] = "";
    memset(in + 5, 'x', 255);
    memset(name, 'x', 255);
    in[sizeof(in) - 1] = 80;
    whole(str_n(in, sizeof(in)), name, 80);
}

TEST(what_is_refused)
{
    refused(BYTES(5, 2, 0, 1, 127, 0, 0, 1, 0, 80), SOCKS_NO_COMMAND);
    refused(BYTES(5, 3, 0, 3, 1, 'a', 0, 80), SOCKS_NO_COMMAND);
    refused(BYTES(5, 1, 0, 2), SOCKS_NO_ADDRESS_TYPE);
    refused(BYTES(5, 1, 0, 0, 1, 2, 3), SOCKS_NO_ADDRESS_TYPE);
    refused(BYTES(5, 1, 0, 1, 127, 0, 0, 1, 0, 0), SOCKS_REFUSED);
    refused(BYTES(5, 1, 0, 3, 0, 0, 80), SOCKS_HOSTUNREACH);
    refused(BYTES(5, 1, 0, 3, 3, 'a', 0, 'b', 0, 80), SOCKS_HOSTUNREACH);
    refused(BYTES(5, 1, 0, 3, 3, 'a', '\n', 'b', 0, 80), SOCKS_HOSTUNREACH);
    refused(BYTES(5, 1, 0, 3, 2, 0xC3, 0xA9, 0, 80), SOCKS_HOSTUNREACH);
    CHECK_INT(request(BYTES(4, 1, 0, 80)), -1);
}

TEST(answers)
{
    struct buf b = BUF_INIT(14);
    CHECK_INT(socks_choose(&b, true), 0);
    CHECK_INT(socks_choose(&b, false), 0);
    CHECK_INT(socks_answer(&b, SOCKS_DENIED), 0);
    CHECK_INT(b.n, 14);
    CHECK(memcmp(b.p, "\5\0\5\xFF\5\2\0\1\0\0\0\0\0\0", 14) == 0);
    CHECK_INT(socks_answer(&b, SOCKS_OK), -1);
    buf_release(&b);
}

T_MAIN
