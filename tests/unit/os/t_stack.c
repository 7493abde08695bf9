/* SPDX-License-Identifier: MIT */
/* A smashed stack ends the process, and the guard that finds it is the kernel's. */
#include "t.h"

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

/* Writes n bytes into an array of 16 of its own. */
static __attribute__((noinline)) int write_bytes(volatile size_t n)
{
    char room[16];
    volatile char *p = room;
    for (size_t i = 0; i < n; i++)
        p[i] = 'x';
    return room[0];
}

static int status_after(size_t n)
{
    int status = 0;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (n > 16) /* the sanitizers' report is of no interest */
            close(STDERR_FILENO);
        _exit(write_bytes(n) == 'x' ? 0 : 3);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

TEST(a_smashed_stack_ends_the_process)
{
    CHECK(status_after(16) == 0);
    int status = status_after(64);
#ifdef __SANITIZE_ADDRESS__
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) == 1); /* as its report ends */
#else
    CHECK(WIFSIGNALED(status));
#endif
}

#ifndef __GLIBC__ /* whose guard is next to the thread's */
TEST(the_guard_is_of_the_kernels_random_bytes)
{
    extern uintptr_t __stack_chk_guard;
    const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
    CHECK(random);
    uintptr_t guard = __stack_chk_guard, want;
    memcpy(&want, random, sizeof(want));
    ((char *)&want)[1] = '\0'; /* for strings; musl does it where a word has eight bytes */
    ((char *)&guard)[1] = '\0';
    CHECK(guard == want);
}
#endif

T_MAIN
