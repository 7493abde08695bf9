/* SPDX-License-Identifier: MIT */
/*
 * Contents by their hash, in a folder. Contents are in packs, not in a file each: making
 * a file costs more than compressing what most files have in them.
 *
 *   packs/NAME.pack   records one after another: a head, and the bytes, deflated if that
 *                     saves an eighth
 *   packs/NAME.index  where each record of the pack is, sorted by hash
 *   packs/new         the pack that is being written; what a killed process left there
 *                     counts for nothing
 *   lock              held by the one process that writes
 *   open              held shared while packs are opened, and alone while packs are
 * replaced
 *
 * A pack appears in one step (rename), is never changed, and goes when its last content
 * is no longer used. A content that is read is compared with its hash, so damage
 * anywhere is an error that names the content, and never wrong bytes.
 *
 * Blocking: for a job's child or an applet.
 */
#ifndef OD_CHECKPOINT_STORE_H
#define OD_CHECKPOINT_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "checkpoint/sum.h"

#include <sys/types.h>

enum {
    STORE_OBJECT_MAX = 64 << 20, /* bytes of one content */
    STORE_PACK_OBJECTS = 65536,  /* of one pack: its index is in memory while it grows */
    STORE_PACK_BYTES = 512 << 20,
    STORE_PACKS_MAX = 48 /* small packs beyond it are joined (store_sweep) */
};

struct store;

/*
 * Files of the tree are used with the rights of this user: the process is root, and
 * becomes it for the file system alone (setfsuid(2)), except in the store.
 */
struct store_user {
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
};

/*
 * Opens the store in the folder at path, which is made if it does not exist (0700).
 * write: waits until no other process writes. Returns NULL and sets *e.
 */
struct store *store_open(const char *path, bool write, struct err *e);
/* Drops what was not committed. NULL is fine. */
void store_close(struct store *s);
/* From here on; user is copied, except its groups. Returns -1 and sets *e. */
int store_become(struct store *s, const struct store_user *user, struct err *e);
/* Around calls in the folder of the store, while store_become counts. */
void store_enter(const struct store *s);
void store_leave(const struct store *s);
/* The folder, for files of other kinds that are in it. */
int store_folder(const struct store *s);
/* Nothing that is put from here on is kept: it can be read until the store is closed. */
void store_only_read(struct store *s);
bool store_only_reads(const struct store *s);

bool store_has(struct store *s, const struct content_sum *sum);
/*
 * Adds a content, at most STORE_OBJECT_MAX, if it is not there. Returns 0 and its name,
 * or -1 and sets *e.
 */
int store_put(struct store *s, struct str bytes, struct content_sum *out, struct err *e);
/*
 * Gets a content, appended to out. Returns -1 and sets *e: NOTFOUND, it is not there; IO,
 * it is damaged.
 */
int store_get(struct store *s, const struct content_sum *sum, struct buf *out,
              struct err *e);
/*
 * A buffer for one content, with the memory of the one before it: to get it from the
 * kernel for each costs more than to read it. Goes back, or is released.
 */
struct buf store_space(struct store *s);
void store_space_back(struct store *s, struct buf *b);
/*
 * What was put is there for all from here on; durable: also after a loss of power.
 * Returns -1 and sets *e.
 */
int store_commit(struct store *s, bool durable, struct err *e);
/* Bytes that were added to packs since the store was opened. */
uint64_t store_added(const struct store *s);
/* Bytes of all packs, and how many there are. */
uint64_t store_size(const struct store *s);
size_t store_packs(const struct store *s);
/* A number that is another one when packs came, went, or lost what was damaged. */
uint64_t store_state(const struct store *s);

/* Writes a small file of the store in one step. Returns -1 and sets *e. */
int store_write_file(const struct store *s, const char *name, struct str text,
                     bool durable, struct err *e);

/* A file of the store while contents arrive whose checkpoint is not there yet. */
#define STORE_ARRIVING "arriving"

/* ---- store_packed.c ---- */

/* Appends the question whether a content is there. Returns -1 if out is full. */
int packed_ask(struct buf *out, const struct content_sum *sum);
/* Appends a content as it is in its pack, unchecked. Returns -1 and sets *e. */
int packed_get(struct store *s, const struct content_sum *sum, struct buf *out,
               struct err *e);
/*
 * Cuts the next of them off. Returns 1: its bytes are those of its name, and in the
 * store; 2: it was asked for, and is there; 3: it was, and is not; 0 at the end; -1 and
 * sets *e.
 */
int packed_take(struct store *s, struct str *rest, struct content_sum *asked,
                struct err *e);

/* ---- store_sweep.c ---- */

/* Forgets all marks. */
void store_unmark(struct store *s);
/*
 * Marks a content as used. Returns 1 and adds its bytes in the pack to *bytes if it was
 * not marked before; 0 if it was; -1 if it is not there.
 */
int store_mark(struct store *s, const struct content_sum *sum, uint64_t *bytes);
/*
 * Removes packs without a marked content; of packs that are half unused, or of too many
 * small ones, the marked contents move to new packs. Returns -1 and sets *e.
 */
int store_sweep(struct store *s, struct err *e);
/*
 * Reads every content. Calls bad for each that is damaged, and takes it out of its index,
 * so that it is kept again when a tree has it. Returns how many there are, or -1 and sets
 * *e.
 */
int64_t store_verify(struct store *s,
                     void (*bad)(void *arg, const struct content_sum *sum), void *arg,
                     struct err *e);

#endif
