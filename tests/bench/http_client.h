/* SPDX-License-Identifier: MIT */
/*
 * A client that keeps its connections, for http.c and limit/http.c: the same
 * request again and again, one at a time on each of them.
 */
#ifndef OD_BENCH_HTTP_CLIENT_H
#define OD_BENCH_HTTP_CLIENT_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char http_request[] = "GET /hello HTTP/1.1\r\n"
                                   "Host: 127.0.0.1:3000\r\n"
                                   "User-Agent: python-requests/2.32.3\r\n"
                                   "Accept-Encoding: gzip, deflate\r\n"
                                   "Accept: */*\r\n"
                                   "Connection: keep-alive\r\n"
                                   "\r\n";

static double http_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A listening socket of a free port, which is set. */
static inline int http_listen(struct sockaddr_in *a)
{
    socklen_t n = sizeof(*a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *a = (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)a, n) < 0 || listen(fd, 1024) < 0 ||
        getsockname(fd, (struct sockaddr *)a, &n) < 0)
        exit(1);
    return fd;
}

static int http_connect(const struct sockaddr_in *a)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
        exit(1);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

/* One answer, of which the length is known to be the same each time. */
static void http_take(int fd)
{
    char bytes[1024];
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n < 15 || memcmp(bytes, "HTTP/1.1 200 OK", 15) != 0)
        exit(1);
}

static void http_ask(int fd)
{
    if (write(fd, http_request, sizeof(http_request) - 1) < 0)
        exit(1);
}

static int http_by_value(const void *a, const void *b)
{
    return *(const double *)a > *(const double *)b ? 1 : -1;
}

/* Prints the quantiles of n round trips, and how many are done with many at once. */
static inline void http_measure(const struct sockaddr_in *a, int n)
{
    enum { MANY = 64 };
    int fd[MANY], one = http_connect(a), rounds = n / MANY + 1;
    double *us = calloc((size_t)n + 1, sizeof(*us));
    for (int i = -n / 10; i < n; i++) {
        double begin = http_now_us();
        http_ask(one);
        http_take(one);
        us[i < 0 ? 0 : i] = http_now_us() - begin;
    }
    qsort(us, (size_t)n, sizeof(*us), http_by_value);
    for (int i = 0; i < MANY; i++)
        fd[i] = http_connect(a);
    double begin = http_now_us();
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < MANY; i++)
            http_ask(fd[i]);
        for (int i = 0; i < MANY; i++)
            http_take(fd[i]);
    }
    printf("p50 %.1f\np99 %.1f\nper-second %.0f\n", us[n / 2], us[n * 99 / 100],
           (double)rounds * MANY / (http_now_us() - begin) * 1e6);
    free(us);
}

#endif
