/* SPDX-License-Identifier: MIT */
/*
 * Head, window and tail of a text: see text.h. The head ends with the last line that
 * begins in its second half, and the tail begins with the first line that begins in its
 * first half. If there is no such line, the border is within a line, between two
 * characters.
 */
#include "term/text.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

/* The window may grow to this many times the bytes that must be kept, so that each
 * byte is moved about once. */
#define SLACK 2

void text_init(struct text *t, const struct term_opts *o)
{
    *t = (struct text){
        .head_max = o->keep_lines ? 0 : o->head,
        .tail_max = o->tail,
        .keep_lines = o->keep_lines,
        .starts = true,
    };
    buf_init(&t->head, t->head_max);
    buf_init(&t->win, SIZE_MAX);
}

void text_release(struct text *t)
{
    buf_release(&t->head);
    buf_release(&t->win);
    free(t->piece);
    t->piece = NULL;
    t->pieces = t->pieces_cap = 0;
}

void text_add(struct text *t, const char *p, size_t n)
{
    if (buf_add(&t->win, p, n) < 0)
        xalloc_failed(n); /* bounded by the window, so the machine is full */
}

struct str text_cur(const struct text *t)
{
    return str_sub(buf_str(&t->win), t->cur, SIZE_MAX);
}

void text_cur_truncate(struct text *t, size_t n)
{
    buf_truncate(&t->win, t->cur + n);
}

static void border_see(struct text_border *b, const struct text_piece *p,
                       size_t head_max)
{
    if (p->pos > head_max)
        return;
    b->last = *p;
    b->has_last = true;
    if (p->starts && p->pos >= head_max / 2) {
        b->line = *p;
        b->has_line = true;
    }
}

/* Removes the oldest pieces from the window. */
static void drop(struct text *t, size_t keep)
{
    size_t over = t->win.n - keep, k = 0;
    while (k < t->pieces && t->piece[k].pos - t->base < over)
        border_see(&t->border, &t->piece[k++], t->head_max);
    if (k == t->pieces)
        k--; /* the newest one stays whatever its size */
    if (k == 0)
        return;
    size_t n = (size_t)(t->piece[k].pos - t->base);
    size_t room = buf_room(&t->head);
    if (room && buf_add(&t->head, t->win.p, n < room ? n : room) < 0)
        xalloc_failed(room);
    t->gone_to = t->piece[k - 1].to;
    buf_consume(&t->win, n);
    t->base += n;
    t->cur -= n;
    t->pieces -= k;
    memmove(t->piece, t->piece + k, t->pieces * sizeof(*t->piece));
}

static void push(struct text *t, uint64_t from, uint64_t to, bool same)
{
    if (t->pieces == t->pieces_cap) {
        t->pieces_cap = t->pieces_cap ? t->pieces_cap * 2 : 64;
        t->piece = xrealloc(t->piece, t->pieces_cap, sizeof(*t->piece));
    }
    t->piece[t->pieces++] = (struct text_piece){
        .pos = t->base + t->cur,
        .from = from,
        .to = to,
        .line = t->line,
        .starts = t->starts,
        .same = same,
    };
}

void text_end(struct text *t, uint64_t from, uint64_t to, bool same,
              bool newline)
{
    if (newline)
        text_add(t, "\n", 1);
    if (t->last_to < to)
        t->last_to = to;
    push(t, from, t->last_to, same);
    t->cur = t->win.n;
    t->starts = newline;
    t->line += newline;
    size_t keep = t->tail_max + TEXT_BACK;
    if (t->win.n > SLACK * keep && !t->held)
        drop(t, keep);
}

bool text_take_back(struct text *t, struct text_piece *out)
{
    if (t->pieces == 0 || !t->starts || !t->piece[t->pieces - 1].starts)
        return false;
    *out = t->piece[--t->pieces];
    t->cur = (size_t)(out->pos - t->base);
    t->line = out->line;
    buf_truncate(&t->win, t->win.n - 1); /* the newline */
    return true;
}

struct text_mark text_mark(struct text *t)
{
    t->held = true;
    return (struct text_mark){
        .n = t->win.n,
        .cur = t->cur,
        .pieces = t->pieces,
        .line = t->line,
        .last_to = t->last_to,
        .starts = t->starts,
    };
}

void text_undo(struct text *t, const struct text_mark *m)
{
    buf_truncate(&t->win, m->n);
    t->cur = m->cur;
    t->pieces = m->pieces;
    t->line = m->line;
    t->last_to = m->last_to;
    t->starts = m->starts;
    t->held = false;
}

/* The piece of the window that byte pos is in, or the one that begins there. */
static size_t piece_at(const struct text *t, uint64_t pos)
{
    size_t low = 0, high = t->pieces;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (t->piece[mid].pos <= pos)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Returns the last border between two characters up to head_max. */
static size_t head_cut(const struct text *t)
{
    char last[3];
    size_t n = t->head_max < sizeof(last) ? t->head_max : sizeof(last);
    for (size_t i = 0; i < n; i++) {
        size_t pos = t->head_max - n + i;
        last[i] = pos < t->head.n ? t->head.p[pos] : t->win.p[pos - t->base];
    }
    return t->head_max - n + utf8_cut(str_n(last, n), n);
}

/* The part that is left out: its text positions, and the rest for the info. */
struct text_cut {
    uint64_t a, b;         /* the text from a to b is left out */
    uint64_t from, to;     /* its input */
    uint64_t first, last;  /* its lines */
};

static void head_border(const struct text *t, struct text_cut *c)
{
    struct text_border b = t->border;
    for (size_t i = 0; i < t->pieces && t->piece[i].pos <= t->head_max; i++)
        border_see(&b, &t->piece[i], t->head_max);
    const struct text_piece *p = b.has_line ? &b.line : &b.last;
    c->a = p->pos;
    c->from = p->from;
    c->first = p->line;
    if (b.has_line)
        return;
    c->a = head_cut(t);
    if (p->same)
        c->from += c->a - p->pos;
}

/* The first place at or after pos, in the window, where a tail may begin. */
static void tail_border(const struct text *t, uint64_t pos, struct text_cut *c)
{
    size_t i = piece_at(t, pos);
    const struct text_piece *p = &t->piece[i];
    c->b = pos;
    if (p->pos != pos) {
        size_t k = i + 1;
        while (k < t->pieces && !t->piece[k].starts)
            k++;
        if (k < t->pieces && t->piece[k].pos - pos <= t->tail_max / 2) {
            i = k;
            p = &t->piece[k];
            c->b = p->pos;
        }
    }
    while (c->b < t->base + t->win.n &&
           (t->win.p[c->b - t->base] & 0xc0) == 0x80)
        c->b++;
    c->last = p->line;
    if (c->b > p->pos) {
        bool end = c->b == t->base + t->win.n;
        c->to = p->same && !end ? p->from + (c->b - p->pos) : p->to;
    } else {
        c->to = i ? p[-1].to : t->gone_to;
        c->last -= p->starts && p->line > 0;
    }
}

/* Returns the first position where the tail may begin. */
static uint64_t tail_from(const struct text *t, uint64_t end, uint64_t lines)
{
    uint64_t from = end > t->tail_max ? end - t->tail_max : 0;
    if (!t->keep_lines && end <= t->head_max + t->tail_max)
        from = 0; /* it all fits */
    if (from < t->base && t->base > t->head.n)
        from = t->base; /* the bytes before are forgotten */
    if (t->keep_lines && lines > t->keep_lines) {
        uint64_t line = lines - t->keep_lines;
        size_t i = t->pieces;
        while (i > 0 && t->piece[i - 1].line >= line)
            i--;
        if (i < t->pieces && t->piece[i].pos > from)
            from = t->piece[i].pos;
    }
    return from;
}

static int add_head(const struct text *t, uint64_t a, struct buf *out)
{
    struct str head = str_sub(buf_str(&t->head), 0, (size_t)a);
    size_t rest = (size_t)a - head.n;
    return buf_adds(out, head) < 0 || buf_add(out, t->win.p, rest) < 0 ? -1 : 0;
}

static int add_marker(struct buf *out, const struct term_text *info,
                      void (*marker)(struct buf *out,
                                     const struct term_text *info, void *arg),
                      void *arg)
{
    size_t before = out->n;
    if (marker)
        marker(out, info, arg);
    else if (buf_addf(out, "[... %llu lines, %llu bytes left out ...]",
                      (unsigned long long)info->cut_lines,
                      (unsigned long long)info->cut_bytes) < 0)
        return -1;
    return out->n > before ? buf_addc(out, '\n') : 0;
}

int text_show(struct text *t, const struct text_piece *open, struct buf *out,
              struct term_text *info,
              void (*marker)(struct buf *out, const struct term_text *info,
                             void *arg),
              void *arg)
{
    size_t before = out->n;
    uint64_t end = t->base + t->win.n;
    bool pushed = t->win.n > t->cur;
    if (pushed)
        push(t, open->from, open->to > t->last_to ? open->to : t->last_to,
             open->same);
    info->lines = t->line + (pushed || !t->starts);
    struct text_cut c = {0};
    c.b = tail_from(t, end, info->lines);
    if (c.b > 0) {
        head_border(t, &c);
        tail_border(t, c.b, &c);
    }
    int rc = -1;
    if (c.b <= c.a) {
        if (add_head(t, t->base, out) < 0 || buf_adds(out, buf_str(&t->win)) < 0)
            goto out;
    } else {
        info->cut_bytes = c.b - c.a;
        info->cut_lines = c.last - c.first + 1;
        info->cut_from = c.from;
        info->cut_to = c.to;
        struct str tail = str_sub(buf_str(&t->win), (size_t)(c.b - t->base),
                                  SIZE_MAX);
        if (add_head(t, c.a, out) < 0)
            goto out;
        if (out->n > before && out->p[out->n - 1] != '\n' &&
            buf_addc(out, '\n') < 0)
            goto out;
        if (add_marker(out, info, marker, arg) < 0 || buf_adds(out, tail) < 0)
            goto out;
    }
    rc = 0;
out:
    if (rc < 0)
        buf_truncate(out, before);
    t->pieces -= pushed;
    return rc;
}
