/* SPDX-License-Identifier: MIT */
/* Where od serve keeps output and state: the folder of its name. */
#include "base/called.h"
#include "base/json.h"
#include "base/log.h"
#include "net/sockpath.h"
#include "serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OLD_SLOTS = 64,    /* numbered folders of earlier versions, each with NUMBER.lock */
    ENDING_S = 10,     /* time for a server without a socket to end */
    RECORD_MAX = 4096, /* bytes */
};

/*
 * Whether a file outlives a server: the next server keeps the events of the previous one.
 */
static bool is_kept(const char *name)
{
    return strcmp(name, "events") == 0 || strcmp(name, "checkpoints") == 0 ||
           strcmp(name, "v1") == 0 ||
           strcmp(name, SOCKPATH_RECORD) == 0;
}

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
            (depth == 0 && is_kept(e->d_name)))
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) < 0 && depth < 3) {
            empty_dir(dirfd(d), e->d_name, depth + 1);
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
    }
    closedir(d);
}

/* Makes each missing part; the last one must be ours. */
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
                       "cannot use the state directory %s: it is not a directory", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_DENIED,
                       "cannot use the state directory %s: it belongs to uid "
                       "%u; give another one with --state-dir",
                       path, (unsigned)st.st_uid);
    if ((st.st_mode & 0777) != mode && chmod(path, mode) < 0)
        return err_sys(e, errno, "cannot protect the state directory %s", path);
    return 0;
}

/* ---- the record ---- */

/* Reads the record; NULL if it is empty. */
static struct json *read_record(int fd)
{
    char text[RECORD_MAX];
    ssize_t n = pread(fd, text, sizeof(text), 0);
    return n > 0 ? json_parse(str_n(text, (size_t)n), NULL) : NULL;
}

/* Whether a server answers at the socket of the record. */
static bool answers(const struct json *record)
{
    struct str at = json_str(record, "socket", "");
    int fd = at.n > 0 ? sockpath_connect(at.p, NULL, NULL) : -1;
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void on_alarm(int signo) { (void)signo; }

/* Waits for the lock while a server without a socket ends. Returns 0, or -1. */
static int await_end(int fd)
{
    struct sigaction on = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &on, &before);
    alarm(ENDING_S);
    int r = flock(fd, LOCK_EX);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return r;
}

/* own: where this server listens already, maybe in the place of the one that ends. */
static int lock_record(int fd, const char *name, const char *path, const char *own,
                       struct err *e)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return err_sys(e, errno, "cannot lock %s", path);
    struct json *record = read_record(fd);
    int r = 0;
    bool other = !str_eq(json_str(record, "socket", ""), str_of(own));
    if ((other && answers(record)) || await_end(fd) < 0)
        r = err_set(
            e, ERR_EXISTS,
            "the server %s runs already, as process %lld at %s, and has its state "
            "in %.*s: %s --server %s --stop ends it, --name (OD_NAME) gives this "
            "one another name",
            name, (long long)json_int(record, "pid", 0),
            json_str(record, "socket", "an unknown place").p,
            (int)(strlen(path) - strlen("/" SOCKPATH_RECORD)), path, called("exec").z,
            name);
    json_free(record);
    return r;
}

void serve_state_record(const struct serve_state *s, const char *name, const char *socket)
{
    struct json *record = json_object();
    struct buf text = BUF_INIT(RECORD_MAX);
    json_put_int(record, "pid", getpid());
    json_put_z(record, "name", name);
    json_put_z(record, "socket", socket);
    if (s->lock >= 0 && (json_print(&text, record) < 0 ||
                         pwrite(s->lock, text.p, text.n, 0) != (ssize_t)text.n ||
                         ftruncate(s->lock, (off_t)text.n) < 0))
        log_warn("cannot write where the server is to %s/" SOCKPATH_RECORD ": %m",
                 s->dir);
    buf_release(&text);
    json_free(record);
}

/* ---- folders of earlier versions ---- */

/*
 * Takes the lock of base/NUMBER. Returns its descriptor, or -1 with errno: ENOENT, there
 * is none; EWOULDBLOCK, a server of an earlier version holds it.
 */
static int lock_old(const char *base, const char *number)
{
    char path[256];
    snprintf(path, sizeof(path), "%.160s/%.64s.lock", base, number);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/*
 * Returns 1 if the folder is of a server of this name; 0 if that is not known; -1 if it
 * is of another. A worker that took over from an earlier version has left a record.
 */
static int was_of(const char *dir, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%.200s/" SOCKPATH_RECORD, dir);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct json *record = fd >= 0 ? read_record(fd) : NULL;
    if (fd >= 0)
        close(fd);
    if (!record)
        return 0;
    int r = str_eq(json_str(record, "name", ""), str_of(name)) ? 1 : -1;
    json_free(record);
    return r;
}

/* Renames a numbered folder to name, which does not exist. */
static void adopt(const char *base, const char *name, const char *dir)
{
    char number[16], old[256], chosen[16] = "";
    struct stat st;
    int held = -1;
    for (int i = 0, best = -1; i < OLD_SLOTS && best < 1; i++) {
        snprintf(number, sizeof(number), "%d", i);
        snprintf(old, sizeof(old), "%.160s/%s", base, number);
        bool there = lstat(old, &st) == 0 && S_ISDIR(st.st_mode);
        int fd = there ? lock_old(base, number) : -1;
        if (fd < 0)
            continue;
        int of = was_of(old, name);
        if (of <= best) {
            close(fd);
            continue;
        }
        if (held >= 0)
            close(held);
        held = fd;
        best = of;
        memcpy(chosen, number, sizeof(chosen));
    }
    if (held < 0)
        return;
    snprintf(old, sizeof(old), "%.160s/%s", base, chosen);
    if (rename(old, dir) == 0) {
        log_info("%s is %s now", old, dir);
        snprintf(old, sizeof(old), "%.160s/%s.lock", base, chosen);
        unlink(old);
    }
    close(held);
}

/* ---- taking ---- */

/*
 * Takes the folder of this name. Its record is locked for as long as the keeper lives;
 * the rest of an earlier server is removed.
 */
static int take_folder(struct serve_state *s, const char *base, const char *name,
                       const char *own, struct err *e)
{
    mode_t mode = geteuid() == 0 ? 0711 : 0700; /* other users' shells pass through */
    char dir[sizeof(s->dir)], path[256];
    struct stat st;
    int n = snprintf(dir, sizeof(dir), "%s/%s", base, name);
    if (strlen(base) > 150 || n >= (int)sizeof(dir) - 8)
        return err_set(e, ERR_LIMIT, "the state directory's name %.200s/%s is too long",
                       base, name);
    if (make_dirs(base, mode, e) < 0)
        return -1;
    if (lstat(dir, &st) < 0)
        adopt(base, name, dir);
    int old = lock_old(base, name); /* a name may be a number */
    if (old < 0 && errno == EWOULDBLOCK)
        return err_set(e, ERR_EXISTS,
                       "a server of an earlier version has its state in %s: --name "
                       "(OD_NAME) gives this one another name",
                       dir);
    if (old >= 0)
        close(old);
    if (make_dirs(dir, mode, e) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/" SOCKPATH_RECORD, dir);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, errno, "cannot write in the state directory %s", dir);
    if (lock_record(fd, name, path, own, e) < 0) {
        close(fd);
        return -1;
    }
    empty_dir(AT_FDCWD, dir, 0);
    snprintf(path, sizeof(path), "%s/spool", dir);
    if (make_dirs(path, 0700, e) < 0) {
        close(fd);
        return -1;
    }
    memcpy(s->dir, dir, sizeof(dir));
    s->lock = fd;
    return 0;
}

int serve_state_take(struct serve_state *s, const char *name, const char *own,
                     const char *given, struct err *e)
{
    struct places p;
    *s = (struct serve_state){.lock = -1};
    if (places_state(&p, given, e) < 0)
        return -1;
    for (int i = 0; i < p.n; i++) {
        if (take_folder(s, p.at[i], name, own, e) == 0)
            return 0;
        if (given || e->code == ERR_EXISTS)
            return -1;
        log_debug("%s", e->text);
    }
    log_warn("no directory for state could be written; output is kept in memory only "
             "(the last one tried: %s)",
             e->text);
    s->dir[0] = 0;
    return 0;
}
