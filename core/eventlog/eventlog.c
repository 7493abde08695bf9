/* SPDX-License-Identifier: MIT */
/*
 * Appending to an event log, retention and subscribers.
 *
 * An append checks the object once (no control bytes), puts the head before it and
 * makes one pwritev, for several objects too. Nothing is allocated, and the cost does
 * not depend on the length of the log. A partial write is cut back to whole lines; if
 * that fails too, the next write overwrites it, or the next eventlog_open cuts it.
 */
#include "eventlog/own.h"

#include "base/crc.h"
#include "base/limits.h"
#include "base/scratch.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    PARTS = 4,
    EVENT_LEAST = 1 << 10,  /* of eventlog_most */
    EVENT_SMALL = 8 << 10,  /* always has room, while there is any */
    EVENTS_OF_RESERVE = 100, /* a hundredth each: 200 of them leave an eighth */
    PARTS_OF_RESERVE = 16
};

int64_t wall_us(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- retention ---- */

/* All events of the oldest segment were acknowledged, and there is a newer one. */
static bool oldest_acked(const struct eventlog *l)
{
    return l->segs > 1 && l->seg[1].first - 1 <= l->acked;
}

static void on_age(struct timer *t);

static void retain(struct eventlog *l)
{
    int64_t now = l->max_age_us ? wall_us() : 0;
    while (l->segs > 1 && (l->bytes > l->total_bytes ||
                           (l->bytes > l->total_bytes / 2 && oldest_acked(l)) ||
                           (l->max_age_us && now - l->seg[0].last_us >= l->max_age_us)))
        segment_drop(l);
    timer_stop(&l->age_timer);
    if (l->max_age_us && l->segs > 1) {
        int64_t left = l->seg[0].last_us + l->max_age_us - now;
        timer_begin(l->loop, &l->age_timer, left / 1000 + 1, on_age);
    }
}

static void on_age(struct timer *t)
{
    retain(container_of(t, struct eventlog, age_timer));
}

void eventlog_trim(struct eventlog *l, uint64_t upto)
{
    if (upto > l->acked)
        l->acked = upto;
    retain(l);
}

/* If no new segment can be made, the old one grows on, up to the budget. */
static int begin_segment(struct eventlog *l, struct err *e)
{
    if (l->segs > DIRTY_MAX && l->seg[l->segs - DIRTY_MAX].dirty)
        sync_now(l); /* too many segments for one call of the helper */
    if (segment_begin(l, e) < 0) {
        l->roll_at = newest(l)->bytes + l->segment_bytes / 16;
        return newest(l)->bytes < l->total_bytes ? 0 : -1;
    }
    retain(l);
    return 0;
}

/* ---- appending ---- */

/* Writes all of v, in as many calls as it takes. Returns -1 with errno. */
static int write_all(int fd, struct iovec *v, int n, uint64_t at)
{
    while (n > 0) {
        ssize_t r = pwritev(fd, v, n, (off_t)at);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return -1;
        at += (uint64_t)r;
        for (; n > 0 && (size_t)r >= v->iov_len; v++, n--)
            r -= (ssize_t)v->iov_len;
        if (n > 0) {
            v->iov_base = (char *)v->iov_base + r;
            v->iov_len -= (size_t)r;
        }
    }
    return 0;
}

/* After a full disk drops a segment, after EFBIG begins one. Returns whether to retry. */
static bool make_room(struct eventlog *l, int errnum)
{
    if (errnum == EFBIG && l->dir >= 0 && newest(l)->bytes > 0)
        return segment_begin(l, NULL) == 0;
    if (!reserve_full(errnum))
        return false;
    if (l->segs > 1 && (l->drop_when_full || oldest_acked(l))) {
        segment_drop(l);
        return true;
    }
    return reserve_cut(l);
}

/* Writes v, which is changed, after the newest segment's bytes. Returns -1 with errno. */
static int put_bytes(struct eventlog *l, struct iovec *v, int n, size_t bytes)
{
    struct segment *s = newest(l);
    if (reserve_for(l, bytes) < 0)
        return -1;
    if (write_all(s->fd, v, n, s->base + s->bytes) < 0) {
        int errnum = errno;
        segment_cut(l);
        errno = errnum;
        return -1;
    }
    s->bytes += bytes;
    l->bytes += bytes;
    s->last_us = l->last_us;
    if (l->ragged)
        segment_cut(l);
    return 0;
}

/* Writes the parts of one event, all of them or nothing. */
static int write_line(struct eventlog *l, const struct iovec *parts, int n, size_t bytes,
                      struct err *e)
{
    char name[SEGMENT_NAME_MAX];
    for (;;) {
        struct iovec v[PARTS];
        memcpy(v, parts, (size_t)n * sizeof(*v));
        if (put_bytes(l, v, n, bytes) == 0)
            return 0;
        int errnum = errno;
        if (!make_room(l, errnum))
            return err_sys(e, errnum,
                           "cannot write event %llu to %s/%s; free some space, a later "
                           "event will report that this one is missing",
                           (unsigned long long)l->next, l->name,
                           segment_name(l, newest(l), name));
    }
}

/* The gap that precedes the next event after refused ones. */
static size_t refused_line(const struct eventlog *l, char *out, size_t size)
{
    size_t n = event_put_head(out, l->next, l->stamp);
    int r = snprintf(out + n, size - n,
                     ",\"observation\":\"gap\",\"content\":\"\",\"extras\":{"
                     "\"reason\":\"refused\",\"count\":%llu,\"refused_from\":%llu,"
                     "\"refused_to\":%llu}",
                     (unsigned long long)(l->refused - l->told),
                     (unsigned long long)l->told + 1, (unsigned long long)l->refused);
    n += (size_t)r;
    event_put_sum(out + n, crc_add(0, str_n(out, n)));
    return n + EVENT_SUM + 2;
}

static void move_clock(struct eventlog *l)
{
    int64_t now = wall_us();
    if (now > l->last_us) {
        event_stamp_move(l->stamp, l->last_us, now);
        l->last_us = now;
    }
}

/* Counts a refused event. Returns 0, for eventlog_append to return. */
static uint64_t refuse(struct eventlog *l)
{
    l->refused++;
    counts_save(l);
    return 0;
}

static int check_object(struct str o, struct err *e)
{
    if (o.n > LIMIT_EVENT_MAX)
        return err_set(e, ERR_LIMIT, "cannot keep an event of %zu bytes: the most is %d",
                       o.n, LIMIT_EVENT_MAX);
    if (o.n < 2 || o.p[0] != '{' || o.p[o.n - 1] != '}' || event_text(o) != o.n)
        return err_set(e, ERR_INVALID,
                       "cannot store an event that is not a JSON object on one line");
    return 0;
}

/* On a full disk one event may take a small part of the reserve, so that many can. */
static int check_left(struct eventlog *l, struct str o, struct err *e)
{
    uint64_t left = eventlog_left(l);
    if (o.n <= EVENT_SMALL || left == UINT64_MAX || o.n <= left / PARTS_OF_RESERVE)
        return 0;
    if (reserve_for(l, 1) == 0 && !l->tight) /* it has room again */
        return 0;
    return err_set(e, ERR_LIMIT,
                   "cannot keep an event of %zu bytes: the disk of %s is full, and the %llu "
                   "KiB that were reserved are for small ones; free some space",
                   o.n, l->name, (unsigned long long)left >> 10);
}

size_t eventlog_most(const struct eventlog *l)
{
    uint64_t left = eventlog_left(l);
    if (left == UINT64_MAX)
        return LIMIT_EVENT_MAX;
    uint64_t most = left / EVENTS_OF_RESERVE;
    if (most < EVENT_LEAST)
        return EVENT_LEAST;
    return most > EVENT_SMALL ? EVENT_SMALL : (size_t)most;
}

/* Sets the time, and begins a segment if the newest one is full. */
static int begin_event(struct eventlog *l, struct err *e)
{
    move_clock(l);
    if (newest(l)->bytes == 0 ||
        (newest(l)->bytes < l->roll_at && l->last_us < l->roll_us))
        return 0;
    return begin_segment(l, e);
}

/* Puts the head of an event; *members is what follows it. Returns the head's length. */
static size_t put_head(const struct eventlog *l, char head[EVENT_HEAD_MAX], uint64_t id,
                       struct str object, struct str *members)
{
    size_t skip = 1, n = event_put_head(head, id, l->stamp);
    while (object.p[skip] == ' ')
        skip++;
    if (object.p[skip] != '}')
        head[n++] = ',';
    *members = str_n(object.p + skip, object.n - 1 - skip);
    return n;
}

/* Notes an event of so many bytes that ends at the offset `end` of the newest segment. */
static void note_place(struct eventlog *l, uint64_t id, uint64_t end, size_t bytes)
{
    l->places[id % PLACES] = (struct event_place){
        .id = id, .segment = newest(l)->first, .offset = end - bytes};
}

static void appended(struct eventlog *l)
{
    sync_written(l);
    if (l->bytes > l->total_bytes)
        retain(l);
    if (!list_empty(&l->subs))
        task_defer(l->loop, &l->wake);
}

uint64_t eventlog_append(struct eventlog *l, struct str object, struct err *e)
{
    char gap[EVENT_HEAD_MAX + 192 + EVENT_SUM], head[EVENT_HEAD_MAX];
    char tail[EVENT_SUM + 2];
    struct iovec v[PARTS];
    int n = 0;
    if (check_object(object, e) < 0)
        return 0;
    if (check_left(l, object, e) < 0 || begin_event(l, e) < 0)
        return refuse(l);
    uint64_t id = l->next;
    if (l->refused > l->told) {
        v[n].iov_base = gap;
        v[n++].iov_len = refused_line(l, gap, sizeof(gap));
        id++;
    }
    struct str rest;
    v[n].iov_base = head;
    v[n].iov_len = put_head(l, head, id, object, &rest);
    uint32_t sum = crc_add(0, str_n(head, v[n].iov_len));
    event_put_sum(tail, crc_add(sum, rest));
    v[++n] = (struct iovec){(char *)(uintptr_t)rest.p, rest.n};
    v[++n] = (struct iovec){tail, sizeof(tail)};
    size_t bytes = 0;
    for (int i = 0; i <= n; i++)
        bytes += v[i].iov_len;
    if (write_line(l, v, n + 1, bytes, e) < 0)
        return refuse(l);
    l->next = id + 1;
    size_t own = v[n].iov_len + v[n - 1].iov_len + v[n - 2].iov_len;
    note_place(l, id, newest(l)->bytes, own);
    if (l->refused > l->told) {
        l->told = l->refused;
        counts_save(l);
    }
    appended(l);
    return id;
}

/* ---- several at once ---- */

/* Puts the whole line of an event, which has room for it. Returns its length. */
static size_t put_line(const struct eventlog *l, char *out, uint64_t id,
                       struct str object)
{
    struct str members;
    size_t n = put_head(l, out, id, object, &members);
    if (members.n > 0)
        memcpy(out + n, members.p, members.n);
    n += members.n;
    event_put_sum(out + n, crc_add(0, str_n(out, n)));
    return n + EVENT_SUM + 2;
}

/*
 * Whether they are valid and fit the scratch memory, no gap is to be written, and the
 * disk is not full.
 */
static bool may_join(const struct eventlog *l, const struct str *objects, unsigned n)
{
    size_t most = 0;
    for (unsigned i = 0; i < n; i++) {
        if (check_object(objects[i], NULL) < 0)
            return false;
        most += EVENT_HEAD_MAX + objects[i].n + EVENT_SUM + 2;
    }
    return n > 0 && most <= SCRATCH && l->refused == l->told && !l->tight;
}

uint64_t eventlog_append_all(struct eventlog *l, const struct str *objects, unsigned n)
{
    if (!may_join(l, objects, n) || begin_event(l, NULL) < 0)
        return 0;
    char *text = scratch_take();
    uint64_t id = l->next, at = newest(l)->bytes;
    size_t bytes = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t line = put_line(l, text + bytes, id + i, objects[i]);
        bytes += line;
        note_place(l, id + i, at + bytes, line);
    }
    struct iovec v = {text, bytes};
    bool written = put_bytes(l, &v, 1, bytes) == 0;
    scratch_give(text);
    if (!written) {
        memset(l->places, 0, sizeof(l->places));
        return 0;
    }
    l->next = id + n;
    appended(l);
    return id;
}

/* ---- subscribers ---- */

/*
 * A callback may even close the log: both lists are in the log, which is freed
 * at the end of the turn.
 */
static void on_wake(struct task *t)
{
    struct eventlog *l = container_of(t, struct eventlog, wake);
    while (!list_empty(&l->subs)) {
        struct list *n = l->subs.next;
        list_del(n);
        list_add_tail(&l->waking, n);
    }
    while (!list_empty(&l->waking)) {
        struct event_sub *s = list_first(&l->waking, struct event_sub, node);
        list_del(&s->node);
        list_add_tail(&l->subs, &s->node);
        s->wake(s);
    }
}

void eventlog_subscribe(struct eventlog *l, struct event_sub *s,
                        void (*wake)(struct event_sub *s))
{
    ASSERT(wake);
    s->wake = wake;
    list_add_tail(&l->subs, &s->node);
}

void eventlog_unsubscribe(struct event_sub *s) { list_del(&s->node); }

static void forget_all(struct list *subs)
{
    while (!list_empty(subs))
        list_del(subs->next);
}

/* ---- life ---- */

static void free_log(void *p)
{
    struct eventlog *l = p;
    file_close(l);
    free(l);
}

struct eventlog *eventlog_open(struct loop *loop, const struct eventlog_opts *o,
                               struct err *e)
{
    struct eventlog *l = xnew(struct eventlog);
    l->loop = loop;
    l->max_age_us = o->max_age_ms * 1000;
    l->sync = o->sync;
    l->drop_when_full = o->drop_when_full;
    list_init(&l->subs);
    list_init(&l->waking);
    task_init(&l->wake, on_wake);
    if (file_open(l, o, e) < 0) {
        free_log(l);
        return NULL;
    }
    l->own = l->next;
    retain(l);
    reserve_for(l, 0);
    sync_born(l);
    return l;
}

void eventlog_close(struct eventlog *l)
{
    if (!l)
        return;
    forget_all(&l->subs);
    forget_all(&l->waking);
    task_cancel(&l->wake);
    timer_stop(&l->age_timer);
    sync_close(l);
    loop_bury(l->loop, l, free_log);
}

int eventlog_memory_fd(const struct eventlog *l) { return l->dir < 0 ? l->file : -1; }

uint64_t eventlog_next(const struct eventlog *l) { return l->next; }

uint64_t eventlog_left(const struct eventlog *l)
{
    return l->tight ? reserve_left(l) : UINT64_MAX;
}

uint64_t eventlog_first(const struct eventlog *l)
{
    return l->seg[0].first < l->next ? l->seg[0].first : l->next;
}
