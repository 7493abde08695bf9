/* SPDX-License-Identifier: MIT */
/*
 * Reading an event log: straight from the file into the caller's buffer.
 *
 * There is no index. A reader that goes on knows its offset; a new one finds
 * its place by bisecting the segment, since every line has its id: a dozen
 * small reads from the page cache, no memory, and no index to build or update.
 * If that fails because of damage, the segment is walked from its beginning.
 */
#include "eventlog/own.h"

#include "base/limits.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>

enum {
    LINE_MAX_BYTES = LIMIT_EVENT_MAX + EVENT_HEAD_MAX + EVENT_SUM + 1,
    LOOK = 4096,     /* bytes of one small read */
    GAP_MAX = 256,   /* bytes of a gap's line, at most */
    READ_LEAST = 512 /* with less room than that, reading stops */
};

/* ---- walking ---- */

/*
 * Walks through the lines of one piece of a segment. Returns false if the target was
 * found.
 */
static bool walk_piece(struct log_walk *w, struct str piece, uint64_t *skipped,
                       uint64_t *at, uint64_t target)
{
    struct event_line line;
    enum event_line_kind kind;
    size_t text;
    while (piece.n && (kind = event_line(piece, &line)) != EVENT_LINE_OPEN) {
        bool good = kind == EVENT_LINE_GOOD && line.id >= w->due &&
                    line.id - w->due <= *skipped / EVENT_LINE_MIN &&
                    event_intact(str_sub(piece, 0, line.n - 1), &text);
        if (good && line.id >= target) {
            w->offset = *at;
            w->due = line.id;
            return false;
        }
        *at += line.n;
        *skipped += line.n;
        piece = str_sub(piece, line.n, piece.n);
        if (good) {
            w->offset = *at;
            w->due = line.id + 1;
            memcpy(w->stamp, line.stamp.p, EVENT_STAMP);
            *skipped = 0;
        }
    }
    return true;
}

int segment_walk(struct eventlog *l, struct segment *s, struct log_walk *w,
                 uint64_t target)
{
    uint64_t at = w->offset, skipped = 0, left = s->bytes > at ? s->bytes - at : 0;
    const size_t most = LINE_MAX_BYTES + LIMIT_READ_PER_TURN;
    const size_t size = left < most ? (size_t)left : most;
    char *piece = xcalloc(1, size + 1);
    int r = 0;
    while (at < s->bytes) {
        uint64_t began = at;
        ssize_t n = segment_read(l, s, at, piece, size);
        if (n <= 0) {
            r = (int)n;
            break;
        }
        if (!walk_piece(w, str_n(piece, (size_t)n), &skipped, &at, target)) {
            r = 1;
            break;
        }
        if (at == began) { /* longer than any line of ours, without a newline */
            at += (uint64_t)n;
            skipped += (uint64_t)n;
        }
    }
    free(piece);
    return r;
}

/* ---- finding ---- */

/*
 * Finds the first line that begins after `at`; s->bytes if there is none; -1 with errno.
 */
static int64_t next_line(struct eventlog *l, struct segment *s, uint64_t at)
{
    char piece[LOOK];
    while (at < s->bytes) {
        ssize_t n = segment_read(l, s, at, piece, sizeof(piece));
        if (n <= 0)
            return -1;
        const char *end = memchr(piece, '\n', (size_t)n);
        if (end)
            return (int64_t)(at + (uint64_t)(end - piece) + 1);
        at += (uint64_t)n;
    }
    return (int64_t)s->bytes;
}

/* The id of the line at `at`; 0 if it is not an event. */
static uint64_t id_at(struct eventlog *l, struct segment *s, uint64_t at)
{
    char head[EVENT_HEAD_MAX];
    struct event_line line;
    ssize_t n = segment_read(l, s, at, head, sizeof(head));
    return n > 0 && event_head(str_n(head, (size_t)n), &line) ? line.id : 0;
}

/* Finds the place of an id in an undamaged segment. Returns -1 if that fails. */
static int64_t bisect(struct eventlog *l, struct segment *s, uint64_t id)
{
    uint64_t low = 0, high = s->bytes;
    while (high - low > LOOK) {
        uint64_t middle = low + (high - low) / 2;
        int64_t line = next_line(l, s, middle);
        if (line < 0)
            return -1;
        if ((uint64_t)line >= high) {
            high = middle;
            continue;
        }
        uint64_t there = id_at(l, s, (uint64_t)line);
        if (there == 0)
            return -1;
        if (there <= id)
            low = (uint64_t)line;
        else
            high = middle;
    }
    int64_t at = (int64_t)low;
    while (at >= 0 && (uint64_t)at < s->bytes) {
        uint64_t there = id_at(l, s, (uint64_t)at);
        if (there == id)
            return at;
        if (there == 0 || there > id)
            return -1;
        at = next_line(l, s, (uint64_t)at);
    }
    return -1;
}

/* The segment that has the id, or had it; NULL: older than all. */
static struct segment *segment_of(struct eventlog *l, uint64_t id)
{
    size_t low = 0, high = l->segs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->seg[middle].first <= id)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &l->seg[low - 1] : NULL;
}

/* ---- reading ---- */

struct log_reading {
    struct eventlog *l;
    struct event_cursor *c;
    struct buf *out;
    size_t max; /* bytes that may still be added */
    long lines;
    bool sought; /* the cursor's place was found by bisecting, and may be wrong */
    struct err *e;
};

static int no_room(struct log_reading *r)
{
    return err_set(r->e, ERR_LIMIT,
                   "cannot read event %llu of %s: it does not fit the %zu bytes that are "
                   "left; make room first",
                   (unsigned long long)r->c->next, r->l->name, buf_room(r->out));
}

static void count(struct log_reading *r, size_t bytes, long lines)
{
    r->max -= bytes < r->max ? bytes : r->max;
    r->lines += lines;
}

/* Sets the stamp to that of the first good event at or after a place. */
static void stamp_from(struct eventlog *l, struct segment *s, uint64_t at,
                       char out[EVENT_STAMP])
{
    char head[EVENT_HEAD_MAX];
    struct event_line line;
    for (; s <= newest(l); s++, at = 0) {
        ssize_t n = at < s->bytes ? segment_read(l, s, at, head, sizeof(head)) : 0;
        if (n > 0 && event_head(str_n(head, (size_t)n), &line) &&
            event_stamp_us(line.stamp.p) >= 0) {
            memcpy(out, line.stamp.p, EVENT_STAMP);
            return;
        }
    }
    memcpy(out, l->stamp, EVENT_STAMP);
}

/*
 * Adds one gap for all ids from the cursor to before `next`, which is at offset `at` of
 * segment s, and moves the cursor there. Returns 0; 1 if max leaves no room; -1 and sets
 * *e.
 */
static int add_gap(struct log_reading *r, struct segment *s, uint64_t at, uint64_t next,
                   const char *reason)
{
    if (next > r->c->next) {
        char stamp[EVENT_STAMP];
        size_t had = r->out->n;
        if (r->lines && r->max < GAP_MAX)
            return 1;
        stamp_from(r->l, s, at, stamp);
        if (event_add_gap(r->out, stamp, r->c->next, next - 1, reason) < 0)
            return r->lines ? 1 : no_room(r);
        count(r, r->out->n - had, 1);
    }
    *r->c = (struct event_cursor){.next = next, .segment = s->first, .offset = at};
    return 0;
}

/* The id at which a segment's ids end; a line beyond it is damage. */
static uint64_t end_of(const struct eventlog *l, const struct segment *s)
{
    return s == newest(l) ? l->next : s[1].first;
}

/* Adds a gap to the beginning of the next segment, or the end of the log. */
static int leave_segment(struct log_reading *r, struct segment *s)
{
    bool last = s == newest(r->l);
    return add_gap(r, last ? s : s + 1, last ? s->bytes : 0, end_of(r->l, s), "damage");
}

/*
 * Whether an error may be temporary, and is reported. Others count as damage of the file.
 */
static bool passing(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

static int cannot_read(struct log_reading *r, struct segment *s)
{
    char name[SEGMENT_NAME_MAX];
    if (!passing(errno))
        return leave_segment(r, s);
    return err_sys(r->e, errno, "cannot read %s/%s", r->l->name,
                   segment_name(r->l, s, name));
}

/* Walks from w to the first event at or after the cursor's id. Returns as add_gap. */
static int walk_on(struct log_reading *r, struct segment *s, struct log_walk *w)
{
    int rc = segment_walk(r->l, s, w, r->c->next);
    if (rc < 0)
        return cannot_read(r, s);
    if (rc == 0 || w->due >= end_of(r->l, s))
        return leave_segment(r, s);
    return add_gap(r, s, w->offset, w->due, "damage");
}

/* Sets the cursor's place in the segment of its id. Returns as add_gap. */
static int find(struct log_reading *r, struct segment *s)
{
    struct event_cursor *c = r->c;
    c->segment = s->first;
    c->offset = 0;
    if (c->next == s->first)
        return 0;
    const struct event_place *known = &r->l->places[c->next % PLACES];
    if (known->id == c->next && known->segment == s->first) {
        c->offset = known->offset;
        return 0;
    }
    errno = 0;
    int64_t at = bisect(r->l, s, c->next);
    if (at >= 0) {
        c->offset = (uint64_t)at;
        r->sought = true;
        return 0;
    }
    struct log_walk w = {.due = s->first};
    return walk_on(r, s, &w);
}

/*
 * Takes the good lines with ids before `end` from the beginning of bytes, where the
 * cursor is. They are moved together, without their sums. Returns their length then.
 */
static size_t take_lines(struct log_reading *r, char *bytes, size_t got, uint64_t end)
{
    struct event_line line;
    size_t n = 0, to = 0, text;
    while (n < got && r->c->next < end) {
        char *p = bytes + n;
        if (event_line(str_n(p, got - n), &line) != EVENT_LINE_GOOD ||
            line.id != r->c->next)
            break;
        struct str s = str_n(p, line.n - 1);
        /* Checking the sum takes as long as all the rest of reading a line. */
        if (!(line.id < r->l->own ? event_intact(s, &text) : event_written(s, &text)))
            break;
        memmove(bytes + to, p, text);
        to += text;
        bytes[to++] = '}';
        bytes[to++] = '\n';
        r->c->next++;
        r->lines++;
        n += line.n;
    }
    r->c->offset += n;
    return to;
}

/*
 * Reads on in a segment, whole lines of at most `want` bytes and with ids before `end`.
 * Returns the bytes added; 0 if there are none, with *open set if `want` is too small for
 * the next line; -1 with errno.
 */
static ssize_t read_lines(struct log_reading *r, struct segment *s, size_t want,
                          uint64_t end, bool *open)
{
    struct event_line line;
    uint64_t left = s->bytes - r->c->offset;
    if (want > left)
        want = (size_t)left;
    char *to = buf_reserve(r->out, want);
    ssize_t got = to ? segment_read(r->l, s, r->c->offset, to, want) : -1;
    if (got <= 0)
        return got;
    size_t n = take_lines(r, to, (size_t)got, end);
    *open = n == 0 && want < left &&
            event_line(str_n(to, (size_t)got), &line) == EVENT_LINE_OPEN;
    buf_commit(r->out, n);
    count(r, n, 0);
    return (ssize_t)n;
}

/* Reads some lines, or adds one gap. Returns 0; 1 at the end for now; -1 and sets *e. */
static int step(struct log_reading *r, struct segment *s)
{
    if (r->c->offset >= s->bytes)
        return leave_segment(r, s);
    size_t room = buf_room(r->out), want = r->max < room ? r->max : room;
    uint64_t end = end_of(r->l, s);
    bool open = false;
    if (r->lines && want < READ_LEAST && want < s->bytes - r->c->offset)
        return 1;
    if (want == 0)
        return no_room(r);
    if (want < READ_LEAST) { /* one line, which is longer than that */
        want = room < LOOK ? room : LOOK;
        end = r->c->next + 1;
    }
    ssize_t n = read_lines(r, s, want, end, &open);
    if (open && r->lines)
        return 1;
    /* The first line may be longer than max. */
    while (open && want < room && want < LINE_MAX_BYTES) {
        want = want < LOOK ? LOOK : want * 4;
        want = want < room ? want : room;
        n = read_lines(r, s, want, r->c->next + 1, &open);
    }
    if (open && want < LINE_MAX_BYTES)
        return no_room(r);
    if (n < 0)
        return cannot_read(r, s);
    struct log_walk w = {.offset = r->c->offset, .due = r->c->next};
    if (r->sought) /* a damaged line may have any id */
        w = (struct log_walk){.due = s->first};
    r->sought = false;
    return n > 0 ? 0 : walk_on(r, s, &w);
}

long eventlog_read(struct eventlog *l, struct event_cursor *c, struct buf *out,
                   size_t max, struct err *e)
{
    struct log_reading r = {.l = l, .c = c, .out = out, .max = max ? max : 1, .e = e};
    int rc = 0;
    if (c->next == 0)
        c->next = 1;
    while (rc == 0 && c->next < l->next && (r.max > 0 || r.lines == 0)) {
        struct segment *s = segment_of(l, c->next);
        if (!s)
            rc = add_gap(&r, &l->seg[0], 0, l->seg[0].first, "retention");
        else if (c->segment != s->first)
            rc = find(&r, s);
        else
            rc = step(&r, s);
    }
    return rc < 0 && r.lines == 0 ? -1 : r.lines;
}
