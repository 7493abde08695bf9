/* SPDX-License-Identifier: MIT */
/*
 * GET /api/file/archive: a folder as tar.gz, or its changes as a patch. First git reports
 * about the folder, for the fields of the answer; then the bytes are sent as they are
 * made, so that no temporary archive is needed.
 */
#include "front/v1/work.h"

#include "base/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { EXCLUDES_MAX = 400 };

static const char *const usual[] = {".git/",          "node_modules/", ".venv/",
                                    "venv/",          "__pycache__/",  ".mypy_cache/",
                                    ".pytest_cache/", ".ruff_cache/",  "dist/",
                                    "build/",         ".next/",        "target/",
                                    "*.pyc"};
enum { USUAL = sizeof(usual) / sizeof(usual[0]) };

/* Appends a value in the form of a header field. Returns false if there is none. */
static bool quoted(struct buf *b, const struct json *about, const char *name)
{
    struct str s = json_str(about, name, "");
    buf_reset(b);
    work_quote(b, s, "");
    return s.n > 0;
}

/* ---- secrets in a URL ---- */

static bool is_secret_name(struct str name)
{
    static const char *const words[] = {"token", "key",       "secret",    "password",
                                        "auth",  "signature", "credential"};
    char low[65] = "";
    for (size_t i = 0; i < name.n && i < 64; i++)
        low[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32
                                                             : name.p[i]);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(low, words[i]))
            return true;
    }
    return false;
}

/* Replaces user:password@ by ****@, and secret values of the query by <redacted>. */
static void redact(struct buf *out, struct str url)
{
    long scheme = str_find(url, STR("://"));
    struct str query = url, head = str_cut(&query, '?');
    bool has_query = head.n < url.n;
    if (scheme >= 0) {
        struct str rest = str_sub(head, (size_t)scheme + 3, head.n);
        struct str path = rest, host = str_cut(&path, '/');
        long at = -1;
        for (size_t i = 0; i < host.n; i++)
            at = host.p[i] == '@' ? (long)i : at;
        buf_adds(out, str_sub(head, 0, (size_t)scheme + 3));
        if (at >= 0)
            buf_addz(out, "****");
        buf_adds(out, str_sub(rest, at >= 0 ? (size_t)at : 0, rest.n));
    } else {
        buf_adds(out, head);
    }
    for (char sep = '?'; has_query && query.n > 0; sep = '&') {
        struct str value = str_cut(&query, '&'), whole = value;
        struct str name = str_cut(&value, '=');
        buf_addc(out, sep);
        if (is_secret_name(name))
            buf_addf(out, "%.*s=<redacted>", STR_ARG(name));
        else
            buf_adds(out, whole);
    }
}

/* ---- the fields ---- */

static void put_field(struct req *r, const char *name, struct buf *b)
{
    req_header_add(r, name, buf_z(b));
}

/* Adds a ref. It is valid for git but was sent by the peer: bytes that would end a field
 * are left out. */
static void put_ref(struct req *r, struct str ref)
{
    struct buf b = BUF_INIT(4096);
    for (size_t i = 0; i < ref.n; i++) {
        unsigned char c = (unsigned char)ref.p[i];
        buf_addf(&b, c > ' ' && c < 0x7f ? "%c" : "%%%02X", c);
    }
    put_field(r, "X-Archive-Base-Ref", &b);
    buf_release(&b);
}

static void put_fields(struct work *w, const struct json *about, bool delta)
{
    struct buf b = BUF_INIT(8 * V1_PATH_MAX), url = BUF_INIT(V1_PATH_MAX + 64);
    struct str remote = json_str(about, "remote", "");
    if (remote.n > 0) {
        redact(&url, remote);
        work_quote(&b, buf_str(&url), "");
        put_field(w->req, "X-Archive-Repo-Remote", &b);
    }
    if (!quoted(&b, about, "branch"))
        buf_addz(&b, "DETACHED");
    put_field(w->req, "X-Archive-Branch", &b);
    if (quoted(&b, about, "head"))
        put_field(w->req, "X-Archive-Head-Commit", &b);
    if (quoted(&b, about, "root"))
        put_field(w->req, "X-Archive-Repo-Root", &b);
    if (delta && quoted(&b, about, "base")) {
        put_field(w->req, "X-Archive-Base-Commit", &b);
        put_ref(w->req, json_str(w->query, "base_ref", "auto"));
    }
    buf_release(&b);
    buf_release(&url);
}

static void put_name(struct work *w, const char *suffix)
{
    struct buf b = BUF_INIT(V1_PATH_MAX);
    buf_addf(&b, "%s%s", work_base(w->path), suffix);
    work_attachment(w->req, buf_z(&b));
    buf_release(&b);
}

/* ---- excludes ---- */

/* Collects the patterns to exclude, borrowed from the query. Returns their number. */
static size_t excludes(const struct work *w, const char *out[EXCLUDES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < USUAL && json_bool(w->query, "use_default_excludes", true);
         i++)
        out[n++] = usual[i];
    for (struct json *x = json_first(json_get(w->query, "exclude"));
         x && n < EXCLUDES_MAX; x = json_next(x))
        out[n++] = json_str_value(x, "").p;
    return n;
}

/* ---- tar.gz ---- */

static void on_snapshot(struct work *w, const struct json *result, const struct err *e)
{
    (void)result;
    if (e->code && !w->begun)
        work_broken(w, "Failed to create archive", e);
    else
        work_sent(w, e);
}

static void send_snapshot(struct work *w)
{
    const char *list[EXCLUDES_MAX];
    struct buf lines = BUF_INIT(1 << 20), about = BUF_INIT(1 << 20);
    struct json *args = json_object(), *report = json_object(), *names = json_array();
    size_t n = excludes(w, list);
    for (size_t i = 0; i < n; i++) {
        /* At the start of a pattern, # and ! have no special meaning here, unlike in
         * .gitignore. */
        buf_addf(&lines, "%s%s\n", list[i][0] == '#' || list[i][0] == '!' ? "\\" : "",
                 list[i]);
        json_push_str(names, str_of(list[i]));
    }
    json_put(report, "excludes", names);
    json_put_z(report, "format", "tar.gz");
    json_put_z(report, "source", work_base(w->path));
    json_print(&about, report);
    json_free(report);
    json_put_z(args, "path", w->path);
    json_put_z(args, "exclude", buf_z(&lines));
    json_put_z(args, "manifest", "archive_manifest.json");
    json_put_z(args, "about", buf_z(&about));
    buf_release(&lines);
    buf_release(&about);
    put_name(w, ".tar.gz");
    w->type = "application/gzip";
    work_file(w, "snapshot", args, on_snapshot);
}

/* ---- git-delta ---- */

static void on_patch(struct work *w, const struct json *result, const struct err *e)
{
    (void)result;
    if (e->code && !w->begun)
        work_broken(w, "Failed to create archive", e);
    else
        work_sent(w, e);
}

static void send_patch(struct work *w, const struct json *about)
{
    const char *list[EXCLUDES_MAX];
    char base[80], dir[V1_PATH_MAX];
    struct err e = ERR_INIT;
    snprintf(base, sizeof(base), "%s", json_str(about, "base", "").p);
    bool own = engine_state_folder(w->v->en, WORK_SCRATCH, 01777, dir, sizeof(dir), &e) ==
               0;
    put_name(w, ".patch");
    w->type = "text/x-patch; charset=utf-8";
    work_git(w,
             &(struct git_ask){.verb = GIT_PATCH,
                               .path = w->path,
                               .ref = base[0] ? base : NULL,
                               .scratch = own ? dir : NULL,
                               .excludes = list,
                               .excludes_n = excludes(w, list)},
             on_patch);
}

/* ---- the request ---- */

static void on_about(struct work *w, const struct json *about, const struct err *e)
{
    bool delta = str_eq(json_str(w->query, "format", "git-delta"), STR("git-delta"));
    bool is = json_bool(about, "repository", false);
    struct str path = json_str(about, "path", "");
    if (path.n > 0 && path.n < sizeof(w->path))
        memcpy(w->path, path.p, path.n + 1);
    if (!w->path[0] || !delta) {
        if (is)
            put_fields(w, about, false);
        send_snapshot(w);
    } else if (e->code == ERR_NOTFOUND) {
        work_detail(w, 400, "base_ref '%s' could not be resolved",
                    json_str(w->query, "base_ref", "").p);
    } else if (e->code) {
        work_broken(w, "Failed to create archive", e);
    } else if (!is) {
        work_detail(w, 400, "Not a git repository: %s", w->path);
    } else if (!json_bool(about, "program", false)) {
        work_detail(w, 400, "Git command not found. Is git installed?");
    } else {
        put_fields(w, about, true);
        send_patch(w, about);
    }
}

static void get_archive(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "path", .type = MODEL_STRING, .required = true},
        {.name = "format", .type = MODEL_LITERAL, .choices = "git-delta tar.gz"},
        {.name = "base_ref", .type = MODEL_STRING, .nullable = true},
        {.name = "use_default_excludes", .type = MODEL_BOOL},
        {.name = "exclude", .type = MODEL_STRINGS},
        {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct work *w = work_new(r, &m, true);
    struct stat st;
    if (!w)
        return;
    struct str ref = json_str(w->query, "base_ref", "");
    bool delta = str_eq(json_str(w->query, "format", "git-delta"), STR("git-delta"));
    size_t n = strlen(w->path);
    while (n > 1 && w->path[n - 1] == '/')
        w->path[--n] = 0;
    if (stat(w->path, &st) < 0 && errno != EACCES)
        work_detail(w, 404, "Directory not found");
    else if (stat(w->path, &st) == 0 && !S_ISDIR(st.st_mode))
        work_detail(w, 400, "Path is not a directory");
    else if (str_starts(ref, STR("-")))
        work_detail(w, 400, "base_ref must not start with '-'");
    else
        work_git(w,
                 &(struct git_ask){.verb = GIT_ABOUT,
                                   .path = w->path,
                                   .ref = delta && ref.n > 0 ? ref.p : NULL},
                 on_about);
}

static const struct param query[] = {
    {.name = "path",
     .type = PARAM_STRING,
     .required = true,
     .about = "The absolute path of the folder"},
    {.name = "format",
     .type = PARAM_STRING,
     .choices = "git-delta tar.gz",
     .dflt = "\"git-delta\"",
     .about = "A patch of the changes, or all files"},
    {.name = "base_ref",
     .type = PARAM_STRING,
     .about = "The base of the patch; by default origin's branch"},
    {.name = "use_default_excludes",
     .type = PARAM_BOOL,
     .dflt = "true",
     .about = "Whether to leave out folders that are usually built or fetched"},
    {.name = "exclude",
     .type = PARAM_STRINGS,
     .about = "Patterns of more names to leave out"},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/api/file/archive",
     .run = get_archive,
     .gives = "application/octet-stream",
     .about = "Sends a folder as tar.gz, or its changes as a patch",
     .query = query},
};

const struct http_front v1_archive_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
