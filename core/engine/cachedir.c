/* SPDX-License-Identifier: MIT */
/* Caches that outlive containers. */
#include "engine/cachedir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_LEN = 400 };

static const char conf_head[] = "// Made by od serve --cache-dir.\n";

static int put_file(const char *path, struct str text)
{
    char temp[PATH_LEN + 32];
    snprintf(temp, sizeof(temp), "%.380s.%ld", path, (long)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -1;
    bool whole = write(fd, text.p, text.n) == (ssize_t)text.n;
    if (close(fd) == 0 && whole && rename(temp, path) == 0)
        return 0;
    unlink(temp);
    return -1;
}

/* Whose /etc goes when it goes: elsewhere nothing is left behind for others. */
static bool in_container(void)
{
    return getpid() == 1 || access("/.dockerenv", F_OK) == 0 ||
           access("/run/.containerenv", F_OK) == 0 || getenv("KUBERNETES_SERVICE_HOST");
}

/*
 * The lists of packages stay where they are: an old list beside a new image is
 * trouble, while a package file is what its name says.
 */
static void put_apt(const char *dir, const char *root)
{
    struct buf text = BUF_INIT(2048);
    char path[PATH_LEN];
    snprintf(path, sizeof(path), "%s/apt", dir);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/apt/archives", dir);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/apt/archives/partial", dir);
    mkdir(path, 0755);
    buf_addf(&text,
             "%s"
             "Dir::Cache::archives \"%s/apt/archives/\";\n"
             "APT::Keep-Downloaded-Packages \"true\";\n"
             "Binary::apt::APT::Keep-Downloaded-Packages \"true\";\n",
             conf_head, dir);
    snprintf(path, sizeof(path), "%s/apt.conf", dir);
    put_file(path, buf_str(&text));
    snprintf(path, sizeof(path), "%.100s/etc/apt/apt.conf.d", root);
    if ((*root || in_container()) && geteuid() == 0 && access(path, W_OK) == 0) {
        snprintf(path, sizeof(path), "%.100s/etc/apt/apt.conf.d/99od-cache", root);
        put_file(path, buf_str(&text));
    }
    buf_release(&text);
}

int cachedir_prepare(const char *dir, const char *root, struct err *e)
{
    if (strlen(dir) > 180)
        return err_set(e, ERR_LIMIT, "the name of the cache's folder is longer than 180");
    if (strchr(dir, '"'))
        return err_set(e, ERR_INVALID, "the cache's folder %s has a quote in its name",
                       dir);
    if (access(dir, W_OK | X_OK) < 0)
        return err_sys(e, errno, "cannot use the cache's folder %s", dir);
    put_apt(dir, root);
    return 0;
}

static void add_folder(const char *dir, const char *name, const char *variable, uid_t uid,
                       gid_t gid, struct buf *out)
{
    char path[PATH_LEN];
    snprintf(path, sizeof(path), "%s/%u/%s", dir, (unsigned)uid, name);
    if (mkdir(path, 0755) == 0 && uid != geteuid() && lchown(path, uid, gid) < 0)
        rmdir(path);
    buf_addf(out, "%s=%s", variable, path);
    buf_addc(out, 0);
}

void cachedir_variables(const char *dir, uid_t uid, gid_t gid, struct buf *out)
{
    char path[PATH_LEN];
    if (!dir[0])
        return;
    snprintf(path, sizeof(path), "%s/%u", dir, (unsigned)uid);
    if (mkdir(path, 0755) == 0 && uid != geteuid() && lchown(path, uid, gid) < 0)
        rmdir(path);
    add_folder(dir, "pip", "PIP_CACHE_DIR", uid, gid, out);
    add_folder(dir, "npm", "npm_config_cache", uid, gid, out);
    buf_addf(out, "APT_CONFIG=%s/apt.conf", dir);
    buf_addc(out, 0);
}
