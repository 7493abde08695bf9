/* SPDX-License-Identifier: MIT */
/* What the files of this room share: a file as text and bytes, and the history. */
#ifndef OD_EDIT_OWN_H
#define OD_EDIT_OWN_H

#include "edit/edit.h"

/* ---- text.c ---- */

/* A file's bytes, and what they say. Owned; nothing is copied that is the same. */
struct edit_doc {
    struct buf bytes;   /* as they are in the file */
    struct buf decoded; /* their text, where they are not UTF-8 */
    struct buf plain;   /* the text with \n; only if `ends` */
    struct str text;    /* with the file's own line ends, without a mark; of the above */
    enum edit_charset charset;
    bool ends; /* there are \r */
};

void doc_init(struct edit_doc *d);
void doc_release(struct edit_doc *d);
int doc_load(struct edit_doc *d, const char *path, struct edit_failure *f);
/* Of bytes that were there once; -1: they are no text. */
int doc_decode(struct edit_doc *d, struct edit_failure *f, const char *path);
/* With \n; borrowed. */
struct str doc_plain(const struct edit_doc *d);
/* The same, taken out of d, which is good for nothing but a release then. */
void doc_take(struct edit_doc *d, struct buf *out);
/* What comes instead of from..to of a plain text. */
struct doc_place {
    size_t from, to;
    struct str text;
};
/*
 * What d is with n places of the plain text replaced, ascending and apart; *now is
 * initialised. -1: too large.
 */
int doc_splice(const struct edit_doc *d, const struct doc_place *p, size_t n,
               struct edit_doc *now);

/* ---- kept.c ---- */

enum { KEPT_SUM_SIZE = 17 };
/* Instead of a sum: there is no file. */
#define KEPT_NO_FILE "none"

/* An edit that is being done, as the next worker would find it; see kept.c. */
struct kept_record {
    char token[72];
    enum edit_kind kind;
    uint64_t state;          /* its number in the history, 0: none */
    char sum[KEPT_SUM_SIZE]; /* of the bytes that the file shall hold */
    struct buf before;       /* UNDO: what it held */
};

/* The number that the next state will have; 0: nothing is kept. */
uint64_t kept_next(struct edits *h);
/* Keeps bytes as the newest state of path, if that can be; NULL: there is no file. */
void kept_push(struct edits *h, const char *path, const struct str *bytes);
/* The number of the newest state, 0: there is none. */
uint64_t kept_newest(struct edits *h, const char *path);
/* Is this state that there is no file? */
bool kept_is_none(struct edits *h, const char *path, uint64_t state);
/* When it was kept, in seconds; 0: not known. */
int64_t kept_at(struct edits *h, const char *path, uint64_t state);
int kept_read(struct edits *h, const char *path, uint64_t state, struct buf *out,
              struct err *e);
void kept_drop(struct edits *h, const char *path, uint64_t state);

/* Before the file is replaced; without a token, that something else was begun. */
void kept_begin(struct edits *h, const struct kept_record *r);
/*
 * What the worker before began last, if it was this one; told once, to the first
 * edit of all. Owned by h.
 */
const struct kept_record *kept_begun(struct edits *h, const char *token,
                                     enum edit_kind kind);

#endif
