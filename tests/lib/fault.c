/* SPDX-License-Identifier: MIT */
/*
 * fault SOCKET PROGRAM ARGUMENT...: runs a program, and makes one system call of it or
 * of its descendants fail on request.
 *
 * The program is static, so nothing can be preloaded: it runs under a seccomp filter
 * that hands the calls of `kinds` to this process, which lets them happen, counts them,
 * and lets one of them fail. The other calls cost nothing. SOCKET takes datagrams:
 *
 *   arm ROLE KIND N ERRNO   the Nth such call from now on fails with that number, once
 *   look                    nothing
 *   stop                    forget what is armed
 *
 * and the answer is "FIRED COUNT WHO": 1 if the call has failed, how many there were
 * since, and the call that failed as PID/NAME/NUMBER. ROLE is the beginning of argv[0]
 * of the process, "od" for all of the server's. The allocations of a program that is
 * linked with fault_alloc.c are calls of the kind "alloc".
 */
#define _GNU_SOURCE
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Architectures other than x86-64 lack the older calls. */
static const struct {
    const char *kind;
    int nr;
} kinds[] = {
    {"alloc", FAULT_ALLOC},
    {"open", SYS_openat},
    {"write", SYS_write},
    {"write", SYS_writev},
    {"write", SYS_pwrite64},
    {"write", SYS_pwritev},
    {"fsync", SYS_fsync},
    {"fsync", SYS_fdatasync},
    {"rename", SYS_renameat2},
    {"rename", SYS_renameat},
    {"fork", SYS_clone},
    {"mmap", SYS_mmap},
    {"mmap", SYS_mremap},
    {"mmap", SYS_brk},
    {"sendmsg", SYS_sendmsg},
    {"accept", SYS_accept},
    {"accept", SYS_accept4},
#ifdef SYS_open
    {"open", SYS_open},
    {"rename", SYS_rename},
    {"fork", SYS_fork},
    {"fork", SYS_vfork},
#endif
};
enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct {
    char role[32], kind[16];
    long n;
    int error;
    bool armed, fired;
    long count;
    char who[96];
} fault;

static void fail(const char *what)
{
    fprintf(stderr, "fault: cannot %s: %s\n", what, strerror(errno));
    exit(125);
}

/* Installs a filter for this process and its descendants. Returns its listener. */
static int install(void)
{
    struct sock_filter code[NKINDS + 3];
    int n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (int i = 0; i < NKINDS; i++, n++)
        code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                               (unsigned)kinds[i].nr, NKINDS - i, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog prog = {.len = (unsigned short)n, .filter = code};
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    /* Needed without root. It disables set-id programs, which no scenario starts. */
    if (geteuid() != 0)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#ifdef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
    if (fd >= 0 || errno != EINVAL)
        return fd;
#endif
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/*
 * The child shares our descriptors until its exec and we sleep until then, so its
 * listener is ours too.
 */
static pid_t start(char **argv, int *listener)
{
    int *fd = mmap(NULL, 2 * sizeof(*fd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    if (fd == MAP_FAILED)
        fail("map memory");
    int *why = fd + 1; /* errno of a failed exec: what is written would wait for us */
    *fd = -1;
    *why = 0;
    int flags = CLONE_FILES | CLONE_VFORK | SIGCHLD;
    pid_t pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        *fd = install();
        if (*fd >= 0)
            execv(argv[0], argv);
        *why = errno;
        _exit(126);
    }
    if (pid < 0 || *fd < 0)
        fail("start under a filter");
    errno = *why;
    if (errno)
        fail("run the program");
    *listener = *fd;
    return pid;
}

/* Whether a process is of the armed role; its argv[0] is left in name. */
static bool is_role(pid_t pid, char name[static 32])
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, name, 31);
    if (fd >= 0)
        close(fd);
    name[MAX(n, 0)] = '\0';
    return n > 0 && strncmp(name, fault.role, strlen(fault.role)) == 0;
}

static bool is_file(pid_t pid, int fd)
{
    char path[48];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void decide(const struct seccomp_notif *q, struct seccomp_notif_resp *a)
{
    const char *kind = NULL;
    for (int i = 0; i < NKINDS && !kind; i++) {
        if (kinds[i].nr == q->data.nr)
            kind = kinds[i].kind;
    }
    a->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    char name[32];
    if (!fault.armed || !kind || strcmp(kind, fault.kind) != 0 ||
        !is_role((pid_t)q->pid, name))
        return;
    /* Only files run out of space, not pipes. */
    if (strcmp(kind, "write") == 0 && !is_file((pid_t)q->pid, (int)q->data.args[0]))
        return;
    if (++fault.count != fault.n)
        return;
    fault.fired = true;
    snprintf(fault.who, sizeof(fault.who), "%d/%s/%d", (int)q->pid, name, q->data.nr);
    a->flags = 0;
    a->error = -fault.error;
}

/* A call whose process was killed is not answered. */
static void notified(int listener, struct seccomp_notif *q, struct seccomp_notif_resp *a,
                     const struct seccomp_notif_sizes *sizes)
{
    memset(q, 0, MAX(sizes->seccomp_notif, sizeof(*q)));
    memset(a, 0, MAX(sizes->seccomp_notif_resp, sizeof(*a)));
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, q) < 0)
        return;
    a->id = q->id;
    decide(q, a);
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, a);
}

static void asked(int s)
{
    char text[128], answer[192];
    struct sockaddr_un from;
    socklen_t len = sizeof(from);
    ssize_t n = recvfrom(s, text, sizeof(text) - 1, 0, (struct sockaddr *)&from, &len);
    if (n < 0)
        return;
    text[n] = '\0';
    char role[32], kind[16];
    long nth;
    int error;
    if (sscanf(text, "arm %31s %15s %ld %d", role, kind, &nth, &error) == 4) {
        memset(&fault, 0, sizeof(fault));
        memcpy(fault.role, role, sizeof(role));
        memcpy(fault.kind, kind, sizeof(kind));
        fault.n = nth;
        fault.error = error;
        fault.armed = true;
    }
    if (strcmp(text, "stop") == 0)
        fault.armed = false;
    snprintf(answer, sizeof(answer), "%d %ld %s", fault.fired, fault.count, fault.who);
    sendto(s, answer, strlen(answer), 0, (struct sockaddr *)&from, len);
}

int main(int argc, char **argv)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (argc < 3 || strlen(argv[1]) >= sizeof(at.sun_path)) {
        fprintf(stderr, "usage: fault SOCKET PROGRAM ARGUMENT...\n");
        return 125;
    }
    memcpy(at.sun_path, argv[1], strlen(argv[1]) + 1);
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    unlink(argv[1]);
    if (s < 0 || bind(s, (struct sockaddr *)&at, sizeof(at)) < 0)
        fail("bind the socket");
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
        fail("use seccomp's notifications");
    struct seccomp_notif *q = calloc(1, MAX(sizes.seccomp_notif, sizeof(*q)));
    struct seccomp_notif_resp *a = calloc(1, MAX(sizes.seccomp_notif_resp, sizeof(*a)));
    int listener, status = 0;
    if (!q || !a)
        fail("allocate");
    pid_t pid = start(argv + 2, &listener);
    int end = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p[] = {{.fd = listener, .events = POLLIN},
                         {.fd = s, .events = POLLIN},
                         {.fd = end, .events = POLLIN}};
    while (!(p[2].revents & POLLIN)) {
        if (poll(p, 3, -1) < 0)
            continue;
        if (p[1].revents & POLLIN)
            asked(s);
        if (p[0].revents & POLLIN)
            notified(listener, q, a, &sizes);
    }
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        fprintf(stderr, "fault: %s ended by signal %d\n", argv[2], WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
