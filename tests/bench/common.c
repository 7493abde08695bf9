/* SPDX-License-Identifier: MIT */
/* A clock, quantiles, a blocking client. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *v, int n, double q)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    int i = (int)(q * n);
    return v[i < n ? i : n - 1];
}

void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

int count_of(const char *text)
{
    uint64_t n;
    if (str_to_u64(str_of(text), &n) < 0 || n < 1 || n > 1000000000)
        die("a number is wanted, not %s", text);
    return (int)n;
}

void fill_lines(char *p, size_t n, uint64_t from)
{
    uint64_t number = from / LINE;
    for (int i = LINE - 2; i >= 0; i--, number /= 10)
        p[i] = (char)('0' + number % 10);
    p[LINE - 1] = '\n';
    for (size_t at = LINE; at < n; at += LINE) {
        memcpy(p + at, p + at - LINE, LINE);
        int i = LINE - 2;
        while (i > 0 && p[at + (size_t)i] == '9')
            p[at + (size_t)i--] = '0';
        p[at + (size_t)i]++;
    }
}

void dial(struct client *c)
{
    struct err e = ERR_INIT;
    if (client_open(c, NULL, false, &e) < 0)
        die("%s", e.text);
    fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) & ~O_NONBLOCK);
}

void ask_send(struct client *c, const char *members)
{
    static unsigned next;
    struct buf text = BUF_INIT(FRAME_MAX);
    buf_addf(&text, "{\"v\":1,\"id\":\"bench-%d-%u\",%s}", (int)getpid(), next++, members);
    if (frame_add(&c->out, 'Q', buf_str(&text)) < 0 || client_flush(c) < 0)
        die("cannot send a request: %s", strerror(errno));
    buf_release(&text);
}

struct str ask_frame(struct client *c, char *type)
{
    struct frame f;
    int r;
    while ((r = client_frame(c, &f)) == 0) {
        if (client_read(c) < 0)
            die("the server ended the connection");
    }
    if (r < 0)
        die("the server sent something else than frames");
    *type = f.type;
    return f.payload;
}

struct json *ask_result(struct str payload)
{
    struct err e = ERR_INIT;
    struct json *r = json_parse(payload, &e);
    if (!r || !json_bool(r, "ok", false))
        die("the server answered: %.*s", STR_ARG(payload));
    return r;
}

struct json *ask(struct client *c, const char *members, uint64_t *bytes)
{
    char type;
    uint64_t offset;
    struct str payload, output;
    ask_send(c, members);
    while (payload = ask_frame(c, &type), type != 'R') {
        if (bytes && type == 'O' && frame_bytes(payload, &offset, &output) == 0)
            *bytes += output.n;
    }
    return ask_result(payload);
}
