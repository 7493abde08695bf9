/* SPDX-License-Identifier: MIT */
/*
 * cat FILE N: sends the first N bytes of FILE over the loopback to a process
 * that writes them to FILE.copy, as cat on both sides of a connection would:
 * read, write. Prints "MB/s N".
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 128 << 10 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* From one descriptor to the other, up to its end or n bytes. */
static void copy(int from, int to, long long n)
{
    static char bytes[PIECE];
    while (n > 0) {
        ssize_t got = read(from, bytes, n < PIECE ? (size_t)n : PIECE);
        if (got <= 0)
            return;
        for (ssize_t at = 0, put; at < got; at += put) {
            put = write(to, bytes + at, (size_t)(got - at));
            if (put <= 0)
                exit(1);
        }
        n -= got;
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    char path[4096];
    long long n = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    int l = socket(AF_INET, SOCK_STREAM, 0), from = n > 0 ? open(argv[1], O_RDONLY) : -1;
    snprintf(path, sizeof(path), "%s.copy", argc > 1 ? argv[1] : "");
    if (from < 0 || bind(l, (struct sockaddr *)&a, len) < 0 || listen(l, 1) < 0 ||
        getsockname(l, (struct sockaddr *)&a, &len) < 0)
        return 1;
    double begin = now_s();
    if (fork() == 0) {
        int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        copy(accept(l, NULL, NULL), to, n);
        _exit(0);
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&a, len) < 0)
        return 1;
    copy(from, fd, n);
    close(fd);
    wait(NULL);
    printf("MB/s %.1f\n", (double)n / 1e6 / (now_s() - begin));
    return 0;
}
