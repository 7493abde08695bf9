/* SPDX-License-Identifier: MIT */
/*
 * WebSocket connections (RFC 6455; sections are cited where they decide).
 *
 * A data frame that is complete in the stream's buffer is unmasked there and
 * passed on from there. The received part of any other is moved to msg at once,
 * so that the stream's buffer may be smaller than a frame. A control frame is
 * short and is handled when it is complete. Of the pings that come while the peer
 * does not read, only the last is answered (section 5.5.3), so they cost no memory.
 *
 * All other writes leave SPARE bytes of the stream's out, so that a Close always fits.
 */
#include "http/ws.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"

#include <errno.h>
#include <sys/ioctl.h>

#define HEAD_MAX 14 /* section 5.2, with a mask */
#define SPARE    (HEAD_MAX + WS_CONTROL_MAX)
#define KEEP_MAX (64u << 10) /* a larger msg is given back after its message */

enum { CLOSED, OPEN, CLOSING, LEAVING };
enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

struct head {
    uint64_t n;
    size_t size; /* of the head itself */
    uint8_t opcode, mask[4];
    bool fin;
};

/* ---- frames ---- */

/*
 * Returns 1 if it is whole, 0 if more is needed, -1 if it violates section 5, with the
 * reason in *why. Each rule is applied as soon as its bytes are there.
 */
static int parse_head(struct str in, enum ws_role role, struct head *h, const char **why)
{
    const uint8_t *p = (const uint8_t *)in.p;
    if (in.n < 2)
        return 0;
    *h = (struct head){.fin = p[0] & 0x80, .opcode = p[0] & 15, .n = p[1] & 127};
    bool masked = p[1] & 0x80, control = h->opcode & 8;
    size_t wide = h->n < 126 ? 0 : h->n == 126 ? 2 : 8;
    *why = NULL;
    if (p[0] & 0x70)
        *why = "a reserved bit is set, but no extension was agreed on";
    else if ((h->opcode & 7) > 2)
        *why = "the opcode is reserved";
    else if (control && (!h->fin || wide))
        *why = "a control frame is fragmented or longer than 125 bytes";
    else if (masked != (role == WS_SERVER))
        *why = masked ? "the server masks its frames" : "the client does not mask";
    if (*why)
        return -1;
    h->size = 2 + wide + (masked ? 4 : 0);
    if (in.n < h->size)
        return 0;
    if (wide) {
        h->n = 0;
        for (size_t i = 0; i < wide; i++)
            h->n = h->n << 8 | p[2 + i];
        if (h->n < (wide == 2 ? 126 : 65536) || h->n >> 63)
            *why = "the length is not written in its shortest form";
    }
    if (masked)
        memcpy(h->mask, p + h->size - 4, 4);
    return *why ? -1 : 1;
}

/* to may be from. Afterwards the mask is turned to the byte that follows. */
static void apply_mask(char *to, const char *from, size_t n, uint8_t mask[4])
{
    uint8_t twice[8];
    memcpy(twice, mask, 4);
    memcpy(twice + 4, mask, 4);
    uint64_t key, word;
    memcpy(&key, twice, 8);
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        memcpy(&word, from + i, 8);
        word ^= key;
        memcpy(to + i, &word, 8);
    }
    for (; i < n; i++)
        to[i] = (char)((uint8_t)from[i] ^ mask[i & 3]);
    memcpy(mask, twice + (n & 3), 4);
}

/* The next masking key: unpredictable (section 10.3), drawn sixteen at a time. */
static const uint8_t *next_key(struct ws *w)
{
    if (w->keys_n == 0) {
        random_bytes(w->keys, sizeof(w->keys));
        w->keys_n = sizeof(w->keys);
    }
    w->keys_n -= 4;
    return w->keys + w->keys_n;
}

/* Queues a frame, if that leaves `spare` bytes of room. */
static bool put(struct ws *w, unsigned opcode, struct str payload, size_t spare)
{
    struct buf *out = &w->s.out;
    bool masked = w->opts.role == WS_CLIENT;
    if (payload.n > out->max || buf_room(out) < HEAD_MAX + payload.n + spare)
        return false;
    char *to = buf_reserve(out, HEAD_MAX + payload.n);
    if (!to)
        return false;
    size_t wide = payload.n < 126 ? 0 : payload.n < 65536 ? 2 : 8, n = 2;
    unsigned len = wide == 0 ? (unsigned)payload.n : wide == 2 ? 126 : 127;
    to[0] = (char)(0x80 | opcode);
    to[1] = (char)(len | (masked ? 0x80u : 0));
    for (size_t i = wide; i > 0; i--)
        to[n++] = (char)(payload.n >> 8 * (i - 1));
    if (masked) {
        uint8_t key[4];
        memcpy(key, next_key(w), 4);
        memcpy(to + n, key, 4);
        n += 4;
        apply_mask(to + n, payload.p, payload.n, key);
    } else if (payload.n) {
        memcpy(to + n, payload.p, payload.n);
    }
    buf_commit(out, n + payload.n);
    w->queued += n + payload.n;
    task_defer(w->s.io.loop, &w->turn);
    return true;
}

/* ---- ends ---- */

static void on_timer(struct timer *t);

static void note(struct ws *w, struct str text)
{
    text.n = utf8_cut(text, WS_REASON_MAX);
    w->note_n = (uint8_t)text.n;
    if (text.n)
        memcpy(w->note, text.p, text.n);
}

static void put_close(struct ws *w, int code)
{
    char p[WS_CONTROL_MAX] = {(char)(code >> 8), (char)code};
    memcpy(p + 2, w->note, w->note_n);
    put(w, CLOSE, str_n(p, code == WS_NO_CODE ? 0 : 2u + w->note_n), 0);
}

/*
 * Section 7.1.1: the server ends the connection first, and so does the side that was
 * wronged. Ends, not closes: unread bytes would make that a reset, which can
 * take the Close frame with it.
 */
static void leave(struct ws *w, bool first)
{
    w->state = LEAVING;
    timer_begin(w->s.io.loop, &w->timer, w->opts.close_ms, on_timer);
    if (first || w->opts.role == WS_SERVER)
        stream_shutdown(&w->s);
    else
        stream_flush(&w->s);
}

/* The peer broke the protocol (section 7.1.7). */
static void fail(struct ws *w, int code, const char *why)
{
    note(w, str_of(why));
    if (w->state == OPEN)
        put_close(w, code);
    w->code = code;
    leave(w, true);
}

static void finish(struct ws *w)
{
    ASSERT(w->state != CLOSED); /* on_close comes once */
    ws_release(w);
    w->ev->on_close(w, w->code, str_n(w->note, w->note_n));
}

static void lose(struct ws *w, struct str why)
{
    if (w->state != LEAVING) {
        w->code = WS_LOST;
        note(w, why);
    }
    finish(w);
}

/* ---- what comes ---- */

/* Codes that may be on the wire: section 7.4 and IANA's registry. */
static bool code_is_fit(int code)
{
    return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) ||
           (code >= 3000 && code <= 4999);
}

static void take_close(struct ws *w, struct str p)
{
    int code = WS_NO_CODE;
    if (p.n >= 2)
        code = (uint8_t)p.p[0] << 8 | (uint8_t)p.p[1];
    if (p.n == 1 || (p.n >= 2 && !code_is_fit(code))) {
        fail(w, WS_PROTOCOL, "the code of a Close is not one that may be sent");
        return;
    }
    struct str reason = str_sub(p, 2, p.n);
    if (!utf8_valid(reason)) {
        fail(w, WS_BAD_TEXT, "the reason of a Close is not UTF-8");
        return;
    }
    w->code = code;
    note(w, STR(""));
    if (w->state == OPEN)
        put_close(w, code);
    note(w, reason);
    leave(w, false);
}

static void answer_ping(struct ws *w)
{
    if (w->pong_due && put(w, PONG, str_n(w->note, w->note_n), SPARE))
        w->pong_due = false;
}

static void take_control(struct ws *w, const struct head *h, struct str p)
{
    if (h->opcode == CLOSE) {
        take_close(w, p);
    } else if (h->opcode == PING && w->state == OPEN) {
        w->note_n = (uint8_t)p.n;
        if (p.n)
            memcpy(w->note, p.p, p.n);
        w->pong_due = true;
        answer_ping(w);
        if (w->pong_due)
            stream_want_room(&w->s);
    }
}

/* The text so far, up to a character that is not finished. */
static bool text_is_valid(struct ws *w, bool last)
{
    struct str fresh = str_sub(buf_str(&w->msg), w->checked, w->msg.n);
    size_t n = last ? fresh.n : utf8_cut(fresh, fresh.n);
    if (!utf8_valid(str_sub(fresh, 0, n)))
        return false;
    w->checked += n;
    return true;
}

/* Passes a message on, unless the peer's or our Close has closed the connection. */
static void tell(struct ws *w, struct str message)
{
    bool text = w->opcode == TEXT;
    w->opcode = 0;
    if (w->state != OPEN)
        return;
    w->told = true;
    w->ev->on_message(w, text, message);
}

static void tell_collected(struct ws *w)
{
    tell(w, buf_str(&w->msg));
    w->checked = 0;
    if (w->msg.cap > KEEP_MAX)
        buf_release(&w->msg);
    else
        buf_reset(&w->msg);
}

/* Moves the received part of the current frame, which may be a frame of 0 bytes. */
static void take_piece(struct ws *w)
{
    struct buf *in = &w->s.in;
    size_t n = in->n < w->left ? in->n : (size_t)w->left;
    if (w->state == OPEN) {
        char *to = buf_reserve(&w->msg, n);
        if (!to) {
            fail(w, WS_TOO_LONG, "no memory for the message");
            return;
        }
        if (w->opts.role == WS_SERVER)
            apply_mask(to, in->p, n, w->mask);
        else if (n)
            memcpy(to, in->p, n);
        buf_commit(&w->msg, n);
    }
    buf_consume(in, n);
    w->left -= n;
    bool last = w->left == 0 && w->fin;
    if (w->opcode == TEXT && w->state == OPEN && !text_is_valid(w, last))
        fail(w, WS_BAD_TEXT, "a text message is not UTF-8");
    else if (last)
        tell_collected(w);
}

/* Takes a message of one frame that is complete, and passes it on from the buffer. */
static void take_at_once(struct ws *w, const struct head *h)
{
    char *p = w->s.in.p + h->size;
    struct str message = str_n(p, (size_t)h->n);
    if (w->opts.role == WS_SERVER)
        apply_mask(p, p, message.n, w->mask);
    if (w->opcode == TEXT && w->state == OPEN && !utf8_valid(message)) {
        fail(w, WS_BAD_TEXT, "a text message is not UTF-8");
        return;
    }
    tell(w, message);
    if (w->state != CLOSED)
        buf_consume(&w->s.in, h->size + message.n);
}

static void take_data(struct ws *w, const struct head *h)
{
    if ((h->opcode == CONTINUATION) != (w->opcode != 0)) {
        fail(w, WS_PROTOCOL,
             w->opcode ? "a message begins within another one"
                       : "a message continues that never began");
        return;
    }
    if (h->n > w->opts.message_max - w->msg.n) {
        fail(w, WS_TOO_LONG, "the message is longer than is taken here");
        return;
    }
    bool whole = h->fin && !w->opcode && h->n <= w->s.in.n - h->size;
    if (!w->opcode)
        w->opcode = h->opcode;
    memcpy(w->mask, h->mask, 4);
    if (whole) {
        take_at_once(w, h);
        return;
    }
    w->fin = h->fin;
    w->left = h->n;
    buf_consume(&w->s.in, h->size);
    take_piece(w);
}

/* A silent connection costs little memory. */
static void give_back(struct ws *w)
{
    struct buf *all[] = {&w->msg, &w->s.in, &w->s.out};
    for (size_t i = 0; i < 3; i++) {
        if (all[i]->n == 0)
            buf_release(all[i]);
    }
}

/* Takes a frame or a part of one. Returns false if more has to come first. */
static bool step(struct ws *w)
{
    struct buf *in = &w->s.in;
    if (w->left > 0) {
        take_piece(w);
        return in->n > 0;
    }
    struct head h;
    const char *why;
    int got = parse_head(buf_str(in), w->opts.role, &h, &why);
    if (got < 0)
        fail(w, WS_PROTOCOL, why);
    if (got <= 0)
        return false;
    if (!(h.opcode & 8)) {
        take_data(w, &h);
        return true;
    }
    if (in->n < h.size + h.n)
        return false;
    char *p = in->p + h.size;
    if (w->opts.role == WS_SERVER)
        apply_mask(p, p, (size_t)h.n, h.mask);
    take_control(w, &h, str_n(p, (size_t)h.n));
    buf_consume(in, h.size + (size_t)h.n);
    if (h.opcode == PONG && in->n == 0)
        give_back(w); /* the buffer has nothing else */
    return true;
}

static void take_all(struct ws *w)
{
    while ((w->state == OPEN || w->state == CLOSING) && !w->paused && step(w))
        ;
    if (w->state == LEAVING)
        buf_reset(&w->s.in);
    bool told = w->told;
    w->told = false;
    if (told && w->state != CLOSED && w->ev->on_taken)
        w->ev->on_taken(w);
}

/* ---- the stream's and the loop's calls ---- */

static void on_data(struct stream *s)
{
    struct ws *w = container_of(s, struct ws, s);
    w->heard_us = clock_us();
    take_all(w);
}

static void on_room(struct stream *s)
{
    struct ws *w = container_of(s, struct ws, s);
    if (w->state != OPEN)
        return;
    answer_ping(w);
    if (!w->refused)
        return;
    w->refused = false;
    if (w->ev->on_room)
        w->ev->on_room(w);
}

static void on_end(struct stream *s, int errnum)
{
    const struct err *e = errnum == EPROTO ? stream_error(s) : NULL;
    lose(container_of(s, struct ws, s),
         str_of(e        ? e->text
                : errnum ? strerror(errnum)
                         : "the peer hung up without closing"));
}

static const struct stream_events stream_calls = {
    .on_data = on_data, .on_room = on_room, .on_end = on_end};

static void on_turn(struct task *t)
{
    struct ws *w = container_of(t, struct ws, turn);
    if (w->s.ended) { /* before it was ours: no callback will come */
        lose(w, STR("the peer hung up without closing"));
        return;
    }
    if (w->again) {
        w->again = false;
        take_all(w);
    }
    if (w->state == CLOSED)
        return;
    stream_flush(&w->s);
    if (!w->paused)
        stream_resume(&w->s);
}

/*
 * Bytes that waited at the last tick, here or in the kernel, and have gone since show
 * that the peer reads. A ping does not wait at the next tick, if its kernel is there.
 */
static bool peer_reads(struct ws *w)
{
    int left = 0;
    stream_flush(&w->s); /* what is left is what the kernel did not take */
    if (ioctl(w->s.io.fd, TIOCOUTQ, &left) < 0) /* SIOCOUTQ by its other name */
        left = 0;
    size_t waits = w->s.out.n + (size_t)left, gone = w->queued - waits;
    bool alive = w->waits > 0 && (ssize_t)(gone - w->gone) > 0;
    w->waits = waits;
    w->gone = gone;
    return alive;
}

static void on_timer(struct timer *t)
{
    struct ws *w = container_of(t, struct ws, timer);
    if (w->state != OPEN) {
        if (w->state == CLOSING)
            lose(w, STR("the peer did not answer our Close"));
        else
            finish(w);
        return;
    }
    int64_t now = clock_us();
    if (w->paused || peer_reads(w))
        w->heard_us = now;
    int64_t silent = (now - w->heard_us) / 1000, ping = w->opts.ping_ms;
    if (silent >= w->opts.dead_ms) {
        lose(w, STR("the peer fell silent and answered no ping"));
        return;
    }
    if (silent >= ping) {
        give_back(w);
        put(w, PING, STR(""), SPARE);
    }
    int64_t next = ping - silent % ping, end = w->opts.dead_ms - silent;
    timer_begin(w->s.io.loop, t, next < end ? next : end, on_timer);
}

/* ---- the owner's calls ---- */

void ws_start(struct ws *w, struct stream *take, const struct ws_opts *opts,
              const struct ws_events *ev)
{
    ASSERT(take != &w->s);
    BUG_ON(take->io.fd < 0 || take->in.max < WS_IN_MIN || take->out.max < WS_OUT_MIN);
    *w = (struct ws){.ev = ev, .state = OPEN, .opts = *opts, .heard_us = clock_us()};
    struct ws_opts *o = &w->opts;
    o->ping_ms = o->ping_ms ? o->ping_ms : LIMIT_WS_PING_MS;
    o->dead_ms = o->dead_ms ? o->dead_ms : LIMIT_WS_DEAD_MS;
    o->close_ms = o->close_ms ? o->close_ms : LIMIT_WS_CLOSE_MS;
    buf_init(&w->msg, o->message_max);
    task_init(&w->turn, on_turn);
    stream_move(&w->s, take, &stream_calls);
    w->again = true;
    task_defer(w->s.io.loop, &w->turn);
    timer_begin(w->s.io.loop, &w->timer, o->ping_ms, on_timer);
}

void ws_set_max(struct ws *w, size_t message_max)
{
    w->opts.message_max = message_max;
    w->msg.max = message_max;
}

bool ws_send(struct ws *w, bool text, struct str message)
{
    struct stream *s = &w->s;
    if (w->state != OPEN || w->refused || message.n > ws_send_max(w))
        return false;
    if (s->out.n > s->low)
        stream_flush(s);
    if (s->out.n <= s->low && put(w, text ? TEXT : BINARY, message, SPARE))
        return true;
    w->refused = true;
    stream_want_room(s);
    return false;
}

size_t ws_send_max(const struct ws *w)
{
    size_t kept = w->s.low + HEAD_MAX + SPARE;
    return w->s.out.max > kept ? w->s.out.max - kept : 0;
}

size_t ws_queued(const struct ws *w) { return w->s.out.n; }

void ws_close(struct ws *w, enum ws_code code, struct str reason)
{
    if (w->state != OPEN)
        return;
    note(w, reason);
    put_close(w, (int)code);
    w->state = CLOSING;
    ws_resume(w);
    timer_begin(w->s.io.loop, &w->timer, w->opts.close_ms, on_timer);
}

bool ws_is_open(const struct ws *w) { return w->state == OPEN; }

void ws_pause(struct ws *w)
{
    if (w->state != OPEN)
        return;
    w->paused = true;
    stream_pause(&w->s);
}

void ws_resume(struct ws *w)
{
    if (!w->paused || w->state == CLOSED)
        return;
    w->paused = false;
    w->again = true;
    task_defer(w->s.io.loop, &w->turn);
}

void ws_release(struct ws *w)
{
    if (w->state == CLOSED)
        return;
    w->state = CLOSED;
    timer_stop(&w->timer);
    task_cancel(&w->turn);
    stream_close(&w->s);
    buf_release(&w->msg);
}
