/* SPDX-License-Identifier: MIT */
/* Values as JSON and as Python's repr() write them. */
#include "front/swerex/own.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void swerex_put_json(struct buf *out, struct str s)
{
    size_t plain = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buf_adds(out, str_sub(s, plain, i - plain));
        plain = i + 1;
        if (c == '\n')
            buf_addz(out, "\\n");
        else if (c >= 0x20)
            buf_addf(out, "\\%c", c);
        else
            buf_addf(out, "\\u%04x", c);
    }
    buf_adds(out, str_sub(s, plain, s.n));
}

/* Is the character printable, as by Python's str.isprintable()? Of the rare ones that are
 * not, only separators and formats of the general blocks are known here. */
static bool is_printable(uint32_t c)
{
    return c >= 0x20 && c != 0x7f && !(c >= 0x80 && c <= 0xa0) && c != 0xad &&
           !(c >= 0x2000 && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202f) &&
           !(c >= 0x205f && c <= 0x206f) && c != 0x3000 && c != 0xfeff &&
           !(c >= 0xe000 && c <= 0xf8ff) && c < 0xe0000;
}

static void put_escaped(struct buf *out, uint32_t c)
{
    if (c <= 0xff)
        buf_addf(out, "\\x%02x", c);
    else if (c <= 0xffff)
        buf_addf(out, "\\u%04x", c);
    else
        buf_addf(out, "\\U%08x", c);
}

void swerex_put_repr(struct buf *out, struct str s)
{
    char quote = str_chr(s, '\'') >= 0 && str_chr(s, '"') < 0 ? '"' : '\'';
    buf_addc(out, quote);
    for (size_t i = 0; i < s.n;) {
        uint32_t c = (unsigned char)s.p[i];
        int n = c < 0x80 ? 1 : utf8_decode(str_sub(s, i, s.n), &c);
        if (c == '\n' || c == '\r' || c == '\t')
            buf_addf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c == '\\' || c == (unsigned char)quote)
            buf_addf(out, "\\%c", (char)c);
        else if (n > 0 && is_printable(c))
            buf_adds(out, str_sub(s, i, (size_t)n));
        else
            put_escaped(out, c);
        i += n > 0 ? (size_t)n : 1;
    }
    buf_addc(out, quote);
}

void swerex_put_float(struct buf *out, double v)
{
    char text[40];
    int digits = 1;
    for (; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*e", digits - 1, v);
        if (strtod(text, NULL) == v)
            break;
    }
    const char *e = strchr(text, 'e');
    int exponent = e ? (int)strtol(e + 1, NULL, 10) : 0;
    int decimals = digits - 1 - exponent;
    if (e && exponent >= -4 && exponent < 16)
        buf_addf(out, "%.*f", decimals > 1 ? decimals : 1, v);
    else
        buf_addz(out, text);
}

void swerex_put_text(struct buf *out, struct str s)
{
    while (s.n > 0) {
        size_t n = 0;
        uint32_t c;
        while (n < s.n) {
            int one = (unsigned char)s.p[n] < 0x80 ? 1
                                                   : utf8_decode(str_sub(s, n, 4), &c);
            if (one <= 0)
                break;
            n += (size_t)one;
        }
        buf_adds(out, str_sub(s, 0, n));
        if (n < s.n)
            buf_addf(out, "\\x%02x", (unsigned char)s.p[n++]);
        s = str_sub(s, n, s.n);
    }
}
