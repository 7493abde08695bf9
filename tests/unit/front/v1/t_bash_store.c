/* SPDX-License-Identifier: MIT */
/* Events of commands: numbers, limits, and what a folder has after a restart. */
#include "front/v1/bash.h"

#include "t.h"

#include <dirent.h>

static char ids[400][BASH_ID + 1];

/* Adds event i: a command, with this many bytes of text. */
static uint64_t add(struct bash_store *s, unsigned i, size_t bytes)
{
    struct buf b = BUF_INIT(bytes + 100);
    snprintf(ids[i], sizeof(ids[i]), "%032x", i + 1);
    buf_addf(&b, "{\"id\":\"%s\",\"x\":\"", ids[i]);
    while (b.n + 2 < bytes)
        buf_addc(&b, 'x');
    buf_addz(&b, "\"}");
    uint64_t number = bash_store_add(s, BASH_COMMAND, bash_store_now(s), ids[i], ids[i],
                                     0, buf_str(&b));
    buf_release(&b);
    return number;
}

static bool there(const struct bash_store *s, unsigned i)
{
    uint64_t number;
    return bash_store_find(s, ids[i], &number);
}

static unsigned files(const char *dir)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

TEST(times_never_repeat)
{
    struct bash_store s;
    bash_store_open(&s, "");
    uint64_t last = bash_store_now(&s);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = bash_store_now(&s);
        CHECK(now > last);
        last = now;
    }
    bash_store_close(&s);
}

TEST(memory_is_bounded_and_the_oldest_go)
{
    struct bash_store s;
    bash_store_open(&s, "");
    for (unsigned i = 0; i < 40; i++)
        add(&s, i, 1 << 20);
    CHECK(s.in_memory <= LIMIT_EVENTS_MEMORY);
    CHECK(!there(&s, 0) && there(&s, 39));
    CHECK_INT(bash_store_end(&s), 40);
    CHECK_INT(bash_store_end(&s) - bash_store_first(&s), LIMIT_EVENTS_MEMORY >> 20);
    CHECK(bash_store_at(&s, 0) == NULL);
    CHECK_INT(bash_store_text(&s, 39).n, 1 << 20);
    CHECK(bash_store_text(&s, 3).p == NULL);
    CHECK_INT(bash_store_drop(&s, bash_store_end(&s)), LIMIT_EVENTS_MEMORY >> 20);
    CHECK(s.in_memory == 0 && s.bytes == 0);
    bash_store_close(&s);
}

TEST(numbers_stay_when_the_oldest_go)
{
    struct bash_store s;
    uint64_t number;
    bash_store_open(&s, "");
    for (unsigned i = 0; i < 300; i++)
        CHECK_INT(add(&s, i, 60), i);
    for (unsigned i = 0; i < 250; i++)
        CHECK_INT(bash_store_drop(&s, i + 1), 1);
    CHECK_INT(bash_store_first(&s), 250);
    CHECK(bash_store_find(&s, ids[299], &number));
    CHECK_INT(number, 299);
    CHECK(!there(&s, 249));
    CHECK_INT(add(&s, 300, 60), 300);
    CHECK_INT(bash_store_since(&s, bash_store_at(&s, 270)->us), 270);
    CHECK_INT(bash_store_since(&s, 0), 250);
    CHECK_INT(bash_store_since(&s, UINT64_MAX), 301);
    bash_store_close(&s);
}

TEST(a_folder_has_them_after_a_restart)
{
    char dir[300];
    struct bash_store s, again;
    snprintf(dir, sizeof(dir), "%s/a/b", t_dir());
    bash_store_open(&s, dir);
    CHECK_INT(files(dir), 0);
    for (unsigned i = 0; i < 30; i++)
        add(&s, i, 100);
    CHECK_INT(files(dir), 30);
    CHECK_INT(bash_store_drop(&s, 10), 10);
    CHECK_INT(files(dir), 20);
    bash_store_open(&again, dir);
    CHECK_INT(bash_store_end(&again) - bash_store_first(&again), 20);
    for (unsigned i = 10; i < 30; i++) {
        uint64_t number;
        CHECK(bash_store_find(&again, ids[i], &number));
        CHECK_INT(number, i - 10);
        CHECK_INT(bash_store_at(&again, number)->us, bash_store_at(&s, i)->us);
        CHECK(str_find(bash_store_text(&again, number), str_of(ids[i])) > 0);
    }
    CHECK(bash_store_now(&again) > bash_store_at(&s, 29)->us);
    bash_store_close(&s);
    bash_store_close(&again);
}

TEST(a_file_that_is_gone_or_torn_is_passed_over)
{
    char dir[300], path[600];
    struct bash_store s;
    struct buf name = BUF_INIT(200);
    snprintf(dir, sizeof(dir), "%s/a", t_dir());
    bash_store_open(&s, dir);
    for (unsigned i = 0; i < 3; i++)
        add(&s, i, 100);
    bash_store_close(&s);
    bash_store_open(&s, dir); /* what was written here is still in memory */
    bash_store_name(bash_store_at(&s, 1), &name);
    snprintf(path, sizeof(path), "%s/%s", dir, buf_z(&name));
    CHECK(truncate(path, 20) == 0);
    CHECK(bash_store_text(&s, 1).p == NULL);
    CHECK(!there(&s, 1) && there(&s, 2));
    CHECK_INT(bash_store_drop(&s, 3), 2);
    buf_release(&name);
    bash_store_close(&s);
}

TEST(times_as_text)
{
    char text[32];
    bash_time(1777714201000123, text);
    CHECK_STR(text, "2026-05-02T09:30:01.000123Z");
    bash_time(1777714201000000, text);
    CHECK_STR(text, "2026-05-02T09:30:01Z");
}

T_MAIN
