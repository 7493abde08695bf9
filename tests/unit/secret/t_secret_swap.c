/* SPDX-License-Identifier: MIT */
/* Secrets and placeholders in bytes and heads. */
#include "base/clock.h"
#include "base/enc.h"
#include "secret/swap.h"

#include "t.h"

static char *placeholder(const char *secret, struct err *e)
{
    struct buf out = BUF_INIT(SECRET_MAX);
    if (secret_placeholder(str_of(secret), "it", &out, e) < 0) {
        buf_release(&out);
        return NULL;
    }
    return buf_take(&out);
}

TEST(a_placeholder_has_the_shape)
{
    static const char *const secrets[] = {"ghp_0123456789abcdefABCDEF0123456789abcd",
                                          "sk-ant-api03-AbCdEf0123456789-_AbCdEf",
                                          "00112233445566778899aabbccddeeff",
                                          "123e4567-e89b-12d3-a456-426614174000",
                                          "a b=c/d+e{f}0123456789",
                                          "12345678"};
    static const char digits[] = "0123456789", hex[] = "0123456789abcdef-";
    struct err e = ERR_INIT;
    for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++) {
        const char *s = secrets[i];
        char *p = placeholder(s, &e), *again = placeholder(s, &e);
        CHECK(p && again && strlen(p) == strlen(s));
        CHECK(strcmp(p, s) != 0 && strcmp(p, again) != 0);
        bool is_hex = strspn(s, hex) == strlen(s);
        for (size_t k = 0; p[k]; k++) {
            CHECK(is_hex ? strchr(hex, p[k]) != NULL
                         : !strchr(digits, s[k]) == !strchr(digits, p[k]));
            CHECK(strchr("-_ =/+{}", s[k]) ? p[k] == s[k] : p[k] > ' ' && p[k] < 0x7f);
        }
        free(p);
        free(again);
    }
    char *p = placeholder("ghp_0123456789abcdefABCDEF0123456789abcd", &e);
    CHECK(strncmp(p, "ghp_", 4) == 0);
    free(p);
}

TEST(what_is_no_secret)
{
    struct err e = ERR_INIT;
    char *big = calloc(1, SECRET_MAX + 2);
    memset(big, 'a', SECRET_MAX + 1);
    CHECK(!placeholder("", &e) && !placeholder("abcdefg", &e));
    CHECK(!placeholder("--------------------", &e));
    CHECK(!placeholder("abcdefgh\nabcdefgh", &e) && strstr(e.text, "control"));
    CHECK(!placeholder(" abcdefghijk", &e) && !placeholder("abcdefghijk ", &e));
    CHECK(!placeholder(big, &e) && strstr(e.text, "longer"));
    free(big);
}

/* What goes through swap_bytes in pieces of n bytes. The caller frees it. */
static char *in_pieces(const struct swap *v, unsigned swaps, const char *text, size_t n)
{
    struct buf in = BUF_INIT(4096), out = BUF_INIT(4096);
    size_t size = strlen(text);
    for (size_t at = 0; at < size; at += n) {
        buf_adds(&in, str_sub(str_n(text, size), at, n));
        size_t done = swap_bytes(v, swaps, in.p, in.n, at + n >= size);
        buf_adds(&out, str_n(in.p, done));
        buf_consume(&in, done);
    }
    CHECK_INT(in.n, 0);
    buf_release(&in);
    return buf_take(&out);
}

TEST(bytes_in_pieces_of_any_size)
{
    const struct swap v[] = {{STR("aab"), STR("XYZ")},
                             {STR("bbbbbbbb"), STR("12345678")}};
    static const char text[] = "aab-aaab-abb-aaaaab-bbbbbbbbb-aabaab-aa";
    static const char wanted[] = "XYZ-aXYZ-abb-aaaXYZ-12345678b-XYZXYZ-aa";
    for (size_t n = 1; n < sizeof(text) + 1; n++) {
        char *got = in_pieces(v, 2, text, n);
        CHECK_STR(got, wanted);
        free(got);
    }
}

TEST(only_the_beginning_of_a_secret_is_held)
{
    const struct swap v = {STR("secret"), STR("SECRET")};
    char text[] = "a secre";
    CHECK_INT(swap_bytes(&v, 1, text, 7, false), 2);
    CHECK_INT(swap_bytes(&v, 1, text, 7, true), 7);
    CHECK_INT(swap_bytes(&v, 1, text, 1, false), 1);
    CHECK_INT(swap_bytes(&v, 0, text, 7, false), 7);
}

struct head_case {
    char out[4096];
    const char *why;
    char with[200], without[200];
};

static void keep_basic(void *arg, struct str with_secret, struct str without)
{
    struct head_case *c = arg;
    snprintf(c->with, sizeof(c->with), "%.*s", STR_ARG(with_secret));
    snprintf(c->without, sizeof(c->without), "%.*s", STR_ARG(without));
}

static int head(struct head_case *c, const char *text, bool may_upgrade)
{
    static const struct swap v = {STR("PLACE-HOLDER"), STR("s/e+c%r e&t=")};
    struct secret_head s = {.host = STR("a.test"),
                            .port = 443,
                            .may_upgrade = may_upgrade,
                            .v = &v,
                            .n = 1,
                            .basic = keep_basic,
                            .arg = c};
    struct http_head h;
    struct http_error bad;
    struct buf out = BUF_INIT(4096);
    size_t used;
    CHECK(http_parse_head(str_of(text), &h, &used, &bad) == 1);
    int status = secret_head(&s, &h, &out, &c->why);
    snprintf(c->out, sizeof(c->out), "%s", buf_z(&out));
    buf_release(&out);
    return status;
}

TEST(a_head_with_secrets)
{
    struct head_case c = {.why = NULL};
    CHECK_INT(head(&c,
                   "POST /x/PLACE-HOLDER?a=PLACE-HOLDER&b=PLACE-HOLDE HTTP/1.1\r\n"
                   "Host: A.TEST:443\r\nX: Token PLACE-HOLDER,PLACE-HOLDER\r\n"
                   "Accept-Encoding: gzip\r\nUpgrade: x\r\nContent-Length: 3\r\n\r\n",
                   false),
              0);
    CHECK_STR(c.out,
              "POST /x/s%2Fe%2Bc%25r%20e%26t%3D?a=s%2Fe%2Bc%25r%20e%26t%3D&b=PLACE-HOLDE "
              "HTTP/1.1\r\nHost: A.TEST:443\r\nAccept-Encoding: identity\r\n"
              "X: Token s/e+c%r e&t=,s/e+c%r e&t=\r\nContent-Length: 3\r\n\r\n");
    CHECK_INT(head(&c, "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n\r\n",
                   true),
              0);
    CHECK(strstr(c.out, "Upgrade: websocket\r\n"));
}

TEST(basic_credentials)
{
    struct head_case c = {.why = NULL};
    struct buf text = BUF_INIT(1000), with = BUF_INIT(200);
    enc_base64(&with, STR("me:s/e+c%r e&t="));
    buf_addz(&text, "GET / HTTP/1.1\r\nHost: a.test\r\nAuthorization: basic ");
    enc_base64(&text, STR("me:PLACE-HOLDER"));
    buf_addz(&text, "\r\n\r\n");
    CHECK_INT(head(&c, buf_z(&text), true), 0);
    CHECK(strstr(c.out, buf_z(&with)));
    CHECK_STR(c.with, buf_z(&with));
    CHECK_INT(strlen(c.without), strlen(c.with));
    /* What is no base64, or has no secret, stays. */
    CHECK_INT(
        head(&c,
             "GET / HTTP/1.1\r\nHost: a.test\r\nA: Basic !!!\r\nB: Basic eDp5\r\n\r\n",
             true),
        0);
    CHECK(strstr(c.out, "A: Basic !!!\r\nB: Basic eDp5\r\n"));
    buf_release(&text);
    buf_release(&with);
}

TEST(for_other_hosts_there_is_none)
{
    static const char *const hosts[] = {"b.test",      "a.test.b.test", "a.test:80",
                                        "a.test:4430", "xa.test",       "a.tes"};
    struct head_case c = {.why = NULL};
    char text[200];
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
        CHECK_INT(head(&c, text, true), 421);
        snprintf(text, sizeof(text), "GET https://%s/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
                 hosts[i]);
        CHECK_INT(head(&c, text, true), 421);
    }
    CHECK_INT(head(&c, "GET / HTTP/1.0\r\n\r\n", true), 421);
    CHECK_INT(head(&c, "GET / HTTP/1.1\r\nHost: a.test.\r\n\r\n", true), 0);
    /* The target counts, and the Host field of the result is its. */
    CHECK_INT(head(&c, "GET https://a.test/y HTTP/1.1\r\nHost: b.test\r\n\r\n", true), 0);
    CHECK(strstr(c.out, "GET /y HTTP/1.1\r\nHost: a.test\r\n") &&
          !strstr(c.out, "b.test"));
}

T_MAIN
