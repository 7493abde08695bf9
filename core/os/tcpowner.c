/* SPDX-License-Identifier: MIT */
#include "os/tcpowner.h"

#include "base/str.h"
#include "os/sockdiag.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 512 };

/* From linux/inet_diag.h, which musl does not have. */
struct socket_id { /* struct inet_diag_sockid */
    uint16_t sport, dport;
    uint32_t src[4], dst[4];
    uint32_t interface, cookie[2];
};

struct question {
    struct sockdiag_header h;
    uint8_t family, protocol, ext, pad; /* struct inet_diag_req_v2 */
    uint32_t states;
    struct socket_id id;
};

struct owner_answer {
    struct sockdiag_header h;
    uint8_t family, state, timer, retrans; /* struct inet_diag_msg */
    struct socket_id id;
    uint32_t expires, rqueue, wqueue, uid, inode;
};

/*
 * The kernel's lookup falls back to a listening socket at that port, so check that the
 * answer is about this connection. Inode 0: it was closed, and its uid reads as 0.
 */
static bool is_of(const struct owner_answer *a, const struct question *q)
{
    const struct socket_id *i = &a->id, *j = &q->id;
    int last = a->family == AF_INET6 ? 3 : 0;
    return a->inode != 0 && i->sport == j->sport && i->dport == j->dport &&
           i->src[last] == j->src[0] && i->dst[last] == j->dst[0];
}

int tcpowner_by_netlink(const struct sockaddr_in *at, const struct sockaddr_in *to,
                        uid_t *out)
{
    struct question q = {.family = AF_INET,
                         .protocol = IPPROTO_TCP,
                         .states = UINT32_MAX,
                         .id = {.sport = at->sin_port,
                                .dport = to->sin_port,
                                .src = {at->sin_addr.s_addr},
                                .dst = {to->sin_addr.s_addr},
                                .cookie = {UINT32_MAX, UINT32_MAX}}};
    struct owner_answer a;
    if (sockdiag_ask(&q.h, sizeof(q), &a, sizeof(a)) < 0)
        return -1;
    if (!is_of(&a, &q)) {
        errno = ENOENT;
        return -1;
    }
    *out = a.uid;
    return 0;
}

static struct str next_word(struct str *rest)
{
    *rest = str_trim(*rest);
    return str_cut(rest, ' ');
}

/* A line: its number, both addresses, state, queues, timer, retransmits, uid, …, inode.
 */
static bool owner_in_line(struct str line, const char *at, const char *to, uid_t *out)
{
    uint64_t uid, inode;
    next_word(&line);
    if (!str_eq(next_word(&line), str_of(at)) || !str_eq(next_word(&line), str_of(to)))
        return false;
    for (int i = 0; i < 4; i++)
        next_word(&line);
    struct str owner = next_word(&line);
    next_word(&line);
    if (str_to_u64(owner, &uid) < 0 || str_to_u64(next_word(&line), &inode) < 0 || !inode)
        return false;
    *out = (uid_t)uid;
    return true;
}

static int owner_in_file(const char *path, const char *at, const char *to, uid_t *out)
{
    char line[LINE_MAX_BYTES];
    bool found = false;
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    while (!found && fgets(line, sizeof(line), f))
        found = owner_in_line(str_trim(str_of(line)), at, to, out);
    fclose(f);
    errno = ENOENT;
    return found ? 0 : -1;
}

int tcpowner_by_proc(const struct sockaddr_in *at, const struct sockaddr_in *to,
                     uid_t *out)
{
    const struct sockaddr_in *ends[] = {at, to};
    char v4[2][48], v6[2][48];
    for (int i = 0; i < 2; i++) {
        unsigned host = ends[i]->sin_addr.s_addr, port = ntohs(ends[i]->sin_port);
        snprintf(v4[i], sizeof(v4[i]), "%08X:%04X", host, port);
        snprintf(v6[i], sizeof(v6[i]), "%016X%08X%08X:%04X", 0, htonl(0xffff), host,
                 port);
    }
    if (owner_in_file("/proc/net/tcp", v4[0], v4[1], out) == 0)
        return 0;
    return owner_in_file("/proc/net/tcp6", v6[0], v6[1], out);
}

int tcpowner_uid(const struct sockaddr_in *at, const struct sockaddr_in *to, uid_t *out)
{
    if (tcpowner_by_netlink(at, to, out) == 0)
        return 0;
    /* ENOENT: there is no such socket, or the kernel lacks the module for them. */
    return tcpowner_by_proc(at, to, out);
}
