/* SPDX-License-Identifier: MIT */
/*
 * Allocation that aborts on failure (xalloc.h): the product that must not
 * wrap, and the line that is logged.
 */
#include "base/xalloc.h"

#include "base/log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*last_words)(void);
static pid_t last_words_of;

void xalloc_last_words(void (*fn)(void))
{
    last_words = fn;
    last_words_of = getpid();
}

void xalloc_failed(size_t size)
{
    void (*fn)(void) = last_words;
    log_error("out of memory: cannot allocate %zu bytes", size);
    last_words = NULL;
    if (fn && last_words_of == getpid())
        fn();
    abort();
}

/* The product, never 0, because malloc(0) may return NULL. */
static size_t total(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        xalloc_failed(SIZE_MAX);
    size_t n = count * size;
    return n ? n : 1;
}

void *xcalloc(size_t count, size_t size)
{
    size_t n = total(count, size);
    void *p = calloc(1, n);
    if (!p)
        xalloc_failed(n);
    return p;
}

void *xrealloc(void *p, size_t count, size_t size)
{
    size_t n = total(count, size);
    void *q = realloc(p, n);
    if (!q)
        xalloc_failed(n);
    return q;
}

char *xstrdup(const char *z)
{
    return xstrndup(z, strlen(z));
}

char *xstrndup(const char *p, size_t n)
{
    if (n == SIZE_MAX)
        xalloc_failed(n);
    char *z = xrealloc(NULL, n + 1, 1);
    if (n)
        memcpy(z, p, n);
    z[n] = '\0';
    return z;
}
