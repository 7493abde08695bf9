/* SPDX-License-Identifier: MIT */
/*
 * Filters of streams (7.4). Each filter ends where its input is damaged and keeps its
 * output so far: half of a page is better than nothing.
 */
#include "archive/zip_inflate.h"
#include "document/pdf/own.h"

#include <stdlib.h>

enum { FILTERS_MAX = 8, LZW_CODES = 4096, LZW_CLEAR = 256, LZW_END = 257 };

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int ascii_hex(struct str in, struct buf *out)
{
    int high = -1;
    for (size_t i = 0; i < in.n && in.p[i] != '>'; i++) {
        int v = hex_value(in.p[i]);
        if (v < 0)
            continue;
        if (high >= 0 && buf_addc(out, (char)(high << 4 | v)) < 0)
            return -1;
        high = high < 0 ? v : -1;
    }
    return high >= 0 ? buf_addc(out, (char)(high << 4)) : 0;
}

static int ascii_85(struct str in, struct buf *out)
{
    uint32_t group = 0;
    int n = 0;
    if (str_starts(in, STR("<~")))
        in = str_sub(in, 2, in.n);
    for (size_t i = 0; i < in.n && in.p[i] != '~'; i++) {
        char c = in.p[i];
        if (c == 'z' && n == 0) {
            if (buf_add(out, "\0\0\0", 4) < 0)
                return -1;
        } else if (c >= '!' && c <= 'u') {
            group = group * 85 + (uint32_t)(c - '!');
            if (++n < 5)
                continue;
            char four[] = {(char)(group >> 24), (char)(group >> 16), (char)(group >> 8),
                           (char)group};
            if (buf_add(out, four, 4) < 0)
                return -1;
            group = 0;
            n = 0;
        }
    }
    if (n < 2)
        return 0;
    for (int i = n; i < 5; i++)
        group = group * 85 + 84;
    char rest[] = {(char)(group >> 24), (char)(group >> 16), (char)(group >> 8)};
    return buf_add(out, rest, (size_t)n - 1);
}

static int run_length(struct str in, struct buf *out)
{
    for (size_t i = 0; i < in.n;) {
        unsigned n = (unsigned char)in.p[i++];
        if (n == 128)
            break;
        if (n < 128) {
            struct str part = str_sub(in, i, n + 1);
            if (buf_adds(out, part) < 0)
                return -1;
            i += n + 1;
        } else if (i < in.n) {
            char *p = buf_reserve(out, 257 - n);
            if (!p)
                return -1;
            memset(p, in.p[i++], 257 - n);
            buf_commit(out, 257 - n);
        }
    }
    return 0;
}

/* ---- LZW (7.4.4.2) ---- */

struct lzw {
    struct str in;
    size_t at;
    uint32_t bits;
    unsigned have, width;
    unsigned codes;
    uint16_t before[LZW_CODES], length[LZW_CODES];
    char last[LZW_CODES], first[LZW_CODES];
};

/* Returns the next code; -1 at the end of the input. */
static int lzw_code(struct lzw *z)
{
    while (z->have < z->width) {
        if (z->at >= z->in.n)
            return -1;
        z->bits = z->bits << 8 | (unsigned char)z->in.p[z->at++];
        z->have += 8;
    }
    z->have -= z->width;
    return (int)(z->bits >> z->have & ((1u << z->width) - 1));
}

static int lzw_put(const struct lzw *z, unsigned code, struct buf *out)
{
    size_t n = z->length[code];
    char *p = buf_reserve(out, n);
    if (!p)
        return -1;
    for (size_t i = n; i-- > 0; code = z->before[code])
        p[i] = z->last[code];
    buf_commit(out, n);
    return 0;
}

static void lzw_learn(struct lzw *z, unsigned before, char last)
{
    if (z->codes >= LZW_CODES)
        return;
    unsigned c = z->codes++;
    z->before[c] = (uint16_t)before;
    z->length[c] = (uint16_t)(z->length[before] + 1);
    z->first[c] = z->first[before];
    z->last[c] = last;
}

static int lzw(struct str in, unsigned early, struct buf *out)
{
    struct lzw *z = calloc(1, sizeof(*z));
    if (!z)
        return -1;
    z->in = in;
    z->width = 9;
    z->codes = LZW_END + 1;
    for (unsigned i = 0; i < 256; i++) {
        z->length[i] = 1;
        z->first[i] = z->last[i] = (char)i;
    }
    int rc = 0, code, before = -1;
    while (rc == 0 && (code = lzw_code(z)) >= 0 && code != LZW_END) {
        if (code == LZW_CLEAR) {
            z->codes = LZW_END + 1;
            z->width = 9;
            before = -1;
            continue;
        }
        unsigned c = (unsigned)code;
        if (c > z->codes || (c == z->codes && before < 0))
            break;
        if (before >= 0)
            lzw_learn(z, (unsigned)before, z->first[c < z->codes ? c : (unsigned)before]);
        if (c >= z->codes)
            break;
        rc = lzw_put(z, c, out);
        before = code;
        unsigned next = z->codes + early;
        z->width = next >= 2048 ? 12 : next >= 1024 ? 11 : next >= 512 ? 10 : 9;
    }
    free(z);
    return rc;
}

/* ---- predictors (7.4.4.4) ---- */

static unsigned paeth(unsigned a, unsigned b, unsigned c)
{
    int p = (int)a + (int)b - (int)c;
    int pa = abs(p - (int)a), pb = abs(p - (int)b), pc = abs(p - (int)c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/* One row, in place; `up` has the row before. */
static void png_row(int kind, unsigned char *row, const unsigned char *up, size_t n,
                    size_t pixel)
{
    for (size_t i = 0; i < n; i++) {
        unsigned a = i >= pixel ? row[i - pixel] : 0, b = up ? up[i] : 0;
        unsigned c = up && i >= pixel ? up[i - pixel] : 0, add = 0;
        if (kind == 1)
            add = a;
        else if (kind == 2)
            add = b;
        else if (kind == 3)
            add = (a + b) / 2;
        else if (kind == 4)
            add = paeth(a, b, c);
        row[i] = (unsigned char)(row[i] + add);
    }
}

static void png(struct buf *b, size_t n, size_t pixel)
{
    unsigned char *base = (unsigned char *)b->p;
    const unsigned char *up = NULL;
    size_t to = 0;
    for (size_t from = 0; from < b->n; from += n + 1) {
        size_t have = b->n - from - 1 < n ? b->n - from - 1 : n;
        int kind = base[from];
        memmove(base + to, base + from + 1, have);
        png_row(kind, base + to, up, have, pixel);
        up = base + to;
        to += have;
    }
    buf_truncate(b, to);
}

/* TIFF's predictor, for whole bytes only: pixels of fewer bits are pictures. */
static void tiff(struct buf *b, size_t n, size_t pixel)
{
    for (size_t from = 0; from < b->n; from += n) {
        for (size_t i = from + pixel; i < from + n && i < b->n; i++)
            b->p[i] = (char)(b->p[i] + b->p[i - pixel]);
    }
}

static void predict(struct pdf *d, struct pdf_obj parms, struct buf *b)
{
    int64_t kind = pdf_int(pdf_get(d, parms, "Predictor"), 1);
    int64_t colors = pdf_int(pdf_get(d, parms, "Colors"), 1);
    int64_t bits = pdf_int(pdf_get(d, parms, "BitsPerComponent"), 8);
    int64_t columns = pdf_int(pdf_get(d, parms, "Columns"), 1);
    if (kind < 2 || b->n == 0 || colors < 1 || colors > 64 || bits < 1 || bits > 32 ||
        columns < 1 || columns > 1 << 24)
        return;
    size_t pixel = (size_t)(colors * bits + 7) / 8;
    size_t row = (size_t)(colors * bits * columns + 7) / 8;
    if (kind >= 10)
        png(b, row, pixel);
    else if (kind == 2 && bits == 8)
        tiff(b, row, pixel);
}

/* ---- all of a stream's ---- */

static int one(struct pdf *d, struct pdf_obj filter, struct pdf_obj parms, struct str in,
               struct buf *out)
{
    int rc = -1;
    if (pdf_is_name(filter, "FlateDecode") || pdf_is_name(filter, "Fl"))
        rc = zip_inflate(in, out) < 0 ? -1 : 0;
    else if (pdf_is_name(filter, "LZWDecode") || pdf_is_name(filter, "LZW"))
        rc = lzw(in, pdf_int(pdf_get(d, parms, "EarlyChange"), 1) ? 1 : 0, out);
    else if (pdf_is_name(filter, "ASCII85Decode") || pdf_is_name(filter, "A85"))
        rc = ascii_85(in, out);
    else if (pdf_is_name(filter, "ASCIIHexDecode") || pdf_is_name(filter, "AHx"))
        rc = ascii_hex(in, out);
    else if (pdf_is_name(filter, "Crypt")) /* decrypted before the first filter */
        return buf_adds(out, in);
    else if (pdf_is_name(filter, "RunLengthDecode") || pdf_is_name(filter, "RL"))
        rc = run_length(in, out);
    if (rc == 0)
        predict(d, parms, out);
    return rc;
}

static struct pdf_obj nth(struct pdf *d, struct pdf_obj o, size_t i)
{
    if (o.type == PDF_ARRAY)
        return pdf_item(d, o, i);
    return i == 0 ? o : (struct pdf_obj){.type = PDF_NULL};
}

/* Counts n bytes of a filter's output against the limit, after an error too. */
static int charge(struct pdf *d, size_t n)
{
    d->unpack -= (int64_t)n;
    if (d->unpack < 0 && !d->err.code)
        err_set(&d->err, ERR_LIMIT, "its streams unpack to more than a document has");
    return d->unpack < 0 ? -1 : 0;
}

int pdf_unpack(struct pdf *d, const struct pdf_stream *s, struct buf *out)
{
    struct pdf_obj self = {.type = PDF_DICT, .dict = &s->dict};
    struct pdf_obj filter = pdf_get(d, self, "Filter");
    struct pdf_obj parms = pdf_get(d, self, "DecodeParms");
    size_t n = filter.type == PDF_ARRAY ? pdf_count(filter) : filter.type == PDF_NAME;
    if (n > FILTERS_MAX)
        return -1;
    struct buf a = BUF_INIT(PDF_STREAM_MAX), b = BUF_INIT(PDF_STREAM_MAX);
    struct str in = s->raw;
    int rc = 0;
    if (d->crypt && s->encrypted) {
        rc = pdf_decrypt_stream(d, s, &a);
        in = buf_str(&a);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        buf_reset(&b);
        rc = one(d, nth(d, filter, i), nth(d, parms, i), in, &b);
        if (charge(d, b.n) < 0)
            rc = -1;
        struct buf swap = a;
        a = b;
        b = swap;
        in = buf_str(&a);
    }
    if (rc == 0)
        rc = buf_adds(out, in);
    buf_release(&a);
    buf_release(&b);
    return rc;
}
