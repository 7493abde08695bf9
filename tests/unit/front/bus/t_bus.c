/* SPDX-License-Identifier: MIT */
/* The URL of --bus, and replies that are longer than what is kept. */
#include "t.h"

#include "front/bus/outcome.h"
#include "front/bus/reply.h"
#include "front/bus/where.h"

TEST(the_url)
{
    static const struct {
        const char *url, *print; /* NULL: refused */
    } rows[] = {
        {"redis://h", "h:6379 0 0 0 od - - -"},
        {"rediss://u:p%40@h:1/3?prefix=a.b:c", "h:1 1 0 3 a.b:c - u p@"},
        {"redis://:p@[::1]:7/", "[::1]:7 0 0 0 od - - p"},
        {"redis+sentinel://a,b:5/m/2", "a:26379 0 1 2 od m - -"},
        {"rediss+sentinel://a/m?prefix=x", "a:26379 1 1 0 x m - -"},
        {"redis://a,b,c", "a:6379 0 0 0 od - - -"},
        {"redis://", NULL},
        {"redis:/h", NULL},
        {"redisss://h", NULL},
        {"redis+other://h", NULL},
        {"redis://h/x", NULL},
        {"redis://h/1024", NULL},
        {"redis://h:0", NULL},
        {"redis://h:65536", NULL},
        {"redis://a,,b", NULL},
        {"redis://u%zz@h", NULL},
        {"redis://h?prefix={x}", NULL},
        {"redis://h?prefix=", NULL},
        {"redis://h?db=1", NULL},
        {"redis+sentinel://h", NULL},
        {"redis+sentinel://h/m n", NULL},
        {"http://h", NULL},
        {"redis://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct bus_where w;
        struct err e = ERR_INIT;
        struct buf b = BUF_INIT(1000);
        int rc = bus_where(&w, str_of(rows[i].url), &e);
        if (rc != (rows[i].print ? 0 : -1))
            T_FAIL("%s: %s", rows[i].url, e.text);
        if (rc == 0) {
            bus_host_print(&w.hosts[0], &b);
            buf_addf(&b, " %d %d %u %s %s %s %s", w.tls, w.sentinel, w.db, w.prefix,
                     w.master[0] ? w.master : "-", w.user[0] ? w.user : "-",
                     w.password[0] ? w.password : "-");
            CHECK_STR(buf_z(&b), rows[i].print ? rows[i].print : "refused");
        } else {
            CHECK(strstr(e.text, "cannot use the URL of --bus") != NULL);
            CHECK(strstr(e.text, "%zz") == NULL);
        }
        buf_release(&b);
    }
}

TEST(a_nul_is_no_part_of_a_name)
{
    static const char prefix[] = "redis://h?prefix=\0x", host[] = "redis://h\0x:1/";
    struct bus_where w;
    struct err e;
    CHECK_INT(bus_where(&w, str_n(prefix, sizeof(prefix) - 1), &e), -1);
    CHECK_INT(bus_where(&w, str_n(host, sizeof(host) - 1), &e), -1);
}

static const struct reply *only(struct replies *r, struct str bytes)
{
    const struct reply *out = NULL;
    struct err e = ERR_INIT;
    for (size_t i = 0; i < bytes.n; i += 65536) {
        CHECK_INT(replies_feed(r, str_sub(bytes, i, 65536), &e), 0);
        int rc = replies_next(r, &out, &e);
        if (rc < 0 || (rc > 0 && i + 65536 < bytes.n))
            T_FAIL("%d at %zu: %s", rc, i, e.text);
    }
    CHECK(out != NULL);
    return out;
}

TEST(strings_that_are_too_long_are_passed_over)
{
    struct buf b = BUF_INIT(16 << 20);
    struct replies *r = replies_new();
    buf_addz(&b, "*3\r\n$1\r\na\r\n");
    buf_addf(&b, "$%d\r\n", 5000000);
    for (int i = 0; i < 5000000; i++)
        buf_addc(&b, i % 7 == 0 ? '\r' : '\n');
    buf_addz(&b, "\r\n:3\r\n");
    for (int again = 0; again < 2; again++) {
        const struct reply *list = only(r, buf_str(&b));
        CHECK_INT(list->n, 3);
        CHECK(str_eq(reply_text(reply_at(list, 0)), STR("a")));
        CHECK_INT(reply_at(list, 1)->kind, REPLY_DROPPED);
        CHECK_INT(reply_at(list, 2)->number, 3);
        CHECK(reply_at(list, 3) == NULL);
    }
    replies_free(r);
    buf_release(&b);
}

TEST(of_many_strings_those_that_fit_are_kept)
{
    struct buf b = BUF_INIT(16 << 20);
    struct replies *r = replies_new();
    buf_addz(&b, "*7\r\n");
    for (int i = 0; i < 7; i++) {
        buf_addf(&b, "$%d\r\n", 1000000);
        for (int k = 0; k < 1000000; k++)
            buf_addc(&b, 'x');
        buf_addz(&b, "\r\n");
    }
    const struct reply *list = only(r, buf_str(&b));
    for (size_t i = 0; i < 7; i++)
        CHECK_INT(reply_at(list, i)->kind, i < 4 ? REPLY_STRING : REPLY_DROPPED);
    replies_free(r);
    buf_release(&b);
}

TEST(a_long_list_is_cut)
{
    struct buf b = BUF_INIT(1 << 20);
    struct replies *r = replies_new();
    buf_addz(&b, "*2\r\n*20000\r\n");
    for (int i = 0; i < 20000; i++)
        buf_addz(&b, "+x\r\n");
    buf_addz(&b, ":1\r\n");
    const struct reply *list = only(r, buf_str(&b));
    CHECK(list->cut && reply_at(list, 0)->cut);
    CHECK_INT(list->n, 1);
    CHECK_INT(reply_at(list, 0)->n, REPLY_NODES_MAX - 2);
    list = only(r, STR("*1\r\n:7\r\n"));
    CHECK(!list->cut && reply_at(list, 0)->number == 7);
    replies_free(r);
    buf_release(&b);
}

TEST(what_no_server_sends_ends_it)
{
    static const char *const rows[] = {"*1048577\r\n", "$600000000\r\n", "$-2\r\n", "x",
                                       "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"
                                       "*1\r\n*1\r\n*1\r\n:1\r\n"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct replies *r = replies_new();
        const struct reply *out;
        struct err e = ERR_INIT;
        CHECK_INT(replies_feed(r, str_of(rows[i]), &e), 0);
        if (replies_next(r, &out, &e) != -1 || !e.text[0])
            T_FAIL("%s is a reply", rows[i]);
        CHECK_INT(replies_next(r, &out, &e), -1);
        CHECK_INT(replies_feed(r, STR(":1\r\n"), &e), -1);
        replies_free(r);
    }
}

TEST(errors_have_names)
{
    CHECK_STR(bus_outcome_name(bus_outcome_of(STR("NOPERM this user"))), "denied");
    CHECK_STR(bus_outcome_name(bus_outcome_of(STR("MOVED 1 a:1"))), "moved");
    CHECK_STR(bus_outcome_name(bus_outcome_of(STR(""))), "error");
}

T_MAIN
