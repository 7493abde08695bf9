/* SPDX-License-Identifier: MIT */
/*
 * memcpy and memmove for x86-64, in place of musl's.
 *
 * musl copies with `rep movsq`, and the bytes before and after the aligned words one by
 * one. That instruction takes tens of cycles to begin, while most of our copies are names
 * and lines of 4 to 300 bytes. Here a copy of up to 64 bytes reads all of them into
 * registers, from both ends, and then writes them, so that there is no loop and an
 * overlap does no harm. arm64 keeps musl's memcpy, which does the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && !defined(__GLIBC__)

enum {
    BLOCK = 64,
    STRING_LEAST = 4096 /* bytes from which `rep movsb` is as fast as a loop */
};

typedef uint8_t bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t bytes8 __attribute__((aligned(1), may_alias));
typedef uint32_t bytes4 __attribute__((aligned(1), may_alias));
typedef uint16_t bytes2 __attribute__((aligned(1), may_alias));

struct copy_block {
    bytes16 v[BLOCK / 16];
};

static inline struct copy_block load(const char *p)
{
    const bytes16 *v = (const bytes16 *)p;
    return (struct copy_block){{v[0], v[1], v[2], v[3]}};
}

static inline void store(char *p, struct copy_block b)
{
    bytes16 *v = (bytes16 *)p;
    v[0] = b.v[0];
    v[1] = b.v[1];
    v[2] = b.v[2];
    v[3] = b.v[3];
}

/* The first and the last half of n bytes, which overlap if n is below 2 halves. */
#define COPY_ENDS(type, to, from, n) \
    do { \
        type head = *(const type *)(from); \
        type tail = *(const type *)((from) + (n) - sizeof(type)); \
        *(type *)(to) = head; \
        *(type *)((to) + (n) - sizeof(type)) = tail; \
    } while (0)

static inline void copy_16(char *to, const char *from, size_t n)
{
    if (n >= 8)
        COPY_ENDS(bytes8, to, from, n);
    else if (n >= 4)
        COPY_ENDS(bytes4, to, from, n);
    else if (n >= 2)
        COPY_ENDS(bytes2, to, from, n);
    else if (n == 1)
        *to = *from;
}

static inline void copy_64(char *to, const char *from, size_t n)
{
    bytes16 a = *(const bytes16 *)from, d = *(const bytes16 *)(from + n - 16);
    if (n > 32) {
        bytes16 b = *(const bytes16 *)(from + 16);
        bytes16 c = *(const bytes16 *)(from + n - 32);
        *(bytes16 *)(to + 16) = b;
        *(bytes16 *)(to + n - 32) = c;
    }
    *(bytes16 *)to = a;
    *(bytes16 *)(to + n - 16) = d;
}

/* More than a block, from the front: right if to is before from, or they are apart. */
static void copy_up(char *to, const char *from, size_t n)
{
    struct copy_block last = load(from + n - BLOCK);
    char *end = to + n - BLOCK;
    for (; to < end; to += BLOCK, from += BLOCK)
        store(to, load(from));
    store(end, last);
}

/* The same from the back, for an overlap with to after from. */
static void copy_down(char *to, const char *from, size_t n)
{
    struct copy_block first = load(from);
    for (; n > BLOCK; n -= BLOCK)
        store(to + n - BLOCK, load(from + n - BLOCK));
    store(to, first);
}

void *memmove(void *dest, const void *src, size_t n)
{
    char *to = dest;
    const char *from = src;
    uintptr_t ahead = (uintptr_t)to - (uintptr_t)from;
    if (n <= 16)
        copy_16(to, from, n);
    else if (n <= BLOCK)
        copy_64(to, from, n);
    else if (ahead < n)
        copy_down(to, from, n);
    else if (n >= STRING_LEAST && -ahead >= n)
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
    else
        copy_up(to, from, n);
    return dest;
}

void *memcpy(void *restrict dest, const void *restrict src, size_t n)
    __attribute__((alias("memmove")));

#endif
