/* SPDX-License-Identifier: MIT */
/*
 * TLS under streams: our client and our server with each other over a relay
 * that can cut or change what passes, with certificates of every kind.
 */
#include "net/tls.h"

#include "net/trust.h"

#define T_LIMIT_S 60
#include "t.h"
#include "tls_seen.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utime.h>

static char certs[300];
static struct loop *loop;

struct side {
    struct stream s;
    struct buf got;
    int ends, errnum;
    struct buf said; /* stream_error's sentence at the end */
    bool ready, open, echo, half;
    size_t more; /* bytes that are still to be sent */
};

static struct side near, far; /* client, server */
static struct tls_server *server;
static struct tls_client *client;

/* ---- paths ---- */

/* One of four at a time. */
static const char *cert(const char *name)
{
    static char path[4][400];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", certs, name);
    return path[i];
}

/* ---- sides ---- */

static void side_end(struct stream *s, int errnum)
{
    struct side *x = container_of(s, struct side, s);
    const struct err *e = stream_error(s);
    x->ends++;
    x->errnum = errnum;
    buf_addz(&x->said, e ? e->text : "");
    stream_close(s);
    x->open = false;
}

static void side_data(struct stream *s)
{
    struct side *x = container_of(s, struct side, s);
    CHECK(!x->ends);
    CHECK_INT(buf_adds(&x->got, buf_str(&s->in)), 0);
    if (x->echo)
        CHECK_INT(stream_write(s, buf_str(&s->in)), 0);
    buf_reset(&s->in);
}

static void side_room(struct stream *s)
{
    static const char bytes[1000] = "abc";
    struct side *x = container_of(s, struct side, s);
    while (x->more > 0 && stream_room(s) >= sizeof(bytes)) {
        CHECK_INT(stream_write(s, str_n(bytes, sizeof(bytes))), 0);
        x->more -= sizeof(bytes);
    }
    if (x->more > 0)
        stream_want_room(s);
}

static void side_eof(struct stream *s)
{
    struct side *x = container_of(s, struct side, s);
    x->half = true;
}

static const struct stream_events events = {
    .on_data = side_data, .on_room = side_room, .on_end = side_end};
static const struct stream_events half_events = {
    .on_data = side_data, .on_room = side_room, .on_end = side_end, .on_eof = side_eof};

static void on_ready(struct stream *s) { container_of(s, struct side, s)->ready = true; }

static void open_side(struct side *x, int fd, const struct stream_events *ev)
{
    *x = (struct side){.open = true};
    buf_init(&x->got, 64 << 20);
    buf_init(&x->said, 4096);
    CHECK_INT(stream_open(&x->s, loop, fd, 20000, 20000, ev), 0);
}

static void close_side(struct side *x)
{
    if (x->open)
        stream_close(&x->s);
    x->open = false;
    buf_release(&x->got);
    buf_release(&x->said);
}

/* ---- the loop ---- */

static struct task turn;
static struct timer late;

static void stop_late(struct timer *t)
{
    (void)t;
    T_FAIL("nothing more happens: near %d \"%s\" (%zu), far %d \"%s\" (%zu)", near.ends,
           buf_z(&near.said), near.got.n, far.ends, buf_z(&far.said), far.got.n);
}

static void on_turn(struct task *t)
{
    (void)t;
    loop_stop(loop);
}

static void turn_once(void)
{
    task_init(&turn, on_turn);
    task_defer(loop, &turn);
    timer_begin(loop, &late, 15000, stop_late);
    CHECK_INT(loop_run(loop), 0);
    timer_stop(&late);
}

#define UNTIL(cond) \
    do { \
        for (int64_t t_end = t_now_ms() + 15000; !(cond); turn_once()) \
            if (t_now_ms() > t_end) \
                stop_late(&late); \
    } while (0)

/* ---- the relay: pairs of descriptors, bytes between which can be cut ---- */

static struct relay {
    struct io io;
    int to;
    long pass; /* bytes that may pass; negative: all */
    long flip; /* which of them is changed; negative: none */
    long passed;
    unsigned char with;
    bool shut;
    /* Where records begin: RFC 8446 5.1. */
    unsigned char head[5];
    int head_n;
    long body;                  /* bytes of the record that are still to come */
    int flipped_at, flipped_in; /* the changed byte's place in its record, whose type
                                   that is; -1: none was changed */
} relays[2];                    /* of the client's bytes, of the server's */

static void follow_records(struct relay *r, const unsigned char *p, long n)
{
    for (long i = 0; i < n; i++) {
        bool in_head = r->head_n < 5;
        if (in_head)
            r->head[r->head_n++] = p[i];
        if (r->passed + i == r->flip) {
            r->flipped_at = in_head ? r->head_n - 1 : 5;
            r->flipped_in = r->head[0];
        }
        if (!in_head)
            r->body--;
        else if (r->head_n == 5)
            r->body = r->head[3] << 8 | r->head[4];
        if (r->head_n == 5 && r->body == 0)
            r->head_n = 0;
    }
}

static void relay_end(struct relay *r)
{
    if (r->shut)
        return;
    r->shut = true;
    shutdown(r->to, SHUT_WR);
    io_set(&r->io, 0);
}

static void on_relay(struct io *io, uint32_t why)
{
    struct relay *r = container_of(io, struct relay, io);
    unsigned char bytes[4096];
    (void)why;
    if (r->shut)
        return;
    ssize_t n = read(io->fd, bytes, sizeof(bytes));
    if (n < 0 && errno == EAGAIN)
        return;
    long left = r->pass < 0 ? n : r->pass - r->passed;
    if (n > 0 && n > left)
        n = left;
    if (n > 0)
        follow_records(r, bytes, n);
    if (n > 0 && r->flip >= r->passed && r->flip < r->passed + n)
        bytes[r->flip - r->passed] ^= r->with;
    if (n > 0 && send(r->to, bytes, (size_t)n, MSG_NOSIGNAL) == n)
        r->passed += n;
    else
        n = 0;
    if (n <= 0 || (r->pass >= 0 && r->passed >= r->pass))
        relay_end(r);
}

static void relay_open(int from, int to, struct relay *r, long pass)
{
    *r = (struct relay){.to = to, .pass = pass, .flip = -1, .flipped_at = -1};
    CHECK_INT(io_start(loop, &r->io, from, EPOLLIN, on_relay), 0);
    if (pass == 0)
        relay_end(r);
}

static void pair(int p[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p) < 0)
        T_FAIL("socketpair: %s", strerror(errno));
}

/* ---- set up ---- */

static void begin(void)
{
    loop = loop_new();
    CHECK(loop != NULL);
}

static void serve_files(const char *pem, const char *key, const char *ca)
{
    struct err e = ERR_INIT;
    struct tls_files f = {pem, key, ca};
    server = tls_server_new(&f, &e);
    if (!server)
        T_FAIL("%s", e.text);
}

static void serve(const char *name, const char *ca)
{
    char pem[40], key[40];
    snprintf(pem, sizeof(pem), "%s.pem", name);
    snprintf(key, sizeof(key), "%s.key", name);
    serve_files(cert(pem), cert(key), ca ? cert(ca) : NULL);
}

static void trust_this(const char *ca, const char *own)
{
    struct err e = ERR_INIT;
    struct trust_where w = {.ca = cert(ca)};
    struct tls_files f = {0};
    char pem[40], key[40];
    struct trust *t = trust_new(&w, &e);
    if (!t)
        T_FAIL("%s", e.text);
    if (own) {
        snprintf(pem, sizeof(pem), "%s.pem", own);
        snprintf(key, sizeof(key), "%s.key", own);
        f = (struct tls_files){.cert = cert(pem), .key = cert(key)};
    }
    client = tls_client_new(t, own ? &f : NULL, &e);
    if (!client)
        T_FAIL("%s", e.text);
}

static void connect_near(int fd, const char *host, int ms)
{
    struct err e = ERR_INIT;
    open_side(&near, fd, &events);
    if (tls_connect(client, &near.s, host, ms, on_ready, &e) < 0)
        T_FAIL("%s", e.text);
}

static void accept_far(int fd, int ms)
{
    open_side(&far, fd, &events);
    tls_accept(server, &far.s, ms, NULL);
}

static void meet(const char *host)
{
    int p[2];
    pair(p);
    connect_near(p[0], host, 0);
    accept_far(p[1], 0);
}

static void finish(void)
{
    close_side(&near);
    close_side(&far);
    turn_once();
    tls_server_free(server);
    tls_client_free(client);
    server = NULL;
    client = NULL;
    loop_free(loop);
}

/* ---- what passes ---- */

static void check_talk(const char *name, const char *host)
{
    begin();
    serve(name, NULL);
    trust_this("root.pem", NULL);
    meet(host);
    far.echo = true;
    CHECK_INT(stream_write(&near.s, STR("hello")), 0);
    UNTIL(near.got.n == 5 || near.ends);
    CHECK_STR(buf_z(&near.said), "");
    CHECK_MEM(near.got.p, near.got.n, "hello");
    CHECK(near.ready && !stream_error(&near.s) && tls_is_under(&near.s));
    struct buf text = BUF_INIT(200);
    tls_seen_cipher(&near.s, &text);
    CHECK(str_starts(buf_str(&text), STR("TLSv1.3 TLS1-3-")));
    CHECK_INT(tls_seen_peer(&near.s, &text), 0);
    CHECK_INT(tls_seen_peer(&far.s, &text), -1);
    buf_release(&text);
    finish();
}

TEST(an_ec_certificate) { check_talk("good", "a.test"); }
TEST(an_rsa_certificate) { check_talk("rsa", "a.test"); }
TEST(a_certificate_by_the_root) { check_talk("direct", "a.test"); }
TEST(a_wildcard_and_capitals) { check_talk("good", "X.w.TEST"); }
TEST(an_ipv4_address) { check_talk("good", "127.0.0.1"); }
TEST(an_ipv6_address) { check_talk("good", "::1"); }

static void check_bulk(size_t n, int small)
{
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    meet("a.test");
    setsockopt(near.s.io.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    setsockopt(far.s.io.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    near.more = far.more = n;
    stream_want_room(&near.s);
    stream_want_room(&far.s);
    UNTIL((near.got.n >= n && far.got.n >= n) || near.ends || far.ends);
    CHECK_STR(buf_z(&near.said), "");
    CHECK_INT(far.got.n, n);
    CHECK_INT(near.got.n, n);
    for (size_t i = 0; i < n; i += 1000)
        CHECK(memcmp(near.got.p + i, "abc\0", 4) == 0 &&
              memcmp(far.got.p + i, "abc\0", 4) == 0);
    finish();
}

TEST(megabytes_both_ways) { check_bulk(8000000, 1 << 20); }
TEST(megabytes_through_small_sockets) { check_bulk(2000000, 4096); }

/* The reader's pause must not lose what was decrypted and not taken. */
TEST(a_paused_reader_gets_the_rest_of_a_record)
{
    static char bytes[16000];
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    int p[2];
    pair(p);
    accept_far(p[1], 0);
    *(&near) = (struct side){.open = true};
    buf_init(&near.got, 1 << 20);
    buf_init(&near.said, 4096);
    CHECK_INT(stream_open(&near.s, loop, p[0], 1000, 1000, &events), 0);
    CHECK_INT(tls_connect(client, &near.s, "a.test", 0, on_ready, NULL), 0);
    UNTIL(near.ready);
    memset(bytes, 'x', sizeof(bytes));
    CHECK_INT(stream_write(&far.s, str_n(bytes, sizeof(bytes))), 0);
    UNTIL(near.got.n > 0);
    if (near.got.n < sizeof(bytes)) {
        size_t before = near.got.n;
        stream_pause(&near.s);
        for (int i = 0; i < 5; i++)
            turn_once();
        CHECK_INT(near.got.n, before);
        stream_resume(&near.s);
    }
    UNTIL(near.got.n == sizeof(bytes));
    finish();
}

static struct stream moved;
static const struct stream_events *moved_events;

static void move_at_once(struct stream *s)
{
    near.ready = true;
    stream_move(&moved, s, moved_events);
}

static void moved_data(struct stream *s)
{
    CHECK_INT(buf_adds(&near.got, buf_str(&s->in)), 0);
    buf_reset(&s->in);
}

TEST(a_stream_moved_when_it_is_ready)
{
    static const struct stream_events ev = {.on_data = moved_data, .on_end = side_end};
    int p[2];
    begin();
    moved_events = &ev;
    serve("good", NULL);
    trust_this("root.pem", NULL);
    pair(p);
    open_side(&near, p[0], &events);
    CHECK_INT(tls_connect(client, &near.s, "a.test", 0, move_at_once, NULL), 0);
    accept_far(p[1], 0);
    CHECK_INT(stream_write(&far.s, STR("first")), 0);
    UNTIL(near.got.n == 5);
    CHECK_INT(stream_write(&moved, STR("back")), 0);
    UNTIL(far.got.n == 4);
    stream_close(&moved);
    UNTIL(far.ends);
    CHECK_INT(far.errnum, 0);
    near.open = false;
    finish();
}

/* The library's store of keys has to grow with them. */
TEST(many_connections_at_once)
{
    enum { MANY = 60 };
    static struct side nears[MANY], fars[MANY];
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    for (int i = 0; i < MANY; i++) {
        int p[2];
        pair(p);
        open_side(&nears[i], p[0], &events);
        CHECK_INT(tls_connect(client, &nears[i].s, "a.test", 0, on_ready, NULL), 0);
        open_side(&fars[i], p[1], &events);
        tls_accept(server, &fars[i].s, 0, NULL);
        CHECK_INT(stream_write(&nears[i].s, STR("x")), 0);
        UNTIL(fars[i].got.n == 1 || fars[i].ends || nears[i].ends);
        CHECK_STR(buf_z(&fars[i].said), "");
        CHECK_STR(buf_z(&nears[i].said), "");
    }
    for (int i = 0; i < MANY; i++) {
        close_side(&nears[i]);
        close_side(&fars[i]);
    }
    finish();
}

/* ---- ends ---- */

static void talk_first(void)
{
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    meet("a.test");
    CHECK_INT(stream_write(&near.s, STR("x")), 0);
    CHECK_INT(stream_write(&far.s, STR("y")), 0);
    UNTIL(near.got.n == 1 && far.got.n == 1);
}

TEST(a_closed_stream_is_an_end)
{
    talk_first();
    CHECK_INT(stream_write(&near.s, STR("last")), 0);
    stream_close(&near.s);
    near.open = false;
    UNTIL(far.ends);
    CHECK_INT(far.errnum, 0);
    CHECK_INT(far.got.n, 5);
    CHECK_STR(buf_z(&far.said), "");
    finish();
}

TEST(a_cut_connection_is_not_an_end)
{
    talk_first();
    CHECK_INT(shutdown(near.s.io.fd, SHUT_WR), 0);
    UNTIL(far.ends);
    CHECK_INT(far.errnum, EPROTO);
    CHECK(strstr(buf_z(&far.said), "may be cut short"));
    finish();
}

TEST(what_was_dropped_is_not_an_end)
{
    static const char bytes[19000];
    talk_first();
    int small = 4096;
    setsockopt(near.s.io.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    stream_pause(&far.s);
    CHECK_INT(stream_write(&near.s, str_n(bytes, sizeof(bytes))), 0);
    CHECK(near.s.out.n > 0);
    stream_close(&near.s);
    near.open = false;
    stream_resume(&far.s);
    UNTIL(far.ends);
    CHECK(far.errnum != 0);
    finish();
}

TEST(one_way_ends_and_the_other_goes_on)
{
    int p[2];
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    pair(p);
    connect_near(p[0], "a.test", 0);
    open_side(&far, p[1], &half_events);
    tls_accept(server, &far.s, 0, NULL);
    CHECK_INT(stream_write(&near.s, STR("question")), 0);
    stream_shutdown(&near.s);
    stream_shutdown(&near.s);
    UNTIL(far.half);
    CHECK_INT(far.got.n, 8);
    CHECK_INT(stream_write(&far.s, STR("answer")), 0);
    UNTIL(near.got.n == 6);
    stream_close(&far.s);
    far.open = false;
    UNTIL(near.ends);
    CHECK_INT(near.errnum, 0);
    finish();
}

TEST(a_server_that_is_freed_has_its_streams)
{
    talk_first();
    tls_server_free(server);
    tls_client_free(client);
    server = NULL;
    client = NULL;
    CHECK_INT(stream_write(&near.s, STR("x")), 0);
    UNTIL(far.got.n == 2);
    finish();
}

/* ---- trust ---- */

static void check_refused(const char *name, const char *ca, const char *host,
                          const char *a, const char *b)
{
    begin();
    serve("good", NULL);
    tls_server_free(server);
    server = NULL;
    /* What a server of ours refuses to show, another may. */
    char pem[40], key[40];
    struct err e = ERR_INIT;
    snprintf(pem, sizeof(pem), "%s.pem", name);
    snprintf(key, sizeof(key), "%s.key", name);
    struct tls_files f = {cert(pem), cert(key), NULL};
    server = tls_server_new(&f, &e);
    CHECK(server != NULL);
    trust_this(ca, NULL);
    meet(host);
    CHECK_INT(stream_write(&near.s, STR("secret")), 0);
    UNTIL(near.ends && far.ends);
    CHECK(!near.ready);
    CHECK_INT(near.ends, 1);
    CHECK_INT(near.errnum, EPROTO);
    CHECK_INT(far.errnum, EPROTO);
    CHECK_INT(far.got.n, 0);
    if (!strstr(buf_z(&near.said), a) || !strstr(buf_z(&near.said), b))
        T_FAIL("\"%s\" has not \"%s\" and \"%s\"", buf_z(&near.said), a, b);
    finish();
}

TEST(another_name)
{
    check_refused("good", "root.pem", "b.test", "cannot trust b.test",
                  "for other names: a.test, *.w.test, 127.0.0.1, ::1");
}
TEST(a_wildcard_is_one_label)
{
    check_refused("good", "root.pem", "x.y.w.test", "x.y.w.test", "other names");
}
TEST(a_wildcard_is_not_none)
{
    check_refused("good", "root.pem", "w.test", "w.test", "other names");
}
TEST(another_address)
{
    check_refused("good", "root.pem", "127.0.0.2", "127.0.0.2", "other names");
}
TEST(an_address_needs_a_certificate_for_it)
{
    check_refused("direct", "root.pem", "127.0.0.1", "127.0.0.1", "other names: a.test");
}
TEST(an_unknown_issuer)
{
    check_refused("other", "root.pem", "a.test", "issued by \"CN=stranger of tests\"",
                  "SSL_CERT_FILE (with --connect: or --ca FILE)");
}
TEST(signed_by_itself)
{
    check_refused("self", "root.pem", "a.test", "signed by itself", "root.pem");
}
TEST(signed_by_itself_and_trusted)
{
    begin();
    serve("self", NULL);
    trust_this("self.pem", NULL);
    meet("a.test");
    UNTIL(near.ready || near.ends);
    CHECK_STR(buf_z(&near.said), "");
    finish();
}

/* Who makes us speak 1.2 with a server of 1.3 is found out: RFC 8446 4.1.3. */
TEST(a_downgrade_is_seen)
{
    int p[2];
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    pair(p);
    open_side(&near, p[0], &events);
    CHECK_INT(tls_connect_older(client, &near.s, "a.test", 0, on_ready, NULL), 0);
    accept_far(p[1], 0);
    CHECK_INT(stream_write(&near.s, STR("secret")), 0);
    UNTIL(near.ends && far.ends);
    CHECK(!near.ready);
    CHECK_INT(near.errnum, EPROTO);
    CHECK_INT(far.got.n, 0);
    CHECK(strstr(buf_z(&near.said), "somebody in between"));
    finish();
}

/* ---- clients' certificates ---- */

TEST(a_client_with_a_certificate)
{
    struct buf who = BUF_INIT(200);
    begin();
    serve("good", "root.pem");
    trust_this("root.pem", "client");
    meet("a.test");
    CHECK_INT(stream_write(&near.s, STR("x")), 0);
    UNTIL(far.got.n == 1 || far.ends);
    CHECK_STR(buf_z(&far.said), "");
    CHECK_INT(tls_seen_peer(&far.s, &who), 0);
    CHECK_STR(buf_z(&who), "CN=somebody");
    buf_release(&who);
    finish();
}

static void check_client_refused(const char *own, const char *says)
{
    begin();
    serve("good", "root.pem");
    trust_this("root.pem", own);
    meet("a.test");
    CHECK_INT(stream_write(&near.s, STR("secret")), 0);
    UNTIL(near.ends && far.ends);
    CHECK_INT(far.got.n, 0);
    /* What it sent may meet the closed end before it has read the alert. */
    CHECK(near.errnum == EPROTO || near.errnum == EPIPE || near.errnum == ECONNRESET);
    CHECK_INT(far.errnum, EPROTO);
    if (!strstr(buf_z(&far.said), says))
        T_FAIL("\"%s\" has not \"%s\"", buf_z(&far.said), says);
    finish();
}

TEST(a_client_without_a_certificate) { check_client_refused(NULL, "shows none"); }
TEST(a_client_with_another_issuer)
{
    check_client_refused("other", "issued by \"CN=stranger of tests\"");
}

/* ---- files of a server ---- */

static void check_files(const char *pem, const char *key, const char *ca, const char *a,
                        const char *b)
{
    struct err e = ERR_INIT;
    struct tls_files f = {cert(pem), key ? cert(key) : NULL, ca ? cert(ca) : NULL};
    CHECK(tls_server_new(&f, &e) == NULL);
    if (!strstr(e.text, a) || !strstr(e.text, b))
        T_FAIL("\"%s\" has not \"%s\" and \"%s\"", e.text, a, b);
}

TEST(files_that_cannot_be_used)
{
    close(open(cert("empty"), O_CREAT | O_WRONLY, 0600));
    check_files("none.pem", "good.key", NULL, "none.pem", "No such file");
    check_files("good.pem", "none.key", NULL, "none.key", "No such file");
    check_files("good.pem", "rsa.key", NULL, "rsa.key", "do not belong together");
    check_files("good.pem", "locked.key", NULL, "locked.key", "encrypted");
    check_files("good.pem", "good.pem", NULL, "good.pem", "no PEM key");
    check_files("good.pem", NULL, NULL, "good.pem", "no PEM key");
    check_files("good.key", "good.key", NULL, "good.key", "no PEM certificate");
    check_files("empty", "good.key", NULL, "empty", "it is empty");
    check_files("expired.pem", "expired.key", NULL, "expired.pem",
                "expired at 2001-01-01 00:00:00 UTC, and this machine's clock says 20");
    check_files("early.pem", "early.key", NULL, "early.pem", "valid from 2099-01-01");
    check_files("good.pem", "good.key", "none.pem", "authorities", "No such file");
    check_files(".", "good.key", NULL, "certificate", "directory");
}

static void copy(const char *from, const char *to)
{
    char command[1000];
    snprintf(command, sizeof(command), "cp '%s' '%s.new' && mv '%s.new' '%s'", from, to,
             to, to);
    CHECK_INT(system(command), 0);
}

static void check_subject(const char *want)
{
    struct buf who = BUF_INIT(200);
    meet("a.test");
    UNTIL(near.ready || near.ends);
    CHECK_STR(buf_z(&near.said), "");
    CHECK_INT(tls_seen_peer(&near.s, &who), 0);
    CHECK_STR(buf_z(&who), want);
    buf_release(&who);
    close_side(&near);
    close_side(&far);
}

TEST(files_that_change_are_read_again)
{
    char pem[400], key[400];
    snprintf(pem, sizeof(pem), "%s/pem", t_dir());
    snprintf(key, sizeof(key), "%s/key", t_dir());
    begin();
    copy(cert("good.pem"), pem);
    copy(cert("good.key"), key);
    serve_files(pem, key, NULL);
    trust_this("root.pem", NULL);
    check_subject("CN=good");
    copy(cert("rsa.pem"), pem); /* and not its key yet */
    check_subject("CN=good");
    copy(cert("rsa.key"), key);
    check_subject("CN=rsa");
    CHECK_INT(unlink(pem), 0);
    check_subject("CN=rsa");
    finish();
}

/* ---- peers that do something else ---- */

static void check_bytes(struct side *x, int peer, const char *bytes, size_t n,
                        const char *says)
{
    CHECK_INT(send(peer, bytes, n, MSG_NOSIGNAL), (long)n);
    UNTIL(x->ends);
    CHECK_INT(x->ends, 1);
    CHECK_INT(x->errnum, EPROTO);
    if (!strstr(buf_z(&x->said), says))
        T_FAIL("\"%s\" has not \"%s\"", buf_z(&x->said), says);
    close(peer);
}

#define BYTES(lit) (lit), sizeof(lit) - 1

TEST(servers_that_do_not_speak_tls)
{
    int p[2];
    begin();
    trust_this("root.pem", NULL);
    pair(p);
    connect_near(p[0], "a.test", 0);
    check_bytes(&near, p[1], BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), "plain HTTP");
    close_side(&near);
    pair(p);
    connect_near(p[0], "a.test", 0);
    check_bytes(&near, p[1], BYTES("220 mail.test ESMTP\r\n"), "does not speak TLS");
    close_side(&near);
    pair(p);
    connect_near(p[0], "a.test", 0);
    check_bytes(&near, p[1], BYTES("\x15\x03\x03\0\2\2\x46"), "no TLS version in common");
    close_side(&near);
    pair(p);
    connect_near(p[0], "a.test", 0);
    check_bytes(&near, p[1], BYTES("\x15\x03\x03\0\2\2\x28"), "handshake_failure");
    finish();
}

TEST(clients_that_do_not_speak_tls)
{
    int p[2];
    begin();
    serve("good", NULL);
    pair(p);
    accept_far(p[1], 0);
    check_bytes(&far, p[0], BYTES("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "plain HTTP");
    close_side(&far);
    pair(p);
    accept_far(p[1], 0);
    check_bytes(&far, p[0], BYTES("SSH-2.0-x\r\n"), "does not speak TLS");
    finish();
}

TEST(peers_that_say_nothing)
{
    int p[2], q[2];
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    pair(p);
    pair(q);
    connect_near(p[0], "a.test", 30);
    accept_far(q[1], 30);
    UNTIL(near.ends && far.ends);
    CHECK_INT(near.errnum, ETIMEDOUT);
    CHECK_INT(far.errnum, ETIMEDOUT);
    CHECK(strstr(buf_z(&near.said), "handshake in 30 ms"));
    close(p[1]);
    close(q[0]);
    finish();
}

TEST(names_that_cannot_be_asked_for)
{
    char name[400];
    struct err e = ERR_INIT;
    int p[2];
    memset(name, 'a', sizeof(name));
    name[256] = '\0';
    begin();
    trust_this("root.pem", NULL);
    pair(p);
    open_side(&near, p[0], &events);
    CHECK_INT(tls_connect(client, &near.s, name, 0, NULL, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(tls_connect(client, &near.s, "", 0, NULL, &e), -1);
    close(p[1]);
    finish();
}

/*
 * A length that is changed to a longer one makes a side wait for what does not come:
 * the handshake's time limit ends that, and behind the handshake nothing does.
 */
static bool is_stuck(int64_t *since, long *passed)
{
    long now = relays[0].passed + relays[1].passed;
    if (now != *passed)
        *since = t_now_ms();
    *passed = now;
    return t_now_ms() > *since + 500;
}

/*
 * A handshake of which `client_bytes` of the client and `server_bytes` of the
 * server pass, one of them changed. Returns whether both sides were content.
 */
static bool handshake(long client_bytes, long server_bytes, int which, long flip,
                      unsigned char with)
{
    int p[2], q[2];
    pair(p);
    pair(q);
    connect_near(p[0], "a.test", 0);
    accept_far(q[1], 0);
    relay_open(p[1], q[0], &relays[0], client_bytes);
    relay_open(q[0], p[1], &relays[1], server_bytes);
    relays[which].flip = flip;
    relays[which].with = with;
    CHECK_INT(stream_write(&near.s, STR("ping")), 0);
    far.echo = true;
    int64_t since = t_now_ms();
    long passed = 0;
    while (near.got.n < 4 && !near.ends && !far.ends &&
           !(flip >= 0 && is_stuck(&since, &passed)))
        turn_once();
    bool content = near.got.n == 4 && !near.ends;
    if (content)
        CHECK_MEM(near.got.p, near.got.n, "ping");
    if (near.ends)
        CHECK(near.errnum != 0 && near.ends == 1 && near.got.n == 0);
    if (far.ends)
        CHECK(far.errnum != 0 && far.ends == 1);
    close_side(&near);
    close_side(&far);
    io_stop(&relays[0].io);
    io_stop(&relays[1].io);
    close(p[1]);
    close(q[0]);
    turn_once();
    return content;
}

TEST(handshakes_cut_at_every_byte)
{
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    CHECK(handshake(-1, -1, 0, -1, 0));
    long c = relays[0].passed, s = relays[1].passed;
    CHECK(c > 200 && s > 700);
    /* Signatures are not all of one length: the next handshake may be a little shorter.
     */
    for (long i = 0; i < c - 8; i += i < 60 ? 1 : 13)
        CHECK(!handshake(i, -1, 0, -1, 0));
    for (long i = 0; i < s - 8; i += i < 150 ? 1 : 41)
        CHECK(!handshake(-1, i, 0, -1, 0));
    finish();
}

static void send_all(int fd, const unsigned char *p, ssize_t n)
{
    CHECK_INT(send(fd, p, (size_t)n, MSG_NOSIGNAL), n);
}

/*
 * Two records, of which a number of bytes arrive before the others: each record is read
 * when its last byte is there, also if the header of the next one came with it.
 */
TEST(records_cut_at_every_byte)
{
    int p[2], q[2];
    unsigned char bytes[200];
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    pair(p);
    pair(q);
    connect_near(p[0], "a.test", 0);
    accept_far(q[1], 0);
    relay_open(p[1], q[0], &relays[0], -1);
    relay_open(q[0], p[1], &relays[1], -1);
    UNTIL(near.ready && far.s.layer->ready);
    io_stop(&relays[0].io);
    for (ssize_t i = 0, n = 1; i <= n; i++) {
        CHECK_INT(stream_write(&near.s, STR("one")), 0);
        CHECK_INT(stream_write(&near.s, STR("second")), 0);
        n = read(p[1], bytes, sizeof(bytes));
        ssize_t first = 5 + (bytes[3] << 8 | bytes[4]);
        CHECK(n > first && n < (ssize_t)sizeof(bytes));
        send_all(q[0], bytes, i);
        for (int turns = 0; turns < 3; turns++)
            turn_once();
        CHECK_INT(far.got.n, i < first ? 0 : i < n ? 3 : 9);
        send_all(q[0], bytes + i, n - i);
        UNTIL(far.got.n >= 9 || far.ends);
        CHECK_MEM(far.got.p, far.got.n, "onesecond");
        buf_reset(&far.got);
    }
    io_stop(&relays[1].io);
    close(p[1]);
    close(q[0]);
    finish();
}

/*
 * No byte of a handshake can be changed without an error on a side, except one: a
 * record's version "MUST be ignored" (RFC 8446 5.1) as long as it is not encrypted,
 * when its head is authenticated too (5.2).
 */
static void check_changed(int which, long at, unsigned char with)
{
    bool content = handshake(-1, -1, which, at, with);
    const struct relay *r = &relays[which];
    if (content && r->flipped_at >= 0 &&
        !((r->flipped_at == 1 || r->flipped_at == 2) &&
          (r->flipped_in == 22 || r->flipped_in == 20)))
        T_FAIL("byte %ld of the %s changed by %x, at %d of a record of %d: accepted", at,
               which ? "server" : "client", with, r->flipped_at, r->flipped_in);
}

TEST(handshakes_with_a_changed_byte)
{
    begin();
    serve("good", NULL);
    trust_this("root.pem", NULL);
    CHECK(handshake(-1, -1, 0, -1, 0));
    long c = relays[0].passed, s = relays[1].passed;
    /* Its signature may be shorter the next time: then the last ones do not come. */
    for (long at = s - 30; at < s; at++)
        check_changed(1, at, 0x62);
    check_changed(0, 1, 0x40);
    CHECK_INT(relays[0].flipped_at, 1);
    check_changed(1, 9, 0x40);
    CHECK_INT(relays[1].flipped_at, 5);
    unsigned random = 1;
    for (int i = 0; i < 100; i++) {
        random = random * 1103515245 + 12345;
        int which = (int)(random >> 30 & 1);
        long at = (long)((random >> 8) % (unsigned long)(which ? s : c));
        unsigned char with = (unsigned char)((random >> 4 & 0x7f) + 1);
        check_changed(which, at, with);
    }
    finish();
}

int main(int argc, char **argv)
{
    char command[700];
    snprintf(certs, sizeof(certs), "%s/od-tls.%ld",
             getenv("TMPDIR") && *getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (long)getpid());
    snprintf(command, sizeof(command), "sh tests/lib/certs.sh '%s'", certs);
    if (system(command) != 0) {
        printf("1..0 # SKIP no openssl, or its files cannot be made\n");
        return 0;
    }
    int rc = t_main(argc, argv);
    nftw(certs, t_remove, 16, FTW_DEPTH | FTW_PHYS);
    return rc;
}
