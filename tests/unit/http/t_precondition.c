/* SPDX-License-Identifier: MIT */
/* Preconditions of requests, in their order (RFC 9110 13.2.2). */
#include "http/precondition.h"

#include "t.h"

#define TAG "\"1-2,3\""
enum { MODIFIED = 784111777 };
#define BEFORE   "Sun, 06 Nov 1994 08:49:36 GMT"
#define THEN     "Sun, 06 Nov 1994 08:49:37 GMT"
#define OBSOLETE "Sunday, 06-Nov-94 08:49:37 GMT"

static int judged(const char *method, const char *fields)
{
    struct http_head h;
    struct http_error e;
    struct buf text = BUF_INIT(4096);
    size_t used;
    buf_addf(&text, "%s /x HTTP/1.1\r\nHost: h\r\n%s\r\n", method, fields);
    CHECK_INT(http_parse_head(buf_str(&text), &h, &used, &e), 1);
    int status = http_precondition(&h, TAG, MODIFIED);
    buf_release(&text);
    return status;
}

TEST(none) { CHECK_INT(judged("GET", ""), 0); }

TEST(tags)
{
    static const struct {
        const char *list;
        int none, match; /* If-None-Match, If-Match */
    } cases[] = {
        {"*", 304, 0},
        {TAG, 304, 0},
        {"W/" TAG, 304, 412},
        {"\"a\", " TAG, 304, 0},
        {"\"a\"," TAG ",\"b\"", 304, 0},
        {"\"a\"", 0, 412},
        {"\"1-2", 0, 412},
        {"1-2,3", 0, 412},
        {"W/", 0, 412},
        {"", 0, 412},
        {"\"x" TAG "\"", 0, 412},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char field[200];
        snprintf(field, sizeof(field), "If-None-Match: %s\r\n", cases[i].list);
        if (judged("GET", field) != cases[i].none)
            T_FAIL("%s: %d", field, judged("GET", field));
        if (judged("POST", field) != (cases[i].none ? 412 : 0))
            T_FAIL("POST %s: %d", field, judged("POST", field));
        snprintf(field, sizeof(field), "If-Match: %s\r\n", cases[i].list);
        if (judged("GET", field) != cases[i].match)
            T_FAIL("%s: %d", field, judged("GET", field));
    }
    CHECK_INT(judged("GET", "If-None-Match: \"a\"\r\nIf-None-Match: " TAG "\r\n"), 304);
}

TEST(dates)
{
    CHECK_INT(judged("GET", "If-Modified-Since: " THEN "\r\n"), 304);
    CHECK_INT(judged("HEAD", "If-Modified-Since: " OBSOLETE "\r\n"), 304);
    CHECK_INT(judged("GET", "If-Modified-Since: " BEFORE "\r\n"), 0);
    CHECK_INT(judged("POST", "If-Modified-Since: " THEN "\r\n"), 0);
    CHECK_INT(judged("GET", "If-Modified-Since: yesterday\r\n"), 0);
    CHECK_INT(judged("GET", "If-Unmodified-Since: " BEFORE "\r\n"), 412);
    CHECK_INT(judged("GET", "If-Unmodified-Since: " THEN "\r\n"), 0);
}

TEST(order)
{
    CHECK_INT(judged("GET", "If-Match: " TAG "\r\nIf-Unmodified-Since: " BEFORE "\r\n"),
              0);
    CHECK_INT(judged("GET", "If-None-Match: \"a\"\r\nIf-Modified-Since: " THEN "\r\n"),
              0);
    CHECK_INT(judged("GET", "If-Match: \"a\"\r\nIf-None-Match: " TAG "\r\n"), 412);
    CHECK_INT(judged("GET", "If-Match: " TAG "\r\nIf-None-Match: " TAG "\r\n"), 304);
}

TEST(ranges)
{
    struct http_head h;
    struct http_error e;
    size_t used;
    struct str head = STR("GET / HTTP/1.1\r\nHost: h\r\nIf-Range: " TAG "\r\n\r\n");
    CHECK_INT(http_parse_head(head, &h, &used, &e), 1);
    CHECK(http_if_range(&h, TAG, 0));
    CHECK(!http_if_range(&h, "\"other\"", 0));
    head = STR("GET / HTTP/1.1\r\nHost: h\r\nIf-Range: " THEN "\r\n\r\n");
    CHECK_INT(http_parse_head(head, &h, &used, &e), 1);
    CHECK(http_if_range(&h, TAG, MODIFIED));
    CHECK(!http_if_range(&h, TAG, MODIFIED + 1));
}

T_MAIN
