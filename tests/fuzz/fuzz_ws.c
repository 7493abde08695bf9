/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a peer's frames, in either role (the first byte chooses), at once
 * and byte by byte: the same is told and answered, nothing is told that is too
 * long or no text, and memory stays within what was allowed.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "http/ws.h"

#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { IN_MAX = 512, OUT_MAX = 64 << 10, INPUT_MAX = 8192, MESSAGE_MAX = 1000 };

static struct loop *loop;
static struct buf *told;
static bool closed;

static void on_message(struct ws *w, bool text, struct str m)
{
    BUG_ON(closed || !ws_is_open(w));
    BUG_ON(m.n > MESSAGE_MAX || (text && !utf8_valid(m)));
    BUG_ON(buf_addf(told, "%c%zu:", text ? 'T' : 'B', m.n) < 0 || buf_adds(told, m) < 0);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    BUG_ON(closed || ws_is_open(w) || !utf8_valid(reason));
    closed = true;
    BUG_ON(buf_addf(told, "C%d:", code) < 0 || buf_adds(told, reason) < 0);
}

static const struct ws_events events = {.on_message = on_message, .on_close = on_close};

/* What the peer would read. */
static void drain(int fd, struct buf *heard)
{
    char p[4096];
    ssize_t n;
    while ((n = recv(fd, p, sizeof(p), MSG_DONTWAIT)) > 0)
        BUG_ON(buf_add(heard, p, (size_t)n) < 0);
}

static void pass(enum ws_role role, struct str bytes, size_t step, struct buf *heard)
{
    int p[2];
    struct stream s;
    struct ws w;
    static const struct stream_events nothing;
    struct ws_opts opts = {.role = role, .message_max = MESSAGE_MAX};
    BUG_ON(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p) < 0);
    BUG_ON(stream_open(&s, loop, p[0], IN_MAX, OUT_MAX, &nothing) < 0);
    ws_start(&w, &s, &opts, &events);
    closed = false;
    while (bytes.n > 0) {
        /* As the stream would: what is there is added, and told. */
        size_t room = buf_room(&w.s.in), most = step < room ? step : room;
        struct str some = str_sub(bytes, 0, most);
        BUG_ON(room == 0 || buf_adds(&w.s.in, some) < 0);
        bytes = str_sub(bytes, some.n, bytes.n);
        w.s.ev->on_data(&w.s);
        BUG_ON(w.msg.cap > 2 * MESSAGE_MAX || w.s.out.n > OUT_MAX);
    }
    stream_flush(&w.s);
    drain(p[1], heard);
    w.s.ev->on_end(&w.s, 0);
    BUG_ON(!closed);
    ws_release(&w);
    close(p[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0 || n > INPUT_MAX)
        return 0;
    if (!loop)
        loop = loop_new();
    enum ws_role role = data[0] & 1 ? WS_CLIENT : WS_SERVER;
    struct str bytes = str_n(data + 1, n - 1);
    struct buf told_once = BUF_INIT(1 << 20), told_bytes = BUF_INIT(1 << 20);
    struct buf heard_once = BUF_INIT(1 << 20), heard_bytes = BUF_INIT(1 << 20);
    told = &told_once;
    pass(role, bytes, INPUT_MAX, &heard_once);
    told = &told_bytes;
    pass(role, bytes, 1, &heard_bytes);
    BUG_ON(!str_eq(buf_str(&told_once), buf_str(&told_bytes)));
    BUG_ON(heard_once.n != heard_bytes.n);
    /* A client's masks are random. */
    BUG_ON(role == WS_SERVER && !str_eq(buf_str(&heard_once), buf_str(&heard_bytes)));
    buf_release(&told_once);
    buf_release(&told_bytes);
    buf_release(&heard_once);
    buf_release(&heard_bytes);
    return 0;
}
