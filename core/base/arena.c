/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 << 10, ALIGN = 16 };

struct arena_block {
    struct arena_block *before;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

void arena_init(struct arena *a, size_t max) { *a = (struct arena){.max = max}; }

static void drop(struct arena *a)
{
    struct arena_block *b = a->last;
    a->last = b->before;
    a->total -= b->size;
    free(b);
}

void arena_release(struct arena *a)
{
    while (a->last)
        drop(a);
}

static struct arena_block *grow(struct arena *a, size_t n)
{
    size_t size = n > BLOCK / 4 ? n : BLOCK;
    struct arena_block *b = NULL;
    if (size <= a->max - a->total)
        b = malloc(sizeof(*b) + size);
    if (!b) {
        a->full = true;
        return NULL;
    }
    b->before = a->last;
    b->used = 0;
    b->size = size;
    a->last = b;
    a->total += size;
    return b;
}

void *arena_get(struct arena *a, size_t n)
{
    if (n > a->max) {
        a->full = true;
        return NULL;
    }
    n = (n + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b = a->last;
    if (!b || n > b->size - b->used)
        b = grow(a, n);
    if (!b)
        return NULL;
    char *p = b->bytes + b->used;
    b->used += n;
    return memset(p, 0, n);
}

char *arena_copy(struct arena *a, struct str s)
{
    char *p = s.n ? arena_get(a, s.n) : NULL;
    return p ? memcpy(p, s.p, s.n) : NULL;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->last, a->last ? a->last->used : 0};
}

void arena_back(struct arena *a, struct arena_mark m)
{
    /* The first block stays: the next arena_get needs one again. */
    while (a->last != m.block && a->last->before)
        drop(a);
    if (a->last)
        a->last->used = m.block ? m.used : 0;
}
