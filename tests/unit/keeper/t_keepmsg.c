/* SPDX-License-Identifier: MIT */
/*
 * Keeper messages: whole, with their descriptors, or refused with every
 * descriptor closed. A descriptor that leaks here is lost for a keeper's life.
 */
#include "keeper/keepmsg.h"

#include "t.h"
#include "t_kernel.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Calls that fail a number of times before they are made; calls: of both. */
static struct failing {
    int times, errnum, calls;
} send_fails, receive_fails;

static bool fails(struct failing *f)
{
    f->calls++;
    errno = f->errnum;
    return f->times-- > 0;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    return fails(&send_fails) ? -1 : syscall(SYS_sendmsg, fd, m, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    return fails(&receive_fails) ? -1 : syscall(SYS_recvmsg, fd, m, flags);
}

static int fds[2];
static char space[KEEP_DATA + sizeof(struct keep_head)];

static void open_pair(void)
{
    if (keep_pair(fds) < 0)
        T_FAIL("keep_pair: %s", strerror(errno));
}

/* How many descriptors this process has open. */
static int open_count(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Are both descriptors of one open file? */
static bool same_file(int a, int b)
{
    struct stat s, t;
    return fstat(a, &s) == 0 && fstat(b, &t) == 0 && s.st_dev == t.st_dev &&
           s.st_ino == t.st_ino;
}

static struct keep_head head_of(uint32_t key, uint32_t value, uint32_t body)
{
    return (struct keep_head){.version = KEEP_VERSION,
                              .type = KEEP_WRITE,
                              .key = key,
                              .value = value,
                              .body = body};
}

/* Anything, as a peer of another version or a broken one might send it. */
static void send_raw(const void *p, size_t n, const int *list, int count)
{
    struct iovec iov = {(void *)(uintptr_t)p, n};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(32 * sizeof(int))];
    } control;
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (count > 0) {
        memset(&control, 0, sizeof(control));
        size_t bytes = (size_t)count * sizeof(int);
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(c), list, bytes);
    }
    if (sendmsg(fds[0], &m, 0) != (ssize_t)n)
        T_FAIL("sendmsg: %s", strerror(errno));
}

/* Refused, nothing left open, and the next message is read as if it never was. */
static void check_refused(const void *p, size_t n, int count)
{
    int pipe_fds[2], list[16];
    if (pipe(pipe_fds) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    for (int i = 0; i < count; i++)
        list[i] = pipe_fds[i % 2];
    int before = open_count();
    send_raw(p, n, list, count);
    struct keep_msg m;
    CHECK_INT(keep_recv(fds[1], &m, space), -1);
    CHECK_INT(errno, EBADMSG);
    CHECK_INT(open_count(), before);

    struct keep_msg next = {.h = {.type = KEEP_SEEN, .id = 5}, .body = STR("next")};
    CHECK_INT(keep_send(fds[0], &next), 0);
    CHECK_INT(keep_recv(fds[1], &m, space), 1);
    CHECK_INT(m.h.id, 5);
    CHECK(str_eq(m.body, STR("next")));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

TEST(a_message_arrives_as_it_was_sent)
{
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_WRITE,
                               .flags = 0xfffffffe,
                               .id = UINT64_MAX,
                               .a = UINT64_C(0x123456789abcdef0),
                               .b = 7,
                               .kib = 4096},
                         .key = STR("the key"),
                         .value = STR("a\0value"),
                         .body = STR("\0body\377")};
    CHECK_INT(keep_send(fds[0], &m), 0);
    struct keep_msg got;
    memset(&got, 0xa5, sizeof(got));
    CHECK_INT(keep_recv(fds[1], &got, space), 1);
    CHECK_INT(got.h.version, KEEP_VERSION);
    CHECK_INT(got.h.type, KEEP_WRITE);
    CHECK_INT(got.h.flags, 0xfffffffe & ~KEEP_FAR);
    CHECK(got.h.id == UINT64_MAX && got.h.a == m.h.a && got.h.b == 7);
    CHECK_INT(got.h.kib, 4096);
    CHECK(str_eq(got.key, m.key) && str_eq(got.value, m.value));
    CHECK(str_eq(got.body, m.body));
    CHECK_INT(got.nfds, 0);
}

TEST(messages_keep_their_order_and_their_borders)
{
    open_pair();
    for (uint64_t i = 0; i < 3; i++) {
        struct keep_msg m = {.h = {.type = KEEP_PUT, .id = i}, .key = STR("k")};
        CHECK_INT(keep_send(fds[0], &m), 0);
    }
    for (uint64_t i = 0; i < 3; i++) {
        struct keep_msg got;
        CHECK_INT(keep_recv(fds[1], &got, space), 1);
        CHECK_INT(got.h.id, i);
        CHECK(str_eq(got.key, STR("k")) && got.value.n == 0 && got.body.n == 0);
    }
}

TEST(descriptors_go_with_their_message)
{
    open_pair();
    int p[2];
    CHECK_INT(pipe(p), 0);
    struct keep_msg m = {.h = {.type = KEEP_SPAWN}, .body = STR("x"), .nfds = KEEP_FDS};
    for (int i = 0; i < KEEP_FDS; i++)
        m.fds[i] = p[i % 2];
    int before = open_count();
    CHECK_INT(keep_send(fds[0], &m), 0);
    struct keep_msg none = {.h = {.type = KEEP_SEEN}};
    CHECK_INT(keep_send(fds[0], &none), 0);
    CHECK_INT(open_count(), before); /* they stay the sender's */

    struct keep_msg got;
    CHECK_INT(keep_recv(fds[1], &got, space), 1);
    CHECK_INT(got.nfds, KEEP_FDS);
    for (int i = 0; i < KEEP_FDS; i++) {
        CHECK(same_file(got.fds[i], p[i % 2]));
        CHECK(fcntl(got.fds[i], F_GETFD) & FD_CLOEXEC);
    }
    CHECK_INT(write(got.fds[1], "hi", 2), 2);
    char c[2];
    CHECK_INT(read(p[0], c, 2), 2);
    keep_close_fds(&got);
    CHECK_INT(got.nfds, 0);
    CHECK_INT(open_count(), before);
    CHECK_INT(keep_recv(fds[1], &got, space), 1);
    CHECK_INT(got.nfds, 0);
}

TEST(the_greatest_message_fits_and_one_byte_more_does_not)
{
    open_pair();
    static char big[KEEP_DATA];
    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = (char)(i % 251);
    struct keep_msg m = {.h = {.type = KEEP_WRITE},
                         .key = str_n(big, 10),
                         .value = str_n(big, 20),
                         .body = str_n(big, KEEP_DATA - 30)};
    CHECK_INT(keep_send(fds[0], &m), 0);
    struct keep_msg got;
    CHECK_INT(keep_recv(fds[1], &got, space), 1);
    CHECK(str_eq(got.key, m.key) && str_eq(got.value, m.value));
    CHECK(str_eq(got.body, m.body));

    CHECK(!got.far);
    int before = open_count();
    static char huge[KEEP_FAR_MAX];
    for (size_t i = 0; i < sizeof(huge); i++)
        huge[i] = (char)(i % 253);
    size_t sizes[] = {KEEP_DATA - 29, 1 << 20, KEEP_FAR_MAX - 30};
    for (int nfds = 0; nfds <= KEEP_FDS; nfds += KEEP_FDS) {
        for (int i = 0; i < 3; i++) {
            m.body = str_n(huge, sizes[i]);
            m.nfds = nfds;
            CHECK_INT(keep_send(fds[0], &m), 0);
            CHECK_INT(keep_recv(fds[1], &got, space), 1);
            CHECK(got.far);
            CHECK_INT(got.nfds, nfds);
            CHECK(str_eq(got.key, m.key) && str_eq(got.value, m.value));
            CHECK(str_eq(got.body, m.body));
            keep_release(&got);
            CHECK_INT(open_count(), before);
        }
    }
    m.key.n++;
    CHECK_INT(keep_send(fds[0], &m), -1);
    CHECK_INT(errno, EMSGSIZE);
    CHECK_INT(keep_recv(fds[1], &got, space), -1);
    CHECK_INT(errno, EAGAIN); /* nothing was sent of it */
}

TEST(data_elsewhere_must_be_there)
{
    open_pair();
    struct keep_head h = head_of(0, 0, KEEP_DATA + 1);
    h.flags = KEEP_FAR;
    check_refused(&h, sizeof(h), 0); /* no descriptor */
    check_refused(&h, sizeof(h), 1); /* of something shorter */
    h.body = KEEP_FAR_MAX + 1;
    check_refused(&h, sizeof(h), 1);
    h.body = 10;
    check_refused(&h, sizeof(h), 1);
    h.body = h.value = h.key = UINT32_MAX;
    check_refused(&h, sizeof(h), 2);
}

TEST(too_many_descriptors_are_not_sent)
{
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_SPAWN}, .nfds = KEEP_FDS + 1}, got;
    CHECK_INT(keep_send(fds[0], &m), -1);
    CHECK_INT(errno, EMSGSIZE);
    CHECK_INT(keep_recv(fds[1], &got, space), -1);
    CHECK_INT(errno, EAGAIN);
}

TEST(what_needs_a_descriptor_that_is_not_there_is_not_sent)
{
    static char big[KEEP_DATA + 1];
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_WRITE}, .body = str_n(big, sizeof(big))}, got;
    int lowest = dup(fds[0]);
    close(lowest);
    struct rlimit all, none;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){(rlim_t)lowest, all.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_INT(keep_send(fds[0], &m), -1);
    CHECK_INT(errno, EMFILE);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &all), 0);
    CHECK_INT(keep_recv(fds[1], &got, space), -1);
    CHECK_INT(errno, EAGAIN);
}

TEST(where_there_is_no_memory_it_is_not_tried_forever)
{
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_WRITE}}, got;
    if (!t_refuse(SYS_sendmsg, ENOBUFS))
        T_SKIP("no seccomp filters here");
    CHECK_INT(keep_send(fds[0], &m), -1);
    CHECK_INT(errno, ENOBUFS);
    CHECK_INT(keep_recv(fds[1], &got, space), -1);
    CHECK_INT(errno, EAGAIN);
}

TEST(a_full_socket_says_so_and_loses_nothing)
{
    open_pair();
    static char page[8000];
    uint64_t sent = 0;
    struct keep_msg m = {.h = {.type = KEEP_WRITE}, .body = str_n(page, sizeof(page))};
    for (; m.h.id = sent, keep_send(fds[0], &m) == 0; sent++)
        CHECK(sent < 100000);
    CHECK_INT(errno, EAGAIN);
    CHECK(sent > 0);
    struct keep_msg got;
    for (uint64_t i = 0; i < sent; i++) {
        CHECK_INT(keep_recv(fds[1], &got, space), 1);
        CHECK_INT(got.h.id, i);
    }
    CHECK_INT(keep_recv(fds[1], &got, space), -1);
    CHECK_INT(keep_send(fds[0], &m), 0);
}

TEST(a_pair_has_room_for_some_of_the_greatest)
{
    open_pair();
    static char big[KEEP_DATA];
    struct keep_msg m = {.h = {.type = KEEP_WRITE}, .body = str_n(big, sizeof(big))};
    CHECK_INT(keep_send(fds[0], &m), 0);
}

TEST(what_is_shorter_than_a_head_is_refused)
{
    open_pair();
    struct keep_head h = head_of(0, 0, 0);
    for (size_t n = 1; n < sizeof(h); n++)
        check_refused(&h, n, n % 3 ? KEEP_FDS : 0);
}

TEST(another_version_is_refused_with_its_descriptors)
{
    open_pair();
    for (int i = 0; i < 3; i++) {
        static const uint16_t versions[] = {0, KEEP_VERSION + 1, 0xffff};
        struct keep_head h = head_of(0, 0, 0);
        h.version = versions[i];
        check_refused(&h, sizeof(h), 3);
    }
}

TEST(lengths_that_do_not_add_up_are_refused)
{
    open_pair();
    struct {
        struct keep_head h;
        char data[10];
    } bad[] = {
        {.h = head_of(0, 0, 9)},
        {.h = head_of(0, 0, 11)},
        {.h = head_of(11, 0, 0)},
        {.h = head_of(0, 0xffffffff, 11)}, /* 10, if sums were of 32 bits */
        {.h = head_of(0xffffffff, 0xffffffff, 12)},
        {.h = head_of(4, 4, 4)},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_refused(&bad[i], sizeof(struct keep_head) + 10, 2);
}

TEST(a_message_that_was_too_long_is_refused)
{
    open_pair();
    static char big[sizeof(space) + 1000];
    struct keep_head h = head_of(0, 0, sizeof(big) - sizeof(h));
    memcpy(big, &h, sizeof(h));
    check_refused(big, sizeof(big), 1);
    h.body = KEEP_DATA; /* what would be left of it adds up */
    memcpy(big, &h, sizeof(h));
    check_refused(big, sizeof(big), 1);
}

/* The message arrives, without any of its descriptors, and none stays open. */
static void check_without(void)
{
    struct keep_msg m;
    int before = open_count();
    CHECK_INT(keep_recv(fds[1], &m, space), 1);
    CHECK_INT(m.h.id, 77);
    CHECK_INT(m.nfds, 0);
    CHECK_INT(open_count(), before);
}

TEST(descriptors_that_do_not_fit_are_all_left_out)
{
    T_NEEDS(native);
    open_pair();
    int list[16];
    for (int i = 0; i < 16; i++)
        list[i] = 0;
    struct keep_head h = head_of(0, 0, 0);
    h.id = 77;
    send_raw(&h, sizeof(h), list, KEEP_FDS + 1);
    check_without();
    send_raw(&h, sizeof(h), list, 16);
    check_without();

    /* Room in the message, and too little in the table of descriptors. */
    struct keep_msg m = {.h = {.type = KEEP_SPAWN, .id = 77}, .nfds = KEEP_FDS};
    CHECK_INT(keep_send(fds[0], &m), 0);
    int top = fcntl(0, F_DUPFD, 0);
    struct rlimit few = {(rlim_t)top + 3, (rlim_t)top + 3};
    close(top);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    check_without();
}

TEST(a_peer_that_is_gone_is_no_error)
{
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_SERVING, .id = 3}}, got;
    CHECK_INT(keep_send(fds[0], &m), 0);
    close(fds[0]);
    CHECK_INT(keep_recv(fds[1], &got, space), 1); /* what was sent is done */
    CHECK_INT(got.h.id, 3);
    CHECK_INT(keep_recv(fds[1], &got, space), 0);
    CHECK_INT(keep_send(fds[1], &m), -1); /* and no SIGPIPE */
    CHECK_INT(errno, EPIPE);
}

TEST(a_peer_that_left_unread_messages_is_gone_all_the_same)
{
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_SERVING}}, got;
    CHECK_INT(keep_send(fds[1], &m), 0);
    for (m.h.id = 1; m.h.id <= 3; m.h.id++)
        CHECK_INT(keep_send(fds[0], &m), 0);
    close(fds[0]);
    for (uint64_t id = 1; id <= 3; id++) { /* what was sent is done all the same */
        CHECK_INT(keep_recv(fds[1], &got, space), 1);
        CHECK_INT(got.h.id, id);
    }
    CHECK_INT(keep_recv(fds[1], &got, space), 0);
}

TEST(the_pair_is_not_inherited_and_does_not_block)
{
    open_pair();
    struct keep_msg got;
    CHECK_INT(keep_recv(fds[0], &got, space), -1);
    CHECK_INT(errno, EAGAIN);
    for (int i = 0; i < 2; i++) {
        CHECK(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        CHECK(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
    }
}

/* ---- calls that fail ---- */

TEST(a_call_that_was_interrupted_is_made_again)
{
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_WRITE, .id = 9}}, got;
    static const int transient[] = {EINTR, ENOBUFS, ENOMEM};
    for (int i = 0; i < 3; i++) {
        send_fails = (struct failing){.times = 5, .errnum = transient[i]};
        CHECK_INT(keep_send(fds[0], &m), 0);
        CHECK_INT(send_fails.calls, 6);
        receive_fails = (struct failing){.times = i ? 0 : 5, .errnum = EINTR};
        CHECK_INT(keep_recv(fds[1], &got, space), 1);
        CHECK_INT(receive_fails.calls, i ? 1 : 6);
        CHECK_INT(got.h.id, 9);
    }
    send_fails = (struct failing){.times = 1000, .errnum = ENOBUFS};
    CHECK_INT(keep_send(fds[0], &m), -1);
    CHECK_INT(errno, ENOBUFS);
    CHECK_INT(send_fails.calls, 100);
    send_fails = (struct failing){.times = 1, .errnum = EPIPE};
    CHECK_INT(keep_send(fds[0], &m), -1);
    CHECK(errno == EPIPE && send_fails.calls == 1);
}

TEST(a_reset_is_the_end_when_it_comes_again)
{
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_WRITE, .id = 9}}, got;
    CHECK_INT(keep_send(fds[0], &m), 0);
    receive_fails = (struct failing){.times = 2, .errnum = ECONNRESET};
    CHECK_INT(keep_recv(fds[1], &got, space), 0);
    CHECK_INT(receive_fails.calls, 2);
    receive_fails = (struct failing){.times = 1, .errnum = ECONNRESET};
    CHECK_INT(keep_recv(fds[1], &got, space), 1);
    receive_fails = (struct failing){.times = 1, .errnum = EIO};
    CHECK_INT(keep_recv(fds[1], &got, space), -1);
    CHECK_INT(errno, EIO);
}

TEST(data_that_the_kernel_does_not_keep_is_not_sent)
{
    static char big[2 * KEEP_DATA];
    open_pair();
    struct keep_msg m = {.h = {.type = KEEP_WRITE}, .body = str_n(big, sizeof(big))}, got;
    int before = open_count();
    struct rlimit few = {KEEP_DATA, KEEP_DATA};
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &few), 0);
    CHECK_INT(keep_send(fds[0], &m), -1);
    CHECK_INT(errno, EFBIG);
    CHECK_INT(open_count(), before);
    CHECK_INT(keep_recv(fds[1], &got, space), -1);
    CHECK_INT(errno, EAGAIN);
}

T_MAIN
