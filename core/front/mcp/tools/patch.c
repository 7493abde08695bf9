/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/patch.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum { TEXT_MAX = 4 << 20 };

/* A text that is read line by line. */
struct reading_patch {
    struct patch *p;
    struct str rest;
    unsigned line;           /* number of the last line that was taken */
    struct patch_step *step; /* the step that lines belong to; NULL: none */
    struct str path, to;     /* of the current file; path empty: none */
    struct patch later;      /* moves and removals */
    struct str header;       /* the text after @@ */
    int64_t at;              /* of a unified hunk: its first line */
    bool touched;            /* the file has a step already */
};

static struct patch_step *add(struct patch *p, enum patch_kind kind, struct str path,
                              struct err *e)
{
    if (p->n == PATCH_STEPS_MAX) {
        err_set(e, ERR_LIMIT, "the patch has more than %d steps; send it in parts",
                PATCH_STEPS_MAX);
        return NULL;
    }
    struct patch_step *s = &p->steps[p->n++];
    *s = (struct patch_step){.kind = kind, .path = xstrndup(path.p, path.n)};
    buf_init(&s->old, TEXT_MAX);
    buf_init(&s->new, TEXT_MAX);
    return s;
}

static void release_step(struct patch_step *s)
{
    free(s->path);
    free(s->to);
    buf_release(&s->old);
    buf_release(&s->new);
}

void patch_release(struct patch *p)
{
    for (unsigned i = 0; i < p->n; i++)
        release_step(&p->steps[i]);
    p->n = 0;
}

static int odd(const struct reading_patch *r, const char *what, struct err *e)
{
    return err_set(e, ERR_INVALID, "line %u of the patch: %s", r->line, what);
}

static bool after(struct str line, const char *word, struct str *rest)
{
    struct str w = str_of(word);
    if (!str_starts(line, w))
        return false;
    *rest = str_trim(str_sub(line, w.n, line.n));
    return true;
}

/* ---- hunks ---- */

/* Ends a hunk. One that only adds lines needs a place. */
static int end_hunk(struct reading_patch *r, struct err *e)
{
    struct patch_step *s = r->step;
    r->step = NULL;
    if (!s || s->kind != PATCH_REPLACE)
        return 0;
    if (s->old.n == 0 && s->new.n == 0) { /* a header with nothing after it */
        r->p->n--;
        release_step(s);
    } else if (s->old.n == 0 && r->at > 0) {
        s->kind = PATCH_INSERT;
        s->line = r->at - 1;
    } else if (s->old.n == 0 && r->header.n > 0) {
        struct buf new = BUF_INIT(TEXT_MAX);
        buf_adds(&s->old, r->header);
        buf_addc(&s->old, '\n');
        buf_adds(&new, buf_str(&s->old));
        buf_adds(&new, buf_str(&s->new));
        buf_release(&s->new);
        s->new = new;
    } else if (s->old.n == 0) {
        return odd(r, "it adds lines without a place: give a line next to them", e);
    }
    return 0;
}

static int begin_hunk(struct reading_patch *r, struct err *e)
{
    if (end_hunk(r, e) < 0)
        return -1;
    r->step = add(r->p, PATCH_REPLACE, r->path, e);
    r->touched = true;
    return r->step ? 0 : -1;
}

static void put(struct buf *out, struct str line)
{
    buf_adds(out, line);
    buf_addc(out, '\n');
}

/* Takes one line of a hunk, or of a new file. */
static int take_body(struct reading_patch *r, struct str line, struct err *e)
{
    char mark = line.n > 0 ? line.p[0] : ' ';
    struct str text = str_sub(line, line.n > 0, line.n);
    if (mark == '\\') /* \ No newline at end of file */
        return 0;
    if (!strchr(" +-", mark))
        return odd(r, "it does not begin with a space, + or -", e);
    if (r->step->kind == PATCH_CREATE && mark != '+')
        return line.n == 0 ? 0 : odd(r, "a new file may have only lines with +", e);
    if (mark != '+')
        put(&r->step->old, text);
    if (mark != '-')
        put(&r->step->new, text);
    return 0;
}

/* "@@ -3,4 +3,5 @@ def f():", or "@@ def f():" */
static void read_header(struct reading_patch *r, struct str line)
{
    struct str s = str_trim(str_sub(line, 2, line.n)), number;
    uint64_t n = 0;
    r->at = 0;
    if (str_starts(s, STR("-"))) {
        long plus = str_find(s, STR("+"));
        number = str_sub(s, plus < 0 ? s.n : (size_t)plus + 1, s.n);
        number = str_cut(&number, ' ');
        if (str_to_u64(str_cut(&number, ','), &n) == 0)
            r->at = (int64_t)n;
        long end = str_find(s, STR("@@"));
        s = str_trim(str_sub(s, end < 0 ? s.n : (size_t)end + 2, s.n));
    } else if (str_ends(s, STR("@@"))) {
        s = str_trim(str_sub(s, 0, s.n - 2));
    }
    r->header = s;
}

/* ---- files ---- */

static bool has_nul(struct str s) { return s.n > 0 && memchr(s.p, 0, s.n); }

/* Completes the previous file. */
static int end_file(struct reading_patch *r, struct err *e)
{
    struct patch_step *s;
    if (end_hunk(r, e) < 0)
        return -1;
    if (has_nul(r->to))
        return odd(r, "the new name of the previous file has a NUL byte", e);
    if (r->path.n > 0 && r->to.n > 0 && !str_eq(r->path, r->to)) {
        s = add(&r->later, PATCH_MOVE, r->path, e);
        if (!s)
            return -1;
        s->to = xstrndup(r->to.p, r->to.n);
    } else if (r->path.n > 0 && !r->touched) {
        return odd(r, "the previous file has no change", e);
    }
    r->path = r->to = r->header = STR("");
    r->touched = false;
    r->at = 0;
    return 0;
}

static int begin_file(struct reading_patch *r, struct str path, struct err *e)
{
    if (end_file(r, e) < 0)
        return -1;
    if (path.n == 0 || has_nul(path))
        return odd(r, path.n ? "a name has a NUL byte" : "the name of a file is missing",
                   e);
    r->path = path;
    return 0;
}

static int make_file(struct reading_patch *r, struct str path, struct err *e)
{
    if (begin_file(r, path, e) < 0 || !(r->step = add(r->p, PATCH_CREATE, path, e)))
        return -1;
    r->touched = true;
    return 0;
}

static int remove_file(struct reading_patch *r, struct str path, struct err *e)
{
    if (begin_file(r, path, e) < 0 || !add(&r->later, PATCH_REMOVE, path, e))
        return -1;
    r->touched = true;
    return 0;
}

/* ---- the form of Codex ---- */

static int take_codex(struct reading_patch *r, struct str line, struct err *e)
{
    struct str name;
    if (after(line, "*** Add File:", &name))
        return make_file(r, name, e);
    if (after(line, "*** Delete File:", &name))
        return remove_file(r, name, e);
    if (after(line, "*** Update File:", &name))
        return begin_file(r, name, e);
    if (after(line, "*** Move to:", &name)) {
        r->to = name;
        return 0;
    }
    if (after(line, "*** End of File", &name))
        return 0;
    if (r->path.n == 0)
        return str_trim(line).n == 0 ? 0 : odd(r, "it does not belong to a file", e);
    if (str_starts(line, STR("@@"))) {
        if (begin_hunk(r, e) < 0)
            return -1;
        read_header(r, line);
        r->at = 0;
        return 0;
    }
    if (!r->step && begin_hunk(r, e) < 0)
        return -1;
    return take_body(r, line, e);
}

/* ---- a unified diff ---- */

/* "a/src/x.c<tab>date" */
static struct str file_name(struct str s)
{
    long tab = str_chr(s, '\t');
    s = str_trim(str_sub(s, 0, tab < 0 ? s.n : (size_t)tab));
    if (str_starts(s, STR("a/")) || str_starts(s, STR("b/")))
        s = str_sub(s, 2, s.n);
    return s;
}

/* Takes the pair of lines "--- OLD" and "+++ NEW". */
static int take_names(struct reading_patch *r, struct str old, struct str new,
                      struct err *e)
{
    bool made = str_eq(str_trim(old), STR("/dev/null"));
    bool gone = str_eq(str_trim(new), STR("/dev/null"));
    old = file_name(old);
    new = file_name(new);
    if (made)
        return make_file(r, new, e);
    if (gone)
        return remove_file(r, old, e);
    if (begin_file(r, old, e) < 0)
        return -1;
    r->to = new;
    return 0;
}

static int take_unified(struct reading_patch *r, struct str line, struct err *e)
{
    struct str old, new, next = r->rest;
    struct str second = str_cut(&next, '\n');
    if (after(line, "--- ", &old) && after(second, "+++ ", &new)) {
        r->rest = next;
        r->line++;
        return take_names(r, old, new, e);
    }
    if (after(line, "rename from ", &old) && after(second, "rename to ", &new)) {
        r->rest = next;
        r->line++;
        if (begin_file(r, old, e) < 0)
            return -1;
        r->to = new;
        return 0;
    }
    if (str_starts(line, STR("diff ")))
        return end_file(r, e);
    bool removed = r->later.n > 0 &&
                   r->later.steps[r->later.n - 1].kind == PATCH_REMOVE && r->path.n > 0 &&
                   str_eq(r->path, str_of(r->later.steps[r->later.n - 1].path));
    if (r->path.n == 0 || removed) /* git's own lines, or the content of a removed file */
        return 0;
    if (str_starts(line, STR("@@"))) {
        if (r->step && r->step->kind == PATCH_CREATE)
            return 0;
        if (begin_hunk(r, e) < 0)
            return -1;
        read_header(r, line);
        return 0;
    }
    return r->step ? take_body(r, line, e) : 0;
}

/* ---- the whole ---- */

static void take_off_newline(struct buf *b)
{
    if (b->n > 0)
        buf_truncate(b, b->n - 1);
}

/*
 * Removes the last newline of texts, except where the new text is empty or the old one is
 * a single empty line: a text to search for is not empty.
 */
static void finish(struct patch *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        struct patch_step *s = &p->steps[i];
        if (s->kind == PATCH_INSERT ||
            (s->kind == PATCH_REPLACE && s->old.n > 1 && s->new.n > 0)) {
            take_off_newline(&s->old);
            take_off_newline(&s->new);
        }
    }
}

static int append(struct patch *p, struct patch *later, struct err *e)
{
    if (p->n + later->n > PATCH_STEPS_MAX)
        return err_set(e, ERR_LIMIT, "the patch has more than %d steps; send it in parts",
                       PATCH_STEPS_MAX);
    memcpy(p->steps + p->n, later->steps, later->n * sizeof(*later->steps));
    p->n += later->n;
    later->n = 0;
    return 0;
}

int patch_read(struct patch *p, struct str text, struct err *e)
{
    static const struct str begin = STR("*** Begin Patch");
    struct reading_patch *r = xnew(struct reading_patch);
    long at = str_find(text, begin);
    bool codex = at >= 0 || str_find(text, STR("*** Update File:")) >= 0 ||
                 str_find(text, STR("*** Add File:")) >= 0 ||
                 str_find(text, STR("*** Delete File:")) >= 0;
    int rc = 0;
    *r = (struct reading_patch){.p = p, .rest = text};
    p->n = 0;
    if (at >= 0) {
        r->rest = str_sub(text, (size_t)at, text.n);
        r->line = (unsigned)str_count(str_sub(text, 0, (size_t)at), '\n') + 1;
        str_cut(&r->rest, '\n');
    }
    while (rc == 0 && r->rest.n > 0) {
        struct str line = str_cut(&r->rest, '\n');
        r->line++;
        if (line.n > 0 && line.p[line.n - 1] == '\r')
            line.n--;
        if (codex && str_starts(line, STR("*** End Patch")))
            break;
        rc = codex ? take_codex(r, line, e) : take_unified(r, line, e);
    }
    if (rc == 0)
        rc = end_file(r, e);
    finish(p);
    if (rc == 0)
        rc = append(p, &r->later, e);
    if (rc == 0 && p->n == 0)
        rc = err_set(e, ERR_INVALID,
                     "this is not a patch: one begins with *** Begin Patch, or has lines "
                     "--- FILE, +++ FILE and @@");
    patch_release(&r->later);
    free(r);
    return rc;
}
