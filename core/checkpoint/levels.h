/* SPDX-License-Identifier: MIT */
/*
 * The folders from the root of a tree to where a walk is. Only some of them are open: one
 * that was left is entered again by "..", and must be the folder that it was.
 */
#ifndef OD_CHECKPOINT_LEVELS_H
#define OD_CHECKPOINT_LEVELS_H

#include "base/buf.h"
#include "base/err.h"

enum {
    LEVELS_MAX = 5000, /* each takes some hundred bytes of stack in a walk */
    LEVELS_OPEN = 100  /* folders that are open at once */
};

struct level {
    int fd; /* -1: it was left */
    uint64_t dev, ino;
};

struct levels {
    struct level *v; /* owned; v[0] is the root, whose fd is the caller's */
    size_t n, cap;
    struct buf path; /* of the current folder, from the root: "" or "a/b/" */
};

/* Returns -1 with errno if the root cannot be used. */
int levels_init(struct levels *l, int root);
void levels_release(struct levels *l);
/* The current folder. */
static inline int levels_fd(const struct levels *l) { return l->v[l->n - 1].fd; }
/* Enters a folder, no link. Returns 0, or -1 with errno; ELOOP: too many levels. */
int levels_enter(struct levels *l, struct str name);
/*
 * Back to the folder above. Returns -1 and sets *e (BUSY) if it is another one by now:
 * the walk cannot go on.
 */
int levels_leave(struct levels *l, struct err *e);
/* The path of a name in the current folder, in l->path until levels_unname. */
struct str levels_name(struct levels *l, struct str name);
void levels_unname(struct levels *l, struct str name);

#endif
