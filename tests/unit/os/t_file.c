/* SPDX-License-Identifier: MIT */
/* Making files of our own in a folder where somebody else has planted something. */
#include "os/file.h"

#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int dir = -1;

static void begin(void)
{
    dir = open(t_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(dir >= 0);
}

static void make(const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && file_write_all(fd, str_of(text)) == 0);
    close(fd);
}

static long size(const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, 0) < 0 ? -1 : (long)st.st_size;
}

static void refused(const char *name, int flags)
{
    errno = 0;
    CHECK_INT(file_make(dir, name, flags, 0600), -1);
    CHECK_INT(errno, EEXIST);
}

TEST(makes_and_takes_its_own)
{
    struct stat st;
    begin();
    int fd = file_make(dir, "new", O_WRONLY, 0640);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0640);
    CHECK_INT(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_ACCMODE), O_WRONLY);
    CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_INT(file_write_all(fd, STR("12345")), 0);
    close(fd);
    fd = file_make(dir, "new", O_RDWR, 0600);
    CHECK(fd >= 0);
    CHECK_INT(size("new"), 5);
    close(fd);
    fd = file_make(dir, "new", O_WRONLY | O_TRUNC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(size("new"), 0);
    close(fd);
    refused("new", O_WRONLY | O_EXCL);
    CHECK_INT(file_make(dir, "none/new", O_WRONLY, 0600), -1);
    CHECK_INT(errno, ENOENT);
}

TEST(refuses_what_was_planted)
{
    begin();
    make("victim", "kept");
    CHECK_INT(linkat(dir, "victim", dir, "second", 0), 0);
    CHECK_INT(symlinkat("victim", dir, "link"), 0);
    CHECK_INT(symlinkat("nothing", dir, "dangling"), 0);
    CHECK_INT(mkfifoat(dir, "pipe", 0600), 0);
    CHECK_INT(mkdirat(dir, "folder", 0700), 0);
    static const char *const planted[] = {"second", "link", "dangling", "pipe", "folder"};
    for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++) {
        refused(planted[i], O_WRONLY);
        refused(planted[i], O_RDWR | O_TRUNC);
    }
    CHECK_INT(size("victim"), 4);
    CHECK_INT(size("nothing"), -1);
}

TEST(refuses_the_file_of_another_user)
{
    begin();
    make("theirs", "kept");
    if (geteuid() != 0 || fchownat(dir, "theirs", 12345, -1, 0) < 0)
        T_SKIP("only root can give a file away");
    refused("theirs", O_WRONLY | O_TRUNC);
    CHECK_INT(size("theirs"), 4);
}

T_MAIN
