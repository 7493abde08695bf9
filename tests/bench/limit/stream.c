/* SPDX-License-Identifier: MIT */
/*
 * stream FILE: the limit of the event stream, for the client ../stream.c. Prints its
 * port. For each frame that comes two lines go to FILE, each with one write, and as
 * frames to all connections, with one write to each for what was read at once; who
 * connects with since=0 gets the whole file as frames.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 256, PIECE = 64 << 10 };

static char lines[2][200] = {
    "{\"id\":0000000,\"timestamp\":\"2026-01-02T03:04:05.678901\",\"key\":"
    "\"0123456789abcdef0123456789abcdef\",\"session\":\"main\",\"action\":\"resize\","
    "\"args\":{\"rows\":50,\"cols\":200}}\n",
    "{\"id\":0000000,\"timestamp\":\"2026-01-02T03:04:05.678901\",\"cause\":0000000,"
    "\"session\":\"main\",\"observation\":\"resize\",\"content\":\"\",\"extras\":{}}\n"};
static char out[8 * PIECE];
static size_t length[2], used;
static struct pollfd p[MOST];
static size_t have[MOST]; /* of a frame that is not whole; (size_t)-1: no handshake yet */
static int count = 1, file;

static void add_frame(const char *line, size_t n)
{
    char head[4] = {(char)0x81, 126, (char)(n >> 8), (char)n};
    memcpy(out + used, head, 4);
    memcpy(out + used + 4, line, n);
    used += n + 4;
}

static void send_all(int fd)
{
    for (size_t done = 0; done < used;) {
        ssize_t n = send(fd, out + done, used - done, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}

static void replay(int fd)
{
    static char bytes[PIECE];
    size_t both = length[0] + length[1], piece = PIECE / both * both;
    ssize_t n;
    for (off_t at = 0; (n = pread(file, bytes, piece, at)) > 0; at += n) {
        used = 0;
        for (size_t i = 0, k = 0; i < (size_t)n; i += length[k], k = !k)
            add_frame(bytes + i, length[k] - 1);
        send_all(fd);
    }
}

static void log_two(void)
{
    static unsigned id;
    for (int k = 0; k < 2; k++) {
        unsigned v = ++id;
        for (int at = 12; at > 5; at--, v /= 10)
            lines[k][at] = (char)('0' + v % 10);
        if (write(file, lines[k], length[k]) != (ssize_t)length[k])
            exit(1);
        add_frame(lines[k], length[k] - 1);
    }
}

static void take(int i)
{
    static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
    static char bytes[PIECE];
    ssize_t n = recv(p[i].fd, bytes, have[i] == (size_t)-1 ? 4096 : 32 << 10, 0);
    if (n <= 0) {
        close(p[i].fd);
        p[i] = p[--count];
        have[i] = have[count];
    } else if (have[i] == (size_t)-1) {
        have[i] = 0;
        send(p[i].fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
        if (memmem(bytes, (size_t)n, "since=0", 7))
            replay(p[i].fd);
    } else {
        size_t one = 6 + ((unsigned char)bytes[1] & 127u); /* all are the same */
        static size_t frame;
        frame = frame ? frame : one;
        for (used = 0, have[i] += (size_t)n; have[i] >= frame; have[i] -= frame)
            log_two();
        for (int k = 1; k < count; k++)
            send_all(p[k].fd);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(a);
    int on = 1;
    p[0] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
    file = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_APPEND, 0600) : -1;
    if (file < 0 || bind(p[0].fd, (struct sockaddr *)&a, n) < 0 ||
        listen(p[0].fd, MOST) < 0 || getsockname(p[0].fd, (struct sockaddr *)&a, &n) < 0)
        return 1;
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    length[0] = strlen(lines[0]);
    length[1] = strlen(lines[1]);
    while (poll(p, (nfds_t)count, -1) > 0) {
        for (int i = count - 1; i > 0; i--) {
            if (p[i].revents)
                take(i);
        }
        if (p[0].revents && count < MOST) {
            have[count] = (size_t)-1;
            p[count] = (struct pollfd){.fd = accept(p[0].fd, NULL, NULL),
                                       .events = POLLIN};
            setsockopt(p[count++].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        }
    }
    return 1;
}
