/* SPDX-License-Identifier: MIT */
/*
 * Searching a tree of files by name and by what is in them: find, glob and grep, in
 * helpers, as many as there are processors, that divide the tree among themselves.
 *
 * Whatever the tree is, a search ends, at the latest when its time is over, and takes
 * a bounded memory: symbolic links to folders are not followed, pipes, sockets and
 * devices are not opened, file systems that the kernel invents (/proc, /sys) are not
 * entered, and lines, matches and files are counted beyond what is kept of them.
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
    SEARCH_PATH_MAX = 32 << 10, /* below the folder; what is deeper is not searched */
    SEARCH_LINE_MAX = 1 << 20,  /* longer ones are searched in pieces of this size */
    SEARCH_LINE_KEPT = 4 << 10, /* bytes of a line that are told, at most */
    SEARCH_NEWEST_MAX = 10000,  /* files_max with SEARCH_NEWEST */
    SEARCH_CONTEXT_MAX = 100,   /* lines before and behind a match */
    SEARCH_RULES_MAX = 32,      /* .gitignore files that one file is subject to */
    SEARCH_TIME_MAX_MS = 600000
};

enum search_what {
    SEARCH_NAMES, /* files, by their names only */
    SEARCH_FILES, /* files with a line that matches */
    SEARCH_LINES  /* and those lines */
};

/* All of it is borrowed during search_start only. */
struct search_spec {
    const char *root; /* a folder; with FILES and LINES also a file, but for */
    bool folder;      /* not a file, */
    bool file;        /* not a folder */
    enum search_what what;
    struct str pattern; /* not with NAMES */
    bool fixed;         /* it is no regular expression */
    bool ignore_case;
    struct str name_part; /* of a file's name; empty: any */
    /*
     * Shell patterns (text/glob.h) with {a,b}. Without a slash they are for the name,
     * else for the path below root. A file that is included is searched though it be
     * hidden or ignored, if its folder is.
     */
    struct str include, exclude; /* empty: all; none. Excluded folders are not entered */
    bool hidden_files, hidden_folders; /* names that begin with a dot, too */
    bool binary;      /* files with a zero byte in their first 64 KiB, too */
    bool gitignore;   /* leave out what .gitignore files say, where it is a repository */
    bool links;       /* to files, too; with NAMES all that is no folder */
    bool newest;      /* sorted by time, newest first, and those are kept; else by path */
    bool count;       /* go on beyond files_max, to know how many there are */
    size_t files_max; /* that are kept; 0: as many as there is room for */
    size_t lines_max; /* when so many are, no more are kept; 0: likewise */
    unsigned before, after; /* lines of context */
    int64_t time_ms;        /* 0: SEARCH_TIME_MAX_MS */
    /* The helpers become this user (io/job.h). */
    bool as_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    const char *cwd; /* what a relative root is relative to; NULL: ours */
};

struct search_hit {
    struct str path;  /* below root, without a leading slash; of a file as root, empty */
    int64_t mtime_ns; /* with newest */
    struct str lines; /* for search_next_line */
};

struct search_line {
    uint64_t number; /* from 1 */
    struct str text; /* without the newline; any bytes */
    bool context;    /* no match itself */
    bool cut;        /* there is more of it */
};

struct search_result {
    struct err err; /* ERR_NONE; else nothing else counts */
    /* A file with very many lines has several, one after the other. */
    const struct search_hit *hits;
    size_t hits_n;
    uint64_t files, lines;  /* that match, kept or not; of lines, matches only */
    uint64_t looked;        /* files that were searched for the pattern */
    bool truncated;         /* something of them was not kept, or not looked for */
    bool timed_out;         /* time was over: there may be more */
    uint64_t unread;        /* files and folders that could not be read */
    const char *unread_why; /* of one of them; "" */
};

struct search;
/* r and what it points to are there until it returns. */
typedef void search_done_fn(void *arg, const struct search_result *r);

/*
 * The loop owns it until done, or search_cancel. What is wrong with the root (NOTFOUND:
 * there is none, or nothing to be searched; DENIED; IO) or a pattern (INVALID, LIMIT) is
 * told by done, which is called when no helper is left. NULL with e: nothing was
 * started, nothing will be told.
 */
struct search *search_start(struct loop *l, const struct search_spec *spec,
                            search_done_fn *done, void *arg, struct err *e);
/* Ends it without done; before done only. */
void search_cancel(struct search *s);
/* How many files were searched for the pattern until now. */
uint64_t search_looked_at(const struct search *s);

/* Takes the first line of what is left. */
bool search_next_line(struct str *lines, struct search_line *line);

#endif
