/* SPDX-License-Identifier: MIT */
/*
 * Reads a tree into the store: a manifest for each folder, and the contents that are not
 * there yet. Each step goes from an open folder to a name in it, without following a
 * link, so nothing outside the tree is reached whatever changes meanwhile, and paths may
 * be longer than PATH_MAX. Other file systems that are mounted inside are not entered.
 *
 * A file is not read if the previous checkpoint had it with the same stat(2). It is racy,
 * and then read again the next time, if its last change is so recent that the clock of
 * the file system might not show another one, and if a program has it mapped for writing,
 * or may have since the scan began.
 */
#ifndef OD_CHECKPOINT_SCAN_H
#define OD_CHECKPOINT_SCAN_H

#include "checkpoint/manifest.h"
#include "checkpoint/watch.h"
#include "text/ignore.h"

/* Folders of restores that are under way, in the root of a tree; never part of it. */
#define SCAN_OURS ".od-restore-"

/*
 * Opens a folder in the folder at, no link. Returns its descriptor, or -1 with errno.
 */
int scan_folder(int at, const char *name);
/* Fills in what statx(2) says of a name, or of the file at itself ("" as the name). */
struct scan_stat {
    struct file_node x; /* without content, target and xattrs */
    uint64_t dev, mount;
    uint64_t blocks;
    bool fixed; /* immutable, or only to be appended to */
};
/* Returns 0, or -1 with errno. */
int scan_stat(int at, const char *name, struct scan_stat *out);

struct tree_scan {
    struct store *s;
    int root;                  /* the folder, which the caller opened and closes */
    const struct ignore *skip; /* patterns of what is left out; NULL: none */
    const struct content_ref
        *last; /* the manifest of the previous checkpoint; NULL: none */
    struct scan_watch
        *watch; /* knows folders that have not changed (watch.h); NULL: none */
    const struct mapped *mapped; /* files whose times may not tell (mapped.h) */
    uint64_t file_max;           /* larger files are gaps; 0: no limit */
    uint64_t stat_max;           /* if the store only looks: files that are kept for it */
    /* Folders, by device and inode, that are no part of the tree: the server's own. */
    struct scan_hidden {
        uint64_t dev, ino;
    } hidden[2];
    /* A gap, or NULL. path is from the root. */
    void (*gap)(void *arg, struct str path, enum gap why);
    void *arg;
    /* Results */
    uint64_t files, folders, others, bytes, gaps, read; /* read: files that were */
};

/* Returns 0 and the entry of the root, its name "."; -1 and sets *e. */
int scan_tree(struct tree_scan *q, struct file_node *root, struct buf *space,
              struct err *e);
/* Whether a name is left out of the tree. path is from the root. */
bool scan_skips(const struct tree_scan *q, struct str path, const struct scan_stat *st);

#endif
