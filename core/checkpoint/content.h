/* SPDX-License-Identifier: MIT */
/*
 * What is in a file, as contents of the store: one, or a list of pieces. Files over
 * CONTENT_WHOLE are cut where their bytes say so (a rolling hash, as in "FastCDC", USENIX
 * ATC 2016), so that a change in the middle makes one or two new pieces. Holes are in the
 * list, and cost nothing.
 */
#ifndef OD_CHECKPOINT_CONTENT_H
#define OD_CHECKPOINT_CONTENT_H

#include "checkpoint/store.h"

enum {
    CONTENT_WHOLE = 1 << 20,   /* bytes; larger ones are pieces */
    CONTENT_LEAST = 256 << 10, /* of a piece */
    CONTENT_MOST = 4 << 20     /* the same */
};

struct content_ref {
    enum content_kind { CONTENT_EMPTY, CONTENT_ONE, CONTENT_LIST } kind;
    struct content_sum sum;
};

static inline bool content_eq(const struct content_ref *a, const struct content_ref *b)
{
    return a->kind == b->kind && (a->kind == CONTENT_EMPTY || sum_eq(&a->sum, &b->sum));
}

/*
 * Puts size bytes of the file at fd, from its beginning; holes: it may have some. keep:
 * false: only its name is computed. Returns 0; 1 if the file has become shorter; 2 and
 * sets *e if it cannot be read; -1 and sets *e if the store fails.
 */
int content_put_file(struct store *s, int fd, uint64_t size, bool holes, bool keep,
                     struct buf *space, struct content_ref *out, struct err *e);
/* A file whose bytes come one after another. */
struct content_stream {
    /* Reads at most n bytes to p. Returns how many; 0 at the end; -1 and sets *e. */
    ssize_t (*read)(void *arg, void *p, size_t n, struct err *e);
    void *arg;
    uint64_t size;
    struct str holes; /* "OFFSET+LENGTH OFFSET+LENGTH": where it has zeroes */
};
/*
 * Puts it, as the same contents as content_put_file of that file. Returns -1 and sets *e:
 * INVALID if it ends early, or if a hole overlaps another one or the end.
 */
int content_put_stream(struct store *s, const struct content_stream *in,
                       struct buf *space, struct content_ref *out, struct err *e);
/*
 * Appends the holes of a file, as struct content_stream has them, after a blank if out is
 * not empty. Returns -1 and sets *e.
 */
int content_holes(struct store *s, const struct content_ref *c, struct buf *out,
                  struct err *e);
/* Puts bytes in memory. Returns -1 and sets *e. */
int content_put(struct store *s, struct str bytes, struct content_ref *out,
                struct err *e);
/* Whether all of it is in the store. */
bool content_is_there(struct store *s, const struct content_ref *c);
/* Appends all of it, holes as zeroes. Returns -1 and sets *e: LIMIT, out is full. */
int content_get(struct store *s, const struct content_ref *c, struct buf *out,
                struct err *e);

/* Takes the next bytes; p of a hole is NULL. Returns -1 and sets *e to stop. */
typedef int content_fn(void *arg, struct str piece, struct err *e);
/* Calls fn for one piece after another. Returns -1 and sets *e. */
int content_each(struct store *s, const struct content_ref *c, content_fn *fn, void *arg,
                 struct err *e);
/* Calls fn with the name of each content in it: of pieces, and of the list. */
int content_names(struct store *s, const struct content_ref *c,
                  int (*fn)(void *arg, const struct content_sum *sum, struct err *e),
                  void *arg, struct err *e);

#endif
