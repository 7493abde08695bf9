/* SPDX-License-Identifier: MIT */
/*
 * events write FOLDER COUNT [none|interval|always] | read FOLDER | seek FOLDER:
 * the event log without anything around it. Appends COUNT events of EVENT bytes
 * and prints how many a second, the longest one, and what memory grew by from
 * the thousandth to the last; or replays all to standard output and prints MB/s
 * there; or prints what a reader pays that begins anywhere.
 */
#include "common.h"

#include "eventlog/eventlog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVENT = 200, PIECE = 128 << 10, SEEKS = 2000 };

static struct eventlog *open_log(const char *dir, enum eventlog_sync sync)
{
    struct err e = ERR_INIT;
    struct eventlog_opts o = {.dir = dir,
                              .total_bytes = UINT64_C(1) << 33,
                              .sync = sync,
                              .segment_bytes = 4 << 20};
    double begin = now_us();
    struct eventlog *l = eventlog_open(loop_new(), &o, &e);
    if (!l)
        die("%s", e.text);
    fprintf(stderr, "open %.0f\n", now_us() - begin);
    return l;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        die("no /proc/self/statm");
    fclose(f);
    return pages * 4;
}

static void append_all(struct eventlog *l, int count)
{
    char object[EVENT + 1];
    struct err e = ERR_INIT;
    long before = 0;
    double longest = 0, begin = now_us(), last = begin;
    memset(object, 'x', EVENT);
    memcpy(object, "{\"content\":\"", 12);
    memcpy(object + EVENT - 2, "\"}", 2);
    for (int i = 0; i < count; i++) {
        if (eventlog_append(l, str_n(object, EVENT), &e) == 0)
            die("%s", e.text);
        double t = i % 16 == 0 ? now_us() : last;
        longest = t - last > longest ? t - last : longest;
        last = t;
        if (i == 1000)
            before = resident_kib();
    }
    printf("rate %.0f\nlongest %.0f\ngrown %ld\n", count / (now_us() - begin) * 1e6,
           longest, resident_kib() - before);
}

static void replay(struct eventlog *l)
{
    struct event_cursor c = {.next = 1};
    struct buf out = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    double all = 0, begin = now_us();
    long n, lines = 0;
    while ((n = eventlog_read(l, &c, &out, PIECE, &e)) > 0) {
        if (write(STDOUT_FILENO, out.p, out.n) != (ssize_t)out.n)
            die("write: %m");
        lines += n;
        all += (double)out.n;
        buf_reset(&out);
    }
    fprintf(stderr, "rate %.0f\nlines %ld\nresident %ld\n", all / (now_us() - begin),
            lines, resident_kib());
}

static void seek(struct eventlog *l)
{
    struct buf out = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    double us[SEEKS];
    for (int i = 0; i < SEEKS; i++) {
        struct event_cursor c = {.next = 1 + (uint64_t)i * 7919 % (eventlog_next(l) - 1)};
        double begin = now_us();
        if (eventlog_read(l, &c, &out, 1000, &e) <= 0)
            die("%s", e.text);
        us[i] = now_us() - begin;
        buf_reset(&out);
    }
    printf("seek %.1f\nseek_p99 %.1f\n", quantile(us, SEEKS, 0.5),
           quantile(us, SEEKS, 0.99));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage: events write FOLDER COUNT [SYNC] | read FOLDER | seek FOLDER");
    enum eventlog_sync sync = EVENTLOG_SYNC_NONE;
    if (argc > 4 && strcmp(argv[4], "interval") == 0)
        sync = EVENTLOG_SYNC_INTERVAL;
    if (argc > 4 && strcmp(argv[4], "always") == 0)
        sync = EVENTLOG_SYNC_ALWAYS;
    struct eventlog *l = open_log(argv[2], sync);
    if (argv[1][0] == 'w' && argc > 3)
        append_all(l, count_of(argv[3]));
    else if (argv[1][0] == 'r')
        replay(l);
    else
        seek(l);
    return 0;
}
