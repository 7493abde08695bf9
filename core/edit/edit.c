/* SPDX-License-Identifier: MIT */
/*
 * Changes a file. Each kind of edit computes the new bytes; then the steps are the same:
 * the record of the edit is written, the previous content is kept, the file is replaced.
 * If the worker ends between two steps, the next one finds the record (kept.c), and the
 * file before or after the change.
 */
#include "edit/edit.h"

#include "base/map.h"
#include "base/xalloc.h"
#include "edit/own.h"
#include "file/files.h"
#include "os/file.h"
#include "os/within.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void edited_release(struct edited *d)
{
    buf_release(&d->before);
    buf_release(&d->after);
}

/* ---- steps ---- */

/* A sum that distinguishes two states of a file; it need not resist an attack. */
static void sum_of(struct str bytes, char out[KEPT_SUM_SIZE])
{
    const uint64_t seed[2] = {0};
    snprintf(out, KEPT_SUM_SIZE, "%016" PRIx64, map_hash(seed, bytes));
}

/* Whether the edit was done; `bytes` is the current content of the file. */
static bool is_done(const struct kept_record *r, struct str bytes)
{
    char sum[KEPT_SUM_SIZE];
    if (!r)
        return false;
    sum_of(bytes, sum);
    return strcmp(sum, r->sum) == 0;
}

static bool is_undo(enum edit_kind kind)
{
    return kind == EDIT_UNDO || kind == EDIT_BACK;
}

/*
 * Drops the state that the previous worker kept for an edit that it began and did not do.
 */
static void forget_begun(struct edits *h, const struct edit *q,
                         const struct kept_record *r)
{
    if (r && !is_undo(q->kind))
        kept_drop(h, q->path, r->state);
}

static int fail_full(struct edited *d, const char *path)
{
    d->failure.why = EDIT_FILE;
    return err_set(&d->failure.e, ERR_LIMIT, "cannot edit %s: it would be too large",
                   path);
}

/* The previous content of a file, or that there was no file. */
struct keep {
    const struct str *bytes; /* NULL: no file */
};

/* Replaces the file after writing the record r; keep NULL: keeps nothing. */
static int replace_file(struct edits *h, const struct edit *q, struct edited *d,
                        struct kept_record *r, struct str bytes, const struct keep *keep)
{
    struct files_put put = {.token = q->token,
                            .parents = q->parents,
                            .mode = q->mode,
                            .chown = q->chown,
                            .uid = q->uid,
                            .gid = q->gid};
    r->kind = q->kind;
    snprintf(r->token, sizeof(r->token), "%s", q->token ? q->token : "");
    if (q->token)
        sum_of(bytes, r->sum);
    if (keep)
        r->state = kept_next(h);
    kept_begin(h, r);
    if (keep)
        kept_push(h, q->path, keep->bytes);
    d->failure.why = EDIT_FILE;
    int rc = files_replace(q->path, bytes, &put, &d->failure.e);
    d->owner_errno = put.created ? put.owner_errno : 0;
    if ((rc < 0) == (keep != NULL))
        kept_drop(h, q->path, r->state);
    return rc;
}

/* ---- create ---- */

static int create(struct edits *h, const struct edit *q, struct edited *d)
{
    struct stat st;
    struct buf now = BUF_INIT(EDIT_FILE_MAX);
    const struct kept_record *r = kept_begun(h, q->token, q->kind);
    d->line = 1;
    d->again = r && file_read(q->path, now.max, &now, NULL) == 0 &&
               is_done(r, buf_str(&now));
    buf_release(&now);
    if (buf_adds(&d->after, q->text) < 0)
        return fail_full(d, q->path);
    files_newlines(&d->after);
    if (d->again)
        return 0;
    forget_begun(h, q, r);
    d->failure.why = EDIT_FILE;
    if (stat(q->path, &st) == 0)
        return err_set(&d->failure.e, ERR_EXISTS, "cannot create %s: it exists", q->path);
    struct kept_record begin = {0};
    return replace_file(h, q, d, &begin, q->text, &(struct keep){&q->text});
}

/* ---- write ---- */

static int write_all(struct edits *h, const struct edit *q, struct edited *d)
{
    struct stat st;
    const struct kept_record *r = kept_begun(h, q->token, q->kind);
    struct kept_record begin = {0};
    bool known = file_read(q->path, EDIT_FILE_MAX, &d->before, NULL) == 0;
    struct str was = buf_str(&d->before);
    d->again = r && known && is_done(r, was);
    d->line = 1;
    if (buf_adds(&d->after, q->text) < 0)
        return fail_full(d, q->path);
    if (d->again) {
        d->created = kept_is_none(h, q->path, r->state);
        buf_reset(&d->before);
        if (!d->created)
            kept_read(h, q->path, r->state, &d->before, NULL);
        return 0;
    }
    forget_begun(h, q, r);
    d->created = lstat(q->path, &st) < 0;
    struct keep keep = {known ? &was : NULL};
    return replace_file(h, q, d, &begin, q->text, known || d->created ? &keep : NULL);
}

/* ---- replace ---- */

/* Whether the bytes from..to are whole lines. */
static bool are_lines(struct str text, size_t from, size_t to)
{
    return (from == 0 || text.p[from - 1] == '\n') &&
           (to == text.n || text.p[to] == '\n' || (to > from && text.p[to - 1] == '\n'));
}

/*
 * Finds where the text occurs, as whole lines if `lines`. Returns false if it does not.
 */
static bool find_in(struct str text, struct str wanted, bool lines, size_t from,
                    size_t *at)
{
    for (;;) {
        long n = from <= text.n ? str_find(str_sub(text, from, text.n), wanted) : -1;
        *at = from + (n < 0 ? 0 : (size_t)n);
        if (n < 0 || !lines || are_lines(text, *at, *at + wanted.n))
            return n >= 0;
        from = *at + 1;
    }
}

/* Reports the lines of all places, the first of which is known, and their number. */
static void tell_places(struct str text, struct str wanted, bool lines, size_t at,
                        struct edit_failure *f)
{
    size_t step = wanted.n > 0 ? wanted.n : 1, seen = 0, next = at;
    int64_t line = 1;
    for (bool more = true; more;
         more = find_in(text, wanted, lines, next + step, &next)) {
        f->count++;
        if (f->more_lines)
            continue;
        line += edit_line_of(str_sub(text, seen, text.n), next - seen) - 1;
        seen = next;
        if (f->nlines > 0 && f->lines[f->nlines - 1] == line)
            continue;
        if (!(f->more_lines = f->nlines == EDIT_LINES_TOLD))
            f->lines[f->nlines++] = line;
    }
}

/* Finds the only place and sets *at, or fails with the lines of all places. */
static int find_one(struct str text, struct str wanted, bool lines, size_t *at,
                    struct edit_failure *f)
{
    size_t next, step = wanted.n > 0 ? wanted.n : 1;
    if (!find_in(text, wanted, lines, 0, at)) {
        f->why = EDIT_NO_MATCH;
        return err_set(&f->e, ERR_NOTFOUND, "the text to be replaced does not occur");
    }
    if (!find_in(text, wanted, lines, *at + step, &next))
        return 0;
    f->why = EDIT_MATCHES;
    tell_places(text, wanted, lines, *at, f);
    return err_set(&f->e, ERR_INVALID,
                   "the text to be replaced occurs several times, first in line %lld",
                   (long long)f->lines[0]);
}

struct str edit_strip(struct str s)
{
    while (s.n > 0 && isspace((unsigned char)s.p[0]))
        s = str_sub(s, 1, s.n);
    while (s.n > 0 && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

/* A change of the plain text: `text` replaces each place. */
struct edit_change {
    size_t from, to;
    struct str text;       /* borrowed, from q or hold */
    struct buf hold;       /* owned */
    struct doc_place *all; /* owned; NULL: only the one above */
    size_t n;              /* of all */
};

/* Takes every place of a text that occurs several times. */
static int take_all(const struct edit *q, struct str plain, struct str wanted,
                    struct edit_change *c, struct edited *d)
{
    size_t next = c->from;
    c->n = (size_t)d->failure.count;
    if (c->n > EDIT_PLACES_MAX || wanted.n == 0) {
        d->failure.why = EDIT_FILE;
        return err_set(
            &d->failure.e, ERR_LIMIT,
            "the text to be replaced occurs %zu times; at most %d are replaced", c->n,
            EDIT_PLACES_MAX);
    }
    c->all = xcalloc(c->n, sizeof(*c->all));
    for (size_t i = 0; i < c->n; i++) {
        c->all[i] = (struct doc_place){next, next + wanted.n, q->text};
        find_in(plain, wanted, q->lines, next + wanted.n, &next);
    }
    d->failure.e = (struct err)ERR_INIT;
    return 0;
}

/* Finds a text that does not occur exactly by bending its form to that of the file. */
static int bend(const struct edit *q, struct str plain, struct str wanted,
                struct edit_change *c, struct edited *d, bool *bent)
{
    struct match_bent b;
    struct buf text = BUF_INIT(EDIT_TEXT_MAX);
    int rc = buf_adds(&text, q->text);
    files_newlines(&text);
    *bent = rc == 0 &&
            match_bend(plain, wanted, str_n(buf_z(&text), text.n), EDIT_TEXT_MAX, &b);
    buf_release(&text);
    if (!*bent)
        return -1;
    buf_release(&c->hold);
    c->hold = b.text;
    c->text = str_n(buf_z(&c->hold), c->hold.n);
    c->from = b.from;
    c->to = b.to;
    d->matched = b.how;
    memcpy(d->bent, b.words, sizeof(d->bent));
    d->failure.e = (struct err)ERR_INIT;
    return 0;
}

/* Reports the lines where replaced places begin. */
static void tell_replaced(struct str plain, const struct edit_change *c, struct edited *d)
{
    d->places = c->all ? c->n : 1;
    d->line = edit_line_of(plain, c->from);
    d->added = edit_line_of(c->text, c->text.n) - 1;
    if (!c->all) {
        d->failure.nlines = 1;
        d->failure.lines[0] = d->line;
    }
}

static int find_change(const struct edit *q, const struct edit_doc *doc,
                       struct edit_change *c, struct edited *d)
{
    struct str plain = doc_plain(doc);
    struct buf hold = BUF_INIT(EDIT_TEXT_MAX);
    bool bent = false;
    int rc = buf_adds(&hold, q->old);
    files_newlines(&hold);
    struct str wanted = buf_str(&hold);
    c->text = q->text;
    if (rc == 0)
        rc = find_one(plain, wanted, q->lines, &c->from, &d->failure);
    else
        fail_full(d, q->path);
    if (rc < 0 && d->failure.why == EDIT_MATCHES && q->all)
        rc = take_all(q, plain, wanted, c, d);
    if (rc == 0 && str_find(doc->text, q->old) < 0) {
        d->matched = MATCH_EOL;
        snprintf(d->bent, sizeof(d->bent), "line ends changed to those of the file");
    }
    if (rc < 0 && d->failure.why == EDIT_NO_MATCH && q->bend)
        rc = bend(q, plain, wanted, c, d, &bent);
    if (rc < 0 && d->failure.why == EDIT_NO_MATCH && q->strip_old) {
        wanted = edit_strip(wanted);
        d->failure.stripped = true;
        c->text = q->strip_text ? edit_strip(q->text) : q->text;
        rc = find_one(plain, wanted, q->lines, &c->from, &d->failure);
    }
    if (!bent)
        c->to = c->from + wanted.n;
    if (rc == 0)
        tell_replaced(plain, c, d);
    buf_release(&hold);
    return rc;
}

/* ---- insert ---- */

static int insert_change(const struct edit *q, struct str plain, struct edit_change *c,
                         struct edited *d)
{
    int64_t lines = edit_count_lines(plain);
    if (q->line < 0 || q->line > lines) {
        d->failure.why = EDIT_NO_LINE;
        d->failure.count = lines;
        return err_set(&d->failure.e, ERR_INVALID,
                       "cannot insert after line %lld of %s: it has %lld",
                       (long long)q->line, q->path, (long long)lines);
    }
    c->from = c->to = edit_lines(plain, 1, q->line).n;
    bool open = c->from > 0 && plain.p[c->from - 1] != '\n';
    if ((open && buf_addc(&c->hold, '\n') < 0) || buf_adds(&c->hold, q->text) < 0 ||
        buf_addc(&c->hold, '\n') < 0)
        return fail_full(d, q->path);
    c->text = buf_str(&c->hold);
    d->line = q->line + 1;
    d->added = edit_line_of(q->text, q->text.n);
    return 0;
}

/* ---- lines ---- */

static int lines_change(const struct edit *q, struct str plain, struct edit_change *c,
                        struct edited *d)
{
    int64_t lines = edit_count_lines(plain), to = q->to < q->from ? q->from - 1 : q->to;
    if (q->from < 1 || q->from > lines + 1 || to > lines) {
        d->failure.why = EDIT_NO_LINE;
        d->failure.count = lines;
        return err_set(&d->failure.e, ERR_INVALID,
                       "cannot replace lines %lld to %lld of %s: it has %lld",
                       (long long)q->from, (long long)q->to, q->path, (long long)lines);
    }
    c->from = edit_lines(plain, 1, q->from - 1).n;
    c->to = to > 0 ? edit_lines(plain, 1, to).n : 0;
    bool open = c->from > 0 && plain.p[c->from - 1] != '\n';
    bool ends = q->text.n == 0 || q->text.p[q->text.n - 1] == '\n';
    if ((open && buf_addc(&c->hold, '\n') < 0) || buf_adds(&c->hold, q->text) < 0 ||
        (!ends && buf_addc(&c->hold, '\n') < 0))
        return fail_full(d, q->path);
    c->text = buf_str(&c->hold);
    d->line = q->from;
    d->added = edit_count_lines(q->text);
    return 0;
}

/* ---- all of them ---- */

/* Restores doc to its state before this edit, which is already done. */
static int go_back(struct edits *h, const struct edit *q, const struct kept_record *r,
                   struct edit_doc *doc, struct edited *d)
{
    doc_release(doc);
    doc_init(doc);
    d->again = true;
    d->failure.why = EDIT_FILE;
    if (kept_read(h, q->path, r->state, &doc->bytes, &d->failure.e) < 0)
        return -1;
    return doc_decode(doc, &d->failure, q->path);
}

static int make_change(struct edits *h, const struct edit *q, struct edited *d,
                       struct edit_doc *doc, const struct edit_change *c)
{
    struct edit_doc now;
    struct str was = buf_str(&doc->bytes);
    doc_init(&now);
    struct doc_place one = {c->from, c->to, c->text};
    int rc = doc_splice(doc, c->all ? c->all : &one, c->all ? c->n : 1, &now);
    if (rc < 0) {
        fail_full(d, q->path);
    } else if (!d->again) {
        struct kept_record begin = {0};
        rc = replace_file(h, q, d, &begin, buf_str(&now.bytes), &(struct keep){&was});
    }
    if (rc == 0) {
        doc_take(doc, &d->before);
        doc_take(&now, &d->after);
    }
    doc_release(&now);
    return rc;
}

static int change(struct edits *h, const struct edit *q, struct edited *d)
{
    struct edit_doc doc;
    struct edit_change c = {.hold = BUF_INIT(EDIT_TEXT_MAX)};
    const struct kept_record *r = kept_begun(h, q->token, q->kind);
    doc_init(&doc);
    int rc = doc_load(&doc, q->path, &d->failure);
    if (rc == 0 && r && is_done(r, buf_str(&doc.bytes)))
        rc = go_back(h, q, r, &doc, d);
    else
        forget_begun(h, q, r);
    struct str plain = doc_plain(&doc);
    if (rc == 0)
        rc = q->kind == EDIT_REPLACE  ? find_change(q, &doc, &c, d)
             : q->kind == EDIT_INSERT ? insert_change(q, plain, &c, d)
                                      : lines_change(q, plain, &c, d);
    if (rc == 0)
        rc = make_change(h, q, d, &doc, &c);
    buf_release(&c.hold);
    free(c.all);
    doc_release(&doc);
    return rc;
}

/* ---- undo ---- */

/* Reports the plain text of bytes. */
static int tell_bytes(const struct edit *q, struct edited *d, struct str bytes,
                      struct buf *out)
{
    struct edit_doc doc;
    doc_init(&doc);
    int rc = buf_adds(&doc.bytes, bytes) < 0 ? fail_full(d, q->path)
                                             : doc_decode(&doc, &d->failure, q->path);
    if (rc == 0)
        doc_take(&doc, out);
    doc_release(&doc);
    return rc;
}

static int undo_begun(struct edits *h, const struct edit *q, struct edited *d,
                      const struct kept_record *r, struct str now)
{
    d->again = true;
    kept_drop(h, q->path, r->state);
    if (tell_bytes(q, d, now, &d->after) < 0)
        return -1;
    return tell_bytes(q, d, buf_str(&r->before), &d->before);
}

static int undo_to(struct edits *h, const struct edit *q, struct edited *d,
                   uint64_t state, struct str now)
{
    struct buf then = BUF_INIT(EDIT_TEXT_MAX);
    d->failure.why = EDIT_FILE;
    int rc = kept_read(h, q->path, state, &then, &d->failure.e);
    if (rc == 0)
        rc = tell_bytes(q, d, now, &d->before);
    if (rc == 0)
        rc = tell_bytes(q, d, buf_str(&then), &d->after);
    if (rc == 0) {
        struct kept_record begin = {.state = state, .before = BUF_INIT(EDIT_TEXT_MAX)};
        buf_adds(&begin.before, now);
        rc = replace_file(h, q, d, &begin, buf_str(&then), NULL);
        buf_release(&begin.before);
    }
    buf_release(&then);
    return rc;
}

static int undo(struct edits *h, const struct edit *q, struct edited *d)
{
    struct edit_doc doc;
    const struct kept_record *r = kept_begun(h, q->token, q->kind);
    doc_init(&doc);
    d->line = 1;
    int rc = doc_load(&doc, q->path, &d->failure);
    struct str now = buf_str(&doc.bytes);
    uint64_t state = kept_newest(h, q->path);
    if (rc == 0 && r && is_done(r, now)) {
        rc = undo_begun(h, q, d, r, now);
    } else if (rc == 0 && (!state || kept_is_none(h, q->path, state))) {
        d->failure.why = EDIT_NO_HISTORY;
        rc = err_set(&d->failure.e, ERR_NOTFOUND, "nothing is kept of %s", q->path);
    } else if (rc == 0) {
        rc = undo_to(h, q, d, state, now);
    }
    doc_release(&doc);
    return rc;
}

/* ---- back ---- */

/* Whether this undo was done: the file has its new content. */
static bool is_back(const struct kept_record *r, bool there, struct str now)
{
    return r && (there ? is_done(r, now) : strcmp(r->sum, KEPT_NO_FILE) == 0);
}

static int remove_file(struct edits *h, const struct edit *q, struct edited *d,
                       struct kept_record *r)
{
    snprintf(r->token, sizeof(r->token), "%s", q->token ? q->token : "");
    snprintf(r->sum, sizeof(r->sum), "%s", KEPT_NO_FILE);
    r->kind = q->kind;
    kept_begin(h, r);
    d->failure.why = EDIT_FILE;
    if (within_unlink(q->path) < 0 && errno != ENOENT)
        return file_fail(&d->failure.e, errno, "remove", q->path);
    kept_drop(h, q->path, r->state);
    return 0;
}

static int bring_back(struct edits *h, const struct edit *q, struct edited *d,
                      uint64_t state)
{
    struct buf then = BUF_INIT(EDIT_TEXT_MAX);
    struct kept_record begin = {.state = state};
    d->created = kept_is_none(h, q->path, state);
    d->failure.why = EDIT_FILE;
    int rc = d->created ? remove_file(h, q, d, &begin)
                        : kept_read(h, q->path, state, &then, &d->failure.e);
    if (rc == 0 && !d->created)
        rc = replace_file(h, q, d, &begin, buf_str(&then), NULL);
    buf_release(&then);
    return rc;
}

static int back(struct edits *h, const struct edit *q, struct edited *d)
{
    struct buf now = BUF_INIT(EDIT_FILE_MAX);
    const struct kept_record *r = kept_begun(h, q->token, q->kind);
    bool there = file_read(q->path, now.max, &now, NULL) == 0;
    uint64_t state = kept_newest(h, q->path);
    int rc = 0;
    d->line = 1;
    d->again = is_back(r, there, buf_str(&now));
    d->kept_at = kept_at(h, q->path, d->again ? r->state : state);
    if (d->again) {
        d->created = strcmp(r->sum, KEPT_NO_FILE) == 0;
        kept_drop(h, q->path, r->state);
    } else if (!state) {
        d->failure.why = EDIT_NO_HISTORY;
        rc = err_set(&d->failure.e, ERR_NOTFOUND, "nothing is kept of %s", q->path);
    } else {
        rc = bring_back(h, q, d, state);
    }
    buf_release(&now);
    return rc;
}

int edit_apply(struct edits *h, const struct edit *q, struct edited *d)
{
    switch (q->kind) {
    case EDIT_WRITE:
        return write_all(h, q, d);
    case EDIT_BACK:
        return back(h, q, d);
    case EDIT_CREATE:
        return create(h, q, d);
    case EDIT_UNDO:
        return undo(h, q, d);
    case EDIT_REPLACE:
    case EDIT_INSERT:
    case EDIT_LINES:
        break;
    }
    return change(h, q, d);
}
