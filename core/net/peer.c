/* SPDX-License-Identifier: MIT */
/*
 * The peer's credentials and namespaces.
 *
 * The links in /proc/PID/ns name a namespace, but only root with CAP_SYS_PTRACE can read
 * those of a process that is not dumpable (the keeper). Files that anybody can read have
 * the same information: status has the PID in each namespace from that of /proc down,
 * and mountinfo the number of the mount at the process's root, which is unique.
 */
#include "net/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int denied(struct err *e, const char *why)
{
    return err_set(e, ERR_DENIED, "%s", why);
}

static bool is_abstract(int fd)
{
    struct sockaddr_un a;
    socklen_t n = sizeof(a);
    const socklen_t named = offsetof(struct sockaddr_un, sun_path) + 1;
    if (getsockname(fd, (struct sockaddr *)&a, &n) == 0 && n > named && !a.sun_path[0])
        return true;
    n = sizeof(a);
    return getpeername(fd, (struct sockaddr *)&a, &n) == 0 && n > named && !a.sun_path[0];
}

/* Whether /proc belongs to our PID namespace. Returns -1 if there is no /proc. */
static int proc_is_ours(void)
{
    char self[32];
    ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);
    if (n <= 0)
        return -1;
    self[n] = 0;
    return strtol(self, NULL, 10) == (long)getpid();
}

/* Reads the first bytes of /proc/PID/NAME. Returns their number, or -1. */
static ssize_t proc_read(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n;
}

/* Returns the number of the mount at the process's root; -1 if unknown. */
static long root_mount(pid_t pid)
{
    char text[512], *end;
    if (proc_read(pid, "mountinfo", text, sizeof(text)) <= 0)
        return -1;
    long id = strtol(text, &end, 10);
    return end > text && *end == ' ' ? id : -1;
}

/*
 * Returns the number of PID namespaces that it is in, from that of /proc down; 0 if
 * unknown.
 */
static int pid_depth(pid_t pid)
{
    char text[4096];
    if (proc_read(pid, "status", text, sizeof(text)) <= 0)
        return 0;
    const char *at = strstr(text, "\nNSpid:");
    int n = 0;
    bool in_word = false;
    for (at += at ? strlen("\nNSpid:") : 0; at && *at && *at != '\n'; at++) {
        bool digit = *at >= '0' && *at <= '9';
        n += digit && !in_word;
        in_word = digit;
    }
    return n;
}

/* Returns 1 or 0; -1 if the links cannot be read. */
static int same_link(pid_t pid, const char *name)
{
    char path[64];
    struct stat ours, theirs;
    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    if (stat(path, &ours) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%ld/ns/%s", (long)pid, name);
    if (stat(path, &theirs) < 0)
        return -1;
    return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static bool same_pid_namespace(pid_t pid)
{
    int same = same_link(pid, "pid");
    return same >= 0 ? same : pid_depth(pid) == 1 && pid_depth(getpid()) == 1;
}

static bool same_mounts(pid_t pid)
{
    int same = same_link(pid, "mnt");
    if (same >= 0)
        return same;
    long ours = root_mount(getpid());
    return ours >= 0 && ours == root_mount(pid);
}

static int check_namespaces(pid_t pid, struct err *e)
{
    if (pid <= 0)
        return denied(e, "the peer is in another PID namespace");
    int proc = proc_is_ours();
    if (proc < 0)
        return 0;
    if (proc == 0)
        return denied(e, "/proc is that of another PID namespace, so the peer is not "
                         "known");
    if (!same_pid_namespace(pid))
        return denied(e, "the peer is in another PID namespace");
    if (!same_mounts(pid))
        return denied(e, "the peer is in another mount namespace");
    return 0;
}

int peer_check(int fd, uid_t uid, pid_t *pid, struct err *e)
{
    struct ucred u;
    socklen_t n = sizeof(u);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &n) < 0)
        return err_sys(e, errno, "cannot find out who the peer is");
    if (pid)
        *pid = u.pid;
    bool abstract = is_abstract(fd);
    if (u.uid != uid && (u.uid != 0 || abstract))
        return err_set(e, ERR_DENIED, "the peer is of uid %u", (unsigned)u.uid);
    return abstract ? check_namespaces(u.pid, e) : 0;
}

ino_t peer_mount_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/mnt", &st) == 0 ? st.st_ino : 0;
}
