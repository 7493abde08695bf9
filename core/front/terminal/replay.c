/* SPDX-License-Identifier: MIT */
/*
 * Older output for one viewer's scroll-back: frames 03 with at most TERMINAL_WINDOW bytes
 * of output, then one without bytes. It uses its own picture, which begins empty.
 */
#include "front/terminal/prompts_own.h"

#include "base/xalloc.h"

#include <stdlib.h>

struct replay {
    struct watcher *v;
    struct op *op;       /* borrowed from the session; NULL: that is gone */
    struct picture *pic; /* owned */
    struct prompts prompts; /* owned; if op was made */
    uint64_t at, to;
    struct task over;
    bool picture; /* a picture is wanted at the end */
};

static bool send_part(struct replay *x, struct str bytes)
{
    struct buf b = BUF_INIT(TERMINAL_OUT - WS_OUT_MIN);
    terminal_put_u64(&b, 3, x->at);
    buf_adds(&b, bytes);
    bool sent = ws_send(&x->v->ws, false, buf_str(&b));
    buf_release(&b);
    return sent || !ws_is_open(&x->v->ws);
}

static void paint_prompts(struct replay *x, uint64_t upto)
{
    struct buf out = BUF_INIT(1 << 20);
    uint64_t at = x->at;
    if (upto > x->to)
        upto = x->to;
    while (prompts_paint(&x->prompts, x->v->t, x->pic, upto, &at, &out)) {
        x->at = at > x->at ? at : x->at;
        send_part(x, buf_str(&out));
        buf_reset(&out);
    }
    buf_release(&out);
}

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct replay *x = op->owner;
    struct buf out = BUF_INIT(64 << 20);
    size_t given = bytes.n;
    (void)stream;
    if (offset < x->to && ws_queued(&x->v->ws) > x->v->ws.s.low)
        return 0; /* continues in on_room */
    paint_prompts(x, offset);
    if (bytes.n > TERMINAL_FRAME)
        bytes.n = TERMINAL_FRAME;
    bytes.n = offset >= x->to            ? 0
              : bytes.n > x->to - offset ? (size_t)(x->to - offset)
                                         : bytes.n;
    size_t used = terminal_take(x->v->t, x->pic, bytes,
                                bytes.n < given || bytes.n < TERMINAL_FRAME, &out);
    x->at = offset + used;
    if (out.n > 0)
        send_part(x, buf_str(&out));
    buf_release(&out);
    task_defer(x->v->t->en->loop, &x->over);
    if (x->at < x->to && used < given && !op->done)
        task_defer(x->v->t->en->loop, &op->pump);
    return used;
}

/* Called before output and before marks that are left out: the cursor is after both. */
static bool on_ask(struct op *op)
{
    struct replay *x = op->owner;
    task_defer(x->v->t->en->loop, &x->over);
    return prompts_ready(&x->prompts);
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct replay *x = op->owner;
    (void)text;
    (void)from;
    if (kind == NOTE_GAP && to > x->at)
        x->at = to;
    task_defer(x->v->t->en->loop, &x->over);
}

static void on_done(struct op *op)
{
    struct replay *x = op->owner;
    x->op = NULL;
    task_defer(x->v->t->en->loop, &x->over);
}

static void on_over(struct task *t)
{
    struct replay *x = container_of(t, struct replay, over);
    struct watcher *v = x->v;
    if (x->op && !prompts_ready(&x->prompts)) {
        prompts_read(&x->prompts);
        task_defer(v->t->en->loop, t);
        op_pump(x->op);
        return;
    }
    if (x->op && x->at < x->to && x->op->cursor < x->to)
        return;
    if (x->op)
        paint_prompts(x, x->to);
    x->at = x->to;
    if (!send_part(x, STR("")))
        return;
    if (x->picture) {
        v->behind = true;
        v->unpainted = false;
        v->next = NULL;
    }
    replay_end(v);
    viewer_pump(v);
}

void replay_begin(struct watcher *v, uint64_t from, bool picture)
{
    static const struct op_sink sink = {
        .output = on_output, .note = on_note, .done = on_done, .room = on_ask};
    struct session *s = feed_session(v->feed);
    int rows, cols;
    replay_end(v);
    struct replay *x = v->replay = xnew(struct replay);
    x->v = v;
    x->at = from;
    x->picture = picture;
    x->to = v->sent > from ? v->sent : from;
    if (x->to - from > TERMINAL_WINDOW)
        x->to = from + TERMINAL_WINDOW;
    task_init(&x->over, on_over);
    picture_size(v->feed->pic, &rows, &cols);
    x->pic = picture_new(rows, cols);
    if (!s || x->to == from) {
        task_defer(v->t->en->loop, &x->over);
        return;
    }
    prompts_open(&x->prompts, s, from);
    x->op = op_new(OP_VIEW, &sink, x);
    x->op->cursor = from;
    session_observe(s, x->op);
}

void replay_pump(struct watcher *v)
{
    struct replay *x = v->replay;
    if (x)
        task_defer(v->t->en->loop, &x->over);
    if (x && x->op && x->at < x->to)
        op_pump(x->op);
}

void replay_end(struct watcher *v)
{
    struct replay *x = v->replay;
    v->replay = NULL;
    if (!x)
        return;
    if (x->op)
        op_drop(x->op);
    if (x->prompts.log.all)
        prompts_release(&x->prompts);
    task_cancel(&x->over);
    picture_free(x->pic);
    loop_bury(v->t->en->loop, x, free);
}
