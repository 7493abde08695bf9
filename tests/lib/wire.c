/* SPDX-License-Identifier: MIT */
/*
 * wire ADDRESS [N]: sends its standard input to a server, in pieces of N bytes,
 * says that this was all, and prints what comes back. Status 1: reset.
 */
#include "net/addr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int answer(int fd)
{
    char bytes[65536];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        fwrite(bytes, 1, (size_t)n, stdout);
    fflush(stdout);
    return n < 0;
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct addr a;
    char bytes[65536];
    size_t n, most = argc > 2 ? strtoul(argv[2], NULL, 10) : sizeof(bytes);
    if (argc < 2 || addr_parse(&a, str_of(argv[1]), &e) < 0) {
        fprintf(stderr, "wire: %s\n", argc < 2 ? "which address?" : e.text);
        return 2;
    }
    int fd = socket(a.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&a.ss, a.len) < 0) {
        fprintf(stderr, "wire: cannot connect to %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    most = most > 0 && most < sizeof(bytes) ? most : sizeof(bytes);
    while ((n = fread(bytes, 1, most, stdin)) > 0) {
        if (send(fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
            break; /* the server sends nothing more */
    }
    shutdown(fd, SHUT_WR);
    return answer(fd);
}
