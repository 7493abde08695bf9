/* SPDX-License-Identifier: MIT */
/*
 * Lines of an event log. Every byte that is replayed passes through event_text,
 * so it looks at 64 of them at a time.
 */
#include "eventlog/line.h"

#include "base/crc.h"
#include "base/jsontext.h"
#include "base/utf8.h"

#include <stdio.h>
#include <time.h>

#define HEAD  "{\"id\":"
#define STAMP ",\"timestamp\":\""

/* Sixteen bytes in one register, which x86-64 and arm64 both have. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

enum { AT_ONCE = 64 };

/* Whether one of the next AT_ONCE bytes is below 0x20. */
static bool has_control(const char *p)
{
    bytes16 v[AT_ONCE / 16];
    uint64_t any[2];
    memcpy(v, p, AT_ONCE);
    bytes16 found = (bytes16)(v[0] < 0x20) | (bytes16)(v[1] < 0x20) |
                    (bytes16)(v[2] < 0x20) | (bytes16)(v[3] < 0x20);
    memcpy(any, &found, sizeof(any));
    return (any[0] | any[1]) != 0;
}

/* The same for the next eight. */
static bool has_control_8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof(x));
    x = (x - UINT64_C(0x2020202020202020)) & ~x;
    return (x & UINT64_C(0x8080808080808080)) != 0;
}

size_t event_text(struct str s)
{
    size_t i = 0;
    while (i + AT_ONCE <= s.n && !has_control(s.p + i))
        i += AT_ONCE;
    while (i + 8 <= s.n && !has_control_8(s.p + i))
        i += 8;
    while (i < s.n && (unsigned char)s.p[i] >= 0x20)
        i++;
    return i;
}

bool event_head(struct str s, struct event_line *line)
{
    const size_t head = sizeof(HEAD) - 1, stamp = sizeof(STAMP) - 1;
    uint64_t id = 0;
    size_t i = head;
    if (s.n < EVENT_LINE_MIN - 2 || memcmp(s.p, HEAD, head) != 0)
        return false;
    for (; i < s.n && i < head + 16 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        id = id * 10 + (uint64_t)(s.p[i] - '0');
    if (id == 0 || s.p[head] == '0' || s.n - i < stamp + EVENT_STAMP + 2 ||
        memcmp(s.p + i, STAMP, stamp) != 0)
        return false;
    const char *at = s.p + i + stamp;
    if (at[10] != 'T' || at[19] != '.' || at[EVENT_STAMP] != '"' ||
        (at[EVENT_STAMP + 1] != ',' && at[EVENT_STAMP + 1] != '}'))
        return false;
    line->id = id;
    line->stamp = str_n(at, EVENT_STAMP);
    return true;
}

enum event_line_kind event_line(struct str s, struct event_line *line)
{
    size_t n = event_text(s);
    bool clean = n == s.n || s.p[n] == '\n';
    if (!clean) {
        const char *end = memchr(s.p + n, '\n', s.n - n);
        n = end ? (size_t)(end - s.p) : s.n;
    }
    if (n == s.n) {
        line->n = n;
        return EVENT_LINE_OPEN;
    }
    line->n = n + 1;
    if (clean && event_head(str_sub(s, 0, n), line) && s.p[n - 1] == '}')
        return EVENT_LINE_GOOD;
    return EVENT_LINE_BAD;
}

/* ---- sums ---- */

static const char sum_form[] = ",\"sum\":\"00000000\"}";

void event_put_sum(char out[EVENT_SUM + 2], uint32_t sum)
{
    static const char digit[] = "0123456789abcdef";
    memcpy(out, sum_form, EVENT_SUM + 1);
    for (int i = 15; i > 7; i--, sum >>= 4)
        out[i] = digit[sum & 15];
    out[EVENT_SUM + 1] = '\n';
}

/* How many bytes differ from the form of a sum. */
static int unlike_sum(const char *p)
{
    int unlike = 0;
    for (int i = 0; i <= EVENT_SUM; i++) {
        bool hex = (p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f');
        unlike += sum_form[i] == '0' ? !hex : p[i] != sum_form[i];
    }
    return unlike;
}

bool event_intact(struct str s, size_t *n)
{
    enum { DAMAGED_MAX = 3 }; /* with more, the line has no sum */
    char want[EVENT_SUM + 2];
    if (s.n < EVENT_LINE_MIN - 1)
        return false;
    const char *end = s.n > EVENT_SUM ? s.p + s.n - EVENT_SUM - 1 : s.p;
    *n = (size_t)(end - s.p);
    event_put_sum(want, crc_add(0, str_n(s.p, *n)));
    if (memcmp(want, end, EVENT_SUM + 1) == 0)
        return true;
    if (unlike_sum(end) <= DAMAGED_MAX)
        return false;
    *n = s.n - 1;
    return utf8_valid(s) && jsontext_valid(s);
}

bool event_written(struct str s, size_t *n)
{
    enum { NAME = 8 }; /* ,"sum":" */
    if (s.n <= EVENT_SUM + 1)
        return false;
    *n = s.n - EVENT_SUM - 1;
    return memcmp(s.p + *n, sum_form, NAME) == 0;
}

/* ---- writing ---- */

static void put_digits(char *out, unsigned width, uint64_t v)
{
    for (; width > 0; width--, v /= 10)
        out[width - 1] = (char)('0' + v % 10);
}

size_t event_put_head(char *out, uint64_t id, const char stamp[EVENT_STAMP])
{
    unsigned width = 1;
    char *p = out;
    for (uint64_t v = id; v >= 10; v /= 10)
        width++;
    memcpy(p, HEAD, sizeof(HEAD) - 1);
    p += sizeof(HEAD) - 1;
    put_digits(p, width, id);
    p += width;
    memcpy(p, STAMP, sizeof(STAMP) - 1);
    p += sizeof(STAMP) - 1;
    memcpy(p, stamp, EVENT_STAMP);
    p += EVENT_STAMP;
    *p++ = '"';
    return (size_t)(p - out);
}

void event_stamp(char out[EVENT_STAMP], int64_t us)
{
    struct tm t = {0};
    time_t seconds = (time_t)(us / 1000000);
    gmtime_r(&seconds, &t);
    memcpy(out, "0000-00-00T00:00:00.000000", EVENT_STAMP);
    put_digits(out, 4, (uint64_t)t.tm_year + 1900);
    put_digits(out + 5, 2, (uint64_t)t.tm_mon + 1);
    put_digits(out + 8, 2, (uint64_t)t.tm_mday);
    put_digits(out + 11, 2, (uint64_t)t.tm_hour);
    put_digits(out + 14, 2, (uint64_t)t.tm_min);
    put_digits(out + 17, 2, (uint64_t)t.tm_sec);
    put_digits(out + 20, 6, (uint64_t)(us % 1000000));
}

void event_stamp_move(char stamp[EVENT_STAMP], int64_t before_us, int64_t us)
{
    if (before_us / 1000000 == us / 1000000)
        put_digits(stamp + 20, 6, (uint64_t)(us % 1000000));
    else
        event_stamp(stamp, us);
}

/* Returns a number of `width` digits within bounds; else -1. */
static int digits(const char *p, unsigned width, int least, int most)
{
    int v = 0;
    for (unsigned i = 0; i < width; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        v = v * 10 + (p[i] - '0');
    }
    return v >= least && v <= most ? v : -1;
}

int64_t event_stamp_us(const char stamp[EVENT_STAMP])
{
    int year = digits(stamp, 4, 1970, 9999), month = digits(stamp + 5, 2, 1, 12);
    int day = digits(stamp + 8, 2, 1, 31), hour = digits(stamp + 11, 2, 0, 23);
    int minute = digits(stamp + 14, 2, 0, 59), second = digits(stamp + 17, 2, 0, 60);
    int us = digits(stamp + 20, 6, 0, 999999);
    if (stamp[4] != '-' || stamp[7] != '-' || stamp[10] != 'T' || stamp[13] != ':' ||
        stamp[16] != ':' || stamp[19] != '.')
        return -1;
    if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0 ||
        us < 0)
        return -1;
    struct tm t = {.tm_year = year - 1900,
                   .tm_mon = month - 1,
                   .tm_mday = day,
                   .tm_hour = hour,
                   .tm_min = minute,
                   .tm_sec = second};
    return (int64_t)timegm(&t) * 1000000 + us;
}

int event_add_gap(struct buf *out, const char stamp[EVENT_STAMP], uint64_t from,
                  uint64_t to, const char *reason)
{
    char head[EVENT_HEAD_MAX];
    size_t n = event_put_head(head, to, stamp);
    return buf_addf(out,
                    "%.*s,\"observation\":\"gap\",\"content\":\"\","
                    "\"extras\":{\"from\":%llu,\"to\":%llu,\"reason\":\"%s\"}}\n",
                    (int)n, head, (unsigned long long)from, (unsigned long long)to,
                    reason);
}
