/* SPDX-License-Identifier: MIT */
/*
 * The verb events: the events of the log, and with follow also the new ones. And the verb
 * cast: a session as a recording.
 */
#include "front/local/own.h"

#include "action/log.h"
#include "base/limits.h"
#include "eventlog/eventlog.h"
#include "front/terminal/recording.h"
#include "ipc/frame.h"

static struct eventlog *log_of(const struct conn *c)
{
    return actions_log(c->en->actions);
}

void local_events_room(struct conn *c)
{
    struct err e = ERR_INIT;
    struct buf lines = BUF_INIT(LIMIT_EVENT_MAX + LOCAL_QUEUED_MAX);
    long n = 1;
    while (c->stream.out.n <= LOCAL_QUEUED_MAX &&
           (n = eventlog_read(log_of(c), &c->cursor, &lines, LOCAL_QUEUED_MAX / 4, &e)) >
               0) {
        frame_add_bytes(&c->stream.out, 'O', c->cursor.next, buf_str(&lines));
        buf_reset(&lines);
    }
    buf_release(&lines);
    task_defer(c->en->loop, &c->flush);
    if (n > 0)
        stream_want_room(&c->stream);
    else if (n < 0 || !c->follow) {
        c->reading = false;
        eventlog_unsubscribe(&c->sub);
        if (n < 0)
            local_send_error(c, &e);
        else
            local_send_result(c, local_ok());
    }
}

static void on_events(struct event_sub *s)
{
    struct conn *c = container_of(s, struct conn, sub);
    if (c->stream.out.n <= LOCAL_QUEUED_MAX)
        local_events_room(c);
}

int local_events(struct conn *c, const struct json *q, struct err *e)
{
    int64_t since = json_int(q, "since", 0);
    if (!log_of(c) || since < 0)
        return err_set(e, ERR_INVALID, "since must be the id of an event, or 0");
    if ((uint64_t)since >= eventlog_next(log_of(c)))
        return err_set(e, ERR_NOTFOUND,
                       "there is no event %lld yet: the last one is %llu",
                       (long long)since,
                       (unsigned long long)eventlog_next(log_of(c)) - 1);
    c->cursor = (struct event_cursor){.next = (uint64_t)since + 1};
    c->follow = json_bool(q, "follow", false);
    c->reading = true;
    eventlog_subscribe(log_of(c), &c->sub, on_events);
    local_events_room(c);
    return 0;
}

/* ---- recordings ---- */

static size_t take_cast(void *arg, struct str bytes)
{
    struct conn *c = arg;
    size_t sent = 0;
    while (sent < bytes.n && c->stream.out.n < LOCAL_QUEUED_MAX) {
        struct str part = str_sub(bytes, sent, 64 << 10);
        if (frame_add_bytes(&c->stream.out, 'O', 0, part) < 0)
            break;
        sent += part.n;
    }
    task_defer(c->en->loop, &c->flush);
    if (sent < bytes.n)
        stream_want_room(&c->stream);
    return sent;
}

static void on_cast_done(void *arg, const struct err *e)
{
    struct conn *c = arg;
    c->cast = NULL;
    if (e)
        local_send_error(c, e);
    else
        local_send_result(c, local_ok());
}

int local_cast(struct conn *c, const struct json *q, struct err *e)
{
    static const struct recording_calls calls = {take_cast, on_cast_done};
    struct recording_ask ask = {.session = json_str(q, "session", "main"),
                                .from = (uint64_t)json_int(q, "since", 0)};
    c->cast = recording_open(c->en, &ask, &calls, c, e);
    return c->cast ? 0 : -1;
}

void local_cast_drop(struct conn *c)
{
    recording_close(c->cast);
    c->cast = NULL;
}
