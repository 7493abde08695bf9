/* SPDX-License-Identifier: MIT */
/*
 * Text mode against a server of ours, one connection after the other: fetching, links,
 * forms, cookies, history, and what goes wrong. And bodies of all kinds.
 */
#define T_LIMIT_S 60
#include "archive/zip_gz.h"
#include "base/clock.h"
#include "text/webcharset.h"
#include "webpage/webbody.h"
#include "webpage/webreader.h"

#include "t.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

static struct loop *loop;
static struct webtext *web;
static struct err last;
static int port;
static char url[128];

/* ---- the server ---- */

static void say(int fd, const char *head, struct str body)
{
    char text[2048];
    int n = snprintf(text, sizeof(text),
                     "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                     head, body.n);
    if (write(fd, text, (size_t)n) < 0 || write(fd, body.p, body.n) < 0)
        return;
}

static void say_packed(int fd)
{
    struct buf b = BUF_INIT(1 << 20);
    gzip_add(&b, STR("<p>unpacked"), NULL);
    say(fd, "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip", buf_str(&b));
    buf_release(&b);
}

/* A page that says what was asked. */
static void echo(int fd, const char *request)
{
    char page[8192];
    int n = snprintf(page, sizeof(page), "<title>Echo</title><pre>%s</pre>", request);
    say(fd, "200 OK\r\nContent-Type: text/html", str_n(page, (size_t)n));
}

static const char form_page[] =
    "<title>Form</title><form action=/echo?old method=post><input name=q value=1>"
    "<input type=hidden name=h value='a b'><input type=checkbox name=c value=yes>"
    "<input type=radio name=r value=1 checked><input type=radio name=r value=2>"
    "<select name=s><option value=v>Label<option>two</select>"
    "<input name=off disabled value=x><button name=b value=go>Go</button></form>"
    "<form action=/echo><input name=g><button type=button>Script</button></form>"
    "<form action=/echo method=post enctype=multipart/form-data><input name=m>"
    "<input type=submit></form><a href=/next#part>Next</a>"
    "<a href=file:///etc/hostname>File</a>";

static void answer(int fd, const char *request)
{
    const char *path = strchr(request, ' ');
    path = path ? path + 1 : "";
#define IS(p) (strncmp(path, p, strlen(p)) == 0)
    if (IS("/echo"))
        echo(fd, request);
    else if (IS("/form"))
        say(fd, "200 OK\r\nContent-Type: text/html; charset=utf-8", STR(form_page));
    else if (IS("/turns")) {
        static int turn; /* there from the third time on */
        say(fd, "200 OK\r\nContent-Type: text/html",
            ++turn < 3 ? STR("<p>not yet") : STR("<p>it <b>has</b> <a href=/>come</a> now"));
    } else if (IS("/next"))
        say(fd, "200 OK\r\nContent-Type: text/html", STR("<title>Next</title>next"));
    else if (IS("/cookie"))
        say(fd, "302 Found\r\nSet-Cookie: k=v; Path=/\r\nLocation: echo", STR(""));
    else if (IS("/round"))
        say(fd, "302 Found\r\nLocation: /round", STR(""));
    else if (IS("/to-file"))
        say(fd, "302 Found\r\nLocation: file:///etc/hostname", STR(""));
    else if (IS("/keep"))
        say(fd, "307 Again\r\nLocation: /echo", STR(""));
    else if (IS("/refresh"))
        say(fd, "200 OK\r\nContent-Type: text/html",
            STR("<meta http-equiv=refresh content='0;url=/next'>"));
    else if (IS("/packed"))
        say_packed(fd);
    else if (IS("/missing"))
        say(fd, "404 Not Found\r\nContent-Type: text/plain", STR("not here"));
    else if (IS("/large")) {
        static char block[65536];
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
        bool on = write(fd, head, sizeof(head) - 1) > 0;
        for (int i = 0; on && i < 1000; i++)
            on = write(fd, block, sizeof(block)) > 0;
    } else if (IS("/silent"))
        pause();
    else if (IS("/garbage"))
        say(fd, "200 OK\r\nContent-Encoding: br\r\nContent-Type: text/html", STR("xyz"));
    else
        say(fd, "200 OK\r\nContent-Type: text/html", STR("<title>Root</title>root"));
}

static bool is_whole(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n"),
               *n = strstr(request, "Content-Length: ");
    return end && (!n || strlen(end + 4) >= (size_t)atol(n + 16));
}

static void serve(int listener)
{
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        char request[16384] = "";
        size_t have = 0;
        int fd = accept(listener, NULL, NULL);
        while (fd >= 0 && !is_whole(request)) {
            ssize_t n = read(fd, request + have, sizeof(request) - 1 - have);
            if (n <= 0)
                break;
            have += (size_t)n;
        }
        if (fd >= 0)
            answer(fd, request);
        close(fd);
    }
}

static void begin_server(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
    CHECK(listen(fd, 16) == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0);
    port = ntohs(a.sin_port);
    if (t_fork() == 0)
        serve(fd);
    close(fd);
}

/* ---- the reader ---- */

static void on_done(struct webtext *w, const struct err *e)
{
    (void)w;
    last = e ? *e : (struct err)ERR_INIT;
    loop_stop(loop);
}

static void begin(const char *deny, int ms)
{
    struct err e = ERR_INIT;
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    unsetenv("ALL_PROXY");
    begin_server();
    loop = loop_new();
    struct webtext_spec spec = {.loop = loop, .deny = deny, .ms = ms, .on_done = on_done};
    web = webtext_new(&spec, &e);
    if (!web)
        T_FAIL("%s", e.text);
}

static void end(void)
{
    webtext_free(web);
    loop_free(loop);
}

static const char *at(const char *path)
{
    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", port, path);
    return url;
}

static void wait_done(int rc)
{
    if (rc == 0)
        CHECK_INT(loop_run(loop), 0);
}

static void try_to_go(const char *where)
{
    last = (struct err)ERR_INIT;
    wait_done(webtext_goto(web, str_of(where), &last));
}

static void worked(int rc)
{
    if (rc < 0)
        T_FAIL("%s", last.text);
    wait_done(rc);
    if (last.code)
        T_FAIL("%s", last.text);
}

static void go(const char *where) { worked(webtext_goto(web, str_of(where), &last)); }

static void failed(enum err_code code, const char *part)
{
    CHECK_INT(last.code, code);
    if (!strstr(last.text, part))
        T_FAIL("\"%s\" has no \"%s\" in it", last.text, part);
}

static const char *seen(void)
{
    static struct buf out = BUF_INIT(64 << 20);
    buf_reset(&out);
    CHECK_INT(webtext_observe(web, &out), 0);
    return buf_z(&out);
}

static void sees(const char *part)
{
    if (!strstr(seen(), part))
        T_FAIL("\"%.2000s\" has no \"%s\" in it", seen(), part);
}

TEST(a_page_and_its_links)
{
    begin(NULL, 0);
    go(at("/form#x"));
    CHECK_STR(webtext_title(web), "Form");
    CHECK_STR(webtext_url(web), at("/form"));
    CHECK_INT(webtext_status(web), 200);
    struct buf links = BUF_INIT(4096);
    webtext_links(web, &links);
    CHECK(strstr(buf_z(&links), "/next#part\n"));
    buf_release(&links);
    worked(webtext_click(web, STR("12"), &last));
    CHECK_STR(webtext_title(web), "Next");
    worked(webtext_back(web, &last));
    CHECK_STR(webtext_title(web), "Form");
    worked(webtext_back(web, &last));
    CHECK_STR(webtext_title(web), "Form");
    worked(webtext_forward(web, &last));
    CHECK_STR(webtext_title(web), "Next");
    worked(webtext_forward(web, &last));
    go(at("/missing"));
    CHECK_INT(webtext_status(web), 404);
    CHECK_STR(seen(), "not here");
    end();
}

TEST(forms_are_sent)
{
    struct str two = STR("two");
    begin(NULL, 0);
    go(at("/form"));
    worked(webtext_fill(web, STR("1"), STR("x&y \n=é"), &last));
    worked(webtext_click(web, STR("2"), &last));
    worked(webtext_click(web, STR("4"), &last));
    worked(webtext_select(web, STR("5"), &two, 1, &last));
    sees("Filled in:\n[1: textbox 'q' value='x&y \\n=é']");
    sees("[2: checkbox 'c' checked]\n[4: radio 'r' checked]\n[5: combobox 's' "
         "value='two'");
    worked(webtext_click(web, STR("7"), &last));
    sees("POST /echo?old HTTP/1.1");
    sees("q=x%26y+%0D%0A%3D%C3%A9&h=a+b&c=yes&r=2&s=two&b=go\n");
    worked(webtext_back(web, &last));
    worked(webtext_fill(web, STR("8"), STR("z"), &last));
    worked(webtext_press(web, STR("8"), STR("Enter"), &last));
    sees("GET /echo?g=z HTTP/1.1");
    worked(webtext_back(web, &last));
    worked(webtext_fill(web, STR("10"), STR("part"), &last));
    worked(webtext_click(web, STR("11"), &last));
    sees("Content-Type: multipart/form-data; boundary=");
    sees("name=\"m\"\n\npart\n--");
    end();
}

TEST(what_cannot_be_done)
{
    struct str three = STR("three");
    begin(NULL, 0);
    go(at("/form"));
    CHECK_INT(webtext_click(web, STR("zz9"), &last), -1);
    failed(ERR_NOTFOUND, "ValueError: Could not find element with bid \"zz9\"");
    CHECK_INT(webtext_fill(web, STR("2"), STR("x"), &last), -1);
    failed(ERR_INVALID, "Input of type \"checkbox\" cannot be filled");
    CHECK_INT(webtext_fill(web, STR("12"), STR("x"), &last), -1);
    failed(ERR_INVALID, "Element is not an <input>");
    CHECK_INT(webtext_fill(web, STR("6"), STR("x"), &last), -1);
    failed(ERR_INVALID, "element is not enabled");
    CHECK_INT(webtext_select(web, STR("1"), &three, 1, &last), -1);
    failed(ERR_INVALID, "not a <select>");
    CHECK_INT(webtext_select(web, STR("5"), &three, 1, &last), -1);
    failed(ERR_NOTFOUND, "did not find some options");
    CHECK_INT(webtext_click(web, STR("9"), &last), -1);
    failed(ERR_UNSUPPORTED, "script");
    CHECK_INT(webtext_click(web, STR("13"), &last), -1);
    failed(ERR_DENIED, "file of this machine");
    CHECK_INT(webtext_goto(web, STR("/"), &last), 0);
    CHECK_INT(webtext_click(web, STR("12"), &last), -1);
    failed(ERR_BUSY, "not done");
    CHECK_INT(loop_run(loop), 0);
    end();
}

TEST(redirects_cookies_and_packing)
{
    begin(NULL, 0);
    go(at("/cookie"));
    CHECK_STR(webtext_url(web), at("/echo"));
    sees("Cookie: k=v");
    sees("Accept-Encoding: gzip, deflate");
    sees("Sec-Fetch-Site: none");
    go(at("/refresh"));
    CHECK_STR(webtext_title(web), "Next");
    go(at("/packed"));
    CHECK_STR(seen(), "unpacked\n");
    try_to_go(at("/round"));
    failed(ERR_LIMIT, "net::ERR_TOO_MANY_REDIRECTS");
    try_to_go(at("/to-file"));
    failed(ERR_DENIED, "ERR_UNSAFE_REDIRECT");
    try_to_go(at("/garbage"));
    failed(ERR_UNSUPPORTED, "\"br\"");
    CHECK_STR(seen(), "unpacked\n");
    end();
}

TEST(limits_and_refusals)
{
    begin("local", 0);
    try_to_go(at("/"));
    CHECK(last.code != ERR_NONE);
    failed(ERR_DENIED, "its address 127.0.0.1:");
    end();
    begin("10.0.0.0/8, ::1", 0);
    go(at("/"));
    CHECK_STR(webtext_title(web), "Root");
    try_to_go("http://127.0.0.1:25/");
    failed(ERR_DENIED, "ERR_UNSAFE_PORT");
    try_to_go("javascript:alert(1)");
    failed(ERR_UNSUPPORTED, "Cannot navigate to invalid URL");
    try_to_go("  ");
    failed(ERR_INVALID, "empty");
    try_to_go(at("/large"));
    failed(ERR_LIMIT, "larger than");
    CHECK_STR(webtext_title(web), "Root");
    end();
    struct err e = ERR_INIT;
    struct webtext_spec spec = {.loop = loop, .deny = "10.0.0.0/33", .on_done = on_done};
    CHECK(!webtext_new(&spec, &e) && e.code == ERR_INVALID);
}

TEST(a_server_that_says_nothing)
{
    begin(NULL, 300);
    try_to_go(at("/silent"));
    failed(ERR_TIMEOUT, "Timeout 300ms exceeded");
    end();
}

/* A word that cuts what is under way. */
static void check(struct halt *h)
{
    char byte;
    CHECK_INT(read(h->fds[0], &byte, 1), 1);
    h->cut = true;
}

TEST(what_is_cut_leaves_the_page_and_can_go_on)
{
    struct err e = ERR_INIT;
    struct webreader r;
    struct webtext_spec spec = {0};
    char text[300];
    int word[2];
    CHECK_INT(pipe(word), 0);
    struct halt h = {.fds = {word[0], -1}, .check = check};
    begin_server();
    unsetenv("http_proxy");
    CHECK_INT(webreader_open(&r, &spec, &h, &e), 0);
    CHECK_INT(webreader_goto(&r, str_of(at("/form"))), 0);
    snprintf(text, sizeof(text), "fill('1', 'new') goto('%s') fill('1', 'never')",
             at("/silent"));
    CHECK_INT(write(word[1], "c", 1), 1);
    CHECK_INT(webreader_act(&r, str_of(text)), -1);
    CHECK_INT(r.why.code, ERR_CANCELLED);
    CHECK(r.did.done < 2 && r.did.all == 3);
    h.cut = false;
    h.end_ms = clock_ms() + 200;
    CHECK_INT(webreader_act(&r, str_of(text)), -1);
    CHECK_INT(r.why.code, ERR_CANCELLED);
    CHECK(r.did.done < 2);
    h.end_ms = 0;
    CHECK_STR(webtext_url(r.web), at("/form"));
    h.end_ms = clock_ms() + 200;
    CHECK_INT(webreader_act(&r, STR("noop(60000)")), -1);
    CHECK_INT(r.why.code, ERR_CANCELLED);
    h.end_ms = 0;
    CHECK_INT(webreader_act(&r, STR("fill('1', 'newer') noop(1)")), 0);
    CHECK_INT(r.did.done, 2);
    webreader_close(&r);
}

TEST(what_is_waited_for)
{
    struct err e = ERR_INIT;
    struct webreader r;
    struct webtext_spec spec = {0};
    begin_server();
    unsetenv("http_proxy");
    CHECK_INT(webreader_open(&r, &spec, NULL, &e), 0);
    CHECK_INT(webreader_goto(&r, str_of(at("/turns"))), 0);
    CHECK_INT(webreader_act(&r, STR("wait_for('HAS come now', 30000) wait_for(bid='1')")),
              0);
    CHECK_INT(webreader_act(&r, STR("wait_for('never', 1)")), -1);
    last = r.why;
    failed(ERR_TIMEOUT, "TimeoutError: Page.wait_for: Timeout 1ms exceeded.");
    CHECK_INT(webreader_act(&r, STR("wait_for(selector='p')")), -1);
    last = r.why;
    failed(ERR_UNSUPPORTED, "needs a browser");
    CHECK_INT(webreader_goto(&r, str_of(at("/form"))), 0);
    CHECK_INT(webreader_act(&r, STR("fill('1', 'x') wait_for('never', 60000)")), -1);
    last = r.why;
    failed(ERR_TIMEOUT, "does not change");
    webreader_close(&r);
}

TEST(files_and_folders)
{
    char path[512];
    begin(NULL, 0);
    snprintf(path, sizeof(path), "%s/a b<.txt", t_dir());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "plain\n", 6) == 6);
    close(fd);
    go(t_dir());
    sees("- [../][1]\n- [a b<.txt][2] 6 bytes");
    worked(webtext_click(web, STR("2"), &last));
    CHECK_STR(seen(), "plain\n");
    try_to_go("file:///no/such/file");
    failed(ERR_NOTFOUND, "cannot open /no/such/file");
    end();
}

TEST(files_of_another_user)
{
    char path[512];
    gid_t none[] = {65534};
    loop = loop_new();
    struct webtext_spec spec = {.loop = loop,
                                .on_done = on_done,
                                .as_user = true,
                                .uid = 65534,
                                .gid = 65534,
                                .groups = none,
                                .groups_n = 1};
    web = webtext_new(&spec, NULL);
    snprintf(path, sizeof(path), "%s/mine", t_dir());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "plain\n", 6) == 6);
    close(fd);
    try_to_go(path);
    failed(ERR_DENIED, geteuid() == 0 ? "Permission denied" : "cannot become user 65534");
    end();
}

/* ---- bodies ---- */

static struct webpage page;

static int read_body(struct str bytes, const char *type, const char *encoding)
{
    struct webbody b = {.bytes = bytes,
                        .type = str_of(type),
                        .encoding = str_of(encoding),
                        .url = STR("http://h/x")};
    last = (struct err)ERR_INIT;
    webpage_release(&page);
    webpage_init(&page);
    return webbody_read(&b, &page, &last);
}

static void body_is(struct str bytes, const char *type, const char *want)
{
    if (read_body(bytes, type, "") < 0)
        T_FAIL("%s", last.text);
    CHECK_STR(buf_z(&page.text), want);
}

TEST(character_sets)
{
    body_is(STR("<p>\xE9"), "text/html; charset=ISO-8859-1", "é\n");
    body_is(STR("<p>\xE9"), "text/html", "é\n");
    body_is(STR("<p>\x80"), "text/html; charset=latin1", "€\n");
    body_is(STR("<p>\xC3\xA9"), "text/html", "é\n");
    body_is(STR("<meta charset='windows-1251'><p>\xE9"), "text/html", "й\n");
    body_is(STR("<meta content='text/html; charset=koi8-r'><p>\xCA"), "text/html", "й\n");
    body_is(STR("\xEF\xBB\xBF<p>\xC3\xA9"), "text/html; charset=latin1", "é\n");
    body_is(STR("\xFF\xFE<\0p\0>\0\xE9\0\x3D\xD8\x00\xDE"), "text/html", "é😀\n");
    body_is(STR("<p>a\xFF"), "text/html; charset=utf-8", "a\xEF\xBF\xBD\n");
    body_is(STR("<p>\x82\xA0\xB1"), "text/html; charset=Shift_JIS", "あｱ\n");
    body_is(STR("<p>\xA4\xA2\x8E\xB1"), "text/html; charset=EUC-JP", "あｱ\n");
    body_is(STR("<meta charset=gb2312><p>\xD6\xD0\x81\x40"), "text/html", "中丂\n");
    body_is(STR("<p>\xA4\xA4\xA4\x40"), "text/html; charset=big5", "中一\n");
    body_is(STR("<p>\xB0\xA1\x81\x41\xC6\x52"), "text/html; charset=euc-kr", "가갂힣\n");
    body_is(STR("<p>\xD6\xD0\xFF\x81"), "text/html; charset=gbk",
            "中\xEF\xBF\xBD\xEF\xBF\xBD\n");
    CHECK_INT(read_body(STR("<p>\x82\xA0"), "text/html; charset=hz-gb-2312", ""), 0);
    CHECK(strstr(buf_z(&page.text), "(The page is in hz-gb-2312"));
}

TEST(types)
{
    body_is(STR("{\"a\":[1,{}],\"b\":\"x:{\\\"\"}"), "application/json",
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x:{\\\"\"\n}\n");
    body_is(STR("{broken"), "application/json", "{broken");
    body_is(STR("<p>x"), "text/plain", "<p>x");
    body_is(STR(" <!DOCTYPE html><p>x"), "", "x\n");
    body_is(STR("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\2\0\0\0"),
            "image/png", "Type: image/png\nSize: 2 x 3 pixels\nBytes: 29\n");
    body_is(STR("\x01\x02\xFF"), "application/x-thing",
            "Type: application/x-thing\nBytes: 3\n(This is not text.)\n");
}

TEST(bombs_are_bounded)
{
    struct buf plain = BUF_INIT(WEBBODY_PLAIN_MAX + 2), packed = BUF_INIT(128 << 20);
    CHECK(buf_reserve(&plain, WEBBODY_PLAIN_MAX + 1));
    memset(plain.p, 'x', WEBBODY_PLAIN_MAX + 1);
    buf_commit(&plain, WEBBODY_PLAIN_MAX + 1);
    CHECK_INT(gzip_add(&packed, buf_str(&plain), NULL), 0);
    CHECK_INT(read_body(buf_str(&packed), "text/plain", "gzip"), -1);
    failed(ERR_LIMIT, "longer than");
    CHECK_INT(read_body(STR("\x1f\x8b\x08\0"), "text/plain", "gzip"), -1);
    CHECK_INT(last.code, ERR_INVALID);
    buf_release(&plain);
    buf_release(&packed);
}

T_MAIN
