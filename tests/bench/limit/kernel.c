/* SPDX-License-Identifier: MIT */
/*
 * kernel N CONNECTION_FILE: the limit of a cell in a Jupyter kernel that runs. A
 * client that speaks ZMTP 3.0 and signs by itself sends `1+1` N times, each when the
 * reply and the idle status of the one before have come, and prints the quantiles in
 * microseconds. Of what it receives it looks only for the words that it waits for.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char key[128];

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *why)
{
    perror(why);
    exit(1);
}

/* ---- SHA-256 (FIPS 180-4) and HMAC (RFC 2104) ---- */

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void block(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
               w[i - 7] + (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof(v));
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                     ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t b = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof(*v));
        v[4] += a;
        v[0] = a + b;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

/* Of at most 4096 bytes. */
static void sha256(unsigned char out[32], const unsigned char *p, size_t n)
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char padded[4096 + 128] = {0};
    size_t blocks = (n + 72) / 64;
    memcpy(padded, p, n);
    padded[n] = 0x80;
    for (int i = 0; i < 8; i++)
        padded[blocks * 64 - 1 - (size_t)i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    for (size_t i = 0; i < blocks; i++)
        block(h, padded + 64 * i);
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void sign(char hex[65], const char *text, size_t n)
{
    unsigned char inner[4096], outer[96], sum[32];
    for (size_t i = 0; i < 64; i++) {
        unsigned char c = i < strlen(key) ? (unsigned char)key[i] : 0;
        inner[i] = c ^ 0x36;
        outer[i] = c ^ 0x5c;
    }
    memcpy(inner + 64, text, n);
    sha256(outer + 64, inner, 64 + n);
    sha256(sum, outer, 96);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

/* ---- ZMTP 3.0 (RFC 23), NULL ---- */

struct channel {
    int fd;
    unsigned char in[1 << 16];
    size_t n;
};

static void put(int fd, const void *p, size_t n)
{
    if (write(fd, p, n) != (ssize_t)n)
        die("write");
}

static void greet(struct channel *c, const char *type)
{
    unsigned char hello[64] = {0xff, [9] = 0x7f, [10] = 3}, ready[64];
    memcpy(hello + 12, "NULL", 4);
    put(c->fd, hello, sizeof(hello));
    size_t n = strlen(type);
    memcpy(ready + 2, "\5READY\13Socket-Type\0\0\0", 21); /* a name, a length */
    ready[23] = (unsigned char)n;
    memcpy(ready + 24, type, n);
    ready[0] = 4;
    ready[1] = (unsigned char)(22 + n);
    put(c->fd, ready, 24 + n);
    while (c->n < 64 + 2 || c->n < 64 + 2 + (size_t)c->in[65]) {
        ssize_t r = read(c->fd, c->in + c->n, sizeof(c->in) - c->n);
        if (r <= 0)
            die("greeting");
        c->n += (size_t)r;
    }
    c->n = 0;
    /* libzmq 4.3 ends a connection of which it reads READY and this in one piece. */
    if (strcmp(type, "SUB") == 0)
        put(c->fd, "\0\1\1", 3);
}

static size_t add_part(unsigned char *p, const char *text, size_t n, int more)
{
    size_t head = n < 256 ? 2 : 9;
    p[0] = (unsigned char)(more | (n < 256 ? 0 : 2));
    for (size_t i = 1; i < head; i++)
        p[i] = (unsigned char)((uint64_t)n >> 8 * (head - 1 - i));
    memcpy(p + head, text, n);
    return head + n;
}

static void send_message(int fd, const char *type, int id, const char *content)
{
    char text[2048], sum[65];
    unsigned char out[4096];
    int head = snprintf(
        text, sizeof(text),
        "{\"msg_id\":\"limit-%d-%d\",\"session\":\"limit\",\"username\":\"l\","
        "\"date\":\"2024-01-01T00:00:00Z\",\"msg_type\":\"%s\","
        "\"version\":\"5.3\"}",
        (int)getpid(), id, type);
    int all = head +
              snprintf(text + head, sizeof(text) - (size_t)head, "{}{}%s", content);
    sign(sum, text, (size_t)all);
    size_t n = add_part(out, "<IDS|MSG>", 9, 1);
    n += add_part(out + n, sum, 64, 1);
    n += add_part(out + n, text, (size_t)head, 1);
    n += add_part(out + n, "{}", 2, 1);
    n += add_part(out + n, "{}", 2, 1);
    n += add_part(out + n, text + head + 4, (size_t)(all - head - 4), 0);
    put(fd, out, n);
}

/*
 * Reads what is there. 1: a message has come that has this id and all of these words.
 * Messages are told apart by their frames' last one.
 */
static int take(struct channel *c, const char *id, const char *word)
{
    ssize_t got = read(c->fd, c->in + c->n, sizeof(c->in) - c->n);
    int found = 0;
    if (got <= 0)
        die("the kernel is gone");
    c->n += (size_t)got;
    for (size_t at = 0, begin = 0; at + 9 < c->n;) {
        unsigned char flags = c->in[at];
        size_t head = flags & 2 ? 9 : 2, len = 0;
        for (size_t i = 1; i < head; i++)
            len = len << 8 | c->in[at + i];
        if (at + head + len > c->n)
            break;
        at += head + len;
        if (flags & 1)
            continue;
        found |= memmem(c->in + begin, at - begin, id, strlen(id)) &&
                 memmem(c->in + begin, at - begin, word, strlen(word));
        memmove(c->in, c->in + at, c->n - at);
        c->n -= at;
        at = begin = 0;
    }
    return found;
}

/* ---- the kernel ---- */

static char file[4096];

static const char *member(const char *name, char *out, size_t max)
{
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "\"%s\"", name);
    char *p = strstr(file, quoted);
    if (!p)
        die(name);
    p += strlen(quoted);
    p += strspn(p, ": \"");
    snprintf(out, max, "%.*s", (int)strcspn(p, "\",}\n "), p);
    return out;
}

static int dial(const char *which)
{
    char transport[16], ip[108], port[16];
    struct sockaddr_un u = {.sun_family = AF_UNIX};
    member("transport", transport, sizeof(transport));
    member("ip", ip, sizeof(ip));
    member(which, port, sizeof(port));
    struct sockaddr_in t = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int ipc = strcmp(transport, "ipc") == 0, one = 1;
    int fd = socket(ipc ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(u.sun_path, sizeof(u.sun_path), "%.90s-%.12s", ip, port);
    if (connect(fd, ipc ? (void *)&u : (void *)&t, ipc ? sizeof(u) : sizeof(t)) < 0)
        die(which);
    if (!ipc)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* One request, to its reply and idle; a signature is good only once. 0: they have not
 * come in ms milliseconds. */
static int run(struct channel *shell, struct channel *iopub, const char *type, int id,
               const char *content, int ms)
{
    char name[40];
    int replied = 0, idle = 0;
    snprintf(name, sizeof(name), "\"limit-%d-%d\"", (int)getpid(), id);
    send_message(shell->fd, type, id, content);
    while (!replied || !idle) {
        struct pollfd p[2] = {{shell->fd, POLLIN, 0}, {iopub->fd, POLLIN, 0}};
        if (poll(p, 2, ms) <= 0)
            return 0;
        if (p[0].revents)
            replied |= take(shell, name, "_reply\"");
        if (p[1].revents)
            idle |= take(iopub, name, "\"idle\"");
    }
    return 1;
}

static int by_value(const void *a, const void *b)
{
    return *(const double *)a > *(const double *)b ? 1 : -1;
}

int main(int argc, char **argv)
{
    static struct channel shell, iopub;
    int n = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0, warm = n / 10 + 1;
    FILE *f = n > 0 ? fopen(argv[2], "r") : NULL;
    double *us = calloc((size_t)n + 1, sizeof(*us));
    if (!f || fread(file, 1, sizeof(file) - 1, f) == 0)
        die("kernel N CONNECTION_FILE");
    member("key", key, sizeof(key));
    iopub.fd = dial("iopub_port");
    greet(&iopub, "SUB");
    shell.fd = dial("shell_port");
    greet(&shell, "DEALER");
    /* A subscription may come after what it is for: asked until it is heard. */
    for (int i = 1; !run(&shell, &iopub, "kernel_info_request", -warm - i, "{}", 500);
         i++) {
        if (i == 20)
            die("the kernel does not answer");
    }
    for (int i = -warm; i < n; i++) {
        double begin = now_us();
        if (!run(&shell, &iopub, "execute_request", i,
                 "{\"code\":\"1+1\",\"silent\":false,\"store_history\":true,"
                 "\"user_expressions\":{},\"allow_stdin\":false,\"stop_on_error\":false}",
                 10000))
            die("no answer");
        us[i < 0 ? 0 : i] = now_us() - begin;
    }
    qsort(us, (size_t)n, sizeof(*us), by_value);
    printf("p50 %.1f\np99 %.1f\n", us[n / 2], us[n * 99 / 100]);
    return 0;
}
