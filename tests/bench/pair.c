/* SPDX-License-Identifier: MIT */
/*
 * pair N COMMAND... -- COMMAND...: runs both as whole processes, N times in
 * turn, and prints the median and the 99th percentile of each in microseconds.
 */
#include "common.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static double run(char **argv)
{
    pid_t pid;
    int status;
    double begin = now_us();
    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        die("cannot start %s", argv[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("%s ended with status %d", argv[0], status);
    return now_us() - begin;
}

int main(int argc, char **argv)
{
    int second = 3;
    while (second < argc && strcmp(argv[second], "--") != 0)
        second++;
    if (second + 1 >= argc)
        die("usage: pair N COMMAND... -- COMMAND...");
    argv[second++] = NULL;
    int n = count_of(argv[1]);
    double *us[2] = {calloc((size_t)n, sizeof(double)), calloc((size_t)n, sizeof(double))};
    char **commands[2] = {argv + 2, argv + second};
    for (int i = -3; i < n; i++) {
        for (int which = 0; which < 2; which++) {
            double t = run(commands[which]);
            if (i >= 0)
                us[which][i] = t;
        }
    }
    static const char *const names[] = {"ours", "limit"};
    for (int which = 0; which < 2; which++) {
        printf("%s %.1f\n", names[which], quantile(us[which], n, 0.5));
        printf("%s_p99 %.1f\n", names[which], quantile(us[which], n, 0.99));
        free(us[which]);
    }
    return 0;
}
