/* SPDX-License-Identifier: MIT */
/*
 * A small harness for tests in C. A test program includes this once, has any
 * number of
 *
 *     TEST(name) { CHECK(cond); CHECK_STR(a, b); CHECK_INT(a, b); }
 *
 * and ends in T_MAIN. It prints TAP and exits 1 if anything failed; arguments
 * choose cases by name. Each case runs in a process and a process group of its
 * own, so that a crash is one failure and what it left behind is killed; after
 * T_LIMIT_S seconds it is. All limits are multiplied by OD_TEST_SLOW, which tests/run.sh
 * measures (2 without it). The umask is 022, as in a server. The first failed check ends
 * the case. A case that passes leaves through exit(), so that a leak checker has its say.
 *
 *     T_SKIP("why")        not on this machine: the case counts as skipped
 *     T_WAIT(cond)         polls until cond, for 30 s times OD_TEST_SLOW; else fails
 *     T_DIES(sig, stmt)    stmt, in a process of its own, ends by the signal
 *     t_dir()              a private directory, removed after the case
 *     t_sh(fmt, …)         a shell command in that directory, which must succeed
 *     t_stderr(fn, out, n) what fn(), in a process of its own, wrote to fd 2
 *     t_refuse(call, errnum)  from here on that system call (SYS_…) fails so; false: not
 *                          possible here
 *     t_own_mounts()       mounts of this case's own, which it may change, also as an ordinary
 *                          user; false where that is not allowed
 *     t_small_disk(kib)    the path of a file system of that size, which only this case
 *                          has; skips the case where mounting is not allowed
 */
#ifndef OD_TESTS_T_H
#define OD_TESTS_T_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef T_LIMIT_S
#define T_LIMIT_S 60
#endif
#ifndef T_WAIT_MS
#define T_WAIT_MS (t_slow() * 30000) /* of T_WAIT */
#endif
#define T_EXIT_FAIL 76 /* a check; anything else that is not 0 says more */
#define T_EXIT_SKIP 77
#define T_UNUSED    __attribute__((unused))

/* How much slower than usual this machine may be. */
static T_UNUSED int t_slow(void)
{
    const char *slow = getenv("OD_TEST_SLOW");
    int times = slow ? atoi(slow) : 0;
    return times > 0 ? times : 2;
}

struct t_case {
    const char *name;
    void (*run)(void);
    struct t_case *next;
};

static struct t_case *t_first, **t_last = &t_first;
static char t_dir_path[256];

#define TEST(name) \
    static void test_##name(void); \
    __attribute__((constructor)) static void t_add_##name(void) \
    { \
        static struct t_case c = {#name, test_##name, NULL}; \
        *t_last = &c; \
        t_last = &c.next; \
    } \
    static void test_##name(void)

#define T_MAIN \
    int main(int argc, char **argv) { return t_main(argc, argv); }

/* Ends the case; the line says where and what. */
#define T_FAIL(...) \
    do { \
        printf("# %s:%d: ", __FILE__, __LINE__); \
        printf(__VA_ARGS__); \
        printf("\n"); \
        fflush(stdout); \
        _exit(T_EXIT_FAIL); \
    } while (0)

#define T_SKIP(why) \
    do { \
        printf("# skipped: %s\n", why); \
        fflush(stdout); \
        _exit(T_EXIT_SKIP); \
    } while (0)

#define CHECK(cond) \
    do { \
        if (!(cond)) \
            T_FAIL("not true: %s", #cond); \
    } while (0)

#define CHECK_INT(got, want) \
    do { \
        long long t_got = (long long)(got), t_want = (long long)(want); \
        if (t_got != t_want) \
            T_FAIL("%s is %lld, not %lld", #got, t_got, t_want); \
    } while (0)

/* C strings; NULL is equal to NULL only. */
#define CHECK_STR(got, want) \
    do { \
        const char *t_got = (got), *t_want = (want); \
        if (!t_got || !t_want ? t_got != t_want : strcmp(t_got, t_want) != 0) \
            T_FAIL("%s is \"%s\", not \"%s\"", #got, t_got ? t_got : "(null)", \
                   t_want ? t_want : "(null)"); \
    } while (0)

/* n bytes at p against a literal, zeros included. */
#define CHECK_MEM(p, n, literal) \
    do { \
        const void *t_p = (p); \
        size_t t_n = (n), t_m = sizeof(literal) - 1; \
        if (t_n != t_m || (t_m && memcmp(t_p, literal, t_m) != 0)) \
            T_FAIL("%s is \"%.*s\" (%zu), not \"%s\" (%zu)", #p, (int)t_n, \
                   t_p ? (const char *)t_p : "", t_n, literal, t_m); \
    } while (0)

static T_UNUSED int64_t t_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static T_UNUSED void t_pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

#define T_WAIT(cond) \
    do { \
        for (int64_t t_end = t_now_ms() + T_WAIT_MS; !(cond); t_pause_ms(2)) \
            if (t_now_ms() > t_end) \
                T_FAIL("never came true: %s", #cond); \
    } while (0)

/* Forks with what was printed so far written out once. */
static T_UNUSED pid_t t_fork(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        T_FAIL("fork: %s", strerror(errno));
    return pid;
}

static T_UNUSED int t_reap(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            T_FAIL("waitpid: %s", strerror(errno));
    return status;
}

#define T_DIES(sig, ...) \
    do { \
        pid_t t_pid = t_fork(); \
        if (t_pid == 0) { \
            if (!freopen("/dev/null", "w", stderr)) \
                _exit(2); \
            __VA_ARGS__; \
            _exit(0); \
        } \
        int t_status = t_reap(t_pid); \
        if (!WIFSIGNALED(t_status) || WTERMSIG(t_status) != (sig)) \
            T_FAIL("%s: wait status 0x%x, not signal %d", #__VA_ARGS__, \
                   (unsigned)t_status, (sig)); \
    } while (0)

/*
 * Runs fn with a pipe as its standard error, at most n - 1 bytes of which come
 * back, terminated. Returns the wait status.
 */
static T_UNUSED int t_stderr(void (*fn)(void), char *out, size_t n)
{
    int fds[2];
    if (pipe(fds) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    pid_t pid = t_fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        fn();
        _exit(0);
    }
    close(fds[1]);
    size_t have = 0;
    char rest[512];
    for (;;) {
        bool room = have < n - 1;
        ssize_t got = read(fds[0], room ? out + have : rest,
                           room ? n - 1 - have : sizeof(rest));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += room ? (size_t)got : 0;
    }
    out[have] = '\0';
    close(fds[0]);
    return t_reap(pid);
}

static T_UNUSED const char *t_dir(void)
{
    if (mkdir(t_dir_path, 0700) < 0 && errno != EEXIST)
        T_FAIL("mkdir %s: %s", t_dir_path, strerror(errno));
    return t_dir_path;
}

static T_UNUSED void t_write_map(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        T_FAIL("write %s: %s", file, strerror(errno));
    close(fd);
}

/* A user in a namespace is somebody only with a map: without, nothing is made on a tmpfs. */
static T_UNUSED bool t_own_mounts(void)
{
    char uids[64], gids[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) < 0)
        return false;
    if (uid != 0) {
        snprintf(uids, sizeof(uids), "%u %u 1", (unsigned)uid, (unsigned)uid);
        snprintf(gids, sizeof(gids), "%u %u 1", (unsigned)gid, (unsigned)gid);
        t_write_map("/proc/self/uid_map", uids);
        t_write_map("/proc/self/setgroups", "deny");
        t_write_map("/proc/self/gid_map", gids);
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static T_UNUSED const char *t_small_disk(unsigned kib)
{
    static char path[sizeof(t_dir_path) + 8];
    char size[32];
    snprintf(path, sizeof(path), "%s/disk", t_dir());
    snprintf(size, sizeof(size), "size=%uk", kib);
    if (mkdir(path, 0700) < 0)
        T_FAIL("mkdir %s: %s", path, strerror(errno));
    if (!t_own_mounts() || mount("tmpfs", path, "tmpfs", 0, size) < 0)
        T_SKIP("not allowed to mount a file system");
    return path;
}

static T_UNUSED __attribute__((format(printf, 1, 2))) void t_sh(const char *fmt, ...)
{
    char script[2000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(script, sizeof(script), fmt, ap);
    va_end(ap);
    pid_t pid = t_fork();
    if (pid == 0) {
        if (chdir(t_dir()) < 0)
            _exit(99);
        execl("/bin/sh", "sh", "-ec", script, (char *)NULL);
        _exit(98);
    }
    int status = t_reap(pid);
    if (status != 0)
        T_FAIL("status 0x%x of: %s", (unsigned)status, script);
}

static int t_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    remove(path);
    return 0;
}

static void t_name_dir(int number)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(t_dir_path, sizeof(t_dir_path), "%s/od-t.%ld.%d",
                     tmp && *tmp ? tmp : "/tmp", (long)getpid(), number);
    if (n < 0 || (size_t)n >= sizeof(t_dir_path))
        T_FAIL("TMPDIR is too long");
}

/* The time limit of a case; T_LIMIT_S in the environment replaces it, for emulators. */
static int t_limit_s(void)
{
    const char *more = getenv("T_LIMIT_S");
    return (more ? atoi(more) : T_LIMIT_S) * t_slow();
}

/* Returns the wait status of the case, or -1 after its time limit. SIGCHLD is blocked. */
static int t_wait_case(pid_t pid, const sigset_t *chld)
{
    int64_t end = t_now_ms() + t_limit_s() * 1000;
    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid)
            return status;
        int64_t left = end - t_now_ms();
        if (left <= 0)
            return -1;
        struct timespec t = {left / 1000, left % 1000 * 1000000L};
        sigtimedwait(chld, NULL, &t);
    }
}

static bool t_run(const struct t_case *c, int number)
{
    sigset_t chld, before;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &before);
    t_name_dir(number);
    pid_t pid = t_fork();
    if (pid == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, &before, NULL);
        c->run();
        exit(0);
    }
    setpgid(pid, pid);
    int status = t_wait_case(pid, &chld);
    kill(-pid, SIGKILL);
    if (status == -1)
        t_reap(pid);
    nftw(t_dir_path, t_remove, 16, FTW_DEPTH | FTW_PHYS);
    sigprocmask(SIG_SETMASK, &before, NULL);

    bool skipped = status != -1 && WIFEXITED(status) &&
                   WEXITSTATUS(status) == T_EXIT_SKIP;
    bool ok = status == 0 || skipped;
    if (status == -1)
        printf("# not done after %d s\n", t_limit_s());
    else if (WIFSIGNALED(status))
        printf("# killed by signal %d (%s)\n", WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else if (!ok && WEXITSTATUS(status) != T_EXIT_FAIL)
        printf("# exit status %d\n", WEXITSTATUS(status));
    printf("%s %d - %s%s\n", ok ? "ok" : "not ok", number, c->name,
           skipped ? " # SKIP" : "");
    fflush(stdout);
    return ok;
}

static bool t_chosen(const struct t_case *c, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], c->name) == 0)
            return true;
    return argc < 2;
}

/*
 * From here on, the given call fails by errnum, as by a container's filter. False: not
 * possible here. The numbers are those of linux/filter.h and linux/seccomp.h, which do
 * not come with musl.
 */
static T_UNUSED bool t_refuse(int call, int errnum)
{
    struct {
        uint16_t code;
        uint8_t jt, jf;
        uint32_t k;
    } code[] = {
        {0x20, 0, 0, 0},                  /* load the call's number */
        {0x15, 0, 1, (uint32_t)call},     /* not this one: skip the next */
        {0x06, 0, 0, 0x00050000 | (uint32_t)errnum}, /* SECCOMP_RET_ERRNO */
        {0x06, 0, 0, 0x7fff0000},         /* SECCOMP_RET_ALLOW */
    };
    struct {
        unsigned short n;
        void *code;
    } program = {sizeof(code) / sizeof(*code), code};
    enum { MODE_FILTER = 2 };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, MODE_FILTER, &program) == 0;
}

static int t_main(int argc, char **argv)
{
    int count = 0, failed = 0;
    umask(022);
    for (const struct t_case *c = t_first; c; c = c->next) {
        if (t_chosen(c, argc, argv)) {
            count++;
            failed += !t_run(c, count);
        }
    }
    printf("1..%d\n", count);
    return failed > 0 || count == 0;
}

#endif
