/* SPDX-License-Identifier: MIT */
/* What changed: GIT_CHANGES and GIT_COMMIT_CHANGES. */
#include "base/xalloc.h"
#include "git/own.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { NESTED_MAX = 100 };

struct git_change {
    char status; /* A, D or M */
    char *path;  /* owned */
};

struct git_changes {
    struct git_change *v; /* owned */
    size_t n, cap;
};

static int add_change(struct git_changes *l, char status, const char *prefix,
                      struct str path, struct err *e)
{
    size_t n = strlen(prefix);
    if (l->n == GIT_CHANGES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d files have changed", GIT_CHANGES_MAX);
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->v = xrealloc(l->v, l->cap, sizeof(*l->v));
    }
    char *p = xcalloc(n + path.n + 1, 1);
    memcpy(p, prefix, n);
    memcpy(p + n, path.p, path.n);
    l->v[l->n++] = (struct git_change){status, p};
    return 0;
}

static void free_changes(struct git_changes *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
}

/* diff --name-status -z: a letter, perhaps with a number, then a path. */
static int take_names(struct git *g, struct git_changes *l, const char *prefix,
                      struct err *e)
{
    struct str rest = buf_str(&g->text);
    while (rest.n > 0) {
        struct str status = str_cut(&rest, 0), path = str_cut(&rest, 0);
        char letter = status.n ? status.p[0] : 'M';
        if (path.n > 0 && add_change(l, letter == 'A' || letter == 'D' ? letter : 'M',
                                     prefix, path, e) < 0)
            return -1;
    }
    return 0;
}

/* Gets the changes in g->path, by paths that begin with prefix. */
static int take_all(struct git *g, struct git_changes *l, const char *prefix,
                    const char *ref, struct err *e)
{
    char base[GIT_SHA + 1];
    bool commit;
    if (git_base_of(g, ref, GIT_BASE_SHOWN, base, &commit, e) < 0 ||
        GIT_RUN(g, e, "diff", "--name-status", "-z", "--no-renames", "--no-ext-diff",
                "--no-textconv", "--relative", base, "--") < 0 ||
        take_names(g, l, prefix, e) < 0)
        return -1;
    if (GIT_RUN(g, e, "ls-files", "--others", "--exclude-standard", "-z") < 0)
        return -1;
    struct str rest = buf_str(&g->text);
    while (rest.n > 0) {
        if (add_change(l, 'A', prefix, str_cut(&rest, 0), e) < 0)
            return -1;
    }
    return 0;
}

/* ---- repositories in the folder ---- */

/* The folders in g->path that have a .git of their own: their names, owned. */
static size_t find_nested(struct git *g, char *names[NESTED_MAX])
{
    DIR *d = opendir(g->path);
    struct dirent *x;
    size_t n = 0;
    while (d && n < NESTED_MAX && (x = readdir(d))) {
        char path[PATH_MAX];
        struct stat st;
        if (x->d_name[0] != '.' &&
            snprintf(path, sizeof(path), "%s/%s", g->path, x->d_name) <
                (int)sizeof(path) &&
            lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && git_has_git(path))
            names[n++] = xstrdup(x->d_name);
    }
    if (d)
        closedir(d);
    return n;
}

static void drop_below(struct git_changes *l, const char *name)
{
    size_t to = 0, n = strlen(name);
    for (size_t i = 0; i < l->n; i++) {
        const char *p = l->v[i].path;
        if (strncmp(p, name, n) == 0 && (p[n] == '/' || p[n] == 0))
            free(l->v[i].path);
        else
            l->v[to++] = l->v[i];
    }
    l->n = to;
}

/* One that git cannot read is left out. */
static int take_nested(struct git *g, struct git_changes *l, const char *folder,
                       const char *name, struct err *e)
{
    char path[PATH_MAX], prefix[NAME_MAX + 2], sha[GIT_SHA + 1] = "";
    size_t before;
    drop_below(l, name);
    before = l->n;
    snprintf(prefix, sizeof(prefix), "%s/", name);
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path) ||
        !git_find(g, path))
        return 0;
    const char *ref = g->q->ref;
    if (ref && strcmp(ref, "HEAD") != 0 && git_try_commit(g, ref, sha, e) < 0)
        return -1;
    int rc = take_all(g, l, prefix,
                      ref && (sha[0] || strcmp(ref, "HEAD") == 0) ? ref : NULL, e);
    if (rc < 0 && (e->code == ERR_IO || e->code == ERR_GONE)) {
        while (l->n > before)
            free(l->v[--l->n].path);
        *e = (struct err)ERR_INIT;
        rc = 0;
    }
    return rc;
}

/* ---- the result ---- */

static int by_path(const void *a, const void *b)
{
    const struct git_change *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* If a file has several changes, one counts: git no longer tracks it, but it exists. */
static void merge(struct git_changes *l)
{
    size_t to = 0;
    if (l->n > 1)
        qsort(l->v, l->n, sizeof(*l->v), by_path);
    for (size_t i = 0; i < l->n; i++) {
        if (to > 0 && strcmp(l->v[to - 1].path, l->v[i].path) == 0) {
            l->v[to - 1].status = l->v[to - 1].status == l->v[i].status ? l->v[i].status
                                                                        : 'M';
            free(l->v[i].path);
        } else {
            l->v[to++] = l->v[i];
        }
    }
    l->n = to;
}

static void put_changes(struct git *g, const struct git_changes *l)
{
    buf_addz(&g->out, "\"repository\":true,\"changes\":[");
    for (size_t i = 0; i < l->n; i++) {
        char c = l->v[i].status;
        buf_addf(&g->out, "%s{\"status\":\"%s\",\"path\":", i ? "," : "",
                 c == 'A'   ? "added"
                 : c == 'D' ? "deleted"
                            : "updated");
        json_quote(&g->out, str_of(l->v[i].path));
        buf_addc(&g->out, '}');
    }
    buf_addc(&g->out, ']');
}

int git_changes(struct git *g, struct err *e)
{
    struct git_changes l = {0};
    char *nested[NESTED_MAX], folder[PATH_MAX];
    if (!git_find(g, g->q->path)) {
        buf_addz(&g->out, "\"repository\":false");
        return 0;
    }
    memcpy(folder, g->path, sizeof(folder));
    int rc = take_all(g, &l, "", g->q->ref, e);
    size_t n = rc == 0 ? find_nested(g, nested) : 0;
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = take_nested(g, &l, folder, nested[i], e);
        free(nested[i]);
    }
    if (rc == 0) {
        merge(&l);
        put_changes(g, &l);
    }
    free_changes(&l);
    return rc;
}

int git_commit_changes(struct git *g, struct err *e)
{
    struct git_changes l = {0};
    char sha[GIT_SHA + 1], parent[GIT_SHA + 1], spec[GIT_SHA + 8];
    if (!git_find(g, g->q->path)) {
        buf_addz(&g->out, "\"repository\":false");
        return 0;
    }
    if (git_commit_of(g, g->q->commit, sha, e) < 0)
        return -1;
    snprintf(spec, sizeof(spec), "%s^1", sha);
    if (git_try_commit(g, spec, parent, e) < 0 ||
        (!parent[0] && git_empty_tree(g, parent, e) < 0))
        return -1;
    int rc = GIT_RUN(g, e, "diff-tree", "-r", "-z", "--no-renames", "--name-status",
                     parent, sha, "--");
    rc = rc < 0 ? -1 : take_names(g, &l, "", e);
    if (rc == 0)
        put_changes(g, &l);
    free_changes(&l);
    return rc;
}
