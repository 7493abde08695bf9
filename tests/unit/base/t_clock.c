/* SPDX-License-Identifier: MIT */
/* Clocks, the written form of a time, and random bytes on poor machines. */
#include "base/clock.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "t.h"

static int64_t system_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

TEST(clocks_are_those_of_the_system)
{
    int64_t before = system_us(CLOCK_MONOTONIC);
    int64_t us = clock_us(), ms = clock_ms();
    int64_t after = system_us(CLOCK_MONOTONIC);
    CHECK(before <= us && us <= after);
    CHECK(before / 1000 <= ms && ms <= after / 1000);
    T_WAIT(clock_ms() > ms);

    before = system_us(CLOCK_REALTIME);
    int64_t wall = clock_wall_ms();
    after = system_us(CLOCK_REALTIME);
    if (after >= before) /* nobody set it back meanwhile */
        CHECK(before / 1000 <= wall && wall <= after / 1000);
}

TEST(times_are_written_in_utc)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1767323045678, "2026-01-02T03:04:05.678Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {4107542399999, "2100-02-28T23:59:59.999Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
        {-1, "1970-01-01T00:00:00.000Z"},
        {INT64_MIN, "1970-01-01T00:00:00.000Z"},
    };
    setenv("TZ", "XXX-5:30", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char out[25];
        memset(out, 'x', sizeof(out));
        clock_iso(cases[i].ms, out);
        CHECK_STR(out, cases[i].text);
    }
}

/* True when 64 bytes come twice, differ, and use every bit. */
static bool plausible(void)
{
    unsigned char a[64], b[64], ones = 0, zeros = 0;
    random_bytes(a, sizeof(a));
    random_bytes(b, sizeof(b));
    for (int i = 0; i < 64; i++) {
        ones |= a[i];
        zeros |= (unsigned char)~a[i];
    }
    return memcmp(a, b, 64) != 0 && memcmp(a, a + 32, 32) != 0 && ones == 255 &&
           zeros == 255;
}

TEST(random_bytes_fill_exactly)
{
    unsigned char a[12];
    memset(a, 0x5a, sizeof(a));
    random_bytes(a + 1, 0);
    CHECK_INT(a[1], 0x5a);
    /* Each byte of the eight changes sooner or later; the others never. */
    unsigned changed = 0;
    for (int i = 0; i < 100; i++) {
        memset(a + 2, 0, 8);
        random_bytes(a + 2, 8);
        for (int k = 0; k < 8; k++)
            changed |= a[2 + k] ? 1u << k : 0;
    }
    CHECK_INT(changed, 255);
    CHECK(a[1] == 0x5a && a[10] == 0x5a && a[11] == 0x5a);
    CHECK(plausible());
}

TEST(hex_is_hex)
{
    char a[34], b[34];
    memset(a, 'x', sizeof(a));
    random_hex(a, 32);
    random_hex(b, 32);
    CHECK_INT(strlen(a), 32);
    CHECK_INT(a[33], 'x');
    CHECK_INT(strspn(a, "0123456789abcdef"), 32);
    CHECK(strcmp(a, b) != 0);
    random_hex(a, 1);
    CHECK_INT(strlen(a), 1);
    random_hex(a, 0);
    CHECK_STR(a, "");
}

TEST(without_getrandom_there_is_a_device)
{
    char byte;
    if (!t_refuse(SYS_getrandom, EPERM))
        T_SKIP("no seccomp filters here");
    CHECK(syscall(SYS_getrandom, &byte, 1, 0) == -1);
    CHECK(plausible());
}

/* In a process that leaves by _exit: a leak checker would miss its files. */
static void without_either(void)
{
    int fds[2];
    unsigned char mine[16], theirs[16] = {0};
    CHECK(pipe(fds) == 0);
    if (!t_refuse(SYS_getrandom, EPERM) || !t_refuse(SYS_openat, EPERM))
        T_SKIP("no seccomp filters here");
#ifdef SYS_open
    CHECK(t_refuse(SYS_open, EPERM));
#endif
    CHECK(!fopen("/dev/urandom", "r"));
    CHECK(plausible());
    /* A forked copy must not repeat its parent. */
    pid_t pid = t_fork();
    random_bytes(mine, sizeof(mine));
    if (pid == 0)
        _exit(write(fds[1], mine, sizeof(mine)) != sizeof(mine));
    CHECK_INT(t_reap(pid), 0);
    CHECK(read(fds[0], theirs, sizeof(theirs)) == sizeof(theirs));
    CHECK(memcmp(mine, theirs, sizeof(mine)) != 0);
}

TEST(without_either_there_are_still_distinct_bytes)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        without_either();
        _exit(0);
    }
    int status = t_reap(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == T_EXIT_SKIP)
        T_SKIP("no seccomp filters here");
    CHECK_INT(status, 0);
}

T_MAIN
