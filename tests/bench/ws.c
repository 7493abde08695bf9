/* SPDX-License-Identifier: MIT */
/*
 * ws N SIZE WINDOW: N messages of SIZE bytes are sent as a WebSocket's client
 * would, WINDOW of them in one write, and come back before the next ones. Over
 * TCP on this machine, in turn with a server of ours (http/ws.h) and, the limit,
 * one that sends back whole frames as they were received. Prints
 * messages a second, the best of five rounds of each.
 */
#include "common.h"

#include "http/ws.h"
#include "io/stream.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, ROUNDS = 5 };

static struct loop *loop;

static void on_message(struct ws *w, bool text, struct str m)
{
    if (!ws_send(w, text, m))
        die("no room for an answer");
}

static void on_close(struct ws *w, int code, struct str reason)
{
    (void)w;
    (void)code;
    (void)reason;
    loop_stop(loop);
}

static void serve(int fd)
{
    static const struct ws_events events = {.on_message = on_message,
                                            .on_close = on_close};
    static const struct stream_events nothing;
    struct ws_opts opts = {.role = WS_SERVER, .message_max = 16 << 20};
    struct stream s;
    struct ws w;
    loop = loop_new();
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (!loop || stream_open(&s, loop, fd, BUFFER, 64 << 20, &nothing) < 0)
        die("cannot serve");
    ws_start(&w, &s, &opts, &events);
    loop_run(loop);
}

static void send_all(int fd, const char *p, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = send(fd, p + done, n - done, MSG_NOSIGNAL);
        if (got <= 0)
            die("cannot send");
        done += (size_t)got;
    }
}

static size_t frame; /* bytes of one */

/* Whole frames go back, for that is what a message is. */
static void serve_limit(int fd)
{
    static char p[BUFFER + (1 << 16)];
    size_t have = 0;
    ssize_t n;
    while ((n = recv(fd, p + have, sizeof(p) - have, 0)) > 0) {
        have += (size_t)n;
        size_t whole = have / frame * frame;
        if (whole == 0)
            continue;
        send_all(fd, p, whole);
        have -= whole;
        memmove(p, p + whole, have);
    }
}

/* Both ends of a connection over TCP. */
static void connect_pair(int pair[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int one = 1, l = socket(AF_INET, SOCK_STREAM, 0);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(l, (struct sockaddr *)&a, n) < 0 || listen(l, 1) < 0 ||
        getsockname(l, (struct sockaddr *)&a, &n) < 0 ||
        connect(pair[0], (struct sockaddr *)&a, n) < 0)
        die("no TCP on this machine");
    pair[1] = accept(l, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    close(l);
}

/* A masked text frame. */
static size_t add_frame(char *p, size_t size)
{
    size_t wide = size < 126 ? 0 : size < 65536 ? 2 : 8, n = 2;
    p[0] = (char)0x81;
    p[1] = (char)(0x80 | (wide == 0 ? size : wide == 2 ? 126 : 127));
    for (size_t i = wide; i > 0; i--)
        p[n++] = (char)(size >> 8 * (i - 1));
    memcpy(p + n, "\1\2\3\4", 4);
    for (size_t i = 0; i < size; i++)
        p[n + 4 + i] = (char)('x' ^ "\1\2\3\4"[i % 4]);
    return n + 4 + size;
}

/* Messages a second. */
static double talk(void (*server)(int fd), size_t shorter, int n, size_t size, int window)
{
    static char heard[BUFFER];
    int pair[2];
    char *p = malloc((size_t)window * (size + 14));
    size_t bytes = 0;
    for (int i = 0; i < window; i++)
        bytes += frame = add_frame(p + bytes, size);
    connect_pair(pair);
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        server(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    double begin = now_us();
    for (int i = 0; i < n; i += window) {
        size_t wanted = bytes - (size_t)window * shorter;
        send_all(pair[0], p, bytes);
        while (wanted > 0) {
            ssize_t got = recv(pair[0], heard, sizeof(heard), 0);
            if (got <= 0 || (size_t)got > wanted)
                die("the echo is wrong");
            wanted -= (size_t)got;
        }
    }
    double us = now_us() - begin;
    close(pair[0]);
    waitpid(child, NULL, 0);
    free(p);
    return n / us * 1e6;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        die("usage: ws N SIZE WINDOW");
    int n = count_of(argv[1]), window = count_of(argv[3]);
    size_t size = (size_t)count_of(argv[2]);
    double ours = 0, limit = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double a = talk(serve, 4, n, size, window),
               b = talk(serve_limit, 0, n, size, window);
        ours = a > ours ? a : ours;
        limit = b > limit ? b : limit;
    }
    printf("ours %.0f\nlimit %.0f\nratio %.2f\n", ours, limit, ours / limit);
    return 0;
}
