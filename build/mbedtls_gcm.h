/* SPDX-License-Identifier: MIT */
/*
 * The context of AES-GCM where core/net/tls_gcm.c takes the place of mbedTLS's own
 * (MBEDTLS_GCM_ALT): the library includes this file by the name gcm_alt.h.
 */
#ifndef OD_BUILD_MBEDTLS_GCM_H
#define OD_BUILD_MBEDTLS_GCM_H

/* The letters are those of NIST SP 800-38D, sections 6.4 and 7.1. */
typedef struct mbedtls_gcm_context {
    uint64_t keys[32]; /* BearSSL's br_aes_gen_ctr_keys */
    void (*ghash)(void *y, const void *h, const void *data, size_t n); /* NULL: no key */
    unsigned char h[16];
    unsigned char y[16];
    unsigned char nonce[12];  /* the first bytes of J0 */
    uint32_t first;           /* the counter in J0 */
    uint64_t aad_n, n;        /* bytes so far */
    unsigned char block[16];  /* the part of a block that the hash does not have yet */
    unsigned char stream[16]; /* the key stream of that block of the text */
    unsigned char decrypts;
} mbedtls_gcm_context;

#endif
