/* SPDX-License-Identifier: MIT */
/*
 * HTTP as bytes: heads, chunks, targets, ranges, dates. What is refused is in
 * t_httpd.c, by the status that a peer sees; here is what the slices hold.
 */
#include "http/http.h"

#include "t.h"

static struct http_head h;
static struct http_error e;
static size_t used;

/* From a copy of just that size, so that a reader beyond it is caught. */
static int parse(const char *text, size_t n)
{
    static char *copy;
    free(copy);
    copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    return http_parse_head(str_n(copy, n), &h, &used, &e);
}

static int parse_z(const char *text) { return parse(text, strlen(text)); }

#define IS(s, literal) CHECK_MEM((s).p, (s).n, literal)

/* ---- heads ---- */

TEST(a_head_is_whole_with_its_last_byte)
{
    static const char text[] = "POST /a%20b?c=d&e HTTP/1.1\r\n"
                               "Host: example:80\r\n"
                               "Empty:\r\n"
                               "X: \t one two \t\r\n"
                               "content-length: 0012\r\n"
                               "Expect: 100-continue\r\n"
                               "\r\nbody";
    size_t n = sizeof(text) - 1 - strlen("body");
    for (size_t i = 0; i < n; i++)
        CHECK_INT(parse(text, i), 0);
    for (size_t i = n; i < sizeof(text); i++) {
        CHECK_INT(parse(text, i), 1);
        CHECK_INT(used, n);
    }
    IS(h.method, "POST");
    IS(h.path, "/a%20b");
    IS(h.query, "c=d&e");
    IS(h.host, "example:80");
    CHECK_INT(h.minor, 1);
    CHECK_INT(h.nfields, 5);
    CHECK(h.keep_alive && h.has_length && h.expect && !h.chunked);
    CHECK_INT(h.length, 12);
    IS(h.fields[1].name, "Empty");
    IS(h.fields[1].value, "");
    IS(http_field(&h, "x"), "one two");
    CHECK(http_field(&h, "Empty").p != NULL);
    CHECK(http_field(&h, "Missing").p == NULL);
}

TEST(one_head_leaves_nothing_to_the_next)
{
    CHECK_INT(parse_z("POST http://h/?q HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"),
              1);
    IS(h.host, "h");
    CHECK(h.chunked && h.expect && h.query.p);
    CHECK_INT(parse_z("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n"), 1);
    CHECK(!h.chunked && !h.expect && !h.query.p && !h.keep_alive);
    CHECK_INT(h.length, 5);
    CHECK(h.host.p == NULL || h.host.n == 0);
    CHECK_INT(h.nfields, 1);
    CHECK_INT(parse_z("GET / HTTP/1.1\r\nHost: y\r\n\r\n"), 1);
    CHECK(!h.has_length && h.length == 0 && h.keep_alive);
    IS(h.host, "y");
}

TEST(targets)
{
    static const struct {
        const char *target, *path, *query;
    } good[] = {
        {"/", "/", NULL},
        {"/?", "/", ""},
        {"/a?b?c", "/a", "b?c"},
        {"//x", "//x", NULL},
        {"http://h", "/", NULL},
        {"HTTPS://h?q", "/", "q"},
        {"http://h:1/p?q", "/p", "q"},
        {"http://[::1]:8/p", "/p", NULL},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n",
                 good[i].target);
        CHECK_INT(parse_z(text), 1);
        CHECK(str_eq(h.path, str_of(good[i].path)));
        CHECK((h.query.p != NULL) == (good[i].query != NULL));
        CHECK(str_eq(h.query, str_of(good[i].query)));
    }
    CHECK_INT(parse_z("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"), 1);
    IS(h.path, "*");
}

TEST(a_head_moves_with_its_bytes)
{
    static const char text[] = "GET http://h HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";
    char from[sizeof(text)], to[sizeof(text)];
    memcpy(from, text, sizeof(text));
    CHECK_INT(http_parse_head(str_n(from, sizeof(text) - 1), &h, &used, &e), 1);
    memcpy(to, from, sizeof(text));
    http_head_move(&h, str_n(from, used), to);
    memset(from, '?', sizeof(from));
    IS(h.method, "GET");
    IS(h.path, "/"); /* which the bytes did not have */
    IS(h.host, "h");
    CHECK(h.query.p == NULL);
    IS(http_field(&h, "a"), "b");
}

TEST(connections_are_kept_or_not)
{
    static const struct {
        const char *line, *fields;
        bool kept;
    } cases[] = {
        {"GET / HTTP/1.1", "", true},
        {"GET / HTTP/1.1", "Connection: close\r\n", false},
        {"GET / HTTP/1.1", "Connection: upgrade,  CLOSE\r\n", false},
        {"GET / HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", false},
        {"GET / HTTP/1.1", "Connection: enclose\r\n", true},
        {"GET / HTTP/1.0", "", false},
        {"GET / HTTP/1.0", "Connection: Keep-Alive\r\n", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text), "%s\r\nHost: x\r\n%s\r\n", cases[i].line,
                 cases[i].fields);
        CHECK_INT(parse_z(text), 1);
        CHECK_INT(h.keep_alive, cases[i].kept);
    }
}

TEST(lists)
{
    struct buf b = BUF_INIT(8);
    CHECK_INT(parse_z("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\nB: c\r\na: d\r\n\r\n"), 1);
    CHECK_INT(http_joined(&h, "A", &b), 1);
    CHECK_STR(buf_z(&b), "b, d");
    CHECK_INT(http_joined(&h, "C", &b), 0);
    CHECK_INT(http_joined(&h, "Host", &b), 1);
    CHECK_INT(http_joined(&h, "A", &b), -1);
    buf_release(&b);
    CHECK(http_has_token(STR("a, b ,\tc"), "B"));
    CHECK(http_has_token(STR("a, b ,\tc"), "c"));
    CHECK(!http_has_token(STR("ab, bc"), "b"));
    CHECK(!http_has_token(STR(""), "b"));
}

/* ---- decoding ---- */

static void decodes(const char *text, bool plus, const char *want)
{
    struct buf b = BUF_INIT(100);
    buf_addz(&b, ">");
    CHECK_INT(http_decode(&b, str_of(text), plus), want ? 0 : -1);
    CHECK_STR(b.p + 1, want ? want : "");
    buf_release(&b);
}

TEST(percent)
{
    decodes("", false, "");
    decodes("a%2Fb%2f%7e", false, "a/b/~");
    decodes("a+b%2B", false, "a+b+");
    decodes("a+b%2B", true, "a b+");
    decodes("%ff%FF", false, "\xff\xff");
    static const char *const bad[] = {"%",   "a%",  "a%2", "%2g",
                                      "%g2", "%00", "a%0", "%%20"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        decodes(bad[i], false, NULL);
}

static void query(const char *text, const char *name, int r, const char *value)
{
    struct buf b = BUF_INIT(10);
    CHECK_INT(http_query(str_of(text), name, &b), r);
    CHECK_STR(buf_z(&b), value);
    buf_release(&b);
}

TEST(queries)
{
    query("a=1&b=2&a=3", "a", 1, "1");
    query("a=1&b=2", "b", 1, "2");
    query("a=1&b=2", "c", 0, "");
    query("a&b=", "a", 1, "");
    query("a&b=", "b", 1, "");
    query("a=b=c", "a", 1, "b=c");
    query("%61=%62+%63", "a", 1, "b c");
    query("&&a=1", "a", 1, "1");
    query("%zz=1&a=2", "a", 1, "2");
    query("a=%zz", "a", -1, "");
    query("a=0123456789x", "a", -1, "");
    query("", "a", 0, "");
}

/* ---- chunks ---- */

/* The data of what comes in pieces of n bytes. -1: malformed. */
static int unchunk(const char *text, size_t n, struct buf *out, bool *over)
{
    struct http_chunks c = {0};
    struct buf in = BUF_INIT(1 << 20);
    size_t at = 0, length = strlen(text);
    int r = 0;
    while (r == 0 && c.state != CHUNK_DONE && at < length) {
        size_t some = length - at < n ? length - at : n;
        buf_add(&in, text + at, some);
        at += some;
        for (size_t took = 1; r == 0 && took > 0 && c.state != CHUNK_DONE;) {
            struct str data;
            r = http_chunk(&c, buf_str(&in), &data, &took);
            if (r == 0)
                buf_adds(out, data);
            if (r == 0)
                buf_consume(&in, took);
        }
    }
    *over = c.state == CHUNK_DONE && at == length && in.n == 0;
    buf_release(&in);
    return r;
}

TEST(chunks_in_pieces_of_any_size)
{
    static const char text[] = "5\r\nhello\r\n00000000001;x=\"\\\";\"\r\n \r\n"
                               "A\r\n0123456789\r\n0 ;end\r\nT: railer\r\nU:\r\n\r\n";
    for (size_t n = 1; n < sizeof(text); n++) {
        struct buf out = BUF_INIT(100);
        bool over;
        CHECK_INT(unchunk(text, n, &out, &over), 0);
        CHECK_STR(buf_z(&out), "hello 0123456789");
        CHECK(over);
        buf_release(&out);
    }
}

TEST(lines_between_chunks_have_limits)
{
    struct buf text = BUF_INIT(1 << 20), out = BUF_INIT(100);
    bool over;
    buf_addz(&text, "1;");
    for (int i = 0; i < 300; i++)
        buf_addc(&text, 'x');
    CHECK_INT(unchunk(buf_z(&text), 1, &out, &over), -1);
    CHECK_INT(unchunk(buf_z(&text), 1000, &out, &over), -1);
    buf_reset(&text);
    buf_addz(&text, "0\r\n");
    for (int i = 0; i < 900; i++)
        buf_addz(&text, "A: 345678\r\n");
    CHECK_INT(unchunk(buf_z(&text), 1, &out, &over), 0);
    CHECK(!over);
    for (int i = 0; i < 50; i++)
        buf_addz(&text, "A: 345678\r\n");
    CHECK_INT(unchunk(buf_z(&text), 1, &out, &over), -1);
    buf_release(&text);
    buf_release(&out);
}

/* ---- ranges, dates ---- */

TEST(ranges)
{
    static const struct {
        const char *text;
        uint64_t size;
        int r;
        uint64_t from, n;
    } cases[] = {
        {"bytes=0-0", 10, 1, 0, 1},
        {"bytes=0-", 10, 1, 0, 10},
        {"bytes=9-", 10, 1, 9, 1},
        {"bytes=2-4", 10, 1, 2, 3},
        {"bytes=2-400", 10, 1, 2, 8},
        {"bytes=-4", 10, 1, 6, 4},
        {"bytes=-40", 10, 1, 0, 10},
        {"Bytes=1-1", 10, 1, 1, 1},
        {"bytes=10-", 10, -1, 0, 0},
        {"bytes=-0", 10, -1, 0, 0},
        {"bytes=0-", 0, -1, 0, 0},
        {"bytes=-1", 0, -1, 0, 0},
        {"bytes=4-2", 10, 0, 0, 0},
        {"bytes=", 10, 0, 0, 0},
        {"bytes=-", 10, 0, 0, 0},
        {"bytes=a-b", 10, 0, 0, 0},
        {"bytes=1-2,3-4", 10, 0, 0, 0},
        {"bytes 1-2", 10, 0, 0, 0},
        {"octets=1-2", 10, 0, 0, 0},
        {"bytes=+1-2", 10, 0, 0, 0},
        {"bytes=1-+2", 10, 0, 0, 0},
        {"bytes=--2", 10, 0, 0, 0},
        {"bytes=18446744073709551616-", 10, 0, 0, 0},
        {"bytes=0-18446744073709551615", 10, 1, 0, 10},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t from = 0, n = 0;
        int r = http_range(str_of(cases[i].text), cases[i].size, &from, &n);
        if (r != cases[i].r || (r > 0 && (from != cases[i].from || n != cases[i].n)))
            T_FAIL("%s of %llu: %d, %llu, %llu", cases[i].text,
                   (unsigned long long)cases[i].size, r, (unsigned long long)from,
                   (unsigned long long)n);
    }
    uint64_t from, n;
    CHECK_INT(http_range((struct str){0}, 10, &from, &n), 0);
}

TEST(dates)
{
    char d[32];
    http_date(d, 0);
    CHECK_STR(d, "Thu, 01 Jan 1970 00:00:00 GMT");
    http_date(d, 784111777); /* RFC 9110's own */
    CHECK_STR(d, "Sun, 06 Nov 1994 08:49:37 GMT");
    http_date(d, 4102444799);
    CHECK_STR(d, "Thu, 31 Dec 2099 23:59:59 GMT");
}

/* Those of RFC 9110 and 6585 that answers here have. */
TEST(reasons)
{
    static const char *const lines[] = {
        "100 Continue",
        "101 Switching Protocols",
        "200 OK",
        "201 Created",
        "202 Accepted",
        "204 No Content",
        "206 Partial Content",
        "304 Not Modified",
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "405 Method Not Allowed",
        "406 Not Acceptable",
        "408 Request Timeout",
        "409 Conflict",
        "410 Gone",
        "411 Length Required",
        "413 Content Too Large",
        "414 URI Too Long",
        "415 Unsupported Media Type",
        "416 Range Not Satisfiable",
        "417 Expectation Failed",
        "422 Unprocessable Content",
        "426 Upgrade Required",
        "429 Too Many Requests",
        "431 Request Header Fields Too Large",
        "451 Unavailable For Legal Reasons",
        "500 Internal Server Error",
        "501 Not Implemented",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
        "505 HTTP Version Not Supported",
    };
    char text[64];
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        int status = (int)strtol(lines[i], NULL, 10);
        snprintf(text, sizeof(text), "%d %s", status, http_reason(status));
        CHECK_STR(text, lines[i]);
    }
    CHECK_STR(http_reason(299), "Status");
}

T_MAIN
