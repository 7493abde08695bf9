/* SPDX-License-Identifier: MIT */
/*
 * Edits: the four functions of 2024, which change whole lines and show a window of the
 * result.
 */
#include "base/xalloc.h"
#include "skill/own.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One edit of 2024's. */
struct skill_change {
    struct skill_run *r;
    char shown[PATH_MAX], path[PATH_MAX];
    struct buf text;       /* of the file before; these are owned */
    struct buf new, after; /* the inserted text, and the result */
    struct buf errors;     /* of after */
    int64_t lines;         /* of text */
    int64_t from, to, line;
    int64_t seen, added; /* for the window of a refused change */
};

static int change_begin(struct skill_change *c, struct skill_run *r)
{
    struct edit_failure *f = xnew(struct edit_failure);
    struct stat st;
    *c = (struct skill_change){.r = r,
                               .text = BUF_INIT(EDIT_TEXT_MAX),
                               .new = BUF_INIT(EDIT_TEXT_MAX),
                               .after = BUF_INIT(EDIT_TEXT_MAX),
                               .errors = BUF_INIT(EDIT_TEXT_MAX)};
    int rc = skill_path(r, "file_name", c->shown, c->path);
    if (rc == 0 && (stat(c->path, &st) < 0 || !S_ISREG(st.st_mode))) {
        skill_fail(r, "File %s not found.", c->shown);
        rc = -1;
    } else if (rc == 0 && edit_read(c->path, &c->text, f) < 0) {
        skill_fail(r, "%s", f->e.text);
        rc = -1;
    }
    free(f);
    c->lines = edit_count_lines(buf_str(&c->text));
    return rc;
}

/* Moves the session's window. */
static void set_window(struct skill_run *r, const char *path, int64_t line)
{
    struct window *w = &r->window;
    snprintf(w->path, sizeof(w->path), "%s", path);
    w->line = line;
    w->marks_n = 0;
    window_store(r->q.windows, r->q.session, w);
}

static void show_change(const struct skill_change *c, struct str after)
{
    struct buf *out = &c->r->text;
    int64_t total = edit_count_lines(after);
    window_header(out, c->path, total > 1 ? total : 1, " after edit");
    window_print(out, after, c->line, SKILL_WINDOW, false);
    buf_addf(out,
             "\n[File updated (edited at line %lld). Please review the changes and make "
             "sure they are correct (correct indentation, no duplicate lines, etc). Edit "
             "the file again if necessary.]\n",
             (long long)c->line);
    set_window(c->r, c->path, c->line);
}

/* Replaces lines from..to by the new text. */
static void change_do(struct skill_change *c)
{
    struct skill_run *r = c->r;
    struct edited *d = xnew(struct edited);
    struct edit q = {.kind = EDIT_LINES,
                     .path = c->path,
                     .token = r->q.token,
                     .text = buf_str(&c->new),
                     .from = c->from,
                     .to = c->to};
    *d = (struct edited)EDITED_INIT;
    if (edit_apply(r->q.edits, &q, d) < 0)
        skill_fail(r, "%s", d->failure.e.text);
    else
        show_change(c, buf_str(&d->after));
    edited_release(d);
    free(d);
}

static void change_free(struct skill_change *c)
{
    buf_release(&c->text);
    buf_release(&c->new);
    buf_release(&c->after);
    buf_release(&c->errors);
    free(c);
}

void edit_free(struct skill_run *r)
{
    if (r->change)
        change_free(r->change);
    r->change = NULL;
}

/* ---- what it would look like ---- */

static int compose(struct skill_change *c)
{
    struct str text = buf_str(&c->text), head = edit_lines(text, 1, c->from - 1);
    size_t to = c->to > 0 ? edit_lines(text, 1, c->to).n : 0;
    struct str new = buf_str(&c->new);
    if (c->from > c->to)
        to = head.n;
    return buf_adds(&c->after, head) < 0 ||
                   (head.n && head.p[head.n - 1] != '\n' &&
                    buf_addc(&c->after, '\n') < 0) ||
                   buf_adds(&c->after, new) < 0 ||
                   (new.n &&new.p[new.n - 1] != '\n' && buf_addc(&c->after, '\n') < 0) ||
                   buf_adds(&c->after, str_sub(text, to, text.n)) < 0
               ? -1
               : 0;
}

static void rule(struct buf *out, const char *before, const char *behind)
{
    buf_addf(out, "%s-------------------------------------------------\n%s", before,
             behind);
}

static void refuse(struct skill_change *c, struct str errors)
{
    struct buf *out = &c->r->text;
    c->r->failed = true;
    buf_addz(out, "[Your proposed edit has introduced new syntax error(s). Please "
                  "understand the errors and retry your edit command.]\nERRORS:\n");
    buf_adds(out, errors);
    rule(out, "[This is how your edit would have looked if applied]\n", "");
    window_print(out, buf_str(&c->after), c->seen, c->added + 20, false);
    rule(out, "\n", "\n");
    rule(out, "[This is the original code before your edit]\n", "");
    window_print(out, buf_str(&c->text), c->seen, c->added + 20, false);
    rule(out, "\n", "");
    buf_addz(out,
             "Your changes have NOT been applied. Please fix your edit command and "
             "try again.\nYou either need to 1) Specify the correct start/end line "
             "arguments or 2) Correct your edit code.\nDO NOT re-run the same failed "
             "edit command. Running it again will lead to the same error.\n");
}

/* The faults of the current file are known. */
static void on_old_checked(struct skill_run *r, struct str before)
{
    struct skill_change *c = r->change;
    struct buf fresh = BUF_INIT(EDIT_TEXT_MAX);
    lint_subtract(&fresh, buf_str(&c->errors), before);
    if (fresh.n > 0)
        refuse(c, buf_str(&fresh));
    else
        change_do(c);
    buf_release(&fresh);
    skill_tell(r);
}

static void on_new_checked(struct skill_run *r, struct str errors)
{
    struct skill_change *c = r->change;
    if (errors.n == 0) {
        change_do(c);
        skill_tell(r);
        return;
    }
    buf_adds(&c->errors, errors);
    if (!lint_start(r, c->path, buf_str(&c->text), on_old_checked))
        on_old_checked(r, STR(""));
}

/*
 * Makes the change, after a check if requested; then the call owns c, and the result is
 * reported later.
 */
static void change_apply(struct skill_change *c, struct str text)
{
    struct skill_run *r = c->r;
    if (buf_adds(&c->new, text) < 0) {
        skill_fail(r, "The new text is too long.");
        return;
    }
    if (r->q.lint && compose(c) == 0) {
        r->change = c;
        if (lint_start(r, c->path, buf_str(&c->after), on_new_checked))
            return;
        r->change = NULL;
    }
    change_do(c);
}

static int change_end(struct skill_change *c)
{
    struct skill_run *r = c->r;
    if (r->change == c)
        return 0;
    change_free(c);
    return skill_tell(r);
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isspace((unsigned char)s.p[i]))
            return false;
    return true;
}

/* ---- create_file ---- */

static int created(struct skill_run *r, const char *shown, const char *path)
{
    window_header(&r->text, path, 1, "");
    window_print(&r->text, STR("\n"), 1, SKILL_WINDOW, false);
    buf_addf(&r->text, "\n[File %s created.]\n", shown);
    set_window(r, path, 1);
    return skill_tell(r);
}

int edit_create_file(struct skill_run *r, struct err *e)
{
    char shown[PATH_MAX], path[PATH_MAX];
    struct edited *d;
    struct edit q = {.kind = EDIT_CREATE,
                     .path = path,
                     .token = r->q.token,
                     .text = STR("\n"),
                     .mode = 0644,
                     .chown = r->q.as_user,
                     .uid = r->q.uid,
                     .gid = r->q.gid};
    (void)e;
    if (skill_path(r, "filename", shown, path) < 0)
        return skill_tell(r);
    d = xnew(struct edited);
    *d = (struct edited)EDITED_INIT;
    int rc = edit_apply(r->q.edits, &q, d);
    if (rc < 0 && d->failure.why == EDIT_FILE && d->failure.e.code == ERR_EXISTS)
        skill_fail(r, "File '%s' already exists.", shown);
    else if (rc < 0)
        skill_fail(r, "%s", d->failure.e.text);
    edited_release(d);
    free(d);
    return rc < 0 ? skill_tell(r) : created(r, shown, path);
}

/* ---- edit_file_by_replace ---- */

/* Without white space, newlines excepted. */
static int squeeze(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] == '\n' || !isspace((unsigned char)s.p[i])) &&
            buf_addc(out, s.p[i]) < 0)
            return -1;
    return 0;
}

/* Counts its occurrences, up to 2, and finds the first. */
static int find_twice(struct str text, struct str wanted, size_t *at)
{
    long first = str_find(text, wanted);
    if (first < 0)
        return 0;
    *at = (size_t)first;
    size_t behind = *at + wanted.n;
    return str_find(str_sub(text, behind, text.n - behind), wanted) >= 0 ? 2 : 1;
}

/* The line where it begins; 0: not found. */
static int64_t find_squeezed(struct str text, struct str wanted)
{
    struct buf a = BUF_INIT(EDIT_TEXT_MAX), b = BUF_INIT(EDIT_TEXT_MAX);
    int64_t line = 0;
    if (squeeze(&a, text) == 0 && squeeze(&b, wanted) == 0) {
        long at = str_find(buf_str(&a), buf_str(&b));
        line = at < 0 ? 0 : edit_line_of(buf_str(&a), (size_t)at);
    }
    buf_release(&a);
    buf_release(&b);
    return line;
}

static void no_match(struct skill_change *c, struct str wanted)
{
    c->r->failed = true;
    buf_addf(&c->r->text, "[No exact match found in %s for\n```\n", c->shown);
    buf_adds(&c->r->text, wanted);
    buf_addz(&c->r->text, "\n```\n]\n");
}

static void replace(struct skill_change *c, struct str wanted, struct str text)
{
    size_t at = 0;
    struct str now = buf_str(&c->text);
    int times = find_twice(now, wanted, &at);
    c->from = times ? edit_line_of(now, at) : find_squeezed(now, wanted);
    c->to = c->from + edit_count_lines(wanted) - 1;
    c->to = c->to > c->lines ? c->lines : c->to;
    c->line = c->from;
    c->seen = (c->from + c->to) / 2;
    c->added = edit_count_lines(text);
    if (times > 1)
        skill_fail(c->r, "`to_replace` appears more than once, please include enough "
                         "lines to make code in `to_replace` unique.");
    else if (c->from == 0)
        no_match(c, wanted);
    else
        change_apply(c, text.n ? text : STR("\n"));
}

int edit_by_replace(struct skill_run *r, struct err *e)
{
    struct str wanted = skill_str(r, "to_replace"), text = skill_str(r, "new_content");
    struct skill_change *c;
    (void)e;
    if (is_blank(wanted)) {
        skill_fail(r, "`to_replace` must not be empty.");
        return skill_tell(r);
    }
    if (str_eq(wanted, text)) {
        skill_fail(r, "`to_replace` and `new_content` must be different.");
        return skill_tell(r);
    }
    c = xnew(struct skill_change);
    if (change_begin(c, r) == 0)
        replace(c, wanted, text);
    return change_end(c);
}

/* ---- insert_content_at_line, append_file ---- */

static void no_such_line(struct skill_change *c, int64_t line)
{
    c->r->failed = true;
    buf_addf(
        &c->r->text,
        "[Error editing file %s. Please confirm the file is correct.]\n"
        "Invalid line number: %lld. Line numbers must be between 1 and %lld "
        "(inclusive).\n"
        "Your changes have NOT been applied. Please fix your edit command and try "
        "again.\n"
        "You either need to 1) Open the correct file and try again or 2) Specify the "
        "correct line number arguments.\n"
        "DO NOT re-run the same failed edit command. Running it again will lead to "
        "the same error.\n",
        c->shown, (long long)line, (long long)c->lines);
}

/* A file with one empty line counts as empty. */
static bool is_empty(const struct skill_change *c)
{
    return c->lines == 0 || (c->lines == 1 && is_blank(buf_str(&c->text)));
}

static void insert(struct skill_change *c, int64_t line)
{
    struct str text = skill_str(c->r, "content");
    bool empty = is_empty(c);
    c->line = c->seen = line;
    c->added = 1;
    c->from = empty ? 1 : line;
    c->to = empty ? c->lines : line - 1;
    if (line < 1 || (!empty && line > c->lines + 1))
        no_such_line(c, line);
    else
        change_apply(c, text.n ? text : STR("\n"));
}

static void append(struct skill_change *c)
{
    bool empty = is_empty(c);
    c->line = c->seen = c->lines > 1 ? c->lines : 1;
    c->added = edit_count_lines(skill_str(c->r, "content"));
    c->from = empty ? 1 : c->lines + 1;
    c->to = c->lines;
    change_apply(c, skill_str(c->r, "content"));
}

int edit_insert_content(struct skill_run *r, struct err *e)
{
    struct skill_change *c = xnew(struct skill_change);
    (void)e;
    if (change_begin(c, r) == 0)
        insert(c, skill_int(r, "line_number"));
    return change_end(c);
}

int edit_append_file(struct skill_run *r, struct err *e)
{
    struct skill_change *c = xnew(struct skill_change);
    (void)e;
    if (change_begin(c, r) == 0)
        append(c);
    return change_end(c);
}
