/* SPDX-License-Identifier: MIT */
/*
 * Looks at jobs on real terminals. Most jobs are a few lines of C, each one
 * way of waiting or not waiting, so that the case is the same everywhere; at
 * the end come real shells and programs, as far as they are there.
 *
 * A job says when it has got there by a byte on READY. That it waits then must
 * become true; that it does not must be true in every one of many looks.
 */
#include "os/look.h"

#include "os/procfs.h"
#include "os/sockdiag.h"
#include "os/tree.h"

#include "t.h"
#include "t_kernel.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>

#define READY 9
#define LOOKS 30

typedef void (*job_fn)(void);

/* A terminal with a shell of ours on it and a job in the foreground. */
struct rig {
    int master;
    pid_t shell;
};

/* Shells that were started, so that nothing of them stays behind. */
static pid_t shells[64];
static int shells_n;

/* Nothing of it stays behind, daemons neither. */
static void end_shell(pid_t shell)
{
    struct tree_result r;
    if (waitpid(shell, NULL, WNOHANG) == 0)
        tree_signal(&(struct tree_of){.root = shell}, SIGKILL, true, &r);
    waitpid(shell, NULL, 0);
}

static void end_shells(void)
{
    for (int i = 0; i < shells_n; i++)
        end_shell(shells[i]);
}

static void note_shell(pid_t shell)
{
    if (shells_n == 0)
        atexit(end_shells);
    if (shells_n < (int)(sizeof(shells) / sizeof(shells[0])))
        shells[shells_n++] = shell;
}

static void ready(void)
{
    if (write(READY, "x", 1) != 1)
        _exit(1);
}

static int open_master(char *slave, size_t n)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
        ptsname_r(master, slave, n) != 0)
        T_FAIL("no terminal: %s", strerror(errno));
    return master;
}

/* Makes the calling process leader of a session on the terminal. */
static void become_leader(const char *slave)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 1); /* as after an exec */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGINT, SIG_DFL); /* ignored where we run in the background */
    int fd = open(slave, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
        _exit(1);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    if (fd > 2)
        close(fd);
}

/* Runs fn as a job; in front unless background. */
static pid_t start_job(job_fn fn, bool front)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTTOU, SIG_IGN);
        setpgid(0, 0);
        if (front)
            tcsetpgrp(0, getpid());
        signal(SIGTTOU, SIG_DFL);
        fn();
        _exit(0);
    }
    setpgid(pid, pid);
    return pid;
}

/* The same on any kernel. */
static struct rig start_any_rig(job_fn fn, bool own)
{
    char slave[64], c;
    int go[2];
    struct rig r = {.master = open_master(slave, sizeof(slave))};
    if (pipe(go) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    r.shell = t_fork();
    if (r.shell == 0) {
        close(r.master);
        close(go[0]); /* may be READY */
        dup2(go[1], READY);
        if (go[1] != READY)
            close(go[1]);
        become_leader(slave);
        if (own)
            fn();
        else
            start_job(fn, true);
        for (;;)
            pause();
    }
    note_shell(r.shell);
    close(go[1]);
    if (read(go[0], &c, 1) != 1)
        T_FAIL("the job did not start");
    return r; /* go[0] stays open: another one of the job may say it too */
}

/* own: fn is the shell itself; else its foreground job. */
static struct rig start_rig(job_fn fn, bool own)
{
    T_NEEDS(calls);
    return start_any_rig(fn, own);
}

static void end_rig(struct rig r)
{
    end_shell(r.shell);
    close(r.master);
}

static struct look look_of(pid_t shell)
{
    struct look l;
    look_at(shell, 0, false, &l);
    return l;
}

static const char *name_of(enum look_state s)
{
    return s == LOOK_YES ? "YES" : s == LOOK_NO ? "NO" : "UNKNOWN";
}

/* It becomes so, and stays so. */
static struct look expect(struct rig r, enum look_state want)
{
    struct look l = look_of(r.shell);
    for (int64_t end = t_now_ms() + T_WAIT_MS; l.state != want; l = look_of(r.shell)) {
        if (t_now_ms() > end)
            T_FAIL("%s, not %s: %s", name_of(l.state), name_of(want), l.how);
        t_pause_ms(2);
    }
    for (int i = 0; i < LOOKS; i++) {
        l = look_of(r.shell);
        if (l.state != want)
            T_FAIL("%s after it was %s: %s", name_of(l.state), name_of(want), l.how);
        t_pause_ms(1);
    }
    return l;
}

/* It becomes so in the end, with other answers before that. */
static struct look expect_in_the_end(struct rig r, enum look_state want)
{
    struct look l = {.state = LOOK_UNKNOWN};
    int64_t end = t_now_ms() + T_WAIT_MS;
    for (int same = 0; same < LOOKS; t_pause_ms(1)) {
        l = look_of(r.shell);
        same = l.state == want ? same + 1 : 0;
        if (t_now_ms() > end)
            T_FAIL("%s, not %s: %s", name_of(l.state), name_of(want), l.how);
    }
    return l;
}

/* The same of a job of ours; how it is known, when that is given. */
static struct look expect_job(job_fn fn, enum look_state want, const char *how)
{
    struct rig r = start_rig(fn, false);
    struct look l = expect(r, want);
    end_rig(r);
    CHECK(!l.shell_reads);
    CHECK(!l.shell_foreground);
    if (how && !strstr(l.how, how))
        T_FAIL("how is \"%s\", without \"%s\"", l.how, how);
    return l;
}

/* --- what waits for the terminal ---------------------------------------- */

static void job_read(void)
{
    char c;
    ready();
    CHECK(read(0, &c, 1) == 1);
}

TEST(read_of_the_terminal)
{
    prctl(PR_SET_NAME, "a) R (b c");
    struct look l = expect_job(job_read, LOOK_YES, "read of the terminal");
    CHECK_STR(l.comm, "a) R (b c");
    CHECK(l.pid > 0);
}

static void job_readv(void)
{
    char c;
    struct iovec v = {&c, 1};
    ready();
    CHECK(readv(2, &v, 1) == 1);
}

TEST(readv_of_its_error_output)
{
    expect_job(job_readv, LOOK_YES, "read of the terminal");
}

static void job_dev_tty(void)
{
    char c;
    int fd = open("/dev/tty", O_RDWR);
    close(0);
    ready();
    CHECK(read(fd, &c, 1) == 1);
}

TEST(read_of_dev_tty)
{
    expect_job(job_dev_tty, LOOK_YES, "read of the terminal");
}

static void job_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(0, &set);
    ready();
    select(1, &set, NULL, NULL, NULL);
}

TEST(select_on_the_terminal)
{
    expect_job(job_select, LOOK_YES, "select on the terminal");
}

static void job_poll(void)
{
    struct pollfd p[2] = {{.fd = -1, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    ready();
    for (;;)
        poll(p, 2, -1);
}

TEST(poll_of_the_terminal)
{
    expect_job(job_poll, LOOK_YES, "poll of the terminal");
}

static void job_ppoll(void)
{
    struct pollfd p = {.fd = 0, .events = POLLIN};
    struct timespec t = {7200, 0};
    ready();
    ppoll(&p, 1, &t, NULL);
}

TEST(a_time_out_of_hours_is_none)
{
    expect_job(job_ppoll, LOOK_YES, "poll of the terminal");
}

static void watch(int ep, int fd, uint32_t events)
{
    struct epoll_event e = {.events = events};
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0);
}

/*
 * A pair of sockets that os/look.c knows as one by itself: their inodes follow one
 * another. About one in 4,000 pairs is not so, when the kernel takes the next numbers in
 * between.
 */
static void make_pair(int s[2], int flags)
{
    struct stat a, b;
    do {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | flags, 0, s) == 0);
        CHECK(fstat(s[0], &a) == 0 && fstat(s[1], &b) == 0);
    } while (a.st_ino + 1 != b.st_ino); /* the others stay open, and are not watched */
}

static int loop_with(int fd, uint32_t events)
{
    int ep = epoll_create1(0), p[2], s[2];
    CHECK(pipe(p) == 0);
    make_pair(s, 0);
    watch(ep, p[0], EPOLLIN);
    watch(ep, s[0], EPOLLIN);
    watch(ep, eventfd(0, 0), EPOLLIN);
    watch(ep, timerfd_create(CLOCK_MONOTONIC, 0), EPOLLIN);
    watch(ep, fd, events);
    return ep;
}

static void job_epoll(void)
{
    struct epoll_event e;
    int ep = loop_with(0, EPOLLIN);
    ready();
    epoll_wait(ep, &e, 1, -1);
}

TEST(epoll_on_the_terminal_and_what_is_its_own)
{
    expect_job(job_epoll, LOOK_YES, "epoll on the terminal");
}

/* Two sockets of one connection whose inodes do not follow one another. */
static void make_pair_apart(int s[2])
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t n = sizeof(a.sun_family); /* the kernel finds a name */
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), p[2];
    CHECK(bind(listener, (struct sockaddr *)&a, n) == 0 && listen(listener, 1) == 0);
    n = sizeof(a);
    CHECK(getsockname(listener, (struct sockaddr *)&a, &n) == 0);
    s[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(pipe(p) == 0); /* it takes the next inode */
    CHECK(connect(s[0], (struct sockaddr *)&a, n) == 0);
    s[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(s[1] >= 0);
    close(listener);
    close(p[0]);
    close(p[1]);
}

/* Whether the kernel says which socket is the other end. */
static bool peers_are_known(void)
{
    int s[2];
    struct stat a, b;
    make_pair_apart(s);
    CHECK(fstat(s[0], &a) == 0 && fstat(s[1], &b) == 0);
    uint64_t peer = sockdiag_unix_peer(a.st_ino);
    CHECK(peer == 0 || peer == b.st_ino);
    CHECK(sockdiag_unix_peer(UINT32_MAX) == 0); /* no such socket */
    close(s[0]);
    close(s[1]);
    return peer != 0;
}

static void job_apart(void)
{
    int s[2];
    make_pair_apart(s);
    struct pollfd set[2] = {{.fd = 0, .events = POLLIN}, {.fd = s[0], .events = POLLIN}};
    ready();
    poll(set, 2, -1);
}

TEST(its_own_connection_with_inodes_apart)
{
    if (peers_are_known())
        expect_job(job_apart, LOOK_YES, "poll of the terminal");
    else
        expect_job(job_apart, LOOK_UNKNOWN, "other sources");
}

static void job_nested_epoll(void)
{
    struct pollfd p = {.fd = loop_with(0, EPOLLIN), .events = POLLIN};
    ready();
    poll(&p, 1, -1);
}

TEST(poll_of_an_epoll)
{
    expect_job(job_nested_epoll, LOOK_YES, "poll of the terminal");
}

static void *wait_for_ever(void *arg)
{
    enum { WAIT_PRIVATE = 128 }; /* the kernel's header is not everywhere */
    static int word;
    (void)arg;
    for (;;)
        syscall(SYS_futex, &word, WAIT_PRIVATE, 0, NULL, NULL, 0);
    return NULL;
}

static void *read_terminal(void *arg)
{
    char c;
    (void)arg;
    CHECK(read(0, &c, 1) == 1);
    return NULL;
}

static void job_threads(void)
{
    pthread_t t;
    for (int i = 0; i < 5; i++)
        CHECK(pthread_create(&t, NULL, i == 3 ? read_terminal : wait_for_ever,
                             NULL) == 0);
    ready();
    wait_for_ever(NULL);
}

TEST(one_of_many_threads_reads)
{
    expect_job(job_threads, LOOK_YES, "read of the terminal");
}

static void job_first_thread_ended(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, read_terminal, NULL) == 0);
    ready();
    pthread_exit(NULL);
}

TEST(the_first_thread_has_ended)
{
    struct rig r = start_rig(job_first_thread_ended, false);
    struct look l;
    struct procfs_stat s;
    T_WAIT((l = look_of(r.shell)).pid && procfs_stat(l.pid, &s) == 0 && s.state == 'Z');
    expect(r, LOOK_YES);
}

static void job_pipeline(void)
{
    int p[2];
    char c;
    CHECK(pipe(p) == 0);
    if (fork() == 0) {
        close(p[1]);
        CHECK(read(p[0], &c, 1) == 1);
    }
    job_read();
}

TEST(one_of_a_pipeline_reads)
{
    expect_job(job_pipeline, LOOK_YES, "read of the terminal");
}

TEST(a_poll_that_was_stopped_and_continued)
{
    struct rig r = start_rig(job_poll, false);
    struct look l = expect(r, LOOK_YES);
    kill(l.pid, SIGSTOP);
    expect(r, LOOK_NO);
    /* Until it gets a processor, it is seen in its old poll or on the way to a new one. */
    kill(l.pid, SIGCONT);
    l = expect_in_the_end(r, LOOK_YES);
    CHECK_STR(l.how, "poll of the terminal");
}

/* One look directly after each stop, which the process may not have taken in yet. */
TEST(a_poll_that_stops_meanwhile)
{
    struct rig r = start_rig(job_poll, false);
    struct look l = expect(r, LOOK_YES);
    pid_t pid = l.pid;
    for (int i = 0; i < 500; i++) {
        kill(pid, SIGSTOP);
        l = look_of(r.shell);
        if (l.state == LOOK_YES)
            T_FAIL("stop %d: YES: %s", i, l.how);
        kill(pid, SIGCONT);
        T_WAIT(look_of(r.shell).state == LOOK_YES);
    }
}

TEST(the_shell_itself)
{
    struct look l = expect(start_rig(job_read, true), LOOK_YES);
    CHECK(l.shell_reads);
    CHECK(l.shell_foreground);
    l = expect(start_rig(job_select, true), LOOK_YES);
    CHECK(l.shell_reads);
    CHECK(l.shell_foreground);
}

/* --- what does not -------------------------------------------------------- */

static void job_sleep(void)
{
    struct timespec t = {1000, 0};
    ready();
    nanosleep(&t, NULL);
}

TEST(sleep_does_not_wait)
{
    struct look l = expect_job(job_sleep, LOOK_NO, "nothing in the foreground");
    CHECK_INT(l.pid, 0);
}

static void job_busy(void)
{
    ready();
    for (volatile unsigned i = 0;; i++)
        ;
}

TEST(a_busy_loop_does_not_wait)
{
    expect_job(job_busy, LOOK_NO, NULL);
}

static void job_waits_for_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        job_sleep();
    waitpid(pid, NULL, 0);
}

TEST(a_parent_does_not_wait)
{
    expect_job(job_waits_for_child, LOOK_NO, NULL);
}

static void job_reads_pipe(void)
{
    int p[2];
    char c;
    CHECK(pipe(p) == 0);
    dup2(p[0], 0);
    ready();
    CHECK(read(0, &c, 1) == 1);
}

TEST(a_pipe_on_standard_input)
{
    expect_job(job_reads_pipe, LOOK_NO, NULL);
}

static void job_other_terminal(void)
{
    char slave[64], c;
    open_master(slave, sizeof(slave));
    int fd = open(slave, O_RDWR | O_NOCTTY);
    ready();
    CHECK(read(fd, &c, 1) == 1);
}

TEST(another_terminal)
{
    expect_job(job_other_terminal, LOOK_NO, NULL);
}

static void job_watches_output(void)
{
    /* As tail -f does: not to read, but to learn that nobody reads. */
    struct pollfd p[2] = {{.fd = eventfd(0, 0), .events = POLLIN},
                          {.fd = 1, .events = POLLERR | POLLRDHUP}};
    ready();
    poll(p, 2, -1);
}

TEST(the_terminal_only_as_output)
{
    expect_job(job_watches_output, LOOK_NO, NULL);
}

static void job_epoll_output(void)
{
    struct epoll_event e;
    int ep = loop_with(1, EPOLLRDHUP);
    ready();
    epoll_wait(ep, &e, 1, -1);
}

TEST(a_loop_without_the_terminal)
{
    expect_job(job_epoll_output, LOOK_NO, NULL);
}

static void job_select_sleep(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(eventfd(0, 0), &set);
    ready();
    struct timeval t = {1000, 0};
    select(64, &set, NULL, NULL, &t);
}

TEST(select_as_a_sleep)
{
    expect_job(job_select_sleep, LOOK_NO, NULL);
}

static void job_threads_without(void)
{
    pthread_t t;
    for (int i = 0; i < 5; i++)
        CHECK(pthread_create(&t, NULL, wait_for_ever, NULL) == 0);
    ready();
    wait_for_ever(NULL);
}

TEST(threads_that_wait_for_each_other)
{
    expect_job(job_threads_without, LOOK_NO, NULL);
}

TEST(a_stopped_reader)
{
    struct rig r = start_rig(job_read, false);
    pid_t pid = expect(r, LOOK_YES).pid;
    struct procfs_stat s;
    kill(pid, SIGSTOP);
    /* It wakes up first, and is seen to run, and then to read again. */
    T_WAIT(procfs_stat(pid, &s) == 0 && s.state == 'T');
    expect(r, LOOK_NO);
}

static void shell_with_background_reader(void)
{
    pid_t pid = start_job(job_read, false);
    int status;
    /* It is stopped for reading (SIGTTIN). */
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    struct timespec t = {1000, 0};
    nanosleep(&t, NULL);
}

TEST(a_reader_in_the_background)
{
    struct look l = expect(start_rig(shell_with_background_reader, true), LOOK_NO);
    CHECK(l.shell_foreground);
    CHECK(!l.shell_reads);
}

static void shell_that_works(void)
{
    if (fork() == 0)
        job_sleep();
    struct timespec t = {1000, 0};
    nanosleep(&t, NULL);
}

TEST(a_shell_that_works)
{
    struct rig r = start_rig(shell_that_works, true);
    struct look l = expect(r, LOOK_NO);
    end_rig(r);
    CHECK(l.shell_foreground);
    CHECK(!l.shell_reads);
}

static void job_ends(void) {}

static void shell_whose_job_has_ended(void)
{
    /* Its group stays the one in the foreground. */
    waitpid(start_job(job_ends, true), NULL, 0);
    job_sleep();
}

TEST(a_stranger_that_reads)
{
    struct rig r = start_rig(shell_whose_job_has_ended, true);
    char slave[64];
    CHECK_INT(ptsname_r(r.master, slave, sizeof(slave)), 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char byte;
        _exit((int)read(open(slave, O_RDWR | O_NOCTTY), &byte, 1));
    }
    struct procfs_call c;
    T_WAIT(procfs_call(pid, pid, &c) == 0 && c.where == PROCFS_CALL &&
           c.number == SYS_read);
    CHECK_INT(look_of(r.shell).state, LOOK_NO);
    struct look l;
    look_at(r.shell, 0, true, &l);
    CHECK_INT(l.state, LOOK_YES);
    CHECK_INT(l.pid, pid);
    kill(pid, SIGKILL);
    t_reap(pid);
    look_at(r.shell, 0, true, &l);
    CHECK_INT(l.state, LOOK_NO);
    end_rig(r);
}

/* --- what cannot be told -------------------------------------------------- */

static void job_time_out(void)
{
    fd_set set;
    ready();
    for (;;) {
        struct timeval t = {3, 0};
        FD_ZERO(&set);
        FD_SET(0, &set);
        select(1, &set, NULL, NULL, &t);
    }
}

TEST(a_time_out)
{
    expect_job(job_time_out, LOOK_UNKNOWN, "time-out");
    struct look l = expect(start_rig(job_time_out, true), LOOK_UNKNOWN);
    CHECK(l.shell_reads);
    CHECK_INT(l.hint, LOOK_HINT_PERHAPS);
}

static void job_armed_timer(void)
{
    struct epoll_event e;
    struct itimerspec in = {.it_value = {1000, 0}};
    int ep = loop_with(0, EPOLLIN), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(timerfd_settime(timer, 0, &in, NULL) == 0);
    watch(ep, timer, EPOLLIN);
    ready();
    epoll_wait(ep, &e, 1, -1);
}

TEST(a_timer)
{
    expect_job(job_armed_timer, LOOK_UNKNOWN, "other sources");
}

static void job_server(void)
{
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    struct epoll_event e;
    int ep = loop_with(0, EPOLLIN);
    struct sockaddr any = {.sa_family = AF_UNIX}; /* the kernel finds a name */
    CHECK(bind(s, &any, sizeof(any.sa_family)) == 0 && listen(s, 1) == 0);
    watch(ep, s, EPOLLIN);
    ready();
    epoll_wait(ep, &e, 1, -1);
}

TEST(a_server_that_listens_for_keys)
{
    expect_job(job_server, LOOK_UNKNOWN, "other sources");
}

static void job_child_output(void)
{
    int p[2];
    CHECK(pipe(p) == 0);
    if (fork() == 0) {
        close(p[0]);
        job_sleep();
    }
    close(p[1]);
    struct pollfd set[2] = {{.fd = 0, .events = POLLIN}, {.fd = p[0], .events = POLLIN}};
    poll(set, 2, -1);
}

TEST(a_child_that_may_write)
{
    expect_job(job_child_output, LOOK_UNKNOWN, "other sources");
    struct look l = expect(start_rig(job_child_output, false), LOOK_UNKNOWN);
    CHECK_INT(l.hint, LOOK_HINT_NONE);
}

static void job_network(void)
{
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct epoll_event e;
    int ep = loop_with(0, EPOLLIN);
    watch(ep, s, EPOLLIN);
    ready();
    epoll_wait(ep, &e, 1, -1);
}

TEST(a_question_while_a_connection_is_kept)
{
    struct look l = expect(start_rig(job_network, false), LOOK_UNKNOWN);
    CHECK_INT(l.hint, LOOK_HINT_SOURCES);
}

/* A child at the other end of a pair of sockets, which waits for what it is asked. */
static void helper_of(int s[2])
{
    char c;
    if (fork() == 0) {
        close(s[0]);
        ready();
        CHECK(read(s[1], &c, 1) == 1);
    }
    close(s[1]);
    struct pollfd set[2] = {{.fd = 0, .events = POLLIN}, {.fd = s[0], .events = POLLIN}};
    poll(set, 2, -1);
}

static void job_helper(void)
{
    int s[2];
    make_pair(s, SOCK_CLOEXEC);
    helper_of(s);
}

static void job_helper_apart(void)
{
    int s[2];
    make_pair_apart(s);
    helper_of(s);
}

TEST(a_question_while_a_helper_waits)
{
    struct look l = expect(start_rig(job_helper, false), LOOK_UNKNOWN);
    CHECK_INT(l.hint, LOOK_HINT_SOURCES);
    l = expect(start_rig(job_helper_apart, false), LOOK_UNKNOWN);
    CHECK_INT(l.hint, peers_are_known() ? LOOK_HINT_SOURCES : LOOK_HINT_NONE);
}

/* As fish: others of its kind may write to it. */
static void job_messages(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/t_look-%d-messages", (int)getpid());
    CHECK(mkfifo(path, 0600) == 0);
    struct pollfd set[2] = {{.fd = 0, .events = POLLIN}, {.events = POLLIN}};
    set[1].fd = open(path, O_RDWR);
    unlink(path);
    ready();
    poll(set, 2, -1);
}

TEST(a_question_while_messages_may_come)
{
    struct look l = expect(start_rig(job_messages, false), LOOK_UNKNOWN);
    CHECK_INT(l.hint, LOOK_HINT_SOURCES);
}

static void job_network_and_worker(void)
{
    if (fork() == 0) {
        for (;;)
            ;
    }
    job_network();
}

TEST(while_its_child_works_nothing_is_asked)
{
    struct rig r = start_rig(job_network_and_worker, false);
    expect(r, LOOK_UNKNOWN);
    struct look l;
    T_WAIT((l = look_of(r.shell)).hint == LOOK_HINT_NONE && l.state == LOOK_UNKNOWN);
    end_rig(r);
}

static char feed_path[64];

static void job_feed(void)
{
    char byte;
    int fd = open(feed_path, O_RDWR);
    ready();
    _exit((int)read(fd, &byte, 1));
}

TEST(an_empty_feed)
{
    snprintf(feed_path, sizeof(feed_path), "/tmp/t_look-%d", (int)getpid());
    CHECK_INT(mkfifo(feed_path, 0600), 0);
    struct stat st;
    CHECK_INT(stat(feed_path, &st), 0);
    struct rig r = start_rig(job_feed, false);
    struct look l;
    T_WAIT((look_at(r.shell, st.st_ino, false, &l), l.hint == LOOK_HINT_FEED));
    CHECK_INT(l.state, LOOK_NO);
    CHECK(l.pid > 0 && l.pid != r.shell);
    look_at(r.shell, st.st_ino + 1, false, &l);
    CHECK_INT(l.hint, LOOK_HINT_NONE);
    end_rig(r);
    unlink(feed_path);
}

static void job_go(void)
{
    struct epoll_event e;
    int ep = loop_with(eventfd(0, 0), EPOLLIN);
    /* Something was written before, so the edge has passed. */
    watch(ep, 1, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    ready();
    for (;;)
        epoll_wait(ep, &e, 1, -1);
}

TEST(a_runtime_that_watches_its_output_for_everything)
{
    struct look l = expect_job(job_go, LOOK_UNKNOWN, NULL);
    CHECK_INT(l.hint, LOOK_HINT_KEYS);
}

static void job_reader_and_worker(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, read_terminal, NULL) == 0);
    job_busy();
}

TEST(a_thread_reads_while_another_works)
{
    /* Not on the processor is not blocked: the worker may look idle, never YES. */
    struct rig r = start_rig(job_reader_and_worker, false);
    struct look l;
    T_WAIT((l = look_of(r.shell)).state == LOOK_UNKNOWN);
    CHECK(strstr(l.how, "while a thread runs") != NULL);
    expect(r, LOOK_UNKNOWN);
}

static void thread_reads(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, read_terminal, NULL) == 0);
    ready();
}

static void job_reader_and_sleep(void)
{
    thread_reads();
    sleep(1000);
}

static void job_reader_and_time(void)
{
    struct timespec long_time = {.tv_sec = 1000};
    int word = 0;
    thread_reads();
    for (;;)
        syscall(SYS_futex, &word, 0, 0, &long_time, NULL, 0);
}

static void job_reader_and_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        job_sleep();
    thread_reads();
    waitpid(pid, NULL, 0);
}

static void job_reader_and_server(void)
{
    struct sockaddr any = {.sa_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(s, &any, sizeof(any.sa_family)) == 0 && listen(s, 1) == 0);
    thread_reads();
    accept(s, NULL, NULL);
}

static void *serve_network(void *arg)
{
    struct pollfd p = {.fd = socket(AF_INET, SOCK_DGRAM, 0), .events = POLLIN};
    (void)arg;
    poll(&p, 1, -1);
    return NULL;
}

/* As a server in Java, whose first thread waits for that of main(). */
static void job_reader_and_network(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, serve_network, NULL) == 0);
    thread_reads();
    wait_for_ever(NULL);
}

static void job_reader_and_loop(void)
{
    struct epoll_event e;
    int ep = loop_with(eventfd(0, 0), EPOLLIN);
    thread_reads();
    for (;;)
        epoll_wait(ep, &e, 1, 30000);
}

/* As Java's launcher, which waits for the end of the thread that runs main(). */
static int main_tid;

static void wait_for_main(void)
{
    while (__atomic_load_n(&main_tid, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    for (;;)
        syscall(SYS_futex, &main_tid, 0, main_tid, NULL, NULL, 0);
}

static void *main_sleeps(void *arg)
{
    struct timespec long_time = {.tv_sec = 1000};
    int word = 0;
    __atomic_store_n(&main_tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    for (;;)
        syscall(SYS_futex, &word, 0, 0, &long_time, NULL, 0);
    return arg;
}

static void *main_reads(void *arg)
{
    __atomic_store_n(&main_tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return read_terminal(arg);
}

static void *helper_sleeps(void *arg)
{
    sleep(1000);
    return arg;
}

static void job_java_console(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, main_sleeps, NULL) == 0);
    thread_reads();
    wait_for_main();
}

static void job_java_question(void)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, helper_sleeps, NULL) == 0);
    CHECK(pthread_create(&t, NULL, main_reads, NULL) == 0);
    ready();
    wait_for_main();
}

TEST(a_thread_reads_while_the_first_waits_for_something_else)
{
    const char *how = "read of the terminal while a thread waits for more";
    struct look l = expect_job(job_reader_and_sleep, LOOK_UNKNOWN, how);
    CHECK_INT(l.hint, LOOK_HINT_SOURCES);
    expect_job(job_reader_and_time, LOOK_UNKNOWN, how);
    expect_job(job_reader_and_server, LOOK_UNKNOWN, how);
    expect_job(job_reader_and_network, LOOK_UNKNOWN, how);
    l = expect_job(job_reader_and_child, LOOK_UNKNOWN, how);
    CHECK_INT(l.hint, LOOK_HINT_NONE);
    expect_job(job_reader_and_loop, LOOK_YES, "read of the terminal");
    l = expect_job(job_java_console, LOOK_UNKNOWN, how);
    CHECK_INT(l.hint, LOOK_HINT_SOURCES);
    expect_job(job_java_question, LOOK_YES, "read of the terminal");
}

/* From here on our own /proc does not show calls, as gVisor's does not. */
static void hide_calls(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)getpid(), (int)getpid());
    if (t_has_calls() &&
        (!t_own_mounts() || mount("/dev/null", path, NULL, MS_BIND, NULL) < 0))
        T_SKIP("not allowed to mount");
}

static void expect_perhaps(job_fn fn, bool perhaps)
{
    struct rig r = start_any_rig(fn, false);
    struct look l;
    T_WAIT(((l = look_of(r.shell)).hint == LOOK_HINT_PERHAPS) == perhaps);
    for (int i = 0; i < LOOKS; i++, t_pause_ms(1)) {
        l = look_of(r.shell);
        CHECK_INT(l.state, LOOK_UNKNOWN);
        CHECK_INT(l.hint, perhaps ? LOOK_HINT_PERHAPS : LOOK_HINT_NONE);
        CHECK(!l.shell_reads && (!perhaps || (l.pid > 0 && l.pid != r.shell)));
    }
    if (perhaps)
        CHECK_STR(l.how, "asleep, with the terminal as its input");
    end_rig(r);
}

TEST(where_proc_shows_no_calls_sleepers_perhaps_wait)
{
    hide_calls();
    expect_perhaps(job_read, true);
    expect_perhaps(job_waits_for_child, true);
}

TEST(where_proc_shows_no_calls_others_do_not)
{
    hide_calls();
    expect_perhaps(job_reads_pipe, false);
    expect_perhaps(job_busy, false);
    expect_perhaps(job_reader_and_worker, false);
}

TEST(nobody_and_no_terminal)
{
    struct look l;
    T_NEEDS(calls);
    pid_t pid = t_fork();
    if (pid == 0) {
        setsid();
        pause();
        _exit(0);
    }
    struct procfs_stat s;
    T_WAIT(procfs_stat(pid, &s) == 0 && s.session == pid);
    l = look_of(pid);
    CHECK_INT(l.state, LOOK_UNKNOWN);
    CHECK_STR(l.how, "no terminal");
    CHECK(!l.shell_reads && !l.shell_foreground);
    kill(pid, SIGKILL);
    t_reap(pid);
    l = look_of(pid);
    CHECK_INT(l.state, LOOK_UNKNOWN);
    CHECK_STR(l.how, "no such process");
}

TEST(without_proc)
{
    struct rig r = start_rig(job_read, false);
    pid_t blind = t_fork();
    if (blind == 0) {
        if (unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) < 0)
            _exit(3);
        struct look l = look_of(r.shell);
        _exit(l.state == LOOK_UNKNOWN && strcmp(l.how, "no /proc") == 0 ? 0 : 4);
    }
    int status = t_reap(blind);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        T_SKIP("not allowed to mount");
    CHECK_INT(status, 0);
}

/* --- terminals behind the terminal --------------------------------------- */

/* Starts fn in front of a terminal of its own and returns the master. */
static int start_behind(job_fn fn)
{
    char slave[64];
    int master = open_master(slave, sizeof(slave));
    if (fork() == 0) {
        close(master);
        become_leader(slave);
        start_job(fn, true);
        for (;;)
            pause();
    }
    return master;
}

/* What script and sudo are while their command runs. */
static void pass_on(int one, int two, int limit)
{
    struct pollfd p[3] = {{.fd = 0, .events = POLLIN}, {.fd = one, .events = POLLIN},
                          {.fd = two, .events = POLLIN}};
    for (;;)
        poll(p, 3, limit);
}

static void job_script_read(void)
{
    pass_on(start_behind(job_read), -1, -1);
}

static void job_script_sleep(void)
{
    pass_on(start_behind(job_sleep), -1, -1);
}

static void job_script_limit(void)
{
    pass_on(start_behind(job_read), -1, 500);
}

static void job_old_script(void)
{
    /* One process copies each way; the one that reads holds the master. */
    start_behind(job_sleep);
    char c;
    CHECK(read(0, &c, 1) == 1);
}

static void job_script_script(void)
{
    pass_on(start_behind(job_script_read), -1, -1);
}

static void job_two(void)
{
    int one = start_behind(job_read);
    pass_on(one, start_behind(job_sleep), -1);
}

static void job_expect(void)
{
    /* Reads what its program says, and nothing of ours. */
    char c;
    int master = start_behind(job_read);
    for (;;)
        if (read(master, &c, 1) < 0)
            pause();
}

TEST(a_reader_behind_another_terminal)
{
    expect_job(job_script_read, LOOK_YES, "read of the terminal");
    expect_job(job_script_script, LOOK_YES, "read of the terminal");
    /* apt looks now and then whether dpkg is still there. */
    expect_job(job_script_limit, LOOK_YES, "read of the terminal");
}

TEST(a_sleeper_behind_another_terminal)
{
    expect_job(job_script_sleep, LOOK_NO, "behind");
    expect_job(job_old_script, LOOK_NO, "behind");
}

TEST(terminals_that_disagree)
{
    expect_job(job_two, LOOK_UNKNOWN, "several terminals");
}

TEST(a_terminal_that_nobody_passes_on_to)
{
    expect_job(job_expect, LOOK_NO, NULL);
}

static void multiplexer(job_fn inner)
{
    /* The client waits on a socket; the server, a daemon, has the terminal. */
    int tty = dup(0), s[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    if (fork() == 0) {
        setsid();
        dup2(eventfd(0, 0), 0);
        int master = start_behind(inner);
        struct pollfd p[3] = {{.fd = tty, .events = POLLIN},
                              {.fd = master, .events = POLLIN},
                              {.fd = s[0], .events = POLLIN}};
        for (;;)
            poll(p, 3, -1);
    }
    char c;
    CHECK(read(s[1], &c, 1) == 1);
}

static void job_tmux_read(void)
{
    multiplexer(job_read);
}

static void job_tmux_sleep(void)
{
    multiplexer(job_sleep);
}

TEST(a_multiplexer)
{
    expect_job(job_tmux_read, LOOK_YES, "read of the terminal");
    expect_job(job_tmux_sleep, LOOK_NO, NULL);
}

/* --- other users ---------------------------------------------------------- */

#define SOMEBODY 1000

struct cap_head {
    uint32_t version;
    int pid;
};
struct cap_set {
    uint32_t effective, permitted, inheritable;
};

/* Root as containers have it: without CAP_SYS_PTRACE. */
static bool drop_ptrace(void)
{
    enum { VERSION_3 = 0x20080522, SYS_PTRACE = 19 };
    struct cap_head head = {VERSION_3, 0};
    struct cap_set set[2];
    if (prctl(PR_CAPBSET_DROP, SYS_PTRACE) < 0 || syscall(SYS_capget, &head, set) < 0)
        return false;
    set[0].effective &= ~(1u << SYS_PTRACE);
    set[0].permitted &= ~(1u << SYS_PTRACE);
    set[0].inheritable &= ~(1u << SYS_PTRACE);
    return syscall(SYS_capset, &head, set) == 0;
}

/* What a reaper is: of the user, and the parent of the user's shells. */
static pid_t start_reaper(job_fn fn, int to)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setgid(SOMEBODY) < 0 || setuid(SOMEBODY) < 0)
            _exit(1);
        struct rig r = start_rig(fn, false);
        struct look l;
        for (;;) {
            l = look_of(r.shell);
            struct {
                pid_t shell;
                struct look look;
            } said = {r.shell, l};
            if (write(to, &said, sizeof(said)) != sizeof(said))
                _exit(0);
            t_pause_ms(2);
        }
    }
    return pid;
}

static void look_as_two(job_fn fn, enum look_state want)
{
    struct {
        pid_t shell;
        struct look look;
    } said;
    int p[2];
    CHECK(pipe(p) == 0);
    pid_t reaper = start_reaper(fn, p[1]);
    close(p[1]);
    int right = 0;
    do {
        CHECK(read(p[0], &said, sizeof(said)) == sizeof(said));
        right = said.look.state == want ? right + 1 : 0;
        /* Root, a stranger to them, never says anything that it cannot know. */
        CHECK_INT(look_of(said.shell).state, LOOK_UNKNOWN);
    } while (right < LOOKS);
    CHECK(strstr(look_of(said.shell).how, "not allowed") != NULL);
    kill(reaper, SIGKILL);
    close(p[0]);
}

TEST(root_without_ptrace_over_another_user)
{
    T_NEEDS(calls);
    if (geteuid() != 0)
        T_SKIP("only root can become somebody else");
    CHECK(drop_ptrace());
    look_as_two(job_read, LOOK_YES);
    look_as_two(job_epoll, LOOK_YES);
    look_as_two(job_sleep, LOOK_NO);
    look_as_two(job_script_sleep, LOOK_NO);
}

static void job_of_another(void)
{
    if (fork() == 0) {
        if (setuid(SOMEBODY) < 0)
            _exit(1);
        prctl(PR_SET_DUMPABLE, 1);
        job_sleep();
    }
    wait(NULL);
}

static void job_of_another_and_read(void)
{
    if (fork() == 0)
        job_of_another();
    job_read();
}

TEST(one_of_a_job_is_denied)
{
    T_NEEDS(calls);
    if (geteuid() != 0)
        T_SKIP("only root can become somebody else");
    CHECK(drop_ptrace());
    expect_job(job_of_another, LOOK_UNKNOWN, "not allowed");
    /* A proof is one all the same. */
    expect_job(job_of_another_and_read, LOOK_YES, "read of the terminal");
}

/* --- real shells and programs --------------------------------------------- */

static struct rig real_bash(void)
{
    char slave[64];
    struct rig r = {.master = open_master(slave, sizeof(slave))};
    fcntl(r.master, F_SETFL, O_NONBLOCK);
    const char *dir = t_dir();
    r.shell = t_fork();
    if (r.shell == 0) {
        become_leader(slave);
        if (chdir(dir) < 0)
            _exit(1);
        setenv("TERM", "xterm", 1);
        setenv("HOME", dir, 1);
        unsetenv("TMOUT");
        execlp("bash", "bash", "--norc", "-i", (char *)NULL);
        _exit(127);
    }
    note_shell(r.shell);
    return r;
}

static bool have(const char *program)
{
    char path[512];
    const char *dirs[] = {"/bin", "/usr/bin", "/usr/local/bin"};
    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dirs[i], program);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* The end of what the terminal showed, for a failure's sake. */
static char shown[2048];

/* Takes what the terminal shows, so that nobody waits for us to do so. */
static void drain(struct rig r)
{
    char text[sizeof(shown) / 2];
    ssize_t n;
    while ((n = read(r.master, text, sizeof(text) - 1)) > 0) {
        text[n] = '\0';
        size_t have = strlen(shown), keep = have < sizeof(text) ? have : sizeof(text);
        memmove(shown, shown + have - keep, keep);
        snprintf(shown + keep, sizeof(shown) - keep, "%s", text);
    }
}

static void type(struct rig r, const char *text)
{
    CHECK(write(r.master, text, strlen(text)) == (ssize_t)strlen(text));
}

/* Waits for the prompt to be back. */
static void at_prompt(struct rig r)
{
    struct look l;
    T_WAIT((drain(r), l = look_of(r.shell)).shell_reads);
    CHECK_INT(l.state, LOOK_YES);
}

/* Whether a process of that name is below the shell. */
static bool runs(struct rig r, const char *comm)
{
    struct procfs_list procs = {0};
    bool there = false;
    drain(r);
    procfs_below(&procs, r.shell, 1000);
    for (size_t i = 1; i < procs.n; i++)
        there |= strncmp(procs.v[i].comm, comm, strlen(comm)) == 0;
    procfs_release(&procs);
    return there;
}

/* Types a command whose program is comm and takes its looks while it runs. */
static void try_program(const char *program, const char *command, const char *comm,
                        enum look_state want)
{
    if (!have(program))
        return;
    struct rig r = real_bash();
    at_prompt(r);
    type(r, command);
    type(r, "\n");
    bool there = false;
    for (int64_t end = t_now_ms() + T_WAIT_MS; !there && t_now_ms() < end; t_pause_ms(1))
        there = runs(r, comm);
    if (!there)
        T_FAIL("%s: no process %s on %s", command, comm, shown);
    /*
     * On the way there it may well look otherwise (sudo has the terminal before
     * its program has one), but what does not wait never looks as if it did.
     */
    struct look l = {.state = LOOK_UNKNOWN};
    int right = 0;
    for (int64_t end = t_now_ms() + T_WAIT_MS; right < LOOKS && t_now_ms() < end;) {
        drain(r);
        l = look_of(r.shell);
        if (want == LOOK_NO && l.state == LOOK_YES && !l.shell_foreground)
            break;
        right = l.state == want && !l.shell_foreground ? right + 1 : 0;
        t_pause_ms(2);
    }
    if (right < LOOKS)
        T_FAIL("%s: %s, not %s: %s, on %s", command, name_of(l.state), name_of(want),
               l.how, shown);
    end_rig(r);
}

TEST(bash_at_its_prompt_and_in_read)
{
    T_NEEDS(calls);
    if (!have("bash"))
        T_SKIP("no bash");
    struct rig r = real_bash();
    at_prompt(r);
    type(r, "read x; sleep 1000\n");
    struct look l;
    T_WAIT((drain(r), l = look_of(r.shell)).state == LOOK_YES &&
           strcmp(l.how, "read of the terminal") == 0);
    CHECK(l.shell_reads);
    type(r, "a\n");
    T_WAIT((drain(r), l = look_of(r.shell)).state == LOOK_NO && !l.shell_foreground);
    CHECK(!l.shell_reads);
    T_WAIT(runs(r, "sleep")); /* before its exec it might not mind the key */
    type(r, "\3");
    at_prompt(r);
    /* A reader in a substitution has the shell's own group. */
    type(r, "x=$(head -n1)\n");
    T_WAIT((drain(r), l = look_of(r.shell)).state == LOOK_YES && l.pid != r.shell);
    CHECK(l.shell_foreground);
    CHECK(!l.shell_reads);
}

TEST(programs_that_wait)
{
    T_NEEDS(calls);
    if (!have("bash"))
        T_SKIP("no bash");
    try_program("cat", "cat", "cat", LOOK_YES);
    try_program("cat", "cat | sort", "cat", LOOK_YES);
    try_program("dash", "dash", "dash", LOOK_YES);
    try_program("busybox", "busybox sh", "busybox", LOOK_YES);
    try_program("less", "seq 1000 | less", "less", LOOK_YES);
    try_program("perl", "perl -e '<STDIN>'", "perl", LOOK_YES);
    try_program("bc", "bc", "bc", LOOK_YES);
    try_program("sqlite3", "sqlite3", "sqlite3", LOOK_YES);
    try_program("python3", "python3 -c 'input()'", "python", LOOK_YES);
    try_program("script", "script -q -c cat /dev/null", "script", LOOK_YES);
    try_program("ssh-keygen", "ssh-keygen -f key", "ssh-keygen", LOOK_YES);
    try_program("node", "node -e 'process.stdin.resume()'", "node", LOOK_YES);
}

TEST(programs_that_do_not)
{
    T_NEEDS(calls);
    if (!have("bash"))
        T_SKIP("no bash");
    try_program("sleep", "sleep 1000", "sleep", LOOK_NO);
    try_program("tail", "tail -f /dev/null", "tail", LOOK_NO);
    try_program("tail", "tail -f /dev/null | cat", "cat", LOOK_NO);
    try_program("make", "printf 'a:\\n\\t@sleep 1000\\n' >Makefile; make -j2", "make",
                LOOK_NO);
    try_program("python3", "python3 -m http.server --bind 127.0.0.1 0", "python",
                LOOK_NO);
    try_program("script", "script -q -c 'sleep 1000' /dev/null", "script", LOOK_NO);
    try_program("sudo", geteuid() ? "sleep 1000" : "sudo sleep 1000",
                geteuid() ? "sleep" : "sudo", LOOK_NO);
    try_program("mkfifo", "mkfifo f; cat <>f", "cat", LOOK_NO);
    try_program("gzip", "sleep 1000 | gzip >/dev/null", "gzip", LOOK_NO);
    try_program("dd", "dd if=/dev/zero of=/dev/null bs=64k", "dd", LOOK_NO);
    try_program("node", "node -e 'setInterval(() => {}, 700)'", "node", LOOK_NO);
    try_program("node", "node -e 'require(\"http\").createServer().listen(0)'", "node",
                LOOK_NO);
}

T_MAIN
