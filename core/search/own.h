/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share: search.c is the parent's side, share.c the
 * exchange of work between helpers, walk.c reads folders, file.c files.
 */
#ifndef OD_SEARCH_OWN_H
#define OD_SEARCH_OWN_H

#include "base/map.h"
#include "io/job.h"
#include "search/search.h"
#include "text/ignore.h"
#include "text/pattern.h"

enum {
    SEARCH_BLOCK = 256 << 10,   /* of one read */
    SEARCH_HEAD = 64 << 10,     /* a zero byte in this part makes a file binary */
    SEARCH_HIT_MAX = 160 << 10, /* bytes of one hit as sent: less than JOB_BUFFER */
    SEARCH_SHARED = 4 << 20,    /* bytes of work that no helper has taken yet */
    SEARCH_LOCAL = 64 << 20,    /* bytes of work that one helper keeps */
    SEARCH_BATCH = 32,          /* files that are handed over together */
    SEARCH_OUT = 64 << 10       /* bytes of hits before they are sent */
};

/* ---- hits, from helper to parent ---- */

struct search_head {
    uint32_t size; /* with everything that follows: path, lines */
    uint32_t path_n;
    int64_t mtime_ns;
    uint32_t matches; /* in this hit */
    uint16_t first;   /* it is the first one of its file */
    uint16_t dropped; /* the file has lines that are not in any hit */
};

struct search_line_head {
    uint64_t number;
    uint32_t n;
    uint16_t context, cut;
};

/* ---- work ---- */

enum search_kind { SEARCH_FOLDER, SEARCH_BATCH_OF_FILES };

/*
 * Then follow rules_n numbers (below), the path, and names ended by zeros; the size is
 * rounded up to whole words.
 */
struct search_unit {
    uint32_t size; /* with what follows, and the size once more at the end */
    uint16_t kind, rules_n;
    uint32_t path_n, names_n;
    uint32_t repository; /* bool: .gitignore files count here */
    uint32_t outer;      /* bool: and those above the root count */
};

/* Lengths of the leading parts of a path that have a .gitignore. */
struct search_rules {
    uint32_t at[SEARCH_RULES_MAX];
    unsigned n;
    bool repository, outer;
};

struct search_shared {
    uint32_t lock, turn; /* futex words */
    uint32_t idle, workers, over, stop;
    uint32_t n;      /* bytes of work */
    uint64_t searched; /* files */
    char bytes[SEARCH_SHARED];
};

/* One level of folders above the root. */
struct search_outer {
    struct ignore *rules;
    struct str below; /* the root's path below that folder */
};

struct search_helper {
    const struct search_spec *spec;
    const struct job_child *child;
    struct search_shared *shared;
    struct pattern *pattern;     /* NULL: names only */
    struct buf include, exclude; /* expanded: each ended by a zero */
    int root;
    dev_t root_dev;
    /* work */
    struct buf local;
    struct buf unit;    /* the current one */
    struct map ignores; /* by folder: its struct ignore, or a mark that it has none */
    size_t ignore_bytes;
    struct search_outer outer[SEARCH_RULES_MAX];
    unsigned outer_n;
    char *outer_path; /* owned: what `below` points into */
    struct buf batch;
    unsigned batch_n;
    struct buf path; /* of the current file or folder, below the root */
    /* output */
    struct buf out, lines;
    uint64_t kept, unread;
    int64_t sent_ms;
    struct search_newest *newest; /* NULL: hits are sent as they are found */
    char *block;
    uint64_t entries[(64 << 10) / 8];
};

/* share.c */
void search_lock(struct search_shared *s);
void search_unlock(struct search_shared *s);
/* Makes a unit of work; keeps it for this helper, or shares it or an older one. */
void search_push(struct search_helper *w, enum search_kind kind, struct str path,
                 struct str names, const struct search_rules *rules);
/* Returns whether another helper waits for work. */
bool search_is_wanted(const struct search_helper *w);
/*
 * Takes a unit into w->unit. Waits while others may share one. Returns false if all work
 * is done.
 */
bool search_take(struct search_helper *w);
bool search_is_stopped(const struct search_helper *w);
/* Counts a file that has been searched for the pattern. */
void search_count_file(struct search_shared *s);
/* Makes all helpers send what they have and end. Called by the parent; does not block. */
void search_stop(struct search_shared *s);

/* walk.c: works until nothing is left. */
int search_walk(struct search_helper *w, struct err *e);
void search_unread(struct search_helper *w, const char *doing, struct str path,
                   int errnum);

/* file.c: the file `name` in the folder dir; its path is w->path. */
int search_file(struct search_helper *w, int dir, const char *name, struct err *e);
/* Adds a hit for a file that matches by its name. */
int search_hit_name(struct search_helper *w, int dir, const char *name, struct err *e);
/* Sends the hits that are not sent yet; all: also those that wait for the end. */
int search_flush(struct search_helper *w, bool all, struct err *e);

struct search_job {
    const struct search_spec *spec;
    struct search_shared *shared;
    bool first; /* the first helper, which searches a root that is a file */
};

job_fn search_child;

#endif
