/* SPDX-License-Identifier: MIT */
/*
 * transfer PORT up FILE N DIR: uploads the first N bytes of FILE into DIR.
 * transfer PORT down FILE N [raw]: downloads FILE, N bytes, as a zip or as it is,
 * to /dev/null. Prints "MB/s N".
 */
#include "common.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As curl makes them. */
#define BOUNDARY "------------------------d74496d66958873e"

enum { PIECE = 128 << 10 };

static char bytes[PIECE];

static void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, p, n);
        if (put <= 0)
            die("the server stopped reading: %m");
        p += put;
        n -= (size_t)put;
    }
}

static void upload(int fd, const char *file, long long n, const char *dir)
{
    static const char tail[] = "\r\n--" BOUNDARY "--\r\n";
    char head[1024], form[256];
    int from = open(file, O_RDONLY);
    if (from < 0)
        die("cannot read %s: %m", file);
    int f = snprintf(form, sizeof(form),
                     "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"file\"; "
                     "filename=\"uploaded\"\r\n\r\n");
    int h = snprintf(head, sizeof(head),
                     "POST /upload_file?destination=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Content-Type: multipart/form-data; boundary=" BOUNDARY "\r\n"
                     "Content-Length: %lld\r\nConnection: close\r\n\r\n%s",
                     dir, n + f + (long long)sizeof(tail) - 1, form);
    send_all(fd, head, (size_t)h);
    for (ssize_t got; n > 0; n -= got) {
        got = read(from, bytes, n < PIECE ? (size_t)n : PIECE);
        if (got <= 0)
            die("%s is too short", file);
        send_all(fd, bytes, (size_t)got);
    }
    send_all(fd, tail, sizeof(tail) - 1);
    close(from);
}

static void ask_for(int fd, const char *file, bool raw)
{
    char head[8192];
    int n = snprintf(head, sizeof(head),
                     "GET /download_files?path=%s%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Connection: close\r\n\r\n",
                     file, raw ? "&raw=true" : "");
    send_all(fd, head, (size_t)n);
}

/* All of the answer: how many bytes it was. */
static long long take(int fd)
{
    long long all = 0;
    for (ssize_t got; (got = read(fd, bytes, PIECE)) > 0; all += got) {
        if (all == 0 && (got < 12 || memcmp(bytes, "HTTP/1.1 200", 12) != 0))
            die("refused: %.*s", (int)got, bytes);
    }
    return all;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        die("usage: transfer PORT up|down FILE N [DIR|raw]");
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)count_of(argv[1])),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool up = strcmp(argv[2], "up") == 0;
    long long n = strtoll(argv[4], NULL, 10);
    double begin = now_us();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        die("cannot connect: %m");
    if (up)
        upload(fd, argv[3], n, argc > 5 ? argv[5] : "/tmp");
    else
        ask_for(fd, argv[3], argc > 5);
    long long got = take(fd);
    if (!up && got < n)
        die("%lld bytes came of %lld", got, n);
    printf("MB/s %.1f\n", (double)n / (now_us() - begin));
    return 0;
}
