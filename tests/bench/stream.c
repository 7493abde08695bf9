/* SPDX-License-Identifier: MIT */
/*
 * stream PORT rate LINKS COUNT | replay | latency COUNT | idle LINKS PID
 *
 * The event stream over TCP on this machine, as its clients see it.
 *
 *   rate     COUNT actions that do next to nothing (two events each) are sent, 256 ahead
 *            at the most, and each of LINKS WebSockets reads all of it; events a second
 *   replay   all events from the first on, by one WebSocket: events, MB, MB/s
 *   latency  a command prints the time, COUNT times, 5 ms apart; microseconds until its
 *            delta is here: p50 and p99
 *   idle     so many WebSockets that follow and hear nothing: KiB of the process PID for
 *            each
 */
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, AHEAD = 256 };

/* A WebSocket of which whole messages are taken. */
struct link {
    int fd;
    char *in;
    size_t have;
    long events; /* with an id */
    uint64_t bytes;
};

static int port;

static void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t got = send(fd, p, n, MSG_NOSIGNAL);
        if (got <= 0)
            die("cannot send: %s", strerror(errno));
        p += got;
        n -= (size_t)got;
    }
}

/* Its answer's head is read to the last byte, and no further. */
static void open_link(struct link *l, const char *query)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char text[512];
    *l = (struct link){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        die("cannot connect: %s", strerror(errno));
    int n = snprintf(text, sizeof(text),
                     "GET /events%s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                     query);
    send_all(l->fd, text, (size_t)n);
    for (n = 0; n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4) != 0; n++) {
        if (n == sizeof(text) || read(l->fd, text + n, 1) != 1)
            die("no answer to a handshake");
    }
    if (memcmp(text, "HTTP/1.1 101", 12) != 0)
        die("refused: %.60s", text);
}

/* The message at the front; 0: not all of it is there. */
static size_t message(const struct link *l, const char **p, size_t *n)
{
    const uint8_t *b = (const uint8_t *)l->in;
    size_t head = 2;
    if (l->have < 2)
        return 0;
    *n = b[1] & 127u;
    if (*n == 126) {
        head = 4;
        *n = l->have < 4 ? BUFFER : (size_t)b[2] << 8 | b[3];
    } else if (*n == 127) {
        head = 10;
        *n = l->have < 10
                 ? BUFFER
                 : (size_t)b[6] << 24 | (size_t)b[7] << 16 | (size_t)b[8] << 8 | b[9];
    }
    *p = l->in + head;
    return l->have >= head + *n ? head + *n : 0;
}

/* Reads once, and gives each message to fn. */
static void take(struct link *l, void (*fn)(struct str message))
{
    const char *p;
    size_t n, used;
    if (!l->in)
        l->in = malloc(BUFFER);
    ssize_t got = recv(l->fd, l->in + l->have, BUFFER - l->have, 0);
    if (got <= 0)
        die("a link ended");
    l->have += (size_t)got;
    l->bytes += (size_t)got;
    size_t at = 0;
    struct link rest = *l;
    while (
        (rest.in = l->in + at, rest.have = l->have - at, used = message(&rest, &p, &n))) {
        l->events += n > 6 && memcmp(p, "{\"id\":", 6) == 0;
        if (fn)
            fn(str_n(p, n));
        at += used;
    }
    memmove(l->in, l->in + at, l->have - at);
    l->have -= at;
}

static size_t frame(char *out, struct str text)
{
    size_t n = 2;
    out[0] = (char)0x81;
    if (text.n < 126) {
        out[1] = (char)(0x80 | text.n);
    } else {
        out[1] = (char)(0x80 | 126);
        out[n++] = (char)(text.n >> 8);
        out[n++] = (char)text.n;
    }
    memset(out + n, 0, 4); /* a mask of zeros */
    memcpy(out + n + 4, text.p, text.n);
    return n + 4 + text.n;
}

static void say(struct link *l, const char *text)
{
    char out[1024];
    send_all(l->fd, out, frame(out, str_of(text)));
}

/* ---- what is measured ---- */

static void rate(int links, int count)
{
    struct link *l = calloc((size_t)links, sizeof(*l));
    struct pollfd *p = calloc((size_t)links, sizeof(*p));
    char one[512], *many = malloc(AHEAD * sizeof(one));
    size_t n = frame(one,
                     STR("{\"action\":\"resize\",\"args\":{\"rows\":50,\"cols\":200}}"));
    for (int i = 0; i < links; i++) {
        open_link(&l[i], "");
        p[i] = (struct pollfd){.fd = l[i].fd, .events = POLLIN};
    }
    long sent = 0, least = 0;
    double begin = now_us();
    while (least < 2L * count) {
        size_t out = 0;
        for (; sent < count && sent - least / 2 < AHEAD; sent++, out += n)
            memcpy(many + out, one, n);
        send_all(l[0].fd, many, out);
        if (poll(p, (nfds_t)links, 10000) <= 0)
            die("nothing comes any more, of %ld events %ld", 2L * count, least);
        least = 2L * count;
        for (int i = 0; i < links; i++) {
            if (p[i].revents)
                take(&l[i], NULL);
            least = l[i].events < least ? l[i].events : least;
        }
    }
    double s = (now_us() - begin) / 1e6;
    printf("rate %.0f\n", 2.0 * count / s);
}

static void replay(void)
{
    struct link l, end;
    open_link(&end, "");
    say(&end, "{\"action\":\"resize\",\"args\":{\"rows\":50,\"cols\":200}}");
    while (end.events < 2)
        take(&end, NULL);
    double last = 0;
    double begin = now_us();
    open_link(&l, "?since=0");
    struct pollfd p = {.fd = l.fd, .events = POLLIN};
    while (poll(&p, 1, 500) > 0) {
        take(&l, NULL);
        last = now_us();
    }
    double s = (last - begin) / 1e6;
    printf("events %ld\nMB %.1f\nrate %.0f\n", l.events, (double)l.bytes / 1e6,
           (double)l.bytes / 1e6 / s);
}

static double *late;
static int lates, wanted;
static bool over;

static void on_delta(struct str m)
{
    static const char key[] = "\"content\":\"";
    const char *p = memmem(m.p, m.n, key, sizeof(key) - 1);
    struct timespec now;
    over = over || str_find(str_sub(m, 0, 100), STR("\"cause\"")) > 40;
    if (!p || str_find(m, STR("\"observation\":\"delta\"")) < 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    double said = strtod(p + sizeof(key) - 1, NULL);
    if (said > 1e9 && lates < wanted)
        late[lates++] = ((double)now.tv_sec - said) * 1e6 + (double)now.tv_nsec / 1e3;
}

static void latency(int count)
{
    struct link l;
    char text[512];
    late = calloc((size_t)count, sizeof(*late));
    wanted = count;
    open_link(&l, "");
    snprintf(text, sizeof(text),
             "{\"action\":\"run\",\"args\":{\"command\":\"for i in {1..%d}; do echo "
             "$EPOCHREALTIME; read -t 0.005 x <> <(:); done\",\"blocking\":true}}",
             count);
    say(&l, text);
    while (!over)
        take(&l, on_delta);
    printf("p50 %.0f\np99 %.0f\n", quantile(late, lates, 0.5),
           quantile(late, lates, 0.99));
}

static long resident_kib(const char *pid)
{
    char path[64];
    long pages = 0;
    snprintf(path, sizeof(path), "/proc/%s/statm", pid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        die("cannot read %s", path);
    fclose(f);
    return pages * 4;
}

static void idle(int links, const char *pid)
{
    struct link *l = calloc((size_t)links, sizeof(*l));
    char hello[256];
    long before = resident_kib(pid);
    for (int i = 0; i < links; i++) {
        open_link(&l[i], "");
        if (recv(l[i].fd, hello, sizeof(hello), 0) <= 0)
            die("no hello");
    }
    printf("links %d\neach %.2f\n", links, (double)(resident_kib(pid) - before) / links);
    fflush(stdout);
    pause();
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage: stream PORT rate LINKS COUNT | replay | latency COUNT | idle LINKS "
            "PID");
    port = count_of(argv[1]);
    if (strcmp(argv[2], "rate") == 0 && argc == 5)
        rate(count_of(argv[3]), count_of(argv[4]));
    else if (strcmp(argv[2], "replay") == 0)
        replay();
    else if (strcmp(argv[2], "latency") == 0 && argc == 4)
        latency(count_of(argv[3]));
    else if (strcmp(argv[2], "idle") == 0 && argc == 5)
        idle(count_of(argv[3]), argv[4]);
    else
        die("what is %s?", argv[2]);
    return 0;
}
