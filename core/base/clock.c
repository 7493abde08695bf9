/* SPDX-License-Identifier: MIT */
/*
 * Time, random bytes and ids. No call here can fail: without getrandom and
 * /dev (an empty image under an old filter) ids are still unique, but can be
 * guessed.
 */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define WALL_MAX INT64_C(253402300799999) /* the end of the year 9999 */

static struct timespec now(clockid_t id)
{
    struct timespec t = {0, 0};
    clock_gettime(id, &t);
    return t;
}

int64_t clock_ms(void)
{
    struct timespec t = now(CLOCK_MONOTONIC);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_us(void)
{
    struct timespec t = now(CLOCK_MONOTONIC);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_cpu_us(void)
{
    struct timespec t = now(CLOCK_PROCESS_CPUTIME_ID);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_wall_ms(void)
{
    struct timespec t = now(CLOCK_REALTIME);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void clock_iso(int64_t wall_ms, char out[25])
{
    if (wall_ms < 0)
        wall_ms = 0;
    if (wall_ms > WALL_MAX)
        wall_ms = WALL_MAX;
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm t;
    memset(&t, 0, sizeof(t));
    gmtime_r(&seconds, &t);
    /* Bounded above, but the compiler assumes that every field is any int. */
    char text[96];
    snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
             t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min,
             t.tm_sec, (int)(wall_ms % 1000));
    memcpy(out, text, 24);
    out[24] = '\0';
}

/* Bytes that were filled. */
static size_t from_kernel(unsigned char *p, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = getrandom(p + done, n - done, 0);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    return done;
}

static size_t from_device(unsigned char *p, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return 0;
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(fd, p + done, n - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    close(fd);
    return done;
}

/* A bijection of 64 bits in which every input bit changes half the output. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/*
 * The last resort. The kernel leaves 16 random bytes in every process image
 * (AT_RANDOM); time and pid tell forked copies and later calls apart.
 */
static void from_anything(unsigned char *p, size_t n)
{
    uint64_t seed[2] = {0, 0};
    const void *image = (const void *)getauxval(AT_RANDOM);
    if (image)
        memcpy(seed, image, sizeof(seed));
    struct timespec t = now(CLOCK_MONOTONIC), w = now(CLOCK_REALTIME);
    uint64_t x = mix(seed[0] ^ (uint64_t)t.tv_nsec);
    x = mix(x ^ seed[1] ^ ((uint64_t)t.tv_sec << 32) ^ (uint64_t)w.tv_nsec);
    x = mix(x ^ (uint64_t)w.tv_sec ^ ((uint64_t)getpid() << 32));
    x = mix(x ^ (uint64_t)(uintptr_t)p ^ (uint64_t)(uintptr_t)&random_bytes);
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0)
            x += UINT64_C(0x9e3779b97f4a7c15);
        p[i] = (unsigned char)(mix(x) >> (i % 8 * 8));
    }
}

void random_bytes(void *p, size_t n)
{
    int saved = errno;
    unsigned char *at = p;
    size_t done = from_kernel(at, n);
    if (done < n)
        done += from_device(at + done, n - done);
    if (done < n)
        from_anything(at + done, n - done);
    errno = saved;
}

void random_hex(char *out, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    random_bytes(out, n);
    for (size_t i = 0; i < n; i++)
        out[i] = digit[(unsigned char)out[i] & 15];
    out[n] = '\0';
}
