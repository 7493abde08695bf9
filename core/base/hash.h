/* SPDX-License-Identifier: MIT */
/*
 * Hashes: SHA-1, SHA-256, SHA-384, SHA-512 (FIPS 180-4), HMAC-SHA-256 (RFC 2104), and a
 * comparison whose time does not depend on where two secrets differ.
 *
 * SHA-1 is for protocols that name it (RFC 6455 §4.2.2), never for trust.
 * Nothing here fails and nothing is allocated.
 */
#ifndef OD_BASE_HASH_H
#define OD_BASE_HASH_H

#include "base/str.h"

enum { HASH_SHA1_SIZE = 20, HASH_SHA256_SIZE = 32 };

void hash_sha1(struct str bytes, uint8_t out[HASH_SHA1_SIZE]);
void hash_sha256(struct str bytes, uint8_t out[HASH_SHA256_SIZE]);

/* Writes bits / 8 bytes; bits is 384 or 512. */
void hash_sha512(struct str bytes, int bits, uint8_t *out);

/* SHA-1 and SHA-256 in parts: one of the begins, any number of adds, one end. */
struct hash {
    int kind;
    _Alignas(8) unsigned char inner[128], outer[128]; /* the library's */
};

void hash_begin_sha1(struct hash *h);
void hash_begin_sha256(struct hash *h);
void hash_begin_hmac_sha256(struct hash *h, struct str key);
void hash_add(struct hash *h, struct str bytes);
/* Writes HASH_SHA1_SIZE or HASH_SHA256_SIZE bytes and wipes h. */
void hash_end(struct hash *h, uint8_t *out);

/* Whether n bytes are equal. The time depends on n only. */
bool hash_equal(const void *a, const void *b, size_t n);

#endif
