/* SPDX-License-Identifier: MIT */
/* From the list in od to certificates. */
#include "net/authorities.h"

#include "base/buf.h"

#include <ca_bundle.h>
#include <zlib.h>

enum { CERT_MAX = 8 << 10, SEQUENCE = 0x30 };

/* ---- DER (X.690 8.1) ---- */

/* Cuts the next whole element off. p is NULL if there is none. */
static struct str cut_element(struct str *rest)
{
    const unsigned char *p = (const unsigned char *)rest->p;
    size_t n, head = 2;
    if (rest->n < head)
        return (struct str){NULL, 0};
    n = p[1];
    if (n == 0x81 || n == 0x82) {
        head += n & 0x7f;
        if (rest->n < head)
            return (struct str){NULL, 0};
        n = head == 3 ? p[2] : (size_t)p[2] << 8 | p[3];
    }
    if (n > rest->n - head)
        return (struct str){NULL, 0};
    struct str one = str_sub(*rest, 0, head + n);
    *rest = str_sub(*rest, head + n, rest->n);
    return one;
}

static void add_element(struct buf *out, int tag, struct str content)
{
    buf_addc(out, (char)tag);
    if (content.n > 0xff)
        buf_addc(out, (char)0x82);
    if (content.n > 0xff)
        buf_addc(out, (char)(content.n >> 8));
    else if (content.n > 0x7f)
        buf_addc(out, (char)0x81);
    buf_addc(out, (char)content.n);
    buf_adds(out, content);
}

#define BYTES(literal) ((struct str){literal, sizeof(literal) - 1})

/* RFC 5280 4.1: makes a self-issued certificate. */
static void put_cert(struct buf *out, struct buf *inner, struct str dates,
                     struct str name, struct str key)
{
    /* ecdsa-with-SHA256 (RFC 5758 3.2), an algorithm that the library knows. */
    static const struct str signature = BYTES(
        "\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02");
    buf_reset(inner);
    buf_adds(inner, BYTES("\xa0\x03\x02\x01\x02")); /* version 3 */
    buf_adds(inner, BYTES("\x02\x01\x01"));         /* serial number 1 */
    buf_adds(inner, signature);
    buf_adds(inner, name);
    buf_adds(inner, dates);
    buf_adds(inner, name);
    buf_adds(inner, key);
    buf_adds(inner, BYTES("\xa3\x13\x30\x11\x30\x0f\x06\x03\x55\x1d\x13\x01\x01\xff"
                          "\x04\x05\x30\x03\x01\x01\xff")); /* basicConstraints: CA */
    buf_reset(out);
    add_element(out, SEQUENCE, buf_str(inner));
    buf_adds(out, signature);
    buf_adds(out, BYTES("\x03\x02\x00\x00"));
    buf_reset(inner);
    add_element(inner, SEQUENCE, buf_str(out));
}

/* ---- the list ---- */

static int unpack(char *list)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)ca_bundle,
                  .avail_in = (unsigned)(ca_bundle_end - ca_bundle),
                  .next_out = (unsigned char *)list,
                  .avail_out = CA_BUNDLE_BYTES};
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
        return -1;
    int rc = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return rc == Z_STREAM_END && z.avail_out == 0 ? 0 : -1;
}

/* The list is stored column by column; there are three. */
static int give(struct str list, void (*fn)(void *arg, struct str der), void *arg)
{
    struct str columns[3] = {list};
    struct buf out = BUF_INIT(CERT_MAX), cert = BUF_INIT(CERT_MAX);
    for (int c = 0; c < 2; c++) {
        columns[c + 1] = columns[c];
        for (int i = 0; i < CA_BUNDLE_COUNT; i++)
            cut_element(&columns[c + 1]);
    }
    int rc = 0;
    for (int i = 0; i < CA_BUNDLE_COUNT && rc == 0; i++) {
        struct str dates = cut_element(&columns[0]), name = cut_element(&columns[1]);
        struct str key = cut_element(&columns[2]);
        if (!key.p) {
            rc = -1;
        } else {
            put_cert(&out, &cert, dates, name, key);
            fn(arg, buf_str(&cert));
        }
    }
    buf_release(&out);
    buf_release(&cert);
    return columns[2].n == 0 ? rc : -1;
}

int authorities_each(void (*fn)(void *arg, struct str der), void *arg, struct err *e)
{
    struct buf list = BUF_INIT(CA_BUNDLE_BYTES);
    char *p = buf_reserve(&list, CA_BUNDLE_BYTES);
    int rc = p ? unpack(p) : -1;
    if (rc == 0)
        rc = give(str_n(p, CA_BUNDLE_BYTES), fn, arg);
    buf_release(&list);
    return rc == 0 ? 0
                   : err_set(e, ERR_INTERNAL,
                             "cannot read the authorities inside of od: the file is "
                             "damaged; install it again");
}

const char *authorities_date(void) { return CA_BUNDLE_DATE; }
