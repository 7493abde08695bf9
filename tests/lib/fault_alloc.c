/* SPDX-License-Identifier: MIT */
/*
 * Linked into an od for tests with --wrap: allocations that fail on request of fault.c.
 * Without it the system call does not exist, and all of them succeed.
 */
#include "fault.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

long syscall(long number, ...);
void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *p, size_t n);

static bool fails(void)
{
    int saved = errno;
    bool failed = syscall(FAULT_ALLOC) < 0 && errno == ENOMEM;
    errno = failed ? ENOMEM : saved;
    return failed;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
    return fails() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}
