/* SPDX-License-Identifier: MIT */
/* When output came: what is kept of it, over workers, and when there is too much. */
#include "shell/times.h"

#include "base/clock.h"
#include "engine/engine.h"

#include "t.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static struct engine *engine_of(const char *dir)
{
    static struct engine en;
    en = (struct engine){.spare = -1};
    snprintf(en.state_dir, sizeof(en.state_dir), "%s", dir);
    return &en;
}

static struct times opened(bool fresh, uint64_t at)
{
    struct times t;
    times_open(&t, engine_of(t_dir()), "times-x", fresh, at, 24, 80);
    CHECK(t.fd >= 0);
    return t;
}

/* The last entry whose offset is at most this one, as a reader finds it. */
static int64_t time_at(const struct times *t, uint64_t offset)
{
    struct times_entry e;
    int64_t ms = 0;
    uint64_t last = 0;
    for (unsigned i = 0; times_next(t->fd, &i, &e);) {
        if (e.offset < last)
            continue;
        last = e.offset;
        if (e.ms && e.offset <= offset)
            ms = e.ms;
    }
    return ms;
}

TEST(it_begins_with_a_time_and_a_size)
{
    struct times_entry e;
    unsigned i = 0;
    int64_t before = clock_wall_ms();
    struct times t = opened(true, 0);
    CHECK(times_next(t.fd, &i, &e));
    CHECK_INT(e.offset, 0);
    CHECK(e.ms >= before && e.rows == 0);
    CHECK(times_next(t.fd, &i, &e));
    CHECK_INT(e.rows, 24);
    CHECK_INT(e.cols, 80);
    CHECK_INT(e.ms, 0);
    CHECK(!times_next(t.fd, &i, &e));
    times_close(&t);
    times_close(&t);
    CHECK_INT(t.fd, -1);
}

TEST(output_has_the_time_at_which_it_was_seen_and_sizes_their_place)
{
    struct times_entry e;
    struct times t = opened(true, 0);
    unsigned i = 2;
    t.last_ms = 1;
    times_output(&t, 100, 0);
    t.last_ms -= TIMES_GAP_MS;
    times_output(&t, 300, 0);
    times_size(&t, 30, 90);
    times_output(&t, 300, 0); /* nothing new */
    CHECK_INT(t.n, 5);
    CHECK(times_next(t.fd, &i, &e) && e.offset == 0 && e.ms > 0);
    CHECK(times_next(t.fd, &i, &e) && e.offset == 100 && e.ms > 0);
    CHECK(times_next(t.fd, &i, &e) && e.offset == 300 && e.rows == 30 && e.cols == 90);
    times_close(&t);
}

TEST(output_that_comes_at_once_has_one_time)
{
    struct times t = opened(true, 0);
    times_output(&t, 1, 0);
    t.last_ms = clock_wall_ms();
    t.gap_ms = 1000000;
    for (uint64_t at = 2; at < 1000; at++)
        times_output(&t, at, 0);
    CHECK_INT(t.n, 3);
    t.last_ms = clock_wall_ms() + 5000000; /* the clock was set back */
    times_output(&t, 1000, 0);
    CHECK_INT(t.n, 4);
    times_close(&t);
}

TEST(the_next_worker_adds_to_it_and_a_new_spool_empties_it)
{
    struct times t = opened(true, 0);
    times_output(&t, 100, 0);
    times_close(&t);
    t = opened(false, 100);
    CHECK_INT(t.n, 3);
    times_output(&t, 200, 0);
    CHECK_INT(t.n, 4);
    times_close(&t);
    t = opened(true, 0);
    CHECK_INT(t.n, 2);
    times_close(&t);
}

TEST(a_file_that_is_not_there_begins_where_the_output_is)
{
    struct times_entry e;
    unsigned i = 0;
    struct times t;
    times_open(&t, engine_of(t_dir()), "times-y", false, 5000, 24, 80);
    CHECK(times_next(t.fd, &i, &e) && e.offset == 5000);
    times_close(&t);
}

TEST(too_many_entries_get_coarser_and_none_is_wrong)
{
    struct times t = opened(true, 0);
    struct times_entry e;
    unsigned sizes = 0, i = 0;
    uint64_t at = 0, last = 0;
    for (unsigned n = 0; n < 5 * TIMES_MAX; n++) {
        t.last_ms = 0; /* as if much time had passed */
        at += 10;
        times_output(&t, at, at > 100000 ? at - 100000 : 0);
        if (n % 1000 == 0)
            times_size(&t, 24, 80);
        CHECK(t.n <= TIMES_MAX);
    }
    CHECK(t.gap_ms > TIMES_GAP_MS);
    while (times_next(t.fd, &i, &e)) {
        CHECK(e.offset >= last);
        last = e.offset;
        sizes += e.rows > 0;
    }
    CHECK_INT(i, t.n);
    CHECK_INT(sizes, 1 + (5 * TIMES_MAX + 999) / 1000);
    CHECK(time_at(&t, at) > 0);
    CHECK_INT(last, at - 10);
    times_close(&t);
}

TEST(very_many_sizes_are_bounded_too)
{
    struct times t = opened(true, 0);
    for (int n = 0; n < 3 * TIMES_MAX; n++)
        times_size(&t, 1 + n % 50, 80);
    CHECK(t.n <= TIMES_MAX);
    times_close(&t);
}

TEST(a_disk_without_room_costs_times_only)
{
    struct rlimit all, few;
    struct times t = opened(true, 0);
    struct times_entry e;
    unsigned i = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &all);
    few = (struct rlimit){40, all.rlim_max}; /* two entries and a half */
    setrlimit(RLIMIT_FSIZE, &few);
    times_output(&t, 100, 0);
    CHECK_INT(t.n, 2);
    setrlimit(RLIMIT_FSIZE, &all);
    while (times_next(t.fd, &i, &e))
        ;
    CHECK_INT(i, 2);
    t.last_ms = 0;
    times_output(&t, 200, 0);
    CHECK_INT(t.n, 3);
    times_close(&t);
}

TEST(without_a_state_directory_it_is_in_memory)
{
    struct times t;
    times_open(&t, engine_of(""), "times-x", true, 0, 24, 80);
    times_output(&t, 100, 0);
    CHECK_INT(t.n, 3);
    times_close(&t);
}

TEST(without_a_file_nothing_happens)
{
    struct times t = {.fd = -1};
    struct times_entry e;
    unsigned i = 0;
    times_output(&t, 100, 0);
    times_size(&t, 1, 2);
    CHECK_INT(t.n, 0);
    CHECK(!times_next(-1, &i, &e));
}

T_MAIN
