/* SPDX-License-Identifier: MIT */
/* What the files of this room share: a file as text and bytes, and the history. */
#ifndef OD_EDIT_OWN_H
#define OD_EDIT_OWN_H

#include "edit/edit.h"

/* ---- text.c ---- */

/* A file's bytes and their text. Owned; a text equal to the bytes is not copied. */
struct edit_doc {
    struct buf bytes;   /* as in the file */
    struct buf decoded; /* their text, if they are not UTF-8 */
    struct buf plain;   /* the text with \n; only if `ends` */
    struct str text;    /* with the file's own line ends, without a mark; of the above */
    enum edit_charset charset;
    bool ends; /* the text has \r */
};

void doc_init(struct edit_doc *d);
void doc_release(struct edit_doc *d);
int doc_load(struct edit_doc *d, const char *path, struct edit_failure *f);
/* Decodes bytes that a file held once. Returns -1 if they are not text. */
int doc_decode(struct edit_doc *d, struct edit_failure *f, const char *path);
/* Returns the text with \n; borrowed. */
struct str doc_plain(const struct edit_doc *d);
/* Moves the same out of d, which can then only be released. */
void doc_take(struct edit_doc *d, struct buf *out);
/* A replacement of from..to in a plain text. */
struct doc_place {
    size_t from, to;
    struct str text;
};
/*
 * Makes *now from d with n places of the plain text replaced, which ascend and do not
 * overlap; *now is initialised. Returns -1 if it is too large.
 */
int doc_splice(const struct edit_doc *d, const struct doc_place *p, size_t n,
               struct edit_doc *now);

/* ---- kept.c ---- */

enum { KEPT_SUM_SIZE = 17 };
/* Stands for the sum if there is no file. */
#define KEPT_NO_FILE "none"

/* The record of an edit in progress, for the next worker; see kept.c. */
struct kept_record {
    char token[72];
    enum edit_kind kind;
    uint64_t state;          /* its number in the history; 0: none */
    char sum[KEPT_SUM_SIZE]; /* of the file's new content */
    struct buf before;       /* UNDO: the file's previous content */
};

/* Returns the number of the next state; 0 if nothing is kept. */
uint64_t kept_next(struct edits *h);
/*
 * Keeps bytes as the newest state of path, if possible; NULL means that there is no file.
 */
void kept_push(struct edits *h, const char *path, const struct str *bytes);
/* Returns the number of the newest state; 0 if there is none. */
uint64_t kept_newest(struct edits *h, const char *path);
/* Whether this state stands for no file. */
bool kept_is_none(struct edits *h, const char *path, uint64_t state);
/* Returns when it was kept, in seconds; 0 if that is not known. */
int64_t kept_at(struct edits *h, const char *path, uint64_t state);
int kept_read(struct edits *h, const char *path, uint64_t state, struct buf *out,
              struct err *e);
void kept_drop(struct edits *h, const char *path, uint64_t state);

/*
 * Writes the record, before the file is replaced. Without a token it only removes the
 * previous record.
 */
void kept_begin(struct edits *h, const struct kept_record *r);
/*
 * Returns the record of the previous worker's last edit if its token is this one; only
 * for the first edit of all. Owned by h.
 */
const struct kept_record *kept_begun(struct edits *h, const char *token,
                                     enum edit_kind kind);

#endif
