/* SPDX-License-Identifier: MIT */
/*
 * Numbered lines, as NUMBER, tab, line, as far as there is room; properties of a text
 * that its lines do not show; sizes in words.
 */
#include "base/scan.h"
#include "base/utf8.h"
#include "skill/own.h"

#include <stdio.h>

void numbering_begin(struct numbering *s, struct buf *out, int64_t from, int64_t count,
                     size_t max)
{
    *s = (struct numbering){.out = out, .line = 1, .from = from, .max = out->n + max};
    s->whole = count == INT64_MAX;
    s->end = count > INT64_MAX - from ? INT64_MAX : from + count;
}

/* Completes the current line. Returns false if there was no room for it. */
static bool end_line(struct numbering *s)
{
    struct buf *out = s->out;
    struct str text = str_n(out->p + s->text_at, out->n - s->text_at);
    if (s->bytes > SKILL_LINE_SHOWN) {
        buf_truncate(out, s->text_at + utf8_cut(text, SKILL_LINE_SHOWN));
        buf_addf(out, "\xe2\x80\xa6 [+%llu bytes]",
                 (unsigned long long)(s->bytes - (out->n - s->text_at)));
    } else if (text.n > 0 && text.p[text.n - 1] == '\r') {
        buf_truncate(out, out->n - 1);
    }
    buf_addc(out, '\n');
    s->open = false;
    bool many = s->whole && s->line - s->from >= SKILL_LINES;
    if (many || (out->n > s->max && s->last > 0)) {
        buf_truncate(out, s->line_at);
        s->full = true;
        return false;
    }
    s->last = s->line;
    return true;
}

static void put_part(struct numbering *s, struct str part)
{
    if (!s->open) {
        s->line_at = s->out->n;
        buf_addf(s->out, "%lld\t", (long long)s->line);
        s->text_at = s->out->n;
        s->bytes = 0;
        s->open = true;
    }
    size_t have = s->out->n - s->text_at;
    size_t room = have < SKILL_LINE_SHOWN + 4 ? SKILL_LINE_SHOWN + 4 - have : 0;
    buf_adds(s->out, str_sub(part, 0, room));
    s->bytes += part.n;
}

bool numbering_feed(struct numbering *s, struct str bytes)
{
    while (bytes.n > 0 && s->line < s->end && !s->full) {
        const char *nl = memchr(bytes.p, '\n', bytes.n);
        size_t n = nl ? (size_t)(nl - bytes.p) : bytes.n;
        if (s->line >= s->from)
            put_part(s, str_sub(bytes, 0, n));
        if (nl) {
            if (s->line >= s->from && !end_line(s))
                break;
            s->line++;
        }
        bytes = str_sub(bytes, n + (nl != NULL), bytes.n);
    }
    return s->line < s->end && !s->full;
}

void numbering_end(struct numbering *s)
{
    if (s->open)
        end_line(s);
}

void show_range(int64_t *offset, int64_t *limit, int64_t total)
{
    enum { LAST = 10 };
    *limit = *limit < 1 ? INT64_MAX : *limit;
    if (*offset < 0)
        *offset = total + *offset + 1;
    else if (*offset > total)
        *offset = total - (*limit < LAST ? *limit : LAST) + 1;
    *offset = *offset < 1 ? 1 : *offset;
}

/* ---- form ---- */

void form_count(struct form *f, struct str text)
{
    size_t at = 0;
    while (at < text.n) {
        size_t end = line_end_of(text, at);
        bool cr = end > at && end < text.n && text.p[end - 1] == '\r';
        f->crlf += cr;
        f->lf += end < text.n && !cr;
        f->tabs += text.p[at] == '\t';
        f->spaces += end - at > 1 && text.p[at] == ' ' && text.p[at + 1] == ' ';
        at = end + 1;
    }
}

const char *form_eol(const struct form *f)
{
    return f->crlf && f->lf ? "mixed" : f->crlf ? "crlf" : "lf";
}

const char *form_indent(const struct form *f)
{
    return f->tabs && f->spaces ? "mixed"
           : f->tabs            ? "tabs"
           : f->spaces          ? "spaces"
                                : NULL;
}

void form_tell(const struct form *f, struct buf *state)
{
    if (f->tabs)
        buf_addz(state, f->spaces ? "; indented with tabs and spaces, mixed"
                                  : "; indented with tabs");
    if (f->crlf)
        buf_addz(state, f->lf ? "; line ends CRLF and LF, mixed" : "; line ends CRLF");
}

void size_words(uint64_t n, char out[SIZE_WORDS])
{
    if (n < 1000)
        snprintf(out, SIZE_WORDS, "%llu bytes", (unsigned long long)n);
    else if (n < 1000000)
        snprintf(out, SIZE_WORDS, "%.1f kB", (double)n / 1e3);
    else if (n < 1000000000)
        snprintf(out, SIZE_WORDS, "%.1f MB", (double)n / 1e6);
    else
        snprintf(out, SIZE_WORDS, "%.1f GB", (double)n / 1e9);
}
