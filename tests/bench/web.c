/* SPDX-License-Identifier: MIT */
/*
 * web PORT N [IDLE]: asks for /execute_action with `true` N times over one kept
 * connection to 127.0.0.1 and prints the quantiles of a round trip in
 * microseconds; IDLE more connections are open meanwhile and silent.
 */
#include "common.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_to(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        die("cannot connect to port %d: %m", port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* Reads one answer, whose head says its length. */
static void read_answer(int fd)
{
    char bytes[16 << 10];
    size_t n = 0, want = 0;
    while (want == 0 || n < want) {
        ssize_t got = read(fd, bytes + n, sizeof(bytes) - n - 1);
        if (got <= 0)
            die("the connection ended in the middle of an answer");
        n += (size_t)got;
        bytes[n] = 0;
        char *end = strstr(bytes, "\r\n\r\n"),
             *length = strcasestr(bytes, "content-length:");
        if (end && length)
            want = (size_t)(end - bytes) + 4 + strtoul(length + 15, NULL, 10);
    }
    if (strncmp(bytes, "HTTP/1.1 200", 12) != 0 || !strstr(bytes, "\"exit_code\": 0"))
        die("an answer is not what it should be: %s", bytes);
}

int main(int argc, char **argv)
{
    static const char body[] = "{\"action\":{\"action\":\"run\",\"args\":{\"command\":"
                               "\"true\"},\"timeout\":20.0}}";
    char request[512];
    if (argc < 3)
        die("usage: web PORT N [IDLE]");
    int port = count_of(argv[1]), n = count_of(argv[2]), warm = n / 10 + 1;
    int idle = argc > 3 ? count_of(argv[3]) : 0;
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    for (int i = 0; i < idle; i++)
        connect_to(port);
    int fd = connect_to(port);
    int len = snprintf(request, sizeof(request),
                       "POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                       sizeof(body) - 1, body);
    double *us = calloc((size_t)n, sizeof(*us));
    for (int i = -warm; i < n; i++) {
        double begin = now_us();
        if (write(fd, request, (size_t)len) != len)
            die("cannot send a request: %m");
        read_answer(fd);
        us[i < 0 ? 0 : i] = now_us() - begin;
    }
    printf("p50 %.1f\np99 %.1f\n", quantile(us, n, 0.5), quantile(us, n, 0.99));
    free(us);
    return 0;
}
