/* SPDX-License-Identifier: MIT */
/*
 * GIT_PATCH. The working tree is added to an index of our own, with a folder of objects
 * of our own that has the repository's as an alternate (gitrepository-layout(5)): so
 * nothing is written to the repository, which may be read-only.
 */
#include "base/xalloc.h"
#include "git/own.h"
#include "os/remove.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SKIPPED_MAX = 100 };

struct patching {
    struct git *g;
    char dir[PATH_MAX]; /* our folder */
    struct buf env;     /* the strings of g->extra */
    char **specs;       /* owned: pathspecs */
    size_t n;
};

/* ---- our folder ---- */

static const char *temporary(const struct git *g)
{
    for (size_t i = 0; g->q->env[i]; i++) {
        if (strncmp(g->q->env[i], "TMPDIR=/", 8) == 0)
            return g->q->env[i] + 7;
    }
    return "/tmp";
}

static int make_dir(struct patching *p, struct err *e)
{
    char beside[PATH_MAX + 4];
    snprintf(beside, sizeof(beside), "%s/..", p->g->root);
    const char *const places[] = {p->g->q->scratch, temporary(p->g), beside};
    for (size_t i = 0; i < 3; i++) {
        if (!places[i] || snprintf(p->dir, sizeof(p->dir), "%.*s/.od-git-XXXXXX",
                                   PATH_MAX - 64, places[i]) < 0)
            continue;
        if (mkdtemp(p->dir)) {
            job_note(p->g->c, str_of(p->dir));
            return 0;
        }
    }
    int why = errno;
    p->dir[0] = 0;
    return err_sys(e, why, "cannot make a folder for a patch of %s", p->g->path);
}

/* As git reads GIT_ALTERNATE_OBJECT_DIRECTORIES: with quotes, any name may be there. */
static void add_quoted(struct buf *b, const char *path)
{
    buf_addc(b, '"');
    for (; *path; path++) {
        if (*path == '"' || *path == '\\')
            buf_addc(b, '\\');
        buf_addc(b, *path);
    }
    buf_addc(b, '"');
}

static int use_dir(struct patching *p, struct err *e)
{
    struct git *g = p->g;
    char objects[PATH_MAX], full[2 * PATH_MAX];
    if (GIT_LINE(g, objects, e, "rev-parse", "--git-path", "objects") < 0)
        return -1;
    if (!objects[0])
        return err_set(e, ERR_IO, "git does not report where its objects are");
    snprintf(full, sizeof(full), "%s%s%s", objects[0] == '/' ? "" : g->path,
             objects[0] == '/' ? "" : "/", objects);
    buf_addf(&p->env, "GIT_INDEX_FILE=%s/index%c", p->dir, 0);
    size_t second = p->env.n;
    buf_addf(&p->env, "GIT_OBJECT_DIRECTORY=%s/objects%c", p->dir, 0);
    size_t third = p->env.n;
    buf_addz(&p->env, "GIT_ALTERNATE_OBJECT_DIRECTORIES=");
    add_quoted(&p->env, full);
    snprintf(full, sizeof(full), "%s/objects", p->dir);
    if (buf_full(&p->env) || mkdir(full, 0700) < 0)
        return err_sys(e, errno, "cannot make %s", full);
    g->extra[0] = buf_z(&p->env);
    g->extra[1] = buf_z(&p->env) + second;
    g->extra[2] = buf_z(&p->env) + third;
    return 0;
}

/* ---- what is left out ---- */

static void add_spec(struct patching *p, const char *before, struct str pattern,
                     const char *after)
{
    struct buf b = BUF_INIT(2 * PATH_MAX);
    buf_addz(&b, before);
    buf_adds(&b, pattern);
    buf_addz(&b, after);
    p->specs[p->n++] = buf_take(&b);
}

/* A name is of any folder; a pattern with a slash counts from the folder asked about. */
static void exclude(struct patching *p, struct str pattern)
{
    bool folders = str_ends(pattern, STR("/"));
    while (str_ends(pattern, STR("/")))
        pattern.n--;
    bool anchored = str_chr(pattern, '/') >= 0;
    while (str_starts(pattern, STR("/")))
        pattern = str_sub(pattern, 1, pattern.n);
    const char *before = anchored ? ":(exclude,glob)" : ":(exclude,glob)**/";
    if (pattern.n == 0)
        return;
    if (!folders)
        add_spec(p, before, pattern, "");
    add_spec(p, before, pattern, "/**");
}

/* git add fails at a repository without a commit; each of these is left out. */
static int exclude_empty(struct patching *p, struct err *e)
{
    struct git *g = p->g;
    struct buf list = BUF_INIT(GIT_RESULT_MAX);
    char home[PATH_MAX], inner[PATH_MAX], sha[GIT_SHA + 1];
    unsigned n = 0;
    int rc = GIT_RUN(g, e, "ls-files", "--others", "--exclude-standard", "-z");
    memcpy(home, g->path, sizeof(home));
    if (rc >= 0)
        buf_adds(&list, buf_str(&g->text));
    struct str rest = buf_str(&list);
    while (rc >= 0 && rest.n > 0 && n < SKIPPED_MAX) {
        struct str path = str_cut(&rest, 0);
        if (!str_ends(path, STR("/")) || snprintf(inner, sizeof(inner), "%s/%.*s", home,
                                                  STR_ARG(path)) >= (int)sizeof(inner))
            continue;
        memcpy(g->path, inner, sizeof(inner));
        rc = git_try_commit(g, "HEAD", sha, e);
        memcpy(g->path, home, sizeof(home));
        if (rc == 0 && !sha[0]) {
            add_spec(p, ":(exclude,literal)", str_sub(path, 0, path.n - 1), "");
            n++;
        }
    }
    buf_release(&list);
    return rc < 0 ? -1 : 0;
}

/* ---- the patch ---- */

static int run_with_specs(struct patching *p, struct err *e, const char *const *args)
{
    size_t n = 0;
    const char **all = xcalloc(GIT_ARGS_MAX + 1, sizeof(*all));
    for (; args[n]; n++)
        all[n] = args[n];
    all[n++] = "--";
    all[n++] = ".";
    for (size_t i = 0; i < p->n && n < GIT_ARGS_MAX; i++)
        all[n++] = p->specs[i];
    int rc = git_run(p->g, e, all);
    free(all);
    return rc;
}

static int make_patch(struct patching *p, struct err *e)
{
    struct git *g = p->g;
    char base[GIT_SHA + 1];
    bool commit;
    if (git_base_of(g, g->q->ref, GIT_BASE_EXPORTED, base, &commit, e) < 0 ||
        make_dir(p, e) < 0)
        return -1;
    for (size_t i = 0; i < g->q->excludes_n; i++)
        exclude(p, str_of(g->q->excludes[i]));
    if (exclude_empty(p, e) < 0 || use_dir(p, e) < 0 ||
        GIT_RUN(g, e, "read-tree", base) < 0)
        return -1;
    if (run_with_specs(p, e,
                       (const char *const[]){"add", "-A", "--ignore-errors", NULL}) < 0) {
        if (!strstr(e->text, "did not match any files"))
            return -1;
        *e = (struct err)ERR_INIT; /* the folder is empty */
    }
    g->out_fd = g->c->out;
    int rc = run_with_specs(p, e,
                            (const char *const[]){"diff", "--cached", "--binary",
                                                  "--full-index", "--no-renames",
                                                  "--no-color", "--no-ext-diff",
                                                  "--no-textconv", "--src-prefix=a/",
                                                  "--dst-prefix=b/", base, NULL});
    g->out_fd = -1;
    return rc < 0 ? -1 : 0;
}

int git_patch(struct git *g, struct err *e)
{
    struct patching p = {.g = g, .env = BUF_INIT(8 * PATH_MAX)};
    if (!git_find(g, g->q->path))
        return err_set(e, ERR_INVALID, "%s is in no git repository", g->q->path);
    if (2 * g->q->excludes_n + SKIPPED_MAX + 20 > GIT_ARGS_MAX)
        return err_set(e, ERR_LIMIT, "there are more than %d patterns of excluded files",
                       (GIT_ARGS_MAX - SKIPPED_MAX - 20) / 2);
    p.specs = xcalloc(GIT_ARGS_MAX, sizeof(*p.specs));
    int rc = make_patch(&p, e);
    if (p.dir[0])
        remove_tree(p.dir);
    for (size_t i = 0; i < p.n; i++)
        free(p.specs[i]);
    free(p.specs);
    buf_release(&p.env);
    return rc;
}
