/* SPDX-License-Identifier: MIT */
/*
 * start N: the limit of a first command: bash on a terminal, from fork to its
 * first prompt, N times. Prints the median in milliseconds.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double start_once(void)
{
    char bytes[4096];
    ssize_t n;
    double begin = now_ms();
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int slave = open(ptsname(master), O_RDWR);
        for (int i = 0; i < 3; i++)
            dup2(slave, i);
        if (slave > 2)
            close(slave);
        setenv("PROMPT_COMMAND", "printf '<<%s>>' prompt", 1);
        execlp("bash", "bash", "-i", (char *)NULL);
        _exit(127);
    }
    do {
        n = read(master, bytes, sizeof(bytes));
        if (n <= 0)
            exit(1);
    } while (!memmem(bytes, (size_t)n, "<<prompt>>", 10));
    double ms = now_ms() - begin;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(master);
    return ms;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    double *ms = calloc((size_t)n + 1, sizeof(*ms));
    if (n < 1)
        return 1;
    for (int i = 0; i < n; i++)
        ms[i] = start_once();
    qsort(ms, (size_t)n, sizeof(*ms), by_value);
    printf("first %.2f\n", ms[n / 2]);
    free(ms);
    return 0;
}
