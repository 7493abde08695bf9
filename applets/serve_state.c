/* SPDX-License-Identifier: MIT */
/* Where od serve keeps output and state: a numbered folder of its own. */
#include "base/log.h"
#include "serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_SLOTS = 64 };

/* What outlives a server: the events of the one before are the next one's past. */
static const char kept[] = "events";

static void empty_dir(int at, const char *name, int depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct dirent *e;
    while ((e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            (depth == 0 && strcmp(e->d_name, kept) == 0))
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) < 0 && depth < 3) {
            empty_dir(dirfd(d), e->d_name, depth + 1);
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
    }
    closedir(d);
}

/* Each missing part is made; the last one must be ours. */
static int make_dirs(const char *path, mode_t mode, struct err *e)
{
    char part[200];
    size_t n = strlen(path);
    if (n >= sizeof(part) - 8)
        return err_set(e, ERR_LIMIT,
                       "the state directory's name is longer than %zu bytes",
                       sizeof(part) - 9);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, i == n ? mode : 0755) < 0 && errno != EEXIST)
            return err_sys(e, errno, "cannot make the state directory %s", part);
    }
    struct stat st;
    if (lstat(path, &st) < 0)
        return err_sys(e, errno, "cannot use the state directory %s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID,
                       "cannot use the state directory %s: it is no directory", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_DENIED,
                       "cannot use the state directory %s: it belongs to uid "
                       "%u; give another one with --state-dir",
                       path, (unsigned)st.st_uid);
    if ((st.st_mode & 0777) != mode && chmod(path, mode) < 0)
        return err_sys(e, errno, "cannot protect the state directory %s", path);
    return 0;
}

/*
 * The first numbered folder that no living server holds. Its lock is held by
 * the keeper for as long as it lives; what an earlier server left is removed.
 */
static int take_slot(struct serve_state *s, const char *base, struct err *e)
{
    mode_t mode = geteuid() == 0 ? 0711 : 0700; /* other users' shells pass through */
    char dir[160], path[200];
    if (strlen(base) > sizeof(dir) - 8)
        return err_set(e, ERR_LIMIT, "the state directory's name %s is too long", base);
    if (make_dirs(base, mode, e) < 0)
        return -1;
    for (int i = 0; i < STATE_SLOTS; i++) {
        snprintf(dir, sizeof(dir), "%.140s/%d", base, i);
        snprintf(path, sizeof(path), "%s.lock", dir);
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return err_sys(e, errno, "cannot write in the state directory %s", base);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            close(fd);
            continue;
        }
        empty_dir(AT_FDCWD, dir, 0);
        snprintf(path, sizeof(path), "%s/spool", dir);
        if (make_dirs(dir, mode, e) < 0 || make_dirs(path, 0700, e) < 0) {
            close(fd);
            return -1;
        }
        memcpy(s->dir, dir, strlen(dir) + 1);
        s->lock = fd;
        return 0;
    }
    return err_set(e, ERR_LIMIT, "%d servers use the state directory %s already",
                   STATE_SLOTS, base);
}

int serve_state_take(struct serve_state *s, const char *given, struct err *e)
{
    *s = (struct serve_state){.lock = -1};
    if (given)
        return take_slot(s, given, e);
    char list[8][256];
    int n = 0;
    unsigned uid = (unsigned)geteuid();
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const char *run = getenv("XDG_RUNTIME_DIR");
    if (uid == 0)
        snprintf(list[n++], 256, "/var/lib/od");
    if (xdg && *xdg == '/')
        snprintf(list[n++], 256, "%.200s/od", xdg);
    if (home && *home == '/' && home[1])
        snprintf(list[n++], 256, "%.200s/.local/state/od", home);
    snprintf(list[n++], 256, "/var/tmp/od-state-%u", uid);
    snprintf(list[n++], 256, "/tmp/od-state-%u", uid);
    if (run && *run == '/')
        snprintf(list[n++], 256, "%.200s/od-state", run);
    snprintf(list[n++], 256, "/run/od-state-%u", uid);
    snprintf(list[n++], 256, "/dev/shm/od-state-%u", uid);
    for (int i = 0; i < n; i++) {
        if (take_slot(s, list[i], e) == 0)
            return 0;
        log_debug("%s", e->text);
    }
    log_warn("no directory for state could be written; output is kept in memory only "
             "(the last one tried: %s)",
             e->text);
    s->dir[0] = 0;
    return 0;
}
