/* SPDX-License-Identifier: MIT */
/*
 * kept N COMMAND...: starts COMMAND, which reads lines as a shell does (a kept
 * ssh channel, say), and runs `true` in it N times. Prints the quantiles of a
 * round trip in microseconds.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK '\a'

static double round_trip(int in, int out)
{
    static const char line[] = "true; printf '\\a'\n";
    char bytes[256];
    ssize_t n;
    double begin = now_us();
    if (write(in, line, sizeof(line) - 1) < 0)
        die("what was started reads nothing");
    do {
        n = read(out, bytes, sizeof(bytes));
        if (n <= 0)
            die("what was started has ended");
    } while (bytes[n - 1] != MARK);
    return now_us() - begin;
}

int main(int argc, char **argv)
{
    int to[2], from[2];
    if (argc < 3 || pipe(to) < 0 || pipe(from) < 0)
        die("usage: kept N COMMAND...");
    int n = count_of(argv[1]), warm = n / 10 + 1;
    double *us = calloc((size_t)n, sizeof(*us));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        for (int i = 0; i < 2; i++) {
            close(to[i]);
            close(from[i]);
        }
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    for (int i = -warm; i < n; i++) {
        double t = round_trip(to[1], from[0]);
        if (i >= 0)
            us[i] = t;
    }
    printf("p50 %.1f\np99 %.1f\n", quantile(us, n, 0.5), quantile(us, n, 0.99));
    close(to[1]);
    waitpid(pid, NULL, 0);
    free(us);
    return 0;
}
