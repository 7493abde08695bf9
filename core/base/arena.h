/* SPDX-License-Identifier: MIT */
/*
 * Memory with a maximum, freed all at once: for the tree of a peer's document, whose size
 * the peer chooses. When a request does not fit, `full` stays set, and the caller must
 * treat its result as incomplete.
 */
#ifndef OD_BASE_ARENA_H
#define OD_BASE_ARENA_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

/* Embedded in its user; arena_release frees everything that it handed out. */
struct arena {
    struct arena_block *last; /* owned */
    size_t total, max;        /* bytes of all blocks */
    bool full;                /* a request was refused */
};

struct arena_mark {
    struct arena_block *block;
    size_t used;
};

void arena_init(struct arena *a, size_t max);
void arena_release(struct arena *a);
/* Returns n zeroed bytes, aligned for any type. If they do not fit, sets `full` and
 * returns NULL. */
void *arena_get(struct arena *a, size_t n);
/* Returns a copy of s, not terminated; NULL if s is empty, or as above. */
char *arena_copy(struct arena *a, struct str s);
/* arena_back frees what was handed out after the mark was taken. */
struct arena_mark arena_mark(const struct arena *a);
void arena_back(struct arena *a, struct arena_mark m);

#endif
