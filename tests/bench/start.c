/* SPDX-License-Identifier: MIT */
/*
 * start N OD: starts `OD serve` N times, one after the other, where OD_SOCKET
 * says, and prints the medians in milliseconds of: from fork to the answer of
 * the first request ("info"), and to that of the first command (`true`).
 */
#include "common.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Until somebody listens; looking costs the server nothing but a little time. */
static void dial_soon(struct client *c)
{
    struct err e = ERR_INIT;
    double until = now_us() + 10e6;
    while (client_open(c, NULL, false, &e) < 0) {
        client_close(c);
        if (now_us() > until)
            die("the server did not come up: %s", e.text);
        nanosleep(&(struct timespec){0, 50000}, NULL);
    }
    fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) & ~O_NONBLOCK);
}

static void wait_end(pid_t pid)
{
    for (double until = now_us() + 10e6; waitpid(pid, NULL, WNOHANG) == 0;) {
        if (now_us() > until) {
            kill(pid, SIGKILL);
            die("the server did not stop within 10 s");
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* Milliseconds from the start to the answer. */
static double start_once(char *od, const char *request)
{
    char *argv[] = {od, (char[]){"serve"}, (char[]){"--log"}, (char[]){"error"}, NULL};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    struct client c;
    pid_t pid;
    double begin = now_us();
    if (posix_spawn(&pid, od, &quiet, NULL, argv, environ) != 0)
        die("cannot start %s", od);
    dial_soon(&c);
    json_free(ask(&c, request, NULL));
    double us = now_us() - begin;
    json_free(ask(&c, "\"do\":\"stop\",\"grace_ms\":100", NULL));
    client_close(&c);
    wait_end(pid);
    posix_spawn_file_actions_destroy(&quiet);
    return us / 1000;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage: start N OD");
    int n = count_of(argv[1]);
    double *answer = calloc((size_t)n, sizeof(*answer));
    double *command = calloc((size_t)n, sizeof(*command));
    for (int i = -1; i < n; i++) {
        double a = start_once(argv[2], "\"do\":\"info\"");
        double b = start_once(argv[2], "\"do\":\"run\",\"command\":\"true\"");
        if (i >= 0) {
            answer[i] = a;
            command[i] = b;
        }
    }
    printf("answer %.2f\ncommand %.2f\n", quantile(answer, n, 0.5), quantile(command, n, 0.5));
    free(answer);
    free(command);
    return 0;
}
