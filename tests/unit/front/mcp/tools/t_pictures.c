/* SPDX-License-Identifier: MIT */
/* A picture's file is for who is to read it, or it is not there. */
#include "front/mcp/tools/pictures.h"

#include "t.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER = 4321 };

static char dir[100], path[200];

static void folder(mode_t mode)
{
    snprintf(dir, sizeof(dir), "/tmp/od-pictures-XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    CHECK_INT(chmod(dir, mode), 0);
    snprintf(path, sizeof(path), "%s/cell-1.png", dir);
}

static void gone(void)
{
    unlink(path);
    CHECK_INT(rmdir(dir), 0);
}

/* Can that user open it? */
static bool opens(uid_t uid)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgid(uid) == 0 && setuid(uid) == 0 && open(path, O_RDONLY) >= 0 ? 0 : 1);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return status == 0;
}

TEST(it_is_for_us)
{
    struct picture_reader us = {.other = false};
    struct stat st;
    folder(0700);
    CHECK(picture_write(path, STR("bytes"), &us));
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    CHECK_INT(st.st_size, 5);
    gone();
}

TEST(it_is_for_another_user)
{
    struct picture_reader other = {true, OTHER, OTHER};
    if (geteuid() != 0)
        return; /* only root has others */
    folder(0711);
    CHECK(picture_write(path, STR("bytes"), &other));
    CHECK(opens(OTHER));
    CHECK(!opens(OTHER + 1));
    gone();
}

TEST(who_cannot_reach_it_gets_none)
{
    struct picture_reader other = {true, OTHER, OTHER};
    struct stat st;
    folder(0700);
    CHECK(!picture_write(path, STR("bytes"), &other));
    CHECK(stat(path, &st) < 0);
    gone();
}

TEST(a_link_in_its_place_is_not_followed)
{
    struct picture_reader us = {.other = false};
    folder(0700);
    CHECK_INT(symlink("/tmp/od-pictures-elsewhere", path), 0);
    CHECK(!picture_write(path, STR("bytes"), &us));
    CHECK(access("/tmp/od-pictures-elsewhere", F_OK) < 0);
    gone();
}

T_MAIN
