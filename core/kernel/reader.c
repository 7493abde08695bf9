/* SPDX-License-Identifier: MIT */
/*
 * Lines of a host's output. Of a long one the beginning tells whether anybody wants it,
 * and whether in one piece: 100 MB of a picture need not be in memory to be passed on.
 */
#include "kernel/own.h"

enum { LINE_MAX_BYTES = LIMIT_KERNEL_MESSAGE + (1 << 20), KEPT_MAX = 1 << 20 };

static void forget(struct reader *r)
{
    if (r->line.cap > KEPT_MAX)
        buf_release(&r->line);
    else
        buf_reset(&r->line);
}

static void next_line(struct reader *r)
{
    r->fate = LINE_SHORT;
    r->begin = r->at;
    forget(r);
}

/* What the head still lacks, and what becomes of the line if that is not all of it. */
static struct str feed_head(struct reader *r, struct str bytes,
                            const struct reader_calls *calls, void *arg)
{
    size_t room = LINE_HEAD - r->line.n, n = bytes.n < room ? bytes.n : room;
    buf_add(&r->line, bytes.p, n);
    if (n == bytes.n)
        return STR("");
    r->fate = calls->head(arg, buf_str(&r->line));
    if (r->fate != LINE_WHOLE)
        forget(r);
    return str_sub(bytes, n, bytes.n);
}

void reader_feed(struct reader *r, struct str bytes, const struct reader_calls *calls,
                 void *arg)
{
    while (bytes.n && r->op) {
        long nl = str_chr(bytes, '\n');
        bool ends = nl >= 0;
        struct str some = str_sub(bytes, 0, ends ? (size_t)nl : bytes.n);
        bytes = str_sub(bytes, some.n + ends, bytes.n);
        r->at += some.n + ends;
        if (r->fate == LINE_SHORT)
            some = feed_head(r, some, calls, arg);
        if (r->op && r->fate == LINE_WHOLE && buf_adds(&r->line, some) < 0)
            r->fate = LINE_PASSED_OVER;
        if (r->op && r->fate == LINE_PARTS)
            calls->part(arg, some, ends);
        if (!ends || !r->op)
            break;
        if (r->fate == LINE_SHORT || r->fate == LINE_WHOLE)
            calls->line(arg, buf_str(&r->line), r->at);
        if (r->op)
            next_line(r);
    }
}

void reader_skip(struct reader *r, uint64_t to, const struct reader_calls *calls,
                 void *arg)
{
    bool parts = r->fate == LINE_PARTS;
    r->at = r->begin = to;
    r->fate = LINE_PASSED_OVER;
    forget(r);
    if (parts)
        calls->part(arg, STR(""), true);
}

void reader_stop(struct reader *r)
{
    if (r->op)
        op_drop(r->op);
    r->op = NULL;
    r->fate = LINE_SHORT;
    buf_release(&r->line);
}

void reader_start(struct reader *r, struct process *p, const struct op_sink *sink,
                  void *owner, uint64_t from)
{
    reader_stop(r);
    buf_init(&r->line, LINE_MAX_BYTES);
    r->at = r->begin = from;
    r->op = op_new(OP_LOGS, sink, owner);
    r->op->stream = true;
    r->op->cursor = from;
    r->op->limit = UINT64_MAX;
    process_wait(p, r->op);
}
