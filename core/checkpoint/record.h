/* SPDX-License-Identifier: MIT */
/*
 * The checkpoints of a store: checkpoints/ID.json, each written in one step after its
 * contents. IDs are numbers that grow and are never used again.
 */
#ifndef OD_CHECKPOINT_RECORD_H
#define OD_CHECKPOINT_RECORD_H

#include "base/json.h"
#include "checkpoint/manifest.h"

enum { RECORD_MAX = 1 << 20 };

/*
 * {"id", "time", "dirs", "label", "pinned", "why", "action", "uid", "files", "bytes",
 * "added", "gaps", "exclude", "tree"}: the caller owns it. NULL and sets *e if there is
 * none, or it is damaged.
 */
struct json *record_read(const struct store *s, int64_t id, struct err *e);
int record_write(const struct store *s, const struct json *record, bool durable,
                 struct err *e);
int record_remove(const struct store *s, int64_t id, struct err *e);
/* IDs, the smallest first; *ids is the caller's. Returns how many, or -1 and sets *e. */
long record_list(const struct store *s, int64_t **ids, struct err *e);
/* An ID that was never used. Returns -1 and sets *e. */
int64_t record_next(const struct store *s, struct err *e);
/* The manifest whose entries are the folders: the name of the first is 0. */
int record_tree(const struct json *record, struct content_ref *out, struct err *e);
void record_set_tree(struct json *record, const struct content_ref *tree);

/* ---- keep.c ---- */

/*
 * Removes checkpoints that are not pinned until the store has at most `budget` bytes: of
 * automatic ones that are older than an hour those between the last ones of each hour,
 * then of each day; then the oldest ones. Calls gone for each. Returns -1 and sets *e.
 */
int keep_within(struct store *s, uint64_t budget, void (*gone)(void *arg, int64_t id),
                void *arg, struct err *e);
/*
 * Marks what the checkpoint uses; *bytes grows by what was not marked before. Returns 0;
 * 1 if a part of it is damaged, and not marked; -1 and sets *e.
 */
int keep_mark(struct store *s, const struct json *record, uint64_t *bytes, struct err *e);

#endif
