/* SPDX-License-Identifier: MIT */
/*
 * Growable bytes with a maximum.
 *
 * Consuming moves `p` forward instead of moving the bytes back, so that
 * parsing a large buffer piece by piece takes linear time. The
 * memory itself begins at p - skip; make_room slides the bytes back when that
 * is cheaper than growing, or when the maximum forbids growing.
 *
 * Formats are read here, because musl's printf takes several times as long: each piece of
 * a text goes through its FILE.
 */
#include "base/buf.h"

#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

/* The first allocation: most buffers hold a line or a small object. */
#define FIRST_CAP 64

/* One byte is for the terminator, and no object passes PTRDIFF_MAX. */
static size_t limit(const struct buf *b)
{
    return b->max < PTRDIFF_MAX ? b->max : PTRDIFF_MAX - 1;
}

static void slide(struct buf *b)
{
    if (b->skip == 0)
        return;
    char *base = b->p - b->skip;
    memmove(base, b->p, b->n + 1);
    b->p = base;
    b->cap += b->skip;
    b->skip = 0;
}

/*
 * Makes room for n more bytes and a terminator. Returns -1 and marks the buffer if it is
 * full, would pass its maximum, or there is no memory for more than XALLOC_SMALL.
 */
static int make_room(struct buf *b, size_t n)
{
    if (b->full || n > buf_room(b)) {
        b->full = true;
        return -1;
    }
    size_t need = b->n + n + 1;
    if (need <= b->cap)
        return 0;
    /* No more bytes are moved than were consumed: linear time in total. */
    if (b->skip >= b->n && need <= b->cap + b->skip) {
        slide(b);
        return 0;
    }
    slide(b);
    size_t most = limit(b) + 1;
    size_t cap = b->cap > most / 2 ? most : b->cap * 2;
    if (cap < FIRST_CAP)
        cap = FIRST_CAP < most ? FIRST_CAP : most;
    if (cap < need)
        cap = need;
    if (cap > b->cap) {
        char *p = realloc(b->p, cap);
        if (!p && cap <= XALLOC_SMALL)
            xalloc_failed(cap);
        if (!p) {
            b->full = true;
            return -1;
        }
        b->p = p;
        b->cap = cap;
        b->p[b->n] = '\0';
    }
    return 0;
}

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf)BUF_INIT(max);
}

void buf_release(struct buf *b)
{
    if (b->p)
        free(b->p - b->skip);
    buf_init(b, b->max);
}

static void empty(struct buf *b)
{
    buf_truncate(b, 0);
    if (b->p)
        slide(b);
}

void buf_reset(struct buf *b)
{
    empty(b);
    b->full = false;
}

void buf_resume(struct buf *b)
{
    b->full = false;
}

size_t buf_room(const struct buf *b)
{
    return b->n < limit(b) ? limit(b) - b->n : 0;
}

char *buf_reserve(struct buf *b, size_t n)
{
    bool there = !b->full && n < b->cap - b->n;
    return there || make_room(b, n) == 0 ? b->p + b->n : NULL;
}

void buf_commit(struct buf *b, size_t n)
{
    BUG_ON(n > 0 && n >= b->cap - b->n);
    b->n += n;
    if (b->p)
        b->p[b->n] = '\0';
}

int buf_add(struct buf *b, const void *p, size_t n)
{
    char *to = buf_reserve(b, n);
    if (!to)
        return -1;
    if (n)
        memcpy(to, p, n);
    b->n += n;
    to[n] = '\0';
    return 0;
}

int buf_adds(struct buf *b, struct str s)
{
    return buf_add(b, s.p, s.n);
}

int buf_addz(struct buf *b, const char *z)
{
    return buf_add(b, z, strlen(z));
}

int buf_addc(struct buf *b, char c)
{
    return buf_add(b, &c, 1);
}

int buf_addi(struct buf *b, int64_t v)
{
    char text[1 + STR_U64_MAX] = "-";
    bool minus = v < 0;
    uint64_t size = minus ? 0 - (uint64_t)v : (uint64_t)v;
    return buf_add(b, text + !minus, minus + str_from_u64(text + 1, size));
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = buf_addv(b, fmt, ap);
    va_end(ap);
    return rc;
}

static int add_unsigned(struct buf *b, uint64_t v)
{
    char text[STR_U64_MAX];
    return buf_add(b, text, str_from_u64(text, v));
}

/* At most n bytes of a C string. */
static int add_text(struct buf *b, const char *z, int n)
{
    if (!z)
        z = "(null)";
    return buf_add(b, z, n < 0 ? strlen(z) : strnlen(z, (size_t)n));
}

/* Sets *n to the length of the conversion if fmt begins with it. */
static bool is(const char *fmt, const char *conversion, size_t *n)
{
    size_t length = strlen(conversion);
    if (strncmp(fmt, conversion, length) != 0)
        return false;
    *n = length;
    return true;
}

/*
 * Appends what fmt has up to its end, or up to the first conversion that is not one of
 * those here. Returns what is left of fmt.
 */
static const char *add_simple(struct buf *b, const char *fmt, va_list *ap)
{
    for (;;) {
        const char *at = strchrnul(fmt, '%');
        buf_add(b, fmt, (size_t)(at - fmt));
        fmt = at;
        if (b->full || !*fmt)
            return fmt;
        size_t n = 2;
        if (fmt[1] == 's') {
            add_text(b, va_arg(*ap, const char *), -1);
        } else if (fmt[1] == 'd') {
            buf_addi(b, va_arg(*ap, int));
        } else if (fmt[1] == 'c') {
            buf_addc(b, (char)va_arg(*ap, int));
        } else if (fmt[1] == 'u') {
            add_unsigned(b, va_arg(*ap, unsigned));
        } else if (is(fmt, "%.*s", &n)) {
            int most = va_arg(*ap, int);
            add_text(b, va_arg(*ap, const char *), most);
        } else if (is(fmt, "%llu", &n)) {
            add_unsigned(b, va_arg(*ap, unsigned long long));
        } else if (is(fmt, "%lld", &n)) {
            buf_addi(b, va_arg(*ap, long long));
        } else if (is(fmt, "%zu", &n)) {
            add_unsigned(b, va_arg(*ap, size_t));
        } else {
            return fmt;
        }
        fmt += n;
    }
}

static int add_printed(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    /* Most texts fit; for a longer one the attempt returns its length. */
    size_t have = b->p ? b->cap - b->n : 0;
    int n = vsnprintf(have ? b->p + b->n : NULL, have, fmt, ap);
    int rc = -1;
    if (n >= 0 && (size_t)n < have) {
        b->n += (size_t)n;
        rc = 0;
    } else if (n >= 0 && make_room(b, (size_t)n) == 0) {
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
        rc = 0;
    } else if (have) {
        b->p[b->n] = '\0'; /* the attempt wrote there */
    }
    b->full = rc < 0;
    va_end(again);
    return rc;
}

int buf_addv(struct buf *b, const char *fmt, va_list ap)
{
    size_t before = b->n;
    va_list rest;
    va_copy(rest, ap);
    fmt = add_simple(b, fmt, &rest);
    if (*fmt && !b->full)
        add_printed(b, fmt, rest);
    va_end(rest);
    if (!b->full)
        return 0;
    buf_truncate(b, before);
    return -1;
}

bool buf_fill(char *out, size_t size, const char *fmt, ...)
{
    struct buf b = {.p = out, .cap = size, .max = size - 1}; /* so it never grows */
    va_list ap;
    out[0] = '\0';
    va_start(ap, fmt);
    int rc = buf_addv(&b, fmt, ap);
    va_end(ap);
    return rc == 0;
}

void buf_consume(struct buf *b, size_t n)
{
    BUG_ON(n > b->n);
    if (n == 0)
        return;
    if (n == b->n) {
        empty(b);
        return;
    }
    b->p += n;
    b->n -= n;
    b->cap -= n;
    b->skip += n;
}

void buf_truncate(struct buf *b, size_t n)
{
    BUG_ON(n > b->n);
    b->n = n;
    if (b->p)
        b->p[n] = '\0';
}

char *buf_take(struct buf *b)
{
    if (!b->p) {
        b->full = false;
        return xstrdup("");
    }
    slide(b);
    char *p = b->p;
    buf_init(b, b->max);
    return p;
}
