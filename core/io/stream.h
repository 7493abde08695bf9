/* SPDX-License-Identifier: MIT */
/*
 * Non-blocking duplex bytes with two bounded buffers.
 *
 * Owns the descriptor. What is read lands in `in`; the owner consumes it in
 * on_data and leaves what it cannot use yet. When `in` is full, reading stops
 * until stream_resume. What is written is tried at once and the rest kept in
 * `out`, up to out_max; on_room tells when it has fallen to `low` again. Closing is
 * final for the owner: no callback comes after stream_close.
 *
 * Between the buffers and the descriptor there can be a layer, which the stream
 * owns from stream_put_layer on: TLS (net/tls.h). Owners cannot tell, but for
 * the descriptor: what is sent through it by another way goes around the layer.
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
     * May be NULL: the peer will send nothing more. Without it that is on_end(0);
     * with it, writing goes on, and on_end still comes when the rest breaks.
     */
    void (*on_eof)(struct stream *s);
};

/*
 * What bytes go through; embedded in what its calls find by container_of. Calls
 * that cannot go on fail with EAGAIN, and are made again when the descriptor is
 * readable, or writable if want_out is set.
 */
struct stream_layer {
    const struct stream_layer_calls *calls;
    struct stream *s;  /* changes with stream_move */
    struct task again; /* bytes that the descriptor does not tell of */
    bool ready;        /* greeted: bytes can pass */
    bool want_out;     /* waits for the descriptor to take bytes */
};

struct stream_layer_calls {
    /* What is to be exchanged before any byte. 0: done; -1 with errno. */
    int (*greet)(struct stream_layer *l);
    /* Once, after greet succeeded; it may close or move l->s. */
    void (*greeted)(struct stream_layer *l);
    ssize_t (*read)(struct stream_layer *l, void *p, size_t n); /* as read(2) */
    /* As send(2); after EAGAIN the same bytes come again, with others behind them. */
    ssize_t (*write)(struct stream_layer *l, const void *p, size_t n);
    /* Nothing follows what was written. 0, or -1 with errno. */
    int (*shutdown)(struct stream_layer *l);
    /* Bytes were read from the descriptor and not given yet. */
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
};

/* Takes fd (non-blocking). 0, or -1 with errno and fd still the caller's. */
int stream_open(struct stream *s, struct loop *l, int fd, size_t in_max, size_t out_max,
                const struct stream_events *ev);
/*
 * Everything from here on goes through the layer, which sets calls and want_out.
 * Nothing is told of its greeting but a failure, by on_end; nothing is read or
 * written before it is over. Once a stream, before the first byte.
 */
void stream_put_layer(struct stream *s, struct stream_layer *take);
/* on_end shall come, from the loop, with errnum; what is queued is dropped. */
void stream_fail(struct stream *s, int errnum);
/*
 * Takes the layer away after it failed, in on_end: from here on the descriptor's own
 * bytes come, to be dropped until the peer has read what the layer said last.
 */
void stream_bare(struct stream *s);
/* What the layer has to say of its failure, until stream_close; NULL: nothing. */
const struct err *stream_error(const struct stream *s);
/*
 * Hands all of it to another owner: descriptor, buffers, marks, a failure that
 * was not told yet. That the peer sends nothing more is told anew. `from` is
 * closed then, without callbacks, also within its own; its memory is needed to
 * the end of the turn, as ever.
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
 * Nothing follows what is queued: after it the peer of a socket reads an end.
 * Its own bytes still come. Idempotent.
 */
void stream_shutdown(struct stream *s);
/*
 * What was queued will not be whole: the close that is to follow has to look like a
 * break, so it is a reset and no layer says that this was the end.
 */
void stream_break(struct stream *s);
/* on_room shall come, even if the next flush empties out at once. */
void stream_want_room(struct stream *s);
size_t stream_room(const struct stream *s);
/* Stops and restarts reading, the peer's kernel buffer then slows it down. */
void stream_pause(struct stream *s);
void stream_resume(struct stream *s);

#endif
