/* SPDX-License-Identifier: MIT */
/*
 * A hash of chained entries. Keys are hashed by SipHash-2-4 with a seed that a
 * peer cannot know, so no peer can choose keys that share one chain (Aumasson
 * and Bernstein, "SipHash: a fast short-input PRF", 2012). The table doubles
 * when there are as many entries as slots, and never shrinks.
 */
#include "base/map.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <endian.h>
#include <stdlib.h>

#define FIRST_SLOTS 8 /* a power of two, as every size */

struct map_entry {
    struct map_entry *next;
    uint64_t hash;
    void *value; /* borrowed */
    size_t n;
    char key[];
};

static uint64_t rotl(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

/* Up to 8 bytes, little endian. */
static uint64_t load(const char *p, size_t n)
{
    uint64_t w = 0;
    memcpy(&w, p, n);
    return le64toh(w);
}

uint64_t map_hash(const uint64_t seed[2], struct str key)
{
    uint64_t v[4] = {
        seed[0] ^ UINT64_C(0x736f6d6570736575), seed[1] ^ UINT64_C(0x646f72616e646f6d),
        seed[0] ^ UINT64_C(0x6c7967656e657261), seed[1] ^ UINT64_C(0x7465646279746573),
    };
    size_t whole = key.n / 8 * 8;
    for (size_t i = 0; i <= whole; i += 8) {
        uint64_t w = i < whole ? load(key.p + i, 8)
                               : load(key.n ? key.p + i : "", key.n - whole) |
                                     (uint64_t)key.n << 56;
        v[3] ^= w;
        sip_round(v);
        sip_round(v);
        v[0] ^= w;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void map_init(struct map *m)
{
    *m = (struct map){.slot = NULL};
    random_bytes(m->seed, sizeof(m->seed));
}

void map_release(struct map *m)
{
    for (size_t i = 0; i < m->slots; i++) {
        for (struct map_entry *e = m->slot[i], *next; e; e = next) {
            next = e->next;
            free(e);
        }
    }
    free(m->slot);
    m->slot = NULL;
    m->slots = m->count = 0;
}

static void grow(struct map *m)
{
    size_t slots = m->slots ? m->slots * 2 : FIRST_SLOTS;
    struct map_entry **slot = xcalloc(slots, sizeof(*slot));
    for (size_t i = 0; i < m->slots; i++) {
        for (struct map_entry *e = m->slot[i], *next; e; e = next) {
            next = e->next;
            e->next = slot[e->hash & (slots - 1)];
            slot[e->hash & (slots - 1)] = e;
        }
    }
    free(m->slot);
    m->slot = slot;
    m->slots = slots;
}

/* The link that points to the entry; to NULL when there is none. */
static struct map_entry **find(const struct map *m, uint64_t hash, struct str key)
{
    struct map_entry **link = &m->slot[hash & (m->slots - 1)];
    while (*link && ((*link)->hash != hash ||
                     !str_eq(str_n((*link)->key, (*link)->n), key)))
        link = &(*link)->next;
    return link;
}

void *map_get(const struct map *m, struct str key)
{
    if (m->count == 0)
        return NULL;
    struct map_entry *e = *find(m, map_hash(m->seed, key), key);
    return e ? e->value : NULL;
}

void *map_put(struct map *m, struct str key, void *value)
{
    BUG_ON(!value);
    if (m->count == m->slots)
        grow(m);
    uint64_t hash = map_hash(m->seed, key);
    struct map_entry **link = find(m, hash, key), *e = *link;
    if (e) {
        void *before = e->value;
        e->value = value;
        return before;
    }
    e = xcalloc(1, sizeof(*e) + key.n);
    e->hash = hash;
    e->value = value;
    e->n = key.n;
    if (key.n)
        memcpy(e->key, key.p, key.n);
    *link = e;
    m->count++;
    return NULL;
}

void *map_del(struct map *m, struct str key)
{
    if (m->count == 0)
        return NULL;
    struct map_entry **link = find(m, map_hash(m->seed, key), key), *e = *link;
    if (!e)
        return NULL;
    void *value = e->value;
    *link = e->next;
    free(e);
    m->count--;
    return value;
}

/* The first entry in slot `from` or a later one. */
static struct map_entry *first_from(const struct map *m, size_t from)
{
    for (size_t i = from; i < m->slots; i++)
        if (m->slot[i])
            return m->slot[i];
    return NULL;
}

/*
 * The iterator is the entry *after* the one handed out, which may therefore be
 * removed; the map's own address stands for "that was the last".
 */
void *map_next(const struct map *m, void *it, struct str *key, void **value)
{
    if (it == (const void *)m)
        return NULL;
    struct map_entry *e = it ? it : first_from(m, 0);
    if (!e)
        return NULL;
    *key = str_n(e->key, e->n);
    *value = e->value;
    struct map_entry *next = e->next;
    if (!next)
        next = first_from(m, (e->hash & (m->slots - 1)) + 1);
    return next ? (void *)next : (void *)(uintptr_t)m;
}
