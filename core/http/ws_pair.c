/* SPDX-License-Identifier: MIT */
#include "http/ws_pair.h"

enum {
    FAR_OUT = 1 << 20,    /* bytes for the peer: more than its mark and a message */
    FAR_LOW = 256 << 10,  /* above this nothing more is read for it */
    NEAR_LOW = 256 << 10, /* the same for near */
    PING_MS = 10000,
    DEAD_MS = 30000
};

static struct ws_pair *of_ws(struct ws *w) { return container_of(w, struct ws_pair, ws); }

static struct ws_pair *of_near(struct stream *s)
{
    return container_of(s, struct ws_pair, near);
}

/* To the peer, as much as it takes. */
static void pump(struct ws_pair *p)
{
    struct buf *in = &p->near.in;
    while (in->n > 0 && !p->far_over) {
        struct str piece = str_sub(buf_str(in), 0, WS_PAIR_MESSAGE);
        if (!ws_send(&p->ws, false, piece))
            return;
        buf_consume(in, piece.n);
    }
    if (p->near_over)
        ws_close(&p->ws, WS_NORMAL, STR(""));
    else
        stream_resume(&p->near);
}

static void finish(struct ws_pair *p)
{
    ASSERT(p->far_over && p->near.io.fd >= 0); /* on_over is called once */
    stream_close(&p->near);
    p->on_over(p, p->ws.code, str_n(p->ws.note, p->ws.note_n));
}

static void on_message(struct ws *w, bool text, struct str message)
{
    struct ws_pair *p = of_ws(w);
    (void)text;
    if (p->near_over)
        return;
    if (stream_write(&p->near, message) < 0) {
        ws_close(w, WS_INTERNAL, STR("there is no room for the message"));
        return;
    }
    if (p->near.out.n > p->near.low) {
        stream_want_room(&p->near);
        ws_pause(w);
    }
}

static void on_far_room(struct ws *w) { pump(of_ws(w)); }

static void on_far_close(struct ws *w, int code, struct str reason)
{
    struct ws_pair *p = of_ws(w);
    (void)code;
    (void)reason;
    p->far_over = true;
    if (p->near_over || p->near.out.n == 0 || w->opts.role == WS_SERVER)
        finish(p);
    else
        stream_shutdown(&p->near);
}

static const struct ws_events far_calls = {
    .on_message = on_message, .on_room = on_far_room, .on_close = on_far_close};

static void on_near_data(struct stream *s) { pump(of_near(s)); }
static void on_near_room(struct stream *s) { ws_resume(&of_near(s)->ws); }

static void on_near_end(struct stream *s, int errnum)
{
    struct ws_pair *p = of_near(s);
    (void)errnum;
    p->near_over = true;
    if (p->far_over) {
        finish(p);
        return;
    }
    ws_resume(&p->ws);
    pump(p);
}

static const struct stream_events near_calls = {
    .on_data = on_near_data, .on_room = on_near_room, .on_end = on_near_end};

void ws_pair_start(struct ws_pair *p, struct stream *far, enum ws_role role,
                   struct stream *near,
                   void (*on_over)(struct ws_pair *p, int code, struct str reason))
{
    struct ws_opts o = {.role = role,
                        .message_max = WS_PAIR_MESSAGE,
                        .ping_ms = PING_MS,
                        .dead_ms = DEAD_MS};
    ASSERT(far != near && on_over);
    ASSERT(near->in.max >= WS_PAIR_MESSAGE && near->out.max >= WS_PAIR_OUT);
    p->far_over = p->near_over = false;
    p->on_over = on_over;
    ws_start(&p->ws, far, &o, &far_calls);
    p->ws.s.out.max = FAR_OUT;
    p->ws.s.low = FAR_LOW;
    stream_move(&p->near, near, &near_calls);
    p->near.low = NEAR_LOW;
}

void ws_pair_release(struct ws_pair *p)
{
    ws_release(&p->ws);
    stream_close(&p->near);
}
