/* SPDX-License-Identifier: MIT */
/* The opening handshake: the document's example, and each thing wrong with one. */
#include "http/ws_hello.h"

#include "t.h"

#define KEY    "dGhlIHNhbXBsZSBub25jZQ==" /* RFC 6455 section 1.3 */
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

TEST(the_example_of_the_document)
{
    char accept[WS_ACCEPT_SIZE];
    CHECK_INT(ws_accept_key(STR(KEY), accept), 0);
    CHECK_STR(accept, ACCEPT);
}

TEST(a_key_is_sixteen_bytes)
{
    char accept[WS_ACCEPT_SIZE];
    static const char *const bad[] = {
        "",
        "x",
        "dGhlIHNhbXBsZSBub25jZQ=",
        "dGhlIHNhbXBsZSBub25jZQ",
        "dGhlIHNhbXBsZSBub25j",
        "dGhlIHNhbXBsZSBub25jZTEy",
        "dGhlIHNhbXBsZSBub25jZTE=",
        "dGhlIHNhbXBsZSBub25jZR==",
        " GhlIHNhbXBsZSBub25jZQ==",
        "dGhlIHNhbXBsZSBub25jZQ== ",
        "dGhl!HNhbXBsZSBub25jZQ==",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_INT(ws_accept_key(str_of(bad[i]), accept), -1);
}

static struct ws_hello good_request(void)
{
    return (struct ws_hello){.upgrade = STR("WebSocket"),
                             .connection = STR("keep-alive, Upgrade"),
                             .key = STR(KEY),
                             .version = STR("13")};
}

static int check(struct ws_hello q)
{
    char accept[WS_ACCEPT_SIZE] = "";
    struct err e = ERR_INIT;
    int status = ws_check_request(&q, accept, &e);
    CHECK_INT(status == 0, e.code == ERR_NONE);
    CHECK_STR(accept, status == 0 ? ACCEPT : "");
    return status;
}

TEST(a_request_is_one_or_is_told_what_is_wrong)
{
    struct ws_hello q = good_request();
    CHECK_INT(check(q), 0);
    q.upgrade = STR("h2c, websocket");
    CHECK_INT(check(q), 0);
    q.upgrade = STR("websockets");
    CHECK_INT(check(q), 426);
    q.upgrade = (struct str){0};
    CHECK_INT(check(q), 426);

    q = good_request();
    q.connection = STR("upgrade");
    CHECK_INT(check(q), 0);
    q.connection = STR("keep-alive");
    CHECK_INT(check(q), 400);
    q.connection = (struct str){0};
    CHECK_INT(check(q), 400);

    q = good_request();
    static const char *const versions[] = {"", "8", "7, 13", "013", "13 ", "14", "x"};
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        q.version = str_of(versions[i]);
        CHECK_INT(check(q), 426);
    }
    q = good_request();
    q.key = (struct str){0};
    CHECK_INT(check(q), 400);
    q.key = STR(KEY ", " KEY); /* it was there twice */
    CHECK_INT(check(q), 400);
}

TEST(the_clients_first_protocol_that_is_known_is_chosen)
{
    static const char *const known[] = {"b", "a", NULL}, *const none[] = {NULL};
    struct str s = ws_choose(STR("x,A, a ,b"), known);
    CHECK_MEM(s.p, s.n, "a");
    s = ws_choose(STR("b"), known);
    CHECK_MEM(s.p, s.n, "b");
    CHECK(ws_choose(STR("ab, c,,"), known).p == NULL);
    CHECK(ws_choose((struct str){0}, known).p == NULL);
    CHECK(ws_choose(STR("a"), none).p == NULL);
}

TEST(keys_are_fit_and_never_the_same)
{
    char a[WS_KEY_SIZE], b[WS_KEY_SIZE], accept[WS_ACCEPT_SIZE];
    ws_new_key(a);
    ws_new_key(b);
    CHECK(strcmp(a, b) != 0);
    CHECK_INT(strlen(a), 24);
    CHECK_INT(ws_accept_key(str_of(a), accept), 0);
}

TEST(a_request_has_its_fields)
{
    struct buf b = BUF_INIT(1000), small = BUF_INIT(150);
    CHECK_INT(ws_add_request(&b, KEY, (struct str){0}), 0);
    CHECK_STR(buf_z(&b), "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " KEY "\r\n");
    size_t n = b.n;
    CHECK_INT(ws_add_request(&b, KEY, STR("a, b")), 0);
    CHECK_STR(buf_z(&b) + 2 * n, "Sec-WebSocket-Protocol: a, b\r\n");
    CHECK_INT(ws_add_request(&small, KEY, STR("a, bbbbbbbbbbbbbbbbbbbb")), -1);
    CHECK_INT(small.n, 0);
    buf_release(&b);
    buf_release(&small);
}

static struct ws_hello good_answer(void)
{
    return (struct ws_hello){
        .upgrade = STR("websocket"), .connection = STR("Upgrade"), .accept = STR(ACCEPT)};
}

static int judge(int status, struct ws_hello a, const char *offered)
{
    struct err e = ERR_INIT;
    int ok = ws_check_answer(status, &a, KEY, str_of(offered), &e);
    CHECK_INT(ok == 0, e.code == ERR_NONE);
    return ok;
}

TEST(an_answer_is_what_was_asked_for)
{
    struct ws_hello a = good_answer();
    CHECK_INT(judge(101, a, NULL), 0);
    CHECK_INT(judge(200, a, NULL), -1);
    CHECK_INT(judge(401, a, NULL), -1);
    CHECK_INT(judge(302, a, NULL), -1);

    a.upgrade = STR("WEBSOCKET");
    a.connection = STR("UPGRADE");
    CHECK_INT(judge(101, a, NULL), 0);
    a.upgrade = STR("h2c");
    CHECK_INT(judge(101, a, NULL), -1);

    a = good_answer();
    a.connection = STR("close");
    CHECK_INT(judge(101, a, NULL), -1);

    a = good_answer();
    a.accept = STR("S3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK_INT(judge(101, a, NULL), -1);
    a.accept = (struct str){0};
    CHECK_INT(judge(101, a, NULL), -1);

    a = good_answer();
    a.extensions = STR("permessage-deflate");
    CHECK_INT(judge(101, a, NULL), -1);

    a = good_answer();
    a.protocol = STR("b");
    CHECK_INT(judge(101, a, "a, b"), 0);
    CHECK_INT(judge(101, a, "a, bb"), -1);
    CHECK_INT(judge(101, a, NULL), -1);
    a.protocol = STR("");
    CHECK_INT(judge(101, a, "a, b"), -1);
}

T_MAIN
