/* SPDX-License-Identifier: MIT */
/* Names in the Host field of clients without a key. */
#include "access/hosts.h"

#include "t.h"

static struct hosts with(const char *options)
{
    struct err e = ERR_INIT;
    struct hosts h;
    struct json *j = json_parse(str_of(options), &e);
    CHECK(j != NULL);
    hosts_init(&h, j);
    json_free(j);
    return h;
}

static void judge(const char *options, const char *host, bool wanted)
{
    struct hosts h = with(options);
    if (hosts_has(&h, str_of(host)) != wanted)
        T_FAIL("%s: \"%s\" is %s", options, host, wanted ? "refused" : "accepted");
    hosts_release(&h);
}

TEST(addresses_and_localhost_are_always_accepted)
{
    static const char *const hosts[] = {"localhost",  "localhost:3000", "LocalHost",
                                        "localhost.", "a.localhost",    "b.a.localhost:1",
                                        "127.0.0.1",  "127.0.0.1:3000", "192.0.2.7",
                                        "[::1]",      "[::1]:3000",     "[fe80::1]"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        judge("{}", hosts[i], true);
        judge("{\"insecure_open\":true}", hosts[i], true);
        CHECK(host_is_plain(str_of(hosts[i])));
    }
}

TEST(names_of_containers_are_accepted_where_others_reach_us)
{
    static const char *const hosts[] = {"sandbox",
                                        "my_app_1:3000",
                                        "runtime-7f",
                                        "x.local",
                                        "X.Local:1",
                                        "a.b.local.",
                                        "host.docker.internal",
                                        "pod.ns.svc",
                                        "pod.ns.svc.cluster.local",
                                        "box.home.arpa"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        judge("{\"insecure_open\":true}", hosts[i], true);
        judge("{}", hosts[i], false);
        CHECK(!host_is_plain(str_of(hosts[i])));
    }
}

TEST(public_names_and_what_is_no_name_are_refused)
{
    static const char *const hosts[] = {"",
                                        ":3000",
                                        ".",
                                        "..",
                                        "evil.example",
                                        "127.0.0.1.evil.example",
                                        "localhost.evil",
                                        "evil.example:3000",
                                        "local.evil.example",
                                        "notlocal.x",
                                        "xlocal.com",
                                        ".local",
                                        "a..local",
                                        "svc.example",
                                        "home.arpa.example",
                                        "[",
                                        "[]",
                                        "[::1",
                                        "[evil.example]",
                                        "a b",
                                        "a/b.local",
                                        "evil.example.",
                                        "1.2.3",
                                        "127.1",
                                        "e\xc3\xa9vil.com",
                                        "a@b.local",
                                        "evillocalhost.com",
                                        "x.locals",
                                        "internal.",
                                        "arpa.x"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        bool label = strcmp(hosts[i], "internal.") == 0;
        judge("{\"insecure_open\":true}", hosts[i], label);
        judge("{}", hosts[i], false);
    }
}

TEST(allowed_names)
{
    static const char one[] = "{\"allow_hosts\":[\"box.example\",\".dev.example\"]}";
    judge(one, "box.example", true);
    judge(one, "BOX.example.:80", true);
    judge(one, "x.box.example", false);
    judge(one, "notbox.example", false);
    judge(one, "a.dev.example", true);
    judge(one, "a.b.DEV.example", true);
    judge(one, "dev.example", false);
    judge(one, "xdev.example", false);
    judge("{\"allow_hosts\":[\"*.dev.example\"]}", "a.dev.example", true);
    judge("{\"allow_hosts\":[\"*.dev.example\"]}", "b.example", false);
    judge("{\"allow_hosts\":[\"*\"]}", "evil.example", true);
    judge("{\"allow_hosts\":[]}", "evil.example", false);
}

TEST(what_can_be_allowed)
{
    static const char *const good[] = {"*", "a", "a.b", ".b", "*.b.c", "my_app-1"};
    static const char *const bad[] = {"",         ".",   "*.",  "a..b", "a:80",
                                      "http://a", "a/",  "a*b", "**",   "..b",
                                      "a.",       "a b", "*a",  "[::1]"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!hosts_may_add(str_of(good[i])))
            T_FAIL("%s is refused", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (hosts_may_add(str_of(bad[i])))
            T_FAIL("%s is accepted", bad[i]);
    }
}

static void look_up(const char *pattern, const char *host, int wanted)
{
    char options[128];
    uint16_t port = 1;
    snprintf(options, sizeof(options), "{\"preview_host\":\"%s\"}", pattern);
    struct hosts h = with(options);
    int got = hosts_app(&h, str_of(host), &port) ? port : -1;
    if (got != wanted)
        T_FAIL("%s: \"%s\" is %d, not %d", pattern, host, got, wanted);
    hosts_release(&h);
}

TEST(hosts_of_apps)
{
    static const char dash[] = "PORT-box.example.org", dot[] = "PORT.localhost";
    look_up(dash, "3000-box.example.org", 3000);
    look_up(dash, "3000-BOX.Example.ORG.:443", 3000);
    look_up(dash, "65535-box.example.org", 65535);
    look_up(dot, "1.localhost:3000", 1);
    look_up(dash, "65536-box.example.org", 0);
    look_up(dash, "0-box.example.org", 0);
    look_up(dash, "03000-box.example.org", 0);
    look_up(dash, "99999999999999999999-box.example.org", 0);
    look_up(dash, "", -1);
    look_up(dash, "-box.example.org", -1);
    look_up(dash, "box.example.org", -1);
    look_up(dash, "x-box.example.org", -1);
    look_up(dash, "3000x-box.example.org", -1);
    look_up(dash, "1.3000-box.example.org", -1);
    look_up(dash, "3000.box.example.org", -1);
    look_up(dash, "3000-box.example.org.evil", -1);
    look_up(dash, "[::1]:3000", -1);
    look_up(dot, "localhost", -1);
    look_up(dot, ".localhost", -1);
    look_up(dot, "127.0.0.1", -1);
    look_up("", "3000-box.example.org", -1);
}

TEST(what_can_be_a_host_of_apps)
{
    static const char *const good[] = {"PORT-a", "PORT.a", "PORT-box.example.org",
                                       "PORT.1a"};
    static const char *const bad[] = {"",          "PORT",     "PORT-",   "PORT.",
                                      "PORTbox",   "port-a",   "a-PORT",  "PORT.0.0.1",
                                      "PORT-a..b", "PORT-a:1", "PORT-a/", "PORT-*.a"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!hosts_may_preview(str_of(good[i])))
            T_FAIL("%s is refused", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (hosts_may_preview(str_of(bad[i])))
            T_FAIL("%s is accepted", bad[i]);
    }
}

T_MAIN
