/* SPDX-License-Identifier: MIT */
/*
 * Makes a tree, or paths in it, what a checkpoint has. The caller has just read the tree
 * into the store (scan.h), so that what goes is kept, and only what differs from that is
 * touched: an entry that is not any more what was read is left alone and named.
 *
 * A new file is written whole before it has a name, and then linked to its place in one
 * step. Where a file is already there, and where the file system has no files without a
 * name, it first gets a name in a folder of our own in the root, and is renamed from
 * there. Every step goes from an open folder to a name in it and follows no link. After a
 * kill anywhere, the same call does the rest.
 */
#ifndef OD_CHECKPOINT_RESTORE_H
#define OD_CHECKPOINT_RESTORE_H

#include "checkpoint/diff.h"

enum { RESTORE_TOKEN = 16 };

struct restore {
    struct store *s;
    int root; /* the folder; the caller opened it, and closes it */
    const struct file_node *now, *want; /* of the root: as it was read, as it is to be */
    const struct pairs_filter *filter;
    const char *token; /* names the folder of unfinished files: RESTORE_TOKEN digits */
    bool privileged;   /* the process may do all to files */
    /* Something could not be done, or was left alone. */
    void (*problem)(void *arg, struct str path, const char *why);
    /* A file, or a folder, that programs may have open was replaced or removed. NULL:
     * nothing is to be known. */
    void (*gone)(void *arg, const struct file_node *x);
    void *arg;
    /* Results */
    uint64_t made, removed, replaced, adjusted, problems;
};

/*
 * Returns 0; some problems may have been reported. Returns -1 and sets *e if it cannot go
 * on: no space, an error of the disk. What was done stays, and can be done again, or be
 * taken back.
 */
int restore_tree(struct restore *r, struct err *e);
/* Removes the unfinished files of a restore that was killed. Returns -1 with errno. */
int restore_clean(int root, const char *token);

#endif
