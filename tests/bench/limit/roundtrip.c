/* SPDX-License-Identifier: MIT */
/*
 * roundtrip N SPOOL OPTION [tcp]: the limit of a command in a live shell. A
 * client asks over a unix socket (tcp: over the loopback), a server types the
 * command to bash on a terminal (an OPTION more: --noediting), reads up to the
 * mark that ends it, appends what it read to SPOOL and answers. Prints the
 * quantiles in microseconds.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Bash with a prompt that is the mark, on a terminal as the server's are. */
static int start_bash(const char *option)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return -1;
    struct termios t;
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    tcgetattr(slave, &t);
    t.c_oflag &= ~(tcflag_t)OPOST;
    t.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
    tcsetattr(slave, TCSANOW, &t);
    if (fork() == 0) {
        setsid();
        for (int i = 0; i < 3; i++)
            dup2(slave, i);
        ioctl(0, TIOCSCTTY, 0);
        execlp("env", "env", "PS1=\a", "bash", "--norc", option, "-i", (char *)NULL);
        _exit(127);
    }
    close(slave);
    return master;
}

/* Reads up to the mark, the prompt, and spools what was read. */
static void take(int pty, int spool)
{
    char bytes[4096];
    ssize_t n;
    do {
        n = read(pty, bytes, sizeof(bytes));
        if (n <= 0 || write(spool, bytes, (size_t)n) != n)
            exit(1);
    } while (bytes[n - 1] != '\a');
}

static int serve(int pair[2], int spool, const char *option)
{
    char line[4096];
    int pty = start_bash(option), peer = pair[1];
    close(pair[0]);
    take(pty, spool);
    for (ssize_t n; (n = read(peer, line, sizeof(line))) > 0;) {
        ssize_t typed = write(pty, line, (size_t)n);
        take(pty, spool);
        if (typed != n || write(peer, "0", 1) != 1)
            return 1;
    }
    return 0;
}

/* Two ends of a connection over the loopback. */
static int tcp_pair(int pair[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int one = 1, l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(l, (struct sockaddr *)&a, n) < 0 || listen(l, 1) < 0 ||
        getsockname(l, (struct sockaddr *)&a, &n) < 0)
        return -1;
    pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(pair[0], (struct sockaddr *)&a, n) < 0)
        return -1;
    pair[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    close(l);
    return pair[1] < 0 ? -1 : 0;
}

static int by_value(const void *a, const void *b)
{
    return *(const double *)a > *(const double *)b ? 1 : -1;
}

int main(int argc, char **argv)
{
    int pair[2], n = argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0, warm = n / 10 + 1;
    int spool = n > 0 ? open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                      : -1;
    double *us = calloc((size_t)n + 1, sizeof(*us));
    char answer;
    if (spool < 0 ||
        (argc > 4 ? tcp_pair(pair)
                  : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)))
        return 1;
    if (fork() == 0)
        return serve(pair, spool, argv[3]);
    close(pair[1]);
    for (int i = -warm; i < n; i++) {
        double begin = now_us();
        if (write(pair[0], "true\n", 5) != 5 || read(pair[0], &answer, 1) != 1)
            return 1;
        us[i < 0 ? 0 : i] = now_us() - begin;
    }
    qsort(us, (size_t)n, sizeof(*us), by_value);
    printf("p50 %.1f\np99 %.1f\n", us[n / 2], us[n * 99 / 100]);
    return 0;
}
