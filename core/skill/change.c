/* SPDX-License-Identifier: MIT */
/*
 * `replace`, `insert`, `create` and `undo`: each reports its result in one line. A
 * change that breaks the syntax of a file is made, and reported; one that does not fit
 * is not made, and the place that was probably meant is shown.
 */
#include "base/log.h"
#include "base/xalloc.h"
#include "os/file.h"
#include "skill/own.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { LINES_NAMED = 20 };

/* A change in flight. */
struct changing {
    struct edited d;   /* owned */
    struct buf faults; /* owned: in the current text */
    char shown[PATH_MAX], path[PATH_MAX];
};

void changing_free(struct skill_run *r)
{
    struct changing *c = r->changing;
    r->changing = NULL;
    if (!c)
        return;
    edited_release(&c->d);
    buf_release(&c->faults);
    free(c);
}

/* Ends the call as a failure with a sentence. */
static int refuse(struct skill_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int refuse(struct skill_run *r, const char *fmt, ...)
{
    va_list ap;
    r->failed = true;
    va_start(ap, fmt);
    buf_addv(&r->text, fmt, ap);
    va_end(ap);
    buf_addc(&r->text, '\n');
    return skill_tell(r);
}

static struct changing *begin(struct skill_run *r)
{
    struct changing *c = r->changing = xnew(struct changing);
    *c = (struct changing){.d = EDITED_INIT, .faults = BUF_INIT(EDIT_TEXT_MAX)};
    if (skill_place(r, "path", c->shown, c->path) < 0)
        return NULL;
    json_put_z(skill_facts(r), "path", c->shown);
    return c;
}

static struct edit edit_of(const struct skill_run *r, enum edit_kind kind)
{
    return (struct edit){.kind = kind,
                         .path = r->changing->path,
                         .token = r->q.token,
                         .mode = 0644,
                         .chown = r->q.as_user,
                         .uid = r->q.uid,
                         .gid = r->q.gid};
}

static int apply(struct skill_run *r, const struct edit *q)
{
    struct changing *c = r->changing;
    int rc = edit_apply(r->q.edits, q, &c->d);
    if (rc < 0)
        return -1;
    edits_seen(r->q.edits, c->path);
    json_put_int(skill_facts(r), "undo", (int64_t)edit_undoable(r->q.edits, c->path));
    return 0;
}

/* ---- why not ---- */

static void put_writable(const struct skill_run *r, struct buf *out)
{
    const char *places[] = {r->q.cwd, r->q.home, "/tmp", "/workspace", "/dev/shm"};
    unsigned shown = 0;
    struct statvfs v;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= places[k] && places[i] && strcmp(places[k], places[i]) == 0;
        if (!places[i] || again || access(places[i], W_OK) < 0 ||
            statvfs(places[i], &v) < 0 || (v.f_flag & ST_RDONLY))
            continue;
        buf_addf(out, "%s%s", shown++ ? ", " : "; writable here: ", places[i]);
    }
}

/* The file, or its nearest existing parent folder. */
static void existing(const char *path, char out[PATH_MAX], struct stat *st)
{
    snprintf(out, PATH_MAX, "%s", path);
    while (lstat(out, st) < 0) {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out) {
            snprintf(out, PATH_MAX, "/");
            if (lstat(out, st) < 0)
                *st = (struct stat){0};
            return;
        }
        *slash = 0;
    }
}

static int refuse_access(struct skill_run *r, const char *why)
{
    char there[PATH_MAX];
    struct stat st;
    struct statvfs v;
    existing(r->changing->path, there, &st);
    struct buf where = BUF_INIT(4 * PATH_MAX);
    if (statvfs(there, &v) == 0 && (v.f_flag & ST_RDONLY)) {
        put_writable(r, &where);
        refuse(r, "not written: %s is on a read-only file system%s", there,
               buf_z(&where));
    } else {
        const struct passwd *p = getpwuid(st.st_uid);
        char id[24];
        snprintf(id, sizeof(id), "uid %u", (unsigned)st.st_uid);
        bool plain = str_ends(str_of(why), STR(": Permission denied"));
        refuse(r, "not written: no permission: %s is owned by %.60s, you are uid %u%s%s",
               there, p ? p->pw_name : id, (unsigned)geteuid(), plain ? "" : "; ",
               plain ? "" : why);
    }
    buf_release(&where);
    return 0;
}

static int refuse_file(struct skill_run *r)
{
    const struct err *e = &r->changing->d.failure.e;
    if (e->code == ERR_DENIED)
        return refuse_access(r, e->text);
    return refuse(r, "not changed: %s", e->text);
}

static void put_lines(struct buf *out, const struct edit_failure *f)
{
    for (size_t i = 0; i < f->nlines && i < LINES_NAMED; i++)
        buf_addf(out, "%s%lld", i ? ", " : "", (long long)f->lines[i]);
    if (f->nlines > LINES_NAMED || f->more_lines)
        buf_addz(out, ", \xe2\x80\xa6");
}

static int refuse_several(struct skill_run *r)
{
    struct edit_failure *f = &r->changing->d.failure;
    struct buf lines = BUF_INIT(4096);
    put_lines(&lines, f);
    int rc = refuse(r,
                    "not changed: old_string occurs %lld times, at line%s %s: add lines "
                    "around it, or replace_all=true",
                    (long long)f->count, f->nlines > 1 ? "s" : "", buf_z(&lines));
    buf_release(&lines);
    return rc;
}

static int refuse_nowhere(struct skill_run *r, struct str old)
{
    struct changing *c = r->changing;
    struct edit_failure *f = xnew(struct edit_failure);
    struct buf text = BUF_INIT(EDIT_TEXT_MAX), plain = BUF_INIT(EDIT_TEXT_MAX);
    struct match_near near = {0};
    bool other = edits_changed(r->q.edits, c->path);
    edit_read(c->path, &text, f);
    buf_adds(&plain, old);
    r->failed = true;
    buf_addf(&r->text, "not changed: %s%s%s", other ? "" : "old_string is not in ",
             c->shown, other ? " was changed by someone else since you read it" : "");
    if (match_nearest(buf_str(&text), buf_str(&plain), &near)) {
        buf_addf(&r->text, "%s, line %lld; first difference marked:\n",
                 other ? "; nearest" : ". Nearest", (long long)near.at);
        match_show(&r->text, buf_str(&text), &near, "old_string");
        buf_addz(&r->text, "Send the text of the file.\n");
    } else if (text.n == 0) {
        buf_addz(&r->text, other ? "; it is empty\n" : ": it is empty\n");
    } else {
        buf_addz(&r->text, ", and no line of it is similar; read it first\n");
    }
    buf_release(&text);
    buf_release(&plain);
    free(f);
    return skill_tell(r);
}

/* ---- does it parse ---- */

static void on_old_checked(struct skill_run *r, struct str before)
{
    struct changing *c = r->changing;
    struct buf fresh = BUF_INIT(EDIT_TEXT_MAX);
    struct lint_fault fault;
    lint_subtract(&fresh, buf_str(&c->faults), before);
    json_put_bool(skill_facts(r), "parses", c->faults.n == 0);
    if (fresh.n > 0) {
        lint_first(buf_str(&fresh), str_of(c->path), &fault);
        buf_addz(&r->state, ", but it no longer parses: ");
        if (fault.line)
            buf_addf(&r->state, "line %llu, ", (unsigned long long)fault.line);
        buf_adds(&r->state, str_sub(fault.words, 0, 200));
        buf_addz(&r->state, "; edit undo=true takes it back");
    }
    buf_release(&fresh);
    skill_tell(r);
}

static void on_new_checked(struct skill_run *r, struct str faults)
{
    struct changing *c = r->changing;
    buf_adds(&c->faults, faults);
    if (faults.n == 0 || !lint_start(r, c->path, buf_str(&c->d.before), on_old_checked))
        on_old_checked(r, STR(""));
}

static int tell_change(struct skill_run *r)
{
    struct changing *c = r->changing;
    if (lint_start(r, c->path, buf_str(&c->d.after), on_new_checked))
        return 0;
    return skill_tell(r);
}

/* ---- replace ---- */

static int replaced(struct skill_run *r)
{
    const struct changing *c = r->changing;
    const struct edited *d = &c->d;
    struct json *lines = json_array();
    buf_addf(&r->state, "changed %s: %zu place%s, line%s ", c->shown, d->places,
             d->places == 1 ? "" : "s", d->failure.nlines == 1 ? "" : "s");
    put_lines(&r->state, &d->failure);
    if (d->bent[0])
        buf_addf(&r->state, "; %s", d->bent);
    for (size_t i = 0; i < d->failure.nlines; i++)
        json_push_int(lines, d->failure.lines[i]);
    json_put_int(skill_facts(r), "places", (int64_t)d->places);
    json_put(skill_facts(r), "lines", lines);
    json_put_z(skill_facts(r), "matched", match_name(d->matched));
    return tell_change(r);
}

static int replace_in(struct skill_run *r, struct str old, struct str new)
{
    struct edit q = edit_of(r, EDIT_REPLACE);
    q.old = old;
    q.text = new;
    q.bend = true;
    q.all = skill_bool(r, "replace_all");
    q.lines = skill_bool(r, "whole_lines");
    if (apply(r, &q) == 0)
        return replaced(r);
    switch (r->changing->d.failure.why) {
    case EDIT_NO_MATCH:
        return refuse_nowhere(r, old);
    case EDIT_MATCHES:
        return refuse_several(r);
    case EDIT_FILE:
    case EDIT_TOO_LARGE:
    case EDIT_BINARY:
    case EDIT_NO_LINE:
    case EDIT_NO_HISTORY:
        break;
    }
    return refuse_file(r);
}

static int write_whole(struct skill_run *r, struct str content);

int change_replace(struct skill_run *r, struct err *e)
{
    struct str old = skill_str(r, "old_string"), new = skill_str(r, "new_string");
    struct changing *c = begin(r);
    struct stat st;
    if (!c)
        return skill_tell(r);
    bool there = stat(c->path, &st) == 0;
    if (!there && old.n == 0)
        return write_whole(r, new);
    if (!there)
        return view_missing(r, c->path, e);
    if (S_ISDIR(st.st_mode))
        return refuse(r, "not changed: %s is a directory", c->shown);
    if (old.n == 0)
        return refuse(r,
                      "not changed: old_string is empty, and %s exists; to replace "
                      "its whole content use write",
                      c->shown);
    if (str_eq(old, new))
        return refuse(r, "not changed: old_string and new_string are the same");
    return replace_in(r, old, new);
}

/* ---- insert ---- */

int change_insert(struct skill_run *r, struct err *e)
{
    struct changing *c = begin(r);
    struct stat st;
    if (!c)
        return skill_tell(r);
    if (stat(c->path, &st) < 0)
        return view_missing(r, c->path, e);
    struct edit q = edit_of(r, EDIT_INSERT);
    q.line = skill_int(r, "line");
    q.text = skill_str(r, "text");
    if (str_ends(q.text, STR("\n")))
        q.text.n--;
    if (apply(r, &q) == 0) {
        int64_t n = c->d.added;
        buf_addf(&r->state, "changed %s: %lld line%s put %s %lld", c->shown, (long long)n,
                 n == 1 ? "" : "s", q.line ? "after line" : "before line",
                 (long long)(q.line ? q.line : 1));
        json_put_int(skill_facts(r), "places", 1);
        return tell_change(r);
    }
    if (c->d.failure.why == EDIT_NO_LINE)
        return refuse(r, "not changed: %s has %lld lines, there is no line %lld",
                      c->shown, (long long)c->d.failure.count, (long long)q.line);
    return refuse_file(r);
}

/* ---- create ---- */

/* Whether a line is a comment, by its first characters. */
static bool is_comment(struct str s)
{
    static const char *const marks[] = {"//", "#", "--", "/*", "*",   "<!--",
                                        ";",  "%", "(",  "[",  "...", "\xe2\x80\xa6"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (str_starts(s, str_of(marks[i])))
            return true;
    return false;
}

/* The words of a line in place of code, without the marks of a comment. */
static struct str placeholder(struct str line)
{
    static const char *const words[] = {"rest of ",       "existing code",
                                        "unchanged",      "remaining code",
                                        "same as before", "code omitted",
                                        "previous code",  "other methods"};
    char lower[120];
    struct str s = str_trim(line), none = {0};
    bool dots = str_find(s, STR("...")) >= 0 || str_find(s, STR("\xe2\x80\xa6")) >= 0;
    if (!is_comment(s) || s.n >= sizeof(lower))
        return none;
    for (size_t i = 0; i < s.n; i++)
        lower[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]);
    bool said = false;
    for (size_t i = 0; !said && i < sizeof(words) / sizeof(words[0]); i++)
        said = str_find(str_n(lower, s.n), str_of(words[i])) >= 0;
    said = said && (dots || str_find(str_n(lower, s.n), STR("unchanged")) >= 0);
    while (said && s.n > 0 && strchr("/#-*<!;%([. ", s.p[0]))
        s = str_sub(s, 1, s.n);
    while (said && s.n > 0 && strchr("/#-*>;%)]. ", s.p[s.n - 1]))
        s.n--;
    return said ? s : none;
}

/* The first such line that is new in the file; empty: none. */
static struct str left_out(struct str text, struct str before)
{
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n'), words = placeholder(line);
        if (words.n > 0 && str_find(before, str_trim(line)) < 0)
            return words;
    }
    return (struct str){0};
}

/* The length of the path up to its first missing folder; 0: all exist. */
static size_t first_missing(const char *path)
{
    char part[PATH_MAX];
    struct stat st;
    for (const char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(c - path), path);
        if (lstat(part, &st) < 0)
            return (size_t)(c - path);
    }
    return 0;
}

/*
 * Finds the part of a path that is a file instead of a folder. Returns false if there is
 * none.
 */
static bool file_above(const char *path, char part[PATH_MAX])
{
    struct stat st;
    for (const char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
        snprintf(part, PATH_MAX, "%.*s", (int)(c - path), path);
        if (stat(part, &st) == 0 && !S_ISDIR(st.st_mode))
            return true;
    }
    return false;
}

/* The path in the form in which it was given: relative to the folder that contains it. */
static const char *as_given(const struct skill_run *r, const char *path)
{
    size_t n = strlen(r->q.cwd);
    bool below = r->changing->shown[0] != '/' && strncmp(path, r->q.cwd, n) == 0 &&
                 path[n] == '/';
    return below ? path + n + 1 : path;
}

static int written(struct skill_run *r, size_t made)
{
    const struct changing *c = r->changing;
    const struct edited *d = &c->d;
    int64_t lines = edit_count_lines(buf_str(&d->after));
    int64_t was = edit_count_lines(buf_str(&d->before));
    struct str hole = left_out(buf_str(&d->after), buf_str(&d->before));
    if (d->created)
        buf_addf(&r->state, "created %s, %lld line%s", c->shown, (long long)lines,
                 lines == 1 ? "" : "s");
    else
        buf_addf(&r->state, "replaced %s: %lld line%s by %lld", c->shown, (long long)was,
                 was == 1 ? "" : "s", (long long)lines);
    if (hole.n > 0)
        buf_addf(&r->state,
                 ", and it has a line that stands for left-out code (\"%.*s\"); if that "
                 "is not meant: edit undo=true",
                 STR_ARG(hole));
    if (made) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof(folder), "%.*s", (int)made, c->path);
        buf_addf(&r->state, "; made %s/", as_given(r, folder));
    }
    if (!d->created && !d->again && edit_undoable(r->q.edits, c->path) == 0)
        buf_addz(&r->state, "; it cannot be taken back: what was there is not kept");
    json_put_bool(skill_facts(r), "created", d->created);
    json_put_int(skill_facts(r), "lines", lines);
    if (!d->created)
        json_put_int(skill_facts(r), "was_lines", was);
    return skill_tell(r);
}

/* Makes the user the owner of the new folders, from path's first `made` bytes on. */
static void give_folders(const struct skill_run *r, size_t made)
{
    char part[PATH_MAX];
    const char *path = r->changing->path;
    for (const char *c = made ? path + made : NULL; c; c = strchr(c + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(c - path), path);
        if (lchown(part, r->q.uid, r->q.gid) < 0)
            log_warn("cannot give %s to its user: %s", part, strerror(errno));
    }
}

static int write_whole(struct skill_run *r, struct str content)
{
    struct changing *c = r->changing;
    struct edit q = edit_of(r, EDIT_WRITE);
    char above[PATH_MAX];
    struct stat st;
    size_t made = first_missing(c->path);
    q.text = content.p ? content : STR("");
    q.parents = true;
    if (stat(c->path, &st) == 0 && S_ISDIR(st.st_mode))
        return refuse(r, "not written: %s is a directory", c->shown);
    if (file_above(c->path, above))
        return refuse(r, "not written: %s is a file", above);
    if (apply(r, &q) < 0)
        return refuse_file(r);
    if (made && r->q.as_user)
        give_folders(r, made);
    return written(r, made);
}

int change_create(struct skill_run *r, struct err *e)
{
    (void)e;
    return begin(r) ? write_whole(r, skill_str(r, "content")) : skill_tell(r);
}

/* ---- undo ---- */

static void clock_of(int64_t seconds, char out[16])
{
    time_t t = (time_t)seconds;
    struct tm tm;
    out[0] = 0;
    if (seconds && localtime_r(&t, &tm))
        strftime(out, 16, "%H:%M:%S", &tm);
}

int change_undo(struct skill_run *r, struct err *e)
{
    struct changing *c = begin(r);
    char at[16];
    (void)e;
    if (!c)
        return skill_tell(r);
    struct edit q = edit_of(r, EDIT_BACK);
    if (apply(r, &q) < 0) {
        if (c->d.failure.why == EDIT_NO_HISTORY)
            return refuse(r,
                          "nothing to take back: %s has no change by edit or write that "
                          "is kept",
                          c->shown);
        return refuse_file(r);
    }
    size_t left = edit_undoable(r->q.edits, c->path);
    clock_of(c->d.kept_at, at);
    if (c->d.created)
        buf_addf(&r->state, "%s is removed, as before it was made%s%s", c->shown,
                 at[0] ? " at " : "", at);
    else
        buf_addf(&r->state, "%s is as before the edit%s%s", c->shown, at[0] ? " of " : "",
                 at);
    if (left)
        buf_addf(&r->state, "; %zu more can be taken back", left);
    json_put_int(skill_facts(r), "places", 0);
    return skill_tell(r);
}
