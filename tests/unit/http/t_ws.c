/* SPDX-License-Identifier: MIT */
/*
 * WebSocket connections against a peer that is a plain descriptor and writes
 * its frames byte by byte as it likes. What the owner was told and what the
 * peer was sent are both kept as a line of words, so that a case is: these
 * bytes come, these words are expected. Cases about bytes that come run in
 * both roles, and cut into pieces of several sizes.
 */
#include "http/ws.h"

#include "base/utf8.h"

#include "t.h"
#include "turns.h"

#include <fcntl.h>
#include <sys/socket.h>

enum { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10, FIN = 0x80 };

static struct loop *loop;

/* The connection under test. */
static struct near {
    struct ws w;
    struct buf log; /* "T:hello B#70000 room C1000:bye" */
    int closes;
    bool pause_on_message, release_on_message, close_on_message, echo;
    bool release_on_room, send_on_room, tell_taken;
    unsigned taken;
} near;

/* The other side: a descriptor. */
static struct far {
    int fd;
    struct buf in;  /* what was read and is no whole frame yet */
    struct buf log; /* "T:hello P:x X1000:bye end" */
    bool ended;
} far;

/* ---- a log word: what and how much, the bytes only of short ones ---- */

static void word(struct buf *log, const char *what, struct str bytes)
{
    if (log->n)
        CHECK_INT(buf_addc(log, ' '), 0);
    if (bytes.n > 60)
        CHECK_INT(buf_addf(log, "%s#%zu", what, bytes.n), 0);
    else
        CHECK_INT(buf_addf(log, "%s:%.*s", what, STR_ARG(bytes)), 0);
}

/* Long messages are made of this, and compared with it. */
static char filler(size_t i) { return (char)('a' + i % 23); }

static struct str filled(size_t n)
{
    static char bytes[4 << 20];
    CHECK(n <= sizeof(bytes));
    for (size_t i = 0; i < n; i++)
        bytes[i] = filler(i);
    return str_n(bytes, n);
}

static void on_message(struct ws *w, bool text, struct str m)
{
    CHECK_INT(near.closes, 0);
    CHECK(w == &near.w && ws_is_open(w));
    CHECK(!text || utf8_valid(m));
    if (m.n > 60)
        for (size_t i = 0; i < m.n; i++)
            CHECK(m.p[i] == filler(i));
    if (near.close_on_message)
        ws_close(w, WS_GOING_AWAY, STR("enough"));
    word(&near.log, text ? "T" : "B", m);
    if (near.pause_on_message)
        ws_pause(w);
    if (near.echo)
        CHECK(ws_send(w, text, m));
    if (near.release_on_message)
        ws_release(w);
}

static void on_room(struct ws *w)
{
    CHECK_INT(near.closes, 0);
    word(&near.log, "room", STR(""));
    if (near.send_on_room)
        CHECK(ws_send(w, true, STR("more")));
    if (near.release_on_room)
        ws_release(w);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    char what[20];
    near.closes++;
    CHECK(!ws_is_open(w));
    CHECK(utf8_valid(reason));
    snprintf(what, sizeof(what), "C%d", code);
    word(&near.log, what, reason);
}

static void on_taken(struct ws *w)
{
    CHECK_INT(near.closes, 0);
    CHECK(w == &near.w);
    near.taken++;
    if (near.tell_taken)
        word(&near.log, "taken", STR(""));
}

static const struct ws_events events = {.on_message = on_message,
                                        .on_room = on_room,
                                        .on_close = on_close,
                                        .on_taken = on_taken};

/* ---- turns of the loop ---- */

static void turns(int n) { turns_of(loop, n); }

/* Enough for all that can happen without the clock: a full socket is 52 reads. */
static void turn(void) { turns(64); }

/* ---- the peer ---- */

/* The frame's bytes by the book; first: FIN, reserved bits and opcode. */
static void add_frame(struct buf *out, unsigned first, bool masked, struct str payload)
{
    static const uint8_t key[4] = {0x37, 0xfa, 0x21, 0x3d}; /* section 5.7 */
    unsigned mask = masked ? 0x80 : 0;
    CHECK_INT(buf_addc(out, (char)first), 0);
    if (payload.n < 126) {
        CHECK_INT(buf_addc(out, (char)(mask | payload.n)), 0);
    } else if (payload.n < 65536) {
        char len[3] = {(char)(mask | 126), (char)(payload.n >> 8), (char)payload.n};
        CHECK_INT(buf_add(out, len, 3), 0);
    } else {
        char len[9] = {(char)(mask | 127)};
        for (int i = 0; i < 8; i++)
            len[8 - i] = (char)(payload.n >> 8 * i);
        CHECK_INT(buf_add(out, len, 9), 0);
    }
    if (masked)
        CHECK_INT(buf_add(out, key, 4), 0);
    for (size_t i = 0; i < payload.n; i++)
        CHECK_INT(buf_addc(out, (char)(payload.p[i] ^ (masked ? key[i % 4] : 0))), 0);
}

/* Takes one whole frame from far.in to its log. */
static bool hear_frame(enum ws_role role)
{
    const uint8_t *p = (const uint8_t *)far.in.p;
    if (far.in.n < 2)
        return false;
    bool masked = p[1] & 0x80;
    CHECK_INT(masked, role == WS_CLIENT);
    size_t n = p[1] & 127, wide = n < 126 ? 0 : n == 126 ? 2 : 8;
    size_t head = 2 + wide + (masked ? 4 : 0);
    if (far.in.n < head)
        return false;
    if (wide)
        n = 0;
    for (size_t i = 0; i < wide; i++)
        n = n << 8 | p[2 + i];
    CHECK(wide == 0 || n >= (wide == 2 ? 126 : 65536));
    if (far.in.n < head + n)
        return false;
    char *bytes = far.in.p + head, what[20] = {(char)p[0], 0};
    for (size_t i = 0; masked && i < n; i++)
        bytes[i] = (char)(bytes[i] ^ far.in.p[head - 4 + i % 4]);
    size_t code = 0;
    switch (p[0]) {
    case FIN | TEXT:
        what[0] = 'T';
        break;
    case FIN | BINARY:
        what[0] = 'B';
        break;
    case FIN | PING:
        what[0] = 'I';
        break;
    case FIN | PONG:
        what[0] = 'O';
        break;
    case FIN | CLOSE:
        what[0] = 'X';
        CHECK(n != 1);
        if (n > 0)
            snprintf(what, sizeof(what), "X%u",
                     (unsigned)((uint8_t)bytes[0] << 8 | (uint8_t)bytes[1]));
        code = n > 0 ? 2 : 0;
        break;
    default:
        T_FAIL("a frame that begins with 0x%02x was sent", p[0]);
    }
    if (n > 60 && code == 0)
        for (size_t i = 0; i < n; i++)
            CHECK(bytes[i] == filler(i));
    word(&far.log, what, str_n(bytes + code, n - code));
    buf_consume(&far.in, head + n);
    return true;
}

static void far_reads(void)
{
    char *p;
    ssize_t n = 0;
    while ((p = buf_reserve(&far.in, 65536)) && (n = read(far.fd, p, 65536)) > 0) {
        buf_commit(&far.in, (size_t)n);
        while (hear_frame(near.w.opts.role))
            ;
    }
    CHECK(n == 0 || errno == EAGAIN || errno == ECONNRESET);
    if (n == 0 && !far.ended) {
        far.ended = true;
        word(&far.log, "end", STR(""));
    }
}

/* ---- a connection and its parts ---- */

static struct ws_opts times; /* of the next connection; zeros: the usual ones */

static void open_sizes(enum ws_role role, size_t message_max, size_t in_max,
                       size_t out_max, int kind)
{
    int p[2], small = 4096;
    loop = loop_new();
    CHECK(loop != NULL);
    if (socketpair(AF_UNIX, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p) < 0)
        T_FAIL("socketpair: %s", strerror(errno));
    if (kind == SOCK_STREAM)
        setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    near = (struct near){0};
    far = (struct far){.fd = p[1]};
    buf_init(&near.log, 1 << 20);
    buf_init(&far.log, 1 << 20);
    buf_init(&far.in, 16 << 20);
    static const struct stream_events nothing;
    struct stream from;
    CHECK_INT(stream_open(&from, loop, p[0], in_max, out_max, &nothing), 0);
    struct ws_opts opts = times;
    opts.role = role;
    opts.message_max = message_max;
    ws_start(&near.w, &from, &opts, &events);
}

static void open_ws(enum ws_role role)
{
    open_sizes(role, 1 << 20, 4096, 8 << 20, SOCK_STREAM);
}

static void finish(void)
{
    ws_release(&near.w);
    ws_release(&near.w);
    CHECK(!timer_active(&near.w.timer) && near.w.s.io.fd < 0);
    if (far.fd >= 0)
        close(far.fd);
    buf_release(&near.log);
    buf_release(&far.log);
    buf_release(&far.in);
    loop_free(loop);
}

/* The peer says the bytes, at most `piece` in one turn. */
static void say(struct str bytes, size_t piece)
{
    while (bytes.n > 0) {
        size_t most = bytes.n < piece ? bytes.n : piece;
        ssize_t n = send(far.fd, bytes.p, most, MSG_NOSIGNAL);
        if (n < 0 && errno == EPIPE)
            return; /* it was closed: the case knows why */
        CHECK(n >= 0 || errno == EAGAIN);
        if (n > 0)
            bytes = str_sub(bytes, (size_t)n, bytes.n);
        turns(1);
        far_reads();
    }
    turn();
    far_reads();
}

static void say_frame(unsigned first, struct str payload)
{
    struct buf b = BUF_INIT(8 << 20);
    add_frame(&b, first, near.w.opts.role == WS_SERVER, payload);
    say(buf_str(&b), 1 << 20);
    buf_release(&b);
}

static const size_t pieces[] = {1 << 20, 1, 2, 3, 7, 11};
#define PIECES (sizeof(pieces) / sizeof(*pieces))

/* Says `bytes` in each role and cut; both logs must begin as given. */
static void expect(void (*make)(struct buf *out, bool masked), const char *told,
                   const char *sent)
{
    for (size_t i = 0; i < 2 * PIECES; i++) {
        enum ws_role role = i % 2 ? WS_CLIENT : WS_SERVER;
        struct buf b = BUF_INIT(8 << 20);
        make(&b, role == WS_SERVER);
        open_ws(role);
        say(buf_str(&b), pieces[i / 2]);
        CHECK(str_starts(buf_str(&far.log), str_of(sent)));
        if (strchr(sent, 'X')) { /* then it is over when the peer has gone */
            shutdown(far.fd, SHUT_WR);
            turn();
        }
        CHECK_STR(buf_z(&near.log), told);
        finish();
        buf_release(&b);
    }
}

/* ---- messages ---- */

static void one_of_each(struct buf *out, bool masked)
{
    add_frame(out, FIN | TEXT, masked, STR("Hello"));
    add_frame(out, FIN | BINARY, masked, STR("\xff\xfe"));
    add_frame(out, FIN | TEXT, masked, STR(""));
    add_frame(out, FIN | BINARY, masked, STR(""));
    add_frame(out, FIN | TEXT, masked, STR("\xce\xba\xe1\xbd\xb9\xf0\x9f\x98\x80"));
}

TEST(text_and_binary_are_told_whole)
{
    expect(one_of_each, "T:Hello B:\xff\xfe T: B: T:\xce\xba\xe1\xbd\xb9\xf0\x9f\x98\x80",
           "");
}

TEST(the_examples_of_the_document)
{
    open_ws(WS_SERVER);
    say(STR("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), 100);
    CHECK_STR(buf_z(&near.log), "T:Hello");
    finish();
    open_ws(WS_CLIENT);
    say(STR("\x81\x05\x48\x65\x6c\x6c\x6f"), 100);
    say(STR("\x01\x03\x48\x65\x6c\x80\x02\x6c\x6f"), 100);
    say(STR("\x89\x05\x48\x65\x6c\x6c\x6f"), 100);
    CHECK_STR(buf_z(&near.log), "T:Hello T:Hello");
    CHECK_STR(buf_z(&far.log), "O:Hello");
    finish();
}

static const size_t lengths[] = {0,     1,     2,     3,     4,      5,    7,    8,
                                 9,     15,    16,    17,    124,    125,  126,  127,
                                 128,   255,   256,   4081,  4095,   4096, 4097, 65534,
                                 65535, 65536, 65537, 70000, 1 << 20};

TEST(every_length_comes_in_and_goes_out)
{
    for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(*lengths); i++) {
        open_ws(i % 2 ? WS_CLIENT : WS_SERVER);
        near.echo = true;
        struct str m = filled(lengths[i / 2]);
        say_frame(FIN | TEXT, m);
        say_frame(FIN | BINARY, m);
        for (int k = 0; k < 2000 && near.w.s.out.n > 0; k++) {
            turn();
            far_reads();
        }
        char want[200];
        if (m.n > 60)
            snprintf(want, sizeof(want), "T#%zu B#%zu", m.n, m.n);
        else
            snprintf(want, sizeof(want), "T:%.*s B:%.*s", STR_ARG(m), STR_ARG(m));
        CHECK_STR(buf_z(&near.log), want);
        CHECK_STR(buf_z(&far.log), want);
        finish();
    }
}

TEST(a_long_message_comes_in_pieces_of_any_size)
{
    static const size_t cuts[] = {1, 13, 1000, 4096, 65535};
    struct buf b = BUF_INIT(1 << 20);
    add_frame(&b, FIN | TEXT, true, filled(70001));
    for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
        open_ws(WS_SERVER);
        say(buf_str(&b), cuts[i]);
        CHECK_STR(buf_z(&near.log), "T#70001");
        finish();
    }
    buf_release(&b);
}

static void fragments(struct buf *out, bool masked)
{
    add_frame(out, TEXT, masked, STR("Mo"));
    add_frame(out, FIN | PING, masked, STR("one"));
    add_frame(out, 0, masked, STR(""));
    add_frame(out, 0, masked, STR("n"));
    add_frame(out, FIN | PONG, masked, STR("unasked"));
    add_frame(out, FIN | PING, masked, STR(""));
    add_frame(out, FIN, masked, STR("day"));
    add_frame(out, BINARY, masked, STR(""));
    add_frame(out, FIN, masked, STR(""));
    add_frame(out, FIN | TEXT, masked, STR("after"));
}

TEST(fragments_make_one_message_and_control_frames_come_between)
{
    expect(fragments, "T:Monday B: T:after", "O:one O:");
}

static void characters_apart(struct buf *out, bool masked)
{
    add_frame(out, TEXT, masked, STR("\xf0"));
    add_frame(out, 0, masked, STR("\x9f\x98"));
    add_frame(out, 0, masked, STR("\x80\xe2"));
    add_frame(out, 0, masked, STR("\x82"));
    add_frame(out, FIN, masked, STR("\xac"));
}

TEST(a_character_may_lie_in_several_fragments)
{
    expect(characters_apart, "T:\xf0\x9f\x98\x80\xe2\x82\xac", "");
}

TEST(a_message_in_a_thousand_fragments)
{
    struct buf b = BUF_INIT(1 << 20);
    for (size_t i = 0; i < 1000; i++) {
        char c = filler(i);
        add_frame(&b, i == 0 ? TEXT : i == 999 ? FIN : 0, true, str_n(&c, 1));
    }
    open_ws(WS_SERVER);
    say(buf_str(&b), 1 << 20);
    CHECK_STR(buf_z(&near.log), "T#1000");
    finish();
    buf_release(&b);
}

/* ---- the protocol broken ---- */

struct wrong {
    const char *bytes;
    size_t n;
    int code;
};
#define WRONG(bytes, code) \
    { \
        (bytes), sizeof(bytes) - 1, (code) \
    }

/* Frames of a server as a client sees them; masking is looked at below. */
static const struct wrong wrongs[] = {
    WRONG("\xc1\x00", 1002), /* reserved bits */
    WRONG("\xa1\x00", 1002),
    WRONG("\x91\x00", 1002),
    WRONG("\xf1\x00", 1002),
    WRONG("\xc9\x00", 1002),
    WRONG("\x98\x00", 1002),
    WRONG("\x83\x00", 1002), /* reserved opcodes */
    WRONG("\x84\x01x", 1002),
    WRONG("\x85\x00", 1002),
    WRONG("\x86\x00", 1002),
    WRONG("\x87\x00", 1002),
    WRONG("\x03\x00", 1002),
    WRONG("\x8b\x00", 1002),
    WRONG("\x8c\x00", 1002),
    WRONG("\x8d\x01x", 1002),
    WRONG("\x8e\x00", 1002),
    WRONG("\x8f\x00", 1002),
    WRONG("\x09\x00", 1002), /* control frames in fragments */
    WRONG("\x0a\x00", 1002),
    WRONG("\x08\x00", 1002),
    WRONG("\x89\x7e\x00\x7e", 1002), /* and longer than 125 */
    WRONG("\x89\x7f", 1002),
    WRONG("\x8a\x7e", 1002),
    WRONG("\x88\x7e", 1002),
    WRONG("\x80\x00", 1002), /* a continuation of nothing */
    WRONG("\x00\x01x", 1002),
    WRONG("\x01\x01x\x81\x01y", 1002), /* a message within a message */
    WRONG("\x01\x01x\x02\x01y", 1002),
    WRONG("\x02\x00\x82\x00", 1002),
    WRONG("\x82\x7e\x00\x00", 1002), /* lengths that are not the shortest */
    WRONG("\x82\x7e\x00\x7d", 1002),
    WRONG("\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x01", 1002),
    WRONG("\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", 1002),
    WRONG("\x82\x7f\x80\x00\x00\x00\x00\x01\x00\x00", 1002), /* the 64th bit */
    WRONG("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 1002),
    WRONG("\x88\x01\x03", 1002), /* half a code */
    WRONG("\x88\x02\x00\x00", 1002),
    WRONG("\x88\x03\x03\xe8\xff", 1007),
    WRONG("\x88\x04\x03\xe8\xc3\x28", 1007),
    WRONG("\x88\x04\x03\xe8\xe2\x82", 1007),
    WRONG("\x82\x7f\x00\x00\x00\x00\x00\x10\x00\x01", 1009), /* over a mebibyte */
    WRONG("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 1009),
    WRONG("\x02\x01x\x80\x7f\x00\x00\x00\x00\x00\x10\x00\x00", 1009),
};

/* The same frames as a client would send them: masked with zeros. */
static void add_masked(struct buf *out, struct str in)
{
    while (in.n >= 2) {
        size_t n = (uint8_t)in.p[1], wide = n < 126 ? 0 : n == 126 ? 2 : 8;
        struct str head = str_sub(in, 0, 2 + wide);
        CHECK_INT(buf_adds(out, head), 0);
        out->p[out->n - head.n + 1] |= (char)0x80;
        if (wide == 0)
            CHECK_INT(buf_add(out, "\0\0\0\0", 4), 0);
        else if (head.n == 2 + wide)
            CHECK_INT(buf_add(out, "\0\0\0\0", 4), 0);
        struct str body = str_sub(in, head.n, wide ? 0 : n);
        CHECK_INT(buf_adds(out, body), 0);
        in = str_sub(in, head.n + body.n, in.n);
    }
}

/* The message before is told, the wrong frame answered, nothing after it told. */
static void expect_wrong(enum ws_role role, struct str bytes, int code, size_t piece)
{
    struct buf b = BUF_INIT(1 << 20);
    char told[40], sent[40];
    open_ws(role);
    add_frame(&b, FIN | TEXT, role == WS_SERVER, STR("before"));
    CHECK_INT(buf_adds(&b, bytes), 0);
    add_frame(&b, FIN | TEXT, role == WS_SERVER, STR("after"));
    say(buf_str(&b), piece);
    snprintf(sent, sizeof(sent), "X%d:", code);
    CHECK(str_starts(buf_str(&far.log), str_of(sent)));
    CHECK(far.ended);
    CHECK_INT(near.closes, 0);
    CHECK(!ws_send(&near.w, true, STR("no")));
    shutdown(far.fd, SHUT_WR);
    turn();
    snprintf(told, sizeof(told), "T:before C%d:", code);
    if (!str_starts(buf_str(&near.log), str_of(told)))
        T_FAIL("told %s, not %s", buf_z(&near.log), told);
    CHECK_INT(near.closes, 1);
    finish();
    buf_release(&b);
}

TEST(whatever_breaks_the_protocol_closes_with_the_code_for_it)
{
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
        struct str bytes = str_n(wrongs[i].bytes, wrongs[i].n);
        struct buf masked = BUF_INIT(1000);
        add_masked(&masked, bytes);
        for (size_t k = 0; k < PIECES; k++) {
            expect_wrong(WS_CLIENT, bytes, wrongs[i].code, pieces[k]);
            expect_wrong(WS_SERVER, buf_str(&masked), wrongs[i].code, pieces[k]);
        }
        buf_release(&masked);
    }
}

TEST(a_peer_that_broke_the_protocol_may_go_on_until_it_closes)
{
    open_ws(WS_CLIENT);
    say(STR("\xff\xff"), 2);
    say(filled(100000), 1000);
    CHECK_INT(near.closes, 0);
    CHECK_INT(near.w.s.in.n, 0);
    close(far.fd);
    far.fd = -1;
    turn();
    CHECK(str_starts(buf_str(&near.log), STR("C1002:")));
    finish();
}

TEST(a_client_masks_and_a_server_does_not)
{
    struct buf b = BUF_INIT(1000);
    for (unsigned first = FIN | TEXT; first <= (FIN | PONG); first++) {
        if ((first & 7) > 2)
            continue;
        buf_reset(&b);
        add_frame(&b, first, false, STR(""));
        expect_wrong(WS_SERVER, buf_str(&b), 1002, 100);
        buf_reset(&b);
        add_frame(&b, first, true, STR(""));
        expect_wrong(WS_CLIENT, buf_str(&b), 1002, 100);
    }
    buf_release(&b);
}

TEST(the_sum_of_fragments_is_limited)
{
    open_sizes(WS_SERVER, 1000, 4096, 4096, SOCK_STREAM);
    say_frame(BINARY, filled(600));
    say_frame(0, filled(0));
    CHECK_STR(buf_z(&far.log), "");
    say_frame(FIN, filled(401));
    CHECK(str_starts(buf_str(&far.log), STR("X1009:")));
    finish();
    open_sizes(WS_SERVER, 1000, 4096, 4096, SOCK_STREAM);
    say_frame(FIN | BINARY, filled(1000));
    CHECK_STR(buf_z(&near.log), "B#1000");
    say_frame(FIN | BINARY, filled(1001));
    CHECK(str_starts(buf_str(&far.log), STR("X1009:")));
    finish();
}

TEST(a_length_that_was_only_announced_costs_nothing)
{
    open_sizes(WS_CLIENT, 1 << 30, 4096, 4096, SOCK_STREAM);
    say(STR("\x82\x7f\x00\x00\x00\x00\x3f\xff\xff\xffxyz"), 100);
    CHECK_INT(near.closes, 0);
    CHECK(near.w.msg.cap < 1000);
    finish();
}

/* ---- text that is none ---- */

static const struct wrong bad_text[] = {
    WRONG("\x80", 0),         WRONG("\xbf", 0),         WRONG("\xc0\x80", 0),
    WRONG("\xc1\xbf", 0),     WRONG("\xc3\x28", 0),     WRONG("\xe0\x80\x80", 0),
    WRONG("\xe0\x9f\xbf", 0), WRONG("\xe2\x28\xa1", 0), WRONG("\xe2\x82\x28", 0),
    WRONG("\xed\xa0\x80", 0), WRONG("\xed\xbf\xbf", 0), WRONG("\xf0\x80\x80\x80", 0),
    WRONG("\xf0\x28", 0),     WRONG("\xf0\x90\x28", 0), WRONG("\xf0\x90\x8c\x28", 0),
    WRONG("\xf4\x90", 0),     WRONG("\xf5", 0),         WRONG("\xf8\x88\x80\x80\x80", 0),
    WRONG("\xfe", 0),         WRONG("\xff", 0),
};

TEST(text_that_is_not_utf_8_is_found_wherever_it_lies)
{
    struct buf text = BUF_INIT(1000), b = BUF_INIT(1000);
    for (size_t i = 0; i < sizeof(bad_text) / sizeof(*bad_text); i++) {
        for (size_t at = 0; at < 20; at++) {
            buf_reset(&text);
            CHECK_INT(buf_adds(&text, filled(at)), 0);
            CHECK_INT(buf_add(&text, bad_text[i].bytes, bad_text[i].n), 0);
            /* Without an end: it is told at once, not when the message is over. */
            size_t cut = at < text.n ? at + 1 : at;
            buf_reset(&b);
            add_frame(&b, TEXT, true, str_sub(buf_str(&text), 0, cut));
            add_frame(&b, 0, true, str_sub(buf_str(&text), cut, text.n));
            expect_wrong(WS_SERVER, buf_str(&b), 1007, 1000);
            buf_reset(&b);
            CHECK_INT(buf_adds(&text, filled(5)), 0);
            add_frame(&b, FIN | TEXT, true, buf_str(&text));
            expect_wrong(WS_SERVER, buf_str(&b), 1007, 1000);
            expect_wrong(WS_SERVER, buf_str(&b), 1007, 1);
        }
    }
    buf_release(&text);
    buf_release(&b);
}

TEST(text_that_ends_within_a_character_is_not_utf_8)
{
    static const struct str ends[] = {
        {"\xc3", 1}, {"ab\xe2\x82", 4}, {"\xf0\x9f\x98", 3}};
    struct buf b = BUF_INIT(1000);
    for (size_t i = 0; i < 3; i++) {
        buf_reset(&b);
        add_frame(&b, FIN | TEXT, true, ends[i]);
        expect_wrong(WS_SERVER, buf_str(&b), 1007, 1000);
        buf_reset(&b);
        add_frame(&b, TEXT, true, ends[i]);
        add_frame(&b, FIN, true, STR(""));
        expect_wrong(WS_SERVER, buf_str(&b), 1007, 1000);
        buf_reset(&b);
        add_frame(&b, TEXT, true, ends[i]);
        add_frame(&b, FIN, true, STR("x"));
        expect_wrong(WS_SERVER, buf_str(&b), 1007, 1000);
    }
    buf_release(&b);
}

/* ---- Close ---- */

static void a_close(struct buf *out, bool masked, int code, struct str reason)
{
    char p[200] = {(char)(code >> 8), (char)code};
    memcpy(p + 2, reason.p, reason.n);
    add_frame(out, FIN | CLOSE, masked, str_n(p, 2 + reason.n));
}

TEST(codes_that_may_be_sent_are_echoed_and_told)
{
    static const int fit[] = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010,
                              1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999};
    for (size_t i = 0; i < sizeof(fit) / sizeof(*fit); i++) {
        struct buf b = BUF_INIT(1000);
        char told[40], sent[40];
        open_ws(WS_SERVER);
        a_close(&b, true, fit[i], STR("b\xc3\xbfz"));
        say(buf_str(&b), 3);
        snprintf(sent, sizeof(sent), "X%d: end:", fit[i]);
        CHECK_STR(buf_z(&far.log), sent);
        shutdown(far.fd, SHUT_WR);
        turn();
        snprintf(told, sizeof(told), "C%d:b\xc3\xbfz", fit[i]);
        CHECK_STR(buf_z(&near.log), told);
        finish();
        buf_release(&b);
    }
}

TEST(codes_that_may_not_be_sent_break_the_protocol)
{
    static const int unfit[] = {0,    1,    999,  1004, 1005, 1006, 1015,
                                1016, 1100, 2000, 2999, 5000, 9999, 65535};
    for (size_t i = 0; i < sizeof(unfit) / sizeof(*unfit); i++) {
        struct buf b = BUF_INIT(1000);
        a_close(&b, true, unfit[i], STR("why"));
        expect_wrong(WS_SERVER, buf_str(&b), 1002, 1000);
        buf_release(&b);
    }
}

static void empty_close(struct buf *out, bool masked)
{
    add_frame(out, FIN | CLOSE, masked, STR(""));
    add_frame(out, FIN | TEXT, masked, STR("too late"));
    add_frame(out, FIN | PING, masked, STR("too late"));
}

TEST(a_close_without_a_code_is_answered_with_one_without)
{
    expect(empty_close, "C1005:", "X:");
}

static void longest_close(struct buf *out, bool masked)
{
    a_close(out, masked, 1000, filled(WS_REASON_MAX));
}

TEST(the_longest_reason_is_told) { expect(longest_close, "C1000#123", "X1000:"); }

static void close_in_a_message(struct buf *out, bool masked)
{
    add_frame(out, TEXT, masked, STR("never "));
    add_frame(out, FIN | CLOSE, masked, STR("\x03\xe9"));
    add_frame(out, FIN, masked, STR("whole"));
}

TEST(a_close_in_the_middle_of_a_message_ends_it)
{
    expect(close_in_a_message, "C1001:", "X1001:");
}

TEST(our_close_follows_what_is_queued_and_silences_the_peer)
{
    for (int role = WS_SERVER; role <= WS_CLIENT; role++) {
        open_ws(role);
        CHECK(ws_send(&near.w, true, STR("last")));
        ws_close(&near.w, 4321, STR("done"));
        ws_close(&near.w, WS_INTERNAL, STR("twice"));
        CHECK(!ws_is_open(&near.w) && !ws_send(&near.w, true, STR("later")));
        CHECK_INT(near.closes, 0);
        turn();
        far_reads();
        CHECK_STR(buf_z(&far.log), "T:last X4321:done");
        say_frame(FIN | TEXT, STR("on its way"));
        say_frame(TEXT, filled(1 << 20));
        say_frame(FIN | PING, STR("hm"));
        say_frame(FIN, STR("\xff"));
        CHECK_INT(near.closes, 0);
        say_frame(FIN | CLOSE, STR("\x03\xe8ok"));
        /* The server ends first (section 7.1.1). */
        CHECK_STR(buf_z(&far.log),
                  role == WS_SERVER ? "T:last X4321:done end:" : "T:last X4321:done");
        CHECK_INT(near.closes, 0);
        shutdown(far.fd, SHUT_WR);
        turn();
        CHECK_STR(buf_z(&near.log), "C1000:ok");
        finish();
    }
}

TEST(a_reason_is_cut_between_characters)
{
    char reason[200];
    for (int i = 0; i < 100; i++)
        memcpy(reason + 2 * i, "\xc3\xa4", 2);
    open_ws(WS_SERVER);
    ws_close(&near.w, WS_NORMAL, str_n(reason, 200));
    turn();
    char p[200];
    ssize_t n = read(far.fd, p, sizeof(p));
    CHECK_INT(n, 2 + 2 + 122);
    CHECK(utf8_valid(str_n(p + 4, (size_t)n - 4)));
    finish();
}

static void run_until_closed(void)
{
    for (int64_t end = t_now_ms() + T_WAIT_MS; near.closes == 0; t_pause_ms(1)) {
        if (t_now_ms() > end)
            T_FAIL("not closed");
        turns(1);
    }
}

static void open_times(enum ws_role role, int ping_ms, int dead_ms, int close_ms)
{
    times = (struct ws_opts){
        .ping_ms = ping_ms, .dead_ms = dead_ms, .close_ms = close_ms};
    open_ws(role);
}

TEST(a_peer_that_does_not_close_is_left)
{
    open_times(WS_SERVER, 0, 0, 5);
    ws_close(&near.w, WS_NORMAL, STR("bye"));
    run_until_closed();
    CHECK(str_starts(buf_str(&near.log), STR("C1006:")));
    far_reads();
    CHECK_STR(buf_z(&far.log), "X1000:bye end:");
    finish();

    open_times(WS_CLIENT, 0, 0, 5);
    say_frame(FIN | CLOSE, STR("\x03\xe8"));
    run_until_closed();
    CHECK_STR(buf_z(&near.log), "C1000:");
    finish();

    open_times(WS_SERVER, 0, 0, 5);
    say(STR("\xff\xff"), 2);
    say(filled(10000), 100);
    run_until_closed();
    CHECK(str_starts(buf_str(&near.log), STR("C1002:")));
    finish();
}

TEST(a_peer_that_goes_without_a_close_is_lost)
{
    open_ws(WS_SERVER);
    say_frame(TEXT, STR("half a mess"));
    close(far.fd);
    far.fd = -1;
    turn();
    CHECK(str_starts(buf_str(&near.log), STR("C1006:")));
    CHECK_INT(near.closes, 1);
    finish();
}

TEST(a_close_and_an_end_at_once_are_a_close)
{
    struct buf b = BUF_INIT(1000);
    open_ws(WS_SERVER);
    a_close(&b, true, 1001, STR("gone"));
    CHECK_INT(send(far.fd, b.p, b.n, 0), b.n);
    close(far.fd);
    far.fd = -1;
    turn();
    CHECK_STR(buf_z(&near.log), "C1001:gone");
    finish();
    buf_release(&b);
}

/* ---- signs of life ---- */

TEST(pings_are_answered_with_their_bytes)
{
    for (int role = WS_SERVER; role <= WS_CLIENT; role++) {
        open_ws(role);
        for (int i = 0; i < 10; i++) {
            char text[20];
            snprintf(text, sizeof(text), "ping %d", i);
            say_frame(FIN | PING, str_of(text));
        }
        say_frame(FIN | PING, filled(WS_CONTROL_MAX));
        CHECK_STR(buf_z(&far.log),
                  "O:ping 0 O:ping 1 O:ping 2 O:ping 3 O:ping 4 O:ping 5 O:ping 6 "
                  "O:ping 7 O:ping 8 O:ping 9 O#125");
        finish();
    }
}

TEST(a_flood_of_pings_is_not_remembered)
{
    open_sizes(WS_SERVER, 1000, 4096, 4096, SOCK_STREAM);
    struct buf b = BUF_INIT(1 << 20);
    for (int i = 0; i < 5000; i++)
        add_frame(&b, FIN | PING, true, filled(100));
    add_frame(&b, FIN | PING, true, STR("the last"));
    add_frame(&b, FIN | TEXT, true, STR("heard"));
    struct str rest = buf_str(&b);
    while (rest.n > 0) {
        ssize_t n = send(far.fd, rest.p, rest.n, 0);
        if (n > 0)
            rest = str_sub(rest, (size_t)n, rest.n);
        turns(1);
        CHECK(near.w.s.out.n <= 4096);
    }
    turn();
    CHECK_STR(buf_z(&near.log), "T:heard");
    for (int i = 0; i < 100; i++) {
        far_reads();
        turn();
    }
    CHECK(str_ends(buf_str(&far.log), STR("O#100 O:the last")));
    CHECK(far.log.n < 5000 * 6);
    finish();
    buf_release(&b);
}

TEST(a_silent_peer_is_asked_and_then_given_up)
{
    open_times(WS_SERVER, 5, 400, 0);
    run_until_closed();
    CHECK(str_starts(buf_str(&near.log), STR("C1006:")));
    far_reads();
    CHECK(str_starts(buf_str(&far.log), STR("I: I:")));
    CHECK(far.ended);
    finish();
}

/* Answers n pings, each of which comes after silence. */
static void answer_pings(int n)
{
    for (int64_t end = t_now_ms() + T_WAIT_MS; n > 0; t_pause_ms(1)) {
        if (t_now_ms() > end)
            T_FAIL("no ping");
        turns(1);
        far_reads();
        if (far.log.n == 0)
            continue;
        buf_reset(&far.log);
        say_frame(FIN | PONG, STR(""));
        n--;
    }
}

TEST(a_silent_connection_gives_its_memory_back)
{
    open_times(WS_SERVER, 20, 10000, 0);
    near.echo = true;
    say_frame(BINARY, filled(30000));
    say_frame(FIN, filled(0));
    CHECK(near.w.msg.cap > 1000 && near.w.s.in.cap > 1000 && near.w.s.out.cap > 1000);
    answer_pings(2);
    CHECK_INT(near.w.msg.cap, 0);
    CHECK_INT(near.w.s.in.cap, 0);
    CHECK_INT(near.w.s.out.cap, 0);
    say_frame(BINARY, filled(100)); /* half a message is kept */
    buf_reset(&far.log);
    answer_pings(2);
    say_frame(FIN, filled(0));
    CHECK_STR(buf_z(&near.log), "B#30000 B#100");
    finish();
}

TEST(a_peer_that_answers_pings_stays)
{
    open_times(WS_CLIENT, 20, 4000, 0);
    int64_t begin = near.w.heard_us;
    answer_pings(5);
    CHECK(near.w.heard_us >= begin + 5 * 20000);
    CHECK(ws_is_open(&near.w));
    finish();
}

TEST(a_peer_that_nobody_reads_is_not_given_up)
{
    open_times(WS_SERVER, 2, 4, 0);
    ws_pause(&near.w);
    for (int i = 0; i < 30; i++) {
        t_pause_ms(1);
        turns(1);
    }
    CHECK(ws_is_open(&near.w));
    finish();
}

TEST(a_peer_that_slowly_takes_what_is_queued_stays)
{
    open_times(WS_SERVER, 200, 1000, 0);
    CHECK(ws_send(&near.w, false, filled(2 << 20)));
    int64_t begin = t_now_ms();
    char p[1024];
    while (t_now_ms() < begin + 1600) {
        CHECK(read(far.fd, p, sizeof(p)) != 0);
        turns(1);
        t_pause_ms(1);
        CHECK_INT(near.closes, 0);
    }
    CHECK(near.w.s.out.n > 0);
    run_until_closed(); /* it takes no more */
    CHECK(str_starts(buf_str(&near.log), STR("C1006:")));
    finish();
}

TEST(a_peer_that_slowly_takes_what_the_kernel_has_stays)
{
    open_times(WS_SERVER, 200, 1000, 0);
    setsockopt(near.w.s.io.fd, SOL_SOCKET, SO_SNDBUF, &(int){4 << 20}, sizeof(int));
    CHECK(ws_send(&near.w, false, filled(400 << 10)));
    turns(2);
    CHECK_INT(near.w.s.out.n, 0);
    /* The kernel counts what was taken in pieces of up to 36 KiB: 100 bytes a ms take one
     * in less than half of the time, also where turns are slow. */
    int64_t begin = t_now_ms(), taken = 0;
    char p[256];
    while (t_now_ms() < begin + 2500) {
        while (taken < (t_now_ms() - begin) * 100 && taken < 300 << 10) {
            ssize_t n = read(far.fd, p, sizeof(p));
            CHECK(n > 0);
            taken += n;
        }
        turns(1);
        t_pause_ms(5);
        CHECK_INT(near.closes, 0);
    }
    run_until_closed(); /* it takes no more */
    CHECK(str_starts(buf_str(&near.log), STR("C1006:")));
    finish();
}

/* ---- sending ---- */

TEST(a_peer_is_not_alive_because_the_kernel_takes_what_we_send)
{
    times = (struct ws_opts){.ping_ms = 5, .dead_ms = 40};
    open_ws(WS_SERVER);
    setsockopt(near.w.s.io.fd, SOL_SOCKET, SO_SNDBUF, &(int){1 << 20}, sizeof(int));
    for (int64_t end = t_now_ms() + T_WAIT_MS; near.closes == 0; t_pause_ms(3)) {
        CHECK(t_now_ms() < end);
        ws_send(&near.w, true, STR("x"));
        turns(2);
        CHECK_INT(near.w.s.out.n, 0);
    }
    CHECK(str_starts(buf_str(&near.log), STR("C1006:")));
    finish();
}

TEST(keys_of_a_client_are_never_the_same)
{
    open_ws(WS_CLIENT);
    uint32_t keys[40];
    for (int i = 0; i < 40; i++) {
        CHECK(ws_send(&near.w, true, STR("same")));
        turn();
        char p[100];
        CHECK_INT(read(far.fd, p, sizeof(p)), 2 + 4 + 4);
        memcpy(&keys[i], p + 2, 4);
        for (int k = 0; k < i; k++)
            CHECK(keys[k] != keys[i]);
    }
    finish();
}

TEST(a_turn_is_one_write)
{
    open_sizes(WS_SERVER, 1000, 4096, 8192, SOCK_SEQPACKET); /* a record a write */
    turn();
    for (int i = 0; i < 50; i++)
        CHECK(ws_send(&near.w, true, STR("small")));
    turn();
    char p[8192];
    CHECK_INT(read(far.fd, p, sizeof(p)), 50 * 7);
    CHECK(read(far.fd, p, sizeof(p)) < 0 && errno == EAGAIN);
    finish();
}

TEST(a_turn_may_send_more_than_the_mark_to_a_peer_that_takes_it)
{
    open_sizes(WS_SERVER, 1000, 4096, 8192, SOCK_SEQPACKET); /* a large send buffer */
    for (int i = 0; i < 100; i++)
        CHECK(ws_send(&near.w, true, filled(200)));
    turn();
    CHECK_STR(buf_z(&near.log), "");
    finish();
}

TEST(a_slow_peer_makes_send_refuse_and_room_comes)
{
    open_sizes(WS_SERVER, 1000, 4096, 64 << 10, SOCK_STREAM);
    struct buf want = BUF_INIT(1 << 20);
    int rooms = 0;
    for (int i = 0; i < 300; i++) {
        char text[1000];
        memset(text, 'x', sizeof(text));
        int n = snprintf(text, sizeof(text), "%d", i);
        text[n] = 'x';
        struct str m = str_n(text, i % 2 ? 50 : 700 + (size_t)i);
        while (!ws_send(&near.w, false, m)) {
            CHECK(near.w.s.out.n > near.w.s.low || near.w.refused);
            size_t before = near.log.n;
            while (near.log.n == before) {
                char p[3000];
                ssize_t got = read(far.fd, p, sizeof(p));
                if (got > 0)
                    CHECK_INT(buf_add(&far.in, p, (size_t)got), 0);
                turns(1);
            }
            CHECK(near.w.s.out.n <= near.w.s.low);
            rooms++;
        }
        CHECK(near.w.s.out.n <= near.w.s.low + 14 + m.n);
        CHECK_INT(buf_addc(&want, (char)(FIN | BINARY)), 0);
        if (m.n < 126)
            CHECK_INT(buf_addc(&want, (char)m.n), 0);
        else
            CHECK_INT(buf_addf(&want, "%c%c%c", 126, (int)(m.n >> 8), (int)(m.n & 255)),
                      0);
        CHECK_INT(buf_adds(&want, m), 0);
    }
    CHECK(rooms > 1);
    while (far.in.n < want.n) {
        char p[3000];
        ssize_t got = read(far.fd, p, sizeof(p));
        if (got > 0)
            CHECK_INT(buf_add(&far.in, p, (size_t)got), 0);
        turns(1);
    }
    CHECK(str_eq(buf_str(&far.in), buf_str(&want)));
    finish();
    buf_release(&want);
}

TEST(room_may_be_used_and_released_at_once)
{
    for (int i = 0; i < 2; i++) {
        open_sizes(WS_SERVER, 1000, 4096, 64 << 10, SOCK_STREAM);
        near.send_on_room = i == 0;
        near.release_on_room = i == 1;
        while (ws_send(&near.w, false, filled(1000)))
            ;
        CHECK(!ws_send(&near.w, false, STR("")));
        for (int k = 0; k < 100; k++) {
            far_reads();
            turn();
        }
        far_reads();
        CHECK_STR(buf_z(&near.log), "room:");
        CHECK(str_ends(buf_str(&far.log), i == 0 ? STR("T:more") : STR("end:")));
        finish();
    }
}

TEST(a_message_longer_than_ever_fits_is_refused_and_others_are_not)
{
    open_sizes(WS_SERVER, 1000, 4096, 4096, SOCK_STREAM);
    size_t most = ws_send_max(&near.w);
    CHECK(most > 1500 && most < 2048);
    CHECK(!ws_send(&near.w, false, filled(most + 1)));
    CHECK(ws_send(&near.w, false, filled(most)));
    turn();
    far_reads();
    CHECK(far.log.n > 0);
    CHECK_STR(buf_z(&near.log), "");
    finish();
}

TEST(a_close_fits_behind_any_queue)
{
    open_sizes(WS_CLIENT, 1000, 4096, WS_OUT_MIN, SOCK_STREAM);
    while (ws_send(&near.w, false, filled(ws_send_max(&near.w))))
        ;
    say_frame(FIN | PING, filled(100));
    ws_close(&near.w, WS_NORMAL, filled(WS_REASON_MAX));
    for (int i = 0; i < 20; i++) {
        turn();
        far_reads();
    }
    CHECK(str_ends(buf_str(&far.log), STR("X1000#123")));
    finish();
}

/* ---- pausing, releasing, beginning ---- */

TEST(a_paused_connection_tells_one_message_at_a_time)
{
    struct buf b = BUF_INIT(1000);
    open_ws(WS_SERVER);
    near.pause_on_message = true;
    add_frame(&b, FIN | TEXT, true, STR("one"));
    add_frame(&b, TEXT, true, STR("t"));
    add_frame(&b, FIN, true, STR("wo"));
    add_frame(&b, FIN | TEXT, true, STR("three"));
    say(buf_str(&b), 1000);
    CHECK_STR(buf_z(&near.log), "T:one");
    ws_resume(&near.w);
    ws_resume(&near.w);
    CHECK_STR(buf_z(&near.log), "T:one");
    turn();
    CHECK_STR(buf_z(&near.log), "T:one T:two");
    say_frame(FIN | TEXT, STR("four"));
    CHECK_STR(buf_z(&near.log), "T:one T:two");
    for (int i = 0; i < 3; i++) {
        ws_resume(&near.w);
        turn();
    }
    CHECK_STR(buf_z(&near.log), "T:one T:two T:three T:four");
    finish();
    buf_release(&b);
}

TEST(a_pause_slows_the_peer_down_and_nothing_is_lost)
{
    open_ws(WS_SERVER);
    ws_pause(&near.w);
    struct buf b = BUF_INIT(8 << 20);
    for (int i = 0; i < 4; i++)
        add_frame(&b, FIN | BINARY, true, filled(1 << 20));
    struct str rest = buf_str(&b);
    int idle = 0;
    while (rest.n > 0) {
        ssize_t n = send(far.fd, rest.p, rest.n, 0);
        if (n > 0)
            rest = str_sub(rest, (size_t)n, rest.n);
        else if (++idle == 10)
            ws_resume(&near.w);
        turns(1);
        CHECK(near.w.s.in.n <= 4096);
        CHECK(idle >= 10 || near.log.n == 0);
    }
    CHECK(idle >= 10);
    turn();
    CHECK_STR(buf_z(&near.log), "B#1048576 B#1048576 B#1048576 B#1048576");
    CHECK(near.w.msg.cap < 100000); /* given back */
    finish();
    buf_release(&b);
}

TEST(a_close_of_ours_ends_a_pause)
{
    open_ws(WS_SERVER);
    ws_pause(&near.w);
    say_frame(FIN | TEXT, STR("unheard"));
    ws_close(&near.w, WS_GOING_AWAY, STR(""));
    ws_pause(&near.w);
    say_frame(FIN | CLOSE, STR("\x03\xe9"));
    shutdown(far.fd, SHUT_WR);
    turn();
    CHECK_STR(buf_z(&near.log), "C1001:");
    finish();
}

TEST(the_end_of_what_was_read_is_told_once)
{
    struct buf b = BUF_INIT(10000);
    open_ws(WS_SERVER);
    near.tell_taken = true;
    add_frame(&b, FIN | TEXT, true, STR("one"));
    add_frame(&b, FIN | PING, true, STR(""));
    add_frame(&b, FIN | TEXT, true, STR("two"));
    size_t whole = b.n;
    add_frame(&b, FIN | TEXT, true, STR("three"));
    say(str_n(b.p, b.n - 2), 10000);
    CHECK_STR(buf_z(&near.log), "T:one T:two taken:");
    say(str_n(b.p + b.n - 2, 2), 10000);
    CHECK_STR(buf_z(&near.log), "T:one T:two taken: T:three taken:");
    buf_truncate(&b, whole);
    buf_consume(&b, whole - 9); /* two */
    add_frame(&b, FIN | CLOSE, true, STR("\x03\xe8"));
    say(buf_str(&b), 10000);
    shutdown(far.fd, SHUT_WR);
    turn();
    CHECK(str_ends(buf_str(&near.log), STR("T:three taken: T:two taken: C1000:")));
    finish();
    buf_release(&b);
}

TEST(nothing_is_told_after_a_release_in_a_message)
{
    static const size_t sizes[] = {5, 5000};
    for (size_t i = 0; i < 2; i++) {
        struct buf b = BUF_INIT(100000);
        open_ws(WS_SERVER);
        near.release_on_message = true;
        add_frame(&b, FIN | BINARY, true, filled(sizes[i]));
        add_frame(&b, FIN | TEXT, true, STR("two"));
        CHECK_INT(send(far.fd, b.p, b.n, 0), b.n);
        turn();
        turn();
        CHECK_STR(buf_z(&near.log), i == 0 ? "B:abcde" : "B#5000");
        CHECK_INT(near.taken, 0);
        finish();
        buf_release(&b);
    }
}

TEST(a_message_outlives_a_close_in_its_callback)
{
    struct buf b = BUF_INIT(1 << 20);
    open_ws(WS_SERVER);
    near.close_on_message = true;
    add_frame(&b, TEXT, true, STR("half "));
    add_frame(&b, FIN, true, STR("whole"));
    add_frame(&b, FIN | TEXT, true, STR("two"));
    say(buf_str(&b), 1000);
    CHECK_STR(buf_z(&near.log), "T:half whole");
    CHECK_STR(buf_z(&far.log), "X1001:enough");
    finish();
    buf_release(&b);
}

TEST(what_was_read_with_the_handshake_is_not_lost)
{
    open_ws(WS_CLIENT);
    CHECK_INT(buf_adds(&near.w.s.in, STR("\x81\x05"
                                         "early\x81\x02h")),
              0);
    CHECK_STR(buf_z(&near.log), "");
    turn();
    CHECK_STR(buf_z(&near.log), "T:early");
    say(STR("i"), 1);
    CHECK_STR(buf_z(&near.log), "T:early T:hi");
    finish();
}

TEST(a_stream_that_had_ended_before_is_lost)
{
    open_ws(WS_CLIENT);
    near.w.s.ended = true;
    CHECK_INT(near.closes, 0);
    turn();
    CHECK(str_starts(buf_str(&near.log), STR("C1006:")));
    finish();
}

/* ---- a long random talk, cut at random ---- */

static uint64_t seed;

static unsigned dice(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

/* Adds a random message in random fragments to out, its words to the logs. */
static void random_message(struct buf *out, bool masked, struct buf *told,
                           struct buf *sent)
{
    size_t n = dice(4) ? dice(50) : dice(9000), from = 0;
    bool text = dice(2);
    struct str m = filled(n);
    word(told, text ? "T" : "B", m);
    unsigned first = text ? TEXT : BINARY;
    do {
        size_t part = dice(3) ? n - from : dice((unsigned)(n - from) + 1);
        bool last = from + part == n && dice(4);
        add_frame(out, first | (last ? FIN : 0), masked, str_sub(m, from, part));
        from += part;
        first = 0;
        if (dice(4) == 0) {
            struct str p = filled(dice(50));
            add_frame(out, FIN | PING, masked, p);
            word(sent, "O", p);
        }
        if (last)
            return;
    } while (true);
}

TEST(any_talk_is_told_the_same_however_it_is_cut)
{
    for (unsigned round = 0; round < 60; round++) {
        seed = round;
        struct buf b = BUF_INIT(8 << 20), told = BUF_INIT(1 << 20),
                   sent = BUF_INIT(1 << 20);
        enum ws_role role = round % 2 ? WS_CLIENT : WS_SERVER;
        for (unsigned i = 0; i < 40; i++)
            random_message(&b, role == WS_SERVER, &told, &sent);
        open_ws(role);
        for (struct str rest = buf_str(&b); rest.n > 0;) {
            size_t n = dice(3) ? dice(20) + 1 : dice(5000) + 1;
            if (n > rest.n)
                n = rest.n;
            say(str_sub(rest, 0, n), n);
            rest = str_sub(rest, n, rest.n);
        }
        CHECK_STR(buf_z(&near.log), buf_z(&told));
        CHECK_STR(buf_z(&far.log), buf_z(&sent));
        finish();
        buf_release(&b);
        buf_release(&told);
        buf_release(&sent);
    }
}

T_MAIN
