/* SPDX-License-Identifier: MIT */
/*
 * Base64 (RFC 4648 section 4) and hex. Output is reserved once, so that a
 * failure leaves the buffer as it was. Decoding refuses bits that a correct
 * encoder leaves at zero (section 3.5): each value has one spelling.
 */
#include "base/enc.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int enc_base64(struct buf *out, struct str bytes)
{
    size_t n = (bytes.n + 2) / 3 * 4;
    char *to = buf_reserve(out, n);
    if (!to)
        return -1;
    const unsigned char *p = (const unsigned char *)bytes.p;
    for (size_t left = bytes.n; left > 0; to += 4) {
        unsigned v = (unsigned)p[0] << 16;
        if (left > 1)
            v |= (unsigned)p[1] << 8;
        if (left > 2)
            v |= p[2];
        to[0] = alphabet[v >> 18];
        to[1] = alphabet[v >> 12 & 63];
        to[2] = left > 1 ? alphabet[v >> 6 & 63] : '=';
        to[3] = left > 2 ? alphabet[v & 63] : '=';
        size_t used = left < 3 ? left : 3;
        p += used;
        left -= used;
    }
    buf_commit(out, n);
    return 0;
}

/* One more than the value of the digit '+' + i; 0: not a digit. */
static const uint8_t values[80] = {
    63, 0,  0,  0,  64, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 0,  0,  0,  0,  0,
    0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18,
    19, 20, 21, 22, 23, 24, 25, 26, 0,  0,  0,  0,  0,  0,  27, 28, 29, 30, 31, 32,
    33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
};

/* The value of a digit, or -1. */
static int digit(char c)
{
    unsigned i = (unsigned char)c - (unsigned)'+';
    return i < sizeof(values) ? values[i] - 1 : -1;
}

int dec_base64(struct buf *out, struct str text)
{
    if (text.n % 4 != 0)
        return -1;
    size_t pad = 0;
    while (pad < 2 && pad < text.n && text.p[text.n - 1 - pad] == '=')
        pad++;
    size_t n = text.n / 4 * 3 - pad;
    char *to = buf_reserve(out, n);
    if (!to)
        return -1;
    unsigned acc = 0;
    int bits = 0;
    for (size_t i = 0; i < text.n - pad; i++) {
        int v = digit(text.p[i]);
        if (v < 0)
            goto malformed;
        acc = (acc << 6 | (unsigned)v) & 0xfff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            *to++ = (char)(acc >> bits);
        }
    }
    if (acc & ((1u << bits) - 1))
        goto malformed;
    buf_commit(out, n);
    return 0;

malformed:
    buf_commit(out, 0);
    return -1;
}

int enc_hex(struct buf *out, struct str bytes)
{
    static const char hex[] = "0123456789abcdef";
    if (bytes.n > SIZE_MAX / 2)
        return -1;
    char *to = buf_reserve(out, bytes.n * 2);
    if (!to)
        return -1;
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];
        *to++ = hex[c >> 4];
        *to++ = hex[c & 15];
    }
    buf_commit(out, bytes.n * 2);
    return 0;
}
