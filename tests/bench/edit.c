/* SPDX-License-Identifier: MIT */
/*
 * edit PORT FILE N: over a kept connection to the V0 API, N times a view of ten lines
 * in the middle of FILE and a str_replace of one there. limit/edit.c has the like.
 */
#include "common.h"
#include "http_client.h"

static int fd;

/* One action; its answer must have `part` in it. Microseconds. */
static double act(const char *args, const char *part)
{
    static char answer[256 << 10];
    char body[8192], head[512];
    double begin = now_us();
    int n = snprintf(body, sizeof(body),
                     "{\"action\":{\"action\":\"edit\",\"timeout\":60.0,\"args\":{%s}}}",
                     args);
    int h = snprintf(head, sizeof(head),
                     "POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n",
                     n);
    if (write(fd, head, (size_t)h) != h || write(fd, body, (size_t)n) != n)
        die("cannot ask");
    for (size_t got = 0;;) {
        ssize_t r = read(fd, answer + got, sizeof(answer) - 1 - got);
        if (r <= 0)
            die("no answer");
        got += (size_t)r;
        answer[got] = 0;
        char *end = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "length:");
        if (end && length &&
            got == (size_t)(end + 4 - answer) + strtoul(length + 7, NULL, 10))
            break;
    }
    double us = now_us() - begin;
    if (!strstr(answer, part))
        die("no \"%s\" in %.400s", part, answer);
    return us;
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char args[4096], part[64];
    if (argc != 4)
        die("edit PORT FILE N");
    int n = count_of(argv[3]);
    double *view = calloc((size_t)n, sizeof(*view)),
           *edit = calloc((size_t)n, sizeof(*edit));
    a.sin_port = htons((uint16_t)strtol(argv[1], NULL, 10));
    fd = http_connect(&a);
    for (int i = 0; view && edit && i < n; i++) {
        snprintf(args, sizeof(args),
                 "\"command\":\"view\",\"path\":\"%s\",\"view_range\":[50000,50010]",
                 argv[2]);
        view[i] = act(args, "\"content\"");
        snprintf(args, sizeof(args),
                 "\"command\":\"str_replace\",\"path\":\"%s\",\"old_str\":\"mark %d.\","
                 "\"new_str\":\"mark %d.\"",
                 argv[2], i, i + 1);
        snprintf(part, sizeof(part), "+mark %d.", i + 1);
        edit[i] = act(args, part);
    }
    printf("view %.0f\nedit %.0f\n", quantile(view, n, 0.5), quantile(edit, n, 0.5));
    return 0;
}
