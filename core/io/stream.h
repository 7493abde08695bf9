/* SPDX-License-Identifier: MIT */
/*
 * Non-blocking duplex bytes with two bounded buffers.
 *
 * Owns the descriptor. What is read lands in `in`; the owner consumes it in
 * on_data and leaves what it cannot use yet. When `in` is full, reading stops
 * until stream_resume. Writes go to the descriptor at once, and the rest is kept
 * in `out`, up to out_max; on_room is called when it has fallen to `low` again.
 * Closing is final for the owner: no callback comes after stream_close.
 *
 * Between the buffers and the descriptor there can be a layer, which the stream
 * owns from stream_put_layer on: TLS (net/tls.h). Owners see no difference, but
 * must not write to the descriptor themselves: such bytes bypass the layer.
 */
#ifndef OD_IO_STREAM_H
#define OD_IO_STREAM_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <sys/types.h>

struct stream;

struct stream_events {
    void (*on_data)(struct stream *s);            /* s->in has more than before */
    void (*on_room)(struct stream *s);            /* may be NULL */
    void (*on_end)(struct stream *s, int errnum); /* 0: the peer closed */
    /*
     * The peer will send nothing more. Writing goes on, and on_end still comes
     * when that fails. NULL: on_end(0) is called instead.
     */
    void (*on_eof)(struct stream *s);
};

/*
 * What bytes go through; embedded in its owner, which its calls find by container_of.
 * Calls that cannot go on fail with EAGAIN, and are made again when the descriptor
 * is readable, or writable if want_out is set.
 */
struct stream_layer {
    const struct stream_layer_calls *calls;
    struct stream *s;  /* changes with stream_move */
    struct task again; /* for bytes that it holds: the descriptor reports none */
    bool ready;        /* greeted: bytes can pass */
    bool want_out;     /* waits until the descriptor is writable */
};

struct stream_layer_calls {
    /* What is to be exchanged before any byte. 0: done; -1 with errno. */
    int (*greet)(struct stream_layer *l);
    /* Once, after greet succeeded; it may close or move l->s. */
    void (*greeted)(struct stream_layer *l);
    ssize_t (*read)(struct stream_layer *l, void *p, size_t n); /* as read(2) */
    /* As send(2); after EAGAIN the same bytes are passed again, and more after them. */
    ssize_t (*write)(struct stream_layer *l, const void *p, size_t n);
    /* Nothing follows what was written. 0, or -1 with errno. */
    int (*shutdown)(struct stream_layer *l);
    /* Whether bytes were read from the descriptor and not returned by read yet. */
    bool (*holds)(const struct stream_layer *l);
    /* The stream is closed; whole: all that was queued has been written. */
    void (*release)(struct stream_layer *l, bool whole);
    /* Why it failed, owned by the layer; NULL: it has not. */
    const struct err *(*error)(const struct stream_layer *l);
};

struct stream {
    struct io io;
    struct stream_layer *layer; /* owned; NULL: none */
    struct buf in, out;
    const struct stream_events *ev;
    struct task end; /* a failed write is reported from the loop */
    int errnum;
    size_t low; /* on_room comes when out has fallen to it; out_max / 2 */
    bool paused, was_full, ended, eof, last_words;
    bool no_socket; /* as the first write found */
    /* Called once, before the descriptor is closed; stays with the bytes in stream_move.
     * NULL: nothing is called. */
    void (*closing)(void *arg);
    void *closing_arg;
};

/* Takes fd (non-blocking). 0, or -1 with errno and fd still the caller's. */
int stream_open(struct stream *s, struct loop *l, int fd, size_t in_max, size_t out_max,
                const struct stream_events *ev);
/*
 * All bytes from here on go through the layer, which sets calls and want_out.
 * Nothing is read or written before its greeting is over; a greeting that fails
 * is reported by on_end. Once per stream, before the first byte.
 */
void stream_put_layer(struct stream *s, struct stream_layer *take);
/* Drops what is queued; on_end follows from the loop, with errnum. */
void stream_fail(struct stream *s, int errnum);
/*
 * Removes the layer after it failed, in on_end. From here on the descriptor's own bytes
 * arrive, to be dropped until the peer has read the layer's last message.
 */
void stream_bare(struct stream *s);
/* The layer's failure, borrowed until stream_close; NULL: there is none. */
const struct err *stream_error(const struct stream *s);
/*
 * Hands the stream to another owner: descriptor, buffers, marks, a failure that
 * was not reported yet. An end of the peer's bytes is reported again. `from` is
 * then closed, without callbacks; it may be called in one of them. The memory
 * of `from` must last to the end of the turn.
 */
void stream_move(struct stream *to, struct stream *from, const struct stream_events *ev);
void stream_close(struct stream *s); /* idempotent */
/*
 * Queues bytes already appended to s->out, or appends and queues. -1: out is
 * full and nothing was added.
 */
int stream_write(struct stream *s, struct str bytes);
void stream_flush(struct stream *s);
/*
 * Ends the output after what is queued: then the peer of a socket reads end of
 * file. Its own bytes still arrive. Idempotent.
 */
void stream_shutdown(struct stream *s);
/*
 * For output that is not whole: makes the close that follows look like a break. It is a
 * reset, and no layer announces an orderly end.
 */
void stream_break(struct stream *s);
/* Has on_room called, even if the next flush empties out at once. */
void stream_want_room(struct stream *s);
size_t stream_room(const struct stream *s);
/* Stops and restarts reading; while it is stopped, full kernel buffers slow the peer. */
void stream_pause(struct stream *s);
void stream_resume(struct stream *s);

#endif
