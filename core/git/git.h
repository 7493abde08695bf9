/* SPDX-License-Identifier: MIT */
/*
 * What git knows about a folder: what changed in it, two versions of a file, commits, and
 * the whole change as a patch. The image's own git(1) does the work, in a helper with the
 * caller's user (io/job.h). It changes nothing in a repository, not even its index or
 * objects.
 *
 * Repositories are not trusted. Each call of git has an argument list, never a command
 * line; an environment without GIT_* variables; a limit of time and of bytes; and options
 * that turn off its hooks, fsmonitor, pager, external diffs, text converters, credential
 * helpers, signature checks and network. Filters (git-lfs has one) run only if the
 * repository's owner is the user of the helper.
 *
 * The commit that changes are compared with if no ref is given (enum git_base):
 *
 *   GIT_BASE_SHOWN     1 no commit yet: the empty tree
 *                      2 origin/BRANCH, unless it is HEAD and no tracked file is changed
 *                      3 the merge base of HEAD and origin's default branch
 *                      4 origin's default branch
 *                      5 without an origin: main, else master, if HEAD contains it and is
 *                        on another branch
 *                      6 HEAD
 *   GIT_BASE_EXPORTED  HEAD if no branch is checked out, else origin/BRANCH, origin's
 *                      default branch, the empty tree
 *
 * The default branch of origin is where refs/remotes/origin/HEAD leads, else origin/main,
 * else origin/master. Nothing is fetched to find it.
 */
#ifndef OD_GIT_GIT_H
#define OD_GIT_GIT_H

#include "base/err.h"
#include "base/json.h"
#include "io/job.h"

enum {
    GIT_CALL_MS = 30000,      /* of one call of git */
    GIT_FILE_MAX = 1 << 20,   /* bytes of a file of GIT_FILE */
    GIT_CHANGES_MAX = 100000, /* more are the error LIMIT, and so is more than: */
    GIT_RESULT_MAX = 16 << 20,
    GIT_COMMITS_MAX = 1000, /* of limit */
    GIT_SEARCH_DEPTH = 3    /* folders below each other, of GIT_ABOUT */
};

/*
 * What is asked, and the result. Each is {"repository": false} if path is not in a
 * repository, or is not a folder; else it has "repository": true, and:
 *
 *   GIT_CHANGES         the working tree against ref, or against GIT_BASE_SHOWN:
 *                       "changes": [{"status": "added" | "updated" | "deleted",
 *                       "path"}, …] by path, which is relative to the folder asked about.
 *                       A repository in a folder of that is compared on its own
 *   GIT_COMMIT_CHANGES  the same of one commit against its first parent, as git sorts it
 *   GIT_FILE            "old" and "new": the text, "" if it is not UTF-8, null if there
 *                       is none; with commit, those of its first parent and of it, else
 *                       of the base and on the disk. Both are left out if one has more
 *                       than GIT_FILE_MAX bytes: "size" of that one
 *   GIT_COMMITS         from HEAD, the newest first: "commits": [{"sha", "short",
 *                       "subject", "author", "time"}, …]; "more": whether others follow
 *   GIT_ABOUT           "path": the folder, or the only repository in its folders if it
 *                       is none; "root", "remote" (as configured), "branch", "head",
 *                       "base" (what GIT_PATCH is against: ref, or GIT_BASE_EXPORTED):
 *                       each a string, or null. "program": false, and only path and root,
 *                       without git
 *   GIT_PATCH           no result but bytes: what leads from the base to the working
 *                       tree, with files that are new and not ignored
 *
 * Names and texts that are not UTF-8 are repaired. Errors:
 *
 *   UNSUPPORTED  there is no git in PATH
 *   NOTFOUND     ref or commit names no commit
 *   TIMEOUT, LIMIT   a call took too long, or there is too much
 *   IO           git failed: what it said
 */
enum git_verb {
    GIT_CHANGES,
    GIT_COMMIT_CHANGES,
    GIT_FILE,
    GIT_COMMITS,
    GIT_ABOUT,
    GIT_PATCH
};

struct git_call;

/* Borrowed for git_start, with all that it points to. */
struct git_ask {
    enum git_verb verb;
    const char *path;   /* absolute: a folder, of GIT_FILE a file */
    const char *ref;    /* NULL: a base by the rule */
    const char *commit; /* of GIT_COMMIT_CHANGES and GIT_FILE; NULL: none */
    unsigned limit;     /* of GIT_COMMITS */
    /* GIT_PATCH: a folder for its index and objects, else TMPDIR, /tmp or that of path */
    const char *scratch;
    const char *const *excludes; /* GIT_PATCH: patterns of pathspecs, as text/glob.h */
    size_t excludes_n;
    char *const *env; /* of the user's programs, with PATH and HOME */
    bool as_user;     /* as in struct job_spec */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
};

struct git_events {
    /* GIT_PATCH: returns how many bytes it took; if not all, git_resume goes on. */
    size_t (*data)(void *arg, struct str bytes);
    /* Called once, when the call is over. result is borrowed, NULL if e has a code. */
    void (*done)(void *arg, const struct json *result, const struct err *e);
};

/*
 * Starts a call. ev is borrowed. done is not called before this returns. Returns NULL and
 * sets *e if nothing runs.
 */
struct git_call *git_start(struct loop *l, const struct git_ask *q,
                           const struct git_events *ev, void *arg, struct err *e);
/* Ends it without done. */
void git_cancel(struct git_call *g);
void git_resume(struct git_call *g);

#endif
