/* SPDX-License-Identifier: MIT */
/* The user at the other end of a connection of this machine, by both ways. */
#include "os/tcpowner.h"

#include "t.h"
#include "t_kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int owner_fn(const struct sockaddr_in *at, const struct sockaddr_in *to,
                     uid_t *out);

static owner_fn *const ways[] = {tcpowner_by_netlink, tcpowner_by_proc, tcpowner_uid};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct pair {
    int listener, client, server;
    struct sockaddr_in at, to; /* the client's end, as the server sees it; the server's */
};

static int listen_somewhere(struct sockaddr_in *at)
{
    socklen_t n = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_INT(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
    CHECK_INT(listen(fd, 4), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)at, &n), 0);
    return fd;
}

static int connect_v4(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
    return fd;
}

/* -1: there is no IPv6 here. */
static int connect_v6(const struct sockaddr_in *to)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = to->sin_port};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin6_addr.s6_addr[10] = a.sin6_addr.s6_addr[11] = 0xff;
    memcpy(&a.sin6_addr.s6_addr[12], &to->sin_addr, 4);
    if (fd >= 0)
        CHECK_INT(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

static void accept_one(struct pair *p)
{
    socklen_t n = sizeof(p->at);
    p->server = accept4(p->listener, (struct sockaddr *)&p->at, &n, SOCK_CLOEXEC);
    CHECK(p->server >= 0);
}

static void finish(struct pair *p)
{
    if (p->client >= 0)
        close(p->client);
    close(p->server);
    close(p->listener);
}

static void owned_by(const struct pair *p, uid_t wanted)
{
    T_NEEDS(sock_diag);
    for (int i = 0; i < WAYS; i++) {
        uid_t uid = 12345;
        if (ways[i](&p->at, &p->to, &uid) < 0)
            T_FAIL("way %d: %s", i, strerror(errno));
        CHECK_INT(uid, wanted);
    }
}

static void owned_by_nobody(const struct pair *p)
{
    for (int i = 0; i < WAYS; i++) {
        uid_t uid = 12345;
        CHECK_INT(ways[i](&p->at, &p->to, &uid), -1);
        CHECK_INT(uid, 12345);
    }
}

TEST(our_own_connection_is_ours)
{
    struct pair p = {.listener = listen_somewhere(&p.to)};
    p.client = connect_v4(&p.to);
    accept_one(&p);
    owned_by(&p, geteuid());
    shutdown(p.client, SHUT_WR);
    owned_by(&p, geteuid());
    finish(&p);
}

TEST(an_ipv6_socket_with_an_ipv4_address)
{
    struct pair p = {.listener = listen_somewhere(&p.to)};
    p.client = connect_v6(&p.to);
    if (p.client >= 0) {
        accept_one(&p);
        owned_by(&p, geteuid());
        close(p.server);
        close(p.client);
    }
    close(p.listener);
}

TEST(a_closed_socket_is_not_roots)
{
    struct pair p = {.listener = listen_somewhere(&p.to)};
    p.client = connect_v4(&p.to);
    accept_one(&p);
    close(p.client);
    p.client = -1;
    owned_by_nobody(&p);
    finish(&p);
}

/* The kernel would answer with the one that listens at the port of who is gone. */
TEST(a_listener_is_not_a_connection)
{
    struct pair p = {.listener = listen_somewhere(&p.to)};
    struct sockaddr_in other;
    int more = listen_somewhere(&other);
    p.at = other;
    p.client = p.server = -1;
    owned_by_nobody(&p);
    close(more);
    close(p.listener);
}

TEST(another_users_connection)
{
    struct pair p = {.listener = listen_somewhere(&p.to)};
    int go[2];
    char c;
    if (geteuid() != 0) {
        close(p.listener);
        return;
    }
    CHECK_INT(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        if (setuid(4711) < 0)
            _exit(1);
        int fd = connect_v4(&p.to);
        _exit(read(go[0], &c, 1) == 0 && fd >= 0 ? 0 : 1);
    }
    close(go[0]);
    accept_one(&p);
    owned_by(&p, 4711);
    close(go[1]);
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    owned_by_nobody(&p);
    p.client = -1;
    finish(&p);
}

T_MAIN
