/* SPDX-License-Identifier: MIT */
/* The judge of the network: what rules allow, by name, by address, and by port. */
#include "reach/rules.h"

#include "reach/words.h"

#include <arpa/inet.h>

#include "t.h"

/* The rules of words, "reach A B" and "listen 1-2" by commas. The caller frees them. */
static struct reach *load(const char *text)
{
    struct json *rules = json_array();
    struct str rest = str_of(text);
    while (rest.n > 0) {
        struct str line = str_trim(str_cut(&rest, ',')), what = str_cut(&line, ' ');
        while (line.n > 0) {
            struct str word = str_cut(&line, ' ');
            struct json *o = json_object();
            struct reach_wrong wrong = {NULL, 0};
            bool reach = str_eq(what, STR("reach"));
            json_put_str(o, "do", what);
            if (reach)
                CHECK(reach_word(word, o, &wrong) == 0);
            else
                CHECK(reach_listen_word(word, o, &wrong) == 0);
            json_push(rules, o);
        }
    }
    struct reach *r = reach_load(rules);
    json_free(rules);
    return r;
}

static void address_of(const char *text, unsigned char out[16])
{
    memset(out, 0, 10);
    memset(out + 10, 0xFF, 2);
    if (inet_pton(AF_INET, text, out + 12) != 1)
        CHECK(inet_pton(AF_INET6, text, out) == 1);
}

TEST(names_are_judged)
{
    static const struct {
        const char *rules, *name;
        unsigned port;
        bool allowed;
    } rows[] = {
        {"", "a.example", 80, true},
        {"listen 80", "a.example", 80, true},
        {"reach nothing", "a.example", 80, false},
        {"reach nothing", "a.example", 0, false},
        {"reach a.example", "a.example", 1, true},
        {"reach a.example", "A.eXample.", 65535, true},
        {"reach A.Example.", "a.example", 80, true},
        {"reach a.example", "a.example..", 80, false},
        {"reach a.example", "b.a.example", 80, false},
        {"reach a.example", "aa.example", 80, false},
        {"reach a.example", "a.example.org", 80, false},
        {"reach a.example", "example", 80, false},
        {"reach a.example", "", 80, false},
        {"reach *.a.example", "a.example", 80, false},
        {"reach *.a.example", ".a.example", 80, false},
        {"reach *.a.example", "b.a.example", 80, true},
        {"reach *.a.example", "c.B.A.example.", 80, true},
        {"reach *.a.example", "ba.example", 80, false},
        {"reach *.a.example", "b-a.example", 80, false},
        {"reach *", "a.example", 80, true},
        {"reach *", "a b", 80, false},
        {"reach *", "", 80, false},
        {"reach *:443", "a.example", 80, false},
        {"reach a.example:443", "a.example", 443, true},
        {"reach a.example:443", "a.example", 442, false},
        {"reach a.example:443", "a.example", 444, false},
        {"reach a.example:443", "a.example", 0, true},
        {"reach a.example:5-7", "a.example", 4, false},
        {"reach a.example:5-7", "a.example", 5, true},
        {"reach a.example:5-7", "a.example", 7, true},
        {"reach a.example:5-7", "a.example", 8, false},
        {"reach a.example:5 a.example:9", "a.example", 9, true},
        {"reach a.example:5, reach nothing", "a.example", 5, true},
        {"reach 10.0.0.0/8", "a.example", 80, false},
        {"reach 10.0.0.1", "10.0.0.1", 80, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct reach *r = load(rows[i].rules);
        bool allowed = reach_name(r, str_of(rows[i].name), rows[i].port);
        if (allowed != rows[i].allowed)
            fprintf(stderr, "row %zu: %s, %s\n", i, rows[i].rules, rows[i].name);
        CHECK(allowed == rows[i].allowed);
        reach_free(r);
    }
}

TEST(addresses_are_judged)
{
    static const struct {
        const char *rules, *address;
        unsigned port;
        bool allowed;
    } rows[] = {
        {"", "192.0.2.1", 80, true},
        {"reach nothing", "192.0.2.1", 80, false},
        {"reach *", "192.0.2.1", 80, true},
        {"reach *", "2001:db8::1", 80, true},
        {"reach *:443", "2001:db8::1", 80, false},
        {"reach a.example *.example", "192.0.2.1", 80, false},
        {"reach 192.0.2.1", "192.0.2.1", 80, true},
        {"reach 192.0.2.1", "192.0.2.0", 80, false},
        {"reach 192.0.2.1", "2001:db8::1", 80, false},
        {"reach 192.0.2.1:443", "192.0.2.1", 443, true},
        {"reach 192.0.2.1:443", "192.0.2.1", 80, false},
        {"reach 192.0.2.1:443", "192.0.2.1", 0, true},
        {"reach 10.0.0.0/8", "10.255.255.255", 80, true},
        {"reach 10.0.0.0/8", "11.0.0.0", 80, false},
        {"reach 10.0.0.0/8", "9.255.255.255", 80, false},
        {"reach 10.0.0.128/25", "10.0.0.127", 80, false},
        {"reach 10.0.0.128/25", "10.0.0.128", 80, true},
        {"reach 10.0.0.2/31", "10.0.0.3", 80, true},
        {"reach 10.0.0.2/31", "10.0.0.4", 80, false},
        {"reach 0.0.0.0/0", "192.0.2.1", 80, true},
        {"reach 0.0.0.0/0", "2001:db8::1", 80, false},
        {"reach [::]/0", "2001:db8::1", 80, true},
        {"reach [::]/0", "192.0.2.1", 80, false},
        {"reach [::]/80", "192.0.2.1", 80, false},
        {"reach [2001:db8::]/32", "2001:db8:ffff::", 80, true},
        {"reach [2001:db8::]/32", "2001:db9::", 80, false},
        {"reach [2001:db8::]/33", "2001:db8:8000::", 80, false},
        {"reach [2001:DB8::1]", "2001:db8::1", 80, true},
        {"reach [2001:db8::1]", "2001:db8::2", 80, false},
        {"reach [::ffff:10.0.0.0]/104", "10.1.2.3", 80, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char a[16];
        struct reach *r = load(rows[i].rules);
        address_of(rows[i].address, a);
        bool allowed = reach_address(r, a, rows[i].port);
        if (allowed != rows[i].allowed)
            fprintf(stderr, "row %zu: %s, %s\n", i, rows[i].rules, rows[i].address);
        CHECK(allowed == rows[i].allowed);
        reach_free(r);
    }
}

TEST(ports_are_judged)
{
    static const struct {
        const char *rules;
        unsigned port;
        bool allowed;
    } rows[] = {
        {"", 80, true},
        {"", 0, true},
        {"reach nothing", 80, true},
        {"listen nothing", 80, false},
        {"listen nothing", 0, false},
        {"listen 80", 80, true},
        {"listen 80", 81, false},
        {"listen 80", 0, false},
        {"listen 1024-65535 80", 80, true},
        {"listen 1024-65535 80", 1023, false},
        {"listen 1024-65535 80", 1024, true},
        {"listen 1024-65535 80", 65535, true},
        {"listen 1024-65535 80", 0, true},
        {"listen 32769-65535", 0, false},
        {"listen 1-60998", 0, false},
        {"listen 32768-60999", 0, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct reach *r = load(rows[i].rules);
        if (reach_listen(r, rows[i].port) != rows[i].allowed)
            fprintf(stderr, "row %zu: %s, %u\n", i, rows[i].rules, rows[i].port);
        CHECK(reach_listen(r, rows[i].port) == rows[i].allowed);
        reach_free(r);
    }
}

TEST(lines_limit)
{
    static const struct {
        const char *rules;
        bool reach, listen;
    } rows[] = {
        {"", false, false},
        {"reach nothing", true, false},
        {"listen nothing", false, true},
        {"reach a.example, listen 80", true, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct reach *r = load(rows[i].rules);
        CHECK(reach_limits(r) == rows[i].reach);
        CHECK(reach_limits_listen(r) == rows[i].listen);
        reach_free(r);
    }
    struct err e = ERR_INIT;
    struct json *paths = json_parse(STR("[{\"do\":\"hide\",\"path\":\"/x\"}]"), &e);
    struct reach *r = reach_load(paths), *none = reach_load(NULL);
    CHECK(!reach_limits(r) && !reach_limits_listen(r));
    CHECK(!reach_limits(none) && !reach_limits_listen(none));
    reach_free(r);
    reach_free(none);
    reach_free(NULL);
    json_free(paths);
}

TEST(malformed_rules_limit_and_give_nothing)
{
    static const char *const rows[] = {
        "[{\"do\":\"reach\"}]",
        "[{\"do\":\"reach\",\"host\":\"a.example\"}]",
        "[{\"do\":\"reach\",\"host\":\"a.example\",\"from\":0,\"to\":65535}]",
        "[{\"do\":\"reach\",\"host\":\"a.example\",\"from\":9,\"to\":8}]",
        "[{\"do\":\"reach\",\"host\":\"a.example\",\"from\":1,\"to\":65536}]",
        "[{\"do\":\"reach\",\"host\":\"a.example\",\"from\":1,\"to\":4294967297}]",
        "[{\"do\":\"reach\",\"host\":\"a example\",\"from\":1,\"to\":65535}]",
        "[{\"do\":\"reach\",\"host\":7,\"from\":1,\"to\":65535}]",
    };
    unsigned char a[16];
    address_of("192.0.2.1", a);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err e = ERR_INIT;
        struct json *rules = json_parse(str_of(rows[i]), &e);
        CHECK(rules != NULL);
        struct reach *r = reach_load(rules);
        CHECK(reach_limits(r));
        CHECK(!reach_name(r, STR("a.example"), 0) && !reach_address(r, a, 0));
        reach_free(r);
        json_free(rules);
    }
}

TEST(rules_are_limited_in_number)
{
    struct json *rules = json_array();
    for (int i = 0; i < 2 * (REACH_RULES_MAX + 1); i++) {
        struct reach_wrong wrong;
        struct json *o = json_object();
        char word[32];
        bool reach = i % 2 == 0;
        snprintf(word, sizeof(word), reach ? "n%d.example" : "%d", i / 2 + 1);
        json_put_z(o, "do", reach ? "reach" : "listen");
        CHECK((reach ? reach_word : reach_listen_word)(str_of(word), o, &wrong) == 0);
        json_push(rules, o);
    }
    struct reach *r = reach_load(rules);
    CHECK(reach_name(r, STR("n1000.example"), 1) && reach_listen(r, 1000));
    CHECK(!reach_name(r, STR("n1001.example"), 1) && !reach_listen(r, 1001));
    reach_free(r);
    json_free(rules);
}

TEST(private_addresses_are_known)
{
    static const struct {
        const char *address;
        bool is;
    } rows[] = {
        {"0.0.0.0", true},
        {"10.1.2.3", true},
        {"100.64.0.1", true},
        {"100.128.0.1", false},
        {"127.0.0.1", true},
        {"127.255.255.255", true},
        {"169.254.169.254", true},
        {"172.16.0.1", true},
        {"172.32.0.1", false},
        {"192.168.1.1", true},
        {"198.18.0.1", true},
        {"198.20.0.1", false},
        {"224.0.0.1", true},
        {"255.255.255.255", true},
        {"8.8.8.8", false},
        {"::", true},
        {"::1", true},
        {"fc00::1", true},
        {"fd12::1", true},
        {"fe80::1", true},
        {"ff02::1", true},
        {"::ffff:10.0.0.1", true},
        {"64:ff9b::10.0.0.1", true},
        {"2606:4700::1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char a[16];
        address_of(rows[i].address, a);
        if (reach_is_private(a) != rows[i].is)
            fprintf(stderr, "%s\n", rows[i].address);
        CHECK(reach_is_private(a) == rows[i].is);
    }
}

TEST(searched_names_are_known)
{
    static const struct {
        const char *rules, *name;
        bool is;
    } rows[] = {
        {"reach api.example.org", "api.example.org.svc.cluster.local", true},
        {"reach api.example.org", "API.example.org.local.", true},
        {"reach api.example.org", "api.example.org", false},
        {"reach api.example.org", "api.example.org.", false},
        {"reach api.example.org", "x.api.example.org.local", false},
        {"reach api.example.org", "api.example.orgs.local", false},
        {"reach *.mirror.example", "a.mirror.example.local", true},
        {"reach *.mirror.example", "b.a.mirror.example.svc.local", true},
        {"reach *.mirror.example", "mirror.example.local", false},
        {"reach *.mirror.example", "amirror.example.local", false},
        {"reach *.mirror.example", "a.mirror.example", false},
        {"reach *", "a.example", false},
        {"reach 10.0.0.0/8", "10.0.0.1.local", false},
        {"reach a", "a.local", true},
        {"reach a", "", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct reach *r = load(rows[i].rules);
        if (reach_is_searched(r, str_of(rows[i].name)) != rows[i].is)
            fprintf(stderr, "row %zu: %s, %s\n", i, rows[i].rules, rows[i].name);
        CHECK(reach_is_searched(r, str_of(rows[i].name)) == rows[i].is);
        reach_free(r);
    }
}

TEST(rules_are_shown)
{
    static const struct {
        const char *rules;
        size_t max;
        const char *text;
    } rows[] = {
        {"", 100, "everything"},
        {"reach nothing", 100, "nothing"},
        {"reach nothing, reach a.example", 100, "a.example"},
        {"reach API.example.org. *.mirror.example 10.0.0.0/8:5432", 100,
         "api.example.org, *.mirror.example, 10.0.0.0/8:5432"},
        {"reach [2001:db8::]/32:443 [::1] *:1-2 db.example:5000-5010", 100,
         "[2001:db8::]/32:443, [::1], *:1-2, db.example:5000-5010"},
        {"reach 0.0.0.0/0 [::]/0 10.0.0.1:1-65534", 100,
         "0.0.0.0/0, [::]/0, 10.0.0.1:1-65534"},
        {"reach a.example b.example", 20, "a.example, b.example"},
        {"reach a.example b.example", 19, "a.example, b.exa…"},
        {"reach a.example", 3, "…"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = BUF_INIT(1000);
        struct reach *r = load(rows[i].rules);
        reach_text(r, &out, rows[i].max);
        CHECK_STR(buf_z(&out), rows[i].text);
        buf_release(&out);
        reach_free(r);
    }
}

T_MAIN
