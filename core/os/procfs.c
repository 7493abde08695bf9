/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc. Each call is open, read, close, and a parser. Files of
 * another process are never opened themselves: opening a device or a file on
 * a hung file system could block or have effects.
 */
#include "os/procfs.h"

#include "base/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define PATH_ROOM 96

/* Reads at most n - 1 bytes, and terminates them. Returns n if there are more. */
static long read_file(const char *path, char *out, size_t n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    size_t have = 0;
    ssize_t got = 0;
    bool more = false;
    while (have < n - 1) {
        got = read(fd, out + have, n - 1 - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    if (got > 0) {
        char c;
        more = read(fd, &c, 1) == 1;
    }
    int e = errno;
    close(fd);
    errno = e;
    if (got < 0)
        return -1;
    out[have] = '\0';
    return more ? (long)n : (long)have;
}

/* The next word; words are separated by single spaces or a newline. */
static int next_int(struct str *rest, int64_t *out)
{
    return str_to_i64(str_trim(str_cut(rest, ' ')), out);
}

bool procfs_parse_stat(struct str text, struct procfs_stat *out)
{
    /*
     * "PID (NAME) S …": the name is whatever the program chose, so it ends at
     * the last parenthesis of the text; no later field can hold one.
     */
    long open = str_chr(text, '('), close = -1;
    for (size_t i = text.n; i-- > 0 && close < 0;)
        if (text.p[i] == ')')
            close = (long)i;
    if (open < 2 || close < open || text.n < (size_t)close + 4)
        return false;
    memset(out, 0, sizeof(*out));
    /* gVisor shows 0 for a process that was reaped after its file was opened. */
    int64_t pid;
    if (str_to_i64(str_trim(str_sub(text, 0, (size_t)open)), &pid) < 0 || pid < 1)
        return false;
    out->pid = (pid_t)pid;
    struct str name = str_sub(text, (size_t)open + 1, (size_t)(close - open - 1));
    memcpy(out->comm, name.p,
           name.n < sizeof(out->comm) ? name.n : sizeof(out->comm) - 1);
    out->state = text.p[close + 2];

    /* proc(5): fields 4 to 22. */
    struct str rest = str_sub(text, (size_t)close + 4, text.n);
    int64_t f[19];
    for (int i = 0; i < 19; i++)
        if (next_int(&rest, &f[i]) < 0)
            return false;
    out->ppid = (pid_t)f[0];
    out->pgrp = (pid_t)f[1];
    out->session = (pid_t)f[2];
    /* The kernel's own encoding: 12 bits major in the middle of the minor. */
    uint32_t tty = (uint32_t)f[3];
    out->tty = tty ? makedev(tty >> 8 & 0xfff, (tty & 0xff) | (tty >> 12 & 0xfff00)) : 0;
    out->tpgid = (pid_t)f[4];
    out->threads = (int)f[16];
    out->start = (uint64_t)f[18];
    return true;
}

int procfs_stat(pid_t pid, struct procfs_stat *out)
{
    char path[PATH_ROOM], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    long n = read_file(path, text, sizeof(text));
    if (n < 0)
        return -1;
    if (!procfs_parse_stat(str_of(text), out)) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

void procfs_release(struct procfs_list *l)
{
    free(l->v);
    *l = (struct procfs_list){0};
}

/* Adds one process by pid; one that is gone is not a failure. */
static int list_add(struct procfs_list *l, pid_t pid, size_t max)
{
    if (l->n == max) {
        errno = E2BIG;
        return -1;
    }
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->v = xrealloc(l->v, l->cap, sizeof(*l->v));
    }
    if (procfs_stat(pid, &l->v[l->n]) == 0)
        l->n++;
    else
        l->missed = true;
    return 0;
}

/* Numbers that name entries of a directory: how many, or -1. */
static int read_numbers(const char *path, int *out, int max)
{
    DIR *d = opendir(path);
    if (!d)
        return -1;
    int n = 0;
    struct dirent *e;
    while (n < max && (e = readdir(d))) {
        uint64_t v;
        if (str_to_u64(str_of(e->d_name), &v) == 0)
            out[n++] = (int)v;
    }
    closedir(d);
    return n;
}

int procfs_all(struct procfs_list *l, size_t max)
{
    l->n = 0;
    l->missed = false;
    DIR *d = opendir("/proc");
    if (!d)
        return -1;
    int rc = 0;
    bool any = false;
    struct dirent *e;
    while (rc == 0 && (e = readdir(d))) {
        uint64_t pid;
        if (str_to_u64(str_of(e->d_name), &pid) < 0)
            continue;
        any = true;
        rc = list_add(l, (pid_t)pid, max);
    }
    int err = errno;
    closedir(d);
    errno = any ? err : ENOENT; /* a /proc that is just a directory */
    return any ? rc : -1;
}

/* Adds the children of one thread. Returns -1 with errno. */
static int add_children(struct procfs_list *l, pid_t pid, pid_t tid, size_t max)
{
    char path[PATH_ROOM], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = 0;
    size_t have = 0;
    ssize_t got;
    while (rc == 0 && (got = read(fd, text + have, sizeof(text) - have)) != 0) {
        if (got < 0) {
            rc = errno == EINTR ? 0 : -1;
            continue;
        }
        struct str rest = str_n(text, have + (size_t)got);
        int64_t child;
        /* Every number has a space after it; a cut one waits for the rest. */
        while (rc == 0 && str_chr(rest, ' ') >= 0)
            if (next_int(&rest, &child) == 0)
                rc = list_add(l, (pid_t)child, max);
        have = rest.n;
        memmove(text, rest.p, have);
    }
    int err = errno;
    close(fd);
    errno = err;
    return rc;
}

static int walk_children(struct procfs_list *l, pid_t root, size_t max)
{
    if (list_add(l, root, max) < 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        pid_t pid = l->v[i].pid;
        pid_t tids[512];
        int n = 1;
        tids[0] = pid;
        if (l->v[i].threads > 1)
            n = procfs_threads(pid, tids, 512);
        for (int k = 0; k < n; k++) {
            if (add_children(l, pid, tids[k], max) == 0)
                continue;
            if (i == 0 || errno == E2BIG)
                return -1;
            l->missed = true;
        }
    }
    return 0;
}

/* Moves the descendants of root to the front, parents first. */
static void keep_below(struct procfs_list *l, pid_t root)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n && kept == 0; i++) {
        if (l->v[i].pid == root) {
            struct procfs_stat s = l->v[0];
            l->v[0] = l->v[i];
            l->v[i] = s;
            kept = 1;
        }
    }
    for (size_t i = 0; i < kept; i++) {
        for (size_t k = kept; k < l->n; k++) {
            if (l->v[k].ppid == l->v[i].pid) {
                struct procfs_stat s = l->v[kept];
                l->v[kept++] = l->v[k];
                l->v[k] = s;
            }
        }
    }
    l->n = kept;
}

int procfs_below(struct procfs_list *l, pid_t root, size_t max)
{
    l->n = 0;
    l->missed = false;
    if (walk_children(l, root, max) == 0) {
        l->missed &= l->n > 0; /* root itself is gone: nothing was missed */
        return l->n > 0 ? 0 : access("/proc/self/stat", F_OK);
    }
    if (errno == E2BIG)
        return -1;
    /* Not every kernel is built with lists of children. */
    if (procfs_all(l, max) < 0)
        return -1;
    keep_below(l, root);
    return 0;
}

bool procfs_parse_call(struct str text, struct procfs_call *out)
{
    memset(out, 0, sizeof(*out));
    text = str_trim(text);
    if (str_eq(text, STR("running"))) {
        out->where = PROCFS_RUNNING;
        return true;
    }
    struct str rest = text;
    int64_t number;
    if (next_int(&rest, &number) < 0)
        return false;
    out->where = number < 0 ? PROCFS_NO_CALL : PROCFS_CALL;
    out->number = (long)number;
    if (number < 0)
        return true;
    for (int i = 0; i < 7; i++) {
        struct str word = str_cut(&rest, ' ');
        if (!str_starts(word, STR("0x")) || word.n > 18)
            return false;
        uint64_t v = 0;
        for (size_t k = 2; k < word.n; k++) {
            char c = word.p[k];
            int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                               : -1;
            if (digit < 0)
                return false;
            v = v << 4 | (uint64_t)digit;
        }
        *(i < 6 ? &out->arg[i] : &out->sp) = v;
    }
    return true;
}

int procfs_call(pid_t pid, pid_t tid, struct procfs_call *out)
{
    char path[PATH_ROOM], text[256];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    if (read_file(path, text, sizeof(text)) < 0)
        return -1;
    if (!procfs_parse_call(str_of(text), out)) {
        errno = EBADMSG;
        return -1;
    }
    return 0;
}

int procfs_threads(pid_t pid, pid_t *tids, int max)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return read_numbers(path, tids, max);
}

int procfs_fds(pid_t pid, pid_t tid, int *fds, int max)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", (int)pid, (int)tid);
    return read_numbers(path, fds, max);
}

static void fd_path(char *path, pid_t pid, pid_t tid, int fd)
{
    snprintf(path, PATH_ROOM, "/proc/%d/task/%d/fd/%d", (int)pid, (int)tid, fd);
}

/* Nameless kinds are told by their link: "anon_inode:[eventpoll]". */
static enum procfs_kind anon_kind(const char *path)
{
    static const struct {
        const char *link;
        enum procfs_kind kind;
    } kinds[] = {
        {"anon_inode:[eventpoll]", PROCFS_EPOLL},
        {"anon_inode:[timerfd]", PROCFS_TIMER},
        {"anon_inode:[eventfd]", PROCFS_EVENT},
        {"anon_inode:[signalfd]", PROCFS_EVENT},
    };
    char link[64];
    ssize_t n = readlink(path, link, sizeof(link) - 1);
    if (n < 0)
        return PROCFS_OTHER;
    link[n] = '\0';
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(link, kinds[i].link) == 0)
            return kinds[i].kind;
    return PROCFS_OTHER;
}

int procfs_fd(pid_t pid, pid_t tid, int fd, struct procfs_fd *out)
{
    char path[PATH_ROOM];
    fd_path(path, pid, tid, fd);
    *out = (struct procfs_fd){0};
    mode_t mode;
    struct statx sx;
    struct stat st;
    /* DONT_SYNC: a file of a hung server must not hang us. */
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
              STATX_TYPE | STATX_INO, &sx) == 0) {
        mode = sx.stx_mode;
        out->rdev = makedev(sx.stx_rdev_major, sx.stx_rdev_minor);
        out->inode = sx.stx_ino;
    } else if ((errno == ENOSYS || errno == EPERM || errno == EINVAL) &&
               stat(path, &st) == 0) { /* EINVAL: gVisor, because of the flags */
        mode = st.st_mode;
        out->rdev = st.st_rdev;
        out->inode = st.st_ino;
    } else {
        return -1;
    }
    if (S_ISCHR(mode))
        out->kind = PROCFS_DEVICE;
    else if (S_ISFIFO(mode))
        out->kind = PROCFS_PIPE;
    else if (S_ISSOCK(mode))
        out->kind = PROCFS_SOCKET;
    else
        out->kind = anon_kind(path);
    return 0;
}

int procfs_socket_kind(pid_t pid, pid_t tid, int fd, char *out, size_t n)
{
    char path[PATH_ROOM];
    fd_path(path, pid, tid, fd);
    ssize_t got = getxattr(path, "system.sockprotoname", out, n - 1);
    if (got < 0)
        return -1;
    out[got] = '\0';
    return 0;
}

long procfs_fdinfo(pid_t pid, pid_t tid, int fd, char *out, size_t n)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/fdinfo/%d", (int)pid, (int)tid, fd);
    return read_file(path, out, n);
}

/* The next word after blanks; text keeps what follows it. */
static struct str word_cut(struct str *text)
{
    size_t i = 0;
    while (i < text->n && (text->p[i] == ' ' || text->p[i] == '\t'))
        i++;
    *text = str_sub(*text, i, text->n);
    return str_cut(text, ' ');
}

bool procfs_next_watch(struct str *text, int *fd, uint32_t *events)
{
    while (text->n > 0) {
        /* "tfd:        4 events:       19 data:  …", events in hex */
        struct str line = str_cut(text, '\n');
        uint64_t number;
        if (!str_eq(word_cut(&line), STR("tfd:")) ||
            str_to_u64(word_cut(&line), &number) < 0 ||
            !str_eq(word_cut(&line), STR("events:")))
            continue;
        struct str hex = word_cut(&line);
        uint32_t v = 0;
        for (size_t i = 0; i < hex.n; i++) {
            char c = hex.p[i];
            v = v << 4 | (uint32_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
        }
        *fd = (int)number;
        *events = v;
        return true;
    }
    return false;
}

bool procfs_field(struct str text, struct str key, int64_t *out)
{
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        if (str_starts(line, key) && line.n > key.n && line.p[key.n] == ':')
            return str_to_i64(str_trim(str_sub(line, key.n + 1, line.n)), out) == 0;
    }
    return false;
}

uint64_t procfs_ticks(int64_t ago_ms)
{
    struct timespec now;
    long per_second = sysconf(_SC_CLK_TCK);
    if (per_second <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        return 0;
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - ago_ms;
    return ms > 0 ? (uint64_t)ms * (uint64_t)per_second / 1000 : 0;
}

/* Is the signal in this mask ("\nSigIgn:") of /proc/PID/status? 1, 0; -1: not known. */
static int mask_has(const char *status, const char *mask, int sig)
{
    const char *at = strstr(status, mask);
    return at ? (int)(strtoull(at + strlen(mask), NULL, 16) >> (sig - 1) & 1) : -1;
}

int procfs_ignores(pid_t pid, int sig)
{
    char path[PATH_ROOM], text[8192];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (read_file(path, text, sizeof(text)) < 0)
        return -1;
    return mask_has(text, "\nSigIgn:", sig);
}

bool procfs_same_file(pid_t one, pid_t other)
{
    char a[PATH_ROOM], b[PATH_ROOM];
    struct stat of_a, of_b;
    snprintf(a, sizeof(a), "/proc/%d/exe", (int)one);
    snprintf(b, sizeof(b), "/proc/%d/exe", (int)other);
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

enum procfs_fate procfs_fate(pid_t pid, int sig)
{
    static const char *const masks[] = {"\nSigPnd:", "\nShdPnd:", "\nSigBlk:",
                                        "\nSigIgn:", "\nSigCgt:"};
    char path[PATH_ROOM], text[8192];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (read_file(path, text, sizeof(text)) < 0 || strstr(text, "\nState:\tZ") ||
        strstr(text, "\nState:\tX"))
        return FATE_TAKEN;
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        int has = mask_has(text, masks[i], sig);
        if (has != 0)
            return i < 2 && has > 0 ? FATE_PENDING : FATE_TAKEN;
    }
    return FATE_LOST;
}

int procfs_memory(pid_t pid, uint64_t address, void *out, size_t n)
{
    struct iovec to = {out, n}, from = {(void *)(uintptr_t)address, n};
    ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (got == (ssize_t)n)
        return 0;
    if (got >= 0 || (errno != ENOSYS && errno != EPERM)) {
        errno = got >= 0 ? EFAULT : errno;
        return -1;
    }
    /* Older filters of containers refuse the call but not the file. */
    char path[PATH_ROOM];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        errno = errno == ENOENT ? ESRCH : errno; /* as the call has it */
        return -1;
    }
    got = pread(fd, out, n, (off_t)address);
    int err = got >= 0 ? EFAULT : errno;
    close(fd);
    errno = err;
    return got == (ssize_t)n ? 0 : -1;
}

int procfs_environ_has(pid_t pid, struct str name, struct str value)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    /*
     * Strings of any length, each ended by 0: only the beginning of each is
     * compared, and the rest of a longer one is skipped piece by piece.
     */
    char text[8192];
    size_t have = 0;
    int found = 0;
    bool inside = false; /* text begins in the middle of a string */
    for (;;) {
        ssize_t got = read(fd, text + have, sizeof(text) - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            found = -1;
        if (got <= 0)
            break;
        struct str rest = str_n(text, have + (size_t)got);
        while (found == 0 && str_chr(rest, '\0') >= 0) {
            struct str one = str_cut(&rest, '\0');
            found = !inside && one.n > name.n && str_starts(one, name) &&
                    one.p[name.n] == '=' &&
                    (!value.p || (one.n == name.n + 1 + value.n && str_ends(one, value)));
            inside = false;
        }
        if (found)
            break;
        if (rest.n == sizeof(text)) {
            inside = true;
            rest.n = 0;
        }
        have = rest.n;
        memmove(text, rest.p, have);
    }
    int err = errno;
    close(fd);
    errno = err;
    return found;
}
