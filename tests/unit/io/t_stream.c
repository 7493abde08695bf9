/* SPDX-License-Identifier: MIT */
/*
 * Streams over a socket pair: nothing is lost or doubled by small buffers and
 * slow peers, and no callback comes after the end or after stream_close.
 */
#include "io/stream.h"

#include "turns.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* A stream and its peer's end, which is a plain descriptor. */
static struct near {
    struct stream s;
    int peer;
    struct buf got; /* what on_data took */
    int datas, rooms, ends, errnum;
    size_t take; /* bytes that on_data takes; SIZE_MAX: all */
    bool close_on_data, close_on_end, close_on_room;
} near;

static struct loop *loop;

static void take(struct near *n, size_t most)
{
    size_t some = n->s.in.n < most ? n->s.in.n : most;
    CHECK_INT(buf_add(&n->got, n->s.in.p, some), 0);
    buf_consume(&n->s.in, some);
}

static void on_data(struct stream *s)
{
    struct near *n = container_of(s, struct near, s);
    CHECK_INT(n->ends, 0);
    CHECK(s->in.n > 0 && s->in.n <= s->in.max);
    n->datas++;
    take(n, n->take);
    if (n->close_on_data)
        stream_close(s);
}

static void on_room(struct stream *s)
{
    struct near *n = container_of(s, struct near, s);
    CHECK_INT(n->ends, 0);
    CHECK(s->out.n <= s->low);
    n->rooms++;
    if (n->close_on_room)
        stream_close(s);
}

static void on_end(struct stream *s, int errnum)
{
    struct near *n = container_of(s, struct near, s);
    n->ends++;
    n->errnum = errnum;
    if (n->close_on_end)
        stream_close(s);
}

static const struct stream_events events = {on_data, on_room, on_end, NULL};
static const struct stream_events no_room = {on_data, NULL, on_end, NULL};

static void open_fd(int fd, size_t in_max, size_t out_max, const struct stream_events *ev)
{
    loop = loop_new();
    CHECK(loop != NULL);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    buf_init(&near.got, 64 << 20);
    near.take = SIZE_MAX;
    CHECK_INT(stream_open(&near.s, loop, fd, in_max, out_max, ev), 0);
}

static void open_pair(size_t in_max, size_t out_max)
{
    int p[2], small = 4096;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
        T_FAIL("socketpair: %s", strerror(errno));
    setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    near.peer = p[1];
    open_fd(p[0], in_max, out_max, &events);
}

static void finish(void)
{
    stream_close(&near.s);
    stream_close(&near.s);
    buf_release(&near.got);
    close(near.peer);
    loop_free(loop);
}

static void on_quit(struct timer *t)
{
    (void)t;
    loop_stop(loop);
}

/* Some turns of the loop, in which all that can happen does. */
static void turn(void)
{
    struct timer quit = {0};
    timer_begin(loop, &quit, 3, on_quit);
    CHECK_INT(loop_run(loop), 0);
    turns_of(loop, 16); /* the time may have passed while another process ran */
}

static void peer_says(const char *text)
{
    CHECK_INT(write(near.peer, text, strlen(text)), strlen(text));
}

/* What is there for the peer now. */
static size_t peer_hears(char *p, size_t n)
{
    ssize_t got = read(near.peer, p, n);
    if (got < 0 && errno != EAGAIN)
        T_FAIL("read: %s", strerror(errno));
    return got > 0 ? (size_t)got : 0;
}

static char pattern(size_t i) { return (char)(i % 251); }

static struct str patterned(size_t n)
{
    static char bytes[4 << 20];
    CHECK(n <= sizeof(bytes));
    for (size_t i = 0; i < n; i++)
        bytes[i] = pattern(i);
    return str_n(bytes, n);
}

/* ---- reading ---- */

TEST(what_the_owner_leaves_stays_and_more_is_added)
{
    open_pair(100, 100);
    near.take = 2;
    peer_says("hello");
    turn();
    CHECK_INT(near.datas, 1);
    CHECK_MEM(near.s.in.p, near.s.in.n, "llo");
    peer_says(" you");
    turn();
    CHECK_INT(near.datas, 2);
    CHECK_MEM(near.s.in.p, near.s.in.n, "o you");
    CHECK_MEM(near.got.p, near.got.n, "hell");
    CHECK_INT(near.ends, 0);
    finish();
}

TEST(a_full_buffer_stops_the_reading_until_resume)
{
    open_pair(10, 100);
    near.take = 0;
    peer_says("0123456789abcdefghijKLMN");
    turn();
    turn();
    CHECK_MEM(near.s.in.p, near.s.in.n, "0123456789");
    CHECK_INT(near.datas, 1);
    near.take = SIZE_MAX;
    take(&near, 10);
    stream_resume(&near.s);
    turn();
    CHECK_MEM(near.got.p, near.got.n, "0123456789abcdefghijKLMN");
    finish();
}

TEST(more_than_the_buffer_gets_through_an_owner_that_takes_all)
{
    open_pair(1000, 100);
    size_t sent = 0;
    struct str all = patterned(300000);
    while (near.got.n < all.n) {
        ssize_t n = write(near.peer, all.p + sent, all.n - sent);
        sent += n > 0 ? (size_t)n : 0;
        turn();
    }
    CHECK(str_eq(buf_str(&near.got), all));
    finish();
}

TEST(a_paused_stream_reads_nothing)
{
    open_pair(100, 100);
    stream_pause(&near.s);
    peer_says("later");
    turn();
    CHECK_INT(near.datas, 0);
    CHECK_INT(near.s.in.n, 0);
    CHECK_INT(near.s.io.events & EPOLLIN, 0); /* nor is it woken for it */
    CHECK_INT(stream_write(&near.s, STR("still writes")), 0);
    char p[100];
    CHECK_MEM(p, peer_hears(p, sizeof(p)), "still writes");
    stream_resume(&near.s);
    turn();
    CHECK_MEM(near.got.p, near.got.n, "later");
    finish();
}

TEST(a_hang_up_is_told_to_a_paused_one_once)
{
    open_pair(100, 100);
    stream_pause(&near.s);
    shutdown(near.peer, SHUT_RDWR);
    turn();
    turn();
    CHECK_INT(near.ends, 1);
    CHECK_INT(near.errnum, 0);
    stream_resume(&near.s);
    turn();
    CHECK_INT(near.ends, 1);
    finish();
}

TEST(the_last_bytes_come_before_the_end)
{
    open_pair(100, 100);
    peer_says("the last words");
    close(near.peer);
    turn();
    CHECK_MEM(near.got.p, near.got.n, "the last words");
    CHECK_INT(near.ends, 1);
    CHECK_INT(near.errnum, 0);
    turn();
    CHECK_INT(near.ends, 1);
    finish();
}

TEST(a_peer_that_only_stops_writing_still_hears)
{
    open_pair(100, 100);
    CHECK_INT(stream_write(&near.s, STR("answer")), 0);
    shutdown(near.peer, SHUT_WR);
    turn();
    CHECK_INT(near.ends, 1);
    CHECK_INT(near.errnum, 0);
    char p[100];
    CHECK_MEM(p, peer_hears(p, sizeof(p)), "answer");
    finish();
}

/* ---- writing ---- */

TEST(a_write_is_tried_at_once)
{
    open_pair(100, 100);
    char p[100];
    CHECK_INT(stream_write(&near.s, STR("now")), 0);
    CHECK_MEM(p, peer_hears(p, sizeof(p)), "now");
    CHECK_INT(near.s.out.n, 0);
    turn();
    CHECK_INT(near.rooms, 0); /* it was never full */
    finish();
}

/* Reads all that the stream has for its peer, which must be all. */
static void peer_hears_all(struct str all)
{
    static char p[65536];
    size_t heard = 0;
    while (heard < all.n) {
        size_t n = peer_hears(p, sizeof(p));
        CHECK(heard + n <= all.n);
        for (size_t i = 0; i < n; i++)
            CHECK(p[i] == all.p[heard + i]);
        heard += n;
        if (n == 0)
            turn();
    }
}

TEST(what_the_kernel_does_not_take_follows)
{
    open_pair(100, 4 << 20);
    struct str all = patterned(2 << 20);
    CHECK_INT(stream_write(&near.s, str_sub(all, 0, 1000)), 0);
    CHECK_INT(stream_write(&near.s, str_sub(all, 1000, all.n)), 0);
    CHECK(near.s.out.n > 0 && near.s.out.n < all.n);
    peer_hears_all(all);
    turn();
    CHECK_INT(near.s.out.n, 0);
    CHECK_INT(peer_hears((char[10]){0}, 10), 0);
    CHECK_INT(near.ends, 0);
    finish();
}

TEST(a_full_buffer_takes_nothing_and_says_so)
{
    open_pair(100, 1 << 20);
    struct str all = patterned(4 << 20);
    size_t sent = 0;
    while (stream_write(&near.s, str_sub(all, sent, 100000)) == 0)
        sent += 100000;
    CHECK(sent > 0 && sent < all.n);
    size_t before = near.s.out.n, room = stream_room(&near.s);
    CHECK(room < 100000);
    CHECK_INT(before + room, 1 << 20);
    CHECK_INT(stream_write(&near.s, str_sub(all, sent, room + 1)), -1);
    CHECK_INT(near.s.out.n, before);
    CHECK_INT(stream_write(&near.s, str_sub(all, sent, room)), 0);
    CHECK_INT(stream_room(&near.s), 0);
    turn();
    CHECK_INT(near.rooms, 0);

    peer_hears_all(str_sub(all, 0, sent + room));
    turn();
    CHECK_INT(near.rooms, 1);
    CHECK(stream_room(&near.s) >= 1 << 19);
    turn();
    CHECK_INT(near.rooms, 1);
    finish();
}

TEST(bytes_that_were_appended_are_sent_by_a_flush)
{
    open_pair(100, 100);
    buf_addz(&near.s.out, "built ");
    buf_addz(&near.s.out, "in place");
    stream_flush(&near.s);
    char p[100];
    CHECK_MEM(p, peer_hears(p, sizeof(p)), "built in place");
    finish();
}

TEST(a_flush_of_what_was_too_much_still_tells_of_room)
{
    open_pair(100, 100);
    while (buf_room(&near.s.out) > 0)
        buf_addc(&near.s.out, 'x');
    near.s.was_full = true;
    stream_flush(&near.s);
    CHECK_INT(near.s.out.n, 0);
    CHECK_INT(near.rooms, 0); /* from the loop, not from inside of the flush */
    turn();
    CHECK_INT(near.rooms, 1);
    finish();
}

TEST(last_words_are_followed_by_an_end_and_the_peer_still_heard)
{
    open_pair(100, 4 << 20);
    struct str all = patterned(2 << 20);
    CHECK_INT(stream_write(&near.s, all), 0);
    CHECK(near.s.out.n > 0);
    stream_shutdown(&near.s);
    stream_shutdown(&near.s);
    peer_hears_all(all);
    turn();
    char p[10];
    CHECK_INT(read(near.peer, p, sizeof(p)), 0);
    peer_says("I heard");
    turn();
    CHECK_MEM(near.got.p, near.got.n, "I heard");
    CHECK_INT(near.ends, 0);
    finish();
}

TEST(a_write_to_nobody_ends_the_stream_from_the_loop)
{
    open_pair(100, 100);
    close(near.peer);
    CHECK_INT(stream_write(&near.s, STR("anybody?")), 0); /* no SIGPIPE either */
    CHECK_INT(near.ends, 0);
    CHECK_INT(stream_write(&near.s, STR("hello?")), 0);
    turn();
    CHECK_INT(near.ends, 1);
    CHECK(near.errnum == EPIPE || near.errnum == 0);
    CHECK_INT(stream_write(&near.s, STR("gone")), 0);
    CHECK_INT(near.s.out.n, 0);
    turn();
    CHECK_INT(near.ends, 1);
    finish();
}

TEST(a_stream_over_a_pipe)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    near.peer = p[0];
    open_fd(p[1], 100, 1 << 20, &no_room);
    struct str all = patterned(500000);
    CHECK_INT(stream_write(&near.s, all), 0);
    CHECK(near.s.out.n > 0);
    peer_hears_all(all);
    turn();
    CHECK_INT(near.s.out.n, 0);
    finish();
}

static io_fn *stream_io;
static int wakes;

static void counted(struct io *io, uint32_t what)
{
    wakes++;
    stream_io(io, what);
}

/* A pipe's hang-up, unlike a socket's end, is reported whatever is asked for. */
TEST(an_ended_stream_that_is_kept_lets_the_loop_rest)
{
    for (int writes = 0; writes < 2; writes++) {
        int p[2];
        if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
            T_FAIL("pipe: %s", strerror(errno));
        near = (struct near){.peer = p[!writes]};
        open_fd(p[writes], 100, 100, &no_room);
        stream_io = near.s.io.fn;
        near.s.io.fn = counted;
        wakes = 0;
        close(near.peer);
        turn();
        stream_pause(&near.s);
        turn();
        stream_resume(&near.s);
        turn();
        CHECK_INT(near.ends, 1);
        CHECK(wakes < 10);
        near.peer = -1;
        finish();
    }
}

/* ---- another owner ---- */

static struct stream first;

static void first_data(struct stream *s)
{
    CHECK(s == &first);
    near.datas += 100;
    stream_move(&near.s, s, &events);
    CHECK_INT(s->io.fd, -1);
    stream_close(s);
}

static void first_end(struct stream *s, int errnum)
{
    (void)s;
    T_FAIL("the first owner was told of an end: %d", errnum);
}

static const struct stream_events first_events = {first_data, NULL, first_end,
                                                  first_data};

TEST(a_stream_moved_in_on_data_goes_on_elsewhere)
{
    open_pair(100, 4 << 20);
    stream_move(&first, &near.s, &first_events);
    peer_says("read by the first");
    struct str all = patterned(1 << 20);
    CHECK_INT(stream_write(&first, all), 0);
    turn();
    CHECK_INT(near.datas, 100);
    CHECK_MEM(near.s.in.p, near.s.in.n, "read by the first");
    peer_hears_all(all);
    peer_says(", and the second");
    turn();
    CHECK_MEM(near.got.p, near.got.n, "read by the first, and the second");
    close(near.peer);
    turn();
    CHECK_INT(near.ends, 1);
    finish();
}

TEST(an_end_of_what_comes_is_told_to_the_next_owner)
{
    open_pair(100, 100);
    stream_move(&first, &near.s, &first_events);
    shutdown(near.peer, SHUT_WR);
    turn();
    CHECK_INT(near.datas, 100);
    CHECK_INT(near.ends, 1);
    CHECK_INT(near.errnum, 0);
    finish();
}

TEST(a_failure_that_was_not_told_yet_moves_too)
{
    open_pair(100, 100);
    stream_move(&first, &near.s, &first_events);
    shutdown(near.peer, SHUT_RD);
    CHECK_INT(stream_write(&first, STR("lost")), 0);
    stream_move(&near.s, &first, &events);
    turn();
    CHECK_INT(near.ends, 1);
    CHECK_INT(near.errnum, EPIPE);
    finish();
}

TEST(nothing_comes_after_a_close_in_on_data)
{
    open_pair(100, 100);
    near.close_on_data = true;
    peer_says("bye");
    close(near.peer);
    turn();
    turn();
    CHECK_INT(near.datas, 1);
    CHECK_INT(near.ends, 0);
    finish();
}

TEST(nothing_comes_after_a_close_in_on_end)
{
    open_pair(100, 100);
    near.close_on_end = true;
    close(near.peer);
    stream_write(&near.s, STR("x"));
    turn();
    turn();
    CHECK_INT(near.ends, 1);
    finish();
}

TEST(nothing_comes_after_a_close_in_on_room)
{
    open_pair(100, 1 << 20);
    near.close_on_room = true;
    struct str all = patterned(1 << 20);
    CHECK_INT(stream_write(&near.s, all), 0);
    CHECK(near.s.out.n > near.s.low);
    peer_says("and more");
    stream_pause(&near.s);
    char p[65536];
    for (int i = 0; i < 10000 && near.rooms == 0; i++) {
        peer_hears(p, sizeof(p));
        turn();
    }
    CHECK_INT(near.rooms, 1);
    turn();
    CHECK_INT(near.datas, 0);
    CHECK_INT(near.ends, 0);
    finish();
}

TEST(a_close_takes_a_reported_failure_back)
{
    open_pair(100, 100);
    close(near.peer);
    stream_write(&near.s, STR("x"));
    stream_close(&near.s);
    turn();
    CHECK_INT(near.ends, 0);
    CHECK_INT(stream_write(&near.s, STR("x")), 0);
    finish();
}

TEST(a_closed_stream_can_be_freed_at_once)
{
    open_pair(100, 100);
    int p[2];
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p), 0);
    struct near *other = calloc(1, sizeof(*other));
    CHECK_INT(stream_open(&other->s, loop, p[0], 100, 100, &events), 0);
    close(p[1]);
    stream_write(&other->s, STR("x")); /* its failure is to be told */
    stream_close(&other->s);
    free(other);
    turn();
    finish();
}

TEST(closing_ends_the_peer)
{
    open_pair(100, 100);
    stream_close(&near.s);
    char c;
    CHECK_INT(read(near.peer, &c, 1), 0);
    finish();
}

TEST(a_failed_open_leaves_the_descriptor_to_the_caller)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/file", t_dir());
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    loop = loop_new();
    CHECK_INT(stream_open(&near.s, loop, fd, 100, 100, &events), -1);
    CHECK_INT(errno, EPERM);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    stream_close(&near.s);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    close(fd);
    loop_free(loop);
}

T_MAIN
