/* SPDX-License-Identifier: MIT */
/*
 * http N: the limit of an HTTP server on one connection and on many: epoll, one
 * recv and one send a request, and the same bytes each time, whatever was asked.
 */
#include "../http_client.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <signal.h>

static const char answer[] = "HTTP/1.1 200 OK\r\n"
                             "Date: Sat, 01 Jan 2000 00:00:00 GMT\r\n"
                             "Content-Type: text/plain\r\n"
                             "Content-Length: 6\r\n"
                             "\r\n"
                             "hello\n";

static void serve(int listening)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = listening}, got[64];
    int loop = epoll_create1(EPOLL_CLOEXEC), on = 1;
    epoll_ctl(loop, EPOLL_CTL_ADD, listening, &e);
    for (;;) {
        int n = epoll_wait(loop, got, 64, -1);
        for (int i = 0; i < n; i++) {
            char bytes[4096];
            int fd = got[i].data.fd;
            if (fd == listening) {
                fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
                e.data.fd = fd;
                epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e);
            } else if (recv(fd, bytes, sizeof(bytes), 0) <= 0 ||
                       send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) < 0) {
                close(fd);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in a;
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    int fd = http_listen(&a);
    if (n <= 0)
        return 1;
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fd);
    }
    http_measure(&a, n);
    return 0;
}
