/* SPDX-License-Identifier: MIT */
/* See url_host.h; Punycode is RFC 3492. */
#include "http/url_host.h"

#include "base/utf8.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <wctype.h>

enum { HOST_MAX = 4096, LABEL_MAX = 512 }; /* bytes of a name; characters of a label */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- addresses ---- */

/* A part of an IPv4 address: decimal, 0x or 0 before octal. False: not a number. */
static bool to_number(struct str s, uint64_t *out)
{
    unsigned base = 10;
    if (s.n == 0)
        return false;
    if (s.n > 1 && s.p[0] == '0') {
        bool hex = (s.p[1] | 32) == 'x';
        base = hex ? 16 : 8;
        s = str_sub(s, hex ? 2 : 1, s.n);
    }
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        int digit = hex_of(s.p[i]);
        if (digit < 0 || (unsigned)digit >= base)
            return false;
        if (*out <= UINT32_MAX)
            *out = *out * base + (unsigned)digit;
    }
    return true;
}

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.n > 0;
}

/* Whether the last label is a number, after which the name is an address or nothing. */
static bool is_numeric(struct str s)
{
    uint64_t n;
    if (str_ends(s, STR(".")))
        s.n--;
    size_t at = s.n;
    while (at && s.p[at - 1] != '.')
        at--;
    struct str last = str_sub(s, at, s.n);
    return is_digits(last) || to_number(last, &n);
}

static int add_v4(struct buf *out, struct str s)
{
    uint64_t parts[4], address = 0;
    size_t n = 0;
    if (str_ends(s, STR(".")))
        s.n--;
    do {
        if (n == 4 || !to_number(str_cut(&s, '.'), &parts[n]))
            return -1;
        n++;
    } while (s.n);
    for (size_t i = 0; i + 1 < n; i++) {
        if (parts[i] > 255)
            return -1;
        address |= parts[i] << (24 - 8 * i);
    }
    if (parts[n - 1] >= (uint64_t)1 << (8 * (5 - n)))
        return -1;
    address |= parts[n - 1];
    return buf_addf(out, "%u.%u.%u.%u", (unsigned)(address >> 24) & 255,
                    (unsigned)(address >> 16) & 255, (unsigned)(address >> 8) & 255,
                    (unsigned)address & 255);
}

/* The longest run of zeros, of two or more, is "::". */
static int add_v6(struct buf *out, struct str s)
{
    unsigned char a[16];
    char z[64];
    int best = -1, best_n = 1;
    if (s.n >= sizeof(z) || memchr(s.p, '\0', s.n))
        return -1;
    memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    if (inet_pton(AF_INET6, z, a) != 1)
        return -1;
    for (int i = 0; i < 8; i++) {
        int n = 0;
        while (i + n < 8 && !a[2 * (i + n)] && !a[2 * (i + n) + 1])
            n++;
        if (n > best_n) {
            best = i;
            best_n = n;
        }
        i += n;
    }
    int rc = buf_addc(out, '[');
    for (int i = 0; i < 8 && rc == 0; i++) {
        if (i == best) {
            rc = buf_addz(out, i ? ":" : "::");
            i += best_n - 1;
        } else {
            rc = buf_addf(out, "%x%s", (unsigned)a[2 * i] << 8 | a[2 * i + 1],
                          i < 7 ? ":" : "");
        }
    }
    return rc < 0 ? -1 : buf_addc(out, ']');
}

/* ---- names ---- */

static bool is_ignored(uint32_t c)
{
    return c == 0xAD || c == 0x34F || (c >= 0x180B && c <= 0x180F) || c == 0x200B ||
           c == 0x2060 || c == 0x2064 || (c >= 0x206A && c <= 0x206F) ||
           (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF || (c >= 0xE0100 && c <= 0xE01EF);
}

/* No part of a name; some of them stand for dots, colons and slashes. */
static bool is_refused(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0x80, 0x9F},       {0x6DD, 0x6DD},     {0x1680, 0x1680},   {0x200E, 0x200F},
        {0x2025, 0x2026},   {0x2028, 0x202E},   {0x2047, 0x2049},   {0x2061, 0x2063},
        {0x2065, 0x2069},   {0x2100, 0x2101},   {0x2105, 0x2106},   {0x2488, 0x249B},
        {0x2A74, 0x2A76},   {0x2FF0, 0x2FFF},   {0xE000, 0xF8FF},   {0xFDD0, 0xFDEF},
        {0xFE10, 0xFE19},   {0xFE30, 0xFE6B},   {0xFFF0, 0xFFFD},   {0xE0000, 0xE0FFF},
        {0xF0000, 0x10FFFF}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    }
    return (c & 0xFFFE) == 0xFFFE;
}

/* The mapping of UTS 46, as far as it is implemented here. */
static uint32_t mapped(uint32_t c)
{
    if (c >= 0xFF01 && c <= 0xFF5E)
        c -= 0xFEE0;
    if (c == 0x2024 || c == 0x3002 || c == 0xFF61)
        return '.';
    if (c == 0xA0 || c == 0x3000 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
        c == 0x205F)
        return ' ';
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return c == 0x1E9E ? 0xDF : (uint32_t)towlower((wint_t)c);
}

static bool is_forbidden(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7F || strchr("#/:<>?@[\\]^|%", c);
}

static unsigned adapt(unsigned delta, unsigned points, bool first)
{
    unsigned k = 0;
    delta = first ? delta / 700 : delta / 2;
    for (delta += delta / points; delta > 455; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

static int add_varied(struct buf *out, unsigned q, unsigned bias)
{
    for (unsigned k = 36;; k += 36) {
        unsigned t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        unsigned digit = q < t ? q : t + (q - t) % (36 - t);
        if (buf_addc(out, (char)(digit < 26 ? 'a' + digit : '0' + digit - 26)) < 0)
            return -1;
        if (q < t)
            return 0;
        q = (q - t) / (36 - t);
    }
}

/* A label that is not of ASCII alone: "xn--" and its Punycode. */
static int add_punycode(struct buf *out, const uint32_t *c, unsigned n)
{
    unsigned done = 0, delta = 0, bias = 72, basic;
    uint32_t at = 128;
    int rc = buf_addz(out, "xn--");
    for (unsigned i = 0; i < n; i++) {
        if (c[i] < 128 && ++done)
            rc = rc < 0 ? rc : buf_addc(out, (char)c[i]);
    }
    basic = done;
    if (basic)
        rc = rc < 0 ? rc : buf_addc(out, '-');
    for (; done < n && rc == 0; delta++, at++) {
        uint32_t next = UINT32_MAX;
        for (unsigned i = 0; i < n; i++)
            next = c[i] >= at && c[i] < next ? c[i] : next;
        delta += (next - at) * (done + 1); /* below 2^31: LABEL_MAX bounds it */
        at = next;
        for (unsigned i = 0; i < n && rc == 0; i++) {
            delta += c[i] < at;
            if (c[i] != at)
                continue;
            rc = add_varied(out, delta, bias);
            bias = adapt(delta, done + 1, done == basic);
            delta = 0;
            done++;
        }
    }
    return rc;
}

static int add_label(struct buf *out, const uint32_t *c, unsigned n)
{
    bool ascii = true;
    for (unsigned i = 0; i < n; i++) {
        ascii = ascii && c[i] < 128;
        if (c[i] < 128 && is_forbidden((char)c[i]))
            return -1;
    }
    if (!ascii && n > 3 && c[0] == 'x' && c[1] == 'n' && c[2] == '-' && c[3] == '-')
        return -1;
    if (!ascii)
        return add_punycode(out, c, n);
    for (unsigned i = 0; i < n; i++) {
        if (buf_addc(out, (char)c[i]) < 0)
            return -1;
    }
    return 0;
}

static int add_name(struct buf *out, struct str s)
{
    uint32_t label[LABEL_MAX];
    unsigned n = 0;
    if (!utf8_valid(s))
        return -1;
    for (size_t i = 0; i <= s.n;) {
        uint32_t c = '.';
        int used = i < s.n ? utf8_decode(str_sub(s, i, s.n), &c) : 1;
        if (used <= 0)
            return -1;
        bool last = i == s.n;
        i += (size_t)used;
        if (is_ignored(c))
            continue;
        c = mapped(c);
        if (is_refused(c))
            return -1;
        if (c == '.') {
            if (add_label(out, label, n) < 0 || (!last && buf_addc(out, '.') < 0))
                return -1;
            n = 0;
        } else if (n == LABEL_MAX) {
            return -1;
        } else {
            label[n++] = c;
        }
    }
    return 0;
}

/* ---- all of it ---- */

static int decode(struct buf *out, struct str s)
{
    int rc = 0;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        int high = s.p[i] == '%' && s.n - i > 2 ? hex_of(s.p[i + 1]) : -1;
        int low = high < 0 ? -1 : hex_of(s.p[i + 2]);
        rc = buf_addc(out, low < 0 ? s.p[i] : (char)(high * 16 + low));
        i += low < 0 ? 0 : 2;
    }
    return rc;
}

int url_host(struct buf *out, struct str host)
{
    if (str_starts(host, STR("[")))
        return str_ends(host, STR("]")) ? add_v6(out, str_sub(host, 1, host.n - 2)) : -1;
    struct buf plain = BUF_INIT(HOST_MAX), name = BUF_INIT(HOST_MAX);
    int rc = -1;
    if (decode(&plain, host) == 0 && add_name(&name, buf_str(&plain)) == 0 && name.n) {
        if (is_numeric(buf_str(&name)))
            rc = add_v4(out, buf_str(&name));
        else
            rc = buf_adds(out, buf_str(&name));
    }
    buf_release(&plain);
    buf_release(&name);
    return rc;
}
