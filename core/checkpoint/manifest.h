/* SPDX-License-Identifier: MIT */
/*
 * A folder, as a content of the store: its entries in the order of the bytes of their
 * names. The entry of a folder has the name of its own manifest, so folders that did not
 * change are the same contents. An entry also has what stat(2) said, by which the next
 * checkpoint sees that a file is unchanged and need not be read: there is no other cache.
 */
#ifndef OD_CHECKPOINT_MANIFEST_H
#define OD_CHECKPOINT_MANIFEST_H

#include "checkpoint/content.h"

enum { MANIFEST_MAX = 1 << 30 }; /* bytes of one folder: 10 million entries */

/* Why an entry is not all that the tree had. */
enum gap {
    GAP_NONE,
    GAP_UNREADABLE, /* it may not be read: no content */
    GAP_CHANGING,   /* it was written while it was read: the content may be mixed */
    GAP_LARGE,      /* over the limit: no content */
    GAP_MOUNT,      /* another file system is mounted there: not entered */
    GAP_DEEP,       /* too many levels: not entered */
    GAP_FAILED      /* the file system reported an error: no content */
};
/* "it may not be read" …; never NULL. */
const char *gap_words(enum gap g);
/* Whether a gap has no content at all. */
static inline bool gap_is_empty(enum gap g) { return g != GAP_NONE && g != GAP_CHANGING; }

enum entry_type {
    ENTRY_FILE = 1,
    ENTRY_FOLDER,
    ENTRY_LINK,
    ENTRY_FIFO,
    ENTRY_SOCKET,
    ENTRY_CHAR,
    ENTRY_BLOCK
};

struct moment {
    int64_t s; /* since 1970 */
    uint32_t ns;
};
static inline bool moment_eq(struct moment a, struct moment b)
{
    return a.s == b.s && a.ns == b.ns;
}

struct file_node {
    struct str name; /* of any bytes but NUL and slash */
    enum entry_type type;
    enum gap gap;
    bool racy;   /* it may have changed after it was read, without a trace in its times */
    bool shared; /* a file with several names */
    uint32_t mode; /* 07777 */
    uint32_t uid, gid;
    struct moment mtime, ctime;
    uint64_t dev, ino;          /* dev: 0 unless shared */
    uint64_t size;              /* of a file */
    uint64_t device;            /* of CHAR and BLOCK */
    struct content_ref content; /* of a file; of a folder its manifest */
    struct str target;          /* of a link */
    struct str xattrs;          /* names and values (xattr.h) */
};

/* Appends it. */
void entry_write(struct buf *out, const struct file_node *x);
/*
 * Cuts the next entry off a manifest; what it points to is in there. Returns 1; 0 at the
 * end; -1 if it is damaged. raw, if not NULL, gets its bytes.
 */
int entry_read(struct str *rest, struct file_node *x, struct str *raw);
/* What entry_same found to differ. */
enum {
    DIFFERS_TYPE = 1,
    DIFFERS_CONTENT = 2, /* also a link's target, a device's number */
    DIFFERS_MODE = 4,
    DIFFERS_OWNER = 8,
    DIFFERS_TIME = 16,
    DIFFERS_XATTRS = 32,
    DIFFERS_NAMES = 64 /* other names of a file: links.h */
};
/* Compares all but name and place, and of folders all but what is in them. */
unsigned entry_differs(const struct file_node *a, const struct file_node *b);
const char *entry_type_name(enum entry_type t);

/* Two manifests side by side. */
struct pairs_merge {
    struct str a, b;
    struct file_node x, y;
    int has_x, has_y;
};
void merge_init(struct pairs_merge *m, struct str a, struct str b);
/*
 * The next name: *x and *y, which are NULL before the first call and unchanged between
 * calls, become its entries, NULL where there is none. Returns 1; 0 at the
 * end; -1 and sets *e if a manifest is damaged.
 */
int merge_next(struct pairs_merge *m, const struct file_node **x,
               const struct file_node **y, struct err *e);

#endif
