/* SPDX-License-Identifier: MIT */
/*
 * Rings: what is read is what was written at that offset, over the wrap, beside
 * gaps, and while the writer goes on. And where a new one is kept.
 */
#include "shell/spool.h"

#include "base/limits.h"
#include "base/log.h"
#include "engine/engine.h"

#include "t.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { CAP = 4096 };

/* Byte number `at` of every stream here; its period is no part of the ring. */
static char byte_at(uint64_t at) { return (char)(at % 251); }

/* A ring as the keeper leaves it when that many bytes were written. */
struct ring {
    int fd;
    struct keep_stream s;
};

/* "What is older than that is not to be believed." */
static void give_up(struct ring *r, uint64_t before)
{
    if (pwrite(r->fd, &before, sizeof(before), (off_t)r->s.cap) != sizeof(before))
        T_FAIL("pwrite: %s", strerror(errno));
}

static void write_up_to(struct ring *r, uint64_t end)
{
    if (end > r->s.cap)
        give_up(r, end - r->s.cap);
    for (; r->s.offset < end; r->s.offset++) {
        char c = byte_at(r->s.offset);
        if (pwrite(r->fd, &c, 1, (off_t)(r->s.offset % r->s.cap)) != 1)
            T_FAIL("pwrite: %s", strerror(errno));
    }
}

static struct ring ring_of(uint64_t end)
{
    struct err e = ERR_INIT;
    struct ring r = {.fd = spool_make(t_dir(), "ring", &e), .s = {.cap = CAP}};
    if (r.fd < 0)
        T_FAIL("%s", e.text);
    write_up_to(&r, end);
    return r;
}

static void add_gap(struct ring *r, uint64_t from, uint64_t to)
{
    r->s.gap[r->s.gaps].from = from;
    r->s.gap[r->s.gaps].to = to;
    r->s.gaps++;
}

/* One read, which must give exactly [begin, end). */
static void check_read(const struct ring *r, uint64_t from, size_t n, uint64_t begin,
                       uint64_t end)
{
    char *p = malloc(n ? n : 1);
    uint64_t at = from;
    size_t got = spool_read(r->fd, &r->s, &at, p, n);
    if (at != begin || got != end - begin)
        T_FAIL("%zu bytes at %llu: got %zu at %llu, not %llu at %llu", n,
               (unsigned long long)from, got, (unsigned long long)at,
               (unsigned long long)(end - begin), (unsigned long long)begin);
    for (size_t i = 0; i < got; i++)
        if (p[i] != byte_at(at + i))
            T_FAIL("byte %llu is wrong", (unsigned long long)(at + i));
    free(p);
}

TEST(an_empty_stream_has_nothing)
{
    struct ring r = ring_of(0);
    CHECK_INT(spool_start(&r.s), 0);
    check_read(&r, 0, 100, 0, 0);
}

TEST(before_the_wrap_all_is_there)
{
    struct ring r = ring_of(CAP);
    CHECK_INT(spool_start(&r.s), 0);
    check_read(&r, 0, CAP, 0, CAP);
    check_read(&r, 0, 1, 0, 1);
    check_read(&r, 0, 0, 0, 0);
    check_read(&r, CAP - 10, 100, CAP - 10, CAP);
    check_read(&r, CAP, 100, CAP, CAP);
}

TEST(reads_go_over_the_wrap)
{
    struct ring r = ring_of(CAP + 1000);
    CHECK_INT(spool_start(&r.s), 1000);
    check_read(&r, 0, CAP, 1000, CAP + 1000); /* raised to what is there */
    check_read(&r, 999, 1, 1000, 1001);
    check_read(&r, CAP - 5, 10, CAP - 5, CAP + 5);
    check_read(&r, CAP, 10, CAP, CAP + 10);
    check_read(&r, CAP + 990, 100, CAP + 990, CAP + 1000);

    struct ring far = ring_of(5 * CAP + 17);
    CHECK_INT(spool_start(&far.s), 4 * CAP + 17);
    check_read(&far, 0, 3 * CAP, 4 * CAP + 17, 5 * CAP + 17);
}

TEST(a_cursor_sees_every_byte_once)
{
    struct ring r = ring_of(0);
    uint64_t at = 0, seen = 0;
    char p[700];
    for (uint64_t end = 0; end < 10 * CAP; end += 613) {
        write_up_to(&r, end);
        size_t n;
        while ((n = spool_read(r.fd, &r.s, &at, p, sizeof(p))) > 0) {
            CHECK_INT(at, seen);
            for (size_t i = 0; i < n; i++)
                CHECK(p[i] == byte_at(at + i));
            at += n;
            seen = at;
        }
        CHECK_INT(at, end);
    }
}

TEST(a_gap_is_stepped_over_and_ends_a_read_before_it)
{
    struct ring r = ring_of(2000);
    add_gap(&r, 500, 700);
    add_gap(&r, 900, 1000);
    check_read(&r, 0, 5000, 0, 500);
    check_read(&r, 499, 5000, 499, 500);
    check_read(&r, 500, 5000, 700, 900);
    check_read(&r, 600, 10, 700, 710);
    check_read(&r, 699, 5000, 700, 900);
    check_read(&r, 700, 5000, 700, 900);
    check_read(&r, 950, 5000, 1000, 2000);
    check_read(&r, 1999, 5000, 1999, 2000);
}

TEST(gaps_that_touch_each_other_and_the_end)
{
    struct ring r = ring_of(1000);
    add_gap(&r, 100, 200);
    add_gap(&r, 200, 300);
    add_gap(&r, 900, 1000);
    check_read(&r, 100, 5000, 300, 900);
    check_read(&r, 900, 5000, 1000, 1000);
    check_read(&r, 950, 5000, 1000, 1000);
    check_read(&r, 1000, 5000, 1000, 1000);

    struct ring all = ring_of(1000);
    add_gap(&all, 0, 1000);
    check_read(&all, 0, 5000, 1000, 1000);
}

TEST(gaps_that_were_overwritten_matter_no_more)
{
    struct ring r = ring_of(3 * CAP);
    add_gap(&r, 10, 20);
    add_gap(&r, 2 * CAP - 100, 2 * CAP + 100);
    CHECK_INT(spool_start(&r.s), 2 * CAP);
    check_read(&r, 0, CAP, 2 * CAP + 100, 3 * CAP);
}

TEST(what_the_writer_gave_up_meanwhile_is_not_delivered)
{
    /* The record says CAP, but the writer is ahead of it by now. */
    struct ring r = ring_of(CAP);
    struct keep_stream before = r.s;
    write_up_to(&r, CAP + 600);
    r.s = before;
    give_up(&r, 1000);
    char p[CAP];
    uint64_t at = 0;
    size_t n = spool_read(r.fd, &r.s, &at, p, sizeof(p));
    CHECK(at >= 1000);
    CHECK_INT(n, CAP - at);
    for (size_t i = 0; i < n; i++)
        CHECK(p[i] == byte_at(at + i));
    /* What is younger is delivered as ever. */
    check_read(&r, CAP - 100, 10, CAP - 100, CAP - 90);

    /* All of it is gone: the end, as far as the record knows. */
    give_up(&r, 2 * CAP);
    check_read(&r, 0, 100, CAP, CAP);
}

TEST(a_reader_beside_a_writer_never_gets_wrong_bytes)
{
    struct ring r = ring_of(0);
    enum { TOTAL = 64 * CAP };
    int p[2];
    if (pipe(p) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    pid_t writer = t_fork();
    if (writer == 0) { /* tells its offset now and then, as the keeper does */
        close(p[0]);
        while (r.s.offset < TOTAL) {
            write_up_to(&r, r.s.offset + CAP / 8);
            if (r.s.offset % CAP == 0 && write(p[1], &r.s.offset, 8) != 8)
                _exit(1);
        }
        _exit(0);
    }
    close(p[1]);
    uint64_t at = 0, told;
    while (read(p[0], &told, sizeof(told)) == sizeof(told)) {
        r.s.offset = told;
        char bytes[1000];
        size_t n;
        while ((n = spool_read(r.fd, &r.s, &at, bytes, sizeof(bytes))) > 0) {
            CHECK(at + n <= told);
            for (size_t i = 0; i < n; i++)
                if (bytes[i] != byte_at(at + i))
                    T_FAIL("byte %llu is wrong", (unsigned long long)(at + i));
            at += n;
        }
    }
    CHECK_INT(t_reap(writer), 0);
    CHECK_INT(at, TOTAL);
}

TEST(the_file_is_private_and_begins_empty)
{
    struct err e = ERR_INIT;
    char path[400];
    struct stat st;
    snprintf(path, sizeof(path), "%s/out", t_dir());
    umask(0);
    int fd = spool_make(t_dir(), "out", &e);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, "old", 3), 3);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0600);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    int again = spool_make(t_dir(), "out", &e);
    CHECK(again >= 0);
    CHECK_INT(fstat(again, &st), 0);
    CHECK_INT(st.st_size, 0);

    spool_remove(t_dir(), "out");
    CHECK(access(path, F_OK) < 0);
    CHECK_INT(pwrite(again, "new", 3, 0), 3); /* the descriptor goes on */
}

TEST(a_spool_in_memory_has_no_file)
{
    struct err e = ERR_INIT;
    struct ring r = {.fd = spool_make(NULL, "memory", &e), .s = {.cap = CAP}};
    if (r.fd < 0)
        T_SKIP("no memfd here");
    CHECK(fcntl(r.fd, F_GETFD) & FD_CLOEXEC);
    write_up_to(&r, CAP + 100);
    check_read(&r, 0, CAP, 100, CAP + 100);
}

TEST(no_file_and_why)
{
    struct err e = ERR_INIT;
    char path[400];
    CHECK_INT(spool_make("/no/such/folder", "out", &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK(strstr(e.text, "/no/such/folder/out") != NULL);
    /* A link that somebody put there is not followed. */
    snprintf(path, sizeof(path), "%s/link", t_dir());
    CHECK_INT(symlink("/dev/null", path), 0);
    CHECK_INT(spool_make(t_dir(), "link", &e), -1);
}

/* ---- where a new one is kept ---- */

/* What is asked for, and which of both it became. */
static uint64_t bytes;
static char new_text[200]; /* the error, or where it is: "file BYTES", "memory BYTES" */
static const char *state_dir;

static int new_spool(void)
{
    struct err e = ERR_INIT;
    static struct engine en;
    char link[64] = "", path[64];
    snprintf(en.state_dir, sizeof(en.state_dir), "%s", state_dir);
    bytes = LIMIT_SPOOL_MAX;
    int fd = spool_new(&en, "out", &bytes, &e);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd >= 0 && readlink(path, link, sizeof(link) - 1) < 0)
        T_FAIL("readlink: %s", strerror(errno));
    snprintf(new_text, sizeof(new_text), "%.199s",
             fd < 0                             ? e.text
             : strncmp(link, "/memfd:", 7) == 0 ? "memory"
                                                : "file");
    return fd;
}

static void try_new_spool(void)
{
    log_init("spool", 2, LOG_WARN, false);
    new_spool();
    fprintf(stderr, "%s %llu\n", new_text, (unsigned long long)bytes);
}

/* What was logged, then where the spool is and its bytes. */
static const char *said_of_new_spool(const char *dir)
{
    static char text[2000];
    state_dir = dir;
    CHECK_INT(t_stderr(try_new_spool, text, sizeof(text)), 0);
    return text;
}

TEST(a_new_spool_is_a_file_of_the_state_directory)
{
    char want[64], path[400];
    struct stat st;
    snprintf(want, sizeof(want), "file %d\n", LIMIT_SPOOL_MAX);
    CHECK_STR(said_of_new_spool(t_dir()), want);
    snprintf(path, sizeof(path), "%s/spool/out", t_dir());
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0600);
}

TEST(without_a_state_directory_a_new_spool_is_in_memory)
{
    char want[64];
    snprintf(want, sizeof(want), "memory %d\n", LIMIT_SPOOL_MEMORY);
    CHECK_STR(said_of_new_spool(""), want); /* which serve has said already */
    static struct engine en;
    struct err e = ERR_INIT;
    bytes = 1000;
    CHECK(spool_new(&en, "out", &bytes, &e) >= 0);
    CHECK_INT(bytes, 1000);
}

TEST(where_no_file_can_be_made_a_new_spool_is_in_memory)
{
    char path[400], want[64];
    snprintf(want, sizeof(want), "\nmemory %d\n", LIMIT_SPOOL_MEMORY);
    t_sh("touch spool");
    const char *said = said_of_new_spool(t_dir());
    snprintf(path, sizeof(path), "cannot make the output file %s/spool/out", t_dir());
    CHECK(strstr(said, path) && strstr(said, "; its output is kept in memory\n") &&
          strstr(said, want));
    /* The folder cannot be made either. */
    snprintf(path, sizeof(path), "%s/spool", t_dir());
    said = said_of_new_spool(path);
    CHECK(strstr(said, "cannot make ") && strstr(said, want));
}

TEST(on_a_full_disk_a_new_spool_is_in_memory)
{
    const char *disk = t_small_disk(48);
    char path[400], want[64];
    snprintf(path, sizeof(path), "%s/spool/out", disk);
    snprintf(want, sizeof(want), "\nmemory %d\n", LIMIT_SPOOL_MEMORY);
    const char *said = said_of_new_spool(disk);
    CHECK(strstr(said, "cannot reserve 64 KiB of the state directory for output: ") &&
          strstr(said, strerror(ENOSPC)) && strstr(said, want));
    CHECK(access(path, F_OK) < 0); /* nothing of it takes room there */

    log_init("spool", 2, LOG_ERROR, false);
    state_dir = disk;
    struct ring r = {.fd = new_spool(), .s = {.cap = CAP}};
    CHECK_STR(new_text, "memory");
    write_up_to(&r, CAP + 100);
    check_read(&r, 0, CAP, 100, CAP + 100);

    CHECK_INT(mount(NULL, disk, NULL, MS_REMOUNT, "size=1m"), 0);
    snprintf(want, sizeof(want), "file %d\n", LIMIT_SPOOL_MAX);
    CHECK_STR(said_of_new_spool(disk), want);
}

TEST(neither_a_file_nor_memory)
{
    int next = dup(STDERR_FILENO);
    struct rlimit all, none;
    close(next);
    log_init("spool", 2, LOG_ERROR, false);
    state_dir = t_dir();
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){(rlim_t)next, all.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_INT(new_spool(), -1);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &all), 0); /* who looks for leaks opens files */
    CHECK(strstr(new_text, "cannot keep output in memory: memfd_create: ") != NULL);
}

/* ---- the ends of a range ---- */

static void check_part(const struct buf *b, uint64_t from, size_t n)
{
    CHECK_INT(b->n, n);
    for (size_t i = 0; i < n && i < b->n; i++)
        if (b->p[i] != byte_at(from + i))
            T_FAIL("byte %zu is not that of offset %llu", i,
                   (unsigned long long)(from + i));
}

TEST(what_is_short_is_read_whole)
{
    struct ring r = ring_of(1000);
    struct spool_excerpt x;
    spool_excerpt(r.fd, &r.s, 100, 400, 100, 200, &x);
    check_part(&x.head, 100, 300);
    CHECK_INT(x.tail.n, 0);
    CHECK_INT(x.left_out.to, 0);
    CHECK_INT(x.ngone, 0);
    spool_excerpt_release(&x);
    spool_excerpt(r.fd, &r.s, 400, 400, 100, 200, &x);
    CHECK_INT(x.head.n + x.tail.n + x.ngone, 0);
    spool_excerpt_release(&x);
}

TEST(of_what_is_long_both_ends_are_read_and_no_more)
{
    struct ring r = ring_of(4000);
    struct spool_excerpt x;
    spool_excerpt(r.fd, &r.s, 100, 401, 100, 200, &x);
    check_part(&x.head, 100, 100);
    check_part(&x.tail, 201, 200);
    CHECK_INT(x.left_out.from, 200);
    CHECK_INT(x.left_out.to, 201);
    CHECK_INT(x.ngone, 0);
    spool_excerpt_release(&x);
}

TEST(what_an_excerpt_cannot_have_is_told)
{
    struct ring r = ring_of(3 * CAP);
    struct spool_excerpt x;
    spool_excerpt(r.fd, &r.s, 0, 3 * CAP, 100, 200, &x);
    CHECK_INT(x.head.n, 0);
    check_part(&x.tail, 3 * CAP - 200, 200);
    CHECK_INT(x.ngone, 1);
    CHECK_INT(x.gone[0].from, 0);
    CHECK_INT(x.gone[0].to, 100);
    CHECK_INT(x.left_out.from, 100);
    CHECK_INT(x.left_out.to, 3 * CAP - 200);
    spool_excerpt_release(&x);
    /* A head of which the beginning is overwritten, and a tail with a gap in it. */
    add_gap(&r, 3 * CAP - 50, 3 * CAP - 20);
    spool_excerpt(r.fd, &r.s, 2 * CAP - 60, 3 * CAP - 10, 100, 200, &x);
    check_part(&x.head, 2 * CAP, 40);
    CHECK_INT(x.tail.n, 170);
    CHECK_INT(x.ngone, 2);
    CHECK_INT(x.gone[0].from, 2 * CAP - 60);
    CHECK_INT(x.gone[0].to, 2 * CAP);
    CHECK_INT(x.gone[1].from, 3 * CAP - 50);
    CHECK_INT(x.gone[1].to, 3 * CAP - 20);
    spool_excerpt_release(&x);
}

TEST(an_excerpt_of_what_was_never_written)
{
    struct ring r = ring_of(100);
    struct spool_excerpt x;
    spool_excerpt(r.fd, &r.s, 50, 150, 100, 200, &x);
    check_part(&x.head, 50, 50);
    CHECK_INT(x.ngone, 1);
    CHECK_INT(x.gone[0].from, 100);
    CHECK_INT(x.gone[0].to, 150);
    spool_excerpt_release(&x);
}

T_MAIN
