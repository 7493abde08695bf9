/* SPDX-License-Identifier: MIT */
/* Questions of programs to port 53, without the lookup of a name that is allowed. */
#include "reach/names.h"

#include "base/buf.h"
#include "reach/rules.h"
#include "t.h"

#include <string.h>

struct seen {
    unsigned char bytes[NAMES_ANSWER_MAX];
    size_t n;
    int answers, refusals, lookups;
    char name[300];
};

static void on_answer(void *arg, const struct names_asker *who, const void *bytes,
                      size_t n)
{
    struct seen *s = arg;
    CHECK_INT(who->inode, 7);
    memcpy(s->bytes, bytes, n);
    s->n = n;
    s->answers++;
}

static void on_refused(void *arg, const struct names_asker *who, struct str name)
{
    struct seen *s = arg;
    (void)who;
    snprintf(s->name, sizeof(s->name), "%.*s", STR_ARG(name));
    s->refusals++;
}

static void on_watch(void *arg, int fd, void *name, bool on)
{
    struct seen *s = arg;
    (void)fd;
    (void)name;
    s->lookups += on;
}

static const struct names_events events = {on_answer, on_refused, on_watch};

static struct resolver *names_of(const char *host, struct seen *s)
{
    struct json *rules = json_array(), *o = json_object();
    memset(s, 0, sizeof(*s));
    json_put_z(o, "do", "reach");
    if (*host) {
        json_put_z(o, "host", host);
        json_put_int(o, "from", 1);
        json_put_int(o, "to", 65535);
    } else {
        json_put_bool(o, "nothing", true);
    }
    json_push(rules, o);
    static struct resolver *n; /* it lives as long as its process */
    n = names_open(reach_load(rules), &events, s);
    json_free(rules);
    return n;
}

/* A question as a resolver sends it; the name's labels are separated by dots. */
static size_t question(unsigned char out[512], const char *name, unsigned type)
{
    static const unsigned char head[12] = {0x12, 0x34, 1, 0, 0, 1};
    size_t n = sizeof(head);
    memcpy(out, head, n);
    for (struct str rest = str_of(name); rest.n > 0;) {
        struct str label = str_cut(&rest, '.');
        out[n++] = (unsigned char)label.n;
        memcpy(out + n, label.p, label.n);
        n += label.n;
    }
    out[n++] = 0;
    out[n++] = (unsigned char)(type >> 8);
    out[n++] = (unsigned char)type;
    out[n++] = 0;
    out[n++] = 1;
    return n;
}

static void ask(struct resolver *n, const char *name, unsigned type)
{
    const struct names_asker who = {.inode = 7};
    unsigned char q[512];
    names_ask(n, &who, q, question(q, name, type));
}

TEST(a_name_that_no_rule_allows_does_not_exist)
{
    struct seen s;
    struct resolver *n = names_of("api.example.org", &s);
    ask(n, "data.EVIL.example", 1);
    CHECK_INT(s.answers, 1);
    CHECK_INT(s.refusals, 1);
    CHECK_INT(s.lookups, 0);
    CHECK_STR(s.name, "data.evil.example");
    CHECK_MEM(s.bytes, 2, "\x12\x34");
    CHECK_INT(s.bytes[2], 0x81); /* an answer; recursion was asked for */
    CHECK_INT(s.bytes[3] & 15, 3);
    CHECK_INT(s.bytes[7], 0);
}

TEST(what_a_search_list_makes_of_a_name_is_not_said)
{
    struct seen s;
    struct resolver *n = names_of("api.example.org", &s);
    ask(n, "api.example.org.svc.cluster.local", 1);
    CHECK_INT(s.answers, 1);
    ask(n, "_http._tcp.api.example.org", 33); /* nor a service of an allowed name */
    CHECK_INT(s.answers, 2);
    CHECK_INT(s.refusals, 0);
    CHECK_INT(s.lookups, 0);
    ask(n, "_http._tcp.x.example", 33);
    CHECK_INT(s.refusals, 1);
}

TEST(localhost_is_known_without_a_lookup)
{
    struct seen s;
    struct resolver *n = names_of("", &s);
    ask(n, "localhost", 1);
    CHECK_INT(s.bytes[7], 1);
    CHECK_MEM(s.bytes + s.n - 4, 4, "\x7f\0\0\x01");
    ask(n, "app.localhost", 28);
    CHECK_INT(s.bytes[7], 1);
    CHECK_INT(s.bytes[s.n - 1], 1);
    ask(n, "localhost", 16); /* TXT */
    CHECK_INT(s.bytes[7], 0);
    CHECK_INT(s.bytes[3] & 15, 0);
    CHECK_INT(s.lookups, 0);
}

TEST(a_question_that_is_cut_or_odd_gets_no_lookup)
{
    struct seen s;
    struct resolver *n = names_of("*", &s);
    const struct names_asker who = {.inode = 7};
    unsigned char q[512];
    size_t size = question(q, "api.example.org", 1);
    for (size_t i = 0; i < size; i++)
        names_ask(n, &who, q, i);
    q[2] |= 0x80; /* it is an answer */
    names_ask(n, &who, q, size);
    q[2] = 1;
    q[5] = 2; /* two questions */
    names_ask(n, &who, q, size);
    q[5] = 1;
    q[13] = '\\';
    names_ask(n, &who, q, size);
    q[13] = 'a';
    q[12] = 0xc0; /* a pointer */
    names_ask(n, &who, q, size);
    CHECK_INT(s.lookups, 0);
    CHECK_INT(s.refusals, 0);
}

TEST(an_address_that_was_not_handed_out_means_nothing)
{
    struct seen s;
    struct resolver *n = names_of("*", &s);
    unsigned char a[16] = {[10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [14] = 1},
                  real[16];
    CHECK(!names_meaning(n, a, real));
    memset(a, 0, sizeof(a));
    a[0] = 0xfd;
    a[1] = 0x6f;
    a[2] = 0x64;
    a[15] = 1;
    CHECK(!names_meaning(n, a, real));
}

T_MAIN
