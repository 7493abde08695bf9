/* SPDX-License-Identifier: MIT */
/*
 * A log's bytes as anything may have left them: it opens, a reader gets every id
 * once and in order or in a gap, the same in pieces of any size and from any
 * place, appending goes on, and opening it again changes nothing. A byte of 0xff
 * in the input is where the next segment begins.
 */
#include "base/log.h"
#include "eventlog/eventlog.h"
#include "eventlog/line.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PAGE = 4096, SEGMENTS = 4, OUT_MAX = 4 << 20 };

static struct loop *loop;

static struct eventlog *open_fd(int fd)
{
    struct err e = ERR_INIT;
    struct eventlog_opts o = {.memory_fd = fd};
    struct eventlog *l = eventlog_open(loop, &o, &e);
    BUG_ON(!l);
    return l;
}

/* The id of a line, and that it says what is missing since the one that was due. */
static uint64_t check_line(struct str s, uint64_t due)
{
    struct event_line line;
    char text[80];
    BUG_ON(event_line(s, &line) != EVENT_LINE_GOOD || line.n != s.n || line.id < due);
    if (line.id > due) {
        snprintf(text, sizeof(text), "\"extras\":{\"from\":%llu,\"to\":%llu,",
                 (unsigned long long)due, (unsigned long long)line.id);
        BUG_ON(str_find(s, str_of(text)) < 0);
    }
    return line.id;
}

/* All from an id on; returns the number of lines. */
static long read_from(struct eventlog *l, uint64_t next, size_t max, struct buf *out)
{
    struct event_cursor c = {.next = next};
    struct err e = ERR_INIT;
    long n, all = 0;
    while ((n = eventlog_read(l, &c, out, max, &e)) > 0)
        all += n;
    BUG_ON(n < 0 || c.next != (next > eventlog_next(l) ? next : eventlog_next(l)));
    return all;
}

static void check_all(struct eventlog *l, struct buf *whole)
{
    struct buf pieces = BUF_INIT(OUT_MAX);
    uint64_t due = 1, next = eventlog_next(l);
    long lines = read_from(l, 1, OUT_MAX / 2, whole);
    for (struct str rest = buf_str(whole); rest.n; lines--) {
        const char *end = memchr(rest.p, '\n', rest.n);
        BUG_ON(!end);
        size_t n = (size_t)(end - rest.p) + 1;
        due = check_line(str_sub(rest, 0, n), due) + 1;
        rest = str_sub(rest, n, rest.n);
    }
    BUG_ON(lines != 0 || due != next);
    for (size_t max = 1; max < 10000; max = max * 7 + 1) {
        buf_reset(&pieces);
        read_from(l, 1, max, &pieces);
        BUG_ON(!str_eq(buf_str(whole), buf_str(&pieces)));
    }
    for (uint64_t id = 2; id < next && id < 20; id++) {
        buf_reset(&pieces);
        read_from(l, id, 1000, &pieces);
        struct str rest = buf_str(&pieces), first = str_cut(&rest, '\n');
        check_line(str_n(first.p, first.n + 1), id);
    }
    buf_release(&pieces);
}

/* A log in memory whose segments hold the parts of the input. */
static int make(struct str s)
{
    char head[64];
    uint64_t stride;
    struct eventlog *l = open_fd(-1);
    int fd = dup(eventlog_memory_fd(l));
    eventlog_close(l);
    BUG_ON(pread(fd, head, sizeof(head), 0) != sizeof(head) ||
           str_to_u64(str_n(head + 22, 20), &stride) < 0);
    for (uint64_t i = 0; i < SEGMENTS && s.n; i++) {
        struct str part = str_cut(&s, (char)0xff);
        BUG_ON(pwrite(fd, part.p, part.n, (off_t)(PAGE + i * stride)) != (ssize_t)part.n);
    }
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf before = BUF_INIT(OUT_MAX), after = BUF_INIT(OUT_MAX);
    struct err e = ERR_INIT;
    if (n > 64 << 10)
        return 0;
    log_init("fuzz", 2, LOG_ERROR, false);
    loop = loop_new();
    int fd = make(str_n(data, n));
    struct eventlog *l = open_fd(dup(fd));
    check_all(l, &before);
    uint64_t next = eventlog_next(l);
    BUG_ON(eventlog_append(l, STR("{\"more\":1}"), &e) != next);
    buf_reset(&before);
    check_all(l, &before);
    eventlog_close(l);

    l = open_fd(fd);
    BUG_ON(eventlog_next(l) != next + 1);
    check_all(l, &after);
    BUG_ON(!str_eq(buf_str(&before), buf_str(&after)));
    eventlog_close(l);
    loop_free(loop);
    buf_release(&before);
    buf_release(&after);
    return 0;
}
