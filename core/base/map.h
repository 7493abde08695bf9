/* SPDX-License-Identifier: MIT */
/*
 * A hash from byte strings to pointers. Keys are copied, values are borrowed.
 * Each map hashes with its own random seed, since keys come from peers; the
 * caller bounds their length. While iterating, only the current entry may be
 * removed.
 */
#ifndef OD_BASE_MAP_H
#define OD_BASE_MAP_H

#include "base/str.h"

struct map_entry;
struct map {
    struct map_entry **slot; /* owned */
    size_t slots, count;
    uint64_t seed[2];
};

void map_init(struct map *m);
void map_release(struct map *m); /* frees keys and slots, not the values */
void *map_get(const struct map *m, struct str key); /* NULL: not there */
/* Replaces; returns the value that was there, or NULL. value != NULL. */
void *map_put(struct map *m, struct str key, void *value);
void *map_del(struct map *m, struct str key); /* returns as map_put */
/*
 * Iteration: for (void *it = NULL; (it = map_next(&m, it, &key, &value)); )
 * The order is not defined.
 */
void *map_next(const struct map *m, void *it, struct str *key, void **value);

/* SipHash-2-4, for the map and for its test. */
uint64_t map_hash(const uint64_t seed[2], struct str key);

#endif
