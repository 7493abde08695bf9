/* SPDX-License-Identifier: MIT */
/*
 * Changing a file. Each kind finds out what the bytes shall be; then the steps are
 * the same: the record of what is begun is written, what was is kept, the file is
 * replaced. When the worker ends between two of them, the next one finds the
 * record (kept.c) and the file as it was, or as it shall be.
 */
#include "edit/edit.h"

#include "base/map.h"
#include "edit/own.h"
#include "file/files.h"
#include "os/file.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

void edited_release(struct edited *d)
{
    buf_release(&d->before);
    buf_release(&d->after);
}

/* ---- steps ---- */

/* To tell two states of one file apart, and nothing that is worth an attack. */
static void sum_of(struct str bytes, char out[KEPT_SUM_SIZE])
{
    const uint64_t seed[2] = {0};
    snprintf(out, KEPT_SUM_SIZE, "%016" PRIx64, map_hash(seed, bytes));
}

/* `bytes` are what the file holds now. */
static bool is_done(const struct kept_record *r, struct str bytes)
{
    char sum[KEPT_SUM_SIZE];
    if (!r)
        return false;
    sum_of(bytes, sum);
    return strcmp(sum, r->sum) == 0;
}

/* Begun by the worker before, and not done: what it kept for it is there twice. */
static void forget_begun(struct edits *h, const struct edit *q,
                         const struct kept_record *r)
{
    if (r && q->kind != EDIT_UNDO)
        kept_drop(h, q->path, r->state);
}

static int fail_full(struct edited *d, const char *path)
{
    d->failure.why = EDIT_FILE;
    return err_set(&d->failure.e, ERR_LIMIT, "cannot edit %s: it would be too large",
                   path);
}

/* Replaces the file, under the record r, which says the rest; keep: what it held. */
static int replace_file(struct edits *h, const struct edit *q, struct edited *d,
                        struct kept_record *r, struct str bytes, const struct str *keep)
{
    struct files_put put = {.token = q->token,
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
        kept_push(h, q->path, *keep);
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
    return replace_file(h, q, d, &begin, q->text, &q->text);
}

/* ---- replace ---- */

/* Where the text occurs, from 0 on; false: nowhere. */
static bool find_in(struct str text, struct str wanted, size_t from, size_t *at)
{
    long n = from <= text.n ? str_find(str_sub(text, from, text.n), wanted) : -1;
    *at = from + (n < 0 ? 0 : (size_t)n);
    return n >= 0;
}

/* Finds the one place, or tells all lines that have one. 0: *at. */
static int find_one(struct str text, struct str wanted, size_t *at,
                    struct edit_failure *f)
{
    size_t next, step = wanted.n > 0 ? wanted.n : 1, seen = 0;
    int64_t line = 1;
    if (!find_in(text, wanted, 0, at)) {
        f->why = EDIT_NO_MATCH;
        return err_set(&f->e, ERR_NOTFOUND, "the text to be replaced does not occur");
    }
    if (!find_in(text, wanted, *at + step, &next))
        return 0;
    f->why = EDIT_MATCHES;
    bool more = true;
    for (next = *at; more; more = find_in(text, wanted, next + step, &next)) {
        line += edit_line_of(str_sub(text, seen, text.n), next - seen) - 1;
        seen = next;
        if (f->nlines > 0 && f->lines[f->nlines - 1] == line)
            continue;
        if ((f->more_lines = f->nlines == EDIT_LINES_TOLD))
            break;
        f->lines[f->nlines++] = line;
    }
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

/* A change of the plain text: what is between the places becomes this. */
struct change {
    size_t from, to;
    struct str text; /* borrowed, from q or hold */
    struct buf hold; /* owned */
};

static int find_change(const struct edit *q, struct str plain, struct change *c,
                       struct edited *d)
{
    struct buf hold = BUF_INIT(EDIT_TEXT_MAX);
    int rc = buf_adds(&hold, q->old);
    files_newlines(&hold);
    struct str wanted = buf_str(&hold);
    c->text = q->text;
    if (rc == 0)
        rc = find_one(plain, wanted, &c->from, &d->failure);
    else
        fail_full(d, q->path);
    if (rc < 0 && d->failure.why == EDIT_NO_MATCH && q->strip_old) {
        wanted = edit_strip(wanted);
        d->failure.stripped = true;
        c->text = q->strip_text ? edit_strip(q->text) : q->text;
        rc = find_one(plain, wanted, &c->from, &d->failure);
    }
    c->to = c->from + wanted.n;
    d->line = edit_line_of(plain, c->from);
    d->added = edit_line_of(c->text, c->text.n) - 1;
    buf_release(&hold);
    return rc;
}

/* ---- insert ---- */

static int insert_change(const struct edit *q, struct str plain, struct change *c,
                         struct edited *d)
{
    int64_t lines = edit_count_lines(plain);
    if (q->line < 0 || q->line > lines) {
        d->failure.why = EDIT_NO_LINE;
        d->failure.count = lines;
        return err_set(&d->failure.e, ERR_INVALID,
                       "cannot insert behind line %lld of %s: it has %lld",
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

static int lines_change(const struct edit *q, struct str plain, struct change *c,
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

/* Makes doc what it was before this edit, which is done already. */
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
                       struct edit_doc *doc, const struct change *c)
{
    struct edit_doc now;
    struct str was = buf_str(&doc->bytes);
    doc_init(&now);
    int rc = doc_splice(doc, c->from, c->to, c->text, &now);
    if (rc < 0) {
        fail_full(d, q->path);
    } else if (!d->again) {
        struct kept_record begin = {0};
        rc = replace_file(h, q, d, &begin, buf_str(&now.bytes), &was);
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
    struct change c = {.hold = BUF_INIT(EDIT_TEXT_MAX)};
    const struct kept_record *r = kept_begun(h, q->token, q->kind);
    doc_init(&doc);
    int rc = doc_load(&doc, q->path, &d->failure);
    if (rc == 0 && r && is_done(r, buf_str(&doc.bytes)))
        rc = go_back(h, q, r, &doc, d);
    else
        forget_begun(h, q, r);
    struct str plain = doc_plain(&doc);
    if (rc == 0)
        rc = q->kind == EDIT_REPLACE  ? find_change(q, plain, &c, d)
             : q->kind == EDIT_INSERT ? insert_change(q, plain, &c, d)
                                      : lines_change(q, plain, &c, d);
    if (rc == 0)
        rc = make_change(h, q, d, &doc, &c);
    buf_release(&c.hold);
    doc_release(&doc);
    return rc;
}

/* ---- undo ---- */

/* The plain text of bytes. */
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
    } else if (rc == 0 && !state) {
        d->failure.why = EDIT_NO_HISTORY;
        rc = err_set(&d->failure.e, ERR_NOTFOUND, "nothing is kept of %s", q->path);
    } else if (rc == 0) {
        rc = undo_to(h, q, d, state, now);
    }
    doc_release(&doc);
    return rc;
}

int edit_apply(struct edits *h, const struct edit *q, struct edited *d)
{
    switch (q->kind) {
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
