/* SPDX-License-Identifier: MIT */
/*
 * The parsers of /proc on text that programs can bring about, and the readers
 * on processes, descriptors and memory of our own.
 */
#include "os/procfs.h"

#include "t.h"
#include "t_kernel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>

#define STAT_REST \
    " S 7 8 9 34819 11 4194304 1 0 0 0 5 6 0 0 20 0 3 0 98765 1000 200 184467440737"

TEST(stat_fields)
{
    struct procfs_stat s;
    CHECK(procfs_parse_stat(STR("1234 (bash)" STAT_REST "\n"), &s));
    CHECK_INT(s.pid, 1234);
    CHECK_STR(s.comm, "bash");
    CHECK_INT(s.state, 'S');
    CHECK_INT(s.ppid, 7);
    CHECK_INT(s.pgrp, 8);
    CHECK_INT(s.session, 9);
    CHECK(s.tty == makedev(136, 3));
    CHECK_INT(s.tpgid, 11);
    CHECK_INT(s.threads, 3);
    CHECK_INT(s.start, 98765);
}

TEST(stat_names_that_look_like_fields)
{
    static const char *const names[] = {
        "a b", ")", "(", ") R 1 1 1", "((", "x) Z (y", "", " ", "a\nb",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[256];
        struct procfs_stat s;
        snprintf(text, sizeof(text), "42 (%s)%s\n", names[i], STAT_REST);
        CHECK(procfs_parse_stat(str_of(text), &s));
        CHECK_STR(s.comm, names[i]);
        CHECK_INT(s.state, 'S');
        CHECK_INT(s.ppid, 7);
    }
}

TEST(stat_long_names_are_cut)
{
    struct procfs_stat s;
    CHECK(procfs_parse_stat(STR("2 (kworker/u8:3-events_unbound)" STAT_REST), &s));
    CHECK_STR(s.comm, "kworker/u8:3-ev");
}

TEST(stat_terminals_with_large_numbers)
{
    /* The kernel puts the high bits of the minor number above the major. */
    struct procfs_stat s;
    CHECK(procfs_parse_stat(
        STR("2 (x) S 7 8 9 1083428 11 0 1 0 0 0 5 6 0 0 20 0 3 0 9 1"), &s));
    CHECK(s.tty == makedev(136, 0x124));
    CHECK(procfs_parse_stat(STR("2 (x) S 7 8 9 0 -1 0 1 0 0 0 5 6 0 0 20 0 3 0 9 1"),
                            &s));
    CHECK(s.tty == 0);
    CHECK_INT(s.tpgid, -1);
}

TEST(stat_cut_anywhere_is_refused_or_whole)
{
    static const char whole[] = "1234 (b(a)s h)" STAT_REST;
    struct procfs_stat s;
    size_t accepted = 0;
    for (size_t n = 0; n < sizeof(whole); n++)
        accepted += procfs_parse_stat(str_n(whole, n), &s);
    /* Only a text that goes on beyond field 22, or ends within it. */
    CHECK(accepted > 0);
    CHECK(accepted < 40);
    CHECK(!procfs_parse_stat(STR(""), &s));
    CHECK(!procfs_parse_stat(STR("no parentheses at all"), &s));
    CHECK(!procfs_parse_stat(STR("x (bash)" STAT_REST), &s));
}

TEST(stat_without_a_number)
{
    /* All processes without a parent would be below it. */
    struct procfs_stat s;
    CHECK(!procfs_parse_stat(STR("0 (sleep)" STAT_REST), &s));
    CHECK(!procfs_parse_stat(STR("-1 (sleep)" STAT_REST), &s));
}

TEST(call_texts)
{
    struct procfs_call c;
    CHECK(procfs_parse_call(STR("running\n"), &c));
    CHECK_INT(c.where, PROCFS_RUNNING);
    CHECK(procfs_parse_call(STR("-1 0x7ffc 0x7f\n"), &c));
    CHECK_INT(c.where, PROCFS_NO_CALL);
    CHECK(procfs_parse_call(
        STR("0 0x3 0x7f63aa28c000 0x20000 0xffffffffffffffff 0x0 0xabcdef "
            "0x7ffce5e71058 0x7f63aa4062ad\n"), &c));
    CHECK_INT(c.where, PROCFS_CALL);
    CHECK_INT(c.number, 0);
    CHECK_INT(c.arg[0], 3);
    CHECK(c.arg[3] == UINT64_MAX);
    CHECK_INT(c.arg[5], 0xabcdef);
    CHECK(c.sp == 0x7ffce5e71058);
    CHECK(!procfs_parse_call(STR(""), &c));
    CHECK(!procfs_parse_call(STR("0 0x3 0x4"), &c));
    CHECK(!procfs_parse_call(STR("0 3 4 5 6 7 8 9 10"), &c));
    CHECK(!procfs_parse_call(STR("0 0xg 0x0 0x0 0x0 0x0 0x0 0x0 0x0"), &c));
}

TEST(epoll_lines)
{
    struct str text = STR("pos:\t0\nflags:\t02000002\nmnt_id:\t17\n"
                          "tfd:        4 events:       19 data:      4  pos:0 ino:3\n"
                          "tfd:       12 events: 8000201d data: ffffffffffffffff\n"
                          "tfd:        x events:       19\n");
    int fd = 0;
    uint32_t events = 0;
    CHECK(procfs_next_watch(&text, &fd, &events));
    CHECK_INT(fd, 4);
    CHECK_INT(events, 0x19);
    CHECK(procfs_next_watch(&text, &fd, &events));
    CHECK_INT(fd, 12);
    CHECK_INT(events, 0x8000201d);
    CHECK(!procfs_next_watch(&text, &fd, &events));
}

TEST(fields)
{
    int64_t v = 0;
    struct str text = STR("pos:\t0\ntty-index-x:\t9\ntty-index:\t17\n");
    CHECK(procfs_field(text, STR("tty-index"), &v));
    CHECK_INT(v, 17);
    CHECK(!procfs_field(text, STR("tty"), &v));
    CHECK(!procfs_field(STR("tty-index:\tmany\n"), STR("tty-index"), &v));
}

/* A child that runs fn, and lives as long as we do. */
static pid_t child_of(void (*fn)(void))
{
    pid_t pid = t_fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fn)
            fn();
        for (;;)
            pause();
    }
    return pid;
}

TEST(own_stat)
{
    struct procfs_stat s;
    T_NEEDS(names);
    CHECK(prctl(PR_SET_NAME, "a) R (b") == 0);
    CHECK_INT(procfs_stat(getpid(), &s), 0);
    CHECK_STR(s.comm, "a) R (b");
    CHECK_INT(s.ppid, getppid());
    CHECK_INT(s.pgrp, getpgrp());
    CHECK_INT(s.session, getsid(0));
    CHECK_INT(s.threads, 1);
}

TEST(nobody)
{
    struct procfs_stat s;
    struct procfs_list l = {0};
    pid_t pid = t_fork();
    if (pid == 0)
        _exit(0);
    t_reap(pid);
    CHECK_INT(procfs_stat(pid, &s), -1);
    CHECK_INT(errno, ENOENT);
    CHECK_INT(procfs_below(&l, pid, 100), 0);
    CHECK_INT(l.n, 0);
    procfs_release(&l);
}

static void grow(void)
{
    child_of(NULL);
    child_of(NULL);
}

static void grow_twice(void)
{
    child_of(grow);
}

static bool has(const struct procfs_list *l, pid_t pid)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].pid == pid)
            return true;
    return false;
}

static size_t count_below(struct procfs_list *l, pid_t root)
{
    CHECK_INT(procfs_below(l, root, 100), 0);
    return l->n;
}

TEST(below_is_the_tree_parents_first)
{
    struct procfs_list l = {0};
    pid_t other = child_of(NULL), root = child_of(grow_twice);
    T_WAIT(count_below(&l, root) == 4);
    CHECK_INT(l.v[0].pid, root);
    for (size_t i = 1; i < l.n; i++) {
        bool above = false;
        for (size_t k = 0; k < i; k++)
            above |= l.v[k].pid == l.v[i].ppid;
        CHECK(above);
    }
    CHECK(!has(&l, other));
    CHECK(!has(&l, getpid()));

    CHECK_INT(procfs_below(&l, root, 3), -1);
    CHECK_INT(errno, E2BIG);
    CHECK_INT(l.n, 3);
    procfs_release(&l);
}

TEST(all_has_us_and_ours)
{
    struct procfs_list l = {0};
    pid_t child = child_of(NULL);
    CHECK_INT(procfs_all(&l, 100000), 0);
    CHECK(has(&l, getpid()));
    CHECK(has(&l, child));
    CHECK_INT(procfs_all(&l, 1), -1);
    CHECK_INT(errno, E2BIG);
    procfs_release(&l);
}

TEST(more_children_than_one_read_shows)
{
    enum { MANY = 700 };
    static pid_t pids[MANY];
    struct procfs_list l = {0};
    for (int i = 0; i < MANY; i++)
        pids[i] = child_of(NULL);
    CHECK_INT(procfs_below(&l, getpid(), 10000), 0);
    CHECK_INT(l.n, MANY + 1);
    for (int i = 0; i < MANY; i += 100)
        CHECK(has(&l, pids[i]));
    procfs_release(&l);
}

TEST(where_a_call_is)
{
    struct procfs_call c;
    T_NEEDS(calls);
    pid_t child = child_of(NULL);
    struct procfs_stat s;
    T_WAIT(procfs_stat(child, &s) == 0 && s.state == 'S');
    CHECK_INT(procfs_call(child, child, &c), 0);
    CHECK_INT(c.where, PROCFS_CALL);
#ifdef SYS_pause
    CHECK_INT(c.number, SYS_pause);
#else
    CHECK_INT(c.number, SYS_ppoll);
#endif
    CHECK(c.sp > 4096);
}

static void check_kinds(void)
{
    struct procfs_fd f, g;
    pid_t me = getpid();
    int p[2], s[2], null = open("/dev/null", O_RDWR), ep = epoll_create1(0),
        ev = eventfd(0, 0), tm = timerfd_create(CLOCK_MONOTONIC, 0),
        file = open("/proc/self/stat", O_RDONLY);
    CHECK(pipe(p) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    CHECK_INT(procfs_fd(me, me, null, &f), 0);
    CHECK_INT(f.kind, PROCFS_DEVICE);
    CHECK(f.rdev == makedev(1, 3));
    CHECK_INT(procfs_fd(me, me, p[0], &f), 0);
    CHECK_INT(procfs_fd(me, me, p[1], &g), 0);
    CHECK_INT(f.kind, PROCFS_PIPE);
    CHECK(f.inode == g.inode);
    CHECK_INT(procfs_fd(me, me, s[0], &f), 0);
    CHECK_INT(procfs_fd(me, me, s[1], &g), 0);
    CHECK_INT(f.kind, PROCFS_SOCKET);
    CHECK(f.inode != g.inode);
    CHECK_INT(procfs_fd(me, me, ep, &f), 0);
    CHECK_INT(f.kind, PROCFS_EPOLL);
    CHECK_INT(procfs_fd(me, me, ev, &f), 0);
    CHECK_INT(f.kind, PROCFS_EVENT);
    CHECK_INT(procfs_fd(me, me, tm, &f), 0);
    CHECK_INT(f.kind, PROCFS_TIMER);
    CHECK_INT(procfs_fd(me, me, file, &f), 0);
    CHECK_INT(f.kind, PROCFS_OTHER);
    close(file);
    CHECK_INT(procfs_fd(me, me, file, &f), -1);
    CHECK_INT(errno, ENOENT);

    char kind[32];
    if (procfs_socket_kind(me, me, s[0], kind, sizeof(kind)) == 0)
        CHECK(strncmp(kind, "UNIX", 4) == 0);
}

TEST(kinds_of_descriptors) { check_kinds(); }

/* gVisor knows the call, and not its flags. */
TEST(kinds_of_descriptors_where_statx_is_invalid)
{
    if (!t_refuse(SYS_statx, EINVAL))
        T_SKIP("no seccomp filters here");
    check_kinds();
}

TEST(watches_of_an_epoll)
{
    pid_t me = getpid();
    int ep = epoll_create1(0), p[2];
    CHECK(pipe(p) == 0);
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e) == 0);
    char text[2048];
    long n = procfs_fdinfo(me, me, ep, text, sizeof(text));
    CHECK(n > 0 && n < (long)sizeof(text));
    struct str rest = str_of(text);
    int fd = -1;
    uint32_t events = 0;
    CHECK(procfs_next_watch(&rest, &fd, &events));
    CHECK_INT(fd, p[0]);
    CHECK(events & EPOLLIN);
    CHECK(events & EPOLLET);
    CHECK(!(events & EPOLLOUT));
    CHECK(!procfs_next_watch(&rest, &fd, &events));
    char small[16];
    CHECK_INT(procfs_fdinfo(me, me, ep, small, sizeof(small)), sizeof(small));
}

static void check_memory(void)
{
    static char text[] = "before";
    char got[sizeof(text)];
    pid_t child = child_of(NULL);
    memcpy(text, "after.", sizeof(text));
    CHECK_INT(procfs_memory(child, (uintptr_t)text, got, sizeof(got)), 0);
    CHECK_STR(got, "before");
    CHECK_INT(procfs_memory(child, 8, got, sizeof(got)), -1);
    kill(child, SIGKILL);
    t_reap(child);
    CHECK_INT(procfs_memory(child, (uintptr_t)text, got, sizeof(got)), -1);
    CHECK_INT(errno, ESRCH);
}

TEST(memory_of_another) { check_memory(); }

TEST(memory_of_another_without_the_call)
{
    if (!t_refuse(SYS_process_vm_readv, ENOSYS))
        T_SKIP("no seccomp filters here");
    check_memory();
}

/* A program with this environment; its pid, once it has been started. */
static pid_t run_with(char *const *envp)
{
    int report[2];
    CHECK(pipe2(report, O_CLOEXEC) == 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char *const argv[] = {(char *)"sleep", (char *)"1000", NULL};
        execvpe("sleep", argv, envp);
        _exit(127);
    }
    close(report[1]);
    char c;
    CHECK_INT(read(report[0], &c, 1), 0);
    close(report[0]);
    return pid;
}

TEST(environment)
{
    /* A long value is passed over in pieces, none of which is a variable. */
    static char big[3 * 8192];
    memset(big, 'x', sizeof(big) - 1);
    memcpy(big, "BIG=", 4);
    memcpy(big + 2 * 8192, "TAG=zzz", 8);
    char *const envp[] = {(char *)"PATH=/usr/bin:/bin", big, (char *)"NOTAG=a",
                          (char *)"TAG=abc", (char *)"EMPTY=", NULL};
    pid_t pid = run_with(envp);
    CHECK_INT(procfs_environ_has(pid, STR("TAG"), STR("abc")), 1);
    CHECK_INT(procfs_environ_has(pid, STR("NOTAG"), STR("a")), 1);
    CHECK_INT(procfs_environ_has(pid, STR("EMPTY"), STR("")), 1);
    CHECK_INT(procfs_environ_has(pid, STR("TAG"), STR("ab")), 0);
    CHECK_INT(procfs_environ_has(pid, STR("TAG"), STR("abcd")), 0);
    CHECK_INT(procfs_environ_has(pid, STR("TAG"), STR("a")), 0);
    CHECK_INT(procfs_environ_has(pid, STR("TAG"), STR("zzz")), 0);
    CHECK_INT(procfs_environ_has(pid, STR("AG"), STR("abc")), 0);
    CHECK_INT(procfs_environ_has(pid, STR("TAG"), str_n(NULL, 0)), 1);
    CHECK_INT(procfs_environ_has(pid, STR("EMPTY"), str_n(NULL, 0)), 1);
    CHECK_INT(procfs_environ_has(pid, STR("TA"), str_n(NULL, 0)), 0);
    kill(pid, SIGKILL);
    t_reap(pid);
    CHECK_INT(procfs_environ_has(pid, STR("TAG"), STR("abc")), -1);
}

static volatile sig_atomic_t caught;
static void on_caught(int sig) { caught = sig; }

static pid_t waiting(void (*handler)(int), int how)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        signal(SIGINT, handler);
        sigprocmask(how, &set, NULL);
        for (;;)
            pause();
    }
    return pid;
}

TEST(a_signal_that_should_have_ended_it_is_lost)
{
    T_NEEDS(handlers);
    pid_t plain = waiting(SIG_DFL, SIG_UNBLOCK), ignores = waiting(SIG_IGN, SIG_UNBLOCK),
          catches = waiting(on_caught, SIG_UNBLOCK), blocks = waiting(SIG_DFL, SIG_BLOCK);
    T_WAIT(procfs_ignores(ignores, SIGINT) == 1);
    T_WAIT(procfs_fate(plain, SIGINT) == FATE_LOST);
    T_WAIT(procfs_fate(catches, SIGINT) == FATE_TAKEN);
    T_WAIT(procfs_fate(blocks, SIGINT) == FATE_TAKEN);
    CHECK_INT(procfs_fate(ignores, SIGINT), FATE_TAKEN);
    /* Not at once: a fork of musl begins with every signal blocked. */
    T_WAIT(procfs_fate(catches, SIGTERM) == FATE_LOST);
    T_WAIT(procfs_fate(blocks, SIGTERM) == FATE_LOST && procfs_fate(blocks, SIGINT) == FATE_TAKEN);
    kill(blocks, SIGINT);
    CHECK_INT(procfs_fate(blocks, SIGINT), FATE_PENDING);
    kill(plain, SIGINT);
    T_WAIT(procfs_fate(plain, SIGINT) == FATE_TAKEN); /* also while nobody has waited for it */
    CHECK(procfs_same_file(catches, getpid()));
    CHECK(!procfs_same_file(1, -1));
    pid_t all[] = {plain, ignores, catches, blocks};
    for (int i = 0; i < 4; i++) {
        kill(all[i], SIGKILL);
        t_reap(all[i]);
        CHECK_INT(procfs_fate(all[i], SIGINT), FATE_TAKEN);
    }
}

T_MAIN
