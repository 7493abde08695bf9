/* SPDX-License-Identifier: MIT */
/* Two versions of a file, commits, and what the repository is. */
#include "base/utf8.h"
#include "git/own.h"
#include "os/file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int not_a_repository(struct git *g)
{
    buf_addz(&g->out, "\"repository\":false");
    return 0;
}

/* A name and its text, null if that is empty. */
static void put_text(struct git *g, const char *name, const char *text)
{
    buf_addf(&g->out, ",\"%s\":", name);
    if (text[0])
        json_quote(&g->out, str_of(text));
    else
        buf_addz(&g->out, "null");
}

/* ---- GIT_FILE ---- */

/* One version: text, or none, or only a size because it is too large. */
struct git_version {
    struct buf text;
    bool there;
    uint64_t size;
};

/* Reads the version in a commit or tree. */
static int read_blob(struct git *g, const char *tree, const char *path,
                     struct git_version *v, struct err *e)
{
    char spec[GIT_SHA + PATH_MAX + 8], size[32];
    snprintf(spec, sizeof(spec), "%s:%s", tree, path);
    if (GIT_LINE(g, size, e, "cat-file", "-s", spec) < 0)
        return -1;
    if (!size[0] || str_to_u64(str_of(size), &v->size) < 0 || v->size > GIT_FILE_MAX)
        return 0;
    int rc = GIT_RUN(g, e, "cat-file", "blob", spec);
    if (rc < 0 && e->code != ERR_IO)
        return -1;
    if (rc < 0) { /* it is a folder, or a commit */
        *e = (struct err)ERR_INIT;
        return 0;
    }
    v->there = true;
    buf_adds(&v->text, buf_str(&g->text));
    return 0;
}

/* Reads the version on the disk; that of a link is its target, as in a commit. */
static int read_disk(const char *path, struct git_version *v, struct err *e)
{
    char target[PATH_MAX];
    struct stat st;
    if (lstat(path, &st) < 0 || S_ISDIR(st.st_mode))
        return 0;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(path, target, sizeof(target));
        v->there = n >= 0 && buf_add(&v->text, target, (size_t)n) == 0;
        return 0;
    }
    v->there = true;
    v->size = (uint64_t)st.st_size;
    if (v->size > GIT_FILE_MAX)
        return 0;
    int rc = file_read(path, GIT_FILE_MAX, &v->text, e);
    if (rc < 0 && e->code == ERR_DENIED) { /* there, and no text that can be shown */
        buf_addc(&v->text, (char)0xff);
        *e = (struct err)ERR_INIT;
        rc = 0;
    }
    return rc;
}

static void put_version(struct git *g, const char *name, const struct git_version *v)
{
    buf_addf(&g->out, ",\"%s\":", name);
    if (!v->there)
        buf_addz(&g->out, "null");
    else if (!utf8_valid(buf_str(&v->text)))
        buf_addz(&g->out, "\"\"");
    else
        json_quote(&g->out, buf_str(&v->text));
}

/*
 * Finds the repository of a file, which may be deleted with its folder; rel is its path
 * there. Returns false if it is in none.
 */
static bool find_file(struct git *g, char rel[PATH_MAX])
{
    char folder[PATH_MAX];
    size_t n = strlen(g->q->path);
    if (n >= sizeof(folder) || g->q->path[0] != '/')
        return false;
    memcpy(folder, g->q->path, n + 1);
    while (n > 1 && folder[n - 1] == '/')
        folder[--n] = 0;
    for (;;) {
        char *slash = strrchr(folder, '/');
        if (!slash || slash[1] == 0)
            return false;
        *slash = 0;
        struct stat st;
        if (stat(folder[0] ? folder : "/", &st) == 0)
            break;
    }
    if (!git_find(g, folder[0] ? folder : "/"))
        return false;
    size_t root = strlen(g->root) == 1 ? 0 : strlen(g->root);
    const char *below = g->path + (strlen(g->path) > root ? root + 1 : root);
    const char *rest = g->q->path + strlen(folder);
    while (*rest == '/')
        rest++;
    if (snprintf(rel, PATH_MAX, "%s%s%s", below, *below ? "/" : "", rest) >= PATH_MAX)
        return false;
    memcpy(g->path, g->root, sizeof(g->root));
    return true;
}

/* The two commits, or the base and "". */
static int find_versions(struct git *g, char old[GIT_SHA + 1], char new[GIT_SHA + 1],
                         struct err *e)
{
    char spec[GIT_SHA + 8];
    bool commit;
    new[0] = 0;
    if (!g->q->commit)
        return git_base_of(g, g->q->ref, GIT_BASE_SHOWN, old, &commit, e);
    if (git_commit_of(g, g->q->commit, new, e) < 0)
        return -1;
    snprintf(spec, sizeof(spec), "%s^1", new);
    if (git_try_commit(g, spec, old, e) < 0)
        return -1;
    return old[0] ? 0 : git_empty_tree(g, old, e);
}

int git_file(struct git *g, struct err *e)
{
    struct git_version a = {.text = BUF_INIT(GIT_FILE_MAX)},
                       b = {.text = BUF_INIT(GIT_FILE_MAX)};
    char old[GIT_SHA + 1], new[GIT_SHA + 1], rel[PATH_MAX];
    if (!find_file(g, rel))
        return not_a_repository(g);
    int rc = find_versions(g, old, new, e);
    if (rc == 0)
        rc = read_blob(g, old, rel, &a, e);
    if (rc == 0)
        rc = new[0] ? read_blob(g, new, rel, &b, e) : read_disk(g->q->path, &b, e);
    buf_addz(&g->out, "\"repository\":true");
    if (a.size > GIT_FILE_MAX || b.size > GIT_FILE_MAX) {
        buf_addf(&g->out, ",\"size\":%llu",
                 (unsigned long long)(b.size > a.size ? b.size : a.size));
    } else {
        put_version(g, "old", &a);
        put_version(g, "new", &b);
    }
    buf_release(&a.text);
    buf_release(&b.text);
    return rc;
}

/* ---- GIT_COMMITS ---- */

static void put_commit(struct git *g, struct str record)
{
    static const char *const names[] = {"sha", "short", "time", "author"};
    buf_addc(&g->out, '{');
    for (size_t i = 0; i < 4; i++) {
        buf_addf(&g->out, "\"%s\":", names[i]);
        json_quote(&g->out, str_cut(&record, '\n'));
        buf_addc(&g->out, ',');
    }
    buf_addz(&g->out, "\"subject\":");
    json_quote(&g->out, record);
    buf_addc(&g->out, '}');
}

int git_commits(struct git *g, struct err *e)
{
    char sha[GIT_SHA + 1], n[16];
    unsigned limit = g->q->limit < GIT_COMMITS_MAX ? g->q->limit : GIT_COMMITS_MAX;
    bool more = false;
    if (!git_find(g, g->q->path))
        return not_a_repository(g);
    snprintf(n, sizeof(n), "%u", limit + 1);
    if (git_try_commit(g, "HEAD", sha, e) < 0)
        return -1;
    buf_reset(&g->text);
    if (sha[0] &&
        GIT_RUN(g, e, "log", "-z", "--encoding=UTF-8", "--no-show-signature",
                "--format=tformat:%H%n%h%n%aI%n%an%n%s", "-n", n, sha, "--") < 0)
        return -1;
    struct str rest = sha[0] ? buf_str(&g->text) : STR("");
    buf_addz(&g->out, "\"repository\":true,\"commits\":[");
    for (unsigned i = 0; rest.n > 0; i++) {
        struct str record = str_cut(&rest, 0);
        if (i == limit) {
            more = true;
            break;
        }
        if (i > 0)
            buf_addc(&g->out, ',');
        put_commit(g, record);
    }
    buf_addf(&g->out, "],\"more\":%s", more ? "true" : "false");
    return 0;
}

/* ---- GIT_ABOUT ---- */

static int put_about(struct git *g, struct err *e)
{
    char remote[4096], branch[GIT_REF_MAX], head[GIT_SHA + 1], base[GIT_SHA + 1];
    bool commit;
    if (GIT_LINE(g, remote, e, "config", "--get", "remote.origin.url") < 0 ||
        GIT_LINE(g, branch, e, "symbolic-ref", "--quiet", "--short", "HEAD") < 0 ||
        git_try_commit(g, "HEAD", head, e) < 0 ||
        git_base_of(g, g->q->ref, GIT_BASE_EXPORTED, base, &commit, e) < 0)
        return -1;
    buf_addz(&g->out, ",\"program\":true");
    put_text(g, "remote", remote);
    put_text(g, "branch", branch);
    put_text(g, "head", head);
    put_text(g, "base", commit ? base : "");
    return 0;
}

int git_about(struct git *g, struct err *e)
{
    char found[PATH_MAX];
    bool searched = !git_has_git(g->q->path) && git_search(g->q->path, found);
    const char *path = searched ? found : g->q->path;
    bool is = git_find(g, path);
    buf_addf(&g->out, "\"repository\":%s", is ? "true" : "false");
    put_text(g, "path", path);
    if (!is)
        return 0;
    put_text(g, "root", g->root);
    int rc = put_about(g, e);
    if (rc < 0 && e->code == ERR_GONE) {
        *e = (struct err)ERR_INIT;
        buf_reset(&g->out);
        buf_addz(&g->out, "\"repository\":false");
        put_text(g, "path", path);
        rc = 0;
    }
    if (rc < 0 && e->code == ERR_UNSUPPORTED) {
        *e = (struct err)ERR_INIT;
        buf_addz(&g->out, ",\"program\":false");
        rc = 0;
    }
    return rc;
}
