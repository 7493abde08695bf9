/* SPDX-License-Identifier: MIT */
/*
 * start N OD: starts `OD serve` N times, one after the other, where OD_SOCKET
 * says, and prints the medians in milliseconds of: from fork to the answer of
 * the first request ("info"), to that of the first command (`true`), and to the
 * first 200 over HTTP.
 */
#include "common.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

static pid_t start(char *od, char *port)
{
    char *argv[] = {od,  (char[]){"serve"}, (char[]){"--log"}, (char[]){"error"}, port,
                    NULL};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    if (posix_spawn(&pid, od, &quiet, NULL, argv, environ) != 0)
        die("cannot start %s", od);
    posix_spawn_file_actions_destroy(&quiet);
    return pid;
}

/* Milliseconds from the start to the answer. */
static double start_once(char *od, const char *request)
{
    struct client c;
    double begin = now_us();
    pid_t pid = start(od, NULL);
    dial_soon(&c);
    json_free(ask(&c, request, NULL));
    double us = now_us() - begin;
    json_free(ask(&c, "\"do\":\"stop\",\"grace_ms\":100", NULL));
    client_close(&c);
    wait_end(pid);
    return us / 1000;
}

/* A port that nobody has now. */
static struct sockaddr_in free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&a, n) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        die("there is no free port: %m");
    close(fd);
    return a;
}

/* Milliseconds from the start to a 200 of /alive. */
static double web_once(char *od)
{
    static const char request[] = "GET /alive HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    struct sockaddr_in a = free_port();
    char port[16], answer[64] = "";
    snprintf(port, sizeof(port), "%d", ntohs(a.sin_port));
    double begin = now_us(), until = begin + 10e6;
    pid_t pid = start(od, port);
    while (strncmp(answer, "HTTP/1.1 200", 12) != 0) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
            write(fd, request, sizeof(request) - 1) > 0 &&
            read(fd, answer, sizeof(answer) - 1) <= 0)
            answer[0] = 0;
        close(fd);
        if (now_us() > until)
            die("the server did not come up on port %s", port);
        nanosleep(&(struct timespec){0, 50000}, NULL);
    }
    double us = now_us() - begin;
    kill(pid, SIGTERM);
    wait_end(pid);
    return us / 1000;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage: start N OD");
    int n = count_of(argv[1]);
    double *answer = calloc((size_t)n, sizeof(*answer));
    double *command = calloc((size_t)n, sizeof(*command));
    double *web = calloc((size_t)n, sizeof(*web));
    for (int i = -1; i < n; i++) {
        double a = start_once(argv[2], "\"do\":\"info\"");
        double b = start_once(argv[2], "\"do\":\"run\",\"command\":\"true\"");
        double w = web_once(argv[2]);
        if (i >= 0) {
            web[i] = w;
            answer[i] = a;
            command[i] = b;
        }
    }
    printf("answer %.2f\ncommand %.2f\nweb %.2f\n", quantile(answer, n, 0.5),
           quantile(command, n, 0.5), quantile(web, n, 0.5));
    free(web);
    free(answer);
    free(command);
    return 0;
}
