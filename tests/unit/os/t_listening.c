/* SPDX-License-Identifier: MIT */
/* The ports that are listened at: each once, in order, the lowest ones where they are many. */
#include "os/listening.h"

#include "t.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OPENED = LISTENING_MAX + 20 };

static int listen_somewhere(int family, uint16_t *port)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in at4 = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = family == AF_INET ? sizeof(at4) : sizeof(at);
    struct sockaddr *to = family == AF_INET ? (struct sockaddr *)&at4 : (struct sockaddr *)&at;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, to, n) < 0)
        return -1;
    CHECK_INT(listen(fd, 4), 0);
    CHECK_INT(getsockname(fd, to, &n), 0);
    *port = ntohs(family == AF_INET ? at4.sin_port : at.sin6_port);
    return fd;
}

static const struct listening *find(const struct listening *all, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i].port == port)
            return &all[i];
    }
    return NULL;
}

static void check_order(const struct listening *all, size_t n)
{
    for (size_t i = 1; i < n; i++)
        CHECK(all[i - 1].port < all[i].port);
}

TEST(the_lowest_ports_in_order_each_once)
{
    static struct listening all[LISTENING_MAX];
    int fds[OPENED], fd6;
    uint16_t ports[OPENED], port6;

    fds[0] = listen_somewhere(AF_INET, &ports[0]);
    CHECK(fds[0] >= 0);
    size_t n = listening(all);
    check_order(all, n);
    const struct listening *ours = find(all, n, ports[0]);
    CHECK(ours || n == LISTENING_MAX);
    CHECK(!ours || (ours->pid == getpid() && ours->comm[0] == 't'));

    fd6 = listen_somewhere(AF_INET6, &port6);
    if (fd6 >= 0) {
        n = listening(all);
        CHECK(find(all, n, port6) || (n == LISTENING_MAX && all[n - 1].port < port6));
        close(fd6);
    }

    for (size_t i = 1; i < OPENED; i++) {
        fds[i] = listen_somewhere(AF_INET, &ports[i]);
        CHECK(fds[i] >= 0);
    }
    n = listening(all);
    CHECK_INT(n, LISTENING_MAX);
    check_order(all, n);
    for (size_t i = 0; i < OPENED; i++)
        CHECK(find(all, n, ports[i]) || all[n - 1].port < ports[i]);

    for (size_t i = 0; i < OPENED; i++)
        close(fds[i]);
    n = listening(all);
    CHECK(!find(all, n, ports[0]));
}

T_MAIN
