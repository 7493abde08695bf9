/* SPDX-License-Identifier: MIT */
/* The verb tmux: a command line of tmux (front/tmux). */
#include "front/tmux/tmux.h"
#include "front/local/own.h"

#include "ipc/frame.h"

static size_t on_output(void *arg, bool error, uint64_t offset, struct str bytes)
{
    struct conn *c = arg;
    size_t sent = 0;
    while (sent < bytes.n && c->stream.out.n < LOCAL_QUEUED_MAX) {
        struct str part = str_sub(bytes, sent, 64 << 10);
        if (frame_add_bytes(&c->stream.out, error ? 'E' : 'O', offset + sent, part) < 0)
            break;
        sent += part.n;
    }
    task_defer(c->en->loop, &c->flush);
    if (sent < bytes.n)
        stream_want_room(&c->stream);
    return sent;
}

static void on_note(void *arg, const char *kind)
{
    struct conn *c = arg;
    struct json *j = json_object();
    json_put_z(j, "note", kind);
    local_send_json(c, 'N', j);
    json_free(j);
}

static void on_accepted(void *arg, uint64_t offset)
{
    struct conn *c = arg;
    frame_add_u64(&c->stream.out, 'W', offset);
    task_defer(c->en->loop, &c->flush);
}

static void on_done(void *arg, struct json *take)
{
    struct conn *c = arg;
    c->tmux = NULL;
    local_send_result(c, take);
}

static const struct tmux_calls calls = {on_output, on_note, on_accepted, on_done};

int local_tmux(struct conn *c, const struct json *q, struct err *e)
{
    struct tmux *t = fronts_find(c->all, "tmux");
    struct tmux_client *x = tmux_ask(t, q, c->uid, c->pid, &calls, c, e);
    if (x)
        c->tmux = x;
    return x || !e->code ? 0 : -1;
}

void local_tmux_input(struct conn *c, struct str payload)
{
    uint64_t offset;
    struct str bytes;
    if (frame_bytes(payload, &offset, &bytes) == 0)
        tmux_input(c->tmux, offset, bytes);
}

void local_tmux_size(struct conn *c, const struct json *j)
{
    tmux_size(c->tmux, (int)json_int(j, "rows", 0), (int)json_int(j, "cols", 0));
}

void local_tmux_room(struct conn *c) { tmux_room(c->tmux); }

void local_tmux_drop(struct conn *c)
{
    struct tmux_client *x = c->tmux;
    c->tmux = NULL;
    tmux_leave(x);
}
