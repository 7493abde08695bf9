/* SPDX-License-Identifier: MIT */
/*
 * The HTTP client against a peer that is a descriptor: which bytes are asked,
 * and what is reported of answers, whole or broken, however they are cut.
 */
#include "http/httpc.h"

#include "t.h"
#include "turns.h"

#include <fcntl.h>
#include <sys/socket.h>

static struct loop *loop;
static struct httpc client;
static int peer;
static struct buf told; /* "200 [body] ok" */
static size_t take;     /* bytes of a piece that are taken */
static bool release_in_head, release_in_body, again_in_done;
static struct stream tunnel;
static bool has_tunnel;
static struct buf tunneled;

static void turns(int n);

static const struct httpc_request get = {
    .method = "GET", .target = {"/x?y", 4}, .host = {"h:80", 4}};

static void on_head(struct httpc *h)
{
    CHECK_INT(buf_addf(&told, "%d [", h->head.status), 0);
    if (release_in_head)
        httpc_release(h);
}

static size_t on_body(struct httpc *h, struct str piece)
{
    size_t n = piece.n < take ? piece.n : take;
    CHECK(piece.n > 0);
    CHECK_INT(buf_add(&told, piece.p, n), 0);
    if (release_in_body)
        httpc_release(h);
    return n;
}

static void tunnel_data(struct stream *s)
{
    CHECK_INT(buf_adds(&tunneled, buf_str(&s->in)), 0);
    buf_reset(&s->in);
}

static void tunnel_end(struct stream *s, int errnum)
{
    (void)s;
    CHECK_INT(errnum, 0);
    CHECK_INT(buf_addz(&tunneled, " end"), 0);
}

static const struct stream_events tunnel_events = {.on_data = tunnel_data,
                                                   .on_end = tunnel_end};

static void on_done(struct httpc *h, const struct err *e)
{
    CHECK_INT(buf_addf(&told, "] %s%s;", e ? err_name(e->code) : "ok",
                       httpc_is_kept(h) ? " kept" : ""),
              0);
    if (e)
        CHECK(e->text[0]);
    if (!e && (h->head.status == 101 || h->connect)) {
        httpc_leave(h, &tunnel, &tunnel_events);
        has_tunnel = true;
    } else if (!e && again_in_done) {
        again_in_done = false;
        CHECK_INT(httpc_send(h, &get, NULL), 0);
    }
}

static unsigned rooms;

static void on_room(struct httpc *h)
{
    (void)h;
    rooms++;
}

static const struct httpc_events events = {
    .on_head = on_head, .on_body = on_body, .on_done = on_done, .on_room = on_room};
static const struct httpc_events no_body = {.on_head = on_head, .on_done = on_done};

static void open_with(const struct httpc_events *ev, size_t in_max, int idle_ms)
{
    int p[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p) < 0)
        T_FAIL("socketpair: %s", strerror(errno));
    loop = loop_new();
    CHECK(loop != NULL);
    peer = p[1];
    buf_init(&told, 1 << 20);
    buf_init(&tunneled, 1 << 20);
    take = SIZE_MAX;
    static const struct stream_events nothing;
    struct stream s;
    CHECK_INT(stream_open(&s, loop, p[0], in_max, 100000, &nothing), 0);
    httpc_start(&client, &s, idle_ms, ev);
}

static void open_client(void) { open_with(&events, 64 << 10, 0); }

static void finish(void)
{
    httpc_release(&client);
    httpc_release(&client);
    if (has_tunnel)
        stream_close(&tunnel);
    has_tunnel = false;
    if (peer >= 0)
        close(peer);
    buf_release(&told);
    buf_release(&tunneled);
    loop_free(loop);
}

static void turns(int n) { turns_of(loop, n); }

static void ask(const struct httpc_request *q)
{
    struct err e = ERR_INIT;
    if (httpc_send(&client, q, &e) < 0)
        T_FAIL("%s", e.text);
}

/* What was asked since the last time. */
static const char *asked(void)
{
    static char p[200000];
    ssize_t n = read(peer, p, sizeof(p) - 1);
    p[n > 0 ? n : 0] = '\0';
    return p;
}

static void answer(struct str bytes, size_t piece)
{
    while (bytes.n > 0) {
        size_t n = bytes.n < piece ? bytes.n : piece;
        if (send(peer, bytes.p, n, MSG_NOSIGNAL) != (ssize_t)n)
            return; /* the client had enough */
        bytes = str_sub(bytes, n, bytes.n);
        turns(2);
    }
    turns(4);
}

/* In order: what was not read would make it a reset. */
static void hang_up(void)
{
    asked();
    close(peer);
    peer = -1;
    turns(4);
}

/* ---- asking ---- */

TEST(a_request_is_what_was_said)
{
    struct buf fields = BUF_INIT(1000);
    open_client();
    CHECK_INT(httpc_add_field(&fields, "Accept", STR("a/b, c")), 0);
    CHECK_INT(httpc_add_field(&fields, "X-Empty", STR("")), 0);
    struct httpc_request q = get;
    q.fields = buf_str(&fields);
    ask(&q);
    CHECK_STR(asked(),
              "GET /x?y HTTP/1.1\r\nHost: h:80\r\nAccept: a/b, c\r\nX-Empty: \r\n\r\n");
    answer(STR("HTTP/1.1 204 No Content\r\n\r\n"), 100);
    q = (struct httpc_request){
        .method = "POST", .target = STR("/"), .host = STR("h"), .body = STR("body")};
    ask(&q);
    CHECK_STR(asked(), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
    answer(STR("HTTP/1.1 204 No Content\r\n\r\n"), 100);
    q = (struct httpc_request){.method = "POST", .target = STR("/"), .host = STR("h")};
    ask(&q);
    CHECK_STR(asked(), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    CHECK_STR(buf_z(&told), "204 [] ok kept;204 [] ok kept;");
    finish();
    buf_release(&fields);
}

static const struct httpc_request up = {.method = "PUT",
                                        .target = {"/x", 2},
                                        .host = {"h", 1},
                                        .streams = true,
                                        .length = 4 << 20};

TEST(a_body_is_streamed_as_there_is_room)
{
    static char piece[64 << 10];
    size_t sent = 0, got = 0, refused = 0;
    open_client();
    rooms = 0;
    ask(&up);
    while (sent < 4 << 20) {
        size_t left = (4 << 20) - sent, n = left < sizeof(piece) ? left : sizeof(piece);
        size_t took = httpc_put(&client, str_n(piece, n));
        CHECK(took <= n);
        sent += took;
        refused += took < n;
        if (took < n) {
            ssize_t r;
            while ((r = read(peer, piece, sizeof(piece))) > 0)
                got += (size_t)r;
            turns(4);
        }
    }
    turns(4);
    for (ssize_t r; (r = read(peer, piece, sizeof(piece))) > 0; turns(2))
        got += (size_t)r;
    CHECK_INT(got, (4 << 20) + strlen("PUT /x HTTP/1.1\r\nHost: h\r\n"
                                      "Content-Length: 4194304\r\n\r\n"));
    CHECK(refused > 0 && rooms > 0 && rooms <= refused);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), 100);
    CHECK_STR(buf_z(&told), "200 [] ok kept;");
    finish();
}

TEST(an_answer_before_the_body_is_the_connections_last)
{
    open_client();
    ask(&up);
    CHECK_INT(httpc_put(&client, STR("abc")), 3);
    answer(STR("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), 100);
    CHECK_STR(buf_z(&told), "403 [] ok;");
    CHECK_INT(httpc_put(&client, STR("d")), 0);
    finish();
}

TEST(what_would_forge_a_line_is_not_said)
{
    struct buf b = BUF_INIT(40);
    open_client();
    struct httpc_request bad[5] = {get, get, get, get, get};
    bad[0].target = STR("/ HTTP/1.1\r\nX: y");
    bad[1].target = STR("/a b");
    bad[2].target = STR("");
    bad[3].host = STR("h\nX: y");
    bad[4].method = "GET /";
    for (size_t i = 0; i < 5; i++) {
        struct err e = ERR_INIT;
        CHECK_INT(httpc_send(&client, &bad[i], &e), -1);
        CHECK_INT(e.code, ERR_INVALID);
    }
    CHECK_STR(asked(), "");
    CHECK(httpc_is_kept(&client));
    CHECK_INT(httpc_add_field(&b, "A", STR("b\r\nC: d")), -1);
    CHECK_INT(httpc_add_field(&b, "A", str_n("b\0c", 3)), -1);
    CHECK_INT(httpc_add_field(&b, "A B", STR("c")), -1);
    CHECK_INT(httpc_add_field(&b, "", STR("c")), -1);
    CHECK_INT(httpc_add_field(&b, "A", STR("0123456789012345678901234567890123456789")),
              -1);
    CHECK_INT(b.n, 0);
    finish();
    buf_release(&b);
}

TEST(one_request_at_a_time_and_none_that_does_not_fit)
{
    static char long_body[100000];
    struct err e = ERR_INIT;
    open_client();
    struct httpc_request q = get;
    q.body = str_n(long_body, sizeof(long_body));
    CHECK_INT(httpc_send(&client, &q, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    ask(&get);
    CHECK_INT(httpc_send(&client, &get, &e), -1);
    CHECK_INT(e.code, ERR_BUSY);
    hang_up();
    CHECK_INT(httpc_send(&client, &get, &e), -1);
    CHECK_INT(e.code, ERR_GONE);
    finish();
}

/* ---- answers ---- */

struct exchange {
    const char *bytes; /* what the peer says, then hangs up */
    const char *told;
};

/* The long field makes a head of more than one read. */
static const struct exchange exchanges[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200 [hello] ok kept;"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 [] ok kept;"},
    {"HTTP/1.1 404\r\ncontent-length:2\r\n\r\nno", "404 [no] ok kept;"},
    {"HTTP/1.1 302 \r\nLocation: /y\r\nContent-Length: 2\r\n\r\nno", "302 [no] ok kept;"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
     "chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
     "200 [hello] ok kept;"},
    {"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n0\r\nA: b\r\n\r\n",
     "200 [] ok kept;"},
    {"HTTP/1.1 200 OK\r\n\r\nto the end", "200 [to the end] ok;"},
    {"HTTP/1.1 200 OK\r\n\r\n", "200 [] ok;"},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 [ok] ok;"},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
     "200 [ok] ok kept;"},
    {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok",
     "200 [ok] ok;"},
    {"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", "204 [] ok kept;"},
    {"HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n", "304 [] ok kept;"},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
     "200 [ok] ok kept;"},
    /* broken off */
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "200 [hell] IO;"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
     "200 [hel] IO;"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n",
     "200 [hel] IO;"},
    {"HTTP/1.1 200 OK\r\nContent-Le", "] IO;"},
    {"HTTP/1.1 100 Continue\r\n\r\n", "] IO;"},
    {"", "] GONE;"},
    /* no HTTP */
    {"\r\nHTTP/1.1 200 OK\r\n\r\n", "] INVALID;"},
    {"HTTP/2 200\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 20 OK\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 2000 OK\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 099 OK\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 600 OK\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1  200 OK\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 200 O\x01K\r\n\r\n", "] INVALID;"},
    {"http/1.1 200 OK\r\n\r\n", "] INVALID;"},
    {"SSH-2.0-OpenSSH_9.2\r\n", "] INVALID;"},
    {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "] INVALID;"},
    {"HTTP/1.1 200 OK\r\nA\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "] INVALID;"},
    /* framing that two readers might see differently */
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
     "] INVALID;"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "] INVALID;"},
    {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "] INVALID;"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "200 [] INVALID;"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
     "200 [ab] INVALID;"},
};

TEST(answers_are_told_the_same_however_they_are_cut)
{
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++) {
        struct str bytes = str_of(exchanges[i].bytes);
        for (size_t piece = 1; piece <= bytes.n + 1; piece++) {
            open_client();
            ask(&get);
            answer(bytes, piece);
            hang_up();
            if (strcmp(buf_z(&told), exchanges[i].told) != 0)
                T_FAIL("%s in pieces of %zu: told %s, not %s", bytes.p, piece,
                       buf_z(&told), exchanges[i].told);
            CHECK(!httpc_is_kept(&client));
            finish();
        }
    }
}

TEST(an_owner_that_takes_little_gets_all)
{
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++) {
        open_client();
        ask(&get);
        take = 1;
        answer(str_of(exchanges[i].bytes), 100000);
        hang_up();
        for (int k = 0; k < 20; k++) {
            httpc_more(&client);
            turns(2);
        }
        struct str got = buf_str(&told), want = str_of(exchanges[i].told);
        /* That it was kept cannot be: the peer is gone before the last byte. */
        long kept = str_find(want, STR(" kept"));
        if (str_find(got, STR(" kept")) < 0 && kept > 0)
            want = str_sub(want, 0, (size_t)kept);
        CHECK(str_starts(got, want));
        finish();
    }
}

TEST(a_body_that_nobody_takes_waits_at_the_peer)
{
    open_with(&events, 4096, 0);
    ask(&get);
    take = 0;
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"), 1000);
    static char zeros[4096];
    int full = 0;
    for (int i = 0; i < 10000 && !full; i++) {
        full = send(peer, zeros, sizeof(zeros), MSG_NOSIGNAL) < 0;
        turns(1);
        CHECK(client.s.in.n <= 4096);
    }
    CHECK(full);
    CHECK_STR(buf_z(&told), "200 [");
    finish();
}

TEST(a_body_may_be_dropped)
{
    open_with(&no_body, 4096, 0);
    ask(&get);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 3);
    CHECK_STR(buf_z(&told), "200 [] ok kept;");
    finish();
}

TEST(an_answer_to_head_has_no_body)
{
    open_client();
    struct httpc_request q = get;
    q.method = "HEAD";
    ask(&q);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), 100);
    CHECK_STR(buf_z(&told), "200 [] ok kept;");
    ask(&get);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 100);
    CHECK_STR(buf_z(&told), "200 [] ok kept;200 [hello] ok kept;");
    finish();
}

TEST(heads_are_limited)
{
    static char line[40000];
    struct buf b = BUF_INIT(1 << 20);
    /* fields */
    for (int n = 100; n <= 101; n++) {
        buf_reset(&b);
        CHECK_INT(buf_addz(&b, "HTTP/1.1 200 OK\r\n"), 0);
        for (int i = 0; i < n; i++)
            CHECK_INT(buf_addf(&b, "X-%d: y\r\n", i), 0);
        CHECK_INT(buf_addz(&b, "\r\nbody"), 0);
        open_client();
        ask(&get);
        answer(buf_str(&b), 1000);
        hang_up();
        CHECK_STR(buf_z(&told), n == 100 ? "200 [body] ok;" : "] INVALID;");
        finish();
    }
    /* bytes, and a buffer that is smaller still */
    memset(line, 'x', sizeof(line));
    for (int i = 0; i < 2; i++) {
        open_with(&events, i ? 1000 : 64 << 10, 0);
        ask(&get);
        answer(STR("HTTP/1.1 200 OK\r\nX: "), 100);
        CHECK_STR(buf_z(&told), "");
        answer(str_n(line, sizeof(line)), 10000);
        CHECK_STR(buf_z(&told), "] INVALID;");
        finish();
    }
    /* interim answers */
    open_client();
    ask(&get);
    for (int i = 0; i < 50; i++)
        answer(STR("HTTP/1.1 100 Continue\r\n\r\n"), 100);
    CHECK_STR(buf_z(&told), "] INVALID;");
    finish();
    buf_release(&b);
}

TEST(a_kept_connection_is_asked_again_within_the_callback)
{
    open_client();
    again_in_done = true;
    ask(&get);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"), 100);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2"), 100);
    CHECK_STR(buf_z(&told), "200 [1] ok kept;200 [2] ok kept;");
    hang_up();
    CHECK(!httpc_is_kept(&client));
    CHECK_STR(buf_z(&told), "200 [1] ok kept;200 [2] ok kept;");
    finish();
}

TEST(bytes_that_nobody_asked_for_are_no_answer)
{
    open_client();
    ask(&get);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\n"), 100);
    CHECK_STR(buf_z(&told), "200 [1] ok;");
    finish();
    open_client();
    answer(STR("HTTP/1.1 200 OK\r\n\r\n"), 100);
    CHECK(!httpc_is_kept(&client));
    CHECK_STR(buf_z(&told), "");
    finish();
    open_client();
    ask(&get);
    answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"), 100);
    CHECK(httpc_is_kept(&client));
    answer(STR("H"), 1);
    CHECK(!httpc_is_kept(&client));
    CHECK_STR(buf_z(&told), "200 [1] ok kept;");
    finish();
}

TEST(nothing_is_told_after_a_release)
{
    for (int i = 0; i < 2; i++) {
        open_client();
        release_in_head = i == 0;
        release_in_body = i == 1;
        ask(&get);
        answer(STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 100);
        CHECK_STR(buf_z(&told), i == 0 ? "200 [" : "200 [hello");
        finish();
        release_in_head = release_in_body = false;
    }
}

TEST(silence_has_a_limit)
{
    open_with(&events, 4096, 20);
    ask(&get);
    for (int64_t end = t_now_ms() + T_WAIT_MS; told.n == 0; t_pause_ms(1)) {
        CHECK(t_now_ms() < end);
        turns(1);
    }
    CHECK_STR(buf_z(&told), "] TIMEOUT;");
    finish();
}

TEST(an_upgrade_takes_the_stream_on)
{
    for (size_t piece = 1; piece < 100; piece += 7) {
        open_client();
        ask(&get);
        answer(STR("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\nearly bytes"),
               piece);
        CHECK_STR(buf_z(&told), "101 [] ok;");
        answer(STR(" and late"), 100);
        CHECK_MEM(tunneled.p, tunneled.n, "early bytes and late");
        hang_up();
        CHECK(str_ends(buf_str(&tunneled), STR(" end")));
        finish();
    }
}

TEST(a_chunked_request)
{
    open_client();
    struct httpc_request q = {
        .method = "POST", .target = STR("/"), .host = STR("h"), .chunked = true};
    ask(&q);
    CHECK_STR(asked(), "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    CHECK_INT((long)httpc_put(&client, STR("hello, chunk")), 12);
    CHECK_INT((long)httpc_put(&client, STR("")), 0);
    CHECK_STR(asked(), "c\r\nhello, chunk\r\n");
    httpc_put_end(&client);
    CHECK_STR(asked(), "0\r\n\r\n");
    answer(STR("HTTP/1.1 204 No Content\r\n\r\n"), 100);
    CHECK(httpc_is_kept(&client));
}

TEST(a_tunnel_through_a_proxy)
{
    open_client();
    struct httpc_request q = {
        .method = "CONNECT", .target = STR("far:443"), .host = STR("far:443")};
    ask(&q);
    CHECK_STR(asked(), "CONNECT far:443 HTTP/1.1\r\nHost: far:443\r\n\r\n");
    answer(STR("HTTP/1.1 200 Established\r\nContent-Length: 10\r\n\r\n"), 100);
    CHECK_STR(buf_z(&told), "200 [] ok;");
    answer(STR("through"), 100);
    CHECK_STR(buf_z(&tunneled), "through");
    CHECK_INT(stream_write(&tunnel, STR("back")), 0);
    CHECK_STR(asked(), "back");
    finish();

    open_client();
    ask(&q);
    client.connect = true;
    answer(STR("HTTP/1.1 407 Who\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"),
           100);
    CHECK_STR(buf_z(&told), "407 [");
    finish();
}

T_MAIN
