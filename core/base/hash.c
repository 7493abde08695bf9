/* SPDX-License-Identifier: MIT */
/*
 * mbedTLS' compression functions behind a struct of our own, so that its
 * headers stay here. HMAC is written out: it is two hashes, each begun with a
 * block made of the key, and the library's own would pull in all other hashes.
 */
#include "base/hash.h"

#include "base/log.h"

#include <mbedtls/platform_util.h>
#include <mbedtls/sha1.h>
#include <mbedtls/sha256.h>
#include <mbedtls/sha512.h>

enum hash_kind { SHA1, SHA256, HMAC_SHA256 };
enum { BLOCK = 64 };

_Static_assert(sizeof(mbedtls_sha1_context) <= 128, "struct hash is too small");
_Static_assert(sizeof(mbedtls_sha256_context) <= 128, "struct hash is too small");

static mbedtls_sha1_context *sha1(void *p) { return p; }
static mbedtls_sha256_context *sha256(void *p) { return p; }

/* The library's calls fail only where a processor's hash unit does; there is none. */
static void begin_sha256(void *state)
{
    mbedtls_sha256_init(sha256(state));
    BUG_ON(mbedtls_sha256_starts(sha256(state), 0) != 0);
}

static void add_sha256(void *state, const void *p, size_t n)
{
    BUG_ON(mbedtls_sha256_update(sha256(state), p, n) != 0);
}

static void end_sha256(void *state, uint8_t *out)
{
    BUG_ON(mbedtls_sha256_finish(sha256(state), out) != 0);
}

void hash_begin_sha1(struct hash *h)
{
    h->kind = SHA1;
    mbedtls_sha1_init(sha1(h->inner));
    BUG_ON(mbedtls_sha1_starts(sha1(h->inner)) != 0);
}

void hash_begin_sha256(struct hash *h)
{
    h->kind = SHA256;
    begin_sha256(h->inner);
}

/* RFC 2104 §2: a key longer than a block is hashed first, a shorter one padded. */
void hash_begin_hmac_sha256(struct hash *h, struct str key)
{
    uint8_t block[BLOCK] = {0};
    if (key.n > BLOCK)
        hash_sha256(key, block);
    else if (key.n)
        memcpy(block, key.p, key.n);
    h->kind = HMAC_SHA256;
    begin_sha256(h->inner);
    begin_sha256(h->outer);
    for (int i = 0; i < BLOCK; i++)
        block[i] ^= 0x36;
    add_sha256(h->inner, block, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        block[i] ^= 0x36 ^ 0x5c;
    add_sha256(h->outer, block, BLOCK);
    mbedtls_platform_zeroize(block, BLOCK);
}

void hash_add(struct hash *h, struct str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    if (!bytes.n)
        return;
    if (h->kind == SHA1)
        BUG_ON(mbedtls_sha1_update(sha1(h->inner), p, bytes.n) != 0);
    else
        add_sha256(h->inner, p, bytes.n);
}

void hash_end(struct hash *h, uint8_t *out)
{
    if (h->kind == SHA1)
        BUG_ON(mbedtls_sha1_finish(sha1(h->inner), out) != 0);
    else
        end_sha256(h->inner, out);
    if (h->kind == HMAC_SHA256) {
        add_sha256(h->outer, out, HASH_SHA256_SIZE);
        end_sha256(h->outer, out);
    }
    mbedtls_platform_zeroize(h, sizeof(*h));
}

void hash_sha1(struct str bytes, uint8_t out[HASH_SHA1_SIZE])
{
    struct hash h;
    hash_begin_sha1(&h);
    hash_add(&h, bytes);
    hash_end(&h, out);
}

void hash_sha256(struct str bytes, uint8_t out[HASH_SHA256_SIZE])
{
    struct hash h;
    hash_begin_sha256(&h);
    hash_add(&h, bytes);
    hash_end(&h, out);
}

bool hash_equal(const void *a, const void *b, size_t n)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ |= (uint8_t)(x[i] ^ y[i]);
    return differ == 0;
}

void hash_sha512(struct str bytes, int bits, uint8_t *out)
{
    uint8_t all[64];
    BUG_ON(mbedtls_sha512((const unsigned char *)bytes.p, bytes.n, all, bits == 384) !=
           0);
    memcpy(out, all, (size_t)bits / 8);
}
