/* SPDX-License-Identifier: MIT */
/*
 * `search`: lines that match, or files by name. A text that is not a regular expression
 * is searched as plain text; if nothing matches, two more searches find out whether
 * something would in hidden and ignored files, or in a search that ignores case.
 *
 *   SEARCHING --no expression--> SEARCHING, as plain text
 *       │ no match
 *       └──────► ELSEWHERE ──► OTHER_CASE ──► told
 */
#include "base/arena.h"
#include "base/xalloc.h"
#include "search/search.h"
#include "skill/own.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { TIME_MS = 30000, NAMES_MAX = 64 << 20 };

enum phase { SEARCHING, ELSEWHERE, OTHER_CASE };

struct seeking {
    enum phase phase;
    struct search *search; /* NULL: none runs */
    char *pattern, *glob;  /* owned; NULL: none */
    char path[PATH_MAX], shown[PATH_MAX];
    bool ignore_case, literal, all;
    unsigned context;
    uint64_t limit;
    uint64_t searched, ignored, cased;
    bool timed_out;
    uint64_t unread; /* files and folders, and why one of them */
    char unread_why[160];
};

void finding_free(struct skill_run *r)
{
    struct seeking *f = r->finding;
    r->finding = NULL;
    if (!f)
        return;
    if (f->search)
        search_cancel(f->search);
    free(f->pattern);
    free(f->glob);
    free(f);
}

uint64_t finding_files(const struct skill_run *r)
{
    const struct seeking *f = r->finding;
    return f && f->search ? search_files_searched(f->search) : 0;
}

static int start(struct skill_run *r, struct err *e);

/* ---- words ---- */

/* A path in the requested form: `shown` and the part below it. */
static void put_path(const struct seeking *f, struct str below, struct buf *out)
{
    struct str root = str_of(f->shown);
    while (str_starts(root, STR("./")))
        root = str_sub(root, 2, root.n);
    while (str_ends(root, STR("/.")) || (root.n > 1 && str_ends(root, STR("/"))))
        root.n--;
    if (str_eq(root, STR(".")))
        root = STR("");
    buf_adds(out, root);
    if (below.n > 0 && root.n > 0 && !str_ends(root, STR("/")))
        buf_addc(out, '/');
    buf_adds(out, below);
}

/* The same, valid as long as the arena. */
static struct str path_of(const struct seeking *f, struct str below, struct arena *names)
{
    struct buf path = BUF_INIT(2 * PATH_MAX + SEARCH_PATH_MAX);
    put_path(f, below, &path);
    struct str s = str_n(arena_copy(names, buf_str(&path)), path.n);
    buf_release(&path);
    return s.p ? s : below;
}

static void tell_trouble(struct skill_run *r)
{
    const struct seeking *f = r->finding;
    if (f->timed_out)
        buf_addf(&r->state, "; stopped after %d s: there may be more", TIME_MS / 1000);
    if (f->unread)
        buf_addf(&r->state, "; %llu could not be read (%s)",
                 (unsigned long long)f->unread, f->unread_why);
}

static void tell_nothing(struct skill_run *r)
{
    const struct seeking *f = r->finding;
    struct json *elsewhere = json_object();
    if (f->pattern)
        buf_addf(&r->state, "no match in %llu file%s", (unsigned long long)f->searched,
                 f->searched == 1 ? "" : "s");
    else
        buf_addf(&r->state, "no file%s%s", f->glob ? " is named " : "",
                 f->glob ? f->glob : "");
    if (f->ignored)
        buf_addf(&r->state, "; %llu in hidden or ignored files: all=true",
                 (unsigned long long)f->ignored);
    if (f->cased)
        buf_addf(&r->state, "; %llu with other case: ignore_case=true",
                 (unsigned long long)f->cased);
    json_put_int(elsewhere, "ignored", (int64_t)f->ignored);
    json_put_int(elsewhere, "case", (int64_t)f->cased);
    json_put(skill_facts(r), "elsewhere", elsewhere);
}

static void put_facts(struct skill_run *r, uint64_t matches, uint64_t files,
                      uint64_t shown)
{
    struct json *j = skill_facts(r);
    json_put_int(j, "matches", (int64_t)matches);
    json_put_int(j, "files", (int64_t)files);
    json_put_int(j, "shown", (int64_t)shown);
    json_put_int(j, "searched", (int64_t)r->finding->searched);
    json_put_bool(j, "literal", r->finding->literal);
}

/* ---- results ---- */

static void tell_lines(struct skill_run *r, const struct search_result *s)
{
    const struct seeking *f = r->finding;
    struct found_wish wish = {f->limit, f->context, r->q.bytes};
    struct matches k;
    struct arena names;
    arena_init(&names, NAMES_MAX);
    found_begin(&k, &r->text, &wish);
    for (size_t i = 0; i < s->hits_n; i++) {
        struct str lines = s->hits[i].lines;
        struct search_line x;
        if (i == 0 || !str_eq(s->hits[i].path, s->hits[i - 1].path))
            found_file(&k, path_of(f, s->hits[i].path, &names));
        while (search_next_line(&lines, &x))
            found_line(&k, x.number, x.text, x.context, x.cut);
    }
    /* Matches without room are counted nevertheless. */
    k.matches = s->lines > k.matches ? s->lines : k.matches;
    k.files = s->files > k.files ? s->files : k.files;
    found_tell(&k, f->searched, &r->state);
    put_facts(r, k.matches, k.files, k.shown);
    found_release(&k);
    arena_release(&names);
}

static void tell_names(struct skill_run *r, const struct search_result *s)
{
    const struct seeking *f = r->finding;
    size_t shown = 0;
    for (; shown < s->hits_n && shown < f->limit; shown++) {
        size_t before = r->text.n;
        put_path(f, s->hits[shown].path, &r->text);
        buf_addc(&r->text, '\n');
        if (r->text.n > r->q.bytes && shown > 0) {
            buf_truncate(&r->text, before);
            break;
        }
    }
    bool more = s->truncated || shown < s->hits_n;
    buf_addf(&r->state, "%zu file%s%s", shown, shown == 1 ? "" : "s",
             more ? ", the newest; there are more: narrow with path or glob"
                  : ", newest first");
    if (more && f->limit < FOUND_LIMIT_MAX && shown == f->limit)
        buf_addf(&r->state, ", or limit=%d", FOUND_LIMIT_MAX);
    put_facts(r, shown, shown, shown);
}

static bool has_letters(const char *s)
{
    for (; *s; s++)
        if (isalpha((unsigned char)*s))
            return true;
    return false;
}

/* Starts the next search that may find more. Returns false if there is none. */
static bool look_elsewhere(struct skill_run *r)
{
    struct seeking *f = r->finding;
    struct err e = ERR_INIT;
    while (f->phase != OTHER_CASE) {
        f->phase++;
        bool useful = f->phase == ELSEWHERE
                          ? !f->all
                          : f->pattern && !f->ignore_case && has_letters(f->pattern);
        if (useful && start(r, &e) == 0)
            return true;
    }
    return false;
}

static void end_nothing(struct skill_run *r)
{
    if (look_elsewhere(r))
        return;
    tell_nothing(r);
    put_facts(r, 0, 0, 0);
    tell_trouble(r);
    skill_tell_now(r);
}

static void fail(struct skill_run *r, const char *text)
{
    r->failed = true;
    buf_addf(&r->text, "%s\n", text);
    skill_tell_now(r);
}

/* Returns false if the result was reported, or another search runs. */
static bool is_good(struct skill_run *r, const struct search_result *s)
{
    struct seeking *f = r->finding;
    struct err e = s->err;
    struct stat st;
    if (e.code == ERR_NONE)
        return true;
    if (e.code == ERR_INVALID && f->pattern && !f->literal) {
        f->literal = true;
        found_plain(&r->text, &e);
        if (start(r, &e) == 0)
            return false;
    } else if (e.code == ERR_NOTFOUND && lstat(f->path, &st) < 0) {
        if (view_missing(r, f->path, &e) == 0)
            return false;
    }
    fail(r, e.text);
    return false;
}

static void on_search(void *arg, const struct search_result *s)
{
    struct skill_run *r = arg;
    struct seeking *f = r->finding;
    f->search = NULL;
    f->timed_out |= s->timed_out;
    if (f->phase != SEARCHING) {
        uint64_t n = s->err.code ? 0 : f->pattern ? s->lines : s->files;
        *(f->phase == ELSEWHERE ? &f->ignored : &f->cased) = n;
        end_nothing(r);
        return;
    }
    if (!is_good(r, s))
        return;
    f->searched = s->searched;
    f->unread = s->unread;
    snprintf(f->unread_why, sizeof(f->unread_why), "%s", s->unread_why);
    if (s->hits_n == 0) {
        end_nothing(r);
        return;
    }
    if (f->pattern)
        tell_lines(r, s);
    else
        tell_names(r, s);
    tell_trouble(r);
    skill_tell_now(r);
}

/* ---- the call ---- */

static int start(struct skill_run *r, struct err *e)
{
    struct seeking *f = r->finding;
    bool all = f->all || f->phase == ELSEWHERE;
    struct search_spec s = {.root = f->path,
                            .what = f->pattern ? SEARCH_LINES : SEARCH_NAMES,
                            .pattern = str_of(f->pattern ? f->pattern : ""),
                            .fixed = f->literal,
                            .ignore_case = f->ignore_case || f->phase == OTHER_CASE,
                            .include = str_of(f->glob ? f->glob : ""),
                            .exclude = STR(".git"),
                            .hidden_files = all,
                            .hidden_folders = all,
                            .gitignore = !all,
                            .newest = !f->pattern,
                            .count = true,
                            .files_max = f->pattern ? 0 : f->limit,
                            .lines_max = f->phase == SEARCHING ? 0 : 1,
                            .before = f->context,
                            .after = f->context,
                            .time_ms = TIME_MS,
                            .as_user = r->q.as_user,
                            .uid = r->q.uid,
                            .gid = r->q.gid,
                            .groups = r->q.groups,
                            .groups_n = r->q.groups_n};
    f->search = search_start(r->q.loop, &s, on_search, r, e);
    return f->search ? 0 : -1;
}

static char *copy(struct str s) { return s.n ? xstrndup(s.p, s.n) : NULL; }

int find_search(struct skill_run *r, struct err *e)
{
    struct seeking *f = r->finding = xnew(struct seeking);
    struct str glob = skill_str(r, "glob");
    *f = (struct seeking){.ignore_case = skill_bool(r, "ignore_case"),
                          .literal = skill_bool(r, "literal"),
                          .all = skill_bool(r, "all")};
    f->context = found_context(skill_int(r, "context"));
    f->limit = found_limit(skill_int(r, "limit"));
    f->pattern = copy(skill_str(r, "pattern"));
    while (str_starts(glob, STR("./")))
        glob = str_sub(glob, 2, glob.n);
    f->glob = copy(glob);
    if (skill_place(r, "path", f->shown, f->path) < 0)
        return skill_tell(r);
    snprintf(r->here, sizeof(r->here), "%.4000s", r->q.cwd);
    return start(r, e);
}
