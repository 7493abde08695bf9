/* SPDX-License-Identifier: MIT */
/*
 * Searching a tree of files by name and content: find, glob and grep, in one helper
 * process for each processor; the helpers divide the tree among themselves.
 *
 * A search of any tree ends, at the latest when its time is over, and its memory is
 * bounded: symbolic links to folders are not followed, pipes, sockets and devices are not
 * opened, virtual file systems (/proc, /sys) are not entered, and lines, matches and
 * files beyond the limits are only counted.
 */
#ifndef OD_SEARCH_SEARCH_H
#define OD_SEARCH_SEARCH_H

#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <sys/types.h>

enum {
    SEARCH_HELPERS_MAX = 16,
    SEARCH_KEPT_MAX = 16 << 20, /* bytes of results */
    SEARCH_PATH_MAX = 32 << 10, /* below the folder; longer paths are not searched */
    SEARCH_LINE_MAX = 1 << 20,  /* longer lines are searched in pieces of this size */
    SEARCH_LINE_KEPT = 4 << 10, /* bytes of a line in the result, at most */
    SEARCH_NEWEST_MAX = 10000,  /* files_max with SEARCH_NEWEST */
    SEARCH_CONTEXT_MAX = 100,   /* lines before and after a match */
    SEARCH_RULES_MAX = 32,      /* .gitignore files that apply to one file */
    SEARCH_TIME_MAX_MS = 600000
};

enum search_what {
    SEARCH_NAMES, /* files, by their names only */
    SEARCH_FILES, /* files with a line that matches */
    SEARCH_LINES  /* the same, and those lines */
};

/* All of it is borrowed during search_start only. */
struct search_spec {
    const char *root; /* a folder; with FILES and LINES also a file */
    bool folder;      /* root must be a folder */
    bool file;        /* root must be a file */
    enum search_what what;
    struct str pattern; /* not with NAMES */
    bool fixed;         /* a fixed text, not a regular expression */
    bool ignore_case;
    struct str name_part; /* of a file's name; empty: any */
    /*
     * Shell patterns (text/glob.h) with {a,b}. Without a slash they match the name, else
     * the path below root. An included file is searched even if it is hidden or ignored,
     * unless its folder is left out.
     */
    struct str include, exclude; /* empty: all; none. Excluded folders are not entered */
    bool hidden_files, hidden_folders; /* names that begin with a dot, too */
    bool binary;            /* files with a zero byte in their first 64 KiB, too */
    bool gitignore;         /* in a repository, leave out what .gitignore files ignore */
    bool links;             /* links to files, too; with NAMES everything but folders */
    bool newest;            /* keep the newest, sorted newest first; else sort by path */
    bool count;             /* go on beyond files_max, to count the files */
    size_t files_max;       /* files that are kept; 0: as many as there is room for */
    size_t lines_max;       /* lines that are kept, about; 0: likewise */
    unsigned before, after; /* lines of context */
    int64_t time_ms;        /* 0: SEARCH_TIME_MAX_MS */
    /* The helpers become this user (io/job.h). */
    bool as_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    const char *cwd; /* the directory for a relative root; NULL: our own */
};

struct search_hit {
    struct str path;  /* below root, without a leading slash; empty if root is a file */
    int64_t mtime_ns; /* with newest */
    struct str lines; /* for search_next_line */
};

struct search_line {
    uint64_t number; /* from 1 */
    struct str text; /* without the newline; any bytes */
    bool context;    /* a line of context, not a match */
    bool cut;        /* the line is longer than text */
};

struct search_result {
    struct err err; /* ERR_NONE; else the other members have no meaning */
    /* A file with very many lines has several hits in a row. */
    const struct search_hit *hits;
    size_t hits_n;
    uint64_t files, lines;  /* that match, kept or not; of lines, matches only */
    uint64_t searched;      /* files that were searched for the pattern */
    bool truncated;         /* some files or lines were not kept, or not searched */
    bool timed_out;         /* the time was over: there may be more */
    uint64_t unread;        /* files and folders that could not be read */
    const char *unread_why; /* of one of them; "" */
};

struct search;
/* r and all that it points to are valid until the function returns. */
typedef void search_done_fn(void *arg, const struct search_result *r);

/*
 * Starts a search, which frees itself after done or search_cancel. done is called once,
 * when no helper is left; it gets errors of the root (NOTFOUND: there is none, or it
 * cannot be searched; DENIED; IO) and of a pattern (INVALID, LIMIT). Returns NULL and
 * sets *e if nothing was started; then done is not called.
 */
struct search *search_start(struct loop *l, const struct search_spec *spec,
                            search_done_fn *done, void *arg, struct err *e);
/* Ends the search without calling done; only before done. */
void search_cancel(struct search *s);
/* The number of files that were searched for the pattern so far. */
uint64_t search_files_searched(const struct search *s);

/* Takes the first line off lines (search_hit.lines). Returns false if there is none. */
bool search_next_line(struct str *lines, struct search_line *line);

#endif
