/* SPDX-License-Identifier: MIT */
/*
 * Finding, testing and taking the server's socket.
 *
 * A socket file outlives its listener, so a file alone says nothing: only a
 * connect tells a live server from a dead one, and only under the lock file
 * may the dead one's name be removed (otherwise a slow starter would remove
 * the name that a quick one has just bound). The lock file stays: removing it
 * would part those who wait for it from those who come later.
 */
#include "net/sockpath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_BACKLOG 128

static bool is_abstract(const char *path)
{
    return path[0] == '@';
}

/* The directory of an absolute path that has a name after its last slash. */
static void dir_of(const char *path, char dir[SOCKPATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    memcpy(dir, path, n);
    dir[n] = '\0';
}

static int given_path(const char *given, struct sockpath *out, struct err *e)
{
    size_t n = strlen(given);
    if (n == 0 || given[n - 1] == '/' || (is_abstract(given) && n == 1))
        return err_set(e, ERR_INVALID, "\"%s\" is no name of a socket", given);
    size_t max = is_abstract(given) ? sizeof(((struct sockaddr_un *)0)->sun_path)
                                    : SOCKPATH_MAX - sizeof(".lock");
    bool relative = given[0] != '/' && !is_abstract(given);
    char cwd[SOCKPATH_MAX] = "";
    /* The server and what it starts do not stay in this directory. */
    if (relative && !getcwd(cwd, sizeof(cwd)))
        return err_sys(e, errno, "cannot tell where the socket %s is", given);
    if (strcmp(cwd, "/") == 0)
        cwd[0] = '\0';
    int len = snprintf(out->path, sizeof(out->path), "%s%s%s", cwd,
                       relative ? "/" : "", given);
    if (len < 0 || (size_t)len > max)
        return err_set(e, ERR_INVALID,
                       "the name of the socket is longer than %zu bytes: %s", max,
                       given);
    out->private_dir = false;
    return 0;
}

/* XDG_RUNTIME_DIR survives `su` and then is another user's. */
static bool runtime_dir_is_ours(const char *dir)
{
    struct stat st;
    return dir && dir[0] == '/' && strlen(dir) < SOCKPATH_MAX - 32 &&
           stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

int sockpath_candidates(const char *given,
                        struct sockpath out[SOCKPATH_CANDIDATES], struct err *e)
{
    if (!given) {
        given = getenv("OD_SOCKET");
        if (given && !*given)
            given = NULL;
    }
    if (given)
        return given_path(given, out, e) < 0 ? -1 : 1;

    int n = 0;
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime_dir_is_ours(runtime)) {
        snprintf(out[n].path, SOCKPATH_MAX, "%s/od/sock", runtime);
        out[n++].private_dir = true;
    }
    unsigned uid = (unsigned)geteuid();
    snprintf(out[n].path, SOCKPATH_MAX, "/tmp/od-%u/sock", uid);
    out[n++].private_dir = true;
    snprintf(out[n].path, SOCKPATH_MAX, "@od-%u", uid);
    out[n++].private_dir = false;
    return n;
}

/*
 * The address of path. A path that does not fit is reached through a
 * descriptor of its directory, *dirfd, which the caller closes when it is not
 * -1, after use. 0, or -1 with errno.
 */
static int address(const char *path, struct sockaddr_un *a, socklen_t *len,
                   int *dirfd)
{
    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    *dirfd = -1;
    size_t n = strlen(path);
    if (is_abstract(path)) {
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
    dir_of(path, dir);
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

/* connect or bind, as told. 0, or -1 with errno. */
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

/* A directory of ours and no link to one. 0, or -1 with errno. */
static int check_dir(const char *dir)
{
    struct stat st;
    if (lstat(dir, &st) < 0)
        return -1;
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid())
        return 0;
    errno = S_ISDIR(st.st_mode) ? EACCES : ENOTDIR;
    return -1;
}

/* A connected descriptor, or -1 with errno: EACCES when it is a stranger's. */
static int connect_at(const struct sockpath *s, pid_t *server)
{
    if (s->private_dir) {
        char dir[SOCKPATH_MAX];
        dir_of(s->path, dir);
        if (check_dir(dir) < 0)
            return -1;
    }
    int fd = new_socket(SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (at_address(fd, s->path, connect) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        goto fail;
    if (peer.uid != 0 && peer.uid != geteuid()) {
        errno = EACCES;
        goto fail;
    }
    if (server)
        *server = peer.pid;
    return fd;

fail:;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* As sockpath_connect; *at is the candidate that e is about. */
static int connect_first(const struct sockpath *c, int n, pid_t *server, int *at,
                         struct err *e)
{
    for (*at = 0; *at < n; ++*at) {
        int fd = connect_at(&c[*at], server);
        if (fd >= 0)
            return fd;
        if (errno == EAGAIN)
            return err_set(e, ERR_BUSY, "the server at %s takes no connections now",
                           c[*at].path);
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
            errno == ENAMETOOLONG)
            return err_sys(e, errno, "cannot connect to %s", c[*at].path);
        /* A place that is no good, or another's, ends nothing but itself. */
        if (n == 1 && errno != ENOENT && errno != ECONNREFUSED)
            return err_sys(e, errno, errno == EACCES
                               ? "the server at %s is not ours to use"
                               : "cannot connect to %s", c[*at].path);
    }
    return err_set(e, ERR_NOTFOUND, n == 1 ? "no server is running at %s"
                                           : "no server is running (nobody at %s)",
                   c[0].path);
}

int sockpath_connect(const char *given, pid_t *server, struct err *e)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    int at, n = sockpath_candidates(given, c, e);
    return n < 0 ? -1 : connect_first(c, n, server, &at, e);
}

static int exists(const char *path, struct err *e)
{
    return err_set(e, ERR_EXISTS, "a server is already running at %s", path);
}

/* Makes the directory when it is not there; ours alone when it is private. */
static int make_dir(const struct sockpath *s, struct err *e)
{
    char dir[SOCKPATH_MAX];
    dir_of(s->path, dir);
    int made = mkdir(dir, 0700);
    if (made < 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make %s for the socket", dir);
    if (!s->private_dir)
        return 0;
    if (check_dir(dir) < 0)
        return err_sys(e, errno, "cannot use %s for the socket", dir);
    if (chmod(dir, 0700) < 0)
        return err_sys(e, errno, "cannot close %s to others", dir);
    return 0;
}

/* A locked descriptor, or -1 and e. */
static int lock(const char *path, struct err *e)
{
    char file[SOCKPATH_MAX + sizeof(".lock")];
    snprintf(file, sizeof(file), "%s.lock", path);
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return err_sys(e, errno, "cannot make the lock %s", file);
    while (flock(fd, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        err_sys(e, errno, "cannot lock %s", file);
        close(fd);
        return -1;
    }
    return fd;
}

/* Under the lock: the name is free, or a dead server's and then removed. */
static int free_name(const struct sockpath *s, struct err *e)
{
    struct stat st;
    if (lstat(s->path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(e, errno, "cannot look at %s", s->path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, ERR_INVALID, "%s is there and is no socket", s->path);
    int fd = new_socket(SOCK_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot make a socket");
    int answered = at_address(fd, s->path, connect);
    int saved = errno;
    close(fd);
    if (answered == 0 || saved == EAGAIN)
        return exists(s->path, e);
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
    /* The mode has to be right from the first moment on. */
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
        return exists(path, e);
    return err_sys(e, saved, "cannot listen at %s", path);
}

static int listen_at(const struct sockpath *s, struct err *e)
{
    if (is_abstract(s->path))
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

int sockpath_listen(const char *given, char *out, size_t size, struct err *e)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    struct err why = ERR_INIT;
    if (!e)
        e = &why;
    int at, n = sockpath_candidates(given, c, e);
    if (n < 0)
        return -1;
    /* A server at a later place is still this user's server. */
    int live = connect_first(c, n, NULL, &at, e);
    if (live >= 0) {
        close(live);
        return exists(c[at].path, e);
    }
    if (e->code == ERR_BUSY)
        return exists(c[at].path, e);
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
    if (!is_abstract(path))
        unlink(path);
}
