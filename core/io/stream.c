/* SPDX-License-Identifier: MIT */
/* Buffered non-blocking I/O on one descriptor. */
#include "io/stream.h"

#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_READ = 4 << 10, READ_AT_ONCE = 16 << 10 };

/* What the descriptor is watched for, when the stream alone would want `want`. */
static uint32_t layer_wants(struct stream *s, uint32_t want)
{
    struct stream_layer *l = s->layer;
    if (!l->ready)
        want = EPOLLIN;
    else if ((want & EPOLLIN) && l->calls->holds(l))
        task_defer(s->io.loop, &l->again);
    return want | (l->want_out ? EPOLLOUT : 0);
}

static void rewatch(struct stream *s)
{
    uint32_t want = 0;
    if (!s->paused && !s->eof && s->in.n < s->in.max)
        want |= EPOLLIN;
    /* Once `out` was full, on_room comes from the loop, even if a flush emptied it. */
    if (s->out.n > 0 || s->was_full)
        want |= EPOLLOUT;
    if (s->ended)
        want = EPOLLET; /* its hang-up, which is told whatever is asked for, but once */
    else if (s->layer)
        want = layer_wants(s, want);
    io_set(&s->io, want);
}

static void end(struct stream *s, int errnum)
{
    if (s->ended)
        return;
    s->ended = true;
    s->errnum = errnum;
    s->ev->on_end(s, errnum);
}

static void end_later(struct task *t)
{
    struct stream *s = container_of(t, struct stream, end);
    end(s, s->errnum);
}

/*
 * Reads at most *room bytes into `in`, and sets *room to how much was asked for.
 * An empty stream holds no memory: its first bytes are read to the stack, so that
 * it allocates no more than they need.
 */
static ssize_t read_into(struct stream *s, size_t *room)
{
    char first[FIRST_READ];
    bool empty = !s->in.p;
    size_t most = empty ? sizeof(first) : READ_AT_ONCE;
    *room = *room < most ? *room : most;
    char *p = empty ? first : buf_reserve(&s->in, *room);
    ssize_t n = !p         ? -1
                : s->layer ? s->layer->calls->read(s->layer, p, *room)
                           : read(s->io.fd, p, *room);
    if (!p || (empty && n > 0 && buf_add(&s->in, first, (size_t)n) < 0)) {
        errno = ENOMEM;
        return -1;
    }
    if (!empty && n > 0)
        buf_commit(&s->in, (size_t)n);
    return n;
}

/* The owner may close the stream in any callback; then io.fd is -1. */
static void read_some(struct stream *s)
{
    size_t got = 0;
    while (got < LIMIT_READ_PER_TURN && s->in.n < s->in.max) {
        size_t room = s->in.max - s->in.n;
        ssize_t n = read_into(s, &room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            int why = n < 0 ? errno : 0;
            s->eof = n == 0 && s->ev->on_eof;
            if (got > 0)
                s->ev->on_data(s);
            if (s->io.fd >= 0 && s->eof)
                s->ev->on_eof(s);
            else if (s->io.fd >= 0)
                end(s, why);
            return;
        }
        got += (size_t)n;
        if ((size_t)n < room && !s->layer)
            break;
    }
    if (got > 0)
        s->ev->on_data(s);
}

static ssize_t write_out(struct stream *s)
{
    if (s->layer)
        return s->layer->calls->write(s->layer, s->out.p, s->out.n);
    ssize_t n = s->no_socket ? -1 : send(s->io.fd, s->out.p, s->out.n, MSG_NOSIGNAL);
    s->no_socket = s->no_socket || (n < 0 && errno == ENOTSOCK);
    return s->no_socket ? write(s->io.fd, s->out.p, s->out.n) : n;
}

static bool can_write(const struct stream *s)
{
    return s->io.fd >= 0 && !s->ended && (!s->layer || s->layer->ready);
}

/* The last bytes are written: tells the peer that nothing follows. */
static void say_end(struct stream *s)
{
    if (s->layer && s->layer->calls->shutdown(s->layer) < 0 && errno == EAGAIN)
        return; /* called again when want_out is met */
    shutdown(s->io.fd, SHUT_WR);
}

void stream_fail(struct stream *s, int errnum)
{
    s->errnum = errnum;
    task_defer(s->io.loop, &s->end);
    buf_reset(&s->out);
}

void stream_flush(struct stream *s)
{
    if (buf_full(&s->out) && !s->errnum) { /* bytes are missing: send nothing */
        stream_break(s);
        stream_fail(s, ENOMEM);
    }
    if (s->errnum)
        buf_reset(&s->out); /* on_end is on its way */
    while (s->out.n > 0 && can_write(s)) {
        ssize_t n = write_out(s);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            stream_fail(s, errno);
            break;
        }
        buf_consume(&s->out, (size_t)n);
    }
    if (s->out.n > s->low)
        s->was_full = true;
    if (s->last_words && s->out.n == 0 && can_write(s))
        say_end(s);
    if (s->io.fd >= 0)
        rewatch(s);
}

/* One more step of the layer's greeting. */
static void greet(struct stream *s)
{
    struct stream_layer *l = s->layer;
    l->want_out = false;
    if (l->calls->greet(l) < 0) {
        if (errno == EAGAIN)
            rewatch(s);
        else
            end(s, errno);
        return;
    }
    ASSERT(!l->ready); /* greeted is called once */
    l->ready = true;
    stream_flush(s);
    l->calls->greeted(l);
}

static void on_io(struct io *io, uint32_t events)
{
    struct stream *s = container_of(io, struct stream, io);
    if (s->ended) { /* but its owner has not closed it */
        rewatch(s);
        return;
    }
    if (s->layer) {
        if (!s->layer->ready) {
            greet(s);
            return;
        }
        /* A read may have waited for the descriptor to be writable. */
        if (s->layer->want_out)
            events |= EPOLLIN | EPOLLOUT;
        s->layer->want_out = false;
    }
    if (events & EPOLLOUT) {
        stream_flush(s);
        if (s->io.fd >= 0 && s->was_full && s->out.n <= s->low) {
            s->was_full = false;
            if (s->ev->on_room)
                s->ev->on_room(s);
        }
    }
    if (s->io.fd < 0 || s->ended)
        return;
    if (s->paused || s->eof || s->in.n >= s->in.max) {
        /* We do not read, and the hang-up would be reported in every turn. */
        if (events & (EPOLLHUP | EPOLLERR))
            end(s, 0);
    } else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        read_some(s);
    }
    if (s->io.fd >= 0 && !s->ended)
        rewatch(s);
}

int stream_open(struct stream *s, struct loop *l, int fd, size_t in_max, size_t out_max,
                const struct stream_events *ev)
{
    ASSERT(fd >= 0);
    *s = (struct stream){.ev = ev};
    buf_init(&s->in, in_max);
    buf_init(&s->out, out_max);
    s->low = out_max / 2;
    task_init(&s->end, end_later);
    s->io.fd = -1;
    return io_start(l, &s->io, fd, EPOLLIN, on_io);
}

static void layer_again(struct task *t)
{
    struct stream_layer *l = container_of(t, struct stream_layer, again);
    on_io(&l->s->io, EPOLLIN);
}

void stream_put_layer(struct stream *s, struct stream_layer *take)
{
    BUG_ON(s->layer || s->in.n > 0 || s->out.n > 0);
    ASSERT(take && take->calls && !take->s); /* takes it, and it is of no other stream */
    s->layer = take;
    take->s = s;
    task_init(&take->again, layer_again);
    rewatch(s);
}

void stream_bare(struct stream *s)
{
    struct stream_layer *l = s->layer;
    BUG_ON(!l || !s->ended);
    task_cancel(&l->again);
    s->layer = NULL;
    l->calls->release(l, false);
    buf_reset(&s->out);
    s->errnum = 0;
    s->ended = false;
    rewatch(s);
}

const struct err *stream_error(const struct stream *s)
{
    return s->layer ? s->layer->calls->error(s->layer) : NULL;
}

void stream_break(struct stream *s)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (s->io.fd >= 0)
        setsockopt(s->io.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    s->errnum = ECONNABORTED;
}

void stream_move(struct stream *to, struct stream *from, const struct stream_events *ev)
{
    ASSERT(to != from && from->io.fd >= 0);
    *to = *from;
    to->ev = ev;
    task_init(&to->end, end_later);
    if (!list_empty(&from->end.node))
        task_defer(from->io.loop, &to->end);
    io_move(&to->io, &from->io);
    from->layer = NULL;
    from->closing = NULL;
    if (to->layer)
        to->layer->s = to;
    buf_init(&from->in, to->in.max);
    buf_init(&from->out, to->out.max);
    stream_close(from);
    to->eof = false; /* the new owner gets it too, from the next read */
    rewatch(to);
}

void stream_close(struct stream *s)
{
    struct stream_layer *l = s->layer;
    void (*closing)(void *arg) = s->closing;
    s->closing = NULL;
    if (closing)
        closing(s->closing_arg);
    if (l) {
        task_cancel(&l->again);
        s->layer = NULL;
        l->calls->release(l, s->out.n == 0 && !s->errnum);
    }
    if (s->io.fd >= 0) {
        int fd = s->io.fd;
        io_stop(&s->io);
        close(fd);
    }
    task_cancel(&s->end);
    s->ended = true;
    buf_release(&s->in);
    buf_release(&s->out);
}

int stream_write(struct stream *s, struct str bytes)
{
    if (s->ended || s->io.fd < 0)
        return 0; /* the peer is gone; on_end reports it */
    if (bytes.n > buf_room(&s->out))
        return -1;
    buf_adds(&s->out, bytes); /* without memory the flush breaks the stream */
    stream_flush(s);
    return 0;
}

void stream_shutdown(struct stream *s)
{
    if (s->last_words)
        return;
    s->last_words = true;
    stream_flush(s);
}

void stream_want_room(struct stream *s)
{
    s->was_full = true;
    if (s->io.fd >= 0)
        rewatch(s);
}

size_t stream_room(const struct stream *s) { return buf_room(&s->out); }

void stream_pause(struct stream *s)
{
    s->paused = true;
    if (s->io.fd >= 0)
        rewatch(s);
}

void stream_resume(struct stream *s)
{
    s->paused = false;
    if (s->io.fd >= 0)
        rewatch(s);
}
