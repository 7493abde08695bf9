/* SPDX-License-Identifier: MIT */
/* The routes of git: the results of core/git, in the agent-server's form. */
#include "front/v1/work.h"

#include "base/xalloc.h"
#include "file/files.h"

#include <stdio.h>
#include <stdlib.h>

enum { COMMITS = 50, COMMITS_MAX = 200, SHA_MIN = 4 };

static bool is_sha(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr("0123456789abcdefABCDEF", s.p[i]) || !s.p[i])
            return false;
    }
    return s.n >= SHA_MIN && s.n <= 64;
}

#define SHA_PATTERN .pattern = "^[0-9a-fA-F]{4,64}$", .fits = is_sha

/* Appends s quoted as one word for a shell (Python's shlex.quote). */
static void shell_word(struct buf *b, struct str s)
{
    buf_addc(b, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'')
            buf_addz(b, "'\"'\"'");
        else
            buf_addc(b, s.p[i]);
    }
    buf_addc(b, '\'');
}

/* Answers with e and ends w. ref: the subject of NOTFOUND. */
static void refuse(struct work *w, const struct err *e, struct str ref)
{
    struct buf b = BUF_INIT(16 << 10), spec = BUF_INIT(8 << 10);
    if (e->code == ERR_NOTFOUND) {
        buf_addf(&spec, "%.*s^{commit}", STR_ARG(ref));
        buf_addz(&b, "Git command failed: git --no-pager rev-parse --verify ");
        shell_word(&b, buf_str(&spec));
    } else if (e->code == ERR_UNSUPPORTED) {
        buf_addz(&b, "Git command not found. Is git installed?");
    } else {
        buf_addf(&b, "Git command failed: %s", e->text);
    }
    work_detail(w, 400, "%s", buf_z(&b));
    buf_release(&b);
    buf_release(&spec);
}

/* Like work_new, also for a path that is the rest of the URL's, as before 2026. */
static struct work *work_at(struct req *r, const struct model *m)
{
    static const struct model_field none[] = {{.name = NULL}};
    static const struct model empty = {.fields = none};
    struct str rest = req_param(r, "*");
    struct work *w = work_new(r, rest.n > 0 ? &empty : m, false);
    if (w && rest.n > 0) {
        struct buf b = BUF_INIT(sizeof(w->path) - 1);
        bool full = rest.p[0] == '/';
        if (!full)
            buf_addf(&b, "%s/", w->place.cwd);
        buf_adds(&b, rest);
        memcpy(w->path, buf_z(&b), b.n + 1);
        buf_release(&b);
    }
    return w;
}

/* ---- changes ---- */

static struct json *changes_of(const struct json *result)
{
    struct json *list = json_array();
    for (struct json *c = json_first(json_get(result, "changes")); c; c = json_next(c)) {
        struct json *j = json_object();
        struct str status = json_str(c, "status", "");
        json_put_z(j, "status",
                   str_eq(status, STR("added"))     ? "ADDED"
                   : str_eq(status, STR("deleted")) ? "DELETED"
                                                    : "UPDATED");
        json_put_str(j, "path", json_str(c, "path", ""));
        json_push(list, j);
    }
    return list;
}

static void on_changes(struct work *w, const struct json *result, const struct err *e)
{
    struct str sha = req_param(w->req, "sha");
    if (e->code)
        refuse(w, e, sha.n > 0 ? sha : json_str(w->query, "ref", ""));
    else
        work_answer(w, changes_of(result));
}

/* Returns a member of the query; NULL if it is not given. */
static const char *member(const struct work *w, const char *name)
{
    struct json *j = json_get(w->query, name);
    return json_is_string(j) ? json_str_value(j, "").p : NULL;
}

static void get_changes(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "path", .type = MODEL_STRING, .required = true},
        {.name = "ref", .type = MODEL_STRING, .nullable = true},
        {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct work *w = work_at(r, &m);
    if (w)
        work_git(w,
                 &(struct git_ask){
                     .verb = GIT_CHANGES, .path = w->path, .ref = member(w, "ref")},
                 on_changes);
}

static void get_commit_changes(struct req *r)
{
    static const struct model_field sha_field = {
        .name = "sha", .type = MODEL_STRING, SHA_PATTERN};
    static const struct model_field fields[] = {
        {.name = "path", .type = MODEL_STRING, .required = true}, {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct json *errors = NULL;
    struct json *sha = model_path(&sha_field, req_param(r, "sha"), &errors);
    if (!sha) {
        model_refuse(r, errors);
        return;
    }
    struct work *w = work_new(r, &m, false);
    if (w)
        work_git(w,
                 &(struct git_ask){.verb = GIT_COMMIT_CHANGES,
                                   .path = w->path,
                                   .commit = json_str_value(sha, "").p},
                 on_changes);
    json_free(sha);
}

/* ---- two versions of a file ---- */

/* Adds a text with \n as line ends, without the last one; "" for null. */
static void put_version(struct json *to, const char *name, const struct json *result,
                        const char *from)
{
    struct buf b = BUF_INIT(GIT_FILE_MAX);
    buf_adds(&b, json_str(result, from, ""));
    files_newlines(&b);
    if (str_ends(buf_str(&b), STR("\n")))
        buf_truncate(&b, b.n - 1);
    json_put_str(to, name, buf_str(&b));
    buf_release(&b);
}

static void on_file(struct work *w, const struct json *result, const struct err *e)
{
    struct json *j;
    const char *commit = member(w, "commit");
    int64_t size = json_int(result, "size", -1);
    bool is = json_bool(result, "repository", false);
    bool nothing = !json_is_string(json_get(result, "old")) &&
                   !json_is_string(json_get(result, "new"));
    if (e->code) {
        refuse(w, e, str_of(commit ? commit : member(w, "ref")));
    } else if (size >= 0) {
        work_detail(w, 400, "File too large for git diff: %lld bytes (max: %d bytes)",
                    (long long)size, GIT_FILE_MAX);
    } else if (is && nothing && !commit) {
        work_detail(w, 400, "File does not exist: %s", w->path);
    } else if (!is) {
        j = json_object();
        json_put_null(j, "modified");
        json_put_null(j, "original");
        work_answer(w, j);
    } else {
        j = json_object();
        put_version(j, "modified", result, "new");
        put_version(j, "original", result, "old");
        work_answer(w, j);
    }
}

static void get_diff(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "path", .type = MODEL_STRING, .required = true},
        {.name = "ref", .type = MODEL_STRING, .nullable = true},
        {.name = "commit", .type = MODEL_STRING, .nullable = true, SHA_PATTERN},
        {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct work *w = work_at(r, &m);
    if (!w)
        return;
    const char *ref = member(w, "ref"), *commit = member(w, "commit");
    if (ref && commit)
        work_detail(w, 400, "'ref' and 'commit' are mutually exclusive");
    else
        work_git(w,
                 &(struct git_ask){
                     .verb = GIT_FILE, .path = w->path, .ref = ref, .commit = commit},
                 on_file);
}

/* ---- commits ---- */

static void on_commits(struct work *w, const struct json *result, const struct err *e)
{
    struct json *j, *list;
    if (e->code) {
        refuse(w, e, STR("HEAD"));
        return;
    }
    j = json_object();
    list = json_array();
    for (struct json *c = json_first(json_get(result, "commits")); c; c = json_next(c)) {
        struct json *x = json_object();
        json_put_str(x, "sha", json_str(c, "sha", ""));
        json_put_str(x, "short_sha", json_str(c, "short", ""));
        json_put_str(x, "subject", json_str(c, "subject", ""));
        json_put_str(x, "author", json_str(c, "author", ""));
        json_put_str(x, "timestamp", json_str(c, "time", ""));
        json_push(list, x);
    }
    json_put(j, "commits", list);
    json_put_bool(j, "has_more", json_bool(result, "more", false));
    work_answer(w, j);
}

static void get_commits(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "path", .type = MODEL_STRING, .required = true},
        {.name = "limit",
         .type = MODEL_INT,
         .has_ge = true,
         .has_le = true,
         .ge = 1,
         .le = COMMITS_MAX},
        {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct work *w = work_new(r, &m, false);
    if (w)
        work_git(
            w,
            &(struct git_ask){.verb = GIT_COMMITS,
                              .path = w->path,
                              .limit = (unsigned)json_int(w->query, "limit", COMMITS)},
            on_commits);
}

/* ---- routes ---- */

#define PATH(sentence) \
    { \
        .name = "path", .type = PARAM_STRING, .required = true, .about = sentence \
    }
#define REF \
    { \
        .name = "ref", .type = PARAM_STRING, \
        .about = "The base of the comparison; by default one that fits the branch" \
    }

static const struct param changes_query[] = {PATH("The folder"), REF, {0}};
static const struct param diff_query[] = {
    PATH("The file"),
    REF,
    {.name = "commit",
     .type = PARAM_STRING,
     .pattern = "^[0-9a-fA-F]{4,64}$",
     .about = "A commit, which is compared with its first parent"},
    {0}};
static const struct param commits_query[] = {PATH("The folder"),
                                             {.name = "limit",
                                              .type = PARAM_INT,
                                              .ranged = true,
                                              .min = 1,
                                              .max = COMMITS_MAX,
                                              .dflt = "50",
                                              .about = "The number of commits at most"},
                                             {0}};
static const struct param commit_query[] = {{.name = "sha",
                                             .type = PARAM_STRING,
                                             .required = true,
                                             .pattern = "^[0-9a-fA-F]{4,64}$",
                                             .about = "The commit"},
                                            PATH("The folder"),
                                            {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/api/git/changes",
     .run = get_changes,
     .about = "The changes in a folder",
     .query = changes_query},
    {.methods = HTTP_GET, .path = "/api/git/changes/*", .run = get_changes},
    {.methods = HTTP_GET,
     .path = "/api/git/diff",
     .run = get_diff,
     .about = "Two versions of a file",
     .query = diff_query},
    {.methods = HTTP_GET, .path = "/api/git/diff/*", .run = get_diff},
    {.methods = HTTP_GET,
     .path = "/api/git/commits",
     .run = get_commits,
     .about = "Commits, the newest first",
     .query = commits_query},
    {.methods = HTTP_GET,
     .path = "/api/git/commits/{sha}/changes",
     .run = get_commit_changes,
     .about = "The changes of a commit",
     .query = commit_query},
};

const struct http_front v1_git_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
