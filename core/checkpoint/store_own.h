/* SPDX-License-Identifier: MIT */
/* Packs, for store.c and store_sweep.c. */
#ifndef OD_CHECKPOINT_STORE_OWN_H
#define OD_CHECKPOINT_STORE_OWN_H

#include "archive/zip_press.h"
#include "checkpoint/store.h"

enum {
    HEAD_MAGIC = 0x3163646f, /* "odc1" */
    PACK_NAME = 16,          /* hex digits */
    PACK_FILE = 32,          /* of a file's name, with its terminator */
    PACK_HEAD = 48,          /* bytes before a record */
    PACK_WRITE = 1 << 20,    /* bytes written at once */
    INDEX_HEAD = 16
};

/* Where a content is. In the index as it is here, in the byte order of the machine. */
struct store_place {
    struct content_sum sum;
    uint64_t at; /* of its bytes in the pack */
    uint32_t stored, raw;
};

/* Before the bytes of a record. */
struct pack_head {
    uint32_t magic, stored, raw, zero;
    struct content_sum sum;
};
_Static_assert(sizeof(struct store_place) == 48, "the index has no gaps");
_Static_assert(sizeof(struct pack_head) == PACK_HEAD, "a record's head has no gaps");

struct pack {
    char name[PACK_NAME + 1];
    int fd;
    void *map; /* the index; owned */
    size_t map_n;
    const struct store_place *places; /* sorted; in map */
    size_t n;
    uint64_t size;   /* bytes of the pack */
    uint8_t *marked; /* bits; owned; NULL: none */
};

/* The pack that grows. */
struct writer {
    int fd; /* -1: there is none */
    uint64_t at;
    struct buf out;
    struct store_place *places; /* owned, in the order of their records */
    size_t n, cap;
    uint32_t *slots; /* owned: hash table of places, by number + 1 */
    size_t slots_n;
};

struct store {
    int fd, packs, lock; /* folders; the lock's file, -1: it does not write */
    bool only_reads, as_user;
    uid_t uid;
    gid_t gid;
    struct pack *pack; /* owned */
    size_t packs_n, hit; /* hit: the pack that had what was last found */
    struct writer w;
    struct zip_press *z;
    struct buf scratch;
    struct buf space; /* store_space; empty while it is lent */
    uint64_t added;
};

/* Finds a content in packs. NULL: it is in none. */
const struct store_place *packs_find(struct store *s, const struct content_sum *sum,
                                     struct pack **in);
/* Opens the packs that are there, again. Returns -1 and sets *e. */
int packs_open(struct store *s, struct err *e);
void packs_close(struct store *s);
/* Reads and checks the content at a place of the file fd. Returns -1 and sets *e. */
int place_read(struct store *s, int fd, const struct store_place *p, struct buf *out,
               struct err *e);
/* Copies a record with its head to the pack that grows. Returns -1 and sets *e. */
int writer_copy(struct store *s, const struct pack *from, const struct store_place *p,
                struct err *e);
/* Writes the index of a pack in one step. Sorts places. Returns -1 and sets *e. */
int index_write(const struct store *s, const char *name, struct store_place *places,
                size_t n, struct err *e);

/* Adds a content to the growing pack, as it is stored. Returns -1 and sets *e. */
int writer_add(struct store *s, const struct content_sum *sum, uint32_t raw,
               struct str stored, struct err *e);

#endif
