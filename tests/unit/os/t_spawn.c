/* SPDX-License-Identifier: MIT */
/*
 * Starting programs: what they find when they begin, and what the starter
 * hears when they cannot. The child's view is printed by a shell.
 */
#include "os/spawn.h"

#include "t.h"
#include "t_kernel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

static char path_var[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static char *const plain_env[] = {path_var, NULL};

/* `sh -c script`, with its output and errors into a pipe; its text comes back. */
struct run {
    struct spawn s;
    const char *argv[8];
    char out[8192];
    int status;
    struct spawn_failure failure; /* step 0: it started */
};

static struct run run_of(const char *script)
{
    return (struct run){.s = {.path = "sh", .envp = plain_env, .fds = {-1, -1, -1}},
                        .argv = {"sh", "-c", script}};
}

/* The report as its reader gets it: end of file, or one struct. */
static struct spawn_failure read_report(int report)
{
    struct spawn_failure f = {0, 0};
    ssize_t n = read(report, &f, sizeof(f));
    CHECK(n == 0 || n == sizeof(f));
    if (n > 0) {
        char c;
        CHECK_INT(read(report, &c, 1), 0);
    }
    close(report);
    return f;
}

static void start_and_read(struct run *r)
{
    int p[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC), report = -1;
    pid_t pid = -1;
    if (null < 0 || pipe2(p, O_CLOEXEC) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    r->s.argv = (char *const *)(uintptr_t)r->argv;
    for (int i = 0; i < 3; i++)
        if (r->s.fds[i] < 0)
            r->s.fds[i] = i == 0 ? null : p[1];
    CHECK_INT(spawn_start(&r->s, &pid, &report), 0);
    CHECK(fcntl(report, F_GETFD) & FD_CLOEXEC);
    close(p[1]);
    close(null);
    r->failure = read_report(report);
    size_t n = 0;
    ssize_t got;
    while ((got = read(p[0], r->out + n, sizeof(r->out) - 1 - n)) > 0)
        n += (size_t)got;
    r->out[n] = 0;
    close(p[0]);
    r->status = t_reap(pid);
}

static void check_out(struct run *r, const char *want)
{
    start_and_read(r);
    CHECK_INT(r->failure.step, 0);
    CHECK_STR(r->out, want);
    CHECK(WIFEXITED(r->status));
}

TEST(arguments_environment_and_status_are_those_given)
{
    struct run r = run_of("echo \"$0|$1|$2|$FOO\"; exit 7");
    char foo[] = "FOO=a b=c", *env[] = {path_var, foo, NULL};
    r.argv[3] = "zero";
    r.argv[4] = "";
    r.argv[5] = "two words";
    r.s.envp = env;
    check_out(&r, "zero||two words|a b=c\n");
    CHECK_INT(WEXITSTATUS(r.status), 7);
}

TEST(the_three_descriptors_are_the_ones_named)
{
    int in[2], err[2];
    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    CHECK_INT(pipe2(err, O_CLOEXEC), 0);
    CHECK_INT(write(in[1], "input\n", 6), 6);
    close(in[1]);
    struct run r = run_of("read x; echo \"out $x\"; echo \"err $x\" >&2");
    r.s.fds[0] = in[0];
    r.s.fds[2] = err[1];
    check_out(&r, "out input\n");
    close(err[1]);
    char text[50] = "";
    CHECK_INT(read(err[0], text, sizeof(text) - 1), 10);
    CHECK_STR(text, "err input\n");
}

/* Each order of 0, 1 and 2 as the source of the child's, so that none is lost. */
TEST(descriptors_that_change_places)
{
    static const int orders[][3] = {
        {1, 0, 2}, {2, 0, 1}, {1, 2, 0}, {0, 2, 1}, {2, 1, 0}};
    for (int o = 0; o < 5; o++) {
        int ends[3][2];
        pid_t pid = t_fork();
        if (pid == 0) {
            char text[3][10] = {"", "", ""};
            for (int i = 0; i < 3; i++)
                if (pipe2(ends[i], O_CLOEXEC) < 0)
                    _exit(9);
            struct run r = run_of("echo 0 >&0; echo 1 >&1; echo 2 >&2");
            r.s.argv = (char *const *)(uintptr_t)r.argv;
            int report, child;
            for (int i = 0; i < 3; i++) /* below 3, where the child's will be */
                dup2(ends[i][1], i);
            for (int i = 0; i < 3; i++)
                r.s.fds[i] = orders[o][i];
            if (spawn_start(&r.s, &child, &report) < 0 || read_report(report).step)
                _exit(8);
            waitpid(child, NULL, 0);
            for (int i = 0; i < 3; i++) {
                int source = orders[o][i];
                if (read(ends[source][0], text[i], 9) != 2 || text[i][0] != '0' + i)
                    _exit(10 + i);
            }
            _exit(0);
        }
        CHECK_INT(t_reap(pid), 0);
    }
}

TEST(closed_standard_descriptors_of_the_starter_do_no_harm)
{
    int p[2];
    CHECK_INT(pipe2(p, O_CLOEXEC), 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        int w = fcntl(p[1], F_DUPFD_CLOEXEC, 10), child, report;
        struct run r = run_of("echo fine; exit 3");
        r.s.argv = (char *const *)(uintptr_t)r.argv;
        r.s.fds[0] = r.s.fds[1] = r.s.fds[2] = w;
        close(0);
        close(1);
        close(2);
        if (spawn_start(&r.s, &child, &report) < 0)
            _exit(8);
        struct spawn_failure f;
        if (read(report, &f, sizeof(f)) != 0)
            _exit(9);
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    int status = t_reap(pid);
    CHECK_INT(WEXITSTATUS(status), 3);
    char text[20] = "";
    CHECK_INT(read(p[0], text, sizeof(text) - 1), 5);
    CHECK_STR(text, "fine\n");
}

TEST(nothing_else_is_inherited)
{
    /* Not close-on-exec, low and high. */
    int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 200);
    CHECK(low >= 0 && high >= 200);
    struct run r = run_of(
        "for f in /proc/self/fd/*; do f=${f##*/}; "
        "[ \"$f\" -gt 2 ] && [ -e /proc/$$/fd/$f ] && echo \"$f\"; done; "
        "echo done");
    if (access("/proc/self/fd", X_OK) < 0)
        T_SKIP("no /proc here");
    check_out(&r, "done\n");
    CHECK(fcntl(low, F_GETFD) >= 0 && fcntl(high, F_GETFD) >= 0);
}

/* The masks of the child, as the kernel tells them. */
static unsigned long long mask_of(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    if (!at)
        T_FAIL("no %s in the child's status", name);
    return strtoull(at + strlen(name), NULL, 16);
}

TEST(signals_are_as_in_a_fresh_process)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int s = 1; s < 32; s++)
        signal(s, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    signal(40, SIG_IGN);
    struct run r = run_of(NULL);
    r.s.path = "cat";
    r.argv[0] = "cat";
    r.argv[1] = "/proc/self/status";
    r.argv[2] = NULL;
    start_and_read(&r);
    if (!strstr(r.out, "SigBlk:"))
        T_SKIP("no /proc here");
    CHECK(mask_of(r.out, "SigBlk:") == 0);
    /* 32 and 33 belong to libc, which may refuse to let go of them. */
    CHECK((mask_of(r.out, "SigIgn:") & ~(3ULL << 31)) == 0);
    CHECK((mask_of(r.out, "SigCgt:") & ~(3ULL << 31)) == 0);
}

TEST(the_child_leads_a_session_of_its_own)
{
    struct run r = run_of(NULL);
    r.s.path = "cat";
    r.argv[0] = "cat";
    r.argv[1] = "/proc/self/stat";
    r.argv[2] = NULL;
    start_and_read(&r);
    int pid, ppid, group, session;
    if (sscanf(r.out, "%d (cat) %*c %d %d %d", &pid, &ppid, &group, &session) != 4)
        T_SKIP("no /proc here");
    CHECK_INT(ppid, getpid());
    CHECK_INT(group, pid);
    CHECK_INT(session, pid);
}

/* ---- directory ---- */

TEST(it_begins_in_the_directory_named)
{
    char real[400], want[401];
    CHECK(realpath(t_dir(), real) != NULL);
    snprintf(want, sizeof(want), "%s\n", real);
    struct run r = run_of("pwd -P");
    r.s.cwd = t_dir();
    check_out(&r, want);

    CHECK_INT(chdir(real), 0); /* NULL: stay */
    struct run stay = run_of("pwd -P");
    check_out(&stay, want);
}

TEST(a_relative_program_is_one_of_the_new_directory)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/here", t_dir());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    CHECK_INT(write(fd, "#!/bin/sh\necho here\n", 20), 20);
    close(fd);
    struct run r = run_of(NULL);
    r.s.path = "./here";
    r.s.cwd = t_dir();
    r.argv[0] = "./here";
    r.argv[1] = NULL;
    check_out(&r, "here\n");
}

static void check_failure(struct run *r, enum spawn_step step, int errnum)
{
    start_and_read(r);
    CHECK_INT(r->failure.step, step);
    CHECK_INT(r->failure.errnum, errnum);
    CHECK_STR(r->out, "");
}

TEST(a_directory_that_cannot_be_entered)
{
    struct run gone = run_of("echo ran"), file = run_of("echo ran");
    gone.s.cwd = "/no/such/folder";
    check_failure(&gone, SPAWN_CWD, ENOENT);
    file.s.cwd = "/dev/null";
    check_failure(&file, SPAWN_CWD, ENOTDIR);
}

/* ---- programs ---- */

static void check_program(const char *program, int errnum)
{
    struct run r = run_of("echo ran");
    r.s.path = program;
    check_failure(&r, SPAWN_EXEC, errnum);
}

static const char *new_file(const char *name, const char *text, mode_t mode)
{
    static char path[400];
    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK_INT(write(fd, text, strlen(text)), strlen(text));
    fchmod(fd, mode);
    close(fd);
    return path;
}

TEST(programs_that_cannot_be_run)
{
    check_program("no-such-program-anywhere", ENOENT);
    check_program("/no/such/program", ENOENT);
    check_program("/dev/null/x", ENOTDIR);
    check_program("/", EACCES);
    check_program(new_file("text", "no program", 0700), ENOEXEC);
    check_program(new_file("private", "#!/bin/sh\n", 0600), EACCES);
    check_program(new_file("script", "#!/no/such/interpreter\n", 0700), ENOENT);
}

TEST(path_is_that_of_the_childs_environment)
{
    char here[300], both[1000], *env[] = {here, NULL};
    snprintf(here, sizeof(here), "PATH=/nowhere:%s", t_dir());
    new_file("only-here", "#!/bin/sh\necho found\n", 0700);
    struct run r = run_of(NULL);
    r.s.path = "only-here";
    r.argv[0] = "only-here";
    r.argv[1] = NULL;
    r.s.envp = env;
    check_out(&r, "found\n");
    check_program("only-here", ENOENT);

    /* An empty entry is the directory that it begins in. */
    static const char *const empty[] = {"PATH=", "PATH=/nowhere:", "PATH=:/nowhere"};
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        snprintf(here, sizeof(here), "%s", empty[i]);
        r = run_of(NULL);
        r.s.path = "only-here";
        r.argv[0] = "only-here";
        r.argv[1] = NULL;
        r.s.cwd = t_dir();
        r.s.envp = env;
        check_out(&r, "found\n");
    }

    /* One that may not be run is passed over, and named when it was the only one. */
    char other[400];
    snprintf(other, sizeof(other), "%s/other", t_dir());
    CHECK_INT(mkdir(other, 0700), 0);
    new_file("other/only-here", "#!/bin/sh\n", 0600);
    snprintf(both, sizeof(both), "PATH=%s:%s", other, t_dir());
    char *both_env[] = {both, NULL};
    r = run_of(NULL);
    r.s.path = "only-here";
    r.argv[0] = "only-here";
    r.argv[1] = NULL;
    r.s.envp = both_env;
    check_out(&r, "found\n");
    snprintf(both, sizeof(both), "PATH=%s", other);
    r = run_of(NULL);
    r.s.path = "only-here";
    r.s.envp = both_env;
    check_failure(&r, SPAWN_EXEC, EACCES);
}

TEST(without_path_the_usual_places_are_searched)
{
    char *env[] = {NULL};
    struct run r = run_of("echo usual");
    r.s.envp = env;
    check_out(&r, "usual\n");
}

TEST(the_starter_is_told_before_the_program_ends)
{
    struct run r = run_of("read x");
    int p[2], report, child;
    CHECK_INT(pipe2(p, O_CLOEXEC), 0);
    r.s.argv = (char *const *)(uintptr_t)r.argv;
    r.s.fds[0] = p[0];
    r.s.fds[1] = r.s.fds[2] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK_INT(spawn_start(&r.s, &child, &report), 0);
    CHECK_INT(read_report(report).step, 0);
    CHECK_INT(waitpid(child, NULL, WNOHANG), 0);
    close(p[0]);
    close(p[1]);
    t_reap(child);
}

/* ---- terminals ---- */

TEST(the_terminal_is_the_controlling_one)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        T_SKIP("no terminals here");
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC), report, child;
    CHECK(slave >= 0);
    struct run r = run_of(
        "echo to the tty >/dev/tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && "
        "exit 5");
    r.s.argv = (char *const *)(uintptr_t)r.argv;
    r.s.fds[0] = r.s.fds[1] = r.s.fds[2] = slave;
    r.s.tty = true;
    CHECK_INT(spawn_start(&r.s, &child, &report), 0);
    CHECK_INT(read_report(report).step, 0);
    char text[100] = "";
    CHECK(read(master, text, sizeof(text) - 1) > 0);
    CHECK_STR(text, "to the tty\r\n");
    int status = t_reap(child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 5);
}

TEST(what_is_no_terminal_cannot_be_the_controlling_one)
{
    struct run r = run_of("echo ran");
    r.s.tty = true;
    check_failure(&r, SPAWN_TTY, ENOTTY);
}

TEST(a_subreaper_stays_one_in_the_program)
{
    T_NEEDS(subreaper);
    /* The orphan's parent, as it sees it itself, is the shell. */
    static const char script[] =
        "(sh -c 'while read -r _ _ _ p _ </proc/self/stat && [ \"$p\" != '$$' ]; do "
        "sleep 0.01; done; echo adopted' & exit) ; wait; sleep 15 | cat";
    struct run r = run_of(script);
    if (access("/proc/self/stat", R_OK) < 0)
        T_SKIP("no /proc here");
    r.s.subreaper = true;
    int p[2], report, child;
    CHECK_INT(pipe2(p, O_CLOEXEC), 0);
    r.s.argv = (char *const *)(uintptr_t)r.argv;
    r.s.fds[0] = r.s.fds[1] = r.s.fds[2] = p[1];
    CHECK_INT(spawn_start(&r.s, &child, &report), 0);
    CHECK_INT(read_report(report).step, 0);
    char text[20] = "";
    CHECK(read(p[0], text, sizeof(text) - 1) > 0);
    CHECK_STR(text, "adopted\n");
    kill(-child, SIGKILL);
    t_reap(child);
}

/* ---- copies ---- */

TEST(a_copy_has_what_it_was_given_and_nothing_else)
{
    int p[2], q[2];
    CHECK(pipe2(p, O_CLOEXEC) == 0 && pipe2(q, O_CLOEXEC) == 0);
    signal(SIGPIPE, SIG_IGN);
    pid_t pid = spawn_copy((int[]){q[1], p[0]}, 2);
    CHECK(pid >= 0);
    if (pid == 0) {
        char c = 0;
        int bad = getpgrp() != getpid() || signal(SIGPIPE, SIG_DFL) != SIG_DFL;
        for (int i = 5; i < 256; i++)
            bad += fcntl(i, F_GETFD) >= 0;
        bad += read(0, &c, 1) != 0 || write(1, "x", 1) != 1;
        bad += read(4, &c, 1) != 1 || write(3, &c, 1) != 1;
        _exit(bad);
    }
    char c = 0;
    CHECK_INT(write(p[1], "y", 1), 1);
    CHECK_INT(read(q[0], &c, 1), 1);
    CHECK_INT(c, 'y');
    CHECK_INT(t_reap(pid), 0);
}

/* ---- the child's helpers ---- */

TEST(closing_from_a_number_on)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        int fd = open("/dev/null", O_RDONLY);
        fcntl(fd, F_DUPFD, 100);
        if (fd != dup2(fd, 20))
            dup2(fd, 21);
        spawn_close_from(21);
        int bad = 0;
        for (int i = 21; i < 256; i++)
            bad += fcntl(i, F_GETFD) >= 0;
        _exit(bad || fcntl(20, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0);
    }
    CHECK_INT(t_reap(pid), 0);
}

T_MAIN
