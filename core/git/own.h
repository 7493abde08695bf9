/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share. All of it runs in the helper, which may block.
 *
 *   git.c     the parent's side; which function does what
 *   run.c     one call of git: its options, environment and errors
 *   find.c    where repositories are
 *   base.c    which commit changes are compared with
 *   change.c  GIT_CHANGES, GIT_COMMIT_CHANGES
 *   show.c    GIT_FILE, GIT_COMMITS, GIT_ABOUT
 *   patch.c   GIT_PATCH
 */
#ifndef OD_GIT_OWN_H
#define OD_GIT_OWN_H

#include "git/git.h"

#include <limits.h>

enum {
    GIT_SHA = 64,        /* hex digits at most, of SHA-256 */
    GIT_REF_MAX = 1024,  /* bytes of the name of a ref */
    GIT_ARGS_MAX = 1000, /* of one call, without ours */
    GIT_SAID_MAX = 400   /* bytes of its error output that are shown */
};

/* A call, in the helper. */
struct git {
    const struct job_child *c;
    const struct git_ask *q;
    struct buf out;       /* the result: members of an object, without braces */
    struct buf text;      /* the output of one call of git */
    char path[PATH_MAX];  /* the folder in which git is called */
    char root[PATH_MAX];  /* the folder that has its .git */
    char **env;           /* owned */
    const char *extra[4]; /* NAME=VALUE, for the environment; NULL at the end */
    char **off;           /* owned: options that turn filters off; NULL at the end */
    bool checked;         /* off is made for root */
    int out_fd;           /* gets the output of git instead of text; -1: text does */
};

typedef int git_fn(struct git *g, struct err *e);
git_fn git_changes, git_commit_changes, git_file, git_commits, git_about, git_patch;

/* ---- run.c ---- */

/*
 * Calls git in g->path with these arguments, NULL at the end; the output is in g->text.
 * Returns its exit status, or -1 with *e: it could not run, took too long, gave too much,
 * or has failed (a status of 2 or more).
 */
int git_run(struct git *g, struct err *e, const char *const *args);
#define GIT_RUN(g, e, ...) git_run(g, e, (const char *const[]){__VA_ARGS__, NULL})
/* Gets the first line of the output; "" if git failed. Returns -1 and sets *e if it could
 * not run. */
int git_line(struct git *g, char *out, size_t size, struct err *e,
             const char *const *args);
#define GIT_LINE(g, out, e, ...) \
    git_line(g, out, sizeof(out), e, (const char *const[]){__VA_ARGS__, NULL})
/* Frees what git_run keeps for one repository, before another one is used. */
void git_leave(struct git *g);

/* ---- find.c ---- */

/* Returns whether the folder has a .git. */
bool git_has_git(const char *folder);
/*
 * Sets g->path to the folder, and g->root to the nearest one at or above it that has a
 * .git. Returns false if there is none, or the folder cannot be entered.
 */
bool git_find(struct git *g, const char *folder);
/* Finds the only repository in the folders of `folder`, at most GIT_SEARCH_DEPTH deep. */
bool git_search(const char *folder, char out[PATH_MAX]);

/* ---- base.c ---- */

enum git_base { GIT_BASE_SHOWN, GIT_BASE_EXPORTED };

/* Gets the commit that name leads to. Returns -1 and sets *e, NOTFOUND if it has none. */
int git_commit_of(struct git *g, const char *name, char sha[GIT_SHA + 1], struct err *e);
/* The same, but "" if there is none. */
int git_try_commit(struct git *g, const char *name, char sha[GIT_SHA + 1], struct err *e);
/* Gets the id of the empty tree. */
int git_empty_tree(struct git *g, char sha[GIT_SHA + 1], struct err *e);
/*
 * Gets the commit of ref, or if ref is NULL that of the rule. "HEAD" without a commit is
 * the empty tree. *commit: whether it is a commit, not a tree. The error GONE means that
 * g->root only looks like a repository.
 */
int git_base_of(struct git *g, const char *ref, enum git_base rule, char sha[GIT_SHA + 1],
                bool *commit, struct err *e);

#endif
