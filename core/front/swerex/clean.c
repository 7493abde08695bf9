/* SPDX-License-Identifier: MIT */
/*
 * Output of a terminal as the text of an observation. Control sequences are those of
 * ECMA-48 5.4 (CSI) and two-byte ones, in the form that SWE-ReX removes: ESC, one of @ to
 * _, parameter bytes, intermediate bytes, a final byte. An operating system command (5.6,
 * ESC ]) is removed with its whole text, of which SWE-ReX leaves half.
 */
#include "front/swerex/own.h"

#include "base/utf8.h"

enum { SEQUENCE_MAX = 4096, HOLD_MAX = 1 << 20 };

/* Returns the end of the run of bytes between low and high that begins at `at`. */
static size_t skip(struct str s, size_t at, unsigned char low, unsigned char high)
{
    while (at < s.n && (unsigned char)s.p[at] >= low && (unsigned char)s.p[at] <= high)
        at++;
    return at;
}

/* Returns the length of the operating system command at the start of s, to BEL or ESC \;
 * 0 if it is incomplete, -1 if there is none. */
static long system_command(struct str s)
{
    for (size_t i = 2; i < s.n && i < SEQUENCE_MAX; i++) {
        if (s.p[i] == '\a')
            return (long)i + 1;
        if (s.p[i] == '\033' && i + 1 == s.n)
            return 0;
        if (s.p[i] == '\033')
            return s.p[i + 1] == '\\' ? (long)i + 2 : -1;
    }
    return s.n < SEQUENCE_MAX ? 0 : -1;
}

/* The same for any control sequence; last: nothing follows s. */
static long sequence(struct str s, bool last)
{
    if (s.n < 2)
        return last ? -1 : 0;
    if (s.p[1] < '@' || s.p[1] > '_')
        return -1;
    if (s.p[1] == ']') {
        long n = system_command(s);
        if (n > 0 || (n == 0 && !last))
            return n;
    }
    size_t at = skip(s, skip(s, 2, '0', '?'), ' ', '/');
    if (at >= SEQUENCE_MAX || (at == s.n && last))
        return -1;
    if (at == s.n)
        return 0;
    return s.p[at] >= '@' && s.p[at] <= '~' ? (long)at + 1 : -1;
}

/* For a carriage return at the start of s, returns the place of the LF of a CR LF,
 * perhaps with sequences between; 0 if it is not a CR LF; -1 if that depends on the next
 * bytes. */
static long line_end(struct str s, bool last)
{
    size_t at = 1;
    while (at < s.n && s.p[at] == '\033') {
        long n = sequence(str_sub(s, at, s.n), last);
        if (n <= 0)
            return n == 0 ? -1 : 0;
        at += (size_t)n;
    }
    if (at == s.n)
        return last ? 0 : -1;
    return s.p[at] == '\n' ? (long)at : 0;
}

/* Cleans the beginning of s, which is not empty. Returns the number of bytes done; 0 if
 * more are needed. */
static size_t clean_one(struct str s, bool last, struct buf *out)
{
    uint32_t c;
    long n = 1;
    if (s.p[0] == '\033') {
        n = sequence(s, last);
        if (n >= 0)
            return (size_t)n;
    } else if (s.p[0] == '\r') {
        n = line_end(s, last);
        if (n != 0)
            return n > 0 ? (size_t)n : 0;
    } else {
        n = utf8_decode(s, &c);
        if (n == 0 && !last)
            return 0;
        if (n <= 0) {
            buf_addf(out, "\\x%02x", (unsigned char)s.p[0]);
            return 1;
        }
        buf_adds(out, str_sub(s, 0, (size_t)n));
        return (size_t)n;
    }
    buf_addc(out, s.p[0]);
    return 1;
}

static struct str clean_some(struct str s, bool last, struct buf *out)
{
    while (s.n > 0) {
        size_t n = 0;
        while (n < s.n && s.p[n] != '\033' && s.p[n] != '\r' &&
               (unsigned char)s.p[n] < 0x80)
            n++;
        buf_adds(out, str_sub(s, 0, n));
        s = str_sub(s, n, s.n);
        n = s.n > 0 ? clean_one(s, last, out) : 0;
        if (n == 0)
            break;
        s = str_sub(s, n, s.n);
    }
    return s;
}

void swerex_clean(struct buf *hold, struct str bytes, bool last, struct buf *out)
{
    struct str left;
    if (hold->max == 0)
        buf_init(hold, HOLD_MAX);
    if (hold->n == 0) {
        left = clean_some(bytes, last, out);
        buf_adds(hold, left);
    } else {
        buf_adds(hold, bytes);
        left = clean_some(buf_str(hold), last, out);
        buf_consume(hold, hold->n - left.n);
    }
}
