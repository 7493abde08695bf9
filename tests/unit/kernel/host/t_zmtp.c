/* SPDX-License-Identifier: MIT */
/*
 * ZMTP against a peer that is a plain descriptor: what is sent is to the byte what
 * RFC 23 has; what comes is understood however it is cut, or refused by name.
 */
#include "kernel/host/zmtp.h"

#include "t.h"

#include <fcntl.h>
#include <sys/socket.h>

#define GREETING \
    "\xff\0\0\0\0\0\0\0\1\x7f\3\1NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define READY "\4\x1a\5READY\xbSocket-Type\0\0\0\4PUBX"
#define HELLO GREETING READY

static struct loop *loop;
static struct near {
    struct zmtp z;
    struct buf log; /* "ready [a|b] end:…" */
    bool release, pause, take;
    struct buf taken;
    struct str first; /* part of what was taken */
    int ends;
} near;
static int peer;

static void on_stop(struct timer *t)
{
    (void)t;
    loop_stop(loop);
}

/* What is ready now, once. */
static void turn(void)
{
    static struct timer stop;
    timer_begin(loop, &stop, 0, on_stop);
    CHECK_INT(loop_run(loop), 0);
}

static void on_ready(struct zmtp *z)
{
    (void)z;
    buf_addz(&near.log, "ready ");
}

static void on_message(struct zmtp *z, const struct str *parts, int n)
{
    buf_addz(&near.log, "[");
    for (int i = 0; i < n; i++) {
        buf_addz(&near.log, i ? "|" : "");
        if (parts[i].n > 60)
            buf_addf(&near.log, "#%zu", parts[i].n);
        else
            buf_adds(&near.log, parts[i]);
    }
    buf_addz(&near.log, "] ");
    if (near.take && near.taken.n == 0) {
        zmtp_take(z, &near.taken);
        near.first = parts[0];
    }
    if (near.pause)
        zmtp_pause(z);
    if (near.release)
        zmtp_release(z);
}

static void on_end(struct zmtp *z, const struct err *e)
{
    (void)z;
    near.ends++;
    buf_addf(&near.log, "end:%s", e->text);
}

static const struct zmtp_events events = {on_ready, on_message, NULL, on_end};

static void start(enum zmtp_role role, const char *identity)
{
    int p[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p) == 0);
    loop = loop ? loop : loop_new();
    memset(&near, 0, sizeof(near));
    buf_init(&near.log, 1 << 20);
    peer = p[1];
    CHECK_INT(zmtp_start(&near.z, loop, p[0], role, identity, 100000, &events), 0);
}

static void finish(void)
{
    zmtp_release(&near.z);
    zmtp_release(&near.z);
    buf_release(&near.log);
    close(peer);
    turn();
}

static void give(const char *bytes, size_t n, size_t step)
{
    for (size_t at = 0; at < n && near.ends == 0; at += step) {
        size_t some = n - at < step ? n - at : step;
        if (write(peer, bytes + at, some) < 0)
            break;
        turn();
    }
    for (int i = 0; i < 5; i++)
        turn();
}

/* What the peer says after greeting and READY, and what is told, cut in any way. */
static void told(const char *bytes, size_t n, const char *want)
{
    static const size_t steps[] = {1, 2, 3, 7, 64, 100000};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        start(ZMTP_SUB, "");
        give(bytes, n, steps[i]);
        CHECK_STR(buf_z(&near.log), want);
        finish();
    }
}
#define TOLD(bytes, want) told(bytes, sizeof(bytes) - 1, want)

static void sent(const char *want, size_t n)
{
    char got[1000];
    ssize_t k = read(peer, got, sizeof(got));
    CHECK_INT(k, n);
    CHECK(memcmp(got, want, n) == 0);
}
#define SENT(bytes) sent(bytes, sizeof(bytes) - 1)

#define OURS \
    "\xff\0\0\0\0\0\0\0\0\x7f\3\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

TEST(a_subscriber_greets_and_then_subscribes_to_all)
{
    start(ZMTP_SUB, "");
    turn();
    SENT(OURS "\4\x19\5READY\xbSocket-Type\0\0\0\3SUB");
    give(HELLO, sizeof(HELLO) - 1, 1000);
    SENT("\0\1\1");
    CHECK_STR(buf_z(&near.log), "ready ");
    finish();
}

TEST(a_dealer_has_its_identity_and_sends_its_parts)
{
    struct str parts[] = {STR("a"), STR(""), STR("bc")};
    start(ZMTP_DEALER, "me");
    turn();
    SENT(OURS "\4\x2b\5READY\xbSocket-Type\0\0\0\6DEALER\x8Identity\0\0\0\2me");
    CHECK_INT(zmtp_send(&near.z, parts, 3), 0);
    turn();
    SENT("\1\1a\1\0\0\2bc");
    char long_one[300];
    memset(long_one, 'x', sizeof(long_one));
    struct str big = str_n(long_one, sizeof(long_one));
    CHECK_INT(zmtp_send(&near.z, &big, 1), 0);
    turn();
    char got[400];
    CHECK_INT(read(peer, got, sizeof(got)), 309);
    CHECK_MEM(got, 9, "\2\0\0\0\0\0\0\1\x2c");
    finish();
}

TEST(a_requester_has_an_empty_part_before_each)
{
    struct str ping = STR("ping");
    start(ZMTP_REQ, "");
    give(HELLO "\1\0\0\4ping", sizeof(HELLO) - 1 + 8, 1000);
    CHECK_STR(buf_z(&near.log), "ready [ping] ");
    char got[400];
    CHECK(read(peer, got, sizeof(got)) > 64);
    CHECK_INT(zmtp_send(&near.z, &ping, 1), 0);
    turn();
    SENT("\1\0\0\4ping");
    finish();
}

TEST(messages_of_parts_long_and_short)
{
    TOLD(HELLO, "ready ");
    TOLD(HELLO "\0\1a", "ready [a] ");
    TOLD(HELLO "\1\1a\1\0\0\2bc\0\1d", "ready [a||bc] [d] ");
    TOLD(HELLO "\2\0\0\0\0\0\0\0\2hi", "ready [hi] ");
    TOLD(HELLO "\4\6\4PINGx\0\1a", "ready [a] ");
    TOLD(HELLO "\1\1a\4\x0a\7UNKNOWNxx\0\1b", "ready [a|b] ");
}

TEST(a_ping_is_answered)
{
    start(ZMTP_DEALER, "");
    give(HELLO "\4\x9\4PING\0\1xy", sizeof(HELLO) - 1 + 11, 3);
    char got[400];
    ssize_t n = read(peer, got, sizeof(got));
    CHECK(n > 9);
    CHECK_MEM(got + n - 9, 9, "\4\7\4PONGxy");
    finish();
}

#define END(why) "end:the peer of a SUB socket speaks no ZMTP 3: " why
TEST(other_protocols_are_refused)
{
    TOLD("HTTP/1.1 400 Bad Request\r\n\r\n", END("its greeting is another"));
    TOLD("\xff\0\0\0\0\0\0\0\1\x7f\1\1", END("its version is older"));
    TOLD(GREETING "\xf8\0", END("a frame with unknown flags"));
    TOLD(GREETING "\5\1x", END("a frame with unknown flags"));
    TOLD(GREETING "\4\0", END("a command without a name"));
    TOLD(GREETING "\4\2\5x", END("a command without a name"));
    TOLD(GREETING "\6\0\0\0\0\0\1\0\0", END("a command of more than 4096 bytes"));
    TOLD(GREETING "\4\x9\5ERROR\2no", "end:the peer of a SUB socket refused: no");
}

TEST(another_mechanism_is_named)
{
    char greeting[] = GREETING;
    memcpy(greeting + 12, "CURVE", 5);
    told(greeting, 64,
         "end:the peer wants the security mechanism CURVE, and NULL is the only one that "
         "is spoken here");
}

TEST(sizes_are_limited)
{
    TOLD(HELLO "\2\xff\xff\xff\xff\xff\xff\xff\xff",
         "ready end:a message of more than 100000 bytes (a part has "
         "18446744073709551615) came on a SUB socket");
    /* Two parts that are too long only together. */
    static char two[sizeof(HELLO) + 200000] = HELLO;
    char *p = two + sizeof(HELLO) - 1;
    memcpy(p, "\3\0\0\0\0\0\1\x86\x9f", 9); /* 99,999 */
    memcpy(p + 9 + 99999, "\0\2xx", 4);
    told(two, sizeof(HELLO) - 1 + 9 + 99999 + 4,
         "ready end:a message of more than 100000 bytes (a part has 2) came on a SUB "
         "socket");
    char many[sizeof(HELLO) + 200] = HELLO;
    for (int i = 0; i < 65; i++)
        memcpy(many + sizeof(HELLO) - 1 + 2 * i, "\1\0", 2);
    told(many, sizeof(HELLO) - 1 + 130, "ready " END("a message of more than 64 parts"));
}

TEST(the_end_is_told_once_and_not_after_a_release)
{
    start(ZMTP_SUB, "");
    give(HELLO, sizeof(HELLO) - 1, 1000);
    shutdown(peer, SHUT_RDWR);
    for (int i = 0; i < 5; i++)
        turn();
    CHECK_STR(buf_z(&near.log),
              "ready end:the peer of a SUB socket closed the connection");
    CHECK_INT(near.ends, 1);
    finish();

    start(ZMTP_SUB, "");
    near.release = true;
    give(HELLO "\0\1a\0\1b", sizeof(HELLO) - 1 + 6, 1000);
    CHECK_STR(buf_z(&near.log), "ready [a] ");
    CHECK_INT(near.ends, 0);
    finish();
}

TEST(what_is_paused_waits)
{
    start(ZMTP_SUB, "");
    near.pause = true;
    give(HELLO "\0\1a\0\1b\0\1c", sizeof(HELLO) - 1 + 9, 1000);
    CHECK_STR(buf_z(&near.log), "ready [a] ");
    zmtp_resume(&near.z);
    CHECK_STR(buf_z(&near.log), "ready [a] [b] ");
    near.pause = false;
    zmtp_resume(&near.z);
    CHECK_STR(buf_z(&near.log), "ready [a] [b] [c] ");
    finish();
}

TEST(what_was_taken_outlives_what_follows)
{
    start(ZMTP_SUB, "");
    near.take = true;
    give(HELLO "\1\1a\0\2bc\0\1d", sizeof(HELLO) - 1 + 10, 3);
    CHECK_STR(buf_z(&near.log), "ready [a|bc] [d] ");
    zmtp_release(&near.z);
    CHECK_STR(buf_z(&near.taken), "abc");
    CHECK_MEM(near.first.p, near.first.n, "a");
    buf_release(&near.taken);
    finish();
}

T_MAIN
