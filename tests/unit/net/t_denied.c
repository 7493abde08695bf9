/* SPDX-License-Identifier: MIT */
/* Lists of addresses that are not connected to. */
#include "net/denied.h"

#include "t.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

static struct denied parsed(const char *text)
{
    struct denied d = {.n = 0};
    struct err e = ERR_INIT;
    if (denied_parse(&d, str_of(text), &e) < 0)
        T_FAIL("%s: %s", text, e.text);
    return d;
}

static bool has(const struct denied *d, const char *address)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return denied_has(d, (struct sockaddr *)&v4);
    CHECK_INT(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    return denied_has(d, (struct sockaddr *)&v6);
}

TEST(a_network_has_what_is_in_it)
{
    static const struct {
        const char *list, *address;
        bool has;
    } rows[] = {
        {"10.0.0.0/8", "10.0.0.0", true},
        {"10.0.0.0/8", "10.255.255.255", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.0.0.0/8", "9.255.255.255", false},
        {"10.0.0.7/8", "10.9.9.9", true},
        {"172.16.0.0/12", "172.31.255.255", true},
        {"172.16.0.0/12", "172.32.0.0", false},
        {"192.0.2.7", "192.0.2.7", true},
        {"192.0.2.7", "192.0.2.6", false},
        {"192.0.2.6/31", "192.0.2.7", true},
        {"0.0.0.0/0", "203.0.113.9", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "2001:db8::1", true},
        {"::1", "::1", true},
        {"::1", "::2", false},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {" 10.0.0.0/8 ,, 192.0.2.7 ", "192.0.2.7", true},
        {"10.0.0.0 / 8", "10.1.2.3", true},
        {"", "127.0.0.1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct denied d = parsed(rows[i].list);
        if (has(&d, rows[i].address) != rows[i].has)
            T_FAIL("%s has %s: %d", rows[i].list, rows[i].address, !rows[i].has);
    }
}

TEST(one_address_in_several_forms_is_one)
{
    struct denied ten = parsed("10.0.0.0/8"), loop = parsed("127.0.0.0/8");
    struct denied six = parsed("::1"), mapped = parsed("::ffff:10.0.0.0/104");
    CHECK(has(&ten, "::ffff:10.1.2.3"));
    CHECK(has(&mapped, "10.1.2.3"));
    CHECK(!has(&mapped, "11.1.2.3"));
    CHECK(has(&ten, "64:ff9b::10.1.2.3"));
    CHECK(!has(&ten, "64:ff9b::11.1.2.3"));
    /* What connects to this machine. */
    CHECK(has(&loop, "0.0.0.0"));
    CHECK(has(&loop, "::ffff:0.0.0.0"));
    CHECK(!has(&loop, "0.0.0.1"));
    CHECK(has(&six, "::"));
    CHECK(!has(&ten, "0.0.0.0"));
}

TEST(local_is_all_that_is_not_public)
{
    static const char *const local[] = {"0.0.0.0",
                                        "10.1.1.1",
                                        "100.64.0.1",
                                        "127.0.0.1",
                                        "127.9.9.9",
                                        "169.254.169.254",
                                        "172.16.0.1",
                                        "192.168.1.1",
                                        "198.18.0.1",
                                        "224.0.0.251",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "fc00::1",
                                        "fd00:ec2::254",
                                        "fe80::1",
                                        "fec0::1",
                                        "ff02::fb",
                                        "64:ff9b::1.1.1.1",
                                        "64:ff9b:1::1",
                                        "::ffff:127.0.0.1"};
    static const char *const public[] = {"1.1.1.1",    "8.8.8.8",     "100.128.0.1",
                                         "172.15.0.1", "192.169.0.1", "2606:4700::1111",
                                         "::2"};
    struct denied d = parsed("local, 203.0.113.0/24");
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
        if (!has(&d, local[i]))
            T_FAIL("%s is let through", local[i]);
    for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++)
        if (has(&d, public[i]))
            T_FAIL("%s is denied", public[i]);
    CHECK(has(&d, "203.0.113.1"));
}

TEST(other_families_are_in_no_list)
{
    struct denied d = parsed("0.0.0.0/0,::/0");
    struct sockaddr_un u = {.sun_family = AF_UNIX};
    CHECK(!denied_has(&d, (struct sockaddr *)&u));
}

TEST(bad_text_is_quoted)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"x", "cannot deny \"x\": expected networks as 10.0.0.0/8 or ::1"},
        {"10.0.0.0/8,localhost", "cannot deny \"localhost\""},
        {"10.0.0", "cannot deny \"10.0.0\""},
        {"[::1]", "cannot deny \"[::1]\""},
        {"Local", "cannot deny \"Local\""},
        {"/8", "cannot deny \"\""},
        {"10.0.0.0/33", "cannot deny 10.0.0.0/33: that is not the length"},
        {"10.0.0.0/", "cannot deny 10.0.0.0/: that is not the length"},
        {"10.0.0.0/-1", "cannot deny 10.0.0.0/-1: that is not the length"},
        {"10.0.0.0/8/9", "cannot deny 10.0.0.0/8/9: that is not the length"},
        {"::1/129", "cannot deny ::1/129: that is not the length"},
        {"::1/18446744073709551615", "cannot deny ::1/184467440: that is not the length"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct denied d = {.n = 0};
        struct err e = ERR_INIT;
        CHECK_INT(denied_parse(&d, str_of(rows[i].text), &e), -1);
        CHECK_INT(e.code, ERR_INVALID);
        if (!str_starts(str_of(e.text), str_of(rows[i].said)))
            T_FAIL("%s: %s", rows[i].text, e.text);
    }
    struct denied d = {.n = 0};
    struct err e = ERR_INIT;
    CHECK_INT(denied_parse(&d, STR("10.0.0.0\0.1"), &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
}

TEST(a_list_has_an_end)
{
    struct denied d = {.n = 0};
    struct err e = ERR_INIT;
    for (int i = 0; i < DENIED_MAX; i++)
        CHECK_INT(denied_parse(&d, STR("192.0.2.1"), &e), 0);
    CHECK_INT(denied_parse(&d, STR("192.0.2.1"), &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(has(&d, "192.0.2.1"));
}

T_MAIN
