/* SPDX-License-Identifier: MIT */
/* The rules of git.h about what changes are compared with. */
#include "git/own.h"

#include <stdio.h>

int git_try_commit(struct git *g, const char *name, char sha[GIT_SHA + 1], struct err *e)
{
    char spec[GIT_REF_MAX + 16];
    if (name[0] == '-' || /* it would be an option; no ref begins so */
        snprintf(spec, sizeof(spec), "%s^{commit}", name) >= (int)sizeof(spec))
        return sha[0] = 0, 0;
    return git_line(g, sha, GIT_SHA + 1, e,
                    (const char *const[]){"rev-parse", "--verify", "--quiet", spec,
                                          NULL});
}

int git_commit_of(struct git *g, const char *name, char sha[GIT_SHA + 1], struct err *e)
{
    if (git_try_commit(g, name, sha, e) < 0)
        return -1;
    return sha[0] ? 0 : err_set(e, ERR_NOTFOUND, "%.200s names no commit", name);
}

int git_empty_tree(struct git *g, char sha[GIT_SHA + 1], struct err *e)
{
    int rc = git_line(g, sha, GIT_SHA + 1, e,
                      (const char *const[]){"hash-object", "-t", "tree", "--stdin",
                                            NULL});
    return rc < 0 || sha[0] ? rc : err_set(e, ERR_IO, "git hash-object gives no name");
}

/* The ways to find a base. */
struct basing {
    struct git *g;
    char head[GIT_SHA + 1];
    char branch[GIT_REF_MAX]; /* "": none is checked out */
    char main[GIT_REF_MAX];   /* the ref of origin's default branch; "": none */
    char main_sha[GIT_SHA + 1];
};

/* origin/BRANCH of the branch that is checked out; "": there is none. */
static int own_branch(struct basing *b, char sha[GIT_SHA + 1], struct err *e)
{
    char ref[GIT_REF_MAX + 32];
    sha[0] = 0;
    if (!b->branch[0])
        return 0;
    snprintf(ref, sizeof(ref), "refs/remotes/origin/%s", b->branch);
    return git_try_commit(b->g, ref, sha, e);
}

static int find_default(struct basing *b, struct err *e)
{
    static const char *const usual[] = {"refs/remotes/origin/main",
                                        "refs/remotes/origin/master"};
    if (GIT_LINE(b->g, b->main, e, "symbolic-ref", "--quiet",
                 "refs/remotes/origin/HEAD") < 0 ||
        (b->main[0] && git_try_commit(b->g, b->main, b->main_sha, e) < 0))
        return -1;
    for (size_t i = 0; i < 2 && !b->main_sha[0]; i++) {
        snprintf(b->main, sizeof(b->main), "%s", usual[i]);
        if (git_try_commit(b->g, b->main, b->main_sha, e) < 0)
            return -1;
    }
    return 0;
}

/* The local main or master that HEAD grew from. */
static int local_main(struct basing *b, char sha[GIT_SHA + 1], struct err *e)
{
    static const char *const usual[] = {"main", "master"};
    char tip[GIT_SHA + 1], ref[32];
    sha[0] = 0;
    for (size_t i = 0; i < 2; i++) {
        snprintf(ref, sizeof(ref), "refs/heads/%s", usual[i]);
        if (git_try_commit(b->g, ref, tip, e) < 0)
            return -1;
        if (!tip[0])
            continue;
        if (strcmp(b->branch, usual[i]) == 0)
            return 0;
        int rc = GIT_RUN(b->g, e, "merge-base", "--is-ancestor", tip, "HEAD");
        if (rc == 0)
            memcpy(sha, tip, sizeof(tip));
        if (rc < 0 && e->code != ERR_IO)
            return -1;
        if (rc < 0)
            *e = (struct err)ERR_INIT;
        return 0;
    }
    return 0;
}

/* Returns 1 if a tracked file is changed; 0 if none is; -1 and sets *e. */
static int is_changed(struct git *g, struct err *e)
{
    return GIT_RUN(g, e, "diff", "--quiet", "--no-ext-diff", "--no-textconv", "HEAD",
                   "--");
}

static int shown(struct basing *b, char sha[GIT_SHA + 1], struct err *e)
{
    int changed = 0;
    if (own_branch(b, sha, e) < 0)
        return -1;
    if (sha[0] && strcmp(sha, b->head) == 0 && (changed = is_changed(b->g, e)) < 0)
        return -1;
    if (sha[0] && (strcmp(sha, b->head) != 0 || changed))
        return 0;
    if (find_default(b, e) < 0)
        return -1;
    if (b->main_sha[0]) {
        if (git_line(b->g, sha, GIT_SHA + 1, e,
                     (const char *const[]){"merge-base", "HEAD", b->main_sha, NULL}) < 0)
            return -1;
        if (!sha[0])
            memcpy(sha, b->main_sha, GIT_SHA + 1);
        return 0;
    }
    if (local_main(b, sha, e) < 0)
        return -1;
    if (!sha[0])
        memcpy(sha, b->head, GIT_SHA + 1);
    return 0;
}

/* "": the empty tree. */
static int exported(struct basing *b, char sha[GIT_SHA + 1], struct err *e)
{
    if (!b->branch[0]) {
        memcpy(sha, b->head, GIT_SHA + 1);
        return 0;
    }
    if (own_branch(b, sha, e) < 0)
        return -1;
    if (sha[0])
        return 0;
    if (find_default(b, e) < 0)
        return -1;
    memcpy(sha, b->main_sha, GIT_SHA + 1);
    return 0;
}

/* A .git may be something else: then no command of git works there. */
static int check_repository(struct git *g, struct err *e)
{
    char dir[PATH_MAX];
    if (GIT_LINE(g, dir, e, "rev-parse", "--git-dir") < 0)
        return -1;
    return dir[0] ? 0
                  : err_set(e, ERR_GONE, "%.200s has a .git that is not a repository",
                            g->root);
}

int git_base_of(struct git *g, const char *ref, enum git_base rule, char sha[GIT_SHA + 1],
                bool *commit, struct err *e)
{
    struct basing *b = &(struct basing){.g = g};
    int rc = 0;
    sha[0] = 0;
    if (git_try_commit(g, "HEAD", b->head, e) < 0 ||
        (!b->head[0] && check_repository(g, e) < 0))
        return -1;
    if (ref && (b->head[0] || strcmp(ref, "HEAD") != 0)) {
        rc = git_commit_of(g, ref, sha, e);
    } else if (b->head[0]) {
        if (GIT_LINE(g, b->branch, e, "symbolic-ref", "--quiet", "--short", "HEAD") < 0)
            return -1;
        rc = rule == GIT_BASE_SHOWN ? shown(b, sha, e) : exported(b, sha, e);
    }
    *commit = sha[0];
    return rc == 0 && !sha[0] ? git_empty_tree(g, sha, e) : rc;
}
