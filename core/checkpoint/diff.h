/* SPDX-License-Identifier: MIT */
/*
 * Two trees of the store side by side, and what has to be done so that one becomes the
 * other. Folders that are the same content are not read.
 */
#ifndef OD_CHECKPOINT_DIFF_H
#define OD_CHECKPOINT_DIFF_H

#include "base/map.h"
#include "checkpoint/manifest.h"

enum { PAIRS_WHOLE, PAIRS_INSIDE, PAIRS_ABOVE, PAIRS_OUTSIDE };

/* Paths from the root, without slashes at their ends; n 0: everything. Borrowed. */
struct pairs_filter {
    const struct str *paths;
    size_t n;
};
/* How a path is to the filter: inside one of its paths, a folder above one, or outside.
 */
int pairs_relation(const struct pairs_filter *f, struct str path);

/*
 * x is the entry in a, y in b; NULL: there is none. Called for a folder before what is in
 * it. Returns 0; 1 to leave out what is in the folder; -1 and sets *e to stop.
 */
typedef int pairs_fn(void *arg, struct str path, const struct file_node *x,
                     const struct file_node *y, struct err *e);
struct pairs {
    struct store *s;
    const struct pairs_filter *filter; /* NULL: everything */
    bool all;                          /* folders that are the same, too */
    pairs_fn *fn;
    void *arg;
};
/* a and b are manifests of folders; NULL: of an empty one. Returns -1 and sets *e. */
int pairs_walk(const struct pairs *p, const struct content_ref *a,
               const struct content_ref *b, struct err *e);

/*
 * Which names of files are names of one file. An inode has another number after it was
 * restored, so names are compared as groups: those of a group in b must have one inode of
 * a, which no other name has.
 */
struct links {
    /*
     * Only a part of the tree is restored: a file that is to be another in any way is
     * made, since other names of it may be outside of that part.
     */
    bool exact;
    struct map groups; /* of b, whose names do not all agree: struct links_group */
    struct map inodes; /* of a, of those names: the group that keeps it */
};
struct links_group {
    uint64_t dev, ino; /* of b */
    /* The file that is kept or made for it, and its path; path NULL: it is to be made. */
    uint64_t kept_dev, kept_ino;
    char *path; /* owned */
    bool settled;
};
/* Compares. Returns -1 and sets *e. In both cases links_release. */
int links_find(struct links *l, struct store *s, const struct content_ref *a,
               const struct content_ref *b, struct err *e);
void links_release(struct links *l);
/* The group of an entry of b, if it needs care; NULL: what is there is right. */
struct links_group *links_group(const struct links *l, const struct file_node *y);
/* Whether the file x is to be the file y, as far as names go; both have the same type. */
bool links_agree(const struct links *l, const struct file_node *x,
                 const struct file_node *y);

#endif
