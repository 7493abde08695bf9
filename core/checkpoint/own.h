/* SPDX-License-Identifier: MIT */
/*
 * What the verbs share.
 *
 *   checkpoint.c   the table, keep, list, drop, verify
 *   trees.c        folders of the file system as trees of the store, and their paths
 *   changes.c      changes
 *   rollback.c     rollback, and what it writes before
 *   holders.c      programs that have open what was replaced
 *   takes.c        parameters and members
 *   export.c       a checkpoint as a tar
 *   import.c       a tar as a checkpoint
 *   contents.c     a checkpoint of another store
 */
#ifndef OD_CHECKPOINT_OWN_H
#define OD_CHECKPOINT_OWN_H

#include "checkpoint/checkpoint.h"
#include "checkpoint/diff.h"
#include "checkpoint/levels.h"
#include "checkpoint/record.h"
#include "checkpoint/scan.h"

#include <limits.h>

enum { TREES_MAX = 32, GAPS_SHOWN = 100 };

/* The folders of one checkpoint, as they are in the file system or in a record. */
struct trees {
    size_t n;
    char *path[TREES_MAX]; /* owned, absolute, without links */
    int fd[TREES_MAX];     /* -1: not open */
};

/* Opens a path from the root of the file system, through no link. -1 with errno. */
int tree_open(const char *path);
/* The folders of the call: its `dir`, or its dirs, or cwd. Returns -1 and sets *e. */
int trees_of_call(const struct checkpoint_call *q, struct trees *t, struct err *e);
/* Those of a record. Returns -1 and sets *e. */
int trees_of_record(const struct json *record, struct trees *t, struct err *e);
/* Opens them. Returns -1 and sets *e. */
int trees_open(struct trees *t, struct err *e);
void trees_release(struct trees *t);

/* Paths of the call, sorted by tree. */
struct chosen {
    struct str *paths[TREES_MAX]; /* owned arrays of owned slices */
    size_t n[TREES_MAX];
    bool any; /* else everything */
};
/* Reads the paths of args. Returns -1 and sets *e: one is in none of the folders. */
int chosen_of_call(const struct checkpoint_call *q, const struct json *args,
                   const struct trees *t, struct chosen *out, struct err *e);
void chosen_release(struct chosen *c);

/* Totals of scans, and their gaps as JSON. */
struct scanned {
    uint64_t files, folders, others, bytes, gaps, read;
    struct json *list; /* owned; NULL: none */
    const char *root;
};
/*
 * Scans all folders. last: a record with the same folders, or NULL. stat_max: as in
 * struct tree_scan. tree becomes the manifest whose entries are the folders. watch: it
 * may use the watches of the call, and the caller ends *watch when tree is in the store;
 * NULL: it reads all. Returns -1 and sets *e.
 */
int trees_scan(const struct checkpoint_call *q, struct store *s, struct trees *t,
               const struct json *last, uint64_t stat_max, struct scan_watch **watch,
               struct content_ref *tree, struct scanned *out, struct err *e);
/*
 * The newest record of that user with these folders, or NULL; the caller owns it. Not
 * that of another one, who may have read what this one may not.
 */
struct json *trees_last(const struct store *s, const struct trees *t, int64_t uid);
int64_t call_uid(const struct checkpoint_call *q);
/* Opens the store with the rights of the call's user for files. */
struct store *call_store(const struct checkpoint_call *q, bool write, struct err *e);
/* Whether the call's user may use this checkpoint. Returns -1 and sets *e. */
int call_may(const struct checkpoint_call *q, const struct json *record, struct err *e);
/* Makes the record of a checkpoint and writes it. Returns it, or NULL and sets *e. */
struct json *record_make(const struct checkpoint_call *q, struct store *s,
                         const struct trees *t, const struct content_ref *tree,
                         const struct scanned *n, const char *why, struct err *e);

/* The record for people: folders as text, without what only the store needs. */
struct json *record_shown(const struct json *record);

/* Puts "NAME", and "NAME_base64" if the bytes are not valid text. */
void put_path(struct json *o, const char *name, struct str path);
/* Appends an element of the manifest of folders to f, which is called i. */
int tree_entry(struct store *s, const struct content_ref *tree, size_t i,
               struct buf *space, struct file_node *out, struct err *e);

/*
 * The changes from a to b as JSON: "changes", "added", "removed", "changed", "more".
 * Returns -1 and sets *e.
 */
struct changes_listing {
    struct store *s;
    const struct trees *t;
    const struct chosen *chosen;
    size_t limit;
    bool diff;
    bool each; /* what is in added and removed folders is listed, too */
};
int changes_list(const struct changes_listing *q, const struct content_ref *a,
                 const struct content_ref *b, struct json *out, struct err *e);

struct json *do_changes(const struct checkpoint_call *q, struct err *e);
struct json *do_rollback(const struct checkpoint_call *q, struct err *e);
struct json *do_import(const struct checkpoint_call *q, struct err *e);
struct json *do_contents(const struct checkpoint_call *q, struct err *e);
struct json *do_arrive(const struct checkpoint_call *q, struct err *e);
/* Drops checkpoints until the store is within its budget, and names them in out. */
void call_tidy(const struct checkpoint_call *q, struct json *out);
/* How the comment of a file begins that has its holes; a blank and they follow. */
#define EXPORT_HOLES "od.holes"
/* The plan of a rollback that has not ended; the caller owns it. NULL: there is none. */
struct json *rollback_plan(const struct store *s);

/* ---- holders.c ---- */

/* Files that were replaced or removed, and folders that were removed. */
struct holders {
    struct holders_file {
        uint64_t ino;
        bool folder;
    } * v; /* owned */
    size_t n, cap;
};
enum { HOLDERS_FILES = 100000, HOLDERS_SHOWN = 50 };
void holders_add(struct holders *h, const struct file_node *x);
/* Lists processes that have one open, or are in one: [{"pid", "program", "path"}]. */
struct json *holders_list(struct holders *h, const struct trees *t);
void holders_release(struct holders *h);

#endif
