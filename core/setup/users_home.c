/* SPDX-License-Identifier: MIT */
#include "setup/users_home.h"

#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, SKEL_DEPTH = 4, SKEL_ENTRIES = 256, SKEL_FILE_MAX = 1 << 20 };

/* A copy under way: its owner, and how much more may be copied. */
struct copy {
    uid_t uid;
    gid_t gid;
    int left;
};

static int copy_bytes(int from, int to)
{
    char bytes[16 << 10];
    ssize_t n;
    for (size_t all = 0; all < SKEL_FILE_MAX; all += (size_t)n) {
        n = read(from, bytes, sizeof(bytes));
        if (n <= 0)
            return (int)n;
        if (write(to, bytes, (size_t)n) != n)
            return -1;
    }
    errno = EFBIG;
    return -1;
}

/* Gives the copy its owner and mode, and closes both. Returns -1 with errno. */
static int end_copy(const struct copy *c, int in, int out, mode_t mode, bool done)
{
    int r = done && fchown(out, c->uid, c->gid) == 0 && fchmod(out, mode & 0777) == 0
                ? 0
                : -1;
    int why = errno;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    errno = why;
    return r;
}

static int copy_file(const struct copy *c, int from, int to, const char *name,
                     mode_t mode)
{
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    int out = openat(to, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                     0600);
    bool done = in >= 0 && out >= 0 && copy_bytes(in, out) == 0;
    return end_copy(c, in, out, mode, done);
}

static int copy_link(const struct copy *c, int from, int to, const char *name)
{
    char target[PATH_SIZE];
    ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
    if (n < 0)
        return -1;
    target[n] = 0;
    if (symlinkat(target, to, name) < 0 && errno != EEXIST)
        return -1;
    return fchownat(to, name, c->uid, c->gid, AT_SYMLINK_NOFOLLOW);
}

static int copy_dir(struct copy *c, int from, int to, int depth);

static int copy_sub(struct copy *c, int from, int to, const char *name, mode_t mode,
                    int depth)
{
    errno = ELOOP;
    if (depth == SKEL_DEPTH || (mkdirat(to, name, 0700) < 0 && errno != EEXIST))
        return -1;
    int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool done = in >= 0 && out >= 0 && copy_dir(c, in, out, depth + 1) == 0;
    return end_copy(c, in, out, mode, done);
}

static int copy_entry(struct copy *c, int from, int to, const char *name, int depth)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISREG(st.st_mode))
        return copy_file(c, from, to, name, st.st_mode);
    if (S_ISLNK(st.st_mode))
        return copy_link(c, from, to, name);
    return S_ISDIR(st.st_mode) ? copy_sub(c, from, to, name, st.st_mode, depth) : 0;
}

/* Copies the content of `from` into `to`; both are borrowed. */
static int copy_dir(struct copy *c, int from, int to, int depth)
{
    int own = fcntl(from, F_DUPFD_CLOEXEC, 3), r = 0;
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    struct dirent *e;
    if (!d) {
        if (own >= 0)
            close(own);
        return -1;
    }
    while (r == 0 && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        errno = E2BIG;
        r = c->left-- > 0 ? copy_entry(c, from, to, e->d_name, depth) : -1;
    }
    closedir(d);
    return r;
}

/* A folder without /etc/skel's files is a home too. */
static void copy_skel(const struct users_spec *spec, const struct user *u, int to)
{
    char p[PATH_SIZE];
    struct copy c = {u->uid, u->gid, SKEL_ENTRIES};
    snprintf(p, sizeof(p), "%s/etc/skel", spec->root ? spec->root : "");
    int from = open(p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0)
        return;
    if (copy_dir(&c, from, to, 0) < 0)
        log_warn("not all of /etc/skel could be copied to %s: %m", u->home);
    close(from);
}

/* Makes a folder of the user at path, in one step, so that it is never incomplete. */
static int make_home(const struct users_spec *spec, const struct user *u,
                     const char *path, mode_t mode)
{
    char temp[PATH_SIZE + 8];
    struct stat st;
    if (lstat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode) && (st.st_uid == u->uid || st.st_uid == 0))
            return st.st_uid == 0 ? lchown(path, u->uid, u->gid) : 0;
        errno = S_ISDIR(st.st_mode) ? EPERM : ENOTDIR;
        return -1;
    }
    snprintf(temp, sizeof(temp), "%s.od-new", path);
    if (mkdir(temp, 0700) < 0 && errno != EEXIST)
        return -1;
    int fd = open(temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != u->uid)) {
        close(fd); /* another user made it: it cannot be trusted */
        errno = EPERM;
        return -1;
    }
    copy_skel(spec, u, fd);
    int r = fchown(fd, u->uid, u->gid) < 0 || fchmod(fd, mode) < 0 ||
                    rename(temp, path) < 0
                ? -1
                : 0;
    int why = errno;
    close(fd);
    errno = why;
    return r;
}

void users_make_home(const struct users_spec *spec, struct user *u)
{
    char p[PATH_SIZE];
    snprintf(p, sizeof(p), "%s/home", spec->root ? spec->root : "");
    if (mkdir(p, 0755) < 0 && errno != EEXIST)
        log_debug("cannot make /home: %m");
    snprintf(p, sizeof(p), "%s%s", spec->root ? spec->root : "", u->home);
    if (make_home(spec, u, p, 0755) == 0)
        return;
    char wanted[sizeof(u->home)];
    memcpy(wanted, u->home, sizeof(wanted));
    int why = errno;
    users_make_spare_home(spec, u);
    log_warn("cannot make %s: %s; the user %s is at home in %s", wanted, strerror(why),
             u->name, u->home);
}

void users_make_spare_home(const struct users_spec *spec, struct user *u)
{
    char p[PATH_SIZE];
    snprintf(u->home, sizeof(u->home), "/tmp/home-%s", u->name);
    snprintf(p, sizeof(p), "%s%s", spec->root ? spec->root : "", u->home);
    if (make_home(spec, u, p, 0700) < 0)
        snprintf(u->home, sizeof(u->home), "/tmp");
}

void users_give_dir(const char *path, uid_t uid, gid_t gid)
{
    struct stat st, root;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        log_warn("cannot look at the working directory %s: %m", path);
    } else if ((st.st_mode & S_ISVTX) ||
               (stat("/", &root) == 0 && st.st_dev == root.st_dev &&
                st.st_ino == root.st_ino)) {
        log_debug("the working directory %s is shared and stays as it is", path);
    } else {
        if ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) < 0)
            log_warn("cannot give the working directory %s to uid %u: %m", path,
                     (unsigned)uid);
        if ((st.st_mode & 0060) != 0060 && fchmod(fd, (st.st_mode & 07777) | 0060) < 0)
            log_warn("cannot let the group write in the working directory %s: %m", path);
    }
    if (fd >= 0)
        close(fd);
}

int users_make_dir(const char *path, struct err *e)
{
    char part[PATH_SIZE];
    size_t n = strlen(path);
    struct stat st;
    if (n >= sizeof(part))
        return err_set(e, ERR_LIMIT, "the name of the working directory is too long");
    mode_t before = umask(002);
    int failed = 0;
    for (size_t i = 1; i <= n && !failed; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) == 0)
            continue;
        failed = errno;
        if (stat(part, &st) == 0)
            failed = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    }
    umask(before);
    return failed ? err_sys(e, failed, "cannot make the working directory %s", path) : 0;
}
