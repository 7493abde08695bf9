/* SPDX-License-Identifier: MIT */
/* Paths that may not leave a folder: links, `..`, and a folder that becomes a link. */
#include "file/root.h"

#include "t.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[400];

static const char *in(const char *name)
{
    static char path[800];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

static void tree(void)
{
    char to[800];
    snprintf(root, sizeof(root), "%s/app", t_dir());
    mkdir(root, 0755);
    snprintf(to, sizeof(to), "%s/app-evil", t_dir());
    mkdir(to, 0755);
    CHECK(symlink(to, in("evil")) == 0);
    mkdir(in("d"), 0755);
    mkdir(in("d/e"), 0755);
    CHECK(symlink("d/e", in("inner")) == 0);
    snprintf(to, sizeof(to), "%s/d", root);
    CHECK(symlink(to, in("absolute")) == 0);
    CHECK(symlink("/etc", in("out")) == 0);
    CHECK(symlink("../../etc", in("d/up")) == 0);
    CHECK(symlink("loop", in("loop")) == 0);
    CHECK(symlink(root, in("self")) == 0);
}

static void want(const char *path, const char *inside)
{
    printf("# %s\n", path);
    char out[PATH_MAX];
    struct err e = ERR_INIT;
    CHECK_INT(root_resolve(root, str_of(path), out, &e), 0);
    CHECK_STR(out, inside);
}

static void refused(const char *path, enum err_code code)
{
    printf("# %s\n", path);
    char out[PATH_MAX];
    struct err e = ERR_INIT;
    CHECK_INT(root_resolve(root, str_of(path), out, &e), -1);
    CHECK_INT(e.code, code);
}

TEST(resolve)
{
    tree();
    want("", "");
    want("/", "");
    want("./d//e/", "d/e");
    want("///d", "d");
    want("d/../d/e/..", "d");
    want("new/../d", "d");
    want("new/file", "new/file");
    want("inner/x", "d/e/x");
    want("inner/..", "d");
    want("absolute/e", "d/e");
    want("self/self/d", "d");
    refused("..", ERR_DENIED);
    refused("../app-evil", ERR_DENIED);
    refused("d/../../x", ERR_DENIED);
    refused("out", ERR_DENIED);
    refused("out/passwd", ERR_DENIED);
    refused("evil/x", ERR_DENIED);
    refused("d/up", ERR_DENIED);
    refused("loop", ERR_INVALID);
    char out[PATH_MAX];
    struct err e = ERR_INIT;
    CHECK_INT(root_resolve(root, STR("a\0b"), out, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(root_resolve("/nowhere/at/all", STR("a"), out, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK_INT(root_resolve("/", STR("/proc/../etc/passwd"), out, &e), 0);
    CHECK_STR(out, "etc/passwd");
}

TEST(enter)
{
    tree();
    const char *name;
    struct err e = ERR_INIT;
    struct stat st;
    char path[PATH_MAX] = "made/deep/file";
    CHECK_INT(root_enter(root, path, false, &name, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    int fd = root_enter(root, path, true, &name, &e);
    CHECK(fd >= 0);
    CHECK_STR(name, "file");
    CHECK(fstatat(fd, "../deep", &st, 0) == 0);
    close(fd);
    char top[PATH_MAX] = "";
    fd = root_enter(root, top, false, &name, &e);
    CHECK(fd >= 0);
    CHECK_STR(name, ".");
    close(fd);
    /* What was a folder when the path was resolved is a link now. */
    char swapped[PATH_MAX] = "out/passwd";
    CHECK_INT(root_enter(root, swapped, true, &name, &e), -1);
    CHECK_INT(e.code, ERR_DENIED);
}

T_MAIN
