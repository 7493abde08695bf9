/* SPDX-License-Identifier: MIT */
/*
 * mbedTLS' compression functions behind a struct of our own, so that its
 * headers stay here. HMAC is written out: it is two hashes, each begun with a
 * block made of the key, and the library's own would pull in all other hashes.
 *
 * Whole blocks of SHA-256 are hashed by the SHA extensions of x86 (Intel, "Intel SHA
 * Extensions", 2013) where the processor has them: four to eight times as fast.
 */
#include "base/hash.h"

#include "base/log.h"

#define MBEDTLS_ALLOW_PRIVATE_ACCESS /* to the state between two blocks */
#include <mbedtls/platform_util.h>
#include <mbedtls/sha1.h>
#include <mbedtls/sha256.h>
#include <mbedtls/sha512.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

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

#ifdef __x86_64__
enum { ROUNDS = 64 };

/* FIPS 180-4 section 4.2.2 */
static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static bool has_instructions(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* s[0] is A B E F, s[1] is C D G H, from the high word down, as the instructions want. */
__attribute__((target("sha,sse4.1,ssse3"))) static void blocks(__m128i s[2],
                                                               const uint8_t *p, size_t n)
{
    const __m128i turned = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    for (; n > 0; n--, p += BLOCK) {
        __m128i a = s[0], b = s[1], w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)),
                                    turned);
#pragma GCC unroll 16
        for (int i = 0; i < ROUNDS / 4; i++) {
            __m128i now = w[i & 3];
            __m128i k = _mm_add_epi32(
                now, _mm_loadu_si128((const __m128i *)(const void *)(K + 4 * i)));
            b = _mm_sha256rnds2_epu32(b, a, k);
            a = _mm_sha256rnds2_epu32(a, b, _mm_shuffle_epi32(k, 0x0e));
            if (i < ROUNDS / 4 - 4) {
                __m128i last = w[(i + 3) & 3];
                __m128i x = _mm_sha256msg1_epu32(now, w[(i + 1) & 3]);
                x = _mm_add_epi32(x, _mm_alignr_epi8(last, w[(i + 2) & 3], 4));
                w[i & 3] = _mm_sha256msg2_epu32(x, last);
            }
        }
        s[0] = _mm_add_epi32(s[0], a);
        s[1] = _mm_add_epi32(s[1], b);
    }
}

/* Hashes whole blocks; the library has none that is not full. */
__attribute__((target("sha,sse4.1,ssse3"))) static void
add_blocks(mbedtls_sha256_context *c, const uint8_t *p, size_t n)
{
    uint32_t *h = c->state, v[8];
    uint64_t total = ((uint64_t)c->total[1] << 32 | c->total[0]) + n * BLOCK;
    __m128i s[2] = {_mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]),
                    _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7])};
    blocks(s, p, n);
    _mm_storeu_si128((__m128i *)(void *)v, s[0]);
    _mm_storeu_si128((__m128i *)(void *)(v + 4), s[1]);
    h[0] = v[3], h[1] = v[2], h[4] = v[1], h[5] = v[0];
    h[2] = v[7], h[3] = v[6], h[6] = v[5], h[7] = v[4];
    c->total[0] = (uint32_t)total;
    c->total[1] = (uint32_t)(total >> 32);
}

static bool is_fast(void)
{
    static signed char fast; /* what the processor has never changes */
    if (!fast)
        fast = has_instructions() ? 1 : -1;
    return fast > 0;
}
#else
static bool is_fast(void) { return false; }
static void add_blocks(mbedtls_sha256_context *c, const uint8_t *p, size_t n)
{
    BUG_ON(mbedtls_sha256_update(c, p, n * BLOCK) != 0);
}
#endif

static void add_sha256(void *state, const uint8_t *p, size_t n)
{
    mbedtls_sha256_context *c = sha256(state);
    size_t fills = -(size_t)c->total[0] % BLOCK;
    if (n >= fills + BLOCK && is_fast()) {
        BUG_ON(mbedtls_sha256_update(c, p, fills) != 0);
        add_blocks(c, p + fills, (n - fills) / BLOCK);
        p += n - (n - fills) % BLOCK;
        n = (n - fills) % BLOCK;
    }
    BUG_ON(mbedtls_sha256_update(c, p, n) != 0);
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
