/* SPDX-License-Identifier: MIT */
/* Caches that outlive containers. */
#include "setup/cachedir.h"

#include "engine/engine.h"
#include "engine/part.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_LEN = 400 };

static const char conf_head[] = "// Made by od serve --cache-dir.\n";
static const char conf_archives[] = "Dir::Cache::archives \"";

static int put_file(const char *path, struct str text)
{
    char temp[PATH_LEN + 32];
    snprintf(temp, sizeof(temp), "%.380s.%ld", path, (long)getpid());
    int fd = file_make(AT_FDCWD, temp, O_WRONLY | O_TRUNC, 0644);
    if (fd < 0)
        return -1;
    bool whole = write(fd, text.p, text.n) == (ssize_t)text.n;
    if (close(fd) == 0 && whole && rename(temp, path) == 0)
        return 0;
    unlink(temp);
    return -1;
}

/*
 * The lists of packages stay in the container: an old list does not fit a new image,
 * while a package file always fits its name.
 */
static void put_apt(const char *dir)
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
             "%s%s%s/apt/archives/\";\n"
             "APT::Keep-Downloaded-Packages \"true\";\n"
             "Binary::apt::APT::Keep-Downloaded-Packages \"true\";\n",
             conf_head, conf_archives, dir);
    snprintf(path, sizeof(path), "%s/apt.conf", dir);
    put_file(path, buf_str(&text));
    buf_release(&text);
}

int cachedir_prepare(const char *dir, struct err *e)
{
    if (strlen(dir) > 180)
        return err_set(e, ERR_LIMIT, "the name of the cache's folder is longer than 180");
    if (strchr(dir, '"'))
        return err_set(e, ERR_INVALID, "the cache's folder %s has a quote in its name",
                       dir);
    if (access(dir, W_OK | X_OK) < 0)
        return err_sys(e, errno, "cannot use the cache's folder %s", dir);
    put_apt(dir);
    return 0;
}

bool cachedir_leftover(const char *root, char *dir, size_t size)
{
    char text[1024], path[PATH_LEN];
    snprintf(path, sizeof(path), "%.100s%s", root, CACHEDIR_LEFTOVER);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    if (strncmp(text, conf_head, sizeof(conf_head) - 1) != 0)
        return false;
    char *from = strstr(text, conf_archives);
    char *end = from ? strchr(from + sizeof(conf_archives) - 1, '"') : NULL;
    if (!end)
        return false;
    *end = 0;
    snprintf(dir, size, "%s", from + sizeof(conf_archives) - 1);
    return access(dir, F_OK) < 0 && errno == ENOENT;
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

/* ---- as a part of the engine ---- */

static const struct option_row rows[] = {
    {.name = "cache-dir",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OD_CACHE_DIR",
     .member = "dir",
     .about = "keep there what pip, npm and apt download, and which plugins "
              "succeeded; other containers may use the same folder"},
    {.name = NULL},
};

/* Makes the folder, and its name absolute. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    const char *dir = option_text(given, "cache-dir");
    char full[PATH_MAX];
    if (!dir)
        return 0;
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make the cache's folder %s", dir);
    if (!realpath(dir, full))
        return err_sys(e, errno, "cannot use the cache's folder %s", dir);
    json_put_z(*own, "dir", full);
    return cachedir_prepare(full, e);
}

static const struct option_table options_cache = {
    .heading = "Cache", .section = "cache", .rows = rows, .prepare = prepare};

static void configure(struct engine *en, const struct json *options)
{
    struct str dir = json_str(json_get(options, "cache"), "dir", "");
    struct buf own = BUF_INIT(2048);
    if (dir.n < sizeof(en->cache_dir))
        memcpy(en->cache_dir, dir.p, dir.n + 1);
    cachedir_variables(en->cache_dir, en->uid, en->gid, &own);
    engine_env_add(en, buf_str(&own));
    buf_release(&own);
}

static void variables(const struct engine *en, uid_t uid, gid_t gid, struct buf *out)
{
    cachedir_variables(en->cache_dir, uid, gid, out);
}

const struct part part_cache = {
    .options = &options_cache, .configure = configure, .variables = variables};
