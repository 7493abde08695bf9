/* SPDX-License-Identifier: MIT */
/*
 * The event log: every id once and in order, whatever was cut, damaged, killed,
 * dropped or refused. The system calls that can fail are these here, so that
 * they fail when a case says so; so is the clock.
 */
#define T_LIMIT_S 60
#include "eventlog/eventlog.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include "t.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* ---- faults ---- */

static int64_t clock_shift_s;
static int *syncs;           /* calls of fdatasync; shared with helpers, as is SLOW */
#define SLOW (syncs[1])      /* they do not return */
static long write_left = -1; /* bytes that the disk still takes; -1: all */
static unsigned writes;      /* calls of pwritev */
static bool truncate_fails, sync_fails;

int clock_gettime(clockid_t id, struct timespec *t)
{
    int r = (int)syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += clock_shift_s;
    return r;
}

int fdatasync(int fd)
{
    if (syncs)
        ++*syncs;
    while (syncs && SLOW)
        t_pause_ms(1);
    if (sync_fails) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t size)
{
    if (truncate_fails) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_ftruncate, fd, size);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    size_t all = 0;
    writes++;
    if (write_left < 0)
        return syscall(SYS_pwritev, fd, v, n, (long)at, 0L);
    for (int i = 0; i < n && write_left > 0; i++) {
        size_t piece = v[i].iov_len;
        if (piece > (size_t)write_left)
            piece = (size_t)write_left;
        if (pwrite(fd, v[i].iov_base, piece, at + (off_t)all) != (ssize_t)piece)
            T_FAIL("pwrite: %s", strerror(errno));
        all += piece;
        write_left -= (long)piece;
    }
    if (all == 0) {
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)all;
}

/* ---- a log ---- */

static struct loop *loop;

static const char *path_of(const char *name)
{
    static char path[400];
    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    return path;
}

static const char *log_dir(void)
{
    static char path[400];
    snprintf(path, sizeof(path), "%s/events", t_dir());
    return path;
}

static struct eventlog *open_with(struct eventlog_opts o)
{
    struct err e = ERR_INIT;
    log_init("log", 2, LOG_ERROR, false);
    if (!loop)
        loop = loop_new();
    struct eventlog *l = eventlog_open(loop, &o, &e);
    if (!l)
        T_FAIL("%s", e.text);
    return l;
}

static struct eventlog *open_small(uint64_t segment, uint64_t total)
{
    return open_with((struct eventlog_opts){.dir = log_dir(),
                                            .memory_fd = -1,
                                            .segment_bytes = segment,
                                            .total_bytes = total});
}

static struct eventlog *open_log(void) { return open_small(0, 0); }

/* Frees what was closed. */
static void end_turn(void)
{
    loop_free(loop);
    loop = NULL;
}

static void close_log(struct eventlog *l)
{
    eventlog_close(l);
    end_turn();
}

/* An event that says its own id and has so many bytes more. */
static uint64_t append_more(struct eventlog *l, size_t more, struct err *e)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    buf_addf(&b, "{\"k\":%llu,\"more\":\"", (unsigned long long)eventlog_next(l));
    memset(buf_reserve(&b, more), 'm', more);
    buf_commit(&b, more);
    buf_addz(&b, "\"}");
    uint64_t id = eventlog_append(l, buf_str(&b), e);
    buf_release(&b);
    return id;
}

/* Lengths differ, so that lines begin anywhere. */
static void append_some(struct eventlog *l, uint64_t n)
{
    struct err e = ERR_INIT;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t want = eventlog_next(l);
        if (append_more(l, (size_t)(want * 37 % 101), &e) != want)
            T_FAIL("event %llu: %s", (unsigned long long)want, e.text);
    }
}

/* ---- what a reader gets, as text: "1..4 damage(5..5) 6..9" ---- */

struct story {
    struct buf text;
    uint64_t due, from; /* from: of the events since the last gap, 0: none */
    char stamp[27];
};

static void end_range(struct story *s)
{
    if (s->from)
        buf_addf(&s->text, "%s%llu..%llu", s->text.n ? " " : "",
                 (unsigned long long)s->from, (unsigned long long)s->due - 1);
    s->from = 0;
}

static void tell_gap(struct story *s, uint64_t id, const struct json *x)
{
    uint64_t from = (uint64_t)json_int(x, "from", 0), to = (uint64_t)json_int(x, "to", 0);
    const char *reason = json_str(x, "reason", "?").p;
    if (strcmp(reason, "refused") == 0) {
        CHECK_INT(id, s->due);
        s->from = s->from ? s->from : id;
        s->due++;
        end_range(s);
        from = (uint64_t)json_int(x, "refused_from", 0);
        to = (uint64_t)json_int(x, "refused_to", 0);
        CHECK_INT(json_int(x, "count", 0), to - from + 1);
    } else {
        end_range(s);
        CHECK_INT(from, s->due);
        CHECK_INT(id, to);
        s->due = to + 1;
    }
    CHECK(from <= to);
    buf_addf(&s->text, "%s%s(%llu..%llu)", s->text.n ? " " : "", reason,
             (unsigned long long)from, (unsigned long long)to);
}

static void tell_line(struct story *s, struct str line)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    if (!j)
        T_FAIL("%.*s: %s", STR_ARG(line), e.text);
    uint64_t id = (uint64_t)json_int(j, "id", 0);
    struct str stamp = json_str(j, "timestamp", "");
    CHECK_INT(stamp.n, 26);
    CHECK(memcmp(stamp.p, s->stamp, 26) >= 0);
    memcpy(s->stamp, stamp.p, 26);
    if (strcmp(json_str(j, "observation", "").p, "gap") == 0) {
        tell_gap(s, id, json_get(j, "extras"));
    } else {
        CHECK_INT(id, s->due);
        CHECK_INT(json_int(j, "k", (int64_t)id), id);
        s->from = s->from ? s->from : id;
        s->due++;
    }
    json_free(j);
}

static void tell(struct story *s, struct str bytes)
{
    CHECK(bytes.n == 0 || bytes.p[bytes.n - 1] == '\n');
    while (bytes.n)
        tell_line(s, str_cut(&bytes, '\n'));
}

/* From an id to the end, at most max bytes at a time. The text is malloc'ed. */
static char *story_of(struct eventlog *l, uint64_t from, size_t max)
{
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(LIMIT_EVENT_MAX * 2);
    struct event_cursor c = {.next = from};
    struct story s = {.text = BUF_INIT(1 << 20), .due = from};
    long n;
    while ((n = eventlog_read(l, &c, &out, max, &e)) > 0) {
        CHECK(n == 1 || out.n <= max);
        tell(&s, buf_str(&out));
        CHECK_INT(c.next, s.due);
        buf_reset(&out);
    }
    if (n < 0)
        T_FAIL("%s", e.text);
    CHECK_INT(out.n, 0);
    end_range(&s);
    buf_release(&out);
    return buf_take(&s.text);
}

static void check_story(struct eventlog *l, uint64_t from, size_t max, const char *want)
{
    char *got = story_of(l, from, max);
    CHECK_STR(got, want);
    free(got);
}

/* The same on a log that is opened for it. */
static void check_reopened(const char *want)
{
    struct eventlog *l = open_log();
    check_story(l, 1, 4096, want);
    close_log(l);
}

/* ---- files ---- */

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) < 0)
        T_FAIL("%s: %s", path, strerror(errno));
    char *p = malloc((size_t)st.st_size + 1);
    *n = fread(p, 1, (size_t)st.st_size, f);
    p[*n] = 0;
    fclose(f);
    return p;
}

/* A new file: one that is emptied and written again is written to the disk at once. */
static void spill(const char *path, const char *p, size_t n)
{
    unlink(path);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        T_FAIL("%s: %s", path, strerror(errno));
}

static const char *segment_path(uint64_t first)
{
    char name[64];
    snprintf(name, sizeof(name), "events/%020llu.jsonl", (unsigned long long)first);
    return path_of(name);
}

static off_t stored; /* bytes of the segments that were last counted */

static unsigned segments(void)
{
    unsigned n = 0;
    DIR *d = opendir(log_dir());
    stored = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (!strstr(e->d_name, ".jsonl"))
            continue;
        CHECK_INT(fstatat(dirfd(d), e->d_name, &st, 0), 0);
        stored += st.st_size;
        n++;
    }
    closedir(d);
    return n;
}

/* A log of one segment with n events, as bytes. */
static char *recorded(uint64_t n, size_t *size)
{
    struct eventlog *l = open_log();
    append_some(l, n);
    close_log(l);
    return slurp(segment_path(1), size);
}

static size_t line_at(const char *p, int number)
{
    const char *at = p;
    while (--number > 0)
        at = strchr(at, '\n') + 1;
    return (size_t)(at - p);
}

/* ---- appending and reading ---- */

TEST(a_new_log_is_empty)
{
    struct eventlog *l = open_log();
    CHECK_INT(eventlog_next(l), 1);
    CHECK_INT(eventlog_first(l), 1);
    CHECK_INT(eventlog_memory_fd(l), -1);
    check_story(l, 1, 4096, "");
    check_story(l, 7, 4096, "");
    close_log(l);
    check_reopened("");
}

TEST(a_line_is_an_id_a_time_and_the_object)
{
    struct err e = ERR_INIT;
    struct eventlog *l = open_log();
    CHECK_INT(eventlog_append(l, STR("{\"a\":\"\xc3\xa9\"}"), &e), 1);
    CHECK_INT(eventlog_append(l, STR("{}"), &e), 2);
    CHECK_INT(eventlog_append(l, STR("{ \"b\": [1, 2] }"), &e), 3);
    CHECK_INT(eventlog_append(l, STR("{  }"), &e), 4);
    close_log(l);
    size_t n;
    char *p = slurp(segment_path(1), &n);
    char *line[4] = {p};
    for (int i = 1; i < 4; i++) {
        line[i] = strchr(line[i - 1], '\n') + 1;
        line[i][-1] = 0;
    }
    CHECK(strncmp(line[0], "{\"id\":1,\"timestamp\":\"20", 23) == 0);
    static const char *const rest[] = {"\",\"a\":\"\xc3\xa9\"", "\"", "\",\"b\": [1, 2] ",
                                       "\""};
    for (int i = 0; i < 4; i++) { /* the sum is the last member, see eventlog/line.h */
        size_t text = strlen(rest[i]);
        CHECK(strncmp(line[i] + 47, rest[i], text) == 0);
        CHECK(strncmp(line[i] + 47 + text, ",\"sum\":\"", 8) == 0);
        CHECK_STR(line[i] + 47 + text + 16, i < 3 ? "\"}" : "\"}\n");
        struct json *j = json_parse(str_n(line[i], strcspn(line[i], "\n")), &e);
        CHECK(j != NULL);
        json_free(j);
    }
    struct stat st;
    CHECK_INT(stat(segment_path(1), &st), 0);
    CHECK_INT(st.st_mode & 07777, 0600);
    CHECK_INT(stat(log_dir(), &st), 0);
    CHECK_INT(st.st_mode & 07777, 0700);
    free(p);
}

TEST(what_is_no_object_on_one_line_is_the_callers_fault)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[1]",
                                      "{\n}",
                                      "{\"a\":1}\n",
                                      "{} ",
                                      " {}",
                                      "{\"a\":\"\t\"}",
                                      "{\"\x1f\":1}"};
    struct err e = ERR_INIT;
    struct eventlog *l = open_log();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        e.code = ERR_NONE;
        CHECK_INT(eventlog_append(l, str_of(bad[i]), &e), 0);
        CHECK_INT(e.code, ERR_INVALID);
    }
    CHECK_INT(eventlog_append(l, str_n("{\0}", 3), &e), 0);
    CHECK_INT(append_more(l, LIMIT_EVENT_MAX - 20, &e), 1);
    char *large = malloc(LIMIT_EVENT_MAX + 1);
    memset(large, ' ', LIMIT_EVENT_MAX + 1);
    large[0] = '{';
    large[LIMIT_EVENT_MAX] = '}';
    CHECK_INT(eventlog_append(l, str_n(large, LIMIT_EVENT_MAX + 1), &e), 0);
    CHECK_INT(e.code, ERR_LIMIT);
    large[LIMIT_EVENT_MAX - 1] = '}';
    CHECK_INT(eventlog_append(l, str_n(large, LIMIT_EVENT_MAX), &e), 2);
    free(large);
    append_some(l, 1);
    check_story(l, 1, 100, "1..3"); /* and nobody says that some were refused */
    close_log(l);
    check_reopened("1..3");
}

TEST(ids_go_on_when_it_is_opened_again)
{
    for (int i = 0; i < 20; i++) {
        struct eventlog *l = open_log();
        CHECK_INT(eventlog_next(l), 1 + 5 * i);
        append_some(l, 5);
        CHECK_INT(eventlog_first(l), 1);
        close_log(l);
    }
    check_reopened("1..100");
}

TEST(twenty_thousand_events_from_anywhere_in_any_pieces)
{
    struct eventlog *l = open_small(100000, 0);
    append_some(l, 20000);
    CHECK(segments() > 20);
    check_story(l, 1, 1, "1..20000");
    check_story(l, 1, 1000, "1..20000");
    check_story(l, 1, 1 << 20, "1..20000");
    for (uint64_t from = 1; from <= 20000; from += 89) {
        struct err e = ERR_INIT;
        struct buf out = BUF_INIT(1 << 16);
        struct event_cursor c = {.next = from};
        struct story s = {.text = BUF_INIT(1000), .due = from};
        CHECK(eventlog_read(l, &c, &out, 1 + from % 3000, &e) > 0);
        tell(&s, buf_str(&out));
        CHECK_INT(c.next, s.due);
        buf_release(&out);
        buf_release(&s.text);
    }
    close_log(l);
    l = open_small(100000, 0);
    check_story(l, 1, 65536, "1..20000");
    check_story(l, 19999, 65536, "19999..20000");
    close_log(l);
}

TEST(many_readers_of_old_segments_need_few_descriptors)
{
    struct eventlog *l = open_small(4096, 1 << 22);
    append_some(l, 3000);
    CHECK(segments() > 50);
    check_story(l, 1, 1000, "1..3000");
    unsigned open = 0;
    for (int fd = 3; fd < 200; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    CHECK(open < 20);
    struct rlimit few = {.rlim_cur = 3, .rlim_max = 3};
    for (int fd = 3; fd < 200; fd++)
        few.rlim_cur = fcntl(fd, F_GETFD) >= 0 ? (rlim_t)fd + 1 : few.rlim_cur;
    few.rlim_max = 200;
    close_log(l);

    /* With none left, a reader is told so and goes on later. */
    l = open_small(4096, 1 << 22);
    int last = dup(0);
    close(last);
    few.rlim_cur = (rlim_t)last;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(1 << 20);
    struct event_cursor c = {.next = 1};
    CHECK_INT(eventlog_read(l, &c, &out, 4096, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(out.n, 0);
    few.rlim_cur = 200;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    check_story(l, 1, 1000, "1..3000");
    buf_release(&out);
    close_log(l);
}

TEST(a_buffer_with_no_room_for_a_line)
{
    struct err e = ERR_INIT;
    struct eventlog *l = open_log();
    append_more(l, 10, &e);
    append_more(l, 5000, &e);
    append_more(l, 10, &e);
    struct buf out = BUF_INIT(3000);
    struct event_cursor c = {.next = 1};
    CHECK_INT(eventlog_read(l, &c, &out, 100000, &e), 1);
    CHECK_INT(c.next, 2);
    buf_reset(&out);
    CHECK_INT(eventlog_read(l, &c, &out, 100000, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(c.next, 2);
    CHECK_INT(out.n, 0);
    for (size_t room = 0; room < 60; room++) {
        struct buf tiny = BUF_INIT(room);
        struct event_cursor at = {.next = 1};
        CHECK_INT(eventlog_read(l, &at, &tiny, 100000, &e), -1);
        buf_release(&tiny);
    }
    struct buf large = BUF_INIT(1 << 20);
    CHECK_INT(eventlog_read(l, &c, &large, 0, &e), 1); /* one line at least */
    CHECK(large.n > 5000);
    CHECK_INT(eventlog_read(l, &c, &large, 100, &e), 1);
    CHECK_INT(eventlog_read(l, &c, &large, 100, &e), 0);
    buf_release(&large);
    buf_release(&out);
    close_log(l);
}

TEST(the_clock_goes_back_and_time_does_not)
{
    struct eventlog *l = open_log();
    append_some(l, 10);
    clock_shift_s = 86400 * 400;
    append_some(l, 10);
    clock_shift_s = -86400;
    append_some(l, 10);
    close_log(l);
    clock_shift_s = -1000000;
    l = open_log();
    append_some(l, 10);
    check_story(l, 1, 4096, "1..40"); /* which looks at every timestamp */
    clock_shift_s = INT64_C(86400) * 500;
    append_some(l, 1);
    check_story(l, 1, 4096, "1..41");
    close_log(l);

    /* A segment that has no event yet: the time is in the one before. */
    spill(segment_path(42), "", 0);
    clock_shift_s = 0;
    l = open_log();
    append_some(l, 2);
    check_story(l, 1, 4096, "1..43");
    close_log(l);
}

TEST(a_time_is_what_the_calendar_says)
{
    struct eventlog *l = open_log();
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    clock_shift_s = 1709210096 - now.tv_sec; /* 2024-02-29T12:34:56 */
    append_some(l, 1);
    clock_shift_s += 86400;
    append_some(l, 1);
    close_log(l);
    size_t n;
    char *p = slurp(segment_path(1), &n);
    CHECK(strstr(p, "\"2024-02-29T12:34:5") != NULL);
    CHECK(strstr(p, "\"2024-03-01T12:34:5") != NULL);
    free(p);
}

/* ---- torn ends ---- */

TEST(cut_at_every_byte_it_opens_with_all_whole_events)
{
    size_t size;
    char *whole = recorded(12, &size);
    for (size_t cut = 0; cut <= size; cut++) {
        spill(segment_path(1), whole, cut);
        int events = 0;
        size_t kept = 0;
        for (size_t i = 0; i < cut; i++) {
            if (whole[i] == '\n') {
                events++;
                kept = i + 1;
            }
        }
        struct eventlog *l = open_log();
        CHECK_INT(eventlog_next(l), events + 1);
        append_some(l, 1);
        char want[20];
        snprintf(want, sizeof(want), "1..%d", events + 1);
        check_story(l, 1, 300, want);
        close_log(l);
        size_t n;
        char *now = slurp(segment_path(1), &n);
        CHECK(n > kept && memcmp(now, whole, kept) == 0);
        CHECK(memchr(now + kept, '\n', n - kept) == now + n - 1);
        free(now);
        check_reopened(want);
    }
    free(whole);
}

TEST(ends_that_are_no_event_are_cut_off)
{
    static const char *const ends[] = {
        "x\n",
        "\n",
        "\n\n\n",
        "{}\n",
        "{\"id\":5}\n",
        "{\"id\":5,\"timestamp\":\"2026-11-21T10:00:00.000001\"\n",
        "{\"id\":05,\"timestamp\":\"2026-11-21T10:00:00.000001\"}\n",
        "{\"id\":6,\"timestamp\":\"2026-11-21T10:00:00.000001\"}\n",
        "{\"id\":4,\"timestamp\":\"2026-11-21T10:00:00.000001\"}\n",
        "{\"id\":99999999999999999999,\"timestamp\":\"2026-11-21T10:00:00.000001\"}\n",
    };
    size_t size;
    char *whole = recorded(4, &size), *longer = calloc(1, size + 100000);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        memcpy(longer, whole, size);
        memcpy(longer + size, ends[i], strlen(ends[i]));
        spill(segment_path(1), longer, size + strlen(ends[i]));
        check_reopened("1..4");
        struct stat st;
        CHECK_INT(stat(segment_path(1), &st), 0);
        CHECK_INT(st.st_size, size);
    }
    memset(longer + size, 0, 100000);
    for (size_t zeros = 1; zeros < 100000; zeros = zeros * 3 + 1) {
        spill(segment_path(1), longer, size + zeros);
        check_reopened("1..4");
    }
    /* Half an event and zeros, as a power cut leaves it. */
    memset(longer + size - 20, 0, 20);
    spill(segment_path(1), longer, size + 9000);
    struct eventlog *l = open_log();
    CHECK_INT(eventlog_next(l), 4);
    append_some(l, 1);
    check_story(l, 1, 4096, "1..4");
    close_log(l);
    free(longer);
    free(whole);
}

TEST(a_new_segment_that_was_never_written)
{
    struct eventlog *l = open_log();
    append_some(l, 9);
    close_log(l);
    spill(segment_path(10), "", 0);
    l = open_log();
    CHECK_INT(eventlog_next(l), 10);
    check_story(l, 1, 4096, "1..9");
    append_some(l, 3);
    check_story(l, 1, 4096, "1..12");
    close_log(l);
    spill(segment_path(13), "{\"id\":13,\"timest", 16);
    l = open_log();
    append_some(l, 1);
    check_story(l, 1, 4096, "1..13");
    close_log(l);
}

/* ---- damage ---- */

TEST(a_damaged_middle_is_a_gap)
{
    size_t size;
    char *p = recorded(20, &size), *whole = malloc(size);
    memcpy(whole, p, size);

    p[line_at(p, 5)] = 'x';
    spill(segment_path(1), p, size);
    check_reopened("1..4 damage(5..5) 6..20");

    memcpy(p, whole, size); /* zeros over some lines and their ends */
    memset(p + line_at(p, 7) + 30, 0, line_at(p, 10) - line_at(p, 7));
    spill(segment_path(1), p, size);
    check_reopened("1..6 damage(7..10) 11..20");

    memcpy(p, whole, size); /* another id */
    p[line_at(p, 3) + 6] = '4';
    spill(segment_path(1), p, size);
    check_reopened("1..2 damage(3..3) 4..20");

    memcpy(p, whole, size); /* an id far off, which no lost line can have had */
    memcpy(p + line_at(p, 12) + 6, "92", 2);
    spill(segment_path(1), p, size);
    check_reopened("1..11 damage(12..12) 13..20");

    memcpy(p, whole, size); /* two lines made one */
    p[line_at(p, 9) - 1] = '\t';
    spill(segment_path(1), p, size);
    check_reopened("1..7 damage(8..9) 10..20");

    memcpy(p, whole, size); /* the very first */
    p[0] = 0;
    spill(segment_path(1), p, size);
    check_reopened("damage(1..1) 2..20");

    /* It stays as it is, and events go on. */
    struct eventlog *l = open_log();
    append_some(l, 1);
    check_story(l, 1, 100, "damage(1..1) 2..21");
    for (uint64_t from = 2; from < 21; from++) {
        char want[20];
        snprintf(want, sizeof(want), "%llu..21", (unsigned long long)from);
        check_story(l, from, 100, want);
    }
    close_log(l);
    free(whole);
    free(p);
}

TEST(damage_at_every_byte_never_loses_order)
{
    size_t size;
    char *p = recorded(7, &size);
    struct eventlog *l = open_small(4096, 1 << 22);
    append_some(l, 100); /* another segment behind it */
    close_log(l);
    size_t whole_size;
    char *whole = slurp(segment_path(1), &whole_size);
    CHECK(whole_size > size);
    static const char with[] = {0, '\n', '\x1f'};
    for (size_t at = 0; at < size; at++) {
        char was = whole[at];
        whole[at] = with[at % sizeof(with)];
        spill(segment_path(1), whole, whole_size);
        whole[at] = was;
        l = open_log();
        CHECK_INT(eventlog_next(l), 108);
        /* Ids are looked at there; a gap has every one that is missing. */
        char *story = story_of(l, 1, 700);
        CHECK(strstr(story, "..107") != NULL);
        free(story);
        close_log(l);
    }
    free(whole);
    free(p);
}

/* All lines of a log from an id on, as readers get them; on the heap. */
static char *lines_of(struct eventlog *l, uint64_t from)
{
    struct buf out = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    struct event_cursor c = {.next = from};
    while (eventlog_read(l, &c, &out, 700, &e) > 0)
        ;
    char *text = strdup(buf_z(&out));
    buf_release(&out);
    return text;
}

/* Each line is one that was written, or a gap; and all of it JSON and UTF-8. */
static void check_lines(const char *got, const char *written, size_t at)
{
    struct err e = ERR_INIT;
    uint64_t due = 1;
    while (*got) {
        size_t n = strcspn(got, "\n") + 1;
        struct str line = str_n(got, n - 1);
        struct json *j = utf8_valid(line) ? json_parse(line, &e) : NULL;
        if (!j)
            T_FAIL("byte %zu: %.*s is no JSON", at, (int)n, got);
        uint64_t id = (uint64_t)json_int(j, "id", 0), from = id;
        struct json *gap = json_get(j, "extras");
        if (gap)
            from = (uint64_t)json_int(gap, "from", 0);
        if (from != due || (gap && (uint64_t)json_int(gap, "to", 0) != id))
            T_FAIL("byte %zu: %.*s, but %d was due", at, (int)n, got, (int)due);
        char *whole = strndup(got, n);
        if (!gap && !strstr(written, whole))
            T_FAIL("byte %zu: %s was never written", at, whole);
        free(whole);
        json_free(j);
        due = id + 1;
        got += n;
    }
    if (due != 108)
        T_FAIL("byte %zu: it ends before %d", at, (int)due);
}

TEST(a_flip_of_any_byte_is_a_gap_of_its_line)
{
    size_t size;
    free(recorded(7, &size));
    struct eventlog *l = open_small(4096, 1 << 22);
    append_some(l, 100); /* another segment behind it */
    char *written = lines_of(l, 1);
    close_log(l);
    size_t whole_size;
    char *whole = slurp(segment_path(1), &whole_size);
    static const unsigned char flips[] = {1, 4, 0x20, 0x80, 0xff};
    for (size_t at = 0; at < size; at++) {
        for (size_t i = 0; i < sizeof(flips); i++) {
            whole[at] ^= (char)flips[i];
            spill(segment_path(1), whole, whole_size);
            whole[at] ^= (char)flips[i];
            l = open_log();
            char *got = lines_of(l, 1);
            check_lines(got, written, at);
            /* One line is gone, or two when it was the newline between them. */
            char *gap = strstr(got, "\"reason\":\"damage\"");
            CHECK(gap != NULL && !strstr(gap + 1, "\"reason\":\"damage\""));
            uint64_t from = (uint64_t)strtol(strstr(got, "\"from\":") + 7, NULL, 10);
            uint64_t to = (uint64_t)strtol(strstr(got, "\"to\":") + 5, NULL, 10);
            CHECK(to - from <= (whole[at] == '\n'));
            free(got);
            /* From the middle: what was looked for by bisecting is there, or a gap. */
            got = lines_of(l, 5);
            CHECK(strstr(got, "{\"id\":5,") == got || from == 5 || to == 5);
            free(got);
            close_log(l);
        }
    }
    free(written);
    free(whole);
}

TEST(a_log_without_sums_stays_readable)
{
    static const char head[] = "{\"id\":%d,\"timestamp\":\"2026-11-21T10:00:00.%06d\"%s}\n";
    static const char *const rest[] = {
        "",
        ",\"a\":[1,{\"b\":null}]",
        ",\"a\":[1,{\"b\":nul}]",   /* no JSON */
        ",\"c\":\"\xc3\xa9\\u00e9\"",
        ",\"c\":\"\xc3\"",         /* no UTF-8 */
        ",\"sum\":\"a lot\"",
        ",\"sum\":\"00000000\"",    /* a sum, and not this line's */
        ",\"last\":1.5e-3",
    };
    char text[2000];
    size_t n = 0;
    free(recorded(1, &n));
    n = 0;
    for (int i = 0; i < 8; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, head, i + 1, i, rest[i]);
    spill(segment_path(1), text, n);
    check_reopened("1..2 damage(3..3) 4..4 damage(5..5) 6..6 damage(7..7) 8..8");
    /* What comes after it has sums, in the same file. */
    struct eventlog *l = open_log();
    append_some(l, 3);
    check_story(l, 6, 300, "6..6 damage(7..7) 8..11");
    close_log(l);
    check_reopened("1..2 damage(3..3) 4..4 damage(5..5) 6..6 damage(7..7) 8..11");
}

TEST(segments_that_are_missing_short_or_unreadable)
{
    struct eventlog *l = open_small(4096, 1 << 22);
    append_some(l, 200);
    close_log(l);
    uint64_t first[64], n = 0;
    for (uint64_t id = 1; id <= 200; id++)
        if (access(segment_path(id), F_OK) == 0)
            first[n++] = id;
    CHECK(n >= 5);
    char want[200];
    CHECK_INT(unlink(segment_path(first[1])), 0);
    snprintf(want, sizeof(want), "1..%d damage(%d..%d) %d..200", (int)first[1] - 1,
             (int)first[1], (int)first[2] - 1, (int)first[2]);
    check_reopened(want);

    /* Gone while it is open, and a folder in its place. */
    l = open_log();
    CHECK_INT(unlink(segment_path(first[2])), 0);
    CHECK_INT(mkdir(segment_path(first[2]), 0700), 0);
    snprintf(want, sizeof(want), "1..%d damage(%d..%d) %d..200", (int)first[1] - 1,
             (int)first[1], (int)first[3] - 1, (int)first[3]);
    char *got = story_of(l, 1, 5000);
    CHECK(strncmp(got, want, strchr(want, ' ') - want) == 0);
    CHECK(strstr(got, strrchr(want, ' ')) != NULL);
    free(got);
    CHECK_INT(rmdir(segment_path(first[2])), 0);
    close_log(l);
    check_reopened(want);

    size_t size;
    char *p = slurp(segment_path(first[3]), &size);
    spill(segment_path(first[3]), p, line_at(p, 3) + 11);
    snprintf(want, sizeof(want), "%d..%d damage(%d..%d) %d..200", (int)first[3],
             (int)first[3] + 1, (int)first[3] + 2, (int)first[4] - 1, (int)first[4]);
    l = open_log();
    check_story(l, first[3], 4096, want);
    close_log(l);
    free(p);
}

/* ---- retention ---- */

TEST(the_oldest_go_and_a_reader_is_told)
{
    struct eventlog *l = open_small(4096, 5 * 4096);
    struct event_cursor c = {.next = 1};
    struct buf out = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    append_some(l, 10);
    CHECK(eventlog_read(l, &c, &out, 500, &e) > 0);
    uint64_t had = c.next;
    for (int i = 0; i < 1000; i++) {
        append_some(l, 1);
        CHECK(segments() <= 6);
        CHECK(stored <= 5 * 4096);
    }
    uint64_t first = eventlog_first(l);
    CHECK(first > 500);
    CHECK(access(segment_path(first), F_OK) == 0);
    char want[100];
    snprintf(want, sizeof(want), "retention(1..%d) %d..1010", (int)first - 1, (int)first);
    check_story(l, 1, 4096, want);
    snprintf(want, sizeof(want), "retention(%d..%d) %d..1010", (int)first - 1,
             (int)first - 1, (int)first);
    check_story(l, first - 1, 100, want);
    snprintf(want, sizeof(want), "%d..1010", (int)first);
    check_story(l, first, 1, want);

    /* One that was in the middle of what is gone. */
    struct story s = {.text = BUF_INIT(1000), .due = had};
    buf_reset(&out);
    CHECK(eventlog_read(l, &c, &out, 1 << 19, &e) > 0);
    tell(&s, buf_str(&out));
    end_range(&s);
    snprintf(want, sizeof(want), "retention(%d..%d) %d..1010", (int)had, (int)first - 1,
             (int)first);
    CHECK_STR(buf_z(&s.text), want);
    buf_release(&s.text);
    buf_release(&out);
    close_log(l);

    l = open_small(4096, 5 * 4096);
    CHECK_INT(eventlog_next(l), 1011);
    CHECK_INT(eventlog_first(l), first);
    close_log(l);
    /* A smaller budget: the newest stays whatever it is. */
    l = open_small(4096, 1);
    CHECK_INT(segments(), 1);
    CHECK_INT(eventlog_next(l), 1011);
    append_some(l, 1);
    close_log(l);
}

TEST(what_was_acknowledged_goes_earlier)
{
    struct eventlog *l = open_small(4096, 20 * 4096);
    append_some(l, 500);
    CHECK_INT(eventlog_first(l), 1);
    unsigned before = segments();
    CHECK(before > 12 && before < 20);
    eventlog_trim(l, 100);
    uint64_t first = eventlog_first(l);
    CHECK(first > 1 && first <= 101);
    eventlog_trim(l, 50); /* never back */
    CHECK_INT(eventlog_first(l), first);
    eventlog_trim(l, 600);
    CHECK(segments() >= 9 && segments() <= 11); /* half of the budget is kept */
    eventlog_trim(l, UINT64_MAX);
    append_some(l, 1000);
    CHECK(segments() <= 11);
    close_log(l);
}

static struct timer watch;
static struct eventlog *watched;
static uint64_t watched_first;

static void look(struct timer *t)
{
    if (eventlog_first(watched) > watched_first)
        loop_stop(loop);
    else
        timer_begin(loop, t, 1, look);
}

TEST(age)
{
    struct eventlog_opts o = {
        .dir = log_dir(), .segment_bytes = 4096, .total_bytes = 1 << 22};
    struct eventlog *l = open_with(o);
    append_some(l, 200);
    close_log(l);
    unsigned all = segments();
    struct timespec old[2] = {{1000000, 0}, {1000000, 0}};
    CHECK_INT(utimensat(AT_FDCWD, segment_path(1), old, 0), 0);
    o.max_age_ms = 3600 * 1000;
    l = open_with(o);
    CHECK_INT(segments(), all - 1);
    CHECK(eventlog_first(l) > 1);
    check_story(l, 200, 4096, "200..200");

    /* A slow log has segments too, or nothing of it could ever go. */
    clock_shift_s = 1000;
    append_some(l, 1);
    CHECK_INT(segments(), all);
    close_log(l);

    /* While it is open: its own timer. */
    clock_shift_s = 2000;
    o.max_age_ms = 1000;
    l = open_with(o);
    CHECK_INT(segments(), 1);
    clock_shift_s = 3000;
    append_some(l, 1); /* too old already: a new segment */
    CHECK_INT(segments(), 1);
    append_some(l, 100);
    CHECK(segments() > 1);
    watched = l;
    watched_first = eventlog_first(l);
    timer_begin(loop, &watch, 1, look);
    CHECK_INT(loop_run(loop), 0);
    CHECK(eventlog_next(l) == 303);
    close_log(l);
}

/* ---- several at once ---- */

enum { MANY = 64 };

static char many_texts[MANY][256];
static struct str many[MANY];

/* Appends n events at once, each of which says its id. Returns the first id, or 0. */
static uint64_t append_many(struct eventlog *l, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int len = snprintf(many_texts[i], sizeof(many_texts[i]),
                           "{\"k\":%llu,\"more\":\"%.*s\"}",
                           (unsigned long long)eventlog_next(l) + i, (int)(i * 37 % 101),
                           "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
                           "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm");
        many[i] = str_n(many_texts[i], (size_t)len);
    }
    return eventlog_append_all(l, many, n);
}

TEST(several_events_are_one_write)
{
    struct eventlog *l = open_log();
    CHECK_INT(append_many(l, MANY), 1);
    CHECK_INT(writes, 1);
    CHECK_INT(eventlog_next(l), MANY + 1);
    append_some(l, 3);
    CHECK_INT(append_many(l, 1), 68);
    many[0] = STR("{}");
    many[1] = STR("{ }");
    many[2] = STR("{  \"k\":71}");
    CHECK_INT(eventlog_append_all(l, many, 3), 69);
    CHECK_INT(writes, 6);
    check_story(l, 1, 4096, "1..71");
    check_story(l, 30, 1, "30..71");
    for (uint64_t id = 1; id < eventlog_next(l); id++) { /* also by their places */
        struct event_cursor c = {.next = id};
        struct buf out = BUF_INIT(4096);
        char head[40];
        snprintf(head, sizeof(head), "{\"id\":%llu,", (unsigned long long)id);
        CHECK_INT(eventlog_read(l, &c, &out, 1, NULL), 1);
        CHECK(str_starts(buf_str(&out), str_of(head)));
        buf_release(&out);
    }
    close_log(l);
    check_reopened("1..71");
}

TEST(what_cannot_be_appended_at_once_leaves_nothing)
{
    static char big[60 << 10];
    struct err e = ERR_INIT;
    struct eventlog *l = open_log();
    append_some(l, 3);
    unsigned before = writes;
    CHECK_INT(append_many(l, 0), 0);
    append_many(l, 2);
    CHECK_INT(eventlog_next(l), 6);
    many[1] = STR("{\n}");
    CHECK_INT(eventlog_append_all(l, many, 2), 0);
    memset(big, 'x', sizeof(big));
    memcpy(big, "{\"a\":\"", 6);
    memcpy(big + sizeof(big) - 2, "\"}", 2);
    many[1] = str_n(big, sizeof(big));
    CHECK_INT(eventlog_append_all(l, many, 2), 6);
    many[0] = many[1];
    CHECK_INT(eventlog_append_all(l, many, 2), 0);
    CHECK_INT(writes, before + 2);
    write_left = 0;
    CHECK_INT(append_more(l, 1, &e), 0);
    write_left = -1;
    CHECK_INT(append_many(l, 2), 0); /* the gap first */
    append_some(l, 0);
    CHECK_INT(eventlog_append(l, STR("{}"), &e), 9);
    CHECK_INT(append_many(l, 2), 10);
    check_story(l, 8, 4096, "8..8 refused(1..1) 9..11");
    close_log(l);
}

TEST(several_events_fill_one_segment_after_another)
{
    struct eventlog *l = open_small(16384, 65536);
    for (uint64_t first = 1; first < 3000; first += MANY)
        CHECK_INT(append_many(l, MANY), first);
    CHECK(segments() >= 3);
    CHECK(eventlog_first(l) > 1000 && stored <= 65536 + MANY * 256);
    uint64_t first = eventlog_first(l), next = eventlog_next(l);
    close_log(l);
    l = open_small(16384, 65536);
    CHECK(eventlog_first(l) == first && eventlog_next(l) == next);
    char want[100];
    snprintf(want, sizeof(want), "%d..%d", (int)first, (int)next - 1);
    check_story(l, first, 4096, want);
    close_log(l);
}

/* ---- a full disk ---- */

TEST(several_events_of_which_not_all_fit_leave_nothing)
{
    struct eventlog *l = open_log();
    append_some(l, 3);
    size_t size, now;
    char *p = slurp(segment_path(1), &size);
    for (long left = 0; left < 400; left++) {
        write_left = left;
        CHECK_INT(append_many(l, 4), 0);
        char *q = slurp(segment_path(1), &now);
        CHECK_INT(now, size);
        CHECK(memcmp(p, q, size) == 0);
        free(q);
    }
    CHECK_INT(eventlog_next(l), 4);
    write_left = -1;
    check_story(l, 1, 4096, "1..3"); /* none counts as refused */
    CHECK_INT(append_many(l, 4), 4);
    truncate_fails = true;
    write_left = 150;
    CHECK_INT(append_many(l, 4), 0);
    write_left = -1;
    CHECK_INT(append_many(l, 1), 8);
    close_log(l); /* and the rest of the four is still there: a torn end */
    truncate_fails = false;
    check_reopened("1..8");
    free(p);
}

TEST(a_write_that_stops_at_any_byte_leaves_nothing)
{
    struct eventlog *l = open_log();
    append_some(l, 3);
    size_t size, now;
    char *p = slurp(segment_path(1), &size);
    struct err e = ERR_INIT;
    for (long left = 0; left < 100; left++) {
        write_left = left;
        CHECK_INT(append_more(l, 100, &e), 0);
        CHECK_INT(e.code, ERR_LIMIT);
        CHECK(strstr(e.text, "No space left") != NULL);
        char *q = slurp(segment_path(1), &now);
        CHECK_INT(now, size);
        CHECK(memcmp(p, q, size) == 0);
        free(q);
    }
    CHECK(strstr(e.text, log_dir()) != NULL);
    CHECK_INT(eventlog_next(l), 4);
    check_story(l, 1, 4096, "1..3");
    write_left = -1;
    append_some(l, 0);
    CHECK_INT(eventlog_append(l, STR("{\"k\":5}"), &e), 5);
    CHECK_INT(eventlog_append(l, STR("{\"k\":6}"), &e), 6);
    check_story(l, 1, 4096, "1..4 refused(1..100) 5..6");
    write_left = 120; /* takes the gap, but not the event: neither is there */
    CHECK_INT(append_more(l, 100, &e), 0);
    CHECK_INT(append_more(l, 100, &e), 0);
    write_left = 120;
    CHECK_INT(append_more(l, 100, &e), 0);
    write_left = -1;
    CHECK_INT(eventlog_append(l, STR("{\"k\":8}"), &e), 8);
    check_story(l, 1, 4096, "1..4 refused(1..100) 5..7 refused(101..103) 8..8");
    close_log(l);
    check_reopened("1..4 refused(1..100) 5..7 refused(101..103) 8..8");
    free(p);
}

TEST(what_cannot_be_cut_off_is_written_over)
{
    struct eventlog *l = open_log();
    struct err e = ERR_INIT;
    append_some(l, 3);
    truncate_fails = true;
    write_left = 900;
    CHECK_INT(append_more(l, 2000, &e), 0);
    write_left = -1;
    CHECK_INT(eventlog_append(l, STR("{}"), &e), 5);
    check_story(l, 1, 4096, "1..4 refused(1..1) 5..5");
    close_log(l); /* and the rest of it is still there: a torn end */
    check_reopened("1..4 refused(1..1) 5..5");

    l = open_log();
    write_left = 900;
    CHECK_INT(append_more(l, 2000, &e), 0);
    write_left = -1;
    truncate_fails = false;
    CHECK_INT(eventlog_append(l, STR("{}"), &e), 7);
    size_t n;
    char *p = slurp(segment_path(1), &n);
    CHECK_INT(strlen(p), n); /* cut at last */
    CHECK_INT(p[n - 1], '\n');
    CHECK(strstr(p, "mmmmmmmmmm") == NULL || strlen(p) < 1500);
    free(p);
    close_log(l);
}

TEST(refusals_are_remembered_by_the_next_worker)
{
    struct eventlog *l = open_log();
    struct err e = ERR_INIT;
    append_some(l, 2);
    write_left = 0;
    CHECK_INT(append_more(l, 1, &e), 0);
    CHECK_INT(append_more(l, 1, &e), 0);
    write_left = -1;
    close_log(l);
    l = open_log();
    CHECK_INT(eventlog_append(l, STR("{}"), &e), 4);
    write_left = 0;
    CHECK_INT(append_more(l, 1, &e), 0);
    write_left = -1;
    close_log(l);
    l = open_log();
    CHECK_INT(eventlog_append(l, STR("{}"), &e), 6);
    append_some(l, 1);
    close_log(l);
    check_reopened("1..3 refused(1..2) 4..5 refused(3..3) 6..7");
}

TEST(a_limit_on_the_length_of_files_begins_a_new_one)
{
    struct rlimit r = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
    struct err e = ERR_INIT;
    signal(SIGXFSZ, SIG_IGN);
    struct eventlog *l = open_log();
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &r), 0);
    struct buf b = BUF_INIT(1 << 20);
    buf_addz(&b, "{\"more\":\"");
    for (int i = 0; i < 3000; i++)
        buf_addc(&b, 'm');
    buf_addz(&b, "\"}");
    for (uint64_t i = 1; i <= 10; i++)
        CHECK_INT(eventlog_append(l, buf_str(&b), &e), i);
    CHECK_INT(segments(), 5);
    buf_truncate(&b, b.n - 2);
    for (int i = 0; i < 9000; i++)
        buf_addc(&b, 'm');
    buf_addz(&b, "\"}");
    CHECK_INT(eventlog_append(l, buf_str(&b), &e), 0);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(eventlog_append(l, buf_str(&b), &e), 0);
    CHECK_INT(segments(), 6);
    CHECK_INT(eventlog_append(l, STR("{}"), &e), 12);
    check_story(l, 1, 4096, "1..11 refused(1..2) 12..12");
    buf_release(&b);
    close_log(l);
}

/* A file system of that many bytes at the case's folder, of its own. */
static void mount_small(const char *size)
{
    if (!t_own_mounts() || mount("none", t_dir(), "tmpfs", 0, size) < 0)
        T_SKIP("no file system can be mounted here");
}

/* Another file takes what is left. */
static void fill_disk(void)
{
    static char zeros[4096];
    int fd = open(path_of("other"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(fd >= 0);
    while (write(fd, zeros, sizeof(zeros)) > 0)
        ;
    CHECK_INT(errno, ENOSPC);
    close(fd);
}

TEST(a_full_disk_refuses_and_counts)
{
    mount_small("size=256k");
    struct eventlog *l = open_small(16384, 0);
    struct err e = ERR_INIT;
    append_some(l, 100);
    fill_disk();
    unsigned refused = 0;
    uint64_t had = 0;
    for (int i = 0; i < 300; i++) {
        if (append_more(l, 100, &e) == 0)
            refused++;
        else
            CHECK_INT(refused, 0);
        had = refused == 1 && !had ? eventlog_next(l) : had;
    }
    CHECK(refused > 100);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(eventlog_next(l), had);
    close_log(l); /* it opens on a full disk too */
    l = open_small(16384, 0);
    CHECK_INT(eventlog_next(l), had);
    CHECK_INT(append_more(l, 5000, &e), 0);
    CHECK_INT(unlink(path_of("other")), 0);
    CHECK_INT(eventlog_append(l, STR("{}"), &e), had + 1);
    char want[100];
    snprintf(want, sizeof(want), "1..%d refused(1..%u) %d..%d", (int)had, refused + 1,
             (int)had + 1, (int)had + 1);
    check_story(l, 1, 4096, want);
    close_log(l);
}

TEST(a_full_disk_takes_old_events_where_that_is_allowed)
{
    mount_small("size=256k");
    struct eventlog *l = open_with((struct eventlog_opts){
        .dir = log_dir(), .segment_bytes = 16384, .drop_when_full = true});
    append_some(l, 3000); /* more than there is room for */
    CHECK(eventlog_first(l) > 1000);
    fill_disk();
    append_some(l, 50);
    close_log(l);

    /* Only what was acknowledged. */
    l = open_small(16384, 0);
    uint64_t first = eventlog_first(l), next = eventlog_next(l);
    fill_disk();
    struct err e = ERR_INIT;
    while (append_more(l, 1000, &e))
        ;
    CHECK_INT(eventlog_first(l), first);
    eventlog_trim(l, next - 1);
    CHECK(append_more(l, 1000, &e) > 0);
    CHECK(eventlog_first(l) > first && eventlog_first(l) < next);
    close_log(l);
}

/* ---- who may open it ---- */

static void keeper_client_open(int ready)
{
    struct eventlog *l = open_log();
    append_some(l, 3);
    pid_t child = t_fork();
    if (child == 0) { /* has all of its descriptors, and outlives it */
        pause();
        _exit(0);
    }
    if (write(ready, &child, sizeof(child)) != sizeof(child))
        _exit(1);
    pause();
}

TEST(two_processes_do_not_write_one_log)
{
    int p[2];
    pid_t child = 0;
    CHECK_INT(pipe(p), 0);
    pid_t pid = t_fork();
    if (pid == 0)
        keeper_client_open(p[1]);
    CHECK_INT(read(p[0], &child, sizeof(child)), sizeof(child));
    struct err e = ERR_INIT;
    struct eventlog_opts o = {.dir = log_dir()};
    loop = loop_new();
    CHECK(eventlog_open(loop, &o, &e) == NULL);
    CHECK_INT(e.code, ERR_BUSY);
    char number[20];
    snprintf(number, sizeof(number), "process %d", (int)pid);
    CHECK(strstr(e.text, number) != NULL);
    kill(pid, SIGKILL);
    t_reap(pid);
    struct eventlog *l = open_log();
    append_some(l, 1);
    check_story(l, 1, 4096, "1..4");
    close_log(l);
    kill(child, SIGKILL);
}

static void refused_to_open(const char *dir, enum err_code code, const char *word)
{
    struct err e = ERR_INIT;
    struct eventlog_opts o = {.dir = dir};
    if (!loop)
        loop = loop_new();
    CHECK(eventlog_open(loop, &o, &e) == NULL);
    CHECK_INT(e.code, code);
    if (!strstr(e.text, word) || !strstr(e.text, dir))
        T_FAIL("\"%s\" does not say %s and %s", e.text, word, dir);
}

TEST(a_folder_of_another_version_is_not_touched)
{
    CHECK_INT(mkdir(log_dir(), 0700), 0);
    spill(path_of("events/VERSION"), "od event log 2\nmore\n", 20);
    spill(segment_path(1), "binary", 6);
    refused_to_open(log_dir(), ERR_UNSUPPORTED, "another version (od event log 2, not");
    CHECK(access(path_of("events/lock"), F_OK) < 0);
    size_t n;
    char *p = slurp(segment_path(1), &n);
    CHECK_INT(n, 6);
    free(p);
    CHECK_INT(unlink(path_of("events/VERSION")), 0);
    refused_to_open(log_dir(), ERR_UNSUPPORTED, "no VERSION");
    CHECK_INT(unlink(segment_path(1)), 0);
    spill(path_of("events/thesis.txt"), "precious", 8);
    refused_to_open(log_dir(), ERR_UNSUPPORTED, "no VERSION");
    CHECK_INT(unlink(path_of("events/thesis.txt")), 0);
    spill(path_of("events/VERSION"), "", 0); /* a power cut at its birth */
    struct eventlog *l = open_log();
    append_some(l, 1);
    close_log(l);
    check_reopened("1..1");
    spill(path_of("events/VERSION"), "", 0);
    refused_to_open(log_dir(), ERR_UNSUPPORTED, "no VERSION");
    spill(segment_path(1), "", 0); /* nothing of it was on the disk */
    l = open_log();
    append_some(l, 1);
    close_log(l);
    check_reopened("1..1");
}

TEST(folders_that_cannot_be)
{
    refused_to_open("/no/such/place/events", ERR_NOTFOUND, "cannot keep events in");
    spill(path_of("file"), "", 0);
    refused_to_open(path_of("file"), ERR_INVALID, "cannot keep events in");
    CHECK_INT(symlink(t_dir(), path_of("link")), 0);
    refused_to_open(path_of("link"), ERR_INVALID, "cannot keep events in");
    struct eventlog *l = open_log();
    append_some(l, 1);
    close_log(l);
    CHECK_INT(unlink(segment_path(1)), 0);
    CHECK_INT(mkdir(segment_path(1), 0700), 0);
    refused_to_open(log_dir(), ERR_INVALID, "00000000000000000001.jsonl");
    end_turn();
}

static void look_for_sync(struct timer *t)
{
    siginfo_t child;
    /* Called, and the helper that called it was waited for. */
    if (*syncs > 0 && waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) < 0)
        loop_stop(loop);
    else
        timer_begin(loop, t, 1, look_for_sync);
}

static void wait_for_sync(void)
{
    timer_begin(loop, &watch, 1, look_for_sync);
    CHECK_INT(loop_run(loop), 0);
}

static void share_syncs(void)
{
    syncs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(syncs != MAP_FAILED);
}

TEST(synchronising)
{
    struct eventlog_opts o = {.dir = log_dir(), .sync = EVENTLOG_SYNC_NONE};
    share_syncs();
    struct eventlog *l = open_with(o);
    append_some(l, 10);
    close_log(l);
    CHECK_INT(*syncs, 0);
    o.sync = EVENTLOG_SYNC_ALWAYS;
    l = open_with(o);
    append_some(l, 10);
    CHECK_INT(*syncs, 10);
    close_log(l);
    *syncs = 0;
    o.sync = EVENTLOG_SYNC_INTERVAL;
    o.segment_bytes = 4096;
    o.total_bytes = 1 << 22;
    l = open_with(o);
    append_some(l, 100);
    CHECK_INT(*syncs, 0); /* not here, not now */
    CHECK(segments() > 3);
    uint64_t next = eventlog_next(l);
    wait_for_sync();
    append_some(l, 1); /* while the helper is there, or was */
    *syncs = 0;
    wait_for_sync();
    CHECK_INT(eventlog_next(l), next + 1);
    close_log(l);
    *syncs = 0;
    l = open_with(o);
    append_some(l, 1000); /* more segments than a helper takes */
    CHECK(*syncs > 10);
    close_log(l);
    check_reopened("1..1121");
}

static void stop_loop(struct timer *t)
{
    (void)t;
    loop_stop(loop);
}

TEST(a_slow_disk_keeps_nobody_waiting)
{
    share_syncs();
    struct eventlog *l = open_with(
        (struct eventlog_opts){.dir = log_dir(), .sync = EVENTLOG_SYNC_INTERVAL});
    SLOW = 1;
    append_some(l, 1);
    timer_begin(loop, &watch, 1500, stop_loop);
    CHECK_INT(loop_run(loop), 0); /* which goes on while the helper does not */
    CHECK_INT(*syncs, 1);
    append_some(l, 1);
    timer_begin(loop, &watch, 1500, stop_loop);
    CHECK_INT(loop_run(loop), 0);
    CHECK_INT(*syncs, 1); /* one helper at a time */
    *syncs = 0;
    SLOW = 0;
    wait_for_sync();
    CHECK_INT(*syncs, 2); /* VERSION was slow; folder and segment follow it */
    close_log(l);
}

static struct eventlog_opts bad_disk;

static void use_bad_disk(void)
{
    bad_disk = (struct eventlog_opts){.dir = log_dir(), .sync = EVENTLOG_SYNC_INTERVAL};
    struct eventlog *l = open_with(bad_disk);
    sync_fails = true;
    for (int i = 0; i < 2; i++) {
        append_some(l, 1);
        *syncs = 0;
        wait_for_sync();
    }
    append_some(l, 1);
    close_log(l);
}

TEST(a_disk_that_does_not_synchronise_is_said_once)
{
    char said[4000];
    share_syncs();
    CHECK_INT(t_stderr(use_bad_disk, said, sizeof(said)), 0);
    char *first = strstr(said, "may not outlive a power cut");
    CHECK(first && strstr(first, strerror(EIO)) != NULL);
    if (strstr(first + 20, "power cut"))
        T_FAIL("said twice: %s", said);
    check_reopened("1..3");
}

/* ---- in memory ---- */

static struct eventlog *open_memory(int fd, uint64_t total)
{
    return open_with((struct eventlog_opts){.memory_fd = fd, .total_bytes = total});
}

TEST(in_memory_it_lives_on_in_its_descriptor)
{
    int fd = -1;
    for (int i = 0; i < 10; i++) {
        struct eventlog *l = open_memory(fd, 0);
        CHECK_INT(eventlog_next(l), 1 + 50 * i);
        append_some(l, 50);
        fd = dup(eventlog_memory_fd(l));
        CHECK(fd >= 0);
        char want[20];
        snprintf(want, sizeof(want), "1..%d", 50 + 50 * i);
        check_story(l, 1, 4096, want);
        close_log(l);
    }
    close(fd);
}

TEST(memory_has_a_budget)
{
    struct eventlog *l = open_memory(-1, 64 << 10);
    struct stat st;
    append_some(l, 20000);
    CHECK_INT(fstat(eventlog_memory_fd(l), &st), 0);
    CHECK(st.st_blocks * 512 < 200 << 10);
    uint64_t first = eventlog_first(l);
    CHECK(first > 19000);
    char want[100];
    snprintf(want, sizeof(want), "retention(1..%d) %d..20000", (int)first - 1,
             (int)first);
    check_story(l, 1, 4096, want);
    int fd = dup(eventlog_memory_fd(l));
    close_log(l);
    l = open_memory(fd, 64 << 10);
    CHECK_INT(eventlog_first(l), first);
    check_story(l, 1, 4096, want);
    append_some(l, 20000);
    CHECK(eventlog_first(l) > 39000);
    CHECK_INT(eventlog_next(l), 40001);
    close_log(l);
}

/* The last byte of what is there is at *end: cut there, it is as a kill leaves it. */
TEST(memory_cut_at_every_byte)
{
    struct eventlog *l = open_memory(-1, 64 << 10);
    append_some(l, 28); /* one segment */
    int fd = dup(eventlog_memory_fd(l));
    close_log(l);
    struct stat st;
    CHECK_INT(fstat(fd, &st), 0);
    char *p = malloc((size_t)st.st_size);
    CHECK_INT(pread(fd, p, (size_t)st.st_size, 0), st.st_size);
    uint64_t had = 29;
    for (off_t cut = st.st_size - 1; cut >= 4096; cut--) {
        CHECK_INT(pwrite(fd, p, (size_t)cut, 0), cut);
        CHECK_INT(syscall(SYS_ftruncate, fd, cut), 0);
        had -= p[cut] == '\n';
        l = open_memory(dup(fd), 64 << 10);
        CHECK_INT(eventlog_next(l), had);
        append_some(l, 1);
        char want[20];
        snprintf(want, sizeof(want), "1..%d", (int)had);
        check_story(l, 1, 4096, want);
        close_log(l);
    }
    CHECK_INT(had, 1);
    free(p);
    close(fd);
}

TEST(memory_torn_at_the_beginning_of_a_segment)
{
    struct eventlog *l = open_memory(-1, 64 << 10);
    struct stat st = {0}, before;
    off_t size = 0;
    do { /* up to the first event of a second one, which is far behind */
        append_some(l, 1);
        before = st;
        CHECK_INT(fstat(eventlog_memory_fd(l), &st), 0);
        size = st.st_size - before.st_size;
    } while (before.st_size == 0 || size < 10000);
    uint64_t next = eventlog_next(l);
    int fd = dup(eventlog_memory_fd(l));
    close_log(l);
    CHECK_INT(syscall(SYS_ftruncate, fd, st.st_size - 30), 0);
    l = open_memory(fd, 64 << 10);
    CHECK_INT(eventlog_next(l), next - 1);
    append_some(l, 1000);
    CHECK(eventlog_first(l) > 1);
    char want[100];
    snprintf(want, sizeof(want), "%d..%d", (int)eventlog_first(l), (int)next + 998);
    check_story(l, eventlog_first(l), 4096, want);
    close_log(l);
}

TEST(memory_that_is_something_else)
{
    struct err e = ERR_INIT;
    int fd = open(path_of("file"), O_RDWR | O_CREAT, 0600);
    CHECK_INT(write(fd, "od event log 9\n", 15), 15);
    struct eventlog_opts o = {.memory_fd = fd};
    loop = loop_new();
    CHECK(eventlog_open(loop, &o, &e) == NULL);
    CHECK_INT(e.code, ERR_UNSUPPORTED);
    CHECK(fcntl(fd, F_GETFD) < 0); /* it was taken */
    end_turn();
}

/* ---- subscribers ---- */

struct reader {
    struct event_sub sub;
    struct eventlog *log;
    struct event_cursor c;
    int wakes;
    uint64_t seen;
    struct reader *victim;
};

static struct timer driver;
static int turns;

static void read_on(struct event_sub *s)
{
    struct reader *r = container_of(s, struct reader, sub);
    struct buf out = BUF_INIT(1 << 16);
    struct err e = ERR_INIT;
    long n;
    r->wakes++;
    while ((n = eventlog_read(r->log, &r->c, &out, 4096, &e)) > 0) {
        r->seen += (uint64_t)n;
        buf_reset(&out);
    }
    buf_release(&out);
    if (r->victim)
        eventlog_unsubscribe(&r->victim->sub);
}

static void drive(struct timer *t)
{
    if (turns-- == 0) {
        loop_stop(loop);
        return;
    }
    append_some(watched, 7);
    timer_begin(loop, t, 0, drive);
}

static void run_turns(struct eventlog *l, int n)
{
    watched = l;
    turns = n;
    timer_begin(loop, &driver, 0, drive);
    CHECK_INT(loop_run(loop), 0);
}

TEST(a_hundred_subscribers_once_a_turn)
{
    enum { READERS = 100, TURNS = 10 };
    static struct reader r[READERS];
    struct eventlog *l = open_log();
    for (int i = 0; i < READERS; i++) {
        r[i].log = l;
        r[i].c.next = 1;
        eventlog_subscribe(l, &r[i].sub, read_on);
    }
    run_turns(l, TURNS);
    for (int i = 0; i < READERS; i++) {
        CHECK_INT(r[i].wakes, TURNS);
        CHECK_INT(r[i].seen, 7 * TURNS);
    }
    /* Without appends nobody is woken. */
    turns = 0;
    timer_begin(loop, &driver, 5, drive);
    CHECK_INT(loop_run(loop), 0);
    CHECK_INT(r[0].wakes, TURNS);

    r[10].victim = &r[10];
    r[20].victim = &r[21]; /* not called any more */
    r[40].victim = &r[39]; /* was called already */
    run_turns(l, 1);
    CHECK_INT(r[10].wakes, TURNS + 1);
    CHECK_INT(r[21].wakes, TURNS);
    CHECK_INT(r[39].wakes, TURNS + 1);
    run_turns(l, 1);
    CHECK_INT(r[10].wakes, TURNS + 1);
    CHECK_INT(r[21].wakes, TURNS);
    CHECK_INT(r[39].wakes, TURNS + 1);
    CHECK_INT(r[99].wakes, TURNS + 2);
    eventlog_unsubscribe(&r[10].sub);
    close_log(l);
}

static void close_it(struct event_sub *s)
{
    struct reader *r = container_of(s, struct reader, sub);
    r->wakes++;
    eventlog_close(r->log);
    loop_stop(loop);
}

TEST(a_subscriber_may_close_the_log)
{
    struct eventlog *l = open_log();
    struct reader first = {.log = l}, closes = {.log = l}, later = {.log = l};
    eventlog_subscribe(l, &first.sub, read_on);
    eventlog_subscribe(l, &closes.sub, close_it);
    eventlog_subscribe(l, &later.sub, read_on);
    append_some(l, 1);
    CHECK_INT(loop_run(loop), 0);
    CHECK_INT(first.wakes, 1);
    CHECK_INT(closes.wakes, 1);
    CHECK_INT(later.wakes, 0);
    eventlog_unsubscribe(&later.sub); /* is fine after the log, too */
    end_turn();
}

/* ---- kills ---- */

/*
 * What a worker does: takes the log, sends what the reader has not got, appends,
 * sends, and so on, until it is killed.
 */
static void work(int to, uint64_t next)
{
    struct eventlog *l = open_small(20000, 1 << 30);
    struct event_cursor c = {.next = next};
    struct buf out = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    for (;;) {
        append_some(l, 1 + eventlog_next(l) % 4);
        while (eventlog_read(l, &c, &out, 3000, &e) > 0) {
            if (write(to, out.p, out.n) != (ssize_t)out.n)
                _exit(1);
            buf_reset(&out);
        }
    }
}

/* Takes whole lines from the pipe until so many are there, or its end. */
static void follow(int from, struct story *s, struct buf *part, uint64_t until)
{
    while (s->due < until) {
        char *to = buf_reserve(part, 65536);
        ssize_t n = read(from, to, 65536);
        if (n <= 0)
            return;
        buf_commit(part, (size_t)n);
        const char *end = memrchr(part->p, '\n', part->n);
        if (!end)
            continue;
        size_t whole = (size_t)(end - part->p) + 1;
        tell(s, str_n(part->p, whole));
        buf_consume(part, whole);
    }
}

TEST(a_hundred_kills_and_a_reader_misses_nothing)
{
    struct story s = {.text = BUF_INIT(1 << 16), .due = 1};
    struct buf part = BUF_INIT(1 << 20);
    for (int i = 0; i < 100; i++) {
        int p[2];
        CHECK_INT(pipe(p), 0);
        pid_t pid = t_fork();
        if (pid == 0) {
            close(p[0]);
            work(p[1], s.due);
        }
        close(p[1]);
        follow(p[0], &s, &part, s.due + 1 + (uint64_t)(i * 7919 % 400));
        kill(pid, SIGKILL);
        t_reap(pid);
        follow(p[0], &s, &part, UINT64_MAX); /* what was still under way */
        buf_reset(&part);                    /* half a line is no line */
        close(p[0]);
    }
    struct eventlog *l = open_log();
    CHECK(eventlog_next(l) >= s.due);
    char want[40];
    snprintf(want, sizeof(want), "1..%llu", (unsigned long long)eventlog_next(l) - 1);
    check_story(l, 1, 65536, want);
    close_log(l);
    end_range(&s);
    CHECK(strncmp(buf_z(&s.text), "1..", 3) == 0 && !strchr(buf_z(&s.text), ' '));
    buf_release(&part);
    buf_release(&s.text);
}

T_MAIN
