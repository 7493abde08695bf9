/* SPDX-License-Identifier: MIT */
/*
 * delta N FILE: the limit of a command's output to a client. A bash on a terminal
 * prints the time N times, 5 ms apart; what is read of the terminal is appended to
 * FILE and sent over TCP on this machine to another process, which prints the
 * quantiles of what passed since, in microseconds.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int by_value(const void *a, const void *b)
{
    return *(const double *)a > *(const double *)b ? 1 : -1;
}

static int listen_on(struct sockaddr_in *a)
{
    socklen_t n = sizeof(*a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *a = (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(fd, (struct sockaddr *)a, n) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)a, &n) < 0)
        exit(1);
    return fd;
}

static int hear(const struct sockaddr_in *a, int wanted)
{
    double *us = calloc((size_t)wanted, sizeof(*us));
    char text[4096];
    int count = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
        return 1;
    for (ssize_t n; (n = read(fd, text, sizeof(text) - 1)) > 0;) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        text[n] = 0;
        double said = strtod(text, NULL);
        if (said > 1e9 && count < wanted)
            us[count++] = ((double)now.tv_sec - said) * 1e6 + (double)now.tv_nsec / 1e3;
    }
    qsort(us, (size_t)count, sizeof(*us), by_value);
    printf("p50 %.0f\np99 %.0f\n", us[count / 2], us[count * 99 / 100]);
    return count < wanted / 2;
}

int main(int argc, char **argv)
{
    struct sockaddr_in a;
    char command[256], bytes[4096];
    int pty, on = 1, l = listen_on(&a),
             file = argc > 2 ? open(argv[2], O_WRONLY | O_CREAT, 0600) : -1;
    if (file < 0)
        return 1;
    if (fork() == 0)
        return hear(&a, atoi(argv[1]));
    int to = accept(l, NULL, NULL);
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    snprintf(command, sizeof(command),
             "for i in {1..%s}; do echo $EPOCHREALTIME; read -t 0.005 x <> <(:); done",
             argv[1]);
    if (forkpty(&pty, NULL, NULL, NULL) == 0) {
        execlp("bash", "bash", "--norc", "-c", command, (char *)NULL);
        _exit(127);
    }
    for (ssize_t n; (n = read(pty, bytes, sizeof(bytes))) > 0;) {
        if (write(file, bytes, (size_t)n) != n || write(to, bytes, (size_t)n) != n)
            return 1;
    }
    close(to);
    return 0;
}
