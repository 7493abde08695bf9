/* SPDX-License-Identifier: MIT */
/* URLs, and which proxy the environment wants for one. */
#include "http/url.h"
#include "http/url_host.h"
#include "http/url_join.h"

#include "t.h"

static const char *shown(const char *text)
{
    static char out[500];
    struct url u;
    struct err e = ERR_INIT;
    if (url_parse(&u, str_of(text), &e) < 0) {
        CHECK_INT(e.code, ERR_INVALID);
        return NULL;
    }
    snprintf(out, sizeof(out), "%.*s %.*s %.*s %u %.*s %.*s%s", STR_ARG(u.scheme),
             u.user.p ? (int)u.user.n : 1, u.user.p ? u.user.p : "-", STR_ARG(u.host),
             u.port, STR_ARG(u.authority), STR_ARG(u.target), u.tls ? " tls" : "");
    return out;
}

TEST(a_url_is_its_parts)
{
    CHECK_STR(shown("http://h"), "http - h 80 h /");
    CHECK_STR(shown("https://h/"), "https - h 443 h / tls");
    CHECK_STR(shown("ws://h:8080/a/b?c=d#e"), "ws - h 8080 h:8080 /a/b?c=d");
    CHECK_STR(shown("WSS://H.example/x"), "WSS - H.example 443 H.example /x tls");
    CHECK_STR(shown("http://u:p%40@h:1/"), "http u:p%40 h 1 h:1 /");
    CHECK_STR(shown("http://u@v@h/"), "http u@v h 80 h /");
    CHECK_STR(shown("http://[::1]:90/x"), "http - ::1 90 [::1]:90 /x");
    CHECK_STR(shown("http://[fe80::1]"), "http - fe80::1 80 [fe80::1] /");
    CHECK_STR(shown("http://h#f"), "http - h 80 h /");
    CHECK_STR(shown("http://h:/"), "http - h 80 h: /");
    CHECK_STR(shown("http://h/a@b"), "http - h 80 h /a@b");
    CHECK_STR(shown("http://h:65535"), "http - h 65535 h:65535 /");
}

static const char *joined(const char *base, const char *ref)
{
    static struct buf out = BUF_INIT(4096);
    buf_reset(&out);
    return url_join(&out, str_of(base), str_of(ref)) < 0 ? NULL : buf_z(&out);
}

/* However an address is written, it is one; lists of denied addresses judge that. */
TEST(a_host_has_one_form)
{
    static const char *const hosts[][2] = {
        {"256", "0.0.1.0"},
        {"192.168.257", "192.168.1.1"},
        {"0x7f.1", "127.0.0.1"},
        {"017700000001", "127.0.0.1"},
        {"2130706433.", "127.0.0.1"},
        {"%31%32%37.1", "127.0.0.1"},
        {"1.2.3.4.5", NULL},
        {"1.2.3.256", NULL},
        {"4294967296", NULL},
        {"1.2.3.08", NULL},
        {"a.0x", NULL},
        {"[::FFFF:7f00:1]", "[::ffff:7f00:1]"},
        {"[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"},
        {"[0:0:0:0:0:0:0:0]", "[::]"},
        {"[1:2:3:4:5:6:0:0]", "[1:2:3:4:5:6::]"},
        {"[1:0:2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]"},
        {"[::1", NULL},
        {"[x]", NULL},
        {"A.Example", "a.example"},
        {"b\xC3\xBC"
         "cher.de",
         "xn--bcher-kva.de"},
        {"fa\xC3\x9F.de", "xn--fa-hia.de"},
        {"\xE4\xBE\x8B\xE5\xAD\x90", "xn--fsqu00a"},
        {"a\xE3\x80\x82"
         "b",
         "a.b"},
        {"\xEF\xBC\x91.1", "1.0.0.1"},
        {"a\xC2\xAD"
         "b",
         "ab"},
        {"a b", NULL},
        {"a%00b", NULL},
        {"a%30", "a0"},
        {"a%3", NULL},
        {"%", NULL},
        {"1.256", "1.0.1.0"},
        {"256.1", NULL},
        {"1.2.65536", NULL},
        {"1.16777215", "1.255.255.255"},
        {"1.16777216", NULL},
        {"0x.1", "0.0.0.1"},
        {"1..2", NULL},
        {"[1:0:0:2:3:0:0:0]", "[1:0:0:2:3::]"},
        {"[1:2:0:0:5:0:0:8]", "[1:2::5:0:0:8]"},
        {"[2001:DB8::100]", "[2001:db8::100]"},
        /* Punycode, with the samples of RFC 3492. */
        {"xn--\xC3\xBC", NULL},
        {"xn-a\xC3\xBC", "xn--xn-a-3ra"},
        {"a\xC3\xBCz", "xn--az-xka"},
        {"\xC3\xBC\xC3\xBC\xC3\xBC", "xn--tdaaa"},
        {"\xE3\x81\xB2\xE3\x81\xA8\xE3\x81\xA4\xE5\xB1\x8B\xE6\xA0\xB9\xE3\x81\xAE"
         "\xE4\xB8\x8B"
         "2",
         "xn--2-u9tlzr9756bt3uc0v"},
        {"t\xE1\xBA\xA1isaoh\xE1\xBB\x8Dkh\xC3\xB4ngth\xE1\xBB\x83"
         "ch\xE1\xBB\x89n\xC3\xB3iti\xE1\xBA\xBFngvi\xE1\xBB\x87t",
         "xn--tisaohkhngthchnitingvit-kjcr8268qyxafd2f1b9g"},
        /* Mapped: full width, the capital sharp s, other dots. */
        {"\xEF\xBC\xA1", "a"},
        {"\xE1\xBA\x9E", "xn--zca"},
        {"a\xE2\x80\xA4"
         "b",
         "a.b"},
        {"a\xEF\xBD\xA1"
         "b",
         "a.b"},
        /* Refused: blanks, a direction mark, a/c, 1., private use, no characters. */
        {"a\xC2\xA0", NULL},
        {"a\xE3\x80\x80", NULL},
        {"a\xE2\x80\x8E", NULL},
        {"a\xE2\x84\x80", NULL},
        {"a\xE2\x92\x88", NULL},
        {"a\xEE\x80\x80", NULL},
        {"a\xEF\xB7\x90", NULL},
        {"a\xEF\xBF\xBD", NULL},
        {"a\xF0\x9F\xBF\xBE", NULL},
        {"a\xF4\x80\x80\x80", NULL},
        {"a%2Fb", NULL},
        {"\xFF", NULL},
        {"", NULL},
    };
    struct buf out = BUF_INIT(1000);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        buf_reset(&out);
        bool fine = url_host(&out, str_of(hosts[i][0])) == 0;
        CHECK_STR(fine ? buf_z(&out) : NULL, hosts[i][1]);
    }
    buf_release(&out);
}

TEST(references_are_read_as_browsers_do)
{
    CHECK_STR(joined("", "HTTP:\\\\User:Pa:ss@Host:80\\a/%2E%2e/./b c?d'e#f`"),
              "http://User:Pa%3Ass@host/b%20c?d%27e#f%60");
    CHECK_STR(joined("", "ws://a@b\\c"), "ws://a@b/c");
    CHECK_STR(joined("", "http://x\\@10.0.0.1/"), "http://x/@10.0.0.1/");
    CHECK_STR(joined("", "http:///////h:0080x"), NULL);
    CHECK_STR(joined("", "https:h:0443"), "https://h/");
    CHECK_STR(joined("http://h/a/b?q", "http:c"), "http://h/a/c");
    CHECK_STR(joined("http://h/a/b?q", "\t//\ni:1"), "http://i:1/");
    CHECK_STR(joined("http://h/a/b?q", "#"), "http://h/a/b?q#");
    CHECK_STR(joined("http://h/a/b?q", "?"), "http://h/a/b?");
    CHECK_STR(joined("file:///C:/a/b", "/c"), "file:///C:/c");
    CHECK_STR(joined("file:///C:/a/b", "../../../c"), "file:///C:/c");
    CHECK_STR(joined("", "file:c|\\d"), "file:///c:/d");
    CHECK_STR(joined("", "file://LocalHost/x"), "file:///x");
    CHECK_STR(joined("file://s/a", "//t/b"), "file://t/b");
    CHECK_STR(joined("http://h/", "http://@/x"), NULL);
}

/* A part of a reference would be another one. */
TEST(what_is_too_long_is_refused_whole)
{
    static char text[URL_JOIN_MAX + 2];
    struct buf out = BUF_INIT(4 * sizeof(text));
    CHECK_INT(buf_addz(&out, "before "), 0);
    memset(text, 'a', URL_JOIN_MAX);
    CHECK_INT(url_join(&out, STR("http://h/b/c"), str_of(text)), 0);
    CHECK_INT(out.n, strlen("before http://h/b/") + URL_JOIN_MAX);
    buf_truncate(&out, 7);
    text[URL_JOIN_MAX] = 'a';
    CHECK_INT(url_join(&out, STR("http://h/b/c"), str_of(text)), -1);
    memcpy(text, "http://h/", 9);
    CHECK_INT(url_join(&out, str_of(text), STR("x")), -1);
    CHECK_STR(buf_z(&out), "before ");
    buf_release(&out);
}

TEST(what_is_no_url_is_refused)
{
    static const char *const bad[] = {
        "",
        "h",
        "h:80",
        "//h",
        "ftp://h",
        "http:/h",
        "http://",
        "http:///x",
        "http://:80/",
        "http://h:x/",
        "http://h:0/",
        "http://h:65536",
        "http://[::1",
        "http://[::1]x",
        "http://h h/",
        "http://h/\r\nx",
        "http://h?x",
        "http://h\"/",
        "http://a\\b/",
        "http://a\\@b/",
        "ws://a@b\\c",
        "http://u@/",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_STR(shown(bad[i]), NULL);
}

TEST(passwords_are_not_in_errors)
{
    struct url u;
    struct err e = ERR_INIT;
    CHECK_INT(url_parse(&u, STR("http://me:secret@h:x/?key=secret"), &e), -1);
    CHECK(strstr(e.text, "secret") == NULL);
    CHECK(strstr(e.text, "h:x") != NULL);
}

/* ---- the environment ---- */

static const char *const *vars; /* name, value, …, NULL */

static char *env(const char *name)
{
    for (const char *const *v = vars; *v; v += 2)
        if (strcmp(*v, name) == 0)
            return (char *)(uintptr_t)v[1];
    return NULL;
}
#define ENV(...) (vars = (const char *const[]){__VA_ARGS__, NULL})

/* "HOST PORT AUTH", "none", or NULL. */
static const char *proxy_of(const char *text)
{
    static char out[1000];
    struct url u;
    struct proxy p;
    struct err e = ERR_INIT;
    CHECK_INT(url_parse(&u, str_of(text), NULL), 0);
    int got = url_proxy(&p, &u, env, &e);
    CHECK_INT(got < 0, e.code != ERR_NONE);
    if (got <= 0)
        return got < 0 ? NULL : "none";
    snprintf(out, sizeof(out), "%s %u %s", p.host, p.port, p.auth);
    return out;
}

TEST(each_scheme_has_its_variables)
{
    ENV("http_proxy", "plain:1", "https_proxy", "http://tls:2/", "ALL_PROXY", "all:3");
    CHECK_STR(proxy_of("http://h/"), "plain 1 ");
    CHECK_STR(proxy_of("ws://h/"), "plain 1 ");
    CHECK_STR(proxy_of("https://h/"), "tls 2 ");
    CHECK_STR(proxy_of("wss://h/"), "tls 2 ");
    ENV("HTTP_PROXY", "forged:1", "HTTPS_PROXY", "tls");
    CHECK_STR(proxy_of("http://h/"), "none");
    CHECK_STR(proxy_of("wss://h/"), "tls 80 ");
    ENV("https_proxy", "", "HTTPS_PROXY", "", "all_proxy", "[::1]:8080");
    CHECK_STR(proxy_of("https://h/"), "::1 8080 ");
    ENV("https_proxy", "low", "HTTPS_PROXY", "high");
    CHECK_STR(proxy_of("https://h/"), "low 80 ");
    ENV("x", "y");
    CHECK_STR(proxy_of("https://h/"), "none");
}

TEST(a_proxy_may_want_a_password)
{
    ENV("https_proxy", "http://Aladdin:open%20sesame@p:8080");
    CHECK_STR(proxy_of("https://h/"), "p 8080 Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    ENV("https_proxy", "http://a:%zz@p:8080");
    CHECK_STR(proxy_of("https://h/"), NULL);
}

TEST(proxies_of_other_kinds_are_refused_and_not_gone_around)
{
    ENV("https_proxy", "socks5://p:1080");
    CHECK_STR(proxy_of("https://h/"), NULL);
    ENV("https_proxy", "https://p:1080");
    CHECK_STR(proxy_of("https://h/"), NULL);
    ENV("https_proxy", "http://p:x");
    CHECK_STR(proxy_of("https://h/"), NULL);
    ENV("https_proxy", "socks5://p:1080", "no_proxy", "h");
    CHECK_STR(proxy_of("https://h/"), "none");
}

static bool excepted(const char *list, const char *url)
{
    ENV("all_proxy", "p:1", "no_proxy", list);
    return strcmp(proxy_of(url), "none") == 0;
}

TEST(exceptions_are_names_and_what_is_below_them)
{
    CHECK(excepted("*", "http://h/"));
    CHECK(excepted("a, h ,b", "http://h/"));
    CHECK(excepted("EXAMPLE.com", "http://example.COM/"));
    CHECK(excepted("example.com", "http://a.example.com/"));
    CHECK(excepted(".example.com", "http://a.example.com/"));
    CHECK(excepted("*.example.com", "http://a.b.example.com/"));
    CHECK(excepted("h:8080", "http://h:8080/"));
    CHECK(excepted("h:443", "https://h/"));
    CHECK(!excepted("h:8080", "http://h/"));
    CHECK(!excepted("example.com", "http://badexample.com/"));
    CHECK(!excepted("a.example.com", "http://example.com/"));
    CHECK(!excepted("", "http://h/"));
    CHECK(!excepted(",, ,.", "http://h/"));
    CHECK(!excepted("h:x", "http://h/"));
}

TEST(exceptions_are_addresses_and_networks)
{
    CHECK(excepted("127.0.0.1", "http://127.0.0.1/"));
    CHECK(excepted("10.0.0.0/8", "http://10.255.1.2/"));
    CHECK(!excepted("10.0.0.0/8", "http://11.0.0.1/"));
    CHECK(excepted("192.168.4.0/22", "http://192.168.7.255/"));
    CHECK(!excepted("192.168.4.0/22", "http://192.168.8.0/"));
    CHECK(excepted("0.0.0.0/0", "http://1.2.3.4/"));
    CHECK(!excepted("10.0.0.0/33", "http://10.0.0.0/"));
    CHECK(!excepted("10.0.0.0/", "http://10.0.0.0/"));
    CHECK(!excepted("10.0.0.0/8", "http://10.example/"));
    CHECK(excepted("::1", "http://[::1]/"));
    CHECK(excepted("[::1]:90", "http://[::1]:90/"));
    CHECK(excepted("fd00::/8", "http://[fdab::1]/"));
    CHECK(!excepted("fd00::/8", "http://[fe80::1]/"));
    CHECK(!excepted("::/0", "http://1.2.3.4/"));
}

T_MAIN
