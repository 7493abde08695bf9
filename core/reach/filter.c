/* SPDX-License-Identifier: MIT */
/*
 * The filter. In the order of the program below:
 *
 *   refused   calls of another ABI (their numbers mean other calls), io_uring (its calls
 *             pass no filter), userfaultfd (a fault would stop the reader of memory)
 *   socket    unix and netlink's route go on; internet sockets are made by the
 *             supervisor; all other families are refused
 *   connect, bind, listen   the supervisor decides
 *   data      goes on, except below: TCP Fast Open, which connects; and the stand-ins
 *   writes    (only while files are learned) the supervisor writes down what is made,
 *             changed or removed
 *   setsockopt   upper layers of TCP are refused: one of them (SMC) connects by itself;
 *             and source routes: packets to an allowed address would go to another first
 */
#include "reach/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* linux/filter.h, linux/bpf_common.h, linux/seccomp.h, linux/audit.h */
struct filter_op {
    uint16_t code;
    uint8_t jt, jf;
    uint32_t k;
};
struct filter_program {
    uint16_t n;
    const struct filter_op *ops;
};

enum {
    LOAD = 0x20,  /* BPF_LD | BPF_W | BPF_ABS */
    IF_EQ = 0x15, /* BPF_JMP | BPF_JEQ | BPF_K */
    IF_GE = 0x35,
    IF_SET = 0x45,
    RETURN = 0x06
};
#define GO_ON    0x7fff0000u
#define NOTIFY   0x7fc00000u
#define FAIL(no) (0x00050000u | (uint32_t)(no))

enum { AT_NR = 0, AT_ARCH = 4 };
/* The low half of an argument: all that are looked at are int in the kernel. */
#define ARG(n) (16 + 8 * (n))

#if defined(__x86_64__)
#define OUR_ARCH 0xc000003eu
#elif defined(__aarch64__)
#define OUR_ARCH 0xc00000b7u
#elif defined(__riscv)
#define OUR_ARCH 0xc00000f3u
#elif defined(__arm__)
#define OUR_ARCH 0x40000028u
#else
#define OUR_ARCH 0 /* not a processor that we know: notify_install fails */
#endif

enum { NEW_USERFAULTFD = 0xaa00 }; /* USERFAULTFD_IOC_NEW, of /dev/userfaultfd */
enum { FAST_OPEN = 0x20000000, TCP_ULP_OPTION = 31, OTHER_ABI = 0x40000000 };

enum { WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };

#define OP(code, k, jt, jf) \
    { \
        code, jt, jf, k \
    }
#define RET(what) OP(RETURN, what, 0, 0)
/* If the call is nr, the n operations that follow; they end with a RETURN each. */
#define CALL(nr, n) OP(IF_EQ, (uint32_t)(nr), 0, n)
/* A call that is refused. */
#define REFUSE(nr, no) CALL(nr, 1), RET(FAIL(no))
/* A call that the supervisor decides for its stand-ins. */
#define STAND_IN(nr) \
    CALL(nr, 5), OP(LOAD, ARG(0), 0, 0), OP(IF_GE, NOTIFY_FROM + NOTIFY_COUNT, 2, 0), \
        OP(IF_GE, NOTIFY_FROM, 0, 1), RET(NOTIFY), RET(GO_ON)
/* The same, with the number of the argument that has MSG_ flags. */
#define SENDS(nr, flags) \
    CALL(nr, 8), OP(LOAD, ARG(flags), 0, 0), OP(IF_SET, FAST_OPEN, 0, 1), \
        RET(FAIL(EOPNOTSUPP)), OP(LOAD, ARG(0), 0, 0), \
        OP(IF_GE, NOTIFY_FROM + NOTIFY_COUNT, 2, 0), OP(IF_GE, NOTIFY_FROM, 0, 1), \
        RET(NOTIFY), RET(GO_ON)

/* Every call of this number. */
#define TELL(nr) CALL(nr, 1), RET(NOTIFY)
/* The same if it opens to write; with the number of the argument that has O_ flags. */
#define TELL_OPEN(nr, flags) \
    CALL(nr, 4), OP(LOAD, ARG(flags), 0, 0), OP(IF_SET, WRITES, 0, 1), RET(NOTIFY), \
        RET(GO_ON)

static const struct filter_op writes[] = {
    TELL_OPEN(SYS_openat, 2),
    TELL(437), /* openat2: the same number everywhere; its flags are in memory */
#ifdef SYS_open
    TELL_OPEN(SYS_open, 1),
    TELL(SYS_creat),
    TELL(SYS_mkdir),
    TELL(SYS_mknod),
    TELL(SYS_unlink),
    TELL(SYS_rmdir),
    TELL(SYS_symlink),
    TELL(SYS_link),
    TELL(SYS_rename),
#endif
#ifdef SYS_renameat
    TELL(SYS_renameat),
#endif
    TELL(SYS_renameat2),
    TELL(SYS_mkdirat),
    TELL(SYS_mknodat),
    TELL(SYS_unlinkat),
    TELL(SYS_symlinkat),
    TELL(SYS_linkat),
    TELL(SYS_truncate),
};

static const struct filter_op first[] = {
    OP(LOAD, AT_ARCH, 0, 0),
    OP(IF_EQ, OUR_ARCH, 1, 0),
    RET(FAIL(ENOSYS)),
    OP(LOAD, AT_NR, 0, 0),
#ifdef __x86_64__
    OP(IF_GE, OTHER_ABI, 0, 1), /* x32 */
    RET(FAIL(ENOSYS)),
#endif
};

static const struct filter_op ops[] = {
    /* The most frequent ones first. */
    STAND_IN(SYS_read),
    STAND_IN(SYS_write),
    SENDS(SYS_sendto, 3),
    SENDS(SYS_sendmsg, 2),
    STAND_IN(SYS_recvfrom),
    STAND_IN(SYS_recvmsg),
    CALL(SYS_socket, 11),
    OP(LOAD, ARG(0), 0, 0),
    OP(IF_EQ, AF_UNIX, 8, 0),
    OP(IF_EQ, AF_INET, 6, 0),
    OP(IF_EQ, AF_INET6, 5, 0),
    OP(IF_EQ, AF_NETLINK, 0, 2),
    OP(LOAD, ARG(2), 0, 0),
    OP(IF_EQ, 0, 3, 1), /* NETLINK_ROUTE */
    RET(FAIL(EAFNOSUPPORT)),
    RET(FAIL(EPROTONOSUPPORT)),
    RET(NOTIFY),
    RET(GO_ON),
    CALL(SYS_socketpair, 4),
    OP(LOAD, ARG(0), 0, 0),
    OP(IF_EQ, AF_UNIX, 1, 0),
    RET(FAIL(EAFNOSUPPORT)),
    RET(GO_ON),
    CALL(SYS_connect, 1),
    RET(NOTIFY),
    CALL(SYS_bind, 1),
    RET(NOTIFY),
    CALL(SYS_listen, 1),
    RET(NOTIFY),
    CALL(SYS_setsockopt, 19),
    OP(LOAD, ARG(0), 0, 0),
    OP(IF_GE, NOTIFY_FROM + NOTIFY_COUNT, 2, 0),
    OP(IF_GE, NOTIFY_FROM, 0, 1),
    RET(NOTIFY),
    OP(LOAD, ARG(1), 0, 0),
    OP(IF_EQ, IPPROTO_TCP, 3, 0),
    OP(IF_EQ, IPPROTO_IP, 4, 0),
    OP(IF_EQ, IPPROTO_IPV6, 5, 0),
    RET(GO_ON),
    OP(LOAD, ARG(2), 0, 0),
    OP(IF_EQ, TCP_ULP_OPTION, 7, 6),
    OP(LOAD, ARG(2), 0, 0),
    OP(IF_EQ, IP_OPTIONS, 5, 4),
    OP(LOAD, ARG(2), 0, 0),
    OP(IF_EQ, IPV6_RTHDR, 3, 0),
    OP(IF_EQ, IPV6_2292RTHDR, 2, 0),
    OP(IF_EQ, IPV6_2292PKTOPTIONS, 1, 0),
    RET(GO_ON),
    RET(FAIL(ENOPROTOOPT)),
    STAND_IN(SYS_getsockopt),
    STAND_IN(SYS_getsockname),
    STAND_IN(SYS_getpeername),
    SENDS(SYS_sendmmsg, 3),
    STAND_IN(SYS_recvmmsg),
#ifdef SYS_recvmmsg_time64
    STAND_IN(SYS_recvmmsg_time64),
#endif
#ifdef SYS_send
    SENDS(SYS_send, 3),
    STAND_IN(SYS_recv),
#endif
    CALL(SYS_ioctl, 4),
    OP(LOAD, ARG(1), 0, 0),
    OP(IF_EQ, NEW_USERFAULTFD, 0, 1),
    RET(FAIL(EPERM)),
    RET(GO_ON),
    REFUSE(425, ENOSYS), /* io_uring_setup, _enter, _register: the same everywhere */
    REFUSE(426, ENOSYS),
    REFUSE(427, ENOSYS),
    REFUSE(SYS_userfaultfd, EPERM),
    RET(GO_ON),
};

bool notify_refuses_option(int level, int name)
{
    return (level == IPPROTO_TCP && name == TCP_ULP_OPTION) ||
           (level == IPPROTO_IP && name == IP_OPTIONS) ||
           (level == IPPROTO_IPV6 && (name == IPV6_RTHDR || name == IPV6_2292RTHDR ||
                                      name == IPV6_2292PKTOPTIONS));
}

enum { SET_MODE_FILTER = 1, NEW_LISTENER = 1 << 3 };

/*
 * Capabilities by which root changes where packets go, or what the kernel does with
 * them (linux/capability.h). As no privileges can be gained, they are gone for all that
 * follows.
 */
static int drop_capabilities(void)
{
    enum {
        NET_ADMIN = 12,
        NET_RAW = 13,
        SYS_MODULE = 16,
        SYS_RAWIO = 17,
        SYS_ADMIN = 21,
        PERFMON = 38,
        BPF = 39,
        VERSION_3 = 0x20080522
    };
    static const uint32_t gone[2] = {1u << NET_ADMIN | 1u << NET_RAW | 1u << SYS_MODULE |
                                         1u << SYS_RAWIO | 1u << SYS_ADMIN,
                                     1u << (PERFMON - 32) | 1u << (BPF - 32)};
    struct {
        uint32_t version;
        int pid;
    } head = {VERSION_3, 0};
    struct {
        uint32_t effective, permitted, inheritable;
    } sets[2];
    if (syscall(SYS_capget, &head, sets) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        sets[i].effective &= ~gone[i];
        sets[i].permitted &= ~gone[i];
        sets[i].inheritable &= ~gone[i];
    }
    return (int)syscall(SYS_capset, &head, sets);
}

int notify_install(bool files)
{
    struct filter_op all[(sizeof(first) + sizeof(writes) + sizeof(ops)) / sizeof(*ops)];
    struct filter_program p = {0, all};
    size_t parts[] = {sizeof(first), files ? sizeof(writes) : 0, sizeof(ops)};
    const struct filter_op *from[] = {first, writes, ops};
    for (int i = 0; i < 3; i++) {
        memcpy(all + p.n, from[i], parts[i]);
        p.n = (uint16_t)(p.n + parts[i] / sizeof(all[0]));
    }
    if (!OUR_ARCH) {
        errno = ENOSYS;
        return -1;
    }
    /* The listener comes last: what has it is decided by us. */
    if (drop_capabilities() < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER, &p);
}

int notify_pass(int socket, const void *bytes, size_t n, int fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } c = {0};
    struct iovec v = {(void *)(uintptr_t)bytes, n};
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = &c,
                       .msg_controllen = sizeof(c.space)};
    c.head.cmsg_level = SOL_SOCKET;
    c.head.cmsg_type = SCM_RIGHTS;
    c.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&c.head), &fd, sizeof(int));
    return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

ssize_t notify_take(int socket, void *bytes, size_t n, int *fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } c = {0};
    struct iovec v = {bytes, n};
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = &c,
                       .msg_controllen = sizeof(c.space)};
    ssize_t got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    *fd = -1;
    if (got >= 0 && m.msg_controllen >= sizeof(struct cmsghdr) &&
        c.head.cmsg_level == SOL_SOCKET && c.head.cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(&c.head), sizeof(int));
    return got;
}

/* In the child: a call of its own, which the parent must answer by a descriptor. */
static void probe(int socket)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        _exit(errno);
    int listener = notify_install(false);
    if (listener < 0)
        _exit(errno);
    if (notify_pass(socket, "L", 1, listener) < 0)
        _exit(errno);
    close(listener);
    int got = (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    _exit(got < 0 ? errno : 0);
}

int notify_possible(void)
{
    int pair[2], fd = -1, status = 0;
    char c;
    struct notify_call call;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        probe(pair[1]);
    }
    close(pair[1]);
    if (pid > 0) {
        /* The listener, or the end of a child that could not have one. */
        struct iovec none = {&c, 1};
        struct msghdr wait = {.msg_iov = &none, .msg_iovlen = 1};
        while (recvmsg(pair[0], &wait, MSG_PEEK) < 0 && errno == EINTR)
            ;
        notify_take(pair[0], &c, 1, &fd);
        if (fd >= 0 && notify_next(fd, &call) &&
            notify_give(fd, call.id, pair[0], -1, true) < 0)
            notify_answer(fd, call.id, 0, errno);
        if (fd >= 0)
            close(fd);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(pair[0]);
    if (pid < 0)
        return -1;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
    return errno ? -1 : 0;
}
