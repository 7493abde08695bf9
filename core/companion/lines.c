/* SPDX-License-Identifier: MIT */
/* Output of a process as lines. */
#include "companion/lines.h"

#include "base/log.h"

enum { LINE_MAX_BYTES = LIMIT_KERNEL_MESSAGE + (1 << 20), KEPT_MAX = 1 << 20 };

static void forget(struct line_reader *r)
{
    if (r->line.cap > KEPT_MAX)
        buf_release(&r->line);
    else
        buf_reset(&r->line);
}

/*
 * Adds to the head what it still lacks. If the line is longer, its owner decides about
 * it.
 */
static struct str feed_head(struct line_reader *r, struct str bytes)
{
    size_t room = LINE_HEAD - r->line.n, n = bytes.n < room ? bytes.n : room;
    buf_add(&r->line, bytes.p, n);
    if (n == bytes.n)
        return STR("");
    r->fate = r->calls->head(r->arg, buf_str(&r->line));
    if (r->fate != LINE_WHOLE)
        forget(r);
    return str_sub(bytes, n, bytes.n);
}

void line_reader_feed(struct line_reader *r, struct str bytes)
{
    const struct op *op = r->op; /* another one, or none: the reader was closed */
    ASSERT(op);
    while (bytes.n) {
        long nl = str_chr(bytes, '\n');
        bool ends = nl >= 0;
        struct str some = str_sub(bytes, 0, ends ? (size_t)nl : bytes.n);
        bytes = str_sub(bytes, some.n + ends, bytes.n);
        r->at += some.n + ends;
        if (r->fate == LINE_SHORT)
            some = feed_head(r, some);
        if (r->op != op)
            return;
        if (r->fate == LINE_WHOLE && buf_adds(&r->line, some) < 0)
            r->fate = LINE_PASSED_OVER;
        if (r->fate == LINE_PARTS)
            r->calls->part(r->arg, some, ends);
        else if (ends && r->fate != LINE_PASSED_OVER)
            r->calls->line(r->arg, buf_str(&r->line), r->at);
        if (!ends || r->op != op)
            return;
        r->fate = LINE_SHORT;
        r->begin = r->at;
        forget(r);
    }
}

void line_reader_skip(struct line_reader *r, uint64_t to)
{
    bool parts = r->fate == LINE_PARTS;
    r->at = r->begin = to;
    r->fate = LINE_PASSED_OVER;
    forget(r);
    if (parts)
        r->calls->part(r->arg, STR(""), true);
}

static size_t on_output(struct op *op, int stream, uint64_t at, struct str bytes)
{
    struct line_reader *r = op->owner;
    size_t known = at < r->at ? (size_t)(r->at - at) : 0;
    ASSERT(r->op == op);
    if (r->calls->wanted && !r->calls->wanted(r->arg))
        return 0;
    if (stream == 0)
        line_reader_feed(r, str_sub(bytes, known < bytes.n ? known : bytes.n, bytes.n));
    if (r->op == op)
        r->calls->read(r->arg);
    return bytes.n;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct line_reader *r = op->owner;
    (void)from;
    if (kind == NOTE_WINDOW && r->calls->room)
        r->calls->room(r->arg);
    if (kind != NOTE_GAP)
        return;
    line_reader_skip(r, to);
    if (r->op == op && r->calls->gap)
        r->calls->gap(r->arg, text);
}

static void on_end(struct op *op)
{
    struct line_reader *r = op->owner;
    ASSERT(r->op == op); /* once */
    r->op = NULL;
    line_reader_close(r);
    r->calls->end(r->arg, &op->r);
}

static const struct op_sink reader_sink = {
    .output = on_output, .note = on_note, .done = on_end};

void line_reader_close(struct line_reader *r)
{
    if (r->op)
        op_drop(r->op);
    r->op = NULL;
    r->fate = LINE_SHORT;
    buf_release(&r->line);
}

void line_reader_pump(struct line_reader *r)
{
    if (r->op)
        op_pump(r->op);
}

void line_reader_open(struct line_reader *r, struct process *p, uint64_t from,
                      const struct line_calls *calls, void *arg)
{
    line_reader_close(r);
    r->calls = calls;
    r->arg = arg;
    buf_init(&r->line, LINE_MAX_BYTES);
    r->at = r->begin = from;
    r->op = op_new(OP_LOGS, &reader_sink, r);
    r->op->stream = r->op->with_stdin = true;
    r->op->cursor = from;
    r->op->limit = UINT64_MAX;
    process_wait(p, r->op);
}
