/* SPDX-License-Identifier: MIT */
/*
 * Finding, testing and taking the server's socket.
 *
 * A socket file outlives its listener, so its existence means nothing: only a connect
 * distinguishes a live server from a dead one, and a dead one's name may be removed only
 * under the lock file (otherwise a slow server would remove the name that a quick one
 * has just bound). The lock file is never removed: processes that wait for it and later
 * ones would hold different locks.
 */
#include "base/buf.h"
#include "net/peer.h"
#include "net/sockpath_own.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_BACKLOG 128

/*
 * Makes the address of path. A path that does not fit is reached through a descriptor of
 * its directory, *dirfd, which the caller closes after use if it is not -1. Returns 0, or
 * -1 with errno.
 */
static int address(const char *path, struct sockaddr_un *a, socklen_t *len,
                   int *dirfd)
{
    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    *dirfd = -1;
    size_t n = strlen(path);
    if (sockpath_is_abstract(path)) {
        memcpy(a->sun_path + 1, path + 1, n - 1);
        *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
        return 0;
    }
    *len = sizeof(*a);
    if (n < sizeof(a->sun_path)) {
        memcpy(a->sun_path, path, n);
        return 0;
    }
    char dir[SOCKPATH_MAX];
    sockpath_dir(path, dir);
    *dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*dirfd < 0)
        return -1;
    int got = snprintf(a->sun_path, sizeof(a->sun_path), "/proc/self/fd/%d/%s",
                       *dirfd, strrchr(path, '/') + 1);
    if (got > 0 && (size_t)got < sizeof(a->sun_path))
        return 0;
    close(*dirfd);
    *dirfd = -1;
    errno = ENAMETOOLONG;
    return -1;
}

static int new_socket(int flags)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

/* Calls connect or bind. Returns 0, or -1 with errno. */
static int at_address(int fd, const char *path,
                      int (*call)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un a;
    socklen_t len;
    int dirfd;
    if (address(path, &a, &len, &dirfd) < 0)
        return -1;
    int ok = call(fd, (const struct sockaddr *)&a, len);
    int saved = errno;
    if (dirfd >= 0)
        close(dirfd);
    errno = saved;
    return ok;
}

/*
 * Checks that the private directories of s are the user's. Returns 0, or -1 with errno.
 */
static int check_place(const struct sockpath *s)
{
    char dir[SOCKPATH_MAX];
    if (s->place == 0)
        return 0;
    memcpy(dir, s->path, s->place);
    dir[s->place] = 0;
    if (places_check(dir) < 0)
        return -1;
    sockpath_dir(s->path, dir);
    return strlen(dir) > s->place ? places_check(dir) : 0;
}

int sockpath_at(const struct sockpath *s, pid_t *pid, struct err *e)
{
    if (check_place(s) < 0)
        return -1;
    int fd = new_socket(SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    if (at_address(fd, s->path, connect) == 0) {
        if (peer_check(fd, geteuid(), pid, e) == 0)
            return fd;
        errno = EACCES;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* Makes the error of a failed connection to the only place. */
static int refused(const char *path, int errnum, const struct err *why, struct err *e)
{
    struct stat st;
    if (why->code != ERR_NONE)
        return err_set(e, ERR_DENIED, "the server at %s is not ours to use: %s", path,
                       why->text);
    if (errnum == EACCES)
        return err_sys(e, errnum, "the server at %s is not ours to use", path);
    if (errnum == ECONNREFUSED && stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return err_set(e, ERR_INVALID, "cannot connect to %s: it is not a socket", path);
    if (errnum != ENOENT && errnum != ECONNREFUSED)
        return err_sys(e, errnum, "cannot connect to %s", path);
    return err_set(e, ERR_NOTFOUND, "no server is running at %s", path);
}

int sockpath_first(const struct sockpath *c, int n, struct sockpath_server *found,
                         struct err *e)
{
    struct err why = ERR_INIT;
    for (int i = 0; i < n; i++) {
        found->pid = 0;
        memcpy(found->path, c[i].path, sizeof(found->path));
        int fd = sockpath_at(&c[i], &found->pid, &why);
        if (fd >= 0)
            return fd;
        if (errno == EAGAIN)
            return err_set(e, ERR_BUSY, "the server at %s takes no connections now",
                           c[i].path);
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
            errno == ENAMETOOLONG)
            return err_sys(e, errno, "cannot connect to %s", c[i].path);
        /* An unusable place, or another user's, is only skipped. */
        if (n == 1)
            return refused(c[i].path, errno, &why, e);
    }
    memcpy(found->path, c[0].path, sizeof(found->path));
    return err_set(e, ERR_NOTFOUND, "no server is running (nobody at %s)", c[0].path);
}

/* pid: the server's; 0 if unknown. */
static int exists(const char *path, pid_t pid, struct err *e)
{
    if (pid == 0)
        return err_set(e, ERR_EXISTS, "a server is already running at %s", path);
    return err_set(e, ERR_EXISTS, "a server is already running at %s, as process %ld",
                   path, (long)pid);
}

/* Makes a directory that only the user can use, or restricts an existing one. */
static int make_private(const char *dir, struct err *e)
{
    if (places_make(dir) < 0)
        return err_sys(e, errno, "cannot make %s for the socket", dir);
    if (places_check(dir) < 0)
        return err_sys(e, errno, "cannot use %s for the socket", dir);
    if (chmod(dir, 0700) < 0)
        return err_sys(e, errno, "cannot close %s to others", dir);
    return 0;
}

/* Makes a missing directory; a private one is for the user alone. */
static int make_dir(const struct sockpath *s, struct err *e)
{
    char dir[SOCKPATH_MAX], place[SOCKPATH_MAX];
    sockpath_dir(s->path, dir);
    if (s->place == 0) {
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
            return err_sys(e, errno, "cannot make %s for the socket", dir);
        return 0;
    }
    memcpy(place, s->path, s->place);
    place[s->place] = 0;
    if (make_private(place, e) < 0)
        return -1;
    return strlen(dir) > s->place ? make_private(dir, e) : 0;
}

/*
 * Returns a descriptor, locked where the file system has locks, as some over a network do
 * not; -1 and sets *e.
 */
static int lock(const char *path, struct err *e)
{
    char file[SOCKPATH_MAX + sizeof(".lock")];
    if (!buf_fill(file, sizeof(file), "%s.lock", path))
        return err_set(e, ERR_INVALID, "the socket's path %.200s is too long", path);
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return err_sys(e, errno, "cannot make the lock %s", file);
    while (flock(fd, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP)
            break;
        err_sys(e, errno, "cannot lock %s", file);
        close(fd);
        return -1;
    }
    return fd;
}

/* Under the lock: checks that the name is free, and removes that of a dead server. */
static int free_name(const struct sockpath *s, struct err *e)
{
    struct stat st;
    if (lstat(s->path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(e, errno, "cannot look at %s", s->path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, ERR_INVALID, "%s exists and is not a socket", s->path);
    int fd = new_socket(SOCK_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot make a socket");
    int answered = at_address(fd, s->path, connect);
    int saved = errno;
    close(fd);
    if (answered == 0 || saved == EAGAIN)
        return exists(s->path, 0, e);
    if (saved != ECONNREFUSED)
        return err_sys(e, saved, "cannot tell whether %s is in use", s->path);
    if (unlink(s->path) < 0 && errno != ENOENT)
        return err_sys(e, errno, "cannot remove the stale socket %s", s->path);
    return 0;
}

static int bind_and_listen(const char *path, struct err *e)
{
    int fd = new_socket(0);
    if (fd < 0)
        return err_sys(e, errno, "cannot make a socket");
    /* The mode must be right from the beginning. */
    mode_t before = umask(0177);
    int bound = at_address(fd, path, bind);
    int saved = errno;
    umask(before);
    if (bound == 0 && listen(fd, LISTEN_BACKLOG) == 0)
        return fd;
    if (bound == 0) {
        saved = errno;
        sockpath_remove(path);
    }
    close(fd);
    if (saved == EADDRINUSE)
        return exists(path, 0, e);
    return err_sys(e, saved, "cannot listen at %s", path);
}

static int listen_at(const struct sockpath *s, struct err *e)
{
    if (sockpath_is_abstract(s->path))
        return bind_and_listen(s->path, e);
    if (make_dir(s, e) < 0)
        return -1;
    int held = lock(s->path, e);
    if (held < 0)
        return -1;
    int fd = free_name(s, e) < 0 ? -1 : bind_and_listen(s->path, e);
    close(held);
    return fd;
}

int sockpath_listen(const char *where, char *out, size_t size, struct err *e)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    struct sockpath_server found;
    struct err why = ERR_INIT;
    if (!e)
        e = &why;
    int n = sockpath_candidates(where, c, e);
    if (n < 0)
        return -1;
    /* A server of that name at a later place is this user's, too. */
    int live = sockpath_first(c, n, &found, e);
    if (live >= 0)
        close(live);
    if (live >= 0 || e->code == ERR_BUSY)
        return exists(found.path, found.pid, e);
    for (int i = 0; i < n; i++) {
        if (strlen(c[i].path) >= size)
            return err_set(e, ERR_INVALID, "the path %s is too long", c[i].path);
        int fd = listen_at(&c[i], e);
        if (fd >= 0)
            memcpy(out, c[i].path, strlen(c[i].path) + 1);
        if (fd >= 0 || e->code == ERR_EXISTS)
            return fd;
    }
    return -1;
}

void sockpath_remove(const char *path)
{
    if (!sockpath_is_abstract(path))
        unlink(path);
}

void sockpath_remove_left(const char *path)
{
    struct sockpath s = {.place = 0};
    struct err e = ERR_INIT;
    if (sockpath_is_abstract(path) || !buf_fill(s.path, sizeof(s.path), "%s", path))
        return;
    int held = lock(path, &e);
    if (held < 0)
        return;
    free_name(&s, &e);
    close(held);
}
