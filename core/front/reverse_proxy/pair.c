/* SPDX-License-Identifier: MIT */
/*
 * While one stream cannot be written to, the other one is not read. The end of a side's
 * bytes is passed on after them; when both sides have ended and all is sent, the pair is
 * over. If one side breaks, the other one is closed, too.
 */
#include "front/reverse_proxy/own.h"

enum { PAIR_QUEUE = 256 << 10 }; /* bytes that may wait for one side */

static void over(struct stream_pair *p, bool broken)
{
    if (broken) {
        stream_break(&p->a);
        stream_break(&p->b);
    }
    ASSERT(p->a.io.fd >= 0 && p->b.io.fd >= 0); /* on_over is called once */
    pair_release(p);
    p->on_over(p);
}

/* Moves from's bytes to the other side. */
static void move(struct stream *from, struct stream *to)
{
    size_t room = to->out.n < PAIR_QUEUE ? PAIR_QUEUE - to->out.n : 0;
    size_t n = from->in.n < room ? from->in.n : room;
    if (n > 0) {
        stream_write(to, str_n(from->in.p, n));
        buf_consume(&from->in, n);
        stream_resume(from);
    }
    if (from->in.n > 0)
        stream_want_room(to);
    else if (from->eof)
        stream_shutdown(to);
}

static void step(struct stream_pair *p)
{
    move(&p->a, &p->b);
    move(&p->b, &p->a);
    if (!p->a.eof || !p->b.eof || p->a.in.n > 0 || p->b.in.n > 0)
        return;
    if (p->a.out.n == 0 && p->b.out.n == 0) {
        over(p, false);
        return;
    }
    stream_want_room(p->a.out.n > 0 ? &p->a : &p->b);
}

static void on_a(struct stream *s) { step(container_of(s, struct stream_pair, a)); }
static void on_b(struct stream *s) { step(container_of(s, struct stream_pair, b)); }

static void on_a_end(struct stream *s, int errnum)
{
    (void)errnum;
    over(container_of(s, struct stream_pair, a), true);
}

static void on_b_end(struct stream *s, int errnum)
{
    (void)errnum;
    over(container_of(s, struct stream_pair, b), true);
}

const struct stream_events pair_events_a = {on_a, on_a, on_a_end, on_a};
const struct stream_events pair_events_b = {on_b, on_b, on_b_end, on_b};

void pair_start(struct stream_pair *p, void (*on_over)(struct stream_pair *p))
{
    p->on_over = on_over;
    p->a.low = p->b.low = PAIR_QUEUE / 2;
    step(p);
}

void pair_release(struct stream_pair *p)
{
    stream_close(&p->a);
    stream_close(&p->b);
}
