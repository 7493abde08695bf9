/* SPDX-License-Identifier: MIT */
#include "os/sockdiag.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* From linux/netlink.h, sock_diag.h and unix_diag.h, which musl does not have. */
enum {
    NETLINK_SOCK_DIAG_ = 4,
    NLM_F_REQUEST_ = 1,
    SOCK_DIAG_BY_FAMILY_ = 20,
    UDIAG_SHOW_PEER_ = 4,
    UNIX_DIAG_PEER_ = 2
};

struct netlink_address {
    uint16_t family, pad;
    uint32_t pid, groups;
};

int sockdiag_ask(struct sockdiag_header *q, size_t n, void *out, size_t size)
{
    struct netlink_address kernel = {.family = AF_NETLINK};
    union {
        struct {
            struct sockdiag_header h;
            int32_t error;
        } e;
        char space[1024];
    } r = {.space = ""};
    *q = (struct sockdiag_header){.len = (uint32_t)n,
                                  .type = SOCK_DIAG_BY_FAMILY_,
                                  .flags = NLM_F_REQUEST_,
                                  .seq = 1};
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG_);
    if (fd < 0)
        return -1;
    ssize_t got = sendto(fd, q, n, 0, (struct sockaddr *)&kernel, sizeof(kernel));
    if (got >= 0) /* the kernel answers within sendto */
        got = recv(fd, &r, sizeof(r), MSG_DONTWAIT);
    int why = errno;
    close(fd);
    if (got < 0 || (size_t)got < sizeof(r.e) || r.e.h.type != SOCK_DIAG_BY_FAMILY_) {
        errno = got < 0 ? why : (size_t)got < sizeof(r.e) ? EPROTO : -r.e.error;
        return -1;
    }
    if ((size_t)got < size) {
        errno = ENOENT;
        return -1;
    }
    memcpy(out, &r, size);
    return 0;
}

uint64_t sockdiag_unix_peer(uint64_t inode)
{
    struct {
        struct sockdiag_header h;
        uint8_t family, protocol; /* struct unix_diag_req */
        uint16_t pad;
        uint32_t states, inode, show, cookie[2];
    } q = {.family = AF_UNIX,
           .states = UINT32_MAX,
           .inode = (uint32_t)inode,
           .show = UDIAG_SHOW_PEER_,
           .cookie = {UINT32_MAX, UINT32_MAX}};
    struct {
        struct sockdiag_header h;
        uint8_t family, type, state, pad; /* struct unix_diag_msg */
        uint32_t inode, cookie[2];
        uint16_t length, kind; /* its first attribute */
        uint32_t peer;
    } a;
    bool is = sockdiag_ask(&q.h, sizeof(q), &a, sizeof(a)) == 0 &&
              a.kind == UNIX_DIAG_PEER_ && a.inode == q.inode;
    return is ? a.peer : 0;
}
