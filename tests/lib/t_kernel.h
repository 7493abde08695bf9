/* SPDX-License-Identifier: MIT */
/*
 * What a program in the place of the kernel may lack: qemu-user, which translates the
 * system calls of another processor's programs, or gVisor. Each lack is found by a probe:
 *
 *     T_NEEDS(subreaper);     skips the case, with the reason, where the probe fails
 */
#ifndef OD_TESTS_T_KERNEL_H
#define OD_TESTS_T_KERNEL_H

#include "t.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define T_NEEDS(what) \
    do { \
        if (!t_has_##what()) \
            T_SKIP(t_lacks_##what); \
    } while (0)

#define T_PROBE(what, reason) \
    static T_UNUSED const char t_lacks_##what[] = reason; \
    static T_UNUSED bool t_has_##what(void)

static T_UNUSED const char *t_own_file(const char *name)
{
    static char text[8192];
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* True for a process that may not look at itself any more. */
T_PROBE(calls, "/proc does not show system calls by this processor's numbers")
{
    errno = 0;
    const char *text = t_own_file("/proc/self/syscall");
    return text[0] ? strtol(text, NULL, 10) == SYS_read : errno == EPERM || errno == EACCES;
}

T_PROBE(native, "an emulator makes the system calls, and sees to descriptors and buffers itself")
{
    return t_has_calls();
}

T_PROBE(names, "/proc/self/stat does not have the name that prctl gave")
{
    char was[16];
    prctl(PR_GET_NAME, was);
    prctl(PR_SET_NAME, "t of names");
    bool has = strstr(t_own_file("/proc/self/stat"), "(t of names)") != NULL;
    prctl(PR_SET_NAME, was);
    return has;
}

/* Called before the case has handlers of its own. */
T_PROBE(handlers, "/proc/self/status shows an emulator's signal handlers")
{
    const char *at = strstr(t_own_file("/proc/self/status"), "\nSigCgt:");
    return at && !(strtoull(at + 8, NULL, 16) >> (SIGQUIT - 1) & 1);
}

T_PROBE(subreaper, "orphans do not come to a subreaper: PR_SET_CHILD_SUBREAPER is refused")
{
    int is;
    return prctl(PR_GET_CHILD_SUBREAPER, &is, 0, 0, 0) == 0;
}

T_PROBE(memory_limit, "RLIMIT_AS has no effect")
{
    pid_t pid = t_fork();
    if (pid == 0) {
        enum { MIB = 1 << 20 };
        struct rlimit limit = {16 * MIB, 16 * MIB};
        setrlimit(RLIMIT_AS, &limit);
        void *p = mmap(NULL, 64 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        _exit(p == MAP_FAILED);
    }
    return WEXITSTATUS(t_reap(pid)) == 1;
}

/* Where an emulator lacks it, /proc/net/tcp has the bytes of addresses in another order. */
T_PROBE(sock_diag, "there is no netlink family that finds sockets")
{
    enum { SOCK_DIAG = 4 }; /* of linux/netlink.h, which musl does not have */
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, SOCK_DIAG);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

T_PROBE(tcp_info, "TCP_INFO is not passed on as the structure that it is")
{
    struct tcp_info info;
    socklen_t n = sizeof(info);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && n > sizeof(int);
    close(fd);
    return has;
}

#endif
