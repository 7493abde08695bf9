/* SPDX-License-Identifier: MIT */
/*
 * spool FILE PROGRAM...: the limit of output. Runs PROGRAM on a terminal as the
 * server's are, appends what it writes to FILE, a ring of as many bytes as the
 * server keeps, and prints MB/s.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 64 << 10, RING = 64 << 20 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int open_pty(int *slave)
{
    struct termios t;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return -1;
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*slave < 0 || tcgetattr(*slave, &t) < 0)
        return -1;
    t.c_oflag &= ~(tcflag_t)OPOST;
    t.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
    return tcsetattr(*slave, TCSANOW, &t) < 0 ? -1 : master;
}

/* A terminal gives at most 4 KiB a read; a full piece is one write. */
static size_t take(int pty, char *piece)
{
    size_t have = 0;
    while (have < PIECE) {
        ssize_t n = read(pty, piece + have, PIECE - have);
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return have;
}

int main(int argc, char **argv)
{
    static char piece[PIECE];
    int slave = -1, status, pty = argc > 2 ? open_pty(&slave) : -1;
    int spool = pty < 0 ? -1 : open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (spool < 0)
        return 1;
    double begin = now_us();
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        for (int i = 0; i < 3; i++)
            dup2(slave, i);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    close(slave);
    size_t n, all = 0;
    while ((n = take(pty, piece)) > 0) {
        /* Pieces and the ring are powers of two: none is torn by the end. */
        if (pwrite(spool, piece, n, (off_t)(all % RING)) != (ssize_t)n)
            return 1;
        all += n;
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 1;
    printf("rate %.1f\n", (double)all / (now_us() - begin));
    return 0;
}
