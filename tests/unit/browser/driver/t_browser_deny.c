/* SPDX-License-Identifier: MIT */
/* What a browser's proxy has refused, as errors and notes of the browser. */
#include "browser/driver/driver.h"
#include "browser/driver/proxy.h"

#include "t.h"

#include <sys/socket.h>

static struct browser b;
static int proxy; /* its end of the news */

static void begin(void)
{
    int pair[2];
    int how = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    CHECK_INT(socketpair(AF_UNIX, how, 0, pair), 0);
    b.deny.pid = 1; /* it is only looked at */
    b.deny.fd = pair[0];
    proxy = pair[1];
    b.notes = json_array();
    b.cdp.from = b.cdp.to = -1;
}

static void end(void)
{
    close(proxy);
    close(b.deny.fd);
    json_free(b.notes);
}

static void tells(enum err_code code, const char *host, const char *text)
{
    char message[800];
    int n = snprintf(message, sizeof(message), "?%s%c%s", host, '\0', text);
    message[0] = (char)code;
    CHECK_INT(send(proxy, message, (size_t)n, 0), n);
}

/* Of a navigation that fails so. */
static const char *explained(const char *error, const char *url)
{
    static struct buf out = BUF_INIT(2000);
    buf_reset(&out);
    browser_deny_explain(&b, str_of(error), str_of(url), &out);
    return buf_z(&out);
}

TEST(a_failure_is_explained_by_what_was_refused_to_its_host)
{
    begin();
    tells(ERR_GONE, "a.test", "before it began");
    CHECK(browser_deny_begin(&b, STR("http://a.test/x")));
    tells(ERR_GONE, "a.test", "cannot connect to a.test: nobody listens");
    tells(ERR_DENIED, "b.test", "cannot connect to b.test: it is denied");
    tells(ERR_NOTFOUND, "c.test", "there is no such name");
    CHECK_STR(explained("net::ERR_SOCKS_CONNECTION_FAILED", "http://a.test/x"),
              "net::ERR_CONNECTION_REFUSED at http://a.test/x: cannot connect to a.test: "
              "nobody listens");
    end();
}

TEST(a_host_is_compared_in_the_form_that_the_browser_gives_it)
{
    static const char *const urls[][2] = {{"http://192.168.257/", "192.168.1.1"},
                                          {"http://256", "0.0.1.0"},
                                          {"HTTP:\\\\A.Test/", "a.test"},
                                          {"http://x\\@10.0.0.1/", "x"}};
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        begin();
        CHECK(browser_deny_begin(&b, str_of(urls[i][0])));
        tells(ERR_GONE, urls[i][1], "cannot connect: nobody listens");
        CHECK(strstr(explained("net::ERR_SOCKS_CONNECTION_FAILED", "u"),
                     "net::ERR_CONNECTION_REFUSED at u"));
        end();
    }
}

TEST(else_by_what_the_list_denies_else_by_the_last)
{
    begin();
    CHECK(browser_deny_begin(&b, STR("http://a.test/")));
    tells(ERR_DENIED, "b.test", "cannot connect to b.test: it is denied");
    tells(ERR_NOTFOUND, "c.test", "there is no such name");
    CHECK_STR(explained("net::ERR_SOCKS_CONNECTION_FAILED", "u"),
              "net::ERR_SOCKS_CONNECTION_FAILED at u: cannot connect to b.test: it is "
              "denied");
    CHECK(browser_deny_begin(&b, STR("http://a.test/")));
    tells(ERR_NOTFOUND, "c.test", "there is no such name");
    CHECK_STR(explained("net::ERR_SOCKS_CONNECTION_FAILED", "u"),
              "net::ERR_SOCKS_CONNECTION_FAILED at u: there is no such name");
    CHECK(browser_deny_begin(&b, STR("http://a.test/")));
    tells(ERR_GONE, "a.test", "nobody listens");
    CHECK_STR(explained("net::ERR_ABORTED", "u"), "net::ERR_ABORTED at u");
    end();
}

TEST(what_is_denied_is_noted_once_and_not_without_end)
{
    char host[32];
    begin();
    tells(ERR_GONE, "a.test", "nobody listens");
    for (int i = 0; i < 40; i++) {
        snprintf(host, sizeof(host), "%d.test", i / 2);
        tells(ERR_DENIED, host, host);
    }
    browser_deny_hear(&b);
    CHECK_INT(json_count(b.notes), 17);
    CHECK(str_eq(json_str_value(json_first(b.notes), ""), STR("0.test")));
    end();
}

TEST(pages_of_the_browser_are_not_opened)
{
    static const char *const open[] = {"http://a/", "HTTPS://a/",  "file:///x",
                                       "data:,x",   "about:blank", " about:blank ",
                                       "nonsense"};
    static const char *const shut[] = {"chrome://inspect",
                                       "about:inspect",
                                       "devtools://devtools/bundled/inspector.html",
                                       "view-source:chrome://net-export",
                                       "chr\nome://inspect",
                                       "javascript:1"};
    begin();
    for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++)
        if (!browser_deny_begin(&b, str_of(open[i])))
            T_FAIL("%s is not opened", open[i]);
    for (size_t i = 0; i < sizeof(shut) / sizeof(*shut); i++)
        if (browser_deny_begin(&b, str_of(shut[i])))
            T_FAIL("%s is opened", shut[i]);
    b.deny.pid = 0;
    CHECK(browser_deny_begin(&b, STR("chrome://version")));
    end();
}

TEST(without_its_proxy_the_browser_is_over)
{
    begin();
    tells(ERR_NONE, BROWSER_PROXY_PROBE, "");
    browser_deny_hear(&b);
    CHECK(b.deny.probed && !b.cdp.ended);
    shutdown(proxy, SHUT_WR);
    CHECK(strstr(explained("net::ERR_PROXY_CONNECTION_FAILED", "u"), "has ended"));
    CHECK(b.cdp.ended && b.deny.lost);
    CHECK_INT(b.cdp.why.code, ERR_GONE);
    end();
}

T_MAIN
