/* SPDX-License-Identifier: MIT */
/*
 * Delivery: from a spool, at the op's own pace, to its sink or its text model.
 * A reader needs no queue of its own, only a cursor.
 */
#include "shell/op.h"

#include "base/limits.h"
#include "base/scratch.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "shell/process.h"
#include "shell/session.h"
#include "shell/spool.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ON_ITS_WAY = 1 << 20,   /* more than the queue and the socket of a client hold */
    TEXT_LAST = 1 << 20,    /* an overrun text goes on with this many of the last bytes */
    TEXT_PER_TURN = 8 << 10 /* the model is slow for a screen that redraws itself */
};

static struct loop *loop_of(const struct op *op)
{
    return op->session ? session_engine(op->session)->loop
                       : process_engine(op->process)->loop;
}

void op_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
             uint64_t to)
{
    if (op->owner && op->sink->note)
        op->sink->note(op, kind, text, from, to);
}

const char *op_command(const struct op *op) { return op->as ? op->as : "od exec"; }

static void op_free(void *p)
{
    struct op *op = p;
    buf_release(&op->command);
    term_free(op->term);
    term_free(op->term_err);
    json_free(op->r.refused);
    free(op->as);
    free(op);
}

bool op_holds(const struct op *op, int stream, uint64_t room, uint64_t *at)
{
    if (!op->caller || !op->stream || !op->owner || op->done)
        return false;
    *at = stream ? op->cursor_err : op->cursor;
    /* What was handed over may be on its way: the next worker would send it again. */
    uint64_t begun = stream ? 0 : op->r.from, way = room < ON_ITS_WAY ? room : ON_ITS_WAY;
    if (*at != UINT64_MAX && *at > begun)
        *at = *at - begun > way ? *at - way : begun;
    return true;
}

bool op_any_moves(struct list *ops)
{
    struct list *it, *tmp;
    bool any = false;
    list_each (it, tmp, ops) {
        struct op *op = list_entry(it, struct op, node);
        if (op->caller && op->owner && op->sink->moves && op->sink->moves(op))
            any = true;
    }
    return any;
}

/* Notifies the session or process that its callers or their cursors changed. */
static void flow(struct op *op)
{
    if (op->session)
        session_flow(op->session);
    else if (op->process)
        process_flow(op->process);
}

static void op_leave(struct op *op)
{
    list_del(&op->node);
    timer_stop(&op->hard);
    timer_stop(&op->idle);
    task_cancel(&op->pump);
    gate_leave(&op->gate);
    op->done = true;
    flow(op);
    loop_bury(loop_of(op), op, op_free);
}

void op_drop(struct op *op)
{
    if (op->done)
        return;
    op->owner = NULL;
    op_leave(op);
}

static void on_pump(struct task *t) { op_pump(container_of(t, struct op, pump)); }

/* Reports the lost range that was gathered, if there is one. */
static void tell_lost(struct op *op)
{
    char text[300];
    if (op->lost_to == 0)
        return;
    snprintf(text, sizeof(text), "%llu bytes of output (%llu to %llu) are gone: %s",
             (unsigned long long)(op->lost_to - op->lost_from),
             (unsigned long long)op->lost_from, (unsigned long long)op->lost_to,
             op->disk_full ? "the disk of the server's state directory is full, and only "
                             "the newest output is kept; make room on it, or start the "
                             "server with --state-dir on another disk"
                           : "the disk or the budget for output had no room");
    op_note(op, NOTE_GAP, text, op->lost_from, op->lost_to);
    op->lost_to = 0;
}

/*
 * Records that bytes which the op wanted are gone. Adjacent ranges become one. A text,
 * which shows only its head and tail, reports one range for all.
 */
static void lose(struct op *op, int stream, uint64_t from, uint64_t to)
{
    bool text = op->term && !op->stream;
    if (op->lost_to && op->lost_to != from && !text)
        tell_lost(op);
    op->lost_from = op->lost_to ? op->lost_from : from;
    op->lost_to = to;
    op->skipped[stream] += text ? to - from : 0;
}

/* Reports a full disk to the caller of a command, as long as the log has a reserve. */
static void tell_disk(struct op *op)
{
    const struct engine *en = op->session   ? session_engine(op->session)
                              : op->process ? process_engine(op->process)
                                            : NULL;
    char text[400];
    if (!en || en->disk_left == UINT64_MAX || (op->kind != OP_RUN && op->kind != OP_WAIT))
        return;
    snprintf(text, sizeof(text),
             "the disk of the state directory %s is full: %llu KiB are left that were "
             "reserved for the log of small actions; make room on it",
             en->state_dir, (unsigned long long)en->disk_left >> 10);
    op_note(op, NOTE_DISK, text, en->disk_left, 0);
}

static void finish(struct op *op)
{
    if (op->done)
        return;
    ASSERT(op->settled);
    tell_lost(op);
    tell_disk(op);
    op_leave(op);
    if (op->owner)
        op->sink->done(op);
}

/* Hands over a piece without marks. Returns how many bytes were taken. */
static size_t take(struct op *op, int stream, uint64_t at, struct str piece)
{
    struct term *term = stream == 0 || op->stderr_only ? op->term : op->term_err;
    if (term)
        term_feed(term, piece);
    if (!op->stream || !op->owner)
        return piece.n;
    tell_lost(op);
    return op->sink->output ? op->sink->output(op, stream, at, piece) : piece.n;
}

/*
 * Returns the beginning of the bytes at `at` that may be shown; *jump: how many
 * bytes after it to skip (a mark, or noise).
 */
static struct str visible(struct op *op, const struct session_view *v, uint64_t at,
                          struct str bytes, uint64_t *jump)
{
    *jump = 0;
    uint64_t next = UINT64_MAX;
    uint64_t skip = op->skip_noise ? session_skip(op->session, at, &next) : 0;
    if (skip > at) {
        *jump = skip - at;
        return str_n(bytes.p, 0);
    }
    if (next < at + bytes.n)
        bytes.n = (size_t)(next - at);
    struct mark m;
    size_t keep;
    if (shell_mark(v->shell, bytes, &m, &keep)) {
        *jump = m.len;
        bytes.n = m.at;
    } else if (keep > 0) {
        bytes.n = keep; /* the chunk may end inside a mark */
    }
    size_t echo, len;
    if (op->skip_noise && shell_echo(v->shell, bytes, &echo, &len)) {
        bytes.n = echo;
        *jump = len;
    }
    return bytes;
}

static bool deliver_by(char chunk[SCRATCH], struct op *op, int stream,
                       const struct session_view *v, uint64_t *cursor, uint64_t limit,
                       size_t *budget)
{
    while (*cursor < limit) {
        if (op->done)
            return false;
        /* All that is lost until the sink has room is then reported as one gap. */
        if (op->stream && op->owner && op->sink->room && !op->sink->room(op))
            return false;
        if (*budget == 0) {
            task_defer(loop_of(op), &op->pump);
            return false;
        }
        if (op->behind_max && limit - *cursor > op->behind_max) {
            uint64_t to = limit - op->behind_max / 8;
            lose(op, stream, *cursor, to);
            *cursor = to;
            continue;
        }
        uint64_t at = *cursor;
        size_t want = *budget < SCRATCH ? *budget : SCRATCH;
        if (want > limit - at)
            want = (size_t)(limit - at);
        size_t n = spool_read(v->fd, v->stream, &at, chunk, want);
        if (at > limit || n == 0)
            at = limit;
        if (at != *cursor) {
            /* A text that cannot keep up skips to the tail. */
            if (op->term && !op->stream && limit - at > TEXT_LAST)
                at = limit - TEXT_LAST;
            /* A caller that was overrun skips ahead; otherwise it is overrun again. */
            if (op->caller && op->stream && !v->stream->eof &&
                limit - at > v->stream->cap / 2)
                at += (limit - at) / 4;
            op->disk_full = v->disk_full;
            lose(op, stream, *cursor, at);
            *cursor = at;
            flow(op);
            continue;
        }
        if (n > limit - at)
            n = (size_t)(limit - at);
        struct str piece = str_n(chunk, n);
        uint64_t jump = 0;
        uint64_t change = UINT64_MAX;
        bool bare = op->kind == OP_VIEW && op->session &&
                    session_bare(op->session, at, &change);
        if (change < at + piece.n)
            piece.n = (size_t)(change - at);
        if (op->filter && stream == 0 && v->shell)
            piece = visible(op, v, at, piece, &jump);
        else if (op->skip_exit)
            piece.n -= shell_exit_echo(v->shell, piece, &jump);
        size_t taken = piece.n ? take(op, bare ? 1 : stream, at, piece) : 0;
        *cursor += taken;
        *budget -= taken < *budget ? taken : *budget;
        if (taken < piece.n)
            return false; /* the sink calls again */
        *cursor += jump;
        if (*cursor > limit)
            *cursor = limit;
        if (taken == 0 && jump == 0)
            return false; /* the rest of a line of ours is on its way */
    }
    return true;
}

/*
 * Delivers one stream from its cursor to `limit`. Returns true if all of it was
 * delivered. The sink may drop the op in any of its calls.
 */
static bool deliver(struct op *op, int stream, const struct session_view *v,
                    uint64_t *cursor, uint64_t limit, size_t *budget)
{
    char *chunk = scratch_take();
    bool all = deliver_by(chunk, op, stream, v, cursor, limit, budget);
    scratch_give(chunk);
    return all;
}

void op_pump(struct op *op)
{
    if (op->done || op->queued)
        return;
    size_t budget = op->term ? TEXT_PER_TURN : LIMIT_READ_PER_TURN;
    bool all = true;
    if (op->session) {
        struct session_view v;
        session_view(op->session, &v);
        if (op->cursor < op->output_from)
            op->cursor = op->output_from;
        bool looks = op->kind == OP_VIEW || op->kind == OP_LOGS;
        uint64_t limit = op->settled ? op->r.to : looks ? v.scanned : v.command;
        if (op->kind == OP_VIEW && limit > v.view)
            limit = v.view;
        if (op->kind == OP_LOGS && op->limit < limit)
            limit = op->limit;
        if (v.stream && (op->stream || op->term))
            all = deliver(op, 0, &v, &op->cursor, limit, &budget);
    } else {
        for (int i = 0; i < 2 && all; i++) {
            struct session_view v = {0};
            v.stream = process_stream(op->process, i, &v.fd);
            v.disk_full = process_disk_full(op->process);
            if (!v.stream || (op->kind == OP_LOGS && op->stderr_only != (i == 1)))
                continue;
            uint64_t limit = v.stream->offset;
            if (op->kind == OP_LOGS && op->limit < limit)
                limit = op->limit;
            all = !(op->stream || op->term) ||
                  deliver(op, i, &v, i ? &op->cursor_err : &op->cursor, limit, &budget);
        }
    }
    if (op->settled && all && !op->done) {
        finish(op);
        return;
    }
    /* A reader that is no caller may ask for more only after this note. */
    if (all && op->stream && !op->caller && !op->done)
        tell_lost(op);
    if (op->caller && !op->done)
        flow(op);
}

void op_settle(struct op *op)
{
    if (op->settled || op->done)
        return;
    op->settled = true;
    timer_stop(&op->hard);
    timer_stop(&op->idle);
    op->queued = false;
    op_pump(op);
}

struct op *op_new(enum op_kind kind, const struct op_sink *sink, void *owner)
{
    struct op *op = xnew(struct op);
    ASSERT(sink);
    list_init(&op->node);
    op->kind = kind;
    op->sink = sink;
    op->owner = owner;
    op->limit = UINT64_MAX;
    buf_init(&op->command, LIMIT_COMMAND_MAX);
    task_init(&op->pump, on_pump);
    return op;
}
