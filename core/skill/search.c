/* SPDX-License-Identifier: MIT */
/*
 * A row for each kind: the differences of its search, and how its results become text.
 */
#include "skill/search.h"

#include "base/utf8.h"
#include "base/xalloc.h"
#include "search/search.h"
#include "text/glob.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 32 << 10 };

struct skills_run {
    enum skills_search_kind kind;
    char *term, *include, *where; /* owned; include and where may be NULL */
    struct buf root;              /* for the result and for search_start */
    struct buf pattern;           /* GLOB: below root */
    struct buf raw, text, paths;
    struct search *search;
    skills_done_fn *done;
    void *arg;
};

static void free_run(struct skills_run *r)
{
    free(r->term);
    free(r->include);
    free(r->where);
    buf_release(&r->root);
    buf_release(&r->pattern);
    buf_release(&r->raw);
    buf_release(&r->text);
    buf_release(&r->paths);
    free(r);
}

/* ---- words: what agents know from Python ---- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static struct str stripped(struct str s)
{
    while (s.n && is_blank(s.p[0]))
        s = str_sub(s, 1, s.n);
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Joins the root and a path below it, as os.path.join does. */
static void add_path(struct buf *b, const struct skills_run *r, struct str below)
{
    struct str root = buf_str(&r->root);
    buf_adds(b, root);
    if (below.n && !str_ends(root, STR("/")))
        buf_addc(b, '/');
    buf_adds(b, below);
}

static void say_rest(struct skills_run *r, uint64_t shown, uint64_t all, bool timed_out)
{
    if (shown < all)
        buf_addf(&r->raw, "[%llu of them are shown. Please narrow your search.]\n",
                 (unsigned long long)shown);
    if (timed_out)
        buf_addf(&r->raw, "[Stopped after %d seconds: there may be more.]\n",
                 SKILLS_TIME_MS / 1000);
}

static void frame(struct skills_run *r, uint64_t n)
{
    buf_addf(&r->raw, "[Found %llu matches for \"%s\" in %s]\n", (unsigned long long)n,
             r->term, buf_z(&r->root));
}

static void end_frame(struct skills_run *r)
{
    buf_addf(&r->raw, "[End of matches for \"%s\" in %s]\n", r->term, buf_z(&r->root));
}

/* Whether there is room for another line, and for the text after the last one. */
static bool has_room(const struct skills_run *r, size_t n)
{
    return buf_room(&r->raw) > n + (64 << 10);
}

static void nothing_found(struct skills_run *r, bool brackets, bool timed_out)
{
    buf_addf(&r->raw, "%sNo matches found for \"%s\" in %s%s\n", brackets ? "[" : "",
             r->term, buf_z(&r->root), brackets ? "]" : "");
    say_rest(r, 0, 0, timed_out);
}

static void tell_names(struct skills_run *r, const struct search_result *s)
{
    uint64_t shown = 0;
    if (!s->files) {
        nothing_found(r, true, s->timed_out);
        return;
    }
    frame(r, s->files);
    for (size_t i = 0; i < s->hits_n && shown < SKILLS_FOUND_MAX; i++, shown++) {
        if (!has_room(r, PATH_BYTES))
            break;
        add_path(&r->raw, r, s->hits[i].path);
        buf_addc(&r->raw, '\n');
    }
    say_rest(r, shown, s->files, s->timed_out);
    end_frame(r);
}

static void tell_lines(struct skills_run *r, const struct search_result *s)
{
    bool dir = r->kind == SKILLS_SEARCH_DIR;
    uint64_t shown = 0;
    if (!s->files) {
        nothing_found(r, !dir, s->timed_out);
        return;
    }
    if (dir && s->files > SKILLS_FILES_MAX) {
        buf_addf(&r->raw,
                 "More than %llu files matched for \"%s\" in %s. Please narrow your "
                 "search.\n",
                 (unsigned long long)s->files, r->term, buf_z(&r->root));
        return;
    }
    frame(r, s->lines);
    for (size_t i = 0; i < s->hits_n; i++) {
        struct str lines = s->hits[i].lines;
        struct search_line x;
        while (shown < SKILLS_FOUND_MAX && has_room(r, PATH_BYTES) &&
               search_next_line(&lines, &x)) {
            if (dir) {
                add_path(&r->raw, r, s->hits[i].path);
                buf_addf(&r->raw, " (Line %llu): ", (unsigned long long)x.number);
            } else {
                buf_addf(&r->raw, "Line %llu: ", (unsigned long long)x.number);
            }
            buf_adds(&r->raw, stripped(x.text));
            buf_addz(&r->raw, x.cut ? "…\n" : "\n");
            shown++;
        }
    }
    say_rest(r, shown, s->lines, s->timed_out);
    end_frame(r);
}

/* ---- words: glob and grep ---- */

static void add_filter(struct skills_run *r)
{
    if (r->include)
        buf_addf(&r->raw, " (filtered by '%s')", r->include);
}

static void tell_list(struct skills_run *r, const struct search_result *s)
{
    bool grep = r->kind == SKILLS_GREP;
    if (!s->hits_n) {
        buf_addf(&r->raw, "No files found %s pattern '%s' in directory '%s'",
                 grep ? "containing" : "matching", r->term, buf_z(&r->root));
        add_filter(r);
    } else {
        buf_addf(&r->raw, "Found %zu file(s) %s pattern '%s' in '%s'", s->hits_n,
                 grep ? "containing" : "matching", r->term, buf_z(&r->root));
        add_filter(r);
        buf_addc(&r->raw, ':');
    }
    for (size_t i = 0; i < s->hits_n && has_room(r, PATH_BYTES); i++) {
        buf_addc(&r->raw, '\n');
        add_path(&r->raw, r, s->hits[i].path);
        add_path(&r->paths, r, s->hits[i].path);
        buf_addc(&r->paths, '\0');
    }
    if (s->hits_n == SKILLS_FILES_MAX && s->truncated)
        buf_addf(&r->raw,
                 "\n\n[Results truncated to first %d files. Consider using a more "
                 "specific pattern.]",
                 SKILLS_FILES_MAX);
    if (s->timed_out)
        buf_addf(&r->raw, "\n\n[Stopped after %d seconds: there may be more.]",
                 SKILLS_TIME_MS / 1000);
}

/* ---- the end ---- */

static void say_error(const struct skills_run *r, const struct err *why, struct err *e)
{
    bool root = why->code == ERR_NOTFOUND || why->code == ERR_DENIED;
    const char *where = buf_z(&r->root);
    *e = *why;
    if (r->kind == SKILLS_SEARCH_FILE && root)
        err_set(e, why->code, "File %.400s not found.", where);
    else if (r->kind < SKILLS_GLOB && root)
        err_set(e, why->code, "Directory %.400s not found", where);
    else if (root)
        err_set(e, why->code, "Search path '%.400s' is not a valid directory", where);
    else if (r->kind == SKILLS_GREP && why->code == ERR_INVALID)
        err_set(e, why->code, "Invalid regex pattern: %.400s", why->text);
}

static void on_search(void *arg, const struct search_result *s)
{
    struct skills_run *r = arg;
    struct err e = ERR_INIT;
    ASSERT(r->search); /* done is called once, and not before the start returns */
    r->search = NULL;
    if (s->err.code)
        say_error(r, &s->err, &e);
    else if (r->kind == SKILLS_FIND_FILE)
        tell_names(r, s);
    else if (r->kind == SKILLS_GLOB || r->kind == SKILLS_GREP)
        tell_list(r, s);
    else
        tell_lines(r, s);
    utf8_repair(&r->text, buf_str(&r->raw), false);
    struct skills_found found = {buf_str(&r->text), buf_str(&r->paths), buf_str(&r->root),
                                 s->truncated};
    r->done(r->arg, &found, &e);
    free_run(r);
}

/* ---- where to look ---- */

/* An absolute path, of what is relative to cwd. */
static int absolute(struct buf *out, const char *path, const struct skills_search *q,
                    struct err *e)
{
    char here[PATH_BYTES];
    const char *cwd = q->cwd ? q->cwd : getcwd(here, sizeof(here));
    if (path[0] == '/')
        return buf_addz(out, path);
    if (!cwd)
        return err_set(e, ERR_NOTFOUND, "Search path '%.400s' is not a valid directory",
                       path);
    int rc = buf_addz(out, cwd);
    if (rc == 0 && *path && strcmp(path, ".") != 0)
        rc = buf_addf(out, "%s%s", str_ends(buf_str(out), STR("/")) ? "" : "/", path);
    return rc;
}

/* Splits an absolute pattern into the folder at its beginning and the rest. */
static int divide(struct skills_run *r, struct str pattern, struct err *e)
{
    size_t end = 0;
    for (size_t i = 0; i < pattern.n; i++) {
        if (pattern.p[i] != '/')
            continue;
        if (!glob_is_plain(str_sub(pattern, end, i - end)))
            break;
        end = i + 1;
    }
    struct str root = str_sub(pattern, 0, end > 1 ? end - 1 : end);
    struct str rest = str_sub(pattern, end, pattern.n);
    buf_reset(&r->root);
    return buf_adds(&r->root, root) < 0 || buf_adds(&r->pattern, rest) < 0
               ? err_set(e, ERR_LIMIT, "the pattern is too long")
               : 0;
}

/* Files at any depth, whatever the pattern is. */
static int prepare_glob(struct skills_run *r, const struct skills_search *q,
                        struct err *e)
{
    struct str term = str_of(q->term);
    struct buf whole = BUF_INIT(PATH_BYTES);
    if (q->home && (str_eq(term, STR("~")) || str_starts(term, STR("~/")))) {
        buf_addz(&whole, q->home);
        buf_adds(&whole, str_sub(term, 1, term.n));
    } else {
        buf_adds(&whole, term);
    }
    int rc = str_starts(buf_str(&whole), STR("/"))
                 ? divide(r, buf_str(&whole), e)
                 : buf_adds(&r->pattern, buf_str(&whole));
    buf_release(&whole);
    if (rc == 0 && !r->pattern.n)
        rc = buf_addz(&r->pattern, "**/*");
    while (rc == 0 && str_starts(buf_str(&r->pattern), STR("./")))
        buf_consume(&r->pattern, 2);
    return rc;
}

static int find_root(struct skills_run *r, const struct skills_search *q, struct err *e)
{
    if (q->kind == SKILLS_SEARCH_FILE && !q->where)
        return err_set(e, ERR_INVALID,
                       "No file specified or open. Use the open_file "
                       "function first.");
    if (q->kind < SKILLS_GLOB)
        return buf_addz(&r->root, q->where ? q->where : "./");
    if (absolute(&r->root, q->where ? q->where : "", q, e) < 0)
        return -1;
    return q->kind == SKILLS_GLOB ? prepare_glob(r, q, e) : 0;
}

/* ---- starting ---- */

static void set_spec(const struct skills_run *r, const struct skills_search *q,
                     struct buf *include, struct search_spec *s)
{
    *s = (struct search_spec){.root = buf_z(&r->root),
                              .time_ms = SKILLS_TIME_MS,
                              .as_user = q->as_user,
                              .uid = q->uid,
                              .gid = q->gid,
                              .groups = q->groups,
                              .groups_n = q->groups_n,
                              .cwd = q->cwd};
    if (q->kind < SKILLS_GLOB) {
        s->what = q->kind == SKILLS_FIND_FILE ? SEARCH_NAMES : SEARCH_LINES;
        s->fixed = s->links = s->hidden_folders = s->count = true;
        s->hidden_files = q->kind != SKILLS_SEARCH_DIR;
        s->binary = s->file = q->kind == SKILLS_SEARCH_FILE;
        s->folder = !s->file;
        if (q->kind == SKILLS_FIND_FILE)
            s->name_part = str_of(q->term);
        else
            s->pattern = str_of(q->term);
        s->files_max = q->kind == SKILLS_SEARCH_DIR ? SKILLS_FILES_MAX : 0;
        s->lines_max = s->what == SEARCH_LINES ? SKILLS_FOUND_MAX : 0;
        return;
    }
    s->gitignore = s->newest = s->folder = true;
    s->files_max = SKILLS_FILES_MAX;
    s->what = q->kind == SKILLS_GREP ? SEARCH_FILES : SEARCH_NAMES;
    s->pattern = str_of(q->kind == SKILLS_GREP ? q->term : "");
    s->ignore_case = true;
    if (q->kind == SKILLS_GLOB) {
        struct str pattern = buf_str(&r->pattern);
        bool deep = str_starts(pattern, STR("**/")) || str_chr(pattern, '/') < 0;
        buf_addf(include, "%s%s", deep ? "" : "**/", buf_z(&r->pattern));
        s->include = buf_str(include);
    } else if (q->include) {
        s->include = str_of(q->include);
    }
}

struct skills_run *skills_search_start(struct loop *l, const struct skills_search *q,
                                       skills_done_fn *done, void *arg, struct err *e)
{
    struct skills_run *r = xnew(struct skills_run);
    struct buf include = BUF_INIT(2 * PATH_BYTES);
    struct search_spec s;
    *r = (struct skills_run){.kind = q->kind, .done = done, .arg = arg};
    r->term = xstrdup(q->term);
    r->include = q->include && *q->include ? xstrdup(q->include) : NULL;
    buf_init(&r->root, PATH_BYTES);
    buf_init(&r->pattern, PATH_BYTES);
    buf_init(&r->raw, SKILLS_TEXT_MAX);
    buf_init(&r->text, 3 * SKILLS_TEXT_MAX);
    buf_init(&r->paths, SKILLS_FILES_MAX * (PATH_BYTES + 1));
    err_set(e, ERR_LIMIT, "the path or pattern is too long");
    if (find_root(r, q, e) == 0) {
        set_spec(r, q, &include, &s);
        r->search = search_start(l, &s, on_search, r, e);
    }
    buf_release(&include);
    if (r->search)
        return r;
    free_run(r);
    return NULL;
}

void skills_search_cancel(struct skills_run *r)
{
    search_cancel(r->search);
    free_run(r);
}
