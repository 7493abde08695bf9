/* SPDX-License-Identifier: MIT */
/*
 * What a backend's answer means, where a redirect leads, and what may be sent to whom.
 */
#include "front/connect/ask.h"

#include "front/backend/hello.h"
#include "front/backend/secret.h"

#include "t.h"

#include <fcntl.h>

static struct ask a;
static struct ask_result r;

static void begin(const char *url)
{
    struct err e = ERR_INIT;
    if (ask_begin(&a, str_of(url), &e) < 0)
        T_FAIL("%s: %s", url, e.text);
}

/* Judges an answer; `lines` are its fields, each with its end. */
static int judge(int status, const char *lines, const char *body)
{
    static struct buf text = BUF_INIT(20000);
    static struct http_head h;
    struct http_error why;
    size_t used;
    buf_reset(&text);
    buf_addf(&text, "HTTP/1.1 %d x\r\n%s\r\n", status, lines);
    CHECK_INT(http_parse_answer(buf_str(&text), &h, &used, &why), 1);
    return ask_judge(&a, &h, str_of(body), &r);
}

static const char *to(const char *from, int status, const char *location)
{
    static char out[300];
    char line[6000];
    snprintf(line, sizeof(line), "Location: %s\r\n", location);
    begin(from);
    if (judge(status, line, "") < 0) {
        CHECK_STR(connect_outcome_name(r.outcome), "redirect");
        return r.e.text;
    }
    snprintf(out, sizeof(out), "%s %.*s %d %.*s", a.at.tls ? "tls" : "plain",
             STR_ARG(a.at.host), a.at.port, STR_ARG(a.at.target));
    return out;
}

static void check_says(const char *got, const char *part)
{
    if (!strstr(got, part))
        T_FAIL("\"%s\" has not \"%s\"", got, part);
}

TEST(redirects_are_followed_to_the_same_host)
{
    CHECK_STR(to("wss://a.test/x/y?k=1", 307, "/z"), "tls a.test 443 /z");
    CHECK_STR(to("wss://a.test/x/y?k=1", 308, "z?q"), "tls a.test 443 /x/z?q");
    CHECK_STR(to("wss://a.test/x/y?k=/1", 302, "?q=2"), "tls a.test 443 /x/y?q=2");
    CHECK_STR(to("wss://a.test", 301, "z"), "tls a.test 443 /z");
    CHECK_STR(to("wss://a.test:9/x", 303, "//A.test:9/w"), "tls A.test 9 /w");
    CHECK_STR(to("wss://a.test/x", 307, "https://a.test:8443/w#part"),
              "tls a.test 8443 /w");
    CHECK_STR(to("ws://a.test:80/x", 307, "https://a.test/w"), "tls a.test 443 /w");
    CHECK_STR(to("ws://a.test:81/x", 307, "http://a.test:81/w"), "plain a.test 81 /w");
    CHECK_STR(to("wss://[::1]:81/x", 307, "w"), "tls ::1 81 /w");
}

TEST(and_refused_by_name)
{
    check_says(to("wss://a.test/x", 307, "http://a.test/"), "from TLS to none");
    check_says(to("wss://a.test/x", 307, "wss://b.test/"),
               "wss://b.test, which is another");
    check_says(to("wss://a.test/x", 307, "//a.test.b.test/"), "another host");
    check_says(to("ws://a.test/x", 307, "ws://a.test:81/"), "another port");
    check_says(to("wss://a.test/x", 307, "ftp://a.test/"), "not a WebSocket URL");
    check_says(to("wss://a.test/x", 307, "wss://a.test:99999/"), "not a WebSocket URL");
    check_says(to("wss://a.test/x", 307, "/a b"), "not a WebSocket URL");
    check_says(to("wss://a.test/x", 307, ""), "without an address");
    char long_one[5000];
    memset(long_one, 'x', sizeof(long_one) - 1);
    long_one[0] = '/';
    long_one[sizeof(long_one) - 1] = 0;
    check_says(to("wss://a.test/x", 307, long_one), "not a WebSocket URL");
    begin("wss://a.test/");
    CHECK_INT(judge(307, "", ""), -1);
    check_says(r.e.text, "without an address");
}

TEST(and_not_for_ever)
{
    begin("wss://a.test/");
    for (int i = 0; i < ASK_HOPS_MAX; i++)
        CHECK_INT(judge(307, "Location: /\r\n", ""), 0);
    CHECK_INT(judge(307, "Location: /\r\n", ""), -1);
    check_says(r.e.text, "too many times");
    begin("wss://a.test/");
    CHECK_INT(judge(307, "Location: /\r\n", ""), 0);
}

static void check_status(int status, const char *outcome, const char *says)
{
    begin("wss://a.test/");
    CHECK_INT(judge(status, "", ""), -1);
    CHECK_STR(connect_outcome_name(r.outcome), outcome);
    check_says(r.e.text, says);
    CHECK_INT(r.later_ms, 0);
}

TEST(each_status_has_a_name)
{
    check_status(401, "refused", "--connect-token-file");
    check_status(403, "refused", "refuses access (403 Forbidden)");
    check_status(404, "not-found", "--connect's URL (404 Not Found)");
    check_status(410, "not-found", "(410");
    check_status(426, "no-websocket", "requires another protocol");
    check_status(429, "busy", "again later");
    check_status(500, "busy", "not able");
    check_status(503, "busy", "(503");
    check_status(200, "no-websocket", "not as a WebSocket");
    check_status(204, "no-websocket", "(204");
    check_status(304, "no-websocket", "(304");
    check_status(400, "no-websocket", "(400");
    check_status(599, "busy", "(599");
}

TEST(what_the_backend_says_is_shown_within_bounds)
{
    begin("wss://a.test/");
    CHECK_INT(judge(403, "Retry-After: 7\r\n", " no such\x1b[2J sandbox \r\nmore"), -1);
    CHECK_STR(r.e.text, "the backend refuses access (403 Forbidden); its answer: no "
                        "such?[2J sandbox");
    CHECK_INT(r.later_ms, 7000);
    CHECK_INT(judge(503, "Retry-After: 999999999999\r\n", "<html>"), -1);
    CHECK(!strstr(r.e.text, "html"));
    CHECK_INT(r.later_ms, 300000);
    char body[4000];
    memset(body, 'y', sizeof(body) - 1);
    body[sizeof(body) - 1] = 0;
    CHECK_INT(judge(403, "Retry-After: soon\r\n", body), -1);
    CHECK(strlen(r.e.text) < 300);
    CHECK_INT(r.later_ms, 0);
}

/* A handshake's answer to our key, with one line changed. */
static int shake(const char *upgrade, const char *connection, const char *more,
                 bool right)
{
    struct buf fields = BUF_INIT(20000);
    struct err e = ERR_INIT;
    char accept[WS_ACCEPT_SIZE], lines[1000];
    begin("wss://a.test/");
    CHECK_INT(ask_fields(&a, "od/1", STR("t"), STR("X: y\r\n"), &fields, &e), 0);
    CHECK_INT(ws_accept_key(str_of(a.key), accept), 0);
    if (!right)
        accept[3] = accept[3] == 'x' ? 'y' : 'x';
    snprintf(lines, sizeof(lines), "%s%sSec-WebSocket-Accept: %s\r\n%s", upgrade,
             connection, accept, more);
    buf_release(&fields);
    return judge(101, lines, "");
}

#define UPGRADE    "Upgrade: websocket\r\n"
#define CONNECTION "Connection: Upgrade\r\n"

TEST(a_handshake_is_checked)
{
    CHECK_INT(shake(UPGRADE, CONNECTION, "", true), 1);
    CHECK_INT(shake(UPGRADE, "Connection: keep-alive\r\nConnection: upgrade\r\n",
                    "Sec-WebSocket-Protocol: od.events.v1\r\n", true),
              1);
    CHECK_INT(shake(UPGRADE, CONNECTION, "", false), -1);
    CHECK_STR(connect_outcome_name(r.outcome), "no-websocket");
    CHECK_INT(shake("", CONNECTION, "", true), -1);
    CHECK_INT(shake(UPGRADE, "", "", true), -1);
    CHECK_INT(shake(UPGRADE, CONNECTION, "Sec-WebSocket-Protocol: chat\r\n", true), -1);
    CHECK_INT(shake(UPGRADE, CONNECTION,
                    "Sec-WebSocket-Extensions: permessage-deflate\r\n", true),
              -1);
}

TEST(the_request_has_what_it_needs)
{
    struct buf out = BUF_INIT(20000);
    struct err e = ERR_INIT;
    begin("wss://a.test/");
    CHECK_INT(ask_fields(&a, "od/1", STR("tok"), STR("X: y\r\n"), &out, &e), 0);
    const char *const lines[] = {"Upgrade: websocket\r\n",
                                 "Sec-WebSocket-Protocol: od.events.v1\r\n",
                                 "User-Agent: od/1\r\n", "Authorization: Bearer tok\r\n",
                                 "\r\nX: y\r\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        check_says(buf_z(&out), lines[i]);
    char key[WS_KEY_SIZE];
    memcpy(key, a.key, sizeof(key));
    buf_reset(&out);
    CHECK_INT(ask_fields(&a, "od/1", STR(""), STR(""), &out, &e), 0);
    CHECK(!strstr(buf_z(&out), "Authorization"));
    CHECK(memcmp(key, a.key, sizeof(key)) != 0);
    buf_release(&out);
    buf_init(&out, 100);
    CHECK_INT(ask_fields(&a, "od/1", STR("tok"), STR(""), &out, &e), -1);
    buf_release(&out);
}

TEST(headers_that_cannot_be_are_refused_without_their_value)
{
    static const struct {
        const char *line, *says;
    } bad[] = {{"secret", "NAME: VALUE"},
               {": secret", "NAME: VALUE"},
               {"X y: secret", "NAME: VALUE"},
               {"X : secret", "NAME: VALUE"},
               {"host: secret", "header host is set by od itself"},
               {"Sec-WebSocket-Key: secret", "set by od itself"},
               {"UPGRADE: secret", "set by od itself"},
               {"X: sec\r\nret: secret", "header X has a control"}};
    struct buf out = BUF_INIT(100);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct err e = ERR_INIT;
        CHECK_INT(ask_add_line(&out, str_of(bad[i].line), &e), -1);
        check_says(e.text, bad[i].says);
        CHECK(!strstr(e.text, "secret"));
    }
    CHECK_INT(out.n, 0);
    CHECK_INT(ask_add_line(&out, STR("X-Y:  a: b\tc "), NULL), 0);
    CHECK_STR(buf_z(&out), "X-Y: a: b\tc\r\n");
    buf_release(&out);
}

static const char *token_of(const char *content)
{
    static struct buf out = BUF_INIT(BACKEND_SECRET_MAX);
    static struct err e;
    char path[300];
    snprintf(path, sizeof(path), "%s/token", t_dir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(content, f) >= 0 && fclose(f) == 0);
    return backend_read_secret(path, false, &out, &e) < 0 ? e.text : buf_z(&out);
}

TEST(a_token_is_the_first_line_of_a_file)
{
    CHECK_STR(token_of("abc.DEF-1=\nmore"), "abc.DEF-1=");
    CHECK_STR(token_of("  abc\r\n"), "abc");
    CHECK_STR(token_of("abc"), "abc");
    check_says(token_of(""), "holds no token");
    check_says(token_of("\nabc"), "holds no token");
    check_says(token_of("a b"), "no header can carry");
    check_says(token_of("a\xc3\xa9"), "no header can carry");
    char text[BACKEND_SECRET_MAX + 2];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    check_says(token_of(text), "longer than");
    struct buf out = BUF_INIT(BACKEND_SECRET_MAX);
    struct err e;
    CHECK_INT(backend_read_secret(t_dir(), false, &out, &e), -1);
    check_says(e.text, "is not a file");
    CHECK_INT(backend_read_secret("/nonexistent/token", false, &out, &e), -1);
    check_says(e.text, "/nonexistent/token: No such file");
    buf_release(&out);
}

static int allowed(const char *url, bool proxied)
{
    struct err e = ERR_INIT;
    begin(url);
    int rc = ask_allow_secret(&a, proxied, &e);
    if (rc < 0)
        check_says(e.text, "--connect-insecure");
    return rc;
}

TEST(secrets_go_by_tls_or_nowhere)
{
    CHECK_INT(allowed("wss://a.test/", true), 0);
    CHECK_INT(allowed("ws://localhost/", false), 0);
    CHECK_INT(allowed("ws://127.0.0.1:99/", false), 0);
    CHECK_INT(allowed("ws://127.8.9.1/", false), 0);
    CHECK_INT(allowed("http://[::1]/", false), 0);
    CHECK_INT(allowed("ws://127.0.0.1/", true), -1);
    CHECK_INT(allowed("ws://a.test/", false), -1);
    CHECK_INT(allowed("ws://localhost.a.test/", false), -1);
    CHECK_INT(allowed("ws://127.0.0.1.a.test/", false), -1);
    CHECK_INT(allowed("ws://128.0.0.1/", false), -1);
    CHECK_INT(allowed("ws://[::2]/", false), -1);
    CHECK_INT(allowed("ws://10.0.0.1/", false), -1);
}

TEST(only_host_and_port_of_a_url_are_shown)
{
    struct buf out = BUF_INIT(1000);
    begin("https://me:password@a.test:8443/secret?key=1");
    ask_print(&a, &out);
    CHECK_STR(buf_z(&out), "wss://a.test:8443");
    buf_release(&out);
    struct err e = ERR_INIT;
    CHECK_INT(ask_begin(&a, STR("ftp://me:password@a.test/"), &e), -1);
    CHECK(!strstr(e.text, "password"));
}

TEST(os_release_is_read_as_a_shell_would)
{
    static const struct {
        const char *text, *value;
    } rows[] = {{"ID=debian\nVERSION_ID=\"12\"\n", "debian"},
                {"VERSION_ID=1\nID=\"a b\"", "a b"},
                {"ID='x\\y' # z", "x\\y"},
                {"ID=\"a\\\"b\\$c\"", "a\"b$c"},
                {"ID=", ""},
                {"ID=\"", ""},
                {"ID=a\\", "a\\"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf out = BUF_INIT(100);
        CHECK_INT(backend_os_release(str_of(rows[i].text), "ID", &out), 0);
        CHECK_STR(buf_z(&out), rows[i].value);
        buf_release(&out);
    }
    struct buf out = BUF_INIT(3);
    CHECK_INT(backend_os_release(STR("XID=1\nID2=3\n#ID=4"), "ID", &out), -1);
    CHECK_INT(backend_os_release(STR("ID=long"), "ID", &out), -1);
    CHECK_INT(out.n, 0);
    buf_release(&out);
}

T_MAIN
