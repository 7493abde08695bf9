/* SPDX-License-Identifier: MIT */
#include "reach/notify.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* include/uapi/linux/seccomp.h */
struct notify_reply {
    uint64_t id;
    int64_t value;
    int32_t error; /* negative */
    uint32_t flags;
};
struct notify_fd {
    uint64_t id;
    uint32_t flags, from, to, to_flags;
};
#define RECEIVE   _IOWR('!', 0, struct notify_call)
#define SEND      _IOWR('!', 1, struct notify_reply)
#define IS_VALID  _IOW('!', 2, uint64_t)
#define ADD_FD    _IOW('!', 3, struct notify_fd)
#define SET_FLAGS _IOW('!', 4, uint64_t)
enum { CONTINUE = 1, AT_NUMBER = 1, AND_ANSWER = 2, SYNC_WAKE_UP = 1 };

void notify_prepare(int listener)
{
    /* Linux before 6.6 refuses this, and only answers more slowly. */
    ioctl(listener, SET_FLAGS, (uint64_t)SYNC_WAKE_UP);
}

bool notify_next(int listener, struct notify_call *out)
{
    memset(out, 0, sizeof(*out)); /* the kernel refuses anything else */
    return ioctl(listener, RECEIVE, out) == 0;
}

bool notify_waits(int listener, uint64_t id)
{
    return ioctl(listener, IS_VALID, &id) == 0;
}

bool notify_answer(int listener, uint64_t id, int64_t value, int errnum)
{
    struct notify_reply r = {.id = id, .value = errnum ? 0 : value, .error = -errnum};
    return ioctl(listener, SEND, &r) == 0;
}

void notify_go_on(int listener, uint64_t id)
{
    struct notify_reply r = {.id = id, .flags = CONTINUE};
    ioctl(listener, SEND, &r);
}

int notify_give(int listener, uint64_t id, int fd, int at, bool cloexec)
{
    struct notify_fd a = {.id = id,
                          .flags = AND_ANSWER | (at >= 0 ? AT_NUMBER : 0),
                          .from = (uint32_t)fd,
                          .to = at >= 0 ? (uint32_t)at : 0,
                          .to_flags = cloexec ? O_CLOEXEC : 0};
    return ioctl(listener, ADD_FD, &a);
}

/* ---- looking into the caller ---- */

/* The ids of a process's owner, from its Uid and Gid lines. */
static int owner_of(pid_t pid, uid_t *uid, gid_t *gid)
{
    char path[64], text[2048], *u, *g;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return -1;
    text[n] = 0;
    u = strstr(text, "\nUid:\t");
    g = strstr(text, "\nGid:\t");
    if (!u || !g)
        return -1;
    *uid = (uid_t)strtoul(u + 6, NULL, 10);
    *gid = (gid_t)strtoul(g + 6, NULL, 10);
    return 0;
}

/*
 * A root without CAP_SYS_PTRACE, as in a container, may not look into a program of
 * another user. Its owner may, so we are that until like_ourselves. False: it is not
 * that.
 */
static bool like_owner(pid_t pid)
{
    uid_t uid;
    gid_t gid, ours = getgid();
    int why = errno;
    if ((why != EPERM && why != EACCES) || geteuid() != 0 ||
        owner_of(pid, &uid, &gid) < 0 || uid == 0)
        return false;
    if (setresgid(gid, gid, ours) < 0)
        return false;
    if (setresuid(uid, uid, 0) == 0)
        return true;
    setresgid(ours, ours, ours);
    return false;
}

static void like_ourselves(void)
{
    gid_t real, effective, saved;
    int why = errno;
    getresgid(&real, &effective, &saved);
    if (setresuid(0, 0, 0) < 0 || setresgid(saved, saved, saved) < 0)
        abort(); /* what follows would be done as that user */
    /* What execve and setuid reset: our programs could not be looked into. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
    errno = why;
}

bool notify_read(pid_t pid, uint64_t from, void *to, size_t n)
{
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};
    if (n == 0 || process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n)
        return true;
    if (!like_owner(pid))
        return false;
    bool done = process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
    like_ourselves();
    return done;
}

bool notify_write(pid_t pid, uint64_t to, const void *from, size_t n)
{
    struct iovec here = {(void *)(uintptr_t)from, n}, there = {(void *)(uintptr_t)to, n};
    if (n == 0 || process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)n)
        return true;
    if (!like_owner(pid))
        return false;
    bool done = process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
    like_ourselves();
    return done;
}

ssize_t notify_link(pid_t pid, int fd, char *to, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t n = readlink(path, to, size);
    if (n >= 0 || !like_owner(pid))
        return n;
    n = readlink(path, to, size);
    like_ourselves();
    return n;
}

int notify_open_fds(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 || !like_owner(pid))
        return fd;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    like_ourselves();
    return fd;
}

uint64_t notify_inode(pid_t pid, int fd)
{
    char to[64];
    uint64_t inode = 0;
    ssize_t n = notify_link(pid, fd, to, sizeof(to));
    struct str s = n > 0 ? str_n(to, (size_t)n) : str_n("", 0);
    if (!str_starts(s, STR("socket:[")) || str_to_u64(str_sub(s, 8, s.n - 9), &inode) < 0)
        return 0;
    return inode;
}
