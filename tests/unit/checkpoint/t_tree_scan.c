/* SPDX-License-Identifier: MIT */
/* The scan of a tree: what a cache of stat records must not believe. */
#include "checkpoint/scan.h"

#include "t.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 300 };

/* The clock of this program, which is set back by so many seconds. */
static time_t set_back;
int clock_gettime(clockid_t id, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_REALTIME)
        now->tv_sec -= set_back;
    return rc;
}

static struct store *s;
static struct buf space = BUF_INIT(CONTENT_MOST);
static struct content_ref last;
static bool has_last;

/* Scans the folder `tree`, and returns what it has read. */
static uint64_t scan(void)
{
    struct err e = ERR_INIT;
    struct file_node root;
    const struct mapped none = {.at = INT64_MAX};
    struct tree_scan q = {.s = s, .last = has_last ? &last : NULL, .mapped = &none};
    q.root = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(q.root >= 0);
    if (scan_tree(&q, &root, &space, &e) < 0)
        T_FAIL("%s", e.text);
    close(q.root);
    last = root.content;
    has_last = true;
    CHECK_INT((long)q.gaps, 0);
    return q.read;
}

/* What the last scan has as the content of a file in `tree`. Returns whether it is racy.
 */
static bool kept(const char *name, struct buf *out)
{
    bool racy = false;
    struct err e = ERR_INIT;
    struct buf names = BUF_INIT(1 << 20);
    struct file_node x;
    CHECK_INT(content_get(s, &last, &names, &e), 0);
    struct str rest = buf_str(&names);
    while (entry_read(&rest, &x, NULL) > 0) {
        if (!str_eq(x.name, str_of(name)))
            continue;
        CHECK_INT(content_get(s, &x.content, out, &e), 0);
        racy = x.racy;
    }
    buf_release(&names);
    return racy;
}

static void begin(void)
{
    struct err e = ERR_INIT;
    has_last = false;
    CHECK_INT(chdir(t_dir()), 0);
    t_sh("rm -rf tree store; mkdir tree");
    has_last = false;
    s = store_open("store", true, &e);
    CHECK(s != NULL);
}

/* The same size and time of change by hand, within one tick of the kernel's clock. */
TEST(a_change_that_the_clock_does_not_show_is_seen)
{
    static const struct timespec times[2] = {{1000, 0}, {1000, 0}};
    char text[16];
    int racy = 0;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        struct buf b = BUF_INIT(64);
        int fd = open("tree/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        snprintf(text, sizeof(text), "%06d", i);
        CHECK_INT(pwrite(fd, text, 6, 0), 6);
        CHECK_INT(futimens(fd, times), 0);
        close(fd);
        scan();
        racy += kept("f", &b);
        CHECK(str_eq(buf_str(&b), str_of(text)));
        buf_release(&b);
    }
    /* Kernels whose clock for files is fine show all of this even without the mark. */
    CHECK(racy > 0);
    store_close(s);
}

/* Files then have times that are to come, and may get them again: all of them are read. */
TEST(a_clock_that_is_set_back_makes_files_racy)
{
    begin();
    t_sh("echo x >tree/f");
    while (scan() > 0)
        ;
    t_sh("rm tree/f; echo y >tree/f");
    set_back = 3600;
    for (int i = 0; i < 3; i++) {
        struct buf b = BUF_INIT(64);
        CHECK_INT((long)scan(), 1);
        CHECK(kept("f", &b));
        CHECK(str_eq(buf_str(&b), STR("y\n")));
        buf_release(&b);
    }
    set_back = 0;
    while (scan() > 0)
        ;
    CHECK_INT((long)scan(), 0);
    store_close(s);
}

TEST(an_old_file_is_not_read_again)
{
    begin();
    t_sh("echo x >tree/f");
    CHECK_INT((long)scan(), 1);
    /* Until the clock is past the grain: it is read as long as that may matter. */
    while (scan() > 0)
        ;
    CHECK_INT((long)scan(), 0);
    t_sh("chmod 600 tree/f");
    scan();
    t_sh("mv tree/f tree/g; echo y >tree/f; mv tree/g tree/f");
    struct buf b = BUF_INIT(64);
    scan();
    kept("f", &b);
    CHECK(str_eq(buf_str(&b), STR("x\n")));
    buf_release(&b);
    store_close(s);
}

T_MAIN
