/* SPDX-License-Identifier: MIT */
/* Cookies: who may set which, and who gets them. */
#include "http/cookies.h"

#include "t.h"

enum { NOW = 1000000000 };

static struct cookies *jar;

static struct cookies_where at(const char *host, const char *path, bool secure)
{
    return (struct cookies_where){str_of(host), str_of(path), secure};
}

static bool set_by(const char *host, const char *path, const char *field)
{
    struct cookies_where w = at(host, path, false);
    jar = jar ? jar : cookies_new();
    return cookies_take(jar, &w, str_of(field), NOW);
}

static void said(const char *host, const char *path, bool secure, const char *want)
{
    struct buf out = BUF_INIT(1 << 20);
    struct cookies_where w = at(host, path, secure);
    CHECK_INT(cookies_say(jar, &w, NOW + 5, &out), *want != '\0');
    CHECK_STR(buf_z(&out), want);
    buf_release(&out);
}

TEST(a_cookie_comes_back)
{
    CHECK(set_by("h.example", "/a/b?q", " n = v x ; HttpOnly; SameSite=Lax"));
    said("h.example", "/a/c", false, "n=v x");
    said("H.EXAMPLE", "/a", false, "n=v x");
    said("h.example", "/ab", false, "");
    said("h.example", "/", false, "");
    said("x.h.example", "/a/", false, "");
    CHECK(set_by("h.example", "/a/z", "n=new"));
    said("h.example", "/a/c", false, "n=new");
    CHECK_INT(cookies_count(jar), 1);
    cookies_free(jar);
}

TEST(domains)
{
    CHECK(set_by("www.a.example", "/", "d=1; Domain=.A.example"));
    said("a.example", "/", false, "d=1");
    said("x.a.example", "/", false, "d=1");
    said("xa.example", "/", false, "");
    CHECK(!set_by("www.a.example", "/", "e=1; domain=example"));
    CHECK(!set_by("www.a.example", "/", "e=1; domain=b.example"));
    CHECK(!set_by("www.a.example", "/", "e=1; domain=x.www.a.example"));
    CHECK(!set_by("1.2.3.4", "/", "e=1; domain=2.3.4"));
    CHECK(set_by("1.2.3.4", "/", "e=1"));
    said("1.2.3.4", "/", false, "e=1");
    cookies_free(jar);
}

TEST(paths_and_their_order)
{
    CHECK(set_by("h", "/", "a=1; Path=/"));
    CHECK(set_by("h", "/", "b=2; Path=/x/y"));
    CHECK(set_by("h", "/", "c=3; Path=/x"));
    CHECK(set_by("h", "/q/r", "d=4; Path=relative"));
    said("h", "/x/y/z?p=/q", false, "b=2; c=3; a=1");
    said("h", "/xy", false, "a=1");
    said("h", "/q/s", false, "d=4; a=1");
    cookies_free(jar);
}

TEST(secure_ones)
{
    struct cookies_where w = at("h.example", "/", true);
    CHECK(!set_by("h.example", "/", "s=1; Secure"));
    CHECK(cookies_take(jar, &w, STR("s=1; secure"), NOW));
    CHECK(!cookies_take(jar, &w, STR("__Secure-a=1"), NOW));
    CHECK(cookies_take(jar, &w, STR("__Host-a=1; Secure; Path=/"), NOW));
    CHECK(!cookies_take(jar, &w, STR("__Host-b=1; Secure; Path=/x"), NOW));
    said("h.example", "/", true, "s=1; __Host-a=1");
    said("h.example", "/", false, "");
    cookies_free(jar);
}

TEST(times)
{
    time_t t;
    CHECK(set_by("h", "/", "a=1; Max-Age=3"));
    CHECK(set_by("h", "/", "b=1; Max-Age=6; Expires=Thu, 01 Jan 1970 00:00:00 GMT"));
    CHECK(set_by("h", "/", "c=1; Expires=Fri, 31-Dec-99 23:59:59 GMT"));
    CHECK(set_by("h", "/", "d=1; Expires=never"));
    said("h", "/", false, "b=1; d=1");
    CHECK(set_by("h", "/", "b=; Max-Age=0"));
    said("h", "/", false, "d=1");
    CHECK(cookies_date(STR("Sun, 06 Nov 1994 08:49:37 GMT"), &t) == 0 && t == 784111777);
    CHECK(cookies_date(STR("Sunday, 06-Nov-94 08:49:37 GMT"), &t) == 0 && t == 784111777);
    CHECK(cookies_date(STR("Sun Nov  6 08:49:37 1994"), &t) == 0 && t == 784111777);
    CHECK(cookies_date(STR("06 Nov 1994 24:00:00"), &t) < 0);
    CHECK(cookies_date(STR("06 Nov 1994"), &t) < 0);
    static const char *const none[] = {
        "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "00 Nov 1994 08:49:37",
        "32 Nov 1994 08:49:37", "06 Nov 1600 08:49:37", "06 Nov 8 08:49:37",
        "06 Nov 08:49:37",      "06 1994 08:49:37",     "Nov 1994 08:49:37",
    };
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        CHECK(cookies_date(str_of(none[i]), &t) < 0);
    CHECK(cookies_date(STR("31 Dec 69 23:59:59"), &t) == 0 && t == 3155759999);
    CHECK(cookies_date(STR("1 Jan 70 0:00:00"), &t) == 0 && t == 0);
    CHECK(cookies_date(STR("1 Jan 1601 00:00:00"), &t) == 0 && t == -11644473600);
    cookies_free(jar);
}

TEST(what_is_no_cookie)
{
    CHECK(!set_by("h", "/", "no equals sign"));
    CHECK(!set_by("h", "/", "=v"));
    CHECK(!set_by("h", "/", "a=b\x01"));
    CHECK(!set_by("", "/", "a=b"));
    CHECK_INT(cookies_count(jar), 0);
    cookies_free(jar);
}

TEST(they_are_bounded)
{
    char text[64];
    for (int i = 0; i < 5 * COOKIES_HOST_MAX * 3; i++) {
        char host[32];
        snprintf(host, sizeof(host), "h%d.example", i % 15);
        snprintf(text, sizeof(text), "n%d=v", i);
        CHECK(set_by(host, "/", text));
    }
    CHECK_INT(cookies_count(jar), COOKIES_MAX);
    for (int i = 0; i < 2 * COOKIES_HOST_MAX; i++) {
        snprintf(text, sizeof(text), "m%d=v", i);
        CHECK(set_by("one.example", "/", text));
    }
    struct buf out = BUF_INIT(1 << 20);
    struct cookies_where w = at("one.example", "/", false);
    CHECK_INT(cookies_say(jar, &w, NOW, &out), 1);
    CHECK(strstr(buf_z(&out), "m119=v") && !strstr(buf_z(&out), "m59=v"));
    buf_release(&out);
    static char big[COOKIE_BYTES_MAX + 8];
    memset(big, 'x', sizeof(big) - 1);
    big[1] = '=';
    CHECK(!set_by("h", "/", big));
    cookies_free(jar);
}

T_MAIN
