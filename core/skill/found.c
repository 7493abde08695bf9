/* SPDX-License-Identifier: MIT */
/*
 * Matching lines below the name of their file, up to the requested number and the room;
 * all are counted, by file.
 */
#include "base/utf8.h"
#include "base/xalloc.h"
#include "skill/own.h"

#include <stdlib.h>

enum { COUNTS_SHOWN = 8, COUNTS_MAX = 20000, CONTEXT_MAX = 20 };

unsigned found_context(int64_t lines)
{
    return lines < 0 ? 0 : lines > CONTEXT_MAX ? CONTEXT_MAX : (unsigned)lines;
}

uint64_t found_limit(int64_t matches)
{
    return matches < 1                 ? 1
           : matches > FOUND_LIMIT_MAX ? FOUND_LIMIT_MAX
                                       : (uint64_t)matches;
}

void found_plain(struct buf *out, const struct err *e)
{
    static const struct str before = STR("expression: ");
    struct str why = str_of(e->text);
    long at = str_find(why, before);
    if (at >= 0)
        why = str_sub(why, (size_t)at + before.n, why.n);
    buf_addf(out, "(taken as plain text: %.*s)\n", STR_ARG(why));
}

void found_begin(struct matches *f, struct buf *out, const struct found_wish *wish)
{
    *f = (struct matches){.out = out, .wish = *wish, .mark = out->n};
}

void found_release(struct matches *f)
{
    free(f->counts);
    f->counts = NULL;
}

void found_file(struct matches *f, struct str path)
{
    if (f->files > 0 && str_eq(f->path, path))
        return;
    f->path = path;
    f->files++;
    f->number = 0;
    f->named = false;
    if (f->counts_n < COUNTS_MAX && (f->counts_n & (f->counts_n - 1)) == 0)
        f->counts = xrealloc(f->counts, f->counts_n ? 2 * f->counts_n : 1,
                             sizeof(*f->counts));
    if (f->counts_n < COUNTS_MAX)
        f->counts[f->counts_n++] = (struct found_count){path, 0};
}

static void put_line(struct matches *f, uint64_t number, struct str text, bool context,
                     bool cut)
{
    size_t n = text.n > SKILL_LINE_SHOWN ? utf8_cut(text, SKILL_LINE_SHOWN) : text.n;
    if (!f->named)
        utf8_repair(f->out, f->path, true);
    if (!f->named)
        buf_addc(f->out, '\n');
    else if (f->wish.context && f->number > 0 && number > f->number + 1)
        buf_addz(f->out, "--\n");
    f->named = true;
    f->number = number;
    buf_addf(f->out, "%llu%s\t", (unsigned long long)number, context ? "-" : "");
    if (n > 0 && n == text.n && text.p[n - 1] == '\r')
        n--;
    utf8_repair(f->out, str_sub(text, 0, n), true);
    if (cut)
        buf_addz(f->out, "\xe2\x80\xa6");
    else if (text.n > SKILL_LINE_SHOWN)
        buf_addf(f->out, "\xe2\x80\xa6 [+%zu bytes]", text.n - n);
    buf_addc(f->out, '\n');
}

void found_line(struct matches *f, uint64_t number, struct str text, bool context,
                bool cut)
{
    if (!context) {
        f->matches++;
        if (f->counts_n > 0 && f->counts_n <= COUNTS_MAX)
            f->counts[f->counts_n - 1].n++;
    }
    if (f->full)
        return;
    bool enough = !context && f->shown >= f->wish.limit;
    if (!enough)
        put_line(f, number, text, context, cut);
    if (enough || (f->out->n > f->wish.bytes && f->shown > 0)) {
        /* Removes lines of context before a match that is not shown. */
        buf_truncate(f->out, f->mark);
        f->full = true;
        f->no_room = !enough;
        return;
    }
    f->after = context ? f->after + 1 : 0;
    f->shown += !context;
    if (f->after <= f->wish.context)
        f->mark = f->out->n;
}

static int most_first(const void *a, const void *b)
{
    const struct found_count *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    size_t n = x->path.n < y->path.n ? x->path.n : y->path.n;
    int c = n ? memcmp(x->path.p, y->path.p, n) : 0;
    return c ? c : x->path.n < y->path.n ? -1 : 1;
}

void found_tell(struct matches *f, uint64_t searched, struct buf *state)
{
    bool all = f->shown == f->matches;
    buf_addf(state, "%llu match%s in %llu", (unsigned long long)f->matches,
             f->matches == 1 ? "" : "es", (unsigned long long)f->files);
    if (all && searched)
        buf_addf(state, " of %llu file%s", (unsigned long long)searched,
                 searched == 1 ? "" : "s");
    else
        buf_addf(state, " file%s", f->files == 1 ? "" : "s");
    if (all)
        return;
    buf_addf(state, ", %llu shown", (unsigned long long)f->shown);
    if (f->files > 1) {
        qsort(f->counts, f->counts_n, sizeof(*f->counts), most_first);
        buf_addz(state, "; counts: ");
        for (size_t i = 0; i < f->counts_n && i < COUNTS_SHOWN; i++)
            buf_addf(state, "%s%.*s %llu", i ? ", " : "", STR_ARG(f->counts[i].path),
                     (unsigned long long)f->counts[i].n);
        buf_addz(state, f->counts_n > COUNTS_SHOWN ? ", \xe2\x80\xa6" : "");
    }
    buf_addz(state, f->files > 1 ? "; narrow with path or glob" : "; narrow the pattern");
    if (f->wish.limit < FOUND_LIMIT_MAX && !f->no_room)
        buf_addf(state, ", or limit=%d", FOUND_LIMIT_MAX);
}
