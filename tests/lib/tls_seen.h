/* SPDX-License-Identifier: MIT */
/* What tests read of a TLS connection and the product does not need. */
#ifndef OD_TESTS_TLS_SEEN_H
#define OD_TESTS_TLS_SEEN_H

#include "net/tls_own.h"

static const mbedtls_ssl_context *tls_seen_ssl(const struct stream *s)
{
    const struct tls *t = container_of(s->layer, const struct tls, layer);
    return tls_is_under(s) && s->layer->ready ? &t->ssl : NULL;
}

/* Appends "TLSv1.3 TLS1-3-AES-256-GCM-SHA384"; nothing before the handshake is over. */
static inline void tls_seen_cipher(const struct stream *s, struct buf *out)
{
    const mbedtls_ssl_context *ssl = tls_seen_ssl(s);
    if (ssl)
        buf_addf(out, "%s %s", mbedtls_ssl_get_version(ssl),
                 mbedtls_ssl_get_ciphersuite(ssl));
}

/* Appends the subject of the peer's certificate. Returns -1 if it showed none. */
static inline int tls_seen_peer(const struct stream *s, struct buf *out)
{
    char name[512];
    const mbedtls_ssl_context *ssl = tls_seen_ssl(s);
    const mbedtls_x509_crt *crt = ssl ? mbedtls_ssl_get_peer_cert(ssl) : NULL;
    if (!crt || mbedtls_x509_dn_gets(name, sizeof(name), &crt->subject) < 0)
        return -1;
    return buf_addz(out, name);
}

#endif
